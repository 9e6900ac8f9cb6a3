//! Everything that reads, on two tenants' documents: of the other tenant's nothing is seen, and everything that leaves for
//! the database says which tenant it is about.

use bson::{Document, doc};
use odm::{Db, ErrorKind};
use serde::{Deserialize, Serialize};

use super::tenants_models::*;

crate::on_every_backend! {
    reads_see_the_tenants_alone,
    pages_see_the_tenants_alone,
    relations_see_the_tenants_alone,
    conditions_on_related_documents_see_the_tenants_alone,
    pipelines_see_the_tenants_alone,
    pipelines_write_the_tenants_alone,
    queries_of_tenants_are_held_against_the_declared_indexes,
}

#[derive(Debug, Serialize, Deserialize, odm::Embedded)]
struct Total {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
}

async fn reads_see_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let orders = db.collection::<Order>();
        assert_eq!(ids(&orders.find_all().await.unwrap()), [1, 2, 3, 4]);
        assert_eq!(ids(&orders.find(|o| o.id.gt(2)).await.unwrap()), [3, 4]);
        assert_eq!(orders.find(|o| o.owner.eq(other())).await.unwrap(), []);
        assert_eq!(
            orders.find(|o| o.owner.eq(other()) | o.id.eq(11)).await.unwrap(),
            []
        );
        assert_eq!(orders.find(|o| !o.owner.eq(own())).await.unwrap(), []);
        assert_eq!(
            orders
                .find(|_| odm::Filter::raw(doc! {"$nor": [{"_id": 1}]}))
                .await
                .unwrap()
                .len(),
            3
        );
        assert_eq!(orders.get(11).await.unwrap(), None);
        assert_eq!(
            orders.get(11).required().await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(ids(&orders.get_many([1, 11, 12]).await.unwrap()), [1]);
        assert_eq!(orders.find_one(|o| o.id.gt(4)).await.unwrap(), None);
        assert_eq!(
            orders
                .find_all()
                .sort(|o| o.id.desc())
                .first()
                .await
                .unwrap()
                .unwrap()
                .id,
            4
        );
        assert_eq!(orders.find_all().skip(3).limit(9).await.unwrap().len(), 1);
        assert_eq!(orders.find_all().project::<Total>().await.unwrap().len(), 4);
        assert_eq!(orders.find_all().untyped().await.unwrap().len(), 4);
        assert_eq!(orders.find_all().encoded().await.unwrap().len(), 4);
        assert_eq!(orders.find_all().tracked().await.unwrap().len(), 4);
        assert_eq!(orders.find_all().write_back().await.unwrap().len(), 4);
        assert_eq!(orders.find_all().with_deleted().await.unwrap().len(), 4);
        let mut stream = orders.find_all().batch_size(1).stream();
        let mut seen = Vec::new();
        while let Some(order) = stream.try_next().await.unwrap() {
            seen.push(order);
        }
        assert_eq!(ids(&seen), [1, 2, 3, 4]);
        assert_eq!(orders.count(|o| o.id.gt(0)).await.unwrap(), 4);
        assert_eq!(orders.estimated_count().await.unwrap(), 4);
        assert!(!orders.exists(|o| o.id.eq(11)).await.unwrap());
        assert_eq!(orders.distinct(|o| o.tags.any()).await.unwrap().len(), 4);
        assert_eq!(orders.distinct(|o| o.owner.clone()).await.unwrap().len(), 1);
        orders.find(|o| o.id.gt(0)).explain().await.unwrap();
        orders.count(|o| o.id.gt(0)).explain().await.unwrap();
        orders
            .find_all()
            .hint(doc! {"_id": 1})
            .explain()
            .executed()
            .await
            .unwrap();
        let raw = orders.raw();
        assert_eq!(raw.find(doc! {}).await.unwrap().len(), 4);
        assert_eq!(raw.find_one(doc! {"_id": 11}).await.unwrap(), None);
        assert_eq!(
            raw.count(doc! {"$or": [{"o": "bob"}, {"_id": 1}]}).await.unwrap(),
            1
        );
        assert_eq!(raw.distinct("_id").await.unwrap().len(), 4);
        assert!(!raw.exists(doc! {"o": {"$ne": "ann"}}).await.unwrap());
        assert_eq!(
            raw.aggregate_raw([doc! {"$count": "n"}]).await.unwrap(),
            [doc! {"n": 4}]
        );
        assert_eq!(db.collection::<Company>().find_all().await.unwrap().len(), 1);
        assert_eq!(
            db.collection::<Company>().get("bob".to_owned()).await.unwrap(),
            None
        );
        let within = orders.find_all();
        assert_eq!(
            db.database(db.name())
                .unwrap()
                .collection::<Order>()
                .find_all()
                .await
                .unwrap(),
            within.await.unwrap()
        );
        assert_eq!(
            db.collection_named::<Order>("orders")
                .find_all()
                .await
                .unwrap()
                .len(),
            4
        );
        let (logged, log) = db.logged();
        assert_eq!(logged.collection::<Order>().find_all().await.unwrap().len(), 4);
        assert_eq!(log.round_trips(), 1);
        assert_eq!(
            db.budget(1).collection::<Order>().find_all().await.unwrap().len(),
            4
        );
        let clocked = db.with_clock(|| bson::DateTime::from_millis(0));
        assert_eq!(clocked.collection::<Order>().find_all().await.unwrap().len(), 4);
    })
    .await;
}

