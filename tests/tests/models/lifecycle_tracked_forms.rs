//! Tracked documents whose elements are stored otherwise than the model stores them: in an older shape, with fields that
//! it does not know, in another order.

use std::collections::{BTreeSet, HashMap, HashSet};

use bson::{Bson, Document, doc};
use odm::{Collection, Db, Embedded, ErrorKind, Model, Tracked};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_element_of_any_form_is_taken_out,
    what_others_add_and_reshape_meanwhile_is_kept,
    a_set_that_lost_and_gained_keeps_the_rest_as_it_is_stored,
    sets_of_sets_lose_what_was_taken_out,
    a_migrated_document_loses_what_was_taken_out,
    lists_of_maps_conflict_with_nobody,
    lists_of_maps_keep_what_others_push,
    a_default_with_a_map_is_no_conflict,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Embedded)]
struct Tag {
    name: String,
    color: Option<String>,
}

impl Tag {
    fn new(name: &str) -> Tag {
        Tag {
            name: name.to_owned(),
            color: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "teams")]
struct Team {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = add_to_set)]
    #[serde(default)]
    tags: Vec<Tag>,
    #[odm(save = add_to_set)]
    #[serde(default)]
    sorted: BTreeSet<Tag>,
    #[serde(default)]
    inner: Inner,
    #[serde(default)]
    title: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Inner {
    #[odm(save = add_to_set)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<Tag>,
}

async fn stored<M: Model>(collection: &Collection<M>, document: Document) {
    collection.raw().delete_many(doc! {}).await.unwrap();
    collection.raw().insert(document).await.unwrap();
}

async fn raw<M: Model>(collection: &Collection<M>) -> Document {
    collection.raw().find_one(doc! {}).await.unwrap().unwrap()
}

async fn loaded<M: Model>(collection: &Collection<M>) -> Tracked<M> {
    collection.find_all().first().tracked().required().await.unwrap()
}

fn names(tags: &[Tag]) -> Vec<&str> {
    tags.iter().map(|tag| tag.name.as_str()).collect()
}

/// The first element as another program, or an older one, may have stored it.
fn forms() -> [Document; 5] {
    [
        doc! {"name": "a"},
        doc! {"color": null, "name": "a"},
        doc! {"name": "a", "color": null},
        doc! {"name": "a", "color": null, "unknown": 1},
        doc! {"unknown": {"x": [1]}, "name": "a"},
    ]
}

async fn an_element_of_any_form_is_taken_out(db: &Db) {
    let (db, log) = db.logged();
    let teams = db.collection::<Team>();
    for form in forms() {
        // Behind the other, so that a set has another order than what is stored.
        let tags = vec![doc! {"name": "b", "kept": true}, form.clone()];
        let whole = doc! {"_id": 1, "tags": &tags, "sorted": &tags, "inner": {"tags": &tags}};
        stored(&teams, whole.clone()).await;
        let mut team = loaded(&teams).await;
        let a = Tag::new("a");
        team.tags.retain(|tag| *tag != a);
        team.sorted.remove(&a);
        team.inner.tags.retain(|tag| *tag != a);
        log.take();
        assert!(team.save(&teams).await.unwrap());
        assert_eq!(log.take().len(), 1, "{form}");
        let rest = vec![Bson::from(doc! {"name": "b", "kept": true})];
        let expected = doc! {"_id": 1, "tags": &rest, "sorted": &rest, "inner": {"tags": &rest}};
        assert_eq!(raw(&teams).await, expected);
        assert_eq!((names(&team.tags), team.sorted.len()), (vec!["b"], 1));
        assert!(!team.is_changed().unwrap());
        // All of them.
        stored(&teams, whole).await;
        let mut team = loaded(&teams).await;
        team.tags.clear();
        team.sorted.clear();
        team.inner.tags.clear();
        team.save(&teams).await.unwrap();
        assert_eq!(
            (team.tags.len(), team.sorted.len(), team.inner.tags.len()),
            (0, 0, 0)
        );
    }
    // Of one that is stored in several forms all go.
    stored(&teams, doc! {"_id": 1, "tags": forms().to_vec()}).await;
    let mut team = loaded(&teams).await;
    team.tags.clear();
    team.save(&teams).await.unwrap();
    assert_eq!(raw(&teams).await, doc! {"_id": 1, "tags": []});
}

