//! A backend that sees to it that everything that is asked of collections with tenants is about one tenant.

use std::sync::{Arc, Mutex};

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use futures_util::future::BoxFuture;
use odm::backend::{
    Backend, Capabilities, Modification, Operation, Response, Transaction, TransactionOptions, WriteStatement,
};
use odm::{Db, Result};

/// What is to be in every operation.
#[derive(Clone, Debug)]
struct Rule {
    /// The collections with tenants, each with its field.
    fields: &'static [(&'static str, &'static str)],
    tenant: String,
    /// What was asked, and what of it was not about the tenant.
    seen: Arc<Mutex<(usize, Vec<String>)>>,
}

/// Any backend, watched.
#[derive(Debug)]
pub struct Witness<B: ?Sized> {
    inner: Arc<B>,
    rule: Rule,
}

/// What was seen.
#[derive(Debug)]
pub struct Seen(Rule);

impl Seen {
    /// How many operations were about documents of the collections.
    pub fn count(&self) -> usize {
        self.0.seen.lock().unwrap().0
    }

    /// Those that were not about the tenant alone.
    pub fn loose(&self) -> Vec<String> {
        self.0.seen.lock().unwrap().1.clone()
    }
}

impl Witness<dyn Backend> {
    /// The database, watched: `fields` are the collections with the fields that hold the tenant.
    pub fn db(db: &Db, fields: &'static [(&'static str, &'static str)], tenant: &str) -> (Db, Seen) {
        let rule = Rule {
            fields,
            tenant: tenant.to_owned(),
            seen: Arc::default(),
        };
        let inner = db.backend().clone();
        let witness = Witness {
            inner,
            rule: rule.clone(),
        };
        (
            Db::from_backend(Arc::new(witness), db.name().to_owned()),
            Seen(rule),
        )
    }
}

impl Rule {
    fn look(&self, operation: &Operation) {
        let Some(namespace) = operation.namespace() else {
            return;
        };
        if let Operation::Aggregate(aggregate) = operation {
            self.look_beyond(operation, &namespace.collection, &aggregate.pipeline);
        }
        let known = self.fields.iter().find(|(name, _)| *name == namespace.collection);
        let Some((_, field)) = known else { return };
        let is_right = match operation {
            Operation::Insert(insert) => insert.documents.iter().all(|own| self.has(own, field)),
            Operation::Find(find) => self.asks(&find.filter, field),
            Operation::Count(count) => !count.estimated && self.asks(&count.filter, field),
            Operation::Distinct(distinct) => self.asks(&distinct.filter, field),
            Operation::FindAndModify(find) => {
                self.asks(&find.filter, field)
                    && find.modification.iter().all(|change| self.keeps(change, field))
            }
            Operation::Update(update) => update.statements.iter().all(|statement| {
                self.asks(&statement.filter, field) && self.keeps(&statement.modification, field)
            }),
            Operation::Delete(delete) => delete.statements.iter().all(|own| self.asks(&own.filter, field)),
            Operation::BulkWrite(bulk) => bulk.statements.iter().all(|statement| match statement {
                WriteStatement::Insert(document) => self.has(document, field),
                WriteStatement::Update(update) => {
                    self.asks(&update.filter, field) && self.keeps(&update.modification, field)
                }
                WriteStatement::Delete(delete) => self.asks(&delete.filter, field),
            }),
            Operation::Aggregate(aggregate) => self.stages(&aggregate.pipeline, field),
            Operation::Explain(explain) => {
                self.look(&explain.operation);
                true
            }
            Operation::Watch(watch) => {
                let stage = watch.pipeline.first();
                let either = stage.and_then(|stage| stage.get_document("$match").ok()?.get_array("$or").ok());
                either.is_some_and(|either| {
                    let mut parts = either.into_iter().flatten();
                    parts.any(|part| {
                        part.as_document()
                            .is_some_and(|part| self.has(part, &format!("fullDocument.{field}")))
                    })
                })
            }
            Operation::CreateIndexes(_)
            | Operation::DropIndexes(_)
            | Operation::ListIndexes(_)
            | Operation::CreateCollection(_)
            | Operation::ModifyCollection(_)
            | Operation::Statistics(_)
            | Operation::ListCollections(_) => return,
            // An operation that nobody thought of.
            _ => false,
        };
        let mut seen = self.seen.lock().unwrap();
        seen.0 += 1;
        if !is_right {
            seen.1.push(format!("{operation:?}"));
        }
    }

    /// What pipelines over collections without tenants read and write of others.
    fn look_beyond(&self, operation: &Operation, collection: &str, stages: &[RawDocumentBuf]) {
        let is_known = self.fields.iter().any(|(name, _)| *name == collection);
        if !is_known && !stages.iter().all(|stage| self.inner(stage)) {
            self.seen.lock().unwrap().1.push(format!("{operation:?}"));
        }
    }

    fn has(&self, document: &RawDocument, field: &str) -> bool {
        document.get_str(field).is_ok_and(|tenant| tenant == self.tenant)
    }

