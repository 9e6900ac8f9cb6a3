//! `$collStats`, `$indexStats`, `$planCacheStats`: stages that describe a collection in place of reading it.

use super::super::super::document::number::as_f64;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::declared::{Declared, Type};
use super::print;

/// What is asked of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statistics {
    Collection {
        /// By what sizes are divided, if they are wanted.
        storage: Option<u64>,
        count: bool,
        /// Whether it is wanted how often the whole collection was read.
        executions: bool,
    },
    Indexes,
    /// The engine keeps no plans: there are never any.
    Plans,
}

impl Statistics {
    /// Parses the stage if it is one of these.
    pub(super) fn parse(name: &str, value: &Value<'_>) -> Result<Option<Statistics>> {
        Ok(Some(match name {
            "$collStats" => parse_collection(value)?,
            "$indexStats" => match value {
                Value::Document(doc) if doc.is_empty() => Statistics::Indexes,
                _ => {
                    return Err(Fault::new(
                        28803,
                        "The $indexStats stage specification must be an empty object",
                    ));
                }
            },
            "$planCacheStats" => match value {
                Value::Document(doc) if doc.is_empty() => Statistics::Plans,
                Value::Document(_) => {
                    return Err(Fault::new(
                        code::FAILED_TO_PARSE,
                        "$planCacheStats parameters object must be empty. Found: object",
                    ));
                }
                other => {
                    return Err(Fault::new(
                        code::FAILED_TO_PARSE,
                        format!(
                            "$planCacheStats value must be an object. Found: {}",
                            other.kind().alias()
                        ),
                    ));
                }
            },
            _ => return Ok(None),
        }))
    }

    /// As `explain` shows it.
    pub(super) fn shown(&self) -> Owned {
        let none = || Owned::Document(Vec::new());
        let Statistics::Collection {
            storage,
            count,
            executions,
        } = self
        else {
            return none();
        };
        let scale = storage.map(|scale| match scale {
            1 => none(),
            scale => {
                let scale = i64::try_from(scale).unwrap_or(i64::MAX);
                Owned::Document(vec![("scale".to_owned(), Owned::Int64(scale))])
            }
        });
        let options = [
            ("storageStats", scale),
            ("count", count.then(none)),
            ("queryExecStats", executions.then(none)),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, option)| Some((name.to_owned(), option?)));
        Owned::Document(given.collect())
    }

    /// The stage's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Statistics::Collection { .. } => "$collStats",
            Statistics::Indexes => "$indexStats",
            Statistics::Plans => "$planCacheStats",
        }
    }
}

fn parse_collection(value: &Value<'_>) -> Result<Statistics> {
    let Value::Document(spec) = *value else {
        return Err(Fault::new(
            5447000,
            format!(
                "$collStats must take a nested object but found: $collStats: {}",
                print::bson_value(value)
            ),
        ));
    };
    let spec = Declared {
        path: "$collStats",
        spec,
    };
    let spec = spec.only(
        &["latencyStats", "storageStats", "count", "queryExecStats"].map(|name| (name, Type::Document)),
    )?;
    let latencies = spec.document("latencyStats")?;
    if let Some(latencies) = latencies {
        let latencies = Declared {
            path: "$collStats.latencyStats",
            spec: latencies,
        };
        latencies.only(&[("histograms", Type::Flag)])?;
    }
    let storage = match spec.document("storageStats")? {
        None => None,
        Some(storage) => Some(scale(Declared {
            path: "$collStats.storageStats",
            spec: storage,
        })?),
    };
    let count = empty(spec.document("count")?)?;
    let executions = empty(spec.document("queryExecStats")?)?;
    match latencies {
        Some(_) => Err(Fault::unsupported(
            "the native engine does not measure what latencyStats of $collStats asks for",
        )),
        None => Ok(Statistics::Collection {
            storage,
            count,
            executions,
        }),
    }
}

/// Whether an option, which has no options of its own, is given.
fn empty(option: Option<Doc<'_>>) -> Result<bool> {
    match option {
        Some(doc) if !doc.is_empty() => Err(Fault::new(
            31170,
            format!("expected an empty object, but got {}", print::bson(doc)),
        )),
        option => Ok(option.is_some()),
    }
}

fn scale(storage: Declared<'_>) -> Result<u64> {
    let storage = storage.beside_others(&[
        ("scale", Type::Scale),
        ("verbose", Type::Flag),
        ("waitForLock", Type::Flag),
        ("numericOnly", Type::Flag),
    ])?;
    let given = storage.get("scale");
    Ok(given.and_then(|given| as_f64(&given)).unwrap_or(1.0) as u64)
}
