//! A filter as `explain` shows it: each condition as an operator of one field, in the order in which a server has them.

use super::super::aggregate::expression::compared::Compared;
use super::super::document::owned::{Fields, fields_of};
use super::super::document::{Doc, Owned};
use super::super::fault::Result;
use super::Matcher;
use super::ast::{Node, Predicate, Text};
use super::order::Kind;
use super::parse::{Level, Parser};
use super::tree::{in_order, name_of, numbered};

/// In which order conditions that are asked together are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement<'a> {
    /// As they are: in a query's order.
    Kinds,
    /// As they are asked of what an index leads to: those on the fields that the index is bounded by, and the others by
    /// their paths, those without one first.
    Paths(&'a [String]),
}

impl Arrangement<'_> {
    /// That of conditions in a condition.
    fn within(self) -> Arrangement<'static> {
        match self {
            Arrangement::Kinds => Arrangement::Kinds,
            Arrangement::Paths(_) => Arrangement::Paths(&[]),
        }
    }
}

/// A condition as it is shown among others.
#[derive(Clone, Debug)]
struct Member {
    /// Where it stands where conditions go by their paths.
    place: (String, Kind),
    /// The path that it is on, be it negated or not.
    path: String,
    shown: Owned,
}

impl Matcher {
    /// The conditions of a query as a server's planner has them; `like` is the same filter.
    pub(crate) fn normal(filter: Doc<'_>, like: &Matcher) -> Result<Node> {
        let names: Vec<String> = like.variables().iter().map(|(name, _)| name.clone()).collect();
        let mut root = Parser {
            variables: &names,
            restricted: false,
            ordered: true,
            nests: true,
        }
        .document(filter, Level::Document)?;
        if root.has_schema() {
            root = root.with_schemas_apart();
        }
        if !like.collation().is_simple() {
            root = root.collated(like.collation());
        }
        let matcher = Matcher {
            root,
            context: like.context.clone(),
        };
        Ok(matcher.settled()?.root.simplified().listed().sorted())
    }
}

impl Node {
    /// The same conditions as a server's planner has them.
    pub(crate) fn normal(&self) -> Node {
        self.clone().simplified().listed().sorted()
    }

    /// The same conditions as they are asked where no planner has them: in the order in which they stand.
    pub(crate) fn unplanned(&self) -> Node {
        self.clone().simplified().listed()
    }

    /// The conditions as a filter document.
    pub(crate) fn shown(&self, by: Arrangement<'_>) -> Owned {
        match self {
            Node::Always => Owned::Document(Vec::new()),
            other => Owned::Document(other.fields(by)),
        }
    }

    fn fields(&self, by: Arrangement<'_>) -> Fields {
        match self {
            Node::And(nodes) => together(nodes, by, &|_| false),
            Node::Or(nodes) => one("$or", Owned::Array(all(nodes, by))),
            Node::Nor(nodes) => one("$nor", Owned::Array(all(nodes, by))),
            Node::Always => one("$alwaysTrue", Owned::Int32(1)),
            Node::Never => one("$alwaysFalse", Owned::Int32(1)),
            Node::Field { path, predicate } => condition(path.as_str(), predicate, by),
            Node::Near(near) => one(near.path.as_str(), Owned::RawDocument(near.written.clone())),
            Node::Expr(expression) => match expression.is_filter() {
                true => together(std::slice::from_ref(self), by, &|_| false),
                false => one("$expr", expression.described()),
            },
            // What of it is no condition of a field.
            Node::Schema(_) => one("$jsonSchema", Owned::Document(Vec::new())),
            Node::Sample(rate) => one("$expr", sample(*rate)),
            Node::Text(text) => one("$text", text.described()),
        }
    }
}

/// The conditions of an `$and`, or the only one; those that an expression says are left out where they are answered.
pub(crate) fn together<'n>(
    nodes: impl IntoIterator<Item = &'n Node>,
    by: Arrangement<'_>,
    is_answered: &dyn Fn(&Compared<'_>) -> bool,
) -> Fields {
    let mut members: Vec<Member> = Vec::new();
    // An expression that is a comparison stands beside the condition that it is.
    let mut computed: Vec<Member> = Vec::new();
    for node in nodes {
        let Node::Expr(expression) = node else {
            members.push(Member {
                place: node.place_by_path(),
                path: match node {
                    Node::Field { path, .. } => path.as_str().to_owned(),
                    _ => String::new(),
                },
                shown: Owned::Document(node.fields(by.within())),
            });
            continue;
        };
        members.push(Member {
            place: (String::new(), Kind::Expression),
            path: String::new(),
            shown: Owned::Document(one("$expr", expression.described())),
        });
        if !expression.is_filter() {
            continue;
        }
        let comparisons = expression.comparisons().into_iter();
        let left = comparisons.filter(|compared| !is_answered(compared));
        computed.extend(left.map(|compared| {
            let test = one(compared.test.name(), compared.value.clone());
            Member {
                shown: Owned::Document(one(&compared.path, Owned::Document(test))),
                path: compared.path.clone(),
                place: (compared.path, Kind::Computed(compared.test)),
            }
        }));
    }
    computed.sort_by(|a, b| (a.place.1, &a.place.0).cmp(&(b.place.1, &b.place.0)));
    members.append(&mut computed);
    if let Arrangement::Paths(bounded) = by {
        members.sort_by_cached_key(|member| {
            let at = bounded.iter().position(|own| *own == member.path);
            (at.unwrap_or(bounded.len()), member.place.clone())
        });
    }
    match members.len() {
        0 => Vec::new(),
        1 => match members.swap_remove(0).shown {
            Owned::Document(fields) => fields,
            _ => Vec::new(),
        },
        _ => one(
            "$and",
            Owned::Array(members.into_iter().map(|member| member.shown).collect()),
        ),
    }
}

