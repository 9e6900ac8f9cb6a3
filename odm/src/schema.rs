//! What models declare, as data.

mod collection;
mod declared_collection;
mod index;
mod listed;
mod models;
mod nested_relations;
mod relation;
mod series;
mod suggestion;
mod tenants;
mod validator;
mod verify;

pub(crate) use self::collection::is_equal_in;
pub use self::collection::{CollectionDeclaration, Granularity};
pub(crate) use self::declared_collection::DeclaredCollection;
pub use self::index::{IndexDeclaration, IndexOrder};
pub(crate) use self::listed::{is_true, number, same_collation, same_value};
pub use self::models::Models;
pub(crate) use self::models::{Entry, differences, fingerprint};
pub(crate) use self::nested_relations::EVERY;
pub(crate) use self::relation::MakeLink;
pub use self::relation::{
    DeclaredRelation, InverseDescriptor, NoRelation, ReferenceDeclaration, RelationDescriptor, RelationKind,
    RelationProbe, model_graph,
};
pub(crate) use self::suggestion::suggested_index;
pub use self::tenants::{TenantFinding, TenantFindingKind};
pub(crate) use self::validator::validator;
pub(crate) use self::verify::{names, verify};
use crate::collection::Target;
use crate::lifecycle::{Declared, DerivedFields, Kind, PENDING};
use crate::model::Model;
use crate::relation::Open;

/// What a model declares. The derive emits one as a constant.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelDescriptor {
    /// The Rust name.
    pub name: &'static str,
    /// The collection's name.
    pub collection: &'static str,
    /// The fields in declaration order, without skipped ones.
    pub fields: &'static [FieldDescriptor],
    /// Makes the declared indexes, fields' own first; of an enum of models its variants' own are in [`all_indexes`].
    ///
    /// [`all_indexes`]: ModelDescriptor::all_indexes
    pub indexes: fn() -> Vec<IndexDeclaration>,
    /// What tells the documents from others of the same collection.
    pub kind: Option<Kind>,
    /// The field that tells the kinds apart, of an enum of models; empty for a struct.
    pub tag: &'static str,
    /// The models that an enum holds; none for a struct.
    pub kinds: &'static [KindDescriptor],
    /// The version of the documents' shape; 0 when none is declared.
    pub version: i32,
    /// Whether serde refuses fields of a document that the struct does not have: what keeps fields of its own beside those of
    /// the model cannot be had for such a one.
    pub denies_unknown_fields: bool,
    /// Makes the declared options of the collection.
    pub options: Option<fn() -> CollectionDeclaration>,
    /// The stored name of the field that says whose a document is.
    pub tenant: Option<&'static str>,
    /// The models whose references to this one have rules for its deletion.
    pub referred_by: &'static [fn() -> &'static ModelDescriptor],
    /// The models that hold copies of this one's fields.
    pub copied_to: &'static [fn() -> &'static ModelDescriptor],
    /// Makes what is declared of references inside of embedded documents.
    pub(crate) references: fn() -> Vec<ReferenceDeclaration>,
    pub(crate) open: Open,
    pub(crate) declared: fn() -> &'static Declared,
}

/// One of the models that an enum holds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KindDescriptor {
    /// The tag's value.
    pub name: &'static str,
    /// The model.
    pub model: &'static ModelDescriptor,
}

impl KindDescriptor {
    /// What a derive found.
    #[doc(hidden)]
    pub const fn new(name: &'static str, model: &'static ModelDescriptor) -> KindDescriptor {
        KindDescriptor { name, model }
    }
}

/// A field as declared.
#[derive(Debug)]
#[non_exhaustive]
pub struct FieldDescriptor {
    /// The Rust name.
    pub name: &'static str,
    /// The stored name; empty for a flattened field, whose own fields stand in its place.
    pub stored: &'static str,
    /// The type as it is written in the struct.
    pub ty: &'static str,
    /// Whether serde writes the field but does not read it back.
    pub is_write_only: bool,
    /// What the field refers to, if its type is one of references.
    pub relation: Option<RelationDescriptor>,
}

impl ModelDescriptor {
    /// The collation that the model declares of its collection; none where strings compare by their bytes.
    pub fn collation(&'static self) -> Option<bson::Document> {
        crate::relation::declared_collation(self)
    }

    /// Whether something of the documents is flattened into them: it may take all fields that nothing else takes.
    pub(crate) const fn has_flattened(&self) -> bool {
        let (mut field, mut kind) = (0, 0);
        while field < self.fields.len() {
            if self.fields[field].is_flattened() {
                return true;
            }
            field += 1;
        }
        while kind < self.kinds.len() {
            if self.kinds[kind].model.has_flattened() {
                return true;
            }
            kind += 1;
        }
        false
    }

