//! Fields of every type.

use std::collections::HashMap;

use odm::bson::{Bson, rawdoc};
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

use super::stored;

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Isbn(String);

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Cents(i64);

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Tags(Vec<String>);

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Home(Address);

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[serde(transparent)]
struct Number {
    value: i32,
}

#[derive(Debug, Clone, Serialize, Deserialize, Embedded)]
#[serde(from = "String", into = "String")]
struct Proxy {
    text: String,
}

impl From<String> for Proxy {
    fn from(text: String) -> Proxy {
        Proxy { text }
    }
}

impl From<Proxy> for String {
    fn from(proxy: Proxy) -> String {
        proxy.text
    }
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Foreign {
    x: i32,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(opaque)]
struct Opaque {
    x: i32,
}

#[derive(Debug, Serialize, Deserialize, Model)]
struct Everything {
    #[serde(rename = "_id")]
    id: Isbn2,
    isbn: Isbn,
    cents: Cents,
    tags: Tags,
    home: Home,
    number: Number,
    proxy: Proxy,
    #[odm(opaque)]
    foreign: Foreign,
    opaque: Opaque,
    maybe: Option<Address>,
    map: HashMap<String, Address>,
    pair: (i32, String),
    bson: Bson,
    document: odm::bson::Document,
    boxed: Box<Address>,
    cow: std::borrow::Cow<'static, str>,
    sizes: [u8; 3],
    waited: std::time::Duration,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Isbn2(String);

#[test]
fn newtypes_can_what_their_inner_types_can() {
    let e = Everything::fields();
    let filter =
        e.isbn.starts_with("978") & e.cents.gt(Cents(5)) & e.tags.has("a") & e.number.lt(Number { value: 3 });
    let expected = rawdoc! {
        "isbn": { "$regex": "^978" }, "cents": { "$gt": 5_i64 }, "tags": "a", "number": { "$lt": 3 },
    };
    assert_eq!(filter.to_document().unwrap(), expected);
    let filter = e.home.inner().city.eq("Rome") & e.isbn.inner().eq("1") & e.tags.inner().any().eq("b");
    let expected = rawdoc! { "home.city": "Rome", "isbn": "1", "tags": "b" };
    assert_eq!(filter.to_document().unwrap(), expected);
    let filter = e.proxy.eq(Proxy { text: "x".into() }) & e.proxy.inner().gt("a");
    assert_eq!(
        filter.to_document().unwrap(),
        rawdoc! { "$and": [{ "proxy": "x" }, { "proxy": { "$gt": "a" } }] }
    );
}

#[test]
fn plain_values_can_be_compared_whole() {
    let e = Everything::fields();
    let filter =
        e.foreign.eq(Foreign { x: 1 }) & e.opaque.eq(Opaque { x: 2 }) & e.pair.eq((1, "a".to_owned()));
    let expected = rawdoc! { "foreign": { "x": 1 }, "opaque": { "x": 2 }, "pair": [1, "a"] };
    assert_eq!(filter.to_document().unwrap(), expected);
    assert_eq!(
        e.id.eq(Isbn2("1".into())).to_document().unwrap(),
        rawdoc! { "_id": "1" }
    );
}

#[test]
fn containers_lead_to_what_they_hold() {
    let e = Everything::fields();
    let path = |path: &odm::Path| path.to_string();
    assert_eq!(path(e.maybe.city.path()), "maybe.city");
    assert_eq!(path(e.boxed.city.path()), "boxed.city");
    assert_eq!(path(e.map.key("home").city.path()), "map.home.city");
    assert_eq!(path(e.document.key("a").path()), "document.a");
    assert_eq!(e.cow.eq("x").to_document().unwrap(), rawdoc! { "cow": "x" });
    assert_eq!(path(e.sizes.at(1).path()), "sizes.1");
    assert_eq!(path(e.bson.path()), "bson");
    assert_eq!(path(e.waited.path()), "waited");
}

#[test]
fn what_is_stored_is_read_back() {
    let value = Everything {
        id: Isbn2("1".into()),
        isbn: Isbn("2".into()),
        cents: Cents(3),
        tags: Tags(vec!["a".into()]),
        home: Home(Address { city: "Rome".into() }),
        number: Number { value: 4 },
        proxy: Proxy { text: "p".into() },
        foreign: Foreign { x: 1 },
        opaque: Opaque { x: 2 },
        maybe: None,
        map: HashMap::new(),
        pair: (1, "a".into()),
        bson: Bson::Null,
        document: odm::bson::doc! {},
        boxed: Box::new(Address { city: "Bonn".into() }),
        cow: "cow".into(),
        sizes: [1, 2, 3],
        waited: std::time::Duration::from_millis(5),
    };
    let back: Everything = odm::bson::deserialize_from_slice(stored(&value).as_bytes()).unwrap();
    assert_eq!(format!("{back:?}"), format!("{value:?}"));
    assert_eq!(
        (value.foreign.x, value.opaque.x, value.key()),
        (1, 2, &Isbn2("1".into()))
    );
}
