//! Finding the queries that read a whole collection.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bson::{Document, RawDocument, RawDocumentBuf};
use futures_core::future::BoxFuture;

use crate::backend::plan::PlanReading;
use crate::backend::{
    self, Backend, Capabilities, Namespace, Operation, Response, Transaction, TransactionOptions,
    WriteStatement,
};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::suggested_index;

/// The queries that no index bounded, in order. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct Scans {
    found: Arc<Mutex<Vec<Scan>>>,
    refuses: bool,
}

/// A query that reads a whole collection, or a whole index, to find what it asks for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scan {
    /// The operation in MongoDB's vocabulary.
    pub operation: &'static str,
    /// The collection.
    pub namespace: Namespace,
    /// What was asked for.
    pub filter: Document,
    /// In which order.
    pub sort: Option<Document>,
    /// The keys of an index that would help, if one is seen.
    pub suggestion: Option<Document>,
}

impl Scans {
    /// Scans are errors, and are not sent.
    pub fn refused() -> Scans {
        Scans {
            refuses: true,
            ..Scans::default()
        }
    }

    /// What was found so far.
    pub fn entries(&self) -> Vec<Scan> {
        self.lock().clone()
    }

    /// Forgets what was found so far and gives it.
    pub fn take(&self) -> Vec<Scan> {
        std::mem::take(&mut *self.lock())
    }

    // Entries are pushed whole, so a panic elsewhere leaves the list usable.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Scan>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, scan: Scan) -> Result<()> {
        let refusal = self.refuses.then(|| {
            let message = match &scan.suggestion {
                Some(keys) => format!("the query reads the whole collection; an index on {keys} would help"),
                None => "the query reads the whole collection".to_owned(),
            };
            Error::new(ErrorKind::Unindexed, message)
                .with_operation(scan.operation)
                .with_namespace(scan.namespace.to_string())
        });
        self.lock().push(scan);
        refusal.map_or(Ok(()), Err)
    }
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.operation, self.namespace, self.filter)?;
        if let Some(sort) = &self.sort {
            write!(f, " sort {sort}")?;
        }
        Ok(())
    }
}

/// A backend that has each query explained before it is executed.
pub struct Scanning<B: ?Sized> {
    inner: Arc<B>,
    /// What explains: a transaction cannot.
    planner: Arc<dyn Backend>,
    scans: Scans,
}

impl Scanning<dyn Backend> {
    /// Looks for the scans of `inner`.
    pub fn new(inner: Arc<dyn Backend>, scans: Scans) -> Scanning<dyn Backend> {
        Scanning {
            planner: inner.clone(),
            inner,
            scans,
        }
    }
}

impl<B: ?Sized> Scanning<B> {
    fn around<I: ?Sized>(&self, inner: Arc<I>) -> Scanning<I> {
        Scanning {
            inner,
            planner: self.planner.clone(),
            scans: self.scans.clone(),
        }
    }

    async fn look(&self, operation: &Operation) -> Result<()> {
        for question in questions(operation) {
            let Some(namespace) = question.operation.namespace().cloned() else {
                continue;
            };
            // Who asks for everything gets everything.
            if question.filter.is_empty() && question.sort.is_none() {
                continue;
            }
            let explain = Operation::Explain(backend::Explain {
                operation: Box::new(question.operation),
                execute: false,
            });
            // What cannot be explained is executed: its error, if it is one, is for its own caller.
            let Ok(Response::Document(Some(plan))) = self.planner.execute(explain).await else {
                continue;
            };
            let Ok(plan) = Document::try_from(&*plan) else {
                continue;
            };
            let reading = PlanReading::of(&plan);
            let wants_all = question.filter.is_empty() && !reading.sorts_in_memory;
            if !reading.reads_everything || wants_all {
                continue;
            }
            let document = |raw: &RawDocument| Document::try_from(raw).unwrap_or_default();
            self.scans.add(Scan {
                operation: operation.name(),
                namespace,
                suggestion: suggested_index(&question.filter, question.sort.as_deref()).unwrap_or_default(),
                filter: document(&question.filter),
                sort: question.sort.as_deref().map(document),
            })?;
        }
        Ok(())
    }
}

