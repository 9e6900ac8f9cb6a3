//! Subsets: what a parent shows of its children is what they are.

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Embedded, Error, ErrorKind, Model, Ref};
use odm_patterns::subset::{InStep, Subset, SubsetProblemKind};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_subset_follows_its_children,
    subsets_are_in_step_after_many_at_once,
    a_crash_at_any_write_of_a_subset_is_resumed,
    subsets_are_held_against_their_children,
    a_child_of_another_parent_is_refused,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_products")]
pub(super) struct Product {
    #[serde(rename = "_id")]
    id: i32,
    best: Vec<Brief>,
    #[serde(default)]
    in_step: InStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "subset_reviews", index(keys(product, desc(stars))))]
pub(super) struct Review {
    #[serde(rename = "_id")]
    id: i32,
    product: Ref<Product>,
    pub stars: i32,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(super) struct Brief {
    #[serde(rename = "_id")]
    id: i32,
    stars: i32,
}

async fn a_child_of_another_parent_is_refused(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop().await.unwrap();
        product(&db).await;
        let other = Product {
            id: 2,
            best: vec![],
            in_step: InStep::default(),
        };
        db.collection::<Product>().insert(other).await.unwrap();
        let best = best(&db);
        let refused = best.insert(2, &review(7, 5)).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.model(), refused.path(), refused.id()),
            (
                ErrorKind::InvalidArgument,
                Some("Review"),
                Some("product"),
                Some(&bson::Bson::Int32(7))
            )
        );
        best.insert(1, &review(7, 5)).await.unwrap();
        // Nor is it changed or deleted in the other's name, which would leave the list of its own behind.
        assert!(!best.update(2, 7, |r| r.stars.set(1)).await.unwrap());
        assert!(!best.delete(2, 7).await.unwrap());
        assert_eq!(best.verify().await.unwrap(), []);
        assert!(best.update(1, 7, |r| r.stars.set(1)).await.unwrap());
        assert!(best.delete(1, 7).await.unwrap());
        assert_eq!(best.verify().await.unwrap(), []);
        assert!(db.collection::<Review>().find_all().await.unwrap().is_empty());
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

pub(super) fn best(db: &Db) -> Subset<Product, Review, Brief> {
    Subset::<Product, Review, Brief>::new(
        db,
        3,
        |p| p.best,
        |p| p.in_step.path().clone(),
        |r| r.product.path().clone(),
        |r| r.stars.desc() & r.id.asc(),
    )
}

pub(super) fn review(id: i32, stars: i32) -> Review {
    Review {
        id,
        product: Ref::new(1),
        stars,
        text: format!("review {id}"),
    }
}

pub(super) async fn product(db: &Db) {
    let product = Product {
        id: 1,
        best: vec![],
        in_step: InStep::default(),
    };
    db.collection::<Product>().insert(product).await.unwrap();
    db.collection::<Review>().sync_indexes().await.unwrap();
}

pub(super) async fn shown(db: &Db) -> Vec<i32> {
    let product = db.collection::<Product>().get(1).required().await.unwrap();
    product.best.into_iter().map(|brief| brief.id).collect()
}

async fn a_subset_follows_its_children(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("subset_products").await.ok();
        db.drop_collection("subset_reviews").await.ok();
        product(&db).await;
        let best = best(&db);
        for (id, stars) in [(1, 3), (2, 5), (3, 1), (4, 4), (5, 5)] {
            best.insert(1, &review(id, stars)).await.unwrap();
        }
        assert_eq!(shown(&db).await, [2, 5, 4]);
        assert!(best.delete(1, 5).await.unwrap());
        assert_eq!(shown(&db).await, [2, 4, 1]);
        assert!(!best.delete(1, 5).await.unwrap());
        assert!(best.update(1, 3, |r| r.stars.set(9)).await.unwrap());
        assert_eq!(shown(&db).await, [3, 2, 4]);
        let moved = best.write(1, |reviews| async move {
            reviews.update_many(|r| r.stars.gte(5), |r| r.stars.set(0)).await
        });
        assert_eq!(moved.await.unwrap().modified, 2);
        assert_eq!(shown(&db).await, [4, 1, 2]);
        let lenient = self::best(&db).only(|r| r.stars.gte(3));
        lenient.refresh(1).await.unwrap();
        assert_eq!(shown(&db).await, [4, 1]);
        assert!(lenient.verify().await.unwrap().is_empty());
        let orphan = Review {
            product: Ref::new(7),
            ..review(9, 1)
        };
        let missing = best.insert(7, &orphan).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(db.collection::<Review>().get(9).await.unwrap().is_none());
    }
}

