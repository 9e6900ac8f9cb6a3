//! Typed ObjectIds.

use std::marker::PhantomData;

use bson::oid::ObjectId;

/// The ObjectId of a document of model `M`.
pub struct Id<M> {
    id: ObjectId,
    marker: PhantomData<fn() -> M>,
}

impl<M> Id<M> {
    /// The untyped ObjectId.
    pub fn object_id(&self) -> ObjectId {
        self.id
    }
}
