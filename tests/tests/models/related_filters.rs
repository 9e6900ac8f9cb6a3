//! Actions on documents whose related documents meet a condition.

use std::time::Duration;

use bson::{Bson, DateTime, doc};
use odm::{Collection, Db, ErrorKind, Filter, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_action_takes_a_condition,
    each_condition_is_one_query,
    a_reference_to_nothing_is_to_no_document,
    nothing_related_is_there,
    a_transaction_sees_its_own_writes,
    softly_deleted_documents_are_asked_where_it_is_said,
    another_collection_of_the_model_is_asked,
    the_only_one_that_refers_is_asked,
    an_upsert_takes_the_filter_alone,
    what_is_wrong_is_said,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "makers")]
pub(super) struct Maker {
    #[serde(rename = "_id")]
    pub(super) id: i32,
    pub(super) city: String,
    #[odm(soft_delete)]
    pub(super) deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tools")]
pub(super) struct Tool {
    #[serde(rename = "_id")]
    pub(super) id: i32,
    pub(super) price: i32,
    #[odm(index, inverse = by_maker)]
    pub(super) maker: Option<Ref<Maker>>,
    #[odm(inverse = by_other)]
    pub(super) others: Vec<Ref<Maker>>,
    #[odm(soft_delete)]
    pub(super) deleted: Option<DateTime>,
}

pub(super) fn maker(id: i32, city: &str) -> Maker {
    Maker {
        id,
        city: city.to_owned(),
        deleted: None,
    }
}

pub(super) fn tool(id: i32, price: i32, maker: Option<i32>, others: &[i32]) -> Tool {
    Tool {
        id,
        price,
        maker: maker.map(Ref::new),
        others: others.iter().copied().map(Ref::new).collect(),
        deleted: None,
    }
}

/// Makers 1 and 2 in Oslo, 3 in Rome; 9 is not there.
pub(super) async fn tools(db: &Db) -> Collection<Tool> {
    let makers = [maker(1, "Oslo"), maker(2, "Oslo"), maker(3, "Rome")];
    db.collection::<Maker>().insert_many(makers).await.unwrap();
    let tools = db.collection::<Tool>();
    tools.create_indexes().await.unwrap();
    tools
        .insert_many([
            tool(1, 10, Some(1), &[1, 3]),
            tool(2, 20, Some(2), &[9]),
            tool(3, 30, Some(3), &[]),
            tool(4, 40, Some(9), &[2]),
            tool(5, 50, None, &[3, 3]),
        ])
        .await
        .unwrap();
    tools
}

pub(super) async fn ids<M: Model<Key = i32>, W: odm::RelatedCondition<M>>(
    collection: &Collection<M>,
    condition: impl FnOnce(M::Fields<M>) -> W,
) -> Vec<i32> {
    let found = collection.whose(condition).find_all().await.unwrap();
    let mut ids: Vec<i32> = found.iter().map(|document| *document.key()).collect();
    ids.sort_unstable();
    ids
}

async fn every_action_takes_a_condition(db: &Db) {
    let tools = tools(db).await;
    let from_oslo = || tools.whose(|t| t.maker.some(|m| m.city.eq("Oslo")));
    let found = from_oslo()
        .find(|t| t.price.gt(10))
        .sort(|t| t.id.asc())
        .await
        .unwrap();
    assert_eq!(found.iter().map(|tool| tool.id).collect::<Vec<_>>(), [2]);
    assert_eq!(
        from_oslo()
            .find_one(|t| t.price.gt(10))
            .required()
            .await
            .unwrap()
            .id,
        2
    );
    assert_eq!(from_oslo().count(|_| Filter::all()).await.unwrap(), 2);
    assert!(from_oslo().exists(|t| t.price.eq(20)).await.unwrap());
    assert!(!from_oslo().exists(|t| t.price.eq(30)).await.unwrap());
    let mut prices = from_oslo()
        .distinct(|t| t.price)
        .filter(|t| t.price.gt(0))
        .await
        .unwrap();
    prices.sort_unstable();
    assert_eq!(prices, [10, 20]);
    let mut stream = from_oslo().find_all().sort(|t| t.id.desc()).stream();
    assert_eq!(stream.try_next().await.unwrap().unwrap().id, 2);
    let found = from_oslo()
        .find_all()
        .sort(|t| t.id.asc())
        .load(|t| t.maker)
        .await
        .unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].1.as_ref().unwrap().id, 2);
    let found = from_oslo()
        .find_all()
        .sort(|t| t.id.asc())
        .join(|t| t.maker)
        .await
        .unwrap();
    assert_eq!(found.len(), 2);
    let mut rows = from_oslo().find_all().load(|t| t.maker).stream();
    assert!(rows.next().await.unwrap().unwrap().1.is_some());
    let list = || from_oslo().find_all().sort(|t| t.id.asc());
    let page = list().page(1).await.unwrap();
    assert_eq!((page.items[0].id, page.has_more), (1, true));
    let page = list().page(1).after(page.next.unwrap()).await.unwrap();
    assert_eq!((page.items[0].id, page.has_more), (2, false));
    let page = list()
        .page(1)
        .before(page.previous.unwrap())
        .load(|t| t.maker)
        .await
        .unwrap();
    assert_eq!(page.items[0].0.id, 1);
    let page = list().page_number(1, 1).await.unwrap();
    assert_eq!((page.items[0].id, page.total), (1, 2));
    let plan = list().explain().await.unwrap();
    assert!(plan.get("queryPlanner").is_some(), "{plan}");
    let first = from_oslo().find_one_and_update(|t| t.price.eq(10), |t| t.price.inc(1));
    assert_eq!(first.await.unwrap().unwrap().id, 1);
    let changed = from_oslo()
        .update_many(|_| Filter::all(), |t| t.price.inc(100))
        .await
        .unwrap();
    assert_eq!((changed.matched, changed.modified), (2, 2));
    let changed = from_oslo()
        .update_one(|t| t.price.lt(100), |t| t.price.set(0))
        .await
        .unwrap();
    assert_eq!(changed.matched, 0);
    assert_eq!(tools.count(|t| t.price.gt(100)).await.unwrap(), 2);
    assert_eq!(from_oslo().delete_one(|t| t.id.eq(3)).await.unwrap().deleted, 0);
    assert_eq!(
        from_oslo()
            .delete_many(|_| Filter::all())
            .for_ever()
            .await
            .unwrap()
            .deleted,
        2
    );
    assert_eq!(tools.find_all().await.unwrap().len(), 3);
    let none = from_oslo().find_one_and_delete(|_| Filter::all()).await.unwrap();
    assert_eq!(none, None);
    // The filter is one as others are.
    let in_rome = tools
        .whose(|t| t.maker.some(|m| m.city.eq("Rome")))
        .await
        .unwrap();
    assert_eq!(
        tools.count(|t| !in_rome.clone() & t.price.gt(0)).await.unwrap(),
        2
    );
    let updated = tools
        .update_many(|t| in_rome | t.id.eq(5), |t| t.price.set(7))
        .await
        .unwrap();
    assert_eq!(updated.modified, 2);
}

