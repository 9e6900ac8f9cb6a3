//! Regular expressions with MongoDB's syntax and options.

mod translate;

use self::translate::translate;
use super::super::document::Value;
use super::super::fault::{Fault, Result, code};

/// The longest pattern, in bytes, that the server takes.
const LONGEST: usize = 32_764;
/// The most memory, in bytes, that one compiled pattern may take.
const LARGEST_PROGRAM: usize = 4 * 1024 * 1024;

/// The server's code for a pattern that does not compile.
const INVALID_PATTERN: i32 = 51091;
/// The server's code for an unknown option.
const INVALID_OPTION: i32 = 51108;

/// A compiled regular expression, with its text as given.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pattern: String,
    options: String,
    regex: regex::Regex,
}

impl Pattern {
    /// Compiles a pattern; matching takes time linear in the text.
    pub(crate) fn parse(pattern: &str, options: &str) -> Result<Pattern> {
        if pattern.contains('\0') {
            return Err(Fault::new(
                code::BAD_VALUE,
                "Regular expression cannot contain an embedded null byte",
            ));
        }
        if let Some(option) = options.chars().find(|option| !"imsxu".contains(*option)) {
            return Err(Fault::new(
                INVALID_OPTION,
                format!(" invalid flag in regex options: {option}"),
            ));
        }
        if pattern.len() > LONGEST {
            return Err(invalid("regular expression is too large"));
        }
        let translated = translate(pattern, options.contains('x'))?;
        let regex = regex::RegexBuilder::new(&translated)
            .case_insensitive(options.contains('i'))
            .multi_line(options.contains('m'))
            .dot_matches_new_line(options.contains('s'))
            .size_limit(LARGEST_PROGRAM)
            .dfa_size_limit(LARGEST_PROGRAM)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => {
                    Fault::unsupported(format!("regular expression is too large: {pattern}"))
                }
                other => invalid(complaint(&other.to_string())),
            })?;
        let mut sorted: Vec<char> = options.chars().collect();
        sorted.sort_unstable();
        Ok(Pattern {
            pattern: pattern.to_owned(),
            options: sorted.into_iter().collect(),
            regex,
        })
    }

    /// The pattern as given.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The options as given, sorted.
    pub(crate) fn options(&self) -> &str {
        &self.options
    }

    /// The compiled expression, for its matches and groups.
    pub(crate) fn regex(&self) -> &regex::Regex {
        &self.regex
    }

    /// Whether the text contains a match.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Whether the value is a string with a match, or a stored regular expression equal to this one.
    pub(crate) fn accepts(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) | Value::Symbol(text) => self.is_match(text),
            Value::Regex { pattern, options } => {
                *pattern == self.pattern
                    && options.len() == self.options.len()
                    && options.chars().all(|option| self.options.contains(option))
            }
            _ => false,
        }
    }
}

fn invalid(reason: &str) -> Fault {
    Fault::new(
        INVALID_PATTERN,
        format!("Regular expression is invalid: {reason}"),
    )
}

/// The server's words for what the compiler found wrong.
fn complaint(error: &str) -> &str {
    const WORDS: [(&str, &str); 12] = [
        (
            "unclosed character class",
            "missing terminating ] for character class",
        ),
        ("unclosed group", "missing )"),
        ("unopened group", "unmatched parentheses"),
        ("repetition operator missing expression", "nothing to repeat"),
        (
            "invalid repetition count range",
            "numbers out of order in {} quantifier",
        ),
        (
            "invalid character class range",
            "range out of order in character class",
        ),
        ("incomplete escape sequence", "\\ at end of pattern"),
        ("unrecognized flag", "unrecognized character after (? or (?-"),
        (
            "Unicode property not found",
            "unknown property name after \\P or \\p",
        ),
        (
            "Unicode property value not found",
            "unknown property name after \\P or \\p",
        ),
        (
            "duplicate capture group name",
            "two named subpatterns have the same name",
        ),
        (
            "exceeds the maximum number of nested",
            "parentheses are too deeply nested",
        ),
    ];
    WORDS
        .iter()
        .find(|(found, _)| error.contains(found))
        .map_or("it does not compile", |(_, words)| words)
}
