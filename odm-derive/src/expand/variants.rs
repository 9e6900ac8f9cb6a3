//! The fields structs of an enum and its variants.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::fields::{base, declaration, implementation, made_of, structure, visibility};
use super::{Expansion, handle_type};
use crate::expand::codec::Codecs;
use crate::input::{Content, Storage, Tagging, Variant};
use crate::resolve::handle_name;

pub(super) fn declarations(
    expansion: &Expansion<'_>,
    name: &Ident,
    tagging: &Tagging,
    variants: &[Variant<'_>],
) -> TokenStream {
    let odm = &expansion.odm;
    let vis = visibility(expansion.container.vis);
    let mut structs = TokenStream::new();
    let mut handles = TokenStream::new();
    if let Some((ident, _)) = tag(tagging, variants) {
        let doc = format!("`{}`, which names the variant.", ident.unraw());
        handles.extend(quote!(#[doc = #doc] #vis #ident: #odm::Field<__R, #odm::String>,));
    }
    for variant in variants {
        let inner = match &variant.content {
            Content::Nothing => quote!(()),
            Content::One(ty, storage) => handle_type(ty, ty.span(), storage, odm),
            Content::Fields(fields) => {
                let name = fields_name(expansion, variant);
                structs.extend(declaration(expansion, &name, fields));
                let args = &expansion.params.args;
                quote!(#name<#args __R>)
            }
        };
        let (handle, doc) = (
            &variant.handle,
            format!("The variant `{}`.", variant.ident.unraw()),
        );
        match shows(tagging, variant) {
            true => handles.extend(quote!(#[doc = #doc] #vis #handle: #odm::Variant<__R, #inner>,)),
            false if matches!(variant.content, Content::Nothing) => {}
            false => handles.extend(quote!(#[doc = #doc] #vis #handle: #inner,)),
        }
    }
    let structure = structure(expansion, name, handles);
    quote!(#structure #structs)
}

pub(super) fn implementations(
    expansion: &Expansion<'_>,
    name: &Ident,
    tagging: &Tagging,
    variants: &[Variant<'_>],
) -> TokenStream {
    let prefix = name.to_string();
    let mut codecs = Codecs::new(expansion, &prefix);
    let base = base();
    let mut structs = TokenStream::new();
    let mut handles = TokenStream::new();
    if let Some((ident, tag)) = tag(tagging, variants) {
        handles.extend(quote!(#ident: __odm::at(&#base, #tag),));
    }
    for variant in variants {
        let stored = &variant.stored;
        let path = match tagging {
            _ if variant.untagged => quote!(#base.path()),
            Tagging::External => quote!(#base.child(#stored)),
            Tagging::Adjacent { content, .. } => {
                quote!(#base.path().of_variant(&#stored).child(#content))
            }
            Tagging::Internal { .. } => quote!(#base.path().of_variant(&#stored)),
            Tagging::Untagged => quote!(#base.path()),
        };
        let inner = match &variant.content {
            Content::Nothing => quote!(()),
            Content::Fields(fields) => {
                let name = fields_name(expansion, variant);
                structs.extend(implementation(expansion, &name, fields));
                quote!(__odm::Handle::at(#path))
            }
            Content::One(ty, Storage::Codec(codec)) => {
                let codec = codecs.encode(&codec.serialize, ty);
                quote!(__odm::Field::with_codec(#path, #codec))
            }
            Content::One(..) => quote!(__odm::Handle::at(#path)),
        };
        let test = match (tagging, &variant.content) {
            (Tagging::External, Content::Nothing) => quote!(__odm::VariantTest::Tag(#base.path(), #stored)),
            (Tagging::External, _) => quote!(__odm::VariantTest::Exists(#base.child(#stored))),
            (Tagging::Internal { tag } | Tagging::Adjacent { tag, .. }, _) => {
                quote!(__odm::VariantTest::Tag(#base.child(#tag), #stored))
            }
            (Tagging::Untagged, _) => TokenStream::new(),
        };
        let handle = &variant.handle;
        match shows(tagging, variant) {
            true => handles.extend(quote!(#handle: __odm::Variant::new(#inner, #test),)),
            false if matches!(variant.content, Content::Nothing) => {}
            false => handles.extend(quote!(#handle: #inner,)),
        }
    }
    let declarations = codecs.declarations;
    let implementation = made_of(expansion, name, handles);
    quote!(#declarations #implementation #structs)
}

fn fields_name(expansion: &Expansion<'_>, variant: &Variant<'_>) -> Ident {
    expansion.fields_name(&variant.ident.unraw().to_string())
}

/// Whether a stored value shows that it is of this variant.
fn shows(tagging: &Tagging, variant: &Variant<'_>) -> bool {
    !variant.untagged && !matches!(tagging, Tagging::Untagged)
}

/// The field that holds the variant's name, unless a variant's handle takes its name or it cannot be one.
fn tag<'a>(tagging: &'a Tagging, variants: &[Variant<'_>]) -> Option<(Ident, &'a str)> {
    let (Tagging::Internal { tag } | Tagging::Adjacent { tag, .. }) = tagging else {
        return None;
    };
    let plain = tag.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && tag
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !plain {
        return None;
    }
    let ident = handle_name(&crate::case::snake(tag).to_string(), Span::call_site());
    let is_free = variants.iter().all(|variant| variant.handle != ident);
    is_free.then_some((ident, tag))
}
