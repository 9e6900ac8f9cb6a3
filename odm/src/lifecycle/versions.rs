//! The shapes that a model's documents had, and how an old one becomes the present one.

use bson::{Bson, Document, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::document;
use crate::codec::{self, Raw};
use crate::error::{Error, ErrorKind, Result};

/// The field that says which shape a document has.
pub(crate) const FIELD: &str = "schema_version";

/// Makes a document of one version one of the next.
pub(crate) type Migration = fn(&mut Document) -> Result<()>;

/// What `#[odm(schema_version = 3, migrate(v1_to_v2, v2_to_v3))]` declares.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    /// The version of what is written.
    pub(crate) current: i32,
    /// From version 1 to 2, from 2 to 3, and so on.
    chain: &'static [Migration],
}

impl Versions {
    /// The version of what is written, and how each older one becomes its next.
    pub const fn new(current: i32, chain: &'static [Migration]) -> Versions {
        Versions { current, chain }
    }

    /// The document in the present shape; `None` when it has that already. A document that says no version has the
    /// first.
    ///
    /// # Errors
    /// `NewerVersion` for a document of a later version, `Decode` when the field holds no version or a migration
    /// refuses the document, `InvalidArgument` when one changes the `_id`.
    pub(crate) fn upgraded(&self, stored: &RawDocument) -> Result<Option<RawDocumentBuf>> {
        let version = self.version_of(stored).map_err(|error| with_id(error, stored))?;
        if version == i64::from(self.current) {
            return Ok(None);
        }
        let mut document = codec::decode_untyped(stored)?;
        let done = usize::try_from(version - 1).unwrap_or_default();
        for (step, migration) in self.chain.iter().enumerate().skip(done) {
            migration(&mut document).map_err(|error| {
                let message = format!("the migration from version {} to {} failed", step + 1, step + 2);
                with_id(Error::new(ErrorKind::Decode, message).with_source(error), stored)
            })?;
        }
        if !is_same_id(&document, stored) {
            let error = Error::new(ErrorKind::InvalidArgument, "a migration changed the `_id`");
            return Err(with_id(error.with_path("_id"), stored));
        }
        document.insert(FIELD, self.current);
        codec::encode_untyped(&document).map(Some)
    }

    fn version_of(&self, stored: &RawDocument) -> Result<i64> {
        let version = match stored.get(FIELD) {
            Ok(None | Some(RawBsonRef::Null)) => 1,
            Ok(Some(RawBsonRef::Int32(version))) => version.into(),
            Ok(Some(RawBsonRef::Int64(version))) => version,
            // Shells and JavaScript write numbers as doubles.
            Ok(Some(RawBsonRef::Double(version))) if version.fract() == 0.0 => version as i64,
            _ => 0,
        };
        if version < 1 {
            let message = "the version of a document is a whole number from 1 on";
            return Err(Error::new(ErrorKind::Decode, message).with_path(FIELD));
        }
        if version > i64::from(self.current) {
            let message = format!(
                "the document has version {version}, and this program knows versions up to {}",
                self.current
            );
            return Err(Error::new(ErrorKind::NewerVersion, message).with_path(FIELD));
        }
        Ok(version)
    }

    /// The error of a document of a later version than this program knows; `None` of any other.
    pub(crate) fn refusal(&self, stored: &RawDocument) -> Option<Error> {
        let error = self.version_of(stored).err()?;
        (error.kind() == ErrorKind::NewerVersion).then(|| with_id(error, stored))
    }

    /// The condition that a document is of a later version.
    pub(crate) fn newer(&self) -> RawDocumentBuf {
        let later = document::single(bson::cstr!("$gt"), self.current);
        document::single(bson::cstr!("schema_version"), later)
    }

    /// The condition that a document is of no later version.
    pub(crate) fn not_newer(&self) -> RawDocumentBuf {
        let later = document::single(bson::cstr!("$gt"), self.current);
        let not = document::single(bson::cstr!("$not"), later);
        document::single(bson::cstr!("schema_version"), not)
    }

    /// The filter of documents of older versions, and of those whose version is none.
    pub(crate) fn outdated(&self) -> Result<RawDocumentBuf> {
        let others = [
            "string",
            "object",
            "array",
            "binData",
            "objectId",
            "bool",
            "date",
            "regex",
            "javascript",
            "symbol",
            "timestamp",
            "minKey",
            "maxKey",
        ];
        let filter = doc! { "$or": [
            { FIELD: { "$lt": self.current } },
            { FIELD: Bson::Null },
            { FIELD: { "$type": others.as_slice() } },
        ] };
        Raw::from(filter).into_document()
    }
}

/// The condition that a document is still exactly what was read.
pub(crate) struct Unchanged {
    pub(crate) filter: RawDocumentBuf,
    pub(crate) collation: Option<RawDocumentBuf>,
}

impl Unchanged {
    /// Strings are told apart by their bytes, whatever the collection's collation makes of them: the statement has the
    /// simple one. By that an index of `_id`, which has the collection's, finds no strings and documents. For these the
    /// statement keeps the collection's, and a schema, which compares by bytes but not the order of fields, says the rest.
    pub(crate) fn new(stored: &RawDocument) -> Result<Unchanged> {
        let mut filter = RawDocumentBuf::new();
        let id = stored.get("_id").ok().flatten();
        if let Some(id) = id {
            filter.append(bson::cstr!("_id"), document::single(bson::cstr!("$eq"), id));
        }
        let mut equal = bson::RawArrayBuf::new();
        equal.push("$$ROOT");
        equal.push(document::single(bson::cstr!("$literal"), stored.to_owned()));
        filter.append(bson::cstr!("$expr"), document::single(bson::cstr!("$eq"), equal));
        let is_collated = matches!(
            id,
            Some(RawBsonRef::String(_) | RawBsonRef::Symbol(_) | RawBsonRef::Document(_))
        );
        if is_collated && stored.as_bytes().len() <= TWICE_BYTES {
            filter.append(bson::cstr!("$jsonSchema"), document::one_of(stored.to_owned()));
            return Ok(Unchanged {
                filter,
                collation: None,
            });
        }
        Ok(Unchanged {
            filter,
            collation: Some(bson::rawdoc! { "locale": "simple" }),
        })
    }
}

/// A document up to this size fits twice into the condition, beside what replaces it. For a larger one a scan is better
/// than no condition.
const TWICE_BYTES: usize = 5_000_000;

/// Whether a document has the `_id` that is stored, and of the same type.
fn is_same_id(document: &Document, stored: &RawDocument) -> bool {
    let stored = stored.get("_id").ok().flatten().map(RawBson::from);
    let own = document.get("_id").cloned().map(RawBson::try_from).transpose();
    let bytes = |id: Option<RawBson>| id.map(|id| document::single(bson::cstr!("_id"), id));
    own.is_ok_and(|own| bytes(own) == bytes(stored))
}

/// Puts the document's `_id` into an error.
pub(crate) fn with_id(error: Error, stored: &RawDocument) -> Error {
    match stored.get("_id").ok().flatten().map(Bson::try_from) {
        Some(Ok(id)) => error.with_id(id),
        _ => error,
    }
}
