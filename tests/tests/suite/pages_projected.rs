//! Pages of parts of documents: what makes the tokens is not given.

use odm::bson::{Document, doc};
use odm::{Db, Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_page_gives_no_more_than_its_projection,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "secrets")]
struct Secret {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    secret: i32,
    inner: Inner,
    next: Option<Ref<Secret>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Inner {
    x: i32,
    y: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(deny_unknown_fields)]
struct NameAndNext {
    name: String,
    next: Option<Ref<Secret>>,
}

async fn a_page_gives_no_more_than_its_projection(db: &Db) {
    let secrets = db.collection::<Secret>();
    let one = |id| Secret {
        id,
        name: format!("n{id}"),
        secret: 10 - id,
        inner: Inner { x: id, y: 0 },
        next: Some(Ref::new(1)),
    };
    secrets.insert_many((1..6).map(one)).await.unwrap();
    let name = |name: &str| Name { name: name.into() };
    let sorted = secrets.find_all().sort(|s| s.secret.asc());
    let page = || sorted.clone().project::<Name>().page(2);
    let first = page().await.unwrap();
    assert_eq!(first.items, [name("n5"), name("n4")]);
    let second = page().after(first.next.unwrap()).await.unwrap();
    assert_eq!(second.items, [name("n3"), name("n2")]);
    let back = page().before(second.previous.unwrap()).await.unwrap();
    assert_eq!(back.items, first.items);
    let raw = async |projection: Document| {
        let page = sorted.clone().project_raw(projection).page(1);
        page.await.unwrap().items[0].clone()
    };
    assert_eq!(raw(doc! { "name": 1, "_id": 0 }).await, doc! { "name": "n5" });
    assert_eq!(raw(doc! { "name": 1 }).await, doc! { "_id": 5, "name": "n5" });
    let inner = doc! { "x": 5, "y": 0 };
    let but_id = doc! { "name": "n5", "secret": 5, "inner": inner.clone(), "next": 1 };
    assert_eq!(raw(doc! { "_id": 0 }).await, but_id);
    let but_inner = doc! { "_id": 5, "name": "n5", "secret": 5, "next": 1 };
    assert_eq!(raw(doc! { "inner": 0 }).await, but_inner);
    let by_part = async |projection: Document| {
        let sorted = secrets.find_all().sort(|s| s.inner.x.desc());
        sorted.project_raw(projection).page(1).await.unwrap().items[0].clone()
    };
    assert_eq!(
        by_part(doc! { "inner.y": 1, "_id": 0 }).await,
        doc! { "inner": { "y": 0 } }
    );
    assert_eq!(
        by_part(doc! { "inner": 1, "_id": 0 }).await,
        doc! { "inner": inner }
    );
    assert_eq!(by_part(doc! { "name": 1, "_id": 0 }).await, doc! { "name": "n5" });
    let loaded = sorted
        .project::<NameAndNext>()
        .page(1)
        .load(|s| s.next)
        .await
        .unwrap();
    let (found, next) = &loaded.items[0];
    assert_eq!(
        (found.name.as_str(), next.as_ref().map(|next| next.id)),
        ("n5", Some(1))
    );
}
