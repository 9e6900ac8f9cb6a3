//! What was found to differ of collections, their indexes and their names.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, Regex, bson, doc};
use odm_tests::command::{batch, code, insert, run};

crate::on_every_backend! {
    arrays_are_compared_whole_where_the_id_alone_is_the_order,
    the_indexes_of_a_view_are_not_listed,
    fractions_of_decimals_are_rounded_in_options,
    changed_validators_are_listed_with_level_and_action,
    an_index_is_known_again_in_other_words,
    an_index_is_asked_for_once_in_a_command,
    prepared_indexes_are_others,
    numbers_of_an_index_on_the_id_may_be_any,
    partial_filters_may_list_patterns,
    names_with_dollars_and_reserved_ones_are_no_text_fields,
    wildcard_projections_compute_nothing,
    geo_indexes_check_their_numbers,
    weights_of_texts_are_whole_numbers,
    commit_quorums_are_read,
    indexes_keep_their_version,
    views_have_no_reserved_names,
    names_with_dollars_are_looked_for,
    joined_collections_have_names,
    changes_are_checked_before_the_collection,
    options_without_effect_are_not_listed,
    images_are_recorded_by_one_option,
    validated_collections_say_what_does_not_comply,
    statistics_of_nothing_are_short,
    indexes_are_not_rebuilt_on_a_set,
    statistics_of_a_database_are_asked_for_by_no_name,
}

async fn weights_of_texts_are_whole_numbers(db: &Db) {
    for (weight, listed) in [
        (bson!(0.5), None),
        (bson!(0.99), None),
        (bson!(-0.5), None),
        (bson!(f64::NAN), None),
        (bson!(1e300), None),
        (Bson::Decimal128(decimal("0.5")), None),
        (Bson::Decimal128(decimal("99999.9")), None),
        (bson!(1_i64 << 40), None),
        (bson!(1.5), Some(1)),
        (bson!(99_999.99), Some(99_999)),
        (Bson::Decimal128(decimal("1.5")), Some(2)),
        (Bson::Decimal128(decimal("2.5")), Some(2)),
    ] {
        let spec = index(doc! { "t": "text" }, doc! { "weights": { "t": weight.clone() } });
        let refused = code(db, create_index("c", spec)).await;
        assert_eq!(refused, if listed.is_some() { 0 } else { 67 }, "{weight}");
        if let Some(listed) = listed {
            let indexes = batch(&run(db, doc! { "listIndexes": "c" }).await);
            assert_eq!(
                indexes[1].get_document("weights").unwrap(),
                &doc! { "t": listed },
                "{weight}"
            );
            run(db, doc! { "drop": "c" }).await;
        }
    }
}

fn create_index(name: &str, spec: Document) -> Document {
    doc! { "createIndexes": name, "indexes": [spec] }
}

fn index(key: Document, options: Document) -> Document {
    let mut spec = doc! { "key": key, "name": "i" };
    spec.extend(options);
    spec
}

fn decimal(text: &str) -> Decimal128 {
    text.parse().expect("it is a decimal")
}

fn pattern(text: &str) -> Regex {
    Regex {
        pattern: text.try_into().expect("it has no NUL"),
        options: "".try_into().expect("it has no NUL"),
    }
}

/// The options of a collection as they are listed.
async fn options(db: &Db, name: &str) -> Document {
    let listed = run(db, doc! { "listCollections": 1, "filter": { "name": name } }).await;
    let found = batch(&listed);
    let first = found.first().expect("the collection is listed");
    first.get_document("options").expect("it has options").clone()
}

/// An index as it is listed.
async fn listed_index(db: &Db, collection: &str, name: &str) -> Document {
    let listed = run(db, doc! { "listIndexes": collection }).await;
    let mut found = batch(&listed).into_iter();
    found
        .find(|own| own.get_str("name").ok() == Some(name))
        .expect("the index is listed")
}

