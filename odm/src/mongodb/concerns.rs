//! Concerns, as the driver has them.

use ::mongodb::Client;
use ::mongodb::options::{
    Acknowledgment, DatabaseOptions, ReadConcern as DriverReadConcern, ReadConcernLevel,
    ReadPreference as DriverReadPreference, SelectionCriteria, WriteConcern as DriverWriteConcern,
};

use crate::backend::{Concerns, ReadConcern, ReadPreference, WriteConcern};
use crate::error::{Error, ErrorKind, Result};

/// The options of a database whose operations ask for this, unless they ask for nothing.
pub(super) fn of_database(own: &Concerns) -> Option<DatabaseOptions> {
    if *own == Concerns::default() {
        return None;
    }
    let mut options = DatabaseOptions::default();
    options.read_concern = own.read_concern.map(read);
    options.write_concern = own.write_concern.map(write);
    options.selection_criteria = own.read_preference.map(selection);
    Some(options)
}

/// What operations ask for that name nothing themselves: what is said here, or else by the client, as far as it can be
/// said here too.
pub(super) fn asked(own: Concerns, client: &Client) -> Concerns {
    own.or(Concerns {
        read_concern: client.read_concern().and_then(level_of),
        write_concern: client.write_concern().and_then(acknowledgment_of),
        read_preference: client.selection_criteria().and_then(preference_of),
    })
}

/// The level of a transaction that names none: it has fewer of them.
pub(super) fn in_transaction(level: ReadConcern) -> ReadConcern {
    match level {
        ReadConcern::Available => ReadConcern::Local,
        ReadConcern::Linearizable => ReadConcern::Snapshot,
        other => other,
    }
}

fn level_of(concern: &DriverReadConcern) -> Option<ReadConcern> {
    match concern.level {
        ReadConcernLevel::Local => Some(ReadConcern::Local),
        ReadConcernLevel::Majority => Some(ReadConcern::Majority),
        ReadConcernLevel::Snapshot => Some(ReadConcern::Snapshot),
        ReadConcernLevel::Available => Some(ReadConcern::Available),
        ReadConcernLevel::Linearizable => Some(ReadConcern::Linearizable),
        _ => None,
    }
}

fn acknowledgment_of(concern: &DriverWriteConcern) -> Option<WriteConcern> {
    let mut own = match &concern.w {
        Some(Acknowledgment::Nodes(count)) => WriteConcern::members(*count),
        Some(Acknowledgment::Majority) | None => WriteConcern::majority(),
        Some(_) => return None,
    };
    if let Some(journal) = concern.journal {
        own = own.journal(journal);
    }
    if let Some(timeout) = concern.w_timeout {
        own = own.timeout(timeout);
    }
    Some(own)
}

fn preference_of(criteria: &SelectionCriteria) -> Option<ReadPreference> {
    let SelectionCriteria::ReadPreference(preference) = criteria else {
        return None;
    };
    Some(match preference {
        DriverReadPreference::Primary => ReadPreference::Primary,
        DriverReadPreference::PrimaryPreferred { .. } => ReadPreference::PrimaryPreferred,
        DriverReadPreference::Secondary { .. } => ReadPreference::Secondary,
        DriverReadPreference::SecondaryPreferred { .. } => ReadPreference::SecondaryPreferred,
        DriverReadPreference::Nearest { .. } => ReadPreference::Nearest,
        _ => return None,
    })
}

/// Refuses writes that nobody acknowledges: there would be nothing to answer.
pub(super) fn check(own: &Concerns) -> Result<()> {
    match own.write_concern.and_then(|concern| concern.member_count()) {
        Some(0) => Err(Error::new(
            ErrorKind::InvalidArgument,
            "handles do not support unacknowledged write concern",
        )
        .with_backend(super::NAME)),
        _ => Ok(()),
    }
}

pub(super) fn read(concern: ReadConcern) -> DriverReadConcern {
    match concern {
        ReadConcern::Local => DriverReadConcern::local(),
        ReadConcern::Majority => DriverReadConcern::majority(),
        ReadConcern::Snapshot => DriverReadConcern::snapshot(),
        ReadConcern::Available => DriverReadConcern::available(),
        ReadConcern::Linearizable => DriverReadConcern::linearizable(),
    }
}

pub(super) fn write(concern: WriteConcern) -> DriverWriteConcern {
    let mut own = match concern.member_count() {
        None => DriverWriteConcern::majority(),
        Some(count) => DriverWriteConcern::from(Acknowledgment::Nodes(count)),
    };
    own.journal = concern.wants_journal();
    own.w_timeout = concern.wait();
    own
}

pub(super) fn selection(preference: ReadPreference) -> SelectionCriteria {
    let options = None;
    SelectionCriteria::ReadPreference(match preference {
        ReadPreference::Primary => DriverReadPreference::Primary,
        ReadPreference::PrimaryPreferred => DriverReadPreference::PrimaryPreferred { options },
        ReadPreference::Secondary => DriverReadPreference::Secondary { options },
        ReadPreference::SecondaryPreferred => DriverReadPreference::SecondaryPreferred { options },
        ReadPreference::Nearest => DriverReadPreference::Nearest { options },
    })
}
