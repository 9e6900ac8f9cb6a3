//! How often words occur: figures that say how stale they are.

use super::search_model::{Book, book, found, ids, library};
use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Filter, Model};
use odm_patterns::search::{Analyzer, Hit, Keywords, Scheme, Search, SearchProblem, Searchable};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

crate::on_every_backend! {
    counts_say_how_stale_they_are,
    counts_are_those_of_the_documents,
    a_count_that_ends_in_the_middle_does_no_harm,
    counts_at_the_same_time_do_no_harm,
    counts_go_by_bytes_whatever_the_collation,
    counts_of_a_kind_are_its_own,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "texts", kind = "note")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    keywords: Keywords<Note>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "texts", kind = "letter")]
struct Letter {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    keywords: Keywords<Letter>,
}

impl Searchable for Note {
    fn scheme(n: NoteFields) -> Scheme<Note> {
        Scheme::new(n.keywords, Analyzer::new()).text(n.text)
    }
}

impl Searchable for Letter {
    fn scheme(l: LetterFields) -> Scheme<Letter> {
        Scheme::new(l.keywords, Analyzer::new()).text(l.text)
    }
}

async fn counts_of_a_kind_are_its_own(db: &Db) {
    let (notes, letters) = (Search::<Note>::new(db), Search::<Letter>::new(db));
    notes.prepare().await.unwrap();
    letters.prepare().await.unwrap();
    let text = |text: &str| text.to_owned();
    let written = (1..=5).map(|id| Note {
        id,
        text: text("whale sea"),
        keywords: Keywords::default(),
    });
    db.collection::<Note>().insert_many(written).await.unwrap();
    let written = (6..=8).map(|id| Letter {
        id,
        text: text("sea"),
        keywords: Keywords::default(),
    });
    db.collection::<Letter>().insert_many(written).await.unwrap();
    for (search, documents) in [(notes.verify().await, 2 + 1), (letters.verify().await, 1 + 1)] {
        assert_eq!(search.unwrap().len(), documents);
    }
    notes.recount().await.unwrap();
    letters.recount().await.unwrap();
    let (of_notes, of_letters) = (
        notes.knowledge().await.unwrap(),
        letters.knowledge().await.unwrap(),
    );
    assert_eq!(
        (of_notes.documents, of_notes.documents_now, of_notes.terms),
        (5, 5, 2)
    );
    assert_eq!(
        (of_letters.documents, of_letters.documents_now, of_letters.terms),
        (3, 3, 1)
    );
    assert_eq!(
        (of_notes.staleness(), of_notes.mean_length, of_letters.mean_length),
        (0.0, 2.0, 1.0)
    );
    assert!(notes.verify().await.unwrap().is_empty() && letters.verify().await.unwrap().is_empty());
    // The order by counts that are made for the search is the same.
    for query in ["whale", "sea"] {
        let scores = |hits: Vec<Hit<Note>>| hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
        let counted = scores(notes.find(query).await.unwrap());
        assert_eq!(counted, scores(notes.clone().live().find(query).await.unwrap()));
        assert_eq!(counted.len(), 5);
    }
    assert_eq!(letters.find("whale").count().await.unwrap(), 0);
}

async fn counts_go_by_bytes_whatever_the_collation(db: &Db) {
    let coarse = doc! {"locale": "en", "strength": 1, "numericOrdering": true};
    db.create_collection("books").collation(coarse).await.unwrap();
    let search = library(db).await;
    let books = db.collection::<Book>();
    books
        .insert_many([book(10, "007 7", ""), book(11, "7", "")])
        .await
        .unwrap();
    search.recount().await.unwrap();
    let counted = counts(db).await;
    let of = |term: &str| {
        counted
            .iter()
            .find(|(own, _)| own == term)
            .map(|(_, count)| *count)
    };
    assert_eq!((of("007"), of("7"), of("whale")), (Some(1), Some(2), Some(2)));
    assert!(search.verify().await.unwrap().is_empty());
    assert_eq!(ids(&search, "whale").await.len(), 2);
    books
        .raw()
        .update_one(doc! {"_id": 11}, doc! {"$set": {"keywords.t": ["8"]}})
        .await
        .unwrap();
    assert!(!search.verify().await.unwrap().is_empty());
    search.repair().await.unwrap();
    assert!(search.verify().await.unwrap().is_empty());
}

/// A clock that goes on by a second whenever it is asked.
fn ticking(db: &Db) -> Db {
    let now = Arc::new(AtomicI64::new(1_000_000));
    db.with_clock(move || DateTime::from_millis(now.fetch_add(1000, Ordering::Relaxed)))
}

