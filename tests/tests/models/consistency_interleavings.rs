//! All orders in which the operations of two who write what other documents, or other fields, are made of can follow each
//! other.

use std::sync::{Arc, Mutex};

use bson::{DateTime, RawBson, RawDocument, doc};
use odm::backend::wrap::LogEntry;
use odm::{Db, Derivation, Derived, Embedded, ErrorKind, Filter, Model, Ref, Update};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_holder_that_is_stored_while_a_change_runs_is_followed,
    a_stale_source_is_a_conflict_with_the_current_one,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "makers", copied_to(Part))]
struct Maker {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    city: String,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Maker))]
struct MakerCopy {
    #[odm(source)]
    maker: Ref<Maker>,
    name: String,
    city: String,
    #[odm(source_version)]
    version: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "parts", index(keys(maker.maker)))]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    maker: MakerCopy,
}

async fn memory(collections: &[&str], has_transactions: bool) -> Db {
    let db = Db::open("memory:").await.unwrap();
    for name in collections {
        db.create_collection(name).await.unwrap();
    }
    match has_transactions {
        true => db,
        false => Plain::db(&db),
    }
}

fn maker(id: i32) -> Maker {
    Maker {
        id,
        name: "first".to_owned(),
        city: "here".to_owned(),
        version: 0,
    }
}

fn part(id: i32) -> Part {
    Part {
        id,
        maker: MakerCopy {
            maker: Ref::new(1),
            name: String::new(),
            city: String::new(),
            version: None,
        },
    }
}

/// Stores a part with the copies of now, and looks once more when it is stored.
async fn hold(db: &Db, id: i32) -> odm::Result<()> {
    let parts = db.collection::<Part>();
    let mut new = [part(id)];
    parts.fill_copies(&mut new).await?;
    parts.insert(&new[0]).await?;
    parts.refresh_copies(|p| p.id.eq(id)).await.map(drop)
}

/// Neither sees the other: a transaction and those around it.
async fn a_holder_that_is_stored_while_a_change_runs_is_followed(db: &Db) {
    let (makers, parts) = (db.collection::<Maker>(), db.collection::<Part>());
    makers.insert(maker(1)).await.unwrap();
    hold(db, 1).await.unwrap();
    db.transaction(async |tx| {
        let makers = tx.collection::<Maker>();
        makers
            .update_one(|m| m.id.eq(1), |m| m.name.set("second"))
            .await?;
        hold(db, 2).await
    })
    .await
    .unwrap();
    assert_eq!(parts.stale_copies().await.unwrap(), []);
    // The other way round.
    db.transaction(async |tx| {
        hold(&tx, 3).await?;
        makers
            .update_one(|m| m.id.eq(1), |m| m.name.set("third"))
            .await
            .map(drop)
    })
    .await
    .unwrap();
    assert_eq!(parts.stale_copies().await.unwrap(), []);
    assert_eq!(parts.count(|p| p.maker.name.eq("third")).await.unwrap(), 3);
    let pending = doc! { "copies_pending": { "$exists": true } };
    assert_eq!(makers.raw().count(pending).await.unwrap(), 0);
    // Who is up to date is not written again.
    let (logged, log) = db.logged();
    let makers = logged.collection::<Maker>();
    makers
        .update_one(|m| m.id.eq(1), |m| m.name.set("fourth"))
        .await
        .unwrap();
    let is_write = |entry: &&LogEntry| {
        let is_of_parts = entry
            .namespace
            .as_ref()
            .is_some_and(|of| of.collection == "parts");
        is_of_parts && entry.operation == "update"
    };
    assert_eq!(log.entries().iter().filter(is_write).count(), 1);
    assert_eq!(parts.count(|p| p.maker.name.eq("fourth")).await.unwrap(), 3);
}

