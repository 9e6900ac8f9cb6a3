//! Collations of the typed operations, of models and of their indexes.

use bson::{Document, doc};
use odm::{CollectionDeclaration, Db, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_action_takes_a_collation,
    models_declare_collations_of_collections_and_indexes,
    pages_go_by_the_collation,
    transactions_compare_by_collations,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    tags: Vec<String>,
}

fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

fn person(id: i32, name: &str) -> Person {
    Person {
        id,
        name: name.to_owned(),
        tags: vec![name.to_owned()],
    }
}

async fn every_action_takes_a_collation(db: &Db) {
    let people = db.collection::<Person>();
    let all = [
        person(1, "ann"),
        person(2, "Bob"),
        person(3, "ANN"),
        person(4, "bo"),
    ];
    people.insert_many(all.clone()).await.unwrap();
    let found = people
        .find(|p| p.name.eq("Ann"))
        .sort(|p| p.id.desc())
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!(found, [all[2].clone(), all[0].clone()]);
    let sorted = people
        .find(|p| p.id.gt(0))
        .sort(|p| p.name.asc() & p.id.asc())
        .collation(caseless());
    let ids: Vec<i32> = sorted.await.unwrap().iter().map(|p| p.id).collect();
    assert_eq!(ids, [1, 3, 4, 2]);
    let one = people
        .find_one(|p| p.name.eq("BOB"))
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!(one.map(|p| p.id), Some(2));
    assert_eq!(
        people
            .count(|p| p.name.lt("B"))
            .collation(caseless())
            .await
            .unwrap(),
        2
    );
    assert_eq!(people.count(|p| p.name.lt("B")).await.unwrap(), 1);
    assert!(
        people
            .exists(|p| p.name.eq("BO"))
            .collation(caseless())
            .await
            .unwrap()
    );
    let names: Vec<String> = people.distinct(|p| p.name).collation(caseless()).await.unwrap();
    assert_eq!(names.len(), 3);
    let done = people
        .update_many(|p| p.name.eq("Ann"), |p| p.tags.push("a"))
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!(done.matched, 2);
    let done = people
        .update_one(|p| p.id.eq(2), |p| p.tags.add_to_set("BOB"))
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!((done.matched, done.modified), (1, 0));
    let changed = people
        .find_one_and_update(|p| p.name.eq("BO"), |p| p.name.set("Bo"))
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!(changed.map(|p| p.name), Some("bo".to_owned()));
    let grouped: Vec<Document> = people
        .aggregate_raw(vec![
            doc! { "$group": { "_id": "$name", "n": { "$sum": 1 } } },
            doc! { "$sort": { "_id": 1 } },
            doc! { "$project": { "_id": 0 } },
        ])
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!(grouped, [doc! { "n": 2 }, doc! { "n": 1 }, doc! { "n": 1 }]);
    let gone = people
        .delete_many(|p| p.name.eq("ANN"))
        .collation(caseless())
        .await
        .unwrap();
    assert_eq!(gone.deleted, 2);
    let error = people
        .find(|p| p.id.eq(1))
        .collation(doc! { "locale": "xx" })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(2));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "accounts", options = collated, index(keys(email), unique), index(keys(token), unique, collation = bytes()))]
struct Account {
    #[serde(rename = "_id")]
    id: String,
    email: String,
    token: String,
}

fn collated() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(caseless())
}

fn bytes() -> Document {
    doc! { "locale": "simple" }
}

fn account(id: &str, email: &str, token: &str) -> Account {
    Account {
        id: id.to_owned(),
        email: email.to_owned(),
        token: token.to_owned(),
    }
}

async fn models_declare_collations_of_collections_and_indexes(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.create_declared().await.unwrap();
    accounts.create_indexes().await.unwrap();
    accounts
        .insert(account("a", "ann@example.com", "x"))
        .await
        .unwrap();
    for clash in [
        account("A", "other@example.com", "y"),
        account("b", "Ann@Example.com", "y"),
        account("b", "other@example.com", "x"),
    ] {
        let error = accounts.insert(clash).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    }
    accounts
        .insert(account("b", "bob@example.com", "X"))
        .await
        .unwrap();
    let found = accounts
        .find_one(|a| a.email.eq("ANN@EXAMPLE.COM"))
        .await
        .unwrap();
    assert_eq!(found.map(|a| a.id), Some("a".to_owned()));
    let found = accounts.get("B".to_owned()).await.unwrap();
    assert_eq!(found.map(|a| a.token), Some("X".to_owned()));
    assert_eq!(
        accounts
            .count(|a| a.email.eq("BOB@example.com"))
            .collation(bytes())
            .await
            .unwrap(),
        0
    );
    // What the database lists has all settings, and is no drift.
    assert!(accounts.index_drift().await.unwrap().is_empty());
    db.create_collection("made").collation(caseless()).await.unwrap();
    let made = db.collection_named::<Account>("made");
    made.insert(account("a", "x", "x")).await.unwrap();
    assert_eq!(made.count(|a| a.id.eq("A")).await.unwrap(), 1);
}

async fn pages_go_by_the_collation(db: &Db) {
    let people = db.collection::<Person>();
    let names = ["b", "A", "a", "B", "c", "C", "d", "á"];
    let all: Vec<Person> = names.iter().zip(1..).map(|(name, id)| person(id, name)).collect();
    people.insert_many(all).await.unwrap();
    let find = || {
        people
            .find(|p| p.id.gt(0))
            .sort(|p| p.name.asc())
            .collation(caseless())
    };
    let mut seen = Vec::new();
    let mut page = find().page(3).await.unwrap();
    loop {
        seen.extend(page.items.iter().map(|p| p.name.clone()));
        match page.next {
            Some(next) => page = find().page(3).after(next).await.unwrap(),
            None => break,
        }
    }
    assert_eq!(seen.len(), names.len());
    assert_eq!(
        seen.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>(),
        ["a", "a", "á", "b", "b", "c", "c", "d"]
    );
}

async fn transactions_compare_by_collations(db: &Db) {
    let people = db.collection::<Person>();
    people
        .insert_many([person(1, "ann"), person(2, "ANN")])
        .await
        .unwrap();
    db.transaction(async |tx| {
        let people = tx.collection::<Person>();
        people.insert(person(3, "Ann")).await?;
        assert_eq!(
            people
                .find(|p| p.name.eq("aNN"))
                .collation(caseless())
                .await?
                .len(),
            3
        );
        people
            .delete_many(|p| p.name.eq("aNN"))
            .collation(caseless())
            .await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(people.count(|p| p.id.gt(0)).await.unwrap(), 0);
}
