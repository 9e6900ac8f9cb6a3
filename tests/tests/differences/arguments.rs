//! How the arguments that commands share differed on the engine and on MongoDB, each as the smallest case of it.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, bson, doc};
use odm_tests::command::code;

crate::on_every_backend! {
    the_flags_of_a_find_are_bools,
    flags_of_other_commands_may_be_numbers,
    documents_of_a_find_are_not_null,
    time_limits_are_numbers,
    read_concerns_are_checked,
    only_writes_have_write_concerns,
    write_concerns_are_checked,
    unacknowledged_writes_are_not_counted,
    some_options_are_of_other_commands,
    some_options_are_known_and_not_heeded,
    statements_are_numbered_one_by_one,
    a_collection_is_told_by_its_uuid,
    the_stable_interface_is_asked_for_by_its_version,
    the_stable_interface_leaves_things_out,
    only_numbered_transactions_begin,
    late_commands_are_explained_instead_of_run,
    cursors_are_of_names,
    names_that_no_collection_has_are_looked_for,
    collations_are_read_in_order,
    statistics_take_any_field,
    as_many_members_build_an_index_as_there_are,
    new_collections_are_checked_before_they_are_made,
    changes_of_collections_are_of_their_types,
}

/// The code of a command with one more field.
async fn with(db: &Db, command: &Document, name: &str, value: impl Into<Bson>) -> i32 {
    let mut command = command.clone();
    command.insert(name, value);
    code(db, command).await
}

fn decimal(text: &str) -> Decimal128 {
    text.parse().expect("a decimal")
}

fn insert() -> Document {
    doc! { "insert": "c", "documents": [{}] }
}

fn update() -> Document {
    doc! { "update": "c", "updates": [{ "q": { "_id": 7 }, "u": { "$set": { "a": 1 } } }] }
}

fn aggregate() -> Document {
    doc! { "aggregate": "c", "pipeline": [], "cursor": {} }
}

async fn the_flags_of_a_find_are_bools(db: &Db) {
    let find = doc! { "find": "c" };
    for name in [
        "singleBatch",
        "returnKey",
        "showRecordId",
        "tailable",
        "noCursorTimeout",
        "awaitData",
        "allowPartialResults",
        "allowDiskUse",
        "readOnce",
        "oplogReplay",
        "allowSpeculativeMajorityRead",
    ] {
        for wrong in [Bson::Null, bson!(0), bson!(1), bson!(1.5), bson!("x")] {
            assert_eq!(with(db, &find, name, wrong.clone()).await, 14, "{name}: {wrong}");
        }
        assert_eq!(with(db, &find, name, false).await, 0, "{name}");
    }
    for name in ["fromMongos", "needsMerge", "isMapReduceCommand"] {
        assert_eq!(with(db, &aggregate(), name, Bson::Null).await, 14, "{name}");
        assert_eq!(with(db, &aggregate(), name, 1).await, 14, "{name}");
    }
    assert_eq!(with(db, &aggregate(), "needsMerge", false).await, 9);
}

async fn flags_of_other_commands_may_be_numbers(db: &Db) {
    for right in [Bson::Null, bson!(0), bson!(1.5), bson!(true)] {
        for command in [insert(), update(), aggregate()] {
            let name = "bypassDocumentValidation";
            assert_eq!(with(db, &command, name, right.clone()).await, 0, "{right}");
        }
    }
    assert_eq!(with(db, &insert(), "ordered", Bson::Null).await, 0);
    assert_eq!(with(db, &insert(), "ordered", 1).await, 14);
}

async fn documents_of_a_find_are_not_null(db: &Db) {
    let find = doc! { "find": "c" };
    for name in ["min", "max", "collation", "$queryOptions"] {
        assert_eq!(with(db, &find, name, Bson::Null).await, 14, "{name}");
        assert_eq!(with(db, &find, name, 1).await, 14, "{name}");
        assert_eq!(with(db, &find, name, doc! {}).await, 0, "{name}");
    }
    assert_eq!(with(db, &find, "let", Bson::Null).await, 0);
    let count = doc! { "count": "c" };
    assert_eq!(with(db, &count, "collation", Bson::Null).await, 0);
    assert_eq!(with(db, &count, "$queryOptions", Bson::Null).await, 0);
    assert_eq!(with(db, &count, "$queryOptions", 1).await, 14);
    assert_eq!(
        with(
            db,
            &doc! { "distinct": "c", "key": "a" },
            "$queryOptions",
            Bson::Null
        )
        .await,
        14
    );
}

