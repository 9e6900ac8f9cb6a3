//! What trees store, and what they make of the unexpected: shapes of the manual written by hand, hostile ids, missing
//! ids, tenants.

use bson::{Bson, Document, doc};
use odm::Db;
use odm_patterns::tree::{
    ArrayOfAncestors, Branch, ByKey, ChildReference, DeleteMode, KeepsOrder, MaterializedPaths, NestedSets,
    Numbering, ParentReference, PathStyle, Position, Tree, TreeError, TreeModel, TreeOptions,
};

use odm_tests::each_model;
use odm_tests::tree::{Forest, Named, Numbered, Place, Stored as _, Subject};

crate::on_every_backend! {
    parent_references_of_the_manual_are_adopted,
    child_references_of_the_manual_are_adopted,
    arrays_of_ancestors_of_the_manual_are_adopted,
    paths_of_the_manual_are_adopted,
    threads_of_comments_are_adopted,
    nested_sets_of_the_manual_are_adopted,
    hostile_ids_are_ids_like_others,
    an_empty_id_is_refused_where_it_would_leave_no_trace,
    what_is_missing_is_an_error_and_never_everything,
    trees_of_tenants_are_apart,
    wrong_options_are_told,
    limits_of_depth_and_length_are_kept,
}

/// Each node of the manual's example with its parent's.
const MANUAL: [(&str, Option<&str>); 6] = [
    ("Books", None),
    ("Programming", Some("Books")),
    ("Databases", Some("Programming")),
    ("Languages", Some("Programming")),
    ("MongoDB", Some("Databases")),
    ("dbm", Some("Databases")),
];

fn forest() -> Forest<String> {
    let mut forest = Forest::default();
    for (key, parent) in MANUAL {
        let place = match parent {
            Some(parent) => Place::LastChild(parent.to_owned()),
            None => Place::LastRoot,
        };
        forest.insert(key.to_owned(), &place).expect("inserted");
    }
    forest
}

async fn write(db: &Db, documents: impl IntoIterator<Item = Document>) {
    let names = db.raw_collection("names");
    names.insert_many(documents).await.expect("written by hand");
}

async fn stored(db: &Db, id: &str) -> Document {
    let found = db.raw_collection("names").find_one(doc! { "_id": id }).await;
    found.expect("a read").expect("it is there")
}

/// Every read of every pair of nodes is as in the manual's example.
async fn is_the_manuals<S: KeepsOrder>(db: &Db, options: TreeOptions) -> Subject<String, S> {
    let subject = Subject::<String, S>::open(db, options).await;
    assert_eq!(subject.problems().await, Vec::<String>::new());
    let forest = forest();
    assert_eq!(subject.outline().await, Ok(forest.outline()));
    for (key, _) in MANUAL {
        for (other, _) in MANUAL {
            let read = subject.reads(&forest, &key.to_owned(), &other.to_owned()).await;
            assert_eq!(read, Ok(()));
        }
    }
    subject
}

/// The same where siblings have no places: by `_id` they come in the manual's order.
async fn is_the_manuals_by_key<S: TreeModel>(db: &Db, options: TreeOptions) -> Tree<Named, S> {
    let tree = Tree::<Named, S>::open(db, options).await.expect("it opens");
    assert_eq!(tree.verify().await.expect("a look"), []);
    let forest = forest();
    let names = |nodes: Vec<Named>| -> Vec<String> { nodes.into_iter().map(|node| node.id).collect() };
    for (key, _) in MANUAL {
        let own = key.to_owned();
        assert_eq!(
            names(tree.children(key).await.expect("children")),
            forest.children(&own),
            "{key}"
        );
        assert_eq!(
            names(tree.ancestors(key).await.expect("ancestors")),
            forest.ancestors(&own),
            "{key}"
        );
        let below = names(tree.descendants(key).await.expect("descendants"));
        assert_eq!(below, forest.descendants(&own), "{key}");
    }
    assert_eq!(names(tree.roots().await.expect("roots")), ["Books"]);
    tree
}

