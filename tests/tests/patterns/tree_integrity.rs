//! What `verify` finds in damaged trees, and what `repair` makes of them.

use std::collections::BTreeSet;

use bson::{Bson, Document, doc};
use odm::Db;
use odm_patterns::tree::{
    ArrayOfAncestors, ChildReference, KeepsOrder, MaterializedPaths, NestedSets, Numbering, Orphans,
    ParentReference, PathStyle, TreeOptions, TreeProblemKind,
};

use odm_tests::each_model;
use odm_tests::tree::{Place, Subject};

crate::on_every_backend! {
    wrong_parents_are_found_and_mended,
    wrong_lists_of_children_are_found_and_mended,
    wrong_ancestors_are_found_and_mended,
    wrong_paths_are_found_and_mended,
    wrong_intervals_are_found_and_mended,
    wrong_places_are_found_and_mended,
    too_deep_a_tree_is_told_and_left,
    siblings_of_equal_keys_are_in_any_order,
    what_is_lost_goes_where_the_option_says,
    rebuilding_a_subtree_leaves_the_rest,
}

/// One way to damage a tree: an update of a node, and what must be found then.
struct Damage {
    name: &'static str,
    id: i64,
    update: Document,
    is_found: fn(&TreeProblemKind) -> bool,
}

fn damage(name: &'static str, id: i64, update: Document, is_found: fn(&TreeProblemKind) -> bool) -> Damage {
    Damage {
        name,
        id,
        update,
        is_found,
    }
}

/// 1 (2 (4, 5), 3 (6)), 7
async fn seeded<S: KeepsOrder>(db: &Db, options: &TreeOptions) -> Subject<i64, S> {
    let subject = Subject::open(db, options.clone()).await;
    for (key, place) in [
        (1, Place::LastRoot),
        (2, Place::LastChild(1)),
        (3, Place::LastChild(1)),
        (4, Place::LastChild(2)),
        (5, Place::LastChild(2)),
        (6, Place::LastChild(3)),
        (7, Place::LastRoot),
    ] {
        subject.insert(key, &place).await.expect("inserted");
    }
    assert_eq!(subject.problems().await, Vec::<String>::new());
    subject
}

async fn ids<S: KeepsOrder>(subject: &Subject<i64, S>) -> BTreeSet<i64> {
    let stored = subject.stored().await;
    stored
        .iter()
        .map(|node| node.get_i64("_id").expect("an id"))
        .collect()
}

/// Damages a sound tree in each way, one after another: it is found, mended, and no node is lost.
async fn mend<S: KeepsOrder>(db: &Db, options: TreeOptions, damages: impl IntoIterator<Item = Damage>) {
    for damage in damages {
        let subject = seeded::<S>(db, &options).await;
        let before = ids(&subject).await;
        let nodes = db.raw_collection("nodes");
        let done = nodes
            .update_one(doc! { "_id": damage.id }, damage.update.clone())
            .await;
        assert_eq!(done.expect("an update").modified, 1, "{}", damage.name);
        mended(&subject, &damage, &before).await;
    }
}

async fn mended<S: KeepsOrder>(subject: &Subject<i64, S>, damage: &Damage, before: &BTreeSet<i64>) {
    let name = damage.name;
    let found = subject.tree.verify().await.expect("a look");
    assert!(
        found.iter().any(|problem| (damage.is_found)(&problem.kind)),
        "{name}: {found:?}"
    );
    let report = subject.tree.repair().await.expect("a repair");
    assert_eq!(report.problems, found, "{name}");
    assert!(report.written > 0, "{name}");
    assert_eq!(subject.problems().await, Vec::<String>::new(), "{name}");
    assert_eq!(&ids(subject).await, before, "{name}: nodes were lost");
    let outline = subject.outline().await.expect("the tree is read");
    assert_eq!(outline.len(), before.len(), "{name}: nodes are out of the tree");
    assert!(subject.tree.repair().await.expect("another").is_clean(), "{name}");
    // It can be changed as before.
    subject.insert(99, &Place::LastChild(6)).await.expect("inserted");
    assert_eq!(subject.problems().await, Vec::<String>::new(), "{name}");
    subject.clear().await;
}

fn links() -> Vec<Damage> {
    let set = |id: i64, parent: Bson| (id, doc! { "$set": { "parent": parent } });
    let (id, update) = set(2, 5_i64.into());
    let circle = damage(
        "a circle",
        id,
        update,
        |kind| matches!(kind, TreeProblemKind::Cycle { nodes } if nodes.len() == 2),
    );
    let (id, update) = set(4, 4_i64.into());
    let own = damage(
        "its own parent",
        id,
        update,
        |kind| matches!(kind, TreeProblemKind::Cycle { nodes } if nodes.len() == 1),
    );
    let (id, update) = set(2, 77_i64.into());
    let orphan = damage(
        "an orphan",
        id,
        update,
        |kind| matches!(kind, TreeProblemKind::Orphan { parent } if *parent == Bson::Int64(77)),
    );
    vec![circle, own, orphan]
}

