//! `$densify`.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::super::super::collation::Collation;
use super::super::super::document::number::as_i64_exact;
use super::super::super::document::{Doc, Fields, Owned, Value, compare};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::key;
use super::super::super::needs::Needs;
use super::super::super::sort::SortSpec;
use super::super::expression::{Unit, difference, is_zero, remainder, sum};
use super::super::pipeline::{OVER_MEMORY, SORT_OVER_MEMORY};
use super::declared::{Declared, Part, Type};
use super::{Context, Row, Rows, Shown, path, write};

/// How many documents a stage makes at most.
const MOST: usize = 500_000;

static RANGE: Part = Part {
    path: "$densify.range",
    fields: &[
        ("step", Type::Number),
        ("bounds", Type::Any),
        ("unit", Type::Text),
    ],
    required: &["step"],
    given: &["bounds"],
};

/// Adds the documents that are missing between others at regular steps of a field.
#[derive(Clone, Debug)]
pub(crate) struct Densify {
    field: Vec<String>,
    partition: Vec<Vec<String>>,
    step: Owned,
    unit: Option<Unit>,
    bounds: Bounds,
    /// By the fields of the partition, unless the bounds are those of all documents, and by the field.
    order: SortSpec,
    /// The range as given.
    range: Arc<Owned>,
}

#[derive(Clone, Debug)]
enum Bounds {
    /// From the least value of all documents to the greatest.
    Full,
    /// From the least value of each partition to its greatest.
    Partition,
    /// From the first value, up to the second and without it.
    Between(Owned, Owned),
}

/// Where the steps of a partition stand.
struct Steps {
    /// The partition's fields, which new documents have too.
    fields: Fields,
    /// The next value to be made.
    next: Option<Owned>,
    /// Whether its last value is below explicit bounds, and the next may be.
    is_below: bool,
}

/// Where the last document stood that the stage has taken note of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    /// Below explicit bounds.
    Below,
    Within,
}

