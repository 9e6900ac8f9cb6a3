//! Fields whose values are made of the other fields of their document.

use std::fmt;

use bson::{DateTime, RawBson, RawDocument};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::declared::Declared;
use super::derived_field::DerivedField;
use crate::error::Result;
use crate::model::{Field, FieldType, Path, Stored};
use crate::schema::IndexDeclaration;

/// How the value of a [`Derived`] field is made of the other fields of its document.
///
/// ```
/// use odm::bson::{DateTime, RawBson, RawDocument};
/// use odm::{Db, Derivation, Derived, Model};
/// use serde::{Deserialize, Serialize};
///
/// /// The title as a part of an address.
/// #[derive(Debug)]
/// struct Slug;
///
/// impl Derivation for Slug {
///     type Value = String;
///
///     fn sources() -> Vec<String> {
///         vec!["title".to_owned()]
///     }
///
///     fn derive(document: &RawDocument, _now: DateTime) -> odm::Result<RawBson> {
///         let title = document.get_str("title").unwrap_or_default();
///         Ok(RawBson::String(title.to_lowercase().replace(' ', "-")))
///     }
/// }
///
/// #[derive(Debug, Serialize, Deserialize, Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: i32,
///     title: String,
///     slug: Derived<Slug>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let books = Db::open("memory:").await?.collection::<Book>();
/// books.insert(Book { id: 1, title: "Moby Dick".into(), slug: Derived::default() }).await?;
/// assert_eq!(books.get(1).required().await?.slug.get().map(String::as_str), Some("moby-dick"));
/// books.update_one(|b| b.id.eq(1), |b| b.title.set("The Whale")).await?;
/// assert_eq!(books.get(1).required().await?.slug.get().map(String::as_str), Some("the-whale"));
/// // It is asked for as a field of the value's type is.
/// assert_eq!(books.count(|b| b.slug.eq("the-whale") & b.slug.starts_with("the")).await?, 1);
/// # Ok(())
/// # }
/// ```
///
/// # What is kept in step, and how
///
/// Every write of a typed collection. What the document itself holds of the field is not looked at.
///
/// | write | |
/// |---|---|
/// | insert, save, replacement | derived from the document, in the same write |
/// | update that sets all [sources](Derivation::sources) of all derived fields whole | derived from what is set, in the same write |
/// | update that changes none of them | nothing to do |
/// | any other update of a source, upserts by fields, pipelines | the same write marks the document (`derived_pending`), and the field is derived from the document as it is then, in the same transaction; where there are none, in a second write that takes the mark only if it is still the one of this update. What an interruption leaves is found by the mark: [`Collection::rederive`](crate::Collection::rederive) |
/// | an update of the field itself | does not compile; a raw one is refused: `InvalidArgument` |
///
/// A batch with such an update is one transaction where there are transactions: all of it, or nothing.
///
/// A document that find-and-modify is to return as it is then is read again behind such a second write. Writes by
/// [`Collection::raw`](crate::Collection::raw) go around all of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how a field is derived",
    label = "`Derivation` is not implemented",
    note = "implement `odm::Derivation` for it: the value's type, its sources, and how it is made of them"
)]
pub trait Derivation: Send + Sync + 'static {
    /// What the field is read as. It need not be all that is stored.
    type Value: Stored + Send + Sync;

    /// The stored paths of all that the value is made of: `["title", "author.name"]`; those through arrays without the
    /// places of the elements.
    fn sources() -> Vec<String>;

    /// The value that is stored. Of the document only the sources can be relied on. `now` is the time of the write, by
    /// the clock of the database.
    ///
    /// # Errors
    /// To refuse the write.
    fn derive(document: &RawDocument, now: DateTime) -> Result<RawBson>;

    /// The indexes over the stored value, which are among the model's declared ones.
    fn indexes(field: &Path) -> Vec<IndexDeclaration> {
        let _ = field;
        Vec::new()
    }
}

/// A field of a model whose value is made of the other fields, anew with every write: see [`Derivation`].
///
/// A document that was made by the program has `Derived::default()`.
pub struct Derived<D: Derivation> {
    value: Option<D::Value>,
}

impl<D: Derivation> Derived<D> {
    /// The value, as it was when the document was read; nothing in a document that was not, or that has none.
    pub fn get(&self) -> Option<&D::Value> {
        self.value.as_ref()
    }
}

/// What is known of a derivation by code that does not know its type.
#[derive(Clone, Copy, Debug)]
pub struct Deriving {
    pub(super) sources: fn() -> Vec<String>,
    pub(super) derive: fn(&RawDocument, DateTime) -> Result<RawBson>,
    pub(super) indexes: fn(&Path) -> Vec<IndexDeclaration>,
}

impl<D: Derivation> FieldType for Derived<D> {
    type Handle<R> = DerivedField<R, D>;
    type Optional<R> = Field<R, Option<Derived<D>>>;

    const DECLARED: &'static Declared = &Declared::Derived(Deriving {
        sources: D::sources,
        derive: D::derive,
        indexes: D::indexes,
    });
}

impl<D: Derivation> Default for Derived<D> {
    fn default() -> Self {
        Derived { value: None }
    }
}

impl<D: Derivation<Value: Clone>> Clone for Derived<D> {
    fn clone(&self) -> Self {
        Derived {
            value: self.value.clone(),
        }
    }
}

impl<D: Derivation<Value: PartialEq>> PartialEq for Derived<D> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<D: Derivation<Value: Eq>> Eq for Derived<D> {}

impl<D: Derivation<Value: fmt::Debug>> fmt::Debug for Derived<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Derived").field(&self.value).finish()
    }
}

impl<D: Derivation> Serialize for Derived<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, D: Derivation> Deserialize<'de> for Derived<D> {
    fn deserialize<X: Deserializer<'de>>(deserializer: X) -> Result<Self, X::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(Derived { value })
    }
}
