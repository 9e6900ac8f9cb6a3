//! Names of variants that are stored as values can be any, and so can most names of tags.

use bson::doc;
use odm::{Db, Embedded, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    names_that_are_values_can_be_any,
}

/// As feeds of events have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "@type")]
enum Inside {
    #[serde(rename = "payment.ok")]
    PaymentOk { amount: i32 },
    #[serde(rename = "$set")]
    Set { amount: i32 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "event-kind", content = "2")]
enum Beside {
    #[serde(rename = "payment.ok")]
    PaymentOk { amount: i32 },
    #[serde(rename = "")]
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum Around {
    PaymentOk {
        amount: i32,
    },
    #[serde(rename = "payment.none")]
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "named_variants")]
struct Named {
    #[serde(rename = "_id")]
    id: i32,
    inside: Inside,
    beside: Beside,
    around: Around,
}

async fn names_that_are_values_can_be_any(db: &Db) {
    let named = db.collection::<Named>();
    let paid = Named {
        id: 1,
        inside: Inside::PaymentOk { amount: 1 },
        beside: Beside::PaymentOk { amount: 1 },
        around: Around::PaymentOk { amount: 1 },
    };
    let none = Named {
        id: 2,
        inside: Inside::Set { amount: 1 },
        beside: Beside::Nothing,
        around: Around::Nothing,
    };
    named.insert_many([&paid, &none]).await.unwrap();
    let stored = named.raw().find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 1,
        "inside": { "@type": "payment.ok", "amount": 1 },
        "beside": { "event-kind": "payment.ok", "2": { "amount": 1 } },
        "around": { "PaymentOk": { "amount": 1 } },
    };
    assert_eq!(stored, expected);
    for (id, filter) in [
        (1, Named::fields().inside.payment_ok.is()),
        (2, Named::fields().inside.set.is()),
        (1, Named::fields().beside.payment_ok.is()),
        (2, Named::fields().beside.nothing.is()),
        (1, Named::fields().around.payment_ok.is()),
        (2, Named::fields().around.nothing.is()),
        (1, Named::fields().beside.payment_ok.amount.eq(1)),
        (1, Named::fields().around.payment_ok.amount.eq(1)),
    ] {
        let found = named.find(|_| filter.clone()).await.unwrap();
        assert_eq!(
            found.iter().map(|one| one.id).collect::<Vec<_>>(),
            [id],
            "{filter:?}"
        );
    }
    named
        .update_one(
            |n| n.inside.payment_ok.is(),
            |n| {
                n.inside.payment_ok.amount.set(2)
                    & n.beside.payment_ok.amount.set(2)
                    & n.around.payment_ok.amount.set(2)
            },
        )
        .await
        .unwrap();
    let changed = Named {
        inside: Inside::PaymentOk { amount: 2 },
        beside: Beside::PaymentOk { amount: 2 },
        around: Around::PaymentOk { amount: 2 },
        ..paid
    };
    assert_eq!(
        named.find_all().sort(|n| n.id.asc()).await.unwrap(),
        [changed, none]
    );
}