async fn parent_references_of_the_manual_are_adopted(db: &Db) {
    write(
        db,
        MANUAL.map(|(id, parent)| doc! { "_id": id, "parent": parent }),
    )
    .await;
    let tree = is_the_manuals_by_key::<ParentReference<ByKey>>(db, TreeOptions::new()).await;
    let perl = Named { id: "Perl".into() };
    tree.insert_child("Languages", perl).await.expect("inserted");
    assert_eq!(
        stored(db, "Perl").await,
        doc! { "_id": "Perl", "parent": "Languages" }
    );
    // With places, they are missing, and repair gives them.
    let tree = Tree::<Named, ParentReference>::open(db, TreeOptions::new())
        .await
        .expect("it opens");
    assert_eq!(tree.verify().await.expect("a look").len(), 7);
    tree.repair().await.expect("a repair");
    tree.delete("Perl", DeleteMode::Refuse).await.expect("deleted");
    is_the_manuals::<ParentReference>(db, TreeOptions::new()).await;
}

async fn child_references_of_the_manual_are_adopted(db: &Db) {
    let forest = forest();
    write(
        db,
        MANUAL.map(|(id, _)| doc! { "_id": id, "children": forest.children(&id.to_owned()) }),
    )
    .await;
    let subject = is_the_manuals::<ChildReference>(db, TreeOptions::new()).await;
    subject
        .insert("Perl".to_owned(), &Place::FirstChild("Programming".to_owned()))
        .await
        .expect("inserted");
    assert_eq!(
        stored(db, "Programming").await,
        doc! { "_id": "Programming", "children": ["Perl", "Databases", "Languages"] }
    );
    assert_eq!(stored(db, "Perl").await, doc! { "_id": "Perl", "children": [] });
}

async fn arrays_of_ancestors_of_the_manual_are_adopted(db: &Db) {
    let forest = forest();
    let document = |(id, parent): (&str, Option<&str>)| {
        doc! { "_id": id, "ancestors": forest.ancestors(&id.to_owned()), "parent": parent }
    };
    write(db, MANUAL.map(document)).await;
    let tree = is_the_manuals_by_key::<ArrayOfAncestors<ByKey>>(db, TreeOptions::new()).await;
    let perl = Named { id: "Perl".into() };
    tree.insert_child("Languages", perl).await.expect("inserted");
    assert_eq!(
        stored(db, "Perl").await,
        doc! { "_id": "Perl", "parent": "Languages", "ancestors": ["Books", "Programming", "Languages"] }
    );
    tree.move_under("Languages", "Books").await.expect("moved");
    assert_eq!(
        stored(db, "Perl").await.get_array("ancestors").ok(),
        Some(&vec!["Books".into(), "Languages".into()])
    );
}

async fn paths_of_the_manual_are_adopted(db: &Db) {
    let forest = forest();
    for (style, delimiter) in [(PathStyle::Enclosed, ","), (PathStyle::Trailing, "")] {
        let document = |(id, _): (&str, Option<&str>)| {
            let above = forest.ancestors(&id.to_owned());
            let path = (!above.is_empty()).then(|| format!("{delimiter}{},", above.join(",")));
            doc! { "_id": id, "path": path }
        };
        write(db, MANUAL.map(document)).await;
        let options = TreeOptions::new().path_style(style);
        let tree = Tree::<Named, MaterializedPaths<ByKey>>::open(db, options.clone())
            .await
            .expect("it opens");
        // What the manual leaves out is said, and added.
        tree.repair().await.expect("a repair");
        let tree_options = options.clone();
        drop(tree);
        let tree = is_the_manuals_by_key::<MaterializedPaths<ByKey>>(db, tree_options).await;
        let perl = Named { id: "Perl".into() };
        tree.insert_child("Languages", perl).await.expect("inserted");
        let path = format!("{delimiter}Books,Programming,Languages,");
        assert_eq!(stored(db, "Perl").await.get_str("path").ok(), Some(path.as_str()));
        db.raw_collection("names").drop().await.expect("dropped");
        db.raw_collection("names_trees").drop().await.expect("dropped");
    }
}

