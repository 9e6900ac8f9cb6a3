//! From syntax and attributes to [`Container`].

mod kinds;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DataStruct, DeriveInput, Fields, Ident, Visibility};

use crate::attr::{self, IndexKey};
use crate::case::{Case, snake};
use crate::input::*;
use crate::problem::Problems;
use crate::{check, plural, serde_attr};

/// Reads the input. What cannot be read becomes a problem and the nearest thing that can be expanded.
pub(crate) fn resolve<'a>(derive: Derive, input: &'a DeriveInput, problems: &mut Problems) -> Container<'a> {
    let mut odm = attr::OnType::read(derive, &input.attrs, problems);
    let serde = serde_attr::OnType::read(&input.attrs, problems);
    check::generics(&input.generics, problems);
    check::remote(&serde, problems);
    let crate_path = match &odm.crate_path {
        Some(path) => path.to_token_stream(),
        None => quote!(::odm),
    };
    let mut container = Container {
        ident: &input.ident,
        vis: &input.vis,
        generics: &input.generics,
        crate_path,
        shape: Shape::Value,
        model: None,
        validate: None,
        copy: None,
    };
    container.validate.clone_from(&odm.validate);
    let (copy, is_copy) = (odm.copy_of.take(), odm.is_copy);
    match derive {
        Derive::Model if matches!(input.data, Data::Union(_)) => {
            problems.at(
                &input.ident,
                "a model is a struct, and this is a union",
                "use a struct with named fields",
            );
        }
        Derive::Model if matches!(input.data, Data::Enum(_)) => {
            container.model = Some(kinds::model(input, odm, &serde, problems));
            container.shape = match kinds::shape(input, &serde, problems) {
                Some(shape) => shape,
                None => Shape::Fields(Vec::new()),
            };
        }
        Derive::Model => {
            let mut fields = model_fields(input, &serde, problems);
            container.model = Some(model(input, odm, &serde, &mut fields, problems));
            container.shape = Shape::Fields(fields.into_iter().filter_map(|field| field.resolved).collect());
        }
        Derive::Embedded if odm.opaque.is_some() => {}
        Derive::Embedded => container.shape = embedded(input, &serde, problems),
    }
    container.copy = copy;
    check::copy(&mut container, is_copy, problems);
    check::validated_type(&container, problems);
    if input.generics.lifetimes().next().is_some() {
        make_opaque(&mut container.shape);
    }
    container
}

/// Keeps rustc from saying again, field by field, that a borrowed value is no field.
fn make_opaque(shape: &mut Shape<'_>) {
    match shape {
        Shape::Fields(fields) => fields
            .iter_mut()
            .for_each(|field| field.storage = Storage::Opaque),
        shape => *shape = Shape::Value,
    }
}

/// A field with what the model needs to know of it.
struct Declared<'a> {
    field: &'a syn::Field,
    serde: serde_attr::OnField,
    odm: attr::OnField,
    /// None when it is never stored.
    resolved: Option<Field<'a>>,
}

fn model_fields<'a>(
    input: &'a DeriveInput,
    serde: &serde_attr::OnType,
    problems: &mut Problems,
) -> Vec<Declared<'a>> {
    if let Some(proxy) = serde.into.as_ref().or(serde.from.as_ref()) {
        let help = "derive `odm::Model` for the type that is stored, and convert from it where it is used";
        problems.at(
            proxy,
            "a model is stored as its own fields, not as another type",
            help,
        );
    }
    let wrong = match &input.data {
        Data::Struct(DataStruct {
            fields: Fields::Named(fields),
            ..
        }) if !serde.transparent => {
            return declared(
                Derive::Model,
                &fields.named,
                None,
                serde.rename_all.as_ref(),
                problems,
            );
        }
        Data::Struct(DataStruct {
            fields: Fields::Named(_),
            ..
        }) => "a model cannot be transparent",
        _ => "a model is a struct with named fields",
    };
    let help =
        "give it a field for `_id`: `struct Book { #[serde(rename = \"_id\")] id: odm::Id<Book>, .. }`";
    problems.at(&input.ident, wrong, help);
    Vec::new()
}

