//! Declared indexes and what is sent to create them.

use std::fmt;

use bson::{RawDocumentBuf, rawdoc};

use crate::error::{Error, ErrorKind, Result};
use crate::geo::Located;
use crate::model::{Date, Field, Model, Path, Segment};
use crate::query::Filter;

/// An index as a model declares it.
#[derive(Clone, Debug, Default)]
pub struct IndexDeclaration {
    keys: Vec<(Path, IndexOrder)>,
    name: Option<&'static str>,
    unique: bool,
    sparse: bool,
    partial: Option<Result<RawDocumentBuf>>,
    expire_after_seconds: Option<u32>,
    bounds: Option<(f64, f64)>,
    bits: Option<u8>,
}

/// How one field of an index is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexOrder {
    /// From small to large: `1`.
    Ascending,
    /// From large to small: `-1`.
    Descending,
    /// By a hash: `"hashed"`.
    Hashed,
    /// By its words: `"text"`.
    Text,
    /// By where it lies on the globe: `"2dsphere"`.
    Geo2dSphere,
    /// By where it lies in the plane: `"2d"`.
    Geo2d,
}

impl IndexDeclaration {
    /// An index over no fields yet.
    pub fn new() -> IndexDeclaration {
        IndexDeclaration::default()
    }

    /// The index of the documents that have this mark.
    pub(crate) fn of_pending(mark: &'static str) -> IndexDeclaration {
        let keys = vec![(Path::root().child(mark), IndexOrder::Ascending)];
        let index = IndexDeclaration {
            keys,
            ..IndexDeclaration::default()
        };
        index.sparse()
    }

    /// Adds an ascending field.
    pub fn asc<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Ascending)
    }

    /// Adds a descending field.
    pub fn desc<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Descending)
    }

    /// Adds a hashed field.
    pub fn hashed<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Hashed)
    }

    /// Adds a text field.
    pub fn text<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Text)
    }

    /// Adds a field of geometries on the globe.
    pub fn geo_2dsphere<R, T: Located>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Geo2dSphere)
    }

    /// Adds a field of pairs of numbers in the plane: the first field of its index.
    pub fn geo_2d<R, T: Located>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Geo2d)
    }

    /// The least and the greatest coordinate of a [`geo_2d`](IndexDeclaration::geo_2d) field, -180 and 180 if not said.
    pub fn geo_2d_bounds(mut self, least: f64, greatest: f64) -> IndexDeclaration {
        self.bounds = Some((least, greatest));
        self
    }

    /// How often each side is halved in a [`geo_2d`](IndexDeclaration::geo_2d) index: 1 to 32, 26 if not said.
    pub fn geo_2d_bits(mut self, bits: u8) -> IndexDeclaration {
        self.bits = Some(bits);
        self
    }

    fn key<R, T>(mut self, field: &Field<R, T>, order: IndexOrder) -> IndexDeclaration {
        self.keys.push((field.path().clone(), order));
        self
    }

    /// No two documents may have the same key.
    pub fn unique(mut self) -> IndexDeclaration {
        self.unique = true;
        self
    }

    /// Leaves out documents that have none of the fields.
    pub fn sparse(mut self) -> IndexDeclaration {
        self.sparse = true;
        self
    }

    /// Names the index, instead of by its fields (`title_1_year_-1`).
    pub fn named(mut self, name: &'static str) -> IndexDeclaration {
        self.name = Some(name);
        self
    }

    /// Deletes documents when this many seconds have passed since the date in `field`, the index's only field.
    pub fn expire_after<R, T: Date>(self, _field: &Field<R, T>, seconds: u32) -> IndexDeclaration {
        self.expire_after_unchecked(seconds)
    }

    /// [`expire_after`](IndexDeclaration::expire_after) for a field whose own codec stores a date.
    pub fn expire_after_unchecked(mut self, seconds: u32) -> IndexDeclaration {
        self.expire_after_seconds = Some(seconds);
        self
    }

    /// Leaves out documents that the filter does not match.
    pub fn partial<M: Model>(mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> IndexDeclaration {
        self.partial = Some(filter(M::fields()).to_document());
        self
    }

    /// The fields, by their stored names.
    pub fn keys(&self) -> &[(Path, IndexOrder)] {
        &self.keys
    }

    /// Whether it leaves out documents by a filter.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Whether no two documents may have the same key.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// The name: the given one, or the one that MongoDB derives, `title_1_author.name_-1`.
    pub fn name(&self) -> String {
        match self.name {
            Some(name) => name.to_owned(),
            None => {
                let parts: Vec<_> = self
                    .keys
                    .iter()
                    .map(|(path, order)| format!("{path}_{order}"))
                    .collect();
                parts.join("_")
            }
        }
    }

    /// What `createIndexes` takes: `key`, `name` and the options that differ from their defaults.
    ///
    /// # Errors
    /// A partial filter with an operand that does not fit BSON; a key that is the document itself.
    pub fn to_spec(&self) -> Result<RawDocumentBuf> {
        let name = self.name();
        let mut key = RawDocumentBuf::new();
        for (path, order) in &self.keys {
            let stored = |segment: &&Segment| {
                matches!(segment, Segment::Name(_) | Segment::Key(_) | Segment::Index(_))
            };
            if !path.segments().iter().all(stored) {
                let message = "an index is over stored names: not over matched elements or what is inside a field with its own codec";
                return Err(Error::new(ErrorKind::Schema, message)
                    .with_index(name)
                    .with_path(path.to_string()));
            }
            let path = path.to_string();
            if path.is_empty() {
                let message = "a flattened field has no path of its own to index";
                return Err(Error::new(ErrorKind::Schema, message).with_index(name));
            }
            let cstr = bson::raw::CString::try_from(path.clone()).map_err(|error| {
                let message = "the name of an indexed field holds a NUL";
                Error::new(ErrorKind::Schema, message)
                    .with_path(path)
                    .with_source(error)
            })?;
            match order {
                IndexOrder::Ascending => key.append(cstr, 1),
                IndexOrder::Descending => key.append(cstr, -1),
                IndexOrder::Hashed => key.append(cstr, "hashed"),
                IndexOrder::Text => key.append(cstr, "text"),
                IndexOrder::Geo2dSphere => key.append(cstr, "2dsphere"),
                IndexOrder::Geo2d => key.append(cstr, "2d"),
            }
        }
        let mut spec = rawdoc! { "key": key, "name": name };
        if self.unique {
            spec.append(bson::cstr!("unique"), true);
        }
        if self.sparse {
            spec.append(bson::cstr!("sparse"), true);
        }
        if let Some(partial) = &self.partial {
            spec.append(bson::cstr!("partialFilterExpression"), partial.clone()?);
        }
        if let Some(seconds) = self.expire_after_seconds {
            spec.append(bson::cstr!("expireAfterSeconds"), i64::from(seconds));
        }
        if let Some((least, greatest)) = self.bounds {
            spec.append(bson::cstr!("min"), least);
            spec.append(bson::cstr!("max"), greatest);
        }
        if let Some(bits) = self.bits {
            spec.append(bson::cstr!("bits"), i32::from(bits));
        }
        Ok(spec)
    }
}