async fn time_limits_are_numbers(db: &Db) {
    let find = doc! { "find": "c" };
    for wrong in [
        Bson::Null,
        bson!("x"),
        bson!(true),
        bson!({}),
        bson!(1.5),
        bson!(-1),
    ] {
        for command in [find.clone(), insert(), doc! { "count": "c" }] {
            assert_eq!(with(db, &command, "maxTimeMS", wrong.clone()).await, 2, "{wrong}");
        }
    }
    for right in ["0.4", "NaN", "1E-6000"] {
        assert_eq!(with(db, &find, "maxTimeMS", decimal(right)).await, 0, "{right}");
    }
    assert_eq!(with(db, &find, "maxTimeMS", decimal("1E20")).await, 2);
    assert_eq!(with(db, &aggregate(), "maxTimeMS", "x").await, 14);
    assert_eq!(with(db, &aggregate(), "maxTimeMS", Bson::Null).await, 2);
    assert_eq!(with(db, &aggregate(), "maxTimeMS", -1).await, 51024);
}

async fn read_concerns_are_checked(db: &Db) {
    let find = doc! { "find": "c" };
    for command in [find.clone(), insert(), doc! { "ping": 1 }] {
        assert_eq!(with(db, &command, "readConcern", Bson::Null).await, 9);
        assert_eq!(with(db, &command, "readConcern", 1).await, 9);
        assert_eq!(with(db, &command, "readConcern", doc! { "x": 1 }).await, 72);
    }
    assert_eq!(with(db, &aggregate(), "readConcern", 1).await, 14);
    let at = doc! { "atClusterTime": odm::bson::Timestamp { time: 1, increment: 1 } };
    assert_eq!(with(db, &find, "readConcern", at).await, 72);
    let snapshot = doc! { "level": "snapshot" };
    assert_eq!(
        with(db, &doc! { "count": "c" }, "readConcern", snapshot).await,
        72
    );
    // They come before a field that is unknown.
    assert_eq!(with(db, &doc! { "find": "c", "x": 1 }, "readConcern", 1).await, 9);
    assert_eq!(
        with(db, &doc! { "listCollections": 1, "x": 1 }, "readConcern", 1).await,
        40415
    );
}

async fn only_writes_have_write_concerns(db: &Db) {
    for command in [
        doc! { "find": "c" },
        doc! { "count": "c" },
        doc! { "distinct": "c", "key": "a" },
        doc! { "listCollections": 1 },
        doc! { "ping": 1 },
        doc! { "killCursors": "c", "cursors": [5_i64] },
    ] {
        for concern in [Bson::Null, bson!(1), bson!({}), bson!({ "x": 1 })] {
            assert_eq!(
                with(db, &command, "writeConcern", concern.clone()).await,
                72,
                "{command} {concern}"
            );
        }
    }
    assert_eq!(with(db, &aggregate(), "writeConcern", doc! {}).await, 0);
}

async fn write_concerns_are_checked(db: &Db) {
    assert_eq!(with(db, &insert(), "writeConcern", Bson::Null).await, 14);
    assert_eq!(with(db, &insert(), "writeConcern", doc! { "x": 1 }).await, 40415);
    let both = doc! { "fsync": true, "j": true };
    assert_eq!(with(db, &insert(), "writeConcern", both).await, 9);
    let one = doc! { "fsync": true, "j": false };
    assert_eq!(with(db, &insert(), "writeConcern", one).await, 0);
    let nobody = doc! { "provenance": "x" };
    assert_eq!(with(db, &insert(), "writeConcern", nobody).await, 2);
    let somebody = doc! { "provenance": "clientSupplied" };
    assert_eq!(with(db, &insert(), "writeConcern", somebody).await, 0);
}

