//! The steps of a program, and how they run.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use odm::{Db, Error};

use super::error::{MigrationError, MigrationErrorKind};
use super::id;
use super::ledger::{Intent, Ledger, Records};
use super::record::{StepRecord, StepState};
use super::report::MigrationEvent;
use super::step::{Again, Step};
use crate::queue::{Timer, Wait};

type Told = Arc<dyn Fn(&MigrationEvent) + Send + Sync>;

/// The steps of a program, in their order, and how they run. Cheap enough to clone.
///
/// What is wrong with the steps is found before anything is asked of a database: by each method that takes one, and by
/// [`check`](Migrations::check), for a test.
#[derive(Clone)]
#[must_use]
pub struct Migrations {
    pub(super) steps: Vec<Step>,
    pub(super) collection: String,
    pub(super) owner: String,
    pub(super) version: Option<String>,
    pub(super) lease: Duration,
    pub(super) heartbeat: Option<Duration>,
    pub(super) patience: Duration,
    pub(super) poll: Duration,
    pub(super) wait: Arc<dyn Wait>,
    pub(super) told: Told,
    pub(super) has_any_order: bool,
    pub(super) allows_unknown: bool,
    pub(super) allows_out_of_order: bool,
    pub(super) allows_changed: bool,
}

impl Default for Migrations {
    fn default() -> Migrations {
        Migrations::new()
    }
}

impl Migrations {
    /// No steps yet. The defaults are named by each method's page.
    pub fn new() -> Migrations {
        Migrations {
            steps: Vec::new(),
            collection: "migrations".to_owned(),
            owner: format!("process {}", std::process::id()),
            version: None,
            lease: Duration::from_secs(60),
            heartbeat: None,
            patience: Duration::from_secs(300),
            poll: Duration::from_millis(500),
            wait: Arc::new(Timer),
            told: Arc::new(|_| {}),
            has_any_order: false,
            allows_unknown: false,
            allows_out_of_order: false,
            allows_changed: false,
        }
    }

    /// One step more, behind the others.
    pub fn step(mut self, step: Step) -> Migrations {
        self.steps.push(step);
        self
    }

    /// The collection of the records: `migrations` unless said otherwise. Its lease is in the collection of the same name
    /// with `.lease` behind it. Parts of a program that migrate on their own have one each.
    pub fn collection(self, name: impl Into<String>) -> Migrations {
        Migrations {
            collection: name.into(),
            ..self
        }
    }

    /// This process's name, for whoever looks: `process` and its number unless said otherwise.
    pub fn owner(self, owner: impl Into<String>) -> Migrations {
        Migrations {
            owner: owner.into(),
            ..self
        }
    }

    /// The version of the program, recorded with each step that it runs.
    pub fn version(self, version: impl Into<String>) -> Migrations {
        Migrations {
            version: Some(version.into()),
            ..self
        }
    }

    /// How long a lease lasts without a sign of life, and so how long others wait after a crash: 60 seconds unless said
    /// otherwise.
    pub fn lease(self, length: Duration) -> Migrations {
        Migrations {
            lease: length,
            ..self
        }
    }

    /// How often to give a sign of life while a step runs: three times during a lease unless said otherwise. Less often than
    /// once in a lease, and others take over from a step that runs.
    pub fn heartbeat(self, every: Duration) -> Migrations {
        Migrations {
            heartbeat: Some(every),
            ..self
        }
    }

    /// How long to wait while somebody else is migrating, before that is the error `Busy`: 5 minutes unless said otherwise.
    pub fn patience(self, length: Duration) -> Migrations {
        Migrations {
            patience: length,
            ..self
        }
    }

    /// How often to look again while waiting: every half second unless said otherwise.
    pub fn poll(self, every: Duration) -> Migrations {
        Migrations { poll: every, ..self }
    }

    /// Waits in another way, such as by a test's clock.
    pub fn wait_with(self, wait: impl Wait + 'static) -> Migrations {
        Migrations {
            wait: Arc::new(wait),
            ..self
        }
    }

    /// Is told what happens while migrations run.
    pub fn on_event(self, action: impl Fn(&MigrationEvent) + Send + Sync + 'static) -> Migrations {
        Migrations {
            told: Arc::new(action),
            ..self
        }
    }

