//! From BSON to expression nodes.

use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::{path, print};
use super::operator::{self, Arguments, Operator};
use super::{Base, Node};

/// How deep expressions may nest: beyond what the depth of documents lets through anyway.
const MAX_NESTING: usize = 200;

/// Refuses an operator that lacks an argument: each that it must have, its name, and the code without it.
pub(super) fn required<'a>(
    arguments: impl IntoIterator<Item = (&'a Node, &'a str, i32)>,
    missing: impl FnOnce(&str) -> String,
) -> Result<()> {
    let mut arguments = arguments.into_iter();
    match arguments.find(|(node, ..)| matches!(node, Node::Absent)) {
        Some((_, name, code)) => Err(Fault::new(code, missing(name))),
        None => Ok(()),
    }
}

/// The place of a name among those that an operator has.
fn position_of(name: &str, names: &[&str], unknown: &impl Fn(&str) -> Fault) -> Result<usize> {
    let position = names.iter().position(|other| *other == name);
    position.ok_or_else(|| unknown(name))
}

/// The code of what asks for a search's figures, where there is none.
pub(crate) const NO_SEARCH: i32 = 6_347_903;

/// Reads expressions, knowing the variables in sight.
pub(super) struct Parser<'v> {
    outer: &'v [String],
    /// The variables bound inside the expression, one frame for each operator that binds some.
    frames: Vec<Vec<String>>,
    nesting: usize,
}

impl<'v> Parser<'v> {
    pub(super) fn new(outer: &'v [String]) -> Parser<'v> {
        Parser {
            outer,
            frames: Vec::new(),
            nesting: 0,
        }
    }

    /// Any expression: path, variable, object, array or literal.
    pub(super) fn operand(&mut self, value: &Value<'_>) -> Result<Node> {
        match *value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(path) => self.path(path),
                None => Ok(Node::Constant(Owned::from(*value))),
            },
            Value::Document(doc) => self.object(doc),
            Value::Array(items) => {
                let items = self.nested(|parser| {
                    items
                        .values()
                        .map(|item| parser.operand(&item))
                        .collect::<Result<Vec<_>>>()
                })?;
                Ok(Node::Array(items))
            }
            _ => Ok(Node::Constant(Owned::from(*value))),
        }
    }

    /// An operand, or [`Node::Absent`].
    pub(super) fn optional(&mut self, value: Option<Value<'_>>) -> Result<Node> {
        value.map_or(Ok(Node::Absent), |value| self.operand(&value))
    }

    /// `{$operator: ..}` or an object of expressions.
    pub(super) fn object(&mut self, doc: Doc<'_>) -> Result<Node> {
        let Some(first) = doc.elements().next() else {
            return Ok(Node::Constant(Owned::Document(Vec::new())));
        };
        if first.name().first() == Some(&b'$') {
            if doc.count() != 1 {
                return Err(Fault::new(
                    15983,
                    format!(
                        "An object representing an expression must have exactly one field: {}",
                        print::bson(doc)
                    ),
                ));
            }
            return self.call(first.name_str(), &first.value());
        }
        self.nested(|parser| {
            let mut fields: Vec<(String, Node)> = Vec::new();
            for element in doc.elements() {
                let name = element.name_str();
                if fields.iter().any(|(other, _)| other == name) {
                    return Err(Fault::new(
                        16406,
                        format!(
                            "duplicate field name specified in object literal: {}",
                            print::bson(doc)
                        ),
                    ));
                }
                path::check_name(name)?;
                fields.push((name.to_owned(), parser.operand(&element.value())?));
            }
            Ok(Node::Object(fields))
        })
    }

    /// Parses `inner` with the variables `names` bound.
    pub(super) fn with_variables<T>(
        &mut self,
        names: Vec<String>,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.frames.push(names);
        let result = inner(self);
        self.frames.pop();
        result
    }

    /// The named arguments of an operator, in the order of `names`; [`Node::Absent`] where not given.
    pub(super) fn named(
        &mut self,
        doc: Doc<'_>,
        names: &[&str],
        unknown: impl Fn(&str) -> Fault,
    ) -> Result<Vec<Node>> {
        let mut arguments = vec![Node::Absent; names.len()];
        for element in doc.elements() {
            let position = position_of(element.name_str(), names, &unknown)?;
            arguments[position] = self.operand(&element.value())?;
        }
        Ok(arguments)
    }

    /// The same of an operator that looks at the names before it reads the arguments, in the order `reads` of their
    /// positions: of those that are needed, by position and code, none is missing then.
    pub(super) fn named_late(
        &mut self,
        doc: Doc<'_>,
        (operator, names): (&str, &[&str]),
        reads: &[usize],
        unknown: impl Fn(&str) -> Fault,
        needed: &[(usize, i32)],
    ) -> Result<Vec<Node>> {
        let mut given = vec![None; names.len()];
        for element in doc.elements() {
            let position = position_of(element.name_str(), names, &unknown)?;
            given[position] = Some(element.value());
        }
        for (position, code) in needed {
            if given[*position].is_none() {
                let name = names[*position];
                return Err(Fault::new(
                    *code,
                    format!("Missing '{name}' parameter to {operator}"),
                ));
            }
        }
        let mut arguments = vec![Node::Absent; names.len()];
        for position in reads {
            if let Some(value) = &given[*position] {
                arguments[*position] = self.operand(value)?;
            }
        }
        Ok(arguments)
    }

    /// The arguments of an operator that takes a list: the items of an array, or one alone.
    pub(super) fn list(&mut self, value: &Value<'_>) -> Result<Vec<Node>> {
        match value {
            Value::Array(items) => items.values().map(|item| self.operand(&item)).collect(),
            _ => Ok(vec![self.operand(value)?]),
        }
    }

    fn call(&mut self, name: &str, value: &Value<'_>) -> Result<Node> {
        let Some(operator) = operator::find(name) else {
            return Err(match operator::NOT_HERE.contains(&name) {
                true => Fault::unsupported(format!("the native engine runs no JavaScript ({name})")),
                false => Fault::new(168, format!("Unrecognized expression '{name}'")),
            });
        };
        self.nested(|parser| {
            let arguments = parser.arguments(operator, value)?;
            if operator.name == "$literal" || operator.name == "$const" {
                return Ok(arguments.into_iter().next().unwrap_or(Node::Remove));
            }
            Ok(Node::Call { operator, arguments })
        })
    }

    fn arguments(&mut self, operator: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
        let (least, most) = match operator.arguments {
            Arguments::Custom(parse) => return parse(self, operator, value),
            Arguments::Any => return self.list(value),
            Arguments::Exactly(count) => (count, count),
            Arguments::Between(least, most) => (least, most),
        };
        let arguments = self.list(value)?;
        let given = arguments.len();
        if (least..=most).contains(&given) {
            return Ok(arguments);
        }
        // An older name of it.
        let name = match operator.name {
            "$substr" => "$substrBytes",
            name => name,
        };
        Err(if least == most {
            Fault::new(
                16020,
                format!("Expression {name} takes exactly {least} arguments. {given} were passed in."),
            )
        } else {
            Fault::new(
                28667,
                format!(
                    "Expression {} takes at least {least} arguments, and at most {most}, but {given} were passed in.",
                    operator.name
                ),
            )
        })
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Fault::new(code::OVERFLOW, "expression nested too deeply"));
        }
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    /// A path without its first `$`.
    fn path(&self, text: &str) -> Result<Node> {
        let Some(text) = text.strip_prefix('$') else {
            if text.is_empty() {
                return Err(Fault::new(16872, "'$' by itself is not a valid FieldPath"));
            }
            return Ok(Node::Path {
                base: self.find("CURRENT").unwrap_or(Base::Root),
                segments: below_variable(text)?,
            });
        };
        let (variable, rest) = match text.split_once('.') {
            Some((variable, rest)) => (variable, Some(rest)),
            None => (text, None),
        };
        check_variable_name(variable, false)?;
        let base = match self.find(variable) {
            Some(base) => base,
            None => match variable {
                "ROOT" | "CURRENT" => Base::Root,
                "NOW" => Base::Now,
                "REMOVE" => {
                    below(rest)?;
                    return Ok(Node::Remove);
                }
                "CLUSTER_TIME" => Base::ClusterTime,
                "JS_SCOPE" => Base::Unavailable("JS_SCOPE"),
                "IS_MR" => Base::Unavailable("IS_MR"),
                "SEARCH_META" => {
                    below(rest)?;
                    return Err(Fault::new(
                        NO_SEARCH,
                        "Can't access $$SEARCH_META without a $search stage earlier in the pipeline",
                    ));
                }
                _ => {
                    return Err(Fault::new(
                        17276,
                        format!("Use of undefined variable: {variable}"),
                    ));
                }
            },
        };
        Ok(Node::Path {
            base,
            segments: below(rest)?,
        })
    }

    /// The variable of this name that is nearest.
    pub(super) fn find(&self, name: &str) -> Option<Base> {
        for (frame, names) in self.frames.iter().rev().enumerate() {
            if let Some(index) = names.iter().rposition(|other| other == name) {
                return Some(Base::Local {
                    frame,
                    index,
                    name: name.into(),
                });
            }
        }
        self.outer
            .iter()
            .any(|other| other == name)
            .then(|| Base::Outer(name.to_owned()))
    }
}

