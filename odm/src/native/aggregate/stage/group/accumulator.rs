//! Accumulators of `$group`.

mod moving;
mod state;

use super::super::super::super::collation::Collation;
use super::super::super::super::document::owned::{field, one};
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::super::needs::Needs;
use super::super::super::super::sort::SortSpec;
use super::super::super::expression::{Expression, Scope};
use super::super::print;

pub(in super::super) use self::moving::{Entry, Inside};
pub(in super::super) use self::state::State;

/// One accumulator: what it does with which value.
#[derive(Clone, Debug)]
pub(in super::super) struct Accumulator {
    operator: Operator,
    input: Expression,
    /// It runs where a server has other means than for later stages.
    is_early: bool,
}

#[derive(Clone, Debug)]
enum Operator {
    Sum,
    Average,
    Min,
    Max,
    First,
    Last,
    Push,
    AddToSet,
    Count,
    DeviationPopulation,
    DeviationSample,
    MergeObjects,
    /// Several values: which, and how many.
    Several(Which, Expression),
    /// The values of the least or greatest documents in an order; several if there is a count.
    Ranked {
        order: SortSpec,
        which: Which,
        count: Option<Expression>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    First,
    Last,
    Min,
    Max,
    /// The greatest, of equal values the last.
    LastMax,
}

/// The accumulators of the server; of them only `$accumulator` is not here.
pub(crate) const ACCUMULATORS: &[&str] = &[
    "$accumulator",
    "$addToSet",
    "$avg",
    "$bottom",
    "$bottomN",
    "$count",
    "$first",
    "$firstN",
    "$last",
    "$lastN",
    "$max",
    "$maxN",
    "$mergeObjects",
    "$min",
    "$minN",
    "$push",
    "$stdDevPop",
    "$stdDevSamp",
    "$sum",
    "$top",
    "$topN",
];

impl Accumulator {
    /// The count of documents.
    pub(in super::super) fn count() -> Accumulator {
        Accumulator {
            operator: Operator::Count,
            input: Expression::constant(Owned::Null),
            is_early: false,
        }
    }

    /// The accumulator as `explain` shows it.
    pub(super) fn shown(&self) -> Owned {
        let counted = |count: &Expression| field("n", count.described());
        let name = match &self.operator {
            Operator::Count => return one("$sum", one("$const", Owned::Int32(1))),
            Operator::Sum => "$sum",
            Operator::Average => "$avg",
            Operator::Min => "$min",
            Operator::Max => "$max",
            Operator::First => "$first",
            Operator::Last => "$last",
            Operator::Push => "$push",
            Operator::AddToSet => "$addToSet",
            Operator::DeviationPopulation => "$stdDevPop",
            Operator::DeviationSample => "$stdDevSamp",
            Operator::MergeObjects => "$mergeObjects",
            Operator::Several(which, count) => {
                let name = match which {
                    Which::First => "$firstN",
                    Which::Last => "$lastN",
                    Which::Min => "$minN",
                    Which::Max | Which::LastMax => "$maxN",
                };
                let spec = vec![counted(count), field("input", self.input.described())];
                return one(name, Owned::Document(spec));
            }
            Operator::Ranked { order, which, count } => {
                let name = match (which, count) {
                    (Which::Min, None) => "$top",
                    (Which::Min, Some(_)) => "$topN",
                    (_, None) => "$bottom",
                    (_, Some(_)) => "$bottomN",
                };
                let mut spec: Vec<_> = count.iter().map(counted).collect();
                spec.push(field("output", self.input.described()));
                spec.push(field("sortBy", Value::Document(order.spec()).into()));
                return one(name, Owned::Document(spec));
            }
        };
        one(name, self.input.described())
    }

    /// Whether nothing but the first document of a group is of use to it.
    pub(in super::super) fn is_first(&self) -> bool {
        matches!(self.operator, Operator::First)
    }

