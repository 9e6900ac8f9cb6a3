//! What a filter says, after parsing: nothing here needs another check.

use std::sync::Arc;

use super::super::aggregate::expression::Expression;
use super::super::collation::{Collation, has_text};
use super::super::document::{Kind, Owned, compare};
use super::super::geo::{GeoQuery, Near};
use super::super::needs::Needs;
use super::super::text::{TextQuery, TextSearch};
use super::pattern::Pattern;
use super::schema::Schema;

/// A condition on a whole document.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// All of them; true when empty.
    And(Vec<Node>),
    /// At least one of them.
    Or(Vec<Node>),
    /// None of them.
    Nor(Vec<Node>),
    Always,
    Never,
    /// The predicate on what the path reaches.
    Field {
        path: FieldPath,
        predicate: Predicate,
    },
    /// `$near`: how near the nearest geometry that the path reaches is. At most one, and at the top.
    Near(NearField),
    /// `$expr`: the aggregation expression is truthy.
    Expr(Box<Expression>),
    /// `$jsonSchema`.
    Schema(Box<Schema>),
    /// `$sampleRate`: true with this probability, 0 to 1.
    Sample(f64),
    /// `$text`.
    Text(Box<Text>),
}

impl Node {
    /// Whether nothing matches it, whatever is stored.
    pub(crate) fn is_never(&self) -> bool {
        match self {
            Node::Never => true,
            Node::And(nodes) => nodes.iter().any(Node::is_never),
            Node::Or(nodes) => !nodes.is_empty() && nodes.iter().all(Node::is_never),
            _ => false,
        }
    }

    /// Whether a condition that all matches satisfy is on the path.
    pub(crate) fn asks(&self, path: &str) -> bool {
        match self {
            Node::And(nodes) => nodes.iter().any(|node| node.asks(path)),
            Node::Field { path: own, .. } => own.as_str() == path,
            _ => false,
        }
    }

    /// Whether everything matches it.
    pub(crate) fn is_always(&self) -> bool {
        match self {
            Node::Always => true,
            Node::And(nodes) => nodes.iter().all(Node::is_always),
            _ => false,
        }
    }

    /// Adds the paths at which the condition looks at documents; `false` where these are not all.
    pub(crate) fn add_needs(&self, needs: &mut Needs) -> bool {
        match self {
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => {
                nodes.iter().all(|node| node.add_needs(needs))
            }
            Node::Always | Node::Never | Node::Sample(_) => true,
            Node::Field { path, .. } => {
                needs.add(path.as_str());
                true
            }
            Node::Expr(expression) => expression.add_needs(needs),
            Node::Near(_) | Node::Schema(_) | Node::Text(_) => false,
        }
    }

    /// Adds the names of the document's own fields that the condition looks at; `false` when it may look at others too.
    pub(crate) fn add_roots(&self, roots: &mut Vec<String>) -> bool {
        match self {
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => {
                nodes.iter().all(|node| node.add_roots(roots))
            }
            Node::Always | Node::Never => true,
            Node::Field { path, .. } => {
                let first = path.segments().first();
                roots.extend(first.map(|segment| segment.name.clone()));
                first.is_some()
            }
            Node::Near(_) | Node::Expr(_) | Node::Schema(_) | Node::Sample(_) | Node::Text(_) => false,
        }
    }
}

/// A text search. A plan gives it the index that answers it.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) query: TextQuery,
    pub(crate) search: Option<Arc<TextSearch>>,
}

/// A condition on what one path reaches.
///
/// A path reaches several values when there are arrays on it. All but `Not` and `And` are true when *one*
/// of the reached values satisfies them; `Not` is the exact complement of its inner predicate, and each
/// member of `And` may be satisfied by another value.
#[derive(Clone, Debug)]
pub(crate) enum Predicate {
    /// `null` is also equal to a missing and to an undefined value.
    Equal(Owned),
    Less(Owned),
    LessOrEqual(Owned),
    Greater(Owned),
    GreaterOrEqual(Owned),
    /// Equal to one of the values, or matched by one of the patterns. `values` are sorted and distinct.
    In {
        values: Vec<Owned>,
        patterns: Vec<Pattern>,
    },
    /// Anything is there. `$exists: false` is `Not(Exists)`.
    Exists,
    Type(TypeSet),
    /// A string that the pattern matches, or a stored regex equal to it.
    Regex(Pattern),
    /// A number that, truncated to an integer, leaves this remainder.
    Mod {
        divisor: i64,
        remainder: i64,
    },
    /// An array of exactly this many elements; never true when negative.
    Size(i64),
    /// An array with an element, itself a document or array, that satisfies the node.
    ElementObject(Box<Node>),
    /// An array with one element that satisfies all the predicates, nested arrays not entered.
    ElementValue(Vec<Predicate>),
    Bits(BitTest),
    /// A geometry that lies as the query asks.
    Geo(Arc<GeoQuery>),
    /// A comparison (one of the first six) with strings, by a collation that is not simple.
    Collated {
        collation: Collation,
        inner: Box<Predicate>,
    },
    Not(Box<Predicate>),
    /// All of them, each by any value that the path reaches; true when empty.
    And(Vec<Predicate>),
}

impl Predicate {
    /// Equal to one of the values, or matched by one of the patterns.
    pub(super) fn any_of(mut values: Vec<Owned>, patterns: Vec<Pattern>) -> Predicate {
        values.sort_by(|a, b| compare(&a.as_value(), &b.as_value()));
        values.dedup_by(|a, b| compare(&a.as_value(), &b.as_value()).is_eq());
        Predicate::In { values, patterns }
    }

