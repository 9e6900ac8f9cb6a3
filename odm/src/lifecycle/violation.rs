//! What is wrong with a value.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// A rule that a value breaks. See [`Error::violations`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The dotted path of the value by its stored names: `addresses.1.city`; empty for the whole document. Of several
    /// elements that are pushed together, the number is the element's place among them, counted from 0.
    pub path: String,
    /// The rule: `min`, `max`, `length`, `pattern`, `email`, `url`, `one_of`, `finite`, `custom`, or `max_items` for
    /// the bound of an array; or one of somebody else's, as of a catalog of attributes.
    pub rule: &'static str,
    /// What must hold, or what the custom function said.
    pub message: Cow<'static, str>,
    /// Which document or statement of a batch, counted from 0.
    pub statement: usize,
}

impl Violation {
    /// A broken rule of the value at this path.
    pub fn new(
        path: impl Into<String>,
        rule: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Violation {
        Violation {
            path: path.into(),
            rule,
            message: message.into(),
            statement: 0,
        }
    }
}

/// A broken rule, before it is known where.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) rule: &'static str,
    pub(crate) text: Cow<'static, str>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}", self.message),
            path => write!(f, "`{path}` {}", self.message),
        }
    }
}

/// One error of all violations; none without any.
pub(crate) fn finish(violations: Vec<Violation>) -> Result<()> {
    match violations.is_empty() {
        true => Ok(()),
        false => Err(error(violations)),
    }
}

/// One error of all violations, of which there are some.
pub(crate) fn error(violations: Vec<Violation>) -> Error {
    let is_batch = violations
        .windows(2)
        .any(|pair| pair[0].statement != pair[1].statement);
    let shown = violations.iter().take(8).map(|violation| match is_batch {
        true => format!("{violation} (document {} of the batch)", violation.statement),
        false => violation.to_string(),
    });
    let shown: Vec<String> = shown.collect();
    let more = if violations.len() > shown.len() {
        ", .."
    } else {
        ""
    };
    let text = format!(
        "the document breaks rules of its model: {}{more}",
        shown.join(", ")
    );
    Error::new(ErrorKind::Validation, text).with_violations(violations)
}