async fn unacknowledged_writes_are_not_counted(db: &Db) {
    let first = doc! { "insert": "c", "documents": [{ "_id": 1 }] };
    assert_eq!(code(db, first.clone()).await, 0);
    let change = doc! {
        "update": "c",
        "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "a": 1 } } }, { "q": {}, "u": { "$set": { "_id": 2 } } }],
    };
    let removal = doc! { "delete": "c", "deletes": [{ "q": { "_id": 5 }, "limit": 1 }, { "q": { "$x": 1 }, "limit": 1 }] };
    for none in [
        bson!(0),
        bson!(0.5),
        bson!(f64::NAN),
        Bson::Decimal128(decimal("0.5")),
    ] {
        for (command, fields) in [(&first, 1), (&change, 2), (&removal, 1)] {
            let mut command = command.clone();
            command.insert("writeConcern", doc! { "w": none.clone() });
            let reply = db.run_command(command).await.expect("it is done");
            assert_eq!(reply.get_i32("n").ok(), Some(0));
            let own = reply
                .keys()
                .filter(|name| ["n", "nModified", "writeErrors", "upserted"].contains(&name.as_str()));
            assert_eq!(own.count(), fields, "{reply}");
        }
    }
    for waiting in [doc! { "w": 0, "j": true }, doc! { "w": 0, "fsync": true }] {
        assert_eq!(with(db, &first, "writeConcern", waiting.clone()).await, 11000);
        assert_eq!(with(db, &change, "writeConcern", waiting.clone()).await, 66);
        assert_eq!(with(db, &removal, "writeConcern", waiting).await, 2);
    }
}

async fn some_options_are_of_other_commands(db: &Db) {
    let distinct = doc! { "distinct": "c", "key": "a" };
    assert_eq!(with(db, &distinct, "hint", doc! {}).await, 40415);
    for command in [distinct, doc! { "find": "c" }, doc! { "count": "c" }] {
        for name in ["mirrored", "queryOptions"] {
            assert_eq!(with(db, &command, name, Bson::Null).await, 40415, "{name}");
        }
    }
}

async fn some_options_are_known_and_not_heeded(db: &Db) {
    for command in [doc! { "find": "c" }, doc! { "ping": 1 }, aggregate()] {
        assert_eq!(with(db, &command, "stmtId", "x").await, 0);
        assert_eq!(
            with(db, &command, "allowImplicitCollectionCreation", "x").await,
            0
        );
        assert_eq!(with(db, &command, "coordinator", true).await, 0);
        assert_eq!(with(db, &command, "coordinator", 1).await, 14);
        assert_eq!(with(db, &command, "mayBypassWriteBlocking", true).await, 0);
        assert_eq!(with(db, &command, "mayBypassWriteBlocking", 1).await, 13111);
        assert_eq!(with(db, &command, "clientOperationKey", "x").await, 207);
        assert_eq!(with(db, &command, "maxTimeMSOpOnly", 1).await, 72);
        assert_eq!(with(db, &command, "$audit", doc! {}).await, 40414);
        assert_eq!(with(db, &command, "$audit", 1).await, 0);
    }
    for command in [doc! { "find": "c" }, doc! { "count": "c" }, aggregate()] {
        let name = "encryptionInformation";
        assert_eq!(with(db, &command, name, Bson::Null).await, 0);
        assert_eq!(with(db, &command, name, 1).await, 14);
    }
    let find = doc! { "find": "c" };
    assert_eq!(with(db, &find, "options", doc! {}).await, 0);
    assert_eq!(with(db, &find, "options", 1).await, 14);
    assert_eq!(with(db, &find, "ntoreturn", 1).await, 5_746_102);
    assert_eq!(with(db, &find, "ntoreturn", -1).await, 51024);
    assert_eq!(with(db, &insert(), "isTimeseriesNamespace", false).await, 0);
    assert_eq!(
        with(db, &insert(), "isTimeseriesNamespace", true).await,
        5_916_400
    );
    assert_eq!(with(db, &update(), "isTimeseriesNamespace", 1).await, 14);
    let supplied = |supplied: Bson| {
        let entry = doc! { "q": { "_id": 7 }, "u": { "$set": { "a": 1 } }, "upsertSupplied": supplied };
        doc! { "update": "c", "updates": [entry] }
    };
    assert_eq!(code(db, supplied(bson!(false))).await, 0);
    assert_eq!(code(db, supplied(bson!(true))).await, 9);
    assert_eq!(code(db, supplied(Bson::Null)).await, 14);
}

