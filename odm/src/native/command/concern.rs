//! Write concerns: the disk that is waited for, what one machine cannot satisfy, and writes whose results nobody waits for.

use super::super::document::{Doc, Fields, Owned, Value};
use super::super::exec::statement::Outcome;
use super::Job;
use super::reply::{Reply, Verb, text, written};
use super::shape::{truth, whole};

/// What the write concern of a command asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Concern {
    /// Whether what is written is to be on the disk before it is acknowledged, if that was said.
    pub(crate) journaled: Option<bool>,
    answer: Option<Answer>,
}

/// How a reply differs for the write concern of its command.
#[derive(Clone, Debug)]
enum Answer {
    /// The write is done, but not acknowledged as was asked for: what the server says of it.
    Unsatisfied(Fields),
    /// What is written is not counted.
    Unacknowledged(Verb),
}

impl Concern {
    /// What the command's write concern, which was found to be well-formed, asks for.
    pub(super) fn of(doc: Doc<'_>, job: &Job) -> Concern {
        let concern = doc.get("writeConcern").and_then(|concern| concern.as_document());
        match concern {
            Some(concern) if matches!(job, Job::Batch(..) | Job::Write(_) | Job::Output(..)) => Concern {
                journaled: journaled(concern),
                answer: Answer::of(concern, job),
            },
            _ => Concern::default(),
        }
    }

    /// The reply with what the concern adds to it, or takes from it.
    pub(crate) fn apply(self, reply: Vec<u8>) -> Vec<u8> {
        match self.answer {
            Some(answer) => answer.apply(&reply),
            None => reply,
        }
    }
}

/// Whether the journal is to be waited for, if that was said; the server's older word for it is `fsync`.
fn journaled(concern: Doc<'_>) -> Option<bool> {
    let said = ["j", "fsync"].into_iter().filter_map(|name| concern.get(name));
    said.map(|own| truth(&own)).reduce(|one, other| one || other)
}

impl Answer {
    /// What is asked for beyond one machine.
    fn of(concern: Doc<'_>, job: &Job) -> Option<Answer> {
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
                    let waits = journaled(concern) == Some(true);
                    return match job {
                        Job::Batch(_, verb) if !waits => Some(Answer::Unacknowledged(*verb)),
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
        Some(Answer::Unsatisfied(vec![
            ("code".to_owned(), Owned::Int32(code)),
            ("codeName".to_owned(), text(name)),
            ("errmsg".to_owned(), text(message)),
            ("errInfo".to_owned(), info.inner()),
        ]))
    }

    fn apply(self, reply: &[u8]) -> Vec<u8> {
        match self {
            Answer::Unacknowledged(verb) => written(verb, &Outcome::default()),
            Answer::Unsatisfied(error) => {
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
