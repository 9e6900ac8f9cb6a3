//! The languages of texts: their names, their stemmers and the words that are not looked for.
//!
//! The stemmers are those of the server, whose Snowball is of the same years as `rust-stemmers`: later revisions give
//! other stems. The words that are left out were asked of mongod 6.0.5, word by word of two public lists.

use std::borrow::Cow;
use std::sync::OnceLock;

use rust_stemmers::{Algorithm, Stemmer};

/// A language that texts are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// No language: words are taken as they are.
    None,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Turkish,
}

/// What belongs to a language.
struct Row {
    language: Language,
    name: &'static str,
    code: &'static str,
    algorithm: Algorithm,
    stop: &'static str,
}

macro_rules! rows {
    ($($language:ident $name:literal $code:literal,)*) => {
        static ROWS: &[Row] = &[$(Row {
            language: Language::$language,
            name: $name,
            code: $code,
            algorithm: Algorithm::$language,
            stop: include_str!(concat!("words/", $name, ".txt")),
        },)*];
    };
}

rows! {
    Danish "danish" "da",
    Dutch "dutch" "nl",
    English "english" "en",
    Finnish "finnish" "fi",
    French "french" "fr",
    German "german" "de",
    Hungarian "hungarian" "hu",
    Italian "italian" "it",
    Norwegian "norwegian" "nb",
    Portuguese "portuguese" "pt",
    Romanian "romanian" "ro",
    Russian "russian" "ru",
    Spanish "spanish" "es",
    Swedish "swedish" "sv",
    Turkish "turkish" "tr",
}

impl Language {
    /// The language of a name or a two-letter code, in whatever case.
    pub(crate) fn parse(name: &str) -> Option<Language> {
        if name.eq_ignore_ascii_case("none") {
            return Some(Language::None);
        }
        ROWS.iter()
            .find(|row| name.eq_ignore_ascii_case(row.name) || name.eq_ignore_ascii_case(row.code))
            .map(|row| row.language)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        ROWS.iter()
            .find(|row| row.language == self)
            .map_or("none", |row| row.name)
    }

    /// Whether a word in lower case is left out.
    pub(super) fn leaves_out(self, word: &str) -> bool {
        static LISTS: OnceLock<Vec<Vec<&'static str>>> = OnceLock::new();
        let lists = LISTS.get_or_init(|| ROWS.iter().map(|row| row.stop.lines().collect()).collect());
        let at = ROWS.iter().position(|row| row.language == self);
        at.and_then(|at| lists.get(at))
            .is_some_and(|list| list.binary_search(&word).is_ok())
    }

    /// A word's stem.
    pub(super) fn stem(self, word: &str) -> Cow<'_, str> {
        let Some(row) = self.row() else {
            return Cow::Borrowed(word);
        };
        let stemmer = Stemmer::create(row.algorithm);
        if self != Language::Hungarian || !word.contains(['ő', 'ű', 'õ', 'û', 'Ő', 'Ű']) {
            return stemmer.stem(word);
        }
        // The server's Hungarian knows the double acute by the letters of Latin-1 alone.
        let swapped = |text: &str, pairs: &[(char, char)]| -> String {
            let other = |c| pairs.iter().find(|(from, _)| *from == c).map_or(c, |(_, to)| *to);
            text.chars().map(other).collect()
        };
        let there = [('ő', '\u{e000}'), ('ű', '\u{e001}'), ('õ', 'ő'), ('û', 'ű')];
        let back = [('\u{e000}', 'ő'), ('\u{e001}', 'ű'), ('ő', 'õ'), ('ű', 'û')];
        let word = swapped(word, &there);
        Cow::Owned(swapped(&stemmer.stem(&word), &back))
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.language == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_names_and_codes() {
        for row in ROWS {
            assert_eq!(Language::parse(row.name), Some(row.language));
            assert_eq!(Language::parse(&row.code.to_uppercase()), Some(row.language));
            assert!(row.stop.lines().is_sorted(), "{}", row.name);
        }
        assert_eq!(Language::parse("NONE"), Some(Language::None));
        for unknown in ["", "xx", "no", "arabic", "porter", "eng"] {
            assert_eq!(Language::parse(unknown), None);
        }
    }

    #[test]
    fn stems_are_the_servers() {
        for (language, word, stem) in [
            (Language::English, "running", "run"),
            (Language::English, "blueberries", "blueberri"),
            (Language::English, "organization", "organ"),
            (Language::English, "universal", "univers"),
            (Language::French, "mangeons", "mangeon"),
            (Language::Turkish, "running", "runningi"),
            (Language::None, "running", "running"),
        ] {
            assert_eq!(language.stem(word), stem);
        }
    }
}
