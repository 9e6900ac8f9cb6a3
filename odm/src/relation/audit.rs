//! Reading collections through to find what is wrong with the references in them.

use std::collections::VecDeque;

use bson::{Bson, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::declared_copy::DeclaredCopy;
use super::delete_rule::DeleteRule;
use super::doom::update_of;
use super::fetch;
use super::identity::Identity;
use super::keys::Keys;
use super::link::Pointer;
use super::place::{Release, referring, releasing};
use super::plan::{Forward, Node, Plan, and, name, with_needed};
use super::problem::{RelationProblem, RelationProblemKind};
use super::shelf::{Place, Shelf, place};
use super::sought::Sought;
use super::stale_copy::Found;
use super::stored::{Steps, malformed};
use super::two_way::TwoWay;
use crate::backend::{self, BatchCursor, DeleteStatement, Operation, ReadOptions};
use crate::collection::Target;
use crate::cursor::{documents, next_batch};
use crate::error::Result;
use crate::lifecycle::{Scope, narrow};
use crate::schema::{DeclaredRelation, ModelDescriptor};

/// How many documents are looked at together.
const BATCH: u32 = 500;

/// Goes through the documents of models, batch by batch.
pub(crate) struct Audit {
    waiting: VecDeque<(&'static ModelDescriptor, Target)>,
    reading: Option<Reading>,
    found: VecDeque<Finding>,
}

/// Problems of one relation and batch, and what repairs them.
#[derive(Default)]
pub(crate) struct Finding {
    pub(crate) problems: Vec<RelationProblem>,
    /// How many of them nothing can repair.
    pub(crate) left: u64,
    pub(crate) repairs: Vec<(Target, Operation)>,
    /// References that dangle: where they lead, if they say so, which documents, which keys.
    dangling: Vec<(Place, Keys, Keys)>,
}

struct Reading {
    model: &'static ModelDescriptor,
    target: Target,
    cursor: Box<dyn BatchCursor>,
    checks: Vec<Check>,
    copies: &'static [DeclaredCopy],
}

/// One relation of a model, and how its targets are looked for.
struct Check {
    relation: DeclaredRelation,
    path: Steps,
    plan: Plan,
    /// Whether what is softly deleted counts as not there.
    excludes_deleted: bool,
    /// The other side, if there is one.
    two_way: Option<TwoWay>,
}

impl Audit {
    /// Of the documents of a collection.
    pub(crate) fn of(model: &'static ModelDescriptor, target: Target) -> Audit {
        Audit {
            waiting: VecDeque::from([(model, target)]),
            reading: None,
            found: VecDeque::new(),
        }
    }

    /// Also of the models that can be reached from these by references, in either direction.
    ///
    /// # Errors
    /// A wrong declaration of a model.
    pub(crate) fn with_related(mut self) -> Result<Audit> {
        let mut next = 0;
        while let Some((model, target)) = self.waiting.get(next).cloned() {
            next += 1;
            let targets = model
                .relations()
                .flat_map(|relation| (relation.relation.targets)());
            let sources = model.copies().iter().map(|copy| copy.copy.source);
            let referrers = model.referred_by.iter().chain(model.copied_to);
            let referrers = referrers.map(|referrer| referrer());
            for related in targets.chain(sources).chain(referrers) {
                if !self.waiting.iter().any(|(known, _)| known.is(related)) {
                    let target = (related.open)(&target, None, related.collection)?;
                    self.waiting.push_back((related, target));
                }
            }
        }
        Ok(self)
    }

    /// The next problems.
    pub(crate) async fn next(&mut self) -> Result<Option<Finding>> {
        loop {
            if let Some(finding) = self.found.pop_front() {
                return Ok(Some(finding));
            }
            if self.reading.is_none() {
                match self.waiting.pop_front() {
                    Some((model, target)) => self.reading = Reading::begin(model, target).await?,
                    None => return Ok(None),
                }
            }
            if let Some(reading) = &mut self.reading
                && !reading.look(&mut self.found).await?
            {
                self.reading = None;
            }
        }
    }
}

impl Reading {
    /// Nothing for a model that refers to nothing.
    async fn begin(model: &'static ModelDescriptor, target: Target) -> Result<Option<Reading>> {
        let mut projection = rawdoc! { "_id": 1 };
        let mut checks = Vec::new();
        for relation in model.relations() {
            // Of references inside of embedded documents the field that holds those.
            let field = relation.stored.split('.').next().unwrap_or_default();
            if !projection
                .iter()
                .any(|shown| shown.is_ok_and(|(name, _)| name == field))
            {
                projection.append(name(field)?, 1);
            }
            checks.push(Check::of(relation, &target)?);
        }
        let copies = model.copies();
        if checks.is_empty() && copies.is_empty() {
            return Ok(None);
        }
        let mut projection = Some(projection);
        for copy in copies {
            target.check_reach(copy.copy.source)?;
            match (copy.root(), &mut projection) {
                (Some(root), Some(projection)) => {
                    if projection.get(root).map_err(malformed)?.is_none() {
                        projection.append(name(root)?, 1);
                    }
                }
                _ => projection = None,
            }
        }
        let mut find = fetch::find(&target, RawDocumentBuf::new(), projection, None);
        find.batch_size = Some(BATCH);
        let mut find = Operation::Find(find);
        if let Some(plan) = target.plan() {
            narrow(plan, &mut find, Scope::LIVING)?;
        }
        let cursor = target.execute(find).await?.cursor()?;
        Ok(Some(Reading {
            model,
            target,
            cursor,
            checks,
            copies,
        }))
    }

    /// Looks at one more batch; whether there was one.
    async fn look(&mut self, found: &mut VecDeque<Finding>) -> Result<bool> {
        let Some(batch) = next_batch(&self.target, "find", &mut *self.cursor).await? else {
            return Ok(false);
        };
        let documents: Vec<&RawDocument> = documents(&self.target, "find", &*batch).collect::<Result<_>>()?;
        for check in &self.checks {
            let shelf = check
                .plan
                .fetch(&self.target, &documents, &ReadOptions::default())
                .await?;
            let finding = check.documents(self.model, &self.target, &shelf, &documents);
            let finding = finding.map_err(|error| self.target.explain(error, "find"))?;
            if !finding.problems.is_empty() {
                found.push_back(finding);
            }
        }
        for copy in self.copies {
            let mut stale = copy.stale(&self.target, &documents).await?;
            // The check of the reference inside of the copy tells of sources that are gone.
            if self
                .checks
                .iter()
                .any(|check| check.relation.stored.starts_with(copy.path.as_str()))
            {
                stale.retain(|found| !found.copy.is_missing());
            }
            let finding = Finding::of_copies(copy, &self.target, stale);
            if !finding.problems.is_empty() {
                found.push_back(finding);
            }
        }
        Ok(true)
    }
}

impl Finding {
    /// The documents and keys of references that dangle and lead there.
    fn dangling_at(&mut self, place: Place) -> (&mut Keys, &mut Keys) {
        let known = self.dangling.iter().position(|(known, ..)| *known == place);
        let at = known.unwrap_or_else(|| {
            self.dangling.push((place, Keys::default(), Keys::default()));
            self.dangling.len() - 1
        });
        let (_, ids, keys) = &mut self.dangling[at];
        (ids, keys)
    }

    fn of_copies(place: &'static DeclaredCopy, target: &Target, copies: Vec<Found>) -> Finding {
        let mut finding = Finding::default();
        for Found { copy, repair } in copies {
            let kind = match copy.is_missing() {
                true => RelationProblemKind::Dangling,
                false => RelationProblemKind::StaleCopy,
            };
            finding.left += u64::from(copy.is_missing());
            finding.repairs.extend(repair.map(|statement| {
                let operation = Operation::Update(backend::Update {
                    namespace: target.namespace().clone(),
                    statements: vec![statement],
                    ordered: true,
                    options: ReadOptions::default(),
                });
                (target.clone(), operation)
            }));
            finding.problems.push(RelationProblem {
                kind,
                model: copy.model,
                collection: copy.collection,
                id: copy.id,
                field: &place.path,
                key: copy.key,
            });
        }
        finding
    }
}

impl Check {
    fn of(relation: DeclaredRelation, target: &Target) -> Result<Check> {
        let declared = relation.relation;
        for referred in (declared.targets)() {
            // What another tenant has would be taken for gone.
            target.check_reach(referred)?;
        }
        let excludes_deleted = !matches!(declared.on_delete, None | Some(DeleteRule::Deny));
        let mut needed = Vec::new();
        for model in (declared.targets)().into_iter().filter(|_| excludes_deleted) {
            let target = (model.open)(target, None, model.collection)?;
            needed.extend(deleted(&target).map(str::to_owned));
        }
        let two_way = TwoWay::of(&relation, target)?;
        needed.extend(two_way.as_ref().map(|two_way| two_way.far.root().to_owned()));
        let projection = with_needed(Some(rawdoc! { "_id": 1 }), &needed)?;
        let path = Steps::declared(relation.stored);
        let plan = Plan(Node::Forward(Forward {
            path: path.clone(),
            links: declared.links,
            key: Steps::dotted(&(declared.by)()),
            aim: declared.aim,
            collection: None,
            projection,
            // The rule says whether what is softly deleted is there.
            scope: Scope::ALL,
            nested: Box::new(Plan::nothing()),
        }));
        Ok(Check {
            relation,
            path,
            plan,
            excludes_deleted,
            two_way,
        })
    }

    fn documents(
        &self,
        model: &'static ModelDescriptor,
        target: &Target,
        shelf: &Shelf,
        documents: &[&RawDocument],
    ) -> Result<Finding> {
        let mut finding = Finding::default();
        for document in documents {
            self.document(model, target, shelf, document, &mut finding)?;
        }
        for (place, ids, keys) in std::mem::take(&mut finding.dangling) {
            let (ids, keys) = (ids.chunks(), keys.chunks());
            for ids in &ids {
                for keys in &keys {
                    let repair = self.let_go(target, &place, ids.clone(), keys.clone())?;
                    finding
                        .repairs
                        .extend(repair.map(|operation| (target.clone(), operation)));
                }
            }
        }
        Ok(finding)
    }

    fn document(
        &self,
        model: &'static ModelDescriptor,
        target: &Target,
        shelf: &Shelf,
        document: &RawDocument,
        finding: &mut Finding,
    ) -> Result<()> {
        let mut seen: Vec<(Place, Identity)> = Vec::new();
        let links = self.relation.relation.links;
        let here = target.namespace().database.as_str();
        let look = &mut |pointer: Pointer<'_>| {
            let database = pointer.database.filter(|database| *database != here);
            let place = place(&Pointer { database, ..pointer });
            let reference = (place.clone(), Identity::of(pointer.key));
            if seen.contains(&reference) {
                return Ok(());
            }
            seen.push(reference);
            let id: RawBson = match document.get("_id").map_err(malformed)? {
                Some(id) => id.into(),
                None => RawBson::Null,
            };
            let kind = match (self.referred(shelf, &pointer)?, &self.two_way) {
                (None, _) => {
                    match self.relation.relation.on_delete {
                        None | Some(DeleteRule::Deny) => finding.left += 1,
                        Some(_) => {
                            let (ids, keys) = finding.dangling_at(place);
                            ids.add(id.as_raw_bson_ref());
                            keys.add(pointer.key);
                        }
                    }
                    RelationProblemKind::Dangling
                }
                (Some(stored), Some(two_way)) if !two_way.is_held(stored, id.as_raw_bson_ref())? => {
                    match two_way.repair(&id, &pointer.key.into(), stored)? {
                        Some(repair) => finding.repairs.push(repair),
                        None => finding.left += 1,
                    }
                    RelationProblemKind::OneSided
                }
                (Some(_), _) => return Ok(()),
            };
            finding.problems.push(RelationProblem {
                kind,
                model: model.name,
                collection: target.namespace().collection.clone(),
                id: value(id.as_raw_bson_ref())?,
                field: self.relation.stored,
                key: value(pointer.key)?,
            });
            Ok(())
        };
        self.path
            .each(document, &mut |value| links.each(Some(value), look))
    }

    /// What is referred to, if it is there.
    fn referred<'s>(&self, shelf: &'s Shelf, pointer: &Pointer<'_>) -> Result<Option<&'s RawDocument>> {
        let Some((group, stored)) = shelf.referred(pointer) else {
            return Ok(None);
        };
        let Some(deleted) = deleted(&group.target).filter(|_| self.excludes_deleted) else {
            return Ok(Some(stored));
        };
        Ok(match stored.get(deleted).map_err(malformed)? {
            None | Some(RawBsonRef::Null) => Some(stored),
            Some(_) => None,
        })
    }

    /// What the reference's rule says of targets that are not there, for documents that still refer to them.
    fn let_go(
        &self,
        target: &Target,
        place: &Place,
        ids: RawArrayBuf,
        keys: RawArrayBuf,
    ) -> Result<Option<Operation>> {
        let steps = self.relation.steps();
        let sought = match place {
            (_, None) => Sought::by(keys),
            (Some(database), Some(collection)) => Sought::away(keys, collection, database),
            (None, Some(collection)) => Sought::to(keys, true, &target.namespace().beside(collection)),
        };
        let filter = rawdoc! { "_id": { "$in": ids } };
        let filter = and(vec![filter, referring(&steps, &sought)?]);
        let release = |filter, how| -> Result<Option<Operation>> {
            let change = releasing(&steps, &sought, how)?;
            Ok(Some(update_of(target, filter, change, true, sought.collation())))
        };
        Ok(match self.relation.relation.on_delete {
            None | Some(DeleteRule::Deny) => None,
            Some(DeleteRule::Cascade) => Some(Operation::Delete(backend::Delete {
                namespace: target.namespace().clone(),
                statements: vec![DeleteStatement {
                    filter,
                    multi: true,
                    hint: None,
                    collation: sought.collation(),
                }],
                ordered: true,
                options: ReadOptions::default(),
            })),
            Some(DeleteRule::Nullify) => release(filter, Release::Null)?,
            Some(DeleteRule::Pull) => release(filter, Release::TakeOut)?,
        })
    }
}

/// The field by which documents of a collection are softly deleted.
fn deleted(target: &Target) -> Option<&'static str> {
    target.plan().and_then(|plan| plan.lifecycle.soft_delete_field())
}

fn value(value: RawBsonRef<'_>) -> Result<Bson> {
    Bson::try_from(value).map_err(malformed)
}
