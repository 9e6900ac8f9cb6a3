//! Boolean and conditional operators: they evaluate only what decides.

use super::super::super::document::{Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::operator::{Arguments, Operator, lazy, strict};
use super::parse::{Parser, required};
use super::{Answer, Env, Node, Scope, fold_all, type_name};

pub(super) static OPERATORS: &[Operator] = &[
    Operator {
        fold: Some(|arguments, known| fold_logic(arguments, false, known)),
        truth: Some(|arguments, env| logic(arguments, env, false)),
        ..lazy("$and", Arguments::Any, |_, arguments, env| {
            logic(arguments, env, false).map(said)
        })
    },
    Operator {
        fold: Some(|arguments, known| fold_logic(arguments, true, known)),
        truth: Some(|arguments, env| logic(arguments, env, true)),
        ..lazy("$or", Arguments::Any, |_, arguments, env| {
            logic(arguments, env, true).map(said)
        })
    },
    strict("$not", Arguments::Exactly(1), |_, arguments| {
        Ok(Some(Owned::Bool(!arguments.iter().any(Answer::is_true))))
    }),
    Operator {
        fold: Some(fold_cond),
        ..lazy("$cond", Arguments::Custom(parse_cond), cond)
    },
    Operator {
        fold: Some(fold_if_null),
        ..lazy("$ifNull", Arguments::Custom(parse_if_null), if_null)
    },
    Operator {
        fold: Some(fold_switch),
        ..lazy("$switch", Arguments::Custom(parse_switch), switch)
    },
];

/// `$and` stops at the first false, `$or` (`stop` is true) at the first true.
fn logic(arguments: &[Node], env: Env<'_>, stop: bool) -> Result<bool> {
    for node in arguments {
        if node.truth(env)? == stop {
            return Ok(stop);
        }
    }
    Ok(!stop)
}

fn said(truth: bool) -> Answer<'static> {
    Answer::Owned(Owned::Bool(truth))
}

/// The name of what is left of `$and` and `$or` of one argument and constants that decide nothing.
pub(crate) const AS_BOOL: &str = "$coerceToBool";

static COERCION: Operator = strict(AS_BOOL, Arguments::Exactly(1), |_, arguments| {
    Ok(Some(Owned::Bool(arguments.iter().any(Answer::is_true))))
});

/// A deciding constant decides wherever it stands, so that nothing before it is evaluated.
fn fold_logic(arguments: &mut Vec<Node>, stop: bool, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    fold_all(arguments, known)?;
    let constant = |node: &Node| match node {
        Node::Constant(value) => Some(super::truth(&value.as_value())),
        Node::Remove | Node::Absent => Some(false),
        _ => None,
    };
    if arguments.iter().any(|node| constant(node) == Some(stop)) {
        return Ok(Some(Node::Constant(Owned::Bool(stop))));
    }
    let given = arguments.len();
    arguments.retain(|node| constant(node).is_none());
    Ok(match arguments.len() {
        0 => Some(Node::Constant(Owned::Bool(!stop))),
        1 if given > 1 => Some(Node::Call {
            operator: &COERCION,
            arguments: std::mem::take(arguments),
        }),
        _ => None,
    })
}

/// A constant condition has decided.
fn fold_cond(arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    fold_all(arguments, known)?;
    let chosen = match arguments.first() {
        Some(Node::Constant(value)) if super::truth(&value.as_value()) => 1,
        Some(Node::Constant(_) | Node::Remove | Node::Absent) => 2,
        _ => return Ok(None),
    };
    Ok(Some(arguments.swap_remove(chosen)))
}

/// Leaves out constants that are null, and what stands behind one that is not.
fn fold_if_null(arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    fold_all(arguments, known)?;
    let is_null = |node: &Node| match node {
        Node::Constant(value) => matches!(value.as_value(), Value::Null | Value::Undefined),
        Node::Remove | Node::Absent => true,
        _ => false,
    };
    let mut kept = Vec::with_capacity(arguments.len());
    let mut rest = std::mem::take(arguments).into_iter().peekable();
    while let Some(node) = rest.next() {
        if is_null(&node) && rest.peek().is_some() {
            continue;
        }
        let decides = node.is_constant();
        kept.push(node);
        if decides {
            break;
        }
    }
    if kept.len() == 1 {
        return Ok(kept.pop());
    }
    *arguments = kept;
    Ok(None)
}