fn all(nodes: &[Node], by: Arrangement<'_>) -> Vec<Owned> {
    let mut nodes: Vec<&Node> = nodes.iter().collect();
    if let Arrangement::Paths(_) = by {
        nodes.sort_by_cached_key(|node| node.place_by_path());
    }
    nodes
        .into_iter()
        .map(|node| Owned::Document(node.fields(by.within())))
        .collect()
}

impl Text {
    fn described(&self) -> Owned {
        let (language, case, accents) = self.query.settings();
        let text = |text: &str| Owned::String(text.to_owned());
        Owned::Document(vec![
            ("$search".to_owned(), text(self.query.text())),
            ("$language".to_owned(), text(language)),
            ("$caseSensitive".to_owned(), Owned::Bool(case)),
            ("$diacriticSensitive".to_owned(), Owned::Bool(accents)),
        ])
    }
}

fn one(name: &str, value: Owned) -> Fields {
    vec![(name.to_owned(), value)]
}

fn sample(rate: f64) -> Owned {
    let constant = |value: Owned| Owned::Document(one("$const", value));
    match rate {
        rate if rate <= 0.0 => constant(Owned::Bool(false)),
        rate if rate >= 1.0 => constant(Owned::Bool(true)),
        rate => {
            let random = Owned::Document(one("$rand", Owned::Document(Vec::new())));
            let sides = vec![random, constant(Owned::Double(rate))];
            Owned::Document(one("$lt", Owned::Array(sides)))
        }
    }
}

/// A condition on a path as the fields of a filter.
fn condition(path: &str, predicate: &Predicate, by: Arrangement<'_>) -> Fields {
    match predicate {
        Predicate::And(parts) => one(
            "$and",
            Owned::Array(
                in_order(parts)
                    .map(|part| Owned::Document(condition(path, part, by)))
                    .collect(),
            ),
        ),
        Predicate::Not(inner) => match &**inner {
            // What is not about one condition is about none of several.
            Predicate::And(_) => one(
                "$nor",
                Owned::Array(vec![Owned::Document(condition(path, inner, by))]),
            ),
            Predicate::Not(_) => one(
                "$nor",
                Owned::Array(vec![Owned::Document(condition(path, inner, by))]),
            ),
            single => {
                let not = one("$not", Owned::Document(operators(single, by)));
                one(path, Owned::Document(not))
            }
        },
        single => one(path, Owned::Document(operators(single, by))),
    }
}

/// A single condition as operators.
fn operators(predicate: &Predicate, by: Arrangement<'_>) -> Fields {
    match predicate {
        Predicate::Equal(value) => one("$eq", value.clone()),
        Predicate::Less(value) => one("$lt", value.clone()),
        Predicate::LessOrEqual(value) => one("$lte", value.clone()),
        Predicate::Greater(value) => one("$gt", value.clone()),
        Predicate::GreaterOrEqual(value) => one("$gte", value.clone()),
        Predicate::In { values, patterns } => match (values.as_slice(), patterns.as_slice()) {
            ([only], []) => one("$eq", only.clone()),
            ([], [only]) => regex(only.pattern(), only.options()),
            (values, patterns) => {
                let patterns = patterns
                    .iter()
                    .map(|pattern| Owned::regex(pattern.pattern(), pattern.options()));
                one(
                    "$in",
                    Owned::Array(values.iter().cloned().chain(patterns).collect()),
                )
            }
        },
        Predicate::Exists => one("$exists", Owned::Bool(true)),
        Predicate::Type(types) => {
            let types = numbered(*types).into_iter().map(|(_, kind)| kind);
            one("$type", Owned::Array(types.collect()))
        }
        Predicate::Regex(pattern) => regex(pattern.pattern(), pattern.options()),
        Predicate::Mod { divisor, remainder } => {
            one("$mod", Owned::Array(vec![whole(*divisor), whole(*remainder)]))
        }
        Predicate::Size(count) => one("$size", whole(*count)),
        Predicate::ElementObject(node) => one("$elemMatch", node.clone().sorted().shown(by)),
        Predicate::ElementValue(parts) => {
            let parts = in_order(parts).flat_map(|part| match part {
                Predicate::Not(inner) => one("$not", Owned::Document(operators(inner, by))),
                other => operators(other, by),
            });
            one("$elemMatch", Owned::Document(parts.collect()))
        }
        Predicate::Bits(test) => {
            let positions = test.positions.iter().map(|position| whole(i64::from(*position)));
            one(name_of(test.rule), Owned::Array(positions.collect()))
        }
        Predicate::Geo(query) => fields_of(Doc::Raw(query.written())),
        Predicate::Collated { inner, .. } => operators(inner, by),
        Predicate::Not(inner) => one("$not", Owned::Document(operators(inner, by))),
        Predicate::And(parts) => in_order(parts).flat_map(|part| operators(part, by)).collect(),
    }
}

fn regex(pattern: &str, options: &str) -> Fields {
    let mut shown = one("$regex", Owned::String(pattern.to_owned()));
    if !options.is_empty() {
        shown.push(("$options".to_owned(), Owned::String(options.to_owned())));
    }
    shown
}

/// A whole number in the smallest type that holds it.
fn whole(value: i64) -> Owned {
    i32::try_from(value).map_or(Owned::Int64(value), Owned::Int32)
}
