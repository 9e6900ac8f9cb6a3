//! Collections, views, indexes and what is measured of them: what was found to differ there.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Decimal128, Document, doc};
use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    capped_copies_keep_what_a_collection_is,
    sizes_of_capped_copies_are_looked_at_behind_the_source,
    views_are_counted_above_and_below_a_new_one,
    views_above_a_new_one_compare_as_it_does,
    views_are_documents_of_a_collection,
    partial_filters_are_not_too_deep,
    the_index_of_ids_is_as_it_is_asked_for,
    clustered_collections_take_no_other_options,
    a_validation_is_of_one_kind,
    two_identical_indexes_of_a_command_are_refused,
    an_update_can_supply_what_it_inserts,
    upserts_take_documents_of_other_names_from_lists,
    keys_are_shown_within_all_bounds,
    keys_of_wildcards_are_shown_with_their_paths,
    parts_of_collections_are_measured,
    a_listing_is_filtered_by_what_needs_no_query,
    another_collection_of_a_uuid_is_told,
}

/// What `listCollections` tells of a collection's options.
async fn options(db: &Db, name: &str) -> Document {
    let list = doc! { "listCollections": 1, "filter": { "name": name } };
    let found = batch(&run(db, list).await);
    found[0].get_document("options").unwrap().clone()
}

async fn capped_copies_keep_what_a_collection_is(db: &Db) {
    let create = doc! {
        "create": "c", "validator": { "a": { "$gt": 3 } }, "validationLevel": "moderate",
        "collation": { "locale": "fr" },
    };
    run(db, create).await;
    let documents: Vec<Document> = (0..8).map(|id| doc! { "_id": id, "a": id }).collect();
    run(
        db,
        doc! { "insert": "c", "documents": documents, "bypassDocumentValidation": true },
    )
    .await;
    let clone = doc! { "cloneCollectionAsCapped": "c", "toCollection": "d", "size": 4096 };
    run(db, clone).await;
    // No validator looks at what is copied.
    let all = doc! { "find": "d", "sort": { "_id": 1 } };
    assert_eq!(ids(&batch(&run(db, all).await)).len(), 8);
    run(db, doc! { "convertToCapped": "c", "size": 4096 }).await;
    for name in ["c", "d"] {
        let own = options(db, name).await;
        assert_eq!(
            own.get_document("validator").unwrap(),
            &doc! { "a": { "$gt": 3 } }
        );
        assert_eq!(own.get_str("validationLevel").unwrap(), "moderate");
        assert_eq!(
            own.get_document("collation").unwrap().get_str("locale").unwrap(),
            "fr"
        );
        assert!(own.get_bool("capped").unwrap());
    }
    let refused = doc! { "insert": "d", "documents": [{ "_id": 9, "a": 1 }] };
    assert_eq!(code(db, refused).await, 121);

    // So does the number of documents.
    run(db, doc! { "create": "n", "capped": true, "size": 8192, "max": 5 }).await;
    let documents = (0..8).map(|id| doc! { "_id": id }).collect();
    insert(db, "n", documents).await;
    run(
        db,
        doc! { "cloneCollectionAsCapped": "n", "toCollection": "m", "size": 4096 },
    )
    .await;
    insert(db, "m", vec![doc! { "_id": 40 }]).await;
    let left = batch(&run(db, doc! { "find": "m" }).await);
    assert_eq!(ids(&left), [4, 5, 6, 7, 40]);
}

async fn sizes_of_capped_copies_are_looked_at_behind_the_source(db: &Db) {
    let convert = |size: Bson| doc! { "convertToCapped": "c", "size": size };
    assert_eq!(code(db, convert((-1).into())).await, 26);
    assert_eq!(code(db, convert((1_i64 << 60).into())).await, 26);
    run(db, doc! { "create": "c" }).await;
    assert_eq!(code(db, convert((-1).into())).await, 2);
    assert_eq!(code(db, convert((1_i64 << 60).into())).await, 2);
    assert_eq!(code(db, convert(100.into())).await, 0);
    let decimal: Decimal128 = "300.5".parse().unwrap();
    assert_eq!(code(db, convert(decimal.into())).await, 0);
}