async fn statements_are_numbered_one_by_one(db: &Db) {
    for (ids, wanted) in [
        (bson!([1]), 0),
        (bson!([1, 2]), 16),
        (bson!([]), 16),
        (bson!([Bson::Null]), 16),
        (bson!(["a"]), 14),
        (bson!([1_i64]), 14),
        (bson!({}), 14),
    ] {
        assert_eq!(with(db, &insert(), "stmtIds", ids.clone()).await, wanted, "{ids}");
        assert_eq!(with(db, &update(), "stmtIds", ids.clone()).await, wanted, "{ids}");
    }
    let mut twice = insert();
    twice.insert("stmtId", 1);
    assert_eq!(with(db, &twice, "stmtIds", bson!([1])).await, 72);
}

async fn a_collection_is_told_by_its_uuid(db: &Db) {
    assert_eq!(code(db, insert()).await, 0);
    let listed = db.run_command(doc! { "listCollections": 1, "filter": { "name": "c" } });
    let listed = listed.await.expect("it lists");
    let own = listed
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"))
        .ok()
        .and_then(|batch| batch.first()?.as_document()?.get_document("info").ok())
        .and_then(|info| info.get("uuid"))
        .expect("it has one")
        .clone();
    let other = Bson::from(odm::bson::Uuid::new());
    for command in [insert(), update(), doc! { "find": "c" }] {
        assert_eq!(with(db, &command, "collectionUUID", own.clone()).await, 0);
        assert_eq!(with(db, &command, "collectionUUID", Bson::Null).await, 0);
        assert_eq!(with(db, &command, "collectionUUID", "x").await, 14);
        assert_eq!(with(db, &command, "collectionUUID", other.clone()).await, 361);
    }
    let nothing = doc! { "find": "nothing" };
    assert_eq!(with(db, &nothing, "collectionUUID", other).await, 361);
}

async fn the_stable_interface_is_asked_for_by_its_version(db: &Db) {
    for command in [doc! { "find": "c" }, doc! { "ping": 1 }, insert()] {
        assert_eq!(with(db, &command, "apiVersion", "1").await, 0);
        assert_eq!(with(db, &command, "apiVersion", Bson::Null).await, 0);
        assert_eq!(with(db, &command, "apiVersion", "").await, 322);
        assert_eq!(with(db, &command, "apiVersion", "x").await, 322);
        assert_eq!(with(db, &command, "apiVersion", 1).await, 14);
        for name in ["apiStrict", "apiDeprecationErrors"] {
            assert_eq!(with(db, &command, name, true).await, 4_886_600, "{name}");
            assert_eq!(with(db, &command, name, 1).await, 14, "{name}");
        }
    }
}

async fn the_stable_interface_leaves_things_out(db: &Db) {
    assert_eq!(code(db, insert()).await, 0);
    let strict = |mut command: Document| {
        command.extend(doc! { "apiVersion": "1", "apiStrict": true });
        command
    };
    for command in [
        doc! { "distinct": "c", "key": "a" },
        doc! { "buildInfo": 1 },
        doc! { "collStats": "c" },
        doc! { "dbStats": 1 },
        doc! { "validate": "c" },
        doc! { "planCacheClear": "c" },
        doc! { "find": "c", "tailable": false },
        doc! { "find": "c", "min": {} },
        doc! { "createIndexes": "c", "indexes": [], "ignoreUnknownIndexOptions": true },
        doc! { "aggregate": "c", "pipeline": [], "explain": false },
    ] {
        assert_eq!(code(db, strict(command.clone())).await, 323, "{command}");
    }
    for command in [
        doc! { "find": "c", "singleBatch": true },
        doc! { "count": "c" },
        doc! { "listCollections": 1 },
    ] {
        assert_eq!(code(db, strict(command.clone())).await, 0, "{command}");
    }
}

