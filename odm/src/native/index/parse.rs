//! `createIndexes` specifications: MongoDB's rules, in its order and with its words.

mod expiry;
mod identity;
mod key;
mod options;
mod partial;

use self::expiry::parse_expiry;
use self::identity::check_id;
use self::key::{check_count, parse_key};
use self::options::Options;
pub(super) use self::options::is_option;
use self::partial::parse_partial;
use super::super::document::Doc;
use super::super::fault::{Fault, Result, code};
use super::spec::Canonical;
use super::{ID_INDEX, IndexDefinition, paths_of, text};

pub(super) fn parse(spec: Doc<'_>) -> Result<IndexDefinition> {
    let found = Options::read(spec).map_err(|fault| fault.prefixed(&context(spec)))?;
    let mut keys = parse_key(found.key).map_err(|fault| fault.prefixed(&context(spec)))?;
    let text = text::is_text(found.key)
        .then(|| text::parse(found.key, &keys, found.text))
        .transpose()
        .map_err(|fault| fault.prefixed(&context(spec)))?;
    let pattern = text.as_ref().map(|text| Doc::Fields(&text.key));
    if let Some(text) = &text {
        keys.clone_from(&text.fields);
    }
    let on_id = check_id(spec, &found)?;
    let expire_after_seconds = found
        .expire_after_seconds
        .map(|value| parse_expiry(spec, &value, keys.len()))
        .transpose()?;
    if found.name.is_empty() {
        return Err(cannot("index name cannot be empty").prefixed(&context(spec)));
    }
    if found.name.contains('\0') {
        return Err(cannot("index name cannot contain NUL bytes").prefixed(&context(spec)));
    }
    let partial = found
        .partial
        .map(|filter| parse_partial(filter, found.sparse == Some(true)))
        .transpose()
        .map_err(|fault| fault.prefixed(&context(spec)))?;
    check_count(&keys, found.unique)?;
    let mut geo = found.geo;
    geo.apply(&mut keys, &spec)?;
    let name = if on_id { ID_INDEX } else { found.name };
    let canonical = Canonical {
        key: pattern.unwrap_or(found.key),
        text: text.as_ref().map_or(&[], |text| &text.options),
        name,
        background: found.background,
        unique: found.unique,
        prepare_unique: found.prepare_unique,
        hidden: found.hidden,
        partial: found.partial,
        sparse: found.sparse,
        expire_after_seconds,
        geo,
    };
    Ok(IndexDefinition {
        name: name.to_owned(),
        paths: paths_of(&keys),
        keys,
        unique: found.unique || on_id,
        prepare_unique: found.prepare_unique,
        sparse: found.sparse == Some(true),
        partial,
        expire_after_seconds,
        hidden: found.hidden,
        spec: canonical.to_bytes(),
        text: text.as_ref().map(|text| text.spec.clone()),
    })
}

fn context(spec: Doc<'_>) -> String {
    format!("Error in specification {spec} :: caused by :: ")
}

pub(super) fn cannot(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::CANNOT_CREATE_INDEX, message)
}
