//! Collations of indexes: which queries they serve, what they hold apart, and how they are kept.

use bson::{Document, doc};
use odm::Db;

use odm_tests::command::{batch, code, run};
use odm_tests::random::Random;

crate::on_every_backend! {
    a_hint_of_several_indexes_is_refused,
    collated_indexes_answer_as_no_index_does,
    collated_unique_indexes_hold_equal_strings_apart,
    indexes_inherit_the_collections_collation,
    indexes_serve_queries_of_their_collation,
    partial_indexes_compare_by_their_collation,
    some_kinds_of_indexes_have_no_collation,
}

fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

async fn index(db: &Db, name: &str, spec: Document) {
    run(db, doc! { "createIndexes": name, "indexes": [spec] }).await;
}

/// The stages of a plan, from the top, with the index's name.
fn stages(plan: &Document, found: &mut Vec<String>) {
    let name = plan.get_str("stage").unwrap_or_default();
    match plan.get_str("indexName") {
        Ok(index) => found.push(format!("{name} {index}")),
        Err(_) => found.push(name.to_owned()),
    }
    if let Ok(input) = plan.get_document("inputStage") {
        stages(input, found);
    }
}

async fn plan(db: &Db, find: Document) -> Vec<String> {
    let explained = run(db, doc! { "explain": find, "verbosity": "queryPlanner" }).await;
    let planner = explained.get_document("queryPlanner").unwrap();
    let winning = planner.get_document("winningPlan").unwrap();
    let mut found = Vec::new();
    stages(winning.get_document("queryPlan").unwrap_or(winning), &mut found);
    found
}

async fn indexes_serve_queries_of_their_collation(db: &Db) {
    let documents: Vec<Document> = (0..50)
        .map(|id| doc! { "_id": id, "s": format!("name{id}"), "n": id })
        .collect();
    run(db, doc! { "insert": "people", "documents": documents }).await;
    index(
        db,
        "people",
        doc! { "key": { "s": 1 }, "name": "caseless", "collation": caseless() },
    )
    .await;
    let uses = async |find: Document| {
        plan(db, find)
            .await
            .iter()
            .any(|stage| stage == "IXSCAN caseless")
    };
    let find = |filter: Document, collation: Document| doc! { "find": "people", "filter": filter, "collation": collation };
    let simple = || doc! { "locale": "simple" };
    let french = || doc! { "locale": "fr", "strength": 2 };
    assert!(uses(find(doc! { "s": "NAME7" }, caseless())).await);
    assert!(uses(find(doc! { "s": { "$gt": "NAME7" } }, caseless())).await);
    assert!(uses(find(doc! { "s": { "$in": ["NAME7", "x"] } }, caseless())).await);
    assert!(!uses(find(doc! { "s": "NAME7" }, simple())).await);
    assert!(!uses(find(doc! { "s": "NAME7" }, french())).await);
    assert!(!uses(find(doc! { "s": { "t": "x" } }, french())).await);
    assert!(!uses(find(doc! { "s": { "$in": [1, "x"] } }, simple())).await);
    // What holds no strings compares alike by all.
    assert!(uses(find(doc! { "s": 5 }, simple())).await);
    assert!(uses(find(doc! { "s": { "$gte": 5 } }, french())).await);
    for (sort, collation, sorted) in [
        (doc! { "s": 1 }, caseless(), false),
        (doc! { "s": -1 }, caseless(), false),
        (doc! { "s": 1 }, simple(), true),
        (doc! { "s": 1 }, french(), true),
    ] {
        let mut command = find(doc! {}, collation.clone());
        command.insert("sort", sort);
        let stages = plan(db, command).await;
        assert_eq!(
            stages.iter().any(|stage| stage.starts_with("SORT")),
            sorted,
            "{collation}"
        );
    }
    let mut command = find(doc! { "s": { "$gt": 5 } }, simple());
    command.insert("sort", doc! { "s": 1 });
    let stages = plan(db, command).await;
    assert!(
        !stages.iter().any(|stage| stage.starts_with("SORT")),
        "{stages:?}"
    );
    // A hint does not make the index's order the query's.
    for collation in [caseless(), simple(), french()] {
        let mut command = find(doc! { "s": "NAME7" }, collation.clone());
        command.insert("hint", "caseless");
        let own = batch(&run(db, command).await);
        assert_eq!(own.len(), usize::from(collation != simple()), "{collation}");
    }
    let explained = run(
        db,
        doc! { "explain": find(doc! { "s": "NAME7" }, caseless()), "verbosity": "queryPlanner" },
    )
    .await;
    let planner = explained.get_document("queryPlanner").unwrap();
    assert_eq!(
        planner
            .get_document("collation")
            .unwrap()
            .get_i32("strength")
            .unwrap(),
        2
    );
}

