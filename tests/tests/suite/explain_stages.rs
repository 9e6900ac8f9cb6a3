//! The stages that `explain` shows: the same on every backend.

mod cases;

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{insert, run};

use self::cases::{BOUNDS, CHOICES, COUNTS, DONE, FILTERS, LIMITS, PRESENT};

crate::on_every_backend! {
    filters_are_shown_as_they_are_planned,
    filters_of_several_stages_are_one,
    limits_and_projections_are_stages,
    what_bounds_answer_is_not_asked_again,
    sparse_indexes_answer_what_is_there,
    choices_are_stages,
    counts_and_changes_are_stages,
    stages_tell_what_they_did,
}

/// What is told of a stage before it runs.
const TOLD: [&str; 9] = [
    "filter",
    "transformBy",
    "sortPattern",
    "limitAmount",
    "skipAmount",
    "type",
    "indexName",
    "direction",
    "indexBounds",
];
/// What a stage did.
const DID: [&str; 7] = [
    "nReturned",
    "docsExamined",
    "keysExamined",
    "nCounted",
    "nSkipped",
    "nMatched",
    "nWouldDelete",
];

pub(super) fn text(value: &Bson) -> String {
    match value {
        Bson::Double(number) => number.to_string(),
        Bson::Document(fields) if fields.is_empty() => "{}".to_owned(),
        Bson::Document(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("\"{name}\": {}", text(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Bson::Array(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn bounds(value: &Bson) -> String {
    let fields = value.as_document().unwrap().iter().map(|(name, intervals)| {
        let intervals = intervals.as_array().unwrap().iter();
        let intervals: Vec<&str> = intervals.map(|interval| interval.as_str().unwrap()).collect();
        format!("{name}: [{}]", intervals.join(", "))
    });
    let fields = fields.collect::<Vec<_>>().join(", ");
    format!("{{ {fields} }}").replace('"', "'")
}

pub(super) fn shown(stage: &Document, done: bool) -> String {
    let name = stage.get_str("stage").unwrap();
    let mut parts = Vec::new();
    for field in TOLD {
        let Some(value) = stage.get(field) else { continue };
        match (field, value.as_str()) {
            // The server has these of a scan that counts in another form.
            ("direction" | "indexBounds", _) if name == "COUNT_SCAN" => {}
            ("direction", Some("forward")) => {}
            // The server has what is left of it where it was run.
            ("skipAmount", _) if done => {}
            ("indexName" | "type" | "direction", Some(value)) => parts.push(value.to_owned()),
            ("indexBounds", _) => parts.push(bounds(value)),
            _ => parts.push(text(value)),
        }
    }
    if done {
        let told = DID.iter().filter_map(|field| Some((field, stage.get(field)?)));
        parts.extend(told.map(|(field, value)| format!("{field}: {}", text(value))));
    }
    let mut out = match parts.is_empty() {
        true => name.to_owned(),
        false => format!("{name}({})", parts.join(", ")),
    };
    if let Ok(input) = stage.get_document("inputStage") {
        out.push_str(&format!(" < {}", shown(input, done)));
    }
    if let Ok(inputs) = stage.get_array("inputStages") {
        let inputs = inputs
            .iter()
            .map(|input| shown(input.as_document().unwrap(), done));
        out.push_str(&format!(" < [{}]", inputs.collect::<Vec<_>>().join("; ")));
    }
    out
}

pub(super) async fn prepare(db: &Db) {
    let documents = (0..30).map(|n| {
        doc! { "_id": n, "a": n % 5, "b": n % 3, "c": n.to_string(), "d": [n, n + 1], "e": { "f": n } }
    });
    insert(db, "c", documents.collect()).await;
    let indexes = [doc! { "a": 1, "b": -1 }, doc! { "d": 1 }, doc! { "c": 1 }];
    let names = ["a_1_b_-1", "d_1", "c_1"];
    let indexes = indexes.into_iter().zip(names);
    let indexes: Vec<Document> = indexes
        .map(|(key, name)| doc! { "key": key, "name": name })
        .collect();
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
}

/// Commands with their plans.
type Cases = &'static [(&'static str, &'static str)];

async fn check(db: &Db, cases: Cases) {
    prepare(db).await;
    for (command, expected) in cases {
        assert_eq!(planned(db, &read(command)).await, *expected, "{command}");
    }
}

/// The stages of a command's plan.
async fn planned(db: &Db, command: &Document) -> String {
    let answer = run(db, doc! { "explain": command, "verbosity": "queryPlanner" }).await;
    let planner = answer.get_document("queryPlanner").unwrap();
    shown(planner.get_document("winningPlan").unwrap(), false)
}

pub(super) fn read(json: &str) -> Document {
    serde_json::from_str(json).unwrap()
}

async fn filters_are_shown_as_they_are_planned(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (filter, expected) in FILTERS {
        let find = doc! { "find": "c", "filter": read(filter) };
        let answer = run(db, doc! { "explain": find, "verbosity": "queryPlanner" }).await;
        let planner = answer.get_document("queryPlanner").unwrap();
        assert_eq!(text(planner.get("parsedQuery").unwrap()), *expected, "{filter}");
    }
}

async fn filters_of_several_stages_are_one(db: &Db) {
    prepare(db).await;
    let of_view = doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "x": 1 } }] };
    run(db, of_view).await;
    let both = r#"{ "$and": [{ "a": { "$eq": 1 } }, { "x": { "$eq": 1 } }] }"#;
    let pipeline = |stages: Vec<Document>| doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    let a = || doc! { "$match": { "a": 1 } };
    let x = || doc! { "$match": { "x": 1 } };
    for command in [
        pipeline(vec![a(), x()]),
        pipeline(vec![doc! { "$sort": { "y": 1 } }, a(), x()]),
        pipeline(vec![doc! { "$addFields": { "q": 1 } }, a(), x()]),
        doc! { "aggregate": "v", "pipeline": [a()], "cursor": {} },
        doc! { "find": "v", "filter": { "a": 1 } },
        doc! { "count": "v", "query": { "a": 1 } },
    ] {
        let answer = run(
            db,
            doc! { "explain": command.clone(), "verbosity": "queryPlanner" },
        )
        .await;
        // Where stages are left behind the read it is in the first of them.
        let read = match answer.get_array("stages") {
            Ok(stages) => stages[0].as_document().unwrap().get_document("$cursor").unwrap(),
            Err(_) => &answer,
        };
        let planner = read.get_document("queryPlanner").unwrap();
        assert_eq!(text(planner.get("parsedQuery").unwrap()), both, "{command}");
    }
}

async fn limits_and_projections_are_stages(db: &Db) {
    check(db, LIMITS).await;
}

async fn what_bounds_answer_is_not_asked_again(db: &Db) {
    check(db, BOUNDS).await;
}

async fn sparse_indexes_answer_what_is_there(db: &Db) {
    let documents = (0..20).map(|n| {
        let mut document = doc! { "_id": n };
        if n % 2 == 1 {
            document.insert("s", if n == 3 { Bson::Null } else { Bson::Int32(n) });
        } else {
            document.insert("h", n);
        }
        if n % 3 == 0 {
            document.insert("m", if n == 0 { vec![] } else { vec![n, n + 1] });
        }
        if n == 1 {
            document.insert("p", Bson::Array(vec![]));
        }
        if n % 4 == 0 {
            let first = if n == 0 {
                doc! {}
            } else {
                doc! { "q": n }
            };
            document.insert("p", vec![first, doc! { "r": 1 }]);
        }
        if n % 5 < 2 {
            document.insert(if n % 5 == 0 { "u" } else { "w" }, n);
        }
        document
    });
    insert(db, "c", documents.collect()).await;
    let keys = [
        ("s", doc! { "s": 1 }),
        ("m", doc! { "m": -1 }),
        ("p", doc! { "p.q": 1 }),
        ("u", doc! { "u": 1, "w": 1 }),
        ("h", doc! { "h": "hashed" }),
    ];
    let indexes: Vec<Document> = keys
        .into_iter()
        .map(|(name, key)| doc! { "key": key, "name": name, "sparse": true })
        .collect();
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
    for (filter, found, counted, count) in PRESENT {
        let filter = read(filter);
        for (command, expected) in [
            (doc! { "find": "c", "filter": &filter }, *found),
            (doc! { "count": "c", "query": &filter }, *counted),
        ] {
            assert_eq!(planned(db, &command).await, expected, "{command}");
        }
        let answer = run(db, doc! { "count": "c", "query": &filter }).await;
        assert_eq!(answer.get_i32("n").unwrap(), *count, "{filter}");
        let answer = run(db, doc! { "find": "c", "filter": &filter }).await;
        let found = answer.get_document("cursor").unwrap();
        let found = found.get_array("firstBatch").unwrap();
        assert_eq!(found.len(), usize::try_from(*count).unwrap(), "{filter}");
    }
}

async fn choices_are_stages(db: &Db) {
    check(db, CHOICES).await;
}

async fn counts_and_changes_are_stages(db: &Db) {
    check(db, COUNTS).await;
}

async fn stages_tell_what_they_did(db: &Db) {
    prepare(db).await;
    for (command, expected) in DONE {
        let command = read(command);
        let answer = run(
            db,
            doc! { "explain": command.clone(), "verbosity": "executionStats" },
        )
        .await;
        let stats = answer.get_document("executionStats").unwrap();
        let stages = stats.get_document("executionStages").unwrap();
        assert_eq!(shown(stages, true), *expected, "{command}");
        assert_eq!(stats.get_bool("executionSuccess").ok(), Some(true));
    }
}
