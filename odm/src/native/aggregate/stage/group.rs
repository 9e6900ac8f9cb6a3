//! `$group`, and `$sortByCount` by way of it.

mod accumulator;
mod early;
mod plain;

use std::collections::HashMap;

use super::super::super::collation::Collation;
use super::super::super::document::owned::one;
use super::super::super::document::{Doc, Fields, Owned, Value, compare};
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::{Changes, Matcher};
use super::super::super::metadata::Metadata;
use super::super::super::needs::Needs;
use super::super::expression::{Answer, Expression, Scope, no_case};
use super::super::pipeline::OVER_MEMORY;
use super::{Context, Row, Rows, Shown, Stage, path, scope, write};

#[cfg(test)]
pub(crate) use self::accumulator::ACCUMULATORS;
use self::accumulator::State;
pub(super) use self::accumulator::{Accumulator, Entry, Inside};
pub(crate) use self::early::has as is_early_operator;
use self::plain::Plain;

/// Groups documents by a value and accumulates over each group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    by: By,
    accumulators: Vec<(String, Accumulator)>,
    order: Order,
    /// Whether it reads a collection with nothing before it but filters and orders.
    is_early: bool,
    /// Where nothing but fields is asked for.
    plain: Option<Plain>,
}

/// The groups so far.
#[derive(Default)]
pub(crate) struct Gathered {
    /// By their encoded values, but for the first.
    positions: HashMap<Vec<u8>, usize>,
    /// The encoded values of the first, which are compared without a hash.
    first: Vec<Vec<u8>>,
    groups: Vec<(Owned, Vec<State>)>,
    /// Bytes.
    held: usize,
    /// The value of the last document.
    encoded: Vec<u8>,
}

/// How many bytes of an expression are shown of ranges, about.
const MAX_SHOWN: usize = 16 * 1024;

/// So many groups are looked for by comparing.
const FIRST: usize = 4;

/// What documents are grouped by.
#[derive(Clone, Debug)]
pub(super) enum By {
    Value(Expression),
    /// A document of one field, which is null where it has no value.
    Field(String, Expression),
    /// Ranges of a value: each boundary is the least of its range, the last one the end of all.
    Boundaries {
        value: Expression,
        boundaries: Vec<Owned>,
        default: Option<Owned>,
    },
}

/// How the groups come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As first seen; a server gives no order.
    Seen,
    /// By `_id`.
    Id,
    /// By the first accumulator, greatest first.
    CountDescending,
}

/// Whether a server has an early `$group` in a command whose `let`, or whose filter, has this expression.
pub(crate) fn goes_with_early(value: &Expression) -> bool {
    // Constants may leave an operator that it does not have.
    let has_folded = || {
        let mut folded = value.clone();
        folded.fold(None).is_err() || folded.all_operators(&early::has)
    };
    value.all_operators(&early::has) && has_folded()
}

impl Group {
    /// A group stage made by another one.
    pub(super) fn new(by: By, accumulators: Vec<(String, Accumulator)>, order: Order) -> Group {
        Group {
            by,
            accumulators,
            order,
            is_early: false,
            plain: None,
        }
    }

    /// As `explain` shows it: a server orders groups by a stage of its own, if the next one does not order them again, nor take
    /// the first of them.
    pub(super) fn shown(&self, next: Option<&Stage>) -> Vec<Shown> {
        let mut spec = vec![("_id".to_owned(), self.by.shown())];
        spec.extend(self.shown_accumulators());
        let mut shown = vec![Shown::new("$group", Owned::Document(spec))];
        let by = match (self.order, self.accumulators.first()) {
            (Order::Id, _) => Some(("_id", 1)),
            (Order::CountDescending, Some((name, _))) => Some((name.as_str(), -1)),
            _ => None,
        };
        shown.extend(
            by.filter(|_| !matches!(next, Some(Stage::Sort(_))))
                .map(|(name, direction)| {
                    let key = vec![(name.to_owned(), Owned::Int32(direction))];
                    let limit = match next {
                        Some(Stage::Limit(count)) => Some(*count),
                        _ => None,
                    };
                    Shown::order(Owned::Document(key)).of_first(limit)
                }),
        );
        shown
    }

    /// The accumulators of it.
    pub(super) fn shown_accumulators(&self) -> Fields {
        let accumulators = self.accumulators.iter();
        accumulators
            .map(|(name, accumulator)| (name.clone(), accumulator.shown()))
            .collect()
    }

    /// Whether it asks anything of a document.
    pub(in super::super) fn reads_document(&self) -> bool {
        let by = match &self.by {
            By::Value(value) => value.reads_document(),
            _ => true,
        };
        by || self
            .accumulators
            .iter()
            .any(|(_, accumulator)| accumulator.reads_document())
    }

