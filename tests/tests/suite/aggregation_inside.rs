//! Stages inside of others, and stages in updates.

use bson::{Bson, Document, doc};
use odm::Db;

use super::time_series::code;

crate::on_every_backend! {
    distances_are_asked_for_inside_other_stages,
    distances_inside_other_stages_need_an_index_and_the_first_place,
    places_in_the_plane_have_angles_made_of_meters,
    an_update_fills_values,
    a_joined_id_comes_last,
    directions_that_are_decimals_are_rounded,
    a_merge_says_whose_key_is_taken,
    scans_are_counted,
}

fn near() -> Document {
    doc! { "$geoNear": { "near": { "type": "Point", "coordinates": [2, 0] }, "distanceField": "d" } }
}

async fn places(db: &Db) {
    let g = db.raw_collection("g");
    g.insert_many((0..4).map(|id| {
        let kind = if id % 2 == 0 { "x" } else { "y" };
        doc! { "_id": id, "k": kind, "loc": { "type": "Point", "coordinates": [id, 0] } }
    }))
    .await
    .unwrap();
    let index = doc! { "key": { "loc": "2dsphere" }, "name": "loc_2dsphere" };
    db.run_command(doc! { "createIndexes": "g", "indexes": [index] })
        .await
        .unwrap();
    let a = db.raw_collection("a");
    a.insert_many([doc! { "_id": 1, "k": "x" }, doc! { "_id": 2, "k": "y" }])
        .await
        .unwrap();
    db.run_command(doc! { "create": "v", "viewOn": "g" })
        .await
        .unwrap();
}

async fn distances_are_asked_for_inside_other_stages(db: &Db) {
    places(db).await;
    let a = db.raw_collection("a");
    let ids = |documents: &[Bson]| -> Vec<i32> {
        documents
            .iter()
            .map(|one| one.as_document().unwrap().get_i32("_id").unwrap())
            .collect()
    };
    for from in ["g", "v"] {
        let joined = a
            .aggregate_raw([
                doc! { "$lookup": { "from": from, "pipeline": [near(), { "$project": { "d": 1 } }], "as": "j" } },
                doc! { "$limit": 1 },
            ])
            .await
            .unwrap();
        let found = joined[0].get_array("j").unwrap();
        assert_eq!(ids(found), [2, 1, 3, 0]);
        assert_eq!(found[0].as_document().unwrap().get_f64("d").unwrap(), 0.0);
        assert_eq!(
            found[1].as_document().unwrap().get_f64("d").unwrap(),
            111_318.845_021_450_34
        );
    }
    let by_variables = a
        .aggregate_raw([
            doc! { "$lookup": {
                "from": "g", "let": { "place": [1, 0], "kind": "$k" }, "as": "j",
                "pipeline": [
                    { "$geoNear": {
                        "near": "$$place", "distanceField": "d", "spherical": true,
                        "query": { "$expr": { "$eq": ["$k", "$$kind"] } },
                    } },
                ],
            } },
            doc! { "$sort": { "_id": 1 } },
        ])
        .await
        .unwrap();
    let mut first = ids(by_variables[0].get_array("j").unwrap());
    first.sort_unstable();
    assert_eq!(first, [0, 2]);
    assert_eq!(ids(by_variables[1].get_array("j").unwrap()), [1, 3]);
    let together = a
        .aggregate_raw([
            doc! { "$unionWith": { "coll": "g", "pipeline": [near(), { "$limit": 1 }] } },
            doc! { "$match": { "d": { "$exists": true } } },
        ])
        .await
        .unwrap();
    assert_eq!(together.len(), 1);
    assert_eq!(together[0].get_i32("_id").unwrap(), 2);
}

async fn distances_inside_other_stages_need_an_index_and_the_first_place(db: &Db) {
    places(db).await;
    let aggregate = |stage: Document| doc! { "aggregate": "a", "pipeline": [stage], "cursor": {} };
    let union =
        |coll: &str, stages: Vec<Document>| doc! { "$unionWith": { "coll": coll, "pipeline": stages } };
    let lookup = |from: &str, more: Document| {
        let mut spec = doc! { "from": from, "pipeline": [near()], "as": "j" };
        spec.extend(more);
        doc! { "$lookup": spec }
    };
    for (stage, expected) in [
        (union("none", vec![near()]), 26),
        (union("a", vec![near()]), 27),
        (union("g", vec![doc! { "$match": {} }, near()]), 40603),
        (lookup("none", doc! {}), 26),
        (
            lookup("g", doc! { "localField": "k", "foreignField": "k" }),
            40603,
        ),
        (doc! { "$facet": { "x": [near()] } }, 40600),
        (
            doc! { "$lookup": {
                "from": "g", "let": { "p": "$k" }, "as": "j",
                "pipeline": [{ "$geoNear": { "near": "$$p", "distanceField": "d" } }],
            } },
            5_860_401,
        ),
    ] {
        assert_eq!(
            code(db, aggregate(stage.clone())).await,
            Some(expected),
            "{stage}"
        );
    }
}

async fn places_in_the_plane_have_angles_made_of_meters(db: &Db) {
    let p = db.raw_collection("p");
    p.insert(doc! { "_id": 1, "l": [3, 0] }).await.unwrap();
    let index = doc! { "key": { "l": "2d" }, "name": "l_2d" };
    db.run_command(doc! { "createIndexes": "p", "indexes": [index] })
        .await
        .unwrap();
    let near = doc! { "$geoNear": { "near": [0, 0], "distanceField": "d", "spherical": true } };
    let found = p.aggregate_raw([near]).await.unwrap();
    assert_eq!(found[0].get_f64("d").unwrap(), 0.052_359_877_559_829_9);
}

