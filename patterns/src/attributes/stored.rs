//! The field of a model that holds its attributes.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use odm::bson::{Bson, Document};
use odm::{Field, FieldType};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::given::{Given, Held};

/// In which form attributes are stored: [`Scoped`] or [`Listed`].
#[diagnostic::on_unimplemented(
    message = "attributes are not stored as `{Self}`",
    label = "not a form of attributes",
    note = "the forms are `Scoped` and `Listed`"
)]
pub trait Form: sealed::Sealed + Send + Sync + 'static {
    /// Whether it is the list.
    #[doc(hidden)]
    const IS_LIST: bool;
}

/// A sub-document, with a sparse index for each attribute that is searched by: `{color: "red", size: 42}`.
#[derive(Clone, Copy, Debug)]
pub enum Scoped {}

/// A list of names and values, with one index for all: `[{n: "color", v: "red"}, {n: "size", v: 42}]`.
#[derive(Clone, Copy, Debug)]
pub enum Listed {}

impl Form for Scoped {
    const IS_LIST: bool = false;
}

impl Form for Listed {
    const IS_LIST: bool = true;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Scoped {}
    impl Sealed for super::Listed {}
}

/// Attributes by name: a field of a model. It is written in the form `F`, and read in either, so that programs go on while
/// documents are [converted](super::Catalog::convert).
pub struct Attributes<F> {
    by_name: BTreeMap<String, Held>,
    form: PhantomData<fn() -> F>,
}

impl<F> Attributes<F> {
    /// None.
    pub fn new() -> Attributes<F> {
        Attributes {
            by_name: BTreeMap::new(),
            form: PhantomData,
        }
    }

    /// The same with an attribute of one value; in place of what it was.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Given>) -> Attributes<F> {
        self.set(name, value);
        self
    }

    /// The same with an attribute of several values; in place of what it was.
    #[must_use]
    pub fn with_many<V: Into<Given>>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Attributes<F> {
        let values = values.into_iter().map(Into::into).collect();
        self.by_name.insert(name.into(), Held::Many(values));
        self
    }

    /// Sets an attribute to one value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Given>) {
        self.by_name.insert(name.into(), Held::One(value.into()));
    }

    /// Takes an attribute away.
    pub fn remove(&mut self, name: &str) -> Option<Held> {
        self.by_name.remove(name)
    }

    /// An attribute.
    pub fn get(&self, name: &str) -> Option<&Held> {
        self.by_name.get(name)
    }

    /// The attributes, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Held)> {
        self.by_name.iter().map(|(name, held)| (name.as_str(), held))
    }

    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn put(&mut self, name: String, held: Held) {
        self.by_name.insert(name, held);
    }

    /// From what is stored, in either form; `None` for anything else.
    pub(super) fn from_bson(stored: &Bson) -> Option<Attributes<F>> {
        let mut attributes = Attributes::new();
        match stored {
            Bson::Document(scope) => {
                for (name, value) in scope {
                    let held = match value {
                        Bson::Array(values) => {
                            Held::Many(values.iter().map(Given::from_bson).collect::<Option<_>>()?)
                        }
                        value => Held::One(Given::from_bson(value)?),
                    };
                    attributes.by_name.insert(name.clone(), held);
                }
            }
            Bson::Array(list) => {
                let mut by_name: BTreeMap<String, Vec<Given>> = BTreeMap::new();
                for entry in list {
                    let entry = entry.as_document()?;
                    let name = entry.get_str("n").ok()?;
                    let values = by_name.entry(name.to_owned()).or_default();
                    values.push(Given::from_parts(entry)?);
                }
                attributes.by_name = by_name
                    .into_iter()
                    .map(|(name, values)| (name, held(values)))
                    .collect();
            }
            _ => return None,
        }
        Some(attributes)
    }
}

impl<F: Form> Attributes<F> {
    /// As it is stored.
    pub(super) fn to_bson(&self) -> Bson {
        match F::IS_LIST {
            false => Bson::Document(
                self.iter()
                    .map(|(name, held)| (name.to_owned(), scoped(held)))
                    .collect(),
            ),
            true => Bson::Array(self.iter().flat_map(|(name, held)| listed(name, held)).collect()),
        }
    }
}

/// What is stored of an attribute in the sub-document.
pub(super) fn scoped(held: &Held) -> Bson {
    match held {
        Held::One(given) => given.to_bson(),
        Held::Many(given) => Bson::Array(given.iter().map(Given::to_bson).collect()),
    }
}

/// What is stored of an attribute in the list.
pub(super) fn listed(name: &str, held: &Held) -> Vec<Bson> {
    let entry = |given: &Given| {
        let mut entry = Document::new();
        entry.insert("n", name);
        entry.extend(given.parts());
        Bson::Document(entry)
    };
    held.values().iter().map(entry).collect()
}

fn held(mut values: Vec<Given>) -> Held {
    match values.len() {
        1 => Held::One(values.remove(0)),
        _ => Held::Many(values),
    }
}

impl<F: Form> Serialize for Attributes<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_bson().serialize(serializer)
    }
}

impl<'de, F: Form> Deserialize<'de> for Attributes<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Attributes<F>, D::Error> {
        let stored = Bson::deserialize(deserializer)?;
        Attributes::from_bson(&stored).ok_or_else(|| D::Error::custom("the attributes are of neither form"))
    }
}

impl<F: Form> FieldType for Attributes<F> {
    type Handle<R> = Field<R, Attributes<F>>;
    type Optional<R> = Field<R, Option<Attributes<F>>>;
}

impl<F> Default for Attributes<F> {
    fn default() -> Attributes<F> {
        Attributes::new()
    }
}

impl<F> Clone for Attributes<F> {
    fn clone(&self) -> Attributes<F> {
        Attributes {
            by_name: self.by_name.clone(),
            form: PhantomData,
        }
    }
}

impl<F> PartialEq for Attributes<F> {
    fn eq(&self, other: &Attributes<F>) -> bool {
        self.by_name == other.by_name
    }
}

impl<F> fmt::Debug for Attributes<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.by_name).finish()
    }
}
