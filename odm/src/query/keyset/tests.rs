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
    let place = |document: bson::RawDocumentBuf| order.place(&document).unwrap().to_document().unwrap();
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
        rawdoc! { "_id": 7, "c": [] },
        rawdoc! { "_id": 7, "a": [{ "b": 1 }] },
        rawdoc! { "_id": 7, "c": bson::Regex { pattern: bson::cstr!("x").into(), options: bson::cstr!("").into() } },
    ] {
        let error = order.place(&document).unwrap_err();
        assert_eq!(error.id(), Some(&bson::Bson::Int32(7)));
    }
}

#[test]
fn comparisons_cross_the_types() {
    let order = keyset(rawdoc! { "a": 1 });
    let place = order.place(&rawdoc! { "_id": 7, "a": 5 }).unwrap();
    let filter = bson::Document::try_from(order.beyond(&place, true, false).unwrap()).unwrap();
    let alternatives = filter.get_array("$or").unwrap();
    assert!(alternatives.contains(&doc! { "a": { "$eq": 5 }, "_id": { "$lt": 7 } }.into()));
    assert!(alternatives.contains(&doc! { "a": { "$lt": 5 } }.into()));
    assert!(alternatives.contains(&doc! { "a": { "$type": ["minKey", "undefined"] } }.into()));
    let filter = bson::Document::try_from(order.beyond(&place, false, true).unwrap()).unwrap();
    let alternatives = filter.get_array("$or").unwrap();
    assert_eq!(
        alternatives.first(),
        Some(&doc! { "a": { "$eq": 5 }, "_id": { "$eq": 7 } }.into())
    );
    assert!(
        !alternatives
            .iter()
            .any(|alternative| alternative.to_string().contains("undefined"))
    );
}
