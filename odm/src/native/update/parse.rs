//! Update documents into trees, with the server's complaints in the server's order.

use std::cell::RefCell;

use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::array::{self, Push};
use super::bits;
use super::condition::Condition;
use super::filters::ArrayFilter;
use super::number::{self, Arithmetic};
use super::operation::Operation;
use super::path::{check_start, identifier, is_positional, split_dynamic};
use super::tree::Object;

/// A parsed operator update.
pub(super) struct Parsed {
    pub(super) root: Object,
    pub(super) positional: bool,
    /// An upper bound for the depth of what it writes; [`usize::MAX`] when only the result can tell.
    pub(super) deepest: usize,
}

fn bad(message: String) -> Fault {
    Fault::new(code::BAD_VALUE, message)
}

struct Builder<'f> {
    parsed: Parsed,
    filters: &'f [ArrayFilter],
    used: RefCell<Vec<bool>>,
}

pub(super) fn operators(update: Doc<'_>, filters: &[ArrayFilter]) -> Result<Parsed> {
    let mut builder = Builder {
        parsed: Parsed {
            root: Object::default(),
            positional: false,
            deepest: 0,
        },
        filters,
        used: RefCell::new(vec![false; filters.len()]),
    };
    for modifier in update.elements() {
        let (operator, value) = (modifier.name_str(), modifier.value());
        if !OPERATORS.contains(&operator) {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "Unknown modifier: {operator}. Expected a valid update modifier or pipeline-style update specified \
                     as an array"
                ),
            ));
        }
        let Value::Document(fields) = value else {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "Modifiers operate on fields but we found type {} instead. For example: {{$mod: {{<field>: ...}}}} \
                     not {{{operator}: {value}}}",
                    value.kind().alias()
                ),
            ));
        };
        for field in fields.elements() {
            builder.field(operator, field.name_str(), &field.value())?;
        }
    }
    let used = builder.used.into_inner();
    if let Some((filter, _)) = filters.iter().zip(used).find(|(_, used)| !used) {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            format!(
                "The array filter for identifier '{}' was not used in the update {update}",
                filter.identifier
            ),
        ));
    }
    Ok(builder.parsed)
}

/// The operators of updates.
pub(crate) const OPERATORS: &[&str] = &[
    "$set",
    "$unset",
    "$inc",
    "$mul",
    "$min",
    "$max",
    "$rename",
    "$currentDate",
    "$setOnInsert",
    "$push",
    "$addToSet",
    "$pop",
    "$pull",
    "$pullAll",
    "$bit",
];

impl Builder<'_> {
    fn field(&mut self, operator: &str, path: &str, value: &Value<'_>) -> Result<()> {
        if operator == "$rename" {
            return self.rename(path, value);
        }
        let segments = split_dynamic(path)?;
        let operation = operation(operator, path, value)?;
        let depth = segments.len() + written_depth(&operation);
        self.parsed.deepest = self.parsed.deepest.max(depth);
        self.insert(path, &segments, operation)
    }

    fn rename(&mut self, path: &str, value: &Value<'_>) -> Result<()> {
        let source = split_dynamic(path)?;
        self.parsed.deepest = usize::MAX;
        // The server looks for conflicts of the source before it looks at the target.
        self.insert(path, &source, Operation::RenamedAway)?;
        let Value::String(target) = *value else {
            return Err(bad(format!(
                "The 'to' field for $rename must be a string: {path}: {value}"
            )));
        };
        if target.contains('\0') {
            return Err(bad(
                "The 'to' field for $rename cannot contain an embedded null byte".to_owned(),
            ));
        }
        let destination = split_dynamic(target)?;
        if path == target {
            return Err(bad(format!(
                "The source and target field for $rename must differ: {path}: {value}"
            )));
        }
        if source.starts_with(&destination) || destination.starts_with(&source) {
            return Err(bad(format!(
                "The source and target field for $rename must not be on the same path: {path}: {value}"
            )));
        }
        let is_dynamic = |segments: &[&str]| {
            segments
                .iter()
                .any(|segment| is_positional(segment) || identifier(segment).is_some())
        };
        if is_dynamic(&source) {
            return Err(bad(format!(
                "The source field for $rename may not be dynamic: {path}"
            )));
        }
        if is_dynamic(&destination) {
            return Err(bad(format!(
                "The destination field for $rename may not be dynamic: {target}"
            )));
        }
        let from = source.iter().map(|segment| (*segment).to_owned()).collect();
        self.insert(target, &destination, Operation::RenameFrom(from))
    }

    fn insert(&mut self, path: &str, segments: &[&str], operation: Operation) -> Result<()> {
        check_start(path, segments)?;
        self.use_filters(segments);
        self.parsed.positional |= segments.iter().any(|segment| is_positional(segment));
        let Builder { parsed, filters, .. } = self;
        parsed.root.insert(segments, operation, &|identifier| {
            filters
                .iter()
                .position(|filter| filter.identifier == identifier)
                .ok_or_else(|| no_filter(identifier, path))
        })
    }

    /// Marks the filters of the path's identifiers as used. Where one has none, the tree tells, behind the
    /// conflicts above it.
    fn use_filters(&self, segments: &[&str]) {
        let mut used = self.used.borrow_mut();
        for identifier in segments.iter().filter_map(|segment| identifier(segment)) {
            for (filter, used) in self.filters.iter().zip(used.iter_mut()) {
                *used |= filter.identifier == identifier;
            }
        }
    }
}

