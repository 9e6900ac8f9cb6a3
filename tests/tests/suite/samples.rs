//! `$sample` at the beginning of a pipeline: few of many, drawn or read.

use std::collections::HashSet;

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{aggregate, insert, run};

crate::on_every_backend! {
    few_of_many_are_different_and_there,
    every_tenth_is_as_likely,
    what_is_left_of_many_is_found,
}

async fn fill(db: &Db, count: i32) {
    let documents = |first: i32| (first..first + 1_000).map(|n| doc! { "_id": n, "tenth": n * 10 / count });
    for first in (0..count).step_by(1_000) {
        insert(db, "c", documents(first).collect()).await;
    }
}

async fn sampled(db: &Db, size: i32, more: Vec<Document>) -> Vec<Document> {
    let mut stages = vec![doc! { "$sample": { "size": size } }];
    stages.extend(more);
    aggregate(db, "c", stages).await
}

fn ids(found: &[Document]) -> Vec<i32> {
    found.iter().map(|row| row.get_i32("_id").unwrap()).collect()
}

async fn few_of_many_are_different_and_there(db: &Db) {
    fill(db, 3_000).await;
    run(
        db,
        doc! { "delete": "c", "deletes": [{ "q": { "_id": { "$mod": [3, 1] } }, "limit": 0 }] },
    )
    .await;
    for size in [1, 7, 100] {
        let found = ids(&sampled(db, size, Vec::new()).await);
        let different: HashSet<i32> = found.iter().copied().collect();
        assert_eq!(different.len(), usize::try_from(size).unwrap());
        assert!(
            found.iter().all(|id| id % 3 != 1 && (0..3_000).contains(id)),
            "{found:?}"
        );
    }
    // Stages behind it see no others.
    let stages = vec![
        doc! { "$project": { "at": "$tenth" } },
        doc! { "$match": { "_id": { "$gte": 0 } } },
        doc! { "$count": "n" },
    ];
    assert_eq!(sampled(db, 20, stages).await, [doc! { "n": 20 }]);
    // Another draw finds others.
    let draws = [
        ids(&sampled(db, 50, Vec::new()).await),
        ids(&sampled(db, 50, Vec::new()).await),
    ];
    assert_ne!(draws[0], draws[1]);
    // Of what a condition leaves, all are looked at.
    let stages = vec![
        doc! { "$match": { "_id": { "$lt": 9 } } },
        doc! { "$sample": { "size": 100 } },
        doc! { "$sort": { "_id": 1 } },
    ];
    assert_eq!(ids(&aggregate(db, "c", stages).await), [0, 2, 3, 5, 6, 8]);
}

async fn every_tenth_is_as_likely(db: &Db) {
    if db.backend().name() == "mongodb" {
        // Its random cursor goes by pages, of which some hold more.
        return;
    }
    fill(db, 2_000).await;
    let mut drawn = [0; 10];
    for _ in 0..40 {
        for row in sampled(db, 50, Vec::new()).await {
            drawn[usize::try_from(row.get_i32("tenth").unwrap()).unwrap()] += 1;
        }
    }
    assert_eq!(drawn.iter().sum::<i32>(), 2_000);
    // Two hundred each, give or take six times what chance does.
    assert!(drawn.iter().all(|count| (110..290).contains(count)), "{drawn:?}");
}

async fn what_is_left_of_many_is_found(db: &Db) {
    fill(db, 4_000).await;
    run(
        db,
        doc! { "delete": "c", "deletes": [{ "q": { "_id": { "$gt": 1, "$lt": 3_800 } }, "limit": 0 }] },
    )
    .await;
    let found = ids(&sampled(db, 5, Vec::new()).await);
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 5);
    let left = |id: &i32| (0..=1).contains(id) || (3_800..4_000).contains(id);
    assert!(found.iter().all(left), "{found:?}");
    let all = sampled(
        db,
        5_000,
        vec![doc! { "$group": { "_id": Bson::Null, "n": { "$sum": 1 } } }],
    )
    .await;
    assert_eq!(all[0].get_i32("n").unwrap(), 202);
}
