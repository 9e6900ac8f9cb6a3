//! `$out` and `$merge`: what a pipeline gives is written.

use std::sync::Arc;

use super::super::aggregate::expression::{Expression, Scope};
use super::super::aggregate::pipeline::{IN_RUN, Output};
use super::super::aggregate::transform::Transform;
use super::super::catalog::Collection;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::storage::Write;
use super::super::update::{Now, Updater, prepare_insert};
use super::query::Query;
use super::search::{self, Found, Limits};
use super::{Deadline, Namespace, batch, collections, record, update, view};

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
    on: Vec<String>,
    variables: Vec<(String, Expression)>,
    matched: Matched,
    not_matched: NotMatched,
}

#[derive(Clone, Debug)]
enum Matched {
    Replace,
    KeepExisting,
    Merge,
    Fail,
    Pipeline(Vec<Vec<u8>>),
}

#[derive(Clone, Copy, Debug)]
enum NotMatched {
    Insert,
    Discard,
    Fail,
}

/// Reads the stage that writes.
///
/// # Errors
/// MongoDB's for each option.
pub(crate) fn parse(output: &Output, database: &str) -> Result<Target> {
    match output {
        Output::Out {
            database: other,
            collection,
        } => {
            let ns = Namespace {
                database: other.clone().unwrap_or_else(|| database.to_owned()),
                collection: collection.clone(),
            };
            if collection.is_empty() {
                return Err(Fault::new(
                    code::INVALID_NAMESPACE,
                    format!("Invalid $out target namespace, {ns}"),
                ));
            }
            if collection.starts_with("system.") {
                return Err(Fault::new(
                    17385,
                    format!("Can't $out to special collection: {collection}"),
                ));
            }
            Ok(Target::Out(ns))
        }
        Output::Merge(stage) => match Doc::Raw(stage).get("$merge") {
            Some(value) => parse_merge(&value, database).map(|merge| Target::Merge(Box::new(merge))),
            None => Err(Fault::new(code::INTERNAL, "$merge has no value")),
        },
    }
}

fn parse_merge(value: &Value<'_>, database: &str) -> Result<Merge> {
    let mut merge = Merge {
        into: Namespace {
            database: database.to_owned(),
            collection: String::new(),
        },
        on: vec!["_id".to_owned()],
        variables: Vec::new(),
        matched: Matched::Merge,
        not_matched: NotMatched::Insert,
    };
    let spec = match *value {
        Value::Document(spec) => spec,
        _ => {
            parse_into(value, &mut merge.into)?;
            return Ok(merge);
        }
    };
    let mut bound = None;
    let mut has_into = false;
    let mut mode = "merge";
    for element in spec.elements() {
        let value = element.value();
        match element.name_str() {
            "into" => {
                has_into = true;
                parse_into(&value, &mut merge.into)?;
            }
            "on" => merge.on = parse_on(&value)?,
            "let" => match value {
                Value::Document(doc) => bound = Some(doc),
                other => {
                    return Err(super::super::catalog::rules::wrong_type(
                        "$merge.let",
                        other,
                        "type 'object'",
                    ));
                }
            },
            "whenMatched" => {
                (merge.matched, mode) = parse_matched(&value)?;
            }
            "whenNotMatched" => {
                merge.not_matched = match value.as_str() {
                    Some("insert") => NotMatched::Insert,
                    Some("discard") => NotMatched::Discard,
                    Some("fail") => NotMatched::Fail,
                    other => {
                        return Err(Fault::new(
                            code::BAD_VALUE,
                            format!(
                                "Enumeration value '{}' for field '$merge.whenNotMatched' is not a valid value.",
                                other.unwrap_or_default()
                            ),
                        ));
                    }
                }
            }
            "targetCollectionVersion" | "allowMergeOnNullishValues" => {}
            other => return Err(super::super::catalog::rules::unknown("$merge", other)),
        }
    }
    if !has_into {
        return Err(Fault::new(
            40414,
            "BSON field '$merge.into' is missing but a required field",
        ));
    }
    if bound.is_some() && !matches!(merge.matched, Matched::Pipeline(_)) {
        return Err(Fault::new(
            51199,
            format!("Cannot use 'let' variables with 'whenMatched: {mode}' mode"),
        ));
    }
    if let (mode @ ("keepExisting" | "fail"), NotMatched::Discard | NotMatched::Fail) =
        (mode, merge.not_matched)
    {
        let other = match merge.not_matched {
            NotMatched::Discard => "discard",
            _ => "fail",
        };
        return Err(Fault::new(
            51181,
            format!(
                "Combination of $merge modes 'whenMatched: {mode}' and 'whenNotMatched: {other}' is not supported"
            ),
        ));
    }
    merge.variables.push((
        "new".to_owned(),
        Expression::parse(&Value::String("$$ROOT"), &[])?,
    ));
    for element in bound.into_iter().flat_map(Doc::elements) {
        merge.variables.retain(|(name, _)| name != element.name_str());
        merge.variables.push((
            element.name_str().to_owned(),
            Expression::parse(&element.value(), &[])?,
        ));
    }
    Ok(merge)
}

