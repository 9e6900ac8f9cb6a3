//! Conditions as documents.

use std::borrow::Cow;

use bson::raw::{CStr, CString, cstr};
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::node::{Node, Test, array};
use crate::error::{Error, ErrorKind, Result};

/// What stands beside one name.
enum Entry<'a> {
    Operators(Vec<(&'static CStr, &'a RawBson)>),
    Value(Cow<'a, RawBson>),
}

/// The fields of one document.
type Fields<'a> = Vec<(Cow<'a, CStr>, Entry<'a>)>;

impl Node {
    /// The condition as MongoDB takes it.
    pub(crate) fn document(&self) -> RawDocumentBuf {
        self.document_under("")
    }

    /// The same with every path under this name: how array filters are written.
    pub(crate) fn document_under(&self, name: &str) -> RawDocumentBuf {
        let mut documents: Vec<Fields<'_>> = Vec::new();
        self.collect(name, &mut documents);
        match documents.len() {
            0 => RawDocumentBuf::new(),
            1 => documents.pop().map(write).unwrap_or_default(),
            _ => {
                let all: RawArrayBuf = documents.into_iter().map(write).collect();
                [(cstr!("$and"), RawBson::Array(all))].into_iter().collect()
            }
        }
    }

    /// The condition on an element of an array: operators when it is on the element itself, else a filter on the
    /// element's fields.
    pub(crate) fn element_document(&self) -> Result<RawDocumentBuf> {
        if matches!(self, Node::All) {
            // An empty document would leave plain values out.
            return Ok([(cstr!("$exists"), true)].into_iter().collect());
        }
        if !self.is_on_value() {
            return Ok(self.document());
        }
        let mut operators = Vec::new();
        self.value_operators(&mut operators)?;
        Ok(operators.into_iter().collect())
    }

    /// Whether a part of it is about the value itself, not about a field.
    pub(crate) fn is_on_value(&self) -> bool {
        match self {
            Node::Test { path, .. } => path.is_empty(),
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::is_on_value),
            Node::All | Node::Never | Node::Operator { .. } | Node::Raw(_) => false,
        }
    }

    fn value_operators(&self, operators: &mut Vec<(&'static CStr, RawBson)>) -> Result<()> {
        let mut push = |name: &'static CStr, value: RawBson| add_operator(operators, name, value);
        match self {
            Node::All => Ok(()),
            Node::Never => push(cstr!("$in"), RawBson::Array(RawArrayBuf::new())),
            Node::Test { path, test, .. } if path.is_empty() => match test {
                Test::Equal(value) => push(cstr!("$eq"), value.clone()),
                Test::Operators(tests) => tests
                    .iter()
                    .try_for_each(|(name, value)| push(name, value.clone())),
            },
            Node::And(nodes) => nodes.iter().try_for_each(|node| node.value_operators(operators)),
            Node::Nor(nodes) if nodes.len() == 1 => {
                let mut inner = Vec::new();
                nodes
                    .iter()
                    .try_for_each(|node| node.value_operators(&mut inner))?;
                let inner: RawDocumentBuf = inner.into_iter().collect();
                push(cstr!("$not"), RawBson::Document(inner))
            }
            Node::Test { .. } | Node::Or(_) | Node::Nor(_) | Node::Operator { .. } | Node::Raw(_) => {
                Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "a condition on an array element's own value takes comparisons joined by `&` only",
                ))
            }
        }
    }

    /// Adds the condition to the last document when it collides with nothing there, else as a further document.
    ///
    /// Order is kept, so that the positional operator sees what the caller wrote.
    fn collect<'a>(&'a self, prefix: &str, documents: &mut Vec<Fields<'a>>) {
        let fields = match self {
            Node::All => return,
            Node::And(nodes) => return nodes.iter().for_each(|node| node.collect(prefix, documents)),
            // Plans to nothing on every backend, and is no equality that would seed an upsert.
            Node::Never => vec![(
                under(prefix, cstr!("_id")),
                Entry::Value(Cow::Owned(RawBson::Document(
                    [(cstr!("$in"), RawArrayBuf::new())].into_iter().collect(),
                ))),
            )],
            Node::Test { path, test, .. } => {
                let entry = match test {
                    Test::Equal(value) => Entry::Value(Cow::Borrowed(value)),
                    Test::Operators(operators) => {
                        Entry::Operators(operators.iter().map(|(name, value)| (*name, value)).collect())
                    }
                };
                vec![(under(prefix, path), entry)]
            }
            Node::Or(nodes) => vec![(Cow::Borrowed(cstr!("$or")), each(nodes, prefix))],
            Node::Nor(nodes) => vec![(Cow::Borrowed(cstr!("$nor")), each(nodes, prefix))],
            Node::Operator { name, value } => {
                vec![(Cow::Borrowed(*name), Entry::Value(Cow::Borrowed(value)))]
            }
            Node::Raw(document) => raw_fields(document, prefix),
        };
        match documents.last_mut() {
            Some(last) if fits(last, &fields) => merge(last, fields),
            _ => documents.push(fields),
        }
    }
}

