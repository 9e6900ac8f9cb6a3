//! Why a document does not match a filter, in the words of the server's `errInfo.details`.

use super::super::super::aggregate::expression::{Expression, Scope};
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::Fault;
use super::super::super::matcher::{self, Matcher};
use super::schema;

/// One condition of a filter.
struct Clause<'a> {
    /// The condition as a filter of its own.
    filter: Vec<u8>,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// `$and`, `$or`, `$nor`.
    List(&'a str, Doc<'a>),
    Schema(Doc<'a>),
    Expression(Value<'a>),
    /// `path: {$not: condition}`.
    Not(&'a str, Value<'a>),
    /// A test of the values at a path.
    Leaf {
        path: &'a str,
        operator: &'a str,
    },
    Other(&'a str),
}

pub(super) fn field(name: &str, value: Owned) -> (String, Owned) {
    (name.to_owned(), value)
}

pub(super) fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

/// Why the document does not match.
pub(super) fn of_filter(filter: Doc<'_>, doc: Doc<'_>) -> Fields {
    explain(filter, doc, false).unwrap_or_default()
}

/// Why the document does not match, or if `inverted` why it does; `None` when that is not so.
fn explain(filter: Doc<'_>, doc: Doc<'_>, inverted: bool) -> Option<Fields> {
    let clauses = clauses(filter);
    if let [only] = clauses.as_slice() {
        return only.explain(doc, inverted);
    }
    let found = indexed(clauses.iter().map(|clause| clause.explain(doc, inverted)));
    (!found.is_empty()).then(|| {
        let name = if inverted {
            "clausesSatisfied"
        } else {
            "clausesNotSatisfied"
        };
        vec![
            field("operatorName", text("$and")),
            field(name, Owned::Array(found)),
        ]
    })
}

/// The explanations there are, each with its position.
fn indexed(explanations: impl Iterator<Item = Option<Fields>>) -> Vec<Owned> {
    explanations
        .enumerate()
        .filter_map(|(at, explanation)| Some((at, explanation?)))
        .map(|(at, explanation)| {
            Owned::Document(vec![
                field("index", Owned::Int32(at as i32)),
                field("details", Owned::Document(explanation)),
            ])
        })
        .collect()
}

fn clauses(filter: Doc<'_>) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    for element in filter.elements() {
        let (name, value) = (element.name_str(), element.value());
        let whole = |kind| Clause {
            filter: single(name, value.into()),
            kind,
        };
        match (name, value) {
            ("$comment", _) => {}
            ("$and" | "$or" | "$nor", Value::Array(items)) => clauses.push(whole(Kind::List(name, items))),
            ("$jsonSchema", Value::Document(schema)) => clauses.push(whole(Kind::Schema(schema))),
            ("$expr", _) => clauses.push(whole(Kind::Expression(value))),
            _ if name.starts_with('$') => clauses.push(whole(Kind::Other(name))),
            (_, Value::Document(tests)) if is_operators(tests) => {
                let options = tests.get("$options");
                for test in tests.elements() {
                    let (operator, operand) = (test.name_str(), test.value());
                    if operator == "$options" {
                        continue;
                    }
                    let mut condition = vec![field(operator, operand.into())];
                    if let ("$regex", Some(options)) = (operator, options) {
                        condition.push(field("$options", options.into()));
                    }
                    clauses.push(Clause {
                        filter: single(name, Owned::Document(condition)),
                        kind: match operator {
                            "$not" => Kind::Not(name, operand),
                            _ => Kind::Leaf { path: name, operator },
                        },
                    });
                }
            }
            (_, Value::Regex { .. }) => clauses.push(whole(Kind::Leaf {
                path: name,
                operator: "$regex",
            })),
            _ => clauses.push(whole(Kind::Leaf {
                path: name,
                operator: "$eq",
            })),
        }
    }
    clauses
}

fn is_operators(doc: Doc<'_>) -> bool {
    doc.elements()
        .next()
        .is_some_and(|first| first.name_str().starts_with('$') && first.name_str() != "$ref")
}

fn single(name: &str, value: Owned) -> Vec<u8> {
    Doc::Fields(&[field(name, value)]).to_bytes()
}

impl Clause<'_> {
    fn explain(&self, doc: Doc<'_>, inverted: bool) -> Option<Fields> {
        // What cannot be evaluated is wrong whichever way it is asked.
        let matcher = Matcher::parse(Doc::Raw(&self.filter)).ok()?.without_clock();
        let matches = matcher.matches(doc);
        if matches.is_ok_and(|matches| matches != inverted) {
            return None;
        }
        let specified = || {
            let Value::Document(filter) = Value::Document(Doc::Raw(&self.filter)) else {
                return field("specifiedAs", Owned::Null);
            };
            field("specifiedAs", Owned::RawDocument(filter.to_bytes()))
        };
        Some(match &self.kind {
            Kind::List(operator, items) => {
                let inner = inverted != (*operator == "$nor");
                let found = indexed(items.values().map(|item| match item {
                    Value::Document(filter) => explain(filter, doc, inner),
                    _ => None,
                }));
                let name = if inner {
                    "clausesSatisfied"
                } else {
                    "clausesNotSatisfied"
                };
                vec![
                    field("operatorName", text(operator)),
                    field(name, Owned::Array(found)),
                ]
            }
            Kind::Schema(schema) => vec![
                field("operatorName", text("$jsonSchema")),
                field(
                    "schemaRulesNotSatisfied",
                    Owned::Array(schema::of_document(*schema, doc)),
                ),
            ],
            Kind::Expression(expression) => {
                let scope = Scope::new(doc, matcher::now());
                let result = Expression::parse(expression, &[]).and_then(|mut parsed| {
                    parsed.set_without_clock();
                    parsed.evaluate(&scope)
                });
                let reason = match (&result, inverted) {
                    (Err(_), _) => "failed to evaluate aggregation expression",
                    (Ok(_), true) => "expression did match",
                    (Ok(_), false) => "expression did not match",
                };
                let mut explained = vec![
                    field("operatorName", text("$expr")),
                    specified(),
                    field("reason", text(reason)),
                ];
                match result {
                    Ok(Some(result)) => explained.push(field("expressionResult", result)),
                    Ok(None) => {}
                    Err(fault) => explained.push(field("details", Owned::Document(failure(&fault)))),
                }
                explained
            }
            Kind::Not(path, condition) => {
                let inner = single(path, Owned::from(*condition));
                let mut explained = vec![field("operatorName", text("$not"))];
                if let Some(details) = explain(Doc::Raw(&inner), doc, !inverted) {
                    explained.push(field("details", Owned::Document(details)));
                }
                explained
            }
            Kind::Leaf { path, operator } => {
                let mut explained = vec![field("operatorName", text(operator)), specified()];
                leaf(path, operator, doc, inverted, &mut explained);
                explained
            }
            Kind::Other(operator) => vec![field("operatorName", text(operator)), specified()],
        })
    }
}

