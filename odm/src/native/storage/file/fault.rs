//! What redb's and the system's errors mean.

use std::io;
use std::path::Path;

use redb::DatabaseError;

use super::super::format;
use super::super::paged::{Paged, Unreadable};
use crate::native::fault::{Class, Fault, code};

pub(super) fn foreign() -> Fault {
    Fault::of(
        Class::Unsupported,
        code::INTERNAL,
        "the database file was not written by odm",
    )
}

pub(super) fn io_fault(what: &str, error: &io::Error) -> Fault {
    match Unreadable::of(error) {
        Some(Unreadable::Damaged(what)) => return format::damaged(what.clone()),
        Some(Unreadable::Foreign) => return foreign(),
        Some(Unreadable::Newer(version)) => {
            return Fault::of(
                Class::Unsupported,
                code::INTERNAL,
                format!(
                    "the database file has format {version}, this version of odm reads format {}",
                    format::VERSION
                ),
            );
        }
        None => {}
    }
    Fault::of(Class::Io, code::INTERNAL, format!("{what}: {error}"))
}

/// After a damaged page redb refuses to read on without saying why: the fault for that, with the reason.
pub(super) fn explained(fault: Fault, paged: &Paged) -> Fault {
    match paged.damage() {
        Some(damage) if fault.class() == Class::Io => format::damaged(format!(
            "{damage}; nothing is read until the database is opened again"
        )),
        _ => fault,
    }
}

pub(super) fn in_doubt(error: &dyn std::fmt::Display) -> Fault {
    Fault::of(
        Class::InDoubt,
        code::INTERNAL,
        format!("the commit failed, whether it is on disk is not known: {error}"),
    )
}

pub(super) fn locked(directory: &Path) -> Fault {
    Fault::of(
        Class::Locked,
        code::INTERNAL,
        format!(
            "the database in {} is open already, in this process or in another",
            directory.display()
        ),
    )
}

pub(super) fn closed() -> Fault {
    Fault::of(Class::Locked, code::INTERNAL, "the database is closed")
}

pub(super) fn opening(error: DatabaseError) -> Fault {
    match error {
        DatabaseError::DatabaseAlreadyOpen => Fault::of(
            Class::Locked,
            code::INTERNAL,
            "the database is open already, in this process or in another",
        ),
        error => fault(error.into()),
    }
}

pub(super) fn fault(error: redb::Error) -> Fault {
    match error {
        redb::Error::Io(error) => io_fault("the database file failed", &error),
        redb::Error::PreviousIo => Fault::of(
            Class::Io,
            code::INTERNAL,
            "the database file failed before; close and open it again",
        ),
        redb::Error::DatabaseClosed => closed(),
        error => format::damaged(format!("the store is damaged: {error}")),
    }
}
