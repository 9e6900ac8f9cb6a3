//! Taking back a change whose writes the database refuses.
//!
//! Once that is decided, which is one write of the state, nobody makes any more of the change: nodes carry a later number
//! than its own before anything else is done, and where there are transactions, each holds the state. So whoever comes
//! takes it back, again and from the beginning where somebody ended on the way.

use std::sync::Arc;

use odm::backend::TransactionOptions;
use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind};

use super::core::Core;
use super::error::{Result, TreeError};
use super::identity::same;
use super::intent::{BATCH, FENCE, fence_of};
use super::layout::equal;
use super::plan::Write;
use super::record::{Before, KNOWS, Recorded};
use super::state::unreadable;
use crate::numbered::is_too_large;
use crate::own;
use crate::still::still;

/// The field of an intent that is taken back: the number that its nodes carry then.
pub(super) const BACK: &str = "back";

/// The field of an intent that deletes nodes by now, so that only its end is left.
pub(super) const DELETES: &str = "deletes";

/// What became of an intent.
#[derive(Debug)]
pub(super) enum Fate {
    Made,
    /// As if it had never been, for this reason.
    Undone(Box<TreeError>),
}

/// What is to be done about an intent whose writes were refused.
enum Verdict {
    /// It is taken back, as this is recorded.
    Back(Document),
    /// It cannot be.
    Onward,
    /// It is settled.
    Settled,
}

/// One write less.
#[derive(Clone, Debug)]
enum Undo {
    Restore(Before),
    Remove(Bson),
    /// Stores a renamed document as it was.
    Unname {
        from: Bson,
        old: Document,
        to: Bson,
    },
}

/// Whether a write was refused for what it is, so that it will be again, and not for the way to the database.
pub(super) fn is_definite(error: &TreeError) -> bool {
    match error {
        TreeError::DuplicateKey { .. } => true,
        TreeError::Database(error) => {
            let is_of_data = matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Encode);
            own::is_refused(error) || is_of_data || is_too_large(error)
        }
        _ => false,
    }
}

impl Core {
    /// Takes an intent back whose writes were refused; the refusal, where only the way on is left.
    pub(super) async fn undo_refused(
        &self,
        intent: &Document,
        recorded: Recorded,
        refusal: TreeError,
    ) -> Result<Fate> {
        if !intent.contains_key(KNOWS) {
            return Err(refusal);
        }
        match self.judge(fence_of(intent)?, &refusal).await? {
            Verdict::Back(intent) => {
                self.undo(&intent, recorded).await?;
                Ok(Fate::Undone(Box::new(refusal)))
            }
            Verdict::Settled => self.fate(intent).await,
            Verdict::Onward => Err(refusal),
        }
    }

    async fn judge(&self, fence: i64, refusal: &TreeError) -> Result<Verdict> {
        let mut open = self.state_filter();
        open.extend(doc! { "intent.fence": fence, "intent.back": Bson::Null, "intent.deletes": Bson::Null });
        let back = fence + 1;
        let set = doc! { "intent.back": back, "intent.refusal": told(refusal) };
        let update = doc! { "$set": set, "$max": { "version": back } };
        self.states.update_one(open, update).await?;
        let now = self.state().await?.and_then(|state| state.intent);
        Ok(match now {
            Some(intent) if fence_of(&intent)? == fence => match intent.contains_key(BACK) {
                true => Verdict::Back(intent),
                false => Verdict::Onward,
            },
            _ => Verdict::Settled,
        })
    }

    /// What became of an intent that somebody else has settled, or takes back.
    pub(super) async fn fate(&self, intent: &Document) -> Result<Fate> {
        let undone = doc! { "_id": self.undone(fence_of(intent)?) };
        let undone = self.states.find_one(undone).await?;
        let refusal = undone
            .as_ref()
            .and_then(|undone| undone.get_document("refusal").ok());
        Ok(match refusal {
            Some(refusal) => Fate::Undone(Box::new(self.heard(refusal))),
            None => Fate::Made,
        })
    }

    /// The `_id` of the document that says that an intent was taken back, for whoever began it.
    fn undone(&self, fence: i64) -> Document {
        let mut undone = self.layout.state_id();
        undone.insert("undone", fence);
        undone
    }

