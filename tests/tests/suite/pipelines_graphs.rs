//! Typed pipelines that follow references: `$graphLookup`.

use odm::bson::DateTime;
use odm::{Collection, Db, Embedded, Error, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    references_are_followed,
    depths_are_bounded_and_told,
    filters_and_deletions_end_the_way,
    what_cannot_be_followed_is_a_typed_error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    boss: Option<i32>,
    friends: Vec<i32>,
    name: String,
    #[odm(soft_delete)]
    left: Option<DateTime>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct WithOthers {
    #[serde(rename = "_id")]
    id: i32,
    others: Vec<Person>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct WithReached {
    #[serde(rename = "_id")]
    id: i32,
    reached: Vec<Reached>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Reached {
    name: String,
    depth: i64,
}

async fn people(db: &Db) -> Collection<Person> {
    let people = db.collection::<Person>();
    let person = |id: i32| Person {
        id,
        boss: (id > 1).then_some(id / 2),
        friends: vec![id % 7 + 1],
        name: format!("person {id}"),
        left: None,
    };
    people.insert_many((1..=7).map(person)).await.unwrap();
    people
}

async fn ids(found: odm::Pipeline<WithOthers, odm::action::PipelineSource>) -> Vec<i32> {
    let found = found.first().await.unwrap().unwrap();
    let mut ids: Vec<i32> = found.others.iter().map(|other| other.id).collect();
    ids.sort_unstable();
    ids
}

async fn references_are_followed(db: &Db) {
    let people = people(db).await;
    let seven = || people.aggregate().filter(|p| p.id.eq(7));
    let bosses = seven().graph_lookup::<Person, WithOthers, _>(|p, other, out| {
        out.others.follows(&p.boss, &other.boss, &other.id)
    });
    assert_eq!(ids(bosses).await, [1, 3]);
    // The other way, and through arrays, round and round.
    let below = people.aggregate().filter(|p| p.id.eq(3));
    let below = below.graph_lookup::<Person, WithOthers, _>(|p, other, out| {
        out.others.follows(p.id, &other.id, &other.boss)
    });
    assert_eq!(ids(below).await, [6, 7]);
    let friends = seven().graph_lookup::<Person, WithOthers, _>(|p, other, out| {
        out.others.follows(&p.friends, &other.friends, &other.id)
    });
    assert_eq!(ids(friends).await, [1, 2, 3, 4, 5, 6, 7]);
    let computed = seven().graph_lookup::<Person, WithOthers, _>(|p, other, out| {
        out.others
            .follows((p.id.value() - 3).to_i32(), &other.boss, &other.id)
    });
    assert_eq!(ids(computed).await, [1, 2, 4]);
}

async fn depths_are_bounded_and_told(db: &Db) {
    let people = people(db).await;
    let found = people
        .aggregate()
        .filter(|p| p.id.eq(7))
        .graph_lookup::<Person, WithReached, _>(|p, other, out| {
            let follow = out.reached.follows(&p.friends, &other.friends, &other.id);
            follow.max_depth(2).depth(|r| r.depth)
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    let mut reached: Vec<_> = found.reached.into_iter().map(|r| (r.depth, r.name)).collect();
    reached.sort();
    let of = |depth, id| (depth, format!("person {id}"));
    assert_eq!(reached, [of(0, 1), of(1, 2), of(2, 3)]);
}

async fn filters_and_deletions_end_the_way(db: &Db) {
    let people = people(db).await;
    let friends = |except: i32| {
        let seven = people.aggregate().filter(|p| p.id.eq(7));
        seven.graph_lookup::<Person, WithOthers, _>(|p, other, out| {
            let follow = out.others.follows(&p.friends, &other.friends, &other.id);
            follow.filter(|p| p.id.ne(except))
        })
    };
    assert_eq!(ids(friends(4)).await, [1, 2, 3]);
    people.delete(3).await.unwrap();
    assert_eq!(ids(friends(4)).await, [1, 2]);
    assert_eq!(ids(friends(0)).await, [1, 2]);
}

async fn what_cannot_be_followed_is_a_typed_error(db: &Db) {
    let people = people(db).await;
    let wrong = people
        .aggregate()
        .graph_lookup::<Person, WithOthers, _>(|p, other, out| {
            let start = p.name.value().to_uppercase().split("").at(0);
            out.others.follows(start, &other.boss, &other.id)
        });
    let error: Error = wrong.await.unwrap_err();
    assert_eq!(
        (error.code(), error.model()),
        (Some(40087), Some("Person")),
        "{error}"
    );
    let none = db.collection_named::<Person>("none").aggregate();
    let none = none.graph_lookup::<Person, WithOthers, _>(|p, other, out| {
        out.others.follows(&p.boss, &other.boss, &other.id)
    });
    assert_eq!(none.await.unwrap(), []);
}
