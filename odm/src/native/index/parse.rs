//! `createIndexes` specifications: MongoDB's rules, in its order and with its words.

use std::sync::Arc;

mod expiry;
mod identity;
mod key;
mod options;
mod partial;

use self::expiry::parse_expiry;
use self::identity::check_id;
use self::key::check_count;
#[cfg(test)]
pub(super) use self::options::OPTIONS;
use self::options::Options;
pub(super) use self::options::is_option;
use self::partial::parse_partial;
use super::super::collation::Collation;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::spec::Canonical;
use super::wildcard::{self, Wildcard};
use super::{ID_INDEX, IndexDefinition, IndexField, Order, Origin, paths_of, roots_of, text};

/// Checks what a specification says by itself: of several, all are looked at so before one is looked at as a whole.
pub(super) fn check_form(spec: Doc<'_>) -> Result<()> {
    let found = Options::read(spec, Origin::Given, &Collation::default())
        .map_err(|fault| fault.prefixed(&context(spec)))?;
    check_id(spec, &found, Origin::Given).map(|_| ())
}

pub(super) fn parse(spec: Doc<'_>, origin: Origin, own: &Collation) -> Result<IndexDefinition> {
    let found = Options::read(spec, origin, own).map_err(|fault| fault.prefixed(&context(spec)))?;
    let mut keys = found.keys.clone();
    let is_text = text::is_text(found.key);
    // All fields, in the key of texts, are no wildcard.
    let plain: &[IndexField] = if is_text { &[] } else { &keys };
    let wildcard = parse_wildcard(spec, &found, plain, origin)?;
    let on_id = check_id(spec, &found, origin)?;
    let expire_after_seconds = found
        .expire_after_seconds
        .map(|value| parse_expiry(spec, &value, written_fields(found.key)))
        .transpose()?;
    if let Some(fault) = &found.no_collation {
        let mut shown = fields_of(spec);
        shown.retain(|(name, _)| name != "ns");
        if spec.get("v").is_none() {
            shown.push(("v".to_owned(), Owned::Int32(found.version)));
        }
        return Err(fault.clone().prefixed(&format!(
            "failed to add collation information to index spec for index creation: {} :: caused by :: ",
            Doc::Fields(&shown)
        )));
    }
    let text = is_text
        .then(|| text::parse(found.key, &keys, found.text, origin))
        .transpose()
        .map_err(|fault| fault.prefixed(&context(Doc::Fields(&settled(spec, &found)))))?;
    let pattern = text.as_ref().map(|text| Doc::Fields(&text.key));
    if let Some(text) = &text {
        keys.clone_from(&text.fields);
    }
    if let Some(wildcard) = &wildcard {
        check_wildcard(spec, &found)?;
        keys = wildcard.fields(&keys[0].path);
    }
    let as_settled = || context(Doc::Fields(&settled(spec, &found)));
    if found.name.is_empty() && !found.clustered {
        return Err(cannot("index name cannot be empty").prefixed(&as_settled()));
    }
    if found.name.contains('\0') && !found.clustered {
        return Err(cannot("index name cannot contain NUL bytes").prefixed(&as_settled()));
    }
    let partial = found
        .partial
        .map(|filter| {
            let shown = settled(spec, &found);
            let shown = (spec, Doc::Fields(&shown));
            parse_partial(
                filter,
                shown,
                found.sparse == Some(true),
                &found.collation,
                origin,
            )
        })
        .transpose()?;
    check_count(found.key, &keys, found.unique)?;
    let mut geo = found.geo;
    geo.apply(&mut keys, origin).map_err(|fault| match fault.code() {
        code::CANNOT_CREATE_INDEX => fault.prefixed(&as_settled()),
        _ => fault,
    })?;
    check_collation(&found, &keys)
        .and_then(|()| check_storage_engine(found.storage_engine))
        .map_err(|fault| fault.prefixed(&as_settled()))?;
    let name = if on_id && !found.clustered {
        ID_INDEX
    } else {
        found.name
    };
    let kept = found.text.kept();
    // A time series may keep what is false.
    let keeps_false = matches!(origin, Origin::GivenToSeries | Origin::Stored);
    let said =
        |name: &str, is_so: bool| (is_so || (keeps_false && spec.get(name).is_some())).then_some(is_so);
    let canonical = Canonical {
        version: found.version,
        key: pattern.unwrap_or(found.key),
        text: text.as_ref().map_or(&kept, |text| &text.options),
        original: found.original.as_deref().map(Doc::Raw),
        wildcard_projection: found.wildcard_projection,
        collation: found.collation.spec(),
        name,
        background: found.background,
        unique: said("unique", found.unique),
        clustered: found.clustered,
        prepare_unique: found.prepare_unique,
        hidden: said("hidden", found.hidden),
        partial: found.partial,
        sparse: found.sparse,
        expire_after_seconds,
        geo,
    };
    let paths = paths_of(&keys);
    let texts = match &text {
        None => Some(Vec::new()),
        Some(text) => text.spec.roots(),
    };
    let roots = match wildcard {
        None => texts.and_then(|texts| roots_of(&paths, texts, partial.as_ref())),
        Some(_) => None,
    };
    Ok(IndexDefinition {
        name: name.to_owned(),
        paths,
        roots,
        keys,
        unique: found.unique || on_id,
        prepare_unique: found.prepare_unique,
        sparse: found.sparse == Some(true),
        partial,
        clustered: found.clustered,
        expire_after_seconds,
        hidden: found.hidden,
        spec: canonical.to_bytes(),
        text: text.as_ref().map(|text| text.spec.clone()),
        wildcard: wildcard.map(Arc::new),
        collation: found.collation.clone(),
    })
}

