//! What a model declares of the life of its documents holds for every change of a tree of them, in all five models, in
//! transactions and without.

use bson::{DateTime, Document, doc};
use odm::{Db, DeleteWrite, ErrorKind, HookContext, Hooks, Model, Ref, Result, UpdateWrite};
use odm_patterns::tree::{
    ArrayOfAncestors, Branch, DeleteMode, KeepsOrder, MaterializedPaths, Position, Tree, TreeError,
    TreeModel, TreeOptions,
};
use serde::{Deserialize, Serialize};

use odm_tests::each_model;
use odm_tests::plain::Plain;

crate::on_every_backend! {
    a_renamed_node_keeps_its_unique_keys,
    a_rename_is_refused_as_a_whole,
    hooks_see_every_change_of_a_tree,
    a_hook_refuses_a_change_as_a_whole,
    dates_and_versions_follow_every_change_of_a_tree,
    rules_hold_for_what_a_tree_writes,
    rules_of_references_hold_for_deleted_nodes,
    softly_deleted_nodes_keep_their_places,
    softly_deleted_nodes_are_restored_together,
    children_of_softly_deleted_nodes_are_cared_for,
}

/// The three ways to write.
fn ways(db: &Db) -> [(Db, TreeOptions); 3] {
    [
        (db.clone(), TreeOptions::new()),
        (db.clone(), TreeOptions::new().write_ahead()),
        (Plain::db(db), TreeOptions::new()),
    ]
}

async fn clear(db: &Db, collections: &[&str]) {
    for name in collections {
        let cleared = db.raw_collection(name).delete_many(doc! {}).await;
        cleared.expect("the collection is emptied");
    }
}

/// Runs a case in all five models and all three ways, each from the beginning.
macro_rules! everywhere {
    ($db:expr, $case:ident, [$($collection:literal),*]) => {
        each_model!(S => {
            for (way, options) in ways($db) {
                $case::<S>(&way, options).await;
                clear($db, &[$($collection),*]).await;
            }
        })
    };
}

/// The tree as one line.
async fn shown<M: Model<Key = i32>, S: TreeModel>(tree: &Tree<M, S>) -> String {
    fn show<M: Model<Key = i32>>(branches: &[Branch<M>]) -> String {
        let shown = branches.iter().map(|branch| match branch.children.as_slice() {
            [] => branch.node.key().to_string(),
            children => format!("{}({})", branch.node.key(), show(children)),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
    show(&tree.branches().await.expect("the tree is read"))
}

async fn sound<M: Model<Key = i32>, S: TreeModel>(tree: &Tree<M, S>, expected: &str) {
    assert_eq!(shown(tree).await, expected, "{tree:?}");
    let problems = tree.verify().await.expect("the tree is verified");
    assert_eq!(problems, [], "{tree:?}: {expected}");
}

/// 1 (2 (3, 4), 5).
async fn grow<M: Model<Key = i32>, S: TreeModel>(
    db: &Db,
    options: TreeOptions,
    node: fn(i32) -> M,
) -> Tree<M, S> {
    let tree = Tree::<M, S>::open(db, options).await.expect("the tree opens");
    tree.collection()
        .create_indexes()
        .await
        .expect("the indexes are built");
    let leaf = |id| Branch::leaf(node(id));
    let two = Branch::new(node(2), [leaf(3), leaf(4)]);
    let one = Branch::new(node(1), [two, leaf(5)]);
    tree.load(vec![one]).await.expect("loaded");
    tree
}

async fn stored(db: &Db, collection: &str, id: i32) -> Document {
    let found = db.raw_collection(collection).find_one(doc! { "_id": id }).await;
    found.expect("a read").expect("it is stored")
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves", referred_by(Item, Label, Lock))]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "items")]
struct Item {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    shelf: Ref<Shelf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "labels")]
struct Label {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = nullify)]
    shelf: Option<Ref<Shelf>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "locks")]
struct Lock {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = deny)]
    shelf: Ref<Shelf>,
}

