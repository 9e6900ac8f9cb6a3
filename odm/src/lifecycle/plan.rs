//! What a model declares of the life of its documents, and what follows for its writes.

use bson::{DateTime, RawBson, RawDocument, RawDocumentBuf};

use super::copies::{Copied, PENDING, STAMP};
use super::declared::Declared;
use super::deletion::deletes;
use super::derivation::{DERIVED_PENDING, DerivedFields};
use super::hooks::HookTable;
use super::kind::Kind;
use super::tenant::{EncodeTenant, Tenant};
use super::timestamp::Version;
use super::versions::{self, Versions};
use crate::backend::Operation;
use crate::error::Result;
use crate::model::{Model, OfTypes};
use crate::relation;
use crate::schema::ModelDescriptor;

/// What a model declares of the life of its documents. The derive emits one as a constant.
#[derive(Clone, Copy, Debug)]
pub struct Lifecycle {
    pub(crate) created: Option<Stamp>,
    pub(crate) updated: Option<Stamp>,
    pub(crate) version: Option<&'static str>,
    pub(crate) soft_delete: Option<Stamp>,
    pub(crate) hooks: Option<HookTable>,
    pub(crate) kind: Option<Kind>,
    pub(crate) versions: Option<Versions>,
    pub(crate) tenant: Option<Tenant>,
    pub(crate) scope: Option<OwnScope>,
}

/// Makes the condition of a model's own scope.
pub(crate) type OwnScope = fn() -> Result<RawDocumentBuf>;

/// A field that gets the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    /// The stored name.
    pub(crate) name: &'static str,
    /// The instant as the field's type is stored.
    pub(crate) encode: Encode,
}

/// Encodes an instant as a field's type is stored.
pub(crate) type Encode = fn(DateTime) -> Result<RawBson>;

impl Stamp {
    const fn name_of(stamp: &Option<Stamp>) -> Option<&'static str> {
        match stamp {
            Some(stamp) => Some(stamp.name),
            None => None,
        }
    }
}

impl Lifecycle {
    /// Nothing.
    pub const NONE: Lifecycle = Lifecycle {
        created: None,
        updated: None,
        version: None,
        soft_delete: None,
        hooks: None,
        kind: None,
        versions: None,
        tenant: None,
        scope: None,
    };

    /// This field gets the time of the insert.
    pub const fn created(mut self, name: &'static str, encode: Encode) -> Lifecycle {
        self.created = Some(Stamp { name, encode });
        self
    }

    /// This field gets the time of each change.
    pub const fn updated(mut self, name: &'static str, encode: Encode) -> Lifecycle {
        self.updated = Some(Stamp { name, encode });
        self
    }

    /// This field gets the time of the deletion.
    pub const fn soft_delete(mut self, name: &'static str, encode: Encode) -> Lifecycle {
        self.soft_delete = Some(Stamp { name, encode });
        self
    }

    /// This field counts the changes.
    pub const fn version<T: Version>(mut self, name: &'static str) -> Lifecycle {
        self.version = Some(name);
        self
    }

    /// These hooks run.
    pub const fn hooks(mut self, hooks: HookTable) -> Lifecycle {
        self.hooks = Some(hooks);
        self
    }

    /// The documents are this kind of those of their collection.
    pub const fn kind(mut self, tag: &'static str, name: &'static str) -> Lifecycle {
        self.kind = Some(Kind::new(tag, name));
        self
    }

    /// The documents have this shape, and older ones become it so.
    pub const fn versions(mut self, versions: Versions) -> Lifecycle {
        self.versions = Some(versions);
        self
    }

    /// Only documents that meet this are seen unless somebody asks for others.
    pub const fn scope(mut self, scope: OwnScope) -> Lifecycle {
        self.scope = Some(scope);
        self
    }

    /// This field says whose a document is.
    pub const fn tenant<T>(mut self, name: &'static str, encode: EncodeTenant) -> Lifecycle {
        self.tenant = Some(Tenant::new::<T>(name, encode));
        self
    }

    /// The field that says whose a document is.
    pub(crate) const fn tenant_name(&self) -> Option<&'static str> {
        match &self.tenant {
            Some(tenant) => Some(tenant.name),
            None => None,
        }
    }

    /// The field that counts the changes.
    pub(crate) const fn version_name(&self) -> Option<&'static str> {
        self.version
    }

    /// The field that says when a document was deleted.
    pub(crate) const fn soft_delete_field(&self) -> Option<&'static str> {
        Stamp::name_of(&self.soft_delete)
    }

    /// The field that says when a document was created.
    pub(crate) const fn created_name(&self) -> Option<&'static str> {
        Stamp::name_of(&self.created)
    }

    /// The field that says when a document was changed.
    pub(crate) const fn updated_name(&self) -> Option<&'static str> {
        Stamp::name_of(&self.updated)
    }

    const fn is_none(&self) -> bool {
        self.created.is_none()
            && self.updated.is_none()
            && self.version.is_none()
            && self.soft_delete.is_none()
            && self.hooks.is_none()
            && self.kind.is_none()
            && self.versions.is_none()
            && self.tenant.is_none()
            && self.scope.is_none()
    }
}

