//! `$bucket`.

mod auto;
mod granularity;

use super::super::super::document::{Doc, Owned, Value, compare};
use super::super::super::fault::{Fault, Result};
use super::super::expression::{Expression, type_name};
use super::group::{Accumulator, By, Group, Order};
use super::{Names, print};

pub(crate) use self::auto::BucketAuto;

/// Parses `$bucket`: a group by ranges.
pub(super) fn parse(value: &Value<'_>, variables: &Names<'_>) -> Result<Group> {
    let Value::Document(spec) = *value else {
        return Err(Fault::new(
            40201,
            format!(
                "Argument to $bucket stage must be an object, but found type: {}.",
                value.kind().alias()
            ),
        ));
    };
    let (mut by, mut boundaries, mut default) = (None, None, None);
    let mut accumulators = None;
    for element in spec.elements() {
        let value = element.value();
        match element.name_str() {
            "groupBy" => {
                check_by("$bucket", 40202, &value)?;
                by = Some(value);
            }
            "boundaries" => boundaries = Some(parse_boundaries(&value, variables)?),
            "default" => default = parse_default(&value, variables)?,
            "output" => accumulators = Some(output_of("$bucket", 40196, &value)?),
            other => {
                return Err(Fault::new(
                    40197,
                    format!("Unrecognized option to $bucket: {other}."),
                ));
            }
        }
    }
    let (Some(by), Some(boundaries)) = (by, boundaries) else {
        return Err(Fault::new(
            40198,
            "$bucket requires 'groupBy' and 'boundaries' to be specified.",
        ));
    };
    if let (Some(default), Some(low), Some(high)) = (&default, boundaries.first(), boundaries.last()) {
        let default = default.as_value();
        let inside =
            compare(&default, &low.as_value()).is_ge() && compare(&default, &high.as_value()).is_lt();
        if inside {
            return Err(Fault::new(
                40199,
                "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.",
            ));
        }
    }
    // What is made of the documents is read when all of this is known.
    let accumulators = match accumulators {
        Some(output) => parse_output(output, variables, true)?,
        None => vec![("count".to_owned(), Accumulator::count())],
    };
    let value = Expression::parse_unfolded(&by, variables)?;
    let mut constants = boundaries.iter().chain(&default);
    if constants.any(|constant| is_read_otherwise(&constant.as_value())) {
        let key = switch(&Owned::from(by), &boundaries, default.as_ref(), variables)?;
        return Ok(Group::new(By::Value(key), accumulators, Order::Id));
    }
    Ok(Group::new(
        By::Boundaries {
            value,
            boundaries,
            default,
        },
        accumulators,
        Order::Id,
    ))
}

fn check_by(stage: &str, code: i32, value: &Value<'_>) -> Result<()> {
    let allowed = match value {
        Value::String(text) => text.starts_with('$'),
        Value::Document(doc) => doc
            .elements()
            .next()
            .is_some_and(|first| first.name().first() == Some(&b'$')),
        _ => false,
    };
    if !allowed {
        let (form, end) = match stage {
            "$bucket" => ("expression", "."),
            _ => ("expression object", ""),
        };
        return Err(Fault::new(
            code,
            format!(
                "The {stage} 'groupBy' field must be defined as a $-prefixed path or an {form}, but found: {}{end}",
                print::bson_value(value)
            ),
        ));
    }
    Ok(())
}

