//! Views that are declared by typed pipelines, which name other models while the first use of their own is under way.

use std::sync::mpsc;
use std::time::Duration;

use bson::Document;
use odm::{CollectionDeclaration, Db, Embedded, Filter, Model, Models, Pipeline};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_view_joins_by_typed_stages,
    models_that_name_each_other_have_a_first_use,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "view_buyers", scope = active)]
struct Buyer {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    active: bool,
}

fn active(b: BuyerFields) -> Filter<Buyer> {
    b.active.eq(true)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "view_orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    buyer: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "view_sales", options = sales)]
struct Sale {
    #[serde(rename = "_id")]
    id: i32,
    buyer: i32,
    buyers: Vec<Buyer>,
}

fn view_of<T: Embedded>(collection: &str, pipeline: &Pipeline<T>) -> CollectionDeclaration {
    let stages = pipeline.to_stages().expect("the stages are right");
    let stages: Vec<Document> = stages
        .iter()
        .map(|stage| Document::try_from(stage.as_ref()).expect("a stage is a document"))
        .collect();
    CollectionDeclaration::new()
        .option("viewOn", collection)
        .option("pipeline", stages)
}

fn sales() -> CollectionDeclaration {
    let joined = Pipeline::<Order>::new().lookup::<Buyer, Sale>(|o, b, s| s.buyers.joins(&o.buyer, &b.id));
    view_of("view_orders", &joined)
}

/// What this makes, within some seconds: a lock that is held hangs for ever.
fn in_time<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> T {
    let (give, made) = mpsc::channel();
    std::thread::spawn(move || give.send(make()));
    made.recv_timeout(Duration::from_secs(20))
        .expect("the first use of a model ends")
}

async fn a_view_joins_by_typed_stages(db: &Db) {
    let of = db.clone();
    let sales = in_time(move || of.collection::<Sale>());
    let buyer = |id: i32, active: bool| Buyer {
        id,
        name: format!("buyer {id}"),
        active,
    };
    let buyers = db.collection::<Buyer>();
    buyers
        .insert_many([buyer(1, true), buyer(2, false)])
        .await
        .unwrap();
    let orders = db.collection::<Order>();
    let order = |id: i32| Order { id, buyer: id };
    orders.insert_many([order(1), order(2)]).await.unwrap();
    let models = Models::new().with::<Order>().with::<Buyer>().with::<Sale>();
    db.sync_models(&models).await.unwrap();
    assert!(db.check_models(&models).await.unwrap().is_empty());
    let sold = sales.find_all().sort(|s| s.id.asc()).await.unwrap();
    assert_eq!(sold[0].buyers, [buyer(1, true)]);
    // Who is not in the scope of buyers is none.
    assert_eq!(sold[1].buyers, []);
}

/// The one is a view over the other, which has its own reason to name the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "view_chapters", options = chapters)]
struct Chapter {
    #[serde(rename = "_id")]
    id: i32,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "view_parts", options = parts)]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    chapter: i32,
}

fn chapters() -> CollectionDeclaration {
    let joined = Pipeline::<Order>::new().lookup::<Part, Chapter>(|o, p, c| c.parts.joins(&o.id, &p.chapter));
    view_of("view_orders", &joined)
}

/// Names the other, and itself, and declares nothing.
fn parts() -> CollectionDeclaration {
    let joined = Pipeline::<Order>::new().lookup::<Part, Chapter>(|o, p, c| c.parts.joins(&o.id, &p.chapter));
    let again = Pipeline::<Chapter>::new().union_with::<Chapter>(|chapters| chapters.limit(1));
    assert!(joined.to_stages().is_ok() && again.to_stages().is_ok());
    CollectionDeclaration::new()
}

async fn models_that_name_each_other_have_a_first_use(db: &Db) {
    let of = db.clone();
    let (chapters, parts) = in_time(move || (of.collection::<Chapter>(), of.collection::<Part>()));
    db.collection::<Order>()
        .insert(Order { id: 1, buyer: 1 })
        .await
        .unwrap();
    parts.insert(Part { id: 7, chapter: 1 }).await.unwrap();
    chapters.create_declared().await.unwrap();
    let chapter = chapters.get(1).required().await.unwrap();
    assert_eq!(chapter.parts, [Part { id: 7, chapter: 1 }]);
}
