//! What becomes of documents when one that they refer to is deleted.

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Ref};

use super::consistency_models::*;
use odm_tests::plain::Plain;

crate::on_every_backend! {
    each_rule_is_carried_out,
    every_way_to_delete_carries_them_out,
    a_deletion_is_part_of_the_running_transaction,
    what_denies_is_named_and_nothing_is_written,
    a_batch_with_a_denied_deletion_says_which,
    a_batch_that_fails_in_its_middle_ends_its_transaction,
    circles_end,
    soft_deletions_carry_them_out_softly,
    references_by_another_field_have_rules,
    rules_go_the_way_of_every_write,
    other_collections_and_raw_writes_are_left_alone,
    the_number_of_round_trips_does_not_grow,
    a_crash_at_any_write_leaves_what_a_second_try_finishes,
}

async fn ids(db: &Db, collection: &str) -> Vec<i32> {
    let documents = db
        .raw_collection(collection)
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 });
    let documents = documents.await.unwrap();
    documents
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

/// What is there when house 1 is gone.
async fn assert_without_house_1(db: &Db) {
    assert_eq!(ids(db, "houses").await, [2]);
    assert_eq!(ids(db, "titles").await, [21]);
    assert_eq!(ids(db, "reviews").await, [3]);
    let imprints = db
        .collection::<Imprint>()
        .find_all()
        .sort(|i| i.id.asc())
        .await
        .unwrap();
    let houses: Vec<_> = imprints.iter().map(|imprint| imprint.house).collect();
    assert_eq!(houses, [None, Some(Ref::new(2)), None]);
    let awards = db
        .collection::<Award>()
        .find_all()
        .sort(|a| a.id.asc())
        .await
        .unwrap();
    assert_eq!(awards[0].winners, [Ref::new(2)]);
    assert_eq!(awards[1].winners, [Ref::new(2)]);
    let shelf = db.collection::<Shelf>().get(1).required().await.unwrap();
    assert_eq!((shelf.titles, shelf.first), (vec![Ref::new(21)], None));
}

async fn each_rule_is_carried_out(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        houses(&db).await;
        assert_eq!(db.collection::<House>().delete(1).await.unwrap().deleted, 1);
        assert_without_house_1(&db).await;
        assert_eq!(db.collection::<House>().delete(1).await.unwrap().deleted, 0);
        db.drop().await.unwrap();
    }
}

async fn every_way_to_delete_carries_them_out(db: &Db) {
    let collection = db.collection::<House>();
    houses(db).await;
    assert_eq!(
        collection
            .delete_one(|h| h.name.eq("house 1"))
            .await
            .unwrap()
            .deleted,
        1
    );
    assert_without_house_1(db).await;
    db.drop().await.unwrap();

    houses(db).await;
    assert_eq!(collection.delete_many(|h| h.id.lte(1)).await.unwrap().deleted, 1);
    assert_without_house_1(db).await;
    db.drop().await.unwrap();

    houses(db).await;
    let taken = collection
        .find_one_and_delete(|h| h.id.gt(0))
        .sort(|h| h.id.asc());
    assert_eq!(taken.await.unwrap().unwrap().id, 1);
    assert_without_house_1(db).await;
    assert_eq!(
        collection.find_one_and_delete(|h| h.id.eq(1)).await.unwrap(),
        None
    );
    db.drop().await.unwrap();

    houses(db).await;
    let extra = House {
        id: 3,
        name: "house 3".into(),
    };
    let bulk = collection
        .bulk_write()
        .insert(&extra)
        .update_one(|h| h.id.eq(2), |h| h.name.set("second"))
        .delete_many(|h| h.name.is_in(["house 1", "house 3"]))
        .update_one(|h| h.id.eq(2), |h| h.name.set("house 2"));
    let bulk = bulk.await.unwrap();
    assert_eq!((bulk.inserted, bulk.deleted, bulk.modified), (1, 2, 2));
    assert_without_house_1(db).await;
    db.drop().await.unwrap();

    // Of the two that match, the first is deleted, and what refers to the other stays.
    houses(db).await;
    assert_eq!(collection.delete_one(|h| h.id.gt(0)).await.unwrap().deleted, 1);
    assert_eq!(ids(db, "houses").await.len(), 1);
    assert_eq!(ids(db, "titles").await, [21]);
}

