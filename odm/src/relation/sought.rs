//! Which references are searched for: the keys that they hold, and where those lead that name their collection.

use std::collections::HashSet;

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf, rawdoc};

use super::comparing;
use super::fetch;
use super::identity::Identity;
use super::plan::name;
use super::stored::{elements, malformed};
use crate::backend::Namespace;
use crate::error::Result;

/// References to documents with some keys.
#[derive(Clone, Debug)]
pub(super) struct Sought {
    keys: RawArrayBuf,
    home: Option<Home>,
}

/// Where the documents are, of references that say so.
#[derive(Clone, Debug)]
pub(super) struct Home {
    collection: String,
    database: String,
    /// Whether references that name no database lead there.
    is_here: bool,
}

impl Sought {
    /// References that hold a key and nothing else.
    pub(super) fn by(keys: RawArrayBuf) -> Sought {
        Sought { keys, home: None }
    }

    /// References to documents of this collection, which `named` ones name.
    pub(super) fn to(keys: RawArrayBuf, named: bool, at: &Namespace) -> Sought {
        match named {
            true => Sought {
                keys,
                home: Some(Home::of(at)),
            },
            false => Sought::by(keys),
        }
    }

    /// References that name a collection of another database than the one in which they are stored.
    pub(super) fn away(keys: RawArrayBuf, collection: &str, database: &str) -> Sought {
        Sought {
            keys,
            home: Some(Home {
                collection: collection.to_owned(),
                database: database.to_owned(),
                is_here: false,
            }),
        }
    }

    pub(super) fn keys(&self) -> &RawArrayBuf {
        &self.keys
    }

    pub(super) fn is_named(&self) -> bool {
        self.home.is_some()
    }

    /// Whether a collation could take some of them for others.
    pub(super) fn hold_text(&self) -> bool {
        self.is_named() || comparing::hold_text(&self.keys)
    }

    /// The comparison of bytes, where it must be said for them.
    pub(super) fn collation(&self) -> Option<RawDocumentBuf> {
        self.hold_text().then(comparing::bytes)
    }

    /// The condition on a field that holds a reference; of a list of references that name their collection each part
    /// of it may be met by another element.
    pub(super) fn condition(&self, path: &str) -> Result<RawDocumentBuf> {
        let mut all = RawDocumentBuf::new();
        let among = rawdoc! { "$in": self.keys.clone() };
        match &self.home {
            None => all.append(name(path)?, among),
            Some(home) => {
                all.append(name(&format!("{path}.$id"))?, among);
                home.require(path, &mut all)?;
            }
        }
        Ok(all)
    }

    /// Whether the value of an expression is one of them, as an expression.
    pub(super) fn is(&self, value: &str) -> RawDocumentBuf {
        let keys = rawdoc! { "$literal": self.keys.clone() };
        let Some(home) = &self.home else {
            return rawdoc! { "$in": [value, keys] };
        };
        let database = rawdoc! { "$ifNull": [format!("{value}.$db"), RawBson::Null] };
        rawdoc! { "$and": [
            { "$eq": [format!("{value}.$ref"), { "$literal": home.collection.as_str() }] },
            { "$in": [database, { "$literal": home.databases() }] },
            { "$in": [format!("{value}.$id"), keys] },
        ] }
    }

    /// The same for values that were read.
    pub(super) fn chosen(&self) -> Result<Chosen<'_>> {
        Ok(Chosen {
            keys: fetch::wanted(&self.keys)?,
            home: self.home.as_ref(),
        })
    }
}

impl Home {
    /// A collection of the database in which the references are stored.
    pub(super) fn of(place: &Namespace) -> Home {
        Home {
            collection: place.collection.clone(),
            database: place.database.clone(),
            is_here: true,
        }
    }

    /// The condition on a field that holds a reference which leads there; of a list each part may be met by another one.
    pub(super) fn condition(&self, path: &str) -> Result<RawDocumentBuf> {
        let mut all = RawDocumentBuf::new();
        self.require(path, &mut all)?;
        Ok(all)
    }

    fn require(&self, path: &str, all: &mut RawDocumentBuf) -> Result<()> {
        all.append(name(&format!("{path}.$ref"))?, self.collection.as_str());
        let databases = rawdoc! { "$in": self.databases() };
        all.append(name(&format!("{path}.$db"))?, databases);
        Ok(())
    }

    fn databases(&self) -> RawArrayBuf {
        let mut databases = RawArrayBuf::new();
        if self.is_here {
            databases.push(RawBson::Null);
        }
        databases.push(self.database.as_str());
        databases
    }
}

/// What values that were read are held against.
pub(super) struct Chosen<'a> {
    keys: HashSet<Identity>,
    home: Option<&'a Home>,
}

impl Chosen<'_> {
    /// Whether a stored value is one of the references, or an array that holds one.
    pub(super) fn meet(&self, value: RawBsonRef<'_>) -> Result<bool> {
        if let RawBsonRef::Array(array) = value {
            let mut any = false;
            elements(array, &mut |element| {
                any = any || self.meet(element)?;
                Ok(())
            })?;
            return Ok(any);
        }
        let Some(home) = self.home else {
            return Ok(self.keys.contains(&Identity::of(value)));
        };
        let RawBsonRef::Document(document) = value else {
            return Ok(false);
        };
        let text = |field: &str| -> Result<_> {
            let value = document.get(field).map_err(malformed)?;
            Ok(value.filter(|value| !matches!(value, RawBsonRef::Null)))
        };
        let leads_there = text("$ref")?.and_then(|name| name.as_str()) == Some(home.collection.as_str())
            && match text("$db")? {
                None => home.is_here,
                Some(name) => name.as_str() == Some(home.database.as_str()),
            };
        let key = document.get("$id").map_err(malformed)?;
        Ok(leads_there && key.is_some_and(|key| self.keys.contains(&Identity::of(key))))
    }
}