impl fmt::Display for IndexOrder {
    /// As in the name that MongoDB gives an index.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IndexOrder::Ascending => "1",
            IndexOrder::Descending => "-1",
            IndexOrder::Hashed => "hashed",
            IndexOrder::Text => "text",
            IndexOrder::Geo2dSphere => "2dsphere",
            IndexOrder::Geo2d => "2d",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str) -> Field<(), bson::DateTime> {
        Field::new(Path::root().child(name))
    }

    #[test]
    fn names_are_those_of_mongodb() {
        let index = IndexDeclaration::new()
            .asc(&field("title"))
            .desc(&field("year"))
            .hashed(&field("isbn"));
        assert_eq!(index.name(), "title_1_year_-1_isbn_hashed");
        assert_eq!(index.named("own").name(), "own");
    }

    #[test]
    fn only_what_was_declared_is_sent() {
        let plain = IndexDeclaration::new().text(&field("summary"));
        let expected = rawdoc! { "key": { "summary": "text" }, "name": "summary_text" };
        assert_eq!(plain.to_spec().unwrap(), expected);
        let seen = field("seen");
        let full = IndexDeclaration::new()
            .asc(&seen)
            .unique()
            .sparse()
            .expire_after(&seen, 60);
        let expected = rawdoc! {
            "key": { "seen": 1 }, "name": "seen_1", "unique": true, "sparse": true, "expireAfterSeconds": 60_i64,
        };
        assert_eq!(full.to_spec().unwrap(), expected);
    }

    #[test]
    fn the_plane_has_bounds_and_a_grain() {
        let place = Field::<(), [f64; 2]>::new(Path::root().child("place"));
        let index = IndexDeclaration::new().geo_2d(&place);
        let expected = rawdoc! { "key": { "place": "2d" }, "name": "place_2d" };
        assert_eq!(index.clone().to_spec().unwrap(), expected);
        let index = index.geo_2d_bounds(0.0, 100.0).geo_2d_bits(16);
        let expected = rawdoc! {
            "key": { "place": "2d" }, "name": "place_2d", "min": 0.0, "max": 100.0, "bits": 16,
        };
        assert_eq!(index.to_spec().unwrap(), expected);
    }
}
