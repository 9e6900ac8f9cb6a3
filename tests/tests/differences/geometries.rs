//! What is said of geometries that are none.

use odm::Db;
use odm::bson::{Bson, bson, doc};

crate::on_every_backend! {
    places_out_of_bounds_are_told_with_six_digits,
    rings_that_cross_are_told_with_their_edges,
}

async fn refusal(db: &Db, condition: Bson) -> String {
    let find = doc! { "find": "c", "filter": { "g": condition } };
    db.run_command(find).await.unwrap_err().message().to_owned()
}

async fn places_out_of_bounds_are_told_with_six_digits(db: &Db) {
    let cases = [
        (bson!([40.748817, -173.985428]), "lng: 40.7488 lat: -173.985"),
        (bson!([1234567.5, 1]), "lng: 1.23457e+06 lat: 1"),
        (bson!([1e20, 2]), "lng: 1e+20 lat: 2"),
        (bson!([181, 0.00001234]), "lng: 181 lat: 1.234e-05"),
        (bson!([180.0000001, 0]), "lng: 180 lat: 0"),
    ];
    for (place, expected) in cases {
        let within = bson!({ "$geoWithin": { "$centerSphere": [place.clone(), 1] } });
        let expected = format!("longitude/latitude is out of bounds, {expected}");
        assert_eq!(refusal(db, within).await, expected);
    }
}

fn square(from: i32, to: i32) -> Bson {
    bson!([[from, from], [to, from], [to, to], [from, to], [from, from]])
}

async fn rings_that_cross_are_told_with_their_edges(db: &Db) {
    let cases = [
        (
            bson!([[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]),
            "Loop is not valid: [ [ 0, 0 ], [ 1, 1 ], [ 1, 0 ], [ 0, 1 ], [ 0, 0 ] ] Edges 0 and 2 cross. \
             Edge locations in degrees: [0.0000000, 0.0000000]-[1.0000000, 1.0000000] \
             and [0.0000000, 1.0000000]-[1.0000000, 0.0000000]",
        ),
        (
            bson!([[[10, 20], [30, 40.5], [30, 20], [10, 40], [10, 20]]]),
            "Edge locations in degrees: [20.0000000, 10.0000000]-[40.5000000, 30.0000000] \
             and [20.0000000, 30.0000000]-[40.0000000, 10.0000000]",
        ),
        (
            bson!([square(0, 10), [[0, 0], [10, 0], [5, 5], [0, 0]]]),
            "Polygon isn't valid: Duplicate edge: loop 1, edge 0 and loop 0, edge 0 [ [ [ 0, 0 ], [ 10, 0 ]",
        ),
        (
            bson!([square(0, 20), square(2, 6), square(4, 8)]),
            "Polygon isn't valid: Loop 1 crosses loop 2 [ [ [ 0, 0 ], [ 20, 0 ]",
        ),
        (
            bson!([
                square(0, 20),
                square(2, 6),
                [[6, 2], [8, 2], [8, 6], [6, 6], [6, 2]]
            ]),
            "Polygon isn't valid: Duplicate edge: loop 2, edge 3 and loop 1, edge 1 [",
        ),
        (
            bson!([square(0, 10), [[0, 0], [10, 10], [9, 8], [0, 0]]]),
            "Loop 1 shares more than one vertex with its parent loop 0: [ [ [ 0, 0 ],",
        ),
        (
            bson!([square(0, 20), square(2, 10), square(4, 6)]),
            "Polygon interior loops cannot be nested: [ [ [ 0, 0 ], [ 20, 0 ]",
        ),
    ];
    for (coordinates, expected) in cases {
        let polygon = bson!({ "type": "Polygon", "coordinates": coordinates });
        let message = refusal(db, bson!({ "$geoWithin": { "$geometry": polygon } })).await;
        assert!(message.contains(expected), "{message}");
    }
}
