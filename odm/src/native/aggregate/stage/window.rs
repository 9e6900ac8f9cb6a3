//! `$setWindowFields`.

mod area;
mod bounds;
mod covariance;
mod deviation;
mod function;
mod moving;
mod rate;
mod series;
mod total;

#[cfg(test)]
pub(crate) use self::function::WINDOW_FUNCTIONS;
use std::cell::Cell;
use std::sync::Arc;

use super::super::super::collation::Collation;
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::super::super::sort::SortSpec;
use super::super::expression::{Expression, Scope};
use super::super::pipeline::{OVER_MEMORY, SORT_OVER_MEMORY};
use super::super::transform::Projection;
use super::declared::{Declared, Type};
use super::sort::Sort;
use super::{Context, Names, Row, Rows, Shown, path, row_scope, scope};

use self::function::Function;

/// Adds fields that are computed over other documents of the same partition.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    partition: Option<Expression>,
    order: Option<Order>,
    functions: Vec<Function>,
    /// Puts the result of each function, a variable, at its place.
    output: Option<Projection>,
    /// The functions as given.
    given: Arc<Owned>,
}

/// The order within a partition.
#[derive(Clone, Debug)]
struct Order {
    spec: SortSpec,
    /// The value of the only field, if it is the only one.
    single: Option<Expression>,
}

/// One document of a partition.
#[derive(Debug)]
struct Member {
    row: Row,
    /// What the order goes by, if that is one field; `None` where it is missing.
    position: Option<Owned>,
}

/// The documents of one partition in order, and what their expressions see.
struct Partition<'a> {
    rows: &'a [Member],
    context: &'a Context<'a>,
    /// Whether a decimal has come to the function that is computed, also in the partitions before.
    has_decimals: &'a Cell<bool>,
}

impl<'a> Partition<'a> {
    fn scope(&'a self, at: usize) -> Scope<'a> {
        match self.rows.get(at) {
            Some(member) => row_scope(&member.row, self.context),
            None => scope(Doc::empty(), self.context),
        }
    }

    fn position(&self, at: usize) -> Option<Value<'_>> {
        self.rows.get(at)?.position.as_ref().map(Owned::as_value)
    }
}

/// The name of the variable that holds a function's result.
fn variable(index: usize) -> String {
    format!("window{index}")
}

impl Windows {
    /// Whether its documents have an order.
    pub(super) fn is_ordered(&self) -> bool {
        self.order.is_some()
    }

    pub(super) fn parse(value: &Value<'_>, variables: &Names<'_>) -> Result<Windows> {
        let fields = [
            ("partitionBy", Type::Any),
            ("sortBy", Type::Document),
            ("output", Type::Document),
        ];
        let spec = Declared::stage("$setWindowFields", value, &fields)?;
        let order = spec.document("sortBy")?;
        spec.required("output")?;
        let output = spec.document("output")?.unwrap_or(Doc::empty());
        let partition = spec
            .spec
            .get("partitionBy")
            .map(|value| Expression::parse_unfolded(&value, variables))
            .transpose()?;
        Windows::new(partition, order, output, variables)
    }

    /// Windows over the partitions of `partition`, in this order.
    pub(super) fn new(
        partition: Option<Expression>,
        order: Option<Doc<'_>>,
        output: Doc<'_>,
        variables: &Names<'_>,
    ) -> Result<Windows> {
        let order = order.map(Order::parse).transpose()?;
        let mut functions = Vec::new();
        let mut paths: Vec<&str> = Vec::new();
        let mut places = Vec::new();
        for element in output.elements() {
            let name = element.name_str();
            let clash = |other: &&str| {
                name == *other
                    || name.starts_with(&format!("{other}."))
                    || other.starts_with(&format!("{name}."))
            };
            if paths.iter().any(clash) {
                return Err(Fault::new(
                    6307900,
                    "$setWindowFields 'output' specification contains two conflicting paths",
                ));
            }
            paths.push(name);
            let function = Function::parse(name, &element.value(), order.as_ref(), variables)?;
            let place = format!("$${}", variable(functions.len()));
            places.push((name.to_owned(), Owned::String(place)));
            functions.push(function);
        }
        let partition = match partition {
            Some(partition) => folded(partition, variables.scope())?,
            None => None,
        };
        paths
            .into_iter()
            .try_for_each(|name| path::parse(name).map(drop))?;
        let names: Vec<String> = (0..functions.len()).map(variable).collect();
        let given = Arc::new(Owned::from(Value::Document(output)));
        let output = match places.is_empty() {
            true => None,
            false => Some(Projection::parse_added(Doc::Fields(&places), &names)?),
        };
        Ok(Windows {
            partition,
            order,
            functions,
            output,
            given,
        })
    }

