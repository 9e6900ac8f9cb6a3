//! The specification as `listIndexes` gives it and the catalog stores it.

use super::super::document::doc::framed;
use super::super::document::{Doc, Owned, Value};
use super::options::GeoOptions;

/// The parts of a specification, in the order in which they are written.
pub(super) struct Canonical<'a> {
    pub(super) version: i32,
    pub(super) key: Doc<'a>,
    pub(super) name: &'a str,
    pub(super) background: Option<bool>,
    /// It may be said that it is not so.
    pub(super) unique: Option<bool>,
    pub(super) clustered: bool,
    pub(super) prepare_unique: bool,
    /// It may be said that it is not so.
    pub(super) hidden: Option<bool>,
    pub(super) partial: Option<Doc<'a>>,
    pub(super) sparse: Option<bool>,
    pub(super) expire_after_seconds: Option<i64>,
    pub(super) storage_engine: Option<Doc<'a>>,
    pub(super) geo: GeoOptions,
    pub(super) original: Option<Doc<'a>>,
    /// The options of a text index, which another index keeps without effect.
    pub(super) text: &'a [(String, Owned)],
    pub(super) wildcard_projection: Option<Value<'a>>,
    pub(super) collation: Option<Doc<'a>>,
}

impl<'a> Canonical<'a> {
    /// The order in which the documents of a clustered collection are kept.
    pub(super) fn clustered(key: Doc<'a>, name: &'a str, collation: Option<Doc<'a>>) -> Canonical<'a> {
        Canonical {
            version: 2,
            key,
            name,
            background: None,
            unique: Some(true),
            clustered: true,
            prepare_unique: false,
            hidden: None,
            partial: None,
            sparse: None,
            expire_after_seconds: None,
            storage_engine: None,
            geo: GeoOptions::default(),
            text: &[],
            original: None,
            wildcard_projection: None,
            collation,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        framed(&mut out, |out| {
            let mut write = |name: &str, value: Value<'_>| value.write_element(name.as_bytes(), out);
            write("v", Value::Int32(self.version));
            write("key", Value::Document(self.key));
            write("name", Value::String(self.name));
            if let Some(background) = self.background {
                write("background", Value::Bool(background));
            }
            if let Some(unique) = self.unique {
                write("unique", Value::Bool(unique));
            }
            if self.clustered {
                if let Some(collation) = self.collation {
                    write("collation", Value::Document(collation));
                }
                write("clustered", Value::Bool(true));
            }
            if let Some(hidden) = self.hidden {
                write("hidden", Value::Bool(hidden));
            }
            if let Some(filter) = self.partial {
                write("partialFilterExpression", Value::Document(filter));
            }
            if let Some(sparse) = self.sparse {
                write("sparse", Value::Bool(sparse));
            }
            if let Some(seconds) = self.expire_after_seconds {
                // Within an i32: the largest allowed is its maximum.
                write("expireAfterSeconds", Value::Int32(seconds as i32));
            }
            if let Some(engine) = self.storage_engine {
                write("storageEngine", Value::Document(engine));
            }
            for (name, value) in self.text {
                write(name, value.as_value());
            }
            let geo = &self.geo;
            if let Some(version) = geo.version {
                write("2dsphereIndexVersion", Value::Int32(version));
            }
            if let Some(bits) = geo.bits {
                write("bits", Value::Int32(bits));
            }
            if let Some(min) = geo.min {
                write("min", Value::Double(min));
            }
            if let Some(max) = geo.max {
                write("max", Value::Double(max));
            }
            if let Some(collation) = self.collation.filter(|_| !self.clustered) {
                write("collation", Value::Document(collation));
            }
            if let Some(projection) = self.wildcard_projection {
                write("wildcardProjection", projection);
            }
            if let Some(level) = geo.coarsest {
                write("coarsestIndexedLevel", Value::Int32(level));
            }
            if let Some(level) = geo.finest {
                write("finestIndexedLevel", Value::Int32(level));
            }
            if let Some(original) = self.original {
                write("originalSpec", Value::Document(original));
            }
            if self.prepare_unique {
                write("prepareUnique", Value::Bool(true));
            }
        });
        out
    }
}