/// Refuses what cannot name a variable; to define one (`define`) it must also start in lower case.
pub(crate) fn check_variable_name(name: &str, define: bool) -> Result<()> {
    let Some(first) = name.bytes().next() else {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "empty variable names are not allowed",
        ));
    };
    if define && name == "CURRENT" {
        return Ok(());
    }
    if !(first.is_ascii_lowercase() || first >= 0x80 || (!define && first.is_ascii_uppercase())) {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            format!("'{name}' starts with an invalid character for a user variable name"),
        ));
    }
    match name
        .chars()
        .find(|c| !(c.is_ascii_alphanumeric() || *c == '_' || !c.is_ascii()))
    {
        Some(wrong) => Err(Fault::new(
            code::FAILED_TO_PARSE,
            format!("'{name}' contains an invalid character for a variable name: '{wrong}'"),
        )),
        None => Ok(()),
    }
}

/// What is behind the name of a variable, if something is.
fn below(rest: Option<&str>) -> Result<Vec<String>> {
    match rest {
        Some("") => Err(Fault::new(40353, "FieldPath must not end with a '.'.")),
        Some(rest) => below_variable(rest),
        None => Ok(Vec::new()),
    }
}

/// A path below a variable, whose name counts.
fn below_variable(path: &str) -> Result<Vec<String>> {
    let segments = path::parse(path)?;
    path::check_length(segments.len() + 1)?;
    Ok(segments)
}
