//! Documents made of the keys of an index, where these have all that is asked for.

use std::ops::Bound;

use super::super::document::compare::rank;
use super::super::document::doc::framed;
use super::super::document::{Doc, Kind, Owned, Value};
use super::super::index::{IndexDefinition, IndexField};
use super::super::key;
use super::super::key::types::{self, Kept};
use super::super::matcher::ast::{Node, Predicate, TypeSet};
use super::super::needs::{Needs, Values};
use super::interval::Intervals;
use super::{Access, IndexView, KeyRange, Plan, PlanRequest};

/// What of an index's keys makes the documents.
#[derive(Debug)]
pub(crate) struct Cover {
    /// What the keys hold, up to the last that is asked for.
    fields: Vec<Field>,
    /// What the documents hold, in the order of the keys.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Field {
    descending: bool,
    /// The last name of the path, if the field is asked for.
    name: Option<String>,
    /// Whether it is in a document of the document that is asked for without it, too.
    is_inner: bool,
}

#[derive(Debug)]
enum Part {
    /// A field, by its position in the key.
    Field(usize),
    Document(String, Vec<Part>),
}

/// A document that is made, and the memory for it.
#[derive(Debug, Default)]
pub(crate) struct Made {
    document: Vec<u8>,
    /// The elements of the fields, and where they end.
    elements: Vec<u8>,
    ends: Vec<usize>,
}

impl Made {
    pub(crate) fn document(&self) -> &[u8] {
        &self.document
    }

    pub(super) fn doc(&self) -> Doc<'_> {
        Doc::Raw(&self.document)
    }
}

impl Plan {
    /// The plan for what is asked of documents: with documents made of keys, where those of its index have that, and the
    /// server reads none either; with leaps, where not each is asked for.
    pub(crate) fn covering(mut self, request: &PlanRequest<'_>) -> Plan {
        let Some(needs) = request.needs.filter(|_| !self.by_id && self.text.is_none()) else {
            return self;
        };
        let Some(view) = only_index(&self.access).and_then(|index| request.indexes.get(index)) else {
            return self;
        };
        if !view.definition.keeps_values() {
            return self;
        }
        if view.is_multikey() {
            self.leap = self.leap(request, needs).map(Into::into);
            return self;
        }
        let sort = request.sort.filter(|_| !self.sorted);
        let mut all = needs.clone();
        if !needs.is_whole()
            && sort.is_none_or(|sort| sort.add_needs(&mut all))
            && add_filter(request.matcher.root(), &mut all)
        {
            self.cover = Cover::of(view.definition, &all).map(Into::into);
        }
        self.leap = self.leap(request, needs).map(Into::into);
        self
    }

    /// How its scan leaps from one value to the next; `None` where each document is asked for, or where it does not.
    fn leap(&self, request: &PlanRequest<'_>, needs: &Needs) -> Option<Leap> {
        let (path, values) = needs.values()?;
        let Access::Index { index, reverse, .. } = &self.access else {
            return None;
        };
        let view = request.indexes.get(*index)?;
        // Which document is the first goes by the order; of values that are equal by a collation the first of the collection
        // stands for all.
        let is_able = match values {
            _ if view.is_multikey() => !reverse && has_elements_of_all(request, path, values),
            Values::First => self.sorted,
            Values::There | Values::OrMissing => self.cover.is_some() && !reverse,
        };
        if !is_able || !self.exact || self.repeats || view.is_foreign_to(request) {
            return None;
        }
        let keys = &view.definition.keys;
        let place = keys.iter().position(|key| key.path == path)?;
        let descending = keys.iter().take(place + 1).map(IndexField::is_descending);
        Some(Leap {
            descending: descending.collect(),
            tells_null: values == Values::First,
        })
    }

    /// All of the index with the least fields that begins with the path at which it is asked which values there are; `None`
    /// where no index has them all.
    pub(super) fn of_values(request: &PlanRequest<'_>) -> Option<Plan> {
        let (path, values) = request.needs?.values()?;
        if values == Values::First {
            return None;
        }
        let has_all = |view: &IndexView<'_>| {
            let definition = view.definition;
            let begins = definition.keys.first().is_some_and(|key| key.path == path);
            // What has no field of a sparse index has no value.
            let is_sparse = definition.sparse && (values == Values::OrMissing || definition.keys.len() > 1);
            let is_whole = definition.partial.is_none() && !is_sparse;
            let is_usable = !definition.hidden && !view.is_left_out;
            let has_values = !view.is_multikey() || has_elements_of_all(request, path, values);
            begins
                && is_whole
                && is_usable
                && has_values
                && definition.keeps_values()
                && !view.is_foreign_to(request)
        };
        let able = request
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, view)| has_all(view));
        let (index, view) = able.min_by_key(|(_, view)| view.definition.keys.len())?;
        Some(Plan {
            access: Access::Index {
                index,
                ranges: vec![KeyRange {
                    from: Bound::Unbounded,
                    to: Bound::Unbounded,
                }],
                reverse: false,
                bounds: vec![Intervals::all(); view.definition.keys.len()],
                tail: None,
            },
            exact: true,
            ..Plan::collection(false, true)
        })
    }
}

