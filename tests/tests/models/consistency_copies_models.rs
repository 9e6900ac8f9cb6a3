//! The models of the cases about copies.

use std::collections::BTreeMap;

use bson::{DateTime, doc};
use odm::{CopyOf, Db, Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Seat {
    pub city: String,
    pub street: String,
}

/// Copied at once, and later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "presses", copied_to(Volume, Parcel, Diary))]
pub struct Press {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(rename = "fullName")]
    pub name: String,
    pub seat: Seat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motto: Option<String>,
    pub staff: i32,
    #[odm(version)]
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Press))]
pub struct PressCopy {
    #[odm(source)]
    pub id: Ref<Press>,
    #[serde(rename = "pressName")]
    pub name: String,
    #[odm(from = seat.city)]
    pub city: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motto: Option<String>,
    #[odm(source_version)]
    #[serde(rename = "v")]
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Press, eventual))]
pub struct LatePress {
    #[odm(source)]
    pub press: Ref<Press>,
    pub name: Option<String>,
    #[odm(own)]
    #[serde(default)]
    pub note: String,
    #[odm(source_version)]
    pub version: Option<i64>,
}

/// One copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "volumes", index(keys(press.id)))]
pub struct Volume {
    #[serde(rename = "_id")]
    pub id: i32,
    pub press: PressCopy,
    pub second: Option<PressCopy>,
    #[odm(updated)]
    pub updated: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Line {
    pub count: i32,
    pub press: Option<PressCopy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Sheet {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<PressCopy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Sender {
    Nobody,
    House { press: PressCopy },
}

/// Copies of every shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "parcels")]
pub struct Parcel {
    #[serde(rename = "_id")]
    pub id: i32,
    pub lines: Vec<Line>,
    pub sheets: Vec<Sheet>,
    pub rows: Vec<Vec<PressCopy>>,
    pub rooms: BTreeMap<String, PressCopy>,
    pub sender: Sender,
    #[odm(version)]
    pub version: i32,
}

/// Many, copied later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "diaries", index(keys(press.press)))]
pub struct Diary {
    #[serde(rename = "_id")]
    pub id: i32,
    pub press: LatePress,
}

/// A source without a version, referred to by another field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "wares", copied_to(Basket))]
pub struct Ware {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(unique, key = WareNumber)]
    pub number: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Ware))]
pub struct WareCopy {
    #[odm(source)]
    pub number: Ref<Ware, WareNumber>,
    pub name: Option<String>,
    #[odm(source_version)]
    pub version: Option<i64>,
}

/// Holds copies, and is itself copied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "baskets", copied_to(Cart))]
pub struct Basket {
    #[serde(rename = "_id")]
    pub id: i32,
    pub ware: WareCopy,
    #[odm(version)]
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Basket))]
pub struct BasketCopy {
    #[odm(source)]
    pub id: Ref<Basket>,
    #[odm(from = ware.name)]
    pub ware: Option<String>,
    #[odm(source_version)]
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "carts")]
pub struct Cart {
    #[serde(rename = "_id")]
    pub id: i32,
    pub basket: BasketCopy,
}

pub fn press(id: i32) -> Press {
    Press {
        id,
        name: format!("press {id}"),
        seat: Seat {
            city: format!("city {id}"),
            street: "street".into(),
        },
        motto: Some("motto".into()),
        staff: 1,
        version: 0,
    }
}

pub fn copy(id: i32) -> PressCopy {
    PressCopy::copy_of(&press(id)).unwrap()
}

pub fn volume(id: i32, of: i32) -> Volume {
    Volume {
        id,
        press: copy(of),
        second: (id == 1).then(|| copy(2)),
        updated: DateTime::from_millis(0),
    }
}

/// With one copy only.
pub fn volume_of_nobody(id: i32) -> Volume {
    Volume {
        second: None,
        ..volume(id, 1)
    }
}

