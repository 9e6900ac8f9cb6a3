//! Paths and operands of a field, as they go into filters and updates.

use bson::raw::{CStr, CString, cstr};
use bson::{RawBson, RawDocumentBuf};
use serde::Serialize;

use super::filter::{Node, Test, array, is_plain};
use super::operand::Operand;
use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ArrayCondition, ArrayType, Field, Path, Segment};

impl<R, T> Field<R, T> {
    /// The path for sorts and stages, where positions of updates have no meaning and arrays in arrays are not reached.
    pub(super) fn query_path(&self) -> Result<CString> {
        let place = Place::of(self.path(), Tested::Value)?;
        match place.arrays.is_empty() {
            true => Ok(place.last),
            false => Err(Error::new(
                ErrorKind::InvalidArgument,
                "only filters reach the elements of arrays in arrays",
            )
            .with_path(self.path().to_string())),
        }
    }

    /// The condition that this test is on the field.
    pub(super) fn tested(&self, tested: Tested, test: Test) -> Result<Node> {
        Place::of(self.path(), tested)?.node(test)
    }

    /// The condition that one operator is on the field.
    pub(super) fn operator(
        &self,
        tested: Tested,
        operator: &'static CStr,
        value: Result<RawBson>,
    ) -> Result<Node> {
        let place = Place::of(self.path(), tested)?;
        place.node(Test::Operators(vec![(operator, value?)]))
    }

    /// The condition that the field, or an element of it, is equal to one of these.
    pub(super) fn one_of(&self, is_element: bool, values: Vec<RawBson>) -> Result<Node> {
        // `$in` would match by stored patterns, and takes no document that looks like operators.
        if !values.iter().all(is_plain) {
            let each = values.into_iter().map(|value| self.equal(is_element, value));
            return each.collect::<Result<_>>().map(Node::or);
        }
        let tested = Tested::by(is_element, values.iter().any(is_array));
        self.tested(tested, Test::Operators(vec![(cstr!("$in"), array(values))]))
    }

    /// The condition that the field, or an element of it, is equal to this.
    pub(super) fn equal(&self, is_element: bool, value: RawBson) -> Result<Node> {
        self.tested(Tested::by(is_element, is_array(&value)), Test::equal(value))
    }

    /// Whether a test of this field's elements is one of its own path.
    pub(super) fn has_near_elements(&self) -> Result<bool> {
        Ok(Place::of(self.path(), Tested::Element)?.arrays.is_empty())
    }

    /// Whether updates know the path.
    pub(super) fn changeable(&self) -> Result<()> {
        if self.path().is_plain() {
            return Ok(());
        }
        self.reachable()?;
        match self
            .path()
            .segments()
            .iter()
            .any(|segment| matches!(segment, Segment::Any))
        {
            false => Ok(()),
            true => Err(Error::new(
                ErrorKind::InvalidArgument,
                "`any` is for filters; in updates reach elements by `each`, `matched`, `filtered` or `at`",
            )
            .with_path(self.path().to_string())),
        }
    }

    /// Whether the path leads somewhere: not past an array with its own codec, not by a key that cannot be in one.
    pub(super) fn reachable(&self) -> Result<()> {
        if self.path().is_plain() {
            return Ok(());
        }
        for segment in self.path().segments() {
            if let Segment::Where(condition) = segment {
                condition.document("f0")?;
            }
        }
        Ok(())
    }

    /// The operand as this field's values are stored.
    pub(super) fn operand(&self, operand: impl Operand<T>) -> Result<RawBson>
    where
        T: Serialize,
    {
        operand.with_operand(|value| self.encode(value))
    }

    pub(super) fn encode(&self, value: &T) -> Result<RawBson>
    where
        T: Serialize,
    {
        match self.codec() {
            Some(codec) => codec(value),
            None => encode_value(value),
        }
        .map_err(|error| located(error, self.path()))
    }

    /// The operands as this field's values are stored.
    pub(super) fn operands<I>(&self, operands: I) -> Result<Vec<RawBson>>
    where
        T: Serialize,
        I: IntoIterator<Item: Operand<T>>,
    {
        operands
            .into_iter()
            .map(|operand| self.operand(operand))
            .collect()
    }

    /// The operand as an element of this array is stored.
    ///
    /// An array with its own codec is asked to encode an array of this one element.
    pub(super) fn element(&self, operand: impl Operand<T::Item>) -> Result<RawBson>
    where
        T: ArrayType<Item: Serialize>,
    {
        let element = match self.codec() {
            None => operand.with_operand(encode_value),
            Some(codec) => operand
                .into_operand()
                .ok_or_else(by_value)
                .and_then(|element| T::one(element).ok_or_else(own_codec))
                .and_then(|array| codec(&array))
                .and_then(
                    |array| match array.as_array().and_then(|array| array.into_iter().next()) {
                        Some(Ok(element)) => Ok(element.into()),
                        _ => Err(own_codec()),
                    },
                ),
        };
        element.map_err(|error| located(error, self.path()))
    }

