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
use super::super::collation::Collation;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Owned, Value, number};
use super::super::fault::{Fault, Result, code};
use super::super::storage_engine;
use super::spec::Canonical;
use super::{ID_INDEX, IndexDefinition, Order, Origin, paths_of, roots_of, text};

/// What a specification says by itself: of several, all are read so before one is looked at as a whole.
pub(crate) struct Form<'a> {
    spec: Doc<'a>,
    origin: Origin,
    found: Options<'a>,
    on_id: bool,
}

impl<'a> Form<'a> {
    pub(super) fn read(spec: Doc<'a>, origin: Origin) -> Result<Form<'a>> {
        let found = Options::read(spec, origin).map_err(|fault| fault.prefixed(&context(spec)))?;
        let on_id = check_id(spec, &found, origin)?;
        Ok(Form {
            spec,
            origin,
            found,
            on_id,
        })
    }

    /// Whether it is of a clustered collection.
    pub(crate) fn is_clustered(&self) -> bool {
        self.found.clustered
    }

    /// Whether documents are to be removed by it.
    pub(crate) fn expires(&self) -> bool {
        self.found.expire_after_seconds.is_some()
    }

    /// How long documents live, which of several specifications is looked at before how strings compare, and both before
    /// one is looked at as a whole.
    ///
    /// # Errors
    /// Code 67.
    pub(crate) fn expiry(&self) -> Result<Option<i64>> {
        let value = self.found.expire_after_seconds;
        value
            .map(|value| parse_expiry(self.spec, &value, written_fields(self.found.key)))
            .transpose()
    }

    /// Refuses a collation that is none.
    ///
    /// # Errors
    /// Those of [`Collation::parse`].
    pub(crate) fn check_locale(&self) -> Result<()> {
        let Some(fault) = &self.found.no_collation else {
            return Ok(());
        };
        Err(fault.clone().prefixed(&format!(
            "failed to add collation information to index spec for index creation: {} :: caused by :: ",
            Doc::Fields(&with_version(self.spec, &self.found))
        )))
    }

    /// A fault of the specification as a whole, as it is told.
    pub(crate) fn refused(&self, fault: Fault) -> Fault {
        fault.prefixed(&context(Doc::Fields(&settled(self.spec, &self.found))))
    }

    /// Looks at it as a whole, where strings compare in this way if it does not say how.
    ///
    /// # Errors
    /// Those of [`IndexDefinition::parse`] that are not about one option by itself.
    pub(crate) fn define(mut self, own: &Collation) -> Result<Proposal> {
        let expire_after_seconds = self.expiry()?;
        self.check_locale()?;
        // Indexes of version 1 compare as if there were no collations.
        if self.found.version > 1 && self.spec.get("collation").is_none() {
            self.found.collation = own.clone();
        }
        define(self, expire_after_seconds)
    }

    /// Whether it is the one of `_id`.
    pub(crate) fn is_on_id(&self) -> bool {
        self.on_id
    }
}

/// An index that is asked for.
pub(crate) struct Proposal {
    pub(crate) definition: IndexDefinition,
    /// What its builder says, when nothing else is in the way.
    pub(crate) builder: Result<()>,
}

impl Proposal {
    /// The definition, where it can be built.
    pub(crate) fn built(self) -> Result<IndexDefinition> {
        self.builder.map(|()| self.definition)
    }
}

fn define(form: Form<'_>, expire_after_seconds: Option<i64>) -> Result<Proposal> {
    let Form {
        spec,
        origin,
        mut found,
        on_id,
    } = form;
    let mut keys = found.keys.clone();
    let is_text = text::is_text(found.key);
    let (wildcard, filter) = (found.wildcard.take(), found.partial.take());
    let shown = settled(spec, &found);
    let shown = Doc::Fields(&shown);
    let as_settled = |fault: Fault| fault.prefixed(&context(shown));
    check_name(&found).map_err(as_settled)?;
    if wildcard.is_some() {
        check_wildcard(&found).map_err(as_settled)?;
    }
    check_collation(&found).map_err(as_settled)?;
    let written = filter.as_ref().map(|filter| filter.written);
    let partial = filter
        .map(|filter| {
            let sparse = found.sparse == Some(true);
            filter.accepted((spec, shown), sparse, &found.collation, origin)
        })
        .transpose()?;
    let engine = check_storage_engine(found.storage_engine).map_err(as_settled)?;
    let text = is_text
        .then(|| text::parse(found.key, &keys, found.text, origin))
        .transpose()
        .map_err(as_settled)?;
    let pattern = text.as_ref().map(|text| Doc::Fields(&text.key));
    if let Some(text) = &text {
        keys.clone_from(&text.fields);
    }
    if let Some(wildcard) = &wildcard {
        keys = wildcard.fields(&keys[0].path);
    }
    let mut geo = found.geo;
    geo.settle_version(&keys, origin).map_err(as_settled)?;
    let builder = check_count(found.key, &keys, found.unique).and_then(|()| geo.apply(&mut keys, origin));
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
        partial: written,
        sparse: found.sparse,
        expire_after_seconds,
        storage_engine: engine,
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
    let definition = IndexDefinition {
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
    };
    Ok(Proposal { definition, builder })
}

/// How many fields a key has; a text index is stored with two for one that was given.
fn written_fields(key: Doc<'_>) -> usize {
    match key.get(text::TERM) {
        None => key.count(),
        Some(_) => key.count().saturating_sub(1),
    }
}

/// What is said to the server's own storage engine, which is kept.
fn check_storage_engine(given: Option<Value<'_>>) -> Result<Option<Doc<'_>>> {
    match given {
        None => Ok(None),
        Some(Value::Document(engines)) if engines.is_empty() => Err(cannot(
            "Empty \"storageEngine\" options are invalid. Please remove the field or include valid options.",
        )),
        Some(Value::Document(engines)) => storage_engine::check(engines).map(|()| Some(engines)),
        Some(_) => Err(cannot("\"storageEngine\" options must be a document if present")),
    }
}

fn check_name(found: &Options<'_>) -> Result<()> {
    match found.name {
        _ if found.clustered => Ok(()),
        "" => Err(cannot("index name cannot be empty")),
        name if name.contains('\0') => Err(cannot("index name cannot contain NUL bytes")),
        _ => Ok(()),
    }
}

/// Texts have languages of their own, and places in the plane no strings.
fn check_collation(found: &Options<'_>) -> Result<()> {
    let Some(collation) = found.collation.spec() else {
        return Ok(());
    };
    let kind = found.keys.iter().find_map(|key| match key.order {
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

/// A wildcard index has few of the options of others.
fn check_wildcard(found: &Options<'_>) -> Result<()> {
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
    refused.map_or(Ok(()), |why| Err(cannot(why)))
}

/// The specification as refusals show it, with the version that it has if it does not say.
fn with_version(spec: Doc<'_>, found: &Options<'_>) -> Fields {
    let mut fields = fields_of(spec);
    fields.retain(|(name, _)| name != "ns");
    for (name, value) in &mut fields {
        if name == "expireAfterSeconds" && number::is_nan(&value.as_value()) {
            *value = Owned::Int32(i32::MAX);
        }
    }
    if spec.get("v").is_none() {
        fields.push(("v".to_owned(), Owned::Int32(found.version)));
    }
    fields
}

/// The same with how strings compare, as later refusals show it.
fn settled(spec: Doc<'_>, found: &Options<'_>) -> Fields {
    let mut fields = with_version(spec, found);
    fields.retain(|(name, _)| name != "collation");
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