async fn threads_of_comments_are_adopted(db: &Db) {
    let comments = [
        ("34db", "34db", 1),
        ("8bda", "34db:8bda", 2),
        ("a210", "34db:8bda:a210", 3),
        ("c0de", "34db:c0de", 2),
        ("ffff", "ffff", 1),
    ];
    write(
        db,
        comments.map(|(id, path, depth)| doc! { "_id": id, "path": path, "depth": depth }),
    )
    .await;
    let options = TreeOptions::new().path_style(PathStyle::Threaded);
    let tree = Tree::<Named, MaterializedPaths<ByKey>>::open(db, options)
        .await
        .expect("it opens");
    let expected: Vec<(String, usize)> = comments
        .iter()
        .map(|(id, _, depth)| ((*id).to_owned(), *depth as usize))
        .collect();
    let (logged, log) = db.logged();
    let page = tree.within(&logged).threaded_page(0, 0).await.expect("a page");
    let found: Vec<(String, usize)> = page.into_iter().map(|(node, depth)| (node.id, depth)).collect();
    assert_eq!(found, expected);
    assert_eq!(log.round_trips(), 1);
    tree.repair().await.expect("a repair");
    let threads = tree.threaded().await.expect("threads");
    assert_eq!(
        threads
            .into_iter()
            .map(|(node, depth)| (node.id, depth))
            .collect::<Vec<_>>(),
        expected
    );
    tree.insert_child("8bda", Named { id: "beef".into() })
        .await
        .expect("a reply");
    let reply = stored(db, "beef").await;
    assert_eq!(reply.get_str("path").ok(), Some("34db:8bda:beef"));
    assert_eq!(reply.get_i32("depth").ok(), Some(3));
}

async fn nested_sets_of_the_manual_are_adopted(db: &Db) {
    let numbers = [(1, 12), (2, 11), (3, 8), (9, 10), (4, 5), (6, 7)];
    let documents = MANUAL.iter().zip(numbers).map(|((id, parent), (left, right))| {
        // The manual's root has 0 as its parent.
        let parent = parent.map_or(Bson::Int32(0), Bson::from);
        doc! { "_id": *id, "parent": parent, "left": left, "right": right }
    });
    write(db, documents).await;
    let options = TreeOptions::new().numbering(Numbering::Dense);
    let tree = Tree::<Named, NestedSets>::open(db, options.clone())
        .await
        .expect("it opens");
    let below = tree.descendants("Databases").await.expect("descendants");
    assert_eq!(
        below.into_iter().map(|node| node.id).collect::<Vec<_>>(),
        ["MongoDB", "dbm"]
    );
    tree.repair().await.expect("a repair");
    let subject = is_the_manuals::<NestedSets>(db, options).await;
    assert_eq!(stored(db, "Books").await.get("parent"), Some(&Bson::Null));
    subject
        .insert("Perl".to_owned(), &Place::LastChild("Languages".to_owned()))
        .await
        .expect("inserted");
    assert_eq!(subject.tree.interval_of("Perl").await.expect("numbers"), (10, 11));
    assert_eq!(subject.tree.interval_of("Books").await.expect("numbers"), (1, 14));
    assert_eq!(subject.problems().await, Vec::<String>::new());
}

/// Ids that would be mistaken for something in a path, a pattern or an update.
const HOSTILE: [&str; 30] = [
    "1",
    "10",
    "100",
    ",",
    ",,",
    "a,b",
    ",a,",
    "\\",
    "\\,",
    "~",
    "~2c",
    "~~",
    ".*",
    "^",
    "$",
    "(",
    "[a-z]",
    "|",
    "$where",
    "a.b",
    ".",
    " ",
    "é",
    "日本語",
    "😀",
    "\u{7f}",
    "-",
    ":",
    "a:b",
    "\u{10ffff}",
];

async fn hostile_ids_are_ids_like_others(db: &Db) {
    each_model!(S => {
        let subject = Subject::<String, S>::open(db, TreeOptions::new()).await;
        let mut forest = Forest::default();
        let mut branches = Vec::new();
        for id in HOSTILE {
            let key = id.to_owned();
            let below = format!("<{id}>");
            forest.insert(key.clone(), &Place::LastRoot).expect("inserted");
            forest.insert(below.clone(), &Place::LastChild(key.clone())).expect("inserted");
            branches.push(Branch::new(key.node(), [Branch::leaf(below.node())]));
        }
        subject.tree.load(branches).await.expect("loaded");
        // Each under the one before it, so that one path holds them all.
        for pair in HOSTILE.windows(2) {
            let (key, place) = (pair[1].to_owned(), Place::FirstChild(pair[0].to_owned()));
            forest.shift(&key, &place).expect("moved");
            subject.shift(&key, &place).await.expect("moved");
        }
        assert_eq!(subject.outline().await, Ok(forest.outline()));
        assert_eq!(subject.problems().await, Vec::<String>::new());
        let keys: Vec<String> = forest.keys().cloned().collect();
        let step = if db.backend_name() == "mongodb" { 12 } else { 1 };
        for (key, other) in keys.iter().zip(keys.iter().rev()).step_by(step) {
            assert_eq!(subject.reads(&forest, key, other).await, Ok(()));
        }
        subject.clear().await;
    });
}