async fn a_deletion_is_part_of_the_running_transaction(db: &Db) {
    houses(db).await;
    let before = stored(db).await;
    let failed = db.transaction(async |tx| {
        tx.collection::<House>().delete(1).await?;
        assert_without_house_1(&tx).await;
        Err::<(), _>(Error::new(ErrorKind::InvalidArgument, "no"))
    });
    assert_eq!(failed.await.unwrap_err().message(), "no");
    assert_eq!(stored(db).await, before);
    db.transaction(async |tx| tx.collection::<House>().delete(1).await)
        .await
        .unwrap();
    assert_without_house_1(db).await;
}

async fn what_denies_is_named_and_nothing_is_written(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        houses(&db).await;
        let loan = |id, title| Loan {
            id,
            title: Ref::new(title),
        };
        let loans = db.collection::<Loan>();
        loans
            .insert_many([loan(1, 11), loan(2, 12), loan(3, 21)])
            .await
            .unwrap();
        let before = stored(&db).await;
        let collection = db.collection::<House>();
        let error = collection.delete(1).await.unwrap_err();
        let referring = error.referring().unwrap();
        assert_eq!(error.kind(), ErrorKind::Referenced);
        assert_eq!(
            (referring.model, referring.field, referring.count),
            ("Loan", "title", 2)
        );
        assert!(
            error.to_string().contains("referred to by: 2 of Loan.title"),
            "{error}"
        );
        assert_eq!(stored(&db).await, before);
        let error = collection.find_one_and_delete(|h| h.id.eq(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Referenced);
        let error = db
            .collection::<Title>()
            .delete_many(|t| t.id.gt(0))
            .await
            .unwrap_err();
        assert_eq!(error.referring().unwrap().count, 3);
        assert_eq!(stored(&db).await, before);
        loans.delete_many(|l| l.id.lte(2)).await.unwrap();
        collection.delete(1).await.unwrap();
        assert_without_house_1(&db).await;
        db.drop().await.unwrap();
    }
}

async fn a_batch_with_a_denied_deletion_says_which(db: &Db) {
    houses(db).await;
    let loan = Loan {
        id: 1,
        title: Ref::new(11),
    };
    db.collection::<Loan>().insert(loan).await.unwrap();
    let before = stored(db).await;
    let batch = |db: &Db| {
        let house = House {
            id: 9,
            name: "house 9".into(),
        };
        let batch = db.collection::<House>().bulk_write().insert(house);
        batch.delete_one(|h| h.id.eq(1)).delete_one(|h| h.id.eq(2))
    };
    // In a transaction: nothing of it.
    let error = batch(db).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.write_errors()[0].index),
        (ErrorKind::Referenced, 1)
    );
    assert_eq!(error.partial_write().unwrap().summary.inserted, 0);
    assert_eq!(stored(db).await, before);
    // Without: what came before it, and in no order also what comes after.
    let plain = Plain::db(db);
    let error = batch(&plain).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.write_errors()[0].index),
        (ErrorKind::Referenced, 1)
    );
    assert_eq!(error.partial_write().unwrap().summary.inserted, 1);
    assert_eq!(ids(db, "houses").await, [1, 2, 9]);
    db.collection::<House>().delete(9).await.unwrap();
    let error = batch(&plain).unordered().await.unwrap_err();
    assert_eq!(error.partial_write().unwrap().summary.deleted, 1);
    assert_eq!(ids(db, "houses").await, [1, 9]);
    assert_eq!(ids(db, "titles").await, [11, 12]);
}

