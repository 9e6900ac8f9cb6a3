//! `impl CopyOf`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::Expansion;
use crate::attr::CopyRole;
use crate::input::Field;

/// What the type holds copies of, if it does.
pub(super) fn implementation(expansion: &Expansion<'_>, fields: &[Field<'_>]) -> TokenStream {
    let Some(copy) = &expansion.container.copy else {
        return TokenStream::new();
    };
    let (this, model) = (&expansion.this, &copy.source);
    let name = expansion.container.ident.unraw().to_string();
    let (source, own) = (variable("source"), variable("copy"));
    let declared = fields.iter().filter_map(|field| {
        let ident = &field.ident;
        let span = field.ty.span().resolved_at(Span::call_site());
        Some(match field.copy.as_ref().map(|(role, _)| role) {
            Some(CopyRole::Own) => return None,
            Some(CopyRole::Source) => quote_spanned!(span=> .source::<#model, _, _>(&#own.#ident)),
            Some(CopyRole::Version) => quote_spanned!(span=> .version(&#own.#ident)),
            Some(CopyRole::From(path)) => copied(&source, path, &own, field),
            None => copied(&source, &ident.to_token_stream(), &own, field),
        })
    });
    let declared: TokenStream = declared.collect();
    let eventual = copy.eventual.then(|| quote!(.eventual()));
    quote! {
        impl __odm::CopyOf for #this {
            type Source = #model;
            fn declaration() -> __odm::CopyDeclaration {
                let #source = <#model as __odm::Model>::fields();
                let #own = <#this as __odm::Embedded>::fields_at::<#this>(__odm::Path::root());
                __odm::CopyDeclaration::of::<#this>(#name) #declared #eventual
            }
        }
    }
}

/// A field of the source at this path, and its copy. Both stay the user's tokens, so that rustc points at them.
fn copied(source: &Ident, path: &TokenStream, own: &Ident, field: &Field<'_>) -> TokenStream {
    let ident = &field.ident;
    let mut source = source.clone();
    source.set_span(source.span().located_at(path.span()));
    let span = field.ty.span().resolved_at(Span::call_site());
    let from = quote_spanned!(path.span().resolved_at(Span::call_site())=> &#source.#path);
    quote_spanned!(span=> .field(#from, &#own.#ident))
}

fn variable(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
