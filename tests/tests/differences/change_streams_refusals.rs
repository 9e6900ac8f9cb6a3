//! What is said of change streams by command that are none.

use odm::Db;
use odm::bson::{Bson, Document, Timestamp, doc};

use super::change_streams::{Told, add, next, open, stream};
use super::refusals::{check, check_in, uuid, with};
use odm_tests::command::run;

crate::on_every_backend! {
    what_is_wrong_is_told,
    what_no_stream_has_is_told,
    what_is_not_watched_is_told,
    it_stands_first_alone,
    it_is_not_in_a_transaction,
}

async fn what_is_wrong_is_told(db: &Db) {
    let token = open(db, doc! {}).await.token;
    let time = Timestamp {
        time: 1,
        increment: 1,
    };
    let kind = |name: &str, found: &str, wanted: &str| {
        format!("BSON field '$changeStream.{name}' is the wrong type '{found}', expected type '{wanted}'")
    };
    let word = |name: &str, word: &str| {
        format!("Enumeration value '{word}' for field '$changeStream.{name}' is not a valid value.")
    };
    let form =
        |found: &str| format!("$changeStream must take a nested object but found: $changeStream: {found}");
    let data = |found: &str| {
        format!("Bad resume token: _data of missing or of wrong type. Expected string, got {found}")
    };
    for (spec, found) in [
        (Bson::Int32(5), "5"),
        ("x".into(), "\"x\""),
        (Bson::Null, "null"),
        (Bson::Array(vec![]), "[]"),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": [{ "$changeStream": spec }], "cursor": {} };
        check(db, vec![(command, 6_188_500, &form(found))]).await;
    }
    let two = "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage";
    let several = "Only one type of resume option is allowed, but multiple were found";
    let cluster = "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection name; found DB.c";
    let unhex = "resume token string was not a valid hex string";
    for (spec, code, words) in [
        (
            doc! { "x": 1 },
            40415,
            "BSON field '$changeStream.x' is an unknown field.".to_owned(),
        ),
        (
            doc! { "": 1 },
            40415,
            "BSON field '$changeStream' is an unknown field.".to_owned(),
        ),
        (
            doc! { "fullDocument": 1 },
            14,
            kind("fullDocument", "int", "string"),
        ),
        (doc! { "fullDocument": "x" }, 2, word("fullDocument", "x")),
        (doc! { "fullDocument": "off" }, 2, word("fullDocument", "off")),
        (
            doc! { "fullDocumentBeforeChange": "updateLookup" },
            2,
            word("fullDocumentBeforeChange", "updateLookup"),
        ),
        (
            doc! { "fullDocumentBeforeChange": true },
            14,
            kind("fullDocumentBeforeChange", "bool", "string"),
        ),
        (
            doc! { "fullDocumentBeforeChange": "y", "fullDocument": "x" },
            2,
            word("fullDocumentBeforeChange", "y"),
        ),
        (
            doc! { "resumeAfter": 1 },
            14,
            kind("resumeAfter", "int", "object"),
        ),
        (
            doc! { "startAfter": "x" },
            14,
            kind("startAfter", "string", "object"),
        ),
        (
            doc! { "startAtOperationTime": 1 },
            14,
            kind("startAtOperationTime", "int", "timestamp"),
        ),
        (doc! { "resumeAfter": {} }, 40647, data("{}")),
        (doc! { "resumeAfter": { "_data": 5 } }, 40647, data("{_data: 5}")),
        (
            doc! { "startAfter": { "_data": Bson::Null, "x": "y" } },
            40647,
            data("{_data: null, x: \"y\"}"),
        ),
        (doc! { "resumeAfter": { "_data": "zz" } }, 9, unhex.to_owned()),
        (
            doc! { "resumeAfter": { "_data": "" } },
            40649,
            "invalid empty resume token".to_owned(),
        ),
        (
            doc! { "resumeAfter": { "_data": "82", "_typeBits": 5 } },
            40648,
            "Bad resume token: _typeBits of wrong type {_data: \"82\", _typeBits: 5}".to_owned(),
        ),
        (
            doc! { "resumeAfter": token.clone(), "startAfter": token.clone() },
            50865,
            two.to_owned(),
        ),
        (
            doc! { "resumeAfter": token.clone(), "startAfter": token.clone(), "startAtOperationTime": time },
            50865,
            two.to_owned(),
        ),
        (
            doc! { "resumeAfter": token.clone(), "startAtOperationTime": time },
            40674,
            several.to_owned(),
        ),
        (
            doc! { "startAfter": token.clone(), "startAtOperationTime": time },
            40674,
            several.to_owned(),
        ),
        (doc! { "allChangesForCluster": true }, 72, cluster.to_owned()),
        (
            doc! { "allChangesForCluster": true, "resumeAfter": { "_data": "zz" } },
            72,
            cluster.to_owned(),
        ),
        (
            doc! { "resumeAfter": { "_data": "zz" }, "fullDocument": "x" },
            2,
            word("fullDocument", "x"),
        ),
    ] {
        check(db, vec![(stream(spec, &[]), code, &words)]).await;
    }
    for name in [
        "allChangesForCluster",
        "showMigrationEvents",
        "showSystemEvents",
        "showExpandedEvents",
        "showRawUpdateDescription",
        "allowToRunOnConfigDB",
        "allowToRunOnSystemNS",
    ] {
        for (value, found) in [
            (Bson::Int32(1), "int"),
            (Bson::Null, "null"),
            ("x".into(), "string"),
        ] {
            let words = format!("Field '{name}' should be a boolean value, but found: {found}");
            check(db, vec![(stream(doc! { name: value }, &[]), 14, &words)]).await;
        }
        assert!(open(db, doc! { name: false }).await.events.is_empty());
    }
    for name in [
        "showMigrationEvents",
        "allowToRunOnConfigDB",
        "allowToRunOnSystemNS",
    ] {
        assert!(open(db, doc! { name: true }).await.events.is_empty());
    }
    for name in [
        "showExpandedEvents",
        "showRawUpdateDescription",
        "showSystemEvents",
    ] {
        let words = format!("The '{name}' parameter to $changeStream is not supported in API Version 1");
        let strict = doc! { "apiVersion": "1", "apiStrict": true };
        check(
            db,
            vec![(with(stream(doc! { name: false }, &[]), strict), 323, &words)],
        )
        .await;
        if db.backend_name() != "mongodb" {
            let refused = db
                .run_command(stream(doc! { name: true }, &[]))
                .await
                .unwrap_err();
            assert_eq!(refused.kind(), odm::ErrorKind::Unsupported);
            assert!(refused.message().contains(name), "{refused}");
        }
    }
}

