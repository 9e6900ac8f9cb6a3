//! Collations of collections and views: defaults, their settings in full, and what is refused.

use bson::{Bson, Document, doc};
use odm::Db;

use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    collection_defaults_are_inherited_and_overridden,
    malformed_collations_are_the_servers_errors,
    settings_are_listed_in_full,
    views_have_a_collation_of_their_own,
}

/// Letters whatever their case.
fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

async fn collection_defaults_are_inherited_and_overridden(db: &Db) {
    run(
        db,
        doc! { "create": "names", "collation": caseless(), "validator": { "n": { "$ne": "nobody" } } },
    )
    .await;
    insert(
        db,
        "names",
        vec![
            doc! { "_id": "Ann", "n": "Ann", "l": ["x"] },
            doc! { "_id": "bob", "n": "bob", "l": [] },
        ],
    )
    .await;
    let count = |filter: Document| doc! { "count": "names", "query": filter };
    assert_eq!(run(db, count(doc! { "n": "ANN" })).await.get_i32("n").unwrap(), 1);
    assert_eq!(
        run(db, count(doc! { "_id": "ANN" })).await.get_i32("n").unwrap(),
        1
    );
    let mut simple = count(doc! { "_id": "ANN" });
    simple.insert("collation", doc! { "locale": "simple" });
    assert_eq!(run(db, simple).await.get_i32("n").unwrap(), 0);
    let mut simple = count(doc! { "_id": "Ann" });
    simple.insert("collation", doc! { "locale": "simple" });
    assert_eq!(run(db, simple).await.get_i32("n").unwrap(), 1);
    // `_id` is unique by it, and validators compare by it.
    assert_eq!(
        code(db, doc! { "insert": "names", "documents": [{ "_id": "ANN" }] }).await,
        11000
    );
    assert_eq!(
        code(
            db,
            doc! { "insert": "names", "documents": [{ "_id": 1, "n": "NOBODY" }] }
        )
        .await,
        121
    );
    let find = batch(
        &run(
            db,
            doc! { "find": "names", "sort": { "n": -1 }, "projection": { "same": { "$eq": ["$n", "BOB"] } } },
        )
        .await,
    );
    assert_eq!(
        find,
        [
            doc! { "_id": "bob", "same": true },
            doc! { "_id": "Ann", "same": false }
        ]
    );
    let command = doc! { "aggregate": "names", "cursor": {}, "pipeline": [{ "$match": { "n": "BOB" } }, { "$group": { "_id": null, "n": { "$sum": 1 } } }] };
    assert_eq!(batch(&run(db, command).await), [doc! { "_id": null, "n": 1 }]);
    run(db, doc! { "update": "names", "updates": [{ "q": { "n": "ANN" }, "u": { "$addToSet": { "l": "X" }, "$set": { "hit": 1 } } }] }).await;
    let own = batch(&run(db, doc! { "find": "names", "filter": { "hit": 1 } }).await);
    assert_eq!(own, [doc! { "_id": "Ann", "n": "Ann", "l": ["x"], "hit": 1 }]);
    let change = doc! { "findAndModify": "names", "query": { "_id": "BOB" }, "update": { "$max": { "n": "BOB" } }, "new": true };
    assert_eq!(
        run(db, change)
            .await
            .get_document("value")
            .unwrap()
            .get_str("n")
            .unwrap(),
        "bob"
    );
    let values = run(
        db,
        doc! { "distinct": "names", "key": "n", "query": { "n": { "$lt": "BO" } } },
    )
    .await;
    assert_eq!(values.get_array("values").unwrap(), &vec![Bson::from("Ann")]);
    run(
        db,
        doc! { "delete": "names", "deletes": [{ "q": { "n": "ann" }, "limit": 0 }] },
    )
    .await;
    assert_eq!(run(db, count(doc! {})).await.get_i32("n").unwrap(), 1);
}

/// The settings with all that was not said.
fn full(locale: &str, strength: i32) -> Document {
    doc! {
        "locale": locale, "caseLevel": false, "caseFirst": "off", "strength": strength, "numericOrdering": false,
        "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false,
        "version": "57.1",
    }
}

