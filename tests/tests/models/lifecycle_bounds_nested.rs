//! Bounded arrays of maps, and arrays inside of other arrays: their elements are counted, whatever these hold.

use std::collections::BTreeMap;

use odm::{Db, Embedded, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    maps_with_numbers_for_keys_take_no_place,
    fields_named_by_numbers_take_no_place,
    arrays_in_arrays_are_counted_by_themselves,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "plans")]
struct Plan {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(max = 5)]
    days: Vec<BTreeMap<String, i32>>,
    #[odm(max = 2)]
    marks: Vec<Mark>,
    rows: Vec<Row>,
    by_key: BTreeMap<String, Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Mark {
    #[serde(rename = "1")]
    one: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Row {
    #[odm(max = 2)]
    tags: Vec<String>,
}

fn day(key: &str, value: i32) -> BTreeMap<String, i32> {
    [(key.to_owned(), value)].into()
}

fn plan(id: i32) -> Plan {
    Plan {
        id,
        days: vec![day("4", 1)],
        marks: Vec::new(),
        rows: vec![
            Row::default(),
            Row {
                tags: vec!["a".into()],
            },
        ],
        by_key: [(
            "0".to_owned(),
            Row {
                tags: vec!["a".into()],
            },
        )]
        .into(),
    }
}

async fn maps_with_numbers_for_keys_take_no_place(db: &Db) {
    let plans = db.collection::<Plan>();
    plans.insert(plan(1)).await.unwrap();
    plans
        .update_one(|p| p.id.eq(1), |p| p.days.push(day("3", 2)))
        .await
        .unwrap();
    let many = plans
        .update_many(|p| p.id.gt(0), |p| p.days.push(day("2", 3)))
        .await
        .unwrap();
    assert_eq!((many.matched, many.modified), (1, 1));
    plans
        .update_one(|p| p.id.eq(1), |p| p.days.add_to_set(day("4", 1)))
        .await
        .unwrap();
    plans
        .update_one(|p| p.id.eq(1), |p| p.days.add_to_set(day("1", 4)))
        .await
        .unwrap();
    plans
        .update_one(|p| p.id.eq(1), |p| p.days.push_each([day("0", 5)]))
        .await
        .unwrap();
    assert_eq!(plans.get(1).required().await.unwrap().days.len(), 5);
    let error = plans
        .update_one(|p| p.id.eq(1), |p| p.days.push(day("9", 6)))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.is_bound_reached()),
        (ErrorKind::Validation, true),
        "{error}"
    );
    let error = plans
        .update_one(|p| p.id.eq(1), |p| p.days.add_to_set(day("9", 6)))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.is_bound_reached()),
        (ErrorKind::Validation, true),
        "{error}"
    );
    plans
        .update_one(|p| p.id.eq(1), |p| p.days.add_to_set(day("0", 5)))
        .await
        .unwrap();
    plans
        .upsert(|p| p.id.eq(1), |p| p.days.add_to_set(day("0", 5)))
        .await
        .unwrap();
    let many = plans
        .update_many(|p| p.id.gt(0), |p| p.days.push(day("9", 6)))
        .await
        .unwrap();
    assert_eq!(many.matched, 0);
    assert_eq!(plans.get(1).required().await.unwrap().days.len(), 5);
}

async fn fields_named_by_numbers_take_no_place(db: &Db) {
    let plans = db.collection::<Plan>();
    plans.insert(plan(1)).await.unwrap();
    for one in [1, 2] {
        plans
            .update_one(|p| p.id.eq(1), |p| p.marks.push(Mark { one }))
            .await
            .unwrap();
    }
    let error = plans
        .update_one(|p| p.id.eq(1), |p| p.marks.push(Mark { one: 3 }))
        .await
        .unwrap_err();
    assert!(error.is_bound_reached(), "{error}");
}

async fn arrays_in_arrays_are_counted_by_themselves(db: &Db) {
    let plans = db.collection::<Plan>();
    plans.insert(plan(1)).await.unwrap();
    let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    // In the second element there is one already.
    plans
        .update_one(|p| p.id.eq(1), |p| p.rows.at(1).tags.push("b".to_owned()))
        .await
        .unwrap();
    let full = plans
        .update_one(|p| p.id.eq(1), |p| p.rows.at(1).tags.push("c".to_owned()))
        .await;
    assert!(full.unwrap_err().is_bound_reached());
    let full = plans
        .update_one(
            |p| p.id.eq(1),
            |p| p.rows.at(1).tags.add_each_to_set(texts(&["c", "a"])),
        )
        .await;
    assert!(full.unwrap_err().is_bound_reached());
    let held = plans
        .update_one(
            |p| p.id.eq(1),
            |p| p.rows.at(1).tags.add_each_to_set(texts(&["b", "a"])),
        )
        .await;
    assert_eq!(held.unwrap().matched, 1);
    plans
        .update_one(
            |p| p.id.eq(1),
            |p| p.rows.at(0).tags.add_each_to_set(texts(&["c", "a"])),
        )
        .await
        .unwrap();
    let plan = plans.get(1).required().await.unwrap();
    assert_eq!(
        plan.rows.iter().map(|row| row.tags.len()).collect::<Vec<_>>(),
        [2, 2]
    );
    // A number can be the key of a map as well.
    let raw = |tags: &[&str]| {
        odm::Update::raw(bson::doc! { "$addToSet": { "by_key.0.tags": { "$each": texts(tags) } } })
    };
    plans
        .update_one(|p| p.id.eq(1), |_| raw(&["b", "a"]))
        .await
        .unwrap();
    let full = plans.update_one(|p| p.id.eq(1), |_| raw(&["c", "d"])).await;
    assert!(full.unwrap_err().is_bound_reached());
}
