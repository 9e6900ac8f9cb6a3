//! Replaying commits against what was read.

use std::collections::{BTreeMap, HashMap};

use super::history::{Answer, Change, Found, History, Key, Query, Row, STAMPS, Step, Unit, Work};

/// What a replay found.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// What cannot be; empty when all is well.
    pub violations: Vec<String>,
    /// How many operations were looked at.
    pub operations: usize,
    /// How many transactions were committed.
    pub committed: usize,
    /// How many transactions were not.
    pub aborted: usize,
    /// How many transactions were committed although what they had read was changed meanwhile, which snapshot
    /// isolation allows.
    pub skewed: usize,
}

/// What a unit of work is waiting for while the states go by.
struct Pending {
    /// The last state that it can have seen.
    until: usize,
    /// The last state that fits.
    fits: Option<usize>,
    /// Documents that were not yet seen in a state, for reads of several documents that are not at one point in time.
    loose: Option<Vec<(Key, Row)>>,
}

struct Replay<'a> {
    history: &'a History,
    state: BTreeMap<Key, Row>,
    /// The commit that last wrote a document.
    written: HashMap<Key, usize>,
    report: Replayed,
}

/// Goes through the commits and checks every unit of work.
pub fn replay(history: &History) -> Replayed {
    let mut replay = Replay {
        history,
        state: history.before.clone(),
        written: HashMap::new(),
        report: Replayed::default(),
    };
    replay.run();
    replay.report
}

