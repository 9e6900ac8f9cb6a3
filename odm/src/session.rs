//! Sessions whose operations see those before them.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bson::RawDocumentBuf;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::backend::Session;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};

/// A session whose operations see those before them: [`Db::causal_session`](crate::Db::causal_session) starts it.
///
/// It derefs to [`Db`]; what is made of that (collections, other databases, transactions, clones) belongs to the session
/// too.
#[derive(Clone)]
pub struct CausalSession {
    db: Db,
    /// None where every operation sees those before it.
    session: Option<Arc<dyn Session>>,
}

impl CausalSession {
    pub(crate) fn new(db: Db, session: Option<Arc<dyn Session>>) -> CausalSession {
        CausalSession { db, session }
    }

    /// How far the session has seen, for another session to go on from; `None` before its first operation, and on the
    /// embedded engine, where there is nothing to wait for. No round trip.
    ///
    /// # Errors
    /// None on the backends of this crate.
    pub async fn token(&self) -> Result<Option<CausalToken>> {
        match &self.session {
            Some(session) => Ok(session.token().await?.map(CausalToken)),
            None => Ok(None),
        }
    }

    /// Has the session see all that another one had seen. No round trip: the next operation waits for it.
    ///
    /// A token that a client gives back is theirs to change: with one that was made up, a server refuses the operations of
    /// this session, or they wait for what never comes until their `max_time` is over. On the embedded engine a token
    /// means nothing.
    ///
    /// # Errors
    /// `InvalidArgument` for a token of something else.
    pub async fn advance_to(&self, token: &CausalToken) -> Result<()> {
        match &self.session {
            Some(session) => session.advance(&token.0).await,
            None => Ok(()),
        }
    }
}

impl Deref for CausalSession {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl fmt::Debug for CausalSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CausalSession").field(&self.db).finish()
    }
}

/// How far a [`CausalSession`] has seen. Its text means nothing to anybody but the server, and is fit for a cookie, a
/// header or a URL; so it serializes too.
#[derive(Clone, PartialEq)]
pub struct CausalToken(RawDocumentBuf);

impl fmt::Display for CausalToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for CausalToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CausalToken({self})")
    }
}

impl FromStr for CausalToken {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument` when it is not the text of one.
    fn from_str(text: &str) -> Result<CausalToken> {
        let malformed = || Error::new(ErrorKind::InvalidArgument, "malformed token of a session");
        let bytes = URL_SAFE_NO_PAD.decode(text);
        let bytes = bytes.map_err(|error| malformed().with_source(error))?;
        let token = RawDocumentBuf::from_bytes(bytes).map_err(|error| malformed().with_source(error))?;
        Ok(CausalToken(token))
    }
}

impl Serialize for CausalToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CausalToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<CausalToken, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
