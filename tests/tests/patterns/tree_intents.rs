//! What stands beside a change that is recorded before it is made: of a large one, several documents, which are there as
//! long as they are needed, and no longer.

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::tree::{ArrayOfAncestors, Branch, ParentReference, Tree, TreeModel, TreeOptions};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_error_on_the_way_of_a_large_change_loses_nothing,
    an_error_on_the_way_of_a_large_conversion_loses_nothing,
    what_processes_left_beside_a_tree_is_forgotten,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "leaves")]
struct Leaf {
    #[serde(rename = "_id")]
    id: String,
}

const DEEP: usize = 10;
const LEAVES: usize = 260;

fn leaf(id: String) -> Leaf {
    Leaf { id }
}

/// A long name, so that a change of all ancestors has more than fits into one document.
fn long(n: usize) -> String {
    format!("{n:0>900}")
}

/// Two roots, `a` and `b`; below the first a chain with many leaves at its end.
async fn grow<S: TreeModel>(db: &Db, options: &TreeOptions) -> Tree<Leaf, S> {
    clear(db).await;
    let tree = Tree::<Leaf, S>::open(db, options.clone())
        .await
        .expect("it opens");
    let leaves = (0..LEAVES).map(|n| Branch::leaf(leaf(format!("{n}"))));
    let mut branch = Branch::new(leaf(long(DEEP)), leaves);
    for n in (0..DEEP).rev() {
        branch = Branch::new(leaf(long(n)), [branch]);
    }
    let a = Branch::new(leaf("a".into()), [branch]);
    let b = Branch::leaf(leaf("b".into()));
    // Where there are transactions, in one: what is recorded beside is of the change that is looked at.
    tree.load(vec![a, b]).await.expect("loaded");
    tree
}

async fn clear(db: &Db) {
    for name in ["leaves", "leaves_trees"] {
        db.raw_collection(name)
            .delete_many(doc! {})
            .await
            .expect("emptied");
    }
}

async fn beside(db: &Db) -> u64 {
    let attempts = doc! { "attempt": { "$exists": true } };
    db.raw_collection("leaves_trees")
        .count(attempts)
        .await
        .expect("a count")
}

async fn is_under_way(db: &Db) -> bool {
    let pending = doc! { "intent": { "$exists": true } };
    db.raw_collection("leaves_trees")
        .exists(pending)
        .await
        .expect("a read")
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "the connection was lost")
}

async fn an_error_on_the_way_of_a_large_change_loses_nothing(db: &Db) {
    for (way, options) in [
        (db.clone(), TreeOptions::new().write_ahead()),
        (Plain::db(db), TreeOptions::new()),
    ] {
        let mut was_large = false;
        for nth in 1.. {
            let tree = grow::<ArrayOfAncestors>(&way, &options).await;
            let (faulty, faults) = way.faulty();
            faults.add(Fault::nth_write(nth).before(lost()));
            let moved = tree.within(&faulty).move_under(long(0), "b".to_owned()).await;
            was_large |= beside(db).await > 1;
            tree.prepare()
                .await
                .unwrap_or_else(|error| panic!("{nth}: {error} after {moved:?}"));
            let above = tree.ancestors("7".to_owned()).await.expect("read");
            let context = format!("{nth}: {moved:?}");
            assert_eq!(above.len(), DEEP + 2, "{context}");
            assert!(above[0].id == "b" || moved.is_err(), "{context}");
            assert_eq!(tree.verify().await.expect("verified"), [], "{context}");
            tree.insert_child("b".to_owned(), leaf("c".into()))
                .await
                .expect("it goes on");
            if faults.failures() == 0 {
                moved.expect("nothing failed");
                break;
            }
        }
        assert!(was_large);
    }
    clear(db).await;
}

async fn an_error_on_the_way_of_a_large_conversion_loses_nothing(db: &Db) {
    for way in [db.clone(), Plain::db(db)] {
        let mut was_large = false;
        for nth in 1.. {
            let tree = grow::<ParentReference>(&way, &TreeOptions::new()).await;
            let (faulty, faults) = way.faulty();
            faults.add(Fault::nth_write(nth).before(lost()));
            let harmed = tree.within(&faulty);
            let converted = harmed.convert::<ArrayOfAncestors>(TreeOptions::new()).await;
            was_large |= beside(db).await > 1;
            let failed = faults.failures() > 0;
            let tree = tree.convert::<ArrayOfAncestors>(TreeOptions::new()).await;
            let tree = tree.unwrap_or_else(|error| panic!("{nth}: {error} after {:?}", converted.err()));
            assert_eq!(tree.verify().await.expect("verified"), [], "{nth}");
            let above = tree.ancestors("7".to_owned()).await.expect("read");
            assert_eq!((above.len(), above[0].id.as_str()), (DEEP + 2, "a"), "{nth}");
            tree.move_under(long(0), "b".to_owned())
                .await
                .expect("it goes on");
            if !failed {
                break;
            }
        }
        assert!(was_large);
    }
    clear(db).await;
}

async fn what_processes_left_beside_a_tree_is_forgotten(db: &Db) {
    let way = Plain::db(db);
    let mut was_left = false;
    for nth in 1.. {
        let tree = grow::<ArrayOfAncestors>(&way, &TreeOptions::new()).await;
        assert_eq!(beside(db).await, 0);
        let (faulty, faults) = way.faulty();
        faults.add(Fault::nth_write(nth).crash());
        tree.within(&faulty)
            .move_under(long(0), "b".to_owned())
            .await
            .ok();
        was_left |= beside(db).await > 0 && !is_under_way(db).await;
        tree.insert_child("b".to_owned(), leaf("c".into()))
            .await
            .expect("it goes on");
        tree.repair().await.expect("repaired");
        assert_eq!(beside(db).await, 0, "ended at {nth}");
        if faults.failures() == 0 {
            break;
        }
    }
    assert!(was_left);
    clear(db).await;
}
