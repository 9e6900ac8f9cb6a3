//! Operators that bind variables: `$let`, `$map`, `$filter`, `$reduce`; and `$literal`, `$rand`.

use std::slice;

use super::super::super::document::doc::Element;
use super::super::super::document::size::check_text;
use super::super::super::document::{Doc, Items, Kind, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::print;
use super::super::transform::check_depth;
use super::operator::{Arguments, Operator, at_run, lazy, strict};
use super::parse::{Parser, check_variable_name, required};
use super::{Answer, Base, Env, Frame, Node, Scope, array, fold_all, string, type_name};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$literal", Arguments::Custom(parse_literal), |_, _| Ok(None)),
    strict("$const", Arguments::Custom(parse_literal), |_, _| Ok(None)),
    Operator {
        is_pure: false,
        ..strict("$rand", Arguments::Custom(parse_rand), |_, _| {
            Ok(Some(Owned::Double(random())))
        })
    },
    Operator {
        fold: Some(fold_let),
        ..lazy("$let", Arguments::Custom(parse_let), evaluate_let)
    },
    at_run(lazy("$map", Arguments::Custom(parse_map), map)),
    at_run(lazy("$filter", Arguments::Custom(parse_filter), filter)),
    at_run(lazy("$reduce", Arguments::Custom(parse_reduce), reduce)),
];

fn parse_literal(_: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    Ok(vec![Node::Constant(Owned::from(*value))])
}

fn parse_rand(_: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    match value {
        Value::Document(doc) | Value::Array(doc) if doc.is_empty() => Ok(Vec::new()),
        Value::Document(_) | Value::Array(_) => {
            Err(Fault::new(3040501, "$rand does not currently accept arguments"))
        }
        _ => Err(Fault::new(10065, "invalid parameter: expected an object ($rand)")),
    }
}

/// A number from 0 to 1, exclusive.
pub(crate) fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    // Every `RandomState` has fresh keys; hashing nothing gives 64 bits that depend on them alone.
    let bits = RandomState::new().hash_one(0u64);
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

impl<'a> Env<'a> {
    fn with<'b>(self, frame: &'b Frame<'b>) -> Env<'b>
    where
        'a: 'b,
    {
        Env {
            scope: self.scope,
            locals: Some(frame),
        }
    }
}

/// Evaluates `node` with `values` bound.
fn bound(node: &Node, values: &[Answer<'_>], env: Env<'_>) -> Result<Answer<'static>> {
    with_bound(values, env, |env| Ok(node.evaluate(env)?.detach()))
}

/// Calls `body` where `values` are bound.
fn with_bound<T>(values: &[Answer<'_>], env: Env<'_>, body: impl FnOnce(Env<'_>) -> Result<T>) -> Result<T> {
    let frame = Frame {
        values,
        outer: env.locals,
    };
    body(env.with(&frame))
}

/// The arguments of `$let` are the values, then the body.
fn parse_let(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(16874, "$let only supports an object as its argument"));
    };
    let (mut vars, mut body) = (None, None);
    for element in doc.elements() {
        match element.name_str() {
            "vars" => vars = Some(element.value()),
            "in" => body = Some(element.value()),
            other => {
                return Err(Fault::new(
                    16875,
                    format!("Unrecognized parameter to $let: {other}"),
                ));
            }
        }
    }
    let vars = vars.ok_or_else(|| Fault::new(16876, "Missing 'vars' parameter to $let"))?;
    let body = body.ok_or_else(|| Fault::new(16877, "Missing 'in' parameter to $let"))?;
    let (Value::Document(vars) | Value::Array(vars)) = vars else {
        return Err(Fault::new(10065, "invalid parameter: expected an object (vars)"));
    };
    let mut names = Vec::new();
    let mut arguments = Vec::new();
    for element in vars.elements() {
        arguments.push(parser.operand(&element.value())?);
        check_variable_name(element.name_str(), true)?;
        names.push(element.name_str().to_owned());
    }
    arguments.push(parser.with_variables(names, |parser| parser.operand(&body))?);
    Ok(arguments)
}

