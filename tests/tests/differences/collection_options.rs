//! What defines collections, and what changes them: rules that were found to be others.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, ids, insert, run};

use super::refusals::{answer, check, indexed, uuid, with};

crate::on_every_backend! {
    documents_are_recorded_only_while_that_is_said,
    encrypted_collections_refuse_what_does_not_match,
    encrypted_fields_have_one_kind_of_query,
    a_dry_run_is_of_one_change,
    collections_of_the_server_have_no_validators,
}

async fn options(db: &Db, name: &str) -> Document {
    let list = doc! { "listCollections": 1, "filter": { "name": name } };
    let found = batch(&run(db, list).await);
    found[0].get_document("options").unwrap().clone()
}

async fn documents_are_recorded_only_while_that_is_said(db: &Db) {
    for change in [
        doc! {},
        doc! { "recordPreImages": null },
        doc! { "recordPreImages": false },
        doc! { "validationLevel": "strict" },
    ] {
        run(db, doc! { "create": "c", "recordPreImages": true }).await;
        run(db, with(doc! { "collMod": "c" }, change.clone())).await;
        assert!(
            options(db, "c").await.get("recordPreImages").is_none(),
            "{change}"
        );
        run(db, doc! { "drop": "c" }).await;
    }
    // Nothing is changed by a run that only looks.
    run(db, doc! { "create": "c", "recordPreImages": true }).await;
    let spec = doc! { "key": { "a": 1 }, "name": "x", "prepareUnique": true };
    run(db, indexed("c", spec)).await;
    let dry = doc! { "collMod": "c", "dryRun": true, "index": { "name": "x", "unique": true } };
    run(db, dry).await;
    assert!(options(db, "c").await.get("recordPreImages").is_some());
}

async fn encrypted_collections_refuse_what_does_not_match(db: &Db) {
    const LEVEL: &str = "Validation levels other than 'strict' are not allowed on encrypted collections";
    const ACTION: &str = "Validation action of 'warn' is not allowed on encrypted collections";
    let create = |more: Document| with(doc! { "create": "e", "encryptedFields": { "fields": [] } }, more);
    check(
        db,
        vec![
            (create(doc! { "validationAction": "warn" }), 2, ACTION),
            (create(doc! { "validationLevel": "off" }), 2, LEVEL),
            (create(doc! { "validationLevel": "moderate" }), 2, LEVEL),
            (
                create(doc! { "validationAction": "warn", "validationLevel": "off" }),
                2,
                LEVEL,
            ),
            (
                create(doc! { "validationAction": "error", "validationLevel": "strict" }),
                0,
                "",
            ),
            (
                create(doc! { "validationLevel": "off" }),
                48,
                "Collection DB.e already exists.",
            ),
        ],
    )
    .await;
    let action = format!("Failed to set validationAction :: caused by :: {ACTION}");
    let level = format!("Failed to set validationLevel :: caused by :: {LEVEL}");
    let change = |more: Document| with(doc! { "collMod": "e" }, more);
    check(
        db,
        vec![
            (change(doc! { "validationAction": "warn" }), 2, action.as_str()),
            (change(doc! { "validationLevel": "off" }), 2, level.as_str()),
            (change(doc! { "validationLevel": "moderate" }), 2, level.as_str()),
            (
                change(doc! { "validationLevel": "off", "validationAction": "warn" }),
                2,
                action.as_str(),
            ),
            (
                change(doc! { "validationAction": "warn", "cappedSize": 100 }),
                72,
                "Collection must be capped.",
            ),
            (change(doc! { "validationLevel": "strict" }), 0, ""),
        ],
    )
    .await;
}