async fn wrong_parents_are_found_and_mended(db: &Db) {
    mend::<ParentReference>(db, TreeOptions::new(), links()).await;
    mend::<ArrayOfAncestors>(db, TreeOptions::new(), links()).await;
    mend::<MaterializedPaths>(db, TreeOptions::new(), links()).await;
    mend::<NestedSets>(db, TreeOptions::new(), links()).await;
}

async fn wrong_lists_of_children_are_found_and_mended(db: &Db) {
    let list = |children: &[i64]| doc! { "$set": { "children": children } };
    let damages = [
        damage(
            "a missing child",
            2,
            list(&[4, 77, 5]),
            |kind| matches!(kind, TreeProblemKind::MissingChild { child } if *child == Bson::Int64(77)),
        ),
        damage(
            "a child twice",
            2,
            list(&[4, 5, 4]),
            |kind| matches!(kind, TreeProblemKind::DuplicateChild { child } if *child == Bson::Int64(4)),
        ),
        damage(
            "two parents",
            3,
            list(&[6, 4]),
            |kind| matches!(kind, TreeProblemKind::SeveralParents { parents } if parents.len() == 2),
        ),
        damage("a child nobody lists", 2, list(&[4]), |kind| {
            matches!(kind, TreeProblemKind::WrongRoot)
        }),
        damage("a circle", 6, list(&[3]), |kind| {
            matches!(
                kind,
                TreeProblemKind::Cycle { .. } | TreeProblemKind::SeveralParents { .. }
            )
        }),
        damage("a circle of roots", 7, list(&[1]), |kind| {
            matches!(kind, TreeProblemKind::WrongRoot)
        }),
        damage("itself", 5, list(&[5]), |kind| {
            matches!(kind, TreeProblemKind::Cycle { .. })
        }),
    ];
    mend::<ChildReference>(db, TreeOptions::new(), damages).await;
    // A whole circle, which nothing leads to.
    let subject = seeded::<ChildReference>(db, &TreeOptions::new()).await;
    let nodes = db.raw_collection("nodes");
    nodes
        .update_one(doc! { "_id": 1_i64 }, list(&[2]))
        .await
        .expect("an update");
    nodes
        .update_one(doc! { "_id": 6_i64 }, list(&[3]))
        .await
        .expect("an update");
    let before = ids(&subject).await;
    let circle = damage(
        "a circle apart",
        3,
        list(&[6]),
        |kind| matches!(kind, TreeProblemKind::Cycle { nodes } if nodes.len() == 2),
    );
    mended(&subject, &circle, &before).await;
    // The list of roots.
    for roots in [vec![1_i64], vec![1, 7, 7], vec![1, 7, 2], vec![77, 1, 7]] {
        let subject = seeded::<ChildReference>(db, &TreeOptions::new()).await;
        let states = db.raw_collection("nodes_trees");
        let state = states
            .update_one(doc! {}, doc! { "$set": { "roots": &roots } })
            .await;
        assert_eq!(state.expect("an update").modified, 1);
        let found = subject.tree.verify().await.expect("a look");
        let is_found = found
            .iter()
            .any(|problem| problem.kind == TreeProblemKind::WrongRoot);
        assert!(is_found, "{roots:?}: {found:?}");
        subject.tree.repair().await.expect("a repair");
        assert_eq!(subject.problems().await, Vec::<String>::new(), "{roots:?}");
        assert_eq!(subject.outline().await.expect("a read").len(), 7);
        subject.clear().await;
    }
}

async fn wrong_ancestors_are_found_and_mended(db: &Db) {
    let damages = [
        damage(
            "ancestors left out",
            4,
            doc! { "$set": { "ancestors": [2_i64] } },
            |kind| matches!(kind, TreeProblemKind::WrongAncestors { expected } if expected.len() == 2),
        ),
        damage(
            "ancestors in another order",
            4,
            doc! { "$set": { "ancestors": [2_i64, 1_i64] } },
            |kind| matches!(kind, TreeProblemKind::ParentDisagrees { other, .. } if *other == Bson::Int64(1)),
        ),
        damage(
            "no ancestors",
            4,
            doc! { "$unset": { "ancestors": "" } },
            |kind| {
                matches!(
                    kind,
                    TreeProblemKind::WrongAncestors { .. } | TreeProblemKind::ParentDisagrees { .. }
                )
            },
        ),
        damage(
            "another parent",
            4,
            doc! { "$set": { "parent": 3_i64 } },
            |kind| matches!(kind, TreeProblemKind::ParentDisagrees { parent, .. } if *parent == Bson::Int64(3)),
        ),
    ];
    mend::<ArrayOfAncestors>(db, TreeOptions::new(), damages).await;
}