async fn arrays_are_compared_whole_where_the_id_alone_is_the_order(db: &Db) {
    let values = [
        bson!(1),
        bson!(2),
        bson!({ "a": 2 }),
        bson!([1, 2]),
        bson!([5]),
        bson!([]),
    ];
    let documents = (0..)
        .zip(values)
        .map(|(id, m)| doc! { "_id": id, "m": m })
        .collect();
    insert(db, "c", documents).await;
    let sorted = async |first: Document, sort: Document| {
        let pipeline = vec![first, doc! { "$sort": sort }];
        let found = batch(&run(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await);
        let ids = found
            .iter()
            .map(|own| own.get("_id").cloned().unwrap_or(Bson::Null));
        Bson::Array(ids.collect())
    };
    let group = || doc! { "$group": { "_id": "$m" } };
    assert_eq!(
        sorted(group(), doc! { "_id": 1 }).await,
        bson!([1, 2, { "a": 2 }, [], [1, 2], [5]])
    );
    assert_eq!(
        sorted(group(), doc! { "_id": -1 }).await,
        bson!([[5], [1, 2], [], { "a": 2 }, 2, 1])
    );
    assert_eq!(
        sorted(doc! { "$project": { "_id": "$m" } }, doc! { "_id": 1 }).await,
        bson!([1, 2, { "a": 2 }, [], [1, 2], [5]])
    );
}

async fn the_indexes_of_a_view_are_not_listed(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    assert_eq!(code(db, doc! { "listIndexes": "v" }).await, 166);
    run(db, doc! { "create": "t", "timeseries": { "timeField": "t" } }).await;
    assert_eq!(code(db, doc! { "listIndexes": "t" }).await, 0);
}

async fn fractions_of_decimals_are_rounded_in_options(db: &Db) {
    for (given, kept) in [("1.5", 2), ("2.5", 2), ("1.4", 1)] {
        let given = decimal(given);
        run(
            db,
            doc! { "create": "c", "capped": true, "size": 4096, "max": given },
        )
        .await;
        assert_eq!(options(db, "c").await.get_i32("max").ok(), Some(kept));
        run(db, doc! { "drop": "c" }).await;
        let spec = index(
            doc! { "a": 1 },
            doc! { "expireAfterSeconds": given, "bits": given },
        );
        run(db, create_index("c", spec)).await;
        let listed = listed_index(db, "c", "i").await;
        assert_eq!(listed.get_i32("expireAfterSeconds").ok(), Some(kept));
        assert_eq!(listed.get_i32("bits").ok(), Some(kept));
        let change = doc! { "collMod": "c", "index": { "name": "i", "expireAfterSeconds": given } };
        run(db, change).await;
        assert_eq!(
            listed_index(db, "c", "i")
                .await
                .get_i32("expireAfterSeconds")
                .ok(),
            Some(kept)
        );
        run(db, doc! { "drop": "c" }).await;
    }
}

async fn changed_validators_are_listed_with_level_and_action(db: &Db) {
    let change = async |change: Document| {
        run(db, doc! { "create": "c" }).await;
        let mut command = doc! { "collMod": "c" };
        command.extend(change);
        run(db, command).await;
        let found = options(db, "c").await;
        run(db, doc! { "drop": "c" }).await;
        found
    };
    assert_eq!(
        change(doc! { "validator": { "a": 1 } }).await,
        doc! { "validator": { "a": 1 }, "validationLevel": "strict", "validationAction": "error" }
    );
    assert_eq!(
        change(doc! { "validator": {} }).await,
        doc! { "validationLevel": "strict", "validationAction": "error" }
    );
    assert_eq!(
        change(doc! { "validationAction": "warn" }).await,
        doc! { "validationLevel": "strict", "validationAction": "warn" }
    );
}

async fn an_index_is_known_again_in_other_words(db: &Db) {
    let same = [
        (
            doc! { "a": { "$gt": 1 } },
            doc! { "$and": [{ "a": { "$gt": 1 } }] },
        ),
        (doc! { "a": 1, "b": 1 }, doc! { "b": 1, "a": 1 }),
        (
            doc! { "$or": [{ "a": 1 }, { "a": 2 }] },
            doc! { "a": { "$in": [2, 1] } },
        ),
        (doc! { "a": { "$in": [1] } }, doc! { "a": 1.0 }),
        (doc! {}, doc! { "$comment": "x" }),
    ];
    for (first, second) in same {
        let spec = |filter: &Document| {
            index(
                doc! { "a": 1 },
                doc! { "partialFilterExpression": filter.clone() },
            )
        };
        run(db, create_index("c", spec(&first))).await;
        let again = run(db, create_index("c", spec(&second))).await;
        assert_eq!(
            again.get_str("note").ok(),
            Some("all indexes already exist"),
            "{second}"
        );
        let mut other = spec(&second);
        other.insert("name", "j");
        assert_eq!(code(db, create_index("c", other)).await, 85, "{second}");
        run(db, doc! { "drop": "c" }).await;
    }
    // What is said twice is not what is said once.
    let spec = |filter: Document| index(doc! { "a": 1 }, doc! { "partialFilterExpression": filter });
    run(db, create_index("c", spec(doc! { "a": 1 }))).await;
    let twice = spec(doc! { "$and": [{ "a": 1 }, { "a": 1 }] });
    assert_eq!(code(db, create_index("c", twice)).await, 86);

    let spec = |fields: Document| index(doc! { "$**": 1 }, doc! { "wildcardProjection": fields });
    run(db, create_index("w", spec(doc! { "a": 1, "b.c": 1 }))).await;
    for same in [
        doc! { "b": { "c": true }, "a": 5 },
        doc! { "a": 1, "b.c": 1, "_id": 0 },
    ] {
        assert_eq!(code(db, create_index("w", spec(same))).await, 0);
    }
    assert_eq!(
        code(db, create_index("w", spec(doc! { "a": 1, "b.c": 1, "_id": 1 }))).await,
        86
    );
}

async fn an_index_is_asked_for_once_in_a_command(db: &Db) {
    let spec = || index(doc! { "a": 1 }, doc! {});
    let twice = || doc! { "createIndexes": "c", "indexes": [spec(), spec()] };
    assert_eq!(code(db, twice()).await, 68);
    run(db, create_index("c", spec())).await;
    assert_eq!(code(db, twice()).await, 0);
}

async fn prepared_indexes_are_others(db: &Db) {
    run(db, create_index("c", index(doc! { "a": 1 }, doc! {}))).await;
    for (other, expected) in [
        (doc! { "prepareUnique": true }, 85),
        (doc! { "bits": 4 }, 85),
        (doc! { "prepareUnique": false }, 0),
        (doc! { "hidden": true }, 0),
    ] {
        assert_eq!(
            code(db, create_index("c", index(doc! { "a": 1 }, other.clone()))).await,
            expected,
            "{other}"
        );
    }
    let both = index(doc! { "b": 1 }, doc! { "unique": true, "prepareUnique": true });
    assert_eq!(code(db, create_index("c", both)).await, 67);
}

async fn numbers_of_an_index_on_the_id_may_be_any(db: &Db) {
    for (order, expected) in [
        (bson!(2), 0),
        (bson!(-3), 0),
        (bson!(0.5), 0),
        (bson!(f64::INFINITY), 0),
        (Bson::Decimal128(decimal("1.5")), 0),
        (bson!(-1), 2),
        (bson!(1.5), 2),
    ] {
        let spec = index(doc! { "_id": order.clone() }, doc! {});
        assert_eq!(code(db, create_index("c", spec)).await, expected, "{order}");
        code(db, doc! { "drop": "c" }).await;
    }
    let star = doc! { "key": { "_id": 1 }, "name": "*" };
    assert_eq!(code(db, create_index("c", star)).await, 0);
    let stray = index(doc! { "a": 1 }, doc! { "_id": 1 });
    assert_eq!(code(db, create_index("c", stray)).await, 0);
    assert!(!listed_index(db, "c", "i").await.contains_key("_id"));
}

async fn partial_filters_may_list_patterns(db: &Db) {
    let partial = |filter: Document| {
        create_index(
            "c",
            index(doc! { "a": 1 }, doc! { "partialFilterExpression": filter }),
        )
    };
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": "xy" }, doc! { "_id": 2, "a": "y" }],
    )
    .await;
    let list = doc! { "a": { "$in": [1, pattern("x")] } };
    assert_eq!(code(db, partial(list.clone())).await, 0);
    let found = batch(&run(db, doc! { "find": "c", "filter": list }).await);
    assert_eq!(found, [doc! { "_id": 1, "a": "xy" }]);
    run(db, doc! { "drop": "c" }).await;
    for refused in [
        doc! { "a": pattern("x") },
        doc! { "$alwaysTrue": 1 },
        doc! { "$or": [{ "a": 1 }, { "$alwaysTrue": 1 }] },
    ] {
        assert_eq!(code(db, partial(refused.clone())).await, 67, "{refused}");
    }
}

