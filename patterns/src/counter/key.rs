//! What is counted.

use std::fmt::Write as _;

use odm::bson::{Bson, Document};
use odm::{Error, ErrorKind, Result};

/// What a figure is of: names and values of any number of dimensions, in no order.
///
/// Values are texts, whole numbers, booleans, dates or object ids. Two keys are the same when their dimensions are;
/// a number of 32 bits is the same as one of 64.
///
/// ```
/// use odm_patterns::counter::Key;
///
/// let key = Key::of("page", "/index.html").and("status", 200);
/// assert_eq!(key, Key::of("status", 200_i64).and("page", "/index.html"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    /// Sorted by name.
    dimensions: Vec<(String, Bson)>,
}

impl Key {
    /// The key without dimensions: where only one thing is counted.
    pub fn none() -> Key {
        Key::default()
    }

    /// The key of one dimension.
    pub fn of(name: impl Into<String>, value: impl Into<Bson>) -> Key {
        Key::none().and(name, value)
    }

    /// The same with one dimension more; another value for one that is there.
    pub fn and(mut self, name: impl Into<String>, value: impl Into<Bson>) -> Key {
        let name = name.into();
        let value = match value.into() {
            Bson::Int32(number) => Bson::Int64(number.into()),
            value => value,
        };
        match self.dimensions.binary_search_by(|(own, _)| own.cmp(&name)) {
            Ok(at) => self.dimensions[at].1 = value,
            Err(at) => self.dimensions.insert(at, (name, value)),
        }
        self
    }

    /// The value of a dimension.
    pub fn get(&self, name: &str) -> Option<&Bson> {
        let found = self
            .dimensions
            .binary_search_by(|(own, _)| own.as_str().cmp(name));
        found.ok().map(|at| &self.dimensions[at].1)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Bson)> {
        self.dimensions.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn document(&self) -> Document {
        self.dimensions.iter().cloned().collect()
    }

    pub(super) fn read(document: &Document) -> Key {
        let pairs = document.iter().map(|(name, value)| (name.clone(), value.clone()));
        pairs.fold(Key::none(), |key, (name, value)| key.and(name, value))
    }

    /// The key as text: no two keys have the same.
    pub(super) fn text(&self) -> Result<String> {
        let mut text = String::new();
        for (name, value) in &self.dimensions {
            if name.is_empty() || name.starts_with('$') || name.contains(['.', '\0']) {
                let error = Error::new(
                    ErrorKind::InvalidArgument,
                    "the name cannot be that of a dimension",
                );
                return Err(error.with_path(name.as_str()));
            }
            if !text.is_empty() {
                text.push('&');
            }
            escape(&mut text, name);
            text.push('=');
            match value {
                Bson::String(value) => escape(&mut text, value),
                Bson::Int64(value) => write!(text, "~i{value}").unwrap_or(()),
                Bson::Boolean(value) => write!(text, "~b{value}").unwrap_or(()),
                Bson::DateTime(value) => write!(text, "~d{}", value.timestamp_millis()).unwrap_or(()),
                Bson::ObjectId(value) => write!(text, "~o{value}").unwrap_or(()),
                _ => {
                    let text = "dimensions are texts, whole numbers, booleans, dates or object ids";
                    return Err(Error::new(ErrorKind::InvalidArgument, text).with_path(name.as_str()));
                }
            }
        }
        Ok(text)
    }
}

/// Leaves no character that separates.
fn escape(text: &mut String, part: &str) {
    for character in part.chars() {
        match character {
            '%' | '&' | '=' | ':' | '~' => write!(text, "%{:02X}", u32::from(character)).unwrap_or(()),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_have_one_text() {
        let keys = [
            Key::none(),
            Key::of("a", "1"),
            Key::of("a", 1),
            Key::of("a", "~i1"),
            Key::of("a", "%7Ei1"),
            Key::of("a", "1&b=2"),
            Key::of("a", "1").and("b", "2"),
            Key::of("a=1&b", "2"),
            Key::of("a", true),
            Key::of("a", "x:01"),
        ];
        let mut texts: Vec<String> = keys.iter().map(|key| key.text().unwrap()).collect();
        assert!(texts.iter().all(|text| !text.contains(':')));
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), keys.len());
        assert!(Key::of("a", 1.5).text().is_err() && Key::of("a.b", 1).text().is_err());
    }
}