    /// Lets the ids of the steps be in any order: that of the list counts. Otherwise they ascend, runs of digits by their
    /// numbers, so that a step which a merge put into the wrong place is an error.
    pub fn any_order(self) -> Migrations {
        Migrations {
            has_any_order: true,
            ..self
        }
    }

    /// Runs although steps are recorded that this program does not have: those of a newer release, while an older one is
    /// still started, or those that were taken out of the program since.
    pub fn allow_unknown(self) -> Migrations {
        Migrations {
            allows_unknown: true,
            ..self
        }
    }

    /// Runs steps that are pending although steps behind them are done: those of a branch that was merged late.
    pub fn allow_out_of_order(self) -> Migrations {
        Migrations {
            allows_out_of_order: true,
            ..self
        }
    }

    /// Runs although steps that are done have other fingerprints since.
    pub fn allow_changed(self) -> Migrations {
        Migrations {
            allows_changed: true,
            ..self
        }
    }

    /// Whether the steps can be run at all. No round trip.
    ///
    /// # Errors
    /// `BadId`, `DuplicateId`, `NotInOrder`, `BadStep`.
    pub fn check(&self) -> Result<(), MigrationError> {
        // Under a collation that some collections have, ids that differ in case alone are one.
        let mut known = HashSet::new();
        for (at, step) in self.steps.iter().enumerate() {
            let wrong = |kind| Err(self.error(Some(&step.id), kind));
            if let Some(why) = id::refused(&step.id) {
                return wrong(MigrationErrorKind::BadId(why));
            }
            if !known.insert(step.id.to_lowercase()) {
                return wrong(MigrationErrorKind::DuplicateId);
            }
            let before = at.checked_sub(1).and_then(|before| self.steps.get(before));
            if let Some(before) = before
                && !self.has_any_order
                && id::compare(&before.id, &step.id).is_gt()
            {
                let behind = before.id.clone();
                return wrong(MigrationErrorKind::NotInOrder { behind });
            }
            if let Some(why) = step.refused() {
                return wrong(MigrationErrorKind::BadStep(why));
            }
        }
        Ok(())
    }

    /// The records of a database, once the steps are checked.
    pub(super) fn ledger(&self, db: &Db) -> Result<Ledger, MigrationError> {
        self.check()?;
        match db.in_transaction() {
            true => Err(self.error(None, MigrationErrorKind::InTransaction)),
            false => Ok(Ledger::new(db, &self.collection, self.lease)),
        }
    }

    pub(super) async fn read(&self, ledger: &Ledger) -> Result<Records, MigrationError> {
        ledger.read().await.map_err(|error| self.database(None, error))
    }

    /// The place of a step.
    pub(super) fn place(&self, id: &str) -> Result<usize, MigrationError> {
        let place = self.steps.iter().position(|step| step.id == id);
        place.ok_or_else(|| self.error(Some(id), MigrationErrorKind::NoSuchStep))
    }

    /// The steps up to a place, that are to be run, in their order.
    pub(super) fn todo(&self, records: &Records, end: usize) -> Result<Vec<usize>, MigrationError> {
        self.refuse_unknown(records)?;
        if let Some(half) = self
            .known(records)
            .find(|(_, record)| record.state == StepState::Reverting)
        {
            return Err(self.error(Some(&half.0.id), MigrationErrorKind::HalfReverted));
        }
        let changed: Vec<String> = self
            .known(records)
            .filter(|(step, record)| step.is_once() && has_changed(step, record))
            .map(|(step, _)| step.id.clone())
            .collect();
        if !changed.is_empty() && !self.allows_changed {
            return Err(self.error(None, MigrationErrorKind::Changed(changed)));
        }
        let late = self.late(records, end);
        if !late.is_empty() && !self.allows_out_of_order {
            return Err(self.error(None, MigrationErrorKind::OutOfOrder(late)));
        }
        let steps = self.steps.iter().enumerate().take(end);
        Ok(steps
            .filter(|(_, step)| step.again == Again::EveryTime || is_pending(step, records.get(&step.id)))
            .map(|(at, _)| at)
            .collect())
    }

