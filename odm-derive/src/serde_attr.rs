//! `#[serde(..)]`: what decides how values are stored. Keys that do not are skipped, wrong ones are left for serde
//! itself to report.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, ExprPath, LitStr, Token, Type};

use crate::case::Case;
use crate::problem::{Problems, problem};

/// What stands on the type.
#[derive(Default)]
pub(crate) struct OnType {
    pub(crate) rename_all: Option<Renaming>,
    pub(crate) rename_all_fields: Option<Renaming>,
    pub(crate) tag: Option<LitStr>,
    pub(crate) content: Option<LitStr>,
    pub(crate) untagged: bool,
    pub(crate) transparent: bool,
    pub(crate) from: Option<Type>,
    pub(crate) into: Option<Type>,
    pub(crate) remote: Option<Span>,
    pub(crate) deny_unknown_fields: Option<Span>,
}

/// A `rename_all` and where it stands.
#[derive(Clone)]
pub(crate) struct Renaming {
    pub(crate) case: Case,
    pub(crate) text: LitStr,
}

/// What stands on a variant.
#[derive(Default)]
pub(crate) struct OnVariant {
    pub(crate) rename: Option<LitStr>,
    pub(crate) rename_all: Option<Renaming>,
    pub(crate) skip: bool,
    pub(crate) other: bool,
    pub(crate) untagged: bool,
    pub(crate) codec: Option<ExprPath>,
}

/// What stands on a field.
#[derive(Default)]
pub(crate) struct OnField {
    pub(crate) rename: Option<LitStr>,
    pub(crate) flatten: Option<Span>,
    pub(crate) skip: Option<Span>,
    pub(crate) skip_serializing: Option<Span>,
    pub(crate) skip_deserializing: Option<Span>,
    /// The function that serializes the field.
    pub(crate) codec: Option<ExprPath>,
    /// The function that deserializes it.
    pub(crate) reader: Option<ExprPath>,
}

impl OnType {
    pub(crate) fn read(attrs: &[Attribute], problems: &mut Problems) -> OnType {
        let mut on_type = OnType::default();
        each_key(attrs, problems, |key, meta, problems| {
            match key {
                "rename_all" => on_type.rename_all = renaming(meta, problems)?,
                "rename_all_fields" => on_type.rename_all_fields = renaming(meta, problems)?,
                "tag" => on_type.tag = Some(text(meta)?),
                "content" => on_type.content = Some(text(meta)?),
                "untagged" => on_type.untagged = true,
                "transparent" => on_type.transparent = true,
                "deny_unknown_fields" => on_type.deny_unknown_fields = Some(meta.path.span()),
                "from" | "try_from" => on_type.from = Some(text(meta)?.parse()?),
                "into" => on_type.into = Some(text(meta)?.parse()?),
                "remote" => {
                    on_type.remote = Some(meta.path.span());
                    skip_value(meta)?;
                }
                _ => skip_value(meta)?,
            }
            Ok(())
        });
        on_type
    }
}

impl OnVariant {
    pub(crate) fn read(attrs: &[Attribute], problems: &mut Problems) -> OnVariant {
        let mut on_variant = OnVariant::default();
        each_key(attrs, problems, |key, meta, problems| {
            match key {
                "rename" => on_variant.rename = rename(meta, problems)?,
                "rename_all" => on_variant.rename_all = renaming(meta, problems)?,
                "skip" => on_variant.skip = true,
                "other" => on_variant.other = true,
                "untagged" => on_variant.untagged = true,
                "with" => on_variant.codec = Some(within(text(meta)?.parse()?, "serialize", meta)),
                "serialize_with" => on_variant.codec = Some(text(meta)?.parse()?),
                _ => skip_value(meta)?,
            }
            Ok(())
        });
        on_variant
    }
}

impl OnField {
    pub(crate) fn read(attrs: &[Attribute], problems: &mut Problems) -> OnField {
        let mut on_field = OnField::default();
        each_key(attrs, problems, |key, meta, problems| {
            let span = Some(meta.path.span());
            match key {
                "rename" => on_field.rename = rename(meta, problems)?,
                "flatten" => on_field.flatten = span,
                "skip" => on_field.skip = span,
                "skip_serializing" => on_field.skip_serializing = span,
                "skip_deserializing" => on_field.skip_deserializing = span,
                "with" => {
                    let module: ExprPath = text(meta)?.parse()?;
                    on_field.codec = Some(within(module.clone(), "serialize", meta));
                    on_field.reader = Some(within(module, "deserialize", meta));
                }
                "serialize_with" => on_field.codec = Some(text(meta)?.parse()?),
                "deserialize_with" => on_field.reader = Some(text(meta)?.parse()?),
                _ => skip_value(meta)?,
            }
            Ok(())
        });
        on_field
    }
}

/// The function of this name in the module or type that `with` names.
fn within(mut path: ExprPath, name: &str, meta: &ParseNestedMeta<'_>) -> ExprPath {
    let name = syn::Ident::new(name, meta.path.span());
    path.path.segments.push(name.into());
    path
}

fn each_key(
    attrs: &[Attribute],
    problems: &mut Problems,
    mut read: impl FnMut(&str, &ParseNestedMeta<'_>, &mut Problems) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        let _ = attr.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            read(&key, &meta, problems)
        });
    }
}

fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    meta.value()?.parse()
}

/// `rename = ".."` or `rename(serialize = "..", deserialize = "..")`.
fn rename(meta: &ParseNestedMeta<'_>, problems: &mut Problems) -> syn::Result<Option<LitStr>> {
    pair(meta, problems, "rename")
}

fn renaming(meta: &ParseNestedMeta<'_>, problems: &mut Problems) -> syn::Result<Option<Renaming>> {
    let text = pair(meta, problems, "rename_all")?;
    Ok(text.and_then(|text| Case::parse(&text.value()).map(|case| Renaming { case, text })))
}

fn pair(meta: &ParseNestedMeta<'_>, problems: &mut Problems, key: &str) -> syn::Result<Option<LitStr>> {
    if !meta.input.peek(syn::token::Paren) {
        return text(meta).map(Some);
    }
    let (mut written, mut read) = (None, None);
    meta.parse_nested_meta(|meta| {
        let value = text(&meta)?;
        match meta.path.is_ident("serialize") {
            true => written = Some(value),
            false => read = Some(value),
        }
        Ok(())
    })?;
    match (written, read) {
        (Some(written), Some(read)) if written.value() == read.value() => Ok(Some(written)),
        (Some(one), _) | (None, Some(one)) => {
            problems.push(problem(
                one.span(),
                "a stored field has one name, and these differ for writing and reading",
                format_args!(
                    "`{key} = {}`, and `alias = \"..\"` for other names to read",
                    quote::quote!(#one)
                ),
            ));
            Ok(Some(one))
        }
        (None, None) => Ok(None),
    }
}

fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
        meta.input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}