async fn encrypted_fields_have_one_kind_of_query(db: &Db) {
    const NAME: &str = "create.encryptedFields.fields";
    const ONE: &str = "Only 1 equality queryType can be specified per field";
    const NUMBERS: &str = "expected types '[long, int, decimal, double']";
    let equality = || doc! { "queryType": "equality" };
    let crowded = |contention: Bson| Bson::Document(with(equality(), doc! { "contention": contention }));
    let rows: Vec<(Bson, i32, String)> = vec![
        (bson!([]), 6_338_404, ONE.to_owned()),
        (bson!([equality(), equality()]), 6_338_404, ONE.to_owned()),
        (
            crowded(Bson::Int32(-1)),
            51_024,
            "BSON field 'contention' value must be >= 0, actual value '-1'".to_owned(),
        ),
        (
            crowded(Bson::Double(-1.5)),
            9,
            "Expected an integer: contention: -1.5".to_owned(),
        ),
        (
            crowded(Bson::from("x")),
            14,
            format!("BSON field '{NAME}.contention' is the wrong type 'string', {NUMBERS}"),
        ),
        (
            bson!([crowded(Bson::from("x"))]),
            14,
            format!("BSON field '{NAME}.queries.contention' is the wrong type 'string', {NUMBERS}"),
        ),
        (
            bson!([1]),
            14,
            format!("BSON field '{NAME}.queries' is the wrong type 'array', expected types '[object']"),
        ),
        (
            bson!([equality(), 1]),
            14,
            format!("BSON field '{NAME}.queries.1' is the wrong type 'int', expected type 'object'"),
        ),
        (
            bson!([{}]),
            40_414,
            format!("BSON field '{NAME}.queries.queryType' is missing but a required field"),
        ),
        (
            bson!({ "queryType": null }),
            40_414,
            format!("BSON field '{NAME}.queryType' is missing but a required field"),
        ),
        (
            bson!({ "x": 1 }),
            40_415,
            format!("BSON field '{NAME}.x' is an unknown field."),
        ),
    ];
    let create = |field: Document| doc! { "create": "e", "encryptedFields": { "fields": [field] } };
    for (queries, code, words) in rows {
        let field = doc! { "path": "a", "keyId": uuid(1), "bsonType": "string", "queries": queries };
        check(db, vec![(create(field), code, words.as_str())]).await;
    }
    let field = |more: Document| with(doc! { "path": "a", "keyId": uuid(1) }, more);
    let capped = with(
        create(field(doc! { "queries": equality() })),
        doc! { "capped": true, "size": 100 },
    );
    check(
        db,
        vec![
            (create(field(doc! { "queries": [] })), 6_338_404, ONE),
            (
                create(field(doc! { "bsonType": null, "queries": equality() })),
                6_412_601,
                "Bson type needs to be specified for equality indexed field",
            ),
            (
                create(doc! { "path": "a", "keyId": null }),
                40_414,
                "BSON field 'create.encryptedFields.fields.keyId' is missing but a required field",
            ),
            (
                capped,
                6_367_301,
                "Encrypted fields cannot be used with capped collections",
            ),
            (create(field(doc! { "bsonType": null })), 0, ""),
        ],
    )
    .await;
    let kept = options(db, "e").await;
    let kept = kept.get_document("encryptedFields").unwrap();
    let fields = kept.get_array("fields").unwrap();
    assert_eq!(
        fields[0].as_document().unwrap(),
        &doc! { "keyId": uuid(1), "path": "a" }
    );
}

