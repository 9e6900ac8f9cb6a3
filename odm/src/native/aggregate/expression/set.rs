//! Operators over arrays as sets.

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Items, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::operator::{Arguments, Operator, comparing, lazy, strict};
use super::parse::Parser;
use super::{Answer, Env, Node, Scope, fold_all, truth};

pub(super) static OPERATORS: &[Operator] = &[
    comparing("$setUnion", Arguments::Any, union),
    comparing("$setIntersection", Arguments::Any, intersection),
    comparing("$setDifference", Arguments::Exactly(2), difference),
    Operator {
        fold: Some(fold_equals),
        ..lazy("$setEquals", Arguments::Custom(parse_equals), equals)
    },
    Operator {
        fold: Some(fold_subset),
        ..comparing("$setIsSubset", Arguments::Exactly(2), is_subset)
    },
    strict(
        "$allElementsTrue",
        Arguments::Exactly(1),
        |operator, arguments| {
            elements(operator, arguments, 17040, |items| {
                items.values().all(|item| truth(&item))
            })
        },
    ),
    strict("$anyElementTrue", Arguments::Exactly(1), |operator, arguments| {
        elements(operator, arguments, 17041, |items| {
            items.values().any(|item| truth(&item))
        })
    }),
];

/// The distinct items, sorted.
fn set_of<'a>(items: Doc<'a>, collation: &Collation) -> Vec<Value<'a>> {
    let mut set: Vec<Value<'_>> = items.values().collect();
    set.sort_by(|a, b| collation.compare(a, b));
    set.dedup_by(|a, b| collation.equal(a, b));
    set
}

fn has(set: &[Value<'_>], item: &Value<'_>, collation: &Collation) -> bool {
    set.binary_search_by(|other| collation.compare(other, item))
        .is_ok()
}

fn array(items: Vec<Value<'_>>) -> Result<Option<Owned>> {
    Ok(Some(items.into_iter().collect::<Items>().into_owned()))
}

/// The operands as arrays; `None` if one is null before one of a wrong type.
fn operands<'a>(
    operator: &'static Operator,
    arguments: &'a [Answer<'a>],
    code: i32,
) -> Result<Option<Vec<Doc<'a>>>> {
    let mut arrays = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(None),
            Some(Value::Array(items)) => arrays.push(items),
            Some(_) => {
                return Err(Fault::new(
                    code,
                    format!(
                        "All operands of {} must be arrays. One argument is of type: {}",
                        operator.name,
                        argument.type_name()
                    ),
                ));
            }
        }
    }
    Ok(Some(arrays))
}

pub(super) fn union(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    let Some(arrays) = operands(operator, arguments, 17043)? else {
        return Ok(Some(Owned::Null));
    };
    let mut all: Vec<Value<'_>> = arrays.iter().flat_map(|items| items.values()).collect();
    all.sort_by(|a, b| collation.compare(a, b));
    all.dedup_by(|a, b| collation.equal(a, b));
    array(all)
}

fn intersection(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    // Of equal items those of the smaller set stay, as on the server.
    intersected(operator, arguments, collation, |set, common| {
        set.len() < common.len()
    })
}

/// The same where the items of the first set stay.
pub(super) fn intersection_of_first(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    intersected(operator, arguments, collation, |_, _| false)
}

/// `stays` tells whether the items of a further set stay, and not those that are common so far.
fn intersected(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
    stays: fn(&[Value<'_>], &[Value<'_>]) -> bool,
) -> Result<Option<Owned>> {
    let Some(arrays) = operands(operator, arguments, 17047)? else {
        return Ok(Some(Owned::Null));
    };
    let sets = arrays.into_iter().map(|items| set_of(items, collation));
    let common = sets.reduce(|common, set| {
        let (mut kept, other) = if stays(&set, &common) {
            (set, common)
        } else {
            (common, set)
        };
        kept.retain(|item| has(&other, item, collation));
        kept
    });
    array(common.unwrap_or_default())
}

fn difference(
    _: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    let [left, right] = arguments else {
        return Ok(None);
    };
    if left.is_nullish() || right.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let (left, right) = both("$setDifference", left, right, (17048, 17049))?;
    let mut excluded = set_of(right, collation);
    let mut result = Vec::new();
    for item in left.values() {
        if let Err(at) = excluded.binary_search_by(|other| collation.compare(other, &item)) {
            excluded.insert(at, item);
            result.push(item);
        }
    }
    array(result)
}

fn both<'a>(
    name: &str,
    left: &'a Answer<'a>,
    right: &'a Answer<'a>,
    codes: (i32, i32),
) -> Result<(Doc<'a>, Doc<'a>)> {
    let Some(Value::Array(a)) = left.value() else {
        return Err(wrong(name, "First", codes.0, left.type_name()));
    };
    let Some(Value::Array(b)) = right.value() else {
        return Err(wrong(name, "Second", codes.1, right.type_name()));
    };
    Ok((a, b))
}

