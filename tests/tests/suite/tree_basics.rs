//! Trees: the stored shapes, every operation, and what each refuses, in all five models.

use odm::bson::{Bson, Document, doc};
use odm::{Db, ErrorKind, Id, Model};
use odm_patterns::tree::{
    ArrayOfAncestors, Branch, ByKey, ChildReference, DeleteMode, KeepsOrder, MaterializedPaths, NestedSets,
    Numbering, Order, ParentReference, PathStyle, Position, Tree, TreeError, TreeModel, TreeOptions,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    nodes_are_stored_as_in_the_manual,
    trees_of_the_manual_are_adopted,
    nodes_are_read_in_every_direction,
    nodes_go_to_every_position,
    what_cannot_be_is_refused_and_changes_nothing,
    children_of_a_deleted_node_are_cared_for,
    nodes_are_renamed_and_copied,
    chains_are_found_or_created_once,
    trees_load_flat_and_become_other_models,
    trees_share_a_collection_and_a_transaction,
    siblings_stand_by_a_key,
    ids_are_of_any_type,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "categories")]
struct Category {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
}

fn category(id: &str) -> Category {
    Category {
        id: id.into(),
        title: id.to_lowercase(),
    }
}

fn leaf(id: &str) -> Branch<Category> {
    Branch::leaf(category(id))
}

fn branch(id: &str, children: impl IntoIterator<Item = Branch<Category>>) -> Branch<Category> {
    Branch::new(category(id), children)
}

/// The tree of the manual.
fn books() -> Branch<Category> {
    branch(
        "Books",
        [branch(
            "Programming",
            [
                leaf("Languages"),
                branch("Databases", [leaf("MongoDB"), leaf("dbm")]),
            ],
        )],
    )
}

fn ids(nodes: &[Category]) -> Vec<&str> {
    nodes.iter().map(|node| node.id.as_str()).collect()
}