    /// Takes back an intent of which that is recorded.
    ///
    /// # Errors
    /// Those of the database: where somebody took what a node is to be given back, as the key of a unique index, it stays
    /// recorded until that is free.
    pub(super) async fn undo(&self, intent: &Document, recorded: Recorded) -> Result<Fate> {
        let back = intent.get_i64(BACK).map_err(|_| unreadable())?;
        let refusal = intent.get_document("refusal").cloned().unwrap_or_default();
        if !self.is_held() {
            self.hold_off(&recorded, fence_of(intent)?, back).await?;
        }
        let steps = steps(recorded);
        let mut steps = steps.chunks(BATCH).peekable();
        loop {
            let step: Arc<[Undo]> = steps.next().unwrap_or_default().into();
            let is_last = steps.peek().is_none();
            let is_under_way = match self.is_held() && !self.db.in_transaction() {
                true => self.undo_held(step, intent, back, is_last).await?,
                false => {
                    self.undo_step(&step, intent, back, is_last).await?;
                    true
                }
            };
            if is_last || !is_under_way {
                return Ok(Fate::Undone(Box::new(self.heard(&refusal))));
            }
        }
    }

    /// Whether what carries an intent out holds the state meanwhile.
    pub(super) fn is_held(&self) -> bool {
        self.db.in_transaction() || self.db.capabilities().transactions
    }

    /// Keeps those who were held up from writing any more of an intent.
    async fn hold_off(&self, recorded: &Recorded, fence: i64, back: i64) -> Result<()> {
        let mut inserted = Vec::new();
        let mut there = Vec::new();
        for write in &recorded.writes {
            match write {
                Write::Insert(document) => inserted.extend(document.get("_id")),
                Write::Rename { from, new, .. } => {
                    inserted.extend(new.get("_id"));
                    there.push(from);
                }
                Write::Set { id, .. } => there.push(id),
                Write::Delete(ids) | Write::Made { ids, .. } => there.extend(ids),
            }
        }
        self.bury(&inserted, back).await?;
        let number = || doc! { "$set": { FENCE: back } };
        let unwritten = |ids: Bson| doc! { "_id": ids, FENCE: { "$not": { "$gte": fence } } };
        for some in there.chunks(BATCH) {
            let all = unwritten(Bson::Document(doc! { "$in": some }));
            match self.nodes.update_many(all, number()).await {
                // One that takes no number takes no more of the intent either.
                Err(error) if is_definite(&error.clone().into()) => {
                    for id in some {
                        let own = self.nodes.update_one(unwritten(equal(id)), number()).await;
                        match own.map_err(TreeError::from) {
                            Err(error) if !is_definite(&error) => return Err(error),
                            _ => {}
                        }
                    }
                }
                numbered => drop(numbered?),
            }
        }
        Ok(())
    }

    /// Takes a part of an intent back in a transaction; `false` when it is settled.
    async fn undo_held(
        &self,
        step: Arc<[Undo]>,
        intent: &Document,
        back: i64,
        is_last: bool,
    ) -> Result<bool> {
        let intent = Arc::new(intent.clone());
        let undone = self.db.transaction_with(TransactionOptions::new(), move |tx| {
            let (core, step, intent) = (self.within(&tx), step.clone(), intent.clone());
            async move {
                if !core.hold_intent(fence_of(&intent)?, Some(back)).await? {
                    return Ok::<bool, TreeError>(false);
                }
                core.undo_step(&step, &intent, back, is_last).await?;
                Ok(true)
            }
        });
        undone.await
    }

    async fn undo_step(&self, step: &[Undo], intent: &Document, back: i64, is_last: bool) -> Result<()> {
        let fence = fence_of(intent)?;
        let mut bulk = self.nodes.bulk_write();
        let mut restored = Vec::new();
        let mut removed = Vec::new();
        for undo in step {
            match undo {
                Undo::Restore(before) => {
                    restored.push(Some(&before.id));
                    let own = doc! { "_id": equal(&before.id), FENCE: fence };
                    bulk = bulk.update_one(own, before.update(back));
                }
                Undo::Remove(id) => removed.push(id),
                Undo::Unname { .. } => {}
            }
        }
        bulk.await.map_err(|error| self.refused_of(error, &restored))?;
        if !removed.is_empty() {
            let own = doc! { "_id": { "$in": removed }, FENCE: fence };
            self.nodes.delete_many(own).await?;
        }
        for undo in step {
            if let Undo::Unname { from, old, to } = undo {
                self.unname(from, old, to, (fence, back)).await?;
            }
        }
        if is_last {
            let of = self.layout.state_id();
            let refusal = intent.get_document("refusal").cloned().unwrap_or_default();
            let undone = doc! { "$set": { "of": of, "fence": fence, "refusal": refusal } };
            let id = doc! { "_id": self.undone(fence) };
            self.states.upsert(id, undone).await?;
            self.forget_long_ago(fence).await?;
            let mut own = self.state_filter();
            own.extend(doc! { "intent.fence": fence, "intent.back": back });
            let settled = doc! { "$unset": { "intent": "" } };
            self.states.update_one(own, settled).await?;
        }
        Ok(())
    }

