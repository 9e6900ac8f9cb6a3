//! Whole writes of nodes: what a node says is stored, and its place is the tree's, in all five models.

use bson::{DateTime, doc};
use odm::{Db, ErrorKind, HookContext, Hooks, Model, Result};
use odm_patterns::tree::{
    ArrayOfAncestors, DeleteMode, KeepsOrder, MaterializedPaths, NestedSets, ParentReference, Tree,
    TreeError, TreeOptions,
};
use serde::{Deserialize, Serialize};

use super::tree_lifecycle_models::{everywhere, grow, sound};

crate::on_every_backend! {
    a_saved_node_keeps_its_place,
    an_edited_node_keeps_its_place,
    a_saved_node_stays_where_others_moved_it,
    a_save_goes_the_way_of_a_replacement,
    a_saved_node_keeps_the_date_of_its_creation,
    what_cannot_be_saved_is_refused,
    a_model_that_could_not_read_its_nodes_is_refused,
    a_saved_node_stays_with_its_tenant,
    saved_nodes_may_be_softly_deleted,
    many_edit_and_move_at_once,
    updates_and_tracked_saves_keep_the_place,
}

/// Declares nothing of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sections")]
struct Section {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    note: Option<String>,
    #[odm(version)]
    version: i64,
}

fn section(id: i32) -> Section {
    Section {
        id,
        title: format!("section {id}"),
        note: Some("new".into()),
        version: 0,
    }
}

async fn a_saved_node_keeps_its_place(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Section, S>(db, options, section).await;
        for id in [1, 2, 3, 5] {
            let mut node = tree.get(id).await.expect("a read").expect("it is there");
            node.title = format!("${id}.\"\u{e4}\"");
            node.note = None;
            tree.save(&node).await.expect("saved");
            let saved = tree.get(id).await.expect("a read").expect("it is there");
            assert_eq!(
                saved,
                Section {
                    version: node.version + 1,
                    ..node
                }
            );
        }
        sound(&tree, "1(2(3 4) 5)").await;
        tree.move_under(2, 5).await.expect("moved");
        sound(&tree, "1(5(2(3 4)))").await;
    }
    everywhere!(db, case, ["sections", "sections_trees"]);
}

async fn an_edited_node_keeps_its_place(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Section, S>(db, options, section).await;
        let length = tree.edit(2, |node| {
            node.title.push('!');
            Ok(node.title.len())
        });
        assert_eq!(length.await.expect("edited"), 10);
        let refused = tree
            .edit(2, |_| Err::<(), _>(odm::Error::new(ErrorKind::Validation, "no")))
            .await;
        assert_eq!(refused.expect_err("refused").kind(), ErrorKind::Validation);
        let other = tree.edit(2, |node| {
            node.id = 9;
            Ok(())
        });
        assert_eq!(
            other.await.expect_err("refused").kind(),
            ErrorKind::InvalidArgument
        );
        let missing = tree.edit(9, |_| Ok(())).await;
        assert!(matches!(missing, Err(TreeError::NotFound { .. })));
        sound(&tree, "1(2(3 4) 5)").await;
    }
    everywhere!(db, case, ["sections", "sections_trees"]);
}

/// Declares the fields of three models, and no version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves")]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[serde(default)]
    parent: Option<i32>,
    #[serde(default)]
    ancestors: Vec<i32>,
    #[serde(default)]
    position: i64,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    left: i64,
    #[serde(default)]
    right: i64,
    #[serde(default)]
    children: Vec<i32>,
}

fn shelf(id: i32) -> Shelf {
    Shelf {
        id,
        title: format!("shelf {id}"),
        parent: None,
        ancestors: vec![],
        position: 0,
        path: None,
        left: 0,
        right: 0,
        children: vec![],
    }
}

async fn a_saved_node_stays_where_others_moved_it(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Shelf, S>(db, options, shelf).await;
        let mut node = tree.get(2).await.expect("a read").expect("it is there");
        tree.move_under(2, 5).await.expect("moved");
        tree.move_under(3, 1).await.expect("moved");
        node.title = "new".into();
        tree.save(&node).await.expect("saved");
        sound(&tree, "1(5(2(4)) 3)").await;
        assert_eq!(
            tree.get(2).await.expect("a read").expect("it is there").title,
            "new"
        );
        let edited = tree
            .edit(2, |_| Ok(()))
            .await
            .expect_err("nothing would see others");
        assert_eq!(edited.kind(), ErrorKind::InvalidArgument);
    }
    everywhere!(db, case, ["shelves", "shelves_trees"]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "ruled", hooks, validate = short)]
struct Ruled {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[odm(updated)]
    changed: DateTime,
}

fn short(ruled: &Ruled) -> std::result::Result<(), &'static str> {
    match ruled.title.len() {
        ..8 => Ok(()),
        _ => Err("the title is long"),
    }
}

