//! `on_delete = cascade` and `two_way = books` on a reference, `referred_by(Book, Loan)` on the model that it refers to.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Ident, Path, Token};

use super::tokens;
use crate::problem::{problem, unknown};

/// What becomes of a document when one that it refers to is deleted: a name of a rule.
pub(crate) struct DeleteRule(pub(crate) Ident);

const RULES: [&str; 4] = ["cascade", "deny", "nullify", "pull"];

impl DeleteRule {
    pub(super) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<DeleteRule> {
        if !meta.input.peek(Token![=]) {
            return Err(problem(
                meta.path.span(),
                "`on_delete` needs a rule",
                "`on_delete = cascade`, `nullify`, `pull` or `deny`",
            ));
        }
        let rule = Ident::parse_any(meta.value()?)?;
        let name = rule.to_string();
        match RULES.contains(&name.as_str()) {
            true => Ok(DeleteRule(rule)),
            false => Err(unknown(rule.span(), "rule", &name, &RULES)),
        }
    }
}

/// `two_way = books`, `two_way = lines.any().book`.
pub(super) fn partner(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    if !meta.input.peek(Token![=]) {
        return Err(problem(
            meta.path.span(),
            "`two_way` needs the field that refers back",
            "`two_way = books`: a field of the model that this one refers to",
        ));
    }
    tokens::until_comma(meta.value()?)
}

/// The models in `referred_by(..)`.
pub(super) fn referring(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<Path>> {
    let help = "`referred_by(Book, Loan)`: the models whose references to this one say `on_delete`";
    models(meta, "`referred_by` needs models", help)
}

/// The models in `copied_to(..)`.
pub(super) fn holding(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<Path>> {
    let help = "`copied_to(Book, Order)`: the models that hold copies of this one's fields";
    models(meta, "`copied_to` needs models", help)
}

fn models(meta: &ParseNestedMeta<'_>, wrong: &'static str, help: &'static str) -> syn::Result<Vec<Path>> {
    if !meta.input.peek(syn::token::Paren) {
        return Err(problem(meta.path.span(), wrong, help));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let models = content.parse_terminated(Path::parse_mod_style, Token![,])?;
    if models.is_empty() {
        return Err(problem(meta.path.span(), wrong, help));
    }
    let mut all: Vec<Path> = Vec::new();
    for model in models {
        if all
            .iter()
            .any(|known| known.to_token_stream().to_string() == model.to_token_stream().to_string())
        {
            return Err(problem(
                model.span(),
                "this model is named already",
                "name it once",
            ));
        }
        all.push(model);
    }
    Ok(all)
}