async fn circles_end(db: &Db) {
    let folder = |id, parent: Option<i32>, needs: &[i32]| Folder {
        id,
        parent: parent.map(Ref::new),
        needs: needs.iter().copied().map(Ref::new).collect(),
    };
    for db in [db.clone(), Plain::db(db)] {
        let folders = db.collection::<Folder>();
        // 1 and 2 are in each other, 3 in 2; 3 needs 1 and itself, which goes with it; 4 is elsewhere.
        folders
            .insert_many([
                folder(1, Some(2), &[]),
                folder(2, Some(1), &[]),
                folder(3, Some(2), &[1, 3]),
                folder(4, None, &[]),
            ])
            .await
            .unwrap();
        assert_eq!(folders.delete(1).await.unwrap().deleted, 1);
        assert_eq!(ids(&db, "folders").await, [4]);
        folders.insert(folder(5, None, &[4])).await.unwrap();
        assert_eq!(folders.delete(4).await.unwrap_err().referring().unwrap().count, 1);
        // Both at once deny each other nothing.
        assert_eq!(folders.delete_many(|f| f.id.gt(0)).await.unwrap().deleted, 2);
        // Its own parent.
        folders.insert(folder(6, Some(6), &[6])).await.unwrap();
        assert_eq!(folders.delete(6).await.unwrap().deleted, 1);
    }
}

async fn soft_deletions_carry_them_out_softly(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(7));
    let (accounts, devices) = (db.collection::<Account>(), db.collection::<Device>());
    accounts
        .insert_many([1, 2].map(|id| Account { id, deleted: None }))
        .await
        .unwrap();
    let device = |id, account| Device {
        id,
        account: Ref::new(account),
        deleted: None,
    };
    devices
        .insert_many([device(1, 1), device(2, 2), device(3, 1)])
        .await
        .unwrap();
    devices.delete(3).await.unwrap();
    let token = |id, account| Token {
        id,
        account: Ref::new(account),
    };
    db.collection::<Token>()
        .insert_many([token(1, 1), token(2, 2)])
        .await
        .unwrap();
    assert_eq!(accounts.delete(1).await.unwrap().deleted, 1);
    assert_eq!(ids(&db, "accounts").await, [1, 2]);
    assert_eq!(ids(&db, "devices").await, [1, 2, 3]);
    let device = devices.get(1).with_deleted().required().await.unwrap();
    assert_eq!(device.deleted, Some(db.now()));
    assert_eq!(devices.find_all().await.unwrap().len(), 1);
    // What cannot be deleted softly is gone.
    assert_eq!(ids(&db, "tokens").await, [2]);
    assert_eq!(accounts.purge(|a| a.id.eq(1)).await.unwrap().deleted, 1);
    assert_eq!(ids(&db, "devices").await, [2]);
    assert_eq!(accounts.delete(2).for_ever().await.unwrap().deleted, 1);
    assert_eq!(ids(&db, "devices").await, [0; 0]);
    assert_eq!(ids(&db, "accounts").await, [0; 0]);
}

async fn references_by_another_field_have_rules(db: &Db) {
    let part = |id, number: &str| Part {
        id,
        number: number.to_owned(),
    };
    let parts = db.collection::<Part>();
    parts.insert_many([part(1, "a"), part(2, "b")]).await.unwrap();
    let kit = |id, main: Option<&str>| Kit {
        id,
        parts: ["a", "b"].map(|number| number.to_owned().into()).into(),
        main: main.map(|number| number.to_owned().into()),
    };
    let kits = db.collection::<Kit>();
    kits.insert_many([kit(1, None), kit(2, Some("a")), kit(3, Some("b"))])
        .await
        .unwrap();
    parts.delete(1).await.unwrap();
    let left = kits.find_all().sort(|k| k.id.asc()).await.unwrap();
    let left: Vec<_> = left.iter().map(|kit| (kit.id, kit.parts.len())).collect();
    assert_eq!(left, [(1, 1), (3, 1)]);
}

