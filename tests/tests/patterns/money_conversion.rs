//! Money from one form to another, in a collection; amount and currency in two fields.

use bson::{Bson, doc};
use odm::{Db, ErrorKind, Model};
use odm_patterns::money::{
    Arbitrary, Conversion, Currency, Decimal34, Digits, Minor, Money, MoneyError, Rounding, beside, convert,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    forms_are_converted_and_resumed,
    two_fields_become_one,
    a_conversion_is_a_change_of_the_model,
    amounts_in_currencies_of_yesterday_stay_readable,
}

type Tenths = Minor<Digits<3>>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "money_items")]
struct Item {
    #[serde(rename = "_id")]
    id: i32,
    price: Money,
}

fn money<F: odm_patterns::money::Form>(text: &str) -> Money<F> {
    text.parse().unwrap()
}

async fn forms_are_converted_and_resumed(db: &Db) {
    let items = db.collection::<Item>();
    let rest = |id: i32| {
        let fee = doc! {"amount": 1, "currency": "USD"};
        doc! {"_id": id, "cost": {"display": "1", "approx": 1.0, "currency": "USD"}, "fee": fee}
    };
    for id in 0..20 {
        let mut document = rest(id);
        let display = format!("{id}.5");
        document.insert(
            "price",
            doc! {"display": display, "approx": f64::from(id) + 0.5, "currency": "USD"},
        );
        items.raw().insert(document).await.unwrap();
    }
    let mut fine = rest(20);
    fine.insert(
        "price",
        doc! {"display": "0.005", "approx": 0.005, "currency": "USD"},
    );
    items.raw().insert(fine).await.unwrap();
    // It fails on the way, and is run again.
    let (faulty, faults) = db.faulty();
    faults.add(odm::backend::wrap::Fault::nth_write(8).crash());
    let broken = convert(
        &faulty.collection::<Item>(),
        |i| i.price.in_form::<Arbitrary>(),
        |i| i.price,
        None,
    )
    .await;
    assert!(broken.is_err());
    let report: Conversion = convert(&items, |i| i.price.in_form::<Arbitrary>(), |i| i.price, None)
        .await
        .unwrap();
    assert!(report.converted >= 12 && report.converted < 20, "{report:?}");
    let (id, refused) = &report.refused[0];
    assert_eq!((report.refused.len(), id), (1, &Bson::Int32(20)));
    let why = std::error::Error::source(refused).and_then(|why| why.downcast_ref());
    assert_eq!(why, Some(&MoneyError::ExcessPrecision { digits: 2 }));
    assert_eq!(
        (refused.model(), refused.id(), refused.path()),
        (Some("Item"), Some(id), Some("price"))
    );
    let report = convert(
        &items,
        |i| i.price.in_form::<Arbitrary>(),
        |i| i.price,
        Some(Rounding::HalfUp),
    )
    .await
    .unwrap();
    assert_eq!((report.converted, report.refused.len()), (1, 0));
    let all = items.find_all().sort(|i| i.id.asc()).await.unwrap();
    assert!(
        all.iter()
            .take(20)
            .all(|item| item.price.units() == i64::from(item.id) * 100 + 50)
    );
    assert_eq!(all[20].price.units(), 1);
    // There and back, through all forms.
    for _ in 0..2 {
        let there = convert(&items, |i| i.price, |i| i.price.in_form::<Decimal34>(), None)
            .await
            .unwrap();
        let back = convert(&items, |i| i.price.in_form::<Decimal34>(), |i| i.price, None)
            .await
            .unwrap();
        assert_eq!((there.converted, back.converted), (21, 21));
    }
    assert_eq!(items.find_all().sort(|i| i.id.asc()).await.unwrap(), all);
    // Two scales look alike: only into another field.
    let alike = convert(&items, |i| i.price, |i| i.price.in_form::<Tenths>(), None)
        .await
        .unwrap_err();
    assert_eq!(
        (alike.kind(), alike.path()),
        (ErrorKind::InvalidArgument, Some("price"))
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "money_manual")]
struct Manual {
    #[serde(rename = "_id")]
    id: i32,
    price: i64,
    currency: Currency,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<Money<Arbitrary>>,
}

