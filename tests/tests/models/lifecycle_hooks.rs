//! Hooks: every way to write calls them, once for each write.

use std::sync::{Arc, Mutex};

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, DeleteWrite, Error, ErrorKind, HookContext, Hooks, Model, Result, UpdateWrite};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_way_to_write_calls_its_hooks,
    a_hook_refuses_before_anything_is_written,
    hooks_are_part_of_the_transaction,
    a_retried_transaction_runs_what_waits_for_it_once,
    a_failed_write_has_no_after,
    a_write_that_met_no_document_has_no_after,
}

/// Writes what happens to it into a collection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "hooked", hooks)]
pub struct Hooked {
    #[serde(rename = "_id")]
    pub id: i32,
    pub text: String,
    #[serde(default)]
    pub slug: String,
    #[serde(skip)]
    pub loaded: bool,
}

impl Hooked {
    fn new(id: i32, text: &str) -> Hooked {
        Hooked {
            id,
            text: text.to_owned(),
            slug: String::new(),
            loaded: false,
        }
    }
}

fn refused() -> Error {
    Error::new(ErrorKind::Validation, "refused")
}

async fn note(context: &HookContext, event: &str) -> Result<()> {
    let events = context.db().raw_collection("events");
    events.insert(doc! {"event": event}).await.map(|_| ())
}

impl Hooks for Hooked {
    async fn before_insert(document: &mut Hooked, context: &HookContext) -> Result<()> {
        if document.text == "bad" {
            return Err(refused());
        }
        document.slug = document.text.to_lowercase();
        note(context, "before insert").await
    }

    async fn before_replace(document: &mut Hooked, context: &HookContext) -> Result<()> {
        document.slug = document.text.to_lowercase();
        note(context, "before replace").await
    }

    async fn before_update(update: &mut UpdateWrite<Hooked>, context: &HookContext) -> Result<()> {
        if let Some(text) = update.set_value(|h| h.text.clone())? {
            update.add(|h| h.slug.set(text.to_lowercase()))?;
        }
        if update.is_many() {
            update.narrow(|h| h.id.lt(100))?;
        }
        if update.is_pipeline() {
            // Of a pipeline nothing can be told.
            assert!(update.add(|h| h.slug.set("x")).is_err());
        }
        if update.is_upsert() {
            return note(context, "before upsert").await;
        }
        note(context, "before update").await
    }

    async fn before_delete(delete: &mut DeleteWrite<Hooked>, context: &HookContext) -> Result<()> {
        delete.narrow(|h| h.text.ne("kept"))?;
        note(context, "before delete").await
    }

    async fn after_insert(document: &Hooked, context: &HookContext) -> Result<()> {
        assert!(!context.is_in_transaction());
        note(context, &format!("after insert {}", document.slug)).await
    }

    async fn after_replace(_: &Hooked, context: &HookContext) -> Result<()> {
        note(context, "after replace").await
    }

    async fn after_update(update: &UpdateWrite<Hooked>, context: &HookContext) -> Result<()> {
        note(
            context,
            if update.touches(|h| h.text.clone()) {
                "after text"
            } else {
                "after update"
            },
        )
        .await
    }

    async fn after_delete(_: &DeleteWrite<Hooked>, context: &HookContext) -> Result<()> {
        note(context, "after delete").await
    }

    fn after_load(document: &mut Hooked) -> Result<()> {
        document.loaded = true;
        Ok(())
    }
}

async fn events(db: &Db) -> Vec<String> {
    let events = db.raw_collection("events");
    let all = events.find_all().await.unwrap();
    events.drop().await.unwrap();
    all.iter()
        .map(|event| event.get_str("event").unwrap().to_owned())
        .collect()
}

