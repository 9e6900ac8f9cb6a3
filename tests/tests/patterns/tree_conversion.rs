//! Trees from each model to each other.

use bson::Document;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::tree::{DeleteMode, KeepsOrder, PathStyle, Tree, TreeError, TreeOptions};

use odm_tests::each_model;
use odm_tests::tree::{Forest, Named, Numbered, Place, Stored as _, Subject};

crate::on_every_backend! {
    trees_become_trees_of_every_other_model_in_place,
    a_converted_tree_is_left_alone_by_handles_of_the_old_model,
    trees_become_trees_in_other_collections,
    an_interrupted_conversion_is_finished_by_the_next_opening,
    a_node_that_is_saved_during_a_conversion_keeps_its_place,
    a_node_that_is_saved_half_way_through_a_conversion_keeps_its_place,
    what_another_model_cannot_hold_is_not_converted,
}

/// 1 (2 (4, 5), 3), 6 (7), with siblings that are in no order of their keys.
async fn seeded<S: KeepsOrder>(db: &Db) -> (Subject<i64, S>, Forest<i64>) {
    let subject = Subject::<i64, S>::open(db, TreeOptions::new()).await;
    let mut forest = Forest::default();
    for (key, place) in [
        (6, Place::LastRoot),
        (1, Place::FirstRoot),
        (3, Place::LastChild(1)),
        (2, Place::FirstChild(1)),
        (5, Place::LastChild(2)),
        (4, Place::Left(5)),
        (7, Place::LastChild(6)),
    ] {
        forest.insert(key, &place).expect("inserted");
        subject.insert(key, &place).await.expect("inserted");
    }
    (subject, forest)
}

/// The names of the fields of all nodes.
fn fields(stored: &[Document]) -> Vec<String> {
    let mut names: Vec<String> = stored.iter().flat_map(|node| node.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| name != "tree_fence");
    names
}

/// The fields that a tree of this model has when it was always of it.
async fn own_fields<T: KeepsOrder>(db: &Db) -> Vec<String> {
    let (subject, _) = seeded::<T>(db).await;
    let names = fields(&subject.stored().await);
    subject.clear().await;
    names
}

async fn is_whole<T: KeepsOrder>(subject: &Subject<i64, T>, forest: &Forest<i64>) {
    assert_eq!(subject.problems().await, Vec::<String>::new());
    assert_eq!(subject.outline().await, Ok(forest.outline()));
    for key in forest.keys() {
        assert_eq!(subject.reads(forest, key, &2).await, Ok(()));
    }
}

async fn trees_become_trees_of_every_other_model_in_place(db: &Db) {
    each_model!(S => each_model!(T => in_place::<S, T>(db).await));
}

async fn in_place<S: KeepsOrder, T: KeepsOrder>(db: &Db) {
    let expected = own_fields::<T>(db).await;
    let (subject, mut forest) = seeded::<S>(db).await;
    let converted = subject
        .tree
        .convert::<T>(TreeOptions::new())
        .await
        .expect("converted");
    let converted = Subject::<i64, T>::of(db, converted);
    is_whole(&converted, &forest).await;
    assert_eq!(fields(&converted.stored().await), expected);
    // It goes on as one of its model.
    forest.shift(&2, &Place::FirstChild(7)).expect("moved");
    converted.shift(&2, &Place::FirstChild(7)).await.expect("moved");
    assert_eq!(converted.outline().await, Ok(forest.outline()));
    assert_eq!(converted.problems().await, Vec::<String>::new());
    converted.clear().await;
}

async fn a_converted_tree_is_left_alone_by_handles_of_the_old_model(db: &Db) {
    each_model!(S => each_model!(T => left_alone::<S, T>(db).await));
}

