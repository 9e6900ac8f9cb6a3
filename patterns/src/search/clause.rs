//! Queries whose words have become terms.

use std::collections::{BTreeMap, HashSet};

use odm::bson::{Document, doc};

use super::analyzer::Analyzer;
use super::error::{Result, SearchError};
use super::query::{Node, Query};
use super::scheme::Passage;
use super::synonyms::AnalyzedSynonyms;

/// How many different terms a query may have.
pub(super) const MAX_TERMS: usize = 256;
/// How long the texts of a query may be, in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// How deep a query may be nested.
const MAX_DEPTH: usize = 32;

/// A condition on the terms of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Clause {
    /// One of these terms.
    Terms(Vec<String>),
    /// A term that begins so.
    Prefix(String),
    /// These terms, so many words behind the first.
    Phrase(Vec<(String, usize)>),
    All(Vec<Clause>),
    Any(Vec<Clause>),
    Not(Box<Clause>),
}

/// A query, ready for documents that one analyzer made the terms of.
#[derive(Clone, Debug, Default)]
pub(super) struct Compiled {
    /// What documents must meet; nothing where nothing is searched for.
    pub(super) clause: Option<Clause>,
    /// How much each term counts for the order.
    pub(super) worth: BTreeMap<String, f64>,
    /// The beginnings, with what they count.
    pub(super) prefixes: Vec<(String, f64)>,
    /// What is looked for in the texts, to show where it stands.
    pub(super) leaves: Vec<Clause>,
}

impl Compiled {
    pub(super) fn new(query: &Query, analyzer: &Analyzer, synonyms: &AnalyzedSynonyms) -> Result<Compiled> {
        let mut compiler = Compiler {
            analyzer,
            synonyms,
            bytes: 0,
            found: Compiled::default(),
        };
        let clause = compiler.clause(&query.0, Some(1.0), 0)?;
        let found = compiler.found;
        if clause.as_ref().is_some_and(|clause| !clause.is_bounded()) {
            return Err(SearchError::OnlyExcluded);
        }
        let terms = found.worth.len() + found.prefixes.len();
        if terms > MAX_TERMS {
            let limit = MAX_TERMS;
            return Err(SearchError::TooManyTerms { terms, limit });
        }
        Ok(Compiled { clause, ..found })
    }
}

struct Compiler<'a> {
    analyzer: &'a Analyzer,
    synonyms: &'a AnalyzedSynonyms,
    bytes: usize,
    found: Compiled,
}

impl Compiler<'_> {
    /// `factor` is what it counts for the order, nothing for what is not wanted.
    fn clause(&mut self, node: &Node, factor: Option<f64>, depth: usize) -> Result<Option<Clause>> {
        if depth > MAX_DEPTH {
            return Err(SearchError::TooDeep { limit: MAX_DEPTH });
        }
        let clause = match node {
            Node::Words(text) => {
                self.measure(text)?;
                let tokens = self.analyzer.tokens(text);
                let clauses = tokens.into_iter().map(|token| self.term(token.term, factor));
                joined(clauses.collect(), Clause::All)
            }
            Node::Prefix(text) => {
                self.measure(text)?;
                let (whole, beginning) = self.analyzer.beginning(text);
                let mut clauses: Vec<Clause> =
                    whole.into_iter().map(|term| self.term(term, factor)).collect();
                if let Some(beginning) = beginning {
                    if let Some(factor) = factor {
                        self.found.prefixes.push((beginning.clone(), factor));
                    }
                    clauses.push(Clause::Prefix(beginning));
                }
                joined(clauses, Clause::All)
            }
            Node::Phrase(text) => {
                self.measure(text)?;
                let tokens = self.analyzer.tokens(text);
                let first = tokens.first().map_or(0, |token| token.position);
                let steps: Vec<(String, usize)> = tokens
                    .into_iter()
                    .map(|token| (token.term, token.position - first))
                    .collect();
                for (term, _) in &steps {
                    self.count(term, factor);
                }
                match steps.len() {
                    0 => None,
                    1 => Some(Clause::Terms(steps.into_iter().map(|(term, _)| term).collect())),
                    _ => Some(Clause::Phrase(steps)),
                }
            }
            Node::All(nodes) => joined(self.clauses(nodes, factor, depth)?, Clause::All),
            Node::Any(nodes) => joined(self.clauses(nodes, factor, depth)?, Clause::Any),
            Node::Rather(with, any) => {
                let mut with = self.clauses(with, factor, depth)?;
                let any = joined(self.clauses(any, factor, depth)?, Clause::Any);
                // Where the words that must be there say nothing, the others have to.
                if !with.iter().any(Clause::is_bounded) {
                    with.extend(any);
                }
                joined(with, Clause::All)
            }
            Node::Not(node) => {
                let clause = self.clause(node, None, depth + 1)?;
                clause.map(|clause| Clause::Not(Box::new(clause)))
            }
            Node::Worth(node, by) => {
                if !by.is_finite() || *by < 0.0 {
                    return Err(SearchError::InvalidOption {
                        option: "worth",
                        reason: "what a query is worth is a number from 0 on",
                    });
                }
                self.clause(node, factor.map(|factor| factor * by), depth + 1)?
            }
        };
        if let (Node::Words(_) | Node::Prefix(_) | Node::Phrase(_), Some(_), Some(leaf)) =
            (node, factor, &clause)
        {
            self.found.leaves.push(leaf.clone());
        }
        Ok(clause)
    }

    fn clauses(&mut self, nodes: &[Node], factor: Option<f64>, depth: usize) -> Result<Vec<Clause>> {
        let mut clauses = Vec::new();
        for node in nodes {
            clauses.extend(self.clause(node, factor, depth + 1)?);
        }
        Ok(clauses)
    }

    fn term(&mut self, term: String, factor: Option<f64>) -> Clause {
        self.count(&term, factor);
        let mut terms = vec![term];
        for other in self.synonyms.of(&terms[0]) {
            self.count(other, factor.map(|factor| factor * self.synonyms.factor));
            terms.push(other.clone());
        }
        Clause::Terms(terms)
    }

    fn count(&mut self, term: &str, factor: Option<f64>) {
        if let Some(factor) = factor {
            *self.found.worth.entry(term.to_owned()).or_default() += factor;
        }
    }

    fn measure(&mut self, text: &str) -> Result<()> {
        self.bytes += text.len();
        match self.bytes <= MAX_BYTES {
            true => Ok(()),
            false => Err(SearchError::QueryTooLong {
                bytes: self.bytes,
                limit: MAX_BYTES,
            }),
        }
    }
}

