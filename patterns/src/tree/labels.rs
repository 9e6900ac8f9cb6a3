//! Numbers with gaps: places among siblings, and the ends of intervals.

/// How far apart numbers are that have nothing between them yet.
pub(super) const STRIDE: i64 = 1 << 32;

/// How far apart the numbers of a first root are.
const ROOT_SPAN: i64 = 1 << 46;

/// So many numbers between two, which need not be there; `None` when there is no room.
pub(super) fn between(before: Option<i64>, after: Option<i64>, count: usize) -> Option<Vec<i64>> {
    let total = i64::try_from(count).ok()?;
    match (before, after) {
        (None, None) => (0..total).map(|step| step.checked_mul(STRIDE)).collect(),
        (Some(before), None) => (1..=total)
            .map(|step| before.checked_add(step.checked_mul(STRIDE)?))
            .collect(),
        (None, Some(after)) => (1..=total)
            .rev()
            .map(|step| after.checked_sub(step.checked_mul(STRIDE)?))
            .collect(),
        (Some(before), Some(after)) => spread(before, after, count),
    }
}

/// So many numbers, evenly spread between two; `None` when there is no room.
pub(super) fn spread(low: i64, high: i64, count: usize) -> Option<Vec<i64>> {
    let (wide_low, wide_high) = (i128::from(low), i128::from(high));
    let steps = i128::try_from(count).ok()? + 1;
    if wide_high - wide_low < steps {
        return None;
    }
    let number = |step: i128| wide_low + (wide_high - wide_low) * step / steps;
    (1..steps).map(|step| i64::try_from(number(step)).ok()).collect()
}

/// Where an interval goes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// The last number before it.
    pub(super) low: Option<i64>,
    /// The first number behind it.
    pub(super) high: Option<i64>,
    /// Whether a sibling comes behind.
    pub(super) is_last: bool,
    /// How wide the sibling before is.
    pub(super) width_before: Option<i64>,
}

impl Gap {
    /// So many numbers for what goes in: some of the room, so that there is more for those that follow.
    ///
    /// Each child that is put behind the others takes a share that leaves the k-th about 1/k² of all, so that a
    /// million of them fit into 2⁴⁶ numbers without moving any.
    pub(super) fn take(self, count: usize) -> Option<Vec<i64>> {
        let wanted = i64::try_from(count).ok()?;
        let minimum = wanted.checked_mul(64)?;
        let (low, high) = match (self.low, self.high) {
            (None, None) => return spread(0, ROOT_SPAN.max(minimum), count),
            (Some(low), None) => {
                let start = low.checked_add(1)?;
                let high = start.checked_add(ROOT_SPAN.max(minimum));
                return spread(low, high.unwrap_or(i64::MAX), count);
            }
            (None, Some(high)) => {
                let low = high.checked_sub(ROOT_SPAN.max(minimum));
                return spread(low.unwrap_or(i64::MIN), high, count);
            }
            (Some(low), Some(high)) => (i128::from(low), i128::from(high)),
        };
        let room = high - low;
        let (start, share) = if self.is_last {
            let children = match self.width_before {
                Some(width) if width > 0 => (room / i128::from(width)).min(1 << 24),
                _ => 0,
            };
            (low, room / (children + 2))
        } else {
            (low + room / 3, room / 3)
        };
        if share > i128::from(wanted) * 4 {
            let (start, end) = (i64::try_from(start).ok()?, i64::try_from(start + share).ok()?);
            return spread(start, end, count);
        }
        spread(i64::try_from(low).ok()?, i64::try_from(high).ok()?, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_rising(numbers: &[i64]) -> bool {
        numbers.windows(2).all(|pair| pair[0] < pair[1])
    }

    #[test]
    fn numbers_lie_between() {
        assert_eq!(between(None, None, 2), Some(vec![0, STRIDE]));
        assert_eq!(between(Some(5), None, 1), Some(vec![5 + STRIDE]));
        assert_eq!(between(None, Some(5), 2), Some(vec![5 - 2 * STRIDE, 5 - STRIDE]));
        assert_eq!(between(Some(1), Some(4), 2), Some(vec![2, 3]));
        assert_eq!(between(Some(1), Some(3), 2), None);
        assert_eq!(between(Some(i64::MAX), None, 1), None);
        let all = spread(i64::MIN, i64::MAX, 1000).unwrap();
        assert!(is_rising(&all));
    }

    #[test]
    fn a_hundred_thousand_children_fit_behind_each_other() {
        let high = Some(ROOT_SPAN);
        let mut gap = Gap {
            low: Some(0),
            high,
            is_last: true,
            width_before: None,
        };
        for _ in 0..100_000 {
            let pair = gap.take(2).unwrap();
            assert!(is_rising(&pair) && pair[0] > gap.low.unwrap() && pair[1] < ROOT_SPAN);
            gap = Gap {
                low: Some(pair[1]),
                width_before: Some(pair[1] - pair[0]),
                ..gap
            };
        }
    }

    #[test]
    fn a_gap_that_is_too_small_says_so() {
        let gap = Gap {
            low: Some(4),
            high: Some(6),
            is_last: true,
            width_before: Some(1),
        };
        assert_eq!(gap.take(2), None);
        let gap = Gap {
            low: Some(4),
            high: Some(7),
            ..gap
        };
        assert_eq!(gap.take(2), Some(vec![5, 6]));
    }
}
