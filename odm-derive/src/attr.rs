//! `#[odm(..)]` as written. The only place that knows its grammar.

mod copies;
pub(crate) mod index;
mod inverse;
pub(crate) mod lifecycle;
mod reference;
mod rules;
pub(crate) mod schema;
mod tokens;

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, LitStr, Path, Token};

pub(crate) use self::copies::{CopyOf, CopyRole};
pub(crate) use self::index::{Index, IndexKey, Order};
pub(crate) use self::inverse::Inverse;
use self::lifecycle::{Life, Role};
pub(crate) use self::reference::NestedReference;
pub(crate) use self::rules::DeleteRule;
use self::schema::Schema;
use crate::input::Derive;
use crate::problem::{Problems, problem, unknown};

/// The attributes of a model.
pub(crate) const ON_MODEL: &[&str] = &[
    "collection",
    "copied_to",
    "crate",
    "hooks",
    "index",
    "kind",
    "migrate",
    "options",
    "reference",
    "referred_by",
    "schema_version",
    "scope",
    "tag",
    "validate",
];
/// The attributes of an embedded type.
pub(crate) const ON_EMBEDDED: &[&str] = &["copy_of", "crate", "opaque", "validate"];
/// The attributes of a model's fields.
pub(crate) const ON_MODEL_FIELD: &[&str] = &[
    "created",
    "index",
    "inverse",
    "key",
    "max",
    "on_delete",
    "opaque",
    "save",
    "soft_delete",
    "tenant",
    "two_way",
    "unique",
    "updated",
    "validate",
    "version",
];
/// The attributes of an embedded type's fields.
pub(crate) const ON_EMBEDDED_FIELD: &[&str] = &[
    "from",
    "max",
    "opaque",
    "own",
    "save",
    "source",
    "source_version",
    "validate",
];

/// What stands on the type.
#[derive(Default)]
pub(crate) struct OnType {
    pub(crate) collection: Option<LitStr>,
    pub(crate) crate_path: Option<Path>,
    pub(crate) opaque: Option<Span>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) validate: Option<TokenStream>,
    pub(crate) hooks: Option<Span>,
    pub(crate) schema: Schema,
    /// The models whose references to this one have rules.
    pub(crate) referred_by: Option<Vec<Path>>,
    /// What is declared of references inside of embedded documents.
    pub(crate) references: Vec<NestedReference>,
    /// The models that hold copies of this one's fields.
    pub(crate) copied_to: Option<Vec<Path>>,
    /// What the type holds copies of.
    pub(crate) copy_of: Option<CopyOf>,
    /// Whether it says so, perhaps wrongly.
    pub(crate) is_copy: bool,
}

/// What stands on a field.
#[derive(Default)]
pub(crate) struct OnField {
    pub(crate) index: Option<Index>,
    pub(crate) opaque: Option<Span>,
    pub(crate) inverse: Option<Inverse>,
    /// What becomes of the document when one that it refers to is deleted.
    pub(crate) on_delete: Option<DeleteRule>,
    /// The field of the other model that refers back.
    pub(crate) two_way: Option<TokenStream>,
    /// The name of the key by which references to the model hold this field.
    pub(crate) key: Option<Ident>,
    /// What a field of a copy is.
    pub(crate) copy: Option<(CopyRole, Span)>,
    pub(crate) life: Life,
}

/// What stands on an enum of references.
#[derive(Default)]
pub(crate) struct OnReference {
    pub(crate) crate_path: Option<Path>,
    pub(crate) document: Option<Ident>,
}

