//! Damaged database files: opening and reading them fails or works, and never panics.

use bson::doc;
use odm::Db;

use super::{Budget, mutate};

/// Opens mutated files; how many.
pub async fn opened(budget: Budget) -> u64 {
    let home = tempfile::tempdir().expect("a directory");
    let url = |path: &std::path::Path| format!("native:{}", path.display());
    let good = home.path().join("good");
    let db = Db::open(&url(&good)).await.expect("the engine opens");
    let things = db.raw_collection("things");
    things
        .create_indexes()
        .index_raw(doc! { "key": { "n": 1 }, "name": "n" })
        .await
        .expect("an index");
    for n in 0..50 {
        things
            .insert(doc! { "_id": n, "n": n % 7, "t": "x".repeat(100) })
            .await
            .expect("a document");
    }
    drop((things, db));
    let files: Vec<_> = std::fs::read_dir(&good)
        .expect("the directory lists")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_owned(), std::fs::read(&path).ok()?))
        })
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    let mut count = 0;
    for input in budget.seeds() {
        let random = &mut input.random();
        let broken = home.path().join("broken");
        std::fs::create_dir_all(&broken).expect("a directory");
        let chosen = random.below(files.len());
        for (at, (name, bytes)) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            if at == chosen {
                // Beginnings hold headers.
                let end = if random.one_in(2) {
                    bytes.len().min(512)
                } else {
                    bytes.len()
                };
                let rest = bytes.split_off(end);
                bytes = mutate::bytes(random, bytes, &rest);
                bytes.extend(rest);
            }
            std::fs::write(broken.join(name), bytes).expect("a file is written");
        }
        if let Ok(db) = Db::open(&url(&broken)).await {
            let things = db.raw_collection("things");
            drop(things.find(doc! { "n": 3 }).await);
            drop(things.insert(doc! { "n": 1 }).await);
            drop(db.check().await);
        }
        std::fs::remove_dir_all(&broken).expect("the directory goes");
        count += 1;
    }
    count
}
