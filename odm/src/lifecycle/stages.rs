//! What happens to a write before it is sent, in this order: soft deletion, timestamps, version, kind and shape,
//! derived fields, validation, bounds.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::checked_change::CheckedChange;
use super::condition::{Added, Condition, Must, guard_stage};
use super::copies::{Copied, PENDING, STAMP};
use super::declared::Declared;
use super::derivation::DERIVED_PENDING;
use super::document;
use super::insertion;
use super::own_stages;
use super::place::{Place, Tags};
use super::plan::{Plan, Stamp};
use super::rule::Rule;
use super::scope::Settings;
use super::taken::Taken;
use super::validator::Validator;
use super::versions;
use super::violation::Violation;
use super::write::{Kind, Write};
use crate::codec::{self, Raw};
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::query::update::{Action, Change, Form, raw_path};
use crate::schema::is_equal_in;

/// A field that no stored document has. Where an upsert asks for none, what it is about to insert has null in it.
pub(super) const INSERTED: &bson::raw::CStr = bson::cstr!("odm_inserted");

/// What a write depends on beside its own filter, to say why it found nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    /// The filter without the conditions below.
    pub(crate) filter: RawDocumentBuf,
    /// How its strings compare, if the write says so.
    pub(crate) collation: Option<RawDocumentBuf>,
    /// The version that a replacement is based on.
    pub(crate) version: Option<i64>,
    pub(crate) conditions: Vec<Condition>,
    /// Whether a condition of an upsert is an expression, which the filter of none that may insert can hold.
    pub(crate) computes: bool,
    /// Whether it must not be of a later schema version than this program knows.
    pub(crate) not_newer: bool,
    /// What would be wrong with the document that an upsert inserts.
    pub(crate) insertion: Vec<Violation>,
    /// The `_id` of a document that an upsert replaces, and whose version says that it was stored before.
    pub(crate) was_stored: Option<Bson>,
}

impl Terms {
    pub(crate) fn is_empty(&self) -> bool {
        self.version.is_none() && self.conditions.is_empty() && !self.not_newer
    }

    /// Whether all that it depends on is that the document is of no later schema version.
    pub(crate) fn is_only_not_newer(&self) -> bool {
        self.version.is_none() && self.conditions.is_empty() && self.not_newer
    }
}

/// One write on its way.
pub(crate) struct Stages<'a> {
    pub(crate) plan: &'static Plan,
    pub(crate) settings: &'a Settings,
    pub(crate) now: DateTime,
    pub(crate) validator: &'a mut Validator,
    /// The copies that follow the documents, and what marks a document whose copies wait.
    pub(crate) marks: Option<(&'static Copied, ObjectId)>,
    /// Whether copies follow what is inserted: of a tenant's new document none is where it cannot be followed.
    pub(crate) follows_inserts: bool,
    /// Whether a write was marked.
    pub(crate) has_marked: bool,
    /// What marks a document with derived fields that are not in step.
    pub(crate) token: ObjectId,
    /// Whether a write was marked so.
    pub(crate) has_derived: bool,
}

impl<'a> Stages<'a> {
    /// Those of one batch of writes; with where the model's fields are copied to.
    pub(crate) fn of(
        plan: &'static Plan,
        target: &Target,
        settings: &'a Settings,
        copied: Option<&'static Copied>,
        validator: &'a mut Validator,
    ) -> Stages<'a> {
        Stages {
            plan,
            settings,
            now: settings.at.unwrap_or_else(|| target.executor().now()),
            validator,
            marks: copied.map(|copied| (copied, ObjectId::new())),
            follows_inserts: copied
                .is_none_or(|copied| !target.is_owned() || copied.check_reach(target).is_ok()),
            has_marked: false,
            token: ObjectId::new(),
            has_derived: false,
        }
    }
}

