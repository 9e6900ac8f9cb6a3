//! The declared names against those that serde uses.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Visitor};

use super::ModelDescriptor;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, OfTypes};

/// Compares the stored names that `M` declares with those that its `Deserialize` asks for.
///
/// They differ when `Deserialize` is written by hand or comes from another derive, and then filters would name
/// fields that no document has. The answer is remembered for each model: later calls cost one map look-up.
/// Models with a flattened field do not tell serde their names, and are not checked.
///
/// # Errors
/// [`ErrorKind::Schema`] naming the first field that differs.
pub(crate) fn verify<M: Model>() -> Result<()> {
    static KNOWN: OfTypes<Result<()>> = OfTypes::new();
    KNOWN.get::<M, _>(checked::<M>, |result| result)
}

fn checked<M: Model>() -> Result<()> {
    compare(M::DESCRIPTOR, names::<M>())?;
    M::DESCRIPTOR.check_series(&M::LIFECYCLE)?;
    if let Some(scope) = M::LIFECYCLE.scope {
        scope().map_err(|error| error.with_model(M::DESCRIPTOR.name))?;
    }
    M::DESCRIPTOR.check_copies()?;
    M::DESCRIPTOR.check_references()
}

fn compare(model: &'static ModelDescriptor, names: Option<&'static [&'static str]>) -> Result<()> {
    let Some(names) = names else { return Ok(()) };
    if model.fields.iter().any(|field| field.is_flattened()) {
        return Ok(());
    }
    for field in model.fields.iter().filter(|field| !field.is_write_only) {
        if !names.contains(&field.stored) {
            let message = match field.name == field.stored {
                true => "serde does not read a field of this name, so no filter on it would match".into(),
                false => format!(
                    "serde does not read a field of this name, which the model declares for `{}`",
                    field.name
                )
                .into(),
            };
            return Err(problem(model, field.stored, message));
        }
    }
    Ok(())
}

fn problem(model: &'static ModelDescriptor, path: &str, message: std::borrow::Cow<'static, str>) -> Error {
    Error::new(ErrorKind::Schema, message)
        .with_model(model.name)
        .with_path(path)
}

/// The field names that the type's `Deserialize` asks for, when it asks for a struct.
pub(crate) fn names<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    match T::deserialize(Ask) {
        Err(Answer(names)) => names,
        Ok(_) => None,
    }
}

/// A deserializer that holds nothing: it fails with what it was asked for.
struct Ask;

#[derive(Debug)]
struct Answer(Option<&'static [&'static str]>);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only names were asked for")
    }
}

impl std::error::Error for Answer {}

impl serde::de::Error for Answer {
    fn custom<T: fmt::Display>(_message: T) -> Answer {
        Answer(None)
    }
}

impl<'de> Deserializer<'de> for Ask {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Answer> {
        Err(Answer(None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer(Some(fields)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Deserializer, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize, crate::Model)]
    #[odm(crate = crate)]
    #[serde(rename_all = "camelCase")]
    struct Agreed {
        #[serde(rename = "_id")]
        id: i32,
        #[serde(alias = "name")]
        full_name: String,
        #[serde(skip_deserializing)]
        shown: i32,
        #[serde(skip)]
        #[expect(dead_code, reason = "a field that serde never sees")]
        cached: i32,
    }

    #[derive(Serialize, crate::Model)]
    #[odm(crate = crate)]
    struct ByHand {
        _id: i32,
        pages: i32,
    }

    impl<'de> Deserialize<'de> for ByHand {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<ByHand, D::Error> {
            #[derive(Deserialize)]
            struct Stored {
                _id: i32,
                #[serde(rename = "numberOfPages")]
                pages: i32,
            }
            let Stored { _id, pages } = Stored::deserialize(deserializer)?;
            Ok(ByHand { _id, pages })
        }
    }

    #[test]
    fn derived_names_agree_with_serde() {
        verify::<Agreed>().unwrap();
        verify::<Agreed>().unwrap();
    }

    #[test]
    fn the_field_that_serde_does_not_know_is_named() {
        let error = verify::<ByHand>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert_eq!((error.model(), error.path()), (Some("ByHand"), Some("pages")));
    }
}
