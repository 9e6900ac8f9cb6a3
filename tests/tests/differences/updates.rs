//! What updates say of the names and values that they are made of, and in which order.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, code, insert, run};

crate::on_every_backend! {
    the_buckets_of_a_series_are_not_written_past_it,
    a_filter_of_items_has_a_condition_on_one_name,
    a_value_that_is_no_operator_is_kept_by_an_upsert,
    an_id_of_parts_may_have_any_names,
    an_id_that_is_there_twice_is_refused_before_its_parts,
    a_rename_conflicts_before_its_target_is_looked_at,
    values_are_refused_before_identifiers_that_paths_begin_with,
    nothing_added_makes_an_empty_array_of_an_id,
    an_id_is_looked_at_where_it_stands,
    references_to_other_databases_are_looked_at_from_their_end,
    stages_of_updates_are_refused_where_they_stand_first,
}

fn update(filter: Document, change: impl Into<Bson>) -> Document {
    doc! { "update": "c", "updates": [{ "q": filter, "u": change.into() }] }
}

fn upsert(filter: Document, change: impl Into<Bson>) -> Document {
    doc! { "update": "c", "updates": [{ "q": filter, "u": change.into(), "upsert": true }] }
}

/// Asserts the code of each command.
async fn codes<const N: usize>(db: &Db, cases: [(Document, i32); N]) {
    for (command, expected) in cases {
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn all(db: &Db) -> Vec<Document> {
    batch(&run(db, doc! { "find": "c", "sort": { "_id": 1 } }).await)
}

/// The document that the upsert makes.
async fn made(db: &Db, filter: Document, change: impl Into<Bson>) -> Document {
    run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    let command = upsert(filter, change);
    assert_eq!(code(db, command.clone()).await, 0, "{command}");
    all(db).await.remove(0)
}

async fn the_buckets_of_a_series_are_not_written_past_it(db: &Db) {
    run(db, doc! { "create": "c", "timeseries": { "timeField": "t" } }).await;
    let change = doc! {
        "findAndModify": "system.buckets.c",
        "query": { "_id": 44 },
        "update": { "a": 1 },
        "upsert": true,
    };
    // Unsupported by the embedded engine; MongoDB has a validator for it.
    assert!([115, 121].contains(&code(db, change).await));
    assert!(all(db).await.is_empty());
}

async fn a_filter_of_items_has_a_condition_on_one_name(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [1, 2] }]).await;
    let by = |filter: Document| {
        let change = doc! { "$set": { "a.$[i]": 9 } };
        doc! { "update": "c", "updates": [{ "q": {}, "u": change, "arrayFilters": [filter] }] }
    };
    let nothing = || doc! { "$all": [] };
    codes(
        db,
        [
            (by(doc! { "i": { "$not": nothing() } }), 9),
            (by(doc! { "i": nothing() }), 9),
            (by(doc! { "i.a": nothing() }), 9),
            (by(doc! { "I": nothing() }), 9),
            (by(doc! { "$nor": [{ "i": nothing() }] }), 9),
            (by(doc! { "$or": [{ "i": nothing() }, { "j": nothing() }] }), 9),
            (by(doc! { "i": nothing(), "j": 1 }), 2),
            (by(doc! { "j": nothing(), "i": 1 }), 0),
            (by(doc! { "i": { "$all": [], "$gt": 0 } }), 0),
            (by(doc! { "i": { "$elemMatch": nothing() } }), 0),
            (by(doc! { "i": { "$in": [] } }), 0),
        ],
    )
    .await;
    assert_eq!(all(db).await, [doc! { "_id": 1, "a": [1, 2] }]);
}

async fn a_value_that_is_no_operator_is_kept_by_an_upsert(db: &Db) {
    let value = doc! { "$": 2.5, "$id": {}, "$ref": { "$each": null } };
    let made = made(db, doc! { "_id.a": value.clone() }, doc! { "$set": { "z": 1 } }).await;
    assert_eq!(made, doc! { "_id": { "a": value }, "z": 1 });
}

async fn an_id_of_parts_may_have_any_names(db: &Db) {
    let set = || doc! { "$set": { "z": 1 } };
    let inner = || doc! { "_id.a": { "b": { "$x": 1 } } };
    let reference = doc! { "_id.$ref": "a", "_id.$id": 1 };
    for (filter, id) in [
        (doc! { "_id.$x": 1 }, doc! { "$x": 1 }),
        (doc! { "_id.$id": 1 }, doc! { "$id": 1 }),
        (reference, doc! { "$ref": "a", "$id": 1 }),
        (inner(), doc! { "a": { "b": { "$x": 1 } } }),
    ] {
        assert_eq!(
            made(db, filter.clone(), set()).await,
            doc! { "_id": id.clone(), "z": 1 }
        );
        assert_eq!(made(db, filter, bson!([])).await, doc! { "_id": id });
    }
    codes(
        db,
        [
            (upsert(doc! { "_id.$x": 2 }, bson!([{ "$set": { "z": 1 } }])), 52),
            (upsert(doc! { "_id": { "a": { "$x": 2 } } }, set()), 52),
            (upsert(doc! { "_id.$x": 2 }, doc! {}), 111),
        ],
    )
    .await;
}

