//! Files: storing, reading, names, damage, uploads that stop.

use bson::{Bson, DateTime, doc};
use futures_util::TryStreamExt as _;
use futures_util::io::AsyncReadExt as _;
use odm::{Db, ErrorKind};
use odm_patterns::gridfs::{Bucket, BucketOptions, GridFsError};
use odm_tests::random::Random;

crate::on_every_backend! {
    files_of_every_length_come_back_whole,
    ranges_are_read_by_their_chunks_alone,
    content_goes_in_and_out_as_streams,
    names_have_revisions,
    ids_can_be_anything_but_an_array,
    files_are_found_by_what_they_say,
    the_indexes_are_those_of_the_specification,
    files_are_part_of_transactions,
    what_cannot_be_is_refused,
    memory_and_round_trips_are_bounded,
}

pub fn bucket(db: &Db, chunk_size: u32) -> Bucket {
    Bucket::with(db, BucketOptions::new().name("b").chunk_size(chunk_size))
}

pub fn bytes(count: usize) -> Vec<u8> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| random.below(256) as u8).collect()
}

async fn files_of_every_length_come_back_whole(db: &Db) {
    for chunk_size in [1, 4, 7] {
        let bucket = bucket(db, chunk_size);
        for length in 0..18 {
            let content = bytes(length);
            let file = bucket.upload("f").bytes(&content).await.unwrap();
            assert_eq!((file.length, file.chunk_size), (length as i64, chunk_size as i32));
            assert_eq!(bucket.download(file.id.clone()).file().await.unwrap(), file);
            assert_eq!(bucket.download(file.id).bytes().await.unwrap(), content);
        }
        // In parts of every size.
        let content = bytes(40);
        for part in 1..15 {
            let mut upload = bucket.upload("f").open().await.unwrap();
            for part in content.chunks(part) {
                upload.write(part).await.unwrap();
            }
            assert_eq!(upload.position(), 40);
            let file = upload.finish().await.unwrap();
            assert_eq!(bucket.download(file.id).bytes().await.unwrap(), content);
        }
        assert_eq!(bucket.verify().contents().await.unwrap(), []);
        bucket.drop().await.unwrap();
    }
    let empty = bucket(db, 4).upload("").bytes(b"").await.unwrap();
    let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty.sha256.as_deref(), Some(sum));
}

async fn ranges_are_read_by_their_chunks_alone(db: &Db) {
    let bucket = bucket(db, 5);
    let content = bytes(23);
    let id = bucket.upload("f").bytes(&content).await.unwrap().id;
    for start in 0..=23_u64 {
        for end in start..=23 {
            let read = bucket
                .download(id.clone())
                .range(start..end)
                .bytes()
                .await
                .unwrap();
            assert_eq!(read, content[start as usize..end as usize], "{start}..{end}");
        }
    }
    let read = |download: odm_patterns::gridfs::Download| async move { download.bytes().await.unwrap() };
    assert_eq!(read(bucket.download(id.clone()).range(20..)).await, content[20..]);
    assert_eq!(read(bucket.download(id.clone()).range(..3)).await, content[..3]);
    assert_eq!(
        read(bucket.download(id.clone()).range(4..=9)).await,
        content[4..=9]
    );
    for (start, end) in [(0, 24), (24, 24), (5, 4)] {
        let error = bucket.download(id.clone()).range(start..end).bytes().await;
        assert!(
            matches!(error, Err(GridFsError::Range { length: 23, .. })),
            "{start}..{end}"
        );
    }
    // A hole elsewhere is not in the way.
    db.raw_collection("b.chunks")
        .delete_one(doc! { "n": 2 })
        .await
        .unwrap();
    assert_eq!(read(bucket.download(id.clone()).range(..10)).await, content[..10]);
    assert_eq!(read(bucket.download(id.clone()).range(15..)).await, content[15..]);
    let error = bucket.download(id).range(..11).bytes().await.unwrap_err();
    assert!(matches!(error, GridFsError::MissingChunk { n: 2, .. }));
}