/// The tree as one line: `Books(Programming(Languages Databases))`.
async fn shown<S: TreeModel>(tree: &Tree<Category, S>) -> String {
    fn show(branches: &[Branch<Category>]) -> String {
        let shown = branches.iter().map(|branch| match branch.children.as_slice() {
            [] => branch.node.id.clone(),
            children => format!("{}({})", branch.node.id, show(children)),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
    show(&tree.branches().await.unwrap())
}

async fn sound<S: TreeModel>(tree: &Tree<Category, S>, expected: &str) {
    assert_eq!(shown(tree).await, expected, "{tree:?}");
    assert_eq!(tree.verify().await.unwrap(), [], "{tree:?}: {expected}");
}

/// A collection of its own for each model.
fn options(name: &str) -> TreeOptions {
    TreeOptions::new().collection(name)
}

async fn tree<S: TreeModel>(db: &Db, options: TreeOptions) -> Tree<Category, S> {
    let tree = Tree::open(db, options).await.unwrap();
    tree.load(vec![books()]).await.unwrap();
    tree
}

macro_rules! in_all_models {
    ($case:ident($db:expr)) => {
        $case::<ParentReference>($db, options("parents")).await;
        $case::<ChildReference>($db, options("children")).await;
        $case::<ArrayOfAncestors>($db, options("ancestors")).await;
        $case::<MaterializedPaths>($db, options("paths")).await;
        $case::<MaterializedPaths>($db, options("trailing").path_style(PathStyle::Trailing)).await;
        $case::<MaterializedPaths>($db, options("threaded").path_style(PathStyle::Threaded)).await;
        $case::<NestedSets>($db, options("nested")).await;
        $case::<NestedSets>($db, options("dense").numbering(Numbering::Dense)).await;
        $case::<MaterializedPaths>($db, options("ahead").write_ahead().tenant("shop", 7)).await;
        $case::<ChildReference>($db, options("listed").write_ahead().tenant("shop", 7)).await;
    };
}

async fn stored(db: &Db, collection: &str, id: &str) -> Document {
    let found = db
        .raw_collection(collection)
        .find_one(doc! { "_id": id })
        .await
        .unwrap();
    let mut found = found.expect("the node is stored");
    found.remove("title");
    found
}

async fn nodes_are_stored_as_in_the_manual(db: &Db) {
    tree::<ParentReference<ByKey>>(db, options("parents")).await;
    assert_eq!(
        stored(db, "parents", "MongoDB").await,
        doc! { "_id": "MongoDB", "parent": "Databases" }
    );
    assert_eq!(
        stored(db, "parents", "Books").await,
        doc! { "_id": "Books", "parent": null }
    );

    tree::<ChildReference>(db, options("children")).await;
    let databases = doc! { "_id": "Databases", "children": ["MongoDB", "dbm"] };
    assert_eq!(stored(db, "children", "Databases").await, databases);
    assert_eq!(
        stored(db, "children", "MongoDB").await,
        doc! { "_id": "MongoDB", "children": [] }
    );

    tree::<ArrayOfAncestors<ByKey>>(db, options("ancestors")).await;
    let above = ["Books", "Programming", "Databases"];
    let mongodb = doc! { "_id": "MongoDB", "parent": "Databases", "ancestors": above };
    assert_eq!(stored(db, "ancestors", "MongoDB").await, mongodb);

    tree::<MaterializedPaths<ByKey>>(db, options("paths")).await;
    let path = ",Books,Programming,Databases,";
    let mongodb = doc! { "_id": "MongoDB", "parent": "Databases", "path": path };
    assert_eq!(stored(db, "paths", "MongoDB").await, mongodb);
    let root = doc! { "_id": "Books", "parent": null, "path": null };
    assert_eq!(stored(db, "paths", "Books").await, root);

    let threads = options("threads").path_style(PathStyle::Threaded);
    tree::<MaterializedPaths<ByKey>>(db, threads).await;
    let path = "Books:Programming:Databases:dbm";
    let dbm = doc! { "_id": "dbm", "parent": "Databases", "path": path, "depth": 4 };
    assert_eq!(stored(db, "threads", "dbm").await, dbm);

    tree::<NestedSets>(db, options("nested").numbering(Numbering::Dense)).await;
    let databases = doc! { "_id": "Databases", "parent": "Programming", "left": 5_i64, "right": 10_i64 };
    assert_eq!(stored(db, "nested", "Databases").await, databases);
}

async fn trees_of_the_manual_are_adopted(db: &Db) {
    let all = [
        ("Books", None),
        ("Programming", Some("Books")),
        ("10", Some("Programming")),
        ("1", Some("Programming")),
    ];
    let paths = [
        None,
        Some(",Books,"),
        Some(",Books,Programming,"),
        Some(",Books,Programming,"),
    ];
    let documents: Vec<Document> = all
        .iter()
        .zip(paths)
        .map(|((id, _), path)| doc! { "_id": *id, "path": path })
        .collect();
    db.raw_collection("paths").insert_many(&documents).await.unwrap();
    let tree = Tree::<Category, MaterializedPaths<ByKey>>::open(db, options("paths"))
        .await
        .unwrap();
    // The manual has no `parent` beside the path: verification names it, repair adds it.
    assert_eq!(tree.verify().await.unwrap().len(), 3);
    tree.repair().await.unwrap();
    sound(&tree, "Books(Programming(1 10))").await;
    assert_eq!(tree.children("Books").await.unwrap().len(), 1);
    assert_eq!(tree.parent("10").await.unwrap().unwrap().id, "Programming");
    assert_eq!(
        ids(&tree.ancestors("10").await.unwrap()),
        ["Books", "Programming"]
    );

    let children = [
        doc! { "_id": "a", "children": ["c", "b"] },
        doc! { "_id": "b" },
        doc! { "_id": "c" },
    ];
    db.raw_collection("children")
        .insert_many(&children)
        .await
        .unwrap();
    let tree = Tree::<Category, ChildReference>::open(db, options("children"))
        .await
        .unwrap();
    sound(&tree, "a(c b)").await;
    tree.move_to_root("c").await.unwrap();
    sound(&tree, "a(b) c").await;

    let nested = [
        doc! { "_id": "a", "parent": null, "left": 1, "right": 6 },
        doc! { "_id": "b", "parent": "a", "left": 2, "right": 3 },
        doc! { "_id": "c", "parent": "a", "left": 4, "right": 5 },
    ];
    db.raw_collection("nested").insert_many(&nested).await.unwrap();
    let tree = Tree::<Category, NestedSets>::open(db, options("nested"))
        .await
        .unwrap();
    tree.insert_at(category("x"), "b", Position::Right).await.unwrap();
    sound(&tree, "a(b x c)").await;
}

async fn nodes_are_read_in_every_direction(db: &Db) {
    async fn case<S: TreeModel>(db: &Db, options: TreeOptions) {
        let tree = tree::<S>(db, options).await;
        let all = ["Books", "Programming", "Languages", "Databases", "MongoDB", "dbm"];
        assert_eq!(
            ids(&tree.ancestors("MongoDB").await.unwrap()),
            ["Books", "Programming", "Databases"]
        );
        assert_eq!(tree.ancestors("Books").await.unwrap(), []);
        assert_eq!(ids(&tree.descendants("Books").with_self().await.unwrap()), all);
        assert_eq!(
            ids(&tree.descendants("Programming").max_depth(1).await.unwrap()),
            ["Languages", "Databases"]
        );
        let level = tree
            .descendants("Books")
            .order(Order::BreadthFirst)
            .max_depth(2)
            .await
            .unwrap();
        assert_eq!(ids(&level), ["Programming", "Languages", "Databases"]);
        let mut found = tree
            .descendants("Databases")
            .order(Order::Unordered)
            .await
            .unwrap();
        found.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(ids(&found), ["MongoDB", "dbm"]);
        assert_eq!(tree.descendant_count("Programming").await.unwrap(), 4);
        assert_eq!(
            ids(&tree.children("Databases").await.unwrap()),
            ["MongoDB", "dbm"]
        );
        assert_eq!(
            ids(&tree.children_page("Databases", 1, 5).await.unwrap()),
            ["dbm"]
        );
        assert_eq!(
            (
                tree.child_count("Databases").await.unwrap(),
                tree.len().await.unwrap()
            ),
            (2, 6)
        );
        assert_eq!(ids(&tree.siblings("dbm").await.unwrap()), ["MongoDB"]);
        assert_eq!(
            ids(&tree.leaves("Books").await.unwrap()),
            ["Languages", "MongoDB", "dbm"]
        );
        assert_eq!(ids(&tree.roots().await.unwrap()), ["Books"]);
        assert_eq!(tree.root_of("dbm").await.unwrap().id, "Books");
        assert_eq!(tree.parent("Books").await.unwrap(), None);
        assert_eq!(
            (
                tree.depth("Books").await.unwrap(),
                tree.depth("dbm").await.unwrap()
            ),
            (1, 4)
        );
        let common = tree.lowest_common_ancestor("Languages", "dbm").await.unwrap();
        assert_eq!(common.unwrap().id, "Programming");
        assert!(tree.is_ancestor_of("Books", "dbm").await.unwrap());
        assert!(!tree.is_ancestor_of("Books", "Books").await.unwrap());
        assert!(tree.is_descendant_of("dbm", "Programming").await.unwrap());
        assert!(tree.is_child_of("dbm", "Databases").await.unwrap());
        assert!(tree.is_sibling_of("dbm", "MongoDB").await.unwrap());
        assert!(tree.is_root("Books").await.unwrap() && tree.is_leaf("dbm").await.unwrap());
        assert_eq!(
            tree.branch("Databases").await.unwrap(),
            branch("Databases", [leaf("MongoDB"), leaf("dbm")])
        );
        let rows = tree.annotated_below("Databases").await.unwrap();
        let marks: Vec<_> = rows
            .iter()
            .map(|row| (row.depth, row.index, row.opens, row.closes))
            .collect();
        assert_eq!(marks, [(1, 0, true, 0), (2, 0, true, 0), (2, 1, false, 2)]);
        let flat = tree.flat().await.unwrap();
        assert_eq!(flat[3], (category("Databases"), Some("Programming".into())));
        assert!(
            tree.to_text(|node| node.id.clone())
                .await
                .unwrap()
                .contains("└── dbm")
        );
    }
    in_all_models!(case(db));
}

async fn nodes_go_to_every_position(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = tree::<S>(db, options).await;
        tree.insert_at(category("a"), "Databases", Position::FirstChild)
            .await
            .unwrap();
        tree.insert_at(category("b"), "Databases", Position::ChildAt(2))
            .await
            .unwrap();
        tree.insert_at(category("c"), "MongoDB", Position::Right)
            .await
            .unwrap();
        tree.insert_at(category("d"), "Books", Position::Left)
            .await
            .unwrap();
        tree.insert_at(category("e"), "Books", Position::LastSibling)
            .await
            .unwrap();
        tree.insert_at(category("f"), "dbm", Position::SiblingAt(99))
            .await
            .unwrap();
        sound(
            &tree,
            "d Books(Programming(Languages Databases(a MongoDB c b dbm f))) e",
        )
        .await;
        tree.move_to("Databases", "Books", Position::Right).await.unwrap();
        sound(
            &tree,
            "d Books(Programming(Languages)) Databases(a MongoDB c b dbm f) e",
        )
        .await;
        tree.move_to("c", "c", Position::LastSibling).await.unwrap();
        tree.move_to("c", "c", Position::Left).await.unwrap();
        tree.move_to("a", "b", Position::Right).await.unwrap();
        sound(
            &tree,
            "d Books(Programming(Languages)) Databases(MongoDB b a dbm f c) e",
        )
        .await;
        tree.reorder("Databases", ["c", "f", "a", "b", "MongoDB", "dbm"])
            .await
            .unwrap();
        tree.reorder_roots(["e", "d", "Databases", "Books"])
            .await
            .unwrap();
        sound(
            &tree,
            "e d Databases(c f a b MongoDB dbm) Books(Programming(Languages))",
        )
        .await;
        let error = tree.reorder("Databases", ["c", "f"]).await.unwrap_err();
        assert!(matches!(error, TreeError::InvalidPosition { .. }), "{error:?}");
        tree.move_under("Databases", "Languages").await.unwrap();
        tree.move_to_root("f").await.unwrap();
        sound(
            &tree,
            "e d Books(Programming(Languages(Databases(c a b MongoDB dbm)))) f",
        )
        .await;
        tree.load_to(
            vec![branch("x", [leaf("y")]), leaf("z")],
            "f",
            Position::FirstSibling,
        )
        .await
        .unwrap();
        sound(
            &tree,
            "x(y) z e d Books(Programming(Languages(Databases(c a b MongoDB dbm)))) f",
        )
        .await;
    }
    in_all_models!(case(db));
}

async fn what_cannot_be_is_refused_and_changes_nothing(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = tree::<S>(db, options).await;
        let before = shown(&tree).await;
        let error = tree.move_under("Books", "dbm").await.unwrap_err();
        assert!(matches!(error, TreeError::IntoOwnDescendant { .. }), "{error:?}");
        let error = tree
            .move_to("Books", "Books", Position::LastChild)
            .await
            .unwrap_err();
        assert!(matches!(error, TreeError::IntoOwnDescendant { .. }), "{error:?}");
        for error in [
            tree.delete("nothing", DeleteMode::Cascade).await.unwrap_err(),
            tree.move_under("nothing", "Books").await.unwrap_err(),
            tree.move_under("Books", "nothing").await.unwrap_err(),
            tree.insert_child("nothing", category("x")).await.unwrap_err(),
            tree.rename("nothing", "x").await.unwrap_err(),
            tree.descendants("nothing").await.unwrap_err(),
            tree.ancestors("nothing").await.unwrap_err(),
            tree.rebuild_below("nothing").await.unwrap_err(),
        ] {
            assert!(matches!(&error, TreeError::NotFound { .. }), "{error:?}");
            assert_eq!(odm::Error::from(error).kind(), ErrorKind::NotFound);
        }
        for error in [
            tree.insert_child("Books", category("dbm")).await.unwrap_err(),
            tree.rename("dbm", "Books").await.unwrap_err(),
            tree.load(vec![branch("x", [leaf("x")])]).await.unwrap_err(),
            tree.load_under("dbm", vec![branch("x", [leaf("Books")])])
                .await
                .unwrap_err(),
        ] {
            assert!(matches!(&error, TreeError::DuplicateKey { .. }), "{error:?}");
        }
        let error = tree.delete("Databases", DeleteMode::Refuse).await.unwrap_err();
        assert!(matches!(error, TreeError::HasChildren { .. }), "{error:?}");
        let error = tree
            .move_to("dbm", "Books", Position::SortedChild)
            .await
            .unwrap_err();
        assert!(matches!(error, TreeError::InvalidPosition { .. }), "{error:?}");
        sound(&tree, &before).await;
    }
    in_all_models!(case(db));

    let flat = Tree::<Category, ArrayOfAncestors>::new(db, options("flat").max_depth(2));
    flat.load(vec![branch("a", [leaf("b")])]).await.unwrap();
    let error = flat.insert_child("b", category("c")).await.unwrap_err();
    assert!(
        matches!(
            error,
            TreeError::TooDeep {
                depth: 3,
                limit: 2,
                ..
            }
        ),
        "{error:?}"
    );
    let error = flat
        .load_under("a", vec![branch("d", [leaf("e")])])
        .await
        .unwrap_err();
    assert!(matches!(error, TreeError::TooDeep { .. }), "{error:?}");
    let short = Tree::<Category, MaterializedPaths>::new(db, options("short").max_path_bytes(5));
    short.load(vec![branch("a", [leaf("b")])]).await.unwrap();
    let error = short
        .insert_child("b", category("c"))
        .await
        .map(|()| short.clone());
    assert!(error.is_ok(), "`,a,b,` has five bytes");
    let error = short.insert_child("c", category("d")).await.unwrap_err();
    assert!(
        matches!(
            error,
            TreeError::PathTooLong {
                bytes: 7,
                limit: 5,
                ..
            }
        ),
        "{error:?}"
    );
    let error = short.insert_root(category("")).await.unwrap_err();
    assert!(matches!(error, TreeError::Segment { .. }), "{error:?}");
    let wrong = Tree::<Category, MaterializedPaths>::new(db, TreeOptions::new().delimiter("--"));
    assert!(matches!(
        wrong.roots().await,
        Err(TreeError::InvalidOption {
            option: "delimiter",
            ..
        })
    ));
}

async fn children_of_a_deleted_node_are_cared_for(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = tree::<S>(db, options).await;
        tree.insert_at(category("Last"), "Databases", Position::Right)
            .await
            .unwrap();
        assert_eq!(tree.delete("Databases", DeleteMode::Adopt).await.unwrap(), 1);
        sound(&tree, "Books(Programming(Languages MongoDB dbm Last))").await;
        assert_eq!(
            tree.delete("Programming", DeleteMode::MakeRoots).await.unwrap(),
            1
        );
        sound(&tree, "Books Languages MongoDB dbm Last").await;
        tree.load_under("Books", vec![branch("x", [leaf("y")])])
            .await
            .unwrap();
        assert_eq!(tree.delete("Books", DeleteMode::Adopt).await.unwrap(), 1);
        sound(&tree, "x(y) Languages MongoDB dbm Last").await;
        assert_eq!(tree.delete("dbm", DeleteMode::Refuse).await.unwrap(), 1);
        assert_eq!(tree.delete("x", DeleteMode::Cascade).await.unwrap(), 2);
        sound(&tree, "Languages MongoDB Last").await;
    }
    in_all_models!(case(db));
}