impl Replay<'_> {
    fn run(&mut self) {
        let history = self.history;
        let owners = self.owners();
        let mut positions: HashMap<i64, Vec<usize>> = HashMap::new();
        for (at, owner) in owners.iter().enumerate() {
            positions.entry(*owner).or_default().push(at + 1);
        }
        for unit in &history.units {
            self.count(unit, positions.get(&unit.id).map_or(0, Vec::len));
        }
        let windows = windows(&history.units, &positions, history.commits.len());
        let mut begin: Vec<Vec<usize>> = vec![Vec::new(); history.commits.len() + 1];
        for (index, (from, until)) in windows.iter().enumerate() {
            if from > until {
                let id = history.units[index].id;
                self.complain(id, "it ended before what it must have seen");
            } else {
                begin[*from].push(index);
            }
        }
        let by_id: HashMap<i64, usize> = history
            .units
            .iter()
            .enumerate()
            .map(|(index, unit)| (unit.id, index))
            .collect();
        let mut active: BTreeMap<usize, Pending> = BTreeMap::new();
        for position in 0..=history.commits.len() {
            for index in std::mem::take(&mut begin[position]) {
                if watched(&history.units[index].work) {
                    active.insert(index, self.pending(index, windows[index].1));
                }
            }
            self.look(&mut active, position);
            if let Some(commit) = history.commits.get(position) {
                let Some(index) = by_id.get(&owners[position]).copied() else {
                    self.complain(owners[position], "a commit of nobody's");
                    continue;
                };
                let fits = active.remove(&index).and_then(|pending| pending.fits);
                self.check_commit(&history.units[index], fits, position);
                if !history.statements_are_atomic {
                    self.overlook(&mut active, &history.units[index].work, position);
                }
                for (key, row) in &commit.changes {
                    match row {
                        Some(row) => self.state.insert(*key, *row),
                        None => self.state.remove(key),
                    };
                    self.written.insert(*key, position + 1);
                }
            }
            let over: Vec<usize> = active
                .iter()
                .filter(|(_, pending)| pending.until <= position)
                .map(|(index, _)| *index)
                .collect();
            for index in over {
                let unit = &history.units[index];
                // A committed transaction is judged at its commit.
                if positions.contains_key(&unit.id) {
                    continue;
                }
                if active
                    .remove(&index)
                    .is_some_and(|pending| pending.fits.is_none())
                {
                    let (from, until) = windows[index];
                    self.complain(
                        unit.id,
                        &format!("no state from {from} to {until} fits {:?}", unit.work),
                    );
                }
            }
        }
    }

    /// Whose each commit is: by the stamp of what was written, or by who says that it deleted what was there.
    fn owners(&self) -> Vec<i64> {
        let mut deleters: HashMap<(Key, i64), i64> = HashMap::new();
        for unit in &self.history.units {
            for step in steps(&unit.work) {
                if let Step::Write(Change::Delete(key), Answer::Before(row)) = step
                    && !matches!(unit.work, Work::Transaction(_, false))
                {
                    deleters.insert((*key, row.stamp), unit.id);
                }
            }
        }
        let mut stamps: HashMap<Key, i64> = self
            .history
            .before
            .iter()
            .map(|(key, row)| (*key, row.stamp))
            .collect();
        let mut owners = Vec::with_capacity(self.history.commits.len());
        for commit in &self.history.commits {
            let mut owner = None;
            for (key, row) in &commit.changes {
                let own = match row {
                    Some(row) => Some(row.stamp / STAMPS),
                    None => stamps
                        .get(key)
                        .and_then(|stamp| deleters.get(&(*key, *stamp)))
                        .copied(),
                };
                owner = owner.or(own);
                match row {
                    Some(row) => stamps.insert(*key, row.stamp),
                    None => stamps.remove(key),
                };
            }
            owners.push(owner.unwrap_or(-1));
        }
        owners
    }

    /// Checks that each write that was acknowledged was committed, and no other.
    fn count(&mut self, unit: &Unit, commits: usize) {
        self.report.operations += steps(&unit.work).len().max(1);
        let wanted = match &unit.work {
            Work::Single(step) => usize::from(writes(step)),
            Work::Transaction(steps, done) => {
                if *done {
                    self.report.committed += 1;
                } else {
                    self.report.aborted += 1;
                }
                usize::from(*done && steps.iter().any(writes))
            }
            Work::Multi { count, .. } if self.history.statements_are_atomic => {
                usize::from(*count > 0) * commits.max(1)
            }
            Work::Multi { count, .. } => usize::try_from(*count).unwrap_or(usize::MAX),
        };
        if wanted != commits {
            self.complain(
                unit.id,
                &format!("{commits} commits instead of {wanted}: {:?}", unit.work),
            );
        }
    }

    fn pending(&self, index: usize, until: usize) -> Pending {
        let loose = match &self.history.units[index].work {
            Work::Single(Step::Read(query, found))
                if !self.history.statements_are_atomic && !matches!(query, Query::One(_)) =>
            {
                match found {
                    Found::Rows(rows) => Some(rows.clone()),
                    Found::Count(_) => Some(Vec::new()),
                }
            }
            _ => None,
        };
        Pending {
            until,
            fits: None,
            loose,
        }
    }

    /// Shows a state to those who may have seen it.
    fn look(&self, active: &mut BTreeMap<usize, Pending>, position: usize) {
        for (index, pending) in active.iter_mut().filter(|(_, pending)| pending.until >= position) {
            let unit = &self.history.units[*index];
            let single = matches!(unit.work, Work::Single(_));
            if single && pending.fits.is_some() {
                continue;
            }
            let fits = match &mut pending.loose {
                Some(rows) => {
                    rows.retain(|(key, row)| self.state.get(key) != Some(row));
                    rows.is_empty()
                }
                None => self.effects(steps(&unit.work)).is_ok(),
            };
            if fits {
                pending.fits = Some(position);
            }
        }
    }

    /// The server looks for a document that was deleted under a write by its place, not by its `_id`: one that was
    /// inserted again in the same transaction is not found, though it is missing in no state.
    fn overlook(&self, active: &mut BTreeMap<usize, Pending>, work: &Work, position: usize) {
        let commit = &self.history.commits[position];
        let is_made_anew = |key: Key| {
            let is_deleted = steps(work).iter().any(
                |step| matches!(step, Step::Write(Change::Delete(own), Answer::Before(_)) if *own == key),
            );
            is_deleted
                && commit
                    .changes
                    .iter()
                    .any(|(own, row)| *own == key && row.is_some())
        };
        for (index, pending) in active.iter_mut().filter(|(_, pending)| pending.until > position) {
            if let Work::Single(Step::Write(change, Answer::Missing)) = &self.history.units[*index].work
                && is_made_anew(change.key())
            {
                pending.fits = Some(position);
            }
        }
    }

    /// Checks the commit that comes after the state at `position`.
    fn check_commit(&mut self, unit: &Unit, fits: Option<usize>, position: usize) {
        let found = &self.history.commits[position].changes;
        let wanted = match &unit.work {
            Work::Transaction(steps, _) => {
                let Some(seen) = fits else {
                    return self.complain(
                        unit.id,
                        &format!("no snapshot before commit {} fits {steps:?}", position + 1),
                    );
                };
                let overtaken = found.iter().find_map(|(key, _)| {
                    self.written
                        .get(key)
                        .filter(|at| **at > seen)
                        .map(|at| (*key, *at))
                });
                if let Some((key, at)) = overtaken {
                    return self.complain(
                        unit.id,
                        &format!("commit {at} wrote {key:?} after its snapshot {seen}, and it was committed all the same"),
                    );
                }
                match self.effects(steps) {
                    Ok(effects) => effects,
                    Err(_) => {
                        self.report.skewed += 1;
                        // A write that found nothing to change has only read.
                        let own: Vec<Step> = steps.iter().filter(|step| writes(step)).cloned().collect();
                        match self.effects(&own) {
                            Ok(effects) => effects,
                            Err(reason) => return self.complain(unit.id, &reason),
                        }
                    }
                }
            }
            Work::Single(step) => match self.effects(std::slice::from_ref(step)) {
                Ok(effects) => effects,
                Err(reason) => {
                    return self.complain(unit.id, &format!("at its commit {}: {reason}", position + 1));
                }
            },
            Work::Multi {
                collection,
                tag,
                add,
                stamp,
                count,
            } => {
                let matched: Vec<(Key, Row)> = self
                    .state
                    .iter()
                    .filter(|(key, row)| key.0 == *collection && row.tag == *tag)
                    .map(|(key, row)| (*key, *row))
                    .collect();
                let changed = |(key, row): &(Key, Row)| {
                    let row = Row {
                        stamp: *stamp,
                        count: row.count + add,
                        tag: row.tag,
                    };
                    (*key, Some(row))
                };
                if !self.history.statements_are_atomic {
                    let own = matched
                        .iter()
                        .map(changed)
                        .filter(|change| found.contains(change));
                    own.collect()
                } else if matched.len() as u64 == *count {
                    let mut all: Vec<_> = matched.iter().map(changed).collect();
                    // The order in one statement is the index's, which is that of the records.
                    all.sort_by_key(|(key, _)| found.iter().position(|(other, _)| other == key));
                    all
                } else {
                    return self.complain(
                        unit.id,
                        &format!(
                            "{count} documents had tag {tag}, {} have at commit {}",
                            matched.len(),
                            position + 1
                        ),
                    );
                }
            }
        };
        if wanted != *found {
            let text = format!(
                "commit {}: wanted {wanted:?}, found {found:?}: {:?}",
                position + 1,
                unit.work
            );
            self.complain(unit.id, &text);
        }
    }

    /// What steps change, when all that they saw is so in this state.
    fn effects(&self, steps: &[Step]) -> Result<Vec<(Key, Option<Row>)>, String> {
        let mut own: BTreeMap<Key, Option<Row>> = BTreeMap::new();
        let mut effects = Vec::new();
        for step in steps {
            match step {
                Step::Read(query, found) => {
                    if self.answer(&own, query) != *found {
                        return Err(format!("{step:?} is not so"));
                    }
                }
                Step::Write(change, answer) => {
                    let key = change.key();
                    let before = self.get(&own, key);
                    let after =
                        effect(change, answer, before).ok_or_else(|| format!("{step:?} after {before:?}"))?;
                    if let Some(after) = after {
                        own.insert(key, after);
                        effects.push((key, after));
                    }
                }
            }
        }
        Ok(effects)
    }

    fn get(&self, own: &BTreeMap<Key, Option<Row>>, key: Key) -> Option<Row> {
        match own.get(&key) {
            Some(row) => *row,
            None => self.state.get(&key).copied(),
        }
    }

    fn answer(&self, own: &BTreeMap<Key, Option<Row>>, query: &Query) -> Found {
        let rows = |from: Key, to: Key, wanted: &dyn Fn(&Row) -> bool| -> Vec<(Key, Row)> {
            let mut rows: Vec<(Key, Row)> = self
                .state
                .range(from..=to)
                .filter(|(key, row)| !own.contains_key(key) && wanted(row))
                .map(|(key, row)| (*key, *row))
                .collect();
            if !own.is_empty() {
                let mine = own
                    .range(from..=to)
                    .filter_map(|(key, row)| Some((*key, (*row)?)));
                rows.extend(mine.filter(|(_, row)| wanted(row)));
                rows.sort_by_key(|(key, _)| *key);
            }
            rows
        };
        let all = |c: u8| ((c, i32::MIN), (c, i32::MAX));
        match *query {
            Query::One(key) => Found::Rows(self.get(own, key).map(|row| (key, row)).into_iter().collect()),
            Query::Range(c, from, to) => Found::Rows(rows((c, from), (c, to), &|_| true)),
            Query::Tag(c, tag) => Found::Rows(rows(all(c).0, all(c).1, &|row| row.tag == tag)),
            Query::Count(c) => Found::Count(rows(all(c).0, all(c).1, &|_| true).len() as u64),
            Query::CountTag(c, tag) => {
                Found::Count(rows(all(c).0, all(c).1, &|row| row.tag == tag).len() as u64)
            }
        }
    }

    fn complain(&mut self, unit: i64, text: &str) {
        // A broken engine would fill the memory with the rest.
        if self.report.violations.len() < 100 {
            self.report.violations.push(format!("unit {unit}: {text}"));
        }
    }
}

