//! What is wrong with attributes.

use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

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
}

impl fmt::Display for AttributeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.attribute;
        match &self.kind {
            AttributeProblemKind::Missing => write!(f, "{name} is missing"),
            AttributeProblemKind::Unknown => write!(f, "{name} is not an attribute of the type"),
            AttributeProblemKind::WrongKind { expected, found } => {
                write!(f, "{name} is {found:?} and should be {expected:?}")
            }
            AttributeProblemKind::NotOne => write!(f, "{name} has the wrong number of values"),
            AttributeProblemKind::WrongUnit(unit) => write!(f, "{name} is not measured in {unit}"),
            AttributeProblemKind::NoUnit => write!(f, "{name} lacks a unit"),
            AttributeProblemKind::OutOfRange => write!(f, "{name} is out of range"),
            AttributeProblemKind::NoChoice => write!(f, "{name} is none of the choices"),
        }
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
        let first = rejected.problems.first().map(|problem| problem.attribute.clone());
        let message = format!("the attributes are not as they are defined: {rejected}");
        let error = Error::new(ErrorKind::Validation, message);
        error.with_path(first.unwrap_or_default()).with_source(rejected)
    }
}
