//! Inverses of a model's references, and the keys by which references to it hold a field.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::Expansion;
use super::fields::visibility;
use crate::input::{Model, ModelInverse, ReferenceKey};

/// The types of the keys, which stand beside the model.
pub(super) fn declarations(expansion: &Expansion<'_>, model: &Model<'_>) -> TokenStream {
    let vis = visibility(expansion.container.vis);
    let keys = model
        .reference_keys
        .iter()
        .map(|ReferenceKey { name, field, .. }| {
            let model = expansion.container.ident.unraw();
            let doc = format!("References to [`{model}`] by its `{field}`.");
            quote! {
                #[doc = #doc]
                #[derive(::core::fmt::Debug)]
                #vis enum #name {}
            }
        });
    quote!(#(#keys)*)
}

pub(super) fn implementation(expansion: &Expansion<'_>, model: &Model<'_>) -> TokenStream {
    let this = &expansion.this;
    let (declared, predicates) = (
        expansion.declared(TokenStream::new()),
        expansion.stored(TokenStream::new()),
    );
    let vis = visibility(expansion.container.vis);
    let keys = model.reference_keys.iter().map(|key| {
        let ReferenceKey {
            name,
            field,
            ty,
            stored,
        } = key;
        quote! {
            impl #declared __odm::ReferenceKey<#this> for #name #predicates {
                type Value = #ty;
                fn path() -> __odm::Path {
                    __odm::Path::root().child(#stored)
                }
                fn of(document: &#this) -> &#ty {
                    &document.#field
                }
            }
        }
    });
    let inverses = model.inverses.iter().map(|ModelInverse { field, ty, inverse }| {
        let name = &inverse.name;
        let doc = format!(
            "The [`{}`]s whose `{field}` refers to a document.",
            expansion.container.ident
        );
        let inverse_of = quote!(__odm::Field::inverse(&<Self as __odm::Model>::fields().#field));
        let (output, body) = match inverse.one {
            false => (quote!(__odm::HasMany), inverse_of),
            true => (quote!(__odm::HasOne), quote!(__odm::HasMany::one(#inverse_of))),
        };
        let link = quote_spanned!(ty.span()=> <#ty as __odm::Reference>::Link);
        quote! {
            #[doc = #doc]
            #vis fn #name<__P: __odm::Model>() -> #output<__P, Self>
            where
                #link: __odm::LinksTo<__P>,
            {
                #body
            }
        }
    });
    let inverses = (!model.inverses.is_empty()).then(|| {
        quote! {
            impl #declared #this #predicates {
                #(#inverses)*
            }
        }
    });
    let referrers = model.referred_by.iter().map(|referrer| {
        quote_spanned! {referrer.span()=>
            impl #declared __odm::ReferredBy<#referrer> for #this #predicates {}
        }
    });
    quote!(#(#keys)* #inverses #(#referrers)*)
}

/// The models whose references to this one have rules, and those that hold copies of it, for the descriptor.
pub(super) fn referrers(model: &Model<'_>) -> TokenStream {
    let mut all = TokenStream::new();
    for (method, models) in [
        (quote!(referred_by), &model.referred_by),
        (quote!(copied_to), &model.copied_to),
    ] {
        if !models.is_empty() {
            all.extend(quote!(.#method(&[#(|| <#models as __odm::Model>::DESCRIPTOR),*])));
        }
    }
    all
}
