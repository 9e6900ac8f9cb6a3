//! Keeping operations to the documents of one tenant.
//!
//! It is done where operations leave for the database, whoever made them, so that none can be forgotten. What is confined
//! already stays as it is.

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::document;
use super::insertion::equal_values;
use super::scope::{each_filter, geo_near, narrow_stages};
use super::tenant::Tenant;
use crate::backend::{
    FullDocumentBeforeChange, Modification, Operation, UpdateStatement, Watch, WriteStatement,
};
use crate::db::Tenancy;
use crate::error::{Error, ErrorKind, Result};
use crate::query::pattern_of;

/// What documents of the tenant that a database is bound to have.
#[derive(Debug)]
pub(crate) struct Confinement {
    tenant: Tenant,
    value: RawBson,
    /// What documents of the tenant meet, whatever the collation.
    condition: RawDocumentBuf,
    /// Of a text, what asks for it by whatever collation, and what is to be met besides: no value is asked for twice, as an
    /// upsert would not know it.
    by_bytes: Option<(RawDocumentBuf, RawDocumentBuf)>,
}

impl Confinement {
    /// None where the database shows the documents of all tenants.
    ///
    /// # Errors
    /// As [`Tenant::value`].
    pub(crate) fn of(tenant: &Tenant, tenancy: &Tenancy) -> Result<Option<Confinement>> {
        let Some(value) = tenant.value(tenancy)? else {
            return Ok(None);
        };
        let mut equal = RawDocumentBuf::new();
        equal.append(document::key(tenant.name)?, value.clone());
        let mut condition = equal.clone();
        let mut by_bytes = None;
        if let RawBson::String(text) = &value {
            condition = is_text(tenant.name, text, true)?;
            by_bytes = Some((equal, is_text(tenant.name, text, false)?));
        }
        Ok(Some(Confinement {
            tenant: *tenant,
            condition,
            by_bytes,
            value,
        }))
    }

    /// What documents of the tenant meet.
    pub(crate) fn condition(&self) -> &RawDocumentBuf {
        &self.condition
    }

    /// Whether tenants are told apart by texts, which a collation may take for equal.
    pub(super) fn is_of_texts(&self) -> bool {
        matches!(self.value, RawBson::String(_))
    }

    /// What the field holds.
    pub(crate) fn value(&self) -> &RawBson {
        &self.value
    }

    /// What the model declares.
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The document as one of the tenant's.
    ///
    /// # Errors
    /// `Tenant` for one of another.
    pub(crate) fn owned(&self, document: RawDocumentBuf) -> Result<RawDocumentBuf> {
        match document.get(self.tenant.name) {
            Ok(Some(RawBsonRef::Null | RawBsonRef::Undefined) | None) => {
                document::with_field(&document, self.tenant.name, self.value.clone())
            }
            Ok(Some(value)) if self.is_own(value) => Ok(document),
            _ => Err(self.foreign("the document is another tenant's than the database's")),
        }
    }