fn parse_cond(parser: &mut Parser<'_>, operator: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        let arguments = parser.list(value)?;
        if arguments.len() != 3 {
            return Err(Fault::new(
                16020,
                format!(
                    "Expression {} takes exactly 3 arguments. {} were passed in.",
                    operator.name,
                    arguments.len()
                ),
            ));
        }
        return Ok(arguments);
    };
    let arguments = parser.named(doc, &["if", "then", "else"], |name| {
        Fault::new(17083, format!("Unrecognized parameter to $cond: {name}"))
    })?;
    let all = [
        (&arguments[0], "if", 17080),
        (&arguments[1], "then", 17081),
        (&arguments[2], "else", 17082),
    ];
    required(all, |argument| format!("Missing '{argument}' parameter to $cond"))?;
    Ok(arguments)
}

fn cond<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    match arguments {
        [test, then, otherwise] => {
            if test.truth(env)? {
                then.evaluate(env)
            } else {
                otherwise.evaluate(env)
            }
        }
        _ => Ok(Answer::Missing),
    }
}

fn parse_if_null(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let arguments = parser.list(value)?;
    if arguments.len() < 2 {
        return Err(Fault::new(
            1257300,
            format!("$ifNull needs at least two arguments, had: {}", arguments.len()),
        ));
    }
    Ok(arguments)
}

fn if_null<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let mut last = Answer::Missing;
    for node in arguments {
        last = node.evaluate(env)?;
        if !last.is_nullish() {
            break;
        }
    }
    Ok(last)
}

/// The arguments of `$switch` are case, then, case, then, ..., default.
fn parse_switch(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let found = |value: &Value<'_>| type_name(Some(*value));
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            40060,
            format!(
                "$switch requires an object as an argument, found: {}",
                found(value)
            ),
        ));
    };
    let mut arguments = Vec::new();
    let mut default = Node::Absent;
    for element in doc.elements() {
        match element.name_str() {
            "branches" => {
                let Value::Array(branches) = element.value() else {
                    return Err(Fault::new(
                        40061,
                        format!(
                            "$switch expected an array for 'branches', found: {}",
                            found(&element.value())
                        ),
                    ));
                };
                for branch in branches.values() {
                    let Value::Document(doc) = branch else {
                        return Err(Fault::new(
                            40062,
                            format!(
                                "$switch expected each branch to be an object, found: {}",
                                found(&branch)
                            ),
                        ));
                    };
                    let pair = parser.named(doc, &["case", "then"], |name| {
                        Fault::new(
                            40063,
                            format!("$switch found an unknown argument to a branch: {name}"),
                        )
                    })?;
                    if matches!(pair[0], Node::Absent) {
                        return Err(Fault::new(
                            40064,
                            "$switch requires each branch have a 'case' expression",
                        ));
                    }
                    if matches!(pair[1], Node::Absent) {
                        return Err(Fault::new(
                            40065,
                            "$switch requires each branch have a 'then' expression.",
                        ));
                    }
                    arguments.extend(pair);
                }
            }
            "default" => default = parser.operand(&element.value())?,
            other => {
                return Err(Fault::new(
                    40067,
                    format!("$switch found an unknown argument: {other}"),
                ));
            }
        }
    }
    if arguments.is_empty() {
        return Err(Fault::new(40068, "$switch requires at least one branch"));
    }
    arguments.push(default);
    Ok(arguments)
}

fn no_branch() -> Fault {
    Fault::new(
        40066,
        "$switch could not find a matching branch for an input, and no default was specified.",
    )
}

fn switch<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    for pair in arguments.chunks(2) {
        match pair {
            [case, then] if case.truth(env)? => {
                return then.evaluate(env);
            }
            [Node::Absent] => return Err(no_branch()),
            [default] => return default.evaluate(env),
            _ => {}
        }
    }
    Err(no_branch())
}

/// Branches that cannot be taken are never computed; the default always is.
fn fold_switch(arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    let mut default = arguments.pop().unwrap_or(Node::Absent);
    default.fold(known)?;
    let mut kept = Vec::new();
    let mut rest = std::mem::take(arguments).into_iter();
    while let (Some(mut case), Some(mut then)) = (rest.next(), rest.next()) {
        case.fold(known)?;
        let decided = match &case {
            Node::Constant(value) => Some(super::truth(&value.as_value())),
            Node::Remove => Some(false),
            _ => None,
        };
        match decided {
            Some(false) => {}
            Some(true) => {
                then.fold(known)?;
                default = then;
                break;
            }
            None => {
                then.fold(known)?;
                kept.push(case);
                kept.push(then);
            }
        }
    }
    if kept.is_empty() {
        if matches!(default, Node::Absent) {
            return Err(no_case());
        }
        return Ok(Some(default));
    }
    kept.push(default);
    *arguments = kept;
    Ok(None)
}

/// The fault of a `$switch` without a default of which it is known that no case is true.
pub(crate) fn no_case() -> Fault {
    Fault::new(
        40069,
        "Cannot execute a switch statement where all the cases evaluate to false without a default",
    )
}
