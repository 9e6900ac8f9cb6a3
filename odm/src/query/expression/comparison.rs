//! Comparisons and what is made of them.

use std::ops::{BitAnd, BitOr, Not};

use bson::raw::{CStr, cstr};

use super::{Expr, Term, call_all};

impl<R, T> Expr<R, T> {
    /// Equal. In expressions arrays are compared whole.
    pub fn eq(self, other: impl Term<R, T>) -> Expr<R, bool> {
        self.compare(cstr!("$eq"), other)
    }

    /// Not equal.
    pub fn ne(self, other: impl Term<R, T>) -> Expr<R, bool> {
        self.compare(cstr!("$ne"), other)
    }

    /// Greater in MongoDB's order of all values: a missing one is the least.
    pub fn gt(self, other: impl Term<R, T>) -> Expr<R, bool> {
        self.compare(cstr!("$gt"), other)
    }

    /// Greater or equal.
    pub fn gte(self, other: impl Term<R, T>) -> Expr<R, bool> {
        self.compare(cstr!("$gte"), other)
    }

    /// Less in MongoDB's order of all values: a missing one is the least.
    pub fn lt(self, other: impl Term<R, T>) -> Expr<R, bool> {
        self.compare(cstr!("$lt"), other)
    }

    /// Less or equal.
    pub fn lte(self, other: impl Term<R, T>) -> Expr<R, bool> {
        self.compare(cstr!("$lte"), other)
    }

    fn compare(self, operator: &'static CStr, other: impl Term<R, T>) -> Expr<R, bool> {
        let other = self.named(other.term(&self.encoding));
        Expr::new(call_all(operator, [self.value, other]))
    }
}

impl<R> BitAnd for Expr<R, bool> {
    type Output = Expr<R, bool>;

    fn bitand(self, other: Expr<R, bool>) -> Expr<R, bool> {
        Expr::new(call_all(cstr!("$and"), [self.value, other.value]))
    }
}

impl<R> BitOr for Expr<R, bool> {
    type Output = Expr<R, bool>;

    fn bitor(self, other: Expr<R, bool>) -> Expr<R, bool> {
        Expr::new(call_all(cstr!("$or"), [self.value, other.value]))
    }
}

impl<R> Not for Expr<R, bool> {
    type Output = Expr<R, bool>;

    fn not(self) -> Expr<R, bool> {
        Expr::new(call_all(cstr!("$not"), [self.value]))
    }
}
