//! A user's code around the writes of a model.

mod context;
mod kept;
mod table;
mod update_write;

pub use self::context::HookContext;
pub use self::table::HookTable;
pub use self::update_write::{DeleteWrite, UpdateWrite};
use crate::error::Result;
use crate::model::Model;

/// Code that runs around the writes of a model that says `#[odm(hooks)]`. Every method does nothing unless written.
///
/// The methods of `before` run ahead of each write, whichever action it comes from: single writes, batches, many at a
/// time, find-and-modify, saves of tracked documents. They can change what is written, and refuse it with an error.
/// Dates, versions and validation come after them. Those of `after` run when the write is there for good: at once,
/// or, inside a transaction, once the transaction is committed; so they run once, however often the transaction was
/// run again. An error of theirs is the action's error outside of transactions, and does not undo the write.
///
/// An update or deletion of many documents, and each statement of a batch, calls its hook once. A soft deletion is a
/// deletion. An upsert that replaces calls the hooks of replacements, whether it inserts or not.
///
/// # What a hook sees of a document
///
/// The document as it is to be stored, as the model reads it. A field that serde skips is not stored, so it is at its
/// default here, whatever the program had in it: what is to become of it is done before the document is written. So
/// is, for the hook, a field that serde writes and does not read (`#[serde(skip_deserializing)]`); it is stored as the
/// program had it, unless the hook makes it something else than the default. That holds in embedded documents and maps
/// too, and in the elements of lists: wherever the hook put them, and where it changed them, as long as there are as many
/// as before. The elements of a `HashSet`, which has no order, are stored as the hook left them if it changed any.
///
/// ```
/// use odm::{HookContext, Hooks, Id, UpdateWrite};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Serialize, Deserialize, odm::Model)]
/// #[odm(hooks)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: Id<Book>,
///     title: String,
///     slug: String,
/// }
///
/// impl Hooks for Book {
///     async fn before_insert(book: &mut Book, _context: &HookContext) -> odm::Result<()> {
///         book.slug = book.title.to_lowercase().replace(' ', "-");
///         Ok(())
///     }
///
///     async fn before_update(update: &mut UpdateWrite<Book>, _context: &HookContext) -> odm::Result<()> {
///         if let Some(title) = update.set_value(|b| b.title.clone())? {
///             let slug: String = title.to_lowercase().replace(' ', "-");
///             update.add(|b| b.slug.set(slug))?;
///         }
///         Ok(())
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let books = odm::Db::open("memory:").await?.collection::<Book>();
/// let id = books.insert(Book { id: Id::new(), title: "Moby Dick".into(), slug: String::new() }).await?;
/// assert_eq!(books.get(id).required().await?.slug, "moby-dick");
/// books.update_one(|b| b.id.eq(id), |b| b.title.set("The Whale")).await?;
/// assert_eq!(books.get(id).required().await?.slug, "the-whale");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` says `#[odm(hooks)]` but has no hooks",
    label = "`Hooks` is not implemented",
    note = "write `impl odm::Hooks for {Self} {{ .. }}` with the methods that you need"
)]
pub trait Hooks: Model {
    /// Before a document is inserted.
    ///
    /// # Errors
    /// To refuse the write.
    fn before_insert(document: &mut Self, context: &HookContext) -> impl Future<Output = Result<()>> + Send {
        let _ = (document, context);
        std::future::ready(Ok(()))
    }

    /// Before a document is replaced or saved. Of a saved tracked document see [`before_update`](Hooks::before_update).
    ///
    /// # Errors
    /// To refuse the write.
    fn before_replace(document: &mut Self, context: &HookContext) -> impl Future<Output = Result<()>> + Send {
        let _ = (document, context);
        std::future::ready(Ok(()))
    }

    /// Before documents are updated.
    ///
    /// # Errors
    /// To refuse the write.
    fn before_update(
        update: &mut UpdateWrite<Self>,
        context: &HookContext,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (update, context);
        std::future::ready(Ok(()))
    }

    /// Before documents are deleted.
    ///
    /// # Errors
    /// To refuse the write.
    fn before_delete(
        delete: &mut DeleteWrite<Self>,
        context: &HookContext,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (delete, context);
        std::future::ready(Ok(()))
    }

    /// After a document was inserted: as it is stored.
    ///
    /// # Errors
    /// The action's error; the write stays.
    fn after_insert(document: &Self, context: &HookContext) -> impl Future<Output = Result<()>> + Send {
        let _ = (document, context);
        std::future::ready(Ok(()))
    }

    /// After a document was replaced or saved; not where a single write met none.
    ///
    /// # Errors
    /// As [`after_insert`](Hooks::after_insert).
    fn after_replace(document: &Self, context: &HookContext) -> impl Future<Output = Result<()>> + Send {
        let _ = (document, context);
        std::future::ready(Ok(()))
    }

    /// After documents were updated; not where a single write met none.
    ///
    /// # Errors
    /// As [`after_insert`](Hooks::after_insert).
    fn after_update(
        update: &UpdateWrite<Self>,
        context: &HookContext,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (update, context);
        std::future::ready(Ok(()))
    }

    /// After documents were deleted; not where a single write met none.
    ///
    /// # Errors
    /// As [`after_insert`](Hooks::after_insert).
    fn after_delete(
        delete: &DeleteWrite<Self>,
        context: &HookContext,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (delete, context);
        std::future::ready(Ok(()))
    }

    /// After a document was read as this model, before anybody sees it. Not for what is read as another type, by
    /// `project`, a pipeline or `distinct`: what this masks comes out of them as it is stored.
    ///
    /// # Errors
    /// The error of reading this document.
    fn after_load(document: &mut Self) -> Result<()> {
        let _ = document;
        Ok(())
    }
}
