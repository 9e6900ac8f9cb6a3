use odm::Collection;
use odm::expr::{count};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Sale {
    #[serde(rename = "_id")]
    id: i32,
    shop: String,
    sold: i32,
}

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Day {
    shop: String,
    place: i32,
    slope: f64,
}

fn pipeline(sales: Collection<Sale>) {
    let _ = sales.aggregate().windows().sort_by(|s| s.id).output::<Day>(|s, d, w| {
        d.place.over(w.all().of(count())) & d.slope.over(w.documents(-1, 0).derivative(s.sold))
    });
}

fn main() {}
