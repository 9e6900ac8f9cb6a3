//! How many products there are of each value.

use std::fmt;

use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind, Filter, Result};

use super::asked::Asked;
use super::catalog::{Attributed, Catalog};
use super::definition::Definition;
use super::given::Given;
use super::stored::Form;
use super::value::Value;

/// Counts of products by their attributes, by one aggregation: see [`Catalog::facets`].
#[must_use]
pub struct Facets<'a, M: Attributed> {
    catalog: &'a Catalog<M>,
    among: Filter<M>,
    chosen: Vec<(String, Filter<M>)>,
    facets: Vec<(&'a Definition, Counted)>,
}

enum Counted {
    Values(u32),
    Ranges(Vec<Value>),
}

/// The counts of one attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Facet {
    /// The attribute.
    pub attribute: String,
    /// How many products have each value, the most frequent first; each product once.
    pub values: Vec<(Value, u64)>,
    /// How many products have a value in each range, in the order of the ranges, with zeros; each product once.
    pub ranges: Vec<(Value, Value, u64)>,
    /// How many products have a value beyond all ranges.
    pub beyond: u64,
}

impl<M: Attributed> Catalog<M> {
    /// Counts products by their attributes.
    pub fn facets(&self) -> Facets<'_, M> {
        Facets {
            catalog: self,
            among: Filter::all(),
            chosen: Vec::new(),
            facets: Vec::new(),
        }
    }
}

impl<'a, M: Attributed> Facets<'a, M> {
    /// Only among these products.
    pub fn among(mut self, filter: Filter<M>) -> Self {
        self.among &= filter;
        self
    }

    /// What somebody chose of an attribute. It counts for the other attributes, but not for its own, so that one sees what
    /// else there is.
    pub fn chosen(mut self, attribute: &str, filter: Filter<M>) -> Self {
        self.chosen.push((attribute.to_owned(), filter));
        self
    }

    /// The values of an attribute, so many of them at the most.
    ///
    /// # Errors
    /// `InvalidArgument` when no type of product has it.
    pub fn values(mut self, attribute: &str, most: u32) -> Result<Self> {
        let asked = self.catalog.attribute(attribute)?;
        self.facets.push((asked.definition, Counted::Values(most.max(1))));
        Ok(self)
    }

    /// The ranges of an attribute between these bounds: each from one, included, to the next, excluded.
    ///
    /// # Errors
    /// `InvalidArgument` when no type of product has it, and for fewer than two bounds or bounds that do not rise;
    /// `Validation` for bounds of another kind or wrong units.
    pub fn ranges<V: Into<Given>>(
        mut self,
        attribute: &str,
        bounds: impl IntoIterator<Item = V>,
    ) -> Result<Self> {
        let asked: Asked<'a, M> = self.catalog.attribute(attribute)?;
        let bounds = bounds.into_iter().map(|bound| asked.operand(bound.into()));
        let bounds: Vec<Value> = bounds.collect::<Result<_>>()?;
        let is_rising = bounds
            .windows(2)
            .all(|pair| pair[0].order(&pair[1]).is_some_and(|order| order.is_lt()));
        if bounds.len() < 2 || !is_rising {
            let error = Error::new(
                ErrorKind::InvalidArgument,
                "two bounds or more, which rise, make ranges",
            );
            return Err(error.with_path(attribute));
        }
        self.facets.push((asked.definition, Counted::Ranges(bounds)));
        Ok(self)
    }

    /// Counts, in the order in which they were asked for. One round trip. What `among` leaves is read once for each of
    /// them; an index narrows it where `among` has one.
    ///
    /// # Errors
    /// As any aggregation; `InvalidArgument` where a filter is a text search or a place, which come first in a pipeline.
    pub async fn count(self) -> Result<Vec<Facet>> {
        if self.facets.is_empty() {
            return Ok(Vec::new());
        }
        let mut parts = Document::new();
        for (at, (definition, counted)) in self.facets.iter().enumerate() {
            let others = self
                .chosen
                .iter()
                .filter(|(attribute, _)| *attribute != definition.name);
            let others = Filter::and(others.map(|(_, filter)| filter.clone()));
            let mut stages = vec![doc! { "$match": plain(&others)? }];
            stages.extend(self.stages(definition, counted));
            parts.insert(format!("f{at}"), stages);
        }
        let stages = [doc! { "$match": plain(&self.among)? }, doc! { "$facet": parts }];
        let found = self.catalog.collection.aggregate_raw(stages).await?;
        let found = found.into_iter().next().unwrap_or_default();
        let read = |(at, (definition, counted)): (usize, &(&Definition, Counted))| {
            let rows = found.get_array(format!("f{at}")).into_iter().flatten();
            let rows: Vec<(Value, u64)> = rows.filter_map(Bson::as_document).filter_map(row).collect();
            facet(definition, counted, rows)
        };
        Ok(self.facets.iter().enumerate().map(read).collect())
    }

