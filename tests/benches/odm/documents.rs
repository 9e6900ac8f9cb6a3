//! The documents: one of our own, and the tweet and the small ones of the public benchmarks.

use std::process::Command;

use odm::{Embedded, Model, Ref};
use odm_tests::data;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "people")]
pub(crate) struct Person {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    name: String,
    email: String,
    pub(crate) age: i32,
    city: String,
    score: f64,
    active: bool,
    about: String,
    tags: Vec<String>,
}

impl Person {
    pub(crate) fn new(id: i64) -> Person {
        Person {
            id,
            name: format!("person {id}"),
            email: format!("person{id}@example.org"),
            age: (id % 90) as i32,
            city: ["Rome", "Oslo", "Lima"][id as usize % 3].to_owned(),
            score: id as f64 / 7.0,
            active: id % 2 == 0,
            about: "x".repeat(100),
            tags: vec!["one".to_owned(), "two".to_owned()],
        }
    }
}

/// `tweet.json` of the public benchmark: 1.6 KB, nested.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "tweets")]
pub(crate) struct Tweet {
    #[serde(rename = "_id", default)]
    key: i64,
    text: String,
    in_reply_to_status_id: i64,
    retweet_count: Option<i64>,
    contributors: Option<String>,
    created_at: String,
    geo: Option<String>,
    source: String,
    coordinates: Option<String>,
    in_reply_to_screen_name: String,
    truncated: bool,
    entities: Entities,
    retweeted: bool,
    place: Option<String>,
    user: User,
    favorited: bool,
    in_reply_to_user_id: i64,
    id: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct Entities {
    user_mentions: Vec<Mention>,
    urls: Vec<String>,
    hashtags: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct Mention {
    indices: Vec<i32>,
    screen_name: String,
    name: String,
    id: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct User {
    friends_count: i64,
    profile_sidebar_fill_color: String,
    location: String,
    verified: bool,
    follow_request_sent: Option<bool>,
    favourites_count: i64,
    profile_sidebar_border_color: String,
    profile_image_url: String,
    geo_enabled: bool,
    created_at: String,
    description: String,
    time_zone: String,
    url: String,
    screen_name: String,
    notifications: Option<bool>,
    profile_background_color: String,
    listed_count: i64,
    lang: String,
    profile_background_image_url: String,
    statuses_count: i64,
    following: Option<bool>,
    profile_text_color: String,
    protected: bool,
    show_all_inline_media: bool,
    profile_background_tile: bool,
    name: String,
    contributors_enabled: bool,
    profile_link_color: String,
    followers_count: i64,
    id: i64,
    profile_use_background_image: bool,
    utc_offset: i64,
}

impl Tweet {
    /// The tweet of the shared data, where it is there.
    pub(crate) fn read() -> Option<Tweet> {
        read(
            "bench/single_and_multi_document.tgz",
            "single_and_multi_document/tweet.json",
        )
    }

    pub(crate) fn with_id(&self, key: i64) -> Tweet {
        Tweet { key, ..self.clone() }
    }
}

/// `small_doc.json` of the public benchmark's flat models: 13 fields, 250 bytes.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "small")]
pub(crate) struct Small {
    #[serde(rename = "_id", default)]
    pub(crate) key: i64,
    pub(crate) field1: String,
    field2: String,
    field3: String,
    field4: String,
    field5: String,
    field6: String,
    field7: String,
    field8: i32,
    field9: i32,
    field10: i32,
    field11: i32,
    field12: i32,
    field13: i32,
}

impl Small {
    /// The document of the shared data, where it is there.
    pub(crate) fn read() -> Option<Small> {
        read("bench/flat_models.tgz", "flat-models/small_doc.json")
    }

    pub(crate) fn with_id(&self, key: i64) -> Small {
        Small { key, ..self.clone() }
    }
}

/// The small document with a reference to another model.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "linked")]
pub(crate) struct Linked {
    #[serde(rename = "_id")]
    key: i64,
    field1: String,
    field2: String,
    field3: String,
    field4: String,
    field5: String,
    field6: String,
    field7: String,
    field8: i32,
    field9: i32,
    field10: i32,
    field11: i32,
    field12: i32,
    field13: i32,
    #[odm(index)]
    pub(crate) field_fk: Ref<Foreign>,
}

/// What the small document refers to.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "foreign")]
pub(crate) struct Foreign {
    #[serde(rename = "_id")]
    key: i64,
    name: String,
}

impl Foreign {
    pub(crate) fn new(key: i64) -> Foreign {
        Foreign {
            key,
            name: format!("foreign {key}"),
        }
    }
}

impl Small {
    /// The same fields, the same `_id` as what they refer to, and the reference.
    pub(crate) fn linked(&self, to: &Foreign) -> Linked {
        let small = self.clone();
        Linked {
            key: to.key,
            field1: small.field1,
            field2: small.field2,
            field3: small.field3,
            field4: small.field4,
            field5: small.field5,
            field6: small.field6,
            field7: small.field7,
            field8: small.field8,
            field9: small.field9,
            field10: small.field10,
            field11: small.field11,
            field12: small.field12,
            field13: small.field13,
            field_fk: Ref::to(to),
        }
    }
}

/// Reads a JSON document out of an archive of the shared data.
pub(crate) fn read<T: DeserializeOwned>(archive: &str, member: &str) -> Option<T> {
    let archive = data::path(archive)?;
    let output = Command::new("tar").arg("-xzOf").arg(archive).arg(member).output();
    let json = output.expect("tar runs").stdout;
    Some(serde_json::from_slice(&json).expect("the document has the model's fields"))
}
