//! Isolation: what many tasks read and wrote at once, replayed in the order of the commits.
//!
//! [`run`] lets tasks work on a database and keeps what each of them saw; the order of the commits comes from a
//! change stream. [`replay`] goes through the commits with a model and asks of every unit of work whether what it saw
//! can be: a transaction sees one state, not older than what was acknowledged before it began, and its own writes;
//! nobody else wrote between that state and its commit what it writes; a single write changes the state before its
//! commit; a single read sees one state.

mod history;
mod replay;
mod workload;

pub use self::history::{Answer, Change, Commit, Found, History, Key, Query, Row, Step, Unit, Work};
pub use self::replay::{Replayed, replay};
pub use self::workload::{Load, run};
