//! P13: what single operations cost in a collection a hundred times as large; beside it, what the same find costs in
//! the bare store.

use std::time::Instant;

use odm::{Collection, Db};
use odm_tests::measure::{Bare, Job, Settings, Thing, median, verdict};
use tempfile::TempDir;

use crate::{RELAXED, directory, open};

const SMALL: usize = 10_000;
const TARGET: f64 = 2.0;

/// A collection of things and one of jobs, of so many documents each, and the things in the bare store.
struct Sized {
    directory: TempDir,
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
            directory,
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

    /// The same things in the bare store.
    fn bare(&self) -> Bare {
        let mut bare = Bare::create(self.directory.path());
        for first in (0..self.documents).step_by(SMALL) {
            bare.insert(&Thing::several(first as i64, SMALL), false);
        }
        bare
    }

    fn find_bare(&self, bare: &Bare, round: usize, each: usize) -> f64 {
        let start = Instant::now();
        for id in self.ids(round, each) {
            assert!(bare.get(id).is_some());
        }
        start.elapsed().as_secs_f64() * 1e6 / each as f64
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

/// What an operation costs in each round at either size, in microseconds.
#[derive(Default)]
struct Growth {
    small: Vec<f64>,
    large: Vec<f64>,
}

impl Growth {
    fn push(&mut self, small: f64, large: f64) {
        self.small.push(small);
        self.large.push(large);
    }

    /// Prints the medians; how much more the large one costs, in the median of the rounds.
    fn tell(self, what: &str, sizes: [usize; 2]) -> f64 {
        let ratios = self
            .small
            .iter()
            .zip(&self.large)
            .map(|(small, large)| large / small);
        let ratio = median(ratios.collect());
        println!(
            "P13: {what} {:.2} us among {}, {:.2} us among {} documents",
            median(self.small),
            sizes[0],
            median(self.large),
            sizes[1]
        );
        ratio
    }
}

pub(crate) async fn with_documents(settings: &Settings) {
    let large = settings.choose(10 * SMALL, 100 * SMALL);
    let sizes = [SMALL, large];
    let (small, large) = (Sized::new(SMALL).await, Sized::new(large).await);
    let rounds = settings.choose(9, 31);
    for what in ["find", "range", "inc", "claim", "insert"] {
        let mut growth = Growth::default();
        for round in 0..=rounds {
            let (a, b) = (
                small.run(what, round, 200).await,
                large.run(what, round, 200).await,
            );
            if round > 0 {
                growth.push(a, b);
            }
        }
        verdict(&format!("P13 {what}"), growth.tell(what, sizes), TARGET, false);
    }
    let (own, other) = (small.bare(), large.bare());
    let mut growth = Growth::default();
    for round in 0..=rounds {
        let (a, b) = (
            small.find_bare(&own, round, 200),
            large.find_bare(&other, round, 200),
        );
        if round > 0 {
            growth.push(a, b);
        }
    }
    let ratio = growth.tell("find in the bare store", sizes);
    println!("P13: the bare store takes {ratio:.2} times as long");
    drop((small.db, large.db));
}
