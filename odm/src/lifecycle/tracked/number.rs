//! Differences of numbers.

use bson::{RawBson, RawBsonRef};

use super::super::decimal::Decimal;

/// What `$inc` must add to one number to make it exactly the other; none where nothing does.
pub(super) fn step(old: RawBsonRef<'_>, new: RawBsonRef<'_>) -> Option<RawBson> {
    match (old, new) {
        (RawBsonRef::Int32(old), RawBsonRef::Int32(new)) => new.checked_sub(old).map(RawBson::Int32),
        (RawBsonRef::Double(old), RawBsonRef::Double(new)) => {
            let step = new - old;
            (step.is_finite() && old + step == new).then_some(RawBson::Double(step))
        }
        (RawBsonRef::Decimal128(old), RawBsonRef::Decimal128(new)) => {
            let step = Decimal::read(new)?.minus(Decimal::read(old)?)?;
            // The same number with other digits is none that is added.
            (!step.is_zero())
                .then(|| step.write().map(RawBson::Decimal128))
                .flatten()
        }
        (old, new) => integer(new)?.checked_sub(integer(old)?).map(RawBson::Int64),
    }
}

/// The first number with the difference of the others added, stored as the last is. None where it does not fit, and
/// where decimals would be rounded.
pub(super) fn moved(
    current: &RawBson,
    old: &RawBson,
    new: &RawBson,
    range: Option<(i64, i64)>,
) -> Option<RawBson> {
    let (current, old, new) = (
        current.as_raw_bson_ref(),
        old.as_raw_bson_ref(),
        new.as_raw_bson_ref(),
    );
    match (current, old, new) {
        (RawBsonRef::Double(current), RawBsonRef::Double(old), RawBsonRef::Double(new)) => {
            let sum = current + (new - old);
            sum.is_finite().then_some(RawBson::Double(sum))
        }
        (RawBsonRef::Decimal128(current), RawBsonRef::Decimal128(old), RawBsonRef::Decimal128(new)) => {
            let step = Decimal::read(new)?.minus(Decimal::read(old)?)?;
            step.plus(Decimal::read(current)?)?
                .write()
                .map(RawBson::Decimal128)
        }
        _ => {
            let wide = |number| integer(number).map(i128::from);
            let sum = i64::try_from(wide(current)? + wide(new)? - wide(old)?).ok()?;
            if !range.is_none_or(|(least, most)| (least..=most).contains(&sum)) {
                return None;
            }
            match (old, new) {
                (RawBsonRef::Int32(_), RawBsonRef::Int32(_)) => i32::try_from(sum).ok().map(RawBson::Int32),
                _ => Some(RawBson::Int64(sum)),
            }
        }
    }
}

/// Nothing, stored as this number is; none of what is no number.
pub(super) fn zero_like(number: RawBsonRef<'_>) -> Option<RawBson> {
    match number {
        RawBsonRef::Int32(_) => Some(RawBson::Int32(0)),
        RawBsonRef::Int64(_) => Some(RawBson::Int64(0)),
        RawBsonRef::Double(_) => Some(RawBson::Double(0.0)),
        RawBsonRef::Decimal128(_) => "0".parse().ok().map(RawBson::Decimal128),
        _ => None,
    }
}

pub(super) fn is_zero(number: &RawBson) -> bool {
    match number {
        RawBson::Double(number) => *number == 0.0,
        RawBson::Decimal128(number) => Decimal::read(*number).is_some_and(Decimal::is_zero),
        number => integer(number.as_raw_bson_ref()) == Some(0),
    }
}

pub(super) fn integer(number: RawBsonRef<'_>) -> Option<i64> {
    match number {
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> RawBson {
        RawBson::Decimal128(text.parse().unwrap())
    }

    #[test]
    fn steps_are_exact_or_none() {
        let check = |old: RawBson, new: RawBson, expected: Option<RawBson>| {
            assert_eq!(step(old.as_raw_bson_ref(), new.as_raw_bson_ref()), expected);
        };
        check(RawBson::Int32(5), RawBson::Int32(-3), Some(RawBson::Int32(-8)));
        check(RawBson::Int32(i32::MIN), RawBson::Int32(1), None);
        check(RawBson::Int32(1), RawBson::Int64(3), Some(RawBson::Int64(2)));
        check(RawBson::Int64(i64::MIN), RawBson::Int64(1), None);
        check(
            RawBson::Double(1.0),
            RawBson::Double(1.5),
            Some(RawBson::Double(0.5)),
        );
        check(RawBson::Double(1e20), RawBson::Double(1.0), None);
        check(RawBson::Double(f64::INFINITY), RawBson::Double(1.0), None);
        check(RawBson::Double(f64::NAN), RawBson::Double(1.0), None);
        check(decimal("10.10"), decimal("12.3"), Some(decimal("2.20")));
        check(decimal("-0.1"), decimal("0.2"), Some(decimal("0.3")));
        check(decimal("1.10"), decimal("1.1"), None);
        check(decimal("0"), decimal("1E+6000"), Some(decimal("1E+6000")));
        let most = "9".repeat(34);
        check(decimal("0"), decimal(&most), Some(decimal(&most)));
        let next = format!("1{}E+1", "0".repeat(33));
        check(decimal("-1"), decimal(&most), Some(decimal(&next)));
        check(decimal("-2"), decimal(&most), None);
        check(decimal("1E-10"), decimal("1E+30"), None);
        check(decimal("1E-6000"), decimal("1"), None);
        check(decimal("NaN"), decimal("1"), None);
        check(decimal("1"), decimal("Infinity"), None);
        check(RawBson::Null, RawBson::Int32(1), None);
    }

    #[test]
    fn a_moved_number_keeps_to_its_range() {
        let range = Some((0, 10));
        let check = |current: i64, expected: Option<i64>| {
            let moved = moved(
                &RawBson::Int64(current),
                &RawBson::Int64(5),
                &RawBson::Int64(2),
                range,
            );
            assert_eq!(moved, expected.map(RawBson::Int64));
        };
        check(9, Some(6));
        check(3, Some(0));
        check(2, None);
        check(14, None);
        let cents = |text| decimal(text);
        assert_eq!(
            moved(&cents("20.00"), &cents("1.10"), &cents("1.1"), None),
            Some(cents("20.00"))
        );
        let (nan, one) = (RawBson::Double(f64::NAN), RawBson::Double(1.0));
        assert_eq!(moved(&one, &nan, &one, None), None);
    }
}
