//! Orders and ranges of arbitrary precision against exact arithmetic.

use std::cmp::Ordering;

use odm::{Db, Model};
use odm_patterns::money::{Arbitrary, Currency, Money, in_exact_order};
use odm_tests::random::Random;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    sorts_and_ranges_equal_exact_arithmetic,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "money_exact")]
#[odm(index(keys(price.currency, price.amount)))]
struct Priced {
    #[serde(rename = "_id")]
    id: i32,
    price: Money<Arbitrary>,
}

/// A decimal as sign and digits, 30 before the point and 60 behind: compared as what it is, by none of the code under test.
#[derive(Clone, PartialEq, Eq)]
struct Fixed {
    is_negative: bool,
    digits: String,
}

impl Fixed {
    fn of(text: &str) -> Fixed {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole:0>30}{fraction:0<60}");
        assert_eq!(digits.len(), 90);
        let is_zero = digits.bytes().all(|digit| digit == b'0');
        Fixed {
            is_negative: is_negative && !is_zero,
            digits,
        }
    }

    fn order(&self, other: &Fixed) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.digits.cmp(&other.digits),
            (true, true) => other.digits.cmp(&self.digits),
            (own, _) => {
                if own {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

/// Numbers that crowd around few doubles, and some that stand alone.
fn number(random: &mut Random) -> String {
    let bases = [
        "0.1",
        "0",
        "1",
        "9.99",
        "10",
        "123456789012345678901234567890",
        "0.3",
        "1000000",
        "0.000000000000000000000000001",
        "5",
    ];
    let sign = if random.one_in(3) { "-" } else { "" };
    match random.below(4) {
        0 => format!("{sign}{}.{:02}", random.below(2000), random.below(100)),
        1 => format!("{sign}{}", random.pick(&bases)),
        2 => {
            let base = random.pick(&bases);
            let (whole, fraction) = base.split_once('.').unwrap_or((base, ""));
            let fill = 18 + random.below(20);
            format!(
                "{sign}{whole}.{fraction}{}{}",
                "0".repeat(fill.saturating_sub(fraction.len())),
                random.below(1000)
            )
        }
        _ => {
            // Just below a base: ..99999.
            let nines = 18 + random.below(20);
            format!(
                "{sign}{}.{}{}",
                random.pick(&["0", "9", "0", "4"]),
                "9".repeat(nines),
                random.below(10)
            )
        }
    }
}

async fn sorts_and_ranges_equal_exact_arithmetic(db: &Db) {
    let count: i32 = match std::env::var("ODM_TEST_MONEY_VALUES") {
        Ok(count) => count.parse().unwrap(),
        Err(_) => 1_500,
    };
    let mut random = Random::new(11);
    let collection = db.collection::<Priced>();
    collection.sync_indexes().await.unwrap();
    let texts: Vec<String> = (0..count).map(|_| number(&mut random)).collect();
    let money =
        |text: &str| -> Money<Arbitrary> { Money::new(text.parse().unwrap(), Currency::USD).unwrap() };
    let documents = (0..).zip(&texts).map(|(id, text)| Priced {
        id,
        price: money(text),
    });
    let documents: Vec<Priced> = documents.collect();
    for chunk in documents.chunks(5_000) {
        collection.insert_many(chunk).await.unwrap();
    }
    let exact: Vec<Fixed> = texts.iter().map(|text| Fixed::of(text)).collect();
    let value = |id: i32| &exact[id as usize];

    for is_descending in [false, true] {
        let find = collection.find_all().sort(|p| {
            if is_descending {
                p.price.desc()
            } else {
                p.price.asc()
            }
        });
        let sorted = in_exact_order(find.stream(), |priced: &Priced| &priced.price);
        let sorted = if is_descending {
            sorted.descending()
        } else {
            sorted
        };
        let ids: Vec<i32> = sorted
            .try_collect()
            .await
            .unwrap()
            .iter()
            .map(|priced| priced.id)
            .collect();
        assert_eq!(ids.len(), texts.len());
        let against = if is_descending {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        assert!(
            ids.windows(2)
                .all(|pair| value(pair[0]).order(value(pair[1])) != against)
        );
    }

    for round in 0..24 {
        // Operands are among the stored values as often as not.
        let mut pick = || match random.one_in(2) {
            true => texts[random.below(texts.len())].clone(),
            false => number(&mut random),
        };
        let (low, high) = (pick(), pick());
        let (low, high) = match Fixed::of(&low).order(&Fixed::of(&high)) {
            Ordering::Greater => (high, low),
            _ => (low, high),
        };
        let (from, to) = (Fixed::of(&low), Fixed::of(&high));
        let matches = |id: &i32| {
            let (above, below) = (value(*id).order(&from), value(*id).order(&to));
            match round % 4 {
                0 => above.is_ge() && below.is_lt(),
                1 => above.is_gt() && below.is_le(),
                2 => above.is_eq(),
                _ => above.is_ge() && below.is_le(),
            }
        };
        let (low, high) = (money(&low), money(&high));
        let found = collection.find(|p| match round % 4 {
            0 => p.price.within(low..high),
            1 => p.price.gt(&low) & p.price.lte(&high),
            2 => p.price.eq(&low),
            _ => p.price.within(low..=high),
        });
        let mut ids: Vec<i32> = found
            .untyped()
            .await
            .unwrap()
            .iter()
            .map(|found| found.get_i32("_id").unwrap())
            .collect();
        ids.sort();
        let expected: Vec<i32> = (0..count).filter(matches).collect();
        assert_eq!(ids, expected, "round {round}");
    }
}