async fn a_dry_run_is_of_one_change(db: &Db) {
    const ALONE: &str = "unique: true cannot be combined with any other modification in dry run mode.";
    let specs = vec![
        doc! { "key": { "a": 1 }, "name": "x", "prepareUnique": true },
        doc! { "key": { "b": 1 }, "name": "y" },
        doc! { "key": { "u": 1 }, "name": "u", "unique": true },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": specs }).await;
    // Keys that are there twice are told of later.
    insert(db, "c", vec![doc! { "u": 1, "a": 1 }, doc! { "u": 2, "a": 2 }]).await;
    let dry = |name: &str, index: Document, more: Document| {
        let index = with(doc! { "name": name, "unique": true }, index);
        with(doc! { "collMod": "c", "dryRun": true, "index": index }, more)
    };
    check(
        db,
        vec![
            (dry("x", doc! {}, doc! {}), 0, ""),
            (dry("x", doc! { "hidden": true }, doc! {}), 72, ALONE),
            (dry("x", doc! { "hidden": false }, doc! {}), 72, ALONE),
            (dry("x", doc! { "expireAfterSeconds": 5 }, doc! {}), 72, ALONE),
            (dry("x", doc! { "prepareUnique": true }, doc! {}), 72, ALONE),
            (dry("u", doc! { "hidden": true }, doc! {}), 72, ALONE),
            (dry("x", doc! {}, doc! { "validator": {} }), 72, ALONE),
            (dry("x", doc! {}, doc! { "validationLevel": "strict" }), 72, ALONE),
            (dry("x", doc! {}, doc! { "recordPreImages": false }), 72, ALONE),
            (
                dry("x", doc! {}, doc! { "cappedSize": 100 }),
                72,
                "Collection must be capped.",
            ),
            (
                dry("y", doc! { "hidden": true }, doc! {}),
                72,
                "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.",
            ),
        ],
    )
    .await;
    run(db, doc! { "create": "k", "capped": true, "size": 10_240 }).await;
    let spec = doc! { "key": { "a": 1 }, "name": "x", "prepareUnique": true };
    run(db, indexed("k", spec)).await;
    let dry = doc! {
        "collMod": "k", "dryRun": true, "cappedSize": 20_480, "index": { "name": "x", "unique": true },
    };
    run(db, dry).await;
    let size = options(db, "k").await.get("size").cloned();
    assert!(matches!(size, Some(Bson::Int32(10_240) | Bson::Int64(10_240))));
}

async fn collections_of_the_server_have_no_validators(db: &Db) {
    const RESERVED: &str = "View name cannot start with 'system.', which is reserved for system namespaces";
    let begins = format!(
        "Document validators not allowed on system collection {}.system.profile with UUID ",
        db.name()
    );
    let is_refused = async |command: Document| {
        let (code, words) = answer(db, command, "no").await;
        assert_eq!(code, 72);
        assert!(words.starts_with(&begins), "{words}");
    };
    is_refused(doc! { "create": "system.profile", "validator": { "a": 1 } }).await;
    run(db, doc! { "create": "system.profile", "validator": {} }).await;
    is_refused(doc! { "collMod": "system.profile", "validator": { "a": 1 } }).await;
    let series = format!(
        "Failed to create view on DB.system.buckets.system.js for time-series collection DB.system.js with options \
         {{ viewOn: \"system.buckets.system.js\", pipeline: [ {{ $_internalUnpackBucket: {{ timeField: \"t\", \
         metaField: \"m\", bucketMaxSpanSeconds: 3600 }} }} ] }} :: caused by :: {RESERVED}"
    );
    check(
        db,
        vec![
            (
                doc! { "collMod": "system.profile", "validationLevel": "off" },
                0,
                "",
            ),
            (doc! { "create": "system.profile", "viewOn": "c" }, 73, RESERVED),
            (
                doc! { "create": "system.js", "viewOn": "c", "pipeline": [{ "$x": 1 }] },
                73,
                RESERVED,
            ),
            (
                doc! { "create": "system.js", "timeseries": { "timeField": "t", "metaField": "m" } },
                73,
                series.as_str(),
            ),
            (doc! { "create": "v", "viewOn": "c" }, 0, ""),
            (
                doc! { "create": "system.views", "viewOn": "c" },
                73,
                "Cannot create a view called 'system.views': this is a reserved system namespace",
            ),
        ],
    )
    .await;
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    assert_eq!(ids(&batch(&run(db, doc! { "find": "v" }).await)), [1]);
}