/// How many fields a key has; a text index is stored with two for one that was given.
fn written_fields(key: Doc<'_>) -> usize {
    match key.get(text::TERM) {
        None => key.count(),
        Some(_) => key.count().saturating_sub(1),
    }
}

/// Nothing is said to a storage engine here.
fn check_storage_engine(given: Option<Value<'_>>) -> Result<()> {
    match given {
        None => Ok(()),
        Some(Value::Document(engines)) if engines.is_empty() => Err(cannot(
            "Empty \"storageEngine\" options are invalid. Please remove the field or include valid options.",
        )),
        Some(Value::Document(_)) => Err(Fault::unsupported("storage engine options are not supported")),
        Some(_) => Err(cannot("\"storageEngine\" options must be a document if present")),
    }
}

/// Texts have languages of their own, and places in the plane no strings.
fn check_collation(found: &Options<'_>, keys: &[IndexField]) -> Result<()> {
    let Some(collation) = found.collation.spec() else {
        return Ok(());
    };
    let kind = keys.iter().find_map(|key| match key.order {
        Order::Text => Some("text"),
        Order::Flat(_) => Some("2d"),
        _ => None,
    });
    match kind {
        None => Ok(()),
        Some(kind) => Err(cannot(format!(
            "Index type '{kind}' does not support collation: {collation}"
        ))),
    }
}

/// The wildcard of a wildcard index.
fn parse_wildcard(
    spec: Doc<'_>,
    found: &Options<'_>,
    keys: &[IndexField],
    origin: Origin,
) -> Result<Option<Wildcard>> {
    let wildcard = wildcard::parse(keys, found.wildcard_projection, origin)
        .map_err(|fault| fault.prefixed(&context(spec)))?;
    if wildcard.is_none() {
        return match found.wildcard_projection {
            None => Ok(None),
            Some(_) => Err(Fault::new(
                code::BAD_VALUE,
                "The field 'wildcardProjection' is only allowed in an 'wildcard' index",
            )
            .prefixed(&context(spec))),
        };
    }
    if keys.len() > 1 {
        return Err(cannot("wildcard indexes do not allow compounding").prefixed(&context(spec)));
    }
    Ok(wildcard)
}

/// A wildcard index has few of the options of others.
fn check_wildcard(spec: Doc<'_>, found: &Options<'_>) -> Result<()> {
    let refused = if found.version == 1 {
        Some(format!(
            "bad index key pattern {}: 'wildcard' index plugin is not allowed with index version v:1",
            found.key
        ))
    } else if found.sparse == Some(true) {
        Some("Index type 'wildcard' does not support the sparse option".to_owned())
    } else if found.unique {
        Some("Index type 'wildcard' does not support the unique option".to_owned())
    } else if found.expire_after_seconds.is_some() {
        Some("Index type 'wildcard' cannot be a TTL index".to_owned())
    } else {
        None
    };
    match refused {
        None => Ok(()),
        Some(why) => Err(cannot(why).prefixed(&context(Doc::Fields(&settled(spec, found))))),
    }
}

/// The specification with what it does not say, as later refusals show it.
fn settled(spec: Doc<'_>, found: &Options<'_>) -> Fields {
    let given = spec
        .elements()
        .filter(|element| !matches!(element.name(), b"collation" | b"ns"));
    let mut fields: Fields = given
        .map(|element| (element.name_str().to_owned(), Owned::from(element.value())))
        .collect();
    if spec.get("v").is_none() {
        fields.push(("v".to_owned(), Owned::Int32(found.version)));
    }
    if let Some(collation) = found.collation.spec() {
        fields.push(("collation".to_owned(), Owned::from(Value::Document(collation))));
    }
    fields
}

fn context(spec: Doc<'_>) -> String {
    format!("Error in specification {spec} :: caused by :: ")
}

pub(super) fn cannot(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::CANNOT_CREATE_INDEX, message)
}
