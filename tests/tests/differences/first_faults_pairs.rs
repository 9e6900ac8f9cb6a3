//! Of two faults of a command, each in an option of its own, the one that the server finds first is told.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{insert, run};

use super::refusals::{answer, with};

crate::on_every_backend! {
    finds_are_read_in_the_order_of_the_server,
    find_and_modify_is_read_in_the_order_of_the_server,
    hints_are_read_in_their_place,
    constants_are_computed_before_what_is_behind,
}

/// Faults by the options that they are of, in the order in which they are told.
type Ranked = Vec<(&'static str, Document)>;

/// Checks that of each two the first is told.
async fn ranked(db: &Db, base: &Document, faults: Ranked) {
    for (position, (name, first)) in faults.iter().enumerate() {
        let alone = answer(db, with(base.clone(), first.clone()), db.name()).await;
        assert_ne!(alone.0, 0, "{name}");
        for (other, second) in &faults[position + 1..] {
            let both = with(with(base.clone(), second.clone()), first.clone());
            let told = answer(db, both.clone(), db.name()).await;
            assert_eq!(told, alone, "{name} before {other}: {both}");
        }
    }
}

async fn some(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] },
    )
    .await;
}

fn divided() -> Document {
    doc! { "$expr": { "$divide": [1, 0] } }
}

async fn finds_are_read_in_the_order_of_the_server(db: &Db) {
    some(db).await;
    let base = doc! { "find": "c" };
    for (projection, sort) in [
        (doc! { "a": { "$nope": 1 } }, doc! { "locale": "zz" }),
        (doc! { "a": 1, "b": 0 }, doc! { "a": { "$nope": 1 } }),
        (doc! { "a": { "$slice": "x" } }, doc! { "a": 2 }),
        (doc! { "$set": 1 }, doc! { "": 1 }),
        (
            doc! { "a": { "$divide": [1, 0] } },
            doc! { "a": { "$meta": "textScore" } },
        ),
    ] {
        ranked(
            db,
            &base,
            vec![
                ("awaitData", doc! { "awaitData": true }),
                ("ntoreturn", doc! { "ntoreturn": 5 }),
                ("collation", doc! { "collation": { "a": 1 } }),
                ("let", doc! { "let": { "a": { "$nope": 1 } } }),
                ("filter", doc! { "filter": { "$nope": 1 } }),
                ("hint", doc! { "hint": { "$natural": 1, "a": 1 } }),
                ("filter", doc! { "filter": divided() }),
                ("projection", doc! { "projection": projection }),
                ("sort", doc! { "sort": sort }),
                ("hint", doc! { "hint": "none" }),
            ],
        )
        .await;
    }
    ranked(
        db,
        &base,
        vec![
            ("ntoreturn", doc! { "ntoreturn": 5, "limit": 5 }),
            ("awaitData", doc! { "awaitData": true }),
            ("collation", doc! { "collation": { "locale": 5 } }),
            ("filter", doc! { "filter": { "a": { "$nope": 1 } } }),
            ("sort", doc! { "sort": { "a": 1, "$natural": 1 } }),
            ("hint", doc! { "hint": { "$natural": 1, "a": 1 } }),
            ("projection", doc! { "projection": { "a": { "$nope": 1 } } }),
        ],
    )
    .await;
    ranked(
        db,
        &doc! { "find": "c", "tailable": true },
        vec![
            ("sort", doc! { "sort": { "a": 1 } }),
            ("ntoreturn", doc! { "ntoreturn": 5 }),
            ("collation", doc! { "collation": { "a": 1 } }),
            ("filter", doc! { "filter": { "$nope": 1 } }),
        ],
    )
    .await;
    ranked(
        db,
        &doc! { "distinct": "c", "key": "a" },
        vec![
            ("key", doc! { "key": "a\0b" }),
            ("collation", doc! { "collation": { "a": 1 } }),
            ("query", doc! { "query": { "$nope": 1 } }),
        ],
    )
    .await;
}

