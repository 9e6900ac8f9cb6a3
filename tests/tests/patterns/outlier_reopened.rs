//! Outliers whose way back was begun, and does not fit into the document any more.

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Filter, Model};
use odm_patterns::outlier::{Outlier, OutlierProblemKind, Overflow};
use odm_tests::interrupted::interrupted;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_way_back_that_others_make_too_long_is_given_up,
    a_way_back_into_a_document_that_grew_is_given_up,
    repair_gives_up_one_and_finishes_the_others,
    a_transaction_gives_a_way_back_up_without_an_error,
    a_crash_after_it_was_given_up_is_mended,
    ends_of_pages_that_were_opened_again_are_swept_together,
    an_older_reading_that_is_stored_meanwhile_loses_nothing,
}

const MIB: usize = 1 << 20;

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    note: String,
    texts: Vec<String>,
    #[serde(default)]
    overflow: Overflow,
}

fn texts(db: &Db) -> Outlier<Note, String> {
    let texts = Outlier::<Note, String>::new(db, |n| n.texts, |n| n.overflow.path().clone());
    texts.threshold(2).low(2).page(2)
}

async fn clean(db: &Db) {
    db.drop_collection("outlier_notes").await.ok();
    db.drop_collection("outlier_notes_overflow").await.ok();
    db.create_collection("outlier_notes_overflow").await.unwrap();
}

/// A document that is an outlier, with one element embedded and one beside it: so few that it comes back.
async fn outlier(db: &Db, id: i32) -> Outlier<Note, String> {
    let note = Note {
        id,
        note: String::new(),
        texts: vec![],
        overflow: Overflow::default(),
    };
    db.collection::<Note>().insert(note).await.unwrap();
    let texts = texts(db);
    for text in ["a", "b", "c"] {
        texts.add(id, &text.to_owned()).await.unwrap();
    }
    assert!(texts.remove(id, &"a".to_owned()).await.unwrap());
    texts
}

/// The way back was begun: all is closed, and nothing taken over.
async fn begin(db: &Db, id: i32) {
    let (faulty, faults) = db.faulty();
    // It closes the pages, puts an end behind them, and dies.
    faults.add(Fault::nth_write(3).crash());
    let texts = texts(&faulty).threshold(9).low(9);
    texts.settle(id).await.unwrap_err();
}

async fn grow(db: &Db, id: i32, bytes: usize) {
    let note = "x".repeat(bytes);
    let notes = db.collection::<Note>();
    notes
        .update_one(|n| n.id.eq(id), |n| n.note.set(note))
        .await
        .unwrap();
}

fn large(first: &str, bytes: usize) -> String {
    format!("{first}{}", "x".repeat(bytes))
}

async fn firsts(texts: &Outlier<Note, String>, id: i32) -> String {
    let items = texts.items(id).await.unwrap();
    let mut firsts: Vec<char> = items.iter().filter_map(|item| item.chars().next()).collect();
    firsts.sort_unstable();
    firsts.into_iter().collect()
}

async fn reopened(db: &Db, id: i32) -> i64 {
    let notes = db.raw_collection("outlier_notes");
    let note = notes.find_one(doc! { "_id": id }).await.unwrap().unwrap();
    let state = note.get_document("overflow").unwrap();
    state.get_i64("reopened").unwrap_or(0)
}

/// An outlier whose way back was given up once: what is stored then, without the large texts that lead to it.
async fn given_up(db: &Db, id: i32) -> Outlier<Note, String> {
    let texts = outlier(db, id).await;
    begin(db, id).await;
    let opened = doc! { "$set": { "overflow.reopened": 1_i64 } };
    let notes = db.raw_collection("outlier_notes");
    notes.update_one(doc! { "_id": id }, opened).await.unwrap();
    texts.add(id, &"e".to_owned()).await.unwrap();
    assert_eq!(texts.verify().await.unwrap(), []);
    assert_eq!(firsts(&texts, id).await, "bce");
    texts
}

