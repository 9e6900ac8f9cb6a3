//! Every option of an index, declared on a model.

use std::collections::BTreeMap;

use bson::{Bson, doc};
use odm::{Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    options_are_those_of_the_server,
    drift_tells_of_every_option,
    weights_and_languages_are_searched_by,
    bounds_hold,
    collations_and_wildcards_are_built_or_refused_by_name,
    original_specifications_are_checked_and_shown,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(
    collection = "articles",
    index(
        keys(text(title, weight = 10), text(body), kind),
        language = "german",
        language_field = "lang"
    ),
    index(keys(geo_2d(place), kind), bounds(0, 100.5), bits = 16, sparse),
    index(keys(kind, desc(title)), hidden, name = "tried", options = doc! { "sparse": true })
)]
struct Article {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    body: String,
    kind: i32,
    place: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "sights")]
struct Sight {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(geo_2d, bounds(-10, 10), bits = 20))]
    place: [f64; 2],
    #[odm(index(text, weight = 3, language = "none"))]
    title: String,
}

fn collation() -> bson::Document {
    doc! { "locale": "en", "strength": 2 }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "people", index(keys(name, age), collation = collation(), unique))]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    age: i32,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(wildcard))]
    attributes: BTreeMap<String, i32>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "records", index(keys(wildcard()), without(secret, detail)))]
struct Record {
    #[serde(rename = "_id")]
    id: i32,
    secret: String,
    detail: BTreeMap<String, i32>,
}

fn article(id: i32, title: &str, body: &str, lang: Option<&str>) -> Article {
    Article {
        id,
        title: title.to_owned(),
        body: body.to_owned(),
        kind: 1,
        place: Some([1.0, 2.0]),
        lang: lang.map(str::to_owned),
    }
}

async fn options_are_those_of_the_server(db: &Db) {
    db.collection::<Article>().create_indexes().await.unwrap();
    assert!(db.collection::<Article>().index_drift().await.unwrap().is_empty());
    let listed = db.collection::<Article>().list_indexes().await.unwrap();
    let tried = &listed.iter().find(|index| index.name == "tried").unwrap().spec;
    let flag = |name| tried.get_bool(name).unwrap();
    assert!(flag("hidden") && flag("sparse"));
    db.collection::<Sight>().create_indexes().await.unwrap();
    let listed = db.collection::<Sight>().list_indexes().await.unwrap();
    let place = &listed.iter().find(|index| index.name == "place_2d").unwrap().spec;
    let number = |name: &str| match place.get(name) {
        Some(Bson::Double(number)) => *number,
        Some(Bson::Int32(number)) => f64::from(*number),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (number("min"), number("max"), number("bits")),
        (-10.0, 10.0, 20.0)
    );
    let title = &listed
        .iter()
        .find(|index| index.name == "title_text")
        .unwrap()
        .spec;
    assert_eq!(title.get_str("default_language").unwrap(), "none");
    let weight = title.get_document("weights").unwrap().get("title").cloned();
    assert!(
        matches!(weight, Some(Bson::Int32(3) | Bson::Int64(3))),
        "{weight:?}"
    );
}

async fn drift_tells_of_every_option(db: &Db) {
    let sights = db.collection::<Sight>();
    sights.create_indexes().await.unwrap();
    assert!(sights.index_drift().await.unwrap().is_empty());
    sights.drop_index("title_text").await.unwrap();
    let spec = doc! {
        "key": { "title": "text" }, "name": "title_text", "weights": { "title": 4 }, "default_language": "none",
    };
    db.run_command(doc! { "createIndexes": "sights", "indexes": [spec] })
        .await
        .unwrap();
    let drift = sights.index_drift().await.unwrap();
    assert_eq!(drift.changed.len(), 1, "{drift}");
    assert_eq!(drift.changed[0].differences, ["weights"]);
}

async fn weights_and_languages_are_searched_by(db: &Db) {
    let articles = db.collection::<Article>();
    let raw = db.raw_collection("articles");
    articles.create_indexes().await.unwrap();
    articles
        .insert_many([
            article(1, "Haus", "x", None),
            article(2, "y", "Häuser Häuser", None),
            article(3, "houses", "z", Some("english")),
        ])
        .await
        .unwrap();
    let search = doc! { "$text": { "$search": "Häuser" }, "kind": 1 };
    let found = raw.find(search).await.unwrap();
    // The stem of the language finds the singular.
    assert!(found.iter().any(|document| document.get_i32("_id").unwrap() == 2));
    let search = doc! { "$text": { "$search": "house", "$language": "english" }, "kind": 1 };
    let found = raw.find(search).await.unwrap();
    let ids: Vec<_> = found
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect();
    assert_eq!(ids, [3]);
}

async fn bounds_hold(db: &Db) {
    let sights = db.collection::<Sight>();
    sights.create_indexes().await.unwrap();
    let sight = |id, x| Sight {
        id,
        place: [x, 0.0],
        title: String::new(),
    };
    sights.insert(sight(1, 9.5)).await.unwrap();
    assert!(sights.insert(sight(2, 11.0)).await.is_err());
}

async fn collations_and_wildcards_are_built_or_refused_by_name(db: &Db) {
    let products = db.collection::<Product>();
    let records = db.collection::<Record>();
    let people = db.collection::<Person>();
    match products.create_indexes().await {
        Ok(_) => {
            records.create_indexes().await.unwrap();
            assert!(products.index_drift().await.unwrap().is_empty());
            assert!(records.index_drift().await.unwrap().is_empty());
            let listed = products.list_indexes().await.unwrap();
            assert!(listed.iter().any(|index| index.name == "attributes.$**_1"));
        }
        Err(error) => {
            assert_ne!(db.backend_name(), "mongodb", "{error}");
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let error = records.create_indexes().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
    }
    people.create_indexes().await.unwrap();
    assert!(people.index_drift().await.unwrap().is_empty());
    let person = |id, name: &str| Person {
        id,
        name: name.to_owned(),
        age: 7,
    };
    people.insert(person(1, "Ann")).await.unwrap();
    let error = people.insert(person(2, "ANN")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
}

async fn original_specifications_are_checked_and_shown(db: &Db) {
    let create = async |original: Bson| {
        let spec = doc! { "key": { "a": 1 }, "name": "x", "originalSpec": original };
        db.run_command(doc! { "createIndexes": "c", "indexes": [spec] })
            .await
    };
    let refused = [
        (bson::bson!({}), 2),
        (Bson::Int32(5), 14),
        (bson::bson!({ "key": { "a": 1 } }), 9),
        (bson::bson!({ "key": { "a": 1 }, "name": "y", "odd": 1 }), 197),
    ];
    for (original, code) in refused {
        let error = create(original.clone()).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{original}");
    }
    create(bson::bson!({ "key": { "a": -1 }, "name": "y" }))
        .await
        .unwrap();
    let listed = db.raw_collection("c").list_indexes().await.unwrap();
    let index = listed.iter().find(|index| index.name == "x").unwrap();
    assert_eq!(
        index.spec.get_document("originalSpec").unwrap(),
        &doc! { "key": { "a": -1 }, "name": "y", "v": 2 },
    );
    // Another one makes it another index of that name.
    let error = create(bson::bson!({ "key": { "a": 1 }, "name": "z" })).await;
    assert_eq!(error.unwrap_err().code(), Some(85));
}