async fn every_way_to_write_calls_its_hooks(db: &Db) {
    let hooked = db.collection::<Hooked>();
    hooked.insert(Hooked::new(1, "One")).await.unwrap();
    assert_eq!(events(db).await, ["before insert", "after insert one"]);
    hooked
        .insert_many([Hooked::new(2, "A"), Hooked::new(3, "B")])
        .await
        .unwrap();
    assert_eq!(
        events(db).await,
        [
            "before insert",
            "before insert",
            "after insert a",
            "after insert b"
        ]
    );
    hooked.save(Hooked::new(1, "Two")).await.unwrap();
    hooked.replace(Hooked::new(1, "Three")).await.unwrap();
    hooked
        .find_one_and_replace(|h| h.id.eq(1), Hooked::new(1, "Four"))
        .await
        .unwrap();
    assert_eq!(events(db).await, ["before replace", "after replace"].repeat(3));
    hooked
        .update_one(|h| h.id.eq(1), |h| h.text.set("FIVE"))
        .await
        .unwrap();
    hooked
        .update_many(|h| h.id.gt(0), |h| h.text.set("SIX"))
        .await
        .unwrap();
    hooked
        .upsert(|h| h.id.eq(1), |h| h.text.set("SEVEN"))
        .await
        .unwrap();
    hooked
        .find_one_and_update(|h| h.id.eq(1), |h| h.text.set("EIGHT"))
        .await
        .unwrap();
    let mut expected = ["before update", "after text"].repeat(4);
    expected[4] = "before upsert";
    assert_eq!(events(db).await, expected);
    let one = hooked.get(1).required().await.unwrap();
    assert_eq!((one.slug.as_str(), one.loaded), ("eight", true));
    let stages = [doc! { "$set": { "text": "NINE" } }];
    hooked
        .update_one(|h| h.id.eq(1), |_| odm::Update::pipeline(stages))
        .await
        .unwrap();
    assert_eq!(events(db).await[0], "before update");
    assert_eq!(hooked.get(2).required().await.unwrap().slug, "six");
    hooked
        .bulk_write()
        .insert(Hooked::new(4, "D"))
        .update_one(|h| h.id.eq(4), |h| h.text.set("DD"))
        .save(Hooked::new(4, "DDD"))
        .delete_one(|h| h.id.eq(4))
        .await
        .unwrap();
    assert_eq!(
        events(db).await,
        [
            "before insert",
            "before update",
            "before replace",
            "before delete",
            "after insert d",
            "after text",
            "after replace",
            "after delete"
        ]
    );
    hooked.insert(Hooked::new(5, "kept")).await.unwrap();
    events(db).await;
    assert_eq!(hooked.delete_many(|h| h.id.gt(0)).await.unwrap().deleted, 3);
    hooked.delete(5).await.unwrap();
    hooked.find_one_and_delete(|h| h.id.eq(5)).await.unwrap();
    // What the hook keeps is not deleted, and nothing follows.
    let expected = ["before delete", "after delete", "before delete", "before delete"];
    assert_eq!(events(db).await, expected);
    assert!(hooked.get(5).await.unwrap().is_some());
    let mut tracked = hooked.get(5).tracked().required().await.unwrap();
    tracked.text = "Saved".to_owned();
    assert!(tracked.save(&hooked).await.unwrap());
    assert_eq!((tracked.slug.as_str(), tracked.loaded), ("saved", true));
    assert_eq!(events(db).await, ["before update", "after text"]);
}

async fn a_hook_refuses_before_anything_is_written(db: &Db) {
    let (db, log) = db.logged();
    let hooked = db.collection::<Hooked>();
    let error = hooked.insert(Hooked::new(1, "bad")).await.unwrap_err();
    assert_eq!((error.message(), error.model()), ("refused", Some("Hooked")));
    assert_eq!(log.entries().len(), 0);
    // The failed write of an ordered batch, and those behind it, have no `after`.
    hooked.insert(Hooked::new(1, "a")).await.unwrap();
    events(&db).await;
    let many = [Hooked::new(2, "b"), Hooked::new(1, "a"), Hooked::new(3, "c")];
    assert!(hooked.insert_many(many).await.is_err());
    let events = events(&db).await;
    assert_eq!(events[3..], ["after insert b"]);
}

