//! `$bucketAuto`.

use super::super::super::super::collation::Collation;
use super::super::super::super::document::number::{as_f64, as_i64_exact};
use super::super::super::super::document::{Doc, Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::super::needs::Needs;
use super::super::super::expression::{Expression, Scope};
use super::super::super::pipeline::{OVER_MEMORY, SORT_OVER_MEMORY};
use super::super::group::{Accumulator, By, Group, Order};
use super::super::{Context, Names, Row, Rows, print, row_scope, write};
use super::granularity::Granularity;
use super::{check_by, output_of, parse_output};

/// Groups of about equal size by ranges of a value.
#[derive(Clone, Debug)]
pub(crate) struct BucketAuto {
    value: Expression,
    buckets: usize,
    group: Group,
    granularity: Option<Granularity>,
    /// The name of that series.
    series: Option<String>,
}

impl BucketAuto {
    pub(in super::super) fn parse(value: &Value<'_>, variables: &Names<'_>) -> Result<BucketAuto> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                40240,
                format!(
                    "The argument to $bucketAuto must be an object, but found type: {}",
                    value.kind().alias()
                ),
            ));
        };
        let (mut by, mut buckets, mut accumulators) = (None, None, None);
        let (mut granularity, mut series) = (None, None);
        for element in spec.elements() {
            let value = element.value();
            match element.name_str() {
                "groupBy" => {
                    check_by("$bucketAuto", 40239, &value)?;
                    by = Some(Expression::parse_unfolded(&value, variables)?);
                }
                "buckets" => buckets = Some(bucket_count(&value)?),
                "output" => {
                    let output = output_of("$bucketAuto", 40244, &value)?;
                    let mut output = parse_output(output, variables, false)?;
                    output
                        .iter_mut()
                        .try_for_each(|(_, accumulator)| check_count(accumulator, variables))?;
                    accumulators = Some(output);
                }
                "granularity" => match value {
                    Value::String(name) => {
                        (granularity, series) = (Some(Granularity::parse(name)?), Some(name.to_owned()))
                    }
                    other => {
                        return Err(Fault::new(
                            40261,
                            format!(
                                "The $bucketAuto 'granularity' field must be a string, but found type: {}",
                                other.kind().alias()
                            ),
                        ));
                    }
                },
                other => {
                    return Err(Fault::new(
                        40245,
                        format!("Unrecognized option to $bucketAuto: {other}"),
                    ));
                }
            }
        }
        let (Some(value), Some(given)) = (by, buckets) else {
            return Err(Fault::new(
                40246,
                "$bucketAuto requires 'groupBy' and 'buckets' to be specified",
            ));
        };
        let buckets = usize::try_from(given).ok().filter(|count| *count > 0);
        let buckets = buckets.ok_or_else(|| {
            Fault::new(
                40243,
                format!("The $bucketAuto 'buckets' field must be greater than 0, but found: {given}"),
            )
        })?;
        Ok(BucketAuto {
            value,
            buckets,
            granularity,
            series,
            group: Group::new(
                By::Value(Expression::constant(Owned::Null)),
                accumulators
                    .filter(|own| !own.is_empty())
                    .unwrap_or_else(|| vec![("count".to_owned(), Accumulator::count())]),
                Order::Seen,
            ),
        })
    }

    /// As `explain` shows it.
    pub(in super::super) fn shown(&self) -> Owned {
        let count = i32::try_from(self.buckets).unwrap_or(i32::MAX);
        let mut spec = vec![
            ("groupBy".to_owned(), self.value.described()),
            ("buckets".to_owned(), Owned::Int32(count)),
        ];
        if let Some(name) = &self.series {
            spec.push(("granularity".to_owned(), Owned::String(name.clone())));
        }
        spec.push((
            "output".to_owned(),
            Owned::Document(self.group.shown_accumulators()),
        ));
        Owned::Document(spec)
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        self.value.add_needs(needs) && self.group.add_needs(needs)
    }

    pub(in super::super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.value.fold(known)?;
        self.group.fold(known)
    }

    pub(in super::super) fn collate(&mut self, collation: &Collation) {
        self.group.collate(collation);
    }

    pub(in super::super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let mut rows = Vec::new();
        let mut held = 0usize;
        for row in input {
            let row = row?;
            let value = self.value.evaluate(&row_scope(&row, context))?;
            if let Some(granularity) = &self.granularity {
                granularity.check(value.as_ref())?;
            }
            held += row.len() + size_of::<Owned>();
            context.memory.hold(held, OVER_MEMORY, SORT_OVER_MEMORY)?;
            rows.push((value.unwrap_or(Owned::Null), row));
        }
        rows.sort_by(|a, b| context.collation.compare(&a.0.as_value(), &b.0.as_value()));
        let size = ((rows.len() as f64 / self.buckets as f64).round() as usize).max(1);
        let mut rows = rows.into_iter().peekable();
        let mut results: Vec<(Owned, Owned, Vec<u8>)> = Vec::new();
        while let Some((low, first)) = rows.next() {
            let mut members = vec![Ok(first)];
            let mut high = low.clone();
            // The last bucket takes the rest.
            let is_last = results.len() + 1 == self.buckets;
            while members.len() < size || is_last {
                let Some((value, row)) = rows.next() else {
                    break;
                };
                high = value;
                members.push(Ok(row));
            }
            let mut boundary = match &self.granularity {
                Some(granularity) => granularity.up(&high)?,
                None => high.clone(),
            };
            while let Some((value, row)) = rows.next_if(|(value, _)| {
                let order = context.collation.compare(&value.as_value(), &boundary.as_value());
                order.is_lt() || (order.is_eq() && self.granularity.is_none())
            }) {
                if self.granularity.is_none() {
                    boundary = value;
                }
                members.push(Ok(row));
            }
            // A bucket ends where the next begins.
            let next = rows.peek().map(|(value, _)| value);
            let high = match (&self.granularity, next) {
                (None, Some(next)) => next.clone(),
                (Some(granularity), Some(next)) if is_zero(&boundary) => granularity.down(next)?,
                _ => boundary,
            };
            let low = match (&self.granularity, results.last()) {
                (Some(_), Some((_, end, _))) => end.clone(),
                (Some(granularity), None) => granularity.down(&low)?,
                (None, _) => low,
            };
            let grouped: Rows<'_> = Box::new(members.into_iter());
            if let Some(group) = self.group.run(grouped, context)?.next() {
                results.push((low, high, group?.into_document()));
            }
        }
        Ok(Box::new(results.into_iter().map(|(low, high, group)| {
            let mut fields = super::super::super::super::document::owned::fields_of(Doc::Raw(&group));
            // What an accumulator gives by this name is in its place.
            let own = fields.iter().skip(1).position(|(name, _)| name == "_id");
            let id = match own {
                Some(place) => fields.remove(place + 1).1,
                None => Owned::Document(vec![("min".to_owned(), low), ("max".to_owned(), high)]),
            };
            if let Some((_, bounds)) = fields.first_mut() {
                *bounds = id;
            }
            write(Owned::Document(fields)).map(Row::from)
        })))
    }
}

/// Refuses an accumulator that takes as many values as the group says.
fn check_count(accumulator: &mut Accumulator, variables: &Names<'_>) -> Result<()> {
    let Some(count) = accumulator.count_mut() else {
        return Ok(());
    };
    count.fold(variables.scope())?;
    match count.as_known() {
        Some(_) => Ok(()),
        None => Err(Fault::new(4544714, "Can't refer to the group key in $bucketAuto")),
    }
}

fn is_zero(value: &Owned) -> bool {
    compare(&value.as_value(), &Value::Int32(0)).is_eq()
}

fn bucket_count(value: &Value<'_>) -> Result<i32> {
    if !value.is_number() {
        return Err(Fault::new(
            40241,
            format!(
                "The $bucketAuto 'buckets' field must be a numeric value, but found type: {}",
                value.kind().alias()
            ),
        ));
    }
    let count = as_i64_exact(value)
        .and_then(|count| i32::try_from(count).ok())
        .ok_or_else(|| {
            Fault::new(
                40242,
                format!(
                    "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found {}",
                    print::value(&Value::Double(as_f64(value).unwrap_or(f64::NAN)))
                ),
            )
        })?;
    Ok(count)
}