async fn names_with_dollars_and_reserved_ones_are_no_text_fields(db: &Db) {
    for name in ["a.$id", "a.$ref", "a.$db", "a.$id.b", "_ftsx"] {
        let spec = index(doc! { name: "text" }, doc! {});
        assert_eq!(code(db, create_index("c", spec)).await, 67, "{name}");
    }
    let beside = index(doc! { "x": "text", "a.$id": 1 }, doc! {});
    assert_eq!(code(db, create_index("c", beside)).await, 0);
    for wrong in [bson!(1), Bson::Null, bson!(true)] {
        let spec = index(doc! { "a": 1 }, doc! { "weights": wrong });
        assert_eq!(code(db, create_index("c", spec)).await, 14);
    }
}

async fn wildcard_projections_compute_nothing(db: &Db) {
    for (fields, expected) in [
        (doc! { "a": { "$slice": 1 } }, 51271),
        (doc! { "a": { "b": { "$literal": 1 } } }, 51271),
        (doc! { "a": { "$elemMatch": {} } }, 168),
        (doc! { "a": { "$x": 1 } }, 31325),
        (doc! { "a.$": 1 }, 31324),
    ] {
        let spec = index(doc! { "$**": 1 }, doc! { "wildcardProjection": fields.clone() });
        assert_eq!(code(db, create_index("c", spec)).await, expected, "{fields}");
    }
}

