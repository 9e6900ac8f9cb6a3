//! The rules of languages, by ICU4X and the data of the Unicode CLDR that are compiled into it.

use std::cmp::Ordering;

use icu_collator::options::{
    AlternateHandling, CaseLevel, CollatorOptions, MaxVariable as Variable, Strength,
};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;

use super::super::fault::{Fault, Result};
use super::settings::{Alternate, CaseFirst, MaxVariable, Settings};

/// The rules of one collation.
pub(super) struct Rules(CollatorBorrowed<'static>);

/// The library whose data make the keys.
pub(super) const KEYS: &str = "icu4x 2.4";

impl Rules {
    pub(super) fn new(settings: &Settings) -> Result<Rules> {
        let name = settings.locale.with_variant(settings.variant);
        let lacks = |what: String| Fault::unsupported(format!("the embedded engine does not have {what}"));
        let Some(tag) = settings.locale.tag(settings.variant, settings.backwards) else {
            return Err(lacks(format!("the collation '{name}'")));
        };
        let Some(tag) = tag else {
            return Err(lacks(format!(
                "collations with 'backwards: {}' for the locale '{name}'",
                settings.backwards
            )));
        };
        let locale: Locale = tag
            .parse()
            .map_err(|_| lacks(format!("the collation '{name}'")))?;
        let mut preferences = CollatorPreferences::from(&locale);
        preferences.case_first = Some(match settings.case_first {
            CaseFirst::Off => CollationCaseFirst::False,
            CaseFirst::Upper => CollationCaseFirst::Upper,
            CaseFirst::Lower => CollationCaseFirst::Lower,
        });
        preferences.numeric_ordering = Some(match settings.numeric {
            true => CollationNumericOrdering::True,
            false => CollationNumericOrdering::False,
        });
        let mut options = CollatorOptions::default();
        options.strength = Some(match settings.strength {
            1 => Strength::Primary,
            2 => Strength::Secondary,
            3 => Strength::Tertiary,
            4 => Strength::Quaternary,
            _ => Strength::Identical,
        });
        options.case_level = Some(match settings.case_level {
            true => CaseLevel::On,
            false => CaseLevel::Off,
        });
        options.alternate_handling = Some(match settings.alternate {
            Alternate::NonIgnorable => AlternateHandling::NonIgnorable,
            Alternate::Shifted => AlternateHandling::Shifted,
        });
        options.max_variable = Some(match settings.max_variable {
            MaxVariable::Punctuation => Variable::Punctuation,
            MaxVariable::Space => Variable::Space,
        });
        CollatorBorrowed::try_new(preferences, options)
            .map(Rules)
            .map_err(|_| lacks(format!("the collation '{name}'")))
    }

    pub(super) fn compare(&self, a: &str, b: &str) -> Ordering {
        self.0.compare(a, b)
    }

    pub(super) fn write_key(&self, text: &str, out: &mut Vec<u8>) {
        let Ok(()) = self.0.write_sort_key_to(text, out);
    }
}
