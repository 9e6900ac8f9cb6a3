//! What a plan did: it is run, changes nothing, and counts.

use super::super::super::aggregate::pipeline::Memory;
use super::super::super::catalog::Collection;
use super::super::super::document::{Doc, Owned};
use super::super::super::fault::Result;
use super::super::super::plan::{Plan, Stage, figure};
use super::super::super::storage::Read;
use super::super::super::tally::Examined;
use super::super::count;
use super::super::query::{Order, Query};
use super::super::search::{self, Limits};
use super::super::walk::{Flow, Scanned, Walk};
use super::{ExplainRequest, Explained};

/// What was done to run a plan.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) examined: Examined,
    scans: std::vec::IntoIter<Scanned>,
    /// How many documents were what is looked for, those that were passed over left out.
    matched: u64,
    /// Bytes of the documents that were sorted.
    sorted: u64,
    skip: u64,
    limit: u64,
    /// How many documents were taken in all.
    taken: u64,
    /// How many were counted.
    counted: u64,
    is_one: bool,
    /// Whether documents are made of keys, and asked for more than bounds say.
    asks_keys: bool,
}

/// Runs the plan, and changes nothing.
///
/// `stages` are what is shown of it.
pub(super) fn run(
    read: &dyn Read,
    request: &ExplainRequest,
    collection: &Collection,
    query: &Query,
    (plan, stages): (&Plan, &Stage),
) -> Result<Ran> {
    let mut ran = Ran {
        asks_keys: plan.cover.is_some() && !plan.exact,
        skip: request.skip,
        limit: request.limit,
        is_one: matches!(request.what, Explained::FindAndModify { .. }),
        ..Ran::default()
    };
    let most = match request.limit {
        0 => u64::MAX,
        limit => limit.saturating_add(request.skip),
    };
    // What takes its documents may have enough of them before.
    let taken = request.piped.as_ref().and_then(|piped| piped.taken);
    let taken = taken.map_or(u64::MAX, |taken| taken.saturating_add(request.skip));
    let most = most.min(taken);
    ran.taken = taken;
    let plan = plan.clone().asking(&query.matcher);
    if request.what == Explained::Count && query.is_everything() {
        ran.counted = count::on_collection(
            read,
            &request.namespace,
            query,
            (request.skip, request.limit),
            request.deadline,
        )?;
        return Ok(ran);
    }
    if query.near().is_some() && request.limit > 0 {
        let limits = Limits {
            skip: 0,
            limit: Some(most),
            memory: Memory::of(true),
            is_to_write: false,
        };
        let (found, examined) = search::all(read, collection, query, &plan, limits, request.deadline)?;
        ran.matched = found.len() as u64;
        ran.examined = examined;
        return Ok(ran);
    }
    let mut walk = Walk::new(&plan, collection, request.deadline).telling();
    if request.what == Explained::Count && plan.covered_count {
        ran.matched = walk.count(read, collection, most)?;
        ran.counted = ran.matched.min(most).saturating_sub(request.skip);
    } else {
        let order = query
            .order_after(&plan)
            .filter(|_| request.what != Explained::Count);
        let left = match stages.skips_keys() {
            true => walk.pass_over(&plan, request.skip),
            false => request.skip,
        };
        // As many as are wanted, those left out that were passed over.
        let most = most.saturating_sub(request.skip - left);
        let wanted = order.as_ref().map(Order::wanted);
        let mut key = Vec::new();
        let walked = walk.documents(read, collection, &mut |_, document| {
            if !search::test(query, &plan, document)? {
                return Ok(Flow::Continue);
            }
            ran.matched += 1;
            if let (Some(order), Some(wanted)) = (&order, wanted) {
                let known = match wanted.is_empty() {
                    true => None,
                    false => Some(query.known(Some(&plan), Doc::Raw(document), wanted)?),
                };
                key.clear();
                order.write_key(Doc::Raw(document), known.as_ref(), &mut key)?;
                ran.sorted += document.len() as u64;
                return Ok(Flow::Continue);
            }
            Ok(if ran.matched >= most {
                Flow::Stop
            } else {
                Flow::Continue
            })
        });
        walked.map_err(|fault| match request.what {
            Explained::Count => query.in_run(fault),
            _ => fault,
        })?;
        ran.counted = ran.matched.min(most).saturating_sub(request.skip);
    }
    ran.examined = walk.examined;
    ran.scans = walk
        .told()
        .map(|told| told.scans.clone())
        .unwrap_or_default()
        .into_iter();
    Ok(ran)
}

