//! Deletion of nodes: rules of references, and soft deletion.

use bson::{DateTime, doc};
use odm::{Db, ErrorKind, Model, Ref};
use odm_patterns::tree::{DeleteMode, KeepsOrder, MaterializedPaths, Position, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

use super::tree_lifecycle_models::{everywhere, grow, sound};

crate::on_every_backend! {
    rules_of_references_hold_for_deleted_nodes,
    a_change_that_is_refused_half_way_is_not_committed,
    softly_deleted_nodes_keep_their_places,
    softly_deleted_nodes_are_restored_together,
    children_of_softly_deleted_nodes_are_cared_for,
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

/// Whoever handled the refusal and committed kept children of a node that was not deleted elsewhere.
async fn a_change_that_is_refused_half_way_is_not_committed(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Shelf, S>(db, options, |id| Shelf { id }).await;
        if !db.capabilities().transactions {
            return;
        }
        let lock = Lock {
            id: 1,
            shelf: Ref::new(2),
        };
        db.collection::<Lock>().insert(lock).await.expect("inserted");
        for mode in [DeleteMode::Adopt, DeleteMode::Cascade] {
            let kept = db.transaction(async |tx| {
                let error = tree.within(&tx).delete(2, mode).await;
                assert_eq!(error.expect_err("locked").kind(), ErrorKind::Referenced);
                Ok(())
            });
            kept.await.expect_err("a part of it was refused");
            sound(&tree, "1(2(3 4) 5)").await;
        }
        // What is refused before anything is written harms nobody.
        let kept = db.transaction(async |tx| {
            let tree = tree.within(&tx);
            let error = tree.delete(9, DeleteMode::Adopt).await.expect_err("nothing");
            assert_eq!(error.kind(), ErrorKind::NotFound);
            Ok(tree.delete(3, DeleteMode::Adopt).await?)
        });
        kept.await.expect("committed");
        sound(&tree, "1(2(4) 5)").await;
    }
    everywhere!(db, case, ["shelves", "shelves_trees", "locks"]);
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
