//! The path of a field inside a document.

use std::fmt;
use std::sync::Arc;

/// The path of a field inside a document. Cheap to clone; joined to text only when it is used.
#[derive(Clone, Debug, Default)]
pub struct Path(Option<Arc<Node>>);

#[derive(Clone, Debug)]
struct Node {
    parent: Path,
    segment: Segment,
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Segment {
    /// A field's stored name.
    Name(&'static str),
    /// A name known only at run time: a map's key.
    Key(Arc<str>),
    /// An array index.
    Index(u32),
    /// `$`: the element that the filter matched.
    Matched,
    /// `$[]`: every element.
    All,
    /// `$[name]`: the elements that the array filter of this name matches.
    Filtered(Arc<str>),
}

impl Path {
    /// The document itself.
    pub const fn root() -> Path {
        Path(None)
    }

    /// Whether this is the document itself.
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The path one segment further.
    pub fn then(&self, segment: Segment) -> Path {
        Path(Some(Arc::new(Node {
            parent: self.clone(),
            segment,
        })))
    }

    /// The path of the field with this stored name.
    pub fn child(&self, name: &'static str) -> Path {
        self.then(Segment::Name(name))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(node) = &self.0 else { return Ok(()) };
        if !node.parent.is_root() {
            write!(f, "{}.", node.parent)?;
        }
        match &node.segment {
            Segment::Name(name) => f.write_str(name),
            Segment::Key(key) => f.write_str(key),
            Segment::Index(index) => write!(f, "{index}"),
            Segment::Matched => f.write_str("$"),
            Segment::All => f.write_str("$[]"),
            Segment::Filtered(name) => write!(f, "$[{name}]"),
        }
    }
}
