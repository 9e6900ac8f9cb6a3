//! What a deletion means for the documents that refer to what is deleted.

use std::collections::HashSet;

use bson::{Bson, DateTime, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::delete_rule::{DeleteRule, Referring};
use super::fetch::{self, KEYS, Keys};
use super::identity::Identity;
use super::place::{Release, referring, releasing};
use super::plan::name;
use super::stored::{Steps, malformed};
use crate::backend::{self, DeleteStatement, Modification, Operation, ReadOptions, UpdateStatement};
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Scope, Settings, narrow};
use crate::schema::{DeclaredRelation, ModelDescriptor};

/// Whether deletions of a model's documents mean something for others.
pub(crate) fn has_rules(model: &'static ModelDescriptor) -> bool {
    rules_about(model).next().is_some()
}

/// The references to a model, or to one of the kinds that it holds, that have rules.
fn rules_about(model: &'static ModelDescriptor) -> impl Iterator<Item = DeclaredRelation> {
    let mut models: Vec<&'static ModelDescriptor> = Vec::new();
    let kinds = model.kinds.iter().map(|kind| kind.model);
    for referrer in std::iter::once(model)
        .chain(kinds)
        .flat_map(|model| model.referred_by)
    {
        let referrer = referrer();
        if !models.iter().any(|known| known.is(referrer)) {
            models.push(referrer);
        }
    }
    models
        .into_iter()
        .flat_map(ModelDescriptor::relations)
        .filter(move |relation| {
            relation.relation.on_delete.is_some()
                && (relation.refers_to(model)
                    || model.kinds.iter().any(|kind| relation.refers_to(kind.model)))
        })
}

/// The documents that are deleted together, found before anything is written.
///
/// What refers is written first, deepest level first, and what was to be deleted comes last, so that at any moment
/// in between no reference dangles (unless references go in a circle), and the same deletion can be asked again.
pub(crate) struct Doom<'a> {
    /// The collection of what is to be deleted.
    target: &'a Target,
    /// Whether what refers goes for ever too.
    purge: bool,
    levels: Vec<Level>,
    /// Collection and `_id` of all of them.
    all: HashSet<(String, Identity)>,
}

/// Documents of one model.
struct Level {
    model: &'static ModelDescriptor,
    target: Target,
    /// The `_id`s and what references hold.
    documents: Vec<RawDocumentBuf>,
}

