//! Undoing what was done, the last first.

use odm::Db;

use super::definition::{Migrations, has_not_begun};
use super::error::{MigrationError, MigrationErrorKind};
use super::ledger::{Records, Session};
use super::record::{StepKind, StepRecord, StepState};
use super::report::{MigrationEvent, MigrationReport, RanStep};
use super::run::since;
use super::step::Step;

impl Migrations {
    /// Undoes the last so many steps by their ways down, the last in the list first. A step that failed, or was interrupted,
    /// may have happened in part, and is undone like one that is done; one whose undoing was broken off is undone again.
    /// Steps that run every time, or on change, are no part of it.
    ///
    /// Cost: as that of [`run`](Migrations::run).
    ///
    /// # Errors
    /// `NoDown`, before anything is undone; `RevertFailed`: the steps behind it are undone, the step is half undone, and
    /// nothing runs before it is reverted, or [marked](Migrations::mark_done). Otherwise as [`run`](Migrations::run).
    pub async fn revert(&self, db: &Db, steps: usize) -> Result<MigrationReport, MigrationError> {
        self.revert_some(db, 0, steps).await
    }

    /// Undoes the steps behind this one, which stays.
    ///
    /// # Errors
    /// As [`revert`](Migrations::revert); `NoSuchStep`.
    pub async fn revert_to(&self, db: &Db, id: &str) -> Result<MigrationReport, MigrationError> {
        self.revert_some(db, self.place(id)? + 1, usize::MAX).await
    }

    async fn revert_some(
        &self,
        db: &Db,
        from: usize,
        most: usize,
    ) -> Result<MigrationReport, MigrationError> {
        let ledger = self.ledger(db)?;
        let begun = db.now();
        let (session, records, waited) = self.hold(&ledger).await?;
        let mut report = MigrationReport {
            waited,
            ..MigrationReport::default()
        };
        let result = self
            .revert_all(&session, &records, (from, most), &mut report)
            .await;
        self.leave(&session, result).await?;
        report.duration = since(begun, db.now()).saturating_sub(waited);
        Ok(report)
    }

    async fn revert_all(
        &self,
        session: &Session,
        records: &Records,
        (from, most): (usize, usize),
        report: &mut MigrationReport,
    ) -> Result<(), MigrationError> {
        self.refuse_unknown(records)?;
        let known = self.reversible(records, from, most);
        let stays = |step: &Step, record: &StepRecord| {
            record.state == StepState::Done && known.iter().all(|(other, _)| other.id != step.id)
        };
        let stay = self.known(records).filter(|(step, record)| stays(step, record));
        report.skipped = stay.map(|(step, _)| step.id.clone()).collect();
        let has_none = known
            .iter()
            .find(|(step, record)| step.down.is_none() && !has_not_happened(step, record));
        if let Some((step, _)) = has_none {
            return Err(self.error(Some(&step.id), MigrationErrorKind::NoDown));
        }
        let steps: Vec<&Step> = known.iter().map(|(step, _)| *step).collect();
        self.refuse_transactions(&session.ledger.db, &steps).await?;
        for (step, record) in known {
            let reverted = self.revert_step(session, step, record).await?;
            self.tell(&MigrationEvent::Reverted(reverted.clone()));
            report.steps.push(reverted);
        }
        Ok(())
    }

    /// The last steps that have happened, or may have, the last first.
    fn reversible<'a>(
        &'a self,
        records: &'a Records,
        from: usize,
        most: usize,
    ) -> Vec<(&'a Step, &'a StepRecord)> {
        let steps = self.steps.iter().skip(from).rev();
        steps
            .filter(|step| step.is_once())
            .filter_map(|step| Some((step, records.get(&step.id)?)))
            .filter(|(_, record)| !has_not_begun(Some(record)))
            .take(most)
            .collect()
    }

    async fn revert_step(
        &self,
        session: &Session,
        step: &Step,
        record: &StepRecord,
    ) -> Result<RanStep, MigrationError> {
        match &step.down {
            Some(down) if !has_not_happened(step, record) => {
                let states = (StepState::Reverting, StepState::Reverted);
                let goes_on = record.state == StepState::Reverting;
                self.carry_out(session, step, down, states, (Some(record), goes_on))
                    .await
            }
            _ => {
                self.mark_step(session, &self.intent(step), StepState::Reverted)
                    .await?;
                Ok(RanStep {
                    id: step.id.clone(),
                    attempt: 0,
                    duration: std::time::Duration::ZERO,
                    examined: 0,
                    changed: 0,
                })
            }
        }
    }
}

/// Whether a step that has begun has left nothing, because none of its transactions was committed.
fn has_not_happened(step: &Step, record: &StepRecord) -> bool {
    step.kind() == StepKind::Transactional
        && record.kind == StepKind::Transactional
        && !record.partial
        && matches!(record.state, StepState::Running | StepState::Failed)
}
