//! References that two documents hold to each other.

use std::collections::{BTreeSet, HashSet, LinkedList, VecDeque};

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, rawdoc};
use serde::Serialize;

use super::comparing;
use super::doom::update_of;
use super::identity::Identity;
use super::place::{Release, Step, container, names, one, referring, releasing};
use super::plan::{and, name};
use super::reference::Ref;
use super::shape::Searchable;
use super::sought::Sought;
use super::stored::{Steps, elements, malformed};
use crate::backend::{Modification, Operation};
use crate::codec;
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Scope, Settings, narrow, narrow_kind};
use crate::model::{Field, Model};
use crate::schema::{DeclaredRelation, MakeLink};

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

/// A field's type that can hold one side of a link: what is [two-way](TwoWayReference) by itself, and a `Ref<T>` inside
/// of an embedded document that an array or a map holds for each link.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be one side of a two-way reference",
    label = "not a reference by `_id`",
    note = "both sides hold `_id`s: `Option<Ref<T>>`, `Vec<Ref<T>>` or a set of `Ref<T>`; `Ref<T>` in the elements of an array"
)]
pub trait LinkedReference: Searchable {
    /// What is referred to.
    type Target: Model;
}

impl<X: TwoWayReference> LinkedReference for X {
    type Target = <X as TwoWayReference>::Target;
}

impl<T: Model> LinkedReference for Ref<T> {
    type Target = T;
}

/// The path of a field that refers back to `C`.
#[doc(hidden)]
pub fn partner<C, T, X: LinkedReference<Target = C>>(field: &Field<T, X>) -> String {
    field.path().declared()
}

/// The stored embedded document that a function makes of a stored reference.
///
/// # Errors
/// A reference or document that cannot be decoded or encoded.
#[doc(hidden)]
pub fn link_element<T: Model, E: Serialize>(
    key: RawBsonRef<'_>,
    make: impl FnOnce(Ref<T>) -> E,
) -> Result<RawBson> {
    let reference: Ref<T> = codec::decode_value(key)?;
    codec::encode_value(&make(reference))
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
    field: &'static str,
    /// The field's way, which ends with an array of the references themselves, if it is one.
    steps: Vec<Step>,
    /// Makes what an array or a map of embedded documents holds for a link.
    make: Option<MakeLink>,
}

/// What a side was found to hold.
struct Held {
    keys: Vec<RawBson>,
    /// Whether the embedded document is there that the reference stands in.
    has_place: bool,
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
            near: Side::of(relation, target.clone()),
            far: Side::of(&other, (model.open)(target, None, model.collection)?),
        }))
    }

    /// Makes or undoes the link of two documents; whether something was to be done.
    ///
    /// The side that holds one reference is the one that counts, and is written first: the lists follow it, here and
    /// in [`repair`](TwoWay::repair).
    pub(crate) async fn relink(&self, near: &RawBson, far: &RawBson, how: Relink) -> Result<bool> {
        let (one, other, a, b) = match self.near.is_list() && !self.far.is_list() {
            true => (&self.far, &self.near, far, near),
            false => (&self.near, &self.far, near, far),
        };
        if how == Relink::Unlink {
            one.check_seen(a, other).await?;
            other.check_seen(b, one).await?;
            let first = one.detach(a, b).await?;
            return Ok(other.detach(b, a).await? || first);
        }
        let (held_by_a, held_by_b) = (one.read(a).await?, other.read(b).await?);
        let in_the_way = |side: &Side, held: &Held, wanted: &RawBson| match side.is_list() {
            true => None,
            false => held.keys.first().filter(|held| !same(held, wanted)).cloned(),
        };
        let old_b = in_the_way(one, &held_by_a, b);
        let old_a = in_the_way(other, &held_by_b, a);
        if how == Relink::Link && (old_a.is_some() || old_b.is_some()) {
            let text = "the document is linked to another one; reassign it";
            let side = if old_b.is_some() { one } else { other };
            return Err(side.error(ErrorKind::Conflict, text, "update"));
        }
        for (side, held) in [(one, &held_by_a), (other, &held_by_b)] {
            if !held.has_place {
                let text = "the embedded document that is to hold the reference is not there";
                return Err(side.error(ErrorKind::NotFound, text, "find"));
            }
        }
        one.can_hold(b)?;
        other.can_hold(a)?;
        if let Some(old_b) = &old_b {
            other.check_seen(old_b, one).await?;
        }
        if let Some(old_a) = &old_a {
            one.check_seen(old_a, other).await?;
        }
        if let Some(old_a) = &old_a {
            if let Some(old_b) = &old_b {
                other.detach(old_b, a).await?;
            }
            one.detach(old_a, b).await?;
        }
        let first = one.attach(a, b, old_b.as_ref(), &held_by_a).await?;
        let second = other.attach(b, a, old_a.as_ref(), &held_by_b).await?;
        if let (Some(old_b), None) = (&old_b, &old_a) {
            other.detach(old_b, a).await?;
        }
        Ok(first || second)
    }

    /// Whether a document on the other side holds the key.
    pub(super) fn is_held(&self, far: &RawDocument, key: RawBsonRef<'_>) -> Result<bool> {
        Ok(self.far.held(far)?.holds(key))
    }

    /// The write that repairs a link of which only the near side is there; none where the other side has no place
    /// for it.
    pub(super) fn repair(
        &self,
        near: &RawBson,
        far: &RawBson,
        stored: &RawDocument,
    ) -> Result<Option<(Target, Operation)>> {
        let held = self.far.held(stored)?;
        let completes = match (self.near.is_list(), self.far.is_list()) {
            (true, true) | (false, true) => true,
            (true, false) => false,
            (false, false) => held.keys.is_empty(),
        };
        let (side, operation) = match completes {
            true if !held.has_place || self.far.can_hold(near).is_err() => return Ok(None),
            true => (&self.far, self.far.attaching(far, near, None)?),
            false => (&self.near, self.near.detaching(near, far)?),
        };
        Ok(Some((side.target.clone(), operation)))
    }
}

