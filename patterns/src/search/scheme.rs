//! What of a model is searched.

use std::any::TypeId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use odm::bson::{RawBsonRef, RawDocument};
use odm::{ArrayType, DerivedField, Field, Model, Text};

use super::analyzer::{Analyzer, Hash, Token};
use super::error::{Result, SearchError};
use super::keywords::KeywordsOf;

/// A model whose documents are searched by their words.
///
/// See the [module](super) for an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what of it is searched",
    label = "`Searchable` is not implemented",
    note = "write `impl Searchable for {Self}` with the fields of text, and give it a field `Keywords<{Self}>`"
)]
pub trait Searchable: Model {
    /// The field that holds the keywords, and the fields that they are of. Asked once in the life of a program.
    fn scheme(fields: Self::Fields<Self>) -> Scheme<Self>;
}

/// Which fields a model's keywords are of, how much each is worth, and how texts become terms.
#[derive(Debug)]
#[must_use]
pub struct Scheme<M> {
    resolved: Resolved,
    marker: std::marker::PhantomData<fn() -> M>,
}

impl<M: Searchable> Scheme<M> {
    /// Of the keywords in this field, made by this analyzer.
    pub fn new(keywords: DerivedField<M, KeywordsOf<M>>, analyzer: Analyzer) -> Scheme<M> {
        let field = keywords.path().to_string();
        Scheme {
            resolved: Resolved {
                failure: field.contains('.').then_some(SearchError::InvalidOption {
                    option: "keywords",
                    reason: "the keywords stand in the model itself",
                }),
                field,
                analyzer,
                sources: Vec::new(),
                max_terms: 20_000,
                id: String::new(),
            },
            marker: std::marker::PhantomData,
        }
    }

    /// The words of this field.
    pub fn text<T: Text>(self, field: Field<M, T>) -> Scheme<M> {
        self.weighted(field, 1.0)
    }

    /// The words of this field, each worth as much as so many in a field of weight 1. From 0.25 to 40.
    pub fn weighted<T: Text>(self, field: Field<M, T>, weight: f64) -> Scheme<M> {
        self.path(field.path().to_string(), weight)
    }

    /// The words of all texts in this array, each worth so much.
    pub fn list<T: ArrayType<Item: Text>>(self, field: Field<M, T>, weight: f64) -> Scheme<M> {
        self.path(field.path().to_string(), weight)
    }

    /// The words of all texts at a stored path, through arrays too: `"chapters.title"`.
    pub fn path(mut self, path: impl Into<String>, weight: f64) -> Scheme<M> {
        let path = path.into();
        if !(0.25..=40.0).contains(&weight) {
            self.resolved.failure = Some(SearchError::InvalidOption {
                option: "weight",
                reason: "a weight lies between 0.25 and 40",
            });
        }
        if self.resolved.sources.iter().any(|(known, _)| *known == path) {
            self.resolved.failure = Some(SearchError::InvalidOption {
                option: "fields",
                reason: "a field is named twice",
            });
        }
        self.resolved.sources.push((path, weight));
        self
    }

    /// How many different terms a document may have: what has more is refused. 20,000 unless said otherwise; a
    /// hundred thousand are two to three megabytes.
    pub fn max_terms(mut self, terms: usize) -> Scheme<M> {
        self.resolved.max_terms = terms;
        self
    }
}

/// A scheme that is ready.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The stored name of the field that holds the keywords.
    pub(super) field: String,
    pub(super) analyzer: Analyzer,
    /// The stored paths of the texts, with their weights.
    pub(super) sources: Vec<(String, f64)>,
    pub(super) max_terms: usize,
    /// The analyzer and the fields: another one when the terms would be others.
    pub(super) id: String,
    failure: Option<SearchError>,
}

/// The terms of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Terms {
    /// Each term's frequency: how often it stands there, by the weights of the fields.
    pub(super) frequencies: BTreeMap<String, f64>,
    /// The sum of all frequencies.
    pub(super) length: f64,
}

/// A text of a document, cut into words.
#[derive(Debug)]
pub(super) struct Passage<'d> {
    /// Which source it is of.
    pub(super) source: usize,
    pub(super) text: &'d str,
    pub(super) tokens: Vec<Token>,
}

impl Resolved {
    /// The scheme of a model, made at its first use and kept as long as the process.
    pub(super) fn of<M: Searchable>() -> &'static Resolved {
        static SCHEMES: Mutex<Option<HashMap<TypeId, &'static Resolved>>> = Mutex::new(None);
        let known = |schemes: &mut Option<HashMap<TypeId, &'static Resolved>>| {
            schemes.get_or_insert_default().get(&TypeId::of::<M>()).copied()
        };
        if let Some(known) = known(&mut SCHEMES.lock().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        // The user's code runs without the lock.
        let mut resolved = M::scheme(M::fields()).resolved;
        let mut details = Hash::new();
        for (path, weight) in &resolved.sources {
            details.add(path);
            details.add(&weight.to_bits().to_string());
        }
        resolved.id = format!("{}/{:08x}", resolved.analyzer.id(), details.short());
        if resolved.sources.is_empty() && resolved.failure.is_none() {
            resolved.failure = Some(SearchError::InvalidOption {
                option: "fields",
                reason: "there is no field to search",
            });
        }
        let mut schemes = SCHEMES.lock().unwrap_or_else(PoisonError::into_inner);
        let schemes = schemes.get_or_insert_default();
        schemes
            .entry(TypeId::of::<M>())
            .or_insert_with(|| Box::leak(Box::new(resolved)))
    }

    pub(super) fn check(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// The texts of a stored document, as words.
    pub(super) fn passages<'d>(&self, document: &'d RawDocument) -> Vec<Passage<'d>> {
        let mut passages = Vec::new();
        for (source, (path, _)) in self.sources.iter().enumerate() {
            texts(RawBsonRef::Document(document), path, &mut |text| {
                passages.push(Passage {
                    source,
                    text,
                    tokens: self.analyzer.tokens(text),
                });
            });
        }
        passages
    }

    /// The terms of a stored document.
    pub(super) fn terms(&self, document: &RawDocument) -> Result<Terms> {
        self.check()?;
        let mut terms = Terms::default();
        for passage in self.passages(document) {
            let weight = self.sources[passage.source].1;
            for token in passage.tokens {
                *terms.frequencies.entry(token.term).or_default() += weight;
                terms.length += weight;
            }
        }
        match terms.frequencies.len() <= self.max_terms {
            true => Ok(terms),
            false => Err(SearchError::TooManyTerms {
                terms: terms.frequencies.len(),
                limit: self.max_terms,
            }),
        }
    }
}

/// The texts at a path, through documents and arrays.
fn texts<'d>(value: RawBsonRef<'d>, path: &str, found: &mut impl FnMut(&'d str)) {
    match value {
        RawBsonRef::String(text) if path.is_empty() => found(text),
        RawBsonRef::Array(array) => {
            for element in array.into_iter().flatten() {
                texts(element, path, found);
            }
        }
        RawBsonRef::Document(document) if !path.is_empty() => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            if let Ok(Some(value)) = document.get(first) {
                texts(value, rest, found);
            }
        }
        _ => {}
    }
}
