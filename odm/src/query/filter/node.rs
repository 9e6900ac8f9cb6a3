//! Conditions, before they are written as a document.

use bson::raw::{CStr, CString, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};

use crate::error::Result;
use crate::query::encode::path_text;

/// A condition on a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    All,
    Never,
    /// An empty path is the value itself, for elements of arrays.
    Test {
        path: CString,
        test: Test,
        /// The array on the path, or at its end, whose elements the test is about.
        array: Option<CString>,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Nor(Vec<Node>),
    /// `$expr` and `$comment`.
    Operator {
        name: &'static CStr,
        value: RawBson,
    },
    Raw(RawDocumentBuf),
}

/// A condition on what is at a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    Equal(RawBson),
    /// All of them; no name twice.
    Operators(Vec<(&'static CStr, RawBson)>),
}

impl Node {
    pub(super) fn raw(document: RawDocumentBuf) -> Node {
        match document.is_empty() {
            true => Node::All,
            false => Node::Raw(document),
        }
    }

    /// Whether a part of it is in MongoDB's own words, and cannot be moved to another path.
    pub(crate) fn has_own_words(&self) -> bool {
        match self {
            Node::Raw(_) | Node::Operator { .. } => true,
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::has_own_words),
            Node::All | Node::Never | Node::Test { .. } => false,
        }
    }

    /// The arrays in whose place an upsert would store what an element is equal to.
    pub(crate) fn seeded_arrays(&self, found: &mut Vec<String>) {
        match self {
            Node::And(nodes) => nodes.iter().for_each(|node| node.seeded_arrays(found)),
            Node::Test { path, test, array } => match (array, test.seeds()) {
                (Some(array), Seeds::Value | Seeds::Element) => found.push(array.to_string()),
                (None, Seeds::Element) => found.push(path.to_string()),
                _ => {}
            },
            Node::All | Node::Never | Node::Or(_) | Node::Nor(_) | Node::Operator { .. } | Node::Raw(_) => {}
        }
    }

    pub(crate) fn and(nodes: Vec<Node>) -> Node {
        let mut all = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::All => {}
                Node::Never => return Node::Never,
                Node::And(inner) => all.extend(inner),
                node => all.push(node),
            }
        }
        single(all, Node::All, Node::And)
    }

    pub(crate) fn or(nodes: Vec<Node>) -> Node {
        let mut any = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::Never => {}
                Node::All => return Node::All,
                Node::Or(inner) => any.extend(inner),
                node => any.push(node),
            }
        }
        single(any, Node::Never, Node::Or)
    }

    /// The condition that what is at the path, or an element of it, is equal to one of these. An upsert stores nothing of
    /// it, however many they are.
    pub(crate) fn one_of(path: &str, values: Vec<RawBson>) -> Result<Node> {
        let path = path_text(path.to_owned())?;
        let test = |test| Node::Test {
            path: path.clone(),
            test,
            array: None,
        };
        let is_one = values.len() == 1;
        // `$in` would match by patterns, and takes no document that looks like operators.
        let (plain, others): (Vec<_>, Vec<_>) = values.into_iter().partition(is_plain);
        let mut nodes: Vec<Node> = others.into_iter().map(|value| test(Test::equal(value))).collect();
        if !plain.is_empty() {
            nodes.push(test(Test::Operators(vec![(cstr!("$in"), self::array(plain))])));
        }
        if is_one {
            // The only value would be taken for one to store, but not that of two alternatives.
            nodes.extend_from_within(..);
        }
        Ok(Node::or(nodes))
    }

    pub(super) fn nor(nodes: Vec<Node>) -> Node {
        Node::or(nodes).not()
    }

    pub(crate) fn not(self) -> Node {
        match self {
            Node::All => Node::Never,
            Node::Never => Node::All,
            Node::Test { path, test, array } => Node::Test {
                path,
                test: test.not(),
                array,
            },
            Node::Or(nodes) => Node::Nor(nodes),
            Node::Nor(nodes) => single(nodes, Node::Never, Node::Or),
            node @ (Node::And(_) | Node::Operator { .. } | Node::Raw(_)) => Node::Nor(vec![node]),
        }
    }
}

fn single(mut nodes: Vec<Node>, none: Node, many: impl FnOnce(Vec<Node>) -> Node) -> Node {
    match nodes.len() {
        0 => none,
        1 => nodes.pop().unwrap_or(none),
        _ => many(nodes),
    }
}

/// What an upsert stores because of a test.
enum Seeds {
    Nothing,
    Value,
    /// What an element of the array is.
    Element,
}

impl Test {
    fn seeds(&self) -> Seeds {
        let Test::Operators(operators) = self else {
            return Seeds::Value;
        };
        let is_one = |values: &RawBson| match values {
            RawBson::Array(values) => values.into_iter().count() == 1,
            _ => false,
        };
        operators
            .iter()
            .fold(Seeds::Nothing, |seeds, (name, value)| match name.as_str() {
                "$all" if is_one(value) => Seeds::Element,
                "$in" if is_one(value) => Seeds::Value,
                "$eq" => Seeds::Value,
                _ => seeds,
            })
    }

    /// Equality with the value as it is: never taken for a pattern or for operators.
    pub(crate) fn equal(value: RawBson) -> Test {
        match is_plain(&value) {
            true => Test::Equal(value),
            false => Test::Operators(vec![(cstr!("$eq"), value)]),
        }
    }

    fn not(self) -> Test {
        let mut operators = match self {
            Test::Equal(value) => return Test::Operators(vec![(cstr!("$ne"), value)]),
            Test::Operators(operators) => operators,
        };
        let [(name, value)] = operators.as_mut_slice() else {
            return Test::negated(operators);
        };
        match (name.as_str(), value) {
            ("$ne", value) if is_plain(value) => {
                return Test::Equal(std::mem::replace(value, RawBson::Null));
            }
            ("$in", _) => *name = cstr!("$nin"),
            ("$nin", _) => *name = cstr!("$in"),
            ("$exists", RawBson::Boolean(exists)) => *exists = !*exists,
            _ => return Test::negated(operators),
        }
        Test::Operators(operators)
    }

    fn negated(operators: Vec<(&'static CStr, RawBson)>) -> Test {
        let document: RawDocumentBuf = operators.into_iter().collect();
        Test::Operators(vec![(cstr!("$not"), RawBson::Document(document))])
    }
}

/// Whether `{path: value}` means equality with the value: not so for patterns and for documents that look like
/// operators.
pub(crate) fn is_plain(value: &RawBson) -> bool {
    match value {
        RawBson::RegularExpression(_) => false,
        RawBson::Document(document) => !starts_with_operator(document),
        _ => true,
    }
}

/// Whether the first field's name begins with `$`.
pub(crate) fn starts_with_operator(document: &RawDocumentBuf) -> bool {
    // After the length come the type and the name of the first field.
    document.as_bytes().get(5) == Some(&b'$')
}

/// An array of these values.
pub(crate) fn array(values: impl IntoIterator<Item = RawBson>) -> RawBson {
    RawBson::Array(values.into_iter().collect::<RawArrayBuf>())
}
