//! Types that hold copies of another model's fields.

use bson::{RawBson, RawDocument, RawDocumentBuf};

use super::key::ReferenceKey;
use super::plan::name;
use super::reference::Ref;
use super::stored::{Steps, malformed};
use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::STAMP;
use crate::model::{Embedded, Field, Model};
use crate::schema::ModelDescriptor;

/// A nested document that holds copies of some fields of a `Source` beside a reference to it, and the version of the
/// source that they were copied from: MongoDB's "extended reference". Derive [`Embedded`](macro@crate::Embedded) with
/// `#[odm(copy_of(Source))]`.
///
/// ```
/// use odm::{CopyOf, Db, Model, Embedded, Ref};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Serialize, Deserialize, Model)]
/// #[odm(copied_to(Book))]
/// struct Publisher {
///     #[serde(rename = "_id")]
///     id: i32,
///     name: String,
///     #[odm(version)]
///     version: i64,
/// }
///
/// #[derive(Debug, Serialize, Deserialize, Embedded)]
/// #[odm(copy_of(Publisher))]
/// struct PublisherCopy {
///     #[odm(source)]
///     id: Ref<Publisher>,
///     name: String,
///     #[odm(source_version)]
///     version: i64,
/// }
///
/// #[derive(Debug, Serialize, Deserialize, Model)]
/// #[odm(index(keys(publisher.id)))]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: i32,
///     publisher: PublisherCopy,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = Db::open("memory:").await?;
/// let penguin = Publisher { id: 1, name: "Penguin".into(), version: 0 };
/// db.collection::<Publisher>().insert(&penguin).await?;
/// let books = db.collection::<Book>();
/// books.insert(Book { id: 1, publisher: PublisherCopy::copy_of(&penguin)? }).await?;
///
/// db.collection::<Publisher>().update_one(|p| p.id.eq(1), |p| p.name.set("Penguin Books")).await?;
/// assert_eq!(books.get(1).required().await?.publisher.name, "Penguin Books");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` holds no copies of another model's fields",
    label = "not a copy",
    note = "declare it: `#[derive(odm::Embedded)] #[odm(copy_of(Source))]`"
)]
pub trait CopyOf: Embedded {
    /// What is copied.
    type Source: Model;

    #[doc(hidden)]
    fn declaration() -> CopyDeclaration;

    /// The copy of a document in memory. Nothing is read.
    ///
    /// The version is the document's `#[odm(version)]`. Of a model that has none it is -1, older than anything stored:
    /// [`fill_copies`](crate::Collection::fill_copies) knows the stored one. Fields that are the copy's
    /// `#[odm(own)]` are read as if they were missing.
    ///
    /// # Errors
    /// `Encode` and `Decode` when a value does not fit.
    fn copy_of(source: &Self::Source) -> Result<Self> {
        let stored = codec::encode_document(source)?;
        let copy = Self::declaration();
        let values = copy.values(&stored)?;
        let mut made = RawDocumentBuf::new();
        let key = Steps::dotted(&copy.key).one(&stored)?;
        made.append(name(&copy.reference)?, key.map_or(RawBson::Null, RawBson::from));
        for (field, value) in values {
            if let Some(value) = value {
                made.append(name(&field)?, value);
            }
        }
        let version = match copy.is_stamped {
            true => -1,
            false => copy.version_of(&stored)?,
        };
        made.append(name(&copy.version)?, version);
        codec::decode_document(&made)
    }
}

/// The type of the field that holds a copied value of a `T`: `T` itself, or an `Option` of it.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` cannot hold a copy of a `{T}`",
    label = "not the type of the source's field",
    note = "a copy has the type of what is copied, `{T}`, or an `Option` of it; what is not copied is `#[odm(own)]`"
)]
pub trait CopiedValue<T> {}

impl<T> CopiedValue<T> for T {}
impl<T> CopiedValue<T> for Option<T> {}

/// The type of the field that says what was copied: a `Ref<T>`, by whatever key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say of which `{T}` the fields are copies",
    label = "not a `Ref` to the source",
    note = "`#[odm(source)]` stands on the reference to what is copied: `Ref<{T}>`"
)]
pub trait SourceReference<T: Model> {
    #[doc(hidden)]
    fn key_path() -> String;
}