/// What a change makes of a document, when its answer can be; the inner `None` is that it changes nothing.
#[allow(clippy::option_option)]
fn effect(change: &Change, answer: &Answer, before: Option<Row>) -> Option<Option<Option<Row>>> {
    let changed = |after: Row| match answer {
        Answer::Done => Some(Some(Some(after))),
        Answer::After(row) if *row == after => Some(Some(Some(after))),
        Answer::Before(row) if Some(*row) == before => Some(Some(Some(after))),
        _ => None,
    };
    match (change, before, answer) {
        (Change::Insert(..), Some(_), Answer::Duplicate) => Some(None),
        (Change::Insert(..), Some(_), _) => None,
        (Change::Insert(_, row), None, _) => changed(*row),
        (_, None, Answer::Missing) => Some(None),
        (_, None, _) => None,
        (Change::Add(_, add, stamp), Some(row), _) => changed(Row {
            stamp: *stamp,
            count: row.count + add,
            tag: row.tag,
        }),
        (Change::Tag(_, tag, stamp), Some(row), _) => changed(Row {
            stamp: *stamp,
            count: row.count,
            tag: *tag,
        }),
        (Change::Replace(_, row), Some(_), _) => changed(*row),
        (Change::Delete(_), Some(row), Answer::Before(own)) if *own == row => Some(Some(None)),
        (Change::Delete(_), Some(_), _) => None,
    }
}