    /// The path whose values are the groups, if nothing else is asked for.
    pub(crate) fn only_path(&self) -> Option<String> {
        self.accumulators.is_empty().then(|| self.path()).flatten()
    }

    /// The path whose values are the groups, if nothing is asked for but what is first in them.
    pub(crate) fn first_path(&self) -> Option<String> {
        let mut accumulators = self.accumulators.iter();
        let is_first = accumulators.all(|(_, accumulator)| accumulator.is_first());
        is_first.then(|| self.path()).flatten()
    }

    /// The path whose values are the groups.
    fn path(&self) -> Option<String> {
        match &self.by {
            By::Value(value) | By::Field(_, value) => value.as_path(),
            By::Boundaries { .. } => None,
        }
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        let (By::Value(value) | By::Field(_, value) | By::Boundaries { value, .. }) = &self.by;
        let mut accumulators = self.accumulators.iter();
        value.add_needs(needs) && accumulators.all(|(_, accumulator)| accumulator.add_needs(needs))
    }

    /// What it does to the paths of a document: nothing is left but what it groups by. `None` where a filter asks whether
    /// there is a group's `_id`, which there is for what was missing too.
    pub(in super::super) fn changes(&self, filter: &Matcher) -> Option<Changes> {
        let renamed = match &self.by {
            By::Value(value) => value.fields_at("_id"),
            By::Field(name, value) => value.fields_at(&format!("_id.{name}")),
            By::Boundaries { .. } => Vec::new(),
        };
        let is_single = renamed.len() < 2;
        (!is_single || !filter.asks_existence("_id")).then(|| Changes::all_but(Vec::new()).renaming(renamed))
    }

    /// Whether its groups come in an order, for which a server has a stage behind it.
    pub(in super::super) fn is_ordered(&self) -> bool {
        self.order != Order::Seen
    }

    /// Says that nothing but filters and orders stands between the collection and the stage.
    /// Gives whether it can be one that is early.
    pub(in super::super) fn set_early(&mut self) -> bool {
        self.is_early = self.can_be_early();
        self.is_early
    }

    fn can_be_early(&mut self) -> bool {
        let mut accumulators = self.accumulators.iter();
        self.by.value_mut().all_operators(&early::has)
            && accumulators.all(|(_, accumulator)| accumulator.can_be_early())
    }

