//! The functions that encode operands as `#[serde(with = ..)]` encodes the field.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ExprPath;
use syn::spanned::Spanned;

use super::Expansion;

/// The codecs that one block needs, declared once each.
pub(super) struct Codecs<'a> {
    expansion: &'a Expansion<'a>,
    prefix: &'a str,
    pub(super) declarations: TokenStream,
    count: usize,
}

impl<'a> Codecs<'a> {
    /// `prefix` tells the codecs of one block from those of another.
    pub(super) fn new(expansion: &'a Expansion<'a>, prefix: &'a str) -> Codecs<'a> {
        Codecs {
            expansion,
            prefix,
            declarations: TokenStream::new(),
            count: 0,
        }
    }

    /// The function that encodes a value of `ty` as `function` serializes it.
    pub(super) fn encode(&mut self, function: &ExprPath, ty: &dyn ToTokens) -> TokenStream {
        let name = self.serializer(function, ty);
        quote!(__odm::encode_with::<#ty, #name>)
    }

    /// The type that serializes a value of `ty` as `function` does.
    pub(super) fn serializer(&mut self, function: &ExprPath, ty: &dyn ToTokens) -> Ident {
        let name = format_ident!("{}Codec{}", self.prefix, self.count);
        self.count += 1;
        let declared = match crate::generics::Params::mentions(self.expansion.container.generics, ty) {
            true => self.expansion.declared(TokenStream::new()),
            false => TokenStream::new(),
        };
        let predicates = match declared.is_empty() {
            true => TokenStream::new(),
            false => self.expansion.predicates(TokenStream::new()),
        };
        // The function's span may be that of a macro, in which the names of a plain `quote!` are not known.
        let (value, serializer) = (local("value"), local("serializer"));
        let call = quote_spanned!(function.span()=> #function(#value, #serializer));
        self.declarations.extend(quote! {
            enum #name {}
            impl #declared __odm::SerializeWith<#ty> for #name #predicates {
                fn serialize_with<__S: __odm::Serializer>(
                    #value: &#ty,
                    #serializer: __S,
                ) -> __odm::StdResult<__S::Ok, __S::Error> {
                    #call
                }
            }
        });
        name
    }

    /// The functions that decode a value of `ty` as `function` deserializes it: what is stored, and what people read.
    pub(super) fn decode(&mut self, function: &ExprPath, ty: &dyn ToTokens) -> (TokenStream, TokenStream) {
        let reader = self.reader(function, ty);
        (
            quote!(|value| __odm::read::<#reader>(value).map(|key| key.0)),
            quote!(|value| __odm::parse_shown::<#reader>(value).map(|key| key.0)),
        )
    }

    /// The function that decodes what is stored; none for a type that depends on parameters, of which nobody knows
    /// whether they can be read.
    pub(super) fn read(&mut self, function: &ExprPath, ty: &dyn ToTokens) -> Option<TokenStream> {
        if crate::generics::Params::mentions(self.expansion.container.generics, ty) {
            return None;
        }
        Some(self.decode(function, ty).0)
    }

    fn reader(&mut self, function: &ExprPath, ty: &dyn ToTokens) -> TokenStream {
        let name = format_ident!("{}Reader{}", self.prefix, self.count);
        self.count += 1;
        let mentioned = crate::generics::Params::mentions(self.expansion.container.generics, ty);
        let (args, params, predicates) = match mentioned {
            true => (
                self.expansion.params.args.clone(),
                self.expansion.params.declared.clone(),
                self.expansion.predicates(TokenStream::new()),
            ),
            false => Default::default(),
        };
        let deserializer = local("deserializer");
        let call = quote_spanned!(function.span()=> #function(#deserializer));
        self.declarations.extend(quote! {
            struct #name<#params>(#ty) #predicates;
            impl<'de, #params> __odm::Deserialize<'de> for #name<#args> #predicates {
                fn deserialize<__D: __odm::Deserializer<'de>>(
                    #deserializer: __D,
                ) -> __odm::StdResult<Self, __D::Error> {
                    __odm::StdResult::map(#call, #name)
                }
            }
        });
        quote!(#name<#args>)
    }
}

/// The name of a local variable, the same wherever it is used.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