    async fn unname(&self, from: &Bson, old: &Document, to: &Bson, (fence, back): (i64, i64)) -> Result<()> {
        // First: most often it has the same keys of the model's own unique indexes. Meanwhile the node is in the intent.
        let own = doc! { "_id": equal(to), FENCE: fence };
        self.nodes.delete_one(own).await?;
        if self.nodes.exists(still("_id", from)).await? {
            return Ok(());
        }
        let mut old = old.clone();
        old.insert(FENCE, back);
        match self.nodes.insert_one(&old).await {
            Ok(_) => {}
            // Somebody else does the same.
            Err(error) if own::is_of_id(&error) && !self.db.in_transaction() => {
                let there = self.nodes.find_one(doc! { "_id": equal(from) }).await?;
                let there = there.as_ref().and_then(|there| there.get("_id"));
                return match there.is_some_and(|there| same(there, from)) {
                    true => Ok(()),
                    false => Err(error.into()),
                };
            }
            Err(error) => return Err(self.refused(error, &[Some(&old)])),
        }
        match self.is_held() {
            true => Ok(()),
            false => self.take_back(std::slice::from_ref(&old), back).await,
        }
    }

    /// The refusal that was recorded.
    fn heard(&self, refusal: &Document) -> TreeError {
        let text = |field: &str| refusal.get_str(field).ok().map(str::to_owned);
        let kind = match refusal.get_str("kind") {
            Ok("DuplicateKey") => ErrorKind::DuplicateKey,
            Ok("Validation") => ErrorKind::Validation,
            Ok("Referenced") => ErrorKind::Referenced,
            Ok("Encode") => ErrorKind::Encode,
            _ => ErrorKind::InvalidArgument,
        };
        let message = text("message").unwrap_or_else(|| "the database refuses a write".to_owned());
        let mut error = Error::new(kind, message).with_model(self.layout.model);
        if let Some(index) = text("index") {
            error = error.with_index(index);
        }
        if let Ok(code) = refusal.get_i32("code") {
            error = error.with_code(code);
        }
        let id = refusal.get("id").cloned();
        if let (Some(id), Ok(true)) = (&id, refusal.get_bool("inserted")) {
            // Where the database was asked.
            let source = error.code().is_some().then_some(error);
            return self.layout.duplicate(id.clone(), source);
        }
        if let Some(namespace) = text("namespace") {
            error = error.with_namespace(namespace);
        }
        TreeError::Database(match id {
            Some(id) => error.with_id(id),
            None => error,
        })
    }
}

/// A refusal as it is recorded, for whoever began the change, if somebody else takes it back.
fn told(refusal: &TreeError) -> Document {
    let error = Error::from(refusal.clone());
    let source = match refusal {
        TreeError::DuplicateKey { source, .. } => source.as_ref(),
        _ => None,
    };
    let mut told = doc! { "kind": format!("{:?}", error.kind()), "message": error.message() };
    let index = error.index().map(Bson::from);
    let code = source.unwrap_or(&error).code().map(Bson::from);
    let inserted = matches!(refusal, TreeError::DuplicateKey { .. }).then_some(Bson::from(true));
    let others = [
        ("id", error.id().cloned()),
        ("index", index),
        ("namespace", error.namespace().map(Bson::from)),
        ("code", code),
        ("inserted", inserted),
    ];
    let others = others
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)));
    told.extend(others.map(|(field, value)| (field.to_owned(), value)));
    told
}

/// The last write first: what a unique index let pass in one order, it does in the other.
fn steps(recorded: Recorded) -> Vec<Undo> {
    let mut removed = Vec::new();
    let mut renamed = Vec::new();
    for write in recorded.writes.into_iter().rev() {
        match write {
            Write::Insert(mut document) => removed.extend(document.remove("_id").map(Undo::Remove)),
            Write::Rename { from, old, mut new } => {
                let to = new.remove("_id").unwrap_or(Bson::Null);
                renamed.push(Undo::Unname { from, old, to });
            }
            _ => {}
        }
    }
    let restored = recorded.before.into_iter().rev().map(Undo::Restore);
    restored.chain(removed).chain(renamed).collect()
}