    /// Says so to what it computes, unless constants have left an operator that an early group does not have.
    fn settle_early(&mut self) {
        self.is_early = self.can_be_early();
        if self.is_early {
            self.by.value_mut().set_early();
            for (_, accumulator) in &mut self.accumulators {
                accumulator.set_early();
            }
        }
    }

    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Group> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                15947,
                "a group's fields must be specified in an object",
            ));
        };
        let mut by = None;
        let mut accumulators = Vec::new();
        for element in spec.elements() {
            let name = element.name_str();
            if name == "_id" {
                if by.is_some() {
                    return Err(Fault::new(15948, "a group's _id may only be specified once"));
                }
                by = Some(parse_id(&element.value(), variables)?);
            } else {
                accumulators.push((
                    name.to_owned(),
                    Accumulator::parse(name, &element.value(), variables)?,
                ));
            }
        }
        let by = by.ok_or_else(|| Fault::new(15955, "a group specification must include an _id"))?;
        Ok(Group::new(by, accumulators, Order::Seen))
    }

    /// Parses `$sortByCount`.
    pub(super) fn parse_sorted(value: &Value<'_>, variables: &[String]) -> Result<Group> {
        match *value {
            Value::Document(doc) => {
                let operator = doc
                    .elements()
                    .next()
                    .is_some_and(|first| first.name().first() == Some(&b'$'));
                if !operator {
                    return Err(Fault::new(
                        40147,
                        "the sortByCount field must be defined as a $-prefixed path or an expression inside an object",
                    ));
                }
            }
            Value::String(text) => {
                if !text.starts_with('$') {
                    return Err(Fault::new(
                        40148,
                        "the sortByCount field must be defined as a $-prefixed path or an expression inside an object",
                    ));
                }
            }
            _ => {
                return Err(Fault::new(
                    40149,
                    "the sortByCount field must be specified as a string or as an object",
                ));
            }
        }
        Ok(Group::new(
            By::Value(Expression::parse_unfolded(value, variables)?),
            vec![("count".to_owned(), Accumulator::count())],
            Order::CountDescending,
        ))
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.by.value_mut().fold(known)?;
        self.by.check_known(known)?;
        self.accumulators
            .iter_mut()
            .try_for_each(|(_, accumulator)| accumulator.fold(known))?;
        if known.is_some() && self.is_early {
            self.settle_early();
        }
        if let By::Value(by) = &self.by {
            let inputs: Option<Vec<_>> = self
                .accumulators
                .iter()
                .map(|(_, accumulator)| accumulator.plain_input())
                .collect();
            self.plain = inputs.and_then(|inputs| Plain::of([by].into_iter().chain(inputs)));
        }
        Ok(())
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        for (_, accumulator) in &mut self.accumulators {
            accumulator.collate(collation);
        }
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let mut gathered = Gathered::default();
        for row in input {
            let row = row?;
            self.add(&mut gathered, (&row, row.metadata()), context)?;
        }
        self.finish(gathered, context)
    }

    /// Takes one document in.
    pub(in super::super) fn add(
        &self,
        gathered: &mut Gathered,
        (document, metadata): (&[u8], Option<&Metadata>),
        context: &Context<'_>,
    ) -> Result<()> {
        if let Some(plain) = &self.plain {
            let values = plain.values(document);
            let id = plain.value(&values, 0).map_or(Answer::Missing, Answer::Borrowed);
            let at = self.group_of(gathered, id, context)?;
            let Gathered { groups, held, .. } = gathered;
            let states = self.accumulators.iter().zip(&mut groups[at].1).enumerate();
            for (index, ((_, accumulator), state)) in states {
                let value = plain.value(&values, index + 1);
                *held += accumulator.take(state, value, &context.collation)?;
            }
        } else {
            let scope = Scope {
                metadata,
                is_early: self.is_early,
                ..scope(Doc::Raw(document), context)
            };
            let id = self.by.id(&scope, self.is_early)?;
            let at = self.group_of(gathered, id, context)?;
            let Gathered { groups, held, .. } = gathered;
            for ((_, accumulator), state) in self.accumulators.iter().zip(&mut groups[at].1) {
                *held += accumulator.add(state, &scope)?;
            }
        }
        context.memory.hold(
            gathered.held,
            OVER_MEMORY,
            "Exceeded memory limit for $group, but didn't allow external spilling; pass allowDiskUse:true to opt in",
        )
    }

    /// The place of the group of this value, which begins with it if there is none.
    fn group_of(&self, gathered: &mut Gathered, id: Answer<'_>, context: &Context<'_>) -> Result<usize> {
        let Gathered {
            positions,
            first,
            groups,
            held,
            encoded,
        } = gathered;
        encoded.clear();
        context
            .collation
            .encode(&id.value().unwrap_or(Value::Null), false, encoded);
        let found = match first.iter().position(|other| other == encoded) {
            None if groups.len() > first.len() => positions.get(encoded.as_slice()).copied(),
            found => found,
        };
        if let Some(at) = found {
            return Ok(at);
        }
        *held += 2 * encoded.len();
        let id = id.into_owned().unwrap_or(Owned::Null);
        let states = self
            .accumulators
            .iter()
            .map(|(_, accumulator)| accumulator.start(&id, context))
            .collect::<Result<Vec<_>>>()?;
        if first.len() < FIRST {
            first.push(encoded.clone());
        } else {
            positions.insert(encoded.clone(), groups.len());
        }
        groups.push((id, states));
        Ok(groups.len() - 1)
    }

    /// What came of all documents that were taken in.
    pub(in super::super) fn finish(&self, gathered: Gathered, context: &Context<'_>) -> Result<Rows<'_>> {
        let groups = gathered.groups;
        let mut rows: Vec<(Owned, Vec<Owned>)> = groups
            .into_iter()
            .map(|(id, states)| {
                let results = self
                    .accumulators
                    .iter()
                    .zip(states)
                    .map(|((_, accumulator), state)| accumulator.finish(state))
                    .collect();
                (id, results)
            })
            .collect();
        match self.order {
            Order::Seen => {}
            Order::Id => rows.sort_by(|a, b| context.collation.compare(&a.0.as_value(), &b.0.as_value())),
            Order::CountDescending => rows.sort_by(|a, b| match (a.1.first(), b.1.first()) {
                (Some(a), Some(b)) => compare(&b.as_value(), &a.as_value()),
                _ => std::cmp::Ordering::Equal,
            }),
        }
        Ok(Box::new(rows.into_iter().map(move |(id, results)| {
            let mut fields = Vec::with_capacity(results.len() + 1);
            fields.push(("_id".to_owned(), id));
            for ((name, _), result) in self.accumulators.iter().zip(results) {
                fields.push((name.clone(), result));
            }
            write(Owned::Document(fields)).map(Row::from)
        })))
    }
}

