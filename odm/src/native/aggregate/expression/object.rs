//! Operators over documents.

use super::super::super::document::owned::fields_of;
use super::super::super::document::{Fields, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::print;
use super::operator::{Arguments, Operator, as_written, lazy, strict};
use super::parse::{Parser, required};
use super::{Answer, Env, Node};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$mergeObjects", Arguments::Any, merge),
    as_written(strict("$getField", Arguments::Custom(parse_get), get)),
    as_written(lazy("$setField", Arguments::Custom(parse_set), set)),
    as_written(lazy("$unsetField", Arguments::Custom(parse_unset), set)),
];

/// Adds the fields of `value` to an object, replacing those of the same name in their place.
pub(crate) fn merge_into(fields: &mut Fields, value: &Value<'_>) -> Result<()> {
    match value {
        Value::Null | Value::Undefined => Ok(()),
        Value::Document(doc) => {
            for element in doc.elements() {
                let name = element.name_str();
                match fields.iter_mut().find(|(other, _)| other == name) {
                    Some((_, slot)) => *slot = element.value().into(),
                    None => fields.push((name.to_owned(), element.value().into())),
                }
            }
            Ok(())
        }
        other => Err(Fault::new(
            40400,
            format!(
                "$mergeObjects requires object inputs, but input {} is of type {}",
                print::value(other),
                other.kind().alias()
            ),
        )),
    }
}

fn merge(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let mut fields = Vec::new();
    // A single array stands for its items.
    if let [one] = arguments
        && let Some(Value::Array(items)) = one.value()
    {
        for item in items.values() {
            merge_into(&mut fields, &item)?;
        }
    } else {
        for argument in arguments {
            if let Some(value) = argument.value() {
                merge_into(&mut fields, &value)?;
            }
        }
    }
    Ok(Some(Owned::Document(fields)))
}

/// Codes of one operator's errors about its `field` argument.
struct FieldCodes {
    path: i32,
    variable: i32,
    text: i32,
}

/// The `field` argument, which was parsed with the others: a string known when parsing.
fn constant_name(name: &str, value: &Value<'_>, node: Node, codes: FieldCodes) -> Result<Node> {
    if let Value::String(text) = value
        && let Some(path) = text.strip_prefix('$')
    {
        let path = match path.strip_prefix('$') {
            Some(path) => path.to_owned(),
            None => format!("CURRENT.{path}"),
        };
        return Err(Fault::new(
            codes.path,
            format!(
                "'${path}' is a field path reference which is not allowed in this context. Did you mean {{$literal: '${path}'}}?"
            ),
        ));
    }
    // Only a literal counts as a constant here, not what could be computed.
    let literal = match value {
        Value::Document(doc) => doc.get("$literal").is_some() || doc.get("$const").is_some(),
        Value::Array(_) => false,
        _ => true,
    };
    match &node {
        Node::Constant(Owned::String(_)) if literal => Ok(node),
        Node::Constant(other) if literal => Err(Fault::new(
            codes.text,
            format!(
                "{name} requires 'field' to evaluate to type String, but got {}",
                other.as_value().kind().alias()
            ),
        )),
        _ => Err(Fault::new(
            codes.variable,
            format!("{name} requires 'field' to evaluate to a constant, but got a non-constant argument"),
        )),
    }
}

const GET_CODES: FieldCodes = FieldCodes {
    path: 5654600,
    variable: 5654601,
    text: 5654602,
};

const SET_CODES: FieldCodes = FieldCodes {
    path: 4161108,
    variable: 4161106,
    text: 4161107,
};