fn view(name: &str, on: &str) -> Document {
    doc! { "create": name, "viewOn": on, "pipeline": [] }
}

async fn views_are_counted_above_and_below_a_new_one(db: &Db) {
    for n in 0..10 {
        run(db, view(&format!("a{}", n + 1), &format!("a{n}"))).await;
        run(db, view(&format!("b{}", n + 1), &format!("b{n}"))).await;
    }
    // Ten are below, ten above.
    assert_eq!(code(db, view("b0", "a10")).await, 165);
    assert_eq!(code(db, view("b0", "a9")).await, 0);
    let join = |from: &str| doc! { "create": "x", "viewOn": "c", "pipeline": [{ "$unionWith": from }] };
    assert_eq!(code(db, join("b10")).await, 165);
    assert_eq!(code(db, join("b9")).await, 0);
}

async fn views_above_a_new_one_compare_as_it_does(db: &Db) {
    run(db, view("a", "b")).await;
    let french = doc! { "create": "b", "viewOn": "c", "pipeline": [], "collation": { "locale": "fr" } };
    assert_eq!(code(db, french).await, 167);
    assert_eq!(code(db, view("b", "c")).await, 0);
}

async fn views_are_documents_of_a_collection(db: &Db) {
    let create = doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "a": 1 } }] };
    run(db, create).await;
    let database = db.name();
    let expected = doc! {
        "_id": format!("{database}.v"), "viewOn": "c", "pipeline": [{ "$match": { "a": 1 } }],
    };
    let found = batch(&run(db, doc! { "find": "system.views" }).await);
    assert_eq!(found, [expected]);
    let count = run(db, doc! { "count": "system.views", "query": { "viewOn": "c" } }).await;
    assert_eq!(count.get_i32("n").unwrap(), 1);
    let place =
        doc! { "find": "system.views", "showRecordId": true, "projection": { "pipeline": { "$slice": 0 } } };
    let expected = doc! {
        "_id": format!("{database}.v"), "viewOn": "c", "pipeline": [], "$recordId": 1_i64,
    };
    assert_eq!(batch(&run(db, place).await), [expected]);
    let keys = doc! { "find": "system.views", "returnKey": true };
    assert_eq!(batch(&run(db, keys).await), [doc! {}]);
    let names = doc! { "listCollections": 1, "nameOnly": true, "filter": { "name": "system.views" } };
    let listed = batch(&run(db, names).await);
    assert_eq!(listed, [doc! { "name": "system.views", "type": "collection" }]);
    run(db, doc! { "drop": "v" }).await;
    assert_eq!(batch(&run(db, doc! { "find": "system.views" }).await).len(), 0);
}

async fn partial_filters_are_not_too_deep(db: &Db) {
    let nested = |depth: usize| {
        (0..depth).fold(doc! { "a": 1 }, |inner, level| {
            let operator = if level % 2 == 0 { "$and" } else { "$or" };
            doc! { operator: [inner, { "b": 1 }] }
        })
    };
    let index = |filter: Document| {
        doc! { "createIndexes": "c", "indexes": [{
            "key": { "a": 1 }, "name": "i", "partialFilterExpression": filter,
        }] }
    };
    assert_eq!(code(db, index(nested(4))).await, 67);
    assert_eq!(code(db, index(nested(3))).await, 0);
}

async fn the_index_of_ids_is_as_it_is_asked_for(db: &Db) {
    let create = |index: Document| doc! { "create": "c", "idIndex": index };
    let french = doc! { "locale": "fr" };
    let with = |rest: Document| {
        let mut index = doc! { "key": { "_id": 1 }, "name": "x" };
        index.extend(rest);
        index
    };
    assert_eq!(
        code(db, create(with(doc! { "collation": french.clone() }))).await,
        2
    );
    assert_eq!(
        code(db, create(with(doc! { "v": 1, "collation": french }))).await,
        67
    );
    assert_eq!(code(db, create(with(doc! { "v": 1 }))).await, 0);
    let indexes = batch(&run(db, doc! { "listIndexes": "c" }).await);
    assert_eq!(indexes, [doc! { "v": 1, "key": { "_id": 1 }, "name": "_id_" }]);
}

