use bson::{RawBson, doc, rawdoc};

use super::Keyset;

fn keyset(sort: bson::RawDocumentBuf) -> Keyset {
    Keyset::new(Some(&sort)).unwrap()
}

#[test]
fn ties_are_broken_by_the_id_in_the_last_direction() {
    assert_eq!(
        Keyset::new(None).unwrap().sort(false).unwrap(),
        rawdoc! { "_id": 1 }
    );
    let order = keyset(rawdoc! { "year": 1, "title": -1 });
    assert_eq!(
        order.sort(false).unwrap(),
        rawdoc! { "year": 1, "title": -1, "_id": -1 }
    );
    assert_eq!(
        order.sort(true).unwrap(),
        rawdoc! { "year": -1, "title": 1, "_id": 1 }
    );
    // What comes after the `_id` decides nothing.
    let order = keyset(rawdoc! { "year": 1, "_id": -1, "title": 1 });
    assert_eq!(order.sort(false).unwrap(), rawdoc! { "year": 1, "_id": -1 });
}

#[test]
fn orders_that_are_not_by_fields_are_refused() {
    for sort in [
        rawdoc! { "$natural": 1 },
        rawdoc! { "score": { "$meta": "textScore" } },
        rawdoc! { "a": 0 },
        rawdoc! { "a": "x" },
    ] {
        assert!(Keyset::new(Some(&sort)).is_err(), "{sort:?}");
    }
}

#[test]
fn a_place_is_the_values_of_the_order() {
    let order = keyset(rawdoc! { "a.b": 1, "c": 1 });
    let place =
        |document: bson::RawDocumentBuf| order.place(&document, false).unwrap().to_document().unwrap();
    assert_eq!(
        place(rawdoc! { "_id": 7, "a": { "b": "x" } }),
        rawdoc! { "0": "x", "1": RawBson::Null, "2": 7 }
    );
    assert_eq!(
        place(rawdoc! { "_id": 7, "a": 5, "c": { "$x": 1 } })
            .get_document("1")
            .unwrap(),
        &*rawdoc! { "$x": 1 }
    );
    for document in [
        rawdoc! { "_id": 7, "a": [{ "b": 1 }] },
        rawdoc! { "_id": 7, "c": bson::Regex { pattern: bson::cstr!("x").into(), options: bson::cstr!("").into() } },
    ] {
        let error = order.place(&document, false).unwrap_err();
        assert_eq!(error.id(), Some(&bson::Bson::Int32(7)));
    }
}

#[test]
fn comparisons_cross_the_types() {
    let order = keyset(rawdoc! { "a": 1 });
    let place = order.place(&rawdoc! { "_id": 7, "a": 5 }, false).unwrap();
    let filter = bson::Document::try_from(order.beyond(&place, true, false).unwrap()).unwrap();
    let alternatives = filter.get_array("$or").unwrap();
    let number = |condition: bson::Document| alternatives.iter().any(|one| one == &condition.clone().into());
    let none_less: Vec<bson::Document> = vec![
        doc! { "a": { "$lt": 5 } },
        doc! { "a": { "$eq": f64::NAN } },
        doc! { "a": { "$eq": null, "$not": { "$type": "undefined" } } },
        doc! { "a": { "$eq": [], "$size": 0 } },
        doc! { "a": { "$type": ["minKey", "undefined"] } },
    ];
    for condition in &none_less {
        // NaN is not equal to itself.
        if !condition.to_string().contains("NaN") {
            assert!(number(condition.clone()), "{condition}");
        }
    }
    let at = filter.to_string();
    assert!(
        at.contains(r#"{ "a": { "$eq": 5 }, "_id": { "$lt": 7 }, "$nor""#),
        "{at}"
    );
    let filter = bson::Document::try_from(order.beyond(&place, false, true).unwrap()).unwrap();
    let here = filter.get_array("$or").unwrap().first().unwrap().to_string();
    assert!(
        here.starts_with(r#"{ "a": { "$eq": 5 }, "_id": { "$eq": 7 }, "$nor""#),
        "{here}"
    );
}

#[test]
fn arrays_are_at_their_least_or_greatest_element() {
    let document = rawdoc! { "_id": 7, "a": [3, "x", bson::RawBson::Null, 1.5] };
    for (direction, expected) in [(1, RawBson::Null), (-1, RawBson::String("x".to_owned()))] {
        let order = keyset(rawdoc! { "a": direction });
        assert!(order.spreads(&document));
        let place = order.place(&document, false).unwrap();
        assert_eq!(place.values().next(), Some(&expected));
        // One text has its place by any collation, two have not.
        assert_eq!(order.place(&document, true).unwrap(), place);
        let texts = rawdoc! { "_id": 7, "a": ["x", "Y"] };
        assert!(order.place(&texts, true).is_err());
    }
    let empty = keyset(rawdoc! { "a": 1 })
        .place(&rawdoc! { "_id": 7, "a": [] }, true)
        .unwrap();
    assert_eq!(empty.values().next(), Some(&RawBson::Undefined));
}

#[test]
fn numbers_of_all_types_are_on_one_line() {
    let decimal = |text: &str| RawBson::Decimal128(text.parse().unwrap());
    let line = [
        RawBson::Double(f64::NAN),
        RawBson::Double(f64::NEG_INFINITY),
        decimal("-1E+400"),
        RawBson::Int64(i64::MIN),
        RawBson::Double(-0.1),
        decimal("-0.1"),
        RawBson::Double(-5e-324),
        RawBson::Int32(0),
        decimal("1E-6000"),
        RawBson::Double(5e-324),
        decimal("0.1"),
        RawBson::Double(0.1),
        RawBson::Double(9_007_199_254_740_992.0),
        RawBson::Int64(9_007_199_254_740_993),
        decimal("9007199254740993.5"),
        RawBson::Double(1e300),
        decimal("Infinity"),
    ];
    for (left, one) in line.iter().enumerate() {
        for (right, other) in line.iter().enumerate() {
            let order = super::order::compare(one.as_raw_bson_ref(), other.as_raw_bson_ref());
            assert_eq!(order, left.cmp(&right), "{one:?} {other:?}");
        }
    }
    let zeros = [
        RawBson::Double(-0.0),
        decimal("-0E+3"),
        RawBson::Int64(0),
        decimal("0.00"),
    ];
    for zero in &zeros {
        assert!(super::order::compare(zero.as_raw_bson_ref(), zeros[0].as_raw_bson_ref()).is_eq());
    }
}
