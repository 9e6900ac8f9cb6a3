//! Which indexes a collection may have beside each other, and what is told of others.

use super::super::super::catalog::Collection;
use super::super::super::catalog::rules::Series;
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Owned, Value, equal};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::index::{IndexDefinition, Proposal};
use super::super::{Namespace, series};
use super::build_failed;

/// The collection that indexes are built of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Made by the command, or by its transaction.
    New,
    Empty,
    Filled,
}

/// Refuses new indexes that cannot stand beside each other, more than a collection has, and what cannot be built.
pub(super) fn check_together(
    collection: &Collection,
    ns: &Namespace,
    new: &[Proposal],
    state: State,
) -> Result<()> {
    let refused = |fault: Fault, builder: bool| {
        let (build, uuid) = (bson::Uuid::new(), bson::Uuid::from_bytes(collection.uuid));
        match state {
            State::New => fault,
            State::Empty => fault
                .prefixed(&format!("index build on empty collection failed: {build} :: caused by :: "))
                .prefixed(&build_failed(ns, collection, build)),
            State::Filled if builder => fault
                .prefixed(&format!(
                    "Caught exception during index builder ({build}) initialization on namespace{ns} ({uuid}). {} index \
                     specs provided. First index spec: {} :: caused by :: ",
                    new.len(),
                    new[0].definition.shown(),
                ))
                .prefixed(&build_failed(ns, collection, build)),
            State::Filled => fault.prefixed(&build_failed(ns, collection, build)),
        }
    };
    let series = collection.rules.series.as_deref();
    for (at, proposal) in new.iter().enumerate() {
        let definition = &proposal.definition;
        let earlier = new[..at].iter().map(|proposal| &proposal.definition);
        if exists(earlier, definition, series).map_err(|fault| refused(fault, false))? {
            let twice = match state {
                State::Filled => Fault::new(
                    96,
                    "Cannot build two identical indexes. Try again without duplicate indexes.",
                ),
                State::New | State::Empty => Fault::new(
                    code::INDEX_ALREADY_EXISTS,
                    format!("Identical index already exists: {}", definition.name),
                ),
            };
            return Err(refused(twice, false));
        }
        check_number(ns, collection.indexes.len() + at, definition).map_err(|fault| refused(fault, false))?;
        if let Err(fault) = &proposal.builder {
            return Err(refused(fault.clone(), true));
        }
    }
    Ok(())
}

/// Refuses one more index than a collection has.
pub(super) fn check_number(ns: &Namespace, there: usize, definition: &IndexDefinition) -> Result<()> {
    const MOST: usize = 64;
    if there < MOST {
        return Ok(());
    }
    let key = definition.key_pattern();
    let message = format!("add index fails, too many indexes for {ns} key:{key}");
    Err(Fault::new(code::CANNOT_CREATE_INDEX, message))
}

/// Whether the same index is there; another with its name or its keys is an error (86, 85).
pub(super) fn exists<'a>(
    known: impl Iterator<Item = &'a IndexDefinition> + Clone,
    wanted: &IndexDefinition,
    series: Option<&Series>,
) -> Result<bool> {
    let mut other_text = None;
    let named = |own: &&IndexDefinition| own.clustered || own.name == wanted.name;
    // That of the name is asked first.
    for own in known.clone().filter(named).chain(known.filter(|own| !named(own))) {
        let same_name = own.name == wanted.name;
        let same_keys = equal(
            &Value::Document(own.key_pattern()),
            &Value::Document(wanted.key_pattern()),
        );
        if own.clustered && same_keys {
            return Ok(true);
        }
        if own.clustered && same_name {
            return Err(Fault::new(
                6_100_906,
                format!(
                    "Cannot create an index where the name matches the clusteredIndex but the key does not - indexSpec: {}, clusteredIndex: {}",
                    wanted.shown(),
                    own.shown()
                ),
            ));
        }
        if same_name && same_keys && same_options(own, wanted, series) {
            return Ok(true);
        }
        if same_keys && same_identity(own, wanted) {
            let message = if same_name {
                format!(
                    "An equivalent index already exists with the same name but different options. Requested index: {}, existing index: {}",
                    wanted.shown(),
                    own.shown()
                )
            } else if same_options(own, wanted, series) {
                format!("Index already exists with a different name: {}", own.name)
            } else {
                format!(
                    "An equivalent index already exists with a different name and options. Requested index: {}, existing index: {}",
                    wanted.shown(),
                    own.shown()
                )
            };
            return Err(Fault::new(code::INDEX_OPTIONS_CONFLICT, message));
        }
        if own.text.is_some() && wanted.text.is_some() {
            other_text = Some(own);
        }
        if same_name {
            return Err(Fault::new(
                code::INDEX_KEY_SPECS_CONFLICT,
                format!(
                    "An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: {}, existing index: {}",
                    wanted.shown(),
                    own.shown()
                ),
            ));
        }
    }
    match other_text {
        None => Ok(false),
        Some(own) => Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "only one text index per collection allowed, found existing text index \"{}\"",
                own.name
            ),
        )),
    }
}

/// Two indexes with the same identity cannot stand beside each other, whatever their names.
fn same_identity(own: &IndexDefinition, other: &IndexDefinition) -> bool {
    let same_filter = match (&own.partial, &other.partial) {
        (None, None) => true,
        (Some(own), Some(other)) => own.root().is_same(other.root()),
        _ => false,
    };
    let same_fields = match (&own.wildcard, &other.wildcard) {
        (None, None) => true,
        (Some(own), Some(other)) => own.is_same(other),
        _ => false,
    };
    own.unique == other.unique
        && own.collation == other.collation
        && own.sparse == other.sparse
        && same_filter
        && same_fields
}

/// What of a specification does not matter to whether an index is there, or is part of its identity.
const APART: [&str; 15] = [
    "v",
    "key",
    "name",
    "ns",
    "background",
    "dropDups",
    "hidden",
    "unique",
    "sparse",
    "collation",
    "clustered",
    "partialFilterExpression",
    "wildcardProjection",
    "2dsphereIndexVersion",
    "textIndexVersion",
];

/// The options that are no part of the identity. Those of an index of measurements are all that was given, with its name.
fn same_options(own: &IndexDefinition, other: &IndexDefinition, series: Option<&Series>) -> bool {
    let is_measured = series.is_some_and(|series| series::is_measured(series, own.key_pattern()));
    let options = |definition: &IndexDefinition| {
        let mut options = fields_of(Doc::Raw(definition.spec()));
        options.retain(|(name, _)| is_measured || !APART.contains(&name.as_str()));
        options.sort_by(|(a, _), (b, _)| a.cmp(b));
        Owned::Document(options)
    };
    same_identity(own, other) && equal(&options(own).as_value(), &options(other).as_value())
}
