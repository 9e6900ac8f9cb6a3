//! Where things are: shapes stored and asked for, geo indexes, nearness.

use bson::{Bson, Document, bson, doc};
use odm::geo::{Area, Geometry, LineString, Point, Polygon};
use odm::{Db, ErrorKind, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    the_nearest_come_first,
    pages_are_not_in_order_of_distance,
    shapes_hold_and_meet_each_other,
    flat_areas_hold_places,
    shapes_come_back_as_they_were,
    geo_indexes_refuse_what_is_no_geometry,
    geo_index_options_are_the_servers,
    nearness_needs_an_index_and_its_place,
    geo_near_writes_the_distance,
    updates_and_deletes_take_the_nearest,
}

/// Something on the map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sights")]
#[odm(index(keys(geo_2d(grid), kind)))]
pub struct Sight {
    #[serde(rename = "_id")]
    id: String,
    kind: String,
    #[odm(index(geo_2dsphere))]
    place: Point,
    #[odm(index(geo_2dsphere))]
    area: Option<Geometry>,
    grid: [f64; 2],
}

fn sight(id: &str, longitude: f64, latitude: f64) -> Sight {
    Sight {
        id: id.to_owned(),
        kind: "inn".to_owned(),
        place: Point::new(longitude, latitude),
        area: None,
        grid: [longitude, latitude],
    }
}

async fn pages_are_not_in_order_of_distance(db: &Db) {
    let sights = db.collection::<Sight>();
    sights.create_indexes().await.unwrap();
    for (id, east) in [("a", 3.0), ("b", 1.0), ("c", 2.0)] {
        sights.insert(sight(id, east, 0.0)).await.unwrap();
    }
    let near = || sights.find(|s| s.kind.eq("inn") & s.place.near(Point::new(0.0, 0.0), ..));
    let refused = near().page(2).await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.model()),
        (ErrorKind::InvalidArgument, Some("Sight"))
    );
    let nearest = near().limit(2).await.unwrap();
    assert_eq!(
        nearest.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(),
        ["b", "c"]
    );
    // With an order of their own it is a condition.
    let page = near().sort(|s| s.id.desc()).page(2).await.unwrap();
    assert_eq!(
        page.items.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(),
        ["c", "b"]
    );
}

fn square(x: f64, y: f64, side: f64) -> Polygon {
    Polygon::new([(x, y), (x + side, y), (x + side, y + side), (x, y + side)])
}

async fn stocked(db: &Db) -> odm::Collection<Sight> {
    let sights = db.collection::<Sight>();
    sights.create_indexes().await.unwrap();
    let mut park = sight("park", 3.0, 3.0);
    park.area = Some(square(2.0, 2.0, 2.0).into());
    let mut road = sight("road", 5.0, 5.0);
    road.area = Some(LineString::new([(5.0, 5.0), (9.0, 9.0)]).into());
    let all = [
        sight("far", 20.0, 0.0),
        sight("home", 0.0, 0.0),
        park,
        road,
        sight("line", -179.5, 0.0),
    ];
    sights.insert_many(all).await.unwrap();
    sights
}

type Fields = <Sight as odm::Embedded>::Fields<Sight>;

async fn found(sights: &odm::Collection<Sight>, filter: impl FnOnce(Fields) -> Filter<Sight>) -> Vec<String> {
    let found = sights.find(filter).await.unwrap();
    found.into_iter().map(|sight| sight.id).collect()
}

async fn sorted(
    sights: &odm::Collection<Sight>,
    filter: impl FnOnce(Fields) -> Filter<Sight>,
) -> Vec<String> {
    let mut found = found(sights, filter).await;
    found.sort();
    found
}

