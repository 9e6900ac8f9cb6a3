//! Money in collections: the three forms, their filters, orders, updates and sums.

use bson::{Bson, doc};
use odm::expr::count;
use odm::{Db, Embedded, ErrorKind, Model};
use odm_patterns::money::{
    Arbitrary, Currency, Decimal, Decimal34, Minor, Money, MoneyError, Rate, Rounding, Total, in_exact_order,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    the_forms_are_stored_as_the_manual_says,
    comparisons_stay_within_the_currency,
    arbitrary_precision_is_compared_exactly,
    expressions_take_any_plain_text,
    money_in_arrays_and_options,
    increments_and_totals,
    totals_do_not_overflow,
    decimals_are_added_where_nothing_is_lost,
    totals_are_compared_and_summed_of_nothing,
    what_does_not_fit_is_an_error_of_reading,
    rates_are_stored,
    ranges_go_by_the_index,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "money_items")]
#[odm(index(keys(price.currency, price.amount)))]
#[odm(index(keys(cost.currency, cost.amount)))]
struct Item {
    #[serde(rename = "_id")]
    id: i32,
    price: Money,
    cost: Money<Arbitrary>,
    fee: Money<Decimal34>,
}

fn item(id: i32, amount: &str) -> Item {
    Item {
        id,
        price: money(amount),
        cost: money(amount),
        fee: money(amount),
    }
}

fn money<F: odm_patterns::money::Form>(text: &str) -> Money<F> {
    text.parse().unwrap()
}

async fn the_forms_are_stored_as_the_manual_says(db: &Db) {
    let items = db.collection::<Item>();
    items.insert(item(1, "9.99 USD")).await.unwrap();
    let stored = items.raw().find_one(doc! {"_id": 1}).required().await.unwrap();
    let expected = doc! {
        "_id": 1,
        "price": {"amount": 999_i64, "currency": "USD"},
        "cost": {"display": "9.99", "approx": 9.99, "currency": "USD"},
        "fee": {"amount": Bson::Decimal128("9.99".parse().unwrap()), "currency": "USD"},
    };
    assert_eq!(stored, expected);
    assert_eq!(items.get(1).required().await.unwrap(), item(1, "9.99 USD"));
    // The manual's own document, with its doubles a little off, and the shell's whole doubles.
    let manual = doc! {
        "_id": 2,
        "price": {"amount": 999.0, "currency": "USD"},
        "cost": {"display": "0.25", "approx": 0.249_999_999_999_999_9, "currency": "USD"},
        "fee": {"amount": 7, "currency": "JPY"},
    };
    items.raw().insert(manual).await.unwrap();
    let read = items.get(2).required().await.unwrap();
    assert_eq!(
        (read.price.units(), read.cost.amount().to_string()),
        (999, "0.25".to_owned())
    );
    assert_eq!(read.fee, money("7 JPY"));
    // JSON is the same.
    let json = serde_json::to_string(&read.price).unwrap();
    assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), read.price);
}

