//! What an expression gives: nothing, a borrowed value, or a new one.

use super::super::super::document::{Kind, Owned, Value};

/// The result of evaluating an expression.
#[derive(Clone, Debug)]
pub(crate) enum Answer<'a> {
    /// An optional argument that was not given.
    Absent,
    /// No value: an absent field, `$$REMOVE`.
    Missing,
    Borrowed(Value<'a>),
    Owned(Owned),
}

impl<'a> Answer<'a> {
    /// The value, if there is one.
    pub(crate) fn value(&self) -> Option<Value<'_>> {
        match self {
            Answer::Absent | Answer::Missing => None,
            Answer::Borrowed(value) => Some(*value),
            Answer::Owned(value) => Some(value.as_value()),
        }
    }

    /// The value, copied unless it is new.
    pub(crate) fn into_owned(self) -> Option<Owned> {
        match self {
            Answer::Absent | Answer::Missing => None,
            Answer::Borrowed(value) => Some(value.into()),
            Answer::Owned(value) => Some(value),
        }
    }

    /// The same answer, free of what it borrowed.
    pub(crate) fn detach(self) -> Answer<'static> {
        self.into_owned().map_or(Answer::Missing, Answer::Owned)
    }

    /// Whether the argument was not given at all.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Answer::Absent)
    }

    /// Missing, null or undefined.
    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self.value(), None | Some(Value::Null | Value::Undefined))
    }

    /// False, zero, null, undefined and missing are false; all else is true, NaN too.
    pub(crate) fn is_true(&self) -> bool {
        self.value().is_some_and(|value| truth(&value))
    }

    /// The name of the type, "missing" for no value.
    pub(crate) fn type_name(&self) -> &'static str {
        type_name(self.value())
    }
}

impl From<Option<Owned>> for Answer<'_> {
    fn from(value: Option<Owned>) -> Self {
        value.map_or(Answer::Missing, Answer::Owned)
    }
}

impl<'a> From<Option<Value<'a>>> for Answer<'a> {
    fn from(value: Option<Value<'a>>) -> Self {
        value.map_or(Answer::Missing, Answer::Borrowed)
    }
}

/// Whether the value counts as true.
pub(crate) fn truth(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Undefined => false,
        Value::Bool(b) => *b,
        Value::Int32(x) => *x != 0,
        Value::Int64(x) => *x != 0,
        Value::Double(x) => *x != 0.0,
        Value::Decimal128(_) => {
            super::super::super::document::compare(value, &Value::Int32(0)) != std::cmp::Ordering::Equal
        }
        _ => true,
    }
}

/// The name of a value's type as error messages print it.
pub(crate) fn type_name(value: Option<Value<'_>>) -> &'static str {
    value.map_or("missing", |value| Kind::alias(value.kind()))
}
