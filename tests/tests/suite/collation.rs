//! Collations: what strings compare by their language's rules, and what compares their bytes all the same.

use bson::{Bson, Document, doc};
use odm::Db;

use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    array_operators_of_updates_compare_by_the_collation,
    filters_compare_by_the_collation,
    sorts_go_by_the_collation,
    writes_find_by_the_collation,
}

/// Letters whatever their case.
fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

/// Letters whatever their case and accents.
fn plain() -> Document {
    doc! { "locale": "fr", "strength": 1 }
}

async fn found(db: &Db, name: &str, filter: Document, collation: Document) -> Vec<i32> {
    let command = doc! { "find": name, "filter": filter, "sort": { "_id": 1 }, "collation": collation };
    ids(&batch(&run(db, command).await))
}

async fn aggregated(db: &Db, name: &str, pipeline: Vec<Document>, collation: Document) -> Vec<Document> {
    let command = doc! { "aggregate": name, "pipeline": pipeline, "cursor": {}, "collation": collation };
    batch(&run(db, command).await)
}

/// Strings in documents, arrays and alone, and other types between them.
pub fn things() -> Vec<Document> {
    vec![
        doc! { "_id": 1, "s": "apple" },
        doc! { "_id": 2, "s": "Apple" },
        doc! { "_id": 3, "s": "ÁPPLE" },
        doc! { "_id": 4, "s": "banana" },
        doc! { "_id": 5, "s": ["BANANA", "cherry"] },
        doc! { "_id": 6, "s": { "t": "Apple", "n": 1 } },
        doc! { "_id": 7, "s": { "t": "APPLE", "n": 1 } },
        doc! { "_id": 8, "s": 5 },
        doc! { "_id": 9, "s": null },
        doc! { "_id": 10 },
        doc! { "_id": 11, "s": [{ "t": "Cherry" }, { "t": "Date" }] },
        doc! { "_id": 12, "s": "cherry-2" },
        doc! { "_id": 13, "s": "" },
    ]
}

