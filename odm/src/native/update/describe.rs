//! What an update changed, as change streams tell it.
//!
//! Operators are followed along their paths, so that the description names what they touched; pipelines are
//! found out by comparing. Both follow the server: what was there and is new in value comes first, then what
//! is new, then what changed further down.

use super::super::document::{Doc, Owned, Value};
use super::super::fault::Result;
use super::apply::{Context, combined};
use super::operation::Operation;
use super::path::{Location, array_index};
use super::tree::{Children, Each, Node, Object};
use super::{Kind, Now, Timestamps, Updater, difference};

/// What changed in a document: dotted paths with their new values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Description {
    pub(crate) updated: Vec<(String, Owned)>,
    pub(crate) removed: Vec<String>,
    /// Arrays that got shorter, with their new lengths.
    pub(crate) truncated: Vec<(String, usize)>,
}

impl Description {
    /// Of a document that got whole fields.
    pub(crate) fn of_fields(old: &[u8], new: &[u8]) -> Description {
        let mut fields: Vec<(&str, Value<'_>)> = Vec::new();
        let new = Doc::Raw(new);
        fields.extend(
            new.elements()
                .map(|element| (element.name_str(), element.value())),
        );
        fields.sort_by_key(|(name, _)| *name);
        let (changed, created): (Vec<_>, Vec<_>) = fields
            .into_iter()
            .filter(|(name, value)| Doc::Raw(old).get(name).is_none_or(|before| !same(&before, value)))
            .partition(|(name, _)| Doc::Raw(old).get(name).is_some());
        let updated = changed.into_iter().chain(created);
        Description {
            updated: updated
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
            ..Description::default()
        }
    }

    /// Of a document that stages made; `None` when that is best told by the document itself.
    pub(crate) fn of_stages(old: &[u8], new: &[u8]) -> Option<Description> {
        difference::describe(old, new)
    }
}

impl Updater {
    /// What the update made of `old`; `None` when it took another document's place as a whole.
    pub(crate) fn describe(
        &self,
        old: &[u8],
        new: &[u8],
        matched: Option<usize>,
    ) -> Result<Option<Description>> {
        match &self.kind {
            Kind::Operators { root, filters, .. } => {
                let context = Context {
                    document: old,
                    matched,
                    now: Now {
                        millis: 0,
                        timestamps: Timestamps::Same(0, 0),
                    },
                    insert: false,
                    filters,
                    collation: &self.collation,
                };
                let mut description = Description::default();
                let walk = Walk {
                    context: &context,
                    out: &mut description,
                };
                walk.fields(root, Doc::Raw(old), Doc::Raw(new), "")?;
                Ok(Some(description))
            }
            Kind::Replacement(_) => Ok(None),
            Kind::Pipeline { .. } => Ok(difference::describe(old, new)),
        }
    }
}

struct Walk<'a, 'd> {
    context: &'a Context<'a>,
    out: &'d mut Description,
}

impl Walk<'_, '_> {
    fn fields(mut self, object: &Object, old: Doc<'_>, new: Doc<'_>, path: &str) -> Result<()> {
        self.within(object, old, new, path)
    }

    fn within(&mut self, object: &Object, old: Doc<'_>, new: Doc<'_>, path: &str) -> Result<()> {
        let children = self.children(object)?;
        let mut created = Vec::new();
        let mut deeper = Vec::new();
        for (name, node) in children.as_slice() {
            let at = join(path, name);
            match (old.get(name), new.get(name)) {
                (Some(before), Some(after)) if self.is_changed(node, &before, &after)? => {
                    if self.goes_deeper(node, &before, &after) && !self.is_whole(node, &before, &after)? {
                        deeper.push((node, before, after, at));
                    } else {
                        self.out.updated.push((at, after.into()));
                    }
                }
                (Some(_), None) => self.out.removed.push(at),
                (None, Some(after)) => created.push((at, Owned::from(after))),
                _ => {}
            }
        }
        self.out.updated.append(&mut created);
        for (node, before, after, at) in deeper {
            self.value(node, &before, &after, &at)?;
        }
        Ok(())
    }

    /// Whether the update counts as a change of the value, which may have the bytes that it had.
    fn is_changed(&self, node: &Node, before: &Value<'_>, after: &Value<'_>) -> Result<bool> {
        Ok(!same(before, after) || self.touches(node, before)?)
    }

    /// Whether an operation that is always a change reaches the value.
    fn touches(&self, node: &Node, value: &Value<'_>) -> Result<bool> {
        match (node, value) {
            (Node::Leaf(operation), _) => Ok(match (&**operation, value) {
                (Operation::Push(push), Value::Array(items)) => !push.is_idle(items.count()),
                (Operation::CurrentDate(_), _) => true,
                _ => false,
            }),
            (Node::Object(object), Value::Document(doc) | Value::Array(doc)) => {
                let is_array = value.as_array().is_some();
                for (name, child) in self.children(object)?.as_slice() {
                    let inner = match is_array {
                        true => array_index(name).and_then(|index| doc.at(index)),
                        false => doc.get(name),
                    };
                    if let Some(inner) = inner
                        && self.touches(child, &inner)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Node::Each(each), Value::Array(items)) => {
                let chosen = self.chosen(each, *items)?;
                Ok(!self.changed(each, &chosen, (*items, *items))?.is_empty())
            }
            _ => Ok(false),
        }
    }

    /// The chosen items that the update counts as changed.
    fn changed<'v>(
        &self,
        each: &[Each],
        chosen: &[(usize, Vec<usize>)],
        (before, after): (Doc<'v>, Doc<'v>),
    ) -> Result<Vec<(usize, Value<'v>)>> {
        let mut changed = Vec::new();
        let pairs = before.values().zip(after.values()).enumerate();
        let mut chosen = chosen.iter().peekable();
        for (index, (old, new)) in pairs {
            let Some((_, positions)) = chosen.next_if(|(own, _)| *own == index) else {
                continue;
            };
            let node = combined(each, positions, &Location::root(""))?;
            if self.is_changed(&node, &old, &new)? {
                changed.push((index, new));
            }
        }
        Ok(changed)
    }

