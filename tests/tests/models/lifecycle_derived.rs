//! Fields that are made of others: in step after every write of the model.

use bson::{Bson, DateTime, Document, RawBson, RawDocument, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Derivation, Derived, Error, ErrorKind, Filter, Model, Update};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_write_derives,
    every_write_derives_without_transactions,
    what_the_write_knows_is_derived_in_it,
    what_knows_all_takes_the_mark_away,
    the_field_itself_is_not_updated,
    a_refused_derivation_refuses_the_write,
    kinds_derive_their_own_fields,
    migrations_derive,
    indexes_are_among_the_declared,
    many_documents_are_derived_in_batches,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "letters")]
pub struct Letter {
    #[serde(rename = "_id")]
    pub id: i32,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub sender: Sender,
    pub tags: Vec<String>,
    pub reads: i32,
    pub gist: Derived<Gist>,
    pub loud: Derived<Loud>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, odm::Embedded)]
pub struct Sender {
    pub name: String,
    pub city: String,
}

/// Of several fields, one of them nested, one an array.
#[derive(Debug)]
pub struct Gist;

/// Of one field.
#[derive(Debug)]
pub struct Loud;

fn gist(letter: &Document) -> String {
    let text = |value: Option<&Bson>| match value {
        Some(Bson::String(text)) => text.clone(),
        Some(Bson::Array(texts)) => texts
            .iter()
            .filter_map(Bson::as_str)
            .collect::<Vec<_>>()
            .join("+"),
        _ => String::new(),
    };
    let sender = letter.get_document("sender").ok();
    [
        text(letter.get("title")),
        text(letter.get("body")),
        text(sender.and_then(|sender| sender.get("name"))),
        text(letter.get("tags")),
    ]
    .join("|")
}

impl Derivation for Gist {
    type Value = String;

    fn sources() -> Vec<String> {
        ["title", "body", "sender.name", "tags"]
            .map(str::to_owned)
            .to_vec()
    }

    fn derive(document: &RawDocument, _now: DateTime) -> odm::Result<RawBson> {
        let letter = Document::try_from(document).unwrap();
        match gist(&letter).contains("unspeakable") {
            true => Err(Error::new(ErrorKind::Validation, "that is not said")),
            false => Ok(RawBson::String(gist(&letter))),
        }
    }
}

impl Derivation for Loud {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["title".to_owned()]
    }

    fn derive(document: &RawDocument, _now: DateTime) -> odm::Result<RawBson> {
        let title = document.get_str("title").unwrap_or_default();
        Ok(RawBson::String(title.to_uppercase()))
    }

    fn indexes(field: &odm::Path) -> Vec<odm::IndexDeclaration> {
        vec![odm::IndexDeclaration::new().asc(&odm::Field::<Letter, ()>::new(field.clone()))]
    }
}

pub fn letter(id: i32) -> Letter {
    Letter {
        id,
        title: format!("title {id}"),
        body: Some("body".into()),
        sender: Sender {
            name: "ann".into(),
            city: "Rome".into(),
        },
        tags: vec!["a".into()],
        reads: 0,
        gist: Derived::default(),
        loud: Derived::default(),
    }
}

pub async fn stored(db: &Db) -> Vec<Document> {
    db.raw_collection("letters").find(doc! {}).await.unwrap()
}

pub fn is_in_step(letter: &Document) -> bool {
    !letter.contains_key("derived_pending")
        && letter.get_str("gist").ok() == Some(&gist(letter))
        && letter.get_str("loud").ok()
            == letter
                .get_str("title")
                .map(str::to_uppercase)
                .as_deref()
                .ok()
                .or(Some(""))
}

pub async fn check(db: &Db, after: &str) {
    for letter in stored(db).await {
        assert!(is_in_step(&letter), "{after}: {letter}");
    }
}

async fn every_write_derives(db: &Db) {
    all_writes(db).await;
}

async fn every_write_derives_without_transactions(db: &Db) {
    all_writes(&Plain::db(db)).await;
}

