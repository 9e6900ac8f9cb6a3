//! Sorting as the server's library does where it promises no order of equals: more than a few of them come in the same
//! order as there.

use std::cmp::Ordering;

use super::heap;

/// So many items are put in order by insertion, which keeps equals as they are.
const FEW: usize = 16;

/// Brings the items in order.
pub(crate) fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let less = |a: &T, b: &T| compare(a, b).is_lt();
    let depth = 2 * items.len().checked_ilog2().unwrap_or(0);
    part(items, depth, &less);
    insert(items, &less);
}

/// Splits the items as long as they are many, so that each is among a few of its place.
fn part<T>(mut items: &mut [T], mut depth: u32, less: &impl Fn(&T, &T) -> bool) {
    while items.len() > FEW {
        if depth == 0 {
            heap::make(items, less);
            return heap::sort(items, less);
        }
        depth -= 1;
        let cut = split(items, less);
        let (first, last) = items.split_at_mut(cut);
        part(last, depth, less);
        items = first;
    }
}

/// Moves what is less than the median of three before the others; gives where these begin.
fn split<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) -> usize {
    let (low, middle, high) = (1, items.len() / 2, items.len() - 1);
    let is_less = |a: usize, b: usize| less(&items[a], &items[b]);
    let median = match is_less(low, middle) {
        true if is_less(middle, high) => middle,
        true if is_less(low, high) => high,
        true => low,
        false if is_less(low, high) => low,
        false if is_less(middle, high) => high,
        false => middle,
    };
    items.swap(0, median);
    let (mut first, mut last) = (1, items.len());
    loop {
        while first < items.len() && less(&items[first], &items[0]) {
            first += 1;
        }
        last -= 1;
        while last > 0 && less(&items[0], &items[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

/// Inserts each item among those before it.
fn insert<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for at in 1..items.len() {
        let before = items[..at]
            .iter()
            .rev()
            .take_while(|other| less(&items[at], other));
        let place = at - before.count();
        items[place..=at].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: impl IntoIterator<Item = i32>) -> Vec<(i32, usize)> {
        let mut items: Vec<(i32, usize)> = keys.into_iter().enumerate().map(|(at, key)| (key, at)).collect();
        sort_by(&mut items, |a, b| a.0.cmp(&b.0));
        items
    }

    #[test]
    fn everything_is_in_order() {
        for length in [0, 1, 2, 15, 16, 17, 40, 1000] {
            let keys: Vec<i32> = (0..length).map(|n| n * 7919 % 101).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            let found: Vec<i32> = sorted(keys).iter().map(|item| item.0).collect();
            assert_eq!(found, expected);
        }
        // What is split badly again and again is a heap in the end.
        let keys: Vec<i32> = (0..3000).map(|n| if n % 2 == 0 { n } else { 3000 - n }).collect();
        assert!(sorted(keys).is_sorted_by_key(|item| item.0));
    }

    /// As MongoDB 6.0.5 has them.
    #[test]
    fn equals_come_as_the_server_has_them() {
        let order = |length: usize| {
            let items = sorted(std::iter::repeat_n(1, length));
            items.iter().map(|item| item.1).collect::<Vec<_>>()
        };
        assert_eq!(order(16), (0..16).collect::<Vec<_>>());
        assert_eq!(
            order(20),
            [
                10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1
            ]
        );
    }
}
