//! `index(..)` as written.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Lit, LitStr, Token};

use super::{flag, once, string, tokens};
use crate::problem::{problem, unknown};

/// An index. On a field, `keys` has one key with an empty path.
#[derive(Clone)]
pub(crate) struct Index {
    pub(crate) keys: Vec<IndexKey>,
    pub(crate) unique: bool,
    pub(crate) sparse: bool,
    pub(crate) name: Option<LitStr>,
    pub(crate) expire_after: Option<Seconds>,
    /// A closure or the path of a function.
    pub(crate) partial: Option<TokenStream>,
}

/// One field of an index.
#[derive(Clone)]
pub(crate) struct IndexKey {
    pub(crate) order: Order,
    /// What follows the model's fields: `author.name`.
    pub(crate) path: TokenStream,
}

/// How a field of an index is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
    Hashed,
    Text,
    Geo2dSphere,
    Geo2d,
}

/// The orders by name.
const ORDERS: [&str; 6] = ["asc", "desc", "geo_2d", "geo_2dsphere", "hashed", "text"];

/// A number of seconds and where it was written.
#[derive(Clone)]
pub(crate) struct Seconds {
    pub(crate) seconds: u32,
    pub(crate) span: Span,
}

impl Order {
    fn parse(name: &str) -> Option<Order> {
        Some(match name {
            "asc" => Order::Ascending,
            "desc" => Order::Descending,
            "hashed" => Order::Hashed,
            "text" => Order::Text,
            "geo_2dsphere" => Order::Geo2dSphere,
            "geo_2d" => Order::Geo2d,
            _ => return None,
        })
    }
}

impl Index {
    fn new() -> Index {
        Index {
            keys: Vec::new(),
            unique: false,
            sparse: false,
            name: None,
            expire_after: None,
            partial: None,
        }
    }

    /// `index`, `unique` or `index(..)` on a field.
    pub(crate) fn on_field(meta: &ParseNestedMeta<'_>, unique: bool) -> syn::Result<Index> {
        let mut index = Index::new();
        let mut order: Option<Order> = None;
        index.unique = unique;
        if unique && !meta.input.is_empty() && !meta.input.peek(Token![,]) {
            let help = "write `index(unique, ..)`";
            return Err(problem(meta.path.span(), "`unique` takes no options", help));
        }
        if meta.input.peek(syn::token::Paren) {
            let mut span = None;
            nested(meta, |meta| {
                let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match Order::parse(&key) {
                    Some(_) if order.is_some() => {
                        let help =
                            "choose one of `asc`, `desc`, `geo_2d`, `geo_2dsphere`, `hashed` and `text`";
                        Err(problem(
                            meta.path.span(),
                            "a field is kept in one order in an index",
                            help,
                        ))
                    }
                    Some(given) => {
                        order = Some(given);
                        span = Some(meta.path.span());
                        Ok(())
                    }
                    None if key == "keys" => {
                        let help = "move the index to the struct to give it more fields";
                        Err(problem(
                            meta.path.span(),
                            "the key of a field's index is the field",
                            help,
                        ))
                    }
                    None => index.option(
                        &key,
                        &meta,
                        &[
                            "asc",
                            "desc",
                            "expire_after",
                            "geo_2d",
                            "geo_2dsphere",
                            "hashed",
                            "name",
                            "partial",
                            "sparse",
                            "text",
                            "unique",
                        ],
                    ),
                }
            })?;
        } else if meta.input.peek(Token![=]) {
            let help = "write `index`, or `index(unique, name = \"..\")`";
            return Err(problem(
                meta.path.span(),
                "`index` takes its options in parentheses",
                help,
            ));
        }
        index.keys.push(IndexKey {
            order: order.unwrap_or(Order::Ascending),
            path: TokenStream::new(),
        });
        index.check(meta.path.span())?;
        Ok(index)
    }

