//! Indexes that are made what is declared: in place, beside the old ones, and without losing any.

use bson::{Document, doc};
use odm::{Collection, Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    names_that_are_swapped_become_what_is_declared,
    an_index_that_breaks_leaves_what_there_was,
    a_changed_unique_index_is_built_with_a_guard,
    a_collation_that_says_less_is_another_one,
    what_an_interrupted_run_left_is_taken_up,
    expiry_and_hiding_are_changed_in_place,
    a_text_index_that_cannot_be_built_is_restored,
    a_missing_index_waits_for_its_name,
}

mod before {
    use super::*;

    #[derive(Serialize, Deserialize, Model)]
    #[odm(
        collection = "jobs",
        index(keys(title), name = "x"),
        index(keys(city), name = "y")
    )]
    pub(super) struct Job {
        #[serde(rename = "_id")]
        id: i32,
        title: String,
        city: String,
    }
}

mod after {
    use super::*;

    #[derive(Serialize, Deserialize, Model)]
    #[odm(
        collection = "jobs",
        index(keys(title), name = "y", unique),
        index(keys(city), name = "x")
    )]
    pub(super) struct Job {
        #[serde(rename = "_id")]
        id: i32,
        title: String,
        city: String,
    }
}

/// Name and keys of all indexes but that of `_id`, with ` unique` where they are.
async fn listed<M: Model>(collection: &Collection<M>) -> Vec<String> {
    let indexes = collection.list_indexes().await.unwrap();
    let mut all: Vec<String> = indexes
        .into_iter()
        .filter(|index| index.name != "_id_")
        .map(|index| {
            let keys: Vec<&str> = index.keys.keys().map(String::as_str).collect();
            let unique = if index.unique { " unique" } else { "" };
            format!("{} {}{unique}", index.name, keys.join(","))
        })
        .collect();
    all.sort();
    all
}

async fn names_that_are_swapped_become_what_is_declared(db: &Db) {
    let (old, new) = (db.collection::<before::Job>(), db.collection::<after::Job>());
    old.sync_indexes().await.unwrap();
    let jobs = [doc! {"_id": 1, "title": "a"}, doc! {"_id": 2}, doc! {"_id": 3}];
    old.raw().insert_many(jobs).await.unwrap();

    let left = new.sync_indexes().await.unwrap().left;
    assert_eq!(
        left.to_string(),
        "changed: x differs in unique\nchanged: y differs in name"
    );
    let error = new.sync_indexes().rebuild_changed(true).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.index()),
        (ErrorKind::DuplicateKey, Some("y"))
    );
    assert!(error.message().contains("x is as it was"), "{error}");
    assert_eq!(listed(&new).await, ["x title", "y city"]);

    old.raw().delete_one(doc! {"_id": 3}).await.unwrap();
    let done = new.sync_indexes().rebuild_changed(true).await.unwrap();
    let mut rebuilt = done.rebuilt.clone();
    rebuilt.sort();
    assert_eq!(rebuilt, ["x", "y"], "{done:?}");
    assert_eq!(listed(&new).await, ["x city", "y title unique"]);
    assert!(new.index_drift().await.unwrap().is_empty());
    let again = new
        .sync_indexes()
        .rebuild_changed(true)
        .drop_unknown(true)
        .await
        .unwrap();
    assert!(again.rebuilt.is_empty() && again.dropped.is_empty(), "{again:?}");
    let back = old.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(back.rebuilt.len(), 2);
    assert_eq!(listed(&old).await, ["x title", "y city"]);
}

/// As a language's rules take no notice of case.
fn ignoring_case() -> Document {
    doc! {"locale": "en", "strength": 2}
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(unique, collation = ignoring_case()))]
    slug: String,
}

