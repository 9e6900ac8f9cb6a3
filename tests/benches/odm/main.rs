//! P9: our API on MongoDB against hand-written driver code on the same server (`ODM_TEST_MONGODB_URI`), in turns.
//!
//! The ratio is our time by the driver's: 1.00 is no cost at all. Arguments: `--quick` for fewer rounds, and `people`,
//! `tweet`, `small`, `tasks` when not all rows are wanted. All but the people are documents of MongoDB's public
//! benchmarks, which are read from the shared data; where it is absent, their rows are skipped.

mod documents;
mod large;
mod nested;
mod tasks;

use bson::doc;
use futures_util::TryStreamExt;
use odm::mongodb::driver;
use odm::{Collection, Db, Filter, Model};
use odm_tests::measure::{Comparison, Server, Settings, bench, compare, verdict};

use self::documents::{Person, Small, Tweet};

const MANY: usize = 10_000;

fn main() {
    bench(2, rows);
}

async fn rows(settings: &Settings, server: Option<&Server>) {
    let Some(server) = server else { return };
    if settings.wants("people") {
        let people: Vec<_> = (0..MANY as i64).map(Person::new).collect();
        let bench = Bench::prepare(settings, server, "", &people).await;
        bench.find_by_id().await;
        bench.find_100().await;
        bench.bulk().await;
        bench.insert_one("insert-one", 10, Person::new).await;
        bench.insert_many(Person::new).await;
        people_only(&bench).await;
        round_trips(server).await;
        bench.drop().await;
    }
    if settings.wants("tweet")
        && let Some(tweet) = Tweet::read()
    {
        let tweets: Vec<_> = (0..MANY as i64).map(|id| tweet.with_id(id)).collect();
        let bench = Bench::prepare(settings, server, "tweet-", &tweets).await;
        bench.find_by_id().await;
        bench.find_100().await;
        bench.bulk().await;
        bench.insert_one("insert-one", 10, |id| tweet.with_id(id)).await;
        bench.insert_many(|id| tweet.with_id(id)).await;
        bench.drop().await;
    }
    // One small document at a time is among the tasks.
    if settings.wants("small")
        && let Some(small) = Small::read()
    {
        let documents: Vec<_> = (0..MANY as i64).map(|id| small.with_id(id)).collect();
        let bench = Bench::prepare(settings, server, "small-", &documents).await;
        bench.find_100().await;
        bench.bulk().await;
        bench.insert_many(|id| small.with_id(id)).await;
        bench.drop().await;
    }
    if settings.wants("tasks") {
        tasks::all(settings, server).await;
    }
}

/// One model's documents, ids from 0, in a collection that both sides read and write.
struct Bench<M: Send + Sync> {
    name: &'static str,
    rounds: usize,
    ours: Collection<M>,
    theirs: driver::Collection<M>,
}

fn show(name: &str, result: Comparison, target: f64) {
    println!(
        "P9 {name}: ours {:.2} us, driver {:.2} us each; the server's default write concern",
        result.ours, result.theirs
    );
    verdict(&format!("P9 {name}"), 1.0 / result.speedup, target, false);
}

impl<M: Model<Key = i64> + Clone + Sync + Unpin> Bench<M> {
    async fn prepare(settings: &Settings, server: &Server, name: &'static str, documents: &[M]) -> Bench<M> {
        let ours = server.open().await.collection::<M>();
        ours.insert_many(documents).await.expect("documents are inserted");
        let theirs = server.database().collection::<M>(ours.name());
        Bench {
            name,
            rounds: settings.choose(15, 301),
            ours,
            theirs,
        }
    }

    fn show(&self, name: &str, result: Comparison, target: f64) {
        show(&format!("{}{name}", self.name), result, target);
    }

