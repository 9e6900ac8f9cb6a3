//! Finding one document with what it refers to.

use std::fmt;

use super::Load;
use super::setters::runs;
use crate::error::Result;
use crate::model::Model;
use crate::relation::{Loads, Relation, With};

/// Finds one document and loads what belongs to it: `.await` gives a tuple or `None`. Round trips: one, and one for
/// each relation.
#[must_use = "an action does nothing until it is awaited"]
pub struct LoadOne<M, P, L> {
    load: Load<M, P, L>,
}

impl<M: Model, P, L> LoadOne<M, P, L> {
    pub(super) fn new(load: Load<M, P, L>) -> LoadOne<M, P, L> {
        LoadOne { load }
    }

    /// Loads what another field refers to, as one more element of the tuple.
    pub fn load<A: Relation<M>>(self, relation: impl FnOnce(M::Fields<M>) -> A) -> LoadOne<M, P, L::Both>
    where
        L: With<A>,
    {
        LoadOne::new(self.load.load(relation))
    }

    /// Loads another relation, as one more element of the tuple.
    pub fn with<A: Relation<M>>(self, relation: A) -> LoadOne<M, P, L::Both>
    where
        L: With<A>,
    {
        LoadOne::new(self.load.with(relation))
    }

    /// Takes a missing document for an error of kind `NotFound`. Missing targets stay `None`.
    pub fn required(self) -> LoadRequired<M, P, L> {
        LoadRequired { load: self.load }
    }
}

impl<M: Model, P: Send + 'static, L: Loads<M>> LoadOne<M, P, L> {
    async fn run(self) -> Result<Option<L::Row<P>>> {
        self.load.run_first().await
    }
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] LoadOne<M, P, L> => Option<L::Row<P>>);

/// Finds one document that must be there, and loads what belongs to it; as [`LoadOne`].
#[must_use = "an action does nothing until it is awaited"]
pub struct LoadRequired<M, P, L> {
    load: Load<M, P, L>,
}

impl<M: Model, P: Send + 'static, L: Loads<M>> LoadRequired<M, P, L> {
    async fn run(self) -> Result<L::Row<P>> {
        let wanted = self.load.wanted();
        self.load.run_first().await?.ok_or_else(|| wanted.missing())
    }
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] LoadRequired<M, P, L> => L::Row<P>);

impl<M, P, L> fmt::Debug for LoadOne<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadOne").field(&self.load).finish()
    }
}

impl<M, P, L> fmt::Debug for LoadRequired<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadRequired").field(&self.load).finish()
    }
}
