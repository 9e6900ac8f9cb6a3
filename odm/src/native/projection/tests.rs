//! Each rule of projecting as a table row, and the cases that a real server answered.

use super::super::document::Doc;
use super::super::document::owned::fields_of;
use super::super::matcher::{Asked, Matcher};
use super::Projection;

/// BSON bytes of Extended JSON.
fn to_bytes(json: &serde_json::Value) -> Vec<u8> {
    let bson::Bson::Document(doc) = bson::Bson::try_from(json.clone()).expect("extended JSON") else {
        panic!("not a document: {json}");
    };
    bson::serialize_to_vec(&doc).expect("BSON")
}

fn bytes(json: &str) -> Vec<u8> {
    to_bytes(&serde_json::from_str(json).expect(json))
}

/// The document that most rows project.
const DOC: &str = r#"{"_id":1,"a":1,"b":{"x":1,"y":[{"p":1,"q":2},{"p":3}]},"c":[1,2,3],"d":[[1,2],[3]],
    "e":[{"x":1,"y":2},5,[{"x":3,"y":4}]]}"#;

/// Projects `doc`, which the filter has to match.
fn project(filter: &str, spec: &str, doc: &str) -> super::super::fault::Result<Vec<u8>> {
    let matcher = Matcher::parse(Doc::Raw(&bytes(filter)))?;
    let projection = Projection::parse(Doc::Raw(&bytes(spec)), Some(&matcher))?;
    let raw = bytes(doc);
    assert!(matcher.matches(Doc::Raw(&raw))?, "{filter}");
    let matched = matcher.places(Asked::AsWritten).at(Doc::Raw(&raw));
    let projected = projection.apply(Doc::Raw(&raw), matched)?;
    assert_eq!(
        projected,
        projection.apply(Doc::Fields(&fields_of(Doc::Raw(&raw))), matched)?,
        "{spec} on an owned document"
    );
    Ok(projected)
}

/// Asserts the exact document, order of fields included.
#[track_caller]
fn check(filter: &str, spec: &str, expected: &str) {
    let projected = project(filter, spec, DOC).expect(spec);
    assert_eq!(
        bson::deserialize_from_slice::<bson::Document>(&projected).expect("BSON"),
        bson::deserialize_from_slice::<bson::Document>(&bytes(expected)).expect("BSON"),
        "{spec}"
    );
    assert_eq!(projected, bytes(expected), "{spec}: order or types differ");
}

/// Asserts how the server refuses the projection.
#[track_caller]
fn refuse(filter: &str, spec: &str, code: i32, message: &str) {
    let fault = project(filter, spec, DOC).expect_err(spec);
    assert_eq!((fault.code(), fault.message()), (code, message), "{spec}");
}

#[test]
fn recorded_answers() {
    let root = std::env::var_os("ODM_SHARED_DATA").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        std::path::PathBuf::from,
    );
    let file = root.join("semantics/cases.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("skipped: {} is not there; set ODM_SHARED_DATA", file.display());
        return;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("cases");
    for case in cases.iter().filter(|case| case["kind"] == "proj") {
        let (filter, spec) = (case["q"].to_string(), case["proj"].to_string());
        for (index, doc) in case["docs"].as_array().expect("docs").iter().enumerate() {
            match (project(&filter, &spec, &doc.to_string()), &case["expect"]) {
                (Ok(projected), serde_json::Value::Array(expected)) => {
                    assert_eq!(projected, to_bytes(&expected[index]), "{spec}");
                }
                (Err(_), expected) if expected == "ERR" => {}
                (answer, expected) => panic!("{spec} gave {answer:?}, not {expected}"),
            }
        }
    }
}