    /// What it does to the paths of a document.
    pub(in super::super) fn changes(&self) -> Changes {
        let functions = self.given.as_value().as_document();
        let names = functions.into_iter().flat_map(Doc::elements);
        Changes::only(names.map(|function| function.name_str().to_owned()).collect())
    }

    /// As `explain` shows it: the order that it needs, and the functions.
    pub(super) fn shown(&self) -> Vec<Shown> {
        let partition = self.partition.as_ref();
        let order = self.order.as_ref().map(|order| order.spec.spec());
        let mut shown = Vec::new();
        if self.sorts() {
            let path = partition.and_then(Expression::as_path);
            let mut by: Fields = path.into_iter().map(|path| (path, Owned::Int32(1))).collect();
            by.extend(order.into_iter().flat_map(fields_of));
            shown.push(Shown::order(Owned::Document(by)).before());
        }
        let mut spec = Fields::new();
        if let Some(partition) = partition {
            spec.push(("partitionBy".to_owned(), partition.described()));
        }
        if let Some(order) = order {
            spec.push(("sortBy".to_owned(), Value::Document(order).into()));
        }
        spec.push(("output".to_owned(), Owned::clone(&self.given)));
        shown.push(Shown::new("$_internalSetWindowFields", Owned::Document(spec)));
        shown
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        let mut parts = self.partition.iter();
        let mut orders = self.order.iter();
        let mut functions = self.functions.iter();
        parts.all(|partition| partition.add_needs(needs))
            && orders.all(|order| order.spec.add_needs(needs))
            && functions.all(|function| function.add_needs(needs))
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        if let Some(partition) = self.partition.take() {
            self.partition = folded(partition, known)?;
        }
        self.functions
            .iter_mut()
            .try_for_each(|function| function.fold(known))
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        if let Some(order) = &mut self.order {
            order.spec = order.spec.clone().collated(collation);
        }
        for function in &mut self.functions {
            function.collate(collation);
        }
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        self.check_counts(context)?;
        let mut sorted = self.sorted(input, context)?.into_iter().peekable();
        let mut results = Vec::new().into_iter();
        let decimals = vec![Cell::new(false); self.functions.len()];
        // A partition is computed when its first document is asked for.
        Ok(Box::new(std::iter::from_fn(move || {
            if let Some(row) = results.next() {
                return Some(Ok(row));
            }
            let (key, first) = sorted.next()?;
            let mut partition = vec![first];
            while let Some((_, member)) = sorted.next_if(|(other, _)| *other == key) {
                partition.push(member);
            }
            match self.close(partition, &decimals, context) {
                Ok(rows) => results = rows.into_iter(),
                Err(fault) => return Some(Err(fault)),
            }
            results.next().map(Ok)
        })))
    }

    /// Refuses functions that take a wrong number of values, as a server does where it makes ready to run them.
    pub(in super::super) fn check_counts(&self, context: &Context<'_>) -> Result<()> {
        self.functions
            .iter()
            .try_for_each(|function| function.check_count(context))
    }

    /// The documents with the keys of their partitions, by partition and in order.
    fn sorted(&self, input: Rows<'_>, context: &Context<'_>) -> Result<Vec<(Vec<u8>, Member)>> {
        let is_descending = self.is_descending();
        let mut rows = Vec::new();
        let mut held = 0usize;
        for row in input {
            let row = row?;
            let scope = row_scope(&row, context);
            let mut key = Vec::new();
            if let Some(partition) = &self.partition {
                let value = partition.evaluate(&scope)?.unwrap_or(Owned::Null);
                check_partition(&value)?;
                context
                    .collation
                    .encode(&value.as_value(), is_descending, &mut key);
            }
            let mut order = Vec::new();
            let mut position = None;
            if let Some(own) = &self.order {
                order = own.spec.key_with(Doc::Raw(&row), row.metadata())?;
                if let Some(single) = &own.single {
                    position = single.evaluate(&scope)?;
                }
            }
            held += key.len() + order.len() + row.len();
            context.memory.hold(held, OVER_MEMORY, SORT_OVER_MEMORY)?;
            rows.push((key, order, Member { row, position }));
        }
        rows.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        Ok(rows.into_iter().map(|(key, _, row)| (key, row)).collect())
    }