async fn nodes_are_renamed_and_copied(db: &Db) {
    async fn case<S: TreeModel>(db: &Db, options: TreeOptions) {
        let tree = tree::<S>(db, options).await;
        tree.rename("Programming", "Code").await.unwrap();
        tree.rename("Books", "Arts, Crafts ~ 1").await.unwrap();
        tree.rename("Books", "x").await.unwrap_err();
        sound(&tree, "Arts, Crafts ~ 1(Code(Languages Databases(MongoDB dbm)))").await;
        assert_eq!(tree.get("Code").await.unwrap().unwrap().title, "programming");
        let copy = tree
            .copy_under("Databases", "Databases", |node| {
                category(&format!("{}2", node.id))
            })
            .await
            .unwrap();
        assert_eq!(copy.id, "Databases2");
        sound(
            &tree,
            "Arts, Crafts ~ 1(Code(Languages Databases(MongoDB dbm Databases2(MongoDB2 dbm2))))",
        )
        .await;
        tree.copy_to_root("Databases2", |node| category(&format!("{}3", node.id)))
            .await
            .unwrap();
        assert_eq!(tree.roots().await.unwrap().len(), 2);
    }
    in_all_models!(case(db));
}

async fn chains_are_found_or_created_once(db: &Db) {
    async fn case<S: TreeModel>(db: &Db, options: TreeOptions) {
        let tree = tree::<S>(db, options).await;
        let make = |title: &String| Category {
            id: format!("new {title}"),
            title: title.clone(),
        };
        let chain = ["books", "programming", "paradigms", "logic"].map(str::to_owned);
        for _ in 0..2 {
            let found = tree
                .find_or_create(&chain, |c| c.title, make)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(found.id, "new logic");
        }
        sound(
            &tree,
            "Books(Programming(Languages Databases(MongoDB dbm) new paradigms(new logic)))",
        )
        .await;
    }
    in_all_models!(case(db));
}

