//! `$out` and `$merge`: what a pipeline gives is written.

mod parse;

use std::sync::Arc;

use super::super::aggregate::expression::{Expression, Scope};
use super::super::aggregate::pipeline::{IN_RUN, Memory};
use super::super::aggregate::transform::Transform;
use super::super::catalog::Collection;
use super::super::collation::Collation;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Owned, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::storage::Write;
use super::super::update::{Description, Now, Updater, check_changed, prepare_insert, same_bytes};
use super::query::Query;
use super::search::{self, Found, Limits};
use super::{Deadline, Namespace, batch, change, collections, record, validate, view};

pub(crate) use self::parse::parse;

/// Where results go, parsed.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// In place of all that is there.
    Out(Namespace),
    Merge(Box<Merge>),
}

/// A parsed `$merge`.
#[derive(Clone, Debug)]
pub(crate) struct Merge {
    into: Namespace,
    /// Whether `on` was not said: then it is `_id`, however strings compare.
    is_by_id: bool,
    on: Vec<String>,
    variables: Vec<(String, Expression)>,
    matched: Matched,
    not_matched: NotMatched,
    /// What is wrong with it beside the fields of `on`, which are looked up first.
    refused: Option<Fault>,
}

#[derive(Clone, Debug)]
enum Matched {
    Replace,
    KeepExisting,
    Merge,
    Fail,
    /// The stages as given: what is wrong with them is found where they are to run.
    Pipeline(Vec<Vec<u8>>),
}

#[derive(Clone, Copy, Debug)]
enum NotMatched {
    Insert,
    Discard,
    Fail,
}

impl Target {
    /// Checks what must be right before the pipeline runs.
    ///
    /// # Errors
    /// Code 51183 when no unique index has the fields of `on`, 167 for a view that compares strings by other rules.
    pub(crate) fn check(&self, read: &dyn super::super::storage::Read, collation: &Collation) -> Result<()> {
        let merge = match self {
            Target::Out(ns) => return view::refuse_other(read.catalog(), ns, collation),
            Target::Merge(merge) => merge,
        };
        merge.check_on(read, collation)?;
        view::refuse_other(read.catalog(), &merge.into, collation)?;
        merge.refused.clone().map_or(Ok(()), Err)
    }

    /// Writes the documents. What `$merge` wrote beside a fault stays, as on the server: the fault is then the
    /// inner result. `unvalidated` passes by the collection's validator; `variables` are those of the command's `let`.
    pub(crate) fn run(
        &self,
        write: &mut dyn Write,
        rows: &[Vec<u8>],
        now: Now,
        unvalidated: bool,
        collation: &Collation,
        variables: &[(String, Option<Owned>)],
    ) -> Result<Result<()>> {
        match self {
            Target::Out(ns) => out(write, ns, rows, now, unvalidated)
                .map_err(|fault| fault.while_running(IN_RUN))
                .map(Ok),
            Target::Merge(merge) => {
                let way = Way {
                    now,
                    unvalidated,
                    collation,
                    variables,
                };
                let done = merge.all(write, rows, &way)?;
                Ok(done.map_err(|fault| fault.while_running(IN_RUN)))
            }
        }
    }
}