    /// Whether this is a comparison with strings, or with documents or arrays that hold some.
    pub(crate) fn compares_text(&self) -> bool {
        self.compares(&|value| has_text(&value.as_value()))
    }

    /// Whether this is a comparison with a value of this sort.
    pub(crate) fn compares(&self, is_such: &dyn Fn(&Owned) -> bool) -> bool {
        match self {
            Predicate::Equal(value)
            | Predicate::Less(value)
            | Predicate::LessOrEqual(value)
            | Predicate::Greater(value)
            | Predicate::GreaterOrEqual(value) => is_such(value),
            Predicate::In { values, .. } => values.iter().any(is_such),
            _ => false,
        }
    }

    /// The same predicate with its strings compared by the collation. Patterns match as they do.
    pub(super) fn collated(self, collation: &Collation) -> Predicate {
        match self {
            Predicate::ElementObject(node) => Predicate::ElementObject(Box::new(node.collated(collation))),
            Predicate::ElementValue(parts) => Predicate::ElementValue(all_collated(parts, collation)),
            Predicate::Not(inner) => Predicate::Not(Box::new(inner.collated(collation))),
            Predicate::And(parts) => Predicate::And(all_collated(parts, collation)),
            mut comparison if comparison.compares_text() => {
                if let Predicate::In { values, .. } = &mut comparison {
                    values.sort_by(|a, b| collation.compare(&a.as_value(), &b.as_value()));
                    values.dedup_by(|a, b| collation.equal(&a.as_value(), &b.as_value()));
                }
                Predicate::Collated {
                    collation: collation.clone(),
                    inner: Box::new(comparison),
                }
            }
            other => other,
        }
    }
}

fn all_collated(parts: Vec<Predicate>, collation: &Collation) -> Vec<Predicate> {
    parts.into_iter().map(|part| part.collated(collation)).collect()
}

impl Node {
    /// The same condition with its strings compared by the collation, which is not simple.
    pub(super) fn collated(self, collation: &Collation) -> Node {
        let all = |nodes: Vec<Node>| nodes.into_iter().map(|node| node.collated(collation)).collect();
        match self {
            Node::And(nodes) => Node::And(all(nodes)),
            Node::Or(nodes) => Node::Or(all(nodes)),
            Node::Nor(nodes) => Node::Nor(all(nodes)),
            Node::Field { path, predicate } => Node::Field {
                path,
                predicate: predicate.collated(collation),
            },
            other => other,
        }
    }
}

/// A path whose geometries are to be near.
#[derive(Clone, Debug)]
pub(crate) struct NearField {
    pub(crate) path: FieldPath,
    pub(crate) near: Arc<Near>,
    /// The operators as they were given, BSON bytes.
    pub(crate) written: Vec<u8>,
    /// Whether it is told to be on the sphere: `$geoNear` says so itself.
    pub(crate) tells_sphere: bool,
}

/// A dotted path, split once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath {
    text: String,
    segments: Vec<Segment>,
}

/// One name of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) name: String,
    /// The position in an array that the name also stands for: "0", "17"; not "00" or "+1".
    pub(crate) index: Option<usize>,
}

impl FieldPath {
    /// Splits a dotted path at its dots. Empty names are names.
    pub(crate) fn parse(text: &str) -> FieldPath {
        FieldPath {
            text: text.to_owned(),
            segments: text.split('.').map(Segment::parse).collect(),
        }
    }

    /// The path as written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The names, at least one.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl Segment {
    fn parse(name: &str) -> Segment {
        Segment {
            name: name.to_owned(),
            index: if is_index(name) { name.parse().ok() } else { None },
        }
    }
}

/// Whether a name is a position in an array as well, as the server writes one.
pub(crate) fn is_index(name: &str) -> bool {
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    digits && (name == "0" || !name.starts_with('0'))
}

/// A set of BSON types, as `$type` takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct TypeSet(u32);

impl TypeSet {
    /// This set with one more type.
    pub(crate) fn with(self, kind: Kind) -> TypeSet {
        TypeSet(self.0 | TypeSet::bit(kind))
    }

    /// The four numeric types ("number").
    pub(crate) fn numbers() -> TypeSet {
        TypeSet::default().with_numbers()
    }

    /// Whether all numeric types are in the set.
    pub(crate) fn has_all_numbers(self) -> bool {
        self.0 & TypeSet::numbers().0 == TypeSet::numbers().0
    }

    /// The types.
    pub(crate) fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// This set with the four numeric types ("number").
    pub(crate) fn with_numbers(self) -> TypeSet {
        self.with(Kind::Double)
            .with(Kind::Int32)
            .with(Kind::Int64)
            .with(Kind::Decimal128)
    }

    /// Whether the type is in the set.
    pub(crate) fn contains(self, kind: Kind) -> bool {
        self.0 & TypeSet::bit(kind) != 0
    }

    /// Whether the set has numeric types, and no others.
    pub(crate) fn has_only_numbers(self) -> bool {
        !self.is_empty() && self.0 & !TypeSet::numbers().0 == 0
    }

    /// Whether no type is in the set.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn bit(kind: Kind) -> u32 {
        match kind {
            Kind::MinKey => 1 << 30,
            Kind::MaxKey => 1 << 31,
            other => 1 << (other as u8),
        }
    }
}

/// `$bitsAllSet` and its three siblings.
#[derive(Clone, Debug)]
pub(crate) struct BitTest {
    pub(crate) rule: BitRule,
    /// Bit positions, 0 is the least significant; sorted, distinct.
    pub(crate) positions: Vec<u32>,
}

/// Which of the tested bits must have which value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitRule {
    AllSet,
    AllClear,
    AnySet,
    AnyClear,
}
