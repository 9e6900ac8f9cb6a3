//! What was found to differ of time series: commands with many documents, indexes that are there, views of their names.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{batch, code, ids, insert, run};

use super::series::at;

crate::on_every_backend! {
    a_bucket_that_fails_ends_an_unordered_command,
    filters_of_indexes_have_no_collation,
    indexes_of_measurements_are_the_same_where_all_that_was_said_is,
    a_series_compares_as_the_views_of_its_name_do,
}

async fn create(db: &Db) {
    run(
        db,
        doc! { "create": "s", "timeseries": { "timeField": "t", "metaField": "m" } },
    )
    .await;
}

async fn index(db: &Db, key: Document, more: Document) -> i32 {
    let mut spec = doc! { "key": key, "name": "i" };
    spec.extend(more);
    code(db, doc! { "createIndexes": "s", "indexes": [spec] }).await
}

async fn a_bucket_that_fails_ends_an_unordered_command(db: &Db) {
    create(db).await;
    index(db, doc! { "v": 1 }, doc! {}).await;
    let of = |id: i32, source: &str, value: odm::bson::Bson| doc! { "_id": id, "t": at(0), "m": source, "v": value };
    let array = || odm::bson::bson!([1]);
    let documents = vec![
        of(0, "a", 1.into()),
        of(1, "b", 1.into()),
        of(2, "c", array()),
        of(3, "d", 1.into()),
        of(4, "b", 2.into()),
        of(5, "a", 2.into()),
    ];
    let insert = doc! { "insert": "s", "documents": documents, "ordered": false };
    let reply = run(db, insert).await;
    assert_eq!(reply.get_i32("n").unwrap(), 4);
    let errors = reply.get_array("writeErrors").unwrap();
    let errors: Vec<(i32, i32)> = errors
        .iter()
        .map(|error| error.as_document().unwrap())
        .map(|error| (error.get_i32("index").unwrap(), error.get_i32("code").unwrap()))
        .collect();
    assert_eq!(errors, [(2, 5_930_501), (3, 5_930_501)]);
    let found = batch(&run(db, doc! { "find": "s", "sort": { "_id": 1 } }).await);
    assert_eq!(ids(&found), [0, 1, 4, 5]);
}

async fn filters_of_indexes_have_no_collation(db: &Db) {
    create(db).await;
    let filter = || doc! { "partialFilterExpression": { "v": 1 } };
    let both = |collation: Document| {
        let mut both = filter();
        both.insert("collation", collation);
        both
    };
    for key in [doc! { "v": 1 }, doc! { "m": 1 }] {
        for collation in [doc! { "locale": "en" }, doc! { "locale": "simple" }, doc! {}] {
            assert_eq!(index(db, key.clone(), both(collation)).await, 85);
        }
        assert_eq!(index(db, key, doc! { "partialFilterExpression": 1 }).await, 10065);
    }
    // What is written first is refused first.
    let mut unique = doc! { "unique": true };
    unique.extend(both(doc! { "locale": "en" }));
    assert_eq!(index(db, doc! { "v": 1 }, unique).await, 72);
    let mut last = both(doc! { "locale": "en" });
    last.insert("unique", true);
    assert_eq!(index(db, doc! { "v": 1 }, last).await, 85);
}

async fn indexes_of_measurements_are_the_same_where_all_that_was_said_is(db: &Db) {
    create(db).await;
    let options = [
        doc! { "hidden": true },
        doc! { "hidden": false },
        doc! { "background": true },
        doc! { "unique": false },
    ];
    for key in [
        doc! { "v": 1 },
        doc! { "m": 1, "v": 1 },
        doc! { "m": 1 },
        doc! { "t": 1 },
    ] {
        let is_measured = key.contains_key("v");
        for option in &options {
            run(db, doc! { "dropIndexes": "s", "index": "*" }).await;
            assert_eq!(index(db, key.clone(), option.clone()).await, 0);
            assert_eq!(index(db, key.clone(), option.clone()).await, 0);
            let expected = if is_measured { 85 } else { 0 };
            assert_eq!(index(db, key.clone(), doc! {}).await, expected, "{key} {option}");
            let listed = batch(&run(db, doc! { "listIndexes": "s" }).await);
            let own = listed
                .iter()
                .find(|index| index.get_str("name").is_ok_and(|name| name == "i"))
                .unwrap();
            for (name, value) in option {
                let is_kept = is_measured || value.as_bool() == Some(true);
                assert_eq!(own.get(name), is_kept.then_some(value), "{key} {option}");
            }
        }
    }
}

async fn a_series_compares_as_the_views_of_its_name_do(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let stages = [
        ("s", vec![]),
        ("c", vec![doc! { "$unionWith": "s" }]),
        (
            "c",
            vec![doc! { "$lookup": { "from": "s", "as": "x", "pipeline": [] } }],
        ),
    ];
    for (on, pipeline) in stages {
        let view =
            doc! { "create": "v", "viewOn": on, "pipeline": pipeline, "collation": { "locale": "fr" } };
        run(db, view).await;
        let series = |collation: Option<&str>| {
            let mut series = doc! { "create": "s", "timeseries": { "timeField": "t" } };
            series.extend(collation.map(|locale| ("collation".to_owned(), doc! { "locale": locale }.into())));
            series
        };
        for other in [None, Some("en")] {
            assert_eq!(code(db, series(other)).await, 167);
            // MongoDB leaves buckets behind.
            code(db, doc! { "drop": "system.buckets.s" }).await;
        }
        assert_eq!(code(db, series(Some("fr"))).await, 0);
        run(db, doc! { "drop": "s" }).await;
        run(db, doc! { "drop": "v" }).await;
    }
}
