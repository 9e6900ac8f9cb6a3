//! Changing or removing one document and giving it back.

use super::super::aggregate::pipeline::Memory;
use super::super::document::{Doc, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::Asked;
use super::super::metadata::Kind;
use super::super::projection::Projection;
use super::super::storage::Write;
use super::super::update::{Now, Updater};
use super::query::Query;
use super::search::{self, Limits};
use super::{Deadline, Namespace, batch, record, update, view};

/// What a findAndModify asks for, parsed.
#[derive(Clone, Debug)]
pub(crate) struct FindAndModifyRequest {
    pub(crate) namespace: Namespace,
    pub(crate) query: Query,
    pub(crate) filter: Vec<u8>,
    /// What is wrong with it is told where there is a collection.
    pub(crate) projection: Result<Option<Projection>>,
    /// `None` removes.
    pub(crate) updater: Option<Updater>,
    pub(crate) return_new: bool,
    pub(crate) upsert: bool,
    /// Whether the collection's validator is left aside.
    pub(crate) unvalidated: bool,
    pub(crate) now: Now,
    pub(crate) deadline: Deadline,
}

/// What a findAndModify did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modified {
    /// The old or new document, projected, or nothing.
    pub(crate) value: Option<Vec<u8>>,
    /// Whether a document matched.
    pub(crate) found: bool,
    /// The `_id` of a document that was inserted.
    pub(crate) upserted: Option<Owned>,
}

/// Says before messages that come out of the execution, as the server does.
const EXECUTOR: &str = "Plan executor error during findAndModify";

fn told(fault: Fault) -> Fault {
    fault.while_running(EXECUTOR)
}

/// Refuses what no changed document can be shown by.
fn check_projection(projection: Option<&Projection>, return_new: bool) -> Result<()> {
    let Some(projection) = projection else {
        return Ok(());
    };
    let refuse = |why: &'static str| Err(Fault::new(code::BAD_VALUE, why));
    if projection.wanted().has(Kind::SortKey) {
        return refuse("Cannot use a $meta sortKey projection in findAndModify commands.");
    }
    if return_new && projection.needs_position() {
        return refuse("cannot use a positional projection and return the new document");
    }
    Ok(())
}

/// Runs it.
pub(crate) fn run(write: &mut dyn Write, request: &FindAndModifyRequest) -> Result<Modified> {
    let ns = &request.namespace;
    view::refuse_buckets(write.catalog(), ns)?;
    let Some(collection) = batch::open_for(write, ns, request.upsert)? else {
        request.query.check_without_collection(ns)?;
        return Ok(Modified::default());
    };
    let projection = request.projection.clone()?;
    check_projection(projection.as_ref(), request.return_new)?;
    let collection = batch::unvalidated(collection, request.unvalidated);
    let own = &collection.rules.collation;
    let query = request.query.by_default(own);
    let plan = query.plan(write, &collection, Some(1), request.deadline)?;
    let projection = projection
        .as_ref()
        .map(|projection| {
            projection.settled(request.query.collation_in(own), request.query.matcher.variables())
        })
        .transpose()?;
    let updater = request
        .updater
        .as_ref()
        .map(|updater| updater.by_default(request.query.collation(), own));
    let limits = Limits {
        skip: 0,
        limit: Some(1),
        memory: Memory::of(true),
        is_to_write: true,
    };
    let (found, _) =
        search::all(write, &collection, &query, &plan, limits, request.deadline).map_err(told)?;
    // Where the document matches, in the order that its update or its projection has the conditions in.
    let place = |document: &[u8], needed: bool, asked: Asked| {
        let places = needed.then(|| query.matcher.places(asked));
        places.and_then(|places| places.at(Doc::Raw(document)))
    };
    let project = |document: &[u8], old: Option<&[u8]>| -> Result<Vec<u8>> {
        match &projection {
            None => Ok(document.to_vec()),
            Some(projection) => {
                let document = Doc::Raw(document);
                let matched = old.and_then(|old| place(old, projection.needs_position(), Asked::AsWritten));
                let mut known = query.known(Some(&plan), document, projection.wanted())?;
                // The server has lost it by then.
                known.record = Some(Owned::Null);
                projection.apply_to(document, matched, Some(&known)).map_err(told)
            }
        }
    };
    let Some(one) = found.first() else {
        let (true, Some(updater)) = (request.upsert, &updater) else {
            return Ok(Modified::default());
        };
        let document = updater
            .upsert(Doc::Raw(&request.filter), request.now, request.query.collation())
            .map_err(told)?;
        record::insert(write, ns, &collection, &document).map_err(told)?;
        let value = request.return_new.then(|| project(&document, None));
        return Ok(Modified {
            value: value.transpose()?,
            found: false,
            upserted: Doc::Raw(&document).get("_id").map(Owned::from),
        });
    };
    match &updater {
        None => {
            let answer = project(&one.document, Some(&one.document))?;
            record::remove(write, &collection, one.record, &one.document)?;
            Ok(Modified {
                value: Some(answer),
                found: true,
                upserted: None,
            })
        }
        Some(updater) => {
            write.claim(collection.records, &one.record.to_be_bytes())?;
            let matched = place(&one.document, updater.needs_position(), Asked::ByKind);
            let new = updater
                .apply(Doc::Raw(&one.document), matched, request.now)
                .map_err(told)?;
            let shown = match &new {
                Some(new) if request.return_new => new,
                _ => &one.document,
            };
            let answer = project(shown, Some(&one.document))?;
            if let Some(new) = &new {
                update::check_id(&one.document, new)?;
                let place = (one.record, &*one.document, matched);
                record::update(
                    write,
                    ns,
                    &collection,
                    place,
                    new,
                    (updater, updater.touched().as_deref()),
                )
                .map_err(told)?;
            }
            Ok(Modified {
                value: Some(answer),
                found: true,
                upserted: None,
            })
        }
    }
}
