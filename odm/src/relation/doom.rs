//! What a deletion means for the documents that refer to what is deleted.

use std::collections::HashSet;

use bson::{Bson, DateTime, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::comparing;
use super::delete_rule::{DeleteRule, Referring};
use super::fetch;
use super::identity::Identity;
use super::keys::{KEYS, Keys};
use super::place::{Release, near, one, referring, releasing};
use super::plan::{and, name, with_needed};
use super::sought::Sought;
use super::stored::{Steps, malformed};
use crate::backend::{self, DeleteStatement, Modification, Operation, ReadOptions, UpdateStatement};
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Scope, Settings, narrow, narrow_kind};
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
            doom.refuse(level.sought(&relation)?, &relation, text).await?;
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
            for relation in rules_about(model) {
                target.check_reach(relation.model)?;
            }
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
            true => Scope::ALL,
            false => Scope::LIVING,
        };
        let projection = Doom::projection(relation.model)?;
        let mut all = Vec::new();
        for sought in self.sought(level, relation).await? {
            let keep = &mut |document: &RawDocument| {
                all.push(document.to_owned());
                Ok(())
            };
            read(&target, relation, &sought, projection.clone(), scope, keep).await?;
        }
        Ok((target, all))
    }

    /// Asks those that can deny it.
    async fn check(&self) -> Result<()> {
        for level in &self.levels {
            for relation in rules(level.model, DeleteRule::Deny) {
                let text = "other documents refer to what is to be deleted, and deny it";
                let sought = self.sought(level, &relation).await?;
                self.refuse(sought, &relation, text).await?;
            }
        }
        Ok(())
    }

    /// Looks whether documents that do not go themselves hold some of the references.
    ///
    /// # Errors
    /// `Referenced` when there are any.
    async fn refuse(
        &self,
        sought: Vec<Sought>,
        relation: &DeclaredRelation,
        text: &'static str,
    ) -> Result<()> {
        let target = self.open(relation)?;
        let mut count = 0;
        let mut first = None;
        for sought in sought {
            let add = &mut |document: &RawDocument| {
                let key = (target.namespace().collection.clone(), id(document)?);
                if !self.all.contains(&key) {
                    count += 1;
                    if first.is_none() {
                        let id = document.get("_id").map_err(malformed)?;
                        first = id.map(Bson::try_from).transpose().map_err(malformed)?;
                    }
                }
                Ok(())
            };
            read(
                &target,
                relation,
                &sought,
                rawdoc! { "_id": 1 },
                Scope::LIVING,
                add,
            )
            .await?;
        }
        if count == 0 {
            return Ok(());
        }
        let id = first.unwrap_or(Bson::Null);
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
        for sought in self.sought(level, relation).await? {
            let filter = referring(&steps, &sought)?;
            let mut filters = vec![filter.clone()];
            if is_collated(relation, &sought) {
                // What is to be written is found by the collection's own indexes, which compare by its collation.
                let mut ids = Keys::default();
                let add = &mut |document: &RawDocument| {
                    ids.add(
                        document
                            .get("_id")
                            .map_err(malformed)?
                            .unwrap_or(RawBsonRef::Null),
                    );
                    Ok(())
                };
                read(&target, relation, &sought, rawdoc! { "_id": 1 }, Scope::ALL, add).await?;
                let by_id = |ids| and(vec![rawdoc! { "_id": { "$in": ids } }, filter.clone()]);
                filters = ids.chunks().into_iter().map(by_id).collect();
            }
            for filter in filters {
                let change = releasing(&steps, &sought, how)?;
                let mut update = update_of(&target, filter, change, true, sought.collation());
                if let Some(plan) = target.plan() {
                    // What else is in the collection has other rules, or none.
                    narrow_kind(plan, &mut update)?;
                }
                write(&target, update, false, at).await?;
            }
        }
        Ok(())
    }

    /// The references that are to the documents of a level and to nothing that stays.
    ///
    /// Softly deleted documents may have the key of a living one, as indexes that ask for unique keys of the living
    /// alone let them. References by that key are to the living one.
    async fn sought(&self, level: &Level, relation: &DeclaredRelation) -> Result<Vec<Sought>> {
        let by = (relation.relation.by)();
        if by == "_id" {
            return level.sought(relation);
        }
        let keys = level.keys(relation)?;
        let mut left = Keys::default();
        for keys in keys {
            let held = self.held_by_others(relation, &by, &keys).await?;
            for key in &keys {
                let key = key.map_err(malformed)?;
                if !held.contains(&Identity::of(key)) {
                    left.add(key);
                }
            }
        }
        Ok(left.chunks().into_iter().map(Sought::by).collect())
    }

    /// The keys that living documents have which do not go themselves.
    async fn held_by_others(
        &self,
        relation: &DeclaredRelation,
        by: &str,
        keys: &RawArrayBuf,
    ) -> Result<HashSet<Identity>> {
        let path = Steps::dotted(by);
        let mut held = HashSet::new();
        for model in (relation.relation.targets)() {
            let target = (model.open)(self.target, None, model.collection)?;
            let needed = Vec::from_iter(path.root().map(str::to_owned));
            let projection = with_needed(Some(rawdoc! { "_id": 1 }), &needed)?;
            let filter = one(by, rawdoc! { "$in": keys.clone() })?;
            let mut find = Operation::Find(fetch::find(&target, filter, projection, Some(KEYS)));
            if let Some(plan) = target.plan() {
                narrow(plan, &mut find, Scope::LIVING)?;
            }
            let collection = &target.namespace().collection;
            let mut cursor = target.execute(find).await?.cursor()?;
            while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
                for document in cursor::documents(&target, "find", &*batch) {
                    let document = document?;
                    let stays = !self.all.contains(&(collection.clone(), id(document)?));
                    if let (true, Some(key)) = (stays, path.one(document)?) {
                        held.insert(Identity::of(key));
                    }
                }
            }
        }
        Ok(held)
    }

    fn open(&self, relation: &DeclaredRelation) -> Result<Target> {
        self.target.check_reach(relation.model)?;
        (relation.model.open)(self.target, None, relation.model.collection)
    }
}