impl OnType {
    pub(crate) fn read(derive: Derive, attrs: &[Attribute], problems: &mut Problems) -> OnType {
        let mut on_type = OnType::default();
        each_key(attrs, problems, |key, meta| {
            match (derive, key) {
                (Derive::Model, "collection") => once(&mut on_type.collection, meta, key, string)?,
                (_, "crate") => once(&mut on_type.crate_path, meta, key, |meta| meta.value()?.parse())?,
                (Derive::Model, "index") => on_type.indexes.push(Index::on_type(meta)?),
                (_, "validate") => once(&mut on_type.validate, meta, key, |meta| {
                    lifecycle::value(meta, "path::to::function")
                })?,
                (Derive::Model, "referred_by") => {
                    once(&mut on_type.referred_by, meta, key, rules::referring)?
                }
                (Derive::Model, "reference") => on_type.references.push(NestedReference::read(meta)?),
                (Derive::Embedded, "reference") => {
                    return Err(problem(
                        meta.path.span(),
                        "references are declared by the documents of a collection, and this is nested in one",
                        "put `reference` on each model that holds this type, with the path from there",
                    ));
                }
                (Derive::Model, "copied_to") => once(&mut on_type.copied_to, meta, key, rules::holding)?,
                (Derive::Embedded, "copied_to") => {
                    return Err(problem(
                        meta.path.span(),
                        "what is copied is a document of a collection, and this is nested in one",
                        "put `copied_to` on the model whose fields are copied",
                    ));
                }
                (Derive::Embedded, "copy_of") => {
                    on_type.is_copy = true;
                    once(&mut on_type.copy_of, meta, key, CopyOf::read)?;
                }
                (Derive::Model, "copy_of") => {
                    return Err(problem(
                        meta.path.span(),
                        "a copy is nested in the documents that hold it, and this is a document of a collection",
                        "derive `odm::Embedded` for a type of the copied fields, and hold it in a field",
                    ));
                }
                (Derive::Embedded, "referred_by") => {
                    return Err(problem(
                        meta.path.span(),
                        "nothing refers to an embedded document",
                        "put `referred_by` on the model that is referred to",
                    ));
                }
                (Derive::Model, "hooks") => once(&mut on_type.hooks, meta, key, |meta| Ok(meta.path.span()))?,
                (Derive::Model, "kind" | "migrate" | "options" | "schema_version" | "scope" | "tag") => {
                    on_type.schema.read(key, meta)?
                }
                (Derive::Embedded, "kind" | "migrate" | "options" | "schema_version" | "scope" | "tag") => {
                    return Err(problem(
                        meta.path.span(),
                        format_args!(
                            "`{key}` is about documents of a collection, and this is nested in them"
                        ),
                        "put it on the models that hold it",
                    ));
                }
                (Derive::Embedded, "hooks") => {
                    return Err(problem(
                        meta.path.span(),
                        "hooks belong to documents of a collection, and this is nested in them",
                        "put `hooks` on the models that hold it",
                    ));
                }
                (Derive::Embedded, "opaque") => {
                    once(&mut on_type.opaque, meta, key, |meta| Ok(meta.path.span()))?
                }
                (Derive::Embedded, "index") => {
                    return Err(problem(
                        meta.path.span(),
                        "indexes belong to collections, and this is not one",
                        "declare it on each model that holds this type: `#[odm(index(keys(field.of_this_type)))]`",
                    ));
                }
                (Derive::Embedded, "collection") => {
                    return Err(problem(
                        meta.path.span(),
                        "an embedded document has no collection",
                        "derive `odm::Model` for documents of a collection",
                    ));
                }
                (Derive::Model, _) => {
                    return Err(unknown(meta.path.span(), "attribute", key, ON_MODEL));
                }
                (Derive::Embedded, _) => {
                    return Err(unknown(meta.path.span(), "attribute", key, ON_EMBEDDED));
                }
            }
            Ok(())
        });
        on_type
    }
}

