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
/// | `index(keys(title, desc(author.name)), ..)` | an index over these fields, each as it is or in an order; then its options: both are below |
/// | `kind = "cat"`, `tag = "type"` | one kind of the documents of its collection, told by the field `kind` or the one that `tag` names; an enum of kinds has `tag` from serde |
/// | `schema_version = 3`, `migrate(v1_to_v2, v2_to_v3)` | the shape of the documents, and a function for each step to it: `fn(&mut Document) -> odm::Result<()>` |
/// | `options = function` | `fn() -> CollectionDeclaration` says how the collection is created |
/// | `hooks` | code runs around the writes: `impl odm::Hooks for Book` |
/// | `validate = function` | `fn(&Book) -> Result<(), impl Display>` says what is wrong with a whole document |
/// | `scope = function` | `fn(BookFields) -> Filter<Book>`: only documents that meet it are seen, changed and deleted, unless an action is `.unscoped()` |
/// | `reference(lines.any().book: Ref<Book>, ..)` | a reference inside of an embedded document, with `inverse`, `on_delete` and `two_way` as on a field, and with `two_way` also `link = function`, which makes the embedded document of a new link |
/// | `referred_by(Book, Loan)` | the models whose references to this one say `on_delete`; of references to several models each of these names them |
/// | `copied_to(Book, Order)` | the models that hold copies of this one's fields |
/// | `crate = path` | where `odm` is, if not at `::odm` |
///
/// | on a field | |
/// |---|---|
/// | `index` or `index(..)` | an index over this field: its order and its options |
/// | `unique` | a unique index over this field |
/// | `opaque` | a plain value, whatever its type |
/// | `inverse = by_publisher` | on a reference: a function `Book::by_publisher()`, the books that refer to a document; `inverse(one = of_patron)` where at most one does |
/// | `on_delete = cascade` | on a reference: what becomes of this document when the one that it refers to is deleted: `cascade`, `nullify`, `pull`, `deny` |
/// | `two_way = books` | on a reference: the field of the other model that refers back, and says so too |
/// | `key = BookIsbn` | on a unique field: a type `BookIsbn`, so that `Ref<Book, BookIsbn>` holds this field |
/// | `created`, `updated` | the time of the insert, of the last change |
/// | `version` | a number that counts changes, so that nobody writes over what they have not seen |
/// | `soft_delete` | the time of the deletion: deleted documents stay, unseen |
/// | `tenant` | whose a document is: `Db::for_tenant` shows, changes and stores those of one alone |
/// | `max = 200` | an array has at most so many elements, on every way to write |
/// | `validate(..)` | rules: `min`, `max`, `length`, `non_empty`, `pattern`, `email`, `url`, `one_of`, `finite`, `custom`, and `each(..)`, `values(..)` for what is inside; `stored` makes them rules of what is stored |
/// | `save = push` | how a tracked document saves the field: `replace`, `push`, `add_to_set`, `increment` |
///
/// | order of a field in an index | |
/// |---|---|
/// | `asc`, `desc` | `index(desc)` on a field, `keys(desc(year))` on the struct, and so the others |
/// | `hashed` | found by equality alone |
/// | `text` | searched by its words; `weight = 10` says how much they count |
/// | `geo_2dsphere`, `geo_2d` | places on the globe, in the plane |
/// | `wildcard` | every field below this one; `keys(wildcard())` every field of the document |
///
/// | option of an index | |
/// |---|---|
/// | `unique`, `sparse` | no two documents have the same key; documents without the field are left out |
/// | `partial = \|b\| b.available.gt(0)` | only documents that meet the filter of a closure or a function |
/// | `expire_after = "30d"` | deleted this long after the date: `s`, `m`, `h`, `d`, `w`, or a number of seconds |
/// | `name = ".."` | its name, MongoDB's default without it |
/// | `hidden` | kept up to date and not used |
/// | `all_kinds` | of one kind: over the documents of all kinds, not of its own alone |
/// | `collation = doc! {..}` | texts are compared by the rules of a language |
/// | `language = "german"`, `language_field = "lang"` | of a text index: the language of documents that do not name theirs, the field that names it |
/// | `bounds(0, 100)`, `bits = 16` | of `geo_2d`: the least and the greatest coordinate, how often each side is halved |
/// | `only(a, b)`, `without(a, b)` | of `keys(wildcard())`: these fields alone, all but these |
/// | `options = doc! {..}` | anything else in MongoDB's words |
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
/// | on the type | |
/// |---|---|
/// | `copy_of(Publisher)` | on a struct: its values are copies of some fields of a model, `odm::CopyOf`, that follow its writes at once; with `copy_of(Publisher, eventual)` later |
/// | `validate = function` | checks it whole |
/// | `opaque` | makes it a plain value |
/// | `crate = path` | where `odm` is, if not at `::odm` |
///
/// | on a field | |
/// |---|---|
/// | `opaque`, `max`, `save`, `validate` | as on a model's |
/// | `source` | of a copy: the reference to what is copied, `Ref<Publisher>` |
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
/// A field of the type takes `inverse` and `on_delete` as a `Ref<T>` does; for `on_delete` the models of all variants say
/// `referred_by(..)`. It takes no `two_way`.
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

    /// The words in the code of the tables.
    fn listed(text: &str) -> Vec<&str> {
        let lines = text.lines().map(|line| line.trim_start_matches("/// "));
        let tables = lines.filter(|line| line.starts_with('|'));
        let code = tables.flat_map(|line| line.split('`').skip(1).step_by(2));
        code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .collect()
    }

    /// The tables of the derives' documentation and of the guide name all attributes that there are.
    #[test]
    fn every_attribute_is_documented() {
        let here = listed(include_str!("lib.rs"));
        let models = listed(include_str!("../../odm/docs/guide/models.md"));
        let indexes = listed(include_str!("../../odm/docs/guide/indexes.md"));
        let of_types = [attr::ON_MODEL, attr::ON_EMBEDDED].concat();
        let of_fields = [attr::ON_MODEL_FIELD, attr::ON_EMBEDDED_FIELD].concat();
        let of_indexes = [
            &attr::index::ORDERS[..],
            &attr::index::OPTIONS,
            &["only", "without", "weight"],
        ];
        for (names, page) in [
            ([of_types, of_fields].concat(), models),
            (of_indexes.concat(), indexes),
        ] {
            for name in names {
                assert!(here.contains(&name), "the documentation says nothing of `{name}`");
                assert!(page.contains(&name), "the guide says nothing of `{name}`");
            }
        }
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
