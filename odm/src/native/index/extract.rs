//! The values that a document has under several paths at once: what an index holds and a sort compares.
//!
//! An array on a path stands for its elements, one key each. Paths that meet the same array go through its
//! elements together; paths that meet different ones have no keys. A number after an array is a position
//! when the array has it, and then the value there is taken whole.

use super::super::document::{Doc, Value};
use super::super::fault::{Fault, Result};
use super::arrays::Arrays;

/// A dotted path, split once.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    name: String,
    /// The position in an array that the name also stands for.
    index: Option<usize>,
}

impl Path {
    pub(crate) fn parse(text: &str) -> Path {
        let segments = text
            .split('.')
            .map(|name| {
                let number = name.bytes().all(|byte| byte.is_ascii_digit());
                let canonical = number && (name.len() == 1 || !name.starts_with('0'));
                Segment {
                    name: name.to_owned(),
                    index: if canonical { name.parse().ok() } else { None },
                }
            })
            .collect();
        Path { segments }
    }

    /// The first name.
    pub(super) fn first(&self) -> &str {
        self.segments.first().map_or("", |segment| &segment.name)
    }

    /// The value at the path of a document, or that there is none; nothing when the path meets an array.
    pub(crate) fn plain<'d>(&self, doc: Doc<'d>) -> Option<Option<Value<'d>>> {
        let mut current = Value::Document(doc);
        for segment in &self.segments {
            current = match current {
                Value::Document(doc) => match doc.get(&segment.name) {
                    Some(value) => value,
                    None => return Some(None),
                },
                Value::Array(_) => return None,
                _ => return Some(None),
            };
        }
        match current {
            Value::Array(_) => None,
            value => Some(Some(value)),
        }
    }

    /// The path up to the first array that it meets in the document.
    pub(super) fn text_to_array(&self, bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut current = Value::Document(Doc::Raw(bytes));
        for segment in &self.segments {
            let Value::Document(doc) = current else { break };
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&segment.name);
            current = doc.get(&segment.name).unwrap_or(Value::Null);
        }
        text
    }
}

/// Where a path has got to.
#[derive(Clone, Copy)]
enum Cursor<'d> {
    /// The value; `None` when there is nothing.
    Done(Option<Value<'d>>),
    /// At a value, with the segments from this one on to go. `whole`: the value was taken by its position, so
    /// an array at the end of the path is a value.
    At {
        value: Value<'d>,
        next: usize,
        whole: bool,
    },
}

/// One walk over documents for fixed paths.
pub(crate) struct Extraction<'p> {
    paths: &'p [Path],
    multikey: Vec<Arrays>,
}

/// Receives the values of one key, one per path; `None` is missing.
type Visit<'v, 'd> = &'v mut dyn FnMut(&[Option<Value<'d>>]);

impl<'p> Extraction<'p> {
    pub(crate) fn new(paths: &'p [Path]) -> Extraction<'p> {
        Extraction {
            paths,
            multikey: vec![Arrays::NONE; paths.len()],
        }
    }

    /// Per path, where arrays were expanded on it.
    pub(crate) fn multikey(&self) -> &[Arrays] {
        &self.multikey
    }

    /// Visits every key of the document, which is raw bytes (arrays are told apart by their place).
    pub(crate) fn run<'d>(&mut self, doc: Doc<'d>, visit: Visit<'_, 'd>) -> Result<()> {
        let start = Cursor::At {
            value: Value::Document(doc),
            next: 0,
            whole: false,
        };
        self.step(vec![start; self.paths.len()], visit)
    }

