//! Change streams of raw events, and the next event of one.

use std::time::Duration;

use bson::Document;
use odm::{ChangeStream, Db};

/// A stream of the raw events of a collection.
pub async fn watch(db: &Db, collection: &str) -> ChangeStream<Document> {
    db.raw_collection(collection)
        .watch()
        .decode::<Document>()
        .await
        .expect("it is watched")
}

/// The next event, which must come soon.
///
/// # Panics
/// Where none comes, or the stream fails or ends.
pub async fn next<T>(changes: &mut ChangeStream<T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), changes.try_next())
        .await
        .expect("an event comes")
        .expect("the stream goes on")
        .expect("the stream has not ended")
}
