//! What a write gives back, and what is read back of it.

use std::collections::{BTreeMap, BTreeSet};

use bson::{DateTime, Document, RawBson, RawDocument, doc};
use odm::{CopyOf, Db, Derivation, Derived, Embedded, ErrorKind, Hooks, Model, Ref, Update};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_set_that_lost_and_gained_keeps_what_others_added,
    sets_of_many_writers_lose_nothing,
    keys_that_are_no_paths_keep_what_others_changed,
    a_field_that_no_path_reaches_is_not_saved_elsewhere,
    derived_fields_come_back_as_they_are_stored,
    copies_that_come_back_are_no_conflict,
    marks_are_no_fields_of_a_model_that_takes_all,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "labelled")]
struct Labelled {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = add_to_set)]
    #[serde(default)]
    tags: BTreeSet<String>,
    #[odm(save = add_to_set)]
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    counts: BTreeMap<String, i32>,
    #[serde(default)]
    nested: BTreeMap<String, BTreeMap<String, i32>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    name: String,
}

fn labelled() -> Labelled {
    Labelled {
        id: 1,
        tags: ["a".to_owned()].into(),
        parts: vec![Part { name: "a".to_owned() }],
        counts: [("x.y".to_owned(), 1), ("$z".to_owned(), 1), ("z".to_owned(), 1)].into(),
        nested: [("k".to_owned(), [("".to_owned(), 1), ("a".to_owned(), 1)].into())].into(),
    }
}

async fn a_set_that_lost_and_gained_keeps_what_others_added(db: &Db) {
    let all = db.collection::<Labelled>();
    all.insert(labelled()).await.unwrap();
    let (logged, log) = db.logged();
    let logged = logged.collection::<Labelled>();
    // Nobody else: one round trip, in the order of the program.
    let mut mine = all.get(1).tracked().required().await.unwrap();
    mine.tags.remove("a");
    mine.tags.insert("b".to_owned());
    mine.save(&logged).await.unwrap();
    assert_eq!(log.take().len(), 1);
    assert_eq!(mine.tags, ["b".to_owned()].into());
    // Somebody else adds, and takes out.
    all.update_one(|l| l.id.eq(1), |l| l.tags.add_to_set("theirs"))
        .await
        .unwrap();
    let theirs = doc! {"$push": {"parts": {"name": "theirs"}}};
    all.raw().update_one(doc! {"_id": 1}, theirs).await.unwrap();
    mine.tags.remove("b");
    mine.tags.insert("c".to_owned());
    mine.parts = vec![Part { name: "c".to_owned() }];
    assert!(mine.save(&logged).await.unwrap());
    assert_eq!(mine.tags, ["c".to_owned(), "theirs".to_owned()].into());
    let names: Vec<_> = mine.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["theirs", "c"]);
    let stored = all.raw().find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    let parts = vec![doc! {"name": "theirs"}, doc! {"name": "c"}];
    assert_eq!(stored.get("parts"), Some(&bson::Bson::from(parts)));
    // The field is gone, or null: what has come is stored.
    for gone in [doc! {"$unset": {"tags": ""}}, doc! {"$set": {"tags": []}}] {
        all.raw().update_one(doc! {"_id": 1}, gone).await.unwrap();
        mine.tags.remove("c");
        mine.tags.insert("d".to_owned());
        mine.save(&all).await.unwrap();
        assert_eq!(mine.tags, ["d".to_owned()].into());
        mine.tags = ["c".to_owned()].into();
        mine.save(&all).await.unwrap();
    }
    all.delete(1).await.unwrap();
    mine.tags = ["e".to_owned()].into();
    assert_eq!(mine.save(&all).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn sets_of_many_writers_lose_nothing(db: &Db) {
    let all = db.collection::<Labelled>();
    let mut first = labelled();
    first.tags = (0..8).map(|writer| format!("old {writer}")).collect();
    all.insert(first).await.unwrap();
    let writers = (0..8).map(|writer| {
        let all = all.clone();
        async move {
            let mut mine = all.get(1).tracked().required().await.unwrap();
            mine.tags.remove(&format!("old {writer}"));
            mine.tags.insert(format!("new {writer}"));
            mine.save(&all).await.unwrap();
        }
    });
    futures_util::future::join_all(writers).await;
    let tags = all.get(1).required().await.unwrap().tags;
    assert_eq!(tags, (0..8).map(|writer| format!("new {writer}")).collect());
}

async fn keys_that_are_no_paths_keep_what_others_changed(db: &Db) {
    let all = db.collection::<Labelled>();
    all.insert(labelled()).await.unwrap();
    let mut mine = all.get(1).tracked().required().await.unwrap();
    let theirs = |key: &str, value: i32| {
        let set = doc! {"field": {"$literal": key}, "input": "$counts", "value": value};
        Update::pipeline([doc! {"$set": {"counts": {"$setField": set}}}])
    };
    all.update_one(|l| l.id.eq(1), |_| theirs("x.y", 99))
        .await
        .unwrap();
    // Another key, with a path.
    mine.counts.insert("z".to_owned(), 2);
    mine.save(&all).await.unwrap();
    let counts = |x, dollar, z| {
        BTreeMap::from([
            ("x.y".to_owned(), x),
            ("$z".to_owned(), dollar),
            ("z".to_owned(), z),
        ])
    };
    assert_eq!(mine.counts, counts(99, 1, 2));
    // Another key without one.
    all.update_one(|l| l.id.eq(1), |_| theirs("$z", 7)).await.unwrap();
    mine.counts.insert("x.y".to_owned(), 100);
    mine.nested.get_mut("k").unwrap().remove("");
    mine.save(&all).await.unwrap();
    assert_eq!(mine.counts, counts(100, 7, 2));
    assert_eq!(mine.nested["k"], [("a".to_owned(), 1)].into());
    assert_eq!(all.get(1).required().await.unwrap(), mine.into_inner());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "open_ended")]
