//! Write concerns that one machine cannot satisfy, and writes whose results nobody waits for.

use super::super::document::{Doc, Fields, Owned, Value};
use super::super::exec::statement::Outcome;
use super::Job;
use super::reply::{Reply, Verb, text, written};
use super::shape::{truth, whole};

/// How a reply differs for the write concern of its command.
#[derive(Clone, Debug)]
pub(crate) enum Concern {
    /// The write is done, but not acknowledged as was asked for: what the server says of it.
    Unsatisfied(Fields),
    /// What is written is not counted.
    Unacknowledged(Verb),
}

impl Concern {
    /// What the command's write concern, which was found to be well-formed, asks for beyond one machine.
    pub(super) fn of(doc: Doc<'_>, job: &Job) -> Option<Concern> {
        if !matches!(job, Job::Batch(..) | Job::Write(_) | Job::Output(..)) {
            return None;
        }
        let concern = doc.get("writeConcern")?.as_document()?;
        let w = concern.get("w")?;
        let (code, name, message) = match &w {
            Value::String("majority") => return None,
            Value::String(_) | Value::Null | Value::Undefined => {
                let mode = w.as_str().unwrap_or_default();
                let message =
                    format!("No write concern mode named '{mode}' found in replica set configuration");
                (79, "UnknownReplWriteConcern", message)
            }
            Value::Document(tags) => {
                let tag = tags.elements().next();
                let tag = tag.map_or(String::new(), |tag| tag.name_str().to_owned());
                (4, "NoSuchKey", format!("No replica set tag key {tag} in config"))
            }
            number => match whole(number).unwrap_or(0) {
                0 => {
                    // To wait for the journal is to wait.
                    let waits = ["j", "fsync"]
                        .into_iter()
                        .any(|name| concern.get(name).is_some_and(|own| truth(&own)));
                    return match job {
                        Job::Batch(_, verb) if !waits => Some(Concern::Unacknowledged(*verb)),
                        _ => None,
                    };
                }
                1 => return None,
                _ => (
                    100,
                    "UnsatisfiableWriteConcern",
                    "Not enough data-bearing nodes".to_owned(),
                ),
            },
        };
        let asked = match w {
            Value::Null | Value::Undefined => text(""),
            ref number if number.is_number() => Owned::Int32(whole(number).unwrap_or(0) as i32),
            Value::Document(tags) => {
                let tags = tags.elements().map(|tag| {
                    let members = Owned::Int64(whole(&tag.value()).unwrap_or(0));
                    (tag.name_str().to_owned(), members)
                });
                Owned::Document(tags.collect())
            }
            other => other.into(),
        };
        let mut given = Reply::new().with("w", asked);
        if let Some(journal) = concern.get("j") {
            given = given.with("j", Owned::Bool(truth(&journal)));
        }
        let time = concern.get("wtimeout").and_then(|time| whole(&time)).unwrap_or(0);
        let given = given
            .with("wtimeout", Owned::Int32(i32::try_from(time).unwrap_or(0)))
            .with("provenance", text("clientSupplied"));
        let info = Reply::new().with("writeConcern", given.inner());
        Some(Concern::Unsatisfied(vec![
            ("code".to_owned(), Owned::Int32(code)),
            ("codeName".to_owned(), text(name)),
            ("errmsg".to_owned(), text(message)),
            ("errInfo".to_owned(), info.inner()),
        ]))
    }

    /// The reply with what the concern adds to it, or takes from it.
    pub(crate) fn apply(self, reply: &[u8]) -> Vec<u8> {
        match self {
            Concern::Unacknowledged(verb) => written(verb, &Outcome::default()),
            Concern::Unsatisfied(error) => {
                let fields = Doc::Raw(reply)
                    .elements()
                    .filter(|element| element.name() != b"ok");
                let reply = fields.fold(Reply::new(), |reply, element| {
                    reply.with(element.name_str(), element.value().into())
                });
                reply.with("writeConcernError", Owned::Document(error)).done()
            }
        }
    }
}
