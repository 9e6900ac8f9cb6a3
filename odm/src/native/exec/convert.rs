//! Making capped collections of others: `cloneCollectionAsCapped` and `convertToCapped`.

use std::sync::Arc;

use super::super::catalog::{Collection, rules};
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::plan::Plan;
use super::super::storage::{Read, Write};
use super::walk::{Flow, Walk};
use super::{Deadline, Namespace, alter, batch, collections, record, temporary, view};

/// Copies the newest documents that have room into a new capped collection, without the other's indexes.
///
/// # Errors
/// MongoDB's: 26 when there is no such collection, 48 when the target exists, 166 for a view.
pub(crate) fn clone_as_capped(
    write: &mut dyn Write,
    from: &Namespace,
    to: &Namespace,
    bytes: f64,
) -> Result<()> {
    alter::refuse_in_transaction(write, "cloneCollectionAsCapped")?;
    let source = source(write, from)?;
    if let Some(existing) = write.catalog().collection(&to.database, &to.collection) {
        return Err(Fault::new(
            code::NAMESPACE_EXISTS,
            match (&existing.rules.view, &existing.rules.series) {
                (Some(_), Some(_)) => format!("A timeseries collection already exists. NS: {to}"),
                (Some(_), None) => format!("A view already exists. NS: {to}"),
                (None, _) => format!(
                    "cloneCollectionAsCapped failed - destination collection {to} already exists. source collection: {from}"
                ),
            },
        ));
    }
    let bytes = checked(bytes)?;
    refuse_encrypted(&source)?;
    copy(write, &source, to, bytes)
}

/// Makes a collection capped: what has no room is gone, and so are its indexes but that of `_id`.
///
/// # Errors
/// MongoDB's: 26 when there is no such collection, 166 for a view.
pub(crate) fn convert_to_capped(write: &mut dyn Write, ns: &Namespace, bytes: f64) -> Result<()> {
    alter::refuse_in_transaction(write, "convertToCapped")?;
    let source = source(write, ns)?;
    let bytes = checked(bytes)?;
    refuse_encrypted(&source)?;
    if view::list::is_list(ns) {
        // The server's copy would have this name in its own, which no collection has.
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "Invalid namespace: {}.convertToCapped.{}",
                ns.database, ns.collection
            ),
        ));
    }
    if ns.to_string().len() + SERVERS_COPY > LONGEST_NAME {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Fully qualified namespace is too long. Namespace: {ns} Max: {LONGEST_NAME}"),
        ));
    }
    // As on the server: the copy takes the name of what it was made of.
    let copy_ns = Namespace {
        database: ns.database.clone(),
        collection: temporary::name(&format!("convertToCapped.{}", ns.collection)),
    };
    copy(write, &source, &copy_ns, bytes)?;
    alter::rename(write, &copy_ns, ns, true)
}

/// The most bytes that a capped collection may have.
const LARGEST: f64 = 1_125_899_906_842_624.0;

/// The bytes of a capped collection, which is told to be too large or too small once the source is found.
///
/// # Errors
/// Code 2.
fn checked(bytes: f64) -> Result<i64> {
    if bytes > LARGEST {
        return Err(Fault::new(code::BAD_VALUE, "size cannot exceed 1 PB"));
    }
    match bytes >= 0.0 {
        // A part of a byte is one.
        true => Ok((bytes as i64).max(1)),
        false => Err(Fault::new(code::BAD_VALUE, "size has to be >= 0")),
    }
}

/// The most bytes of a full name.
const LONGEST_NAME: usize = 255;

/// By how much the name of the copy that the server makes is longer.
const SERVERS_COPY: usize = "tmp01234.convertToCapped.".len();

fn refuse_encrypted(source: &Collection) -> Result<()> {
    match source.rules.encrypted.is_empty() {
        true => Ok(()),
        false => Err(Fault::new(
            6_367_302,
            "Cannot convert an encrypted collection to a capped collection",
        )),
    }
}

fn source(write: &dyn Write, ns: &Namespace) -> Result<Arc<Collection>> {
    let missing = |text: String| Fault::new(code::NAMESPACE_NOT_FOUND, text);
    if write.catalog().collections(&ns.database).next().is_none() {
        return Err(missing(format!("database {} not found", ns.database)));
    }
    view::refuse(write.catalog(), ns)?;
    view::refuse_buckets(write.catalog(), ns)?;
    let found = write.catalog().collection(&ns.database, &ns.collection).cloned();
    found.ok_or_else(|| missing(format!("source collection {ns} does not exist")))
}

/// The options of a collection, capped at so many bytes; what is said of the number of documents stays.
fn capped_options(source: &Collection, bytes: i64) -> Result<Vec<u8>> {
    let mut options = fields_of(Doc::Raw(&source.options));
    options.retain(|(name, _)| !matches!(name.as_str(), "capped" | "size"));
    let size = rules::capped_size("size", Value::Int64(bytes))?;
    options.push(("capped".to_owned(), Owned::Bool(true)));
    options.push(("size".to_owned(), rules::number(size)));
    rules::sort(&mut options);
    Ok(Doc::Fields(&options).to_bytes())
}

/// Makes a collection with the options of another and its newest documents that have room. As on the server, no
/// validator looks at them, and no stream of changes tells of them.
fn copy(write: &mut dyn Write, source: &Collection, to: &Namespace, bytes: i64) -> Result<()> {
    let logged = write.logged();
    collections::create_capped(write, to, &capped_options(source, bytes)?)?;
    for document in newest(&*write, source, bytes.unsigned_abs())?.iter().rev() {
        let Some(collection) = write.catalog().collection(&to.database, &to.collection).cloned() else {
            return Err(Fault::new(code::INTERNAL, "a collection just made is gone"));
        };
        record::insert(write, to, &batch::unvalidated(collection, true), document)?;
    }
    write.forget_logged(logged);
    Ok(())
}

/// The newest documents that have room, the last one first. That one comes along without room too, like one that is
/// inserted into a capped collection, unless it alone makes the server pass all documents over.
fn newest(read: &dyn Read, source: &Collection, bytes: u64) -> Result<Vec<Vec<u8>>> {
    let rounded = (bytes + 255) & !255;
    let guess = bytes.saturating_mul(2).max(SMALLEST_GUESS);
    let mut newest: Vec<Vec<u8>> = Vec::new();
    let (mut last, mut used) = (0, 0);
    let is_kept = |last: u64, older: u64| last <= guess.saturating_add(older.saturating_mul(3));
    let backward = Plan::collection(true, true);
    Walk::uncounted(&backward, source, Deadline::default()).documents(read, source, &mut |_, document| {
        used += document.len() as u64;
        match newest.is_empty() {
            true => last = used,
            false if last > rounded && !is_kept(last, used - last) => return Ok(Flow::Continue),
            false if used > rounded => return Ok(Flow::Stop),
            false => {}
        }
        newest.push(document.to_vec());
        Ok(Flow::Continue)
    })?;
    if last > rounded && !is_kept(last, used - last) {
        newest.clear();
    }
    Ok(newest)
}

/// The bytes for which the server takes a capped collection at least, where it guesses which documents need no copy:
/// it passes the first ones over, four times the bytes of each, until the rest is no larger than the guess.
const SMALLEST_GUESS: u64 = 8192;
