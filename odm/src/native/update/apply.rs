//! Walking an update's tree and a document together.

use std::collections::HashMap;

use super::super::collation::Collation;
use super::super::document::doc::{decimal, framed};
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::field::{self, Spot};
use super::filters::ArrayFilter;
use super::operation::Obstacle;
use super::path::{Location, array_index};
use super::replace::{check_name, named};
use super::tree::{Children, Each, Node, Object, conflict_path, merge};
use super::{Now, identity};

/// The most nulls that one new array item may need before it.
const MAX_PADDING: usize = 1_500_000;
/// The server's code for more of them.
const CANNOT_BACKFILL: i32 = 34;

/// What one document's update knows everywhere.
pub(super) struct Context<'a> {
    /// The document before the update.
    pub(super) document: &'a [u8],
    pub(super) matched: Option<usize>,
    pub(super) now: Now,
    /// Whether the document is about to be inserted.
    pub(super) insert: bool,
    pub(super) filters: &'a [ArrayFilter],
    /// How strings compare.
    pub(super) collation: &'a Collation,
}

/// What becomes of a value.
#[derive(Debug)]
pub(super) enum Outcome {
    Keep,
    Set(Owned),
    /// Removes a field; an array item becomes null.
    Remove,
}

/// Where the walk stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    at: &'a Location<'a>,
    /// Whether this is in an `_id` that must not change.
    fixed: bool,
}

/// A changed element: what its bytes become.
struct Change {
    start: usize,
    end: usize,
    /// Nothing when the element is removed.
    new: Option<Owned>,
}

