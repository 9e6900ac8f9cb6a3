//! Optimistic updates: code that changes documents, and never over what it has not seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bson::doc;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::version::{Optimistic, VersionError};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_change_is_made_again_until_nobody_was_first,
    many_at_once_all_have_their_word,
    tries_are_bounded,
    an_update_holds_for_one_version,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "version_pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    words: Vec<String>,
    #[odm(version)]
    #[serde(default)]
    version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "version_pages")]
struct Unversioned {
    #[serde(rename = "_id")]
    id: i32,
    words: Vec<String>,
}

async fn page(db: &Db) -> odm::Collection<Page> {
    let pages = db.collection::<Page>();
    let page = Page {
        id: 1,
        words: Vec::new(),
        version: 0,
    };
    pages.insert(page).await.unwrap();
    pages
}

type Outcome<T> = Result<T, VersionError<String>>;

async fn a_change_is_made_again_until_nobody_was_first(db: &Db) {
    let (db, log) = db.logged();
    let pages = page(&db).await;
    log.take();
    let length: Outcome<usize> = pages
        .update_with_retry(1, |page| {
            page.words.push("a".to_owned());
            Ok(page.words.len())
        })
        .await;
    assert_eq!(length.unwrap(), 1);
    assert_eq!(log.take().len(), 2);
    let found = pages.get(1).required().await.unwrap();
    assert_eq!((found.words.len(), found.version), (1, 1));
    let refused: Outcome<()> = pages.update_with_retry(1, |_| Err("no".to_owned())).await;
    assert!(matches!(refused.unwrap_err(), VersionError::Refused(text) if text == "no"));
    let missing: Outcome<()> = pages.update_with_retry(2, |_| Ok(())).await;
    let missing = missing.unwrap_err();
    assert!(matches!(&missing, VersionError::NotFound { id, .. } if *id == 2.into()));
    assert_eq!(
        missing.to_string(),
        "there is no such document (model: Page, _id: 2)"
    );
    let missing = odm::Error::from(missing);
    assert_eq!((missing.model(), missing.id()), (Some("Page"), Some(&2.into())));
    let unversioned: Outcome<()> = db
        .collection::<Unversioned>()
        .update_with_retry(1, |_| Ok(()))
        .await;
    assert!(matches!(unversioned.unwrap_err(), VersionError::NoVersion { .. }));
}

async fn many_at_once_all_have_their_word(db: &Db) {
    let pages = page(db).await;
    let runs = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = (0..12)
        .map(|n| {
            let (pages, runs) = (pages.clone(), runs.clone());
            tokio::spawn(async move {
                let word: Outcome<()> = pages
                    .update_with_retry(1, move |page| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        page.words.push(format!("word {n}"));
                        Ok(())
                    })
                    .attempts(12)
                    .await;
                word.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let page = pages.get(1).required().await.unwrap();
    assert_eq!((page.words.len(), page.version), (12, 12));
    assert!(runs.load(Ordering::Relaxed) >= 12);
}

async fn tries_are_bounded(db: &Db) {
    let pages = page(db).await;
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let (answer, answered) = std::sync::mpsc::channel::<()>();
    // Somebody is first each time.
    let other = {
        let pages = pages.clone();
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            while receiver.recv().is_ok() {
                runtime
                    .block_on(
                        pages
                            .update_one(|p| p.id.eq(1), |p| p.words.push("other"))
                            .into_future(),
                    )
                    .unwrap();
                answer.send(()).ok();
            }
        })
    };
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let seen = Arc::new(std::sync::Mutex::new((sender, answered)));
    let outcome: Outcome<()> = pages
        .update_with_retry(1, move |page| {
            assert_eq!(page.words.len(), counted.fetch_add(1, Ordering::SeqCst) as usize);
            let seen = seen.lock().unwrap();
            tokio::task::block_in_place(|| {
                seen.0.send(()).unwrap();
                seen.1.recv().unwrap();
            });
            Ok(())
        })
        .attempts(3)
        .await;
    let error = outcome.unwrap_err();
    assert!(
        matches!(
            error,
            VersionError::Conflict {
                model: "Page",
                attempts: 3,
                ..
            }
        ),
        "{error}"
    );
    let error = Error::from(error);
    assert_eq!((error.model(), error.id()), (Some("Page"), Some(&1.into())));
    assert_eq!(error.note("attempts"), Some("3"));
    assert_eq!(error.current::<Page>().unwrap().unwrap().words, ["other"; 3]);
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    other.await.unwrap();
    assert_eq!(pages.get(1).required().await.unwrap().words, ["other"; 3]);
}

async fn an_update_holds_for_one_version(db: &Db) {
    let (db, log) = db.logged();
    let pages = page(&db).await;
    log.take();
    pages.update_if(1, 0, |p| p.words.push("a")).await.unwrap();
    assert_eq!(log.take().len(), 1);
    let error = pages.update_if(1, 0, |p| p.words.push("b")).await.unwrap_err();
    let error = Error::from(error);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!((error.model(), error.id()), (Some("Page"), Some(&1.into())));
    assert_eq!(error.namespace(), Some(pages.namespace().as_str()));
    assert_eq!(error.current::<Page>().unwrap().unwrap().words, ["a"]);
    let shown = format!(
        "the document is of another version (model: Page, collection: {}, _id: 1, attempts: 1)",
        pages.namespace()
    );
    assert_eq!(error.to_string(), shown);
    assert_eq!(log.take().len(), 2);
    pages.update_if(1, 1, |p| p.words.push("c")).await.unwrap();
    assert_eq!(pages.get(1).required().await.unwrap().words, ["a", "c"]);
    let missing = pages.update_if(2, 0, |p| p.words.push("b")).await.unwrap_err();
    assert!(matches!(missing, VersionError::NotFound { .. }));
    let unversioned = db
        .collection::<Unversioned>()
        .update_if(1, 0, |p| p.words.push("b"))
        .await;
    assert!(matches!(unversioned.unwrap_err(), VersionError::NoVersion { .. }));
    // Documents from before the model had versions.
    pages.raw().insert(doc! {"_id": 3, "words": []}).await.unwrap();
    pages.update_if(3, 0, |p| p.words.push("a")).await.unwrap();
    assert_eq!(pages.get(3).required().await.unwrap().version, 1);
}
