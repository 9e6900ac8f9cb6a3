//! Subsets: what a parent shows of its children is what they are.

use bson::{Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{CollectionDeclaration, Db, Embedded, Error, ErrorKind, Model, Ref, Result};
use odm_patterns::subset::{InStep, Subset, SubsetProblemKind};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_subset_follows_its_children,
    subsets_are_in_step_after_many_at_once,
    a_crash_at_any_write_of_a_subset_is_resumed,
    subsets_are_held_against_their_children,
    a_child_of_another_parent_is_refused,
    a_parent_that_is_softly_deleted_is_not_found,
    a_parent_of_another_kind_is_not_found,
    a_mark_waits_for_a_softly_deleted_parent,
    two_subsets_are_written_together,
    a_crash_at_any_write_of_two_subsets_is_resumed,
    a_parent_is_known_as_it_is_stored,
    subsets_of_collections_that_are_named_later,
    a_version_that_is_none_ends,
    what_is_no_number_is_in_step,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_products")]
pub(super) struct Product {
    #[serde(rename = "_id")]
    id: i32,
    best: Vec<Brief>,
    #[serde(default)]
    in_step: InStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_reviews", index(keys(product, desc(stars))))]
pub(super) struct Review {
    #[serde(rename = "_id")]
    id: i32,
    product: Ref<Product>,
    pub stars: i32,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(super) struct Brief {
    #[serde(rename = "_id")]
    id: i32,
    stars: i32,
}

async fn a_child_of_another_parent_is_refused(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop().await.unwrap();
        product(&db).await;
        let other = Product {
            id: 2,
            best: vec![],
            in_step: InStep::default(),
        };
        db.collection::<Product>().insert(other).await.unwrap();
        let best = best(&db);
        let refused = best.insert(2, &review(7, 5)).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.model(), refused.path(), refused.id()),
            (
                ErrorKind::InvalidArgument,
                Some("Review"),
                Some("product"),
                Some(&bson::Bson::Int32(7))
            )
        );
        best.insert(1, &review(7, 5)).await.unwrap();
        // Nor is it changed or deleted in the other's name, which would leave the list of its own behind.
        assert!(!best.update(2, 7, |r| r.stars.set(1)).await.unwrap());
        assert!(!best.delete(2, 7).await.unwrap());
        assert_eq!(best.verify().await.unwrap(), []);
        assert!(best.update(1, 7, |r| r.stars.set(1)).await.unwrap());
        assert!(best.delete(1, 7).await.unwrap());
        assert_eq!(best.verify().await.unwrap(), []);
        assert!(db.collection::<Review>().find_all().await.unwrap().is_empty());
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

pub(super) fn best(db: &Db) -> Subset<Product, Review, Brief> {
    Subset::<Product, Review, Brief>::new(
        db,
        3,
        |p| p.best,
        |p| p.in_step.path().clone(),
        |r| r.product.path().clone(),
        |r| r.stars.desc() & r.id.asc(),
    )
}

pub(super) fn review(id: i32, stars: i32) -> Review {
    Review {
        id,
        product: Ref::new(1),
        stars,
        text: format!("review {id}"),
    }
}

pub(super) async fn product(db: &Db) {
    let product = Product {
        id: 1,
        best: vec![],
        in_step: InStep::default(),
    };
    db.collection::<Product>().insert(product).await.unwrap();
    db.collection::<Review>().sync_indexes().await.unwrap();
}

pub(super) async fn shown(db: &Db) -> Vec<i32> {
    let product = db.collection::<Product>().get(1).required().await.unwrap();
    product.best.into_iter().map(|brief| brief.id).collect()
}

async fn a_subset_follows_its_children(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("subset_products").await.ok();
        db.drop_collection("subset_reviews").await.ok();
        product(&db).await;
        let best = best(&db);
        for (id, stars) in [(1, 3), (2, 5), (3, 1), (4, 4), (5, 5)] {
            best.insert(1, &review(id, stars)).await.unwrap();
        }
        assert_eq!(shown(&db).await, [2, 5, 4]);
        assert!(best.delete(1, 5).await.unwrap());
        assert_eq!(shown(&db).await, [2, 4, 1]);
        assert!(!best.delete(1, 5).await.unwrap());
        assert!(best.update(1, 3, |r| r.stars.set(9)).await.unwrap());
        assert_eq!(shown(&db).await, [3, 2, 4]);
        let moved = best.write(1, |reviews| async move {
            reviews.update_many(|r| r.stars.gte(5), |r| r.stars.set(0)).await
        });
        assert_eq!(moved.await.unwrap().modified, 2);
        assert_eq!(shown(&db).await, [4, 1, 2]);
        let lenient = self::best(&db).only(|r| r.stars.gte(3));
        lenient.refresh(1).await.unwrap();
        assert_eq!(shown(&db).await, [4, 1]);
        assert!(lenient.verify().await.unwrap().is_empty());
        let orphan = Review {
            product: Ref::new(7),
            ..review(9, 1)
        };
        let missing = best.insert(7, &orphan).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(db.collection::<Review>().get(9).await.unwrap().is_none());
    }
}

async fn subsets_are_in_step_after_many_at_once(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("subset_products").await.ok();
        db.drop_collection("subset_reviews").await.ok();
        product(&db).await;
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let best = best(&db);
                tokio::spawn(async move {
                    for n in 0..4 {
                        let id = task * 10 + n;
                        best.insert(1, &review(id, (id * 7) % 23)).await.unwrap();
                        if n % 2 == 1 {
                            best.delete(1, id).await.unwrap();
                        } else {
                            best.update(1, id, |r| r.stars.inc(1)).await.unwrap();
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(best(&db).verify().await.unwrap().is_empty());
        assert_eq!(shown(&db).await.len(), 3);
    }
}

async fn a_crash_at_any_write_of_a_subset_is_resumed(db: &Db) {
    let mut crashes = [0, 0];
    for (kind, count) in crashes.iter_mut().enumerate() {
        for after in [false, true] {
            for n in 1.. {
                db.drop().await.unwrap();
                product(db).await;
                let db = if kind == 0 { db.clone() } else { Plain::db(db) };
                let (faulty, faults) = db.faulty();
                match after {
                    false => faults.add(Fault::nth_write(n).crash()),
                    true => {
                        faults.add(Fault::nth_write(n).after(lost()));
                        faults.add(Fault::nth_write(n + 1).crash());
                    }
                }
                let dying = best(&faulty);
                let work = async {
                    for id in 1..=4 {
                        dying.insert(1, &review(id, id)).await?;
                    }
                    dying.update(1, 1, |r| r.stars.set(8)).await?;
                    dying.delete(1, 4).await
                };
                let done = work.await.is_ok();
                let best = best(&db);
                let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
                let resumed = best.resume(far).await.unwrap();
                assert!(resumed <= u64::from(kind == 1 && !done));
                assert!(best.verify().await.unwrap().is_empty(), "write {n}");
                if done {
                    break;
                }
                *count += 1;
            }
        }
    }
    assert!(crashes.iter().all(|count| *count >= 2 * 18), "{crashes:?}");
}

async fn subsets_are_held_against_their_children(db: &Db) {
    product(db).await;
    let best = best(db);
    best.insert(1, &review(1, 1)).await.unwrap();
    db.collection::<Review>().insert(review(2, 2)).await.unwrap();
    let problems = best.verify().await.unwrap();
    assert_eq!(
        (problems.len(), &problems[0].kind),
        (1, &SubsetProblemKind::OutOfStep)
    );
    let at = DateTime::from_millis(5_000);
    let mark = doc! { "token": bson::oid::ObjectId::new(), "at": at };
    let marked = doc! { "$push": { "in_step.pending": mark } };
    db.raw_collection("subset_products")
        .update_one(doc! {"_id": 1}, marked)
        .await
        .unwrap();
    let left = best.repair().await.unwrap();
    assert_eq!(
        (left.len(), &left[0].kind),
        (1, &SubsetProblemKind::Pending { since: at })
    );
    assert_eq!(shown(db).await, [2, 1]);
    assert_eq!(best.resume(at).await.unwrap(), 0);
    assert_eq!(best.resume(db.now()).await.unwrap(), 1);
    assert!(best.verify().await.unwrap().is_empty());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_patients")]
struct Patient {
    #[serde(rename = "_id")]
    id: i32,
    newest: Vec<Title>,
    oldest: Vec<Title>,
    #[serde(default)]
    in_step: InStep,
    #[serde(default)]
    oldest_in_step: InStep,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_labs", index(keys(of, desc(id))))]
struct Lab {
    #[serde(rename = "_id")]
    id: i32,
    of: Ref<Patient>,
    title: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Title {
    title: String,
}

fn newest(db: &Db) -> Subset<Patient, Lab, Title> {
    Subset::<Patient, Lab, Title>::new(
        db,
        2,
        |p| p.newest,
        |p| p.in_step.path().clone(),
        |l| l.of.path().clone(),
        |l| l.id.desc(),
    )
}

fn oldest(db: &Db) -> Subset<Patient, Lab, Title> {
    Subset::<Patient, Lab, Title>::new(
        db,
        1,
        |p| p.oldest,
        |p| p.oldest_in_step.path().clone(),
        |l| l.of.path().clone(),
        |l| l.id.asc(),
    )
}

fn lab(id: i32) -> Lab {
    Lab {
        id,
        of: Ref::new(1),
        title: format!("lab {id}"),
    }
}

async fn patient(db: &Db) {
    db.drop_collection("subset_patients").await.ok();
    db.drop_collection("subset_labs").await.ok();
    let patient = Patient {
        id: 1,
        newest: vec![],
        oldest: vec![],
        in_step: InStep::default(),
        oldest_in_step: InStep::default(),
        deleted: None,
    };
    db.collection::<Patient>().insert(patient).await.unwrap();
    db.collection::<Lab>().sync_indexes().await.unwrap();
}

/// What a patient shows of its labs: the newest, and the oldest.
async fn labs(db: &Db) -> (Vec<String>, Vec<String>) {
    let patient = db.collection::<Patient>().get(1).required().await.unwrap();
    let titles = |list: Vec<Title>| list.into_iter().map(|title| title.title).collect();
    (titles(patient.newest), titles(patient.oldest))
}

async fn a_parent_that_is_softly_deleted_is_not_found(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        patient(&db).await;
        let (patients, newest) = (db.collection::<Patient>(), newest(&db));
        newest.insert(1, &lab(1)).await.unwrap();
        patients.delete(1).await.unwrap();
        // Out of step, but not to be seen.
        db.collection::<Lab>().insert(lab(2)).await.unwrap();
        for refused in [
            newest.refresh(1).await.unwrap_err(),
            newest.insert(1, &lab(3)).await.unwrap_err(),
            newest.update(1, 1, |l| l.title.set("no")).await.unwrap_err(),
            newest.delete(1, 1).await.unwrap_err(),
            newest
                .write(1, |labs| async move { labs.delete(1).await })
                .await
                .unwrap_err(),
        ] {
            assert_eq!(
                (refused.kind(), refused.model(), refused.id()),
                (ErrorKind::NotFound, Some("Patient"), Some(&Bson::Int32(1)))
            );
        }
        assert!(newest.verify().await.unwrap().is_empty());
        assert!(newest.repair().await.unwrap().is_empty());
        let labs_there = db.collection::<Lab>().find_all().sort(|l| l.id.asc()).await;
        assert_eq!(labs_there.unwrap(), [lab(1), lab(2)]);
        patients.restore(|p| p.id.eq(1)).await.unwrap();
        assert_eq!(newest.verify().await.unwrap().len(), 1);
        assert!(newest.repair().await.unwrap().is_empty());
        assert_eq!(labs(&db).await.0, ["lab 2", "lab 1"]);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_people", kind = "in")]
struct Inpatient {
    #[serde(rename = "_id")]
    id: i32,
    newest: Vec<Title>,
    #[serde(default)]
    in_step: InStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_people", kind = "out")]
struct Outpatient {
    #[serde(rename = "_id")]
    id: i32,
    newest: Vec<Title>,
    #[serde(default)]
    in_step: InStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_stays", index(keys(of, desc(id))))]
struct Stay {
    #[serde(rename = "_id")]
    id: i32,
    of: Ref<Inpatient>,
    title: String,
}

async fn a_parent_of_another_kind_is_not_found(db: &Db) {
    let here = Inpatient {
        id: 1,
        newest: vec![],
        in_step: InStep::default(),
    };
    let other = Outpatient {
        id: 2,
        newest: vec![Title {
            title: "call".to_owned(),
        }],
        in_step: InStep::default(),
    };
    db.collection::<Inpatient>().insert(here).await.unwrap();
    db.collection::<Outpatient>().insert(&other).await.unwrap();
    for db in [db.clone(), Plain::db(db)] {
        let stays = Subset::<Inpatient, Stay, Title>::new(
            &db,
            3,
            |p| p.newest,
            |p| p.in_step.path().clone(),
            |s| s.of.path().clone(),
            |s| s.id.desc(),
        );
        assert!(stays.verify().await.unwrap().is_empty());
        assert!(stays.repair().await.unwrap().is_empty());
        let stay = Stay {
            id: 1,
            of: Ref::new(2),
            title: "a".to_owned(),
        };
        for refused in [
            stays.refresh(2).await.unwrap_err(),
            stays.insert(2, &stay).await.unwrap_err(),
        ] {
            assert_eq!(refused.kind(), ErrorKind::NotFound);
        }
        let outpatient = db.collection::<Outpatient>().get(2).required().await.unwrap();
        assert_eq!(outpatient, other);
        assert!(db.collection::<Stay>().find_all().await.unwrap().is_empty());
    }
}

async fn a_mark_waits_for_a_softly_deleted_parent(db: &Db) {
    let db = Plain::db(db);
    patient(&db).await;
    let (faulty, faults) = db.faulty();
    // It dies when the child is written, and the list is not.
    faults.add(Fault::nth_write(3).crash());
    newest(&faulty).insert(1, &lab(1)).await.unwrap_err();
    let (patients, newest) = (db.collection::<Patient>(), newest(&db));
    patients.delete(1).await.unwrap();
    let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
    assert_eq!(newest.resume(far).await.unwrap(), 0);
    patients.restore(|p| p.id.eq(1)).await.unwrap();
    assert_eq!(newest.resume(far).await.unwrap(), 1);
    assert_eq!(labs(&db).await.0, ["lab 1"]);
    assert!(newest.verify().await.unwrap().is_empty());
}

async fn two_subsets_are_written_together(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        patient(&db).await;
        let both = newest(&db).with(&oldest(&db));
        for id in [2, 3, 1] {
            both.insert(1, &lab(id)).await.unwrap();
        }
        assert_eq!(
            labs(&db).await,
            (
                vec!["lab 3".to_owned(), "lab 2".to_owned()],
                vec!["lab 1".to_owned()]
            )
        );
        assert!(both.update(1, 1, |l| l.title.set("first")).await.unwrap());
        assert_eq!(labs(&db).await.1, ["first"]);
        assert!(both.delete(1, 1).await.unwrap());
        assert_eq!(labs(&db).await.1, ["lab 2"]);
        both.write(1, |labs| async move { labs.delete_many(|l| l.id.gte(3)).await })
            .await
            .unwrap();
        assert_eq!(
            labs(&db).await,
            (vec!["lab 2".to_owned()], vec!["lab 2".to_owned()])
        );
        assert!(both.verify().await.unwrap().is_empty() && oldest(&db).verify().await.unwrap().is_empty());
        db.collection::<Lab>().insert(lab(1)).await.unwrap();
        both.refresh(1).await.unwrap();
        assert_eq!(labs(&db).await.1, ["lab 1"]);
        let stored = db.collection::<Patient>().get(1).required().await.unwrap();
        assert!(stored.in_step.pending.is_empty() && stored.oldest_in_step.pending.is_empty());
        // With one `InStep` a mark of one list would be taken away by the other.
        let shared = Subset::<Patient, Lab, Title>::new(
            &db,
            1,
            |p| p.oldest,
            |p| p.in_step.path().clone(),
            |l| l.of.path().clone(),
            |l| l.id.asc(),
        );
        let refused = newest(&db).with(&shared).refresh(1).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.model(), refused.path()),
            (ErrorKind::InvalidArgument, Some("Patient"), Some("in_step"))
        );
    }
}

async fn a_crash_at_any_write_of_two_subsets_is_resumed(db: &Db) {
    for is_plain in [false, true] {
        for n in 1.. {
            patient(db).await;
            let db = if is_plain { Plain::db(db) } else { db.clone() };
            let (faulty, faults) = db.faulty();
            faults.add(Fault::nth_write(n).crash());
            let dying = newest(&faulty).with(&oldest(&faulty));
            let work = async {
                for id in [2, 3, 1] {
                    dying.insert(1, &lab(id)).await?;
                }
                dying.delete(1, 1).await
            };
            let done: Result<bool> = work.await;
            let both = newest(&db).with(&oldest(&db));
            let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
            both.resume(far).await.unwrap();
            assert!(newest(&db).verify().await.unwrap().is_empty(), "write {n}");
            assert!(oldest(&db).verify().await.unwrap().is_empty(), "write {n}");
            if done.is_ok() {
                break;
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_shelves", options = caseless)]
struct Shelf {
    #[serde(rename = "_id")]
    id: String,
    newest: Vec<Title>,
    #[serde(default)]
    in_step: InStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_volumes", index(keys(on, desc(id))))]
struct Volume {
    #[serde(rename = "_id")]
    id: i32,
    on: Ref<Shelf>,
    title: String,
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! {"locale": "en", "strength": 2})
}

async fn a_parent_is_known_as_it_is_stored(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop().await.unwrap();
        let shelves = db.collection::<Shelf>();
        shelves.create_declared().await.unwrap();
        let shelf = Shelf {
            id: "attic".to_owned(),
            newest: vec![],
            in_step: InStep::default(),
        };
        shelves.insert(shelf).await.unwrap();
        db.collection::<Volume>().sync_indexes().await.unwrap();
        let newest = Subset::<Shelf, Volume, Title>::new(
            &db,
            2,
            |s| s.newest,
            |s| s.in_step.path().clone(),
            |v| v.on.path().clone(),
            |v| v.id.desc(),
        );
        let volume = |id: i32, on: &str| Volume {
            id,
            on: Ref::new(on.to_owned()),
            title: format!("volume {id}"),
        };
        newest.insert("attic", &volume(1, "attic")).await.unwrap();
        newest.insert("ATTIC", &volume(2, "attic")).await.unwrap();
        // It would not be among the children of this one.
        for refused in [
            newest.insert("ATTIC", &volume(3, "ATTIC")).await.unwrap_err(),
            newest.insert("attic", &volume(3, "ATTIC")).await.unwrap_err(),
        ] {
            assert_eq!(
                (refused.kind(), refused.model(), refused.id()),
                (ErrorKind::InvalidArgument, Some("Volume"), Some(&Bson::Int32(3)))
            );
        }
        assert!(newest.update("Attic", 1, |v| v.title.set("one")).await.unwrap());
        newest.refresh("ATTIC").await.unwrap();
        let titles = async || {
            let shelf = shelves.get("attic").required().await.unwrap();
            assert!(shelf.in_step.pending.is_empty());
            shelf
                .newest
                .into_iter()
                .map(|title| title.title)
                .collect::<Vec<_>>()
        };
        assert_eq!(titles().await, ["volume 2", "one"]);
        assert!(newest.delete("ATTIC", 2).await.unwrap());
        assert_eq!(titles().await, ["one"]);
        assert!(newest.verify().await.unwrap().is_empty());
    }
}

async fn subsets_of_collections_that_are_named_later(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        let patients = db.collection_named::<Patient>("t1_patients");
        patients.delete_many(|p| p.id.eq(1)).for_ever().await.unwrap();
        let patient = Patient {
            id: 1,
            newest: vec![],
            oldest: vec![],
            in_step: InStep::default(),
            oldest_in_step: InStep::default(),
            deleted: None,
        };
        patients.insert(patient).await.unwrap();
        let newest = newest(&db).with(&oldest(&db)).named("t1_patients", "t1_labs");
        let other = newest.clone();
        other.delete(1, 1).await.unwrap();
        other.insert(1, &lab(1)).await.unwrap();
        let patient = patients.get(1).required().await.unwrap();
        assert_eq!((patient.newest.len(), patient.oldest.len()), (1, 1));
        assert!(newest.verify().await.unwrap().is_empty());
        assert!(db.collection::<Lab>().find_all().await.unwrap().is_empty());
    }
}

async fn a_version_that_is_none_ends(db: &Db) {
    patient(db).await;
    let patients = db.raw_collection("subset_patients");
    let set = async |version: Bson| {
        let set = doc! { "$set": { "in_step.version": version } };
        patients.update_one(doc! { "_id": 1 }, set).await.unwrap();
    };
    // What a shell writes, and what nobody can count on from.
    set(Bson::Double(3.0)).await;
    newest(db).insert(1, &lab(1)).await.unwrap();
    assert!(newest(db).verify().await.unwrap().is_empty());
    set(Bson::String("three".to_owned())).await;
    assert!(newest(db).refresh(1).await.is_err());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_stations")]
struct Station {
    #[serde(rename = "_id")]
    id: i32,
    latest: Vec<Reading>,
    #[serde(default)]
    in_step: InStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_measurements", index(keys(of, desc(id))))]
struct Measurement {
    #[serde(rename = "_id")]
    id: i32,
    of: Ref<Station>,
    value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Reading {
    value: f64,
}

/// By `==` it is not even itself.
async fn what_is_no_number_is_in_step(db: &Db) {
    let station = Station {
        id: 1,
        latest: vec![],
        in_step: InStep::default(),
    };
    db.collection::<Station>().insert(station).await.unwrap();
    db.collection::<Measurement>().sync_indexes().await.unwrap();
    let latest = Subset::<Station, Measurement, Reading>::new(
        db,
        2,
        |s| s.latest,
        |s| s.in_step.path().clone(),
        |m| m.of.path().clone(),
        |m| m.id.desc(),
    );
    for (id, value) in [(1, 1.5), (2, f64::NAN), (3, -0.0)] {
        let of = Ref::new(1);
        let measurement = Measurement { id, of, value };
        latest.insert(1, &measurement).await.unwrap();
    }
    assert_eq!(latest.verify().await.unwrap(), []);
    let set = doc! { "$set": { "latest.0.value": 0.5 } };
    let stations = db.raw_collection("subset_stations");
    stations.update_one(doc! { "_id": 1 }, set).await.unwrap();
    assert_eq!(latest.verify().await.unwrap().len(), 1);
    assert_eq!(latest.repair().await.unwrap(), []);
    assert_eq!(latest.verify().await.unwrap(), []);
}
