//! Making capped collections of others: `cloneCollectionAsCapped` and `convertToCapped`.

use super::super::catalog::Collection;
use super::super::document::{Doc, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::plan::Plan;
use super::super::storage::Write;
use super::walk::{Flow, Walk};
use super::{Deadline, Namespace, alter, collections, record, view};

/// Copies the newest documents that have room into a new capped collection, without the other's indexes.
///
/// # Errors
/// MongoDB's: 26 when there is no such collection, 48 when the target exists, 166 for a view.
pub(crate) fn clone_as_capped(
    write: &mut dyn Write,
    from: &Namespace,
    to: &Namespace,
    bytes: i64,
) -> Result<()> {
    alter::refuse_in_transaction(write, "cloneCollectionAsCapped")?;
    let source = source(write, from)?;
    if write.catalog().collection(&to.database, &to.collection).is_some() {
        return Err(Fault::new(
            code::NAMESPACE_EXISTS,
            format!(
                "cloneCollectionAsCapped failed - destination collection {to} already exists. source collection: {from}"
            ),
        ));
    }
    copy(write, &source, to, Vec::new(), bytes)
}

/// Makes a collection capped: what has no room is gone, and so are its indexes but that of `_id`.
///
/// # Errors
/// MongoDB's: 26 when there is no such collection, 166 for a view.
pub(crate) fn convert_to_capped(write: &mut dyn Write, ns: &Namespace, bytes: i64) -> Result<()> {
    alter::refuse_in_transaction(write, "convertToCapped")?;
    let source = source(write, ns)?;
    if !source.rules.encrypted.is_empty() {
        return Err(Fault::new(
            6_367_302,
            "Cannot convert an encrypted collection to a capped collection",
        ));
    }
    if ns.to_string().len() + SERVERS_COPY > LONGEST_NAME {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Fully qualified namespace is too long. Namespace: {ns} Max: {LONGEST_NAME}"),
        ));
    }
    let options = Doc::Raw(&source.options);
    let kept = options
        .elements()
        .filter(|element| !matches!(element.name_str(), "capped" | "size" | "max"))
        .map(|element| (element.name_str().to_owned(), Owned::from(element.value())))
        .collect();
    // As on the server: the copy takes the name of what it was made of.
    let copy_ns = Namespace {
        database: ns.database.clone(),
        collection: format!("tmp{:08x}.convertToCapped", source.id.0),
    };
    copy(write, &source, &copy_ns, kept, bytes)?;
    alter::rename(write, &copy_ns, ns, true)
}

/// The most bytes of a full name.
const LONGEST_NAME: usize = 255;

/// By how much the name of the copy that the server makes is longer.
const SERVERS_COPY: usize = "tmp01234.convertToCapped.".len();

fn source(write: &dyn Write, ns: &Namespace) -> Result<std::sync::Arc<Collection>> {
    let missing = |text: String| Fault::new(code::NAMESPACE_NOT_FOUND, text);
    if write.catalog().collections(&ns.database).next().is_none() {
        return Err(missing(format!("database {} not found", ns.database)));
    }
    view::refuse(write.catalog(), ns)?;
    view::refuse_buckets(write.catalog(), ns)?;
    let found = write.catalog().collection(&ns.database, &ns.collection).cloned();
    found.ok_or_else(|| missing(format!("source collection {ns} does not exist")))
}

fn copy(
    write: &mut dyn Write,
    source: &Collection,
    to: &Namespace,
    mut options: Vec<(String, Owned)>,
    bytes: i64,
) -> Result<()> {
    options.push(("capped".to_owned(), Owned::Bool(true)));
    options.push(("size".to_owned(), Owned::Int64(bytes)));
    collections::create_capped(write, to, options)?;
    let rounded = (bytes.unsigned_abs() + 255) & !255;
    let mut newest: Vec<Vec<u8>> = Vec::new();
    let mut used = 0;
    let backward = Plan::collection(true, true);
    Walk::uncounted(&backward, source, Deadline::default()).documents(
        &*write,
        source,
        &mut |_, document| {
            used += document.len() as u64;
            if used > rounded {
                return Ok(Flow::Stop);
            }
            newest.push(document.to_vec());
            Ok(Flow::Continue)
        },
    )?;
    for document in newest.iter().rev() {
        let Some(collection) = write.catalog().collection(&to.database, &to.collection).cloned() else {
            return Err(Fault::new(code::INTERNAL, "a collection just made is gone"));
        };
        record::insert(write, to, &collection, document)?;
    }
    Ok(())
}