    /// The operands as elements of this array are stored.
    pub(super) fn elements<I>(&self, operands: I) -> Result<Vec<RawBson>>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        operands
            .into_iter()
            .map(|operand| self.element(operand))
            .collect()
    }

    /// The path of elements of this array.
    ///
    /// Elements of an array with its own codec would be encoded by another one than stored them, so that path
    /// carries an error along.
    pub(super) fn element_path(&self, segment: Option<Segment>) -> Path {
        let path = match self.codec() {
            None => self.path().clone(),
            Some(_) => self.path().then(Segment::Where(std::sync::Arc::new(OwnCodec))),
        };
        match segment {
            Some(segment) => path.then(segment),
            None => path,
        }
    }
}

/// What of a field a condition is about.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tested {
    /// The value. Of an array reached by `any` MongoDB tests the elements then, so that it must not be one.
    Value,
    /// The value, which is an array.
    Array,
    /// An element of the value.
    Element,
    /// An element of the value, which is an array.
    ElementArray,
}

impl Tested {
    pub(super) fn by(is_element: bool, is_array: bool) -> Tested {
        match (is_element, is_array) {
            (false, false) => Tested::Value,
            (false, true) => Tested::Array,
            (true, false) => Tested::Element,
            (true, true) => Tested::ElementArray,
        }
    }
}

/// Where a condition is: below arrays whose elements no path reaches, but `$elemMatch` does.
struct Place {
    /// The paths of those arrays, each from the element of the one before.
    arrays: Vec<CString>,
    /// The path from the element of the last.
    last: CString,
    /// The first array whose elements that path reaches.
    near: Option<CString>,
}

impl Place {
    fn of(path: &Path, tested: Tested) -> Result<Place> {
        if path.is_plain() && (matches!(tested, Tested::Value | Tested::Array)) {
            return Ok(Place {
                arrays: Vec::new(),
                last: path_text(path.to_string())?,
                near: None,
            });
        }
        let element = Segment::Any;
        let mut segments = path.segments();
        if matches!(tested, Tested::Element | Tested::ElementArray) {
            segments.push(&element);
        }
        let is_array = matches!(tested, Tested::Array | Tested::ElementArray);
        let mut arrays = Vec::new();
        let mut last = String::new();
        let mut is_at_index = false;
        let mut near = None;
        let mut segments = segments.into_iter().peekable();
        while let Some(segment) = segments.next() {
            match segment {
                Segment::Where(condition) => {
                    condition.document("f0")?;
                    return Err(positional(path));
                }
                Segment::Matched | Segment::All | Segment::Filtered(_) => return Err(positional(path)),
                Segment::Any => {
                    // A path goes into the elements of the array that it names, once, and not of one that is an element.
                    let is_near = match segments.peek() {
                        Some(Segment::Any | Segment::Index(_)) => false,
                        Some(_) => true,
                        None => !is_array,
                    };
                    if !is_near || last.is_empty() || is_at_index {
                        arrays.push(path_text(std::mem::take(&mut last))?);
                    } else if near.is_none() {
                        near = Some(path_text(last.clone())?);
                    }
                }
                Segment::Name(_) | Segment::Key(_) | Segment::Index(_) => {
                    if matches!(segment, Segment::Index(_)) && near.is_none() {
                        near = Some(path_text(last.clone())?);
                    }
                    if !last.is_empty() {
                        last.push('.');
                    }
                    last.push_str(&segment.to_string());
                }
            }
            is_at_index = matches!(segment, Segment::Index(_));
        }
        Ok(Place {
            arrays,
            last: path_text(last)?,
            near,
        })
    }

    fn node(self, test: Test) -> Result<Node> {
        let mut node = Node::Test {
            path: self.last,
            test,
            array: self.near.filter(|_| self.arrays.is_empty()),
        };
        for path in self.arrays.into_iter().rev() {
            let condition = RawBson::Document(node.element_document()?);
            node = Node::Test {
                path,
                test: Test::Operators(vec![(cstr!("$elemMatch"), condition)]),
                array: None,
            };
        }
        Ok(node)
    }
}

fn is_array(value: &RawBson) -> bool {
    matches!(value, RawBson::Array(_))
}

impl<R, T> Field<R, T> {
    /// Puts this field's path into an error.
    pub(super) fn located<V>(&self, result: Result<V>) -> Result<V> {
        result.map_err(|error| located(error, self.path()))
    }
}

/// Stands in the path of what cannot be reached because an array above has its own codec.
#[derive(Debug)]
struct OwnCodec;

impl ArrayCondition for OwnCodec {
    fn document(&self, _: &str) -> Result<RawDocumentBuf> {
        Err(own_codec())
    }
}

pub(super) fn own_codec() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the elements of an array and the values of a map with their own serde codec (`as_bson`, `with`) cannot be \
         reached; use a raw filter, update or stage",
    )
}

fn by_value() -> Error {
    let text = "an element of an array with its own serde codec (`as_bson`, `with`) is given by value";
    Error::new(ErrorKind::InvalidArgument, text)
}

fn positional(path: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "`matched`, `each` and `filtered` are for updates; in filters reach elements by `any` or `at`",
    )
    .with_path(path.to_string())
}

pub(in crate::query) fn path_text(text: String) -> Result<CString> {
    CString::try_from(text).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, "a field name holds a nul").with_source(error)
    })
}

/// Puts the field's path before the path inside its value.
fn located(error: Error, path: &Path) -> Error {
    let path = match error.path() {
        Some(inner) if !path.is_root() => format!("{path}.{inner}"),
        Some(inner) => inner.to_owned(),
        None => path.to_string(),
    };
    error.with_path(path)
}