async fn rules_of_references_hold_for_deleted_nodes(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Shelf, S>(db, options, |id| Shelf { id }).await;
        let (items, labels, locks) = (
            db.collection::<Item>(),
            db.collection::<Label>(),
            db.collection::<Lock>(),
        );
        for id in 1..=5 {
            let shelf = Ref::new(id);
            items.insert(Item { id, shelf }).await.expect("inserted");
            let shelf = Some(Ref::new(id));
            labels.insert(Label { id, shelf }).await.expect("inserted");
        }
        let lock = Lock {
            id: 1,
            shelf: Ref::new(4),
        };
        locks.insert(lock).await.expect("inserted");

        // 4 is below 2, and locked.
        let error = tree
            .delete(2, DeleteMode::Cascade)
            .await
            .expect_err("a lock denies it");
        assert_eq!(error.kind(), ErrorKind::Referenced);
        let error = tree.rename(3, 30).await.expect_err("an item refers to it");
        assert_eq!(error.kind(), ErrorKind::Referenced);
        sound(&tree, "1(2(3 4) 5)").await;
        assert_eq!(items.count(|_| odm::Filter::all()).await.expect("a count"), 5);

        locks.delete(1).await.expect("deleted");
        assert_eq!(tree.delete(2, DeleteMode::Cascade).await.expect("deleted"), 3);
        sound(&tree, "1(5)").await;
        let left = items.find_all().await.expect("a read");
        let mut left: Vec<i32> = left.iter().map(|item| item.id).collect();
        left.sort_unstable();
        assert_eq!(left, [1, 5]);
        let bare = labels.find_all().await.expect("a read");
        assert_eq!(bare.iter().filter(|label| label.shelf.is_none()).count(), 3);
        // Where others adopt the children, only the node is gone.
        tree.insert_child(5, Shelf { id: 6 }).await.expect("inserted");
        items
            .insert(Item {
                id: 6,
                shelf: Ref::new(6),
            })
            .await
            .expect("inserted");
        tree.delete(5, DeleteMode::Adopt).await.expect("deleted");
        sound(&tree, "1(6)").await;
        assert!(items.get(6).await.expect("a read").is_some());
        assert!(items.get(5).await.expect("a read").is_none());
    }
    everywhere!(db, case, ["shelves", "shelves_trees", "items", "labels", "locks"]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "folders")]
struct Folder {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

fn folder(id: i32) -> Folder {
    Folder { id, deleted: None }
}

fn folders(folders: Vec<Folder>) -> Vec<i32> {
    folders.into_iter().map(|folder| folder.id).collect()
}

async fn softly_deleted_nodes_keep_their_places(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Folder, S>(db, options, folder).await;
        assert_eq!(tree.delete(2, DeleteMode::Cascade).await.expect("deleted"), 3);
        sound(&tree, "1(5)").await;
        for id in [2, 3] {
            assert_eq!(tree.get(id).await.expect("a read"), None);
            let error = tree.children(id).await.expect_err("it is deleted");
            assert!(matches!(error, TreeError::NotFound { .. }), "{error:?}");
            let error = tree.move_under(5, id).await.expect_err("it is deleted");
            assert!(matches!(error, TreeError::NotFound { .. }), "{error:?}");
            let error = tree
                .delete(id, DeleteMode::Cascade)
                .await
                .expect_err("it is deleted");
            assert!(matches!(error, TreeError::NotFound { .. }), "{error:?}");
        }
        assert_eq!(folders(tree.children(1).await.expect("children")), [5]);
        assert_eq!(folders(tree.children_page(1, 0, 1).await.expect("a page")), [5]);
        assert_eq!(folders(tree.descendants(1).await.expect("descendants")), [5]);
        assert_eq!(tree.child_count(1).await.expect("a count"), 1);
        assert_eq!(tree.descendant_count(1).await.expect("a count"), 1);
        assert_eq!(tree.len().await.expect("a count"), 2);
        sound(&tree.with_deleted(), "1(2(3 4) 5)").await;
        assert_eq!(
            folders(tree.with_deleted().ancestors(4).await.expect("ancestors")),
            [1, 2]
        );

        // Others come and go around them.
        tree.insert_at(folder(6), 1, Position::ChildAt(1))
            .await
            .expect("inserted");
        tree.insert_at(folder(7), 5, Position::Left)
            .await
            .expect("inserted");
        tree.reorder(1, [6, 7, 5]).await.expect("reordered");
        sound(&tree, "1(6 7 5)").await;
        tree.insert_root(folder(8)).await.expect("inserted");
        tree.move_under(1, 8).await.expect("moved");
        sound(&tree, "8(1(6 7 5))").await;
        let error = tree
            .insert_root(folder(3))
            .await
            .expect_err("the document is there");
        assert!(matches!(error, TreeError::DuplicateKey { .. }), "{error:?}");
        assert_eq!(tree.purge(2, DeleteMode::Cascade).await.expect("purged"), 3);
        sound(&tree.with_deleted(), "8(1(6 7 5))").await;
        assert_eq!(
            db.raw_collection("folders")
                .count(doc! {})
                .await
                .expect("a count"),
            5
        );
    }
    everywhere!(db, case, ["folders", "folders_trees"]);
}

