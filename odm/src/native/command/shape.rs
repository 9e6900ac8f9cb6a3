//! What a command's document may hold: names and types, with the server's complaints about others.

pub(super) use super::super::catalog::rules::wrong_type;
use super::super::document::decimal::Decimal;
use super::super::document::display::significant;
use super::super::document::number::as_f64;
pub(super) use super::super::document::number::whole;
use super::super::document::{Doc, Kind, Once, Value};
use super::super::fault::{Fault, Result, code};

/// The type that a field must have. All that a field says is checked where it stands: of two faults the first is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    /// Looked at by whoever reads it; `null` is a value.
    Any,
    Object,
    /// Its elements that are `null` are left out.
    Array,
    /// An array of documents; those of its elements that are `null` are left out.
    Documents,
    String,
    Bool,
    /// A bool, and not `null` either.
    Flag,
    /// A bool, or a number that stands for one.
    Boolish,
    Number,
    Long,
    Int,
    Uuid,
    /// A name or a key pattern.
    Hint,
    /// How documents are to change: a document, or an array of them, and not `null` either.
    Change,
    /// What is taken for a number, which is to be 0 or 1.
    Limit,
    /// A number that is not negative.
    Count,
    /// A document, with the complaint of `find`.
    Asked,
    /// A document of this shape.
    Part(&'static Shape),
    /// Documents of this shape.
    Parts(&'static Shape),
    /// Of this type, and if it is not `null`, what this lets through.
    Checked(&'static Type, Check),
    /// What this lets through; `null` is a value.
    Own(Check),
}

/// Complains of a value.
pub(super) type Check = fn(Value<'_>) -> Result<()>;

/// What may stand in a document beside its own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    Generic,
    Anything,
}

/// A document of a command, by the name under which the server complains about it.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) fields: &'static [(&'static str, Type)],
    pub(super) required: &'static [&'static str],
}

/// A document whose fields were found to be of their types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    doc: Doc<'a>,
    shape: &'static Shape,
}

/// What any command may carry.
const GENERIC: &[&str] = &[
    "$db",
    "$readPreference",
    "$clusterTime",
    "$audit",
    "$client",
    "$configServerState",
    "$oplogQueryData",
    "$queryOptions",
    "$replData",
    "lsid",
    "txnNumber",
    "txnRetryCounter",
    "autocommit",
    "startTransaction",
    "readConcern",
    "writeConcern",
    "maxTimeMS",
    "comment",
    "apiVersion",
    "apiStrict",
    "apiDeprecationErrors",
    "allowImplicitCollectionCreation",
    "clientOperationKey",
    "coordinator",
    "maxTimeMSOpOnly",
    "mayBypassWriteBlocking",
    "stmtId",
];

/// Whether any command may carry the field.
pub(super) fn is_generic(name: &str) -> bool {
    GENERIC.contains(&name)
}

impl Shape {
    /// Checks a whole command, whose first field is its name's.
    pub(super) fn command<'a>(&'static self, doc: Doc<'a>) -> Result<Fields<'a>> {
        self.check(doc, Beside::Generic)
    }

    /// Checks a whole command that has no word for fields it does not know.
    pub(super) fn loose_command<'a>(&'static self, doc: Doc<'a>) -> Result<Fields<'a>> {
        self.check(doc, Beside::Anything)
    }

    /// Checks a document within a command.
    pub(super) fn part<'a>(&'static self, doc: Doc<'a>) -> Result<Fields<'a>> {
        self.check(doc, Beside::Nothing)
    }

    /// Takes a document that was found to be of this shape.
    pub(super) fn checked<'a>(&'static self, doc: Doc<'a>) -> Fields<'a> {
        Fields { doc, shape: self }
    }