async fn all_writes(db: &Db) {
    let letters = db.collection::<Letter>();
    letters.sync_indexes().await.unwrap();
    letters.insert(letter(1)).await.unwrap();
    letters.insert_one(letter(2)).await.unwrap();
    letters
        .insert_many([letter(3), letter(4), letter(5)])
        .await
        .unwrap();
    check(db, "inserts").await;
    assert_eq!(stored(db).await.len(), 5);
    let titled = |id, title: &str| Letter {
        title: title.into(),
        ..letter(id)
    };
    letters.save(titled(1, "saved")).await.unwrap();
    letters.save(titled(6, "saved")).await.unwrap();
    letters.replace(titled(2, "replaced")).await.unwrap();
    letters
        .replace_one(|l| l.id.eq(3), titled(3, "replaced"))
        .await
        .unwrap();
    check(db, "replacements").await;

    let by = |id| move |l: <Letter as odm::Embedded>::Fields<Letter>| l.id.eq(id);
    letters
        .update_one(by(1), |l| l.title.set("one of several"))
        .await
        .unwrap();
    check(db, "an update of one").await;
    letters
        .update_one(by(1), |l| l.sender.name.set("bob"))
        .await
        .unwrap();
    letters
        .update_one(by(1), |l| l.sender.city.set("Oslo"))
        .await
        .unwrap();
    letters
        .update_one(by(1), |l| {
            l.sender.set(Sender {
                name: "whole".into(),
                city: "Bern".into(),
            })
        })
        .await
        .unwrap();
    check(db, "a whole nested document").await;
    letters
        .update_one(by(1), |l| l.tags.push("pushed"))
        .await
        .unwrap();
    letters.update_one(by(1), |l| l.tags.pull("a")).await.unwrap();
    letters.update_one(by(1), |l| l.body.unset()).await.unwrap();
    check(db, "operators").await;
    letters
        .update_one(by(2), |_| Update::raw(doc! { "$rename": { "body": "title" } }))
        .await
        .unwrap();
    letters
        .update_one(by(2), |_| {
            Update::raw(doc! { "$set": { "tags.0": "b" }, "$unset": { "other": "" } })
        })
        .await
        .unwrap();
    check(db, "raw operators").await;
    letters
        .update_many(|_| Filter::all(), |l| l.tags.push("many"))
        .await
        .unwrap();
    let found = stored(db).await;
    assert!(found.iter().all(|letter| gist(letter).contains("many")));
    check(db, "many").await;
    letters
        .update_many(
            |l| l.id.lte(3),
            |_| Update::pipeline([doc! { "$set": { "title": { "$concat": ["$title", "!"] } } }]),
        )
        .await
        .unwrap();
    check(db, "a pipeline").await;
    letters.upsert(by(1), |l| l.title.set("upserted")).await.unwrap();
    letters.upsert(by(20), |l| l.title.set("new")).await.unwrap();
    letters.upsert(by(21), |l| l.reads.set(3)).await.unwrap();
    letters
        .upsert(
            |l| l.title.eq("by title"),
            |l| l.reads.inc(1) & Update::raw(doc! { "$setOnInsert": { "_id": 23 } }),
        )
        .await
        .unwrap();
    letters.upsert(by(1), |l| l.reads.set(3)).await.unwrap();
    letters
        .upsert(by(22), |_| {
            Update::pipeline([doc! { "$set": { "title": "piped" } }])
        })
        .await
        .unwrap();
    check(db, "upserts").await;
    db.raw_collection("letters")
        .delete_many(doc! { "sender": { "$exists": false } })
        .await
        .unwrap();

    letters
        .find_one_and_update(by(4), |l| l.title.set("found"))
        .await
        .unwrap();
    letters
        .find_one_and_update(by(4), |l| l.tags.push("found"))
        .return_new()
        .await
        .unwrap();
    letters
        .find_one_and_replace(by(5), titled(5, "found"))
        .await
        .unwrap();
    check(db, "find and modify").await;
    letters
        .bulk_write()
        .insert(letter(30))
        .update_one(by(30), |l| l.title.set("bulk"))
        .update_many(|l| l.id.gt(3), |l| l.tags.push("bulk"))
        .upsert(by(31), |l| l.title.set("bulk") & l.sender.set(letter(1).sender))
        .delete_one(by(5))
        .save(titled(32, "bulk"))
        .await
        .unwrap();
    check(db, "bulk").await;
    db.raw_collection("letters")
        .delete_many(doc! { "reads": { "$exists": false } })
        .await
        .unwrap();
    let mut tracked = letters.get(4).tracked().required().await.unwrap();
    tracked.title = "tracked".into();
    tracked.tags.push("tracked".into());
    assert!(tracked.save(&letters).await.unwrap());
    check(db, "a tracked save").await;
    if db.capabilities().transactions {
        db.transaction(async |tx| {
            let letters = tx.collection::<Letter>();
            letters.insert(letter(40)).await?;
            letters
                .update_one(|l| l.id.eq(40), |l| l.body.set("inside"))
                .await?;
            let inside = letters.get(40).required().await?;
            assert_eq!(
                inside.gist.get().map(String::as_str),
                Some("title 40|inside|ann|a")
            );
            Ok(())
        })
        .await
        .unwrap();
        check(db, "a transaction").await;
    }
    let read = letters.get(4).required().await.unwrap();
    assert_eq!(read.loud.get().map(String::as_str), Some("TRACKED"));
}