async fn what_no_stream_has_is_told(db: &Db) {
    let refused = |name: &str| format!("{name} is not permitted in a $changeStream pipeline");
    let windows =
        |spec: Document| doc! { "$setWindowFields": with(spec, doc! { "output": { "x": { "$sum": 1 } } }) };
    let fill =
        |spec: Document| doc! { "$fill": with(spec, doc! { "output": { "x": { "method": "locf" } } }) };
    for (stage, name) in [
        (doc! { "$group": { "_id": 1 } }, "$group"),
        (doc! { "$count": "x" }, "$group"),
        (doc! { "$sortByCount": "$x" }, "$group"),
        (
            doc! { "$bucket": { "groupBy": "$x", "boundaries": [1, 2] } },
            "$group",
        ),
        (
            doc! { "$bucketAuto": { "groupBy": "$x", "buckets": 2 } },
            "$bucketAuto",
        ),
        (doc! { "$limit": 1 }, "$limit"),
        (doc! { "$skip": 1 }, "$skip"),
        (doc! { "$sort": { "x": 1 } }, "$sort"),
        (doc! { "$sample": { "size": 1 } }, "$sample"),
        (doc! { "$unwind": "$x" }, "$unwind"),
        (doc! { "$facet": { "a": [] } }, "$facet"),
        (
            doc! { "$lookup": { "from": "x", "as": "y", "pipeline": [] } },
            "$lookup",
        ),
        (doc! { "$unionWith": "x" }, "$unionWith"),
        (doc! { "$out": "x" }, "$out"),
        (doc! { "$merge": "x" }, "$merge"),
        (doc! { "$indexStats": {} }, "$indexStats"),
        (doc! { "$collStats": {} }, "$collStats"),
        (doc! { "$planCacheStats": {} }, "$planCacheStats"),
        (doc! { "$documents": [] }, "$documents"),
        (
            doc! { "$geoNear": { "near": [0, 0], "distanceField": "x" } },
            "$geoNear",
        ),
        (
            doc! { "$densify": { "field": "x", "range": { "step": 1, "bounds": "full" } } },
            "$sort",
        ),
        (windows(doc! {}), "$_internalSetWindowFields"),
        (windows(doc! { "sortBy": { "a": 1 } }), "$sort"),
        (windows(doc! { "partitionBy": "$a" }), "$sort"),
        (fill(doc! {}), "$_internalSetWindowFields"),
        (fill(doc! { "sortBy": { "a": 1 } }), "$sort"),
    ] {
        check(db, vec![(stream(doc! {}, &[stage]), 20, &refused(name))]).await;
    }
    let group = || doc! { "$group": { "_id": 1 } };
    let wrong = || doc! { "$match": 5 };
    let no_object = "the match filter must be an expression in an object";
    let unhex = "resume token string was not a valid hex string";
    let token = || doc! { "resumeAfter": { "_data": "zz" } };
    let rows = vec![
        (stream(doc! {}, &[group(), wrong()]), 15959, no_object),
        (stream(doc! {}, &[wrong(), group()]), 15959, no_object),
        (stream(token(), &[wrong()]), 9, unhex),
        (stream(token(), &[group()]), 9, unhex),
        (
            stream(doc! {}, &[doc! { "$x": 1 }]),
            40324,
            "Unrecognized pipeline stage name: '$x'",
        ),
        (
            stream(doc! {}, &[doc! { "$match": { "$text": { "$search": "x" } } }]),
            17313,
            "$match with $text is only allowed as the first pipeline stage",
        ),
        (
            stream(doc! {}, &[doc! { "$match": { "x": { "$near": [0, 0] } } }]),
            5_626_500,
            "$geoNear, $near, and $nearSphere are not allowed in this context",
        ),
        (
            stream(doc! {}, &[doc! { "$project": { "x": "$$y" } }]),
            17276,
            "Invalid $project :: caused by :: Use of undefined variable: y",
        ),
        (
            with(stream(doc! {}, &[]), doc! { "collectionUUID": uuid(7) }),
            4_928_900,
            "collectionUUID is not supported for a change stream",
        ),
    ];
    check(db, rows).await;
    for level in ["local", "available", "linearizable", "snapshot"] {
        let words = format!(
            "Command aggregate does not support {{ readConcern: {{ level: \"{level}\", provenance: \"clientSupplied\" }} }} \
             :: caused by :: Aggregation stage $changeStream cannot run with a readConcern other than 'majority'. Current \
             readConcern: {level}"
        );
        let concern = || doc! { "readConcern": { "level": level } };
        for (spec, rest) in [
            (doc! {}, vec![]),
            (doc! { "fullDocument": "x" }, vec![]),
            (doc! {}, vec![group()]),
        ] {
            check(db, vec![(with(stream(spec, &rest), concern()), 72, &words)]).await;
        }
    }
    for more in [
        doc! { "readConcern": { "level": "majority" } },
        doc! { "hint": { "x": 1 } },
        doc! { "allowDiskUse": true },
        doc! { "maxTimeMS": 10_000 },
        doc! { "bypassDocumentValidation": true },
        doc! { "comment": "x" },
    ] {
        assert!(
            Told::of(&run(db, with(stream(doc! {}, &[]), more)).await)
                .events
                .is_empty()
        );
    }
}

