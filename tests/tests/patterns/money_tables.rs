//! The published tables: decimals, allocation, currencies. Nothing of a database.

use std::collections::BTreeMap;
use std::fs;

use bson::Decimal128;
use odm_patterns::money::{
    Allocation, Arbitrary, Currency, Decimal, Digits, Minor, Money, MoneyError, Rounding,
};
use odm_tests::data;
use odm_tests::random::Random;
use serde::Deserialize;

fn decimal(text: &str) -> Option<Decimal> {
    text.parse().ok()
}

/// One line of a `.decTest` file.
struct Case {
    name: String,
    operation: String,
    operands: Vec<String>,
    result: String,
    conditions: Vec<String>,
    rounding: Option<Rounding>,
}

fn cases(file: &str) -> Option<Vec<Case>> {
    let text = fs::read_to_string(data::path(&format!("decimal/{file}"))?).unwrap();
    let mut rounding = Some(Rounding::HalfEven);
    let mut all = Vec::new();
    for line in text.lines() {
        let line = line.split("--").next().unwrap_or_default().trim();
        if let Some(mode) = line.strip_prefix("rounding:") {
            rounding = match mode.trim() {
                "up" => Some(Rounding::Up),
                "down" => Some(Rounding::Down),
                "ceiling" => Some(Rounding::Ceiling),
                "floor" => Some(Rounding::Floor),
                "half_up" => Some(Rounding::HalfUp),
                "half_down" => Some(Rounding::HalfDown),
                "half_even" => Some(Rounding::HalfEven),
                _ => None,
            };
            continue;
        }
        let Some((left, right)) = line.split_once("->") else {
            continue;
        };
        let bare = |text: &str| text.trim_matches(['\'', '"']).to_owned();
        let mut left = left.split_whitespace().map(bare);
        let mut right = right.split_whitespace().map(bare);
        all.push(Case {
            name: left.next().unwrap(),
            operation: left.next().unwrap(),
            operands: left.collect(),
            result: right.next().unwrap(),
            conditions: right.collect(),
            rounding,
        });
    }
    Some(all)
}

/// What the case gives here: a number with its decimals, or why there is none.
fn outcome(case: &Case, a: &Decimal, b: &Decimal, rounding: Rounding) -> Result<Decimal, MoneyError> {
    let exact = match case.operation.as_str() {
        "add" => a.plus(b)?,
        "subtract" => a.minus(b)?,
        "multiply" => a.times(b)?,
        "compare" => Decimal::from(a.cmp(b) as i64),
        "quantize" => {
            let rounded = a.rounded(b.decimals(), rounding);
            // Beyond 34 digits a decimal128 has no such number: the table says NaN.
            let held = rounded.to_decimal128(Rounding::Down)?;
            return match Decimal::try_from(held)? {
                held if held.decimals() == b.decimals() => Ok(held),
                _ => Err(MoneyError::Overflow),
            };
        }
        other => panic!("{other}"),
    };
    Decimal::try_from(exact.to_decimal128(rounding)?)
}

fn run_table(file: &str) {
    let Some(cases) = cases(file) else { return };
    let (mut checked, mut refused) = (0, 0);
    let offered = ["add", "subtract", "multiply", "quantize", "compare"];
    for case in cases
        .iter()
        .filter(|case| offered.contains(&case.operation.as_str()))
    {
        let operands: Vec<Option<Decimal>> = case.operands.iter().map(|text| decimal(text)).collect();
        let [Some(a), Some(b)] = &operands[..] else {
            // Infinities and NaNs are no amounts, and nothing that the table has beside them is refused.
            let is_number = |text: &String| {
                text.bytes().any(|byte| byte.is_ascii_digit()) && !text.contains(['N', 'n', '#'])
            };
            assert!(!case.operands.iter().all(is_number), "{}", case.name);
            refused += 1;
            continue;
        };
        let Some(rounding) = case.rounding else { continue };
        let found = outcome(case, a, b, rounding);
        match decimal(&case.result) {
            Some(expected) => {
                let found = found.unwrap_or_else(|error| panic!("{}: {error}", case.name));
                assert_eq!(found, expected, "{}", case.name);
                if case.operation != "compare" {
                    assert_eq!(found.decimals(), expected.decimals(), "{}: {found}", case.name);
                }
            }
            // What is too large for a decimal128 is an error of the form, where the table rounds to an infinity.
            None => {
                let is_beyond = case
                    .conditions
                    .iter()
                    .any(|name| name == "Overflow" || name == "Invalid_operation");
                assert!(is_beyond && found.is_err(), "{}: {found:?}", case.name);
            }
        }
        checked += 1;
    }
    assert!(checked > 100, "{file}: {checked}");
    println!(
        "{file}: {checked} cases, {refused} of them infinite or no numbers and refused, of {}",
        cases.len()
    );
}

#[test]
fn decimal_tables() {
    for file in ["dqAdd", "dqSubtract", "dqMultiply", "dqQuantize", "dqCompare"] {
        run_table(&format!("{file}.decTest"));
    }
}

