//! What is declared of copies, and which declarations are refused.

use bson::doc;
use odm::{Db, Embedded, ErrorKind, Model, Models, Ref};
use serde::{Deserialize, Serialize};

use super::consistency_copies_models::*;

crate::on_every_backend! {
    a_source_must_know_its_holders,
    copies_that_no_update_reaches_are_refused,
    copies_in_a_circle_are_refused,
    models_show_their_copies,
}

/// Not named by what it copies.
#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "strays")]
pub struct Stray {
    #[serde(rename = "_id")]
    pub id: i32,
    pub press: Option<PressCopy>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "writers", copied_to(Talk))]
pub struct Writer {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Writer))]
pub struct WriterCopy {
    #[odm(source)]
    pub id: Ref<Writer>,
    pub name: String,
    #[odm(source_version)]
    pub version: i64,
}

/// Holds itself.
#[derive(Debug, Serialize, Deserialize, Embedded)]
pub struct Remark {
    pub writer: WriterCopy,
    pub answers: Vec<Remark>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "talks")]
pub struct Talk {
    #[serde(rename = "_id")]
    pub id: i32,
    pub remarks: Vec<Remark>,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Moon))]
pub struct MoonCopy {
    #[odm(source)]
    pub id: Ref<Moon>,
    #[odm(from = sun.light)]
    pub light: Option<i32>,
    #[odm(source_version)]
    pub version: i64,
}

/// Gets its light from a moon.
#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "suns", copied_to(Moon))]
pub struct Sun {
    #[serde(rename = "_id")]
    pub id: i32,
    pub moon: MoonCopy,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Sun))]
pub struct SunCopy {
    #[odm(source)]
    pub id: Ref<Sun>,
    #[odm(from = moon.light)]
    pub light: Option<i32>,
    #[odm(source_version)]
    pub version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "moons", copied_to(Sun))]
pub struct Moon {
    #[serde(rename = "_id")]
    pub id: i32,
    pub sun: SunCopy,
}

async fn a_source_must_know_its_holders(db: &Db) {
    let strays = db.collection::<Stray>();
    let error = strays.insert(Stray { id: 1, press: None }).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, Some("press")));
    assert!(
        error
            .message()
            .contains("name the model on `Press`: `#[odm(copied_to(Stray))]`"),
        "{error}"
    );
    assert_eq!(strays.find_all().await.unwrap_err().kind(), ErrorKind::Schema);
}

async fn copies_that_no_update_reaches_are_refused(db: &Db) {
    let error = db.collection::<Talk>().find_all().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Schema, Some("remarks.writer"))
    );
    assert!(error.message().contains("holds itself"), "{error}");
}

async fn copies_in_a_circle_are_refused(db: &Db) {
    for error in [
        db.collection::<Sun>().find_all().await.unwrap_err(),
        db.collection::<Moon>().find_all().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.message().contains("circle"), "{error}");
    }
}

async fn models_show_their_copies(db: &Db) {
    let models = Models::new().with::<Press>().with::<Parcel>().with::<Basket>();
    let mermaid = models.mermaid();
    let line = "Parcel }o..o| Press : \"lines.press copies fullName, seat.city, motto\"";
    assert!(mermaid.contains(line), "{mermaid}");
    assert!(
        mermaid.contains("Basket }o..o| Ware : \"ware copies name\""),
        "{mermaid}"
    );
    assert!(models.table().contains("copy of Press"), "{}", models.table());

    let places: Vec<_> = Parcel::DESCRIPTOR
        .copies()
        .iter()
        .map(|copy| copy.path.as_str())
        .collect();
    assert_eq!(
        places,
        ["lines.press", "sheets.marks", "rows", "rooms.*", "sender.press"]
    );
    let copied: Vec<_> = Press::DESCRIPTOR
        .copied()
        .iter()
        .map(|copy| (copy.model.name, copy.copy.is_eventual))
        .collect();
    assert_eq!(copied.len(), 8);
    assert_eq!(copied[7], ("Diary", true));

    // What is copied is part of what the database remembers of a model.
    db.sync_models(&models).await.unwrap();
    assert_eq!(db.check_models(&models).await.unwrap(), []);
    let change = doc! { "$set": { "declared.copies.ware.eventual": true, "fingerprint": "another" } };
    let stored = db.raw_collection("odm.models");
    stored
        .update_one(doc! { "model": "Basket" }, change)
        .await
        .unwrap();
    let drift = db.check_models(&models).await.unwrap();
    assert_eq!((drift.len(), drift[0].model), (1, "Basket"));
    assert_eq!(drift[0].differences, ["copies.ware.eventual: was true, is false"]);
}
