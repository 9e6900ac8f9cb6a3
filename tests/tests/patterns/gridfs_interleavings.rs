//! All orders in which the operations of two who store, go on with, abort, delete and scrub one file can follow each other.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::Db;
use odm_patterns::gridfs::{FileProblemKind, GridFsError};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;

use super::gridfs::{bucket, bytes};

const ID: i32 = 1;

/// What is stored: the beginning of what a longer upload left.
fn content() -> Vec<u8> {
    bytes(20)[..11].to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nothing,
    /// An upload of three chunks that stopped behind two.
    Stopped,
    /// One of five chunks, of which two in the middle are missing.
    Holed,
    File,
    /// A deletion that stopped.
    HalfDeleted,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Upload,
    /// Uploads, and aborts where that fails.
    UploadOrAbort,
    Resume,
    /// Begins to go on, and aborts.
    Abort,
    Delete,
    Scrub,
}

/// Whether somebody was told that the file is there.
async fn work(db: &Db, work: Work) -> Result<bool, GridFsError> {
    let (bucket, content) = (bucket(db, 4), content());
    match work {
        Work::Upload => bucket.upload("f").id(ID).bytes(&content).await.map(|_| true),
        Work::UploadOrAbort => {
            let mut upload = bucket.upload("f").id(ID).open().await?;
            let stored = async {
                upload.write(&content[..5]).await?;
                upload.flush().await?;
                upload.write(&content[5..]).await?;
                upload.flush().await
            };
            match stored.await {
                Ok(()) => upload.finish().await.map(|_| true),
                Err(_) => upload.abort().await.map(|()| false),
            }
        }
        Work::Resume => {
            let mut upload = bucket.upload("f").id(ID).resume().await?;
            upload.write(&content[upload.position() as usize..]).await?;
            upload.finish().await.map(|_| true)
        }
        Work::Abort => bucket
            .upload("f")
            .id(ID)
            .resume()
            .await?
            .abort()
            .await
            .map(|()| false),
        Work::Delete => bucket.delete(ID).await.map(|()| false),
        Work::Scrub => {
            let time = DateTime::from_millis(db.now().timestamp_millis() + 3_600_000);
            let later = bucket.on(&db.with_clock(move || time));
            later.scrub(Duration::from_secs(60)).await.map(|_| false)
        }
    }
}

async fn begin(before: Before) -> Db {
    let db = Plain::db(&Db::open("memory:").await.unwrap());
    let bucket = bucket(&db, 4);
    bucket.create_indexes().await.unwrap();
    let stop_behind = async |count: usize| {
        let mut upload = bucket.upload("f").id(ID).open().await.unwrap();
        upload.write(&bytes(20)[..count]).await.unwrap();
        upload.flush().await.unwrap();
    };
    match before {
        Before::Nothing => {}
        Before::Stopped => stop_behind(8).await,
        Before::Holed => {
            stop_behind(20).await;
            let chunks = db.raw_collection("b.chunks");
            chunks.delete_many(doc! { "n": { "$in": [2, 3] } }).await.unwrap();
        }
        Before::File => drop(bucket.upload("f").id(ID).bytes(&content()).await.unwrap()),
        Before::HalfDeleted => {
            stop_behind(8).await;
            let document = doc! {
                "_id": ID,
                "length": 0_i64,
                "chunkSize": 4,
                "uploadDate": DateTime::now(),
                "discarding": bson::oid::ObjectId::new(),
            };
            bucket.files().raw().insert(document).await.unwrap();
        }
    }
    db
}

#[tokio::test]
async fn a_file_is_whole_or_not_there_in_every_order() {
    let works = [
        Work::Upload,
        Work::UploadOrAbort,
        Work::Resume,
        Work::Abort,
        Work::Delete,
        Work::Scrub,
    ];
    let befores = [
        Before::Nothing,
        Before::Stopped,
        Before::Holed,
        Before::File,
        Before::HalfDeleted,
    ];
    let content = content();
    let mut orders = 0;
    for before in befores {
        let pairs =
            (0..works.len()).flat_map(|first| (first..works.len()).map(move |second| [first, second]));
        for pair in pairs.map(|pair| pair.map(|n| works[n])) {
            let told = Arc::new([const { Mutex::new(None) }; 2]);
            orders += every_interleaving_of(
                2,
                async || begin(before).await,
                |db, n| {
                    let told = told.clone();
                    Box::pin(async move {
                        let outcome = work(db, pair[n]).await;
                        *told[n].lock().unwrap() = Some(outcome);
                    })
                },
                async |db, order| {
                    let told = told.each_ref().map(|told| told.lock().unwrap().take());
                    let context = format!("{pair:?} {before:?} as {order:?}: {told:?}");
                    let stored = told.iter().filter(|told| matches!(told, Some(Ok(true)))).count();
                    let bucket = bucket(db, 4);
                    match bucket.download(ID).bytes().await {
                        Ok(bytes) => {
                            assert_eq!(bytes, content, "{context}");
                            assert!(stored > 0 || before == Before::File, "{context}");
                        }
                        Err(error) => {
                            assert!(error.is_not_found(), "{error}: {context}");
                            let deleted = pair.contains(&Work::Delete);
                            assert!(deleted || (stored == 0 && before != Before::File), "{context}");
                        }
                    }
                    assert!(stored <= 1 || pair.contains(&Work::Delete), "{context}");
                    // Who only stores does not go on with what somebody else deletes.
                    if before != Before::HalfDeleted {
                        let held = bucket.files().count(|f| f.discarding.exists()).await.unwrap();
                        assert_eq!(held, 0, "{context}");
                    }
                    for problem in bucket.verify().contents().await.unwrap() {
                        let orphan = matches!(problem.kind, FileProblemKind::Orphan { .. });
                        assert!(orphan, "{problem:?}: {context}");
                    }
                    // What is left over is in nobody's way.
                    work(db, Work::Scrub).await.unwrap();
                    if bucket.download(ID).bytes().await.is_err() {
                        assert_eq!(
                            db.raw_collection("b.chunks").count(doc! {}).await.unwrap(),
                            0,
                            "{context}"
                        );
                        bucket.upload("f").id(ID).bytes(&content).await.unwrap();
                    }
                    assert_eq!(bucket.verify().contents().await.unwrap(), [], "{context}");
                },
            )
            .await;
        }
    }
    assert!(orders > 1_000, "{orders}");
}