async fn trees_load_flat_and_become_other_models(db: &Db) {
    async fn case<S: TreeModel>(db: &Db, _: TreeOptions) {
        async fn to<S: TreeModel, T: TreeModel>(
            from: &Tree<Category, S>,
            options: TreeOptions,
        ) -> Tree<Category, T> {
            let tree = from.convert::<T>(options).await.unwrap();
            sound(&tree, "z Books(Programming(Languages Databases(MongoDB dbm))) a").await;
            tree
        }
        let tree = Tree::<Category, S>::open(db, options("converted")).await.unwrap();
        let parent = |id: &str| Some(id.to_owned());
        let flat = vec![
            (category("z"), None),
            (category("Languages"), parent("Programming")),
            (category("Books"), None),
            (category("Programming"), parent("Books")),
            (category("Databases"), parent("Programming")),
            (category("MongoDB"), parent("Databases")),
            (category("dbm"), parent("Databases")),
            (category("a"), None),
        ];
        tree.load_flat(flat).await.unwrap();
        let nested = to::<S, NestedSets>(&tree, options("converted")).await;
        let listed = to::<_, ChildReference>(&nested, options("converted")).await;
        let threads = options("converted").path_style(PathStyle::Threaded);
        let paths = to::<_, MaterializedPaths>(&listed, threads).await;
        let ancestors = to::<_, ArrayOfAncestors>(&paths, options("converted")).await;
        let parents = to::<_, ParentReference>(&ancestors, options("converted")).await;
        let listed = to::<_, ChildReference>(&parents, options("converted")).await;
        let back = to::<_, S>(&listed, options("converted")).await;
        let fields = db
            .raw_collection("converted")
            .find_one(doc! { "_id": "dbm" })
            .await
            .unwrap()
            .unwrap();
        let mut names: Vec<&String> = fields.keys().filter(|name| *name != "tree_fence").collect();
        names.sort();
        let fresh = Tree::<Category, S>::open(db, options("fresh")).await.unwrap();
        back.convert_into(&fresh, |node| node).await.unwrap();
        sound(&fresh, &shown(&back).await).await;
        let fields = db
            .raw_collection("fresh")
            .find_one(doc! { "_id": "dbm" })
            .await
            .unwrap()
            .unwrap();
        let mut expected: Vec<&String> = fields.keys().collect();
        expected.sort();
        assert_eq!(names, expected);
        db.drop_collection("converted").await.unwrap();
        db.drop_collection("converted_trees").await.unwrap();
        db.drop_collection("fresh").await.unwrap();
        db.drop_collection("fresh_trees").await.unwrap();
    }
    case::<ParentReference>(db, options("")).await;
    case::<ChildReference>(db, options("")).await;
    case::<ArrayOfAncestors>(db, options("")).await;
    case::<MaterializedPaths>(db, options("")).await;
    case::<NestedSets>(db, options("")).await;
}

