//! Every change of a tree, and what each refuses, in all five models.

use odm::bson::doc;
use odm::{Db, ErrorKind};
use odm_patterns::tree::{
    ArrayOfAncestors, ByKey, ChildReference, DeleteMode, KeepsOrder, MaterializedPaths, NestedSets,
    Numbering, ParentReference, PathStyle, Position, Tree, TreeError, TreeModel, TreeOptions,
};

use crate::tree_books::{Category, branch, category, in_all_models, leaf, options, shown, sound, tree};

crate::on_every_backend! {
    nodes_go_to_every_position,
    what_cannot_be_is_refused_and_changes_nothing,
    children_of_a_deleted_node_are_cared_for,
    nodes_are_renamed_and_copied,
    chains_are_found_or_created_once,
    trees_load_flat_and_become_other_models,
    trees_share_a_collection_and_a_transaction,
    siblings_stand_by_a_key,
    forests_under_several_nodes_stand_by_a_key,
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

async fn forests_under_several_nodes_stand_by_a_key(db: &Db) {
    async fn loaded<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let options = options.sort_key(doc! { "title": 1 });
        let tree = Tree::<Category, S>::open(db, options).await.unwrap();
        let two = branch("B", [leaf("a"), leaf("c"), leaf("e")]);
        let six = branch("F", [leaf("x"), leaf("z")]);
        tree.load(vec![branch("R", [two, six])]).await.unwrap();
        // Each time between the same two, until there is no room between their numbers.
        for round in 0..40 {
            let between = Category {
                id: format!("between {round}"),
                title: format!("b{:b>width$}", "", width = 40 - round),
            };
            let (below, id) = (format!("below {round}"), between.id.clone());
            let flat = vec![
                (between, Some("B".to_owned())),
                (category(&below), Some(id)),
                (category(&format!("0 {round:0>2}")), Some("F".to_owned())),
                (category(&format!("q {round}")), None),
            ];
            tree.load_flat(flat).await.unwrap();
            assert_eq!(tree.verify().await.unwrap(), [], "round {round}: {tree:?}");
        }
        let titles = |nodes: Vec<Category>| nodes.into_iter().map(|node| node.title).collect::<Vec<_>>();
        let below = titles(tree.children("B".to_owned()).await.unwrap());
        assert_eq!(below.len(), 43);
        assert!(below.is_sorted(), "{below:?}");
        let below = titles(tree.children("F".to_owned()).await.unwrap());
        assert!(below.is_sorted(), "{below:?}");
    }
    loaded::<NestedSets>(db, options("dense").numbering(Numbering::Dense)).await;
    loaded::<NestedSets>(db, options("nested")).await;
    loaded::<ArrayOfAncestors>(db, options("ancestors")).await;
    loaded::<ChildReference>(db, options("children")).await;
}
