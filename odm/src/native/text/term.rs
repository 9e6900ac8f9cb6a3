//! Texts into words, and words into terms.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::language::Language;
use super::met;
use super::tables::{DELIMITERS, FORMS, KEPT, MARKS};

/// What makes two words the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sensitive {
    pub(crate) case: bool,
    pub(crate) accents: bool,
}

/// Visits the terms of a text: stems of the words that are not left out.
pub(super) fn terms(text: &str, language: Language, sensitive: Sensitive, visit: &mut dyn FnMut(&str)) {
    for word in words(text, language) {
        visit_term(word, language, sensitive, visit);
    }
}

/// The same of one word.
pub(super) fn visit_term(word: &str, language: Language, sensitive: Sensitive, visit: &mut dyn FnMut(&str)) {
    let find = || {
        let lower = lower_case(word, language);
        (!language.leaves_out(&lower)).then(|| term(word, &lower, language, sensitive))
    };
    match sensitive == Sensitive::default() {
        true => met::term_of(word, language, find).as_deref().map(visit),
        false => find().as_deref().map(visit),
    };
}

/// Visits the terms of a text, with those of the words that are left out.
pub(super) fn all_terms(text: &str, language: Language, sensitive: Sensitive, visit: &mut dyn FnMut(&str)) {
    for word in words(text, language) {
        visit(&term(word, &lower_case(word, language), language, sensitive));
    }
}

fn term(word: &str, lower: &str, language: Language, sensitive: Sensitive) -> String {
    let stem = language.stem(if sensitive.case { word } else { lower });
    match sensitive.accents {
        true => stem.into_owned(),
        false => without_accents(&stem),
    }
}

/// The words of a text, in order.
pub(super) fn words(text: &str, language: Language) -> impl Iterator<Item = &str> {
    text.split(move |c| separates(c, language))
        .filter(|word| !word.is_empty())
}

/// Whether a character stands between words.
pub(super) fn separates(c: char, language: Language) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => false,
        '\'' => language != Language::English,
        c => within(DELIMITERS, c),
    }
}

/// A text as it is compared.
pub(super) fn folded(text: &str, language: Language, sensitive: Sensitive) -> String {
    let text = if sensitive.case {
        text.to_owned()
    } else {
        lower_case(text, language)
    };
    if sensitive.accents {
        text
    } else {
        without_accents(&text)
    }
}

fn lower_case(text: &str, language: Language) -> String {
    match language {
        Language::Turkish => text.chars().map(lower_turkish).collect(),
        _ => text.chars().map(lower).collect(),
    }
}

/// Turkish has an i with a dot and one without, small and capital.
fn lower_turkish(c: char) -> char {
    match c {
        'I' => 'ı',
        'İ' => 'i',
        c => lower(c),
    }
}

fn lower(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if let Ok(at) = FORMS.binary_search_by_key(&c, |(from, _)| *from) {
        return FORMS[at].1;
    }
    if let Some(small) = u32::from(c).checked_sub(0xAB70).filter(|at| *at < 0x50) {
        // Cherokee has its capitals for the common form.
        return char::from_u32(0x13A0 + small).unwrap_or(c);
    }
    if within(KEPT, c) {
        return c;
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

fn without_accents(text: &str) -> String {
    if text.is_ascii() {
        return text.replace(['^', '`'], "");
    }
    text.chars().filter_map(without_accent).collect()
}

fn without_accent(c: char) -> Option<char> {
    static BASES: OnceLock<HashMap<char, char>> = OnceLock::new();
    if c.is_ascii() {
        return (c != '^' && c != '`').then_some(c);
    }
    if within(MARKS, c) {
        return None;
    }
    let bases = BASES.get_or_init(|| {
        let lines = include_str!("accents.txt").lines();
        lines
            .filter_map(|line| {
                let mut letters = line.chars();
                letters
                    .next()
                    .map(|base| letters.map(move |letter| (letter, base)))
            })
            .flatten()
            .collect()
    });
    Some(bases.get(&c).copied().unwrap_or(c))
}

fn within(ranges: &[(char, char)], c: char) -> bool {
    ranges
        .binary_search_by(|(from, to)| {
            if *to < c {
                std::cmp::Ordering::Less
            } else if *from > c {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, language: Language, sensitive: Sensitive, expected: &[&str]) {
        let mut found = Vec::new();
        terms(text, language, sensitive, &mut |term| found.push(term.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn terms_are_the_servers() {
        let plain = Sensitive::default();
        for (text, expected) in [
            ("Café naïve", vec!["cafe", "naiv"]),
            ("don't it's", vec![]),
            ("e-mail foo@bar.com", vec!["e", "mail", "foo", "bar", "com"]),
            ("foo_bar 1.5", vec!["foo_bar", "1", "5"]),
            ("日本語 テスト", vec!["日本語", "テスト"]),
            ("İstanbul", vec!["Istanbul"]),
            ("straße ẞ", vec!["straße", "ß"]),
            ("dog’s dog's O'Brien", vec!["dog", "s", "dog", "o'brien"]),
            (
                "soft\u{ad}hyphen zero\u{200b}width",
                vec!["soft", "hyphen", "zero\u{200b}width"],
            ),
            ("ΣΑΣ Σίσυφος ᾳ", vec!["σασ", "σισυφοσ", "α"]),
            ("Ⅷ ① ½ ǅ ʼn µm", vec!["ⅷ", "①", "½", "ǆ", "n", "μm"]),
        ] {
            check(text, Language::English, plain, &expected);
        }
        let case = Sensitive {
            case: true,
            accents: false,
        };
        check("Running Café THE the", Language::English, case, &["Run", "Cafe"]);
        let accents = Sensitive {
            case: false,
            accents: true,
        };
        check(
            "Running Café THE the",
            Language::English,
            accents,
            &["run", "café"],
        );
        check("it's les", Language::None, plain, &["it", "s", "les"]);
    }

    #[test]
    fn tables_are_in_order() {
        for table in [DELIMITERS, MARKS, KEPT] {
            assert!(table.is_sorted_by(|a, b| a.1 < b.0));
        }
        assert!(FORMS.is_sorted_by_key(|(from, _)| *from));
    }
}
