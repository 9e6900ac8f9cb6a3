//! The cursors that commands open, and the sessions that they go on in.
//!
//! A server takes a `getMore` from the session that opened the cursor and from no other. The driver's pool gives a command
//! any session that is free: as a rule the last one, but not where other commands run beside it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::mongodb::Client;
use bson::{Bson, Document, RawBsonRef, RawDocument};

use super::{Attempt, SharedSession};

/// How many cursors are remembered. One before them goes on in whatever session the pool gives.
const MOST: usize = 1_000;

/// Commands whose replies may be the beginning of a cursor.
const OPENING: &[&str] = &["aggregate", "find", "listCollections", "listIndexes"];

/// The sessions of open cursors, oldest first.
#[derive(Default)]
pub(super) struct CursorSessions(Mutex<VecDeque<(i64, SharedSession)>>);

impl CursorSessions {
    fn known(&self) -> MutexGuard<'_, VecDeque<(i64, SharedSession)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, id: i64) -> Option<SharedSession> {
        let mut known = self.known();
        let at = known.iter().position(|(other, _)| *other == id)?;
        known.remove(at).map(|(_, session)| session)
    }

    fn look(&self, id: i64) -> Option<SharedSession> {
        let known = self.known();
        let found = known.iter().find(|(other, _)| *other == id);
        found.map(|(_, session)| session.clone())
    }

    /// The session that a command has to run in, if it is one that opens a cursor or goes on with one.
    pub(super) async fn of(&self, command: &RawDocument, client: &Client) -> Attempt<Option<SharedSession>> {
        let Some(Ok((name, value))) = command.iter().next() else {
            return Ok(None);
        };
        if matches!(command.get("lsid"), Ok(Some(_))) {
            return Ok(None);
        }
        match (name.as_str(), value) {
            // One that is refused leaves the cursor open.
            ("getMore", RawBsonRef::Int64(id)) => Ok(self.look(id)),
            ("killCursors", _) => {
                if let Ok(ids) = command.get_array("cursors") {
                    for id in ids.into_iter().flatten().filter_map(|id| id.as_i64()) {
                        self.take(id);
                    }
                }
                Ok(None)
            }
            (name, _) if OPENING.contains(&name) => {
                let session = client.start_session().causal_consistency(false).await?;
                Ok(Some(SharedSession::of(session)))
            }
            _ => Ok(None),
        }
    }

    /// Remembers the session of a cursor that is open behind this reply to a command, and forgets that of one at its end.
    pub(super) fn keep(&self, asked: Option<i64>, reply: &Document, session: SharedSession) {
        let id = reply
            .get_document("cursor")
            .ok()
            .and_then(|cursor| cursor.get("id"));
        let Some(&Bson::Int64(id @ (1.. | ..=-1))) = id else {
            asked.and_then(|id| self.take(id));
            return;
        };
        let mut known = self.known();
        if known.iter().any(|(other, _)| *other == id) {
            return;
        }
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back((id, session));
    }
}

/// The cursor that a command goes on with.
pub(super) fn asked(command: &RawDocument) -> Option<i64> {
    match command.iter().next() {
        Some(Ok((name, RawBsonRef::Int64(id)))) if name.as_str() == "getMore" => Some(id),
        _ => None,
    }
}