async fn each_condition_is_one_query(db: &Db) {
    tools(db).await;
    let (db, log) = db.logged();
    let (tools, makers) = (db.collection::<Tool>(), db.collection::<Maker>());
    tools
        .whose(|t| t.maker.some(|m| m.city.eq("Oslo")))
        .find_all()
        .await
        .unwrap();
    assert_eq!(log.take().len(), 2);
    let free = tools.whose(|t| t.maker.some(|m| m.city.eq("Oslo")) & t.others.none(|m| m.city.eq("Rome")));
    assert!(!free.await.unwrap().is_all());
    assert_eq!(log.take().len(), 2);
    makers
        .whose(|_| Tool::by_maker().some(|t| t.price.gt(10)))
        .count(|_| Filter::all())
        .await
        .unwrap();
    let asked: Vec<&str> = log.take().iter().map(|entry| entry.operation).collect();
    assert_eq!(asked[0], "aggregate");
    assert_eq!(asked.len(), 2);
    // Three deep: makers of which a tool has a maker in Oslo.
    let deep = makers.whose(|_| Tool::by_other().some(|t| t.maker.some(|m| m.city.eq("Oslo"))));
    let mut found: Vec<i32> = deep
        .find_all()
        .await
        .unwrap()
        .iter()
        .map(|maker| maker.id)
        .collect();
    found.sort_unstable();
    assert_eq!(found, [1, 3]);
    assert_eq!(log.take().len(), 3);
    // What no document meets ends the asking, but not the action: it may have to tell what is wrong with it.
    let deep = makers.whose(|_| Tool::by_other().some(|t| t.maker.some(|m| m.city.eq("Bonn"))));
    assert_eq!(deep.find_all().await.unwrap(), []);
    assert_eq!(log.take().len(), 2);
    let none = tools.whose(|t| t.maker.some(|_| Filter::none()) & t.others.some(|_| Filter::all()));
    assert!(none.await.unwrap().to_document().unwrap() == Filter::<Tool>::none().to_document().unwrap());
    assert_eq!(log.take().len(), 0);
    // Pages ask once, and on the way back too.
    let page = tools
        .whose(|t| t.maker.some(|m| m.city.eq("Oslo")))
        .find_all()
        .sort(|t| t.id.asc());
    page.page(1).await.unwrap();
    assert_eq!(log.take().len(), 2);
    let db = db.budget(1);
    let spent = db
        .collection::<Tool>()
        .whose(|t| t.maker.some(|m| m.city.eq("Oslo")))
        .find_all()
        .await;
    assert_eq!(spent.unwrap_err().kind(), ErrorKind::Budget);
}

