//! A model that is an enum: the kinds of documents of one collection.

use syn::{Data, DeriveInput, LitStr};

use crate::attr;
use crate::input::{Content, Model, Shape, Storage, Tagging};
use crate::problem::Problems;
use crate::serde_attr;

/// What the enum says; what its kinds say of themselves is not for it to say.
pub(super) fn model<'a>(
    input: &'a DeriveInput,
    odm: attr::OnType,
    serde: &serde_attr::OnType,
    problems: &mut Problems,
) -> Model<'a> {
    let help = "put it on the models that the variants hold";
    if let Some(span) = odm.hooks.or(odm.schema.span()) {
        problems.at_span(
            span,
            "an enum has the hooks, kinds and versions of its variants",
            help,
        );
    }
    if let Some(holder) = odm.copied_to.iter().flatten().next() {
        problems.at(
            holder,
            "an enum has no fields that could be copied",
            "put `copied_to` on the models that the variants hold",
        );
    }
    if !odm.indexes.is_empty() {
        problems.at(
            &input.ident,
            "an enum has the indexes of its variants, and declares none of its own",
            help,
        );
    }
    if let Some(reference) = odm.references.first() {
        problems.at(
            &reference.path,
            "an enum has the references of its variants, and declares none of its own",
            help,
        );
    }
    if !input.generics.params.is_empty() {
        problems.at(
            &input.generics,
            "an enum of models has no parameters",
            "name the models that it holds",
        );
    }
    Model {
        collection: super::collection(input, &odm, problems),
        key: None,
        indexes: Vec::new(),
        inverses: Vec::new(),
        reference_keys: Vec::new(),
        rules: Vec::new(),
        references: Vec::new(),
        referred_by: odm.referred_by.unwrap_or_default(),
        copied_to: Vec::new(),
        hooks: None,
        kind: None,
        versions: None,
        denies_unknown_fields: false,
        options: odm.schema.options,
        scope: odm.schema.scope,
        tag: serde.tag.as_ref().map(LitStr::value),
    }
}

/// The variants; `None` after a problem.
pub(super) fn shape<'a>(
    input: &'a DeriveInput,
    serde: &serde_attr::OnType,
    problems: &mut Problems,
) -> Option<Shape<'a>> {
    let Data::Enum(data) = &input.data else {
        return None;
    };
    let help = "`#[serde(tag = \"kind\")] enum Animal { Cat(Cat), Dog(Dog) }` of models that share the collection; an \
                enum inside of one model derives `odm::Embedded`, and `#[serde(flatten)]` keeps its fields beside the \
                model's";
    let is_tagged = serde.tag.is_some() && serde.content.is_none() && !serde.untagged;
    if !is_tagged || serde.into.is_some() || serde.from.is_some() {
        problems.at(
            &input.ident,
            "a model that is an enum needs a tag beside its fields",
            help,
        );
        return None;
    }
    let shape = super::embedded_enum(input, data, serde, problems);
    let Shape::Enum {
        tagging: Tagging::Internal { .. },
        variants,
    } = &shape
    else {
        problems.at(&input.ident, "a model that is an enum holds other models", help);
        return None;
    };
    let mut is_right = !variants.is_empty();
    // Those that are skipped, and `#[serde(other)]`.
    let left_out = data
        .variants
        .iter()
        .filter(|variant| matches!(variant.fields, syn::Fields::Unit))
        .filter(|variant| variants.iter().all(|taken| taken.ident != &variant.ident));
    for variant in left_out {
        problems.at(
            &variant.ident,
            "a kind without a model could not be written back",
            "leave the variant out, without `#[serde(other)]` or `#[serde(skip)]`: documents of other kinds are read by \
             `raw()`",
        );
        is_right = false;
    }
    for variant in variants {
        if variant.untagged {
            problems.at_span(
                variant.ident.span(),
                "a kind of documents is told by its tag, and `#[serde(untagged)]` has none",
                "leave it out: documents without the tag are those of a model of their own, or read by `raw()`",
            );
            is_right = false;
        } else if !matches!(variant.content, Content::One(_, Storage::Typed)) {
            problems.at_span(variant.ident.span(), "each variant holds one model", help);
            is_right = false;
        }
    }
    is_right.then_some(shape)
}
