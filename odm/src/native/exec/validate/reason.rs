//! Why a document does not match a filter, in the words of the server's `errInfo.details`.

use super::super::super::aggregate::expression::{Expression, Scope};
use super::super::super::collation::Collation;
pub(super) use super::super::super::document::owned::field;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::{self, Matcher};
use super::leaf::Leaf;
use super::schema::{self, Because};

/// One condition of a filter.
struct Clause<'a> {
    /// The condition as a filter of its own.
    filter: Vec<u8>,
    /// As it is said to be written.
    written: Vec<u8>,
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
    Leaf(Leaf<'a>),
    /// `$sampleRate`.
    Chance,
    Other(&'a str),
}

/// What is explained.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) doc: Doc<'a>,
    /// How strings compare.
    pub(super) collation: &'a Collation,
}

impl Case<'_> {
    /// Whether the document matches a filter, or if `inverted` does not. An expression that fails makes neither so.
    fn is_so(&self, filter: Doc<'_>, inverted: bool) -> bool {
        Matcher::parse_as_written(filter)
            .and_then(|matcher| matcher.collated(self.collation).without_clock().matches(self.doc))
            .is_ok_and(|matches| matches != inverted)
    }
}

pub(super) fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

/// Why the document does not match.
///
/// # Errors
/// Code 4994600 where a condition is always true or false: the server has no words for that.
pub(super) fn of_filter(filter: Doc<'_>, case: Case<'_>) -> Result<Fields> {
    if let Some(constant) = constant(filter) {
        let message = format!(
            "Cannot generate validation error details: no annotation found for expression {{ {constant}: 1 }}"
        );
        return Err(Fault::new(code::NO_ANNOTATION, message));
    }
    Ok(explain(filter, case, false))
}

/// The first condition that looks at nothing.
fn constant(filter: Doc<'_>) -> Option<&'static str> {
    filter
        .elements()
        .find_map(|element| match (element.name_str(), element.value()) {
            ("$alwaysTrue", _) => Some("$alwaysTrue"),
            ("$alwaysFalse", _) => Some("$alwaysFalse"),
            ("$and" | "$or" | "$nor", Value::Array(items)) => {
                items.values().find_map(|item| constant(item.as_document()?))
            }
            _ => None,
        })
}

/// Why the document does not match, or if `inverted` why it does; `None` when that is not so.
fn explain_checked(filter: Doc<'_>, case: Case<'_>, inverted: bool) -> Option<Fields> {
    (!case.is_so(filter, inverted)).then(|| explain(filter, case, inverted))
}

/// Why the document does not match, or if `inverted` why it does: it is known that this is so.
///
/// Of conditions that must all hold, only those are told that do not; that all of them hold needs no question. The
/// server asks neither where an expression among them fails, and gives reasons for all.
fn explain(filter: Doc<'_>, case: Case<'_>, inverted: bool) -> Fields {
    let clauses = clauses(filter);
    if let [only] = clauses.as_slice() {
        return only.explain(case, inverted);
    }
    let told = clauses.iter().enumerate();
    let told = told.filter(|(_, clause)| inverted || !case.is_so(Doc::Raw(&clause.filter), false));
    let found = told.map(|(at, clause)| indexed(at, clause.about(), clause.explain(case, inverted)));
    vec![
        field("operatorName", text("$and")),
        field(clauses_name(inverted), Owned::Array(found.collect())),
    ]
}

fn clauses_name(inverted: bool) -> &'static str {
    match inverted {
        true => "clausesSatisfied",
        false => "clausesNotSatisfied",
    }
}

/// The explanation of one of several conditions.
fn indexed(at: usize, about: Fields, explanation: Fields) -> Owned {
    let mut entry = vec![field("index", Owned::Int32(at as i32))];
    entry.extend(about);
    entry.push(field("details", Owned::Document(explanation)));
    Owned::Document(entry)
}

/// What the members of a list say of themselves, where one is a schema and nothing else.
fn about(filter: Doc<'_>) -> Fields {
    match clauses(filter).as_slice() {
        [only] => only.about(),
        _ => Vec::new(),
    }
}