fn parse_into(value: &Value<'_>, into: &mut Namespace) -> Result<()> {
    match *value {
        Value::String("") => {
            return Err(Fault::new(
                5_786_800,
                "$merge 'into' field cannot be an empty string",
            ));
        }
        Value::String(collection) => into.collection = collection.to_owned(),
        Value::Document(doc) => {
            match doc.get("coll") {
                Some(Value::String(collection)) if !collection.is_empty() => {
                    into.collection = collection.to_owned();
                }
                _ => {
                    return Err(Fault::new(
                        5_786_801,
                        "$merge 'into' field must specify a 'coll' that is not empty, null or undefined",
                    ));
                }
            }
            if let Some(Value::String(database)) = doc.get("db") {
                into.database = database.to_owned();
            }
        }
        other => {
            return Err(Fault::new(
                51178,
                format!(
                    "$merge 'into' field  must be either a string or an object, but found {}",
                    other.kind().alias()
                ),
            ));
        }
    }
    if into.collection.starts_with("system.") {
        return Err(Fault::new(
            31319,
            format!("Cannot $merge to special collection: {}", into.collection),
        ));
    }
    Ok(())
}

fn parse_on(value: &Value<'_>) -> Result<Vec<String>> {
    let fields: Vec<String> = match *value {
        Value::String(field) => vec![field.to_owned()],
        Value::Array(items) => items
            .values()
            .map(|item| match item {
                Value::String(field) => Ok(field.to_owned()),
                other => Err(Fault::new(
                    51134,
                    format!(
                        "$merge 'on' array elements must be strings, but found {}",
                        other.kind().alias()
                    ),
                )),
            })
            .collect::<Result<_>>()?,
        other => {
            return Err(Fault::new(
                51186,
                format!(
                    "$merge 'on' field  must be either a string or an array of strings, but found {}",
                    other.kind().alias()
                ),
            ));
        }
    };
    if fields.is_empty() {
        return Err(Fault::new(
            51187,
            "If explicitly specifying $merge 'on', must include at least one field",
        ));
    }
    for (at, field) in fields.iter().enumerate() {
        if fields[..at].contains(field) {
            return Err(Fault::new(31465, format!("Found a duplicate field '{field}'")));
        }
    }
    Ok(fields)
}

fn parse_matched<'a>(value: &Value<'a>) -> Result<(Matched, &'a str)> {
    Ok(match *value {
        Value::String("replace") => (Matched::Replace, "replace"),
        Value::String("keepExisting") => (Matched::KeepExisting, "keepExisting"),
        Value::String("merge") => (Matched::Merge, "merge"),
        Value::String("fail") => (Matched::Fail, "fail"),
        Value::Array(stages) => {
            let stages = stages
                .values()
                .filter_map(|stage| stage.as_document().map(Doc::to_bytes))
                .collect();
            (Matched::Pipeline(stages), "pipeline")
        }
        Value::String(other) => {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("Enumeration value '{other}' for field 'whenMatched' is not a valid value."),
            ));
        }
        other => {
            return Err(Fault::new(
                51191,
                format!(
                    "$merge 'whenMatched' field  must be either a string or an array, but found {}",
                    other.kind().alias()
                ),
            ));
        }
    })
}

impl Target {
    /// Checks what must be right before the pipeline runs.
    ///
    /// # Errors
    /// Code 51183 when no unique index has the fields of `on`.
    pub(crate) fn check(&self, read: &dyn super::super::storage::Read) -> Result<()> {
        let Target::Merge(merge) = self else {
            return Ok(());
        };
        if merge.on == ["_id"] {
            return Ok(());
        }
        let collection = read
            .catalog()
            .collection(&merge.into.database, &merge.into.collection);
        let has = |definition: &IndexDefinition| {
            definition.unique
                && definition.partial.is_none()
                && definition.keys.len() == merge.on.len()
                && definition.keys.iter().all(|key| merge.on.contains(&key.path))
        };
        match collection {
            Some(own) if own.indexes.iter().any(|entry| has(&entry.definition)) => Ok(()),
            _ => Err(Fault::new(
                51183,
                "Cannot find index to verify that join fields will be unique",
            )),
        }
    }

    /// Writes the documents. What `$merge` wrote before a fault stays, as on the server: the fault is then the
    /// inner result.
    pub(crate) fn run(&self, write: &mut dyn Write, rows: &[Vec<u8>], now: Now) -> Result<Result<()>> {
        match self {
            Target::Out(ns) => out(write, ns, rows, now)
                .map_err(|fault| fault.prefixed(IN_RUN))
                .map(Ok),
            Target::Merge(merge) => {
                view::refuse(write.catalog(), &merge.into).map_err(|fault| fault.prefixed(IN_RUN))?;
                merge.into.check().map_err(|fault| fault.prefixed(IN_RUN))?;
                for row in rows {
                    if let Err(fault) = merge.one(write, row, now) {
                        return Ok(Err(fault.prefixed(IN_RUN)));
                    }
                }
                Ok(Ok(()))
            }
        }
    }
}

