//! What is wrong with attributes.

use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind, Violation};

use super::value::Kind;

/// What is wrong with an attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AttributeProblem {
    /// The attribute.
    pub attribute: String,
    /// What is wrong.
    pub kind: AttributeProblemKind,
}

/// Kinds of problems.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AttributeProblemKind {
    /// It is required.
    Missing,
    /// The type of product has no such attribute.
    Unknown,
    /// The value is of another kind.
    WrongKind {
        /// What it should be.
        expected: Kind,
        /// What it is.
        found: Kind,
    },
    /// The attribute has one value, or, of many, at least one.
    NotOne,
    /// The attribute has no units, or none of this name.
    WrongUnit(String),
    /// The number is not finite, or would not be in the attribute's unit.
    NotFinite,
    /// The attribute is measured in units, and the value has none.
    NoUnit,
    /// The value is beyond the bounds.
    OutOfRange,
    /// The value is none of the choices.
    NoChoice,
}

/// What is wrong with the attributes of a product: the source of an error of kind `Validation`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// All of it.
    pub problems: Vec<AttributeProblem>,
}

/// What is wrong with a stored product.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProductProblem {
    /// The `_id`.
    pub id: Bson,
    /// What is wrong.
    pub kind: ProductProblemKind,
}

/// Kinds of problems with stored products.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProductProblemKind {
    /// Nothing is known of its type.
    UnknownType(String),
    /// An attribute is not as it is defined.
    Attribute(AttributeProblem),
    /// The attributes are of the other form.
    OtherForm,
    /// The attributes are of neither form, or missing.
    Malformed,
    /// What is searched by is not what follows from what was given: the number in the attribute's unit, a number of another
    /// type, one value in place of a list, a value twice.
    NotNormal(String),
}

impl AttributeProblem {
    pub(super) fn new(attribute: &str, kind: AttributeProblemKind) -> AttributeProblem {
        AttributeProblem {
            attribute: attribute.to_owned(),
            kind,
        }
    }

    /// The broken rule, of attributes in this field.
    pub(super) fn violation(&self, field: Option<&str>) -> Violation {
        let rule = match &self.kind {
            AttributeProblemKind::Missing => "required",
            AttributeProblemKind::Unknown => "known",
            AttributeProblemKind::WrongKind { .. } => "kind",
            AttributeProblemKind::NotOne => "number_of_values",
            AttributeProblemKind::WrongUnit(_) | AttributeProblemKind::NoUnit => "unit",
            AttributeProblemKind::NotFinite => "finite",
            AttributeProblemKind::OutOfRange => "range",
            AttributeProblemKind::NoChoice => "one_of",
        };
        let path = match field {
            Some(field) => format!("{field}.{}", self.attribute),
            None => self.attribute.clone(),
        };
        Violation::new(path, rule, self.said())
    }

    fn said(&self) -> String {
        match &self.kind {
            AttributeProblemKind::Missing => "is missing".to_owned(),
            AttributeProblemKind::Unknown => "is not an attribute of the type".to_owned(),
            AttributeProblemKind::WrongKind { expected, found } => {
                format!("is {found:?} and should be {expected:?}")
            }
            AttributeProblemKind::NotOne => "has the wrong number of values".to_owned(),
            AttributeProblemKind::WrongUnit(unit) => format!("is not measured in {unit}"),
            AttributeProblemKind::NotFinite => "is not a finite number".to_owned(),
            AttributeProblemKind::NoUnit => "lacks a unit".to_owned(),
            AttributeProblemKind::OutOfRange => "is out of range".to_owned(),
            AttributeProblemKind::NoChoice => "is none of the choices".to_owned(),
        }
    }
}

impl fmt::Display for AttributeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.attribute, self.said())
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Rejected {}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Error {
        let text = match rejected.problems.as_slice() {
            [] => "the attributes are not as they are defined".to_owned(),
            _ => format!("the attributes are not as they are defined: {rejected}"),
        };
        let violations = rejected.problems.iter().map(|problem| problem.violation(None));
        let error = Error::new(ErrorKind::Validation, text).with_violations(violations.collect());
        error.with_source(rejected)
    }
}
