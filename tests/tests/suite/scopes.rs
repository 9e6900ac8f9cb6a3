//! Scopes of models: documents that are seen only when somebody asks for them.

use bson::{Document, doc};
use odm::{Db, ErrorKind, Filter, Model, Ref, Update};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    reads_see_what_is_in_scope,
    writes_change_what_is_in_scope,
    upserts_store_nothing_of_the_scope,
    what_is_inserted_out_of_scope_is_given,
    relations_see_what_is_in_scope,
    pipelines_see_what_is_in_scope,
    rules_and_copies_are_about_all,
    scopes_hold_beside_deletion_and_tenants,
    kinds_have_scopes,
    generic_models_have_scopes,
    a_wrong_scope_is_an_error_of_every_action,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(scope = published, referred_by(Article))]
struct Article {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(rename = "p")]
    published: bool,
    title: String,
    #[odm(inverse = by_about, on_delete = cascade)]
    about: Option<Ref<Article>>,
    #[odm(version)]
    version: i64,
}

fn published(a: ArticleFields) -> Filter<Article> {
    a.published.eq(true) & a.title.ne("hidden")
}

fn article(id: i32, published: bool, about: Option<i32>) -> Article {
    Article {
        id,
        published,
        title: format!("article {id}"),
        about: about.map(Ref::new),
        version: 0,
    }
}

/// 1 and 2 are published, and about 4; 3 and 4 are not, and 3 is about 1.
async fn fill(db: &Db) -> odm::Collection<Article> {
    let articles = db.collection::<Article>();
    let all = [
        article(1, true, Some(4)),
        article(2, true, Some(1)),
        article(3, false, Some(1)),
        article(4, false, None),
    ];
    articles.insert_many(all).await.unwrap();
    articles
}

async fn reads_see_what_is_in_scope(db: &Db) {
    let articles = fill(db).await;
    assert_eq!(articles.find_all().await.unwrap().len(), 2);
    assert_eq!(articles.find_all().unscoped().await.unwrap().len(), 4);
    assert_eq!(articles.find(|a| a.published.eq(false)).await.unwrap(), []);
    assert_eq!(
        articles
            .find(|a| a.published.eq(false) | a.id.gt(0))
            .await
            .unwrap()
            .len(),
        2
    );
    assert_eq!(articles.get(3).await.unwrap(), None);
    assert_eq!(articles.get(3).unscoped().await.unwrap().unwrap().id, 3);
    assert_eq!(articles.get_many([1, 3]).await.unwrap().len(), 1);
    assert_eq!(articles.count(|a| a.id.gt(0)).await.unwrap(), 2);
    assert_eq!(articles.count(|a| a.id.gt(0)).unscoped().await.unwrap(), 4);
    assert_eq!(articles.estimated_count().await.unwrap(), 2);
    assert!(!articles.exists(|a| a.id.eq(3)).await.unwrap());
    assert!(articles.exists(|a| a.id.eq(3)).unscoped().await.unwrap());
    assert_eq!(articles.distinct(|a| a.title.clone()).await.unwrap().len(), 2);
    assert_eq!(
        articles
            .distinct(|a| a.title.clone())
            .unscoped()
            .await
            .unwrap()
            .len(),
        4
    );
    assert_eq!(
        articles
            .find_all()
            .sort(|a| a.id.desc())
            .page(1)
            .await
            .unwrap()
            .items[0]
            .id,
        2
    );
    assert_eq!(
        articles
            .find_all()
            .unscoped()
            .sort(|a| a.id.desc())
            .page(1)
            .await
            .unwrap()
            .items[0]
            .id,
        4
    );
    let page = articles
        .find_all()
        .sort(|a| a.id.asc())
        .page_number(1, 9)
        .await
        .unwrap();
    assert_eq!(page.total, 2);
    let mut stream = articles.find_all().stream();
    let mut seen = 0;
    while stream.try_next().await.unwrap().is_some() {
        seen += 1;
    }
    assert_eq!(seen, 2);
    assert_eq!(articles.raw().count(doc! {}).await.unwrap(), 4);
    articles.find_all().explain().await.unwrap();
}

