//! Linking documents that refer to each other.

use bson::RawBson;

use super::setters::runs;
use crate::codec;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Model};
use crate::query::Operand;
use crate::relation::{LinkedReference, Ref, Relink, TwoWay};
use crate::schema::ModelDescriptor;

/// Makes or undoes the link of two documents, on both sides: `.await` says whether anything was to be done.
///
/// Where the backend has transactions, all of it is one, or part of the one that is running. Elsewhere the side that
/// holds one reference is written first, and what is left after an interruption is found by
/// [`verify_relations`](crate::Collection::verify_relations) and repaired.
///
/// The other side is in its model's own collection, so that both are: in a collection named at run time it is an error
/// of kind `InvalidArgument`.
///
/// Cost: two reads, and one write for each side that changes. To unlink is one write for each side, and a read where a
/// tenant unlinks from a document that tenants share.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct LinkDocuments {
    model: &'static ModelDescriptor,
    target: Target,
    /// The path of the field.
    field: String,
    ids: Result<(RawBson, RawBson)>,
    how: Relink,
}

impl LinkDocuments {
    pub(crate) fn new<M: Model, X: LinkedReference>(
        target: &Target,
        id: impl Operand<M::Key>,
        field: &Field<M, X>,
        other: impl Operand<<X::Target as Model>::Key>,
        how: Relink,
    ) -> LinkDocuments {
        LinkDocuments {
            model: M::DESCRIPTOR,
            target: target.clone(),
            field: field.path().declared(),
            ids: key_of::<M>(id).and_then(|id| Ok((id, key_of::<X::Target>(other)?))),
            how,
        }
    }

    async fn run(self) -> Result<bool> {
        let target = &self.target;
        let explain = |error| target.explain(error, "update");
        if let Some(failure) = target.failure() {
            return Err(explain(failure));
        }
        let own = &target.namespace().collection;
        if own != self.model.collection {
            let text = format!(
                "a link is of documents in the collections of their models, and `{own}` is not `{}`",
                self.model.collection
            );
            let error = Error::new(ErrorKind::InvalidArgument, text);
            return Err(explain(error.with_path(self.field)));
        }
        let (near, far) = self.ids.map_err(explain)?;
        let declared = self
            .model
            .relations()
            .find(|relation| relation.stored == self.field);
        let declared = declared.filter(|relation| relation.relation.two_way.is_some());
        let Some(declared) = declared else {
            let text = "the reference is not declared to be two-way";
            return Err(explain(
                Error::new(ErrorKind::InvalidArgument, text).with_path(self.field),
            ));
        };
        let db = target.db();
        if db.guard().is_some() || !db.capabilities().transactions {
            let Some(two_way) = TwoWay::of(&declared, target)? else {
                return Ok(false);
            };
            return two_way.relink(&near, &far, self.how).await;
        }
        let (declared, near, far, how) = (&declared, &near, &far, self.how);
        db.transaction(|tx| {
            let target = target.within(tx.executor());
            async move {
                let Some(two_way) = TwoWay::of(declared, &target)? else {
                    return Ok(false);
                };
                two_way.relink(near, far, how).await
            }
        })
        .await
    }
}

runs!([] LinkDocuments => bool);

/// An `_id` as it is stored, which is how references hold it.
fn key_of<M: Model>(id: impl Operand<M::Key>) -> Result<RawBson> {
    id.with_operand(|id| codec::encode_value(&Ref::<M>::new(id.clone())))
}