/// None of none, one as it is.
fn joined(mut clauses: Vec<Clause>, join: impl FnOnce(Vec<Clause>) -> Clause) -> Option<Clause> {
    match clauses.len() {
        0 | 1 => clauses.pop(),
        _ => Some(join(clauses)),
    }
}

impl Clause {
    /// Whether an index finds the documents.
    fn is_bounded(&self) -> bool {
        match self {
            Clause::Terms(_) | Clause::Prefix(_) | Clause::Phrase(_) => true,
            Clause::All(clauses) => clauses.iter().any(Clause::is_bounded),
            Clause::Any(clauses) => clauses.iter().all(Clause::is_bounded),
            Clause::Not(_) => false,
        }
    }

    /// Whether the terms alone do not tell.
    pub(super) fn has_phrase(&self) -> bool {
        match self {
            Clause::Terms(_) | Clause::Prefix(_) => false,
            Clause::Phrase(_) => true,
            Clause::All(clauses) | Clause::Any(clauses) => clauses.iter().any(Clause::has_phrase),
            Clause::Not(clause) => clause.has_phrase(),
        }
    }

    /// The terms, where any of them is enough.
    pub(super) fn any_of(&self) -> Option<Vec<&str>> {
        match self {
            Clause::Terms(terms) => Some(terms.iter().map(String::as_str).collect()),
            Clause::Any(clauses) => {
                let all: Option<Vec<Vec<&str>>> = clauses.iter().map(Clause::any_of).collect();
                Some(all?.concat())
            }
            _ => None,
        }
    }

    /// Terms of which each document that meets it has one at least: those that are rarest by `count`, where there is a
    /// choice. `None` where no terms are known to be needed.
    pub(super) fn cover(&self, count: &dyn Fn(&str) -> f64) -> Option<Vec<&str>> {
        let size = |terms: &[&str]| terms.iter().map(|term| count(term)).sum::<f64>();
        match self {
            Clause::Terms(terms) => Some(terms.iter().map(String::as_str).collect()),
            Clause::Any(clauses) => {
                let all: Option<Vec<Vec<&str>>> = clauses.iter().map(|clause| clause.cover(count)).collect();
                Some(all?.concat())
            }
            Clause::All(clauses) => {
                let covers = clauses.iter().filter_map(|clause| clause.cover(count));
                covers.min_by(|a, b| size(a).total_cmp(&size(b)))
            }
            // Searches with phrases read all that may hold them.
            Clause::Phrase(_) | Clause::Prefix(_) | Clause::Not(_) => None,
        }
    }