impl Held {
    fn holds(&self, key: RawBsonRef<'_>) -> bool {
        let key = Identity::of(key);
        let mut keys = self.keys.iter();
        keys.any(|held| Identity::of(held.as_raw_bson_ref()) == key)
    }
}

impl Side {
    fn of(relation: &DeclaredRelation, target: Target) -> Side {
        Side {
            target,
            field: relation.stored,
            steps: relation.steps(),
            make: relation.relation.link,
        }
    }

    /// Whether it can hold several references.
    fn is_list(&self) -> bool {
        container(&self.steps).is_some()
    }

    /// Whether a link to the document can be stored here.
    ///
    /// # Errors
    /// `InvalidArgument` for a map, and an `_id` that cannot be the name of a field.
    fn can_hold(&self, key: &RawBson) -> Result<()> {
        match container(&self.steps).map(|last| &self.steps[last]) {
            Some(Step::Values) => entry(key).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The field of the document that the references are in.
    pub(super) fn root(&self) -> &'static str {
        self.field.split('.').next().unwrap_or(self.field)
    }

    /// What must be a document for the reference to have a place: what it is nested in, outside of arrays and maps.
    fn parent(&self) -> Vec<&str> {
        let outer = container(&self.steps).unwrap_or(self.steps.len());
        let mut names = names(&self.steps[..outer]);
        names.pop();
        names
    }

    /// What a stored document holds.
    fn held(&self, document: &RawDocument) -> Result<Held> {
        let mut keys = Vec::new();
        Steps::declared(self.field).each(document, &mut |value| flatten(value, &mut keys))?;
        let parent = self.parent();
        let has_place = match parent.is_empty() {
            true => true,
            false => matches!(
                Steps::dotted(&parent.join(".")).one(document)?,
                Some(RawBsonRef::Document(_))
            ),
        };
        Ok(Held { keys, has_place })
    }

    async fn read(&self, id: &RawBson) -> Result<Held> {
        self.read_of(id, Scope::LIVING).await
    }

    async fn read_of(&self, id: &RawBson, scope: Scope) -> Result<Held> {
        let mut projection = rawdoc! { "_id": 1 };
        projection.append(name(self.root())?, 1);
        let filter = rawdoc! { "_id": { "$eq": id.clone() } };
        let mut find = Operation::Find(super::fetch::find(
            &self.target,
            filter,
            Some(projection),
            Some(1),
        ));
        if let Some(plan) = self.target.plan() {
            narrow(plan, &mut find, scope)?;
        }
        let cursor = self.target.execute(find).await?.cursor()?;
        let found = cursor::first(&self.target, "find", cursor, |document| Ok(document.to_owned())).await?;
        match found {
            // By the collection's collation another `_id` may be found.
            Some(document) if is_of(&document, id)? => self.held(&document),
            _ => {
                let error = Error::new(
                    ErrorKind::NotFound,
                    "one of the documents to be linked is not there",
                );
                let error = error.with_id(bson::Bson::try_from(id.as_raw_bson_ref()).map_err(malformed)?);
                Err(self.target.explain(error, "find"))
            }
        }
    }

    /// That what a document of the other side is linked to is seen, where that one is shared by tenants, whose documents
    /// these are: another tenant's would be left with its half of the link.
    ///
    /// # Errors
    /// `Tenant`.
    async fn check_seen(&self, id: &RawBson, other: &Side) -> Result<()> {
        if other.target.is_owned() || self.target.confinement()?.is_none() {
            return Ok(());
        }
        match self.read_of(id, Scope::ALL).await {
            Err(error) if error.is_not_found() => {
                let text = "tenants share the document, and what it is linked to may be another tenant's: take \
                            `across_tenants()`";
                Err(other.error(ErrorKind::Tenant, text, "update"))
            }
            read => read.map(drop),
        }
    }

    /// Lets the document refer to the key, if it refers to nothing else, or still to what it was seen to.
    fn attaching(&self, id: &RawBson, key: &RawBson, old: Option<&RawBson>) -> Result<Operation> {
        let mut filter = rawdoc! { "_id": { "$eq": id.clone() } };
        let parent = self.parent();
        if !parent.is_empty() {
            filter.append(name(&parent.join("."))?, rawdoc! { "$type": "object" });
        }
        let change = match container(&self.steps) {
            None => {
                let mut from = RawArrayBuf::new();
                from.push(RawBson::Null);
                from.push(key.clone());
                if let Some(old) = old {
                    from.push(old.clone());
                }
                filter.append(name(self.field)?, rawdoc! { "$in": from });
                rawdoc! { "$set": one(self.field, key.clone())? }
            }
            Some(last) => {
                let outer = names(&self.steps[..last]).join(".");
                let element = match self.make {
                    Some(make) => make(key.as_raw_bson_ref())?,
                    None => key.clone(),
                };
                match &self.steps[last] {
                    Step::Values => {
                        let entry = format!("{outer}.{}", entry(key)?);
                        filter.append(name(&entry)?, rawdoc! { "$exists": false });
                        rawdoc! { "$set": one(&entry, element)? }
                    }
                    _ if self.make.is_none() => rawdoc! { "$addToSet": one(&outer, element)? },
                    _ => {
                        filter.append(name(self.field)?, rawdoc! { "$ne": key.clone() });
                        rawdoc! { "$push": one(&outer, element)? }
                    }
                }
            }
        };
        let change = Modification::Operators(change);
        let keys = RawArrayBuf::from_iter([Some(key), old].into_iter().flatten().cloned());
        let collation = comparing::for_keys(&keys);
        Ok(update_of(&self.target, filter, change, false, collation))
    }

    fn detaching(&self, id: &RawBson, key: &RawBson) -> Result<Operation> {
        let mut keys = RawArrayBuf::new();
        keys.push(key.clone());
        let sought = Sought::by(keys);
        let filter = rawdoc! { "_id": { "$eq": id.clone() } };
        let filter = and(vec![filter, referring(&self.steps, &sought)?]);
        let how = match self.is_list() {
            true => Release::TakeOut,
            false => Release::Null,
        };
        let compared = RawArrayBuf::from_iter([id, key].map(RawBson::clone));
        let collation = comparing::for_keys(&compared);
        let change = releasing(&self.steps, &sought, how)?;
        Ok(update_of(&self.target, filter, change, false, collation))
    }

    async fn attach(&self, id: &RawBson, key: &RawBson, old: Option<&RawBson>, held: &Held) -> Result<bool> {
        if self.is_list() && held.holds(key.as_raw_bson_ref()) {
            return Ok(false);
        }
        let (matched, modified) = self.write(self.attaching(id, key, old)?).await?;
        if matched == 0 {
            let text = "the document was changed while it was linked";
            return Err(self.error(ErrorKind::Conflict, text, "update"));
        }
        Ok(modified > 0)
    }

    async fn detach(&self, id: &RawBson, key: &RawBson) -> Result<bool> {
        Ok(self.write(self.detaching(id, key)?).await?.1 > 0)
    }

    async fn write(&self, mut operation: Operation) -> Result<(u64, u64)> {
        if let Some(plan) = self.target.plan() {
            narrow_kind(plan, &mut operation)?;
        }
        let result = self.target.write(operation, Settings::default()).await?.write()?;
        match result.errors.into_iter().next() {
            Some((_, error)) => Err(self.target.explain(error, "update")),
            None => Ok((result.summary.matched, result.summary.modified)),
        }
    }

    fn error(&self, kind: ErrorKind, text: &'static str, operation: &'static str) -> Error {
        let error = Error::new(kind, text).with_path(self.field);
        self.target.explain(error, operation)
    }
}

/// Adds the references in a field's value.
fn flatten(value: RawBsonRef<'_>, keys: &mut Vec<RawBson>) -> Result<()> {
    match value {
        RawBsonRef::Null => Ok(()),
        RawBsonRef::Array(array) => elements(array, &mut |element| flatten(element, keys)),
        key => {
            keys.push(key.into());
            Ok(())
        }
    }
}

/// Under which key a map holds the link to a document.
fn entry(key: &RawBson) -> Result<String> {
    let text = match key {
        RawBson::ObjectId(id) => id.to_hex(),
        RawBson::String(text) => text.clone(),
        RawBson::Int32(number) => number.to_string(),
        RawBson::Int64(number) => number.to_string(),
        _ => String::new(),
    };
    match text.is_empty() || text.starts_with('$') || text.contains(['.', '\0']) {
        false => Ok(text),
        true => {
            let text = "a map holds a link under the `_id` of the other document, which cannot be the name of a field";
            Err(Error::new(ErrorKind::InvalidArgument, text))
        }
    }
}

fn is_of(document: &RawDocument, id: &RawBson) -> Result<bool> {
    let stored = document.get("_id").map_err(malformed)?;
    Ok(stored.map(Identity::of) == Some(Identity::of(id.as_raw_bson_ref())))
}

fn same(one: &RawBson, other: &RawBson) -> bool {
    Identity::of(one.as_raw_bson_ref()) == Identity::of(other.as_raw_bson_ref())
}
