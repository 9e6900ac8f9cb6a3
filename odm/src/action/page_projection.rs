//! What pages read beyond their projection, and leave out of what they give.

use std::borrow::Cow;

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::is_within;
use crate::query::Keyset;
use crate::relation::with_needed;

/// The fields of the order that a projection leaves out: they make the tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Added {
    paths: Vec<String>,
    /// The paths that are wanted.
    shown: Vec<String>,
}

impl Added {
    /// Adds the fields of the order to the projection; they are taken out again.
    pub(super) fn to(projection: &mut Option<RawDocumentBuf>, keyset: &Keyset) -> Result<Added> {
        let Some(own) = projection.take() else {
            return Ok(Added::default());
        };
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        for (name, value) in own.iter().flatten() {
            let is_hidden = matches!(value.as_i32(), Some(0))
                || matches!(value.as_i64(), Some(0))
                || matches!(value.as_f64(), Some(0.0))
                || value.as_bool() == Some(false);
            match is_hidden {
                true => hidden.push(name.as_str().to_owned()),
                false => shown.push(name.as_str().to_owned()),
            }
        }
        let hides = |path: &str| hidden.iter().any(|name| is_within(path, name));
        if hidden.iter().any(|name| name != "_id") {
            if let Some(path) = keyset.paths().find(|path| hides(path)) {
                let message = "the projection leaves out a field of the page's sort";
                return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(path));
            }
            *projection = Some(own);
            return Ok(Added::default());
        }
        let shows = |path: &str| shown.iter().any(|name| is_within(path, name));
        let needed: Vec<String> = keyset
            .paths()
            .filter(|path| !shows(path))
            .map(str::to_owned)
            .collect();
        let hides_id = hides("_id");
        if shown.is_empty() && hides_id {
            // All but the `_id`.
            return Ok(Added {
                paths: vec!["_id".to_owned()],
                shown,
            });
        }
        *projection = with_needed(Some(own), &needed)?;
        let paths = needed.into_iter().filter(|path| path != "_id" || hides_id);
        Ok(Added {
            paths: paths.collect(),
            shown,
        })
    }

    /// The document as the projection wants it.
    pub(super) fn without<'d>(&self, document: &'d RawDocument) -> Cow<'d, RawDocument> {
        match self.paths.is_empty() {
            true => Cow::Borrowed(document),
            false => Cow::Owned(self.left(document, "")),
        }
    }

    /// What is wanted of the document at this path.
    fn left(&self, document: &RawDocument, at: &str) -> RawDocumentBuf {
        let mut left = RawDocumentBuf::new();
        for (name, value) in document.iter().flatten() {
            let path = match at {
                "" => name.as_str().to_owned(),
                at => format!("{at}.{}", name.as_str()),
            };
            let is_wanted = self.shown.iter().any(|shown| is_within(&path, shown));
            let leads_to = |paths: &[String]| paths.iter().any(|other| is_within(other, &path));
            match (leads_to(&self.paths), leads_to(&self.shown)) {
                (true, true) if !is_wanted => left.append(name, self.left_of(value, &path)),
                (true, false) if !is_wanted => {}
                _ => left.append(name, value),
            }
        }
        left
    }

    fn left_of(&self, value: RawBsonRef<'_>, path: &str) -> RawBson {
        match value {
            RawBsonRef::Document(inner) => self.left(inner, path).into(),
            RawBsonRef::Array(items) => {
                let items = items.into_iter().flatten();
                let left: RawArrayBuf = items.map(|item| self.left_of(item, path)).collect();
                left.into()
            }
            value => value.into(),
        }
    }
}