/// What the scans under a stage that joins them did together.
struct Joined {
    scanned: Scanned,
    is_merge: bool,
}

impl Ran {
    /// Has the stages say what they did; how many documents the last of them gave.
    pub(super) fn tell(&mut self, stage: &mut Stage) -> u64 {
        self.tell_in(stage, None)
    }

    /// The same of a stage under one that joins several.
    fn tell_in(&mut self, stage: &mut Stage, mut joined: Option<&mut Joined>) -> u64 {
        let examined = self.examined;
        let name = stage.name();
        match name {
            "IXSCAN" | "COUNT_SCAN" | "DISTINCT_SCAN" => {
                let own = self.scans.next().unwrap_or_default();
                stage.count("keysExamined", figure(own.keys));
                let returned = match joined {
                    Some(sum) => {
                        sum.scanned.entries += own.entries;
                        sum.scanned.led += own.led;
                        sum.scanned.given += own.given;
                        match sum.is_merge {
                            // The next of each is known before the first of all is.
                            true => own.keys,
                            false => own.given + (own.entries - own.led),
                        }
                    }
                    None if self.asks_keys => self.matched,
                    None => own.given,
                };
                stage.set_returned(returned);
                return returned;
            }
            "COLLSCAN" | "CLUSTERED_IXSCAN" => {
                stage.count("docsExamined", figure(examined.documents));
                stage.set_returned(self.matched);
                return self.matched;
            }
            "IDHACK" => {
                stage.count("keysExamined", figure(examined.keys));
                stage.count("docsExamined", figure(examined.documents));
                stage.set_returned(self.matched);
                return self.matched;
            }
            "RECORD_STORE_FAST_COUNT" | "EOF" => {
                if name != "EOF" {
                    stage.count("nCounted", figure(self.counted));
                    stage.count("nSkipped", figure(self.skip));
                }
                stage.set_returned(0);
                return 0;
            }
            _ => {}
        }
        if let Some(sum) = joined.as_deref_mut()
            && name == "FETCH"
        {
            // How many of them one branch lets through is not known apart from the others.
            let before = sum.scanned.given;
            for input in stage.inputs_mut() {
                self.tell_in(input, Some(sum));
            }
            let read = sum.scanned.given - before;
            stage.count("docsExamined", figure(read));
            return read;
        }
        if matches!(name, "OR" | "SORT_MERGE" | "TEXT_OR") {
            let mut sum = Joined {
                scanned: Scanned::default(),
                is_merge: name == "SORT_MERGE",
            };
            for input in stage.inputs_mut() {
                self.tell_in(input, Some(&mut sum));
            }
            let sum = sum.scanned;
            stage.count("dupsTested", figure(sum.entries));
            stage.count("dupsDropped", figure(sum.entries - sum.led));
            if let Some(outer) = joined.as_deref_mut() {
                outer.scanned.entries += sum.entries;
                outer.scanned.led += sum.led;
                outer.scanned.given += sum.given;
            }
            let is_last = joined.is_none() && stage.inputs().iter().all(|input| input.name() == "FETCH");
            let given = match self.asks_keys || is_last {
                true => self.matched,
                false => sum.given,
            };
            // What branches leave out by their own conditions is not known apart.
            if is_last || !stage.inputs().iter().any(|input| input.name() == "FETCH") {
                stage.set_returned(given);
            }
            return given;
        }
        let mut given = 0;
        for input in stage.inputs_mut() {
            given += self.tell_in(input, None);
        }
        let returned = match name {
            "FETCH" => {
                stage.count("docsExamined", figure(examined.documents));
                self.matched
            }
            "SKIP" => given.saturating_sub(self.skip),
            "LIMIT" => given.min(self.limit),
            "SORT" => {
                stage.count("totalDataSizeSorted", figure(self.sorted));
                stage.count("usedDisk", Owned::Bool(false));
                let taken = given.min(self.taken);
                match self.limit {
                    0 => taken,
                    limit => taken.min(limit.saturating_add(self.skip)),
                }
            }
            "COUNT" => {
                stage.count("nCounted", figure(self.counted));
                stage.count("nSkipped", figure(self.skip.min(self.matched)));
                0
            }
            "UPDATE" | "DELETE" => {
                let found = match self.limit {
                    0 => given,
                    limit => given.min(limit),
                };
                let counted = if name == "UPDATE" {
                    "nMatched"
                } else {
                    "nWouldDelete"
                };
                stage.count(counted, figure(found));
                if self.is_one { found } else { 0 }
            }
            _ => given,
        };
        stage.set_returned(returned);
        returned
    }
}
