//! What happens at one leaf of an update.

use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::apply::{Context, Outcome};
use super::array::Push;
use super::bits::BitStep;
use super::condition::Condition;
use super::number::Arithmetic;
use super::path::Location;
use super::{array, bits, identity, number, rename};

/// One operator with its operand, checked.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Set(Owned),
    SetOnInsert(Owned),
    Unset,
    Arithmetic(Arithmetic, Owned),
    Min(Owned),
    Max(Owned),
    /// `true`: a timestamp; `false`: a date.
    CurrentDate(bool),
    Push(Push),
    AddToSet(Vec<Owned>),
    /// `true`: the first item; `false`: the last.
    Pop(bool),
    Pull(Condition),
    PullAll(Vec<Owned>),
    Bit(Vec<BitStep>),
    /// Takes the value from this path.
    RenameFrom(Vec<String>),
    /// The value was taken by a `RenameFrom`.
    RenamedAway,
}

/// Something that a path cannot go through: a scalar, or an array where a name is no position.
#[derive(Clone, Copy)]
pub(super) struct Obstacle<'a> {
    pub(super) at: &'a Location<'a>,
    pub(super) value: Value<'a>,
    /// The first name that cannot be reached.
    pub(super) part: &'a str,
}

impl Operation {
    /// The same operation with strings compared by the collation.
    pub(super) fn collated(self, collation: &Collation) -> Operation {
        match self {
            Operation::Pull(condition) => Operation::Pull(condition.collated(collation)),
            Operation::AddToSet(items) => Operation::AddToSet(array::distinct(items, collation)),
            other => other,
        }
    }

    /// Changes a value that is there.
    pub(super) fn change(
        &self,
        value: &Value<'_>,
        at: &Location<'_>,
        context: &Context<'_>,
    ) -> Result<Outcome> {
        match self {
            Operation::Set(new) => Ok(replaced(value, new)),
            Operation::SetOnInsert(new) if context.insert => Ok(replaced(value, new)),
            Operation::SetOnInsert(_) => Ok(Outcome::Keep),
            Operation::Unset | Operation::RenamedAway => Ok(Outcome::Remove),
            Operation::Arithmetic(arithmetic, operand) => {
                number::change(*arithmetic, value, operand, at, context)
            }
            Operation::Min(new) => Ok(match context.collation.compare(&new.as_value(), value).is_lt() {
                true => Outcome::Set(new.clone()),
                false => Outcome::Keep,
            }),
            Operation::Max(new) => Ok(match context.collation.compare(&new.as_value(), value).is_gt() {
                true => Outcome::Set(new.clone()),
                false => Outcome::Keep,
            }),
            Operation::CurrentDate(timestamp) => Ok(Outcome::Set(current(*timestamp, context))),
            Operation::Push(push) => push.change(value, at, context),
            Operation::AddToSet(items) => array::add_to_set(value, items, at, context),
            Operation::Pop(first) => array::pop(value, *first, at),
            Operation::Pull(condition) => array::pull(value, |item| condition.holds(item, context.collation)),
            Operation::PullAll(values) => array::pull_all(value, values, context),
            Operation::Bit(steps) => bits::change(steps, value, at, context),
            Operation::RenameFrom(source) => {
                Ok(rename::taken(source, at, context)?.map_or(Outcome::Keep, Outcome::Set))
            }
        }
    }

    /// The value to create where there is none.
    pub(super) fn create(&self, at: &Location<'_>, context: &Context<'_>) -> Result<Option<Owned>> {
        Ok(match self {
            Operation::Set(new) | Operation::Min(new) | Operation::Max(new) => Some(new.clone()),
            Operation::SetOnInsert(new) => context.insert.then(|| new.clone()),
            Operation::Arithmetic(arithmetic, operand) => Some(number::create(*arithmetic, operand)),
            Operation::CurrentDate(timestamp) => Some(current(*timestamp, context)),
            Operation::Push(_) | Operation::AddToSet(_) if at.is_id() && self.adds_items() => {
                return Err(identity::is_array());
            }
            Operation::Push(push) => Some(push.create(context)),
            Operation::AddToSet(items) => Some(array::new_set(items)),
            Operation::Bit(steps) => Some(bits::create(steps)),
            Operation::RenameFrom(source) => rename::taken(source, at, context)?,
            Operation::Unset
            | Operation::RenamedAway
            | Operation::Pop(_)
            | Operation::Pull(_)
            | Operation::PullAll(_) => None,
        })
    }

    /// Refuses, or not, that the path to `at` does not exist and cannot be created.
    pub(super) fn obstructed(
        &self,
        obstacle: &Obstacle<'_>,
        at: &Location<'_>,
        context: &Context<'_>,
    ) -> Result<()> {
        let needed = match self {
            Operation::Unset | Operation::RenamedAway => false,
            Operation::SetOnInsert(_) => context.insert,
            Operation::Pop(_) | Operation::Pull(_) | Operation::PullAll(_) => {
                return Err(Fault::new(
                    code::PATH_NOT_VIABLE,
                    format!(
                        "Cannot use the part ({}) of ({at}) to traverse the element ({{{}: {}}})",
                        obstacle.part,
                        obstacle.at.name(),
                        obstacle.value
                    ),
                ));
            }
            Operation::RenameFrom(source) => rename::taken(source, at, context)?.is_some(),
            _ => true,
        };
        if !needed {
            return Ok(());
        }
        Err(Fault::new(
            code::PATH_NOT_VIABLE,
            format!(
                "Cannot create field '{}' in element {{{}: {}}}",
                obstacle.part,
                obstacle.at.name(),
                obstacle.value
            ),
        ))
    }

    /// Whether it puts something into an array.
    fn adds_items(&self) -> bool {
        match self {
            Operation::Push(push) => !push.items().is_empty(),
            Operation::AddToSet(items) => !items.is_empty(),
            _ => false,
        }
    }

    /// Whether the server checks the name of the field that this operation writes.
    pub(super) fn names_field(&self) -> bool {
        !matches!(
            self,
            Operation::Unset
                | Operation::RenamedAway
                | Operation::Pop(_)
                | Operation::Pull(_)
                | Operation::PullAll(_)
        )
    }
}

fn replaced(value: &Value<'_>, new: &Owned) -> Outcome {
    match same_bytes(value, &new.as_value()) {
        true => Outcome::Keep,
        false => Outcome::Set(new.clone()),
    }
}

fn current(timestamp: bool, context: &Context<'_>) -> Owned {
    if !timestamp {
        return Owned::DateTime(context.now.millis);
    }
    let (time, increment) = context.now.timestamp();
    Owned::Timestamp { time, increment }
}

/// Whether the two are of one type and one encoding: 1 is not 1.0, NaN is NaN.
pub(crate) fn same_bytes(a: &Value<'_>, b: &Value<'_>) -> bool {
    if a.kind() != b.kind() {
        return false;
    }
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => a == b,
        (Value::Int64(a), Value::Int64(b)) | (Value::DateTime(a), Value::DateTime(b)) => a == b,
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::ObjectId(a), Value::ObjectId(b)) => a == b,
        (Value::Document(Doc::Raw(a)), Value::Document(Doc::Raw(b)))
        | (Value::Array(Doc::Raw(a)), Value::Array(Doc::Raw(b))) => a == b,
        _ => {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            a.write_payload(&mut left);
            b.write_payload(&mut right);
            left == right
        }
    }
}
