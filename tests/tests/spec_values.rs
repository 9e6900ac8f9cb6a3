//! The public cases of values, on every backend: the BSON corpus, and decimal arithmetic.
//!
//! What is asked of a database is that it keeps every value as it is, byte by byte, that it refuses malformed bytes,
//! and that its decimals are read, written, added, multiplied and compared as the cases say.

use std::path::Path;

use bson::{Bson, Decimal128, Document, RawDocumentBuf, doc, rawdoc};
use odm::Db;
use odm_tests::harness::{Fixture, Target};
use odm_tests::raw::RawCollection;
use odm_tests::spec::documents;
use odm_tests::spec::suite::Summary;

/// How many cases run at the least.
const CORPUS_ON_EMBEDDED: usize = 1_519;
const CORPUS_ON_MONGODB: usize = 1_444;
const DECIMALS: usize = 1_900;

#[test]
fn values_in_memory() {
    run_all(Target::Memory, CORPUS_ON_EMBEDDED);
}

#[test]
fn values_on_native() {
    run_all(Target::Native, CORPUS_ON_EMBEDDED);
}

#[test]
fn values_on_mongodb() {
    run_all(Target::MongoDb, CORPUS_ON_MONGODB);
}

fn run_all(target: Target, floor: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let Some(fixture) = Fixture::open(target).await else {
            return;
        };
        let db = &fixture.db;
        let (mut values, mut arithmetic) = (None, None);
        if let Some(folder) = odm_tests::data::path("bson-corpus") {
            let summary = values.insert(Summary::default());
            for (name, cases) in files(&folder, "json") {
                let cases: serde_json::Value = serde_json::from_str(&cases).expect("JSON");
                let cases = Document::try_from(cases.as_object().expect("a document").clone());
                corpus(db, target, &name, &cases.expect("BSON"), summary).await;
            }
        }
        if let Some(folder) = odm_tests::data::path("decimal") {
            let summary = arithmetic.insert(Summary::default());
            for (name, cases) in files(&folder, "decTest") {
                decimals(db, &name, &cases, summary).await;
            }
        }
        fixture.close().await;
        if let Some(summary) = values {
            summary.judge("the BSON corpus", target, floor);
        }
        if let Some(summary) = arithmetic {
            summary.judge("decimal arithmetic", target, DECIMALS);
        }
    });
}

fn files(folder: &Path, ending: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("a readable folder")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let fits = path.extension()? == ending;
            let name = path.file_stem()?.to_str()?.to_owned();
            fits.then(|| (name, std::fs::read(&path).expect("a readable file")))
        })
        // The decimal cases are in Latin-1, of which only comments make use.
        .map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned()))
        .collect();
    files.sort();
    files
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

async fn corpus(db: &Db, target: Target, name: &str, cases: &Document, summary: &mut Summary) {
    let collection = RawCollection::new(db, &format!("corpus_{name}"));
    let is_decimal = cases.get_str("bson_type").ok() == Some("0x13");
    let valid = documents(cases, "valid");
    let mut stored = Vec::new();
    for (at, case) in valid.iter().enumerate() {
        let bytes = bytes_of(case.get_str("canonical_bson").expect("bytes"));
        let value = RawDocumentBuf::from_bytes(bytes).expect("a document");
        let text = extended_decimal(case).unwrap_or_default();
        stored.push(rawdoc! { "_id": at as i32, "v": value, "s": text });
    }
    if !stored.is_empty() {
        let written = collection
            .insert_raw(stored.clone())
            .await
            .expect("the documents are stored");
        assert!(written.errors.is_empty(), "{name}: {:?}", written.errors);
        let found = collection.everything().await.expect("the documents are found");
        for ((case, stored), found) in valid.iter().zip(&stored).zip(&found) {
            summary.note(stored.as_bytes() == found.as_bytes(), || {
                format!("{name}: {} came back as {found:?}", described(case))
            });
        }
    }
    if is_decimal {
        texts_of_decimals(db, name, &valid, summary).await;
    }
    for case in documents(cases, "decodeErrors") {
        if target == Target::MongoDb {
            summary.leave("is about what the server's own reader refuses");
            continue;
        }
        let bytes = bytes_of(case.get_str("bson").expect("bytes"));
        let refused = match RawDocumentBuf::from_bytes(bytes) {
            Err(_) => true,
            Ok(document) => match collection.insert_raw(vec![document]).await {
                Err(_) => true,
                Ok(written) => !written.errors.is_empty(),
            },
        };
        summary.note(refused, || format!("{name}: {} was stored", described(&case)));
    }
    for case in documents(cases, "parseErrors") {
        if !is_decimal {
            summary.leave("is about the text form of BSON, which the bson crate reads");
            continue;
        }
        if described(&case).to_lowercase().contains("inexact") {
            summary.leave("wants digits beyond the 34th to be refused, which the server rounds");
            continue;
        }
        let text = case.get_str("string").expect("a text");
        let parsed = computed(db, doc! { "$toDecimal": { "$literal": text } }).await;
        summary.note(parsed.is_err(), || format!("{name}: {text:?} became {parsed:?}"));
    }
}

