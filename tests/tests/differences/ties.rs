//! Which of equals comes first: where the server promises no order it has one, as its library moves them.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{aggregate, batch, insert, run};

crate::on_every_backend! {
    the_first_few_of_equals,
    equal_items_of_long_arrays,
}

fn ids(documents: &[Document]) -> Vec<i32> {
    documents.iter().map(|own| own.get_i32("_id").unwrap()).collect()
}

async fn the_first_few_of_equals(db: &Db) {
    insert(
        db,
        "equal",
        (1..=6).map(|id| doc! { "_id": id, "a": 0 }).collect(),
    )
    .await;
    let last = [2, 2, 2, 2, 1];
    let documents = (1..).zip(last).map(|(id, a)| doc! { "_id": id, "a": a });
    insert(db, "last", documents.collect()).await;
    for (name, skip, limit, expected) in [
        ("equal", 0, 0, vec![1, 2, 3, 4, 5, 6]),
        ("equal", 0, 1, vec![1]),
        ("equal", 0, 3, vec![1, 2, 3]),
        ("equal", 0, 4, vec![2, 4, 1, 3]),
        ("equal", 1, 3, vec![4, 1, 3]),
        ("equal", 0, 6, vec![4, 5, 2, 1, 3, 6]),
        // Fewer than are wanted keep their order.
        ("equal", 0, 7, vec![1, 2, 3, 4, 5, 6]),
        ("last", 0, 4, vec![5, 4, 2, 1]),
    ] {
        let find = doc! { "find": name, "sort": { "a": 1 }, "skip": skip, "limit": limit };
        assert_eq!(
            ids(&batch(&run(db, find).await)),
            expected,
            "{name}: {skip}, {limit}"
        );
        if limit > 0 {
            let set = doc! { "$set": { "q": 1 } };
            let stages = vec![set, doc! { "$sort": { "a": 1 } }, doc! { "$limit": skip + limit }];
            let found = aggregate(db, name, stages).await;
            let found = &ids(&found)[skip as usize..];
            assert_eq!(found, expected, "{name}: {skip}, {limit} by stages");
        }
    }
}

async fn equal_items_of_long_arrays(db: &Db) {
    let items = |count: i32| (0..count).map(|n| doc! { "s": 1, "n": n }).collect::<Vec<_>>();
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "few": items(16), "many": items(20) }],
    )
    .await;
    let many = [
        10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1,
    ];
    let numbers = |document: &Document, field: &str| -> Vec<i32> {
        let items = document.get_array(field).unwrap().iter();
        items
            .map(|item| item.as_document().unwrap().get_i32("n").unwrap())
            .collect()
    };
    let sorted = |field: &str| doc! { "$sortArray": { "input": format!("${field}"), "sortBy": { "s": 1 } } };
    let set = doc! { "$set": { "few": sorted("few"), "many": sorted("many") } };
    let found = aggregate(db, "c", vec![set]).await;
    assert_eq!(numbers(&found[0], "few"), (0..16).collect::<Vec<_>>());
    assert_eq!(numbers(&found[0], "many"), many);
    let push = doc! { "$push": { "many": { "$each": [], "$sort": { "s": 1 }, "$slice": 5 } } };
    run(db, doc! { "update": "c", "updates": [{ "q": {}, "u": push }] }).await;
    let found = batch(&run(db, doc! { "find": "c" }).await);
    assert_eq!(numbers(&found[0], "many"), many[..5]);
}
