//! The two sides of an archive: what one of them refuses, or takes back.

use bson::doc;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::archive::Archive;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_archive_that_could_be_rolled_back_alone_is_refused,
    a_document_that_the_other_side_cannot_have_is_an_error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "archive_users", index(keys(email), unique))]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    email: String,
}

fn user(id: i32, email: &str) -> User {
    User {
        id,
        email: email.to_owned(),
    }
}

async fn an_archive_that_could_be_rolled_back_alone_is_refused(db: &Db) {
    let old = db.database(&format!("{}_old", db.name())).unwrap();
    let users = db.collection::<User>();
    users.insert_many([user(1, "a"), user(2, "b")]).await.unwrap();
    // What is rolled back need not create it.
    old.collection::<User>().insert(user(9, "z")).await.unwrap();
    let archive = Archive::<User>::new(db, &old);
    archive.store(|u| u.id.eq(2)).await.unwrap();
    let (db, old) = (&db.clone(), &old);

    let refused = db.transaction(async |tx| {
        let there = tx.database(old.name())?;
        let error = Archive::<User>::new(db, &there)
            .store(|u| u.id.eq(1))
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.model()),
            (ErrorKind::InvalidArgument, Some("User"))
        );
        let back = Archive::<User>::new(&tx, old)
            .restore(|u| u.id.eq(2))
            .await
            .unwrap_err();
        assert_eq!(back.kind(), ErrorKind::InvalidArgument);
        let repair = Archive::<User>::new(&tx, old).repair().await.unwrap_err();
        assert_eq!(repair.kind(), ErrorKind::InvalidArgument);
        Err::<(), _>(Error::new(ErrorKind::Validation, "never"))
    });
    assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::Validation);
    let (live, archived) = (users.find_all().await.unwrap(), archive.archived().find_all());
    assert_eq!(
        (live, archived.sort(|u| u.id.asc()).await.unwrap()),
        (vec![user(1, "a")], vec![user(2, "b"), user(9, "z")],)
    );
    // In one transaction all of it is.
    let moved = db.transaction(async |tx| {
        let there = tx.database(old.name())?;
        Archive::<User>::new(&tx, &there).store(|u| u.id.eq(1)).await
    });
    assert_eq!(moved.await.unwrap().moved, 1);
    assert!(users.find_all().await.unwrap().is_empty());
    old.drop().await.unwrap();
}

async fn a_document_that_the_other_side_cannot_have_is_an_error(db: &Db) {
    let users = db.collection::<User>();
    users.sync_indexes().await.unwrap();
    let archive = Archive::<User>::new(db, db);
    archive.archived().sync_indexes().await.unwrap();
    users
        .insert_many([user(1, "a"), user(2, "b"), user(3, "c")])
        .await
        .unwrap();
    assert_eq!(archive.store(|u| u.id.gt(0)).await.unwrap().moved, 3);
    // A new user has the email of an archived one.
    users.insert(user(4, "b")).await.unwrap();
    let error = archive.restore(|u| u.id.gt(0)).await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    assert_eq!(error.id(), Some(&bson::Bson::Int32(2)), "{error}");
    // The others are back, it stays, and nothing is marked.
    let ids = async |of: &odm::Collection<User>| {
        let all = of.find_all().sort(|u| u.id.asc()).await.unwrap();
        all.iter().map(|user| user.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&users).await, [1, 3, 4]);
    assert_eq!(ids(archive.archived()).await, [2]);
    // So it is where a copy is to take another one's place.
    archive.store(|u| u.id.eq(1)).await.unwrap();
    users.insert(user(1, "b2")).await.unwrap();
    archive.archived().insert(user(5, "b2")).await.unwrap();
    let error = archive.store(|u| u.id.is_in([1, 3])).await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    assert_eq!(ids(&users).await, [1, 4]);
    assert_eq!(ids(archive.archived()).await, [1, 2, 3, 5]);
    for side in [users.raw(), archive.archived().raw()] {
        let marked = side.count(doc! { "_moving": { "$exists": true } });
        assert_eq!(marked.await.unwrap(), 0);
    }
    assert_eq!(archive.live().get(1).await.unwrap(), Some(user(1, "b2")));
}
