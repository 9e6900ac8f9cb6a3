//! Texts as tenants are told apart by their bytes, whatever the collation is by which their collection compares.

use bson::{Bson, Document, doc};
use odm::{Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_kind_in_a_collection_that_compares_otherwise,
    a_collection_whose_collation_no_model_declares,
    merges_write_over_no_others,
    all_texts_are_told_apart,
    indexes_serve_and_cover,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    lives: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", options = without_case)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Pet {
    Cat(Cat),
}

fn without_case() -> odm::CollectionDeclaration {
    odm::CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

async fn a_kind_in_a_collection_that_compares_otherwise(db: &Db) {
    db.across_tenants()
        .collection::<Pet>()
        .create_declared()
        .await
        .unwrap();
    let (small, large) = (db.for_tenant("ann"), db.for_tenant("ANN"));
    for (id, db) in [(1, &small), (2, &large)] {
        let cat = Cat {
            id,
            owner: None,
            lives: 9,
        };
        db.collection::<Cat>().insert(cat).await.unwrap();
    }
    let cats = small.collection::<Cat>();
    assert_eq!(cats.estimated_count().await.unwrap(), 1);
    assert_eq!(cats.aggregate().count().await.unwrap(), 1);
    assert_eq!(
        cats.distinct(|c| c.owner).await.unwrap(),
        [Some("ann".to_owned())]
    );
    assert_eq!(
        cats.update_many(|c| c.lives.eq(9), |c| c.lives.set(8))
            .await
            .unwrap()
            .matched,
        1
    );
    assert_eq!(
        cats.raw()
            .update_many(doc! {}, doc! { "$inc": { "lives": 1 } })
            .await
            .unwrap()
            .matched,
        1
    );
    assert_eq!(cats.delete_many(|c| c.id.gt(0)).await.unwrap().deleted, 1);
    assert_eq!(large.collection::<Cat>().find_all().await.unwrap().len(), 1);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "sheets",
    index(keys(owner, number)),
    index(unique, keys(owner, place))
)]
#[expect(clippy::duplicated_attributes, reason = "a key may be in several indexes")]
struct Sheet {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    number: i32,
    place: i32,
}

fn sheet(id: i32) -> Sheet {
    Sheet {
        id,
        owner: None,
        number: id,
        place: id % 10,
    }
}

async fn a_collection_whose_collation_no_model_declares(db: &Db) {
    let all = db.across_tenants();
    let collation = doc! { "locale": "en", "strength": 1 };
    all.create_collection("sheets")
        .collation(collation)
        .await
        .unwrap();
    let (small, large) = (db.for_tenant("ann"), db.for_tenant("Änn"));
    for (id, db) in [(1, &small), (11, &large)] {
        let sheets = db.collection::<Sheet>();
        sheets.insert_many([sheet(id), sheet(id + 1)]).await.unwrap();
        assert_eq!(sheets.find_all().await.unwrap().len(), 2);
        assert_eq!(sheets.get(12 - id).await.unwrap(), None);
        // What an upsert makes is the tenant's.
        sheets
            .upsert(|s| s.id.eq(id + 2), |s| s.number.set(3))
            .await
            .unwrap();
    }
    let sheets = small.collection::<Sheet>();
    let changed = sheets.find_one_and_update(|s| s.number.gt(10), |s| s.number.set(0));
    assert_eq!(changed.await.unwrap(), None);
    let joined = sheets.aggregate().union_with::<Sheet>(|sheets| sheets).count();
    assert_eq!(joined.await.unwrap(), 6);
    assert_eq!(sheets.delete_many(|s| s.id.gt(0)).await.unwrap().deleted, 3);
    assert_eq!(large.collection::<Sheet>().estimated_count().await.unwrap(), 3);
}

async fn merges_write_over_no_others(db: &Db) {
    let all = db.across_tenants();
    let collation = doc! { "locale": "en", "strength": 2 };
    all.create_collection("sheets")
        .collation(collation)
        .await
        .unwrap();
    let (small, large) = (db.for_tenant("ann"), db.for_tenant("ANN"));
    let sheets = small.collection::<Sheet>();
    sheets.insert(sheet(1)).await.unwrap();
    // Before there is an index, which would take both for the same.
    all.collection::<Sheet>().create_indexes().await.unwrap();
    let merged = |number: i32| {
        let set = doc! { "$set": { "number": number } };
        let made = sheets.aggregate().raw(set).merge_into(&sheets);
        made.on(|s| s.owner).on(|s| s.place)
    };
    merged(7).await.unwrap();
    assert_eq!(
        sheets.get(1).required().await.unwrap(),
        Sheet {
            number: 7,
            owner: Some("ann".to_owned()),
            ..sheet(1)
        }
    );
    merged(8)
        .when_matched(odm::expr::WhenMatched::Replace)
        .await
        .unwrap();
    assert_eq!(
        sheets.get(1).required().await.unwrap(),
        Sheet {
            number: 8,
            owner: Some("ann".to_owned()),
            ..sheet(1)
        }
    );
    merged(9)
        .update(|new, _| new.number.of(new.number.value() + 1))
        .await
        .unwrap();
    assert_eq!(sheets.get(1).required().await.unwrap().number, 9);
    sheets.delete(1).await.unwrap();
    large.collection::<Sheet>().insert(sheet(2)).await.unwrap();
    let before = all.collection::<Sheet>().find_all().await.unwrap();
    // Of nothing.
    let made = || {
        let documents = doc! { "$set": { "_id": 5, "place": 2, "number": 5 } };
        let other = small.collection::<Source>();
        other
            .aggregate()
            .raw(documents)
            .into::<Sheet>()
            .merge_into(&sheets)
            .on(|s| s.owner)
            .on(|s| s.place)
    };
    all.create_collection("sources")
        .collation(doc! { "locale": "en", "strength": 2 })
        .await
        .unwrap();
    small
        .collection::<Source>()
        .insert(Source { id: 1, owner: None })
        .await
        .unwrap();
    for merge in [
        made(),
        made().when_matched(odm::expr::WhenMatched::Replace),
        made().update(|new, _| new.number.of(1)),
    ] {
        let error = merge.await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Tenant, Some("owner")),
            "{error:?}"
        );
        assert_eq!(all.collection::<Sheet>().find_all().await.unwrap(), before);
    }
    made()
        .when_matched(odm::expr::WhenMatched::KeepExisting)
        .await
        .unwrap();
    assert_eq!(all.collection::<Sheet>().find_all().await.unwrap(), before);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sources")]
