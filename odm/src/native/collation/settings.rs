//! Collation documents: what each setting may be, and what it is where nothing is said.

use super::super::document::number::whole;
use super::super::document::{Doc, Once, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::locale::{self, Locale};

/// The version that the server's rules have. The engine's own are newer.
const VERSION: &str = "57.1";

/// The settings of a collation, all of them.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) locale: &'static Locale,
    /// The variant of the locale's rules, as the server calls it.
    pub(super) variant: Option<&'static str>,
    pub(super) strength: i32,
    pub(super) case_level: bool,
    pub(super) case_first: CaseFirst,
    pub(super) numeric: bool,
    pub(super) alternate: Alternate,
    pub(super) max_variable: MaxVariable,
    pub(super) normalization: bool,
    pub(super) backwards: bool,
}

/// Which of two strings that differ in case only comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseFirst {
    Off,
    Upper,
    Lower,
}

/// What becomes of spaces and punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alternate {
    NonIgnorable,
    Shifted,
}

/// What `alternate` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaxVariable {
    Punctuation,
    Space,
}

impl CaseFirst {
    const ALL: [(&'static str, CaseFirst); 3] = [
        ("off", CaseFirst::Off),
        ("upper", CaseFirst::Upper),
        ("lower", CaseFirst::Lower),
    ];
}

impl Alternate {
    const ALL: [(&'static str, Alternate); 2] = [
        ("non-ignorable", Alternate::NonIgnorable),
        ("shifted", Alternate::Shifted),
    ];
}

impl MaxVariable {
    const ALL: [(&'static str, MaxVariable); 2] =
        [("punct", MaxVariable::Punctuation), ("space", MaxVariable::Space)];
}

/// The settings as written.
#[derive(Default)]
struct Written<'a> {
    locale: Option<&'a str>,
    strength: Option<i32>,
    case_level: Option<bool>,
    case_first: Option<CaseFirst>,
    numeric: Option<bool>,
    alternate: Option<Alternate>,
    max_variable: Option<MaxVariable>,
    normalization: Option<bool>,
    backwards: Option<bool>,
    version: Option<&'a str>,
}

impl Settings {
    /// Reads a collation document that stands in the field `at`; `None` for the comparison of bytes.
    pub(super) fn parse(doc: Doc<'_>, at: &str) -> Result<Option<Settings>> {
        Written::read(doc, at)?.resolved(doc)
    }

    /// Checks what the collation of a new collection is made of.
    pub(super) fn check_form(doc: Doc<'_>) -> Result<()> {
        Written::read(doc, "create.collation").map(drop)
    }

    /// Reads the collation of a new collection: the server fills in what is not said before it asks the language.
    pub(super) fn parse_filled(doc: Doc<'_>) -> Result<Option<Settings>> {
        let mut written = Written::read(doc, "create.collation")?;
        written.strength.get_or_insert(3);
        written.case_level.get_or_insert(false);
        written.case_first.get_or_insert(CaseFirst::Off);
        written.numeric.get_or_insert(false);
        written.alternate.get_or_insert(Alternate::NonIgnorable);
        written.max_variable.get_or_insert(MaxVariable::Punctuation);
        written.normalization.get_or_insert(false);
        let shown = written.fields();
        written.resolved(Doc::Fields(&shown))
    }

