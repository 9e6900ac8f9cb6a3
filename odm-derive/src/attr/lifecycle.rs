//! What `#[odm(..)]` says of the life of values: rules, dates, versions, how they are saved.

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Ident, LitInt, LitStr, Token};

use super::{once, tokens};
use crate::problem::{problem, unknown};

/// What stands on a field.
#[derive(Default)]
pub(crate) struct Life {
    pub(crate) rules: Vec<Rule>,
    pub(crate) save: Option<Ident>,
    pub(crate) role: Option<(Role, Span)>,
    /// Whether the rules say that they are about what is stored.
    pub(crate) stored: Option<Span>,
    validate: Option<()>,
    max: Option<()>,
}

/// What a field of a model is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Created,
    Updated,
    Version,
    SoftDelete,
    Tenant,
}

/// A rule and where it was written.
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

pub(crate) enum Kind {
    Min(TokenStream),
    Max(TokenStream),
    MinLength(TokenStream),
    MaxLength(TokenStream),
    MaxItems(TokenStream),
    Pattern(LitStr),
    Email,
    Url,
    Finite,
    OneOf(Vec<TokenStream>),
    Custom(TokenStream),
    Each(Vec<Rule>),
    Values(Vec<Rule>),
}

const RULES: [&str; 11] = [
    "custom",
    "each",
    "email",
    "finite",
    "length",
    "max",
    "min",
    "non_empty",
    "one_of",
    "pattern",
    "values",
];

impl Role {
    pub(crate) fn parse(key: &str) -> Option<Role> {
        Some(match key {
            "created" => Role::Created,
            "updated" => Role::Updated,
            "version" => Role::Version,
            "soft_delete" => Role::SoftDelete,
            "tenant" => Role::Tenant,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Created => "created",
            Role::Updated => "updated",
            Role::Version => "version",
            Role::SoftDelete => "soft_delete",
            Role::Tenant => "tenant",
        }
    }
}

impl Life {
    /// Whether something is said.
    pub(crate) fn span(&self) -> Option<Span> {
        let rule = self.rules.first().map(|rule| rule.span);
        let save = self.save.as_ref().map(Ident::span);
        rule.or(save).or(self.role.map(|(_, span)| span))
    }

    /// Whether a rule is a user's own function.
    pub(crate) fn custom(&self) -> Option<Span> {
        let mut rules = self.rules.iter();
        rules
            .find(|rule| matches!(rule.kind, Kind::Custom(_)))
            .map(|rule| rule.span)
    }

    pub(crate) fn role(&mut self, role: Role, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if let Some((other, _)) = self.role {
            return Err(problem(
                meta.path.span(),
                format_args!("this field says `{}` already", other.name()),
                "give each its own field",
            ));
        }
        self.role = Some((role, meta.path.span()));
        Ok(())
    }

    /// `validate(..)`.
    pub(crate) fn validate(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        once(&mut self.validate, meta, "validate", |_| Ok(()))?;
        rules(meta, &mut self.rules, &mut self.stored)
    }

    /// `max = 200`.
    pub(crate) fn max(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        once(&mut self.max, meta, "max", |_| Ok(()))?;
        let bound = value(meta, "200")?;
        if let Ok(literal) = syn::parse2::<LitInt>(bound.clone())
            && literal.base10_parse::<u32>().ok() == Some(0)
        {
            return Err(problem(
                literal.span(),
                "an array of at most 0 elements is always empty",
                "leave the field out, or give it room",
            ));
        }
        self.rules.push(Rule {
            kind: Kind::MaxItems(bound),
            span: meta.path.span(),
        });
        Ok(())
    }

