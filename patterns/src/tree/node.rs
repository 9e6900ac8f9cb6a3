//! A stored node, and what its fields say of its place.

use odm::bson::{Bson, RawArray, RawBsonRef, RawDocument, RawDocumentBuf};

use super::layout::{Layout, Shape};
use super::segment;

/// A stored node. What is missing or of another type is `None`.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) raw: RawDocumentBuf,
    pub(super) id: Bson,
    /// Null and missing are the same: a root.
    pub(super) parent: Option<Bson>,
    /// Whether there is a field for the parent.
    pub(super) has_parent: bool,
    pub(super) children: Vec<Bson>,
    pub(super) ancestors: Option<Vec<Bson>>,
    pub(super) path: Option<String>,
    pub(super) depth: Option<i64>,
    pub(super) left: Option<i64>,
    pub(super) right: Option<i64>,
    pub(super) position: Option<i64>,
    /// When it was softly deleted.
    pub(super) deleted: Option<Bson>,
}

impl Node {
    pub(super) fn read(raw: RawDocumentBuf, layout: &Layout) -> Node {
        let mut node = Node {
            raw: RawDocumentBuf::new(),
            id: Bson::Null,
            parent: None,
            has_parent: false,
            children: Vec::new(),
            ancestors: None,
            path: None,
            depth: None,
            left: None,
            right: None,
            position: None,
            deleted: None,
        };
        node.fill(&raw, layout);
        if layout.shape == Shape::Paths && !node.has_parent {
            node.parent = node.parent_of_path(layout);
        }
        node.raw = raw;
        node
    }

    fn fill(&mut self, raw: &RawDocument, layout: &Layout) {
        for field in raw.iter() {
            let Ok((name, value)) = field else { continue };
            let name = name.as_str();
            if name == "_id" {
                self.id = Bson::try_from(value).unwrap_or(Bson::Null);
                continue;
            }
            if layout.deleted == Some(name) {
                self.deleted = Bson::try_from(value).ok().filter(|date| *date != Bson::Null);
            }
            if layout.positioned && name == layout.position {
                self.position = integer(value);
                continue;
            }
            if layout.shape == Shape::Children {
                if name == layout.children
                    && let RawBsonRef::Array(array) = value
                {
                    self.children = values(array);
                }
                continue;
            }
            if name == layout.parent {
                self.has_parent = true;
                self.parent = Bson::try_from(value).ok().filter(|parent| *parent != Bson::Null);
                continue;
            }
            match layout.shape {
                Shape::Ancestors if name == layout.ancestors => {
                    if let RawBsonRef::Array(array) = value {
                        self.ancestors = Some(values(array));
                    }
                }
                Shape::Paths if name == layout.path => {
                    if let RawBsonRef::String(path) = value {
                        self.path = Some(path.to_owned());
                    }
                }
                Shape::Paths if name == layout.depth => self.depth = integer(value),
                Shape::Nested if name == layout.left => self.left = integer(value),
                Shape::Nested if name == layout.right => self.right = integer(value),
                _ => {}
            }
        }
    }

    /// The parent as the path has it, of the type of the node's own `_id` where it can be.
    pub(super) fn parent_of_path(&self, layout: &Layout) -> Option<Bson> {
        let last = super::path::ancestors(layout, self.path.as_deref()?).pop()?;
        let mut values = segment::decode(&last);
        let own = self.id.element_type();
        match values.iter().position(|value| value.element_type() == own) {
            Some(at) => Some(values.swap_remove(at)),
            None => values.into_iter().next(),
        }
    }

    /// The number that orders it among its siblings, if a field of the tree does.
    pub(super) fn order(&self, layout: &Layout) -> Option<i64> {
        match layout.shape {
            Shape::Nested => self.left,
            _ => self.position,
        }
    }
}

fn values(array: &RawArray) -> Vec<Bson> {
    let values = array.into_iter().filter_map(|value| value.ok());
    values.filter_map(|value| Bson::try_from(value).ok()).collect()
}

fn integer(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(number) => Some(i64::from(number)),
        RawBsonRef::Int64(number) => Some(number),
        RawBsonRef::Double(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => Some(number as i64),
        _ => None,
    }
}
