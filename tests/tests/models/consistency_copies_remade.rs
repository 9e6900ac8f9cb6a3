//! Copies of what changes without a version of its own: derived fields, and documents of older shapes.

use odm::bson::{DateTime, Document, RawBson, RawDocument, doc};
use odm::{CopyOf, Db, Derivation, Derived, Embedded, Model, Ref};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    copies_of_a_derived_field_follow_its_sources,
    copies_follow_what_a_migration_changes,
}

#[derive(Debug)]
struct FullName;

impl Derivation for FullName {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["first".into(), "last".into()]
    }

    fn derive(person: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        let part = |name| person.get_str(name).unwrap_or_default();
        Ok(RawBson::String(format!("{} {}", part("first"), part("last"))))
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "named", copied_to(Signed, SignedLater))]
struct Named {
    #[serde(rename = "_id")]
    id: i32,
    first: String,
    last: String,
    full: Derived<FullName>,
    #[odm(version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Named))]
struct Signature {
    #[odm(source)]
    id: Ref<Named>,
    full: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "signed")]
struct Signed {
    #[serde(rename = "_id")]
    id: i32,
    by: Signature,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Named, eventual))]
struct LateSignature {
    #[odm(source)]
    id: Ref<Named>,
    full: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "signed_later")]
struct SignedLater {
    #[serde(rename = "_id")]
    id: i32,
    by: Vec<LateSignature>,
}

async fn copies_of_a_derived_field_follow_its_sources(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        let (named, signed) = (db.collection::<Named>(), db.collection::<Signed>());
        let ann = Named {
            id: 1,
            first: "Ann".into(),
            last: "Lee".into(),
            full: Derived::default(),
            version: 0,
        };
        named.insert(ann).await.unwrap();
        let ann = named.get(1).required().await.unwrap();
        let by = Signature::copy_of(&ann).unwrap();
        signed.insert(Signed { id: 1, by }).await.unwrap();
        let later = db.collection::<SignedLater>();
        let by = vec![LateSignature::copy_of(&ann).unwrap()];
        later.insert(SignedLater { id: 1, by }).await.unwrap();
        let raw = db.raw_collection("named");
        let check = async |expected: &str| {
            assert_eq!(signed.get(1).required().await.unwrap().by.full, expected);
            assert_eq!(signed.stale_copies().await.unwrap(), []);
            // For those that follow later.
            let waiting = raw.count(doc! { "copies_pending": { "$exists": true } });
            assert_eq!(waiting.await.unwrap(), 1);
            assert_eq!(named.propagate_pending().await.unwrap().holders, 1, "{expected}");
            assert_eq!(later.get(1).required().await.unwrap().by[0].full, expected);
            assert_eq!(named.propagate_pending().await.unwrap().sources, 0);
        };
        let one = named.update_one(|n| n.id.eq(1), |n| n.last.set("One"));
        one.await.unwrap();
        check("Ann One").await;
        let many = named.update_many(|n| n.id.eq(1), |n| n.last.set("Many"));
        many.await.unwrap();
        check("Ann Many").await;
        let both = named.update_one(|n| n.id.eq(1), |n| n.first.set("Bo") & n.last.set("Both"));
        both.await.unwrap();
        check("Bo Both").await;
        let mut tracked = named.get(1).tracked().required().await.unwrap();
        tracked.last = "Tracked".into();
        tracked.save(&named).await.unwrap();
        check("Bo Tracked").await;
        let found = named.find_one_and_update(|n| n.id.eq(1), |n| n.last.set("Found"));
        let found = found.return_new().await.unwrap().unwrap();
        assert_eq!(found.full.get().unwrap(), "Bo Found");
        check("Bo Found").await;
        let bulk = named
            .bulk_write()
            .update_one(|n| n.id.eq(1), |n| n.last.set("Bulk"));
        bulk.await.unwrap();
        check("Bo Bulk").await;
        let around = raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "last": "Raw" } });
        around.await.unwrap();
        assert_eq!(signed.get(1).required().await.unwrap().by.full, "Bo Bulk");
        assert_eq!(named.rederive(|n| n.id.eq(1)).await.unwrap().derived, 1);
        check("Bo Raw").await;
        db.drop().await.unwrap();
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(
    collection = "shouted",
    copied_to(Heard, HeardLater),
    schema_version = 2,
    migrate(shout)
)]
struct Shouted {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(version)]
    version: i64,
}

fn shout(document: &mut Document) -> odm::Result<()> {
    let name = document.get_str("name").unwrap_or_default().to_uppercase();
    document.insert("name", name);
    Ok(())
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Shouted))]
struct Echo {
    #[odm(source)]
    id: Ref<Shouted>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "heard")]
struct Heard {
    #[serde(rename = "_id")]
    id: i32,
    echoes: Vec<Echo>,
    #[odm(version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Shouted, eventual))]
struct LateEcho {
    #[odm(source)]
    id: Ref<Shouted>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "heard_later")]
struct HeardLater {
    #[serde(rename = "_id")]
    id: i32,
    echo: LateEcho,
}

async fn copies_follow_what_a_migration_changes(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        let (shouted, heard) = (db.collection::<Shouted>(), db.collection::<Heard>());
        let raw = db.raw_collection("shouted");
        let new = Shouted {
            id: 1,
            name: "a".into(),
            version: 0,
        };
        shouted.insert(new).await.unwrap();
        let now = shouted.get(1).required().await.unwrap();
        let echoes = vec![Echo::copy_of(&now).unwrap(), Echo::copy_of(&now).unwrap()];
        heard
            .insert(Heard {
                id: 1,
                echoes,
                version: 0,
            })
            .await
            .unwrap();
        let later = db.collection::<HeardLater>();
        let echo = LateEcho::copy_of(&now).unwrap();
        later.insert(HeardLater { id: 1, echo }).await.unwrap();
        let old = async |name: &str| {
            let old = doc! { "$set": { "name": name }, "$unset": { "schema_version": "" } };
            raw.update_one(doc! { "_id": 1 }, old).await.unwrap();
        };
        let is_marked = async || {
            let stored = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
            stored.contains_key("copies_pending")
        };
        let check = async |expected: &str, version: i64| {
            let holder = heard.get(1).required().await.unwrap();
            assert!(
                holder.echoes.iter().all(|echo| echo.name == expected),
                "{holder:?}"
            );
            assert_eq!(holder.version, version, "{expected}");
            assert_eq!(heard.stale_copies().await.unwrap(), []);
            assert_eq!(shouted.propagate_pending().await.unwrap().holders, 1);
            assert_eq!(later.get(1).required().await.unwrap().echo.name, expected);
            assert_eq!(shouted.propagate_pending().await.unwrap().holders, 0);
            assert!(!is_marked().await);
        };
        shouted.propagate_pending().await.unwrap();
        old("first").await;
        assert_eq!(shouted.migrate().await.unwrap().migrated, 1);
        check("FIRST", 1).await;
        old("second").await;
        shouted.find(|s| s.id.eq(1)).write_back().await.unwrap();
        check("SECOND", 2).await;
        old("third").await;
        let mut tracked = shouted.get(1).tracked().required().await.unwrap();
        tracked.name = "fourth".into();
        tracked.save(&shouted).await.unwrap();
        check("fourth", 4).await;
        // A migration that changes nothing that is copied has nothing to follow.
        old("FOURTH").await;
        assert_eq!(shouted.migrate().await.unwrap().migrated, 1);
        assert!(!is_marked().await);
        db.drop().await.unwrap();
    }
}