fn wrong(name: &str, which: &str, code: i32, found: &str) -> Fault {
    Fault::new(
        code,
        format!("both operands of {name} must be arrays. {which} argument is of type: {found}"),
    )
}

fn parse_equals(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let arguments = parser.list(value)?;
    if arguments.len() < 2 {
        return Err(Fault::new(
            17045,
            format!("$setEquals needs at least two arguments had: {}", arguments.len()),
        ));
    }
    Ok(arguments)
}

/// Constant operands are made sets beforehand, with an error of their own; the result is not computed before the run.
#[expect(clippy::ptr_arg, reason = "it is used as a `Fold`")]
fn fold_equals(arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    for (index, node) in arguments.iter_mut().enumerate() {
        node.fold(known)?;
        let value = match node {
            Node::Constant(value) => Some(value.as_value()),
            Node::Remove => None,
            _ => continue,
        };
        if !matches!(value, Some(Value::Array(_))) {
            return Err(not_array(5887502, index, value));
        }
    }
    Ok(None)
}

fn not_array(code: i32, index: usize, found: Option<Value<'_>>) -> Fault {
    Fault::new(
        code,
        format!(
            "All operands of $setEquals must be arrays. {}-th argument is of type: {}",
            index + 1,
            super::type_name(found)
        ),
    )
}

/// Stops at the first argument that is no array, or another set.
fn equals<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    // Three and more are compared with a constant one, wherever it stands.
    let constant = arguments.iter().position(
        |node| matches!(node, Node::Constant(value) if matches!(value.as_value(), Value::Array(_))),
    );
    let first = constant.filter(|_| arguments.len() > 2).unwrap_or(0);
    let others = (0..arguments.len()).filter(|index| *index != first);
    let answers = std::iter::once(first)
        .chain(others)
        .map(|index| (index, arguments[index].evaluate(env)));
    set_equality(answers, &env.scope.collation).map(Answer::Owned)
}

fn set_equality<'a>(
    answers: impl Iterator<Item = (usize, Result<Answer<'a>>)>,
    collation: &Collation,
) -> Result<Owned> {
    let mut first: Option<Vec<Owned>> = None;
    for (index, answer) in answers {
        let answer = answer?;
        let Some(Value::Array(items)) = answer.value() else {
            return Err(not_array(17044, index, answer.value()));
        };
        let set = set_of(items, collation);
        match &first {
            None => first = Some(set.into_iter().map(Owned::from).collect()),
            Some(first) => {
                let same = first.len() == set.len()
                    && first
                        .iter()
                        .zip(&set)
                        .all(|(a, b)| collation.equal(&a.as_value(), b));
                if !same {
                    return Ok(Owned::Bool(false));
                }
            }
        }
    }
    Ok(Owned::Bool(true))
}

/// `$setIsSubset`, as the server has it when the larger set is a constant, and when it is not.
static SUBSET: [Operator; 2] = [
    comparing("$setIsSubset", Arguments::Exactly(2), is_subset),
    comparing("$setIsSubset", Arguments::Exactly(2), is_subset_of_constant),
];

fn fold_subset(arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    fold_all(arguments, known)?;
    let of_constant = match arguments.as_slice() {
        [left, _] if left.is_constant() => false,
        [_, Node::Constant(value)] if matches!(value.as_value(), Value::Array(_)) => true,
        [_, Node::Constant(other)] => {
            return Err(wrong(
                "$setIsSubset",
                "Second",
                17311,
                other.as_value().kind().alias(),
            ));
        }
        [_, Node::Remove] => return Err(wrong("$setIsSubset", "Second", 17311, "missing")),
        _ => false,
    };
    let mut call = Node::Call {
        operator: &SUBSET[usize::from(of_constant)],
        arguments: std::mem::take(arguments),
    };
    call.fold(known)?;
    Ok(Some(call))
}

fn is_subset(_: &'static Operator, arguments: &[Answer<'_>], collation: &Collation) -> Result<Option<Owned>> {
    subset(arguments, collation, 17046)
}

fn is_subset_of_constant(
    _: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    subset(arguments, collation, 17310)
}

/// `code`: of a first argument that is no array.
fn subset(arguments: &[Answer<'_>], collation: &Collation, code: i32) -> Result<Option<Owned>> {
    let [left, right] = arguments else {
        return Ok(None);
    };
    let (left, right) = both("$setIsSubset", left, right, (code, 17042))?;
    let set = set_of(right, collation);
    Ok(Some(Owned::Bool(
        left.values().all(|item| has(&set, &item, collation)),
    )))
}

fn elements(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    code: i32,
    test: fn(Doc<'_>) -> bool,
) -> Result<Option<Owned>> {
    match arguments.first().and_then(Answer::value) {
        Some(Value::Array(items)) => Ok(Some(Owned::Bool(test(items)))),
        other => Err(Fault::new(
            code,
            format!(
                "{}'s argument must be an array, but is {}",
                operator.name,
                super::type_name(other)
            ),
        )),
    }
}