async fn geo_indexes_check_their_numbers(db: &Db) {
    for (kind, options, expected) in [
        ("2d", doc! { "max": 1e300 }, 4_799_400),
        ("2d", doc! { "min": 0, "max": 1e-300 }, 72),
        ("2d", doc! { "min": 0, "max": 1e100 }, 0),
        ("2dsphere", doc! { "2dsphereIndexVersion": 1.5 }, 2),
        ("2dsphere", doc! { "2dsphereIndexVersion": 4.5 }, 67),
        ("2dsphere", doc! { "coarsestIndexedLevel": 1.5 }, 2),
        ("2dsphere", doc! { "finestIndexedLevel": f64::NAN }, 2),
        ("2dsphere", doc! { "finestIndexedLevel": 1 }, 16749),
        ("2dsphere", doc! { "finestIndexedLevel": 2 }, 0),
        ("2dsphere", doc! { "coarsestIndexedLevel": 16 }, 0),
        ("2dsphere", doc! { "coarsestIndexedLevel": 17 }, 16749),
    ] {
        let spec = index(doc! { "a": kind }, options.clone());
        assert_eq!(code(db, create_index("c", spec)).await, expected, "{options}");
        code(db, doc! { "drop": "c" }).await;
    }
}

async fn commit_quorums_are_read(db: &Db) {
    let with = |quorum: Bson| {
        let mut command = create_index("c", index(doc! { "a": 1 }, doc! {}));
        command.insert("commitQuorum", quorum);
        command
    };
    for quorum in [bson!("majority"), bson!("votingMembers"), bson!(1), bson!(0)] {
        let reply = run(db, with(quorum.clone())).await;
        assert_eq!(reply.get("commitQuorum"), Some(&quorum));
        run(db, doc! { "drop": "c" }).await;
    }
    for (quorum, expected) in [
        (bson!(-1), 9),
        (bson!(51), 9),
        (bson!(""), 9),
        (bson!(2), 278),
        (bson!("x"), 79),
        (bson!({}), 14),
    ] {
        assert_eq!(code(db, with(quorum.clone())).await, expected, "{quorum}");
    }
}