pub fn parcel(id: i32) -> Parcel {
    let line = |press: Option<i32>| Line {
        count: 1,
        press: press.map(copy),
    };
    Parcel {
        id,
        lines: vec![line(Some(1)), line(None), line(Some(2)), line(Some(1))],
        sheets: vec![
            Sheet {
                marks: vec![copy(2), copy(1)],
            },
            Sheet { marks: Vec::new() },
            Sheet { marks: vec![copy(1)] },
        ],
        rows: vec![vec![copy(1)], Vec::new(), vec![copy(2), copy(1)]],
        rooms: [("a.b".to_owned(), copy(1)), ("c".to_owned(), copy(2))].into(),
        sender: Sender::House { press: copy(1) },
        version: 0,
    }
}

pub fn diary(id: i32, of: i32) -> Diary {
    Diary {
        id,
        press: LatePress {
            press: Ref::new(of),
            name: Some(format!("press {of}")),
            note: format!("note {id}"),
            version: Some(0),
        },
    }
}

/// Two presses, and what holds copies of them.
pub async fn presses(db: &Db) {
    db.collection::<Press>()
        .insert_many([press(1), press(2)])
        .await
        .unwrap();
    let volumes = [volume(1, 1), volume(2, 1), volume(3, 2)];
    let volumes = db.collection::<Volume>().insert_many(volumes);
    volumes.without_timestamps().await.unwrap();
    db.collection::<Parcel>()
        .insert_many([parcel(1), parcel(2)])
        .await
        .unwrap();
    let diaries = (1..=5).map(|id| diary(id, 1 + id % 2));
    db.collection::<Diary>().insert_many(diaries).await.unwrap();
    db.collection::<Press>().propagate_pending().await.unwrap();
}

/// What the copies of press 1 are, at every place where they follow at once; those of press 2 are as they were.
pub async fn assert_copies(db: &Db, name: &str, city: &str, motto: Option<&str>, version: i64) {
    let expected = PressCopy {
        id: Ref::new(1),
        name: name.into(),
        city: city.into(),
        motto: motto.map(str::to_owned),
        version,
    };
    for id in [1, 2] {
        let volume = db.collection::<Volume>().get(id).required().await.unwrap();
        assert_eq!(volume.press, expected);
        let parcel = db.collection::<Parcel>().get(id).required().await.unwrap();
        let mut found = vec![&parcel.lines[0].press, &parcel.lines[3].press]
            .into_iter()
            .map(|press| press.clone().unwrap())
            .collect::<Vec<_>>();
        found.extend([
            parcel.sheets[0].marks[1].clone(),
            parcel.sheets[2].marks[0].clone(),
            parcel.rows[0][0].clone(),
            parcel.rows[2][1].clone(),
            parcel.rooms["a.b"].clone(),
        ]);
        let Sender::House { press } = parcel.sender else {
            panic!("the sender is a house")
        };
        found.push(press);
        assert!(found.iter().all(|press| *press == expected), "{found:?}");
        // Those of press 2 stay as they are.
        assert_eq!(parcel.rooms["c"], copy(2));
        assert_eq!(parcel.lines[2].press, Some(copy(2)));
        assert_eq!(parcel.rows[2][0], copy(2));
    }
    let other = db.collection::<Volume>().get(3).required().await.unwrap();
    assert_eq!(other.press, copy(2));
}

/// How many presses wait for their copies.
pub async fn pending(db: &Db) -> u64 {
    let marked = doc! { "copies_pending": { "$exists": true } };
    db.raw_collection("presses").count(marked).await.unwrap()
}

/// Nothing is stale, and nothing waits.
pub async fn is_clean(db: &Db) {
    assert_eq!(db.collection::<Volume>().stale_copies().await.unwrap(), []);
    assert_eq!(db.collection::<Parcel>().stale_copies().await.unwrap(), []);
    assert_eq!(db.collection::<Diary>().stale_copies().await.unwrap(), []);
    assert_eq!(pending(db).await, 0);
}

/// Takes all documents away, and leaves the collections.
pub async fn clear(db: &Db) {
    for name in ["presses", "volumes", "parcels", "diaries"] {
        let all = db.raw_collection(name).delete_many(doc! {});
        all.await.unwrap();
    }
}
