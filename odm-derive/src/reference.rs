//! Enums of references to different models.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Ident, Type, Visibility};

use crate::attr::{self, OnReference};
use crate::problem::Problems;

/// What is referred to by one variant.
struct Variant<'a> {
    ident: &'a Ident,
    /// The type of the reference.
    ty: &'a Type,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::new();
    let odm = OnReference::read(&input.attrs, &mut problems);
    let variants = variants(input, &mut problems);
    let errors = problems.finish();
    let expanded = expand(input, &odm, &variants);
    quote!(#errors #expanded)
}

fn variants<'a>(input: &'a DeriveInput, problems: &mut Problems) -> Vec<Variant<'a>> {
    let form = "`enum Owner { Person(Ref<Person>), Company(Ref<Company>) }`";
    let Data::Enum(data) = &input.data else {
        problems.at(
            &input.ident,
            "a reference to several models is an enum",
            format_args!("{form}; a reference to one model is a `Ref<T>` and needs no derive"),
        );
        return Vec::new();
    };
    if !input.generics.params.is_empty() {
        problems.at(
            &input.generics,
            "an enum of references has no parameters",
            "name each model",
        );
        return Vec::new();
    }
    if data.variants.is_empty() {
        problems.at(&input.ident, "an enum of references needs a variant", form);
    }
    let mut all = Vec::new();
    for variant in &data.variants {
        attr::none_on_variant(&variant.attrs, problems);
        match &variant.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                all.extend(fields.unnamed.iter().map(|field| Variant {
                    ident: &variant.ident,
                    ty: &field.ty,
                }));
            }
            _ => problems.at(
                &variant.ident,
                "a variant holds one reference and nothing else",
                form,
            ),
        }
    }
    all
}

fn expand(input: &DeriveInput, odm: &OnReference, variants: &[Variant<'_>]) -> TokenStream {
    let this = &input.ident;
    let krate = match &odm.crate_path {
        Some(path) => path.to_token_stream(),
        None => quote!(::odm),
    };
    let document = match &odm.document {
        Some(name) => name.clone(),
        None => format_ident!("{}Document", this.unraw()),
    };
    let vis = match &input.vis {
        Visibility::Public(_) => quote!(pub),
        Visibility::Inherited => TokenStream::new(),
        vis => vis.to_token_stream(),
    };
    let doc = format!("What [`{this}`] refers to.");
    let documents = variants.iter().map(|Variant { ident, ty }| {
        let doc = format!("What `{this}::{ident}` refers to.");
        let target = quote_spanned!(ty.span()=> <#ty as #krate::__private::Link>::Document);
        quote!(#[doc = #doc] #ident(#target),)
    });
    let declared = variants.iter().map(|Variant { ident, ty }| {
        quote! {
            __odm::ReferenceVariant::new::<<#ty as __odm::Link>::Document>(
                |id, readable| __odm::read_key(id, readable).map(Self::#ident),
                |stored| __odm::decode(stored).map(#document::#ident),
            )
        }
    });
    let links = variants
        .iter()
        .map(|Variant { ty, .. }| quote!(impl __odm::HasVariant<#ty> for #this {}));
    let targets = variants
        .iter()
        .map(|Variant { ty, .. }| quote_spanned!(ty.span()=> #ty: __odm::ReferredVariant<__C>));
    let written = variants.iter().map(|Variant { ident, ty }| {
        let call = quote_spanned!(ty.span()=> __odm::write_variant(reference, serializer));
        quote!(Self::#ident(reference) => #call,)
    });
    let names = variants.iter().map(|Variant { ident, .. }| {
        let name = ident.unraw().to_string();
        quote!(Self::#ident(_) => #name,)
    });
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #vis enum #document { #(#documents)* }
        const _: () = {
            use #krate::__private as __odm;
            impl ::core::fmt::Debug for #document {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.write_str(match *self { #(#names)* })
                }
            }
            impl __odm::ReferenceEnum for #this {
                type Document = #document;
                const VARIANTS: &'static [__odm::ReferenceVariant<Self>] = &[#(#declared),*];
            }
            #(#links)*
            impl __odm::NamedLink for #this {}
            impl __odm::RuledLink for #this {
                type Target = #this;
            }
            impl<__C> __odm::ReferredBy<__C> for #this where #(#targets),* {}
            impl __odm::FieldType for #this {
                type Handle<__R> = __odm::Field<__R, #this>;
                type Optional<__R> = __odm::Field<__R, __odm::Option<#this>>;
                const DECLARED: &'static __odm::Declared = &__odm::Declared::refers::<#this>();
            }
            impl __odm::Serialize for #this {
                fn serialize<__S: __odm::Serializer>(
                    &self,
                    serializer: __S,
                ) -> __odm::StdResult<__S::Ok, __S::Error> {
                    match self { #(#written)* }
                }
            }
            impl<'de> __odm::Deserialize<'de> for #this {
                fn deserialize<__D: __odm::Deserializer<'de>>(
                    deserializer: __D,
                ) -> __odm::StdResult<Self, __D::Error> {
                    __odm::read_variant(deserializer)
                }
            }
        };
    }
}