async fn left_alone<S: KeepsOrder, T: KeepsOrder>(db: &Db) {
    let (old, forest) = seeded::<S>(db).await;
    let to_threads = || TreeOptions::new().path_style(PathStyle::Threaded);
    old.tree.convert::<T>(to_threads()).await.expect("converted");
    let is_same = own_layout::<S>() == own_layout::<T>() && own_layout::<T>() != "materialized_paths";
    let stored = old.stored().await;
    let refused = |error: &TreeError| {
        assert!(
            matches!(error, TreeError::Converted { to } if to.contains(own_layout::<T>())),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    };
    if !is_same {
        refused(&old.tree.insert_root(50.node()).await.expect_err("another model"));
        refused(&old.tree.move_under(2, 6).await.expect_err("another model"));
        refused(
            &old.tree
                .delete(2, DeleteMode::Cascade)
                .await
                .expect_err("another model"),
        );
        refused(&old.tree.rebuild().await.expect_err("another model"));
        refused(&old.tree.verify().await.expect_err("another model"));
        let back = old.tree.convert::<S>(TreeOptions::new()).await;
        refused(&back.map(drop).expect_err("another model"));
        let opened = Tree::<Numbered, S>::open(db, TreeOptions::new())
            .await
            .expect("it opens");
        refused(&opened.insert_root(50.node()).await.expect_err("another model"));
        if db.capabilities().transactions {
            let inside = db.transaction(async |tx| {
                old.tree.within(&tx).insert_root(50.node()).await?;
                Ok(())
            });
            let error = TreeError::from(inside.await.expect_err("another model"));
            refused(&error);
        }
    }
    // Whoever does not know that it is done asks again.
    let again = old.tree.convert::<T>(to_threads()).await.expect("converted");
    assert_eq!(old.stored().await, stored);
    let again = Subject::<i64, T>::of(db, again);
    is_whole(&again, &forest).await;
    again.clear().await;
}

/// What stands in the state of a tree that was converted.
fn own_layout<S: KeepsOrder>() -> &'static str {
    let name = std::any::type_name::<S>();
    let names = [
        ("ParentReference", "parent_reference"),
        ("ChildReference", "child_reference"),
        ("ArrayOfAncestors", "array_of_ancestors"),
        ("MaterializedPaths", "materialized_paths"),
        ("NestedSets", "nested_sets"),
    ];
    let found = names.into_iter().find(|(model, _)| name.ends_with(model));
    found.expect("one of the five").1
}

async fn trees_become_trees_in_other_collections(db: &Db) {
    each_model!(S => each_model!(T => into_another::<S, T>(db).await));
}

async fn into_another<S: KeepsOrder, T: KeepsOrder>(db: &Db) {
    let (subject, forest) = seeded::<S>(db).await;
    let named = Subject::<String, T>::open(db, TreeOptions::new()).await;
    let name = |node: Numbered| Named {
        id: format!("n{}", node.id),
    };
    subject
        .tree
        .convert_into(&named.tree, name)
        .await
        .expect("converted");
    let expected: Vec<(String, usize, usize)> = forest
        .outline()
        .into_iter()
        .map(|(key, depth, children)| (format!("n{key}"), depth, children))
        .collect();
    assert_eq!(named.outline().await, Ok(expected));
    assert_eq!(named.problems().await, Vec::<String>::new());
    assert_eq!(subject.outline().await, Ok(forest.outline()));
    subject.clear().await;
    named.clear().await;
}

async fn an_interrupted_conversion_is_finished_by_the_next_opening(db: &Db) {
    if db.backend_name() == "mongodb" {
        interrupted::<odm_patterns::tree::ChildReference, odm_patterns::tree::NestedSets>(db).await;
        return;
    }
    each_model!(S => each_model!(T => interrupted::<S, T>(db).await));
}

