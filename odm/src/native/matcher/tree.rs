//! A filter as the server shows it where no plan answers it: one condition in each line, what stands in another further
//! in.

use super::super::aggregate::expression::Expression;
use super::super::document::display::significant;
use super::super::document::{Doc, Owned};
use super::ast::{BitRule, FieldPath, NearField, Node, Predicate, Text, TypeSet};
use super::order::kind;

impl Node {
    /// The conditions in the order in which they are asked.
    pub(crate) fn tree(&self) -> String {
        self.clone().simplified().sorted().subtree()
    }

    /// The first line of the conditions, and what stands in them.
    pub(crate) fn subtree(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    fn write(&self, level: usize, out: &mut String) {
        match self {
            Node::And(nodes) => around("$and", nodes, level, out),
            Node::Or(nodes) => match choice(nodes) {
                Some((path, values)) => line(level, &format!("{path} $in [ {values}]"), out),
                None => around("$or", nodes, level, out),
            },
            Node::Nor(nodes) => match nodes.len() {
                1 => around("$not", nodes, level, out),
                _ => around("$nor", nodes, level, out),
            },
            // Nothing is asked.
            Node::Always => line(level, "$and", out),
            Node::Never => line(level, "$alwaysFalse: 1", out),
            Node::Field { path, predicate } => write_predicate(path.as_str(), predicate, level, out),
            Node::Near(near) => line(level, &near.shown(), out),
            Node::Expr(expression) => write_expression(expression, level, out),
            Node::Schema(_) => line(level, "$jsonSchema", out),
            Node::Sample(rate) => {
                indent(level, out);
                out.push_str(&match *rate {
                    rate if rate <= 0.0 => "$expr {$const: false}".to_owned(),
                    rate if rate >= 1.0 => "$expr {$const: true}".to_owned(),
                    rate => format!("$expr {{$lt: [{{$rand: {{}}}}, {{$const: {rate}}}]}}"),
                });
            }
            Node::Text(text) => line(level, &text.shown(), out),
        }
    }
}

impl NearField {
    fn shown(&self) -> String {
        format!(
            "GEONEAR  field={} maxdist={} isNearSphere={}",
            self.path.as_str(),
            significant(self.near.max(), 6),
            u8::from(self.tells_sphere)
        )
    }
}

impl Text {
    fn shown(&self) -> String {
        let (language, case, accents) = self.query.settings();
        format!(
            "TEXT : query={}, language={language}, caseSensitive={}, diacriticSensitive={}, tag=NULL",
            self.query.text(),
            u8::from(case),
            u8::from(accents)
        )
    }
}

fn indent(level: usize, out: &mut String) {
    out.push_str(&"    ".repeat(level));
}

fn line(level: usize, text: &str, out: &mut String) {
    indent(level, out);
    out.push_str(text);
    out.push('\n');
}

fn around(name: &str, nodes: &[Node], level: usize, out: &mut String) {
    line(level, name, out);
    nodes.iter().for_each(|node| node.write(level + 1, out));
}

/// The field of which all conditions ask for a value, and the values.
fn choice(nodes: &[Node]) -> Option<(&str, String)> {
    let mut values = String::new();
    let mut only: Option<&FieldPath> = None;
    for node in nodes {
        let Node::Field {
            path,
            predicate: Predicate::Equal(value),
        } = node
        else {
            return None;
        };
        if *only.get_or_insert(path) != path {
            return None;
        }
        values.push_str(&format!("{} ", value.as_value()));
    }
    only.map(|path| (path.as_str(), values))
}

/// A comparison is shown with the expression that it is a part of, and once more as a condition.
fn write_expression(expression: &Expression, level: usize, out: &mut String) {
    let comparisons = expression.comparisons();
    let inner = match expression.is_filter() {
        true => {
            line(level, "$and", out);
            level + 1
        }
        false => level,
    };
    indent(inner, out);
    out.push_str(&format!("$expr {expression}"));
    if expression.is_filter() {
        for compared in comparisons {
            let shown = format!(
                "{} {} {}",
                compared.path,
                compared.test.name(),
                compared.value.as_value()
            );
            line(inner, &shown, out);
        }
    }
}

fn write_predicate(path: &str, predicate: &Predicate, level: usize, out: &mut String) {
    let compared = |name: &str, value: &Owned| format!("{path} {name} {}", value.as_value());
    let text = match predicate {
        Predicate::Equal(value) => compared("$eq", value),
        Predicate::Less(value) => compared("$lt", value),
        Predicate::LessOrEqual(value) => compared("$lte", value),
        Predicate::Greater(value) => compared("$gt", value),
        Predicate::GreaterOrEqual(value) => compared("$gte", value),
        Predicate::In { values, patterns } => match (values.as_slice(), patterns.as_slice()) {
            ([only], []) => compared("$eq", only),
            ([], [only]) => format!("{path} regex /{}/{}", only.pattern(), only.options()),
            (values, patterns) => {
                let mut listed = String::new();
                for value in values {
                    listed.push_str(&format!("{} ", value.as_value()));
                }
                for pattern in patterns {
                    listed.push_str(&format!("/{}/{} ", pattern.pattern(), pattern.options()));
                }
                format!("{path} $in [ {listed}]")
            }
        },
        Predicate::Exists => format!("{path} exists"),
        Predicate::Type(types) => format!("{path} $type: {}", Doc::Fields(&numbered(*types))),
        Predicate::Regex(pattern) => format!("{path} regex /{}/{}", pattern.pattern(), pattern.options()),
        Predicate::Mod { divisor, remainder } => format!("{path} mod {divisor} % x == {remainder}"),
        Predicate::Size(count) => format!("{path} $size : {count}"),
        Predicate::ElementObject(node) => {
            line(level, &format!("{path} $elemMatch (obj)"), out);
            return node.write(level + 1, out);
        }
        Predicate::ElementValue(parts) => {
            line(level, &format!("{path} $elemMatch (value)"), out);
            return in_order(parts).for_each(|part| write_predicate("", part, level + 1, out));
        }
        Predicate::Bits(test) => {
            let positions: Vec<String> = test.positions.iter().map(u32::to_string).collect();
            indent(level, out);
            return out.push_str(&format!(
                "{path} {}: [{}]",
                name_of(test.rule),
                positions.join(", ")
            ));
        }
        Predicate::Geo(query) => {
            let field = [(path.to_owned(), Owned::RawDocument(query.written().to_vec()))];
            format!("GEO raw = {}", Doc::Fields(&field))
        }
        Predicate::Collated { inner, .. } => return write_predicate(path, inner, level, out),
        Predicate::Not(inner) => {
            line(level, "$not", out);
            return write_predicate(path, inner, level + 1, out);
        }
        Predicate::And(parts) => {
            line(level, "$and", out);
            return in_order(parts).for_each(|part| write_predicate(path, part, level + 1, out));
        }
    };
    line(level, &text, out);
}

/// Conditions of one field in the order in which they are asked.
pub(super) fn in_order(parts: &[Predicate]) -> impl Iterator<Item = &Predicate> {
    let mut parts: Vec<&Predicate> = parts.iter().collect();
    parts.sort_by_key(|part| kind(part));
    parts.into_iter()
}

pub(super) fn name_of(rule: BitRule) -> &'static str {
    match rule {
        BitRule::AllSet => "$bitsAllSet",
        BitRule::AllClear => "$bitsAllClear",
        BitRule::AnySet => "$bitsAnySet",
        BitRule::AnyClear => "$bitsAnyClear",
    }
}

/// The types with their positions, numbers of all types first.
pub(super) fn numbered(types: TypeSet) -> Vec<(String, Owned)> {
    let mut shown = Vec::new();
    let has_numbers = types.has_all_numbers();
    if has_numbers {
        shown.push(Owned::String("number".to_owned()));
    }
    let others = types
        .kinds()
        .filter(|kind| !has_numbers || !TypeSet::numbers().contains(*kind));
    shown.extend(others.map(|kind| Owned::Int32(i32::from(kind as u8 as i8))));
    (0..).map(|at: usize| at.to_string()).zip(shown).collect()
}
