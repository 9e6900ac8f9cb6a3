use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Patient {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(length(min = 3)))]
    #[serde(with = "sealed")]
    name: String,
    #[odm(max = 10)]
    #[serde(with = "sealed")]
    notes: Vec<String>,
    #[odm(validate(stored, pattern = "^enc:"))]
    #[serde(with = "sealed")]
    diagnosis: String,
    #[odm(validate(stored, min = 1))]
    age: i32,
}

mod sealed {
    use serde::de::DeserializeOwned;
    use serde::{Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

fn main() {}
