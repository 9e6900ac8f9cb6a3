//! Trees as they are stored and read, in all five models.

use odm::bson::{Bson, Document, doc};
use odm::{Db, Id, Model};
use odm_patterns::tree::{
    ArrayOfAncestors, ByKey, ChildReference, KeepsOrder, MaterializedPaths, NestedSets, Numbering, Order,
    ParentReference, PathStyle, Position, Tree, TreeError, TreeModel, TreeOptions,
};
use serde::{Deserialize, Serialize};

use crate::tree_books::{Category, branch, category, ids, in_all_models, leaf, options, sound, tree};

crate::on_every_backend! {
    nodes_are_stored_as_in_the_manual,
    trees_of_the_manual_are_adopted,
    nodes_are_read_in_every_direction,
    ids_are_of_any_type,
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
