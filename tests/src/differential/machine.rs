//! Running the same commands on two backends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Bson, Document, RawDocumentBuf, doc};
use odm::Db;

use super::commands::{self, MAIN, OTHER, Step, TARGET, VIEW};
use super::shrink;
use super::{comparable, known};
use crate::random::Random;

/// How a run went.
#[derive(Debug, Default)]
pub struct Report {
    /// Operations run on both, and compared.
    pub operations: u64,
    /// How many answers differed in a way that the server is known for, by the reason. What follows such a difference in
    /// its round is not compared.
    pub explained: BTreeMap<&'static str, u64>,
    /// What differed, with what replays it.
    pub differences: Vec<String>,
}

impl Report {
    /// Adds what another run has found.
    pub fn add(&mut self, other: Report) {
        self.operations += other.operations;
        for (reason, times) in other.explained {
            *self.explained.entry(reason).or_default() += times;
        }
        self.differences.extend(other.differences);
    }

    /// Says how the run went.
    ///
    /// # Panics
    /// Where something differed.
    pub fn expect_none(&self, run: &str, operations: &str) {
        println!(
            "{run}: {} {operations}, {} differences, {} explained",
            self.operations,
            self.differences.len(),
            self.explained.values().sum::<u64>()
        );
        for (reason, times) in &self.explained {
            println!("{times:8} {reason}");
        }
        assert!(self.differences.is_empty(), "{}", self.differences.join("\n\n"));
    }
}

/// How many operations meet one collection before a new one is made.
const ROUND: u64 = 40;

/// Runs random operations on both databases until `operations` are done or `most` differences are found. The
/// databases hold nothing else.
///
/// # Panics
/// Where the server has ended.
pub async fn compare(ours: &Db, theirs: &Db, seed: u64, operations: u64, most: usize) -> Report {
    compare_scenarios(ours, theirs, seed, operations, most, scenario).await
}

/// The same with the scenarios of some other kind.
pub(super) async fn compare_scenarios(
    ours: &Db,
    theirs: &Db,
    seed: u64,
    operations: u64,
    most: usize,
    scenario: fn(u64) -> Vec<Step>,
) -> Report {
    let mut report = Report::default();
    let pair = Pair::new(ours, theirs);
    let mut round = 0;
    while report.operations < operations && report.differences.len() < most {
        let seed = seed.wrapping_add(round);
        let steps = scenario(seed);
        round += 1;
        let went = pair.go(&steps).await;
        report.operations += went.compared as u64;
        if let Some(reason) = went.explained {
            *report.explained.entry(reason).or_default() += 1;
        }
        if let Some(found) = went.difference {
            let (steps, found) = shrink::shrink(&pair, steps, found).await;
            let difference = shown(seed, &steps, &found);
            // A long run tells what it has found before it ends.
            println!("{difference}\n");
            report.differences.push(difference);
        }
    }
    report
}

/// Runs these commands on both databases; what differs first, with its command's number.
pub async fn replay(ours: &Db, theirs: &Db, steps: &[Step]) -> Option<String> {
    let found = Pair::new(ours, theirs).go(steps).await.difference?;
    Some(shown(0, steps, &found))
}

/// The commands of one round: what is there at first, then random ones.
pub(super) fn scenario(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed.wrapping_mul(0x1000_0001));
    let (mut world, mut steps) = commands::start(&mut random);
    for _ in 0..ROUND {
        steps.push(commands::step(&mut random, &mut world));
    }
    steps
}

fn shown(seed: u64, steps: &[Step], found: &Difference) -> String {
    format!("seed {seed}\n  {}\n{}", listed(steps), found.what)
}

fn listed(steps: &[Step]) -> String {
    let commands: Vec<String> = steps.iter().map(|step| step.command.to_string()).collect();
    commands.join("\n  ")
}

/// Where two backends differ.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// The number of the step.
    pub(super) at: usize,
    /// The command, and what kinds of answers it got.
    pub(super) kind: String,
    what: String,
}

/// How the commands of a round went on both.
#[derive(Debug)]
pub(super) struct Went {
    /// How many were compared.
    compared: usize,
    /// The first answer that differs.
    pub(super) difference: Option<Difference>,
    /// Why the round ended early.
    explained: Option<&'static str>,
}

