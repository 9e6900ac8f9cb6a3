//! Where in the texts the words stand.

use std::ops::Range;

use super::analyzer::Analyzer;
use super::clause::{Clause, Compiled};
use super::error::Result;
use super::query::Query;
use super::scheme::{Passage, Resolved};
use super::synonyms::AnalyzedSynonyms;

/// A text of a document in which words of a query stand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Highlight {
    /// The stored path of the text.
    pub field: String,
    /// The text as it is stored.
    pub text: String,
    /// Where the words stand, in bytes, in order.
    pub ranges: Vec<Range<usize>>,
}

impl Highlight {
    /// The text with something before and behind each word. Nothing of the text is escaped.
    pub fn marked(&self, before: &str, behind: &str) -> String {
        marked(&self.text, &self.ranges, before, behind)
    }

    /// About so many letters of the text around where most of the words stand close together, cut between words, with
    /// its own ranges.
    ///
    /// ```
    /// # use odm_patterns::search::{Analyzer, Query, highlight};
    /// let text = "Call me Ishmael. Some years ago, never mind how long precisely, I thought I would sail about.";
    /// let highlight = highlight(&Analyzer::new(), &Query::parse("sail years"), text)?.unwrap();
    /// assert_eq!(highlight.excerpt(24).marked("[", "]"), "Some [years] ago,");
    /// # Ok::<(), odm_patterns::search::SearchError>(())
    /// ```
    pub fn excerpt(&self, letters: usize) -> Highlight {
        let text = self.text.as_str();
        let ends: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        if ends.len() <= letters.saturating_add(1) || self.ranges.is_empty() {
            return self.clone();
        }
        let letter_of = |at: usize| ends.partition_point(|end| *end < at);
        // The window that holds the most words, each tried as its first.
        let mut best = (0, 0..0);
        for (index, range) in self.ranges.iter().enumerate() {
            let from = letter_of(range.start);
            let last = self.ranges[index..]
                .iter()
                .take_while(|other| letter_of(other.end) <= from.saturating_add(letters))
                .last()
                .unwrap_or(range);
            let held = self.ranges[index..]
                .iter()
                .filter(|other| other.end <= last.end)
                .count();
            if held > best.0 {
                best = (held, from..letter_of(last.end));
            }
        }
        let spare = letters.saturating_sub(best.1.len()) / 2;
        let from = best.1.start.saturating_sub(spare);
        let to = from.saturating_add(letters.max(best.1.len())).min(ends.len() - 1);
        let from = from.min(to.saturating_sub(letters.max(best.1.len())));
        let (mut start, mut end) = (ends[from], ends[to]);
        if start > 0
            && let Some(space) = text[start..].find(char::is_whitespace)
        {
            let next = start + space;
            if next < ends[best.1.start] {
                start = next;
            }
        }
        if end < text.len()
            && let Some(space) = text[..end].rfind(char::is_whitespace)
            && space >= ends[best.1.end]
        {
            end = space;
        }
        let cut = &text[start..end];
        start += cut.len() - cut.trim_start().len();
        let cut = cut.trim();
        let end = start + cut.len();
        let inside = self
            .ranges
            .iter()
            .filter(|range| range.start >= start && range.end <= end);
        Highlight {
            field: self.field.clone(),
            text: cut.to_owned(),
            ranges: inside
                .map(|range| range.start - start..range.end - start)
                .collect(),
        }
    }
}

fn marked(text: &str, ranges: &[Range<usize>], before: &str, behind: &str) -> String {
    let mut marked = String::with_capacity(text.len() + ranges.len() * (before.len() + behind.len()));
    let mut done = 0;
    for range in ranges {
        marked.push_str(&text[done..range.start]);
        marked.push_str(before);
        marked.push_str(&text[range.clone()]);
        marked.push_str(behind);
        done = range.end;
    }
    marked.push_str(&text[done..]);
    marked
}

/// The highlights of a document's texts.
pub(super) fn highlights(scheme: &Resolved, clauses: &[Clause], passages: &[Passage<'_>]) -> Vec<Highlight> {
    let found = passages.iter().filter_map(|passage| {
        let field = scheme
            .sources
            .get(passage.source)
            .map_or("", |(path, _)| path.as_str());
        of(clauses, passage, field)
    });
    found.collect()
}

/// The highlight of a text; none where no word stands in it.
pub(super) fn of(clauses: &[Clause], passage: &Passage<'_>, field: &str) -> Option<Highlight> {
    let mut tokens = Vec::new();
    for clause in clauses {
        clause.marks(passage, &mut tokens);
    }
    tokens.sort_unstable();
    tokens.dedup();
    (!tokens.is_empty()).then(|| Highlight {
        field: field.to_owned(),
        text: passage.text.to_owned(),
        ranges: tokens
            .iter()
            .map(|index| passage.tokens[*index].range.clone())
            .collect(),
    })
}

/// Where the words of a query stand in any text; `None` where none does.
///
/// # Errors
/// As a search of the query.
pub fn highlight(analyzer: &Analyzer, query: &Query, text: &str) -> Result<Option<Highlight>> {
    let compiled = Compiled::new(query, analyzer, &AnalyzedSynonyms::default())?;
    let passage = Passage {
        source: 0,
        text,
        tokens: analyzer.tokens(text),
    };
    Ok(of(&compiled.leaves, &passage, ""))
}
