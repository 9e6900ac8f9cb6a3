//! What is done once.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use odm::bson::Document;
use odm::{Db, Filter, Model};
use serde::Serialize;

use super::each::{Batched, Each, Options};
use super::error::StepError;
use super::progress::Progress;
use super::record::{StepKind, StepRecord, StepState};
use crate::idempotency::fingerprint;

type Plain = Arc<dyn Fn(Db) -> BoxFuture<'static, Result<(), StepError>> + Send + Sync>;
type Resumable = Arc<dyn Fn(Progress) -> BoxFuture<'static, Result<(), StepError>> + Send + Sync>;

/// What runs.
#[derive(Clone)]
pub(super) enum Action {
    Plain(Plain),
    Resumable(Resumable),
    Batched(Arc<dyn Batched>),
}

/// When a step runs again that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    /// When its fingerprint is another one.
    OnChange,
    EveryTime,
}

/// A step: what is done, and how it is undone.
#[derive(Clone)]
#[must_use]
pub struct Step {
    pub(super) id: String,
    pub(super) up: Action,
    pub(super) down: Option<Action>,
    pub(super) description: Option<String>,
    pub(super) fingerprint: Option<odm::Result<String>>,
    pub(super) is_transactional: bool,
    pub(super) again: Again,
    pub(super) options: Options,
}