async fn comparisons_stay_within_the_currency(db: &Db) {
    let items = db.collection::<Item>();
    for (id, amount) in [
        (1, "1 USD"),
        (2, "2 USD"),
        (3, "2 EUR"),
        (4, "-3 USD"),
        (5, "2 JPY"),
    ] {
        items.insert(item(id, amount)).await.unwrap();
    }
    macro_rules! ids {
        ($($filter:tt)*) => {{
            let mut ids: Vec<i32> = items.find($($filter)*).await.unwrap().iter().map(|item| item.id).collect();
            ids.sort();
            ids
        }};
    }
    macro_rules! every_form {
        ($($field:ident)*) => {$(
            assert_eq!(ids!(|i| i.$field.eq(money("2.00 USD"))), [2]);
            assert_eq!(ids!(|i| i.$field.ne(money("2 USD"))), [1, 3, 4, 5]);
            assert_eq!(ids!(|i| i.$field.gt(money("1 USD"))), [2]);
            assert_eq!(ids!(|i| i.$field.gte(money("1 USD"))), [1, 2]);
            assert_eq!(ids!(|i| i.$field.lt(money("1 USD"))), [4]);
            assert_eq!(ids!(|i| i.$field.lte(money("1 USD"))), [1, 4]);
            assert_eq!(ids!(|i| i.$field.gt(money("0 USD"))), [1, 2]);
            assert_eq!(ids!(|i| i.$field.lt(money("0 USD"))), [4]);
            assert_eq!(ids!(|i| i.$field.gte(money("-3 USD"))), [1, 2, 4]);
            assert_eq!(ids!(|i| i.$field.gt(money("-3 USD"))), [1, 2]);
            assert_eq!(ids!(|i| i.$field.is_in([money("2 EUR"), money("1 USD")])), [1, 3]);
            assert_eq!(ids!(|i| i.$field.within(money("-3 USD")..money("2 USD"))), [1, 4]);
            assert_eq!(ids!(|i| i.$field.within(money("1 USD")..=money("2 USD"))), [1, 2]);
            assert_eq!(ids!(|i| i.$field.within(..)), [1, 2, 3, 4, 5]);
            assert_eq!(ids!(|i| i.$field.is_of(Currency::EUR)), [3]);
            assert_eq!(ids!(|i| i.$field.nearly_within(money("1 USD")..=money("2 USD"))), [1, 2]);
            let sorted = items.find_all().sort(|i| i.$field.asc()).await.unwrap();
            assert_eq!(sorted.iter().map(|item| item.id).collect::<Vec<_>>(), [3, 5, 4, 1, 2]);
            let sorted = items.find_all().sort(|i| i.$field.desc()).await.unwrap();
            assert_eq!(sorted.iter().map(|item| item.id).collect::<Vec<_>>(), [2, 1, 4, 5, 3]);
            let mixed = items.find(|i| i.$field.within(money("1 USD")..money("2 EUR"))).await.unwrap_err();
            assert_eq!(mixed.kind(), ErrorKind::InvalidArgument);
        )*};
    }
    every_form!(price cost fee);
}

async fn arbitrary_precision_is_compared_exactly(db: &Db) {
    let items = db.collection::<Item>();
    // All with the same double, or one beside it.
    let texts = [
        "0.09999999999999999999999999999999999999999999",
        "0.1",
        "0.10",
        "0.1000000000000000000000000000000000000000000001",
        "0.1000000000000000055511151231257827021181583404541015625",
        "0.10000000000000002",
        "-0.1",
        "-0.1000000000000000000000000000000000000000000001",
        "0",
        "99999999999999999999.9",
        "100000000000000000000",
        "100000000000000000000.00000000000000000000000000000000000000001",
    ];
    for (id, text) in texts.iter().enumerate() {
        let cost = format!("{text} USD").parse().unwrap();
        let other = Item {
            cost,
            ..item(id as i32, "1 USD")
        };
        items.insert(other).await.unwrap();
    }
    let numbers: Vec<Decimal> = texts.iter().map(|text| text.parse().unwrap()).collect();
    for with in &numbers {
        let operand: Money<Arbitrary> = Money::new(with.clone(), Currency::USD).unwrap();
        macro_rules! check {
            ($($method:ident $operator:tt;)*) => {$(
                let found = items.find(|i| i.cost.$method(&operand)).sort(|i| i.id.asc()).await.unwrap();
                let found: Vec<i32> = found.iter().map(|item| item.id).collect();
                let expected: Vec<i32> = (0..).zip(&numbers).filter(|(_, n)| *n $operator with).map(|(id, _)| id).collect();
                assert_eq!(found, expected, "{} {with}", stringify!($method));
            )*};
        }
        check! { eq ==; ne !=; gt >; gte >=; lt <; lte <=; }
    }
    let sorted = items.find_all().sort(|i| i.cost.asc()).batch_size(3).stream();
    let sorted = in_exact_order(sorted, |item: &Item| &item.cost)
        .try_collect()
        .await
        .unwrap();
    assert!(sorted.is_sorted_by(|a, b| a.cost <= b.cost));
    let sorted = items.find_all().sort(|i| i.cost.desc()).stream();
    let sorted = in_exact_order(sorted, |item: &Item| &item.cost)
        .descending()
        .try_collect()
        .await
        .unwrap();
    assert!(sorted.is_sorted_by(|a, b| a.cost >= b.cost) && sorted.len() == texts.len());
}

