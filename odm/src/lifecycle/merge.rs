//! Keeping results that are merged to one tenant's documents.

use bson::{Bson, RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf, doc};

use super::confinement::Confinement;
use super::document;
use super::joins::listed;
use super::validator::malformed;
use crate::codec;
use crate::error::{Error, ErrorKind, Result};

/// What the error of a merge says that meets another tenant's document.
const MET_OTHER: &str = "odm: the results would be merged into another tenant's document: ";

/// What a `$merge` says, so that it writes over documents of the tenant alone.
///
/// # Errors
/// `Tenant` where it matches by other fields than that which says whose a document is, or by a collation that takes other
/// tenants' texts for this one's; `InvalidArgument`.
pub(super) fn confined(
    merge: RawDocumentBuf,
    confinement: &Confinement,
    collates: bool,
) -> Result<RawDocumentBuf> {
    let field = confinement.tenant().name;
    let is_matched = match merge.get("on").map_err(malformed)? {
        None => field == "_id",
        Some(RawBsonRef::String(on)) => on == field,
        Some(RawBsonRef::Array(on)) => on.into_iter().flatten().any(|on| on.as_str() == Some(field)),
        Some(_) => false,
    };
    if !is_matched {
        let message = "the results would be merged into documents of other tenants: say `on` with the field that says \
                       whose a document is";
        return Err(Error::new(ErrorKind::Tenant, message).with_path(field));
    }
    let is_of_texts = confinement.is_of_texts();
    let mut update = match merge.get("whenMatched").map_err(malformed)? {
        Some(RawBsonRef::Array(update)) => {
            let mut update = listed(update)?;
            confinement.keep(&mut update)?;
            update
        }
        // What a text asks for is asked by stages where the document is looked at first.
        None | Some(RawBsonRef::String("merge")) if is_of_texts => {
            vec![bson::rawdoc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", "$$new"] } }]
        }
        Some(RawBsonRef::String("replace")) if is_of_texts => {
            vec![bson::rawdoc! { "$replaceWith": "$$new" }]
        }
        _ => return Ok(merge),
    };
    if is_of_texts {
        if collates {
            let message = "the results would be merged into documents of tenants that the collation takes for this one: \
                           merge without a collation, or where matched documents are kept";
            return Err(Error::new(ErrorKind::Tenant, message).with_path(field));
        }
        update.insert(0, guard(confinement)?);
    }
    let update = update.into_iter().collect::<RawArrayBuf>();
    document::with_field(&merge, "whenMatched", RawBson::Array(update))
}

/// The stage that fails a merge which met another tenant's document, as a collation that no model declares makes it.
fn guard(confinement: &Confinement) -> Result<RawDocumentBuf> {
    let RawBson::String(text) = confinement.value() else {
        return Ok(RawDocumentBuf::new());
    };
    let field = format!("${}", confinement.tenant().name);
    // Places in a text are told by its bytes.
    let begins = doc! { "$eq": [{ "$indexOfBytes": [&field, { "$literal": text }] }, 0] };
    let bytes = Bson::Int64(i64::try_from(text.len()).unwrap_or(i64::MAX));
    let ends = doc! { "$eq": [{ "$strLenBytes": &field }, bytes] };
    // It depends on the document, so that it is made only then.
    let named = doc! { "$literal": format!("{MET_OTHER}{}: ", confinement.tenant().name) };
    let fail = doc! { "$toInt": { "$concat": [named, &field] } };
    let stage = doc! { "$replaceWith": { "$cond": [{ "$and": [begins, ends] }, "$$ROOT", fail] } };
    codec::encode_untyped(&stage)
}

/// The error of a merge as one that says what it met.
pub(crate) fn explained(error: Error) -> Error {
    let Some((_, said)) = error.message().split_once(MET_OTHER) else {
        return error;
    };
    let field = said.split_once(": ").map_or("", |(field, _)| field).to_owned();
    let message = "the results would be merged into another tenant's document, whose text the collation takes for this \
                   one's";
    Error::new(ErrorKind::Tenant, message)
        .with_path(field)
        .with_source(error)
}