    /// Whether the description of a change is about parts of the value.
    fn goes_deeper(&self, node: &Node, before: &Value<'_>, after: &Value<'_>) -> bool {
        match (node, before, after) {
            (Node::Leaf(operation), Value::Array(before), Value::Array(after)) => match &**operation {
                Operation::Push(push) => push.only_appends(before.count(), after.count()),
                _ => false,
            },
            (Node::Object(_), Value::Document(_), Value::Document(_))
            | (Node::Object(_) | Node::Each(_), Value::Array(_), Value::Array(_)) => true,
            _ => false,
        }
    }

    /// Whether the description has the whole array, of whose items several were chosen.
    fn is_whole(&self, node: &Node, before: &Value<'_>, after: &Value<'_>) -> Result<bool> {
        let (Node::Each(each), Value::Array(before), Value::Array(after)) = (node, before, after) else {
            return Ok(false);
        };
        let chosen = self.chosen(each, *before)?;
        Ok(chosen.len() != 1 && self.changed(each, &chosen, (*before, *after))?.len() != 1)
    }

    fn value(&mut self, node: &Node, before: &Value<'_>, after: &Value<'_>, at: &str) -> Result<()> {
        match (node, before, after) {
            (Node::Leaf(_), Value::Array(before), Value::Array(after)) => {
                let length = before.count();
                for (index, item) in after.values().enumerate().skip(length) {
                    self.out.updated.push((format!("{at}.{index}"), item.into()));
                }
                Ok(())
            }
            (Node::Object(object), Value::Document(before), Value::Document(after)) => {
                self.within(object, *before, *after, at)
            }
            (Node::Object(object), Value::Array(before), Value::Array(after)) => {
                self.items(object, *before, *after, at)
            }
            (Node::Each(each), Value::Array(before), Value::Array(after)) => {
                self.each(each, *before, *after, at)
            }
            _ => {
                self.out.updated.push((at.to_owned(), (*after).into()));
                Ok(())
            }
        }
    }

    fn items(&mut self, object: &Object, before: Doc<'_>, after: Doc<'_>, path: &str) -> Result<()> {
        let children = self.children(object)?;
        let mut indexed: Vec<(usize, &Node)> = children
            .as_slice()
            .iter()
            .filter_map(|(name, node)| Some((array_index(name)?, node)))
            .collect();
        indexed.sort_by_key(|(index, _)| *index);
        for (index, node) in indexed {
            self.item(node, before, after, index, path)?;
        }
        Ok(())
    }

    fn item(&mut self, node: &Node, before: Doc<'_>, after: Doc<'_>, index: usize, path: &str) -> Result<()> {
        let Some(new) = after.at(index) else { return Ok(()) };
        let at = format!("{path}.{index}");
        match before.at(index) {
            Some(old) if !self.is_changed(node, &old, &new)? => {}
            Some(old) if self.goes_deeper(node, &old, &new) => self.value(node, &old, &new, &at)?,
            _ => self.out.updated.push((at, new.into())),
        }
        Ok(())
    }

    /// One chosen item is described by its parts; of several, the only one that changed as a whole, and the
    /// whole array when more did.
    fn each(&mut self, each: &[Each], before: Doc<'_>, after: Doc<'_>, path: &str) -> Result<()> {
        let chosen = self.chosen(each, before)?;
        if let [(index, positions)] = chosen.as_slice() {
            let root = Location::root(path);
            let node = combined(each, positions, &root)?;
            return self.item(&node, before, after, *index, path);
        }
        match self.changed(each, &chosen, (before, after))?.as_slice() {
            [(index, new)] => self.out.updated.push((format!("{path}.{index}"), (*new).into())),
            _ => self
                .out
                .updated
                .push((path.to_owned(), Value::Array(after).into())),
        }
        Ok(())
    }

    /// The items that are chosen, each with the places of what chooses it.
    fn chosen(&self, each: &[Each], before: Doc<'_>) -> Result<Vec<(usize, Vec<usize>)>> {
        let mut chosen: Vec<(usize, Vec<usize>)> = Vec::new();
        for (index, item) in before.values().enumerate() {
            let mut positions = Vec::new();
            for (position, child) in each.iter().enumerate() {
                let filter = child.filter.and_then(|filter| self.context.filters.get(filter));
                if filter.map_or(Ok(true), |filter| filter.chooses(&item))? {
                    positions.push(position);
                }
            }
            if !positions.is_empty() {
                chosen.push((index, positions));
            }
        }
        Ok(chosen)
    }

    fn children<'n>(&self, object: &'n Object) -> Result<Children<'n>> {
        object.children(self.context.matched)
    }
}

/// A dotted path.
pub(super) fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// Whether two values are the same bytes.
pub(super) fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    let bytes = |value: &Value<'_>| {
        let mut out = Vec::new();
        value.write_payload(&mut out);
        out
    };
    a.kind() == b.kind() && bytes(a) == bytes(b)
}
