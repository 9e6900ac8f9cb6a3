//! From texts to terms.

use std::collections::BTreeSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_segmentation::UnicodeSegmentation;

#[cfg(feature = "stemming")]
use super::language::Language;

/// What analyzers make of texts, as a number: another one when it changes.
pub const ANALYZER_VERSION: u32 = 1;

/// How texts become terms: cut into the words of Unicode (UAX #29), in compatibility composition (NFKC), without case,
/// and, where a [`Language`] is said, brought to their stems.
///
/// Marks stay: `é` is not `e`, and the vowel signs of Hindi are not lost. [`without_marks`](Analyzer::without_marks) takes
/// them from Latin and Greek letters alone, where nobody types them.
///
/// Scripts that put no spaces between words (Chinese, Japanese, Thai) are cut into single letters: search for phrases.
///
/// ```
/// use odm_patterns::search::Analyzer;
///
/// let terms = |analyzer: &Analyzer, text: &str| -> Vec<String> {
///     analyzer.tokens(text).into_iter().map(|token| token.term).collect()
/// };
/// let plain = Analyzer::new();
/// assert_eq!(terms(&plain, "The Whale, or: MOBY‑DICK"), ["the", "whale", "or", "moby", "dick"]);
/// assert_eq!(terms(&plain, "ΟΔΟΣ Straße ﬁn Café"), ["οδοσ", "strasse", "fin", "café"]);
/// assert_eq!(terms(&plain.without_marks(), "Café हिन्दी"), ["cafe", "हिन्दी"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Analyzer {
    #[cfg(feature = "stemming")]
    language: Option<Language>,
    stop_words: BTreeSet<String>,
    folds_marks: bool,
    max_term_bytes: usize,
}

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// What it became.
    pub term: String,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// How many words are before it, those that say nothing counted.
    pub position: usize,
}

impl Analyzer {
    /// Of any language: no stems, no stop words.
    pub fn new() -> Analyzer {
        Analyzer {
            #[cfg(feature = "stemming")]
            language: None,
            stop_words: BTreeSet::new(),
            folds_marks: false,
            max_term_bytes: 128,
        }
    }

    /// Of a language: with its stems and without its stop words.
    ///
    /// ```
    /// use odm_patterns::search::{Analyzer, Language};
    ///
    /// let english = Analyzer::of(Language::English);
    /// let terms: Vec<String> = english.tokens("the hunting of whales").into_iter().map(|token| token.term).collect();
    /// assert_eq!(terms, ["hunt", "whale"]);
    /// ```
    #[cfg(feature = "stemming")]
    pub fn of(language: Language) -> Analyzer {
        Analyzer {
            language: Some(language),
            ..Analyzer::new()
        }
        .stop_words(language.stop_words())
    }

    /// Leaves these words out, instead of those of the language. None at all: `stop_words([""; 0])`.
    pub fn stop_words<I>(mut self, words: I) -> Analyzer
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let words = words.into_iter().map(|word| normal(word.as_ref()));
        self.stop_words = words.filter(|word| !word.is_empty()).collect();
        self
    }

    /// Takes the marks from Latin and Greek letters, behind the stemmer: `Café` is found by `cafe`.
    pub fn without_marks(mut self) -> Analyzer {
        self.folds_marks = true;
        self
    }

    /// Cuts terms that are longer, in texts and queries alike. 128 unless said otherwise.
    pub fn max_term_bytes(mut self, bytes: usize) -> Analyzer {
        self.max_term_bytes = bytes.max(4);
        self
    }

    /// What it is, and of which version: stored beside the terms that it made, so that a change of it is found.
    pub fn id(&self) -> String {
        #[cfg(feature = "stemming")]
        let language = self.language.map_or("any".to_owned(), |language| {
            format!("{language:?}").to_lowercase()
        });
        #[cfg(not(feature = "stemming"))]
        let language = "any";
        let (major, minor, _) = unicode_segmentation::UNICODE_VERSION;
        let (normal_major, normal_minor, _) = unicode_normalization::UNICODE_VERSION;
        let mut details = Hash::new();
        for word in &self.stop_words {
            details.add(word);
        }
        format!(
            "{language}/{ANALYZER_VERSION}/{major}.{minor}/{normal_major}.{normal_minor}/{}{}/{:08x}",
            self.max_term_bytes,
            if self.folds_marks { "-marks" } else { "" },
            details.short(),
        )
    }

    /// The words of a text, in order, without those that say nothing.
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        let tokens = words(text).enumerate().filter_map(|(position, (start, word))| {
            Some(Token {
                term: self.term(word)?,
                range: start..start + word.len(),
                position,
            })
        });
        tokens.collect()
    }

    /// What a text becomes of which the last word is not ended: the terms of those before it, and the beginning of a term.
    /// That is a word without its stem; `None` when nothing is left of it.
    pub(super) fn beginning(&self, text: &str) -> (Vec<String>, Option<String>) {
        let mut words: Vec<&str> = words(text).map(|(_, word)| word).collect();
        let last = words.pop().map(|word| self.word(word));
        let last = last.map(|word| match self.folds_marks {
            true => without_marks(&word),
            false => word,
        });
        let whole = words.into_iter().filter_map(|word| self.term(word));
        (whole.collect(), last.filter(|word| !word.is_empty()))
    }

    /// A word in its normal form, without the short one before it that lost its vowel.
    fn word(&self, word: &str) -> String {
        let word = cut(
            normal(cut_str(word, self.max_term_bytes * 4)),
            self.max_term_bytes,
        );
        #[cfg(feature = "stemming")]
        if self.language.is_some_and(Language::elides)
            && let Some((before, after)) = word.split_once('\'')
            && before.chars().count() <= 3
            && !after.is_empty()
        {
            return after.to_owned();
        }
        word
    }

    fn term(&self, word: &str) -> Option<String> {
        // What is longer than any word of a language is no work for a stemmer.
        #[cfg_attr(not(feature = "stemming"), allow(unused_mut, reason = "stems take its place"))]
        let mut term = self.word(word);
        if term.is_empty() || self.stop_words.contains(&term) {
            return None;
        }
        #[cfg(feature = "stemming")]
        if let Some(language) = self.language {
            let stem = language.stem(&term);
            if !stem.is_empty() {
                term = cut(stem, self.max_term_bytes);
            }
        }
        Some(if self.folds_marks {
            without_marks(&term)
        } else {
            term
        })
    }
}

