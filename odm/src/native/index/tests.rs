use super::super::collation::Collation;
use super::super::document::sample::Sample;
use super::*;

/// `"_"` in expected values stands for a missing field.
fn int(value: i32) -> Owned {
    Owned::Int32(value)
}

fn doc(fields: &[(&str, Owned)]) -> Owned {
    Owned::Document(fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect())
}

fn list(items: &[Owned]) -> Owned {
    Owned::Array(items.to_vec())
}

fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

fn bytes(value: &Owned) -> Vec<u8> {
    value.as_value().as_document().unwrap().to_bytes()
}

fn define(key: &[(&str, i32)], options: &[(&str, Owned)]) -> IndexDefinition {
    let key: Vec<(&str, Owned)> = key.iter().map(|(path, order)| (*path, int(*order))).collect();
    let mut fields = vec![("key", doc(&key)), ("name", text("n"))];
    fields.extend(options.iter().cloned());
    IndexDefinition::parse(Doc::Raw(&bytes(&doc(&fields)))).unwrap()
}

/// The keys as mongod prints them, and which fields are multikey; or the error code.
fn check(
    key: &[(&str, i32)],
    options: &[(&str, Owned)],
    document: &Owned,
    expected: Result<(&[&str], &[bool]), i32>,
) {
    let index = define(key, options);
    let raw = bytes(document);
    let got = index.keys(Doc::Raw(&raw));
    match (got, expected) {
        (Ok(keys), Ok((values, multikey))) => {
            let printed: Vec<String> = keys
                .keys
                .iter()
                .map(|key| Doc::Raw(&index.key_value(Doc::Raw(&raw), key)).to_string())
                .collect();
            assert_eq!(printed, values, "{key:?} of {document:?}");
            if !keys.keys.is_empty() {
                // No flags are flags that are not set.
                let mut flags: Vec<bool> = keys.multikey.iter().map(|arrays| arrays.is_any()).collect();
                flags.resize(multikey.len(), false);
                assert_eq!(flags, multikey, "{key:?} of {document:?}");
            }
        }
        (Err(fault), Err(code)) => assert_eq!(fault.code(), code, "{fault:?}"),
        (got, expected) => panic!("{key:?} of {document:?}: {got:?}, expected {expected:?}"),
    }
}

