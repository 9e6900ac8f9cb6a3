//! The specification's cases of GridFS, and files exchanged with another driver.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use odm::Db;
use odm_patterns::gridfs::{Bucket, GridFsError};
use odm_tests::{data, spec};

crate::on_every_backend! {
    the_cases_of_the_specification_pass,
    files_are_exchanged_with_pymongo,
}

const FILES: [&str; 8] = [
    "delete",
    "deleteByName",
    "download",
    "downloadByName",
    "rename",
    "renameByName",
    "upload",
    "upload-disableMD5",
];

async fn the_cases_of_the_specification_pass(db: &Db) {
    let Some(folder) = data::path("gridfs") else {
        return;
    };
    let mut count = 0;
    for name in FILES {
        let file = spec::file(&folder, name, str::to_owned);
        for case in spec::documents(&file, "tests") {
            for part in spec::documents(&file, "initialData") {
                let collection = db.raw_collection(part.get_str("collectionName").unwrap());
                collection.drop().await.unwrap();
                collection
                    .insert_many(spec::documents(&part, "documents"))
                    .await
                    .unwrap();
            }
            if let Err(reason) = run(db, &case).await {
                panic!("{name}: {}: {reason}", case.get_str("description").unwrap());
            }
            count += 1;
        }
    }
    assert_eq!(count, 39);
}

async fn run(db: &Db, case: &Document) -> Result<(), String> {
    let mut entities = Document::new();
    for step in spec::documents(case, "operations") {
        let name = step.get_str("name").unwrap();
        let found = operate(db, &step).await;
        let found = match (found, step.get_document("expectError")) {
            (Err(_), Ok(_)) => continue,
            (Ok(found), Err(_)) => found,
            (Err(error), Err(_)) => return Err(format!("{name}: {error}")),
            (Ok(found), Ok(_)) => return Err(format!("{name}: an error is expected, not {found}")),
        };
        if let Some(expected) = step.get("expectResult") {
            matches(expected, Some(&found), &entities).map_err(|reason| format!("{name}: {reason}"))?;
        }
        if let Ok(entity) = step.get_str("saveResultAsEntity") {
            entities.insert(entity, found);
        }
    }
    for part in spec::documents(case, "outcome") {
        let collection = db.raw_collection(part.get_str("collectionName").unwrap());
        let found = collection.find_all().sort_raw(doc! { "_id": 1 }).await.unwrap();
        let found = Bson::Array(found.into_iter().map(Bson::Document).collect());
        spec::matches(&part["documents"], Some(&found), false)?;
    }
    Ok(())
}

/// As in `spec`, with what only these cases use.
fn matches(expected: &Bson, found: Option<&Bson>, entities: &Document) -> Result<(), String> {
    let special = |document: &Document, name: &str| document.get(name).cloned();
    if let Bson::Document(document) = expected {
        if let Some(hex) = special(document, "$$matchesHexBytes") {
            let bytes = Bson::Binary(binary(hex.as_str().unwrap()));
            return if found == Some(&bytes) {
                Ok(())
            } else {
                Err(format!("{expected}: {found:?}"))
            };
        }
        if let Some(entity) = special(document, "$$matchesEntity") {
            let entity = entities.get(entity.as_str().unwrap());
            return if found == entity {
                Ok(())
            } else {
                Err(format!("{expected}: {found:?}"))
            };
        }
        if special(document, "$$type") == Some(Bson::from("objectId")) {
            return match found {
                Some(Bson::ObjectId(_)) => Ok(()),
                _ => Err(format!("{expected}: {found:?}")),
            };
        }
        if document.keys().next().is_some_and(|key| key.starts_with("$$")) {
            return spec::matches(expected, found, false);
        }
        let Some(Bson::Document(found)) = found else {
            return Err(format!("a document is expected, not {found:?}"));
        };
        // Those at the root may have more.
        return document
            .iter()
            .try_for_each(|(name, value)| matches(value, found.get(name), entities));
    }
    match (expected, found) {
        (Bson::Array(expected), Some(Bson::Array(found))) if expected.len() == found.len() => expected
            .iter()
            .zip(found)
            .try_for_each(|(expected, found)| matches(expected, Some(found), entities)),
        (expected, found) => spec::matches(expected, found, false),
    }
}

