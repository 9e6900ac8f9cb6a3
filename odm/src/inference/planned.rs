//! Types, structs and fields of the source.

use super::shape::Shape;

/// A type of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// One of Rust's, of `bson` or of `odm`, as it is written.
    Plain(&'static str),
    /// `Id<M>` of the model itself.
    OwnId,
    /// A reference to the model of this collection.
    Ref(String),
    /// A reference that names its collection; to the model of one, if all are in it.
    DbRef(Option<String>),
    Option(Box<Type>),
    Vec(Box<Type>),
    Map(Box<Type>),
    Boxed(Box<Type>),
    /// A type of the plan.
    Nested(usize),
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedField {
    pub(crate) ident: String,
    pub(crate) stored: String,
    pub(crate) is_renamed: bool,
    pub(crate) ty: Type,
    /// Left out when it is none.
    pub(crate) may_miss: bool,
    /// Null is there beside missing.
    pub(crate) tells_null: bool,
    /// Takes the fields that cannot have a name of their own.
    pub(crate) is_rest: bool,
    /// Said behind `//`.
    pub(crate) notes: Vec<String>,
}

/// A type of the source.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) name: String,
    /// What it could be called, the best first.
    pub(super) wanted: Vec<String>,
    pub(crate) form: Form,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    Struct(Vec<PlannedField>),
    /// Variants with their stored texts.
    Texts(Vec<(String, String)>),
}

/// The models of a collection: one, or one for each kind of its documents.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCollection {
    pub(crate) models: Vec<PlannedModel>,
    /// The field that tells kinds apart, and the name of the enum of them.
    pub(crate) tag: Option<(String, String)>,
    /// Why there is no model, or what else is to be said.
    pub(crate) notes: Vec<String>,
    /// The name of the function of the collection's options.
    pub(crate) function: String,
}

#[derive(Clone, Debug)]
pub(crate) struct PlannedModel {
    /// Its type in the plan.
    pub(crate) index: usize,
    /// The value of the tag.
    pub(crate) kind: Option<String>,
}

impl PlannedField {
    pub(super) fn new(ident: &str, stored: &str, ty: Type) -> PlannedField {
        PlannedField {
            ident: ident.to_owned(),
            stored: stored.to_owned(),
            is_renamed: false,
            ty,
            may_miss: false,
            tells_null: false,
            is_rest: false,
            notes: Vec::new(),
        }
    }
}

impl Type {
    pub(super) fn optional(self) -> Type {
        Type::Option(Box::new(self))
    }

    /// Whether null is a value of the type.
    pub(super) fn takes_null(&self) -> bool {
        matches!(self, Type::Plain("odm::bson::Bson" | "odm::bson::RawBson"))
    }

    pub(super) fn refers(&self) -> bool {
        match self {
            Type::Ref(_) | Type::DbRef(_) => true,
            Type::Option(inner) | Type::Vec(inner) | Type::Map(inner) | Type::Boxed(inner) => inner.refers(),
            Type::Plain(_) | Type::OwnId | Type::Nested(_) => false,
        }
    }

    /// The type of elements that may be null.
    pub(super) fn nullable_for(self, shape: &Shape) -> Type {
        // A vector has a size of its own, so that no box is needed in it.
        let item = match self {
            Type::Boxed(inner) => *inner,
            other => other,
        };
        match shape.is_nullable() && !item.takes_null() {
            true => item.optional(),
            false => item,
        }
    }
}

/// Whether two types say the same but for their notes.
pub(super) fn is_same(one: &Form, other: &Form) -> bool {
    let plain = |form: &Form| match form {
        Form::Struct(fields) => Form::Struct(
            fields
                .iter()
                .map(|field| PlannedField {
                    notes: Vec::new(),
                    ..field.clone()
                })
                .collect(),
        ),
        texts => texts.clone(),
    };
    plain(one) == plain(other)
}
