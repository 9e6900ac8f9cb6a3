//! Models that share a collection, as other models' pipelines see them.

use bson::DateTime;
use odm::{Db, Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_join_sees_one_kind,
    a_union_sees_one_kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "payments", kind = "card")]
struct Card {
    #[serde(rename = "_id")]
    id: i32,
    order: Ref<Order>,
    amount: i64,
    #[odm(soft_delete)]
    gone: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "payments", kind = "invoice")]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    order: Ref<Order>,
    amount: i64,
    #[odm(soft_delete)]
    gone: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "payments")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Payment {
    Card(Card),
    Invoice(Invoice),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct WithCards {
    #[serde(rename = "_id")]
    id: i32,
    cards: Vec<Card>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct WithAmounts {
    #[serde(rename = "_id")]
    id: i32,
    paid: Vec<Amount>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Amount {
    amount: i64,
}

/// Two orders, each with a card and an invoice; the second card is deleted.
async fn fill(db: &Db) {
    let orders = db.collection::<Order>();
    orders
        .insert_many([Order { id: 1 }, Order { id: 2 }])
        .await
        .unwrap();
    let (cards, invoices) = (db.collection::<Card>(), db.collection::<Invoice>());
    for order in [1, 2] {
        let gone = None;
        let (id, amount) = (order, i64::from(order));
        let order = Ref::new(order);
        let card = Card {
            id,
            order,
            amount,
            gone,
        };
        let invoice = Invoice {
            id: 10 + id,
            order,
            amount: 100,
            gone,
        };
        cards.insert(card).await.unwrap();
        invoices.insert(invoice).await.unwrap();
    }
    cards.delete(2).await.unwrap();
}

async fn a_join_sees_one_kind(db: &Db) {
    fill(db).await;
    let orders = db.collection::<Order>();
    let joined = orders
        .aggregate()
        .lookup::<Card, WithCards>(|o, c, out| out.cards.joins(&o.id, &c.order))
        .sort(|w| w.id.asc())
        .await
        .unwrap();
    let ids: Vec<Vec<i32>> = joined
        .iter()
        .map(|with| with.cards.iter().map(|card| card.id).collect())
        .collect();
    assert_eq!(ids, [vec![1], vec![]]);
    let amounts = |joined: Vec<WithAmounts>| -> Vec<Vec<i64>> {
        let paid = joined.into_iter().map(|with| with.paid);
        paid.map(|paid| paid.iter().map(|paid| paid.amount).collect())
            .collect()
    };
    let joined = orders
        .aggregate()
        .lookup_with::<Card, WithAmounts, Card>(
            |o, c, out| out.paid.joins(&o.id, &c.order),
            |cards| cards.filter(|c| c.amount.gte(0)).limit(9),
        )
        .sort(|w| w.id.asc())
        .await
        .unwrap();
    assert_eq!(amounts(joined), [vec![1], vec![]]);
    // The enum of all kinds is joined whole.
    let joined = orders
        .aggregate()
        .lookup::<Payment, WithAmounts>(|o, p, out| out.paid.joins(&o.id, &p.card.order))
        .sort(|w| w.id.asc())
        .await
        .unwrap();
    let sums: Vec<i64> = amounts(joined).iter().map(|paid| paid.iter().sum()).collect();
    assert_eq!(sums, [101, 100]);
}

async fn a_union_sees_one_kind(db: &Db) {
    fill(db).await;
    let united = db
        .collection::<Invoice>()
        .aggregate()
        .filter(|i| i.id.eq(11))
        .union_with::<Card>(|cards| cards.into::<Invoice>())
        .sort(|i| i.id.asc())
        .await
        .unwrap();
    assert_eq!(united.iter().map(|i| i.id).collect::<Vec<_>>(), [1, 11]);
}
