//! The doors, by what nests in them.

mod commands;
mod expressions;
mod filters;
mod inserts;
mod schemas;
mod stages;
mod updates;

use super::Door;

/// All of them.
pub fn doors() -> impl Iterator<Item = &'static Door> {
    [
        inserts::DOORS,
        filters::DOORS,
        schemas::DOORS,
        stages::DOORS,
        expressions::DOORS,
        updates::DOORS,
        commands::DOORS,
    ]
    .into_iter()
    .flatten()
}