async fn only_numbered_transactions_begin(db: &Db) {
    let find = doc! { "find": "c" };
    assert_eq!(with(db, &find, "autocommit", false).await, 72);
    assert_eq!(with(db, &find, "startTransaction", true).await, 72);
    assert_eq!(with(db, &find, "autocommit", 1).await, 14);
    assert_eq!(with(db, &find, "startTransaction", "x").await, 14);
    assert_eq!(with(db, &find, "autocommit", Bson::Null).await, 0);
    assert_eq!(with(db, &doc! { "ping": 1 }, "autocommit", false).await, 263);
}

async fn late_commands_are_explained_instead_of_run(db: &Db) {
    for asking in [bson!(true), bson!(1), bson!({})] {
        let reply = db.run_command(doc! { "find": "c", "help": asking }).await;
        let reply = reply.expect("it answers");
        assert_eq!(
            reply.get_str("help").ok(),
            Some("help for: find query for documents")
        );
    }
    for not_asking in [Bson::Null, bson!(false), bson!(0)] {
        assert_eq!(with(db, &doc! { "find": "c" }, "help", not_asking).await, 40415);
    }
    assert_eq!(with(db, &doc! { "ping": 1 }, "help", true).await, 40415);
}

async fn cursors_are_of_names(db: &Db) {
    let more = |name: &str| doc! { "getMore": 5_i64, "collection": name };
    for (name, wanted) in [("", 73), (".a", 73), ("a\0", 73), ("$a", 43), ("c", 43)] {
        assert_eq!(code(db, more(name)).await, wanted, "{name:?}");
    }
    assert_eq!(
        code(db, doc! { "getMore": Bson::Null, "collection": "c" }).await,
        40414
    );
    let kill = |name: Bson, ids: Bson| doc! { "killCursors": name, "cursors": ids };
    for (name, wanted) in [(bson!("$a"), 0), (bson!(""), 73), (bson!(1), 2)] {
        assert_eq!(
            code(db, kill(name.clone(), bson!([5_i64]))).await,
            wanted,
            "{name}"
        );
    }
    assert_eq!(code(db, kill(bson!("c"), bson!([Bson::Null]))).await, 0);
    assert_eq!(code(db, kill(bson!("c"), bson!([1]))).await, 14);
}

async fn names_that_no_collection_has_are_looked_for(db: &Db) {
    let long = "x".repeat(300);
    assert_eq!(code(db, doc! { "find": &*long }).await, 0);
    assert_eq!(code(db, doc! { "count": &*long }).await, 0);
    assert_eq!(code(db, doc! { "insert": &*long, "documents": [{}] }).await, 73);
    assert_eq!(code(db, doc! { "find": "$a" }).await, 73);
    for name in [&*long, "$a", "a$b"] {
        let aggregate = doc! { "aggregate": name, "pipeline": [], "cursor": {} };
        assert_eq!(code(db, aggregate).await, 0, "{name}");
        for command in ["drop", "listIndexes", "collMod", "validate"] {
            assert_eq!(code(db, doc! { command: name }).await, 26, "{command} {name}");
        }
    }
}

async fn collations_are_read_in_order(db: &Db) {
    let find = doc! { "find": "c" };
    for (collation, wanted) in [
        (doc! { "locale": "en", "strength": decimal("1.5") }, 0),
        (doc! { "locale": "en", "strength": decimal("5.5") }, 51024),
        (doc! { "locale": "simple", "strength": 0 }, 0),
        (doc! { "locale": "en", "strength": 0 }, 2),
        (doc! { "strength": 0 }, 40414),
        (doc! { "locale": "en", "backwards": Bson::Null }, 14),
        (doc! { "backwards": Bson::Null }, 14),
        (doc! { "backwards": 1, "strength": 9 }, 14),
        (doc! { "strength": 9, "backwards": 1 }, 51024),
        (doc! { "locale": "en", "caseLevel": Bson::Null }, 0),
    ] {
        assert_eq!(
            with(db, &find, "collation", collation.clone()).await,
            wanted,
            "{collation}"
        );
    }
}

