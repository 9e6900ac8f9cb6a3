//! Filters on text.

use bson::RawBson;
use bson::raw::cstr;

use super::encode::Tested;
use super::filter::{Filter, Test};
use crate::error::{Error, ErrorKind};
use crate::model::{Field, Text};

impl<R, T> Field<R, T> {
    /// Matches this regular expression, with MongoDB's options: `i` ignores case, `m` lets `^` and `$` match at
    /// lines, `x` ignores white space, `s` lets `.` match line ends.
    ///
    /// The pattern is taken as it is: never build it from a user's text, use [`contains`](Field::contains) and its
    /// like. A field with its own serde codec has none of them (`Unsupported`): patterns are asked of what is stored. Only a
    /// pattern that starts with `^` and plain text, without `i`, can use an index well.
    pub fn regex(&self, pattern: impl Into<String>, options: impl Into<String>) -> Filter<R>
    where
        T: Text,
    {
        let (pattern, options) = (pattern.into(), options.into());
        let mut operators = vec![(cstr!("$regex"), RawBson::String(pattern))];
        if !options.is_empty() {
            operators.push((cstr!("$options"), RawBson::String(options)));
        }
        let plain = match self.codec() {
            None => Ok(()),
            Some(_) => self.located(Err(Error::new(
                ErrorKind::Unsupported,
                "patterns are asked of what is stored, and the field has its own serde codec (`with`); use a raw filter",
            ))),
        };
        Filter::from_result(plain.and_then(|()| self.tested(Tested::Value, Test::Operators(operators))))
    }

    /// Starts with this text, upper and lower case told apart. An index on the field is used as a range.
    pub fn starts_with(&self, text: impl AsRef<str>) -> Filter<R>
    where
        T: Text,
    {
        self.regex(format!("^{}", escape(text.as_ref())), "")
    }

    /// Ends with this text. Looks at every value.
    pub fn ends_with(&self, text: impl AsRef<str>) -> Filter<R>
    where
        T: Text,
    {
        self.regex(format!("{}\\z", escape(text.as_ref())), "")
    }

    /// Contains this text. Looks at every value.
    pub fn contains(&self, text: impl AsRef<str>) -> Filter<R>
    where
        T: Text,
    {
        self.regex(escape(text.as_ref()), "")
    }

    /// Is this text when upper and lower case are taken as the same. Looks at every value.
    pub fn eq_ignore_case(&self, text: impl AsRef<str>) -> Filter<R>
    where
        T: Text,
    {
        self.regex(pattern_of(text.as_ref()), "i")
    }
}

/// A pattern that this text alone meets.
pub(crate) fn pattern_of(text: &str) -> String {
    format!("^{}\\z", escape(text))
}

/// A pattern that matches exactly this text.
fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
                pattern.push('\\');
                pattern.push(character);
            }
            // Patterns end at a NUL on the server.
            '\0' => pattern.push_str("\\x00"),
            character => pattern.push(character),
        }
    }
    pattern
}
