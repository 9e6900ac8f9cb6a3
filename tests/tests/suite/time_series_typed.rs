//! Models whose collections are time series.

use std::time::Duration;

use bson::{DateTime, doc};
use odm::{CollectionDeclaration, Db, ErrorKind, Granularity, Id, Model, Models};
use serde::{Deserialize, Serialize};

use super::collections_kinds::options_of;
use super::time_series::at;

crate::on_every_backend! {
    a_model_declares_its_series,
    models_of_series_are_synchronized,
    measurements_are_models,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "measured", options = over_time)]
struct Measured {
    #[serde(rename = "_id")]
    id: Id<Measured>,
    #[serde(rename = "when")]
    #[odm(index)]
    at: DateTime,
    sensor: String,
    celsius: f64,
}

fn over_time() -> CollectionDeclaration {
    let fields = Measured::fields();
    CollectionDeclaration::new()
        .time_series_of(&fields.at, &fields.sensor)
        .granularity(Granularity::Minutes)
        .expire_after(Duration::from_secs(1_000_000_000))
}

fn measured(minutes: i64, sensor: &str, celsius: f64) -> Measured {
    Measured {
        id: Id::new(),
        at: at(minutes),
        sensor: sensor.to_owned(),
        celsius,
    }
}

async fn a_model_declares_its_series(db: &Db) {
    db.collection::<Measured>().create_declared().await.unwrap();
    let (kind, options) = options_of(db, "measured").await;
    assert_eq!(kind, "timeseries");
    assert_eq!(
        options,
        doc! {
            "expireAfterSeconds": 1_000_000_000_i64,
            "timeseries": {
                "timeField": "when", "metaField": "sensor", "granularity": "minutes", "bucketMaxSpanSeconds": 86_400,
            },
        }
    );
    let again = db.collection::<Measured>().create_declared().await.unwrap_err();
    assert_eq!(again.code(), Some(48));
    let fields = Measured::fields();
    let plain = CollectionDeclaration::new().granularity(Granularity::Hours);
    assert_eq!(plain.options(), &doc! {});
    let alone = CollectionDeclaration::new().time_series(&fields.at);
    assert_eq!(alone.options(), &doc! { "timeseries": { "timeField": "when" } });
}

async fn models_of_series_are_synchronized(db: &Db) {
    let models = Models::new().with::<Measured>();
    db.sync_models(&models).await.unwrap();
    db.sync_models(&models).await.unwrap();
    let all = db.collection::<Measured>();
    all.insert(measured(0, "roof", 20.0)).await.unwrap();
    let indexes = all.raw().list_indexes().await.unwrap();
    assert_eq!(indexes.len(), 1, "{indexes:?}");
    assert_eq!(indexes[0].keys, doc! { "when": 1 });
    db.sync_models(&models).await.unwrap();
    assert_eq!(all.count(|m| m.sensor.eq("roof")).await.unwrap(), 1);
}

async fn measurements_are_models(db: &Db) {
    let all = db.collection::<Measured>();
    all.create_declared().await.unwrap();
    let given = [
        measured(0, "roof", 20.0),
        measured(1, "cellar", 12.0),
        measured(2, "roof", 21.5),
    ];
    all.insert_many(given.clone()).await.unwrap();
    let found = all
        .find(|m| m.sensor.eq("roof") & m.at.gte(at(0)))
        .sort(|m| m.at.desc())
        .await
        .unwrap();
    assert_eq!(found, [given[2].clone(), given[0].clone()]);
    assert_eq!(all.get(given[1].id).await.unwrap(), Some(given[1].clone()));
    assert_eq!(all.count(|m| m.celsius.lt(13.0)).await.unwrap(), 1);
    let renamed = all
        .update_many(|m| m.sensor.eq("roof"), |m| m.sensor.set("attic"))
        .await
        .unwrap();
    assert_eq!((renamed.matched, renamed.modified), (2, 2));
    assert_eq!(all.count(|m| m.sensor.eq("attic")).await.unwrap(), 2);
    // One measurement is neither changed nor deleted.
    let error = all
        .update_one(|m| m.sensor.eq("attic"), |m| m.celsius.set(0.0))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(72));
    let error = all.delete(given[1].id).await.unwrap_err();
    assert_eq!(error.code(), Some(20));
    assert_ne!(error.kind(), ErrorKind::Unsupported);
    let gone = all.delete_many(|m| m.sensor.eq("attic")).await.unwrap();
    assert_eq!(gone.deleted, 2);
    assert_eq!(all.find_all().await.unwrap(), [given[1].clone()]);
}
