//! Files that are damaged, broken off, done twice or left over.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind};
use odm_patterns::gridfs::{Bucket, FileProblem, FileProblemKind, GridFsError};
use std::time::Duration;

use super::gridfs::{bucket, bytes};

crate::on_every_backend! {
    damage_is_found_on_reading_and_by_verifying,
    old_sums_are_checked,
    an_upload_goes_on_where_it_stopped,
    an_upload_that_was_done_twice_is_there_once,
    a_failure_at_any_write_leaves_nothing_or_a_file,
    left_overs_are_scrubbed_by_age,
}

fn kinds(problems: &[FileProblem]) -> Vec<&FileProblemKind> {
    problems.iter().map(|problem| &problem.kind).collect()
}

async fn damage_is_found_on_reading_and_by_verifying(db: &Db) {
    use FileProblemKind::{Checksum, ExtraChunk, Layout, MissingChunk, WrongSize};
    let bucket = bucket(db, 4);
    let chunks = db.raw_collection("b.chunks");
    let binary = |bytes: &[u8]| Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    };
    let put = async |n: i32, bytes: &[u8]| {
        let change = doc! { "$set": { "data": binary(bytes) } };
        chunks
            .upsert(doc! { "files_id": 1, "n": n }, change)
            .await
            .unwrap();
    };
    let take = async |n: i32| {
        chunks.delete_one(doc! { "files_id": 1, "n": n }).await.unwrap();
    };
    let both = async |expected: FileProblemKind| {
        let problems = bucket.verify().contents().await.unwrap();
        assert_eq!(kinds(&problems), [&expected]);
        let error = bucket.download(1).bytes().await.unwrap_err();
        assert!(error.is_damaged(), "{error}");
        let same = match (&expected, &error) {
            (MissingChunk { n }, GridFsError::MissingChunk { n: found, .. })
            | (ExtraChunk { n }, GridFsError::ExtraChunk { n: found, .. })
            | (WrongSize { n, .. }, GridFsError::WrongSize { n: found, .. }) => n == found,
            (Checksum { .. }, GridFsError::Checksum { .. }) | (Layout { .. }, GridFsError::Layout { .. }) => {
                true
            }
            _ => false,
        };
        assert!(same, "{expected:?}: {error}");
    };
    bucket.upload("whole").id(2).bytes(b"all of it").await.unwrap();
    bucket.upload("f").id(1).bytes(b"0123456789").await.unwrap();
    assert_eq!(bucket.verify().contents().await.unwrap(), []);

    for n in 0..3 {
        take(n).await;
        both(MissingChunk { n: n.into() }).await;
        put(n, [b"0123".as_slice(), b"4567", b"89"][n as usize]).await;
    }
    put(3, b"").await;
    both(ExtraChunk { n: 3 }).await;
    take(3).await;
    put(1, b"456").await;
    both(WrongSize {
        n: 1,
        expected: 4,
        found: 3,
    })
    .await;
    put(1, b"4567").await;
    put(2, b"8").await;
    both(WrongSize {
        n: 2,
        expected: 2,
        found: 1,
    })
    .await;
    // As many bytes in all, in wrong places.
    put(1, b"456").await;
    put(2, b"789").await;
    let problems = bucket.verify().await.unwrap();
    assert_eq!(
        kinds(&problems),
        [
            &WrongSize {
                n: 1,
                expected: 4,
                found: 3
            },
            &WrongSize {
                n: 2,
                expected: 2,
                found: 3
            }
        ]
    );
    put(1, b"4568").await;
    put(2, b"89").await;
    assert_eq!(bucket.verify().await.unwrap(), [], "sizes alone");
    let found = bucket.verify().contents().await.unwrap();
    assert!(matches!(kinds(&found)[..], [Checksum { .. }]));
    assert!(matches!(
        bucket.download(1).bytes().await.unwrap_err(),
        GridFsError::Checksum { .. }
    ));
    assert_eq!(
        bucket.download(1).unchecked().bytes().await.unwrap(),
        b"0123456889"
    );
    put(1, b"4567").await;
    for (field, value) in [("length", Bson::Int64(-1)), ("chunkSize", Bson::Int32(0))] {
        let files = db.raw_collection("b.files");
        let old = files.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        files
            .update_one(doc! { "_id": 1 }, doc! { "$set": { field: value } })
            .await
            .unwrap();
        let problems = bucket.verify().await.unwrap();
        assert!(matches!(kinds(&problems)[..], [Layout { .. }]));
        let error = bucket.download(1).bytes().await.unwrap_err();
        assert!(matches!(error, GridFsError::Layout { .. }), "{error}");
        files.replace_one(doc! { "_id": 1 }, old).await.unwrap();
    }
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
}