#[test]
fn inclusion_keeps_the_documents_order() {
    check("{}", r#"{"c":1,"a":1}"#, r#"{"_id":1,"a":1,"c":[1,2,3]}"#);
    check("{}", r#"{"_id":0,"a":1}"#, r#"{"a":1}"#);
    check("{}", r#"{"_id":1}"#, r#"{"_id":1}"#);
    check("{}", r#"{"b.x":1}"#, r#"{"_id":1,"b":{"x":1}}"#);
    check(
        "{}",
        r#"{"b":{"x":1},"b.y.p":1}"#,
        r#"{"_id":1,"b":{"x":1,"y":[{"p":1},{"p":3}]}}"#,
    );
    check("{}", r#"{"e.x":1}"#, r#"{"_id":1,"e":[{"x":1},[{"x":3}]]}"#);
    check("{}", r#"{"c.0":1}"#, r#"{"_id":1,"c":[]}"#);
    check("{}", r#"{"a.z":1,"zz":1}"#, r#"{"_id":1}"#);
}

#[test]
fn exclusion_keeps_the_rest() {
    let rest = r#"{"a":0,"b":0,"c":0,"d":0,"e":0}"#;
    check("{}", rest, r#"{"_id":1}"#);
    check(
        "{}",
        r#"{"a":0,"b.y":0,"d":0,"e.x":0,"c.0":0,"_id":0}"#,
        r#"{"b":{"x":1},"c":[1,2,3],"e":[{"y":2},5,[{"y":4}]]}"#,
    );
    check("{}", "{}", DOC);
}

#[test]
fn slices() {
    check(
        "{}",
        r#"{"a":1,"c":{"$slice":-2}}"#,
        r#"{"_id":1,"a":1,"c":[2,3]}"#,
    );
    check(
        "{}",
        r#"{"a":1,"c":{"$slice":[-5,2]}}"#,
        r#"{"_id":1,"a":1,"c":[1,2]}"#,
    );
    check(
        "{}",
        r#"{"c":{"$slice":0},"b":0,"d":0,"e":0}"#,
        r#"{"_id":1,"a":1,"c":[]}"#,
    );
    check(
        "{}",
        r#"{"_id":1,"b.y":{"$slice":[1,1]}}"#,
        r#"{"_id":1,"b":{"y":[{"p":3}]}}"#,
    );
    check("{}", r#"{"_id":1,"a":{"$slice":1}}"#, r#"{"_id":1,"a":1}"#);
}

#[test]
fn matched_elements() {
    check(
        "{}",
        r#"{"e":{"$elemMatch":{"x":1}},"a":1}"#,
        r#"{"_id":1,"a":1,"e":[{"x":1,"y":2}]}"#,
    );
    check("{}", r#"{"c":{"$elemMatch":{"$gt":1}}}"#, r#"{"_id":1,"c":[2]}"#);
    check("{}", r#"{"c":{"$elemMatch":{"$gt":9}}}"#, r#"{"_id":1}"#);
    check(r#"{"c":{"$gte":2}}"#, r#"{"c.$":1}"#, r#"{"_id":1,"c":[2]}"#);
    check(
        r#"{"b.y.p":3}"#,
        r#"{"b.y.$":1}"#,
        r#"{"_id":1,"b":{"y":[{"p":3}]}}"#,
    );
    check(r#"{"e.x":1}"#, r#"{"e.y.$":1}"#, r#"{"_id":1,"e":[{"y":2}]}"#);
    check("{}", r#"{"a.$":1}"#, r#"{"_id":1,"a":1}"#);
    refuse(
        "{}",
        r#"{"c.$":1}"#,
        51246,
        "positional operator '.$' couldn't find a matching element in the array",
    );
    refuse(
        r#"{"c":3}"#,
        r#"{"d.$":1}"#,
        51247,
        "positional operator '.$' element mismatch",
    );
}

#[test]
fn computed_fields_follow() {
    check(
        "{}",
        r#"{"n":"$b.x","a":1,"m":"text"}"#,
        r#"{"_id":1,"a":1,"n":1,"m":"text"}"#,
    );
    check("{}", r#"{"_id":"$a","c":1}"#, r#"{"c":[1,2,3],"_id":1}"#);
    check("{}", r#"{"n":"$zz"}"#, r#"{"_id":1}"#);
    check("{}", r#"{"b.n":"$a","b.x":1}"#, r#"{"_id":1,"b":{"x":1,"n":1}}"#);
    check(
        "{}",
        r#"{"e.n":"$a","e.x":1}"#,
        r#"{"_id":1,"e":[{"x":1,"n":1},{"n":1},[{"x":3,"n":1}]]}"#,
    );
    check(
        "{}",
        r#"{"a.q":"$a","c":1}"#,
        r#"{"_id":1,"a":{"q":1},"c":[1,2,3]}"#,
    );
    check(
        "{}",
        r#"{"zz.q":{"$literal":1},"a":1}"#,
        r#"{"_id":1,"a":1,"zz":{"q":1}}"#,
    );
}

#[test]
fn refusals() {
    let rows = [
        (
            r#"{"a":1,"b":0}"#,
            31254,
            "Cannot do exclusion on field b in inclusion projection",
        ),
        (
            r#"{"a":0,"b":1}"#,
            31253,
            "Cannot do inclusion on field b in exclusion projection",
        ),
        (
            r#"{"b":1,"b.x":1}"#,
            31249,
            "Path collision at b.x remaining portion x",
        ),
        (r#"{"b.x":1,"b":1}"#, 31250, "Path collision at b"),
        (
            r#"{"b":{}}"#,
            51270,
            "An empty sub-projection is not a valid value. Found empty object at path",
        ),
        (
            r#"{"":1}"#,
            40352,
            "FieldPath cannot be constructed with empty string",
        ),
        (r#"{"a.":1}"#, 40353, "FieldPath must not end with a '.'."),
        (
            r#"{"a..b":1}"#,
            15998,
            "FieldPath field names may not be empty strings.",
        ),
        (
            r#"{"$a":1}"#,
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            r#"{"a":0,"n":"$a"}"#,
            31310,
            "Cannot use an expression n: \"$a\" in an exclusion projection",
        ),
        (
            r#"{"c.$":0}"#,
            31395,
            "positional projection cannot be used with exclusion",
        ),
        (
            r#"{"c.$":"x"}"#,
            31308,
            "positional projection cannot be used with a literal",
        ),
        (
            r#"{"c.$":1,"d.$":1}"#,
            31276,
            "Cannot specify more than one positional projection per query.",
        ),
        (
            r#"{"b.y":{"$elemMatch":{}}}"#,
            31275,
            "Cannot use $elemMatch projection on a nested field.",
        ),
        (
            r#"{"c":{"$elemMatch":1}}"#,
            31274,
            "elemMatch: Invalid argument, object required, but got int",
        ),
        (
            r#"{"n":{"$meta":"foo"}}"#,
            17308,
            "Unsupported argument to $meta: foo",
        ),
        (
            r#"{"c":{"$slice":"x"}}"#,
            28667,
            "Invalid $slice syntax. The given syntax { $slice: \"x\" } did not match the find() syntax because :: \
             Location31273: $slice only supports numbers and [skip, limit] arrays :: The given syntax did not \
             match the expression $slice syntax. :: caused by :: Expression $slice takes at least 2 arguments, \
             and at most 3, but 1 were passed in.",
        ),
    ];
    for (spec, code, message) in rows {
        refuse("{}", spec, code, message);
    }
}