impl<T: Model, K: ReferenceKey<T>> SourceReference<T> for Ref<T, K> {
    fn key_path() -> String {
        K::path().to_string()
    }
}

/// The type of the field that holds the version of the source: `i64`, or an `Option` of it, of which `None` says that
/// nothing was copied yet.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the version of the source",
    label = "not a version",
    note = "use `i64`, or `Option<i64>` for copies that are filled later"
)]
pub trait SourceVersion {}

impl SourceVersion for i64 {}
impl SourceVersion for Option<i64> {}

/// What a type of copies declares.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CopyDeclaration {
    /// The type's Rust name.
    pub name: &'static str,
    /// What is copied.
    pub source: &'static ModelDescriptor,
    /// The stored field of the copy that refers to the source.
    pub reference: String,
    /// The stored field of the source whose value that reference holds, mostly `_id`.
    pub key: String,
    /// The stored field of the copy that holds the source's version.
    pub version: String,
    /// The stored field of the source that holds its version.
    pub source_version: &'static str,
    /// What is copied: the source's stored path, the copy's stored field.
    pub fields: Vec<(String, String)>,
    /// Whether changes wait for [`propagate_pending`](crate::Collection::propagate_pending).
    pub is_eventual: bool,
    /// Whether the source's version is a stamp that the model does not know.
    pub(crate) is_stamped: bool,
    /// The field of the copy that is stored in another way than what it copies.
    pub(crate) differs: Option<String>,
}

impl CopyDeclaration {
    /// Of this type, nothing said yet.
    #[doc(hidden)]
    pub fn of<C: CopyOf>(name: &'static str) -> CopyDeclaration {
        let version = <C::Source as Model>::LIFECYCLE.version;
        CopyDeclaration {
            name,
            source: <C::Source as Model>::DESCRIPTOR,
            reference: String::new(),
            key: String::new(),
            version: String::new(),
            source_version: version.unwrap_or(STAMP),
            fields: Vec::new(),
            is_eventual: false,
            is_stamped: version.is_none(),
            differs: None,
        }
    }

    /// The field that refers.
    #[doc(hidden)]
    pub fn source<S: Model, C, X: SourceReference<S>>(mut self, field: &Field<C, X>) -> CopyDeclaration {
        self.reference = field.path().to_string();
        self.key = X::key_path();
        self
    }

    /// The field with the version.
    #[doc(hidden)]
    pub fn version<C, V: SourceVersion>(mut self, field: &Field<C, V>) -> CopyDeclaration {
        self.version = field.path().to_string();
        self
    }

    /// A field that is copied.
    #[doc(hidden)]
    pub fn field<S, A, C, B: CopiedValue<A>>(
        mut self,
        from: &Field<S, A>,
        to: &Field<C, B>,
    ) -> CopyDeclaration {
        if from.codec().is_some() != to.codec().is_some() {
            self.differs = Some(to.path().to_string());
        }
        self.fields.push((from.path().to_string(), to.path().to_string()));
        self
    }

    /// Changes wait.
    #[doc(hidden)]
    pub fn eventual(mut self) -> CopyDeclaration {
        self.is_eventual = true;
        self
    }

    /// The copied values of a stored source, by the names that the copy has for them; none where it has none.
    pub(super) fn values(&self, source: &RawDocument) -> Result<Vec<(String, Option<RawBson>)>> {
        let values = self.fields.iter().map(|(from, to)| {
            let value = Steps::dotted(from).one(source)?;
            Ok((to.clone(), value.map(RawBson::from)))
        });
        values.collect()
    }

    /// The version of a stored source.
    pub(super) fn version_of(&self, source: &RawDocument) -> Result<i64> {
        let version = source.get(self.source_version).map_err(malformed)?;
        Ok(version.and_then(integer).unwrap_or(0))
    }

    /// Whether an error stands in the declaration.
    pub(super) fn check(&self) -> Result<()> {
        match &self.differs {
            Some(field) => {
                let text = "a copied field is stored by a codec of serde's on one side only";
                Err(Error::new(ErrorKind::Schema, text)
                    .with_model(self.name)
                    .with_path(field))
            }
            None => Ok(()),
        }
    }
}

/// A whole number.
pub(super) fn integer(value: bson::RawBsonRef<'_>) -> Option<i64> {
    value.as_i64().or(value.as_i32().map(i64::from))
}
