//! Commands that were found to be refused otherwise: what is looked at first, and what the words are.

use odm::Db;
use odm::bson::{Bson, Document, Timestamp, doc};
use odm_tests::command::{batch, code, insert, run};

use super::messages::said;

crate::on_every_backend! {
    stages_without_a_view_are_not_read,
    engines_of_indexes_are_looked_at,
    indexes_are_made_to_take_keys_twice,
    times_to_read_at_are_refused_by_some_commands,
    shapes_are_looked_at_where_there_is_a_collection,
    bounds_of_a_size_are_looked_at_before_its_collection,
    names_of_cursors_are_refused_as_they_stand,
    specifications_are_read_as_they_stand,
    specifications_are_shown_as_given,
    indexes_of_clustered_collections_have_few_options,
    reserved_names_and_ages_are_looked_at_early,
    a_taken_name_is_told_before_a_second_text_index,
    wildcards_of_series_are_refused_last,
    refusals_have_words_of_their_own,
    merges_that_change_an_id_say_so,
}

async fn stages_without_a_view_are_not_read(db: &Db) {
    let create = |option: &str, value: Bson| {
        let mut command = doc! { "create": "q", "pipeline": [{ "$x": 1 }] };
        command.insert(option, value);
        command
    };
    for (command, expected) in [
        (doc! { "create": "q", "pipeline": [{ "$x": 1 }] }, 72),
        (create("size", Bson::Int32(1)), 72),
        (create("viewOn", Bson::from("")), 2),
        (create("viewOn", Bson::from("c")), 40_324),
    ] {
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn engines_of_indexes_are_looked_at(db: &Db) {
    for (engines, expected) in [
        (doc! { "x": 1 }, 2),
        (doc! { "x": {} }, 72),
        (doc! { "wiredTiger": { "x": "" } }, 72),
        (doc! { "wiredTiger": {} }, 0),
    ] {
        let command = doc! { "create": "q", "indexOptionDefaults": { "storageEngine": engines } };
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn indexes_are_made_to_take_keys_twice(db: &Db) {
    let index = doc! { "key": { "a": 1 }, "name": "a_1", "unique": true };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let modify = |mut options: Document| {
        options.insert("name", "a_1");
        doc! { "collMod": "c", "index": options }
    };
    for (options, expected) in [
        (doc! { "forceNonUnique": false }, 2),
        (doc! { "forceNonUnique": "x" }, 14),
        (doc! { "forceNonUnique": true, "unique": true }, 72),
        (doc! { "hidden": true, "prepareUnique": true }, 0),
        (doc! { "hidden": false, "prepareUnique": false }, 0),
    ] {
        assert_eq!(code(db, modify(options.clone())).await, expected, "{options}");
    }
    let mut dry = modify(doc! { "forceNonUnique": true });
    dry.insert("dryRun", true);
    assert_eq!(code(db, dry).await, 72);
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    let again = doc! { "insert": "c", "documents": [{ "_id": 2, "a": 1 }] };
    assert_eq!(code(db, again.clone()).await, 11_000);
    let changed = run(db, modify(doc! { "forceNonUnique": true })).await;
    assert_eq!(changed.get("forceNonUnique_new"), Some(&Bson::Boolean(true)));
    let changed = run(db, modify(doc! { "forceNonUnique": true })).await;
    assert_eq!(changed.get("forceNonUnique_new"), None);
    let both = modify(doc! { "forceNonUnique": true, "prepareUnique": true });
    assert_eq!(code(db, both).await, 72);
    assert_eq!(code(db, again).await, 0);
    let listed = batch(&run(db, doc! { "listIndexes": "c" }).await);
    assert_eq!(listed[1], doc! { "v": 2, "key": { "a": 1 }, "name": "a_1" });
}

async fn times_to_read_at_are_refused_by_some_commands(db: &Db) {
    let time = Timestamp {
        time: 1,
        increment: 1,
    };
    for mut command in [
        doc! { "ping": 1 },
        doc! { "validate": "c" },
        doc! { "getMore": 1_i64, "collection": "c" },
    ] {
        command.insert("readConcern", doc! { "level": "local", "afterClusterTime": time });
        assert_eq!(
            said(db, command).await,
            "afterClusterTime is not allowed for this command"
        );
    }
}

async fn shapes_are_looked_at_where_there_is_a_collection(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (command, expected) in [
        (doc! { "planCacheClear": "no", "query": 1 }, 0),
        (doc! { "planCacheClear": "c", "query": 1 }, 2),
        (doc! { "planCacheClear": "c", "query": [] }, 0),
        (doc! { "planCacheClear": "c", "query": {}, "sort": [] }, 0),
        (doc! { "planCacheClearFilters": "no", "sort": 1 }, 0),
        (doc! { "planCacheClearFilters": "c", "sort": 1 }, 2),
    ] {
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
    let set = doc! { "planCacheSetFilter": "no", "query": 1 };
    assert_eq!(said(db, set).await, "no such collection");
}

async fn bounds_of_a_size_are_looked_at_before_its_collection(db: &Db) {
    for (bounds, expected) in [
        (doc! { "min": Bson::Null }, "max must be set if min is set"),
        (doc! { "max": 1 }, "min must be set if max is set"),
        (doc! { "min": 1, "max": 1 }, "min key must be an object"),
        (
            doc! { "min": { "_id": 1 }, "max": 1 },
            "max key must be an object",
        ),
    ] {
        let mut command = doc! { "dataSize": format!("{}.no", db.name()) };
        command.extend(bounds);
        assert_eq!(said(db, command).await, expected);
    }
    assert_eq!(code(db, doc! { "explain": Bson::Null }).await, 40_414);
}

async fn names_of_cursors_are_refused_as_they_stand(db: &Db) {
    for (command, expected) in [
        (doc! { "getMore": "x", "collection": "" }, 73),
        (doc! { "getMore": 1_i64, "collection": "", "batchSize": "x" }, 73),
        (doc! { "getMore": 1_i64, "batchSize": "x", "collection": "" }, 14),
        (doc! { "getMore": 1_i64, "collection": "", "z": 1 }, 73),
    ] {
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn index(db: &Db, of: &str, spec: Document) -> i32 {
    code(db, doc! { "createIndexes": of, "indexes": [spec] }).await
}

async fn specifications_are_read_as_they_stand(db: &Db) {
    for (spec, expected) in [
        (doc! { "key": { "a": "foo" }, "name": 1 }, 67),
        (doc! { "name": 1, "key": { "a": "foo" } }, 14),
        (doc! { "key": { "a": "foo" }, "unique": "x" }, 67),
        (doc! { "unique": "x", "key": { "a": "foo" }, "name": "x" }, 14),
        (doc! { "name": 1, "zz": 1, "key": { "a": 1 } }, 197),
        (doc! { "key": { "a": "foo" }, "zz": 1 }, 197),
        (doc! { "name": "x", "unique": "x" }, 14),
        (doc! { "name": "x" }, 9),
    ] {
        assert_eq!(index(db, "c", spec.clone()).await, expected, "{spec}");
    }
}

async fn specifications_are_shown_as_given(db: &Db) {
    run(db, doc! { "create": "k", "collation": { "locale": "en" } }).await;
    let spec = doc! { "key": { "a": 1 }, "name": "x", "expireAfterSeconds": -1 };
    assert_eq!(
        said(db, doc! { "createIndexes": "k", "indexes": [spec] }).await,
        "TTL index 'expireAfterSeconds' option cannot be less than 0. Index spec: { key: { a: 1 }, name: \"x\", expireAfterSeconds: -1 }"
    );
}

async fn indexes_of_clustered_collections_have_few_options(db: &Db) {
    for (name, value) in [
        ("zz", Bson::Int32(1)),
        ("sparse", Bson::Boolean(true)),
        ("hidden", Bson::Boolean(true)),
        ("expireAfterSeconds", Bson::Int32(1)),
    ] {
        let mut spec = doc! { "key": { "_id": 1 }, "name": "x", "clustered": "x", "unique": true };
        spec.insert(name, value);
        assert_eq!(index(db, "c", spec).await, 197, "{name}");
    }
}

async fn reserved_names_and_ages_are_looked_at_early(db: &Db) {
    let own = |key: Document, name: &str, option: (&str, Bson)| {
        let mut spec = doc! { "key": key, "name": name };
        spec.insert(option.0, option.1);
        doc! { "createIndexes": "c", "indexes": [spec] }
    };
    let age = || ("expireAfterSeconds", Bson::Int32(-1));
    for (command, expected) in [
        (
            own(doc! { "$**": 1 }, "_id_", ("unique", Bson::Boolean(true))),
            "The index name '_id_' is reserved",
        ),
        (
            own(
                doc! { "a": 1 },
                "_id_",
                ("collation", doc! { "locale": "zzz" }.into()),
            ),
            "The index name '_id_' is reserved",
        ),
        (
            own(doc! { "$**": 1 }, "x", age()),
            "TTL index 'expireAfterSeconds' option cannot be less than 0",
        ),
    ] {
        let said = said(db, command).await;
        assert!(said.starts_with(expected), "{said}");
    }
}

async fn a_taken_name_is_told_before_a_second_text_index(db: &Db) {
    assert_eq!(
        index(db, "c", doc! { "key": { "a": "text" }, "name": "a" }).await,
        0
    );
    assert_eq!(index(db, "c", doc! { "key": { "b": 1 }, "name": "b" }).await, 0);
    let second = |name: &str| doc! { "key": { "z": 1, "b": "text" }, "name": name };
    assert_eq!(index(db, "c", second("b")).await, 86);
    assert_eq!(index(db, "c", second("z")).await, 67);
}

async fn wildcards_of_series_are_refused_last(db: &Db) {
    run(
        db,
        doc! { "create": "s", "timeseries": { "timeField": "t", "metaField": "m" } },
    )
    .await;
    for (option, value, expected) in [
        ("unique", Bson::Boolean(true), 72),
        ("expireAfterSeconds", Bson::Int32(1), 72),
        ("sparse", Bson::Boolean(true), 72),
        ("hidden", Bson::Boolean(true), 67),
    ] {
        let mut spec = doc! { "key": { "$**": 1 }, "name": "x" };
        spec.insert(option, value);
        assert_eq!(index(db, "s", spec).await, expected, "{option}");
    }
}

async fn refusals_have_words_of_their_own(db: &Db) {
    run(db, doc! { "create": "k", "capped": true, "size": 4096 }).await;
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let buckets = doc! { "$bucketAuto": { "groupBy": "$a", "buckets": 1_i64 << 31 } };
    let stages = |stages: Vec<Document>| doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    let linearizable = |stage: Document| {
        let mut command = stages(vec![stage]);
        command.insert("readConcern", doc! { "level": "linearizable" });
        command
    };
    let mut concerned = stages(vec![]);
    concerned.insert("writeConcern", 1);
    for (command, expected) in [
        (
            doc! { "collMod": "k", "cappedSize": 0 },
            "BSON field 'cappedSize' value must be >= 1, actual value '0'",
        ),
        (
            doc! { "collMod": "k", "cappedMax": 1_i64 << 40 },
            "BSON field 'cappedMax' value must be < 2147483648, actual value '1099511627776'",
        ),
        (
            doc! { "collMod": "c", "dryRun": true },
            "dry run mode requires an valid index modification.",
        ),
        (
            doc! { "count": "c", "limit": 1.5 },
            "Expected an integer: limit: 1.5",
        ),
        (
            doc! { "count": "c", "limit": f64::NAN },
            "Expected an integer, but found NaN in: limit: nan.0",
        ),
        (
            doc! { "aggregate": 1, "pipeline": [], "cursor": {} },
            "{aggregate: 1} is not valid for an empty pipeline.",
        ),
        (
            doc! { "aggregate": 1, "pipeline": [{ "$limit": 1 }], "cursor": {} },
            "{aggregate: 1} is not valid for '$limit'; a collection is required.",
        ),
        (
            concerned,
            "BSON field 'aggregate.writeConcern' is the wrong type 'int', expected type 'object'",
        ),
        (
            doc! { "findAndModify": "c", "remove": true, "writeConcern": 1 },
            "BSON field 'findAndModify.writeConcern' is the wrong type 'int', expected type 'object'",
        ),
        (
            stages(vec![buckets]),
            "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found 2.14748e+09",
        ),
        (
            doc! { "dropIndexes": "c", "index": ["a", 1] },
            "BSON field 'dropIndexes.index.1' is the wrong type 'int', expected type 'string'",
        ),
        (
            doc! { "dropIndexes": "c", "index": [1] },
            "BSON field 'dropIndexes.index' is the wrong type 'array', expected types '[string']",
        ),
        (
            doc! { "dropIndexes": "c", "index": 1 },
            "BSON field 'dropIndexes.index' is the wrong type 'int', expected types '[string, object']",
        ),
        (
            linearizable(doc! { "$out": "o" }),
            "Command aggregate does not support { readConcern: { level: \"linearizable\", provenance: \"clientSupplied\" } } :: caused by :: $out cannot be used with a 'linearizable' read concern level",
        ),
        (
            linearizable(doc! { "$merge": "o" }),
            "Command aggregate does not support { readConcern: { level: \"linearizable\", provenance: \"clientSupplied\" } } :: caused by :: $merge cannot be used with a 'linearizable' read concern level",
        ),
    ] {
        assert_eq!(said(db, command).await, expected);
    }
    for (time, shown) in [(f64::INFINITY, i64::MAX), (1.5 + f64::from(i32::MAX), 1 << 31)] {
        let command = doc! { "find": "c", "maxTimeMS": time };
        assert_eq!(
            said(db, command).await,
            format!("{shown} value for maxTimeMS is out of range")
        );
    }
    let near = doc! { "find": "c", "filter": { "a": { "$nearSphere": [1, 1] } } };
    assert!(said(db, near).await.contains("isNearSphere=1"));
}

async fn merges_that_change_an_id_say_so(db: &Db) {
    run(
        db,
        doc! { "createIndexes": "d", "indexes": [{ "key": { "a": 1 }, "name": "a_1", "unique": true }] },
    )
    .await;
    insert(db, "d", vec![doc! { "_id": 5, "a": 7 }]).await;
    insert(db, "c", vec![doc! { "_id": 1, "a": 7 }]).await;
    let merge = |matched: Bson| {
        let stage = doc! { "into": "d", "on": "a", "whenMatched": matched };
        doc! { "aggregate": "c", "pipeline": [{ "$merge": stage }], "cursor": {} }
    };
    let set = |id: Bson| Bson::from(vec![doc! { "$set": { "_id": id } }]);
    let altered =
        "After applying the update, the (immutable) field '_id' was found to have been altered to _id:";
    for (matched, expected) in [
        (Bson::from("replace"), format!("{altered} 1")),
        (set(Bson::Int32(2)), format!("{altered} 2")),
        (
            Bson::from("merge"),
            "Performing an update on the path '_id' would modify the immutable field '_id'".to_owned(),
        ),
    ] {
        let said = said(db, merge(matched)).await;
        let whole = format!(
            "PlanExecutor error during aggregation :: caused by :: $merge failed to update the matching document, did you attempt to modify the _id or the shard key? :: caused by :: {expected}"
        );
        assert_eq!(said, whole);
    }
    assert_eq!(code(db, merge(set(vec![1].into()))).await, 53);
}
