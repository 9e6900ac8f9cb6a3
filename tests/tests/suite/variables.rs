//! Variables that operations give to their expressions.

use odm::bson::{Document, doc};
use odm::{Db, Filter, Model, Update};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_operation_gives_its_variables_to_its_expressions,
    strings_of_variables_compare_as_the_operation_says,
    variables_that_cannot_be_computed_are_refused,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[serde(default)]
    count: i32,
}

/// Notes whose `_id` is above the variable.
fn above() -> Filter<Note> {
    Filter::raw(doc! { "$expr": { "$gt": ["$_id", "$$least"] } })
}

fn least(id: i32) -> Document {
    doc! { "least": { "$add": [id, 0] } }
}

async fn notes(db: &Db) {
    let all = (1..=5).map(|id| Note {
        id,
        text: format!("note {id}"),
        count: 0,
    });
    db.collection::<Note>().insert_many(all).await.unwrap();
}

async fn every_operation_gives_its_variables_to_its_expressions(db: &Db) {
    notes(db).await;
    let notes = db.collection::<Note>();
    let found = notes.find(|_| above()).variables(least(3)).await.unwrap();
    assert_eq!(found.iter().map(|note| note.id).collect::<Vec<_>>(), [4, 5]);
    let first = notes.find_one(|_| above()).variables(least(4)).await.unwrap();
    assert_eq!(first.unwrap().id, 5);
    assert_eq!(notes.count(|_| above()).variables(least(1)).await.unwrap(), 4);
    assert!(!notes.exists(|_| above()).variables(least(5)).await.unwrap());
    let stages = || Update::pipeline([doc! { "$set": { "count": { "$add": ["$count", "$$least"] } } }]);
    let updated = notes
        .update_many(|_| above(), |_| stages())
        .variables(least(3))
        .await
        .unwrap();
    assert_eq!((updated.matched, updated.modified), (2, 2));
    let changed = notes
        .find_one_and_update(
            |n| n.id.eq(1) & Filter::raw(doc! { "$expr": { "$lt": ["$_id", "$$least"] } }),
            |_| stages(),
        )
        .return_new()
        .variables(least(2))
        .await
        .unwrap();
    assert_eq!(changed.unwrap().count, 2);
    notes
        .bulk_write()
        .update_many(|_| above(), |n| n.count.inc(10))
        .delete_one(|_| above())
        .variables(least(4))
        .await
        .unwrap();
    assert_eq!(
        notes
            .delete_many(|_| above())
            .variables(least(3))
            .await
            .unwrap()
            .deleted,
        1
    );
    let left = notes.find_all().sort(|n| n.id.asc()).await.unwrap();
    let left: Vec<_> = left.iter().map(|note| (note.id, note.count)).collect();
    assert_eq!(left, [(1, 2), (2, 0), (3, 0)]);
    let explained = notes.find(|_| above()).variables(least(3)).explain().await;
    assert!(explained.is_ok(), "{explained:?}");
}

async fn strings_of_variables_compare_as_the_operation_says(db: &Db) {
    notes(db).await;
    let notes = db.collection::<Note>();
    let named = || Filter::<Note>::raw(doc! { "$expr": { "$eq": ["$text", "$$text"] } });
    let variables = || doc! { "text": "NOTE 2" };
    assert_eq!(notes.count(|_| named()).variables(variables()).await.unwrap(), 0);
    let loosely = doc! { "locale": "en", "strength": 2 };
    let found = notes
        .find(|_| named())
        .variables(variables())
        .collation(loosely.clone())
        .await
        .unwrap();
    assert_eq!(found[0].id, 2);
    let deleted = notes
        .delete_one(|_| named())
        .variables(variables())
        .collation(loosely)
        .await
        .unwrap();
    assert_eq!(deleted.deleted, 1);
}

async fn variables_that_cannot_be_computed_are_refused(db: &Db) {
    notes(db).await;
    let notes = db.collection::<Note>();
    let reads = doc! { "least": "$count" };
    let fails = doc! { "least": { "$divide": [1, 0] } };
    for (variables, code) in [(reads, 4_890_500), (fails, 2)] {
        let found = notes.find(|_| above()).variables(variables.clone()).await;
        assert_eq!(found.unwrap_err().code(), Some(code), "{variables}");
        let written = notes
            .update_one(|_| above(), |n| n.count.inc(1))
            .variables(variables.clone())
            .await;
        assert_eq!(written.unwrap_err().code(), Some(code), "{variables}");
        let deleted = notes.delete_many(|_| above()).variables(variables.clone()).await;
        assert_eq!(deleted.unwrap_err().code(), Some(code), "{variables}");
    }
    // One that nobody gives.
    let unknown = notes.find(|_| above()).await.unwrap_err();
    assert_eq!(unknown.code(), Some(17_276));
}
