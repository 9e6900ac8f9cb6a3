//! `$geoNear`: the documents of a collection by distance, with the distance in them.

use std::sync::Arc;

use super::super::super::collation::Collation;
use super::super::super::document::number::as_f64;
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::geo::{Hit, Near};
use super::super::super::matcher::Matcher;
use super::super::super::matcher::ast::{FieldPath, NearField};
use super::super::super::metadata::{Kind, Wanted};
use super::{Context, Expression, Row, Rows, Scope, misplaced_geo_near, path, write};

/// The stage: the planner gives it the documents in its order, it writes the distances.
#[derive(Clone, Debug)]
pub(crate) struct GeoNear {
    near: Expression,
    distance: Vec<String>,
    places: Option<Vec<String>>,
    /// The field that is looked at; the collection's only geo index says it where nobody does.
    key: Option<String>,
    spherical: bool,
    min: Option<f64>,
    max: Option<f64>,
    multiplier: f64,
    query: Vec<u8>,
    /// The stage as given.
    given: Arc<Owned>,
    /// Whether all documents come, and the stage itself finds out which are near, and brings them in order.
    measures_all: bool,
}

/// Options of older servers, and what is said of them.
const GONE: [(&str, i32, &str); 4] = [
    (
        "collation",
        40227,
        "$geoNear does not accept the 'collation' parameter. Instead, specify a collation for the entire aggregation command.",
    ),
    (
        "limit",
        50858,
        "$geoNear no longer supports the 'limit' parameter. Use a $limit stage instead.",
    ),
    (
        "num",
        50857,
        "$geoNear no longer supports the 'num' parameter. Use a $limit stage instead.",
    ),
    (
        "start",
        50856,
        "$geoNear no longer supports the 'start' argument.",
    ),
];

impl GeoNear {
    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<GeoNear> {
        // An array is a document without these fields.
        let (Value::Document(options) | Value::Array(options)) = *value else {
            return Err(Fault::new(
                10065,
                "invalid parameter: expected an object ($geoNear)",
            ));
        };
        for (name, number, message) in GONE {
            if options.get(name).is_some() {
                return Err(Fault::new(number, message));
            }
        }
        let near = options
            .get("near")
            .ok_or_else(|| Fault::new(5_860_400, "$geoNear requires a 'near' argument"))?;
        let Some(Value::String(distance)) = options.get("distanceField") else {
            return Err(Fault::new(
                16606,
                "$geoNear requires a 'distanceField' option as a String",
            ));
        };
        let distance = path::parse(distance)?;
        let max = not_negative(options, "maxDistance")?;
        let min = not_negative(options, "minDistance")?;
        let multiplier = not_negative(options, "distanceMultiplier")?.unwrap_or(1.0);
        let query = match options.get("query") {
            None => Doc::empty().to_bytes(),
            Some(Value::Document(query)) => query.to_bytes(),
            Some(_) => return Err(Fault::new(code::TYPE_MISMATCH, "query must be an object")),
        };
        let places = match options.get("includeLocs") {
            None => None,
            Some(Value::String(field)) => Some(path::parse(field)?),
            Some(_) => {
                return Err(Fault::new(
                    16607,
                    "$geoNear requires that 'includeLocs' option is a String",
                ));
            }
        };
        let names: Vec<(String, Option<Owned>)> = variables.iter().map(|name| (name.clone(), None)).collect();
        Matcher::parse_query(Doc::Raw(&query), names)?;
        Ok(GeoNear {
            near: Expression::parse(&near, variables)?,
            distance,
            places,
            key: key(options)?,
            spherical: options
                .get("spherical")
                .is_some_and(|value| super::truthy(&value)),
            min,
            max,
            multiplier,
            query,
            given: Arc::new(Owned::from(*value)),
            measures_all: false,
        })
    }

    /// As `explain` shows it.
    pub(super) fn shown(&self) -> Owned {
        Owned::clone(&self.given)
    }

    /// The field that is looked at, if it is said.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Says which field is looked at.
    pub(crate) fn set_key(&mut self, key: String) {
        self.key = Some(key);
    }

