//! Setters that many actions share.

use std::time::Duration;

use bson::{Document, RawBson};

use crate::collection::encode;
use crate::error::{Error, ErrorKind, Result};
use crate::query::Sort;

/// An index for an action to use: its name (`"title_1"`), or its keys, typed (`Book::fields().title.asc()`) or
/// raw (`doc! {"title": 1}`).
#[derive(Clone, Debug)]
pub struct Hint(Result<RawBson>);

impl From<&str> for Hint {
    fn from(name: &str) -> Hint {
        Hint(Ok(RawBson::String(name.to_owned())))
    }
}

impl From<String> for Hint {
    fn from(name: String) -> Hint {
        Hint(Ok(RawBson::String(name)))
    }
}

impl From<Document> for Hint {
    fn from(keys: Document) -> Hint {
        Hint(encode::raw(keys).map(RawBson::Document))
    }
}

impl<M> From<Sort<M>> for Hint {
    fn from(keys: Sort<M>) -> Hint {
        Hint(keys.to_document().map(RawBson::Document))
    }
}

impl Hint {
    pub(crate) fn encode(self) -> Result<RawBson> {
        self.0
    }
}

/// A limit of time that is not over yet.
pub(super) fn time(limit: Duration) -> Result<Duration> {
    match limit.is_zero() {
        true => {
            let text = "the time limit was over before the operation began";
            Err(Error::new(ErrorKind::Timeout, text).with_code(MAX_TIME_EXPIRED))
        }
        false => Ok(limit),
    }
}

const MAX_TIME_EXPIRED: i32 = 50;

/// The setters named, on an action whose `draft.operation` has the place.
macro_rules! setters {
    ([$($generics:tt)*] $action:ty: $($setter:ident $(in $place:ident)?),* $(,)?) => {
        impl<$($generics)*> $action {
            $(setters!(@ $setter $($place)?);)*
        }
    };
    (@ scope) => {
        /// Softly deleted documents too. Says nothing where the model has no `#[odm(soft_delete)]`.
        pub fn with_deleted(mut self) -> Self {
            self.draft.settings.scope.life = crate::lifecycle::Life::All;
            self
        }

        /// Only softly deleted documents. Says nothing where the model has no `#[odm(soft_delete)]`.
        pub fn only_deleted(mut self) -> Self {
            self.draft.settings.scope.life = crate::lifecycle::Life::Deleted;
            self
        }

        /// Also documents that the model's `#[odm(scope = ..)]` leaves out. Says nothing where the model has none.
        pub fn unscoped(mut self) -> Self {
            self.draft.settings.scope.is_lifted = true;
            self
        }
    };
    (@ timeless) => {
        /// Leaves the dates of `#[odm(created)]` and `#[odm(updated)]` as they are given or stored.
        pub fn without_timestamps(mut self) -> Self {
            self.draft.settings.timeless = true;
            self
        }
    };
    (@ comment) => {
        /// A text for the server's log and profiler.
        pub fn comment(mut self, comment: impl Into<String>) -> Self {
            self.draft.operation.options.comment = Some(comment.into());
            self
        }
    };
    (@ max_time) => {
        /// How long the operation may take on the server, in milliseconds, of which a part counts for a whole one. When
        /// there is no time left, as a deadline in the past gives it, it ends with the kind `Timeout` before anything is
        /// sent. More than 24 days are no limit.
        pub fn max_time(mut self, time: std::time::Duration) -> Self {
            self.draft.operation.options.max_time = self.draft.keep(crate::action::setters::time(time));
            self
        }
    };
    (@ variables) => {
        /// Variables for expressions, as `$$name`: MongoDB's `let`.
        pub fn variables(mut self, variables: impl Into<crate::codec::Raw>) -> Self {
            let variables = self.draft.keep(crate::collection::encode::raw(variables));
            self.draft.operation.options.variables = variables;
            self
        }
    };
    (@ hint) => {
        /// Makes the backend use this index, given by its name or its keys.
        pub fn hint(mut self, hint: impl Into<crate::action::Hint>) -> Self {
            self.draft.operation.options.hint = self.draft.keep(hint.into().encode());
            self
        }
    };
    (@ collation) => {
        /// How strings compare, in MongoDB's words: `{locale: "en", strength: 2}`.
        pub fn collation(mut self, collation: impl Into<crate::codec::Raw>) -> Self {
            self.draft.operation.options.collation = self.draft.keep(crate::collection::encode::raw(collation));
            self
        }
    };
    (@ hint statement) => {
        /// Makes the backend use this index, given by its name or its keys.
        pub fn hint(mut self, hint: impl Into<crate::action::Hint>) -> Self {
            let hint = self.draft.keep(hint.into().encode());
            for statement in &mut self.draft.operation.statements {
                statement.hint = hint.clone();
            }
            self
        }
    };
    (@ collation statement) => {
        /// How strings compare, in MongoDB's words: `{locale: "en", strength: 2}`.
        pub fn collation(mut self, collation: impl Into<crate::codec::Raw>) -> Self {
            let collation = self.draft.keep(crate::collection::encode::raw(collation));
            for statement in &mut self.draft.operation.statements {
                statement.collation = collation.clone();
            }
            self
        }
    };
}

/// Makes an action run by `.await`: boxes the future of its method `run`.
macro_rules! runs {
    ([$($generics:tt)*] $action:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $action {
            type Output = crate::error::Result<$output>;
            type IntoFuture = futures_core::future::BoxFuture<'static, crate::error::Result<$output>>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    };
}

/// The setters that load another relation beside those in the place named, each as one more element of the tuple.
macro_rules! loads_more {
    ($action:ident, $source:ident, $relation:ident, $pick:ident, $given:ident, $verb:literal) => {
        impl<M: Model, P, L> $action<M, P, L> {
            #[doc = concat!($verb, " what another field refers to, as one more element of the tuple.")]
            pub fn $pick<A: $relation<M>>(
                self,
                relation: impl FnOnce(M::Fields<M>) -> A,
            ) -> $action<M, P, L::Both>
            where
                L: With<A>,
            {
                self.$given(relation(M::fields()))
            }

            #[doc = concat!($verb, " another relation, as one more element of the tuple.")]
            pub fn $given<A: $relation<M>>(self, relation: A) -> $action<M, P, L::Both>
            where
                L: With<A>,
            {
                $action {
                    $source: self.$source,
                    relations: self.relations.and(relation),
                }
            }
        }
    };
}

pub(crate) use {loads_more, runs, setters};
