//! What `$text` asks for, and whether a document has it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::document::{Doc, Kind, Value};
use super::super::fault::{Fault, Result, code};
use super::language::Language;
use super::spec::TextSpec;
use super::term::{Sensitive, all_terms, folded, separates, terms, visit_term};

/// A `$text` as it was given.
#[derive(Clone, Debug)]
pub(crate) struct TextQuery {
    text: String,
    /// `None`: the language of the index.
    language: Option<Language>,
    sensitive: Sensitive,
}

/// A `$text` with the index that answers it.
#[derive(Clone, Debug)]
pub(crate) struct TextSearch {
    spec: Arc<TextSpec>,
    language: Language,
    sensitive: Sensitive,
    text: String,
    /// As the index has them: case and accents do not count.
    terms: BTreeSet<String>,
    positive: BTreeSet<String>,
    negated: BTreeSet<String>,
    phrases: Vec<String>,
    negated_phrases: Vec<String>,
}

impl TextQuery {
    /// What is searched for.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The language, and whether case and accents count.
    pub(crate) fn settings(&self) -> (&'static str, bool, bool) {
        let language = self.language.unwrap_or(Language::English);
        (language.name(), self.sensitive.case, self.sensitive.accents)
    }

    /// Parses the operand of `$text`.
    ///
    /// # Errors
    /// 2, 4 and 14, as on the server.
    pub(crate) fn parse(value: &Value<'_>) -> Result<TextQuery> {
        let bad = |message| Fault::new(code::BAD_VALUE, message);
        let Value::Document(doc) = *value else {
            return Err(bad("$text expects an object".to_owned()));
        };
        let Some(text) = field(doc, "$search", Kind::String)? else {
            return Err(Fault::new(4, "Missing expected field \"$search\""));
        };
        let language = match field(doc, "$language", Kind::String)?.and_then(|name| name.as_str()) {
            None | Some("") => None,
            Some(name) => Some(Language::parse(name).ok_or_else(|| {
                bad(format!(
                    "unsupported language: \"{name}\" for text index version 3"
                ))
            })?),
        };
        let flag = |name| Ok::<_, Fault>(matches!(field(doc, name, Kind::Bool)?, Some(Value::Bool(true))));
        let sensitive = Sensitive {
            case: flag("$caseSensitive")?,
            accents: flag("$diacriticSensitive")?,
        };
        let known = ["$search", "$language", "$caseSensitive", "$diacriticSensitive"];
        if doc.elements().any(|element| !known.contains(&element.name_str())) {
            return Err(bad("extra fields in $text".to_owned()));
        }
        let text = text.as_str().unwrap_or_default();
        Ok(TextQuery {
            // A search ends at a NUL.
            text: text.split('\0').next().unwrap_or_default().to_owned(),
            language,
            sensitive,
        })
    }

    /// The search over an index.
    pub(crate) fn over(&self, spec: &Arc<TextSpec>) -> TextSearch {
        let mut search = TextSearch {
            spec: spec.clone(),
            language: self.language.unwrap_or(spec.language),
            sensitive: self.sensitive,
            text: self.text.clone(),
            terms: BTreeSet::new(),
            positive: BTreeSet::new(),
            negated: BTreeSet::new(),
            phrases: Vec::new(),
            negated_phrases: Vec::new(),
        };
        search.read();
        search
    }
}

/// A field of this type, if it is there.
fn field<'a>(doc: Doc<'a>, name: &str, kind: Kind) -> Result<Option<Value<'a>>> {
    match doc.get(name) {
        Some(value) if value.kind() != kind => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "\"{name}\" had the wrong type. Expected {}, found {}",
                kind.alias(),
                value.kind().alias()
            ),
        )),
        value => Ok(value),
    }
}

