//! Comparing answers with those recorded.

use std::collections::{HashMap, HashSet};

use bson::oid::ObjectId;
use bson::{Bson, Document};
use odm::{Error, ErrorKind};

use super::{Expected, Step, Vector};

/// What was learnt in one test: which recorded ids are the server's own, and what ours are.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The ids that some command of the test names; only these must be met again.
    named: HashSet<ObjectId>,
    /// Recorded cursors, with ours.
    cursors: HashMap<i64, i64>,
    /// Recorded UUIDs of collections, with ours.
    uuids: HashMap<Vec<u8>, Vec<u8>>,
}

/// In a cause: the engine does not have what was asked for.
pub(super) const UNSUPPORTED: &str = "unsupported";

/// No recording is older: a time from here on was the server's clock.
const RECORDED: i64 = 1_795_000_000;

type Outcome = Result<(), (String, String)>;

impl Comparison {
    pub(super) fn of(vector: &Vector) -> Comparison {
        let mut named = HashSet::new();
        for step in &vector.steps {
            step.command.values().for_each(|value| collect(value, &mut named));
        }
        Comparison {
            named,
            cursors: HashMap::new(),
            uuids: HashMap::new(),
        }
    }

    /// The command with our cursors and UUIDs in place of those recorded.
    pub(super) fn command(&self, command: &Document) -> Document {
        let mut own = command.clone();
        let ours = |value: &mut Bson| {
            if let Bson::Int64(id) = value
                && let Some(known) = self.cursors.get(id)
            {
                *value = Bson::Int64(*known);
            }
        };
        if let Some(id) = own.get_mut("getMore") {
            ours(id);
        }
        for (_, value) in own.iter_mut() {
            if let Bson::Binary(binary) = value
                && let Some(known) = self.uuids.get(&binary.bytes)
            {
                binary.bytes.clone_from(known);
            }
        }
        if let Some(Bson::Array(ids)) = own.get_mut("cursors") {
            ids.iter_mut().for_each(ours);
        }
        own
    }

    pub(super) fn answer(&mut self, step: &Step, answer: odm::Result<Document>) -> Outcome {
        let name = step.command.keys().next().map_or("", String::as_str);
        let (expected, got) = match (&step.expected, answer) {
            (Expected::Reply(expected), Ok(got)) => {
                return self.reply(name, step, expected, &got);
            }
            (Expected::Error(code, message), Err(error)) => {
                if error.code() == Some(*code) && message_fits(*code, message, &error) {
                    return Ok(());
                }
                (format!("{code} ({})", shortened(message)), described(&error))
            }
            (Expected::Error(code, message), Ok(got)) => {
                return Err((
                    format!("{name}: {code} ({}) expected, done", shortened(message)),
                    format!("got {got}"),
                ));
            }
            (Expected::Reply(expected), Err(error)) => {
                let cause = format!("{name}: done expected, {}", described(&error));
                return Err((cause, format!("expected {expected}\n  got {error}")));
            }
        };
        Err((
            format!("{name}: {expected} expected, {got}"),
            format!("expected {expected}\n  got {got}"),
        ))
    }

    fn reply(&mut self, name: &str, step: &Step, expected: &Document, got: &Document) -> Outcome {
        let (mut expected, mut got) = (expected.clone(), got.clone());
        if name == "explain" || (expected.contains_key("queryPlanner")) {
            // Of a plan only its outcome can be the same.
            expected = Document::new();
            got = Document::new();
        }
        if name == "listCollections" {
            sort_batch(&mut expected);
            sort_batch(&mut got);
        }
        if step.command.to_string().contains("$addToSet") && name == "aggregate" {
            sort_arrays(&mut expected);
            sort_arrays(&mut got);
        }
        if !keeps_order(step) {
            sort_batch(&mut expected);
            sort_batch(&mut got);
        }
        self.documents(&expected, &got, "").map_err(|detail| {
            let place: String = detail.split(':').next().unwrap_or_default().to_owned();
            let refused = got.get_array("writeErrors").is_ok_and(|errors| {
                let mut errors = errors.iter().filter_map(Bson::as_document);
                errors.any(|error| error.get_i32("code").is_ok_and(|code| code == 115))
            });
            match refused {
                true => (format!("{name}: {UNSUPPORTED}"), format!("{detail}\n  got {got}")),
                false => (format!("{name}: another {place}"), detail),
            }
        })
    }

    fn documents(&mut self, expected: &Document, got: &Document, path: &str) -> Result<(), String> {
        for pair in expected.iter().zip(got.iter()) {
            let ((name, value), (own_name, own)) = pair;
            if name != own_name {
                return Err(format!(
                    "field of {path}: {name} expected, {own_name} came: {expected}\n  got {got}"
                ));
            }
            let at = format!("{path}.{name}");
            self.values(value, own, &at)?;
        }
        if expected.len() != got.len() {
            return Err(format!("number of fields of {path}: {expected}\n  got {got}"));
        }
        Ok(())
    }

