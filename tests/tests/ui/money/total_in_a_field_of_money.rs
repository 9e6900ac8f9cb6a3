use odm::{Embedded, Model};
use odm_patterns::money::{Currency, Money};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Payment {
    #[serde(rename = "_id")]
    id: i32,
    amount: Money,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Paid {
    #[serde(rename = "_id")]
    currency: Currency,
    sum: Money,
}

async fn paid(payments: odm::Collection<Payment>) -> odm::Result<Vec<Paid>> {
    payments
        .aggregate()
        .group::<Paid>(|p, paid| paid.currency.by(&p.amount.currency) & paid.sum.is(p.amount.total()))
        .await
}

fn main() {}