    async fn find_by_id(&self) {
        let each = 50;
        let ids = |round: usize| (0..each).map(move |n| ((round * each + n) * 7_919 % MANY) as i64);
        let result = compare(
            self.rounds,
            each,
            async |round| {
                for id in ids(round) {
                    assert!(self.ours.get(id).await.expect("a read").is_some());
                }
            },
            async |round| {
                for id in ids(round) {
                    let found = self.theirs.find_one(doc! { "_id": id }).await.expect("a read");
                    assert!(found.is_some());
                }
            },
        );
        self.show("find-by-id", result.await, 1.03);
    }

    async fn find_100(&self) {
        let starts = |round: usize| (0..5).map(move |n| ((round * 5 + n) * 101 % (MANY - 100)) as i64);
        let result = compare(
            self.rounds,
            5,
            async |round| {
                for from in starts(round) {
                    let ids = from..from + 100;
                    let found = self.ours.get_many(ids).await.expect("a read");
                    assert_eq!(found.len(), 100);
                }
            },
            async |round| {
                for from in starts(round) {
                    let ids: Vec<_> = (from..from + 100).collect();
                    let cursor = self.theirs.find(doc! { "_id": { "$in": ids } }).await;
                    let found: Vec<M> = cursor.expect("a read").try_collect().await.expect("a read");
                    assert_eq!(found.len(), 100);
                }
            },
        );
        self.show("find-100", result.await, 1.03);
    }

    /// Reads everything typed: faster than the driver, which copies each document.
    async fn bulk(&self) {
        let result = compare(
            self.rounds.min(61),
            MANY,
            async |_| {
                let found = self.ours.find_all().await.expect("a read");
                assert_eq!(found.len(), MANY);
            },
            async |_| {
                let cursor = self.theirs.find(doc! {}).await.expect("a read");
                let found: Vec<M> = cursor.try_collect().await.expect("a read");
                assert_eq!(found.len(), MANY);
            },
        );
        self.show("find-10000-typed", result.await, 1.0);
        let result = compare(
            self.rounds.min(61),
            MANY,
            async |_| {
                let mut cursor = self.ours.find_all().stream();
                let mut count = 0;
                while cursor.try_next().await.expect("a read").is_some() {
                    count += 1;
                }
                assert_eq!(count, MANY);
            },
            async |_| {
                let mut cursor = self.theirs.find(doc! {}).await.expect("a read");
                let mut count = 0;
                while cursor.try_next().await.expect("a read").is_some() {
                    count += 1;
                }
                assert_eq!(count, MANY);
            },
        );
        self.show("stream-10000-typed", result.await, 1.0);
    }

    /// Inserts documents by one, `each` of them in a round.
    async fn insert_one(&self, name: &str, each: usize, make: impl Fn(i64) -> M) {
        let [own, other] = Self::documents(1 << 30, self.rounds, each, make);
        let result = compare(
            self.rounds,
            each,
            async |round| {
                for document in &own[round] {
                    self.ours.insert(document).await.expect("a write");
                }
            },
            async |round| {
                for document in &other[round] {
                    self.theirs.insert_one(document).await.expect("a write");
                }
            },
        );
        self.show(name, result.await, 1.03);
    }

    async fn insert_many(&self, make: impl Fn(i64) -> M) {
        let (rounds, each) = (self.rounds.min(61), 1_000);
        let [own, other] = Self::documents(1 << 32, rounds, each, make);
        let result = compare(
            rounds,
            each,
            async |round| {
                self.ours.insert_many(&own[round]).await.expect("a write");
            },
            async |round| {
                self.theirs.insert_many(&other[round]).await.expect("a write");
            },
        );
        self.show("insert-many-1000", result.await, 1.03);
    }

    /// What each side inserts in each round. The ids of the two sides alternate: to insert behind all that is there
    /// is cheaper than before some of it.
    fn documents(first: i64, rounds: usize, each: usize, make: impl Fn(i64) -> M) -> [Vec<Vec<M>>; 2] {
        let id = |round: usize, n: usize, side: i64| first + 2 * (round * each + n) as i64 + side;
        [0, 1].map(|side| {
            (0..=rounds)
                .map(|round| (0..each).map(|n| make(id(round, n, side))).collect())
                .collect()
        })
    }

