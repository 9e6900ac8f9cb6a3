//! What somebody knows better than the records.

use odm::Db;

use super::definition::{Migrations, has_changed, has_not_begun};
use super::error::{MigrationError, MigrationErrorKind};
use super::ledger::{Intent, Records, Session};
use super::record::StepState;
use super::step::{Again, Step};

impl Migrations {
    /// Takes the steps up to this one for done, without running them: for a database that was there before its records
    /// were. Those that are done stay as they are. Gives the ids of those that were marked.
    ///
    /// Cost: 1 round trip for the lease, 1 for the records, 2 for each step, 1 at the end.
    ///
    /// # Errors
    /// `Begun`, before any is marked, where a step is neither done nor pending; `NoSuchStep`, `Busy`, `LeaseLost`,
    /// `Database`, and those of [`check`](Migrations::check).
    pub async fn baseline(&self, db: &Db, id: &str) -> Result<Vec<String>, MigrationError> {
        let ledger = self.ledger(db)?;
        let end = self.place(id)? + 1;
        let (session, records, _) = self.hold(&ledger).await?;
        let result = self.mark_all(&session, &records, end).await;
        self.leave(&session, result).await
    }

    async fn mark_all(
        &self,
        session: &Session,
        records: &Records,
        end: usize,
    ) -> Result<Vec<String>, MigrationError> {
        let steps = self.steps.iter().take(end);
        let steps = steps.filter(|step| step.again != Again::EveryTime);
        let (new, known): (Vec<&Step>, Vec<&Step>) =
            steps.partition(|step| has_not_begun(records.get(&step.id)));
        let is_begun = |step: &&&Step| {
            let record = records.get(&step.id);
            record.is_some_and(|record| record.state != StepState::Done)
        };
        if let Some(begun) = known.iter().find(is_begun) {
            return Err(self.error(Some(&begun.id), MigrationErrorKind::Begun));
        }
        let mut marked = Vec::new();
        for step in new {
            self.mark_step(session, &self.intent(step), StepState::Done)
                .await?;
            marked.push(step.id.clone());
        }
        Ok(marked)
    }

    /// Takes a step for done, without running it, whatever is recorded of it: somebody has seen to it. Five round trips.
    ///
    /// # Errors
    /// `NoSuchStep`, `Busy`, `LeaseLost`, `Database`, and those of [`check`](Migrations::check).
    pub async fn mark_done(&self, db: &Db, id: &str) -> Result<(), MigrationError> {
        let step = self.steps.get(self.place(id)?);
        let intent = step.map(|step| self.intent(step));
        self.mark_one(db, id, intent, StepState::Done).await
    }

    /// Takes a step for undone, whatever is recorded of it: the next run runs it, if the program has it. A recorded step
    /// that the program does not have is no longer unknown then.
    ///
    /// # Errors
    /// As [`mark_done`](Migrations::mark_done).
    pub async fn mark_reverted(&self, db: &Db, id: &str) -> Result<(), MigrationError> {
        let step = self.steps.iter().find(|step| step.id == id);
        let intent = step.map(|step| self.intent(step));
        self.mark_one(db, id, intent, StepState::Reverted).await
    }

    async fn mark_one(
        &self,
        db: &Db,
        id: &str,
        intent: Option<Intent<'_>>,
        state: StepState,
    ) -> Result<(), MigrationError> {
        let ledger = self.ledger(db)?;
        let (session, records, _) = self.hold(&ledger).await?;
        let result = async {
            let recorded = records.get(id).map(|record| Intent {
                id: &record.id,
                order: record.order,
                kind: record.kind,
                description: record.description.as_deref(),
                version: record.version.as_deref(),
                fingerprint: record.fingerprint.as_deref(),
            });
            match intent.or(recorded) {
                Some(intent) => self.mark_step(&session, &intent, state).await,
                None => Err(self.error(Some(id), MigrationErrorKind::NoSuchStep)),
            }
        };
        let result = result.await;
        self.leave(&session, result).await
    }

    pub(super) async fn mark_step(
        &self,
        session: &Session,
        intent: &Intent<'_>,
        state: StepState,
    ) -> Result<(), MigrationError> {
        match session.mark(intent, state).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.lost(intent.id, session.token())),
            Err(error) => Err(self.database(Some(intent.id), error)),
        }
    }

    /// Records the present fingerprints of steps that are done, in place of the older ones. Gives the ids of those that had
    /// changed. Steps that run again on change stay as they are.
    ///
    /// Cost: as that of [`baseline`](Migrations::baseline), for each step that had changed.
    ///
    /// # Errors
    /// `Busy`, `LeaseLost`, `Database`, and those of [`check`](Migrations::check).
    pub async fn accept_changed(&self, db: &Db) -> Result<Vec<String>, MigrationError> {
        let ledger = self.ledger(db)?;
        let (session, records, _) = self.hold(&ledger).await?;
        let result = async {
            let mut accepted = Vec::new();
            for (step, record) in self.known(&records) {
                let Some(fingerprint) = step.known_fingerprint() else {
                    continue;
                };
                if !step.is_once() || !has_changed(step, record) {
                    continue;
                }
                let adopted = session.adopt(&step.id, fingerprint).await;
                if !adopted.map_err(|error| self.database(Some(&step.id), error))? {
                    return Err(self.lost(&step.id, session.token()));
                }
                accepted.push(step.id.clone());
            }
            Ok(accepted)
        };
        let result = result.await;
        self.leave(&session, result).await
    }

    /// Ends the lease, whoever has it: for a process that is known to be dead, when nobody wants to wait. One that lives
    /// after all loses it, and its late writes change nothing. Whether somebody had it. One round trip.
    ///
    /// # Errors
    /// `Database`, `InTransaction`, and those of [`check`](Migrations::check).
    pub async fn break_lease(&self, db: &Db) -> Result<bool, MigrationError> {
        let ledger = self.ledger(db)?;
        let ended = ledger.leases.end_now().await;
        ended.map_err(|error| self.database(None, error))
    }
}