async fn settings_are_listed_in_full(db: &Db) {
    let listed = async |name: &str| {
        let reply = run(db, doc! { "listCollections": 1, "filter": { "name": name } }).await;
        let options = batch(&reply)[0].get_document("options").unwrap().clone();
        options.get_document("collation").ok().cloned()
    };
    run(
        db,
        doc! { "create": "a", "collation": { "strength": 2, "locale": "en" } },
    )
    .await;
    assert_eq!(listed("a").await, Some(full("en", 2)));
    // Where a collection is made, what is not said is the same for all languages but one thing.
    run(db, doc! { "create": "b", "collation": { "locale": "da" } }).await;
    assert_eq!(listed("b").await, Some(full("da", 3)));
    run(db, doc! { "create": "c", "collation": { "locale": "fr_CA" } }).await;
    let mut french = full("fr_CA", 3);
    french.insert("backwards", true);
    assert_eq!(listed("c").await, Some(french));
    run(db, doc! { "create": "d", "collation": { "locale": "simple" } }).await;
    assert_eq!(listed("d").await, None);
    // For an index it is the language's.
    run(
        db,
        doc! { "createIndexes": "a", "indexes": [
            { "key": { "x": 1 }, "name": "own" },
            { "key": { "x": 1 }, "name": "da", "collation": { "locale": "da" } },
            { "key": { "x": 1 }, "name": "th", "collation": { "locale": "th" } },
            { "key": { "x": 1 }, "name": "simple", "collation": { "locale": "simple" } },
        ] },
    )
    .await;
    let mut danish = full("da", 3);
    danish.insert("caseFirst", "upper");
    let mut thai = full("th", 3);
    thai.insert("alternate", "shifted");
    thai.insert("normalization", true);
    let reply = run(db, doc! { "listIndexes": "a" }).await;
    let own: Vec<Option<Document>> = batch(&reply)
        .iter()
        .map(|index| index.get_document("collation").ok().cloned())
        .collect();
    assert_eq!(
        own,
        [
            Some(full("en", 2)),
            Some(full("en", 2)),
            Some(danish),
            Some(thai),
            None
        ]
    );
}

async fn malformed_collations_are_the_servers_errors(db: &Db) {
    insert(db, "x", vec![doc! { "_id": 1 }]).await;
    for (collation, wanted) in [
        (doc! {}, 0),
        (doc! { "locale": "en" }, 0),
        (doc! { "strength": 1 }, 40414),
        (doc! { "locale": null }, 40414),
        (doc! { "locale": 1 }, 14),
        (doc! { "locale": "" }, 2),
        (doc! { "locale": "xx" }, 2),
        (doc! { "locale": "EN" }, 2),
        (doc! { "locale": "en-US" }, 2),
        (doc! { "locale": "en_GB" }, 2),
        (doc! { "locale": "root" }, 2),
        (doc! { "locale": "en\0" }, 2),
        (doc! { "locale": "de@collation=phonebook" }, 0),
        (doc! { "locale": "de@collation=nothing" }, 2),
        (doc! { "locale": "fr@collation=phonebook" }, 2),
        (doc! { "locale": "simple", "strength": 2 }, 0),
        (doc! { "locale": "simple", "what": 2 }, 40415),
        (doc! { "locale": "en", "what": 2 }, 40415),
        (doc! { "locale": "en", "strength": 0 }, 2),
        (doc! { "locale": "en", "strength": 6 }, 51024),
        (doc! { "locale": "en", "strength": -1 }, 51024),
        (doc! { "locale": "en", "strength": 2.9 }, 0),
        (doc! { "locale": "en", "strength": "2" }, 14),
        (doc! { "locale": "en", "strength": null }, 0),
        (doc! { "locale": "en", "caseLevel": 1 }, 14),
        (doc! { "locale": "en", "caseFirst": "first" }, 2),
        (doc! { "locale": "en", "caseFirst": 1 }, 14),
        (doc! { "locale": "en", "caseFirst": "upper", "strength": 2 }, 2),
        (
            doc! { "locale": "en", "caseFirst": "upper", "strength": 2, "caseLevel": true },
            0,
        ),
        (doc! { "locale": "da", "strength": 2 }, 2),
        (doc! { "locale": "en", "numericOrdering": "yes" }, 14),
        (doc! { "locale": "en", "alternate": "other" }, 2),
        (doc! { "locale": "en", "maxVariable": "symbol" }, 2),
        (doc! { "locale": "en", "backwards": 1 }, 14),
        (doc! { "locale": "en", "backwards": true, "strength": 1 }, 2),
        (doc! { "locale": "en", "normalization": 0 }, 14),
        (doc! { "locale": "en", "version": "57.1" }, 0),
        (doc! { "locale": "en", "version": "58.1" }, 161),
        (doc! { "locale": "en", "version": 57 }, 14),
    ] {
        for command in [
            doc! { "find": "x", "collation": collation.clone() },
            doc! { "aggregate": "x", "pipeline": [], "cursor": {}, "collation": collation.clone() },
            doc! { "count": "x", "collation": collation.clone() },
            doc! { "distinct": "x", "key": "a", "collation": collation.clone() },
            doc! { "update": "x", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } }, "collation": collation.clone() }] },
            doc! { "findAndModify": "x", "update": { "$set": { "a": 1 } }, "collation": collation.clone() },
        ] {
            assert_eq!(code(db, command.clone()).await, wanted, "{command}");
        }
    }
    for (collation, wanted) in [
        (Bson::from(5), 14),
        (doc! {}.into(), 40414),
        (doc! { "locale": "xx" }.into(), 2),
        (doc! { "locale": "en", "what": 1 }.into(), 40415),
    ] {
        assert_eq!(
            code(db, doc! { "create": "y", "collation": collation.clone() }).await,
            wanted,
            "{collation}"
        );
    }
}

