//! What operations on trees cost: round trips, documents examined and written, and none of it by the size of the tree.

use odm::Db;
use odm_patterns::tree::{DeleteMode, KeepsOrder, Order, Position, Tree, TreeOptions};

use odm_tests::counted::{Cost, Figures, counted};
use odm_tests::each_model;
use odm_tests::tree::{Numbered, Stored as _, Subject};

crate::on_every_backend! {
    trees_cost_what_is_asked_and_not_their_size,
}

/// So many groups under each of so many shelves under one root; each group has nine children with ten each, 100 in all.
async fn library<S: KeepsOrder>(db: &Db, shelves: i64, groups: i64) -> Subject<i64, S> {
    let subject = Subject::<i64, S>::open(db, TreeOptions::new()).await;
    let mut nodes: Vec<(Numbered, Option<i64>)> = vec![(0.node(), None)];
    for shelf in 1..=shelves {
        nodes.push((shelf.node(), Some(0)));
        for group in 0..groups {
            let head = (shelf * groups + group) * 1_000;
            nodes.push((head.node(), Some(shelf)));
            for child in 1..=9 {
                nodes.push(((head + child).node(), Some(head)));
                nodes.extend((0..10).map(|leaf| ((head + child * 10 + leaf).node(), Some(head + child))));
            }
        }
    }
    subject.tree.load_flat(nodes).await.expect("loaded");
    subject
}

/// The head of the first group of the second shelf.
fn head(groups: i64) -> i64 {
    2 * groups * 1_000
}

struct Costs {
    children: Figures,
    ancestors: Figures,
    descendants: Figures,
    count: Figures,
    insert: Figures,
    reorder: Figures,
    moved: Figures,
    deleted: Figures,
}

async fn costs<S: KeepsOrder>(db: &Db, shelves: i64, groups: i64) -> Costs {
    let subject = library::<S>(db, shelves, groups).await;
    let (watched, cost): (Db, Cost) = counted(db);
    let tree: Tree<Numbered, S> = subject.tree.within(&watched);
    let head = head(groups);
    assert_eq!(tree.children(head).await.expect("children").len(), 9);
    let children = cost.take();
    assert_eq!(tree.ancestors(head + 10).await.expect("ancestors").len(), 4);
    let ancestors = cost.take();
    let below = tree.descendants(head).order(Order::Unordered).await;
    assert_eq!(below.expect("descendants").len(), 99);
    let descendants = cost.take();
    assert_eq!(tree.descendant_count(head).await.expect("a count"), 99);
    let count = cost.take();
    tree.insert_child(head + 1, 777_777_777.node())
        .await
        .expect("inserted");
    let insert = cost.take();
    tree.move_to(head + 9, head + 1, Position::Left)
        .await
        .expect("moved");
    let reorder = cost.take();
    tree.move_to(head, 1, Position::FirstChild).await.expect("moved");
    let moved = cost.take();
    assert_eq!(
        tree.delete(head, DeleteMode::Cascade).await.expect("deleted"),
        101
    );
    let deleted = cost.take();
    subject.clear().await;
    Costs {
        children,
        ancestors,
        descendants,
        count,
        insert,
        reorder,
        moved,
        deleted,
    }
}

async fn trees_cost_what_is_asked_and_not_their_size(db: &Db) {
    each_model!(S => {
        let small = costs::<S>(db, 3, 1).await;
        let large = costs::<S>(db, 4, 3).await;
        for (name, small, large) in [
            ("children", small.children, large.children),
            ("ancestors", small.ancestors, large.ancestors),
            ("descendants", small.descendants, large.descendants),
            ("count", small.count, large.count),
        ] {
            assert_eq!(small.reads, 2, "{name}: the node, and one query");
            assert_eq!(small, large, "{name}");
        }
        assert!(small.children.examined <= 10, "{:?}", small.children);
        // The node, its ancestors.
        assert!(small.ancestors.examined <= 5, "{:?}", small.ancestors);
        assert!(small.descendants.examined <= 100, "{:?}", small.descendants);
        for (name, small, large, most) in [
            // The node, its parent in child references, the state.
            ("insert", small.insert, large.insert, 3),
            ("reorder", small.reorder, large.reorder, 22),
            ("move", small.moved, large.moved, 100 + 1 + 3),
            ("delete", small.deleted, large.deleted, 101 + 3),
        ] {
            assert!(small.written <= most, "{name}: {small:?}");
            assert_eq!(small.written, large.written, "{name}");
            assert_eq!(small.reads, large.reads, "{name}");
        }
    });
}
