//! What a type declares of its values, and a model of the life of its documents.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::Expansion;
use super::codec::Codecs;
use crate::attr::lifecycle::{Kind, Role, Rule};
use crate::input::{Container, Content, Field, Shape, Storage, Tagging, Variant};

/// The body of `FieldType`'s `declared`, where there is something to say.
pub(super) fn declared(container: &Container<'_>, this: &TokenStream) -> TokenStream {
    let declared = match &container.shape {
        Shape::Fields(all) => {
            let fields = fields(all);
            let document = match &container.validate {
                Some(function) => {
                    let check = check(this, function);
                    quote!(__odm::Declared::checked(&[#fields], #check))
                }
                None => quote!(__odm::Declared::document(&[#fields])),
            };
            let copy = container.copy.as_ref();
            let copy = copy.map(|_| quote!(.copy_of(<#this as __odm::CopyOf>::declaration)));
            quote!(#document #copy)
        }
        Shape::Enum { tagging, variants } => match of_variants(tagging, variants) {
            Some(declared) => declared,
            None => return TokenStream::new(),
        },
        Shape::Newtype(inner) => {
            return quote! {
                fn declared() -> &'static __odm::Declared {
                    __odm::probe!(#inner)
                }
            };
        }
        Shape::Value => return TokenStream::new(),
    };
    quote!(const DECLARED: &'static __odm::Declared = &#declared;)
}

fn fields(fields: &[Field<'_>]) -> TokenStream {
    let declared = fields.iter().map(|field| {
        let mut declared = match (&field.storage, field.life.rules.is_empty(), &field.life.save) {
            (Storage::Typed, ..) => {
                let (name, ty) = (&field.stored, field.ty);
                quote!(__odm::declare!(#name, #ty))
            }
            (Storage::Flattened, ..) => {
                let ty = field.ty;
                quote!(__odm::declare!("", #ty))
            }
            (Storage::Opaque | Storage::Codec(..), ..) => {
                let name = &field.stored;
                quote!(__odm::Declare::value(#name))
            }
        };
        if !field.life.rules.is_empty() {
            let rules = rules(&field.life.rules, &field.ty.to_token_stream());
            declared.extend(quote!(.rules(&[#rules])));
        }
        if let Some(save) = &field.life.save {
            let ty = field.ty;
            let way =
                quote_spanned!(save.span().resolved_at(Span::call_site())=> __odm::Save::#save::<#ty>());
            let by_codec = matches!(field.storage, Storage::Codec(_)).then(|| quote!(.by_codec()));
            declared.extend(quote!(.save(#way #by_codec)));
        }
        quote!(#declared,)
    });
    declared.collect()
}

fn of_variants(tagging: &Tagging, variants: &[Variant<'_>]) -> Option<TokenStream> {
    let is_external = matches!(tagging, Tagging::External);
    let declares: TokenStream = variants
        .iter()
        .filter(|variant| !variant.untagged || !is_external)
        .filter_map(|variant| {
            let name = &variant.stored;
            match &variant.content {
                // No tag names it, and any field may be its own.
                _ if variant.untagged => {
                    Some(quote!(__odm::Declare::variant("", __odm::Declared::nothing()),))
                }
                Content::Nothing => None,
                Content::One(ty, Storage::Typed | Storage::Flattened) => {
                    Some(quote!(__odm::declare!(#name, #ty),))
                }
                Content::One(..) if is_external => None,
                Content::One(..) => Some(quote!(__odm::Declare::variant(#name, __odm::Declared::nothing()),)),
                Content::Fields(all) => {
                    let fields = fields(all);
                    Some(quote!(__odm::Declare::variant(#name, &__odm::Declared::document(&[#fields])),))
                }
            }
        })
        .collect();
    if declares.is_empty() {
        return None;
    }
    Some(match tagging {
        Tagging::External => quote!(__odm::Declared::choice(&[#declares])),
        Tagging::Internal { tag } => quote!(__odm::Declared::variants(#tag, "", &[#declares])),
        Tagging::Adjacent { tag, content } => {
            quote!(__odm::Declared::variants(#tag, #content, &[#declares]))
        }
        Tagging::Untagged => return None,
    })
}

fn rules(rules: &[Rule], ty: &TokenStream) -> TokenStream {
    rules.iter().map(|one| rule(one, ty)).collect()
}

fn rule(rule: &Rule, ty: &TokenStream) -> TokenStream {
    let span = rule.span.resolved_at(Span::call_site());
    let bounded = |name: &str, bound: &TokenStream| {
        let name = proc_macro2::Ident::new(name, span);
        quote_spanned!(span=> __odm::Rule::#name::<#ty>(|| __odm::Literal::from(#bound)),)
    };
    let counted = |name: &str, count: &TokenStream| {
        let name = proc_macro2::Ident::new(name, span);
        quote_spanned!(span=> __odm::Rule::#name::<#ty>(#count),)
    };
    match &rule.kind {
        Kind::Min(bound) => bounded("min", bound),
        Kind::Max(bound) => bounded("max", bound),
        Kind::MinLength(length) => counted("min_length", length),
        Kind::MaxLength(length) => counted("max_length", length),
        Kind::MaxItems(items) => counted("max_items", items),
        Kind::Pattern(pattern) => quote_spanned!(span=> __odm::Rule::pattern::<#ty>(#pattern),),
        Kind::Email => quote_spanned!(span=> __odm::Rule::email::<#ty>(),),
        Kind::Url => quote_spanned!(span=> __odm::Rule::url::<#ty>(),),
        Kind::Finite => quote_spanned!(span=> __odm::Rule::finite::<#ty>(),),
        Kind::OneOf(values) => {
            quote_spanned!(span=> __odm::Rule::OneOf(|| __odm::Vec::from([#(__odm::Literal::from(#values)),*])),)
        }
        Kind::Custom(function) => {
            let check = check(ty, function);
            quote_spanned!(span=> __odm::Rule::Custom(#check),)
        }
        Kind::Each(inner) => {
            let inner = rules(inner, &quote!(<#ty as __odm::ArrayType>::Item));
            quote_spanned!(span=> __odm::Rule::each::<#ty>(&[#inner]),)
        }
        Kind::Values(inner) => {
            let inner = rules(inner, &quote!(<#ty as __odm::MapType>::Value));
            quote_spanned!(span=> __odm::Rule::values::<#ty>(&[#inner]),)
        }
    }
}

/// A user's function on a stored value. Called by a closure of its own, so that `&String` may become `&str`.
fn check(ty: &TokenStream, function: &TokenStream) -> TokenStream {
    quote!(|stored| __odm::checked::<#ty, _>(stored, |value| (#function)(value)))
}

/// `.scope(..)`, with the model's own function.
pub(super) fn scope(this: &TokenStream, model: &crate::input::Model<'_>) -> Option<TokenStream> {
    let function = model.scope.as_ref()?;
    let span = syn::spanned::Spanned::span(function).resolved_at(Span::call_site());
    Some(quote_spanned!(span=> .scope(|| __odm::scope_of::<#this>(#function))))
}

/// The constants of `Model`, where there is something to say.
pub(super) fn constants(
    expansion: &Expansion<'_>,
    fields: &[Field<'_>],
    model: &crate::input::Model<'_>,
    codecs: &mut Codecs<'_>,
) -> TokenStream {
    let this = &expansion.this;
    let mut lifecycle = TokenStream::new();
    for field in fields {
        let Some((role, _)) = field.life.role else {
            continue;
        };
        let (name, ty) = (&field.stored, field.ty);
        let method = proc_macro2::Ident::new(role.name(), Span::call_site());
        let span = syn::spanned::Spanned::span(ty).resolved_at(Span::call_site());
        lifecycle.extend(match (role, &field.storage) {
            (Role::Tenant, Storage::Codec(codec)) => {
                let codec = codecs.serializer(&codec.serialize, ty);
                quote_spanned!(span=> .tenant::<#ty>(#name, __odm::tenant_with::<#ty, #codec>))
            }
            (Role::Tenant, Storage::Opaque) => {
                quote_spanned!(span=> .tenant::<#ty>(#name, __odm::tenant_opaque::<#ty>))
            }
            // Refused already.
            (Role::Tenant, Storage::Flattened) => TokenStream::new(),
            (Role::Tenant, Storage::Typed) => {
                quote_spanned!(span=> .tenant::<#ty>(#name, __odm::tenant::<#ty>))
            }
            (Role::Version, _) => quote_spanned!(span=> .version::<#ty>(#name)),
            (_, Storage::Codec(codec)) => {
                let codec = codecs.serializer(&codec.serialize, ty);
                quote_spanned!(span=> .#method(#name, __odm::stamp_with::<#ty, #codec>))
            }
            (Role::SoftDelete, _) => quote_spanned!(span=> .soft_delete(#name, __odm::deletion::<#ty>)),
            _ => quote_spanned!(span=> .#method(#name, __odm::stamp::<#ty>)),
        });
    }
    let mut constants = TokenStream::new();
    lifecycle.extend(model.kind.as_ref().map(crate::attr::schema::Kind::expand));
    lifecycle.extend(model.versions.as_ref().map(crate::attr::schema::Versions::expand));
    lifecycle.extend(scope(this, model));
    if let Some(span) = model.hooks {
        let span = span.resolved_at(Span::call_site());
        lifecycle.extend(quote_spanned!(span=> .hooks(__odm::HookTable::of::<#this>())));
        constants.extend(quote! {
            const AFTER_LOAD: __odm::Option<fn(&mut Self) -> __odm::OdmResult<()>> =
                __odm::Option::Some(<#this as __odm::Hooks>::after_load);
        });
    }
    if !lifecycle.is_empty() {
        constants.extend(quote!(const LIFECYCLE: __odm::Lifecycle = __odm::Lifecycle::NONE #lifecycle;));
    }
    constants
}
