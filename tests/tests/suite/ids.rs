//! Ids that are newtypes over what has an encoding of its own; the order of bools.

use odm::{Db, Embedded, Model, Ref};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

crate::on_every_backend! {
    ids_may_be_newtypes_over_any_encoding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
struct UserId(#[serde(with = "odm::as_bson")] Uuid);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct User {
    #[serde(rename = "_id")]
    id: UserId,
    #[odm(inverse = by_boss)]
    boss: Option<Ref<User>>,
    pinned: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(try_from = "String", into = "String")]
struct Email(String);
impl TryFrom<String> for Email {
    type Error = String;
    fn try_from(s: String) -> Result<Email, String> {
        if s.contains('@') {
            Ok(Email(s))
        } else {
            Err("no".into())
        }
    }
}
impl From<Email> for String {
    fn from(e: Email) -> String {
        e.0
    }
}
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Acct {
    #[serde(rename = "_id")]
    id: Email,
}

async fn ids_may_be_newtypes_over_any_encoding(db: &Db) {
    let users = db.collection::<User>();
    let a = User {
        id: UserId(Uuid::from_u128(1)),
        boss: None,
        pinned: true,
    };
    let b = User {
        id: UserId(Uuid::from_u128(2)),
        boss: Some(Ref::to(&a)),
        pinned: false,
    };
    users.insert_many([&b, &a]).await.unwrap();
    assert_eq!(users.get(a.id).await.unwrap(), Some(a.clone()));
    let found = users
        .find_all()
        .sort(|u| u.pinned.desc())
        .load(|u| u.boss)
        .await
        .unwrap();
    assert_eq!(found, [(a.clone(), None), (b.clone(), Some(a.clone()))]);
    assert_eq!(
        users.count(|u| u.boss.eq(&a) & u.pinned.lt(true)).await.unwrap(),
        1
    );
    db.collection::<Acct>()
        .insert(Acct {
            id: Email("a@b".into()),
        })
        .await
        .unwrap();
    assert!(
        db.collection::<Acct>()
            .get(Email("a@b".into()))
            .await
            .unwrap()
            .is_some()
    );
    db.drop_database().await.unwrap();
    assert!(!users.exists(|u| u.pinned.eq(true)).await.unwrap());
}
