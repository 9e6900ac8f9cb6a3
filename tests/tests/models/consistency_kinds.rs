//! What becomes of documents that refer to one kind of an enum, or to the enum, when one is deleted.

use std::sync::atomic::{AtomicI64, Ordering};

use bson::{DateTime, doc};
use odm::{Db, Embedded, ErrorKind, Filter, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    rules_of_a_kind_hold_for_deletions_by_the_enum,
    rules_of_an_enum_hold_for_deletions_by_a_kind,
    what_goes_with_a_soft_deletion_has_its_date,
    other_kinds_of_the_collection_keep_their_references,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "works", kind = "novel", referred_by(Prize, Shelf, Copy, Quote))]
pub struct Novel {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique, key = NovelIsbn)]
    isbn: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "works", kind = "poem", referred_by(Quote))]
pub struct Poem {
    #[serde(rename = "_id")]
    id: i32,
    isbn: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "works", referred_by(Quote))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Work {
    Novel(Novel),
    Poem(Poem),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "prizes")]
pub struct Prize {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = deny)]
    novel: Ref<Novel>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "novel_shelves")]
pub struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = pull)]
    novels: Vec<Ref<Novel>>,
}

/// Refers by a field that works of other kinds have too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "novel_copies")]
pub struct Copy {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    novel: Ref<Novel, NovelIsbn>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "quotes")]
pub struct Quote {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    of: Ref<Work>,
}

fn novel(id: i32) -> Novel {
    let isbn = format!("isbn {id}");
    Novel { id, isbn }
}

/// Novels 1 to 3, and poem 9 with the number of novel 2; a prize for novel 1; novels 1 and 2 on a shelf; copies of each.
async fn works(db: &Db) {
    db.collection::<Novel>()
        .insert_many([1, 2, 3].map(novel))
        .await
        .unwrap();
    let poem = Poem {
        id: 9,
        isbn: "isbn 2".into(),
    };
    db.collection::<Poem>().insert(poem).await.unwrap();
    let prize = Prize {
        id: 1,
        novel: Ref::new(1),
    };
    db.collection::<Prize>().insert(prize).await.unwrap();
    let shelf = Shelf {
        id: 1,
        novels: vec![Ref::new(1), Ref::new(2)],
    };
    db.collection::<Shelf>().insert(shelf).await.unwrap();
    let copies = [1, 2, 3].map(|id| Copy {
        id,
        novel: Ref::keyed(format!("isbn {id}")),
    });
    db.collection::<Copy>().insert_many(copies).await.unwrap();
}

async fn ids(db: &Db, collection: &str) -> Vec<i32> {
    let sorted = db
        .raw_collection(collection)
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 });
    let documents = sorted.await.unwrap();
    documents
        .iter()
        .map(|found| found.get_i32("_id").unwrap())
        .collect()
}

async fn shelved(db: &Db) -> Vec<Ref<Novel>> {
    db.collection::<Shelf>().get(1).required().await.unwrap().novels
}

async fn rules_of_a_kind_hold_for_deletions_by_the_enum(db: &Db) {
    let works_of = |db: &Db| db.collection::<Work>();
    works(db).await;
    let error = works_of(db).delete(1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Referenced);
    let referring = error.referring().unwrap();
    assert_eq!((referring.model, referring.count), ("Prize", 1));
    assert_eq!(referring.id, 1.into());
    assert!(
        error.to_string().contains("1 of Prize.novel, as that with _id 1"),
        "{error}"
    );
    for error in [
        works_of(db).delete_many(|_| Filter::all()).await.unwrap_err(),
        works_of(db)
            .purge(|_| Filter::raw(doc! { "_id": 1 }))
            .await
            .unwrap_err(),
        works_of(db)
            .find_one_and_delete(|_| Filter::raw(doc! { "_id": 1 }))
            .await
            .unwrap_err(),
        works_of(db)
            .bulk_write()
            .delete_one(|_| Filter::raw(doc! { "_id": 1 }))
            .await
            .unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Referenced, "{error}");
    }
    assert_eq!(ids(db, "works").await, [1, 2, 3, 9]);
    // The poem has the number of a novel, and is none.
    assert_eq!(works_of(db).delete(9).await.unwrap().deleted, 1);
    assert_eq!(ids(db, "novel_copies").await, [1, 2, 3]);
    assert_eq!(works_of(db).delete(2).await.unwrap().deleted, 1);
    assert_eq!(ids(db, "works").await, [1, 3]);
    assert_eq!(ids(db, "novel_copies").await, [1, 3]);
    assert_eq!(shelved(db).await, [Ref::new(1)]);
    db.collection::<Prize>().delete(1).await.unwrap();
    let all = works_of(db).delete_many(|_| Filter::all());
    assert_eq!(all.await.unwrap().deleted, 2);
    assert_eq!(ids(db, "novel_copies").await, [0; 0]);
    assert_eq!(shelved(db).await, []);
}

