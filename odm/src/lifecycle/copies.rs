//! Changes of documents of which other documents hold copies.
//!
//! Every write that can change what is copied marks its documents with a token of its own, by the same write. What
//! carries the mark waits for its copies to be made anew; whoever does that takes the mark away, if it is still the
//! one that was seen.

use bson::oid::ObjectId;
use bson::raw::CStr;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};
use futures_core::future::BoxFuture;

use super::copy_chain::{beyond, comes_back};
use super::derivation::{DerivedFields, named};
use super::document::is_within;
use super::scope::{Scope, Settings};
use super::write::{Kind, Write};
use crate::backend::{self, Modification, Operation, ReadOptions, UpdateStatement, WriteStatement};
use crate::collection::Target;
use crate::cursor;
use crate::db::Answer;
use crate::error::Result;
use crate::query::update::{Action, Change};
use crate::relation::{self, CopiedFrom, DeclaredCopy};
use crate::schema::ModelDescriptor;

/// The field that marks a document whose copies wait.
pub(crate) const PENDING: &str = "copies_pending";
/// The field that counts the changes of what is copied, where the model has no version.
pub(crate) const STAMP: &str = "copies_version";

/// How many statements go into one write.
const STATEMENTS: usize = 500;

/// The copies that there are of a model's documents.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) places: Vec<&'static DeclaredCopy>,
    /// The models with tenants that hold copies of what is copied into documents of none.
    beyond: Vec<&'static ModelDescriptor>,
    /// The stored fields that are copied.
    paths: Vec<&'static str>,
    /// The stored fields of which copied fields are derived.
    sources: Vec<String>,
    /// Whether the stamp is to be counted.
    pub(super) is_stamped: bool,
    /// Whether copies are made in documents of the same collection, be it by way of others.
    pub(super) comes_back: bool,
    has_immediate: bool,
    has_eventual: bool,
}

