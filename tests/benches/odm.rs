//! P9: our API on MongoDB against hand-written driver code on the same server: `ODM_TEST_MONGODB_URI`.
//!
//! The ratio is our time by the driver's: 1.00 is no cost at all.

use bson::{Document, doc};
use futures_util::TryStreamExt;
use odm::mongodb::driver;
use odm::{Db, Filter, Model};
use odm_tests::harness::{fresh_name, mongodb_uri, with_database};
use odm_tests::measure::{Comparison, compare, verdict};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i64,
    name: String,
    email: String,
    age: i32,
    city: String,
    score: f64,
    active: bool,
    about: String,
    tags: Vec<String>,
}

fn person(id: i64) -> Person {
    Person {
        id,
        name: format!("person {id}"),
        email: format!("person{id}@example.org"),
        age: (id % 90) as i32,
        city: ["Rome", "Oslo", "Lima"][id as usize % 3].to_owned(),
        score: id as f64 / 7.0,
        active: id % 2 == 0,
        about: "x".repeat(100),
        tags: vec!["one".to_owned(), "two".to_owned()],
    }
}

const PEOPLE: i64 = 10_000;

fn show(name: &str, result: Comparison) {
    println!(
        "{name}: ours {:.2} us, driver {:.2} us (write concern and durability: the server's defaults)",
        result.ours, result.theirs
    );
    verdict(&format!("P9 {name}"), 1.0 / result.speedup, 1.05, false);
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(uri) = mongodb_uri() else { return Ok(()) };
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 15 } else { 61 };
    let name = fresh_name();
    let db = Db::open(&with_database(&uri, &name)).await?;
    let client = driver::Client::with_uri_str(&uri).await?;
    let ours = db.collection::<Person>();
    let theirs = client.database(&name).collection::<Person>("people");
    ours.insert_many((0..PEOPLE).map(person)).await?;

    let each = 50;
    let ids = |round: usize| (0..each).map(move |n| ((round * each + n) as i64 * 7_919) % PEOPLE);
    show(
        "find-by-id",
        compare(
            rounds,
            each,
            async |round| {
                for id in ids(round) {
                    assert!(ours.get(id).await.expect("a read").is_some());
                }
            },
            async |round| {
                for id in ids(round) {
                    assert!(
                        theirs
                            .find_one(doc! { "_id": id })
                            .await
                            .expect("a read")
                            .is_some()
                    );
                }
            },
        )
        .await,
    );

    show(
        "find-100",
        compare(
            rounds,
            5,
            async |round| {
                for n in 0..5 {
                    let from = ((round * 5 + n) as i64 * 101) % (PEOPLE - 100);
                    let found = ours
                        .find(|p| p.id.gte(from))
                        .sort(|p| p.id.asc())
                        .limit(100)
                        .await
                        .expect("a read");
                    assert_eq!(found.len(), 100);
                }
            },
            async |round| {
                for n in 0..5 {
                    let from = ((round * 5 + n) as i64 * 101) % (PEOPLE - 100);
                    let cursor = theirs
                        .find(doc! { "_id": { "$gte": from } })
                        .sort(doc! { "_id": 1 })
                        .limit(100);
                    let found: Vec<Person> =
                        cursor.await.expect("a read").try_collect().await.expect("a read");
                    assert_eq!(found.len(), 100);
                }
            },
        )
        .await,
    );

    let bulk = compare(
        rounds.min(21),
        PEOPLE as usize,
        async |_| {
            assert_eq!(
                ours.find(|_| Filter::all()).await.expect("a read").len(),
                PEOPLE as usize
            )
        },
        async |_| {
            let found: Vec<Person> = theirs
                .find(doc! {})
                .await
                .expect("a read")
                .try_collect()
                .await
                .expect("a read");
            assert_eq!(found.len(), PEOPLE as usize);
        },
    )
    .await;
    show("find-10000-typed", bulk);

    show(
        "count",
        compare(
            rounds,
            1,
            async |_| assert!(ours.count(|p| p.age.lt(45)).await.expect("a read") > 0),
            async |_| {
                assert!(
                    theirs
                        .count_documents(doc! { "age": { "$lt": 45 } })
                        .await
                        .expect("a read")
                        > 0
                )
            },
        )
        .await,
    );

    show(
        "update-one",
        compare(
            rounds,
            10,
            async |round| {
                for id in ids(round).take(10) {
                    ours.update_one(|p| p.id.eq(id), |p| p.age.inc(1))
                        .await
                        .expect("a write");
                }
            },
            async |round| {
                for id in ids(round).take(10) {
                    theirs
                        .update_one(doc! { "_id": id }, doc! { "$inc": { "age": 1 } })
                        .await
                        .expect("a write");
                }
            },
        )
        .await,
    );

    let mut next = PEOPLE;
    let mut other = 10 * PEOPLE;
    show(
        "insert-one",
        compare(
            rounds,
            10,
            async |_| {
                for _ in 0..10 {
                    next += 1;
                    ours.insert(person(next)).await.expect("a write");
                }
            },
            async |_| {
                for _ in 0..10 {
                    other += 1;
                    theirs.insert_one(person(other)).await.expect("a write");
                }
            },
        )
        .await,
    );

    // No round trip more than the driver's own.
    let (logged, log) = db.logged();
    logged.collection::<Person>().get(1).await?;
    logged
        .collection::<Person>()
        .update_one(|p| p.id.eq(1), |p| p.age.inc(1))
        .await?;
    println!("round trips of a get and an update: {}", log.round_trips());
    client
        .database(&name)
        .run_command(doc! { "dropDatabase": 1 })
        .await
        .map(|_: Document| ())?;
    Ok(())
}