    /// `save = push`.
    pub(crate) fn save(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        const WAYS: [&str; 4] = ["add_to_set", "increment", "push", "replace"];
        let mut save = self.save.take();
        once(&mut save, meta, "save", |meta| {
            let way: Ident = meta.value()?.parse()?;
            match WAYS.iter().any(|known| way == known) {
                true => Ok(way),
                false => Err(unknown(way.span(), "way to save", &way.to_string(), &WAYS)),
            }
        })?;
        self.save = save;
        Ok(())
    }
}

/// The rules in parentheses.
fn rules(meta: &ParseNestedMeta<'_>, rules: &mut Vec<Rule>, stored: &mut Option<Span>) -> syn::Result<()> {
    if !meta.input.peek(syn::token::Paren) {
        return Err(problem(
            meta.path.span(),
            "rules stand in parentheses",
            "`validate(min = 0, max = 10)`; the whole type is checked by `#[odm(validate = function)]` on it",
        ));
    }
    let before = rules.len();
    let mut failure: Option<syn::Error> = None;
    meta.parse_nested_meta(|meta| {
        if meta.path.is_ident("stored") {
            *stored = Some(meta.path.span());
            return Ok(());
        }
        if let Err(error) = rule(&meta, rules) {
            match &mut failure {
                Some(failure) => failure.combine(error),
                None => failure = Some(error),
            }
            tokens::until_comma(meta.input)?;
        }
        Ok(())
    })?;
    match failure {
        Some(error) => Err(error),
        None if rules.len() == before => Err(problem(
            meta.path.span(),
            "there is no rule",
            format_args!("give one of {}", RULES.map(|rule| format!("`{rule}`")).join(", ")),
        )),
        None => Ok(()),
    }
}

fn rule(meta: &ParseNestedMeta<'_>, into: &mut Vec<Rule>) -> syn::Result<()> {
    let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
    let span = meta.path.span();
    let mut add = |kind| into.push(Rule { kind, span });
    match key.as_str() {
        "min" => add(Kind::Min(value(meta, "0")?)),
        "max" => add(Kind::Max(value(meta, "10")?)),
        "length" if meta.input.peek(Token![=]) => {
            let length = value(meta, "8")?;
            add(Kind::MinLength(length.clone()));
            add(Kind::MaxLength(length));
        }
        "length" if meta.input.peek(syn::token::Paren) => meta.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match key.as_str() {
                "min" => add(Kind::MinLength(value(&meta, "1")?)),
                "max" => add(Kind::MaxLength(value(&meta, "80")?)),
                _ => {
                    return Err(unknown(
                        meta.path.span(),
                        "bound of a length",
                        &key,
                        &["max", "min"],
                    ));
                }
            }
            Ok(())
        })?,
        "length" => {
            return Err(problem(
                span,
                "`length` needs bounds",
                "`length(min = 1, max = 80)`, or `length = 8`",
            ));
        }
        "non_empty" => add(Kind::MinLength(quote::quote!(1))),
        "pattern" => add(Kind::Pattern(super::string(meta)?)),
        "email" => add(Kind::Email),
        "url" => add(Kind::Url),
        "finite" => add(Kind::Finite),
        "one_of" => {
            let content;
            syn::parenthesized!(content in meta.input);
            let mut values = Vec::new();
            while !content.is_empty() {
                values.push(tokens::until_comma(&content)?);
                content.parse::<Option<Token![,]>>()?;
            }
            if values.is_empty() {
                return Err(problem(
                    span,
                    "`one_of` needs values",
                    "`one_of(\"new\", \"used\")`",
                ));
            }
            add(Kind::OneOf(values));
        }
        "custom" => add(Kind::Custom(value(meta, "path::to::function")?)),
        "each" | "values" => {
            let mut inner = Vec::new();
            rules(meta, &mut inner, &mut None)?;
            add(match key.as_str() {
                "each" => Kind::Each(inner),
                _ => Kind::Values(inner),
            });
        }
        _ => return Err(unknown(span, "rule", &key, &RULES)),
    }
    Ok(())
}

/// What stands behind `=`.
pub(super) fn value(meta: &ParseNestedMeta<'_>, example: &str) -> syn::Result<TokenStream> {
    let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
    let needs = || {
        problem(
            meta.path.span(),
            format_args!("`{key}` needs a value"),
            format_args!("`{key} = {example}`"),
        )
    };
    if !meta.input.peek(Token![=]) {
        return Err(needs());
    }
    let tokens = tokens::until_comma(meta.value()?)?;
    match tokens.is_empty() {
        true => Err(needs()),
        false => Ok(tokens),
    }
}
