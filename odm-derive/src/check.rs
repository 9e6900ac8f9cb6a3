//! The rules that hold for what serde and `#[odm(..)]` say together.

use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{GenericParam, Generics, Ident, LitStr};

use crate::attr::lifecycle::Role;
use crate::attr::{self, CopyRole, NestedReference};
use crate::input::{Container, Content, Field, Shape, Storage, Tagging, Variant};
use crate::problem::Problems;
use crate::serde_attr;

/// Documents own what they hold.
pub(crate) fn generics(generics: &Generics, problems: &mut Problems) {
    for param in &generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            let help = "hold owned values: `String` for `&str`, `Vec<T>` for `&[T]`";
            problems.at(&lifetime.lifetime, "a stored type cannot borrow", help);
        }
    }
}

pub(crate) fn remote(serde: &serde_attr::OnType, problems: &mut Problems) {
    if let Some(span) = serde.remote {
        let help =
            "derive `odm::Embedded` for a newtype of the remote type, with `#[serde(with = \"..\")]` inside";
        problems.at_span(span, "a remote derive has no values of its own to store", help);
    }
}

/// `into` and `from` store another type in place of this one.
pub(crate) fn proxy<'a>(serde: &serde_attr::OnType, problems: &mut Problems) -> Option<Shape<'a>> {
    match (&serde.into, &serde.from) {
        (None, None) => None,
        (Some(into), Some(from)) if quote!(#into).to_string() == quote!(#from).to_string() => {
            Some(Shape::Newtype(quote!(#into)))
        }
        (Some(one), _) | (None, Some(one)) => {
            let help = format!("`#[serde(from = \"{0}\", into = \"{0}\")]`", quote!(#one));
            problems.at(one, "what is written as one type must be read as the same", help);
            Some(Shape::Value)
        }
    }
}

/// A stored name must be one segment of a path.
pub(crate) fn stored_name(
    field: &syn::Field,
    ident: &Ident,
    serde: &serde_attr::OnField,
    stored: &str,
    problems: &mut Problems,
) {
    let Some(wrong) = no_segment(stored) else { return };
    let help = "choose another name in `#[serde(rename = \"..\")]`";
    match &serde.rename {
        Some(text) => problems.at(text, wrong, help),
        None => problems.at(field.ident.as_ref().unwrap_or(ident), wrong, help),
    }
}

/// Why a name cannot be one segment of a path.
fn no_segment(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("a stored name cannot be empty"),
        name if name.contains('\0') => Some("a stored name cannot hold a NUL"),
        name if name.contains('.') => {
            Some("a stored name cannot hold a `.`, which separates the names of a path")
        }
        name if name.starts_with('$') => {
            Some("a stored name cannot start with `$`, which starts MongoDB's operators")
        }
        _ => None,
    }
}

/// The fields that hold the name of a variant and what is in it.
pub(crate) fn tagging(serde: &serde_attr::OnType, problems: &mut Problems) {
    for (key, name) in [("tag", &serde.tag), ("content", &serde.content)] {
        if let Some((name, wrong)) = name
            .as_ref()
            .and_then(|name| Some((name, no_segment(&name.value())?)))
        {
            let help = format!("choose another name in `#[serde({key} = \"..\")]`");
            problems.at(name, wrong, help);
        }
    }
}

/// The name of a variant, where it is the field that holds what is in the variant.
pub(crate) fn variant_name(
    variant: &Variant<'_>,
    rename: Option<&LitStr>,
    tagging: &Tagging,
    problems: &mut Problems,
) {
    let is_field = matches!(tagging, Tagging::External)
        && !variant.untagged
        && !matches!(variant.content, Content::Nothing);
    let Some(wrong) = no_segment(&variant.stored).filter(|_| is_field) else {
        return;
    };
    let help = "choose another name in `#[serde(rename = \"..\")]`, or a `#[serde(tag = \"..\")]` on the enum, by which names \
                are values and may be any";
    match rename {
        Some(text) => problems.at(text, wrong, help),
        None => problems.at(variant.ident, wrong, help),
    }
}

/// Attributes that make each other meaningless.
pub(crate) fn attributes_agree(
    serde: &serde_attr::OnField,
    odm: &attr::OnField,
    skipped: bool,
    problems: &mut Problems,
) {
    let related =
        odm.inverse.is_some() || odm.key.is_some() || odm.on_delete.is_some() || odm.two_way.is_some();
    if skipped && (odm.index.is_some() || odm.opaque.is_some() || related || odm.life.span().is_some()) {
        let span = serde
            .skip
            .or(serde.skip_serializing)
            .unwrap_or_else(proc_macro2::Span::call_site);
        problems.at_span(
            span,
            "a skipped field is never stored",
            "remove its `#[odm(..)]`, or the skip",
        );
    }
    if let (Some(flatten), Some(_)) = (serde.flatten, &odm.index) {
        let help =
            "declare it on the struct, over one of the flattened fields: `#[odm(index(keys(field.inner)))]`";
        problems.at_span(flatten, "a flattened field has no path of its own to index", help);
    }
    if let (Some(_), Some(opaque)) = (serde.flatten, odm.opaque) {
        let help = "remove `opaque`, or do not flatten it";
        problems.at_span(opaque, "a flattened field is not one value", help);
    }
}

/// That a field of a document is not lost when the document is written.
pub(crate) fn written(serde: &serde_attr::OnField, problems: &mut Problems) {
    if let Some(span) = serde.skip_serializing {
        let help = "`skip` for what is not stored; what users are not to see leave out of the type that you show them";
        problems.at_span(
            span,
            "the field would be read and never written: an insert leaves it out, and a save takes it away",
            help,
        );
    }
}

/// Where a relation can stand.
pub(crate) fn relation(odm: &attr::OnField, storage: &Storage, problems: &mut Problems) {
    let typed = matches!(storage, Storage::Typed);
    if let Some(inverse) = odm.inverse.as_ref().filter(|_| !typed) {
        let help = "remove what stores the field in another way than its type does";
        problems.at(
            &inverse.name,
            "only a reference that is stored as it is has an inverse",
            help,
        );
    }
    if let Some(name) = &odm.key {
        if !typed {
            let help = "remove what stores the field in another way than its type does";
            problems.at(name, "references hold a field as it is stored", help);
        }
        if !odm.index.as_ref().is_some_and(|index| index.unique) {
            let help = format!("`#[odm(unique, key = {name})]`");
            problems.at(
                name,
                "what references hold must be unique, and this field is not",
                help,
            );
        }
    }
}

/// Where a delete rule, or one side of a two-way reference, can stand.
pub(crate) fn rules(odm: &attr::OnField, field: &Field<'_>, generics: &Generics, problems: &mut Problems) {
    let rules = [(
        odm.on_delete.as_ref().map(|rule| &rule.0),
        "has a delete rule",
        "has no delete rule",
    )];
    let rules = rules
        .into_iter()
        .map(|(place, can, cannot)| (place.map(ToTokens::to_token_stream), can, cannot));
    let two_way = (odm.two_way.clone(), "is two-way", "is not two-way");
    for (place, can, cannot) in rules.chain([two_way]) {
        let Some(place) = place else { continue };
        if !matches!(field.storage, Storage::Typed) {
            let wrong = format!("only a reference that is stored as it is {can}");
            let help = "remove what stores the field in another way than its type does";
            problems.at(&place, wrong, help);
        } else if crate::generics::Params::mentions(generics, field.ty) {
            let wrong = format!("a reference whose type has a parameter {cannot}");
            problems.at(&place, wrong, "refer to a model without the parameter");
        }
    }
}

/// What is declared of references inside of embedded documents.
pub(crate) fn references(references: &[NestedReference], generics: &Generics, problems: &mut Problems) {
    let mut seen: Vec<String> = Vec::new();
    for reference in references {
        let path = reference.path.to_string();
        if seen.contains(&path) {
            let help = "say all of it in one `reference(..)`";
            problems.at(&reference.path, "this reference is declared already", help);
        }
        seen.push(path);
        if crate::generics::Params::mentions(generics, &reference.ty) {
            problems.at(
                &reference.ty,
                "a reference whose type has a parameter is not declared by its path",
                "refer to a model without the parameter",
            );
        }
    }
}

/// Rules where there is no value of their own to hold against them, and functions that could not read it.
pub(crate) fn life(serde: &serde_attr::OnField, odm: &attr::OnField, problems: &mut Problems) {
    if let (Some(_), Some(span)) = (serde.flatten, odm.life.span()) {
        let help = "say it on the fields of the flattened type";
        problems.at_span(span, "a flattened field has no value of its own", help);
    }
    if let (Some(_), Some(span)) = (&serde.codec, odm.life.custom()) {
        let help = "check the whole type: `#[odm(validate = function)]` on it";
        problems.at_span(
            span,
            "a function cannot read a field that serde stores in another way than its type's own",
            help,
        );
        return;
    }
    let rule = odm.life.rules.first().map(|rule| rule.span);
    match (&serde.codec, odm.life.stored, rule) {
        (Some(codec), None, Some(span)) if !is_as_bson(codec) => {
            let help = "check the whole type: `#[odm(validate = function)]` on it; or say that they are about the stored \
                        value: `validate(stored, ..)`";
            problems.at_span(
                span,
                "rules are about what is stored, and serde stores this field in another way than its type's own",
                help,
            );
        }
        (None, Some(span), _) => {
            let help = "leave `stored` out; it is for fields with a `#[serde(with = ..)]` of their own";
            problems.at_span(span, "this field is stored as its type is", help);
        }
        _ => {}
    }
}

/// Whether the codec is `odm::as_bson`, by which values are stored as what they are.
fn is_as_bson(codec: &syn::ExprPath) -> bool {
    let mut segments = codec.path.segments.iter().rev().skip(1);
    segments.next().is_some_and(|module| module.ident == "as_bson")
}

/// Values without a name are held to rules where they are used.
pub(crate) fn unnamed(odm: &attr::OnField, problems: &mut Problems) {
    if let Some(span) = odm.life.span() {
        let help = "say it on the fields of this type, or give the field a name";
        problems.at_span(span, "a field without a name has no rules of its own", help);
    }
    if let Some((role, span)) = &odm.copy {
        let wrong = format!(
            "`{}` is about a field of a copy, and this has no name",
            role.name()
        );
        problems.at_span(*span, wrong, "give the fields of a copy names");
    }
}

/// Each role once.
pub(crate) fn roles<'a, 'b: 'a>(fields: impl Iterator<Item = &'a Field<'b>>, problems: &mut Problems) {
    let mut seen = Vec::new();
    for field in fields {
        let Some((role, span)) = field.life.role else {
            continue;
        };
        if seen.contains(&role) {
            let wrong = format!("two fields say `{}`", role.name());
            problems.at_span(span, wrong, "a document has one of it");
        } else if role != Role::Tenant && field.stored == "_id" {
            let wrong = format!("`_id` cannot be `{}`", role.name());
            problems.at_span(span, wrong, "it never changes; give it another field");
        }
        seen.push(role);
    }
}

/// Tells one role from others.
type IsRole = fn(&CopyRole) -> bool;

/// A copy refers to what it copies, and says which version it is.
pub(crate) fn copy(container: &mut Container<'_>, is_copy: bool, problems: &mut Problems) {
    let Some(copy) = &container.copy else {
        if !is_copy {
            no_copy(&container.shape, problems);
        }
        return;
    };
    let mut are_right = true;
    let mut wrong = |span, wrong: &str, help: &str| {
        problems.at_span(span, wrong, help);
        are_right = false;
    };
    if !container.generics.params.is_empty() {
        wrong(
            copy.span,
            "a copy has no parameters",
            "name the types of what is copied",
        );
    }
    match &container.shape {
        Shape::Fields(fields) => {
            let is = |role: IsRole| {
                let fields = fields.iter();
                fields.filter(move |field| field.copy.as_ref().is_some_and(|(copy, _)| role(copy)))
            };
            let roles: [(&str, IsRole, &str); 2] = [
                (
                    "source",
                    |role| matches!(role, CopyRole::Source),
                    "mark the reference to what is copied: `#[odm(source)] id: Ref<Source>`",
                ),
                (
                    "source_version",
                    |role| matches!(role, CopyRole::Version),
                    "add the version that was copied: `#[odm(source_version)] version: i64`",
                ),
            ];
            for (name, role, help) in roles {
                match (is(role).next(), is(role).nth(1)) {
                    (None, _) => wrong(copy.span, &format!("a copy needs a field that is `{name}`"), help),
                    (_, Some(second)) => wrong(
                        second.span,
                        &format!("two fields say `{name}`"),
                        "a copy has one of it",
                    ),
                    (Some(field), None) if !matches!(field.storage, Storage::Typed) => wrong(
                        field.span,
                        &format!("the field that is `{name}` is stored as its type is"),
                        "remove what stores the field in another way than its type does",
                    ),
                    _ => {}
                }
            }
            let copied = |field: &&Field<'_>| matches!(field.copy, None | Some((CopyRole::From(_), _)));
            if !fields.iter().any(|field| copied(&field)) {
                wrong(
                    copy.span,
                    "nothing is copied",
                    "add the fields of the source that are copied",
                );
            }
            for field in fields.iter().filter(copied) {
                if matches!(field.storage, Storage::Flattened) {
                    wrong(
                        field.span,
                        "a flattened field is no copy of one field",
                        "copy its fields one by one, or mark it `#[odm(own)]`",
                    );
                }
            }
        }
        _ => wrong(
            copy.span,
            "only a struct with named fields holds copies of fields",
            "`struct PublisherCopy { #[odm(source)] id: Ref<Publisher>, .. }`",
        ),
    }
    if !are_right {
        container.copy = None;
    }
}

/// What is said of the fields of copies, where there is no copy.
fn no_copy(shape: &Shape<'_>, problems: &mut Problems) {
    let mut none_of = |fields: &[Field<'_>]| {
        for (role, span) in fields.iter().filter_map(|field| field.copy.as_ref()) {
            let wrong = format!("`{}` is about a field of a copy, and this is none", role.name());
            problems.at_span(
                *span,
                wrong,
                "say on the type what it copies: `#[odm(copy_of(Source))]`",
            );
        }
    };
    match shape {
        Shape::Fields(fields) => none_of(fields),
        Shape::Enum { variants, .. } => {
            for variant in variants {
                if let Content::Fields(fields) = &variant.content {
                    none_of(fields);
                }
            }
        }
        Shape::Newtype(_) | Shape::Value => {}
    }
}

/// A function on a whole value needs a document.
pub(crate) fn validated_type(container: &Container<'_>, problems: &mut Problems) {
    if let (Some(function), false) = (&container.validate, matches!(container.shape, Shape::Fields(_))) {
        let help = "check the fields of this type where it is used: `#[odm(validate(custom = function))]`";
        problems.at(
            function,
            "only a struct with named fields is checked as a whole",
            help,
        );
    }
}

/// Each stored name once.
pub(crate) fn distinct<'a, 'b: 'a>(fields: impl Iterator<Item = &'a Field<'b>>, problems: &mut Problems) {
    let mut seen: Vec<&Field<'_>> = Vec::new();
    for field in fields.filter(|field| !matches!(field.storage, Storage::Flattened)) {
        if let Some(other) = seen.iter().find(|other| other.stored == field.stored) {
            let wrong = format!(
                "`{}` and `{}` are both stored as `{}`",
                other.ident, field.ident, field.stored
            );
            problems.at_span(
                field.span,
                wrong,
                "rename one of them: `#[serde(rename = \"..\")]`",
            );
        }
        seen.push(field);
    }
}

/// Each variant shows by its own name.
pub(crate) fn distinct_variant(
    seen: &[Variant<'_>],
    ident: &Ident,
    stored: &str,
    tagging: &Tagging,
    problems: &mut Problems,
) {
    if matches!(tagging, Tagging::Untagged) {
        return;
    }
    if let Some(other) = seen.iter().find(|other| other.stored == stored) {
        let wrong = format!("`{}` and `{ident}` are both stored as `{stored}`", other.ident);
        problems.at(ident, wrong, "rename one of them: `#[serde(rename = \"..\")]`");
    }
}

/// Says which field should have been `_id`.
pub(crate) fn missing_id<'a>(
    model: &Ident,
    on_type: &serde_attr::OnType,
    fields: impl Iterator<Item = (&'a Ident, &'a serde_attr::OnField)>,
    problems: &mut Problems,
) {
    let mut candidate = None;
    for (ident, serde) in fields {
        let name = ident.unraw().to_string();
        let skip = serde.skip.or(serde.skip_serializing);
        if let Some(span) = skip.filter(|_| name == "_id" || serde.rename.as_ref().is_some_and(is_id)) {
            problems.at_span(span, "`_id` is always stored", "remove the skip");
            return;
        }
        if name == "_id" || (name == "id" && candidate.is_none()) {
            candidate = Some((ident, serde));
        }
    }
    let help = "add `#[serde(rename = \"_id\")]` to this field";
    match candidate {
        Some((
            _,
            serde_attr::OnField {
                rename: Some(text), ..
            },
        )) => {
            let wrong = format!(
                "a model needs a field stored as `_id`, and this one is stored as `{}`",
                text.value()
            );
            problems.at(text, wrong, "`#[serde(rename = \"_id\")]`");
        }
        Some((ident, _)) => match &on_type.rename_all {
            Some(renaming) if ident.unraw() == "_id" => {
                let (case, id) = (renaming.text.value(), renaming.id());
                let wrong = format!("`rename_all = \"{case}\"` stores `_id` as `{id}`");
                problems.at(ident, wrong, help);
            }
            _ => problems.at(
                ident,
                "a model needs a field stored as `_id`, and this one is not",
                help,
            ),
        },
        None => {
            let help = format!(
                "add one: `#[serde(rename = \"_id\")] id: odm::Id<{model}>`, or rename the field that is unique"
            );
            problems.at(model, "a model needs a field stored as `_id`", help);
        }
    }
}

fn is_id(text: &LitStr) -> bool {
    text.value() == "_id"
}

/// The names that MongoDB refuses.
pub(crate) fn collection(name: &LitStr, problems: &mut Problems) {
    let wrong = match name.value() {
        text if text.is_empty() => "the name of a collection cannot be empty",
        text if text.contains('$') => "the name of a collection cannot hold a `$`",
        text if text.contains('\0') => "the name of a collection cannot hold a NUL",
        text if text.starts_with("system.") => {
            "collections whose names start with `system.` are the server's own"
        }
        text if text.starts_with('.') || text.ends_with('.') || text.contains("..") => {
            "each part of a collection's name between dots needs a letter"
        }
        _ => return,
    };
    let help = "choose another, or leave it out: it is then the type's name in snake case and plural";
    problems.at_span(name.span(), wrong, help);
}
