//! Outliers: what is beside a document is of one list of that document, whatever becomes of it.

use bson::{Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{CollectionDeclaration, Db, ErrorKind, Filter, Model};
use odm_patterns::archive::Archive;
use odm_patterns::outlier::{Outlier, OutlierProblemKind, Overflow};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    two_lists_of_a_model_have_nothing_in_common,
    an_overflow_is_of_one_list,
    pages_of_the_older_form_are_found,
    lists_that_the_older_form_mixed_are_told,
    a_softly_deleted_document_keeps_what_is_beside_it,
    a_way_back_that_was_begun_waits_for_the_document,
    documents_of_other_kinds_are_left_alone,
    a_new_document_has_nothing_of_the_old_one,
    what_is_beside_a_document_is_forgotten,
    an_archived_document_has_its_elements_again,
    ids_are_those_that_are_stored,
    pages_are_full_by_size,
    a_document_is_full_by_size,
    an_element_that_no_document_takes_is_refused,
    outliers_of_a_collection_that_is_named_later,
    a_state_that_is_none_is_an_error,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    likes: Vec<i64>,
    watchers: Vec<i64>,
    #[serde(default)]
    likes_over: Overflow,
    #[serde(default)]
    watchers_over: Overflow,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_logs")]
struct Log {
    #[serde(rename = "_id")]
    id: i32,
    values: Vec<i64>,
    #[serde(default)]
    overflow: Overflow,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_kinds", kind = "one")]
struct One {
    #[serde(rename = "_id")]
    id: i32,
    values: Vec<i64>,
    #[serde(default)]
    overflow: Overflow,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_kinds", kind = "other")]
struct Other {
    #[serde(rename = "_id")]
    id: i32,
    values: Vec<i64>,
    #[serde(default)]
    overflow: Overflow,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_names", options = caseless)]
struct Named {
    #[serde(rename = "_id")]
    id: String,
    values: Vec<i64>,
    #[serde(default)]
    overflow: Overflow,
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! {"locale": "en", "strength": 2})
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_texts")]
struct Texts {
    #[serde(rename = "_id")]
    id: i32,
    texts: Vec<String>,
    #[serde(default)]
    overflow: Overflow,
}

fn page() -> Page {
    Page {
        id: 1,
        likes: vec![],
        watchers: vec![],
        likes_over: Overflow::default(),
        watchers_over: Overflow::default(),
    }
}

fn likes(db: &Db) -> Outlier<Page, i64> {
    Outlier::<Page, i64>::new(db, |p| p.likes, |p| p.likes_over.path().clone())
        .threshold(2)
        .low(2)
}

fn watchers(db: &Db) -> Outlier<Page, i64> {
    Outlier::<Page, i64>::new(db, |p| p.watchers, |p| p.watchers_over.path().clone())
        .threshold(2)
        .low(2)
}

fn values(db: &Db) -> Outlier<Log, i64> {
    Outlier::<Log, i64>::new(db, |l| l.values, |l| l.overflow.path().clone())
        .threshold(3)
        .low(3)
}

async fn log(db: &Db, id: i32) {
    let log = Log {
        id,
        values: vec![],
        overflow: Overflow::default(),
        deleted: None,
    };
    db.collection::<Log>().insert(log).await.unwrap();
}

async fn kinds<M: Model, T>(outlier: &Outlier<M, T>) -> Vec<OutlierProblemKind> {
    let problems = outlier.verify().await.unwrap();
    problems.into_iter().map(|problem| problem.kind).collect()
}

/// An epoch that will not be over before `settle` or what comes to an end before.
fn far(db: &Db) -> DateTime {
    DateTime::from_millis(db.now().timestamp_millis() + 60_000)
}

async fn two_lists_of_a_model_have_nothing_in_common(db: &Db) {
    db.collection::<Page>().insert(page()).await.unwrap();
    let (likes, watchers) = (likes(db), watchers(db));
    for n in 0..6 {
        likes.add(1, &n).await.unwrap();
        watchers.add(1, &(100 + n)).await.unwrap();
    }
    assert_eq!(likes.items(1).await.unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(watchers.items(1).await.unwrap(), [100, 101, 102, 103, 104, 105]);
    assert!(!watchers.remove(1, &4).await.unwrap());
    assert!(kinds(&likes).await.is_empty() && kinds(&watchers).await.is_empty());
    for n in 100..105 {
        assert!(watchers.remove(1, &n).await.unwrap());
    }
    assert!(watchers.settle(1).await.unwrap());
    assert_eq!(watchers.sweep(far(db)).await.unwrap(), 1);
    assert_eq!(likes.sweep(far(db)).await.unwrap(), 0);
    assert_eq!(watchers.items(1).await.unwrap(), [105]);
    assert_eq!(likes.items(1).await.unwrap(), [0, 1, 2, 3, 4, 5]);
    // Of one list all can go.
    watchers.add(1, &106).await.unwrap();
    watchers.add(1, &107).await.unwrap();
    assert_eq!(likes.forget(1).await.unwrap(), 1);
    assert_eq!(watchers.items(1).await.unwrap(), [105, 106, 107]);
    assert_eq!(likes.items(1).await.unwrap(), [0, 1]);
    likes.add(1, &9).await.unwrap();
    assert_eq!(likes.items(1).await.unwrap(), [0, 1, 9]);
    assert!(likes.repair().await.unwrap().is_empty() && watchers.repair().await.unwrap().is_empty());
}

async fn an_overflow_is_of_one_list(db: &Db) {
    db.collection::<Page>().insert(page()).await.unwrap();
    let likes = likes(db);
    for n in 0..4 {
        likes.add(1, &n).await.unwrap();
    }
    let shared = Outlier::<Page, i64>::new(db, |p| p.watchers, |p| p.likes_over.path().clone());
    for refused in [
        shared.add(1, &7).await.unwrap_err(),
        shared.remove(1, &1).await.unwrap_err(),
        shared.items(1).await.unwrap_err(),
        shared.settle(1).await.unwrap_err(),
        shared.verify().await.unwrap_err(),
    ] {
        assert_eq!(
            (refused.kind(), refused.model(), refused.path(), refused.id()),
            (
                ErrorKind::InvalidArgument,
                Some("Page"),
                Some("likes_over"),
                Some(&Bson::Int32(1))
            )
        );
    }
    assert_eq!(likes.items(1).await.unwrap(), [0, 1, 2, 3]);
}

async fn pages_of_the_older_form_are_found(db: &Db) {
    let (pages, beside) = (
        db.raw_collection("outlier_pages"),
        db.raw_collection("outlier_pages_overflow"),
    );
    let stored = doc! {
        "_id": 1, "likes": [1_i64, 2_i64], "watchers": [7_i64],
        "likes_over": { "is": true, "epoch": 2_i64 }, "watchers_over": { "is": false, "epoch": 0_i64 },
    };
    pages.insert(stored).await.unwrap();
    let of = |epoch: i64| doc! { "id": 1, "epoch": epoch };
    let old = doc! { "_id": { "of": of(1), "number": 0_i64 }, "items": [], "sealed": true, "end": true,
    "at": DateTime::from_millis(1) };
    let now = doc! { "_id": { "of": of(2), "number": 0_i64 }, "items": [3_i64, 4_i64] };
    beside.insert_many([old, now]).await.unwrap();
    let (likes, watchers) = (likes(db), watchers(db));
    // The list that says so has them; the other one leaves them alone.
    assert_eq!(likes.items(1).await.unwrap(), [1, 2, 3, 4]);
    assert!(kinds(&likes).await.is_empty() && kinds(&watchers).await.is_empty());
    assert_eq!(watchers.forget_orphans().await.unwrap(), 0);
    assert_eq!(watchers.sweep(far(db)).await.unwrap(), 0);
    assert_eq!(likes.sweep(far(db)).await.unwrap(), 1);
    for n in 8..11 {
        watchers.add(1, &n).await.unwrap();
    }
    likes.add(1, &5).await.unwrap();
    assert_eq!(likes.items(1).await.unwrap(), [1, 2, 3, 4, 5]);
    assert_eq!(watchers.items(1).await.unwrap(), [7, 8, 9, 10]);
    for n in [1, 3, 4] {
        assert!(likes.remove(1, &n).await.unwrap());
    }
    assert!(likes.settle(1).await.unwrap());
    let stored = db.collection::<Page>().get(1).required().await.unwrap();
    assert_eq!((stored.likes, stored.likes_over.epoch), (vec![2, 5], 3));
    // From here on it has pages of its own.
    for n in 11..14 {
        likes.add(1, &n).await.unwrap();
    }
    assert_eq!(likes.items(1).await.unwrap(), [2, 5, 11, 12, 13]);
    assert_eq!(watchers.items(1).await.unwrap(), [7, 8, 9, 10]);
    let stored = db.collection::<Page>().get(1).required().await.unwrap();
    assert!(stored.likes_over.pages.is_some() && stored.likes_over.pages != stored.watchers_over.pages);
    assert!(kinds(&likes).await.is_empty() && kinds(&watchers).await.is_empty());
    assert_eq!(likes.sweep(far(db)).await.unwrap(), 1);
}

async fn lists_that_the_older_form_mixed_are_told(db: &Db) {
    let over = doc! { "is": true, "epoch": 0_i64 };
    let stored = doc! {
        "_id": 1, "likes": [1_i64], "watchers": [7_i64], "likes_over": over.clone(), "watchers_over": over,
    };
    db.raw_collection("outlier_pages").insert(stored).await.unwrap();
    let mixed =
        doc! { "_id": { "of": { "id": 1, "epoch": 0_i64 }, "number": 0_i64 }, "items": [2_i64, 8_i64] };
    db.raw_collection("outlier_pages_overflow")
        .insert(mixed)
        .await
        .unwrap();
    let (likes, watchers) = (likes(db).low(3).threshold(4), watchers(db));
    let likes = likes.low(4);
    assert_eq!(kinds(&likes).await, [OutlierProblemKind::Mixed]);
    assert_eq!(kinds(&watchers).await, [OutlierProblemKind::Mixed]);
    assert_eq!(watchers.repair().await.unwrap().len(), 1);
    // The way back of one leaves the other what it has.
    assert!(likes.settle(1).await.unwrap());
    assert_eq!(likes.items(1).await.unwrap(), [1, 2, 8]);
    assert_eq!(watchers.items(1).await.unwrap(), [7, 2, 8]);
    likes.repair().await.unwrap();
    assert_eq!(watchers.items(1).await.unwrap(), [7, 2, 8]);
    assert!(likes.remove(1, &8).await.unwrap());
    watchers.repair().await.unwrap();
    assert!(watchers.remove(1, &2).await.unwrap());
    assert_eq!(likes.items(1).await.unwrap(), [1, 2]);
    assert_eq!(watchers.items(1).await.unwrap(), [7, 8]);
    assert!(kinds(&likes).await.is_empty() && kinds(&watchers).await.is_empty());
}

async fn a_softly_deleted_document_keeps_what_is_beside_it(db: &Db) {
    let (logs, values) = (db.collection::<Log>(), values(db));
    log(db, 1).await;
    for n in [1, 2, 3, 4, 5, 5] {
        values.add(1, &n).await.unwrap();
    }
    for n in 1..=2 {
        values.remove(1, &n).await.unwrap();
    }
    logs.delete(1).await.unwrap();
    for refused in [
        values.add(1, &7).await.unwrap_err(),
        values.remove(1, &5).await.unwrap_err(),
        values.remove(1, &3).await.unwrap_err(),
        values.items(1).await.unwrap_err(),
        values.settle(1).await.unwrap_err(),
        values.adopt(1).await.unwrap_err(),
    ] {
        assert_eq!(
            (refused.kind(), refused.model(), refused.id()),
            (ErrorKind::NotFound, Some("Log"), Some(&Bson::Int32(1)))
        );
    }
    assert!(kinds(&values).await.is_empty());
    assert!(values.repair().await.unwrap().is_empty());
    assert_eq!(values.forget_orphans().await.unwrap(), 0);
    assert_eq!(values.sweep(far(db)).await.unwrap(), 0);
    logs.restore(|l| l.id.eq(1)).await.unwrap();
    assert_eq!(values.items(1).await.unwrap(), [3, 4, 5, 5]);
    values.add(1, &9).await.unwrap();
    assert!(values.remove(1, &5).await.unwrap());
    assert!(values.settle(1).await.unwrap());
    assert_eq!(values.items(1).await.unwrap(), [3, 4, 9]);
    assert!(kinds(&values).await.is_empty());
}

async fn a_way_back_that_was_begun_waits_for_the_document(db: &Db) {
    let (logs, whole) = (db.collection::<Log>(), values(db));
    for nth in 1..=3 {
        let id = nth as i32;
        log(db, id).await;
        for n in 1..=5 {
            whole.add(id, &n).await.unwrap();
        }
        for n in 1..=2 {
            whole.remove(id, &n).await.unwrap();
        }
        // It dies before the document is written: all is closed, but for what the first write closes.
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(nth).crash());
        values(&faulty).settle(id).await.unwrap_err();
        logs.delete(id).await.unwrap();
        assert_eq!(
            whole.remove(id, &5).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(whole.add(id, &5).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(whole.repair().await.unwrap().is_empty());
        assert_eq!(whole.sweep(far(db)).await.unwrap(), 0);
        assert!(kinds(&whole).await.is_empty());
        logs.restore(|l| l.id.eq(id)).await.unwrap();
        assert_eq!(whole.items(id).await.unwrap(), [3, 4, 5], "{nth}");
        assert_eq!(kinds(&whole).await.len(), usize::from(nth > 1), "{nth}");
        assert!(whole.repair().await.unwrap().is_empty());
        assert_eq!(whole.items(id).await.unwrap(), [3, 4, 5], "{nth}");
        assert!(whole.remove(id, &5).await.unwrap());
        assert!(kinds(&whole).await.is_empty());
        logs.delete(id).await.unwrap();
    }
}

async fn documents_of_other_kinds_are_left_alone(db: &Db) {
    let one = One {
        id: 1,
        values: vec![],
        overflow: Overflow::default(),
    };
    let other = Other {
        id: 2,
        values: vec![],
        overflow: Overflow::default(),
    };
    db.collection::<One>().insert(one).await.unwrap();
    db.collection::<Other>().insert(other).await.unwrap();
    let ones = Outlier::<One, i64>::new(db, |o| o.values, |o| o.overflow.path().clone()).threshold(3);
    let others = Outlier::<Other, i64>::new(db, |o| o.values, |o| o.overflow.path().clone()).threshold(3);
    for n in 1..=6 {
        ones.add(1, &n).await.unwrap();
        others.add(2, &n).await.unwrap();
    }
    for n in 1..=4 {
        others.remove(2, &n).await.unwrap();
    }
    for refused in [
        ones.add(2, &7).await.unwrap_err(),
        ones.remove(2, &5).await.unwrap_err(),
        ones.items(2).await.unwrap_err(),
        ones.settle(2).await.unwrap_err(),
        ones.forget(2).await.unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::NotFound);
    }
    assert!(kinds(&ones).await.is_empty());
    assert!(ones.repair().await.unwrap().is_empty());
    assert_eq!(ones.forget_orphans().await.unwrap(), 0);
    assert_eq!(others.items(2).await.unwrap(), [5, 6]);
    assert_eq!(ones.items(1).await.unwrap(), [1, 2, 3, 4, 5, 6]);
}

async fn a_new_document_has_nothing_of_the_old_one(db: &Db) {
    let (logs, values) = (db.collection::<Log>(), values(db));
    for epochs in [0, 1] {
        log(db, 2).await;
        for n in 1..=5 {
            values.add(2, &n).await.unwrap();
        }
        for _ in 0..epochs {
            for n in 1..=5 {
                values.remove(2, &n).await.unwrap();
            }
            values.settle(2).await.unwrap();
            for n in 1..=5 {
                values.add(2, &n).await.unwrap();
            }
        }
        logs.purge(|l| l.id.eq(2)).await.unwrap();
        assert!(kinds(&values).await.contains(&OutlierProblemKind::Orphaned));
        log(db, 2).await;
        assert_eq!(kinds(&values).await, [OutlierProblemKind::Orphaned]);
        for n in 100..104 {
            values.add(2, &n).await.unwrap();
        }
        assert_eq!(values.items(2).await.unwrap(), [100, 101, 102, 103]);
        assert_eq!(kinds(&values).await, [OutlierProblemKind::Orphaned]);
        // They could be those of an archived document: it asks.
        let left = values.repair().await.unwrap();
        assert_eq!((left.len(), &left[0].kind), (1, &OutlierProblemKind::Orphaned));
        assert_eq!(left[0].id, Bson::Int32(2));
        match epochs {
            0 => {
                assert_eq!(values.forget_orphans().await.unwrap(), 1);
                assert_eq!(values.items(2).await.unwrap(), [100, 101, 102, 103]);
            }
            _ => {
                assert_eq!(values.adopt(2).await.unwrap(), 2);
                assert_eq!(values.items(2).await.unwrap(), [100, 101, 102, 103, 4, 5]);
            }
        }
        assert!(kinds(&values).await.is_empty());
        values.forget(2).await.unwrap();
        logs.purge(|l| l.id.eq(2)).await.unwrap();
        assert!(kinds(&values).await.is_empty());
    }
    // One that was stored whole, from a reading before it had anything beside it.
    log(db, 3).await;
    let before = logs.get(3).required().await.unwrap();
    for n in 1..=5 {
        values.add(3, &n).await.unwrap();
    }
    logs.save(&before).await.unwrap();
    assert_eq!(kinds(&values).await, [OutlierProblemKind::Orphaned]);
    assert_eq!(values.adopt(3).await.unwrap(), 2);
    assert_eq!(values.items(3).await.unwrap(), [4, 5]);
    assert!(kinds(&values).await.is_empty());
}

async fn what_is_beside_a_document_is_forgotten(db: &Db) {
    let (logs, values) = (db.collection::<Log>(), values(db));
    for id in 1..=3 {
        log(db, id).await;
        for n in 1..=5 {
            values.add(id, &n).await.unwrap();
        }
    }
    // Before, after, and while it is softly deleted.
    assert_eq!(values.forget(1).await.unwrap(), 1);
    logs.purge(|l| l.id.eq(1)).await.unwrap();
    logs.purge(|l| l.id.eq(2)).await.unwrap();
    assert_eq!(values.forget(2).await.unwrap(), 1);
    logs.delete(3).await.unwrap();
    assert_eq!(values.forget(3).await.unwrap(), 1);
    assert_eq!(values.forget(3).await.unwrap(), 0);
    assert_eq!(values.overflow().count(doc! {}).await.unwrap(), 0);
}

async fn an_archived_document_has_its_elements_again(db: &Db) {
    let (archive, values) = (Archive::<Log>::new(db, db), values(db));
    log(db, 1).await;
    for n in 1..=6 {
        values.add(1, &n).await.unwrap();
    }
    assert_eq!(archive.store(|l| l.id.eq(1)).await.unwrap().moved, 1);
    assert_eq!(kinds(&values).await, [OutlierProblemKind::Orphaned]);
    assert_eq!(values.repair().await.unwrap().len(), 1);
    assert_eq!(values.sweep(far(db)).await.unwrap(), 0);
    archive.restore(|_| Filter::all()).await.unwrap();
    assert_eq!(values.items(1).await.unwrap(), [1, 2, 3, 4, 5, 6]);
    assert!(kinds(&values).await.is_empty());
}

async fn ids_are_those_that_are_stored(db: &Db) {
    let names = db.collection::<Named>();
    names.create_declared().await.unwrap();
    let ann = Named {
        id: "ann".to_owned(),
        values: vec![],
        overflow: Overflow::default(),
    };
    names.insert(ann).await.unwrap();
    let values = Outlier::<Named, i64>::new(db, |n| n.values, |n| n.overflow.path().clone())
        .threshold(1)
        .low(1);
    for (n, id) in ["ann", "ANN", "Ann", "ann"].into_iter().enumerate() {
        values.add(id, &(n as i64)).await.unwrap();
    }
    for id in ["ann", "ANN"] {
        assert_eq!(values.items(id).await.unwrap(), [0, 1, 2, 3]);
    }
    assert_eq!(values.overflow().count(doc! {}).await.unwrap(), 1);
    assert!(kinds(&values).await.is_empty());
    for n in 1..=3 {
        assert!(values.remove("ANN", &n).await.unwrap());
    }
    assert!(values.settle("aNN").await.unwrap());
    assert_eq!(values.items("ann").await.unwrap(), [0]);
    values.add("ANN", &7).await.unwrap();
    // Elements that the older form kept by another spelling.
    let of = doc! { "id": "ANN", "epoch": 0_i64 };
    let lost = doc! { "_id": { "of": of, "number": 0_i64 }, "items": [8_i64] };
    values.overflow().insert(lost).await.unwrap();
    assert_eq!(kinds(&values).await, [OutlierProblemKind::Orphaned]);
    assert_eq!(values.adopt("ANN").await.unwrap(), 1);
    assert_eq!(values.items("ann").await.unwrap(), [0, 7, 8]);
    assert!(kinds(&values).await.is_empty());
    assert_eq!(values.forget("ANN").await.unwrap(), 3);
    assert_eq!(values.overflow().count(doc! {}).await.unwrap(), 0);
}

const MIB: usize = 1 << 20;

async fn texts(db: &Db) -> Outlier<Texts, String> {
    let texts = Texts {
        id: 1,
        texts: vec![],
        overflow: Overflow::default(),
    };
    db.collection::<Texts>().insert(texts).await.unwrap();
    db.create_collection("outlier_texts_overflow").await.unwrap();
    Outlier::<Texts, String>::new(db, |t| t.texts, |t| t.overflow.path().clone())
}

/// Texts of a size that differ.
fn text(n: usize, bytes: usize) -> String {
    format!("{n}{}", "x".repeat(bytes))
}

async fn pages_are_full_by_size(db: &Db) {
    let outlier = texts(db).await.threshold(1).low(1);
    for n in 0..4 {
        outlier.add(1, &text(n, 7 * MIB)).await.unwrap();
    }
    // A small one goes behind them, and what one document takes alone.
    outlier.add(1, &text(8, 10)).await.unwrap();
    let alone = text(9, 15 * MIB + MIB / 2);
    outlier.add(1, &alone).await.unwrap();
    // In a transaction no error may come first.
    let inside = db.transaction(async |tx| {
        let outlier = Outlier::<Texts, String>::new(&tx, |t| t.texts, |t| t.overflow.path().clone());
        outlier.add(1, &text(7, 7 * MIB)).await
    });
    inside.await.unwrap();
    let items = outlier.items(1).await.unwrap();
    let firsts: String = items.iter().filter_map(|item| item.chars().next()).collect();
    assert_eq!(firsts, "0123897");
    assert_eq!(outlier.overflow().count(doc! {}).await.unwrap(), 4);
    // What is left is few, and more than half of a document.
    let roomy = outlier.clone().threshold(9).low(9);
    assert!(!roomy.settle(1).await.unwrap());
    for n in 0..4 {
        assert!(outlier.remove(1, &text(n, 7 * MIB)).await.unwrap());
    }
    assert!(outlier.remove(1, &alone).await.unwrap());
    assert!(roomy.settle(1).await.unwrap());
    assert_eq!(outlier.items(1).await.unwrap(), [text(8, 10), text(7, 7 * MIB)]);
    assert!(outlier.verify().await.unwrap().is_empty());
}

async fn a_document_is_full_by_size(db: &Db) {
    let outlier = texts(db).await;
    for n in 0..3 {
        outlier.add(1, &text(n, 7 * MIB)).await.unwrap();
    }
    let stored = db.collection::<Texts>().get(1).required().await.unwrap();
    assert_eq!((stored.texts.len(), stored.overflow.is), (2, true));
    assert_eq!(outlier.items(1).await.unwrap().len(), 3);
    assert!(!outlier.settle(1).await.unwrap());
    let inside = db.transaction(async |tx| {
        let texts = Texts {
            id: 2,
            texts: vec![],
            overflow: Overflow::default(),
        };
        tx.collection::<Texts>().insert(texts).await?;
        let outlier = Outlier::<Texts, String>::new(&tx, |t| t.texts, |t| t.overflow.path().clone());
        for n in 0..3 {
            outlier.add(2, &text(n, 7 * MIB)).await?;
        }
        Ok(())
    });
    inside.await.unwrap();
    assert_eq!(outlier.items(2).await.unwrap().len(), 3);
}

async fn an_element_that_no_document_takes_is_refused(db: &Db) {
    let outlier = texts(db).await.threshold(1);
    outlier.add(1, &text(0, 10)).await.unwrap();
    outlier.add(1, &text(1, 10)).await.unwrap();
    // Too large by itself, and by what is beside it.
    for bytes in [17 * MIB, 16 * MIB - 20] {
        let refused = outlier.add(1, &text(2, bytes)).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.model(), refused.path(), refused.id()),
            (
                ErrorKind::InvalidArgument,
                Some("Texts"),
                Some("texts"),
                Some(&Bson::Int32(1))
            ),
            "{refused}"
        );
    }
    outlier.add(1, &text(3, 10)).await.unwrap();
    assert_eq!(outlier.items(1).await.unwrap().len(), 3);
    assert!(outlier.verify().await.unwrap().is_empty());
}

async fn outliers_of_a_collection_that_is_named_later(db: &Db) {
    for tenant in ["t1_pages", "t2_pages"] {
        let pages = db.collection_named::<Page>(tenant);
        pages.insert(page()).await.unwrap();
        let likes = Outlier::<Page, i64>::named(db, tenant, |p| p.likes, |p| p.likes_over.path().clone())
            .threshold(2);
        for n in 0..4 {
            likes.add(1, &n).await.unwrap();
        }
        assert_eq!(likes.items(1).await.unwrap(), [0, 1, 2, 3]);
        assert_eq!(likes.overflow().name(), format!("{tenant}_overflow"));
        assert!(likes.verify().await.unwrap().is_empty());
        let stored = pages.get(1).required().await.unwrap();
        assert_eq!((stored.likes.len(), stored.likes_over.is), (2, true));
    }
}

async fn a_state_that_is_none_is_an_error(db: &Db) {
    db.collection::<Page>().insert(page()).await.unwrap();
    let pages = db.raw_collection("outlier_pages");
    let likes = likes(db);
    for n in 0..4 {
        likes.add(1, &n).await.unwrap();
    }
    // What a shell writes.
    let set = async |change: bson::Document| {
        let set = doc! { "$set": change };
        pages.update_one(doc! { "_id": 1 }, set).await.unwrap();
    };
    set(doc! { "likes_over.epoch": 0.0 }).await;
    likes.add(1, &4).await.unwrap();
    assert_eq!(likes.items(1).await.unwrap(), [0, 1, 2, 3, 4]);
    for n in 0..4 {
        assert!(likes.remove(1, &n).await.unwrap());
    }
    assert!(likes.settle(1).await.unwrap());
    set(doc! { "likes_over.epoch": "zero" }).await;
    for refused in [
        likes.remove(1, &4).await.unwrap_err(),
        likes.items(1).await.unwrap_err(),
        likes.settle(1).await.unwrap_err(),
    ] {
        assert_eq!(
            (refused.kind(), refused.model(), refused.path(), refused.id()),
            (
                ErrorKind::Decode,
                Some("Page"),
                Some("likes_over"),
                Some(&Bson::Int32(1))
            )
        );
    }
}
