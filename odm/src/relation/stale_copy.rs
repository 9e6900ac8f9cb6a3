//! Copies that are not what their sources are.

use std::fmt;

use bson::{Bson, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::copy_of::integer;
use super::copy_source::Sources;
use super::declared_copy::DeclaredCopy;
use super::identity::Identity;
use super::keys::Keys;
use super::place::Step;
use super::stored::{elements, malformed};
use crate::backend::UpdateStatement;
use crate::collection::Target;
use crate::error::Result;

/// A copy that differs from its source, or whose source is not there. Found by
/// [`stale_copies`](crate::Collection::stale_copies).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StaleCopy {
    /// The model that holds the copy, by its Rust name.
    pub model: &'static str,
    /// The collection of the document that holds it.
    pub collection: String,
    /// The `_id` of that document.
    pub id: Bson,
    /// Where in the document: `lines.3.product`.
    pub path: String,
    /// The model that is copied, by its Rust name.
    pub source: &'static str,
    /// What the copy's reference holds.
    pub key: Bson,
    /// The version that was copied; none where nothing was.
    pub copy_version: Option<i64>,
    /// The version of the source; none where there is no source.
    pub source_version: Option<i64>,
    /// The copy's fields that differ; none where there is no source.
    pub fields: Vec<String>,
}

impl StaleCopy {
    /// Whether what was copied is not there.
    pub fn is_missing(&self) -> bool {
        self.source_version.is_none()
    }
}

impl fmt::Display for StaleCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = |version: Option<i64>| match version {
            Some(version) => version.to_string(),
            None => "none".to_owned(),
        };
        match self.is_missing() {
            true => f.write_str("what was copied is not there")?,
            false => write!(f, "{} differ from their source", self.fields.join(", "))?,
        }
        write!(
            f,
            " (model: {}, collection: {}, _id: {}, copy: {}, source: {} {}, version: {} of {})",
            self.model,
            self.collection,
            self.id,
            self.path,
            self.source,
            self.key,
            version(self.copy_version),
            version(self.source_version),
        )
    }
}

/// A stale copy, and what makes it fresh.
pub(crate) struct Found {
    pub(crate) copy: StaleCopy,
    pub(crate) repair: Option<UpdateStatement>,
}

impl DeclaredCopy {
    /// The stale copies in these documents of a collection.
    pub(crate) async fn stale(
        &'static self,
        target: &Target,
        documents: &[&RawDocument],
    ) -> Result<Vec<Found>> {
        let mut keys = Keys::default();
        for document in documents {
            self.each(document, &mut |_, _, key| {
                keys.add(key);
                Ok(())
            })?;
        }
        let sources = Sources::of(self, target, keys).await?;
        let mut all = Vec::new();
        for document in documents {
            let mut seen: Vec<(Identity, Option<i64>)> = Vec::new();
            self.each(document, &mut |path, copy, key| {
                let id = document
                    .get("_id")
                    .map_err(malformed)?
                    .unwrap_or(RawBsonRef::Null);
                let version = copy.get(&self.copy.version).map_err(malformed)?;
                let version = version.and_then(integer);
                let mut found = StaleCopy {
                    model: self.model.name,
                    collection: target.namespace().collection.clone(),
                    id: value(id)?,
                    path: path.to_owned(),
                    source: self.copy.source.name,
                    key: value(key)?,
                    copy_version: version,
                    source_version: None,
                    fields: Vec::new(),
                };
                let Some(source) = sources.get(key) else {
                    all.push(Found {
                        copy: found,
                        repair: None,
                    });
                    return Ok(());
                };
                found.source_version = Some(self.copy.version_of(source)?);
                found.fields = self.differing(copy, source)?;
                if found.fields.is_empty() {
                    return Ok(());
                }
                // One repair is for all copies of one source in the document that have the same version.
                let group = (Identity::of(key), version);
                let repair = match seen.contains(&group) {
                    true => None,
                    false => self.repair(id, source, version)?,
                };
                seen.push(group);
                all.push(Found { copy: found, repair });
                Ok(())
            })?;
        }
        Ok(all)
    }

    fn differing(&self, copy: &RawDocument, source: &RawDocument) -> Result<Vec<String>> {
        let mut fields = Vec::new();
        for (field, wanted) in self.copy.values(source)? {
            let held = copy.get(&field).map_err(malformed)?.unwrap_or(RawBsonRef::Null);
            let wanted = wanted.unwrap_or(RawBson::Null);
            if Identity::of(held) != Identity::of(wanted.as_raw_bson_ref()) {
                fields.push(field);
            }
        }
        Ok(fields)
    }

    fn repair(
        &self,
        id: RawBsonRef<'_>,
        source: &RawDocument,
        seen: Option<i64>,
    ) -> Result<Option<UpdateStatement>> {
        let Some(copied) = self.copied_from(source)? else {
            return Ok(None);
        };
        let id = rawdoc! { "_id": { "$eq": RawBson::from(id) } };
        self.update_seen(&copied, seen, id).map(Some)
    }