async fn operate(db: &Db, step: &Document) -> Result<Bson, GridFsError> {
    let nothing = Document::new();
    let arguments = step.get_document("arguments").unwrap_or(&nothing);
    let id = || arguments.get("id").cloned().unwrap_or(Bson::Null);
    let filename = || arguments.get_str("filename").unwrap_or_default();
    let bucket = Bucket::new(db);
    let collection = match step.get_str("object").unwrap() {
        "bucket0_files_collection" => db.raw_collection("fs.files"),
        _ => db.raw_collection("fs.chunks"),
    };
    let filter = || arguments.get_document("filter").cloned().unwrap_or_default();
    let read = |bytes: Vec<u8>| {
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        })
    };
    let answer = match step.get_str("name").unwrap() {
        "delete" => bucket.delete(id()).await.map(|()| Bson::Null)?,
        "deleteByName" => bucket.delete_by_name(filename()).await.map(|_| Bson::Null)?,
        "download" => read(bucket.download(id()).bytes().await?),
        "downloadByName" => {
            let mut download = bucket.download_by_name(filename());
            if let Ok(revision) = arguments.get_i32("revision") {
                download = download.revision(revision);
            }
            read(download.bytes().await?)
        }
        "rename" => {
            let name = arguments.get_str("newFilename").unwrap();
            bucket.rename(id(), name).await.map(|()| Bson::Null)?
        }
        "renameByName" => {
            let name = arguments.get_str("newFilename").unwrap();
            bucket
                .rename_by_name(filename(), name)
                .await
                .map(|_| Bson::Null)?
        }
        "upload" => {
            let source = arguments.get_document("source").unwrap();
            let size = arguments.get_i32("chunkSizeBytes").unwrap();
            let mut upload = bucket.upload(filename()).chunk_size(size as u32);
            if arguments.get_bool("disableMD5").unwrap_or(false) {
                upload = upload.without_checksum();
            }
            if let Ok(metadata) = arguments.get_document("metadata") {
                upload = upload.metadata(metadata.clone());
            }
            upload
                .bytes(&binary(source.get_str("$$hexBytes").unwrap()).bytes)
                .await?
                .id
        }
        "find" => {
            let sort = arguments.get_document("sort").cloned().unwrap_or_default();
            let found = collection.find(filter()).sort_raw(sort).await?;
            Bson::Array(found.into_iter().map(Bson::Document).collect())
        }
        "deleteOne" => {
            let deleted = collection.delete_one(filter()).await?.deleted;
            Bson::Document(doc! { "deletedCount": deleted as i64 })
        }
        "updateOne" => {
            let change = arguments.get_document("update").unwrap().clone();
            let done = collection.update_one(filter(), change).await?;
            Bson::Document(
                doc! { "matchedCount": done.matched as i64, "modifiedCount": done.modified as i64 },
            )
        }
        "bulkWrite" => {
            let (mut matched, mut modified) = (0, 0);
            for request in spec::documents(arguments, "requests") {
                let update = request.get_document("updateOne").unwrap();
                let filter = update.get_document("filter").unwrap().clone();
                let change = update.get_document("update").unwrap().clone();
                let done = collection.update_one(filter, change).await?;
                matched += done.matched as i64;
                modified += done.modified as i64;
            }
            Bson::Document(doc! { "matchedCount": matched, "modifiedCount": modified })
        }
        other => panic!("{other} is not known"),
    };
    Ok(answer)
}

fn binary(hex: &str) -> Binary {
    let digits: Vec<u8> = hex.bytes().collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: digits.chunks(2).map(byte).collect(),
    }
}

/// What the other driver does: reads ours, checks the sum, and stores one of its own.
const PYTHON: &str = r#"
import hashlib, sys
import gridfs, pymongo
client = pymongo.MongoClient(sys.argv[1])
bucket = gridfs.GridFSBucket(client[sys.argv[2]], bucket_name="shared")
for found in bucket.find({}):
    content = bucket.open_download_stream(found._id).read()
    assert len(content) == found.length, found.length
    assert hashlib.sha256(content).hexdigest() == found.sha256
    assert found.metadata == {"by": "odm"}
assert bucket.open_download_stream_by_name("ours", revision=0).read() == b""
bucket.upload_from_stream("theirs", bytes(range(256)) * 5000, metadata={"by": "pymongo"})
bucket.upload_from_stream("theirs, empty", b"")
bucket.upload_from_stream_with_id("an id", "theirs, by an id", b"0123456789", chunk_size_bytes=4)
"#;

async fn files_are_exchanged_with_pymongo(db: &Db) {
    if db.backend_name() != "mongodb" {
        return;
    }
    let python = |arguments: &[&str]| std::process::Command::new("python3").args(arguments).output();
    if !python(&["-c", "import gridfs"]).is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("ODM_TEST_REQUIRE_PYMONGO").is_none(),
            "ODM_TEST_REQUIRE_PYMONGO is set, but python3 has no pymongo"
        );
        eprintln!("skipped: python3 with pymongo is needed to exchange files with it");
        return;
    }
    let bucket = Bucket::with(db, odm_patterns::gridfs::BucketOptions::new().name("shared"));
    for length in [0, 1, 261_120, 261_121, 1_000_000] {
        let upload = bucket.upload("ours").metadata(doc! { "by": "odm" });
        upload.bytes(&vec![length as u8; length]).await.unwrap();
    }
    let uri = odm_tests::harness::mongodb_uri().unwrap();
    let output = python(&["-c", PYTHON, &uri, db.name()]).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let theirs = bucket.download_by_name("theirs");
    let file = theirs.file().await.unwrap();
    assert_eq!(file.metadata, Some(doc! { "by": "pymongo" }));
    let pattern: Vec<u8> = (0..=255).collect();
    assert_eq!(theirs.bytes().await.unwrap(), pattern.repeat(5000));
    let range = bucket.download_by_name("theirs").range(261_119..261_122);
    assert_eq!(range.bytes().await.unwrap(), [255, 0, 1]);
    assert_eq!(
        bucket.download_by_name("theirs, empty").bytes().await.unwrap(),
        b""
    );
    assert_eq!(bucket.download("an id").bytes().await.unwrap(), b"0123456789");
    assert_eq!(bucket.verify().contents().await.unwrap(), []);
}