async fn the_nearest_come_first(db: &Db) {
    let sights = stocked(db).await;
    let home = Point::new(0.0, 0.0);
    assert_eq!(
        found(&sights, |s| s.place.near(home, ..)).await,
        ["home", "park", "road", "far", "line"]
    );
    assert_eq!(
        found(&sights, |s| s.place.near(home, 1.0..=1_000_000.0)).await,
        ["park", "road"]
    );
    let beyond = Point::new(179.5, 0.0);
    assert_eq!(
        found(&sights, |s| s.place.near(beyond, ..=200_000.0)).await,
        ["line"]
    );
    let some = sights
        .find(|s| s.place.near(home, ..))
        .skip(1)
        .limit(2)
        .await
        .unwrap();
    let some: Vec<_> = some.into_iter().map(|sight| sight.id).collect();
    assert_eq!(some, ["park", "road"]);
    let by_id = sights
        .find(|s| s.place.near(home, ..=1_000_000.0) & s.kind.eq("inn"))
        .sort(|s| s.id.desc())
        .await
        .unwrap();
    assert_eq!(by_id[0].id, "road");
    let nearest = sights
        .find_one(|s| s.place.near(Point::new(19.0, 1.0), ..))
        .await
        .unwrap();
    assert_eq!(nearest.unwrap().id, "far");
    // A distance that is left out is left out to the last bit.
    let exact = std::f64::consts::PI / 180.0 * 20.0 * odm::geo::EARTH_RADIUS;
    let before = found(&sights, |s| s.place.near(home, ..exact - 1.0)).await;
    assert_eq!(before, ["home", "park", "road"]);
}

async fn shapes_hold_and_meet_each_other(db: &Db) {
    let sights = stocked(db).await;
    let whole = square(0.0, 0.0, 10.0);
    assert_eq!(
        sorted(&sights, |s| s.place.within(&whole)).await,
        ["home", "park", "road"]
    );
    assert_eq!(sorted(&sights, |s| s.area.within(&whole)).await, ["park", "road"]);
    let holed = square(-1.0, -1.0, 12.0).hole([(2.5, 2.5), (3.5, 2.5), (3.5, 3.5), (2.5, 3.5)]);
    assert_eq!(
        sorted(&sights, |s| s.place.within(&holed)).await,
        ["home", "road"]
    );
    assert_eq!(sorted(&sights, |s| s.area.within(&holed)).await, ["road"]);
    let across = LineString::new([(3.0, 0.0), (3.0, 10.0)]);
    assert_eq!(sorted(&sights, |s| s.area.intersects(&across)).await, ["park"]);
    assert_eq!(
        sorted(&sights, |s| s.area.intersects(Point::new(3.0, 3.0))).await,
        ["park"]
    );
    let circle = sorted(&sights, |s| {
        s.place.within_circle(Point::new(4.0, 4.0), 200_000.0)
    })
    .await;
    assert_eq!(circle, ["park", "road"]);
    let outside = sorted(&sights, |s| !s.place.within(&whole)).await;
    assert_eq!(outside, ["far", "line"]);
    let both = sorted(&sights, |s| {
        s.place.within(&whole) & s.place.within(square(-1.0, -1.0, 2.0)) & s.place.exists()
    })
    .await;
    assert_eq!(both, ["home"]);
}

async fn flat_areas_hold_places(db: &Db) {
    let sights = stocked(db).await;
    let inside = sorted(&sights, |s| s.grid.within(Area::flat_box([0.0, 0.0], [3.0, 5.0]))).await;
    assert_eq!(inside, ["home", "park"]);
    let inside = sorted(&sights, |s| s.grid.within(Area::flat_circle([4.0, 4.0], 1.5))).await;
    assert_eq!(inside, ["park", "road"]);
    let corners = [[-1.0, -1.0], [4.0, -1.0], [4.0, 4.5]];
    let inside = sorted(&sights, |s| s.grid.within(Area::flat_polygon(corners))).await;
    assert_eq!(inside, ["home", "park"]);
    let near = doc! { "grid": { "$near": [4.0, 3.0], "$maxDistance": 3.0 } };
    let near = sights.raw().find(near).await.unwrap();
    let ids: Vec<_> = near.iter().map(|sight| sight.get_str("_id").unwrap()).collect();
    assert_eq!(ids, ["park", "road"]);
}

