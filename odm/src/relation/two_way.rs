//! References that two documents hold to each other.

use std::collections::{BTreeSet, HashSet, LinkedList, VecDeque};

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::doom::update_of;
use super::identity::Identity;
use super::plan::name;
use super::reference::Ref;
use super::shape::Searchable;
use super::stored::malformed;
use crate::backend::Operation;
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Scope, Settings, narrow};
use crate::model::{Field, Model};
use crate::schema::{DeclaredRelation, RelationKind};

/// A field's type that can be one side of a two-way reference: `Option<Ref<T>>`, or a list or set of `Ref<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be one side of a two-way reference",
    label = "not an option or a list of references by `_id`",
    note = "both sides can be empty and hold `_id`s: `Option<Ref<T>>`, `Vec<Ref<T>>` or a set of `Ref<T>`"
)]
pub trait TwoWayReference: Searchable {
    /// What is referred to.
    type Target: Model;
}

impl<T: Model> TwoWayReference for Option<Ref<T>> {
    type Target = T;
}

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty;)*) => {$(
        impl<T: Model, $($generics)*> TwoWayReference for $list {
            type Target = T;
        }
    )*};
}

lists! {
    [] Vec<Ref<T>>;
    [] VecDeque<Ref<T>>;
    [] LinkedList<Ref<T>>;
    [] BTreeSet<Ref<T>>;
    [S] HashSet<Ref<T>, S>;
}

/// The path of a field that refers back to `C`.
#[doc(hidden)]
pub fn partner<C, T, X: TwoWayReference<Target = C>>(field: &Field<T, X>) -> String {
    field.path().to_string()
}

/// Both sides of a two-way reference, seen from one.
#[derive(Clone, Debug)]
pub(crate) struct TwoWay {
    near: Side,
    pub(super) far: Side,
}

/// One side: where its documents are, and which of their fields refers.
#[derive(Clone, Debug)]
pub(super) struct Side {
    target: Target,
    pub(super) field: &'static str,
    is_list: bool,
}

/// What becomes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relink {
    /// It is made, unless a side that holds one reference holds another.
    Link,
    /// It is made, and what stands in its way is let go.
    Reassign,
    /// It is undone.
    Unlink,
}

impl TwoWay {
    /// Nothing for a reference that is not two-way.
    ///
    /// # Errors
    /// `Schema` when the other side does not name this one.
    pub(crate) fn of(relation: &DeclaredRelation, target: &Target) -> Result<Option<TwoWay>> {
        let targets = (relation.relation.targets)();
        let (Some(partner), [model]) = (relation.relation.two_way, targets.as_slice()) else {
            return Ok(None);
        };
        let partner = partner();
        let other = model.relations().find(|other| other.stored == partner);
        let other = other.filter(|other| {
            other
                .relation
                .two_way
                .is_some_and(|back| back() == relation.stored)
        });
        let Some(other) = other else {
            let text = "the other side of a two-way reference does not name this one";
            let error = Error::new(ErrorKind::Schema, text).with_model(relation.model.name);
            return Err(error.with_path(relation.stored));
        };
        Ok(Some(TwoWay {
            near: Side {
                target: target.clone(),
                field: relation.stored,
                is_list: relation.relation.kind == RelationKind::Many,
            },
            far: Side {
                target: (model.open)(target, None, model.collection)?,
                field: other.stored,
                is_list: other.relation.kind == RelationKind::Many,
            },
        }))
    }

    /// Makes or undoes the link of two documents; whether something was to be done.
    ///
    /// The side that holds one reference is the one that counts, and is written first: the lists follow it, here and
    /// in [`repair`](TwoWay::repair).
    pub(crate) async fn relink(&self, near: &RawBson, far: &RawBson, how: Relink) -> Result<bool> {
        let (one, other, a, b) = match self.near.is_list && !self.far.is_list {
            true => (&self.far, &self.near, far, near),
            false => (&self.near, &self.far, near, far),
        };
        if how == Relink::Unlink {
            let first = one.detach(a, b).await?;
            return Ok(other.detach(b, a).await? || first);
        }
        let (held_by_a, held_by_b) = (one.read(a).await?, other.read(b).await?);
        let in_the_way = |side: &Side, held: &[RawBson], wanted: &RawBson| match side.is_list {
            true => None,
            false => held.first().filter(|held| !same(held, wanted)).cloned(),
        };
        let old_b = in_the_way(one, &held_by_a, b);
        let old_a = in_the_way(other, &held_by_b, a);
        if how == Relink::Link && (old_a.is_some() || old_b.is_some()) {
            let text = "the document is linked to another one; reassign it";
            let side = if old_b.is_some() { one } else { other };
            return Err(side.target.explain(
                Error::new(ErrorKind::Conflict, text).with_path(side.field),
                "update",
            ));
        }
        if let Some(old_a) = &old_a {
            if let Some(old_b) = &old_b {
                other.detach(old_b, a).await?;
            }
            one.detach(old_a, b).await?;
        }
        let first = one.attach(a, b, old_b.as_ref()).await?;
        let second = other.attach(b, a, old_a.as_ref()).await?;
        if let (Some(old_b), None) = (&old_b, &old_a) {
            other.detach(old_b, a).await?;
        }
        Ok(first || second)
    }

