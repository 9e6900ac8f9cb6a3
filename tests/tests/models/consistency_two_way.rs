//! References that two documents hold to each other.

use bson::{Bson, doc};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind, Model, Ref, RelationProblemKind};
use serde::{Deserialize, Serialize};

use super::lifecycle_models::Note;
use odm_tests::plain::Plain;

crate::on_every_backend! {
    one_to_many_is_kept_on_both_sides,
    one_to_one_is_kept_on_both_sides,
    many_to_many_is_kept_on_both_sides,
    what_is_not_there_cannot_be_linked,
    both_sides_must_name_each_other,
    links_are_part_of_the_running_transaction,
    one_sided_links_are_found_and_repaired,
    a_crash_at_any_write_is_repaired,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people", referred_by(Job, Passport))]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    /// One person, many jobs.
    #[odm(two_way = owner)]
    pub jobs: Vec<Ref<Job>>,
    /// One to one.
    #[odm(two_way = holder)]
    pub passport: Option<Ref<Passport>>,
    /// Many to many, in one collection.
    #[odm(two_way = friends)]
    pub friends: Vec<Ref<Person>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "jobs", referred_by(Label))]
pub struct Job {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(rename = "ownerId")]
    #[odm(two_way = jobs, on_delete = nullify)]
    pub owner: Option<Ref<Person>>,
    #[odm(two_way = jobs)]
    pub labels: Vec<Ref<Label>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "passports")]
pub struct Passport {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(two_way = passport, on_delete = nullify)]
    pub holder: Option<Ref<Person>>,
}

/// Many to many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "labels")]
pub struct Label {
    #[serde(rename = "_id")]
    pub name: String,
    #[odm(two_way = labels, on_delete = pull)]
    pub jobs: std::collections::BTreeSet<Ref<Job>>,
}

async fn everybody(db: &Db) {
    let person = |id| Person {
        id,
        jobs: Vec::new(),
        passport: None,
        friends: Vec::new(),
    };
    db.collection::<Person>()
        .insert_many([1, 2].map(person))
        .await
        .unwrap();
    let job = |id| Job {
        id,
        owner: None,
        labels: Vec::new(),
    };
    db.collection::<Job>()
        .insert_many([11, 12].map(job))
        .await
        .unwrap();
    let passport = |id| Passport { id, holder: None };
    db.collection::<Passport>()
        .insert_many([21, 22].map(passport))
        .await
        .unwrap();
    let label = |name: &str| Label {
        name: name.to_owned(),
        jobs: Default::default(),
    };
    db.collection::<Label>()
        .insert_many(["red", "blue"].map(label))
        .await
        .unwrap();
}

/// Who holds what, in short.
async fn state(db: &Db) -> Vec<String> {
    let mut all = Vec::new();
    for (collection, fields) in [
        ("people", &["jobs", "passport", "friends"][..]),
        ("jobs", &["ownerId", "labels"]),
        ("passports", &["holder"]),
        ("labels", &["jobs"]),
    ] {
        let documents = db
            .raw_collection(collection)
            .find(doc! {})
            .sort_raw(doc! { "_id": 1 });
        for document in documents.await.unwrap() {
            for field in fields {
                let held = match document.get(*field) {
                    Some(Bson::Null) | None => continue,
                    Some(Bson::Array(all)) if all.is_empty() => continue,
                    Some(held) => held.to_string(),
                };
                all.push(format!("{}.{field}={held}", document.get("_id").unwrap()));
            }
        }
    }
    all
}

async fn assert_agreed(db: &Db) {
    assert_eq!(db.verify_relations::<Person>().await.unwrap(), []);
}

