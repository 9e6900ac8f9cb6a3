//! The table of operators.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::super::super::collation::Collation;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::Result;
use super::parse::Parser;
use super::scalar::{OfTwo, Scalars};
use super::{Answer, Env, Node, Scope};

/// One operator: its name with the `$`, how its arguments are read, what it computes.
pub(super) struct Operator {
    pub(super) name: &'static str,
    pub(super) arguments: Arguments,
    pub(super) body: Body,
    /// Equal arguments give equal results, so constant ones can be computed at once.
    pub(super) is_pure: bool,
    /// Folds in place of the general rule; a node in return replaces the call.
    pub(super) fold: Option<Fold>,
    /// How it makes a scalar.
    pub(super) scalars: Option<Scalars>,
    /// Whether the call is true, of an operator that asks its arguments no more than that.
    pub(super) truth: Option<Truth>,
}

/// Asks the arguments of a call for no more than whether they are true.
pub(super) type Truth = fn(&[Node], Env<'_>) -> Result<bool>;

/// Looks at the arguments of a call; a node in return replaces the call.
pub(super) type Fold = fn(&mut Vec<Node>, Option<&Scope<'_>>) -> Result<Option<Node>>;

/// How an operator's arguments are read.
#[derive(Clone, Copy)]
pub(super) enum Arguments {
    Exactly(usize),
    Between(usize, usize),
    Any,
    Custom(fn(&mut Parser<'_>, &'static Operator, &Value<'_>) -> Result<Vec<Node>>),
}

/// A function of evaluated arguments.
pub(super) type Strict = fn(&'static Operator, &[Answer<'_>]) -> Result<Option<Owned>>;

/// A function of evaluated arguments that compares them.
pub(super) type Comparing = fn(&'static Operator, &[Answer<'_>], &Collation) -> Result<Option<Owned>>;

/// A function that evaluates the arguments it wants.
pub(super) type Lazy = for<'a> fn(&'static Operator, &'a [Node], Env<'a>) -> Result<Answer<'a>>;

/// A function that asks for its arguments by their positions, in an order of its own.
pub(super) type Asking =
    for<'a> fn(&'static Operator, &dyn Fn(usize) -> Result<Answer<'a>>) -> Result<Option<Owned>>;

#[derive(Clone, Copy)]
pub(super) enum Body {
    Strict(Strict),
    Comparing(Comparing),
    Lazy(Lazy),
    Asking(Asking),
}

/// An operator that evaluates all its arguments.
pub(super) const fn strict(name: &'static str, arguments: Arguments, function: Strict) -> Operator {
    Operator {
        name,
        arguments,
        body: Body::Strict(function),
        is_pure: true,
        fold: None,
        scalars: None,
        truth: None,
    }
}

/// An operator that evaluates all its arguments and compares them.
pub(super) const fn comparing(name: &'static str, arguments: Arguments, function: Comparing) -> Operator {
    Operator {
        name,
        arguments,
        body: Body::Comparing(function),
        is_pure: true,
        fold: None,
        scalars: None,
        truth: None,
    }
}

/// An operator that evaluates the arguments it wants.
pub(super) const fn lazy(name: &'static str, arguments: Arguments, function: Lazy) -> Operator {
    Operator {
        name,
        arguments,
        body: Body::Lazy(function),
        is_pure: true,
        fold: None,
        scalars: None,
        truth: None,
    }
}

/// An operator that asks for the arguments it wants, one by one.
pub(super) const fn asking(name: &'static str, arguments: Arguments, function: Asking) -> Operator {
    Operator {
        name,
        arguments,
        body: Body::Asking(function),
        is_pure: true,
        fold: None,
        scalars: None,
        truth: None,
    }
}

/// The same operator, which makes scalars so.
pub(super) const fn scalars(mut operator: Operator, scalars: Scalars) -> Operator {
    operator.scalars = Some(scalars);
    operator
}

/// The same operator, which makes this of two scalars.
pub(super) const fn of_two(operator: Operator, function: OfTwo) -> Operator {
    scalars(operator, Scalars::OfTwo(function))
}

/// The same operator, but not computed before the run: the server does not optimize it, so that what is wrong with
/// constants is said only where there are documents.
pub(super) const fn at_run(mut operator: Operator) -> Operator {
    operator.is_pure = false;
    operator
}

/// The same operator, whose arguments are not computed before the run either.
pub(super) const fn as_written(mut operator: Operator) -> Operator {
    operator.fold = Some(|_, _| Ok(None));
    operator
}

/// The names of all operators.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .map(|operator| operator.name)
}

/// Operators of the server that the engine does not have.
pub(super) const NOT_HERE: &[&str] = &["$function"];

/// The operator with this name.
pub(super) fn find(name: &str) -> Option<&'static Operator> {
    static TABLE: OnceLock<HashMap<&'static str, &'static Operator>> = OnceLock::new();
    TABLE
        .get_or_init(|| {
            FAMILIES
                .iter()
                .flat_map(|family| family.iter())
                .map(|operator| (operator.name, operator))
                .collect()
        })
        .get(name)
        .copied()
}

static FAMILIES: &[&[Operator]] = &[
    super::accumulate::OPERATORS,
    super::arithmetic::OPERATORS,
    super::arithmetic::TRIGONOMETRY,
    super::array::OPERATORS,
    super::boolean::OPERATORS,
    super::comparison::OPERATORS,
    super::convert::OPERATORS,
    super::date::OPERATORS,
    super::hashed::OPERATORS,
    super::meta::OPERATORS,
    super::object::OPERATORS,
    super::set::OPERATORS,
    super::string::OPERATORS,
    super::variable::OPERATORS,
];

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
