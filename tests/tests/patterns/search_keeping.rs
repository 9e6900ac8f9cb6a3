//! Keywords and counts: in step with the texts, whatever is written, and made anew when they are not.

use super::search_model::{Book, Chapter, book, found, library, stored, terms};
use bson::{DateTime, Document, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model, Update};
use odm_patterns::search::{Analyzer, Keywords, Scheme, Search, SearchProblem, Searchable};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

crate::on_every_backend! {
    every_write_keeps_the_keywords,
    every_write_keeps_the_keywords_without_transactions,
    another_scheme_is_found_and_made_anew,
    what_went_around_the_model_is_mended,
    softly_deleted_documents_are_kept_too,
    writers_at_the_same_time_with_faults_lose_no_word,
    making_anew_is_resumed,
    stale_documents_are_found_by_index,
}

async fn every_write_keeps_the_keywords(db: &Db) {
    writes(db).await;
}

async fn every_write_keeps_the_keywords_without_transactions(db: &Db) {
    writes(&Plain::db(db)).await;
}

async fn sound(search: &Search<Book>, after: &str) {
    let problems = search.verify().await.unwrap();
    let of_documents: Vec<&SearchProblem> =
        problems.iter().filter(|problem| problem.id().is_some()).collect();
    assert!(of_documents.is_empty(), "{after}: {of_documents:?}");
    assert_eq!(search.stale_count().await.unwrap(), 0, "{after}");
}

async fn writes(db: &Db) {
    let search = library(db).await;
    let books = db.collection::<Book>();
    books
        .update_one(|b| b.id.eq(3), |b| b.title.set("Leviathan"))
        .await
        .unwrap();
    assert_eq!(found(&search, "leviathan").await, [3]);
    // The other field keeps its words.
    assert_eq!(found(&search, "woodhouse").await, [3]);
    assert_eq!(
        terms(db, 3).await,
        ["clever", "emma", "handsom", "leviathan", "rich", "woodhous"]
    );
    sound(&search, "set").await;
    books
        .update_one(|b| b.id.eq(3), |b| b.text.unset())
        .await
        .unwrap();
    books
        .update_one(|b| b.id.eq(3), |b| b.tags.push("squid"))
        .await
        .unwrap();
    let chapter = Chapter {
        heading: "Octopus".into(),
    };
    books
        .update_one(|b| b.id.eq(3), |b| b.chapters.push(chapter))
        .await
        .unwrap();
    assert_eq!(terms(db, 3).await, ["leviathan", "octopus", "squid"]);
    books
        .update_one(
            |b| b.id.eq(3),
            |_| Update::raw(doc! { "$set": { "chapters.0.heading": "Kraken" } }),
        )
        .await
        .unwrap();
    assert_eq!(terms(db, 3).await, ["kraken", "leviathan", "squid"]);
    let pipeline = [doc! { "$set": { "title": { "$concat": ["$title", " rises"] } } }];
    books
        .update_one(|b| b.id.eq(3), |_| Update::pipeline(pipeline))
        .await
        .unwrap();
    assert_eq!(found(&search, "+rising +kraken").await, [3]);
    books
        .upsert(|b| b.id.eq(3), |b| b.title.set("Upserted"))
        .await
        .unwrap();
    books.save(book(8, "Saved", "save")).await.unwrap();
    books.replace(book(8, "Replaced", "place")).await.unwrap();
    books
        .find_one_and_update(|b| b.id.eq(8), |b| b.text.set(Some("found".into())))
        .await
        .unwrap();
    assert_eq!(terms(db, 8).await, ["found", "replac"]);
    books
        .bulk_write()
        .insert(book(9, "Bulk", "bulk"))
        .update_many(|b| b.id.gte(8), |b| b.tags.push("bulky"))
        .delete_one(|b| b.id.eq(1))
        .await
        .unwrap();
    assert_eq!(found(&search, "bulky").await, [8, 9]);
    assert_eq!(found(&search, "ishmael").await, [0; 0]);
    let mut tracked = books.get(9).tracked().required().await.unwrap();
    tracked.title = "Tracked".into();
    tracked.save(&books).await.unwrap();
    assert_eq!(found(&search, "track").await, [9]);
    sound(&search, "all").await;
    // The keywords are nobody's to write.
    let raw = Update::raw(doc! { "$set": { "keywords.t": ["forged"] } });
    let error = books.update_one(|b| b.id.eq(9), |_| raw).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// The same books as an older program searched them.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "books")]
struct OldBook {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    content: Option<String>,
    tags: Vec<String>,
    chapters: Vec<Chapter>,
    shelf: String,
    keywords: Keywords<OldBook>,
}

impl Searchable for OldBook {
    fn scheme(b: OldBookFields) -> Scheme<OldBook> {
        Scheme::new(b.keywords, Analyzer::new()).text(b.title)
    }
}

async fn another_scheme_is_found_and_made_anew(db: &Db) {
    let search = library(db).await;
    let old = Search::<OldBook>::new(db);
    assert_ne!(old.scheme_id(), search.scheme_id());
    assert_eq!(old.reindex().await.unwrap().derived, 6);
    assert_eq!(terms(db, 1).await, ["dick", "moby"]);
    assert_eq!(search.stale_count().await.unwrap(), 6);
    let problems = search.verify().await.unwrap();
    let outdated = problems.iter().filter(
        |problem| matches!(problem, SearchProblem::Outdated { scheme, .. } if scheme == old.scheme_id()),
    );
    assert_eq!(outdated.count(), 6);
    // A write of the new program brings its document along.
    db.collection::<Book>()
        .update_one(|b| b.id.eq(2), |b| b.title.set("New"))
        .await
        .unwrap();
    assert_eq!(search.stale_count().await.unwrap(), 5);
    assert!(!old.knowledge().await.unwrap().is_of_scheme);
    assert_eq!(search.tend().await.unwrap(), 5);
    assert_eq!(found(&search, "woodhouse").await, [3]);
    sound(&search, "tended").await;
}

async fn what_went_around_the_model_is_mended(db: &Db) {
    let search = library(db).await;
    let raw = db.raw_collection("books");
    raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "title": "changed" } })
        .await
        .unwrap();
    raw.insert(doc! { "_id": 20, "title": "bare", "tags": [], "chapters": [], "shelf": "a" })
        .await
        .unwrap();
    raw.update_one(doc! { "_id": 2 }, doc! { "$set": { "keywords.w.0": 15 } })
        .await
        .unwrap();
    raw.update_one(doc! { "_id": 3 }, doc! { "$set": { "keywords": "rubbish" } })
        .await
        .unwrap();
    raw.update_one(
        doc! { "_id": 4 },
        doc! { "$set": { "keywords.t": 7, "keywords.w": null } },
    )
    .await
    .unwrap();
    raw.update_one(
        doc! { "_id": 5 },
        doc! { "$set": { "derived_pending": bson::oid::ObjectId::new() } },
    )
    .await
    .unwrap();
    // What is damaged does no harm to searches.
    search.find("white whale bare rubbish").await.unwrap();
    let mut kinds: Vec<(i32, &str)> = search
        .verify()
        .await
        .unwrap()
        .iter()
        .filter_map(|problem| {
            let kind = match problem {
                SearchProblem::NotIndexed { .. } => "not indexed",
                SearchProblem::Differs { .. } => "differs",
                SearchProblem::Pending { .. } => "pending",
                _ => "other",
            };
            Some((problem.id()?.as_i32()?, kind))
        })
        .collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            (1, "differs"),
            (2, "differs"),
            (3, "not indexed"),
            (4, "differs"),
            (5, "pending"),
            (20, "not indexed")
        ]
    );
    let repair = search.repair().await.unwrap();
    assert_eq!(
        (repair.documents, repair.recounted, repair.failed.len()),
        (6, true, 0)
    );
    assert!(search.verify().await.unwrap().is_empty());
    assert_eq!(found(&search, "changed bare").await, [1, 20]);
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "memos")]
struct Memo {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
    #[odm(version)]
    version: i64,
    #[odm(updated)]
    updated: DateTime,
    #[odm(created)]
    created: DateTime,
    keywords: Keywords<Memo>,
}