impl Densify {
    /// Adds the paths at which it looks at documents.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) {
        needs.add(&self.field.join("."));
        self.partition.iter().for_each(|path| needs.add(&path.join(".")));
    }

    pub(super) fn parse(value: &Value<'_>) -> Result<Densify> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "The $densify stage specification must be an object, found {}",
                    value.kind().alias()
                ),
            ));
        };
        let spec = Declared {
            path: "$densify",
            spec,
        };
        let spec = spec.only(&[
            ("field", Type::Text),
            ("partitionByFields", Type::Texts),
            ("range", Type::Part(&RANGE)),
        ])?;
        spec.required("field")?;
        let field = spec.text("field")?.unwrap_or_default();
        let names = spec.texts("partitionByFields")?.unwrap_or_default();
        spec.required("range")?;
        let range = Declared {
            path: RANGE.path,
            spec: spec.document("range")?.unwrap_or(Doc::empty()),
        };
        let step = range.required("step")?;
        let unit = range.text("unit")?;
        let bounds = range.spec.get("bounds").unwrap_or(Value::Null);
        if !compare(&step, &Value::Int32(0)).is_gt() {
            return Err(Fault::new(
                5733401,
                "The step parameter in a range statement must be a strictly positive numeric value",
            ));
        }
        let unit = match unit {
            None => None,
            Some(name) => Some(Unit::parse(name).ok_or_else(|| {
                Fault::new(code::FAILED_TO_PARSE, format!("unknown time unit value: {name}"))
            })?),
        };
        if unit.is_some() && as_i64_exact(&step).is_none() {
            return Err(Fault::new(
                6586400,
                "The step parameter in a range statement must be a whole number when densifying a date range",
            ));
        }
        let bounds = Bounds::parse(&bounds, &step, unit, names.is_empty())?;
        let partition = names
            .iter()
            .map(|name| path::parse(name))
            .collect::<Result<Vec<_>>>()?;
        let path = path::parse(field)?;
        let mut order: Fields = Vec::new();
        if !matches!(bounds, Bounds::Full) {
            for name in &names {
                if order.iter().all(|(other, _)| other != name) {
                    order.push(((*name).to_owned(), Owned::Int32(1)));
                }
            }
        }
        if order.iter().all(|(other, _)| other != field) {
            order.push((field.to_owned(), Owned::Int32(1)));
        }
        Ok(Densify {
            field: path,
            partition,
            step: step.into(),
            unit,
            bounds,
            order: SortSpec::parse(Doc::Fields(&order))?,
            range: Arc::new(Owned::from(Value::Document(range.spec))),
        })
    }

    /// As `explain` shows it: the order that it needs, and what it does in it.
    pub(super) fn shown(&self) -> Vec<Shown> {
        let path = |path: &Vec<String>| Owned::String(path.join("."));
        let spec = vec![
            ("field".to_owned(), path(&self.field)),
            (
                "partitionByFields".to_owned(),
                Owned::Array(self.partition.iter().map(path).collect()),
            ),
            ("range".to_owned(), Owned::clone(&self.range)),
        ];
        vec![
            Shown::order_for(&self.order),
            Shown::new("$_internalDensify", Owned::Document(spec)),
        ]
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        self.order = self.order.clone().collated(collation);
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let mut rows: Vec<(Vec<u8>, Row)> = Vec::new();
        let mut held = 0usize;
        for row in input {
            let row = row?;
            let key = self.order.key_with(Doc::Raw(&row), row.metadata())?;
            held += row.len() + key.len();
            context.memory.hold(held, OVER_MEMORY, SORT_OVER_MEMORY)?;
            rows.push((key, row));
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        let mut results = Vec::with_capacity(rows.len());
        let end = self.densified(rows, &mut results).err().map(Err);
        Ok(Box::new(results.into_iter().map(Ok).chain(end)))
    }

    /// Gives the documents in order with those between them, up to what is wrong.
    fn densified(&self, rows: Vec<Row>, results: &mut Vec<Row>) -> Result<()> {
        let (low, high) = match &self.bounds {
            Bounds::Between(low, high) => (Some(low.clone()), Some(high.clone())),
            Bounds::Partition => (None, None),
            Bounds::Full => self.extremes(&rows),
        };
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut partitions: Vec<Steps> = Vec::new();
        let mut made = 0;
        let is_point = match (&self.bounds, &low, &high) {
            (Bounds::Between(..), Some(low), Some(high)) => {
                compare(&low.as_value(), &high.as_value()).is_eq()
            }
            _ => false,
        };
        let mut last = Place::Nowhere;
        // Behind explicit bounds of all documents nothing is looked at.
        let mut is_behind = false;
        // Whether steps came to the last value.
        let mut is_on_step = false;
        for row in rows {
            if is_behind {
                results.push(row);
                continue;
            }
            let doc = Doc::Raw(&row);
            let Some(value) = self.value_of(doc)? else {
                results.push(row);
                continue;
            };
            let order = self.order_to_bounds(&value);
            let place = if order.is_lt() {
                Place::Below
            } else {
                Place::Within
            };
            let enters = last == Place::Below && order.is_gt();
            // Of those that follow each other below the bounds, the server takes note of the first alone.
            let is_passed = last == Place::Below && !enters && !self.partition.is_empty();
            last = place;
            if is_passed {
                results.push(row);
                continue;
            }
            let (key, fields) = self.partition_of(doc);
            let place = match places.get(&key) {
                Some(place) => *place,
                None => {
                    let next = match (&self.bounds, &low) {
                        (Bounds::Full, Some(low)) if !partitions.is_empty() => Some(self.first_of(low)?),
                        _ => low.clone(),
                    };
                    partitions.push(Steps {
                        fields: fields.clone(),
                        next,
                        is_below: false,
                    });
                    places.insert(key, partitions.len() - 1);
                    partitions.len() - 1
                }
            };
            let Some(steps) = partitions.get_mut(place) else {
                continue;
            };
            if last == Place::Below && !self.partition.is_empty() {
                steps.next = Some(self.stepped(&value)?);
                steps.is_below = true;
                results.push(row);
                continue;
            }
            if enters {
                steps.next.clone_from(&low);
                steps.is_below = false;
            }
            let next = steps.next.get_or_insert_with(|| value.clone());
            let comes_from_below = std::mem::take(&mut steps.is_below);
            if let Some(low) = &low
                && !comes_from_below
                && compare(&next.as_value(), &low.as_value()).is_eq()
                && compare(&value.as_value(), &low.as_value()).is_gt()
            {
                *next = self.first_of(low)?;
            }
            if order.is_eq()
                || (matches!(self.bounds, Bounds::Partition)
                    && compare(&next.as_value(), &value.as_value()).is_eq())
            {
                *next = value.clone();
            }
            // Steps that have come to their end, or that would come to a value behind it, end the look at documents.
            if let (Bounds::Between(low, high), true) = (&self.bounds, self.partition.is_empty())
                && order.is_gt()
                && compare(&value.as_value(), &high.as_value()).is_ge()
            {
                is_behind =
                    compare(&next.as_value(), &high.as_value()).is_ge() || self.comes_to(low, &value)?;
            }
            let end = match &self.bounds {
                Bounds::Between(_, high) if compare(&high.as_value(), &value.as_value()).is_lt() => {
                    high.clone()
                }
                _ => value.clone(),
            };
            // Bounds without room between them hold their one value.
            let with_end =
                is_point && !comes_from_below && compare(&end.as_value(), &value.as_value()).is_lt();
            self.fill(steps, &fields, (&end, with_end), results, &mut made)?;
            let is_at = |place: &Owned| {
                let next = steps.next.as_ref();
                next.is_some_and(|next| compare(&next.as_value(), &place.as_value()).is_eq())
            };
            is_on_step = is_at(&value);
            if is_on_step {
                steps.next = Some(self.stepped(&value)?);
            } else if comes_from_below && is_point && is_at(&end) {
                steps.next = Some(self.stepped(&end)?);
            }
            results.push(row);
        }
        let nowhere = partitions.is_empty() && matches!(self.bounds, Bounds::Between(..));
        if nowhere {
            partitions.push(Steps {
                fields: Vec::new(),
                next: low,
                is_below: false,
            });
        }
        if let Some(high) = high {
            let high = match (&self.bounds, self.unit) {
                // As on the server, one step more: those that the days of months moved may pass the greatest.
                (Bounds::Full, Some(_)) if is_on_step => self.stepped(&high)?,
                _ => high,
            };
            let ends_at_high = matches!(self.bounds, Bounds::Full) && self.unit.is_none();
            for steps in &mut partitions {
                let comes_early = self.enter(steps);
                let fields = steps.fields.clone();
                if let (Bounds::Between(low, _), true, false) =
                    (&self.bounds, self.partition.is_empty(), nowhere)
                    && steps
                        .next
                        .as_ref()
                        .is_some_and(|next| compare(&next.as_value(), &low.as_value()).is_eq())
                {
                    steps.next = Some(self.first_of(low)?);
                }
                let with_end = ends_at_high || (is_point && (nowhere || comes_early));
                self.fill(steps, &fields, (&high, with_end), results, &mut made)?;
            }
        }
        Ok(())
    }

    /// Whether a value is below the begin of explicit bounds, there or above.
    fn order_to_bounds(&self, value: &Owned) -> Ordering {
        match &self.bounds {
            Bounds::Between(low, _) => compare(&value.as_value(), &low.as_value()),
            _ => Ordering::Greater,
        }
    }

    /// A partition that ends below the bounds goes into them by its own steps, but not before they begin; whether it
    /// would have.
    fn enter(&self, steps: &mut Steps) -> bool {
        let Bounds::Between(low, _) = &self.bounds else {
            return false;
        };
        let is_before = |next: &Owned| compare(&next.as_value(), &low.as_value()).is_lt();
        let comes_early = steps.is_below && steps.next.as_ref().is_some_and(is_before);
        if comes_early {
            steps.next = Some(low.clone());
        }
        comes_early
    }

    /// Makes the documents with these fields up to the end, or with it.
    fn fill(
        &self,
        steps: &mut Steps,
        fields: &Fields,
        (end, with_end): (&Owned, bool),
        results: &mut Vec<Row>,
        made: &mut usize,
    ) -> Result<()> {
        while let Some(next) = steps.next.take() {
            let order = compare(&next.as_value(), &end.as_value());
            if !(order.is_lt() || (with_end && order.is_eq())) {
                steps.next = Some(next);
                return Ok(());
            }
            *made += 1;
            if *made > MOST {
                return Err(Fault::new(
                    5897900,
                    format!(
                        "Generated {made} documents in $densify, which is over the limit of {MOST}. Increase the 'internalQueryMaxAllowedDensifyDocs' parameter to allow more generated documents"
                    ),
                ));
            }
            if path::get(Doc::Fields(fields), &self.field).is_some() {
                return Err(Fault::new(
                    5733306,
                    "DocGenerator cannot include field that is being densified",
                ));
            }
            let mut fields = fields.clone();
            path::set(&mut fields, &self.field, Some(next.clone()));
            results.push(Row::from(write(Owned::Document(fields))?));
            steps.next = Some(self.stepped(&next)?);
        }
        Ok(())
    }

    /// The first step of bounds: one step on from where the step before it would stand, which the days of
    /// months may move, and the type of the step widen.
    fn first_of(&self, low: &Owned) -> Result<Owned> {
        match (low, self.unit) {
            (Owned::DateTime(ms), Some(unit)) => {
                let amount = as_i64_exact(&self.step.as_value()).unwrap_or(1);
                self.stepped(&Owned::DateTime(unit.later(*ms, amount.saturating_neg())?))
            }
            _ => self.stepped(&difference(&low.as_value(), &self.step.as_value())?),
        }
    }

    /// Whether steps from a value come to one behind it.
    fn comes_to(&self, from: &Owned, value: &Owned) -> Result<bool> {
        let (Owned::DateTime(from), Owned::DateTime(value), Some(unit)) = (from, value, self.unit) else {
            let [from, value, step] = [from, value, &self.step].map(Owned::as_value);
            if !value.is_number() {
                return Ok(false);
            }
            let left = remainder(difference(&value, &from)?.as_value(), step)?;
            return Ok(is_zero(&left.as_value()));
        };
        // What is beyond dates is behind all.
        let step = as_i64_exact(&self.step.as_value()).unwrap_or(1);
        let at = |count: i64| unit.later(*from, step.saturating_mul(count)).unwrap_or(i64::MAX);
        let (mut least, mut most) = (0, value.saturating_sub(*from).max(0));
        while least < most {
            let middle = least + (most - least) / 2;
            match at(middle) < *value {
                true => least = middle + 1,
                false => most = middle,
            }
        }
        Ok(at(least) == *value)
    }

    fn stepped(&self, value: &Owned) -> Result<Owned> {
        match (value, self.unit) {
            (Owned::DateTime(ms), Some(unit)) => {
                let amount = as_i64_exact(&self.step.as_value()).unwrap_or(1);
                unit.later(*ms, amount).map(Owned::DateTime)
            }
            _ => sum(&value.as_value(), &self.step.as_value()),
        }
    }

    /// The field's value: a number, or a date if there is a unit; `None` if it has none.
    fn value_of(&self, doc: Doc<'_>) -> Result<Option<Owned>> {
        match path::get(doc, &self.field) {
            None | Some(Value::Null | Value::Undefined) => Ok(None),
            Some(Value::DateTime(ms)) if self.unit.is_some() => Ok(Some(Owned::DateTime(ms))),
            Some(Value::DateTime(_)) => Err(Fault::new(
                6053600,
                "Encountered date densify value in collection when step does not have a date unit.",
            )),
            Some(number) if number.is_number() && self.unit.is_none() => Ok(Some(number.into())),
            Some(number) if number.is_number() => Err(Fault::new(
                6053600,
                "Encountered numeric densify value in collection when step has a date unit.",
            )),
            Some(_) => Err(Fault::new(
                5733201,
                "Densify field type must be numeric or a date",
            )),
        }
    }

    /// The least and the greatest value of rows in order, of those that have one.
    fn extremes(&self, rows: &[Row]) -> (Option<Owned>, Option<Owned>) {
        let value_of = |row: &Row| self.value_of(Doc::Raw(row)).ok().flatten();
        (
            rows.iter().find_map(value_of),
            rows.iter().rev().find_map(value_of),
        )
    }

    /// What names the partition, and its fields.
    fn partition_of(&self, doc: Doc<'_>) -> (Vec<u8>, Fields) {
        let (mut encoded, mut fields) = (Vec::new(), Vec::new());
        for path in &self.partition {
            match path::walk(Value::Document(doc), path).value() {
                Some(value) => {
                    self.order.collation().encode(&value, false, &mut encoded);
                    path::set(&mut fields, path, Some(value.into()));
                }
                None => {
                    encoded.push(key::END);
                    open(&mut fields, path);
                }
            }
        }
        (encoded, fields)
    }
}