    /// What a derive found.
    #[doc(hidden)]
    pub const fn new<M: Model>(
        name: &'static str,
        collection: &'static str,
        fields: &'static [FieldDescriptor],
        indexes: fn() -> Vec<IndexDeclaration>,
    ) -> ModelDescriptor {
        ModelDescriptor {
            name,
            collection,
            fields,
            indexes,
            kind: None,
            tag: "",
            kinds: &[],
            version: 0,
            denies_unknown_fields: false,
            options: None,
            tenant: None,
            referred_by: &[],
            copied_to: &[],
            references: Vec::new,
            open: Target::sibling::<M>,
            declared: M::declared,
        }
    }

    /// An enum of models.
    #[doc(hidden)]
    pub const fn of_kinds<M: Model>(
        name: &'static str,
        collection: &'static str,
        tag: &'static str,
        kinds: &'static [KindDescriptor],
    ) -> ModelDescriptor {
        let mut model = ModelDescriptor::new::<M>(name, collection, &[], Vec::new);
        model.tag = tag;
        model.kinds = kinds;
        if let [first, ..] = kinds {
            model.tenant = first.model.tenant;
        }
        model
    }

    /// The same model as one kind of a collection's documents.
    #[doc(hidden)]
    pub const fn kind(mut self, tag: &'static str, name: &'static str) -> ModelDescriptor {
        self.kind = Some(Kind::new(tag, name));
        self
    }

    /// The same model with the version of its shape.
    #[doc(hidden)]
    pub const fn version(mut self, version: i32) -> ModelDescriptor {
        self.version = version;
        self
    }

    /// The same model, which refuses fields that it does not have.
    #[doc(hidden)]
    pub const fn denying_unknown_fields(mut self) -> ModelDescriptor {
        self.denies_unknown_fields = true;
        self
    }

    /// The same model, whose documents are of tenants.
    #[doc(hidden)]
    pub const fn tenant(mut self, field: &'static str) -> ModelDescriptor {
        self.tenant = Some(field);
        self
    }

    /// The same model with the options of its collection.
    #[doc(hidden)]
    pub const fn options(mut self, options: fn() -> CollectionDeclaration) -> ModelDescriptor {
        self.options = Some(options);
        self
    }

    /// The declared indexes, those of all kinds: an index that several kinds declare alike is there once. One that a kind
    /// declares and that refuses or deletes documents is over that kind's alone, unless it says
    /// [`all_kinds`](IndexDeclaration::all_kinds). A model of which others hold copies has one more, of the documents whose copies wait. So has one with derived fields, and the
    /// indexes over these.
    pub fn all_indexes(&self) -> Vec<IndexDeclaration> {
        let mut all: Vec<IndexDeclaration> = (self.indexes)();
        if !self.copied_to.is_empty() {
            all.push(IndexDeclaration::of_pending(PENDING));
        }
        if self.kinds.is_empty() {
            all.extend(DerivedFields::indexes(self));
        }
        let mut all: Vec<_> = all.into_iter().map(|index| index.of_kind(self.kind)).collect();
        for kind in self.kinds {
            for index in kind.model.all_indexes() {
                let same = |known: &IndexDeclaration| match (known.to_spec(), index.to_spec()) {
                    (Ok(known), Ok(index)) => known == index,
                    _ => false,
                };
                if !all.iter().any(same) {
                    all.push(index);
                }
            }
        }
        all
    }

    /// The same with the models that refer to it.
    #[doc(hidden)]
    pub const fn referred_by(
        mut self,
        referrers: &'static [fn() -> &'static ModelDescriptor],
    ) -> ModelDescriptor {
        self.referred_by = referrers;
        self
    }

    /// The same with what is declared of references inside of embedded documents.
    #[doc(hidden)]
    pub const fn references(mut self, references: fn() -> Vec<ReferenceDeclaration>) -> ModelDescriptor {
        self.references = references;
        self
    }

    /// The same with the models that hold copies of its fields.
    #[doc(hidden)]
    pub const fn copied_to(
        mut self,
        holders: &'static [fn() -> &'static ModelDescriptor],
    ) -> ModelDescriptor {
        self.copied_to = holders;
        self
    }

    /// Whether it is the same model: a constant has no address of its own to compare by.
    pub(crate) fn is(&self, other: &ModelDescriptor) -> bool {
        (self.name, self.collection, self.kind) == (other.name, other.collection, other.kind)
    }
}

impl FieldDescriptor {
    /// What a derive found.
    #[doc(hidden)]
    pub const fn new(name: &'static str, stored: &'static str, ty: &'static str) -> FieldDescriptor {
        FieldDescriptor {
            name,
            stored,
            ty,
            is_write_only: false,
            relation: None,
        }
    }

    /// What a derive found, for a field that is written but not read.
    #[doc(hidden)]
    pub const fn write_only(name: &'static str, stored: &'static str, ty: &'static str) -> FieldDescriptor {
        FieldDescriptor {
            name,
            stored,
            ty,
            is_write_only: true,
            relation: None,
        }
    }

    /// The same field with what it refers to.
    #[doc(hidden)]
    pub const fn refers(mut self, relation: Option<RelationDescriptor>) -> FieldDescriptor {
        self.relation = relation;
        self
    }

    /// Whether the field's own fields stand in its place.
    pub const fn is_flattened(&self) -> bool {
        self.stored.is_empty()
    }
}
