//! The order of distance, where there is none.

use odm::geo::Point;
use odm::{Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_order_of_distance_is_not_counted,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "stops")]
struct Stop {
    #[serde(rename = "_id")]
    id: i32,
    place: Point,
}

async fn an_order_of_distance_is_not_counted(db: &Db) {
    let stops = db.collection::<Stop>();
    let place = Point::new(1.0, 50.0);
    stops.insert(Stop { id: 1, place }).await.unwrap();
    let near = |s: StopFields| s.place.near(Point::new(1.0, 50.0), ..=100.0);
    let count = stops.count(near).await.unwrap_err();
    let page = stops.find(near).page_number(1, 10).await.unwrap_err();
    let pipeline = stops.aggregate().filter(near).await.unwrap_err();
    for error in [count, page, pipeline] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("`within_circle`"), "{error}");
    }
    let within = stops.count(|s| s.place.within_circle(Point::new(1.0, 50.0), 100.0));
    assert_eq!(within.await.unwrap(), 1);
}
