//! Dividing an amount so that nothing is lost.

use std::cmp::Reverse;

use num_bigint::{BigInt, Sign};

use super::amount::Money;
use super::decimal::Decimal;
use super::error::MoneyError;
use super::form::Form;
use super::rounding::Rounding;

/// Who gets the units that are left when every part is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Allocation {
    /// Each part is rounded down, and the units left go one each to the largest remainders, of equal ones to the earlier:
    /// every part is within one unit of its exact share.
    LargestRemainder,
    /// Each part is rounded towards zero, and the units left go one each to the first that have a weight.
    First,
    /// As [`First`](Allocation::First), to the last.
    Last,
    /// As [`First`](Allocation::First), to those of the largest weights, of equal ones to the earlier.
    LargestWeight,
}

impl<F: Form> Money<F> {
    /// The amount divided in proportion to the weights. The parts always sum to the whole, and a weight of 0 gets nothing.
    ///
    /// The unit is what the form counts; where it has none, the currency's minor unit, or the amount's last decimal if
    /// that is finer.
    ///
    /// ```
    /// use odm_patterns::money::{Allocation, Money};
    ///
    /// let bill: Money = "1.00 USD".parse()?;
    /// let parts = bill.allocate(&[1, 1, 1], Allocation::LargestRemainder)?;
    /// let units: Vec<i64> = parts.iter().map(Money::units).collect();
    /// assert_eq!(units, [34, 33, 33]);
    /// # Ok::<(), odm_patterns::money::MoneyError>(())
    /// ```
    ///
    /// # Errors
    /// `NoWeights` when there are none or all are 0, `NegativeWeight`.
    pub fn allocate(&self, weights: &[i64], policy: Allocation) -> Result<Vec<Money<F>>, MoneyError> {
        if weights.iter().any(|weight| *weight < 0) {
            return Err(MoneyError::NegativeWeight);
        }
        let all: BigInt = weights.iter().map(|weight| BigInt::from(*weight)).sum();
        if all.sign() == Sign::NoSign {
            return Err(MoneyError::NoWeights);
        }
        let decimals = match F::room(self.currency())? {
            Some(digits) => digits.into(),
            None => i64::from(self.currency().digits().unwrap_or(0)).max(self.amount().decimals()),
        };
        let whole = self.amount().rounded(decimals, Rounding::Down);
        let rounding = match policy {
            Allocation::LargestRemainder => Rounding::Floor,
            _ => Rounding::Down,
        };
        let shares: Vec<BigInt> = weights
            .iter()
            .map(|weight| whole.coefficient() * weight)
            .collect();
        let mut parts: Vec<BigInt> = shares.iter().map(|share| rounding.divide(share, &all)).collect();
        let given: BigInt = parts.iter().sum();
        let left = whole.coefficient() - given;
        let unit = match left.sign() {
            Sign::Minus => -1,
            _ => 1,
        };
        // Fewer than there are parts with a weight.
        let count = usize::try_from(left.magnitude()).map_err(|_| MoneyError::Overflow)?;
        let mut order: Vec<usize> = (0..weights.len()).filter(|at| weights[*at] > 0).collect();
        match policy {
            Allocation::LargestRemainder => {
                order.sort_by_cached_key(|at| Reverse(&shares[*at] - &parts[*at] * &all));
            }
            Allocation::First => {}
            Allocation::Last => order.reverse(),
            Allocation::LargestWeight => order.sort_by_key(|at| Reverse(weights[*at])),
        }
        for at in order.into_iter().take(count) {
            parts[at] += unit;
        }
        parts
            .into_iter()
            .map(|part| Money::new(Decimal::of(part, decimals), self.currency()))
            .collect()
    }

    /// The amount divided in so many equal parts, as equal as units allow.
    ///
    /// # Errors
    /// `NoWeights` for no parts.
    pub fn split(&self, parts: usize, policy: Allocation) -> Result<Vec<Money<F>>, MoneyError> {
        self.allocate(&vec![1; parts], policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{Arbitrary, Currency};

    fn parts(units: i64, weights: &[i64], policy: Allocation) -> Vec<i64> {
        let whole: Money = Money::of_units(units, Currency::EUR).unwrap();
        let parts = whole.allocate(weights, policy).unwrap();
        parts.iter().map(Money::units).collect()
    }

    #[test]
    fn policies_differ_in_who_gets_the_rest() {
        for (policy, positive, negative) in [
            // The shares are 1.57.., 4.21.. and 4.21...
            (Allocation::LargestRemainder, [2, 0, 4, 4], [-2, 0, -4, -4]),
            (Allocation::First, [2, 0, 4, 4], [-2, 0, -4, -4]),
            (Allocation::Last, [1, 0, 4, 5], [-1, 0, -4, -5]),
            (Allocation::LargestWeight, [1, 0, 5, 4], [-1, 0, -5, -4]),
        ] {
            assert_eq!(parts(10, &[3, 0, 8, 8], policy), positive, "{policy:?}");
            assert_eq!(parts(-10, &[3, 0, 8, 8], policy), negative, "{policy:?}");
        }
    }

    #[test]
    fn nobody_and_debts_are_errors() {
        let whole: Money = "1 EUR".parse().unwrap();
        for weights in [&[][..], &[0], &[0, 0]] {
            assert_eq!(
                whole.allocate(weights, Allocation::First),
                Err(MoneyError::NoWeights)
            );
        }
        assert_eq!(
            whole.allocate(&[1, -1], Allocation::First),
            Err(MoneyError::NegativeWeight)
        );
        assert_eq!(whole.split(0, Allocation::Last), Err(MoneyError::NoWeights));
        assert_eq!(
            parts(i64::MAX, &[i64::MAX, i64::MAX], Allocation::Last),
            [i64::MAX / 2, i64::MAX / 2 + 1]
        );
        assert_eq!(
            parts(i64::MIN, &[0, 7], Allocation::LargestRemainder),
            [0, i64::MIN]
        );
    }

    #[test]
    fn what_is_finer_than_a_unit_is_not_lost() {
        let whole: Money<Arbitrary> = "-10.005 USD".parse().unwrap();
        let parts = whole.split(3, Allocation::LargestRemainder).unwrap();
        assert_eq!(Money::sum(Currency::USD, &parts).unwrap(), whole);
        assert!(parts.iter().all(|part| part.to_string() == "-3.335 USD"));
        let whole: Money<Arbitrary> = "1 USD".parse().unwrap();
        assert_eq!(
            whole.split(3, Allocation::Last).unwrap()[2].to_string(),
            "0.34 USD"
        );
    }
}
