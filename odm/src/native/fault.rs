//! The engine's own error: MongoDB's code and message, and what a caller can do.

use std::borrow::Cow;

use super::document::Doc;

/// `Result` with [`Fault`].
pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// Why the engine refused, with MongoDB's code and words where MongoDB has them.
#[derive(Clone, Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: i32,
    message: Cow<'static, str>,
    /// How many bytes of the message tell what was running.
    running: usize,
    /// Whether it is that no plan answers a query.
    unplanned: bool,
    class: Class,
    labels: Vec<&'static str>,
    duplicate: Option<DuplicateKey>,
    /// More about it, as BSON bytes.
    details: Option<Vec<u8>>,
    /// What stands beside its code and message, as BSON bytes.
    beside: Option<Vec<u8>>,
}

/// What kind of trouble it is, beyond the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The request is wrong, or the data does not allow it.
    Request,
    /// MongoDB allows it, this engine does not.
    Unsupported,
    /// Another writer was first.
    Conflict,
    /// A running transaction holds what a single operation needs; the engine runs the operation again when
    /// the transaction has ended. Never leaves the engine.
    Blocked,
    /// Stored bytes are damaged.
    Corrupt,
    /// The disk failed.
    Io,
    /// A commit's fsync failed: whether the write is durable is not known.
    InDoubt,
    /// The files are in use by another process, or the engine is closed.
    Locked,
    /// The time limit was reached.
    Timeout,
}

/// The key that a unique index refused; the documents are BSON bytes.
#[derive(Clone, Debug)]
pub(crate) struct DuplicateKey {
    pub(crate) index: String,
    pub(crate) pattern: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Where the index compares by a collation.
    pub(crate) collated: Option<CollatedKey>,
}

/// How the strings of a refused key are shown: as what the collation compares by.
#[derive(Clone, Debug)]
pub(crate) struct CollatedKey {
    /// The collation, as BSON bytes.
    pub(crate) collation: Vec<u8>,
    /// Of each value of the key, whether it is a string, which stands there as hexadecimal digits.
    pub(crate) hex: Vec<bool>,
}

/// MongoDB's error codes that the engine gives.
pub(crate) mod code {
    pub(crate) const BAD_VALUE: i32 = 2;
    pub(crate) const FAILED_TO_PARSE: i32 = 9;
    pub(crate) const TYPE_MISMATCH: i32 = 14;
    pub(crate) const OVERFLOW: i32 = 15;
    pub(crate) const INVALID_LENGTH: i32 = 16;
    pub(crate) const ILLEGAL_OPERATION: i32 = 20;
    pub(crate) const INVALID_BSON: i32 = 22;
    pub(crate) const NAMESPACE_NOT_FOUND: i32 = 26;
    pub(crate) const INDEX_NOT_FOUND: i32 = 27;
    pub(crate) const PATH_NOT_VIABLE: i32 = 28;
    pub(crate) const CONFLICTING_UPDATE_OPERATORS: i32 = 40;
    pub(crate) const CURSOR_NOT_FOUND: i32 = 43;
    pub(crate) const NAMESPACE_EXISTS: i32 = 48;
    pub(crate) const DOLLAR_PREFIXED_FIELD_NAME: i32 = 52;
    pub(crate) const INVALID_ID_FIELD: i32 = 53;
    pub(crate) const NOT_SINGLE_VALUE_FIELD: i32 = 54;
    pub(crate) const EMPTY_FIELD_NAME: i32 = 56;
    pub(crate) const COMMAND_NOT_FOUND: i32 = 59;
    pub(crate) const IMMUTABLE_FIELD: i32 = 66;
    pub(crate) const CANNOT_CREATE_INDEX: i32 = 67;
    pub(crate) const INDEX_ALREADY_EXISTS: i32 = 68;
    pub(crate) const INVALID_OPTIONS: i32 = 72;
    pub(crate) const INVALID_NAMESPACE: i32 = 73;
    pub(crate) const INDEX_OPTIONS_CONFLICT: i32 = 85;
    pub(crate) const INDEX_KEY_SPECS_CONFLICT: i32 = 86;
    pub(crate) const WRITE_CONFLICT: i32 = 112;
    pub(crate) const COMMAND_NOT_SUPPORTED: i32 = 115;
    pub(crate) const DOCUMENT_VALIDATION_FAILURE: i32 = 121;
    pub(crate) const COMMAND_NOT_SUPPORTED_ON_VIEW: i32 = 166;
    pub(crate) const OPTION_NOT_SUPPORTED_ON_VIEW: i32 = 167;
    pub(crate) const OPERATION_NOT_SUPPORTED_IN_TRANSACTION: i32 = 263;
    pub(crate) const CANNOT_CONVERT_INDEX_TO_UNIQUE: i32 = 359;
    pub(crate) const NO_SUCH_TRANSACTION: i32 = 251;
    pub(crate) const DUPLICATE_KEY: i32 = 11000;
    pub(crate) const BSON_TOO_LARGE: i32 = 10334;
    pub(crate) const UPDATE_TOO_LARGE: i32 = 17419;
    pub(crate) const MAX_TIME_EXPIRED: i32 = 50;
    pub(crate) const DATABASE_DIFFER_CASE: i32 = 13297;
    pub(crate) const INTERNAL: i32 = 1;
    pub(crate) const NO_ANNOTATION: i32 = 4_994_600;