async fn pages_by_bytes(db: &Db) -> Collection<Page> {
    let pages = db.collection::<Page>();
    let old = doc! {"key": {"slug": 1}, "name": "slug_1", "unique": true};
    pages.raw().create_indexes().index_raw(old).await.unwrap();
    let stored = ["rust", "Rust", "go"].into_iter().enumerate();
    let stored = stored.map(|(id, slug)| doc! {"_id": id as i32, "slug": slug});
    pages.raw().insert_many(stored).await.unwrap();
    pages
}

async fn an_index_that_breaks_leaves_what_there_was(db: &Db) {
    let pages = pages_by_bytes(db).await;
    for _ in 0..2 {
        let error = pages
            .sync_indexes()
            .rebuild_changed(true)
            .drop_unknown(true)
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.index()),
            (ErrorKind::DuplicateKey, Some("slug_1")),
            "{error}"
        );
        assert_eq!(listed(&pages).await, ["slug_1 slug unique"]);
        let again = doc! {"_id": 9, "slug": "rust"};
        assert!(pages.raw().insert(again).await.unwrap_err().is_duplicate_key());
    }
}

async fn a_changed_unique_index_is_built_with_a_guard(db: &Db) {
    let pages = pages_by_bytes(db).await;
    pages.raw().delete_one(doc! {"_id": 1}).await.unwrap();
    let done = pages.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(done.rebuilt, ["slug_1"]);
    assert_eq!(listed(&pages).await, ["slug_1 slug unique"]);
    let error = pages
        .insert(Page {
            id: 9,
            slug: "RUST".into(),
        })
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.index()),
        (ErrorKind::DuplicateKey, Some("slug_1"))
    );
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
struct TellingCases {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(unique, collation = doc! {"locale": "en"}))]
    slug: String,
}

async fn a_collation_that_says_less_is_another_one(db: &Db) {
    let ignoring = db.collection::<Page>();
    ignoring.create_indexes().await.unwrap();
    assert!(ignoring.index_drift().await.unwrap().is_empty());
    // Strength 3 is what a server has unless it is told otherwise.
    let telling = db.collection::<TellingCases>();
    let drift = telling.index_drift().await.unwrap();
    assert_eq!(drift.changed.len(), 1, "{drift}");
    assert_eq!(drift.changed[0].differences, ["collation"]);
    let done = telling.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(done.rebuilt, ["slug_1"]);
    assert!(telling.index_drift().await.unwrap().is_empty());
    for (id, slug) in ["ann", "Ann"].into_iter().enumerate() {
        let page = TellingCases {
            id: id as i32,
            slug: slug.into(),
        };
        telling.insert(page).await.unwrap();
    }
}

async fn what_an_interrupted_run_left_is_taken_up(db: &Db) {
    let pages = pages_by_bytes(db).await;
    pages.raw().delete_one(doc! {"_id": 1}).await.unwrap();
    let standing_in = doc! {
        "key": {"slug": 1}, "name": "slug_1_standing_in", "unique": true, "collation": ignoring_case(),
        "partialFilterExpression": {"_id": {"$exists": true}},
    };
    let raw = pages.raw();
    raw.create_indexes().index_raw(standing_in.clone()).await.unwrap();
    let done = pages.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(done.rebuilt, ["slug_1"]);
    assert_eq!(listed(&pages).await, ["slug_1 slug unique"]);

    // The same with the old index gone.
    raw.create_indexes().index_raw(standing_in.clone()).await.unwrap();
    pages.drop_index("slug_1").await.unwrap();
    pages.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(listed(&pages).await, ["slug_1 slug unique"]);

    // And with the new one there.
    raw.create_indexes().index_raw(standing_in).await.unwrap();
    let done = pages.sync_indexes().await.unwrap();
    assert_eq!(done.left.unknown.len(), 1);
    let done = pages.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(done.dropped, ["slug_1_standing_in"]);
    assert!(pages.index_drift().await.unwrap().is_empty());
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(expire_after = "60d"))]
    at: bson::DateTime,
    #[odm(index)]
    place: String,
    #[odm(index(hidden))]
    by: String,
}