impl Hooks for Ruled {
    async fn before_replace(ruled: &mut Ruled, _: &HookContext) -> Result<()> {
        ruled.title.push('~');
        Ok(())
    }

    async fn after_replace(ruled: &Ruled, context: &HookContext) -> Result<()> {
        let note = doc! { "_id": ruled.title.clone() };
        context
            .db()
            .raw_collection("ruled_notes")
            .insert(note)
            .await
            .map(drop)
    }
}

async fn a_save_goes_the_way_of_a_replacement(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let db = &db.with_clock(|| DateTime::from_millis(7_000));
        let ruled = |id| Ruled {
            id,
            title: "old".into(),
            changed: DateTime::from_millis(0),
        };
        let tree = grow::<Ruled, S>(db, options, ruled).await;
        let title = |title: &str| Ruled {
            title: title.into(),
            ..ruled(3)
        };
        tree.save(&title("new")).await.expect("saved");
        let saved = tree.get(3).await.expect("a read").expect("it is there");
        assert_eq!(
            (saved.title.as_str(), saved.changed.timestamp_millis()),
            ("new~", 7_000)
        );
        let notes = db.raw_collection("ruled_notes").find_all().await.expect("a read");
        assert_eq!(notes, [doc! { "_id": "new~" }]);
        let long = tree.save(&title("too long")).await.expect_err("a rule is broken");
        assert_eq!(long.kind(), ErrorKind::Validation);
        sound(&tree, "1(2(3 4) 5)").await;
    }
    everywhere!(db, case, ["ruled", "ruled_trees", "ruled_notes"]);
}

/// Has a date of creation, and declares fields of the tree or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "dated")]
struct Dated {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    parent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    left: Option<i64>,
    #[odm(created)]
    created: DateTime,
    #[odm(updated)]
    changed: DateTime,
    #[odm(version)]
    version: i64,
}

async fn a_saved_node_keeps_the_date_of_its_creation(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let at = |millis| db.with_clock(move || DateTime::from_millis(millis));
        let dated = |id| Dated {
            id,
            title: format!("${id}"),
            parent: None,
            path: None,
            left: None,
            created: DateTime::from_millis(0),
            changed: DateTime::from_millis(0),
            version: 0,
        };
        grow::<Dated, S>(&at(1_000), options.clone(), dated).await;
        let tree = Tree::<Dated, S>::open(&at(2_000), options)
            .await
            .expect("it opens");
        for id in [1, 3] {
            let mut node = tree.get(id).await.expect("a read").expect("it is there");
            node.title = "$saved".into();
            // What the program thinks of the place and of the date says nothing.
            (node.parent, node.path, node.left) = (Some(9), Some(",9,".into()), Some(99));
            node.created = DateTime::from_millis(5);
            tree.save(&node).await.expect("saved");
            tree.edit(id, |node| {
                node.title.push('!');
                Ok(())
            })
            .await
            .expect("edited");
            let saved = tree.get(id).await.expect("a read").expect("it is there");
            let dates = [saved.created, saved.changed].map(|date| date.timestamp_millis());
            assert_eq!((saved.title.as_str(), dates), ("$saved!", [1_000, 2_000]));
            assert_eq!(saved.version, node.version + 2);
        }
        sound(&tree, "1(2(3 4) 5)").await;
        let missing = tree.save(&dated(9)).await.expect_err("nobody gave it a place");
        assert!(matches!(missing, TreeError::NotFound { .. }), "{missing:?}");
        let missing = tree.edit(9, |_| Ok(())).await.expect_err("it is not there");
        assert!(matches!(missing, TreeError::NotFound { .. }), "{missing:?}");
    }
    everywhere!(db, case, ["dated", "dated_trees"]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "strict")]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(rename = "_id")]
    id: i32,
    parent: Option<i32>,
}

async fn a_model_that_could_not_read_its_nodes_is_refused(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let strict = Strict { id: 1, parent: None };
        let opened = Tree::<Strict, S>::open(db, options.clone()).await;
        let inserted = Tree::<Strict, S>::new(db, options).insert_root(strict).await;
        for refused in [opened.map(drop).unwrap_err(), inserted.map(drop).unwrap_err()] {
            let refused = odm::Error::from(refused);
            assert_eq!(refused.kind(), ErrorKind::Schema, "{refused}");
            assert_eq!(refused.model(), Some("Strict"));
            assert!(refused.to_string().contains("deny_unknown_fields"), "{refused}");
        }
        let stored = db.raw_collection("strict").count(doc! {}).await.expect("a count");
        assert_eq!(stored, 0);
    }
    everywhere!(db, case, ["strict"]);
}

