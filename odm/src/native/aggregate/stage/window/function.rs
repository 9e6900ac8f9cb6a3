//! The functions of windows: what they are given, and their results for every document of a partition.

use super::super::super::super::collation::Collation;
use super::super::super::super::document::number::as_i64_exact;
use super::super::super::super::document::{Doc, Owned, Value};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::super::needs::Needs;
use super::super::super::expression::{Expression, Scope};
use super::super::super::print;
use super::super::group::Accumulator;
use super::bounds::Bounds;
use super::covariance::Covariance;
use super::deviation::Deviation;
use super::moving::slide;
use super::rate::Rate;
use super::series::{self, MovingAverage};
use super::total::Total;
use super::{Context, Names, Order, Partition, is_same};

/// A window function with its arguments.
#[derive(Clone, Debug)]
pub(super) enum Function {
    Rank(Rank),
    /// The value of the document so many places on.
    Shift {
        output: Expression,
        by: i64,
        /// `None` is a missing value.
        default: Option<Owned>,
    },
    MovingAverage(MovingAverage),
    Rate(Rate),
    Covariance(Covariance),
    LinearFill(Expression),
    /// The last value there was.
    Carry(Expression),
    /// The first or the last value of the window.
    Edge {
        input: Expression,
        is_last: bool,
        bounds: Bounds,
    },
    Deviation(Deviation),
    Total(Total),
    Accumulate {
        accumulator: Accumulator,
        bounds: Bounds,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    Number,
    Competition,
    Dense,
}

/// The results for all documents of a partition; `None` is a missing value.
pub(super) type Column = Vec<Option<Owned>>;

pub(super) fn wrong(message: impl Into<String>) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, message.into())
}

impl Function {
    /// Adds the paths at which it looks at documents, those of their order aside; `false` where these are not all.
    pub(super) fn add_needs(&self, needs: &mut Needs) -> bool {
        match self {
            Function::Rank(_) => true,
            Function::Accumulate { accumulator, .. } => accumulator.add_needs(needs),
            Function::Shift { output: input, .. }
            | Function::MovingAverage(MovingAverage { input, .. })
            | Function::Rate(Rate { input, .. })
            | Function::Covariance(Covariance { input, .. })
            | Function::LinearFill(input)
            | Function::Carry(input)
            | Function::Edge { input, .. }
            | Function::Deviation(Deviation { input, .. })
            | Function::Total(Total { input, .. }) => input.add_needs(needs),
        }
    }

    /// Parses `{$function: argument, window: bounds}`.
    pub(super) fn parse(
        field: &str,
        value: &Value<'_>,
        order: Option<&Order>,
        variables: &Names<'_>,
    ) -> Result<Function> {
        let Value::Document(spec) = *value else {
            return Err(wrong(format!("The field '{field}' must be an object")));
        };
        let Some(first) = spec.elements().find(|element| element.name().starts_with(b"$")) else {
            return Err(wrong(match spec.elements().next() {
                Some(other) => format!("Expected a $-prefixed window function, {}", other.name_str()),
                None => "Expected a $-prefixed window function".to_owned(),
            }));
        };
        let (name, argument) = (first.name_str(), first.value());
        if !is_function(name) {
            return Err(wrong(format!("Unrecognized window function, {name}")));
        }
        let expression = || Expression::parse_unfolded(&argument, variables);
        match name {
            "$documentNumber" => parse_rank(name, Rank::Number, spec, &argument, order),
            "$rank" => parse_rank(name, Rank::Competition, spec, &argument, order),
            "$denseRank" => parse_rank(name, Rank::Dense, spec, &argument, order),
            "$expMovingAvg" => {
                MovingAverage::parse(spec, &argument, order, variables).map(Function::MovingAverage)
            }
            "$shift" => {
                let mut shift = None;
                for element in spec.elements() {
                    match element.name_str() {
                        own if own == name => shift = Some(parse_shift(&argument, variables)?),
                        "window" => return Err(wrong("$shift does not accept a 'window' field")),
                        other if is_function(other) => return Err(multiple()),
                        other => return Err(unknown(other)),
                    }
                }
                match (shift, order) {
                    (Some(shift), Some(_)) => Ok(shift),
                    _ => Err(wrong("'$shift' requires a sortBy")),
                }
            }
            "$linearFill" | "$locf" => {
                let input = expression_alone(spec, name, &expression)?;
                match name {
                    "$locf" => Ok(Function::Carry(input)),
                    _ if order.is_some_and(Order::is_single) => Ok(Function::LinearFill(input)),
                    _ => Err(Fault::new(
                        605001,
                        "$linearFill must be specified with a top level sortBy expression with exactly one element",
                    )),
                }
            }
            "$derivative" | "$integral" => {
                Rate::check_order(name, order)?;
                let bounds = read(spec, name, order, &|| Ok(()), &|other| unexpected(name, other))?;
                Rate::parse(name, &argument, bounds, variables).map(Function::Rate)
            }
            _ => Function::parse_windowed(spec, (name, &argument), order, variables),
        }
    }

