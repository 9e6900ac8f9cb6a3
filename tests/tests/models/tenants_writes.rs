//! Everything that writes, on two tenants' documents: of the other tenant's nothing is changed or deleted, and everything
//! that leaves for the database says which tenant it is about.

use std::future::IntoFuture as _;

use bson::doc;
use odm::backend::{FullDocument, FullDocumentBeforeChange};
use odm::{ChangeKind, Collection, Db, ErrorKind};
use odm_tests::witness::Witness;

use super::tenants_models::*;

crate::on_every_backend! {
    writes_change_the_tenants_alone,
    untyped_writes_change_the_tenants_alone,
    deletions_delete_the_tenants_alone,
    maintenance_is_about_the_tenants_alone,
    streams_of_changes_tell_of_the_tenants_alone,
    streams_of_changes_look_up_nothing_of_others,
    streams_of_changes_tell_nobody_of_what_is_given_away,
}

/// Whether a filter asks for documents of `ann` alone, told apart by bytes.
fn is_anns(filter: &bson::RawDocument) -> bool {
    let own = filter.get_document("o").unwrap();
    own.get_str("$eq").is_ok_and(|text| text == "ann") && matches!(own.get("$regex"), Ok(Some(_)))
}

async fn writes_change_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let orders = db.collection::<Order>();
        assert_eq!(
            orders
                .update_one(|o| o.id.eq(11), |o| o.tags.push("x".to_owned()))
                .await
                .unwrap()
                .matched,
            0
        );
        assert_eq!(
            orders
                .update_many(|o| o.id.gt(0), |o| o.tags.push("x".to_owned()))
                .await
                .unwrap()
                .matched,
            4
        );
        assert_eq!(
            orders
                .update_many(|o| o.id.gt(0), |o| o.total.set_to(o.total.value() + 1))
                .await
                .unwrap()
                .matched,
            4
        );
        assert_eq!(
            orders
                .replace_one(|o| o.id.eq(11), order(11, None, 1))
                .await
                .unwrap()
                .matched,
            0
        );
        assert_eq!(orders.replace(order(11, None, 1)).await.unwrap().matched, 0);
        assert!(orders.save(order(11, None, 1)).await.is_err());
        assert_eq!(
            orders
                .find_one_and_update(|o| o.id.gt(4), |o| o.total.inc(1))
                .await
                .unwrap(),
            None
        );
        assert_eq!(
            orders
                .find_one_and_update(|o| o.id.gt(0), |o| o.total.inc(1))
                .sort(|o| o.id.desc())
                .return_new()
                .await
                .unwrap()
                .unwrap()
                .id,
            4
        );
        assert_eq!(
            orders
                .find_one_and_replace(|o| o.id.gt(4), order(11, None, 1))
                .await
                .unwrap(),
            None
        );
        orders
            .update_many(|o| o.id.gt(0), |o| o.total.inc(1))
            .explain()
            .await
            .unwrap();
        let bulk = orders
            .bulk_write()
            .update_one(|o| o.id.eq(11), |o| o.total.inc(1))
            .update_many(|o| o.id.gt(0), |o| o.total.inc(1))
            .replace_one(|o| o.id.eq(12), order(12, None, 1))
            .insert(order(20, None, 1))
            .unordered()
            .await
            .unwrap();
        assert_eq!((bulk.matched, bulk.inserted), (4, 1));
        let prepared = orders
            .bulk_write()
            .update_many(|o| o.id.gt(0), |o| o.total.inc(1))
            .insert(order(21, None, 1))
            .prepared();
        let prepared = prepared.await.unwrap();
        for statement in prepared.statements() {
            match statement {
                odm::backend::WriteStatement::Insert(document) => {
                    assert_eq!(document.get_str("o").unwrap(), "ann")
                }
                odm::backend::WriteStatement::Update(update) => {
                    assert!(is_anns(&update.filter))
                }
                odm::backend::WriteStatement::Delete(delete) => {
                    assert!(is_anns(&delete.filter))
                }
            }
        }
        let prepared = orders.insert_many([order(22, None, 1)]).prepared().await.unwrap();
        assert_eq!(prepared[0].get_str("o").unwrap(), "ann");
        // Without the model too.
        let raw = orders.raw();
        let prepared = raw.bulk_write().delete_many(doc! {}).prepared().await.unwrap();
        let odm::backend::WriteStatement::Delete(delete) = &prepared.statements()[0] else {
            panic!("a delete")
        };
        assert!(is_anns(&delete.filter));
        let prepared = raw.insert_many([doc! {"_id": 30}]).prepared().await.unwrap();
        assert_eq!(prepared[0].get_str("o").unwrap(), "ann");
        let foreign = raw
            .insert_many([doc! {"_id": 30, "o": "bob"}])
            .prepared()
            .await
            .unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::Tenant);
        let many = orders
            .insert_many([order(11, None, 1), order(23, None, 1)])
            .unordered()
            .ignore_duplicates();
        assert_eq!(many.await.unwrap().ids, [23]);
        let mut tracked = orders.find_one(|o| o.id.eq(2)).tracked().await.unwrap().unwrap();
        tracked.tags.clear();
        tracked.save(&orders).await.unwrap();
        let raced = orders.update_one(|o| o.id.eq(2), |o| o.total.inc(1));
        raced.await.unwrap();
        tracked.tags.push("y".into());
        assert_eq!(
            tracked.save(&orders).await.unwrap_err().kind(),
            ErrorKind::Conflict
        );
        let error = orders.replace(order(3, None, 1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(
            orders
                .replace_stored(bson::rawdoc! {"_id": 11, "x": 1})
                .await
                .unwrap()
                .matched,
            0
        );
        let found = orders
            .find_or_insert(|o| o.id.eq(2), || order(2, None, 1))
            .await
            .unwrap();
        assert_eq!(found.0.id, 2);
        db.transaction(async |tx| {
            let orders = tx.collection::<Order>();
            orders.update_many(|o| o.id.gt(0), |o| o.total.inc(1)).await?;
            orders.save(order(30, None, 1)).await?;
            orders
                .raw()
                .update_many(doc! {}, doc! {"$inc": {"total": 1}})
                .await?;
            Ok(())
        })
        .await
        .unwrap();
    })
    .await;
}