impl Context<'_> {
    /// The document's `_id` as messages print it.
    pub(super) fn id_text(&self) -> String {
        Doc::Raw(self.document)
            .get("_id")
            .map_or_else(|| "no id".to_owned(), |id| format!("_id: {id}"))
    }

    /// The new bytes; `None` when nothing changes.
    pub(super) fn run(&self, root: &Object) -> Result<Option<Vec<u8>>> {
        self.fields(root, self.document, None)
    }

    fn node(&self, node: &Node, value: &Value<'_>, place: Place<'_>) -> Result<Outcome> {
        match (node, value) {
            (Node::Leaf(operation), _) => {
                let outcome = operation.change(value, place.at, self)?;
                match (place.fixed, &outcome) {
                    (true, Outcome::Set(_) | Outcome::Remove) => Err(identity::changed_at(place.at)),
                    _ => Ok(outcome),
                }
            }
            (Node::Object(object), Value::Document(Doc::Raw(bytes))) => Ok(self
                .fields(object, bytes, Some(place))?
                .map_or(Outcome::Keep, |bytes| Outcome::Set(Owned::RawDocument(bytes)))),
            (Node::Object(object), Value::Document(doc)) => {
                let bytes = doc.to_bytes();
                Ok(self
                    .fields(object, &bytes, Some(place))?
                    .map_or(Outcome::Keep, |bytes| Outcome::Set(Owned::RawDocument(bytes))))
            }
            (Node::Object(object), Value::Array(items)) => self.items(object, *items, place),
            (Node::Object(object), _) => {
                for (name, child) in self.children(object, Some(place.at))?.iter() {
                    let obstacle = Obstacle {
                        at: place.at,
                        value: *value,
                        part: name,
                    };
                    self.obstructed(child, &obstacle, &place.at.field(name))?;
                }
                Ok(Outcome::Keep)
            }
            (Node::Each(each), Value::Array(items)) => self.each(each, *items, place),
            (Node::Each(_), _) => Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "Cannot apply array updates to non-array element {}: {value}",
                    place.at.name()
                ),
            )),
        }
    }

    /// Applies the children to the fields of a document; `place` is none for the whole document.
    fn fields(&self, object: &Object, bytes: &[u8], place: Option<Place<'_>>) -> Result<Option<Vec<u8>>> {
        let children = self.children(object, place.map(|place| place.at))?;
        let children = children.as_slice();
        let spots = find(children, bytes);
        let mut changes: Vec<Change> = Vec::new();
        let mut created: Vec<(&str, Owned)> = Vec::new();
        for ((name, node), spot) in children.iter().zip(spots) {
            let at = match &place {
                Some(place) => place.at.field(name),
                None => Location::root(name),
            };
            let Some(spot) = spot else {
                if let Some(value) = self.create(node, &at)? {
                    created.push((name, value));
                    if place.is_none() && !self.insert && name.starts_with('$') {
                        let fields = with_created(bytes, &created);
                        check_name(&fields, fields.len() - 1)?;
                    }
                }
                continue;
            };
            let inner = Place {
                at: &at,
                fixed: match &place {
                    Some(place) => place.fixed,
                    None => name == "_id",
                },
            };
            let new = match self.node(node, &spot.value(bytes), inner)? {
                Outcome::Keep => continue,
                Outcome::Set(value) => Some(value),
                Outcome::Remove => None,
            };
            if let (None, false, true, Node::Leaf(operation), Some(value)) =
                (&place, self.insert, name.starts_with('$'), node, &new)
                && operation.names_field()
            {
                let mut fields = with_created(bytes, &created);
                if let Some(at) = fields.iter().position(|(own, _)| own == name) {
                    fields[at].1 = value.as_value();
                    check_name(&fields, at)?;
                }
            }
            changes.push(Change {
                start: spot.start,
                end: spot.end,
                new,
            });
        }
        if changes.is_empty() && created.is_empty() {
            return Ok(None);
        }
        // Children are in the order of names, elements in the order of the document.
        changes.sort_unstable_by_key(|change| change.start);
        let new = patched(bytes, &changes, children, &created);
        match place {
            Some(place) if place.fixed && !created.is_empty() => {
                Err(identity::grown(place.at, &Value::Document(Doc::Raw(&new))))
            }
            _ => Ok(Some(new)),
        }
    }

    /// Applies the children to the items of an array, by position.
    fn items(&self, object: &Object, items: Doc<'_>, place: Place<'_>) -> Result<Outcome> {
        let array = Value::Array(items);
        let values: Vec<Value<'_>> = items.values().collect();
        let mut changes: Vec<(usize, Owned)> = Vec::new();
        let mut tail: Vec<Owned> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        for (name, node) in self.children(object, Some(place.at))?.iter() {
            let at = place.at.field(name);
            let Some(index) = array_index(name) else {
                let obstacle = Obstacle {
                    at: place.at,
                    value: array,
                    part: name,
                };
                self.obstructed(node, &obstacle, &at)?;
                continue;
            };
            // Two spellings of one position ("0" and "00") stop the server; here they conflict.
            if seen.contains(&index) {
                return Err(conflict(&at.to_string()));
            }
            seen.push(index);
            let inner = Place {
                at: &at,
                fixed: place.fixed,
            };
            if let Some(value) = values.get(index) {
                match self.node(node, value, inner)? {
                    Outcome::Keep => {}
                    Outcome::Set(new) => changes.push((index, new)),
                    Outcome::Remove => changes.push((index, Owned::Null)),
                }
                continue;
            }
            let Some(new) = self.create(node, &at)? else {
                continue;
            };
            let ahead = index - values.len();
            if ahead.saturating_sub(tail.len()) > MAX_PADDING {
                return Err(Fault::new(
                    CANNOT_BACKFILL,
                    format!("can't backfill more than {MAX_PADDING} elements"),
                ));
            }
            if tail.len() <= ahead {
                tail.resize(ahead + 1, Owned::Null);
            }
            tail[ahead] = new;
        }
        if changes.is_empty() && tail.is_empty() {
            return Ok(Outcome::Keep);
        }
        let new = rebuilt(&values, changes, &tail);
        if place.fixed && !tail.is_empty() {
            return Err(identity::grown(place.at, &Value::Array(Doc::Raw(&new))));
        }
        Ok(Outcome::Set(Owned::RawArray(new)))
    }

    /// Applies, to each item, the children whose filters choose it.
    fn each(&self, each: &[Each], items: Doc<'_>, place: Place<'_>) -> Result<Outcome> {
        let values: Vec<Value<'_>> = items.values().collect();
        let mut changes: Vec<(usize, Owned)> = Vec::new();
        let mut merged: HashMap<Vec<usize>, Node> = HashMap::new();
        let mut chosen: Vec<usize> = Vec::new();
        for (index, value) in values.iter().enumerate() {
            chosen.clear();
            for (position, child) in each.iter().enumerate() {
                let filter = child.filter.and_then(|filter| self.filters.get(filter));
                if filter.map_or(Ok(true), |filter| filter.chooses(value))? {
                    chosen.push(position);
                }
            }
            let at = place.at.index(index);
            let inner = Place {
                at: &at,
                fixed: place.fixed,
            };
            let outcome = match chosen.as_slice() {
                [] => continue,
                [one] => match each.get(*one) {
                    Some(child) => self.node(&child.node, value, inner)?,
                    None => continue,
                },
                several => {
                    if !merged.contains_key(several) {
                        merged.insert(several.to_vec(), combined(each, several, &at)?);
                    }
                    match merged.get(several) {
                        Some(node) => self.node(node, value, inner)?,
                        None => continue,
                    }
                }
            };
            match outcome {
                Outcome::Keep => {}
                Outcome::Set(new) => changes.push((index, new)),
                Outcome::Remove => changes.push((index, Owned::Null)),
            }
        }
        Ok(match changes.is_empty() {
            true => Outcome::Keep,
            false => Outcome::Set(Owned::RawArray(rebuilt(&values, changes, &[]))),
        })
    }

    /// The value to create at a place that does not exist.
    fn create(&self, node: &Node, at: &Location<'_>) -> Result<Option<Owned>> {
        match node {
            Node::Leaf(operation) => operation.create(at, self),
            Node::Object(object) => {
                let mut fields = Vec::new();
                for (name, child) in self.children(object, Some(at))?.iter() {
                    if let Some(value) = self.create(child, &at.field(name))? {
                        fields.push((name.clone(), value));
                    }
                }
                Ok((!fields.is_empty()).then_some(Owned::Document(fields)))
            }
            Node::Each(_) => Err(must_exist(at)),
        }
    }

    /// Refuses, or not, that nothing below can be reached.
    fn obstructed(&self, node: &Node, obstacle: &Obstacle<'_>, at: &Location<'_>) -> Result<()> {
        match node {
            Node::Leaf(operation) => operation.obstructed(obstacle, at, self),
            Node::Object(object) => {
                for (name, child) in self.children(object, Some(at))?.iter() {
                    self.obstructed(child, obstacle, &at.field(name))?;
                }
                Ok(())
            }
            Node::Each(_) => Err(must_exist(at)),
        }
    }

    fn children<'n>(&self, object: &'n Object, at: Option<&Location<'_>>) -> Result<Children<'n>> {
        match object.children(self.matched)? {
            Children::Conflict(name) => Err(conflict(&match at {
                Some(at) => at.field(&name).to_string(),
                None => name,
            })),
            children => Ok(children),
        }
    }
}

