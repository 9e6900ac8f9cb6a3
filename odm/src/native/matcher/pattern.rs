//! Regular expressions with MongoDB's syntax and options.
//!
//! A pattern is read into a tree, as PCRE reads it, and written for the `regex` crate, which searches in time
//! linear in the text. What that crate does not have (looks around, back-references, ...) is left to a search
//! of our own, with limits, and only where the crate has found that there may be a match.

mod check;
mod parse;
mod program;
mod search;
mod set;
mod size;
mod syntax;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use self::check::Groups;
use self::program::Program;
pub(crate) use self::search::{Exhausted, Spans};
use self::syntax::{Refusal, Syntax};
use self::write::Doubts;
use super::super::document::Value;
use super::super::fault::{Fault, Result, code};

/// The longest pattern, in bytes, that is looked at; what the server takes is shorter, without its comments.
const LONGEST: usize = 1 << 20;
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
    /// `None` if it were too large.
    regex: Option<regex::Regex>,
    doubts: Doubts,
    /// What settles the doubts, where there may be any.
    program: Option<Arc<Program>>,
    /// Each byte of a text is a character.
    bytes: bool,
}

/// What a pattern is for, which the server compiles in several ways.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    /// `$regex`: the server puts something behind the pattern.
    Filter,
    /// `$regexMatch` and its like.
    Expression,
    /// `patternProperties`: names are bytes.
    Name,
}

impl Pattern {
    /// Compiles a pattern of a filter.
    pub(crate) fn parse(pattern: &str, options: &str) -> Result<Pattern> {
        Pattern::compile(pattern, options, Use::Filter)
    }

    /// Compiles a pattern of an expression.
    pub(crate) fn parse_for_expression(pattern: &str, options: &str) -> Result<Pattern> {
        Pattern::compile(pattern, options, Use::Expression)
    }

    /// Compiles a pattern of the names of fields.
    pub(crate) fn parse_for_names(pattern: &str) -> Result<Pattern> {
        Pattern::compile(pattern, "", Use::Name)
    }

    fn compile(pattern: &str, options: &str, purpose: Use) -> Result<Pattern> {
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
            return Err(invalid(size::TOO_LARGE));
        }
        let syntax = read(pattern, options, purpose).map_err(|refusal| match refusal {
            Refusal::Invalid(reason) => invalid(reason),
            Refusal::Unsupported(what) => Fault::unsupported(format!(
                "regular expressions with {what} are not supported: {pattern}"
            )),
        })?;
        let (written, doubts) = write::write(&syntax.root, syntax.groups);
        let regex = regex::RegexBuilder::new(&written)
            .size_limit(LARGEST_PROGRAM)
            .dfa_size_limit(LARGEST_PROGRAM)
            .nest_limit(MOST_NESTED)
            .build()
            .ok();
        let program = (doubts.any() || regex.is_none()).then(|| Arc::new(program::compile(&syntax)));
        let mut sorted: Vec<char> = options.chars().collect();
        sorted.sort_unstable();
        Ok(Pattern {
            pattern: pattern.to_owned(),
            options: sorted.into_iter().collect(),
            regex,
            doubts,
            program,
            bytes: syntax.bytes,
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

    /// Whether the text contains a match; a search that is given up has found none, as on the server.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.find(text).unwrap_or(false)
    }

    /// Whether the text contains a match.
    ///
    /// # Errors
    /// A search that was given up.
    pub(crate) fn find(&self, text: &str) -> std::result::Result<bool, Exhausted> {
        let text = if self.bytes {
            characters(text)
        } else {
            Cow::Borrowed(text)
        };
        let Some(regex) = &self.regex else {
            return Ok(self.settle(&text, 0, 0)?.is_some());
        };
        if !self.doubts.of_match(&text) {
            return Ok(regex.is_match(&text));
        }
        match regex.find(&text) {
            Some(found) => Ok(self.settle(&text, 0, found.start())?.is_some()),
            None => Ok(false),
        }
    }

    /// The first match from a position on, with its groups.
    ///
    /// # Errors
    /// A search that was given up.
    pub(crate) fn search(&self, text: &str, from: usize) -> std::result::Result<Option<Spans>, Exhausted> {
        let Some(regex) = &self.regex else {
            return self.settle(text, from, from);
        };
        if self.doubts.of_spans(text) {
            return match regex.find_at(text, from) {
                Some(found) => self.settle(text, from, found.start()),
                None => Ok(None),
            };
        }
        let found = regex.captures_at(text, from);
        Ok(found.map(|groups| {
            groups
                .iter()
                .map(|group| group.map(|group| (group.start(), group.end())))
                .collect()
        }))
    }

    fn settle(
        &self,
        text: &str,
        from: usize,
        earliest: usize,
    ) -> std::result::Result<Option<Spans>, Exhausted> {
        match &self.program {
            Some(program) => program.search(text, from, earliest),
            None => Ok(None),
        }
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

/// More than what groups of the deepest nesting are written with.
const MOST_NESTED: u32 = 2_000;

fn read(pattern: &str, options: &str, purpose: Use) -> syntax::Parsed<Syntax> {
    let syntax = match purpose {
        Use::Name => {
            let syntax = parse::parse(&characters(pattern), options, true)?;
            // It asks for UTF-8 itself.
            match syntax.bytes {
                true => syntax,
                false => parse::parse(pattern, options, false)?,
            }
        }
        Use::Filter | Use::Expression => parse::parse(pattern, options, false)?,
    };
    Groups::of(&syntax).check(&syntax)?;
    let size = size::of(&syntax.root);
    let (complaint, around) = match purpose {
        Use::Expression => (None, 0),
        Use::Filter | Use::Name => (syntax.swallows, size::AROUND),
    };
    if let Some(complaint) = complaint {
        return Err(Refusal::Invalid(complaint));
    }
    match size.saturating_add(around) > size::MOST {
        true => Err(Refusal::Invalid(size::TOO_LARGE)),
        false => Ok(syntax),
    }
}

/// The characters that stand for bytes.
fn characters(text: &str) -> Cow<'_, str> {
    match text.is_ascii() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.bytes().map(char::from).collect()),
    }
}

fn invalid(reason: &str) -> Fault {
    Fault::new(
        INVALID_PATTERN,
        format!("Regular expression is invalid: {reason}"),
    )
}
