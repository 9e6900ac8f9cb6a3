//! The parameters of the type, and what the expansion asks of them.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics};

/// The parameters of a type in the forms that the expansion needs, each list with a comma after each element.
pub(crate) struct Params {
    /// With bounds, without defaults: `T: Clone, const N: usize,`.
    pub(crate) declared: TokenStream,
    /// With bounds and defaults.
    pub(crate) defaulted: TokenStream,
    /// `T, N,`.
    pub(crate) args: TokenStream,
    /// The type's own predicates and that its parameters are field types.
    pub(crate) predicates: TokenStream,
    pub(crate) any: bool,
}

impl Params {
    /// `types` are the types of the fields that have typed handles.
    pub(crate) fn new<'a>(
        generics: &Generics,
        types: impl Iterator<Item = &'a dyn ToTokens>,
        odm: &TokenStream,
    ) -> Params {
        let (mut declared, mut defaulted, mut args) =
            (TokenStream::new(), TokenStream::new(), TokenStream::new());
        let mut names = Vec::new();
        for param in &generics.params {
            defaulted.extend(quote!(#param,));
            match param {
                GenericParam::Lifetime(param) => {
                    let lifetime = &param.lifetime;
                    declared.extend(quote!(#param,));
                    args.extend(quote!(#lifetime,));
                }
                GenericParam::Type(param) => {
                    let (ident, bounds) = (&param.ident, &param.bounds);
                    declared.extend(quote!(#ident: #bounds,));
                    args.extend(quote!(#ident,));
                    names.push(ident);
                }
                GenericParam::Const(param) => {
                    let (ident, ty) = (&param.ident, &param.ty);
                    declared.extend(quote!(const #ident: #ty,));
                    args.extend(quote!(#ident,));
                }
            }
        }
        let mut predicates = TokenStream::new();
        if let Some(clause) = &generics.where_clause {
            for predicate in &clause.predicates {
                predicates.extend(quote!(#predicate,));
            }
        }
        if !names.is_empty() {
            let mut used = Vec::new();
            for ty in types {
                mentioned(ty.to_token_stream(), &names, &mut used);
            }
            for mention in used {
                predicates.extend(quote!(#mention: #odm::FieldType,));
            }
        }
        Params {
            declared,
            defaulted,
            args,
            predicates,
            any: !generics.params.is_empty(),
        }
    }

    /// Whether any of the parameters is in these tokens.
    pub(crate) fn mentions(generics: &Generics, tokens: &dyn ToTokens) -> bool {
        let names: Vec<&Ident> = generics.type_params().map(|param| &param.ident).collect();
        let mut used = Vec::new();
        mentioned(tokens.to_token_stream(), &names, &mut used);
        !used.is_empty()
    }
}

/// Adds `T`, or `T::Item` where that stands, for each parameter in the tokens of a type.
fn mentioned(tokens: TokenStream, names: &[&Ident], used: &mut Vec<TokenStream>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => mentioned(group.stream(), names, used),
            TokenTree::Ident(ident) if names.contains(&ident) && !is_after_colons(&trees[..i]) => {
                let mut mention = quote!(#ident);
                if let [
                    TokenTree::Punct(a),
                    TokenTree::Punct(b),
                    TokenTree::Ident(item),
                    ..,
                ] = &trees[i + 1..]
                    && (a.as_char(), b.as_char()) == (':', ':')
                {
                    mention = quote!(#ident::#item);
                }
                let text = mention.to_string();
                if used.iter().all(|other| other.to_string() != text) {
                    used.push(mention);
                }
            }
            _ => {}
        }
    }
}

fn is_after_colons(before: &[TokenTree]) -> bool {
    matches!(before.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}
