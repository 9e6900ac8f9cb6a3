//! The handles of derived fields, which are read only.

use std::fmt;
use std::ops::Deref;

use super::derived::Derivation;
use crate::expr::{Expr, Gives, Term, Valued};
use crate::model::{Field, Handle, Path};
use crate::query::Update;
use crate::query::expression::Encoding;

/// The handle of a [`Derived`](crate::Derived) field: a [`Field`] of the value's type, but for what changes it.
///
/// Filters, sorts, indexes, projections and expressions take it as a field of the value's type: `b.slug.eq("x")`,
/// `b.total.desc()`. Where a field is asked for by value it is `b.slug.field()`. A value that is an embedded document is
/// asked for as a whole.
pub struct DerivedField<R, D: Derivation>(Field<R, D::Value>);

impl<R, D: Derivation> DerivedField<R, D> {
    /// The field, as one of the value's type.
    pub fn field(&self) -> Field<R, D::Value> {
        self.0.clone()
    }
}

impl<R, D: Derivation> Handle for DerivedField<R, D> {
    fn at(path: Path) -> DerivedField<R, D> {
        DerivedField(Field::new(path))
    }
}

impl<R, D: Derivation> Deref for DerivedField<R, D> {
    type Target = Field<R, D::Value>;

    fn deref(&self) -> &Field<R, D::Value> {
        &self.0
    }
}

/// What a program gives a value itself: no derived field.
#[diagnostic::on_unimplemented(
    message = "a field derived by `{Self}` is not changed by updates",
    label = "is made of the other fields by every write",
    note = "change the fields that it is made of"
)]
pub trait Changeable {}

/// The operators that change a field, none of which a derived one has.
macro_rules! refused {
    ($($operator:ident($($argument:ident),*);)*) => {
        #[doc(hidden)]
        impl<R, D: Derivation> DerivedField<R, D> {$(
            pub fn $operator(&self, $($argument: impl Sized),*) -> Update<R>
            where
                D: Changeable,
            {
                let _ = ($($argument,)*);
                Update::none()
            }
        )*}
    };
}

refused! {
    set(value);
    set_on_insert(value);
    set_to(value);
    min(value);
    max(value);
    unset();
    rename(to);
    current_date();
    current_timestamp();
    inc(amount);
    mul(factor);
    bit_and(mask);
    bit_or(mask);
    bit_xor(mask);
    push(element);
    push_each(elements);
    push_each_with(elements, options);
    add_to_set(element);
    add_each_to_set(elements);
    pull(element);
    pull_all(elements);
    pull_where(condition);
    pull_where_value(condition);
    pop_first();
    pop_last();
}

impl<R, D: Derivation> Valued for DerivedField<R, D> {
    type Root = R;
    type Value = D::Value;

    fn expression(self) -> Expr<R, D::Value> {
        self.value()
    }
}

impl<R, D: Derivation> Valued for &DerivedField<R, D> {
    type Root = R;
    type Value = D::Value;

    fn expression(self) -> Expr<R, D::Value> {
        self.value()
    }
}

impl<R, D: Derivation<Value = T>, T> Term<R, T> for &DerivedField<R, D> {
    fn term(self, encoding: &Encoding<T>) -> crate::Result<bson::RawBson> {
        self.value().term(encoding)
    }
}

impl<R, D: Derivation<Value = T>, T> Gives<R, T> for &DerivedField<R, D> {
    fn give(self, encoding: &Encoding<T>) -> crate::Result<bson::RawBson> {
        <Expr<R, T> as Gives<R, T>>::give(self.value(), encoding)
    }
}

impl<R, D: Derivation> Clone for DerivedField<R, D> {
    fn clone(&self) -> Self {
        DerivedField(self.0.clone())
    }
}

impl<R, D: Derivation> fmt::Debug for DerivedField<R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
