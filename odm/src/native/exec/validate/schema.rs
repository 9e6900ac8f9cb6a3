//! Why a document does not satisfy a JSON schema, rule by rule.

mod array;
mod choice;
mod object;
mod scalar;

use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::matcher::schema::Schema;
use super::reason::{field, text};

/// Why a value does not satisfy a schema.
pub(super) enum Because {
    /// No document does.
    Impossible(Fields),
    /// These rules are broken.
    Rules(Vec<Owned>),
}

impl Because {
    fn into_details(self) -> (String, Owned) {
        field(
            "details",
            match self {
                Because::Impossible(explained) => Owned::Document(explained),
                Because::Rules(rules) => Owned::Array(rules),
            },
        )
    }
}

/// Why the document does not satisfy the schema.
pub(super) fn of_document(schema: Doc<'_>, doc: Doc<'_>) -> Because {
    Level {
        schema,
        value: Some(Value::Document(doc)),
        whole: true,
    }
    .because()
}

/// The title and the description of a schema.
pub(super) fn about(schema: Doc<'_>) -> Fields {
    ["title", "description"]
        .iter()
        .filter_map(|name| Some(field(name, schema.get(name)?.into())))
        .collect()
}

/// Whether the types that a schema states are those of documents too.
fn is_possible(schema: Doc<'_>) -> bool {
    let names = stated_types(schema);
    names.is_empty() || names.contains(&"object")
}

/// The names of the types that a schema allows; all if none.
fn stated_types(schema: Doc<'_>) -> Vec<&str> {
    match schema.get("bsonType").or_else(|| schema.get("type")) {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.values().filter_map(|name| name.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// A schema beside the value that is held against it.
#[derive(Clone, Copy)]
struct Level<'a> {
    schema: Doc<'a>,
    /// `None`: a field that is required is missing. The server holds that against its schema too.
    value: Option<Value<'a>>,
    /// The value is the whole document.
    whole: bool,
}

/// What a keyword is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Number,
    Text,
    Array,
    Object,
}

impl Class {
    fn of_value(value: &Value<'_>) -> Option<Class> {
        Some(match value {
            Value::String(_) => Class::Text,
            Value::Array(_) => Class::Array,
            Value::Document(_) => Class::Object,
            number if number.is_number() => Class::Number,
            _ => return None,
        })
    }

    fn of_type(name: &str) -> Option<Class> {
        Some(match name {
            "string" => Class::Text,
            "array" => Class::Array,
            "object" => Class::Object,
            "number" | "double" | "int" | "long" | "decimal" => Class::Number,
            _ => return None,
        })
    }
}

impl<'a> Level<'a> {
    /// The same rules for a value inside.
    fn inside(schema: Doc<'a>, value: Value<'a>) -> Level<'a> {
        Level {
            schema,
            value: Some(value),
            whole: false,
        }
    }

    /// Another schema for the same value.
    fn by(self, schema: Doc<'a>) -> Level<'a> {
        Level { schema, ..self }
    }

    fn is_satisfied(self) -> bool {
        let Some(value) = self.value else {
            return self.is_satisfied_by_nothing();
        };
        let parsed = match self.whole {
            true => Schema::parse(self.schema),
            false => Schema::parse_member(self.schema),
        };
        parsed.is_ok_and(|schema| schema.accepts(&value))
    }

    /// Whether the value satisfies the keyword, with the others that change what it means.
    fn satisfies(self, keywords: &[&str]) -> bool {
        let alone = Doc::Fields(&self.given(keywords)).to_bytes();
        let level = Level {
            schema: Doc::Raw(&alone),
            value: self.value,
            whole: self.whole,
        };
        level.is_satisfied()
    }

    /// Those of the keywords that the schema has.
    fn given(self, keywords: &[&str]) -> Fields {
        keywords
            .iter()
            .filter_map(|name| Some(field(name, self.schema.get(name)?.into())))
            .collect()
    }

    /// Whether rules about a class of values hold here: one type that is stated alone silences those about others.
    fn is_about(self, class: Class) -> bool {
        let stated = stated_types(self.schema);
        let silenced = matches!(stated.as_slice(), [only] if Class::of_type(only) != Some(class));
        self.value.as_ref().and_then(Class::of_value) == Some(class) && !silenced
    }

    fn because(self) -> Because {
        if self.whole && !is_possible(self.schema) {
            let schema = Owned::RawDocument(self.schema.to_bytes());
            return Because::Impossible(vec![
                field("operatorName", text("$jsonSchema")),
                field("specifiedAs", Owned::Document(vec![field("$jsonSchema", schema)])),
                field("reason", text(NEVER)),
            ]);
        }
        Because::Rules(self.broken())
    }

    /// The rules that the value breaks, in the server's order.
    fn broken(self) -> Vec<Owned> {
        let mut rules = Vec::new();
        if self.is_about(Class::Number) {
            rules.extend(self.number_rules());
        }
        if self.is_about(Class::Text) {
            rules.extend(self.text_rules());
        }
        rules.extend(self.pattern_of_no_string());
        if self.is_about(Class::Array)
            && let Some(Value::Array(items)) = self.value
        {
            rules.extend(self.array_rules(items));
        }
        if let Some(Value::Document(doc)) = self.value {
            if self.is_about(Class::Object) {
                rules.extend(self.object_rules(doc));
            }
            rules.extend(self.dependencies());
        }
        rules.extend(self.choices());
        if self.value.is_some() {
            rules.extend(self.variants());
            rules.extend(self.types());
        }
        rules.into_iter().map(Owned::Document).collect()
    }

    /// A broken rule: the keyword, then as it is written, with those that change what it means.
    fn rule(self, keywords: &[&str]) -> Fields {
        let mut given = self.given(keywords);
        given.retain(|(name, value)| !(name.starts_with("exclusive") && matches!(value, Owned::Bool(false))));
        vec![
            field("operatorName", text(keywords.first().unwrap_or(&""))),
            field("specifiedAs", Owned::Document(given)),
        ]
    }

    /// A broken rule about the value itself.
    fn rule_of_value(self, keywords: &[&str], reason: &str) -> Fields {
        let mut rule = self.rule(keywords);
        rule.push(field("reason", text(reason)));
        rule.extend(self.value.map(|value| field("consideredValue", value.into())));
        rule
    }
}

const NEVER: &str = "expression always evaluates to false";
