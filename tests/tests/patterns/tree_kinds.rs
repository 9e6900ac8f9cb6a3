//! Trees of models that share a collection, and several trees of the same nodes.

use odm::{Db, Model};
use odm_patterns::tree::{
    ArrayOfAncestors, ChildReference, DeleteMode, MaterializedPaths, NestedSets, ParentReference, Tree,
    TreeError, TreeModel, TreeOptions,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_tree_of_one_kind_sees_no_other,
    kinds_of_tenants_are_apart,
    a_tree_of_all_kinds_holds_them_all,
    two_trees_of_the_same_nodes_have_roots_of_their_own,
    roots_that_a_former_version_listed_keep_their_order,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves", kind = "folder")]
struct Folder {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves", kind = "topic")]
struct Topic {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Any {
    Folder(Folder),
    Topic(Topic),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
}

fn folder(id: i32) -> Folder {
    Folder { id, version: 0 }
}

fn of(folders: odm_patterns::tree::Result<Vec<Folder>>) -> Vec<i32> {
    folders.unwrap().into_iter().map(|folder| folder.id).collect()
}

fn topic(id: i32) -> Topic {
    Topic { id, version: 0 }
}

macro_rules! in_every_model {
    ($case:ident($db:expr)) => {
        for options in [TreeOptions::new(), TreeOptions::new().write_ahead()] {
            $case::<ParentReference>($db, options.clone()).await;
            $case::<ChildReference>($db, options.clone()).await;
            $case::<ArrayOfAncestors>($db, options.clone()).await;
            $case::<MaterializedPaths>($db, options.clone()).await;
            $case::<NestedSets>($db, options).await;
        }
    };
}

async fn clear(db: &Db) {
    for name in ["shelves", "shelves_trees", "pages", "pages_trees"] {
        db.drop_collection(name).await.unwrap();
    }
}

async fn a_tree_of_one_kind_sees_no_other(db: &Db) {
    async fn is_of_one_kind<S: TreeModel>(db: &Db, options: TreeOptions) {
        clear(db).await;
        let folders = Tree::<Folder, S>::open(db, options.clone()).await.unwrap();
        let topics = Tree::<Topic, S>::open(db, options).await.unwrap();
        folders.insert_root(folder(1)).await.unwrap();
        topics.insert_root(topic(10)).await.unwrap();
        folders.insert_child(1, folder(2)).await.unwrap();
        topics.insert_child(10, topic(11)).await.unwrap();
        folders.insert_child(2, folder(3)).await.unwrap();
        assert_eq!(of(folders.roots().await), [1]);
        assert_eq!(topics.roots().await.unwrap()[0].id, 10);
        assert_eq!(
            (folders.len().await.unwrap(), topics.len().await.unwrap()),
            (3, 2)
        );
        assert_eq!(of(folders.descendants(1).await), [2, 3]);
        assert!(folders.get(10).await.unwrap().is_none());
        for error in [
            folders.move_under(2, 11).await.unwrap_err(),
            folders.delete(10, DeleteMode::Cascade).await.unwrap_err(),
            folders.insert_child(10, folder(4)).await.unwrap_err(),
            folders.rename(11, 12).await.unwrap_err(),
        ] {
            assert!(
                matches!(error, TreeError::NotFound { model: "Folder", .. }),
                "{error:?}"
            );
        }
        // The `_id` is unique in the collection, not in the tree.
        let taken = folders.insert_root(folder(10)).await.unwrap_err();
        assert!(matches!(taken, TreeError::DuplicateKey { .. }), "{taken:?}");
        folders.insert_root(folder(4)).await.unwrap();
        folders.move_under(2, 4).await.unwrap();
        topics.edit(11, |_| Ok(())).await.unwrap();
        let saved = folders.get(3).await.unwrap().unwrap();
        folders.save(&saved).await.unwrap();
        topics.rename(11, 12).await.unwrap();
        assert_eq!(
            (folders.verify().await.unwrap(), topics.verify().await.unwrap()),
            (vec![], vec![])
        );
        assert!(folders.repair().await.unwrap().is_clean());
        assert_eq!(folders.rebuild().await.unwrap(), 0);
        assert_eq!(folders.delete(4, DeleteMode::Cascade).await.unwrap(), 3);
        assert_eq!(topics.branch(10).await.unwrap().len(), 2);
        assert_eq!(
            db.collection::<Topic>()
                .count(|_| odm::Filter::all())
                .await
                .unwrap(),
            2
        );
    }
    in_every_model!(is_of_one_kind(db));
}

async fn kinds_of_tenants_are_apart(db: &Db) {
    async fn is_apart<S: TreeModel>(db: &Db, options: TreeOptions) {
        clear(db).await;
        let in_shop = |shop: i32| options.clone().tenant("shop", shop);
        let one = Tree::<Folder, S>::open(db, in_shop(1)).await.unwrap();
        let two = Tree::<Folder, S>::open(db, in_shop(2)).await.unwrap();
        let topics = Tree::<Topic, S>::open(db, in_shop(1)).await.unwrap();
        one.insert_root(folder(1)).await.unwrap();
        two.insert_root(folder(2)).await.unwrap();
        topics.insert_root(topic(3)).await.unwrap();
        one.insert_child(1, folder(4)).await.unwrap();
        assert_eq!(of(one.roots().await), [1]);
        assert_eq!(of(two.roots().await), [2]);
        assert_eq!(topics.len().await.unwrap(), 1);
        assert_eq!(
            (one.verify().await.unwrap(), topics.verify().await.unwrap()),
            (vec![], vec![])
        );
        // What used to tell kinds apart says the same.
        let named = options.clone().tenant("kind", "folder");
        let all = Tree::<Folder, S>::open(db, named).await.unwrap();
        assert_eq!(all.len().await.unwrap(), 3);
        let other = Tree::<Folder, S>::open(db, options.clone().tenant("kind", "topic")).await;
        assert!(
            matches!(other, Err(TreeError::InvalidOption { option: "tenant", .. })),
            "{other:?}"
        );
        let field = Tree::<Folder, S>::open(
            db,
            options
                .clone()
                .tenant("shop", 1)
                .parent_field("kind")
                .children_field("kind"),
        )
        .await;
        assert!(
            matches!(field, Err(TreeError::InvalidOption { option: "field", .. })),
            "{field:?}"
        );
    }
    in_every_model!(is_apart(db));
}

async fn a_tree_of_all_kinds_holds_them_all(db: &Db) {
    async fn holds_all<S: TreeModel>(db: &Db, options: TreeOptions) {
        clear(db).await;
        let all = Tree::<Any, S>::open(db, options).await.unwrap();
        all.insert_root(Any::Folder(folder(1))).await.unwrap();
        all.insert_child(1, Any::Topic(topic(2))).await.unwrap();
        assert!(matches!(
            all.descendants(1).await.unwrap()[..],
            [Any::Topic(Topic { id: 2, .. })]
        ));
        assert_eq!(all.verify().await.unwrap(), []);
    }
    in_every_model!(holds_all(db));
}

fn menu() -> TreeOptions {
    TreeOptions::new()
        .parent_field("menu_parent")
        .children_field("menu_children")
        .ancestors_field("menu_ancestors")
        .path_field("menu_path")
        .left_field("menu_left")
        .right_field("menu_right")
        .position_field("menu_position")
}

async fn roots<S: TreeModel>(tree: &Tree<Page, S>) -> Vec<i32> {
    tree.roots()
        .await
        .unwrap()
        .into_iter()
        .map(|page| page.id)
        .collect()
}

async fn two_trees_of_the_same_nodes_have_roots_of_their_own(db: &Db) {
    async fn have_two<S: TreeModel>(db: &Db, _: TreeOptions) {
        clear(db).await;
        let site = Tree::<Page, S>::open(db, TreeOptions::new()).await.unwrap();
        for id in 1..=4 {
            site.insert_root(Page { id }).await.unwrap();
        }
        let menu = Tree::<Page, S>::open(db, menu()).await.unwrap();
        menu.repair().await.unwrap();
        assert_eq!(roots(&menu).await.len(), 4);
        menu.move_under(1, 4).await.unwrap();
        site.move_under(3, 2).await.unwrap();
        assert_eq!(roots(&site).await, [1, 2, 4]);
        assert_eq!(roots(&menu).await, [2, 3, 4]);
        for tree in [&site, &menu] {
            assert_eq!(tree.verify().await.unwrap(), []);
        }
    }
    have_two::<ParentReference>(db, TreeOptions::new()).await;
    have_two::<ChildReference>(db, TreeOptions::new()).await;
    have_two::<ArrayOfAncestors>(db, TreeOptions::new()).await;
    have_two::<MaterializedPaths>(db, TreeOptions::new()).await;
    have_two::<NestedSets>(db, TreeOptions::new()).await;
}

async fn roots_that_a_former_version_listed_keep_their_order(db: &Db) {
    clear(db).await;
    let pages = db.collection::<Page>();
    pages
        .raw()
        .insert_many((1..=3).map(|id| bson::doc! {"_id": id, "menu_children": []}))
        .await
        .unwrap();
    let state = bson::doc! {"_id": {"tree": "pages", "tenant": null}, "version": 3_i64, "roots": [3, 1, 2]};
    db.raw_collection("pages_trees").insert(state).await.unwrap();
    let menu_of = || Tree::<Page, ChildReference>::new(db, menu());
    assert_eq!(roots(&menu_of()).await, [3, 1, 2]);
    menu_of().prepare().await.unwrap();
    menu_of().move_under(1, 2).await.unwrap();
    assert_eq!(roots(&menu_of()).await, [3, 2]);
    assert_eq!(menu_of().verify().await.unwrap(), []);
    let site = Tree::<Page, ChildReference>::new(db, TreeOptions::new());
    assert_eq!(roots(&site).await, [3, 1, 2]);
}
