//! The list, and the update that adds to it.

use std::fmt;
use std::sync::Arc;

use odm::bson::{Bson, Document, doc};
use odm::{
    ArrayType, Embedded, Error, ErrorKind, Field, FieldType, Model, Ordered, Path, PushOptions, Sort, Update,
};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use crate::dotted::value_at;
use crate::identity::identity;
use crate::value;

/// A bounded list in documents of a model: what is kept of it, and how. `A` is the field's type. Cheap to clone.
#[must_use]
pub struct Recent<M, A: ArrayType> {
    field: Field<M, A>,
    size: u32,
    order: Option<Arc<Order<A::Item>>>,
    newest_first: bool,
    keep_end: bool,
    /// The path of the unique key in an element; empty for the element itself.
    unique: Option<String>,
}

/// An order of the elements: for `$push`, and for `$sortArray`.
pub(super) struct Order<T> {
    push: Box<dyn Fn(PushOptions<T>) -> PushOptions<T> + Send + Sync>,
    pub(super) stored: odm::Result<Bson>,
}

impl<M: Model, A: ArrayType> Recent<M, A> {
    /// The last so many elements, in the order in which they come.
    pub fn new(size: u32, field: impl FnOnce(M::Fields<M>) -> Field<M, A>) -> Recent<M, A> {
        Recent {
            field: field(M::fields()),
            size: size.max(1),
            order: None,
            newest_first: false,
            keep_end: false,
            unique: None,
        }
    }

    /// Puts what comes in front.
    pub fn newest_first(mut self) -> Recent<M, A> {
        self.newest_first = true;
        self
    }

    /// Keeps the list in this order, and the first elements of it.
    pub fn by(
        self,
        order: impl FnOnce(<A::Item as FieldType>::Handle<A::Item>) -> Sort<A::Item>,
    ) -> Recent<M, A>
    where
        A::Item: FieldType + 'static,
    {
        let order = order(<A::Item as FieldType>::handle(Path::root()));
        let stored = order.to_document().and_then(|order| {
            Document::try_from(&*order).map(Bson::Document).map_err(|error| {
                Error::new(ErrorKind::Encode, "the order does not fit bson").with_source(error)
            })
        });
        self.ordered(stored, move |options| options.sort_by(|_| order.clone()))
    }

    /// Keeps the list of plain values in their order, and the least of them.
    pub fn ascending(self) -> Recent<M, A>
    where
        A::Item: Ordered + 'static,
    {
        self.ordered(Ok(Bson::Int32(1)), PushOptions::sort_asc)
    }

    /// Keeps the list of plain values in the opposite of their order, and the greatest of them.
    pub fn descending(self) -> Recent<M, A>
    where
        A::Item: Ordered + 'static,
    {
        self.ordered(Ok(Bson::Int32(-1)), PushOptions::sort_desc)
    }

    /// Keeps the last elements of the order, not the first.
    pub fn keep_end(mut self) -> Recent<M, A> {
        self.keep_end = true;
        self
    }

    /// Has one element of each key: the one that was added last. Elements without one, or with null, are there as often as
    /// they are added.
    pub fn unique_by<K>(
        mut self,
        key: impl FnOnce(<A::Item as Embedded>::Fields<A::Item>) -> Field<A::Item, K>,
    ) -> Recent<M, A>
    where
        A::Item: Embedded,
    {
        let fields = <A::Item as Embedded>::fields_at(Path::root());
        self.unique = Some(key(fields).path().to_string());
        self
    }

    /// Has each element once.
    pub fn unique(mut self) -> Recent<M, A> {
        self.unique = Some(String::new());
        self
    }

    /// The update that adds elements, which are given in the order in which they came.
    ///
    /// Where keys are unique it is a pipeline, which cannot be combined with other changes.
    pub fn add(&self, elements: impl IntoIterator<Item = A::Item>) -> Update<M>
    where
        A::Item: Serialize,
    {
        let mut elements: Vec<A::Item> = elements.into_iter().collect();
        if self.newest_first {
            elements.reverse();
        }
        let Some(unique) = &self.unique else {
            return self.push(&elements);
        };
        let stored: odm::Result<Vec<Bson>> = match self.field.codec() {
            None => elements.iter().map(value::to_bson).collect(),
            // Where the key is in what the codec writes is not known.
            Some(_) if !unique.is_empty() => return self.refused(),
            Some(codec) => {
                let stored = elements.into_iter().map(|element| {
                    let array = A::one(element).map(|array| codec(&array).and_then(value::tree));
                    let array = array.transpose()?.and_then(|array| match array {
                        Bson::Array(stored) => stored.into_iter().next(),
                        _ => None,
                    });
                    array.ok_or_else(|| value::own_codec::<M>(&self.path()))
                });
                return match stored
                    .collect::<odm::Result<_>>()
                    .and_then(|stored| self.merge(unique, stored))
                {
                    Ok(stage) => Update::pipeline([stage]),
                    Err(_) => self.refused(),
                };
            }
        };
        match stored.and_then(|stored| self.merge(unique, stored)) {
            Ok(stage) => Update::pipeline([stage]),
            // Says the same error, with the field's path.
            Err(_) => self.push(&elements),
        }
    }

    /// An update that fails.
    fn refused(&self) -> Update<M> {
        Field::<M, Refused>::new(self.field.path().clone()).set(Refused)
    }

    /// The update that brings the list into order and cuts it, for a new order or size.
    ///
    /// # Errors
    /// When the order is none.
    pub fn tidy(&self) -> odm::Result<Update<M>> {
        let kept = self.kept(self.distinct())?;
        Ok(Update::pipeline([doc! { "$set": { self.path(): kept } }]))
    }