async fn trees_share_a_collection_and_a_transaction(db: &Db) {
    async fn case<S: TreeModel>(db: &Db, options: TreeOptions) {
        let of = |shop: i32| Tree::<Category, S>::new(db, options.clone().tenant("shop", shop));
        let (one, two) = (of(1), of(2));
        one.load(vec![branch("a", [leaf("b")])]).await.unwrap();
        two.load(vec![branch("c", [leaf("d")]), leaf("e")]).await.unwrap();
        sound(&one, "a(b)").await;
        sound(&two, "c(d) e").await;
        let error = one.move_under("b", "c").await.unwrap_err();
        assert!(matches!(error, TreeError::NotFound { .. }), "{error:?}");
        assert!(one.get("c").await.unwrap().is_none());
        let result: odm::Result<()> = db
            .transaction(async |tx| {
                let one = one.within(&tx);
                one.move_to_root("b").await?;
                one.insert_child("b", category("x")).await?;
                // An error of the tree spoils nothing.
                let error = one.move_under("b", "x").await.unwrap_err();
                assert!(matches!(error, TreeError::IntoOwnDescendant { .. }));
                assert_eq!(one.len().await?, 3);
                two.within(&tx).delete("c", DeleteMode::Adopt).await?;
                Ok(())
            })
            .await;
        result.unwrap();
        sound(&one, "a b(x)").await;
        sound(&two, "d e").await;
        let failed: odm::Result<()> = db
            .transaction(async |tx| {
                one.within(&tx).delete("b", DeleteMode::Cascade).await?;
                Err(odm::Error::new(ErrorKind::Validation, "changed my mind"))
            })
            .await;
        assert!(failed.is_err());
        sound(&one, "a b(x)").await;
    }
    case::<ParentReference>(db, options("parents")).await;
    case::<ChildReference>(db, options("children")).await;
    case::<ArrayOfAncestors>(db, options("ancestors")).await;
    case::<MaterializedPaths>(db, options("paths")).await;
    case::<NestedSets>(db, options("nested")).await;
}

