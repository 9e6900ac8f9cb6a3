//! Migrations whose process dies at any write, or does not hear of it.

use bson::{Document, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Filter};
use odm_patterns::migration::{MigrationErrorKind, MigrationReport, Migrations, Progress, Step, StepState};

use super::migration_model::{Person, join, lost, people, split, states};
use super::queue_model::{clocked, seconds};

crate::on_every_backend! {
    a_crash_at_any_write_is_resumed,
    a_crash_on_the_way_back_is_resumed,
}

/// How a process dies at its `n`th write.
type Death = fn(u64) -> Vec<Fault>;

const DEATHS: [Death; 3] = [
    // Before it.
    |n| vec![Fault::nth_write(n).crash()],
    // After it.
    |n| vec![Fault::nth_write(n).after(lost()), Fault::nth_write(n + 1).crash()],
    // It lives, and does not know.
    |n| vec![Fault::nth_write(n).after(lost())],
];

async fn count(db: &Db, id: &str, by: i32) -> Result<(), odm_patterns::migration::StepError> {
    let counts = db.raw_collection("counts");
    counts
        .upsert(doc! { "_id": id }, doc! { "$inc": { "n": by } })
        .await?;
    Ok(())
}

/// One step of each kind, each with its way back.
fn all_kinds() -> Migrations {
    let plain = Step::new("1_plain", async |db: Db| {
        db.raw_collection("counts")
            .upsert(doc! { "_id": "plain" }, doc! { "$set": { "n": 1 } })
            .await?;
        Ok(())
    })
    .down(async |db: Db| {
        db.raw_collection("counts")
            .upsert(doc! { "_id": "plain" }, doc! { "$set": { "n": 0 } })
            .await?;
        Ok(())
    });
    let atomic = Step::new("2_atomic", async |db: Db| count(&db, "atomic", 1).await)
        .down(async |db: Db| count(&db, "atomic", -1).await)
        .transactional();
    let names = Step::each::<Person>("3_names", |p| p.first.missing(), split)
        .down_each::<Person>(|p| p.first.exists(), join)
        .batch_size(2)
        .concurrency(1);
    // Nothing tells which documents were changed before.
    let add = |by: i32| {
        move |person: &mut Document| {
            let n = person.get_i32("n").unwrap_or(0);
            person.insert("n", n + by);
            Ok(())
        }
    };
    let numbers = Step::each::<Person>("4_numbers", |_| Filter::all(), add(1))
        .down_each::<Person>(|_| Filter::all(), add(-1))
        .batch_size(2)
        .transactional();
    let resumable = Step::resumable("5_resumable", async |progress: Progress| {
        for n in progress.position::<i32>()?.unwrap_or(0)..2 {
            let numbers = progress.db().raw_collection("numbers");
            numbers
                .upsert(doc! { "_id": n }, doc! { "$set": { "is": true } })
                .await?;
            progress.save(&(n + 1)).await?;
        }
        Ok(())
    })
    .down(async |db: Db| {
        db.raw_collection("numbers").delete_many(doc! {}).await?;
        Ok(())
    });
    let steps = [plain, atomic, names, numbers, resumable];
    steps.into_iter().fold(Migrations::new(), Migrations::step)
}

/// What each step left: once, or not at all.
async fn check(db: &Db, done: i32, context: &str) {
    let all = db
        .collection::<Person>()
        .raw()
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 });
    for person in all.await.unwrap() {
        assert_eq!(person.contains_key("first"), done == 1, "{context}: {person}");
        assert_eq!(person.contains_key("name"), done == 0, "{context}: {person}");
        assert_eq!(person.get_i32("n").unwrap_or(0), done, "{context}: {person}");
        // Each change is one of the model, and nothing was changed twice.
        let changes = if done == 1 { 2 } else { 4 };
        assert_eq!(person.get_i32("version").unwrap(), changes, "{context}: {person}");
    }
    for id in ["plain", "atomic"] {
        let count = db.raw_collection("counts").get(id).await.unwrap();
        let n = count.map_or(0, |count| count.get_i32("n").unwrap());
        assert_eq!(n, done, "{context}: {id}");
    }
    let numbers = db.raw_collection("numbers").count(doc! {}).await.unwrap();
    assert_eq!(numbers, if done == 1 { 2 } else { 0 }, "{context}");
    let state = if done == 1 {
        StepState::Done
    } else {
        StepState::Reverted
    };
    let states = states(db).await;
    assert_eq!(states.len(), 5, "{context}");
    assert!(
        states.iter().all(|(_, found)| *found == state),
        "{context}: {states:?}"
    );
}

async fn clear(db: &Db) {
    for name in [
        "migrations",
        "migrations.lease",
        "migrated_people",
        "counts",
        "numbers",
    ] {
        db.raw_collection(name).delete_many(doc! {}).await.unwrap();
    }
    people(db, 5).await;
}

type Outcome = Result<MigrationReport, odm_patterns::migration::MigrationError>;

async fn crash_everywhere(db: &Db, done: i32, act: impl AsyncFn(&Db) -> Outcome) -> u64 {
    let (db, clock) = clocked(db);
    let mut crashes = 0;
    for (kind, death) in DEATHS.iter().enumerate() {
        for n in 1.. {
            let context = format!("death {kind} at write {n}");
            clear(&db).await;
            if done == 0 {
                all_kinds().run(&db).await.unwrap();
            }
            let (faulty, faults) = db.faulty();
            for fault in death(n) {
                faults.add(fault);
            }
            let first = act(&faulty).await;
            if faults.failures() == 0 {
                first.unwrap();
                check(&db, done, &context).await;
                break;
            }
            crashes += 1;
            // Another process, later.
            clock.advance(seconds(60));
            act(&db)
                .await
                .unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&db, done, &context).await;
            assert!(act(&db).await.unwrap().steps.is_empty(), "{context}");
        }
    }
    crashes
}

async fn a_crash_at_any_write_is_resumed(db: &Db) {
    let crashes = crash_everywhere(db, 1, async |db: &Db| all_kinds().run(db).await).await;
    assert!(crashes >= 3 * 30, "{crashes}");
}

async fn a_crash_on_the_way_back_is_resumed(db: &Db) {
    let crashes = crash_everywhere(db, 0, async |db: &Db| all_kinds().revert(db, usize::MAX).await).await;
    assert!(crashes >= 3 * 30, "{crashes}");
    // Nothing runs over what is half undone.
    let (db, clock) = clocked(db);
    clear(&db).await;
    all_kinds().run(&db).await.unwrap();
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth("delete", 1).crash());
    all_kinds().revert(&faulty, 9).await.unwrap_err();
    clock.advance(seconds(60));
    let kind = all_kinds().run(&db).await.unwrap_err().kind;
    assert!(matches!(kind, MigrationErrorKind::HalfReverted));
}
