//! Which field of its target a reference holds.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::{Codec, KeyParse, KeyReader, KeyShow, Model, Path};

/// The field of `T` whose value a [`Ref<T, K>`](crate::Ref) holds: [`ById`], or what `#[odm(unique, key = Name)]` on
/// a field of `T` declares.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key of `{T}`",
    label = "not declared on a field of `{T}`",
    note = "declare it on the field that references hold: `#[odm(unique, key = {Self})]`"
)]
pub trait ReferenceKey<T: Model>: Send + Sync + 'static {
    /// The type of the field.
    type Value: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;

    /// How its values are encoded, if not by their own `Serialize`.
    const CODEC: Option<Codec<Self::Value>> = None;

    #[doc(hidden)]
    const READER: Option<KeyReader<Self::Value>> = None;

    #[doc(hidden)]
    const SHOW: Option<KeyShow<Self::Value>> = None;

    #[doc(hidden)]
    const PARSE: Option<KeyParse<Self::Value>> = None;

    /// Where the field is.
    fn path() -> Path;

    /// Its value in a document.
    fn of(document: &T) -> &Self::Value;
}

/// The key of references by `_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ById {}

impl<T: Model> ReferenceKey<T> for ById {
    type Value = T::Key;

    const CODEC: Option<Codec<T::Key>> = T::KEY_CODEC;
    const READER: Option<KeyReader<T::Key>> = T::KEY_READER;
    const SHOW: Option<KeyShow<T::Key>> = T::KEY_SHOW;
    const PARSE: Option<KeyParse<T::Key>> = T::KEY_PARSE;

    fn path() -> Path {
        Path::root().child("_id")
    }

    fn of(document: &T) -> &T::Key {
        document.key()
    }
}