/// Adds an operator to those on an element's own value.
fn add_operator(
    operators: &mut Vec<(&'static CStr, RawBson)>,
    name: &'static CStr,
    value: RawBson,
) -> Result<()> {
    // Several conditions on elements can be said by one `$all`.
    if let Some(mut conditions) = element_conditions(name, &value)
        && let Some(taken) = operators
            .iter_mut()
            .find(|(name, value)| element_conditions(name, value).is_some())
    {
        let mut all = element_conditions(taken.0, &taken.1).unwrap_or_default();
        all.append(&mut conditions);
        *taken = (cstr!("$all"), array(all));
        return Ok(());
    }
    if operators.iter().any(|(taken, _)| *taken == name) {
        let message = "one operator stands twice in the condition on an array element";
        return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(name.as_str()));
    }
    operators.push((name, value));
    Ok(())
}

/// The `$elemMatch` of an operator on an array's elements.
fn element_conditions(name: &CStr, value: &RawBson) -> Option<Vec<RawBson>> {
    match (name.as_str(), value) {
        ("$elemMatch", value) => Some(vec![RawBson::Document(
            [(cstr!("$elemMatch"), value.clone())].into_iter().collect(),
        )]),
        // On an element's own value these are all `$elemMatch`, and one of none is never met.
        ("$all", RawBson::Array(all)) if !all.is_empty() => {
            Some(all.into_iter().flatten().map(RawBson::from).collect())
        }
        _ => None,
    }
}

fn each<'a>(nodes: &[Node], prefix: &str) -> Entry<'a> {
    let documents: RawArrayBuf = nodes.iter().map(|node| node.document_under(prefix)).collect();
    Entry::Value(Cow::Owned(RawBson::Array(documents)))
}

fn raw_fields<'a>(document: &'a RawDocument, prefix: &str) -> Fields<'a> {
    let mut fields = Fields::new();
    for (name, value) in document.iter().flatten() {
        let value = match (prefix, name.as_str(), value) {
            ("", _, value) => RawBson::from(value),
            (_, "$and" | "$or" | "$nor", RawBsonRef::Array(inner)) => {
                let inner: RawArrayBuf = inner
                    .into_iter()
                    .flatten()
                    .map(|value| match value {
                        RawBsonRef::Document(inner) => RawBson::Document(write(raw_fields(inner, prefix))),
                        value => RawBson::from(value),
                    })
                    .collect();
                RawBson::Array(inner)
            }
            (_, _, value) => RawBson::from(value),
        };
        let name = match name.as_str().starts_with('$') {
            true => Cow::Borrowed(name),
            false => under(prefix, name),
        };
        fields.push((name, Entry::Value(Cow::Owned(value))));
    }
    fields
}

fn under<'a>(prefix: &str, path: &'a CStr) -> Cow<'a, CStr> {
    if prefix.is_empty() {
        return Cow::Borrowed(path);
    }
    let text = match path.is_empty() {
        true => prefix.to_owned(),
        false => format!("{prefix}.{path}"),
    };
    // Names of array filters are made here and hold no NUL, and the path is checked already.
    CString::try_from(text).map_or(Cow::Borrowed(path), Cow::Owned)
}

/// Whether one document can say both. Two tests of one path can when their operators differ.
fn fits(fields: &Fields<'_>, more: &Fields<'_>) -> bool {
    more.iter().all(|(name, entry)| {
        let mut same = fields.iter().filter(|(taken, _)| taken == name);
        same.all(|(_, taken)| match (taken, entry) {
            (Entry::Operators(ours), Entry::Operators(theirs)) => {
                let mut names = theirs.iter().map(|(name, _)| name);
                names.all(|name| {
                    ours.iter().all(|(taken, _)| taken != name && !is_alone(taken)) && !is_alone(name)
                })
            }
            _ => false,
        })
    })
}

/// Whether the operator takes what stands beside it for its own.
fn is_alone(operator: &CStr) -> bool {
    matches!(operator.as_str(), "$near" | "$geoWithin" | "$geoIntersects")
}

fn merge<'a>(fields: &mut Fields<'a>, more: Fields<'a>) {
    for (name, entry) in more {
        let taken = fields.iter_mut().find(|(taken, _)| *taken == name);
        match (taken, entry) {
            (Some((_, Entry::Operators(ours))), Entry::Operators(theirs)) => ours.extend(theirs),
            (_, entry) => fields.push((name, entry)),
        }
    }
}

fn write(fields: Fields<'_>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    for (name, entry) in fields {
        match entry {
            Entry::Value(value) => document.append(name, value.as_raw_bson_ref()),
            Entry::Operators(operators) => {
                let tests: RawDocumentBuf = operators
                    .iter()
                    .map(|(name, value)| (*name, value.as_raw_bson_ref()))
                    .collect();
                document.append(name, tests);
            }
        }
    }
    document
}