async fn expressions_take_any_plain_text(db: &Db) {
    // Zeros, signs and points that this crate does not write, but others may.
    let items = db.collection::<Item>();
    let cost = |id: i32, display: Bson, approx: f64| doc! {"_id": id, "cost": {"display": display, "approx": approx, "currency": "USD"}};
    for (id, display, approx) in [
        (1, "007.50", 7.5),
        (2, "+7.5", 7.5),
        (3, "-0", 0.0),
        (4, ".0", 0.0),
        (5, "-007.5", -7.5),
        (6, "7.", 7.0),
    ] {
        items
            .raw()
            .insert(cost(id, display.into(), approx))
            .await
            .unwrap();
    }
    // What is no text does not match, and does not fail.
    items.raw().insert(cost(7, Bson::Null, 7.5)).await.unwrap();
    items.raw().insert(cost(8, Bson::Int32(7), 7.5)).await.unwrap();
    items.raw().insert(doc! {"_id": 9}).await.unwrap();
    async fn ids(items: &odm::Collection<Item>, filter: odm::Filter<Item>) -> Vec<i32> {
        let found = items
            .find(|_| filter)
            .sort(|i| i.id.asc())
            .untyped()
            .await
            .unwrap();
        found.iter().map(|item| item.get_i32("_id").unwrap()).collect()
    }
    let i = Item::fields();
    assert_eq!(ids(&items, i.cost.eq(money("7.5 USD"))).await, [1, 2]);
    assert_eq!(ids(&items, i.cost.eq(money("0 USD"))).await, [3, 4]);
    // Far from the bound the number decides alone.
    assert_eq!(
        ids(&items, i.cost.gte(money("0 USD"))).await,
        [1, 2, 3, 4, 6, 7, 8]
    );
    assert_eq!(ids(&items, i.cost.lt(money("0 USD"))).await, [5]);
    assert_eq!(ids(&items, i.cost.lte(money("-7.50 USD"))).await, [5]);
    assert_eq!(ids(&items, i.cost.eq(money("7 USD"))).await, [6]);
    // A text that is no number is none, and no error.
    for (id, display) in [(10, ""), (11, "€7.5"), (12, "7,5"), (13, "-"), (14, "seven")] {
        items.raw().insert(cost(id, display.into(), 7.5)).await.unwrap();
    }
    assert_eq!(ids(&items, i.cost.eq(money("7.5 USD"))).await, [1, 2]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "money_orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    total: Option<Money>,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    price: Money,
    exact: Money<Arbitrary>,
}

async fn money_in_arrays_and_options(db: &Db) {
    let orders = db.collection::<Order>();
    let line = |text: &str| Line {
        price: money(text),
        exact: money(text),
    };
    for (id, total, lines) in [
        (1, Some("3 USD"), vec![line("1 USD"), line("2 EUR")]),
        (2, None, vec![line("2 USD")]),
        (3, Some("5 USD"), vec![]),
    ] {
        orders
            .insert(Order {
                id,
                total: total.map(money),
                lines,
            })
            .await
            .unwrap();
    }
    let two: Money = money("2 USD");
    let ids = async |filter: odm::Filter<Order>| -> Vec<i32> {
        orders
            .find(|_| filter)
            .sort(|o| o.id.asc())
            .await
            .unwrap()
            .iter()
            .map(|order| order.id)
            .collect()
    };
    let o = Order::fields();
    assert_eq!(ids(o.total.gt(&two)).await, [1, 3]);
    assert_eq!(ids(o.total.is_null()).await, [2]);
    // Two elements meet one condition each; one element meets both only in the second.
    assert_eq!(ids(o.lines.any().price.gte(&two)).await, [1, 2]);
    assert_eq!(ids(o.lines.elem_match(|l| l.price.gte(&two))).await, [2]);
    let exact: Money<Arbitrary> = money("2 USD");
    assert_eq!(
        ids(o.lines.elem_match(|l| l.exact.nearly_within(exact.clone()..))).await,
        [2]
    );
    orders
        .update_one(|o| o.id.eq(2), |o| o.total.set(Some(money("9 USD"))))
        .await
        .unwrap();
    orders
        .update_one(|o| o.id.eq(3), |o| o.total.put(money::<Minor>("1.5 EUR")))
        .await
        .unwrap();
    assert_eq!(
        orders.get(2).required().await.unwrap().total,
        Some(money("9 USD"))
    );
    assert_eq!(
        orders.get(3).required().await.unwrap().total,
        Some(money("1.50 EUR"))
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Sums {
    #[serde(rename = "_id")]
    currency: Currency,
    items: i32,
    price: Total,
    cost: Total<Arbitrary>,
    fee: Total<Decimal34>,
}

async fn increments_and_totals(db: &Db) {
    let items = db.collection::<Item>();
    for (id, amount) in [(1, "0.10 USD"), (2, "0.20 USD"), (3, "5 JPY")] {
        items.insert(item(id, amount)).await.unwrap();
    }
    let (more, fee): (Money, Money<Decimal34>) = (money("0.05 USD"), money("0.001 USD"));
    let add = items.update_many(
        |i| i.price.is_of(Currency::USD),
        |i| i.price.inc(&more) & i.fee.inc(&fee),
    );
    assert_eq!(add.await.unwrap().modified, 2);
    items
        .update_one(
            |i| i.id.eq(1),
            |i| i.price.amount.inc(-5) & i.cost.put(money("0.3 USD")),
        )
        .await
        .unwrap();
    let totals: Vec<Sums> = items
        .aggregate()
        .group::<Sums>(|i, t| {
            t.currency.by(&i.price.currency)
                & t.items.is(count())
                & t.price.is(i.price.total())
                & t.cost.is(i.cost.total())
                & t.fee.is(i.fee.total())
        })
        .sort(|t| t.currency.desc())
        .await
        .unwrap();
    assert_eq!(
        totals
            .iter()
            .map(|total| (total.currency, total.items))
            .collect::<Vec<_>>(),
        [(Currency::USD, 2), (Currency::JPY, 1)]
    );
    let usd = &totals[0];
    assert_eq!(usd.price.money(Currency::USD), Ok(money::<Minor>("0.35 USD")));
    assert_eq!(usd.cost.money(Currency::USD), Ok(money::<Arbitrary>("0.5 USD")));
    assert_eq!(usd.fee.money(Currency::USD), Ok(money::<Decimal34>("0.302 USD")));
    assert_eq!(totals[1].price.money(Currency::JPY), Ok(money::<Minor>("5 JPY")));
}

async fn decimals_are_added_where_nothing_is_lost(db: &Db) {
    let items = db.collection::<Item>();
    let adds = async |fee: &str, more: &str| {
        let id = 1;
        items
            .save(Item {
                fee: money(fee),
                ..item(id, "1 EUR")
            })
            .await
            .unwrap();
        let more: Money<Decimal34> = money(more);
        let added = items.update_one(|i| i.id.eq(id) & i.fee.adds_exactly(&more), |i| i.fee.inc(&more));
        let added = added.await.unwrap();
        assert_eq!(added.matched, added.modified);
        let stored = items.get(id).required().await.unwrap().fee;
        (
            added.matched == 1,
            stored == money::<Decimal34>(fee).plus(&more).unwrap_or(money(fee)),
        )
    };
    for (fee, more, fits) in [
        (
            "123456789012345678901234.5678901237 EUR",
            "0.0000000000000000001 EUR",
            false,
        ),
        (
            "0.0000000000000000001 EUR",
            "123456789012345678901234.5678901237 EUR",
            false,
        ),
        (
            "123456789012345678901234.5678901237 EUR",
            "0.0000000003 EUR",
            true,
        ),
        (
            "123456789012345678901234.5678901237 EUR",
            "-0.00000000001 EUR",
            false,
        ),
        ("9999999999999999999999999999999999 EUR", "1 EUR", true),
        ("9999999999999999999999999999999999 EUR", "2 EUR", false),
        ("9999999999999999999999999999999998 EUR", "5 EUR", false),
        ("0.1 EUR", "0.02 EUR", true),
        ("-0.1 EUR", "0.1 EUR", true),
        ("0 EUR", "0.0000000000000000000000000000000001 EUR", true),
    ] {
        assert_eq!(adds(fee, more).await, (fits, true), "{fee} and {more}");
    }
    items
        .raw()
        .update_one(doc! { "_id": 1 }, doc! { "$unset": { "fee": 1 } })
        .await
        .unwrap();
    let more: Money<Decimal34> = money("1 EUR");
    assert_eq!(items.count(|i| i.fee.adds_exactly(&more)).await.unwrap(), 1);
}

async fn totals_do_not_overflow(db: &Db) {
    let items = db.collection::<Item>();
    for id in 0..3 {
        let price = Money::of_units(i64::MAX, Currency::USD).unwrap();
        items
            .insert(Item {
                price,
                ..item(id, "1 USD")
            })
            .await
            .unwrap();
    }
    let totals: Vec<Sums> = items
        .aggregate()
        .group::<Sums>(|i, t| {
            t.currency.by(&i.price.currency)
                & t.items.is(count())
                & t.price.is(i.price.total())
                & t.cost.is(i.cost.total())
                & t.fee.is(i.fee.total())
        })
        .await
        .unwrap();
    assert_eq!(totals[0].price.number().to_string(), "27670116110564327421");
    assert_eq!(totals[0].price.money(Currency::USD), Err(MoneyError::Overflow));
    let all: Money<Arbitrary> = totals[0].price.money_in(Currency::USD).unwrap();
    assert_eq!(all.to_string(), "276701161105643274.21 USD");
    // A sum of one document that does not fit is refused by the database, and nothing is changed.
    let more: Money = money("0.01 USD");
    let refused = items
        .update_one(|i| i.id.eq(1), |i| i.price.inc(&more))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some(2));
    assert_eq!(items.get(1).required().await.unwrap().price.units(), i64::MAX);
}

async fn totals_are_compared_and_summed_of_nothing(db: &Db) {
    let items = db.collection::<Item>();
    for (id, amount) in [(1, "5 EUR"), (2, "2.50 EUR"), (3, "300 JPY")] {
        items.insert(item(id, amount)).await.unwrap();
    }
    let sums = |least: Total| {
        items
            .aggregate()
            .group::<Sums>(|i, t| {
                t.currency.by(&i.price.currency)
                    & t.items.is(count())
                    & t.price.is(i.price.total())
                    & t.cost.is(i.cost.total())
                    & t.fee.is(i.fee.total())
            })
            .filter(move |t| t.price.gte(least))
            .sort(|t| t.price.desc())
    };
    // The yen has no minor unit of its own: 300 are as many units as 3 euros.
    let found = sums(Total::of(&money("3 EUR")).unwrap()).await.unwrap();
    assert_eq!(
        found
            .iter()
            .map(|sums| sums.price.money(sums.currency).unwrap())
            .collect::<Vec<_>>(),
        [money("7.5 EUR"), money("300 JPY")]
    );
    assert_eq!(found[0].price, Total::of(&money("7.50 EUR")).unwrap());
    assert_eq!(found[0].cost, Total::of(&money("7.50 EUR")).unwrap());
    assert_eq!(found[0].cost.money(Currency::EUR), Ok(money("7.50 EUR")));
    assert_eq!(
        found[0].price.money_in::<Arbitrary>(Currency::EUR),
        Ok(money("7.50 EUR"))
    );
    assert_eq!(sums(Total::of(&money("7.51 EUR")).unwrap()).await.unwrap(), []);
    // Where no money is stored the sum is no decimal.
    let none = items.update_many(|_| odm::Filter::all(), |i| i.cost.unset());
    none.await.unwrap();
    let found = sums(Total::of(&money("5 EUR")).unwrap()).await.unwrap();
    assert!(found[0].cost.money(Currency::EUR).unwrap().is_zero());
}

async fn what_does_not_fit_is_an_error_of_reading(db: &Db) {
    let items = db.collection::<Item>();
    let good = doc! {"amount": 1_i64, "currency": "USD"};
    for (id, price) in [
        (1, doc! {"amount": 1.5, "currency": "USD"}),
        (2, doc! {"amount": "1", "currency": "USD"}),
        (3, doc! {"amount": 1_i64, "currency": "usd"}),
        (4, doc! {"amount": 1_i64}),
        (5, doc! {"amount": 1_i64, "currency": "XAU"}),
        (6, doc! {"currency": "USD"}),
    ] {
        let cost = doc! {"display": "1", "approx": 1.0, "currency": "USD"};
        let fee = doc! {"amount": 1, "currency": "USD"};
        items
            .raw()
            .insert(doc! {"_id": id, "price": price, "cost": cost, "fee": fee})
            .await
            .unwrap();
        let error = items.get(id).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Decode, Some("price")),
            "{id}: {error}"
        );
    }
    for (id, display) in [(11, "1,5"), (12, "NaN"), (13, "")] {
        let cost = doc! {"display": display, "approx": 1.0, "currency": "USD"};
        items
            .raw()
            .insert(doc! {"_id": id, "price": &good, "cost": cost, "fee": &good})
            .await
            .unwrap();
        assert_eq!(items.get(id).await.unwrap_err().path(), Some("cost"));
    }
    let nan = Bson::Decimal128("NaN".parse().unwrap());
    let cost = doc! {"display": "1", "approx": 1.0, "currency": "USD"};
    items
        .raw()
        .insert(doc! {"_id": 21, "price": good, "cost": cost, "fee": {"amount": nan, "currency": "USD"}})
        .await
        .unwrap();
    assert_eq!(items.get(21).await.unwrap_err().path(), Some("fee"));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "money_rates")]