fn clauses(filter: Doc<'_>) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    for element in filter.elements() {
        let (name, value) = (element.name_str(), element.value());
        let whole = |kind| Clause {
            filter: single(name, value.into()),
            written: single(name, value.into()),
            kind,
        };
        match (name, value) {
            ("$comment", _) => {}
            ("$and" | "$or" | "$nor", Value::Array(items)) => clauses.push(whole(Kind::List(name, items))),
            ("$jsonSchema", Value::Document(schema)) => clauses.push(whole(Kind::Schema(schema))),
            ("$expr", _) => clauses.push(whole(Kind::Expression(value))),
            ("$sampleRate", _) => clauses.push(whole(Kind::Chance)),
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
                    let filter = single(name, Owned::Document(condition));
                    clauses.push(Clause {
                        written: match operator {
                            "$regex" => single(name, value.into()),
                            _ => filter.clone(),
                        },
                        filter,
                        kind: match operator {
                            "$not" => Kind::Not(name, operand),
                            _ => Kind::Leaf(Leaf {
                                path: name,
                                operator,
                                operand,
                            }),
                        },
                    });
                }
            }
            (_, operand) => clauses.push(whole(Kind::Leaf(Leaf {
                path: name,
                operator: match operand {
                    Value::Regex { .. } => "$regex",
                    _ => "$eq",
                },
                operand,
            }))),
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
    /// What it says of itself.
    fn about(&self) -> Fields {
        match self.kind {
            Kind::Schema(schema) => schema::about(schema),
            _ => Vec::new(),
        }
    }

    fn explain(&self, case: Case<'_>, inverted: bool) -> Fields {
        match &self.kind {
            Kind::List(operator, items) => {
                let inner = inverted != (*operator == "$nor");
                // Of several one is enough, or all are needed: then it is known of all that it is so.
                let known = inverted != (*operator == "$or");
                let found = items.values().enumerate().filter_map(|(at, item)| {
                    let filter = item.as_document()?;
                    let details = match known {
                        true => explain(filter, case, inner),
                        false => explain_checked(filter, case, inner)?,
                    };
                    Some(indexed(at, about(filter), details))
                });
                vec![
                    field("operatorName", text(operator)),
                    field(clauses_name(inner), Owned::Array(found.collect())),
                ]
            }
            Kind::Schema(_) if inverted => vec![
                field("operatorName", text("$jsonSchema")),
                field("reason", text("schema matched")),
            ],
            Kind::Schema(schema) => match schema::of_document(*schema, case.doc) {
                Because::Impossible(explained) => explained,
                Because::Rules(rules) => {
                    let mut explained = vec![field("operatorName", text("$jsonSchema"))];
                    explained.extend(schema::about(*schema));
                    explained.push(field("schemaRulesNotSatisfied", Owned::Array(rules)));
                    explained
                }
            },
            Kind::Expression(expression) => self.expression(*expression, case, inverted),
            Kind::Not(path, condition) => {
                let inner = single(path, Owned::from(*condition));
                let details = explain(Doc::Raw(&inner), case, !inverted);
                vec![
                    field("operatorName", text("$not")),
                    field("details", Owned::Document(details)),
                ]
            }
            Kind::Leaf(leaf) => {
                let mut explained = self.specified(leaf.operator);
                explained.extend(leaf.explain(case.doc, inverted));
                explained
            }
            Kind::Chance => {
                let mut explained = self.specified("$sampleRate");
                explained.push(field("reason", text(expression_reason(inverted))));
                explained.push(field("expressionResult", Owned::Bool(inverted)));
                explained
            }
            Kind::Other(operator) => self.specified(operator),
        }
    }

    /// The operator, and the condition as it is written.
    fn specified(&self, operator: &str) -> Fields {
        vec![
            field("operatorName", text(operator)),
            field("specifiedAs", Owned::RawDocument(self.written.clone())),
        ]
    }

    fn expression(&self, expression: Value<'_>, case: Case<'_>, inverted: bool) -> Fields {
        let mut scope = Scope::new(case.doc, matcher::now());
        scope.collation = case.collation.clone();
        let result = Expression::parse(&expression, &[]).and_then(|mut parsed| {
            parsed.set_without_clock();
            parsed.evaluate(&scope)
        });
        let reason = match &result {
            Err(_) => "failed to evaluate aggregation expression",
            Ok(_) => expression_reason(inverted),
        };
        let mut explained = self.specified("$expr");
        explained.push(field("reason", text(reason)));
        match result {
            Ok(Some(result)) => explained.push(field("expressionResult", result)),
            Ok(None) => {}
            Err(fault) => explained.push(field("details", Owned::Document(failure(&fault)))),
        }
        explained
    }
}

fn expression_reason(inverted: bool) -> &'static str {
    match inverted {
        true => "expression did match",
        false => "expression did not match",
    }
}

/// A failure, as part of an explanation.
pub(super) fn failure(fault: &Fault) -> Fields {
    vec![
        field("code", Owned::Int32(fault.code())),
        field("codeName", Owned::String(code::name(fault.code()))),
        field("errmsg", text(fault.message())),
    ]
}
