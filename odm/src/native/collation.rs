//! How strings compare: by their bytes, or by the rules of a language.
//!
//! Numbers, dates and all other types compare alike under every collation; strings do not, nor do documents and
//! arrays that hold some.

mod locale;
#[cfg(feature = "collation")]
#[path = "collation/icu.rs"]
mod rules;
#[cfg(not(feature = "collation"))]
#[path = "collation/absent.rs"]
mod rules;
mod settings;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::Arc;

use self::rules::Rules;
use self::settings::Settings;
use super::document::compare::compare_by;
use super::document::{Doc, Owned, Value, compare};
use super::fault::{Fault, Result, code};
use super::key;

/// How strings compare. Two collations are equal if their settings are.
#[derive(Clone, Default)]
pub(crate) struct Collation(Option<Arc<Language>>);

struct Language {
    /// The settings, all of them, as the server lists them.
    spec: Vec<u8>,
    rules: Rules,
}

/// What sort keys depend on beside the settings. Another one makes stored keys worthless.
pub(crate) const KEYS: &str = rules::KEYS;

static SIMPLE: Collation = Collation(None);

impl Collation {
    /// The comparison of bytes.
    pub(crate) fn simple() -> &'static Collation {
        &SIMPLE
    }

    /// Reads a collation document; `None` for an empty one, which says nothing.
    ///
    /// # Errors
    /// MongoDB's: 2, 14, 161, 40414, 40415 and 51024 for what is no collation. What the engine's rules do not have is
    /// unsupported.
    pub(crate) fn parse(doc: Doc<'_>) -> Result<Option<Collation>> {
        if doc.is_empty() {
            return Ok(None);
        }
        Collation::of(Settings::parse(doc, "collation")?).map(Some)
    }

    /// Reads the collation of a new collection, for which what is not said does not depend on the language.
    ///
    /// # Errors
    /// Those of [`Collation::parse`].
    pub(crate) fn parse_default(doc: Doc<'_>) -> Result<Collation> {
        Collation::of(Settings::parse_filled(doc)?)
    }

    /// Checks what the collation of a new collection is made of, whether or not there is such a language.
    pub(crate) fn check_form(doc: Doc<'_>) -> Result<()> {
        Settings::check_form(doc)
    }

    fn of(settings: Option<Settings>) -> Result<Collation> {
        let Some(settings) = settings else {
            return Ok(Collation::default());
        };
        Ok(Collation(Some(Arc::new(Language {
            spec: settings.to_bytes(),
            rules: Rules::new(&settings)?,
        }))))
    }

    /// The collation that options hold in this form: a document under `collation`, or none.
    pub(crate) fn of_options(options: Doc<'_>) -> Result<Collation> {
        match options.get("collation") {
            Some(Value::Document(doc)) => Ok(Collation::parse(doc)?.unwrap_or_default()),
            _ => Ok(Collation::default()),
        }
    }

    /// Whether bytes are compared.
    pub(crate) fn is_simple(&self) -> bool {
        self.0.is_none()
    }

    /// The settings, all of them; `None` for the comparison of bytes.
    pub(crate) fn spec(&self) -> Option<Doc<'_>> {
        self.0.as_ref().map(|language| Doc::Raw(&language.spec))
    }

    /// The settings as messages show them.
    pub(crate) fn shown(&self) -> String {
        self.spec()
            .map_or_else(|| "{ locale: \"simple\" }".to_owned(), |spec| spec.to_string())
    }

    /// Compares two values of any types as MongoDB sorts them.
    #[inline]
    pub(crate) fn compare(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        match &self.0 {
            None => compare(a, b),
            Some(language) => compare_by(a, b, &|a, b| language.rules.compare(a, b)),
        }
    }

    /// Whether the two are the same value.
    #[inline]
    pub(crate) fn equal(&self, a: &Value<'_>, b: &Value<'_>) -> bool {
        self.compare(a, b).is_eq()
    }

    /// Appends the component of one value: the order of components as bytes is the order of [`Collation::compare`].
    #[inline]
    pub(crate) fn encode(&self, value: &Value<'_>, descending: bool, out: &mut Vec<u8>) {
        key::encode_by(value, descending, self, out);
    }

    /// Appends the bytes that stand for a string in keys; `false` and nothing where they are its own.
    pub(crate) fn write_text(&self, text: &str, out: &mut Vec<u8>) -> bool {
        match &self.0 {
            None => false,
            Some(language) => {
                language.rules.write_key(text, out);
                true
            }
        }
    }

    /// The value with every string in it replaced by the bytes that stand for it, in hexadecimal: what messages show
    /// of keys.
    pub(crate) fn revealed(&self, value: &Value<'_>) -> Owned {
        match *value {
            _ if self.is_simple() => (*value).into(),
            Value::String(text) | Value::Symbol(text) => {
                let mut key = Vec::new();
                self.write_text(text, &mut key);
                Owned::String(key.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            Value::Document(doc) => Owned::Document(
                doc.elements()
                    .map(|element| (element.name_str().to_owned(), self.revealed(&element.value())))
                    .collect(),
            ),
            Value::Array(items) => Owned::Array(items.values().map(|item| self.revealed(&item)).collect()),
            other => other.into(),
        }
    }
}

impl PartialEq for Collation {
    fn eq(&self, other: &Collation) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own.spec == other.spec,
            _ => false,
        }
    }
}

impl std::fmt::Debug for Collation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Whether a comparison with the value depends on the collation: it is a string, or holds one.
pub(crate) fn has_text(value: &Value<'_>) -> bool {
    match value {
        Value::String(_) | Value::Symbol(_) => true,
        Value::Document(doc) | Value::Array(doc) => doc.values().any(|inner| has_text(&inner)),
        _ => false,
    }
}

/// Whether all strings in the value are this one, or the first of them where there is none yet: such compare as equal
/// whatever the collation.
pub(crate) fn is_one_text<'a>(value: &Value<'a>, text: &mut Option<&'a str>) -> bool {
    match value {
        Value::String(own) | Value::Symbol(own) => *text.get_or_insert(own) == *own,
        Value::Document(doc) | Value::Array(doc) => doc.values().all(|inner| is_one_text(&inner, text)),
        _ => true,
    }
}

/// Refuses a collation that is not the view's own.
pub(crate) fn refuse_other(asked: Option<&Collation>, own: &Collation) -> Result<()> {
    match asked {
        Some(asked) if asked != own => Err(Fault::new(
            code::OPTION_NOT_SUPPORTED_ON_VIEW,
            "Cannot override a view's default collation",
        )),
        _ => Ok(()),
    }
}