async fn two_fields_become_one(db: &Db) {
    let items = db.collection::<Manual>();
    for (id, text) in [(1, "9.99 USD"), (2, "5 USD"), (3, "9.99 EUR")] {
        let price: Money<Tenths> = money(text);
        items
            .insert(Manual {
                id,
                price: price.units(),
                currency: price.currency(),
                cost: None,
            })
            .await
            .unwrap();
    }
    assert_eq!(
        items
            .raw()
            .count(doc! {"price": 9990_i64, "currency": "USD"})
            .await
            .unwrap(),
        1
    );
    let price = |m: &ManualFields| beside::<_, Digits<3>>(&m.price, &m.currency);
    let nine: Money<Tenths> = money("9 USD");
    let found = items
        .find(|m| price(&m).gt(&nine))
        .sort(|m| price(&m).desc())
        .await
        .unwrap();
    assert_eq!(found.iter().map(|item| item.id).collect::<Vec<_>>(), [1]);
    items
        .update_one(
            |m| m.id.eq(2) & price(&m).is_of(Currency::USD),
            |m| price(&m).inc(&nine),
        )
        .await
        .unwrap();
    items
        .update_one(|m| m.id.eq(3), |m| price(&m).put(&nine))
        .await
        .unwrap();
    let whole = items
        .update_one(|m| m.id.eq(3), |m| price(&m).set(&nine))
        .await
        .unwrap_err();
    assert_eq!(whole.kind(), ErrorKind::InvalidArgument);
    // Into a field of its own, and back beside it.
    let report = convert(&items, |m| price(&m), |m| m.cost, None).await.unwrap();
    assert_eq!(report.converted, 3);
    let costs: Vec<String> = items
        .find_all()
        .sort(|m| m.id.asc())
        .await
        .unwrap()
        .iter()
        .map(|m| m.cost.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(costs, ["9.990 USD", "14.000 USD", "9.000 USD"]);
    items
        .raw()
        .update_many(doc! {}, doc! {"$unset": {"price": "", "currency": ""}})
        .await
        .unwrap();
    let report = convert(&items, |m| m.cost, |m| price(&m), None).await.unwrap();
    assert_eq!(report.converted, 3);
    assert_eq!(items.get(2).required().await.unwrap().price, 14_000);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "money_bills", index(keys(price.amount), unique))]
struct Bill {
    #[serde(rename = "_id")]
    id: i32,
    price: Money,
    #[odm(version)]
    version: i64,
}

async fn a_conversion_is_a_change_of_the_model(db: &Db) {
    let bills = db.collection::<Bill>();
    bills.sync_indexes().await.unwrap();
    let bill = |id: i32, price: &str| Bill {
        id,
        price: money(price),
        version: 0,
    };
    bills.insert(bill(1, "5 EUR")).await.unwrap();
    for (id, display) in [(2, "5"), (3, "6")] {
        let price = doc! {"display": display, "approx": 5.0, "currency": "USD", "amount": display};
        let stored = doc! {"_id": id, "price": price, "version": 7_i64};
        bills.raw().insert(stored).await.unwrap();
    }
    let report = convert(&bills, |b| b.price.in_form::<Arbitrary>(), |b| b.price, None)
        .await
        .unwrap();
    assert_eq!(report.converted, 1);
    let (id, refused) = &report.refused[0];
    assert_eq!((report.refused.len(), id), (1, &Bson::Int32(2)));
    assert_eq!(
        (refused.kind(), refused.model(), refused.id()),
        (ErrorKind::DuplicateKey, Some("Bill"), Some(id))
    );
    assert_eq!(bills.get(3).required().await.unwrap().version, 8);
}

/// A currency that ISO withdraws is in what was stored before.
async fn amounts_in_currencies_of_yesterday_stay_readable(db: &Db) {
    let items = db.collection::<Item>();
    let stored = [
        ("HRK", "9.99"),
        ("BGN", "9.99"),
        ("DEM", "9.99"),
        ("ZWL", "9.99"),
        ("ITL", "999"),
        ("BYR", "999"),
    ];
    for (id, (code, _)) in (0..).zip(stored) {
        let document = doc! {"_id": id, "price": {"amount": 999_i64, "currency": code}};
        items.raw().insert(document).await.unwrap();
    }
    let found = items.find_all().sort(|i| i.id.asc()).await.unwrap();
    for (item, (code, amount)) in found.iter().zip(stored) {
        assert_eq!(item.price.to_string(), format!("{amount} {code}"));
        assert_eq!(item.price.currency().code(), code);
        // It is stored again as it was, but nothing new is made of it by its name.
        items.save(item).await.unwrap();
        assert!(code.parse::<Currency>().is_err());
    }
    let kuna = Currency::new("HRK");
    let one = Money::of_units(100, kuna).unwrap();
    items
        .update_one(|i| i.id.eq(0), |i| i.price.inc(&one))
        .await
        .unwrap();
    let read = items.get(0).required().await.unwrap();
    assert_eq!(read.price, Money::of_units(1099, kuna).unwrap());
    // To other forms, and back.
    let report = convert(&items, |i| i.price, |i| i.price.in_form::<Decimal34>(), None);
    assert_eq!(report.await.unwrap().converted, 6);
    let report = convert(&items, |i| i.price.in_form::<Decimal34>(), |i| i.price, None);
    assert_eq!(report.await.unwrap().converted, 6);
    assert_eq!(
        items.get(4).required().await.unwrap().price.to_string(),
        "999 ITL"
    );
    // What never was a currency has no unit.
    let unknown = doc! {"_id": 9, "price": {"amount": 1_i64, "currency": "QQQ"}};
    items.raw().insert(unknown).await.unwrap();
    assert_eq!(items.get(9).await.unwrap_err().kind(), ErrorKind::Decode);
}