    /// Drops the collection, so that the next rows have the server's cache for themselves.
    async fn drop(self) {
        self.ours.drop().await.expect("the collection is dropped");
    }
}

async fn people_only(bench: &Bench<Person>) {
    let ids = |round: usize| (0..10).map(move |n| ((round * 10 + n) * 7_919 % MANY) as i64);
    let result = compare(
        bench.rounds,
        10,
        async |round| {
            for id in ids(round) {
                let updated = bench.ours.update_one(|p| p.id.eq(id), |p| p.age.inc(1));
                assert_eq!(updated.await.expect("a write").modified, 1);
            }
        },
        async |round| {
            for id in ids(round) {
                let updated = bench
                    .theirs
                    .update_one(doc! { "_id": id }, doc! { "$inc": { "age": 1 } });
                assert_eq!(updated.await.expect("a write").modified_count, 1);
            }
        },
    );
    bench.show("update-one", result.await, 1.03);
    let result = compare(
        bench.rounds.min(61),
        1,
        async |_| assert!(bench.ours.count(|p| p.age.lt(45)).await.expect("a read") > 0),
        async |_| {
            let filter = doc! { "age": { "$lt": 45 } };
            assert!(bench.theirs.count_documents(filter).await.expect("a read") > 0);
        },
    );
    bench.show("count", result.await, 1.03);
}

/// Counts the commands that reach the server: ours, the driver's, and what our own log says.
async fn round_trips(server: &Server) {
    let (client, sent) = server.counted().await;
    let (other, needed) = server.counted().await;
    let db = Db::from_backend(odm::mongodb::backend(client), server.database().name());
    let (logged, log) = db.logged();
    let ours = logged.collection::<Person>();
    let theirs = other
        .database(server.database().name())
        .collection::<Person>(ours.name());
    // Connecting costs commands of its own.
    ours.count(|_| Filter::all()).await.expect("a read");
    theirs.count_documents(doc! {}).await.expect("a read");
    macro_rules! show {
        ($name:literal, $own:expr, $other:expr) => {
            log.take();
            (sent.take(), needed.take());
            $own.await.expect("ours");
            $other.await.expect("theirs");
            let (sent, needed) = (sent.take(), needed.take());
            println!(
                "P9 {} round trips: ours {sent} (logged {}), driver {needed}",
                $name,
                log.round_trips()
            );
            verdict(
                concat!("P9 round-trips ", $name),
                sent as f64 / needed as f64,
                1.0,
                false,
            );
        };
    }
    let nobody = (0..1_000).map(|n| Person::new((1 << 34) + n)).collect::<Vec<_>>();
    let (first, rest) = nobody.split_at(1);
    let (second, rest) = rest.split_at(1);
    let (third, fourth) = rest.split_at(rest.len() / 2);
    show!("get", ours.get(1), theirs.find_one(doc! { "_id": 1 }));
    show!("find-all", ours.find_all(), async {
        theirs.find(doc! {}).await?.try_collect::<Vec<Person>>().await
    });
    show!("insert", ours.insert(&first[0]), theirs.insert_one(&second[0]));
    show!("insert-many", ours.insert_many(third), theirs.insert_many(fourth));
    show!(
        "update",
        ours.update_one(|p| p.id.eq(1), |p| p.age.inc(1)),
        theirs.update_one(doc! { "_id": 1 }, doc! { "$inc": { "age": 1 } })
    );
    show!(
        "count",
        ours.count(|p| p.age.lt(45)),
        theirs.count_documents(doc! { "age": { "$lt": 45 } })
    );
    show!(
        "find-and-update",
        ours.find_one_and_update(|p| p.id.eq(1), |p| p.age.inc(1)),
        theirs.find_one_and_update(doc! { "_id": 1 }, doc! { "$inc": { "age": 1 } })
    );
    show!("delete", ours.delete(1), theirs.delete_one(doc! { "_id": 2 }));
}