    /// Whether a document on the other side holds the key.
    pub(super) fn is_held(&self, far: &RawDocument, key: RawBsonRef<'_>) -> Result<bool> {
        let key = Identity::of(key);
        Ok(self
            .far
            .held(far)?
            .iter()
            .any(|held| Identity::of(held.as_raw_bson_ref()) == key))
    }

    /// The write that repairs a link of which only the near side is there.
    pub(super) fn repair(
        &self,
        near: &RawBson,
        far: &RawBson,
        stored: &RawDocument,
    ) -> Result<(Target, Operation)> {
        let completes = match (self.near.is_list, self.far.is_list) {
            (true, true) | (false, true) => true,
            (true, false) => false,
            (false, false) => self.far.held(stored)?.is_empty(),
        };
        let (side, operation) = match completes {
            true => (&self.far, self.far.attaching(far, near, None)?),
            false => (&self.near, self.near.detaching(near, far)?),
        };
        Ok((side.target.clone(), operation))
    }
}

impl Side {
    /// What a stored document holds in the field.
    fn held(&self, document: &RawDocument) -> Result<Vec<RawBson>> {
        Ok(match document.get(self.field).map_err(malformed)? {
            None | Some(RawBsonRef::Null) => Vec::new(),
            Some(RawBsonRef::Array(all)) => {
                let all = all
                    .into_iter()
                    .map(|held| held.map(RawBson::from).map_err(malformed));
                all.collect::<Result<_>>()?
            }
            Some(held) => vec![held.into()],
        })
    }

    async fn read(&self, id: &RawBson) -> Result<Vec<RawBson>> {
        let mut projection = rawdoc! { "_id": 1 };
        projection.append(name(self.field)?, 1);
        let filter = rawdoc! { "_id": { "$eq": id.clone() } };
        let mut find = Operation::Find(super::fetch::find(
            &self.target,
            filter,
            Some(projection),
            Some(1),
        ));
        if let Some(plan) = self.target.plan() {
            narrow(plan, &mut find, Scope::Living)?;
        }
        let cursor = self.target.execute(find).await?.cursor()?;
        let found = cursor::first(&self.target, "find", cursor, |document| Ok(document.to_owned())).await?;
        match found {
            Some(document) => self.held(&document),
            None => {
                let error = Error::new(
                    ErrorKind::NotFound,
                    "one of the documents to be linked is not there",
                );
                let error = error.with_id(bson::Bson::try_from(id.as_raw_bson_ref()).map_err(malformed)?);
                Err(self.target.explain(error, "find"))
            }
        }
    }

    /// Lets the document refer to the key, if it refers to nothing else, or still to what it was seen to.
    fn attaching(&self, id: &RawBson, key: &RawBson, old: Option<&RawBson>) -> Result<Operation> {
        let mut filter = rawdoc! { "_id": { "$eq": id.clone() } };
        let mut change = RawDocumentBuf::new();
        change.append(name(self.field)?, key.clone());
        if self.is_list {
            return Ok(update_of(
                &self.target,
                filter,
                rawdoc! { "$addToSet": change },
                false,
            ));
        }
        let mut from = RawArrayBuf::new();
        from.push(RawBson::Null);
        from.push(key.clone());
        if let Some(old) = old {
            from.push(old.clone());
        }
        filter.append(name(self.field)?, rawdoc! { "$in": from });
        Ok(update_of(&self.target, filter, rawdoc! { "$set": change }, false))
    }

    fn detaching(&self, id: &RawBson, key: &RawBson) -> Result<Operation> {
        let mut keys = RawArrayBuf::new();
        keys.push(key.clone());
        let held = rawdoc! { "$in": keys };
        let mut filter = rawdoc! { "_id": { "$eq": id.clone() } };
        filter.append(name(self.field)?, held.clone());
        let mut change = RawDocumentBuf::new();
        let operators = match self.is_list {
            true => {
                change.append(name(self.field)?, held);
                rawdoc! { "$pull": change }
            }
            false => {
                change.append(name(self.field)?, RawBson::Null);
                rawdoc! { "$set": change }
            }
        };
        Ok(update_of(&self.target, filter, operators, false))
    }

    async fn attach(&self, id: &RawBson, key: &RawBson, old: Option<&RawBson>) -> Result<bool> {
        let (matched, modified) = self.write(self.attaching(id, key, old)?).await?;
        if matched == 0 {
            let text = "the document was changed while it was linked";
            return Err(self.target.explain(
                Error::new(ErrorKind::Conflict, text).with_path(self.field),
                "update",
            ));
        }
        Ok(modified > 0)
    }

    async fn detach(&self, id: &RawBson, key: &RawBson) -> Result<bool> {
        Ok(self.write(self.detaching(id, key)?).await?.1 > 0)
    }

    async fn write(&self, operation: Operation) -> Result<(u64, u64)> {
        let result = self.target.write(operation, Settings::default()).await?.write()?;
        match result.errors.into_iter().next() {
            Some((_, error)) => Err(self.target.explain(error, "update")),
            None => Ok((result.summary.matched, result.summary.modified)),
        }
    }
}

fn same(one: &RawBson, other: &RawBson) -> bool {
    Identity::of(one.as_raw_bson_ref()) == Identity::of(other.as_raw_bson_ref())
}