async fn a_reference_to_nothing_is_to_no_document(db: &Db) {
    let tools = tools(db).await;
    let raw = db.raw_collection("tools");
    raw.insert(doc! { "_id": 6, "price": 60, "others": [] })
        .await
        .unwrap();
    // Null refers to nothing, also where a document has null for its `_id`.
    db.raw_collection("makers")
        .insert(doc! { "_id": Bson::Null, "city": "Oslo" })
        .await
        .unwrap();
    assert_eq!(ids(&tools, |t| t.maker.some(|m| m.city.eq("Oslo"))).await, [1, 2]);
    assert_eq!(
        ids(&tools, |t| t.maker.none(|m| m.city.eq("Oslo"))).await,
        [3, 4, 5, 6]
    );
    assert_eq!(ids(&tools, |t| t.maker.none(|_| Filter::all())).await, [4, 5, 6]);
    assert_eq!(
        ids(&tools, |t| t.maker.none(|_| Filter::all()) & t.maker.is_some()).await,
        [4]
    );
    assert_eq!(
        ids(&tools, |t| t.maker.all(|m| m.city.eq("Oslo"))).await,
        [1, 2, 4, 5, 6]
    );
    assert_eq!(
        ids(&tools, |t| t.others.some(|m| m.city.eq("Rome"))).await,
        [1, 5]
    );
    assert_eq!(
        ids(&tools, |t| t.others.all(|m| m.city.eq("Rome"))).await,
        [2, 3, 5, 6]
    );
    let only = ids(&tools, |t| {
        t.others.all(|m| m.city.eq("Rome")) & t.others.some(|_| Filter::all())
    });
    assert_eq!(only.await, [5]);
    let makers = db.collection::<Maker>();
    let busy = makers
        .whose(|_| Tool::by_maker().some(|_| Filter::all()))
        .await
        .unwrap();
    assert_eq!(makers.count(|_| busy.clone()).await.unwrap(), 3);
    assert_eq!(makers.raw().count(busy.to_document().unwrap()).await.unwrap(), 3);
    assert_eq!(
        makers.raw().count((!busy).to_document().unwrap()).await.unwrap(),
        1
    );
}