    /// # Errors
    /// `Unknown`, unless that is allowed.
    pub(super) fn refuse_unknown(&self, records: &Records) -> Result<(), MigrationError> {
        let unknown: Vec<String> = self.unknown(records).map(|record| record.id.clone()).collect();
        match unknown.is_empty() || self.allows_unknown {
            true => Ok(()),
            false => Err(self.error(None, MigrationErrorKind::Unknown(unknown))),
        }
    }

    /// What is recorded of steps that the program does not have. What has not begun, or was undone, does not count.
    pub(super) fn unknown<'a>(&'a self, records: &'a Records) -> impl Iterator<Item = &'a StepRecord> {
        let is_known = |id: &str| self.steps.iter().any(|step| step.id == id);
        records
            .values()
            .filter(move |record| !has_not_begun(Some(record)) && !is_known(&record.id))
    }

    /// The steps of the program that something is recorded of.
    pub(super) fn known<'a>(
        &'a self,
        records: &'a Records,
    ) -> impl DoubleEndedIterator<Item = (&'a Step, &'a StepRecord)> {
        self.steps
            .iter()
            .filter_map(|step| Some((step, records.get(&step.id)?)))
    }

    /// Steps up to a place that never began, before others that are done. One that was marked is asked for.
    pub(super) fn late(&self, records: &Records, end: usize) -> Vec<String> {
        let is_done = |step: &Step| {
            let record = records.get(&step.id);
            step.is_once() && record.is_some_and(|record| record.state == StepState::Done)
        };
        let last = self.steps.iter().rposition(is_done).unwrap_or(0);
        let steps = self.steps.iter().take(last.min(end));
        steps
            .filter(|step| {
                let record = records.get(&step.id);
                step.is_once() && has_not_begun(record) && record.is_none_or(|record| !record.by_hand)
            })
            .map(|step| step.id.clone())
            .collect()
    }

    pub(super) fn intent<'a>(&'a self, step: &'a Step) -> Intent<'a> {
        let order = self.steps.iter().position(|other| other.id == step.id);
        Intent {
            id: &step.id,
            order: order.and_then(|order| i64::try_from(order).ok()).unwrap_or(-1),
            kind: step.kind(),
            description: step.description.as_deref(),
            version: self.version.as_deref(),
            fingerprint: step.known_fingerprint(),
        }
    }

    pub(super) fn error(&self, step: Option<&str>, kind: MigrationErrorKind) -> MigrationError {
        MigrationError {
            kind,
            step: step.map(str::to_owned),
            collection: self.collection.clone(),
        }
    }

    pub(super) fn database(&self, step: Option<&str>, error: Error) -> MigrationError {
        self.error(step, MigrationErrorKind::Database(error))
    }

    pub(super) fn lost(&self, step: &str, token: i64) -> MigrationError {
        self.error(Some(step), MigrationErrorKind::LeaseLost { token })
    }

    pub(super) fn tell(&self, event: &MigrationEvent) {
        (self.told)(event);
    }
}

/// Whether a step is to be run.
pub(super) fn is_pending(step: &Step, record: Option<&StepRecord>) -> bool {
    let Some(record) = record else {
        return step.again != Again::EveryTime;
    };
    match step.again {
        // One that failed is no reason to wait: the next run runs it anyway.
        Again::EveryTime => false,
        Again::OnChange => record.state != StepState::Done || has_changed(step, record),
        Again::Never => record.state != StepState::Done,
    }
}

/// Whether a step has never begun, or was undone. Of one that was announced by a process that is gone, and did not begin it,
/// there is a record that says of no attempt.
pub(super) fn has_not_begun(record: Option<&StepRecord>) -> bool {
    record.is_none_or(|record| match record.state {
        StepState::Reverted => true,
        StepState::Running => record.attempts == 0,
        _ => false,
    })
}

/// Whether a step that is done has another fingerprint than it had.
pub(super) fn has_changed(step: &Step, record: &StepRecord) -> bool {
    let known = step.known_fingerprint().zip(record.fingerprint.as_deref());
    let differs = known.is_some_and(|(own, recorded)| own != recorded);
    // One that runs on change has run without a fingerprint only where it had none.
    let is_new = step.again == Again::OnChange && record.fingerprint.is_none();
    record.state == StepState::Done && (differs || is_new)
}

impl fmt::Debug for Migrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrations")
            .field("steps", &self.steps)
            .field("collection", &self.collection)
            .field("owner", &self.owner)
            .field("version", &self.version)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
