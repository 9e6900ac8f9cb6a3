//! **Problem.** A person has tasks, a task has an owner. A person's page lists the tasks; a task's page names the owner;
//! tasks change hands.
//!
//! **Stored shape.** `people: {_id, name, tasks: [2, 7]}`, `tasks: {_id, text, owner: 1}`
//!
//! **Why.** Both sides are asked for often and both are small, so that each holds the other's `_id`, and neither needs an
//! index to find the other. The price is that a change of hands writes three documents: `link`, `reassign` and `unlink` do
//! it as one, and `verify_relations` finds what went around them.

use odm::{Db, Model, Ref, RelationProblemKind, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "people", referred_by(Task))]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(two_way = owner)]
    tasks: Vec<Ref<Task>>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "tasks", referred_by(Person))]
struct Task {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(two_way = tasks, on_delete = nullify)]
    owner: Option<Ref<Person>>,
}

pub async fn story(db: &Db) -> Result<String> {
    let (people, tasks) = (db.collection::<Person>(), db.collection::<Task>());
    tasks.delete_many(|_| odm::Filter::all()).await?;
    people.delete_many(|_| odm::Filter::all()).await?;
    let person = |id, name: &str| Person {
        id,
        name: name.to_owned(),
        tasks: Vec::new(),
    };
    people.insert_many([person(1, "Kate"), person(2, "Sam")]).await?;
    let task = |id: i32| Task {
        id,
        text: format!("chapter {id}"),
        owner: None,
    };
    tasks.insert_many((1..=3).map(task)).await?;

    for id in 1..=3 {
        people.link(1, |p| p.tasks, id).await?;
    }
    tasks.reassign(2, |t| t.owner, 2).await?;
    let listed = people.find_all().sort(|p| p.id.asc()).load(|p| p.tasks).await?;
    let listed: Vec<(String, Vec<String>)> = listed
        .into_iter()
        .map(|(person, tasks)| {
            (
                person.name,
                tasks.into_iter().flatten().map(|task| task.text).collect(),
            )
        })
        .collect();
    assert_eq!(listed[0].1, ["chapter 1", "chapter 3"]);
    assert_eq!(listed[1].1, ["chapter 2"]);

    // When a person goes, the tasks stay, and are nobody's.
    people.delete(2).await?;
    assert_eq!(tasks.get(2).required().await?.owner, None);

    // A write of one side alone is found, and put right.
    let kate: Ref<Person> = Ref::new(1);
    tasks
        .update_one(|t| t.id.eq(2), |t| t.owner.set(Some(kate)))
        .await?;
    let problems = db.verify_relations::<Task>().await?;
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind, RelationProblemKind::OneSided);
    db.verify_relations::<Task>().repair().await?;
    let kate = people.get(1).required().await?;
    assert!(kate.tasks.contains(&Ref::new(2)));
    Ok(format!("{} has {} tasks", kate.name, kate.tasks.len()))
}
