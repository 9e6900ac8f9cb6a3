//! `impl Model`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::Expansion;
use super::codec::Codecs;
use super::{lifecycle, relations};
use crate::attr::lifecycle::Role;
use crate::attr::{DeleteRule, Inverse, Order};
use crate::input::{Content, Field, Model, ModelIndex, Storage, Variant};

pub(super) fn implementation(
    expansion: &Expansion<'_>,
    model: &Model<'_>,
    fields: &[Field<'_>],
) -> TokenStream {
    let this = &expansion.this;
    let name = expansion.container.ident.unraw().to_string();
    let collection = &model.collection;
    let descriptors = fields.iter().map(|field| {
        let rust = field.ident.unraw().to_string();
        let stored = match field.storage {
            Storage::Flattened => "",
            _ => &field.stored,
        };
        let ty = written(field.ty);
        let descriptor = match field.read {
            true => quote!(__odm::FieldDescriptor::new(#rust, #stored, #ty)),
            false => quote!(__odm::FieldDescriptor::write_only(#rust, #stored, #ty)),
        };
        let (relation, _) = relation(expansion, model, field);
        quote!(#descriptor #relation)
    });
    let indexes = match model.indexes.is_empty() {
        true => quote!(__odm::Vec::new),
        false => indexes(expansion, &model.indexes),
    };
    let mut codecs = Codecs::new(expansion, "Key");
    let mut key_codec = TokenStream::new();
    let mut bounds = quote!(#this: __odm::ModelBounds,);
    let (ty, key) = match &model.key {
        None => (quote!(()), quote!(&())),
        Some(key) => {
            let (ident, ty) = (key.ident, key.ty);
            if let Some(function) = &key.codec {
                let codec = codecs.serializer(function, ty);
                key_codec.extend(quote!(
                    const KEY_CODEC: __odm::Option<__odm::Codec<#ty>> =
                        __odm::Option::Some(__odm::encode_with::<#ty, #codec>);
                    const KEY_SHOW: __odm::Option<__odm::KeyShow<#ty>> =
                        __odm::Option::Some(__odm::show_with::<#ty, #codec>);
                ));
            }
            if let Some(function) = &key.reader {
                let (reader, parser) = codecs.decode(function, ty);
                key_codec.extend(quote!(
                    const KEY_READER: __odm::Option<__odm::KeyReader<#ty>> = __odm::Option::Some(#reader);
                    const KEY_PARSE: __odm::Option<__odm::KeyParse<#ty>> = __odm::Option::Some(#parser);
                ));
            }
            if crate::generics::Params::mentions(expansion.container.generics, ty) {
                bounds.extend(quote!(#ty: __odm::KeyBounds,));
                if key.checked {
                    bounds.extend(quote!(#ty: __odm::IdType,));
                }
            }
            let field = quote!(&self.#ident);
            match key.checked {
                true => (
                    ty.to_token_stream(),
                    quote_spanned!(ty.span()=> __odm::key::<#ty>(#field)),
                ),
                false => (ty.to_token_stream(), field),
            }
        }
    };
    let tenant = fields
        .iter()
        .find(|field| matches!(field.life.role, Some((Role::Tenant, _))));
    if let Some(field) = tenant.filter(|field| matches!(field.storage, Storage::Typed)) {
        let ty = field.ty;
        if crate::generics::Params::mentions(expansion.container.generics, ty) {
            bounds.extend(quote!(#ty: __odm::TenantType,));
        }
    }
    let tenant = tenant.map(|field| {
        let name = &field.stored;
        quote!(.tenant(#name))
    });
    let lifecycle = lifecycle::constants(expansion, fields, model, &mut codecs);
    if !expansion.params.any {
        bounds = TokenStream::new();
    }
    let (declared, stored) = (expansion.declared(TokenStream::new()), expansion.stored(bounds));
    let declarations = codecs.declarations;
    let more = declared_more(model);
    let relations = relations::implementation(expansion, model);
    let probes = fields.iter().any(|field| relation(expansion, model, field).1);
    let probing = probes.then(|| {
        quote!(
            use __odm::NoRelation as _;
        )
    });
    let (referrers, nested) = (relations::referrers(model), relations::nested(expansion, model));
    quote! {
        #probing
        #declarations
        #relations
        impl #declared __odm::Model for #this #stored {
            type Key = #ty;
            const DESCRIPTOR: &'static __odm::ModelDescriptor =
                &__odm::ModelDescriptor::new::<#this>(#name, #collection, &[#(#descriptors),*], #indexes) #more #tenant #referrers #nested;
            #key_codec
            #lifecycle
            fn key(&self) -> &#ty {
                #key
            }
        }
    }
}

/// What the descriptor says beside fields and indexes.
fn declared_more(model: &Model<'_>) -> TokenStream {
    let mut more = TokenStream::new();
    more.extend(model.kind.as_ref().map(crate::attr::schema::Kind::expand));
    if let Some(versions) = &model.versions {
        let current = versions.current;
        more.extend(quote!(.version(#current)));
    }
    if model.denies_unknown_fields {
        more.extend(quote!(.denying_unknown_fields()));
    }
    if let Some(options) = &model.options {
        more.extend(quote!(.options(#options)));
    }
    more
}

/// A type as it was written, without the spaces that tokens have between them.
pub(super) fn written(ty: &dyn ToTokens) -> String {
    let text = ty.to_token_stream().to_string();
    let mut written = String::with_capacity(text.len());
    for (index, letter) in text.char_indices() {
        let before = written.chars().next_back().unwrap_or(' ');
        let after = text[index + letter.len_utf8()..].chars().next().unwrap_or(' ');
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        if letter != ' ' || (is_name(before) && is_name(after)) || matches!(before, ',' | ';') {
            written.push(letter);
        }
    }
    written
}

/// The model that an enum of models is.
pub(super) fn of_kinds(
    expansion: &Expansion<'_>,
    model: &Model<'_>,
    variants: &[Variant<'_>],
) -> TokenStream {
    let (this, collection) = (&expansion.this, &model.collection);
    let name = expansion.container.ident.unraw().to_string();
    let tag = model.tag.as_deref().unwrap_or_default();
    let kinds: Vec<_> = variants
        .iter()
        .filter_map(|variant| match &variant.content {
            Content::One(ty, _) => Some((variant.ident, ty, &variant.stored)),
            _ => None,
        })
        .collect();
    let Some((_, first, _)) = kinds.first() else {
        return TokenStream::new();
    };
    let descriptors = kinds.iter().map(|(_, ty, stored)| {
        quote_spanned!(ty.span().resolved_at(Span::call_site())=>
            __odm::KindDescriptor::new(#stored, <#ty as __odm::Model>::DESCRIPTOR))
    });
    let lives = kinds.iter().map(|(_, ty, stored)| {
        quote!((
            __odm::KindDescriptor::new(#stored, <#ty as __odm::Model>::DESCRIPTOR),
            <#ty as __odm::Model>::LIFECYCLE,
        ))
    });
    let keys = kinds
        .iter()
        .map(|(ident, ty, _)| quote!(#this::#ident(kind) => <#ty as __odm::Model>::key(kind),));
    let types: Vec<&TokenStream> = kinds.iter().map(|(_, ty, _)| *ty).collect();
    let rules = relations::of_kinds(expansion, model, &types);
    let options = model.options.as_ref().map(|options| quote!(.options(#options)));
    let referrers = relations::referrers(model);
    let scope = lifecycle::scope(this, model);
    quote! {
        impl __odm::Model for #this {
            type Key = <#first as __odm::Model>::Key;
            const DESCRIPTOR: &'static __odm::ModelDescriptor =
                &__odm::ModelDescriptor::of_kinds::<#this>(#name, #collection, #tag, &[#(#descriptors),*]) #options #referrers;
            const KEY_CODEC: __odm::Option<__odm::Codec<Self::Key>> = <#first as __odm::Model>::KEY_CODEC;
            const KEY_READER: __odm::Option<__odm::KeyReader<Self::Key>> = <#first as __odm::Model>::KEY_READER;
            const KEY_SHOW: __odm::Option<__odm::KeyShow<Self::Key>> = <#first as __odm::Model>::KEY_SHOW;
            const KEY_PARSE: __odm::Option<__odm::KeyParse<Self::Key>> = <#first as __odm::Model>::KEY_PARSE;
            const LIFECYCLE: __odm::Lifecycle = __odm::Lifecycle::of_kinds(#collection, #tag, &[#(#lives),*]) #scope;
            fn key(&self) -> &Self::Key {
                match self { #(#keys)* }
            }
        }
        const _: __odm::Lifecycle = <#this as __odm::Model>::LIFECYCLE;
        #(impl __odm::KindOf<#this> for #types {})*
        #rules
    }
}

/// What the field refers to, and whether its type is asked.
fn relation(expansion: &Expansion<'_>, model: &Model<'_>, field: &Field<'_>) -> (TokenStream, bool) {
    let ty = field.ty;
    if !matches!(field.storage, Storage::Typed)
        || crate::generics::Params::mentions(expansion.container.generics, ty)
    {
        return (TokenStream::new(), false);
    }
    let inverse = model
        .inverses
        .iter()
        .find(|inverse| field.ident == inverse.path.to_string());
    let rule = model.rules.iter().find(|rule| *rule.field == field.ident);
    if inverse.is_none() && rule.is_none() {
        return (quote!(.refers(__odm::RelationProbe::<#ty>::RELATION)), true);
    }
    let declared = described(
        &expansion.this,
        ty,
        inverse.map(|inverse| &inverse.inverse),
        rule.and_then(|rule| rule.on_delete.as_ref()),
        rule.and_then(|rule| rule.two_way.as_ref()),
        false,
    );
    (quote!(.refers(__odm::Option::Some(#declared))), false)
}

/// What a reference of the type is declared to be; `in_element` of an array or a map that holds embedded documents.
pub(super) fn described(
    this: &TokenStream,
    ty: &syn::Type,
    inverse: Option<&Inverse>,
    on_delete: Option<&DeleteRule>,
    two_way: Option<&TokenStream>,
    in_element: bool,
) -> TokenStream {
    let inverse = inverse.map(|inverse| {
        let (name, one) = (inverse.name.unraw().to_string(), inverse.one);
        quote!(.inverse(#name, #one))
    });
    let on_delete = on_delete.map(|DeleteRule(rule)| {
        let span = rule.span().resolved_at(Span::call_site());
        let method = match in_element && rule == "pull" {
            true => Ident::new("pull_element", rule.span()),
            false => rule.clone(),
        };
        quote_spanned!(span=> .#method::<#ty, #this>())
    });
    let two_way = two_way.map(|partner| {
        let target = match in_element {
            true => quote_spanned!(ty.span()=> <#ty as __odm::LinkedReference>::Target),
            false => quote_spanned!(ty.span()=> <#ty as __odm::TwoWayReference>::Target),
        };
        let span = partner.span().resolved_at(Span::call_site());
        quote_spanned!(span=> .two_way(|| __odm::partner::<#this, _, _>(
            &<#target as __odm::Model>::fields().#partner
        )))
    });
    quote!(__odm::RelationDescriptor::of::<#ty>() #inverse #on_delete #two_way)
}

/// A closure that makes the declared indexes. Paths stay the user's tokens, so that rustc points at them.
fn indexes(expansion: &Expansion<'_>, indexes: &[ModelIndex]) -> TokenStream {
    let this = &expansion.this;
    let fields = Ident::new("fields", Span::mixed_site());
    let declarations = indexes.iter().map(|ModelIndex { index, checked }| {
        let mut declaration = quote!(__odm::IndexDeclaration::new());
        for key in &index.keys {
            let method = match key.order {
                Order::Ascending => quote!(asc),
                Order::Descending => quote!(desc),
                Order::Hashed => quote!(hashed),
                Order::Text => quote!(text),
                Order::Geo2dSphere => quote!(geo_2dsphere),
                Order::Geo2d => quote!(geo_2d),
                Order::Wildcard if key.path.is_empty() => {
                    declaration.extend(quote!(.wildcard_all()));
                    continue;
                }
                Order::Wildcard => quote!(wildcard),
            };
            let field = reach(&fields, &key.path);
            declaration.extend(quote!(.#method(#field)));
            if let Some(weight) = &key.weight {
                declaration.extend(quote!(.weight(#field, #weight)));
            }
        }
        if index.unique {
            declaration.extend(quote!(.unique()));
        }
        if index.sparse {
            declaration.extend(quote!(.sparse()));
        }
        if let Some(name) = &index.name {
            declaration.extend(quote!(.named(#name)));
        }
        if let (Some(expire_after), Some(key)) = (&index.expire_after, index.keys.first()) {
            let (seconds, field) = (expire_after.seconds, reach(&fields, &key.path));
            declaration.extend(match checked {
                true => quote!(.expire_after(#field, #seconds)),
                false => quote!(.expire_after_unchecked(#seconds)),
            });
        }
        if let Some(partial) = &index.partial {
            declaration.extend(quote!(.partial::<#this>(#partial)));
        }
        if index.hidden {
            declaration.extend(quote!(.hidden()));
        }
        if index.all_kinds.is_some() {
            declaration.extend(quote!(.all_kinds()));
        }
        for (method, value) in [
            ("language", &index.language),
            ("language_field", &index.language_field),
        ] {
            let method = Ident::new(method, Span::call_site());
            declaration.extend(value.as_ref().map(|value| quote!(.#method(#value))));
        }
        if let Some((least, greatest)) = &index.bounds {
            let (least, greatest) = (bound(least), bound(greatest));
            declaration.extend(quote!(.geo_2d_bounds(#least, #greatest)));
        }
        declaration.extend(index.bits.as_ref().map(|bits| quote!(.geo_2d_bits(#bits))));
        for (method, paths) in [("only", &index.only), ("without", &index.without)] {
            let method = Ident::new(method, Span::call_site());
            for path in paths.iter().flatten() {
                let field = reach(&fields, path);
                declaration.extend(quote!(.#method(#field)));
            }
        }
        for (method, document) in [("collation", &index.collation), ("options", &index.options)] {
            let method = Ident::new(method, Span::call_site());
            declaration.extend(document.as_ref().map(|document| quote!(.#method(#document))));
        }
        declaration
    });
    quote! {
        || {
            let #fields = <#this as __odm::Model>::fields();
            __odm::Vec::from([#(#declarations),*])
        }
    }
}

/// The field at this path, borrowed.
pub(super) fn reach(fields: &Ident, path: &TokenStream) -> TokenStream {
    let span = path.span();
    let mut fields = fields.clone();
    fields.set_span(fields.span().located_at(span));
    quote_spanned!(span.resolved_at(Span::call_site())=> &#fields.#path)
}

/// A bound of a grid as a double, whatever number it is given as.
fn bound(number: &TokenStream) -> TokenStream {
    let converted =
        quote_spanned!(number.span()=> <::core::primitive::f64 as ::core::convert::From<_>>::from(#number));
    quote!({
        #[allow(clippy::useless_conversion)]
        let bound = #converted;
        bound
    })
}
