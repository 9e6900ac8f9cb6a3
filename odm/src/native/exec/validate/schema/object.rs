//! Rules about documents.

use super::super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::super::matcher::ast::FieldPath;
use super::super::super::super::matcher::pattern::Pattern;
use super::super::super::super::matcher::reach::{self, End, Gap};
use super::super::leaf::{MOST_VALUES, considered, considered_types};
use super::super::reason::{field, text};
use super::{Because, Level, about};

impl<'a> Level<'a> {
    pub(super) fn object_rules(self, doc: Doc<'a>) -> Vec<Fields> {
        let mut rules = Vec::new();
        rules.extend(self.properties(doc));
        rules.extend(self.additional_properties(doc));
        rules.extend(self.pattern_properties(doc));
        let required = self.schema.get("required").and_then(|names| names.as_array());
        let mut missing = required.map_or_else(Vec::new, |names| self.missing(names));
        missing.sort_unstable();
        if !missing.is_empty() {
            let mut rule = self.rule(&["required"]);
            rule.push(field("missingProperties", texts(missing)));
            rules.push(rule);
        }
        for keyword in ["minProperties", "maxProperties"] {
            if !self.satisfies(&[keyword]) {
                let mut rule = self.rule(&[keyword]);
                let reason = "specified number of properties was not satisfied";
                rule.push(field("reason", text(reason)));
                rule.push(field("numberOfProperties", Owned::Int32(doc.count() as i32)));
                rules.push(rule);
            }
        }
        rules
    }

    fn properties(self, doc: Doc<'a>) -> Option<Fields> {
        let properties = self.schema.get("properties")?.as_document()?;
        let mut failed = Vec::new();
        for property in properties.elements() {
            let name = property.name_str();
            let Value::Document(schema) = property.value() else {
                continue;
            };
            let value = at(doc, name);
            let inside = match value {
                Some(_) => Vec::new(),
                None => in_arrays(schema, doc, name),
            };
            if !inside.is_empty() {
                failed.push(not_satisfied(name, schema, Because::Rules(inside).into_details()));
                continue;
            }
            let level = Level {
                schema,
                value,
                whole: false,
            };
            if value.is_none() && !self.requires(name) || level.is_satisfied() {
                continue;
            }
            let because = level.because();
            if value.is_none() && matches!(&because, Because::Rules(rules) if rules.is_empty()) {
                continue;
            }
            failed.push(not_satisfied(name, schema, because.into_details()));
        }
        (!failed.is_empty()).then(|| {
            vec![
                field("operatorName", text("properties")),
                field("propertiesNotSatisfied", Owned::Array(failed)),
            ]
        })
    }

    fn requires(self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(|names| names.as_array());
        required.is_some_and(|names| names.values().any(|own| own.as_str() == Some(name)))
    }

    fn patterns(self) -> Vec<(&'a str, Pattern, Doc<'a>)> {
        let patterns = self.schema.get("patternProperties");
        let Some(Value::Document(patterns)) = patterns else {
            return Vec::new();
        };
        patterns
            .elements()
            .filter_map(|element| {
                let pattern = Pattern::parse(element.name_str(), "").ok()?;
                Some((element.name_str(), pattern, element.value().as_document()?))
            })
            .collect()
    }

    /// The fields that neither `properties` nor `patternProperties` name.
    fn unnamed(self, doc: Doc<'a>) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let named = self
            .schema
            .get("properties")
            .and_then(|named| named.as_document());
        let patterns = self.patterns();
        let elements = doc.elements();
        let fields = elements.map(|element| (element.name_str(), element.value()));
        fields.filter(move |(name, _)| {
            named.is_none_or(|named| named.get(name).is_none())
                && !patterns.iter().any(|(_, pattern, _)| pattern.is_match(name))
        })
    }

    fn additional_properties(self, doc: Doc<'a>) -> Option<Fields> {
        match self.schema.get("additionalProperties")? {
            Value::Bool(false) => {
                let names: Vec<Owned> = self.unnamed(doc).map(|(name, _)| text(name)).collect();
                if names.is_empty() {
                    return None;
                }
                let mut rule = self.rule(&["additionalProperties"]);
                rule.push(field("additionalProperties", Owned::Array(names)));
                Some(rule)
            }
            Value::Document(schema) => {
                let mut levels = self
                    .unnamed(doc)
                    .map(|(name, value)| (name, Level::inside(schema, value)));
                let (name, level) = levels.find(|(_, level)| !level.is_satisfied())?;
                let mut rule = vec![field("operatorName", text("additionalProperties"))];
                rule.extend(about(schema));
                let reason = "at least one additional property did not match the subschema";
                rule.push(field("reason", text(reason)));
                rule.push(field("failingProperty", text(name)));
                rule.push(level.because().into_details());
                Some(rule)
            }
            _ => None,
        }
    }

