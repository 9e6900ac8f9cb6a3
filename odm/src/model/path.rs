//! The path of a field inside a document.

use std::fmt;
use std::sync::Arc;

use bson::RawDocumentBuf;

use crate::error::Result;

/// The path of a field inside a document. Cheap to clone; joined to text only when it is used.
#[derive(Clone, Debug, Default)]
pub struct Path {
    parent: Base,
    last: Option<Segment>,
    /// The variant of the enum here that what follows belongs to, where its fields stand beside its tag or its content.
    variant: Option<&'static &'static str>,
}

/// A path that others start with: what the fields of one nested document share.
#[derive(Clone, Debug, Default)]
pub struct Base(Option<Arc<Path>>);

/// One part of a path.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Segment {
    /// A field's stored name.
    Name(&'static str),
    /// A name known only at run time: a map's key.
    Key(Arc<str>),
    /// An array index.
    Index(u32),
    /// Any element of an array: nothing in the text.
    Any,
    /// `$`: the element that the filter matched.
    Matched,
    /// `$[]`: every element.
    All,
    /// `$[name]`: the elements that the array filter of this name matches.
    Filtered(Arc<str>),
    /// `$[..]` with its own array filter, named when the update is built.
    Where(Arc<dyn ArrayCondition>),
}

/// The array filter that a path carries along.
pub trait ArrayCondition: fmt::Debug + Send + Sync {
    /// Whether it stands for all values of a map, which a declaration can name.
    #[doc(hidden)]
    fn is_every_value(&self) -> bool {
        false
    }

    /// The array filter, with every path in it under `name`: `{"f0.score": {"$lt": 60}}`.
    ///
    /// # Errors
    /// An operand that does not fit BSON.
    fn document(&self, name: &str) -> Result<RawDocumentBuf>;
}

impl Path {
    /// The document itself.
    pub const fn root() -> Path {
        Path {
            parent: Base(None),
            last: None,
            variant: None,
        }
    }

    /// Whether this is the document itself.
    pub fn is_root(&self) -> bool {
        self.last.is_none()
    }

    /// The path one segment further.
    pub fn then(&self, segment: Segment) -> Path {
        self.clone().into_base().then(segment)
    }

    /// The path of the field with this stored name.
    pub fn child(&self, name: &'static str) -> Path {
        self.then(Segment::Name(name))
    }

    /// The path as the start of others. One allocation, none for the document itself.
    pub fn into_base(self) -> Base {
        match self.is_root() && self.variant.is_none() {
            true => Base(None),
            false => Base(Some(Arc::new(self))),
        }
    }

    /// The same place, an enum's, taken as this variant of it. Its text is the same.
    pub fn of_variant(mut self, name: &'static &'static str) -> Path {
        self.variant = Some(name);
        self
    }

    /// The segments, first to last.
    pub fn segments(&self) -> Vec<&Segment> {
        let mut segments = Vec::new();
        let mut next = Some(self);
        while let Some(path) = next {
            segments.extend(&path.last);
            next = path.parent.0.as_deref();
        }
        segments.reverse();
        segments
    }

    /// The segments, first to last, each with the variant that its field belongs to.
    pub(crate) fn steps(&self) -> Vec<(Option<&'static str>, &Segment)> {
        let mut steps = Vec::new();
        let mut next = Some(self);
        while let Some(path) = next {
            let parent = path.parent.0.as_deref();
            if let Some(segment) = &path.last {
                steps.push((parent.and_then(|parent| parent.variant).copied(), segment));
            }
            next = parent;
        }
        steps.reverse();
        steps
    }

    /// Whether something of it belongs to a variant.
    pub(crate) fn names_variant(&self) -> bool {
        let parent = self.parent.0.as_deref();
        parent.is_some_and(|parent| parent.variant.is_some() || parent.names_variant())
    }

    /// The same path with names for the array filters that it carries.
    pub(crate) fn named(&self, name: &mut dyn FnMut(&Arc<dyn ArrayCondition>) -> String) -> Path {
        let parent = self.parent.0.as_ref().map(|parent| Arc::new(parent.named(name)));
        Path {
            parent: Base(parent),
            last: match &self.last {
                Some(Segment::Where(condition)) => Some(Segment::Filtered(name(condition).into())),
                other => other.clone(),
            },
            variant: self.variant,
        }
    }

    /// The dotted text of a declaration, in which `*` stands for all values of a map.
    pub(crate) fn declared(&self) -> String {
        let names = self.segments().into_iter().filter_map(|segment| match segment {
            Segment::Any => None,
            Segment::Where(condition) if condition.is_every_value() => Some("*".to_owned()),
            segment => Some(segment.to_string()),
        });
        names.collect::<Vec<_>>().join(".")
    }

    /// The dotted text. `name` names each array filter that the path carries.
    pub fn render(&self, mut name: impl FnMut(&Arc<dyn ArrayCondition>) -> String) -> String {
        let mut text = String::with_capacity(32);
        self.render_onto(&mut text, &mut name);
        text
    }

    fn render_onto(&self, text: &mut String, name: &mut dyn FnMut(&Arc<dyn ArrayCondition>) -> String) {
        if let Some(parent) = &self.parent.0 {
            parent.render_onto(text, name);
        }
        let Some(segment) = &self.last else { return };
        if matches!(segment, Segment::Any) {
            return;
        }
        if !text.is_empty() {
            text.push('.');
        }
        match segment {
            Segment::Name(name) => text.push_str(name),
            Segment::Key(key) => text.push_str(key),
            Segment::Where(condition) => {
                text.push_str("$[");
                text.push_str(&name(condition));
                text.push(']');
            }
            segment => text.push_str(&segment.to_string()),
        }
    }

    /// Whether it consists of declared names alone.
    pub(crate) fn is_plain(&self) -> bool {
        let own = matches!(self.last, None | Some(Segment::Name(_)));
        own && self.parent.0.as_deref().is_none_or(Path::is_plain)
    }
}

impl Base {
    /// The path one segment further.
    pub fn then(&self, segment: Segment) -> Path {
        Path {
            parent: self.clone(),
            last: Some(segment),
            variant: None,
        }
    }

    /// The path of the field with this stored name. Allocates nothing.
    pub fn child(&self, name: &'static str) -> Path {
        self.then(Segment::Name(name))
    }

    /// The path itself.
    pub fn path(&self) -> Path {
        self.0.as_deref().cloned().unwrap_or_default()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(|_| "..".to_owned()))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Name(name) => f.write_str(name),
            Segment::Key(key) => f.write_str(key),
            Segment::Index(index) => write!(f, "{index}"),
            Segment::Any => Ok(()),
            Segment::Matched => f.write_str("$"),
            Segment::All => f.write_str("$[]"),
            Segment::Filtered(name) => write!(f, "$[{name}]"),
            Segment::Where(_) => f.write_str("$[..]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_with_dots() {
        let items = Path::root().child("items");
        assert_eq!(Path::root().to_string(), "");
        assert_eq!(items.to_string(), "items");
        let base = items.then(Segment::Index(3)).into_base();
        assert_eq!(base.child("price").to_string(), "items.3.price");
        assert_eq!(base.path().to_string(), "items.3");
        let any = items.then(Segment::Any);
        assert_eq!(any.to_string(), "items");
        assert_eq!(any.child("price").to_string(), "items.price");
        assert_eq!(any.child("price").declared(), "items.price");
        let filtered = items.then(Segment::Filtered("low".into())).child("price");
        assert_eq!(filtered.render(|_| String::new()), "items.$[low].price");
    }
}
