//! An `$or` whose branches have indexes and conditions of their own: each of its documents comes by the first branch that it
//! matches, and the branches in the order of their indexes.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{batch, ids, insert, run};

crate::on_every_backend! {
    a_branch_gives_only_what_it_asks_for,
    one_document_is_changed_by_the_first_branch_that_it_matches,
    merged_branches_give_only_what_they_ask_for,
    branches_come_in_the_order_of_their_indexes,
    covered_branches_give_only_what_they_ask_for,
    a_document_of_many_keys_is_read_once_for_a_branch,
}

async fn indexes(db: &Db, keys: &[Document]) {
    for (at, key) in keys.iter().enumerate() {
        let spec = doc! { "key": key.clone(), "name": format!("i{at}") };
        run(db, doc! { "createIndexes": "c", "indexes": [spec] }).await;
    }
}

async fn found(db: &Db, filter: Document, sort: Document, limit: i32) -> Vec<i32> {
    let find = doc! { "find": "c", "filter": filter, "sort": sort, "limit": limit };
    ids(&batch(&run(db, find).await))
}

async fn prepare(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "a": 2, "b": 2, "z": 1 },
            doc! { "_id": 2, "a": 1, "b": 1, "z": 0 },
        ],
    )
    .await;
    indexes(db, &[doc! { "a": 1 }, doc! { "b": 1 }]).await;
}

fn choice() -> Document {
    doc! { "$or": [{ "a": { "$gt": 1 }, "z": 0 }, { "b": { "$gt": 0 } }] }
}

async fn a_branch_gives_only_what_it_asks_for(db: &Db) {
    prepare(db).await;
    // The first is led to by the branch that it does not match, and is given by the other, behind the second.
    assert_eq!(found(db, choice(), doc! {}, 0).await, [2, 1]);
    assert_eq!(found(db, choice(), doc! {}, 1).await, [2]);
    let counted = run(db, doc! { "count": "c", "query": choice() }).await;
    assert_eq!(counted.get_i32("n").unwrap(), 2);
    let both = doc! { "$or": [{ "a": { "$gt": 1 }, "z": 1 }, { "b": { "$gt": 0 } }] };
    assert_eq!(found(db, both, doc! {}, 0).await, [1, 2]);
}

async fn one_document_is_changed_by_the_first_branch_that_it_matches(db: &Db) {
    prepare(db).await;
    let update = doc! { "q": choice(), "u": { "$set": { "first": true } } };
    run(db, doc! { "update": "c", "updates": [update] }).await;
    assert_eq!(found(db, doc! { "first": true }, doc! {}, 0).await, [2]);
    let removed = run(
        db,
        doc! { "findAndModify": "c", "query": choice(), "remove": true },
    )
    .await;
    assert_eq!(removed.get_document("value").unwrap().get_i32("_id").unwrap(), 2);
    assert_eq!(found(db, doc! {}, doc! {}, 0).await, [1]);
}

async fn merged_branches_give_only_what_they_ask_for(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "a": 0, "b": 1, "z": 1, "s": 3 },
            doc! { "_id": 2, "a": 1, "b": 1, "z": 1, "s": 1 },
            doc! { "_id": 3, "a": 1, "b": 2, "z": 0, "s": 2 },
        ],
    )
    .await;
    indexes(db, &[doc! { "a": 1, "s": 1 }, doc! { "b": 1, "s": 1 }]).await;
    let filter = doc! { "$or": [{ "a": 1, "z": 0 }, { "b": 1 }] };
    assert_eq!(found(db, filter.clone(), doc! { "s": 1 }, 0).await, [2, 3, 1]);
    assert_eq!(found(db, filter.clone(), doc! { "s": -1 }, 0).await, [1, 3, 2]);
    assert_eq!(found(db, filter, doc! { "s": 1 }, 2).await, [2, 3]);
}

async fn branches_come_in_the_order_of_their_indexes(db: &Db) {
    let documents = (0..8).map(|n| doc! { "_id": n, "a": n % 4, "b": 3 - n % 4, "z": n % 2 });
    insert(db, "c", documents.collect()).await;
    indexes(db, &[doc! { "a": 1 }, doc! { "b": 1 }]).await;
    // By its fields the branch by the second index is the first one.
    let filter = doc! { "$or": [{ "b": 0, "z": 1 }, { "a": { "$gt": 1 }, "z": { "$exists": true } }] };
    assert_eq!(found(db, filter, doc! {}, 0).await, [2, 6, 3, 7]);
    let filter = doc! { "$or": [{ "b": 3, "z": 0 }, { "a": { "$gt": 2 }, "z": { "$exists": true } }] };
    assert_eq!(found(db, filter, doc! {}, 0).await, [3, 7, 0, 4]);
    // A scan for single conditions waits for more of them.
    let filter = doc! { "$or": [{ "a": 3 }, { "b": 3, "z": 0 }] };
    assert_eq!(found(db, filter, doc! {}, 0).await, [0, 4, 3, 7]);
}

async fn covered_branches_give_only_what_they_ask_for(db: &Db) {
    let documents = (0..6).map(|n| doc! { "_id": n, "a": n % 3, "b": n });
    insert(db, "c", documents.collect()).await;
    indexes(db, &[doc! { "a": 1, "b": 1 }]).await;
    let filter =
        doc! { "$or": [{ "a": 1, "b": { "$in": [1] } }, { "a": { "$lte": 1 }, "b": { "$mod": [3, 0] } }] };
    let find = doc! { "find": "c", "filter": filter, "projection": { "_id": 0, "b": 1 }, "sort": { "b": 1 } };
    let found = batch(&run(db, find).await);
    let values: Vec<i32> = found.iter().map(|own| own.get_i32("b").unwrap()).collect();
    assert_eq!(values, [0, 1, 3]);
}

async fn a_document_of_many_keys_is_read_once_for_a_branch(db: &Db) {
    let tags: Vec<i32> = (0..50).collect();
    insert(db, "c", vec![doc! { "_id": 1, "tags": tags, "b": 1, "z": 1 }]).await;
    indexes(db, &[doc! { "tags": 1 }, doc! { "b": 1 }]).await;
    let filter = doc! { "$or": [{ "tags": { "$gte": 0 }, "z": 0 }, { "b": 1 }] };
    assert_eq!(found(db, filter.clone(), doc! {}, 0).await, [1]);
    let explain = doc! { "explain": { "find": "c", "filter": filter }, "verbosity": "executionStats" };
    let explained = run(db, explain).await;
    let figures = explained.get_document("executionStats").unwrap();
    // Once for each branch.
    assert_eq!(figures.get("totalDocsExamined"), Some(&Bson::Int32(2)));
    assert_eq!(figures.get("nReturned"), Some(&Bson::Int32(1)));
}
