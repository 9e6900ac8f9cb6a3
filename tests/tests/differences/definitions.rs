//! What defines collections and indexes, and what is asked of a server: rules that were found to be others.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, bson, doc};
use odm_tests::command::{batch, ids, insert, run};

crate::on_every_backend! {
    a_list_that_begins_with_a_star_is_all_indexes,
    wildcards_may_take_a_part_of_an_id,
    documents_are_recorded_only_while_that_is_said,
    indexes_of_version_1_have_no_collation_of_their_collection,
    encrypted_collections_refuse_what_does_not_match,
    encrypted_fields_have_one_kind_of_query,
    a_dry_run_is_of_one_change,
    plans_of_a_series_are_not_shown,
    nothing_has_an_impossible_name,
    names_change_between_databases_without_a_uuid,
    greetings_are_read,
    listings_take_bools_alone,
    levels_of_cells_are_like_bools,
    a_wildcard_is_refused_where_its_key_is_met,
    refused_conditions_are_shown_as_written,
    validations_are_told_in_the_order_of_names,
    collections_of_the_server_have_no_validators,
    versions_of_the_interface_are_named_in_refusals,
    commands_are_told_by_their_own_names,
}

/// The code and the words of a refusal; 0 and none when there is none.
async fn answer(db: &Db, command: Document, name: &str) -> (i32, String) {
    match db.run_command(command).await {
        Ok(_) => (0, String::new()),
        Err(error) => (
            error.code().unwrap_or(-1),
            error.message().replace(&format!("{name}."), "DB."),
        ),
    }
}

async fn check(db: &Db, rows: Vec<(Document, i32, &str)>) {
    for (command, code, words) in rows {
        let expected = (code, words.to_owned());
        assert_eq!(
            answer(db, command.clone(), db.name()).await,
            expected,
            "{command}"
        );
    }
}

/// The same of commands that are for the database `admin`.
async fn check_for_admin(db: &Db, rows: Vec<(Document, i32, &str)>) {
    let admin = db.database("admin").unwrap();
    for (command, code, words) in rows {
        let expected = (code, words.to_owned());
        assert_eq!(
            answer(&admin, command.clone(), db.name()).await,
            expected,
            "{command}"
        );
    }
}

fn uuid(byte: u8) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![byte; 16],
    })
}

fn with(mut command: Document, more: Document) -> Document {
    command.extend(more);
    command
}

fn indexed(name: &str, spec: Document) -> Document {
    doc! { "createIndexes": name, "indexes": [spec] }
}

async fn index_names(db: &Db, name: &str) -> Vec<String> {
    let listed = batch(&run(db, doc! { "listIndexes": name }).await);
    let names = listed
        .iter()
        .map(|index| index.get_str("name").unwrap().to_owned());
    names.collect()
}

async fn options(db: &Db, name: &str) -> Document {
    let list = doc! { "listCollections": 1, "filter": { "name": name } };
    let found = batch(&run(db, list).await);
    found[0].get_document("options").unwrap().clone()
}

async fn a_list_that_begins_with_a_star_is_all_indexes(db: &Db) {
    let specs = vec![
        doc! { "key": { "a": 1 }, "name": "a" },
        doc! { "key": { "b": 1 }, "name": "b" },
    ];
    let create = || doc! { "createIndexes": "c", "indexes": specs.clone() };
    for list in [bson!(["*", "x"]), bson!(["*", "*"]), bson!(["*", "_id_"])] {
        run(db, create()).await;
        let reply = run(db, doc! { "dropIndexes": "c", "index": list.clone() }).await;
        assert_eq!(
            reply.get_str("msg").unwrap(),
            "non-_id indexes dropped for collection",
            "{list}"
        );
        assert_eq!(index_names(db, "c").await, ["_id_"], "{list}");
    }
    run(db, create()).await;
    for (list, missing) in [(bson!(["x", "*"]), "x"), (bson!(["a", "*"]), "*")] {
        let words = format!("index not found with name [{missing}]");
        let drop = doc! { "dropIndexes": "c", "index": list };
        check(db, vec![(drop, 27, words.as_str())]).await;
        assert_eq!(index_names(db, "c").await, ["_id_", "a", "b"]);
    }
}

