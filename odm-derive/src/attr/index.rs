//! `index(..)` as written.

mod check;
mod keys;
mod values;

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{LitInt, LitStr, Token};

use self::keys::{parse_keys, paths};
use self::values::{bounds, index_name, seconds};
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
    pub(crate) hidden: bool,
    /// Where it was written.
    pub(crate) all_kinds: Option<Span>,
    /// An expression that gives a document.
    pub(crate) collation: Option<TokenStream>,
    /// The same, with options in MongoDB's words.
    pub(crate) options: Option<TokenStream>,
    pub(crate) language: Option<LitStr>,
    pub(crate) language_field: Option<LitStr>,
    /// The least and the greatest coordinate.
    pub(crate) bounds: Option<(TokenStream, TokenStream)>,
    pub(crate) bits: Option<LitInt>,
    /// The paths that a wildcard index is over.
    pub(crate) only: Option<Vec<TokenStream>>,
    /// The paths that it is not over.
    pub(crate) without: Option<Vec<TokenStream>>,
}

/// One field of an index.
#[derive(Clone)]
pub(crate) struct IndexKey {
    pub(crate) order: Order,
    /// What follows the model's fields: `author.name`.
    pub(crate) path: TokenStream,
    /// How much the words of a text field count.
    pub(crate) weight: Option<LitInt>,
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
    Wildcard,
}

/// The orders by name.
pub(crate) const ORDERS: [&str; 7] = [
    "asc",
    "desc",
    "geo_2d",
    "geo_2dsphere",
    "hashed",
    "text",
    "wildcard",
];

/// The options of every index by name.
pub(crate) const OPTIONS: [&str; 13] = [
    "all_kinds",
    "bits",
    "bounds",
    "collation",
    "expire_after",
    "hidden",
    "language",
    "language_field",
    "name",
    "options",
    "partial",
    "sparse",
    "unique",
];

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
            "wildcard" => Order::Wildcard,
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
            hidden: false,
            all_kinds: None,
            collation: None,
            options: None,
            language: None,
            language_field: None,
            bounds: None,
            bits: None,
            only: None,
            without: None,
        }
    }

    /// `index`, `unique` or `index(..)` on a field.
    pub(crate) fn on_field(meta: &ParseNestedMeta<'_>, unique: bool) -> syn::Result<Index> {
        let mut index = Index::new();
        let (mut order, mut weight): (Option<Order>, Option<LitInt>) = (None, None);
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
                        let help = "choose one of `asc`, `desc`, `geo_2d`, `geo_2dsphere`, `hashed`, `text` and `wildcard`";
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
                    None if key == "weight" => once(&mut weight, &meta, &key, |meta| meta.value()?.parse()),
                    None => index.option(&key, &meta, &[&["weight"][..], ORDERS.as_slice()].concat()),
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
            weight,
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
                "only" => once(&mut index.only, &meta, &key, paths),
                "without" => once(&mut index.without, &meta, &key, paths),
                _ => index.option(&key, &meta, &["keys", "only", "without"]),
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

    /// An option of every index; `more` are valid beside them.
    fn option(&mut self, key: &str, meta: &ParseNestedMeta<'_>, more: &[&str]) -> syn::Result<()> {
        match key {
            "unique" => flag(&mut self.unique, meta, key),
            "sparse" => flag(&mut self.sparse, meta, key),
            "name" => once(&mut self.name, meta, key, index_name),
            "expire_after" => once(&mut self.expire_after, meta, key, seconds),
            "partial" => once(&mut self.partial, meta, key, |meta| {
                tokens::until_comma(meta.value()?)
            }),
            "hidden" => flag(&mut self.hidden, meta, key),
            "all_kinds" => once(&mut self.all_kinds, meta, key, |meta| Ok(meta.path.span())),
            "collation" => once(&mut self.collation, meta, key, |meta| {
                tokens::until_comma(meta.value()?)
            }),
            "options" => once(&mut self.options, meta, key, |meta| {
                tokens::until_comma(meta.value()?)
            }),
            "language" => once(&mut self.language, meta, key, string),
            "language_field" => once(&mut self.language_field, meta, key, string),
            "bits" => once(&mut self.bits, meta, key, |meta| meta.value()?.parse()),
            "bounds" => once(&mut self.bounds, meta, key, bounds),
            _ => {
                let mut valid = [OPTIONS.as_slice(), more].concat();
                valid.sort_unstable();
                Err(unknown(meta.path.span(), "index option", key, &valid))
            }
        }
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