    /// Whether it has a field of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(own, _)| *own == name)
    }

    fn check<'a>(&'static self, doc: Doc<'a>, beside: Beside) -> Result<Fields<'a>> {
        let mut once = Once::within(self.name);
        for (position, element) in doc.elements().enumerate() {
            if beside != Beside::Nothing && position == 0 {
                once.see(&element)?;
                continue;
            }
            let name = element.name_str();
            match self.fields.iter().find(|(own, _)| *own == name) {
                Some((_, wanted)) => self.check_type(name, &element.value(), *wanted)?,
                None if beside == Beside::Anything => {}
                None if beside == Beside::Generic && is_generic(name) => {}
                None => {
                    return Err(Fault::unknown_field(self.name, name));
                }
            }
            once.see(&element)?;
        }
        let fields = Fields { doc, shape: self };
        for name in self.required {
            if fields.get(name).is_none() {
                return Err(self.missing(name));
            }
        }
        Ok(fields)
    }

    pub(super) fn missing(&self, name: &str) -> Fault {
        Fault::new(
            40414,
            format!(
                "BSON field '{}.{name}' is missing but a required field",
                self.name
            ),
        )
    }

    fn check_type(&self, name: &str, value: &Value<'_>, wanted: Type) -> Result<()> {
        if matches!(wanted, Type::Flag) && value.kind() != Kind::Bool {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!(
                    "Field '{name}' should be a boolean value, but found: {}",
                    value.kind().alias()
                ),
            ));
        }
        match wanted {
            Type::Change => return check_change(value),
            Type::Limit => return check_limit(value),
            Type::Own(check) => return check(*value),
            Type::Checked(wanted, check) => {
                self.check_type(name, value, *wanted)?;
                return match value {
                    Value::Null | Value::Undefined => Ok(()),
                    value => check(*value),
                };
            }
            _ => {}
        }
        if matches!(value, Value::Null | Value::Undefined) {
            return match wanted {
                Type::Array | Type::Documents | Type::Parts(_) => Err(Fault::new(
                    10065,
                    format!("invalid parameter: expected an object ({name})"),
                )),
                Type::Hint => Err(no_hint()),
                Type::Asked => Err(not_asked(name)),
                _ => Ok(()),
            };
        }
        let fits = match wanted {
            Type::Any | Type::Change | Type::Limit | Type::Own(_) | Type::Checked(..) => true,
            Type::Object => value.kind() == Kind::Document,
            Type::Part(part) => match value.as_document() {
                Some(doc) => return part.part(doc).map(drop),
                None => false,
            },
            Type::Asked => match value.kind() {
                Kind::Document => true,
                _ => return Err(not_asked(name)),
            },
            Type::Array => value.kind() == Kind::Array,
            Type::Documents => match value.as_array() {
                Some(items) => return self.check_items(name, items, None),
                None => false,
            },
            Type::Parts(part) => match value.as_array() {
                Some(items) => return self.check_items(name, items, Some(part)),
                None => false,
            },
            Type::Count => match value.is_number() {
                true => {
                    let number = whole(value).unwrap_or(0);
                    return match number < 0 {
                        true => Err(out_of_range(name, number)),
                        false => Ok(()),
                    };
                }
                false => false,
            },
            Type::String => value.kind() == Kind::String,
            Type::Bool | Type::Flag => value.kind() == Kind::Bool,
            Type::Boolish => value.is_number() || value.kind() == Kind::Bool,
            Type::Number => value.is_number(),
            Type::Long => value.kind() == Kind::Int64,
            Type::Int => value.kind() == Kind::Int32,
            Type::Uuid => value.kind() == Kind::Binary,
            Type::Hint => match value.kind() {
                Kind::String | Kind::Document => true,
                _ => return Err(no_hint()),
            },
        };
        if fits {
            return Ok(());
        }
        let expected = match wanted {
            Type::Boolish => "types '[bool, long, int, decimal, double']",
            Type::Number | Type::Count => "types '[long, int, decimal, double']",
            Type::Object | Type::Part(_) => "type 'object'",
            Type::Array | Type::Documents | Type::Parts(_) => "type 'array'",
            Type::String => "type 'string'",
            Type::Bool | Type::Flag => "type 'bool'",
            Type::Long => "type 'long'",
            Type::Int => "type 'int'",
            Type::Uuid
            | Type::Any
            | Type::Hint
            | Type::Change
            | Type::Limit
            | Type::Asked
            | Type::Checked(..)
            | Type::Own(_) => "type 'binData'",
        };
        Err(wrong_type(&format!("{}.{name}", self.name), *value, expected))
    }

    fn check_items(&self, name: &str, items: Doc<'_>, part: Option<&'static Shape>) -> Result<()> {
        for (at, item) in items.values().enumerate() {
            match (item, part) {
                (Value::Document(doc), Some(part)) => drop(part.part(doc)?),
                (Value::Document(_) | Value::Null | Value::Undefined, _) => {}
                _ => return Err(self.wrong_item(name, at, item, "type 'object'")),
            }
        }
        Ok(())
    }

    /// The complaint about an item of an array.
    fn wrong_item(&self, name: &str, at: usize, item: Value<'_>, expected: &str) -> Fault {
        wrong_type(&format!("{}.{name}.{at}", self.name), item, expected)
    }
}