#[test]
fn decimal_encodings() {
    let Some(cases) = cases("dqEncode.decTest") else {
        return;
    };
    let mut checked = 0;
    for case in cases {
        let (number, bytes) = match case.operands.first().and_then(|text| text.strip_prefix('#')) {
            Some(bytes) => (case.result.clone(), bytes.to_owned()),
            None => match case.result.strip_prefix('#') {
                Some(bytes) => (case.operands[0].clone(), bytes.to_owned()),
                None => continue,
            },
        };
        if bytes.len() != 32 {
            continue;
        }
        let mut stored: Vec<u8> = (0..16)
            .map(|at| u8::from_str_radix(&bytes[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        stored.reverse();
        let stored = Decimal128::from_bytes(stored.try_into().unwrap());
        let Some(number) = decimal(&number) else {
            assert!(
                number.starts_with(['#']) || Decimal::try_from(stored).is_err(),
                "{}",
                case.name
            );
            continue;
        };
        // The tables hold DPD; BSON holds BID. Where the two differ the bytes say nothing here, so that only what this
        // type makes of the number is held against itself.
        let made = number.to_decimal128(Rounding::HalfEven).unwrap();
        let back = Decimal::try_from(made).unwrap();
        assert_eq!(back, number, "{}", case.name);
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}

#[derive(Deserialize)]
struct Allocations {
    cases: Vec<AllocationCase>,
}

#[derive(Deserialize)]
struct AllocationCase {
    amount: i64,
    weights: Vec<i64>,
    parts: Vec<i64>,
}

#[test]
fn allocation_tables() {
    let Some(path) = data::path("money/allocation.json") else {
        return;
    };
    let table: Allocations = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for case in &table.cases {
        let whole: Money = Money::of_units(case.amount, Currency::USD).unwrap();
        let parts = whole
            .allocate(&case.weights, Allocation::LargestRemainder)
            .unwrap();
        let units: Vec<i64> = parts.iter().map(Money::units).collect();
        assert_eq!(units, case.parts, "{} by {:?}", case.amount, case.weights);
    }
    assert!(table.cases.len() >= 15);
}

#[test]
fn currencies_are_those_of_iso_4217() {
    let Some(path) = data::path("money/iso4217-exponents.json") else {
        return;
    };
    let table: BTreeMap<String, Option<u32>> =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let own: BTreeMap<String, Option<u32>> = Currency::all()
        .map(|currency| (currency.code().to_owned(), currency.digits()))
        .collect();
    assert_eq!(own, table);
}

#[test]
fn random_allocations_conserve_the_sum() {
    let runs = match std::env::var("ODM_TEST_MONEY_RUNS") {
        Ok(runs) => runs.parse().unwrap(),
        Err(_) => 20_000,
    };
    let mut random = Random::new(7);
    let policies = [
        Allocation::LargestRemainder,
        Allocation::First,
        Allocation::Last,
        Allocation::LargestWeight,
    ];
    for run in 0..runs {
        let weights: Vec<i64> = (0..1 + random.below(6))
            .map(|_| match random.below(4) {
                0 => 0,
                1 => (random.bits() >> 1) as i64,
                _ => random.below(10) as i64,
            })
            .collect();
        let policy = *random.pick(&policies);
        let units = random.bits() as i64 >> random.below(64);
        let is_nothing = weights.iter().all(|weight| *weight == 0);
        if run % 2 == 0 {
            let whole: Money<Minor<Digits<3>>> = Money::of_units(units, Currency::JPY).unwrap();
            let Ok(parts) = whole.allocate(&weights, policy) else {
                assert!(is_nothing);
                continue;
            };
            let sum: i128 = parts.iter().map(|part| i128::from(part.units())).sum();
            assert_eq!(sum, i128::from(units));
            check(&weights, parts.iter().map(|part| part.units()), units, policy);
        } else {
            let amount = Decimal::new(units, random.below(9) as u32);
            let whole: Money<Arbitrary> = Money::new(amount, Currency::USD).unwrap();
            let Ok(parts) = whole.allocate(&weights, policy) else {
                assert!(is_nothing);
                continue;
            };
            assert_eq!(Money::sum(Currency::USD, &parts).unwrap(), whole);
            assert!(
                parts
                    .iter()
                    .zip(&weights)
                    .all(|(part, weight)| *weight > 0 || part.is_zero())
            );
        }
    }
}

/// Each part is less than one unit from its exact share.
fn check(weights: &[i64], parts: impl Iterator<Item = i64>, whole: i64, policy: Allocation) {
    let all: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    for (weight, part) in weights.iter().zip(parts) {
        assert!(*weight > 0 || part == 0);
        // In integers, since a double would not tell.
        let share = i128::from(whole) * i128::from(*weight);
        let (low, high) = (share.div_euclid(all), share.div_euclid(all) + 1);
        let is_near = i128::from(part) >= low - 1 && i128::from(part) <= high + 1;
        assert!(is_near, "{whole} by {weights:?}, {policy:?}");
    }
}
