//! The document that all changes of one tree go through: its version, the change that is under way, the roots of
//! child references.

use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::{Result, TreeError};
use super::layout::{Layout, Shape};
use super::plan::Plan;
use super::undo::BACK;

/// The field of the layout that a tree was converted to.
pub(super) const LAYOUT: &str = "layout";

/// The state of a tree, as it was read.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) version: i64,
    pub(super) intent: Option<Document>,
    pub(super) has_roots: bool,
    /// How it is stored, where it was converted.
    pub(super) layout: Option<String>,
}

impl State {
    fn read(document: &Document, layout: &Layout) -> State {
        State {
            version: match document.get("version") {
                Some(Bson::Int32(version)) => i64::from(*version),
                Some(Bson::Int64(version)) => *version,
                _ => 0,
            },
            intent: document.get_document("intent").ok().cloned(),
            has_roots: document.get_array(layout.roots().as_ref()).is_ok(),
            layout: document.get_str(LAYOUT).ok().map(str::to_owned),
        }
    }
}

impl Core {
    /// Refuses what would go by a layout that the tree has no more.
    pub(super) fn check_layout(&self, state: &State) -> Result<()> {
        match &state.layout {
            Some(layout) if *layout != self.layout.mark() => {
                let to = layout.clone();
                Err(TreeError::Converted { to })
            }
            _ => Ok(()),
        }
    }

    /// The version of the tree, once it is known that it is stored by this layout: a conversion that is under way is carried
    /// out first.
    pub(super) async fn unconverted(&self) -> Result<i64> {
        while let Some(state) = self.state().await? {
            match state.intent.as_ref().filter(|intent| is_conversion(intent)) {
                None => return self.check_layout(&state).map(|()| state.version),
                Some(intent) => drop(self.carry_out(intent).await?),
            }
        }
        Ok(0)
    }

    pub(super) fn state_filter(&self) -> Document {
        doc! { "_id": self.layout.state_id() }
    }

    pub(super) async fn state(&self) -> Result<Option<State>> {
        let found = self.states.find_one(self.state_filter()).await?;
        Ok(found.as_ref().map(|found| State::read(found, &self.layout)))
    }

    /// The state, created when it is not there.
    pub(super) async fn ensure_state(&self) -> Result<State> {
        loop {
            if let Some(state) = self.state().await? {
                return Ok(state);
            }
            let new = doc! { "$setOnInsert": { "version": 0_i64 } };
            match self.states.upsert(self.state_filter(), new).await {
                // Somebody else was first.
                Err(error) if error.is_duplicate_key() && !self.db.in_transaction() => {}
                result => {
                    result?;
                }
            }
        }
    }

    /// Takes the turn in a transaction: whoever else wants to change this tree meanwhile runs into a conflict.
    pub(super) async fn touch_state(&self) -> Result<State> {
        let next = doc! { "$inc": { "version": 1_i64 } };
        let before = self
            .states
            .find_one_and_update(self.state_filter(), next)
            .upsert()
            .await?;
        let mut state = before.as_ref().map_or_else(
            || State {
                version: 0,
                intent: None,
                has_roots: false,
                layout: None,
            },
            |before| State::read(before, &self.layout),
        );
        state.version += 1;
        Ok(state)
    }

    /// Writes what a plan says of the state, with other changes.
    pub(super) async fn settle_state(&self, condition: Document, plan: &Plan, clear: bool) -> Result<bool> {
        let mut update = Document::new();
        let mut set = plan.state.clone();
        if let Some(roots) = &plan.roots {
            set.insert(self.layout.roots(), roots.clone());
        }
        if !set.is_empty() {
            update.insert("$set", set);
        }
        if clear {
            update.insert("$unset", doc! { "intent": "" });
        }
        if update.is_empty() {
            return Ok(true);
        }
        let mut filter = self.state_filter();
        filter.extend(condition);
        Ok(self.states.update_one(filter, update).await?.matched == 1)
    }

    /// Records an intent if nothing changed since the version was read.
    pub(super) async fn record_intent(&self, version: i64, intent: Document) -> Result<bool> {
        let mut filter = self.state_filter();
        filter.extend(doc! { "version": version, "intent": Bson::Null });
        let update = doc! { "$set": { "version": version + 1, "intent": intent } };
        Ok(self.states.update_one(filter, update).await?.matched == 1)
    }

    /// Makes sure, in a transaction, that an intent is under way still, or taken back by this number, and will be until the
    /// transaction is over.
    pub(super) async fn hold_intent(&self, fence: i64, back: Option<i64>) -> Result<bool> {
        let mut filter = self.state_filter();
        filter.extend(doc! { "intent.fence": fence, format!("intent.{BACK}"): back });
        let step = doc! { "$inc": { "intent.steps": 1_i32 } };
        Ok(self.states.update_one(filter, step).await?.matched == 1)
    }

    /// Lists the roots of child references that somebody else stored.
    pub(super) async fn adopt_roots(&self) -> Result<()> {
        loop {
            let state = self.ensure_state().await?;
            if self.layout.shape != Shape::Children || state.has_roots || self.check_layout(&state).is_err() {
                return Ok(());
            }
            let roots = self.listed_roots().await?;
            let list = self.layout.roots();
            let mut filter = self.state_filter();
            filter.extend(doc! { "version": state.version, list.as_ref(): Bson::Null });
            let update = doc! { "$set": { list.as_ref(): roots } };
            if self.states.update_one(filter, update).await?.matched == 1 {
                return Ok(());
            }
        }
    }
}

fn is_conversion(intent: &Document) -> bool {
    let settled = intent.get_document("state");
    settled.is_ok_and(|settled| settled.contains_key(LAYOUT))
}

pub(super) fn unreadable() -> TreeError {
    TreeError::Damaged {
        id: Bson::Null,
        reason: "an intent cannot be read",
    }
}