async fn a_stale_source_is_a_conflict_with_the_current_one(db: &Db) {
    let makers = db.collection::<Maker>();
    let stale = maker(1);
    makers.insert(&stale).await.unwrap();
    makers
        .update_one(|m| m.id.eq(1), |m| m.name.set("second"))
        .await
        .unwrap();
    let error = makers.save(&stale).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(error.current::<Maker>().unwrap().unwrap().name, "second");
    assert_eq!(makers.save(maker(2)).await.unwrap().upserted_id, Some(2));
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Copying {
    Rename,
    Move,
    Save,
    /// A new holder, which is brought in step when it is there.
    Hold,
    Propagate,
    Batch,
    /// The same in transactions of the program's own.
    RenameWithin,
    HoldWithin,
}

async fn copying(db: &Db, work: Copying, n: usize) {
    let makers = db.collection::<Maker>();
    match work {
        Copying::Rename => {
            let name = format!("renamed by {n}");
            makers
                .update_one(|m| m.id.eq(1), |m| m.name.set(name))
                .await
                .unwrap();
        }
        Copying::Move => {
            let city = format!("moved by {n}");
            makers
                .update_one(|m| m.id.eq(1), |m| m.city.set(city))
                .await
                .unwrap();
        }
        Copying::Save => loop {
            let mut maker = makers.get(1).required().await.unwrap();
            maker.name = format!("saved by {n}");
            match makers.save(&maker).await {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
        },
        Copying::Hold => hold(db, 10 + n as i32).await.unwrap(),
        Copying::Propagate => {
            makers.propagate_pending().await.unwrap();
        }
        Copying::RenameWithin => {
            let name = format!("renamed by {n}");
            let change = db.transaction(async |tx| {
                let makers = tx.collection::<Maker>();
                let name = name.clone();
                makers.update_one(|m| m.id.eq(1), |m| m.name.set(name)).await
            });
            change.await.unwrap();
        }
        Copying::HoldWithin => {
            let within = db.transaction(async |tx| hold(&tx, 10 + n as i32).await);
            within.await.unwrap();
        }
        Copying::Batch => {
            let name = format!("batch of {n}");
            makers
                .bulk_write()
                .update_one(|m| m.id.eq(1), |m| m.name.set(name.clone()))
                .update_one(|m| m.id.eq(2), |m| m.name.set(name.clone()))
                .await
                .unwrap();
        }
    }
}

#[tokio::test]
async fn copies_are_those_of_the_last_write_in_every_order() {
    let works = [
        Copying::Rename,
        Copying::Move,
        Copying::Save,
        Copying::Hold,
        Copying::Propagate,
        Copying::Batch,
        Copying::RenameWithin,
        Copying::HoldWithin,
    ];
    let mut orders = 0;
    for has_transactions in [true, false] {
        let works = if has_transactions { &works[..] } else { &works[..6] };
        for (first, second) in pairs(works.len()) {
            let pair = [works[first], works[second]];
            for waits in [false, true]
                .into_iter()
                .filter(|waits| !(waits & has_transactions))
            {
                orders += every_interleaving_of(
                    2,
                    async || {
                        let db = memory(&["makers", "parts"], has_transactions).await;
                        db.collection::<Maker>()
                            .insert_many([maker(1), maker(2)])
                            .await
                            .unwrap();
                        let mut parts = [part(1), part(2)];
                        db.collection::<Part>().fill_copies(&mut parts).await.unwrap();
                        db.collection::<Part>().insert_many(&parts).await.unwrap();
                        if waits {
                            // As a change that was interrupted leaves it.
                            let left = doc! {
                                "$set": { "name": "left", "copies_pending": bson::oid::ObjectId::new() },
                                "$inc": { "version": 1_i64 },
                            };
                            db.raw_collection("makers")
                                .update_one(doc! { "_id": 1 }, left)
                                .await
                                .unwrap();
                        }
                        db
                    },
                    |db, n| Box::pin(async move { copying(db, pair[n], n).await }),
                    async |db, order| {
                        let context = format!("{pair:?} {waits} {has_transactions} as {order:?}");
                        let (makers, parts) = (db.collection::<Maker>(), db.collection::<Part>());
                        let pending = doc! { "copies_pending": { "$exists": true } };
                        let left = makers.raw().count(pending.clone()).await.unwrap();
                        let stale = parts.stale_copies().await.unwrap();
                        if left == 0 {
                            assert_eq!(stale, [], "{context}");
                        }
                        assert!(left == 0 || waits, "{context}");
                        makers.propagate_pending().await.unwrap();
                        assert_eq!(makers.raw().count(pending).await.unwrap(), 0, "{context}");
                        assert_eq!(parts.stale_copies().await.unwrap(), [], "{context}");
                        let source = makers.get(1).required().await.unwrap();
                        for part in parts.find_all().await.unwrap() {
                            let copy = &part.maker;
                            assert_eq!(
                                (&copy.name, &copy.city),
                                (&source.name, &source.city),
                                "{context}"
                            );
                            assert_eq!(copy.version, Some(source.version), "{context}");
                        }
                    },
                )
                .await;
            }
        }
    }
    assert!(orders > 500, "{orders}");
}

/// All of two, each beside itself too.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |first| (first..count).map(move |second| (first, second)))
}

#[derive(Debug)]
struct Whole;

impl Derivation for Whole {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["given".to_owned(), "family".to_owned()]
    }

    fn derive(document: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        let part = |name| document.get_str(name).unwrap_or_default();
        Ok(RawBson::String(format!("{} {}", part("given"), part("family"))))
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "names")]
struct Name {
    #[serde(rename = "_id")]
    id: i32,
    given: String,
    family: String,
    whole: Derived<Whole>,
}