/// Puts a new collection with the options and indexes of the old one in its place. As on the server, it is filled under a
/// name of its own, and then gets that of the old one.
fn out(write: &mut dyn Write, ns: &Namespace, rows: &[Vec<u8>], now: Now, unvalidated: bool) -> Result<()> {
    ns.check().map_err(|_| {
        Fault::new(
            code::ILLEGAL_OPERATION,
            format!(
                "error with target namespace: Invalid collection name: {}",
                ns.collection
            ),
        )
    })?;
    if ns.collection.contains(".system.") {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            format!("error with target namespace: Invalid namespace: {ns}"),
        ));
    }
    view::refuse(write.catalog(), ns)?;
    let old = write.catalog().collection(&ns.database, &ns.collection).cloned();
    if old.as_ref().is_some_and(|old| old.rules.capped.is_some()) {
        return Err(Fault::new(
            17152,
            format!("namespace '{ns}' is capped so it can't be used for $out"),
        ));
    }
    let made = Namespace {
        database: ns.database.clone(),
        collection: format!("tmp.agg_out.{}", bson::Uuid::new()),
    };
    collections::create(write, &made, old.as_ref().map(|old| Doc::Raw(&old.options)))?;
    let mut collection = open(write, &made)?;
    for entry in old.iter().flat_map(|old| old.indexes_as_made()) {
        if !entry.definition.is_id() {
            write
                .catalog_mut()
                .add_index(collection.id, (*entry.definition).clone())?;
        }
    }
    for row in rows {
        collection = batch::unvalidated(open(write, &made)?, unvalidated);
        let document = prepare_insert(Doc::Raw(&with_id(row)), now)?;
        record::insert(write, &made, &collection, &document)?;
    }
    collections::make_way(write, ns)?;
    write
        .catalog_mut()
        .rename_collection(collection.id, &ns.database, &ns.collection)?;
    change::renamed(write, &collection, ns);
    Ok(())
}

fn open(write: &mut dyn Write, ns: &Namespace) -> Result<Arc<Collection>> {
    batch::open_for(write, ns, true)?
        .ok_or_else(|| Fault::new(code::NAMESPACE_NOT_FOUND, "ns does not exist"))
}

/// The document with an `_id`, generated where it has none.
fn with_id(row: &[u8]) -> Vec<u8> {
    let doc = Doc::Raw(row);
    if doc.get("_id").is_some() {
        return row.to_vec();
    }
    let mut fields = fields_of(doc);
    let id = Owned::ObjectId(bson::oid::ObjectId::new().bytes());
    fields.insert(0, ("_id".to_owned(), id));
    Doc::Fields(&fields).to_bytes()
}

/// The document with its fields sorted; `_id` stays first.
fn in_order_of_names(document: &[u8], is_first: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut fields: Vec<(String, Owned)> = Doc::Raw(document)
        .elements()
        .map(|element| (element.name_str().to_owned(), element.value().into()))
        .collect();
    let place = |name: &str| (name != "_id", !is_first(name));
    fields.sort_by(|(a, _), (b, _)| (place(a), a).cmp(&(place(b), b)));
    Doc::Fields(&fields).to_bytes()
}

/// The code of a row that matches nothing, where that fails.
const UNMATCHED: i32 = 13113;

/// How many bytes of documents are merged at once.
const BATCH: usize = 16 * 1024 * 1024;

/// What holds for all rows. `unvalidated` passes by the collection's validator.
struct Way<'a> {
    now: Now,
    unvalidated: bool,
    collation: &'a Collation,
    /// What the command's `let` gives.
    variables: &'a [(String, Option<Owned>)],
}

/// What is to be merged: all that does not depend on the target.
struct Merged<'a> {
    row: &'a [u8],
    /// The row with an `_id`.
    new: Vec<u8>,
    filter: Vec<u8>,
    variables: Vec<(String, Option<Owned>)>,
}

/// Stages of a `$merge`, parsed for variables of these names.
struct Parsed {
    names: Vec<String>,
    transform: Transform,
}

impl Merge {
    /// Refuses fields that no unique index has.
    fn check_on(&self, read: &dyn super::super::storage::Read, collation: &Collation) -> Result<()> {
        let collection = read
            .catalog()
            .collection(&self.into.database, &self.into.collection)
            .filter(|found| found.rules.view.is_none());
        let compares_so = collection.is_none_or(|own| own.rules.collation == *collation);
        if self.is_by_id || (self.on == ["_id"] && compares_so) {
            return Ok(());
        }
        let has = |definition: &IndexDefinition| {
            definition.unique
                && definition.collation == *collation
                && definition.partial.is_none()
                && definition.keys.len() == self.on.len()
                && definition.keys.iter().all(|key| self.on.contains(&key.path))
        };
        match collection {
            Some(own) if own.indexes.iter().any(|entry| has(&entry.definition)) => Ok(()),
            _ => Err(Fault::new(
                51183,
                "Cannot find index to verify that join fields will be unique",
            )),
        }
    }