struct OpenEnded {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    rest: BTreeMap<String, i32>,
}

async fn a_field_that_no_path_reaches_is_not_saved_elsewhere(db: &Db) {
    let all = db.collection::<OpenEnded>();
    let rest = BTreeMap::from([("a.b".to_owned(), 1), ("c".to_owned(), 1)]);
    all.insert(OpenEnded { id: 1, rest }).await.unwrap();
    let mut mine = all.get(1).tracked().required().await.unwrap();
    mine.rest.insert("c".to_owned(), 2);
    mine.save(&all).await.unwrap();
    mine.rest.insert("a.b".to_owned(), 2);
    assert!(mine.is_changed().unwrap());
    let error = mine.save(&all).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("a.b"))
    );
    let stored = all.get(1).required().await.unwrap();
    assert_eq!(
        stored.rest,
        BTreeMap::from([("a.b".to_owned(), 1), ("c".to_owned(), 2)])
    );
}

#[derive(Debug)]
struct Sum;

impl Derivation for Sum {
    type Value = i32;

    fn sources() -> Vec<String> {
        vec!["a".to_owned(), "b".to_owned()]
    }

    fn derive(document: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        let part = |name| document.get_i32(name).unwrap_or_default();
        Ok(RawBson::Int32(part("a") + part("b")))
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "sums")]
struct Sums {
    #[serde(rename = "_id")]
    id: i32,
    a: i32,
    b: i32,
    sum: Derived<Sum>,
    #[odm(version)]
    version: i32,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct OnlySum {
    sum: i32,
}

async fn derived_fields_come_back_as_they_are_stored(db: &Db) {
    let all = db.collection::<Sums>();
    let sums = Sums {
        id: 1,
        a: 1,
        b: 2,
        sum: Derived::default(),
        version: 0,
    };
    all.insert(sums).await.unwrap();
    let mut mine = all.get(1).tracked().required().await.unwrap();
    mine.a = 10;
    mine.save(&all).await.unwrap();
    assert_eq!((mine.sum.get(), mine.version), (Some(&12), 1));
    mine.b = 3;
    mine.save(&all).await.unwrap();
    assert_eq!((mine.sum.get(), mine.version), (Some(&13), 2));
    let new = all
        .find_one_and_update(|s| s.id.eq(1), |s| s.b.inc(1))
        .return_new();
    assert_eq!(new.await.unwrap().unwrap().sum.get(), Some(&14));
    let new = all
        .find_one_and_update(|s| s.id.eq(1), |s| s.b.inc(1))
        .return_new();
    assert_eq!(new.project::<OnlySum>().await.unwrap().unwrap().sum, 15);
    let new = all
        .find_one_and_update(|s| s.id.eq(1), |s| s.b.inc(1))
        .return_new();
    let new = new.project_raw(doc! {"_id": 0}).await.unwrap().unwrap();
    assert_eq!(new, doc! {"a": 10, "b": 6, "sum": 16, "version": 5});
    let old = all
        .find_one_and_update(|s| s.id.eq(1), |s| s.b.inc(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((old.b, old.sum.get()), (6, Some(&16)));
    let made = all
        .find_one_and_update(|s| s.id.eq(2), |s| s.a.set(1) & s.b.inc(1))
        .upsert()
        .return_new();
    assert_eq!(made.await.unwrap().unwrap().sum.get(), Some(&2));
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(copied_to(Volume), collection = "writers")]
struct Writer {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    best: Option<Title>,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Writer))]
struct Name {
    #[odm(source)]
    id: Ref<Writer>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(copied_to(Writer, Lent), collection = "volumes")]
struct Volume {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    writer: Name,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Volume))]
struct Title {
    #[odm(source)]
    id: Ref<Volume>,
    title: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Volume))]
struct By {
    #[odm(source)]
    id: Ref<Volume>,
    #[odm(from = writer.name)]
    by: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "lent")]
struct Lent {
    #[serde(rename = "_id")]
    id: i32,
    volume: By,
}