async fn an_id_that_is_there_twice_is_refused_before_its_parts(db: &Db) {
    let parts = doc! { "_id": false, "$and": [{ "_id.a": 1 }, { "_id": 2 }] };
    let once = doc! { "_id": false, "$and": [{ "_id.a": 1 }, { "_id.a": 2 }] };
    codes(
        db,
        [
            (upsert(parts, doc! { "x": 1 }), 54),
            (upsert(once, doc! { "x": 1 }), 111),
        ],
    )
    .await;
}

async fn a_rename_conflicts_before_its_target_is_looked_at(db: &Db) {
    let both = |target: Bson| update(doc! {}, doc! { "$set": { "a": 1 }, "$rename": { "a": target } });
    codes(
        db,
        [
            (both(Bson::Int32(2)), 40),
            (both(Bson::String("x\0y".to_owned())), 40),
            (update(doc! {}, doc! { "$rename": { "": 2 } }), 56),
            (update(doc! {}, doc! { "$rename": { "a": 2 } }), 2),
        ],
    )
    .await;
}

async fn values_are_refused_before_identifiers_that_paths_begin_with(db: &Db) {
    codes(
        db,
        [
            (update(doc! {}, doc! { "$pop": { "$[j].0": [] } }), 9),
            (update(doc! {}, doc! { "$pop": { "$[j].0": 1 } }), 2),
            (update(doc! {}, doc! { "$inc": { "$[].a": "a" } }), 14),
            (
                update(doc! {}, doc! { "$addToSet": { "$[j].a": { "$each": 1 } } }),
                14,
            ),
            // What is wrong with the positional operator goes before.
            (update(doc! {}, doc! { "$inc": { "$.a": "a" } }), 2),
        ],
    )
    .await;
}

async fn nothing_added_makes_an_empty_array_of_an_id(db: &Db) {
    let push = |items: Bson| {
        upsert(
            doc! {},
            doc! { "$push": { "_id": { "$each": items } }, "$inc": { "z": 1 } },
        )
    };
    let add = |items: Bson| upsert(doc! {}, doc! { "$addToSet": { "_id": { "$each": items } } });
    codes(
        db,
        [
            (push(bson!([])), 53),
            (push(bson!([1])), 54),
            (add(bson!([])), 53),
            (add(bson!([1])), 54),
        ],
    )
    .await;
}

async fn an_id_is_looked_at_where_it_stands(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    codes(
        db,
        [
            (update(doc! {}, doc! { "_id": [], "$id": 1 }), 53),
            (update(doc! {}, doc! { "_id": { "$x": 1 }, "$id": 1 }), 52),
            (update(doc! {}, doc! { "a": 1, "_id": [], "$id": 1 }), 53),
            (update(doc! {}, doc! { "a": 1, "$id": 1, "_id": [] }), 55),
            (update(doc! {}, doc! { "_id": 2, "$id": 1 }), 55),
        ],
    )
    .await;
}

async fn references_to_other_databases_are_looked_at_from_their_end(db: &Db) {
    let wrong = || doc! { "_id": 2, "$ref": { "b": 1 } };
    let alone = || doc! { "_id": 2, "$id": 1 };
    let whole = || doc! { "_id": 2, "$ref": "b", "$id": 1 };
    let set = |field: &str, value: Bson| doc! { "$set": { field: value } };
    let one = || Bson::Int32(1);
    let text = || Bson::String("q".to_owned());
    for (document, change, expected) in [
        (wrong(), set("$id", one()), 55),
        (wrong(), set("$id.a", one()), 55),
        (wrong(), doc! { "$bit": { "$id": { "or": 1 } } }, 55),
        (wrong(), set("z", one()), 0),
        (alone(), set("$db", text()), 55),
        (alone(), set("$id", Bson::Int32(2)), 55),
        (whole(), set("$db", text()), 0),
        (whole(), set("$db", one()), 55),
        (whole(), set("$id", Bson::Int32(2)), 0),
        (
            doc! { "_id": 2, "$ref": "b" },
            doc! { "$set": { "$ref": "a", "$id": 1 } },
            0,
        ),
        (doc! { "_id": 2, "$ref": "b" }, set("$ref", text()), 55),
    ] {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        insert(db, "c", vec![document.clone()]).await;
        let command = update(doc! {}, change);
        assert_eq!(code(db, command.clone()).await, expected, "{document} {command}");
    }
}

async fn stages_of_updates_are_refused_where_they_stand_first(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let set = || bson!({ "$set": { "a": 1 } });
    let statistics = || bson!({ "$collStats": {} });
    let documents = || bson!({ "$documents": [] });
    let out = || bson!({ "$out": "o" });
    let by = |stages: Vec<Bson>| update(doc! {}, Bson::Array(stages));
    codes(
        db,
        [
            (by(vec![set(), statistics()]), 40602),
            (by(vec![statistics()]), 72),
            (by(vec![documents(), statistics()]), 73),
            (by(vec![set(), documents()]), 40602),
            (by(vec![set(), statistics(), out(), set()]), 40602),
            (by(vec![out(), documents()]), 40601),
            (by(vec![documents(), bson!({ "$set": 1 })]), 40272),
        ],
    )
    .await;
}
