//! What a step is given, so that its effect happens once.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime, doc};
use odm::{Collection, Db, Field, Filter, Model, Operand, Update};

use super::error::StepError;
use super::mark::{Mark, MarkState};
use super::record::SagaRecord;
use crate::dotted::elements_at;
use crate::exact;
use crate::later::later;

/// One try of a step or of its compensation.
#[derive(Clone)]
pub struct Effect {
    pub(super) db: Db,
    pub(super) sagas: Collection<SagaRecord>,
    pub(super) saga: String,
    pub(super) run: Option<ObjectId>,
    pub(super) step: String,
    pub(super) attempt: u32,
    pub(super) token: i64,
    pub(super) lease: Duration,
    pub(super) is_certain: bool,
    pub(super) is_compensation: bool,
    /// What the history says of the step beside its end.
    pub(super) note: Arc<Mutex<Option<String>>>,
}

/// What [`Effect::undo`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undone {
    /// The effect was made, and is undone now.
    Now,
    /// It was undone before, or it is settled since then that it never will be made.
    Before,
    /// It was not made, and never will be.
    NotMade,
    /// There is no such document, and whether the effect was made of it is not known. The saga's history says so.
    Gone,
}

impl Effect {
    /// The database; in an atomic step, the transaction.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The saga's id.
    pub fn saga(&self) -> &str {
        &self.saga
    }

    /// Which try this is, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The token of the lease: it grows with every worker. Give it to systems that refuse an older one.
    pub fn token(&self) -> i64 {
        self.token
    }

    /// The effect's key: the same in every try, different for every saga and step, and another one for the
    /// compensation. The idempotency key for systems outside of the database. A saga that is started after an earlier one
    /// of its id was [pruned](super::Sagas::prune) is another one.
    pub fn key(&self) -> String {
        let key = self.mark_key();
        match self.is_compensation {
            true => format!("{key}/undo"),
            false => key,
        }
    }

    /// In a compensation: whether the step is known to have happened.
    pub fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// Makes the lease as long as it was at first, for a step that takes longer. One round trip; in an atomic step it
    /// is none of use, because the transaction keeps its writes to itself.
    ///
    /// # Errors
    /// `LeaseLost`: stop at once.
    pub async fn renew(&self) -> Result<(), StepError> {
        let due = later(self.db.now(), self.lease);
        let update = self.sagas.update_one(
            |s| s.id.eq(&self.saga) & s.run.eq(self.run) & s.lease.token.eq(self.token),
            |s| s.due.set(due),
        );
        match update.await?.matched {
            1 => Ok(()),
            _ => Err(StepError::LeaseLost),
        }
    }

