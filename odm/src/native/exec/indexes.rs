//! Creating, building, dropping and listing indexes.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::rules::{Series, encrypted};
use super::super::catalog::{Catalog, Collection, IndexEntry};
use super::super::collation::Collation;
use super::super::document::number::as_i64_exact;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Owned, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::index::arrays::{self, Arrays};
use super::super::index::{Form, ID_INDEX, IndexDefinition, Proposal};
use super::super::key::types::Types;
use super::super::storage::{Read, Write, format};
use super::{Namespace, batch, record, series, view};

/// Creates indexes, and the collection where it is missing. One that exists already with the same options is left.
pub(crate) fn create(write: &mut dyn Write, ns: &Namespace, specs: &[Vec<u8>]) -> Result<()> {
    view::refuse_buckets(write.catalog(), ns)?;
    let stored_in = series::stored_in(write.catalog(), ns);
    let ns = &*stored_in;
    let found = write.catalog().collection(&ns.database, &ns.collection);
    let is_new = found.is_none_or(|own| write.has_made(own.id));
    let proposals = propose(write.catalog(), ns, specs)?;
    let definitions = || proposals.iter().map(|proposal| &proposal.definition);
    for field in found.iter().flat_map(|own| own.rules.encrypted.iter()) {
        let mut keys = definitions().flat_map(|definition| &definition.keys);
        if keys.any(|key| encrypted::overlap(&key.path, &field.path)) {
            return Err(Fault::new(
                6_346_502,
                format!(
                    "Index not allowed on, or a prefix of, the encrypted field {}",
                    field.path
                ),
            ));
        }
    }
    let Some(collection) = batch::open_for(write, ns, true)? else {
        return Ok(());
    };
    let series = collection.rules.series.as_deref();
    let known = collection.indexes.iter().map(|entry| &*entry.definition);
    let mut new: Vec<Proposal> = Vec::new();
    for proposal in proposals {
        if !exists(known.clone(), &proposal.definition, series)? {
            check_number(ns, collection.indexes.len(), &proposal.definition)?;
            new.push(proposal);
        }
    }
    if !new.is_empty() && write.in_transaction() {
        refuse_in_transaction(write, &collection, ns)?;
    }
    let state = match is_new {
        true => State::New,
        false if has_documents(&*write, &collection)? => State::Filled,
        false => State::Empty,
    };
    check_together(&collection, ns, &new, state)?;
    for proposal in new {
        build(write, ns, proposal.definition)?;
    }
    Ok(())
}

/// What the specifications mean; what says no collation has that of the collection.
fn propose(catalog: &Catalog, ns: &Namespace, specs: &[Vec<u8>]) -> Result<Vec<Proposal>> {
    let found = catalog.collection(&ns.database, &ns.collection);
    let own = found.map_or_else(Collation::default, |own| own.rules.collation.clone());
    let specs = specs.iter().map(|spec| Doc::Raw(spec));
    let proposals: Vec<Proposal> = match found.and_then(|own| own.rules.series.as_deref()) {
        Some(series) => {
            for spec in specs.clone() {
                series::check_index(series, &own, spec)?;
            }
            let defined = specs.map(|spec| define_for_series(spec, &own, series));
            defined.collect::<Result<_>>()?
        }
        None => {
            // What is wrong with one by itself is told before what is wrong with another as a whole.
            let forms: Vec<Form<'_>> = specs.map(IndexDefinition::form).collect::<Result<_>>()?;
            view::refuse(catalog, ns)?;
            check_rules(found.map(Arc::as_ref), &forms)?;
            for form in &forms {
                form.expiry()?;
            }
            for form in &forms {
                form.check_locale()?;
            }
            let defined = forms.into_iter().map(|form| {
                check_clustered(found.map(Arc::as_ref), &form)?;
                form.define(&own)
            });
            defined.collect::<Result<_>>()?
        }
    };
    for proposal in &proposals {
        check_collation_of_id(&proposal.definition, &own)?;
    }
    Ok(proposals)
}

