//! Typed updates: what each leaves.

use bson::doc;
use odm::{Collection, Db, ErrorKind, Model, Update};
use serde::{Deserialize, Serialize};

use super::models::{Item, Review};

crate::on_every_backend! {
    values,
    numbers,
    flags_of_an_unsigned_number,
    null_is_less_than_all_numbers_and_none,
    arrays_grow,
    arrays_shrink,
    elements,
    dates_renames_and_raw,
    raw_and_pipeline,
    no_op_updates_modify_nothing,
    conflicting_paths_are_an_error,
    wrong_targets_are_errors_with_the_servers_codes,
    a_missing_factor_is_zero_times_the_operand,
    an_update_of_many_that_fails_counts_nothing,
    an_update_grows_change_by_change,
}

type Fields = <Item as odm::Embedded>::Fields<Item>;

/// Runs an update on one item and gives what it is afterwards.
async fn after(db: &Db, item: Item, update: impl FnOnce(Fields) -> Update<Item>) -> Item {
    let items = db.collection::<Item>();
    items.save(&item).await.unwrap();
    let result = items.update_one(|i| i.id.eq(&item.id), update).await.unwrap();
    assert_eq!(result.matched, 1);
    items.get(&item.id).await.unwrap().expect("the item is there")
}

fn item() -> Item {
    Item::new("a", 3)
        .tagged(&["x", "y", "x"])
        .scored(&[5, 1, 4])
        .reviewed(&[("ann", 5), ("bob", 1)])
}

async fn values(db: &Db) {
    let now = after(db, item(), |i| {
        i.name.set("new") & i.note.set("n") & i.maker.city.set("Rome")
    })
    .await;
    assert_eq!(
        (now.name.as_str(), now.note.as_deref(), now.maker.city.as_deref()),
        ("new", Some("n"), Some("Rome"))
    );
    let now = after(db, now, |i| i.note.unset() & i.maker.city.set(None)).await;
    assert_eq!((now.note, now.maker.city), (None, None));
    let now = after(db, item(), |i| i.labels.key("k").set("v")).await;
    assert_eq!(now.labels.get("k").map(String::as_str), Some("v"));
}

async fn numbers(db: &Db) {
    let now = after(db, item(), |i| i.stock.inc(-2) & i.price.mul(4.0) & i.sold.max(9)).await;
    assert_eq!((now.stock, now.price, now.sold), (1, 6.0, 9));
    let now = after(db, now, |i| i.stock.min(-5) & i.sold.max(3)).await;
    assert_eq!((now.stock, now.sold), (-5, 9));
    let now = after(db, Item::new("a", 12), |i| i.stock.bit_and(10)).await;
    assert_eq!(now.stock, 8);
    let now = after(db, now, |i| i.stock.bit_or(3)).await;
    assert_eq!(now.stock, 11);
    let now = after(db, now, |i| i.stock.bit_xor(1)).await;
    assert_eq!(now.stock, 10);
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "flagged")]
struct Flagged {
    #[serde(rename = "_id")]
    id: i32,
    flags: u64,
    best: Option<i32>,
}

async fn flagged(db: &Db) -> Collection<Flagged> {
    let all = db.collection::<Flagged>();
    all.insert(Flagged {
        id: 1,
        flags: 7,
        best: None,
    })
    .await
    .unwrap();
    all
}

async fn flags_of_an_unsigned_number(db: &Db) {
    let all = flagged(db).await;
    let refused = all
        .update_one(|f| f.id.eq(1), |f| f.flags.bit_and(!2))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.kind(), refused.path()),
        (ErrorKind::Encode, Some("flags"))
    );
    let mask = i64::MAX as u64 & !2;
    all.update_one(|f| f.id.eq(1), |f| f.flags.bit_and(mask))
        .await
        .unwrap();
    assert_eq!(all.get(1).required().await.unwrap().flags, 5);
}

async fn null_is_less_than_all_numbers_and_none(db: &Db) {
    let all = flagged(db).await;
    let least = all.update_one(|f| f.id.eq(1), |f| f.best.min(3)).await.unwrap();
    assert_eq!((least.matched, least.modified), (1, 0));
    for change in [Flagged::fields().best.inc(1), Flagged::fields().best.mul(2)] {
        let refused = all.update_one(|f| f.id.eq(1), |_| change).await.unwrap_err();
        assert_eq!(refused.code(), Some(14));
    }
    let lower = |best: i32| {
        all.update_one(
            move |f| f.id.eq(1) & (f.best.eq(None) | f.best.gt(best)),
            move |f| f.best.set(best),
        )
    };
    for (best, modified) in [(7, 1), (9, 0), (5, 1)] {
        assert_eq!(lower(best).await.unwrap().modified, modified, "{best}");
    }
    all.update_one(|f| f.id.eq(1), |f| f.best.set(None))
        .await
        .unwrap();
    all.update_one(|f| f.id.eq(1), |f| f.best.max(3)).await.unwrap();
    assert_eq!(all.get(1).required().await.unwrap().best, Some(3));
}

