//! The stored keywords of a document.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::{DateTime, RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, cstr};
use odm::{Derivation, Derived, Field, IndexDeclaration, Path};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::scheme::{Resolved, Searchable, Terms};
use super::weight::quantized;

/// The field of a model that holds the keywords of its documents. A document made by the program has
/// `Keywords::default()`; the keywords are made by every write.
///
/// It is not read into memory: a model with thousands of keywords costs no more than one without.
pub type Keywords<M> = Derived<KeywordsOf<M>>;

/// How keywords are made: see [`Keywords`].
pub struct KeywordsOf<M>(PhantomData<fn() -> M>);

/// What is read of the keywords: that they are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Present;

/// The field with the name of the scheme.
pub(super) const SCHEME: &str = "v";
/// The field with the time at which the keywords were made.
pub(super) const MADE: &str = "at";
/// The field with the length of the texts.
pub(super) const LENGTH: &str = "n";
/// The field with the terms.
pub(super) const TERMS: &str = "t";
/// The field with the weight of each term.
pub(super) const WEIGHTS: &str = "w";

impl<M: Searchable> Derivation for KeywordsOf<M> {
    type Value = Present;

    fn sources() -> Vec<String> {
        let sources = Resolved::of::<M>().sources.iter();
        sources.map(|(path, _)| path.clone()).collect()
    }

    fn derive(document: &RawDocument, now: DateTime) -> odm::Result<RawBson> {
        let scheme = Resolved::of::<M>();
        let terms = scheme.terms(document)?;
        Ok(RawBson::Document(encoded(&scheme.id, &terms, now)))
    }

    fn indexes(field: &Path) -> Vec<IndexDeclaration> {
        let part = |name| Field::<M, ()>::new(field.child(name));
        vec![
            IndexDeclaration::new().asc(&part(TERMS)),
            IndexDeclaration::new().asc(&part(SCHEME)).asc(&part(MADE)),
        ]
    }
}

/// Terms as they are stored.
pub(super) fn encoded(scheme: &str, terms: &Terms, now: DateTime) -> RawDocumentBuf {
    let (mut names, mut weights) = (RawArrayBuf::new(), RawArrayBuf::new());
    for (term, frequency) in &terms.frequencies {
        names.push(term.as_str());
        weights.push(quantized(*frequency));
    }
    let mut keywords = RawDocumentBuf::new();
    keywords.append(cstr!("v"), scheme);
    keywords.append(cstr!("at"), now);
    keywords.append(cstr!("n"), terms.length);
    keywords.append(cstr!("t"), names);
    keywords.append(cstr!("w"), weights);
    keywords
}

impl<M> fmt::Debug for KeywordsOf<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeywordsOf")
    }
}

impl Serialize for Present {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }
}

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Present)
    }
}