async fn softly_deleted_nodes_are_restored_together(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Folder, S>(db, options, folder).await;
        let at = |millis: i64| tree.within(&db.with_clock(move || DateTime::from_millis(millis)));
        at(1_000).delete(4, DeleteMode::Refuse).await.expect("deleted");
        assert_eq!(
            at(2_000).delete(2, DeleteMode::Cascade).await.expect("deleted"),
            2
        );
        at(3_000).delete(1, DeleteMode::Cascade).await.expect("deleted");
        sound(&tree, "").await;
        let error = tree.restore(2).await.expect_err("its parent is deleted");
        assert!(matches!(error, TreeError::ParentDeleted { .. }), "{error:?}");
        assert_eq!(tree.restore(1).await.expect("restored"), 2);
        sound(&tree, "1(5)").await;
        assert_eq!(tree.restore(2).await.expect("restored"), 2);
        sound(&tree, "1(2(3) 5)").await;
        assert_eq!(tree.restore(4).await.expect("restored"), 1);
        sound(&tree, "1(2(3 4) 5)").await;
        assert_eq!(tree.restore(4).await.expect("nothing to do"), 0);
        let error = tree.restore(9).await.expect_err("it is not there");
        assert!(matches!(error, TreeError::NotFound { .. }), "{error:?}");
    }
    everywhere!(db, case, ["folders", "folders_trees"]);
}

async fn children_of_softly_deleted_nodes_are_cared_for(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Folder, S>(db, options, folder).await;
        let error = tree
            .delete(2, DeleteMode::Refuse)
            .await
            .expect_err("it has children");
        assert!(matches!(error, TreeError::HasChildren { .. }), "{error:?}");
        tree.delete(3, DeleteMode::Refuse).await.expect("deleted");
        assert_eq!(tree.delete(2, DeleteMode::Adopt).await.expect("deleted"), 1);
        sound(&tree, "1(4 5)").await;
        assert_eq!(tree.delete(1, DeleteMode::MakeRoots).await.expect("deleted"), 1);
        sound(&tree, "4 5").await;
        assert_eq!(tree.restore(3).await.expect("restored"), 1);
        sound(&tree, "3 4 5").await;
        // Deleted children go where the others go; the nodes themselves are leaves at their old places.
        assert_eq!(tree.restore(1).await.expect("restored"), 1);
        assert_eq!(tree.restore(2).await.expect("restored"), 1);
        sound(&tree, "1 2 3 4 5").await;
    }
    everywhere!(db, case, ["folders", "folders_trees"]);
    // Repair counts them too.
    let tree = grow::<Folder, MaterializedPaths>(db, TreeOptions::new(), folder).await;
    tree.delete(2, DeleteMode::Cascade).await.expect("deleted");
    let wrong = doc! { "$set": { "path": ",x," } };
    db.raw_collection("folders")
        .update_one(doc! { "_id": 3 }, wrong)
        .await
        .expect("updated");
    assert!(!tree.repair().await.expect("repaired").is_clean());
    tree.restore(2).await.expect("restored");
    sound(&tree, "1(2(3 4) 5)").await;
}