impl Children<'_> {
    pub(super) fn as_slice(&self) -> &[(String, Node)] {
        match self {
            Children::Plain(children) => children,
            Children::Merged(children) => children,
            Children::Conflict(_) => &[],
        }
    }

    fn iter(&self) -> std::slice::Iter<'_, (String, Node)> {
        self.as_slice().iter()
    }
}

/// The first element of each child's name.
fn find(children: &[(String, Node)], bytes: &[u8]) -> Vec<Option<Spot>> {
    let mut spots = vec![None; children.len()];
    let mut missing = children.len();
    let mut start = field::FIRST;
    while missing > 0
        && let Some((name, spot)) = field::at(bytes, start)
    {
        if let Some(index) = children.iter().position(|(child, _)| child.as_bytes() == name)
            && let Some(found) = spots.get_mut(index)
            && found.is_none()
        {
            *found = Some(spot);
            missing -= 1;
        }
        start = spot.end;
    }
    spots
}

/// The fields of a document and those that are created behind them.
fn with_created<'a>(bytes: &'a [u8], created: &'a [(&str, Owned)]) -> Vec<(&'a str, Value<'a>)> {
    let mut fields = named(Doc::Raw(bytes));
    fields.extend(created.iter().map(|(name, value)| (*name, value.as_value())));
    fields
}

/// The document with some elements changed and some added at its end.
fn patched(
    bytes: &[u8],
    changes: &[Change],
    children: &[(String, Node)],
    created: &[(&str, Owned)],
) -> Vec<u8> {
    let mut new = Vec::with_capacity(bytes.len() + 32 + 16 * children.len());
    framed(&mut new, |out| {
        let mut copied = field::FIRST;
        for change in changes {
            out.extend_from_slice(&bytes[copied..change.start]);
            copied = change.end;
            if let Some(value) = &change.new
                && let Some((name, _)) = field::at(bytes, change.start)
            {
                value.as_value().write_element(name, out);
            }
        }
        out.extend_from_slice(&bytes[copied..bytes.len() - 1]);
        for (name, value) in created {
            value.as_value().write_element(name.as_bytes(), out);
        }
    });
    new
}

/// The array with some items changed and some added at its end.
fn rebuilt(values: &[Value<'_>], mut changes: Vec<(usize, Owned)>, tail: &[Owned]) -> Vec<u8> {
    changes.sort_unstable_by_key(|(index, _)| *index);
    let mut new = Vec::new();
    framed(&mut new, |out| {
        let mut name = [0u8; 20];
        let mut changes = changes.iter().peekable();
        for (index, value) in values.iter().enumerate() {
            let name = decimal(index, &mut name);
            match changes.next_if(|(changed, _)| *changed == index) {
                Some((_, value)) => value.as_value().write_element(name, out),
                None => value.write_element(name, out),
            }
        }
        for (offset, value) in tail.iter().enumerate() {
            value
                .as_value()
                .write_element(decimal(values.len() + offset, &mut name), out);
        }
    });
    new
}

/// The branches that several filters chose for one item, in one.
pub(super) fn combined(each: &[Each], chosen: &[usize], at: &Location<'_>) -> Result<Node> {
    let mut nodes = chosen
        .iter()
        .filter_map(|position| each.get(*position))
        .map(|child| &child.node);
    let mut all = nodes.next().cloned().ok_or_else(|| conflict(&at.to_string()))?;
    for node in nodes {
        all = merge(&all, node).ok_or_else(|| conflict(&format!("{at}{}", conflict_path(&all, node))))?;
    }
    Ok(all)
}

fn conflict(at: &str) -> Fault {
    Fault::new(
        code::CONFLICTING_UPDATE_OPERATORS,
        format!("Update created a conflict at '{at}'"),
    )
}

fn must_exist(at: &Location<'_>) -> Fault {
    Fault::new(
        code::BAD_VALUE,
        format!("The path '{at}' must exist in the document in order to apply array updates."),
    )
}