    /// `index(keys(..), ..)` on a type.
    pub(crate) fn on_type(meta: &ParseNestedMeta<'_>) -> syn::Result<Index> {
        let mut index = Index::new();
        let mut keys: Option<Vec<IndexKey>> = None;
        if !meta.input.peek(syn::token::Paren) {
            let help = "name its fields: `index(keys(title, desc(year)))`";
            return Err(problem(
                meta.path.span(),
                "an index on a struct needs `keys`",
                help,
            ));
        }
        nested(meta, |meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match key.as_str() {
                "keys" => once(&mut keys, &meta, "keys", parse_keys),
                _ if ORDERS.contains(&key.as_str()) => {
                    let help = format!("`keys({key}(field))`");
                    Err(problem(
                        meta.path.span(),
                        format_args!("`{key}` belongs to a field of `keys`"),
                        help,
                    ))
                }
                _ => index.option(
                    &key,
                    &meta,
                    &["expire_after", "keys", "name", "partial", "sparse", "unique"],
                ),
            }
        })?;
        let Some(keys) = keys else {
            let help = "name its fields: `index(keys(title, desc(year)))`";
            return Err(problem(
                meta.path.span(),
                "an index on a struct needs `keys`",
                help,
            ));
        };
        index.keys = keys;
        index.check(meta.path.span())?;
        Ok(index)
    }

    /// The same index over other keys.
    pub(crate) fn with_keys(&self, change: impl FnMut(&IndexKey) -> IndexKey) -> Index {
        Index {
            keys: self.keys.iter().map(change).collect(),
            ..self.clone()
        }
    }

    fn option(&mut self, key: &str, meta: &ParseNestedMeta<'_>, valid: &[&str]) -> syn::Result<()> {
        match key {
            "unique" => flag(&mut self.unique, meta, key),
            "sparse" => flag(&mut self.sparse, meta, key),
            "name" => once(&mut self.name, meta, key, index_name),
            "expire_after" => once(&mut self.expire_after, meta, key, seconds),
            "partial" => once(&mut self.partial, meta, key, |meta| {
                tokens::until_comma(meta.value()?)
            }),
            _ => Err(unknown(meta.path.span(), "index option", key, valid)),
        }
    }

    /// The combinations that MongoDB refuses.
    fn check(&self, span: Span) -> syn::Result<()> {
        if let Some(seconds) = &self.expire_after
            && (self.keys.len() > 1 || !matches!(self.keys[0].order, Order::Ascending | Order::Descending))
        {
            let help = "give the date a plain index of its own";
            return Err(problem(
                seconds.span,
                "only an index over one date can expire documents",
                help,
            ));
        }
        if self.sparse && self.partial.is_some() {
            let help = "say it in the partial filter: `|b| b.field.exists() & ..`";
            return Err(problem(span, "an index is `sparse` or `partial`, not both", help));
        }
        let hashed = self.keys.iter().filter(|key| key.order == Order::Hashed).count();
        if hashed > 0 && self.unique {
            let help = "give the field a second, unique index";
            return Err(problem(span, "a hashed index cannot be unique", help));
        }
        if hashed > 1 {
            return Err(problem(
                span,
                "an index has at most one hashed field",
                "keep one `hashed(..)`",
            ));
        }
        self.check_plugins(span)
    }

    /// Fields that are kept in a way of their own do not mix.
    fn check_plugins(&self, span: Span) -> syn::Result<()> {
        let plain = |order: &Order| matches!(order, Order::Ascending | Order::Descending);
        let mut plugins = self
            .keys
            .iter()
            .map(|key| key.order)
            .filter(|order| !plain(order));
        if let Some(first) = plugins.next()
            && plugins.any(|other| other != first)
        {
            let help = "give each field an index of its own";
            return Err(problem(
                span,
                "an index has fields of one kind only beside plain ones",
                help,
            ));
        }
        let flat = self.keys.iter().filter(|key| key.order == Order::Geo2d).count();
        if flat > 1 || (flat == 1 && self.keys[0].order != Order::Geo2d) {
            let help = "`keys(geo_2d(place), kind)`, or `geo_2dsphere`, which may stand anywhere";
            return Err(problem(
                span,
                "the `geo_2d` field is the first of its index, and the only one",
                help,
            ));
        }
        Ok(())
    }
}

/// The keys in parentheses. They are taken out of the input first, so that what is left after a problem is no second
/// problem.
fn nested(
    meta: &ParseNestedMeta<'_>,
    read: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    syn::meta::parser(read).parse2(parenthesized(meta)?)
}

fn parenthesized(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    let content;
    syn::parenthesized!(content in meta.input);
    content.parse()
}

fn parse_keys(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<IndexKey>> {
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

/// `author.name`, `desc(author.name)`, `items.any().price`.
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
    match path.clone().into_iter().next() {
        Some(TokenTree::Ident(_)) => Ok(IndexKey { order, path }),
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

fn index_name(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
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

const FORM: &str = "a number of seconds, or a text such as \"90s\", \"15m\", \"12h\", \"30d\", \"2w\"";

fn seconds(meta: &ParseNestedMeta<'_>) -> syn::Result<Seconds> {
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