async fn statistics_take_any_field(db: &Db) {
    assert_eq!(code(db, insert()).await, 0);
    for command in [
        doc! { "collStats": "c" },
        doc! { "dbStats": 1 },
        doc! { "validate": "c" },
    ] {
        assert_eq!(with(db, &command, "x", 1).await, 0, "{command}");
    }
    for name in ["verbose", "numericOnly", "waitForLock"] {
        let command = doc! { "collStats": "c" };
        assert_eq!(with(db, &command, name, 1).await, 14, "{name}");
        assert_eq!(with(db, &command, name, true).await, 0, "{name}");
    }
    assert_eq!(with(db, &doc! { "validate": "c" }, "full", "x").await, 0);
    assert_eq!(with(db, &doc! { "dbStats": 1 }, "freeStorage", "x").await, 0);
    for wrong in [bson!(0), bson!("x"), bson!(true)] {
        let command = doc! { "dbStats": 1, "scale": wrong };
        assert!(db.run_command(command.clone()).await.is_err(), "{command}");
    }
}

async fn as_many_members_build_an_index_as_there_are(db: &Db) {
    let create = doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] };
    for (quorum, wanted) in [
        (bson!(2), 278),
        (bson!(51), 9),
        (bson!(-1), 9),
        (bson!("x"), 79),
        (bson!(true), 14),
        (bson!({}), 14),
        (bson!("majority"), 0),
        (Bson::Null, 0),
    ] {
        let got = with(db, &create, "commitQuorum", quorum.clone()).await;
        assert_eq!(got, wanted, "{quorum}");
    }
    assert_eq!(with(db, &create, "v", 1).await, 0);
    assert_eq!(with(db, &create, "v", "x").await, 14);
    let other = Bson::from(odm::bson::Uuid::new());
    let drop = doc! { "dropIndexes": "c", "index": "a" };
    assert_eq!(with(db, &drop, "collectionUUID", other).await, 361);
    assert_eq!(with(db, &drop, "collectionUUID", "x").await, 14);
    assert_eq!(with(db, &drop, "isTimeseriesNamespace", true).await, 0);
}

async fn new_collections_are_checked_before_they_are_made(db: &Db) {
    let create = doc! { "create": "c" };
    assert_eq!(with(db, &create, "temp", true).await, 72);
    assert_eq!(with(db, &create, "size", 0).await, 51024);
    assert_eq!(with(db, &create, "clusteredIndex", Bson::Null).await, 14);
    assert_eq!(with(db, &create, "flags", "x").await, 14);
    let wrong = doc! { "storageEngine": 1 };
    assert_eq!(with(db, &create, "indexOptionDefaults", wrong).await, 14);
    assert_eq!(with(db, &create, "autoIndexId", false).await, 50001);
    let reply = db.run_command(doc! { "create": "c", "autoIndexId": true }).await;
    assert!(reply.expect("it is made").contains_key("note"));
    assert_eq!(with(db, &create, "autoIndexId", false).await, 48);
}

async fn changes_of_collections_are_of_their_types(db: &Db) {
    assert_eq!(code(db, insert()).await, 0);
    let modify = doc! { "collMod": "c" };
    for wrong in [Bson::Null, bson!(true), bson!({})] {
        let got = with(db, &modify, "expireAfterSeconds", wrong.clone()).await;
        assert_eq!(got, 14, "{wrong}");
    }
    assert_eq!(with(db, &modify, "expireAfterSeconds", 1).await, 72);
    assert_eq!(with(db, &modify, "cappedSize", 0).await, 51024);
    assert_eq!(with(db, &modify, "cappedSize", 5).await, 72);
    assert_eq!(with(db, &modify, "isTimeseriesNamespace", true).await, 0);
    assert_eq!(with(db, &modify, "isTimeseriesNamespace", 1).await, 14);
    assert_eq!(with(db, &modify, "timeseries", doc! { "x": 1 }).await, 40415);
    assert_eq!(
        with(db, &modify, "timeseries", doc! { "granularity": "x" }).await,
        2
    );
    let other = Bson::from(odm::bson::Uuid::new());
    assert_eq!(with(db, &modify, "collectionUUID", other).await, 361);
}