/// Empties the collections; to drop them takes a server ten times as long.
async fn clear(db: &Db, drops: bool) {
    for name in [VIEW, MAIN, OTHER, TARGET] {
        // What is not there need not be dropped.
        if drops || name == VIEW {
            let _ = db.run_command(doc! { "drop": name }).await;
            continue;
        }
        let delete = doc! { "delete": name, "deletes": [{ "q": {}, "limit": 0 }] };
        let _ = db.run_command(delete).await;
        let _ = db.run_command(doc! { "dropIndexes": name, "index": "*" }).await;
    }
}

/// A text in which a moment is the same as another.
pub(super) fn without_digits(text: &str) -> String {
    text.chars().filter(|char| !char.is_ascii_digit()).collect()
}

/// The two databases.
#[derive(Debug)]
pub(super) struct Pair<'d> {
    ours: &'d Db,
    theirs: &'d Db,
    /// Whether the last scenario made collections with options.
    special: AtomicBool,
    /// Whether differences that are explained are shown too.
    shows: bool,
}

impl<'d> Pair<'d> {
    fn new(ours: &'d Db, theirs: &'d Db) -> Pair<'d> {
        Pair {
            ours,
            theirs,
            special: AtomicBool::new(true),
            shows: std::env::var_os("ODM_DIFF_EXPLAINED").is_some(),
        }
    }
}

impl Pair<'_> {
    /// Runs the steps on empty databases, up to the first that differs.
    pub(super) async fn go(&self, steps: &[Step]) -> Went {
        let special = steps
            .iter()
            .any(|step| matches!(step.name(), "create" | "collMod"));
        let drops = self.special.swap(special, Ordering::Relaxed) || special;
        for db in [self.ours, self.theirs] {
            clear(db, drops).await;
        }
        for at in 0..steps.len() {
            let (difference, explained) = match self.compare(steps, at).await {
                Compared::Same => continue,
                Compared::Differs(difference) => (Some(difference), None),
                Compared::Explained(reason) => (None, Some(reason)),
            };
            return Went {
                compared: at + 1,
                difference,
                explained,
            };
        }
        let checked = self.ours.check().await.expect("the engine is checked");
        let difference = (!checked.is_clean()).then(|| Difference {
            at: steps.len() - 1,
            kind: "check".to_owned(),
            what: format!("  the check finds {checked:?}"),
        });
        Went {
            compared: steps.len(),
            difference,
            explained: None,
        }
    }

    /// Runs one of the steps on both, behind those before it.
    async fn compare(&self, steps: &[Step], at: usize) -> Compared {
        let step = &steps[at];
        let (own, their) = (run(self.ours, step).await, run(self.theirs, step).await);
        let (same, has_failed) = (own == their, own.has_failed());
        let mut states = None;
        if step.writes() || at + 1 == steps.len() {
            let (own, their) = (state(self.ours).await, state(self.theirs).await);
            if own != their && known::sets_again(&step.command) && is_permuted(&own.shown(), &their.shown()) {
                return Compared::Explained("the place of a field that is set again");
            }
            if own != their
                && same
                && known::shows_moments(&step.command, &steps[..at])
                && without_digits(&own.shown()) == without_digits(&their.shown())
            {
                return Compared::Explained("the clock");
            }
            if own != their && same && has_failed && step.is_multi() {
                return Compared::Explained("what a change of many has done before it failed");
            }
            if own != their {
                states = Some(format!(
                    "\n  ours   now {}\n  mongod now {}",
                    own.shown(),
                    their.shown()
                ));
            }
        }
        if same && states.is_none() {
            return Compared::Same;
        }
        if their == Answer::Refused(None) && self.theirs.run_command(doc! { "ping": 1 }).await.is_err() {
            panic!(
                "the server is gone; the last command of this lane was the last of these:\n  {}",
                listed(&steps[..=at])
            );
        }
        let mut reason = known::reason(&step.command, &steps[..at], &own, &their);
        if reason.is_none() && states.is_none() && self.has_two_errors(step, &own, &their).await {
            reason = Some("two errors in one command");
        }
        let what = format!(
            "  ours   {}\n  mongod {}{}",
            own.shown(),
            their.shown(),
            states.unwrap_or_default()
        );
        if let Some(reason) = reason {
            if self.shows {
                println!("explained: {reason}\n  {}\n{what}\n", listed(&steps[..=at]));
            }
            // What is known to differ leaves the two in different states.
            return Compared::Explained(reason);
        }
        let kind = format!("{} {} {}", step.name(), own.kind(), their.kind());
        Compared::Differs(Difference { at, kind, what })
    }
}