async fn clustered_collections_take_no_other_options(db: &Db) {
    let clustered = || doc! { "key": { "_id": 1 }, "unique": true };
    let cases = [
        (doc! { "capped": true }, 6_127_800),
        (doc! { "idIndex": { "key": { "_id": 1 }, "name": "x" } }, 72),
        (doc! { "autoIndexId": false }, 6_026_501),
    ];
    for (rest, expected) in cases {
        let mut create = doc! { "create": "c", "clusteredIndex": clustered() };
        create.extend(rest.clone());
        assert_eq!(code(db, create).await, expected, "{rest}");
    }
    let mut unknown = clustered();
    unknown.insert("x", Bson::Null);
    assert_eq!(
        code(db, doc! { "create": "c", "clusteredIndex": unknown }).await,
        40_415
    );
    let images = doc! {
        "create": "v", "viewOn": "c", "changeStreamPreAndPostImages": { "enabled": true },
    };
    assert_eq!(code(db, images).await, 72);
    run(db, doc! { "create": "c", "clusteredIndex": clustered() }).await;
    let valid = run(db, doc! { "validate": "c" }).await;
    assert_eq!(valid.get_i32("nIndexes").unwrap(), 0);
}

async fn a_validation_is_of_one_kind(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for (one, other) in [
        ("background", "full"),
        ("metadata", "full"),
        ("metadata", "background"),
    ] {
        let validate = doc! { "validate": "c", one: true, other: true };
        assert_eq!(code(db, validate).await, 72, "{one} and {other}");
    }
    assert_eq!(code(db, doc! { "validate": "c", "metadata": true }).await, 0);
}

async fn two_identical_indexes_of_a_command_are_refused(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let index = || doc! { "key": { "a": 1 }, "name": "i" };
    let create = |name: &str| doc! { "createIndexes": name, "indexes": [index(), index()] };
    assert_eq!(code(db, create("c")).await, 96);
    // Where there is nothing to index, the second finds the first.
    assert_eq!(code(db, create("none")).await, 68);
}

async fn an_update_can_supply_what_it_inserts(db: &Db) {
    let update = |upsert: bool, constants: Document| {
        doc! { "update": "c", "updates": [{
            "q": { "k": 5 }, "u": [{ "$set": { "z": 1 } }], "upsertSupplied": true, "upsert": upsert,
            "c": constants,
        }] }
    };
    let supplied = || doc! { "new": { "_id": 7, "a": 1 } };
    assert_eq!(code(db, update(false, supplied())).await, 9);
    assert_eq!(code(db, update(true, doc! {})).await, 9);
    assert_eq!(code(db, update(true, supplied())).await, 0);
    let found = batch(&run(db, doc! { "find": "c" }).await);
    assert_eq!(found, [doc! { "_id": 7, "a": 1 }]);
}

async fn upserts_take_documents_of_other_names_from_lists(db: &Db) {
    let upsert = |filter: Document| {
        doc! { "update": "c", "updates": [{ "q": filter, "u": { "$set": { "z": 1 } }, "upsert": true }] }
    };
    let all = doc! { "a": { "$all": [{ "x": 1 }] }, "_id": 1 };
    assert_eq!(code(db, upsert(all)).await, 0);
    let found = batch(&run(db, doc! { "find": "c" }).await);
    assert_eq!(found, [doc! { "_id": 1, "a": { "x": 1 }, "z": 1 }]);
}

async fn keys_are_shown_within_all_bounds(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 5, "b": [0, "x"] }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1, "b": 1 }, "name": "i" }] },
    )
    .await;
    let find = doc! {
        "find": "c", "filter": { "a": { "$gt": 0 }, "b": "x" }, "hint": "i", "returnKey": true,
    };
    assert_eq!(batch(&run(db, find).await), [doc! { "a": 5, "b": "x" }]);
}

