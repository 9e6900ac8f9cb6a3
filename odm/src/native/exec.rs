//! Executing requests: reads over a view, writes as jobs of the engine's writer or inside a transaction.
//!
//! Everything here is synchronous and works on the [`Read`](super::storage::Read) and
//! [`Write`](super::storage::Write) traits, so that single operations and transactions share one path.

pub(crate) mod aggregate;
pub(crate) mod alter;
pub(crate) mod batch;
pub(crate) mod by_id;
mod capped;
pub(crate) mod change;
pub(crate) mod collections;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod cursor;
pub(crate) mod data_size;
pub(crate) mod delete;
pub(crate) mod distinct;
pub(crate) mod expire;
pub(crate) mod explain;
pub(crate) mod find_and_modify;
pub(crate) mod indexes;
mod merge;
mod noted;
pub(crate) mod output;
mod place;
pub(crate) mod query;
pub(crate) mod record;
mod scan;
pub(crate) mod search;
pub(crate) mod series;
pub(crate) mod statement;
pub(crate) mod statistics;
pub(crate) mod tail;
mod temporary;
mod trial;
pub(crate) mod update;
mod validate;
pub(crate) mod view;
pub(crate) mod walk;
pub(crate) mod watch;

use std::time::{Duration, Instant};

use super::fault::{Class, Fault, Result, code};

/// A database and a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) database: String,
    pub(crate) collection: String,
}

impl std::fmt::Display for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.database, self.collection)
    }
}

impl Namespace {
    /// Checks the names as the server does (code 73).
    pub(crate) fn check(&self) -> Result<()> {
        check_database(&self.database)?;
        self.check_plain()?;
        if self.collection.contains('$') {
            return Err(invalid(format!("Invalid collection name: {}", self.collection)));
        }
        match self.collection.len() + self.database.len() + 1 > 255 {
            true => Err(invalid(format!(
                "Fully qualified namespace is too long. Namespace: {self} Max: 255"
            ))),
            false => Ok(()),
        }
    }

    /// Checks the names of a collection that is only looked for: one whose name is too long is not found. Where
    /// the server lets them by, so is one with `dollars` (code 73 for the rest).
    pub(crate) fn check_sought(&self, dollars: bool) -> Result<()> {
        check_database(&self.database)?;
        self.check_plain()?;
        match !dollars && self.collection.contains('$') {
            // The server leaves the quotation open.
            true => Err(invalid(format!("Invalid collection name specified '{self}"))),
            false => Ok(()),
        }
    }

    /// What no command lets by.
    fn check_plain(&self) -> Result<()> {
        let name = &self.collection;
        if name.starts_with('.') {
            return Err(invalid(format!("Collection names cannot start with '.': {name}")));
        }
        match name.is_empty() || name.contains('\0') {
            true => Err(invalid(format!("Invalid namespace specified '{self}'"))),
            false => Ok(()),
        }
    }
}

fn invalid(text: String) -> Fault {
    Fault::new(code::INVALID_NAMESPACE, text)
}

impl Namespace {
    /// Whether the collection is one of those that the server fills.
    pub(crate) fn is_of_server(&self) -> bool {
        matches!(&*self.collection, "system.views" | "system.profile")
    }

    /// Refuses what users do not write to, as the server does (code 73, or 2).
    pub(crate) fn check_writable(&self) -> Result<()> {
        let refused = |text: String| Err(Fault::new(code::INVALID_NAMESPACE, text));
        if self.is_of_server() {
            return refused(format!("cannot write to {self}"));
        }
        let Some(name) = self.collection.strip_prefix("system.") else {
            return match self.collection.contains(".system.") {
                true => Err(Fault::new(code::BAD_VALUE, format!("Invalid namespace: {self}"))),
                false => Ok(()),
            };
        };
        let of_series = name.strip_prefix("buckets.").is_some_and(|rest| !rest.is_empty());
        let known = of_series || matches!(name, "js" | "users");
        if known || matches!(&*self.database, "admin" | "config" | "local") {
            return Ok(());
        }
        refused(format!("Invalid system namespace: {self}"))
    }
}

/// Checks a database name as the server does (code 73).
pub(crate) fn check_database(name: &str) -> Result<()> {
    let bad = name.is_empty() || name.len() > 63 || name.contains(['\0', '/', '\\', '.', ' ', '"', '$']);
    if bad {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Invalid database name: '{name}'"),
        ));
    }
    Ok(())
}

/// When a time limit that begins now is over: it is counted in milliseconds, of which a part counts for a whole one.
pub(crate) fn after(limit: Duration) -> Option<Instant> {
    let limit = match limit.is_zero() {
        true => limit,
        false => limit.max(Duration::from_millis(1)),
    };
    Instant::now().checked_add(limit)
}

/// When an operation must have ended. Of a cursor only the time counts in which it is asked for something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadline {
    at: Option<Instant>,
    /// How much time there is left, while nothing is asked for.
    left: Option<Duration>,
    ticks: u32,
}

impl Deadline {
    /// A deadline this far from now, by [`after`]; none without a limit.
    pub(crate) fn after(limit: Option<Duration>) -> Deadline {
        Deadline {
            at: limit.and_then(after),
            left: None,
            ticks: 0,
        }
    }

    /// Stops the clock.
    pub(crate) fn pause(&mut self) {
        if let Some(at) = self.at.take() {
            self.left = Some(at.saturating_duration_since(Instant::now()));
        }
    }

    /// Lets the clock go on.
    pub(crate) fn resume(&mut self) {
        if let Some(left) = self.left.take() {
            self.at = after(left);
        }
    }

    /// Counts one step; looks at the clock every 128 steps.
    #[inline]
    pub(crate) fn tick(&mut self) -> Result<()> {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks % 128 == 1 {
            self.check()
        } else {
            Ok(())
        }
    }

    fn check(&self) -> Result<()> {
        match self.at {
            Some(at) if Instant::now() >= at => Err(Fault::of(
                Class::Timeout,
                code::MAX_TIME_EXPIRED,
                "operation exceeded time limit",
            )),
            _ => Ok(()),
        }
    }
}
