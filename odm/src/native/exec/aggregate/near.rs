//! `$geoNear` in front of a pipeline: the field that it looks at, and what may stand before it on a time series.

use super::super::super::aggregate::GeoNear;
use super::super::super::catalog::Collection;
use super::super::super::catalog::rules::Series;
use super::super::super::document::{Doc, Owned};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::index::Order;
use super::super::super::storage::Read;
use super::super::{Namespace, series};

/// Takes the `$match` stages of a time series away that stand before a `$geoNear`, and gives them as one filter. As on the
/// server, they may ask for sources only.
pub(super) fn filters_ahead(read: &dyn Read, base: &Namespace, stages: &mut Vec<Doc<'_>>) -> Option<Vec<u8>> {
    let count = filters_before_near(stages);
    let series = series_in(read, base).filter(|_| count > 0)?;
    let filters = stages.iter().take(count).copied().filter_map(filter_of);
    let filters: Vec<Doc<'_>> = filters.collect();
    if !filters
        .iter()
        .all(|filter| series::asks_for_source(series, *filter))
    {
        return None;
    }
    stages.drain(..count);
    let filters = filters.iter().map(|filter| Owned::RawDocument(filter.to_bytes()));
    Some(Doc::Fields(&[("$and".to_owned(), Owned::Array(filters.collect()))]).to_bytes())
}

/// How many `$match` stages, and no others, stand before a `$geoNear`.
pub(super) fn filters_before_near(stages: &[Doc<'_>]) -> usize {
    let count = stages
        .iter()
        .take_while(|stage| filter_of(**stage).is_some())
        .count();
    let is_near = |stage: &Doc<'_>| stage.get("$geoNear").is_some();
    stages
        .get(count)
        .filter(|stage| is_near(stage))
        .map_or(0, |_| count)
}

/// The filter of a `$match` stage.
fn filter_of(stage: Doc<'_>) -> Option<Doc<'_>> {
    stage.get("$match").and_then(|filter| filter.as_document())
}

/// The time series whose documents a collection has.
fn series_in<'a>(read: &'a dyn Read, ns: &Namespace) -> Option<&'a Series> {
    let collection = read.catalog().collection(&ns.database, &ns.collection)?;
    collection.rules.series.as_deref()
}

/// Says which field of a collection `$geoNear` looks at; `ahead` is the filter of what stands before it.
pub(super) fn settle_near(
    stage: &mut GeoNear,
    collection: &Collection,
    ns: &Namespace,
    ahead: Option<Vec<u8>>,
) -> Result<()> {
    match &collection.rules.series {
        Some(series) => stage.on_series(|path| series.is_of_meta(path), ahead),
        None if stage.key().is_none() => {
            stage.set_key(geo_field(collection, ns)?);
            Ok(())
        }
        None => Ok(()),
    }
}

/// There is nothing to look for distances in.
pub(super) fn no_collection(base: &Namespace) -> Fault {
    Fault::new(
        code::NAMESPACE_NOT_FOUND,
        format!("$geoNear requires a geo index to run, but {base} does not exist"),
    )
}

/// The field of the collection's only geo index; a `2d` index comes before others.
fn geo_field(collection: &Collection, ns: &Namespace) -> Result<String> {
    for (kind, is_kind) in [
        (
            "2d",
            (|order| matches!(order, Order::Flat(_))) as fn(Order) -> bool,
        ),
        ("2dsphere", |order| order == Order::Sphere),
    ] {
        let mut fields = collection
            .indexes
            .iter()
            .filter_map(|entry| entry.definition.keys.iter().find(|key| is_kind(key.order)));
        match (fields.next(), fields.next()) {
            (None, _) => {}
            (Some(field), None) => return Ok(field.path.clone()),
            (Some(_), Some(_)) => {
                return Err(Fault::new(
                    code::INDEX_NOT_FOUND,
                    format!("There is more than one {kind} index on {ns}; unsure which to use for $geoNear"),
                ));
            }
        }
    }
    Err(Fault::new(
        code::INDEX_NOT_FOUND,
        "$geoNear requires a 2d or 2dsphere index, but none were found",
    ))
}
