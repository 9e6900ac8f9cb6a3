use odm::geo::Point;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Shop {
    #[serde(rename = "_id")]
    id: i32,
    address: String,
}

fn main() {
    let shop = <Shop as odm::Model>::fields();
    let _ = shop.address.near(Point::new(1.0, 2.0), ..);
}