async fn copies_that_come_back_are_no_conflict(db: &Db) {
    let (writers, volumes, lent) = (
        db.collection::<Writer>(),
        db.collection::<Volume>(),
        db.collection::<Lent>(),
    );
    let best = Title {
        id: Ref::new(1),
        title: "T".to_owned(),
        version: 0,
    };
    let writer = Writer {
        id: 1,
        name: "A".to_owned(),
        best: Some(best),
        version: 0,
    };
    writers.insert(writer).await.unwrap();
    let name = Name {
        id: Ref::new(1),
        name: "A".to_owned(),
        version: 0,
    };
    let volume = Volume {
        id: 1,
        title: "T".to_owned(),
        writer: name,
        version: 0,
    };
    volumes.insert(volume).await.unwrap();
    let by = By {
        id: Ref::new(1),
        by: "A".to_owned(),
        version: 0,
    };
    lent.insert(Lent { id: 1, volume: by }).await.unwrap();
    let mut mine = writers.get(1).tracked().required().await.unwrap();
    for name in ["B", "C", "D"] {
        mine.name = name.to_owned();
        mine.save(&writers).await.unwrap();
        assert_eq!(mine.version, writers.get(1).required().await.unwrap().version);
        assert_eq!(lent.get(1).required().await.unwrap().volume.by, name);
    }
    let new = writers
        .find_one_and_update(|w| w.id.eq(1), |w| w.name.set("E"))
        .return_new()
        .await
        .unwrap()
        .unwrap();
    writers.save(&new).await.unwrap();
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "mixed_sums")]
struct MixedSums {
    #[serde(rename = "_id")]
    id: i32,
    a: i32,
    b: i32,
    sum: Derived<Sum>,
    #[serde(flatten)]
    extra: BTreeMap<String, i32>,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Extras {
    #[serde(flatten)]
    extra: BTreeMap<String, i32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(
    copied_to(Keeper),
    collection = "kept",
    schema_version = 1,
    kind = "kept",
    hooks
)]
struct Kept {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[serde(flatten)]
    extra: Document,
}

impl Hooks for Kept {
    async fn after_insert(value: &Kept, _: &odm::HookContext) -> odm::Result<()> {
        assert_eq!(value.extra, doc! {"free": 1});
        Ok(())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Kept))]
struct KeptCopy {
    #[odm(source)]
    id: Ref<Kept>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "keepers")]
struct Keeper {
    #[serde(rename = "_id")]
    id: i32,
    kept: KeptCopy,
}

async fn marks_are_no_fields_of_a_model_that_takes_all(db: &Db) {
    let all = db.collection::<MixedSums>();
    let extra = BTreeMap::from([("x".to_owned(), 1)]);
    let mixed = MixedSums {
        id: 1,
        a: 1,
        b: 2,
        sum: Derived::default(),
        extra: extra.clone(),
    };
    all.insert(mixed).await.unwrap();
    let new = all
        .find_one_and_update(|s| s.id.eq(1), |s| s.a.set(5))
        .return_new();
    let new = new.await.unwrap().unwrap();
    assert_eq!((new.sum.get(), &new.extra), (Some(&7), &extra));
    let mut mine = all.get(1).tracked().required().await.unwrap();
    mine.b = 3;
    mine.save(&all).await.unwrap();
    assert_eq!((mine.sum.get(), &mine.extra), (Some(&8), &extra));
    // An interruption left the mark.
    let mark = doc! {"$set": {"derived_pending": bson::oid::ObjectId::new()}};
    all.raw().update_one(doc! {"_id": 1}, mark).await.unwrap();
    assert_eq!(all.get(1).required().await.unwrap().extra, extra);
    let read = all
        .find(|s| s.id.eq(1))
        .project::<Extras>()
        .await
        .unwrap()
        .remove(0);
    assert_eq!(read.extra["x"], 1);
    let (kept, keepers) = (db.collection::<Kept>(), db.collection::<Keeper>());
    let free = doc! {"free": 1};
    let one = Kept {
        id: 1,
        name: "one".to_owned(),
        extra: free.clone(),
    };
    kept.insert(&one).await.unwrap();
    let stored = kept.get(1).required().await.unwrap();
    assert_eq!(stored.extra, free);
    let copy = KeptCopy::copy_of(&stored).unwrap();
    keepers.insert(Keeper { id: 1, kept: copy }).await.unwrap();
    for name in ["two", "three"] {
        kept.update_one(|k| k.id.eq(1), |k| k.name.set(name))
            .await
            .unwrap();
        assert_eq!(keepers.get(1).required().await.unwrap().kept.name, name);
    }
    let mut old = stored;
    old.name = "four".to_owned();
    kept.save(&old).await.unwrap();
    assert_eq!(keepers.get(1).required().await.unwrap().kept.name, "four");
    let mut mine = kept.get(1).tracked().required().await.unwrap();
    mine.name = "five".to_owned();
    mine.save(&kept).await.unwrap();
    assert_eq!(mine.extra, free);
    assert_eq!(keepers.get(1).required().await.unwrap().kept.name, "five");
}
