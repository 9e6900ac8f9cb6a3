//! What is computed of a document: values in pipelines and in conditions of `$expr`.

mod array;
mod array_term;
mod choice;
mod comparison;
mod date;
mod date_term;
mod encoding;
mod number;
mod set;
mod text;
mod valued;

use std::fmt;
use std::marker::PhantomData;

use bson::raw::{CStr, CString, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};
use serde::Serialize;

pub use self::array_term::ArrayTerm;
pub use self::choice::{cond, switch};
pub use self::date::{Zoned, date, now};
pub use self::date_term::DateTerm;
pub(crate) use self::encoding::Encoding;
pub use self::number::{Number, NumberTerm};
pub use self::text::TextTerm;
pub use self::valued::{Gives, Term, Valued};
use super::encode::path_text;
use crate::codec::{self, Raw};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Segment};
use crate::query::{Filter, Operand};

/// A value of type `T` that is computed of a document of `R`: of its fields, of constants and of other such values.
///
/// Made by [`Field::value`] and [`literal`], and by what is said of them: arithmetic, comparison, text, dates, arrays.
/// Where a field stands alone, it need not say `value()`.
///
/// ```
/// # use odm::Model;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Model)]
/// # struct Book {
/// #     #[serde(rename = "_id")]
/// #     id: i32,
/// #     price: f64,
/// #     sold: i32,
/// #     budget: f64,
/// # }
/// let b = Book::fields();
/// let earned = b.price.value() * &b.sold;
/// assert_eq!(earned.to_bson()?, odm::bson::bson!({ "$multiply": ["$price", "$sold"] }));
/// // In a filter: documents that earned more than they cost.
/// let good = earned.gt(b.budget.value() + 1).holds();
/// # good.to_document()?;
/// # Ok::<(), odm::Error>(())
/// ```
#[must_use]
pub struct Expr<R, T> {
    value: Result<RawBson>,
    encoding: Encoding<T>,
    marker: PhantomData<fn() -> R>,
}

/// A constant to begin an expression with, encoded as its type says. Where a field or an expression stands first, the
/// constants beside it are the values themselves: `b.sold.value().gt(5)`.
///
/// Beside a field with its own serde codec (`as_bson`, `with`) it is an error of kind `InvalidArgument`:
/// [`Field::constant`] gives a constant that is stored as the field's values are.
pub fn literal<R, T: Serialize>(value: T) -> Expr<R, T> {
    Expr::new(codec::encode_value(&value).map(constant)).stored(Encoding::Literal)
}

impl<R, T> Expr<R, T> {
    /// An expression in MongoDB's words, taken as it is; the type is believed.
    pub fn raw(expression: impl Into<Raw>) -> Expr<R, T> {
        Expr::new(expression.into().into_document().map(RawBson::Document))
    }

    /// The whole document, or a variable: `$$ROOT`, `$$NOW`, and those of [`variables`]. The type is believed.
    ///
    /// [`variables`]: crate::action::Aggregate::variables
    pub fn variable(name: &str) -> Expr<R, T> {
        Expr::new(Ok(RawBson::String(format!("$${name}"))))
    }

    /// The expression as MongoDB takes it.
    ///
    /// # Errors
    /// `Encode` for a constant that does not fit BSON; `InvalidArgument` or `Unsupported` for a path that expressions
    /// do not know.
    pub fn to_bson(&self) -> Result<bson::Bson> {
        let value = self.value.clone()?;
        bson::Bson::try_from(value).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "the expression is malformed").with_source(error)
        })
    }

    /// The same value taken as one of another type, which is believed.
    pub fn of_type<U>(self) -> Expr<R, U> {
        Expr::new(self.value)
    }

    pub(crate) fn new(value: Result<RawBson>) -> Expr<R, T> {
        Expr {
            value,
            encoding: Encoding::Computed,
            marker: PhantomData,
        }
    }

    /// The same, stored like this.
    pub(crate) fn stored(self, encoding: Encoding<T>) -> Expr<R, T> {
        Expr { encoding, ..self }
    }

    pub(crate) fn encoding(&self) -> Encoding<T> {
        self.encoding
    }

    /// Puts the field that this is into an error.
    pub(crate) fn named<V>(&self, result: Result<V>) -> Result<V> {
        result.map_err(|error| match &self.value {
            Ok(RawBson::String(path)) if error.path().is_none() && !path.starts_with("$$") => {
                error.with_path(path.trim_start_matches('$'))
            }
            _ => error,
        })
    }

    pub(crate) fn into_value(self) -> Result<RawBson> {
        self.value
    }
}