async fn what_is_not_watched_is_told(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let on = |name: &str, spec: Document| with(stream(spec, &[]), doc! { "aggregate": name });
    let view = "Namespace DB.v is a view, not a collection";
    let system = "$changeStream may not be opened on the internal DB.system.x collection";
    let word = "Enumeration value 'x' for field '$changeStream.fullDocument' is not a valid value.";
    let rows = vec![
        (on("v", doc! {}), 166, view),
        (on("v", doc! { "fullDocument": "x" }), 166, view),
        (on("v", doc! { "allChangesForCluster": true }), 166, view),
        (on("v", doc! { "resumeAfter": { "_data": "zz" } }), 166, view),
        (on("system.x", doc! {}), 73, system),
        (on("system.x", doc! { "fullDocument": "x" }), 2, word),
        (
            on("system.x", doc! { "resumeAfter": { "_data": "zz" } }),
            73,
            system,
        ),
        (on("", doc! {}), 73, "Invalid namespace specified 'DB.'"),
        (
            with(
                stream(doc! { "allChangesForCluster": true }, &[]),
                doc! { "aggregate": 1 },
            ),
            72,
            "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection name; found DB.$cmd.aggregate",
        ),
    ];
    check(db, rows).await;
    for name in ["admin", "config", "local"] {
        let other = db.database(name).unwrap();
        let words = format!("$changeStream may not be opened on the internal {name} database");
        let rows = vec![
            (on("x", doc! {}), 73, words.as_str()),
            (
                with(stream(doc! {}, &[doc! { "$match": 5 }]), doc! { "aggregate": 1 }),
                73,
                &words,
            ),
        ];
        check_in(&other, "none", rows).await;
    }
    // What does not exist yet is watched.
    let none = open(db, doc! {}).await;
    assert!(none.events.is_empty() && none.id != 0);
    add(db, 0..1).await;
    assert_eq!(next(db, none.id, doc! {}).await.ids(), [0]);
}