/// What an expression is that asks nothing of documents; `None` for no value.
fn constant(
    value: &Value<'_>,
    variables: &Names<'_>,
    wrong: impl Fn(&Value<'_>) -> Fault,
) -> Result<Option<Owned>> {
    let mut expression = Expression::parse_unfolded(value, variables)?;
    expression.fold(variables.scope())?;
    let known = expression.as_known().ok_or_else(|| wrong(value))?;
    Ok(known.cloned())
}

fn parse_boundaries(value: &Value<'_>, variables: &Names<'_>) -> Result<Vec<Owned>> {
    let Value::Array(items) = *value else {
        return Err(Fault::new(
            40200,
            format!(
                "The $bucket 'boundaries' field must be an array, but found type: {}.",
                value.kind().alias()
            ),
        ));
    };
    let boundaries = items
        .values()
        .map(|item| {
            constant(&item, variables, |item| {
                Fault::new(
                    40191,
                    format!(
                        "The $bucket 'boundaries' field must be an array of constant values, but found value: {}.",
                        print::bson_value(item)
                    ),
                )
            })
        })
        .collect::<Result<Vec<_>>>()?;
    if boundaries.len() < 2 {
        return Err(Fault::new(
            40192,
            format!(
                "The $bucket 'boundaries' field must have at least 2 values, but found {} value(s).",
                boundaries.len()
            ),
        ));
    }
    for (index, pair) in boundaries.windows(2).enumerate() {
        let [low, high] = [0, 1].map(|at| pair[at].as_ref().map(Owned::as_value));
        let are_numbers = [low, high].iter().flatten().filter(|end| end.is_number()).count() == 2;
        if type_name(low) != type_name(high) && !are_numbers {
            return Err(Fault::new(
                40193,
                format!(
                    "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types {} and {}.",
                    type_name(low),
                    type_name(high)
                ),
            ));
        }
        let is_ascending = match (&low, &high) {
            (Some(low), Some(high)) => compare(low, high).is_lt(),
            _ => false,
        };
        if !is_ascending {
            let shown = |end: Option<Value<'_>>| end.map_or_else(String::new, |end| print::value(&end));
            return Err(Fault::new(
                40194,
                format!(
                    "The 'boundaries' option to $bucket must be sorted, but elements {index} and {} are not in ascending order ({} is not less than {}).",
                    index + 1,
                    shown(low),
                    shown(high)
                ),
            ));
        }
    }
    Ok(boundaries.into_iter().flatten().collect())
}

/// `None` for a default that is no value.
fn parse_default(value: &Value<'_>, variables: &Names<'_>) -> Result<Option<Owned>> {
    constant(value, variables, |value| {
        Fault::new(
            40195,
            format!(
                "The $bucket 'default' field must be a constant expression, but found: {}.",
                print::bson_value(value)
            ),
        )
    })
}

fn output_of<'a>(stage: &str, code: i32, value: &Value<'a>) -> Result<Doc<'a>> {
    value.as_document().ok_or_else(|| {
        let end = if stage == "$bucket" { "." } else { "" };
        Fault::new(
            code,
            format!(
                "The {stage} 'output' field must be an object, but found type: {}{end}",
                value.kind().alias()
            ),
        )
    })
}

/// What is computed of each bucket, with a key of its own or with one that is computed too.
fn parse_output(output: Doc<'_>, variables: &[String], has_key: bool) -> Result<Vec<(String, Accumulator)>> {
    output
        .elements()
        .map(|element| {
            let name = element.name_str();
            if has_key && name == "_id" {
                return Err(Fault::new(15948, "a group's _id may only be specified once"));
            }
            let accumulator = Accumulator::parse(name, &element.value(), variables)?;
            Ok((name.to_owned(), accumulator))
        })
        .collect()
}

/// Whether a constant is something else when it is read as an expression.
fn is_read_otherwise(value: &Value<'_>) -> bool {
    match *value {
        Value::String(text) => text.starts_with('$'),
        Value::Document(doc) => doc.elements().any(|element| {
            let name = element.name_str();
            name.starts_with('$') || name.contains('.') || is_read_otherwise(&element.value())
        }),
        Value::Array(items) => items.values().any(|item| is_read_otherwise(&item)),
        _ => false,
    }
}

/// The key that a server makes of the stage. It reads the constants once more, so that a text may become a field.
fn switch(
    by: &Owned,
    boundaries: &[Owned],
    default: Option<&Owned>,
    variables: &[String],
) -> Result<Expression> {
    let document = |name: &str, value: Owned| Owned::Document(vec![(name.to_owned(), value)]);
    let compared = |operator: &str, boundary: &Owned| {
        document(operator, Owned::Array(vec![by.clone(), boundary.clone()]))
    };
    let branches = boundaries.windows(2).map(|ends| {
        let inside = Owned::Array(vec![compared("$gte", &ends[0]), compared("$lt", &ends[1])]);
        Owned::Document(vec![
            ("case".to_owned(), document("$and", inside)),
            ("then".to_owned(), ends[0].clone()),
        ])
    });
    let mut fields = vec![("branches".to_owned(), Owned::Array(branches.collect()))];
    fields.extend(default.map(|default| ("default".to_owned(), default.clone())));
    let switch = document("$switch", Owned::Document(fields));
    Expression::parse_unfolded(&switch.as_value(), variables)
}