/// How one command went.
enum Compared {
    Same,
    Differs(Difference),
    /// It differs, and this is why.
    Explained(&'static str),
}

impl Pair<'_> {
    /// Whether the command has two errors, of which each backend says one: without some part it is refused here for the
    /// reason that the other gave.
    async fn has_two_errors(&self, step: &Step, own: &Answer, their: &Answer) -> bool {
        let (Answer::Refused(Some(_)), Answer::Refused(Some(_))) = (own, their) else {
            return false;
        };
        let parts: Vec<String> = step.command.keys().skip(1).cloned().collect();
        for part in parts {
            let mut less = step.clone();
            less.command.remove(&part);
            if run(self.ours, &less).await == *their {
                return true;
            }
        }
        false
    }
}

/// Whether both are of the same characters.
fn is_permuted(one: &str, other: &str) -> bool {
    sorted(one.as_bytes()) == sorted(other.as_bytes())
}

/// The bytes in their order.
pub(super) fn sorted(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.sort_unstable();
    bytes
}

/// What a command answered, comparable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// Documents as bytes, batch by batch.
    Documents(Vec<Vec<RawDocumentBuf>>),
    /// Distinct values, as a set, and what those are made of: nothing but what is neither an array nor null.
    Values(Vec<String>, BTreeSet<String>),
    /// The parts of a reply that are promised.
    Reply(RawDocumentBuf),
    /// The code of a refusal; none where the engine says that it does not have what was asked for.
    Refused(Option<i32>),
}

impl Answer {
    fn has_failed(&self) -> bool {
        match self {
            Answer::Refused(_) => true,
            Answer::Reply(reply) => matches!(reply.get("errors"), Ok(Some(_))),
            _ => false,
        }
    }

    /// Whether nothing was answered.
    pub(super) fn is_refused(&self) -> bool {
        self.has_failed()
    }

    /// Which sort of answer it is.
    fn kind(&self) -> String {
        match self {
            Answer::Documents(_) => "documents".to_owned(),
            Answer::Values(..) => "values".to_owned(),
            Answer::Reply(reply) => match reply.get_array("errors") {
                Ok(errors) => errors
                    .into_iter()
                    .flatten()
                    .filter_map(|error| error.as_document()?.get_i32("code").ok())
                    .map(|code| format!("error {code} "))
                    .collect(),
                Err(_) => "reply".to_owned(),
            },
            Answer::Refused(code) => format!("refused {code:?}"),
        }
    }

    /// As text.
    pub(super) fn shown(&self) -> String {
        let document = |raw: &RawDocumentBuf| match Document::try_from(raw.as_ref()) {
            // The types of numbers too.
            Ok(document) => Bson::Document(document).into_canonical_extjson().to_string(),
            Err(error) => error.to_string(),
        };
        match self {
            Answer::Documents(batches) => {
                let batches = batches.iter().map(|batch| {
                    let all: Vec<String> = batch.iter().map(document).collect();
                    all.join(" | ")
                });
                format!("[{}]", batches.collect::<Vec<_>>().join(" || "))
            }
            Answer::Reply(reply) => document(reply),
            other => format!("{other:?}"),
        }
    }
}

/// All documents of all collections.
async fn state(db: &Db) -> Answer {
    let mut all = Vec::new();
    for name in [MAIN, TARGET] {
        let find = doc! { "find": name, "sort": { "_id": 1 }, "batchSize": 10_000 };
        match run(db, &Step::of(find)).await {
            Answer::Documents(batches) => all.extend(batches),
            other => return other,
        }
    }
    Answer::Documents(all)
}