async fn rules_go_the_way_of_every_write(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(9));
    houses(&db).await;
    db.collection::<House>().delete(1).await.unwrap();
    let imprints = db
        .collection::<Imprint>()
        .find_all()
        .sort(|i| i.id.asc())
        .await
        .unwrap();
    let times: Vec<_> = imprints
        .iter()
        .map(|imprint| imprint.updated.timestamp_millis())
        .collect();
    assert_eq!(times, [9, 0, 0]);
}

async fn other_collections_and_raw_writes_are_left_alone(db: &Db) {
    houses(db).await;
    let old = db.collection_named::<House>("old_houses");
    let house = House {
        id: 1,
        name: "old".into(),
    };
    old.insert(house).await.unwrap();
    assert_eq!(old.delete(1).await.unwrap().deleted, 1);
    assert_eq!(ids(db, "titles").await, [11, 12, 21]);
    let raw = db.collection::<House>().raw();
    assert_eq!(raw.delete_one(doc! { "_id": 1 }).await.unwrap().deleted, 1);
    assert_eq!(ids(db, "titles").await, [11, 12, 21]);
}

async fn the_number_of_round_trips_does_not_grow(db: &Db) {
    let mut trips = Vec::new();
    for count in [1, 1000] {
        houses(db).await;
        let titles = (0..count).map(|n| Title {
            id: 1000 + n,
            house: Ref::new(1),
        });
        db.collection::<Title>().insert_many(titles).await.unwrap();
        let (logged, log) = db.logged();
        logged.collection::<House>().delete(1).await.unwrap();
        trips.push(log.round_trips());
        assert_without_house_1(db).await;
        db.drop().await.unwrap();
    }
    assert_eq!(trips[0], trips[1]);
}

async fn a_crash_at_any_write_leaves_what_a_second_try_finishes(db: &Db) {
    for with_transactions in [true, false] {
        let base = match with_transactions {
            true => db.clone(),
            false => Plain::db(db),
        };
        let mut crashes = 0;
        loop {
            houses(&base).await;
            let before = stored(&base).await;
            let (faulty, faults) = base.faulty();
            faults.add(Fault::nth_write(crashes + 1).crash());
            let outcome = faulty.collection::<House>().delete(1).await;
            if outcome.is_ok() {
                assert_without_house_1(&base).await;
                break;
            }
            if with_transactions {
                assert_eq!(stored(&base).await, before);
            } else {
                // The house is there until nothing refers to it.
                assert_eq!(ids(&base, "houses").await, [1, 2]);
                let titles = ids(&base, "titles").await;
                for review in base.collection::<Review>().find_all().await.unwrap() {
                    assert!(titles.contains(review.title.key()));
                }
            }
            assert_eq!(base.collection::<House>().delete(1).await.unwrap().deleted, 1);
            assert_without_house_1(&base).await;
            base.drop().await.unwrap();
            crashes += 1;
        }
        // Imprints, awards, shelves twice, reviews, titles, houses; and the commit.
        assert_eq!(crashes, 7 + u64::from(with_transactions));
        base.drop().await.unwrap();
    }
}

async fn a_batch_that_fails_in_its_middle_ends_its_transaction(db: &Db) {
    if !db.capabilities().transactions {
        return;
    }
    houses(db).await;
    let loan = Loan {
        id: 1,
        title: Ref::new(21),
    };
    db.collection::<Loan>().insert(loan).await.unwrap();
    let before = stored(db).await;
    let error = db
        .transaction(async |tx| {
            let batch = tx.collection::<House>().bulk_write();
            let batch = batch.delete_one(|h| h.id.eq(1)).delete_one(|h| h.id.eq(2));
            assert_eq!(batch.await.unwrap_err().kind(), ErrorKind::Referenced);
            Ok::<_, Error>(())
        })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Referenced);
    assert_eq!(stored(db).await, before);
    // Nothing of it was written.
    db.transaction(async |tx| {
        let denied = tx.collection::<House>().delete(2).await;
        assert_eq!(denied.unwrap_err().kind(), ErrorKind::Referenced);
        tx.collection::<House>().delete(1).await
    })
    .await
    .unwrap();
    assert_eq!(ids(db, "houses").await, [2]);
}