async fn one_to_many_is_kept_on_both_sides(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        everybody(&db).await;
        let (people, jobs) = (db.collection::<Person>(), db.collection::<Job>());
        assert!(people.link(1, |p| p.jobs, 11).await.unwrap());
        assert!(jobs.link(12, |j| j.owner, 1).await.unwrap());
        assert_eq!(
            state(&db).await,
            ["1.jobs=[11, 12]", "11.ownerId=1", "12.ownerId=1"]
        );
        assert!(!people.link(1, |p| p.jobs, 11).await.unwrap());
        // From either side: the job has an owner.
        for error in [
            people.link(2, |p| p.jobs, 11).await.unwrap_err(),
            jobs.link(11, |j| j.owner, 2).await.unwrap_err(),
        ] {
            assert_eq!(
                (error.kind(), error.path()),
                (ErrorKind::Conflict, Some("ownerId"))
            );
        }
        assert!(people.reassign(2, |p| p.jobs, 11).await.unwrap());
        assert_eq!(
            state(&db).await,
            ["1.jobs=[12]", "2.jobs=[11]", "11.ownerId=2", "12.ownerId=1"]
        );
        assert!(jobs.reassign(12, |j| j.owner, 2).await.unwrap());
        assert_eq!(
            state(&db).await,
            ["2.jobs=[11, 12]", "11.ownerId=2", "12.ownerId=2"]
        );
        assert!(!people.unlink(1, |p| p.jobs, 11).await.unwrap());
        assert!(people.unlink(2, |p| p.jobs, 11).await.unwrap());
        assert_eq!(state(&db).await, ["2.jobs=[12]", "12.ownerId=2"]);
        assert_agreed(&db).await;
        // Delete rules keep the other side too.
        people.delete(2).await.unwrap();
        assert_eq!(state(&db).await, [""; 0]);
        db.drop().await.unwrap();
    }
}

async fn one_to_one_is_kept_on_both_sides(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        everybody(&db).await;
        let (people, passports) = (db.collection::<Person>(), db.collection::<Passport>());
        people.link(1, |p| p.passport, 21).await.unwrap();
        people.link(2, |p| p.passport, 22).await.unwrap();
        let error = people.link(1, |p| p.passport, 22).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        // Both sides had another.
        people.reassign(1, |p| p.passport, 22).await.unwrap();
        assert_eq!(state(&db).await, ["1.passport=22", "22.holder=1"]);
        // One side had.
        passports.reassign(22, |p| p.holder, 2).await.unwrap();
        assert_eq!(state(&db).await, ["2.passport=22", "22.holder=2"]);
        people.reassign(2, |p| p.passport, 21).await.unwrap();
        assert_eq!(state(&db).await, ["2.passport=21", "21.holder=2"]);
        passports.unlink(21, |p| p.holder, 2).await.unwrap();
        assert_eq!(state(&db).await, [""; 0]);
        db.drop().await.unwrap();
    }
}

async fn many_to_many_is_kept_on_both_sides(db: &Db) {
    everybody(db).await;
    let (jobs, labels) = (db.collection::<Job>(), db.collection::<Label>());
    jobs.link(11, |j| j.labels, "red").await.unwrap();
    jobs.link(12, |j| j.labels, "red").await.unwrap();
    labels.link("blue", |l| l.jobs, 11).await.unwrap();
    assert_eq!(
        state(db).await,
        [
            "11.labels=[\"red\", \"blue\"]",
            "12.labels=[\"red\"]",
            "\"blue\".jobs=[11]",
            "\"red\".jobs=[11, 12]"
        ]
    );
    labels.unlink("red", |l| l.jobs, 11).await.unwrap();
    jobs.unlink(11, |j| j.labels, "blue").await.unwrap();
    assert_eq!(state(db).await, ["12.labels=[\"red\"]", "\"red\".jobs=[12]"]);
    // Both sides are one field of one collection.
    let people = db.collection::<Person>();
    assert!(people.link(1, |p| p.friends, 2).await.unwrap());
    assert!(!people.link(2, |p| p.friends, 1).await.unwrap());
    assert!(people.link(2, |p| p.friends, 2).await.unwrap());
    assert_eq!(state(db).await[..2], ["1.friends=[2]", "2.friends=[1, 2]"]);
    assert_agreed(db).await;
    assert!(people.unlink(2, |p| p.friends, 1).await.unwrap());
    assert_eq!(state(db).await[0], "2.friends=[2]");
}

async fn what_is_not_there_cannot_be_linked(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        everybody(&db).await;
        let people = db.collection::<Person>();
        for (person, job) in [(1, 99), (9, 11)] {
            let error = people.link(person, |p| p.jobs, job).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(!people.unlink(person, |p| p.jobs, job).await.unwrap());
        }
        assert_eq!(state(&db).await, [""; 0]);
        db.drop().await.unwrap();
    }
}

/// Declared on a reference to a model whose field names another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "halves")]
pub struct Half {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(two_way = right)]
    pub left: Option<Ref<Half>>,
    pub right: Option<Ref<Half>>,
    pub note: Vec<Ref<Note>>,
}

