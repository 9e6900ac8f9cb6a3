//! `convertToCapped` and `cloneCollectionAsCapped`.

use super::super::document::{Value, number};
use super::super::exec::{Namespace, convert};
use super::super::fault::{Fault, Result, code};
use super::{Call, Job, reply};

pub(super) fn convert(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    let bytes = size(call).trunc();
    if bytes == 0.0 || bytes.is_nan() {
        return Err(no_size());
    }
    Ok(Job::Write(Box::new(move |write| {
        convert::convert_to_capped(write, &namespace, bytes)?;
        Ok(reply::ok())
    })))
}

pub(super) fn clone(call: &Call<'_>) -> Result<Job> {
    let from = named(call, call.name, Some(call.target), "source")?;
    let to = named(call, "toCollection", call.doc.get("toCollection"), "target")?;
    let bytes = size(call);
    if bytes == 0.0 {
        return Err(no_size());
    }
    Ok(Job::Write(Box::new(move |write| {
        convert::clone_as_capped(write, &from, &to, bytes)?;
        Ok(reply::ok())
    })))
}

/// The collection that a field names.
fn named(call: &Call<'_>, field: &str, value: Option<Value<'_>>, which: &str) -> Result<Namespace> {
    let Some(Value::String(name)) = value else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("'{field}' must be of type String"),
        ));
    };
    let wrong = |text: String| Err(Fault::new(code::INVALID_NAMESPACE, text));
    if which == "source" && name.contains('\0') {
        return wrong("namespaces cannot have embedded null characters".to_owned());
    }
    if name.is_empty() || name.starts_with('.') || name.contains(['$', '\0']) {
        return wrong(format!("Invalid {which} collection name: {name}"));
    }
    let namespace = Namespace {
        database: call.database.to_owned(),
        collection: name.to_owned(),
    };
    if which == "target" && !namespace.is_of_server() {
        namespace.check_writable()?;
    }
    Ok(namespace)
}

/// How many bytes the collection is to have; none where it is not said by a number.
fn size(call: &Call<'_>) -> f64 {
    let given = call.doc.get("size");
    given.as_ref().and_then(number::as_f64).unwrap_or(0.0)
}

/// The server gives this failure no code.
fn no_size() -> Fault {
    Fault::new(0, "invalid command spec")
}
