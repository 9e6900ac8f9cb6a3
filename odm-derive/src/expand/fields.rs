//! The fields struct of a struct, or of a variant.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;

use super::{Expansion, handle, handle_type, located};
use crate::expand::codec::Codecs;
use crate::input::Field;

/// `pub struct BookFields<R = Book, S = Book> { .. }`.
pub(super) fn declaration(expansion: &Expansion<'_>, name: &Ident, fields: &[Field<'_>]) -> TokenStream {
    let odm = &expansion.odm;
    let handles = fields.iter().map(|field| {
        let (vis, ident) = (visibility(field.vis), &field.ident);
        let doc = format!("`{ident}`.");
        let ty = handle_type(field.ty, field.ty.span(), &field.storage, odm);
        quote!(#[doc = #doc] #vis #ident: #ty,)
    });
    structure(expansion, name, quote!(#(#handles)*))
}

/// The struct with these handles, and the handle of the whole.
///
/// `repr(C)` because rustc then counts every field as used: nobody asks for every field of a private model, and an
/// `allow(dead_code)` would break crates that forbid the lint.
pub(super) fn structure(expansion: &Expansion<'_>, name: &Ident, handles: TokenStream) -> TokenStream {
    let (odm, this, params) = (&expansion.odm, &expansion.this, &expansion.params);
    let vis = visibility(expansion.container.vis);
    let doc = format!(
        "The fields of [`{}`] in documents of `__R`.",
        expansion.container.ident
    );
    let defaulted = &params.defaulted;
    let predicates = expansion.predicates(TokenStream::new());
    let marker = params
        .any
        .then(|| quote!(__this: #odm::PhantomData<fn() -> #this>,));
    quote! {
        #[doc = #doc]
        #[repr(C)]
        #vis struct #name<#defaulted __R = #this, __S = #this> #predicates {
            #handles
            __own: #odm::Field<__R, __S>,
            #marker
        }
    }
}

pub(super) fn implementation(expansion: &Expansion<'_>, name: &Ident, fields: &[Field<'_>]) -> TokenStream {
    let prefix = name.to_string();
    let mut codecs = Codecs::new(expansion, &prefix);
    let base = base();
    let handles: TokenStream = fields
        .iter()
        .map(|field| {
            let ident = &field.ident;
            let handle = handle(field.ty, &field.storage, &base, &field.stored, &mut codecs);
            let handle = located(&handle, field.ty.span());
            quote!(#ident: #handle,)
        })
        .collect();
    let declarations = codecs.declarations;
    let implementation = made_of(expansion, name, handles);
    quote!(#declarations #implementation)
}

/// How the struct is made from a path, and that it derefs to the handle of the whole.
pub(super) fn made_of(expansion: &Expansion<'_>, name: &Ident, handles: TokenStream) -> TokenStream {
    let (declared, args, base) = (
        expansion.declared(quote!(__R, __S)),
        &expansion.params.args,
        base(),
    );
    let predicates = expansion.predicates(TokenStream::new());
    let marker = expansion.params.any.then(|| quote!(__this: __odm::PhantomData,));
    quote! {
        impl #declared __odm::Handle for #name<#args __R, __S> #predicates {
            fn at(path: __odm::Path) -> Self {
                let #base = path.into_base();
                Self { #handles __own: __odm::Field::new(#base.path()), #marker }
            }
        }
        impl #declared __odm::Deref for #name<#args __R, __S> #predicates {
            type Target = __odm::Field<__R, __S>;
            fn deref(&self) -> &__odm::Field<__R, __S> {
                &self.__own
            }
        }
    }
}

/// What the paths of the fields start with.
pub(super) fn base() -> TokenStream {
    Ident::new("base", Span::mixed_site()).into_token_stream()
}

/// The visibility as if written here: lints about what the user wrote are not to be said twice.
pub(super) fn visibility(vis: &syn::Visibility) -> TokenStream {
    match vis {
        syn::Visibility::Public(_) => quote!(pub),
        syn::Visibility::Inherited => TokenStream::new(),
        vis => vis.to_token_stream(),
    }
}
