//! Arrays as sets: without an order, each element once.

use bson::raw::{CStr, cstr};

use super::{ArrayTerm, Expr, call_all};
use crate::model::ArrayType;

/// What gives a set. The order of its elements is not said; null where one of the arrays is null or missing.
impl<R, T: ArrayType> Expr<R, T> {
    /// The elements of both arrays, each once.
    pub fn union(self, other: impl ArrayTerm<R, T::Item>) -> Expr<R, Vec<T::Item>> {
        self.with_set(cstr!("$setUnion"), other)
    }

    /// The elements that are in both arrays, each once.
    pub fn intersection(self, other: impl ArrayTerm<R, T::Item>) -> Expr<R, Vec<T::Item>> {
        self.with_set(cstr!("$setIntersection"), other)
    }

    /// The elements that are not in the other array, each once.
    pub fn difference(self, other: impl ArrayTerm<R, T::Item>) -> Expr<R, Vec<T::Item>> {
        self.with_set(cstr!("$setDifference"), other)
    }

    /// Whether all elements are in the other array. What is no array is an error of the server.
    pub fn is_subset(self, other: impl ArrayTerm<R, T::Item>) -> Expr<R, bool> {
        self.with_set(cstr!("$setIsSubset"), other)
    }

    /// Whether both arrays have the same elements, however often and in whatever order. What is no array is an error of the
    /// server.
    pub fn has_same(self, other: impl ArrayTerm<R, T::Item>) -> Expr<R, bool> {
        self.with_set(cstr!("$setEquals"), other)
    }

    fn with_set<U>(self, operator: &'static CStr, other: impl ArrayTerm<R, T::Item>) -> Expr<R, U> {
        Expr::new(call_all(operator, [self.elements(), other.array()]))
    }
}