struct Source {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
}

async fn all_texts_are_told_apart(db: &Db) {
    let long = "x".repeat(40_000);
    let tenants = [
        "",
        " ",
        "ann",
        "Ann",
        "ann\n",
        "\nann",
        "a.n",
        "^ann",
        "ann\\z",
        "a\0n",
        "$ann",
        "[a]nn",
        "é",
        "e\u{301}",
        "(?i)ann",
        "ann|bob",
        "\\Qann\\E",
        "a{3}",
        "#",
        "日本",
        long.as_str(),
    ];
    for (id, tenant) in (0..).zip(tenants) {
        db.for_tenant(tenant.to_owned())
            .collection::<Source>()
            .insert(Source { id, owner: None })
            .await
            .unwrap();
    }
    for (id, tenant) in (0..).zip(tenants) {
        let sources = db.for_tenant(tenant.to_owned()).collection::<Source>();
        let found = sources.find_all().await.unwrap();
        assert_eq!(
            found.iter().map(|source| source.id).collect::<Vec<_>>(),
            [id],
            "{tenant}"
        );
        let caseless = doc! { "locale": "en", "strength": 1 };
        assert_eq!(
            sources.find_all().collation(caseless).await.unwrap().len(),
            1,
            "{tenant}"
        );
        sources
            .upsert(
                |s| s.id.eq(id + 100),
                |s| s.owner.set_on_insert(tenant.to_owned()),
            )
            .await
            .unwrap();
        // What is asked for already is not asked for twice.
        let own = sources.upsert(
            |s| s.owner.eq(tenant) & s.id.eq(id + 200),
            |s| s.owner.set(tenant.to_owned()),
        );
        assert_eq!(own.await.unwrap().matched, 0, "{tenant}");
        let own = sources.upsert(
            |s| s.owner.eq(tenant) & s.id.eq(id + 200),
            |s| s.owner.set(tenant.to_owned()),
        );
        assert_eq!(own.await.unwrap().matched, 1, "{tenant}");
        assert_eq!(
            sources.delete_many(|s| s.id.gte(0)).await.unwrap().deleted,
            3,
            "{tenant}"
        );
    }
    assert_eq!(
        db.across_tenants()
            .collection::<Source>()
            .find_all()
            .await
            .unwrap(),
        []
    );
}

async fn indexes_serve_and_cover(db: &Db) {
    let sheets = db.for_tenant("ann").collection::<Sheet>();
    sheets.create_indexes().await.unwrap();
    for (tenant, first) in [("ann", 0), ("ANN", 100)] {
        let own = db.for_tenant(tenant).collection::<Sheet>();
        own.insert_many((first..first + 10).map(sheet)).await.unwrap();
    }
    let figures = async |explain: odm::action::Explain| {
        let plan = explain.executed().await.unwrap();
        let figure = |name: &str| figure(&Bson::Document(plan.clone()), name).unwrap_or(-1);
        (figure("totalKeysExamined"), figure("totalDocsExamined"))
    };
    let find = sheets
        .find(|s| s.number.gte(0))
        .sort(|s| s.number.asc())
        .explain();
    assert_eq!(figures(find).await, (10, 10));
    let covered = sheets
        .find(|s| s.number.gte(0))
        .project_raw(doc! { "_id": 0, "number": 1 })
        .explain();
    assert_eq!(figures(covered).await, (10, 0));
    assert_eq!(sheets.count(|s| s.number.lt(5)).await.unwrap(), 5);
}

/// The first number of this name in a document.
fn figure(value: &Bson, name: &str) -> Option<i64> {
    let document: &Document = value.as_document()?;
    if let Some(found) = document.get(name) {
        return found.as_i64().or(found.as_i32().map(i64::from));
    }
    document.values().find_map(|inner| figure(inner, name))
}