    fn values(&mut self, expected: &Bson, got: &Bson, path: &str) -> Result<(), String> {
        let differ = || Err(format!("{}: {expected}\n  got {got}", general(path)));
        match (expected, got) {
            (Bson::Int64(id), Bson::Int64(own)) if path == ".cursor.id" => {
                if (*id == 0) != (*own == 0) {
                    return differ();
                }
                self.cursors.insert(*id, *own);
                Ok(())
            }
            (Bson::Int64(_), Bson::Int64(_)) if path.starts_with(".cursorsKilled") => Ok(()),
            // The machine that answers.
            (Bson::String(_), Bson::String(_))
                if path.starts_with(".cursor.") && path.ends_with("].host") =>
            {
                Ok(())
            }
            (Bson::Document(a), Bson::Document(b)) => self.documents(a, b, path),
            (Bson::Array(a), Bson::Array(b)) => {
                if a.len() != b.len() {
                    return differ();
                }
                for (index, (a, b)) in a.iter().zip(b).enumerate() {
                    self.values(a, b, &format!("{path}[{index}]"))?;
                }
                Ok(())
            }
            (Bson::ObjectId(a), Bson::ObjectId(b)) if a == b || !self.named.contains(a) => Ok(()),
            (Bson::DateTime(a), Bson::DateTime(b))
                if is_clock(a.timestamp_millis() / 1000, b.timestamp_millis() / 1000) =>
            {
                Ok(())
            }
            (Bson::Timestamp(a), Bson::Timestamp(b)) if is_clock(i64::from(a.time), i64::from(b.time)) => {
                Ok(())
            }
            (Bson::Binary(uuid), Bson::Binary(own)) if path.ends_with(".info.uuid") => {
                self.uuids.insert(uuid.bytes.clone(), own.bytes.clone());
                Ok(())
            }
            (Bson::Double(a), Bson::Double(b)) => {
                if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
                    Ok(())
                } else {
                    differ()
                }
            }
            (Bson::String(text), Bson::String(_))
                if path.ends_with(".errmsg") && !text.starts_with("E11000") =>
            {
                Ok(())
            }
            (a, b) if a == b => Ok(()),
            _ => differ(),
        }
    }
}

/// Whether the server gives the documents in an order that it promises.
fn keeps_order(step: &Step) -> bool {
    let Ok(stages) = step.command.get_array("pipeline") else {
        return true;
    };
    let mut keeps = true;
    for stage in stages.iter().filter_map(Bson::as_document) {
        match stage.keys().next().map(String::as_str) {
            Some("$group" | "$sample" | "$graphLookup" | "$listSessions") => keeps = false,
            Some("$sort") => keeps = true,
            _ => {}
        }
    }
    keeps
}

/// Sorts the arrays of sets, which have no order.
fn sort_arrays(reply: &mut Document) {
    for (_, value) in reply.iter_mut() {
        match value {
            Bson::Document(inner) => sort_arrays(inner),
            Bson::Array(items) => {
                items
                    .iter_mut()
                    .filter_map(Bson::as_document_mut)
                    .for_each(sort_arrays);
                items.sort_by_key(ToString::to_string);
            }
            _ => {}
        }
    }
}

fn sort_batch(reply: &mut Document) {
    if let Ok(cursor) = reply.get_document_mut("cursor")
        && let Ok(batch) = cursor.get_array_mut("firstBatch")
    {
        batch.sort_by_key(|entry| {
            let name = entry.as_document().and_then(|entry| entry.get_str("name").ok());
            name.map_or_else(|| entry.to_string(), str::to_owned)
        });
    }
}

/// Whether a recorded and an own time, in seconds, are both those of the moment.
fn is_clock(recorded: i64, own: i64) -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs() as i64);
    recorded >= RECORDED && (now - own).abs() < 60
}

/// A path without the positions in it.
fn general(path: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => inside = true,
            ']' => {
                inside = false;
                out.push_str("[]");
            }
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

fn message_fits(code: i32, message: &str, error: &Error) -> bool {
    !matches!(code, 11000) || without_uuids(&error.to_string()).contains(&without_uuids(message))
}

/// A message without the UUIDs in it, which are never the same twice.
fn without_uuids(message: &str) -> String {
    const PARTS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_uuid = |word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        parts.iter().map(|part| part.len()).eq(PARTS)
            && parts.concat().bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let words = message.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let words = words.map(|word| {
        let end = word
            .trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .len();
        match is_uuid(&word[..end]) {
            true => format!("UUID{}", &word[end..]),
            false => word.to_owned(),
        }
    });
    words.collect()
}

fn described(error: &Error) -> String {
    let text = shortened(&error.to_string());
    match error.kind() {
        ErrorKind::Unsupported => format!("{UNSUPPORTED} ({text})"),
        _ => format!("{} ({text})", error.code().unwrap_or(0)),
    }
}

/// The start of a message, without what differs from test to test.
fn shortened(message: &str) -> String {
    let words = message
        .split_whitespace()
        .filter(|word| !word.contains("_gw"))
        .map(|word| word.trim_matches(|c: char| c.is_ascii_digit()));
    let text: String = words.collect::<Vec<_>>().join(" ");
    text.chars().take(70).collect()
}

fn collect(value: &Bson, named: &mut HashSet<ObjectId>) {
    match value {
        Bson::ObjectId(id) => {
            named.insert(*id);
        }
        Bson::Array(items) => items.iter().for_each(|item| collect(item, named)),
        Bson::Document(document) => document.values().for_each(|value| collect(value, named)),
        _ => {}
    }
}
