//! Rules about numbers, strings, single values and types.

use super::super::super::super::document::{Fields, Value};
use super::super::super::super::matcher::pattern::Pattern;
use super::super::reason::{field, text};
use super::{Level, NEVER, stated_types};

/// Each with the keyword that changes what it means.
const NUMBER: &[(&[&str], &str)] = &[
    (
        &["multipleOf"],
        "considered value is not a multiple of the specified value",
    ),
    (&["maximum", "exclusiveMaximum"], "comparison failed"),
    (&["minimum", "exclusiveMinimum"], "comparison failed"),
];

const TEXT: &[(&[&str], &str)] = &[
    (&["pattern"], "regular expression did not match"),
    (&["maxLength"], "specified string length was not satisfied"),
    (&["minLength"], "specified string length was not satisfied"),
];

impl Level<'_> {
    pub(super) fn number_rules(self) -> Vec<Fields> {
        self.rules_of_value(NUMBER)
    }

    pub(super) fn text_rules(self) -> Vec<Fields> {
        self.rules_of_value(TEXT)
    }

    /// `pattern`, which is asked of whatever is there where only a string may be: what is no string may match it too.
    pub(super) fn pattern_of_no_string(self) -> Option<Fields> {
        let Some(Value::String(pattern)) = self.schema.get("pattern") else {
            return None;
        };
        let is_broken = match self.value? {
            Value::Regex {
                pattern: own,
                options,
            } => (own, options) != (pattern, ""),
            Value::Symbol(text) => !Pattern::parse(pattern, "").is_ok_and(|pattern| pattern.is_match(text)),
            _ => false,
        };
        let is_asked = stated_types(self.schema) == ["string"];
        (is_asked && is_broken).then(|| self.rule_of_value(&["pattern"], "regular expression did not match"))
    }

    fn rules_of_value(self, rules: &[(&[&str], &str)]) -> Vec<Fields> {
        let broken = rules.iter().filter(|(keywords, _)| !self.satisfies(keywords));
        broken
            .map(|(keywords, reason)| self.rule_of_value(keywords, reason))
            .collect()
    }

    /// `enum`. A list without a document is for no whole document.
    pub(super) fn variants(self) -> Option<Fields> {
        if self.satisfies(&["enum"]) {
            return None;
        }
        let has_documents = match self.schema.get("enum") {
            Some(Value::Array(variants)) => {
                variants.values().any(|value| matches!(value, Value::Document(_)))
            }
            _ => false,
        };
        if self.whole && !has_documents {
            let mut rule = self.rule(&["enum"]);
            rule.push(field("reason", text(NEVER)));
            return Some(rule);
        }
        Some(self.rule_of_value(&["enum"], "value was not found in enum"))
    }

    /// `type` or `bsonType`.
    pub(super) fn types(self) -> Option<Fields> {
        let keyword = ["type", "bsonType"]
            .into_iter()
            .find(|keyword| !self.satisfies(&[keyword]))?;
        let mut rule = self.rule_of_value(&[keyword], "type did not match");
        let value = self.value?;
        rule.push(field("consideredType", text(value.kind().alias())));
        Some(rule)
    }
}
