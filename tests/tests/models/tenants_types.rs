//! Tenants of all types: plain ones, in kinds and generic models, texts that a collation takes for the same.

use bson::{Uuid, doc};
use odm::{Db, Id, Model};
use serde::{Deserialize, Serialize};

use super::tenants_models::*;

crate::on_every_backend! {
    tenants_have_any_plain_type,
    kinds_have_tenants,
    generic_models_have_tenants,
    texts_are_told_apart_by_their_bytes,
}

macro_rules! with_tenant {
    ($db:expr, $type:ty, $one:expr, $other:expr $(, $attribute:meta)*) => {{
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
        #[odm(collection = "of_any_type")]
        #[serde(rename_all = "camelCase")]
        struct Thing {
            #[serde(rename = "_id")]
            id: i32,
            #[odm(tenant)]
            $(#[$attribute])*
            owned_by: $type,
        }
        let things = $db.raw_collection("of_any_type");
        things.drop().await.unwrap();
        let (one, other): ($type, $type) = ($one, $other);
        let (first, second) = ($db.for_tenant(one.clone()).collection::<Thing>(), $db.for_tenant(other.clone()).collection::<Thing>());
        first.insert(Thing { id: 1, owned_by: one.clone() }).await.unwrap();
        second.insert(Thing { id: 2, owned_by: other.clone() }).await.unwrap();
        is_refused(first.insert(Thing { id: 3, owned_by: other }).await, "Thing", "ownedBy");
        first.raw().insert(doc! {"_id": 4}).await.unwrap();
        assert_eq!(first.find_all().sort(|t| t.id.asc()).await.unwrap(), [Thing { id: 1, owned_by: one.clone() }, Thing { id: 4, owned_by: one }]);
        assert_eq!(second.delete_many(|t| t.id.gt(0)).await.unwrap().deleted, 1);
        assert_eq!(Thing::tenant_field(), Some("ownedBy"));
    }};
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, odm::Embedded)]
struct Number(i64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, odm::Embedded)]
enum Region {
    North,
    South,
}

async fn tenants_have_any_plain_type(db: &Db) {
    with_tenant!(db, i32, 1, 2);
    with_tenant!(db, i64, i64::MIN, i64::MAX);
    with_tenant!(db, u32, u32::MAX, 0);
    with_tenant!(db, String, String::new(), "a.$\u{e9}".into());
    with_tenant!(db, bool, true, false);
    with_tenant!(db, char, 'a', 'A');
    with_tenant!(db, Id<Company>, Id::new(), Id::new());
    with_tenant!(
        db,
        bson::oid::ObjectId,
        bson::oid::ObjectId::new(),
        bson::oid::ObjectId::new()
    );
    with_tenant!(db, Uuid, Uuid::new(), Uuid::new());
    with_tenant!(db, Number, Number(7), Number(8));
    with_tenant!(db, Region, Region::North, Region::South);
    with_tenant!(db, bson::Binary, bytes(1), bytes(2), odm(opaque));
    with_tenant!(db, u64, 5, 6, serde(with = "reversed"));
}

fn bytes(byte: u8) -> bson::Binary {
    bson::Binary {
        subtype: bson::spec::BinarySubtype::Generic,
        bytes: vec![byte],
    }
}

/// Stores a number as a text.
mod reversed {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("n{value}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text[1..].parse().map_err(serde::de::Error::custom)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    keeper: String,
    lives: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "dog")]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    keeper: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Pet {
    Cat(Cat),
    Dog(Dog),
}