async fn pages_see_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let orders = db.collection::<Order>();
        let page = orders.find_all().sort(|o| o.total.asc()).page(3).await.unwrap();
        assert_eq!(page.items.len(), 3);
        let next = page.next.unwrap();
        let page = orders
            .find_all()
            .sort(|o| o.total.asc())
            .page(3)
            .after(&next)
            .await
            .unwrap();
        assert_eq!(page.items.len(), 1);
        assert!(page.next.is_none());
        let page = orders
            .find_all()
            .sort(|o| o.id.asc())
            .page_number(1, 3)
            .await
            .unwrap();
        assert_eq!((page.total, page.items.len()), (4, 3));
    })
    .await;
}

async fn relations_see_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let (orders, customers) = (db.collection::<Order>(), db.collection::<Customer>());
        // The first refers to a customer of bob's.
        let found = orders
            .find_all()
            .sort(|o| o.id.asc())
            .load(|o| o.customer)
            .load(|o| o.country)
            .await
            .unwrap();
        let there: Vec<_> = found
            .iter()
            .map(|(order, customer, country)| (order.id, customer.is_some(), country.is_some()))
            .collect();
        assert_eq!(
            there,
            [
                (1, false, true),
                (2, true, true),
                (3, true, true),
                (4, true, true)
            ]
        );
        let found = orders
            .find_all()
            .sort(|o| o.id.asc())
            .join(|o| o.customer)
            .await
            .unwrap();
        assert_eq!(found.iter().filter(|(_, customer)| customer.is_some()).count(), 3);
        let mut stream = orders.find_all().load(|o| o.customer).stream();
        while let Some((order, customer)) = stream.try_next().await.unwrap() {
            assert_eq!(customer.is_some(), order.id != 1);
        }
        let loaded = orders
            .find_one(|o| o.id.eq(1))
            .load(|o| o.customer)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(loaded.1, None);
        let all = orders.find_all().await.unwrap();
        assert_eq!(
            orders
                .load(&all, |o| o.customer)
                .await
                .unwrap()
                .iter()
                .flatten()
                .count(),
            3
        );
        // Country is shared, and is referred to by both tenants.
        let countries = db.collection::<Country>();
        let of = countries.find_all().load(|_| Order::by_country()).await.unwrap();
        assert_eq!(ids(&of[0].1), [1, 2, 3, 4]);
        let of = countries
            .find_all()
            .load(|_| Order::by_country().sort(|o| o.id.desc()).limit(2))
            .await
            .unwrap();
        assert_eq!(ids(&of[0].1), [3, 4]);
        let of = countries
            .find_all()
            .load(|_| Order::by_country().count())
            .await
            .unwrap();
        assert_eq!(of[0].1, 4);
        let of = countries.find_all().join(|_| Order::by_country()).await.unwrap();
        assert_eq!(ids(&of[0].1), [1, 2, 3, 4]);
        let of = customers
            .find_all()
            .sort(|c| c.id.asc())
            .load(|_| Order::by_customer().limit(1))
            .await
            .unwrap();
        assert_eq!(
            of.iter().map(|(_, orders)| orders.len()).collect::<Vec<_>>(),
            [1, 0, 0]
        );
        let of = customers
            .find_all()
            .sort(|c| c.id.asc())
            .join(|_| Order::by_customer().sort(|o| o.id.asc()).limit(2))
            .await
            .unwrap();
        assert_eq!(ids(&of[0].1), [2, 3]);
        let nested = orders
            .find_all()
            .load(|o| o.customer.load(|c| c.boss))
            .await
            .unwrap();
        assert_eq!(nested.len(), 4);
        let nested = customers
            .find_all()
            .sort(|c| c.id.asc())
            .load(|_| Customer::by_boss())
            .await
            .unwrap();
        assert_eq!(nested[0].1.len(), 2);
    })
    .await;
}

