//! Opening a backend for one test: a database of its own, dropped at the end.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

pub use odm::Db;

/// The backends that tests run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The embedded engine in memory.
    Memory,
    /// The embedded engine on files.
    Native,
    /// A real MongoDB, where `ODM_TEST_MONGODB_URI` names one.
    MongoDb,
}

/// The URL of the MongoDB to test against.
pub fn mongodb_uri() -> Option<String> {
    match std::env::var("ODM_TEST_MONGODB_URI") {
        Ok(uri) if !uri.is_empty() => Some(uri),
        _ if std::env::var_os("ODM_TEST_REQUIRE_MONGODB").is_some() => {
            panic!("ODM_TEST_REQUIRE_MONGODB is set, but ODM_TEST_MONGODB_URI names no server")
        }
        _ => {
            eprintln!(
                "skipped: set ODM_TEST_MONGODB_URI to the URL of a MongoDB replica set to run this on MongoDB"
            );
            None
        }
    }
}

/// A URL of the server with a database as its path.
pub fn with_database(uri: &str, database: &str) -> String {
    let (base, query) = uri
        .split_once('?')
        .map_or((uri, None), |(base, query)| (base, Some(query)));
    let scheme_end = base.find("://").map_or(0, |at| at + 3);
    let host = base[scheme_end..].split('/').next().unwrap_or_default();
    let scheme = &base[..scheme_end];
    match query {
        Some(query) => format!("{scheme}{host}/{database}?{query}"),
        None => format!("{scheme}{host}/{database}"),
    }
}

/// A database name that no other test uses.
pub fn fresh_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "odm_test_{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// A database for one test.
#[derive(Debug)]
pub struct Fixture {
    /// The database.
    pub db: Db,
    directory: Option<tempfile::TempDir>,
}

impl Fixture {
    /// Opens a database on this backend; `None` where there is no server.
    pub async fn open(target: Target) -> Option<Fixture> {
        let (url, directory) = match target {
            Target::Memory => ("memory:".to_owned(), None),
            Target::Native => {
                let directory = tempfile::tempdir().expect("a temporary directory");
                (
                    format!("native:{}", directory.path().join("db").display()),
                    Some(directory),
                )
            }
            Target::MongoDb => (with_database(&mongodb_uri()?, &fresh_name()), None),
        };
        let db = Db::open(&url).await.expect("the database opens");
        Some(Fixture { db, directory })
    }

    /// Drops the database and its files.
    pub async fn close(self) {
        self.db.drop().await.expect("the database is dropped");
        drop(self.db);
        drop(self.directory);
    }
}

/// One case under way.
pub type Case<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs one case on one backend.
pub fn run<'a, F, Fut>(target: Target, case: F)
where
    F: FnOnce(Db) -> Fut + 'a,
    Fut: Future<Output = ()> + 'a,
{
    run_boxed(target, Box::new(move |db| Box::pin(case(db))));
}

/// The same for a case that borrows nothing. Thousands of them make no thousand types of runtimes, which would take
/// minutes to compile.
pub fn run_case(target: Target, case: fn(Db) -> Case<'static>) {
    run_boxed(target, Box::new(case));
}

fn run_boxed<'a>(target: Target, case: Box<dyn FnOnce(Db) -> Case<'a> + 'a>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let Some(fixture) = Fixture::open(target).await else {
            return;
        };
        case(fixture.db.clone()).await;
        fixture.close().await;
    });
}