fn described(case: &Document) -> String {
    case.get_str("description").unwrap_or_default().to_owned()
}

/// The text of a decimal in a case's Extended JSON.
fn extended_decimal(case: &Document) -> Option<String> {
    let json: serde_json::Value = serde_json::from_str(case.get_str("canonical_extjson").ok()?).ok()?;
    Some(json.get("d")?.get("$numberDecimal")?.as_str()?.to_owned())
}

/// The value of an expression without a document.
async fn computed(db: &Db, expression: Document) -> odm::Result<Option<Bson>> {
    let reply = db
        .run_command(doc! {
            "aggregate": 1,
            "pipeline": [{ "$documents": [{}] }, { "$project": { "r": expression } }],
            "cursor": {},
        })
        .await?;
    let batch = reply
        .get_document("cursor")
        .and_then(|own| own.get_array("firstBatch"));
    let first = batch.ok().and_then(|batch| batch.first()?.as_document().cloned());
    Ok(first.and_then(|first| first.get("r").cloned()))
}

/// What a pipeline's stage makes of every document of a collection, by `_id`.
async fn projected(db: &Db, collection: &str, projection: Document) -> Vec<Document> {
    let reply = db
        .run_command(doc! {
            "aggregate": collection,
            "pipeline": [{ "$sort": { "_id": 1 } }, { "$project": projection }],
            "cursor": { "batchSize": 100_000 },
        })
        .await
        .expect("the pipeline runs");
    documents(reply.get_document("cursor").expect("a cursor"), "firstBatch")
}

/// Decimals are written as their canonical text, and read from it.
async fn texts_of_decimals(db: &Db, name: &str, valid: &[Document], summary: &mut Summary) {
    let projection = doc! {
        "d": "$v.d", "text": { "$toString": "$v.d" }, "read": { "$toDecimal": "$s" },
    };
    let found = projected(db, &format!("corpus_{name}"), projection).await;
    for (case, found) in valid.iter().zip(&found) {
        if case.get_bool("lossy").unwrap_or_default() {
            summary.leave("loses what a text does not say");
            continue;
        }
        let text = extended_decimal(case).unwrap_or_default();
        let well = found.get_str("text").ok() == Some(&text) && found.get("read") == found.get("d");
        summary.note(well, || format!("{name}: {} is {found}", described(case)));
    }
}

/// One line of a file of decimal arithmetic.
struct Line {
    id: String,
    operation: String,
    operands: Vec<String>,
    expected: String,
}

/// The cases that round to even, as the server does.
fn lines(text: &str, summary: &mut Summary) -> Vec<Line> {
    let mut rounding = String::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.split("--").next().unwrap_or_default().trim();
        if let Some((directive, value)) = line.split_once(':')
            && !line.contains("->")
        {
            if directive.trim().eq_ignore_ascii_case("rounding") {
                rounding = value.trim().to_lowercase();
            }
            continue;
        }
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| word.trim_matches(['\'', '"']).to_owned())
            .collect();
        let Some(arrow) = words.iter().position(|word| word == "->") else {
            continue;
        };
        let (Some(expected), true) = (words.get(arrow + 1), arrow >= 3) else {
            continue;
        };
        let line = Line {
            id: words[0].clone(),
            operation: words[1].clone(),
            operands: words[2..arrow].to_vec(),
            expected: expected.clone(),
        };
        let rounds = !matches!(line.operation.as_str(), "compare" | "apply");
        if rounds && rounding != "half_even" {
            summary.leave("rounds otherwise than half to even");
        } else {
            lines.push(line);
        }
    }
    lines
}

