//! Text indexes, of which a collection has one.

use odm::{Db, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_text_index_over_other_fields_is_rebuilt,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "posts", index(keys(text(title), text(body))))]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    body: String,
    #[odm(unique)]
    slug: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "posts")]
struct OldPost {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(text))]
    title: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(
    collection = "posts",
    index(keys(text(title), text(body)), language = "german")
)]
struct GermanPost {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    body: String,
}

async fn a_text_index_over_other_fields_is_rebuilt(db: &Db) {
    db.collection::<OldPost>().sync_indexes().await.unwrap();
    let posts = db.collection::<Post>();
    let drift = posts.index_drift().await.unwrap();
    let counts = (drift.missing.len(), drift.changed.len(), drift.unknown.len());
    assert_eq!(counts, (1, 1, 0), "{drift}");
    assert_eq!(drift.changed[0].differences, ["key"]);
    // The others are built all the same.
    let synced = posts.sync_indexes().await.unwrap();
    assert_eq!(
        (synced.created.len(), synced.left.changed.len()),
        (1, 1),
        "{synced:?}"
    );
    let synced = posts.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(
        (synced.rebuilt.len(), synced.left.is_empty()),
        (1, true),
        "{synced:?}"
    );
    assert!(posts.index_drift().await.unwrap().is_empty());
    let drift = db.collection::<GermanPost>().index_drift().await.unwrap();
    assert_eq!(drift.changed[0].differences, ["default_language"]);
}