async fn a_hint_of_several_indexes_is_refused(db: &Db) {
    run(db, doc! { "insert": "x", "documents": [{ "_id": 1, "s": "a" }] }).await;
    index(db, "x", doc! { "key": { "s": 1 }, "name": "bytes" }).await;
    index(
        db,
        "x",
        doc! { "key": { "s": 1 }, "name": "caseless", "collation": caseless() },
    )
    .await;
    index(
        db,
        "x",
        doc! { "key": { "s": 1 }, "name": "french", "collation": { "locale": "fr" } },
    )
    .await;
    assert_eq!(code(db, doc! { "find": "x", "hint": { "s": 1 } }).await, 27);
    assert_eq!(code(db, doc! { "find": "x", "hint": "french" }).await, 0);
    // Each of them is there for its own queries.
    for (collation, name) in [
        (doc! { "locale": "simple" }, "bytes"),
        (caseless(), "caseless"),
        (doc! { "locale": "fr" }, "french"),
    ] {
        let stages = plan(
            db,
            doc! { "find": "x", "filter": { "s": "a" }, "collation": collation },
        )
        .await;
        assert!(stages.contains(&format!("IXSCAN {name}")), "{stages:?}");
    }
    assert_eq!(
        code(
            db,
            doc! { "createIndexes": "x", "indexes": [{ "key": { "s": 1 }, "name": "other" }] }
        )
        .await,
        85
    );
    assert_eq!(code(db, doc! { "createIndexes": "x", "indexes": [{ "key": { "s": 1 }, "name": "bytes", "collation": caseless() }] }).await, 86);
    assert_eq!(code(db, doc! { "createIndexes": "x", "indexes": [{ "key": { "s": 1 }, "name": "caseless", "collation": caseless() }] }).await, 0);
    assert_eq!(
        code(db, doc! { "dropIndexes": "x", "index": { "s": 1 } }).await,
        181
    );
    assert_eq!(code(db, doc! { "dropIndexes": "x", "index": "bytes" }).await, 0);
}

async fn collated_unique_indexes_hold_equal_strings_apart(db: &Db) {
    index(
        db,
        "u",
        doc! { "key": { "s": 1, "n": -1 }, "name": "s", "unique": true, "collation": caseless() },
    )
    .await;
    let insert = |document: Document| doc! { "insert": "u", "documents": [document] };
    assert_eq!(code(db, insert(doc! { "_id": 1, "s": "ab", "n": 1 })).await, 0);
    assert_eq!(code(db, insert(doc! { "_id": 2, "s": "AB", "n": 2 })).await, 0);
    assert_eq!(code(db, insert(doc! { "_id": 3, "s": "áb", "n": 1 })).await, 0);
    assert_eq!(
        code(db, insert(doc! { "_id": 4, "s": ["x", "X"], "n": 1 })).await,
        0
    );
    let reply = run(db, insert(doc! { "_id": 5, "s": "AB", "n": 1.0 })).await;
    let error = reply.get_array("writeErrors").unwrap()[0]
        .as_document()
        .unwrap()
        .clone();
    assert_eq!(error.get_i32("code").unwrap(), 11000);
    let message = error.get_str("errmsg").unwrap();
    assert!(
        message.contains("index: s collation: { locale: \"en\""),
        "{message}"
    );
    // What is shown is the sort key, whose bytes are the rules' own.
    assert!(
        message.contains("dup key: { s: \"0x") && message.contains("\", n: 1"),
        "{message}"
    );
    assert_eq!(code(db, insert(doc! { "_id": 6, "s": "X", "n": 1 })).await, 11000);
    let update = doc! { "update": "u", "updates": [{ "q": { "_id": 3 }, "u": { "$set": { "s": "Ab" } } }] };
    assert_eq!(code(db, update).await, 11000);
    // The document's own string in other letters is no other key.
    let update = doc! { "update": "u", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "s": "AB" } } }] };
    assert_eq!(code(db, update).await, 0);
    // A document of an array of strings, and strings inside of documents.
    assert_eq!(
        code(db, insert(doc! { "_id": 7, "s": { "t": ["q"] }, "n": 1 })).await,
        0
    );
    assert_eq!(
        code(db, insert(doc! { "_id": 8, "s": { "t": ["Q"] }, "n": 1 })).await,
        11000
    );
    // Strings that are there already keep an index from being built.
    run(
        db,
        doc! { "insert": "v", "documents": [{ "_id": 1, "s": "a" }, { "_id": 2, "s": "A" }] },
    )
    .await;
    let spec = doc! { "key": { "s": 1 }, "name": "s", "unique": true, "collation": caseless() };
    assert_eq!(
        code(db, doc! { "createIndexes": "v", "indexes": [spec] }).await,
        11000
    );
    let spec = doc! { "key": { "s": 1 }, "name": "s", "unique": true, "collation": { "locale": "en" } };
    assert_eq!(
        code(db, doc! { "createIndexes": "v", "indexes": [spec] }).await,
        0
    );
}

