//! Several parts of indexes that share an order, read in this order: nothing is sorted, and no more is read than wanted.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{batch, code, ids, insert, run, told};

crate::on_every_backend! {
    values_before_the_order_have_a_scan_each,
    the_branches_of_a_choice_share_an_order,
    figures_are_those_of_the_server,
    batches_go_on_where_the_last_one_ended,
    what_a_transaction_deletes_meanwhile_is_passed_over,
    pages_by_place_read_no_more_than_the_page,
    what_is_in_several_scans_comes_once,
    one_of_several_is_changed_in_order,
    too_many_values_are_sorted,
    values_of_every_kind_have_their_place,
    what_is_equal_in_the_order_comes_as_from_the_server,
}

const DOCUMENTS: i32 = 500;

/// `a` is one of seven, `c` of three, `t` two of five; `b` is none's order.
fn document(id: i32) -> Document {
    doc! { "_id": id, "a": id % 7, "b": (id * 37) % 101, "c": id % 3, "t": [id % 5, id % 4] }
}

async fn many(db: &Db) {
    insert(db, "c", (0..DOCUMENTS).map(document).collect()).await;
    let index = |name: &str, key: Document| doc! { "key": key, "name": name };
    let indexes = vec![
        index("a", doc! { "a": 1, "b": 1 }),
        index("c", doc! { "c": 1, "b": -1 }),
        index("t", doc! { "t": 1, "b": 1 }),
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
}

fn find(filter: Document, sort: Document, limit: i32) -> Document {
    doc! { "find": "c", "filter": filter, "sort": sort, "limit": limit, "batchSize": 1000 }
}

/// What is found, with nothing but the place in the order: what is equal has none.
async fn places(db: &Db, command: Document) -> Vec<i32> {
    let found = batch(&run(db, command).await);
    found
        .iter()
        .map(|found| found.get_i32("b").expect("a place"))
        .collect()
}

fn expected(matches: impl Fn(i32) -> bool, backwards: bool, limit: usize) -> Vec<i32> {
    let mut all: Vec<i32> = (0..DOCUMENTS)
        .filter(|id| matches(*id))
        .map(|id| (id * 37) % 101)
        .collect();
    all.sort_unstable();
    if backwards {
        all.reverse();
    }
    all.truncate(limit);
    all
}

/// Checks that the filter's matches come in order, forth and back, and that nothing is sorted for it.
async fn check_merged(db: &Db, filter: &Document, matches: impl Fn(i32) -> bool + Copy) {
    for direction in [1, -1] {
        for limit in [1, 10, 0] {
            let command = find(filter.clone(), doc! { "b": direction }, limit);
            let most = if limit == 0 { usize::MAX } else { limit as usize };
            let expected = expected(matches, direction < 0, most);
            assert_eq!(places(db, command.clone()).await, expected, "{command}");
            let stages = told(db, &command).await.stages;
            let has = |name: &str| stages.iter().any(|stage| stage == name);
            assert!(has("SORT_MERGE") && !has("SORT"), "{stages:?}: {command}");
        }
    }
}

async fn values_before_the_order_have_a_scan_each(db: &Db) {
    many(db).await;
    let odd = |id: i32| [1, 3, 5].contains(&(id % 7));
    let filter = doc! { "a": { "$in": [1, 3, 5] } };
    check_merged(db, &filter, odd).await;
    let skipping = doc! { "find": "c", "filter": filter, "sort": { "b": 1 }, "skip": 7, "limit": 5 };
    assert_eq!(places(db, skipping).await, expected(odd, false, 12)[7..]);
    // A range of the order itself.
    let ranged = doc! { "a": { "$in": [1, 3, 5] }, "b": { "$gt": 50 } };
    let command = find(ranged, doc! { "b": 1 }, 10);
    let behind = |id: i32| odd(id) && (id * 37) % 101 > 50;
    assert_eq!(places(db, command).await, expected(behind, false, 10));
}

async fn the_branches_of_a_choice_share_an_order(db: &Db) {
    many(db).await;
    let either = |id: i32| id % 7 == 1 || id % 3 == 2;
    let filter = doc! { "$or": [{ "a": 1 }, { "c": 2 }] };
    check_merged(db, &filter, either).await;
    // A branch of several values, and a condition beside the choice.
    let filter = doc! { "$or": [{ "a": { "$in": [1, 2] } }, { "c": 2 }], "_id": { "$lt": 400 } };
    let command = find(filter, doc! { "b": -1 }, 20);
    let both = |id: i32| id < 400 && ([1, 2].contains(&(id % 7)) || id % 3 == 2);
    assert_eq!(places(db, command).await, expected(both, true, 20));
}

async fn figures_are_those_of_the_server(db: &Db) {
    many(db).await;
    let odd = || doc! { "$in": [1, 3, 5] };
    for (filter, direction, limit, keys, documents) in [
        (doc! { "a": odd() }, 1, 10, 12, 10),
        (doc! { "a": odd() }, -1, 10, 12, 10),
        (doc! { "a": odd() }, 1, 0, 214, 214),
        (doc! { "a": odd(), "b": { "$gt": 50 } }, 1, 10, 12, 10),
        (doc! { "$or": [{ "a": 1 }, { "c": 2 }] }, 1, 10, 13, 10),
        (doc! { "$or": [{ "a": 1 }, { "c": 2 }] }, 1, 0, 238, 214),
        (
            doc! { "$or": [{ "a": { "$in": [1, 2] } }, { "c": 2 }] },
            -1,
            10,
            14,
            10,
        ),
        (doc! { "a": null }, 1, 10, 0, 0),
    ] {
        let command = find(filter, doc! { "b": direction }, limit);
        let told = told(db, &command).await;
        assert_eq!((told.keys, told.documents), (keys, documents), "{command}");
    }
}

/// What a find of `c` gives, batch by batch.
async fn all(db: &Db, command: Document) -> Vec<Document> {
    let size = command.get("batchSize").cloned();
    let mut reply = run(db, command).await;
    let mut found = Vec::new();
    loop {
        let cursor = reply.get_document("cursor").expect("a cursor");
        let id = cursor.get_i64("id").expect("an id");
        let batch = cursor
            .get_array("firstBatch")
            .or_else(|_| cursor.get_array("nextBatch"));
        let documents = batch.expect("a batch").iter().filter_map(Bson::as_document);
        found.extend(documents.cloned());
        if id == 0 {
            return found;
        }
        reply = run(
            db,
            doc! { "getMore": id, "collection": "c", "batchSize": size.clone() },
        )
        .await;
    }
}

async fn batches_go_on_where_the_last_one_ended(db: &Db) {
    many(db).await;
    let either = |id: i32| [1, 3, 5].contains(&(id % 7)) || id % 3 == 2;
    let filter = doc! { "$or": [{ "a": { "$in": [1, 3, 5] } }, { "c": 2 }] };
    for (size, direction) in [(1, 1), (2, -1), (7, 1), (100, -1)] {
        let command =
            doc! { "find": "c", "filter": filter.clone(), "sort": { "b": direction }, "batchSize": size };
        let found = all(db, command).await;
        let found: Vec<i32> = found
            .iter()
            .map(|found| found.get_i32("b").expect("a place"))
            .collect();
        assert_eq!(
            found,
            expected(either, direction < 0, usize::MAX),
            "batches of {size}"
        );
    }
}

async fn what_a_transaction_deletes_meanwhile_is_passed_over(db: &Db) {
    many(db).await;
    let filter = doc! { "a": { "$in": [1, 3, 5] } };
    let odd = |id: i32| [1, 3, 5].contains(&(id % 7));
    let tx = db.begin().await.expect("a transaction");
    let own = tx.raw_collection("c");
    let mut found = own
        .find(filter.clone())
        .sort_raw(doc! { "b": 1 })
        .batch_size(3)
        .stream();
    let mut read = Vec::new();
    for _ in 0..3 {
        let next = found
            .next()
            .await
            .expect("one of the first batch")
            .expect("a document");
        read.push(next.get_i32("b").expect("a place"));
    }
    assert_eq!(read, expected(odd, false, 3));
    let gone = doc! { "a": 3, "b": { "$gt": read[2] } };
    own.delete_many(gone).await.expect("deleted");
    // A cursor shows what there was when it was opened, or what is left; and each once, in order.
    while let Some(next) = found.next().await {
        read.push(
            next.expect("a document that can be read")
                .get_i32("b")
                .expect("a place"),
        );
    }
    drop(found);
    let last = read[2];
    let left = |id: i32| odd(id) && (id % 7 != 3 || (id * 37) % 101 <= last);
    let [before, after] = [
        expected(odd, false, usize::MAX),
        expected(left, false, usize::MAX),
    ];
    assert!(read == before || read == after, "{read:?}");
    tx.abort().await;
    assert_eq!(places(db, find(filter, doc! { "b": 1 }, 0)).await, before);
}

async fn pages_by_place_read_no_more_than_the_page(db: &Db) {
    let transfer = |id: i32| doc! { "_id": id, "from": id % 5, "to": (id / 5) % 5, "at": id / 2 };
    insert(db, "c", (0..1000).map(transfer).collect()).await;
    let index = |name: &str, key: Document| doc! { "key": key, "name": name };
    let indexes = vec![
        index("from", doc! { "from": 1, "at": -1, "_id": -1 }),
        index("to", doc! { "to": 1, "at": -1, "_id": -1 }),
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
    let own: Vec<i32> = (0..1000)
        .rev()
        .filter(|id| id % 5 == 3 || (id / 5) % 5 == 3)
        .collect();
    let mut place: Option<(i32, i32)> = None;
    for page in own.chunks(20) {
        let mut filter = doc! { "$or": [{ "from": 3 }, { "to": 3 }] };
        if let Some((at, id)) = place {
            let behind = doc! { "$or": [{ "at": { "$lt": at } }, { "at": at, "_id": { "$lt": id } }] };
            filter = doc! { "$and": [filter, behind] };
        }
        let command = find(filter, doc! { "at": -1, "_id": -1 }, 20);
        let found = batch(&run(db, command.clone()).await);
        assert_eq!(ids(&found), page, "{command}");
        let last = found.last().expect("a page has documents");
        place = Some((
            last.get_i32("at").expect("a time"),
            last.get_i32("_id").expect("an id"),
        ));
        // The server reads every page up to the place again.
        if db.backend_name() != "mongodb" {
            let told = told(db, &command).await;
            assert!(told.documents <= 20, "{} documents: {command}", told.documents);
        }
    }
}

async fn what_is_in_several_scans_comes_once(db: &Db) {
    many(db).await;
    let filter = doc! { "t": { "$in": [1, 3] } };
    let either = |id: i32| [id % 5, id % 4].iter().any(|own| [1, 3].contains(own));
    for (direction, limit) in [(1, 0), (-1, 0), (1, 30)] {
        let command = find(filter.clone(), doc! { "b": direction }, limit);
        let most = if limit == 0 { usize::MAX } else { limit as usize };
        assert_eq!(places(db, command).await, expected(either, direction < 0, most));
    }
    let count = doc! { "count": "c", "query": filter };
    let all = expected(either, false, usize::MAX).len() as i32;
    assert_eq!(run(db, count).await.get_i32("n").ok(), Some(all));
}

async fn one_of_several_is_changed_in_order(db: &Db) {
    many(db).await;
    let filter = doc! { "a": { "$in": [1, 3, 5] } };
    let mut last = None;
    for _ in 0..20 {
        let take = doc! { "findAndModify": "c", "query": filter.clone(), "sort": { "b": 1 }, "remove": true };
        let taken = run(db, take).await;
        let place = taken
            .get_document("value")
            .expect("one is left")
            .get_i32("b")
            .expect("a place");
        assert!(last.is_none_or(|last| last <= place), "{place} behind {last:?}");
        last = Some(place);
    }
    let odd = |id: i32| [1, 3, 5].contains(&(id % 7));
    let rest = places(db, find(filter, doc! { "b": 1 }, 0)).await;
    assert_eq!(rest, expected(odd, false, usize::MAX)[20..]);
}

async fn too_many_values_are_sorted(db: &Db) {
    many(db).await;
    let values: Vec<i32> = (0..300).collect();
    let command = find(doc! { "a": { "$in": values } }, doc! { "b": 1 }, 10);
    assert_eq!(places(db, command.clone()).await, expected(|_| true, false, 10));
    let told = told(db, &command).await;
    assert!(
        !told.stages.contains(&"SORT_MERGE".to_owned()),
        "{:?}",
        told.stages
    );
}

async fn values_of_every_kind_have_their_place(db: &Db) {
    let values = [
        Bson::MinKey,
        Bson::Null,
        Bson::Double(f64::NAN),
        Bson::Double(f64::NEG_INFINITY),
        Bson::Int64(-5),
        Bson::Double(-0.0),
        Bson::Double(0.5),
        Bson::Int32(7),
        Bson::String(String::new()),
        Bson::String("\0".to_owned()),
        Bson::String("a".to_owned()),
        Bson::String("a\0b".to_owned()),
        Bson::Document(doc! {}),
        Bson::Document(doc! { "x": 1 }),
        Bson::Boolean(false),
        Bson::Boolean(true),
        Bson::MaxKey,
    ];
    let all = values.iter().enumerate();
    let documents = all.flat_map(|(place, value)| {
        [1, 2].map(|group| doc! { "_id": 2 * place as i32 + group, "g": group, "v": value.clone() })
    });
    insert(db, "c", documents.collect()).await;
    let index = |name: &str, key: Document| doc! { "key": key, "name": name };
    for (forth, back) in [(1, -1), (-1, 1)] {
        let indexes = vec![
            index("g", doc! { "g": 1, "v": forth, "_id": forth }),
            index("h", doc! { "g": -1, "v": back, "_id": back }),
        ];
        run(db, doc! { "dropIndexes": "c", "index": "*" }).await;
        run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
        for direction in [1, -1] {
            let sort = doc! { "v": direction, "_id": direction };
            let mut expected: Vec<i32> = (1..=2 * values.len() as i32).collect();
            if direction < 0 {
                expected.reverse();
            }
            for filter in [
                doc! { "g": { "$in": [1, 2] } },
                doc! { "$or": [{ "g": 1 }, { "g": 2 }] },
            ] {
                let command = find(filter, sort.clone(), 0);
                assert_eq!(
                    ids(&batch(&run(db, command.clone()).await)),
                    expected,
                    "{command}"
                );
            }
            // Only one of the two has a scan in this order.
            let mixed = find(
                doc! { "g": { "$in": [1, 2] } },
                doc! { "v": direction, "_id": -direction },
                0,
            );
            let found = batch(&run(db, mixed).await);
            assert_eq!(found.len(), expected.len());
        }
    }
}

/// In the order in which a scan would come by the values, and then as a heap has them.
async fn what_is_equal_in_the_order_comes_as_from_the_server(db: &Db) {
    for ([a, b], values, order, expected) in [
        (
            [1, 1],
            vec![0, 3, 4],
            1,
            [0, 4, 12, 20, 24, 32, 15, 19, 7, 35, 39, 27],
        ),
        (
            [1, 1],
            vec![0, 1, 2, 3],
            -1,
            [29, 33, 25, 9, 13, 5, 21, 1, 30, 38, 26, 10],
        ),
        (
            [-1, 1],
            vec![0, 3, 4],
            1,
            [12, 4, 0, 32, 24, 20, 7, 19, 15, 27, 39, 35],
        ),
        (
            [-1, -1],
            vec![1, 2, 3, 4],
            -1,
            [17, 1, 13, 37, 21, 33, 9, 29, 18, 6, 14, 38],
        ),
        (
            [-1, -1],
            vec![0, 3],
            1,
            [20, 24, 0, 4, 35, 39, 15, 19, 30, 34, 10, 14],
        ),
    ] {
        // The first time there is none.
        code(db, doc! { "drop": "c" }).await;
        let documents = (0..40).map(|id| doc! { "_id": id, "a": id * 7 % 5, "b": id * 3 % 4 });
        insert(db, "c", documents.collect()).await;
        let index = doc! { "key": { "a": a, "b": b }, "name": "i" };
        run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
        let of = doc! { "a": { "$in": values.clone() } };
        let mut command = find(of, doc! { "b": order }, 12);
        let found = run(db, command.clone()).await;
        assert_eq!(ids(&batch(&found)), expected, "{a} {b} {values:?} {order}");
        // However few are read at once.
        command.insert("batchSize", 1);
        let one_by_one = all(db, command).await;
        assert_eq!(ids(&one_by_one), expected, "{a} {b} {values:?} {order}");
    }
}