fn decimal(text: &str) -> Option<Decimal128> {
    text.parse().ok()
}

/// Whether a sum has another exponent or sign than one that a zero without an exponent is a part of.
fn begins_otherwise(sum: &str) -> bool {
    let (digits, exponent) = sum.split_once("E+").unwrap_or((sum, ""));
    let digits = digits.chars().filter(char::is_ascii_digit).count();
    sum.starts_with("-0") || (!exponent.is_empty() && digits < 34)
}

fn is_nan(text: &str) -> bool {
    text.to_lowercase().contains("nan")
}

async fn decimals(db: &Db, name: &str, text: &str, summary: &mut Summary) {
    let mut asked = Vec::new();
    for line in lines(text, summary) {
        let special = |text: &String| is_nan(text) && !text.eq_ignore_ascii_case("nan");
        let operator = match line.operation.as_str() {
            "add" => "$add",
            "subtract" => "$subtract",
            "multiply" => "$multiply",
            "compare" => "$cmp",
            "apply" => "$toString",
            _ => {
                summary.leave("is an operation that no expression has");
                continue;
            }
        };
        let packed = |text: &String| text.starts_with('#');
        if line.operands.iter().any(packed) || packed(&line.expected) {
            summary.leave("is about densely packed decimals, which BSON does not have");
        } else if operator == "$add" && begins_otherwise(&line.expected) {
            summary.leave("is about the exponent or sign of a sum, which begins with a plain zero");
        } else if line.operands.iter().any(special) || special(&line.expected) {
            summary.leave("is about signaling NaNs or what a NaN carries");
        } else if operator == "$cmp" && line.operands.iter().any(|own| is_nan(own)) {
            summary.leave("compares with NaN, which has a place in the order of values");
        } else {
            asked.push((operator, line));
        }
    }
    let collection = format!("decimal_{name}");
    let mut known = Vec::new();
    let mut stored = Vec::new();
    for (operator, line) in asked {
        let operands: Option<Vec<Decimal128>> = line.operands.iter().map(|own| decimal(own)).collect();
        let Some(operands) = operands else {
            summary.leave("has an operand that no decimal is");
            continue;
        };
        let mut document = doc! { "_id": stored.len() as i32, "a": operands[0], "o": operator };
        if let Some(second) = operands.get(1) {
            document.insert("b", *second);
        }
        stored.push(document);
        known.push(line);
    }
    if stored.is_empty() {
        return;
    }
    db.raw_collection(&collection)
        .insert_many(stored)
        .await
        .expect("the operands are stored");
    let both = |operator: &str| doc! { operator: ["$a", "$b"] };
    let branch = |operator: &str, then: Document| {
        let is_it = doc! { "$eq": ["$o", { "$literal": operator }] };
        doc! { "case": is_it, "then": then }
    };
    let branches = vec![
        branch("$add", both("$add")),
        branch("$subtract", both("$subtract")),
        branch("$multiply", both("$multiply")),
        branch("$cmp", both("$cmp")),
    ];
    let chosen = doc! { "$switch": { "branches": branches, "default": { "$toString": "$a" } } };
    let found = projected(db, &collection, doc! { "r": chosen }).await;
    for (line, found) in known.iter().zip(&found) {
        let well = match found.get("r") {
            Some(Bson::Decimal128(own)) => match decimal(&line.expected) {
                Some(expected) => {
                    own.bytes() == expected.bytes() || (is_nan(&line.expected) && is_nan(&own.to_string()))
                }
                None => false,
            },
            Some(Bson::Int32(order)) => line.expected.parse::<i32>() == Ok(*order),
            Some(Bson::String(text)) => *text == line.expected,
            _ => false,
        };
        summary.note(well, || {
            format!(
                "{}: {} {:?} -> {}, found {found}",
                line.id, line.operation, line.operands, line.expected
            )
        });
    }
}