async fn conditions_on_related_documents_see_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let (orders, customers) = (db.collection::<Order>(), db.collection::<Customer>());
        let of_customers = || orders.whose(|o| o.customer.some(|c| c.id.gt(0)));
        assert_eq!(ids(&of_customers().find_all().await.unwrap()), [2, 3, 4]);
        assert_eq!(of_customers().count(|o| o.id.gt(0)).await.unwrap(), 3);
        let none = orders.whose(|o| o.customer.none(|c| c.id.gt(0)));
        assert_eq!(ids(&none.find_all().await.unwrap()), [1]);
        let with = customers.whose(|_| Order::by_customer().some(|o| o.id.gt(0)));
        assert_eq!(
            with.find_all()
                .await
                .unwrap()
                .iter()
                .map(|c| c.id)
                .collect::<Vec<_>>(),
            [1]
        );
        let with = db
            .collection::<Country>()
            .whose(|_| Order::by_country().some(|o| o.id.gt(10)));
        assert_eq!(with.find_all().await.unwrap(), []);
        of_customers()
            .update_many(|o| o.id.gt(0), |o| o.total.inc(1000))
            .await
            .unwrap();
        assert_eq!(
            of_customers().delete_many(|o| o.id.gt(2)).await.unwrap().deleted,
            2
        );
        let filter = of_customers().await.unwrap();
        assert_eq!(orders.count(|_| filter).await.unwrap(), 1);
    })
    .await;
}

#[derive(Debug, Serialize, Deserialize, odm::Embedded)]
struct WithOrders {
    #[serde(rename = "_id")]
    id: bson::Bson,
    orders: Vec<Order>,
}

#[derive(Debug, Serialize, Deserialize, odm::Embedded)]
struct WithBosses {
    #[serde(rename = "_id")]
    id: i32,
    bosses: Vec<Customer>,
}

#[derive(Debug, Serialize, Deserialize, odm::Embedded)]
struct Faceted {
    all: Vec<Document>,
    bosses: Vec<WithBosses>,
}