async fn subsets_are_in_step_after_many_at_once(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("subset_products").await.ok();
        db.drop_collection("subset_reviews").await.ok();
        product(&db).await;
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let best = best(&db);
                tokio::spawn(async move {
                    for n in 0..4 {
                        let id = task * 10 + n;
                        best.insert(1, &review(id, (id * 7) % 23)).await.unwrap();
                        if n % 2 == 1 {
                            best.delete(1, id).await.unwrap();
                        } else {
                            best.update(1, id, |r| r.stars.inc(1)).await.unwrap();
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(best(&db).verify().await.unwrap().is_empty());
        assert_eq!(shown(&db).await.len(), 3);
    }
}

async fn a_crash_at_any_write_of_a_subset_is_resumed(db: &Db) {
    let mut crashes = [0, 0];
    for (kind, count) in crashes.iter_mut().enumerate() {
        for after in [false, true] {
            for n in 1.. {
                db.drop().await.unwrap();
                product(db).await;
                let db = if kind == 0 { db.clone() } else { Plain::db(db) };
                let (faulty, faults) = db.faulty();
                match after {
                    false => faults.add(Fault::nth_write(n).crash()),
                    true => {
                        faults.add(Fault::nth_write(n).after(lost()));
                        faults.add(Fault::nth_write(n + 1).crash());
                    }
                }
                let dying = best(&faulty);
                let work = async {
                    for id in 1..=4 {
                        dying.insert(1, &review(id, id)).await?;
                    }
                    dying.update(1, 1, |r| r.stars.set(8)).await?;
                    dying.delete(1, 4).await
                };
                let done = work.await.is_ok();
                let best = best(&db);
                let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
                let resumed = best.resume(far).await.unwrap();
                assert!(resumed <= u64::from(kind == 1 && !done));
                assert!(best.verify().await.unwrap().is_empty(), "write {n}");
                if done {
                    break;
                }
                *count += 1;
            }
        }
    }
    assert!(crashes.iter().all(|count| *count >= 2 * 18), "{crashes:?}");
}

async fn subsets_are_held_against_their_children(db: &Db) {
    product(db).await;
    let best = best(db);
    best.insert(1, &review(1, 1)).await.unwrap();
    db.collection::<Review>().insert(review(2, 2)).await.unwrap();
    let problems = best.verify().await.unwrap();
    assert_eq!(
        (problems.len(), &problems[0].kind),
        (1, &SubsetProblemKind::OutOfStep)
    );
    let at = DateTime::from_millis(5_000);
    let mark = doc! { "token": bson::oid::ObjectId::new(), "at": at };
    let marked = doc! { "$push": { "in_step.pending": mark } };
    db.raw_collection("subset_products")
        .update_one(doc! {"_id": 1}, marked)
        .await
        .unwrap();
    let left = best.repair().await.unwrap();
    assert_eq!(
        (left.len(), &left[0].kind),
        (1, &SubsetProblemKind::Pending { since: at })
    );
    assert_eq!(shown(db).await, [2, 1]);
    assert_eq!(best.resume(at).await.unwrap(), 0);
    assert_eq!(best.resume(db.now()).await.unwrap(), 1);
    assert!(best.verify().await.unwrap().is_empty());
}