    /// Changes one document, once: the change and the mark of it are one write, whose condition is that there is no
    /// mark. Called again, by this worker or another, it changes nothing. After [`undo`](Effect::undo) it changes
    /// nothing either, however late the worker is.
    ///
    /// A softly deleted document gets no effect; one that it got before is found all the same.
    ///
    /// Cost: 1 round trip; 2 when it was made before or is refused.
    ///
    /// # Errors
    /// `Fatal` when the condition does not hold or there is no such document, `LeaseLost` when the effect was undone.
    pub async fn apply<M: Model>(
        &self,
        collection: &Collection<M>,
        id: impl Operand<M::Key>,
        marks: impl FnOnce(M::Fields<M>) -> Field<M, Vec<Mark>>,
        condition: impl FnOnce(M::Fields<M>) -> Filter<M>,
        change: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> Result<(), StepError> {
        let target = self.target(id, marks);
        let filter = target.unmarked() & condition(M::fields());
        let update = change(M::fields()) & self.marking(&target, MarkState::Done);
        if collection.update_one(|_| filter, |_| update).await?.matched == 1 {
            return Ok(());
        }
        let found = collection
            .find_one(|_| target.document())
            .with_deleted()
            .unscoped();
        let Some(document) = found.untyped().await? else {
            return Err(refused("there is no such document", collection, &target.id)?);
        };
        let marks = target.marks.path().to_string();
        let mut made = elements_at(&document, &marks);
        let Some(made) = made.find(|mark| mark.get_str("key").is_ok_and(|own| own == target.key)) else {
            let gone = collection
                .soft_delete_field()
                .and_then(|field| document.get(field));
            let why = match gone {
                None | Some(Bson::Null) => "the condition of the step does not hold",
                Some(_) => "the document is deleted",
            };
            return Err(refused(why, collection, &target.id)?);
        };
        match made.get_str("state") {
            Ok("done") => Ok(()),
            _ => Err(StepError::LeaseLost),
        }
    }

    /// Undoes what [`apply`](Effect::apply) made of the document, once; where it was not made, makes sure that it never
    /// will be. A softly deleted document is a document: what it got is undone.
    ///
    /// A document that is not there any more is [`Gone`](Undone::Gone) where nobody knows whether the effect was made of
    /// it, and an error where it is [certain](Effect::is_certain): then the saga waits for somebody.
    ///
    /// Cost: 1 round trip; 2 when there was nothing to undo, 3 when a late worker made it in between, 4 when it was undone
    /// before or the document is gone.
    ///
    /// # Errors
    /// `Gone` when the effect was made and its document is not there; those of the database.
    pub async fn undo<M: Model>(
        &self,
        collection: &Collection<M>,
        id: impl Operand<M::Key>,
        marks: impl FnOnce(M::Fields<M>) -> Field<M, Vec<Mark>>,
        change: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> Result<Undone, StepError> {
        let target = self.target(id, marks);
        let update = change(M::fields()) & target.marks.matched().state.set(MarkState::Undone);
        if write(collection, target.made(), update.clone()).await? {
            return Ok(Undone::Now);
        }
        let void = self.marking(&target, MarkState::Void);
        if write(collection, target.unmarked(), void).await? {
            return Ok(Undone::NotMade);
        }
        // There is a mark by now: that of a late worker, whose effect came between the two.
        if write(collection, target.made(), update).await? {
            return Ok(Undone::Now);
        }
        if collection
            .exists(|_| target.document())
            .with_deleted()
            .unscoped()
            .await?
        {
            return Ok(Undone::Before);
        }
        let gone = StepError::Gone {
            collection: collection.name().to_owned(),
            id: Box::new(collection.encode_key(&target.id)?),
        };
        if self.is_certain {
            return Err(gone);
        }
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = Some(gone.to_string());
        Ok(Undone::Gone)
    }

    /// Takes old marks out of all documents of a collection, softly deleted ones too; gives how many documents had some. They must be older than
    /// any worker can be late: a worker that was stopped before its write, and goes on after its mark is gone, would make
    /// the effect again.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn prune_marks<M: Model>(
        collection: &Collection<M>,
        marks: impl FnOnce(M::Fields<M>) -> Field<M, Vec<Mark>>,
        before: DateTime,
    ) -> odm::Result<u64> {
        let marks = marks(M::fields());
        let filter = marks.any().at.lt(before);
        let pull = marks.pull_where(|m| m.at.lt(before));
        let pruned = collection
            .update_many(|_| filter, |_| pull)
            .with_deleted()
            .unscoped();
        Ok(pruned.await?.modified)
    }

    /// The run comes last: whatever is in ids and names, no other effect has the same key.
    fn mark_key(&self) -> String {
        let (saga, step) = (&self.saga, &self.step);
        match self.run {
            Some(run) => format!("{saga}/{step}/{run}"),
            None => format!("{saga}/{step}"),
        }
    }

    fn target<M: Model>(
        &self,
        id: impl Operand<M::Key>,
        marks: impl FnOnce(M::Fields<M>) -> Field<M, Vec<Mark>>,
    ) -> Target<M> {
        Target {
            id: id.with_operand(Clone::clone),
            marks: marks(M::fields()),
            key: self.mark_key(),
        }
    }

    fn marking<M: Model>(&self, target: &Target<M>, state: MarkState) -> Update<M> {
        target.marks.push(Mark {
            key: target.key.clone(),
            state,
            at: self.db.now(),
        })
    }
}

/// Why a document does not get an effect, which no other try changes.
fn refused<M: Model>(why: &str, collection: &Collection<M>, id: &M::Key) -> odm::Result<StepError> {
    let (name, id) = (collection.name(), collection.encode_key(id)?);
    Ok(StepError::fatal(format!("{why} (collection: {name}, _id: {id})")))
}

/// Changes a document, softly deleted or not; says whether there is one that fits.
async fn write<M: Model>(
    collection: &Collection<M>,
    filter: Filter<M>,
    update: Update<M>,
) -> odm::Result<bool> {
    let written = collection
        .update_one(|_| filter, |_| update)
        .with_deleted()
        .unscoped();
    Ok(written.await?.matched == 1)
}

/// Where an effect is made, and the key of its mark there.
struct Target<M: Model> {
    id: M::Key,
    marks: Field<M, Vec<Mark>>,
    key: String,
}

impl<M: Model> Target<M> {
    fn document(&self) -> Filter<M> {
        M::key_field().eq(&self.id)
    }

    /// The document, as long as the effect has no mark in it.
    ///
    /// Keys of marks are told apart by their bytes: to the collation of a collection, those of two sagas may be the same.
    fn unmarked(&self) -> Filter<M> {
        let path = self.marks.path().to_string();
        self.document() & Filter::raw(exact::no_element(&path, "key", &self.key))
    }

    /// The document, where the effect was made and is not undone.
    fn made(&self) -> Filter<M> {
        let mut mark = exact::element("key", &self.key);
        mark.insert("state", "done");
        self.document() & Filter::raw(doc! { self.marks.path().to_string(): { "$elemMatch": mark } })
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effect")
            .field("key", &self.key())
            .field("attempt", &self.attempt)
            .field("token", &self.token)
            .finish()
    }
}