async fn views_have_a_collation_of_their_own(db: &Db) {
    insert(
        db,
        "base",
        vec![
            doc! { "_id": 1, "s": "a" },
            doc! { "_id": 2, "s": "A" },
            doc! { "_id": 3, "s": "b" },
        ],
    )
    .await;
    run(db, doc! { "create": "caseless", "viewOn": "base", "pipeline": [{ "$match": { "s": { "$ne": "B" } } }], "collation": caseless() }).await;
    run(
        db,
        doc! { "create": "bytes", "viewOn": "base", "pipeline": [{ "$match": { "s": { "$ne": "B" } } }] },
    )
    .await;
    let n = async |command: Document| run(db, command).await.get_i32("n").unwrap();
    assert_eq!(n(doc! { "count": "caseless" }).await, 2);
    assert_eq!(n(doc! { "count": "bytes" }).await, 3);
    assert_eq!(n(doc! { "count": "caseless", "query": { "s": "A" } }).await, 2);
    assert_eq!(n(doc! { "count": "bytes", "query": { "s": "A" } }).await, 1);
    assert_eq!(
        n(doc! { "count": "caseless", "query": { "s": "A" }, "collation": caseless() }).await,
        2
    );
    let distinct = run(db, doc! { "distinct": "caseless", "key": "s" }).await;
    assert_eq!(distinct.get_array("values").unwrap().len(), 1);
    let find = batch(
        &run(
            db,
            doc! { "find": "caseless", "filter": { "s": "A" }, "sort": { "s": 1, "_id": -1 } },
        )
        .await,
    );
    assert_eq!(ids(&find), [2, 1]);
    for command in [
        doc! { "find": "caseless", "collation": { "locale": "fr" } },
        doc! { "find": "bytes", "collation": { "locale": "fr" } },
        doc! { "count": "caseless", "collation": { "locale": "simple" } },
        doc! { "distinct": "caseless", "key": "s", "collation": { "locale": "fr" } },
        doc! { "aggregate": "caseless", "pipeline": [], "cursor": {}, "collation": { "locale": "fr" } },
        doc! { "create": "other", "viewOn": "caseless", "pipeline": [] },
        doc! { "create": "other", "viewOn": "base", "pipeline": [{ "$unionWith": "caseless" }] },
        doc! { "aggregate": "base", "pipeline": [{ "$lookup": { "from": "caseless", "localField": "s", "foreignField": "s", "as": "r" } }], "cursor": {} },
        doc! { "aggregate": "base", "pipeline": [{ "$unionWith": "caseless" }], "cursor": {} },
    ] {
        assert_eq!(code(db, command.clone()).await, 167, "{command}");
    }
    run(
        db,
        doc! { "create": "above", "viewOn": "caseless", "pipeline": [], "collation": caseless() },
    )
    .await;
    assert_eq!(n(doc! { "count": "above", "query": { "s": "A" } }).await, 2);
    let joined = doc! { "aggregate": "base", "pipeline": [{ "$lookup": { "from": "caseless", "localField": "s", "foreignField": "s", "as": "r" } }, { "$sort": { "_id": 1 } }], "cursor": {}, "collation": caseless() };
    let joined = batch(&run(db, joined).await);
    assert_eq!(joined[0].get_array("r").unwrap().len(), 2);
}
