use serde::{Deserialize, Serialize};

// The name is the field that holds what is in the variant.
#[derive(Serialize, Deserialize, odm::Embedded)]
enum Event {
    #[serde(rename = "payment.ok")]
    PaymentOk { amount: i32 },
    #[serde(rename = "$set")]
    Set(i32),
    #[serde(rename = "")]
    Nothing(i32),
}

// These are values, and can be any.
#[derive(Serialize, Deserialize, odm::Embedded)]
enum Mixed {
    #[serde(rename = "payment.none")]
    Nothing,
    Other(i32),
    #[serde(rename = "payment.some", untagged)]
    Some(i32),
}

#[derive(Serialize, Deserialize, odm::Embedded)]
#[serde(tag = "kind")]
enum Tagged {
    #[serde(rename = "payment.ok")]
    PaymentOk { amount: i32 },
    #[serde(rename = "$set")]
    Set {},
}

#[derive(Serialize, Deserialize, odm::Embedded)]
#[serde(untagged)]
enum Untagged {
    #[serde(rename = "payment.ok")]
    PaymentOk { amount: i32 },
}

#[derive(Serialize, Deserialize, odm::Embedded)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
enum Names {
    #[serde(rename = "a.b")]
    One,
    #[serde(rename = "$c")]
    Two,
}

fn main() {}