/// Without variables it is its constant body; with some it waits for the run.
fn fold_let(arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    fold_all(arguments, known)?;
    match arguments.as_slice() {
        [body] if body.is_constant() => Ok(arguments.pop()),
        _ => Ok(None),
    }
}

fn evaluate_let<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let Some((body, values)) = arguments.split_last() else {
        return Ok(Answer::Missing);
    };
    let mut values = values
        .iter()
        .map(|node| node.evaluate(env))
        .collect::<Result<Vec<_>>>()?;
    values.iter().try_for_each(bounded)?;
    open_long(&mut values, body);
    bound(body, &values, env)
}

/// Makes trees of new arrays of whose places some may be asked for.
fn open_long(values: &mut [Answer<'_>], body: &Node) {
    let mut asks = None;
    for value in values {
        if let Answer::Owned(made) = value
            && matches!(made, Owned::RawArray(bytes) if bytes.len() >= array::offsets::LONG)
            && *asks.get_or_insert_with(|| !body.all_operators(&|name| name != "$arrayElemAt"))
        {
            made.open();
        }
    }
}

/// Refuses a new value that nests too deeply. Each expression may wrap what a variable holds as often as it nests
/// itself: without a bound, chains of them would make values that exhaust the stack.
fn bounded(answer: &Answer<'_>) -> Result<()> {
    match answer {
        Answer::Owned(value) => check_depth(&value.as_value()),
        _ => Ok(()),
    }
}

/// Reads `as`: the name of the variable of an element, "this" by default.
fn element_name(value: Option<Value<'_>>) -> Result<String> {
    let name = match value {
        None => return Ok("this".to_owned()),
        Some(Value::String(name)) => name.to_owned(),
        Some(_) => String::new(),
    };
    check_variable_name(&name, true)?;
    Ok(name)
}

fn parse_map(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(16878, "$map only supports an object as its argument"));
    };
    for element in doc.elements() {
        if !matches!(element.name_str(), "input" | "as" | "in") {
            return Err(Fault::new(
                16879,
                format!("Unrecognized parameter to $map: {}", element.name_str()),
            ));
        }
    }
    let missing = |name: &str, code| Fault::new(code, format!("Missing '{name}' parameter to $map"));
    let input = doc.get("input").ok_or_else(|| missing("input", 16880))?;
    let body = doc.get("in").ok_or_else(|| missing("in", 16882))?;
    let input = parser.operand(&input)?;
    let name = element_name(doc.get("as"))?;
    let body = parser.with_variables(vec![name], |parser| parser.operand(&body))?;
    Ok(vec![input, body])
}

fn map<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [input, body] = arguments else {
        return Ok(Answer::Missing);
    };
    let input = input.evaluate(env)?;
    bounded(&input)?;
    if input.is_nullish() {
        return Ok(Answer::Owned(Owned::Null));
    }
    let Some(Value::Array(items)) = input.value() else {
        return Err(Fault::new(
            16883,
            format!("input to $map must be an array not {}", input.type_name()),
        ));
    };
    let mut result = Items::default();
    let mut elements = items.elements();
    while let Some(element) = &elements.next() {
        let item = held(element);
        with_bound(slice::from_ref(&item), env, |env| {
            result.push_with(|name, out| body.write_or_null(name, env, out))
        })?;
    }
    Ok(Answer::Owned(result.into_owned()))
}

/// An item of an array as a variable has it. What is frequent is put there as it is read: copied, it would be waited for.
fn held<'a>(item: &Element<'a>) -> Answer<'a> {
    if let Element::Raw { kind, payload, .. } = *item {
        match (kind, payload.first_chunk::<4>(), payload.first_chunk::<8>()) {
            (Kind::Int32, Some(bytes), _) => {
                return Answer::Borrowed(Value::Int32(i32::from_le_bytes(*bytes)));
            }
            (Kind::Int64, _, Some(bytes)) => {
                return Answer::Borrowed(Value::Int64(i64::from_le_bytes(*bytes)));
            }
            (Kind::Double, _, Some(bytes)) => {
                return Answer::Borrowed(Value::Double(f64::from_le_bytes(*bytes)));
            }
            (Kind::Document, ..) => return Answer::Borrowed(Value::Document(Doc::Raw(payload))),
            _ => {}
        }
    }
    Answer::Borrowed(item.value())
}

