//! Arrays that must have so many elements: no write takes more out.

use std::collections::BTreeSet;

use odm::{Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

use super::lifecycle_models::Bin;

crate::on_every_backend! {
    a_pop_leaves_the_least_in_one_round_trip,
    a_pull_of_values_leaves_the_least,
    a_slice_below_the_least_is_refused,
    many_and_batches_pass_over_those_that_would_have_too_few,
    an_upsert_inserts_nothing_beside_one_that_has_the_least,
    a_tracked_document_keeps_the_least,
    an_array_is_not_begun_with_too_few,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "teams")]
struct Team {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(save = add_to_set, validate(non_empty))]
    owners: BTreeSet<String>,
    #[odm(save = push, validate(length(min = 2, max = 4)))]
    log: Vec<i32>,
    inner: Inner,
    #[odm(validate(non_empty))]
    places: Vec<Inner>,
    #[odm(validate(length(min = 2)))]
    later: Option<Vec<i32>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Inner {
    #[odm(validate(non_empty))]
    names: Vec<String>,
}

impl Team {
    fn new(id: i32) -> Team {
        let inner = || Inner {
            names: vec!["x".to_owned(), "y".to_owned()],
        };
        Team {
            id,
            name: "a".to_owned(),
            owners: ["ann", "bob"].map(str::to_owned).into(),
            log: vec![1, 2, 3],
            inner: inner(),
            places: vec![
                inner(),
                Inner {
                    names: vec!["z".to_owned()],
                },
            ],
            later: None,
        }
    }
}

#[track_caller]
fn too_few(error: &Error, path: &str) {
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    let violations = error.violations().iter();
    let found: Vec<_> = violations
        .map(|violation| (violation.path.as_str(), violation.rule))
        .collect();
    assert_eq!(found, [(path, "length")], "{error}");
    assert!(!error.is_bound_reached());
}

async fn team(db: &Db) -> Team {
    db.collection::<Team>().get(1).required().await.unwrap()
}

async fn a_pop_leaves_the_least_in_one_round_trip(db: &Db) {
    let (logged, log) = db.logged();
    let teams = logged.collection::<Team>();
    teams.insert(Team::new(1)).await.unwrap();
    log.take();
    teams
        .update_one(|t| t.id.eq(1), |t| t.log.pop_last())
        .await
        .unwrap();
    assert_eq!(log.take().len(), 1);
    let error = teams
        .update_one(|t| t.id.eq(1), |t| t.log.pop_first())
        .await
        .unwrap_err();
    too_few(&error, "log");
    assert_eq!(error.id(), Some(&bson::Bson::Int32(1)));
    assert_eq!(log.take().len(), 2);
    // Nobody there is no error, and neither is an array that is not there.
    let nobody = teams.update_one(|t| t.id.eq(9), |t| t.log.pop_first());
    assert_eq!(nobody.await.unwrap().matched, 0);
    teams
        .raw()
        .update_one(bson::doc! {}, bson::doc! {"$unset": {"later": ""}})
        .await
        .unwrap();
    teams
        .update_one(|t| t.id.eq(1), |t| t.later.pop_first())
        .await
        .unwrap();
    // Nested.
    teams
        .update_one(|t| t.id.eq(1), |t| t.inner.names.pop_first())
        .await
        .unwrap();
    let error = teams
        .update_one(|t| t.id.eq(1), |t| t.inner.names.pop_first())
        .await
        .unwrap_err();
    too_few(&error, "inner.names");
    teams
        .update_one(|t| t.id.eq(1), |t| t.places.at(0).names.pop_last())
        .await
        .unwrap();
    let error = teams
        .update_one(|t| t.id.eq(1), |t| t.places.at(1).names.pop_last())
        .await
        .unwrap_err();
    too_few(&error, "places.1.names");
    let found = teams.find_one_and_update(|t| t.id.eq(1), |t| t.log.pop_last());
    too_few(&found.await.unwrap_err(), "log");
    let left = team(db).await;
    assert_eq!((left.log, left.inner.names), (vec![1, 2], vec!["y".to_owned()]));
    let names: Vec<_> = left.places.iter().map(|place| place.names.len()).collect();
    assert_eq!(names, [1, 1]);
}

