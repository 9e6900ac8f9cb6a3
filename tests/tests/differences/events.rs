//! What change streams of a database tell of copies, merges and updates that change no bytes.

use odm::bson::{Document, doc};
use odm::{ChangeStream, Db};
use odm_tests::changes::{next, watch};
use odm_tests::command::{aggregate, insert, run};

crate::on_every_backend! {
    pushes_that_change_no_bytes_are_told,
    merged_documents_are_told_as_updates,
    collections_of_the_server_are_not_told,
    capped_copies_are_told_by_their_names,
    collections_that_change_databases_are_told_as_copies,
    results_that_take_a_collections_place_are_told_under_another_name,
    removed_fields_are_told_in_the_order_of_the_server,
}

async fn watch_database(db: &Db) -> ChangeStream<Document> {
    db.watch().decode::<Document>().await.unwrap()
}

/// The name of a collection without what differs from run to run.
fn named(name: &str) -> String {
    let mut parts = name.splitn(3, '.');
    let (first, rest): (_, Vec<&str>) = (parts.next().unwrap_or(""), parts.collect());
    match (first, rest.as_slice()) {
        ("tmp", ["agg_out", id]) if id.len() == 36 => "an output".to_owned(),
        (first, [purpose, rest @ ..]) if first.len() == 8 && first.starts_with("tmp") => {
            format!("a copy for {}", [&[*purpose], rest].concat().join("."))
        }
        _ => name.to_owned(),
    }
}

/// An event in short: its kind, its collection, the collection's new name, the document's key.
fn told(event: &Document) -> String {
    let mut parts = vec![event.get_str("operationType").unwrap().to_owned()];
    for name in ["ns", "to"] {
        if let Ok(ns) = event.get_document(name) {
            parts.push(named(ns.get_str("coll").unwrap_or("")));
        }
    }
    if let Ok(key) = event.get_document("documentKey") {
        parts.push(key.get("_id").unwrap().to_string());
    }
    parts.join(", ")
}

/// The events up to that of an insertion into `last`, which is left out.
async fn until_last(db: &Db, changes: &mut ChangeStream<Document>) -> Vec<String> {
    insert(db, "last", vec![doc! { "_id": 0 }]).await;
    let mut events = Vec::new();
    loop {
        let event = told(&next(changes).await);
        if event == "insert, last, 0" {
            return events;
        }
        events.push(event);
    }
}

/// The events of a collection's stream up to its end.
async fn until_end(mut changes: ChangeStream<Document>) -> Vec<String> {
    let mut events = Vec::new();
    while events.last().is_none_or(|last| last != "invalidate") {
        events.push(told(&next(&mut changes).await));
    }
    events
}

async fn pushes_that_change_no_bytes_are_told(db: &Db) {
    let cases = [
        (
            doc! { "a": [1] },
            doc! { "a": { "$each": [], "$sort": 1 } },
            doc! { "a": [1] },
        ),
        (
            doc! { "a": [] },
            doc! { "a": { "$each": [9], "$slice": 0 } },
            doc! { "a": [] },
        ),
        (
            doc! { "a": [1] },
            doc! { "a": { "$each": [1], "$slice": 1 } },
            doc! { "a": [1] },
        ),
        (
            doc! { "o": { "a": [1, 2] } },
            doc! { "o.a": { "$each": [], "$sort": 1 } },
            doc! { "o.a": [1, 2] },
        ),
        (
            doc! { "l": [{ "a": [1] }, { "a": [3, 2] }] },
            doc! { "l.$[].a": { "$each": [], "$sort": 1 } },
            doc! { "l": [{ "a": [1] }, { "a": [2, 3] }] },
        ),
        (
            doc! { "l": [[], [2, 1]] },
            doc! { "l.$[]": { "$each": [], "$sort": 1 } },
            doc! { "l": [[], [1, 2]] },
        ),
        (
            doc! { "l": [{ "a": [1] }] },
            doc! { "l.0.a": { "$each": [], "$sort": -1 } },
            doc! { "l.0.a": [1] },
        ),
    ];
    let mut changes = watch(db, "c").await;
    for (at, (mut document, push, updated)) in cases.into_iter().enumerate() {
        let id = at as i32;
        document.insert("_id", id);
        insert(db, "c", vec![document.clone()]).await;
        let update = doc! { "q": { "_id": id }, "u": { "$push": push.clone() } };
        run(db, doc! { "update": "c", "updates": [update] }).await;
        next(&mut changes).await;
        let event = next(&mut changes).await;
        let description = event.get_document("updateDescription").unwrap();
        assert_eq!(
            description.get_document("updatedFields").unwrap().to_string(),
            updated.to_string(),
            "{document} {push}"
        );
    }
}

