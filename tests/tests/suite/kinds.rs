//! Models that share a collection, apart and together.

use bson::{DateTime, doc};
use odm::{Db, Embedded, ErrorKind, Id, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    each_kind_is_read_apart_and_all_together,
    every_write_keeps_to_its_kind,
    the_indexes_of_all_kinds_are_known,
    references_reach_one_kind,
    what_kinds_declare_alike_holds_for_all,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "cat")]
pub struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index)]
    name: String,
    #[odm(validate(max = 9))]
    lives: i32,
    keeper: Option<Ref<Keeper>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "dog")]
pub struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index)]
    name: String,
    #[odm(index)]
    tricks: Vec<String>,
    collar: Option<Collar>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Collar {
    color: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "animals")]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Animal {
    Cat(Cat),
    Dog(Dog),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Keeper {
    #[serde(rename = "_id")]
    id: Id<Keeper>,
}

fn cat(id: i32, name: &str) -> Cat {
    Cat {
        id,
        name: name.to_owned(),
        lives: 7,
        keeper: None,
    }
}

fn dog(id: i32, name: &str) -> Dog {
    Dog {
        id,
        name: name.to_owned(),
        tricks: vec!["sit".to_owned()],
        collar: None,
    }
}

async fn each_kind_is_read_apart_and_all_together(db: &Db) {
    let animals = db.collection::<Animal>();
    let (cats, dogs) = (animals.of::<Cat>(), db.collection::<Dog>());
    cats.insert(cat(1, "Tom")).await.unwrap();
    dogs.insert_many([dog(2, "Rex"), dog(3, "Tom")]).await.unwrap();
    animals.insert(Animal::Cat(cat(4, "Kit"))).await.unwrap();
    assert_eq!(
        cats.find_all().sort(|c| c.id.asc()).await.unwrap(),
        [cat(1, "Tom"), cat(4, "Kit")]
    );
    assert_eq!(cats.find(|c| c.name.eq("Tom")).await.unwrap(), [cat(1, "Tom")]);
    assert_eq!(
        dogs.find(|d| d.tricks.has("sit") & d.name.eq("Tom"))
            .await
            .unwrap(),
        [dog(3, "Tom")]
    );
    let all = animals.find_all().sort(|a| a.cat.id.asc()).await.unwrap();
    let expected = [
        Animal::Cat(cat(1, "Tom")),
        Animal::Dog(dog(2, "Rex")),
        Animal::Dog(dog(3, "Tom")),
        Animal::Cat(cat(4, "Kit")),
    ];
    assert_eq!(all, expected);
    let toms = animals.count(|a| a.cat.name.eq("Tom")).await.unwrap();
    assert_eq!(
        toms, 2,
        "a condition holds for all kinds with a field of that name"
    );
    assert_eq!(
        animals
            .count(|a| a.cat.matches(|c| c.name.eq("Tom")))
            .await
            .unwrap(),
        1
    );
    assert_eq!(animals.find(|a| a.dog.is()).await.unwrap().len(), 2);
    assert_eq!(animals.get(2).await.unwrap(), Some(Animal::Dog(dog(2, "Rex"))));
    assert_eq!(cats.get(2).await.unwrap(), None);
    assert_eq!(cats.get_many([1, 2, 4]).await.unwrap().len(), 2);
    assert_eq!(dogs.estimated_count().await.unwrap(), 2);
    assert_eq!(cats.distinct(|c| c.name.clone()).await.unwrap(), ["Kit", "Tom"]);
    let sums = cats
        .aggregate_raw([doc! {"$group": {"_id": null, "n": {"$sum": 1}}}])
        .await
        .unwrap();
    assert_eq!(sums, [doc! {"_id": null, "n": 2}]);
    let stored = animals.raw().find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    assert_eq!(stored.get_str("kind").unwrap(), "cat");
}

async fn every_write_keeps_to_its_kind(db: &Db) {
    let animals = db.collection::<Animal>();
    let (cats, dogs) = (animals.of::<Cat>(), animals.of::<Dog>());
    cats.insert(cat(1, "Tom")).await.unwrap();
    dogs.insert(dog(2, "Tom")).await.unwrap();
    let renamed = cats
        .update_many(|c| c.name.eq("Tom"), |c| c.name.set("Kit"))
        .await
        .unwrap();
    assert_eq!((renamed.matched, renamed.modified), (1, 1));
    cats.upsert(|c| c.id.eq(5), |c| c.name.set("New") & c.lives.set(9))
        .await
        .unwrap();
    cats.save(cat(6, "Saved")).await.unwrap();
    cats.replace(Cat {
        lives: 1,
        ..cat(1, "Kit")
    })
    .await
    .unwrap();
    cats.find_one_and_update(|c| c.id.eq(6), |c| c.lives.inc(1))
        .await
        .unwrap();
    cats.bulk_write()
        .insert(cat(7, "Bulk"))
        .update_one(|c| c.id.eq(7), |c| c.lives.set(2))
        .await
        .unwrap();
    let kinds = animals.raw().distinct("kind").await.unwrap();
    assert_eq!(kinds, [bson::Bson::from("cat"), "dog".into()]);
    assert_eq!(cats.count(|_| odm::Filter::all()).await.unwrap(), 4);
    let clash = cats.save(cat(2, "Thief")).await.unwrap_err();
    assert_eq!(clash.kind(), ErrorKind::DuplicateKey, "the dog keeps its `_id`");
    assert_eq!(dogs.get(2).await.unwrap(), Some(dog(2, "Tom")));
    assert_eq!(cats.delete_many(|_| odm::Filter::all()).await.unwrap().deleted, 4);
    assert_eq!(animals.find_all().await.unwrap(), [Animal::Dog(dog(2, "Tom"))]);
    let error = cats
        .insert(Cat {
            lives: 10,
            ..cat(9, "Old")
        })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    let error = animals
        .insert(Animal::Cat(Cat {
            lives: 10,
            ..cat(9, "Old")
        }))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.violations()[0].path.as_str()),
        (ErrorKind::Validation, "lives")
    );
}