async fn rules_of_an_enum_hold_for_deletions_by_a_kind(db: &Db) {
    works(db).await;
    let quotes = [(1, 2), (2, 9), (3, 3)].map(|(id, of)| Quote { id, of: Ref::new(of) });
    db.collection::<Quote>().insert_many(quotes).await.unwrap();
    db.collection::<Novel>().delete(2).await.unwrap();
    assert_eq!(ids(db, "quotes").await, [2, 3]);
    db.collection::<Poem>().delete(9).await.unwrap();
    assert_eq!(ids(db, "quotes").await, [3]);
    db.collection::<Work>().delete(3).await.unwrap();
    assert_eq!(ids(db, "quotes").await, [0; 0]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "remarks", referred_by(Remark))]
struct Remark {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    answers: Option<Ref<Remark>>,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

async fn what_goes_with_a_soft_deletion_has_its_date(db: &Db) {
    let time = AtomicI64::new(0);
    let db = db.with_clock(move || DateTime::from_millis(time.fetch_add(1, Ordering::SeqCst)));
    let remarks = db.collection::<Remark>();
    let remark = |id: i32| Remark {
        id,
        answers: (id > 1).then(|| Ref::new(id / 2)),
        deleted: None,
    };
    remarks.insert_many((1..64).map(remark)).await.unwrap();
    assert_eq!(remarks.delete(2).await.unwrap().deleted, 1);
    let first = remarks.get(2).with_deleted().required().await.unwrap();
    let gone = remarks
        .find(|r| r.deleted.eq(first.deleted))
        .only_deleted()
        .await
        .unwrap();
    assert_eq!(gone.len(), 31);
    assert_eq!(remarks.find_all().await.unwrap().len(), 32);
    assert_eq!(
        remarks
            .restore(|r| r.deleted.eq(first.deleted))
            .await
            .unwrap()
            .modified,
        31
    );
    assert_eq!(remarks.find_all().await.unwrap().len(), 63);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "clients", referred_by(Invoice))]
struct Client {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Post {
    client: Option<Ref<Client>>,
}

/// Lets go by operators, and by a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "papers", kind = "invoice")]
#[odm(reference(posts.any().client: Option<Ref<Client>>, on_delete = nullify))]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = nullify)]
    client: Option<Ref<Client>>,
    #[odm(on_delete = pull)]
    others: Vec<Ref<Client>>,
    posts: Vec<Post>,
    #[odm(version)]
    version: i64,
}

/// The same fields, without rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "papers", kind = "order")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    client: Ref<Client>,
    others: Vec<Ref<Client>>,
    posts: Vec<Post>,
}

async fn other_kinds_of_the_collection_keep_their_references(db: &Db) {
    let (clients, orders) = (db.collection::<Client>(), db.collection::<Order>());
    clients.insert(Client { id: 1 }).await.unwrap();
    let client = Ref::new(1);
    let posts = vec![Post { client: Some(client) }];
    let order = Order {
        id: 1,
        client,
        others: vec![client],
        posts: posts.clone(),
    };
    orders.insert(&order).await.unwrap();
    let stored = orders.raw().find_one(doc! { "_id": 1 }).await.unwrap();
    let invoice = Invoice {
        id: 2,
        client: Some(client),
        others: vec![client],
        posts,
        version: 0,
    };
    let invoices = db.collection::<Invoice>();
    invoices.insert(invoice).await.unwrap();
    assert_eq!(clients.delete(1).await.unwrap().deleted, 1);
    assert_eq!(orders.raw().find_one(doc! { "_id": 1 }).await.unwrap(), stored);
    assert_eq!(orders.get(1).required().await.unwrap(), order);
    let invoice = invoices.get(2).required().await.unwrap();
    assert_eq!((invoice.client, invoice.others.len()), (None, 0));
    assert_eq!(invoice.posts, [Post { client: None }]);
}