async fn arrays_grow(db: &Db) {
    let now = after(db, item(), |i| i.tags.push("z") & i.scores.push_each([9, 8])).await;
    assert_eq!(now.tags, ["x", "y", "x", "z"]);
    assert_eq!(now.scores, [5, 1, 4, 9, 8]);
    let now = after(db, item(), |i| {
        i.scores.push_each_with([7, 2], |p| p.sort_desc().slice(3))
    })
    .await;
    assert_eq!(now.scores, [7, 5, 4]);
    let now = after(db, item(), |i| i.scores.push_each_with([0], |p| p.position(1))).await;
    assert_eq!(now.scores, [5, 0, 1, 4]);
    let third = [Review {
        by: "cy".to_owned(),
        stars: 3,
    }];
    let now = after(db, item(), |i| {
        i.reviews
            .push_each_with(third, |p| p.sort_by(|r| r.stars.asc()).slice(-2))
    })
    .await;
    assert_eq!(now.reviews.iter().map(|r| r.stars).collect::<Vec<_>>(), [3, 5]);
    let now = after(db, item(), |i| {
        i.tags.add_to_set("x") & i.scores.add_each_to_set([1, 6, 6])
    })
    .await;
    assert_eq!(now.tags, ["x", "y", "x"]);
    assert_eq!(now.scores, [5, 1, 4, 6]);
}

async fn arrays_shrink(db: &Db) {
    let now = after(db, item(), |i| i.tags.pop_first() & i.scores.pop_last()).await;
    assert_eq!(
        (now.tags, now.scores),
        (vec!["y".to_owned(), "x".to_owned()], vec![5, 1])
    );
    let now = after(db, item(), |i| i.tags.pull("x")).await;
    assert_eq!(now.tags, ["y"]);
    let now = after(db, item(), |i| i.scores.pull_all([5, 4])).await;
    assert_eq!(now.scores, [1]);
    let now = after(db, item(), |i| i.scores.pull_where_value(|s| s.gte(4))).await;
    assert_eq!(now.scores, [1]);
    let now = after(db, item(), |i| i.reviews.pull_where(|r| r.stars.lt(3))).await;
    assert_eq!(now.reviews.len(), 1);
}

async fn elements(db: &Db) {
    let now = after(db, item(), |i| i.scores.at(1).set(100)).await;
    assert_eq!(now.scores, [5, 100, 4]);
    let now = after(db, item(), |i| i.scores.each().inc(1)).await;
    assert_eq!(now.scores, [6, 2, 5]);
    let now = after(db, item(), |i| i.reviews.each().stars.mul(2)).await;
    assert_eq!(now.reviews.iter().map(|r| r.stars).collect::<Vec<_>>(), [10, 2]);
    let now = after(db, item(), |i| i.reviews.filtered(|r| r.stars.lt(3)).stars.set(3)).await;
    assert_eq!(now.reviews.iter().map(|r| r.stars).collect::<Vec<_>>(), [5, 3]);
    let items = db.collection::<Item>();
    items.save(item()).await.unwrap();
    items
        .update_one(
            |i| i.id.eq("a") & i.reviews.any().by.eq("bob"),
            |i| i.reviews.matched().stars.set(4),
        )
        .await
        .unwrap();
    let now = items
        .get("a".to_owned())
        .await
        .unwrap()
        .expect("the item is there");
    assert_eq!(now.reviews.iter().map(|r| r.stars).collect::<Vec<_>>(), [5, 4]);
}

async fn dates_renames_and_raw(db: &Db) {
    let now = after(db, item(), |i| i.added.current_date()).await;
    assert!(now.added.timestamp_millis() > 1_600_000_000_000);
    let items = db.collection::<Item>();
    items.save(item()).await.unwrap();
    items
        .update_one(|i| i.id.eq("a"), |i| i.name.rename(&i.category))
        .await
        .unwrap();
    let now = db
        .raw_collection("items")
        .find_one(doc! { "_id": "a" })
        .await
        .unwrap()
        .expect("the item is there");
    assert_eq!(
        (now.get("name"), now.get_str("category").ok()),
        (None, Some("item a"))
    );
}

async fn raw_and_pipeline(db: &Db) {
    let items = db.collection::<Item>();
    items.save(item()).await.unwrap();
    items
        .update_one(|i| i.id.eq("a"), |_| Update::raw(doc! { "$inc": { "stock": 1 } }))
        .await
        .unwrap();
    items
        .update_one(
            |i| i.id.eq("a"),
            |_| Update::pipeline([doc! { "$set": { "sold": { "$add": ["$stock", 10] } } }]),
        )
        .await
        .unwrap();
    let now = items
        .get("a".to_owned())
        .await
        .unwrap()
        .expect("the item is there");
    assert_eq!((now.stock, now.sold), (4, 14));
}

