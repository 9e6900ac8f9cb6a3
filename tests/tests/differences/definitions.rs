//! What defines indexes: rules that were found to be others.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, insert, run};

use super::refusals::{answer, check, indexed};

crate::on_every_backend! {
    a_list_that_begins_with_a_star_is_all_indexes,
    wildcards_may_take_a_part_of_an_id,
    indexes_of_version_1_have_no_collation_of_their_collection,
    levels_of_cells_are_like_bools,
    a_wildcard_is_refused_where_its_key_is_met,
    refused_conditions_are_shown_as_written,
}

async fn index_names(db: &Db, name: &str) -> Vec<String> {
    let listed = batch(&run(db, doc! { "listIndexes": name }).await);
    let names = listed
        .iter()
        .map(|index| index.get_str("name").unwrap().to_owned());
    names.collect()
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
        (
            doc! { "b": { "$exists": true }, "a": { "$nin": [1] } },
            "$not\n    a $in [ 1 ]\n",
        ),
        (
            doc! { "$comment": "x", "a": { "$not": { "$in": [1] } } },
            "$not\n    $and\n        a $in [ 1 ]\n",
        ),
        (
            doc! { "g": { "$geoWithin": { "$center": [[0, 0], 1] } }, "a": { "$nin": [1] } },
            "$not\n    a $in [ 1 ]\n",
        ),
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