    /// Compares the strings of its order by the collation.
    pub(in super::super) fn collate(&mut self, collation: &Collation) {
        if let Operator::Ranked { order, .. } = &mut self.operator {
            *order = order.clone().collated(collation);
        }
    }

    /// As in windows that documents leave: of equal values the last are kept, where they are the greatest.
    pub(in super::super) fn for_sliding(mut self) -> Accumulator {
        if let Operator::Several(which @ Which::Max, _)
        | Operator::Ranked {
            which: which @ Which::Max,
            ..
        } = &mut self.operator
        {
            *which = Which::LastMax;
        }
        self
    }

    /// Parses the value of one field of `$group`.
    pub(in super::super) fn parse(
        field: &str,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Accumulator> {
        let Some((doc, first)) = value
            .as_document()
            .and_then(|doc| Some((doc, doc.elements().next()?)))
            .filter(|(_, first)| first.name().first() == Some(&b'$'))
        else {
            return Err(Fault::new(
                40234,
                format!("The field '{field}' must be an accumulator object"),
            ));
        };
        if field.contains('.') {
            return Err(Fault::new(
                40235,
                format!("The field name '{field}' cannot contain '.'"),
            ));
        }
        if field.starts_with('$') {
            return Err(Fault::new(
                40236,
                format!("The field name '{field}' cannot be an operator name"),
            ));
        }
        if doc.count() != 1 {
            return Err(Fault::new(
                40238,
                format!("The field '{field}' must specify one accumulator"),
            ));
        }
        let (name, value) = (first.name_str(), first.value());
        if matches!(value, Value::Array(_)) {
            return Err(Fault::new(
                40237,
                format!("The {name} accumulator is a unary operator"),
            ));
        }
        Accumulator::parse_operator(name, &value, variables)
    }

    /// Parses the argument of the accumulator of this name.
    pub(in super::super) fn parse_operator(
        name: &str,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Accumulator> {
        if !ACCUMULATORS.contains(&name) {
            return Err(Fault::new(15952, format!("unknown group operator '{name}'")));
        }
        let operator = match name {
            "$sum" => Operator::Sum,
            "$avg" => Operator::Average,
            "$min" => Operator::Min,
            "$max" => Operator::Max,
            "$first" => Operator::First,
            "$last" => Operator::Last,
            "$push" => Operator::Push,
            "$addToSet" => Operator::AddToSet,
            "$stdDevPop" => Operator::DeviationPopulation,
            "$stdDevSamp" => Operator::DeviationSample,
            "$mergeObjects" => Operator::MergeObjects,
            "$count" => {
                return match value {
                    Value::Document(doc) if doc.is_empty() => Ok(Accumulator::count()),
                    _ => Err(Fault::new(
                        code::TYPE_MISMATCH,
                        "$count takes no arguments, i.e. $count:{}",
                    )),
                };
            }
            "$firstN" => return Accumulator::parse_several(name, Which::First, value, variables),
            "$lastN" => return Accumulator::parse_several(name, Which::Last, value, variables),
            "$minN" => return Accumulator::parse_several(name, Which::Min, value, variables),
            "$maxN" => return Accumulator::parse_several(name, Which::Max, value, variables),
            "$top" | "$topN" | "$bottom" | "$bottomN" => {
                return Accumulator::parse_ranked(name, value, variables);
            }
            "$accumulator" => {
                return Err(Fault::unsupported(
                    "the native engine does not run JavaScript ($accumulator)",
                ));
            }
            _ => {
                return Err(Fault::new(15952, format!("unknown group operator '{name}'")));
            }
        };
        Ok(Accumulator {
            operator,
            input: Expression::parse_unfolded(value, variables)?,
            is_early: false,
        })
    }

    fn parse_several(
        name: &str,
        which: Which,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Accumulator> {
        let Value::Document(doc) = *value else {
            let code = match which {
                Which::First | Which::Last => 5787801,
                _ => 5787900,
            };
            return Err(Fault::new(
                code,
                format!(
                    "specification must be an object; found {name}: {}",
                    print::bson_value(value)
                ),
            ));
        };
        let (mut count, mut input) = (None, None);
        for element in doc.elements() {
            match element.name_str() {
                "n" => count = Some(Expression::parse_unfolded(&element.value(), variables)?),
                "input" => input = Some(Expression::parse_unfolded(&element.value(), variables)?),
                other => {
                    return Err(Fault::new(
                        5787901,
                        format!("Unknown argument for 'n' operator: {other}"),
                    ));
                }
            }
        }
        let count = count.ok_or_else(|| Fault::new(5787906, "Missing value for 'n'"))?;
        let input = input.ok_or_else(|| Fault::new(5787907, "Missing value for 'input'"))?;
        Ok(Accumulator {
            operator: Operator::Several(which, count),
            input,
            is_early: false,
        })
    }

    fn parse_ranked(name: &str, value: &Value<'_>, variables: &[String]) -> Result<Accumulator> {
        let Value::Document(doc) = *value else {
            return Err(Fault::new(
                5788001,
                format!(
                    "specification must be an object; found {name}: {}",
                    print::bson_value(value)
                ),
            ));
        };
        let several = name.ends_with('N');
        let (mut count, mut output, mut order) = (None, None, None);
        for element in doc.elements() {
            match element.name_str() {
                "n" if several => count = Some(Expression::parse_unfolded(&element.value(), variables)?),
                "output" => output = Some(element.value()),
                "sortBy" => match element.value() {
                    Value::Document(spec) | Value::Array(spec) => order = Some(spec),
                    _ => {
                        return Err(Fault::new(
                            10065,
                            "invalid parameter: expected an object (sortBy)",
                        ));
                    }
                },
                other => {
                    return Err(Fault::new(
                        5788002,
                        format!("Unknown argument to {name} '{other}'"),
                    ));
                }
            }
        }
        if several && count.is_none() {
            return Err(Fault::new(5788003, "Missing value for 'n'"));
        }
        let output = output.ok_or_else(|| Fault::new(5788004, "Missing value for 'output'"))?;
        let order = order.ok_or_else(|| Fault::new(5788005, "Missing value for 'sortBy'"))?;
        let order = SortSpec::parse(order)?;
        let output = Expression::parse_unfolded(&output, variables)?;
        Ok(Accumulator {
            operator: Operator::Ranked {
                order,
                which: match name.starts_with("$bottom") {
                    true => Which::Max,
                    false => Which::Min,
                },
                count,
            },
            input: output,
            is_early: false,
        })
    }

    /// Says that it runs by a server's other means.
    pub(super) fn set_early(&mut self) {
        self.is_early = true;
        self.input.set_early();
    }

    /// Whether it asks anything of a document.
    pub(super) fn reads_document(&self) -> bool {
        self.input.reads_document() || matches!(self.operator, Operator::Ranked { .. })
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        let by_order = match &self.operator {
            Operator::Ranked { order, .. } => order.add_needs(needs),
            _ => true,
        };
        by_order && self.input.add_needs(needs)
    }

    /// Whether it is one of those that take the values of one expression, and a server's other means have that.
    pub(super) fn can_be_early(&self) -> bool {
        !matches!(self.operator, Operator::Several(..) | Operator::Ranked { .. })
            && self.input.all_operators(&super::early::has)
    }

    /// The expression whose value is all that it asks of a document.
    pub(super) fn plain_input(&self) -> Option<&Expression> {
        (!matches!(self.operator, Operator::Ranked { .. })).then_some(&self.input)
    }

    /// How many values it takes, if that is said.
    pub(in super::super) fn count_mut(&mut self) -> Option<&mut Expression> {
        match &mut self.operator {
            Operator::Several(_, count)
            | Operator::Ranked {
                count: Some(count), ..
            } => Some(count),
            _ => None,
        }
    }

    pub(in super::super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        if let Some(count) = self.count_mut() {
            count.fold(known)?;
        }
        self.input.fold(known)
    }
}
