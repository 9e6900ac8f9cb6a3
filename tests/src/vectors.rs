//! Recorded commands with a real mongod's replies, replayed through the command door.
//!
//! A group is a file of tests, one in a line: a list of steps, each a command with its reply or its error. Values
//! that cannot be the same twice (ids the server made, cursor ids, UUIDs) are not compared, nor are messages but
//! those of duplicate keys and failed validations.

mod compare;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use bson::{Bson, Document};
use odm::Db;

use self::compare::Comparison;

/// One recorded test.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its name in the suite that it was recorded from.
    pub id: String,
    /// The commands, in order.
    pub steps: Vec<Step>,
}

/// One recorded command.
#[derive(Clone, Debug)]
pub struct Step {
    /// The command as it was sent.
    pub command: Document,
    /// What the server said.
    pub expected: Expected,
}

/// What the server said to a command.
#[derive(Clone, Debug)]
pub enum Expected {
    /// `ok: 1`.
    Reply(Document),
    /// `ok: 0`: code and message.
    Error(i32, String),
}

/// Where the engine said something else.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The test.
    pub id: String,
    /// The command.
    pub command: Document,
    /// In short, for counting: command, what was expected, what came.
    pub cause: String,
    /// In full.
    pub detail: String,
    /// Whether the engine said that it does not have what was asked for.
    pub unsupported: bool,
}

/// How a group went.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The tests run.
    pub total: usize,
    /// Those with a difference; only the first of each.
    pub differences: Vec<Difference>,
}

impl Report {
    /// How many tests went as they did on the server.
    pub fn same(&self) -> usize {
        self.total - self.differences.len()
    }

    /// How many tests ask for what the engine says that it does not have.
    pub fn unsupported(&self) -> usize {
        self.differences
            .iter()
            .filter(|difference| difference.unsupported)
            .count()
    }

    /// The share of tests that went as on the server, in percent.
    pub fn percent(&self) -> f64 {
        self.same() as f64 * 100.0 / self.total.max(1) as f64
    }

    /// The same among the tests of what the engine has.
    pub fn percent_of_supported(&self) -> f64 {
        self.same() as f64 * 100.0 / (self.total - self.unsupported()).max(1) as f64
    }

    /// The causes with how often each was met, most frequent first.
    pub fn causes(&self) -> Vec<(String, usize)> {
        let mut causes = BTreeMap::<&str, usize>::new();
        for difference in &self.differences {
            *causes.entry(&difference.cause).or_default() += 1;
        }
        let mut causes: Vec<(String, usize)> = causes.into_iter().map(|(c, n)| (c.to_owned(), n)).collect();
        causes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        causes
    }
}

/// Reads a group, every `stride`th test of it. The few tests that nest deeper than the JSON reader goes are left out.
///
/// # Panics
/// When the file is not what it should be.
pub fn read(path: &Path, stride: usize) -> Vec<Vector> {
    let file = std::fs::File::open(path).expect("the group's file opens");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines
        .step_by(stride.max(1))
        .filter_map(|line| parse(&line.expect("the group's file is text")))
        .collect()
}

fn parse(line: &str) -> Option<Vector> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let steps = line["steps"].as_array().expect("a test has steps");
    let steps = steps.iter().map(|step| {
        let expected = match step.get("error") {
            Some(error) => failed(&document(error)),
            None => {
                let reply = document(&step["reply"]);
                match reply.get("code") {
                    Some(_) if number(reply.get("ok")) == Some(0.0) => failed(&reply),
                    _ => Expected::Reply(reply),
                }
            }
        };
        Step {
            command: document(&step["cmd"]),
            expected,
        }
    });
    Some(Vector {
        id: line["id"].as_str().unwrap_or_default().to_owned(),
        steps: steps.collect(),
    })
}

fn failed(error: &Document) -> Expected {
    let message = error.get_str("errmsg").unwrap_or_default();
    Expected::Error(
        number(error.get("code")).unwrap_or(0.0) as i32,
        message.to_owned(),
    )
}

fn number(value: Option<&Bson>) -> Option<f64> {
    match value? {
        Bson::Double(x) => Some(*x),
        Bson::Int32(x) => Some(f64::from(*x)),
        Bson::Int64(x) => Some(*x as f64),
        _ => None,
    }
}

fn document(json: &serde_json::Value) -> Document {
    match extended(json) {
        Bson::Document(document) => document,
        other => panic!("a command or reply is a document, not {other}"),
    }
}

/// Canonical Extended JSON; what only looks like it (a query operator of the same name) is a document.
fn extended(json: &serde_json::Value) -> Bson {
    match json {
        serde_json::Value::Object(map) => {
            let wrapped = map.keys().any(|key| key.starts_with('$'));
            if wrapped
                && let Ok(value) = Bson::try_from(json.clone())
                && !matches!(value, Bson::Document(_))
            {
                return value;
            }
            Bson::Document(
                map.iter()
                    .map(|(key, value)| (key.clone(), extended(value)))
                    .collect(),
            )
        }
        serde_json::Value::Array(items) => Bson::Array(items.iter().map(extended).collect()),
        other => Bson::try_from(other.clone()).unwrap_or(Bson::Null),
    }
}

/// Runs a group on an engine of its own per test.
pub async fn run(vectors: &[Vector]) -> Report {
    let mut report = Report {
        total: vectors.len(),
        ..Report::default()
    };
    for vector in vectors {
        let db = Db::open("memory:").await.expect("an engine in memory");
        if let Some(difference) = one(&db, vector).await {
            report.differences.push(difference);
        }
    }
    report
}

async fn one(db: &Db, vector: &Vector) -> Option<Difference> {
    let mut comparison = Comparison::of(vector);
    for step in &vector.steps {
        let command = comparison.command(&step.command);
        let database = command.get_str("$db").unwrap_or("vectors").to_owned();
        let answer = match db.database(&database) {
            Ok(db) => db.run_command(command).await,
            Err(error) => Err(error),
        };
        if let Err((cause, detail)) = comparison.answer(step, answer) {
            return Some(Difference {
                id: vector.id.clone(),
                command: step.command.clone(),
                unsupported: cause.contains(compare::UNSUPPORTED),
                cause,
                detail,
            });
        }
    }
    None
}
