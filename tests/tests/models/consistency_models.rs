//! The models of the cases about consistent references.

use bson::DateTime;
use odm::{Db, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "houses", referred_by(Title, Imprint, Award))]
pub struct House {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
}

/// Goes with its house.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "titles", referred_by(Review, Shelf, Loan))]
pub struct Title {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(index, on_delete = cascade, inverse = of_house)]
    pub house: Ref<House>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "imprints")]
pub struct Imprint {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(rename = "belongsTo")]
    #[odm(on_delete = nullify)]
    pub house: Option<Ref<House>>,
    #[odm(updated)]
    pub updated: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "awards")]
pub struct Award {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = pull)]
    pub winners: Vec<Ref<House>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = cascade)]
    pub title: Ref<Title>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves")]
pub struct Shelf {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = pull)]
    pub titles: Vec<Ref<Title>>,
    #[odm(on_delete = nullify)]
    pub first: Option<Ref<Title>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "loans")]
pub struct Loan {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = deny)]
    pub title: Ref<Title>,
}

/// Refers to itself, twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "folders", referred_by(Folder))]
pub struct Folder {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = cascade)]
    pub parent: Option<Ref<Folder>>,
    #[odm(on_delete = deny)]
    pub needs: Vec<Ref<Folder>>,
}

/// Deleted softly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "accounts", referred_by(Device, Token))]
pub struct Account {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(soft_delete)]
    pub deleted: Option<DateTime>,
}

/// Deleted softly with its account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "devices")]
pub struct Device {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = cascade)]
    pub account: Ref<Account>,
    #[odm(soft_delete)]
    pub deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tokens")]
pub struct Token {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = cascade)]
    pub account: Ref<Account>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "parts", referred_by(Kit))]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(unique, key = PartNumber)]
    pub number: String,
}

/// Refers by another field than `_id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "kits")]
pub struct Kit {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(on_delete = pull)]
    pub parts: Vec<Ref<Part, PartNumber>>,
    #[odm(on_delete = cascade)]
    pub main: Option<Ref<Part, PartNumber>>,
}

/// Two houses with three titles, and what refers to them.
pub async fn houses(db: &Db) {
    let house = |id| House {
        id,
        name: format!("house {id}"),
    };
    db.collection::<House>()
        .insert_many([house(1), house(2)])
        .await
        .unwrap();
    let title = |id, house| Title {
        id,
        house: Ref::new(house),
    };
    let titles = db.collection::<Title>();
    titles
        .insert_many([title(11, 1), title(12, 1), title(21, 2)])
        .await
        .unwrap();
    let imprint = |id, house: Option<i32>| Imprint {
        id,
        house: house.map(Ref::new),
        updated: DateTime::from_millis(0),
    };
    let imprints = db.collection::<Imprint>();
    imprints
        .insert_many([imprint(1, Some(1)), imprint(2, Some(2)), imprint(3, None)])
        .without_timestamps()
        .await
        .unwrap();
    let award = |id, winners: &[i32]| Award {
        id,
        winners: winners.iter().copied().map(Ref::new).collect(),
    };
    let awards = db.collection::<Award>();
    awards
        .insert_many([award(1, &[1, 2, 1]), award(2, &[2])])
        .await
        .unwrap();
    let review = |id, title| Review {
        id,
        title: Ref::new(title),
    };
    let reviews = db.collection::<Review>();
    reviews
        .insert_many([review(1, 11), review(2, 12), review(3, 21)])
        .await
        .unwrap();
    let shelf = Shelf {
        id: 1,
        titles: [11, 21, 12].map(Ref::new).into(),
        first: Some(Ref::new(12)),
    };
    db.collection::<Shelf>().insert(shelf).await.unwrap();
}

/// All documents of the collections of [`houses`], in order.
pub async fn stored(db: &Db) -> Vec<bson::Document> {
    let mut all = Vec::new();
    for name in ["houses", "titles", "imprints", "awards", "reviews", "shelves"] {
        let documents = db
            .raw_collection(name)
            .find(bson::doc! {})
            .sort_raw(bson::doc! { "_id": 1 });
        for mut document in documents.await.unwrap() {
            document.remove("updated");
            document.insert("collection", name);
            all.push(document);
        }
    }
    all
}
