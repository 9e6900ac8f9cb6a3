//! Tenants: whose documents a database shows, changes and stores.

use bson::doc;
use odm::backend::ReadPreference;
use odm::{Db, ErrorKind, Ref};

use super::tenants_models::*;

crate::on_every_backend! {
    a_database_without_a_tenant_is_refused,
    a_tenant_of_another_type_is_refused,
    documents_become_the_tenants,
    documents_of_others_are_refused,
    the_field_does_not_change,
    upserts_insert_the_tenants,
    transactions_are_the_tenants,
    sessions_and_snapshots_are_the_tenants,
    what_is_about_all_is_refused,
    raw_doors_go_around,
}

async fn a_database_without_a_tenant_is_refused(db: &Db) {
    fill(db).await;
    let orders = db.collection::<Order>();
    is_refused(orders.find_all().await, "Order", "o");
    is_refused(orders.get(1).await, "Order", "o");
    is_refused(orders.insert(order(9, Some("ann"), 1)).await, "Order", "o");
    is_refused(
        orders.update_many(|o| o.id.gt(0), |o| o.total.inc(1)).await,
        "Order",
        "o",
    );
    is_refused(orders.delete_many(|o| o.id.gt(0)).await, "Order", "o");
    is_refused(
        orders.bulk_write().delete_many(|o| o.id.gt(0)).await,
        "Order",
        "o",
    );
    is_refused(orders.find_one_and_delete(|o| o.id.gt(0)).await, "Order", "o");
    is_refused(orders.aggregate().count().await, "Order", "o");
    is_refused(orders.estimated_count().await, "Order", "o");
    is_refused(orders.find_all().explain().await, "Order", "o");
    let error = orders.raw().find(doc! {}).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
    let countries = db.collection::<Country>();
    let error = countries
        .find_all()
        .load(|_| Order::by_country())
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.model()), (ErrorKind::Tenant, Some("Order")));
    // What is about no document goes on.
    orders.create_indexes().await.unwrap();
    assert_eq!(orders.list_indexes().await.unwrap().len(), 2);
    assert_eq!(
        db.across_tenants()
            .collection::<Order>()
            .find_all()
            .await
            .unwrap()
            .len(),
        8
    );
    assert_eq!(countries.find_all().await.unwrap().len(), 1);
}

async fn a_tenant_of_another_type_is_refused(db: &Db) {
    let memos = db.for_tenant("ann").collection::<Memo>();
    let error = memos.find_all().await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("owner")));
    assert!(
        error.message().contains("`&str`") && error.message().contains("`i64`"),
        "{error}"
    );
    is_refused(memos.drop().await, "Memo", "owner");
    is_refused(memos.rename("others").await, "Memo", "owner");
    is_refused(
        db.for_tenant(5_i32).collection::<Memo>().find_all().await,
        "Memo",
        "owner",
    );
    is_refused(
        db.for_tenant(5_i64).collection::<Order>().find_all().await,
        "Order",
        "o",
    );
    is_refused(
        db.for_tenant(Some(5_i64)).collection::<Memo>().find_all().await,
        "Memo",
        "owner",
    );
    assert_eq!(
        db.for_tenant(5_i64)
            .collection::<Memo>()
            .find_all()
            .await
            .unwrap(),
        []
    );
    for orders in [
        db.for_tenant("ann".to_owned()).collection::<Order>(),
        db.for_tenant(Ref::<Company>::new("ann".into()))
            .collection::<Order>(),
    ] {
        assert_eq!(orders.find_all().await.unwrap(), []);
    }
}

