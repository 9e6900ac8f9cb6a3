//! Shapes against each other.

use bson::{Bson, bson, rawdoc};

use super::GeoQuery;
use crate::native::document::{Doc, Value};

fn accepts(query: Bson, value: Bson) -> bool {
    let mut query_doc = bson::RawDocumentBuf::new();
    let query = bson::RawBson::try_from(query).expect("raw");
    query_doc.append(bson::cstr!("q"), query.as_raw_bson_ref());
    let value = rawdoc! { "v": bson::RawBson::try_from(value).expect("raw") };
    let Some(Value::Document(operators)) = Doc::Raw(query_doc.as_bytes()).get("q") else {
        panic!("operators");
    };
    let value = Doc::Raw(value.as_bytes()).get("v").expect("a value");
    GeoQuery::parse(operators).expect("a query").accepts(&value)
}

fn square(x: f64, y: f64, side: f64) -> Bson {
    bson!([[[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]])
}

fn polygon(coordinates: Bson) -> Bson {
    bson!({ "$geoWithin": { "$geometry": { "type": "Polygon", "coordinates": coordinates } } })
}

#[test]
fn a_square_holds_its_inside_and_its_boundary() {
    let query = || polygon(square(0.0, 0.0, 10.0));
    for (place, inside) in [
        (bson!([5.0, 5.0]), true),
        (bson!([0.0, 0.0]), true),
        (bson!([5.0, 0.0]), true),
        (bson!([10.0, 5.0]), true),
        (bson!([5.0, -0.1]), false),
        // The upper edge is a great circle, which rises above the parallel.
        (bson!([5.0, 10.03]), true),
        (bson!([200.0, 5.0]), false),
    ] {
        assert_eq!(accepts(query(), place.clone()), inside, "{place}");
    }
}

#[test]
fn rings_over_the_date_line_and_the_pole() {
    let date_line = || {
        polygon(bson!([[
            [179.0, -1.0],
            [-179.0, -1.0],
            [-179.0, 1.0],
            [179.0, 1.0],
            [179.0, -1.0]
        ]]))
    };
    assert!(accepts(date_line(), bson!([180.0, 0.0])));
    assert!(accepts(date_line(), bson!([-179.5, 0.5])));
    assert!(!accepts(date_line(), bson!([0.0, 0.0])));
    let pole = || polygon(bson!([[[0.0, 80.0], [120.0, 80.0], [-120.0, 80.0], [0.0, 80.0]]]));
    assert!(accepts(pole(), bson!([45.0, 89.0])));
    assert!(!accepts(pole(), bson!([45.0, 70.0])));
}

#[test]
fn holes_are_outside() {
    let outer = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0], [0.0, 0.0]].map(|p| bson!([p[0], p[1]]));
    let hole = [[4.0, 4.0], [6.0, 4.0], [6.0, 6.0], [4.0, 6.0], [4.0, 4.0]].map(|p| bson!([p[0], p[1]]));
    let query = || polygon(bson!([outer.to_vec(), hole.to_vec()]));
    assert!(accepts(query(), bson!([2.0, 2.0])));
    assert!(!accepts(query(), bson!([5.0, 5.0])));
    let line = |y: f64| bson!({ "type": "LineString", "coordinates": [[1.0, y], [9.0, y]] });
    assert!(accepts(query(), line(2.0)));
    assert!(!accepts(query(), line(5.0)));
}

#[test]
fn a_covering_holds_what_its_query_accepts() {
    let queries = [
        polygon(square(-5.0, 40.0, 12.0)),
        polygon(square(176.0, -3.0, 3.0)),
        bson!({ "$geoWithin": { "$centerSphere": [[30.0, 60.0], 0.2] } }),
        bson!({ "$geoIntersects": { "$geometry": { "type": "LineString", "coordinates": [[0.0, 0.0], [30.0, 40.0]] } } }),
    ];
    for query in queries {
        let raw = bson::RawBson::try_from(query.clone()).expect("raw");
        let doc = rawdoc! { "q": raw };
        let Some(Value::Document(operators)) = Doc::Raw(doc.as_bytes()).get("q") else {
            panic!("operators");
        };
        let cells = GeoQuery::parse(operators)
            .expect("a query")
            .cells()
            .expect("cells");
        for x in -18..18 {
            for y in -9..9 {
                let (x, y) = (f64::from(x) * 10.0 + 1.0, f64::from(y) * 10.0 + 1.0);
                let place = bson!({ "type": "Polygon", "coordinates": square(x, y, 2.0) });
                if !accepts(query.clone(), place.clone()) {
                    continue;
                }
                let raw = rawdoc! { "v": bson::RawBson::try_from(place).expect("raw") };
                let value = Doc::Raw(raw.as_bytes()).get("v").expect("a value");
                let stored = super::stored("v", &value).expect("a shape");
                assert!(
                    stored.index_cells().iter().any(|cell| {
                        let number = cell.number() as i64;
                        cells
                            .iter()
                            .any(|(first, last)| *first <= number && number <= *last)
                    }),
                    "{query} {x} {y}"
                );
            }
        }
    }
}