async fn old_sums_are_checked(db: &Db) {
    let bucket = bucket(db, 4);
    let file = bucket
        .upload("old")
        .without_checksum()
        .bytes(b"hello")
        .await
        .unwrap();
    assert_eq!((file.sha256, file.md5), (None, None));
    let files = db.raw_collection("b.files");
    for (sum, right) in [
        ("5d41402abc4b2a76b9719d911017c592", true),
        ("5D41402ABC4B2A76B9719D911017C592", true),
        ("5d41402abc4b2a76b9719d911017c593", false),
        ("", false),
    ] {
        files
            .update_one(doc! {}, doc! { "$set": { "md5": sum } })
            .await
            .unwrap();
        assert_eq!(
            bucket.download_by_name("old").bytes().await.is_ok(),
            right,
            "{sum}"
        );
        assert_eq!(bucket.verify().contents().await.unwrap().is_empty(), right);
    }
}

async fn an_upload_goes_on_where_it_stopped(db: &Db) {
    let bucket = bucket(db, 4);
    let content = bytes(30);
    for stored in 0..30 {
        let id = stored as i32;
        let mut upload = bucket.upload("f").id(id).open().await.unwrap();
        upload.write(&content[..stored]).await.unwrap();
        upload.flush().await.unwrap();
        assert_eq!(upload.position(), stored as u64);
        drop(upload);
        let mut upload = bucket.upload("f").id(id).resume().await.unwrap();
        assert_eq!(upload.position(), stored as u64 / 4 * 4);
        let rest = upload.position() as usize;
        upload.write(&content[rest..]).await.unwrap();
        let file = upload.finish().await.unwrap();
        assert_eq!(bucket.download(id).bytes().await.unwrap(), content);
        assert_eq!(file.length, 30);
    }
    // Holes, chunks of another size, and more chunks than there will be.
    let chunks = db.raw_collection("b.chunks");
    let binary = |count: usize| Binary {
        subtype: BinarySubtype::Generic,
        bytes: vec![7; count],
    };
    for (id, stored) in [
        (100, vec![(1, 4), (2, 4)]),
        (101, vec![(0, 3), (1, 4)]),
        (102, vec![(0, 9), (12, 4)]),
    ] {
        for (n, size) in stored {
            chunks
                .insert(doc! { "files_id": id, "n": n, "data": binary(size) })
                .await
                .unwrap();
        }
        let mut upload = bucket.upload("f").id(id).resume().await.unwrap();
        assert_eq!(upload.position(), 0);
        upload.write(&content).await.unwrap();
        upload.finish().await.unwrap();
        assert_eq!(bucket.download(id).bytes().await.unwrap(), content);
    }
    let done = bucket.upload("f").id(100).resume().await.unwrap_err();
    assert!(matches!(done, GridFsError::Taken { .. }));
    let nameless = bucket.upload("f").resume().await.unwrap_err();
    assert_eq!(odm::Error::from(nameless).kind(), ErrorKind::InvalidArgument);
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
}

async fn an_upload_that_was_done_twice_is_there_once(db: &Db) {
    let bucket = bucket(db, 4);
    let content = bytes(50);
    bucket.create_indexes().await.unwrap();
    for round in 0..10 {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (bucket, content) = (bucket.clone(), content.clone());
                tokio::spawn(async move { bucket.upload("f").id(round).bytes(&content).await })
            })
            .collect();
        let mut stored = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(_) => stored += 1,
                Err(error) => assert!(matches!(error, GridFsError::Taken { .. }), "{error}"),
            }
        }
        assert_eq!(stored, 1);
        // Those who go on together finish it once.
        let id = 100 + round;
        let mut begun = bucket.upload("f").id(id).open().await.unwrap();
        begun.write(&content[..21]).await.unwrap();
        begun.flush().await.unwrap();
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (bucket, content) = (bucket.clone(), content.clone());
                tokio::spawn(async move {
                    let mut upload = bucket.upload("f").id(id).resume().await?;
                    let from = upload.position() as usize;
                    upload.write(&content[from..]).await?;
                    upload.finish().await
                })
            })
            .collect();
        let mut finished = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(_) => finished += 1,
                Err(error) => assert!(matches!(error, GridFsError::Taken { .. }), "{error}"),
            }
        }
        assert!(finished <= 1);
        if finished == 0 {
            let mut upload = bucket.upload("f").id(id).resume().await.unwrap();
            let from = upload.position() as usize;
            upload.write(&content[from..]).await.unwrap();
            upload.finish().await.unwrap();
        }
        assert_eq!(bucket.download(id).bytes().await.unwrap(), content);
    }
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
    let empty = bucket.upload("empty").id("e").bytes(b"").await.unwrap();
    let taken = bucket.upload("full").id("e").bytes(b"full").await.unwrap_err();
    assert!(matches!(taken, GridFsError::Taken { .. }));
    assert_eq!(bucket.download("e").file().await.unwrap(), empty);
    assert_eq!(bucket.verify().await.unwrap(), []);
}

