//! The collections and indexes of a database, in the words that any other takes.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use crate::backend::{self, Operation};
use crate::codec::decode_untyped;
use crate::collection::Target;
use crate::db::{CollectionInfo, Db};
use crate::error::Result;

/// A collection or a view.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    /// `collection`, `view` or `timeseries`.
    pub(super) kind: String,
    pub(super) options: Document,
    /// What tells it from all others, or a time series' buckets from those of others; views have none.
    pub(super) uuid: Option<Bson>,
}

impl Listed {
    fn read(document: &RawDocument) -> Result<Listed> {
        let CollectionInfo {
            name,
            kind,
            mut options,
        } = CollectionInfo::read(document)?;
        // What only this database can have.
        options.remove("temp");
        if let Ok(collation) = options.get_document_mut("collation") {
            collation.remove("version");
        }
        let info = decode_untyped(document)?;
        let info = info.get_document("info").ok();
        Ok(Listed {
            name,
            kind,
            options,
            uuid: info.and_then(|info| info.get("uuid")).cloned(),
        })
    }

    pub(super) fn is_view(&self) -> bool {
        self.kind == "view"
    }

    pub(super) fn has_validator(&self) -> bool {
        self.options.contains_key("validator") || self.options.contains_key("encryptedFields")
    }

    /// The field of a time series that orders it.
    pub(super) fn time_field(&self) -> Option<&str> {
        let series = self.options.get_document("timeseries").ok()?;
        series.get_str("timeField").ok()
    }

    /// The options but the one that takes documents away.
    pub(super) fn lasting_options(&self) -> Document {
        let mut options = self.options.clone();
        options.remove("expireAfterSeconds");
        options
    }

    /// The first option that the target's collection has otherwise. It may lack an expiry.
    pub(super) fn difference(&self, target: &Listed) -> Option<String> {
        if self.kind != target.kind {
            return Some("type".to_owned());
        }
        let (own, others) = (telling(&self.options), telling(&target.options));
        let mut names = own.keys().chain(others.keys());
        let differs = |name: &&String| match (own.get(*name), others.get(*name)) {
            (Some(own), Some(other)) => !is_same(own, other),
            (Some(_), None) => *name != "expireAfterSeconds",
            _ => true,
        };
        names.find(differs).cloned()
    }
}

/// All collections and views but those that are the database's own, by their names.
pub(super) async fn collections(db: &Db) -> Result<Vec<Listed>> {
    let list = Operation::ListCollections(backend::ListCollections {
        database: db.name().to_owned(),
        filter: RawDocumentBuf::new(),
    });
    let documents = db.execute(list).await?.documents()?;
    let listed = documents.iter().map(|document| Listed::read(document));
    let listed: Vec<Listed> = listed.collect::<Result<_>>()?;
    let (own, mut listed): (Vec<_>, Vec<_>) = listed
        .into_iter()
        .partition(|collection| collection.name.starts_with("system."));
    for series in listed.iter_mut().filter(|listed| listed.uuid.is_none()) {
        let is_of = |own: &&Listed| own.name.strip_prefix("system.buckets.") == Some(series.name.as_str());
        series.uuid = own.iter().find(is_of).and_then(|buckets| buckets.uuid.clone());
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

/// The indexes of a collection but the one that it has by itself.
pub(super) async fn indexes(target: &Target, collection: &Listed) -> Result<Vec<Document>> {
    if collection.is_view() {
        return Ok(Vec::new());
    }
    let namespace = target.namespace().clone();
    let list = backend::ListIndexes { namespace };
    let documents = target.execute(list.into()).await?.documents()?;
    let mut indexes = Vec::with_capacity(documents.len());
    for document in &documents {
        let mut index = decode_untyped(document)?;
        let is_given =
            index.contains_key("clustered") || index.get_str("name").is_ok_and(|name| name == "_id_");
        if is_given {
            continue;
        }
        for own in ["v", "ns", "background"] {
            index.remove(own);
        }
        match index.get_mut("collation") {
            Some(Bson::Document(collation)) => drop(collation.remove("version")),
            // Without one of its own, a new index would get the collection's.
            _ if collection.options.contains_key("collation") => {
                index.insert("collation", doc! { "locale": "simple" });
            }
            _ => {}
        }
        indexes.push(index);
    }
    Ok(indexes)
}

/// Whether documents go by this index when their time has come.
pub(super) fn is_expiring(index: &Document) -> bool {
    index.contains_key("expireAfterSeconds")
}

/// The options without those that are the same as none.
fn telling(options: &Document) -> Document {
    let mut telling = options.clone();
    for (name, default) in [("validationLevel", "strict"), ("validationAction", "error")] {
        if telling.get_str(name).is_ok_and(|given| given == default) {
            telling.remove(name);
        }
    }
    if telling.get_document("validator").is_ok_and(Document::is_empty) {
        telling.remove("validator");
    }
    let images = telling.get_document("changeStreamPreAndPostImages");
    if images.is_ok_and(|images| !images.get_bool("enabled").unwrap_or_default()) {
        telling.remove("changeStreamPreAndPostImages");
    }
    telling
}

/// Whether two options say the same: backends list numbers in types of their own.
pub(super) fn is_same(a: &Bson, b: &Bson) -> bool {
    let number = |value: &Bson| match value {
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    };
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, own)| b.get(name).is_some_and(|other| is_same(own, other)))
        }
        (Bson::Array(a), Bson::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}
