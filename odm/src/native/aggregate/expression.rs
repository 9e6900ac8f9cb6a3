//! Aggregation expressions: parsed once, evaluated over borrowed documents.
//!
//! Every operator is a row of its family's table: how its arguments are read, and a function of their
//! values. Operators that do not evaluate all their arguments get them unevaluated.

mod accumulate;
mod answer;
mod arithmetic;
mod array;
mod boolean;
pub(crate) mod compared;
mod comparison;
mod convert;
mod date;
mod described;
mod early;
mod evaluate;
mod gather;
mod hashed;
mod in_order;
mod meta;
mod object;
mod operator;
mod parse;
mod renamed;
mod scalar;
mod set;
mod shown;
mod string;
mod variable;
mod wide;

use super::super::collation::{Collation, has_text, is_one_text};
use super::super::document::{Doc, Owned, Value, compare};
use super::super::fault::Result;
use super::super::metadata::{Kind, Metadata, Wanted};
use super::super::needs::Needs;

pub(crate) use self::answer::{Answer, truth, type_name};
pub(crate) use self::arithmetic::{
    decimals, difference, is_zero, product, quotient, remainder, sum, to_long,
};
pub(crate) use self::array::{Offsets, count_argument};
pub(crate) use self::boolean::{AS_BOOL, no_case};
pub(crate) use self::compared::{Compared, Test};
pub(crate) use self::date::{Unit, date_text};
pub(crate) use self::object::merge_into;
#[cfg(test)]
pub(crate) use self::operator::names;
use self::operator::{Body, Operator};
pub(crate) use self::parse::{NO_SEARCH, check_variable_name};
pub(crate) use self::variable::random;
pub(crate) use self::wide::Wide;

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    node: Node,
    /// In how many conditions of a filter it stands, itself counted; 0 where it stands in none.
    depth: usize,
}

/// The variables an expression sees.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'a> {
    /// `$$ROOT`, and `$$CURRENT` unless rebound.
    pub(crate) root: Doc<'a>,
    /// Other variables by name, innermost last.
    pub(crate) variables: Vec<(String, Option<Owned>)>,
    /// What is known of how the document was found.
    pub(crate) metadata: Option<&'a Metadata>,
    /// `$$NOW`, milliseconds since the epoch.
    pub(crate) now: i64,
    /// How strings compare.
    pub(crate) collation: Collation,
    /// Whether operators answer as those of an early `$group` do.
    pub(crate) is_early: bool,
    /// Of what is in `root`.
    pub(crate) offsets: Offsets,
    /// Of `root` itself.
    pub(crate) wide: Wide,
}

impl<'a> Scope<'a> {
    /// A scope without variables of its own.
    pub(crate) fn new(root: Doc<'a>, now: i64) -> Scope<'a> {
        Scope {
            root,
            variables: Vec::new(),
            metadata: None,
            now,
            collation: Collation::default(),
            is_early: false,
            offsets: Offsets::default(),
            wide: Wide::default(),
        }
    }
}

/// One node of an expression tree.
#[derive(Clone, Debug)]
enum Node {
    Constant(Owned),
    /// `$$REMOVE`: constant, and no value.
    Remove,
    /// An optional argument that was not given.
    Absent,
    Path {
        base: Base,
        segments: Vec<String>,
    },
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Call {
        operator: &'static Operator,
        arguments: Vec<Node>,
    },
}

/// Where a path starts.
#[derive(Clone, Debug)]
enum Base {
    Root,
    Now,
    ClusterTime,
    /// A variable bound inside the expression: how many frames out, which of the frame, and as what it is shown.
    Local {
        frame: usize,
        index: usize,
        name: Box<str>,
    },
    /// A variable of the scope.
    Outer(String),
    Unavailable(&'static str),
}

impl Base {
    /// Whether this is known of it where no document is.
    fn is_known(&self, known: &Scope<'_>) -> bool {
        match self {
            Base::Now | Base::ClusterTime => true,
            Base::Outer(name) => known.variables.iter().any(|(other, _)| other == name),
            Base::Root | Base::Local { .. } | Base::Unavailable(_) => false,
        }
    }
}

/// What evaluation sees: the scope and the variables bound on the way in.
#[derive(Clone, Copy)]
struct Env<'a> {
    scope: &'a Scope<'a>,
    locals: Option<&'a Frame<'a>>,
}

/// The variables that one operator binds.
struct Frame<'a> {
    values: &'a [Answer<'a>],
    outer: Option<&'a Frame<'a>>,
}