async fn a_failure_at_any_write_leaves_nothing_or_a_file(db: &Db) {
    let content = bytes(30);
    bucket(db, 4).create_indexes().await.unwrap();
    for at in 1.. {
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(at));
        let id = at as i32;
        let upload = async {
            let bucket = bucket(&faulty, 4);
            let mut upload = bucket.upload("f").id(id).open().await?;
            for part in content.chunks(9) {
                upload.write(part).await?;
                upload.flush().await?;
            }
            upload.finish().await
        };
        let outcome = upload.await;
        let bucket = bucket(db, 4);
        match outcome {
            Ok(_) => {
                assert_eq!(bucket.download(id).bytes().await.unwrap(), content);
                break;
            }
            Err(_) => {
                assert!(bucket.download(id).bytes().await.unwrap_err().is_not_found());
                let mut upload = bucket.upload("f").id(id).resume().await.unwrap();
                let from = upload.position() as usize;
                upload.write(&content[from..]).await.unwrap();
                upload.finish().await.unwrap();
                assert_eq!(bucket.download(id).bytes().await.unwrap(), content);
            }
        }
        // Deleting too.
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(2));
        bucket.on(&faulty).delete(id).await.unwrap_err();
        assert!(bucket.download(id).bytes().await.unwrap_err().is_not_found());
        assert!(matches!(
            kinds(&bucket.verify().await.unwrap())[..],
            [FileProblemKind::Orphan { chunks: 8, .. }]
        ));
        assert!(bucket.delete(id).await.unwrap_err().is_not_found());
        assert_eq!(bucket.verify().await.unwrap(), []);
    }
}

async fn left_overs_are_scrubbed_by_age(db: &Db) {
    let now = db.now().timestamp_millis() / 1000 * 1000;
    let at = |seconds: i64| {
        let time = DateTime::from_millis(now + seconds * 1000);
        bucket(&db.with_clock(move || time), 4)
    };
    let begin = async |bucket: Bucket, id: i32| {
        let mut upload = bucket.upload("f").id(id).open().await.unwrap();
        upload.write(&[1; 40]).await.unwrap();
        upload.flush().await.unwrap();
        upload
    };
    at(0).upload("whole").bytes(&[1; 40]).await.unwrap();
    let _ = begin(at(0), 1).await;
    let mut slow = begin(at(0), 2).await;
    let going_on = begin(at(100), 3).await;
    let hour = Duration::from_secs(3600);
    assert_eq!(at(3599).scrub(hour).await.unwrap().uploads, 0);
    let scrub = at(3600).scrub(hour).await.unwrap();
    assert_eq!((scrub.uploads, scrub.chunks), (2, 20));
    let left = at(3600).verify().await.unwrap();
    let newest = DateTime::from_millis(now + 100_000);
    assert_eq!(left[0].id, Bson::Int32(3));
    assert_eq!(kinds(&left), [&FileProblemKind::Orphan { chunks: 10, newest }]);
    going_on.finish().await.unwrap();
    assert_eq!(at(0).download(3).bytes().await.unwrap(), [1; 40]);
    // One that was scrubbed too early is no file.
    slow.write(&[1; 4]).await.unwrap();
    let error = slow.finish().await.unwrap_err();
    assert!(matches!(error, GridFsError::Discarded { .. }), "{error}");
    assert!(at(0).download(2).bytes().await.unwrap_err().is_not_found());
    assert_eq!(at(3600).scrub(hour).await.unwrap().chunks, 1);

    let aborted = begin(at(0), 4).await;
    aborted.abort().await.unwrap();
    assert_eq!(at(0).verify().contents().await.unwrap(), []);
}
