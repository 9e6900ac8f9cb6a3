use std::collections::{BTreeMap, BTreeSet};

use super::super::document::sample::Sample;
use super::super::document::{Doc, Owned};
use super::super::fault::Result;
use super::*;

fn int(value: i32) -> Owned {
    Owned::Int32(value)
}

fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

fn doc(fields: &[(&str, Owned)]) -> Owned {
    Owned::Document(fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect())
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
                Some(pattern) => Owned::Regex {
                    pattern: pattern.to_owned(),
                    options: String::new(),
                },
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

/// `key` or `key options`, `*` after a name in `multikey`.
struct Catalog(Vec<(IndexDefinition, Vec<bool>)>);

impl Catalog {
    /// Each: key pattern, options, whether each field is multikey.
    fn new(indexes: &[(&str, &str, &[bool])]) -> Catalog {
        Catalog(
            indexes
                .iter()
                .enumerate()
                .map(|(i, (key, options, multikey))| {
                    let definition = define(&format!("i{i}"), key, options);
                    let mut flags = multikey.to_vec();
                    flags.resize(definition.keys.len(), false);
                    (definition, flags)
                })
                .collect(),
        )
    }

    fn views(&self) -> Vec<IndexView<'_>> {
        self.0
            .iter()
            .map(|(definition, multikey)| IndexView { definition, multikey })
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
        matcher: &matcher,
        sort: (!sort.is_empty()).then_some(&sort),
        indexes: &views,
        hint: hint.map(Owned::as_value),
        limit,
    };
    let plan = choose(request)?;
    let explained = plan.explain(&request, Doc::Raw(&filter));
    Ok((plan, explained))
}