struct Quoted {
    #[serde(rename = "_id")]
    id: i32,
    rate: Rate,
}

async fn rates_are_stored(db: &Db) {
    let rates = db.collection::<Quoted>();
    let at = |millis| bson::DateTime::from_millis(millis);
    let rate = Rate::new(Currency::EUR, Currency::USD, "1.08405".parse().unwrap(), at(5)).unwrap();
    rates
        .insert(Quoted {
            id: 1,
            rate: rate.clone(),
        })
        .await
        .unwrap();
    let found = rates
        .find(|r| r.rate.base.eq(Currency::EUR) & r.rate.as_of.lte(at(5)))
        .await
        .unwrap();
    assert_eq!(found[0].rate, rate);
    let back: Money = rate
        .exchange(&money::<Minor>("10.84 USD"), Rounding::HalfEven)
        .unwrap();
    assert_eq!(back.to_string(), "10.00 EUR");
    let cross = rate
        .then(&Rate::new(Currency::USD, Currency::JPY, "150".parse().unwrap(), at(3)).unwrap())
        .unwrap();
    assert_eq!(
        (cross.rate.to_string(), cross.as_of),
        ("162.60750".to_owned(), at(3))
    );
    let third = rate.exchange::<_, Minor>(&money::<Minor>("1 JPY"), Rounding::Down);
    assert_eq!(
        third,
        Err(MoneyError::CurrencyMismatch {
            expected: Currency::EUR,
            found: Currency::JPY
        })
    );
    assert_eq!(
        Rate::new(Currency::EUR, Currency::USD, Decimal::zero(), at(0)),
        Err(MoneyError::NotPositive)
    );
}

async fn ranges_go_by_the_index(db: &Db) {
    let items = db.collection::<Item>();
    items.sync_indexes().await.unwrap();
    for id in 0..50 {
        items.insert(item(id, &format!("{id} USD"))).await.unwrap();
    }
    let (db, scans) = db.watch_scans();
    let items = db.collection::<Item>();
    let (low, high): (Money<Arbitrary>, Money<Arbitrary>) = (money("10 USD"), money("20 USD"));
    assert_eq!(items.find(|i| i.cost.within(low..high)).await.unwrap().len(), 10);
    let (low, high): (Money, Money) = (money("10 USD"), money("20 USD"));
    assert_eq!(items.find(|i| i.price.within(low..high)).await.unwrap().len(), 10);
    assert!(scans.entries().is_empty(), "{:?}", scans.entries());
}
