//! Fields with a serde codec of their own: distinct values, elements of sets, references by them, patterns.

use std::collections::{BTreeSet, HashSet};

use bson::{Bson, doc};
use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use odm::{Db, DbRef, ErrorKind, Model, Ref, Reference};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

crate::on_every_backend! {
    distinct_values_are_read_by_the_codec_of_the_field,
    elements_of_sets_are_found_and_changed_by_the_codec_of_the_set,
    patterns_of_fields_with_a_codec_are_refused,
    references_are_written_in_json_as_the_id_is,
    rules_of_what_is_stored_are_held,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Account {
    #[serde(rename = "_id", with = "odm::as_bson")]
    id: Uuid,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Coded {
    #[serde(rename = "_id", with = "reversed")]
    id: String,
}

#[derive(Clone, Debug, PartialEq, Reference)]
enum Any {
    Account(Ref<Account>),
    Coded(Ref<Coded>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Payment {
    #[serde(rename = "_id")]
    id: i32,
    account: Ref<Account>,
    coded: Ref<Coded>,
    any: Any,
    named: DbRef<Account>,
    #[serde(with = "odm::as_bson")]
    day: NaiveDate,
    #[serde(with = "odm::as_bson")]
    at: DateTime<Utc>,
    #[serde(with = "odm::as_bson")]
    amount: Decimal,
    #[serde(with = "odm::as_bson")]
    trace: Option<Uuid>,
    #[serde(with = "odm::as_bson")]
    ids: BTreeSet<Uuid>,
    #[serde(with = "odm::as_bson")]
    amounts: HashSet<Decimal>,
    #[serde(with = "reversed")]
    #[odm(validate(stored, pattern = "^e"))]
    note: String,
}

mod reversed {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text.chars().rev().collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Ok(String::deserialize(deserializer)?.chars().rev().collect())
    }
}

fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn day(number: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 2, number).unwrap()
}

fn payment(id: i32) -> Payment {
    let number = u32::try_from(id).unwrap();
    Payment {
        id,
        account: Ref::new(uuid(7)),
        coded: Ref::new("abc".to_owned()),
        any: Any::Account(Ref::new(uuid(8))),
        named: DbRef::new("accounts", uuid(9)),
        day: day(1 + number % 2),
        at: Utc.timestamp_opt(i64::from(id % 2), 0).unwrap(),
        amount: Decimal::new(i64::from(id % 2), 1),
        trace: (id > 2).then(|| uuid(number.into())),
        ids: [uuid(1), uuid(2)].into(),
        amounts: [Decimal::ONE].into(),
        note: "note".to_owned(),
    }
}

async fn distinct_values_are_read_by_the_codec_of_the_field(db: &Db) {
    let (accounts, payments) = (db.collection::<Account>(), db.collection::<Payment>());
    accounts
        .insert_many([2, 1].map(|id| Account { id: uuid(id) }))
        .await
        .unwrap();
    payments.insert_many((1..=4).map(payment)).await.unwrap();
    fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
        values.sort();
        values
    }
    let ids = accounts.distinct(|a| a.id).await.unwrap();
    assert_eq!(sorted(ids), [uuid(1), uuid(2)]);
    assert_eq!(
        sorted(payments.distinct(|p| p.day).await.unwrap()),
        [day(1), day(2)]
    );
    let times = [0, 1].map(|second| Utc.timestamp_opt(second, 0).unwrap());
    assert_eq!(sorted(payments.distinct(|p| p.at).await.unwrap()), times);
    let amounts = sorted(payments.distinct(|p| p.amount).await.unwrap());
    assert_eq!(amounts, [Decimal::ZERO, Decimal::new(1, 1)]);
    let traces = sorted(payments.distinct(|p| p.trace).await.unwrap());
    assert_eq!(traces, [None, Some(uuid(3)), Some(uuid(4))]);
    assert_eq!(payments.distinct(|p| p.note).await.unwrap(), ["note"]);
    let stored = payments.distinct(|p| p.note).values::<String>().await.unwrap();
    assert_eq!(stored, ["eton"]);
    let keys = Account::key_field();
    assert_eq!(
        sorted(accounts.distinct(|_| keys).await.unwrap()),
        [uuid(1), uuid(2)]
    );
}

async fn elements_of_sets_are_found_and_changed_by_the_codec_of_the_set(db: &Db) {
    let payments = db.collection::<Payment>();
    payments.insert(payment(1)).await.unwrap();
    assert_eq!(payments.count(|p| p.ids.has(uuid(2))).await.unwrap(), 1);
    assert_eq!(payments.count(|p| p.ids.has(uuid(3))).await.unwrap(), 0);
    assert_eq!(
        payments
            .count(|p| p.ids.has_any([uuid(3), uuid(1)]))
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        payments
            .count(|p| p.amounts.has_all([Decimal::ONE]))
            .await
            .unwrap(),
        1
    );
    let changed = payments
        .update_one(
            |p| p.id.eq(1),
            |p| p.ids.add_to_set(uuid(3)) & p.amounts.push(Decimal::TWO),
        )
        .await
        .unwrap();
    assert_eq!(changed.modified, 1);
    payments
        .update_one(|p| p.id.eq(1), |p| p.ids.pull(uuid(1)))
        .await
        .unwrap();
    let stored = payments.get(1).required().await.unwrap();
    assert_eq!(stored.ids, [uuid(2), uuid(3)].into());
    assert_eq!(stored.amounts, [Decimal::ONE, Decimal::TWO].into());
    let raw = payments
        .raw()
        .count(doc! { "ids": { "$type": "binData" }, "amounts": { "$type": "decimal" } });
    assert_eq!(raw.await.unwrap(), 1);
    #[expect(clippy::needless_borrows_for_generic_args, reason = "this is what is refused")]
    let borrowed = payments.count(|p| p.ids.has(&uuid(2))).await.unwrap_err();
    assert_eq!(
        (borrowed.kind(), borrowed.path()),
        (ErrorKind::InvalidArgument, Some("ids"))
    );
}

async fn patterns_of_fields_with_a_codec_are_refused(db: &Db) {
    let payments = db.collection::<Payment>();
    payments.insert(payment(1)).await.unwrap();
    assert_eq!(payments.count(|p| p.note.eq("note")).await.unwrap(), 1);
    let refused = [
        payments.count(|p| p.note.starts_with("no")).await.unwrap_err(),
        payments.count(|p| p.note.contains("ot")).await.unwrap_err(),
        payments.count(|p| p.note.ends_with("te")).await.unwrap_err(),
        payments
            .count(|p| p.note.eq_ignore_case("NOTE"))
            .await
            .unwrap_err(),
        payments.count(|p| p.note.regex("o", "")).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Unsupported, Some("note")),
            "{error}"
        );
    }
}