    /// Says that the documents are those of a time series, which needs no index of its measurements; `filter` is that of
    /// the stages before this one.
    ///
    /// # Errors
    /// 5892921, 1938439 and 5860208 for what has no field, a filter of its own, or the places of measurements; 40603 for a
    /// field of sources behind other stages.
    pub(crate) fn on_series(
        &mut self,
        is_of_meta: impl Fn(&str) -> bool,
        filter: Option<Vec<u8>>,
    ) -> Result<()> {
        let Some(key) = &self.key else {
            return Err(Fault::new(
                5_892_921,
                "Must specify 'key' option for $geoNear on a time-series collection",
            ));
        };
        if !Doc::Raw(&self.query).is_empty() {
            return Err(Fault::new(
                1_938_439,
                "Must not specify 'query' for $geoNear on a time-series collection; use $match instead",
            ));
        }
        self.measures_all = !is_of_meta(key);
        if self.measures_all && self.places.is_some() {
            return Err(Fault::new(
                5_860_208,
                "$geoNear 'includeLocs' is not supported on time-series metrics",
            ));
        }
        match filter {
            Some(_) if !self.measures_all => Err(misplaced_geo_near()),
            Some(filter) => {
                self.query = filter;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether documents come in another order than they are given on.
    pub(crate) fn measures_all(&self) -> bool {
        self.measures_all
    }

    /// What the documents are to match, nearness included.
    pub(crate) fn matcher(&self, variables: &[(String, Option<Owned>)], now: i64) -> Result<Matcher> {
        let near = self.field(variables, now)?;
        if self.measures_all {
            return Matcher::parse_query(Doc::Raw(&self.query), variables.to_vec());
        }
        let query = Doc::Raw(&self.query);
        let both = Matcher::parse_query(query, variables.to_vec())?.near_too(near)?;
        Ok(both.or_never(query))
    }

    fn field(&self, variables: &[(String, Option<Owned>)], now: i64) -> Result<NearField> {
        if self.near.reads_document() {
            return Err(Fault::new(
                5_860_402,
                "$geoNear requires a constant near argument",
            ));
        }
        let place = self.near.evaluate(&Scope {
            variables: variables.to_vec(),
            collation: Collation::default(),
            ..Scope::new(Doc::empty(), now)
        })?;
        let place = match place {
            Some(place) if matches!(place.as_value(), Value::Document(_) | Value::Array(_)) => place,
            _ => {
                return Err(Fault::new(
                    5_860_401,
                    "$geoNear requires near argument to be a GeoJSON object or a legacy point(array)",
                ));
            }
        };
        let operator = if self.spherical { "$nearSphere" } else { "$near" };
        let mut operators = vec![(operator.to_owned(), place)];
        for (name, bound) in [("$minDistance", self.min), ("$maxDistance", self.max)] {
            operators.extend(bound.map(|bound| (name.to_owned(), Owned::Double(bound))));
        }
        let near = Near::parse(Doc::Fields(&operators)).map_err(|fault| match self.measures_all {
            true => {
                Fault::new(6_330_900, fault.message().to_owned()).prefixed("Unable to parse geoNear query: ")
            }
            false => fault,
        })?;
        Ok(NearField {
            path: FieldPath::parse(self.key.as_deref().unwrap_or("")),
            near: Arc::new(near),
            written: Doc::Fields(&operators).to_bytes(),
            tells_sphere: self.spherical,
        })
    }

    /// Documents with their distances.
    ///
    /// # Errors
    /// As the run of the stage.
    pub(crate) fn measured(
        &self,
        rows: Rows<'_>,
        variables: &[(String, Option<Owned>)],
        now: i64,
        wanted: Wanted,
    ) -> Result<Vec<Row>> {
        self.over(rows, variables, now, wanted)?.collect()
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        self.over(input, &context.variables, context.now, context.wanted)
    }

    fn over<'a>(
        &'a self,
        input: Rows<'a>,
        variables: &[(String, Option<Owned>)],
        now: i64,
        wanted: Wanted,
    ) -> Result<Rows<'a>> {
        let shows = wanted.has(Kind::GeoNearDistance) || wanted.has(Kind::GeoNearPoint);
        let field = self.field(variables, now)?;
        if !self.measures_all {
            return Ok(Box::new(input.map(move |row| {
                let row = row?;
                match field.hit(Doc::Raw(&row)) {
                    Some(hit) => self.with_distance(row, hit, shows),
                    None => Ok(row),
                }
            })));
        }
        let mut near = Vec::new();
        for row in input {
            let row = row?;
            if let Some(hit) = field.hit(Doc::Raw(&row)) {
                near.push((hit.distance, self.with_distance(row, hit, shows)?));
            }
        }
        near.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Ok(Box::new(near.into_iter().map(|(_, row)| Ok(row))))
    }

    fn with_distance(&self, mut row: Row, hit: Hit, shows: bool) -> Result<Row> {
        if shows {
            row.know(|metadata| {
                metadata.distance = Some(hit.distance);
                metadata.point = Some(hit.place.clone());
            });
        }
        let mut fields = fields_of(Doc::Raw(&row));
        let distance = Owned::Double(hit.distance * self.multiplier);
        path::set(&mut fields, &self.distance, Some(distance));
        if let Some(places) = &self.places {
            path::set(&mut fields, places, Some(hit.place));
        }
        Ok(row.made(write(Owned::Document(fields))?))
    }
}

fn not_negative(options: Doc<'_>, name: &str) -> Result<Option<f64>> {
    let Some(value) = options.get(name) else {
        return Ok(None);
    };
    let number =
        as_f64(&value).ok_or_else(|| Fault::new(code::TYPE_MISMATCH, format!("{name} must be a number")))?;
    if number.is_nan() || number < 0.0 {
        return Err(Fault::new(code::BAD_VALUE, format!("{name} must be nonnegative")));
    }
    Ok(Some(number))
}

fn key(options: Doc<'_>) -> Result<Option<String>> {
    match options.get("key") {
        None => Ok(None),
        Some(Value::String("")) => Err(Fault::new(
            code::BAD_VALUE,
            "$geoNear parameter 'key' cannot be the empty string",
        )),
        Some(Value::String(key)) => {
            path::parse(key)?;
            Ok(Some(key.to_owned()))
        }
        Some(other) => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "$geoNear parameter 'key' must be of type string but found type: {}",
                other.kind().alias()
            ),
        )),
    }
}