async fn content_goes_in_and_out_as_streams(db: &Db) {
    let bucket = bucket(db, 1000);
    let content = bytes(150_000);
    let source = futures_util::io::Cursor::new(&content);
    let file = bucket.upload("f").from(source).await.unwrap();
    assert_eq!(file.length, 150_000);
    let mut destination = Vec::new();
    let copied = bucket
        .download(file.id.clone())
        .to(&mut destination)
        .await
        .unwrap();
    assert_eq!((copied, destination), (file.clone(), content.clone()));

    let parts = bucket
        .download(file.id.clone())
        .open()
        .await
        .unwrap()
        .into_stream();
    let parts: Vec<Vec<u8>> = parts.try_collect().await.unwrap();
    assert_eq!((parts.len(), parts.concat()), (150, content.clone()));

    // The stream is a source again.
    let parts = bucket.download(file.id).open().await.unwrap().into_stream();
    let source = Box::pin(parts.map_err(std::io::Error::other)).into_async_read();
    let copy = bucket.upload("copy").chunk_size(777).from(source).await.unwrap();
    assert_eq!(copy.sha256, file.sha256);

    // A source that fails leaves what came before.
    let failing = futures_util::io::Cursor::new(&content[..2500]).chain(Failing);
    let error = bucket.upload("half").id(1).from(failing).await.unwrap_err();
    assert!(matches!(error, GridFsError::Io(_)), "{error}");
    let missing = bucket.download(1).bytes().await.unwrap_err();
    assert!(matches!(missing, GridFsError::NoFile { id: Bson::Int32(1) }));
}

struct Failing;

impl futures_util::io::AsyncRead for Failing {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut [u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        std::task::Poll::Ready(Err(std::io::Error::other("unplugged")))
    }
}