    /// Gives each copy in a document: where it is, the copy, what its reference holds.
    pub(super) fn each<'d>(
        &self,
        document: &'d RawDocument,
        give: &mut dyn FnMut(&str, &'d RawDocument, RawBsonRef<'d>) -> Result<()>,
    ) -> Result<()> {
        walk(
            RawBsonRef::Document(document),
            &self.steps,
            String::new(),
            &mut |path, copy| match copy.get(&self.copy.reference).map_err(malformed)? {
                None | Some(RawBsonRef::Null) => Ok(()),
                Some(key) => give(path, copy, key),
            },
        )
    }

    /// Fills the copies in a document: gives each its source and what to do about it.
    pub(super) fn keys(&self, document: &RawDocument, keys: &mut Keys) -> Result<()> {
        self.each(document, &mut |_, _, key| {
            keys.add(key);
            Ok(())
        })
    }

    /// The document with its copies filled from the sources; how many were filled, and how many have none.
    pub(super) fn filled(
        &self,
        document: &RawDocument,
        sources: &Sources,
        counts: &mut (u64, u64),
    ) -> Result<RawDocumentBuf> {
        let filled = self.fill(RawBsonRef::Document(document), &self.steps, sources, counts)?;
        Ok(match filled {
            RawBson::Document(document) => document,
            _ => document.to_owned(),
        })
    }

    fn fill(
        &self,
        value: RawBsonRef<'_>,
        steps: &[Step],
        sources: &Sources,
        counts: &mut (u64, u64),
    ) -> Result<RawBson> {
        let Some((step, rest)) = steps.split_first() else {
            return self.fill_one(value, sources, counts);
        };
        Ok(match (step, value) {
            (Step::Name(_) | Step::Values, RawBsonRef::Document(document)) => {
                let mut changed = RawDocumentBuf::new();
                for field in document {
                    let (field, value) = field.map_err(malformed)?;
                    match step {
                        Step::Name(wanted) if wanted != field.as_str() => changed.append(field, value),
                        _ => changed.append(field, self.fill(value, rest, sources, counts)?),
                    }
                }
                RawBson::Document(changed)
            }
            (Step::Each, RawBsonRef::Array(array)) => {
                let mut changed = bson::RawArrayBuf::new();
                elements(array, &mut |element| {
                    changed.push(self.fill(element, rest, sources, counts)?);
                    Ok(())
                })?;
                RawBson::Array(changed)
            }
            (_, value) => value.into(),
        })
    }

    fn fill_one(&self, value: RawBsonRef<'_>, sources: &Sources, counts: &mut (u64, u64)) -> Result<RawBson> {
        let RawBsonRef::Document(copy) = value else {
            return Ok(value.into());
        };
        let key = match copy.get(&self.copy.reference).map_err(malformed)? {
            None | Some(RawBsonRef::Null) => return Ok(value.into()),
            Some(key) => key,
        };
        let Some(source) = sources.get(key) else {
            counts.1 += 1;
            return Ok(value.into());
        };
        counts.0 += 1;
        let mut filled = copy.to_owned();
        for (field, value) in self.copy.values(source)? {
            filled = with(&filled, &field, value)?;
        }
        let version = RawBson::Int64(self.copy.version_of(source)?);
        Ok(RawBson::Document(with(
            &filled,
            &self.copy.version,
            Some(version),
        )?))
    }
}

/// The document with this value in a field, or without the field.
fn with(document: &RawDocument, field: &str, value: Option<RawBson>) -> Result<RawDocumentBuf> {
    match value {
        Some(value) => crate::lifecycle::with_field(document, field, value),
        None => {
            let mut rest = RawDocumentBuf::new();
            for element in document {
                let (name, value) = element.map_err(malformed)?;
                if name.as_str() != field {
                    rest.append(name, value);
                }
            }
            Ok(rest)
        }
    }
}

fn walk<'d>(
    value: RawBsonRef<'d>,
    steps: &[Step],
    path: String,
    give: &mut dyn FnMut(&str, &'d RawDocument) -> Result<()>,
) -> Result<()> {
    let below = |name: &str| match path.as_str() {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (steps.split_first(), value) {
        (None, RawBsonRef::Document(copy)) => give(&path, copy),
        (Some((Step::Name(name), rest)), RawBsonRef::Document(document)) => {
            match document.get(name).map_err(malformed)? {
                Some(value) => walk(value, rest, below(name), give),
                None => Ok(()),
            }
        }
        (Some((Step::Values, rest)), RawBsonRef::Document(document)) => {
            for field in document {
                let (name, value) = field.map_err(malformed)?;
                walk(value, rest, below(name.as_str()), give)?;
            }
            Ok(())
        }
        (Some((Step::Each, rest)), RawBsonRef::Array(array)) => {
            let mut position = 0;
            elements(array, &mut |element| {
                let at = below(&position.to_string());
                position += 1;
                walk(element, rest, at, give)
            })
        }
        _ => Ok(()),
    }
}

fn value(value: RawBsonRef<'_>) -> Result<Bson> {
    Bson::try_from(value).map_err(malformed)
}

/// Fills the copies in documents of a model; how many were filled, and how many have no source.
pub(crate) async fn fill(
    places: &'static [DeclaredCopy],
    target: &Target,
    documents: &mut [RawDocumentBuf],
) -> Result<(u64, u64)> {
    let mut counts = (0, 0);
    for place in places {
        let mut keys = Keys::default();
        for document in &*documents {
            place.keys(document, &mut keys)?;
        }
        let sources = Sources::of(place, target, keys).await?;
        for document in &mut *documents {
            *document = place.filled(document, &sources, &mut counts)?;
        }
    }
    Ok(counts)
}
