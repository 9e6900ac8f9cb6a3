//! Creating, dropping and listing collections.

use super::super::catalog::Catalog;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::index::{ID_INDEX, IndexDefinition};
use super::super::matcher::Matcher;
use super::super::storage::{Read, TreeId, Write};
use super::{Namespace, change};

/// The options of `create` that mean nothing here but change no answer.
const NEUTRAL: &[&str] = &[
    "storageEngine",
    "indexOptionDefaults",
    "writeConcern",
    "comment",
    "autoIndexId",
    change::IMAGES,
];

/// Creates a collection with its `_id` index.
pub(crate) fn create(write: &mut dyn Write, ns: &Namespace, options: Option<Doc<'_>>) -> Result<()> {
    ns.check()?;
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    if let Some(options) = options {
        for element in options.elements() {
            let name = element.name_str();
            if !NEUTRAL.contains(&name) {
                return Err(Fault::unsupported(format!(
                    "collection option '{name}' is not supported"
                )));
            }
        }
    }
    let options = options
        .map(|options| options.to_bytes())
        .unwrap_or_else(|| Doc::empty().to_bytes());
    write
        .catalog_mut()
        .create_collection(&ns.database, &ns.collection, &options, IndexDefinition::id())
        .map(|_| ())
}

/// Drops a collection; `false` when there is none.
pub(crate) fn drop(write: &mut dyn Write, ns: &Namespace) -> Result<bool> {
    if write.catalog().collection(&ns.database, &ns.collection).is_none() {
        return Ok(false);
    }
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    let dropped = write.catalog_mut().drop_collection(&ns.database, &ns.collection);
    if let Some(collection) = &dropped {
        change::dropped(write, collection);
    }
    Ok(dropped.is_some())
}

/// Drops every collection of a database.
pub(crate) fn drop_database(write: &mut dyn Write, database: &str) -> Result<()> {
    let names: Vec<String> = write
        .catalog()
        .collections(database)
        .map(|own| own.name.to_string())
        .collect();
    let exists = !names.is_empty();
    for name in names {
        drop(
            write,
            &Namespace {
                database: database.to_owned(),
                collection: name,
            },
        )?;
    }
    if exists {
        change::database_dropped(write, database);
    }
    Ok(())
}

/// Describes the collections that match, as `listCollections` does.
pub(crate) fn list(read: &dyn Read, database: &str, filter: Doc<'_>) -> Result<Vec<Vec<u8>>> {
    let matcher = Matcher::parse(filter)?;
    let mut found = Vec::new();
    for collection in read.catalog().collections(database) {
        let id_index = collection
            .indexes
            .iter()
            .find(|entry| entry.definition.name == ID_INDEX)
            .map(|entry| Owned::RawDocument(entry.definition.spec().to_vec()));
        let info = Owned::Document(vec![("readOnly".to_owned(), Owned::Bool(false))]);
        let mut fields = vec![
            ("name".to_owned(), Owned::String(collection.name.to_string())),
            ("type".to_owned(), Owned::String("collection".to_owned())),
            (
                "options".to_owned(),
                Owned::RawDocument(collection.options.to_vec()),
            ),
            ("info".to_owned(), info),
        ];
        if let Some(index) = id_index {
            fields.push(("idIndex".to_owned(), index));
        }
        let document = Owned::Document(fields);
        if let Value::Document(doc) = document.as_value()
            && matcher.matches(doc)?
        {
            found.push(doc.to_bytes());
        }
    }
    Ok(found)
}