impl Expression {
    /// Parses an expression; `variables` are the names defined outside (by `let`). Constant parts are
    /// computed here, and their errors come out here.
    pub(crate) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Expression> {
        let mut expression = Expression::parse_unfolded(value, variables)?;
        expression
            .fold(None)
            .map_err(|fault| fault.prefixed("Failed to optimize expression :: caused by :: "))?;
        Ok(expression)
    }

    /// Parses an expression and leaves its constant parts for [`Expression::fold`]: a pipeline reports
    /// what is wrong in any stage's grammar before it computes anything.
    pub(crate) fn parse_unfolded(value: &Value<'_>, variables: &[String]) -> Result<Expression> {
        let node = parse::Parser::new(variables).operand(value)?;
        Ok(Expression { node, depth: 0 })
    }

    /// A constant.
    pub(crate) fn constant(value: Owned) -> Expression {
        Expression {
            node: Node::Constant(value),
            depth: 0,
        }
    }

    /// Computes the parts that do not depend on the document. Those that depend on how strings compare, on the time or
    /// on variables wait until that is known.
    pub(crate) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.node.fold(known)
    }

    /// The metadata that it is, if it is no more than that.
    pub(crate) fn as_meta(&self) -> Option<Kind> {
        match &self.node {
            Node::Call { operator, arguments } if operator.name == "$meta" => meta::kind(arguments),
            _ => None,
        }
    }

    /// In how many conditions of a filter it stands, itself counted.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Says in how many conditions of a filter it stands.
    pub(crate) fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Whether all operators in it pass.
    pub(crate) fn all_operators(&self, test: &dyn Fn(&str) -> bool) -> bool {
        self.node.all_operators(test)
    }

    /// Says that a server has other means to evaluate it: those of an early `$group`.
    pub(crate) fn set_early(&mut self) {
        self.node.set_early();
    }

    /// Makes it fail where it asks for the time.
    pub(crate) fn set_without_clock(&mut self) {
        self.node.set_without_clock();
    }

    /// The value, if the expression is one known already.
    pub(crate) fn as_constant(&self) -> Option<&Owned> {
        match &self.node {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The same, also where that is no value.
    pub(crate) fn as_known(&self) -> Option<Option<&Owned>> {
        match &self.node {
            Node::Constant(value) => Some(Some(value)),
            Node::Remove => Some(None),
            _ => None,
        }
    }

    /// Whether it is a constant or a path of the document, which does not fail.
    pub(crate) fn is_plain(&self) -> bool {
        self.node.is_constant() || matches!(&self.node, Node::Path { base: Base::Root, .. })
    }

    /// The name of the field of the document that it is, if it is no more than that.
    pub(crate) fn as_field(&self) -> Option<&str> {
        match &self.node {
            Node::Path {
                base: Base::Root,
                segments,
            } => match segments.as_slice() {
                [name] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The path of the document that it is, if it is no more than that.
    pub(crate) fn as_path(&self) -> Option<String> {
        match &self.node {
            Node::Path {
                base: Base::Root,
                segments,
            } if !segments.is_empty() => Some(segments.join(".")),
            _ => None,
        }
    }

    /// Whether it looks at the document, or at what is known about it, when it is evaluated.
    pub(crate) fn reads_document(&self) -> bool {
        self.node.reads_document()
    }

    /// Adds the paths at which it looks at the document; `false` where it looks at all of it, or at how it was found.
    pub(crate) fn add_needs(&self, needs: &mut Needs) -> bool {
        self.node.add_needs(needs)
    }

    /// The metadata that it asks for.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        self.node.add_wanted(&mut wanted);
        wanted
    }

    /// Evaluates it; `None` is a missing value.
    pub(crate) fn evaluate(&self, scope: &Scope<'_>) -> Result<Option<Owned>> {
        Ok(self.answer(scope)?.into_owned())
    }

    /// Evaluates it without copying what is there already.
    pub(crate) fn answer<'a>(&'a self, scope: &'a Scope<'a>) -> Result<Answer<'a>> {
        self.node.evaluate(Env { scope, locals: None })
    }
}

/// Whether the server has an expression operator of this name (with its `$`).
pub(crate) fn is_operator(name: &str) -> bool {
    operator::find(name).is_some() || operator::NOT_HERE.contains(&name)
}

/// What stands for the operator of an array's items.
pub(crate) const ARRAY: &str = "[]";

impl Node {
    fn is_constant(&self) -> bool {
        matches!(self, Node::Constant(_) | Node::Remove | Node::Absent)
    }

    fn all_operators(&self, test: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Node::Object(fields) => fields.iter().all(|(_, node)| node.all_operators(test)),
            Node::Array(items) => test(ARRAY) && items.iter().all(|node| node.all_operators(test)),
            Node::Call { operator, arguments } => {
                test(operator.name) && arguments.iter().all(|node| node.all_operators(test))
            }
            _ => true,
        }
    }

    fn reads_document(&self) -> bool {
        match self {
            Node::Path { base, .. } => matches!(base, Base::Root),
            Node::Object(fields) => fields.iter().any(|(_, node)| node.reads_document()),
            Node::Array(items) => items.iter().any(Node::reads_document),
            Node::Call { operator, arguments } => {
                operator.name == "$meta" || arguments.iter().any(Node::reads_document)
            }
            Node::Constant(_) | Node::Remove | Node::Absent => false,
        }
    }

    fn add_needs(&self, needs: &mut Needs) -> bool {
        match self {
            Node::Path {
                base: Base::Root,
                segments,
            } => {
                if !segments.is_empty() {
                    needs.add(&segments.join("."));
                }
                !segments.is_empty()
            }
            Node::Object(fields) => fields.iter().all(|(_, node)| node.add_needs(needs)),
            Node::Array(items) => items.iter().all(|node| node.add_needs(needs)),
            Node::Call { operator, arguments } => {
                operator.name != "$meta" && arguments.iter().all(|node| node.add_needs(needs))
            }
            Node::Path { .. } | Node::Constant(_) | Node::Remove | Node::Absent => true,
        }
    }

    fn set_without_clock(&mut self) {
        match self {
            Node::Path { base, .. } => match base {
                Base::Now => *base = Base::Unavailable("NOW"),
                Base::ClusterTime => *base = Base::Unavailable("CLUSTER_TIME"),
                _ => {}
            },
            Node::Object(fields) => fields.iter_mut().for_each(|(_, node)| node.set_without_clock()),
            Node::Array(items) => items.iter_mut().for_each(Node::set_without_clock),
            Node::Call { arguments, .. } => arguments.iter_mut().for_each(Node::set_without_clock),
            Node::Constant(_) | Node::Remove | Node::Absent => {}
        }
    }

    fn set_early(&mut self) {
        match self {
            Node::Object(fields) => fields.iter_mut().for_each(|(_, node)| node.set_early()),
            Node::Array(items) => items.iter_mut().for_each(Node::set_early),
            Node::Call { operator, arguments } => {
                *operator = early::of(operator).unwrap_or(operator);
                arguments.iter_mut().for_each(Node::set_early);
            }
            _ => {}
        }
    }

    fn add_wanted(&self, wanted: &mut Wanted) {
        match self {
            Node::Object(fields) => fields.iter().for_each(|(_, node)| node.add_wanted(wanted)),
            Node::Array(items) => items.iter().for_each(|node| node.add_wanted(wanted)),
            Node::Call { operator, arguments } if operator.name == "$meta" => {
                meta::kind(arguments)
                    .into_iter()
                    .for_each(|kind| wanted.add(kind));
            }
            Node::Call { arguments, .. } => arguments.iter().for_each(|node| node.add_wanted(wanted)),
            _ => {}
        }
    }

    fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        let constant = match self {
            Node::Constant(_) | Node::Remove | Node::Absent => return Ok(()),
            Node::Path { base, .. } => match known {
                Some(known) if base.is_known(known) => true,
                _ => return Ok(()),
            },
            Node::Object(fields) => {
                for (_, node) in fields.iter_mut() {
                    node.fold(known)?;
                }
                fields.iter().all(|(_, node)| node.is_constant())
            }
            Node::Array(items) => {
                fold_all(items, known)?;
                items.iter().all(Node::is_constant)
            }
            Node::Call { operator, arguments } => {
                if let Some(fold) = operator.fold {
                    if let Some(node) = fold(arguments, known)? {
                        *self = node;
                    }
                    return Ok(());
                }
                fold_all(arguments, known)?;
                if !arguments.iter().all(Node::is_constant) {
                    if array::is_null_by_constants(operator, arguments)? {
                        *self = Node::Constant(Owned::Null);
                        return Ok(());
                    }
                    return gather::gather(operator, arguments, known);
                }
                let waits = known.is_none()
                    && matches!(operator.body, Body::Comparing(_))
                    && texts_meet(operator, arguments);
                if waits {
                    // What is wrong with them is known.
                    self.constant(known)?;
                    return Ok(());
                }
                operator.is_pure
            }
        };
        match constant {
            true => self.compute(known),
            false => Ok(()),
        }
    }

    /// Puts the value in the place of what depends on nothing.
    fn compute(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        *self = self.constant(known)?.map_or(Node::Remove, Node::Constant);
        Ok(())
    }

    /// The value of what depends on nothing.
    fn constant(&self, known: Option<&Scope<'_>>) -> Result<Option<Owned>> {
        let nothing = Scope::new(Doc::empty(), 0);
        let env = Env {
            scope: known.unwrap_or(&nothing),
            locals: None,
        };
        let mut constant = self.evaluate(env)?.into_owned();
        // Whoever looks at constants sees trees.
        constant.iter_mut().for_each(Owned::open_all);
        Ok(constant)
    }
}