async fn no_op_updates_modify_nothing(db: &Db) {
    let items = db.collection::<Item>();
    items
        .insert_many([Item::new("a", 1), Item::new("b", 1)])
        .await
        .unwrap();
    let result = items
        .update_many(|_| odm::Filter::all(), |i| i.stock.set(1))
        .await
        .unwrap();
    assert_eq!((result.matched, result.modified), (2, 0));
    let result = items
        .update_many(|_| odm::Filter::all(), |i| i.stock.set(2))
        .await
        .unwrap();
    assert_eq!((result.matched, result.modified), (2, 2));
    let result = items
        .update_one(|i| i.id.eq("zz"), |i| i.stock.set(2))
        .await
        .unwrap();
    assert_eq!((result.matched, result.modified), (0, 0));
}

async fn conflicting_paths_are_an_error(db: &Db) {
    let items = db.collection::<Item>();
    items.insert(Item::new("a", 1)).await.unwrap();
    let error = items
        .update_one(|i| i.id.eq("a"), |i| i.stock.set(1) & i.stock.inc(1))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let raw = db.raw_collection("items");
    let error = raw
        .update_one(
            doc! { "_id": "a" },
            doc! { "$set": { "stock": 1 }, "$inc": { "stock": 1 } },
        )
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(40));
}

async fn wrong_targets_are_errors_with_the_servers_codes(db: &Db) {
    let raw = db.raw_collection("wrong");
    raw.insert(doc! { "_id": 1, "s": "text", "n": i64::MAX, "d": 1 })
        .await
        .unwrap();
    for (update, code) in [
        (doc! { "$inc": { "s": 1 } }, 14),
        (doc! { "$inc": { "n": 1i64 } }, 2),
        (doc! { "$push": { "s": 1 } }, 2),
        (doc! { "$set": { "s.x": 1 } }, 28),
        (doc! { "$pop": { "s": 1 } }, 14),
        (doc! { "$nope": { "s": 1 } }, 9),
        (doc! { "$set": { "": 1 } }, 56),
        (doc! { "$rename": { "s": "s" } }, 2),
        (doc! { "$set": { "d.$[e]": 1 } }, 2),
    ] {
        let error = raw
            .update_one(doc! { "_id": 1 }, update.clone())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(code), "{update}: {error}");
    }
}

async fn a_missing_factor_is_zero_times_the_operand(db: &Db) {
    let raw = db.raw_collection("factors");
    let factors = ["0.1", "-1E+3", "Infinity", "5"];
    for (id, (factor, product)) in factors.iter().zip(["0.0", "-0E+3", "NaN", "0"]).enumerate() {
        let decimal = |text: &str| text.parse::<bson::Decimal128>().unwrap();
        raw.insert(doc! { "_id": id as i32 }).await.unwrap();
        raw.update_one(
            doc! { "_id": id as i32 },
            doc! { "$mul": { "a": decimal(factor) } },
        )
        .await
        .unwrap();
        let found = raw.find_one(doc! { "_id": id as i32 }).await.unwrap().unwrap();
        assert_eq!(found, doc! { "_id": id as i32, "a": decimal(product) });
    }
}

async fn an_update_of_many_that_fails_counts_nothing(db: &Db) {
    let raw = odm_tests::raw::RawCollection::new(db, "counted");
    raw.insert(&[doc! { "_id": 1, "n": 1 }, doc! { "_id": 2, "n": "text" }])
        .await
        .unwrap();
    let change = odm_tests::raw::Change::Document(doc! { "$inc": { "n": 1 } });
    let result = raw.update(&doc! {}, &change, true, false, &[]).await.unwrap();
    assert_eq!(result.errors[0].1.code(), Some(14));
    assert_eq!((result.summary.matched, result.summary.modified), (0, 0));
    // What was changed before the failure stays changed.
    assert_eq!(raw.count(&doc! { "n": 2 }).await.unwrap(), 1);
}

async fn an_update_grows_change_by_change(db: &Db) {
    let i = <Item as odm::Model>::fields();
    let mut update = Update::none();
    for (stock, note) in [(Some(7), None), (None, Some("seven"))] {
        if let Some(stock) = stock {
            update &= i.stock.set(stock);
        }
        if let Some(note) = note {
            update &= i.note.set(note);
        }
    }
    let item = after(db, Item::new("a", 1), |_| update).await;
    assert_eq!((item.stock, item.note.as_deref()), (7, Some("seven")));
}
