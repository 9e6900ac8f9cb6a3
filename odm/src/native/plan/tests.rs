use super::super::collation::Collation;
use super::super::document::{Doc, Owned};
use super::super::fault::Result;
use super::*;

mod random;

fn int(value: i32) -> Owned {
    Owned::Int32(value)
}

fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

fn list(items: &[Owned]) -> Owned {
    Owned::Array(items.to_vec())
}

/// Reads the JSON that the tables are written in; numbers are int32 or doubles, `/x/` in strings is a regex.
fn json(text: &str) -> Owned {
    fn convert(value: &serde_json::Value) -> Owned {
        match value {
            serde_json::Value::Null => Owned::Null,
            serde_json::Value::Bool(b) => Owned::Bool(*b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(i) => Owned::Int32(i as i32),
                None => Owned::Double(n.as_f64().unwrap()),
            },
            serde_json::Value::String(s) => match s.strip_prefix('/').and_then(|s| s.strip_suffix('/')) {
                Some(pattern) => Owned::regex(pattern, ""),
                None => Owned::String(s.clone()),
            },
            serde_json::Value::Array(items) => Owned::Array(items.iter().map(convert).collect()),
            serde_json::Value::Object(fields) => {
                Owned::Document(fields.iter().map(|(n, v)| (n.clone(), convert(v))).collect())
            }
        }
    }
    convert(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

fn bytes(value: &Owned) -> Vec<u8> {
    value.as_value().as_document().unwrap().to_bytes()
}

fn define(name: &str, key: &str, options: &str) -> IndexDefinition {
    let mut fields = vec![("key".to_owned(), json(key)), ("name".to_owned(), text(name))];
    if let Owned::Document(options) = json(options) {
        fields.extend(options);
    }
    IndexDefinition::parse(Doc::Raw(&Doc::Fields(&fields).to_bytes())).unwrap()
}

/// Index definitions, with where their fields have met arrays.
struct Catalog(Vec<(IndexDefinition, Vec<Arrays>)>);

impl Catalog {
    /// Each: key pattern, options, whether each field is multikey.
    fn new(indexes: &[(&str, &str, &[bool])]) -> Catalog {
        Catalog(
            indexes
                .iter()
                .enumerate()
                .map(|(i, (key, options, multikey))| {
                    let definition = define(&format!("i{i}"), key, options);
                    let mut arrays: Vec<Arrays> = multikey.iter().map(|any| Arrays::if_any(*any)).collect();
                    arrays.resize(definition.keys.len(), Arrays::NONE);
                    (definition, arrays)
                })
                .collect(),
        )
    }

    fn views(&self) -> Vec<IndexView<'_>> {
        self.0
            .iter()
            .map(|(definition, multikey)| IndexView {
                definition,
                multikey,
                is_left_out: false,
            })
            .collect()
    }
}

fn plan(
    catalog: &Catalog,
    filter: &str,
    sort: &str,
    hint: Option<&Owned>,
    limit: Option<u64>,
) -> Result<(Plan, Owned)> {
    let filter = bytes(&json(filter));
    let matcher = Matcher::parse(Doc::Raw(&filter)).unwrap();
    let sort = SortSpec::parse(Doc::Raw(&bytes(&json(sort)))).unwrap();
    let views = catalog.views();
    let request = PlanRequest {
        edges: None,
        matcher: &matcher,
        sort: (!sort.is_empty()).then_some(&sort),
        indexes: &views,
        hint: hint.map(Owned::as_value),
        limit,
        trial: None,
        needs: None,
    };
    let plan = choose(request)?.plan;
    let explained = plan.stages(&request, &matcher.root().normal(), &Finish::default());
    let explained = explained.shown();
    Ok((plan, explained))
}

/// Stages from the top with index name, direction and bounds: `SORT > FETCH! > i0 {a: ["[1, 1]"]}`; `!` after
/// FETCH or an index means that conditions are asked there.
fn outline(stage: &Owned) -> String {
    let doc = stage.as_value().as_document().unwrap();
    let get = |name: &str| doc.get(name).and_then(|value| value.as_str()).unwrap_or("");
    let inner = |name: &str| doc.get(name).map(Owned::from);
    match get("stage") {
        "IXSCAN" => {
            let backward = if get("direction") == "backward" {
                " backward"
            } else {
                ""
            };
            let bounds = doc.get("indexBounds").unwrap().to_string();
            let checked = if doc.get("filter").is_some() { "!" } else { "" };
            let bounds = bounds.replace('"', "");
            format!("{}{checked}{backward} {bounds}", get("indexName"))
        }
        "OR" => {
            let parts: Vec<String> = match inner("inputStages") {
                Some(Owned::Array(parts)) => parts.iter().map(outline).collect(),
                _ => vec![],
            };
            format!("OR({})", parts.join(" | "))
        }
        "SORT_MERGE" => {
            let parts: Vec<String> = match inner("inputStages") {
                Some(Owned::Array(parts)) => parts.iter().map(outline).collect(),
                _ => vec![],
            };
            format!("MERGE({})", parts.join(" | "))
        }
        "SUBPLAN" => outline(&inner("inputStage").unwrap()),
        name => {
            let checked = if name == "FETCH" && doc.get("filter").is_some() {
                "!"
            } else {
                ""
            };
            let backward = if get("direction") == "backward" {
                " backward"
            } else {
                ""
            };
            match inner("inputStage") {
                Some(input) => format!("{name}{checked} > {}", outline(&input)),
                None => format!("{name}{backward}"),
            }
        }
    }
}

fn check(catalog: &Catalog, filter: &str, sort: &str, expected: &str) {
    let (_, explained) = plan(catalog, filter, sort, None, None).unwrap();
    assert_eq!(outline(&explained), expected, "{filter} sorted {sort}");
}

#[test]
fn predicates_bound_a_field() {
    let catalog = Catalog::new(&[("{\"a\": 1}", "{}", &[false])]);
    for (filter, expected) in [
        (r#"{"a": 1}"#, "FETCH > i0 { a: [ [1, 1] ] }"),
        (r#"{"a": {"$gt": 1, "$lte": 5}}"#, "FETCH > i0 { a: [ (1, 5] ] }"),
        (r#"{"a": {"$gt": 1}}"#, "FETCH > i0 { a: [ (1, inf.0] ] }"),
        (r#"{"a": {"$lt": 1.5}}"#, "FETCH > i0 { a: [ [-inf.0, 1.5) ] }"),
        (r#"{"a": {"$gt": "x"}}"#, "FETCH > i0 { a: [ (x, {}) ] }"),
        (
            r#"{"a": {"$ne": 1}}"#,
            "FETCH > i0 { a: [ [MinKey, 1), (1, MaxKey] ] }",
        ),
        (
            r#"{"a": {"$not": {"$gt": 1}}}"#,
            "FETCH > i0 { a: [ [MinKey, 1], (inf.0, MaxKey] ] }",
        ),
        (
            r#"{"a": null}"#,
            "FETCH > i0 { a: [ [undefined, undefined], [null, null] ] }",
        ),
        (
            r#"{"a": {"$in": [1, "x", null]}}"#,
            "FETCH > i0 { a: [ [undefined, undefined], [null, null], [1, 1], [x, x] ] }",
        ),
        (r#"{"a": {"$in": []}}"#, "FETCH > i0 { a: [] }"),
        (r#"{"a": {"$gt": 5, "$lt": 1}}"#, "FETCH > i0 { a: [] }"),
        (r#"{"$alwaysFalse": 1}"#, "EOF"),
        (r#"{"a": {"$exists": true}}"#, "COLLSCAN"),
        (
            r#"{"a": {"$exists": false}}"#,
            "FETCH! > i0 { a: [ [null, null] ] }",
        ),
        (r#"{"a": {"$type": "string"}}"#, "FETCH > i0! { a: [ [, {}) ] }"),
        (
            r#"{"a": {"$type": "bool"}}"#,
            "FETCH > i0 { a: [ [false, true] ] }",
        ),
        (
            r#"{"a": "/^ab/"}"#,
            "FETCH > i0 { a: [ [ab, ac), [/^ab/, /^ab/] ] }",
        ),
        (
            r#"{"a": "/^ab./"}"#,
            "FETCH > i0! { a: [ [ab, ac), [/^ab./, /^ab./] ] }",
        ),
        (r#"{"a": "/ab/"}"#, "FETCH > i0! { a: [ [, {}), [/ab/, /ab/] ] }"),
        (
            r#"{"a": [1, 2]}"#,
            "FETCH! > i0 { a: [ [1, 1], [[ 1, 2 ], [ 1, 2 ]] ] }",
        ),
        (r#"{"a": 1, "b": 2}"#, "FETCH! > i0 { a: [ [1, 1] ] }"),
        (r#"{"b": 2}"#, "COLLSCAN"),
        (
            r#"{"$expr": {"$eq": ["$a", 1]}}"#,
            "FETCH! > i0 { a: [ [1, 1] ] }",
        ),
        (
            r#"{"$expr": {"$and": [{"$gt": [5, "$a"]}, {"$gte": ["$a", 1]}]}}"#,
            "FETCH! > i0 { a: [ [1, 5) ] }",
        ),
        (
            r#"{"$expr": {"$gt": ["$a", 1]}}"#,
            "FETCH! > i0 { a: [ (1, MaxKey] ] }",
        ),
        (r#"{"$expr": {"$ne": ["$a", 1]}}"#, "COLLSCAN"),
        (r#"{"$expr": {"$eq": ["$b", 1]}}"#, "COLLSCAN"),
    ] {
        let (_, explained) = plan(&catalog, filter, "{}", None, None).unwrap();
        assert_eq!(outline(&explained), expected, "{filter}");
    }
}

#[test]
fn arrays_weaken_bounds() {
    let catalog = Catalog::new(&[
        ("{\"a\": 1}", "{}", &[true]),
        ("{\"b.c\": 1, \"b.d\": 1}", "{}", &[true, true]),
    ]);
    for (filter, expected) in [
        (r#"{"a": 1}"#, "FETCH > i0 { a: [ [1, 1] ] }"),
        (
            r#"{"a": {"$gt": 1, "$lt": 5}}"#,
            "FETCH! > i0 { a: [ (1, inf.0] ] }",
        ),
        (
            r#"{"a": {"$elemMatch": {"$gt": 1, "$lt": 5}}}"#,
            "FETCH! > i0 { a: [ (1, 5) ] }",
        ),
        (
            r#"{"a": {"$ne": 1}}"#,
            "FETCH! > i0 { a: [ [MinKey, 1), (1, MaxKey] ] }",
        ),
        (r#"{"a": {"$ne": null}}"#, "COLLSCAN"),
        (
            r#"{"b.c": 1, "b.d": 2}"#,
            "FETCH! > i1 { b.c: [ [1, 1] ], b.d: [ [MinKey, MaxKey] ] }",
        ),
        (
            r#"{"b": {"$elemMatch": {"c": 1, "d": 2}}}"#,
            "FETCH! > i1 { b.c: [ [1, 1] ], b.d: [ [2, 2] ] }",
        ),
    ] {
        check(&catalog, filter, "{}", expected);
    }
}

#[test]
fn the_index_that_reads_least_is_chosen() {
    let catalog = Catalog::new(&[
        (r#"{"a": 1}"#, "{}", &[]),
        (r#"{"a": 1, "b": -1}"#, "{}", &[]),
        (r#"{"b": 1}"#, "{}", &[]),
        (r#"{"u": 1}"#, r#"{"unique": true}"#, &[]),
        (r#"{"h": "hashed"}"#, "{}", &[]),
    ]);
    for (filter, sort, expected) in [
        ("{}", "{}", "COLLSCAN"),
        ("{}", r#"{"$natural": -1}"#, "COLLSCAN backward"),
        (r#"{"a": 1}"#, "{}", "FETCH > i0 { a: [ [1, 1] ] }"),
        (
            r#"{"a": 1, "b": 2}"#,
            "{}",
            "FETCH > i1 { a: [ [1, 1] ], b: [ [2, 2] ] }",
        ),
        (
            r#"{"a": 1, "b": {"$gt": 2}}"#,
            "{}",
            "FETCH > i1 { a: [ [1, 1] ], b: [ [inf.0, 2) ] }",
        ),
        (
            r#"{"a": 1}"#,
            r#"{"b": 1}"#,
            "FETCH > i1 backward { a: [ [1, 1] ], b: [ [MinKey, MaxKey] ] }",
        ),
        (
            r#"{"a": 1}"#,
            r#"{"b": -1}"#,
            "FETCH > i1 { a: [ [1, 1] ], b: [ [MaxKey, MinKey] ] }",
        ),
        (
            r#"{"a": 1}"#,
            r#"{"a": -1, "b": -1}"#,
            "FETCH > i1 { a: [ [1, 1] ], b: [ [MaxKey, MinKey] ] }",
        ),
        (
            "{}",
            r#"{"a": -1, "b": 1}"#,
            "FETCH > i1 backward { a: [ [MaxKey, MinKey] ], b: [ [MinKey, MaxKey] ] }",
        ),
        ("{}", r#"{"a": 1, "b": 1}"#, "SORT > COLLSCAN"),
        ("{}", r#"{"a": 1}"#, "FETCH > i0 { a: [ [MinKey, MaxKey] ] }"),
        (
            r#"{"a": {"$gt": 3}}"#,
            r#"{"a": -1}"#,
            "FETCH > i0 backward { a: [ [inf.0, 3) ] }",
        ),
        (
            r#"{"a": {"$in": [3, 1]}}"#,
            r#"{"a": 1}"#,
            "FETCH > i0 { a: [ [1, 1], [3, 3] ] }",
        ),
        (
            r#"{"a": {"$in": [3, 1]}}"#,
            r#"{"b": 1}"#,
            "FETCH > MERGE(i1 backward { a: [ [3, 3] ], b: [ [MinKey, MaxKey] ] } | \
             i1 backward { a: [ [1, 1] ], b: [ [MinKey, MaxKey] ] })",
        ),
        (r#"{"a": 1, "u": 2}"#, "{}", "FETCH! > i3 { u: [ [2, 2] ] }"),
        (
            r#"{"$or": [{"a": 1}, {"b": 2}]}"#,
            "{}",
            "FETCH > OR(i0 { a: [ [1, 1] ] } | i2 { b: [ [2, 2] ] })",
        ),
        (r#"{"$or": [{"a": 1}, {"x": 2}]}"#, "{}", "COLLSCAN"),
        (
            r#"{"x": 1, "$or": [{"a": 1}, {"b": 2}]}"#,
            "{}",
            "FETCH! > OR(i0 { a: [ [1, 1] ] } | i2 { b: [ [2, 2] ] })",
        ),
        (r#"{"x": 1}"#, r#"{"x": 1}"#, "SORT > COLLSCAN"),
    ] {
        let (_, explained) = plan(&catalog, filter, sort, None, None).unwrap();
        assert_eq!(outline(&explained), expected, "{filter} sorted {sort}");
    }
    let (hashed, _) = plan(&catalog, r#"{"h": 5}"#, "{}", None, None).unwrap();
    assert!(matches!(hashed.access, Access::Index { index: 4, .. }) && !hashed.exact);
    let (ranged, _) = plan(&catalog, r#"{"h": {"$gt": 5}}"#, "{}", None, None).unwrap();
    assert!(matches!(ranged.access, Access::Collection { .. }));
}

#[test]
fn one_document_by_its_id_is_recognised() {
    let id = Catalog(vec![(
        IndexDefinition::id(Collation::simple()),
        vec![Arrays::NONE],
    )]);
    check(&id, r#"{"_id": 5}"#, "{}", "IDHACK");
    check(
        &id,
        r#"{"_id": {"$gt": 5}}"#,
        "{}",
        "FETCH > _id_ { _id: [ (5, inf.0] ] }",
    );
}

#[test]
fn indexes_of_some_documents_serve_only_filters_that_stay_inside() {
    let catalog = Catalog::new(&[
        (
            r#"{"a": 1}"#,
            r#"{"partialFilterExpression": {"a": {"$gt": 5}}}"#,
            &[],
        ),
        (r#"{"b": 1}"#, r#"{"sparse": true}"#, &[]),
        (
            r#"{"c": 1}"#,
            r#"{"partialFilterExpression": {"d": {"$exists": true}, "e": 1}}"#,
            &[],
        ),
        (r#"{"x": 1}"#, r#"{"hidden": true}"#, &[]),
    ]);
    for (filter, sort, expected) in [
        (r#"{"a": {"$gt": 6}}"#, "{}", Some(0)),
        (r#"{"a": {"$gt": 5}}"#, "{}", Some(0)),
        (r#"{"a": {"$gte": 5}}"#, "{}", None),
        (r#"{"a": 7}"#, "{}", Some(0)),
        (r#"{"a": {"$in": [7, 8]}}"#, "{}", Some(0)),
        (r#"{"a": {"$in": [7, 1]}}"#, "{}", None),
        (r#"{"a": {"$gt": "x"}}"#, "{}", None),
        ("{}", r#"{"a": 1}"#, None),
        (r#"{"b": 1}"#, "{}", Some(1)),
        (r#"{"b": null}"#, "{}", None),
        (r#"{"b": {"$ne": 1}}"#, "{}", None),
        (r#"{"b": {"$in": [1, null]}}"#, "{}", None),
        (r#"{"b": {"$exists": false}}"#, "{}", None),
        ("{}", r#"{"b": 1}"#, None),
        (r#"{"b": {"$exists": true}}"#, r#"{"b": 1}"#, Some(1)),
        (r#"{"b": {"$exists": true}}"#, "{}", Some(1)),
        (r#"{"b": {"$exists": true}, "z": 1}"#, r#"{"y": 1}"#, Some(1)),
        (r#"{"c": 1, "d": {"$gt": 3}, "e": 1}"#, "{}", Some(2)),
        (r#"{"c": 1, "d": 3, "e": 2}"#, "{}", None),
        (r#"{"c": 1, "d": null, "e": 1}"#, "{}", None),
        (r#"{"x": 1}"#, "{}", None),
    ] {
        let (plan, _) = plan(&catalog, filter, sort, None, None).unwrap();
        let got = match plan.access {
            Access::Index { index, .. } => Some(index),
            _ => None,
        };
        assert_eq!(got, expected, "{filter} sorted {sort}");
    }
}

#[test]
fn hints_are_obeyed_or_refused() {
    let catalog = Catalog::new(&[
        (r#"{"a": 1}"#, r#"{"sparse": true}"#, &[]),
        (r#"{"b": 1}"#, "{}", &[]),
        (r#"{"x": 1}"#, r#"{"hidden": true}"#, &[]),
    ]);
    for (hint, sort, expected) in [
        (text("i0"), "{}", Ok("FETCH! > i0 { a: [ [MinKey, MaxKey] ] }")),
        (
            json(r#"{"a": 1.0}"#),
            "{}",
            Ok("FETCH! > i0 { a: [ [MinKey, MaxKey] ] }"),
        ),
        (json("{}"), "{}", Ok("FETCH > i1 { b: [ [2, 2] ] }")),
        (json(r#"{"$natural": 1}"#), "{}", Ok("COLLSCAN")),
        (json(r#"{"$natural": -1}"#), "{}", Ok("COLLSCAN backward")),
        (json(r#"{"$natural": 1, "a": 1}"#), "{}", Err(2)),
        (json(r#"{"a": -1}"#), "{}", Err(2)),
        (text("nope"), "{}", Err(2)),
        (text(""), "{}", Err(2)),
        (text("i2"), "{}", Err(2)),
        (int(5), "{}", Err(9)),
        (text("i0"), r#"{"$natural": 1}"#, Err(2)),
    ] {
        let got = plan(&catalog, r#"{"b": 2}"#, sort, Some(&hint), None)
            .map(|(_, explained)| outline(&explained))
            .map_err(|fault| fault.code());
        assert_eq!(got.as_deref().map_err(|code| *code), expected, "{hint:?}");
    }
}

#[test]
fn patterns_have_the_prefixes_that_all_matches_share() {
    for (pattern, options, expected) in [
        ("^ab", "", Some("ab")),
        ("^ab", "i", None),
        ("^ab", "m", None),
        ("^ab", "s", Some("ab")),
        ("ab", "", None),
        ("^a|b", "", None),
        ("^ab*", "", Some("a")),
        ("^ab?c", "", Some("a")),
        ("^ab{2}", "", Some("a")),
        ("^ab+", "", Some("ab")),
        ("^ab\\Q\\E*", "", Some("a")),
        ("^ab\\E?", "", Some("a")),
        ("^ab(?#c)*", "", Some("a")),
        ("^a\\.b", "", Some("a.b")),
        ("^a\\d", "", Some("a")),
        ("^a.b", "", Some("a")),
        ("^(ab)", "", Some("")),
        ("^", "", Some("")),
        ("\\Aab", "", Some("ab")),
    ] {
        assert_eq!(
            bounds::prefix(pattern, options).as_deref(),
            expected,
            "{pattern} {options}"
        );
    }
}