async fn keys_of_wildcards_are_shown_with_their_paths(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": { "b": 5 } }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "$**": 1 }, "name": "i" }] },
    )
    .await;
    let find = |filter: Document| doc! { "find": "c", "filter": filter, "hint": "i", "returnKey": true };
    let shown = batch(&run(db, find(doc! { "a.b": { "$gt": 3 } })).await);
    assert_eq!(shown, [doc! { "$_path": "a.b", "a.b": 5 }]);
    let shown = batch(&run(db, find(doc! { "a": { "$exists": true } })).await);
    assert_eq!(shown, [doc! { "$_path": "a.b", "a": 5 }]);
}

async fn parts_of_collections_are_measured(db: &Db) {
    let whole = format!("{}.c", db.name());
    let measure = |rest: Document| {
        let mut command = doc! { "dataSize": whole.clone() };
        command.extend(rest);
        command
    };
    let none = run(db, measure(doc! {})).await;
    assert_eq!(none.get_i32("size").unwrap(), 0);
    assert_eq!(none.get_i32("numObjects").unwrap(), 0);
    assert!(!none.contains_key("estimate"));
    let documents: Vec<Document> = (0..5).map(|id| doc! { "_id": id }).collect();
    insert(db, "c", documents).await;
    let all = run(db, measure(doc! {})).await;
    // A document of one number has 14 bytes.
    assert_eq!(all.get_i32("size").unwrap(), 70);
    assert_eq!(all.get_i32("numObjects").unwrap(), 5);
    let part = doc! { "keyPattern": { "_id": 1 }, "min": { "_id": 1 }, "max": { "_id": 3 } };
    let part = run(db, measure(part)).await;
    assert_eq!(part.get_i32("size").unwrap(), 28);
    let cut = run(db, measure(doc! { "maxObjects": 2 })).await;
    assert!(cut.get_bool("maxReached").unwrap());
    assert_eq!(cut.get_i32("numObjects").unwrap(), 3);
    assert_eq!(code(db, measure(doc! { "min": { "_id": 1 } })).await, 2);
    let other = doc! { "keyPattern": { "_id": 1 }, "min": { "a": 1 }, "max": { "a": 3 } };
    assert_eq!(code(db, measure(other)).await, 16_634);
    run(db, view("v", "c")).await;
    assert_eq!(
        code(db, doc! { "dataSize": format!("{}.v", db.name()) }).await,
        166
    );
}

async fn a_listing_is_filtered_by_what_needs_no_query(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let list = |filter: Document| doc! { "listCollections": 1, "filter": filter };
    assert_eq!(code(db, list(doc! { "$where": "1" })).await, 2);
    assert_eq!(code(db, list(doc! { "$text": { "$search": "c" } })).await, 2);
    let found = batch(&run(db, list(doc! { "$expr": { "$eq": ["$name", "c"] } })).await);
    assert_eq!(found.len(), 1);
}

async fn another_collection_of_a_uuid_is_told(db: &Db) {
    for name in ["c", "d"] {
        insert(db, name, vec![doc! { "_id": 1 }]).await;
    }
    let listed = batch(&run(db, doc! { "listCollections": 1, "filter": { "name": "d" } }).await);
    let known = listed[0]
        .get_document("info")
        .unwrap()
        .get("uuid")
        .unwrap()
        .clone();
    let unknown = Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![7; 16],
    });
    for (uuid, actual) in [(known, Bson::String("d".to_owned())), (unknown, Bson::Null)] {
        let delete =
            doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 1 }], "collectionUUID": uuid.clone() };
        let reply = run(db, delete).await;
        let expected = doc! {
            "index": 0,
            "code": 361,
            "errmsg": "Collection UUID does not match that specified",
            "db": db.name(),
            "collectionUUID": uuid,
            "expectedCollection": "c",
            "actualCollection": actual,
        };
        assert_eq!(
            reply.get_array("writeErrors").unwrap(),
            &[Bson::Document(expected)]
        );
    }
}