    /// Whether a filter asks for the tenant, and by the bytes of its name, as no collation compares.
    fn asks(&self, filter: &RawDocument, field: &str) -> bool {
        let pattern = format!("^{}\\z", self.tenant);
        let operators = |part: &RawDocument, operator: &str, text: &str| {
            let operators = part.get_document(field);
            operators.is_ok_and(|operators| operators.get_str(operator).is_ok_and(|own| own == text))
        };
        is_in(filter, &|part| {
            self.has(part, field) || operators(part, "$eq", &self.tenant)
        }) && is_in(filter, &|part| operators(part, "$regex", &pattern))
    }

    fn keeps(&self, modification: &Modification, field: &str) -> bool {
        match modification {
            Modification::Replacement(document) => self.has(document, field),
            Modification::Pipeline(stages) => stages.last().is_some_and(|last| {
                let set = last.get_document("$set").ok();
                let value = set.and_then(|set| set.get_document(field).ok()?.get_str("$literal").ok());
                field == "_id" || value == Some(self.tenant.as_str())
            }),
            Modification::Operators(operators) => operators.iter().flatten().all(|(_, fields)| {
                let value = fields.as_document().and_then(|fields| fields.get(field).ok()?);
                value.is_none_or(|value| value.as_str() == Some(self.tenant.as_str()))
            }),
        }
    }

    fn stages(&self, stages: &[RawDocumentBuf], field: &str) -> bool {
        let mut first = stages.iter().take(2);
        first.any(|stage| {
            let near = stage.get_document("$geoNear");
            let filter = near.and_then(|near| near.get_document("query"));
            let filter = filter.or_else(|_| stage.get_document("$match"));
            filter.is_ok_and(|filter| self.asks(filter, field))
        }) && stages.iter().all(|stage| self.inner(stage))
    }

    /// Whether what the stage reads elsewhere is the tenant's too.
    fn inner(&self, stage: &RawDocument) -> bool {
        let Some(Ok((name, argument))) = stage.iter().next() else {
            return true;
        };
        let (from, stages) = match (name.as_str(), argument) {
            ("$lookup", RawBsonRef::Document(lookup)) => {
                (lookup.get_str("from").ok(), lookup.get_array("pipeline").ok())
            }
            ("$unionWith", RawBsonRef::Document(union)) => {
                (union.get_str("coll").ok(), union.get_array("pipeline").ok())
            }
            ("$graphLookup", RawBsonRef::Document(lookup)) => {
                let known = self
                    .fields
                    .iter()
                    .find(|(name, _)| lookup.get_str("from").is_ok_and(|from| from == *name));
                let filter = lookup.get_document("restrictSearchWithMatch");
                return known.is_none_or(|(_, field)| filter.is_ok_and(|filter| self.asks(filter, field)));
            }
            ("$planCacheStats", _) => return false,
            ("$unionWith" | "$out", RawBsonRef::String(named)) => {
                return !self.fields.iter().any(|(name, _)| *name == named);
            }
            ("$merge", RawBsonRef::String(named)) => {
                return !self.fields.iter().any(|(name, _)| *name == named);
            }
            ("$merge", RawBsonRef::Document(merge)) => {
                let into = merge.get_document("into").and_then(|into| into.get_str("coll"));
                let into = into.or_else(|_| merge.get_str("into"));
                let known = self
                    .fields
                    .iter()
                    .find(|(name, _)| into.as_ref().is_ok_and(|into| into == name));
                let on = |field: &str| match merge.get("on") {
                    Ok(Some(RawBsonRef::String(on))) => on == field,
                    Ok(Some(RawBsonRef::Array(on))) => {
                        on.into_iter().flatten().any(|on| on.as_str() == Some(field))
                    }
                    _ => field == "_id",
                };
                return known.is_none_or(|(_, field)| on(field));
            }
            ("$facet", RawBsonRef::Document(facets)) => {
                return facets.iter().flatten().all(|(_, stages)| {
                    let stages = stages.as_array().map(documents).unwrap_or_default();
                    stages.iter().all(|stage| self.inner(stage))
                });
            }
            _ => return true,
        };
        let stages = stages.map(documents).unwrap_or_default();
        let known = self.fields.iter().find(|(name, _)| from == Some(*name));
        known.is_none_or(|(_, field)| self.stages(&stages, field))
            && stages.iter().all(|stage| self.inner(stage))
    }
}

/// Whether a filter, or a part that must be met, is like this.
fn is_in(filter: &RawDocument, is: &dyn Fn(&RawDocument) -> bool) -> bool {
    is(filter)
        || filter.get_array("$and").is_ok_and(|parts| {
            let mut parts = parts.into_iter().flatten();
            parts.any(|part| part.as_document().is_some_and(|part| is_in(part, is)))
        })
}

fn documents(array: &bson::RawArray) -> Vec<RawDocumentBuf> {
    let documents = array.into_iter().flatten();
    documents
        .filter_map(|value| Some(value.as_document()?.to_owned()))
        .collect()
}

impl<B: Backend + ?Sized> Backend for Witness<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        self.rule.look(&operation);
        self.inner.execute(operation)
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let inner = self.inner.begin(options).await?;
            let rule = self.rule.clone();
            Ok(Arc::new(Witness { inner, rule }) as Arc<dyn Transaction>)
        })
    }
}

impl Transaction for Witness<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.commit()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        self.inner.abort()
    }
}