impl Stages<'_> {
    /// Makes the write what is sent.
    pub(crate) fn apply(&mut self, write: &mut Write) -> Result<Terms> {
        self.check_shard_key(write)?;
        self.delete_softly(write)?;
        let mut terms = Terms {
            filter: write.filter.clone(),
            collation: write.collation.clone(),
            ..Terms::default()
        };
        if let Some(versions) = self.plan.lifecycle.versions
            && (self.settings.gives_model || matches!(write.kind, Kind::Replace(_)))
        {
            // The older shape would take the place of the newer one; or be given, and not be read.
            write.filter = document::narrowed(&write.filter, &versions.not_newer())?;
            terms.not_newer = true;
        }
        match &mut write.kind {
            Kind::Delete => {}
            Kind::Insert(document) => {
                let mut whole = self.stamped(document, &[self.created(), self.updated()])?;
                if let Some(version) = self.plan.lifecycle.version {
                    whole = document::with_field(&whole, version, version_like(&whole, version, 0))?;
                }
                let mut whole = self.derived(self.marked(whole)?)?;
                if self.follows_inserts {
                    whole = self.pending(whole)?;
                }
                self.check(&whole)?;
                *document = match self.is_stamped() {
                    true => document::with_field(&whole, STAMP, RawBson::Int64(0))?,
                    false => whole,
                };
            }
            Kind::Replace(document) => {
                let mut whole = self.stamped(document, &[self.updated()])?;
                let mut is_new_or_stored = false;
                if let Some(version) = self.plan.lifecycle.version {
                    let loaded = document::integer(&whole, version).unwrap_or(0);
                    let next = loaded.checked_add(1).unwrap_or(0);
                    whole = document::with_field(&whole, version, version_like(&whole, version, next))?;
                    if write.upsert && loaded != 0 {
                        let id = whole.get("_id").ok().flatten();
                        let id = id.and_then(|id| Bson::try_from(id).ok());
                        terms.was_stored = Some(id.unwrap_or(Bson::Null));
                    }
                    let condition = match loaded {
                        // Stored before the model had versions.
                        0 => doc! { version: { "$in": [0, null] } },
                        // No equality, so that what an upsert would insert has no version before it has ours.
                        loaded if write.upsert => doc! { version: { "$gte": loaded, "$lte": loaded } },
                        loaded => doc! { version: loaded },
                    };
                    write.filter = document::narrowed(&write.filter, &Raw::from(condition).into_document()?)?;
                    if write.upsert && loaded == 0 {
                        let mark = document::single(INSERTED, RawBson::Null);
                        write.filter = document::narrowed(&write.filter, &mark)?;
                        is_new_or_stored = true;
                    }
                    terms.version = Some(loaded);
                }
                let whole = self.pending(self.derived(self.marked(whole)?)?)?;
                self.check(&whole)?;
                write.kind = self.replacing(whole, is_new_or_stored)?;
            }
            Kind::Update(Form::Changes {
                changes,
                array_filters,
            }) => {
                self.mark_changes(changes, write.upsert)?;
                self.stamp_changes(changes, write.upsert)?;
                self.pending_changes(changes, write.upsert);
                if let Some(derived) = &self.plan.derived {
                    self.has_derived |=
                        derived.follow_changes(changes, write.upsert, self.now, self.token)?;
                }
                if let Some(version) = self.plan.lifecycle.version
                    && !touches(changes, version)
                {
                    changes.push(change(version, Action::Increment(RawBson::Int32(1))));
                }
                if self.plan.has_rules {
                    for change in &*changes {
                        self.check_change(change, (&terms.filter, array_filters), &mut terms.conditions)?;
                    }
                    if write.upsert {
                        terms.insertion = insertion::violations(
                            self.plan.declared,
                            &terms.filter,
                            changes,
                            &terms.conditions,
                            self.validator.beside(),
                        )?;
                    }
                }
            }
            Kind::Update(Form::Pipeline(stages)) => self.finish_pipeline(stages, write.upsert)?,
        }
        for condition in &terms.conditions {
            let condition = condition.filter()?;
            terms.computes |= write.upsert && has_expression(&condition);
            write.filter = document::narrowed(&write.filter, &condition)?;
        }
        Ok(terms)
    }

    /// A sharded server must know from an upsert's filter where the document belongs.
    fn check_shard_key(&self, write: &Write) -> Result<()> {
        let missing = |field: &&String| !is_equal_in(&write.filter, field);
        match self.plan.shard_key.iter().filter(|_| write.upsert).find(missing) {
            Some(field) => {
                let message =
                    "an upsert into a sharded collection says in its filter what the shard key is equal to";
                Err(Error::new(ErrorKind::InvalidArgument, message).with_path(field))
            }
            None => Ok(()),
        }
    }

    /// With what says its kind and its version.
    fn marked(&self, mut whole: RawDocumentBuf) -> Result<RawDocumentBuf> {
        if let Some(kind) = self.plan.lifecycle.kind {
            whole = document::with_field(&whole, kind.tag, RawBson::String(kind.name.to_owned()))?;
        }
        if let Some(versions) = self.plan.lifecycle.versions {
            whole = document::with_field(&whole, versions::FIELD, RawBson::Int32(versions.current))?;
        }
        Ok(whole)
    }

    /// With what is made of the rest.
    fn derived(&self, whole: RawDocumentBuf) -> Result<RawDocumentBuf> {
        match &self.plan.derived {
            Some(derived) => derived.renewed(whole, self.now),
            None => Ok(whole),
        }
    }

    /// Leaves kind and version as they are, and gives the version to a document that an upsert makes.
    fn mark_changes(&self, changes: &mut Vec<Change>, upsert: bool) -> Result<()> {
        let lifecycle = &self.plan.lifecycle;
        for name in [
            lifecycle.kind.map(|kind| kind.tag),
            lifecycle.versions.map(|_| versions::FIELD),
        ]
        .into_iter()
        .flatten()
        {
            if touches(changes, name) {
                let message = "the field that says a document's kind or version is the model's own";
                return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(name));
            }
        }
        if let Some(versions) = lifecycle.versions.filter(|_| upsert) {
            let current = RawBson::Int32(versions.current);
            changes.push(change(versions::FIELD, Action::SetOnInsert(current)));
        }
        Ok(())
    }

    fn created(&self) -> Option<Stamp> {
        self.plan.lifecycle.created.filter(|_| !self.settings.timeless)
    }

    fn updated(&self) -> Option<Stamp> {
        self.plan.lifecycle.updated.filter(|_| !self.settings.timeless)
    }

    fn stamped(&self, document: &RawDocumentBuf, stamps: &[Option<Stamp>]) -> Result<RawDocumentBuf> {
        let mut whole = document.clone();
        for stamp in stamps.iter().flatten() {
            whole = document::with_field(&whole, stamp.name, (stamp.encode)(self.now)?)?;
        }
        Ok(whole)
    }

    fn delete_softly(&self, write: &mut Write) -> Result<()> {
        if let (Kind::Delete, Some(stamp), false) =
            (&write.kind, self.plan.lifecycle.soft_delete, self.settings.purge)
        {
            let set = Action::Set((stamp.encode)(self.now)?);
            write.kind = Kind::Update(Form::Changes {
                changes: vec![change(stamp.name, set)],
                array_filters: Vec::new(),
            });
        }
        Ok(())
    }

    /// Whether the changes are counted for the copies.
    fn is_stamped(&self) -> bool {
        self.marks.is_some_and(|(copied, _)| copied.is_stamped)
    }

    /// With what says that its copies wait.
    fn pending(&mut self, whole: RawDocumentBuf) -> Result<RawDocumentBuf> {
        let Some((_, token)) = self.marks else {
            return Ok(whole);
        };
        self.has_marked = true;
        document::with_field(&whole, PENDING, RawBson::ObjectId(token))
    }

    fn pending_changes(&mut self, changes: &mut Vec<Change>, upsert: bool) {
        let Some((copied, token)) = self.marks else { return };
        if upsert || copied.touches(changes) {
            self.has_marked = true;
            changes.push(change(PENDING, Action::Set(RawBson::ObjectId(token))));
            if copied.is_stamped {
                changes.push(change(STAMP, Action::Increment(RawBson::Int64(1))));
            }
        }
    }

    /// A replacement that leaves the stored date of creation as it is, or is the creation, and goes on counting. The
    /// version of what is perhaps inserted is 0 then, as that of any insert.
    fn replacing(&self, document: RawDocumentBuf, is_new_or_stored: bool) -> Result<Kind> {
        let mut computed = RawDocumentBuf::new();
        if let Some(version) = self.plan.lifecycle.version.filter(|_| is_new_or_stored) {
            let next = document.get(version).ok().flatten().map(RawBson::from);
            let is_new = doc! { "$eq": [{ "$type": format!("${}", INSERTED.as_str()) }, "null"] };
            let mut branches = bson::RawArrayBuf::new();
            branches.push(Raw::from(is_new).into_document()?);
            branches.push(version_like(&document, version, 0));
            branches.push(next.unwrap_or(RawBson::Int32(1)));
            computed.append(
                document::key(version)?,
                document::single(bson::cstr!("$cond"), branches),
            );
        }
        if let Some(stamp) = self.created() {
            let now = (stamp.encode)(self.now)?;
            let mut literal = RawDocumentBuf::new();
            literal.append(bson::cstr!("$literal"), now);
            let mut either = bson::RawArrayBuf::new();
            either.push(format!("${}", stamp.name));
            either.push(literal);
            computed.append(
                document::key(stamp.name)?,
                document::single(bson::cstr!("$ifNull"), either),
            );
        }
        if self.is_stamped() {
            computed.append(document::key(STAMP)?, Raw::from(next_stamp()).into_document()?);
        }
        if computed.is_empty() {
            return Ok(Kind::Replace(document));
        }
        let mut merged = bson::RawArrayBuf::new();
        merged.push(document::single(bson::cstr!("$literal"), document));
        merged.push(computed);
        let replaced = document::single(bson::cstr!("$mergeObjects"), merged);
        Ok(Kind::Update(Form::Pipeline(vec![document::single(
            bson::cstr!("$replaceWith"),
            replaced,
        )])))
    }

    fn stamp_changes(&self, changes: &mut Vec<Change>, upsert: bool) -> Result<()> {
        if let Some(stamp) = self.updated()
            && !touches(changes, stamp.name)
        {
            changes.push(change(stamp.name, Action::Set((stamp.encode)(self.now)?)));
        }
        if let Some(stamp) = self.created().filter(|_| upsert)
            && !touches(changes, stamp.name)
        {
            changes.push(change(stamp.name, Action::SetOnInsert((stamp.encode)(self.now)?)));
        }
        Ok(())
    }

    fn finish_pipeline(&mut self, stages: &mut Vec<RawDocumentBuf>, upsert: bool) -> Result<()> {
        if self.plan.lifecycle.versions.is_some() && upsert {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "an upsert by a pipeline cannot tell a new document from one of an older schema version; use operators, \
                 or `save`",
            ));
        }
        let lifecycle = &self.plan.lifecycle;
        // What counts a document's changes, and its schema version, outlive stages that make another document.
        let versions = lifecycle.versions.map(|_| versions::FIELD);
        let carried: Vec<&str> = [lifecycle.version, versions, self.is_stamped().then_some(STAMP)]
            .into_iter()
            .flatten()
            .collect();
        let mut updated = self.updated();
        if let Some(stamp) = updated
            && own_stages::set(stages, stamp.name, false)?
        {
            updated = None;
        }
        let mut version = lifecycle.version;
        if let Some(name) = version
            && own_stages::set(stages, name, true)?
        {
            version = None;
        }
        own_stages::carry_over(stages, &carried)?;
        let mut set = bson::Document::new();
        if let Some(kind) = lifecycle.kind {
            set.insert(kind.tag, doc! { "$literal": kind.name });
        }
        if let Some(stamp) = updated {
            set.insert(stamp.name, literal((stamp.encode)(self.now)?)?);
        }
        if let Some(stamp) = self.created().filter(|_| upsert) {
            let now = literal((stamp.encode)(self.now)?)?;
            set.insert(stamp.name, doc! { "$ifNull": [format!("${}", stamp.name), now] });
        }
        if let Some(version) = version {
            let one = doc! { "$add": [{ "$ifNull": [format!("${version}"), 0] }, 1] };
            set.insert(version, one);
        }
        if let Some((copied, token)) = self.marks {
            self.has_marked = true;
            set.insert(PENDING, doc! { "$literal": token });
            if copied.is_stamped {
                set.insert(STAMP, next_stamp());
            }
        }
        if self.plan.derived.is_some() {
            self.has_derived = true;
            set.insert(DERIVED_PENDING, doc! { "$literal": self.token });
        }
        if !set.is_empty() {
            stages.push(Raw::from(doc! { "$set": set }).into_document()?);
        }
        let mut bounds = Vec::new();
        bounds_of(self.plan.declared, "", &mut bounds, &mut Vec::new());
        if !bounds.is_empty() {
            stages.push(Raw::from(guard_stage(&bounds)).into_document()?);
        }
        Ok(())
    }

    fn check(&mut self, document: &RawDocumentBuf) -> Result<()> {
        if self.plan.has_rules {
            self.validator.at("");
            self.validator
                .node(self.plan.declared, RawBsonRef::Document(document))?;
        }
        Ok(())
    }

    /// With the write's filter and those of arrays.
    fn check_change(
        &mut self,
        change: &Change,
        (filter, array_filters): (&RawDocumentBuf, &[RawDocumentBuf]),
        conditions: &mut Vec<Condition>,
    ) -> Result<()> {
        let tags = Tags::FoundBy(filter, array_filters);
        let path = change.path.to_string();
        if let Action::Rename(to) = &change.action {
            let bounds: Option<Vec<u32>> = Place::all(self.plan.declared, to, tags)
                .iter()
                .map(Place::bound)
                .collect();
            if let Some(bound) = bounds.and_then(|bounds| bounds.into_iter().max()) {
                conditions.push(Condition {
                    path: path.clone(),
                    must: Must::HaveRoom { bound, more: 0 },
                });
            }
        }
        let places = Place::all(self.plan.declared, &change.path, tags);
        let change = CheckedChange {
            action: &change.action,
            added: Added::by(change),
            taken: Taken::by(change),
            path: &path,
            filter,
            array_filters,
        };
        change.check_at(&places, self.validator, conditions)
    }
}

