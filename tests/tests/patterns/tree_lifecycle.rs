//! What a model declares of the life of its documents holds for every change of a tree of them, in all five models, in
//! transactions and without.

use bson::{DateTime, Document, doc};
use odm::{Db, DeleteWrite, ErrorKind, HookContext, Hooks, Model, Result, UpdateWrite};
use odm_patterns::tree::{
    ArrayOfAncestors, DeleteMode, KeepsOrder, Position, TreeError, TreeModel, TreeOptions,
};
use serde::{Deserialize, Serialize};

use super::tree_lifecycle_models::{clear, everywhere, grow, sound, stored, ways};

crate::on_every_backend! {
    a_renamed_node_keeps_its_unique_keys,
    a_rename_is_refused_as_a_whole,
    hooks_see_every_change_of_a_tree,
    a_hook_refuses_a_change_as_a_whole,
    dates_and_versions_follow_every_change_of_a_tree,
    rules_hold_for_what_a_tree_writes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique)]
    slug: String,
}

fn page(id: i32) -> Page {
    Page {
        id,
        slug: format!("page-{id}"),
    }
}

async fn a_renamed_node_keeps_its_unique_keys(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Page, S>(db, options, page).await;
        tree.rename(2, 20).await.expect("renamed");
        tree.rename(1, 10).await.expect("renamed");
        tree.rename(4, 40).await.expect("renamed");
        sound(&tree, "10(20(3 40) 5)").await;
        let slug = |page: Option<Page>| page.map(|page| page.slug);
        assert_eq!(
            slug(tree.get(20).await.expect("a read")).as_deref(),
            Some("page-2")
        );
        assert_eq!(tree.get(2).await.expect("a read"), None);
    }
    everywhere!(db, case, ["pages", "pages_trees"]);
}

async fn a_rename_is_refused_as_a_whole(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Page, S>(db, options, page).await;
        for (id, to) in [(2, 3), (2, 5), (5, 1)] {
            let error = tree.rename(id, to).await.expect_err("it is there");
            assert!(matches!(error, TreeError::DuplicateKey { .. }), "{error:?}");
        }
        let error = tree.rename(9, 10).await.expect_err("it is not there");
        assert!(matches!(error, TreeError::NotFound { .. }), "{error:?}");
        let error = tree
            .insert_child(2, Page { id: 6, ..page(5) })
            .await
            .expect_err("the slug is there");
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
        tree.rename(2, 2).await.expect("nothing to do");
        sound(&tree, "1(2(3 4) 5)").await;
    }
    everywhere!(db, case, ["pages", "pages_trees"]);
}

/// Notes what happens to it in a collection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "watched", hooks)]
struct Watched {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

fn watched(id: i32) -> Watched {
    Watched {
        id,
        name: format!("{id}"),
    }
}

async fn note(context: &HookContext, event: String) -> Result<()> {
    let events = context.db().raw_collection("events");
    events.insert(doc! { "event": event }).await.map(drop)
}

impl Hooks for Watched {
    async fn before_insert(node: &mut Watched, _: &HookContext) -> Result<()> {
        node.name.push('+');
        Ok(())
    }

    async fn before_update(update: &mut UpdateWrite<Watched>, _: &HookContext) -> Result<()> {
        update.add(|w| w.name.set("moved"))
    }

    async fn before_delete(delete: &mut DeleteWrite<Watched>, context: &HookContext) -> Result<()> {
        let mut kept = context
            .db()
            .raw_collection("watched")
            .find(doc! { "name": "kept" })
            .await?;
        let filter = Document::try_from(delete.filter()).unwrap_or_default();
        kept.retain(|kept| {
            filter
                .to_string()
                .contains(&kept.get_i32("_id").unwrap_or_default().to_string())
        });
        match kept.is_empty() {
            true => Ok(()),
            false => Err(odm::Error::new(ErrorKind::Validation, "it is to be kept")),
        }
    }

    async fn after_insert(node: &Watched, context: &HookContext) -> Result<()> {
        assert!(!context.is_in_transaction());
        note(context, format!("inserted {} {}", node.id, node.name)).await
    }

    async fn after_update(_: &UpdateWrite<Watched>, context: &HookContext) -> Result<()> {
        note(context, "updated".into()).await
    }