impl By {
    /// The expression that it is.
    fn shown(&self) -> Owned {
        let (value, boundaries, default) = match self {
            By::Value(value) => return value.described(),
            By::Field(name, value) => return one(name, value.described()),
            By::Boundaries {
                value,
                boundaries,
                default,
            } => (value, boundaries, default),
        };
        let constant = |value: &Owned| one("$const", value.clone());
        let described = value.described();
        let bound = |operator, bound| one(operator, Owned::Array(vec![described.clone(), constant(bound)]));
        // Each of them has the value, which may be large: the first of them tell what the others are.
        let size = Doc::Items(std::slice::from_ref(&described)).to_bytes().len();
        let most = (MAX_SHOWN / size).max(1);
        let ranges = boundaries.iter().zip(boundaries.iter().skip(1)).take(most);
        let branches = ranges.map(|(low, high)| {
            let within = Owned::Array(vec![bound("$gte", low), bound("$lt", high)]);
            Owned::Document(vec![
                ("case".to_owned(), one("$and", within)),
                ("then".to_owned(), constant(low)),
            ])
        });
        let mut switch = vec![("branches".to_owned(), Owned::Array(branches.collect()))];
        switch.extend(
            default
                .iter()
                .map(|value| ("default".to_owned(), constant(value))),
        );
        one("$switch", Owned::Document(switch))
    }

    fn value_mut(&mut self) -> &mut Expression {
        match self {
            By::Value(value) | By::Field(_, value) | By::Boundaries { value, .. } => value,
        }
    }

    /// Refuses ranges without a default, in none of which a value is that is known.
    fn check_known(&self, known: Option<&Scope<'_>>) -> Result<()> {
        let By::Boundaries {
            value,
            boundaries,
            default: None,
        } = self
        else {
            return Ok(());
        };
        let Some(value) = value.as_known() else {
            return Ok(());
        };
        let value = value.map_or(Value::Null, Owned::as_value);
        let collation = known.map_or(Collation::simple(), |known| &known.collation);
        match range_of(&value, boundaries, collation) {
            Some(_) => Ok(()),
            None => Err(no_case()),
        }
    }

    /// `is_early`: of an early group.
    fn id<'a>(&'a self, scope: &'a super::Scope<'a>, is_early: bool) -> Result<Answer<'a>> {
        match self {
            By::Value(value) => value.answer(scope),
            By::Field(name, value) => {
                let value = value.answer(scope)?.into_owned().unwrap_or(Owned::Null);
                Ok(Answer::Owned(Owned::Document(vec![(name.clone(), value)])))
            }
            By::Boundaries {
                value,
                boundaries,
                default,
            } => {
                let answer = value.answer(scope)?;
                let value = answer.value().unwrap_or(Value::Null);
                if let Some(low) = range_of(&value, boundaries, &scope.collation) {
                    return Ok(Answer::Borrowed(low.as_value()));
                }
                let default = default.as_ref().map(|value| Answer::Borrowed(value.as_value()));
                default.ok_or_else(|| {
                    Fault::new(
                        if is_early { 4_934_200 } else { 40_066 },
                        "$switch could not find a matching branch for an input, and no default was specified.",
                    )
                })
            }
        }
    }
}

/// Where the range begins in which the value is.
fn range_of<'b>(value: &Value<'_>, boundaries: &'b [Owned], collation: &Collation) -> Option<&'b Owned> {
    let above = boundaries.partition_point(|low| collation.compare(&low.as_value(), value).is_le());
    let low = boundaries.get(above.checked_sub(1)?)?;
    (above < boundaries.len()).then_some(low)
}

/// What `_id` groups by.
fn parse_id(value: &Value<'_>, variables: &[String]) -> Result<By> {
    if let Value::Document(doc) = *value
        && doc
            .elements()
            .next()
            .is_some_and(|first| first.name().first() != Some(&b'$'))
    {
        for element in doc.elements() {
            if element.value().is_number() || matches!(element.value(), Value::Bool(_)) {
                return Err(Fault::new(
                    17390,
                    "$group does not support inclusion-style expressions",
                ));
            }
            path::check_name(element.name_str())?;
        }
        let mut elements = doc.elements();
        if let (Some(only), None) = (elements.next(), elements.next()) {
            let value = Expression::parse_unfolded(&only.value(), variables)?;
            return Ok(By::Field(only.name_str().to_owned(), value));
        }
    }
    Ok(By::Value(Expression::parse_unfolded(value, variables)?))
}