async fn documents_become_the_tenants(db: &Db) {
    let ann = db.for_tenant("ann").collection::<Order>();
    let owner = Some(Ref::<Company>::new("ann".into()));
    ann.insert(order(1, None, 1)).await.unwrap();
    ann.insert_many([order(2, None, 1), order(3, Some("ann"), 1)])
        .await
        .unwrap();
    ann.save(order(4, None, 1)).await.unwrap();
    ann.bulk_write()
        .insert(order(5, None, 1))
        .save(order(6, None, 1))
        .await
        .unwrap();
    ann.find_or_insert(|o| o.id.eq(7), || order(7, None, 1))
        .await
        .unwrap();
    ann.raw()
        .insert(doc! {"_id": 8, "customer": 1, "country": "no", "total": 8_i64, "tags": [], "version": 0_i64})
        .await
        .unwrap();
    // What was stored of it stays.
    ann.replace(order(1, None, 2)).await.unwrap();
    ann.find_one_and_replace(|o| o.id.eq(2), order(2, None, 2))
        .await
        .unwrap();
    let all = db
        .across_tenants()
        .collection::<Order>()
        .find_all()
        .await
        .unwrap();
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|order| order.owner == owner), "{all:?}");
    assert_eq!(ann.count(|o| o.customer.eq(Ref::new(2))).await.unwrap(), 2);
    let mut tracked = ann.find_one(|o| o.id.eq(3)).tracked().await.unwrap().unwrap();
    tracked.tags.push("more".into());
    tracked.owner = Some(Ref::new("bob".into()));
    is_refused(tracked.save(&ann).await, "Order", "o");
    tracked.owner = owner.clone();
    tracked.save(&ann).await.unwrap();
}