impl Doom<'_> {
    /// What of a document must be known for this: the names of the fields.
    pub(crate) fn projection(model: &'static ModelDescriptor) -> Result<RawDocumentBuf> {
        let mut names = vec!["_id".to_owned()];
        for relation in rules_about(model) {
            let by = Steps::dotted(&(relation.relation.by)());
            if let Some(root) = by.root()
                && !names.iter().any(|name| name == root)
            {
                names.push(root.to_owned());
            }
        }
        if !model.kinds.is_empty() && names.iter().all(|name| name != model.tag) {
            names.push(model.tag.to_owned());
        }
        let mut projection = RawDocumentBuf::new();
        for field in &names {
            projection.append(name(field)?, 1);
        }
        Ok(projection)
    }

    /// Finds what goes with these documents, which have the fields of the projection.
    ///
    /// # Errors
    /// `Referenced` when a document that stays denies it.
    pub(crate) async fn of<'a>(
        model: &'static ModelDescriptor,
        target: &'a Target,
        documents: Vec<RawDocumentBuf>,
        purge: bool,
    ) -> Result<Doom<'a>> {
        let mut doom = Doom {
            target,
            purge,
            levels: Vec::new(),
            all: HashSet::new(),
        };
        doom.add(model, target.clone(), documents)?;
        let mut next = 0;
        while let Some(level) = doom.levels.get(next) {
            let mut found = Vec::new();
            for relation in rules(level.model, DeleteRule::Cascade) {
                found.push((relation.model, doom.referring_to(level, &relation).await?));
            }
            for (model, (target, documents)) in found {
                doom.add(model, target, documents)?;
            }
            next += 1;
        }
        doom.check().await?;
        Ok(doom)
    }

    /// Whether nothing refers to these documents by a reference with a rule, whatever the rule.
    ///
    /// # Errors
    /// `Referenced` when something does.
    pub(crate) async fn ask_for_none(
        model: &'static ModelDescriptor,
        target: &Target,
        documents: Vec<RawDocumentBuf>,
    ) -> Result<()> {
        let level = Level {
            model,
            target: target.clone(),
            documents,
        };
        let doom = Doom {
            target,
            purge: true,
            levels: Vec::new(),
            all: HashSet::new(),
        };
        for relation in rules_about(model) {
            let text = "other documents refer to this one by a reference with a rule";
            doom.refuse(&level, &relation, text).await?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        model: &'static ModelDescriptor,
        target: Target,
        documents: Vec<RawDocumentBuf>,
    ) -> Result<()> {
        let mut new = Vec::new();
        for document in documents {
            if self
                .all
                .insert((target.namespace().collection.clone(), id(&document)?))
            {
                new.push(document);
            }
        }
        if !new.is_empty() {
            self.levels.push(Level {
                model,
                target,
                documents: new,
            });
        }
        Ok(())
    }

    async fn referring_to(
        &self,
        level: &Level,
        relation: &DeclaredRelation,
    ) -> Result<(Target, Vec<RawDocumentBuf>)> {
        let target = self.open(relation)?;
        let scope = match self.purge {
            true => Scope::All,
            false => Scope::Living,
        };
        let projection = Doom::projection(relation.model)?;
        let mut all = Vec::new();
        for filter in level.filters(relation)? {
            let find = find(&target, filter, projection.clone(), scope)?;
            let cursor = target.execute(find).await?.cursor()?;
            all.extend(cursor::collect(&target, "find", cursor, |document| Ok(document.to_owned())).await?);
        }
        Ok((target, all))
    }

    /// Asks those that can deny it.
    async fn check(&self) -> Result<()> {
        for level in &self.levels {
            for relation in rules(level.model, DeleteRule::Deny) {
                let text = "other documents refer to what is to be deleted, and deny it";
                self.refuse(level, &relation, text).await?;
            }
        }
        Ok(())
    }

    /// Looks whether documents that do not go themselves refer to those of a level.
    ///
    /// # Errors
    /// `Referenced` when there are any.
    async fn refuse(&self, level: &Level, relation: &DeclaredRelation, text: &'static str) -> Result<()> {
        let target = self.open(relation)?;
        let mut count = 0;
        let mut first = None;
        for filter in level.filters(relation)? {
            let find = find(&target, filter, rawdoc! { "_id": 1 }, Scope::Living)?;
            let mut cursor = target.execute(find).await?.cursor()?;
            while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
                for index in 0..batch.len() {
                    let Some(document) = batch.get(index) else { break };
                    let key = (target.namespace().collection.clone(), id(document)?);
                    if !self.all.contains(&key) {
                        count += 1;
                        first = first.or(document.get("_id").map_err(malformed)?.map(Bson::try_from));
                    }
                }
            }
        }
        if count == 0 {
            return Ok(());
        }
        let id = first.transpose().map_err(malformed)?.unwrap_or(Bson::Null);
        Err(Error::new(ErrorKind::Referenced, text).with_referring(Referring {
            model: relation.model.name,
            field: relation.stored,
            count,
            id,
        }))
    }

    /// Writes all but the deletion of the documents that it began with, everything at one time.
    pub(crate) async fn carry_out(&self, at: DateTime) -> Result<()> {
        for (depth, level) in self.levels.iter().enumerate().rev() {
            for relation in rules(level.model, DeleteRule::Nullify) {
                self.release(level, &relation, Release::Null, at).await?;
            }
            for relation in rules(level.model, DeleteRule::Pull) {
                self.release(level, &relation, Release::TakeOut, at).await?;
            }
            if depth > 0 {
                for filter in level.by_id()? {
                    let operation = Operation::Delete(backend::Delete {
                        namespace: level.target.namespace().clone(),
                        statements: vec![DeleteStatement {
                            filter,
                            multi: true,
                            hint: None,
                            collation: None,
                        }],
                        ordered: true,
                        options: ReadOptions::default(),
                    });
                    write(&level.target, operation, self.purge, at).await?;
                }
            }
        }
        Ok(())
    }

    /// The filters of the documents that it began with, each for a part of them.
    pub(crate) fn filters(&self) -> Result<Vec<RawDocumentBuf>> {
        match self.levels.first() {
            Some(level) => level.by_id(),
            None => Ok(vec![rawdoc! { "_id": { "$in": [] } }]),
        }
    }

    async fn release(
        &self,
        level: &Level,
        relation: &DeclaredRelation,
        how: Release,
        at: DateTime,
    ) -> Result<()> {
        let target = self.open(relation)?;
        let steps = relation.steps();
        for keys in level.keys(relation)? {
            let filter = referring(&steps, keys.clone())?;
            let update = update_of(&target, filter, releasing(&steps, keys, how)?, true);
            write(&target, update, false, at).await?;
        }
        Ok(())
    }

    fn open(&self, relation: &DeclaredRelation) -> Result<Target> {
        (relation.model.open)(self.target, None, relation.model.collection)
    }
}