/// Stages from the top with index name, direction and bounds: `SORT > FETCH! > i0 {a: ["[1, 1]"]}`; `!` after
/// FETCH means that the filter is checked.
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
            format!("{}{backward} {}", get("indexName"), bounds.replace('"', ""))
        }
        "OR" => {
            let parts: Vec<String> = match inner("inputStages") {
                Some(Owned::Array(parts)) => parts.iter().map(outline).collect(),
                _ => vec![],
            };
            format!("OR({})", parts.join(" | "))
        }
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
        (r#"{"a": {"$in": []}}"#, "EOF"),
        (r#"{"a": {"$gt": 5, "$lt": 1}}"#, "EOF"),
        (r#"{"a": {"$exists": true}}"#, "COLLSCAN"),
        (
            r#"{"a": {"$exists": false}}"#,
            "FETCH! > i0 { a: [ [undefined, undefined], [null, null] ] }",
        ),
        (r#"{"a": {"$type": "string"}}"#, "FETCH! > i0 { a: [ [, {}) ] }"),
        (
            r#"{"a": "/^ab/"}"#,
            "FETCH! > i0 { a: [ [ab, ac), [/^ab/, /^ab/] ] }",
        ),
        (r#"{"a": "/ab/"}"#, "FETCH! > i0 { a: [ [, {}), [/ab/, /ab/] ] }"),
        (r#"{"a": [1, 2]}"#, "FETCH! > i0 { a: [ [1, 1], [5020"),
        (r#"{"a": 1, "b": 2}"#, "FETCH! > i0 { a: [ [1, 1] ] }"),
        (r#"{"b": 2}"#, "COLLSCAN"),
        (r#"{"$expr": {"$eq": ["$a", 1]}}"#, "COLLSCAN"),
    ] {
        let (_, explained) = plan(&catalog, filter, "{}", None, None).unwrap();
        let got = outline(&explained);
        let (got, expected) = (got.replace("/^ab0/", "/^ac/"), expected.to_owned());
        if filter.contains("[1, 2]") {
            assert!(got.starts_with(&expected), "{filter}: {got}");
        } else if filter.contains('/') {
            assert!(
                got.starts_with(&expected[..expected.find(", [/").unwrap()]),
                "{filter}: {got}"
            );
        } else {
            assert_eq!(got, expected, "{filter}");
        }
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
            "SORT > FETCH > i0 { a: [ [1, 1], [3, 3] ] }",
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
    let id = Catalog(vec![(IndexDefinition::id(), vec![false])]);
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

// What follows compares plans with reading the whole collection, on random documents and filters.

struct Store {
    documents: Vec<Vec<u8>>,
    catalog: Catalog,
    /// Per index, stored keys (with the record id behind) to records.
    entries: Vec<BTreeMap<Vec<u8>, usize>>,
}

impl Store {
    fn new(sample: &mut Sample, indexes: &[(&str, &str)]) -> Store {
        let catalog = Catalog::new(
            &indexes
                .iter()
                .map(|(key, options)| (*key, *options, &[][..]))
                .collect::<Vec<_>>(),
        );
        let mut store = Store {
            documents: Vec::new(),
            entries: vec![BTreeMap::new(); catalog.0.len()],
            catalog,
        };
        // Some collections have no arrays, so that single-key plans are tried as well.
        let arrays = sample.below(3) > 0;
        while store.documents.len() < 60 {
            let document = bytes(&random_document(sample, arrays));
            let found: Result<Vec<_>> = store
                .catalog
                .0
                .iter()
                .map(|(definition, _)| definition.keys(Doc::Raw(&document)))
                .collect();
            let Ok(found) = found else { continue };
            let record = store.documents.len();
            for (position, keys) in found.into_iter().enumerate() {
                for (flag, multikey) in store.catalog.0[position].1.iter_mut().zip(&keys.multikey) {
                    *flag |= multikey;
                }
                for mut key in keys.keys {
                    key.extend_from_slice(&(record as u64).to_be_bytes());
                    store.entries[position].insert(key, record);
                }
            }
            store.documents.push(document);
        }
        store
    }

    /// The records that the access gives, each its first time.
    fn select(&self, access: &Access) -> Vec<usize> {
        let mut found = Vec::new();
        self.visit(access, &mut found);
        let mut seen = BTreeSet::new();
        found.retain(|record| seen.insert(*record));
        found
    }

    fn visit(&self, access: &Access, found: &mut Vec<usize>) {
        match access {
            Access::Nothing => {}
            Access::Collection { reverse: false } => found.extend(0..self.documents.len()),
            Access::Collection { reverse: true } => found.extend((0..self.documents.len()).rev()),
            Access::Index {
                index,
                ranges,
                reverse,
                ..
            } => {
                let mut part = Vec::new();
                for range in ranges {
                    let range = (range.from.clone(), range.to.clone());
                    part.extend(self.entries[*index].range(range).map(|(_, record)| *record));
                }
                if *reverse {
                    part.reverse();
                }
                found.extend(part);
            }
            Access::Union(parts) => parts.iter().for_each(|part| self.visit(part, found)),
        }
    }
}

fn random_scalar(sample: &mut Sample) -> Owned {
    match sample.below(16) {
        0 => Owned::Null,
        1 => Owned::Undefined,
        2 => Owned::Double(f64::NAN),
        3 => Owned::Bool(true),
        4 => Owned::DateTime(5),
        5 => text("ab"),
        6 => text("abc"),
        7 => text("b"),
        8 => Owned::Regex {
            pattern: "^ab".into(),
            options: String::new(),
        },
        9 => Owned::Double(2.0),
        10 => Owned::Double(1.5),
        11 => sample.pick(&[Owned::MinKey, Owned::MaxKey, Owned::Document(vec![])]),
        _ => int(sample.below(5) as i32),
    }
}

fn random_value(sample: &mut Sample, depth: usize, arrays: bool) -> Owned {
    match sample.below(8) {
        0 | 1 if depth > 0 && arrays => {
            let length = sample.below(4);
            Owned::Array(
                (0..length)
                    .map(|_| random_value(sample, depth - 1, arrays))
                    .collect(),
            )
        }
        2 | 3 if depth > 0 => {
            let mut fields = Vec::new();
            for name in ["b", "c", "0"] {
                if sample.below(if name == "0" { 8 } else { 2 }) == 0 {
                    fields.push((name.to_owned(), random_value(sample, depth - 1, arrays)));
                }
            }
            Owned::Document(fields)
        }
        _ => random_scalar(sample),
    }
}

fn random_document(sample: &mut Sample, arrays: bool) -> Owned {
    let mut fields = Vec::new();
    for name in ["a", "b", "c"] {
        if sample.below(5) > 0 {
            fields.push((name.to_owned(), random_value(sample, 3, arrays)));
        }
    }
    Owned::Document(fields)
}

/// A value that a filter may hold literally.
fn random_operand(sample: &mut Sample) -> Owned {
    loop {
        let value = match sample.below(5) {
            0 => random_value(sample, 2, true),
            _ => random_scalar(sample),
        };
        if !matches!(value, Owned::Undefined | Owned::Regex { .. }) {
            return value;
        }
    }
}

fn random_condition(sample: &mut Sample, depth: usize) -> Vec<(String, Owned)> {
    let mut condition = |operator: &str, value: Owned| vec![(operator.to_owned(), value)];
    match sample.below(if depth > 0 { 20 } else { 16 }) {
        0..=2 => condition("$eq", random_operand(sample)),
        3 => condition("$gt", random_operand(sample)),
        4 => condition("$gte", random_operand(sample)),
        5 => condition("$lt", random_operand(sample)),
        6 => condition("$lte", random_operand(sample)),
        7 => condition("$ne", random_operand(sample)),
        8 | 9 => {
            let length = sample.below(4);
            let items = (0..length).map(|_| random_operand(sample)).collect();
            let operator = sample.pick(&["$in", "$in", "$nin"]);
            condition(operator, Owned::Array(items))
        }
        10 => condition("$exists", Owned::Bool(sample.below(2) == 0)),
        11 => {
            let name = sample.pick(&[
                "number",
                "string",
                "array",
                "object",
                "null",
                "undefined",
                "int",
                "bool",
            ]);
            condition("$type", text(name))
        }
        12 => {
            let pattern = sample.pick(&["^ab", "b", "^a.c", "^ab?"]);
            condition("$regex", text(pattern))
        }
        13 => condition("$size", int(sample.below(3) as i32)),
        14 => condition("$mod", list(&[int(2), int(sample.below(2) as i32)])),
        15 => {
            let mut both = condition("$gt", int(sample.below(4) as i32));
            both.push(("$lt".to_owned(), int(sample.below(6) as i32)));
            both
        }
        16 => vec![(
            "$not".to_owned(),
            Owned::Document(random_condition(sample, depth - 1)),
        )],
        17 => vec![(
            "$elemMatch".to_owned(),
            Owned::Document(random_condition(sample, depth - 1)),
        )],
        18 => {
            let mut fields = Vec::new();
            for name in ["b", "c", "b.c", "0"] {
                if sample.below(3) == 0 {
                    fields.push((
                        name.to_owned(),
                        Owned::Document(random_condition(sample, depth - 1)),
                    ));
                }
            }
            vec![("$elemMatch".to_owned(), Owned::Document(fields))]
        }
        _ => {
            let items = (0..1 + sample.below(2)).map(|_| random_operand(sample)).collect();
            vec![("$all".to_owned(), Owned::Array(items))]
        }
    }
}

fn random_filter(sample: &mut Sample, depth: usize) -> Owned {
    let mut fields = Vec::new();
    for _ in 0..1 + sample.below(3) {
        match sample.below(12) {
            0 if depth > 0 => {
                let branches = (0..1 + sample.below(3))
                    .map(|_| random_filter(sample, depth - 1))
                    .collect();
                fields.push((
                    sample.pick(&["$or", "$or", "$and", "$nor"]).to_owned(),
                    Owned::Array(branches),
                ));
            }
            _ => {
                let path = sample.pick(&["a", "a", "b", "c", "a.b", "a.c", "a.b.c", "a.0", "a.0.b", "a.1"]);
                fields.push((path.to_owned(), Owned::Document(random_condition(sample, 2))));
            }
        }
    }
    Owned::Document(fields)
}

const INDEX_SETS: &[&[(&str, &str)]] = &[
    &[(r#"{"a": 1}"#, "{}")],
    &[(r#"{"a": -1}"#, "{}")],
    &[(r#"{"a": 1, "b": 1}"#, "{}")],
    &[(r#"{"a": 1, "b": -1, "c": 1}"#, "{}")],
    &[(r#"{"a.b": 1}"#, "{}")],
    &[(r#"{"a.b": 1, "a.c": -1}"#, "{}")],
    &[(r#"{"a.b.c": 1, "a.b.b": 1}"#, "{}")],
    &[(r#"{"a.0": 1}"#, "{}")],
    &[(r#"{"a.0.b": 1, "a.b": 1}"#, "{}")],
    &[
        (r#"{"a": 1}"#, r#"{"sparse": true}"#),
        (r#"{"a.b": 1, "b": 1}"#, r#"{"sparse": true}"#),
    ],
    &[(
        r#"{"a": 1}"#,
        r#"{"partialFilterExpression": {"a": {"$gte": 2}}}"#,
    )],
    &[(
        r#"{"b": 1}"#,
        r#"{"partialFilterExpression": {"a": {"$exists": true}}}"#,
    )],
    &[(
        r#"{"b": -1}"#,
        r#"{"partialFilterExpression": {"$or": [{"a": 1}, {"c": {"$type": "bool"}}]}}"#,
    )],
    &[(r#"{"b": "hashed"}"#, "{}"), (r#"{"c": 1, "b": "hashed"}"#, "{}")],
    &[
        (r#"{"a": 1}"#, "{}"),
        (r#"{"b": 1}"#, "{}"),
        (r#"{"c": 1, "a": 1}"#, "{}"),
        (r#"{"a.b": 1}"#, "{}"),
    ],
];

#[test]
fn plans_select_what_reading_everything_selects() {
    let mut sample = Sample::new(2);
    let (mut indexed, mut exact, mut ordered) = (0, 0, 0);
    for round in 0..INDEX_SETS.len() * 8 {
        let store = Store::new(&mut sample, INDEX_SETS[round % INDEX_SETS.len()]);
        let views = store.catalog.views();
        for _ in 0..150 {
            let filter = random_filter(&mut sample, 2);
            let raw = bytes(&filter);
            let Ok(matcher) = Matcher::parse(Doc::Raw(&raw)) else {
                continue;
            };
            let sort = match sample.below(3) {
                0 => sample.pick(&[
                    r#"{"a": 1}"#,
                    r#"{"a": -1}"#,
                    r#"{"b": 1}"#,
                    r#"{"a": 1, "b": 1}"#,
                    r#"{"a.b": -1}"#,
                    r#"{"a.b": 1, "a.c": -1}"#,
                    r#"{"b": -1, "c": 1}"#,
                    r#"{"a.0": 1}"#,
                ]),
                _ => "{}",
            };
            let sort = SortSpec::parse(Doc::Raw(&bytes(&json(sort)))).unwrap();
            let request = PlanRequest {
                matcher: &matcher,
                sort: (!sort.is_empty()).then_some(&sort),
                indexes: &views,
                hint: None,
                limit: sample.pick(&[None, None, Some(1), Some(20)]),
            };
            let plan = choose(request).unwrap();
            let context = || {
                format!(
                    "{filter:?}\n{plan:?}\n{:?}",
                    views.iter().map(|v| v.multikey).collect::<Vec<_>>()
                )
            };
            let matches = |record: usize| matcher.matches(Doc::Raw(&store.documents[record])).unwrap();
            let expected: BTreeSet<usize> = (0..store.documents.len())
                .filter(|record| matches(*record))
                .collect();
            let selected = store.select(&plan.access);
            for record in &expected {
                assert!(
                    selected.contains(record),
                    "lost {:?}\n{}",
                    Doc::Raw(&store.documents[*record]),
                    context()
                );
            }
            if plan.exact {
                exact += 1;
                for record in &selected {
                    assert!(
                        expected.contains(record),
                        "not checked {:?}\n{}",
                        Doc::Raw(&store.documents[*record]),
                        context()
                    );
                }
            }
            if !matches!(plan.access, Access::Collection { .. }) {
                indexed += 1;
            }
            if plan.sorted && !sort.is_empty() {
                ordered += 1;
                let keys: Vec<Vec<u8>> = selected
                    .iter()
                    .filter(|record| expected.contains(record))
                    .filter_map(|record| sort.key(Doc::Raw(&store.documents[*record])).ok())
                    .collect();
                assert!(keys.is_sorted(), "out of order\n{}", context());
            }
        }
    }
    assert!(
        indexed > 3000 && exact > 500 && ordered > 150,
        "{indexed} {exact} {ordered}"
    );
}