/// Puts a new collection with the options and indexes of the old one in its place.
fn out(write: &mut dyn Write, ns: &Namespace, rows: &[Vec<u8>], now: Now) -> Result<()> {
    ns.check().map_err(|_| {
        Fault::new(
            code::ILLEGAL_OPERATION,
            format!(
                "error with target namespace: Invalid collection name: {}",
                ns.collection
            ),
        )
    })?;
    view::refuse(write.catalog(), ns)?;
    let old = write.catalog().collection(&ns.database, &ns.collection).cloned();
    if old.as_ref().is_some_and(|old| old.rules.capped.is_some()) {
        return Err(Fault::new(
            17152,
            format!("namespace '{ns}' is capped so it can't be used for $out"),
        ));
    }
    collections::drop(write, ns)?;
    collections::create(write, ns, old.as_ref().map(|old| Doc::Raw(&old.options)))?;
    let mut collection = open(write, ns)?;
    for entry in old.iter().flat_map(|old| &old.indexes) {
        if !entry.definition.is_id() {
            write
                .catalog_mut()
                .add_index(collection.id, (*entry.definition).clone())?;
        }
    }
    for row in rows {
        collection = open(write, ns)?;
        let document = prepare_insert(Doc::Raw(&with_id(row)), now)?;
        record::insert(write, ns, &collection, &document)?;
    }
    drop(collection);
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

impl Merge {
    fn one(&self, write: &mut dyn Write, row: &[u8], now: Now) -> Result<()> {
        let new = with_id(row);
        let filter = self.filter(row, &new)?;
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
                    13113,
                    "$merge could not find a matching document in the target collection for at least one document in the source collection",
                )),
                NotMatched::Insert => {
                    let collection = open(write, &self.into)?;
                    let document = prepare_insert(Doc::Raw(&new), now)?;
                    record::insert(write, &self.into, &collection, &document)
                }
            };
        };
        let old = Doc::Raw(&found.document);
        let changed = match &self.matched {
            Matched::KeepExisting => None,
            Matched::Fail => {
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
                Updater::replacement(Doc::Raw(source))?.apply(old, None, now)?
            }
            Matched::Merge => {
                let mut fields = fields_of(old);
                for (name, value) in fields_of(Doc::Raw(row)) {
                    match fields.iter_mut().find(|(own, _)| *own == name) {
                        Some((_, own)) => *own = value,
                        None => fields.push((name, value)),
                    }
                }
                let merged = Doc::Fields(&fields).to_bytes();
                (merged != found.document).then_some(merged)
            }
            Matched::Pipeline(stages) => {
                let scope = Scope::new(Doc::Raw(&new), now.millis);
                let variables = self
                    .variables
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), value.evaluate(&scope)?)))
                    .collect::<Result<Vec<_>>>()?;
                let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
                let stages: Vec<Doc<'_>> = stages.iter().map(|stage| Doc::Raw(stage)).collect();
                let made = Transform::parse(&stages, &names)?.apply(old, &variables, now.millis)?;
                let made = match made.as_value() {
                    Value::Document(doc) => with_id_first(doc, old),
                    _ => found.document.clone(),
                };
                (made != found.document).then_some(made)
            }
        };
        let Some(changed) = changed else {
            return Ok(());
        };
        update::check_id(&found.document, &changed).map_err(|fault| {
            fault.prefixed(
                "$merge failed to update the matching document, did you attempt to modify the _id or the shard key? :: caused by :: ",
            )
        })?;
        record::replace(
            write,
            &self.into,
            &collection,
            found.record,
            &found.document,
            &changed,
        )
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
                    Some(Value::Array(_)) => return Err(array_in(field)),
                    _ => None,
                };
            }
            match value {
                None | Some(Value::Null | Value::Undefined) if field != "_id" => {
                    return Err(Fault::new(
                        51132,
                        format!(
                            "$merge write error: 'on' field '{field}' cannot be missing, null, undefined or an array"
                        ),
                    ));
                }
                Some(Value::Array(_)) => return Err(array_in(field)),
                value => {
                    let equal = vec![("$eq".to_owned(), value.map_or(Owned::Null, Owned::from))];
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

fn array_in(field: &str) -> Fault {
    Fault::new(
        51185,
        format!("$merge write error: 'on' field '{field}' is an array"),
    )
}

/// The document with the old one's `_id` where it has lost its own.
fn with_id_first(doc: Doc<'_>, old: Doc<'_>) -> Vec<u8> {
    if doc.get("_id").is_some() {
        return doc.to_bytes();
    }
    let mut fields = fields_of(doc);
    if let Some(id) = old.get("_id") {
        fields.insert(0, ("_id".to_owned(), id.into()));
    }
    Doc::Fields(&fields).to_bytes()
}

fn first(write: &dyn Write, collection: &Collection, filter: &[u8]) -> Result<Option<Found>> {
    let query = Query::parse(Doc::Raw(filter), None, None)?;
    let plan = query.plan(collection, Some(1))?;
    let limits = Limits {
        skip: 0,
        limit: Some(1),
        positions: false,
    };
    let (found, _) = search::all(write, collection, &query, &plan, limits, Deadline::default())?;
    Ok(found.into_iter().next())
}