impl OnField {
    pub(crate) fn read(derive: Derive, attrs: &[Attribute], problems: &mut Problems) -> OnField {
        let mut on_field = OnField::default();
        each_key(attrs, problems, |key, meta| {
            match (derive, key) {
                (_, "opaque") => once(&mut on_field.opaque, meta, key, |meta| Ok(meta.path.span()))?,
                (_, "validate") => on_field.life.validate(meta)?,
                (_, "max") => on_field.life.max(meta)?,
                (_, "save") => on_field.life.save(meta)?,
                (Derive::Model, "created" | "updated" | "version" | "soft_delete" | "tenant") => {
                    if let Some(role) = Role::parse(key) {
                        on_field.life.role(role, meta)?;
                    }
                }
                (Derive::Embedded, "created" | "updated" | "version" | "soft_delete" | "tenant") => {
                    return Err(problem(
                        meta.path.span(),
                        format_args!(
                            "`{key}` is about a document of a collection, and this is nested in one"
                        ),
                        "put it on a field of each model that holds this type",
                    ));
                }
                (Derive::Embedded, "source" | "source_version" | "from" | "own") => {
                    CopyRole::read(&mut on_field.copy, key, meta)?;
                }
                (Derive::Model, "source" | "source_version" | "from" | "own") => {
                    return Err(problem(
                        meta.path.span(),
                        format_args!("`{key}` is about a field of a copy, and this is a field of a model"),
                        "put it into a type of its own: `#[derive(odm::Embedded)] #[odm(copy_of(Source))]`",
                    ));
                }
                (Derive::Model, "index" | "unique") => {
                    let index = Index::on_field(meta, key == "unique")?;
                    if on_field.index.is_some() {
                        return Err(problem(
                            meta.path.span(),
                            "this field has an index already",
                            "say it once: `index(unique, desc)`; more indexes go on the struct: `index(keys(field), ..)`",
                        ));
                    }
                    on_field.index = Some(index);
                }
                (Derive::Model, "inverse") => once(&mut on_field.inverse, meta, key, Inverse::read)?,
                (Derive::Model, "on_delete") => once(&mut on_field.on_delete, meta, key, DeleteRule::read)?,
                (Derive::Model, "two_way") => once(&mut on_field.two_way, meta, key, rules::partner)?,
                (Derive::Model, "key") => once(&mut on_field.key, meta, key, |meta| meta.value()?.parse())?,
                (Derive::Embedded, "on_delete" | "two_way") => {
                    return Err(problem(
                        meta.path.span(),
                        format_args!(
                            "`{key}` is declared on the field of a model, and this is an embedded document"
                        ),
                        "declare it on each model that holds this type: `#[odm(reference(field.of_this_type: Ref<T>, on_delete = ..))]`",
                    ));
                }
                (Derive::Embedded, "inverse" | "key") => {
                    return Err(problem(
                        meta.path.span(),
                        format_args!(
                            "`{key}` is declared on the field of a model, and this is an embedded document"
                        ),
                        "declare it on each model that holds this type: `#[odm(reference(items.any().product: Ref<Product>, inverse = by_product))]`",
                    ));
                }
                (Derive::Embedded, "index" | "unique") => {
                    return Err(problem(
                        meta.path.span(),
                        "indexes belong to collections, and this is a field of an embedded document",
                        "declare it on each model that holds the document: `#[odm(index(keys(document.field)))]`",
                    ));
                }
                (Derive::Model, _) => {
                    return Err(unknown(meta.path.span(), "attribute", key, ON_MODEL_FIELD));
                }
                (Derive::Embedded, _) => {
                    return Err(unknown(meta.path.span(), "attribute", key, ON_EMBEDDED_FIELD));
                }
            }
            Ok(())
        });
        on_field
    }
}

impl OnReference {
    pub(crate) fn read(attrs: &[Attribute], problems: &mut Problems) -> OnReference {
        let mut on_type = OnReference::default();
        each_key(attrs, problems, |key, meta| match key {
            "crate" => once(&mut on_type.crate_path, meta, key, |meta| meta.value()?.parse()),
            "document" => once(&mut on_type.document, meta, key, |meta| meta.value()?.parse()),
            _ => Err(unknown(
                meta.path.span(),
                "attribute",
                key,
                &["crate", "document"],
            )),
        });
        on_type
    }
}

/// Variants take no attributes of ours.
pub(crate) fn none_on_variant(attrs: &[Attribute], problems: &mut Problems) {
    each_key(attrs, problems, |key, meta| {
        Err(problem(
            meta.path.span(),
            format_args!("`{key}` cannot stand on a variant"),
            "variants take no `#[odm(..)]` attributes; their fields do",
        ))
    });
}

/// Calls `read` for each key of each `#[odm(..)]`. After a problem with a key its value is skipped, so that the
/// keys after it are read too.
fn each_key(
    attrs: &[Attribute],
    problems: &mut Problems,
    mut read: impl FnMut(&str, &ParseNestedMeta<'_>) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("odm")) {
        let result = attr.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let result = read(&key, &meta);
            if let Err(error) = result {
                problems.push(error);
                tokens::until_comma(meta.input)?;
            }
            Ok(())
        });
        problems.take(result);
    }
}

fn once<T>(
    slot: &mut Option<T>,
    meta: &ParseNestedMeta<'_>,
    key: &str,
    read: impl FnOnce(&ParseNestedMeta<'_>) -> syn::Result<T>,
) -> syn::Result<()> {
    let value = read(meta)?;
    if slot.is_some() {
        return Err(problem(
            meta.path.span(),
            format_args!("duplicate attribute `{key}`"),
            "give it once",
        ));
    }
    *slot = Some(value);
    Ok(())
}

fn flag(slot: &mut bool, meta: &ParseNestedMeta<'_>, key: &str) -> syn::Result<()> {
    let mut given = slot.then_some(());
    once(&mut given, meta, key, |_| Ok(()))?;
    *slot = true;
    Ok(())
}

fn string(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    if !meta.input.peek(Token![=]) {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        return Err(problem(
            meta.path.span(),
            format_args!("`{key}` needs a value"),
            format_args!("`{key} = \"..\"`"),
        ));
    }
    meta.value()?.parse()
}