async fn wrong_paths_are_found_and_mended(db: &Db) {
    let path = |path: Bson| doc! { "$set": { "path": path } };
    let damages = [
        damage(
            "a segment left out",
            4,
            path(",2,".into()),
            |kind| matches!(kind, TreeProblemKind::WrongPath { expected: Some(path), .. } if path == ",1,2,"),
        ),
        damage(
            "another path",
            4,
            path(",1,3,".into()),
            |kind| matches!(kind, TreeProblemKind::ParentDisagrees { other, .. } if *other == Bson::Int64(3)),
        ),
        damage("no path", 4, doc! { "$unset": { "path": "" } }, |kind| {
            matches!(
                kind,
                TreeProblemKind::ParentDisagrees { .. } | TreeProblemKind::WrongPath { .. }
            )
        }),
        damage("a number", 4, path(5.into()), |kind| {
            matches!(
                kind,
                TreeProblemKind::ParentDisagrees { .. } | TreeProblemKind::WrongPath { .. }
            )
        }),
    ];
    mend::<MaterializedPaths>(db, TreeOptions::new(), damages).await;
    let damages = [
        damage("a path twice", 4, path("1:2:5".into()), |kind| {
            matches!(kind, TreeProblemKind::DuplicatePath { .. })
        }),
        damage("another depth", 4, doc! { "$set": { "depth": 7 } }, |kind| {
            matches!(
                kind,
                TreeProblemKind::WrongDepth {
                    depth: Some(7),
                    expected: 3
                }
            )
        }),
        damage("no depth", 4, doc! { "$unset": { "depth": "" } }, |kind| {
            matches!(kind, TreeProblemKind::WrongDepth { depth: None, .. })
        }),
    ];
    let options = TreeOptions::new().path_style(PathStyle::Threaded);
    mend::<MaterializedPaths>(db, options, damages).await;
}

async fn wrong_intervals_are_found_and_mended(db: &Db) {
    let dense = TreeOptions::new().numbering(Numbering::Dense);
    // 1: 1-12, 2: 2-7, 4: 3-4, 5: 5-6, 3: 8-11, 6: 9-10, 7: 13-14
    let set = |left: i64, right: i64| doc! { "$set": { "left": left, "right": right } };
    let damages = [
        damage("no number", 4, doc! { "$unset": { "left": "" } }, |kind| {
            matches!(kind, TreeProblemKind::MissingInterval)
        }),
        damage("a text", 4, doc! { "$set": { "left": "x" } }, |kind| {
            matches!(kind, TreeProblemKind::MissingInterval)
        }),
        damage("an end before the beginning", 4, set(4, 3), |kind| {
            matches!(kind, TreeProblemKind::InvertedInterval { left: 4, right: 3 })
        }),
        damage(
            "behind all",
            4,
            set(20, 21),
            |kind| matches!(kind, TreeProblemKind::OutsideParent { parent } if *parent == Bson::Int64(2)),
        ),
        damage("across a border", 3, set(6, 11), |kind| {
            matches!(kind, TreeProblemKind::IntervalOverlap { .. })
        }),
        damage("the same twice", 4, set(5, 6), |kind| {
            matches!(kind, TreeProblemKind::IntervalOverlap { .. })
        }),
        damage("inside another", 6, set(3, 4), |kind| {
            matches!(
                kind,
                TreeProblemKind::IntervalOverlap { .. } | TreeProblemKind::OutsideParent { .. }
            )
        }),
        damage(
            "another parent",
            4,
            doc! { "$set": { "parent": 1_i64 } },
            |kind| matches!(kind, TreeProblemKind::ParentDisagrees { parent, .. } if *parent == Bson::Int64(1)),
        ),
        damage("numbers left out", 7, set(23, 24), |kind| {
            matches!(kind, TreeProblemKind::Gap)
        }),
    ];
    mend::<NestedSets>(db, dense, damages).await;
    let gaps = [damage("all the same", 4, set(0, 0), |kind| {
        matches!(kind, TreeProblemKind::InvertedInterval { .. })
    })];
    mend::<NestedSets>(db, TreeOptions::new(), gaps).await;
}

