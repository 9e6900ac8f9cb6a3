//! Updates by the server's clock.

use super::update::{Action, Update};
use crate::model::{Date, Field};

impl<R, T> Field<R, T> {
    /// Becomes the time of the update, by the clock of the server or engine.
    pub fn current_date(&self) -> Update<R>
    where
        T: Date,
    {
        Update::change(self, Ok(Action::CurrentDate))
    }
}

impl<R> Field<R, bson::Timestamp> {
    /// Becomes the timestamp of the update.
    pub fn current_timestamp(&self) -> Update<R> {
        Update::change(self, Ok(Action::CurrentTimestamp))
    }
}

impl<R> Field<R, Option<bson::Timestamp>> {
    /// Becomes the timestamp of the update.
    pub fn current_timestamp(&self) -> Update<R> {
        Update::change(self, Ok(Action::CurrentTimestamp))
    }
}
