//! Changing and removing in time series: sources, not measurements.

use super::super::super::catalog::rules::Series;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::storage::Write;
use super::super::super::update::{Updater, Written};
use super::super::statement::{Batch, DeleteStatement, RefusedUpdate, UpdateStatement};

/// Refuses to write to a time series inside a transaction.
pub(in super::super) fn refuse_in_transaction(write: &dyn Write, batch: &Batch) -> Result<()> {
    let ns = &batch.namespace;
    if !write.in_transaction() || !super::is_series(write.catalog(), ns) {
        return Ok(());
    }
    let text = match batch.statements.first() {
        Some(statement) if statement.inserts() => {
            format!("Cannot insert into a time-series collection in a multi-document transaction: {ns}")
        }
        _ => format!("Cannot perform a multi-document transaction on a time-series collection: {ns}"),
    };
    Err(Fault::new(code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION, text))
}

/// Refuses an update of anything but the sources of many documents.
///
/// # Errors
/// Code 72, with the server's words.
pub(in super::super) fn check_update(series: &Series, statement: &UpdateStatement) -> Result<()> {
    let filter = Doc::Raw(&statement.filter);
    let meta = check_kind(series, (statement.multi, statement.upsert), filter)?;
    check_written(meta, &statement.updater)
}

/// Refuses an update that could not be parsed for what a time series refuses first.
///
/// # Errors
/// Those of [`check_update`].
pub(in super::super) fn check_refused(series: &Series, update: &RefusedUpdate) -> Result<()> {
    check_kind(series, (update.multi, update.upsert), Doc::Raw(&update.filter))?;
    match update.replaces {
        true => Err(replacement()),
        false => Ok(()),
    }
}

/// Refuses all but updates of many documents by their source; gives its field.
fn check_kind<'a>(series: &'a Series, (multi, upsert): (bool, bool), filter: Doc<'_>) -> Result<&'a str> {
    let Some(meta) = &series.meta else {
        return Err(invalid(
            "Cannot perform an update on a time-series collection that does not have a metaField",
        ));
    };
    if !multi {
        return Err(invalid(
            "Cannot perform a non-multi update on a time-series collection",
        ));
    }
    if upsert {
        return Err(invalid("Cannot perform an upsert on a time-series collection"));
    }
    check_filter(series, meta, filter)?;
    Ok(meta)
}

fn replacement() -> Fault {
    invalid("Cannot perform an update on a time-series collection using a replacement document")
}

fn check_written(meta: &str, updater: &Updater) -> Result<()> {
    match updater.written() {
        Written::Fields(names) if names.iter().all(|name| *name == meta) => Ok(()),
        Written::Fields(_) => Err(invalid(format!(
            "Cannot perform an update on a time-series collection which updates a field that is not the metaField '{meta}'"
        ))),
        Written::All => Err(replacement()),
        Written::ByPipeline => Err(invalid(
            "Cannot perform an update on a time-series collection using a pipeline update",
        )),
    }
}

/// Refuses a deletion of anything but all documents of sources.
///
/// # Errors
/// Codes 20 and 72, with the server's words.
pub(in super::super) fn check_delete(series: &Series, statement: &DeleteStatement) -> Result<()> {
    let filter = Doc::Raw(&statement.filter);
    if series.meta.is_none() && !filter.is_empty() {
        return Err(invalid(
            "Cannot perform a delete with a non-empty query on a time-series collection that does not have a metaField",
        ));
    }
    if !statement.multi {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            "Cannot perform a non-multi delete on a time-series collection",
        ));
    }
    match &series.meta {
        Some(meta) => check_filter(series, meta, filter),
        None => Ok(()),
    }
}

/// Whether a filter asks for sources only.
pub(in super::super) fn asks_for_source(series: &Series, filter: Doc<'_>) -> bool {
    let look = |meta| Look {
        series,
        meta,
        into_operands: false,
    };
    let meta = series.meta.as_deref();
    meta.is_some_and(|meta| look(meta).at(filter).is_ok())
}

/// Refuses a filter that asks for more than the source.
fn check_filter(series: &Series, meta: &str, filter: Doc<'_>) -> Result<()> {
    let look = Look {
        series,
        meta,
        into_operands: true,
    };
    look.at(filter)
}

/// A look at what a filter asks for.
struct Look<'a> {
    series: &'a Series,
    meta: &'a str,
    /// Whether documents in arrays are taken for filters wherever they are, as the server does for writes.
    into_operands: bool,
}

impl Look<'_> {
    fn at(&self, filter: Doc<'_>) -> Result<()> {
        for element in filter.elements() {
            refuse_code(element.name_str())?;
            match (element.name_str(), element.value()) {
                ("$jsonSchema", Value::Document(schema)) => self.at_schema(schema)?,
                (name @ ("$and" | "$or" | "$nor"), operand) => self.at_operand(name, operand)?,
                (name, operand) if name.starts_with('$') || self.series.is_of_meta(name) => {
                    if self.into_operands {
                        self.at_operand(name, operand)?;
                    }
                }
                _ => return Err(self.other_field()),
            }
        }
        Ok(())
    }

    fn at_operand(&self, name: &str, operand: Value<'_>) -> Result<()> {
        refuse_code(name)?;
        match operand {
            Value::Document(doc) => doc
                .elements()
                .try_for_each(|element| self.at_operand(element.name_str(), element.value())),
            Value::Array(values) => values.values().try_for_each(|value| match value {
                Value::Document(part) => self.at(part),
                other => self.at_operand("", other),
            }),
            _ => Ok(()),
        }
    }

    fn at_schema(&self, schema: Doc<'_>) -> Result<()> {
        let properties = schema.get("properties").and_then(|own| own.as_document());
        let required = schema.get("required").and_then(|own| own.as_array());
        let named = properties.into_iter().flat_map(Doc::elements);
        let needed = required.into_iter().flat_map(Doc::values);
        let names = named.map(|element| element.name_str().to_owned());
        let mut names = names.chain(needed.filter_map(|name| name.as_str().map(str::to_owned)));
        match names.any(|name| name != self.meta) {
            true => Err(self.other_field()),
            false => Ok(()),
        }
    }

    fn other_field(&self) -> Fault {
        invalid(format!(
            "Cannot perform an update or delete on a time-series collection when querying on a field that is not the metaField '{}'",
            self.meta
        ))
    }
}

fn refuse_code(name: &str) -> Result<()> {
    match name {
        "$expr" | "$where" => Err(invalid(format!(
            "Cannot use {name} when performing an update or delete on a time-series collection"
        ))),
        _ => Ok(()),
    }
}

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::INVALID_OPTIONS, text)
}
