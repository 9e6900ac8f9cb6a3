//! What is wrong with the input, piled up.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;

/// The problems found so far. Must be [`finish`](Problems::finish)ed.
pub(crate) struct Problems {
    errors: Option<Vec<syn::Error>>,
}

impl Problems {
    pub(crate) fn new() -> Problems {
        Problems {
            errors: Some(Vec::new()),
        }
    }

    /// A problem at these tokens: what is wrong, then how to write it.
    pub(crate) fn at(&mut self, tokens: impl Spanned, wrong: impl Display, help: impl Display) {
        self.at_span(tokens.span(), wrong, help);
    }

    pub(crate) fn at_span(&mut self, span: Span, wrong: impl Display, help: impl Display) {
        self.push(problem(span, wrong, help));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        if let Some(errors) = &mut self.errors {
            errors.push(error);
        }
    }

    /// Keeps the problem of a failed step.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// One `compile_error!` for each problem.
    pub(crate) fn finish(mut self) -> TokenStream {
        let errors = self.errors.take().unwrap_or_default();
        errors.iter().map(syn::Error::to_compile_error).collect()
    }
}

impl Drop for Problems {
    fn drop(&mut self) {
        if self.errors.is_some() && !std::thread::panicking() {
            panic!("problems were dropped unreported");
        }
    }
}

/// A problem with the right form after it.
pub(crate) fn problem(span: Span, wrong: impl Display, help: impl Display) -> syn::Error {
    syn::Error::new(span, format!("{wrong}\nhelp: {help}"))
}

/// An unknown name: names the nearest valid one and lists all.
pub(crate) fn unknown(span: Span, what: &str, name: &str, valid: &[&str]) -> syn::Error {
    let list = valid
        .iter()
        .map(|key| format!("`{key}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match nearest(name, valid) {
        Some(near) => problem(
            span,
            format_args!("unknown {what} `{name}`"),
            format_args!("did you mean `{near}`? valid here: {list}"),
        ),
        None => problem(
            span,
            format_args!("unknown {what} `{name}`"),
            format_args!("valid here: {list}"),
        ),
    }
}

fn nearest<'a>(name: &str, valid: &[&'a str]) -> Option<&'a str> {
    let (distance, near) = valid.iter().map(|key| (distance(name, key), *key)).min()?;
    (distance <= 1 + name.len() / 3).then_some(near)
}

/// How many letters to change, insert or delete to make one name the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_within_reason() {
        assert_eq!(nearest("uniqe", &["index", "unique"]), Some("unique"));
        assert_eq!(nearest("colection", &["collection", "crate"]), Some("collection"));
        assert_eq!(nearest("max", &["index", "unique", "opaque"]), None);
    }
}