async fn indexes_inherit_the_collections_collation(db: &Db) {
    run(db, doc! { "create": "names", "collation": caseless() }).await;
    index(
        db,
        "names",
        doc! { "key": { "s": 1 }, "name": "own", "unique": true },
    )
    .await;
    index(
        db,
        "names",
        doc! { "key": { "t": 1 }, "name": "bytes", "unique": true, "collation": { "locale": "simple" } },
    )
    .await;
    let insert = |document: Document| doc! { "insert": "names", "documents": [document] };
    assert_eq!(code(db, insert(doc! { "_id": 1, "s": "a", "t": "a" })).await, 0);
    assert_eq!(
        code(db, insert(doc! { "_id": 2, "s": "A", "t": "c" })).await,
        11000
    );
    assert_eq!(code(db, insert(doc! { "_id": 3, "s": "c", "t": "A" })).await, 0);
    let stages = plan(db, doc! { "find": "names", "filter": { "s": "A" } }).await;
    assert!(stages.contains(&"IXSCAN own".to_owned()), "{stages:?}");
    let stages = plan(db, doc! { "find": "names", "filter": { "t": "A" } }).await;
    assert!(stages.contains(&"COLLSCAN".to_owned()), "{stages:?}");
    let id = |collation: Document| doc! { "createIndexes": "names", "indexes": [{ "key": { "_id": 1 }, "name": "_id_", "collation": collation }] };
    assert_eq!(code(db, id(doc! { "locale": "simple" })).await, 2);
    assert_eq!(code(db, id(caseless())).await, 0);
}

async fn partial_indexes_compare_by_their_collation(db: &Db) {
    let documents: Vec<Document> = ["a", "A", "b", "B", "c"]
        .iter()
        .zip(0..)
        .map(|(text, id)| doc! { "_id": id, "s": *text, "n": id })
        .collect();
    run(db, doc! { "insert": "p", "documents": documents }).await;
    index(db, "p", doc! {
        "key": { "n": 1 }, "name": "from_b", "collation": caseless(), "partialFilterExpression": { "s": { "$gte": "B" } },
    }).await;
    let hinted = doc! { "find": "p", "filter": { "n": { "$gte": 0 } }, "hint": "from_b" };
    assert_eq!(batch(&run(db, hinted).await).len(), 3);
    let asked = |filter: Document, collation: Document| doc! { "find": "p", "filter": filter, "collation": collation };
    for (filter, collation, used, found) in [
        (doc! { "n": { "$gte": 0 }, "s": "B" }, caseless(), true, 2),
        (
            doc! { "n": { "$gte": 0 }, "s": "B" },
            doc! { "locale": "simple" },
            false,
            1,
        ),
        (
            doc! { "n": { "$gte": 0 }, "s": { "$gt": "b" } },
            caseless(),
            true,
            1,
        ),
        (
            doc! { "n": { "$gte": 0 }, "s": { "$gte": "A" } },
            caseless(),
            false,
            5,
        ),
        (
            doc! { "n": { "$gte": 0 }, "s": { "$gte": "b" } },
            doc! { "locale": "fr" },
            false,
            3,
        ),
    ] {
        let stages = plan(db, asked(filter.clone(), collation.clone())).await;
        assert_eq!(
            stages.contains(&"IXSCAN from_b".to_owned()),
            used,
            "{filter} {collation}"
        );
        assert_eq!(
            batch(&run(db, asked(filter.clone(), collation.clone())).await).len(),
            found,
            "{filter} {collation}"
        );
    }
}