async fn siblings_stand_by_a_key(db: &Db) {
    async fn sorted<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = Tree::<Category, S>::open(db, options.sort_key(doc! { "title": 1 }))
            .await
            .unwrap();
        for id in ["M", "C", "X", "A", "P"] {
            tree.insert_root(category(id)).await.unwrap();
        }
        for id in ["q", "o"] {
            tree.insert_child("M", category(id)).await.unwrap();
        }
        sound(&tree, "A C M(o q) P X").await;
        tree.move_to("X", "o", Position::SortedSibling).await.unwrap();
        tree.move_to_root("o").await.unwrap();
        sound(&tree, "A C M(q X) o P").await;
        tree.collection()
            .update_one(|c| c.id.eq("A"), |c| c.title.set("zz"))
            .await
            .unwrap();
        assert_eq!(tree.verify().await.unwrap().len(), 1);
        assert!(!tree.repair().await.unwrap().is_clean());
        sound(&tree, "C M(q X) o P A").await;
    }
    sorted::<ParentReference>(db, options("parents")).await;
    sorted::<ChildReference>(db, options("children")).await;
    sorted::<ArrayOfAncestors>(db, options("ancestors")).await;
    sorted::<MaterializedPaths>(db, options("paths")).await;
    sorted::<NestedSets>(db, options("nested")).await;

    let tree = tree::<MaterializedPaths<ByKey>>(db, options("falling").sort_key(doc! { "title": -1 })).await;
    sound(&tree, "Books(Programming(Languages Databases(MongoDB dbm)))").await;
    tree.insert_child("Databases", category("z")).await.unwrap();
    sound(&tree, "Books(Programming(Languages Databases(z MongoDB dbm)))").await;
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "comments")]
struct Comment {
    #[serde(rename = "_id")]
    id: Id<Comment>,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    row: i32,
    name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "places")]
