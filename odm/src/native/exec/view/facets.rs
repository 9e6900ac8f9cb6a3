//! What may stand in a `$facet` depends on views: a stage that reads one may not, where the view's own stages may not.

use super::super::super::catalog::Catalog;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result};
use super::super::Namespace;
use super::super::series::BUCKETS;
use super::{MAX_DEPTH, resolve, view_of};

/// Stages that stand in no `$facet`.
const REFUSED: &[&str] = &[
    "$collStats",
    "$documents",
    "$facet",
    "$geoNear",
    "$indexStats",
    "$planCacheStats",
];

/// Refuses a `$facet` with a stage that reads what stands on such stages, or on a time series.
///
/// # Errors
/// Code 40600.
pub(crate) fn refuse_in_facets(catalog: &Catalog, database: &str, stages: &[Doc<'_>]) -> Result<()> {
    let look = Look { catalog, database };
    stages.iter().try_for_each(|stage| look.through(*stage))
}

struct Look<'a> {
    catalog: &'a Catalog,
    database: &'a str,
}

/// A stage that runs stages over another collection.
struct Reader<'a> {
    name: &'a str,
    from: Option<&'a str>,
    stages: Option<Doc<'a>>,
}

impl<'a> Reader<'a> {
    fn of(stage: Doc<'a>) -> Option<Reader<'a>> {
        let first = stage.elements().next()?;
        let (name, of) = match first.name_str() {
            name @ "$lookup" => (name, "from"),
            name @ "$unionWith" => (name, "coll"),
            _ => return None,
        };
        match first.value() {
            Value::String(from) => Some(Reader {
                name,
                from: Some(from),
                stages: None,
            }),
            Value::Document(spec) => {
                let stages = spec.get("pipeline").and_then(|stages| stages.as_array());
                (name == "$unionWith" || stages.is_some()).then(|| Reader {
                    name,
                    from: spec.get(of).and_then(|from| from.as_str()),
                    stages,
                })
            }
            _ => None,
        }
    }
}

impl Look<'_> {
    /// Looks for facets in a stage.
    fn through(&self, stage: Doc<'_>) -> Result<()> {
        if let Some(Value::Document(facets)) = stage.get("$facet") {
            for facet in facets.elements() {
                for inner in facet.value().as_array().into_iter().flat_map(documents) {
                    if let Some(reader) = Reader::of(inner)
                        && self.refuses(&reader, 0)
                    {
                        return Err(Fault::new(
                            40_600,
                            format!("{} is not allowed to be used within a $facet stage", reader.name),
                        ));
                    }
                }
            }
        }
        let inner = Reader::of(stage).and_then(|reader| reader.stages);
        inner
            .into_iter()
            .flat_map(documents)
            .try_for_each(|stage| self.through(stage))
    }

    fn refuses(&self, reader: &Reader<'_>, depth: usize) -> bool {
        let mut own = reader.stages.into_iter().flat_map(documents);
        own.any(|stage| self.is_refused(stage, depth))
            || reader.from.is_some_and(|from| self.is_of(from, depth))
    }

    fn is_refused(&self, stage: Doc<'_>, depth: usize) -> bool {
        let Some(first) = stage.elements().next() else {
            return false;
        };
        REFUSED.contains(&first.name_str())
            || Reader::of(stage).is_some_and(|reader| self.refuses(&reader, depth))
    }

    /// Whether a name is that of a view with such stages.
    fn is_of(&self, name: &str, depth: usize) -> bool {
        let ns = Namespace {
            database: self.database.to_owned(),
            collection: name.to_owned(),
        };
        if depth > MAX_DEPTH || view_of(self.catalog, &ns).is_none() {
            return false;
        }
        resolve(self.catalog, &ns).is_ok_and(|resolved| {
            let mut stages = resolved.stages.iter();
            resolved.base.collection.starts_with(BUCKETS)
                || stages.any(|stage| self.is_refused(Doc::Raw(stage), depth + 1))
        })
    }
}

fn documents(items: Doc<'_>) -> impl Iterator<Item = Doc<'_>> {
    items.values().filter_map(|item| item.as_document())
}