/// Whether the first documents of each key of an index over arrays have all the elements that are asked for: nothing is
/// asked of the documents, and no name of the path may be the place of an element.
fn has_elements_of_all(request: &PlanRequest<'_>, path: &str, values: Values) -> bool {
    let is_place = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    values == Values::There && request.matcher.asks_nothing() && !path.split('.').any(is_place)
}

/// What a scan of an index for distinct values goes by.
#[derive(Debug)]
pub(crate) struct Leap {
    /// Whether the fields up to the one that is asked for are kept in descending order.
    descending: Vec<bool>,
    /// Whether what is missing is the same as null.
    tells_null: bool,
}

impl Leap {
    /// The part of a key that entries of the same value share; `None` where the value does not tell what is at its path, or
    /// the key is none of the index.
    pub(crate) fn shared<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        let (mut at, mut is_null) = (0, false);
        for descending in &self.descending {
            let rest = key.get(at..)?;
            let length = key::length(rest, *descending)?;
            let first = *rest.first()?;
            let first = if *descending { !first } else { first };
            is_null = first == rank::NULL;
            at += length;
        }
        // What is missing has the same key.
        (self.tells_null || !is_null).then(|| key.get(..at)).flatten()
    }
}

/// The index that all documents come from.
pub(super) fn only_index(access: &Access) -> Option<usize> {
    let mut parts = match access {
        Access::Nothing | Access::Collection { .. } => return None,
        Access::Index { index, .. } => return Some(*index),
        Access::Union(parts) => parts
            .iter()
            .map(|part| only_index(&part.access))
            .collect::<Vec<_>>(),
        Access::Merge(streams) => streams.iter().map(|stream| only_index(&stream.access)).collect(),
    };
    parts.dedup();
    match parts.as_slice() {
        [only] => *only,
        _ => None,
    }
}

/// Adds what a filter asks of documents; `false` where a server asks it of documents alone.
pub(super) fn add_filter(filter: &Node, needs: &mut Needs) -> bool {
    match filter {
        Node::Always | Node::Never => true,
        Node::And(nodes) => nodes.iter().all(|node| add_filter(node, needs)),
        // What is one condition on one path.
        Node::Or(nodes) | Node::Nor(nodes) => {
            let mut paths = nodes.iter().map(|node| match node {
                Node::Field { path, predicate } => {
                    (compares(predicate) && is_told(predicate)).then_some(path.as_str())
                }
                _ => None,
            });
            let first = paths.next().flatten();
            first.is_some_and(|first| {
                needs.add(first);
                paths.all(|path| path == Some(first))
            })
        }
        Node::Field { path, predicate } => {
            needs.add(path.as_str());
            is_told(predicate)
        }
        Node::Near(_) | Node::Expr(_) | Node::Schema(_) | Node::Sample(_) | Node::Text(_) => false,
    }
}

/// Whether a server asks the predicate of keys.
fn is_told(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Equal(_)
        | Predicate::Less(_)
        | Predicate::LessOrEqual(_)
        | Predicate::Greater(_)
        | Predicate::GreaterOrEqual(_)
        | Predicate::In { .. } => {
            !predicate.compares(&|value| !is_kept(value) || matches!(value, Owned::Null))
        }
        Predicate::Not(inner) => {
            let has_patterns = matches!(&**inner, Predicate::In { patterns, .. } if !patterns.is_empty());
            compares(inner) && !has_patterns && !inner.compares(&|value| !is_kept(value))
        }
        Predicate::Type(types) => tells(*types),
        Predicate::Regex(_) | Predicate::Mod { .. } => true,
        Predicate::And(parts) => parts.iter().all(is_told),
        Predicate::Exists
        | Predicate::Size(_)
        | Predicate::ElementObject(_)
        | Predicate::ElementValue(_)
        | Predicate::Bits(_)
        | Predicate::Geo(_)
        | Predicate::Collated { .. } => false,
    }
}

fn compares(predicate: &Predicate) -> bool {
    predicate.compares(&|_| true)
}

/// Whether a key can be that of the value and of no other.
fn is_kept(value: &Owned) -> bool {
    !matches!(value, Owned::Array(_) | Owned::RawArray(_) | Owned::Undefined)
}

