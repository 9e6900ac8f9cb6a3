//! `index(..)` as written.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Lit, LitInt, LitStr, Token};

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
const ORDERS: [&str; 7] = [
    "asc",
    "desc",
    "geo_2d",
    "geo_2dsphere",
    "hashed",
    "text",
    "wildcard",
];

/// The options of every index by name.
const OPTIONS: [&str; 12] = [
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
        self.check_wildcard(span)?;
        self.check_words()?;
        self.check_plugins(span)
    }

    /// An index over all fields below one is over nothing else.
    fn check_wildcard(&self, span: Span) -> syn::Result<()> {
        let is_wildcard = self.keys.iter().any(|key| key.order == Order::Wildcard);
        let is_over_all = is_wildcard && self.keys.iter().any(|key| key.path.is_empty());
        if is_wildcard && self.keys.len() > 1 {
            let help = "give the other fields an index of their own";
            return Err(problem(span, "a wildcard index has no other fields", help));
        }
        if is_wildcard && (self.unique || self.sparse) {
            let help = "it leaves out what a document does not have; make fields unique one by one";
            return Err(problem(
                span,
                "a wildcard index is neither `unique` nor `sparse`",
                help,
            ));
        }
        if let Some(path) = self.only.iter().chain(&self.without).flatten().next() {
            if !is_over_all {
                let help = "`index(keys(wildcard()), only(title, author))`";
                return Err(problem(
                    path.span(),
                    "fields are chosen for a wildcard index over the whole document",
                    help,
                ));
            }
            if self.only.is_some() && self.without.is_some() {
                let help = "name those that are in it, or those that are not";
                return Err(problem(
                    span,
                    "a wildcard index has `only` or `without`, not both",
                    help,
                ));
            }
        }
        Ok(())
    }

    /// What is about text, and what is about the plane, where there is none.
    fn check_words(&self) -> syn::Result<()> {
        let has = |order| self.keys.iter().any(|key| key.order == order);
        let language = self.language.as_ref().or(self.language_field.as_ref());
        if let (Some(language), false) = (language, has(Order::Text)) {
            let help = "mark the field: `text(title)`";
            return Err(problem(language.span(), "only text has a language", help));
        }
        for key in &self.keys {
            if let (Some(weight), false) = (&key.weight, key.order == Order::Text) {
                let help = "mark the field: `text(title, weight = 10)`";
                return Err(problem(weight.span(), "only text has a weight", help));
            }
            if let Some(weight) = &key.weight
                && !weight
                    .base10_parse::<u32>()
                    .is_ok_and(|weight| (1..99_999).contains(&weight))
            {
                let help = "how much its words count beside those of other fields, 1 if not said";
                return Err(problem(weight.span(), "the weight of a text is 1 to 99998", help));
            }
        }
        let bounds = self.bounds.as_ref().map(|(least, _)| least.span());
        let bits = self.bits.as_ref().map(LitInt::span);
        if let (Some(plane), false) = (bounds.or(bits), has(Order::Geo2d)) {
            let help = "mark the field: `geo_2d(place)`";
            return Err(problem(plane, "only a `geo_2d` field lies within bounds", help));
        }
        if let Some(bits) = &self.bits
            && !bits
                .base10_parse::<u8>()
                .is_ok_and(|bits| (1..=32).contains(&bits))
        {
            let help = "how often each side is halved, 26 if not said";
            return Err(problem(
                bits.span(),
                "the bits of a `geo_2d` index are 1 to 32",
                help,
            ));
        }
        if let Some(collation) = &self.collation
            && [Order::Text, Order::Geo2d].into_iter().any(has)
        {
            let help = "give the field that is compared by a language an index of its own";
            return Err(problem(
                collation.span(),
                "an index of texts, or of places in the plane, has no collation",
                help,
            ));
        }
        Ok(())
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

/// Fields in parentheses.
fn paths(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<TokenStream>> {
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

/// `bounds(0.0, 100.0)`.
fn bounds(meta: &ParseNestedMeta<'_>) -> syn::Result<(TokenStream, TokenStream)> {
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