async fn wildcards_may_take_a_part_of_an_id(db: &Db) {
    // Whether the index leads to documents by `_id.x`, by `_id.y`, and by `a`.
    for (projection, by_x, by_y, by_a) in [
        (doc! { "_id.x": 1 }, true, false, false),
        (doc! { "_id.x": 0 }, false, true, true),
        (doc! { "_id": { "x": 0 } }, false, true, true),
        (doc! { "_id.x": 1, "a": 1 }, true, false, true),
        (doc! { "_id.x": 0, "a": 0 }, false, true, false),
        (doc! { "_id.x": 1, "_id.y": 1 }, true, true, false),
    ] {
        let spec = doc! { "key": { "$**": 1 }, "name": "x", "wildcardProjection": projection.clone() };
        run(db, indexed("w", spec)).await;
        insert(db, "w", vec![doc! { "_id": { "x": 1, "y": 2 }, "a": 1 }]).await;
        for (filter, is_found) in [
            (doc! { "_id.x": 1 }, by_x),
            (doc! { "_id.y": 2 }, by_y),
            (doc! { "a": 1 }, by_a),
        ] {
            let find = doc! { "find": "w", "filter": filter.clone(), "hint": "x" };
            match is_found {
                true => assert_eq!(batch(&run(db, find).await).len(), 1, "{projection} {filter}"),
                false => assert_eq!(answer(db, find, db.name()).await.0, 291, "{projection} {filter}"),
            }
        }
        run(db, doc! { "drop": "w" }).await;
    }
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

async fn indexes_of_version_1_have_no_collation_of_their_collection(db: &Db) {
    run(db, doc! { "create": "c", "collation": { "locale": "en" } }).await;
    for spec in [
        doc! { "key": { "a": 1 }, "name": "a", "v": 1, "unique": true },
        doc! { "v": 1, "key": { "t": "text" }, "name": "t" },
        doc! { "key": { "p": "2d" }, "name": "p", "v": 1 },
    ] {
        run(db, indexed("c", spec)).await;
    }
    let listed = batch(&run(db, doc! { "listIndexes": "c" }).await);
    assert_eq!(listed.len(), 4);
    for index in &listed[1..] {
        assert!(index.get("collation").is_none(), "{index}");
    }
    let documents = vec![doc! { "_id": 1, "a": "x" }, doc! { "_id": 2, "a": "x" }];
    let reply = run(db, doc! { "insert": "c", "documents": documents }).await;
    let errors = reply.get_array("writeErrors").unwrap();
    let error = errors[0].as_document().unwrap();
    assert_eq!(error.get_document("keyValue").unwrap(), &doc! { "a": "x" });
    let (code, words) = answer(
        db,
        indexed("c", doc! { "key": { "_id": 1 }, "name": "y", "v": 1 }),
        db.name(),
    )
    .await;
    assert_eq!(code, 2);
    let begins = "The _id index must have the same collation as the collection. Index collation: { locale: \"simple\" }";
    assert!(words.starts_with(begins), "{words}");
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

async fn plans_of_a_series_are_not_shown(db: &Db) {
    const FIRST: &str = "$planCacheStats is only valid as the first stage in a pipeline";
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    run(db, doc! { "create": "v", "viewOn": "s", "pipeline": [] }).await;
    let plans = |name: &str, value: Document| {
        doc! { "aggregate": name, "pipeline": [{ "$planCacheStats": value }], "cursor": {} }
    };
    check(
        db,
        vec![
            (plans("s", doc! {}), 40_602, FIRST),
            (plans("v", doc! {}), 40_602, FIRST),
            (
                plans("s", doc! { "x": 1 }),
                9,
                "$planCacheStats parameters object must be empty. Found: object",
            ),
        ],
    )
    .await;
}

async fn nothing_has_an_impossible_name(db: &Db) {
    let long = "x".repeat(255);
    for name in ["$x", "a$b", ".x", &long] {
        let whole = format!("{}.{name}", db.name());
        let reply = run(db, doc! { "dataSize": &whole }).await;
        assert_eq!(reply.get_i32("size").unwrap(), 0, "{name}");
        let bounded = doc! { "dataSize": &whole, "min": { "a": 1 } };
        check(db, vec![(bounded, 2, "max must be set if min is set")]).await;
    }
    let whole = |name: &str| format!("{}.{name}", db.name());
    let too_long = |which: &str| {
        format!(
            "error with {which} namespace: Fully qualified namespace is too long. Namespace: DB.{long} Max: 255"
        )
    };
    check_for_admin(
        db,
        vec![
            (
                doc! { "renameCollection": whole(&long), "to": whole("c") },
                20,
                too_long("source").as_str(),
            ),
            (
                doc! { "renameCollection": whole("c"), "to": whole(&long) },
                20,
                too_long("target").as_str(),
            ),
        ],
    )
    .await;
}

async fn names_change_between_databases_without_a_uuid(db: &Db) {
    const BETWEEN: &str = "Cannot provide an expected collection UUID when renaming between databases";
    const BUCKETS: &str = "Renaming system.buckets collections is not allowed";
    run(db, doc! { "create": "c" }).await;
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    let own = |name: &str| format!("{}.{name}", db.name());
    let other = format!("{}_b.c", db.name());
    let rename =
        |from: String, to: &str, more: Document| with(doc! { "renameCollection": from, "to": to }, more);
    let expected = || doc! { "collectionUUID": uuid(1) };
    check_for_admin(
        db,
        vec![
            (rename(own("c"), &other, expected()), 72, BETWEEN),
            (
                rename(own("c"), &other, doc! { "dropTarget": uuid(1) }),
                72,
                BETWEEN,
            ),
            (rename(own("no"), &other, expected()), 72, BETWEEN),
            (
                rename(own("c"), &own("c"), expected()),
                20,
                "Can't rename a collection to itself",
            ),
            (
                rename(own("system.buckets.s"), &own("x"), expected()),
                20,
                BUCKETS,
            ),
            (rename(own("system.buckets.no"), &own("x"), doc! {}), 20, BUCKETS),
            (
                rename(own("c"), &own("d"), expected()),
                361,
                "Collection UUID does not match that specified",
            ),
        ],
    )
    .await;
    // Nobody looks at that of a time series.
    check(
        db,
        vec![
            (with(doc! { "collMod": "s" }, expected()), 0, ""),
            (
                with(doc! { "collMod": "c" }, expected()),
                361,
                "Collection UUID does not match that specified",
            ),
        ],
    )
    .await;
}

async fn greetings_are_read(db: &Db) {
    let hello = |more: Document| with(doc! { "hello": 1 }, more);
    let version = |version: Document| doc! { "topologyVersion": version };
    let id = || odm::bson::oid::ObjectId::from_bytes([1; 12]);
    check(
        db,
        vec![
            (hello(doc! { "helloOk": true, "other": 1 }), 0, ""),
            (
                hello(doc! { "helloOk": "x" }),
                14,
                "BSON field 'hello.helloOk' is the wrong type 'string', expected types '[bool, long, int, decimal, double']",
            ),
            (
                hello(version(doc! {})),
                40_414,
                "BSON field 'hello.topologyVersion.processId' is missing but a required field",
            ),
            (
                hello(version(doc! { "processId": id() })),
                40_414,
                "BSON field 'hello.topologyVersion.counter' is missing but a required field",
            ),
            (
                hello(version(doc! { "processId": 1, "counter": 1_i64 })),
                14,
                "BSON field 'hello.topologyVersion.processId' is the wrong type 'int', expected type 'objectId'",
            ),
            (
                hello(version(doc! { "processId": id(), "counter": 1 })),
                14,
                "BSON field 'hello.topologyVersion.counter' is the wrong type 'int', expected type 'long'",
            ),
            (
                hello(version(doc! { "processId": id(), "counter": 1_i64 })),
                31_368,
                "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'",
            ),
            (
                hello(doc! { "maxAwaitTimeMS": 10 }),
                31_368,
                "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'",
            ),
            (
                hello(doc! { "maxAwaitTimeMS": -1 }),
                51_024,
                "BSON field 'maxAwaitTimeMS' value must be >= 0, actual value '-1'",
            ),
            (
                hello(doc! { "hostInfo": 1 }),
                14,
                "BSON field 'hello.hostInfo' is the wrong type 'int', expected type 'string'",
            ),
            (
                hello(doc! { "speculativeAuthenticate": {} }),
                2,
                "hello.speculativeAuthenticate must be a non-empty Object",
            ),
        ],
    )
    .await;
    let reply = run(db, hello(doc! { "helloOk": true })).await;
    assert!(reply.get_bool("helloOk").unwrap());
}

async fn listings_take_bools_alone(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    let own = |name: &str| format!("{}.{name}", db.name());
    check_for_admin(
        db,
        vec![
            (
                doc! { "listDatabases": 1, "nameOnly": true, "authorizedDatabases": 0 },
                14,
                "BSON field 'listDatabases.authorizedDatabases' is the wrong type 'int', expected type 'bool'",
            ),
            (
                doc! { "renameCollection": own("c"), "to": own("d"), "stayTemp": -1 },
                14,
                "BSON field 'renameCollection.stayTemp' is the wrong type 'int', expected type 'bool'",
            ),
        ],
    )
    .await;
    let parameters = || doc! { "apiParameters": { "version": "1" } };
    check(
        db,
        vec![
            (
                doc! { "listIndexes": "s", "isTimeseriesNamespace": true },
                166,
                "Namespace DB.s is a timeseries collection",
            ),
            (doc! { "listIndexes": "c", "isTimeseriesNamespace": true }, 0, ""),
            (
                with(doc! { "validateDBMetadata": 1, "db": "" }, parameters()),
                28_539,
                "need a valid database name",
            ),
            (
                with(doc! { "validateDBMetadata": 1, "db": "a.b" }, parameters()),
                28_539,
                "need a valid database name",
            ),
            (
                with(doc! { "validateDBMetadata": 1, "collection": "" }, parameters()),
                73,
                "Namespace admin. is not a valid collection name",
            ),
        ],
    )
    .await;
}

async fn levels_of_cells_are_like_bools(db: &Db) {
    let create = |key: Document, name: &str, level: Bson| {
        let mut spec = doc! { "key": key, "name": "x" };
        spec.insert(name, level);
        indexed("f", spec)
    };
    for name in ["coarsestIndexedLevel", "finestIndexedLevel"] {
        let words = format!(
            "Error in specification {{ key: {{ a: 1 }}, name: \"x\", {name}: \"x\" }} :: caused by :: The field \
             '{name} has value {name}: \"x\", which is not convertible to bool"
        );
        let no_number = format!("Expected field \"{name}\" to have numeric type, but found bool");
        check(
            db,
            vec![
                (create(doc! { "a": 1 }, name, Bson::from("x")), 14, words.as_str()),
                (
                    create(doc! { "a": "2dsphere" }, name, Bson::Boolean(true)),
                    14,
                    no_number.as_str(),
                ),
                (create(doc! { "a": 1 }, name, Bson::Boolean(true)), 0, ""),
                (doc! { "drop": "f" }, 0, ""),
            ],
        )
        .await;
    }
    let spec = doc! {
        "key": { "a": 1 }, "name": "x", "finestIndexedLevel": 3, "coarsestIndexedLevel": 2,
        "prepareUnique": true, "collation": { "locale": "en" },
    };
    run(db, indexed("f", spec)).await;
    let listed = batch(&run(db, doc! { "listIndexes": "f" }).await);
    let names: Vec<&str> = listed[1].keys().map(String::as_str).collect();
    let levels = ["collation", "coarsestIndexedLevel", "finestIndexedLevel"];
    assert_eq!(names[..3], ["v", "key", "name"]);
    assert_eq!(names[3..6], levels);
    assert_eq!(names[6..], ["prepareUnique"]);
}

async fn a_wildcard_is_refused_where_its_key_is_met(db: &Db) {
    // What has no projection before its key: such a one ends the server.
    for (key, more) in [
        (doc! { "a": 1, "$**": 1 }, "name: \"x\", hidden: 1"),
        (doc! { "a": 1, "$**": 1 }, "name: \"x\", weights: { a: 1 }"),
        (doc! { "a": 1, "$**": 1 }, "name: \"x\", v: 3"),
        (doc! { "$**": 1, "a": 0 }, "name: \"x\""),
        (doc! { "$**": 1, "_fts": 1 }, "name: \"x\""),
    ] {
        let mut spec = doc! { "key": key.clone(), "name": "x" };
        match more.rsplit_once(", ") {
            Some((_, "hidden: 1")) => spec.extend(doc! { "hidden": 1 }),
            Some((_, "v: 3")) => spec.extend(doc! { "v": 3 }),
            Some(_) => spec.extend(doc! { "weights": { "a": 1 } }),
            None => {}
        }
        let shown: Vec<String> = key
            .iter()
            .map(|(path, order)| format!("{path}: {order}"))
            .collect();
        let words = format!(
            "Error in specification {{ key: {{ {} }}, {more} }} :: caused by :: wildcard indexes do not allow \
             compounding",
            shown.join(", ")
        );
        check(db, vec![(indexed("w", spec), 67, words.as_str())]).await;
    }
}

async fn refused_conditions_are_shown_as_written(db: &Db) {
    for (filter, shown) in [
        (doc! { "$nor": [{ "a": 1 }] }, "$nor\n    a $eq 1\n"),
        (
            doc! { "$nor": [{ "a": 1, "b": 2 }] },
            "$nor\n    $and\n        a $eq 1\n        b $eq 2\n",
        ),
        (
            doc! { "$nor": [{ "$or": [{ "a": 1 }] }] },
            "$nor\n    $or\n        a $eq 1\n",
        ),
        (doc! { "$nor": [{}] }, "$nor\n    $and\n"),
        (
            doc! { "$nor": [{ "a": { "$in": [1] } }] },
            "$nor\n    a $in [ 1 ]\n",
        ),
        (
            doc! { "b": 2, "$and": [{ "$nor": [{ "a": { "$gt": 1 } }] }] },
            "$nor\n    a $gt 1\n",
        ),
        (doc! { "a": { "$nin": [1] } }, "$not\n    a $in [ 1 ]\n"),
        (doc! { "a": { "$nin": [] } }, "$not\n    a $in [ ]\n"),
        (doc! { "a": { "$ne": 1 } }, "$not\n    a $eq 1\n"),
        (
            doc! { "a": { "$not": { "$in": [1] } } },
            "$not\n    $and\n        a $in [ 1 ]\n",
        ),
        (
            doc! { "a": { "$not": { "$eq": 1 } } },
            "$not\n    $and\n        a $eq 1\n",
        ),
        (
            doc! { "a": { "$not": { "$gt": 1, "$lt": 3 } } },
            "$not\n    $and\n        a $gt 1\n        a $lt 3\n",
        ),
        (
            doc! { "a": { "$not": { "$nin": [1] } } },
            "$not\n    $and\n        $not\n            a $in [ 1 ]\n",
        ),
        (
            doc! { "a": { "$not": { "$exists": false } } },
            "$not\n    $and\n        $not\n            a exists\n",
        ),
    ] {
        let spec = doc! { "key": { "a": 1 }, "name": "x", "partialFilterExpression": filter.clone() };
        let (code, words) = answer(db, indexed("c", spec), db.name()).await;
        let expected = format!("Expression not supported in partial index: {shown}");
        assert_eq!(code, 67, "{filter}");
        assert!(words.ends_with(&expected), "{filter}: {words}");
    }
}

async fn validations_are_told_in_the_order_of_names(db: &Db) {
    let specs: Vec<Document> = ["w", "l", "B", "_a"]
        .into_iter()
        .map(|name| doc! { "key": { name: 1 }, "name": name })
        .collect();
    run(db, doc! { "createIndexes": "c", "indexes": specs }).await;
    let reply = run(db, doc! { "validate": "c" }).await;
    for figures in ["keysPerIndex", "indexDetails"] {
        let names: Vec<&String> = reply.get_document(figures).unwrap().keys().collect();
        assert_eq!(names, ["B", "_a", "_id_", "l", "w"]);
    }
    let validate = |more: Document| with(doc! { "validate": "c" }, more);
    let other =
        "Running the validate command with { metadata: true } is not supported with any other options";
    check(
        db,
        vec![
            (validate(doc! { "metadata": true, "full": "x" }), 72, other),
            (
                validate(doc! { "metadata": true, "background": true }),
                72,
                other,
            ),
            (
                validate(doc! { "background": true, "full": true }),
                72,
                "Running the validate command with both { background: true } and { full: true } is not supported.",
            ),
        ],
    )
    .await;
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

async fn versions_of_the_interface_are_named_in_refusals(db: &Db) {
    check(
        db,
        vec![
            (
                doc! { "ping": 1, "apiVersion": "2" },
                322,
                "Cannot accept API version 2",
            ),
            (
                doc! { "ping": 1, "apiVersion": "3" },
                322,
                "API version must be \"1\"",
            ),
        ],
    )
    .await;
}

async fn commands_are_told_by_their_own_names(db: &Db) {
    for (called, own) in [
        ("collstats", "collStats"),
        ("dbstats", "dbStats"),
        ("buildinfo", "buildInfo"),
        ("ismaster", "isMaster"),
    ] {
        let words = format!(
            "Command {own} does not support {{ readConcern: {{ level: \"majority\", provenance: \"clientSupplied\" }} \
             }} :: caused by :: read concern not supported"
        );
        let target = match called {
            "collstats" => Bson::from("c"),
            _ => Bson::Int32(1),
        };
        let mut command = doc! { called: target };
        command.insert("readConcern", doc! { "level": "majority" });
        check(db, vec![(command, 72, words.as_str())]).await;
    }
}
