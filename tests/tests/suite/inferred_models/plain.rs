// The models of a database, as its documents, indexes and validators tell them.

use std::collections::BTreeMap;

use odm::{CollectionDeclaration, DbRef, Embedded, Id, Model, Ref};
use serde::{Deserialize, Serialize};

// animals: the field `kind` tells 3 shapes of documents apart: with `show_values(true)` each is a model.

/// A document of the collection `animals`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "animals")]
pub struct Animal {
    #[serde(rename = "_id")]
    pub id: Id<Animal>,
    pub kind: String,
    #[odm(unique)]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wheel: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tricks: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[odm(index)]
    pub lives: Option<i32>,
}

/// A document of the collection `authors`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "authors")]
#[odm(index(keys(home_address.city, desc(born)), name = "by_city", partial = |_| odm::Filter::raw(odm::bson::doc! { "__v": { "$gt": -1_i32 } })))]
pub struct Author {
    #[odm(index(hashed))]
    pub _id: Id<Author>,
    #[odm(index(collation = odm::bson::doc! { "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 2_i32, "numericOrdering": false, "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false }))]
    pub name: String,
    #[serde(rename = "Name")]
    pub name2: i32,
    pub r#type: String,
    #[serde(rename = "self")]
    pub self_: bool,
    pub born: Option<odm::bson::DateTime>,
    #[serde(rename = "e-mail", default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    #[odm(index(unique, partial = |_| odm::Filter::raw(odm::bson::doc! { "e-mail": { "$type": "string" } })))]
    pub e_mail: Option<Option<String>>,
    #[serde(rename = "homeAddress")]
    pub home_address: HomeAddress,
    #[serde(rename = "__v")]
    pub v: i32,
    pub nicknames: Vec<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friend: Option<Ref<Author>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct HomeAddress {
    pub street: String,
    pub city: String,
}

/// A document of the collection `books`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "books")]
#[odm(index(keys(text(publisher.name), text(title, weight = 10)), name = "words", language = "german", language_field = "text"))]
#[odm(index(keys(geo_2dsphere(place), desc(pages))))]
#[odm(index(keys(reviews.any().by, desc(reviews.any().stars))))]
#[odm(index(keys(author_id, title), hidden))]
#[odm(index(keys(by_year.key("2020"))))]
#[odm(index(keys(anything.key("a"))))]
#[odm(index(keys(rows.at(0))))]
#[odm(index(keys(shelf.row)))]
#[allow(clippy::duplicated_attributes)]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: Id<Book>,
    pub title: String,
    #[odm(unique)]
    pub isbn: String,
    #[serde(rename = "authorId")]
    pub author_id: Ref<Author>,
    pub co_authors: Vec<Ref<Author>>,
    pub pages: i32,
    // double 33 %, int 67 %
    pub price: f64,
    // int 67 %, long 33 %
    pub sold: i64,
    pub list: odm::bson::Decimal128,
    pub edition: Option<String>,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    #[odm(index(sparse))]
    pub subtitle: Option<Option<String>>,
    pub publisher: Publisher,
    pub reviews: Vec<Review>,
    #[serde(rename = "byYear")]
    pub by_year: BTreeMap<String, i32>,
    // string 33 %, document 33 %, int 33 %
    pub anything: odm::bson::Bson,
    // null in all documents
    pub nothing: odm::bson::Bson,
    // an array without elements in all documents
    pub empty: Vec<odm::bson::Bson>,
    pub rows: Vec<Vec<i32>>,
    pub place: odm::geo::Point,
    #[odm(index(geo_2d, bits = 20, bounds(-500.0, 500.0)))]
    pub flat: [f64; 2],
    pub token: Ref<Session>,
    pub cover: odm::bson::Binary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<odm::bson::Regex>,
    pub at: odm::bson::Timestamp,
    // double 33 %, int 33 %, long 33 %
    pub big: odm::bson::Bson,
    pub see: DbRef<Author>,
    #[odm(index(wildcard))]
    pub attributes: Attributes,
    pub text: String,
    // in no document that was looked at
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shelf: Option<Shelf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Publisher {
    pub name: String,
    pub address: Address,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Address {
    pub street: String,
    pub city: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Review {
    pub by: Ref<Author>,
    // int 67 %, long 33 %
    pub stars: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<odm::bson::DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Attributes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Shelf {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<odm::bson::Bson>,
}

/// A measurement of the time series `climate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "climate", options = climate_options)]
#[odm(index(keys(sensor, at)))]
pub struct Climate {
    #[serde(rename = "_id")]
    pub id: Id<Climate>,
    pub at: odm::bson::DateTime,
    pub sensor: Sensor,
    pub celsius: f64,
}

fn climate_options() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .option("expireAfterSeconds", 86400_i64)
        .option("timeseries", odm::bson::doc! { "timeField": "at", "metaField": "sensor", "granularity": "minutes", "bucketMaxSpanSeconds": 86400_i32 })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Sensor {
    pub room: i32,
}

/// A document of the collection `comments`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "comments")]
pub struct Comment {
    #[serde(rename = "_id")]
    pub id: f64,
    pub on: Ref<Book>,
    pub thread: Vec<Thread>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Thread {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Thread>>,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub by: Option<Option<String>>,
}

/// A document of the collection `compound_ids`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "compound_ids")]
pub struct CompoundId {
    #[serde(rename = "_id")]
    pub id: odm::bson::RawDocumentBuf,
}

/// A document of the collection `customers`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "customers")]
#[odm(index(keys(wildcard()), without(flags)))]
// the index is over { "$**": "text" }, as `options` say: attributes have no words for it
#[odm(index(keys(id), name = "$**_text", options = odm::bson::doc! { "key": { "$**": "text" }, "weights": { "$**": 1_i64 }, "default_language": "english", "language_override": "language" }))]
#[allow(clippy::duplicated_attributes)]
pub struct Customer {
    #[serde(rename = "_id")]
    pub id: String,
    pub address: Address,
    pub score: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    pub flags: odm::bson::RawDocumentBuf,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Chain {
    pub v: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<Chain>>,
}

// events: the field `kind` tells 2 shapes of documents apart: one model holds all.

/// A document of the collection `events`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "events")]
pub struct Event {
    #[serde(rename = "_id")]
    pub id: i32,
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<odm::bson::RawDocumentBuf>,
}

/// A document of the collection `folded`.
// The collection was empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "folded", options = folded_options)]
#[odm(index(keys(name), name = "bytes", collation = odm::bson::doc! { "locale": "simple" }))]
pub struct Folded {
    #[serde(rename = "_id")]
    pub id: Id<Folded>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[odm(index(collation = odm::bson::doc! { "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 2_i32, "numericOrdering": false, "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false }))]
    pub name: Option<odm::bson::Bson>,
}

fn folded_options() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .option("collation", odm::bson::doc! { "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 2_i32, "numericOrdering": false, "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false })
}

/// A document of the collection `forms`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "forms")]
pub struct Form {
    #[serde(rename = "_id")]
    pub id: i32,
    pub state: String,
}

/// A document of the capped collection `log`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "log", options = log_options)]
pub struct Log {
    #[serde(rename = "_id")]
    pub id: Id<Log>,
    pub text: String,
    pub n: f64,
}

fn log_options() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .option("capped", true)
        .option("size", 4096_i32)
        .option("max", 100_i32)
}

/// A document of the collection `loose_ids`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "loose_ids")]
pub struct LooseId {
    #[serde(rename = "_id")]
    pub id: odm::bson::RawBson,
    pub n: i32,
}

/// A document of the collection `odd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "odd")]
#[odm(index(keys(e.key("h"))))]
pub struct Odd {
    #[serde(rename = "_id")]
    pub id: i32,
    pub e: odm::bson::Document,
    // string 50 %, date 50 %
    pub date: odm::bson::Bson,
    // maxKey 50 %, minKey 50 %
    pub min: odm::bson::Bson,
    // javascript 50 %, symbol 50 %
    pub code: odm::bson::Bson,
    #[serde(rename = "first name")]
    #[odm(index(desc))]
    pub first_name: String,
    #[serde(rename = "2fa")]
    pub n_2fa: bool,
    pub thing: odm::bson::Document,
    // the fields whose names no field of a model can have
    #[serde(flatten)]
    pub more: odm::bson::Document,
}

/// A document of the collection `orders`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "orders")]
pub struct Order {
    #[serde(rename = "_id")]
    pub id: i64,
    pub customer: Ref<Customer>,
    pub book: Option<Ref<Book>>,
    pub pet: Ref<Animal>,
    pub status: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Line {
    pub sku: String,
    pub quantity: i32,
    // null in all documents
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub note: Option<odm::bson::Bson>,
}

/// A document of the collection `planned`.
// The collection was empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "planned", options = planned_options)]
#[odm(index(keys(owner.name)))]
pub struct Planned {
    #[serde(rename = "_id")]
    pub id: Id<Planned>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Vec<Option<i64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[odm(index(expire_after = 60))]
    pub ends: Option<odm::bson::DateTime>,
}

fn planned_options() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .validator(odm::bson::doc! { "$jsonSchema": { "bsonType": "object", "required": ["title"], "properties": { "title": { "bsonType": "string" }, "owner": { "bsonType": "object", "required": ["name"], "properties": { "name": { "bsonType": "string" }, "age": { "bsonType": "int" } } }, "marks": { "bsonType": "array", "items": { "bsonType": ["long", "null"] } } } } })
        .option("validationLevel", "moderate")
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Owner {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<i32>,
}

// recent: a view of books, which is only read: it has no model.

/// A document of the collection `sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sessions")]
pub struct Session {
    #[serde(rename = "_id")]
    pub id: odm::bson::Uuid,
    pub customer: Ref<Customer>,
    #[odm(index(expire_after = 86400))]
    pub until: odm::bson::DateTime,
    pub data: odm::bson::RawDocumentBuf,
}

/// A document of the collection `spots`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "spots")]
pub struct Spot {
    #[serde(rename = "_id")]
    pub id: odm::bson::RawDocumentBuf,
}

/// A document of the collection `talks`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "talks")]
pub struct Talk {
    #[serde(rename = "_id")]
    pub id: i32,
    pub topics: BTreeMap<String, Topic>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Topic {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likes: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<Vec<Topic>>,
}

/// A document of the collection `visits`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "visits")]
pub struct Visit {
    #[serde(rename = "_id")]
    pub id: VisitKey,
    pub counts: BTreeMap<String, i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct VisitKey {
    pub customer: String,
    pub day: i32,
}

/// A document of the collection `weird "name" */ \u{202e}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "weird \"name\" */ \u{202e}")]
pub struct WeirdName {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(rename = "a \"b\"\u{a}*/")]
    #[odm(index(name = "hostile \" \u{a} */"))]
    pub a_b: i32,
    #[serde(rename = "größe")]
    pub gr_e: i32,
    // the fields whose names no field of a model can have
    #[serde(flatten)]
    pub more: odm::bson::Document,
}

/// A value that is there, be it null: what is missing is `None` by `default`.
fn there<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
