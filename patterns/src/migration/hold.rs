//! Having the lease: waiting for it, keeping it, giving it back.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, pending, select};

use super::definition::Migrations;
use super::error::{MigrationError, MigrationErrorKind};
use super::lease::{Asked, MigrationLease};
use super::ledger::{Ledger, Records, Session};
use super::report::MigrationEvent;

/// The shortest pause.
const SHORTEST: Duration = Duration::from_millis(1);

/// What came of asking for the lease.
pub(super) enum Entered {
    /// It is ours, with what is recorded, after so long a wait.
    Session(Box<Session>, Records, Duration),
    /// There is nothing to do with it.
    Idle(Records, Duration),
}

impl Migrations {
    /// Waits for the lease, and takes it; or finds, where steps up to a place are to be run, that they are done.
    pub(super) async fn enter(&self, ledger: &Ledger, end: Option<usize>) -> Result<Entered, MigrationError> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(end) = end {
                let records = self.read(ledger).await?;
                // What is wrong is judged with the lease, when nobody changes the records.
                if self.todo(&records, end).is_ok_and(|todo| todo.is_empty()) {
                    return Ok(Entered::Idle(records, waited));
                }
            }
            let asked = ledger.leases.ask(&self.owner).await;
            match asked.map_err(|error| self.database(None, error))? {
                Asked::Ours(lease) => {
                    let mut session = Session::of(ledger.clone(), lease, self.beat());
                    match session.begin().await {
                        Ok(Some(records)) => {
                            return Ok(Entered::Session(Box::new(session), records, waited));
                        }
                        Ok(None) => {}
                        Err(error) => {
                            let error = self.database(None, error);
                            return self.leave(&session, Err(error)).await;
                        }
                    }
                }
                Asked::Theirs(lease) if waited >= self.patience => return Err(self.busy(lease)),
                Asked::Theirs(lease) => {
                    if waited.is_zero() {
                        self.tell(&MigrationEvent::Waiting {
                            owner: lease.owner.clone(),
                            at: lease.step.clone(),
                            until: lease.until,
                        });
                    }
                    let rest = lease.until.saturating_duration_since(ledger.db.now());
                    let pause = self.poll.min(rest).min(self.patience - waited).max(SHORTEST);
                    self.wait.wait(pause).await;
                    waited = waited.saturating_add(pause);
                }
            }
        }
    }

    /// The lease and the records, for what is not a run.
    pub(super) async fn hold(&self, ledger: &Ledger) -> Result<(Session, Records, Duration), MigrationError> {
        loop {
            if let Entered::Session(session, records, waited) = self.enter(ledger, None).await? {
                return Ok((*session, records, waited));
            }
        }
    }

    /// Gives the lease back, unless it is lost.
    pub(super) async fn leave<T>(
        &self,
        session: &Session,
        result: Result<T, MigrationError>,
    ) -> Result<T, MigrationError> {
        if !result.as_ref().is_err_and(MigrationError::is_lease_lost)
            && let Err(error) = session.end().await
        {
            self.tell(&MigrationEvent::NotReleased(error));
        }
        result
    }

    /// Gives signs of life for as long as it is polled; ready when the lease is lost, or ends while a sign of life fails or
    /// is not answered.
    pub(super) async fn beats(&self, session: &Session) {
        let (term, beat) = (&session.term, self.beat());
        // One whose signs of life come too late for it lasts until somebody wants it.
        let ends = self.lease > beat;
        let mut has_failed = false;
        loop {
            let pause = if ends { beat.min(term.rest()) } else { beat };
            self.wait.wait(pause.max(SHORTEST)).await;
            let rest = match term.rest() {
                Duration::ZERO if ends && has_failed => return,
                // The process stood still, or the clock was set: nobody may have wanted it.
                Duration::ZERO => beat,
                rest => rest,
            };
            let renew = pin!(term.renew());
            // Begun only where there is no answer at once.
            let end = pin!(async {
                match ends {
                    true => self.wait.wait(rest).await,
                    false => pending().await,
                }
            });
            let renewed = match select(renew, end).await {
                Either::Left((renewed, _)) => renewed,
                Either::Right(((), _)) => return,
            };
            has_failed = renewed.is_err();
            match renewed {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    self.tell(&MigrationEvent::HeartbeatFailed(error));
                    // Somebody else may have it by now.
                    if term.is_over() {
                        return;
                    }
                }
            }
        }
    }

    fn beat(&self) -> Duration {
        self.heartbeat.unwrap_or(self.lease / 3).max(SHORTEST)
    }

    fn busy(&self, lease: MigrationLease) -> MigrationError {
        let kind = MigrationErrorKind::Busy {
            owner: lease.owner,
            at: lease.step,
            until: lease.until,
        };
        self.error(None, kind)
    }
}
