//! Models with tenants, and two tenants' documents.

use bson::Document;
use odm::{Db, Error, ErrorKind, Id, Model, Ref};
use odm_tests::witness::{Seen, Witness};
use serde::{Deserialize, Serialize};

/// A tenant: its own document is its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Company {
    #[serde(rename = "_id")]
    #[odm(tenant)]
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(referred_by(Order, Customer), schema_version = 1)]
pub struct Customer {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(rename = "o")]
    #[odm(tenant)]
    pub owner: Ref<Company>,
    pub name: String,
    #[odm(inverse = by_boss, on_delete = nullify)]
    pub boss: Option<Ref<Customer>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(index(unique, keys(owner, total)))]
pub struct Order {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(rename = "o", default)]
    #[odm(tenant)]
    pub owner: Option<Ref<Company>>,
    #[odm(inverse = by_customer, on_delete = cascade)]
    pub customer: Ref<Customer>,
    #[odm(inverse = by_country)]
    pub country: Ref<Country>,
    pub total: i64,
    pub tags: Vec<String>,
    #[odm(version)]
    pub version: i64,
}

/// Shared by all tenants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "countries")]
pub struct Country {
    #[serde(rename = "_id")]
    pub id: String,
}

/// Of tenants of another type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Memo {
    #[serde(rename = "_id")]
    pub id: Id<Memo>,
    #[odm(tenant)]
    pub owner: i64,
}

/// Collections with tenants, and the stored names of their fields.
pub const FIELDS: &[(&str, &str)] = &[("companies", "_id"), ("customers", "o"), ("orders", "o")];

pub fn order(id: i32, owner: Option<&str>, customer: i32) -> Order {
    Order {
        id,
        owner: owner.map(|owner| Ref::new(owner.to_owned())),
        customer: Ref::new(customer),
        country: Ref::new("no".to_owned()),
        total: i64::from(id),
        tags: vec![format!("tag {id}")],
        version: 0,
    }
}

pub fn customer(id: i32, owner: &str, boss: Option<i32>) -> Customer {
    Customer {
        id,
        owner: Ref::new(owner.to_owned()),
        name: format!("customer {id}"),
        boss: boss.map(Ref::new),
    }
}

/// Documents of `ann` with ids from 1 on, and of `bob` from 11 on. Some of either refer to the other's.
pub async fn fill(db: &Db) {
    let all = db.across_tenants();
    all.collection::<Country>()
        .insert(Country { id: "no".into() })
        .await
        .unwrap();
    for (owner, first) in [("ann", 1), ("bob", 11)] {
        let company = Company {
            id: owner.into(),
            name: owner.to_uppercase(),
        };
        all.collection::<Company>().insert(company).await.unwrap();
        let customers = (first..first + 3).map(|id| customer(id, owner, (id > first).then_some(first)));
        all.collection::<Customer>().insert_many(customers).await.unwrap();
        let orders =
            (first..first + 4).map(|id| order(id, Some(owner), if id == first { 12 - id } else { first }));
        all.collection::<Order>().insert_many(orders).await.unwrap();
    }
}

/// All that is stored of bob's.
pub async fn of_bob(db: &Db) -> Vec<Document> {
    let mut all = Vec::new();
    for (name, field) in FIELDS {
        let raw = db.across_tenants().raw_collection(name);
        let found = raw
            .find(bson::doc! { *field: "bob" })
            .sort_raw(bson::doc! { "_id": 1 });
        all.extend(found.await.unwrap());
    }
    all
}

/// What is done as ann; nothing of bob's is different afterwards, and all of it said that it is about ann.
pub async fn as_ann(db: &Db, act: impl AsyncFnOnce(&Db)) {
    fill(db).await;
    let before = of_bob(db).await;
    assert_eq!(before.len(), 8);
    let (watched, seen): (Db, Seen) = Witness::db(db, FIELDS, "ann");
    act(&watched.for_tenant("ann")).await;
    assert_eq!(of_bob(db).await, before);
    assert!(seen.count() > 0);
    assert_eq!(seen.loose(), [] as [&str; 0]);
}

pub fn ids(orders: &[Order]) -> Vec<i32> {
    let mut ids: Vec<i32> = orders.iter().map(|order| order.id).collect();
    ids.sort();
    ids
}

pub fn own() -> Ref<Company> {
    Ref::new("ann".to_owned())
}

pub fn other() -> Ref<Company> {
    Ref::new("bob".to_owned())
}

/// An error that names the model and the field.
pub fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>, model: &str, field: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant, "{error:?}");
    assert_eq!(
        (error.model(), error.path()),
        (Some(model), Some(field)),
        "{error:?}"
    );
    assert!(error.namespace().is_some() && error.is_tenant());
}