async fn what_others_add_and_reshape_meanwhile_is_kept(db: &Db) {
    let teams = db.collection::<Team>();
    for (form, other) in forms()
        .into_iter()
        .flat_map(|form| forms().map(|other| (form.clone(), other)))
    {
        stored(&teams, doc! {"_id": 1, "tags": [form, {"name": "b", "kept": 1}]}).await;
        let mut team = loaded(&teams).await;
        // Another program stores the same in its own way, and adds.
        let theirs = doc! {"tags": [{"name": "c", "kept": 2}, other, {"name": "b", "kept": 3}]};
        teams
            .raw()
            .update_one(doc! {}, doc! {"$set": theirs})
            .await
            .unwrap();
        team.tags.remove(0);
        team.save(&teams).await.unwrap();
        let expected = doc! {"_id": 1, "tags": [{"name": "c", "kept": 2}, {"name": "b", "kept": 3}]};
        assert_eq!(raw(&teams).await, expected);
        assert_eq!(names(&team.tags), ["c", "b"]);
    }
    // Two who take out the same, and another.
    stored(
        &teams,
        doc! {"_id": 1, "tags": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
    )
    .await;
    let (mut one, mut two) = (loaded(&teams).await, loaded(&teams).await);
    one.tags.remove(0);
    two.tags.drain(..2);
    one.save(&teams).await.unwrap();
    assert!(two.save(&teams).await.unwrap());
    assert_eq!(raw(&teams).await, doc! {"_id": 1, "tags": [{"name": "c"}]});
    // No array is left to take it out of.
    stored(&teams, doc! {"_id": 1, "tags": [{"name": "a"}]}).await;
    let mut team = loaded(&teams).await;
    teams
        .raw()
        .update_one(doc! {}, doc! {"$unset": {"tags": ""}})
        .await
        .unwrap();
    team.tags.clear();
    team.save(&teams).await.unwrap();
    assert!(team.tags.is_empty());
}

async fn a_set_that_lost_and_gained_keeps_the_rest_as_it_is_stored(db: &Db) {
    let (db, log) = db.logged();
    let teams = db.collection::<Team>();
    for form in forms() {
        let tags = vec![doc! {"name": "b", "kept": 1}, form];
        stored(&teams, doc! {"_id": 1, "tags": &tags, "sorted": &tags}).await;
        let (mut one, mut two) = (loaded(&teams).await, loaded(&teams).await);
        let change = |team: &mut Team, name: &str| {
            team.tags.pop();
            team.tags.push(Tag::new(name));
            team.sorted.remove(&Tag::new("a"));
            team.sorted.insert(Tag::new(name));
        };
        change(&mut one, "c");
        log.take();
        one.save(&teams).await.unwrap();
        assert_eq!(log.take().len(), 1);
        change(&mut two, "d");
        two.save(&teams).await.unwrap();
        let tags = vec![
            doc! {"name": "b", "kept": 1},
            doc! {"name": "c", "color": null},
            doc! {"name": "d", "color": null},
        ];
        let mut expected = doc! {"_id": 1, "tags": &tags, "sorted": &tags};
        let mut found = raw(&teams).await;
        found.remove("inner");
        expected.remove("inner");
        assert_eq!(found, expected);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    id: i32,
    attrs: HashMap<String, i32>,
    labels: HashSet<String>,
    colors: HashMap<String, HashMap<String, i32>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sheets")]
struct Sheet {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = push)]
    rows: Vec<HashMap<String, i32>>,
    #[odm(save = push)]
    parts: Vec<Part>,
    #[odm(save = add_to_set)]
    set: Vec<Part>,
}

fn map(from: i32) -> HashMap<String, i32> {
    (from..from + 6).map(|n| (format!("k{n}"), n)).collect()
}

fn part(id: i32) -> Part {
    Part {
        id,
        attrs: map(id),
        labels: map(id).into_keys().collect(),
        colors: HashMap::from([("x".to_owned(), map(id)), ("y".to_owned(), map(2 * id))]),
    }
}

fn sheet() -> Sheet {
    Sheet {
        id: 1,
        rows: vec![map(1), map(2), map(3)],
        parts: vec![part(1), part(2), part(3)],
        set: vec![part(1), part(2), part(3)],
    }
}

async fn sheets(db: &Db) -> Collection<Sheet> {
    let sheets = db.collection::<Sheet>();
    sheets.raw().delete_many(doc! {}).await.unwrap();
    sheets.insert(sheet()).await.unwrap();
    sheets
}

async fn sets_of_sets_lose_what_was_taken_out(db: &Db) {
    let (db, log) = db.logged();
    for _ in 0..4 {
        let sheets = sheets(&db).await;
        let (mut one, mut two, mut three) = (
            loaded(&sheets).await,
            loaded(&sheets).await,
            loaded(&sheets).await,
        );
        one.set.remove(0);
        log.take();
        one.save(&sheets).await.unwrap();
        assert_eq!(log.take().len(), 1);
        let mut expected = sheet();
        expected.set.remove(0);
        assert_eq!(*one, expected);
        two.set.drain(..2);
        two.set.push(part(4));
        two.save(&sheets).await.unwrap();
        assert_eq!(two.set, [part(3), part(4)]);
        three.set.clear();
        three.save(&sheets).await.unwrap();
        assert_eq!(three.set, [part(4)]);
    }
}

async fn lists_of_maps_conflict_with_nobody(db: &Db) {
    let (db, log) = db.logged();
    for _ in 0..4 {
        let sheets = sheets(&db).await;
        let mut one = loaded(&sheets).await;
        let mut expected = sheet();
        let steps: [fn(&mut Sheet); 3] = [
            |s| drop((s.rows.remove(0), s.parts.remove(0))),
            |s| {
                s.rows[0].insert("k9".to_owned(), 9);
                s.parts[0].attrs.insert("k9".to_owned(), 9);
                s.rows.push(map(4));
                s.parts.push(part(4));
            },
            |s| {
                // The same in other maps.
                s.rows = s
                    .rows
                    .iter()
                    .map(|row| row.clone().into_iter().collect())
                    .collect();
                s.rows.push(map(5));
                s.parts.push(part(5));
            },
        ];
        for step in steps {
            step(&mut one);
            step(&mut expected);
            log.take();
            one.save(&sheets).await.unwrap();
            assert_eq!(log.take().len(), 1);
            assert_eq!(*one, expected);
        }
    }
}

async fn lists_of_maps_keep_what_others_push(db: &Db) {
    for _ in 0..4 {
        let sheets = sheets(db).await;
        let (mut one, mut two) = (loaded(&sheets).await, loaded(&sheets).await);
        one.rows.push(map(4));
        one.parts.push(part(4));
        one.save(&sheets).await.unwrap();
        two.rows.remove(0);
        two.parts.remove(0);
        two.save(&sheets).await.unwrap();
        assert_eq!(two.rows, [map(2), map(3), map(4)]);
        assert_eq!(two.parts, [part(2), part(3), part(4)]);
        // The same change by both.
        let (mut one, mut two) = (loaded(&sheets).await, loaded(&sheets).await);
        one.rows.remove(0);
        two.rows.remove(0);
        one.save(&sheets).await.unwrap();
        two.save(&sheets).await.unwrap();
        assert_eq!(two.rows, [map(3), map(4)]);
        // Others who change what is before its end are in the way.
        let (mut one, mut two) = (loaded(&sheets).await, loaded(&sheets).await);
        one.rows[0].insert("k9".to_owned(), 9);
        two.rows[0].clear();
        one.save(&sheets).await.unwrap();
        let error = two.save(&sheets).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Conflict, Some("rows")));
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "teams", schema_version = 2, migrate(names_become_documents))]
struct Aged {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = add_to_set)]
    tags: Vec<Tag>,
}

