//! What validators and indexes say of fields, beside the documents that were seen.

use bson::spec::ElementType;
use bson::{Bson, Document};

use super::shape::{DocumentShape, Shape};
use crate::collection::IndexInfo;

/// How deep a schema is followed.
const DEEPEST: usize = 24;

/// Adds what a `$jsonSchema` says: fields, and their types.
pub(crate) fn by_schema(documents: &mut DocumentShape, schema: &Document) {
    object(documents, schema, 0);
}

fn object(documents: &mut DocumentShape, schema: &Document, depth: usize) {
    let Ok(properties) = schema.get_document("properties") else {
        return;
    };
    let required: Vec<&str> = match schema.get_array("required") {
        Ok(names) => names.iter().filter_map(Bson::as_str).collect(),
        Err(_) => Vec::new(),
    };
    for (name, property) in properties {
        if let (Bson::Document(property), Some(shape)) = (property, documents.field_or_new(name)) {
            shape.is_required |= required.contains(&name.as_str());
            value(shape, property, depth + 1);
        }
    }
}

fn value(shape: &mut Shape, schema: &Document, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    let is_number = |kind: &u8| [0x01, 0x10, 0x12, 0x13].contains(kind);
    let has_number = shape.kinds().iter().any(is_number);
    for name in ["bsonType", "type"] {
        let names: Vec<&str> = match schema.get(name) {
            Some(Bson::String(name)) => vec![name],
            Some(Bson::Array(names)) => names.iter().filter_map(Bson::as_str).collect(),
            _ => Vec::new(),
        };
        for alias in names {
            match alias {
                // Any of four, of which those that are there are told by the documents.
                "number" if has_number => {}
                "number" => drop(shape.declared.insert(ElementType::Double as u8)),
                "boolean" => drop(shape.declared.insert(ElementType::Boolean as u8)),
                alias => shape.declared.extend(kind(alias).map(|kind| kind as u8)),
            }
        }
    }
    if let Ok(values) = schema.get_array("enum") {
        let kinds = values.iter().map(|value| value.element_type() as u8);
        shape.declared.extend(kinds);
    }
    let has = |shape: &Shape, kind: ElementType| shape.kinds().contains(&(kind as u8));
    if schema.contains_key("properties") && has(shape, ElementType::EmbeddedDocument) {
        object(shape.documents.get_or_insert_default(), schema, depth);
    }
    if let (Ok(items), true) = (schema.get_document("items"), has(shape, ElementType::Array)) {
        value(&mut shape.arrays.get_or_insert_default().items, items, depth + 1);
    }
}

/// The type of this name in MongoDB's words.
fn kind(alias: &str) -> Option<ElementType> {
    Some(match alias {
        "double" => ElementType::Double,
        "string" => ElementType::String,
        "object" => ElementType::EmbeddedDocument,
        "array" => ElementType::Array,
        "binData" => ElementType::Binary,
        "objectId" => ElementType::ObjectId,
        "bool" => ElementType::Boolean,
        "date" => ElementType::DateTime,
        "null" => ElementType::Null,
        "regex" => ElementType::RegularExpression,
        "javascript" => ElementType::JavaScriptCode,
        "int" => ElementType::Int32,
        "timestamp" => ElementType::Timestamp,
        "long" => ElementType::Int64,
        "decimal" => ElementType::Decimal128,
        _ => return None,
    })
}

/// Adds the fields that indexes are over.
pub(crate) fn by_index(documents: &mut DocumentShape, index: &IndexInfo) {
    let expires = index.spec.contains_key("expireAfterSeconds");
    let texts = index.spec.get_document("weights").ok();
    let texts = texts.into_iter().flat_map(Document::keys).map(String::as_str);
    for path in index.keys.keys().map(String::as_str).chain(texts) {
        let is_path = !path.starts_with('_') || path == "_id";
        if is_path && !path.contains('$') && path.split('.').all(|name| !name.is_empty()) {
            let segments: Vec<&str> = path.split('.').collect();
            along(documents, &segments, expires);
        }
    }
}

fn along(documents: &mut DocumentShape, path: &[&str], expires: bool) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    // A number is a place in an array, or a name of documents whose names are data.
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    let Some(shape) = documents.field_or_new(name) else {
        return;
    };
    if rest.is_empty() {
        if expires && shape.kinds().is_empty() {
            shape.declared.insert(ElementType::DateTime as u8);
        }
        return;
    }
    let mut at = shape;
    while at.is_only(ElementType::Array) {
        at = &mut at.arrays.get_or_insert_default().items;
    }
    if let Some(documents) = at.documents_alone() {
        along(documents, rest, expires);
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc};

    use super::*;

    fn index(spec: Document) -> IndexInfo {
        IndexInfo::read(&RawDocumentBuf::try_from(&spec).unwrap()).unwrap()
    }

    #[test]
    fn schemas_add_fields_and_types() {
        let mut documents = DocumentShape::default();
        let schema = doc! {"required": ["name"], "properties": {
            "name": {"bsonType": "string"},
            "age": {"bsonType": ["int", "null"]},
            "tags": {"bsonType": "array", "items": {"bsonType": "object", "properties": {"n": {"type": "number"}}}},
        }};
        by_schema(&mut documents, &schema);
        let name = documents.field("name").unwrap();
        assert!(name.is_required && name.is_only(ElementType::String));
        assert!(documents.field("age").unwrap().is_nullable());
        let items = &documents.field("tags").unwrap().arrays.as_ref().unwrap().items;
        assert!(
            items
                .documents
                .as_ref()
                .unwrap()
                .field("n")
                .unwrap()
                .is_only(ElementType::Double)
        );
    }

    #[test]
    fn indexes_add_the_fields_that_they_are_over() {
        let mut documents = DocumentShape::default();
        by_index(
            &mut documents,
            &index(doc! {"name": "a", "key": {"a.b": 1, "c": -1}}),
        );
        by_index(
            &mut documents,
            &index(doc! {"name": "t", "key": {"t": 1}, "expireAfterSeconds": 1}),
        );
        by_index(&mut documents, &index(doc! {"name": "w", "key": {"x.$**": 1}}));
        assert!(documents.field("t").unwrap().is_only(ElementType::DateTime));
        assert!(
            documents
                .field("a")
                .unwrap()
                .documents
                .as_ref()
                .unwrap()
                .field("b")
                .is_some()
        );
        assert!(documents.field("x").is_none() && documents.field("c").is_some());
    }
}
