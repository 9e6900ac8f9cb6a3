//! What a text index says about texts: which fields, how much each counts, in which language.

use std::collections::{BTreeMap, BTreeSet};

use super::super::document::{Doc, Value};
use super::super::fault::{Fault, Result};
use super::language::Language;
use super::term::{Sensitive, terms};

/// The name that stands for every field.
pub(crate) const WILDCARD: &str = "$**";

/// Weights are below this.
pub(crate) const MAX_WEIGHT: f64 = 100_000.0;

/// How many terms a document may have, and how long they may be together, in bytes.
const MOST_TERMS: usize = 400_000;
const MOST_BYTES: usize = 4 << 20;

/// A text index as far as it is about texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextSpec {
    /// By path, the wildcard not among them.
    pub(crate) weights: BTreeMap<String, f64>,
    /// Whether every string counts.
    pub(crate) wildcard: bool,
    pub(crate) language: Language,
    /// The field by which a document names its own language.
    pub(crate) override_field: String,
}

/// A text of a document: itself, its language, how much it counts.
type Visit<'v> = &'v mut dyn FnMut(&str, Language, f64) -> Result<()>;

/// How often a term was met in one text.
struct Frequency {
    count: f64,
    /// Each further time adds half of what the time before added.
    sum: f64,
    next: f64,
}

impl Default for Frequency {
    fn default() -> Frequency {
        Frequency {
            count: 0.0,
            sum: 0.0,
            next: 1.0,
        }
    }
}

impl Frequency {
    fn meet(&mut self) {
        self.count += 1.0;
        self.sum += self.next;
        self.next /= 2.0;
    }

    /// What the term counts in the text, of so many words.
    fn score(&self, weight: f64, term: &str, text: &str, words: f64) -> f64 {
        let share = 0.5 * self.count / words + 0.5;
        let whole = if text.eq_ignore_ascii_case(term) { 1.1 } else { 1.0 };
        weight * self.sum * share * whole
    }
}

impl TextSpec {
    /// The names of a document's own fields on which its terms depend; none when they may depend on any.
    pub(crate) fn roots(&self) -> Option<Vec<String>> {
        let texts = self.weights.keys().filter_map(|path| path.split('.').next());
        let languages = std::iter::once(self.override_field.as_str());
        (!self.wildcard).then(|| texts.chain(languages).map(str::to_owned).collect())
    }

    /// Visits the texts of a document.
    ///
    /// # Errors
    /// 17261 for a language that is not a string, 17262 for one that the server does not know.
    pub(crate) fn texts(&self, doc: Doc<'_>, visit: Visit<'_>) -> Result<()> {
        let language = self.language_of(doc, self.language)?;
        self.walk(doc, "", false, language, visit)
    }

    /// The terms of a document with their scores.
    ///
    /// # Errors
    /// Those of [`TextSpec::texts`]; 16732 and 16733 for too many terms.
    pub(crate) fn scores(&self, doc: Doc<'_>) -> Result<BTreeMap<String, f64>> {
        let mut scores = BTreeMap::<String, f64>::new();
        self.texts(doc, &mut |text, language, weight| {
            let mut found = BTreeMap::<String, Frequency>::new();
            let mut words = 0.0;
            terms(text, language, Sensitive::default(), &mut |term| {
                words += 1.0;
                match found.get_mut(term) {
                    Some(frequency) => frequency.meet(),
                    None => found.entry(term.to_owned()).or_default().meet(),
                }
            });
            for (term, frequency) in found {
                let score = frequency.score(weight, &term, text, words);
                *scores.entry(term).or_default() += score;
            }
            Ok(())
        })?;
        if scores.len() > MOST_TERMS {
            return Err(Fault::new(
                16732,
                format!("too many unique keys for a single document to have text index, max = {MOST_TERMS}"),
            ));
        }
        if scores.keys().map(String::len).sum::<usize>() > MOST_BYTES {
            return Err(Fault::new(
                16733,
                format!(
                    "trying to index text where term list is too big, max = {}mb",
                    MOST_BYTES >> 20
                ),
            ));
        }
        Ok(scores)
    }

    /// The scores of a document for some terms, in their order; none where it does not have one.
    ///
    /// # Errors
    /// Those of [`TextSpec::texts`].
    pub(crate) fn scores_of(&self, doc: Doc<'_>, asked: &BTreeSet<String>) -> Result<Vec<Option<f64>>> {
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        let mut scores = vec![None; asked.len()];
        let mut found = Vec::new();
        self.texts(doc, &mut |text, language, weight| {
            found.clear();
            found.resize_with(asked.len(), Frequency::default);
            let mut words = 0.0;
            terms(text, language, Sensitive::default(), &mut |term| {
                words += 1.0;
                if let Ok(at) = asked.binary_search(&term) {
                    found[at].meet();
                }
            });
            for ((term, frequency), score) in asked.iter().zip(&found).zip(&mut scores) {
                if frequency.count > 0.0 {
                    *score.get_or_insert(0.0) += frequency.score(weight, term, text, words);
                }
            }
            Ok(())
        })?;
        Ok(scores)
    }

    fn language_of(&self, doc: Doc<'_>, otherwise: Language) -> Result<Language> {
        match doc.get(&self.override_field) {
            None => Ok(otherwise),
            Some(Value::String(name)) => Language::parse(name)
                .ok_or_else(|| Fault::new(17262, format!("language override unsupported: {name}"))),
            Some(_) => Err(Fault::new(
                17261,
                "found language override field in document with non-string type",
            )),
        }
    }

    /// Nested as deep as documents are, so that a level takes little of the stack.
    fn walk(
        &self,
        doc: Doc<'_>,
        path: &str,
        in_array: bool,
        language: Language,
        visit: Visit<'_>,
    ) -> Result<()> {
        for element in doc.elements() {
            let name = element.name_str();
            if self.wildcard && !in_array && name == self.override_field {
                continue;
            }
            let path = joined(path, name, in_array);
            let exact = self.weights.get(&path).copied();
            if !self.wildcard && exact.is_none() && !self.leads_on(&path) {
                continue;
            }
            match element.value() {
                Value::String(text) => {
                    if let Some(weight) = exact.or(self.wildcard.then_some(1.0)) {
                        visit(text, language, weight)?;
                    }
                }
                Value::Document(inner) if self.wildcard || self.leads_on(&path) => {
                    let language = self.language_of(inner, language)?;
                    self.walk(inner, &path, false, language, visit)?;
                }
                Value::Array(inner) if self.wildcard || !in_array => {
                    self.walk(inner, &path, true, language, visit)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether an indexed field lies below a path.
    fn leads_on(&self, path: &str) -> bool {
        self.weights
            .range::<str, _>((std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded))
            .take_while(|(own, _)| own.starts_with(path))
            .any(|(own, _)| own.as_bytes().get(path.len()) == Some(&b'.'))
    }
}

fn joined(path: &str, name: &str, in_array: bool) -> String {
    match (path, in_array) {
        ("", _) => name.to_owned(),
        (_, true) => path.to_owned(),
        (_, false) => format!("{path}.{name}"),
    }
}