async fn pipelines_see_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let (orders, customers) = (db.collection::<Order>(), db.collection::<Customer>());
        let countries = db.collection::<Country>();
        assert_eq!(orders.aggregate().filter(|o| o.id.gt(0)).count().await.unwrap(), 4);
        assert_eq!(orders.aggregate().sort(|o| o.id.desc()).first().await.unwrap().unwrap().id, 4);
        orders.aggregate().filter(|o| o.id.gt(0)).explain().await.unwrap();
        let joined = || countries.aggregate().lookup::<Order, WithOrders>(|c, o, out| out.orders.joins(&c.id, &o.country));
        assert_eq!(ids(&joined().await.unwrap()[0].orders), [1, 2, 3, 4]);
        let mut stream = joined().stream();
        assert_eq!(stream.try_next().await.unwrap().unwrap().orders.len(), 4);
        joined().explain().await.unwrap();
        let refined = countries.aggregate().lookup_with::<Order, WithOrders, _>(
            |c, o, out| out.orders.joins(&c.id, &o.country),
            |orders| orders.sort(|o| o.id.desc()).limit(6),
        );
        assert_eq!(refined.await.unwrap()[0].orders.len(), 4);
        let union = customers
            .aggregate()
            .raw(doc! {"$unset": "name"})
            .into::<Total>()
            .union_with::<Order>(|orders| orders.raw(doc! {"$set": {"x": 1}}).into::<Total>())
            .into::<Document>();
        assert_eq!(union.await.unwrap().len(), 7);
        let bosses = || customers.aggregate().graph_lookup::<Customer, WithBosses, _>(|c, boss, out| {
            out.bosses.follows(&c.boss, &boss.boss, &boss.id).filter(|c| c.id.gt(0))
        });
        assert_eq!(bosses().await.unwrap().iter().map(|c| c.bosses.len()).sum::<usize>(), 2);
        let faceted = countries
            .aggregate()
            .facet::<Faceted>(|countries, out| {
                let all = countries.stages().union_with::<Country>(|c| c).into::<Document>();
                let bosses = countries.stages().into::<WithBosses>().union_with::<Customer>(|customers| {
                    customers.graph_lookup::<Customer, WithBosses, _>(|c, boss, out| {
                        out.bosses.follows(&c.boss, &boss.boss, &boss.id)
                    })
                });
                out.all.results(all) & out.bosses.results(bosses.raw(doc! {"$match": {"_id": {"$gt": 0}}}))
            })
            .await;
        // Facets know no unions of some servers; what they may read is the tenant's all the same.
        match faceted {
            Ok(faceted) => assert_eq!((faceted[0].all.len(), faceted[0].bosses.len()), (2, 3)),
            Err(error) => assert_ne!(error.kind(), ErrorKind::Tenant, "{error}"),
        }
        // In MongoDB's words: the collection's own.
        let raw = orders.aggregate_raw([
            doc! {"$limit": 1},
            doc! {"$lookup": {"from": "orders", "pipeline": [], "as": "all"}},
            doc! {"$unionWith": "orders"},
            doc! {"$project": {"n": {"$size": {"$ifNull": ["$all", []]}}}},
            doc! {"$sort": {"n": -1}},
        ]);
        let raw = raw.await.unwrap();
        assert_eq!((raw.len(), raw[0].get_i32("n").unwrap()), (5, 4));
        let raw = customers.aggregate_raw([
            doc! {"$graphLookup": {"from": "customers", "startWith": 11, "connectFromField": "boss", "connectToField": "_id", "as": "all"}},
            doc! {"$match": {"all": {"$ne": []}}},
        ]);
        assert_eq!(raw.await.unwrap(), [] as [Document; 0]);
        // Others nobody knows.
        for stage in [
            doc! {"$lookup": {"from": "customers", "pipeline": [], "as": "all"}},
            doc! {"$lookup": {"from": {"db": "other", "coll": "orders"}, "pipeline": [], "as": "all"}},
            doc! {"$unionWith": "customers"},
            doc! {"$unionWith": {"coll": "customers"}},
            doc! {"$graphLookup": {"from": "customers", "startWith": 1, "connectFromField": "boss", "connectToField": "_id", "as": "all"}},
            doc! {"$facet": {"a": [{"$unionWith": "customers"}]}},
            doc! {"$lookup": {"from": "orders", "pipeline": [{"$unionWith": "customers"}], "as": "all"}},
            doc! {"$out": "customers"},
            doc! {"$merge": "customers"},
            doc! {"$out": "orders"},
            doc! {"$merge": "orders"},
        ] {
            for collection in [orders.aggregate_raw([stage.clone()]), orders.raw().aggregate_raw([stage.clone()])] {
                assert_eq!(collection.await.unwrap_err().kind(), ErrorKind::Tenant, "{stage}");
            }
            let error = orders.aggregate().raw(stage.clone()).into::<Document>().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Tenant, "{stage}");
        }
        let error = orders.aggregate_raw([doc! {"$changeStream": {}}]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tenant);
    })
    .await;
    let error = db
        .collection::<Country>()
        .aggregate()
        .lookup::<Order, WithOrders>(|c, o, out| out.orders.joins(&c.id, &o.country))
        .await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind(), error.model(), error.path()),
        (ErrorKind::Tenant, Some("Order"), Some("o"))
    );
}