fn parse_filter(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            28646,
            "$filter only supports an object as its argument",
        ));
    };
    for element in doc.elements() {
        if !matches!(element.name_str(), "input" | "as" | "cond" | "limit") {
            return Err(Fault::new(
                28647,
                format!("Unrecognized parameter to $filter: {}", element.name_str()),
            ));
        }
    }
    let missing = |name: &str, code| Fault::new(code, format!("Missing '{name}' parameter to $filter"));
    let input = doc.get("input").ok_or_else(|| missing("input", 28648))?;
    let body = doc.get("cond").ok_or_else(|| missing("cond", 28650))?;
    let input = parser.operand(&input)?;
    let name = element_name(doc.get("as"))?;
    let body = parser.with_variables(vec![name], |parser| parser.operand(&body))?;
    let limit = parser.optional(doc.get("limit"))?;
    Ok(vec![input, body, limit])
}

fn filter<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [input, body, limit] = arguments else {
        return Ok(Answer::Missing);
    };
    filtered(input.evaluate(env)?, body, env, || {
        filter_limit(&limit.evaluate(env)?)
    })
}

/// The same in an early `$group`, which looks at the limit first.
pub(super) fn filter_early<'a>(
    _: &'static Operator,
    arguments: &'a [Node],
    env: Env<'a>,
) -> Result<Answer<'a>> {
    let [input, body, limit] = arguments else {
        return Ok(Answer::Missing);
    };
    let limit = filter_limit(&limit.evaluate(env)?).map_err(early_limit)?;
    let input = input.evaluate(env)?;
    filtered(input, body, env, || Ok(limit))
}

fn filtered<'a>(
    input: Answer<'a>,
    body: &'a Node,
    env: Env<'a>,
    limit: impl FnOnce() -> Result<usize>,
) -> Result<Answer<'a>> {
    bounded(&input)?;
    if input.is_nullish() {
        return Ok(Answer::Owned(Owned::Null));
    }
    let Some(Value::Array(items)) = input.value() else {
        return Err(Fault::new(
            28651,
            format!("input to $filter must be an array not {}", input.type_name()),
        ));
    };
    if items.is_empty() {
        return Ok(Answer::Owned(Owned::Array(Vec::new())));
    }
    let limit = limit()?;
    let mut result = Items::default();
    let mut elements = items.elements();
    while let Some(element) = &elements.next() {
        let item = held(element);
        if with_bound(slice::from_ref(&item), env, |env| body.truth(env))? {
            result.push_element(element);
            if result.len() >= limit {
                break;
            }
        }
    }
    Ok(Answer::Owned(result.into_owned()))
}

/// The same fault as an early `$group` says it.
fn early_limit(fault: Fault) -> Fault {
    let what = match fault.code() {
        LIMIT_NOT_WHOLE => "'$filter.limit' must evaluate to an integer",
        LIMIT_NOT_POSITIVE => "'$filter.limit' must be greater than 0",
        _ => return fault,
    };
    Fault::new(fault.code(), what)
}

const LIMIT_NOT_WHOLE: i32 = 327_391;
const LIMIT_NOT_POSITIVE: i32 = 327_392;

/// How many items are taken: all where nothing is said.
fn filter_limit(answer: &Answer<'_>) -> Result<usize> {
    if answer.is_nullish() {
        return Ok(usize::MAX);
    }
    let limit = answer
        .value()
        .and_then(|value| super::arithmetic::as_i32_exact(&value))
        .ok_or_else(|| {
            Fault::new(
                LIMIT_NOT_WHOLE,
                format!(
                    "$filter: limit must be represented as a 32-bit integral value: {}",
                    print::answer(answer)
                ),
            )
        })?;
    if limit <= 0 {
        return Err(Fault::new(
            LIMIT_NOT_POSITIVE,
            format!("$filter: limit must be greater than 0: {}", print::answer(answer)),
        ));
    }
    Ok(limit as usize)
}

