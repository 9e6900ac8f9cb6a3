//! Conditions as documents.

use bson::raw::{CStr, CString, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};

use super::node::{Node, Test};
use crate::error::{Error, ErrorKind, Result};

/// What stands beside one name.
enum Entry {
    Operators(Vec<(&'static CStr, RawBson)>),
    Value(RawBson),
}

/// The fields of one document.
type Fields = Vec<(CString, Entry)>;

impl Node {
    /// The condition as MongoDB takes it.
    pub(crate) fn document(&self) -> RawDocumentBuf {
        self.document_under("")
    }

    /// The same with every path under this name: how array filters are written.
    pub(crate) fn document_under(&self, name: &str) -> RawDocumentBuf {
        let mut documents: Vec<Fields> = Vec::new();
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

    fn is_on_value(&self) -> bool {
        match self {
            Node::Test { path, .. } => path.is_empty(),
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::is_on_value),
            Node::All | Node::Never | Node::Operator { .. } | Node::Raw(_) => false,
        }
    }

    fn value_operators(&self, operators: &mut Vec<(&'static CStr, RawBson)>) -> Result<()> {
        let mut push =
            |name: &'static CStr, value: RawBson| match operators.iter().any(|(taken, _)| *taken == name) {
                true => Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "one operator stands twice in the condition on an array element",
                )
                .with_path(name.as_str())),
                false => {
                    operators.push((name, value));
                    Ok(())
                }
            };
        match self {
            Node::All => Ok(()),
            Node::Never => push(cstr!("$in"), RawBson::Array(RawArrayBuf::new())),
            Node::Test { path, test } if path.is_empty() => match test {
                Test::Equal(value) => push(cstr!("$eq"), value.clone()),
                Test::Operators(tests) => tests
                    .iter()
                    .try_for_each(|(name, value)| push(*name, value.clone())),
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
    fn collect(&self, prefix: &str, documents: &mut Vec<Fields>) {
        let fields = match self {
            Node::All => return,
            Node::And(nodes) => return nodes.iter().for_each(|node| node.collect(prefix, documents)),
            // Plans to nothing on every backend, and is no equality that would seed an upsert.
            Node::Never => vec![(
                under(prefix, cstr!("_id")),
                Entry::Operators(vec![(cstr!("$in"), RawBson::Array(RawArrayBuf::new()))]),
            )],
            Node::Test { path, test } => {
                let entry = match test {
                    Test::Equal(value) => Entry::Value(value.clone()),
                    Test::Operators(operators) => Entry::Operators(operators.clone()),
                };
                vec![(under(prefix, path), entry)]
            }
            Node::Or(nodes) => vec![(cstr!("$or").into(), Entry::Value(each(nodes, prefix)))],
            Node::Nor(nodes) => vec![(cstr!("$nor").into(), Entry::Value(each(nodes, prefix)))],
            Node::Operator { name, value } => vec![((*name).into(), Entry::Value(value.clone()))],
            Node::Raw(document) => raw_fields(document, prefix),
        };
        match documents.last_mut() {
            Some(last) if fits(last, &fields) => merge(last, fields),
            _ => documents.push(fields),
        }
    }
}

fn each(nodes: &[Node], prefix: &str) -> RawBson {
    let documents: RawArrayBuf = nodes.iter().map(|node| node.document_under(prefix)).collect();
    RawBson::Array(documents)
}

fn raw_fields(document: &RawDocumentBuf, prefix: &str) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in document.iter().flatten() {
        let value = RawBson::from(value);
        let value = match (prefix, name.as_str(), value) {
            ("", _, value) => value,
            (_, "$and" | "$or" | "$nor", RawBson::Array(inner)) => {
                let inner: RawArrayBuf = inner
                    .into_iter()
                    .flatten()
                    .map(|value| match value.as_document() {
                        Some(inner) => RawBson::Document(write(raw_fields(&inner.to_owned(), prefix))),
                        None => value.into(),
                    })
                    .collect();
                RawBson::Array(inner)
            }
            (_, _, value) => value,
        };
        let name = match name.as_str().starts_with('$') {
            true => name.into(),
            false => under(prefix, name),
        };
        fields.push((name, Entry::Value(value)));
    }
    fields
}

fn under(prefix: &str, path: &CStr) -> CString {
    if prefix.is_empty() {
        return path.into();
    }
    let text = match path.is_empty() {
        true => prefix.to_owned(),
        false => format!("{prefix}.{path}"),
    };
    // Names of array filters are made here and hold no NUL, and the path is checked already.
    CString::try_from(text).unwrap_or_else(|_| path.into())
}

/// Whether one document can say both. Two tests of one path can when their operators differ.
fn fits(fields: &Fields, more: &Fields) -> bool {
    more.iter().all(|(name, entry)| {
        fields
            .iter()
            .filter(|(taken, _)| taken == name)
            .all(|(_, taken)| match (taken, entry) {
                (Entry::Operators(ours), Entry::Operators(theirs)) => theirs
                    .iter()
                    .all(|(name, _)| ours.iter().all(|(taken, _)| taken != name)),
                _ => false,
            })
    })
}

fn merge(fields: &mut Fields, more: Fields) {
    for (name, entry) in more {
        let taken = fields.iter_mut().find(|(taken, _)| *taken == name);
        match (taken, entry) {
            (Some((_, Entry::Operators(ours))), Entry::Operators(theirs)) => ours.extend(theirs),
            (_, entry) => fields.push((name, entry)),
        }
    }
}

fn write(fields: Fields) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    for (name, entry) in fields {
        match entry {
            Entry::Value(value) => document.append(name, value),
            Entry::Operators(operators) => {
                document.append(name, operators.into_iter().collect::<RawDocumentBuf>());
            }
        }
    }
    document
}
