//! Finding and repairing references that are not as they were declared.

use bson::{Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, DbRef, Model, Ref, Reference, RelationProblem, RelationProblemKind};
use serde::{Deserialize, Serialize};

use super::consistency_models::*;
use odm_tests::plain::Plain;

crate::on_every_backend! {
    dangling_references_are_found_where_they_are,
    every_shape_of_reference_is_verified,
    repairs_do_what_the_rules_say,
    softly_deleted_targets_are_not_there_for_rules,
    problems_come_one_after_the_other_in_bounded_memory,
    repairs_run_inside_transactions,
    an_interrupted_repair_is_started_again,
    an_interrupted_circle_is_repaired,
}

/// References without rules, of every shape.
#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "records")]
pub struct Entry {
    #[serde(rename = "_id")]
    pub id: i32,
    pub one: Ref<House>,
    #[serde(rename = "byNumber")]
    pub by_number: Option<Ref<Part, PartNumber>>,
    pub map: std::collections::BTreeMap<String, Ref<House>>,
    pub any: Option<DbRef>,
    pub owner: Option<Owner>,
}

#[derive(Debug, Reference)]
pub enum Owner {
    House(Ref<House>),
    Title(Ref<Title>),
}

fn entry(id: i32) -> Entry {
    Entry {
        id,
        one: Ref::new(1),
        by_number: None,
        map: Default::default(),
        any: None,
        owner: None,
    }
}

fn places(problems: &[RelationProblem]) -> Vec<(&'static str, Bson, &'static str, Bson)> {
    let mut places: Vec<_> = problems
        .iter()
        .map(|problem| {
            (
                problem.model,
                problem.id.clone(),
                problem.field,
                problem.key.clone(),
            )
        })
        .collect();
    places.sort_by_key(|place| format!("{place:?}"));
    places
}

/// Takes house 1 away behind the back of its rules.
async fn without_rules(db: &Db) {
    houses(db).await;
    db.raw_collection("houses")
        .delete_one(doc! { "_id": 1 })
        .await
        .unwrap();
}

async fn dangling_references_are_found_where_they_are(db: &Db) {
    houses(db).await;
    assert_eq!(db.verify_relations::<House>().await.unwrap(), []);
    db.drop().await.unwrap();
    without_rules(db).await;
    let all = db.verify_relations::<House>().await.unwrap();
    let one = Bson::Int32(1);
    assert_eq!(
        places(&all),
        [
            ("Award", one.clone(), "winners", one.clone()),
            ("Imprint", one.clone(), "belongsTo", one.clone()),
            ("Title", Bson::Int32(11), "house", one.clone()),
            ("Title", Bson::Int32(12), "house", one.clone()),
        ]
    );
    assert!(
        all.iter()
            .all(|problem| problem.kind == RelationProblemKind::Dangling)
    );
    // From any model of the graph, and of one model only.
    assert_eq!(db.verify_relations::<Review>().await.unwrap().len(), 4);
    let of_one = db.collection::<Title>().verify_relations().await.unwrap();
    assert_eq!(of_one.len(), 2);
    assert_eq!(
        of_one[0].to_string(),
        "what is referred to is not there (model: Title, collection: titles, _id: 11, field: house, key: 1)"
    );
    let other = db.collection_named::<Title>("old_titles");
    let title = Title {
        id: 1,
        house: Ref::new(1),
    };
    other.insert(title).await.unwrap();
    let problems = other.verify_relations().await.unwrap();
    assert_eq!(problems[0].collection, "old_titles");
}

async fn every_shape_of_reference_is_verified(db: &Db) {
    houses(db).await;
    let part = Part {
        id: 1,
        number: "a".into(),
    };
    db.collection::<Part>().insert(part).await.unwrap();
    let entries = db.collection::<Entry>();
    let good = Entry {
        by_number: Some("a".to_owned().into()),
        map: [("x".to_owned(), Ref::new(2))].into(),
        any: Some(DbRef::new("titles", Bson::Int32(11))),
        owner: Some(Owner::Title(Ref::new(12))),
        ..entry(1)
    };
    entries.insert(good).await.unwrap();
    assert_eq!(entries.verify_relations().await.unwrap(), []);
    let bad = Entry {
        one: Ref::new(9),
        by_number: Some("b".to_owned().into()),
        map: [("x".to_owned(), Ref::new(2)), ("y".to_owned(), Ref::new(8))].into(),
        any: Some(DbRef::new("titles", Bson::Int32(7))),
        owner: Some(Owner::House(Ref::new(11))),
        ..entry(2)
    };
    entries.insert(bad).await.unwrap();
    let problems = entries.verify_relations().await.unwrap();
    let fields: Vec<_> = problems
        .iter()
        .map(|problem| (problem.field, problem.key.clone()))
        .collect();
    let expected = [
        ("one", Bson::Int32(9)),
        ("byNumber", Bson::String("b".into())),
        ("map", Bson::Int32(8)),
        ("any", Bson::Int32(7)),
        ("owner", Bson::Int32(11)),
    ];
    assert_eq!(fields, expected);
    // Nothing says what to do with them.
    let report = entries.verify_relations().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (0, 5));
    assert_eq!(entries.verify_relations().await.unwrap().len(), 5);
    let left = entries.find_all().sort(|e| e.id.asc()).await.unwrap();
    assert!(matches!(&left[0].owner, Some(Owner::Title(title)) if *title == Ref::new(12)));
    assert!(matches!(&left[1].owner, Some(Owner::House(house)) if *house == Ref::new(11)));
}