    /// Merges the rows in batches. A row that cannot be merged at all ends with it, and with its batch, before that is
    /// written; one that the target refuses keeps none of its batch back, and the first such fault is given.
    fn all(&self, write: &mut dyn Write, rows: &[Vec<u8>], way: &Way<'_>) -> Result<Result<()>> {
        let mut rest = rows;
        let mut last = None;
        while !rest.is_empty() {
            let mut size = 0;
            let more = rest.iter().take_while(|row| {
                size += row.len();
                size <= BATCH
            });
            let (batch, after) = rest.split_at(more.count().max(1));
            rest = after;
            let batch: Result<Vec<Merged<'_>>> = batch.iter().map(|row| self.prepare(row, way)).collect();
            let batch = batch.and_then(|batch| {
                view::refuse(write.catalog(), &self.into)?;
                self.into.check()?;
                Ok(batch)
            });
            let batch = match batch {
                Ok(batch) => batch,
                Err(fault) => return Ok(Err(fault)),
            };
            let (mut refused, mut unmatched) = (None, None);
            for one in batch {
                match self.one(write, one, way, &mut last) {
                    Ok(()) => {}
                    Err(fault) if batch::is_fatal(&fault) => return Err(fault),
                    // The server counts what was matched when it has looked for refusals.
                    Err(fault) if fault.code() == UNMATCHED => {
                        unmatched.get_or_insert(fault);
                    }
                    Err(fault) => {
                        refused.get_or_insert(fault);
                    }
                }
            }
            if let Some(fault) = refused.or(unmatched) {
                return Ok(Err(
                    match fault.duplicate_key().is_some() && !fault.message().starts_with("$merge") {
                        true => fault.prefixed("$merge failed due to a DuplicateKey error :: caused by :: "),
                        false => fault,
                    },
                ));
            }
        }
        Ok(Ok(()))
    }

    fn prepare<'a>(&self, row: &'a [u8], way: &Way<'_>) -> Result<Merged<'a>> {
        let new = with_id(row);
        let filter = self.filter(row, &new)?;
        let mut variables = Vec::new();
        if matches!(self.matched, Matched::Pipeline(_)) {
            let scope = Scope {
                metadata: None,
                collation: way.collation.clone(),
                // One without a value is no variable.
                variables: way
                    .variables
                    .iter()
                    .filter(|(_, value)| value.is_some())
                    .cloned()
                    .collect(),
                ..Scope::new(Doc::Raw(&new), way.now.millis)
            };
            let mut own = Vec::with_capacity(self.variables.len());
            for (name, value) in &self.variables {
                if let Some(value) = value.evaluate(&scope)? {
                    own.push((name.clone(), Some(value)));
                }
            }
            variables = scope.variables;
            variables.retain(|(name, _)| own.iter().all(|(hiding, _)| hiding != name));
            variables.extend(own);
        }
        Ok(Merged {
            row,
            new,
            filter,
            variables,
        })
    }

