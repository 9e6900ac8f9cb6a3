//! Wrappers around a backend: an operation log, fault injection, and a watch for scans.
//!
//! They wrap any backend, and the transactions that it begins. Use them through
//! [`Db::logged`](crate::Db::logged), [`Db::faulty`](crate::Db::faulty) and
//! [`Db::watch_scans`](crate::Db::watch_scans).

mod faulty;
mod logged;
mod scanning;
#[cfg(test)]
mod tests;
#[cfg(feature = "tracing")]
mod traced;

pub use self::faulty::{Fault, Faults, Faulty};
pub use self::logged::{Log, LogEntry, Logged};
pub use self::scanning::{Scan, Scanning, Scans};
#[cfg(feature = "tracing")]
pub use self::traced::Traced;
