//! Adding events by the update that makes them happen.

use odm::bson::{DateTime, doc};
use odm::{Field, Filter, Update};

use super::message::{Message, Outbox};

/// What can be done with an [`Outbox`] in updates and filters of its document: `o.outbox.emit(message)`.
pub trait Emit<R> {
    /// Adds an event.
    fn emit(&self, message: Message) -> Update<R>;

    /// Adds events, in this order.
    fn emit_all(&self, messages: impl IntoIterator<Item = Message>) -> Update<R>;

    /// There is room for so many more events when at most `bound` may wait: a condition for the update that adds them, so
    /// that a document whose relay is away does not grow without end.
    fn has_room(&self, more: u32, bound: u32) -> Filter<R>;

    /// Events wait. An index on the outbox's `events.at` finds them.
    fn has_events(&self) -> Filter<R>;
}

impl<R> Emit<R> for Field<R, Outbox> {
    fn emit(&self, message: Message) -> Update<R> {
        self.emit_all([message])
    }

    fn emit_all(&self, messages: impl IntoIterator<Item = Message>) -> Update<R> {
        let events: Field<R, Vec<Message>> = Field::new(self.path().child("events"));
        events.push_each(messages)
    }

    fn has_room(&self, more: u32, bound: u32) -> Filter<R> {
        match bound.checked_sub(more) {
            Some(place) => {
                Filter::raw(doc! { format!("{}.events.{place}", self.path()): { "$exists": false } })
            }
            None => Filter::none(),
        }
    }

    fn has_events(&self) -> Filter<R> {
        let at = format!("{}.events.at", self.path());
        Filter::raw(doc! { at: { "$gte": DateTime::MIN } })
    }
}