impl Level {
    /// What refers to the documents, each filter for a part of them.
    fn filters(&self, relation: &DeclaredRelation) -> Result<Vec<RawDocumentBuf>> {
        let steps = relation.steps();
        let keys = self.keys(relation)?.into_iter();
        keys.map(|keys| referring(&steps, keys)).collect()
    }

    fn by_id(&self) -> Result<Vec<RawDocumentBuf>> {
        let keys = values(&self.documents, &Steps::dotted("_id"))?.into_iter();
        Ok(keys.map(|keys| rawdoc! { "_id": { "$in": keys } }).collect())
    }

    /// What references to the documents hold.
    fn keys(&self, relation: &DeclaredRelation) -> Result<Vec<RawArrayBuf>> {
        let documents = self.documents.iter();
        let meant = documents.filter(|document| self.is_meant(document, relation));
        values(meant, &Steps::dotted(&(relation.relation.by)()))
    }

    /// Whether the references can be to a document: those to one kind are not to the others of an enum.
    fn is_meant(&self, document: &RawDocument, relation: &DeclaredRelation) -> bool {
        if relation.refers_to(self.model) {
            return true;
        }
        let name = document.get_str(self.model.tag).ok();
        let mut kinds = self.model.kinds.iter();
        kinds.any(|kind| Some(kind.name) == name && relation.refers_to(kind.model))
    }
}

/// The values that documents have at a path, each array for a part of them.
fn values<'a>(
    documents: impl IntoIterator<Item = &'a RawDocumentBuf>,
    path: &Steps,
) -> Result<Vec<RawArrayBuf>> {
    let mut keys = Keys::default();
    for document in documents {
        if let Some(key) = path.one(document)? {
            keys.add(key);
        }
    }
    Ok(keys.chunks())
}

fn rules(model: &'static ModelDescriptor, rule: DeleteRule) -> impl Iterator<Item = DeclaredRelation> {
    rules_about(model).filter(move |relation| relation.relation.on_delete == Some(rule))
}

fn id(document: &RawDocument) -> Result<Identity> {
    let id = document.get("_id").map_err(malformed)?;
    Ok(Identity::of(id.unwrap_or(RawBsonRef::Null)))
}

fn find(
    target: &Target,
    filter: RawDocumentBuf,
    projection: RawDocumentBuf,
    scope: Scope,
) -> Result<Operation> {
    let mut operation = Operation::Find(fetch::find(target, filter, Some(projection), Some(KEYS)));
    if let Some(plan) = target.plan() {
        narrow(plan, &mut operation, scope)?;
    }
    Ok(operation)
}

/// One update.
pub(super) fn update_of(
    target: &Target,
    filter: RawDocumentBuf,
    modification: Modification,
    multi: bool,
) -> Operation {
    Operation::Update(backend::Update {
        namespace: target.namespace().clone(),
        statements: vec![UpdateStatement {
            filter,
            modification,
            multi,
            upsert: false,
            array_filters: Vec::new(),
            hint: None,
            collation: None,
        }],
        ordered: true,
        options: ReadOptions::default(),
    })
}

/// Writes as a rule asks, by the way of every write; how many documents it met.
async fn write(target: &Target, operation: Operation, purge: bool, at: DateTime) -> Result<()> {
    let settings = Settings {
        scope: Scope::All,
        purge,
        carried_out: true,
        at: Some(at),
        ..Settings::default()
    };
    let result = target.write(operation, settings).await?.write()?;
    match result.errors.into_iter().next() {
        Some((_, error)) => Err(target.explain(error, "update")),
        None => Ok(()),
    }
}
