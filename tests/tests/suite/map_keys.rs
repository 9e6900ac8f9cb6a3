//! Maps whose keys are other types than strings.

use std::collections::{BTreeMap, HashMap};

use bson::{Document, Uuid, doc};
use odm::{Db, Embedded, ErrorKind, Id, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    keys_are_stored_as_text,
    paths_reach_keys_of_their_type,
    tracked_documents_save_single_keys,
    keys_that_do_not_fit_are_named,
    references_can_be_keys,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "kebab-case")]
enum Mood {
    Happy,
    NotSure,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Embedded)]
struct Shelf(u16);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Vote {
    weight: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "polls")]
struct Poll {
    #[serde(rename = "_id")]
    id: i32,
    by_year: BTreeMap<i32, i64>,
    moods: BTreeMap<Mood, u32>,
    shelves: BTreeMap<Shelf, Vec<String>>,
    votes: HashMap<Id<Voter>, Vote>,
    devices: BTreeMap<Uuid, bool>,
    open: BTreeMap<bool, Option<i32>>,
    seen: Option<bson::Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "voters")]
struct Voter {
    #[serde(rename = "_id")]
    id: Id<Voter>,
    name: String,
    trusts: BTreeMap<Ref<Voter>, i32>,
}

fn voter() -> Id<Voter> {
    Id::from(bson::oid::ObjectId::from_bytes([7; 12]))
}

fn device() -> Uuid {
    Uuid::from_bytes([5; 16])
}

fn poll(id: i32) -> Poll {
    Poll {
        id,
        by_year: BTreeMap::from([(-44, 1), (2026, 5)]),
        moods: BTreeMap::from([(Mood::Happy, 2), (Mood::NotSure, 1)]),
        shelves: BTreeMap::from([(Shelf(3), vec!["a".to_owned()])]),
        votes: HashMap::from([(voter(), Vote { weight: 4 })]),
        devices: BTreeMap::from([(device(), true)]),
        open: BTreeMap::from([(false, None), (true, Some(1))]),
        seen: Some(bson::Timestamp {
            time: 9,
            increment: 1,
        }),
    }
}

async fn keys_are_stored_as_text(db: &Db) {
    let polls = db.collection::<Poll>();
    polls.insert(poll(1)).await.unwrap();
    let stored: Document = polls.raw().find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 1,
        "by_year": { "-44": 1_i64, "2026": 5_i64 },
        "moods": { "happy": 2_i64, "not-sure": 1_i64 },
        "shelves": { "3": ["a"] },
        "votes": { "070707070707070707070707": { "weight": 4_i64 } },
        "devices": { "05050505-0505-0505-0505-050505050505": true },
        "open": { "false": null, "true": 1 },
        "seen": bson::Timestamp { time: 9, increment: 1 },
    };
    assert_eq!(stored, expected);
    assert_eq!(polls.get(1).await.unwrap(), Some(poll(1)));
}

async fn paths_reach_keys_of_their_type(db: &Db) {
    let polls = db.collection::<Poll>();
    polls.insert_many(&[poll(1), poll(2)]).await.unwrap();
    let one = polls
        .find_one_and_update(
            |p| p.id.eq(1) & p.by_year.key(2026).eq(5) & p.votes.key(voter()).weight.gt(3),
            |p| {
                p.by_year.key(2026).inc(2)
                    & p.by_year.key(-1).set(9)
                    & p.moods.key(Mood::NotSure).inc(3)
                    & p.shelves.key(Shelf(3)).push("b".to_owned())
                    & p.votes.key(voter()).weight.mul(2)
                    & p.devices.key(device()).unset()
                    & p.open.key(false).set(7)
            },
        )
        .return_new()
        .await
        .unwrap()
        .unwrap();
    let mut expected = poll(1);
    expected.by_year = BTreeMap::from([(-44, 1), (-1, 9), (2026, 7)]);
    expected.moods.insert(Mood::NotSure, 4);
    expected.shelves = BTreeMap::from([(Shelf(3), vec!["a".to_owned(), "b".to_owned()])]);
    expected.votes.insert(voter(), Vote { weight: 8 });
    expected.devices.clear();
    expected.open.insert(false, Some(7));
    assert_eq!(one, expected);
    let years = polls.count(|p| p.by_year.key(2026).exists()).await.unwrap();
    assert_eq!(years, 2);
    assert_eq!(polls.count(|p| p.by_year.key("-1").eq(9)).await.unwrap(), 1);
}

async fn tracked_documents_save_single_keys(db: &Db) {
    let polls = db.collection::<Poll>();
    polls.insert(poll(1)).await.unwrap();
    let mut tracked = polls.find_one(|p| p.id.eq(1)).tracked().await.unwrap().unwrap();
    polls
        .update_one(|p| p.id.eq(1), |p| p.by_year.key(1_999).set(3))
        .await
        .unwrap();
    tracked.by_year.insert(2_027, 1);
    tracked.by_year.remove(&-44);
    tracked.save(&polls).await.unwrap();
    let years = BTreeMap::from([(1_999, 3), (2_026, 5), (2_027, 1)]);
    assert_eq!(polls.get(1).await.unwrap().unwrap().by_year, years);
}

async fn keys_that_do_not_fit_are_named(db: &Db) {
    let polls = db.collection::<Poll>();
    polls.insert(poll(1)).await.unwrap();
    polls
        .raw()
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "by_year.soon": 1_i64 } })
        .await
        .unwrap();
    let error = polls.get(1).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Decode, Some("by_year")));
    assert!(
        error.to_string().contains("string \"soon\", expected i32"),
        "{error}"
    );
    let error = polls.count(|p| p.by_year.key(1.5).eq(1)).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("by_year")));
    let error = polls.count(|p| p.by_year.key("a.b").eq(1)).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("by_year.a.b"))
    );
}

async fn references_can_be_keys(db: &Db) {
    let voters = db.collection::<Voter>();
    let one = Voter {
        id: voter(),
        name: "Ann".to_owned(),
        trusts: BTreeMap::from([(Ref::new(voter()), 2)]),
    };
    voters.insert(&one).await.unwrap();
    let found = voters
        .find_one(|v| v.trusts.key(Ref::<Voter>::new(voter())).eq(2))
        .await
        .unwrap();
    assert_eq!(found, Some(one));
}