async fn find_and_modify_is_read_in_the_order_of_the_server(db: &Db) {
    some(db).await;
    let base = doc! { "findAndModify": "c", "query": {}, "update": { "$set": { "x": 1 } } };
    let fields = || doc! { "fields": { "a": { "$nope": 1 } } };
    ranked(
        db,
        &base,
        vec![
            ("let", doc! { "let": { "a": { "$nope": 1 } } }),
            ("collation", doc! { "collation": { "a": 1 } }),
            ("arrayFilters", doc! { "arrayFilters": [{}] }),
            ("query", doc! { "query": { "$nope": 1 } }),
            ("hint", doc! { "hint": { "$natural": 1, "a": 1 } }),
            ("query", doc! { "query": divided() }),
            ("sort", doc! { "sort": { "locale": "zz" } }),
            ("fields", fields()),
            ("hint", doc! { "hint": "none" }),
        ],
    )
    .await;
    ranked(
        db,
        &with(base.clone(), doc! { "upsert": true }),
        vec![
            ("arrayFilters", doc! { "arrayFilters": [{}] }),
            ("update", doc! { "update": { "$nope": 1 } }),
            ("query", doc! { "query": { "$expr": "$$q" } }),
            ("sort", doc! { "sort": { "a": 2 } }),
            ("fields", fields()),
            ("hint", doc! { "hint": "none" }),
        ],
    )
    .await;
    let expression = "$expr is not allowed in the query predicate for an upsert";
    let unknown = "unknown top level operator: $nope. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.";
    for (query, code, words) in [
        (doc! { "$expr": "$$q" }, 224, expression),
        (divided(), 224, expression),
        (doc! { "$or": [{ "a": 1 }, { "$expr": 1 }] }, 224, expression),
        (doc! { "$expr": 1, "$nope": 1 }, 224, expression),
        (doc! { "$nope": 1, "$expr": 1 }, 2, unknown),
    ] {
        let command = with(base.clone(), doc! { "query": query.clone(), "upsert": true });
        assert_eq!(answer(db, command, db.name()).await, (code, words.to_owned()));
        let update = doc! { "q": query, "u": { "$set": { "x": 1 } }, "upsert": true };
        let reply = run(db, doc! { "update": "c", "updates": [update] }).await;
        assert_eq!(first_error(&reply), (code, words.to_owned()));
    }
}

fn first_error(reply: &Document) -> (i32, String) {
    let errors = reply.get_array("writeErrors").expect("errors");
    let first = errors[0].as_document().unwrap();
    (
        first.get_i32("code").unwrap(),
        first.get_str("errmsg").unwrap().to_owned(),
    )
}

