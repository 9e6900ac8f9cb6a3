//! Rules of numbers to which updates add, and what upserts insert: conditions of the same write.

use std::collections::BTreeMap;

use bson::{Decimal128, Document, doc};
use odm::{Db, Embedded, Error, ErrorKind, Filter, Model, Update};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    elements_of_arrays_keep_their_rules,
    a_number_that_is_missing_becomes_what_is_added,
    an_upsert_inserts_nothing_that_the_model_refuses,
    a_batch_refuses_such_an_upsert_at_once,
    elements_that_the_database_cannot_be_asked_about_are_refused,
    a_pipeline_says_which_array_it_made_too_long,
    decimals_keep_their_bounds_to_the_digit,
    an_upsert_by_a_collation_finds_what_is_full_by_it,
    variables_of_a_write_are_those_of_the_look_behind_it,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Cart {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    name: String,
    #[serde(default)]
    lines: Vec<Line>,
    #[serde(default)]
    #[odm(validate(each(min = 0)))]
    each: Vec<i32>,
    #[serde(default)]
    #[odm(validate(min = 0, max = 10))]
    points: i32,
    #[serde(default)]
    #[odm(validate(values(max = 9)))]
    by_sku: BTreeMap<String, i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[odm(validate(min = 0.5))]
    share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[odm(validate(one_of(2, 4, 8)))]
    power: Option<i32>,
    #[serde(default)]
    #[odm(max = 2)]
    few: Vec<i32>,
    #[serde(default)]
    inner: Inner,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    #[odm(validate(min = 0))]
    count: i32,
    #[serde(default)]
    #[odm(max = 2)]
    notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Inner {
    #[serde(default)]
    #[odm(max = 1)]
    one: Vec<i32>,
}

fn line(sku: &str, count: i32) -> Line {
    Line {
        sku: sku.to_owned(),
        count,
        notes: vec!["x".to_owned(), "y".to_owned()],
    }
}

fn cart(id: i32) -> Cart {
    Cart {
        id,
        name: "a cart".to_owned(),
        lines: vec![line("a", 1), line("b", 9)],
        each: vec![3, 7],
        points: 5,
        by_sku: BTreeMap::from([("old".to_owned(), 5)]),
        share: None,
        power: None,
        few: Vec::new(),
        inner: Inner::default(),
    }
}

fn broken(error: &Error) -> Vec<(&str, &str)> {
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    let violations = error.violations().iter();
    violations
        .map(|violation| (violation.path.as_str(), violation.rule))
        .collect()
}

async fn elements_of_arrays_keep_their_rules(db: &Db) {
    let carts = db.collection::<Cart>();
    carts.insert(cart(1)).await.unwrap();
    let change = async |update: Update<Cart>| {
        let result = carts.update_one(|c| c.id.eq(1) & c.lines.any().sku.eq("a"), |_| update);
        result.await
    };
    let c = Cart::fields;
    type Broken = &'static [(&'static str, &'static str)];
    let refused: [(Update<Cart>, Broken); 9] = [
        (c().lines.each().count.inc(-5), &[("lines.0.count", "min")]),
        (c().lines.at(0).count.inc(-5), &[("lines.0.count", "min")]),
        (
            c().lines.filtered(|l| l.sku.eq("a")).count.inc(-5),
            &[("lines.$[f0].count", "min")],
        ),
        (
            c().lines
                .filtered(|l| l.sku.eq("a") | l.sku.eq("c"))
                .count
                .inc(-5),
            &[("lines.$[f0].count", "min")],
        ),
        (c().lines.matched().count.inc(-5), &[("lines.$.count", "min")]),
        (c().each.each().inc(-4), &[("each.0", "min")]),
        (c().each.at(1).inc(-8), &[("each.1", "min")]),
        (c().each.filtered(|e| e.lt(5)).inc(-4), &[("each.$[f0]", "min")]),
        (c().lines.at(1).notes.push("z"), &[("lines.1.notes", "max_items")]),
    ];
    for (update, expected) in refused {
        let text = format!("{update:?}");
        let error = change(update).await.expect_err(&text);
        assert_eq!(broken(&error), expected, "{text}");
        assert_eq!(error.id(), Some(&1.into()));
        assert_eq!(carts.get(1).required().await.unwrap(), cart(1), "{text}");
    }
    for update in [
        c().lines.each().count.inc(-1),
        c().lines.each().count.inc(1),
        c().lines.filtered(|l| l.sku.eq("b")).count.inc(-5),
        c().lines.matched().count.inc(4),
        c().lines.matched().count.inc(-5),
        c().each.each().inc(-3),
        c().each.filtered(|e| e.gt(3)).inc(-4),
        c().lines.at(1).count.inc(-4),
    ] {
        let text = format!("{update:?}");
        assert_eq!(change(update).await.unwrap().modified, 1, "{text}");
    }
    let stored = carts.get(1).required().await.unwrap();
    let counts: Vec<i32> = stored.lines.iter().map(|line| line.count).collect();
    assert_eq!((counts, stored.each), (vec![0, 0], vec![0, 0]));

    // An update of many passes over documents that would break a rule.
    carts.insert(cart(2)).await.unwrap();
    let many = carts.update_many(|_| Filter::all(), |c| c.lines.each().count.inc(-1));
    assert_eq!(many.await.unwrap().matched, 1);
    let one = carts.find_one_and_update(|c| c.id.eq(2), |c| c.lines.each().count.inc(-1));
    assert_eq!(broken(&one.await.unwrap_err()), [("lines.0.count", "min")]);
    let none = carts.update_one(|c| c.id.eq(9), |c| c.lines.each().count.inc(-1));
    assert_eq!(none.await.unwrap().matched, 0);
}

async fn a_number_that_is_missing_becomes_what_is_added(db: &Db) {
    let carts = db.collection::<Cart>();
    carts.insert(cart(1)).await.unwrap();
    let c = Cart::fields;
    let change = async |update| carts.update_one(|c| c.id.eq(1), |_| update).await;
    for (update, expected) in [
        (c().by_sku.key("new").inc(15), ("by_sku.new", "max")),
        (c().by_sku.key("old").inc(5), ("by_sku.old", "max")),
        (c().share.inc(0.1), ("share", "min")),
        (c().power.inc(3), ("power", "one_of")),
    ] {
        let error = change(update).await.unwrap_err();
        assert_eq!(broken(&error), [expected]);
    }
    for update in [
        c().by_sku.key("new").inc(9),
        c().by_sku.key("old").inc(4),
        c().share.inc(0.6),
        c().share.inc(-0.05),
        c().power.inc(4),
        c().power.inc(-2),
        c().power.inc(6),
    ] {
        assert_eq!(change(update).await.unwrap().modified, 1);
    }
    assert_eq!(
        broken(&change(c().power.inc(8)).await.unwrap_err()),
        [("power", "one_of")]
    );
    // One element lacks the number.
    let raw = carts.raw();
    raw.insert(doc! {"_id": 2, "lines": [{"sku": "a", "count": 9}, {"sku": "b"}]})
        .await
        .unwrap();
    let each = carts.update_one(|c| c.id.eq(2), |c| c.lines.each().count.inc(-1));
    assert_eq!(broken(&each.await.unwrap_err()), [("lines.1.count", "min")]);
    let other = carts.update_one(
        |c| c.id.eq(2),
        |c| c.lines.filtered(|l| l.sku.eq("a")).count.inc(-1),
    );
    assert_eq!(other.await.unwrap().modified, 1);
}

async fn an_upsert_inserts_nothing_that_the_model_refuses(db: &Db) {
    let carts = db.collection::<Cart>();
    let c = Cart::fields;
    type Broken = (&'static str, &'static str);
    let refused: [(Filter<Cart>, Update<Cart>, Broken); 8] = [
        (c().id.eq(2), c().points.inc(11), ("points", "max")),
        (
            c().id.eq(9) & c().name.eq("x"),
            c().points.inc(-1),
            ("points", "min"),
        ),
        (
            c().id.eq(3) & c().points.eq(99),
            c().lines.set(vec![]),
            ("points", "max"),
        ),
        (
            c().id.eq(4) & c().points.is_in([99]),
            c().name.set("x"),
            ("points", "max"),
        ),
        (
            c().id.eq(5) & c().points.eq(8),
            c().points.inc(3),
            ("points", "max"),
        ),
        (
            c().id.eq(6) & c().by_sku.key("k").eq(10),
            c().name.set("x"),
            ("by_sku.k", "max"),
        ),
        (
            c().id.eq(7) & c().points.eq(99),
            c().points.max(10),
            ("points", "max"),
        ),
        (
            c().id.eq(8) & c().few.eq(vec![1, 2]),
            c().few.push(3),
            ("few", "max_items"),
        ),
    ];
    for (filter, update, expected) in refused {
        let text = format!("{filter:?} {update:?}");
        let error = carts.upsert(|_| filter, |_| update).await.expect_err(&text);
        assert_eq!(broken(&error), [expected], "{text}");
        assert_eq!(carts.estimated_count().await.unwrap(), 0, "{text}");
    }
    let found = carts
        .find_one_and_update(|c| c.id.eq(2), |c| c.points.inc(11))
        .upsert();
    assert_eq!(broken(&found.await.unwrap_err()), [("points", "max")]);
    let inserted: [(Filter<Cart>, Update<Cart>); 4] = [
        (c().id.eq(1), c().points.inc(10)),
        (c().id.eq(2) & c().points.eq(99), c().points.set(10)),
        (c().id.eq(3) & c().points.eq(99), c().points.min(10)),
        (c().id.eq(4) & c().points.eq(12), c().points.inc(-2)),
    ];
    for (filter, update) in inserted {
        let text = format!("{filter:?} {update:?}");
        let result = carts.upsert(|_| filter, |_| update).await.expect(&text);
        assert!(result.upserted_id.is_some(), "{text}");
    }
    assert_eq!(carts.count(|c| c.points.eq(10)).await.unwrap(), 4);
    // Where there is a document, it is changed, whatever an insert would have made.
    let changed = carts.upsert(|c| c.id.eq(1), |c| c.points.inc(-4)).await.unwrap();
    assert_eq!((changed.matched, changed.upserted_id), (1, None));
    let full = carts.upsert(|c| c.id.eq(1), |c| c.points.inc(11)).await;
    let full = full.unwrap_err();
    assert_eq!(
        (broken(&full), full.id()),
        (vec![("points", "max")], Some(&1.into()))
    );
    db.transaction(async |tx| {
        let carts = tx.collection::<Cart>();
        let error = carts
            .upsert(|c| c.id.eq(77), |c| c.points.inc(11))
            .await
            .unwrap_err();
        assert_eq!(broken(&error), [("points", "max")]);
        let changed = carts.upsert(|c| c.id.eq(2), |c| c.points.inc(-4)).await?;
        assert_eq!(changed.matched, 1);
        Ok(())
    })
    .await
    .unwrap();
}

async fn a_batch_refuses_such_an_upsert_at_once(db: &Db) {
    let (db, log) = db.logged();
    let carts = db.collection::<Cart>();
    let batch = carts
        .bulk_write()
        .insert(cart(1))
        .upsert(|c| c.id.eq(2), |c| c.points.inc(11));
    let error = batch.await.unwrap_err();
    assert_eq!(broken(&error), [("points", "max")]);
    assert_eq!(error.violations()[0].statement, 1);
    assert_eq!(log.entries().len(), 0);
    let batch = carts
        .bulk_write()
        .insert(cart(1))
        .upsert(|c| c.id.eq(2), |c| c.points.inc(10));
    batch.await.unwrap();
}

async fn elements_that_the_database_cannot_be_asked_about_are_refused(db: &Db) {
    let carts = db.collection::<Cart>();
    carts.insert(cart(1)).await.unwrap();
    let c = Cart::fields;
    for (filter, update, path) in [
        // By which of two conditions the element is found, nobody knows.
        (
            c().lines.any().sku.eq("a") & c().lines.any().count.gt(0),
            c().lines.matched().count.inc(-5),
            "lines.$.count",
        ),
        (
            c().id.eq(1),
            c().each.filtered(|e| e.lt(1) | e.gt(5)).inc(-5),
            "each.$[f0]",
        ),
    ] {
        let error = carts.update_one(|_| filter, |_| update).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path(), error.model()),
            (ErrorKind::Unsupported, Some(path), Some("Cart"))
        );
    }
    // Away from the bound there is nothing to ask.
    let up = carts.update_one(
        |_| c().lines.any().sku.eq("a") & c().lines.any().count.gt(0),
        |_| c().lines.matched().count.inc(1),
    );
    assert_eq!(up.await.unwrap().modified, 1);
}