    /// Whether a stored value is the tenant's: integers of either width are the same, as for the database.
    fn is_own(&self, value: RawBsonRef<'_>) -> bool {
        let integer = |value: RawBsonRef<'_>| match value {
            RawBsonRef::Int32(value) => Some(i64::from(value)),
            RawBsonRef::Int64(value) => Some(value),
            _ => None,
        };
        let own = self.value.as_raw_bson_ref();
        match (integer(value), integer(own)) {
            (Some(value), Some(own)) => value == own,
            _ => value == own,
        }
    }

    fn foreign(&self, message: &'static str) -> Error {
        self.tenant.problem(message)
    }

    /// Lets an operation see, change and store only documents of the tenant.
    ///
    /// # Errors
    /// `Tenant` for one that would store another tenant's documents, give a document to another, or that is about the
    /// documents of all. `Unsupported` for watching what does not say whose it was.
    pub(crate) fn confine(&self, operation: &mut Operation) -> Result<()> {
        match operation {
            Operation::Insert(insert) => insert.documents.iter_mut().try_for_each(|own| self.own(own))?,
            Operation::Update(update) => update
                .statements
                .iter_mut()
                .try_for_each(|statement| self.change(statement))?,
            Operation::BulkWrite(bulk) => bulk
                .statements
                .iter_mut()
                .try_for_each(|statement| self.write(statement))?,
            Operation::FindAndModify(find) => {
                if let Some(modification) = &mut find.modification {
                    self.modify(modification)?;
                }
                if find.upsert {
                    self.check_seed(&find.filter)?;
                }
            }
            Operation::Aggregate(aggregate) => return self.stages(&mut aggregate.pipeline),
            Operation::Explain(explain) => return self.confine(&mut explain.operation),
            Operation::Watch(watch) => return self.watch(watch),
            Operation::DropCollection(_) | Operation::RenameCollection(_) => {
                return Err(self.foreign(
                    "a collection is of all tenants, and the database is bound to one: take `across_tenants()`",
                ));
            }
            _ => {}
        }
        each_filter(operation, &mut |filter, _| self.narrow(filter))
    }

    /// One write as one of the tenant's.
    ///
    /// # Errors
    /// As [`confine`](Confinement::confine).
    pub(crate) fn write(&self, statement: &mut WriteStatement) -> Result<()> {
        match statement {
            WriteStatement::Insert(document) => self.own(document),
            WriteStatement::Update(update) => self.change(update),
            WriteStatement::Delete(delete) => self.narrow(&mut delete.filter),
        }
    }

    fn own(&self, document: &mut RawDocumentBuf) -> Result<()> {
        *document = self.owned(std::mem::take(document))?;
        Ok(())
    }

    fn change(&self, update: &mut UpdateStatement) -> Result<()> {
        self.modify(&mut update.modification)?;
        if update.upsert {
            self.check_seed(&update.filter)?;
        }
        self.narrow(&mut update.filter)
    }

    /// That an upsert does not insert a document of another tenant.
    fn check_seed(&self, filter: &RawDocument) -> Result<()> {
        let mut asked = equal_values(filter)?.into_iter();
        let is_other = |(path, value): (String, RawBson)| {
            self.is_field(&path) && !(path == self.tenant.name && self.is_own(value.as_raw_bson_ref()))
        };
        match asked.any(is_other) {
            true => {
                Err(self
                    .foreign("the document that the upsert inserts is another tenant's than the database's"))
            }
            false => Ok(()),
        }
    }

    /// The filter, for documents of the tenant alone.
    fn narrow(&self, filter: &mut RawDocumentBuf) -> Result<()> {
        if asks_for(filter, &self.condition) {
            return Ok(());
        }
        let condition = match &self.by_bytes {
            Some((equal, by_bytes)) if asks_for(filter, equal) => by_bytes,
            _ => &self.condition,
        };
        if !asks_for(filter, condition) {
            *filter = document::narrowed(filter, condition)?;
        }
        Ok(())
    }

    /// The stages, for documents of the tenant alone.
    pub(super) fn stages(&self, stages: &mut Vec<RawDocumentBuf>) -> Result<()> {
        let near = stages.first().and_then(geo_near);
        if let Some(Ok(Some(RawBsonRef::Document(filter)))) = near.map(|near| near.get("query"))
            && asks_for(filter, &self.condition)
        {
            return Ok(());
        }
        match stages.first().and_then(|stage| stage.iter().next()?.ok()) {
            Some((name, RawBsonRef::Document(filter)))
                if name.as_str() == "$match" && asks_for(filter, &self.condition) =>
            {
                Ok(())
            }
            Some((name, _)) if name.as_str() == "$changeStream" => {
                Err(self.foreign("a change stream of one tenant is opened by `watch()`, not by a stage"))
            }
            _ => narrow_stages(stages, &self.condition),
        }
    }

    fn modify(&self, modification: &mut Modification) -> Result<()> {
        match modification {
            Modification::Replacement(document) => self.own(document),
            Modification::Operators(operators) => self.check_operators(operators),
            Modification::Pipeline(stages) => self.keep(stages),
        }
    }

    /// That no operator gives the document to another tenant.
    fn check_operators(&self, operators: &RawDocument) -> Result<()> {
        for (operator, fields) in operators.iter().flatten() {
            let RawBsonRef::Document(fields) = fields else {
                continue;
            };
            for (path, operand) in fields.iter().flatten() {
                let is_kept = matches!(operator.as_str(), "$set" | "$setOnInsert") && self.is_own(operand);
                let renamed = (operator.as_str() == "$rename")
                    .then_some(operand.as_str())
                    .flatten();
                if (self.is_field(path.as_str()) && !is_kept) || renamed.is_some_and(|to| self.is_field(to)) {
                    return Err(self.foreign(CHANGED));
                }
            }
        }
        Ok(())
    }

    fn is_field(&self, path: &str) -> bool {
        document::is_within(path, self.tenant.name)
    }

    /// Lets the stages of an update leave the document the tenant's.
    ///
    /// # Errors
    /// `Tenant` where one of them names the field.
    pub(super) fn keep(&self, stages: &mut Vec<RawDocumentBuf>) -> Result<()> {
        let last = self.last_stage()?;
        // It is there already where the update was confined before.
        stages.retain(|stage| *stage != last);
        for (name, argument) in stages.iter().flat_map(|stage| stage.iter().flatten()) {
            let names_it = match (name.as_str(), argument) {
                ("$set" | "$addFields", RawBsonRef::Document(fields)) => fields
                    .iter()
                    .flatten()
                    .any(|(path, _)| self.is_field(path.as_str())),
                ("$project", RawBsonRef::Document(fields)) => fields.iter().flatten().any(|(path, value)| {
                    let computes = !matches!(
                        value,
                        RawBsonRef::Boolean(_)
                            | RawBsonRef::Int32(_)
                            | RawBsonRef::Int64(_)
                            | RawBsonRef::Double(_)
                    );
                    computes && self.is_field(path.as_str())
                }),
                ("$unset", RawBsonRef::String(path)) => self.is_field(path),
                ("$unset", RawBsonRef::Array(paths)) => paths
                    .into_iter()
                    .flatten()
                    .any(|path| path.as_str().is_some_and(|path| self.is_field(path))),
                _ => false,
            };
            if names_it {
                return Err(self.foreign(CHANGED));
            }
        }
        if self.tenant.name != "_id" {
            stages.push(last);
        }
        Ok(())
    }

    /// Gives the document to the tenant, whatever was made of the field.
    pub(super) fn last_stage(&self) -> Result<RawDocumentBuf> {
        let literal = document::single(bson::cstr!("$literal"), self.value.clone());
        let mut set = RawDocumentBuf::new();
        set.append(document::key(self.tenant.name)?, literal);
        Ok(document::single(bson::cstr!("$set"), set))
    }

    /// Lets a change stream tell of documents of the tenant alone.
    fn watch(&self, watch: &mut Watch) -> Result<()> {
        let has_before = watch.full_document_before_change != FullDocumentBeforeChange::Off;
        let of_changes = ["delete", "update", "replace"];
        if !has_before && of_changes.iter().any(|kind| !leaves_out(&watch.pipeline, kind)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "of a tenant's documents a change is told by what they were: ask for it by \
                 `full_document_before_change`, or for `only` the kinds of changes that make documents",
            )
            .with_path(self.tenant.name));
        }
        const AFTER: &str = "fullDocument";
        const BEFORE: &str = "fullDocumentBeforeChange";
        let image = |image: &str| -> Result<RawDocumentBuf> {
            let mut own = RawDocumentBuf::new();
            let path = format!("{image}.{}", self.tenant.name);
            own.append(document::key(&path)?, self.value.clone());
            Ok(own)
        };
        let mut made = image(AFTER)?;
        made.append(bson::cstr!("operationType"), "insert");
        // What a document was says whose it was; what it is since then, if that is told, that it is theirs still. What
        // was written says so too, if it is not told.
        let mut changed = image(BEFORE)?;
        let written = format!("updateDescription.updatedFields.{}", self.tenant.name);
        let same = bson::RawArrayBuf::from_iter([RawBson::Null, self.value.clone()]);
        changed.append(document::key(&written)?, rawdoc! { "$in": same });
        let mut none = RawDocumentBuf::new();
        none.append(document::key(AFTER)?, RawBson::Null);
        changed.append(
            bson::cstr!("$or"),
            bson::RawArrayBuf::from_iter([none, image(AFTER)?]),
        );
        let others = ["insert", "update", "replace", "delete"].into_iter();
        let either = bson::RawArrayBuf::from_iter([
            rawdoc! { "operationType": { "$nin": others.collect::<bson::RawArrayBuf>() } },
            made,
            changed,
        ]);
        watch.pipeline.insert(0, rawdoc! { "$match": { "$or": either } });
        Ok(())
    }
}