async fn writes_change_what_is_in_scope(db: &Db) {
    let articles = fill(db).await;
    let renamed = |id: i32| articles.update_one(move |a| a.id.eq(id), |a| a.title.set("x"));
    assert_eq!(renamed(3).await.unwrap().matched, 0);
    assert_eq!(renamed(3).unscoped().await.unwrap().matched, 1);
    assert_eq!(
        articles
            .update_many(|a| a.id.gt(0), |a| a.title.set("y"))
            .await
            .unwrap()
            .matched,
        2
    );
    assert_eq!(articles.replace(article(4, true, None)).await.unwrap().matched, 0);
    assert_eq!(
        articles
            .replace(article(4, false, None))
            .unscoped()
            .await
            .unwrap()
            .matched,
        1
    );
    let found = articles.find_one_and_update(|a| a.id.eq(4), |a| a.title.set("z"));
    assert_eq!(found.await.unwrap(), None);
    let bulk = articles
        .bulk_write()
        .update_many(|a| a.id.gt(0), |a| a.title.set("b"))
        .delete_many(|a| a.id.gt(2));
    let bulk = bulk.await.unwrap();
    assert_eq!((bulk.matched, bulk.deleted), (2, 0));
    let bulk = articles
        .bulk_write()
        .update_many(|a| a.id.gt(0), |a| a.title.set("c"))
        .unscoped();
    assert_eq!(bulk.await.unwrap().matched, 4);
    // What was seen is saved, and may leave the scope.
    let mut tracked = articles.get(1).tracked().await.unwrap().unwrap();
    tracked.published = false;
    tracked.save(&articles).await.unwrap();
    tracked.title = "again".into();
    tracked.save(&articles).await.unwrap();
    assert_eq!(articles.find_all().await.unwrap().len(), 1);
    assert_eq!(articles.delete(3).await.unwrap().deleted, 0);
    assert_eq!(articles.find_one_and_delete(|a| a.id.gt(2)).await.unwrap(), None);
    assert_eq!(articles.delete(3).unscoped().await.unwrap().deleted, 1);
    assert_eq!(articles.delete_many(|a| a.id.gt(0)).await.unwrap().deleted, 1);
    assert_eq!(articles.raw().count(doc! {}).await.unwrap(), 2);
}

