//! Derive macros of `odm`. Use them through `odm`, which re-exports them and documents what they derive.
//!
//! `attr` and `serde_attr` read attributes as written; `resolve` turns them and the type into the plain data of
//! `input`, applying the rules of `check`; `expand` turns that into tokens and cannot fail. Problems pile up in
//! `problem::Problems`, so that one run reports them all, and what could be resolved is still expanded.

mod attr;
mod case;
mod check;
mod expand;
mod generics;
mod input;
mod plural;
mod problem;
mod reference;
mod resolve;
mod serde_attr;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use self::input::Derive;

/// Derives `odm::Model` (and `odm::Embedded`) for a struct: a document of a collection.
///
/// Emits the struct's fields as a type of its own, `BookFields` for `Book`.
///
/// | on the struct | |
/// |---|---|
/// | `collection = "books"` | the collection; the type's name in snake case and plural without it |
/// | `index(keys(title, desc(author.name)), ..)` | an index over these fields; each may be in `asc(..)`, `desc(..)`, `hashed(..)`, `text(..)`; then `unique`, `sparse`, `name = ".."`, `expire_after = "30d"` (or seconds), `all_kinds`, `partial = \|b\| b.available.gt(0)` |
/// | `hooks` | code runs around the writes: `impl odm::Hooks for Book` |
/// | `validate = function` | `fn(&Book) -> Result<(), impl Display>` says what is wrong with a whole document |
/// | `referred_by(Book, Loan)` | the models whose references to this one say `on_delete` |
/// | `copied_to(Book, Order)` | the models that hold copies of this one's fields |
/// | `crate = path` | where `odm` is, if not at `::odm` |
///
/// | on a field | |
/// |---|---|
/// | `index` or `index(..)` | an index over this field: `desc`, `hashed`, `text`, and the options above |
/// | `unique` | a unique index over this field |
/// | `opaque` | a plain value, whatever its type |
/// | `inverse = by_publisher` | on a reference: a function `Book::by_publisher()`, the books that refer to a document; `inverse(one = of_patron)` where at most one does |
/// | `on_delete = cascade` | on a reference: what becomes of this document when the one that it refers to is deleted: `cascade`, `nullify`, `pull`, `deny` |
/// | `two_way = books` | on a reference: the field of the other model that refers back, and says so too |
/// | `key = BookIsbn` | on a unique field: a type `BookIsbn`, so that `Ref<Book, BookIsbn>` holds this field |
/// | `created`, `updated` | the time of the insert, of the last change |
/// | `version` | a number that counts changes, so that nobody writes over what they have not seen |
/// | `soft_delete` | the time of the deletion: deleted documents stay, unseen |
/// | `max = 200` | an array has at most so many elements, on every way to write |
/// | `validate(..)` | rules: `min`, `max`, `length`, `non_empty`, `pattern`, `email`, `url`, `one_of`, `finite`, `custom`, and `each(..)`, `values(..)` for what is inside |
/// | `save = push` | how a tracked document saves the field: `replace`, `push`, `add_to_set`, `increment` |
///
/// One field must be stored as `_id`: name it `_id`, or `id` with `#[serde(rename = "_id")]`. Serde's attributes
/// decide how fields are stored, and so under which names and in which encoding they are asked for.
#[proc_macro_derive(Model, attributes(odm, serde))]
pub fn derive_model(input: TokenStream) -> TokenStream {
    derive(Derive::Model, &parse_macro_input!(input as DeriveInput)).into()
}

/// Derives `odm::Embedded` for a nested document: a struct with named fields, or an enum with data.
///
/// A struct with one unnamed field, a transparent one, and an enum without data become plain values instead: what
/// their inner type can do, they can do.
///
/// On the type: `#[odm(opaque)]` makes it a plain value, `#[odm(validate = function)]` checks it whole,
/// `#[odm(crate = path)]` says where `odm` is. On a field: `opaque`, `max`, `save` and `validate`, as on a model's.
///
/// `#[odm(copy_of(Publisher))]` on a struct makes its values copies of some fields of a model: `odm::CopyOf`. Copies
/// follow the writes of the model at once, or with `copy_of(Publisher, eventual)` later. On its fields:
///
/// | | |
/// |---|---|
/// | `source` | the reference to what is copied, `Ref<Publisher>` |
/// | `source_version` | the version that was copied, `i64` |
/// | `from = address.city` | a copy of this field; without it of the field of the same name |
/// | `own` | no copy |
#[proc_macro_derive(Embedded, attributes(odm, serde))]
pub fn derive_embedded(input: TokenStream) -> TokenStream {
    derive(Derive::Embedded, &parse_macro_input!(input as DeriveInput)).into()
}

/// Derives `odm::Reference` for an enum of references to different models, stored as a DBRef.
///
/// Each variant holds one `Ref<T>`. What is loaded is an enum with the same variants that hold the documents,
/// `OwnerDocument` for `Owner`. The derive writes the enum's `Serialize` and `Deserialize` too.
///
/// On the enum: `#[odm(document = Name)]` names the other enum, `#[odm(crate = path)]` says where `odm` is.
#[proc_macro_derive(Reference, attributes(odm))]
pub fn derive_reference(input: TokenStream) -> TokenStream {
    reference::derive(&parse_macro_input!(input as DeriveInput)).into()
}

fn derive(derive: Derive, input: &DeriveInput) -> proc_macro2::TokenStream {
    let mut problems = problem::Problems::new();
    let container = resolve::resolve(derive, input, &mut problems);
    let expanded = expand::expand(&container);
    let errors = problems.finish();
    quote::quote!(#errors #expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(derive_kind: Derive, item: &str) -> String {
        derive(derive_kind, &syn::parse_str(item).unwrap()).to_string()
    }

    /// Twelve tokens or so make a formatted line: the bound on tokens keeps the expansion far under 250 lines.
    #[test]
    fn a_model_of_ten_fields_expands_to_little() {
        let fields: String = (1..10).map(|n| format!("pub field_{n}: String,")).collect();
        let item = format!("pub struct Book {{ #[serde(rename = \"_id\")] pub id: u32, {fields} }}");
        let tokens: proc_macro2::TokenStream = expanded(Derive::Model, &item).parse().unwrap();
        let count = count(tokens);
        assert!(count < 1_200, "{count} tokens");
    }

    fn count(tokens: proc_macro2::TokenStream) -> usize {
        tokens
            .into_iter()
            .map(|token| match token {
                proc_macro2::TokenTree::Group(group) => 2 + count(group.stream()),
                _ => 1,
            })
            .sum()
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let item =
            "#[odm(colection = \"x\", crate = a, crate = b)] struct Book { #[odm(uniqe)] title: String }";
        let text = expanded(Derive::Model, item);
        assert_eq!(text.matches("compile_error").count(), 4, "{text}");
    }

    #[test]
    fn what_could_be_read_is_expanded_after_a_problem() {
        let text = expanded(Derive::Model, "struct Book { title: String }");
        assert!(
            text.contains("compile_error") && text.contains("struct BookFields"),
            "{text}"
        );
    }
}