async fn nothing_related_is_there(db: &Db) {
    let (tools, makers) = (db.collection::<Tool>(), db.collection::<Maker>());
    assert_eq!(
        ids(&tools, |t| t.maker.some(|_| Filter::all())).await,
        Vec::<i32>::new()
    );
    makers.insert(maker(1, "Oslo")).await.unwrap();
    assert_eq!(
        ids(&makers, |_| Tool::by_maker().some(|_| Filter::all())).await,
        Vec::<i32>::new()
    );
    assert_eq!(
        ids(&makers, |_| Tool::by_maker().none(|_| Filter::all())).await,
        [1]
    );
    assert_eq!(
        ids(&makers, |_| Tool::by_maker().all(|t| t.price.gt(0))).await,
        [1]
    );
    tools.insert(tool(1, 1, None, &[])).await.unwrap();
    assert_eq!(ids(&tools, |t| t.others.none(|_| Filter::all())).await, [1]);
}

async fn a_transaction_sees_its_own_writes(db: &Db) {
    tools(db).await;
    let tx = db.begin().await.unwrap();
    tx.collection::<Maker>()
        .update_one(|m| m.id.eq(3), |m| m.city.set("Oslo"))
        .await
        .unwrap();
    let inside = tx.collection::<Tool>();
    assert_eq!(
        ids(&inside, |t| t.maker.some(|m| m.city.eq("Oslo"))).await,
        [1, 2, 3]
    );
    assert_eq!(
        ids(&tx.collection(), |_| Tool::by_maker().some(|t| t.price.gte(30))).await,
        [3]
    );
    assert_eq!(
        ids(&db.collection::<Tool>(), |t| t.maker.some(|m| m.city.eq("Oslo"))).await,
        [1, 2]
    );
    tx.abort().await;
}

async fn softly_deleted_documents_are_asked_where_it_is_said(db: &Db) {
    let tools = tools(db).await;
    let makers = db.collection::<Maker>();
    makers.delete(1).await.unwrap();
    tools.delete(3).await.unwrap();
    assert_eq!(ids(&tools, |t| t.maker.some(|m| m.city.eq("Oslo"))).await, [2]);
    assert_eq!(
        ids(&tools, |t| t.maker.with_deleted().some(|m| m.city.eq("Oslo"))).await,
        [1, 2]
    );
    assert_eq!(
        ids(&tools, |t| t.maker.with_deleted().none(|m| m.city.eq("Oslo"))).await,
        [4, 5]
    );
    assert_eq!(
        ids(&tools, |t| t.others.with_deleted().all(|m| m.city.eq("Oslo"))).await,
        [2, 4]
    );
    let all = tools
        .whose(|t| t.maker.some(|m| m.city.eq("Rome")))
        .find_all()
        .with_deleted();
    assert_eq!(all.await.unwrap().len(), 1);
    assert_eq!(
        ids(&makers, |_| Tool::by_maker().some(|t| t.price.eq(30))).await,
        Vec::<i32>::new()
    );
    assert_eq!(
        ids(&makers, |_| Tool::by_maker()
            .with_deleted()
            .some(|t| t.price.eq(30)))
        .await,
        [3]
    );
    assert_eq!(
        ids(&makers, |_| Tool::by_maker()
            .only_deleted()
            .some(|t| t.price.gt(0)))
        .await,
        [3]
    );
}

async fn another_collection_of_the_model_is_asked(db: &Db) {
    let tools = tools(db).await;
    db.collection_named::<Maker>("old_makers")
        .insert(maker(9, "Oslo"))
        .await
        .unwrap();
    let old = ids(&tools, |t| {
        t.maker.from_collection("old_makers").some(|m| m.city.eq("Oslo"))
    })
    .await;
    assert_eq!(old, [4]);
    let both = |t: <Tool as odm::Embedded>::Fields<Tool>| {
        t.maker.from_collection("old_makers").some(|m| m.city.eq("Oslo"))
            | t.maker.some(|m| m.city.eq("Oslo"))
    };
    assert_eq!(ids(&tools, both).await, [1, 2, 4]);
    let shop = db.collection_named::<Tool>("shop");
    shop.insert(tool(1, 5, Some(3), &[])).await.unwrap();
    assert_eq!(ids(&shop, |t| t.maker.some(|m| m.city.eq("Rome"))).await, [1]);
    let makers = db.collection::<Maker>();
    assert_eq!(
        ids(&makers, |_| Tool::by_maker()
            .from_collection("shop")
            .some(|_| Filter::all()))
        .await,
        [3]
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "badges")]
struct Badge {
    #[serde(rename = "_id")]
    id: i32,
    gold: bool,
    #[odm(unique, inverse(one = of_maker))]
    maker: Ref<Maker>,
}

