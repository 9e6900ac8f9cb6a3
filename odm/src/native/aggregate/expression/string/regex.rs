//! Regular expressions over strings.

use std::cell::RefCell;
use std::rc::Rc;

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Class, Fault, Result};
use super::super::super::super::matcher::pattern::{Exhausted, Pattern, Spans};
use super::super::operator::Operator;
use super::super::parse::{Parser, required};
use super::super::{Answer, Node, Scope, fold_all};

/// How many compiled patterns a thread keeps.
const KEPT: usize = 8;

thread_local! {
    /// The patterns used last: compiling one costs far more than a match.
    static PATTERNS: RefCell<Vec<Rc<Pattern>>> = const { RefCell::new(Vec::new()) };
}

/// The arguments: `input`, `regex`, `options`.
pub(super) fn parse(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let name = operator.name;
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            51103,
            format!(
                "{name} expects an object of named arguments but found: {}",
                value.kind().alias()
            ),
        ));
    };
    let arguments = parser.named(doc, &["input", "regex", "options"], |other| {
        Fault::new(31024, format!("{name} found an unknown argument: {other}"))
    })?;
    let all = [(&arguments[0], "input", 31022), (&arguments[1], "regex", 31023)];
    required(all, |argument| format!("{name} requires '{argument}' parameter"))?;
    Ok(arguments)
}

/// Computes constant arguments and refuses a constant pattern that is none; the text is looked at when it runs.
pub(super) fn fold(name: &str, arguments: &mut Vec<Node>, known: Option<&Scope<'_>>) -> Result<Option<Node>> {
    fold_all(arguments, known)?;
    if let [_, regex, _] = arguments.as_mut_slice()
        && matches!(regex, Node::Constant(Owned::Undefined))
    {
        *regex = Node::Constant(Owned::Null);
    }
    if let [_, regex, options] = arguments.as_slice()
        && [regex, options]
            .into_iter()
            .all(|node| matches!(node, Node::Constant(_) | Node::Absent))
    {
        let answer = |node: &Node| match node {
            Node::Constant(value) => Answer::Owned(value.clone()),
            _ => Answer::Absent,
        };
        prepare(name, &[Answer::Missing, answer(regex), answer(options)])?;
    }
    Ok(None)
}

/// The text and the pattern; `None` if either is null.
fn prepare<'a>(name: &str, arguments: &'a [Answer<'a>]) -> Result<Option<(&'a str, Rc<Pattern>)>> {
    let [input, regex, options] = arguments else {
        return Ok(None);
    };
    let text = match input.value() {
        None | Some(Value::Null | Value::Undefined) => None,
        Some(Value::String(text)) => Some(text),
        Some(_) => {
            return Err(Fault::new(
                51104,
                format!("{name} needs 'input' to be of type string"),
            ));
        }
    };
    // The pattern is checked even where there is no text.
    let (pattern, own) = match regex.value() {
        None | Some(Value::Null | Value::Undefined) => (None, ""),
        Some(Value::String(text)) => (Some(text), ""),
        Some(Value::Regex { pattern, options }) => (Some(pattern), options),
        Some(_) => {
            return Err(Fault::new(
                51105,
                format!("{name} needs 'regex' to be of type string or regex"),
            ));
        }
    };
    let given = match options.value() {
        None | Some(Value::Null | Value::Undefined) => "",
        Some(Value::String(given)) => {
            if !own.is_empty() {
                return Err(Fault::new(
                    51107,
                    format!("{name}: found regex option(s) specified in both 'regex' and 'option' fields"),
                ));
            }
            given
        }
        Some(_) => {
            return Err(Fault::new(
                51106,
                format!("{name} needs 'options' to be of type string"),
            ));
        }
    };
    if pattern.is_some_and(|pattern| pattern.contains('\0')) {
        return Err(Fault::new(
            51109,
            format!("{name}: regular expression cannot contain an embedded null byte"),
        ));
    }
    if given.contains('\0') {
        return Err(Fault::new(
            51110,
            format!("{name}: regular expression options cannot contain an embedded null byte"),
        ));
    }
    let flags = if own.is_empty() { given } else { own };
    if let Some(wrong) = flags.chars().find(|flag| !"imsxu".contains(*flag)) {
        return Err(Fault::new(
            51108,
            format!("{name} invalid flag in regex options: {wrong}"),
        ));
    }
    let compiled = pattern
        .map(|pattern| compiled(name, pattern, flags))
        .transpose()?;
    Ok(text.zip(compiled))
}

