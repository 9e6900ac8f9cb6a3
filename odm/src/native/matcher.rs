//! Filters: parsed once, evaluated over borrowed documents.
//!
//! Parsing gives every complaint that MongoDB gives, so that evaluating can fail in `$expr` only.

mod evaluate;
mod identity;
pub(crate) mod integer;
mod movable;
mod names;
pub(crate) mod near;
pub(crate) mod never;
mod operator;
mod order;
mod parse;
mod places;
mod scan;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub(crate) mod ast;
pub(crate) mod pattern;
pub(crate) mod reach;
pub(crate) mod schema;
mod shape;
pub(crate) mod shown;
mod special;

use std::time::{SystemTime, UNIX_EPOCH};

use self::ast::{NearField, Node, Predicate};
use self::evaluate::Subject;
pub(crate) use self::evaluate::truthy;
pub(crate) use self::movable::Changes;
pub(crate) use self::names::names;
#[cfg(test)]
pub(crate) use self::operator::OPERATORS;
#[cfg(test)]
pub(crate) use self::parse::PATHLESS;
pub(crate) use self::parse::is_expression;
use self::parse::{Level, Parser};
pub(crate) use self::places::{Asked, Places};
pub(crate) use self::text::Scoring;
use super::aggregate::expression::Scope;
use super::collation::Collation;
use super::document::{Doc, Owned, Value};
use super::fault::Result;

/// A parsed filter.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    root: Node,
    context: Context,
}

/// How a filter is read.
#[derive(Clone, Copy, Default)]
struct Reading {
    /// It may ask for nearness.
    ordered: bool,
    order: Order,
}

/// In which order conditions are asked: it shows where one of them is an expression that fails.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Order {
    /// A query's: by their kinds.
    #[default]
    Kinds,
    /// A stage's: as they are written, and what is nested last.
    Stage,
    /// A validator's: as they are written.
    Written,
}

/// What is known of a filter beside what it asks: above all what its expressions see beside the document.
#[derive(Clone, Debug, Default)]
struct Context {
    /// Whether it was written with a schema, which may have become conditions on fields.
    has_schema: bool,
    variables: Vec<(String, Option<Owned>)>,
    /// `$$NOW`: the same for all documents of one operation.
    now: i64,
    /// How the strings of expressions compare; those of predicates know themselves.
    collation: Collation,
}

impl Matcher {
    /// Parses a filter document with MongoDB's rules and errors.
    pub(crate) fn parse(filter: Doc<'_>) -> Result<Matcher> {
        Matcher::parse_with(filter, Vec::new())
    }

    /// Parses a filter whose `$expr` may use variables (an operation's `let`).
    pub(crate) fn parse_with(filter: Doc<'_>, variables: Vec<(String, Option<Owned>)>) -> Result<Matcher> {
        Matcher::parse_where(filter, variables, Reading::default())
    }

    /// Parses a filter whose conditions are asked one after the other as they are written: a validator's.
    pub(crate) fn parse_as_written(filter: Doc<'_>) -> Result<Matcher> {
        let reading = Reading {
            order: Order::Written,
            ..Reading::default()
        };
        Matcher::parse_where(filter, Vec::new(), reading)
    }

    /// Parses the filter of a stage, which asks its conditions as they are written, but for those of an `$and` among them.
    pub(crate) fn parse_stage(filter: Doc<'_>, variables: Vec<(String, Option<Owned>)>) -> Result<Matcher> {
        let reading = Reading {
            order: Order::Stage,
            ..Reading::default()
        };
        Matcher::parse_where(filter, variables, reading)
    }

    /// Parses the filter of a query, which may be `$near` a place: its documents come in that order.
    pub(crate) fn parse_query(filter: Doc<'_>, variables: Vec<(String, Option<Owned>)>) -> Result<Matcher> {
        let reading = Reading {
            ordered: true,
            ..Reading::default()
        };
        let matcher = Matcher::parse_where(filter, variables, reading)?;
        near::check(&matcher.root)?;
        if matcher.near().is_some() && matcher.text().is_some() {
            return Err(parse::bad("text and geoNear not allowed in same query"));
        }
        Ok(matcher)
    }

    /// The matcher, or one that matches nothing where the filter does not. That no index tells what is near does not
    /// matter then.
    pub(crate) fn or_never(mut self, filter: Doc<'_>) -> Matcher {
        if self.near().is_some() && never::is_never(filter) {
            self.root = Node::Never;
        }
        self
    }