async fn untyped_writes_change_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let orders = db.collection::<Order>().raw();
        let inc = || doc! {"$inc": {"total": 1}};
        assert_eq!(
            orders.update_one(doc! {"_id": 11}, inc()).await.unwrap().matched,
            0
        );
        assert_eq!(orders.update_many(doc! {}, inc()).await.unwrap().matched, 4);
        assert_eq!(
            orders
                .update_many(doc! {"o": {"$in": ["ann", "bob"]}}, inc())
                .await
                .unwrap()
                .matched,
            4
        );
        assert_eq!(
            orders
                .replace_one(doc! {"_id": 11}, doc! {"x": 1})
                .await
                .unwrap()
                .matched,
            0
        );
        assert_eq!(orders.replace(doc! {"_id": 12, "x": 1}).await.unwrap().matched, 0);
        assert_eq!(
            orders.find_one_and_update(doc! {"_id": 11}, inc()).await.unwrap(),
            None
        );
        assert_eq!(
            orders
                .find_one_and_replace(doc! {"_id": 11}, doc! {"x": 1})
                .await
                .unwrap(),
            None
        );
        assert_eq!(orders.find_one_and_delete(doc! {"_id": 11}).await.unwrap(), None);
        assert!(orders.save(doc! {"_id": 11, "x": 1}).await.is_err());
        let bulk = orders
            .bulk_write()
            .update_one(doc! {"_id": 11}, inc())
            .update_many(doc! {}, inc())
            .replace_one(doc! {"_id": 11}, doc! {"x": 1})
            .delete_one(doc! {"_id": 11})
            .delete_many(doc! {"_id": {"$gt": 3}})
            .insert(doc! {"_id": 40})
            .await
            .unwrap();
        assert_eq!((bulk.matched, bulk.deleted, bulk.inserted), (4, 1, 1));
        assert_eq!(orders.delete(bson::Bson::Int32(11)).await.unwrap().deleted, 0);
        assert_eq!(orders.delete_one(doc! {"o": "bob"}).await.unwrap().deleted, 0);
        assert_eq!(orders.delete_many(doc! {}).await.unwrap().deleted, 4);
    })
    .await;
}

