//! What errors say of keys and `_id`s under a collation.

use odm::bson::{Bson, Document, doc};
use odm::{CollectionDeclaration, Db, Error, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_refused_key_is_never_a_sort_key,
    an_id_of_another_case_is_named,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "logins", options = caseless)]
struct Login {
    #[serde(rename = "_id")]
    id: String,
    #[odm(unique)]
    login: String,
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

fn login(id: &str, login: &str) -> Login {
    Login {
        id: id.into(),
        login: login.into(),
    }
}

async fn prepared(db: &Db) {
    let logins = db.collection::<Login>();
    logins.create_declared().await.unwrap();
    logins.sync_indexes().await.unwrap();
    logins
        .insert_many([login("a", "Ann"), login("c", "joe")])
        .await
        .unwrap();
}

async fn a_refused_key_is_never_a_sort_key(db: &Db) {
    prepared(db).await;
    let logins = db.collection::<Login>();
    let known = |error: Error, value: Document| {
        assert_eq!(error.key_value(), Some(&value), "{error}");
        assert!(error.key_pattern().is_some());
    };
    let error = logins.insert(login("b", "aNN")).await.unwrap_err();
    known(error, doc! { "login": "aNN" });
    let error = logins.insert_many([login("b", "aNN")]).await.unwrap_err();
    known(error, doc! { "login": "aNN" });
    let error = logins.insert(login("A", "x")).await.unwrap_err();
    known(error, doc! { "_id": "A" });
    let bulk = logins
        .bulk_write()
        .insert(login("d", "x"))
        .insert(login("e", "ANN"));
    known(bulk.await.unwrap_err(), doc! { "login": "ANN" });
    let unknown = |error: Error| {
        assert!(error.is_duplicate_key());
        assert_eq!(error.key_value(), None, "{error}");
        assert_eq!(error.key_pattern(), Some(&doc! { "login": 1 }));
    };
    let update = logins.update_one(|l| l.id.eq("c"), |l| l.login.set("ANN"));
    unknown(update.await.unwrap_err());
    let found = logins.find_one_and_update(|l| l.id.eq("c"), |l| l.login.set("ANN"));
    unknown(found.await.unwrap_err());
    unknown(logins.save(login("f", "ANn")).await.unwrap_err());
}

async fn an_id_of_another_case_is_named(db: &Db) {
    prepared(db).await;
    let logins = db.collection::<Login>();
    for action in [logins.save(login("C", "joe")), logins.replace(login("C", "joe"))] {
        let error = action.await.unwrap_err();
        assert_eq!(
            (error.code(), error.id()),
            (Some(66), Some(&Bson::from("C"))),
            "{error}"
        );
    }
}