async fn indexes_keep_their_version(db: &Db) {
    run(db, create_index("c", index(doc! { "a": 1 }, doc! { "v": 1 }))).await;
    assert_eq!(listed_index(db, "c", "i").await.get_i32("v").ok(), Some(1));
    let collated = index(doc! { "b": 1 }, doc! { "v": 1, "collation": { "locale": "en" } });
    assert_eq!(code(db, create_index("c", collated)).await, 67);
    let fraction = index(doc! { "b": 1 }, doc! { "v": 1.5 });
    assert_eq!(code(db, create_index("c", fraction)).await, 2);
}

async fn views_have_no_reserved_names(db: &Db) {
    for name in ["system.js", "system.users", "system.profile"] {
        let view = doc! { "create": name, "viewOn": "c", "pipeline": [] };
        assert_eq!(code(db, view).await, 73, "{name}");
    }
    for name in ["system.js", "system.users"] {
        run(db, doc! { "create": name }).await;
        assert_eq!(code(db, doc! { "drop": name }).await, 20, "{name}");
    }
}

async fn names_with_dollars_are_looked_for(db: &Db) {
    for name in ["$", "a$b"] {
        for command in [
            doc! { "drop": name },
            doc! { "listIndexes": name },
            doc! { "dropIndexes": name, "index": "*" },
            doc! { "validate": name },
            doc! { "collMod": name },
        ] {
            assert_eq!(code(db, command.clone()).await, 26, "{command}");
        }
        let nothing = run(db, doc! { "aggregate": name, "pipeline": [], "cursor": {} }).await;
        assert!(batch(&nothing).is_empty());
        assert_eq!(code(db, doc! { "collStats": name }).await, 0);
        assert_eq!(code(db, doc! { "planCacheClear": name }).await, 0);
        assert_eq!(code(db, doc! { "find": name }).await, 73);
        assert_eq!(code(db, doc! { "create": name }).await, 73);
    }
}

async fn joined_collections_have_names(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for name in ["", ".", ".a"] {
        for stage in [
            doc! { "$lookup": { "from": name, "pipeline": [], "as": "z" } },
            doc! { "$lookup": { "from": name, "localField": "a", "foreignField": "a", "as": "z" } },
            doc! { "$unionWith": name },
            doc! { "$unionWith": { "coll": name, "pipeline": [] } },
        ] {
            let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
            assert_eq!(code(db, command.clone()).await, 73, "{command}");
        }
    }
}