    fn parse_where(
        filter: Doc<'_>,
        variables: Vec<(String, Option<Owned>)>,
        reading: Reading,
    ) -> Result<Matcher> {
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        let mut root = Parser {
            variables: &names,
            restricted: false,
            ordered: reading.ordered,
            nests: reading.order != Order::Written,
        }
        .document(filter, Level::Document)?;
        root.tell_depths(1);
        let has_schema = root.has_schema();
        let root = match reading.order {
            Order::Kinds | Order::Stage if has_schema => root.with_schemas_apart(),
            _ => root,
        };
        let root = match reading.order {
            Order::Written => root,
            _ if !root.computes() => root.flat(),
            // It may be split, or joined with another, before it is simplified.
            Order::Stage => root,
            Order::Kinds => root.simplified().sorted(),
        };
        text::check(&root)?;
        Ok(Matcher {
            root,
            context: Context {
                has_schema,
                variables,
                now: now(),
                collation: Collation::default(),
            },
        })
    }

    /// The same filter, whose expressions see this time.
    pub(crate) fn at(mut self, now: i64) -> Matcher {
        self.context.now = now;
        self
    }

    /// Whether it was written with a `$jsonSchema`.
    pub(crate) fn has_schema(&self) -> bool {
        self.context.has_schema
    }

    /// How the strings of its expressions compare.
    pub(crate) fn collation(&self) -> &Collation {
        &self.context.collation
    }

    /// The time that its expressions see.
    pub(crate) fn now(&self) -> i64 {
        self.context.now
    }

    /// The same filter with these values of the variables that it was parsed with.
    pub(crate) fn with_variables(mut self, variables: Vec<(String, Option<Owned>)>) -> Matcher {
        self.context.variables = variables;
        self
    }

    /// The variables that its expressions see.
    pub(crate) fn variables(&self) -> &[(String, Option<Owned>)] {
        &self.context.variables
    }