async fn filters_compare_by_the_collation(db: &Db) {
    insert(db, "things", things()).await;
    let regex = |pattern: &str| doc! { "$regex": pattern };
    for (filter, simple, by_case, by_letter) in [
        (doc! { "s": "APPLE" }, vec![], vec![1, 2], vec![1, 2, 3]),
        (
            doc! { "s": { "$ne": "APPLE" } },
            (1..=13).collect(),
            vec![3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
            vec![4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
        ),
        (
            doc! { "s": { "$in": ["BANANA", "x", 5] } },
            vec![5, 8],
            vec![4, 5, 8],
            vec![4, 5, 8],
        ),
        (
            doc! { "s": { "$nin": ["BANANA", "APPLE"] } },
            vec![1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13],
            vec![3, 6, 7, 8, 9, 10, 11, 12, 13],
            vec![6, 7, 8, 9, 10, 11, 12, 13],
        ),
        (
            doc! { "s": { "$gt": "APPLE" } },
            vec![1, 2, 3, 4, 5, 12],
            vec![3, 4, 5, 12],
            vec![4, 5, 12],
        ),
        (
            doc! { "s": { "$gte": "APPLE", "$lt": "B" } },
            vec![2],
            vec![1, 2, 3],
            vec![1, 2, 3],
        ),
        (
            doc! { "s": { "$lte": "Apple" } },
            vec![2, 13],
            vec![1, 2, 13],
            vec![1, 2, 3, 13],
        ),
        (doc! { "s": { "$lt": "" } }, vec![], vec![], vec![]),
        (
            doc! { "s": { "t": "apple", "n": 1.0 } },
            vec![],
            vec![6, 7],
            vec![6, 7],
        ),
        (
            doc! { "s": { "$gt": { "t": "apple", "n": 0 } } },
            vec![],
            vec![6, 7, 11],
            vec![6, 7, 11],
        ),
        (doc! { "s.t": "CHERRY" }, vec![], vec![11], vec![11]),
        (
            doc! { "s.t": { "$in": ["CHERRY", "apple"] } },
            vec![],
            vec![6, 7, 11],
            vec![6, 7, 11],
        ),
        (doc! { "s": ["banana", "CHERRY"] }, vec![], vec![5], vec![5]),
        (
            doc! { "s": { "$all": ["banana", "CHERRY"] } },
            vec![],
            vec![5],
            vec![5],
        ),
        (
            doc! { "s": { "$elemMatch": { "$gt": "b", "$lt": "bb" } } },
            vec![],
            vec![5],
            vec![5],
        ),
        (
            doc! { "s": { "$elemMatch": { "t": "DATE" } } },
            vec![],
            vec![11],
            vec![11],
        ),
        (
            doc! { "s": { "$not": { "$gte": "BANANA" } } },
            vec![2, 6, 7, 8, 9, 10, 11, 13],
            vec![1, 2, 3, 6, 7, 8, 9, 10, 11, 13],
            vec![1, 2, 3, 6, 7, 8, 9, 10, 11, 13],
        ),
        (
            doc! { "$or": [{ "s": "APPLE" }, { "s": 5 }] },
            vec![8],
            vec![1, 2, 8],
            vec![1, 2, 3, 8],
        ),
        (
            doc! { "$nor": [{ "s": "APPLE" }, { "s": { "$gt": "a" } }] },
            vec![2, 6, 7, 8, 9, 10, 11, 13],
            vec![6, 7, 8, 9, 10, 11, 13],
            vec![6, 7, 8, 9, 10, 11, 13],
        ),
        // Patterns match characters, whatever the collation.
        (doc! { "s": regex("^app") }, vec![1], vec![1], vec![1]),
        (
            doc! { "s": { "$in": [Bson::RegularExpression(bson::Regex { pattern: "^app".try_into().unwrap(), options: "".try_into().unwrap() }), "BANANA"] } },
            vec![1, 5],
            vec![1, 4, 5],
            vec![1, 4, 5],
        ),
        (
            doc! { "s": { "$type": "string" } },
            vec![1, 2, 3, 4, 5, 12, 13],
            vec![1, 2, 3, 4, 5, 12, 13],
            vec![1, 2, 3, 4, 5, 12, 13],
        ),
        (doc! { "s": null }, vec![9, 10], vec![9, 10], vec![9, 10]),
        (
            doc! { "$expr": { "$eq": ["$s", "APPLE"] } },
            vec![],
            vec![1, 2],
            vec![1, 2, 3],
        ),
        (
            doc! { "$expr": { "$eq": ["a", "A"] } },
            vec![],
            (1..=13).collect(),
            (1..=13).collect(),
        ),
        (
            doc! { "$jsonSchema": { "properties": { "s": { "enum": ["APPLE", "apple"] } } } },
            vec![1, 10],
            vec![1, 10],
            vec![1, 10],
        ),
    ] {
        for (collation, wanted) in [
            (doc! { "locale": "simple" }, &simple),
            (caseless(), &by_case),
            (plain(), &by_letter),
        ] {
            let own = found(db, "things", filter.clone(), collation.clone()).await;
            assert_eq!(&own, wanted, "{filter} {collation}");
            let count = doc! { "count": "things", "query": filter.clone(), "collation": collation.clone() };
            assert_eq!(
                run(db, count).await.get_i32("n").unwrap() as usize,
                wanted.len(),
                "{filter}"
            );
            let pipeline = vec![doc! { "$match": filter.clone() }, doc! { "$sort": { "_id": 1 } }];
            let own = ids(&aggregated(db, "things", pipeline, collation.clone()).await);
            assert_eq!(&own, wanted, "{filter} {collation}");
        }
    }
    // Positions and projections know the collation too.
    let command = doc! {
        "find": "things", "filter": { "s": "BANANA" }, "projection": { "s.$": 1 }, "sort": { "_id": -1 },
        "limit": 1, "collation": caseless(),
    };
    assert_eq!(
        batch(&run(db, command).await)[0],
        doc! { "_id": 5, "s": ["BANANA"] }
    );
    let command = doc! {
        "find": "things", "filter": { "_id": { "$in": [1, 11] } }, "sort": { "_id": 1 }, "collation": caseless(),
        "projection": { "s": { "$elemMatch": { "t": "DATE" } }, "same": { "$eq": ["$s", "APPLE"] } },
    };
    assert_eq!(
        batch(&run(db, command).await),
        [
            doc! { "_id": 1, "same": true },
            doc! { "_id": 11, "s": [{ "t": "Date" }], "same": false },
        ]
    );
}

async fn sorts_go_by_the_collation(db: &Db) {
    let words = [
        "b", "A", "a", "B", "ä", "Z", "z", "10", "9", "a-b", "ab", "_x", "é", "e", "日", "😀",
    ];
    let documents = words
        .iter()
        .zip(1..)
        .map(|(word, id)| doc! { "_id": id, "s": *word, "d": { "s": *word }, "l": [*word] });
    insert(db, "words", documents.collect()).await;
    for (collation, wanted) in [
        (
            doc! { "locale": "simple" },
            "10 9 A B Z _x a a-b ab b e z ä é 日 😀",
        ),
        (doc! { "locale": "en" }, "_x 😀 10 9 a A ä a-b ab b B e é z Z 日"),
        (doc! { "locale": "sv" }, "_x 😀 10 9 a A a-b ab b B e é z Z ä 日"),
        (
            doc! { "locale": "en", "caseFirst": "upper" },
            "_x 😀 10 9 A a ä a-b ab B b e é Z z 日",
        ),
        (
            doc! { "locale": "en", "numericOrdering": true },
            "_x 😀 9 10 a A ä a-b ab b B e é z Z 日",
        ),
        (
            doc! { "locale": "en", "alternate": "shifted" },
            "😀 10 9 a A ä a-b ab b B e é _x z Z 日",
        ),
        (
            doc! { "locale": "en", "strength": 1 },
            "_x 😀 10 9 A a ä a-b ab b B e é Z z 日",
        ),
    ] {
        let mut order: Vec<&str> = wanted.split(' ').collect();
        if collation.get("strength").is_some() {
            // Of equal strings the order is that of `_id`.
            order = "_x 😀 10 9 A a ä a-b ab b B é e Z z 日".split(' ').collect();
        }
        for field in ["s", "d.s", "l", "d"] {
            let sort = doc! { field: 1, "_id": 1 };
            let command = doc! { "find": "words", "sort": sort.clone(), "collation": collation.clone() };
            let own = batch(&run(db, command).await);
            let own: Vec<&str> = own
                .iter()
                .map(|document| document.get_str("s").unwrap())
                .collect();
            assert_eq!(own, order, "{field} {collation}");
            // `$sort` behind a stage that keeps no index's order.
            let pipeline = vec![
                doc! { "$match": {} },
                doc! { "$addFields": { "x": 1 } },
                doc! { "$sort": sort },
            ];
            let own = aggregated(db, "words", pipeline, collation.clone()).await;
            let own: Vec<&str> = own
                .iter()
                .map(|document| document.get_str("s").unwrap())
                .collect();
            assert_eq!(own, order, "{field} {collation}");
        }
    }
}

async fn writes_find_by_the_collation(db: &Db) {
    insert(db, "things", things()).await;
    let reply = run(db, doc! { "update": "things", "updates": [
        { "q": { "s": "APPLE" }, "u": { "$set": { "u": 1 } }, "multi": true, "collation": caseless() },
        { "q": { "s": "APPLE" }, "u": { "$set": { "u": 2 } }, "multi": true },
        { "q": { "s": "BANANA" }, "u": { "$set": { "u": 3 } }, "multi": true, "collation": { "locale": "simple" } },
        { "q": { "s": "PEAR" }, "u": { "$set": { "u": 4 } }, "upsert": true, "collation": caseless() },
    ] }).await;
    assert_eq!(
        (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap()),
        (4, 3)
    );
    // The value of an upsert is the filter's own.
    assert_eq!(
        run(db, doc! { "count": "things", "query": { "s": "PEAR" } })
            .await
            .get_i32("n")
            .unwrap(),
        1
    );
    let change = doc! {
        "findAndModify": "things", "query": { "s": "apple" }, "sort": { "s": 1, "_id": -1 },
        "update": { "$set": { "u": 9 } }, "collation": caseless(), "new": true,
    };
    let changed = run(db, change).await;
    assert_eq!(changed.get_document("value").unwrap().get_i32("_id").unwrap(), 2);
    let reply = run(
        db,
        doc! { "delete": "things", "deletes": [
            { "q": { "s": "APPLE" }, "limit": 0 },
            { "q": { "s": "APPLE" }, "limit": 0, "collation": plain() },
            { "q": { "s": "cherry" }, "limit": 1, "collation": caseless() },
        ] },
    )
    .await;
    assert_eq!(reply.get_i32("n").unwrap(), 4);
    assert_eq!(
        code(
            db,
            doc! { "update": "things", "updates": [
                { "q": {}, "u": { "$set": { "u": 1 } }, "collation": { "locale": "xx" } },
            ] }
        )
        .await,
        2
    );
    assert_eq!(
        code(
            db,
            doc! { "delete": "things", "deletes": [
                { "q": {}, "limit": 0, "collation": { "locale": 5 } },
            ] }
        )
        .await,
        14
    );
}

async fn array_operators_of_updates_compare_by_the_collation(db: &Db) {
    let list = || doc! { "_id": 1, "l": ["a", "B", "c"], "d": [{ "k": "a", "n": 1 }, { "k": "B", "n": 2 }], "m": "b" };
    let cases = [
        (doc! { "$pull": { "l": "A" } }, vec![], doc! { "l": ["B", "c"] }),
        (
            doc! { "$pull": { "l": { "$gt": "A" } } },
            vec![],
            doc! { "l": ["a"] },
        ),
        (
            doc! { "$pull": { "d": { "k": "b" } } },
            vec![],
            doc! { "d": [{ "k": "a", "n": 1 }] },
        ),
        (
            doc! { "$pullAll": { "l": ["A", "b"] } },
            vec![],
            doc! { "l": ["c"] },
        ),
        (doc! { "$addToSet": { "l": "A" } }, vec![], doc! {}),
        (
            doc! { "$addToSet": { "l": { "$each": ["A", "D", "d", "e"] } } },
            vec![],
            doc! { "l": ["a", "B", "c", "D", "e"] },
        ),
        (
            doc! { "$push": { "l": { "$each": ["A"], "$sort": 1 } } },
            vec![],
            doc! { "l": ["a", "A", "B", "c"] },
        ),
        (
            doc! { "$push": { "d": { "$each": [{ "k": "A", "n": 0 }], "$sort": { "k": -1, "n": 1 } } } },
            vec![],
            doc! { "d": [{ "k": "B", "n": 2 }, { "k": "A", "n": 0 }, { "k": "a", "n": 1 }] },
        ),
        (doc! { "$min": { "m": "A" } }, vec![], doc! { "m": "A" }),
        (doc! { "$min": { "m": "B" } }, vec![], doc! {}),
        (doc! { "$max": { "m": "C" } }, vec![], doc! { "m": "C" }),
        (
            doc! { "$set": { "l.$[e]": "x" } },
            vec![doc! { "e": "b" }],
            doc! { "l": ["a", "x", "c"] },
        ),
        (
            doc! { "$inc": { "d.$[e].n": 5 } },
            vec![doc! { "e.k": { "$gte": "B" } }],
            doc! { "d": [{ "k": "a", "n": 1 }, { "k": "B", "n": 7 }] },
        ),
        // The same value in other letters is another value to set.
        (doc! { "$set": { "m": "B" } }, vec![], doc! { "m": "B" }),
    ];
    for (update, filters, wanted) in cases {
        let name = "lists";
        db.run_command(doc! { "delete": name, "deletes": [{ "q": {}, "limit": 0 }] })
            .await
            .unwrap();
        insert(db, name, vec![list()]).await;
        let statement =
            doc! { "q": { "_id": 1 }, "u": update.clone(), "arrayFilters": filters, "collation": caseless() };
        run(db, doc! { "update": name, "updates": [statement] }).await;
        let mut expected = list();
        expected.extend(wanted);
        let own = batch(&run(db, doc! { "find": name }).await);
        assert_eq!(own, [expected], "{update}");
    }
    // A pipeline, and the position that the filter found.
    insert(db, "pipelines", vec![list()]).await;
    let command = doc! { "update": "pipelines", "updates": [
        { "q": { "m": "B" }, "u": [{ "$set": { "same": { "$eq": ["$m", "B"] } } }], "collation": caseless() },
        { "q": { "l": "b" }, "u": { "$set": { "l.$": "z" } }, "collation": caseless() },
    ] };
    run(db, command).await;
    let own = batch(&run(db, doc! { "find": "pipelines" }).await);
    assert!(own[0].get_bool("same").unwrap());
    assert_eq!(own[0].get_array("l").unwrap()[1], Bson::from("z"));
}
