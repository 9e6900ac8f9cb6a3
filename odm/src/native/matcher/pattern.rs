//! Regular expressions with MongoDB's syntax and options.

/// A compiled regular expression, with its text as given.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pattern: String,
    options: String,
    regex: regex::Regex,
}

impl Pattern {
    /// The pattern as given.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The options as given, sorted.
    pub(crate) fn options(&self) -> &str {
        &self.options
    }

    /// Whether the text contains a match.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