impl Searchable for Memo {
    fn scheme(m: MemoFields) -> Scheme<Memo> {
        Scheme::new(m.keywords, Analyzer::new()).text(m.text)
    }
}

async fn softly_deleted_documents_are_kept_too(db: &Db) {
    let search = Search::<Memo>::new(db);
    search.prepare().await.unwrap();
    let memos = db.collection::<Memo>();
    let memo = |id, text: &str| Memo {
        id,
        text: text.into(),
        deleted: None,
        version: 0,
        updated: DateTime::from_millis(0),
        created: DateTime::from_millis(0),
        keywords: Keywords::default(),
    };
    memos
        .insert_many([memo(1, "one whale"), memo(2, "two whales whale")])
        .await
        .unwrap();
    memos.delete(1).await.unwrap();
    let found: Vec<i32> = search
        .find("whale")
        .await
        .unwrap()
        .into_iter()
        .map(|hit| hit.document.id)
        .collect();
    assert_eq!(found, [2]);
    db.raw_collection("memos")
        .update_many(doc! {}, doc! { "$set": { "keywords.v": "old" } })
        .await
        .unwrap();
    assert_eq!(search.stale_count().await.unwrap(), 2);
    assert_eq!(search.reindex().await.unwrap().derived, 2);
    memos.restore(|m| m.id.eq(1)).await.unwrap();
    assert_eq!(search.find("whale").count().await.unwrap(), 2);
    // A replacement keeps dates and counts versions, and has its keywords.
    let loaded = memos.get(2).required().await.unwrap();
    let changed = Memo {
        text: "kraken".into(),
        ..loaded
    };
    memos.save(changed).await.unwrap();
    memos
        .update_one(|m| m.id.eq(2), |m| m.text.set("kraken rises"))
        .await
        .unwrap();
    let stored = db
        .raw_collection("memos")
        .find_one(doc! { "_id": 2 })
        .required()
        .await
        .unwrap();
    assert_eq!(
        stored
            .get_document("keywords")
            .unwrap()
            .get_array("t")
            .unwrap()
            .len(),
        2
    );
    assert_eq!(stored.get_i64("version").unwrap(), 2);
    assert_eq!(search.find("kraken").count().await.unwrap(), 1);
}