fn declared<'a>(
    derive: Derive,
    fields: impl IntoIterator<Item = &'a syn::Field>,
    vis: Option<&'a Visibility>,
    rename_all: Option<&serde_attr::Renaming>,
    problems: &mut Problems,
) -> Vec<Declared<'a>> {
    let mut declared = Vec::new();
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let serde = serde_attr::OnField::read(&field.attrs, problems);
        let mut odm = attr::OnField::read(derive, &field.attrs, problems);
        let name = ident.unraw().to_string();
        let stored = match (&serde.rename, rename_all) {
            (Some(text), _) => text.value(),
            (None, Some(renaming)) => renaming.case.field(&name),
            (None, None) => name,
        };
        let skipped =
            serde.skip.is_some() || (serde.skip_serializing.is_some() && serde.skip_deserializing.is_some());
        let storage = match (&serde.codec, serde.flatten, odm.opaque) {
            (_, Some(_), _) => Storage::Flattened,
            (Some(codec), None, _) => {
                let reader = serde.reader.clone();
                Storage::Codec(Box::new(FieldCodec {
                    serialize: codec.clone(),
                    deserialize: reader.filter(|_| serde.skip_deserializing.is_none()),
                }))
            }
            (None, None, Some(_)) => Storage::Opaque,
            (None, None, None) => Storage::Typed,
        };
        check::stored_name(field, ident, &serde, &stored, problems);
        check::attributes_agree(&serde, &odm, skipped, problems);
        if matches!(derive, Derive::Model) && !skipped && stored != "_id" {
            check::written(&serde, problems);
        }
        check::life(&serde, &odm, problems);
        let resolved = (!skipped).then(|| Field {
            ident: ident.clone(),
            vis: vis.unwrap_or(&field.vis),
            ty: &field.ty,
            stored,
            storage,
            read: serde.skip_deserializing.is_none(),
            life: std::mem::take(&mut odm.life),
            copy: odm.copy.take(),
            span: serde.rename.as_ref().map_or(ident.span(), Spanned::span),
        });
        declared.push(Declared {
            field,
            serde,
            odm,
            resolved,
        });
    }
    check::distinct(
        declared.iter().filter_map(|field| field.resolved.as_ref()),
        problems,
    );
    declared
}

fn model<'a>(
    input: &'a DeriveInput,
    odm: attr::OnType,
    serde: &serde_attr::OnType,
    fields: &mut [Declared<'a>],
    problems: &mut Problems,
) -> Model<'a> {
    let collection = collection(input, &odm, problems);
    let stored: Vec<&str> = fields
        .iter()
        .filter_map(|field| Some(field.resolved.as_ref()?.stored.as_str()))
        .collect();
    let kind = odm.schema.kind(&stored, problems);
    let versions = odm.schema.versions(problems);
    if let (Some(span), true) = (serde.deny_unknown_fields, kind.is_some() || versions.is_some()) {
        problems.at_span(
            span,
            "the kind and the schema version are stored in fields that the struct does not have",
            "remove `deny_unknown_fields`",
        );
    }
    if let (Some(span), true) = (serde.deny_unknown_fields, odm.copied_to.is_some()) {
        problems.at_span(
            span,
            "that the copies of a document wait is stored in a field that the struct does not have",
            "remove `deny_unknown_fields`",
        );
    }
    let key = fields
        .iter()
        .find(|field| {
            field
                .resolved
                .as_ref()
                .is_some_and(|resolved| resolved.stored == "_id")
        })
        .and_then(|field| {
            Some(Key {
                ident: field.field.ident.as_ref()?,
                ty: &field.field.ty,
                checked: matches!(field.resolved.as_ref()?.storage, Storage::Typed),
                codec: field.serde.codec.clone(),
                reader: field.serde.reader.clone(),
            })
        });
    if key.is_none() && !fields.is_empty() {
        let all = fields
            .iter()
            .filter_map(|field| Some((field.field.ident.as_ref()?, &field.serde)));
        check::missing_id(&input.ident, serde, all, problems);
    }
    let (mut own, mut indexes) = (Vec::new(), Vec::new());
    for Declared { odm, resolved, .. } in &*fields {
        if let (Some(index), Some(field)) = (&odm.index, resolved) {
            let ident = &field.ident;
            own.push(ModelIndex {
                index: index.with_keys(|key| IndexKey {
                    order: key.order,
                    path: quote!(#ident),
                    weight: key.weight.clone(),
                }),
                checked: matches!(field.storage, Storage::Typed),
            });
        }
    }
    indexes.append(&mut own);
    indexes.extend(
        odm.indexes
            .into_iter()
            .map(|index| ModelIndex { index, checked: true }),
    );
    if kind.is_none() {
        for span in indexes.iter().filter_map(|index| index.index.all_kinds) {
            problems.at_span(
                span,
                "an index of all kinds on a model that is none of several",
                "say which kind the documents are: `kind = \"cat\"`, or remove `all_kinds`",
            );
        }
    }
    let (mut inverses, mut reference_keys, mut rules) = (Vec::new(), Vec::new(), Vec::new());
    for declared in fields.iter_mut() {
        let Some(resolved) = &declared.resolved else {
            continue;
        };
        check::relation(&declared.odm, &resolved.storage, problems);
        check::rules(&declared.odm, resolved, &input.generics, problems);
        let Some(field) = &declared.field.ident else {
            continue;
        };
        let ty = &declared.field.ty;
        inverses.extend(declared.odm.inverse.take().map(|inverse| ModelInverse {
            path: field.to_token_stream(),
            ty,
            inverse,
        }));
        let (on_delete, two_way) = (declared.odm.on_delete.take(), declared.odm.two_way.take());
        if on_delete.is_some() || two_way.is_some() {
            rules.push(ModelRule {
                field,
                on_delete,
                two_way,
            });
        }
        reference_keys.extend(declared.odm.key.take().map(|name| ReferenceKey {
            name,
            field,
            ty,
            stored: resolved.stored.clone(),
        }));
    }
    check::references(&odm.references, &input.generics, problems);
    check::roles(
        fields.iter().filter_map(|field| field.resolved.as_ref()),
        problems,
    );
    Model {
        collection,
        key,
        indexes,
        inverses,
        reference_keys,
        rules,
        references: odm.references,
        referred_by: odm.referred_by.unwrap_or_default(),
        copied_to: odm.copied_to.unwrap_or_default(),
        hooks: odm.hooks,
        kind,
        versions,
        denies_unknown_fields: serde.deny_unknown_fields.is_some(),
        options: odm.schema.options,
        scope: odm.schema.scope,
        tag: None,
    }
}

