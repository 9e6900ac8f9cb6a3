//! Files that are read in a hurry, and ids that are none.

use std::time::Duration;

use bson::{Bson, DateTime, Document, doc};
use odm::Db;
use odm_patterns::gridfs::{Downloading, FileProblemKind, GridFsError};
use odm_tests::interrupted::interrupted;

use super::gridfs::bucket;

crate::on_every_backend! {
    a_part_that_was_not_waited_for_comes_next,
    an_id_that_no_document_has_is_refused,
    chunks_of_an_id_that_no_document_has_are_scrubbed,
}

/// Reads all, and gives each part so little time that the first one is given up.
async fn hurried(mut reading: Downloading) -> (Vec<u8>, usize) {
    let (mut content, mut given_up) = (Vec::new(), 0);
    loop {
        match tokio::time::timeout(Duration::from_millis(5), reading.next()).await {
            Err(_) => given_up += 1,
            Ok(Ok(Some(part))) => content.extend(part),
            Ok(Ok(None)) => return (content, given_up),
            Ok(Err(error)) => panic!("{error}"),
        }
    }
}

async fn a_part_that_was_not_waited_for_comes_next(db: &Db) {
    bucket(db, 4)
        .upload("f")
        .id(1)
        .bytes(b"0123456789")
        .await
        .unwrap();
    bucket(db, 4)
        .upload("g")
        .id(2)
        .without_checksum()
        .bytes(b"0123456789")
        .await
        .unwrap();
    for (id, range, expected) in [
        (1, 0..10, b"0123456789".as_slice()),
        (1, 1..9, b"12345678"),
        (1, 6..10, b"6789"),
        (2, 0..10, b"0123456789"),
    ] {
        // The first operation finds the file, the second its chunks.
        let (slow, _) = interrupted(db, 2, tokio::time::sleep(Duration::from_millis(100)));
        let reading = bucket(&slow, 4).download(id).range(range).open().await.unwrap();
        let (content, given_up) = hurried(reading).await;
        assert_eq!(content, expected);
        assert!(given_up > 0);
    }
    // After an error there is nothing more.
    let behind = doc! { "_id": bson::oid::ObjectId::new(), "files_id": 1, "n": 3, "data": data(b"x") };
    db.raw_collection("b.chunks").insert(behind).await.unwrap();
    let mut reading = bucket(db, 4).download(1).open().await.unwrap();
    reading.next().await.unwrap();
    reading.next().await.unwrap();
    let error = reading.next().await.unwrap_err();
    assert!(matches!(error, GridFsError::ExtraChunk { n: 3, .. }), "{error}");
    assert_eq!(reading.next().await.unwrap(), None);
}

fn data(bytes: &[u8]) -> bson::Binary {
    bson::Binary {
        subtype: bson::spec::BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    }
}

fn impossible() -> Vec<Bson> {
    vec![
        doc! { "$gt": "" }.into(),
        doc! { "$in": [1, 2] }.into(),
        doc! { "a": { "$gt": 1 } }.into(),
        doc! { "a": [1, { "$x": 1 }] }.into(),
        doc! { "a": 1, "$b": 2 }.into(),
        doc! { "$id": 1 }.into(),
        doc! { "$ref": "a" }.into(),
        doc! { "x": 1, "$ref": "a", "$id": 1 }.into(),
        vec![Bson::from(1)].into(),
    ]
}

async fn an_id_that_no_document_has_is_refused(db: &Db) {
    let bucket = bucket(db, 4);
    bucket.upload("f").id("one").bytes(b"0123").await.unwrap();
    for id in impossible() {
        let error = bucket.upload("x").id(id.clone()).bytes(b"01").await.unwrap_err();
        assert_eq!(error.kind(), odm::ErrorKind::InvalidArgument, "{id}");
        let error = bucket.download(id.clone()).bytes().await.unwrap_err();
        assert!(matches!(error, GridFsError::NoFile { .. }), "{id}: {error}");
        let error = bucket.rename(id.clone(), "y").await.unwrap_err();
        assert!(matches!(error, GridFsError::NoFile { .. }), "{id}: {error}");
        let error = bucket.delete(id.clone()).await.unwrap_err();
        assert!(matches!(error, GridFsError::NoFile { .. }), "{id}: {error}");
    }
    let all = db.raw_collection("b.files").find(doc! {}).await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(db.raw_collection("b.chunks").count(doc! {}).await.unwrap(), 1);
    // What the server takes is taken.
    for id in [
        doc! { "$ref": "a", "$id": 1 },
        doc! { "$ref": "a", "$id": 1, "$db": "d" },
        doc! { "a": { "$ref": "a", "$id": 1 } },
        doc! { "a.b": 1 },
        doc! { "": 1 },
    ] {
        bucket.upload("x").id(id.clone()).bytes(b"0123456").await.unwrap();
        assert_eq!(bucket.download(id.clone()).bytes().await.unwrap(), b"0123456");
        assert_eq!(bucket.verify().contents().await.unwrap(), []);
        bucket.delete(id).await.unwrap();
    }
    assert_eq!(db.raw_collection("b.chunks").count(doc! {}).await.unwrap(), 1);
}

async fn chunks_of_an_id_that_no_document_has_are_scrubbed(db: &Db) {
    let bucket = bucket(db, 4);
    bucket.upload("f").id("one").bytes(b"0123456").await.unwrap();
    let chunks = db.raw_collection("b.chunks");
    let mut ids = impossible();
    ids.retain(|id| id.as_array().is_none());
    // And one behind them that could be.
    ids.push("zzz".into());
    for id in &ids {
        for n in 0..2 {
            let chunk =
                doc! { "_id": bson::oid::ObjectId::new(), "files_id": id, "n": n, "data": data(b"0123") };
            chunks.insert(chunk).await.unwrap();
        }
    }
    let found = bucket.verify().await.unwrap();
    assert_eq!(found.len(), ids.len());
    assert!(
        found
            .iter()
            .all(|problem| matches!(problem.kind, FileProblemKind::Orphan { chunks: 2, .. }))
    );
    let hour = Duration::from_secs(3600);
    assert_eq!(bucket.scrub(hour).await.unwrap().uploads, 0);
    let tomorrow = DateTime::from_millis(db.now().timestamp_millis() + 86_400_000);
    let later = bucket.on(&db.with_clock(move || tomorrow));
    let scrub = later.scrub(hour).await.unwrap();
    assert_eq!(
        (scrub.uploads, scrub.chunks),
        (ids.len() as u64, 2 * ids.len() as u64)
    );
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
    let files: Vec<Document> = db.raw_collection("b.files").find(doc! {}).await.unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(bucket.download("one").bytes().await.unwrap(), b"0123456");
}