async fn deletions_delete_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let (orders, customers) = (db.collection::<Order>(), db.collection::<Customer>());
        assert_eq!(orders.delete(11).await.unwrap().deleted, 0);
        assert_eq!(orders.delete_one(|o| o.id.gt(4)).await.unwrap().deleted, 0);
        assert_eq!(orders.find_one_and_delete(|o| o.id.gt(4)).await.unwrap(), None);
        assert_eq!(
            orders
                .bulk_write()
                .delete_one(|o| o.id.eq(11))
                .delete_many(|o| o.id.gt(3))
                .await
                .unwrap()
                .deleted,
            1
        );
        orders.delete_many(|o| o.id.gt(0)).explain().await.unwrap();
        // Bob's first order refers to ann's customer 1, and stays.
        assert_eq!(customers.delete(1).await.unwrap().deleted, 1);
        assert_eq!(ids(&orders.find_all().await.unwrap()), [1]);
        assert_eq!(customers.count(|c| c.boss.is_null()).await.unwrap(), 2);
        assert_eq!(orders.purge(|o| o.id.gt(0)).await.unwrap().deleted, 1);
        assert_eq!(customers.delete_many(|c| c.id.gt(0)).await.unwrap().deleted, 2);
        assert_eq!(
            db.collection::<Company>()
                .delete_many(|c| c.name.gt(""))
                .await
                .unwrap()
                .deleted,
            1
        );
        customers.refuse_references(doc! {"_id": 11}).await.unwrap();
        customers
            .release_references(doc! {"_id": 11}, true)
            .await
            .unwrap();
        let transaction =
            db.transaction(async |tx| tx.collection::<Order>().delete_many(|o| o.id.gt(0)).await);
        assert_eq!(transaction.await.unwrap().deleted, 0);
    })
    .await;
}

async fn maintenance_is_about_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let (orders, customers) = (db.collection::<Order>(), db.collection::<Customer>());
        let problems = orders.verify_relations().await.unwrap();
        assert_eq!(problems.len(), 1);
        let report = db.verify_relations::<Customer>().repair().await.unwrap();
        assert_eq!((report.repaired, report.left), (1, 0));
        assert_eq!(ids(&orders.find_all().await.unwrap()), [2, 3, 4]);
        assert_eq!(customers.migrate().await.unwrap().migrated, 0);
        orders.rederive(|o| o.id.gt(0)).await.unwrap();
        orders.sync_indexes().await.unwrap();
        orders.sync_validator().await.unwrap();
        customers.stats().await.unwrap();
        orders.propagate_pending().await.unwrap();
        orders.stale_copies().await.unwrap();
        orders.refresh_copies(|o| o.id.gt(0)).await.unwrap();
        orders.copy_fan_out(|o| o.id.gt(0)).await.unwrap();
    })
    .await;
}

async fn streams_of_changes_tell_of_the_tenants_alone(db: &Db) {
    fill(db).await;
    let (watched, seen) = Witness::db(db, FIELDS, "ann");
    let orders = watched.for_tenant("ann").collection::<Order>();
    let error = orders.watch().await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Unsupported, Some("o")));
    // What is looked up may be somebody else's by then.
    for changes in [
        orders.watch().full_document(FullDocument::UpdateLookup),
        orders
            .watch()
            .only([ChangeKind::Insert, ChangeKind::Update])
            .full_document(FullDocument::UpdateLookup),
    ] {
        let error = changes.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    db.run_command(doc! {"collMod": "orders", "changeStreamPreAndPostImages": {"enabled": true}})
        .await
        .unwrap();
    let mut changes = orders
        .watch()
        .full_document_before_change(FullDocumentBeforeChange::Required)
        .await
        .unwrap();
    let mut inserts = orders.watch().only([ChangeKind::Insert]).await.unwrap();
    let mut filtered = orders
        .watch()
        .only([ChangeKind::Insert, ChangeKind::Update])
        .full_document_before_change(FullDocumentBeforeChange::Required)
        .full_document(FullDocument::UpdateLookup)
        .filter(|o| o.total.gt(100))
        .await
        .unwrap();
    let both = [("bob", 11), ("ann", 1)];
    for (tenant, first) in both {
        let orders = db.for_tenant(tenant).collection::<Order>();
        orders.insert(order(first + 50, None, 1)).await.unwrap();
        orders
            .update_one(|o| o.id.eq(first), |o| o.total.set(200))
            .await
            .unwrap();
        orders
            .update_one(|o| o.id.eq(first), |o| o.tags.push("t".to_owned()))
            .await
            .unwrap();
        orders.replace(order(first + 50, None, 2)).await.unwrap();
        orders.delete(first).await.unwrap();
    }
    let mut kinds = Vec::new();
    for _ in 0..5 {
        let change = changes.try_next().await.unwrap().unwrap();
        assert!(
            change.event.key().is_some_and(|key| [1, 51].contains(key)),
            "{change:?}"
        );
        kinds.extend(change.event.kind());
    }
    use ChangeKind::*;
    assert_eq!(kinds, [Insert, Update, Update, Replace, Delete]);
    let change = inserts.try_next().await.unwrap().unwrap();
    assert_eq!(change.event.key(), Some(&51));
    // What was changed so is gone by then.
    assert!(filtered.next_if_any().await.unwrap().is_none());
    assert_eq!(seen.loose(), [] as [&str; 0]);
}