    /// The first field of each pattern that does not satisfy its schema.
    fn pattern_properties(self, doc: Doc<'a>) -> Option<Fields> {
        let mut failed = Vec::new();
        for (written, pattern, schema) in self.patterns() {
            let mut levels = doc
                .elements()
                .filter(|element| pattern.is_match(element.name_str()))
                .map(|element| (element.name_str(), Level::inside(schema, element.value())));
            let Some((name, level)) = levels.find(|(_, level)| !level.is_satisfied()) else {
                continue;
            };
            let mut entry = vec![field("propertyName", text(name))];
            entry.extend(about(schema));
            entry.push(field("regexMatched", text(written)));
            entry.push(level.because().into_details());
            failed.push(Owned::Document(entry));
        }
        (!failed.is_empty()).then(|| {
            vec![
                field("operatorName", text("patternProperties")),
                field("details", Owned::Array(failed)),
            ]
        })
    }

    /// `dependencies` of the fields that are there.
    pub(super) fn dependencies(self) -> Option<Fields> {
        let dependencies = self.schema.get("dependencies")?.as_document()?;
        let mut failed = Vec::new();
        for dependency in dependencies.elements() {
            let name = dependency.name_str();
            if !self.has(name) {
                continue;
            }
            let details = match dependency.value() {
                Value::Array(names) => match self.missing(names) {
                    missing if missing.is_empty() => continue,
                    missing => field("missingProperties", texts(missing)),
                },
                Value::Document(schema) if !self.by(schema).is_satisfied() => {
                    self.by(schema).because().into_details()
                }
                _ => continue,
            };
            let conditional = field("conditionalProperty", text(name));
            failed.push(Owned::Document(vec![conditional, details]));
        }
        (!failed.is_empty()).then(|| {
            vec![
                field("operatorName", text("dependencies")),
                field("failingDependencies", Owned::Array(failed)),
            ]
        })
    }

    /// Those of the names that lead nowhere in the document, in their order.
    fn missing<'n>(self, names: Doc<'n>) -> Vec<&'n str> {
        let names = names.values().filter_map(|name| name.as_str());
        names.filter(|name| !self.has(name)).collect()
    }

    /// Whether a path leads anywhere in the document.
    fn has(self, path: &str) -> bool {
        let names = Owned::Array(vec![text(path)]);
        let asked = Doc::Fields(&[field("required", names)]).to_bytes();
        let level = Level {
            schema: Doc::Raw(&asked),
            value: self.value,
            whole: self.whole,
        };
        level.is_satisfied()
    }
}

fn not_satisfied(name: &str, schema: Doc<'_>, details: (String, Owned)) -> Owned {
    let mut entry = vec![field("propertyName", text(name))];
    entry.extend(about(schema));
    entry.push(details);
    Owned::Document(entry)
}

/// The value of a property. A name with dots is a path; here it leads through documents.
fn at<'a>(doc: Doc<'a>, name: &str) -> Option<Value<'a>> {
    let mut value = Value::Document(doc);
    for name in name.split('.') {
        let Value::Document(inner) = value else {
            return None;
        };
        value = inner.get(name)?;
    }
    Some(value)
}

/// The rules that all values break which a path reaches through arrays. The server tells those about values as such.
fn in_arrays(schema: Doc<'_>, doc: Doc<'_>, name: &str) -> Vec<Owned> {
    let values = reach::values(doc, &FieldPath::parse(name), End::Whole, Gap::Ends);
    let told = values.get(..MOST_VALUES).unwrap_or(&values);
    let mut rules = Vec::new();
    for rule in [Level::variants, Level::types] {
        let levels = values.iter().map(|value| Level::inside(schema, *value));
        let broken: Option<Vec<Fields>> = levels.map(rule).collect();
        let Some(mut rule) = broken.and_then(|broken| broken.into_iter().next()) else {
            continue;
        };
        let has_types = rule.iter().any(|(name, _)| name == "consideredType");
        rule.retain(|(name, _)| !name.starts_with("considered"));
        rule.extend(considered(told, values.len() > MOST_VALUES));
        if has_types {
            rule.extend(considered_types(told));
        }
        rules.push(Owned::Document(rule));
    }
    rules
}

fn texts(names: Vec<&str>) -> Owned {
    Owned::Array(names.into_iter().map(text).collect())
}
