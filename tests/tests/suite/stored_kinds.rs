//! Values of another kind than the type's.

use std::collections::HashMap;

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, Timestamp, doc};
use odm::{Db, Embedded, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    values_of_other_kinds_are_no_documents,
    rare_kinds_are_read_as_what_they_are,
    a_name_is_not_stored_twice,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Piece {
    #[serde(default)]
    a: i32,
    #[serde(default)]
    b: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Loose {
    #[serde(flatten)]
    rest: HashMap<String, Bson>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "kinds_of_pieces")]
struct Pieces {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    any: Bson,
    #[serde(default)]
    one: Option<Piece>,
    #[serde(default)]
    map: HashMap<String, String>,
    #[serde(default)]
    loose: Option<Loose>,
    #[serde(default)]
    many: Vec<Piece>,
    #[serde(default)]
    document: Document,
}

fn others() -> Vec<Bson> {
    vec![
        ObjectId::from_bytes([1; 12]).into(),
        DateTime::from_millis(5).into(),
        Bson::Symbol("s".to_owned()),
        Bson::MinKey,
        Bson::MaxKey,
        Bson::Timestamp(Timestamp {
            time: 1,
            increment: 2,
        }),
        bson::Uuid::from_bytes([7; 16]).into(),
        "1.5".parse::<bson::Decimal128>().unwrap().into(),
    ]
}

async fn values_of_other_kinds_are_no_documents(db: &Db) {
    let pieces = db.collection::<Pieces>();
    for other in others() {
        for (path, set) in [
            ("one", doc! {"one": other.clone()}),
            ("map", doc! {"map": other.clone()}),
            ("loose", doc! {"loose": other.clone()}),
            ("many.1", doc! {"many": [{"a": 1}, other.clone()]}),
            ("one", doc! {"any": other.clone(), "one": other.clone()}),
        ] {
            let mut stored = doc! {"_id": 1};
            stored.extend(set);
            pieces.raw().save(stored).await.unwrap();
            let error = pieces.get(1).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.path(), error.model(), error.id()),
                (
                    ErrorKind::Decode,
                    Some(path),
                    Some("Pieces"),
                    Some(&Bson::Int32(1))
                ),
                "{other:?}"
            );
        }
        let stored = doc! {"_id": 1, "document": other.clone()};
        pieces.raw().save(stored).await.unwrap();
        assert_eq!(
            pieces.get(1).await.unwrap_err().kind(),
            ErrorKind::Decode,
            "{other:?}"
        );
    }
}

async fn rare_kinds_are_read_as_what_they_are(db: &Db) {
    let pieces = db.collection::<Pieces>();
    for other in others() {
        let stored = doc! {"_id": 1, "any": other.clone(), "one": {"a": 1}, "document": {"x": other.clone()}};
        pieces.raw().save(stored.clone()).await.unwrap();
        let read = pieces.get(1).required().await.unwrap();
        assert_eq!((&read.any, read.document.get("x")), (&other, Some(&other)));
        pieces.save(&read).await.unwrap();
        assert_eq!(pieces.get(1).required().await.unwrap(), read);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Spot {
    city: String,
    #[serde(flatten)]
    at: At,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct At {
    lat: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "places_with_more")]
struct PlaceWithMore {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    spot: Spot,
    #[serde(flatten)]
    rest: HashMap<String, Bson>,
    #[serde(default)]
    inner: Vec<Loose>,
}

async fn a_name_is_not_stored_twice(db: &Db) {
    let places = db.collection::<PlaceWithMore>();
    let place = |rest: Document| PlaceWithMore {
        id: 1,
        spot: Spot {
            city: "Bonn".to_owned(),
            at: At { lat: 50 },
        },
        rest: rest.into_iter().collect(),
        inner: Vec::new(),
    };
    for rare in [Bson::Null, Bson::MinKey] {
        let twice = place(doc! {"city": "Rome", "rare": rare.clone()});
        let error = places.insert(&twice).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("city")));
        let error = places.save(&twice).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("city")));
        places.save(place(doc! {"rare": rare})).await.unwrap();
    }
    assert_eq!(places.get(1).required().await.unwrap().rest["rare"], Bson::MinKey);
}