struct Spot {
    #[serde(rename = "_id")]
    id: Bson,
}

async fn ids_are_of_any_type(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = Tree::<Spot, S>::open(db, options.clone()).await.unwrap();
        let place = odm::bson::serialize_to_bson(&Place {
            row: 1,
            name: "a,b".into(),
        })
        .unwrap();
        let chain: Vec<Bson> = vec![
            place,
            7.into(),
            2.5.into(),
            "a,b~c".into(),
            Bson::Boolean(true),
            "x.y".into(),
        ];
        tree.insert_root(Spot { id: chain[0].clone() }).await.unwrap();
        for pair in chain.windows(2) {
            tree.insert_child(&pair[0], Spot { id: pair[1].clone() })
                .await
                .unwrap();
        }
        let above = tree.ancestors(&chain[5]).await.unwrap();
        assert_eq!(
            above.into_iter().map(|spot| spot.id).collect::<Vec<_>>(),
            chain[..5]
        );
        let below = tree.descendants(&chain[0]).await.unwrap();
        assert_eq!(
            below.into_iter().map(|spot| spot.id).collect::<Vec<_>>(),
            chain[1..]
        );
        tree.move_to(&chain[3], &chain[0], Position::Left).await.unwrap();
        assert_eq!(tree.verify().await.unwrap(), []);
        assert_eq!(tree.depth(&chain[5]).await.unwrap(), 3);
        assert_eq!(tree.child_count(Bson::Int64(7)).await.unwrap(), 1);
    }
    case::<ParentReference>(db, options("parents")).await;
    case::<ChildReference>(db, options("children")).await;
    case::<ArrayOfAncestors>(db, options("ancestors")).await;
    case::<MaterializedPaths>(db, options("paths")).await;
    case::<NestedSets>(db, options("nested")).await;

    let mixed = Tree::<Spot, MaterializedPaths>::new(db, options("paths"));
    let error = mixed.insert_root(Spot { id: "7".into() }).await.unwrap_err();
    assert!(matches!(error, TreeError::Segment { .. }), "{error:?}");

    let threads = TreeOptions::new().path_style(PathStyle::Threaded);
    let comments = Tree::<Comment, MaterializedPaths<ByKey>>::open(db, threads)
        .await
        .unwrap();
    let comment = |text: &str| Comment {
        id: Id::new(),
        text: text.into(),
    };
    let (first, second, reply, deep) = (comment("1"), comment("2"), comment("1.1"), comment("1.1.1"));
    comments.insert_root(first.clone()).await.unwrap();
    comments.insert_root(second).await.unwrap();
    comments.insert_child(first.id, reply.clone()).await.unwrap();
    comments.insert_child(reply.id, deep).await.unwrap();
    comments.insert_child(first.id, comment("1.2")).await.unwrap();
    let (logged, log) = db.logged();
    let shown = comments.within(&logged).threaded().await.unwrap();
    assert_eq!(log.round_trips(), 1);
    let text: Vec<(&str, usize)> = shown
        .iter()
        .map(|(comment, depth)| (comment.text.as_str(), *depth))
        .collect();
    assert_eq!(text, [("1", 1), ("1.1", 2), ("1.1.1", 3), ("1.2", 2), ("2", 1)]);
    let page = comments.threaded_page(1, 3).await.unwrap();
    let text: Vec<&str> = page.iter().map(|(comment, _)| comment.text.as_str()).collect();
    assert_eq!(text, ["1.1", "1.1.1", "1.2"]);
    let path = comments.path_of(reply.id).await.unwrap().unwrap();
    assert_eq!(path, format!("{}:{}", first.id, reply.id));
}
