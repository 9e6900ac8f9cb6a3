//! Copies and two-way references by keys that the collation of a collection takes for each other.

use std::collections::BTreeMap;

use bson::doc;
use odm::{CollectionDeclaration, CopyOf, Db, Embedded, ErrorKind, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    copies_are_told_apart_by_the_bytes_of_their_keys,
    copies_that_wait_are_told_apart_too,
    values_that_only_the_collation_takes_for_equal_are_copied,
    links_are_told_apart_by_the_bytes_of_their_keys,
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tongues", copied_to(Speaker, Listener), schema_version = 1)]
struct Tongue {
    #[serde(rename = "_id")]
    id: String,
    name: String,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Tongue))]
struct TongueCopy {
    #[odm(source)]
    id: Ref<Tongue>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "speakers", options = caseless, index(keys(first.id)))]
struct Speaker {
    #[serde(rename = "_id")]
    id: String,
    first: TongueCopy,
    all: Vec<TongueCopy>,
    by_year: BTreeMap<String, TongueCopy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Tongue, eventual))]
struct LateCopy {
    #[odm(source)]
    id: Ref<Tongue>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "listeners", options = caseless, index(keys(tongues.any().id)))]
struct Listener {
    #[serde(rename = "_id")]
    id: i32,
    tongues: Vec<LateCopy>,
}

async fn tongues(db: &Db) {
    db.collection::<Speaker>().create_declared().await.unwrap();
    db.collection::<Listener>().create_declared().await.unwrap();
    db.collection::<Speaker>().create_indexes().await.unwrap();
    let tongues = ["en", "EN"].map(|id| Tongue {
        id: id.to_owned(),
        name: format!("name of {id}"),
        version: 0,
    });
    db.collection::<Tongue>().insert_many(&tongues).await.unwrap();
    let [lower, upper] = tongues
        .each_ref()
        .map(|tongue| TongueCopy::copy_of(tongue).unwrap());
    for (id, first) in [("a", &lower), ("b", &upper)] {
        let all = [&lower, &upper].map(TongueCopy::clone);
        let speaker = Speaker {
            id: id.to_owned(),
            first: first.clone(),
            by_year: ["1", "2"]
                .map(str::to_owned)
                .into_iter()
                .zip(all.clone())
                .collect(),
            all: all.into(),
        };
        db.collection::<Speaker>().insert(speaker).await.unwrap();
    }
    let late = tongues
        .each_ref()
        .map(|tongue| LateCopy::copy_of(tongue).unwrap());
    let listener = Listener {
        id: 1,
        tongues: late.into(),
    };
    db.collection::<Listener>().insert(listener).await.unwrap();
}

async fn copies_are_told_apart_by_the_bytes_of_their_keys(db: &Db) {
    tongues(db).await;
    let speakers = db.collection::<Speaker>();
    db.collection::<Tongue>()
        .update_one(|t| t.id.eq("en"), |t| t.name.set("changed"))
        .await
        .unwrap();
    for (id, first) in [("a", "changed"), ("b", "name of EN")] {
        let speaker = speakers.get(id.to_owned()).required().await.unwrap();
        assert_eq!(speaker.first.name, first);
        let all: Vec<_> = speaker.all.iter().map(|copy| copy.name.as_str()).collect();
        assert_eq!(all, ["changed", "name of EN"]);
        let years: Vec<_> = speaker.by_year.values().map(|copy| copy.name.as_str()).collect();
        assert_eq!(years, ["changed", "name of EN"]);
    }
    assert_eq!(speakers.stale_copies().await.unwrap(), []);
    // A repair too.
    db.raw_collection("tongues")
        .update_one(doc! { "_id": "EN" }, doc! { "$set": { "name": "raw" } })
        .await
        .unwrap();
    assert_eq!(speakers.stale_copies().repair().await.unwrap().repaired, 5);
    assert_eq!(speakers.stale_copies().await.unwrap(), []);
    let first = speakers.get("a".to_owned()).required().await.unwrap().first;
    assert_eq!(first.name, "changed");
}

