//! What the expressions of a filter leave of an index: those that compare a field with a constant.
//!
//! An expression compares an array as a whole, which an index does not hold: fields that have met arrays are left alone.

use super::super::aggregate::expression::{Compared, Test};
use super::super::collation::Collation;
use super::super::document::{Owned, Value};
use super::super::index::Order;
use super::super::matcher::ast::{Node, is_index};
use super::bounds::is_collatable;
use super::interval::{Intervals, after, before};

/// The comparisons that every match satisfies.
pub(super) fn comparisons(root: &Node) -> Vec<Compared<'_>> {
    match root {
        Node::And(nodes) => nodes.iter().flat_map(comparisons).collect(),
        Node::Expr(expression) => expression.comparisons(),
        _ => Vec::new(),
    }
}

/// What a comparison leaves of a field that has met no array, in an index of this order and collation; nothing where it
/// cannot be told.
pub(super) fn intervals(
    compared: &Compared<'_>,
    order: Order,
    collations: (&Collation, &Collation),
) -> Option<Intervals> {
    let (own, asked) = collations;
    let is_plain = matches!(order, Order::Ascending | Order::Descending);
    if !is_plain || compared.path.split('.').any(is_index) {
        return None;
    }
    let value = compared.value.as_value();
    if own != asked && is_collatable(compared.value) {
        return None;
    }
    match compared.value {
        // They have keys of other values, or of several.
        Owned::Array(_) | Owned::RawArray(_) | Owned::Undefined | Owned::Symbol(_) | Owned::Regex(_) => {
            return None;
        }
        _ => {}
    }
    let null = || Intervals::point(&Value::Null, own);
    let from = |edge: Vec<u8>| {
        let all = Intervals::all();
        let end = all.as_slice().last().map(|last| last.to.clone());
        end.map_or_else(Intervals::all, |end| Intervals::range(edge, end))
    };
    Some(match compared.test {
        Test::Equal => Intervals::point(&value, own),
        Test::Greater => from(after(&value, own)),
        Test::GreaterOrEqual => from(before(&value, own)),
        // What is missing is less than everything, and has the key of null.
        Test::Less => from(before(&value, own)).complement().union(null()),
        Test::LessOrEqual => from(after(&value, own)).complement().union(null()),
    })
}
