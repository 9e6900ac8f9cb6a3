//! What is asked of a server, and what it says of itself: rules that were found to be others.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::run;

use super::refusals::{check, check_in, uuid, with};

crate::on_every_backend! {
    plans_of_a_series_are_not_shown,
    nothing_has_an_impossible_name,
    names_change_between_databases_without_a_uuid,
    greetings_are_read,
    listings_take_bools_alone,
    validations_are_told_in_the_order_of_names,
    versions_of_the_interface_are_named_in_refusals,
    commands_are_told_by_their_own_names,
}

/// Checks commands that are for the database `admin`.
async fn check_for_admin(db: &Db, rows: Vec<(Document, i32, &str)>) {
    check_in(&db.database("admin").unwrap(), db.name(), rows).await;
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
        ("datasize", "dataSize"),
    ] {
        let words = format!(
            "Command {own} does not support {{ readConcern: {{ level: \"majority\", provenance: \"clientSupplied\" }} \
             }} :: caused by :: read concern not supported"
        );
        let target = match called {
            "collstats" => Bson::from("c"),
            "datasize" => Bson::from(format!("{}.c", db.name())),
            _ => Bson::Int32(1),
        };
        let mut command = doc! { called: target };
        command.insert("readConcern", doc! { "level": "majority" });
        check(db, vec![(command, 72, words.as_str())]).await;
    }
}
