//! Change streams: what the events of updates say of them.

use bson::{Bson, Document, doc};
use odm::{ChangeEvent, ChangeKind, Db};
use odm_tests::changes::{next, watch};

crate::on_every_backend! {
    updates_are_described_by_what_they_touched,
    pipeline_updates_are_described_where_that_is_shorter,
}

/// A document, an update, and what the event says of it: updated, removed, truncated.
type Described = (Document, Document, Document, &'static [&'static str]);

async fn check_descriptions(db: &Db, cases: Vec<Described>) {
    let c = db.raw_collection("c");
    let mut changes = c.watch().only([ChangeKind::Update]).await.unwrap();
    for (at, (before, update, updated, removed)) in cases.into_iter().enumerate() {
        let id = at as i32;
        let mut document = doc! {"_id": id};
        document.extend(before.clone());
        c.insert(document).await.unwrap();
        c.update_one(doc! {"_id": id}, update.clone()).await.unwrap();
        let ChangeEvent::Update { key, description, .. } = next(&mut changes).await.event else {
            panic!("not an update");
        };
        assert_eq!(key, Bson::Int32(id));
        let case = format!("{before} {update}");
        assert_eq!(description.updated.to_string(), updated.to_string(), "{case}");
        assert_eq!(description.removed, removed, "{case}");
        assert!(description.truncated.is_empty(), "{case}");
    }
}

async fn updates_are_described_by_what_they_touched(db: &Db) {
    let items = || doc! {"l": [{"a": 1}, {"a": 2}]};
    let list = || doc! {"l": [1, 2, 3]};
    check_descriptions(
        db,
        vec![
            (doc! {}, doc! {"$set": {"n.x": 1}}, doc! {"n": {"x": 1}}, &[]),
            (
                doc! {"a": {"b": 1}},
                doc! {"$set": {"a.b": 2, "a.c": 3}},
                doc! {"a.b": 2, "a.c": 3},
                &[],
            ),
            (list(), doc! {"$push": {"l": 9}}, doc! {"l.3": 9}, &[]),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7, 8]}}},
                doc! {"l.3": 7, "l.4": 8},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$position": 0}}},
                doc! {"l": [7, 1, 2, 3]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$position": 3}}},
                doc! {"l": [1, 2, 3, 7]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$position": 9}}},
                doc! {"l.3": 7},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$slice": -3}}},
                doc! {"l": [2, 3, 7]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$slice": 4}}},
                doc! {"l.3": 7},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$sort": 1}}},
                doc! {"l": [1, 2, 3, 7]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [], "$slice": 2}}},
                doc! {"l": [1, 2]},
                &[],
            ),
            (doc! {"l": []}, doc! {"$push": {"l": 1}}, doc! {"l": [1]}, &[]),
            (doc! {}, doc! {"$push": {"x.l": 1}}, doc! {"x": {"l": [1]}}, &[]),
            (
                list(),
                doc! {"$addToSet": {"l": 4}},
                doc! {"l": [1, 2, 3, 4]},
                &[],
            ),
            (list(), doc! {"$pop": {"l": 1}}, doc! {"l": [1, 2]}, &[]),
            (list(), doc! {"$pull": {"l": 2}}, doc! {"l": [1, 3]}, &[]),
            (list(), doc! {"$set": {"l": [1, 2]}}, doc! {"l": [1, 2]}, &[]),
            (list(), doc! {"$set": {"l.1": 5}}, doc! {"l.1": 5}, &[]),
            (list(), doc! {"$set": {"l.5": 5}}, doc! {"l.5": 5}, &[]),
            (
                list(),
                doc! {"$set": {"l.0": 9, "l.4": 8}},
                doc! {"l.0": 9, "l.4": 8},
                &[],
            ),
            (list(), doc! {"$unset": {"l.1": 1}}, doc! {"l.1": Bson::Null}, &[]),
            (items(), doc! {"$set": {"l.1.a": 5}}, doc! {"l.1.a": 5}, &[]),
            (
                items(),
                doc! {"$set": {"l.1.b.c": 5}},
                doc! {"l.1.b": {"c": 5}},
                &[],
            ),
            (
                items(),
                doc! {"$set": {"l.$[].a": 7}},
                doc! {"l": [{"a": 7}, {"a": 7}]},
                &[],
            ),
            (
                items(),
                doc! {"$set": {"l.$[].a": 1}},
                doc! {"l.1": {"a": 1}},
                &[],
            ),
            (
                doc! {"l": [{"m": [1, 2]}]},
                doc! {"$push": {"l.$[].m": 1}},
                doc! {"l.0.m.2": 1},
                &[],
            ),
            (
                doc! {"l": [{"m": [1, 2]}, {"m": [1]}]},
                doc! {"$pop": {"l.0.m": 1}, "$inc": {"z": 1}},
                doc! {"z": 1, "l.0.m": [1]},
                &[],
            ),
            (
                doc! {"a": 1, "b": 2, "c": {"d": 1, "e": 2}},
                doc! {"$unset": {"a": 1, "c.d": 1, "zz": 1}},
                doc! {},
                &["a", "c.d"],
            ),
            (
                doc! {"a": 1, "d": {"x": 1, "y": 1}},
                doc! {"$unset": {"d.x": 1, "a": 1}, "$set": {"d.z": 3, "d.y": 2, "q": 1}},
                doc! {"q": 1, "d.y": 2, "d.z": 3},
                &["a", "d.x"],
            ),
            (
                doc! {"a": 1, "c": {"x": 1}},
                doc! {"$rename": {"a": "c.y"}},
                doc! {"c.y": 1},
                &["a"],
            ),
            (
                doc! {"b": 1, "a": 1},
                doc! {"$set": {"b": 2, "z": 1, "a": 2, "y": 3}},
                doc! {"a": 2, "b": 2, "y": 3, "z": 1},
                &[],
            ),
            (doc! {"a": 1}, doc! {"$set": {"a": 1.0}}, doc! {"a": 1.0}, &[]),
            (
                doc! {"a": {"x": {"l": [1, [2, 3]]}}},
                doc! {"$set": {"a.x.l.1.0": 4, "a.x.m.n": 1}},
                doc! {"a.x.m": {"n": 1}, "a.x.l.1.0": 4},
                &[],
            ),
            (
                doc! {"a": {"0": 1}},
                doc! {"$set": {"a.0": 2}},
                doc! {"a.0": 2},
                &[],
            ),
        ],
    )
    .await;
}