    async fn after_delete(_: &DeleteWrite<Watched>, context: &HookContext) -> Result<()> {
        note(context, "deleted".into()).await
    }
}

async fn events(db: &Db) -> Vec<String> {
    let all = db.raw_collection("events").find(doc! {}).await.expect("a read");
    clear(db, &["events"]).await;
    let mut events: Vec<String> = all
        .iter()
        .map(|event| event.get_str("event").expect("an event").to_owned())
        .collect();
    events.dedup_by(|one, other| one == other && one == "updated");
    events
}

async fn hooks_see_every_change_of_a_tree(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Watched, S>(db, options, watched).await;
        let mut seen = events(db).await;
        seen.retain(|event| event != "updated");
        assert_eq!(
            seen,
            [
                "inserted 1 1+",
                "inserted 2 2+",
                "inserted 3 3+",
                "inserted 4 4+",
                "inserted 5 5+"
            ]
        );
        tree.insert_at(watched(6), 4, Position::Right)
            .await
            .expect("inserted");
        assert!(events(db).await.contains(&"inserted 6 6+".to_owned()));
        tree.move_to(6, 1, Position::FirstChild).await.expect("moved");
        assert_eq!(events(db).await, ["updated"]);
        if !tree_is_listed::<S>() {
            assert_eq!(stored(db, "watched", 6).await.get_str("name").ok(), Some("moved"));
        }
        tree.copy_under(6, 5, |_| watched(7)).await.expect("copied");
        assert!(events(db).await.contains(&"inserted 7 7+".to_owned()));
        tree.rename(7, 8).await.expect("renamed");
        let seen = events(db).await;
        assert!(
            seen.iter().any(|event| event.starts_with("inserted 8 ")),
            "{seen:?}"
        );
        assert!(seen.contains(&"deleted".to_owned()), "{seen:?}");
        assert_eq!(tree.delete(2, DeleteMode::Cascade).await.expect("deleted"), 3);
        assert!(events(db).await.contains(&"deleted".to_owned()));
        sound(&tree, "1(6 5(8))").await;
    }
    everywhere!(db, case, ["watched", "watched_trees", "events"]);
}

/// Whether moving a node writes its parents alone.
fn tree_is_listed<S: TreeModel>() -> bool {
    std::any::TypeId::of::<S>() == std::any::TypeId::of::<odm_patterns::tree::ChildReference>()
}

async fn a_hook_refuses_a_change_as_a_whole(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Watched, S>(db, options, watched).await;
        tree.collection()
            .raw()
            .update_one(doc! { "_id": 4 }, doc! { "$set": { "name": "kept" } })
            .await
            .expect("updated");
        let error = tree
            .delete(2, DeleteMode::Cascade)
            .await
            .expect_err("4 is to be kept");
        assert_eq!(error.kind(), ErrorKind::Validation);
        sound(&tree, "1(2(3 4) 5)").await;
        tree.delete(3, DeleteMode::Cascade).await.expect("deleted");
        sound(&tree, "1(2(4) 5)").await;
    }
    everywhere!(db, case, ["watched", "watched_trees", "events"]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "dated")]
struct Dated {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(created)]
    created: Option<DateTime>,
    #[odm(updated)]
    updated: Option<DateTime>,
    #[odm(version)]
    version: i32,
}

fn dated(id: i32) -> Dated {
    Dated {
        id,
        created: None,
        updated: None,
        version: 0,
    }
}

async fn dates_and_versions_follow_every_change_of_a_tree(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let at = |millis: i64| db.with_clock(move || DateTime::from_millis(millis));
        let tree = grow::<Dated, S>(&at(1_000), options, dated).await;
        let get = async |id: i32| tree.get(id).await.expect("a read").expect("it is there");
        let first = get(4).await;
        assert_eq!(
            (first.created, first.updated, first.version),
            (
                Some(DateTime::from_millis(1_000)),
                Some(DateTime::from_millis(1_000)),
                0
            )
        );
        tree.within(&at(2_000))
            .move_to(4, 1, Position::FirstChild)
            .await
            .expect("moved");
        // Child references write the parents.
        let written = if tree_is_listed::<S>() { 1 } else { 4 };
        let moved = get(written).await;
        assert_eq!(moved.created, Some(DateTime::from_millis(1_000)));
        assert_eq!(moved.updated, Some(DateTime::from_millis(2_000)));
        assert_eq!(moved.version, 1);
        // So what was loaded before is not stored over it.
        let stale = Dated { version: 0, ..moved };
        let error = tree.collection().replace(stale).await.expect_err("it was moved");
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(get(3).await.version, 0);
        sound(&tree, "1(4 2(3) 5)").await;
        tree.rename(3, 30).await.expect("renamed");
        assert_eq!(get(30).await.created, Some(DateTime::from_millis(1_000)));
    }
    everywhere!(db, case, ["dated", "dated_trees"]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "bounded")]
struct Bounded {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(max = 2)]
    #[serde(default)]
    ancestors: Vec<i32>,
    #[odm(validate(length(max = 4)))]
    name: String,
}

fn bounded(id: i32) -> Bounded {
    Bounded {
        id,
        ancestors: Vec::new(),
        name: "node".into(),
    }
}

async fn rules_hold_for_what_a_tree_writes(db: &Db) {
    for (way, options) in ways(db) {
        let tree = grow::<Bounded, ArrayOfAncestors>(&way, options, bounded).await;
        let long = Bounded {
            name: "too long".into(),
            ..bounded(6)
        };
        let error = tree
            .insert_child(5, long)
            .await
            .expect_err("the name is too long");
        assert_eq!(error.kind(), ErrorKind::Validation);
        let error = tree
            .insert_child(3, bounded(6))
            .await
            .expect_err("too many ancestors");
        assert_eq!(error.kind(), ErrorKind::Validation);
        // Its children would have three ancestors.
        let error = tree.move_under(2, 5).await.expect_err("too many ancestors");
        assert_eq!(error.kind(), ErrorKind::Validation);
        sound(&tree, "1(2(3 4) 5)").await;
        tree.move_under(5, 2).await.expect("moved");
        sound(&tree, "1(2(3 4 5))").await;
        clear(db, &["bounded", "bounded_trees"]).await;
    }
}