async fn it_stands_first_alone(db: &Db) {
    let pipeline = |stages: Vec<Document>| doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    let inner = || vec![doc! { "$changeStream": {} }];
    let first = "$_internalChangeStreamOplogMatch is only valid as the first stage in a pipeline";
    let rows = vec![
        (
            pipeline(vec![doc! { "$match": { "a": 1 } }, doc! { "$changeStream": {} }]),
            40602,
            first,
        ),
        (stream(doc! {}, &inner()), 40602, first),
        (
            pipeline(vec![doc! { "$match": {} }, doc! { "$changeStream": { "x": 1 } }]),
            40415,
            "BSON field '$changeStream.x' is an unknown field.",
        ),
        (
            pipeline(vec![doc! { "$match": {} }, doc! { "$changeStream": 5 }]),
            6_188_500,
            "$changeStream must take a nested object but found: $changeStream: 5",
        ),
        (
            pipeline(vec![doc! { "$facet": { "a": inner() } }]),
            40600,
            "$_internalChangeStreamOplogMatch is not allowed to be used within a $facet stage",
        ),
        (
            pipeline(vec![
                doc! { "$lookup": { "from": "c", "as": "x", "pipeline": inner() } },
            ]),
            51047,
            "$_internalChangeStreamOplogMatch is not allowed within a $lookup's sub-pipeline",
        ),
        (
            pipeline(vec![doc! { "$unionWith": { "coll": "c", "pipeline": inner() } }]),
            31441,
            "$_internalChangeStreamOplogMatch is not allowed within a $unionWith's sub-pipeline",
        ),
        (
            pipeline(vec![doc! { "$changeStream": {}, "x": 1 }]),
            40323,
            "A pipeline stage specification object must contain exactly one field.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": inner() },
            9,
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ),
    ];
    check(db, rows).await;
}

async fn it_is_not_in_a_transaction(db: &Db) {
    add(db, 0..1).await;
    let words = "Operation not permitted in transaction :: caused by :: Aggregation stage $changeStream cannot run within a multi-document transaction.";
    for (spec, rest) in [
        (doc! {}, vec![]),
        (doc! { "x": 1 }, vec![]),
        (doc! {}, vec![doc! { "$group": { "_id": 1 } }]),
    ] {
        let tx = db.begin().await.unwrap();
        let refused = tx.run_command(stream(spec, &rest)).await.unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Some(263), words));
    }
}