async fn an_update_fills_values(db: &Db) {
    let c = db.raw_collection("c");
    c.insert_many([
        doc! { "_id": 1, "y": 5 },
        doc! { "_id": 2 },
        doc! { "_id": 3, "y": null },
    ])
    .await
    .unwrap();
    let update = |filling: Document| {
        let stage = doc! { "$fill": { "output": { "y": filling } } };
        doc! { "update": "c", "updates": [{ "q": {}, "u": [stage], "multi": true }] }
    };
    let reply = db.run_command(update(doc! { "value": 42 })).await.unwrap();
    assert_eq!(reply.get_i32("nModified").unwrap(), 2);
    assert_eq!(c.count(doc! { "y": 42 }).await.unwrap(), 2);
    assert_eq!(code(db, update(doc! { "method": "locf" })).await, Some(72));
    let stage = doc! { "$fill": { "output": { "z": { "value": 1 } } } };
    c.aggregate_raw([doc! { "$merge": { "into": "c", "whenMatched": [stage] } }])
        .await
        .unwrap();
    assert_eq!(c.count(doc! { "z": 1 }).await.unwrap(), 3);
}

async fn a_joined_id_comes_last(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! { "_id": 1, "v": 5 }).await.unwrap();
    for (into, expected) in [("_id", "v,_id"), ("_id.x", "v,_id"), ("v", "_id,v")] {
        let lookup = doc! { "from": "c", "localField": "v", "foreignField": "v", "as": into };
        let found = c.aggregate_raw([doc! { "$lookup": lookup }]).await.unwrap();
        let names: Vec<&str> = found[0].keys().map(String::as_str).collect();
        assert_eq!(names.join(","), expected, "{into}");
    }
}

async fn directions_that_are_decimals_are_rounded(db: &Db) {
    let c = db.raw_collection("c");
    c.insert_many([doc! { "_id": 1, "v": 2 }, doc! { "_id": 2, "v": 1 }])
        .await
        .unwrap();
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    for (direction, expected) in [
        (decimal("0.51"), Some(2)),
        (decimal("-0.51"), Some(1)),
        (decimal("1.49"), Some(2)),
        (decimal("0.5"), None),
        (decimal("1.5"), None),
        (Bson::from(0.9), None),
        (Bson::from(1.9), Some(2)),
    ] {
        let find = doc! { "find": "c", "sort": { "v": direction.clone() }, "limit": 1 };
        let stages = [doc! { "$sort": { "v": direction.clone() } }, doc! { "$limit": 1 }];
        let aggregate = doc! { "aggregate": "c", "pipeline": stages.to_vec(), "cursor": {} };
        for command in [find, aggregate] {
            match expected {
                None => assert_eq!(code(db, command).await, Some(15975), "{direction}"),
                Some(id) => {
                    let reply = db.run_command(command).await.unwrap();
                    let batch = reply
                        .get_document("cursor")
                        .unwrap()
                        .get_array("firstBatch")
                        .unwrap();
                    assert_eq!(
                        batch[0].as_document().unwrap().get_i32("_id").unwrap(),
                        id,
                        "{direction}"
                    );
                }
            }
        }
    }
}

async fn a_merge_says_whose_key_is_taken(db: &Db) {
    let index = doc! { "key": { "o": 1 }, "name": "o_1", "unique": true };
    db.run_command(doc! { "createIndexes": "d", "indexes": [index] })
        .await
        .unwrap();
    db.raw_collection("d")
        .insert(doc! { "_id": 7, "o": 2 })
        .await
        .unwrap();
    let e = db.raw_collection("e");
    e.insert(doc! { "_id": 0, "o": 2 }).await.unwrap();
    for matched in ["merge", "replace", "keepExisting", "fail"] {
        let merge = doc! { "$merge": { "into": "d", "whenMatched": matched } };
        let error = e.aggregate_raw([merge]).await.unwrap_err();
        assert!(error.is_duplicate_key());
        let text = error.to_string();
        let expected = format!(
            "$merge failed due to a DuplicateKey error :: caused by :: E11000 duplicate key error collection: {}.d index: o_1",
            db.name()
        );
        assert!(text.contains(&expected), "{matched}: {text}");
    }
}

async fn scans_are_counted(db: &Db) {
    let c = db.raw_collection("c");
    c.insert_many([doc! { "_id": 1, "v": 2 }, doc! { "_id": 2, "v": 1 }])
        .await
        .unwrap();
    let scans = async || {
        let found = c
            .aggregate_raw([doc! { "$collStats": { "queryExecStats": {} } }])
            .await
            .unwrap();
        let figures = found[0]
            .get_document("queryExecStats")
            .unwrap()
            .get_document("collectionScans")
            .unwrap();
        (
            figures.get_i64("total").unwrap(),
            figures.get_i64("nonTailable").unwrap(),
        )
    };
    assert_eq!(scans().await, (0, 0));
    c.find(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(scans().await, (0, 0));
    c.find(doc! { "v": 1 }).await.unwrap();
    assert_eq!(scans().await, (1, 1));
    let of = |name: &str| doc! { "aggregate": name, "pipeline": [{ "$collStats": { "queryExecStats": {} } }], "cursor": {} };
    assert_eq!(code(db, of("none")).await, Some(26));
    db.run_command(doc! { "create": "w", "viewOn": "c" })
        .await
        .unwrap();
    assert_eq!(code(db, of("w")).await, Some(166));
}