/// Computes the constant parts of each.
fn fold_all(nodes: &mut [Node], known: Option<&Scope<'_>>) -> Result<()> {
    nodes.iter_mut().try_for_each(|node| node.fold(known))
}

/// Whether the operator may have to compare two different strings of its constants.
fn texts_meet(operator: &Operator, arguments: &[Node]) -> bool {
    if have_one_text(arguments) {
        return false;
    }
    let compares_arguments = match (operator.name, arguments) {
        ("$min" | "$max", _) => arguments.len() > 1,
        ("$in", [sought, _]) | ("$indexOfArray", [_, sought, ..]) => {
            return match sought {
                Node::Constant(value) => has_text(&value.as_value()),
                _ => false,
            };
        }
        _ => comparison::is_comparison(operator),
    };
    if !compares_arguments {
        return true;
    }
    let texts: Vec<Value<'_>> = arguments
        .iter()
        .filter_map(|node| match node {
            Node::Constant(value) => Some(value.as_value()).filter(has_text),
            _ => None,
        })
        .collect();
    let is_text = |value: &Value<'_>| matches!(value, Value::String(_) | Value::Symbol(_));
    // Values of two kinds have an order whatever is in them, and so have equal ones.
    let meet = |a: &Value<'_>, b: &Value<'_>| {
        (a.kind() == b.kind() || (is_text(a) && is_text(b))) && compare(a, b).is_ne()
    };
    texts
        .iter()
        .enumerate()
        .any(|(at, a)| texts[..at].iter().any(|b| meet(a, b)))
}

/// Whether all strings in constants are the same one.
fn have_one_text(arguments: &[Node]) -> bool {
    let mut text = None;
    arguments.iter().all(|node| match node {
        Node::Constant(value) => is_one_text(&value.as_value(), &mut text),
        _ => true,
    })
}

#[cfg(test)]
mod tests;