async fn pipeline_updates_are_described_where_that_is_shorter(db: &Db) {
    let pad = "x".repeat(300);
    let c = db.raw_collection("c");
    let mut changes = watch(db, "c").await;
    let long = || doc! {"l": [1, 2, 3, 4, 5, 6, 7, 8]};
    let cases: Vec<(Document, Document, Bson)> = vec![
        (doc! {"a": 1}, doc! {"$set": {"a": 2}}, Bson::Null),
        (
            doc! {"a": 1, "pad": &pad},
            doc! {"$set": {"a": 2}},
            Bson::from(doc! {"updatedFields": {"a": 2}, "removedFields": [], "truncatedArrays": []}),
        ),
        (
            doc! {"a": 1, "pad": &pad},
            doc! {"$unset": "a"},
            Bson::from(doc! {"updatedFields": {}, "removedFields": ["a"], "truncatedArrays": []}),
        ),
        (
            doc! {"c": {"x": 1, "y": 2}, "pad": &pad},
            doc! {"$set": {"c.x": 5, "c.z": 1}},
            Bson::from(
                doc! {"updatedFields": {"c": {"x": 5, "y": 2, "z": 1}}, "removedFields": [], "truncatedArrays": []},
            ),
        ),
        (doc! {"l": [1, 2, 3]}, doc! {"$set": {"l": [1, 2]}}, Bson::Null),
        (
            long(),
            doc! {"$set": {"l": {"$slice": ["$l", 5]}}},
            Bson::from(
                doc! {"updatedFields": {}, "removedFields": [], "truncatedArrays": [{"field": "l", "newSize": 5}]},
            ),
        ),
        (
            long(),
            doc! {"$set": {"l": {"$concatArrays": ["$l", [9]]}}},
            Bson::from(doc! {"updatedFields": {"l.8": 9}, "removedFields": [], "truncatedArrays": []}),
        ),
        (
            long(),
            doc! {"$set": {"l": [1, 2, 33, 4]}},
            Bson::from(
                doc! {"updatedFields": {"l.2": 33}, "removedFields": [], "truncatedArrays": [{"field": "l", "newSize": 4}]},
            ),
        ),
        (
            doc! {"l": [{"a": 1, "b": "yyyyyyyyyyyyyyyyyyyyyy"}, {"a": 2}]},
            doc! {"$set": {"l.a": 9}},
            Bson::from(
                doc! {"updatedFields": {"l.0.a": 9, "l.1": {"a": 9}}, "removedFields": [], "truncatedArrays": []},
            ),
        ),
        (
            doc! {"a": 1, "pad": &pad},
            doc! {"$replaceWith": {"q": 1}},
            Bson::Null,
        ),
    ];
    for (at, (before, stage, expected)) in cases.into_iter().enumerate() {
        let id = at as i32;
        let mut document = doc! {"_id": id};
        document.extend(before.clone());
        c.insert(document).await.unwrap();
        c.update_one(doc! {"_id": id}, vec![stage.clone()]).await.unwrap();
        next(&mut changes).await;
        let event = next(&mut changes).await;
        let kind = if expected == Bson::Null {
            "replace"
        } else {
            "update"
        };
        assert_eq!(event.get_str("operationType").unwrap(), kind, "{before} {stage}");
        let description = event.get("updateDescription").unwrap_or(&Bson::Null);
        assert_eq!(description.to_string(), expected.to_string(), "{before} {stage}");
    }
}
