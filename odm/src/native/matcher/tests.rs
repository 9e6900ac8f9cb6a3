//! Each rule of matching as a table row, and the cases that a real server answered.

use super::Matcher;
use crate::native::document::Doc;

/// BSON bytes of Extended JSON.
fn bytes(json: &str) -> Vec<u8> {
    to_bytes(&serde_json::from_str(json).expect(json))
}

fn to_bytes(json: &serde_json::Value) -> Vec<u8> {
    let bson::Bson::Document(doc) = bson::Bson::try_from(json.clone()).expect("extended JSON") else {
        panic!("not a document: {json}");
    };
    bson::serialize_to_vec(&doc).expect("BSON")
}

/// Asserts which of the documents, an array, the filter matches, by position.
#[track_caller]
fn check(filter: &str, docs: &str, expected: &[usize]) {
    let matcher = Matcher::parse(Doc::Raw(&bytes(filter))).expect(filter);
    let docs: Vec<serde_json::Value> = serde_json::from_str(docs).expect(docs);
    let found: Vec<usize> = docs
        .iter()
        .enumerate()
        .filter(|(_, doc)| {
            let raw = to_bytes(doc);
            let owned = crate::native::document::owned::fields_of(Doc::Raw(&raw));
            let answer = matcher.matches(Doc::Raw(&raw)).expect(filter);
            assert_eq!(
                answer,
                matcher.matches(Doc::Fields(&owned)).expect(filter),
                "{filter} on {doc}"
            );
            answer
        })
        .map(|(index, _)| index)
        .collect();
    assert_eq!(found, expected, "{filter}");
}

/// Asserts how the server refuses the filter.
#[track_caller]
fn refuse(filter: &str, code: i32, message: &str) {
    let fault = Matcher::parse(Doc::Raw(&bytes(filter))).expect_err(filter);
    assert_eq!((fault.code(), fault.message()), (code, message), "{filter}");
}

fn shared(path: &str) -> Option<String> {
    let root = std::env::var_os("ODM_SHARED_DATA").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        std::path::PathBuf::from,
    );
    let file = root.join(path);
    let text = std::fs::read_to_string(&file).ok();
    if text.is_none() {
        println!("skipped: {} is not there; set ODM_SHARED_DATA", file.display());
    }
    text
}

#[test]
fn recorded_answers() {
    let Some(text) = shared("semantics/cases.json") else {
        return;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("cases");
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case["kind"] == "find") {
        let parsed = Matcher::parse(Doc::Raw(&to_bytes(&case["q"])));
        let docs = case["docs"].as_array().expect("docs");
        let answer = match parsed {
            Err(_) => serde_json::Value::from("ERR"),
            Ok(matcher) => docs
                .iter()
                .filter(|doc| matcher.matches(Doc::Raw(&to_bytes(doc))).expect("match"))
                .map(|doc| doc["_id"].clone())
                .collect(),
        };
        if answer != case["expect"] {
            wrong.push(format!("{} gave {answer}, not {}", case["q"], case["expect"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn timing() {
    let mut d = bson::doc! {};
    for i in 0..5 {
        d.insert(format!("number{i}"), i);
        d.insert(format!("text_field{i}"), format!("some text value {i}"));
    }
    d.insert("_idx", bson::oid::ObjectId::new());
    d.insert("nested", bson::doc! {"a": 1, "b": {"c": "x"}});
    d.insert(
        "tags",
        bson::Bson::Array((0..10).map(bson::Bson::Int32).collect()),
    );
    d.insert("created", bson::DateTime::now());
    d.insert("last", 42);
    let raw = bson::serialize_to_vec(&d).unwrap();
    for f in [
        r#"{"last":41}"#,
        r#"{"last":42}"#,
        r#"{"last":{"$gt":50}}"#,
        r#"{"text_field4":"nope"}"#,
        r#"{"nested.b.c":"y"}"#,
        r#"{"tags":11}"#,
        r#"{"number0":0,"text_field4":"some text value 4","last":42}"#,
        r#"{"number0":0,"last":41}"#,
        r#"{"last":{"$gte":40,"$lt":42}}"#,
        r#"{"$or":[{"number0":3},{"last":41}]}"#,
        r#"{"last":{"$in":[1,2,3,4,5,6,7]}}"#,
        r#"{"text_field4":{"$regex":"^nope"}}"#,
    ] {
        let m = Matcher::parse(Doc::Raw(&bytes(f))).unwrap();
        let n = 1_000_000;
        let t = std::time::Instant::now();
        let mut c = 0;
        for _ in 0..n {
            if m.matches(std::hint::black_box(Doc::Raw(&raw))).unwrap() {
                c += 1
            }
        }
        let fast = t.elapsed().as_nanos() as f64 / n as f64;
        let t = std::time::Instant::now();
        for _ in 0..n {
            if m.matches_at(std::hint::black_box(Doc::Raw(&raw)))
                .unwrap()
                .is_some()
            {
                c += 1
            }
        }
        println!(
            "{f}: {fast:.0} ns, plain {:.0} ns ({c})",
            t.elapsed().as_nanos() as f64 / n as f64
        );
    }
}