    /// The document that the server lists.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let name = self.locale.with_variant(self.variant);
        let written = Written {
            locale: Some(&name),
            strength: Some(self.strength),
            case_level: Some(self.case_level),
            case_first: Some(self.case_first),
            numeric: Some(self.numeric),
            alternate: Some(self.alternate),
            max_variable: Some(self.max_variable),
            normalization: Some(self.normalization),
            backwards: Some(self.backwards),
            version: Some(VERSION),
        };
        Doc::Fields(&written.fields()).to_bytes()
    }
}

impl<'a> Written<'a> {
    fn read(doc: Doc<'a>, at: &str) -> Result<Written<'a>> {
        let mut written = Written::default();
        let mut once = Once::within(at);
        for element in doc.elements() {
            let (name, value) = (element.name_str(), element.value());
            let known = matches!(
                name,
                "locale"
                    | "strength"
                    | "caseLevel"
                    | "caseFirst"
                    | "numericOrdering"
                    | "alternate"
                    | "maxVariable"
                    | "normalization"
                    | "backwards"
                    | "version"
            );
            if !known {
                return Err(Fault::unknown_field(at, name));
            }
            once.see(&element)?;
            if matches!(value, Value::Null | Value::Undefined) && name != "backwards" {
                continue;
            }
            let field = Field { at, name, value };
            match name {
                "locale" => written.locale = Some(field.text()?),
                "version" => written.version = Some(field.text()?),
                "strength" => written.strength = Some(field.strength()?),
                "caseLevel" => written.case_level = Some(field.flag()?),
                "numericOrdering" => written.numeric = Some(field.flag()?),
                "normalization" => written.normalization = Some(field.flag()?),
                "caseFirst" => written.case_first = Some(field.choice(&CaseFirst::ALL)?),
                "alternate" => written.alternate = Some(field.choice(&Alternate::ALL)?),
                "maxVariable" => written.max_variable = Some(field.choice(&MaxVariable::ALL)?),
                _ => written.backwards = Some(field.given_flag()?),
            }
        }
        match written.locale {
            Some(_) => Ok(written),
            None => Err(Fault::new(
                40414,
                format!("BSON field '{at}.locale' is missing but a required field"),
            )),
        }
    }

    fn resolved(&self, shown: Doc<'_>) -> Result<Option<Settings>> {
        let bad = |message: String| Err(Fault::new(code::BAD_VALUE, message));
        let name = self.locale.unwrap_or_default();
        if name == "simple" {
            return Ok(None);
        }
        if name.contains('\0') {
            return bad(format!(
                "Field 'locale' cannot contain null byte. Collation spec: {shown}"
            ));
        }
        if name.is_empty() {
            return bad(format!("Field 'locale' cannot be the empty string in: {shown}"));
        }
        let Some((locale, variant)) = locale::find(name) else {
            return bad(match locale::nearest(name) {
                None => format!("Field 'locale' is invalid in: {shown}"),
                Some(near) => format!("Field 'locale' is invalid in: {shown}. Did you mean '{near}'?"),
            });
        };
        if self.strength == Some(0) {
            return bad(
                "Enumeration value '0' for field 'collation.strength' is not a valid value.".to_owned(),
            );
        }
        if let Some(version) = self.version.filter(|version| *version != VERSION) {
            return Err(Fault::new(
                161,
                format!(
                    "Requested collation version {version} but the only available collator version was {VERSION}. \
                     Requested collation spec: {shown}"
                ),
            ));
        }
        let settings = Settings {
            locale,
            variant,
            strength: self.strength.unwrap_or(3),
            case_level: self.case_level.unwrap_or(false),
            case_first: self.case_first.unwrap_or(match locale.puts_upper_case_first() {
                true => CaseFirst::Upper,
                false => CaseFirst::Off,
            }),
            numeric: self.numeric.unwrap_or(false),
            alternate: self.alternate.unwrap_or(match locale.shifts() {
                true => Alternate::Shifted,
                false => Alternate::NonIgnorable,
            }),
            max_variable: self.max_variable.unwrap_or(MaxVariable::Punctuation),
            normalization: self.normalization.unwrap_or(locale.normalizes()),
            backwards: self.backwards.unwrap_or(locale.is_backwards()),
        };
        if settings.backwards && settings.strength == 1 {
            return bad(format!("'backwards' is invalid with 'strength' of 1 in: {shown}"));
        }
        if settings.case_first != CaseFirst::Off && !settings.case_level && settings.strength < 3 {
            return bad(format!(
                "'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2 in: {shown}"
            ));
        }
        Ok(Some(settings))
    }

    /// What is said, in the server's order.
    fn fields(&self) -> Vec<(String, Owned)> {
        let text = |text: &str| Owned::String(text.to_owned());
        let fields = [
            ("locale", self.locale.map(text)),
            ("caseLevel", self.case_level.map(Owned::Bool)),
            (
                "caseFirst",
                self.case_first.and_then(|own| name_of(&CaseFirst::ALL, own)),
            ),
            ("strength", self.strength.map(Owned::Int32)),
            ("numericOrdering", self.numeric.map(Owned::Bool)),
            (
                "alternate",
                self.alternate.and_then(|own| name_of(&Alternate::ALL, own)),
            ),
            (
                "maxVariable",
                self.max_variable.and_then(|own| name_of(&MaxVariable::ALL, own)),
            ),
            ("normalization", self.normalization.map(Owned::Bool)),
            ("backwards", self.backwards.map(Owned::Bool)),
            ("version", self.version.map(text)),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

fn name_of<T: PartialEq>(all: &[(&'static str, T)], wanted: T) -> Option<Owned> {
    let (name, _) = all.iter().find(|(_, own)| *own == wanted)?;
    Some(Owned::String((*name).to_owned()))
}

/// One field of a collation document.
struct Field<'a, 'v> {
    at: &'a str,
    name: &'a str,
    value: Value<'v>,
}

impl<'v> Field<'_, 'v> {
    fn wrong_type(&self, expected: &str) -> Fault {
        Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field '{}.{}' is the wrong type '{}', expected {expected}",
                self.at,
                self.name,
                self.value.kind().alias()
            ),
        )
    }

    fn text(&self) -> Result<&'v str> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong_type("type 'string'")),
        }
    }

    fn flag(&self) -> Result<bool> {
        match self.value {
            Value::Bool(flag) => Ok(flag),
            _ => Err(self.wrong_type("type 'bool'")),
        }
    }

    /// A bool, and not `null` either.
    fn given_flag(&self) -> Result<bool> {
        match self.value {
            Value::Bool(flag) => Ok(flag),
            _ => Err(Fault::new(
                code::TYPE_MISMATCH,
                format!(
                    "Field '{}' should be a boolean value, but found: {}",
                    self.name,
                    self.value.kind().alias()
                ),
            )),
        }
    }

    /// Zero is in the range, but no strength of a language.
    fn strength(&self) -> Result<i32> {
        let Some(strength) = whole(&self.value) else {
            return Err(self.wrong_type("types '[long, int, decimal, double']"));
        };
        // A number beyond the range is at its end.
        let end = if strength < 0 { i32::MIN } else { i32::MAX };
        let strength = i32::try_from(strength).unwrap_or(end);
        let bound = |which: &str, bound: i32| {
            Err(Fault::new(
                51024,
                format!("BSON field 'strength' value must be {which} {bound}, actual value '{strength}'"),
            ))
        };
        match strength {
            0..=5 => Ok(strength),
            6.. => bound("<=", 5),
            _ => bound(">=", 0),
        }
    }

    fn choice<T: Copy>(&self, all: &[(&'static str, T)]) -> Result<T> {
        let text = self.text()?;
        all.iter()
            .find(|(name, _)| *name == text)
            .map(|(_, own)| *own)
            .ok_or_else(|| self.no_choice(text))
    }

    fn no_choice(&self, given: &str) -> Fault {
        Fault::new(
            code::BAD_VALUE,
            format!(
                "Enumeration value '{given}' for field '{}.{}' is not a valid value.",
                self.at, self.name
            ),
        )
    }
}