impl Default for Analyzer {
    fn default() -> Analyzer {
        Analyzer::new()
    }
}

/// The words of a text, and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.unicode_word_indices()
        .flat_map(|(start, word)| parts(start, word))
}

/// The parts of what Unicode holds for a word: `Node.js`, `snake_case` and `note:this` are two, `3.14` and `don't` are one.
fn parts(start: usize, word: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut before = None;
    let mut letters = word.chars().peekable();
    let mut cuts = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.next() {
        let after = letters.peek().copied();
        let is_digit = |letter: Option<char>| letter.is_some_and(char::is_numeric);
        let joins_numbers = is_digit(before) && is_digit(after);
        if matches!(letter, ':' | '_') || (letter == '.' && !joins_numbers) {
            cuts.push(at..at + letter.len_utf8());
        }
        before = Some(letter);
        at += letter.len_utf8();
    }
    cuts.push(word.len()..word.len());
    let mut from = 0;
    let parts = cuts.into_iter().map(move |cut| {
        let part = (start + from, &word[from..cut.start]);
        from = cut.end;
        part
    });
    parts.filter(|(_, part)| !part.is_empty())
}

/// A word without case and in the one form of several that look and mean the same.
fn normal(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for letter in word.nfkc() {
        match letter {
            '\u{2019}' | '\u{ff07}' => folded.push('\''),
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            // What belongs to no word: soft hyphens, joiners between letters that need none, directions.
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
            'İ' => folded.push('i'),
            letter => folded.extend(letter.to_lowercase()),
        }
    }
    // A small letter may compose with the mark behind it where the capital did not.
    let word: String = folded.nfkc().collect();
    word.trim_matches(|letter: char| !letter.is_alphanumeric() && !is_combining_mark(letter))
        .to_owned()
}

/// Without the marks of Latin and Greek letters.
fn without_marks(word: &str) -> String {
    let mut base_folds = false;
    let bare = word.nfd().filter(|letter| {
        if canonical_combining_class(*letter) != 0 {
            return !(base_folds && is_combining_mark(*letter));
        }
        base_folds = matches!(*letter, 'a'..='z' | '\u{e6}'..='\u{24f}' | 'α'..='ω');
        true
    });
    bare.nfc().collect()
}

fn cut(mut word: String, bytes: usize) -> String {
    word.truncate(cut_str(&word, bytes).len());
    word
}

fn cut_str(word: &str, bytes: usize) -> &str {
    &word[..word.floor_char_boundary(bytes)]
}

