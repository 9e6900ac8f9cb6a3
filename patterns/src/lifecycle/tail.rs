//! Following a log.

use std::fmt;
use std::time::{Duration, Instant};

use odm::bson::{RawDocumentBuf, doc};
use odm::{Collection, Cursor, Error, ErrorKind, Model, Operand, Result};

/// The documents of a [`CappedLog`](super::CappedLog), one after another, without an end.
pub struct Tail<M: Model> {
    documents: Collection<M>,
    cursor: Option<Cursor<RawDocumentBuf>>,
    last: Option<M::Key>,
    /// Whether the documents up to the last are still to be passed over.
    passes: bool,
    /// Whether it is still to be seen that the last is there.
    is_unchecked: bool,
    pause: Duration,
}

impl<M: Model> Tail<M> {
    pub(super) fn new(documents: Collection<M>, pause: Duration) -> Tail<M> {
        Tail {
            documents,
            cursor: None,
            last: None,
            passes: false,
            is_unchecked: false,
            pause,
        }
    }

    /// How long it waits before it asks again where there was nothing.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Tail<M> {
        self.pause = pause;
        self
    }

    /// Goes on behind a document: the last that was handled before the program stopped.
    #[must_use]
    pub fn after(mut self, id: impl Operand<M::Key>) -> Tail<M> {
        self.last = Some(id.with_operand(Clone::clone));
        self
    }

    /// The next document, when there is one.
    ///
    /// Cancel safety: nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// `HistoryLost` when documents that were not seen have made room for newer ones: the last that was seen is not there
    /// any more, or the database says so. What fails is asked again by the next call. Code 2 when the collection is not
    /// capped; `Decode` for a document that is no `M`.
    pub async fn next(&mut self) -> Result<M> {
        loop {
            let cursor = match &mut self.cursor {
                Some(cursor) => cursor,
                None => {
                    self.passes = self.last.is_some();
                    self.is_unchecked = self.passes;
                    self.cursor.insert(self.documents.find_all().encoded().tail())
                }
            };
            match cursor.try_next().await {
                Ok(Some(stored)) => {
                    let id = stored.get("_id").ok().flatten().map(odm::bson::Bson::try_from);
                    let id = match id {
                        Some(Ok(id)) => self.documents.decode_key(&id)?,
                        _ => return Err(Error::new(ErrorKind::Decode, "the document has no `_id`")),
                    };
                    if self.passes {
                        // Asked when the stream has its place before it: what makes room from here on ends the stream.
                        if self.is_unchecked && !is_there(&self.documents, self.last.as_ref()).await? {
                            self.cursor = None;
                            return Err(lost());
                        }
                        self.is_unchecked = false;
                        self.passes = !self.is_last(&id)?;
                        continue;
                    }
                    self.last = Some(id);
                    return self.documents.decode(&stored);
                }
                Ok(None) => {
                    self.cursor = None;
                    if let Some(next) = Instant::now().checked_add(self.pause) {
                        odm::sleep_until(next).await;
                    }
                }
                Err(error) => {
                    self.cursor = None;
                    return Err(match error.code() {
                        Some(136) => lost().with_source(error),
                        _ => error,
                    });
                }
            }
        }
    }

    fn is_last(&self, id: &M::Key) -> Result<bool> {
        match &self.last {
            Some(last) => Ok(self.documents.encode_key(last)? == self.documents.encode_key(id)?),
            None => Ok(true),
        }
    }
}

/// Whether the document is there, if there is one to look for.
async fn is_there<M: Model>(documents: &Collection<M>, id: Option<&M::Key>) -> Result<bool> {
    let Some(id) = id else { return Ok(true) };
    let key = documents.encode_key(id)?;
    documents.raw().exists(doc! { "_id": { "$eq": key } }).await
}

fn lost() -> Error {
    Error::new(
        ErrorKind::HistoryLost,
        "documents that were not seen have made room for newer ones",
    )
}

impl<M: Model> fmt::Debug for Tail<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail")
            .field("documents", &self.documents)
            .field("cursor", &self.cursor)
            .field("pause", &self.pause)
            .finish_non_exhaustive()
    }
}