/// What an expression failed with.
fn failure(fault: &Fault) -> Fields {
    vec![
        field("code", Owned::Int32(fault.code())),
        field("errmsg", text(fault.message())),
    ]
}

fn leaf(path: &str, operator: &str, doc: Doc<'_>, inverted: bool, out: &mut Fields) {
    if operator == "$exists" {
        let exists = !values_at(doc, path).is_empty();
        out.push(field(
            "reason",
            text(if exists {
                "path does exist"
            } else {
                "path does not exist"
            }),
        ));
        return;
    }
    let values = values_at(doc, path);
    if values.is_empty() {
        out.push(field("reason", text("field was missing")));
        return;
    }
    let whole = matches!(operator, "$size" | "$all" | "$elemMatch");
    let considered: Vec<Value<'_>> = values
        .iter()
        .flat_map(|value| match value {
            Value::Array(items) if !whole => items.values().collect::<Vec<_>>(),
            other => vec![*other],
        })
        .collect();
    let negative = matches!(operator, "$ne" | "$nin") != inverted;
    let expected = expected_types(operator);
    if let Some(expected) = expected
        && let [only] = considered.as_slice()
        && !expected.contains(&only.kind().alias())
        && !negative
    {
        out.push(field("reason", text("type did not match")));
        out.push(field("consideredType", text(only.kind().alias())));
        match expected {
            [single] => out.push(field("expectedType", text(single))),
            several => out.push(field(
                "expectedTypes",
                Owned::Array(several.iter().map(|name| text(name)).collect()),
            )),
        }
        out.push(field("consideredValue", (*only).into()));
        return;
    }
    out.push(field("reason", text(reason(operator, negative))));
    match considered.as_slice() {
        [only] => {
            out.push(field("consideredValue", (*only).into()));
            if operator == "$type" {
                out.push(field("consideredType", text(only.kind().alias())));
            }
        }
        several => {
            out.push(field(
                "consideredValues",
                Owned::Array(several.iter().map(|value| (*value).into()).collect()),
            ));
            if operator == "$type" {
                let mut kinds: Vec<&str> = several.iter().map(|value| value.kind().alias()).collect();
                kinds.sort_unstable();
                kinds.dedup();
                out.push(field(
                    "consideredTypes",
                    Owned::Array(kinds.into_iter().map(text).collect()),
                ));
            }
        }
    }
}