async fn a_pipeline_says_which_array_it_made_too_long(db: &Db) {
    let carts = db.collection::<Cart>();
    carts.insert(cart(1)).await.unwrap();
    let set = |fields: Document| Update::<Cart>::pipeline([doc! {"$set": fields}]);
    for (fields, path, text) in [
        (doc! {"few": [1, 2, 3]}, "few", "at most 2 elements, and has 3"),
        (
            doc! {"inner.one": [1, 2]},
            "inner.one",
            "at most 1 elements, and has 2",
        ),
    ] {
        let error = carts.update_one(|c| c.id.eq(1), |_| set(fields)).await;
        let error = error.unwrap_err();
        assert_eq!(broken(&error), [(path, "max_items")]);
        assert!(
            error.is_bound_reached() && error.to_string().contains(text),
            "{error}"
        );
    }
    let fits = carts.update_one(|c| c.id.eq(1), |_| set(doc! {"few": [1, 2]}));
    assert_eq!(fits.await.unwrap().modified, 1);
}

/// Bounds of decimals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Purse {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(min = 0, max = 0.3))]
    balance: Decimal128,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[odm(validate(one_of(0.1, 0.3)))]
    step: Option<Decimal128>,
}

async fn decimals_keep_their_bounds_to_the_digit(db: &Db) {
    let purses = db.collection::<Purse>();
    let decimal = |text: &str| text.parse::<Decimal128>().unwrap();
    let purse = |balance: &str, step: Option<&str>| Purse {
        id: 1,
        balance: decimal(balance),
        step: step.map(decimal),
    };
    purses.insert(purse("0.1", Some("0.1"))).await.unwrap();
    let add = async |by: &str| {
        purses
            .update_one(|p| p.id.eq(1), |p| p.balance.inc(decimal(by)))
            .await
    };
    assert_eq!(add("0.2").await.unwrap().modified, 1);
    let error = add("0.0000000000000000000000000000000001").await.unwrap_err();
    assert_eq!(broken(&error), [("balance", "max")]);
    add("-0.2").await.unwrap();
    add("-0.1").await.unwrap();
    let error = add("-0.0000000000000000000000000000000001").await.unwrap_err();
    assert_eq!(broken(&error), [("balance", "min")]);
    let stored = purses.get(1).required().await.unwrap();
    assert_eq!(stored.balance, decimal("0.0"));
    let more = async |by: &str| {
        purses
            .update_one(|p| p.id.eq(1), |p| p.step.inc(decimal(by)))
            .await
    };
    assert_eq!(more("0.2").await.unwrap().modified, 1);
    assert_eq!(broken(&more("0.1").await.unwrap_err()), [("step", "one_of")]);
    // What is stored whole is held against what is written: a tenth, not the double next to it.
    purses.replace(purse("0.3", Some("0.3"))).await.unwrap();
    let error = purses
        .replace(purse("0.30000000000000001", None))
        .await
        .unwrap_err();
    assert_eq!(broken(&error), [("balance", "max")]);
}