    /// Parses a function of the documents in a window.
    fn parse_windowed(
        spec: Doc<'_>,
        (name, argument): (&str, &Value<'_>),
        order: Option<&Order>,
        variables: &Names<'_>,
    ) -> Result<Function> {
        let expression = || Expression::parse_unfolded(argument, variables);
        let accumulator = || {
            let accumulator = Accumulator::parse_operator(name, argument, variables)?;
            check_order(name, argument)?;
            Ok(accumulator)
        };
        let check: &dyn Fn() -> Result<()> = match name {
            "$count" => &|| match argument {
                Value::Document(doc) if doc.is_empty() => Ok(()),
                _ => Err(wrong("$count only accepts an empty object as input")),
            },
            _ if SEVERAL.contains(&name) => &|| accumulator().map(drop),
            _ => &|| expression().map(drop),
        };
        let bounds = read(
            spec,
            name,
            order,
            check,
            &|other| match (name, is_function(other)) {
                ("$first" | "$last", _) => unexpected(name, other),
                _ if SEVERAL.contains(&name) => unexpected(name, other),
                ("$count", true) => multiple(),
                _ => unknown(other),
            },
        )?;
        let bounds = bounds.unwrap_or(Bounds::ALL);
        Ok(match name {
            "$covariancePop" | "$covarianceSamp" => Function::Covariance(Covariance {
                input: expression()?,
                of_sample: name == "$covarianceSamp",
                bounds,
            }),
            "$stdDevPop" | "$stdDevSamp" if !bounds.only_grows() => Function::Deviation(Deviation {
                input: expression()?,
                of_sample: name == "$stdDevSamp",
                bounds,
            }),
            "$sum" | "$avg" if !bounds.only_grows() => Function::Total(Total {
                input: expression()?,
                is_mean: name == "$avg",
                bounds,
            }),
            "$first" | "$last" => Function::Edge {
                input: expression()?,
                is_last: name == "$last",
                bounds,
            },
            _ => Function::Accumulate {
                accumulator: match bounds.only_grows() {
                    true => accumulator()?,
                    false => accumulator()?.for_sliding(),
                },
                bounds,
            },
        })
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        if let Function::Accumulate { accumulator, .. } = self {
            accumulator.collate(collation);
        }
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        match self {
            Function::Rank(_) => Ok(()),
            Function::Shift { output, .. } => output.fold(known),
            Function::MovingAverage(own) => own.input.fold(known),
            Function::Rate(own) => own.input.fold(known),
            Function::Covariance(own) => own.input.fold(known),
            Function::Deviation(own) => own.input.fold(known),
            Function::Total(own) => own.input.fold(known),
            Function::LinearFill(input) | Function::Carry(input) => input.fold(known),
            Function::Edge { input, .. } => input.fold(known),
            Function::Accumulate { accumulator, .. } => accumulator.fold(known),
        }
    }

    /// Refuses a wrong number of values.
    pub(super) fn check_count(&self, context: &Context<'_>) -> Result<()> {
        match self {
            Function::Accumulate { accumulator, .. } => accumulator.start(&Owned::Null, context).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The results for a partition.
    pub(super) fn column(&self, partition: &Partition<'_>) -> Result<Column> {
        match self {
            Function::Rank(rank) => Ok(ranks(*rank, partition)),
            Function::Shift { output, by, default } => (0..partition.rows.len())
                .map(|at| {
                    let other = i64::try_from(at).ok().and_then(|at| at.checked_add(*by));
                    match other.and_then(|other| usize::try_from(other).ok()) {
                        Some(other) if other < partition.rows.len() => {
                            output.evaluate(&partition.scope(other))
                        }
                        _ => Ok(default.clone()),
                    }
                })
                .collect(),
            Function::MovingAverage(own) => own.column(partition),
            Function::Rate(own) => own.column(partition),
            Function::Covariance(own) => own.column(partition),
            Function::Deviation(own) => own.column(partition),
            Function::Total(own) => own.column(partition),
            Function::LinearFill(input) => series::filled(&values(input, partition)?, partition),
            Function::Carry(input) => {
                let mut last = Owned::Null;
                let column = values(input, partition)?.into_iter().map(|value| {
                    match value {
                        None | Some(Owned::Null | Owned::Undefined) => {}
                        Some(value) => last = value,
                    }
                    Some(last.clone())
                });
                Ok(column.collect())
            }
            Function::Edge {
                input,
                is_last,
                bounds,
            } => bounds
                .windows(partition)?
                .into_iter()
                .map(|(low, high)| match (low < high, is_last) {
                    (false, _) => Ok(Some(Owned::Null)),
                    (true, true) => input.evaluate(&partition.scope(high - 1)),
                    (true, false) => input.evaluate(&partition.scope(low)),
                })
                .collect(),
            Function::Accumulate { accumulator, bounds } => accumulated(accumulator, bounds, partition),
        }
    }
}

/// The values of an expression for all documents.
pub(super) fn values(input: &Expression, partition: &Partition<'_>) -> Result<Column> {
    (0..partition.rows.len())
        .map(|at| input.evaluate(&partition.scope(at)))
        .collect()
}

/// Accumulators over windows, of which some only grow.
fn accumulated(accumulator: &Accumulator, bounds: &Bounds, partition: &Partition<'_>) -> Result<Column> {
    if !bounds.only_grows() {
        let inside = accumulator.inside(partition.context)?;
        let entry = |at| accumulator.entry(&partition.scope(at));
        return slide(inside, entry, bounds, partition);
    }
    let windows = bounds.windows(partition)?;
    let mut column = Vec::with_capacity(windows.len());
    let mut state = accumulator.start(&Owned::Null, partition.context)?;
    let mut done = 0;
    for (_, high) in windows {
        while done < high {
            accumulator.add(&mut state, &partition.scope(done))?;
            done += 1;
        }
        column.push(match column.last() {
            Some(result) if bounds.is_all() => Option::clone(result),
            _ => Some(accumulator.result(&state)),
        });
    }
    Ok(column)
}

fn ranks(rank: Rank, partition: &Partition<'_>) -> Column {
    let mut last = 0;
    (0..partition.rows.len())
        .map(|at| {
            let is_tie = at > 0
                && is_same(
                    partition.position(at - 1),
                    partition.position(at),
                    &partition.context.collation,
                );
            match rank {
                Rank::Number => last += 1,
                _ if is_tie => {}
                Rank::Dense => last += 1,
                Rank::Competition => last = at + 1,
            }
            Some(i32::try_from(last).map_or(Owned::Int64(last as i64), Owned::Int32))
        })
        .collect()
}

/// The functions that are parsed by their names alone.
const OWN: [&str; 9] = [
    "$denseRank",
    "$derivative",
    "$documentNumber",
    "$expMovingAvg",
    "$integral",
    "$linearFill",
    "$locf",
    "$rank",
    "$shift",
];

/// The functions over a window.
const WINDOWED: [&str; 21] = [
    "$addToSet",
    "$avg",
    "$bottom",
    "$bottomN",
    "$count",
    "$covariancePop",
    "$covarianceSamp",
    "$first",
    "$firstN",
    "$last",
    "$lastN",
    "$max",
    "$maxN",
    "$min",
    "$minN",
    "$push",
    "$stdDevPop",
    "$stdDevSamp",
    "$sum",
    "$top",
    "$topN",
];

/// All functions.
#[cfg(test)]
pub(crate) const WINDOW_FUNCTIONS: [&[&str]; 2] = [&OWN, &WINDOWED];

/// The functions of several values, or of those that are first in an order.
const SEVERAL: [&str; 8] = [
    "$bottom", "$bottomN", "$firstN", "$lastN", "$maxN", "$minN", "$top", "$topN",
];

fn is_function(name: &str) -> bool {
    OWN.contains(&name) || WINDOWED.contains(&name)
}

fn unexpected(name: &str, other: &str) -> Fault {
    wrong(format!("{name} got unexpected argument: {other}"))
}

/// The complaint about what stands beside a function and its window.
fn unknown(other: &str) -> Fault {
    match is_function(other) {
        true => wrong("Cannot specify two functions in window function spec"),
        false => wrong(format!("Window function found an unknown argument: {other}")),
    }
}

/// Reads the fields of a function in their order, of two faults the first is told: `check` looks at its argument, `other`
/// says what is wrong with fields that it does not have. Gives the bounds, if there are some.
fn read(
    spec: Doc<'_>,
    name: &str,
    order: Option<&Order>,
    check: &dyn Fn() -> Result<()>,
    other: &dyn Fn(&str) -> Fault,
) -> Result<Option<Bounds>> {
    let mut bounds = None;
    for element in spec.elements() {
        match element.name_str() {
            own if own == name => check()?,
            "window" => bounds = Some(Bounds::parse(&element.value(), order)?),
            unknown => return Err(other(unknown)),
        }
    }
    Ok(bounds)
}

/// The expression of a function that has no window, which is refused when the rest has been looked at.
fn expression_alone(
    spec: Doc<'_>,
    name: &str,
    expression: &dyn Fn() -> Result<Expression>,
) -> Result<Expression> {
    let mut has_window = false;
    for element in spec.elements() {
        match element.name_str() {
            own if own == name => drop(expression()?),
            "window" => has_window = true,
            other => return Err(unknown(other)),
        }
    }
    match has_window {
        true => Err(wrong(format!("'window' field is not allowed in {name}"))),
        false => expression(),
    }
}

fn multiple() -> Fault {
    wrong("Cannot specify multiple functions in window function spec")
}

/// Refuses an array for the order of `$top` and its neighbors, which `$group` takes for an object.
fn check_order(name: &str, argument: &Value<'_>) -> Result<()> {
    let order = argument.as_document().and_then(|spec| spec.get("sortBy"));
    match order {
        Some(Value::Array(_)) => Err(Fault::new(
            5788604,
            format!("expected 'sortBy' to already be an object in the arguments to {name}"),
        )),
        _ => Ok(()),
    }
}

fn parse_rank(
    name: &str,
    rank: Rank,
    spec: Doc<'_>,
    argument: &Value<'_>,
    order: Option<&Order>,
) -> Result<Function> {
    if spec.count() > 1 {
        return Err(Fault::new(
            5371601,
            "Rank style window functions take no other arguments",
        ));
    }
    if !matches!(argument, Value::Document(doc) if doc.is_empty()) {
        return Err(Fault::new(
            5371603,
            "(None) must be specified with '{}' as the value",
        ));
    }
    if !order.is_some_and(Order::is_single) {
        return Err(Fault::new(
            5371602,
            format!("{name} must be specified with a top level sortBy expression with exactly one element"),
        ));
    }
    Ok(Function::Rank(rank))
}

fn parse_shift(argument: &Value<'_>, variables: &Names<'_>) -> Result<Function> {
    let Value::Document(spec) = *argument else {
        return Err(wrong("Argument to $shift must be an object"));
    };
    let (mut output, mut by, mut default) = (None, None, Some(Owned::Null));
    for element in spec.elements() {
        let value = element.value();
        match element.name_str() {
            "output" => output = Some(Expression::parse_unfolded(&value, variables)?),
            "by" => {
                let number = Some(value)
                    .filter(Value::is_number)
                    .and_then(|value| as_i64_exact(&value))
                    .filter(|by| i32::try_from(*by).is_ok());
                by = Some(number.ok_or_else(|| {
                    wrong(format!(
                        "'$shift:by' field must be an integer, but found  by: {}",
                        print::bson_value(&value)
                    ))
                })?);
            }
            "default" => {
                let mut expression = Expression::parse_unfolded(&value, variables)?;
                expression.fold(variables.scope())?;
                default = expression
                    .as_known()
                    .map(Option::<&Owned>::cloned)
                    .ok_or_else(|| wrong("'$shift:default' expression must yield a constant value."))?;
            }
            _ => return Err(wrong("Unknown argument in $shift")),
        }
    }
    Ok(Function::Shift {
        output: output.ok_or_else(|| wrong("$shift requires an 'output' expression."))?,
        by: by.ok_or_else(|| wrong("$shift requires 'by' as an integer value."))?,
        default,
    })
}