async fn writers_at_the_same_time_with_faults_lose_no_word(db: &Db) {
    let search = library(db).await;
    for (has_transactions, db) in [(true, db.clone()), (false, Plain::db(db))] {
        let tasks: Vec<_> = (0..4)
            .map(|task| {
                let db = db.clone();
                tokio::spawn(async move {
                    for round in 0..12_i32 {
                        let (faulty, faults) = db.faulty();
                        let lost = || Error::new(ErrorKind::Network, "connection reset");
                        let nth = u64::try_from(round % 3).unwrap() + 1;
                        match round % 4 {
                            0 => faults.add(Fault::nth_write(nth).before(lost())),
                            1 => faults.add(Fault::nth_write(nth).after(lost())),
                            2 => faults.add(Fault::nth_write(nth).crash()),
                            _ => {}
                        }
                        let books = faulty.collection::<Book>();
                        let id = 1 + (task + round) % 4;
                        let word = format!("word{task}x{round}");
                        // Some fail: they were made to.
                        let _ = match task {
                            0 => books
                                .update_one(|b| b.id.eq(id), |b| b.title.set(&word))
                                .await
                                .map(|_| ()),
                            1 => books
                                .update_many(|b| b.id.lte(id), |b| b.tags.push(&word))
                                .await
                                .map(|_| ()),
                            2 => books.save(book(id, &word, "saved")).await.map(|_| ()),
                            _ => books
                                .find_one_and_update(|b| b.id.eq(id), |b| b.text.set(Some(word)))
                                .await
                                .map(|_| ()),
                        };
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        // What is not in step says so, and only where nothing could be rolled back.
        for problem in search.verify().await.unwrap() {
            match problem {
                SearchProblem::Pending { .. } => assert!(!has_transactions),
                SearchProblem::Count { .. } | SearchProblem::Totals { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        search.reindex().await.unwrap();
        sound(&search, "made anew").await;
    }
}

async fn making_anew_is_resumed(db: &Db) {
    let search = library(db).await;
    db.collection::<Book>()
        .insert_many((100..130).map(|id| book(id, "more", "books")))
        .await
        .unwrap();
    db.raw_collection("books")
        .update_many(doc! {}, doc! { "$set": { "keywords.v": "older" } })
        .await
        .unwrap();
    let mut left = search.stale_count().await.unwrap();
    assert_eq!(left, 36);
    for nth in [3, 4, 5, 6] {
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(nth).crash());
        search.within(&faulty).reindex().batch_size(4).await.unwrap_err();
        let now = search.stale_count().await.unwrap();
        assert!(now < left, "{nth}: {now} of {left}");
        left = now;
    }
    let (seen, progress) = (
        Arc::new(std::sync::Mutex::new(0)),
        Arc::new(std::sync::Mutex::new(0)),
    );
    let (count, last) = (seen.clone(), progress.clone());
    let done = search
        .reindex()
        .batch_size(4)
        .on_progress(move |done| {
            *count.lock().unwrap() += 1;
            *last.lock().unwrap() = done.examined;
        })
        .await
        .unwrap();
    assert_eq!(done.examined, left);
    assert_eq!(
        (*seen.lock().unwrap(), *progress.lock().unwrap()),
        (left.div_ceil(4), left)
    );
    assert_eq!(search.reindex().await.unwrap().examined, 0);
    sound(&search, "resumed").await;
}

async fn stale_documents_are_found_by_index(db: &Db) {
    let search = library(db).await;
    db.collection::<Book>()
        .insert_many((100..300).map(|id| book(id, "more", "books")))
        .await
        .unwrap();
    let interrupted = doc! { "$set": { "derived_pending": bson::oid::ObjectId::new() } };
    db.raw_collection("books")
        .update_one(doc! { "_id": 100 }, interrupted)
        .await
        .unwrap();
    let filter = search.stale().to_document().unwrap();
    let filter = Document::try_from(filter).unwrap();
    let plan = db
        .raw_collection("books")
        .find(filter)
        .explain()
        .executed()
        .await
        .unwrap();
    let examined = plan
        .get_document("executionStats")
        .unwrap()
        .get("totalDocsExamined")
        .cloned();
    assert!(
        matches!(examined, Some(bson::Bson::Int32(..=2) | bson::Bson::Int64(..=2))),
        "{plan}"
    );
    assert_eq!(search.stale_count().await.unwrap(), 1);
    assert!(stored(db, 100).await.contains_key("derived_pending"));
    search.tend().await.unwrap();
    assert!(!stored(db, 100).await.contains_key("derived_pending"));
}
