//! Documents to insert, and the limits of size, depth and padding.

use super::*;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
    let fault = result.expect_err("a refusal");
    format!("{} {}", fault.code(), fault.message())
}

#[test]
fn inserts_are_checked_and_completed() {
    for (doc, expected) in [
        (r#"{"a": 1, "_id": 2}"#, r#"{"_id": 2, "a": 1}"#),
        (
            r#"{"_id": 1, "$a": 1, "a.b": 1, "": 1}"#,
            r#"{"_id": 1, "$a": 1, "a.b": 1, "": 1}"#,
        ),
        (r#"{"_id": null}"#, r#"{"_id": null}"#),
        (
            r#"{"_id": {"$timestamp": {"t": 0, "i": 0}}, "t": {"$timestamp": {"t": 0, "i": 0}}, "u": [{"$timestamp": {"t": 0, "i": 0}}]}"#,
            r#"{"_id": {"$timestamp": {"t": 0, "i": 0}}, "t": {"$timestamp": {"t": 1700000000, "i": 7}}, "u": [{"$timestamp": {"t": 0, "i": 0}}]}"#,
        ),
    ] {
        let new = prepare_insert(Doc::Raw(&bytes(doc)), NOW).expect(doc);
        assert_eq!(shown(&new, true), shown(&bytes(expected), true), "{doc}");
    }
    let generated = prepare_insert(Doc::Raw(&bytes(r#"{"a": 1}"#)), NOW).expect("a document");
    let names: Vec<&str> = Doc::Raw(&generated)
        .elements()
        .map(|element| element.name_str())
        .collect();
    assert_eq!(names, ["_id", "a"]);

    for (doc, expected) in [
        (r#"{"_id": [1]}"#, "53 The '_id' value cannot be of type array"),
        (
            r#"{"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}"#,
            "53 The '_id' value cannot be of type regex",
        ),
        (
            r#"{"_id": {"$undefined": true}}"#,
            "53 The '_id' value cannot be of type undefined",
        ),
        (
            r#"{"_id": {"a": [{"$b": 1}]}}"#,
            "52 _id fields may not contain '$'-prefixed fields: $b is not valid for storage.",
        ),
    ] {
        assert_eq!(
            refused(prepare_insert(Doc::Raw(&bytes(doc)), NOW)),
            expected,
            "{doc}"
        );
    }
}

#[test]
fn database_references_are_the_exception_in_an_id() {
    let insert = |names: &[(&str, bool)]| {
        let text = crate::native::document::Owned::String("x".into());
        let number = crate::native::document::Owned::Int32(1);
        let id = names
            .iter()
            .map(|(name, is_text)| {
                (
                    (*name).to_owned(),
                    if *is_text { text.clone() } else { number.clone() },
                )
            })
            .collect();
        let doc = vec![("_id".to_owned(), crate::native::document::Owned::Document(id))];
        prepare_insert(Doc::Fields(&doc), NOW).map(|_| ())
    };
    for good in [
        &[("$ref", true), ("$id", false)][..],
        &[("$ref", true), ("$id", false), ("$db", true)],
    ] {
        insert(good).expect("a reference");
    }
    for (bad, name) in [
        (&[("$ref", true)][..], "$ref"),
        (&[("$ref", false), ("$id", false)], "$ref"),
        (&[("$id", false), ("$ref", true)], "$id"),
        (&[("$ref", true), ("$id", false), ("$db", false)], "$db"),
        (&[("$ref", true), ("$id", false), ("$x", false)], "$x"),
        (&[("x", false), ("$ref", true), ("$id", false)], "$ref"),
    ] {
        assert_eq!(
            refused(insert(bad)),
            format!("52 _id fields may not contain '$'-prefixed fields: {name} is not valid for storage.")
        );
    }
}

#[test]
fn two_ids_are_refused() {
    use crate::native::document::Owned;
    let doc = vec![
        ("_id".to_owned(), Owned::Int32(1)),
        ("_id".to_owned(), Owned::Int32(2)),
    ];
    assert_eq!(
        refused(prepare_insert(Doc::Fields(&doc), NOW)),
        "2 can't have multiple _id fields in one document"
    );
}

fn document_of(size: usize) -> Vec<u8> {
    use crate::native::document::Owned;
    let of = |text: String| {
        Doc::Fields(&[
            ("_id".to_owned(), Owned::Int32(1)),
            ("a".to_owned(), Owned::String(text)),
        ])
        .to_bytes()
    };
    of("x".repeat(size - of(String::new()).len()))
}

#[test]
fn sizes_are_limited_as_on_the_server() {
    const MAX: usize = 16 * 1024 * 1024;
    prepare_insert(Doc::Raw(&document_of(MAX)), NOW).expect("the largest document");
    assert_eq!(
        refused(prepare_insert(Doc::Raw(&document_of(MAX + 1)), NOW)),
        "2 object to insert too large. size in bytes: 16777217, max size: 16777216"
    );
    let set = bytes(r#"{"$set": {"b": 1}}"#);
    let set = Updater::operators(Doc::Raw(&set), &[]).expect("an update");
    set.apply(Doc::Raw(&document_of(MAX - 7)), None, NOW)
        .expect("the largest document");
    assert_eq!(
        refused(set.apply(Doc::Raw(&document_of(MAX - 6)), None, NOW)),
        "17419 Resulting document after update is larger than 16777216"
    );
}

fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a": "#.repeat(depth), "}".repeat(depth))
}

#[test]
fn depth_is_limited_as_on_the_server() {
    let apply = |update: String| {
        let update = bytes(&update);
        Updater::operators(Doc::Raw(&update), &[])?.apply(Doc::Raw(&bytes(r#"{"_id": 1}"#)), None, NOW)
    };
    const TOO_DEEP: &str = "15 Document exceeds maximum nesting depth of 180";
    let path = |length: usize| format!(r#"{{"$set": {{"{}": 1}}}}"#, vec!["a"; length].join("."));
    apply(path(180)).expect("the deepest document");
    assert_eq!(refused(apply(path(181))), TOO_DEEP);
    apply(format!(r#"{{"$set": {{"x": {}}}}}"#, nested(100))).expect("a deep document");
    assert_eq!(refused(apply(path(100_000))), TOO_DEEP);
    let both = |depth: usize| {
        format!(
            r#"{{"$set": {{"{}": {}}}}}"#,
            vec!["a"; 80].join("."),
            nested(depth)
        )
    };
    apply(both(100)).expect("the deepest document");
    assert_eq!(refused(apply(both(101))), TOO_DEEP);
    let push = |depth: usize| {
        format!(
            r#"{{"$push": {{"{}": {}}}}}"#,
            vec!["a"; 80].join("."),
            nested(depth)
        )
    };
    apply(push(99)).expect("the deepest document");
    assert_eq!(refused(apply(push(100))), TOO_DEEP);
}

#[test]
fn padding_is_limited_as_on_the_server() {
    let set = |index: usize| {
        let update = bytes(&format!(r#"{{"$set": {{"a.{index}": 1}}}}"#));
        Updater::operators(Doc::Raw(&update), &[])?.apply(
            Doc::Raw(&bytes(r#"{"_id": 1, "a": [7, 8]}"#)),
            None,
            NOW,
        )
    };
    set(1_500_002).expect("a long array");
    assert_eq!(
        refused(set(1_500_003)),
        "34 can't backfill more than 1500000 elements"
    );
}

#[test]
fn two_spellings_of_one_position_conflict() {
    check(
        r#"{"_id": 1, "a": [1]} ; {} ; {"$set": {"a.00": 5, "a.0": 6}} ;  => 40 Update created a conflict at 'a.00'"#,
    );
}

#[test]
fn the_first_of_duplicate_names_is_updated() {
    use crate::native::document::Owned;
    let doc = vec![
        ("_id".to_owned(), Owned::Int32(1)),
        ("a".to_owned(), Owned::Int32(1)),
        ("a".to_owned(), Owned::Int32(5)),
    ];
    let update = bytes(r#"{"$inc": {"a": 1}}"#);
    let updater = Updater::operators(Doc::Raw(&update), &[]).expect("an update");
    let new = updater
        .apply(Doc::Fields(&doc), None, NOW)
        .expect("a document")
        .expect("a change");
    assert_eq!(
        Doc::Raw(&new)
            .at(1)
            .and_then(|v| crate::native::document::number::as_i64_exact(&v)),
        Some(2)
    );
    assert_eq!(
        Doc::Raw(&new)
            .at(2)
            .and_then(|v| crate::native::document::number::as_i64_exact(&v)),
        Some(5)
    );
}

#[test]
fn filters_and_positions_that_a_caller_must_check() {
    let filter = bytes(r#"{"a": 1, "$and": [{"$expr": true}]}"#);
    assert_eq!(
        refused(Updater::check_upsert_filter(Doc::Raw(&filter))),
        "224 $expr is not allowed in the query predicate for an upsert"
    );
    let bad = bytes(r#"{"A": 1}"#);
    assert_eq!(
        refused(Updater::check_array_filters(&[Doc::Raw(&bad)])),
        "2 Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning \
         with a lowercase letter, found 'A'"
    );
    for (update, needed) in [
        (r#"{"$set": {"a.$.b": 1}}"#, true),
        (r#"{"$set": {"a.0.b": 1}}"#, false),
    ] {
        let update = bytes(update);
        let updater = Updater::operators(Doc::Raw(&update), &[]).expect("an update");
        assert_eq!(updater.needs_position(), needed);
    }
}