fn compiled(name: &str, pattern: &str, options: &str) -> Result<Rc<Pattern>> {
    let mut sorted: Vec<char> = options.chars().collect();
    sorted.sort_unstable();
    let options: String = sorted.into_iter().collect();
    PATTERNS.with_borrow_mut(|patterns| {
        if let Some(known) = patterns
            .iter()
            .find(|known| known.pattern() == pattern && known.options() == options)
        {
            return Ok(Rc::clone(known));
        }
        let new =
            Rc::new(Pattern::parse_for_expression(pattern, &options).map_err(|fault| invalid(name, fault))?);
        if patterns.len() >= KEPT {
            patterns.remove(0);
        }
        patterns.push(Rc::clone(&new));
        Ok(new)
    })
}

fn invalid(name: &str, fault: Fault) -> Fault {
    if fault.class() != Class::Request {
        return fault;
    }
    let reason = fault.message().rsplit("invalid: ").next().unwrap_or_default();
    Fault::new(51111, format!("Invalid Regex in {name}: {reason}"))
}

/// A search that was given up.
fn exhausted(name: &str) -> impl Fn(Exhausted) -> Fault {
    move |Exhausted(code)| {
        Fault::new(
            51156,
            format!("Error occurred while executing the regular expression in {name}. Result code: {code}"),
        )
    }
}

pub(super) fn is_match(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let found = match prepare(operator.name, arguments)? {
        Some((text, pattern)) => pattern.find(text).map_err(exhausted(operator.name))?,
        None => false,
    };
    Ok(Some(Owned::Bool(found)))
}

pub(super) fn find(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some((text, pattern)) = prepare(operator.name, arguments)? else {
        return Ok(Some(Owned::Null));
    };
    let spans = pattern.search(text, 0).map_err(exhausted(operator.name))?;
    let found = spans.map(|spans| found(text, 0, 0, &spans));
    Ok(Some(found.unwrap_or(Owned::Null)))
}

pub(super) fn find_all(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some((text, pattern)) = prepare(operator.name, arguments)? else {
        return Ok(Some(Owned::Array(Vec::new())));
    };
    let mut results = Vec::new();
    // Positions are counted on from the match before, so that all matches cost one pass.
    let (mut bytes, mut characters) = (0, 0);
    let mut start = 0;
    while let Some(spans) = pattern.search(text, start).map_err(exhausted(operator.name))? {
        let Some(Some((first, end))) = spans.first().copied() else {
            break;
        };
        let result = found(text, bytes, characters, &spans);
        (bytes, characters) = (first, position(text, bytes, characters, first));
        results.push(result);
        // An empty match may follow another one; behind it the next character is passed over, and so behind
        // one that only looks back.
        let passed = text[end..]
            .chars()
            .next()
            .filter(|_| first == end || end <= start);
        start = end + passed.map_or(0, char::len_utf8);
        // At the very end only what is found first counts.
        if start >= text.len() {
            break;
        }
    }
    Ok(Some(Owned::Array(results)))
}

/// How many characters lie before a byte, given how many lie before another one.
fn position(text: &str, bytes: usize, characters: usize, at: usize) -> usize {
    match text.get(bytes..at) {
        Some(between) => characters + between.chars().count(),
        None => text[..at].chars().count(),
    }
}

/// A match: its text, its position in characters, its groups.
fn found(text: &str, bytes: usize, characters: usize, spans: &Spans) -> Owned {
    let part = |span: Option<(usize, usize)>| {
        span.map_or(Owned::Null, |(start, end)| {
            Owned::String(text[start..end].to_owned())
        })
    };
    let whole = spans.first().copied().flatten();
    let start = whole.map_or(bytes, |(start, _)| start);
    let index = position(text, bytes, characters, start);
    Owned::Document(vec![
        ("match".to_owned(), part(whole)),
        ("idx".to_owned(), Owned::Int32(index as i32)),
        (
            "captures".to_owned(),
            Owned::Array(spans.iter().skip(1).copied().map(part).collect()),
        ),
    ])
}
