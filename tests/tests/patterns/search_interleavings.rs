//! All orders in which the operations of two who write searched texts, make keywords anew and count can follow each other.

use std::sync::atomic::{AtomicI64, Ordering};

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Filter, Model, Update};
use odm_patterns::search::{Analyzer, Keywords, Scheme, Search, SearchProblem, Searchable};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "letters")]
struct Letter {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    text: String,
    tags: Vec<String>,
    keywords: Keywords<Letter>,
}

impl Searchable for Letter {
    fn scheme(l: LetterFields) -> Scheme<Letter> {
        Scheme::new(l.keywords, Analyzer::new())
            .text(l.title)
            .text(l.text)
            .list(l.tags, 1.0)
    }
}

/// Goes on whenever somebody looks at it, so that what is younger than a count depends on nothing else.
static CLOCK: AtomicI64 = AtomicI64::new(1_000_000_000);

fn ticking(db: &Db) -> Db {
    db.with_clock(|| DateTime::from_millis(CLOCK.fetch_add(1, Ordering::SeqCst)))
}

fn letter(id: i32, title: &str) -> Letter {
    Letter {
        id,
        title: title.to_owned(),
        text: "dear".to_owned(),
        tags: Vec::new(),
        keywords: Keywords::default(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    SetTitle,
    SetText,
    SetAll,
    PushTag,
    Pipeline,
    Upsert,
    Save,
    UpdateMany,
    Reindex,
    Repair,
    Delete,
}

const WRITERS: [Work; 9] = [
    Work::SetTitle,
    Work::SetText,
    Work::SetAll,
    Work::PushTag,
    Work::Pipeline,
    Work::Upsert,
    Work::Save,
    Work::UpdateMany,
    Work::Delete,
];

const MENDERS: [Work; 2] = [Work::Reindex, Work::Repair];

async fn work(db: &Db, work: Work, n: usize) -> odm::Result<()> {
    let db = &ticking(db);
    let letters = db.collection::<Letter>();
    let search = Search::<Letter>::new(db);
    let word = |text: &str| format!("{text}{n}");
    match work {
        Work::SetTitle => {
            letters
                .update_one(|l| l.id.eq(1), |l| l.title.set(word("title")))
                .await?;
        }
        Work::SetText => {
            letters
                .update_one(|l| l.id.eq(1), |l| l.text.set(word("text")))
                .await?;
        }
        Work::SetAll => {
            letters
                .update_one(
                    |l| l.id.eq(1),
                    |l| l.title.set(word("all")) & l.text.set("whole") & l.tags.set([word("tag")]),
                )
                .await?;
        }
        Work::PushTag => {
            letters
                .update_one(|l| l.id.eq(1), |l| l.tags.push(word("pushed")))
                .await?;
        }
        Work::Pipeline => {
            let stage = doc! { "$set": { "title": { "$concat": ["$title", " ", word("piped")] } } };
            letters
                .update_one(|l| l.id.eq(1), |_| Update::pipeline([stage]))
                .await?;
        }
        Work::Upsert => {
            letters
                .upsert(
                    |l| l.id.eq(1),
                    |l| {
                        l.title.set(word("upserted"))
                            & l.text.set_on_insert("new")
                            & l.tags.set_on_insert(["tag"])
                    },
                )
                .await?;
        }
        Work::Save => {
            letters.save(letter(1, &word("saved"))).await?;
        }
        Work::UpdateMany => {
            letters
                .update_many(|_| Filter::all(), |l| l.text.set(word("many")))
                .await?;
        }
        Work::Reindex => {
            search.reindex().await?;
        }
        Work::Repair => {
            search.repair().await.unwrap();
        }
        Work::Delete => {
            letters.delete(1).await?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Right,
    /// A program died between an update and its keywords.
    Pending,
    /// Something went around the model.
    Differing,
}

async fn begin(is_plain: bool, before: Before) -> Db {
    let db = Db::open("memory:").await.unwrap();
    let db = ticking(&if is_plain { Plain::db(&db) } else { db });
    Search::<Letter>::new(&db).prepare().await.unwrap();
    let letters = db.collection::<Letter>();
    letters
        .insert_many([letter(1, "one"), letter(2, "two")])
        .await
        .unwrap();
    match before {
        Before::Right => {}
        Before::Pending => {
            let (faulty, faults) = Plain::db(&db).faulty();
            faults.add(Fault::nth_write(2).crash());
            let update = faulty.collection::<Letter>();
            let update = update.update_one(|l| l.id.eq(1), |l| l.title.set("interrupted"));
            update.await.unwrap_err();
            assert_eq!(Search::<Letter>::new(&db).stale_count().await.unwrap(), 1);
        }
        Before::Differing => {
            let update = doc! { "$set": { "text": "changed" } };
            db.raw_collection("letters")
                .update_one(doc! { "_id": 1 }, update)
                .await
                .unwrap();
        }
    }
    db
}

/// Explores all pairs of writers where all is right, and writers and menders where it is not.
async fn explore(is_plain: bool, before: Before, interruptions: usize) {
    let writers =
        (0..WRITERS.len()).flat_map(|first| (first..WRITERS.len()).map(move |second| [first, second]));
    let writers = writers.map(|pair| pair.map(|n| WRITERS[n]));
    let menders = MENDERS.iter().flat_map(|mender| {
        let others = WRITERS.into_iter().chain([*mender]);
        others.map(|other| [other, *mender])
    });
    let pairs: Vec<[Work; 2]> = match before {
        Before::Right => writers.collect(),
        Before::Pending | Before::Differing => menders.collect(),
    };
    let mut orders = 0;
    for pair in pairs {
        orders += every_interleaving_of(
            interruptions,
            async || begin(is_plain, before).await,
            |db, n| Box::pin(async move { work(db, pair[n], n).await.unwrap() }),
            async |db, order| {
                let context = format!("{pair:?} {before:?} {is_plain} as {order:?}");
                let search = Search::<Letter>::new(db);
                let problems = search.verify().await.unwrap();
                let of_documents: Vec<&SearchProblem> =
                    problems.iter().filter(|problem| problem.id().is_some()).collect();
                // Any write that makes the keywords anew mends what was wrong; those that write nothing do not.
                let mends = |work: &Work| match work {
                    Work::Reindex => before == Before::Pending,
                    _ => true,
                };
                if before == Before::Right || pair.iter().any(mends) {
                    assert_eq!(of_documents.len(), 0, "{of_documents:?}: {context}");
                    assert_eq!(search.stale_count().await.unwrap(), 0, "{context}");
                }
                // Nothing that was written is lost, unless the other one writes the same.
                let found = db.collection::<Letter>().get(1).await.unwrap();
                if let Some(letter) = found
                    && pair == [Work::SetTitle, Work::SetText]
                {
                    assert_eq!((letter.title.as_str(), letter.text.as_str()), ("title0", "text1"));
                    assert_eq!(search.find("+title0 +text1").await.unwrap().len(), 1, "{context}");
                }
            },
        )
        .await;
    }
    println!("{orders} orders of two at a searched document: {before:?}, {is_plain}");
}

#[tokio::test]
async fn keywords_are_those_of_the_texts_whoever_writes() {
    explore(false, Before::Right, 2).await;
}

#[tokio::test]
async fn keywords_are_those_of_the_texts_whoever_writes_without_transactions() {
    explore(true, Before::Right, 3).await;
}

#[tokio::test]
async fn what_an_interruption_left_is_mended_whoever_writes() {
    explore(false, Before::Pending, 1).await;
}

#[tokio::test]
async fn what_an_interruption_left_is_mended_whoever_writes_without_transactions() {
    explore(true, Before::Pending, 2).await;
}

#[tokio::test]
async fn what_went_around_the_model_is_mended_whoever_writes() {
    explore(false, Before::Differing, 1).await;
}

#[tokio::test]
async fn what_went_around_the_model_is_mended_whoever_writes_without_transactions() {
    explore(true, Before::Differing, 2).await;
}

/// Two counts at once, and a count beside writers: what is counted is found at once or by the next count.
#[tokio::test]
async fn counts_are_those_of_the_documents_whoever_counts() {
    let mut orders = 0;
    for second in [None, Some(Work::SetTitle), Some(Work::Delete)] {
        orders += every_interleaving_of(
            3,
            async || {
                let db = begin(true, Before::Right).await;
                // What the last count does not know.
                Search::<Letter>::new(&db).recount().await.unwrap();
                db.collection::<Letter>()
                    .insert(letter(3, "three"))
                    .await
                    .unwrap();
                db.collection::<Letter>().delete(2).await.unwrap();
                db
            },
            |db, n| {
                Box::pin(async move {
                    match (n, second) {
                        (1, Some(second)) => work(db, second, n).await.unwrap(),
                        _ => Search::<Letter>::new(&ticking(db)).recount().await.unwrap(),
                    }
                })
            },
            async |db, order| {
                let context = format!("{second:?} as {order:?}");
                let search = Search::<Letter>::new(db);
                let problems = search.verify().await.unwrap();
                if second.is_none() {
                    assert!(problems.is_empty(), "{problems:?}: {context}");
                    let knowledge = search.knowledge().await.unwrap();
                    assert_eq!((knowledge.documents, knowledge.terms), (2, 3), "{context}");
                }
                assert!(
                    problems.iter().all(|problem| problem.id().is_none()),
                    "{problems:?}: {context}"
                );
                search.recount().await.unwrap();
                let problems = search.verify().await.unwrap();
                assert!(problems.is_empty(), "{problems:?}: {context}");
            },
        )
        .await;
    }
    println!("{orders} orders of two who count");
}