async fn a_pull_of_values_leaves_the_least(db: &Db) {
    let teams = db.collection::<Team>();
    teams.insert(Team::new(1)).await.unwrap();
    let pull = |owners: &[&str]| {
        let owners: Vec<String> = owners.iter().map(|owner| (*owner).to_owned()).collect();
        teams.update_one(|t| t.id.eq(1), move |t| t.owners.pull_all(owners))
    };
    too_few(&pull(&["bob", "ann", "eve"]).await.unwrap_err(), "owners");
    assert_eq!(pull(&["eve"]).await.unwrap().modified, 0);
    assert_eq!(pull(&["bob", "eve"]).await.unwrap().modified, 1);
    too_few(&pull(&["ann"]).await.unwrap_err(), "owners");
    let one = teams.update_one(|t| t.id.eq(1), |t| t.owners.pull("ann"));
    too_few(&one.await.unwrap_err(), "owners");
    let raw = bson::doc! {"$pull": {"owners": "ann"}};
    let one = teams.update_one(|t| t.id.eq(1), |_| odm::Update::raw(raw));
    too_few(&one.await.unwrap_err(), "owners");
    assert_eq!(team(db).await.owners, BTreeSet::from(["ann".to_owned()]));
    // All that are equal go.
    teams
        .update_one(|t| t.id.eq(1), |t| t.log.set(vec![1, 1, 2]))
        .await
        .unwrap();
    let one = teams.update_one(|t| t.id.eq(1), |t| t.log.pull(1));
    too_few(&one.await.unwrap_err(), "log");
    teams.update_one(|t| t.id.eq(1), |t| t.log.pull(2)).await.unwrap();
    assert_eq!(team(db).await.log, [1, 1]);
    // Documents.
    let places = team(db).await.places;
    let all = teams.update_one(|t| t.id.eq(1), |t| t.places.pull_all(places.clone()));
    too_few(&all.await.unwrap_err(), "places");
    teams
        .update_one(|t| t.id.eq(1), |t| t.places.pull(places[0].clone()))
        .await
        .unwrap();
    assert_eq!(team(db).await.places, places[1..]);
    // An array that has too few already can be left as it is.
    teams
        .raw()
        .update_one(bson::doc! {}, bson::doc! {"$set": {"log": [1]}})
        .await
        .unwrap();
    teams.update_one(|t| t.id.eq(1), |t| t.log.pull(9)).await.unwrap();
    let one = teams.update_one(|t| t.id.eq(1), |t| t.log.pull(1));
    too_few(&one.await.unwrap_err(), "log");
}

async fn a_slice_below_the_least_is_refused(db: &Db) {
    let (db, log) = db.logged();
    let teams = db.collection::<Team>();
    teams.insert(Team::new(1)).await.unwrap();
    log.take();
    for slice in [0, 1, -1] {
        let push = teams.update_one(
            |t| t.id.eq(1),
            move |t| t.log.push_each_with([7], |p| p.slice(slice)),
        );
        too_few(&push.await.unwrap_err(), "log");
    }
    assert_eq!(log.take().len(), 0);
    let push = teams.update_one(|t| t.id.eq(1), |t| t.log.push_each_with([7], |p| p.slice(-2)));
    push.await.unwrap();
    assert_eq!(team(&db).await.log, [3, 7]);
}

async fn many_and_batches_pass_over_those_that_would_have_too_few(db: &Db) {
    let teams = db.collection::<Team>();
    teams
        .insert_many([
            Team::new(1),
            Team {
                log: vec![1, 2],
                ..Team::new(2)
            },
        ])
        .await
        .unwrap();
    let many = teams
        .update_many(|t| t.id.gt(0), |t| t.log.pop_first())
        .await
        .unwrap();
    assert_eq!((many.matched, many.modified), (1, 1));
    let bulk = teams
        .bulk_write()
        .update_one(|t| t.id.eq(1), |t| t.log.pull(2))
        .update_one(|t| t.id.eq(2), |t| t.owners.pull("ann"));
    assert_eq!(bulk.await.unwrap().modified, 1);
    for id in [1, 2] {
        assert_eq!(teams.get(id).required().await.unwrap().log.len(), 2);
    }
}

