//! `copy_of(Publisher)` on a type, `source`, `source_version`, `from = address.city` and `own` on its fields,
//! `copied_to(Book)` on the model that is copied.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Ident, Path, Token};

use super::once;
use crate::problem::{problem, unknown};

/// What a type of copies says.
pub(crate) struct CopyOf {
    pub(crate) source: Path,
    /// Whether changes wait.
    pub(crate) eventual: bool,
    pub(crate) span: Span,
}

/// What a field of a copy is.
#[derive(Clone)]
pub(crate) enum CopyRole {
    /// The reference to what is copied.
    Source,
    /// The version that was copied.
    Version,
    /// A copy of the field at this path.
    From(TokenStream),
    /// No copy.
    Own,
}

impl CopyOf {
    pub(super) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<CopyOf> {
        let help = "`copy_of(Publisher)`, or `copy_of(Publisher, eventual)`";
        if !meta.input.peek(syn::token::Paren) {
            return Err(problem(
                meta.path.span(),
                "`copy_of` needs the model that is copied",
                help,
            ));
        }
        let content;
        syn::parenthesized!(content in meta.input);
        let span = meta.path.span();
        if content.is_empty() {
            return Err(problem(span, "`copy_of` needs the model that is copied", help));
        }
        let source = Path::parse_mod_style(&content)?;
        let mut eventual = None;
        while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
            let when: Ident = content.parse()?;
            match (when.to_string().as_str(), eventual) {
                ("immediate", None) => eventual = Some(false),
                ("eventual", None) => eventual = Some(true),
                ("immediate" | "eventual", Some(_)) => {
                    let help = "give `immediate` (which it is without) or `eventual`";
                    return Err(problem(
                        when.span(),
                        "it is said already when copies follow",
                        help,
                    ));
                }
                (other, _) => return Err(unknown(when.span(), "option", other, &["eventual", "immediate"])),
            }
        }
        if !content.is_empty() {
            return Err(problem(content.span(), "one model is copied", help));
        }
        Ok(CopyOf {
            source,
            eventual: eventual == Some(true),
            span,
        })
    }
}

impl CopyRole {
    pub(super) fn read(
        slot: &mut Option<(CopyRole, Span)>,
        key: &str,
        meta: &ParseNestedMeta<'_>,
    ) -> syn::Result<()> {
        let span = meta.path.span();
        if let Some((other, _)) = slot {
            return Err(problem(
                span,
                format_args!("this field of a copy says `{}` already", other.name()),
                "a field is one of `source`, `source_version`, `from = ..` and `own`",
            ));
        }
        let mut role = None;
        once(&mut role, meta, key, |meta| {
            Ok(match key {
                "source" => CopyRole::Source,
                "source_version" => CopyRole::Version,
                "own" => CopyRole::Own,
                _ => CopyRole::From(path(meta)?),
            })
        })?;
        *slot = role.map(|role| (role, span));
        Ok(())
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            CopyRole::Source => "source",
            CopyRole::Version => "source_version",
            CopyRole::From(_) => "from",
            CopyRole::Own => "own",
        }
    }
}

/// `address.city`.
fn path(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    if !meta.input.peek(Token![=]) {
        return Err(problem(
            meta.path.span(),
            "`from` needs a field of the source",
            "`from = address.city`",
        ));
    }
    let input = meta.value()?;
    let mut path = input.parse::<Ident>()?.into_token_stream();
    while let Some(dot) = input.parse::<Option<Token![.]>>()? {
        let field: Ident = input.parse()?;
        path.extend(quote!(#dot #field));
    }
    Ok(path)
}