async fn an_empty_id_is_refused_where_it_would_leave_no_trace(db: &Db) {
    each_model!(S => {
        let tree = Tree::<Named, S>::open(db, TreeOptions::new()).await.expect("it opens");
        let inserted = tree.insert_root(Named { id: String::new() }).await;
        let is_path = format!("{tree:?}").contains("materialized_paths");
        match inserted {
            Err(TreeError::Segment { .. }) if is_path => assert_eq!(tree.len().await.expect("a count"), 0),
            Ok(()) if !is_path => drop(tree.delete("", DeleteMode::Cascade).await.expect("deleted")),
            other => panic!("{other:?}"),
        }
    });
}

async fn what_is_missing_is_an_error_and_never_everything(db: &Db) {
    each_model!(S => {
        let subject = Subject::<i64, S>::open(db, TreeOptions::new()).await;
        for (key, place) in [(1, Place::LastRoot), (2, Place::LastChild(1)), (3, Place::LastChild(2))] {
            subject.insert(key, &place).await.expect("inserted");
        }
        let before = subject.stored().await;
        let tree = &subject.tree;
        macro_rules! missing {
            ($($call:expr),* $(,)?) => {$(
                let error = $call.await.map(drop).expect_err(stringify!($call));
                assert!(matches!(error, TreeError::NotFound { id: Bson::Int64(9), .. }), "{error:?}");
                assert_eq!(error.kind(), odm::ErrorKind::NotFound);
            )*};
        }
        let node = |id: i64| id.node();
        missing!(
            tree.parent(9), tree.root_of(9), tree.ancestors(9), tree.children(9), tree.child_count(9),
            tree.siblings(9), tree.descendants(9), tree.descendant_count(9), tree.leaves(9), tree.depth(9),
            tree.lowest_common_ancestor(9, 1), tree.lowest_common_ancestor(1, 9), tree.is_root(9), tree.is_leaf(9),
            tree.is_child_of(9, 1), tree.is_child_of(1, 9), tree.is_sibling_of(9, 1), tree.is_sibling_of(1, 9),
            tree.is_ancestor_of(9, 1), tree.is_ancestor_of(1, 9), tree.is_descendant_of(9, 1),
            tree.is_descendant_of(1, 9), tree.branch(9), tree.annotated_below(9), tree.rebuild_below(9),
            tree.insert_child(9, node(5)), tree.insert_at(node(5), 9, Position::Left),
            tree.load_under(9, vec![Branch::leaf(node(5))]), tree.move_under(9, 1), tree.move_under(1, 9),
            tree.move_to(9, 1, Position::Right), tree.move_to(1, 9, Position::Right), tree.move_to_root(9),
            tree.copy_under(9, 1, Clone::clone), tree.rename(9, 5), tree.reorder(9, [1]),
            tree.delete(9, DeleteMode::Cascade), tree.delete(9, DeleteMode::Adopt),
            tree.delete(9, DeleteMode::MakeRoots), tree.delete(9, DeleteMode::Refuse),
        );
        assert_eq!(tree.get(9).await.expect("a read"), None);
        assert_eq!(subject.stored().await, before);
        assert_eq!(subject.problems().await, Vec::<String>::new());
        subject.clear().await;
    });
}