    /// Codes that expressions fail with and that have names; the others are called by their numbers.
    const NAMES: &[(i32, &str)] = &[
        (INTERNAL, "InternalError"),
        (BAD_VALUE, "BadValue"),
        (FAILED_TO_PARSE, "FailedToParse"),
        (TYPE_MISMATCH, "TypeMismatch"),
        (OVERFLOW, "Overflow"),
        (INVALID_LENGTH, "InvalidLength"),
        (ILLEGAL_OPERATION, "IllegalOperation"),
        (INVALID_OPTIONS, "InvalidOptions"),
        (241, "ConversionFailure"),
        (146, "ExceededMemoryLimit"),
        (BSON_TOO_LARGE, "BSONObjectTooLarge"),
    ];

    /// What the server calls a code.
    pub(crate) fn name(code: i32) -> String {
        match NAMES.iter().find(|(named, _)| *named == code) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("Location{code}"),
        }
    }
}

impl Fault {
    /// A refused request with MongoDB's code and message.
    pub(crate) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::of(Class::Request, code, message)
    }

    /// A field that a command, or what is in it, does not have.
    pub(crate) fn unknown_field(within: &str, name: &str) -> Fault {
        let field = match name {
            "" => within.to_owned(),
            name => format!("{within}.{name}"),
        };
        Fault::new(40415, format!("BSON field '{field}' is an unknown field."))
    }

    /// Any fault.
    pub(crate) fn of(class: Class, code: i32, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault(Box::new(Inner {
            code,
            message: message.into(),
            running: 0,
            unplanned: false,
            class,
            labels: Vec::new(),
            duplicate: None,
            details: None,
            beside: None,
        }))
    }

    /// No plan answers a query; what the query is comes before.
    pub(crate) fn unplanned(code: i32, why: impl std::fmt::Display) -> Fault {
        let mut fault = Fault::new(code, format!("planner returned error :: caused by :: {why}"));
        fault.0.unplanned = true;
        fault
    }

    /// Whether it is that no plan answers a query.
    pub(crate) fn is_unplanned(&self) -> bool {
        self.0.unplanned
    }

    /// MongoDB allows it, this engine does not (code 115).
    pub(crate) fn unsupported(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::of(Class::Unsupported, code::COMMAND_NOT_SUPPORTED, message)
    }

    /// Another writer was first (code 112, `TransientTransactionError`).
    pub(crate) fn conflict() -> Fault {
        let mut fault = Fault::of(
            Class::Conflict,
            code::WRITE_CONFLICT,
            "WriteConflict error: this operation conflicted with another operation. Please retry your operation or multi-document transaction.",
        );
        fault.0.labels.push("TransientTransactionError");
        fault
    }

    /// A unique index holds the key already.
    pub(crate) fn duplicate(key: DuplicateKey, message: String) -> Fault {
        let mut fault = Fault::new(code::DUPLICATE_KEY, message);
        fault.0.duplicate = Some(key);
        fault
    }

    /// The same fault with `prefix` before its message.
    pub(crate) fn prefixed(mut self, prefix: &str) -> Fault {
        self.0.message = format!("{prefix}{}", self.0.message).into();
        self.0.running = 0;
        self
    }

    /// The same fault as one that came up while this was running, if it is one of the data, and if that is not told
    /// already.
    pub(crate) fn while_running(self, what: &str) -> Fault {
        if self.0.running > 0 || !matches!(self.0.class, Class::Request | Class::Conflict) {
            return self;
        }
        let prefix = format!("{what} :: caused by :: ");
        let mut fault = self.prefixed(&prefix);
        fault.0.running = prefix.len();
        fault
    }

    /// The same fault with this as what was running, where something was told.
    pub(crate) fn rather_while_running(mut self, what: &str) -> Fault {
        let own = self.0.message.get(self.0.running..).unwrap_or_default();
        if self.0.running == 0 {
            return self;
        }
        self.0.message = own.to_owned().into();
        self.0.running = 0;
        self.while_running(what)
    }

    /// The same fault by another code.
    pub(crate) fn coded(mut self, code: i32) -> Fault {
        self.0.code = code;
        self
    }

    /// The same fault with a label.
    pub(crate) fn labelled(mut self, label: &'static str) -> Fault {
        if !self.0.labels.contains(&label) {
            self.0.labels.push(label);
        }
        self
    }

    /// The same fault with more about it: a document's BSON bytes.
    pub(crate) fn detailed(mut self, details: Vec<u8>) -> Fault {
        self.0.details = Some(details);
        self
    }

    /// More about it.
    pub(crate) fn details(&self) -> Option<&[u8]> {
        self.0.details.as_deref()
    }

    /// The same fault with these fields beside its code and message.
    pub(crate) fn beside(mut self, fields: Vec<u8>) -> Fault {
        self.0.beside = Some(fields);
        self
    }

    /// What stands beside its code and message.
    pub(crate) fn fields(&self) -> Doc<'_> {
        self.0.beside.as_deref().map_or(Doc::empty(), Doc::Raw)
    }

    pub(crate) fn code(&self) -> i32 {
        self.0.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn class(&self) -> Class {
        self.0.class
    }

    pub(crate) fn labels(&self) -> &[&'static str] {
        &self.0.labels
    }

    pub(crate) fn duplicate_key(&self) -> Option<&DuplicateKey> {
        self.0.duplicate.as_ref()
    }
}
