//! The fields of an index as written: `keys(author.name, desc(year))`, and those that a wildcard index is over.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{LitInt, Token};

use super::super::tokens;
use super::{IndexKey, ORDERS, Order, parenthesized};
use crate::problem::{problem, unknown};

pub(super) fn parse_keys(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<IndexKey>> {
    let span = meta.path.span();
    let parse = |input: ParseStream<'_>| {
        let mut keys: Vec<IndexKey> = Vec::new();
        while !input.is_empty() {
            let key = parse_key(tokens::until_comma(input)?, span)?;
            let text = key.path.to_string();
            if keys.iter().any(|other| other.path.to_string() == text) {
                let help = "a field stands once in an index";
                return Err(problem(key.path.span(), "duplicate field in an index", help));
            }
            keys.push(key);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(keys)
    };
    let keys = parse.parse2(parenthesized(meta)?)?;
    match keys.is_empty() {
        true => Err(problem(
            span,
            "an index needs a field",
            "`keys(title, desc(year))`",
        )),
        false => Ok(keys),
    }
}

/// `author.name`, `desc(author.name)`, `text(title, weight = 10)`, `items.any().price`.
fn parse_key(tokens: TokenStream, span: Span) -> syn::Result<IndexKey> {
    let mut trees = tokens.clone().into_iter();
    let (mut order, mut path) = (Order::Ascending, tokens);
    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(group)), None) =
        (trees.next(), trees.next(), trees.next())
        && group.delimiter() == Delimiter::Parenthesis
    {
        let key = name.to_string();
        order = Order::parse(&key).ok_or_else(|| unknown(name.span(), "order", &key, &ORDERS))?;
        path = group.stream();
    }
    let mut weight = None;
    if order == Order::Text {
        (path, weight) = weighted.parse2(path)?;
    }
    match path.clone().into_iter().next() {
        Some(TokenTree::Ident(_)) => Ok(IndexKey { order, path, weight }),
        None if order == Order::Wildcard => Ok(IndexKey { order, path, weight }),
        Some(other) => {
            let help = "name it by its Rust path: `keys(title, desc(author.name))`";
            Err(problem(other.span(), "expected a field", help))
        }
        None => Err(problem(
            span,
            "expected a field",
            "name it by its Rust path: `keys(title, desc(author.name))`",
        )),
    }
}

/// `title`, `title, weight = 10`.
fn weighted(input: ParseStream<'_>) -> syn::Result<(TokenStream, Option<LitInt>)> {
    let path = tokens::until_comma(input)?;
    if input.parse::<Option<Token![,]>>()?.is_none() {
        return Ok((path, None));
    }
    let name: syn::Ident = input.parse()?;
    if name != "weight" {
        return Err(unknown(
            name.span(),
            "option of a text field",
            &name.to_string(),
            &["weight"],
        ));
    }
    input.parse::<Token![=]>()?;
    Ok((path, Some(input.parse()?)))
}

/// Fields in parentheses.
pub(super) fn paths(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<TokenStream>> {
    let span = meta.path.span();
    let parse = |input: ParseStream<'_>| {
        let mut paths = Vec::new();
        while !input.is_empty() {
            paths.push(tokens::until_comma(input)?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        match paths.is_empty() {
            true => Err(problem(
                span,
                "expected a field",
                "name it by its Rust path: `only(title)`",
            )),
            false => Ok(paths),
        }
    };
    parse.parse2(parenthesized(meta)?)
}