#[test]
fn documents_have_the_keys_that_mongod_gives_them() {
    let a = |value| doc(&[("a", value)]);
    let b = |value| doc(&[("b", value)]);
    let pair = || list(&[int(1), int(2)]);
    type Case<'a> = (
        &'a [(&'a str, i32)],
        Owned,
        Result<(&'a [&'a str], &'a [bool]), i32>,
    );
    let cases: Vec<Case<'_>> = vec![
        (&[("a", 1)], a(int(1)), Ok((&["{ a: 1 }"], &[false]))),
        (&[("a", 1)], doc(&[]), Ok((&["{ a: null }"], &[false]))),
        (&[("a", 1)], a(list(&[])), Ok((&["{ a: undefined }"], &[true]))),
        (&[("a", 1)], a(list(&[list(&[])])), Ok((&["{ a: [] }"], &[true]))),
        (
            &[("a", 1)],
            a(list(&[int(1), Owned::Double(1.0), Owned::Int64(1)])),
            Ok((&["{ a: 1 }"], &[true])),
        ),
        (&[("a", -1)], a(pair()), Ok((&["{ a: 2 }", "{ a: 1 }"], &[true]))),
        (&[("a.b", 1)], a(list(&[])), Ok((&["{ a.b: null }"], &[true]))),
        (
            &[("a", 1), ("a.b", 1)],
            a(list(&[])),
            Ok((&["{ a: undefined, a.b: null }"], &[true, true])),
        ),
        (
            &[("a.b", 1)],
            a(list(&[int(1), list(&[])])),
            Ok((&["{ a.b: null }"], &[true])),
        ),
        (
            &[("a.b", 1)],
            a(list(&[list(&[b(int(1))])])),
            Ok((&["{ a.b: null }"], &[true])),
        ),
        (
            &[("a.b", 1)],
            a(list(&[b(pair()), b(int(3))])),
            Ok((&["{ a.b: 1 }", "{ a.b: 2 }", "{ a.b: 3 }"], &[true])),
        ),
        (
            &[("a.b", 1)],
            a(list(&[b(list(&[pair()]))])),
            Ok((&["{ a.b: [ 1, 2 ] }"], &[true])),
        ),
        (&[("a.b", 1)], a(int(5)), Ok((&["{ a.b: null }"], &[false]))),
        (
            &[("a.b", 1)],
            a(list(&[int(5), b(int(6))])),
            Ok((&["{ a.b: null }", "{ a.b: 6 }"], &[true])),
        ),
        (
            &[("a.0", 1)],
            a(list(&[pair()])),
            Ok((&["{ a.0: [ 1, 2 ] }"], &[false])),
        ),
        (
            &[("a.0.0", 1)],
            a(list(&[pair()])),
            Ok((&["{ a.0.0: 1 }"], &[false])),
        ),
        (&[("a.0", 1)], a(list(&[])), Ok((&["{ a.0: null }"], &[true]))),
        (
            &[("a.1", 1)],
            a(list(&[int(7)])),
            Ok((&["{ a.1: null }"], &[true])),
        ),
        (
            &[("a.1", 1)],
            a(list(&[doc(&[("1", int(5))])])),
            Ok((&["{ a.1: 5 }"], &[true])),
        ),
        (
            &[("a.1", 1)],
            a(list(&[doc(&[("1", int(5))]), int(6)])),
            Err(16746),
        ),
        (
            &[("a", 1), ("a.0", 1)],
            a(list(&[int(7), int(8)])),
            Ok((&["{ a: 7, a.0: 7 }", "{ a: 8, a.0: 7 }"], &[true, false])),
        ),
        (
            &[("a.0.b", 1), ("a.b", 1)],
            a(list(&[b(pair()), b(int(2))])),
            Ok((
                &[
                    "{ a.0.b: 1, a.b: 1 }",
                    "{ a.0.b: 1, a.b: 2 }",
                    "{ a.0.b: 2, a.b: 2 }",
                ],
                &[true, true],
            )),
        ),
        (
            &[("a.0", 1), ("a.1", 1)],
            a(list(&[int(7), int(8)])),
            Ok((&["{ a.0: 7, a.1: 8 }"], &[false, false])),
        ),
        (
            &[("a.0", 1), ("a.1", 1)],
            a(list(&[pair(), list(&[int(3)])])),
            Err(171),
        ),
        (
            &[("a.0", 1), ("a.1", 1)],
            a(list(&[pair(), int(3)])),
            Ok((&["{ a.0: [ 1, 2 ], a.1: 3 }"], &[false, false])),
        ),
        (
            &[("a.00", 1)],
            a(list(&[int(5)])),
            Ok((&["{ a.00: null }"], &[true])),
        ),
        (
            &[("a.0.b", 1)],
            a(list(&[list(&[b(int(1)), b(int(2))]), int(5)])),
            Ok((&["{ a.0.b: 1 }", "{ a.0.b: 2 }"], &[true])),
        ),
        (
            &[("a.5", 1), ("a.0", 1)],
            a(list(&[doc(&[("5", int(1))]), doc(&[("5", int(2))])])),
            Ok((
                &["{ a.5: 1, a.0: { 5: 1 } }", "{ a.5: 2, a.0: { 5: 1 } }"],
                &[true, false],
            )),
        ),
        (
            &[("a", 1), ("b", 1)],
            doc(&[("a", list(&[])), ("b", list(&[]))]),
            Err(171),
        ),
        (
            &[("a.b", 1), ("a.c", 1)],
            a(list(&[doc(&[("b", list(&[])), ("c", list(&[]))])])),
            Err(171),
        ),
        (
            &[("a.b", 1), ("a.c", 1)],
            a(list(&[
                doc(&[("b", int(1)), ("c", int(2))]),
                doc(&[("b", int(3))]),
            ])),
            Ok((&["{ a.b: 1, a.c: 2 }", "{ a.b: 3, a.c: null }"], &[true, true])),
        ),
        (
            &[("a.0", 1), ("c", 1)],
            doc(&[("a", list(&[int(7)])), ("c", list(&[int(5)]))]),
            Err(171),
        ),
    ];
    for (key, document, expected) in cases {
        check(key, &[], &document, expected);
    }
}