    /// The stages for the variables that there are; `last` are those of the document before.
    fn transform<'p>(
        &self,
        variables: &[(String, Option<Owned>)],
        last: &'p mut Option<Parsed>,
    ) -> Result<Option<&'p Transform>> {
        let Matched::Pipeline(stages) = &self.matched else {
            return Ok(None);
        };
        let names = || variables.iter().map(|(name, _)| name);
        let is_known = |parsed: &Parsed| parsed.names.iter().eq(names());
        if !last.as_ref().is_some_and(is_known) {
            let stages: Vec<Doc<'_>> = stages.iter().map(|stage| Doc::Raw(stage)).collect();
            let names: Vec<String> = names().cloned().collect();
            let transform = Transform::parse(&stages, &names)?;
            *last = Some(Parsed { names, transform });
        }
        Ok(last.as_ref().map(|parsed| &parsed.transform))
    }

    fn one(
        &self,
        write: &mut dyn Write,
        merged: Merged<'_>,
        way: &Way<'_>,
        last: &mut Option<Parsed>,
    ) -> Result<()> {
        let Way { now, unvalidated, .. } = *way;
        let Merged {
            row,
            new,
            filter,
            variables,
        } = merged;
        let transform = self.transform(&variables, last)?;
        let found = match write
            .catalog()
            .collection(&self.into.database, &self.into.collection)
            .cloned()
        {
            Some(collection) => first(write, &collection, &filter)?.map(|found| (collection, found)),
            None => None,
        };
        let Some((collection, found)) = found else {
            return match self.not_matched {
                NotMatched::Discard => Ok(()),
                NotMatched::Fail => Err(Fault::new(
                    UNMATCHED,
                    "$merge could not find a matching document in the target collection for at least one document in the source collection",
                )),
                NotMatched::Insert => {
                    let collection = batch::unvalidated(open(write, &self.into)?, unvalidated);
                    // The server inserts what is not to be changed as `$setOnInsert` does, and what is merged as `$set`:
                    // behind what it looked for.
                    let new = match self.matched {
                        Matched::KeepExisting | Matched::Merge => {
                            in_order_of_names(&new, |name| self.on.iter().any(|on| root_of(on) == name))
                        }
                        _ => new,
                    };
                    let document = prepare_insert(Doc::Raw(&new), now)?;
                    record::insert(write, &self.into, &collection, &document)
                }
            };
        };
        let collection = batch::unvalidated(collection, unvalidated);
        let old = Doc::Raw(&found.document);
        let changed = match &self.matched {
            Matched::KeepExisting => None,
            Matched::Fail => {
                // As on the server, which inserts what it has not looked for.
                validate::inserted(&collection, &new)?;
                return Err(self.exists(&collection, &new).prefixed(
                    "$merge with whenMatched: fail found an existing document with the same values for the 'on' fields :: caused by :: ",
                ));
            }
            Matched::Replace => {
                // Without an `_id` of its own the new document takes that of the old.
                let source = if Doc::Raw(row).get("_id").is_some() {
                    &new
                } else {
                    row
                };
                let replaced = Updater::replacement(Doc::Raw(source))?.apply(old, None, now);
                replaced.map_err(|fault| match fault.code() {
                    code::IMMUTABLE_FIELD => not_updated(fault),
                    _ => fault,
                })?
            }
            Matched::Merge => {
                let mut fields = fields_of(old);
                for (name, value) in fields_of(Doc::Raw(&in_order_of_names(row, |_| false))) {
                    match fields.iter_mut().find(|(own, _)| *own == name) {
                        Some((_, own)) => *own = value,
                        None => fields.push((name, value)),
                    }
                }
                let merged = Doc::Fields(&fields).to_bytes();
                (merged != found.document).then_some(merged)
            }
            Matched::Pipeline(_) => {
                let made = match transform {
                    Some(transform) => {
                        transform.apply(old, &variables, now.millis, &collection.rules.collation)?
                    }
                    None => Value::Document(old).into(),
                };
                // What the stages made counts, before it gets its `_id` back.
                match made.as_value() {
                    Value::Document(doc) if doc.to_bytes() != found.document => Some(with_id_first(doc, old)),
                    _ => None,
                }
            }
        };
        let Some(changed) = changed else {
            return Ok(());
        };
        check_changed(&changed)?;
        check_id(&self.matched, &found.document, &changed)?;
        let description = match self.matched {
            Matched::Merge if write.is_logging() => Some(Description::of_fields(&found.document, &changed)),
            Matched::Pipeline(_) if write.is_logging() => Description::of_stages(&found.document, &changed),
            _ => None,
        };
        let at = (found.record, found.document.as_slice());
        record::replace(write, &self.into, &collection, at, &changed, description.as_ref())
    }

    /// The filter of the document that has the same values in the fields of `on`.
    fn filter(&self, row: &[u8], new: &[u8]) -> Result<Vec<u8>> {
        let mut fields = Vec::with_capacity(self.on.len());
        for field in &self.on {
            let source = if field == "_id" { new } else { row };
            let mut value = Some(Value::Document(Doc::Raw(source)));
            for segment in field.split('.') {
                value = match value {
                    Some(Value::Document(doc)) => doc.get(segment),
                    _ => None,
                };
            }
            match value {
                None | Some(Value::Null | Value::Undefined) => {
                    return Err(Fault::new(
                        51132,
                        format!(
                            "$merge write error: 'on' field '{field}' cannot be missing, null, undefined or an array"
                        ),
                    ));
                }
                Some(Value::Array(_)) => return Err(array_in(field)),
                Some(value) => {
                    let equal = vec![("$eq".to_owned(), Owned::from(value))];
                    fields.push((field.clone(), Owned::Document(equal)));
                }
            }
        }
        Ok(Doc::Fields(&fields).to_bytes())
    }

    /// The duplicate that `whenMatched: "fail"` reports.
    fn exists(&self, collection: &Collection, new: &[u8]) -> Fault {
        let entry = collection.indexes.iter().find(|entry| {
            entry.definition.unique
                && entry.definition.keys.len() == self.on.len()
                && entry
                    .definition
                    .keys
                    .iter()
                    .all(|key| self.on.contains(&key.path))
        });
        let keys = entry.and_then(|entry| {
            let keys = entry.definition.keys(Doc::Raw(new)).ok()?;
            Some((entry, keys.keys.into_iter().next()?))
        });
        match keys {
            Some((entry, key)) => record::duplicate(&self.into, entry, new, &key),
            None => Fault::new(code::DUPLICATE_KEY, "E11000 duplicate key error"),
        }
    }
}