impl Step {
    /// A step that a function does.
    ///
    /// A function, an async closure that captures nothing, or a closure that gives an `async move` block.
    ///
    /// It happens at least once: after a crash it is called again from its beginning, so it must be idempotent, or
    /// [`transactional`](Step::transactional).
    pub fn new<F, Fut>(id: impl Into<String>, action: F) -> Step
    where
        F: Fn(Db) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), StepError>> + Send + 'static,
    {
        Step::of(id, plain(action))
    }

    /// A step that says itself how far it is, by [`Progress::save`], and goes on from there after a crash.
    ///
    /// It must be idempotent from the position that it saved last.
    pub fn resumable<F, Fut>(id: impl Into<String>, action: F) -> Step
    where
        F: Fn(Progress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), StepError>> + Send + 'static,
    {
        Step::of(
            id,
            Action::Resumable(Arc::new(move |progress| Box::pin(action(progress)))),
        )
    }

    /// A step that changes the documents of a model that a filter finds, in the order of their `_id`s, a batch at a time.
    /// After a crash it goes on behind the last batch.
    ///
    /// The function changes a document as it is stored, whatever its shape; one that it leaves as it is is not written.
    /// What it changed is stored by an update of the top-level fields that are different, if the document still is what
    /// was read; one that somebody changed in between is read again, and left alone where the filter does not find it any
    /// more. The documents are those of the model's kind, softly deleted ones too, and each is changed as an update of the
    /// model does: its version is counted, and what is derived or copied from it follows.
    ///
    /// The documents of the last batch before a crash may come again: let the function leave alone what it has changed, or
    /// the filter not find it; or make the step [`transactional`](Step::transactional), so that each batch and its position
    /// are one transaction. What others insert before the position while the step runs is not seen: let those who write
    /// write the new shape before the step runs.
    ///
    /// A document that cannot be changed makes the step fail, and is named by the error; so does one at which the function
    /// panics.
    ///
    /// Cost: a round trip for each batch that is read, one for each document that is different (in a transaction one for all of
    /// a batch), and one for the position.
    ///
    /// ```
    /// # use odm::{Db, Model, bson::doc};
    /// # use odm_patterns::migration::{Migrations, Step};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Price {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     cents: i64,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let db = Db::open("memory:").await?;
    /// let prices = db.collection::<Price>();
    /// prices.raw().insert_many([doc! {"_id": 1, "price": 2.5}, doc! {"_id": 2, "cents": 99_i64}]).await?;
    ///
    /// let to_cents = Step::each::<Price>(
    ///     "2026_11_03_cents",
    ///     |p| p.cents.missing(),
    ///     |price| {
    ///         let old = price.get_f64("price")?;
    ///         price.remove("price");
    ///         price.insert("cents", (old * 100.0).round() as i64);
    ///         Ok(())
    ///     },
    /// );
    /// let report = Migrations::new().step(to_cents).run(&db).await?;
    /// assert_eq!((report.steps[0].examined, report.steps[0].changed), (1, 1));
    /// assert_eq!(prices.get(1).required().await?.cents, 250);
    /// # Ok(())
    /// # }
    /// ```
    pub fn each<M: Model>(
        id: impl Into<String>,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        change: impl Fn(&mut Document) -> Result<(), StepError> + Send + Sync + 'static,
    ) -> Step {
        Step::of(id, Action::Batched(Arc::new(Each::<M>::new(filter, change))))
    }

    fn of(id: impl Into<String>, up: Action) -> Step {
        Step {
            id: id.into(),
            up,
            down: None,
            description: None,
            fingerprint: None,
            is_transactional: false,
            again: Again::Never,
            options: Options::default(),
        }
    }

    /// How the step is undone. It is called where the step was done, or may have been; of one that is not transactional it
    /// must go well where there is nothing to undo.
    pub fn down<F, Fut>(mut self, action: F) -> Step
    where
        F: Fn(Db) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), StepError>> + Send + 'static,
    {
        self.down = Some(plain(action));
        self
    }

    /// How the step is undone, document by document, as [`each`](Step::each) does it.
    pub fn down_each<M: Model>(
        mut self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        change: impl Fn(&mut Document) -> Result<(), StepError> + Send + Sync + 'static,
    ) -> Step {
        self.down = Some(Action::Batched(Arc::new(Each::<M>::new(filter, change))));
        self
    }

    /// What it is for, for whoever looks.
    pub fn describe(mut self, description: impl Into<String>) -> Step {
        self.description = Some(description.into());
        self
    }

    /// Runs the step, and its way down, in a transaction with its record: what it does through the database that it is
    /// given happens exactly once. The function may run several times, as in any transaction. Of a step in batches each
    /// batch is a transaction with its position.
    ///
    /// MongoDB gives a transaction 60 seconds, and in one drops no collection and builds no index on one that is there.
    pub fn transactional(mut self) -> Step {
        self.is_transactional = true;
        self
    }

    /// A text that stands for what the step does, such as the sum of a script or a number that is counted up. A step that is
    /// done and has another one since is an error. Without one nobody notices that a step was edited after it ran.
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Step {
        self.fingerprint = Some(Ok(fingerprint.into()));
        self
    }

    /// The same by a value, of which it takes the [fingerprint](crate::idempotency::fingerprint).
    pub fn fingerprint_of(mut self, value: &impl Serialize) -> Step {
        self.fingerprint = Some(fingerprint(value));
        self
    }

    /// Runs the step again, in its place, whenever its [fingerprint](Step::fingerprint) is another one, instead of refusing
    /// that.
    pub fn on_change(mut self) -> Step {
        self.again = Again::OnChange;
        self
    }

    /// Runs the step in every run, in its place. It is never pending by itself.
    pub fn every_time(mut self) -> Step {
        self.again = Again::EveryTime;
        self
    }

    /// How many documents a batch has: 500 unless said otherwise. They are in memory together.
    pub fn batch_size(mut self, documents: u32) -> Step {
        self.options.size = documents.max(1);
        self
    }

    /// How many documents of a batch are written at the same time: 8 unless said otherwise. In a transaction all of a batch
    /// are written together, in one round trip.
    pub fn concurrency(mut self, documents: usize) -> Step {
        self.options.concurrency = documents.max(1);
        self
    }

    /// Leaves the dates of `#[odm(updated)]` of the documents as they are.
    pub fn without_timestamps(mut self) -> Step {
        self.options.is_timeless = true;
        self
    }

    /// Changes the documents of this collection, instead of the model's own.
    pub fn in_collection(mut self, name: impl Into<String>) -> Step {
        self.options.collection = Some(name.into());
        self
    }

    pub(super) fn kind(&self) -> StepKind {
        match (&self.up, self.is_transactional) {
            (Action::Batched(_), _) => StepKind::Batched,
            (Action::Resumable(_), _) => StepKind::Resumable,
            (Action::Plain(_), true) => StepKind::Transactional,
            (Action::Plain(_), false) => StepKind::Plain,
        }
    }

    /// The fingerprint that is compared with the recorded one.
    pub(super) fn known_fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_ref()?.as_deref().ok()
    }

    /// Whether it goes on where an attempt ended: one of the same step. A step that runs again as another one begins anew,
    /// and so does one in every run.
    pub(super) fn goes_on(&self, record: &StepRecord) -> bool {
        matches!(record.state, StepState::Running | StepState::Failed)
            && record.kind == self.kind()
            && match self.again {
                Again::Never => true,
                Again::OnChange => self.known_fingerprint() == record.fingerprint.as_deref(),
                Again::EveryTime => false,
            }
    }

    /// Why its options do not go together, if they do not.
    pub(super) fn refused(&self) -> Option<&'static str> {
        if self.is_transactional && matches!(self.up, Action::Resumable(_)) {
            return Some("a resumable step cannot be a transaction");
        }
        if matches!(self.fingerprint, Some(Err(_))) {
            return Some("the value of the fingerprint does not fit bson");
        }
        (self.again == Again::OnChange && self.fingerprint.is_none())
            .then_some("a step that runs again on change needs a fingerprint")
    }

    /// Whether it is one of those that are done once, in their order.
    pub(super) fn is_once(&self) -> bool {
        self.again == Again::Never
    }
}

fn plain<F, Fut>(action: F) -> Action
where
    F: Fn(Db) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), StepError>> + Send + 'static,
{
    Action::Plain(Arc::new(move |db| Box::pin(action(db))))
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("id", &self.id)
            .field("kind", &self.kind())
            .field("has_down", &self.down.is_some())
            .field("is_transactional", &self.is_transactional)
            .field("again", &self.again)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