#[derive(Clone, Copy, Debug)]
enum Deriving {
    Given,
    Family,
    Both,
    Replace,
    Pipeline,
    Rederive,
    Return,
    Many,
}

async fn deriving(db: &Db, work: Deriving, n: usize) {
    let names = db.collection::<Name>();
    let text = format!("by {n}");
    match work {
        Deriving::Given => drop(
            names
                .update_one(|x| x.id.eq(1), |x| x.given.set(text))
                .await
                .unwrap(),
        ),
        Deriving::Family => drop(
            names
                .update_one(|x| x.id.eq(1), |x| x.family.set(text))
                .await
                .unwrap(),
        ),
        Deriving::Both => {
            let update = names.update_one(|x| x.id.eq(1), |x| x.given.set(text.clone()) & x.family.set(text));
            update.await.unwrap();
        }
        Deriving::Replace => {
            let name = Name {
                id: 1,
                given: text.clone(),
                family: text,
                whole: Derived::default(),
            };
            names.replace(&name).await.unwrap();
        }
        Deriving::Pipeline => {
            let stages = [doc! { "$set": { "given": { "$concat": ["$family", text] } } }];
            names
                .update_one(|x| x.id.eq(1), |_| Update::pipeline(stages))
                .await
                .unwrap();
        }
        Deriving::Rederive => drop(names.rederive(|_| Filter::all()).await.unwrap()),
        Deriving::Return => {
            let found = names.find_one_and_update(|x| x.id.eq(1), |x| x.given.set(text));
            found.await.unwrap();
        }
        Deriving::Many => drop(
            names
                .update_many(|_| Filter::all(), |x| x.family.set(text))
                .await
                .unwrap(),
        ),
    }
}

#[tokio::test]
async fn derived_fields_are_in_step_in_every_order() {
    let works = [
        Deriving::Given,
        Deriving::Family,
        Deriving::Both,
        Deriving::Replace,
        Deriving::Pipeline,
        Deriving::Rederive,
        Deriving::Return,
        Deriving::Many,
    ];
    let mut orders = 0;
    for has_transactions in [true, false] {
        for (first, second) in pairs(works.len()) {
            let pair = [works[first], works[second]];
            orders += every_interleaving_of(
                3,
                async || {
                    let db = memory(&["names"], has_transactions).await;
                    let name = |id| Name {
                        id,
                        given: "ann".to_owned(),
                        family: "lee".to_owned(),
                        whole: Derived::default(),
                    };
                    db.collection::<Name>()
                        .insert_many([name(1), name(2)])
                        .await
                        .unwrap();
                    db
                },
                |db, n| Box::pin(async move { deriving(db, pair[n], n).await }),
                async |db, order| {
                    for stored in db.raw_collection("names").find(doc! {}).await.unwrap() {
                        let part = |name| stored.get_str(name).unwrap();
                        let whole = format!("{} {}", part("given"), part("family"));
                        let context = format!("{pair:?} {has_transactions} as {order:?}: {stored}");
                        assert_eq!(part("whole"), whole, "{context}");
                        assert!(!stored.contains_key(odm::DERIVED_PENDING), "{context}");
                    }
                },
            )
            .await;
        }
    }
    assert!(orders > 500, "{orders}");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "crews", referred_by(Boat, Crew))]