/// The types that an operator looks at; others do not match for their type alone.
fn expected_types(operator: &str) -> Option<&'static [&'static str]> {
    match operator {
        "$regex" => Some(&["regex", "string", "symbol"]),
        "$mod" => Some(&["decimal", "double", "int", "long"]),
        "$size" | "$all" | "$elemMatch" => Some(&["array"]),
        "$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear" => {
            Some(&["binData", "decimal", "double", "int", "long"])
        }
        _ => None,
    }
}

fn reason(operator: &str, negative: bool) -> &'static str {
    match (operator, negative) {
        ("$in" | "$nin", false) => "no matching value found in array",
        ("$in" | "$nin", true) => "matching value found in array",
        ("$type", false) => "type did not match",
        ("$type", true) => "type did match",
        ("$regex", false) => "regular expression did not match",
        ("$regex", true) => "regular expression did match",
        ("$mod", false) => "$mod did not evaluate to expected remainder",
        ("$mod", true) => "$mod did evaluate to expected remainder",
        ("$size", false) => "array length was not equal to given size",
        ("$size", true) => "array length was equal to given size",
        ("$all", false) => "array did not contain all specified values",
        ("$all", true) => "array did contain all specified values",
        ("$elemMatch", false) => "array did not satisfy the child predicate",
        ("$elemMatch", true) => "array did satisfy the child predicate",
        ("$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear", false) => {
            "bitwise operator failed to match"
        }
        ("$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear", true) => {
            "bitwise operator matched successfully"
        }
        (_, false) => "comparison failed",
        (_, true) => "comparison succeeded",
    }
}

/// The values at a dotted path; arrays on the way are entered by position and by element.
fn values_at<'a>(doc: Doc<'a>, path: &str) -> Vec<Value<'a>> {
    let mut values = vec![Value::Document(doc)];
    for segment in path.split('.') {
        let mut next = Vec::new();
        for value in values {
            match value {
                Value::Document(inner) => next.extend(inner.get(segment)),
                Value::Array(items) => {
                    next.extend(segment.parse().ok().and_then(|at| items.at(at)));
                    next.extend(
                        items
                            .values()
                            .filter_map(|item| item.as_document().and_then(|inner| inner.get(segment))),
                    );
                }
                _ => {}
            }
        }
        values = next;
    }
    values
}
