//! One change of one field, before it is written as a document.

use bson::raw::{CStr, CString, cstr};
use bson::{RawBson, RawDocumentBuf};

use crate::model::Path;
use crate::query::filter::{array, starts_with_operator};

/// What happens to one field.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) path: Path,
    pub(crate) action: Action,
}

/// A change, with its operands encoded as the field's values are stored.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Set(RawBson),
    SetOnInsert(RawBson),
    Unset,
    Increment(RawBson),
    Multiply(RawBson),
    Minimum(RawBson),
    Maximum(RawBson),
    Rename(Path),
    CurrentDate,
    CurrentTimestamp,
    Push(Push),
    AddToSet(Vec<RawBson>),
    PopFirst,
    PopLast,
    /// One value, equal elements of which go.
    Pull(RawBson),
    /// A condition, as `$pull` takes it.
    PullWhere(RawDocumentBuf),
    PullAll(Vec<RawBson>),
    Bits(BitOperation, RawBson),
    /// An expression: makes the update a pipeline, before anybody else sees it.
    Compute(RawBson),
    /// As a raw update had it.
    Raw {
        operator: CString,
        value: RawBson,
    },
}

/// Elements to add to an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Push {
    pub(crate) elements: Vec<RawBson>,
    pub(crate) position: Option<i64>,
    pub(crate) slice: Option<i64>,
    pub(crate) sort: Option<RawBson>,
}

/// What `$bit` does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BitOperation {
    And,
    Or,
    Xor,
}

impl Action {
    /// MongoDB's name of the operator.
    pub(crate) fn operator(&self) -> &CStr {
        match self {
            Action::Set(_) | Action::Compute(_) => cstr!("$set"),
            Action::SetOnInsert(_) => cstr!("$setOnInsert"),
            Action::Unset => cstr!("$unset"),
            Action::Increment(_) => cstr!("$inc"),
            Action::Multiply(_) => cstr!("$mul"),
            Action::Minimum(_) => cstr!("$min"),
            Action::Maximum(_) => cstr!("$max"),
            Action::Rename(_) => cstr!("$rename"),
            Action::CurrentDate | Action::CurrentTimestamp => cstr!("$currentDate"),
            Action::Push(_) => cstr!("$push"),
            Action::AddToSet(_) => cstr!("$addToSet"),
            Action::PopFirst | Action::PopLast => cstr!("$pop"),
            Action::Pull(value) if !is_pulled_as_is(value) => cstr!("$pullAll"),
            Action::Pull(_) | Action::PullWhere(_) => cstr!("$pull"),
            Action::PullAll(_) => cstr!("$pullAll"),
            Action::Bits(..) => cstr!("$bit"),
            Action::Raw { operator, .. } => operator,
        }
    }

    /// What stands beside the path.
    pub(super) fn operand(self) -> RawBson {
        match self {
            Action::Set(value)
            | Action::SetOnInsert(value)
            | Action::Increment(value)
            | Action::Multiply(value)
            | Action::Minimum(value)
            | Action::Maximum(value)
            | Action::Compute(value)
            | Action::Raw { value, .. } => value,
            Action::Unset => RawBson::String(String::new()),
            Action::Rename(path) => RawBson::String(path.to_string()),
            Action::CurrentDate => RawBson::Boolean(true),
            Action::CurrentTimestamp => document([(cstr!("$type"), RawBson::from("timestamp"))]),
            Action::Push(push) => push.operand(),
            Action::AddToSet(elements) => one_or_each(elements),
            Action::PopFirst => RawBson::Int32(-1),
            Action::PopLast => RawBson::Int32(1),
            Action::Pull(value) if is_pulled_as_is(&value) => value,
            Action::Pull(value) => array([value]),
            Action::PullWhere(condition) => RawBson::Document(condition),
            Action::PullAll(elements) => array(elements),
            Action::Bits(operation, value) => document([(operation.name(), value)]),
        }
    }
}

impl Push {
    fn operand(self) -> RawBson {
        if self.position.is_none() && self.slice.is_none() && self.sort.is_none() {
            return one_or_each(self.elements);
        }
        let mut operand = RawDocumentBuf::new();
        operand.append(cstr!("$each"), array(self.elements));
        if let Some(position) = self.position {
            operand.append(cstr!("$position"), position);
        }
        if let Some(slice) = self.slice {
            operand.append(cstr!("$slice"), slice);
        }
        if let Some(sort) = self.sort {
            operand.append(cstr!("$sort"), sort);
        }
        RawBson::Document(operand)
    }
}

impl BitOperation {
    fn name(self) -> &'static CStr {
        match self {
            BitOperation::And => cstr!("and"),
            BitOperation::Or => cstr!("or"),
            BitOperation::Xor => cstr!("xor"),
        }
    }
}

/// Whether `$pull` takes this value for itself, not for a condition or a pattern.
fn is_pulled_as_is(value: &RawBson) -> bool {
    !matches!(value, RawBson::Document(_) | RawBson::RegularExpression(_))
}

/// One element as it is, unless it looks like modifiers; else `$each`.
fn one_or_each(mut elements: Vec<RawBson>) -> RawBson {
    match elements.as_slice() {
        [RawBson::Document(document)] if starts_with_operator(document) => {}
        [_] => {
            if let Some(element) = elements.pop() {
                return element;
            }
        }
        _ => {}
    }
    document([(cstr!("$each"), array(elements))])
}

fn document<const N: usize>(fields: [(&CStr, RawBson); N]) -> RawBson {
    RawBson::Document(fields.into_iter().collect())
}
