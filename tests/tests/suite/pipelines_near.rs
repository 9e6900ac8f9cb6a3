//! Typed pipelines by distance: `$geoNear`.

use odm::bson::{Bson, DateTime};
use odm::geo::Point;
use odm::{Collection, Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    the_nearest_come_first_with_their_distance,
    distances_have_bounds_filters_and_places,
    what_is_deleted_is_not_near,
    it_is_the_first_stage_or_an_error,
    what_cannot_be_near_is_a_typed_error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "stops", index(keys(geo_2dsphere(at.point))))]
struct Stop {
    #[serde(rename = "_id")]
    id: i32,
    line: String,
    at: Place,
    #[odm(soft_delete)]
    closed: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Place {
    point: Point,
    entry: Option<Point>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Near {
    #[serde(rename = "_id")]
    id: i32,
    line: String,
    meters: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Whole {
    #[serde(rename = "_id")]
    id: i32,
    measured: Measured,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Measured {
    kilometers: Option<f64>,
    to: Point,
}

fn stop(id: i32) -> Stop {
    Stop {
        id,
        line: ["red", "blue"][usize::from(id % 2 == 0)].to_owned(),
        at: Place {
            point: Point::new(f64::from(id) / 100.0, 0.0),
            entry: None,
        },
        closed: None,
    }
}

async fn stops(db: &Db) -> Collection<Stop> {
    let stops = db.collection::<Stop>();
    stops.sync_indexes().await.unwrap();
    stops.insert_many([3, 1, 4, 2].map(stop)).await.unwrap();
    stops
}

const HERE: fn() -> Point = || Point::new(0.0, 0.0);

/// How far the stop of this number is, to the meter.
fn meters(id: i32) -> f64 {
    (f64::from(id) / 100.0).to_radians() * odm::geo::EARTH_RADIUS
}

async fn the_nearest_come_first_with_their_distance(db: &Db) {
    let stops = stops(db).await;
    let near = stops
        .aggregate()
        .geo_near(|s| s.at.point, HERE())
        .output::<Near>(|n, distance| distance.into(&n.meters))
        .limit(3)
        .await
        .unwrap();
    let ids: Vec<i32> = near.iter().map(|near| near.id).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert!(
        near.iter()
            .all(|near| (near.meters - meters(near.id)).abs() < 0.01),
        "{near:?}"
    );
    // What follows sees the distance.
    let lines = stops
        .aggregate()
        .geo_near(|s| s.at.point, HERE())
        .output::<Near>(|n, distance| distance.into(&n.meters))
        .filter(|n| n.meters.gt(meters(3) - 1.0))
        .sort(|n| n.id.desc());
    let ids: Vec<i32> = lines.await.unwrap().iter().map(|near| near.id).collect();
    assert_eq!(ids, [4, 3]);
}

async fn distances_have_bounds_filters_and_places(db: &Db) {
    let stops = stops(db).await;
    let ids = async |near: odm::Pipeline<Near, _>| -> Vec<i32> {
        near.await.unwrap().iter().map(|near| near.id).collect()
    };
    let near = || stops.aggregate().geo_near(|s| s.at.point, HERE());
    macro_rules! ids {
        ($near:expr) => {
            ids($near.output::<Near>(|n, distance| distance.into(&n.meters))).await
        };
    }
    assert_eq!(ids!(near().meters(..=meters(2) + 1.0)), [1, 2]);
    assert_eq!(ids!(near().meters(meters(2) - 1.0..meters(3) + 1.0)), [2, 3]);
    assert_eq!(ids!(near().meters(meters(4) + 1.0..)), [] as [i32; 0]);
    assert_eq!(ids!(near().meters(..1.0).meters(..)), [1, 2, 3, 4]);
    assert_eq!(ids!(near().filter(|s| s.line.eq("blue"))), [2, 4]);
    let places = near()
        .filter(|s| s.line.eq("red") & s.id.gt(1))
        .multiplied(0.001)
        .output::<Whole>(|w, distance| distance.into(&w.measured.kilometers).place(&w.measured.to))
        .await
        .unwrap();
    assert_eq!(
        (places.len(), places[0].id, places[0].measured.to),
        (1, 3, Point::new(0.03, 0.0))
    );
    let kilometers = places[0].measured.kilometers.unwrap();
    assert!((kilometers - meters(3) / 1000.0).abs() < 0.001, "{kilometers}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "trips")]
struct Trip {
    #[serde(rename = "_id")]
    id: i32,
    line: String,
    meters: f64,
}

async fn what_is_deleted_is_not_near(db: &Db) {
    let stops = stops(db).await;
    stops.delete(1).await.unwrap();
    let near = || {
        let near = stops.aggregate().geo_near(|s| s.at.point, HERE());
        near.output::<Near>(|n, distance| distance.into(&n.meters))
    };
    assert_eq!(near().first().await.unwrap().unwrap().id, 2);
    assert_eq!(near().with_deleted().first().await.unwrap().unwrap().id, 1);
    assert_eq!(near().only_deleted().count().await.unwrap(), 1);
    // Of what a union brings in too.
    let trips = db.collection::<Trip>();
    let trip = Trip {
        id: 9,
        line: "none".into(),
        meters: 0.0,
    };
    trips.insert(trip).await.unwrap();
    let all = trips.aggregate().union_with::<Stop>(|stops| {
        stops
            .geo_near(|s| s.at.point, HERE())
            .output::<Near>(|n, distance| distance.into(&n.meters))
            .into()
    });
    let ids: Vec<i32> = all.await.unwrap().iter().map(|trip| trip.id).collect();
    assert_eq!(ids, [9, 2, 3, 4]);
}

async fn it_is_the_first_stage_or_an_error(db: &Db) {
    let stops = stops(db).await;
    let late = stops
        .aggregate()
        .filter(|s| s.id.gt(0))
        .geo_near(|s| s.at.point, HERE())
        .output::<Near>(|n, distance| distance.into(&n.meters));
    let error = late.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidArgument, Some(40603))
    );
    assert_eq!(error.model(), Some("Stop"));
    let inside = stops.aggregate().facet::<Facets>(|stops, f| {
        let near = stops.stages().geo_near(|s| s.at.point, HERE());
        f.near
            .results(near.output::<Near>(|n, distance| distance.into(&n.meters)))
    });
    assert_eq!(inside.await.unwrap_err().code(), Some(40600));
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Facets {
    near: Vec<Near>,
}

async fn what_cannot_be_near_is_a_typed_error(db: &Db) {
    let near = async |place: Point, meters: f64| -> Result<Vec<Near>, Error> {
        let stops = db.collection::<Stop>();
        let near = stops.aggregate().geo_near(|s| s.at.point, place).meters(meters..);
        near.output::<Near>(|n, distance| distance.into(&n.meters)).await
    };
    // No collection, no index, no distance, no place.
    assert_eq!(near(HERE(), 0.0).await.unwrap_err().code(), Some(26));
    db.collection::<Stop>().insert(stop(1)).await.unwrap();
    assert_eq!(near(HERE(), 0.0).await.unwrap_err().code(), Some(291));
    db.collection::<Stop>().sync_indexes().await.unwrap();
    assert_eq!(near(HERE(), 0.0).await.unwrap().len(), 1);
    assert_eq!(near(HERE(), -1.0).await.unwrap_err().code(), Some(2));
    assert_eq!(near(HERE(), f64::NAN).await.unwrap_err().code(), Some(2));
    near(Point::new(1000.0, 0.0), 0.0).await.unwrap_err();
    let stops = db.collection::<Stop>();
    let other = stops.aggregate().geo_near(|s| s.at.entry, HERE());
    let other = other.output::<Near>(|n, distance| distance.into(&n.meters));
    assert_eq!(other.await.unwrap_err().code(), Some(291));
    let twice = stops.aggregate().geo_near(|s| s.at.point, HERE());
    let twice = twice.output::<Any>(|a, distance| distance.into(&a.any).place(&a.any));
    let error = twice.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("any"))
    );
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Any {
    any: Bson,
}