async fn run(db: &Db, step: &Step) -> Answer {
    let mut command = step.command.clone();
    if step.narrowed {
        narrow(db, &mut command).await;
    }
    if step.name() == "aggregate" && !command.contains_key("cursor") {
        command.insert("cursor", doc! { "batchSize": 10_000 });
    }
    match db.run_command(command.clone()).await {
        Ok(reply) => match step.name() {
            "find" | "aggregate" | "listIndexes" => documents(db, step, &command, reply).await,
            "distinct" => {
                let values = reply.get_array("values").cloned().unwrap_or_default();
                Answer::Values(
                    comparable::values(values.clone()),
                    comparable::values(comparable::leaves(values))
                        .into_iter()
                        .collect(),
                )
            }
            _ => Answer::Reply(raw(promised(reply))),
        },
        Err(error) => Answer::Refused(error.code()),
    }
}

/// All batches of a cursor.
async fn documents(db: &Db, step: &Step, command: &Document, mut reply: Document) -> Answer {
    let mut batches = Vec::new();
    loop {
        let Ok(cursor) = reply.get_document("cursor") else {
            return Answer::Reply(raw(reply));
        };
        let batch = cursor
            .get_array("firstBatch")
            .or_else(|_| cursor.get_array("nextBatch"));
        let rows = batch.into_iter().flatten().filter_map(Bson::as_document);
        batches.push(
            rows.map(|row| raw(comparable::without_clock(row.clone())))
                .collect::<Vec<_>>(),
        );
        let id = cursor.get_i64("id").unwrap_or(0);
        if id == 0 {
            break;
        }
        let name = command.values().next().and_then(Bson::as_str).unwrap_or_default();
        let more = doc! { "getMore": id, "collection": name, "batchSize": 3 };
        reply = match db.run_command(more).await {
            Ok(reply) => reply,
            Err(error) => return Answer::Refused(error.code()),
        };
    }
    if !step.ordered {
        let mut rows: Vec<RawDocumentBuf> = batches.concat();
        rows.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        batches = vec![rows];
    }
    Answer::Documents(batches)
}

fn raw(document: Document) -> RawDocumentBuf {
    crate::raw::raw(&document)
}

/// What both backends say: counts, ids, values, codes.
fn promised(reply: Document) -> Document {
    let mut kept = Document::new();
    for name in [
        "n",
        "nModified",
        "upserted",
        "value",
        "lastErrorObject",
        "numIndexesBefore",
        "numIndexesAfter",
    ] {
        if let Some(value) = reply.get(name) {
            let value = match value {
                Bson::Int64(n) => Bson::Int32(*n as i32),
                other => comparable::still(other.clone()),
            };
            kept.insert(name, value);
        }
    }
    if let Ok(errors) = reply.get_array("writeErrors") {
        let codes = errors.iter().filter_map(Bson::as_document).map(|error| {
            let get = |name: &str| error.get(name).cloned().unwrap_or(Bson::Null);
            doc! { "index": get("index"), "code": get("code"), "keyPattern": get("keyPattern"), "keyValue": get("keyValue") }
        });
        kept.insert("errors", codes.collect::<Vec<_>>());
    }
    kept
}

/// Narrows the filter of the one statement to the match with the lowest `_id`.
async fn narrow(db: &Db, command: &mut Document) {
    let variables = command.get("let").cloned();
    let name = command.values().next().cloned().unwrap_or(Bson::Null);
    let statements = match command.get_mut("updates") {
        Some(updates) => Some(updates),
        None => command.get_mut("deletes"),
    };
    let Some(Bson::Array(statements)) = statements else {
        return;
    };
    let Some(statement) = statements.first_mut().and_then(Bson::as_document_mut) else {
        return;
    };
    let filter = statement.get("q").cloned().unwrap_or(Bson::Null);
    let mut find = doc! {
        "find": name, "filter": filter, "sort": { "_id": 1 }, "projection": { "_id": 1 }, "limit": 1, "singleBatch": true,
    };
    for option in ["collation", "hint"] {
        if let Some(value) = statement.get(option) {
            find.insert(option, value.clone());
        }
    }
    if let Some(variables) = variables {
        find.insert("let", variables);
    }
    let found = match db.run_command(find).await {
        Ok(reply) => reply.get_document("cursor").ok().and_then(|cursor| {
            let first = cursor.get_array("firstBatch").ok()?.first()?.as_document()?;
            first.get("_id").cloned()
        }),
        Err(_) => None,
    };
    if let (Some(id), Ok(filter)) = (found, statement.get_document_mut("q")) {
        filter.insert("_id", id);
    }
}