async fn an_upsert_inserts_nothing_beside_one_that_has_the_least(db: &Db) {
    let teams = db.collection::<Team>();
    teams
        .insert(Team {
            log: vec![1, 2],
            ..Team::new(1)
        })
        .await
        .unwrap();
    let upsert = teams.upsert(|t| t.name.eq("a"), |t| t.log.pop_first() & t.id.set_on_insert(9));
    too_few(&upsert.await.unwrap_err(), "log");
    let upsert = teams.upsert(|t| t.id.eq(1), |t| t.log.pull(1));
    too_few(&upsert.await.unwrap_err(), "log");
    let bulk = teams.bulk_write().upsert(|t| t.id.eq(1), |t| t.log.pull(1));
    too_few(&bulk.await.unwrap_err(), "log");
    let bulk = teams
        .bulk_write()
        .upsert(|t| t.id.eq(1), |t| t.log.pull(1))
        .insert(Team::new(5));
    assert_eq!(bulk.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(teams.count(|_| odm::Filter::all()).await.unwrap(), 1);
    // It changes what has enough, and inserts where there is none.
    let upsert = teams.upsert(|t| t.id.eq(1), |t| t.owners.pull("ann"));
    assert_eq!(upsert.await.unwrap().modified, 1);
    let upsert = teams.upsert(|t| t.id.eq(2), |t| t.log.pull(1) & t.name.set("b"));
    assert_eq!(upsert.await.unwrap().upserted_id, Some(2));
    let bins = db.collection::<Bin>();
    for items in [vec![1, 2], vec![2, 3]] {
        let upsert = bins.upsert(|b| b.id.eq(1), |b| b.items.add_each_to_set(items));
        upsert.await.unwrap();
    }
    let upsert = bins.upsert(|b| b.id.eq(1), |b| b.items.add_each_to_set([3, 4]));
    assert!(upsert.await.unwrap_err().is_bound_reached());
    let raw = bins.raw().find_one(bson::doc! {}).await.unwrap().unwrap();
    assert_eq!(raw, bson::doc! {"_id": 1, "items": [1, 2, 3]});
}

async fn a_tracked_document_keeps_the_least(db: &Db) {
    let (logged, log) = db.logged();
    let teams = logged.collection::<Team>();
    teams.insert(Team::new(1)).await.unwrap();
    let mut team = teams.get(1).tracked().required().await.unwrap();
    log.take();
    team.owners.clear();
    too_few(&team.save(&teams).await.unwrap_err(), "owners");
    team.owners = ["ann", "bob"].map(str::to_owned).into();
    team.log.truncate(1);
    too_few(&team.save(&teams).await.unwrap_err(), "log");
    // Before any round trip.
    assert_eq!(log.take().len(), 0);
    team.log = vec![1, 2];
    assert!(team.save(&teams).await.unwrap());
    // What others took out meanwhile counts.
    team.owners.remove("ann");
    teams
        .update_one(|t| t.id.eq(1), |t| t.owners.pull("bob"))
        .await
        .unwrap();
    too_few(&team.save(&teams).await.unwrap_err(), "owners");
    let stored = super::lifecycle_least::team(db).await;
    assert_eq!(stored.owners, BTreeSet::from(["ann".to_owned()]));
}

async fn an_array_is_not_begun_with_too_few(db: &Db) {
    let teams = db.collection::<Team>();
    teams.insert(Team::new(1)).await.unwrap();
    teams
        .raw()
        .update_one(bson::doc! {}, bson::doc! {"$unset": {"later": ""}})
        .await
        .unwrap();
    for later in [vec![7], vec![7, 7]] {
        let add = teams.update_one(|t| t.id.eq(1), |t| t.later.add_each_to_set(later));
        too_few(&add.await.unwrap_err(), "later");
    }
    let push = teams.update_one(|t| t.id.eq(1), |t| t.later.push(7));
    too_few(&push.await.unwrap_err(), "later");
    let upsert = teams.upsert(|t| t.id.eq(2), |t| t.later.push(7));
    too_few(&upsert.await.unwrap_err(), "later");
    assert!(teams.get(2).await.unwrap().is_none());
    let push = teams.update_one(|t| t.id.eq(1), |t| t.later.push_each([7, 8]));
    push.await.unwrap();
    teams
        .update_one(|t| t.id.eq(1), |t| t.later.push(9))
        .await
        .unwrap();
    assert_eq!(team(db).await.later.unwrap(), [7, 8, 9]);
}
