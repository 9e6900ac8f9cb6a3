//! Schemas for paths, which can lead to several values: each rule may be satisfied by another one.

use super::{
    ArrayRules, Doc, End, FieldPath, Gap, NumberRules, ObjectRules, Schema, TextRules, Value, reach,
    same_unordered,
};

/// Whether a rule is about values of this class.
const CLASSES: [fn(&Value<'_>) -> bool; 4] = [
    |value| value.is_number(),
    |value| matches!(value, Value::String(_)),
    |value| matches!(value, Value::Array(_)),
    |value| matches!(value, Value::Document(_)),
];

impl Schema {
    /// Whether the values that a path reaches satisfy the schema, which is taken apart.
    pub(super) fn accepts_any_at(&self, doc: Doc<'_>, path: &FieldPath) -> bool {
        self.accepts_any(&reach::values(doc, path, End::Whole, Gap::Passed))
    }

    fn accepts_any(&self, values: &[Value<'_>]) -> bool {
        let any = |test: &dyn Fn(&Value<'_>) -> bool| values.iter().any(test);
        let listed = |value: &Value<'_>| {
            let mut variants = self.variants.iter().flatten();
            variants.any(|variant| same_unordered(&variant.as_value(), value))
        };
        self.types
            .is_none_or(|types| any(&|value| types.contains(value.kind())))
            && (self.variants.is_none() || any(&listed))
            && CLASSES
                .iter()
                .all(|class| !any(class) || any(&|value| self.accepts_of(class, value)))
            && self.all_of.iter().all(|schema| schema.accepts_any(values))
            && (self.any_of.is_empty() || self.any_of.iter().any(|schema| schema.accepts_any(values)))
            && (self.one_of.is_empty()
                || self
                    .one_of
                    .iter()
                    .filter(|schema| schema.accepts_any(values))
                    .count()
                    == 1)
            && self.not.as_ref().is_none_or(|schema| !schema.accepts_any(values))
    }

    /// Whether the rules about a class accept a value of that class, or an item of it.
    fn accepts_of(&self, class: &dyn Fn(&Value<'_>) -> bool, value: &Value<'_>) -> bool {
        let accepts = |value: &Value<'_>| class(value) && self.accepts_by_type(value);
        let rules_have_items = self.array.is_none() && self.object.is_none();
        accepts(value)
            || match value {
                Value::Array(items) if rules_have_items => items.values().any(|item| accepts(&item)),
                _ => false,
            }
    }

    /// Puts each rule about a class of values in a schema of its own. In place, for schemas nest deep.
    pub(super) fn take_apart(&mut self) {
        for schemas in [&mut self.all_of, &mut self.any_of, &mut self.one_of] {
            schemas.iter_mut().for_each(Schema::take_apart);
        }
        if let Some(schema) = &mut self.not {
            schema.take_apart();
        }
        self.move_rules();
    }

    #[inline(never)]
    fn move_rules(&mut self) {
        let parts = &mut self.all_of;
        parts.extend(self.number.take().into_iter().flat_map(NumberRules::apart));
        parts.extend(self.text.take().into_iter().flat_map(TextRules::apart));
        parts.extend(self.array.take().into_iter().flat_map(ArrayRules::apart));
        parts.extend(self.object.take().into_iter().flat_map(ObjectRules::apart));
    }
}

impl NumberRules {
    fn apart(self) -> impl Iterator<Item = Schema> {
        let own = |number: NumberRules| Schema {
            number: Some(number),
            ..Schema::default()
        };
        let minimum = own(NumberRules {
            minimum: self.minimum,
            ..NumberRules::default()
        });
        let maximum = own(NumberRules {
            maximum: self.maximum,
            ..NumberRules::default()
        });
        let multiple_of = own(NumberRules {
            multiple_of: self.multiple_of,
            ..NumberRules::default()
        });
        [minimum, maximum, multiple_of].into_iter()
    }
}

impl TextRules {
    fn apart(self) -> impl Iterator<Item = Schema> {
        let own = |text: TextRules| Schema {
            text: Some(text),
            ..Schema::default()
        };
        let least = own(TextRules {
            least: self.least,
            ..TextRules::default()
        });
        let most = own(TextRules {
            most: self.most,
            ..TextRules::default()
        });
        let pattern = own(TextRules {
            pattern: self.pattern,
            ..TextRules::default()
        });
        [least, most, pattern].into_iter()
    }
}

impl ArrayRules {
    fn apart(self) -> impl Iterator<Item = Schema> {
        let own = |array: ArrayRules| Schema {
            array: Some(array),
            ..Schema::default()
        };
        let least = own(ArrayRules {
            least: self.least,
            ..ArrayRules::default()
        });
        let most = own(ArrayRules {
            most: self.most,
            ..ArrayRules::default()
        });
        let unique = own(ArrayRules {
            unique: self.unique,
            ..ArrayRules::default()
        });
        let items = own(ArrayRules {
            tuple: self.tuple,
            rest: self.rest,
            ..ArrayRules::default()
        });
        [least, most, unique, items].into_iter()
    }
}

impl ObjectRules {
    fn apart(self) -> impl Iterator<Item = Schema> {
        let own = |object: ObjectRules| Schema {
            object: Some(object),
            ..Schema::default()
        };
        let least = own(ObjectRules {
            least: self.least,
            ..ObjectRules::default()
        });
        let most = own(ObjectRules {
            most: self.most,
            ..ObjectRules::default()
        });
        let required = own(ObjectRules {
            required: self.required,
            ..ObjectRules::default()
        });
        let dependencies = own(ObjectRules {
            dependencies: self.dependencies,
            ..ObjectRules::default()
        });
        let properties = own(ObjectRules {
            properties: self.properties,
            deep: self.deep,
            patterns: self.patterns,
            additional: self.additional,
            ..ObjectRules::default()
        });
        [least, most, required, dependencies, properties].into_iter()
    }
}
