//! Models that share a collection, told apart by a field.

use super::plan::Lifecycle;
use crate::model::Model;
use crate::schema::KindDescriptor;

/// What tells the documents of a model from the others of their collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kind {
    /// The stored field.
    pub tag: &'static str,
    /// Its value.
    pub name: &'static str,
}

impl Kind {
    /// The field and its value.
    #[doc(hidden)]
    pub const fn new(tag: &'static str, name: &'static str) -> Kind {
        Kind { tag, name }
    }
}

/// A model that is one kind of the documents of `All`, an enum that derives [`Model`]. The derive of the enum says so.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind of `{All}`",
    label = "not one of its variants",
    note = "`of` takes the models that the variants of the enum hold"
)]
pub trait KindOf<All: Model>: Model<Key = All::Key> {}

impl Lifecycle {
    /// The life of documents of these kinds, seen as one model.
    ///
    /// # Panics
    /// At compile time, when the kinds do not agree with the enum and with each other.
    pub const fn of_kinds(
        collection: &'static str,
        tag: &'static str,
        kinds: &[(KindDescriptor, Lifecycle)],
    ) -> Lifecycle {
        let mut index = 0;
        while index < kinds.len() {
            let (descriptor, lifecycle) = &kinds[index];
            assert!(
                same(descriptor.model.collection, collection),
                "each kind of an enum needs the enum's own `#[odm(collection = \"..\")]`"
            );
            match lifecycle.kind {
                Some(kind) => assert!(
                    same(kind.tag, tag) && same(kind.name, descriptor.name),
                    "each kind of an enum says how the enum stores it: `#[odm(kind = \"the variant's stored name\", \
                     tag = \"the enum's tag\")]`"
                ),
                None => panic!(
                    "each model that an enum holds says which kind it is: `#[odm(kind = \"the variant's stored name\")]`"
                ),
            }
            assert!(
                lifecycle.hooks.is_none() && lifecycle.versions.is_none(),
                "a kind with hooks or a schema version is written and read by its own collection, not by an enum"
            );
            assert!(
                lifecycle.scope.is_none(),
                "a kind with a scope of its own is written and read by its own collection; the enum may say a scope for all"
            );
            assert!(
                descriptor.model.copied_to.is_empty(),
                "a kind of which others hold copies is written and read by its own collection, not by an enum"
            );
            let first = &kinds[0].1;
            assert!(
                same_stamp(lifecycle.created_name(), first.created_name())
                    && same_stamp(lifecycle.updated_name(), first.updated_name())
                    && same_stamp(lifecycle.version, first.version)
                    && same_stamp(lifecycle.soft_delete_field(), first.soft_delete_field()),
                "the kinds of an enum have the same dates, version and soft deletion, in fields of the same names"
            );
            assert!(
                same_stamp(lifecycle.tenant_name(), first.tenant_name()),
                "the kinds of an enum say whose a document is in fields of the same name"
            );
            index += 1;
        }
        match kinds {
            [] => Lifecycle::NONE,
            [(_, first), ..] => Lifecycle { kind: None, ..*first },
        }
    }
}

const fn same_stamp(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => same(one, other),
        _ => false,
    }
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}