async fn trees_of_tenants_are_apart(db: &Db) {
    each_model!(S => {
        let options = |tenant: i32| TreeOptions::new().tenant("shop", tenant);
        let one = Subject::<i64, S>::open(db, options(1)).await;
        let two = Subject::<i64, S>::open(db, options(2)).await;
        let (mut first, mut second) = (Forest::default(), Forest::default());
        for key in 1..8 {
            let (place, moved) = match key {
                1 => (Place::LastRoot, Place::LastRoot),
                key => (Place::FirstChild(key / 2), Place::FirstChild(key / 2 + 100)),
            };
            first.insert(key, &place).expect("inserted");
            one.insert(key, &place).await.expect("inserted");
            second.insert(key + 100, &moved).expect("inserted");
            two.insert(key + 100, &moved).await.expect("inserted");
        }
        for (subject, forest, own, foreign) in [(&one, &first, 2, 102), (&two, &second, 102, 2)] {
            assert_eq!(subject.outline().await, Ok(forest.outline()));
            assert_eq!(subject.problems().await, Vec::<String>::new());
            assert_eq!(subject.reads(forest, &own, &(own + 1)).await, Ok(()));
            let tree = &subject.tree;
            assert_eq!(tree.get(foreign).await.expect("a read"), None);
            for error in [
                tree.delete(foreign, DeleteMode::Cascade).await.map(drop),
                tree.move_under(foreign, own).await,
                tree.move_under(own, foreign).await,
                tree.insert_child(foreign, 999.node()).await,
                tree.rename(foreign, 999).await,
            ] {
                assert!(matches!(error, Err(TreeError::NotFound { .. })), "{error:?}");
            }
        }
        // A key of another tenant's is one of the collection's all the same.
        let error = one.tree.insert_root(102.node()).await.expect_err("it is there");
        assert!(matches!(error, TreeError::DuplicateKey { .. }), "{error:?}");
        one.tree.delete(1, DeleteMode::Cascade).await.expect("deleted");
        assert_eq!(one.tree.len().await.expect("a count"), 0);
        assert_eq!(two.outline().await, Ok(second.outline()));
        one.clear().await;
    });
}

async fn wrong_options_are_told(db: &Db) {
    for (options, expected) in [
        (TreeOptions::new().parent_field("a.b"), "field"),
        (TreeOptions::new().parent_field("_id"), "field"),
        (TreeOptions::new().parent_field("position"), "field"),
        (TreeOptions::new().parent_field(""), "field"),
        (TreeOptions::new().max_depth(0), "max_depth"),
        (TreeOptions::new().delimiter("ab"), "delimiter"),
        (TreeOptions::new().delimiter("~"), "delimiter"),
        (TreeOptions::new().state_collection("nodes"), "collection"),
        (TreeOptions::new().sort_key(doc! { "name": "up" }), "sort_key"),
    ] {
        let opened = Tree::<Numbered, MaterializedPaths>::open(db, options).await;
        match opened {
            Err(TreeError::InvalidOption { option, .. }) => assert_eq!(option, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
}

async fn limits_of_depth_and_length_are_kept(db: &Db) {
    each_model!(S => {
        let options = TreeOptions::new().max_depth(3);
        let subject = Subject::<i64, S>::open(db, options).await;
        for (key, place) in [
            (1, Place::LastRoot),
            (2, Place::LastChild(1)),
            (3, Place::LastChild(2)),
            (11, Place::LastRoot),
            (12, Place::LastChild(11)),
        ] {
            subject.insert(key, &place).await.expect("inserted");
        }
        let deep = |error: Result<(), TreeError>| {
            assert!(matches!(error, Err(TreeError::TooDeep { depth: 4, limit: 3, .. })), "{error:?}");
        };
        deep(subject.tree.insert_child(3, 4.node()).await);
        deep(subject.tree.move_under(11, 2).await);
        deep(subject.tree.copy_under(11, 2, |node| (node.id + 50).node()).await.map(drop));
        subject.tree.move_under(12, 2).await.expect("three are allowed");
        assert_eq!(subject.problems().await, Vec::<String>::new());
        subject.clear().await;
    });
    let options = TreeOptions::new().max_path_bytes(20);
    let tree = Tree::<Named, MaterializedPaths>::open(db, options)
        .await
        .expect("it opens");
    tree.insert_root("0123456789".to_owned().node())
        .await
        .expect("inserted");
    tree.insert_child("0123456789", "abcdefghij".to_owned().node())
        .await
        .expect("inserted");
    let error = tree
        .insert_child("abcdefghij", "x".to_owned().node())
        .await
        .expect_err("too long");
    assert!(
        matches!(
            error,
            TreeError::PathTooLong {
                bytes: 23,
                limit: 20,
                ..
            }
        ),
        "{error:?}"
    );
}