/// What the writes of a model go through. A model that declares nothing has none.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) declared: &'static Declared,
    pub(crate) has_rules: bool,
    /// The fields that an upsert must say; none where the collection is not to be sharded.
    pub(crate) shard_key: Vec<String>,
    /// The model.
    pub(crate) model: &'static ModelDescriptor,
    /// What the model's own scope asks of documents.
    pub(crate) scope: Option<Result<RawDocumentBuf>>,
    /// Whether strings of the collection compare by a collation, as the model declares it.
    pub(crate) is_collated: bool,
    /// Whether deletions mean something for documents that refer.
    pub(crate) is_referred_to: bool,
    /// The copies that there are of the documents.
    pub(crate) copied: Option<Copied>,
    /// The fields that are made of others.
    pub(crate) derived: Option<DerivedFields>,
    /// The fields of the documents that are no fields of the model.
    marks: Vec<&'static str>,
    /// Those of them that say for a time that something is to follow.
    pending: Vec<&'static str>,
    /// Whether only deletions mean something.
    is_about_deletions: bool,
}

impl Plan {
    /// Whether a write has to go through it.
    pub(crate) fn concerns(&self, operation: &Operation) -> bool {
        !self.is_about_deletions || deletes(operation)
    }

    /// Whether what is copied can change and the version of the document not: by a migration, or when it is derived anew.
    pub(crate) fn reshapes_copied(&self) -> bool {
        self.lifecycle.versions.is_some() || self.copied.as_ref().is_some_and(Copied::has_derived)
    }

    /// The document without the fields that are no fields of the model; `None` when it has none of them.
    pub(crate) fn unmarked(&self, document: &RawDocument) -> Option<RawDocumentBuf> {
        without(document, &self.marks)
    }

    /// The document as it is when everything has followed; `None` when nothing is to follow.
    pub(crate) fn settled(&self, document: &RawDocument) -> Option<RawDocumentBuf> {
        without(document, &self.pending)
    }

    /// The document without the fields that are made of others; `None` when it has none of them.
    pub(crate) fn underived(&self, document: &RawDocument) -> Option<RawDocumentBuf> {
        let derived = self.derived.as_ref()?;
        without(document, &derived.names())
    }

    /// The plan of a model, made at its first use and kept as long as the process.
    pub(crate) fn of<M: Model>() -> Option<&'static Plan> {
        static PLANS: OfTypes<Option<&'static Plan>> = OfTypes::new();
        PLANS.get::<M, _>(Plan::made::<M>, |plan| {
            plan.map(|plan| &*Box::leak(Box::new(plan)))
        })
    }

    fn made<M: Model>() -> Option<Plan> {
        let declared = M::declared();
        let has_rules = declared.has_rules();
        let options = M::DESCRIPTOR.declared_options();
        let shard_key = options.shard_fields();
        let is_referred_to = relation::has_rules(M::DESCRIPTOR);
        let derived = DerivedFields::of(declared);
        let copied = Copied::of(M::DESCRIPTOR, derived.as_ref());
        let is_about_deletions = !has_rules
            && shard_key.is_empty()
            && copied.is_none()
            && derived.is_none()
            && M::LIFECYCLE.is_none();
        if is_about_deletions && !is_referred_to {
            return None;
        }
        let mut pending = Vec::new();
        pending.extend(derived.is_some().then_some(DERIVED_PENDING));
        pending.extend(copied.is_some().then_some(PENDING));
        let mut marks = pending.clone();
        marks.extend(
            copied
                .as_ref()
                .is_some_and(|copied| copied.is_stamped)
                .then_some(STAMP),
        );
        marks.extend(M::LIFECYCLE.versions.map(|_| versions::FIELD));
        marks.extend(M::LIFECYCLE.kind.map(|kind| kind.tag));
        let is_field = |mark: &str| M::DESCRIPTOR.fields.iter().any(|field| field.stored == mark);
        marks.retain(|mark| !is_field(mark));
        pending.retain(|mark| !is_field(mark));
        Some(Plan {
            marks,
            pending,
            lifecycle: M::LIFECYCLE,
            declared,
            has_rules,
            shard_key,
            model: M::DESCRIPTOR,
            scope: M::LIFECYCLE.scope.map(|scope| scope()),
            is_collated: options.own_collation().is_some(),
            is_referred_to,
            copied,
            derived,
            is_about_deletions,
        })
    }
}

/// The document without these fields; `None` when it has none of them.
fn without(document: &RawDocument, names: &[&str]) -> Option<RawDocumentBuf> {
    let is_one = |name: &str| names.contains(&name);
    if !document.iter().flatten().any(|(name, _)| is_one(name.as_str())) {
        return None;
    }
    let mut left = RawDocumentBuf::new();
    for element in document {
        let (name, value) = element.ok()?;
        if !is_one(name.as_str()) {
            left.append(name, value);
        }
    }
    Some(left)
}