async fn a_way_back_that_others_make_too_long_is_given_up(db: &Db) {
    let mut given_up = 0;
    // Before the third it has measured nothing yet.
    for nth in 3.. {
        clean(db).await;
        let texts = outlier(db, 1).await;
        let other = texts.clone();
        let (held, moment) = interrupted(db, nth, async move {
            for first in ["d", "e"] {
                other.add(1, &large(first, 8 * MIB)).await.unwrap();
            }
        });
        let settled = self::texts(&held).settle(1).await.unwrap();
        let has_come = moment.has_come();
        if has_come {
            assert_eq!(firsts(&texts, 1).await, "bcde", "{nth}");
        }
        assert_eq!(texts.verify().await.unwrap(), [], "{nth}");
        given_up += reopened(db, 1).await;
        if !has_come {
            assert!(settled);
            break;
        }
        // It goes on as any other.
        texts.add(1, &"f".to_owned()).await.unwrap();
        for first in ["d", "e"] {
            assert!(texts.remove(1, &large(first, 8 * MIB)).await.unwrap());
        }
        assert!(texts.remove(1, &"b".to_owned()).await.unwrap());
        texts.settle(1).await.unwrap();
        let note = db.collection::<Note>().get(1).required().await.unwrap();
        assert!(!note.overflow.is, "{nth}");
        assert_eq!(note.texts, ["c", "f"], "{nth}");
        assert_eq!(texts.verify().await.unwrap(), [], "{nth}");
    }
    assert!(given_up > 0);
}

async fn a_way_back_into_a_document_that_grew_is_given_up(db: &Db) {
    clean(db).await;
    let texts = outlier(db, 1).await;
    texts.add(1, &large("d", 6 * MIB)).await.unwrap();
    begin(db, 1).await;
    grow(db, 1, 11 * MIB).await;
    let kinds: Vec<OutlierProblemKind> = texts
        .verify()
        .await
        .unwrap()
        .into_iter()
        .map(|problem| problem.kind)
        .collect();
    assert_eq!(kinds, [OutlierProblemKind::Unsettled]);
    assert_eq!(firsts(&texts, 1).await, "bcd");
    // Whoever comes by: who adds, who removes, and who settles.
    texts.add(1, &"e".to_owned()).await.unwrap();
    assert_eq!(reopened(db, 1).await, 1);
    assert_eq!(firsts(&texts, 1).await, "bcde");
    assert_eq!(texts.verify().await.unwrap(), []);
    assert!(!texts.settle(1).await.unwrap());
    for (round, text) in ["e", "c"].into_iter().enumerate() {
        grow(db, 1, 0).await;
        let all = texts.clone().threshold(9).low(9);
        begin(db, 1).await;
        grow(db, 1, 11 * MIB).await;
        match round {
            0 => assert!(texts.remove(1, &text.to_owned()).await.unwrap()),
            _ => assert!(!all.settle(1).await.unwrap()),
        }
        if round == 0 {
            assert_eq!(reopened(db, 1).await, 2);
            assert_eq!(firsts(&texts, 1).await, "bcd");
            assert_eq!(texts.verify().await.unwrap(), []);
        }
    }
    // Smaller again, it is finished by whoever comes.
    grow(db, 1, 0).await;
    assert_eq!(texts.repair().await.unwrap(), []);
    let note = db.collection::<Note>().get(1).required().await.unwrap();
    assert_eq!((note.overflow.is, note.overflow.epoch), (false, 1));
    assert_eq!(firsts(&texts, 1).await, "bcd");
    assert_eq!(texts.verify().await.unwrap(), []);
}

async fn repair_gives_up_one_and_finishes_the_others(db: &Db) {
    clean(db).await;
    for id in 1..=3 {
        let texts = outlier(db, id).await;
        if id == 2 {
            texts.add(id, &large("d", 6 * MIB)).await.unwrap();
        }
        begin(db, id).await;
    }
    grow(db, 2, 11 * MIB).await;
    let texts = texts(db);
    assert_eq!(texts.verify().await.unwrap().len(), 3);
    assert_eq!(texts.repair().await.unwrap(), []);
    assert_eq!(texts.verify().await.unwrap(), []);
    for (id, expected) in [(1, "bc"), (2, "bcd"), (3, "bc")] {
        assert_eq!(firsts(&texts, id).await, expected);
        let note = db.collection::<Note>().get(id).required().await.unwrap();
        assert_eq!(note.overflow.is, id == 2);
    }
}

async fn a_transaction_gives_a_way_back_up_without_an_error(db: &Db) {
    clean(db).await;
    let texts = outlier(db, 1).await;
    texts.add(1, &large("d", 6 * MIB)).await.unwrap();
    begin(db, 1).await;
    grow(db, 1, 11 * MIB).await;
    let inside = db.transaction(async |tx| {
        let texts = self::texts(&tx);
        texts.add(1, &"e".to_owned()).await?;
        texts.remove(1, &"c".to_owned()).await
    });
    assert!(inside.await.unwrap());
    assert_eq!(reopened(db, 1).await, 1);
    assert_eq!(firsts(&texts, 1).await, "bde");
    assert_eq!(texts.verify().await.unwrap(), []);
}