impl Level {
    fn by_id(&self) -> Result<Vec<RawDocumentBuf>> {
        let keys = values(&self.documents, &Steps::dotted("_id"), Keys::add)?.into_iter();
        Ok(keys.map(|keys| rawdoc! { "_id": { "$in": keys } }).collect())
    }

    /// What references to the documents hold. To a document without a key nothing refers.
    fn keys(&self, relation: &DeclaredRelation) -> Result<Vec<RawArrayBuf>> {
        let documents = self.documents.iter();
        let meant = documents.filter(|document| self.is_meant(document, relation));
        values(
            meant,
            &Steps::dotted(&(relation.relation.by)()),
            Keys::add_reference,
        )
    }

    /// The references to the documents, in this collection where they name it.
    fn sought(&self, relation: &DeclaredRelation) -> Result<Vec<Sought>> {
        let at = self.target.namespace();
        let keys = self.keys(relation)?.into_iter();
        Ok(keys
            .map(|keys| Sought::to(keys, relation.relation.named, at))
            .collect())
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
    add: fn(&mut Keys, RawBsonRef<'_>),
) -> Result<Vec<RawArrayBuf>> {
    let mut keys = Keys::default();
    for document in documents {
        if let Some(key) = path.one(document)? {
            add(&mut keys, key);
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

/// Whether the collection's own collation could take some of the references for others.
fn is_collated(relation: &DeclaredRelation, sought: &Sought) -> bool {
    sought.hold_text() && comparing::declared(relation.model).is_some()
}

/// Gives the documents that hold some of the references.
async fn read(
    target: &Target,
    relation: &DeclaredRelation,
    sought: &Sought,
    projection: RawDocumentBuf,
    scope: Scope,
    give: &mut (dyn FnMut(&RawDocument) -> Result<()> + Send),
) -> Result<()> {
    let path = Steps::declared(relation.stored);
    let (filter, is_exact) = near(&relation.steps(), sought)?;
    let is_collated = is_collated(relation, sought);
    let chosen = match is_collated || !is_exact {
        true => Some(sought.chosen()?),
        false => None,
    };
    let projection = match &chosen {
        Some(_) => {
            let needed = Vec::from_iter(path.root().map(str::to_owned));
            with_needed(Some(projection), &needed)?
        }
        None => Some(projection),
    };
    let mut find = fetch::find(target, filter, projection, Some(KEYS));
    if !is_collated {
        find.options.collation = sought.collation();
    }
    let mut operation = Operation::Find(find);
    if let Some(plan) = target.plan() {
        narrow(plan, &mut operation, scope)?;
    }
    let mut cursor = target.execute(operation).await?.cursor()?;
    while let Some(batch) = cursor::next_batch(target, "find", &mut *cursor).await? {
        for document in cursor::documents(target, "find", &*batch) {
            let document = document?;
            let mut refers = chosen.is_none();
            if let Some(chosen) = &chosen {
                path.each(document, &mut |value| {
                    refers = refers || chosen.meet(value)?;
                    Ok(())
                })?;
            }
            if refers {
                give(document)?;
            }
        }
    }
    Ok(())
}

/// One update.
pub(super) fn update_of(
    target: &Target,
    filter: RawDocumentBuf,
    modification: Modification,
    multi: bool,
    collation: Option<RawDocumentBuf>,
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
            collation,
        }],
        ordered: true,
        options: ReadOptions::default(),
    })
}

/// Writes as a rule asks, by the way of every write; how many documents it met.
async fn write(target: &Target, operation: Operation, purge: bool, at: DateTime) -> Result<()> {
    let settings = Settings {
        scope: Scope::ALL,
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
