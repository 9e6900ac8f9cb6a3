//! `dataSize`.

use super::super::document::{Doc, Owned, Value, number};
use super::super::exec::data_size::{self, Asked};
use super::super::fault::{Fault, Result, code};
use super::collections::taken_apart;
use super::reply::Reply;
use super::shape::truth;
use super::{Call, Job};

pub(super) fn measure(call: &Call<'_>) -> Result<Job> {
    let Value::String(name) = call.target else {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("collection name has invalid type {}", call.target.kind().alias()),
        ));
    };
    let namespace = taken_apart(name, "source")?;
    check_bounds(call.doc)?;
    // What is of another type is not there.
    let object = |name: &str| match call.doc.get(name) {
        Some(Value::Document(doc)) => doc.to_bytes(),
        _ => Doc::empty().to_bytes(),
    };
    let most = |name: &str| {
        call.doc
            .get(name)
            .and_then(|most| number::whole(&most))
            .unwrap_or(0)
    };
    let asked = Asked {
        namespace,
        key_pattern: object("keyPattern"),
        from: object("min"),
        to: object("max"),
        estimate: call.doc.get("estimate").is_some_and(|estimate| truth(&estimate)),
        most_bytes: most("maxSize"),
        most_documents: most("maxObjects"),
    };
    Ok(Job::Read(Box::new(move |read| {
        let found = data_size::measure(read, &asked)?;
        let mut reply = Reply::new();
        if let Some(found) = &found {
            reply = reply.with("estimate", Owned::Bool(asked.estimate));
            if found.is_cut {
                reply = reply.with("maxReached", Owned::Bool(true));
            }
        }
        let found = found.unwrap_or_default();
        Ok(reply
            .with("size", whole(found.bytes))
            .with("numObjects", whole(found.documents))
            .with("millis", Owned::Int32(0))
            .done())
    })))
}

/// Refuses one bound alone, and what is none.
fn check_bounds(doc: Doc<'_>) -> Result<()> {
    let is_object = |bound: Value<'_>| bound.as_document().is_some();
    let why = match (doc.get("min"), doc.get("max")) {
        (Some(_), None) => "max must be set if min is set",
        (None, Some(_)) => "min must be set if max is set",
        (Some(min), _) if !is_object(min) => "min key must be an object",
        (_, Some(max)) if !is_object(max) => "max key must be an object",
        _ => return Ok(()),
    };
    Err(Fault::new(code::BAD_VALUE, why))
}

/// A number in 32 bits where they are enough.
fn whole(number: i64) -> Owned {
    i32::try_from(number).map_or(Owned::Int64(number), Owned::Int32)
}