/// Makes the documents that a path goes through, without a field at its end.
fn open(fields: &mut Fields, path: &[String]) {
    if let Some((_, parents)) = path.split_last()
        && !parents.is_empty()
        && path::get(Doc::Fields(fields), parents).is_none()
    {
        path::set(fields, parents, Some(Owned::Document(Vec::new())));
    }
}

impl Bounds {
    fn parse(value: &Value<'_>, step: &Value<'_>, unit: Option<Unit>, is_whole: bool) -> Result<Bounds> {
        match *value {
            Value::String("full") => Ok(Bounds::Full),
            Value::String("partition") if is_whole => Err(Fault::new(
                5733408,
                "One cannot specify the bounds as 'partition' without specifying a non-empty array of partitionByFields. You may have meant to specify 'full' bounds.",
            )),
            Value::String("partition") => Ok(Bounds::Partition),
            Value::String(_) => Err(Fault::new(
                5946802,
                "Bounds string must either be 'full' or 'partition'",
            )),
            Value::Array(items) => {
                let mut items = items.values();
                let (Some(low), Some(high), None) = (items.next(), items.next(), items.next()) else {
                    return Err(Fault::new(
                        5733403,
                        "A bounding array in a range statement must have exactly two elements",
                    ));
                };
                Bounds::between(&low, &high, step, unit)
            }
            _ => Err(Fault::new(
                5733404,
                "The bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or two dates",
            )),
        }
    }