async fn the_only_one_that_refers_is_asked(db: &Db) {
    tools(db).await;
    let badges = [(1, true, 2), (2, false, 3)].map(|(id, gold, maker)| Badge {
        id,
        gold,
        maker: Ref::new(maker),
    });
    db.collection::<Badge>().insert_many(badges).await.unwrap();
    let makers = db.collection::<Maker>();
    assert_eq!(
        ids(&makers, |_| Badge::of_maker().some(|b| b.gold.eq(true))).await,
        [2]
    );
    assert_eq!(
        ids(&makers, |_| Badge::of_maker().none(|b| b.gold.eq(true))).await,
        [1, 3]
    );
}

async fn an_upsert_takes_the_filter_alone(db: &Db) {
    let tools = tools(db).await;
    let rome = || tools.whose(|t| t.maker.some(|m| m.city.eq("Rome")));
    let refused = rome()
        .update_one(|t| t.id.eq(77), |t| t.price.set(1))
        .upsert()
        .await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let refused = rome()
        .find_one_and_update(|t| t.id.eq(77), |t| t.price.set(1))
        .upsert()
        .await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(tools.count(|t| t.id.eq(77)).await.unwrap(), 0);
    // Nothing of a filter is stored, whether one or several documents meet the condition.
    for city in ["Rome", "Oslo"] {
        let some = tools.whose(|t| t.others.some(|m| m.city.eq(city)) & t.maker.some(|m| m.city.eq(city)));
        let filter = some.await.unwrap();
        let made = tools
            .update_one(|t| filter & t.id.eq(78), |t| t.price.set(1))
            .upsert()
            .await
            .unwrap();
        assert_eq!(made.upserted_id, Some(78));
        let stored = db
            .raw_collection("tools")
            .find_one(doc! { "_id": 78 })
            .await
            .unwrap();
        assert_eq!(
            stored,
            Some(doc! { "_id": 78, "deleted": Bson::Null, "price": 1 })
        );
        tools.delete(78).for_ever().await.unwrap();
    }
}

async fn what_is_wrong_is_said(db: &Db) {
    let tools = tools(db).await;
    let makers = db.collection::<Maker>();
    let cut = makers
        .whose(|_| Tool::by_maker().limit(2).some(|_| Filter::all()))
        .await
        .unwrap_err();
    assert_eq!(
        (cut.kind(), cut.model()),
        (ErrorKind::InvalidArgument, Some("Tool"))
    );
    let first = makers
        .whose(|_| Tool::by_maker().first().none(|_| Filter::all()))
        .find_all()
        .await;
    assert_eq!(first.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let every = tools.whose(|_| {
        let field = Tool::fields().others.each();
        field.some(|_| Filter::all())
    });
    let every = every.find_all().await.unwrap_err();
    assert_eq!(
        (every.kind(), every.path()),
        (ErrorKind::InvalidArgument, Some("others.$[]"))
    );
    let raw = tools
        .whose(|t| t.maker.some(|_| Filter::raw(doc! { "$nonsense": 1 })))
        .count(|_| Filter::all());
    let raw = raw.await.unwrap_err();
    assert_eq!(raw.model(), Some("Maker"), "{raw}");
    let late = tools
        .whose(|t| t.maker.some(|_| Filter::all()))
        .max_time(Duration::ZERO)
        .await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Timeout);
    let late = tools
        .whose(|t| t.maker.some(|_| Filter::all()))
        .find_all()
        .max_time(Duration::ZERO)
        .await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Timeout);
    let said = tools
        .whose(|t| t.maker.some(|m| m.city.eq("Oslo")))
        .comment("who")
        .max_time(Duration::from_secs(60));
    assert!(said.await.is_ok());
}