#[test]
fn sparse_indexes_leave_out_documents_without_any_field() {
    let sparse = [("sparse", Owned::Bool(true))];
    let both: &[(&str, i32)] = &[("a", 1), ("b", 1)];
    for (key, document, keys) in [
        (&[("a", 1)][..], doc(&[]), &[][..]),
        (&[("a", 1)], doc(&[("a", Owned::Null)]), &["{ a: null }"]),
        (&[("a", 1)], doc(&[("a", list(&[]))]), &["{ a: undefined }"]),
        (&[("a.b", 1)], doc(&[("a", list(&[]))]), &[]),
        (&[("a.b", 1)], doc(&[("a", int(5))]), &[]),
        (both, doc(&[]), &[]),
        (both, doc(&[("b", int(1))]), &["{ a: null, b: 1 }"]),
    ] {
        let index = define(key, &sparse);
        let raw = bytes(&document);
        let found = index.keys(Doc::Raw(&raw)).unwrap();
        let printed: Vec<String> = found
            .keys
            .iter()
            .map(|key| Doc::Raw(&index.key_value(Doc::Raw(&raw), key)).to_string())
            .collect();
        assert_eq!(printed, keys, "{key:?} {document:?}");
    }
}

#[test]
fn partial_indexes_hold_only_what_their_filter_matches() {
    let filter = doc(&[("a", doc(&[("$gt", int(5))]))]);
    let index = define(&[("a", 1)], &[("partialFilterExpression", filter)]);
    for (value, count) in [
        (int(6), 1),
        (int(5), 0),
        (text("x"), 0),
        (list(&[int(1), int(9)]), 2),
    ] {
        let raw = bytes(&doc(&[("a", value.clone())]));
        assert_eq!(index.keys(Doc::Raw(&raw)).unwrap().keys.len(), count, "{value:?}");
    }
}

#[test]
fn hashed_fields_keep_equality() {
    let spec = bytes(&doc(&[
        ("key", doc(&[("a", text("hashed"))])),
        ("name", text("h")),
    ]));
    let index = IndexDefinition::parse(Doc::Raw(&spec)).unwrap();
    let key = |value: Owned| {
        index
            .keys(Doc::Raw(&bytes(&doc(&[("a", value)]))))
            .map(|found| found.keys)
    };
    assert_eq!(key(int(1)).unwrap(), key(Owned::Double(1.0)).unwrap());
    assert_ne!(key(int(1)).unwrap(), key(int(2)).unwrap());
    assert_eq!(key(Owned::Null).unwrap(), index.keys(Doc::empty()).unwrap().keys);
    assert_eq!(key(list(&[int(1)])).unwrap_err().code(), 16766);
}

#[test]
fn a_refused_key_is_reported_with_pattern_and_value() {
    let index = define(&[("a.b", 1), ("c", -1)], &[("unique", Owned::Bool(true))]);
    let raw = bytes(&doc(&[
        (
            "a",
            list(&[doc(&[("b", int(5))]), doc(&[("b", Owned::Double(1.0))])]),
        ),
        ("c", int(2)),
    ]));
    let keys = index.keys(Doc::Raw(&raw)).unwrap().keys;
    let fault = index.duplicate("db.t", Doc::Raw(&raw), &keys[0]);
    assert_eq!(fault.code(), 11000);
    assert_eq!(
        fault.message(),
        "E11000 duplicate key error collection: db.t index: n dup key: { a.b: 1.0, c: 2 }"
    );
    let duplicate = fault.duplicate_key().unwrap();
    assert_eq!(Doc::Raw(&duplicate.pattern).to_string(), "{ a.b: 1, c: -1 }");
    assert_eq!(Doc::Raw(&duplicate.value).to_string(), "{ a.b: 1.0, c: 2 }");
}