async fn what_the_write_knows_is_derived_in_it(db: &Db) {
    let (logged, log) = db.logged();
    let letters = logged.collection::<Letter>();
    letters.insert(letter(1)).await.unwrap();
    letters.save(letter(1)).await.unwrap();
    letters
        .update_one(|l| l.id.eq(1), |l| l.reads.inc(1))
        .await
        .unwrap();
    letters
        .update_one(|l| l.id.eq(1), |l| l.sender.city.set("Oslo"))
        .await
        .unwrap();
    assert_eq!(log.take().len(), 4);
    let loud = logged.collection::<Note>();
    loud.update_one(|n| n.id.eq(1), |n| n.title.set("all of it"))
        .await
        .unwrap();
    loud.upsert(|n| n.id.eq(1), |n| n.title.set("all of it"))
        .await
        .unwrap();
    assert_eq!(log.round_trips(), 2);
    let note = db
        .raw_collection("notes")
        .find_one(doc! {})
        .required()
        .await
        .unwrap();
    assert_eq!(note, doc! { "_id": 1, "title": "all of it", "loud": "ALL OF IT" });
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    loud: Derived<Loud>,
}

async fn what_knows_all_takes_the_mark_away(db: &Db) {
    let plain = Plain::db(db);
    let (faulty, faults) = plain.faulty();
    let note = Note {
        id: 1,
        title: "old".into(),
        loud: Derived::default(),
    };
    plain.collection::<Note>().insert(note).await.unwrap();
    // One that read the document, and is slow to write what it made of it.
    faults.add(Fault::nth_write(2).before(Error::new(ErrorKind::Network, "connection reset")));
    let pipeline = [doc! { "$set": { "title": { "$concat": ["$title", "!"] } } }];
    let late = faulty.collection::<Note>();
    late.update_one(|n| n.id.eq(1), |_| Update::pipeline(pipeline))
        .await
        .unwrap_err();
    let raw = db.raw_collection("notes");
    let waiting = raw.find_one(doc! {}).required().await.unwrap();
    assert!(waiting.contains_key("derived_pending"));
    plain
        .collection::<Note>()
        .update_one(|n| n.id.eq(1), |n| n.title.set("new"))
        .await
        .unwrap();
    let note = raw.find_one(doc! {}).required().await.unwrap();
    assert_eq!(note, doc! { "_id": 1, "title": "new", "loud": "NEW" });
}

async fn the_field_itself_is_not_updated(db: &Db) {
    let letters = db.collection::<Letter>();
    letters.insert(letter(1)).await.unwrap();
    for update in [
        doc! { "$set": { "loud": "x" } },
        doc! { "$unset": { "gist": "" } },
        doc! { "$set": { "gist.deep": 1 } },
        doc! { "$rename": { "title": "loud" } },
    ] {
        let error = letters
            .update_one(|l| l.id.eq(1), |_| Update::raw(update))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(matches!(error.path(), Some("loud" | "gist")));
    }
    check(db, "refused").await;
}