async fn hints_are_read_in_their_place(db: &Db) {
    some(db).await;
    let compound = || doc! { "$natural": 1, "a": 1 };
    let words = "Cannot include '$natural' in compound hint: { $natural: 1, a: 1 }";
    for (verb, statements, statement) in [
        ("update", "updates", doc! { "u": { "$set": { "x": 1 } } }),
        (
            "update",
            "updates",
            doc! { "u": [{ "$set": { "x": 1 } }], "upsert": false },
        ),
        ("delete", "deletes", doc! { "limit": 1 }),
    ] {
        let statement = with(statement, doc! { "q": divided(), "hint": compound() });
        let reply = run(db, doc! { verb: "c", statements: [statement] }).await;
        assert_eq!(first_error(&reply), (2, words.to_owned()));
    }
    // Of what is near no order is that of the documents; it is told before a projection is read.
    let near = || doc! { "p": { "$near": [1, 1] } };
    let geo = |what: &str| (2, format!("geoNear expression not allowed with $natural {what}"));
    let (forth, nope) = (|| doc! { "$natural": 1 }, || doc! { "a": { "$nope": 1 } });
    for (command, told) in [
        (
            doc! { "count": "c", "query": near(), "hint": forth() },
            geo("hint"),
        ),
        (
            doc! { "find": "c", "filter": near(), "hint": forth(), "projection": nope() },
            geo("hint"),
        ),
        (
            doc! { "find": "c", "filter": near(), "sort": forth(), "hint": { "$natural": -1 }, "projection": nope() },
            geo("sort order"),
        ),
        (
            doc! { "findAndModify": "c", "query": near(), "update": { "$set": { "x": 1 } }, "sort": forth(), "fields": nope() },
            geo("sort order"),
        ),
        (
            doc! { "find": "c", "filter": near(), "hint": compound() },
            (2, words.to_owned()),
        ),
        (
            doc! { "find": "c", "filter": near(), "sort": compound(), "hint": forth() },
            (
                2,
                "Cannot include '$natural' in compound sort: { $natural: 1, a: 1 }".to_owned(),
            ),
        ),
    ] {
        assert_eq!(answer(db, command.clone(), db.name()).await, told, "{command}");
    }
    for (verb, statements, statement) in [
        ("update", "updates", doc! { "u": { "$set": { "x": 1 } } }),
        ("delete", "deletes", doc! { "limit": 1 }),
    ] {
        let statement = with(statement, doc! { "q": near(), "hint": forth() });
        let reply = run(db, doc! { verb: "c", statements: [statement] }).await;
        assert_eq!(first_error(&reply), geo("hint"));
    }
    for (filters, code) in [(vec![doc! {}], 9), (vec![doc! { "X": 1 }], 2), (vec![], 51198)] {
        let statement =
            doc! { "q": {}, "u": { "$set": { "x": 1 } }, "arrayFilters": filters, "c": { "A": 1 } };
        let reply = run(db, doc! { "update": "c", "updates": [statement] }).await;
        assert_eq!(first_error(&reply).0, code);
    }
    ranked(
        db,
        &doc! { "count": "c" },
        vec![
            ("query", doc! { "query": { "a": { "$regex": "[" } } }),
            ("hint", doc! { "hint": compound() }),
        ],
    )
    .await;
    for stage in [
        doc! { "$match": { "$nope": 1 } },
        doc! { "$project": { "x": "$$q" } },
        doc! { "$limit": -1 },
        doc! { "$project": { "x": { "$divide": [1, 0] } } },
        doc! { "$group": { "_id": 1, "x": { "$nope": 1 } } },
    ] {
        ranked(
            db,
            &doc! { "aggregate": "c", "pipeline": [], "cursor": {} },
            vec![
                ("collation", doc! { "collation": { "a": 1 } }),
                ("let", doc! { "let": { "a": { "$nope": 1 } } }),
                ("pipeline", doc! { "pipeline": [stage] }),
                ("hint", doc! { "hint": compound() }),
                ("hint", doc! { "hint": "none" }),
            ],
        )
        .await;
    }
}