#[test]
fn definitions_are_refused_with_mongods_codes() {
    let key = |key: Owned| vec![("key", key), ("name", text("n"))];
    let option = |name: &'static str, value: Owned| {
        let mut fields = key(doc(&[("a", int(1))]));
        fields.push((name, value));
        fields
    };
    let partial = |filter: Owned| option("partialFilterExpression", filter);
    let id = |name: &'static str| vec![("key", doc(&[("_id", int(1))])), ("name", text(name))];
    for (fields, code) in [
        (key(doc(&[])), 67),
        (key(doc(&[("a", int(0))])), 67),
        (key(doc(&[("a", text("foo"))])), 67),
        (key(doc(&[("a", Owned::Bool(true))])), 67),
        (key(doc(&[("a", Owned::Double(f64::NAN))])), 67),
        (key(doc(&[("$a", int(1))])), 67),
        (key(doc(&[("a.$b", int(1))])), 67),
        (key(doc(&[("a..b", int(1))])), 67),
        (key(doc(&[("", int(1))])), 67),
        (key(doc(&[("a.", int(1))])), 67),
        (key(doc(&[("a", int(1)), ("a", int(1))])), 2),
        (key(doc(&[("_id", int(-1))])), 2),
        (key(int(5)), 14),
        (
            key(doc(&[("a", text("text")), ("b", int(1)), ("c", text("text"))])),
            67,
        ),
        (key(doc(&[("a", text("text")), ("b", text("hashed"))])), 67),
        (key(doc(&[("_fts", int(1))])), 67),
        (key(doc(&[("a", text("hashed")), ("b", text("hashed"))])), 31303),
        (vec![("key", doc(&[("a", int(1))]))], 9),
        (vec![("name", text("x"))], 9),
        (vec![("key", doc(&[("a", int(1))])), ("name", text(""))], 67),
        (vec![("key", doc(&[("a", int(1))])), ("name", text("*"))], 2),
        (vec![("key", doc(&[("a", int(1))])), ("name", text("_id_"))], 2),
        (vec![("key", doc(&[("a", int(1))])), ("name", int(5))], 14),
        ([id("n"), vec![("unique", Owned::Bool(true))]].concat(), 197),
        ([id("n"), vec![("expireAfterSeconds", int(1))]].concat(), 197),
        (option("bogus", int(1)), 197),
        (option("unique", text("x")), 14),
        (option("hidden", text("x")), 14),
        (option("v", int(3)), 67),
        (option("expireAfterSeconds", int(-1)), 67),
        (option("expireAfterSeconds", text("x")), 67),
        (option("expireAfterSeconds", Owned::Int64(1 << 31)), 67),
        (partial(int(5)), 14),
        (partial(doc(&[("a", doc(&[("$ne", int(1))]))])), 67),
        (
            partial(doc(&[("a", doc(&[("$exists", Owned::Bool(false))]))])),
            67,
        ),
        (partial(doc(&[("$nor", list(&[doc(&[("a", int(1))])]))])), 67),
        (partial(doc(&[("a", doc(&[("$size", int(1))]))])), 67),
        (partial(doc(&[("$bogus", int(1))])), 2),
        (
            [
                partial(doc(&[("a", int(1))])),
                vec![("sparse", Owned::Bool(true))],
            ]
            .concat(),
            67,
        ),
        (option("collation", doc(&[("locale", text("xx"))])), 2),
        (option("collation", doc(&[])), 2),
    ] {
        let spec = bytes(&doc(&fields));
        let fault = IndexDefinition::parse(Doc::Raw(&spec)).unwrap_err();
        assert_eq!(fault.code(), code, "{fields:?}: {fault:?}");
    }
}