async fn a_refused_derivation_refuses_the_write(db: &Db) {
    let letters = db.collection::<Letter>();
    letters.insert(letter(1)).await.unwrap();
    let before = stored(db).await;
    let bad = Letter {
        title: "unspeakable".into(),
        ..letter(2)
    };
    let error = letters.insert(&bad).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Validation, Some("gist"))
    );
    letters
        .update_one(|l| l.id.eq(1), |l| l.tags.push("unspeakable"))
        .await
        .unwrap_err();
    assert_eq!(stored(db).await, before);
    // Where nothing can be rolled back, the mark stays, and says so.
    let plain = Plain::db(db).collection::<Letter>();
    plain
        .update_one(|l| l.id.eq(1), |l| l.tags.push("unspeakable"))
        .await
        .unwrap_err();
    assert!(stored(db).await[0].contains_key("derived_pending"));
    let done = letters.rederive(|_| Filter::all()).await.unwrap();
    assert_eq!((done.examined, done.derived, done.failed.len()), (1, 0, 1));
    assert_eq!(done.failed[0].0, Bson::Int32(1));
    letters
        .update_one(|l| l.id.eq(1), |l| l.tags.set(vec!["fine".to_owned()]))
        .await
        .unwrap();
    check(db, "mended").await;
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[serde(tag = "kind")]
#[odm(collection = "posts")]
enum Post {
    Text(TextPost),
    Link(LinkPost),
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "posts", kind = "Text")]
struct TextPost {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    loud: Derived<Loud>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "posts", kind = "Link")]
struct LinkPost {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
}

async fn kinds_derive_their_own_fields(db: &Db) {
    let posts = db.collection::<Post>();
    let text = |id, title: &str| TextPost {
        id,
        title: title.into(),
        loud: Derived::default(),
    };
    posts.insert(Post::Text(text(1, "a"))).await.unwrap();
    let link = LinkPost {
        id: 2,
        title: "b".into(),
    };
    posts.insert(Post::Link(link)).await.unwrap();
    posts.of::<TextPost>().insert(text(3, "c")).await.unwrap();
    posts
        .update_many(
            |_| Filter::all(),
            |_| Update::raw(doc! { "$set": { "title": "new" } }),
        )
        .await
        .unwrap();
    let all = db
        .raw_collection("posts")
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 })
        .await
        .unwrap();
    let loud: Vec<Option<&str>> = all.iter().map(|post| post.get_str("loud").ok()).collect();
    assert_eq!(loud, [Some("NEW"), None, Some("NEW")]);
    assert!(all.iter().all(|post| !post.contains_key("derived_pending")));
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "pages", schema_version = 2, migrate(with_title))]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    loud: Derived<Loud>,
}

fn with_title(page: &mut Document) -> odm::Result<()> {
    let name = page.remove("name").unwrap_or(Bson::Null);
    page.insert("title", name);
    Ok(())
}

async fn migrations_derive(db: &Db) {
    let raw = db.raw_collection("pages");
    raw.insert_many([
        doc! { "_id": 1, "name": "a" },
        doc! { "_id": 2, "name": "b" },
        doc! { "_id": 3, "name": "c" },
    ])
    .await
    .unwrap();
    let pages = db.collection::<Page>();
    pages.find(|p| p.id.eq(1)).write_back().await.unwrap();
    let mut tracked = pages.get(2).tracked().required().await.unwrap();
    tracked.title = "tracked".into();
    tracked.save(&pages).await.unwrap();
    pages.migrate().await.unwrap();
    let all = raw.find(doc! {}).sort_raw(doc! { "_id": 1 }).await.unwrap();
    let loud: Vec<&str> = all.iter().map(|page| page.get_str("loud").unwrap()).collect();
    assert_eq!(loud, ["A", "TRACKED", "C"]);
}

async fn indexes_are_among_the_declared(db: &Db) {
    let letters = db.collection::<Letter>();
    letters.sync_indexes().await.unwrap();
    let names: Vec<String> = letters
        .list_indexes()
        .await
        .unwrap()
        .into_iter()
        .map(|index| index.name)
        .collect();
    assert!(names.contains(&"loud_1".to_owned()), "{names:?}");
    assert!(names.contains(&"derived_pending_1".to_owned()), "{names:?}");
    // What is written looks for its documents by index.
    let (watched, scans) = db.watch_scans();
    letters.insert_many((1..=3).map(letter)).await.unwrap();
    let plain = Plain::db(&watched).collection::<Letter>();
    plain
        .update_many(|l| l.id.gt(0), |l| l.tags.push("x"))
        .await
        .unwrap();
    assert!(scans.entries().is_empty(), "{:?}", scans.entries());
}

async fn many_documents_are_derived_in_batches(db: &Db) {
    let letters = db.collection::<Letter>();
    letters.insert_many((1..=450).map(letter)).await.unwrap();
    let updated = letters
        .update_many(|_| Filter::all(), |l| l.body.set("many"))
        .await
        .unwrap();
    assert_eq!(updated.modified, 450);
    check(db, "many").await;
}