/// A hash that stays the same in every version of every program: FNV-1a.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a text and its end.
    pub(super) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Half of its bits.
    pub(super) fn short(self) -> u64 {
        (self.0 >> 32) ^ (self.0 & 0xffff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(analyzer: &Analyzer, text: &str) -> Vec<String> {
        analyzer
            .tokens(text)
            .into_iter()
            .map(|token| token.term)
            .collect()
    }

    #[test]
    fn the_same_word_is_one_term() {
        let analyzer = Analyzer::new();
        for (a, b) in [
            ("Stra\u{df}e", "STRASSE"),
            ("e\u{301}t\u{e9}", "\u{c9}TE\u{301}"),
            ("ΌΔΟΣ", "όδος"),
            ("ＦＵＬＬ", "full"),
            ("İstanbul", "istanbul"),
            ("co\u{ad}operate", "cooperate"),
            ("don’t", "DON'T"),
        ] {
            assert_eq!(terms(&analyzer, a), terms(&analyzer, b), "{a} {b}");
        }
    }

    #[test]
    fn marks_go_only_where_they_carry_no_meaning() {
        let analyzer = Analyzer::new().without_marks();
        assert_eq!(terms(&analyzer, "Ünïcödé"), ["unicode"]);
        // Й is no И, and vowel signs are letters.
        for word in ["йод", "हिन्दी", "ผี", "שָׁלוֹם", "がぎ"] {
            let plain: Vec<String> = terms(&Analyzer::new(), word);
            assert_eq!(terms(&analyzer, word), plain, "{word}");
        }
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "  Ünder-water\u{1f40b}whale  ";
        for token in Analyzer::new().tokens(text) {
            assert_eq!(terms(&Analyzer::new(), &text[token.range]), [token.term]);
        }
    }

    #[test]
    fn words_that_are_joined_are_several() {
        let analyzer = Analyzer::new();
        assert_eq!(
            terms(&analyzer, "Node.js snake_case note:this 3.14 don't e.g. _"),
            [
                "node", "js", "snake", "case", "note", "this", "3.14", "don't", "e", "g"
            ]
        );
    }

    #[test]
    fn a_beginning_is_the_last_of_the_words() {
        let check = |analyzer: &Analyzer, text: &str, whole: &[&str], last: Option<&str>| {
            let (terms, beginning) = analyzer.beginning(text);
            assert_eq!(terms, whole, "{text}");
            assert_eq!(beginning.as_deref(), last, "{text}");
        };
        let plain = Analyzer::new();
        for (text, whole, last) in [
            ("wh", &[][..], Some("wh")),
            ("Sea-WO", &["sea"], Some("wo")),
            ("white  wh", &["white"], Some("wh")),
            ("node.j", &["node"], Some("j")),
            ("snake_ca", &["snake"], Some("ca")),
            ("snake_", &[], Some("snake")),
            ("3.1", &[], Some("3.1")),
            ("don\u{2019}", &[], Some("don")),
            ("don\u{2019}t", &[], Some("don't")),
            ("", &[], None),
            (" ... ", &[], None),
        ] {
            check(&plain, text, whole, last);
        }
        check(&Analyzer::new().without_marks(), "Übér-É", &["uber"], Some("e"));
        check(
            &Analyzer::new().max_term_bytes(4),
            "abcdef-abcdef",
            &["abcd"],
            Some("abcd"),
        );
        #[cfg(feature = "stemming")]
        {
            let french = Analyzer::of(Language::French);
            check(&french, "l'av", &[], Some("av"));
            check(&french, "l\u{2019}avion d\u{2019}Ai", &["avion"], Some("ai"));
            // Words that say nothing are left out, beginnings of others are not.
            check(
                &Analyzer::of(Language::English),
                "of the hunting th",
                &["hunt"],
                Some("th"),
            );
        }
    }

    #[test]
    fn long_words_are_cut_between_letters() {
        let analyzer = Analyzer::new().max_term_bytes(10);
        assert_eq!(terms(&analyzer, &"é".repeat(1000)), ["ééééé"]);
        assert_eq!(terms(&analyzer, &"a".repeat(1 << 20)), ["aaaaaaaaaa"]);
    }

    #[test]
    fn what_it_does_is_in_its_name() {
        let ids = [
            Analyzer::new(),
            Analyzer::new().without_marks(),
            Analyzer::new().stop_words(["the"]),
            Analyzer::new().max_term_bytes(10),
        ]
        .map(|analyzer| analyzer.id());
        let different: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
    }

    #[cfg(feature = "stemming")]
    #[test]
    fn no_text_makes_a_stemmer_panic() {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        let letters: Vec<char> = "aeiouyäöüßçéñøæœşğıİijlnrstcghkmpqvwxz'’-_0189абвгдежзийыьюяёαβγδέήςσअआइईकगािी்கதআابةتىيءאבגװײհայտé\u{301}\u{64b}\u{200d}가中\u{1f40b}"
            .chars()
            .collect();
        for language in Language::ALL {
            let analyzer = Analyzer::of(language);
            for _ in 0..400 {
                let length = next(24) + 1;
                let word: String = (0..length)
                    .map(|_| letters[usize::try_from(next(letters.len() as u64)).unwrap_or_default()])
                    .collect();
                analyzer.tokens(&word);
            }
            analyzer.tokens(&"é".repeat(5000));
        }
    }
}
