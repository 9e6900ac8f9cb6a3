//! What is said of an index to the server's own storage engine.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{batch, insert, run};

use super::refusals::{answer, check, with};

crate::on_every_backend! {
    what_an_index_says_is_kept_and_shown,
    what_is_no_option_is_told,
}

fn zlib() -> Document {
    doc! { "wiredTiger": { "configString": "block_compressor=zlib" } }
}

fn created(index: Document) -> Document {
    doc! { "createIndexes": "c", "indexes": [with(doc! { "name": "i" }, index)] }
}

async fn shown(db: &Db) -> Document {
    let listed = batch(&run(db, doc! { "listIndexes": "c" }).await);
    listed.last().unwrap().clone()
}

async fn what_an_index_says_is_kept_and_shown(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "z": 5, "s": "x", "g": [1, 1] }]).await;
    let empty = || doc! { "wiredTiger": {} };
    for (index, names) in [
        (
            doc! { "key": { "z": 1 }, "storageEngine": zlib(), "unique": true, "sparse": true, "hidden": true },
            vec!["v", "key", "name", "unique", "hidden", "sparse", "storageEngine"],
        ),
        (
            doc! { "key": { "z": 1 }, "storageEngine": zlib(), "expireAfterSeconds": 5, "partialFilterExpression": { "z": 1 } },
            vec![
                "v",
                "key",
                "name",
                "partialFilterExpression",
                "expireAfterSeconds",
                "storageEngine",
            ],
        ),
        (
            doc! { "key": { "z": 1 }, "storageEngine": zlib(), "collation": { "locale": "en" } },
            vec!["v", "key", "name", "storageEngine", "collation"],
        ),
        (
            doc! { "key": { "s": "text" }, "storageEngine": zlib() },
            vec![
                "v",
                "key",
                "name",
                "storageEngine",
                "weights",
                "default_language",
                "language_override",
                "textIndexVersion",
            ],
        ),
        (
            doc! { "key": { "g": "2d" }, "storageEngine": zlib(), "bits": 20 },
            vec!["v", "key", "name", "storageEngine", "bits"],
        ),
        (
            doc! { "key": { "$**": 1 }, "storageEngine": zlib(), "wildcardProjection": { "a": 1 } },
            vec!["v", "key", "name", "storageEngine", "wildcardProjection"],
        ),
        (
            doc! { "key": { "z": "hashed" }, "storageEngine": zlib() },
            vec!["v", "key", "name", "storageEngine"],
        ),
    ] {
        run(db, created(index.clone())).await;
        let found = shown(db).await;
        assert_eq!(found.keys().collect::<Vec<_>>(), names, "{index}");
        assert_eq!(found.get_document("storageEngine").unwrap(), &zlib());
        // The same once more is no other index.
        let again = run(db, created(index)).await;
        assert_eq!(again.get_str("note").unwrap(), "all indexes already exist");
        run(db, doc! { "dropIndexes": "c", "index": "i" }).await;
    }
    run(db, created(doc! { "key": { "z": 1 }, "storageEngine": empty() })).await;
    assert_eq!(shown(db).await.get_document("storageEngine").unwrap(), &empty());
    let found = doc! { "find": "c", "filter": { "z": 5 }, "hint": "i" };
    assert_eq!(batch(&run(db, found).await).len(), 1);
    for other in [
        doc! { "key": { "z": 1 } },
        doc! { "key": { "z": 1 }, "storageEngine": zlib() },
    ] {
        let (code, words) = answer(db, created(other), db.name()).await;
        assert_eq!(code, 85, "{words}");
        let same = "An equivalent index already exists with the same name but different options.";
        assert!(words.starts_with(same), "{words}");
    }
}

async fn what_is_no_option_is_told(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "z": 5 }]).await;
    let nul = Bson::String("a\0b".to_owned());
    for (engine, shown, code, words) in [
        (
            Bson::from(doc! { "x": 1 }),
            "{ x: 1 }",
            2,
            "'storageEngine.x' has to be an embedded document.",
        ),
        (
            doc! { "x": {} }.into(),
            "{ x: {} }",
            72,
            "x is not a registered storage engine for this server",
        ),
        (
            doc! { "wiredTiger": 5 }.into(),
            "{ wiredTiger: 5 }",
            2,
            "'storageEngine.wiredTiger' has to be an embedded document.",
        ),
        (
            doc! { "wiredTiger": { "configString": 5 } }.into(),
            "{ wiredTiger: { configString: 5 } }",
            14,
            "'configString' must be a string.",
        ),
        (
            doc! { "wiredTiger": { "configString": nul } }.into(),
            "{ wiredTiger: { configString: \"a\0b\" } }",
            9,
            "malformed 'configString' value.",
        ),
        (
            doc! { "wiredTiger": { "x": 1 } }.into(),
            "{ wiredTiger: { x: 1 } }",
            72,
            "'x' is not a supported option.",
        ),
        (
            doc! {}.into(),
            "{}",
            67,
            "Empty \"storageEngine\" options are invalid. Please remove the field or include valid options.",
        ),
        (
            Bson::Int32(5),
            "5",
            67,
            "\"storageEngine\" options must be a document if present",
        ),
    ] {
        let words = format!(
            "Error in specification {{ name: \"i\", key: {{ z: 1 }}, storageEngine: {shown}, v: 2 }} :: caused by :: {words}"
        );
        let index = doc! { "key": { "z": 1 }, "storageEngine": engine };
        check(db, vec![(created(index), code, &words)]).await;
    }
    let unknown = doc! { "wiredTiger": { "configString": "nope=1" } };
    let unknown = created(doc! { "key": { "z": 1 }, "storageEngine": unknown });
    assert_eq!(answer(db, unknown, db.name()).await.0, 2);
    let of_ids = doc! { "key": { "_id": 1 }, "name": "_id_", "storageEngine": zlib() };
    let words = "The field 'storageEngine' is not valid for an _id index specification. Specification: { key: { _id: 1 }, name: \"_id_\", storageEngine: { wiredTiger: { configString: \"block_compressor=zlib\" } }, v: 2 }";
    check(db, vec![(doc! { "create": "e", "idIndex": of_ids }, 197, words)]).await;
}