async fn copies_that_wait_are_told_apart_too(db: &Db) {
    tongues(db).await;
    db.collection::<Tongue>()
        .update_one(|t| t.id.eq("EN"), |t| t.name.set("changed"))
        .await
        .unwrap();
    let tongues = db.collection::<Tongue>();
    assert!(tongues.propagate_pending().await.unwrap().holders >= 1);
    let listener = db.collection::<Listener>().get(1).required().await.unwrap();
    let names: Vec<_> = listener.tongues.iter().map(|copy| copy.name.as_str()).collect();
    assert_eq!(names, ["name of en", "changed"]);
    assert_eq!(db.collection::<Listener>().stale_copies().await.unwrap(), []);
}

async fn values_that_only_the_collation_takes_for_equal_are_copied(db: &Db) {
    tongues(db).await;
    // As a change that leaves the version, and what it marks.
    let change = doc! { "$set": { "name": "NAME OF en", "copies_pending": bson::oid::ObjectId::new() } };
    let raw = db.raw_collection("tongues");
    raw.update_one(doc! { "_id": "en" }, change).await.unwrap();
    let report = db.collection::<Tongue>().propagate_pending().await.unwrap();
    assert!(report.holders >= 3, "{report:?}");
    assert_eq!(db.collection::<Speaker>().stale_copies().await.unwrap(), []);
    assert_eq!(db.collection::<Listener>().stale_copies().await.unwrap(), []);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "topics", referred_by(Entry))]
struct Topic {
    #[serde(rename = "_id")]
    id: String,
    #[odm(two_way = topics)]
    entries: Vec<Ref<Entry>>,
    #[odm(two_way = seats.any().topic)]
    seats: Vec<Ref<Entry>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Seat {
    topic: Ref<Topic>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "entries", options = caseless, referred_by(Topic))]
#[odm(reference(seats.any().topic: Ref<Topic>, two_way = seats, link = |topic| Seat { topic }))]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[odm(two_way = entries)]
    topics: Vec<Ref<Topic>>,
    seats: Vec<Seat>,
}

async fn links_are_told_apart_by_the_bytes_of_their_keys(db: &Db) {
    let (topics, entries) = (db.collection::<Topic>(), db.collection::<Entry>());
    entries.create_declared().await.unwrap();
    let both = ["en", "EN"];
    topics
        .insert_many(both.map(|id| Topic {
            id: id.to_owned(),
            entries: Vec::new(),
            seats: Vec::new(),
        }))
        .await
        .unwrap();
    let entry = Entry {
        id: "a".to_owned(),
        topics: Vec::new(),
        seats: Vec::new(),
    };
    entries.insert(entry).await.unwrap();
    let a = || "a".to_owned();
    for topic in both {
        entries.link(a(), |e| e.topics, topic.to_owned()).await.unwrap();
        topics.link(topic.to_owned(), |t| t.seats, a()).await.unwrap();
    }
    let keys =
        |refs: &[Ref<Topic>]| -> Vec<String> { refs.iter().map(|topic| topic.key().clone()).collect() };
    let entry = entries.get(a()).required().await.unwrap();
    assert_eq!(keys(&entry.topics), both);
    let seats: Vec<_> = entry.seats.into_iter().map(|seat| seat.topic).collect();
    assert_eq!(keys(&seats), both);
    entries.unlink(a(), |e| e.topics, "EN".to_owned()).await.unwrap();
    topics.unlink("en".to_owned(), |t| t.seats, a()).await.unwrap();
    let entry = entries.get(a()).required().await.unwrap();
    assert_eq!(keys(&entry.topics), ["en"]);
    assert_eq!(entry.seats[0].topic.key(), "EN");
    assert_eq!(topics.verify_relations().await.unwrap(), []);
    assert_eq!(entries.verify_relations().await.unwrap(), []);
    // "A" is another document, which is not there.
    let error = topics.link("en".to_owned(), |t| t.entries, "A".to_owned()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    topics
        .unlink("en".to_owned(), |t| t.entries, "A".to_owned())
        .await
        .unwrap();
    assert_eq!(keys(&entries.get(a()).required().await.unwrap().topics), ["en"]);
}