/// Refuses indexes that a collection of its kind does not have.
fn check_rules(found: Option<&Collection>, forms: &[Form<'_>]) -> Result<()> {
    if found.is_none() && forms.iter().any(Form::is_clustered) {
        return Err(Fault::new(
            6_100_900,
            "Cannot implicitly create a new collection with createIndex 'clustered' option",
        ));
    }
    if found.is_some_and(|own| own.rules.capped.is_some()) && forms.iter().any(Form::expires) {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            "Cannot create TTL index on a capped collection",
        ));
    }
    Ok(())
}

/// The index of a clustered collection is made with it.
fn check_clustered(found: Option<&Collection>, form: &Form<'_>) -> Result<()> {
    let has = found.is_some_and(|own| own.rules.clustered.is_some());
    if !form.is_clustered() || (has && form.is_on_id()) {
        return Ok(());
    }
    Err(form.refused(Fault::new(
        6_243_700,
        "Cannot create index with option 'clustered' that does not match an existing clustered index",
    )))
}

/// The collection that indexes are built of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Made by the command, or by its transaction.
    New,
    Empty,
    Filled,
}

/// Refuses new indexes that cannot stand beside each other, more than a collection has, and what cannot be built.
fn check_together(collection: &Collection, ns: &Namespace, new: &[Proposal], state: State) -> Result<()> {
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
fn check_number(ns: &Namespace, there: usize, definition: &IndexDefinition) -> Result<()> {
    const MOST: usize = 64;
    if there < MOST {
        return Ok(());
    }
    let key = definition.key_pattern();
    let message = format!("add index fails, too many indexes for {ns} key:{key}");
    Err(Fault::new(code::CANNOT_CREATE_INDEX, message))
}

/// What is said before the reason why the indexes of a collection could not be built.
fn build_failed(ns: &Namespace, collection: &Collection, build: bson::Uuid) -> String {
    let uuid = bson::Uuid::from_bytes(collection.uuid);
    format!("Index build failed: {build}: Collection {ns} ( {uuid} ) :: caused by :: ")
}

/// A transaction builds indexes only of collections that it has made, and put nothing into.
fn refuse_in_transaction(write: &dyn Write, collection: &Collection, ns: &Namespace) -> Result<()> {
    let what = match write.has_made(collection.id) {
        false => "existing",
        true if has_documents(write, collection)? => "non-empty",
        true => return Ok(()),
    };
    Err(Fault::new(
        code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
        format!("Cannot create new indexes on {what} collection {ns} in a multi-document transaction."),
    ))
}

fn has_documents(read: &dyn Read, collection: &Collection) -> Result<bool> {
    let mut found = false;
    read.scan(
        collection.records,
        (Bound::Unbounded, Bound::Unbounded),
        false,
        &mut |_, _| {
            found = true;
            Ok(ControlFlow::Break(()))
        },
    )?;
    Ok(found)
}

/// Reads a specification; what says no collation has that of the series.
fn define_for_series(spec: Doc<'_>, own: &Collation, series: &Series) -> Result<Proposal> {
    let version = spec.get("v").and_then(|version| as_i64_exact(&version));
    match (own.spec(), spec.get("collation")) {
        (Some(inherited), None) if version != Some(1) => {
            let mut fields = fields_of(spec);
            fields.push(("collation".to_owned(), Owned::RawDocument(inherited.to_bytes())));
            series::define(series, Doc::Fields(&fields))
        }
        _ => series::define(series, spec),
    }
}

/// The index of `_id` compares as its collection does.
fn check_collation_of_id(definition: &IndexDefinition, own: &Collation) -> Result<()> {
    if !definition.is_id() || definition.collation == *own {
        return Ok(());
    }
    Err(Fault::new(
        code::BAD_VALUE,
        format!(
            "The _id index must have the same collation as the collection. Index collation: {}, collection \
             collation: {}",
            definition.collation.shown(),
            own.shown()
        ),
    ))
}

/// Whether the same index is there; another with its name or its keys is an error (86, 85).
fn exists<'a>(
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

/// Builds one index from the documents there are: all checks first, then the entries.
fn build(write: &mut dyn Write, ns: &Namespace, definition: IndexDefinition) -> Result<()> {
    let Some(collection) = write.catalog().collection(&ns.database, &ns.collection).cloned() else {
        return Ok(());
    };
    // When the build fails, so does the job, and the index is gone with it.
    let tree = write.catalog_mut().add_index(collection.id, definition.clone())?;
    let entry = IndexEntry {
        definition: Arc::new(definition),
        tree,
        multikey: Vec::new(),
        stale: false,
    };
    let failed = |fault: Fault| fault.prefixed(&build_failed(ns, &collection, bson::Uuid::new()));
    let mut stored: Vec<(Vec<u8>, Types)> = Vec::new();
    let mut multikey = vec![Arrays::NONE; entry.definition.keys.len()];
    let records = collection.records;
    write.scan(
        records,
        (Bound::Unbounded, Bound::Unbounded),
        false,
        &mut |place, value| {
            let document = format::unseal(records, place, value)?;
            let keys = match &collection.rules.series {
                None => entry.definition.keys(Doc::Raw(document)),
                Some(series) => series::keys(series, &entry.definition, Doc::Raw(document)),
            };
            let keys = keys.map_err(&failed)?;
            arrays::join(&mut multikey, &keys.multikey);
            for mut key in keys.keys {
                key.extend_from_slice(place);
                stored.push((key, keys.types));
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    stored.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    if entry.definition.unique {
        for pair in stored.windows(2) {
            let (first, second) = (split(&pair[0].0), split(&pair[1].0));
            if first.0 == second.0 && first.1 != second.1 {
                let place = second.1;
                let document = write.get(records, place)?.unwrap_or_default();
                let document = format::unseal(records, place, &document)?.to_vec();
                return Err(failed(record::duplicate(ns, &entry, &document, second.0)));
            }
        }
    }
    for (key, types) in &stored {
        record::put_entry(write, &entry, key, types)?;
    }
    if entry.would_change(&multikey) {
        write.catalog_mut().set_multikey(collection.id, tree, &multikey)?;
    }
    Ok(())
}

/// Whether two documents have one key.
pub(super) fn has_duplicates(read: &dyn Read, entry: &IndexEntry) -> Result<bool> {
    let (mut last, mut found): (Option<Vec<u8>>, bool) = (None, false);
    let all = (Bound::Unbounded, Bound::Unbounded);
    read.scan(entry.tree, all, false, &mut |stored, _| {
        let key = split(stored).0;
        // A document has no key twice in an index, so that the same key is another document's.
        found = last.as_deref() == Some(key);
        last = Some(key.to_vec());
        Ok(if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(found)
}

/// A stored key's order key and record id.
fn split(stored: &[u8]) -> (&[u8], &[u8]) {
    stored.split_at(stored.len().saturating_sub(super::scan::RECORD_BYTES))
}

/// The indexes of these keys.
pub(super) fn with_keys<'a>(
    collection: &'a Collection,
    keys: Doc<'a>,
) -> impl Iterator<Item = &'a IndexEntry> + 'a {
    collection.indexes.iter().filter(move |entry| {
        equal(
            &Value::Document(entry.definition.key_pattern()),
            &Value::Document(keys),
        )
    })
}

/// Drops indexes by name, by key pattern, by a list of names, or all but that of `_id` (`"*"`).
pub(crate) fn drop(write: &mut dyn Write, ns: &Namespace, which: &Value<'_>) -> Result<()> {
    if view::list::is_list(ns) {
        return Err(Fault::new(
            51070,
            format!("Modifications to {ns} must take an exclusive lock"),
        ));
    }
    view::refuse_buckets(write.catalog(), ns)?;
    let stored_in = series::stored_in(write.catalog(), ns);
    let ns = &*stored_in;
    view::refuse(write.catalog(), ns)?;
    let Some(collection) = write.catalog().collection(&ns.database, &ns.collection).cloned() else {
        return Err(Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns not found {ns}"),
        ));
    };
    let mut names: Vec<String> = Vec::new();
    match which {
        Value::String("*") => {
            names.extend(all_but_id(&collection));
        }
        Value::String(name) => names.push(named(&collection, name)?),
        Value::Document(keys) => {
            let with_keys: Vec<&IndexEntry> = with_keys(&collection, *keys).collect();
            if with_keys.len() > 1 {
                let specs = with_keys.iter().take(2).map(|entry| entry.definition.shown());
                return Err(Fault::new(
                    181,
                    format!(
                        "{} indexes found for key: {keys}, identify by name instead. Conflicting indexes: {}",
                        with_keys.len(),
                        specs.collect::<Vec<_>>().join(", ")
                    ),
                ));
            }
            match with_keys.first() {
                Some(entry) => names.push(named(&collection, &entry.definition.name)?),
                None => {
                    return Err(Fault::new(
                        code::INDEX_NOT_FOUND,
                        format!("can't find index with key: {keys}"),
                    ));
                }
            }
        }
        // Whatever follows is not looked at.
        Value::Array(list) if list.at(0).is_some_and(|first| first.as_str() == Some("*")) => {
            names.extend(all_but_id(&collection));
        }
        Value::Array(list) => {
            for item in list.values() {
                match item {
                    // A name that comes twice is gone the second time.
                    Value::String(name) if names.iter().any(|own| own == name) => return Err(missing(name)),
                    Value::String(name) => names.push(named(&collection, name)?),
                    _ => return Err(bad_drop()),
                }
            }
        }
        _ => return Err(bad_drop()),
    }
    for name in names {
        if let Some(entry) = collection
            .indexes
            .iter()
            .find(|entry| entry.definition.name == name)
        {
            write.catalog_mut().drop_index(collection.id, entry.tree)?;
        }
    }
    Ok(())
}

fn bad_drop() -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        "dropIndexes takes an index name, a key pattern or an array of names",
    )
}

fn all_but_id(collection: &Collection) -> impl Iterator<Item = String> + '_ {
    let others = collection
        .indexes
        .iter()
        .filter(|entry| !entry.definition.is_id());
    others.map(|entry| entry.definition.name.clone())
}

fn named(collection: &Collection, name: &str) -> Result<String> {
    match collection.index(name) {
        Some(entry) if entry.definition.clustered => {
            Err(Fault::new(5_979_800, "It is illegal to drop the clusteredIndex"))
        }
        Some(entry) if entry.definition.is_id() => {
            Err(Fault::new(code::INVALID_OPTIONS, "cannot drop _id index"))
        }
        Some(entry) => Ok(entry.definition.name.clone()),
        None if collection.rules.series.is_some() && name == ID_INDEX => {
            Err(Fault::new(5_979_800, "It is illegal to drop the clusteredIndex"))
        }
        None => Err(missing(name)),
    }
}

fn missing(name: &str) -> Fault {
    Fault::new(
        code::INDEX_NOT_FOUND,
        format!("index not found with name [{name}]"),
    )
}

/// The specifications of a collection's indexes; `None` when there is no such collection.
pub(crate) fn list(read: &dyn Read, ns: &Namespace) -> Option<Vec<Vec<u8>>> {
    let stored_in = series::stored_in(read.catalog(), ns);
    let found = read
        .catalog()
        .collection(&stored_in.database, &stored_in.collection);
    // An older file has views without the collection of them.
    if found.is_none() && view::list::is_list(ns) {
        let mut all = read.catalog().collections(&ns.database);
        let has_views = all.any(|collection| collection.rules.view.is_some());
        let id = IndexDefinition::id(&Collation::default());
        return has_views.then(|| vec![id.spec().to_vec()]);
    }
    let collection = found?;
    Some(
        collection
            .indexes_as_made()
            .into_iter()
            .map(|entry| entry.definition.spec().to_vec())
            .collect(),
    )
}
