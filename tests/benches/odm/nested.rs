//! The nested document of the public ODM benchmark.

use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

use super::documents::read;

/// `large_doc_nested.json` of the public benchmark's nested models: 12 embedded documents and an array of two, 7 KB.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "nested")]
pub(crate) struct Nested {
    #[serde(rename = "_id", default)]
    pub(crate) key: i64,
    pub(crate) embedded_str_doc_1: Texts,
    embedded_str_doc_2: Texts,
    embedded_str_doc_3: Texts,
    embedded_str_doc_4: Texts,
    embedded_str_doc_5: Texts,
    pub(crate) embedded_str_doc_array: Vec<Texts>,
    embedded_int_doc_8: Numbers,
    embedded_int_doc_9: Numbers,
    embedded_int_doc_10: Numbers,
    embedded_int_doc_11: Numbers,
    embedded_int_doc_12: Numbers,
    embedded_int_doc_13: Numbers,
    embedded_int_doc_14: Numbers,
}

#[rustfmt::skip]
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct Texts {
    pub(crate) field1: String, pub(crate) field2: String, field3: String, field4: String, field5: String,
    field6: String, field7: String, field8: String, field9: String, field10: String,
    field11: String, field12: String, field13: String, field14: String, field15: String,
}

#[rustfmt::skip]
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct Numbers {
    field1: i32, field2: i32, field3: i32, field4: i32, field5: i32,
    field6: i32, field7: i32, field8: i32, field9: i32, field10: i32,
    field11: i32, field12: i32, field13: i32, field14: i32, field15: i32,
}

impl Nested {
    /// The document of the shared data, where it is there.
    pub(crate) fn read() -> Option<Nested> {
        read("bench/nested_models.tgz", "nested-models/large_doc_nested.json")
    }

    pub(crate) fn with_id(&self, key: i64) -> Nested {
        Nested { key, ..self.clone() }
    }
}