#[test]
fn definitions_are_listed_like_on_mongod() {
    let a = || ("key", doc(&[("a", int(1))]));
    for (fields, listed) in [
        (
            vec![
                ("sparse", Owned::Bool(true)),
                ("unique", int(1)),
                ("name", text("n")),
                a(),
                ("expireAfterSeconds", Owned::Double(5.9)),
            ],
            "{ v: 2, key: { a: 1 }, name: \"n\", unique: true, sparse: true, expireAfterSeconds: 5 }",
        ),
        (
            vec![
                ("sparse", int(0)),
                ("unique", int(0)),
                ("hidden", Owned::Bool(false)),
                ("name", text("n")),
                a(),
                ("background", Owned::Bool(true)),
            ],
            "{ v: 2, key: { a: 1 }, name: \"n\", background: true, sparse: false }",
        ),
        (
            vec![("key", doc(&[("_id", Owned::Double(1.0))])), ("name", text("x"))],
            "{ v: 2, key: { _id: 1.0 }, name: \"_id_\" }",
        ),
    ] {
        let spec = bytes(&doc(&fields));
        let index = IndexDefinition::parse(Doc::Raw(&spec)).unwrap();
        assert_eq!(Doc::Raw(index.spec()).to_string(), listed);
        let again = IndexDefinition::parse(Doc::Raw(index.spec())).unwrap();
        assert_eq!(again.spec(), index.spec());
    }
    assert!(
        IndexDefinition::parse(Doc::Raw(IndexDefinition::id(Collation::simple()).spec()))
            .unwrap()
            .unique
    );
}

/// A single field's keys are the elements of its array, in the comparator's order.
#[test]
fn keys_of_an_array_are_its_elements() {
    let index = define(&[("a", 1)], &[]);
    let mut sample = Sample::new(11);
    for _ in 0..500 {
        let items: Vec<Owned> = (0..sample.below(5)).map(|_| sample.value(2)).collect();
        let mut expected: Vec<Vec<u8>> = items
            .iter()
            .map(|item| {
                let mut key = Vec::new();
                super::super::key::encode(&item.as_value(), false, &mut key);
                key.push(super::super::key::END);
                key
            })
            .collect();
        expected.sort();
        expected.dedup();
        if items.is_empty() {
            continue;
        }
        let raw = bytes(&doc(&[("a", list(&items))]));
        assert_eq!(index.keys(Doc::Raw(&raw)).unwrap().keys, expected, "{items:?}");
    }
}

/// A file stays readable when a later version refuses what its indexes were made of.
#[test]
fn catalogs_are_read_with_specifications_that_are_refused_by_now() {
    let key = |path: &str, order: Owned| ("key", doc(&[(path, order)]));
    let sphere = || key("at", text("2dsphere"));
    let flat = || key("at", text("2d"));
    for (fields, code) in [
        (vec![key("a.$id", text("text"))], 67),
        (
            vec![
                key("a", int(1)),
                ("partialFilterExpression", doc(&[("$alwaysTrue", int(1))])),
            ],
            67,
        ),
        (vec![sphere(), ("finestIndexedLevel", int(1))], 16_749),
        (vec![sphere(), ("2dsphereIndexVersion", Owned::Double(2.5))], 2),
        (
            vec![flat(), ("min", int(0)), ("max", Owned::Double(1e300))],
            4_799_400,
        ),
        (vec![flat(), ("min", int(0)), ("max", Owned::Double(1e-305))], 72),
        (
            vec![
                key("$**", int(1)),
                ("wildcardProjection", doc(&[("a", doc(&[("$slice", int(2))]))])),
            ],
            51_271,
        ),
    ] {
        let spec = bytes(&doc(&[vec![("name", text("n"))], fields].concat()));
        let fault = IndexDefinition::parse(Doc::Raw(&spec)).unwrap_err();
        assert_eq!(fault.code(), code, "{fault:?}");
        let index = IndexDefinition::stored(Doc::Raw(&spec)).unwrap();
        let document = bytes(&doc(&[
            ("_id", int(1)),
            ("a", int(5)),
            ("at", list(&[int(0), int(0)])),
        ]));
        index.keys(Doc::Raw(&document)).unwrap();
        let again = IndexDefinition::stored(Doc::Raw(index.spec())).unwrap();
        assert_eq!(again.spec(), index.spec());
    }
}
