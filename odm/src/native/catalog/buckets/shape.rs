//! The types of what the fields of a bucket hold: a document with others does not go in.

use crate::native::document::{Doc, Value, type_rank};

/// The type of a value, and of the values in it.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// The rank of its type in the order of types.
    Scalar(u8),
    Document(Vec<(Box<[u8]>, Shape)>),
    /// Place by place.
    Array(Vec<Shape>),
}

impl Shape {
    pub(super) fn of(value: &Value<'_>) -> Shape {
        match value {
            Value::Document(doc) => {
                let fields = doc.elements();
                Shape::Document(
                    fields
                        .map(|field| (field.name().into(), Shape::of(&field.value())))
                        .collect(),
                )
            }
            Value::Array(items) => Shape::Array(items.values().map(|item| Shape::of(&item)).collect()),
            scalar => Shape::Scalar(type_rank(scalar)),
        }
    }

    /// Takes in what a value has that is new; `false` where something has another type.
    pub(super) fn takes(&mut self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Shape::Document(fields), Value::Document(doc)) => take_fields(fields, *doc),
            (Shape::Array(items), Value::Array(values)) => {
                values
                    .values()
                    .enumerate()
                    .all(|(at, value)| match items.get_mut(at) {
                        Some(own) => own.takes(&value),
                        None => {
                            items.push(Shape::of(&value));
                            true
                        }
                    })
            }
            // As on the server, which has no type of its own for either.
            (Shape::Document(_) | Shape::Array(_), Value::Undefined) => true,
            (Shape::Scalar(rank), value) => *rank == type_rank(value),
            _ => false,
        }
    }
}

fn take_fields(fields: &mut Vec<(Box<[u8]>, Shape)>, doc: Doc<'_>) -> bool {
    let mut expected = 0;
    doc.elements().all(|element| {
        let is_named = |own: &(Box<[u8]>, Shape)| *own.0 == *element.name();
        match position(fields, expected, is_named) {
            Some(at) => {
                expected = at + 1;
                fields[at].1.takes(&element.value())
            }
            None => {
                fields.push((element.name().into(), Shape::of(&element.value())));
                true
            }
        }
    })
}

/// Where the one that is asked for is, most likely at the expected place.
pub(super) fn position<T>(all: &[T], expected: usize, is_wanted: impl Fn(&T) -> bool) -> Option<usize> {
    match all.get(expected) {
        Some(own) if is_wanted(own) => Some(expected),
        _ => all.iter().position(is_wanted),
    }
}
