//! The values of an index's options: a name, a duration, bounds.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Lit, LitStr, Token};

use super::super::{string, tokens};
use super::{Seconds, parenthesized};
use crate::problem::problem;

pub(super) fn index_name(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let name = string(meta)?;
    let wrong = match name.value() {
        text if text.is_empty() => "the name of an index cannot be empty",
        text if text.contains('\0') => "the name of an index cannot hold a NUL",
        text if text == "*" => "`*` stands for all indexes",
        _ => return Ok(name),
    };
    Err(problem(
        name.span(),
        wrong,
        "leave it out to name the index by its fields, as MongoDB does",
    ))
}

/// `bounds(0.0, 100.0)`.
pub(super) fn bounds(meta: &ParseNestedMeta<'_>) -> syn::Result<(TokenStream, TokenStream)> {
    let span = meta.path.span();
    let parse = |input: ParseStream<'_>| {
        let least = tokens::until_comma(input)?;
        let greatest = match input.parse::<Option<Token![,]>>()? {
            Some(_) => tokens::until_comma(input)?,
            None => TokenStream::new(),
        };
        match least.is_empty() || greatest.is_empty() || !input.is_empty() {
            false => Ok((least, greatest)),
            true => Err(problem(
                span,
                "the bounds of a `geo_2d` index are two numbers",
                "`bounds(0.0, 100.0)`: the least and the greatest coordinate",
            )),
        }
    };
    parse.parse2(parenthesized(meta)?)
}

const FORM: &str = "a number of seconds, or a text such as \"90s\", \"15m\", \"12h\", \"30d\", \"2w\"";

pub(super) fn seconds(meta: &ParseNestedMeta<'_>) -> syn::Result<Seconds> {
    let value: TokenTree = meta.value()?.parse()?;
    let span = value.span();
    let seconds = match syn::parse2::<Lit>(value.into_token_stream()) {
        Ok(Lit::Int(number)) => number.base10_parse::<u64>().ok(),
        Ok(Lit::Str(text)) => parse_duration(&text.value()),
        _ => None,
    };
    let Some(seconds) = seconds else {
        return Err(problem(span, "not a duration", FORM));
    };
    match u32::try_from(seconds)
        .ok()
        .filter(|seconds| i32::try_from(*seconds).is_ok())
    {
        Some(seconds) => Ok(Seconds { seconds, span }),
        None => Err(problem(
            span,
            "the longest time to expiry is 2147483647 seconds",
            FORM,
        )),
    }
}

fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|letter: char| !letter.is_ascii_digit())?;
    let factor = match text[split..].trim() {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn durations_have_one_unit() {
        assert_eq!(parse_duration("30d"), Some(2_592_000));
        assert_eq!(parse_duration("15 m"), Some(900));
        assert_eq!(parse_duration("15"), None);
        assert_eq!(parse_duration("d"), None);
        assert_eq!(parse_duration("1h30m"), None);
    }
}
