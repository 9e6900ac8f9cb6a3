//! Conditions that a positional projection does not go with.

use super::super::fault::{Fault, Result, code};
use super::Matcher;
use super::ast::{Node, Predicate};
use super::parse::QUERY_FEATURE_NOT_ALLOWED;

impl Matcher {
    /// Refuses a filter that asks for more than what its fields hold: the server cannot read it a second time for the
    /// positional `$` of a projection.
    ///
    /// # Errors
    /// As the server: 224 for expressions and schemas, 5626500 for `$near`, 2 for a text search.
    pub(crate) fn refuse_special(&self) -> Result<()> {
        if self.has_schema() {
            return Err(schema_not_here());
        }
        in_node(&self.root)
    }
}

fn not_here(name: &str, number: i32) -> Fault {
    Fault::new(number, format!("{name} is not allowed in this context"))
}

fn schema_not_here() -> Fault {
    not_here("$jsonSchema", QUERY_FEATURE_NOT_ALLOWED)
}

fn in_node(node: &Node) -> Result<()> {
    match node {
        Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().try_for_each(in_node),
        Node::Field { predicate, .. } => in_predicate(predicate),
        Node::Expr(_) => Err(not_here("$expr", QUERY_FEATURE_NOT_ALLOWED)),
        Node::Schema(_) => Err(schema_not_here()),
        Node::Text(_) => Err(not_here("$text", code::BAD_VALUE)),
        Node::Near(_) => Err(super::near::not_allowed()),
        Node::Always | Node::Never | Node::Sample(_) => Ok(()),
    }
}

fn in_predicate(predicate: &Predicate) -> Result<()> {
    match predicate {
        Predicate::ElementObject(node) => in_node(node),
        Predicate::ElementValue(predicates) | Predicate::And(predicates) => {
            predicates.iter().try_for_each(in_predicate)
        }
        Predicate::Not(inner) => in_predicate(inner),
        _ => Ok(()),
    }
}