impl Copied {
    /// Nothing of a model that nobody copies.
    pub(super) fn of(model: &'static ModelDescriptor, derived: Option<&DerivedFields>) -> Option<Copied> {
        let places = model.copied();
        if places.is_empty() {
            return None;
        }
        let mut paths: Vec<&'static str> = Vec::new();
        for place in &places {
            let copied = place.copy.fields.iter().map(|(from, _)| from.as_str());
            for path in copied.chain([place.copy.key.as_str()]) {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        let sources = derived
            .map(|derived| derived.sources_of(&paths))
            .unwrap_or_default();
        Some(Copied {
            is_stamped: places.iter().any(|place| place.copy.is_stamped),
            comes_back: comes_back(model),
            has_immediate: places.iter().any(|place| !place.copy.is_eventual),
            has_eventual: places.iter().any(|place| place.copy.is_eventual),
            beyond: beyond(&places),
            places,
            paths,
            sources,
        })
    }

    /// That the copies can be written, whosever the documents are that hold them.
    ///
    /// # Errors
    /// As [`Target::check_reach`].
    pub(crate) fn check_reach(&self, target: &Target) -> Result<()> {
        self.places
            .iter()
            .try_for_each(|place| target.check_reach(place.model))?;
        self.beyond
            .iter()
            .try_for_each(|model| target.check_beyond(model))
    }

    /// Whether a change of this path changes something that is copied.
    fn is_copied(&self, path: &str) -> bool {
        let overlaps = |path: &str, copied: &str| is_within(path, copied) || is_within(copied, path);
        if self.paths.iter().any(|copied| overlaps(path, copied)) {
            return true;
        }
        if self.sources.is_empty() {
            return false;
        }
        let path = named(path);
        self.sources.iter().any(|source| overlaps(&path, source))
    }

    /// Whether a copied field is derived, and so can change after the write that counts the change.
    pub(crate) fn has_derived(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether copies of one shape of a document hold something else than those of another.
    pub(crate) fn differs(&self, one: &RawDocument, other: &RawDocument) -> bool {
        self.places.iter().any(|place| place.differs(one, other))
    }

    /// Whether the changes change something that is copied.
    pub(super) fn touches(&self, changes: &[Change]) -> bool {
        changes.iter().any(|change| {
            self.is_copied(&change.path.to_string())
                || matches!(&change.action, Action::Rename(to) if self.is_copied(&to.to_string()))
        })
    }

    /// Whether the write and its copies are to be one transaction, which is not running yet.
    pub(super) fn wants_transaction(&self, target: &Target, operation: &Operation, hooked: bool) -> bool {
        let db = target.db();
        self.has_immediate
            && db.guard().is_none()
            && db.capabilities().transactions
            && self.concerns(operation, hooked)
    }

    /// Whether the operation can change something that is copied. Hooks can add anything to a change.
    fn concerns(&self, operation: &Operation, hooked: bool) -> bool {
        let modifies = |modification: &Modification, upsert: bool| match modification {
            Modification::Operators(operators) => hooked || upsert || self.is_operated_on(operators),
            _ => true,
        };
        let updates = |update: &UpdateStatement| modifies(&update.modification, update.upsert);
        match operation {
            Operation::Insert(_) => true,
            Operation::Update(update) => update.statements.iter().any(updates),
            Operation::BulkWrite(bulk) => bulk.statements.iter().any(|statement| match statement {
                WriteStatement::Insert(_) => true,
                WriteStatement::Update(update) => updates(update),
                WriteStatement::Delete(_) => false,
            }),
            Operation::FindAndModify(find) => match &find.modification {
                Some(modification) => modifies(modification, find.upsert),
                None => false,
            },
            _ => false,
        }
    }

    fn is_operated_on(&self, operators: &RawDocument) -> bool {
        operators.iter().flatten().any(|(operator, fields)| {
            let RawBsonRef::Document(fields) = fields else {
                return true;
            };
            fields.iter().flatten().any(|(path, operand)| {
                self.is_copied(path.as_str())
                    || (operator.as_str() == "$rename"
                        && operand.as_str().is_some_and(|to| self.is_copied(to)))
            })
        })
    }

    /// What is known of the documents that the writes are about, for the search for what they marked.
    pub(super) fn marked_by(writes: &[Write], token: ObjectId) -> RawDocumentBuf {
        marked_by(writes, PENDING_NAME, token)
    }

    /// Makes the copies of what was marked anew, as far as they do not wait.
    ///
    /// A transaction does not see documents that are stored while it runs, and those who store them do not see what it
    /// changes. So it leaves the mark, and this is done again when it is committed.
    ///
    /// What this program cannot read, as documents of later schema versions, keeps its mark for one that can.
    pub(super) async fn follow(&'static self, target: &Target, marked: RawDocumentBuf) -> Result<()> {
        self.make_anew(target, marked, self.has_derived(), false).await
    }

    /// The same of documents whose values changed and their versions not.
    pub(crate) async fn follow_reshaped(
        &'static self,
        target: &Target,
        marked: RawDocumentBuf,
    ) -> Result<()> {
        self.make_anew(target, marked, true, false).await
    }

    /// `again`: what is up to date is not written once more, for hooks see every write.
    async fn make_anew(
        &'static self,
        target: &Target,
        marked: RawDocumentBuf,
        is_reshaped: bool,
        again: bool,
    ) -> Result<()> {
        self.check_reach(target)?;
        if !self.has_immediate {
            return Ok(());
        }
        let find = relation::find_sources(target, marked.clone());
        let read = relation::read_sources(target, &self.places, find).await?;
        let sources = read.sources;
        if sources.is_empty() {
            return Ok(());
        }
        self.write_anew(target, &sources, is_reshaped, again).await?;
        let db = target.db();
        match db.guard() {
            Some(_) if self.has_eventual => return Ok(()),
            Some(guard) => {
                let outer = target.within(db.outer().executor());
                guard.after_commit(self.follow_again(outer, marked, is_reshaped));
                return Ok(());
            }
            None => {}
        }
        let mut own = marked;
        if !read.refused.is_empty() {
            let refused: RawArrayBuf = read.refused.into_iter().map(|(id, _)| id).collect();
            own = rawdoc! { "$and": [own, { "_id": { "$nin": refused } }] };
        }
        if self.release(target, own, is_reshaped).await? < sources.len() as u64 && is_reshaped {
            for sources in sources.chunks(STATEMENTS) {
                self.settle(target, relation::ids(sources)?).await?;
            }
        }
        Ok(())
    }

    /// Writes the copies of these sources that do not wait.
    async fn write_anew(
        &self,
        target: &Target,
        sources: &[RawDocumentBuf],
        is_reshaped: bool,
        again: bool,
    ) -> Result<()> {
        for place in self.places.iter().filter(|place| !place.copy.is_eventual) {
            let holder = (place.model.open)(target, None, place.model.collection)?;
            for sources in sources.chunks(STATEMENTS) {
                let mut copied = Vec::with_capacity(sources.len());
                for source in relation::followed(place, target, sources).await? {
                    let values = place.copied_from(source)?;
                    copied.extend(values.map(|values| values.reshaped(is_reshaped)));
                }
                let holders = place.holders(&holder, &copied).await?;
                let mut statements = Vec::with_capacity(copied.len());
                let mut versions = Vec::new();
                for (copied, parts) in copied.iter().zip(holders) {
                    for among in parts {
                        if self.comes_back {
                            statements.push(place.update_others(copied, among.clone())?);
                            versions.push(place.update(copied, among)?);
                        } else {
                            statements.push(place.update(copied, among)?);
                        }
                    }
                }
                if !again || (!statements.is_empty() && self.has_outdated(place, &holder, &copied).await?) {
                    write_copies(&holder, statements).await?;
                }
                write_versions(&holder, versions).await?;
            }
        }
        Ok(())
    }

    /// Whether a document holds copies that are to be written.
    async fn has_outdated(
        &self,
        place: &DeclaredCopy,
        holder: &Target,
        copied: &[CopiedFrom],
    ) -> Result<bool> {
        let mut filters = RawArrayBuf::new();
        let mut collation = None;
        for copied in copied {
            let (filter, by) = match self.comes_back {
                true => place.holding_others(copied)?,
                false => place.outdated(copied)?,
            };
            filters.push(filter);
            collation = collation.or(by);
        }
        has_any(holder, filters, collation).await
    }

    /// Takes the marks away, unless there are copies that wait; how many documents have had them.
    async fn release(&self, target: &Target, marked: RawDocumentBuf, counts: bool) -> Result<u64> {
        if !self.has_eventual {
            return unmark(target, marked, true).await;
        }
        match counts {
            true => count(target, marked).await,
            false => Ok(0),
        }
    }

    /// Follows documents again whose marks somebody else has taken away or replaced meanwhile: what was written of
    /// values that change without a version may be what was there before, and nothing would tell.
    async fn settle(&'static self, target: &Target, ids: RawArrayBuf) -> Result<()> {
        loop {
            mark_unmarked(target, ids.clone()).await?;
            let find = relation::find_sources(target, rawdoc! { "_id": { "$in": ids.clone() } });
            let read = relation::read_sources(target, &self.places, find).await?;
            if read.sources.is_empty() {
                return Ok(());
            }
            self.write_anew(target, &read.sources, true, true).await?;
            let marked: RawArrayBuf = read.sources.iter().filter_map(|source| mark_of(source)).collect();
            if marked.is_empty() {
                continue;
            }
            let marked = self.release(target, rawdoc! { "$or": marked }, true).await?;
            if marked == read.sources.len() as u64 {
                return Ok(());
            }
        }
    }

    /// The same once more. What fails here has the mark still.
    fn follow_again(
        &'static self,
        target: Target,
        marked: RawDocumentBuf,
        is_reshaped: bool,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _ = self.make_anew(&target, marked, is_reshaped, true).await;
        })
    }
}

/// `bson`'s macros take names as constants.
const PENDING_NAME: &CStr = bson::cstr!("copies_pending");

/// What is known of the documents that the writes marked with the token.
pub(super) fn marked_by(writes: &[Write], mark: &CStr, token: ObjectId) -> RawDocumentBuf {
    let mut ids = RawArrayBuf::new();
    let mut are_known = true;
    for write in writes {
        match id_of(write) {
            Some(id) => ids.push(id),
            None => are_known = false,
        }
    }
    let mut filter = match are_known {
        true => rawdoc! { "_id": { "$in": ids } },
        false => RawDocumentBuf::new(),
    };
    filter.append(mark, token);
    filter
}

/// The `_id` that a write is about, if it says one.
fn id_of(write: &Write) -> Option<RawBson> {
    if let Kind::Insert(document) = &write.kind {
        return document.get("_id").ok().flatten().map(RawBson::from);
    }
    // By a collation of its own it may be about another.
    if write.collation.is_some() {
        return None;
    }
    match write.filter.get("_id").ok().flatten()? {
        RawBsonRef::Document(condition) => {
            let mut fields = condition.iter().flatten();
            match (fields.next(), fields.next()) {
                (Some((name, id)), None) if name.as_str() == "$eq" => Some(id.into()),
                _ => None,
            }
        }
        RawBsonRef::RegularExpression(_) => None,
        id => Some(id.into()),
    }
}

/// Whether a document of a model that holds copies matches one of the filters.
async fn has_any(holder: &Target, filters: RawArrayBuf, collation: Option<RawDocumentBuf>) -> Result<bool> {
    let mut find = relation::find_sources(holder, rawdoc! { "$or": filters });
    find.options.collation = collation;
    find.limit = 1;
    find.projection = Some(rawdoc! { "_id": 1 });
    let mut find = Operation::Find(find);
    if let Some(plan) = holder.plan() {
        super::narrow_kind(plan, &mut find)?;
    }
    let cursor = holder.execute(find).await?.cursor()?;
    let first = cursor::first(holder, "find", cursor, |_| Ok(())).await?;
    Ok(first.is_some())
}

/// Writes copies by the way of every write of the model that holds them; how many documents changed.
pub(crate) async fn write_copies(holder: &Target, statements: Vec<UpdateStatement>) -> Result<u64> {
    if statements.is_empty() {
        return Ok(0);
    }
    let settings = Settings {
        scope: Scope::ALL,
        ..Settings::default()
    };
    let answer = holder.write(updates(holder, statements)?, settings).await?;
    modified(holder, answer)
}

/// Updates of documents of the holder's kind.
fn updates(holder: &Target, statements: Vec<UpdateStatement>) -> Result<Operation> {
    let mut operation = Operation::Update(backend::Update {
        namespace: holder.namespace().clone(),
        statements,
        ordered: true,
        options: ReadOptions::default(),
    });
    if let Some(plan) = holder.plan() {
        super::narrow_kind(plan, &mut operation)?;
    }
    Ok(operation)
}

fn modified(holder: &Target, answer: Answer) -> Result<u64> {
    let result = answer.write()?;
    match result.errors.into_iter().next() {
        Some((_, error)) => Err(holder.explain(error, "update")),
        None => Ok(result.summary.modified),
    }
}

/// Writes which version of their sources copies have that hold the same as before. No change of the documents: their
/// own versions stay, or a change would never be over where copies come back to the model that they come from.
async fn write_versions(holder: &Target, statements: Vec<UpdateStatement>) -> Result<()> {
    if statements.is_empty() {
        return Ok(());
    }
    let answer = holder.execute(updates(holder, statements)?).await?;
    modified(holder, answer).map(drop)
}

/// The document with its mark, if it has one, as a filter.
pub(crate) fn mark_of(source: &RawDocument) -> Option<RawDocumentBuf> {
    let id = source.get("_id").ok().flatten()?;
    let mark = source.get(PENDING).ok().flatten()?;
    let mut filter = rawdoc! { "_id": { "$eq": id } };
    filter.append(PENDING_NAME, mark);
    Some(filter)
}

/// Takes the mark away; how many documents had it. No change of the document: nothing that the model declares sees it.
pub(crate) async fn unmark(target: &Target, filter: RawDocumentBuf, multi: bool) -> Result<u64> {
    let change = rawdoc! { "$unset": { PENDING_NAME: "" } };
    write_marks(target, filter, change, multi).await
}

/// Marks those of the documents that have no mark.
pub(crate) async fn mark_unmarked(target: &Target, ids: RawArrayBuf) -> Result<()> {
    let filter = rawdoc! { "_id": { "$in": ids }, PENDING_NAME: { "$exists": false } };
    let change = rawdoc! { "$set": { PENDING_NAME: ObjectId::new() } };
    write_marks(target, filter, change, true).await.map(drop)
}

async fn write_marks(
    target: &Target,
    filter: RawDocumentBuf,
    change: RawDocumentBuf,
    multi: bool,
) -> Result<u64> {
    let operation = Operation::Update(backend::Update {
        namespace: target.namespace().clone(),
        statements: vec![UpdateStatement {
            filter,
            modification: Modification::Operators(change),
            multi,
            upsert: false,
            array_filters: Vec::new(),
            hint: None,
            collation: None,
        }],
        ordered: true,
        options: ReadOptions::default(),
    });
    let result = target.execute(operation).await?.write()?;
    match result.errors.into_iter().next() {
        Some((_, error)) => Err(target.explain(error, "update")),
        None => Ok(result.summary.matched),
    }
}

async fn count(target: &Target, filter: RawDocumentBuf) -> Result<u64> {
    let operation = Operation::Count(backend::Count {
        namespace: target.namespace().clone(),
        filter,
        skip: 0,
        limit: 0,
        estimated: false,
        options: ReadOptions::default(),
    });
    target.execute(operation).await?.count()
}