/// The name that is given, or that follows from the type's.
fn collection(input: &DeriveInput, odm: &attr::OnType, problems: &mut Problems) -> String {
    match &odm.collection {
        Some(name) => {
            check::collection(name, problems);
            name.value()
        }
        None => plural::collection(&input.ident.unraw().to_string()),
    }
}

fn embedded<'a>(input: &'a DeriveInput, serde: &serde_attr::OnType, problems: &mut Problems) -> Shape<'a> {
    if let Some(shape) = check::proxy(serde, problems) {
        return shape;
    }
    match &input.data {
        Data::Struct(data) => embedded_struct(input, data, serde, problems),
        Data::Enum(data) => embedded_enum(input, data, serde, problems),
        Data::Union(_) => {
            problems.at(&input.ident, "a union cannot be stored", "use an enum");
            Shape::Value
        }
    }
}

fn embedded_struct<'a>(
    input: &'a DeriveInput,
    data: &'a DataStruct,
    serde: &serde_attr::OnType,
    problems: &mut Problems,
) -> Shape<'a> {
    match &data.fields {
        Fields::Named(fields) if !serde.transparent => {
            let fields = declared(
                Derive::Embedded,
                &fields.named,
                None,
                serde.rename_all.as_ref(),
                problems,
            );
            Shape::Fields(fields.into_iter().filter_map(|field| field.resolved).collect())
        }
        Fields::Unit => {
            let help = "give it fields, or leave the field of this type out";
            problems.at(&input.ident, "a struct without fields has nothing to store", help);
            Shape::Value
        }
        fields if serde.transparent || fields.len() == 1 => {
            let mut inner = None;
            for field in fields {
                let serde = serde_attr::OnField::read(&field.attrs, problems);
                let odm = attr::OnField::read(Derive::Embedded, &field.attrs, problems);
                check::unnamed(&odm, problems);
                if serde.skip.is_none() && inner.is_none() {
                    inner = Some((field, serde, odm));
                }
            }
            match inner {
                Some((field, serde, odm)) if serde.codec.is_none() && odm.opaque.is_none() => {
                    Shape::Newtype(field.ty.to_token_stream())
                }
                _ => Shape::Value,
            }
        }
        _ => Shape::Value,
    }
}