    fn step<'d>(&mut self, mut cursors: Vec<Cursor<'d>>, visit: Visit<'_, 'd>) -> Result<()> {
        let Some((array, place)) = self.advance(&mut cursors)? else {
            let values: Vec<Option<Value<'d>>> = cursors
                .iter()
                .map(|cursor| match cursor {
                    Cursor::Done(value) => *value,
                    Cursor::At { value, .. } => Some(*value),
                })
                .collect();
            visit(&values);
            return Ok(());
        };
        // The paths that go through each element; the others have been resolved for good.
        let mut through = Vec::new();
        for (position, cursor) in cursors.iter_mut().enumerate() {
            let Cursor::At { value, next, whole } = *cursor else {
                continue;
            };
            if address(&value) != Some(place) {
                continue;
            }
            let Some(segment) = self.paths[position].segments.get(next) else {
                if whole {
                    // Empty, it counts as at the end of any path.
                    let value = if array.is_empty() { Value::Undefined } else { value };
                    *cursor = Cursor::Done(Some(value));
                } else {
                    through.push((position, next));
                }
                continue;
            };
            match segment.index.and_then(|index| array.at(index)) {
                Some(element) => {
                    if has_field(array, &segment.name) {
                        return Err(ambiguous(&segment.name, array.values()));
                    }
                    *cursor = Cursor::At {
                        value: element,
                        next: next + 1,
                        whole: next + 1 == self.paths[position].segments.len(),
                    };
                }
                None => through.push((position, next)),
            }
        }
        if through.is_empty() {
            return self.step(cursors, visit);
        }
        for (position, next) in &through {
            let arrays = &mut self.multikey[*position];
            *arrays = arrays.with(Arrays::at(next.saturating_sub(1)));
        }
        if array.is_empty() {
            for (position, next) in &through {
                let at_end = *next == self.paths[*position].segments.len();
                cursors[*position] = Cursor::Done(at_end.then_some(Value::Undefined));
            }
            return self.step(cursors, visit);
        }
        for element in array.values() {
            for (position, next) in &through {
                cursors[*position] = if *next == self.paths[*position].segments.len() {
                    Cursor::Done(Some(element))
                } else if let Value::Document(_) = element {
                    Cursor::At {
                        value: element,
                        next: *next,
                        whole: false,
                    }
                } else {
                    Cursor::Done(None)
                };
            }
            self.step(cursors.clone(), visit)?;
        }
        Ok(())
    }

    /// Moves every cursor to its end or to the first array, and gives that array and its place.
    fn advance<'d>(&self, cursors: &mut [Cursor<'d>]) -> Result<Option<(Doc<'d>, usize)>> {
        let mut met: Option<(Doc<'d>, usize, &str)> = None;
        for (path, cursor) in self.paths.iter().zip(cursors) {
            while let Cursor::At { value, next, whole } = *cursor {
                if let Value::Array(array) = value {
                    let place = address(&value).unwrap_or(0);
                    let name = next
                        .checked_sub(1)
                        .map_or("", |last| path.segments[last].name.as_str());
                    match met {
                        None => met = Some((array, place, name)),
                        Some((_, other, _)) if other == place => {}
                        Some((_, _, first)) => {
                            return Err(Fault::new(
                                171,
                                format!("cannot index parallel arrays [{name}] [{first}]"),
                            ));
                        }
                    }
                    break;
                }
                *cursor = match (path.segments.get(next), value) {
                    (None, value) => Cursor::Done(Some(value)),
                    (Some(segment), Value::Document(doc)) => match doc.get(&segment.name) {
                        Some(value) => Cursor::At {
                            value,
                            next: next + 1,
                            whole: false,
                        },
                        None => Cursor::Done(None),
                    },
                    (Some(_), _) => Cursor::Done(None),
                };
                let _ = whole;
            }
        }
        Ok(met.map(|(array, place, _)| (array, place)))
    }
}

/// Where an array's bytes are: what tells arrays of one document apart.
fn address(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::Array(Doc::Raw(bytes)) => Some(bytes.as_ptr() as usize),
        Value::Array(Doc::Items(items)) => Some(items.as_ptr() as usize),
        Value::Array(Doc::Fields(fields)) => Some(fields.as_ptr() as usize),
        _ => None,
    }
}

/// Whether an element of the array is a document with this field.
fn has_field(array: Doc<'_>, name: &str) -> bool {
    array
        .values()
        .any(|element| matches!(element, Value::Document(doc) if doc.get(name).is_some()))
}

/// A name that is a position in the array and a field of its elements.
pub(crate) fn ambiguous<'a>(name: &str, array: impl Iterator<Item = Value<'a>>) -> Fault {
    let mut text = String::new();
    for (position, element) in array.enumerate() {
        text.push_str(if position == 0 { "{ " } else { ", " });
        text.push_str(&format!("{position}: {element}"));
    }
    Fault::new(
        16746,
        format!(
            "Ambiguous field name found in array (do not use numeric field names in embedded elements in an \
             array), field: '{name}' for array: {text} }}"
        ),
    )
}