fn no_filter(identifier: &str, path: &str) -> Fault {
    bad(format!(
        "No array filter found for identifier '{identifier}' in path '{path}'"
    ))
}

fn operation(operator: &str, path: &str, value: &Value<'_>) -> Result<Operation> {
    Ok(match operator {
        "$set" => Operation::Set((*value).into()),
        "$setOnInsert" => Operation::SetOnInsert((*value).into()),
        "$inc" => arithmetic(Arithmetic::Increment, path, value)?,
        "$mul" => arithmetic(Arithmetic::Multiply, path, value)?,
        "$min" => Operation::Min((*value).into()),
        "$max" => Operation::Max((*value).into()),
        "$currentDate" => Operation::CurrentDate(is_timestamp(value)?),
        "$push" => Operation::Push(Push::parse(value)?),
        "$addToSet" => Operation::AddToSet(array::parse_set(value)?),
        "$pop" => Operation::Pop(array::parse_pop(path, value)?),
        "$pull" => Operation::Pull(Condition::parse(value)?),
        "$pullAll" => Operation::PullAll(array::parse_all(value)?),
        "$bit" => Operation::Bit(bits::parse(value)?),
        _ => Operation::Unset,
    })
}

fn arithmetic(arithmetic: Arithmetic, path: &str, value: &Value<'_>) -> Result<Operation> {
    number::operand(arithmetic, path, value).map(|operand| Operation::Arithmetic(arithmetic, operand))
}

/// Whether a `$currentDate` wants a timestamp.
fn is_timestamp(value: &Value<'_>) -> Result<bool> {
    let options = match value {
        Value::Bool(_) => return Ok(false),
        Value::Document(options) => *options,
        _ => {
            return Err(bad(format!(
                "{} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({{$type: \
                 'timestamp/date'}}).",
                value.kind().alias()
            )));
        }
    };
    let mut timestamp = None;
    for option in options.elements() {
        if option.name_str() != "$type" {
            return Err(bad(format!(
                "Unrecognized $currentDate option: {}",
                option.name_str()
            )));
        }
        timestamp = match option.value() {
            Value::String("date") => Some(false),
            Value::String("timestamp") => Some(true),
            _ => return Err(unknown_date_type()),
        };
    }
    timestamp.ok_or_else(unknown_date_type)
}

fn unknown_date_type() -> Fault {
    bad("The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}"
        .to_owned())
}

/// How many documents and arrays nest in what the operation writes.
fn written_depth(operation: &Operation) -> usize {
    let deepest = |values: &[Owned]| values.iter().map(|value| depth(&value.as_value())).max();
    match operation {
        Operation::Set(value)
        | Operation::SetOnInsert(value)
        | Operation::Min(value)
        | Operation::Max(value) => depth(&value.as_value()),
        Operation::Push(push) => 1 + deepest(push.items()).unwrap_or(0),
        Operation::AddToSet(values) => 1 + deepest(values).unwrap_or(0),
        _ => 0,
    }
}

/// How many documents and arrays nest in the value. Validated operands nest at most as deep as documents.
fn depth(value: &Value<'_>) -> usize {
    match value {
        Value::Document(doc) | Value::Array(doc) => {
            1 + doc.values().map(|inner| depth(&inner)).max().unwrap_or(0)
        }
        _ => 0,
    }
}
