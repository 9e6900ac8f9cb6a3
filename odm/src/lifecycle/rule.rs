//! The rules that a field can declare.

use std::borrow::Cow;

use bson::RawBsonRef;

use super::declared::Check;
use super::literal::Literal;
use super::{decimal, pattern, violation::Message};
use crate::codec;
use crate::error::Result;
use crate::model::{ArrayType, MapType, Newtype, Numeric, Text};

/// One rule of a field. Nulls break none.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// A number is at least this.
    Min(fn() -> Literal),
    /// A number is at most this.
    Max(fn() -> Literal),
    /// A text has at least so many characters.
    MinLength(u32),
    /// A text has at most so many characters.
    MaxLength(u32),
    /// An array has at least so many elements.
    MinItems(u32),
    /// The bound of `#[odm(max = N)]`.
    MaxItems(u32),
    /// A text matches.
    Pattern {
        /// What it is called.
        rule: &'static str,
        /// The regular expression.
        pattern: &'static str,
    },
    /// The value is one of these.
    OneOf(fn() -> Vec<Literal>),
    /// A number is neither infinite nor none.
    Finite {
        /// Whether it can be a decimal, and so be beyond all doubles.
        decimals: bool,
    },
    /// A user's function.
    Custom(Check),
    /// For each element.
    Each(&'static [Rule]),
    /// For each value of a map.
    Values(&'static [Rule]),
}

/// A type whose values have a length: characters of a text, elements of an array.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` have no length",
    label = "has no length",
    note = "`length` and `non_empty` are for strings (in characters) and arrays (in elements)"
)]
pub trait Measured {
    /// Whether it is an array.
    #[doc(hidden)]
    const ARRAY: bool;
}

macro_rules! measured {
    ($([$($generics:tt)*] $type:ty: $array:literal;)*) => {$(
        impl<$($generics)*> Measured for $type {
            const ARRAY: bool = $array;
        }
    )*};
}

measured! {
    [] String: false;
    [] Box<str>: false;
    [] std::sync::Arc<str>: false;
    [T] Vec<T>: true;
    [T] std::collections::VecDeque<T>: true;
    [T] std::collections::BTreeSet<T>: true;
    [T, S] std::collections::HashSet<T, S>: true;
}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Measured>> Measured for T {
    const ARRAY: bool = <T::Inner as Measured>::ARRAY;
}

impl<T: Measured> Measured for Option<T> {
    const ARRAY: bool = T::ARRAY;
}

const EMAIL: &str = r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";
const URL: &str = r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+([/?#][^\s]*)?$";

impl Rule {
    /// [`Rule::Min`].
    pub const fn min<T: Numeric>(bound: fn() -> Literal) -> Rule {
        Rule::Min(bound)
    }

    /// [`Rule::Max`].
    pub const fn max<T: Numeric>(bound: fn() -> Literal) -> Rule {
        Rule::Max(bound)
    }

    /// The least length.
    pub const fn min_length<T: Measured>(length: u32) -> Rule {
        match T::ARRAY {
            true => Rule::MinItems(length),
            false => Rule::MinLength(length),
        }
    }

    /// The greatest length.
    pub const fn max_length<T: Measured>(length: u32) -> Rule {
        match T::ARRAY {
            true => Rule::MaxItems(length),
            false => Rule::MaxLength(length),
        }
    }

    /// [`Rule::MaxItems`].
    pub const fn max_items<T: ArrayType>(items: u32) -> Rule {
        Rule::MaxItems(items)
    }

    /// [`Rule::Pattern`].
    pub const fn pattern<T: Text>(pattern: &'static str) -> Rule {
        Rule::Pattern {
            rule: "pattern",
            pattern,
        }
    }

    /// An e-mail address, as HTML's forms have it.
    pub const fn email<T: Text>() -> Rule {
        Rule::Pattern {
            rule: "email",
            pattern: EMAIL,
        }
    }

    /// A URL with a scheme and a host.
    pub const fn url<T: Text>() -> Rule {
        Rule::Pattern {
            rule: "url",
            pattern: URL,
        }
    }

    /// [`Rule::Finite`].
    pub const fn finite<T: Numeric>() -> Rule {
        Rule::Finite {
            decimals: T::DECIMALS,
        }
    }

    /// [`Rule::Each`].
    pub const fn each<T: ArrayType>(rules: &'static [Rule]) -> Rule {
        Rule::Each(rules)
    }

    /// [`Rule::Values`].
    pub const fn values<T: MapType>(rules: &'static [Rule]) -> Rule {
        Rule::Values(rules)
    }

    /// What is wrong with this value. Not asked of elements: see [`Each`](Rule::Each).
    pub(crate) fn broken(&self, value: RawBsonRef<'_>) -> Result<Option<Message>> {
        let message = |rule, text: Cow<'static, str>| Ok(Some(Message { rule, text }));
        match (self, value) {
            (_, RawBsonRef::Null | RawBsonRef::Undefined) => {}
            (Rule::Min(bound), value) => {
                let bound = bound();
                if bound.is_above(value) {
                    return message("min", format!("must be at least {bound}").into());
                }
            }
            (Rule::Max(bound), value) => {
                let bound = bound();
                if bound.is_below(value) {
                    return message("max", format!("must be at most {bound}").into());
                }
            }
            (Rule::MinLength(least), RawBsonRef::String(text)) if text.chars().count() < *least as usize => {
                return message("length", format!("must have at least {least} characters").into());
            }
            (Rule::MaxLength(most), RawBsonRef::String(text)) if text.chars().count() > *most as usize => {
                return message("length", format!("must have at most {most} characters").into());
            }
            (Rule::MinItems(least), RawBsonRef::Array(array))
                if array.into_iter().count() < *least as usize =>
            {
                return message("length", format!("must have at least {least} elements").into());
            }
            (Rule::MaxItems(most), RawBsonRef::Array(array))
                if array.into_iter().count() > *most as usize =>
            {
                return message("max_items", format!("must have at most {most} elements").into());
            }
            (Rule::Pattern { rule, pattern }, RawBsonRef::String(text))
                if !pattern::matches(pattern, text)? =>
            {
                let text = match *rule {
                    "email" => "must be an e-mail address".into(),
                    "url" => "must be a URL".into(),
                    _ => format!("must match {pattern}").into(),
                };
                return message(rule, text);
            }
            (Rule::OneOf(values), value) => {
                let values = values();
                if !values.iter().any(|one| one.equals(value)) {
                    let shown: Vec<String> = values.iter().map(ToString::to_string).collect();
                    return message("one_of", format!("must be one of {}", shown.join(", ")).into());
                }
            }
            (Rule::Finite { .. }, value) => {
                let is_finite = match value {
                    RawBsonRef::Double(double) => double.is_finite(),
                    RawBsonRef::Decimal128(decimal) => decimal::is_finite(decimal),
                    _ => true,
                };
                if !is_finite {
                    return message("finite", "must be a finite number".into());
                }
            }
            (Rule::Custom(check), value) => {
                if let Some(text) = check(value)? {
                    return message("custom", text.into());
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

/// Calls a user's function on the decoded value.
///
/// # Errors
/// `Decode` when the value does not fit the function's type.
pub fn checked<T: serde::de::DeserializeOwned, E: std::fmt::Display>(
    value: RawBsonRef<'_>,
    check: impl FnOnce(&T) -> Result<(), E>,
) -> Result<Option<String>> {
    let value: T = match value {
        RawBsonRef::Document(document) => codec::decode_document(document)?,
        value => codec::decode_value(value)?,
    };
    Ok(check(&value).err().map(|error| error.to_string()))
}