impl<R> Expr<R, bool> {
    /// The filter of the documents for which this is true.
    ///
    /// Comparisons in expressions do not bracket types: a missing field is less than any number.
    pub fn holds(self) -> Filter<R> {
        Filter::from_result(self.value.map(|value| crate::query::filter::Node::Operator {
            name: cstr!("$expr"),
            value,
        }))
    }
}

impl<R, T> Field<R, T> {
    /// The field's value, to compute with in pipelines.
    pub fn value(&self) -> Expr<R, T> {
        let path = reference(self.path().segments());
        Expr::new(self.located(path)).stored(Encoding::of(self.codec()))
    }

    /// A constant that is stored as this field's values are, for expressions over any documents:
    /// `switch([(b.sold.value().eq(0), b.due.constant(never))], b.due)`.
    pub fn constant<S>(&self, value: impl Operand<T>) -> Expr<S, T>
    where
        T: Serialize,
    {
        let encoding = match self.codec() {
            Some(codec) => Encoding::Own(codec),
            None => Encoding::Literal,
        };
        Expr::new(self.operand(value).map(constant)).stored(encoding)
    }
}

/// A path as expressions name it. One that begins at a variable has its name as the first segment.
fn reference(segments: Vec<&Segment>) -> Result<RawBson> {
    let mut text = String::new();
    for segment in &segments {
        match segment {
            Segment::Name(_) | Segment::Key(_) => {}
            Segment::Where(condition) => {
                condition.document("f0")?;
                return Err(no_path());
            }
            Segment::Any => return Err(no_any()),
            _ => return Err(no_path()),
        }
        match text.is_empty() {
            true => {}
            false => text.push('.'),
        }
        text.push_str(&segment.to_string());
    }
    Ok(RawBson::String(match text {
        text if text.is_empty() => "$$ROOT".to_owned(),
        text if text.starts_with("$$") => text,
        text => format!("${text}"),
    }))
}

fn no_path() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "expressions do not reach array elements by path; use `value().at(..)`, `value().map(..)` or `value().filter(..)`",
    )
}

fn no_any() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "expressions have no `any`: a filter asks elements by `any()` without `value()`, or by `elem_match(..)`; an \
         expression works on the array: `value().contains(..)`, `value().map(..)` or `value().filter(..)`",
    )
}

/// Makes fields and expressions of some types terms of a kind.
macro_rules! terms {
    ($term:ident $method:ident $bound:ident) => {
        super::terms! { $term $method $bound: super::Expr<R, T>, &super::Expr<R, T>, $crate::Field<R, T>, &$crate::Field<R, T> }
    };
    ($term:ident $method:ident $bound:ident: $($type:ty),*) => {$(
        impl<R, T: $bound> $term<R> for $type {
            fn $method(self) -> $crate::Result<bson::RawBson> {
                super::Valued::expression(self).into_value()
            }
        }
    )*};
}

use terms;

/// A value that is never taken for an expression.
pub(in crate::query) fn constant(value: RawBson) -> RawBson {
    call(cstr!("$literal"), value)
}

/// An operator of one argument.
pub(super) fn call(operator: &'static CStr, argument: impl Into<RawBson>) -> RawBson {
    let mut document = RawDocumentBuf::new();
    document.append(operator, argument.into());
    RawBson::Document(document)
}

/// An operator of several arguments.
pub(in crate::query) fn call_all(
    operator: &'static CStr,
    arguments: impl IntoIterator<Item = Result<RawBson>>,
) -> Result<RawBson> {
    let arguments: Result<Vec<RawBson>> = arguments.into_iter().collect();
    Ok(call(operator, arguments?.into_iter().collect::<RawArrayBuf>()))
}

/// An operator of named arguments.
pub(super) fn call_named(
    operator: &'static CStr,
    arguments: impl IntoIterator<Item = (&'static CStr, Result<RawBson>)>,
) -> Result<RawBson> {
    let mut document = RawDocumentBuf::new();
    for (name, value) in arguments {
        document.append(name, value?);
    }
    Ok(call(operator, document))
}

pub(in crate::query) fn field_name(name: &str) -> Result<CString> {
    path_text(name.to_owned())
}

impl<R, T> Clone for Expr<R, T> {
    fn clone(&self) -> Self {
        Expr {
            value: self.value.clone(),
            encoding: self.encoding,
            marker: PhantomData,
        }
    }
}

impl<R, T> fmt::Debug for Expr<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Ok(value) => write!(f, "Expr({value:?})"),
            Err(error) => write!(f, "Expr({error:?})"),
        }
    }
}