async fn wrong_places_are_found_and_mended(db: &Db) {
    let damages = || {
        [
            damage("no place", 2, doc! { "$unset": { "position": "" } }, |kind| {
                matches!(kind, TreeProblemKind::MissingPosition)
            }),
            damage(
                "the same place",
                3,
                doc! { "$set": { "position": 0_i64 } },
                |kind| matches!(kind, TreeProblemKind::DuplicatePosition { .. }),
            ),
        ]
    };
    mend::<ParentReference>(db, TreeOptions::new(), damages()).await;
    mend::<ArrayOfAncestors>(db, TreeOptions::new(), damages()).await;
    mend::<MaterializedPaths>(db, TreeOptions::new(), damages()).await;
    each_model!(S => {
        // The names are in the order of the keys, but "node 3" now comes first.
        let options = TreeOptions::new().sort_key(doc! { "name": 1 });
        mend::<S>(db, options, [damage("out of order", 3, doc! { "$set": { "name": "a" } }, |kind| {
            matches!(kind, TreeProblemKind::OutOfOrder { other } if *other == Bson::Int64(2))
        })]).await;
    });
}

/// Numbers of two types, and what is null and what is missing, have no order among them: siblings stand as they like.
async fn siblings_of_equal_keys_are_in_any_order(db: &Db) {
    let options = TreeOptions::new().sort_key(doc! { "weight": 1 });
    let nodes = db.raw_collection("nodes");
    let pairs: [[Document; 2]; 4] = [
        [doc! { "weight": 2 }, doc! { "weight": 2.0 }],
        [doc! { "weight": f64::NAN }, doc! { "weight": f64::NAN }],
        [doc! { "weight": Bson::Null }, doc! {}],
        [doc! {}, doc! { "weight": Bson::Null }],
    ];
    for pair in pairs {
        let subject = seeded::<ParentReference>(db, &options).await;
        for (id, position, weight) in [(2, 1, &pair[0]), (3, 0, &pair[1])] {
            let mut set = doc! { "position": i64::from(position) };
            set.extend(weight.clone());
            let update = doc! { "$set": set };
            nodes
                .update_one(doc! { "_id": id }, update)
                .await
                .expect("an update");
        }
        assert_eq!(subject.problems().await, Vec::<String>::new(), "{pair:?}");
        subject.clear().await;
    }
}

async fn too_deep_a_tree_is_told_and_left(db: &Db) {
    let subject = seeded::<ParentReference>(db, &TreeOptions::new()).await;
    let shallow = Subject::<i64, ParentReference>::open(db, TreeOptions::new().max_depth(2)).await;
    let found = shallow.tree.verify().await.expect("a look");
    let deep = found
        .iter()
        .filter(|problem| problem.kind == TreeProblemKind::TooDeep { depth: 3 });
    assert_eq!(deep.count(), 3, "{found:?}");
    shallow.tree.repair().await.expect("a repair");
    assert_eq!(subject.problems().await, Vec::<String>::new());
    assert_eq!(subject.outline().await.expect("a read").len(), 7);
}

async fn what_is_lost_goes_where_the_option_says(db: &Db) {
    let options = TreeOptions::new().orphans(Orphans::GoUnder(Bson::Int64(7)));
    let subject = seeded::<NestedSets>(db, &options).await;
    let nodes = db.raw_collection("nodes");
    nodes
        .update_one(doc! { "_id": 2_i64 }, doc! { "$set": { "parent": 77_i64 } })
        .await
        .expect("an update");
    subject.tree.repair().await.expect("a repair");
    assert_eq!(subject.problems().await, Vec::<String>::new());
    let outline = subject.outline().await.expect("a read");
    let keys: Vec<i64> = outline.into_iter().map(|(key, ..)| key).collect();
    assert_eq!(keys, [1, 3, 6, 7, 2, 4, 5]);
}

async fn rebuilding_a_subtree_leaves_the_rest(db: &Db) {
    let subject = seeded::<MaterializedPaths>(db, &TreeOptions::new()).await;
    let nodes = db.raw_collection("nodes");
    for id in [4_i64, 6] {
        let wrong = doc! { "$set": { "path": ",x," } };
        nodes
            .update_one(doc! { "_id": id }, wrong)
            .await
            .expect("an update");
    }
    assert_eq!(subject.tree.rebuild_below(2).await.expect("a rebuild"), 1);
    assert_eq!(
        subject.tree.path_of(4).await.expect("a path").as_deref(),
        Some(",1,2,")
    );
    assert_eq!(
        subject.tree.path_of(6).await.expect("a path").as_deref(),
        Some(",x,")
    );
    assert_eq!(subject.tree.rebuild().await.expect("a rebuild"), 1);
    assert_eq!(subject.problems().await, Vec::<String>::new());
    assert_eq!(subject.tree.rebuild().await.expect("a rebuild"), 0);
}