const CHANGED: &str = "the field that says whose a document is does not change";

/// Whether the events of this kind are left out by what `only` says.
fn leaves_out(stages: &[RawDocumentBuf], kind: &str) -> bool {
    stages.iter().any(|stage| {
        let kinds = || {
            let filter = stage.get_document("$match").ok()?;
            let kinds = filter.get_document("operationType").ok()?;
            kinds.get_array("$in").ok()
        };
        kinds().is_some_and(|kinds| !kinds.into_iter().flatten().any(|own| own.as_str() == Some(kind)))
    })
}

/// What documents meet that have this very text in a field: by its bytes, since no document says by which collation its
/// collection compares; with what an index is asked for, or without.
///
/// A pattern knows no collation, and is looked for in an index's keys, so that what an index covers stays covered.
fn is_text(name: &str, text: &str, with_equal: bool) -> Result<RawDocumentBuf> {
    /// What the server takes for a pattern at most is not much more.
    const LONGEST: usize = 32_000;
    let key = document::key(name)?;
    let mut condition = RawDocumentBuf::new();
    let pattern = pattern_of(text);
    if pattern.len() > LONGEST {
        if with_equal {
            condition.append(&key, text);
        }
        let mut properties = RawDocumentBuf::new();
        properties.append(key, document::one_of(text));
        condition.append(bson::cstr!("$jsonSchema"), rawdoc! { "properties": properties });
        return Ok(condition);
    }
    let operators = match with_equal {
        true => rawdoc! { "$eq": text, "$regex": pattern },
        false => rawdoc! { "$regex": pattern },
    };
    condition.append(key, operators);
    Ok(condition)
}

/// Whether a filter asks for all fields of the condition.
fn asks_for(filter: &RawDocument, condition: &RawDocument) -> bool {
    let is_equal = |own: RawBsonRef<'_>, value: RawBsonRef<'_>| {
        let said = own.as_document().map(|own| own.get("$eq"));
        own == value || said.is_some_and(|said| matches!(said, Ok(Some(said)) if said == value))
    };
    let says = |part: &RawDocument| {
        condition
            .iter()
            .flatten()
            .all(|(name, value)| matches!(part.get(name), Ok(Some(own)) if is_equal(own, value)))
    };
    says(filter)
        || match filter.get("$and") {
            Ok(Some(RawBsonRef::Array(parts))) => parts
                .into_iter()
                .flatten()
                .any(|part| part.as_document().is_some_and(says)),
            _ => false,
        }
}