async fn expiry_and_hiding_are_changed_in_place(db: &Db) {
    let visits = db.collection::<Visit>();
    let raw = visits.raw();
    for old in [
        doc! {"key": {"at": 1}, "name": "when", "expireAfterSeconds": 60},
        doc! {"key": {"place": 1}, "name": "place_1", "hidden": true},
        doc! {"key": {"by": 1}, "name": "by_1"},
    ] {
        raw.create_indexes().index_raw(old).await.unwrap();
    }
    assert_eq!(visits.sync_indexes().await.unwrap().left.changed.len(), 3);
    let done = visits.sync_indexes().rebuild_changed(true).await.unwrap();
    let mut modified = done.modified.clone();
    modified.sort();
    assert_eq!(
        (modified, done.rebuilt),
        (vec!["by_1".into(), "place_1".into(), "when".into()], vec![])
    );
    assert!(visits.index_drift().await.unwrap().is_empty());
    let indexes = visits.list_indexes().await.unwrap();
    let of = |name: &str| &indexes.iter().find(|index| index.name == name).unwrap().spec;
    let seconds = of("when").get("expireAfterSeconds").unwrap();
    assert_eq!(
        seconds.as_i64().or(seconds.as_i32().map(i64::from)),
        Some(60 * 86_400)
    );
    assert!(of("by_1").get_bool("hidden").unwrap());
    assert!(!of("place_1").get_bool("hidden").unwrap_or_default());
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "notes", index(keys(text(title), text(body)), name = "words"))]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    body: String,
}

async fn a_text_index_that_cannot_be_built_is_restored(db: &Db) {
    let notes = db.collection::<Note>();
    let raw = notes.raw();
    let old = doc! {"key": {"title": "text", "kind": 1}, "name": "old_words", "weights": {"title": 3}};
    raw.create_indexes().index_raw(old).await.unwrap();
    raw.insert(doc! {"_id": 1, "title": "x", "body": "y", "language": "klingon"})
        .await
        .ok();
    raw.drop_index("old_words").await.unwrap();
    raw.insert(doc! {"_id": 2, "body": "y", "language": "klingon"})
        .await
        .unwrap();
    let old = doc! {"key": {"title": "text"}, "name": "words", "language_override": "tongue", "weights": {"title": 3}};
    raw.create_indexes().index_raw(old).await.unwrap();
    let was = notes.list_indexes().await.unwrap();

    let error = notes.sync_indexes().rebuild_changed(true).await.unwrap_err();
    assert!(
        error.message().contains("restored as they were: words"),
        "{error}"
    );
    assert_eq!(notes.list_indexes().await.unwrap(), was);
    raw.delete_one(doc! {"_id": 2}).await.unwrap();
    let done = notes.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(done.rebuilt, ["words"]);
    assert!(notes.index_drift().await.unwrap().is_empty());
}

#[expect(clippy::duplicated_attributes, reason = "a key may be in several indexes")]
mod renamed {
    use super::*;

    #[derive(Serialize, Deserialize, Model)]
    #[odm(
        collection = "jobs",
        index(keys(city), name = "y"),
        index(keys(title), name = "z"),
        index(keys(title, city), name = "x")
    )]
    pub(super) struct Job {
        #[serde(rename = "_id")]
        id: i32,
        title: String,
        city: String,
    }
}

async fn a_missing_index_waits_for_its_name(db: &Db) {
    db.collection::<before::Job>().sync_indexes().await.unwrap();
    let jobs = db.collection::<renamed::Job>();
    let done = jobs.sync_indexes().await.unwrap();
    assert_eq!(done.created, Vec::<String>::new());
    assert_eq!(
        (done.left.missing.len(), done.left.changed.len()),
        (1, 1),
        "{}",
        done.left
    );
    let done = jobs.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(
        (done.created, done.rebuilt),
        (vec!["x".to_owned()], vec!["z".to_owned()])
    );
    assert_eq!(listed(&jobs).await, ["x title,city", "y city", "z title"]);
}