async fn counts_say_how_stale_they_are(db: &Db) {
    let db = ticking(db);
    let search = library(&db).await;
    let fresh = search.knowledge().await.unwrap();
    assert_eq!((fresh.documents, fresh.documents_now, fresh.changed), (6, 6, 0));
    assert_eq!((fresh.staleness(), fresh.is_of_scheme), (0.0, true));
    assert!(fresh.terms > 20 && fresh.mean_length > 5.0 && fresh.counted.is_some());
    let books = db.collection::<Book>();
    books
        .insert_many((10..14).map(|id| book(id, "new", "")))
        .await
        .unwrap();
    books
        .update_one(|b| b.id.eq(1), |b| b.title.set("new"))
        .await
        .unwrap();
    books
        .update_one(|b| b.id.eq(2), |b| b.shelf.set("not searched"))
        .await
        .unwrap();
    let stale = search.knowledge().await.unwrap();
    assert_eq!((stale.documents, stale.documents_now, stale.changed), (6, 10, 5));
    assert_eq!(stale.staleness(), 0.5);
    books.delete_many(|b| b.id.gte(10)).await.unwrap();
    let fewer = search.knowledge().await.unwrap();
    assert_eq!((fewer.documents_now, fewer.changed), (6, 1));
    books.delete(6).await.unwrap();
    assert_eq!(search.tend().await.unwrap(), 0);
    let tended = search.knowledge().await.unwrap();
    assert_eq!((tended.documents, tended.staleness()), (5, 0.0));
    assert_eq!(
        Search::<Book>::named(&db, "other")
            .knowledge()
            .await
            .unwrap()
            .staleness(),
        1.0
    );
}

/// Term by term, what was counted.
async fn counts(db: &Db) -> Vec<(String, i64)> {
    let raw = db.raw_collection("books_keywords");
    let number = raw
        .get("totals")
        .required()
        .await
        .unwrap()
        .get_i64("number")
        .unwrap();
    let filter = doc! { "_id": { "$ne": "totals" }, "g": { "$gte": number } };
    let all = raw.find(filter).sort_raw(doc! { "_id": 1 }).await.unwrap();
    all.iter()
        .map(|count| {
            (
                count.get_str("_id").unwrap()[2..].to_owned(),
                count.get_i64("n").unwrap(),
            )
        })
        .collect()
}

async fn actual(db: &Db) -> Vec<(String, i64)> {
    let mut counts = std::collections::BTreeMap::new();
    for book in db.raw_collection("books").find(doc! {}).await.unwrap() {
        for term in book.get_document("keywords").unwrap().get_array("t").unwrap() {
            *counts.entry(term.as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    counts.into_iter().collect()
}

async fn counts_are_those_of_the_documents(db: &Db) {
    let search = library(db).await;
    assert_eq!(counts(db).await, actual(db).await);
    let books = db.collection::<Book>();
    books.delete(1).await.unwrap();
    books.insert(book(10, "totals t:whale", "$whale")).await.unwrap();
    let problems = search.verify().await.unwrap();
    let counted = |wanted: &str| {
        problems.iter().find_map(|problem| match problem {
            SearchProblem::Count { term, stored, actual } if term == wanted => Some((*stored, *actual)),
            _ => None,
        })
    };
    assert_eq!(counted("ishmael"), Some((1, 0)));
    assert_eq!(counted("total"), Some((0, 1)));
    assert!(
        problems
            .iter()
            .any(|problem| matches!(problem, SearchProblem::Totals { .. }))
    );
    // A term that was never counted is as rare as can be, and is found.
    assert_eq!(found(&search, "totals").await, [10]);
    search.recount().await.unwrap();
    assert_eq!(counts(db).await, actual(db).await);
    assert!(search.verify().await.unwrap().is_empty());
    // Of nothing.
    books.delete_many(|_| Filter::all()).await.unwrap();
    search.recount().await.unwrap();
    assert!(counts(db).await.is_empty());
    assert!(ids(&search, "whale").await.is_empty());
    books.insert(book(1, "whale", "")).await.unwrap();
    assert_eq!(ids(&search, "whale").await, [1]);
}

async fn a_count_that_ends_in_the_middle_does_no_harm(db: &Db) {
    let search = library(db).await;
    db.collection::<Book>()
        .insert(book(10, "whale", "more"))
        .await
        .unwrap();
    db.collection::<Book>().delete(3).await.unwrap();
    for nth in 1..9 {
        for after in [false, true] {
            let (faulty, faults) = db.faulty();
            let fault = match after {
                true => Fault::nth_operation(nth).after(Error::new(ErrorKind::Network, "connection reset")),
                false => Fault::nth_operation(nth).crash(),
            };
            faults.add(fault);
            let done = search.within(&faulty).recount().await;
            assert_eq!(done.is_err(), faults.failures() > 0, "{nth}");
            // Searches go on; every count is that of the last or of this time.
            assert_eq!(found(&search, "whales more").await, [1, 5, 10]);
            for (term, count) in counts(db).await {
                assert!(count >= 1, "{term}");
            }
        }
    }
    search.recount().await.unwrap();
    assert!(search.verify().await.unwrap().is_empty());
    // Nothing of the others is left.
    let all = db.raw_collection("books_keywords").count(doc! {}).await.unwrap();
    assert_eq!(all, counts(db).await.len() as u64 + 1);
}

async fn counts_at_the_same_time_do_no_harm(db: &Db) {
    let search = library(db).await;
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let (db, search) = (db.clone(), search.clone());
            tokio::spawn(async move {
                for round in 0..3 {
                    db.collection::<Book>()
                        .insert(book(100 + task * 10 + round, "whale", "task"))
                        .await
                        .unwrap();
                    search.recount().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    // One more, because the last may have begun before the last insert.
    search.recount().await.unwrap();
    assert!(search.verify().await.unwrap().is_empty());
    assert_eq!(counts(db).await, actual(db).await);
}