fn parse_reduce(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            40075,
            format!(
                "$reduce requires an object as an argument, found: {}",
                type_name(Some(*value))
            ),
        ));
    };
    let (mut input, mut initial, mut body) = (Node::Absent, Node::Absent, Node::Absent);
    for element in doc.elements() {
        let value = element.value();
        match element.name_str() {
            "input" => input = parser.operand(&value)?,
            "initialValue" => initial = parser.operand(&value)?,
            "in" => {
                let names = vec!["this".to_owned(), "value".to_owned()];
                body = parser.with_variables(names, |parser| parser.operand(&value))?;
            }
            other => {
                return Err(Fault::new(
                    40076,
                    format!("$reduce found an unknown argument: {other}"),
                ));
            }
        }
    }
    let all = [
        (&input, "input", 40077),
        (&initial, "initialValue", 40078),
        (&body, "in", 40079),
    ];
    required(all, |argument| {
        format!("$reduce requires '{argument}' to be specified")
    })?;
    Ok(vec![input, initial, body])
}

fn reduce<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [input, initial, body] = arguments else {
        return Ok(Answer::Missing);
    };
    let input = input.evaluate(env)?;
    bounded(&input)?;
    if input.is_nullish() {
        return Ok(Answer::Owned(Owned::Null));
    }
    let Some(Value::Array(items)) = input.value() else {
        return Err(Fault::new(
            40080,
            format!(
                "$reduce requires that 'input' be an array, found: {}",
                print::answer(&input)
            ),
        ));
    };
    let appends = Appends::of(body);
    let mut value = initial.evaluate(env)?.detach();
    if let (Some(_), Answer::Owned(value)) = (&appends, &mut value) {
        // A tree grows at its end.
        value.open();
    }
    let mut elements = items.elements();
    while let Some(element) = &elements.next() {
        let mut values = [held(element), value];
        if let (Some(appends), Answer::Owned(Owned::Array(_) | Owned::String(_))) = (&appends, &values[1])
            && let Some(more) = appends.more(&values, env)
            && append(&mut values[1], more)
        {
            let [_, longer] = values;
            value = longer.detach();
            continue;
        }
        value = bound(body, &values, env)?;
        bounded(&value)?;
    }
    Ok(value)
}

/// A step of a `$reduce` that does no more than to put something behind the value: it need not be copied for each item.
struct Appends<'a> {
    concat: fn(&'static Operator, &[Answer<'_>]) -> Result<Option<Owned>>,
    operator: &'static Operator,
    behind: &'a [Node],
}

impl<'a> Appends<'a> {
    fn of(body: &'a Node) -> Option<Appends<'a>> {
        let Node::Call { operator, arguments } = body else {
            return None;
        };
        let concat = match operator.name {
            "$concat" => string::concat,
            "$concatArrays" => array::build::concat,
            _ => return None,
        };
        let [Node::Path { base, segments }, behind @ ..] = arguments.as_slice() else {
            return None;
        };
        let is_value = segments.is_empty()
            && matches!(
                base,
                Base::Local {
                    frame: 0,
                    index: 1,
                    ..
                }
            );
        is_value.then_some(Appends {
            concat,
            operator,
            behind,
        })
    }

    /// What comes behind the value; `None` where that is for the operator to say.
    fn more(&self, values: &[Answer<'_>], env: Env<'_>) -> Option<Owned> {
        let answers = self.behind.iter().map(|node| bound(node, values, env).ok());
        let answers: Vec<Answer<'static>> = answers.collect::<Option<_>>()?;
        let more = (self.concat)(self.operator, &answers).ok()??;
        check_depth(&more.as_value()).ok()?;
        Some(more)
    }
}

/// Puts it behind the value, if both are of one kind and that is not too much.
fn append(value: &mut Answer<'_>, more: Owned) -> bool {
    match (value, more) {
        (Answer::Owned(Owned::Array(items)), Owned::RawArray(more)) => {
            items.extend(Doc::Raw(&more).values().map(Owned::from));
            true
        }
        (Answer::Owned(Owned::String(text)), Owned::String(more)) => {
            let fits = check_text(text.len() + more.len()).is_ok();
            if fits {
                text.push_str(&more);
            }
            fits
        }
        _ => false,
    }
}