async fn some_kinds_of_indexes_have_no_collation(db: &Db) {
    run(db, doc! { "create": "names", "collation": caseless() }).await;
    let create = |spec: Document| doc! { "createIndexes": "names", "indexes": [spec] };
    for (kind, own, simple) in [
        ("text", 67, 0),
        ("2d", 67, 0),
        ("2dsphere", 0, 0),
        ("hashed", 0, 0),
    ] {
        let name = format!("{kind}_own");
        assert_eq!(
            code(db, create(doc! { "key": { "a": kind }, "name": name })).await,
            own,
            "{kind}"
        );
        let spec = doc! { "key": { "b": kind }, "name": format!("{kind}_simple"), "collation": { "locale": "simple" } };
        assert_eq!(code(db, create(spec)).await, simple, "{kind}");
    }
    for (collation, wanted) in [
        (doc! {}, 2),
        (doc! { "locale": "xx" }, 2),
        (doc! { "strength": 1 }, 40414),
        (doc! { "locale": "en", "strength": 9 }, 51024),
        (doc! { "locale": "en", "what": 1 }, 40415),
        (doc! { "locale": "da", "strength": 1 }, 2),
    ] {
        let spec = doc! { "key": { "x": 1 }, "name": "x", "collation": collation.clone() };
        assert_eq!(code(db, create(spec)).await, wanted, "{collation}");
    }
    // A hash of equal strings is the same.
    run(
        db,
        doc! { "insert": "names", "documents": [{ "_id": 2, "h": "x" }, { "_id": 3, "h": "X" }] },
    )
    .await;
    index(db, "names", doc! { "key": { "h": "hashed" }, "name": "h" }).await;
    let find = doc! { "find": "names", "filter": { "h": "X" }, "hint": "h" };
    assert_eq!(batch(&run(db, find).await).len(), 2);
    index(db, "names", doc! { "key": { "w.$**": 1 }, "name": "w" }).await;
    run(db, doc! { "insert": "names", "documents": [{ "_id": 4, "w": { "k": "x" } }, { "_id": 5, "w": { "k": ["X", "y"] } }] }).await;
    let find = doc! { "find": "names", "filter": { "w.k": "X" }, "hint": "w" };
    assert_eq!(batch(&run(db, find).await).len(), 2);
}

fn text(random: &mut Random) -> bson::Bson {
    let word = ["a", "A", "á", "b", "B", "ab", "Ab", "", "z", "10", "9", "ß", "ss"][random.below(13)];
    match random.below(8) {
        0 => bson::Bson::Int32(random.below(3) as i32),
        1 => bson::Bson::Null,
        2 => {
            let other = ["b", "C"][random.below(2)];
            bson::Bson::Array(vec![word.into(), other.into()])
        }
        3 => bson::Bson::Document(doc! { "t": word }),
        _ => bson::Bson::String(word.to_owned()),
    }
}

async fn collated_indexes_answer_as_no_index_does(db: &Db) {
    let mut random = Random::new(17);
    let mut documents = Vec::new();
    for id in 0..150 {
        documents.push(doc! { "_id": id, "a": text(&mut random), "b": text(&mut random), "c": id % 3 });
    }
    run(db, doc! { "insert": "plain", "documents": documents.clone() }).await;
    run(db, doc! { "insert": "indexed", "documents": documents }).await;
    let collations = [
        doc! { "locale": "simple" },
        caseless(),
        doc! { "locale": "de", "strength": 1 },
        doc! { "locale": "en", "numericOrdering": true },
    ];
    for (at, collation) in collations.iter().enumerate() {
        index(
            db,
            "indexed",
            doc! { "key": { "a": 1 }, "name": format!("a{at}"), "collation": collation.clone() },
        )
        .await;
        index(
            db,
            "indexed",
            doc! { "key": { "c": 1, "a": -1 }, "name": format!("c{at}"), "collation": collation.clone() },
        )
        .await;
    }
    for _ in 0..120 {
        let operand = text(&mut random);
        let condition = match random.below(8) {
            0 => doc! { "$gt": operand },
            1 => doc! { "$lte": operand },
            2 => doc! { "$in": [operand, text(&mut random)] },
            3 => doc! { "$ne": operand },
            4 => doc! { "$not": { "$gte": operand } },
            5 => doc! { "$elemMatch": { "$gte": "a", "$lt": "c" } },
            _ => doc! { "$eq": operand },
        };
        let path = ["a", "b", "a.t"][random.below(3)];
        let mut filter = doc! { path: condition };
        if random.below(3) == 0 {
            filter.insert("c", 1);
        }
        if random.below(5) == 0 {
            filter = doc! { "$or": [filter, { "a": text(&mut random) }] };
        }
        let collation = &collations[random.below(4)];
        let direction = if random.below(2) == 0 { 1 } else { -1 };
        let sort = if random.below(2) == 0 {
            doc! { "a": direction, "_id": 1 }
        } else {
            doc! { "_id": 1 }
        };
        let ask = async |name: &str| {
            let command = doc! {
                "find": name, "filter": filter.clone(), "sort": sort.clone(), "collation": collation.clone(),
                "batchSize": 1000,
            };
            batch(&run(db, command).await)
        };
        assert_eq!(
            ask("indexed").await,
            ask("plain").await,
            "{filter} {sort} {collation}"
        );
        let counted = async |name: &str| {
            let command = doc! { "count": name, "query": filter.clone(), "collation": collation.clone() };
            run(db, command).await.get_i32("n").unwrap()
        };
        assert_eq!(
            counted("indexed").await,
            counted("plain").await,
            "{filter} {collation}"
        );
    }
}
