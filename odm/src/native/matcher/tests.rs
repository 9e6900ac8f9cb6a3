//! Each rule of matching as a table row, and the cases that a real server answered.

use super::super::document::Doc;
use super::super::document::owned::fields_of;
use super::super::fault::Class;
use super::{Asked, Matcher};

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
            let owned = fields_of(Doc::Raw(&raw));
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
fn equality() {
    let docs = r#"[{"a":1},{"a":[1]},{"a":[[1]]},{"a":{"x":1,"y":2}},{"a":{"y":2,"x":1}},{"a":null},{},{"a":{}},{"a":[]}]"#;
    check(r#"{"a":1}"#, docs, &[0, 1]);
    check(r#"{"a":{"$numberDouble":"1.0"}}"#, docs, &[0, 1]);
    check(r#"{"a":[1]}"#, docs, &[1, 2]);
    check(r#"{"a":{"x":1,"y":2}}"#, docs, &[3]);
    check(r#"{"a":{}}"#, docs, &[7]);
    check(r#"{"a":null}"#, docs, &[5, 6]);
    check(r#"{"a":{"$ne":null}}"#, docs, &[0, 1, 2, 3, 4, 7, 8]);
    check(r#"{"a":{"$in":[null,[]]}}"#, docs, &[5, 6, 8]);
    check(r#"{"a":{"b":1,"$gt":1}}"#, docs, &[]);
    check("{}", docs, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn paths_traverse_one_array_level_per_segment() {
    let docs = r#"[{"a":[{"b":1}]},{"a":[[{"b":1}]]},{"a":[{"0":{"b":1}}]},{"a":7},{"a":[7]},{"a":[[7]]},{"a":{"0":7}},{"a":[]}]"#;
    check(r#"{"a.b":1}"#, docs, &[0]);
    check(r#"{"a.0.b":1}"#, docs, &[0, 1, 2]);
    check(r#"{"a.0":7}"#, docs, &[4, 6]);
    check(r#"{"a.0.0":7}"#, docs, &[5]);
    check(r#"{"a.00":7}"#, docs, &[]);
    check(r#"{"a.b":null}"#, docs, &[2, 3, 6]);
    check(r#"{"a.b":{"$exists":false}}"#, docs, &[1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn ranges_stay_within_a_type() {
    let docs = r#"[{"a":1},{"a":"1"},{"a":true},{"a":{"$numberDouble":"NaN"}},{"a":null},{},{"a":[9,2]},{"a":{"$minKey":1}}]"#;
    check(r#"{"a":{"$gte":1}}"#, docs, &[0, 6]);
    check(r#"{"a":{"$gt":2,"$lt":9}}"#, docs, &[6]);
    check(r#"{"a":{"$elemMatch":{"$gt":2,"$lt":9}}}"#, docs, &[]);
    check(r#"{"a":{"$lte":null}}"#, docs, &[4, 5]);
    check(r#"{"a":{"$lt":null}}"#, docs, &[]);
    check(r#"{"a":{"$gte":{"$numberDouble":"NaN"}}}"#, docs, &[3]);
    check(r#"{"a":{"$lt":{"$maxKey":1}}}"#, docs, &[0, 1, 2, 3, 4, 5, 6, 7]);
    check(r#"{"a":{"$gt":{"$minKey":1}}}"#, docs, &[0, 1, 2, 3, 4, 5, 6]);
    check(r#"{"a":{"$not":{"$gt":1}}}"#, docs, &[0, 1, 2, 3, 4, 5, 7]);
}

#[test]
fn arrays() {
    let docs = r#"[{"a":[1,2]},{"a":[[1,2]]},{"a":1},{"a":[]},{"a":[{"x":1,"y":2},{"x":3}]}]"#;
    check(r#"{"a":{"$size":1}}"#, docs, &[1]);
    check(r#"{"a":{"$all":[1,2]}}"#, docs, &[0]);
    check(r#"{"a":{"$all":[[1,2]]}}"#, docs, &[0, 1]);
    check(r#"{"a":{"$all":[]}}"#, docs, &[]);
    check(r#"{"a":{"$in":[]}}"#, docs, &[]);
    check(r#"{"a":{"$nin":[]}}"#, docs, &[0, 1, 2, 3, 4]);
    check(r#"{"a":{"$elemMatch":{"$ne":1}}}"#, docs, &[0, 1, 4]);
    check(r#"{"a":{"$elemMatch":{"x":1,"y":2}}}"#, docs, &[4]);
    check(r#"{"a":{"$elemMatch":{"0":1}}}"#, docs, &[1]);
    check(r#"{"a":{"$elemMatch":{}}}"#, docs, &[1, 4]);
    check(r#"{"a":{"$type":"array"}}"#, docs, &[0, 1, 3, 4]);
    check(
        r#"{"a":{"$all":[{"$elemMatch":{"x":1}},{"$elemMatch":{"x":3}}]}}"#,
        docs,
        &[4],
    );
}

#[test]
fn numbers() {
    let docs = r#"[{"a":7},{"a":{"$numberDouble":"7.9"}},{"a":{"$numberDecimal":"3.5"}},{"a":-1},{"a":"7"},{"a":{"$binary":{"base64":"Bw==","subType":"00"}}}]"#;
    check(r#"{"a":{"$mod":[4,3]}}"#, docs, &[0, 1, 2]);
    check(r#"{"a":{"$bitsAllSet":7}}"#, docs, &[0, 3, 5]);
    check(r#"{"a":{"$bitsAllSet":[100]}}"#, docs, &[3]);
    check(r#"{"a":{"$bitsAllClear":[0,1]}}"#, docs, &[2]);
    check(
        r#"{"a":{"$bitsAnySet":{"$binary":{"base64":"CA==","subType":"00"}}}}"#,
        docs,
        &[3],
    );
    check(r#"{"a":{"$type":"number"}}"#, docs, &[0, 1, 2, 3]);
}

#[test]
fn logical() {
    let docs = r#"[{"a":1,"b":1},{"a":1},{"b":2},{}]"#;
    check(r#"{"a":1,"b":1}"#, docs, &[0]);
    check(r#"{"$or":[{"a":1},{"b":2}]}"#, docs, &[0, 1, 2]);
    check(r#"{"$nor":[{"a":1},{"b":2}]}"#, docs, &[3]);
    check(r#"{"$and":[{"a":1},{"b":{"$exists":false}}]}"#, docs, &[1]);
    check(r#"{"$alwaysFalse":1}"#, docs, &[]);
    check(r#"{"$comment":"x","b":2}"#, docs, &[2]);
    check(r#"{"$expr":{"$eq":["$a","$b"]}}"#, docs, &[0, 3]);
}

#[test]
fn patterns_mean_what_they_mean_in_pcre() {
    let texts = [
        "a", "a\\n", "a\\nb", "é", "éb", "٣", "3", "ab", "a b", "", "a.b", "É", "-", "s", "K", "{", "a{,2}",
        "aaa",
    ];
    let docs: Vec<String> = texts.iter().map(|text| format!(r#"{{"a":"{text}"}}"#)).collect();
    let docs = format!("[{}]", docs.join(",")).replace("\\\\n", "\\n");
    let matched = |pattern: &str, options: &str, expected: &[usize]| {
        let pattern = pattern.replace('\\', "\\\\");
        check(
            &format!(r#"{{"a":{{"$regex":"{pattern}","$options":"{options}"}}}}"#),
            &docs,
            expected,
        );
    };
    matched("a$", "", &[0, 1, 17]);
    matched("a$", "m", &[0, 1, 2, 17]);
    matched("a.b", "", &[8, 10]);
    matched("a.b", "s", &[2, 8, 10]);
    matched("a . b", "x", &[8, 10]);
    matched("É", "i", &[3, 4, 11]);
    matched("^\\d+$", "", &[6]);
    matched("\\bé", "", &[]);
    matched("a{,2}", "", &[16]);
    matched("\\Qa.b\\E", "", &[10]);
    matched("a\\Z", "", &[0, 1, 17]);
    matched("[a-]", "", &[0, 1, 2, 7, 8, 10, 12, 16, 17]);
    matched("[\\w-.]b", "", &[7, 10]);
    matched("\\x{e9}", "", &[3, 4]);
}

#[test]
fn schemas() {
    let docs = r#"[{"a":5,"b":"x"},{"a":"5"},{"a":[1,2,1]},{"a":{"x":1,"y":2}},{"b":"abc"}]"#;
    check(r#"{"$jsonSchema":{"required":["a","b"]}}"#, docs, &[0]);
    check(
        r#"{"$jsonSchema":{"properties":{"a":{"bsonType":"int"}}}}"#,
        docs,
        &[0, 4],
    );
    check(
        r#"{"$jsonSchema":{"properties":{"a":{"maximum":5,"exclusiveMaximum":true}}}}"#,
        docs,
        &[1, 2, 3, 4],
    );
    check(
        r#"{"$jsonSchema":{"properties":{"a":{"uniqueItems":true}}}}"#,
        docs,
        &[0, 1, 3, 4],
    );
    check(
        r#"{"$jsonSchema":{"properties":{"a":{"enum":[{"y":2,"x":1},5]}}}}"#,
        docs,
        &[0, 3, 4],
    );
    check(
        r#"{"$jsonSchema":{"properties":{"b":{"pattern":"^a","maxLength":3}}}}"#,
        docs,
        &[1, 2, 3, 4],
    );
    check(
        r#"{"$jsonSchema":{"additionalProperties":false,"patternProperties":{"^a":{}}}}"#,
        docs,
        &[1, 2, 3],
    );
    check(
        r#"{"$jsonSchema":{"oneOf":[{"required":["a"]},{"required":["b"]}]}}"#,
        docs,
        &[1, 2, 3, 4],
    );
}

#[test]
fn refusals() {
    refuse(
        r#"{"$gt":1}"#,
        2,
        "unknown top level operator: $gt. If you have a field name that starts with a '$' symbol, consider using \
         $getField or $setField.",
    );
    refuse(r#"{"a":{"$gt":1,"b":1}}"#, 2, "unknown operator: b");
    refuse(r#"{"a":{"$not":{}}}"#, 2, "$not cannot be empty");
    refuse(r#"{"$and":[]}"#, 2, "$and/$or/$nor must be a nonempty array");
    refuse(r#"{"a":{"$in":[{"$gt":1}]}}"#, 2, "cannot nest $ under $in");
    refuse(r#"{"a":{"$mod":[0,1]}}"#, 2, "divisor cannot be 0");
    refuse(
        r#"{"a":{"$size":-1}}"#,
        2,
        "Failed to parse $size. Expected a non-negative number in: $size: -1",
    );
    refuse(
        r#"{"a":{"$bitsAllSet":{"$numberDouble":"1.5"}}}"#,
        9,
        "Expected an integer: $bitsAllSet: 1.5",
    );
    refuse(r#"{"a":{"$type":[]}}"#, 9, "a must match at least one type");
    refuse(
        r#"{"a":{"$regex":"("}}"#,
        51091,
        "Regular expression is invalid: missing )",
    );
    refuse(
        r#"{"a":{"$regex":"a","$options":"g"}}"#,
        51108,
        " invalid flag in regex options: g",
    );
    refuse(
        r#"{"a":{"$elemMatch":{"$expr":1}}}"#,
        2,
        "$expr can only be applied to the top-level document",
    );
    refuse(
        r#"{"$jsonSchema":{"foo":1}}"#,
        9,
        "Unknown $jsonSchema keyword: foo",
    );
    refuse(
        r#"{"a":{"$near":[1,2]}}"#,
        5_626_500,
        "$geoNear, $near, and $nearSphere are not allowed in this context",
    );
    refuse(
        r#"{"a":{"$geoWithin":{"$cube":[1,2]}}}"#,
        2,
        "unknown geo specifier: $cube: [ 1, 2 ]",
    );
    for (filter, named) in [
        (r#"{"$where":"1"}"#, "$where"),
        (r#"{"a":{"$regex":"a(*COMMIT)b"}}"#, "a(*COMMIT)b"),
        (r#"{"a":{"$regex":"(a)\\X"}}"#, "(a)\\X"),
    ] {
        let fault = Matcher::parse(Doc::Raw(&bytes(filter))).expect_err(filter);
        assert_eq!(fault.class(), Class::Unsupported, "{filter}");
        assert!(fault.message().contains(named), "{filter}: {}", fault.message());
    }
}

#[test]
fn positions() {
    let position = |filter: &str, doc: &str| {
        let matcher = Matcher::parse(Doc::Raw(&bytes(filter))).expect(filter);
        let doc = bytes(doc);
        let matches = matcher.matches(Doc::Raw(&doc)).expect(filter);
        matches.then(|| matcher.places(Asked::ByKind).at(Doc::Raw(&doc)))
    };
    assert_eq!(position(r#"{"a":2}"#, r#"{"a":[1,2]}"#), Some(Some(1)));
    assert_eq!(
        position(r#"{"a.b":2}"#, r#"{"a":[{"b":1},{"b":[0,2]}]}"#),
        Some(Some(1))
    );
    assert_eq!(
        position(r#"{"a":{"$elemMatch":{"b":2}}}"#, r#"{"a":[{"b":1},{"b":2}]}"#),
        Some(Some(1))
    );
    assert_eq!(position(r#"{"a":2}"#, r#"{"a":2}"#), Some(None));
    assert_eq!(position(r#"{"a":3}"#, r#"{"a":2}"#), None);
    assert_eq!(
        position(r#"{"a":{"$not":{"$gt":5}}}"#, r#"{"a":[1,2]}"#),
        Some(None)
    );
}

#[test]
fn values_stand_for_the_first_segment() {
    let matches = |filter: &str, doc: &str| {
        let matcher = Matcher::parse(Doc::Raw(&bytes(filter))).expect(filter);
        let raw = bytes(doc);
        let value = Doc::Raw(&raw).get("v").expect("v");
        matcher.matches_value(&value).expect(filter)
    };
    assert!(matches(r#"{"":{"$gt":4}}"#, r#"{"v":5}"#));
    assert!(!matches(r#"{"":{"$gt":4}}"#, r#"{"v":4}"#));
    assert!(matches(
        r#"{"e.b":1,"e.c":{"$exists":false}}"#,
        r#"{"v":{"b":1}}"#
    ));
    assert!(matches(r#"{"$or":[{"e":1},{"e.b":2}]}"#, r#"{"v":{"b":2}}"#));
    assert!(matches(r#"{"e.b":null}"#, r#"{"v":3}"#));
}