async fn both_sides_must_name_each_other(db: &Db) {
    let halves = db.collection::<Half>();
    let error = halves.link(1, |h| h.left, 2).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, Some("left")));
    let error = halves.verify_relations().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    let error = halves.link(1, |h| h.right, 2).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("right"))
    );
}

async fn links_are_part_of_the_running_transaction(db: &Db) {
    everybody(db).await;
    let tx = db.begin().await.unwrap();
    tx.collection::<Person>().link(1, |p| p.jobs, 11).await.unwrap();
    assert_eq!(state(&tx).await.len(), 2);
    tx.abort().await;
    assert_eq!(state(db).await, [""; 0]);
}

async fn one_sided_links_are_found_and_repaired(db: &Db) {
    everybody(db).await;
    let set = |collection: &'static str, id: i32, set: bson::Document| {
        let collection = db.raw_collection(collection);
        async move {
            collection
                .update_one(doc! { "_id": id }, doc! { "$set": set })
                .await
                .unwrap()
        }
    };
    // The job says who owns it: person 2, not 1.
    set("jobs", 11, doc! { "ownerId": 2 }).await;
    set("people", 1, doc! { "jobs": [11], "friends": [2], "passport": 21 }).await;
    // Passport 21 is free, 22 is person 2's, whatever person 2 says.
    set("people", 2, doc! { "passport": 21 }).await;
    let problems = db.verify_relations::<Person>().await.unwrap();
    assert!(
        problems
            .iter()
            .all(|problem| problem.kind == RelationProblemKind::OneSided)
    );
    let mut found: Vec<_> = problems
        .iter()
        .map(|problem| format!("{}.{}={}", problem.id, problem.field, problem.key))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "1.friends=2",
            "1.jobs=11",
            "1.passport=21",
            "11.ownerId=2",
            "2.passport=21"
        ]
    );
    db.verify_relations::<Person>().repair().await.unwrap();
    db.verify_relations::<Person>().repair().await.unwrap();
    assert_agreed(db).await;
    assert_eq!(
        state(db).await,
        [
            "1.passport=21",
            "1.friends=[2]",
            "2.jobs=[11]",
            "2.friends=[1]",
            "11.ownerId=2",
            "21.holder=1"
        ]
    );
}

async fn a_crash_at_any_write_is_repaired(db: &Db) {
    for base in [db.clone(), Plain::db(db)] {
        for step in 0..6 {
            for write in 1.. {
                everybody(&base).await;
                let people = base.collection::<Person>();
                people.link(1, |p| p.jobs, 11).await.unwrap();
                people.link(1, |p| p.passport, 21).await.unwrap();
                people.link(2, |p| p.passport, 22).await.unwrap();
                people.link(1, |p| p.friends, 2).await.unwrap();
                let (faulty, faults) = base.faulty();
                faults.add(Fault::nth_write(write).crash());
                let people = faulty.collection::<Person>();
                let action = |people: &odm::Collection<Person>| match step {
                    0 => people.link(2, |p| p.jobs, 12),
                    1 => people.reassign(2, |p| p.jobs, 11),
                    2 => people.unlink(1, |p| p.jobs, 11),
                    3 => people.reassign(1, |p| p.passport, 22),
                    4 => people.unlink(1, |p| p.friends, 2),
                    _ => people.unlink(1, |p| p.passport, 21),
                };
                let outcome = action(&people).await;
                base.verify_relations::<Person>().repair().await.unwrap();
                base.verify_relations::<Person>().repair().await.unwrap();
                assert_agreed(&base).await;
                // Asked again, it is done.
                action(&base.collection::<Person>()).await.unwrap();
                assert_agreed(&base).await;
                let done = state(&base).await;
                let expected = match step {
                    0 => "12.ownerId=2",
                    1 => "11.ownerId=2",
                    3 => "22.holder=1",
                    _ => "",
                };
                assert!(
                    expected.is_empty() || done.iter().any(|link| link == expected),
                    "{done:?}"
                );
                let gone = match step {
                    2 => "1.jobs=[11]",
                    4 => "1.friends=[2]",
                    5 => "1.passport=21",
                    _ => "",
                };
                assert!(!done.iter().any(|link| link == gone), "{done:?}");
                base.drop().await.unwrap();
                if outcome.is_ok() {
                    assert!(write > 2, "a link is two writes");
                    break;
                }
            }
        }
    }
}
