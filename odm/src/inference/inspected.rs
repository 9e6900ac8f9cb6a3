//! A collection as it was found.

use std::collections::{BTreeMap, BTreeSet};

use bson::spec::ElementType;
use bson::{Bson, Document, RawDocument};

use super::choice::{is_fit, scalar_key};
use super::shape::DocumentShape;
use super::{Settings, declared, recursion};
use crate::collection::IndexInfo;
use crate::db::CollectionInfo;

/// The fields by which kinds of documents are told apart, as frameworks name them.
const TAGS: [&str; 8] = ["kind", "type", "_type", "_class", "_cls", "_t", "__t", "class"];
/// How many kinds are told apart.
const MOST_KINDS: usize = 12;

/// What is known of a collection.
#[derive(Clone, Debug)]
pub(crate) struct Inspected {
    pub(crate) name: String,
    /// `collection`, `view` or `timeseries`.
    pub(crate) kind: String,
    /// What it was created with.
    pub(crate) options: Document,
    /// All but that of `_id`.
    pub(crate) indexes: Vec<IndexInfo>,
    pub(crate) documents: DocumentShape,
    /// How many documents were looked at.
    pub(crate) looked_at: u64,
    /// The documents by the text of a field that could tell kinds apart; none where it has too many or other values.
    parts: BTreeMap<&'static str, Option<Parts>>,
}

type Parts = BTreeMap<String, DocumentShape>;

impl Inspected {
    pub(crate) fn new(info: CollectionInfo, indexes: Vec<IndexInfo>) -> Inspected {
        Inspected {
            name: info.name,
            kind: info.kind,
            options: info.options,
            indexes: indexes.into_iter().filter(|index| !is_of_id(index)).collect(),
            documents: DocumentShape::default(),
            looked_at: 0,
            parts: BTreeMap::new(),
        }
    }

    /// Counts one more document.
    pub(crate) fn add(&mut self, document: &RawDocument) {
        self.looked_at += 1;
        self.documents.add(document);
        for tag in TAGS {
            let parts = self.parts.entry(tag).or_insert_with(|| Some(Parts::new()));
            let Some(known) = parts else { continue };
            match document.get_str(tag) {
                Ok(kind) if kind.len() <= 64 && (known.contains_key(kind) || known.len() < MOST_KINDS) => {
                    known.entry(kind.to_owned()).or_default().add(document);
                }
                _ => *parts = None,
            }
        }
    }

    /// Adds what is not in documents, once all were counted.
    pub(crate) fn complete(&mut self) {
        let schema = self.options.get_document("validator").ok();
        let schema = schema.and_then(|validator| validator.get_document("$jsonSchema").ok());
        let parts = self.parts.values_mut().flatten().flat_map(BTreeMap::values_mut);
        for documents in parts {
            recursion::fold(documents);
        }
        recursion::fold(&mut self.documents);
        if let Some(schema) = schema {
            declared::by_schema(&mut self.documents, schema);
        }
        for index in &self.indexes {
            declared::by_index(&mut self.documents, index);
        }
        if let Some((time, meta)) = self.series() {
            let (time, meta) = (time.to_owned(), meta.map(ToOwned::to_owned));
            if let Some(shape) = self.documents.field_or_new(&time) {
                shape.declared.insert(ElementType::DateTime as u8);
                shape.is_required = true;
            }
            if let Some(meta) = meta {
                self.documents.field_or_new(&meta);
            }
        }
    }

    /// The fields of a time series: when, and of what.
    pub(crate) fn series(&self) -> Option<(&str, Option<&str>)> {
        let series = self.options.get_document("timeseries").ok()?;
        Some((
            series.get_str("timeField").ok()?,
            series.get_str("metaField").ok(),
        ))
    }

    /// Calls this for the documents, and for those of each kind.
    pub(crate) fn each(&mut self, mut change: impl FnMut(&mut DocumentShape)) {
        change(&mut self.documents);
        let parts = self.parts.values_mut().flatten().flat_map(BTreeMap::values_mut);
        parts.for_each(change);
    }

