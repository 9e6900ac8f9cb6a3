//! Values that depend on conditions.

use bson::raw::cstr;
use bson::{RawArrayBuf, RawBson};

use super::{Encoding, Expr, Term, Valued, call, call_all, call_named};
use crate::error::Result;

/// One value where the condition is true, the other where it is not: `cond(b.sold.value().gt(0), b.title, "unsold")`.
pub fn cond<R, V: Valued<Root = R>>(
    condition: Expr<R, bool>,
    then: V,
    otherwise: impl Term<R, V::Value>,
) -> Expr<R, V::Value> {
    let then = then.expression();
    let encoding = then.encoding;
    let otherwise = then.named(otherwise.term(&encoding));
    Expr::new(call_all(cstr!("$cond"), [condition.value, then.value, otherwise])).stored(encoding)
}

/// The value of the first condition that is true, or the last one: `switch([(a, x), (b, y)], z)`.
///
/// Without any branch it is the last one.
pub fn switch<R, T>(
    branches: impl IntoIterator<Item = (Expr<R, bool>, Expr<R, T>)>,
    otherwise: impl Term<R, T>,
) -> Expr<R, T> {
    let branches: Vec<(Expr<R, bool>, Expr<R, T>)> = branches.into_iter().collect();
    let encodings = || branches.iter().map(|(_, then)| then.encoding);
    let own = encodings().find(Encoding::is_own);
    let encoding = own.or_else(|| encodings().next()).unwrap_or(Encoding::Computed);
    let branches: Result<Vec<RawBson>> = branches
        .into_iter()
        .map(|(condition, then)| {
            then.named(then.encoding.agrees(&encoding))?;
            let mut branch = bson::RawDocumentBuf::new();
            branch.append(cstr!("case"), condition.value?);
            branch.append(cstr!("then"), then.value?);
            Ok(RawBson::Document(branch))
        })
        .collect();
    let otherwise = otherwise.term(&encoding);
    let value = branches.and_then(|branches| match branches.is_empty() {
        true => otherwise,
        false => {
            let branches: RawArrayBuf = branches.into_iter().collect();
            call_named(
                cstr!("$switch"),
                [
                    (cstr!("branches"), Ok(RawBson::Array(branches))),
                    (cstr!("default"), otherwise),
                ],
            )
        }
    });
    Expr::new(value).stored(encoding)
}

impl<R, T> Expr<R, Option<T>> {
    /// The value, or the other where it is null or missing.
    pub fn if_null(self, otherwise: impl Term<R, T>) -> Expr<R, T> {
        let encoding = self.encoding.of_some();
        let otherwise = self.named(otherwise.term(&encoding));
        Expr::new(call_all(cstr!("$ifNull"), [self.value, otherwise])).stored(encoding)
    }

    /// Whether the value is null or missing.
    pub fn is_null(self) -> Expr<R, bool> {
        let null = Ok(super::constant(RawBson::Null));
        let value = call_all(cstr!("$ifNull"), [self.value, null.clone()]);
        Expr::new(call_all(cstr!("$eq"), [value, null]))
    }
}

impl<R, T> Expr<R, T> {
    /// The value as text; null of null. Documents and arrays are an error of the server.
    pub fn to_text(self) -> Expr<R, String> {
        Expr::new(self.value.map(|value| call(cstr!("$toString"), value)))
    }
}