async fn names_have_revisions(db: &Db) {
    let now = db.now().timestamp_millis();
    let bucket = bucket(db, 4);
    for (at, content) in [(0, "one"), (1, "two"), (1, "three"), (2, "four")] {
        let time = DateTime::from_millis(now + at);
        let bucket = bucket.on(&db.with_clock(move || time));
        bucket.upload("notes").bytes(content.as_bytes()).await.unwrap();
    }
    bucket.upload("other").bytes(b"x").await.unwrap();
    let read = async |revision: i32| {
        let read = bucket.download_by_name("notes").revision(revision).bytes().await;
        read.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    for (revision, content) in [(0, "one"), (1, "two"), (2, "three"), (3, "four")] {
        assert_eq!(read(revision).await.unwrap(), content);
        assert_eq!(read(revision - 4).await.unwrap(), content);
    }
    for revision in [4, -5, i32::MAX, i32::MIN] {
        let error = read(revision).await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
        assert!(matches!(error, GridFsError::NoRevision { revision: found, .. } if found == revision));
    }
    assert_eq!(bucket.download_by_name("notes").bytes().await.unwrap(), b"four");

    assert_eq!(bucket.rename_by_name("notes", "diary").await.unwrap(), 4);
    assert!(
        bucket
            .rename_by_name("notes", "x")
            .await
            .unwrap_err()
            .is_not_found()
    );
    let revisions = bucket.revisions("diary").await.unwrap();
    bucket.rename(revisions[1].id.clone(), "notes").await.unwrap();
    assert_eq!(bucket.download_by_name("notes").bytes().await.unwrap(), b"two");
    assert!(bucket.rename(77, "x").await.unwrap_err().is_not_found());

    assert_eq!(bucket.prune_revisions("diary", 2).await.unwrap(), 1);
    assert_eq!(bucket.prune_revisions("diary", 2).await.unwrap(), 0);
    assert_eq!(
        bucket
            .download_by_name("diary")
            .revision(0)
            .bytes()
            .await
            .unwrap(),
        b"three"
    );
    assert_eq!(bucket.delete_by_name("diary").await.unwrap(), 2);
    assert!(bucket.delete_by_name("diary").await.unwrap_err().is_not_found());
    let rest = bucket.download_by_name("notes").file().await.unwrap();
    bucket.delete(rest.id.clone()).await.unwrap();
    assert!(bucket.delete(rest.id).await.unwrap_err().is_not_found());
    assert_eq!(db.raw_collection("b.chunks").count(doc! {}).await.unwrap(), 1);
    assert_eq!(bucket.verify().await.unwrap(), []);
}

async fn ids_can_be_anything_but_an_array(db: &Db) {
    let bucket = bucket(db, 4);
    let ids = [
        Bson::Int32(1),
        Bson::Int64(1 << 40),
        Bson::Double(0.5),
        Bson::String("a/b".to_owned()),
        Bson::Document(doc! { "a": 1, "b": [1] }),
        Bson::Boolean(true),
        Bson::Null,
        Bson::DateTime(DateTime::from_millis(1)),
    ];
    for id in &ids {
        let content = id.to_string().into_bytes();
        bucket.upload("f").id(id.clone()).bytes(&content).await.unwrap();
    }
    for id in &ids {
        let content = id.to_string().into_bytes();
        assert_eq!(bucket.download(id.clone()).bytes().await.unwrap(), content);
        let again = bucket.upload("f").id(id.clone()).bytes(b"x").await.unwrap_err();
        assert!(matches!(again, GridFsError::Taken { id: found } if found == *id));
    }
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
    let refused = bucket.upload("f").id(vec![1, 2]).bytes(b"x").await.unwrap_err();
    let GridFsError::Database(refused) = refused else {
        panic!("{refused}")
    };
    assert_eq!(
        (refused.kind(), refused.path()),
        (ErrorKind::InvalidArgument, Some("_id"))
    );
    assert_eq!(db.raw_collection("b.files").count(doc! {}).await.unwrap(), 8);
}

async fn files_are_found_by_what_they_say(db: &Db) {
    let bucket = bucket(db, 4);
    for (name, pages) in [("a", 3), ("b", 30), ("c", 300)] {
        let upload = bucket
            .upload(name)
            .metadata(doc! { "pages": pages, "lang": ["en"] });
        upload.bytes(name.as_bytes()).await.unwrap();
    }
    let found = bucket
        .files()
        .find(|f| f.filename.gte("b"))
        .sort(|f| f.filename.desc());
    let names: Vec<_> = found
        .await
        .unwrap()
        .into_iter()
        .map(|f| f.filename.unwrap())
        .collect();
    assert_eq!(names, ["c", "b"]);
    let many = bucket
        .files()
        .raw()
        .count(doc! { "metadata.pages": { "$gt": 10 } });
    assert_eq!(many.await.unwrap(), 2);
    #[derive(serde::Deserialize)]
    struct Pages {
        pages: i32,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Other {
        #[expect(dead_code, reason = "it is never there")]
        other: i32,
    }
    let file = bucket.download_by_name("c").file().await.unwrap();
    assert_eq!(file.metadata_as::<Pages>().unwrap().pages, 300);
    let error = file.metadata_as::<Other>().unwrap_err();
    assert_eq!((error.kind(), error.id()), (ErrorKind::Decode, Some(&file.id)));
    // What other drivers add does not get in the way.
    let more = doc! { "$set": { "contentType": "text/plain", "aliases": ["z"], "extra": 1 } };
    let files = db.raw_collection("b.files");
    files.update_one(doc! { "filename": "c" }, more).await.unwrap();
    let file = bucket.download_by_name("c").file().await.unwrap();
    assert_eq!(file.content_type.as_deref(), Some("text/plain"));
    assert_eq!(bucket.download_by_name("c").bytes().await.unwrap(), b"c");
}

async fn the_indexes_are_those_of_the_specification(db: &Db) {
    let bucket = bucket(db, 4);
    bucket.upload("f").bytes(b"x").await.unwrap();
    let keys = async |name: &str| {
        let found = db.raw_collection(name).list_indexes().await.unwrap();
        let mut keys: Vec<_> = found.into_iter().map(|index| index.keys.to_string()).collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys("b.files").await,
        [r#"{ "_id": 1 }"#, r#"{ "filename": 1, "uploadDate": 1 }"#]
    );
    assert_eq!(
        keys("b.chunks").await,
        [r#"{ "_id": 1 }"#, r#"{ "files_id": 1, "n": 1 }"#]
    );
    // A bucket that has files is left as it is.
    db.raw_collection("b.files")
        .drop_index("filename_1_uploadDate_1")
        .await
        .unwrap();
    let another = Bucket::with(db, BucketOptions::new().name("b"));
    another.upload("f").bytes(b"x").await.unwrap();
    assert_eq!(keys("b.files").await, [r#"{ "_id": 1 }"#]);
    another.create_indexes().await.unwrap();
    assert_eq!(keys("b.files").await.len(), 2);
}

async fn files_are_part_of_transactions(db: &Db) {
    if !db.capabilities().transactions {
        return;
    }
    let bucket = bucket(db, 4);
    bucket.create_indexes().await.unwrap();
    let id = db
        .transaction(async |tx| {
            let bucket = bucket.on(&tx);
            let file = bucket.upload("f").bytes(b"in the transaction").await?;
            assert_eq!(
                bucket.download(file.id.clone()).bytes().await?,
                b"in the transaction"
            );
            Ok(file.id)
        })
        .await
        .unwrap();
    assert_eq!(
        bucket.download(id.clone()).bytes().await.unwrap(),
        b"in the transaction"
    );
    let undone: odm::Result<()> = db
        .transaction(async |tx| {
            let bucket = bucket.on(&tx);
            bucket.delete(id.clone()).await?;
            bucket.upload("g").bytes(b"never").await?;
            Err(bucket.download("nothing").bytes().await.unwrap_err().into())
        })
        .await;
    assert_eq!(undone.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(bucket.download(id).bytes().await.unwrap(), b"in the transaction");
    assert!(
        bucket
            .download_by_name("g")
            .bytes()
            .await
            .unwrap_err()
            .is_not_found()
    );
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
}

async fn what_cannot_be_is_refused(db: &Db) {
    for size in [0, 16 << 20, u32::MAX] {
        let error = bucket(db, size).upload("f").bytes(b"x").await.unwrap_err();
        let GridFsError::Database(error) = error else {
            panic!("{error}")
        };
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some("chunkSize"))
        );
    }
    // The largest that fits.
    let large = bucket(db, (16 << 20) - (16 << 10));
    let content = vec![9; (17 << 20) + 1];
    let file = large
        .upload("f")
        .without_checksum()
        .bytes(&content)
        .await
        .unwrap();
    assert_eq!(large.download(file.id).bytes().await.unwrap(), content);
    for name in ["", "$where", "a\u{0}b", "../../etc/passwd", "\u{202e}txt.exe"] {
        let bucket = bucket(db, 4);
        bucket.upload(name).bytes(name.as_bytes()).await.unwrap();
        assert_eq!(
            bucket.download_by_name(name).bytes().await.unwrap(),
            name.as_bytes()
        );
    }
    let hostile = Bucket::with(db, BucketOptions::new().name("$b"));
    assert!(hostile.upload("f").bytes(b"x").await.is_err());
    // A part of an upload that failed is not followed by another.
    let bucket = bucket(db, 4);
    bucket.upload("f").id("taken").bytes(b"0123").await.unwrap();
    let mut upload = bucket.upload("f").id("taken").open().await.unwrap();
    upload.write(b"01234567").await.unwrap();
    assert!(matches!(upload.flush().await, Err(GridFsError::Taken { .. })));
    let error = odm::Error::from(upload.write(b"more").await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(upload.finish().await.is_err());
    assert_eq!(bucket.download("taken").bytes().await.unwrap(), b"0123");
}

async fn memory_and_round_trips_are_bounded(db: &Db) {
    let (logged, log) = db.logged();
    let bucket = bucket(&logged, 256 << 10);
    bucket.create_indexes().await.unwrap();
    let before = log.round_trips();
    let mut upload = bucket.upload("f").open().await.unwrap();
    let part = bytes(1 << 20);
    for _ in 0..16 {
        upload.write(&part).await.unwrap();
    }
    let file = upload.finish().await.unwrap();
    // 16 MiB by 4, the file, and whether all of it is there.
    assert_eq!(log.round_trips() - before, 6);
    let before = log.round_trips();
    let mut reading = bucket.download(file.id).open().await.unwrap();
    while let Some(part) = reading.next().await.unwrap() {
        assert_eq!(part.len(), 256 << 10);
    }
    // The file, 64 chunks by 16 (by 4 in the embedded engine, whose batches have a mebibyte), and perhaps one that says
    // that there is no more.
    let trips = log.round_trips() - before;
    let batches = if db.backend_name() == "mongodb" { 4 } else { 16 };
    assert!((batches + 1..=batches + 2).contains(&trips), "{trips}");
}
