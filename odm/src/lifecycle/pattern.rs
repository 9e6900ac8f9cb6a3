//! Patterns of rules, as the database reads them: `\d`, `\w` and `\s` are of ASCII, `$` allows a newline behind it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use regex::Regex;

use crate::error::{Error, ErrorKind, Result};

/// Whether the pattern is found in the text. Linear in the text's length.
///
/// # Errors
/// `Schema` when the pattern is not a regular expression, or needs look-around or back-references.
pub(crate) fn matches(pattern: &'static str, text: &str) -> Result<bool> {
    static COMPILED: Mutex<Option<HashMap<&'static str, Regex>>> = Mutex::new(None);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    let regex = match compiled.get(pattern) {
        Some(regex) => regex.clone(),
        None => {
            let regex = Regex::new(&translate(pattern)).map_err(|error| {
                Error::new(
                    ErrorKind::Schema,
                    "the pattern of a rule is not a linear-time regular expression",
                )
                .with_source(error)
            })?;
            compiled.insert(pattern, regex.clone());
            regex
        }
    };
    Ok(regex.is_match(text))
}

fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len() + 16);
    let mut letters = pattern.chars();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match (letters.next(), in_class) {
                (Some('d'), false) => translated.push_str("[0-9]"),
                (Some('D'), false) => translated.push_str("[^0-9]"),
                (Some('w'), false) => translated.push_str("[A-Za-z0-9_]"),
                (Some('W'), false) => translated.push_str("[^A-Za-z0-9_]"),
                (Some('s'), false) => translated.push_str(r"[ \t\n\r\x0c\x0b]"),
                (Some('S'), false) => translated.push_str(r"[^ \t\n\r\x0c\x0b]"),
                (Some('b'), false) => translated.push_str(r"(?-u:\b)"),
                (Some('d'), true) => translated.push_str("0-9"),
                (Some('w'), true) => translated.push_str("A-Za-z0-9_"),
                (Some('s'), true) => translated.push_str(r" \t\n\r\x0c\x0b"),
                (Some(other), _) => translated.extend(['\\', other]),
                (None, _) => translated.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                translated.push('[');
            }
            // Inside a class it is an ordinary letter there, but opens another class here.
            '[' => translated.push_str(r"\["),
            ']' if in_class => {
                in_class = false;
                translated.push(']');
            }
            '&' | '~' if in_class => translated.extend(['\\', letter]),
            '$' if !in_class => translated.push_str(r"(?:\n?\z)"),
            other => translated.push(other),
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_of_ascii_and_the_end_allows_a_newline() {
        assert!(matches(r"^\d+$", "123\n").unwrap());
        assert!(!matches(r"^\d+$", "\u{663}").unwrap());
        assert!(matches(r"^[\w.]+$", "a_b.9").unwrap());
        assert!(!matches(r"^[\w.]+$", "é").unwrap());
        assert!(matches(r"^[^[]$", "x").unwrap());
        assert_eq!(matches(r"(?=a)", "a").unwrap_err().kind(), ErrorKind::Schema);
    }
}
