//! Sessions whose operations see what came before them.

use bson::RawDocumentBuf;
use futures_core::future::BoxFuture;

use super::Backend;
use crate::error::{Error, ErrorKind, Result};

/// A backend whose operations see those that came before them in the session, whichever member answers: causal
/// consistency.
pub trait Session: Backend {
    /// Up to where the session has seen: what another one is [advanced](Session::advance) to. `None` before its first
    /// operation.
    fn token(&self) -> BoxFuture<'_, Result<Option<RawDocumentBuf>>>;

    /// Has the session see what another one has seen.
    ///
    /// # Errors
    /// `InvalidArgument` when it is not what [`token`](Session::token) gives.
    fn advance<'a>(&'a self, token: &'a RawDocumentBuf) -> BoxFuture<'a, Result<()>>;
}

pub(super) fn unsupported(backend: &'static str, what: &str) -> Error {
    let text = format!("the backend has no {what}");
    Error::new(ErrorKind::Unsupported, text).with_backend(backend)
}
