//! The page of the guide that says what the embedded engine supports, held against every backend: each name is known,
//! and the engine refuses by name what it does not have.

use odm::bson::{Bson, Document, bson, doc};
use odm::{Db, ErrorKind};
use odm_tests::supported::{Row, rows};

crate::on_every_backend! {
    operators_of_filters_are_as_listed,
    keywords_of_schemas_are_as_listed,
    operators_of_projections_are_as_listed,
    operators_of_updates_are_as_listed,
    stages_are_as_listed,
    expressions_are_as_listed,
    accumulators_and_window_functions_are_as_listed,
    commands_are_as_listed,
    options_of_find_are_as_listed,
    indexes_are_as_listed,
    collections_are_as_listed,
}

/// What a name may take: one of these is good enough for it to be looked at.
fn operands() -> Vec<Bson> {
    let function = bson!({ "body": "function() {}", "args": [], "lang": "js" });
    let accumulator = bson!({
        "init": "function() {}", "accumulate": "function() {}", "accumulateArgs": [], "merge": "function() {}", "lang": "js",
    });
    let series = bson!({ "timeField": "t" });
    let encrypted = bson!({ "fields": [] });
    let engine = bson!({ "wiredTiger": { "configString": "" } });
    vec![
        bson!("x"),
        bson!({}),
        bson!(1),
        bson!(true),
        bson!([]),
        bson!({ "a": 1 }),
        function,
        accumulator,
        series,
        encrypted,
        engine,
    ]
}

/// What a refusal says when the name itself is unknown.
fn unknown(name: &str) -> Vec<String> {
    vec![
        format!("unknown operator: {name}"),
        format!("unknown top level operator: {name}"),
        format!("Unknown $jsonSchema keyword: {name}"),
        format!("Unknown modifier: {name}"),
        format!("Unrecognized pipeline stage name: '{name}'"),
        format!("Unrecognized expression '{name}'"),
        format!("Unknown expression {name}"),
        format!("unknown group operator '{name}'"),
        format!("Unrecognized window function, {name}"),
        format!("no such command: '{name}'"),
        format!(".{name}' is an unknown field"),
        format!("The field '{name}' is not valid for an index specification"),
        format!("Unknown index plugin '{name}'"),
    ]
}

/// Sends a command for every name with every operand; `command` makes it.
async fn check(db: &Db, section: &str, tables: &[&str], command: impl Fn(&str, Bson) -> Document) {
    let chosen: Vec<Row> = rows()
        .into_iter()
        .filter(|row| row.section == section && (tables.is_empty() || tables.contains(&row.table.as_str())))
        .collect();
    assert!(!chosen.is_empty(), "the page has no {section} {tables:?}");
    let is_embedded = db.backend_name() != "mongodb";
    for row in chosen {
        for name in &row.names {
            // Whatever stops a server is not sent to one.
            if !row.is_supported && !is_embedded {
                continue;
            }
            let (mut refused, mut said) = (false, Vec::new());
            // A server is only asked whether it knows the name.
            let tried = if is_embedded { usize::MAX } else { 2 };
            for operand in operands().into_iter().take(tried) {
                if matches!(section, "Indexes" | "Collections") {
                    let _ = db.drop_collection("made").await;
                }
                let answer = db.run_command(command(name, operand)).await;
                let text = match &answer {
                    Ok(reply) => reply.to_string(),
                    Err(error) => error.to_string(),
                };
                let unknown = unknown(name).into_iter().find(|unknown| text.contains(unknown));
                assert_eq!(
                    unknown,
                    None,
                    "{section}: {name} on {}: {text}",
                    db.backend_name()
                );
                refused |= answer.is_err_and(|error| error.kind() == ErrorKind::Unsupported);
                said.push(text);
            }
            let wanted = !row.is_supported;
            if wanted {
                assert!(refused, "{section}: {name} is listed as unsupported: {said:?}");
            } else if is_embedded {
                let all = said
                    .iter()
                    .all(|text| text.contains("does not") && text.contains("engine"));
                assert!(!all, "{section}: {name} is listed as supported: {said:?}");
            }
        }
    }
}