    /// Whether a server sorts by fields of the documents that it is given: what was in order before is not then.
    pub(super) fn sorts(&self) -> bool {
        match &self.partition {
            Some(partition) if partition.reads_document() => partition.as_path().is_some(),
            _ => self
                .order
                .as_ref()
                .is_some_and(|order| !order.spec.fields.is_empty()),
        }
    }

    /// Whether partitions come in descending order: as the documents in them, if these are ordered by the same field.
    fn is_descending(&self) -> bool {
        let path = self.partition.as_ref().and_then(Expression::as_path);
        let fields = self.order.iter().flat_map(|order| &order.spec.fields);
        path.is_some_and(|path| {
            fields
                .filter(|field| field.path == path)
                .any(|field| field.descending)
        })
    }

    /// The documents of one partition with their computed fields.
    fn close<'a>(
        &self,
        rows: Vec<Member>,
        decimals: &[Cell<bool>],
        context: &'a Context<'a>,
    ) -> Result<Vec<Row>> {
        let mut columns = Vec::with_capacity(self.functions.len());
        for (index, (function, has_decimals)) in self.functions.iter().zip(decimals).enumerate() {
            let partition = Partition {
                rows: &rows,
                context,
                has_decimals,
            };
            columns.push((variable(index), function.column(&partition)?.into_iter()));
        }
        let mut results = Vec::with_capacity(rows.len());
        let names = columns.iter().map(|(name, _)| (name.clone(), None));
        let mut variables: Vec<(String, Option<Owned>)> = names.collect();
        for Member { row, .. } in rows {
            for ((_, value), (_, column)) in variables.iter_mut().zip(&mut columns) {
                *value = column.next().flatten();
            }
            let Some(output) = &self.output else {
                results.push(row);
                continue;
            };
            let scope = Scope {
                variables: std::mem::take(&mut variables),
                collation: context.collation.clone(),
                ..Scope::new(Doc::Raw(&row), context.now)
            };
            let document = output.write(&scope)?;
            variables = scope.variables;
            results.push(row.made(document));
        }
        Ok(results)
    }
}

impl Order {
    fn parse(order: Doc<'_>) -> Result<Order> {
        if order.is_empty() {
            return Ok(Order {
                spec: SortSpec::parse(order)?,
                single: None,
            });
        }
        let sort = Sort::parse(&Value::Document(order))?;
        let spec = sort.spec().clone();
        let single = match spec.fields.as_slice() {
            [only] => {
                let field = format!("${}", only.path);
                Some(Expression::parse_unfolded(&Value::String(&field), &[])?)
            }
            _ => None,
        };
        Ok(Order { spec, single })
    }

    fn is_single(&self) -> bool {
        self.single.is_some()
    }

    fn is_ascending(&self) -> bool {
        self.spec.fields.iter().all(|field| !field.descending)
    }
}

/// What documents are parted by, unless it is the same of all.
///
/// # Errors
/// What is wrong with its constants, told before other stages are read.
fn folded(mut partition: Expression, known: Option<&Scope<'_>>) -> Result<Option<Expression>> {
    let fold = partition.fold(known);
    fold.map_err(|fault| fault.prefixed("Failed to optimize partitionBy expression :: caused by :: "))?;
    match partition.as_constant() {
        Some(constant) => check_partition(constant).map(|()| None),
        None => Ok(Some(partition)),
    }
}

fn check_partition(value: &Owned) -> Result<()> {
    if matches!(value.as_value(), Value::Array(_)) {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            "An expression used to partition cannot evaluate to value of type array",
        ));
    }
    Ok(())
}

/// Whether two positions are the same value; a missing one is none but itself.
fn is_same(a: Option<Value<'_>>, b: Option<Value<'_>>, collation: &Collation) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => collation.equal(&a, &b),
        (None, None) => true,
        _ => false,
    }
}
