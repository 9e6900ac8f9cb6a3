//! The migrations of a process that is killed while it migrates: one step of each kind, each with its way back.

use bson::{Document, doc};
use odm::{Db, Filter, Model, Result};
use odm_patterns::migration::{Migrations, Progress, Step, StepError, StepRecord, StepState};
use serde::{Deserialize, Serialize};

/// How many people there are.
pub const PEOPLE: i32 = 40;

/// How many pages the resumable step has.
pub const PAGES: i32 = 10;

/// A document that two steps change. Its version counts how often that was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people")]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(index)]
    pub first: Option<String>,
    pub n: Option<i32>,
    #[odm(version)]
    #[serde(default)]
    pub version: i64,
}

/// The people as they are before the first step.
pub async fn prepare(db: &Db) -> Result<()> {
    let people = (0..PEOPLE).map(|id| doc! { "_id": id, "name": format!("Ann Lee{id}"), "n": 0 });
    let raw = db.collection::<Person>().raw();
    raw.insert_many(people.collect::<Vec<_>>()).await.map(drop)
}

async fn add(db: &Db, id: &str, by: i32) -> Result<(), StepError> {
    let counts = db.raw_collection("counts");
    counts
        .upsert(doc! { "_id": id }, doc! { "$inc": { "n": by } })
        .await?;
    Ok(())
}

async fn set(db: &Db, id: &str, n: i32) -> Result<(), StepError> {
    let counts = db.raw_collection("counts");
    counts
        .upsert(doc! { "_id": id }, doc! { "$set": { "n": n } })
        .await?;
    Ok(())
}

fn split(person: &mut Document) -> Result<(), StepError> {
    let name = person.get_str("name")?.to_owned();
    let (first, last) = name
        .split_once(' ')
        .ok_or_else(|| StepError::new("the name is one word"))?;
    person.insert("first", first);
    person.insert("last", last);
    person.remove("name");
    Ok(())
}

fn join(person: &mut Document) -> Result<(), StepError> {
    let name = format!("{} {}", person.get_str("first")?, person.get_str("last")?);
    person.remove("first");
    person.remove("last");
    person.insert("name", name);
    Ok(())
}

/// Nothing tells which documents were changed before.
fn more(by: i32) -> impl Fn(&mut Document) -> Result<(), StepError> + Send + Sync + 'static {
    move |person| {
        let n = person.get_i32("n")?;
        person.insert("n", n + by);
        Ok(())
    }
}

/// The steps.
pub fn migrations() -> Migrations {
    let plain = Step::new("1_plain", async |db: Db| set(&db, "plain", 1).await)
        .down(async |db: Db| set(&db, "plain", 0).await);
    let atomic = Step::new("2_atomic", async |db: Db| add(&db, "atomic", 1).await)
        .down(async |db: Db| add(&db, "atomic", -1).await)
        .transactional();
    let names = Step::each::<Person>("3_names", |p| p.first.missing(), split)
        .down_each::<Person>(|p| p.first.exists(), join)
        .batch_size(4)
        .concurrency(3);
    let numbers = Step::each::<Person>("4_numbers", |_| Filter::all(), more(1))
        .down_each::<Person>(|_| Filter::all(), more(-1))
        .batch_size(3)
        .transactional();
    let pages = Step::resumable("5_pages", async |progress: Progress| {
        for page in progress.position::<i32>()?.unwrap_or(0)..PAGES {
            add(progress.db(), &format!("page {page}"), 1).await?;
            progress.save(&(page + 1)).await?;
        }
        Ok(())
    })
    .down(async |db: Db| {
        for page in 0..PAGES {
            set(&db, &format!("page {page}"), 0).await?;
        }
        Ok(())
    });
    let indexes = Step::new("6_indexes", async |db: Db| {
        db.collection::<Person>().sync_indexes().await?;
        Ok(())
    })
    .down(async |db: Db| {
        let people = db.collection::<Person>();
        let indexes = people.list_indexes().await?;
        if indexes.iter().any(|index| index.name == "first_1") {
            people.drop_index("first_1").await?;
        }
        Ok(())
    });
    let steps = [plain, atomic, names, numbers, pages, indexes];
    steps.into_iter().fold(Migrations::new(), Migrations::step)
}

async fn count(db: &Db, id: &str) -> Result<i32> {
    let count = db.raw_collection("counts").get(id).await?;
    Ok(count.map_or(0, |count| count.get_i32("n").unwrap_or(-1)))
}

/// What cannot be, whenever the process was killed, while the steps go up or down: what is recorded of a transaction is what
/// it did.
pub async fn look(db: &Db, is_up: bool) -> Result<()> {
    assert!(db.check().await?.is_clean());
    let records = db.collection::<StepRecord>();
    let state = async |id: &str| records.get(id).await;
    let atomic = state("2_atomic").await?.map(|record| record.state);
    let is_done = matches!(atomic, Some(StepState::Done | StepState::Reverting));
    assert_eq!(count(db, "atomic").await?, i32::from(is_done), "{atomic:?}");
    let people = db.collection::<Person>().find_all().await?;
    assert_eq!(people.len(), PEOPLE as usize);
    let numbers = state("4_numbers").await?;
    let n = match numbers.as_ref().map(|record| record.state) {
        Some(StepState::Reverting | StepState::Reverted) => 0,
        _ => 1,
    };
    let changed = people.iter().filter(|person| person.n == Some(n)).count() as i64;
    let recorded = numbers.as_ref().map_or(0, |record| record.changed);
    assert_eq!(changed, recorded, "{numbers:?}");
    for person in people.iter().filter(|_| is_up) {
        let changes = i64::from(person.first.is_some()) + i64::from(person.n.unwrap_or(-1));
        assert_eq!(person.version, changes, "{person:?}");
    }
    Ok(())
}

/// What all steps together left, once they are done or reverted.
pub async fn check(db: &Db, is_up: bool) -> Result<()> {
    look(db, is_up).await?;
    let done = i32::from(is_up);
    let state = match is_up {
        true => StepState::Done,
        false => StepState::Reverted,
    };
    let records = db
        .collection::<StepRecord>()
        .find_all()
        .sort(|r| r.id.asc())
        .await?;
    assert_eq!(records.len(), 6);
    for record in &records {
        assert_eq!((record.state, &record.position), (state, &None), "{record:?}");
    }
    for id in ["plain", "atomic"] {
        assert_eq!(count(db, id).await?, done, "{id}");
    }
    let raw = db.collection::<Person>().raw();
    for person in raw.find(doc! {}).await? {
        assert_eq!(person.get_str("first").is_ok(), is_up, "{person}");
        assert_eq!(person.get_str("name").is_ok(), !is_up, "{person}");
        assert_eq!(person.get_i32("n").ok(), Some(done), "{person}");
        // Nothing was changed twice.
        let changes = if is_up { 2 } else { 4 };
        assert_eq!(person.get_i32("version").ok(), Some(changes), "{person}");
    }
    let mut pages = 0;
    for page in 0..PAGES {
        let times = count(db, &format!("page {page}")).await?;
        assert!(times >= done, "page {page}");
        pages += times;
    }
    // Each attempt does at most one page again: the one whose end was not saved.
    let attempts = records.get(4).map_or(0, |record| record.attempts);
    let most = if is_up { i64::from(PAGES) + attempts - 1 } else { 0 };
    assert!(i64::from(pages) <= most, "{pages} pages in {attempts} attempts");
    let indexes = db.collection::<Person>().list_indexes().await?;
    assert_eq!(indexes.iter().any(|index| index.name == "first_1"), is_up);
    Ok(())
}