    fn between(low: &Value<'_>, high: &Value<'_>, step: &Value<'_>, unit: Option<Unit>) -> Result<Bounds> {
        let is_date = |value: &Value<'_>| matches!(value, Value::DateTime(_));
        let (dates, numbers) = (is_date(low) && is_date(high), low.is_number() && high.is_number());
        let is_descending = compare(low, high).is_gt();
        if !is_descending && !low.is_number() && !is_date(low) {
            return Err(Fault::new(5946800, "Explicit bounds must be numeric or dates"));
        }
        if !is_descending && low.is_number() && unit.is_some() {
            return Err(Fault::new(5733409, "Numeric bounds may not have unit parameter"));
        }
        if !is_descending && low.is_number() && !numbers {
            return Err(Fault::new(
                5733406,
                "A bounding array must contain either both dates or both numeric types",
            ));
        }
        if !(dates || numbers) || is_descending {
            return Err(Fault::new(
                5733402,
                "A bounding array must be an ascending array of either two dates or two numbers",
            ));
        }
        if dates && unit.is_none() {
            return Err(Fault::new(
                5733410,
                "A bounding array of dates must specify a unit",
            ));
        }
        if numbers && (low.kind() != high.kind() || low.kind() != step.kind()) {
            return Err(Fault::new(
                5876900,
                "Upper bound, lower bound, and step must all have the same type",
            ));
        }
        Ok(Bounds::Between(Owned::from(*low), Owned::from(*high)))
    }
}