async fn repairs_do_what_the_rules_say(db: &Db) {
    houses(db).await;
    db.collection::<House>().delete(1).await.unwrap();
    let expected = stored(db).await;
    db.drop().await.unwrap();
    without_rules(db).await;
    let report = db.verify_relations::<House>().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (4, 0));
    assert_eq!(stored(db).await, expected);
    assert_eq!(db.verify_relations::<House>().await.unwrap(), []);
    let report = db.verify_relations::<House>().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (0, 0));
}

async fn softly_deleted_targets_are_not_there_for_rules(db: &Db) {
    let account = Account {
        id: 1,
        deleted: Some(DateTime::from_millis(1)),
    };
    db.collection::<Account>().insert(account).await.unwrap();
    let device = |id, deleted| Device {
        id,
        account: Ref::new(1),
        deleted,
    };
    let devices = db.collection::<Device>();
    devices
        .insert_many([device(1, None), device(2, Some(DateTime::from_millis(1)))])
        .await
        .unwrap();
    let problems = db.verify_relations::<Account>().await.unwrap();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].id, Bson::Int32(1));
    assert_eq!(devices.verify_relations().repair().await.unwrap().repaired, 1);
    assert_eq!(devices.find_all().with_deleted().await.unwrap().len(), 2);
    assert_eq!(devices.find_all().await.unwrap().len(), 0);
}

async fn problems_come_one_after_the_other_in_bounded_memory(db: &Db) {
    let titles = (0..1200).map(|id| Title {
        id,
        house: Ref::new(id % 3),
    });
    db.collection::<Title>().insert_many(titles).await.unwrap();
    let house = House {
        id: 0,
        name: "house".into(),
    };
    db.collection::<House>().insert(house).await.unwrap();
    let (logged, log) = db.logged();
    let mut problems = logged.collection::<Title>().verify_relations().stream().unwrap();
    let first = problems.next().await.unwrap().unwrap();
    assert_eq!(first.id, Bson::Int32(1));
    // The first batch and what it refers to.
    assert_eq!(log.round_trips(), 2);
    let mut count = 1;
    while let Some(problem) = problems.try_next().await.unwrap() {
        assert_ne!(problem.key, Bson::Int32(0));
        count += 1;
    }
    assert_eq!(count, 800);
    let report = db
        .collection::<Title>()
        .verify_relations()
        .repair()
        .await
        .unwrap();
    assert_eq!(report.repaired, 800);
    assert_eq!(
        db.collection::<Title>().count(|t| t.id.gte(0)).await.unwrap(),
        400
    );
}

async fn repairs_run_inside_transactions(db: &Db) {
    without_rules(db).await;
    let before = stored(db).await;
    let tx = db.begin().await.unwrap();
    let report = tx.verify_relations::<House>().repair().await.unwrap();
    assert_eq!(report.repaired, 4);
    assert_eq!(tx.verify_relations::<House>().await.unwrap(), []);
    tx.abort().await;
    assert_eq!(stored(db).await, before);
}

async fn an_interrupted_repair_is_started_again(db: &Db) {
    houses(db).await;
    db.collection::<House>().delete(1).await.unwrap();
    let expected = stored(db).await;
    db.drop().await.unwrap();
    for base in [db.clone(), Plain::db(db)] {
        let mut crashes = 0;
        loop {
            without_rules(&base).await;
            let (faulty, faults) = base.faulty();
            faults.add(Fault::nth_write(crashes + 1).crash());
            let outcome = faulty.verify_relations::<House>().repair().await;
            base.verify_relations::<House>().repair().await.unwrap();
            assert_eq!(stored(&base).await, expected);
            base.drop().await.unwrap();
            if outcome.is_ok() {
                break;
            }
            crashes += 1;
        }
        assert!(crashes >= 4, "{crashes}");
    }
}

/// References that go in a circle dangle when a deletion without a transaction is interrupted.
async fn an_interrupted_circle_is_repaired(db: &Db) {
    let db = Plain::db(db);
    let mut crashes = 0;
    loop {
        let folder = |id, parent| Folder {
            id,
            parent: Some(Ref::new(parent)),
            needs: Vec::new(),
        };
        let folders = db.collection::<Folder>();
        folders
            .insert_many([folder(1, 3), folder(2, 1), folder(3, 2)])
            .await
            .unwrap();
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(crashes + 1).crash());
        let outcome = faulty.collection::<Folder>().delete(1).await;
        if crashes > 0 {
            folders.verify_relations().repair().await.unwrap();
            assert_eq!(folders.find_all().await.unwrap(), []);
        }
        assert_eq!(folders.verify_relations().await.unwrap(), []);
        db.drop().await.unwrap();
        if outcome.is_ok() {
            break;
        }
        crashes += 1;
    }
    assert_eq!(crashes, 3);
}