async fn pipelines_write_the_tenants_alone(db: &Db) {
    as_ann(db, async |db| {
        let orders = db.collection::<Order>();
        orders.create_indexes().await.unwrap();
        let error = orders.aggregate().out(&orders).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tenant);
        let error = orders.aggregate().merge_into(&orders).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
        // Results that give themselves out for bob's.
        let made = || {
            let set = doc! {"$set": {"o": "bob", "_id": {"$add": ["$_id", 100]}, "total": {"$add": ["$total", 10]}}};
            orders.aggregate().raw(set).merge_into(&orders).on(|o| o.owner.clone()).on(|o| o.total)
        };
        made().await.unwrap();
        assert_eq!(orders.count(|o| o.id.gt(100)).await.unwrap(), 4);
        let changed = orders.aggregate().merge_into(&orders).on(|o| o.owner.clone()).on(|o| o.total);
        changed.update(|order, _| order.version.of(order.version.value() + 5)).await.unwrap();
        assert_eq!(orders.count(|o| o.version.gte(5)).await.unwrap(), 8);
        let error = orders
            .aggregate()
            .merge_into(&orders)
            .on(|o| o.owner.clone())
            .on(|o| o.total)
            .update(|order, _| order.owner.of(Some(other())))
            .await
            .unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
        // A collation would take others for this one.
        let caseless = || orders.aggregate().collation(doc! {"locale": "en", "strength": 1}).merge_into(&orders);
        let error = caseless().on(|o| o.owner.clone()).on(|o| o.total).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("o")));
        // Neither are results put into other tenants' documents by way of another handle.
        for from in [db.across_tenants(), db.for_tenant("bob")] {
            let from = from.collection::<Order>();
            let merge = from.aggregate().merge_into(&orders).on(|o| o.owner.clone()).on(|o| o.total);
            assert_eq!(merge.await.unwrap_err().kind(), ErrorKind::Tenant);
            assert_eq!(from.aggregate().out(&orders).await.unwrap_err().kind(), ErrorKind::Tenant);
        }
        // A model without tenants in another database is known by its typed stage.
        let beside = db.database(&format!("{}_2", db.name())).unwrap();
        let countries = db.collection::<Country>();
        countries.aggregate().merge_into(&beside.collection::<Country>()).await.unwrap();
        assert_eq!(beside.collection::<Country>().find_all().await.unwrap().len(), 1);
        beside.across_tenants().drop().await.unwrap();
        // What is shared is written as ever.
        db.collection::<Country>().aggregate().merge_into(&db.collection::<Country>()).await.unwrap();
    })
    .await;
}

async fn queries_of_tenants_are_held_against_the_declared_indexes(db: &Db) {
    // By the index that begins with the tenant.
    let orders = db.for_tenant("ann").collection::<Order>();
    let used = orders.find(|o| o.total.gt(2)).must_use_index().await.unwrap();
    assert_eq!(used.indexes, ["o_1_total_1"]);
    let sorted = orders
        .find(|o| o.tags.has("x"))
        .sort(|o| o.version.asc())
        .index_use()
        .await
        .unwrap();
    assert_eq!(sorted.suggestion, Some(doc! { "o": 1, "tags": 1, "version": 1 }));

    // Without it no index serves.
    let all = db.across_tenants().collection::<Order>();
    let error = all.find(|o| o.total.gt(2)).must_use_index().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.model()),
        (ErrorKind::Unindexed, Some("Order"))
    );
    assert!(error.message().contains("{ \"total\": 1 }"), "{error}");

    is_refused(
        db.collection::<Order>()
            .find(|o| o.total.gt(2))
            .must_use_index()
            .await,
        "Order",
        "o",
    );
}