async fn references_are_written_in_json_as_the_id_is(db: &Db) {
    let payments = db.collection::<Payment>();
    payments.insert(payment(1)).await.unwrap();
    let stored = payments.get(1).required().await.unwrap();
    let json = serde_json::to_value(&stored).unwrap();
    assert_eq!(json["account"], serde_json::to_value(uuid(7)).unwrap());
    assert_eq!(json["coded"], "cba");
    assert_eq!(json["any"]["$id"], uuid(8).to_string());
    assert_eq!(json["named"]["$id"], uuid(9).to_string());
    let account = serde_json::to_value(Account { id: uuid(7) }).unwrap();
    assert_eq!(json["account"], account["_id"]);
    assert_eq!(serde_json::from_value::<Payment>(json).unwrap(), stored);
    // Extended JSON, as it was written before, is read too.
    let extended = Bson::from(bson::Uuid::from_bytes(uuid(7).into_bytes())).into_canonical_extjson();
    assert_eq!(
        serde_json::from_value::<Ref<Account>>(extended).unwrap(),
        stored.account
    );
    // In the database they are what they are.
    let raw = doc! { "account": { "$type": "binData" }, "any.$id": { "$type": "binData" }, "named.$id": { "$type": "binData" } };
    assert_eq!(payments.raw().count(raw).await.unwrap(), 1);
}

async fn rules_of_what_is_stored_are_held(db: &Db) {
    let payments = db.collection::<Payment>();
    payments.create().validated().await.unwrap();
    payments.insert(payment(1)).await.unwrap();
    let other = Payment {
        note: "eton".to_owned(),
        ..payment(2)
    };
    let refused = payments.insert(other).await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.path()),
        (ErrorKind::Validation, Some("note"))
    );
    let refused = payments
        .update_one(|p| p.id.eq(1), |p| p.note.set("eton"))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.kind(), refused.path()),
        (ErrorKind::Validation, Some("note"))
    );
    let raw = payments
        .raw()
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "note": "note" } });
    assert_eq!(raw.await.unwrap_err().code(), Some(121));
}
