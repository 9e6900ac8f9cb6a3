//! What the benches share: a runtime, settings, a server, places for files.

use std::path::PathBuf;
use std::time::Duration;

use odm::{Db, Durability};
use tempfile::TempDir;

use super::server::Server;
use super::settings::Settings;

/// MongoDB's class of acknowledged writes that wait for no journal.
pub const RELAXED: Durability = Durability::Interval(Duration::from_millis(100));

/// Runs a bench on a runtime with so many threads; beside the server that `ODM_TEST_MONGODB_URI` names, in a database of
/// its own, which is dropped in the end.
pub fn bench(threads: usize, rows: impl AsyncFnOnce(&Settings, Option<&Server>)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let server = Server::connect().await;
        rows(&Settings::of_process(), server.as_ref()).await;
        if let Some(server) = server {
            server.drop().await;
        }
    });
}

/// A directory that is measured in: below the one that `ODM_BENCH_DIRECTORY` names, or this one.
pub fn directory(usual: &str) -> TempDir {
    let place = std::env::var_os("ODM_BENCH_DIRECTORY").map_or_else(|| usual.into(), PathBuf::from);
    tempfile::tempdir_in(place).expect("a directory")
}

/// The database with files in a directory.
pub async fn open(directory: &TempDir, durability: Durability) -> Db {
    let url = format!("native:{}", directory.path().join("db").display());
    let db = Db::options().durability(durability).open(&url).await;
    db.expect("the database opens")
}
