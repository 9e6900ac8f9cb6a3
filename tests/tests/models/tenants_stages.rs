//! Stages in MongoDB's words on the database of a tenant: what they read and write elsewhere, and what they tell.

use bson::{Document, doc};
use odm::{Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    shared_collections_open_no_others,
    collections_are_named_with_their_model,
    plans_in_the_cache_are_of_all,
    distances_take_no_place_of_the_tenant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "bills")]
struct Bill {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
}

async fn fill(db: &Db) {
    let all = db.across_tenants();
    all.collection::<Page>().insert(Page { id: 1 }).await.unwrap();
    for (id, owner) in [(1, "ann"), (2, "bob")] {
        let bill = Bill {
            id,
            owner: Some(owner.to_owned()),
        };
        all.collection::<Bill>().insert(bill).await.unwrap();
    }
}

fn naming(collection: &str) -> Vec<Document> {
    vec![
        doc! { "$lookup": { "from": collection, "pipeline": [], "as": "all" } },
        doc! { "$unionWith": collection },
        doc! { "$unionWith": { "coll": collection, "pipeline": [] } },
        doc! { "$facet": { "all": [{ "$unionWith": collection }] } },
        doc! { "$graphLookup": {
            "from": collection, "startWith": "$_id", "connectFromField": "_id", "connectToField": "_id", "as": "all",
        } },
        doc! { "$merge": collection },
        doc! { "$out": collection },
    ]
}

async fn shared_collections_open_no_others(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    let before = db.across_tenants().collection::<Bill>().find_all().await.unwrap();
    let pages = ann.collection::<Page>();
    for stage in naming("bills") {
        for pages in [
            pages.aggregate_raw([stage.clone()]),
            pages.raw().aggregate_raw([stage.clone()]),
        ] {
            let error = pages.await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Tenant, "{stage}");
        }
    }
    assert_eq!(
        db.across_tenants().collection::<Bill>().find_all().await.unwrap(),
        before
    );
    // The collection itself is known.
    let own = pages
        .raw()
        .aggregate_raw([doc! { "$unionWith": "pages" }])
        .await
        .unwrap();
    assert_eq!(own.len(), 2);
    // What has no model, and who sees all, is as ever.
    let raw = ann
        .raw_collection("pages")
        .aggregate_raw([doc! { "$unionWith": "bills" }]);
    assert_eq!(raw.await.unwrap().len(), 3);
    let all = db.across_tenants().collection::<Page>();
    let raw = all.raw().aggregate_raw([doc! { "$unionWith": "bills" }]);
    assert_eq!(raw.await.unwrap().len(), 3);
}

async fn collections_are_named_with_their_model(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    let (pages, bills) = (ann.collection::<Page>(), ann.collection::<Bill>());
    for pages in [
        pages.aggregate_raw([doc! { "$unionWith": "bills" }]),
        pages.raw().aggregate_raw([doc! { "$unionWith": "bills" }]),
    ] {
        let found = pages.naming(&bills).await.unwrap();
        assert_eq!(found, [doc! { "_id": 1 }, doc! { "_id": 1, "owner": "ann" }]);
    }
    let typed = pages
        .aggregate()
        .raw(doc! { "$unionWith": "bills" })
        .naming(&bills);
    assert_eq!(typed.into::<Document>().await.unwrap().len(), 2);
    // A tenant's collection is written only by the tenant's field.
    let merge = pages.aggregate_raw([doc! { "$merge": "bills" }]).naming(&bills);
    assert_eq!(merge.await.unwrap_err().kind(), ErrorKind::Tenant);
    // A shared one as ever, also by another name.
    let copies = ann.collection_named::<Page>("pages_2");
    pages
        .aggregate_raw([doc! { "$merge": "pages_2" }])
        .naming(&copies)
        .await
        .unwrap();
    assert_eq!(copies.find_all().await.unwrap(), [Page { id: 1 }]);
    // A collection without a model shows everything, but of what is said to have one.
    let raw = || ann.raw_collection("pages");
    let union = raw().aggregate_raw([doc! { "$unionWith": "bills" }, doc! { "$unionWith": "pages_2" }]);
    assert_eq!(union.naming(&bills).await.unwrap().len(), 3);
    for stage in [doc! { "$merge": "bills" }, doc! { "$out": "bills" }] {
        let written = raw().aggregate_raw([stage]).naming(&bills);
        assert_eq!(written.await.unwrap_err().kind(), ErrorKind::Tenant);
    }
    // Which other tenant's handle names it does not matter.
    let named = pages.aggregate_raw([doc! { "$unionWith": "bills" }]);
    let named = named.naming(&db.across_tenants().collection::<Bill>());
    assert_eq!(named.await.unwrap().len(), 2);
}

async fn plans_in_the_cache_are_of_all(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    let bills = ann.collection::<Bill>();
    for stages in [
        vec![doc! { "$planCacheStats": {} }],
        vec![doc! { "$lookup": { "from": "bills", "pipeline": [{ "$planCacheStats": {} }], "as": "all" } }],
        vec![doc! { "$unionWith": { "coll": "bills", "pipeline": [{ "$planCacheStats": {} }] } }],
    ] {
        for bills in [
            bills.aggregate_raw(stages.clone()),
            bills.raw().aggregate_raw(stages.clone()),
        ] {
            assert_eq!(bills.await.unwrap_err().kind(), ErrorKind::Tenant, "{stages:?}");
        }
    }
    let pages = ann
        .collection::<Page>()
        .aggregate_raw([doc! { "$planCacheStats": {} }]);
    assert_eq!(pages.await.unwrap_err().kind(), ErrorKind::Tenant);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "stops", index(keys(geo_2dsphere(at))))]
struct Stop {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: i32,
    at: odm::geo::Point,
    line: String,
}

async fn distances_take_no_place_of_the_tenant(db: &Db) {
    let all = db.across_tenants().collection::<Stop>();
    all.create_indexes().await.unwrap();
    for (id, owner, east) in [(1, 0, 1.0), (2, 7, 0.0), (3, 0, 2.0)] {
        let line = if id == 3 { "red" } else { "blue" }.to_owned();
        let at = odm::geo::Point::new(east, 0.0);
        all.insert(Stop { id, owner, at, line }).await.unwrap();
    }
    let stops = db.for_tenant(0).collection::<Stop>();
    let near = |more: Document| {
        let mut near = doc! {
            "near": { "type": "Point", "coordinates": [0.0, 0.0] },
            "distanceField": "owner",
            "key": "at",
        };
        near.extend(more);
        stops.aggregate_raw([doc! { "$geoNear": near }, doc! { "$project": { "_id": 1 } }])
    };
    // The other's stop is at distance 0, which is this tenant.
    assert_eq!(
        near(doc! {}).await.unwrap(),
        [doc! { "_id": 1 }, doc! { "_id": 3 }]
    );
    assert_eq!(
        near(doc! { "query": { "line": "red" } }).await.unwrap(),
        [doc! { "_id": 3 }]
    );
    assert_eq!(
        near(doc! { "query": { "owner": 7 } }).await.unwrap(),
        [] as [Document; 0]
    );
    let nested =
        doc! { "$geoNear": { "near": [0.0, 0.0], "spherical": true, "distanceField": "owner", "key": "at" } };
    let lookup = doc! { "$lookup": { "from": "stops", "pipeline": [nested], "as": "all" } };
    let found = stops.aggregate_raw([doc! { "$limit": 1 }, lookup]).await.unwrap();
    assert_eq!(found[0].get_array("all").unwrap().len(), 2);
}