async fn what_cannot_be_saved_is_refused(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Section, S>(db, options, section).await;
        let missing = tree.save(&section(9)).await.expect_err("nobody gave it a place");
        assert!(
            matches!(missing, TreeError::NotFound { ref id, .. } if *id == 9.into()),
            "{missing:?}"
        );
        let stale = section(3);
        tree.edit(3, |node| {
            node.title.push('!');
            Ok(())
        })
        .await
        .expect("edited");
        let stale = Section { version: 5, ..stale };
        let TreeError::Database(conflict) = tree.save(&stale).await.expect_err("it is of another version")
        else {
            panic!("a conflict");
        };
        assert!(conflict.is_conflict(), "{conflict}");
        assert_eq!(
            (conflict.model(), conflict.id()),
            (Some("Section"), Some(&3.into()))
        );
        let count = db
            .raw_collection("sections")
            .count(doc! {})
            .await
            .expect("a count");
        assert_eq!(count, 5);
        sound(&tree, "1(2(3 4) 5)").await;
    }
    everywhere!(db, case, ["sections", "sections_trees"]);
    // Handles of the model that a tree had before.
    let old = grow::<Section, ParentReference>(db, TreeOptions::new(), section).await;
    let new = old
        .convert::<MaterializedPaths>(TreeOptions::new())
        .await
        .expect("converted");
    let node = new.get(2).await.expect("a read").expect("it is there");
    let refused = old.save(&node).await;
    assert!(matches!(refused, Err(TreeError::Converted { .. })), "{refused:?}");
    new.save(&node).await.expect("saved");
    sound(&new, "1(2(3 4) 5)").await;
}

async fn a_saved_node_stays_with_its_tenant(db: &Db) {
    let tree = |tenant: i32| {
        let options = TreeOptions::new().tenant("shop", tenant);
        Tree::<Section, NestedSets>::new(db, options)
    };
    for tenant in [1, 2] {
        tree(tenant).insert_root(section(tenant)).await.expect("inserted");
    }
    tree(1)
        .edit(1, |node| {
            node.title.push('!');
            Ok(())
        })
        .await
        .expect("edited");
    let other = tree(1).save(&section(2)).await;
    assert!(matches!(other, Err(TreeError::NotFound { .. })), "{other:?}");
    let kept = db
        .raw_collection("sections")
        .find_one(doc! { "_id": 1 })
        .await
        .expect("a read");
    assert_eq!(kept.and_then(|kept| kept.get("shop").cloned()), Some(1.into()));
    assert_eq!(tree(1).roots().await.expect("a read").len(), 1);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "drawers")]
struct Drawer {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

async fn saved_nodes_may_be_softly_deleted(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let drawer = |id| Drawer {
            id,
            title: "old".into(),
            deleted: None,
        };
        let tree = grow::<Drawer, S>(db, options, drawer).await;
        tree.delete(2, DeleteMode::Cascade).await.expect("deleted");
        let unseen = tree.save(&drawer(2)).await;
        assert!(matches!(unseen, Err(TreeError::NotFound { .. })), "{unseen:?}");
        let all = tree.with_deleted();
        let mut node = all.get(3).await.expect("a read").expect("it is there");
        node.title = "new".into();
        all.save(&node).await.expect("saved");
        assert_eq!(tree.restore(2).await.expect("restored"), 3);
        sound(&tree, "1(2(3 4) 5)").await;
        assert_eq!(
            tree.get(3).await.expect("a read").expect("it is there").title,
            "new"
        );
    }
    everywhere!(db, case, ["drawers", "drawers_trees"]);
}

async fn many_edit_and_move_at_once(db: &Db) {
    let tree = grow::<Section, ArrayOfAncestors>(db, TreeOptions::new(), section).await;
    let edits = (0..4).map(|_| {
        let tree = tree.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                loop {
                    match tree
                        .edit(2, |node| {
                            node.title.push('!');
                            Ok(())
                        })
                        .await
                    {
                        Err(error) if error.kind() == ErrorKind::Conflict => {}
                        edited => break edited.expect("edited"),
                    }
                }
            }
        })
    });
    let edits: Vec<_> = edits.collect();
    for turn in 0..10 {
        tree.move_under(2, [1, 5][turn % 2]).await.expect("moved");
    }
    for edit in edits {
        edit.await.expect("it ran");
    }
    sound(&tree, "1(5(2(3 4)))").await;
    let title = tree.get(2).await.expect("a read").expect("it is there").title;
    assert_eq!(title, format!("section 2{}", "!".repeat(20)));
}

async fn updates_and_tracked_saves_keep_the_place(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Section, S>(db, options, section).await;
        let sections = tree.collection();
        sections
            .update_one(|s| s.id.eq(2), |s| s.title.set("updated"))
            .await
            .expect("updated");
        let mut node = sections.get(3).tracked().required().await.expect("a read");
        node.title = "tracked".into();
        assert!(node.save(sections).await.expect("saved"));
        sound(&tree, "1(2(3 4) 5)").await;
    }
    everywhere!(db, case, ["sections", "sections_trees"]);
}
