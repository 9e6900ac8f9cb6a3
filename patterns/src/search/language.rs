//! The languages whose words can be brought to their stems.

use super::stop_words;

/// A language of texts: how words are brought to their stems, and which say nothing.
///
/// The stemmers are Snowball's. Stop words are there for Danish, Dutch, English, French, German, Italian, Norwegian,
/// Portuguese, Russian, Spanish and Swedish; others can be given by
/// [`Analyzer::stop_words`](super::Analyzer::stop_words).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum Language {
    Arabic,
    Armenian,
    Basque,
    Catalan,
    Danish,
    Dutch,
    English,
    Esperanto,
    Estonian,
    Finnish,
    French,
    German,
    Greek,
    Hindi,
    Hungarian,
    Indonesian,
    Irish,
    Italian,
    Lithuanian,
    Nepali,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Serbian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    Yiddish,
}

impl Language {
    /// All languages.
    pub const ALL: [Language; 30] = {
        use Language::*;
        [
            Arabic, Armenian, Basque, Catalan, Danish, Dutch, English, Esperanto, Estonian, Finnish, French,
            German, Greek, Hindi, Hungarian, Indonesian, Irish, Italian, Lithuanian, Nepali, Norwegian,
            Portuguese, Romanian, Russian, Serbian, Spanish, Swedish, Tamil, Turkish, Yiddish,
        ]
    };

    /// Its stop words, in their normal form; none where no list is known.
    pub fn stop_words(self) -> impl Iterator<Item = &'static str> {
        stop_words::of(self).split_ascii_whitespace()
    }

    /// Whether words begin with short ones that lost their vowel: `l'avion`.
    pub(super) fn elides(self) -> bool {
        matches!(self, Language::French | Language::Italian | Language::Catalan)
    }

    /// The stem of a word in its normal form.
    pub(super) fn stem(self, word: &str) -> String {
        waken_snowball::stem(self.algorithm(), word).into_owned()
    }

    fn algorithm(self) -> waken_snowball::Algorithm {
        use waken_snowball::Algorithm;
        match self {
            Language::Arabic => Algorithm::Arabic,
            Language::Armenian => Algorithm::Armenian,
            Language::Basque => Algorithm::Basque,
            Language::Catalan => Algorithm::Catalan,
            Language::Danish => Algorithm::Danish,
            Language::Dutch => Algorithm::Dutch,
            Language::English => Algorithm::English,
            Language::Esperanto => Algorithm::Esperanto,
            Language::Estonian => Algorithm::Estonian,
            Language::Finnish => Algorithm::Finnish,
            Language::French => Algorithm::French,
            Language::German => Algorithm::German,
            Language::Greek => Algorithm::Greek,
            Language::Hindi => Algorithm::Hindi,
            Language::Hungarian => Algorithm::Hungarian,
            Language::Indonesian => Algorithm::Indonesian,
            Language::Irish => Algorithm::Irish,
            Language::Italian => Algorithm::Italian,
            Language::Lithuanian => Algorithm::Lithuanian,
            Language::Nepali => Algorithm::Nepali,
            Language::Norwegian => Algorithm::Norwegian,
            Language::Portuguese => Algorithm::Portuguese,
            Language::Romanian => Algorithm::Romanian,
            Language::Russian => Algorithm::Russian,
            Language::Serbian => Algorithm::Serbian,
            Language::Spanish => Algorithm::Spanish,
            Language::Swedish => Algorithm::Swedish,
            Language::Tamil => Algorithm::Tamil,
            Language::Turkish => Algorithm::Turkish,
            Language::Yiddish => Algorithm::Yiddish,
        }
    }
}
