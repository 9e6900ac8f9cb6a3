//! Files that other programs wrote, with doubles for numbers, and documents that are of no file.

use odm::Db;
use odm::bson::oid::ObjectId;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, doc};
use odm_patterns::gridfs::{Bucket, FileProblemKind};

crate::on_every_backend! {
    whole_doubles_are_read,
    what_cannot_be_read_is_a_problem_of_its_own,
}

async fn file(db: &Db, id: i32, length: impl Into<Bson>, chunk_size: f64) {
    let file = doc! {
        "_id": id,
        "length": length.into(),
        "chunkSize": chunk_size,
        "uploadDate": DateTime::now(),
        "filename": "theirs",
    };
    db.raw_collection("fs.files").insert(file).await.unwrap();
}

async fn whole_doubles_are_read(db: &Db) {
    let bucket = Bucket::new(db);
    file(db, 1, 3.0, 2.0).await;
    for (n, bytes) in [(0.0, &b"ab"[..]), (1.0, b"c")] {
        let data = Binary {
            subtype: BinarySubtype::Generic,
            bytes: bytes.to_vec(),
        };
        let chunk = doc! { "_id": ObjectId::new(), "files_id": 1, "n": n, "data": data };
        db.raw_collection("fs.chunks").insert(chunk).await.unwrap();
    }
    assert_eq!(bucket.download(1).bytes().await.unwrap(), b"abc");
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
    file(db, 2, 3e9, 261_120.0).await;
    let found = bucket.files().find(|f| f.length.gt(4)).await.unwrap();
    assert_eq!((found[0].length, found[0].chunk_size), (3_000_000_000, 261_120));
}

async fn what_cannot_be_read_is_a_problem_of_its_own(db: &Db) {
    let bucket = Bucket::new(db);
    bucket.upload("ours").bytes(b"abc").await.unwrap();
    file(db, 1, 2.0, 2.0).await;
    file(db, 2, 2.5, 2.0).await;
    file(db, 3, "long", 2.0).await;
    let problems = bucket.verify().await.unwrap();
    let of = |id: i32| {
        let id = Bson::from(id);
        problems
            .iter()
            .find(|problem| problem.id == id)
            .map(|problem| &problem.kind)
    };
    assert_eq!(of(1), Some(&FileProblemKind::MissingChunk { n: 0 }));
    for id in [2, 3] {
        assert!(
            matches!(of(id), Some(FileProblemKind::Unreadable { .. })),
            "{problems:?}"
        );
    }
    assert_eq!(problems.len(), 3);
}