async fn a_crash_after_it_was_given_up_is_mended(db: &Db) {
    let mut crashes = 0;
    for n in 1.. {
        clean(db).await;
        let whole = given_up(db, 1).await;
        assert!(whole.remove(1, &"c".to_owned()).await.unwrap());
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(n).crash());
        texts(&faulty).settle(1).await.ok();
        assert_eq!(firsts(&whole, 1).await, "be", "{n}");
        match n % 2 {
            0 => drop(whole.repair().await.unwrap()),
            _ => whole.add(1, &"f".to_owned()).await.unwrap(),
        }
        whole.repair().await.unwrap();
        let expected = if n % 2 == 0 { "be" } else { "bef" };
        assert_eq!(firsts(&whole, 1).await, expected, "{n}");
        assert_eq!(whole.verify().await.unwrap(), [], "{n}");
        for text in ["g", "h", "i"] {
            whole.add(1, &text.to_owned()).await.unwrap();
        }
        assert_eq!(firsts(&whole, 1).await, format!("{expected}ghi"), "{n}");
        if faults.failures() == 0 {
            break;
        }
        crashes += 1;
    }
    assert!(crashes >= 4, "{crashes}");
}

async fn ends_of_pages_that_were_opened_again_are_swept_together(db: &Db) {
    clean(db).await;
    let texts = given_up(db, 1).await;
    assert!(texts.remove(1, &"c".to_owned()).await.unwrap());
    assert!(texts.settle(1).await.unwrap());
    let pages = texts.overflow();
    let ends = pages.find(doc! { "end": { "$exists": true } }).await.unwrap();
    assert_eq!(ends.len(), 2);
    let count = pages.count(doc! {}).await.unwrap();
    // Who came when the last of them was put may still be on the way.
    let last = ends.iter().filter_map(|end| end.get_datetime("at").ok()).max();
    let first = DateTime::from_millis(last.unwrap().timestamp_millis() - 1_000);
    let old = doc! { "$set": { "at": DateTime::from_millis(first.timestamp_millis() - 1_000) } };
    pages.update_one(doc! { "end": true }, old).await.unwrap();
    assert_eq!(texts.sweep(first).await.unwrap(), 0);
    assert_eq!(pages.count(doc! {}).await.unwrap(), count);
    let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
    assert_eq!(texts.sweep(far).await.unwrap(), 2);
    assert_eq!(pages.count(doc! {}).await.unwrap(), 0);
}

async fn an_older_reading_that_is_stored_meanwhile_loses_nothing(db: &Db) {
    let mut stored_while_it_went_back = 0;
    for nth in 1.. {
        clean(db).await;
        let texts = outlier(db, 1).await;
        assert!(texts.settle(1).await.unwrap());
        let reading = db.collection::<Note>().get(1).required().await.unwrap();
        assert_eq!((reading.overflow.epoch, reading.overflow.is), (1, false));
        for text in ["d", "e"] {
            texts.add(1, &text.to_owned()).await.unwrap();
        }
        assert!(texts.remove(1, &"c".to_owned()).await.unwrap());
        assert!(texts.remove(1, &"d".to_owned()).await.unwrap());
        let notes = db.collection::<Note>();
        let was_beside = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let told = was_beside.clone();
        let (held, moment) = interrupted(db, nth, async move {
            let now = notes.get(1).required().await.unwrap();
            told.store(now.overflow.is, std::sync::atomic::Ordering::SeqCst);
            notes.save(&reading).await.unwrap();
        });
        self::texts(&held).settle(1).await.unwrap();
        let has_come = moment.has_come();
        texts.repair().await.unwrap();
        texts.repair().await.unwrap();
        assert_eq!(texts.verify().await.unwrap(), [], "{nth}");
        if !has_come {
            assert_eq!(firsts(&texts, 1).await, "be");
            break;
        }
        if was_beside.load(std::sync::atomic::Ordering::SeqCst) {
            assert_eq!(firsts(&texts, 1).await, "bce", "{nth}");
            stored_while_it_went_back += 1;
        }
    }
    assert!(stored_while_it_went_back >= 3);
    let all = db.collection::<Note>();
    assert_eq!(all.count(|_| Filter::all()).await.unwrap(), 1);
}