/// One search that an operation makes.
struct Question {
    operation: Operation,
    filter: RawDocumentBuf,
    sort: Option<RawDocumentBuf>,
}

impl Question {
    fn new(operation: Operation, filter: &RawDocumentBuf) -> Question {
        Question {
            operation,
            filter: filter.clone(),
            sort: None,
        }
    }
}

/// Whether a stage gives documents of the collection as they are.
fn selects(stage: &RawDocument) -> bool {
    let name = stage.iter().next().and_then(std::result::Result::ok);
    name.is_some_and(|(name, _)| matches!(name.as_str(), "$match" | "$sort" | "$skip" | "$limit"))
}

fn questions(operation: &Operation) -> Vec<Question> {
    match operation {
        Operation::Find(find) if find.tail.is_none() => {
            let mut question = Question::new(operation.clone(), &find.filter);
            question.sort = find.sort.clone();
            vec![question]
        }
        Operation::Count(count) if !count.estimated => vec![Question::new(operation.clone(), &count.filter)],
        Operation::Distinct(distinct) => vec![Question::new(operation.clone(), &distinct.filter)],
        Operation::FindAndModify(find) => {
            let mut question = Question::new(operation.clone(), &find.filter);
            question.sort = find.sort.clone();
            vec![question]
        }
        Operation::Aggregate(aggregate) => {
            // Conditions behind a group or another change are not on the collection's documents.
            let leading = || aggregate.pipeline.iter().take_while(|stage| selects(stage));
            let stage = |name: &str| {
                let found = leading().find_map(|stage| stage.get_document(name).ok());
                found.map(RawDocument::to_owned)
            };
            let mut question = Question::new(operation.clone(), &stage("$match").unwrap_or_default());
            question.sort = stage("$sort");
            vec![question]
        }
        Operation::Update(update) => {
            let statements = update.statements.iter().map(|statement| {
                let mut one = update.clone();
                one.statements = vec![statement.clone()];
                Question::new(Operation::Update(one), &statement.filter)
            });
            statements.collect()
        }
        Operation::Delete(delete) => {
            let statements = delete.statements.iter().map(|statement| {
                let mut one = delete.clone();
                one.statements = vec![statement.clone()];
                Question::new(Operation::Delete(one), &statement.filter)
            });
            statements.collect()
        }
        Operation::BulkWrite(bulk) => {
            let statements = bulk.statements.iter().filter_map(|statement| match statement {
                WriteStatement::Insert(_) => None,
                WriteStatement::Update(statement) => Some(Question::new(
                    Operation::Update(backend::Update {
                        namespace: bulk.namespace.clone(),
                        statements: vec![statement.clone()],
                        ordered: true,
                        options: bulk.options.clone(),
                    }),
                    &statement.filter,
                )),
                WriteStatement::Delete(statement) => Some(Question::new(
                    Operation::Delete(backend::Delete {
                        namespace: bulk.namespace.clone(),
                        statements: vec![statement.clone()],
                        ordered: true,
                        options: bulk.options.clone(),
                    }),
                    &statement.filter,
                )),
            });
            statements.collect()
        }
        _ => Vec::new(),
    }
}

impl<B: Backend + ?Sized> Backend for Scanning<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            self.look(&operation).await?;
            self.inner.execute(operation).await
        })
    }

    super::passes_on!();

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let inner = self.inner.begin(options).await?;
            Ok(Arc::new(self.around(inner)) as Arc<dyn Transaction>)
        })
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.parts()
    }
}

super::session_around!(Scanning);

impl Transaction for Scanning<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.commit()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        self.inner.abort()
    }
}

impl<B: Backend + ?Sized> fmt::Debug for Scanning<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scanning").field(&&*self.inner).finish()
    }
}