fn parse_get(parser: &mut Parser<'_>, operator: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let name = operator.name;
    let current = Node::Path {
        base: parser.find("CURRENT").unwrap_or(super::Base::Root),
        segments: Vec::new(),
    };
    let Value::Document(doc) = *value else {
        let node = parser.operand(value)?;
        return Ok(vec![constant_name(name, value, node, GET_CODES)?, current]);
    };
    if doc
        .elements()
        .next()
        .is_some_and(|first| first.name().first() == Some(&b'$'))
    {
        let node = parser.operand(value)?;
        return Ok(vec![constant_name(name, value, node, GET_CODES)?, current]);
    }
    let (mut field, mut input) = (None, None);
    for element in doc.elements() {
        match element.name_str() {
            "field" => field = Some((element.value(), parser.operand(&element.value())?)),
            "input" => input = Some(parser.operand(&element.value())?),
            other => {
                return Err(Fault::new(
                    3041701,
                    format!("$getField found an unknown argument: {other}"),
                ));
            }
        }
    }
    let (given, field) =
        field.ok_or_else(|| Fault::new(3041702, "$getField requires 'field' to be specified"))?;
    let input = input.ok_or_else(|| Fault::new(3041703, "$getField requires 'input' to be specified"))?;
    Ok(vec![constant_name(name, &given, field, GET_CODES)?, input])
}

fn get(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [field, input] = arguments else {
        return Ok(None);
    };
    match (field.value(), input.value()) {
        (_, Some(Value::Null | Value::Undefined)) => Ok(Some(Owned::Null)),
        (Some(Value::String(name)), Some(Value::Document(doc))) => Ok(doc.get(name).map(Owned::from)),
        _ => Ok(None),
    }
}

fn parse_set(parser: &mut Parser<'_>, operator: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    parse_change(parser, operator, value, &["field", "input", "value"])
}

fn parse_unset(parser: &mut Parser<'_>, operator: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let mut arguments = parse_change(parser, operator, value, &["field", "input"])?;
    arguments.push(Node::Remove);
    Ok(arguments)
}

fn parse_change(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
    names: &[&str],
) -> Result<Vec<Node>> {
    let name = operator.name;
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            4161100,
            format!("{name} only supports an object as its argument"),
        ));
    };
    let mut arguments = vec![Node::Absent; names.len()];
    let mut field = None;
    for element in doc.elements() {
        let given = element.name_str();
        let position = names
            .iter()
            .position(|other| *other == given)
            .ok_or_else(|| Fault::new(4161101, format!("{name} found an unknown argument: {given}")))?;
        arguments[position] = parser.operand(&element.value())?;
        if position == 0 {
            field = Some(element.value());
        }
    }
    let all = [
        (0, "field", 4161102),
        (2, "value", 4161103),
        (1, "input", 4161109),
    ];
    let all = all
        .into_iter()
        .filter_map(|(at, name, code)| Some((arguments.get(at)?, name, code)));
    required(all, |argument| {
        format!("{name} requires '{argument}' to be specified")
    })?;
    if let (Some(given), Some(node)) = (field, arguments.first_mut()) {
        *node = constant_name(name, &given, node.clone(), SET_CODES)?;
        // The server writes it into the document, which nobody can read then.
        if matches!(node, Node::Constant(Owned::String(text)) if text.contains('\0')) {
            return Err(Fault::new(
                SET_CODES.text,
                format!("{name} requires 'field' to be a name of fields, which have no null bytes"),
            ));
        }
    }
    Ok(arguments)
}

/// The value is not computed where there is nothing to put it into.
fn set<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [field, input, value] = arguments else {
        return Ok(Answer::Missing);
    };
    let (field, input) = (field.evaluate(env)?, input.evaluate(env)?);
    if input.is_nullish() {
        return Ok(Answer::Owned(Owned::Null));
    }
    let (Some(Value::String(name)), Some(Value::Document(doc))) = (field.value(), input.value()) else {
        return Err(Fault::new(
            4161105,
            "$setField requires 'input' to evaluate to type Object",
        ));
    };
    let mut fields = fields_of(doc);
    let value = value.evaluate(env)?;
    let position = fields.iter().position(|(other, _)| other == name);
    match (position, value.value()) {
        (Some(at), Some(value)) => fields[at].1 = value.into(),
        (Some(at), None) => {
            fields.remove(at);
        }
        (None, Some(value)) => fields.push((name.to_owned(), value.into())),
        (None, None) => {}
    }
    Ok(Answer::Owned(Owned::Document(fields)))
}