async fn hooks_are_part_of_the_transaction(db: &Db) {
    let hooked = db.collection::<Hooked>();
    hooked.insert(Hooked::new(0, "seed")).await.unwrap();
    events(db).await;
    db.raw_collection("events")
        .insert(doc! {"event": "first"})
        .await
        .unwrap();
    let failed: Result<()> = db
        .transaction(async |tx| {
            tx.collection::<Hooked>().insert(Hooked::new(1, "a")).await?;
            Err(refused())
        })
        .await;
    assert!(failed.is_err());
    // What the hook wrote was rolled back, and what waited for the commit forgotten.
    assert_eq!(events(db).await, ["first"]);
    db.raw_collection("events")
        .insert(doc! {"event": "first"})
        .await
        .unwrap();
    db.transaction(async |tx| {
        tx.collection::<Hooked>().insert(Hooked::new(1, "a")).await?;
        assert_eq!(db.raw_collection("events").count(doc! {}).await?, 1);
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
    assert_eq!(events(db).await, ["first", "before insert", "after insert a"]);
}

async fn a_retried_transaction_runs_what_waits_for_it_once(db: &Db) {
    let hooked = db.collection::<Hooked>();
    hooked.insert(Hooked::new(0, "seed")).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let push = |text: &'static str| {
        let seen = seen.clone();
        move || {
            let seen = seen.clone();
            async move { seen.lock().unwrap().push(text) }
        }
    };
    let runs = Mutex::new(0);
    events(db).await;
    db.raw_collection("events")
        .insert(doc! {"event": "first"})
        .await
        .unwrap();
    db.transaction(async |tx| {
        *runs.lock().unwrap() += 1;
        tx.after_commit(push("committed")).await;
        tx.after_rollback(push("rolled back"));
        tx.collection::<Hooked>().insert(Hooked::new(1, "a")).await?;
        if *runs.lock().unwrap() == 1 {
            // Another writer is first.
            hooked
                .raw()
                .update_one(doc! {"_id": 0}, doc! {"$set": {"text": "x"}})
                .await?;
        }
        let hooked = tx.raw_collection("hooked");
        hooked
            .update_one(doc! {"_id": 0}, doc! {"$set": {"text": "y"}})
            .await?;
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
    assert_eq!(*runs.lock().unwrap(), 2);
    assert_eq!(*seen.lock().unwrap(), ["committed"]);
    assert_eq!(events(db).await, ["first", "before insert", "after insert a"]);
    seen.lock().unwrap().clear();
    let failed: Result<()> = db
        .transaction(async |tx| {
            tx.after_commit(push("committed")).await;
            tx.after_rollback(push("rolled back"));
            Err(refused())
        })
        .await;
    assert!(failed.is_err());
    assert_eq!(*seen.lock().unwrap(), ["rolled back"]);
    seen.lock().unwrap().clear();
    db.after_commit(push("at once")).await;
    db.after_rollback(push("never"));
    let tx = db.begin().await.unwrap();
    tx.after_rollback(push("aborted"));
    tx.abort().await;
    tx.abort().await;
    assert_eq!(*seen.lock().unwrap(), ["at once", "aborted"]);
}

async fn a_failed_write_has_no_after(db: &Db) {
    let (faulty, faults) = db.faulty();
    let hooked = faulty.collection::<Hooked>();
    // The first write is the hook's own.
    faults.add(Fault::nth_write(2).crash());
    assert!(hooked.insert(Hooked::new(1, "a")).await.is_err());
    assert_eq!(events(db).await, ["before insert"]);
    assert_eq!(db.collection::<Hooked>().get(1).await.unwrap(), None);
}

async fn a_write_that_met_no_document_has_no_after(db: &Db) {
    let hooked = db.collection::<Hooked>();
    let gone = Hooked::new(7, "gone");
    assert_eq!(hooked.replace(&gone).await.unwrap().matched, 0);
    hooked.find_one_and_replace(|h| h.id.eq(7), &gone).await.unwrap();
    assert_eq!(events(db).await, ["before replace"; 2]);
    hooked
        .update_one(|h| h.id.eq(7), |h| h.text.set("x"))
        .await
        .unwrap();
    hooked
        .find_one_and_update(|h| h.id.eq(7), |h| h.text.set("x"))
        .await
        .unwrap();
    assert_eq!(events(db).await, ["before update"; 2]);
    hooked.delete(7).await.unwrap();
    hooked.find_one_and_delete(|h| h.id.eq(7)).await.unwrap();
    assert_eq!(events(db).await, ["before delete"; 2]);
    // What an upsert inserts is written, whether or not something comes back.
    let inserted = hooked
        .find_one_and_update(|h| h.id.eq(7), |h| h.text.set("New"))
        .upsert()
        .await
        .unwrap();
    assert_eq!(inserted, None);
    assert_eq!(events(db).await, ["before upsert", "after text"]);
}
