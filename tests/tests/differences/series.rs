//! What was found to differ of time series: what they take, and the buckets that it goes into.

use odm::Db;
use odm::bson::{Binary, Bson, DateTime, Document, Regex, Timestamp, doc, spec::BinarySubtype};
use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    an_ordered_command_counts_what_is_behind_a_document_without_time,
    measurements_have_any_id,
    empty_timestamps_of_measurements_stay,
    a_bucket_has_values_of_one_type,
    a_bucket_has_so_many_bytes,
    a_full_bucket_is_in_the_order_of_time,
    buckets_stay_open_when_the_series_is_modified,
    updates_of_a_series_are_refused_as_such_first,
    a_measurement_fits_three_times_into_a_document,
}

/// Seconds after a full hour.
pub(crate) fn at(seconds: i64) -> DateTime {
    DateTime::from_millis(1_767_225_600_000 + seconds * 1_000)
}

/// A measurement of a source at a minute.
pub(crate) fn of(source: i32, id: i32, more: Document) -> Document {
    let mut document = doc! { "_id": id, "t": at(60 * i64::from(id)), "m": source };
    document.extend(more);
    document
}

pub(crate) async fn create(db: &Db) {
    run(
        db,
        doc! { "create": "s", "timeseries": { "timeField": "t", "metaField": "m" } },
    )
    .await;
}

/// The ids in the order of the series.
pub(crate) async fn in_order(db: &Db) -> Vec<i32> {
    ids(&batch(&run(db, doc! { "find": "s" }).await))
}

/// How many documents an insertion says to have inserted; the indexes and codes of its errors.
pub(crate) async fn inserted(db: &Db, documents: Vec<Document>, is_ordered: bool) -> (i32, Vec<(i32, i32)>) {
    let reply = run(
        db,
        doc! { "insert": "s", "documents": documents, "ordered": is_ordered },
    )
    .await;
    let errors = match reply.get_array("writeErrors") {
        Ok(errors) => errors.clone(),
        Err(_) => Vec::new(),
    };
    let errors = errors.iter().map(|error| {
        let error = error.as_document().unwrap();
        (error.get_i32("index").unwrap(), error.get_i32("code").unwrap())
    });
    (reply.get_i32("n").unwrap(), errors.collect())
}

async fn an_ordered_command_counts_what_is_behind_a_document_without_time(db: &Db) {
    create(db).await;
    let documents = || {
        vec![
            of(1, 1, doc! {}),
            doc! { "_id": 2 },
            of(1, 3, doc! {}),
            doc! { "_id": 4 },
        ]
    };
    assert_eq!(inserted(db, documents(), true).await, (4, vec![(1, 2)]));
    assert_eq!(in_order(db).await, [1]);
    assert_eq!(inserted(db, documents(), false).await, (2, vec![(1, 2), (3, 2)]));
    assert_eq!(in_order(db).await, [1, 1, 3]);
}

async fn measurements_have_any_id(db: &Db) {
    create(db).await;
    let regex = Bson::RegularExpression(Regex {
        pattern: "a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let binary = Bson::Binary(Binary {
        subtype: BinarySubtype::Generic,
        bytes: vec![1],
    });
    let any = [
        Bson::from(vec![1, 2]),
        regex,
        Bson::from(doc! { "$a": 1 }),
        Bson::Undefined,
        Bson::Null,
        binary,
        Bson::Int32(7),
        Bson::Int32(7),
    ];
    for id in any {
        assert_eq!(
            inserted(db, vec![doc! { "_id": id, "t": at(0) }], true).await,
            (1, vec![])
        );
    }
    let count = |filter: Document| run(db, doc! { "count": "s", "query": filter });
    for (filter, found) in [
        (doc! {}, 8),
        (doc! { "_id": 7 }, 2),
        (doc! { "_id": 2 }, 1),
        (doc! { "_id": { "$type": "array" } }, 1),
        (doc! { "_id": { "$type": "regex" } }, 1),
        (doc! { "_id": { "$type": "object" } }, 1),
    ] {
        assert_eq!(
            count(filter.clone()).await.get_i32("n").unwrap(),
            found,
            "{filter}"
        );
    }
}

async fn empty_timestamps_of_measurements_stay(db: &Db) {
    create(db).await;
    let empty = Timestamp {
        time: 0,
        increment: 0,
    };
    insert(db, "s", vec![of(1, 1, doc! { "v": empty })]).await;
    let found = batch(&run(db, doc! { "find": "s", "projection": { "v": 1, "_id": 0 } }).await);
    assert_eq!(found, [doc! { "v": empty }]);
}

