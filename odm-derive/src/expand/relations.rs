//! Inverses of a model's references, and the keys by which references to it hold a field.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::Expansion;
use super::fields::visibility;
use super::model::{described, reach, written};
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
    let own = model.inverses.iter();
    let own = own.map(|ModelInverse { path, ty, inverse }| (path, *ty, inverse));
    let nested = model.references.iter();
    let nested = nested.filter_map(|nested| Some((&nested.path, &nested.ty, nested.inverse.as_ref()?)));
    let inverses = own.chain(nested).map(|(path, ty, inverse)| {
        let name = &inverse.name;
        let doc = format!(
            "The [`{}`]s whose `{}` refers to a document.",
            expansion.container.ident,
            written(path)
        );
        let span = path.span().resolved_at(Span::call_site());
        let field = quote_spanned!(span=> <Self as __odm::Model>::fields().#path);
        let inverse_of = quote!(__odm::Field::inverse(&#field));
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
    let inverses: TokenStream = inverses.collect();
    let inverses = (!inverses.is_empty()).then(|| {
        quote! {
            impl #declared #this #predicates {
                #inverses
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

/// That an enum's deletions know of references to it, and those of each of its kinds.
pub(super) fn of_kinds(expansion: &Expansion<'_>, model: &Model<'_>, kinds: &[&TokenStream]) -> TokenStream {
    let this = &expansion.this;
    let referrers = model.referred_by.iter().map(|referrer| {
        let known = kinds
            .iter()
            .map(|kind| quote_spanned!(kind.span().resolved_at(Span::call_site())=> known::<#kind>();));
        quote_spanned! {referrer.span()=>
            impl __odm::ReferredBy<#referrer> for #this {}
            const _: () = {
                const fn known<K: __odm::ReferredBy<#referrer>>() {}
                #(#known)*
            };
        }
    });
    quote!(#(#referrers)*)
}

/// What is declared of references inside of embedded documents, for the descriptor.
pub(super) fn nested(expansion: &Expansion<'_>, model: &Model<'_>) -> TokenStream {
    if model.references.is_empty() {
        return TokenStream::new();
    }
    let this = &expansion.this;
    let fields = Ident::new("fields", Span::mixed_site());
    let declarations = model.references.iter().map(|reference| {
        let ty = &reference.ty;
        let described = described(
            this,
            ty,
            reference.inverse.as_ref(),
            reference.on_delete.as_ref(),
            reference.two_way.as_ref(),
            reference.is_in_an_element(),
        );
        let link = reference
            .element()
            .zip(reference.link.as_ref())
            .map(|(element, function)| {
                let span = function.span().resolved_at(Span::call_site());
                let element = reach(&fields, &element);
                quote_spanned!(span=> .link::<_, _, #ty>(
                    #element,
                    #function,
                    |key| __odm::link_element(key, #function)
                ))
            });
        let field = reach(&fields, &reference.path);
        quote_spanned!(ty.span().resolved_at(Span::call_site())=>
            __odm::ReferenceDeclaration::of::<_, #ty>(#field, #described #link))
    });
    quote! {
        .references(|| {
            let #fields = <#this as __odm::Model>::fields();
            __odm::Vec::from([#(#declarations),*])
        })
    }
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
