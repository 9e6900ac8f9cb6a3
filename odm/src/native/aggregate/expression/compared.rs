//! What an expression that is true says of single fields: comparisons with constants.

use super::super::super::document::Owned;
use super::{Base, Expression, Node};

/// A field of the document, by its path, compared with a constant.
#[derive(Clone, Debug)]
pub(crate) struct Compared<'e> {
    pub(crate) path: String,
    pub(crate) test: Test,
    pub(crate) value: &'e Owned,
}

/// How a field's value is compared: whole, and with every type in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Test {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Test {
    fn of(operator: &str) -> Option<Test> {
        Some(match operator {
            "$eq" => Test::Equal,
            "$lt" => Test::Less,
            "$lte" => Test::LessOrEqual,
            "$gt" => Test::Greater,
            "$gte" => Test::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The server's name of the condition.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Test::Equal => "$_internalExprEq",
            Test::Less => "$_internalExprLt",
            Test::LessOrEqual => "$_internalExprLte",
            Test::Greater => "$_internalExprGt",
            Test::GreaterOrEqual => "$_internalExprGte",
        }
    }

    /// The same with the sides exchanged.
    fn mirrored(self) -> Test {
        match self {
            Test::Equal => Test::Equal,
            Test::Less => Test::Greater,
            Test::LessOrEqual => Test::GreaterOrEqual,
            Test::Greater => Test::Less,
            Test::GreaterOrEqual => Test::LessOrEqual,
        }
    }
}

impl Expression {
    /// Whether a server makes a filter of it, which it asks too: a comparison of a field with a constant, or such among
    /// others.
    pub(crate) fn is_filter(&self) -> bool {
        self.node.is_filter()
    }

    /// The comparisons that hold where the expression is true.
    pub(crate) fn comparisons(&self) -> Vec<Compared<'_>> {
        let mut found = Vec::new();
        self.node.add_comparisons(&mut found);
        found
    }
}

impl Node {
    fn is_filter(&self) -> bool {
        match self {
            Node::Call { operator, arguments } if operator.name == "$and" => {
                arguments.iter().any(Node::is_filter)
            }
            Node::Call { operator, arguments } if operator.name == "$or" => {
                !arguments.is_empty() && arguments.iter().all(Node::is_filter)
            }
            comparison => {
                let mut found = Vec::new();
                comparison.add_comparisons(&mut found);
                !found.is_empty()
            }
        }
    }

    fn add_comparisons<'e>(&'e self, found: &mut Vec<Compared<'e>>) {
        let Node::Call { operator, arguments } = self else {
            return;
        };
        if operator.name == "$and" {
            arguments.iter().for_each(|node| node.add_comparisons(found));
            return;
        }
        let (Some(test), [left, right]) = (Test::of(operator.name), arguments.as_slice()) else {
            return;
        };
        let sides = match (left.as_path(), left, right, right.as_path()) {
            (Some(path), _, Node::Constant(value), _) => Some((path, test, value)),
            (_, Node::Constant(value), _, Some(path)) => Some((path, test.mirrored(), value)),
            _ => None,
        };
        found.extend(sides.map(|(path, test, value)| Compared { path, test, value }));
    }

    fn as_path(&self) -> Option<String> {
        match self {
            Node::Path {
                base: Base::Root,
                segments,
            } if !segments.is_empty() => Some(segments.join(".")),
            _ => None,
        }
    }
}