    /// Rows of a value, or the number of a range, and how many products have it.
    fn stages(&self, definition: &Definition, counted: &Counted) -> Vec<Document> {
        let (mut stages, value) = self.values_of(definition);
        let key: Bson = match counted {
            Counted::Values(_) => value.into(),
            Counted::Ranges(bounds) => {
                // The number of bounds that are not above the value: none of them or all is beyond the ranges.
                let reached = bounds.iter().map(|bound| {
                    let bound = doc! { "$literal": bound.to_bson() };
                    doc! { "$cond": [{ "$gte": [&value, bound] }, 1, 0] }
                });
                let reached = doc! { "$add": reached.collect::<Vec<_>>() };
                let all = i64::try_from(bounds.len()).unwrap_or(i64::MAX);
                doc! { "$mod": [reached, all] }.into()
            }
        };
        if definition.is_many {
            stages.push(doc! { "$group": { "_id": { "value": key, "product": "$_id" } } });
            stages.push(doc! { "$group": { "_id": "$_id.value", "count": { "$sum": 1 } } });
        } else {
            stages.push(doc! { "$group": { "_id": key, "count": { "$sum": 1 } } });
        }
        if let Counted::Values(most) = counted {
            stages.push(doc! { "$sort": { "count": -1, "_id": 1 } });
            stages.push(doc! { "$limit": i64::from(*most) });
        }
        stages
    }

    /// The stages that make a document of each value of an attribute, and where in it the value is.
    fn values_of(&self, definition: &Definition) -> (Vec<Document>, String) {
        let catalog = self.catalog;
        let (field, name) = (&catalog.field, definition.name.as_str());
        if catalog.in_both_forms {
            let whole = format!("${field}");
            let entries = doc! { "$filter": {
                "input": &whole,
                "cond": { "$eq": ["$$this.n", { "$literal": name }] },
            } };
            let listed = doc! { "$map": { "input": entries, "in": "$$this.v" } };
            let scoped = format!("${}", catalog.path(definition));
            let value = doc! { "$cond": [{ "$isArray": whole }, listed, scoped] };
            let stages = vec![doc! { "$project": { "v": value } }, doc! { "$unwind": "$v" }];
            return (stages, "$v".to_owned());
        }
        match M::Form::IS_LIST {
            true => (
                vec![
                    doc! { "$match": { format!("{field}.n"): name } },
                    doc! { "$unwind": format!("${field}") },
                    doc! { "$match": { format!("{field}.n"): name } },
                ],
                format!("${field}.v"),
            ),
            false => (
                vec![doc! { "$unwind": format!("${field}.{name}") }],
                format!("${}", catalog.path(definition)),
            ),
        }
    }
}

fn row(row: &Document) -> Option<(Value, u64)> {
    let count = match row.get("count")? {
        Bson::Int32(count) => u64::try_from(*count).ok()?,
        Bson::Int64(count) => u64::try_from(*count).ok()?,
        _ => return None,
    };
    Some((Value::from_bson(row.get("_id")?)?, count))
}

fn facet(definition: &Definition, counted: &Counted, rows: Vec<(Value, u64)>) -> Facet {
    let mut facet = Facet {
        attribute: definition.name.clone(),
        values: Vec::new(),
        ranges: Vec::new(),
        beyond: 0,
    };
    let Counted::Ranges(bounds) = counted else {
        facet.values = rows;
        return facet;
    };
    facet.ranges = bounds
        .windows(2)
        .map(|pair| (pair[0].clone(), pair[1].clone(), 0))
        .collect();
    for (reached, count) in rows {
        let range = match reached {
            Value::Integer(reached) => usize::try_from(reached - 1).ok(),
            _ => None,
        };
        match range.and_then(|range| facet.ranges.get_mut(range)) {
            Some((_, _, own)) => *own = count,
            None => facet.beyond += count,
        }
    }
    facet
}

fn plain<M>(filter: &Filter<M>) -> Result<Document> {
    let filter = filter.to_document()?;
    Document::try_from(filter)
        .map_err(|error| Error::new(ErrorKind::InvalidArgument, "the filter is malformed").with_source(error))
}

impl<M: Attributed> fmt::Debug for Facets<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .facets
            .iter()
            .map(|(definition, _)| definition.name.as_str())
            .collect();
        f.debug_struct("Facets")
            .field("catalog", &self.catalog)
            .field("facets", &names)
            .finish_non_exhaustive()
    }
}
