//! The ten tasks of MongoDB's public ODM benchmark: flat models small and large, nested models.
//!
//! The data has no field that is unique in an embedded document, so filters on one name the `_id` too.

use bson::{Document, doc};
use odm::action::{FindOne, Update};
use odm::{Model, Ref};
use odm_tests::measure::{Server, Settings, compare};

use super::documents::{Foreign, Linked, Small};
use super::large::Large;
use super::nested::Nested;
use super::{Bench, MANY};

pub(crate) async fn all(settings: &Settings, server: &Server) {
    if let Some(document) = Small::read() {
        small(settings, server, &document).await;
        foreign_key(settings, server, &document).await;
    }
    if let Some(document) = Large::read() {
        large(settings, server, &document).await;
    }
    if let Some(document) = Nested::read() {
        nested(settings, server, &document).await;
    }
}

async fn small(settings: &Settings, server: &Server, document: &Small) {
    let documents: Vec<_> = (0..MANY as i64).map(|id| document.with_id(id)).collect();
    let bench = Bench::prepare(settings, server, "task-small-", &documents).await;
    let (ours, make) = (&bench.ours, |id| document.with_id(id));
    bench.insert_one("create", 10, make).await;
    let own = |id, value| ours.update_one(|s| s.key.eq(id), |s| s.field1.set(value));
    update(&bench, 10, MANY, "field1", own).await;
    let own = |id| ours.find_one(|s| s.key.eq(id));
    find(&bench, "find", own, |id| doc! { "_id": id }).await;
    bench.drop().await;
}

/// Finds small documents by what they refer to; the field has an index.
async fn foreign_key(settings: &Settings, server: &Server, document: &Small) {
    let foreign: Vec<_> = (0..MANY as i64).map(Foreign::new).collect();
    let linked: Vec<Linked> = foreign.iter().map(|to| document.linked(to)).collect();
    let others = Bench::prepare(settings, server, "", &foreign).await;
    let bench = Bench::prepare(settings, server, "task-small-", &linked).await;
    bench.ours.sync_indexes().await.expect("the index is built");
    let own = |id| bench.ours.find_one(|l| l.field_fk.eq(Ref::new(id)));
    find(&bench, "find-foreign-key", own, |id| doc! { "field_fk": id }).await;
    bench.drop().await;
    others.drop().await;
}

/// Few documents and one in a round: each has megabytes.
async fn large(settings: &Settings, server: &Server, document: &Large) {
    let few = 10;
    let documents: Vec<_> = (0..few as i64).map(|id| document.with_id(id)).collect();
    let mut bench = Bench::prepare(settings, server, "task-large-", &documents).await;
    bench.rounds = settings.choose(9, 61);
    let (ours, make) = (&bench.ours, |id| document.with_id(id));
    bench.insert_one("create", 1, make).await;
    let own = |id, value| ours.update_one(|l| l.key.eq(id), |l| l.field1.set(value));
    update(&bench, 1, few, "field1", own).await;
    bench.drop().await;
}

async fn nested(settings: &Settings, server: &Server, document: &Nested) {
    let documents: Vec<_> = (0..MANY as i64).map(|id| document.with_id(id)).collect();
    let bench = Bench::prepare(settings, server, "task-nested-", &documents).await;
    let (ours, make) = (&bench.ours, |id| document.with_id(id));
    bench.insert_one("create", 10, make).await;
    // The update changes another field than those that are found by.
    let own = |id, value| ours.update_one(|n| n.key.eq(id), |n| n.embedded_str_doc_1.field1.set(value));
    update(&bench, 10, MANY, "embedded_str_doc_1.field1", own).await;
    let text = document.embedded_str_doc_1.field2.as_str();
    let own = |id| ours.find_one(|n| n.key.eq(id) & n.embedded_str_doc_1.field2.eq(text));
    let other = |id| doc! { "_id": id, "embedded_str_doc_1.field2": text };
    find(&bench, "find-field", own, other).await;
    let text = document.embedded_str_doc_array[0].field1.as_str();
    let own = |id| ours.find_one(|n| n.key.eq(id) & n.embedded_str_doc_array.any().field1.eq(text));
    let other = |id| doc! { "_id": id, "embedded_str_doc_array.field1": text };
    find(&bench, "find-array", own, other).await;
    bench.drop().await;
}

/// Sets a text by `_id`, one operation at a time, `each` of them in a round. The sides have ids of their own.
async fn update<M: Model<Key = i64> + Clone + Sync + Unpin>(
    bench: &Bench<M>,
    each: usize,
    there: usize,
    field: &str,
    own: impl Fn(i64, String) -> Update<M>,
) {
    let turns = |round: usize, side: usize| (0..each).map(move |n| 2 * (round * each + n) + side);
    let id = |turn: usize| (turn % there) as i64;
    // No value comes twice, so that each is a change.
    let value = |turn: usize| format!("updated_value{turn}");
    let result = compare(
        bench.rounds,
        each,
        async |round| {
            for turn in turns(round, 0) {
                let updated = own(id(turn), value(turn)).await.expect("a write");
                assert_eq!(updated.modified, 1);
            }
        },
        async |round| {
            for turn in turns(round, 1) {
                let change = doc! { "$set": { field: value(turn) } };
                let updated = bench.theirs.update_one(doc! { "_id": id(turn) }, change).await;
                assert_eq!(updated.expect("a write").modified_count, 1);
            }
        },
    );
    bench.show("update", result.await, 1.03);
}

/// Finds documents by one. The sides have ids of their own.
async fn find<M: Model<Key = i64> + Clone + Sync + Unpin>(
    bench: &Bench<M>,
    name: &str,
    own: impl Fn(i64) -> FindOne<M>,
    other: impl Fn(i64) -> Document,
) {
    let each = 50;
    let id = |turn: usize| (turn * 7_919 % MANY) as i64;
    let ids = |round: usize, side: usize| (0..each).map(move |n| id(2 * (round * each + n) + side));
    let result = compare(
        bench.rounds,
        each,
        async |round| {
            for id in ids(round, 0) {
                assert!(own(id).await.expect("a read").is_some());
            }
        },
        async |round| {
            for id in ids(round, 1) {
                let found = bench.theirs.find_one(other(id)).await.expect("a read");
                assert!(found.is_some());
            }
        },
    );
    bench.show(name, result.await, 1.03);
}
