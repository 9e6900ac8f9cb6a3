//! What is left to `bson`.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::{de, ser};

use crate::error::{Error, ErrorKind};

/// A value, or bytes, of another kind than those that are treated here, or wrong: why does not matter, as `bson` is asked
/// then and says it.
#[derive(Debug)]
pub(super) enum Unfit {
    /// `bson` is asked.
    Left,
    /// `bson` is asked for this value alone.
    Rare,
    /// It is wrong, though `bson` might take it: a value of another kind, which it would show as extended JSON, read as
    /// text or take apart by position; a document that looks like extended JSON; two fields of the same name, which it
    /// would write.
    Refused,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::Left | Unfit::Rare => "left to others",
            Unfit::Refused => "a value of another kind is stored than the type is stored as",
        })
    }
}

impl std::error::Error for Unfit {}

impl de::Error for Unfit {
    fn custom<T: fmt::Display>(message: T) -> Unfit {
        said(&message);
        Unfit::Left
    }
}

impl ser::Error for Unfit {
    fn custom<T: fmt::Display>(message: T) -> Unfit {
        said(&message);
        Unfit::Left
    }
}

/// What is wrong, as our own coders see it. `bson` says it of all but maps whose keys are no text, which it does not
/// know.
#[derive(Default)]
pub(super) struct Words {
    /// Whether a map had keys that are no text.
    pub(super) has_other_names: bool,
    /// What was said last.
    pub(super) message: String,
}

impl Words {
    pub(super) fn error(self, kind: ErrorKind, otherwise: &'static str, path: &str) -> Error {
        let error = match self.message.is_empty() {
            true => Error::new(kind, otherwise),
            false => Error::new(kind, self.message),
        };
        match path {
            "" => error,
            path => error.with_path(path),
        }
    }
}

/// What is said of two fields.
pub(super) const REPEATED: &str = "two fields of a document have the same name";

/// What is said of an integer that is none of BSON's.
pub(super) const TOO_LARGE: &str =
    "an integer above 2^63 - 1 does not fit BSON; store it as a string, decimal128 or binary";

thread_local! {
    /// Whether somebody listens: words cost more than all the rest, and most of them nobody hears.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
    static HEARD: RefCell<Words> = const { RefCell::new(Words { has_other_names: false, message: String::new() }) };
}

/// What is said while this runs.
pub(super) fn listen<T>(run: impl FnOnce() -> T) -> (T, Words) {
    HEARD.take();
    LISTENS.set(true);
    let value = run();
    LISTENS.set(false);
    (value, HEARD.take())
}

#[inline]
fn said(message: &dyn fmt::Display) {
    if LISTENS.get() {
        HEARD.with_borrow_mut(|heard| heard.message = message.to_string());
    }
}

/// Tells of a map's key that is no text.
#[inline]
pub(super) fn other_name() {
    if LISTENS.get() {
        HEARD.with_borrow_mut(|heard| heard.has_other_names = true);
    }
}

/// The error of a map's key that cannot be a name.
#[cold]
pub(super) fn no_name() -> Unfit {
    other_name();
    said(&"a map's key is text, an integer, a bool, an enum without data or an identifier, and holds no NUL");
    Unfit::Left
}

/// The error of an integer that is none of BSON's.
#[cold]
pub(super) fn too_large() -> Unfit {
    said(&TOO_LARGE);
    Unfit::Left
}

/// The error of a value of another kind.
#[cold]
pub(super) fn other_kind(kind: u8, expected: &str) -> Unfit {
    said(&format_args!(
        "invalid type: {}, expected {expected}",
        kind_name(kind)
    ));
    Unfit::Refused
}

/// The error of a document that would be read as what it shows.
#[cold]
pub(super) fn shows_another(name: &str) -> Unfit {
    said(&format_args!(
        "a document with a field `{name}` would be read as the value that it shows in extended JSON; `RawBson` and \
         `RawDocumentBuf` take it as it is"
    ));
    Unfit::Refused
}

/// What BSON calls a type, as `$type` does.
pub(crate) fn kind_name(kind: u8) -> &'static str {
    match kind {
        0x01 => "double",
        0x02 => "string",
        0x03 => "document",
        0x04 => "array",
        0x05 => "binData",
        0x06 => "undefined",
        0x07 => "objectId",
        0x08 => "bool",
        0x09 => "date",
        0x0A => "null",
        0x0B => "regex",
        0x0C => "dbPointer",
        0x0D => "javascript",
        0x0E => "symbol",
        0x0F => "javascriptWithScope",
        0x10 => "int",
        0x11 => "timestamp",
        0x12 => "long",
        0x13 => "decimal",
        0x7F => "maxKey",
        0xFF => "minKey",
        _ => "unknown",
    }
}

/// The error of two fields of a document that have the same name.
#[cold]
pub(super) fn repeated() -> Unfit {
    said(&REPEATED);
    Unfit::Refused
}