async fn changes_are_checked_before_the_collection(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for (change, expected) in [
        (doc! { "cappedMax": 1_i64 << 40 }, 51024),
        (doc! { "cappedSize": 0 }, 51024),
        (doc! { "viewOn": "" }, 2),
        (doc! { "pipeline": [1] }, 14),
        (doc! { "expireAfterSeconds": null }, 14),
        (doc! { "timeseries": { "a": 1 } }, 40415),
        (doc! { "validationLevel": "x" }, 2),
        (
            doc! { "dryRun": true, "index": { "name": "_id_", "unique": false } },
            72,
        ),
    ] {
        for name in ["c", "missing"] {
            let mut command = doc! { "collMod": name };
            command.extend(change.clone());
            assert_eq!(code(db, command.clone()).await, expected, "{command}");
        }
    }
    for (index, expected) in [
        (doc! { "name": "x" }, 72),
        (doc! { "name": "x", "expireAfterSeconds": -1 }, 72),
        (doc! { "name": "x", "hidden": true }, 27),
    ] {
        let command = doc! { "collMod": "c", "index": index };
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
    assert_eq!(
        code(db, doc! { "collMod": "c", "isTimeseriesNamespace": true }).await,
        0
    );
}

async fn options_without_effect_are_not_listed(db: &Db) {
    let create = doc! {
        "create": "c",
        "storageEngine": {},
        "indexOptionDefaults": {},
        "changeStreamPreAndPostImages": { "enabled": false },
        "recordPreImages": false,
    };
    run(db, create).await;
    assert_eq!(options(db, "c").await, doc! {});
    for (option, expected) in [
        (doc! { "size": 0 }, 51024),
        (doc! { "max": 1_i64 << 40 }, 51024),
        (doc! { "size": 5 }, 72),
        (doc! { "indexOptionDefaults": { "a": 1 } }, 40415),
    ] {
        let mut command = doc! { "create": "d" };
        command.extend(option);
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn images_are_recorded_by_one_option(db: &Db) {
    let images = || doc! { "enabled": true };
    run(db, doc! { "create": "c", "recordPreImages": true }).await;
    assert_eq!(options(db, "c").await, doc! { "recordPreImages": true });
    run(
        db,
        doc! { "collMod": "c", "changeStreamPreAndPostImages": images() },
    )
    .await;
    assert_eq!(
        options(db, "c").await,
        doc! { "changeStreamPreAndPostImages": images() }
    );
    run(db, doc! { "collMod": "c", "recordPreImages": true }).await;
    assert_eq!(options(db, "c").await, doc! { "recordPreImages": true });
    let both = doc! { "collMod": "c", "recordPreImages": true, "changeStreamPreAndPostImages": images() };
    assert_eq!(code(db, both).await, 72);
}

async fn validated_collections_say_what_does_not_comply(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let reply = run(db, doc! { "validate": "c" }).await;
    assert_eq!(reply.get_i32("nNonCompliantDocuments").ok(), Some(0));
    let reply = run(db, doc! { "validate": "c", "metadata": true }).await;
    assert_eq!(reply.get_bool("valid").ok(), Some(true));
    for name in [
        "nInvalidDocuments",
        "nrecords",
        "nIndexes",
        "keysPerIndex",
        "indexDetails",
    ] {
        assert!(!reply.contains_key(name), "{name}");
    }
}

async fn statistics_of_nothing_are_short(db: &Db) {
    let reply = run(db, doc! { "collStats": "missing" }).await;
    assert_eq!(reply.get("indexDetails"), Some(&bson!({})));
    for name in ["capped", "freeStorageSize", "indexBuilds"] {
        assert!(!reply.contains_key(name), "{name}");
    }
}

async fn indexes_are_not_rebuilt_on_a_set(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for name in ["c", "nothing", "a$b", "system.x"] {
        assert_eq!(code(db, doc! { "reIndex": name }).await, 20, "{name}");
    }
    for name in [bson!(1), bson!(1.5), bson!(null), bson!(""), bson!(".x")] {
        assert_eq!(code(db, doc! { "reIndex": name.clone() }).await, 73, "{name}");
    }
    assert_eq!(
        code(db, doc! { "reIndex": "c", "writeConcern": { "w": 1 } }).await,
        72
    );
    assert_eq!(code(db, doc! { "reIndex": "c", "maxTimeMS": -1 }).await, 2);
}

async fn statistics_of_a_database_are_asked_for_by_no_name(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for name in ["c", "", "a b", "c.d"] {
        assert_eq!(code(db, doc! { "dbStats": name }).await, 73, "{name}");
        assert_eq!(code(db, doc! { "dbStats": name, "more": 1 }).await, 73, "{name}");
    }
    for what in [
        bson!(1),
        bson!(true),
        bson!(null),
        bson!({ "a": 1 }),
        bson!(["c"]),
    ] {
        let found = run(db, doc! { "dbStats": what }).await;
        assert_eq!(found.get("db").and_then(Bson::as_str), Some(db.name()));
    }
}