    /// Why no model can hold the documents.
    pub(crate) fn obstacle(&self) -> Option<String> {
        if self.kind == "view" {
            let of = self.options.get_str("viewOn").unwrap_or_default();
            return Some(format!("a view of {of}, which is only read: it has no model"));
        }
        let name = &self.name;
        if name.contains(['$', '\0']) || name.starts_with('.') || name.ends_with('.') || name.contains("..") {
            return Some("no model's collection can have this name".to_owned());
        }
        if self.documents.repeats {
            return Some("documents have two fields of one name: `raw_collection` reads them".to_owned());
        }
        if self.documents.values.is_some() {
            return Some(
                "the names of fields are so many that they are data: `raw_collection` reads them".to_owned(),
            );
        }
        let id = self.documents.field("_id").map_or(0, |id| id.seen);
        if id < self.documents.count {
            return Some(
                "documents have no `_id`, and a model has one: `raw_collection` reads them".to_owned(),
            );
        }
        let unfit = self
            .documents
            .fields
            .iter()
            .find(|(name, shape)| !is_fit(name) && !is_simple(shape));
        unfit.map(|(name, _)| {
            format!("no field of a model holds what is stored as {name}: `raw_collection` reads it")
        })
    }

    /// The field that tells kinds of documents apart, and the documents of each.
    pub(crate) fn told_apart(&self) -> Option<(&'static str, &Parts)> {
        let found = self.parts.iter().find(|(_, parts)| {
            let Some(parts) = parts.as_ref().filter(|parts| parts.len() > 1) else {
                return false;
            };
            // All but one have a field of their own, in each of their documents: else optional fields are all that differs.
            let own = parts.iter().filter(|(kind, documents)| {
                let others = || parts.iter().filter(|(other, _)| other != kind);
                documents.fields.iter().any(|(name, shape)| {
                    shape.seen == documents.count && others().all(|(_, other)| other.field(name).is_none())
                })
            });
            own.count() + 1 >= parts.len()
        });
        found.and_then(|(tag, parts)| Some((*tag, parts.as_ref()?)))
    }

    /// The kinds that become models. Serde reads the fields of a document before it knows its kind, and what only bytes
    /// hold is not kept then.
    pub(crate) fn kinds(&self, settings: Settings) -> Option<(&'static str, &Parts)> {
        let fits = |parts: &Parts| {
            let plain = |documents: &DocumentShape| {
                let mut fields = documents.fields.iter();
                fields.all(|(name, shape)| is_fit(name) && is_simple(shape))
            };
            parts.values().all(plain) && parts.keys().all(|kind| !kind.is_empty())
        };
        // A time series is told apart by its source alone.
        let is_plain = settings.show_values
            && self.kind == "collection"
            && self
                .documents
                .field("_id")
                .is_some_and(|id| scalar_key(id, settings).is_some());
        self.told_apart().filter(|(_, parts)| is_plain && fits(parts))
    }

    /// The paths that indexes of places are over.
    pub(crate) fn places(&self) -> BTreeSet<String> {
        let keys = self.indexes.iter().flat_map(|index| &index.keys);
        let is_place = |kind: &Bson| matches!(kind, Bson::String(kind) if kind == "2dsphere" || kind == "2d");
        keys.filter(|(_, kind)| is_place(kind))
            .map(|(path, _)| path.clone())
            .collect()
    }
}

/// Whether serde keeps the value where it does not know its type.
fn is_simple(shape: &super::shape::Shape) -> bool {
    !shape.needs_bytes
}

fn is_of_id(index: &IndexInfo) -> bool {
    index.name == "_id_" || index.spec.contains_key("clustered")
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc, rawdoc};

    use super::*;

    fn inspected(documents: &[RawDocumentBuf]) -> Inspected {
        let info = CollectionInfo {
            name: "animals".to_owned(),
            kind: "collection".to_owned(),
            options: doc! {},
        };
        let mut inspected = Inspected::new(info, Vec::new());
        for document in documents {
            inspected.add(document);
        }
        inspected.complete();
        inspected
    }

    #[test]
    fn kinds_hold_nothing_that_only_bytes_hold() {
        let settings = Settings {
            show_values: true,
            ..Settings::default()
        };
        let cat = rawdoc! {"_id": 1, "kind": "cat", "lives": 9};
        let dog = |more: RawDocumentBuf| rawdoc! {"_id": 2, "kind": "dog", "tricks": [more]};
        let plain = inspected(&[cat.clone(), dog(rawdoc! {"name": "sit"})]);
        assert!(plain.kinds(settings).is_some());
        let bytes = inspected(&[cat, dog(rawdoc! {"$date": 1})]);
        assert!(bytes.told_apart().is_some() && bytes.kinds(settings).is_none());
    }
}
