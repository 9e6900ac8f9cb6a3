//! The way of a model's own writes: hooks, dates, version, validation, soft deletion, the rules of references.

use std::fmt;
use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use odm::action::PreparedWrites;
use odm::backend::{Modification, WriteStatement};
use odm::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use odm::{Collection, Db, Error, ErrorKind, Filter, Model, Update};

use super::core::Core;
use super::error::{Result, TreeError};
use super::plan::{Plan, Write};

/// A model's writes, without its type.
pub(super) trait Gate: fmt::Debug + Send + Sync {
    /// The nodes as they are stored; of a model with tenants those that the database shows.
    fn nodes(&self, db: &Db, collection: &str) -> Collection<Document>;

    /// The writes as the model makes them, and what is to be told when they are written.
    fn prepare<'a>(&self, db: &Db, collection: &'a str, plan: Plan) -> BoxFuture<'a, Result<Prepared>>;

    /// Asks those that refer to nodes, or does to them what the rules say.
    fn rule(
        &self,
        db: &Db,
        collection: &str,
        ids: Vec<Bson>,
        ruling: Ruling,
    ) -> BoxFuture<'static, Result<()>>;
}

/// A plan, and what is to be told when it is carried out.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) plan: Plan,
    writes: Option<PreparedWrites>,
}

impl Prepared {
    /// Lets copies follow, and hooks run.
    pub(super) async fn written(self) -> Result<()> {
        match self.writes {
            Some(writes) => Ok(writes.written().await?),
            None => Ok(()),
        }
    }
}

/// What is asked of the rules of references.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ruling {
    /// Whether nobody denies the deletion.
    Ask,
    /// Whether nobody refers at all.
    Refuse,
    /// What the rules say is done.
    Release { for_ever: bool },
}

/// The gate of a model.
pub(super) struct Typed<M>(PhantomData<fn() -> M>);

impl<M> Typed<M> {
    pub(super) fn new() -> Typed<M> {
        Typed(PhantomData)
    }
}

impl<M> fmt::Debug for Typed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Typed<{}>", std::any::type_name::<M>())
    }
}

impl<M: Model> Gate for Typed<M> {
    fn nodes(&self, db: &Db, collection: &str) -> Collection<Document> {
        db.collection_named::<M>(collection).raw()
    }

    fn prepare<'a>(&self, db: &Db, collection: &'a str, plan: Plan) -> BoxFuture<'a, Result<Prepared>> {
        let collection = db.collection_named::<M>(collection);
        Box::pin(async move {
            match collection.has_lifecycle() {
                true => prepare(&collection, plan).await,
                false => Ok(Prepared { plan, writes: None }),
            }
        })
    }

    fn rule(
        &self,
        db: &Db,
        collection: &str,
        ids: Vec<Bson>,
        ruling: Ruling,
    ) -> BoxFuture<'static, Result<()>> {
        let collection = db.collection_named::<M>(collection);
        Box::pin(async move {
            if ids.is_empty() || !collection.has_lifecycle() {
                return Ok(());
            }
            let filter = doc! { "_id": { "$in": ids } };
            match ruling {
                Ruling::Ask => collection.ask_references(filter).await?,
                Ruling::Refuse => collection.refuse_references(filter).await?,
                Ruling::Release { for_ever } => collection.release_references(filter, for_ever).await?,
            }
            Ok(())
        })
    }
}

async fn prepare<M: Model>(collection: &Collection<M>, mut plan: Plan) -> Result<Prepared> {
    let mut bulk = collection.bulk_write().with_deleted().unscoped();
    if plan.for_ever {
        bulk = bulk.for_ever();
    }
    let mut inserted = Vec::new();
    for write in &mut plan.writes {
        match write {
            Write::Insert(document) => inserted.push(encoded(document)?),
            Write::Set { id, set, unset } => {
                let (filter, update) = (Write::filter(id), Write::update(set, unset));
                bulk = bulk.update_one(|_| Filter::raw(filter), |_| Update::raw(update));
            }
            Write::Delete(ids) => {
                let filter = Write::filter_all(ids);
                bulk = bulk.delete_many(|_| Filter::raw(filter));
            }
            Write::Rename { from, new, .. } => {
                rename(collection, new).await?;
                inserted.push(encoded(new)?);
                let filter = Write::filter(from);
                bulk = bulk.delete_one(|_| Filter::raw(filter));
            }
            Write::Made { .. } => {}
        }
    }
    let prepared = bulk.prepared().await?;
    let mut statements = prepared.statements().iter();
    for write in &mut plan.writes {
        if !matches!(write, Write::Insert(_) | Write::Made { .. })
            && let Some(statement) = statements.next()
        {
            made(write, statement)?;
        }
    }
    Ok(Prepared {
        plan,
        writes: Some(prepared.with_inserted(inserted)?),
    })
}

/// To the model, a renamed node is a new document.
async fn rename<M: Model>(collection: &Collection<M>, new: &mut Document) -> Result<()> {
    let node = collection.decode(&encoded(new)?)?;
    let id = new.get("_id").cloned();
    for document in collection
        .insert_many([node])
        .without_timestamps()
        .prepared()
        .await?
    {
        new.extend(decoded(&document)?);
    }
    if let Some(id) = id {
        new.insert("_id", id);
    }
    Ok(())
}

/// Makes a write what the model made of it.
fn made(write: &mut Write, statement: &WriteStatement) -> Result<()> {
    let (own, is_deletion) = match write {
        Write::Set { id, set, unset } => ((Write::filter(id), Some(Write::update(set, unset))), false),
        Write::Delete(ids) => ((Write::filter_all(ids), None), true),
        _ => return Ok(()),
    };
    let theirs = match statement {
        WriteStatement::Update(update) => match &update.modification {
            Modification::Operators(operators) if update.array_filters.is_empty() => {
                (decoded(&update.filter)?, Some(decoded(operators)?))
            }
            _ => {
                let text = "a hook may only add operators without array filters to the changes of a tree";
                return Err(Error::new(ErrorKind::Unsupported, text).into());
            }
        },
        WriteStatement::Delete(delete) => (decoded(&delete.filter)?, None),
        WriteStatement::Insert(_) => return Ok(()),
    };
    if own == theirs {
        return Ok(());
    }
    let ids = match write {
        Write::Set { id, .. } => vec![id.clone()],
        Write::Delete(ids) => std::mem::take(ids),
        _ => Vec::new(),
    };
    let (filter, update) = theirs;
    *write = Write::Made {
        ids,
        filter,
        update,
        is_deletion,
    };
    Ok(())
}

fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    super::repair::encoded(document)
}

pub(super) fn decoded(document: &RawDocument) -> Result<Document> {
    Document::try_from(document).map_err(|error| {
        let error = Error::new(ErrorKind::Encode, "the write does not fit bson").with_source(error);
        TreeError::Database(error)
    })
}

impl Core {
    /// The writes of a plan as the model makes them.
    pub(super) async fn prepare(&self, plan: Plan) -> Result<Prepared> {
        self.gate.prepare(&self.db, &self.layout.collection, plan).await
    }

    /// The rules of references to nodes that go.
    pub(super) async fn rule(&self, ids: Vec<Bson>, ruling: Ruling) -> Result<()> {
        self.gate
            .rule(&self.db, &self.layout.collection, ids, ruling)
            .await
    }
}
