//! The terms of words that were met lately: most words of texts are few.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::language::Language;

/// Of so many words they are remembered, in each thread.
const MOST: usize = 8_192;

/// Longer words come once.
const LONGEST: usize = 32;

/// Words of one language, and their terms; none of one that is left out.
type Words = HashMap<Box<str>, Option<Rc<str>>>;

/// By language, of which there are few.
#[derive(Default)]
struct Met {
    languages: Vec<(Language, Words)>,
    count: usize,
}

thread_local! {
    static MET: RefCell<Met> = RefCell::default();
}

/// The term of a word as `find` finds it, unless that is known.
pub(super) fn term_of(
    word: &str,
    language: Language,
    find: impl FnOnce() -> Option<String>,
) -> Option<Rc<str>> {
    let known = MET.with_borrow(|met| {
        let own = |(other, _): &&(Language, Words)| *other == language;
        let (_, words) = met.languages.iter().find(own)?;
        words.get(word).cloned()
    });
    if let Some(term) = known {
        return term;
    }
    let term: Option<Rc<str>> = find().map(Rc::from);
    if word.len() <= LONGEST {
        MET.with_borrow_mut(|met| met.remember(word, language, term.clone()));
    }
    term
}

impl Met {
    fn remember(&mut self, word: &str, language: Language, term: Option<Rc<str>>) {
        if self.count >= MOST {
            *self = Met::default();
        }
        self.count += 1;
        let at = self.languages.iter().position(|(other, _)| *other == language);
        let at = at.unwrap_or_else(|| {
            self.languages.push((language, Words::new()));
            self.languages.len() - 1
        });
        self.languages[at].1.insert(word.into(), term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_remembered_by_their_languages_and_forgotten() {
        let asked = |word: &str, language, term: Option<&str>| {
            let mut found = false;
            let given = term_of(word, language, || {
                found = true;
                term.map(str::to_owned)
            });
            assert_eq!(given.as_deref(), term);
            found
        };
        assert!(asked("running", Language::English, Some("run")));
        assert!(!asked("running", Language::English, Some("run")));
        assert!(asked("running", Language::Turkish, Some("runningi")));
        assert!(asked("the", Language::English, None));
        assert!(!asked("the", Language::English, None));
        let long = "x".repeat(LONGEST + 1);
        assert!(asked(&long, Language::English, Some(&long)));
        assert!(asked(&long, Language::English, Some(&long)));
        for number in 0..MOST {
            asked(&number.to_string(), Language::English, Some("1"));
        }
        assert!(asked("running", Language::English, Some("run")));
    }
}