async fn kinds_have_tenants(db: &Db) {
    let (ann, bob) = (db.for_tenant("ann"), db.for_tenant("bob"));
    ann.collection::<Cat>()
        .insert(Cat {
            id: 1,
            keeper: "ann".into(),
            lives: 9,
        })
        .await
        .unwrap();
    ann.collection::<Pet>()
        .insert(Pet::Dog(Dog {
            id: 2,
            keeper: "ann".into(),
        }))
        .await
        .unwrap();
    bob.collection::<Pet>()
        .of::<Dog>()
        .insert(Dog {
            id: 3,
            keeper: "bob".into(),
        })
        .await
        .unwrap();
    assert_eq!(ann.collection::<Pet>().find_all().await.unwrap().len(), 2);
    assert_eq!(ann.collection::<Dog>().find_all().await.unwrap()[0].id, 2);
    assert_eq!(bob.collection::<Cat>().find_all().await.unwrap(), []);
    assert_eq!(
        bob.collection::<Pet>()
            .delete_many(|p| p.cat.id.lt(3))
            .await
            .unwrap()
            .deleted,
        0
    );
    is_refused(
        bob.collection::<Pet>()
            .insert(Pet::Dog(Dog {
                id: 4,
                keeper: "ann".into(),
            }))
            .await,
        "Pet",
        "keeper",
    );
    is_refused(db.collection::<Pet>().find_all().await, "Pet", "keeper");
    assert_eq!(
        (Pet::tenant_field(), Pet::DESCRIPTOR.tenant),
        (Some("keeper"), Some("keeper"))
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "generic")]
struct Owned<T> {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: T,
}

async fn generic_models_have_tenants(db: &Db) {
    let ann = db.for_tenant("ann").collection::<Owned<String>>();
    ann.insert(Owned {
        id: 1,
        owner: "ann".into(),
    })
    .await
    .unwrap();
    let seven = db.for_tenant(7_i64).collection::<Owned<i64>>();
    seven.insert(Owned { id: 2, owner: 7 }).await.unwrap();
    assert_eq!(
        (
            ann.find_all().await.unwrap().len(),
            seven.find_all().await.unwrap().len()
        ),
        (1, 1)
    );
    is_refused(
        db.for_tenant(7_i64)
            .collection::<Owned<String>>()
            .find_all()
            .await,
        "Owned",
        "owner",
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "collated", options = without_case)]
struct Collated {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: String,
    other: i32,
}

fn without_case() -> odm::CollectionDeclaration {
    odm::CollectionDeclaration::new().collation(doc! {"locale": "en", "strength": 2})
}

async fn texts_are_told_apart_by_their_bytes(db: &Db) {
    let (small, large) = (db.for_tenant("ann"), db.for_tenant("ANN"));
    small.collection::<Collated>().create_declared().await.unwrap();
    for (id, db) in [(1, &small), (2, &large)] {
        let all = db.collection::<Collated>();
        all.raw().insert(doc! {"_id": id, "other": 2}).await.unwrap();
        assert_eq!(all.find_all().await.unwrap().len(), 1);
        assert_eq!(all.count(|c| c.other.eq(2)).await.unwrap(), 1);
        let joined = all
            .aggregate()
            .lookup::<Collated, Joined>(|c, other, out| out.all.joins(&c.other, &other.other))
            .await
            .unwrap();
        assert_eq!((joined.len(), joined[0].all.len()), (1, 1));
    }
    large
        .collection::<Collated>()
        .upsert(|c| c.id.eq(3), |c| c.other.set(1))
        .await
        .unwrap();
    assert_eq!(
        small
            .collection::<Collated>()
            .delete_many(|c| c.id.gt(0))
            .await
            .unwrap()
            .deleted,
        1
    );
    assert_eq!(large.collection::<Collated>().find_all().await.unwrap().len(), 2);
    // And where an action says how strings compare.
    fill(db).await;
    let orders = db.for_tenant("ANN").collection::<Order>();
    let collation = doc! {"locale": "en", "strength": 1};
    assert_eq!(orders.find_all().collation(collation.clone()).await.unwrap(), []);
    let deleted = orders
        .delete_many(|o| o.id.gt(0))
        .collation(collation.clone())
        .await
        .unwrap();
    assert_eq!(deleted.deleted, 0);
    assert_eq!(
        orders
            .aggregate()
            .collation(collation.clone())
            .count()
            .await
            .unwrap(),
        0
    );
    let changed = orders
        .update_many(|o| o.id.gt(0), |o| o.total.inc(1))
        .collation(collation.clone());
    assert_eq!(changed.await.unwrap().matched, 0);
    let changed = orders
        .find_one_and_update(|o| o.id.gt(0), |o| o.total.inc(1))
        .collation(collation);
    assert_eq!(changed.await.unwrap(), None);
}

#[derive(Debug, Serialize, Deserialize, odm::Embedded)]
struct Joined {
    all: Vec<Collated>,
}