async fn shapes_come_back_as_they_were(db: &Db) {
    let sights = stocked(db).await;
    let park = sights.get("park".to_owned()).await.unwrap().unwrap();
    assert_eq!(park.area, Some(square(2.0, 2.0, 2.0).into()));
    let stored = sights
        .raw()
        .find_one(doc! { "_id": "home" })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        stored.get_document("place").unwrap(),
        &doc! { "type": "Point", "coordinates": [0.0, 0.0] }
    );
}

async fn geo_indexes_refuse_what_is_no_geometry(db: &Db) {
    stocked(db).await;
    let cases = [
        (bson!({ "place": 5 }), 16755),
        (
            bson!({ "place": { "type": "Point", "coordinates": [181, 0] } }),
            16755,
        ),
        (
            bson!({ "place": { "type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]] } }),
            16755,
        ),
        (bson!({ "place": { "kind": "Point" } }), 16755),
        (bson!({ "grid": [1] }), 13068),
        (bson!({ "grid": [1, "b"] }), 13026),
        (bson!({ "grid": [200, 1] }), 13027),
        (bson!({ "grid": ["a", 1] }), 16804),
    ];
    for (document, code) in cases {
        let error = db
            .run_command(doc! { "insert": "sights", "documents": [document.clone()] })
            .await;
        let reply = error.unwrap();
        let errors = reply.get_array("writeErrors").unwrap();
        assert_eq!(
            errors[0].as_document().unwrap().get_i32("code").ok(),
            Some(code),
            "{document}"
        );
    }
    // What has no place is not in the index, and no error.
    let fine = doc! { "insert": "sights", "documents": [{ "place": null, "grid": 7 }, { "area": [] }] };
    assert_eq!(db.run_command(fine).await.unwrap().get_i32("n").ok(), Some(2));
}

async fn geo_index_options_are_the_servers(db: &Db) {
    let create = |key: Bson, options: Document| {
        let mut index = doc! { "key": key, "name": "geo" };
        index.extend(options);
        db.run_command(doc! { "createIndexes": "plain", "indexes": [index] })
    };
    let cases = [
        (bson!({ "a": "2d" }), doc! { "bits": 33 }, 72),
        (bson!({ "a": "2d" }), doc! { "min": 10, "max": 10 }, 72),
        (bson!({ "a": "2d" }), doc! { "bits": "x" }, 14),
        (bson!({ "a": "2dsphere" }), doc! { "2dsphereIndexVersion": 4 }, 67),
        (
            bson!({ "a": "2dsphere" }),
            doc! { "finestIndexedLevel": 40 },
            16748,
        ),
        (bson!({ "a": "2d", "b": "2d" }), doc! {}, 16800),
        (bson!({ "a": 1, "b": "2d" }), doc! {}, 16801),
        (bson!({ "a": "2d", "b": "2dsphere" }), doc! {}, 67),
    ];
    for (key, options, code) in cases {
        let error = create(key.clone(), options).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{key}");
    }
    create(
        bson!({ "a": "2d", "b": 1 }),
        doc! { "min": 0, "max": 100, "bits": 20 },
    )
    .await
    .unwrap();
    let listed = db.run_command(doc! { "listIndexes": "plain" }).await.unwrap();
    let listed = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(
        listed[1],
        bson!({ "v": 2, "key": { "a": "2d", "b": 1 }, "name": "geo", "bits": 20, "min": 0.0, "max": 100.0 })
    );
}

async fn nearness_needs_an_index_and_its_place(db: &Db) {
    let sights = stocked(db).await.raw();
    let origin = || bson!({ "$geometry": { "type": "Point", "coordinates": [0, 0] } });
    let cases = [
        (doc! { "kind": { "$near": origin() } }, 291),
        (doc! { "place": { "$near": [0, 0] } }, 291),
        (doc! { "grid": { "$near": [500, 0] } }, 16433),
        (doc! { "place": { "$not": { "$near": origin() } } }, 2),
        (
            doc! { "$or": [{ "place": { "$near": origin() } }, { "kind": "inn" }] },
            2,
        ),
        (
            doc! { "place": { "$near": origin() }, "area": { "$near": origin() } },
            2,
        ),
        (doc! { "place": { "$near": origin(), "$gt": 1 } }, 34413),
        (doc! { "grid": { "$near": [0, 0], "$maxDistance": -1 } }, 16896),
        (doc! { "grid": { "$near": [0, 0], "$minDistance": "a" } }, 16893),
        (doc! { "grid": { "$near": [0, 0, -1] } }, 18522),
        (
            doc! { "place": { "$geoWithin": { "$geometry": { "type": "Point", "coordinates": [0, 0] } } } },
            2,
        ),
        (doc! { "place": { "$geoWithin": { "$box": [[0, 0]] } } }, 2),
        (
            doc! { "place": { "$geoIntersects": { "$geometry": { "type": "Cube" } } } },
            2,
        ),
    ];
    for (filter, code) in cases {
        let error = sights.find(filter.clone()).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{filter}");
    }
    let error = sights
        .count(doc! { "place": { "$near": origin() } })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(5_626_500));
    let matching = [doc! { "$match": { "place": { "$near": origin() } } }];
    let error = sights.aggregate_raw(matching).await.unwrap_err();
    assert_eq!(error.code(), Some(5_626_500));
}

async fn geo_near_writes_the_distance(db: &Db) {
    let sights = stocked(db).await.raw();
    let stage = doc! { "$geoNear": {
        "near": { "type": "Point", "coordinates": [0, 0] },
        "key": "place",
        "distanceField": "at.distance",
        "includeLocs": "at.place",
        "maxDistance": 3_000_000,
        "distanceMultiplier": 0.001,
        "query": { "kind": "inn" },
    } };
    let limited = [
        stage.clone(),
        doc! { "$skip": 1 },
        doc! { "$limit": 2 },
        doc! { "$project": { "at": 1 } },
    ];
    let rows: Vec<Document> = sights.aggregate_raw(limited).await.unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.get_str("_id").unwrap()).collect();
    assert_eq!(ids, ["park", "road"]);
    let at = rows[0].get_document("at").unwrap();
    assert!((at.get_f64("distance").unwrap() - 472.1).abs() < 0.5, "{at}");
    assert_eq!(
        at.get_document("place").unwrap().get_str("type").ok(),
        Some("Point")
    );
    let first = [doc! { "$match": { "kind": "inn" } }, stage];
    assert_eq!(sights.aggregate_raw(first).await.unwrap_err().code(), Some(40603));
    let unsure =
        [doc! { "$geoNear": { "near": { "type": "Point", "coordinates": [0, 0] }, "distanceField": "d" } }];
    // The only `2d` index comes before the two others, and knows no GeoJSON.
    assert_eq!(sights.aggregate_raw(unsure).await.unwrap_err().code(), Some(291));
}

async fn updates_and_deletes_take_the_nearest(db: &Db) {
    let sights = stocked(db).await;
    let here = Point::new(19.0, 0.0);
    let changed = sights
        .update_one(|s| s.place.near(here, ..), |s| s.kind.set("castle"))
        .await
        .unwrap();
    assert_eq!(changed.modified, 1);
    assert_eq!(found(&sights, |s| s.kind.eq("castle")).await, ["far"]);
    assert_eq!(
        sights
            .delete_many(|s| s.place.near(here, ..=5_000_000.0))
            .await
            .unwrap()
            .deleted,
        4
    );
    assert_eq!(found(&sights, |s| s.id.exists()).await, ["line"]);
    let moved = sights
        .update_one(|s| s.id.eq("line"), |s| s.place.set(here))
        .await
        .unwrap();
    assert_eq!(moved.modified, 1);
    assert_eq!(found(&sights, |s| s.place.near(here, ..=10.0)).await, ["line"]);
}