async fn operators_of_filters_are_as_listed(db: &Db) {
    check(db, "Query operators", &[], |name, operand| {
        let whole = [
            "$and",
            "$or",
            "$nor",
            "$expr",
            "$jsonSchema",
            "$text",
            "$comment",
            "$where",
            "$sampleRate",
        ];
        let filter = match name {
            name if whole.contains(&name) || name.starts_with("$always") => doc! { name: operand },
            "$options" => doc! { "a": { "$regex": "x", "$options": operand } },
            name => doc! { "a": { name: operand } },
        };
        doc! { "find": "c", "filter": filter }
    })
    .await;
}

async fn keywords_of_schemas_are_as_listed(db: &Db) {
    check(db, "Keywords of schemas", &[], |name, operand| {
        doc! { "find": "c", "filter": { "$jsonSchema": { name: operand } } }
    })
    .await;
}

async fn operators_of_projections_are_as_listed(db: &Db) {
    check(db, "Projection operators", &[], |name, operand| match name {
        "$" => doc! { "find": "c", "filter": { "a": 1 }, "projection": { "a.$": operand } },
        name => doc! { "find": "c", "projection": { "a": { name: operand } } },
    })
    .await;
}

async fn operators_of_updates_are_as_listed(db: &Db) {
    check(db, "Update operators", &["operators"], |name, operand| {
        doc! { "update": "c", "updates": [{ "q": {}, "u": { name: { "a": operand } } }] }
    })
    .await;
    check(db, "Update operators", &["modifiers"], |name, operand| {
        let mut push = doc! { "$each": [] };
        push.insert(name, operand);
        doc! { "update": "c", "updates": [{ "q": {}, "u": { "$push": { "a": push } } }] }
    })
    .await;
}

async fn stages_are_as_listed(db: &Db) {
    check(db, "Stages", &[], |name, operand| {
        let target = if name == "$documents" {
            bson!(1)
        } else {
            bson!("c")
        };
        // What is written goes to a collection of the test's own.
        let operand = match name {
            "$out" | "$merge" => bson!("made"),
            _ => operand,
        };
        doc! { "aggregate": target, "pipeline": [{ name: operand }], "cursor": {} }
    })
    .await;
}

async fn expressions_are_as_listed(db: &Db) {
    check(db, "Expressions", &["operators"], |name, operand| {
        doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": { "y": { name: operand } } } }], "cursor": {} }
    })
    .await;
    check(db, "Expressions", &["variables"], |name, _| {
        let stage = match name {
            "$$DESCEND" | "$$PRUNE" | "$$KEEP" => doc! { "$redact": name },
            name => doc! { "$project": { "x": name } },
        };
        doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }
    })
    .await;
}

async fn accumulators_and_window_functions_are_as_listed(db: &Db) {
    check(db, "Accumulators", &[], |name, operand| {
        let group = doc! { "_id": Bson::Null, "x": { name: operand } };
        doc! { "aggregate": "c", "pipeline": [{ "$group": group }], "cursor": {} }
    })
    .await;
    check(db, "Window functions", &[], |name, operand| {
        let stage = doc! { "sortBy": { "a": 1 }, "output": { "x": { name: operand } } };
        doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": stage }], "cursor": {} }
    })
    .await;
}

async fn commands_are_as_listed(db: &Db) {
    check(
        db,
        "Commands",
        &["commands"],
        |name, operand| doc! { name: operand },
    )
    .await;
}

async fn options_of_find_are_as_listed(db: &Db) {
    // One that can be followed.
    let create = doc! { "create": "c", "capped": true, "size": 4096 };
    db.run_command(create).await.unwrap();
    check(db, "Commands", &["options of find"], |name, operand| {
        // Nobody waits for a time limit here.
        let operand = if name == "maxTimeMS" {
            bson!(60_000)
        } else {
            operand
        };
        doc! { "find": "c", name: operand }
    })
    .await;
}

async fn indexes_are_as_listed(db: &Db) {
    check(db, "Indexes", &["kinds"], |name, _| {
        let key = if name == "$**" {
            doc! { name: 1 }
        } else {
            doc! { "a": name }
        };
        doc! { "createIndexes": "made", "indexes": [{ "key": key, "name": "i" }] }
    })
    .await;
    check(db, "Indexes", &["options"], |name, operand| {
        doc! { "createIndexes": "made", "indexes": [{ "key": { "a": 1 }, "name": "i", name: operand }] }
    })
    .await;
}

async fn collections_are_as_listed(db: &Db) {
    check(
        db,
        "Collections",
        &[],
        |name, operand| doc! { "create": "made", name: operand },
    )
    .await;
}