async fn merged_documents_are_told_as_updates(db: &Db) {
    let long = "x".repeat(100);
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 0, "z": 5, "o": { "x": 1, "y": 2 }, "n": 1 },
            doc! { "_id": 1, "n": 2 },
        ],
    )
    .await;
    insert(
        db,
        "t",
        vec![
            doc! { "_id": 0, "o": { "x": 1 }, "q": 1, "n": 0, "long": long },
            doc! { "_id": 1, "n": 2 },
        ],
    )
    .await;
    let mut changes = watch(db, "t").await;
    let merge = async |matched: odm::bson::Bson| {
        aggregate(
            db,
            "c",
            vec![doc! { "$merge": { "into": "t", "whenMatched": matched } }],
        )
        .await;
    };
    merge("merge".into()).await;
    let event = next(&mut changes).await;
    let described = |event: &Document| event.get_document("updateDescription").unwrap().to_string();
    assert_eq!(
        described(&event),
        doc! {
            "updatedFields": { "n": 1, "o": { "x": 1, "y": 2 }, "z": 5 },
            "removedFields": [],
            "truncatedArrays": [],
        }
        .to_string()
    );
    merge(vec![doc! { "$set": { "k": "$$new.n" } }, doc! { "$unset": "q" }].into()).await;
    let event = next(&mut changes).await;
    assert_eq!(
        described(&event),
        doc! {
            "updatedFields": { "k": 1 },
            "removedFields": ["q"],
            "truncatedArrays": [],
        }
        .to_string()
    );
    // What is longer than the document is told by the document.
    assert_eq!(told(&next(&mut changes).await), "replace, t, 1");
}

async fn collections_of_the_server_are_not_told(db: &Db) {
    let mut changes = watch_database(db).await;
    insert(db, "system.js", vec![doc! { "_id": "f", "value": 1 }]).await;
    run(
        db,
        doc! { "delete": "system.js", "deletes": [{ "q": {}, "limit": 0 }] },
    )
    .await;
    insert(db, "systems", vec![doc! { "_id": 1 }]).await;
    assert_eq!(until_last(db, &mut changes).await, ["insert, systems, 1"]);
}

async fn capped_copies_are_told_by_their_names(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    let mut changes = watch_database(db).await;
    let of_source = watch(db, "c").await;
    run(
        db,
        doc! { "cloneCollectionAsCapped": "c", "toCollection": "t", "size": 4096 },
    )
    .await;
    run(db, doc! { "convertToCapped": "c", "size": 4096 }).await;
    let renamed = "rename, a copy for convertToCapped.c, c";
    assert_eq!(until_last(db, &mut changes).await, [renamed]);
    assert_eq!(until_end(of_source).await, [renamed, "invalidate"]);
}

async fn collections_that_change_databases_are_told_as_copies(db: &Db) {
    let other = db.database(&format!("{}_2", db.name())).unwrap();
    other.drop_database().await.unwrap();
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    insert(&other, "t", vec![doc! { "_id": 9 }]).await;
    let (mut changes, mut of_other) = (watch_database(db).await, watch_database(&other).await);
    let (of_source, of_target) = (watch(db, "c").await, watch(&other, "t").await);
    let admin = db.database("admin").unwrap();
    let (from, to) = (format!("{}.c", db.name()), format!("{}.t", other.name()));
    run(
        &admin,
        doc! { "renameCollection": from, "to": to, "dropTarget": true },
    )
    .await;
    let renamed = "rename, a copy for renameCollection, t";
    assert_eq!(until_last(db, &mut changes).await, ["drop, c"]);
    assert_eq!(until_end(of_source).await, ["drop, c", "invalidate"]);
    assert_eq!(
        until_last(&other, &mut of_other).await,
        [
            "insert, a copy for renameCollection, 1",
            "insert, a copy for renameCollection, 2",
            renamed
        ]
    );
    assert_eq!(until_end(of_target).await, [renamed, "invalidate"]);
    other.drop_database().await.unwrap();
}

async fn results_that_take_a_collections_place_are_told_under_another_name(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    let renamed = "rename, an output, t";
    let mut changes = watch_database(db).await;
    aggregate(db, "c", vec![doc! { "$out": "t" }]).await;
    let of_target = watch(db, "t").await;
    aggregate(
        db,
        "c",
        vec![doc! { "$match": { "_id": 7 } }, doc! { "$out": "t" }],
    )
    .await;
    assert_eq!(
        until_last(db, &mut changes).await,
        ["insert, an output, 1", "insert, an output, 2", renamed, renamed]
    );
    assert_eq!(until_end(of_target).await, [renamed, "invalidate"]);
}

async fn removed_fields_are_told_in_the_order_of_the_server(db: &Db) {
    let long = "x".repeat(100);
    let mut changes = watch(db, "c").await;
    for (id, (document, unset, removed)) in [
        (
            doc! { "z": 1, "y": 1, "long": &long, "c": 1, "b": 1, "d": 1 },
            vec!["z", "y", "c", "b", "d"],
            vec!["c", "b", "d", "y", "z"],
        ),
        (
            doc! { "q": 1, "aa": 1, "Z": 1, "long": &long },
            vec!["q", "aa", "Z"],
            vec!["Z", "aa", "q"],
        ),
        (
            doc! { "o": { "z": 1, "y": 1, "long": &long, "d": 1, "c": 1 }, "z": 1 },
            vec!["o.z", "o.y", "o.d", "o.c", "z"],
            vec!["z", "o.d", "o.c", "o.y", "o.z"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut document = document;
        document.insert("_id", id as i32);
        insert(db, "c", vec![document]).await;
        let update = doc! { "q": { "_id": id as i32 }, "u": [{ "$unset": unset }] };
        run(db, doc! { "update": "c", "updates": [update] }).await;
        next(&mut changes).await;
        let event = next(&mut changes).await;
        let description = event.get_document("updateDescription").unwrap();
        assert_eq!(
            description.get("removedFields").unwrap().to_string(),
            odm::bson::Bson::from(removed).to_string()
        );
    }
}