fn not_asked(name: &str) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!("Expected field {name}to be of type object"),
    )
}

fn check_change(value: &Value<'_>) -> Result<()> {
    match value {
        Value::Document(_) => Ok(()),
        Value::Array(stages) if stages.values().all(|stage| stage.as_document().is_some()) => Ok(()),
        Value::Array(_) => Err(Fault::new(
            code::TYPE_MISMATCH,
            "Each element of the 'pipeline' array must be an object",
        )),
        _ => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Update argument must be either an object or an array",
        )),
    }
}

fn check_limit(value: &Value<'_>) -> Result<()> {
    let limit = as_f64(value).unwrap_or(0.0);
    if limit == 0.0 || limit == 1.0 {
        return Ok(());
    }
    Err(Fault::new(
        code::FAILED_TO_PARSE,
        format!(
            "The limit field in delete objects must be 0 or 1. Got {}",
            significant(limit, 6)
        ),
    ))
}

impl<'a> Fields<'a> {
    /// The value; one that is `null` counts as absent unless its reader wants to see it.
    pub(super) fn get(&self, name: &str) -> Option<Value<'a>> {
        let value = self.doc.get(name)?;
        let any = self.shape.fields.iter().any(|(own, wanted)| {
            *own == name && matches!(wanted, Type::Any | Type::Change | Type::Limit | Type::Own(_))
        });
        match value {
            Value::Null | Value::Undefined if !any => None,
            value => Some(value),
        }
    }

    pub(super) fn object(&self, name: &str) -> Option<Doc<'a>> {
        self.get(name)?.as_document()
    }

    pub(super) fn array(&self, name: &str) -> Option<Doc<'a>> {
        self.get(name)?.as_array()
    }

    pub(super) fn string(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    /// Whether it is there and true.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| truth(&value))
    }

    /// The number as the server makes it whole.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        whole(&self.get(name)?)
    }

    /// A number that must not be negative.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>> {
        let Some(number) = self.number(name) else {
            return Ok(None);
        };
        u64::try_from(number)
            .map(Some)
            .map_err(|_| out_of_range(name, number))
    }

    /// The complaint about an item of an array.
    pub(super) fn wrong_item(&self, name: &str, at: usize, item: Value<'_>, expected: &str) -> Fault {
        self.shape.wrong_item(name, at, item, expected)
    }

    /// The documents of an array; a `null` among them is none.
    pub(super) fn documents(&self, name: &str) -> Vec<Doc<'a>> {
        let items = self.array(name).into_iter().flat_map(Doc::values);
        items.filter_map(|item| item.as_document()).collect()
    }
}

/// The complaint about a hint of another type.
pub(super) fn no_hint() -> Fault {
    Fault::new(code::FAILED_TO_PARSE, "Hint must be a string or an object")
}

/// The complaint about a number below zero.
pub(super) fn out_of_range(name: &str, number: i64) -> Fault {
    Fault::new(
        51024,
        format!("BSON field '{name}' value must be >= 0, actual value '{number}'"),
    )
}

/// Whether a bool or number stands for true.
pub(super) fn truth(value: &Value<'_>) -> bool {
    match value {
        Value::Bool(own) => *own,
        Value::Int32(x) => *x != 0,
        Value::Int64(x) => *x != 0,
        Value::Double(x) => *x != 0.0,
        Value::Decimal128(bytes) => !Decimal::from_bytes(*bytes).is_zero(),
        Value::Null | Value::Undefined => false,
        _ => true,
    }
}