/// A key goes from one tenant to the other: neither is shown what the other has.
async fn streams_of_changes_look_up_nothing_of_others(db: &Db) {
    fill(db).await;
    db.run_command(doc! {"collMod": "orders", "changeStreamPreAndPostImages": {"enabled": true}})
        .await
        .unwrap();
    let (ann, bob) = (
        db.for_tenant("ann").collection::<Order>(),
        db.for_tenant("bob").collection::<Order>(),
    );
    let watch = |orders: &Collection<Order>| {
        let changes = orders
            .watch()
            .full_document_before_change(FullDocumentBeforeChange::Required);
        changes.full_document(FullDocument::UpdateLookup).into_future()
    };
    let (mut of_ann, mut of_bob) = (watch(&ann).await.unwrap(), watch(&bob).await.unwrap());
    ann.update_one(|o| o.id.eq(2), |o| o.total.set(200))
        .await
        .unwrap();
    ann.delete(2).await.unwrap();
    bob.insert(order(2, None, 11)).await.unwrap();
    bob.update_one(|o| o.id.eq(2), |o| o.total.set(300))
        .await
        .unwrap();
    let mut seen = Vec::new();
    for changes in [&mut of_ann, &mut of_bob] {
        let mut kinds = Vec::new();
        while let Some(change) = changes.next_if_any().await.unwrap() {
            kinds.extend(change.event.kind());
        }
        seen.push(kinds);
    }
    use ChangeKind::*;
    // The update's own document is not there any more.
    assert_eq!(seen, [vec![Delete], vec![Insert, Update]]);
}

/// A document that administration gives away is told to neither, by whatever image.
async fn streams_of_changes_tell_nobody_of_what_is_given_away(db: &Db) {
    fill(db).await;
    db.run_command(doc! {"collMod": "orders", "changeStreamPreAndPostImages": {"enabled": true}})
        .await
        .unwrap();
    let all = db.across_tenants().collection::<Order>();
    let mut streams = Vec::new();
    for tenant in ["ann", "bob"] {
        let orders = db.for_tenant(tenant).collection::<Order>();
        // What it is says nothing of whose it was.
        for image in [FullDocument::Required, FullDocument::WhenAvailable] {
            let error = orders.watch().full_document(image).await.unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Unsupported, Some("o")));
            let changes = orders.watch().only([ChangeKind::Update, ChangeKind::Replace]);
            let error = changes.full_document(image).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
        for image in [
            FullDocumentBeforeChange::Required,
            FullDocumentBeforeChange::WhenAvailable,
        ] {
            let changes = orders.watch().full_document(FullDocument::Required);
            streams.push(changes.full_document_before_change(image).await.unwrap());
        }
        // Not told what it is since then, what was written says whose it became.
        let changes = orders
            .watch()
            .full_document_before_change(FullDocumentBeforeChange::Required);
        streams.push(changes.await.unwrap());
        streams.push(orders.watch().only([ChangeKind::Insert]).await.unwrap());
    }
    all.update_one(|o| o.id.eq(1), |o| o.owner.set(Some(other())))
        .await
        .unwrap();
    all.replace(order(2, Some("bob"), 11)).await.unwrap();
    for changes in &mut streams {
        assert!(changes.next_if_any().await.unwrap().is_none());
    }
    let bob = db.for_tenant("bob").collection::<Order>();
    bob.update_one(|o| o.id.eq(1), |o| o.total.set(200))
        .await
        .unwrap();
    let mut told = Vec::new();
    for changes in &mut streams {
        told.push(changes.next_if_any().await.unwrap().is_some());
    }
    assert_eq!(told, [false, false, false, false, true, true, true, false]);
}
