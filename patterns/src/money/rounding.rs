//! How to round.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// What becomes of digits that there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rounding {
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
    /// Towards positive infinity.
    Ceiling,
    /// Towards negative infinity.
    Floor,
    /// To the nearest; halves away from zero.
    HalfUp,
    /// To the nearest; halves towards zero.
    HalfDown,
    /// To the nearest; halves to the even neighbor, so that they do not add up on one side.
    HalfEven,
}

impl Rounding {
    /// The quotient, rounded. The divisor is positive.
    pub(super) fn divide(self, dividend: &BigInt, divisor: &BigInt) -> BigInt {
        let quotient = dividend / divisor;
        let rest = dividend % divisor;
        if rest.sign() == Sign::NoSign {
            return quotient;
        }
        let is_negative = rest.sign() == Sign::Minus;
        let half = (rest.magnitude() * 2_u32).cmp(divisor.magnitude());
        let away = match self {
            Rounding::Up => true,
            Rounding::Down => false,
            Rounding::Ceiling => !is_negative,
            Rounding::Floor => is_negative,
            Rounding::HalfUp => half != Ordering::Less,
            Rounding::HalfDown => half == Ordering::Greater,
            Rounding::HalfEven => match half {
                Ordering::Equal => quotient.bit(0),
                other => other == Ordering::Greater,
            },
        };
        match (away, is_negative) {
            (false, _) => quotient,
            (true, false) => quotient + 1,
            (true, true) => quotient - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_on_both_sides_of_zero() {
        use Rounding::*;
        let numbers = [55, 25, 16, 11, 10, -10, -11, -16, -25, -55];
        for (mode, expected) in [
            (Up, [6, 3, 2, 2, 1, -1, -2, -2, -3, -6]),
            (Down, [5, 2, 1, 1, 1, -1, -1, -1, -2, -5]),
            (Ceiling, [6, 3, 2, 2, 1, -1, -1, -1, -2, -5]),
            (Floor, [5, 2, 1, 1, 1, -1, -2, -2, -3, -6]),
            (HalfUp, [6, 3, 2, 1, 1, -1, -1, -2, -3, -6]),
            (HalfDown, [5, 2, 2, 1, 1, -1, -1, -2, -2, -5]),
            (HalfEven, [6, 2, 2, 1, 1, -1, -1, -2, -2, -6]),
        ] {
            let rounded = numbers.map(|n| mode.divide(&BigInt::from(n), &BigInt::from(10)));
            assert_eq!(rounded, expected.map(BigInt::from), "{mode:?}");
        }
    }
}