async fn documents_of_others_are_refused(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann").collection::<Order>();
    let before = of_bob(db).await;
    let other = order(99, Some("bob"), 1);
    is_refused(ann.insert(&other).await, "Order", "o");
    is_refused(
        ann.insert_many([order(98, None, 1), other.clone()]).await,
        "Order",
        "o",
    );
    is_refused(ann.save(&other).await, "Order", "o");
    is_refused(ann.replace(order(1, Some("bob"), 1)).await, "Order", "o");
    is_refused(
        ann.find_one_and_replace(|o| o.id.eq(1), order(1, Some("bob"), 1))
            .await,
        "Order",
        "o",
    );
    is_refused(
        ann.bulk_write().delete_many(|o| o.id.gt(0)).insert(&other).await,
        "Order",
        "o",
    );
    is_refused(
        ann.bulk_write()
            .unordered()
            .delete_many(|o| o.id.gt(0))
            .save(&other)
            .await,
        "Order",
        "o",
    );
    let error = ann.raw().insert(doc! {"_id": 97, "o": "bob"}).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
    let error = ann
        .raw()
        .insert(doc! {"_id": 97, "o": ["ann"]})
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    // An `_id` of another tenant's is taken.
    let error = ann.insert(order(11, None, 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(
        ann.save(order(12, None, 1)).await.unwrap_err().kind(),
        ErrorKind::DuplicateKey
    );
    assert_eq!(ann.replace(order(12, None, 1)).await.unwrap().matched, 0);
    // Nothing of a batch was written.
    assert_eq!(ann.count(|o| o.id.gt(0)).await.unwrap(), 4);
    assert_eq!(of_bob(db).await, before);
}

async fn the_field_does_not_change(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann").collection::<Order>();
    let bob = || Ref::<Company>::new("bob".into());
    is_refused(
        ann.update_many(|o| o.id.gt(0), |o| o.owner.set(bob())).await,
        "Order",
        "o",
    );
    is_refused(
        ann.update_one(|o| o.id.eq(1), |o| o.owner.set(None)).await,
        "Order",
        "o",
    );
    is_refused(
        ann.update_one(|o| o.id.eq(1), |o| o.owner.unset()).await,
        "Order",
        "o",
    );
    is_refused(
        ann.find_one_and_update(|o| o.id.eq(1), |o| o.owner.set(bob()))
            .await,
        "Order",
        "o",
    );
    is_refused(
        ann.bulk_write()
            .update_one(|o| o.id.eq(1), |o| o.owner.set(bob()))
            .await,
        "Order",
        "o",
    );
    is_refused(
        ann.upsert(|o| o.id.eq(1), |o| o.owner.set_on_insert(bob())).await,
        "Order",
        "o",
    );
    // The tenant's own value is no change.
    let same = ann.update_one(
        |o| o.id.eq(1),
        |o| o.owner.set(Ref::new("ann".into())) & o.total.inc(100),
    );
    assert_eq!(same.await.unwrap().matched, 1);
    let raw = ann.raw();
    for update in [
        doc! {"$set": {"o": "bob"}},
        doc! {"$unset": {"o": 1}},
        doc! {"$rename": {"o": "p"}},
        doc! {"$rename": {"country": "o"}},
        doc! {"$min": {"o": "a"}},
        doc! {"$set": {"o.x": 1}},
        doc! {"$currentDate": {"o": true}},
    ] {
        let error = raw.update_many(doc! {}, update).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
    }
    for stage in [
        doc! {"$set": {"o": "bob"}},
        doc! {"$addFields": {"o": "$country"}},
        doc! {"$unset": "o"},
        doc! {"$unset": ["x", "o"]},
        doc! {"$project": {"o": "bob"}},
    ] {
        let error = raw.update_many(doc! {}, vec![stage]).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
    }
    // What is made of the whole document leaves the field as it is.
    for stage in [
        doc! {"$replaceWith": {"$mergeObjects": ["$$ROOT", {"o": "bob"}]}},
        doc! {"$replaceRoot": {"newRoot": {"_id": "$_id", "total": "$total"}}},
        doc! {"$project": {"o": 0}},
    ] {
        assert_eq!(
            raw.update_one(doc! {"_id": 2}, vec![stage])
                .await
                .unwrap()
                .matched,
            1
        );
        assert_eq!(raw.count(doc! {"_id": 2, "o": "ann"}).await.unwrap(), 1);
    }
    // A document whose `_id` says it.
    let companies = db.for_tenant("ann").collection::<Company>();
    companies
        .update_one(|c| c.id.eq("ann"), |c| c.name.set("x"))
        .await
        .unwrap();
    let named = companies
        .raw()
        .update_many(doc! {}, vec![doc! {"$set": {"name": "y"}}]);
    assert_eq!(named.await.unwrap().modified, 1);
    is_refused(
        companies
            .insert(Company {
                id: "eve".into(),
                name: "eve".into(),
            })
            .await,
        "Company",
        "_id",
    );
}

async fn upserts_insert_the_tenants(db: &Db) {
    fill(db).await;
    let before = of_bob(db).await;
    let ann = db.for_tenant("ann").collection::<Order>();
    let whole = |total: i64| {
        move |o: odm::__private::At<Order, Order>| {
            o.total.set(total)
                & o.customer.set_on_insert(Ref::new(1))
                & o.country.set_on_insert(Ref::new("no".to_owned()))
                & o.tags.set_on_insert(Vec::new())
        }
    };
    let done = ann.upsert(|o| o.id.eq(50), whole(50)).await.unwrap();
    assert!(done.upserted_id.is_some());
    let own = || Ref::<Company>::new("ann".into());
    let done = ann
        .upsert(|o| o.id.eq(51) & o.owner.eq(own()), whole(51))
        .await
        .unwrap();
    assert!(done.upserted_id.is_some());
    ann.find_one_and_update(|o| o.id.eq(52), whole(52))
        .upsert()
        .await
        .unwrap();
    ann.bulk_write().upsert(|o| o.id.eq(53), whole(53)).await.unwrap();
    // Another tenant's document is not found, and its key is taken.
    let error = ann.upsert(|o| o.id.eq(11), whole(54)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    is_refused(
        ann.upsert(|o| o.id.eq(55) & o.owner.eq(Ref::new("bob".into())), whole(55))
            .await,
        "Order",
        "o",
    );
    let found = ann
        .find_one_and_update(|o| o.id.eq(55) & o.owner.eq(Ref::new("bob".into())), whole(55))
        .upsert();
    is_refused(found.await, "Order", "o");
    let raw = ann.raw();
    raw.upsert(
        doc! {"_id": 56},
        vec![doc! {"$replaceWith": {"_id": 56, "total": 56_i64}}],
    )
    .await
    .unwrap();
    raw.upsert(
        doc! {"_id": 57, "o": {"$eq": "ann"}},
        doc! {"$set": {"total": 57_i64}},
    )
    .await
    .unwrap();
    raw.upsert(
        doc! {"$and": [{"_id": 58}, {"o": "ann"}]},
        doc! {"$set": {"total": 58_i64}},
    )
    .await
    .unwrap();
    let error = raw
        .upsert(
            doc! {"_id": 59, "o": {"$eq": "bob"}},
            doc! {"$set": {"total": 59_i64}},
        )
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    let stored = db
        .raw_collection("orders")
        .count(doc! {"_id": {"$gte": 50}, "o": "ann"});
    assert_eq!(stored.await.unwrap(), 7);
    assert_eq!(
        db.raw_collection("orders")
            .count(doc! {"_id": {"$gte": 50}})
            .await
            .unwrap(),
        7
    );
    assert_eq!(of_bob(db).await, before);
}

async fn transactions_are_the_tenants(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    let seen = ann
        .transaction(async |tx| {
            tx.collection::<Order>().insert(order(60, None, 1)).await?;
            assert!(tx.collection::<Order>().get(11).await?.is_none());
            let bobs = tx.for_tenant("bob").collection::<Order>().find_all().await?.len();
            let all = tx.across_tenants().collection::<Order>().find_all().await?.len();
            Ok((tx.collection::<Order>().find_all().await?.len(), bobs, all))
        })
        .await
        .unwrap();
    assert_eq!(seen, (5, 4, 9));
    let tx = db.begin().await.unwrap();
    let error = tx.collection::<Order>().find_all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    tx.for_tenant("bob")
        .collection::<Order>()
        .delete(11)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(
        db.for_tenant("bob")
            .collection::<Order>()
            .find_all()
            .await
            .unwrap()
            .len(),
        3
    );
}

async fn sessions_and_snapshots_are_the_tenants(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    let own = ann.collection::<Order>().find_all().await.unwrap().len();
    let count = async |db: &Db| db.collection::<Order>().find_all().await.unwrap().len();
    assert!(own < 8);
    let session = ann.causal_session().await.unwrap();
    let near = ann
        .with_read_preference(ReadPreference::PrimaryPreferred)
        .unwrap();
    let then = ann.snapshot().await.unwrap();
    for handle in [&*session, &near, &then] {
        assert_eq!(count(handle).await, own);
        let bob = handle.for_tenant("bob");
        assert_eq!(count(&bob).await + own, count(&handle.across_tenants()).await);
    }
    // A handle that was made before is bound as any.
    let then = db.snapshot().await.unwrap();
    assert!(
        then.collection::<Order>()
            .find_all()
            .await
            .unwrap_err()
            .is_tenant()
    );
    assert_eq!(count(&then.for_tenant("ann")).await, own);
}

async fn what_is_about_all_is_refused(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    is_refused(ann.collection::<Order>().drop().await, "Order", "o");
    is_refused(ann.collection::<Order>().rename("others").await, "Order", "o");
    // A shared collection could take the place of that of all tenants.
    let countries = || ann.collection::<Country>();
    let error = countries().rename("orders").drop_target().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.model()),
        (ErrorKind::Tenant, Some("Country"))
    );
    let error = ann.drop().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    let error = ann
        .copy_to(&db.database("odm_test_copy").unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    let error = ann.infer_models().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    assert_eq!(ann.watch().await.unwrap_err().kind(), ErrorKind::Tenant);
    assert_eq!(
        ann.watch_everything().await.unwrap_err().kind(),
        ErrorKind::Tenant
    );
    assert_eq!(
        db.across_tenants()
            .collection::<Order>()
            .find_all()
            .await
            .unwrap()
            .len(),
        8
    );
}

async fn raw_doors_go_around(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    assert_eq!(ann.raw_collection("orders").count(doc! {}).await.unwrap(), 8);
    let counted = ann.run_command(doc! {"count": "orders"}).await.unwrap();
    assert_eq!(counted.get_i32("n").unwrap(), 8);
    assert_eq!(ann.collection::<Order>().raw().count(doc! {}).await.unwrap(), 4);
}