    /// The filter of the documents that meet it, or may where there are phrases. What is rarest by `count` comes first,
    /// because the index is asked for that.
    pub(super) fn filter(&self, path: &str, count: &dyn Fn(&str) -> f64) -> Document {
        match self {
            Clause::Terms(terms) => among(path, terms),
            Clause::Prefix(beginning) => {
                let end = format!("{beginning}{}", char::MAX);
                doc! { path: { "$elemMatch": { "$gte": beginning, "$lt": end } } }
            }
            Clause::Phrase(steps) => {
                let mut terms: Vec<&String> = steps.iter().map(|(term, _)| term).collect();
                terms.sort_by(|a, b| count(a).total_cmp(&count(b)).then(a.cmp(b)));
                terms.dedup();
                doc! { "$and": terms.into_iter().map(|term| doc! { path: term }).collect::<Vec<_>>() }
            }
            Clause::All(clauses) => {
                let (mut wanted, unwanted): (Vec<&Clause>, Vec<&Clause>) = clauses
                    .iter()
                    .partition(|clause| !matches!(clause, Clause::Not(_)));
                wanted.sort_by(|a, b| a.size(count).total_cmp(&b.size(count)));
                let all = wanted.into_iter().chain(unwanted);
                doc! { "$and": all.map(|clause| clause.filter(path, count)).collect::<Vec<_>>() }
            }
            Clause::Any(clauses) => match self.any_of() {
                Some(terms) => among(path, &terms),
                None => {
                    doc! { "$or": clauses.iter().map(|clause| clause.filter(path, count)).collect::<Vec<_>>() }
                }
            },
            // What only may hold a phrase is not excluded for it.
            Clause::Not(clause) if clause.has_phrase() => Document::new(),
            Clause::Not(clause) => doc! { "$nor": [clause.filter(path, count)] },
        }
    }

    /// About how many documents there are.
    fn size(&self, count: &dyn Fn(&str) -> f64) -> f64 {
        match self {
            Clause::Terms(terms) => terms.iter().map(|term| count(term)).sum(),
            Clause::Prefix(_) => f64::MAX,
            Clause::Phrase(steps) => steps.iter().map(|(term, _)| count(term)).fold(f64::MAX, f64::min),
            Clause::All(clauses) => clauses
                .iter()
                .map(|clause| clause.size(count))
                .fold(f64::MAX, f64::min),
            Clause::Any(clauses) => clauses.iter().map(|clause| clause.size(count)).sum(),
            Clause::Not(_) => f64::MAX,
        }
    }

    /// Whether the texts of a document meet it.
    pub(super) fn holds(&self, passages: &[Passage<'_>], terms: &HashSet<&str>) -> bool {
        match self {
            Clause::Terms(any) => any.iter().any(|term| terms.contains(term.as_str())),
            Clause::Prefix(beginning) => terms.iter().any(|term| term.starts_with(beginning.as_str())),
            Clause::Phrase(steps) => passages.iter().any(|passage| !places(steps, passage).is_empty()),
            Clause::All(clauses) => clauses.iter().all(|clause| clause.holds(passages, terms)),
            Clause::Any(clauses) => clauses.iter().any(|clause| clause.holds(passages, terms)),
            Clause::Not(clause) => !clause.holds(passages, terms),
        }
    }

    /// The tokens of a passage that it is met by; none for what is not wanted.
    pub(super) fn marks(&self, passage: &Passage<'_>, found: &mut Vec<usize>) {
        let mut each = |is: &dyn Fn(&str) -> bool| {
            let tokens = passage.tokens.iter().enumerate();
            found.extend(
                tokens
                    .filter(|(_, token)| is(&token.term))
                    .map(|(index, _)| index),
            );
        };
        match self {
            Clause::Terms(terms) => each(&|term| terms.iter().any(|wanted| wanted == term)),
            Clause::Prefix(beginning) => each(&|term| term.starts_with(beginning.as_str())),
            Clause::Phrase(steps) => found.extend(places(steps, passage).into_iter().flatten()),
            Clause::All(clauses) | Clause::Any(clauses) => {
                for clause in clauses {
                    clause.marks(passage, found);
                }
            }
            Clause::Not(_) => {}
        }
    }
}

fn among<T: AsRef<str>>(path: &str, terms: &[T]) -> Document {
    match terms {
        [term] => doc! { path: term.as_ref() },
        terms => {
            let terms: Vec<&str> = terms.iter().map(AsRef::as_ref).collect();
            doc! { path: { "$in": terms } }
        }
    }
}

/// Where the phrase stands: for each time the tokens.
fn places(steps: &[(String, usize)], passage: &Passage<'_>) -> Vec<Vec<usize>> {
    let at: BTreeMap<usize, usize> = passage
        .tokens
        .iter()
        .enumerate()
        .map(|(index, token)| (token.position, index))
        .collect();
    let Some((first, _)) = steps.first() else {
        return Vec::new();
    };
    let starts = passage.tokens.iter().filter(|token| token.term == *first);
    let found = starts.map(|start| {
        let step = |(term, offset): &(String, usize)| {
            let index = *at.get(&(start.position + offset))?;
            (passage.tokens[index].term == *term).then_some(index)
        };
        steps.iter().map(step).collect::<Option<Vec<usize>>>()
    });
    found.flatten().collect()
}
