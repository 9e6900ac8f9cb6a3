//! The resolved input: nothing in it is optional that has a default, and every name is the stored one.

use proc_macro2::{Span, TokenStream};
use syn::{ExprPath, Generics, Ident, Path, Type, Visibility};

use crate::attr::lifecycle::Life;
use crate::attr::schema::{Kind, Versions};
use crate::attr::{CopyOf, CopyRole, DeleteRule, Index, Inverse, NestedReference};

/// Which derive runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Derive {
    Model,
    Embedded,
}

/// The type that is derived for.
pub(crate) struct Container<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) vis: &'a Visibility,
    pub(crate) generics: &'a Generics,
    /// The path of `odm`.
    pub(crate) crate_path: TokenStream,
    pub(crate) shape: Shape<'a>,
    pub(crate) model: Option<Model<'a>>,
    /// The function that checks the whole value.
    pub(crate) validate: Option<TokenStream>,
    /// What the type holds copies of.
    pub(crate) copy: Option<CopyOf>,
}

/// How values of the type are stored.
pub(crate) enum Shape<'a> {
    /// A document with these fields.
    Fields(Vec<Field<'a>>),
    /// A document or value of one of these variants.
    Enum {
        tagging: Tagging,
        variants: Vec<Variant<'a>>,
    },
    /// A value of this other type.
    Newtype(TokenStream),
    /// A value that nothing is known about.
    Value,
}

/// What a model has beside its fields.
pub(crate) struct Model<'a> {
    pub(crate) collection: String,
    /// The field stored as `_id`; none after a problem.
    pub(crate) key: Option<Key<'a>>,
    /// Each with the paths of its keys.
    pub(crate) indexes: Vec<ModelIndex>,
    pub(crate) inverses: Vec<ModelInverse<'a>>,
    pub(crate) reference_keys: Vec<ReferenceKey<'a>>,
    pub(crate) rules: Vec<ModelRule<'a>>,
    /// What is declared of references inside of embedded documents.
    pub(crate) references: Vec<NestedReference>,
    /// The models whose references to this one have rules.
    pub(crate) referred_by: Vec<Path>,
    /// The models that hold copies of this one's fields.
    pub(crate) copied_to: Vec<Path>,
    /// Where hooks were declared.
    pub(crate) hooks: Option<Span>,
    pub(crate) kind: Option<Kind>,
    pub(crate) versions: Option<Versions>,
    pub(crate) denies_unknown_fields: bool,
    /// The function that says the collection's options.
    pub(crate) options: Option<syn::Path>,
    /// The function that says which documents are seen.
    pub(crate) scope: Option<syn::Path>,
    /// The field that tells the variants of an enum apart; none of a struct.
    pub(crate) tag: Option<String>,
}

/// The inverse of one of the model's references.
pub(crate) struct ModelInverse<'a> {
    /// What follows the model's fields.
    pub(crate) path: TokenStream,
    pub(crate) ty: &'a Type,
    pub(crate) inverse: Inverse,
}

/// What is declared of a reference beside its inverse.
pub(crate) struct ModelRule<'a> {
    pub(crate) field: &'a Ident,
    /// What becomes of the document when what the field refers to is deleted.
    pub(crate) on_delete: Option<DeleteRule>,
    /// The field of the other model that refers back.
    pub(crate) two_way: Option<TokenStream>,
}

/// A field that references to the model can hold.
pub(crate) struct ReferenceKey<'a> {
    pub(crate) name: Ident,
    pub(crate) field: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) stored: String,
}

/// The field stored as `_id`.
pub(crate) struct Key<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    /// Whether its type is to be held to the rules of `_id`.
    pub(crate) checked: bool,
    pub(crate) codec: Option<ExprPath>,
    pub(crate) reader: Option<ExprPath>,
}

/// An index whose keys all have paths.
pub(crate) struct ModelIndex {
    pub(crate) index: Index,
    /// Whether the type of an expiring field is to be held to be a date.
    pub(crate) checked: bool,
}

/// A field that is stored.
pub(crate) struct Field<'a> {
    pub(crate) ident: Ident,
    pub(crate) vis: &'a Visibility,
    pub(crate) ty: &'a Type,
    pub(crate) stored: String,
    pub(crate) storage: Storage,
    /// Whether serde reads the field back.
    pub(crate) read: bool,
    pub(crate) life: Life,
    /// What it is in a copy.
    pub(crate) copy: Option<(CopyRole, Span)>,
    pub(crate) span: Span,
}

/// What is stored for a field.
pub(crate) enum Storage {
    /// What its type says.
    Typed,
    /// A plain value.
    Opaque,
    /// What these functions make of it.
    Codec(Box<FieldCodec>),
    /// The fields of its type, beside it.
    Flattened,
}

/// The functions that serde calls for a field in the place of its type's own.
pub(crate) struct FieldCodec {
    pub(crate) serialize: ExprPath,
    /// Where serde calls one.
    pub(crate) deserialize: Option<ExprPath>,
}

/// How serde shows the variant.
pub(crate) enum Tagging {
    External,
    Internal { tag: String },
    Adjacent { tag: String, content: String },
    Untagged,
}

/// A variant that is stored.
pub(crate) struct Variant<'a> {
    /// The field of the fields struct.
    pub(crate) handle: Ident,
    pub(crate) ident: &'a Ident,
    pub(crate) stored: String,
    pub(crate) untagged: bool,
    pub(crate) content: Content<'a>,
}

/// What a variant holds.
pub(crate) enum Content<'a> {
    Nothing,
    /// One value.
    One(TokenStream, Storage),
    Fields(Vec<Field<'a>>),
}