async fn a_bucket_has_values_of_one_type(db: &Db) {
    let cases: [(Document, Document, bool); 9] = [
        (doc! { "v": 1 }, doc! { "v": 2.5 }, true),
        (doc! { "v": 1 }, doc! {}, true),
        (doc! { "v": 1 }, doc! { "v": "x" }, false),
        (doc! { "v": 1 }, doc! { "v": null }, false),
        (doc! { "v": { "a": 1 } }, doc! { "v": { "b": "x" } }, true),
        (doc! { "v": { "a": 1 } }, doc! { "v": { "a": "x" } }, false),
        (doc! { "v": [1] }, doc! { "v": [2, "x"] }, true),
        (doc! { "v": [1] }, doc! { "v": ["x", 1] }, false),
        (doc! { "v": [] }, doc! { "v": {} }, false),
    ];
    for (first, second, is_same) in cases {
        create(db).await;
        insert(db, "s", vec![of(1, 1, first.clone()), of(2, 2, doc! {})]).await;
        insert(db, "s", vec![of(1, 3, second.clone())]).await;
        // Another bucket of the same hour may stand before or behind it.
        let found = in_order(db).await;
        let is_next = found.windows(2).any(|pair| pair == [1, 3]);
        assert_eq!(is_next, is_same, "{first} {second} {found:?}");
        run(db, doc! { "drop": "s" }).await;
    }
}

async fn a_bucket_has_so_many_bytes(db: &Db) {
    // The names of fields count twice when two documents come with one command.
    for (length, is_one_command, is_same) in [
        (63_956, true, true),
        (63_957, true, false),
        (63_969, false, true),
        (63_970, false, false),
    ] {
        create(db).await;
        let large = || doc! { "t": at(0), "v": "x".repeat(length), "m": 1 };
        let commands = match is_one_command {
            true => vec![vec![large(), large()]],
            false => vec![vec![large()], vec![large()]],
        };
        for documents in commands {
            insert(db, "s", documents).await;
        }
        let reply = run(db, doc! { "collStats": "s" }).await;
        let buckets = reply
            .get_document("timeseries")
            .unwrap()
            .get("bucketCount")
            .unwrap()
            .clone();
        let count = match buckets {
            Bson::Int32(count) => i64::from(count),
            Bson::Int64(count) => count,
            other => panic!("{other}"),
        };
        assert_eq!(count, if is_same { 1 } else { 2 }, "{length}");
        run(db, doc! { "drop": "s" }).await;
    }
}

async fn a_full_bucket_is_in_the_order_of_time(db: &Db) {
    create(db).await;
    let seconds = [30, 10, 20, 10];
    let documents = seconds
        .iter()
        .zip(1..)
        .map(|(seconds, id)| doc! { "_id": id, "t": at(*seconds) });
    insert(db, "s", documents.collect()).await;
    assert_eq!(in_order(db).await, [1, 2, 3, 4]);
    insert(db, "s", vec![doc! { "_id": 5, "t": at(7_200) }]).await;
    assert_eq!(in_order(db).await, [2, 4, 3, 1, 5]);
}

async fn buckets_stay_open_when_the_series_is_modified(db: &Db) {
    create(db).await;
    let first = doc! { "_id": 1, "t": at(0), "m": 1 };
    insert(db, "s", vec![first, doc! { "_id": 2, "t": at(0), "m": 2 }]).await;
    run(
        db,
        doc! { "collMod": "s", "timeseries": { "granularity": "hours" }, "expireAfterSeconds": 1_000_000_000 },
    )
    .await;
    insert(db, "s", vec![doc! { "_id": 3, "t": at(80_000), "m": 1 }]).await;
    assert_eq!(in_order(db).await, [1, 3, 2]);
}

async fn updates_of_a_series_are_refused_as_such_first(db: &Db) {
    create(db).await;
    let update =
        |q: Document, u: Document| doc! { "update": "s", "updates": [{ "q": q, "u": u, "multi": true }] };
    assert_eq!(code(db, update(doc! {}, doc! {})).await, 72);
    let onto_itself = || doc! { "$rename": { "m": "m.a" } };
    assert_eq!(code(db, update(doc! { "m": 1 }, onto_itself())).await, 2);
    run(db, doc! { "drop": "s" }).await;

    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    assert_eq!(code(db, update(doc! { "m": 1 }, onto_itself())).await, 72);
    let delete = |q: Document, limit: i32| doc! { "delete": "s", "deletes": [{ "q": q, "limit": limit }] };
    assert_eq!(code(db, delete(doc! { "m": 1 }, 1)).await, 72);
    assert_eq!(code(db, delete(doc! {}, 1)).await, 20);
}

async fn a_measurement_fits_three_times_into_a_document(db: &Db) {
    create(db).await;
    let large =
        |length: usize| doc! { "insert": "s", "documents": [of(1, 1, doc! { "v": "x".repeat(length) })] };
    assert_eq!(code(db, large(6_000_000)).await, 10_334);
    assert_eq!(code(db, large(5_500_000)).await, 0);
    assert_eq!(in_order(db).await, [1]);
}