async fn an_upsert_by_a_collation_finds_what_is_full_by_it(db: &Db) {
    let carts = db.collection::<Cart>();
    let mut full = cart(1);
    full.name = "Ann".to_owned();
    full.few = vec![1, 2];
    carts.insert(&full).await.unwrap();
    let loosely = doc! { "locale": "en", "strength": 2 };
    let upserted = carts
        .upsert(|c| c.name.eq("ann"), |c| c.few.push(3) & c.id.set_on_insert(9))
        .collation(loosely.clone())
        .await;
    assert_eq!(broken(&upserted.unwrap_err()), [("few", "max_items")]);
    let updated = carts
        .update_one(|c| c.name.eq("ann"), |c| c.few.push(3))
        .collation(loosely.clone())
        .await;
    assert_eq!(broken(&updated.unwrap_err()), [("few", "max_items")]);
    let found = carts
        .find_one_and_update(|c| c.name.eq("ANN"), |c| c.few.push(3))
        .collation(loosely)
        .await;
    assert_eq!(broken(&found.unwrap_err()), [("few", "max_items")]);
    assert_eq!(carts.find_all().await.unwrap(), [full]);
}

async fn variables_of_a_write_are_those_of_the_look_behind_it(db: &Db) {
    let carts = db.collection::<Cart>();
    let mut full = cart(1);
    full.few = vec![1, 2];
    carts.insert(&full).await.unwrap();
    let push = async |name: &str| {
        let named = Filter::raw(doc! { "$expr": { "$eq": ["$name", "$$name"] } });
        carts
            .update_one(|_| named, |c| c.few.push(3))
            .variables(doc! { "name": name })
            .await
    };
    assert_eq!(push("nobody").await.unwrap().matched, 0);
    assert_eq!(broken(&push("a cart").await.unwrap_err()), [("few", "max_items")]);
}
