//! Filter documents into nodes: fields, logical operators and the operators of whole documents.

use std::sync::Arc;

use super::super::aggregate::expression::Expression;
use super::super::document::number::as_f64;
use super::super::document::{Doc, MAX_DEPTH, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::geo::{Near, is_near};
use super::super::text::TextQuery;
use super::ast::{FieldPath, NearField, Node, Predicate, Text};
use super::integer;
use super::operator;
use super::order::joined;
use super::pattern::Pattern;
use super::schema::Schema;

/// The server's code for an operator in a place that does not admit it.
pub(super) const QUERY_FEATURE_NOT_ALLOWED: i32 = 224;

/// Where in the filter a document stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// The filter itself, or a member of its `$and`, `$or`, `$nor`.
    Document,
    /// Inside an `$elemMatch`.
    Element,
}

/// What parsing needs to know beside the filter.
#[derive(Clone, Copy)]
pub(super) struct Parser<'v> {
    /// The names that `let` defined.
    pub(super) variables: &'v [String],
    /// Whether this is a projection, which refuses some operators.
    pub(super) restricted: bool,
    /// Whether documents come in order of nearness, if that is asked for.
    pub(super) ordered: bool,
    /// Whether an `$and` in others stays one of them.
    pub(super) nests: bool,
}

/// A refusal with code 2.
pub(super) fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::BAD_VALUE, message)
}

impl Parser<'_> {
    /// Parses a filter; several conditions become one `And`, in which no other one stands unless they nest.
    pub(super) fn document(self, filter: Doc<'_>, level: Level) -> Result<Node> {
        let mut nodes = Vec::new();
        for element in filter.elements() {
            let (name, value) = (element.name_str(), element.value());
            match name.strip_prefix('$') {
                Some(operator) => self.pathless(operator, &value, level, &mut nodes)?,
                None => self.field(name, &value, &mut nodes)?,
            }
        }
        // An `$and` alone is one condition.
        Ok(match nodes.as_slice() {
            [Node::And(_)] => Node::And(nodes),
            _ => joined(nodes),
        })
    }

    fn pathless(self, operator: &str, value: &Value<'_>, level: Level, nodes: &mut Vec<Node>) -> Result<()> {
        // These hold filters in turn: kept apart, so that a level of nesting takes little of the stack.
        match operator {
            "and" if self.nests && level == Level::Document => {
                nodes.push(Node::And(self.branches("$and", value, level)?));
            }
            // Flattened, so that a planner sees all conditions in one list.
            "and" => flatten_into(self.branches("$and", value, level)?, nodes),
            "or" => nodes.push(any_of(self.branches("$or", value, level)?)),
            "nor" => nodes.push(Node::Nor(self.branches("$nor", value, level)?)),
            _ => nodes.extend(self.leaf(operator, value, level)?),
        }
        Ok(())
    }

    /// An operator on whole documents that holds no other filters; `None` for one that says nothing.
    fn leaf(self, operator: &str, value: &Value<'_>, level: Level) -> Result<Option<Node>> {
        let node = match operator {
            "comment" => return Ok(None),
            "alwaysTrue" => constant("$alwaysTrue", value, Node::Always)?,
            "alwaysFalse" => constant("$alwaysFalse", value, Node::Never)?,
            // The parts of a database reference are fields in spite of their names.
            "ref" | "id" | "db" => Node::Field {
                path: FieldPath::parse(&format!("${operator}")),
                predicate: Predicate::Equal(operand(value)?),
            },
            "expr" => {
                top_level("$expr", level)?;
                Node::Expr(Box::new(Expression::parse_unfolded(value, self.variables)?))
            }
            "sampleRate" => {
                top_level("$sampleRate", level)?;
                sample_rate(value)?
            }
            "text" => {
                top_level("$text", level)?;
                Node::Text(Box::new(Text {
                    query: TextQuery::parse(value)?,
                    search: None,
                }))
            }
            "where" if self.restricted => {
                return Err(bad("$where is not allowed in this context"));
            }
            "jsonSchema" if self.restricted => {
                return Err(Fault::new(
                    QUERY_FEATURE_NOT_ALLOWED,
                    "$jsonSchema is not allowed in this context",
                ));
            }
            "where" => {
                top_level("$where", level)?;
                return Err(Fault::unsupported(
                    "$where is not supported: the engine runs no JavaScript",
                ));
            }
            "jsonSchema" => {
                let Value::Document(schema) = value else {
                    return Err(Fault::new(code::TYPE_MISMATCH, "$jsonSchema must be an object"));
                };
                Node::Schema(Box::new(Schema::parse(*schema)?))
            }
            "not" => {
                return Err(bad(
                    "unknown top level operator: $not. If you are trying to negate an entire expression, use \
                     $nor.",
                ));
            }
            _ => {
                return Err(bad(format!(
                    "unknown top level operator: ${operator}. If you have a field name that starts with a \
                     '$' symbol, consider using $getField or $setField."
                )));
            }
        };
        Ok(Some(node))
    }

    fn branches(self, name: &str, value: &Value<'_>, level: Level) -> Result<Vec<Node>> {
        let Value::Array(items) = value else {
            return Err(bad(format!("{name} must be an array")));
        };
        if items.is_empty() {
            return Err(bad("$and/$or/$nor must be a nonempty array"));
        }
        let mut nodes = Vec::new();
        for item in items.values() {
            match item {
                Value::Document(doc) => nodes.push(self.document(doc, level)?),
                _ => return Err(bad("$or/$and/$nor entries need to be full objects")),
            }
        }
        Ok(nodes)
    }

    fn field(self, name: &str, value: &Value<'_>, nodes: &mut Vec<Node>) -> Result<()> {
        let path = FieldPath::parse(name);
        // No document has as many names below each other.
        if path.segments().len() > MAX_DEPTH {
            return Err(Fault::new(5_729_100, "FieldPath is too long"));
        }
        match value {
            Value::Document(operators) if near_first(*operators) => {
                if !self.ordered {
                    return Err(super::near::not_allowed());
                }
                let near = Arc::new(Near::parse(*operators)?);
                nodes.push(Node::Near(NearField {
                    path,
                    written: operators.to_bytes(),
                    tells_sphere: near.is_legacy_sphere(),
                    near,
                }));
            }
            Value::Document(operators) if is_expression(*operators, false) => {
                let predicates = operator::Field { parser: self, name }.predicates(*operators)?;
                nodes.extend(predicates.into_iter().map(|predicate| Node::Field {
                    path: path.clone(),
                    predicate,
                }));
            }
            Value::Regex { pattern, options } => nodes.push(Node::Field {
                path,
                predicate: Predicate::Regex(Pattern::parse(pattern, options)?),
            }),
            _ => nodes.push(Node::Field {
                path,
                predicate: Predicate::Equal(operand(value)?),
            }),
        }
        Ok(())
    }
}