    /// Computes what of its expressions depends on no document, and on nothing that is not known.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        fn fold(node: &mut Node, known: Option<&Scope<'_>>) -> Result<()> {
            match node {
                Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => {
                    nodes.iter_mut().try_for_each(|node| fold(node, known))
                }
                Node::Expr(expression) => expression.fold(known).map_err(|fault| {
                    let told = "Failed to optimize expression :: caused by :: ";
                    fault.prefixed(&told.repeat(expression.depth().max(1)))
                }),
                _ => Ok(()),
            }
        }
        fold(&mut self.root, known)
    }

    /// The same filter with all computed that depends on no document.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn settled(mut self) -> Result<Matcher> {
        let Context {
            variables,
            now,
            collation,
            ..
        } = self.context.clone();
        let known = Scope {
            variables,
            collation,
            ..Scope::new(Doc::empty(), now)
        };
        self.fold(Some(&known))?;
        // Where nothing can fail, nobody sees in which order conditions are asked.
        if !self.computes() && self.root.may_be_listed() {
            let root = std::mem::replace(&mut self.root, Node::Always);
            self.root = root.simplified().listed();
        }
        Ok(self)
    }

    /// Whether it is another one where it is [settled](Matcher::settled).
    pub(crate) fn is_to_settle(&self) -> bool {
        self.computes() || self.root.may_be_listed()
    }

    /// Whether it has an expression.
    pub(crate) fn computes(&self) -> bool {
        self.root.computes()
    }

    /// The filter of a stage as it runs.
    pub(crate) fn simplify(&mut self) {
        if self.computes() {
            let root = std::mem::replace(&mut self.root, Node::Always);
            self.root = root.simplified();
        }
    }

    /// The filter of a query that asks of what an index leads to.
    pub(crate) fn behind_index(mut self) -> Matcher {
        self.root = self.root.behind_index();
        self
    }

    /// The filter of a query that asks what a stage asked.
    pub(crate) fn sorted(mut self) -> Matcher {
        if self.computes() {
            self.root = self.root.simplified().sorted();
        }
        self
    }

    /// The same filter where expressions cannot know the time: evaluating one that asks for it fails.
    pub(crate) fn without_clock(mut self) -> Matcher {
        fn stop(node: &mut Node) {
            match node {
                Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter_mut().for_each(stop),
                Node::Expr(expression) => expression.set_without_clock(),
                _ => {}
            }
        }
        stop(&mut self.root);
        self
    }

    /// Whether it is without conditions.
    pub(crate) fn asks_nothing(&self) -> bool {
        matches!(self.root, Node::Always)
    }

    /// Whether chance has a part in what matches.
    pub(crate) fn is_random(&self) -> bool {
        fn is_random(node: &Node) -> bool {
            match node {
                Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(is_random),
                Node::Expr(expression) => !expression.all_operators(&|name| name != "$rand"),
                Node::Sample(rate) => (0.0..1.0).contains(rate) && *rate > 0.0,
                _ => false,
            }
        }
        is_random(&self.root)
    }

    /// The same filter with its strings compared by the collation.
    pub(crate) fn collated(self, collation: &Collation) -> Matcher {
        if collation.is_simple() {
            return self;
        }
        Matcher {
            root: self.root.collated(collation),
            context: Context {
                collation: collation.clone(),
                ..self.context
            },
        }
    }

    /// The filter that both of these are.
    pub(crate) fn and(&self, other: &Matcher) -> Matcher {
        let nodes = [&self.root, &other.root].map(|root| root.clone().parts());
        let both = order::joined(nodes.concat());
        let variables = self.context.variables.iter().chain(&other.context.variables);
        Matcher {
            root: both,
            context: Context {
                has_schema: self.has_schema() || other.has_schema(),
                variables: variables.cloned().collect(),
                now: other.context.now,
                collation: other.context.collation.clone(),
            },
        }
    }

    /// A filter that asks a part of what this one asks.
    pub(crate) fn of_part(&self, part: Node) -> Matcher {
        Matcher {
            root: part,
            context: self.context.clone(),
        }
    }

    /// The filter that this and nearness are.
    pub(crate) fn near_too(&self, near: NearField) -> Result<Matcher> {
        let near = Matcher {
            root: Node::Near(near),
            context: self.context.clone(),
        };
        let both = self.and(&near);
        near::check(&both.root)?;
        Ok(both)
    }

    /// What the documents are to be near, if anything.
    pub(crate) fn near(&self) -> Option<&NearField> {
        near::of(&self.root)
    }

    /// The same filter, with documents within this distance.
    pub(crate) fn within(&self, distance: f64) -> Matcher {
        Matcher {
            root: near::within(&self.root, distance),
            context: self.context.clone(),
        }
    }

    /// What the filter says. A filter of several conditions is one `And`, without an `And` inside.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// Whether the document matches.
    #[inline]
    pub(crate) fn matches(&self, doc: Doc<'_>) -> Result<bool> {
        match &self.root {
            Node::And(nodes) if nodes.is_empty() => Ok(true),
            _ => self.has_match(doc),
        }
    }

    fn has_match(&self, doc: Doc<'_>) -> Result<bool> {
        if let Doc::Raw(bytes) = doc {
            let nodes = match &self.root {
                Node::And(nodes) => nodes,
                single => std::slice::from_ref(single),
            };
            if let Some(answer) = scan::conjunction(nodes, bytes) {
                return Ok(answer);
            }
        }
        evaluate::node(&self.root, Subject::Document(doc), &self.context)
    }

    /// What tells at which index of an array a document matches, for the positional `$`.
    pub(crate) fn places(&self, asked: Asked) -> Places {
        Places::of(&self.root, asked)
    }

    /// Whether a bare value (an array element) matches: the first segment of each path stands for the value
    /// itself, whatever its name; for `$pull` (parse `{"": condition}`) and array filters.
    pub(crate) fn matches_value(&self, value: &Value<'_>) -> Result<bool> {
        evaluate::node(&self.root, Subject::Value(*value), &self.context)
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|elapsed| i64::try_from(elapsed.as_millis()).ok())
        .unwrap_or(0)
}

/// The condition of an `$elemMatch` in a projection.
#[derive(Clone, Debug)]
pub(crate) struct ElementMatcher {
    predicate: Predicate,
}

impl ElementMatcher {
    /// Parses the condition; some operators are refused that a filter may have.
    pub(crate) fn parse(condition: Doc<'_>) -> Result<ElementMatcher> {
        let parser = Parser {
            variables: &[],
            restricted: true,
            ordered: false,
            nests: false,
        };
        let predicate = operator::element(parser, condition)?;
        Ok(ElementMatcher { predicate })
    }

    /// The same condition with its strings compared by the collation.
    pub(crate) fn collated(self, collation: &Collation) -> ElementMatcher {
        match collation.is_simple() {
            true => self,
            false => ElementMatcher {
                predicate: self.predicate.collated(collation),
            },
        }
    }

    /// The position of the first item that matches.
    pub(crate) fn first(&self, items: Doc<'_>) -> Option<usize> {
        evaluate::element(items, &self.predicate)
    }
}
