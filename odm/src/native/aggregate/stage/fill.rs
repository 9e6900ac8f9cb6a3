//! `$fill`: values in place of null and missing ones.

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::super::expression::{Expression, Scope};
use super::super::transform::TransformStage;
use super::declared::{Declared, Type};
use super::window::Windows;
use super::{Context, Names, Rows, Shown, row_scope};

/// What `$fill` is made of.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    /// For the methods that look at other documents.
    windows: Option<Windows>,
    /// For values of the document itself.
    values: Option<TransformStage>,
}

impl Fill {
    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Fill> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "The $fill stage specification must be an object, found {}",
                    value.kind().alias()
                ),
            ));
        };
        let spec = Declared { path: "$fill", spec };
        let spec = spec.only(&[
            ("sortBy", Type::Document),
            ("partitionBy", Type::Document),
            ("partitionByFields", Type::Texts),
            ("output", Type::Document),
        ])?;
        let order = spec.document("sortBy")?;
        let by = spec.document("partitionBy")?;
        let names = spec.texts("partitionByFields")?;
        spec.required("output")?;
        let output = spec.document("output")?.unwrap_or(Doc::empty());
        if output.is_empty() {
            return Err(Fault::new(
                6050203,
                "The output field in '$fill' must contain an object with at least one element",
            ));
        }
        let (mut methods, mut values): (Fields, Fields) = (Vec::new(), Vec::new());
        for element in output.elements() {
            let name = element.name_str();
            let Value::Document(filling) = element.value() else {
                return Err(Fault::new(
                    6050200,
                    "Each fill output specification must be an object with exactly one field",
                ));
            };
            let filling = Declared {
                path: "$fill",
                spec: filling,
            };
            let filling = filling.only(&[("method", Type::Text), ("value", Type::Any)])?;
            let method = filling.text("method")?;
            let own = Owned::String(format!("${name}"));
            let one =
                |operator: &str, argument: Owned| Owned::Document(vec![(operator.to_owned(), argument)]);
            match (method, filling.spec.get("value")) {
                (Some(_), Some(_)) => {
                    return Err(Fault::new(
                        6050201,
                        "Each fill output specification must have exactly one of 'method' or 'value' fields, not both",
                    ));
                }
                (Some("locf"), None) => methods.push((name.to_owned(), one("$locf", own))),
                (Some("linear"), None) => methods.push((name.to_owned(), one("$linearFill", own))),
                (Some(_), None) => {
                    return Err(Fault::new(6050202, "Method must be either locf or linear"));
                }
                (None, Some(value)) => {
                    let either = Owned::Array(vec![own, Owned::from(value)]);
                    values.push((name.to_owned(), one("$ifNull", either)));
                }
                (None, None) => {}
            }
        }
        if by.is_some() && names.is_some() {
            return Err(Fault::new(
                6050204,
                "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'",
            ));
        }
        let windows = match methods.is_empty() {
            true => None,
            // Values of the document itself do not ask for its partition.
            false => {
                let partition = parse_partition(by, names, variables)?;
                Some(Windows::new(
                    partition,
                    order,
                    Doc::Fields(&methods),
                    &Names::of(variables),
                )?)
            }
        };
        let values = match values.is_empty() {
            true => None,
            false => {
                let values = Value::Document(Doc::Fields(&values));
                TransformStage::parse("$addFields", &values, variables)?
            }
        };
        Ok(Fill { windows, values })
    }

    /// What it does to one document by itself.
    ///
    /// # Errors
    /// Code 72 for methods that look at other documents.
    pub(super) fn alone(self) -> Result<Option<TransformStage>> {
        match self.windows {
            None => Ok(self.values),
            Some(windows) => Err(Fault::new(
                code::INVALID_OPTIONS,
                match windows.is_ordered() {
                    true => "$sort is not allowed to be used within an update",
                    false => "$_internalSetWindowFields is not allowed to be used within an update",
                },
            )),
        }
    }

    /// As `explain` shows it: as the stages that it is made of.
    pub(super) fn shown(&self) -> Vec<Shown> {
        let windows = self.windows.iter().flat_map(Windows::shown);
        let values = self.values.iter().map(|values| {
            let (name, spec) = values.shown();
            Shown::new(name, spec)
        });
        windows.chain(values).collect()
    }

    /// Whether a server sorts by fields of the documents that it is given.
    pub(super) fn has_windows(&self) -> bool {
        self.windows.is_some()
    }

    pub(super) fn sorts(&self) -> bool {
        self.windows.as_ref().is_some_and(Windows::sorts)
    }

    /// What it does to the paths of a document, if it looks at no others.
    pub(super) fn changes(&self) -> Option<Changes> {
        match (&self.windows, &self.values) {
            (None, Some(values)) => values.changes(),
            _ => None,
        }
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        let (mut windows, mut values) = (self.windows.iter(), self.values.iter());
        windows.all(|windows| windows.add_needs(needs)) && values.all(|values| values.add_needs(needs))
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        if let Some(windows) = &mut self.windows {
            windows.fold(known)?;
        }
        match &mut self.values {
            Some(values) => values.fold(known),
            None => Ok(()),
        }
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        if let Some(windows) = &mut self.windows {
            windows.collate(collation);
        }
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let rows = match &self.windows {
            Some(windows) => windows.run(input, context)?,
            None => input,
        };
        Ok(match &self.values {
            Some(values) => Box::new(rows.map(move |row| {
                let row = row?;
                Ok(row.made(values.write(&row_scope(&row, context))?))
            })),
            None => rows,
        })
    }
}

fn parse_partition(
    by: Option<Doc<'_>>,
    names: Option<Vec<&str>>,
    variables: &[String],
) -> Result<Option<Expression>> {
    let parse = |by: Doc<'_>| Expression::parse_unfolded(&Value::Document(by), variables).map(Some);
    match (by, names) {
        (Some(by), _) => parse(by),
        (None, Some(names)) if !names.is_empty() => {
            let fields: Fields = names
                .iter()
                .map(|name| ((*name).to_owned(), Owned::String(format!("${name}"))))
                .collect();
            parse(Doc::Fields(&fields))
        }
        _ => Ok(None),
    }
}