async fn interrupted<S: KeepsOrder, T: KeepsOrder>(db: &Db) {
    for nth in 1.. {
        let (subject, forest) = seeded::<S>(db).await;
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(nth).crash());
        let done = subject
            .tree
            .within(&faulty)
            .convert::<T>(TreeOptions::new())
            .await;
        let is_hit = faults.failures() > 0;
        assert_eq!(done.is_err(), is_hit);
        // Whoever asked does not know how far it went; asking again is right in any case.
        let opened = Tree::<Numbered, S>::open(db, TreeOptions::new())
            .await
            .expect("it opens");
        drop(opened);
        let state = db
            .raw_collection("nodes_trees")
            .find_one(bson::doc! {})
            .await
            .expect("a read");
        assert!(state.is_none_or(|state| !state.contains_key("intent")));
        let new = Subject::<i64, T>::open(db, TreeOptions::new()).await;
        if new.problems().await.is_empty() && new.outline().await == Ok(forest.outline()) {
            new.clear().await;
        } else {
            // Nothing had been written.
            is_whole(&subject, &forest).await;
            subject.clear().await;
        }
        if !is_hit {
            return;
        }
    }
}

/// The whole document was written but for the fields of the old model, and so without those of the new one.
async fn a_node_that_is_saved_during_a_conversion_keeps_its_place(db: &Db) {
    each_model!(S => each_model!(T => saved_during::<S, T>(db).await));
}

async fn saved_during<S: KeepsOrder, T: KeepsOrder>(db: &Db) {
    let (subject, forest) = seeded::<S>(db).await;
    let converting = subject.tree.within(db);
    // The state was looked at; now the node is written.
    let (meanwhile, moment) = odm_tests::interrupted::interrupted(db, 2, async move {
        let converted = converting.convert::<T>(TreeOptions::new()).await;
        drop(converted.expect("converted"));
    });
    let saved = subject.tree.within(&meanwhile).save(&2.node()).await;
    assert!(moment.has_come());
    match own_layout::<S>() == own_layout::<T>() {
        true => saved.expect("the same model"),
        false => assert!(matches!(saved, Err(TreeError::Converted { .. })), "{saved:?}"),
    }
    let new = Subject::<i64, T>::open(db, TreeOptions::new()).await;
    is_whole(&new, &forest).await;
    new.clear().await;
}

async fn a_node_that_is_saved_half_way_through_a_conversion_keeps_its_place(db: &Db) {
    if db.backend_name() == "mongodb" {
        saved_half_way::<odm_patterns::tree::ChildReference, odm_patterns::tree::NestedSets>(db).await;
        return;
    }
    each_model!(S => each_model!(T => saved_half_way::<S, T>(db).await));
}

async fn saved_half_way<S: KeepsOrder, T: KeepsOrder>(db: &Db) {
    if own_layout::<S>() == own_layout::<T>() {
        return;
    }
    for nth in 1.. {
        let (subject, forest) = seeded::<S>(db).await;
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(nth).crash());
        let converting = subject.tree.within(&faulty);
        drop(converting.convert::<T>(TreeOptions::new()).await);
        let is_hit = faults.failures() > 0;
        match subject.tree.save(&2.node()).await {
            // Nothing had been written.
            Ok(()) => {
                is_whole(&subject, &forest).await;
                subject.clear().await;
            }
            Err(error) => {
                assert!(matches!(error, TreeError::Converted { .. }), "{error}");
                let new = Subject::<i64, T>::open(db, TreeOptions::new()).await;
                is_whole(&new, &forest).await;
                new.clear().await;
            }
        }
        if !is_hit {
            return;
        }
    }
}

async fn what_another_model_cannot_hold_is_not_converted(db: &Db) {
    let tree = Tree::<Named, odm_patterns::tree::ParentReference>::open(db, TreeOptions::new())
        .await
        .expect("it opens");
    tree.insert_root(Named { id: String::new() })
        .await
        .expect("inserted");
    tree.insert_child("", "x".to_owned().node())
        .await
        .expect("inserted");
    let before = db.raw_collection("names").find_all().await.expect("a read");
    let error = tree
        .convert::<odm_patterns::tree::MaterializedPaths>(TreeOptions::new())
        .await
        .expect_err("an empty text is no segment");
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert_eq!(Error::from(error).kind(), ErrorKind::Validation);
    assert_eq!(
        db.raw_collection("names").find_all().await.expect("a read"),
        before
    );
}