fn embedded_enum<'a>(
    input: &'a DeriveInput,
    data: &'a DataEnum,
    serde: &serde_attr::OnType,
    problems: &mut Problems,
) -> Shape<'a> {
    let tagging = match (serde.untagged, &serde.tag, &serde.content) {
        (true, _, _) => Tagging::Untagged,
        (false, Some(tag), Some(content)) => Tagging::Adjacent {
            tag: tag.value(),
            content: content.value(),
        },
        (false, Some(tag), None) => Tagging::Internal { tag: tag.value() },
        (false, None, _) => Tagging::External,
    };
    check::tagging(serde, problems);
    let without_data = data
        .variants
        .iter()
        .all(|variant| matches!(variant.fields, Fields::Unit));
    let mut variants: Vec<Variant<'a>> = Vec::new();
    for variant in &data.variants {
        attr::none_on_variant(&variant.attrs, problems);
        let on_variant = serde_attr::OnVariant::read(&variant.attrs, problems);
        if on_variant.skip || (on_variant.other && !without_data) {
            continue;
        }
        let name = variant.ident.unraw().to_string();
        let stored = match (&on_variant.rename, &serde.rename_all) {
            (Some(text), _) => text.value(),
            (None, Some(renaming)) => renaming.case.variant(&name),
            (None, None) => name.clone(),
        };
        let renaming = on_variant
            .rename_all
            .as_ref()
            .or(serde.rename_all_fields.as_ref());
        let handle = handle_name(&snake(&name), variant.ident.span());
        if let Some(other) = variants.iter().find(|other| other.handle == handle) {
            let wrong = format!(
                "`{}` and `{name}` have the same name in snake case, `{handle}`",
                other.ident
            );
            problems.at(
                &variant.ident,
                wrong,
                "rename one, and keep its stored name by `#[serde(rename = \"..\")]`",
            );
            continue;
        }
        check::distinct_variant(&variants, &variant.ident, &stored, &tagging, problems);
        let resolved = Variant {
            handle,
            ident: &variant.ident,
            stored,
            untagged: on_variant.untagged,
            content: content(input, variant, on_variant.codec, renaming, problems),
        };
        check::variant_name(&resolved, on_variant.rename.as_ref(), &tagging, problems);
        variants.push(resolved);
    }
    match tagging {
        Tagging::External if without_data => {
            Shape::Newtype(quote_spanned!(Span::mixed_site()=> __odm::String))
        }
        Tagging::Untagged if without_data => Shape::Value,
        tagging => Shape::Enum { tagging, variants },
    }
}

fn content<'a>(
    input: &'a DeriveInput,
    variant: &'a syn::Variant,
    codec: Option<syn::ExprPath>,
    renaming: Option<&serde_attr::Renaming>,
    problems: &mut Problems,
) -> Content<'a> {
    match &variant.fields {
        Fields::Unit => Content::Nothing,
        Fields::Named(fields) => {
            let fields = declared(
                Derive::Embedded,
                &fields.named,
                Some(&input.vis),
                renaming,
                problems,
            );
            Content::Fields(fields.into_iter().filter_map(|field| field.resolved).collect())
        }
        Fields::Unnamed(fields) => {
            let mut stored = Vec::new();
            for field in &fields.unnamed {
                let serde = serde_attr::OnField::read(&field.attrs, problems);
                let odm = attr::OnField::read(Derive::Embedded, &field.attrs, problems);
                check::unnamed(&odm, problems);
                stored.push((
                    field.ty.to_token_stream(),
                    serde.codec.or_else(|| codec.clone()),
                    odm.opaque,
                ));
            }
            match <[_; 1]>::try_from(stored) {
                Ok([(ty, Some(serialize), _)]) => {
                    let codec = FieldCodec {
                        serialize,
                        deserialize: None,
                    };
                    Content::One(ty, Storage::Codec(Box::new(codec)))
                }
                Ok([(ty, None, Some(_))]) => Content::One(ty, Storage::Opaque),
                Ok([(ty, None, None)]) => Content::One(ty, Storage::Typed),
                Err(stored) => {
                    let types: TokenStream = stored.into_iter().map(|(ty, ..)| quote!(#ty,)).collect();
                    Content::One(quote!((#types)), Storage::Opaque)
                }
            }
        }
    }
}

/// The name as an identifier: raw if it is a keyword, with `_` after it if it cannot be raw.
pub(crate) fn handle_name(name: &str, span: Span) -> Ident {
    match name {
        "self" | "super" | "crate" => Ident::new(&format!("{name}_"), span),
        _ if syn::parse_str::<Ident>(name).is_ok() => Ident::new(name, span),
        _ => Ident::new_raw(name, span),
    }
}

impl serde_attr::Renaming {
    /// What becomes of `_id`.
    pub(crate) fn id(&self) -> String {
        Case::field(self.case, "_id")
    }
}