async fn constants_are_computed_before_what_is_behind(db: &Db) {
    some(db).await;
    let date = |text: &str| doc! { "$dateFromString": { "dateString": text, "format": "%Y" } };
    let words = |text: &str| {
        format!(
            "Failed to optimize pipeline :: caused by :: Error parsing date string '{text}'; 0: Unexpected data found. 'x'"
        )
    };
    let aggregate = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    // What is computed at a level is, before what is inside of it.
    for (fields, first) in [
        (doc! { "b.c": date("x1"), "x": date("x2") }, "x2"),
        (doc! { "b.c": date("x1"), "b.d.e": date("x3") }, "x1"),
        (doc! { "b.d.e": date("x3"), "b.f": date("x4") }, "x4"),
        (doc! { "b": { "d": { "e": date("x3") }, "f": date("x4") } }, "x4"),
    ] {
        for stage in ["$addFields", "$project"] {
            let told = answer(db, aggregate(doc! { stage: fields.clone() }), db.name()).await;
            assert_eq!(told, (241, words(first)), "{stage} {fields}");
        }
    }
    // A bucket of what is known, be there documents or not.
    let none = "Failed to optimize pipeline :: caused by :: Cannot execute a switch statement where all the cases evaluate to false without a default";
    for name in ["c", "empty"] {
        for by in [
            doc! { "$literal": 5 },
            doc! { "$literal": 3 },
            doc! { "$literal": Bson::Null },
            doc! { "$cond": [1, "x", 1] },
            doc! { "$ifNull": ["$$REMOVE", 7] },
        ] {
            let bucket = |more| with(doc! { "groupBy": by.clone(), "boundaries": [1, 2, 3] }, more);
            let command = with(
                aggregate(doc! { "$bucket": bucket(doc! {}) }),
                doc! { "aggregate": name },
            );
            assert_eq!(
                answer(db, command, db.name()).await,
                (40069, none.to_owned()),
                "{by}"
            );
            let command = aggregate(doc! { "$bucket": bucket(doc! { "default": "z" }) });
            assert_eq!(answer(db, command, db.name()).await.0, 0, "{by}");
        }
        let known = doc! { "groupBy": { "$add": [1, 1] }, "boundaries": [1, 2, 3] };
        let command = with(aggregate(doc! { "$bucket": known }), doc! { "aggregate": name });
        assert_eq!(answer(db, command, db.name()).await.0, 0);
    }
    // How many of a moving average, whatever number it is.
    let greater = |got: &str| (9, format!("'N' must be greater than zero. Got {got}"));
    let whole = |shown: &str| {
        (
            9,
            format!(
                "'N' field must be an integer, but found  N: {shown}. To use a non-integer, use the 'alpha' argument instead"
            ),
        )
    };
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    let least = i64::MIN.to_string();
    for (number, told) in [
        (Bson::Double(1e30), (0, String::new())),
        (Bson::Double(f64::INFINITY), (0, String::new())),
        (decimal("1E+30"), (0, String::new())),
        (decimal("Infinity"), (0, String::new())),
        (decimal("9223372036854775807"), (0, String::new())),
        (Bson::Double(-1e30), greater(&least)),
        (Bson::Double(f64::NEG_INFINITY), greater(&least)),
        (Bson::Double(f64::NAN), greater("0")),
        (decimal("NaN"), greater("0")),
        (Bson::Int32(0), greater("0")),
        (Bson::Double(1.5), whole("1.5")),
        (decimal("1.5"), whole("1.5")),
        (decimal("0"), whole("0")),
        (decimal("-1E+30"), whole("-1E+30")),
    ] {
        let average = doc! { "$expMovingAvg": { "input": "$a", "N": number.clone() } };
        let windows = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "x": average } } };
        assert_eq!(answer(db, aggregate(windows), db.name()).await, told, "{number}");
    }
    let meta = || doc! { "$meta": "textScore" };
    for (sort, code, words) in [
        (
            with(meta(), doc! { "y": 1 }),
            9,
            "Cannot have additional keys in a $meta sort specification",
        ),
        (
            with(doc! { "y": 1 }, meta()),
            17312,
            "$meta is the only expression supported by $sort right now",
        ),
    ] {
        let find = doc! { "find": "c", "sort": { "x": sort.clone() } };
        assert_eq!(answer(db, find, db.name()).await, (code, words.to_owned()));
        let stage = aggregate(doc! { "$sort": { "x": sort } });
        assert_eq!(answer(db, stage, db.name()).await, (code, words.to_owned()));
    }
    let search = doc! { "$match": { "$text": { "$search": "x" } } };
    let score = "query requires text score metadata, but it is not available";
    let later = "$match with $text is only allowed as the first pipeline stage";
    for (stages, code, words) in [
        (vec![search.clone()], 40218, score),
        (vec![doc! { "$match": { "a": 1 } }, search], 17313, later),
    ] {
        let told = answer(db, aggregate(doc! { "$facet": { "a": stages } }), db.name()).await;
        assert_eq!(told, (code, words.to_owned()));
    }
}
