//! `inverse = by_publisher`, `inverse(one = of_patron)`.

use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Ident, Token};

use crate::problem::{problem, unknown};

/// The inverse of a reference.
pub(crate) struct Inverse {
    /// The function that makes it.
    pub(crate) name: Ident,
    /// Whether at most one document refers.
    pub(crate) one: bool,
}

impl Inverse {
    pub(super) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Inverse> {
        if !meta.input.peek(syn::token::Paren) {
            return Ok(Inverse {
                name: name(meta)?,
                one: false,
            });
        }
        let mut inverse = None;
        meta.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match key.as_str() {
                "one" | "many" if inverse.is_none() => {
                    inverse = Some(Inverse {
                        name: name(&meta)?,
                        one: key == "one",
                    });
                    Ok(())
                }
                "one" | "many" => Err(problem(
                    meta.path.span(),
                    "a reference has one inverse",
                    "give `one` or `many`",
                )),
                _ => Err(unknown(meta.path.span(), "option", &key, &["many", "one"])),
            }
        })?;
        inverse.ok_or_else(|| problem(meta.path.span(), NAMELESS, FORM))
    }
}

const NAMELESS: &str = "an inverse has a name";
const FORM: &str =
    "`inverse = by_publisher`, or `inverse(one = of_patron)` where at most one document refers";

/// The name after `=`, a bare word.
fn name(meta: &ParseNestedMeta<'_>) -> syn::Result<Ident> {
    if !meta.input.peek(Token![=]) {
        return Err(problem(meta.path.span(), NAMELESS, FORM));
    }
    let value = meta.value()?;
    match value.peek(Ident) {
        true => value.parse(),
        false => Err(problem(
            value.span(),
            "the name of an inverse is a bare word, the name of a function",
            FORM,
        )),
    }
}
