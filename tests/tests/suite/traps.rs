//! The recorded trap cases: documents, an operation, and what mongod 6.0.5 answered.

use bson::{Bson, Document, doc};
use odm::Db;
use serde_json::Value;

use odm_tests::data;
use odm_tests::raw::{Change, RawCollection};

crate::on_every_backend! {
    every_recorded_trap,
}

/// Cases that the embedded engine answers in another way, by their position, and why.
const DIFFERENT: &[(usize, &str)] = &[];

/// Every recorded trap gets the server's answer.
async fn every_recorded_trap(db: &Db) {
    let Some(path) = data::path("semantics/cases.json") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("the cases are readable");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the cases are JSON");
    let mut wrong = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        if db.backend_name() != "mongodb" && DIFFERENT.iter().any(|(known, _)| *known == index) {
            continue;
        }
        let collection = RawCollection::new(db, &format!("trap_{index}"));
        let (got, wanted) = answer(&collection, case).await;
        if got != wanted {
            wrong.push(format!("case {index} {case}\n  wanted {wanted}\n  got    {got}"));
        }
    }
    println!(
        "traps: {} of {} as mongod answers",
        cases.len() - wrong.len(),
        cases.len()
    );
    assert!(
        wrong.is_empty(),
        "{} traps differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn document(value: &Value) -> Document {
    match Bson::try_from(value.clone()) {
        Ok(Bson::Document(document)) => document,
        other => panic!("not a document: {other:?}"),
    }
}

fn documents(value: &Value) -> Vec<Document> {
    value
        .as_array()
        .map(|list| list.iter().map(document).collect())
        .unwrap_or_default()
}

/// What the backend answers to a case, and what mongod answered, in comparable form.
async fn answer(collection: &RawCollection, case: &Value) -> (Bson, Bson) {
    collection
        .insert(&documents(&case["docs"]))
        .await
        .expect("the documents are inserted");
    let filter = document(&case["q"]);
    let failed = || Bson::String("ERR".to_owned());
    let wanted = Bson::try_from(case["expect"].clone()).expect("the answer is extended JSON");
    let got = match case["kind"].as_str() {
        Some("find" | "sort") => {
            let sort = match case.get("sort").and_then(Value::as_array) {
                Some(fields) => fields
                    .iter()
                    .map(|pair| (pair[0].as_str().unwrap_or_default().to_owned(), number(&pair[1])))
                    .collect(),
                None => doc! { "_id": 1 },
            };
            match collection.find(&filter, Some(&sort), None, 0, 0).await {
                Ok(found) => Bson::Array(
                    found
                        .iter()
                        .map(|d| id(&Document::try_from(d.as_ref()).expect("decodes")))
                        .collect(),
                ),
                Err(_) => failed(),
            }
        }
        Some("proj") => {
            let projection = document(&case["proj"]);
            match collection
                .find(&filter, Some(&doc! { "_id": 1 }), Some(&projection), 0, 0)
                .await
            {
                Ok(found) => Bson::Array(
                    found
                        .iter()
                        .map(|d| Bson::Document(Document::try_from(d.as_ref()).expect("decodes")))
                        .collect(),
                ),
                Err(_) => failed(),
            }
        }
        Some("update") => {
            let change = match &case["u"] {
                Value::Array(_) => Change::Pipeline(documents(&case["u"])),
                update => Change::Document(document(update)),
            };
            let upsert = case["upsert"].as_bool().unwrap_or(false);
            let result = collection
                .update(&filter, &change, false, upsert, &documents(&case["af"]))
                .await;
            match result {
                Ok(result) if result.errors.is_empty() => {
                    let now = collection.everything().await.expect("a find");
                    let docs = now
                        .iter()
                        .map(|d| Bson::Document(Document::try_from(d.as_ref()).expect("decodes")))
                        .collect();
                    let n = (result.summary.matched + result.summary.upserted) as i32;
                    Bson::Document(
                        doc! { "docs": Bson::Array(docs), "n": n, "m": result.summary.modified as i32 },
                    )
                }
                _ => failed(),
            }
        }
        kind => panic!("an unknown kind of case: {kind:?}"),
    };
    (plain(got), plain(wanted))
}

fn number(value: &Value) -> Bson {
    Bson::try_from(value.clone()).unwrap_or(Bson::Int32(1))
}

fn id(document: &Document) -> Bson {
    document.get("_id").cloned().unwrap_or(Bson::Null)
}

/// The recorded answers are relaxed JSON: they do not tell the integer types apart, and generated ids differ.
fn plain(value: Bson) -> Bson {
    match value {
        Bson::Int64(n) => i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32),
        Bson::Array(items) => Bson::Array(items.into_iter().map(plain).collect()),
        Bson::Document(fields) => Bson::Document(
            fields
                .into_iter()
                .map(|(name, value)| (name, plain(value)))
                .collect(),
        ),
        other => other,
    }
}
