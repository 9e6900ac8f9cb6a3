//! P13: what single operations cost in a collection a hundred times as large.

use std::time::Instant;

use odm::{Collection, Db};
use odm_tests::measure::{Job, Settings, Thing, median, verdict};
use tempfile::TempDir;

use crate::{RELAXED, directory, open};

const SMALL: usize = 10_000;
const TARGET: f64 = 2.0;

/// A collection of things and one of jobs, of so many documents each.
struct Sized {
    _directory: TempDir,
    db: Db,
    things: Collection<Thing>,
    jobs: Collection<Job>,
    documents: usize,
}

impl Sized {
    async fn new(documents: usize) -> Sized {
        let directory = directory();
        let db = open::<Thing>(&directory, RELAXED).await;
        let (things, jobs) = (db.collection::<Thing>(), db.collection::<Job>());
        jobs.create_indexes().await.expect("indexes are built");
        for first in (0..documents).step_by(SMALL) {
            let more = Thing::several(first as i64, SMALL);
            things.insert_many(&more).await.expect("inserted");
            let more: Vec<_> = (first as i64..).take(SMALL).map(Job::ready).collect();
            jobs.insert_many(&more).await.expect("inserted");
        }
        Sized {
            _directory: directory,
            db,
            things,
            jobs,
            documents,
        }
    }

    fn ids(&self, round: usize, each: usize) -> impl Iterator<Item = i64> + use<> {
        let documents = self.documents;
        (0..each).map(move |n| ((round * each + n) * 7_919 % documents) as i64)
    }

    async fn find(&self, round: usize, each: usize) {
        for id in self.ids(round, each) {
            assert!(self.things.get(id).await.expect("a read").is_some());
        }
    }

    async fn range(&self, round: usize, each: usize) {
        for id in self.ids(round, each) {
            let from = Thing::new(id).rank;
            let found = self
                .things
                .find(|t| t.rank.gte(from))
                .sort(|t| t.rank.asc())
                .limit(10)
                .await;
            assert!(!found.expect("a read").is_empty());
        }
    }

    async fn increment(&self, round: usize, each: usize) {
        for id in self.ids(round, each) {
            let done = self.things.update_one(|t| t.id.eq(id), |t| t.count.inc(1)).await;
            assert_eq!(done.expect("an update").modified, 1);
        }
    }

    async fn claim(&self, each: usize) {
        for _ in 0..each {
            let claimed = self
                .jobs
                .find_one_and_update(
                    |j| j.state.eq("ready"),
                    |j| j.state.set("running") & j.tries.inc(1),
                )
                .sort(|j| j.due.asc())
                .await;
            assert!(claimed.expect("a claim").is_some());
        }
    }

    async fn insert(&self, round: usize, each: usize) {
        let first = (1_i64 << 40) + (round * each) as i64;
        for thing in Thing::several(first, each) {
            self.things.insert(thing).await.expect("an insert");
        }
    }

    async fn run(&self, what: &str, round: usize, each: usize) -> f64 {
        let start = Instant::now();
        match what {
            "find" => self.find(round, each).await,
            "range" => self.range(round, each).await,
            "inc" => self.increment(round, each).await,
            "claim" => self.claim(each).await,
            _ => self.insert(round, each).await,
        }
        start.elapsed().as_secs_f64() * 1e6 / each as f64
    }
}

pub(crate) async fn with_documents(settings: &Settings) {
    let large = settings.choose(10 * SMALL, 100 * SMALL);
    let (small, large) = (Sized::new(SMALL).await, Sized::new(large).await);
    let rounds = settings.choose(9, 31);
    for what in ["find", "range", "inc", "claim", "insert"] {
        let (mut at_small, mut at_large, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=rounds {
            let (a, b) = (
                small.run(what, round, 200).await,
                large.run(what, round, 200).await,
            );
            if round > 0 {
                at_small.push(a);
                at_large.push(b);
                ratios.push(b / a);
            }
        }
        println!(
            "P13: {what} {:.2} us among {}, {:.2} us among {} documents",
            median(at_small),
            small.documents,
            median(at_large),
            large.documents
        );
        verdict(&format!("P13 {what}"), median(ratios), TARGET, false);
    }
    drop((small.db, large.db));
}
