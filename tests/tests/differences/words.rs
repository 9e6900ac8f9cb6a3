//! What small answers, explanations and refusals were found to say otherwise.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{code, figure, index, insert, run};

crate::on_every_backend! {
    explanations_count_what_the_server_counts,
    renamed_collections_that_do_not_exist_are_named_by_what_is_missing,
    copies_do_not_take_the_place_of_views,
    changes_of_collections_name_what_does_not_fit,
    views_are_named_before_options_of_their_indexes,
    databases_that_do_not_exist_have_whole_zeros,
}

async fn refused(db: &Db, command: Document) -> (i32, String) {
    let error = db.run_command(command).await.unwrap_err();
    (
        error.code().unwrap_or(-1),
        error.message().replace(db.name(), "DB"),
    )
}

async fn explanations_count_what_the_server_counts(db: &Db) {
    let documents: Vec<Document> = (0..9).map(|id| doc! { "_id": id, "a": id % 3 }).collect();
    insert(db, "c", documents.clone()).await;
    index(db, "c", doc! { "a": 1 }).await;
    let clustered = doc! { "key": { "_id": 1 }, "unique": true };
    run(db, doc! { "create": "k", "clusteredIndex": clustered }).await;
    insert(db, "k", documents).await;
    let set = || doc! { "$set": { "b": 1 } };
    for (command, expected) in [
        // Returned, keys, documents; keys of a count are the server's own.
        (doc! { "count": "c", "query": { "a": 1 } }, (0, None, 0)),
        (doc! { "count": "c", "query": { "b": 1 } }, (0, Some(0), 9)),
        (
            doc! { "update": "c", "updates": [{ "q": { "a": 1 }, "u": set(), "multi": true }] },
            (0, Some(3), 3),
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": { "a": 1 }, "limit": 0 }] },
            (0, Some(3), 3),
        ),
        (
            doc! { "findAndModify": "c", "query": { "a": 1 }, "update": set() },
            (1, Some(1), 1),
        ),
        (doc! { "find": "k", "filter": { "a": 1 } }, (3, Some(0), 9)),
        (doc! { "count": "k", "query": { "a": 1 } }, (0, Some(0), 9)),
    ] {
        let explain = doc! { "explain": command.clone(), "verbosity": "executionStats" };
        let reply = run(db, explain).await;
        let figures = reply.get_document("executionStats").unwrap();
        let (returned, keys, documents) = expected;
        assert_eq!(figure(figures, "nReturned"), returned, "{command}");
        assert_eq!(figure(figures, "totalDocsExamined"), documents, "{command}");
        if let Some(keys) = keys {
            assert_eq!(figure(figures, "totalKeysExamined"), keys, "{command}");
        }
    }
}

async fn renamed_collections_that_do_not_exist_are_named_by_what_is_missing(db: &Db) {
    let admin = db.database("admin").unwrap();
    let rename = |from: &str, to: &str| {
        let name = db.name();
        doc! { "renameCollection": format!("{name}{from}"), "to": format!("{name}{to}") }
    };
    let message = async |command: Document| {
        let error = admin.run_command(command).await.unwrap_err();
        assert_eq!(error.code(), Some(26));
        error.message().replace(db.name(), "DB")
    };
    assert_eq!(
        message(rename("_no.a", "_no.b")).await,
        "Database DB_no does not exist or is drop pending"
    );
    assert_eq!(
        message(rename("_no.a", ".b")).await,
        "source namespace does not exist"
    );
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    assert_eq!(
        message(rename(".a", ".b")).await,
        "Source collection DB.a does not exist"
    );
}

async fn copies_do_not_take_the_place_of_views(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    for (to, what) in [("v", "view"), ("s", "timeseries collection")] {
        let clone = doc! { "cloneCollectionAsCapped": "c", "toCollection": to, "size": 4096 };
        let expected = format!("A {what} already exists. NS: DB.{to}");
        assert_eq!(refused(db, clone).await, (48, expected));
    }
}

async fn changes_of_collections_name_what_does_not_fit(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    run(
        db,
        doc! { "create": "s", "timeseries": { "timeField": "t", "metaField": "m" } },
    )
    .await;
    let of_view = |name: &str| (72, format!("option only supported on a view: {name}"));
    let of_series = (
        72,
        "option only supported on a time-series collection: isTimeseriesNamespace".to_owned(),
    );
    let change = async |command: Document| refused(db, command).await;
    assert_eq!(
        change(doc! { "collMod": "c", "viewOn": "d", "pipeline": [] }).await,
        of_view("pipeline")
    );
    assert_eq!(
        change(doc! { "collMod": "c", "viewOn": "d" }).await,
        of_view("viewOn")
    );
    for of in ["c", "v"] {
        let granularity = doc! { "collMod": of, "timeseries": { "granularity": "hours" } };
        assert_eq!(change(granularity).await, of_series);
    }
    for (keys, shown) in [
        (doc! { "m": 1 }, "{ meta: 1 }"),
        (doc! { "m": "hashed" }, "{ meta: \"hashed\" }"),
        (doc! { "x": 1 }, "{ control.min.x: 1, control.max.x: 1 }"),
        (
            doc! { "m.a": 1, "t": -1 },
            "{ meta.a: 1, control.max.t: -1, control.min.t: -1 }",
        ),
    ] {
        let hide = doc! { "collMod": "s", "index": { "keyPattern": keys, "hidden": true } };
        let expected = format!("cannot find index {shown} for ns DB.system.buckets.s");
        assert_eq!(change(hide).await, (27, expected));
    }
}

async fn views_are_named_before_options_of_their_indexes(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    for (key, options, expected) in [
        (doc! { "a": 1 }, doc! {}, 166),
        (
            doc! { "a": 1 },
            doc! { "sparse": true, "partialFilterExpression": { "a": 1 } },
            166,
        ),
        (doc! { "a": "hashed" }, doc! { "unique": true }, 166),
        (doc! { "$**": 1 }, doc! { "unique": true }, 166),
        (doc! { "a": 1 }, doc! { "expireAfterSeconds": -1 }, 166),
        (doc! { "a": 1 }, doc! { "collation": { "locale": "zz" } }, 166),
        (doc! { "a": 1 }, doc! { "sparse": "x" }, 14),
        (
            doc! { "a": 1 },
            doc! { "unique": true, "prepareUnique": true },
            67,
        ),
        (
            doc! { "a": 1 },
            doc! { "v": 1, "collation": { "locale": "en" } },
            67,
        ),
    ] {
        let mut index = doc! { "key": key, "name": "a" };
        index.extend(options);
        let create = doc! { "createIndexes": "v", "indexes": [index.clone()] };
        assert_eq!(code(db, create).await, expected, "{index}");
    }
}

async fn databases_that_do_not_exist_have_whole_zeros(db: &Db) {
    let other = db.database(&format!("{}_no", db.name())).unwrap();
    let mut found = run(&other, doc! { "dbStats": 1, "scale": 1024 }).await;
    for name in ["ok", "db", "operationTime", "$clusterTime"] {
        found.remove(name);
    }
    assert_eq!(found.remove("scaleFactor"), Some(Bson::Int32(1024)));
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = "collections views objects avgObjSize dataSize storageSize indexes indexSize totalSize fsUsedSize \
                    fsTotalSize";
    assert_eq!(names.join(" "), expected);
    assert!(found.values().all(|figure| *figure == Bson::Int32(0)));
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let size = run(db, doc! { "dataSize": format!("{}.system.views", db.name()) }).await;
    assert_eq!(size.get_i32("numObjects").unwrap(), 1);
}
