//! Wrappers around a backend: an operation log and fault injection.
//!
//! Both wrap any backend, and the transactions that it begins. Use them through
//! [`Db::logged`](crate::Db::logged) and [`Db::faulty`](crate::Db::faulty).

mod faulty;
mod logged;
#[cfg(test)]
mod tests;
#[cfg(feature = "tracing")]
mod traced;

pub use self::faulty::{Fault, Faults, Faulty};
pub use self::logged::{Log, LogEntry, Logged};
#[cfg(feature = "tracing")]
pub use self::traced::Traced;