/// The bounded arrays that have a path of their own.
fn bounds_of(
    declared: &'static Declared,
    path: &str,
    bounds: &mut Vec<(String, u32)>,
    above: &mut Vec<*const Declared>,
) {
    let Declared::Document { fields, .. } = declared else {
        return;
    };
    if above.contains(&std::ptr::from_ref(declared)) {
        return;
    }
    above.push(std::ptr::from_ref(declared));
    for field in *fields {
        let own = match (path, field.name) {
            ("", name) => name.to_owned(),
            (path, "") => path.to_owned(),
            (path, name) => format!("{path}.{name}"),
        };
        for rule in field.rules {
            if let Rule::MaxItems(bound) = rule {
                bounds.push((own.clone(), *bound));
            }
        }
        bounds_of(field.nested(), &own, bounds, above);
    }
    above.pop();
}

/// Whether one of the changes is of this field, or of what is in it.
fn touches(changes: &[Change], field: &str) -> bool {
    changes.iter().any(|change| {
        let is = |path: &str| {
            path.strip_prefix(field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        is(&change.path.to_string()) || matches!(&change.action, Action::Rename(to) if is(&to.to_string()))
    })
}

/// Whether a filter holds an expression.
fn has_expression(filter: &RawDocument) -> bool {
    filter.iter().flatten().any(|(name, value)| {
        name.as_str() == "$expr"
            || match value {
                RawBsonRef::Document(inner) => has_expression(inner),
                RawBsonRef::Array(parts) => parts
                    .into_iter()
                    .flatten()
                    .filter_map(RawBsonRef::as_document)
                    .any(has_expression),
                _ => false,
            }
    })
}

fn change(name: &str, action: Action) -> Change {
    Change {
        path: raw_path(name),
        action,
    }
}

/// The stamp of the document after this change, as an expression.
fn next_stamp() -> bson::Document {
    doc! { "$add": [{ "$ifNull": [format!("${STAMP}"), bson::Bson::Int64(0)] }, bson::Bson::Int64(1)] }
}

/// A version of the width that the field has.
fn version_like(document: &RawDocumentBuf, name: &str, version: i64) -> RawBson {
    match document.get(name) {
        Ok(Some(RawBsonRef::Int64(_))) => RawBson::Int64(version),
        _ => i32::try_from(version).map_or(RawBson::Int64(version), RawBson::Int32),
    }
}

fn literal(value: RawBson) -> Result<bson::Document> {
    let value = codec::decode_untyped_value(value.as_raw_bson_ref())?;
    Ok(doc! { "$literal": value })
}