impl TextSearch {
    /// The terms that the index is asked for, in order.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(String::as_str)
    }

    /// Whether every document with one of the terms matches.
    pub(crate) fn is_plain(&self) -> bool {
        self.negated.is_empty()
            && self.phrases.is_empty()
            && self.negated_phrases.is_empty()
            && self.sensitive == Sensitive::default()
    }

    /// How well a document answers: the sum of its scores for the terms; `None` where it does not answer, but another
    /// condition of the filter found it.
    pub(crate) fn score(&self, doc: Doc<'_>) -> Result<Option<f64>> {
        let scores = self.spec.scores_of(doc, &self.terms)?;
        let mut found = scores.into_iter().flatten().peekable();
        if found.peek().is_none() || (!self.is_plain() && !self.matches(doc)?) {
            return Ok(None);
        }
        Ok(Some(found.sum()))
    }

    /// Whether a document matches.
    pub(crate) fn matches(&self, doc: Doc<'_>) -> Result<bool> {
        let (mut found, mut exact, mut refused) = (false, false, false);
        let mut phrases: Vec<&String> = self.phrases.iter().collect();
        let plain = Sensitive::default();
        self.spec.texts(doc, &mut |text, language, _| {
            terms(text, language, plain, &mut |term| {
                found |= self.terms.contains(term)
            });
            if self.sensitive != plain || !self.negated.is_empty() {
                // A word that searches in this language leave out may be asked for in another.
                all_terms(text, language, self.sensitive, &mut |term| {
                    exact |= self.positive.contains(term);
                    refused |= self.negated.contains(term);
                });
            }
            if !(phrases.is_empty() && self.negated_phrases.is_empty()) {
                // A phrase is read in the language of the text that may have it; by the case of letters never in Turkish.
                let sensitive = Sensitive {
                    case: self.sensitive.case && language != Language::Turkish,
                    ..self.sensitive
                };
                let text = folded(text, language, sensitive);
                let has = |phrase: &String| text.contains(&folded(phrase, language, sensitive));
                phrases.retain(|phrase| !has(phrase));
                refused |= self.negated_phrases.iter().any(has);
            }
            Ok(())
        })?;
        Ok(found && (exact || self.sensitive == plain) && !refused && phrases.is_empty())
    }

    /// What the search was read as, in the words of `explain`.
    pub(crate) fn described(&self) -> [(&'static str, Vec<&str>); 4] {
        fn all<'a>(items: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
            items.into_iter().map(String::as_str).collect()
        }
        [
            ("terms", all(&self.positive)),
            ("negatedTerms", all(&self.negated)),
            ("phrases", all(&self.phrases)),
            ("negatedPhrases", all(&self.negated_phrases)),
        ]
    }

    /// Reads the search: words, words after a minus sign, and phrases in quotation marks.
    fn read(&mut self) {
        let text = std::mem::take(&mut self.text);
        // A minus sign after a space holds until the next space.
        let mut negated = false;
        let mut before = ' ';
        let mut phrase: Option<(usize, bool)> = None;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let mut length = c.len_utf8();
            match (c, phrase) {
                ('"', None) => phrase = Some((at + 1, negated)),
                ('"', Some((start, refused))) => {
                    let phrases = if refused {
                        &mut self.negated_phrases
                    } else {
                        &mut self.phrases
                    };
                    phrases.push(text[start..at].to_owned());
                    phrase = None;
                }
                ('-', None) => negated |= matches!(before, ' ' | '\n'),
                (' ' | '\n', None) => negated = false,
                (c, _) if separates(c, self.language) => {}
                _ => {
                    let rest = &text[at..];
                    length = rest.find(|c| separates(c, self.language)).unwrap_or(rest.len());
                    if !(negated && phrase.is_some()) {
                        self.word(&rest[..length], negated);
                    }
                }
            }
            before = c;
            at += length;
        }
    }

    fn word(&mut self, word: &str, negated: bool) {
        let plain = Sensitive::default();
        if negated {
            visit_term(word, self.language, self.sensitive, &mut |term| {
                self.negated.insert(term.to_owned());
            });
            return;
        }
        visit_term(word, self.language, self.sensitive, &mut |term| {
            self.positive.insert(term.to_owned());
        });
        visit_term(word, self.language, plain, &mut |term| {
            self.terms.insert(term.to_owned());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: [&[&str]; 4]) {
        let query = TextQuery {
            text: text.to_owned(),
            language: None,
            sensitive: Sensitive {
                case: true,
                accents: true,
            },
        };
        let spec = TextSpec {
            weights: Default::default(),
            wildcard: true,
            language: Language::English,
            override_field: "language".to_owned(),
        };
        let search = query.over(&Arc::new(spec));
        assert_eq!(search.described().map(|(_, items)| items), expected, "{text}");
    }

    #[test]
    fn searches_are_read_as_on_the_server() {
        for (text, expected) in [
            ("running dogs", [&["dog", "run"][..], &[], &[], &[]]),
            (
                "\"blue cheese\"",
                [&["blue", "chees"], &[], &["blue cheese"], &[]],
            ),
            ("-cat", [&[], &["cat"], &[], &[]]),
            ("- cat", [&["cat"], &[], &[], &[]]),
            ("co-operate -op", [&["co", "oper"], &["op"], &[], &[]]),
            ("\"x -b\"", [&["b", "x"], &[], &["x -b"], &[]]),
            ("-\"x y\"", [&[], &[], &[], &["x y"]]),
            (
                "say \"unclosed phrase",
                [&["phrase", "say", "unclos"], &[], &[], &[]],
            ),
            ("-\"unclosed", [&[], &[], &[], &[]]),
            ("x\"y z\"w", [&["w", "x", "y", "z"], &[], &["y z"], &[]]),
            ("--dog", [&[], &["dog"], &[], &[]]),
            ("\"\"", [&[], &[], &[""], &[]]),
            ("\" \"", [&[], &[], &[" "], &[]]),
            ("\"the cat\"", [&["cat"], &[], &["the cat"], &[]]),
            ("-\"a b\"-c", [&[], &["c"], &[], &["a b"]]),
            ("x-", [&["x"], &[], &[], &[]]),
            ("-dog-cat", [&[], &["cat", "dog"], &[], &[]]),
            ("-x\"y z\"", [&[], &["x"], &[], &["y z"]]),
            ("a -\"b c\" d -e", [&["d"], &["e"], &[], &["b c"]]),
            ("\t-dog\n-cat", [&["dog"], &["cat"], &[], &[]]),
        ] {
            check(text, expected);
        }
    }
}