fn writes(step: &Step) -> bool {
    matches!(step, Step::Write(_, answer) if !matches!(answer, Answer::Missing | Answer::Duplicate))
}

fn steps(work: &Work) -> &[Step] {
    match work {
        Work::Single(step) => std::slice::from_ref(step),
        Work::Transaction(steps, _) => steps,
        Work::Multi { .. } => &[],
    }
}

/// Whether a unit is judged by what it saw before its commit.
fn watched(work: &Work) -> bool {
    match work {
        Work::Single(step) => !writes(step),
        Work::Transaction(..) => true,
        Work::Multi { .. } => false,
    }
}

/// The first and the last state that each unit can have seen: nothing older than what was acknowledged before it
/// began, nothing that began after what it saw was fixed.
fn windows(units: &[Unit], positions: &HashMap<i64, Vec<usize>>, commits: usize) -> Vec<(usize, usize)> {
    let mut ends: Vec<(u64, usize)> = Vec::new();
    let mut starts: Vec<(u64, usize)> = Vec::new();
    for unit in units {
        if let Some(own) = positions.get(&unit.id) {
            ends.push((unit.end, own.iter().copied().max().unwrap_or(0)));
            starts.push((unit.start, own.iter().copied().min().unwrap_or(0)));
        }
    }
    ends.sort_unstable();
    starts.sort_unstable();
    let mut highest = 0;
    for (_, position) in &mut ends {
        highest = highest.max(*position);
        *position = highest;
    }
    let mut lowest = commits + 1;
    for (_, position) in starts.iter_mut().rev() {
        lowest = lowest.min(*position);
        *position = lowest;
    }
    units
        .iter()
        .map(|unit| {
            let before = ends.partition_point(|(end, _)| *end < unit.start);
            let from = before.checked_sub(1).map_or(0, |at| ends[at].1);
            let after = starts.partition_point(|(start, _)| *start <= unit.seen);
            let until = starts.get(after).map_or(commits, |(_, position)| position - 1);
            (from, until)
        })
        .collect()
}