/// The field at the beginning of a path.
fn root_of(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

fn array_in(field: &str) -> Fault {
    Fault::new(
        51185,
        format!("$merge write error: 'on' field '{field}' is an array"),
    )
}

/// The document with its `_id` first, or the old one's where it has lost its own.
fn with_id_first(doc: Doc<'_>, old: Doc<'_>) -> Vec<u8> {
    let Some(id) = doc.get("_id").or_else(|| old.get("_id")) else {
        return doc.to_bytes();
    };
    let mut fields = fields_of(doc);
    fields.retain(|(name, _)| name != "_id");
    fields.insert(0, ("_id".to_owned(), id.into()));
    Doc::Fields(&fields).to_bytes()
}

/// The first document that the filter finds, where strings compare as in the collection, whatever the pipeline does.
fn first(write: &dyn Write, collection: &Collection, filter: &[u8]) -> Result<Option<Found>> {
    let collation = collection.rules.collation.clone();
    let query = Query::parse(Doc::Raw(filter), None, None)?.collated(Some(collation));
    let plan = query.plan(write, collection, Some(1), Deadline::default())?;
    let limits = Limits {
        skip: 0,
        limit: Some(1),
        memory: Memory::of(true),
        is_to_write: true,
    };
    let (found, _) = search::all(write, collection, &query, &plan, limits, Deadline::default())?;
    Ok(found.into_iter().next())
}

/// Refuses a document that has not the `_id` of the one it takes the place of.
fn check_id(matched: &Matched, old: &[u8], new: &[u8]) -> Result<()> {
    let id = |document| Doc::Raw(document).get("_id").unwrap_or(Value::Null);
    let is_same = |old: &Value<'_>, new: &Value<'_>| match matched {
        // A `$set` of another type is a change.
        Matched::Merge => same_bytes(old, new),
        _ => equal(old, new),
    };
    match id(new) {
        new if is_same(&id(old), &new) => Ok(()),
        Value::Array(_) => Err(Fault::new(
            code::INVALID_ID_FIELD,
            "The '_id' value cannot be of type array",
        )),
        new => {
            let why = match matched {
                Matched::Merge => {
                    "Performing an update on the path '_id' would modify the immutable field '_id'".to_owned()
                }
                _ => format!(
                    "After applying the update, the (immutable) field '_id' was found to have been altered to _id: {new}"
                ),
            };
            Err(not_updated(Fault::new(code::IMMUTABLE_FIELD, why)))
        }
    }
}

fn not_updated(fault: Fault) -> Fault {
    fault.prefixed(
        "$merge failed to update the matching document, did you attempt to modify the _id or the shard key? :: caused by :: ",
    )
}