async fn the_indexes_of_all_kinds_are_known(db: &Db) {
    let animals = db.collection::<Animal>();
    animals.of::<Dog>().sync_indexes().await.unwrap();
    let synced = animals.sync_indexes().drop_unknown(true).await.unwrap();
    assert!(
        synced.dropped.is_empty() && synced.created.is_empty(),
        "{synced:?}"
    );
    let names: Vec<String> = animals
        .list_indexes()
        .await
        .unwrap()
        .into_iter()
        .map(|index| index.name)
        .collect();
    assert_eq!(names, ["_id_", "name_1", "tricks_1"]);
    let error = animals
        .of::<Cat>()
        .sync_indexes()
        .drop_unknown(true)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = animals.of::<Cat>().watch().await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

async fn references_reach_one_kind(db: &Db) {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
    struct Basket {
        #[serde(rename = "_id")]
        id: i32,
        sleeps: Ref<Cat>,
    }
    let animals = db.collection::<Animal>();
    animals
        .insert_many([Animal::Cat(cat(1, "Tom")), Animal::Dog(dog(2, "Rex"))])
        .await
        .unwrap();
    let baskets = db.collection::<Basket>();
    let basket = |id, of| Basket {
        id,
        sleeps: Ref::new(of),
    };
    baskets.insert_many([basket(1, 1), basket(2, 2)]).await.unwrap();
    let loaded = baskets
        .find_all()
        .sort(|b| b.id.asc())
        .load(|b| b.sleeps)
        .await
        .unwrap();
    assert_eq!(loaded[0].1, Some(cat(1, "Tom")));
    assert_eq!(loaded[1].1, None, "a dog is no cat");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes", kind = "todo", tag = "type")]
pub struct Todo {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(soft_delete)]
    gone: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes", kind = "memo", tag = "type")]
pub struct Memo {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(soft_delete)]
    gone: Option<DateTime>,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Note {
    Todo(Todo),
    Memo(Memo),
}

async fn what_kinds_declare_alike_holds_for_all(db: &Db) {
    let notes = db.collection::<Note>();
    let memo = Memo {
        id: 2,
        gone: None,
        text: "x".into(),
    };
    notes
        .insert(Note::Todo(Todo { id: 1, gone: None }))
        .await
        .unwrap();
    notes.insert(Note::Memo(memo.clone())).await.unwrap();
    notes.delete(1).await.unwrap();
    assert_eq!(notes.find_all().await.unwrap(), [Note::Memo(memo)]);
    let gone = notes.find_all().only_deleted().await.unwrap();
    assert!(matches!(&gone[..], [Note::Todo(todo)] if todo.gone.is_some()));
}