    fn push(&self, elements: &[A::Item]) -> Update<M>
    where
        A::Item: Serialize,
    {
        let slice = i64::from(self.size);
        self.field.push_each_with(elements, |options| {
            let options = match &self.order {
                Some(order) => (order.push)(options),
                None if self.newest_first => options.position(0),
                None => options,
            };
            options.slice(if self.keeps_end() { -slice } else { slice })
        })
    }

    pub(super) fn path(&self) -> String {
        self.field.path().to_string()
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    pub(super) fn unique_path(&self) -> Option<&str> {
        self.unique.as_deref()
    }

    pub(super) fn order(&self) -> Option<&odm::Result<Bson>> {
        self.order.as_ref().map(|order| &order.stored)
    }

    fn ordered(
        mut self,
        stored: odm::Result<Bson>,
        push: impl Fn(PushOptions<A::Item>) -> PushOptions<A::Item> + Send + Sync + 'static,
    ) -> Recent<M, A> {
        let push = Box::new(push);
        self.order = Some(Arc::new(Order { push, stored }));
        self
    }

    /// Whether the elements to keep are the last.
    fn keeps_end(&self) -> bool {
        match self.order {
            None => !self.newest_first,
            Some(_) => self.keep_end,
        }
    }

    /// The stage that puts elements in the place of those of the same keys.
    fn merge(&self, unique: &str, mut elements: Vec<Bson>) -> odm::Result<Document> {
        // Of those that come with the same key, the one that came last.
        if self.newest_first {
            elements.reverse();
        }
        let mut fresh: Vec<Bson> = Vec::with_capacity(elements.len());
        for element in elements {
            if let Some(key) = key_of(&element, unique) {
                let key = identity(key);
                fresh.retain(|other| key_of(other, unique).is_none_or(|other| identity(other) != key));
            }
            fresh.push(element);
        }
        if self.newest_first {
            fresh.reverse();
        }
        let keys: Vec<Document> = fresh
            .iter()
            .filter_map(|element| Some(doc! { "$literal": key_of(element, unique)? }))
            .collect();
        let others = doc! {
            "$filter": { "input": self.list(), "cond": { "$not": [{ "$in": [variable(unique), keys] }] } },
        };
        let fresh = doc! { "$literal": fresh };
        let all = match self.newest_first {
            true => doc! { "$concatArrays": [fresh, others] },
            false => doc! { "$concatArrays": [others, fresh] },
        };
        Ok(doc! { "$set": { self.path(): self.kept(all)? } })
    }

    fn list(&self) -> Document {
        doc! { "$ifNull": [format!("${}", self.path()), []] }
    }

    /// The list with one element of each key: that which was added last.
    fn distinct(&self) -> Document {
        let Some(unique) = &self.unique else {
            return self.list();
        };
        let keys = match unique.as_str() {
            "" => "$$value".to_owned(),
            path => format!("$$value.{path}"),
        };
        let mut known = doc! { "$in": [variable(unique), keys] };
        if !unique.is_empty() {
            known = doc! { "$and": [has_key(unique), known] };
        }
        let joined = doc! { "$concatArrays": ["$$value", ["$$this"]] };
        let input = match self.newest_first {
            true => self.list(),
            false => doc! { "$reverseArray": self.list() },
        };
        let distinct = doc! {
            "$reduce": { "input": input, "initialValue": [], "in": { "$cond": [known, "$$value", joined] } },
        };
        match self.newest_first {
            true => distinct,
            false => doc! { "$reverseArray": distinct },
        }
    }

    /// These elements in order, and as many as are kept.
    fn kept(&self, all: Document) -> odm::Result<Document> {
        let sorted = match self.order() {
            None => all,
            Some(order) => doc! { "$sortArray": { "input": all, "sortBy": order.clone()? } },
        };
        let slice = i64::from(self.size);
        Ok(doc! { "$slice": [sorted, if self.keeps_end() { -slice } else { slice }] })
    }
}

/// Fails where it is to be stored, so that the update's error names the field.
struct Refused;

impl Serialize for Refused {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(
            "the elements do not fit the array's own serde codec (`as_bson`, `with`), or have no keys behind it",
        ))
    }
}

fn variable(path: &str) -> String {
    match path {
        "" => "$$this".to_owned(),
        path => format!("$$this.{path}"),
    }
}

/// The condition that an element has a key.
pub(super) fn has_key(path: &str) -> Document {
    let key = doc! { "$ifNull": [format!("$$this.{path}"), Bson::Null] };
    doc! { "$ne": [key, Bson::Null] }
}

/// By what an element is known: itself, or what is in a field, where there is something.
fn key_of<'a>(element: &'a Bson, path: &str) -> Option<&'a Bson> {
    match path {
        "" => Some(element),
        path => value_at(element.as_document()?, path).filter(|key| **key != Bson::Null),
    }
}

impl<M, A: ArrayType> Clone for Recent<M, A> {
    fn clone(&self) -> Recent<M, A> {
        Recent {
            field: self.field.clone(),
            size: self.size,
            order: self.order.clone(),
            newest_first: self.newest_first,
            keep_end: self.keep_end,
            unique: self.unique.clone(),
        }
    }
}

impl<M, A: ArrayType> fmt::Debug for Recent<M, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent")
            .field("field", &self.field)
            .field("size", &self.size)
            .field("order", &self.order.as_ref().map(|order| &order.stored))
            .field("newest_first", &self.newest_first)
            .field("keep_end", &self.keep_end)
            .field("unique", &self.unique)
            .finish()
    }
}