impl Cover {
    /// Of an index that keeps values; `None` where its keys do not have all that is needed.
    pub(super) fn of(definition: &IndexDefinition, needs: &Needs) -> Option<Cover> {
        let keys = &definition.keys;
        let has = |path: &str| keys.iter().any(|key| key.path == path);
        if !needs.paths().all(has) {
            return None;
        }
        let mut cover = Cover {
            fields: Vec::with_capacity(keys.len()),
            parts: Vec::new(),
        };
        for (position, key) in keys.iter().enumerate() {
            let is_needed = needs.has(&key.path);
            let mut names = key.path.split('.');
            let last = names.next_back()?;
            let outer: Vec<&str> = names.collect();
            add_part(&mut cover.parts, &outer, Part::Field(position));
            cover.fields.push(Field {
                descending: key.is_descending(),
                name: is_needed.then(|| last.to_owned()),
                is_inner: !outer.is_empty() && needs.has_around(),
            });
        }
        cover.parts.retain_mut(|part| part.is_needed(&cover.fields));
        let used = cover.fields.iter().rposition(|field| field.name.is_some());
        cover.fields.truncate(used.map_or(0, |last| last + 1));
        // Two fields of which one is in the other are no document.
        let roots = || needs.paths().map(|path| path.split('.').collect::<Vec<_>>());
        let is_apart = |path: &[&str]| roots().all(|other| other == path || !other.starts_with(path));
        roots().all(|path| is_apart(&path)).then_some(cover)
    }

    /// Makes the document of a key; `false` where the key does not tell it.
    pub(crate) fn make(&self, key: &[u8], types: &[u8], made: &mut Made) -> bool {
        made.elements.clear();
        made.ends.clear();
        let mut values = types::Values::new(key, types);
        for field in &self.fields {
            match (values.next(field.descending), &field.name) {
                (Kept::Unknown, _) => return false,
                // Of what is around it nothing is known.
                (Kept::Missing, Some(_)) if field.is_inner => return false,
                (Kept::Value(value), Some(name)) => value.write_element(name.as_bytes(), &mut made.elements),
                (Kept::Missing, _) | (_, None) => {}
            }
            made.ends.push(made.elements.len());
        }
        let Made {
            document,
            elements,
            ends,
        } = made;
        document.clear();
        framed(document, |out| write(&self.parts, elements, ends, out));
        true
    }

    /// The fields of a document that are asked for, in the order in which they are made of keys.
    pub(crate) fn pick(&self, document: &[u8], made: &mut Made) {
        made.document.clear();
        framed(&mut made.document, |out| {
            self.pick_parts(&self.parts, Doc::Raw(document), out)
        });
    }

    fn pick_parts(&self, parts: &[Part], document: Doc<'_>, out: &mut Vec<u8>) {
        for part in parts {
            match part {
                Part::Field(position) => {
                    let name = self.fields.get(*position).and_then(|field| field.name.as_deref());
                    if let Some((name, value)) = name.and_then(|name| Some((name, document.get(name)?))) {
                        value.write_element(name.as_bytes(), out);
                    }
                }
                Part::Document(name, inner) => match document.get(name) {
                    Some(Value::Document(own)) => {
                        out.push(Kind::Document as u8);
                        out.extend_from_slice(name.as_bytes());
                        out.push(0);
                        framed(out, |out| self.pick_parts(inner, own, out));
                    }
                    Some(value) => value.write_element(name.as_bytes(), out),
                    None => {}
                },
            }
        }
    }
}

impl Part {
    /// Whether it, or something in it, is asked for; leaves out what is not.
    fn is_needed(&mut self, fields: &[Field]) -> bool {
        match self {
            Part::Field(position) => fields.get(*position).is_some_and(|field| field.name.is_some()),
            Part::Document(_, inner) => {
                inner.retain_mut(|part| part.is_needed(fields));
                !inner.is_empty()
            }
        }
    }
}

/// Puts a part where it belongs: a document stands where a key is first in it, be that asked for or not.
fn add_part(parts: &mut Vec<Part>, outer: &[&str], part: Part) {
    let Some((first, rest)) = outer.split_first() else {
        parts.push(part);
        return;
    };
    let known = parts.iter_mut().find_map(|own| match own {
        Part::Document(name, inner) if name == first => Some(inner),
        _ => None,
    });
    match known {
        Some(inner) => add_part(inner, rest, part),
        None => {
            let mut inner = Vec::new();
            add_part(&mut inner, rest, part);
            parts.push(Part::Document((*first).to_owned(), inner));
        }
    }
}

fn write(parts: &[Part], elements: &[u8], ends: &[usize], out: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Field(position) => {
                let start = position.checked_sub(1).and_then(|before| ends.get(before));
                let end = ends.get(*position);
                if let Some(element) = end.and_then(|end| elements.get(start.copied().unwrap_or(0)..*end)) {
                    out.extend_from_slice(element);
                }
            }
            Part::Document(name, inner) => {
                out.push(Kind::Document as u8);
                out.extend_from_slice(name.as_bytes());
                out.push(0);
                framed(out, |out| write(inner, elements, ends, out));
            }
        }
    }
}

/// Whether all values of these types are those of keys.
fn tells(types: TypeSet) -> bool {
    let kinds = [Kind::Null, Kind::Undefined, Kind::Array];
    !kinds.into_iter().any(|kind| types.contains(kind))
}