struct Crew {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = crew)]
    boats: Vec<Ref<Boat>>,
    #[odm(two_way = allies, on_delete = pull)]
    allies: Vec<Ref<Crew>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "boats")]
struct Boat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = boats, on_delete = nullify)]
    crew: Option<Ref<Crew>>,
}

#[derive(Clone, Copy, Debug)]
enum Linking {
    Link(i32, i32),
    Reassign(i32, i32),
    Unlink(i32, i32),
    Ally(i32, i32),
    Part(i32, i32),
    DeleteCrew(i32),
}

async fn linking(db: &Db, work: Linking) -> odm::Result<()> {
    let (crews, boats) = (db.collection::<Crew>(), db.collection::<Boat>());
    match work {
        Linking::Link(crew, boat) => crews.link(crew, |c| c.boats, boat).await.map(drop),
        Linking::Reassign(boat, crew) => boats.reassign(boat, |b| b.crew, crew).await.map(drop),
        Linking::Unlink(crew, boat) => crews.unlink(crew, |c| c.boats, boat).await.map(drop),
        Linking::Ally(one, other) => crews.link(one, |c| c.allies, other).await.map(drop),
        Linking::Part(one, other) => crews.unlink(one, |c| c.allies, other).await.map(drop),
        Linking::DeleteCrew(crew) => crews.delete(crew).await.map(drop),
    }
}

#[tokio::test]
async fn links_agree_in_every_order() {
    use Linking::{Ally, DeleteCrew, Link, Part, Reassign, Unlink};
    let works = [
        Link(1, 2),
        Link(2, 1),
        Link(2, 2),
        Reassign(1, 2),
        Reassign(1, 3),
        Unlink(1, 1),
        Ally(1, 2),
        Ally(2, 1),
        Part(1, 3),
        DeleteCrew(1),
        DeleteCrew(2),
    ];
    let mut orders = 0;
    for (first, second) in pairs(works.len()) {
        let pair = [works[first], works[second]];
        let told = Arc::new([const { Mutex::new(None) }; 2]);
        orders += every_interleaving_of(
            2,
            async || {
                let db = memory(&["crews", "boats"], true).await;
                let crew = |id| Crew {
                    id,
                    boats: Vec::new(),
                    allies: Vec::new(),
                };
                db.collection::<Crew>()
                    .insert_many([crew(1), crew(2), crew(3)])
                    .await
                    .unwrap();
                let boat = |id| Boat { id, crew: None };
                db.collection::<Boat>()
                    .insert_many([boat(1), boat(2)])
                    .await
                    .unwrap();
                linking(&db, Link(1, 1)).await.unwrap();
                linking(&db, Ally(1, 3)).await.unwrap();
                db
            },
            |db, n| {
                let told = told.clone();
                Box::pin(async move {
                    let outcome = linking(db, pair[n]).await;
                    *told[n].lock().unwrap() = Some(outcome);
                })
            },
            async |db, order| {
                let told = told.each_ref().map(|told| told.lock().unwrap().take().unwrap());
                let context = format!("{pair:?} as {order:?}: {told:?}");
                let problems = db.collection::<Crew>().verify_relations().await.unwrap();
                assert!(problems.is_empty(), "{problems:?}: {context}");
                let problems = db.collection::<Boat>().verify_relations().await.unwrap();
                assert!(problems.is_empty(), "{problems:?}: {context}");
                for outcome in &told {
                    if let Err(error) = outcome {
                        let kind = error.kind();
                        let is_refused = [ErrorKind::Conflict, ErrorKind::NotFound].contains(&kind);
                        assert!(is_refused, "{context}");
                    }
                }
            },
        )
        .await;
    }
    assert!(orders > 500, "{orders}");
}