/// Whether operators ask for nearness: then they are all its own.
fn near_first(operators: Doc<'_>) -> bool {
    let first = operators.elements().next();
    first.is_some_and(|first| is_near(first.name_str()))
}

/// One branch is no choice.
fn any_of(mut branches: Vec<Node>) -> Node {
    match branches.as_slice() {
        [Node::Near(_)] => branches.swap_remove(0),
        _ => Node::Or(branches),
    }
}

/// Adds the branches of an `$and`, those of an `$and` among them one by one.
fn flatten_into(branches: Vec<Node>, nodes: &mut Vec<Node>) {
    for branch in branches {
        match branch {
            Node::And(inner) => nodes.extend(inner),
            other => nodes.push(other),
        }
    }
}

/// Whether a document is operators rather than a literal: its first name begins with `$`, and it is no
/// database reference. `partial_reference`: one of `$ref`, `$id`, `$db` is enough for a reference.
pub(crate) fn is_expression(doc: Doc<'_>, partial_reference: bool) -> bool {
    let Some(first) = doc.elements().next() else {
        return false;
    };
    if !first.name().starts_with(b"$") {
        return false;
    }
    let has = |name: &[u8]| doc.elements().any(|element| element.name() == name);
    let reference = if partial_reference {
        has(b"$ref") || has(b"$id") || has(b"$db")
    } else {
        has(b"$ref") && has(b"$id")
    };
    !reference
}

/// Whether the operator, without its `$`, works on whole documents: an `$elemMatch` that begins with it has
/// the object form.
pub(super) fn is_pathless(operator: &str) -> bool {
    PATHLESS.contains(&operator)
}

/// The operators on whole documents, without their `$`; `ref`, `id` and `db` are fields that only look like it.
pub(crate) const PATHLESS: &[&str] = &[
    "and",
    "or",
    "nor",
    "comment",
    "alwaysTrue",
    "alwaysFalse",
    "ref",
    "id",
    "db",
    "expr",
    "sampleRate",
    "text",
    "where",
    "jsonSchema",
];

/// An operand as compared with; `undefined` is refused.
pub(super) fn operand(value: &Value<'_>) -> Result<Owned> {
    match value {
        Value::Undefined => Err(bad("cannot compare to undefined")),
        value => Ok(Owned::from(*value)),
    }
}

fn top_level(operator: &str, level: Level) -> Result<()> {
    match level {
        Level::Document => Ok(()),
        Level::Element => Err(bad(format!(
            "{operator} can only be applied to the top-level document"
        ))),
    }
}

fn constant(name: &str, value: &Value<'_>, node: Node) -> Result<Node> {
    match integer::parse(name, value)? {
        1 => Ok(node),
        _ => Err(Fault::new(
            code::FAILED_TO_PARSE,
            format!("{name} must be an integer value of 1"),
        )),
    }
}

fn sample_rate(value: &Value<'_>) -> Result<Node> {
    let rate = as_f64(value).ok_or_else(|| bad("argument to $sampleRate must be a numeric type"))?;
    if !(0.0..=1.0).contains(&rate) {
        return Err(bad("numeric argument to $sampleRate must be in [0, 1]"));
    }
    Ok(Node::Sample(rate))
}
