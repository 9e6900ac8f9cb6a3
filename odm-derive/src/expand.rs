//! From [`Container`] to tokens. Cannot fail.
//!
//! The fields struct stands beside the type, so that it can be named; everything else is inside `const _`. Names
//! that are not the user's are reached through `__odm`, an import of the private module of `odm` inside that block.

mod codec;
mod copies;
mod fields;
mod lifecycle;
mod model;
mod relations;
mod variants;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;

use self::codec::Codecs;
use crate::generics::Params;
use crate::input::{Container, Content, Field, Shape, Storage};

pub(crate) fn expand(container: &Container<'_>) -> TokenStream {
    let expansion = Expansion::new(container);
    let krate = &container.crate_path;
    let mut outside = TokenStream::new();
    let inside = match &container.shape {
        Shape::Fields(fields) => {
            let name = expansion.fields_name("");
            outside.extend(fields::declaration(&expansion, &name, fields));
            let implementation = fields::implementation(&expansion, &name, fields);
            let embedded = expansion.embedded(&name);
            let copy = copies::implementation(&expansion, fields);
            outside.extend(
                container
                    .model
                    .as_ref()
                    .map(|model| relations::declarations(&expansion, model)),
            );
            let model = container
                .model
                .as_ref()
                .map(|model| model::implementation(&expansion, model, fields));
            quote!(#implementation #embedded #copy #model)
        }
        Shape::Enum { tagging, variants } => {
            let name = expansion.fields_name("");
            outside.extend(variants::declarations(&expansion, &name, tagging, variants));
            let implementation = variants::implementations(&expansion, &name, tagging, variants);
            let embedded = expansion.embedded(&name);
            let model = container
                .model
                .as_ref()
                .map(|model| model::of_kinds(&expansion, model, variants));
            quote!(#implementation #embedded #model)
        }
        Shape::Newtype(inner) => expansion.newtype(inner),
        Shape::Value => {
            let (value, id_type) = (expansion.value(), expansion.id_type());
            quote!(#value #id_type)
        }
    };
    quote! {
        #outside
        const _: () = {
            use #krate::__private as __odm;
            #inside
        };
    }
}

/// What all parts of the expansion need.
struct Expansion<'a> {
    container: &'a Container<'a>,
    params: Params,
    /// The type with its arguments.
    this: TokenStream,
    /// `#krate::__private`, for what stands outside of the block.
    odm: TokenStream,
}

impl<'a> Expansion<'a> {
    fn new(container: &'a Container<'a>) -> Expansion<'a> {
        let (ident, krate) = (container.ident, &container.crate_path);
        let odm = quote!(#krate::__private);
        let types = typed(&container.shape);
        let params = Params::new(container.generics, types.iter().copied(), &odm);
        let args = &params.args;
        let this = match params.any {
            true => quote!(#ident<#args>),
            false => quote!(#ident),
        };
        Expansion {
            container,
            params,
            this,
            odm,
        }
    }

    /// `BookFields`, `ContactEmailFields`.
    fn fields_name(&self, variant: &str) -> Ident {
        format_ident!(
            "{}{}Fields",
            self.container.ident.unraw(),
            variant,
            span = Span::call_site()
        )
    }

    /// `<T, extra>`, or nothing.
    fn declared(&self, extra: TokenStream) -> TokenStream {
        let declared = &self.params.declared;
        match self.params.any || !extra.is_empty() {
            true => quote!(<#declared #extra>),
            false => TokenStream::new(),
        }
    }

    /// The predicates with more of them, or nothing.
    fn predicates(&self, extra: TokenStream) -> TokenStream {
        let predicates = &self.params.predicates;
        match predicates.is_empty() && extra.is_empty() {
            true => TokenStream::new(),
            false => quote!(where #predicates #extra),
        }
    }

    /// [`predicates`](Expansion::predicates), and that serde knows the type, which for a type with parameters does
    /// not follow from the derive.
    fn stored(&self, extra: TokenStream) -> TokenStream {
        let this = &self.this;
        match self.params.any {
            true => self.predicates(quote!(#this: __odm::Stored, #extra)),
            false => self.predicates(extra),
        }
    }

    fn embedded(&self, name: &Ident) -> TokenStream {
        let (this, args) = (&self.this, &self.params.args);
        let (declared, predicates, stored) = (
            self.declared(TokenStream::new()),
            self.predicates(TokenStream::new()),
            self.stored(TokenStream::new()),
        );
        let id_type = self.container.model.is_none().then(|| self.id_type());
        let life = lifecycle::declared(self.container, this);
        quote! {
            impl #declared __odm::FieldType for #this #predicates {
                type Handle<__R> = #name<#args __R>;
                type Optional<__R> = #name<#args __R, __odm::Option<#this>>;
                #life
            }
            impl #declared __odm::Embedded for #this #stored {
                type Fields<__R> = #name<#args __R>;
            }
            #id_type
        }
    }

    /// What is not a model, and not known to be an array, can be an `_id`.
    fn id_type(&self) -> TokenStream {
        let this = &self.this;
        let (declared, predicates) = (
            self.declared(TokenStream::new()),
            self.predicates(TokenStream::new()),
        );
        quote!(impl #declared __odm::IdType for #this #predicates {})
    }

    fn newtype(&self, inner: &TokenStream) -> TokenStream {
        let this = &self.this;
        let value = self.value();
        let (declared, predicates) = (
            self.declared(TokenStream::new()),
            self.predicates(TokenStream::new()),
        );
        quote! {
            #value
            impl #declared __odm::Newtype for #this #predicates {
                type Inner = #inner;
            }
        }
    }

    fn value(&self) -> TokenStream {
        let this = &self.this;
        let life = lifecycle::declared(self.container, this);
        let (declared, predicates) = (
            self.declared(TokenStream::new()),
            self.predicates(TokenStream::new()),
        );
        quote! {
            impl #declared __odm::FieldType for #this #predicates {
                type Handle<__R> = __odm::Field<__R, #this>;
                type Optional<__R> = __odm::Field<__R, __odm::Option<#this>>;
                #life
            }
        }
    }
}

/// The types that have typed handles, and so must be field types.
fn typed<'a>(shape: &'a Shape<'_>) -> Vec<&'a dyn quote::ToTokens> {
    fn of<'a>(fields: &'a [Field<'_>], types: &mut Vec<&'a dyn quote::ToTokens>) {
        for field in fields {
            if let Storage::Typed | Storage::Flattened = field.storage {
                types.push(field.ty);
            }
        }
    }
    let mut types: Vec<&dyn quote::ToTokens> = Vec::new();
    match shape {
        Shape::Fields(fields) => of(fields, &mut types),
        Shape::Enum { variants, .. } => {
            for variant in variants {
                match &variant.content {
                    Content::Fields(fields) => of(fields, &mut types),
                    Content::One(ty, Storage::Typed | Storage::Flattened) => types.push(ty),
                    Content::One(..) | Content::Nothing => {}
                }
            }
        }
        Shape::Newtype(_) | Shape::Value => {}
    }
    types
}

/// The handle's type of what is stored so. `odm` is the path of the private module where it is used.
fn handle_type(ty: &dyn quote::ToTokens, span: Span, storage: &Storage, odm: &TokenStream) -> TokenStream {
    match storage {
        Storage::Typed | Storage::Flattened => {
            let odm = located(odm, span);
            quote::quote_spanned!(span.resolved_at(Span::call_site())=> #odm::At<#ty, __R>)
        }
        Storage::Opaque | Storage::Codec(..) => quote!(#odm::Field<__R, #ty>),
    }
}

/// The tokens, which mean the same, as if they stood at `span`: rustc reports there what is wrong with them.
fn located(tokens: &TokenStream, span: Span) -> TokenStream {
    let tokens = tokens.clone().into_iter().map(|mut token| {
        token.set_span(token.span().located_at(span));
        token
    });
    tokens.collect()
}

/// Makes the handle of what is stored so under `name`.
fn handle(
    ty: &dyn quote::ToTokens,
    storage: &Storage,
    base: &TokenStream,
    name: &str,
    codecs: &mut Codecs<'_>,
) -> TokenStream {
    match storage {
        Storage::Typed | Storage::Opaque => quote!(__odm::at(&#base, #name)),
        Storage::Flattened => quote!(__odm::Handle::at(#base.path())),
        Storage::Codec(codec) => {
            let reader = codec.deserialize.as_ref();
            let codec = codecs.encode(&codec.serialize, ty);
            let reader = reader.and_then(|reader| codecs.read(reader, ty));
            let reading = reader.map(|reader| quote!(.reading(#reader)));
            quote!(__odm::Field::with_codec(#base.child(#name), #codec) #reading)
        }
    }
}
