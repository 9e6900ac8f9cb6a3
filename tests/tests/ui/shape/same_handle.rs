use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
enum Kind {
    HttpError { code: i32 },
    #[serde(rename = "other")]
    HTTPError { code: i32 },
}

fn main() {}