async fn upserts_store_nothing_of_the_scope(db: &Db) {
    let articles = db.collection::<Article>();
    let done = articles
        .upsert(|a| a.id.eq(1), |a| a.title.set("t") & a.published.set(false))
        .await
        .unwrap();
    assert_eq!(done.upserted_id, Some(1));
    articles
        .upsert(|a| a.id.eq(2) & a.published.eq(true), |a| a.title.set("t"))
        .await
        .unwrap();
    articles
        .upsert(|a| a.id.eq(3), |a| a.title.set("t"))
        .await
        .unwrap();
    articles.save(article(4, false, None)).await.unwrap();
    let stored = articles
        .raw()
        .find(doc! {})
        .sort_raw(doc! {"_id": 1})
        .await
        .unwrap();
    let published: Vec<_> = stored.iter().map(|own| own.get_bool("p").ok()).collect();
    assert_eq!(published, [Some(false), Some(true), None, Some(false)]);
    // One that is not seen is not changed either.
    let error = articles
        .upsert(|a| a.id.eq(1), |a| a.title.set("u"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    articles
        .upsert(|a| a.id.eq(1), |a| a.title.set("u"))
        .unscoped()
        .await
        .unwrap();
    articles
        .find_one_and_update(|a| a.id.eq(2), |a| a.title.set("v"))
        .upsert()
        .await
        .unwrap();
    let bulk = articles
        .bulk_write()
        .upsert(|a| a.id.eq(5) & a.published.eq(true), |a| a.title.set("w"));
    bulk.await.unwrap();
    assert_eq!(articles.raw().count(doc! {}).await.unwrap(), 5);
}

async fn what_is_inserted_out_of_scope_is_given(db: &Db) {
    let articles = fill(db).await;
    let (inserted, is_new) = articles
        .find_or_insert(|a| a.id.eq(5), || article(5, false, None))
        .await
        .unwrap();
    assert_eq!((inserted, is_new), (article(5, false, None), true));
    // It is there, and is not seen.
    let again = articles.find_or_insert(|a| a.id.eq(5), || article(5, false, None));
    assert_eq!(again.await.unwrap_err().kind(), ErrorKind::DuplicateKey);
    let (found, is_new) = articles
        .find_or_insert(|a| a.id.eq(1), || unreachable!("it is there"))
        .await
        .unwrap();
    assert_eq!((found, is_new), (article(1, true, Some(4)), false));
}

async fn relations_see_what_is_in_scope(db: &Db) {
    let articles = fill(db).await;
    let found = articles
        .find_all()
        .sort(|a| a.id.asc())
        .load(|a| a.about)
        .await
        .unwrap();
    assert_eq!(
        found.iter().map(|(_, about)| about.is_some()).collect::<Vec<_>>(),
        [false, true]
    );
    let found = articles
        .find_all()
        .sort(|a| a.id.asc())
        .load(|a| a.about.unscoped())
        .await
        .unwrap();
    assert!(found.iter().all(|(_, about)| about.is_some()));
    let found = articles
        .find_all()
        .sort(|a| a.id.asc())
        .join(|a| a.about)
        .await
        .unwrap();
    assert_eq!(
        found.iter().map(|(_, about)| about.is_some()).collect::<Vec<_>>(),
        [false, true]
    );
    let found = articles
        .find_all()
        .sort(|a| a.id.asc())
        .load(|_| Article::by_about())
        .await
        .unwrap();
    assert_eq!(found[0].1.len(), 1);
    let found = articles
        .find_all()
        .sort(|a| a.id.asc())
        .load(|_| Article::by_about().unscoped())
        .await
        .unwrap();
    assert_eq!(found[0].1.len(), 2);
    let found = articles
        .find_all()
        .sort(|a| a.id.asc())
        .join(|_| Article::by_about())
        .await
        .unwrap();
    assert_eq!(found[0].1.len(), 1);
    let whose = articles.whose(|a| a.about.some(|about| about.id.gt(0)));
    assert_eq!(
        whose
            .find_all()
            .await
            .unwrap()
            .iter()
            .map(|a| a.id)
            .collect::<Vec<_>>(),
        [2]
    );
    let whose = articles.whose(|_| Article::by_about().unscoped().some(|a| a.published.eq(false)));
    assert_eq!(whose.find_all().await.unwrap()[0].id, 1);
}

#[derive(Debug, Serialize, Deserialize, odm::Embedded)]
struct WithAll {
    #[serde(rename = "_id")]
    id: i32,
    all: Vec<Article>,
}

async fn pipelines_see_what_is_in_scope(db: &Db) {
    let articles = fill(db).await;
    assert_eq!(articles.aggregate().count().await.unwrap(), 2);
    assert_eq!(articles.aggregate().unscoped().count().await.unwrap(), 4);
    assert_eq!(
        articles.aggregate_raw([doc! {"$count": "n"}]).await.unwrap(),
        [doc! {"n": 2}]
    );
    assert_eq!(
        articles
            .aggregate_raw([doc! {"$count": "n"}])
            .unscoped()
            .await
            .unwrap(),
        [doc! {"n": 4}]
    );
    let joined = articles
        .aggregate()
        .unscoped()
        .lookup::<Article, WithAll>(|a, other, out| out.all.joins(&a.id, &other.about))
        .sort(|a| a.id.asc())
        .await
        .unwrap();
    assert_eq!(
        joined.iter().map(|own| own.all.len()).collect::<Vec<_>>(),
        [1, 0, 0, 1]
    );
    let union = articles.aggregate().union_with::<Article>(|all| all);
    assert_eq!(union.await.unwrap().len(), 4);
    let followed = articles
        .aggregate()
        .filter(|a| a.id.eq(2))
        .graph_lookup::<Article, WithAll, _>(|a, about, out| {
            out.all.follows(&a.about, &about.about, &about.id)
        });
    assert_eq!(followed.await.unwrap()[0].all.len(), 1);
}

async fn rules_and_copies_are_about_all(db: &Db) {
    let articles = fill(db).await;
    let problems = articles.verify_relations().await.unwrap();
    assert_eq!(problems.len(), 0);
    // 3 is about 1, and goes with it.
    assert_eq!(articles.delete(1).await.unwrap().deleted, 1);
    let left: Vec<Document> = articles.raw().find(doc! {}).await.unwrap();
    assert_eq!(
        left.iter()
            .map(|own| own.get_i32("_id").unwrap())
            .collect::<Vec<_>>(),
        [4]
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(scope = current)]
struct File {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    old: bool,
    #[odm(soft_delete)]
    deleted: Option<bson::DateTime>,
}

fn current(f: FileFields) -> Filter<File> {
    f.old.ne(true)
}

async fn scopes_hold_beside_deletion_and_tenants(db: &Db) {
    for (first, owner) in [(0, "ann"), (10, "bob")] {
        let files = db.for_tenant(owner).collection::<File>();
        let file = |id: i32| File {
            id: first + id,
            owner: None,
            old: id % 2 == 0,
            deleted: None,
        };
        files.insert_many((1..5).map(file)).await.unwrap();
        files
            .delete_many(|f| f.id.gt(first + 2))
            .unscoped()
            .await
            .unwrap();
    }
    let files = db.for_tenant("ann").collection::<File>();
    let ids = |found: Vec<File>| found.iter().map(|file| file.id).collect::<Vec<_>>();
    assert_eq!(ids(files.find_all().await.unwrap()), [1]);
    assert_eq!(
        ids(files.find_all().unscoped().sort(|f| f.id.asc()).await.unwrap()),
        [1, 2]
    );
    assert_eq!(
        ids(files
            .find_all()
            .with_deleted()
            .sort(|f| f.id.asc())
            .await
            .unwrap()),
        [1, 3]
    );
    assert_eq!(ids(files.find_all().only_deleted().await.unwrap()), [3]);
    assert_eq!(
        ids(files
            .find_all()
            .only_deleted()
            .unscoped()
            .sort(|f| f.id.asc())
            .await
            .unwrap()),
        [3, 4]
    );
    assert_eq!(files.restore(|f| f.id.gt(0)).await.unwrap().matched, 1);
    assert_eq!(files.purge(|f| f.id.gt(0)).await.unwrap().deleted, 2);
    assert_eq!(files.purge(|f| f.id.gt(0)).unscoped().await.unwrap().deleted, 2);
    let all = db
        .across_tenants()
        .collection::<File>()
        .find_all()
        .unscoped()
        .with_deleted();
    assert_eq!(all.await.unwrap().len(), 4);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "creatures", kind = "cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "creatures", scope = odd)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Creature {
    Cat(Cat),
}

fn odd(c: CreatureFields) -> Filter<Creature> {
    c.cat.id.ne(2)
}

async fn kinds_have_scopes(db: &Db) {
    let creatures = db.collection::<Creature>();
    creatures
        .insert_many((1..4).map(|id| Creature::Cat(Cat { id })))
        .await
        .unwrap();
    assert_eq!(creatures.find_all().await.unwrap().len(), 2);
    assert_eq!(creatures.find_all().unscoped().await.unwrap().len(), 3);
    assert_eq!(creatures.of::<Cat>().find_all().await.unwrap().len(), 3);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "parcels", scope = light)]
struct Parcel<T> {
    #[serde(rename = "_id")]
    id: i32,
    content: T,
}

fn light<T: odm::FieldType>(p: ParcelFields<T>) -> Filter<Parcel<T>>
where
    Parcel<T>: Model<Fields<Parcel<T>> = ParcelFields<T>>,
{
    p.id.lt(10)
}

async fn generic_models_have_scopes(db: &Db) {
    let parcels = db.collection::<Parcel<String>>();
    parcels
        .insert_many([1, 11].map(|id| Parcel {
            id,
            content: "x".to_owned(),
        }))
        .await
        .unwrap();
    assert_eq!(parcels.find_all().await.unwrap().len(), 1);
    assert_eq!(parcels.find_all().unscoped().await.unwrap().len(), 2);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(scope = searching)]
struct Searched {
    #[serde(rename = "_id")]
    id: i32,
}

fn searching(_: SearchedFields) -> Filter<Searched> {
    Filter::raw(doc! {"$or": [{"$text": {"$search": "x"}}]})
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(scope = broken)]
struct Broken {
    #[serde(rename = "_id")]
    id: u64,
}

fn broken(b: BrokenFields) -> Filter<Broken> {
    b.id.lt(u64::MAX)
}

async fn a_wrong_scope_is_an_error_of_every_action(db: &Db) {
    let error = db.collection::<Searched>().find_all().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.model()),
        (ErrorKind::InvalidArgument, Some("Searched"))
    );
    let broken = db.collection::<Broken>();
    for error in [
        broken.find_all().await.unwrap_err(),
        broken.insert(Broken { id: 1 }).await.unwrap_err(),
        broken
            .delete_many(|_| Filter::all())
            .unscoped()
            .await
            .unwrap_err(),
        broken
            .update_many(|_| Filter::all(), |_| Update::raw(doc! {"$set": {"x": 1}}))
            .await
            .unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.model()), (ErrorKind::Encode, Some("Broken")));
    }
}
