//! `reference(lines.any().book: Ref<Book>, inverse = by_book, on_delete = pull)`: what a model declares of a reference
//! inside of its embedded documents.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Token, Type};

use super::rules::{DeleteRule, partner};
use super::{Inverse, lifecycle, once};
use crate::problem::{problem, unknown};

/// A reference inside of an embedded document.
pub(crate) struct NestedReference {
    /// What follows the model's fields: `lines.any().book`.
    pub(crate) path: TokenStream,
    /// The type of the field there.
    pub(crate) ty: Type,
    pub(crate) inverse: Option<Inverse>,
    pub(crate) on_delete: Option<DeleteRule>,
    /// The field of the other model that refers back.
    pub(crate) two_way: Option<TokenStream>,
    /// The function that makes the embedded document for a new link.
    pub(crate) link: Option<TokenStream>,
}

const FORM: &str = "`reference(lines.any().book: Ref<Book>, inverse = by_book, on_delete = pull)`";

impl NestedReference {
    pub(super) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<NestedReference> {
        if !meta.input.peek(syn::token::Paren) {
            return Err(problem(
                meta.path.span(),
                "`reference` needs a field and its type",
                FORM,
            ));
        }
        let content;
        syn::parenthesized!(content in meta.input);
        let tokens: TokenStream = content.parse()?;
        let (field, options) = syn::parse::Parser::parse2(
            |input: ParseStream<'_>| {
                let field = Typed::read(input, meta.path.span())?;
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
                Ok((field, input.parse::<TokenStream>()?))
            },
            tokens,
        )?;
        let mut reference = NestedReference {
            path: field.path,
            ty: field.ty,
            inverse: None,
            on_delete: None,
            two_way: None,
            link: None,
        };
        let read = syn::meta::parser(|meta| reference.option(&meta));
        syn::parse::Parser::parse2(read, options)?;
        reference.check(meta.path.span())?;
        Ok(reference)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "inverse" => once(&mut self.inverse, meta, &key, Inverse::read),
            "on_delete" => once(&mut self.on_delete, meta, &key, DeleteRule::read),
            "two_way" => once(&mut self.two_way, meta, &key, partner),
            "link" => once(&mut self.link, meta, &key, |meta| {
                lifecycle::value(meta, "path::to::function")
            }),
            _ => Err(unknown(
                meta.path.span(),
                "option",
                &key,
                &["inverse", "link", "on_delete", "two_way"],
            )),
        }
    }

    fn check(&self, span: Span) -> syn::Result<()> {
        if self.path.clone().into_iter().count() == 1 {
            return Err(problem(
                self.path.span(),
                "this is a field of the model itself",
                "say it on the field: `#[odm(on_delete = ..)]`",
            ));
        }
        if self.inverse.is_none() && self.on_delete.is_none() && self.two_way.is_none() {
            let help = "add `inverse`, `on_delete` or `two_way`; without them nothing need be declared";
            return Err(problem(span, "nothing is said of the reference", help));
        }
        match (&self.link, &self.two_way) {
            (Some(link), None) => Err(problem(
                link.span(),
                "`link` makes what is new in a two-way reference, and this is none",
                "add `two_way = field`, or remove `link`",
            )),
            (None, Some(two_way)) if self.is_in_an_element() => Err(problem(
                two_way.span(),
                "a new link needs the embedded document that holds it",
                "add `link = path::to::function`, which makes the element from a `Ref<T>`",
            )),
            _ => Ok(()),
        }
    }

    /// The path of the element of the innermost array or map: `lines.any()`.
    pub(crate) fn element(&self) -> Option<TokenStream> {
        let tokens: Vec<TokenTree> = self.path.clone().into_iter().collect();
        let end = tokens.windows(2).rposition(|two| match two {
            [TokenTree::Ident(name), TokenTree::Group(group)] => {
                (name == "any" || name == "any_value") && group.delimiter() == Delimiter::Parenthesis
            }
            _ => false,
        })?;
        Some(tokens.into_iter().take(end + 2).collect())
    }

    /// Whether an array or a map holds embedded documents, each with a reference.
    pub(crate) fn is_in_an_element(&self) -> bool {
        self.element().is_some()
    }
}

/// `lines.any().book: Ref<Book>`.
struct Typed {
    path: TokenStream,
    ty: Type,
}

impl Typed {
    fn read(input: ParseStream<'_>, span: Span) -> syn::Result<Typed> {
        let mut path = TokenStream::new();
        while !input.is_empty()
            && !input.peek(Token![,])
            && (!input.peek(Token![:]) || input.peek(Token![::]))
        {
            let token: TokenTree = input.parse()?;
            path.extend([token]);
        }
        if path.is_empty() {
            return Err(problem(span, "`reference` needs a field and its type", FORM));
        }
        if !input.peek(Token![:]) {
            return Err(problem(
                path.span(),
                "the type of the field is missing",
                format_args!("`{path}: Ref<..>`"),
            ));
        }
        input.parse::<Token![:]>()?;
        Ok(Typed {
            path,
            ty: Type::parse(input)?,
        })
    }
}
