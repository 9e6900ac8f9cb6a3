//! Writes that somebody else makes.

use std::fmt;

use bson::RawDocumentBuf;

use crate::backend::{Operation, WriteStatement};
use crate::collection::Target;
use crate::error::Result;
use crate::lifecycle::{After, Ready, Settings};

/// The writes of a batch as they would be sent, for code that makes them in its own way: [`BulkWrite::prepared`] gives
/// them.
///
/// Whoever takes them makes every one of [`statements`](PreparedWrites::statements), or none, and says so with
/// [`written`](PreparedWrites::written). What deletions mean for documents that refer is not among them: see
/// [`Collection::ask_references`](crate::Collection::ask_references) and
/// [`release_references`](crate::Collection::release_references).
///
/// They are those of a batch, also where there is only one: the save of a document whose version says that it was stored
/// before is an error of the database where the document is gone, and upserts of which only a question first could tell
/// whether they insert are refused.
///
/// ```
/// use odm::backend::{Modification, WriteStatement};
/// use odm::{Db, Id, Model};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: Id<Book>,
///     title: String,
///     #[odm(version)]
///     version: i32,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let books = Db::open("memory:").await?.collection::<Book>();
/// let writes = books.bulk_write().update_many(|b| b.title.eq("Emma"), |b| b.title.set("Emma, again"));
/// let prepared = writes.prepared().await?;
/// let [WriteStatement::Update(update)] = prepared.statements() else { panic!("one update") };
/// let Modification::Operators(operators) = &update.modification else { panic!("operators") };
/// let counted = operators.get_document("$inc").expect("the version is counted");
/// assert!(counted.get("version").is_ok_and(|by| by.is_some()));
/// # Ok(())
/// # }
/// ```
///
/// [`BulkWrite::prepared`]: crate::action::BulkWrite::prepared
#[must_use = "prepared writes are not made by themselves"]
pub struct PreparedWrites {
    target: Target,
    statements: Vec<WriteStatement>,
    after: Option<After>,
}

impl PreparedWrites {
    pub(crate) async fn of(target: Target, operation: Operation, settings: Settings) -> Result<Self> {
        let name = operation.name();
        let plan = target.plan().filter(|plan| plan.concerns(&operation));
        let (statements, after) = match (plan, operation) {
            (None, Operation::BulkWrite(bulk)) => (bulk.statements, None),
            (None, _) => (Vec::new(), None),
            (Some(plan), operation) => {
                let ready = Ready::make(plan, &target, operation, &settings).await;
                let made = ready.and_then(Ready::into_statements);
                let (statements, after) = made.map_err(|error| target.explain(error, name))?;
                (statements, Some(after))
            }
        };
        let mut statements = statements;
        let confined = target.confinement().and_then(|confinement| match confinement {
            Some(confinement) => statements.iter_mut().try_for_each(|own| confinement.write(own)),
            None => Ok(()),
        });
        confined.map_err(|error| target.explain(error, name))?;
        Ok(PreparedWrites {
            target,
            statements,
            after,
        })
    }

    /// The writes, in their order. A soft deletion is an update.
    pub fn statements(&self) -> &[WriteStatement] {
        &self.statements
    }

    /// Adds documents of [`InsertMany::prepared`](crate::action::InsertMany::prepared) that are written with these
    /// writes, as they are stored: fields that were added since are held against the model's rules.
    ///
    /// # Errors
    /// `Validation`.
    pub fn with_inserted(mut self, documents: Vec<RawDocumentBuf>) -> Result<Self> {
        if let Some(after) = &mut self.after {
            let inserted = after.inserted(&self.target, documents);
            inserted.map_err(|error| self.target.explain(error, "insert"))?;
        }
        Ok(self)
    }

    /// Says that all of it is written: lets copies follow, and runs the hooks that run after writes; inside a
    /// transaction those run when it is committed. No round trip where the model has neither.
    ///
    /// # Errors
    /// What hooks give; those of the database.
    pub async fn written(self) -> Result<()> {
        match self.after {
            Some(after) => {
                let run = after.run(&self.target).await;
                run.map_err(|error| self.target.explain(error, "bulkWrite"))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Debug for PreparedWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedWrites")
            .field("target", &self.target)
            .field("statements", &self.statements)
            .finish_non_exhaustive()
    }
}