/// With a field that the model does not know.
fn names_become_documents(document: &mut Document) -> odm::Result<()> {
    let names = document.get_array("tags").cloned().unwrap_or_default();
    let tags: Vec<_> = names
        .into_iter()
        .map(|name| doc! {"name": name, "old": true})
        .collect();
    document.insert("tags", tags);
    Ok(())
}

async fn a_migrated_document_loses_what_was_taken_out(db: &Db) {
    let teams = db.collection::<Aged>();
    stored(&teams, doc! {"_id": 1, "x": 1, "tags": ["a", "b"]}).await;
    let mut team = loaded(&teams).await;
    team.tags.remove(0);
    team.save(&teams).await.unwrap();
    let expected = doc! {"_id": 1, "x": 1, "tags": [{"name": "b", "old": true}], "schema_version": 2};
    assert_eq!(raw(&teams).await, expected);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "layouts")]
struct Layout {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    frame: Frame,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Frame {
    name: String,
    sizes: HashMap<String, i32>,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame {
            name: "a".to_owned(),
            sizes: map(1),
        }
    }
}

async fn a_default_with_a_map_is_no_conflict(db: &Db) {
    let layouts = db.collection::<Layout>();
    for _ in 0..4 {
        stored(&layouts, doc! {"_id": 1}).await;
        let mut layout = loaded(&layouts).await;
        layout.frame.name = "b".to_owned();
        layout.save(&layouts).await.unwrap();
        let frame = Frame {
            name: "b".to_owned(),
            ..Frame::default()
        };
        assert_eq!(layout.frame, frame);
    }
}
