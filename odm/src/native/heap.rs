//! Heaps whose elements move as those of the server's library do: which of equals comes first is as there.
//!
//! The greatest element is the first; `less` says that one is less than another.

use std::cmp::Ordering;

/// Makes a heap of the items.
pub(crate) fn make<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for hole in (0..items.len() / 2).rev() {
        sink(items, hole, less);
    }
}

/// Makes a heap of one that is followed by another item.
#[inline]
pub(crate) fn rise<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    if let Some(last) = items.len().checked_sub(1) {
        rise_from(items, last, 0, less);
    }
}

/// Makes a heap again of one whose first item is another.
#[inline]
pub(crate) fn settle<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    if !items.is_empty() {
        sink(items, 0, less);
    }
}

/// Makes the greatest item the last, and a heap of the others.
#[inline]
pub(crate) fn pop<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    if let Some(last) = items.len().checked_sub(1) {
        items.swap(0, last);
        settle(&mut items[..last], less);
    }
}

/// Brings the items of a heap in order.
pub(crate) fn sort<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for length in (2..=items.len()).rev() {
        pop(&mut items[..length], less);
    }
}

/// Moves an item to its place among those below it: first to the bottom, whatever it is, and then up.
#[inline]
fn sink<T>(items: &mut [T], top: usize, less: &impl Fn(&T, &T) -> bool) {
    let length = items.len();
    let (mut hole, mut child) = (top, top);
    while child < (length - 1) / 2 {
        child = 2 * (child + 1);
        if less(&items[child], &items[child - 1]) {
            child -= 1;
        }
        items.swap(hole, child);
        hole = child;
    }
    if length.is_multiple_of(2) && length > 1 && child == (length - 2) / 2 {
        child = 2 * child + 1;
        items.swap(hole, child);
        hole = child;
    }
    rise_from(items, hole, top, less);
}

#[inline]
fn rise_from<T>(items: &mut [T], mut hole: usize, top: usize, less: &impl Fn(&T, &T) -> bool) {
    while hole > top {
        let parent = (hole - 1) / 2;
        if !less(&items[parent], &items[hole]) {
            return;
        }
        items.swap(parent, hole);
        hole = parent;
    }
}

/// The first items of those that are given to it, at most so many.
#[derive(Debug)]
pub(crate) struct First<T> {
    most: usize,
    items: Vec<T>,
}

impl<T> First<T> {
    pub(crate) fn of(most: usize) -> First<T> {
        First {
            most,
            items: Vec::new(),
        }
    }

    /// The item that the next one displaces, if there are as many as are wanted.
    pub(crate) fn worst(&self) -> Option<&T> {
        self.items.first().filter(|_| self.items.len() >= self.most)
    }

    /// Takes one more, of less than are wanted.
    pub(crate) fn push(&mut self, item: T, compare: &impl Fn(&T, &T) -> Ordering) {
        if self.most > 0 {
            self.items.push(item);
        }
        if self.items.len() == self.most {
            make(&mut self.items, &|a, b| compare(a, b).is_lt());
        }
    }

    /// Changes the item that is displaced to another.
    pub(crate) fn replace(&mut self, change: impl FnOnce(&mut T), compare: &impl Fn(&T, &T) -> Ordering) {
        let less = |a: &T, b: &T| compare(a, b).is_lt();
        pop(&mut self.items, &less);
        if let Some(last) = self.items.last_mut() {
            change(last);
        }
        rise(&mut self.items, &less);
    }

    /// All of them in order. Where they are fewer than are wanted, equals come as they were given.
    pub(crate) fn into_sorted(mut self, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
        match self.items.len() == self.most {
            true => sort(&mut self.items, &|a, b| compare(a, b).is_lt()),
            false => self.items.sort_by(compare),
        }
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(most: usize, items: &[(i32, i32)]) -> Vec<(i32, i32)> {
        let compare = |a: &(i32, i32), b: &(i32, i32)| a.0.cmp(&b.0);
        let mut first = First::of(most);
        for item in items {
            match first.worst() {
                None => first.push(*item, &compare),
                Some(worst) if item.0 < worst.0 => first.replace(|last| *last = *item, &compare),
                Some(_) => {}
            }
        }
        first.into_sorted(&compare)
    }

    #[test]
    fn the_first_are_kept_in_order() {
        let items: Vec<(i32, i32)> = (0..200).map(|n| (n * 37 % 101, n)).collect();
        let mut sorted: Vec<i32> = items.iter().map(|item| item.0).collect();
        sorted.sort_unstable();
        for most in [1, 2, 3, 10, 199, 200, 500] {
            let keys: Vec<i32> = first(most, &items).iter().map(|item| item.0).collect();
            assert_eq!(keys, sorted[..most.min(200)]);
        }
    }

    /// As MongoDB 6.0.5 has them.
    #[test]
    fn equals_come_as_the_server_has_them() {
        let equal: Vec<(i32, i32)> = (1..=6).map(|n| (0, n)).collect();
        let order = |most| first(most, &equal).iter().map(|item| item.1).collect::<Vec<_>>();
        assert_eq!(order(1), [1]);
        assert_eq!(order(3), [1, 2, 3]);
        assert_eq!(order(4), [2, 4, 1, 3]);
        assert_eq!(order(6), [4, 5, 2, 1, 3, 6]);
        assert_eq!(order(7), [1, 2, 3, 4, 5, 6]);
        let last = [(2, 1), (2, 2), (2, 3), (2, 4), (1, 5)];
        let order: Vec<i32> = first(4, &last).iter().map(|item| item.1).collect();
        assert_eq!(order, [5, 4, 2, 1]);
    }
}
