//! Groups of fields and constants alone: their values are found in one walk over a document.

use super::super::super::super::document::raw::RawFields;
use super::super::super::super::document::{Owned, Value};
use super::super::super::expression::Expression;

/// The most fields that are looked for at once.
const MOST: usize = 8;

/// Where the values of a group come from.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    fields: Vec<String>,
    /// Of what is grouped by, then of the accumulators.
    sources: Vec<Source>,
}

#[derive(Clone, Debug)]
enum Source {
    Field(usize),
    Constant(Owned),
}

/// The values of a document's fields.
pub(super) type Values<'a> = [Option<Value<'a>>; MOST];

impl Plain {
    /// `None` where some expression is another.
    pub(super) fn of<'a>(expressions: impl Iterator<Item = &'a Expression>) -> Option<Plain> {
        let mut plain = Plain {
            fields: Vec::new(),
            sources: Vec::new(),
        };
        for expression in expressions {
            let source = match (expression.as_constant(), expression.as_field()) {
                (Some(constant), _) => Source::Constant(constant.clone()),
                (None, field) => {
                    let field = field?;
                    let known = plain.fields.iter().position(|other| other == field);
                    Source::Field(known.unwrap_or_else(|| {
                        plain.fields.push(field.to_owned());
                        plain.fields.len() - 1
                    }))
                }
            };
            plain.sources.push(source);
        }
        (plain.fields.len() <= MOST).then_some(plain)
    }

    /// Finds the fields of a raw document, of duplicate names the first.
    pub(super) fn values<'a>(&self, row: &'a [u8]) -> Values<'a> {
        let mut values = [None; MOST];
        let mut missing = self.fields.len();
        let mut fields = RawFields::new(row);
        while missing > 0
            && let Some(field) = fields.next()
        {
            let wanted = self.fields.iter().zip(&mut values);
            for (name, value) in wanted {
                if field.is_named(name) {
                    if value.is_none() {
                        *value = Some(field.value());
                        missing -= 1;
                    }
                    break;
                }
            }
        }
        values
    }

    /// The value of one expression, by its place.
    pub(super) fn value<'a>(&'a self, values: &Values<'a>, place: usize) -> Option<Value<'a>> {
        match self.sources.get(place)? {
            Source::Field(field) => values.get(*field).copied().flatten(),
            Source::Constant(constant) => Some(constant.as_value()),
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, bson, serialize_to_vec};

    use super::*;

    fn plain(expressions: &[Bson]) -> Option<Plain> {
        let parsed: Vec<Expression> = expressions
            .iter()
            .map(|expression| {
                let bytes = serialize_to_vec(&bson::doc! { "e": expression.clone() }).unwrap();
                let doc = super::super::super::super::super::document::Doc::Raw(&bytes);
                Expression::parse(&doc.get("e").unwrap(), &[]).unwrap()
            })
            .collect();
        Plain::of(parsed.iter())
    }

    #[test]
    fn fields_are_found_in_one_walk() {
        let plain = plain(&[bson!("$a"), bson!(1), bson!("$b"), bson!("$a"), bson!("$none")]).unwrap();
        // Of two fields with one name the first counts.
        let mut row = serialize_to_vec(&bson::doc! { "x": 0, "b": 2, "a": 3, "c": 4 }).unwrap();
        let c = row.len() - 7;
        row[c] = b'a';
        let values = plain.values(&row);
        let found: Vec<Option<i32>> = (0..6)
            .map(|place| match plain.value(&values, place) {
                Some(Value::Int32(value)) => Some(value),
                _ => None,
            })
            .collect();
        assert_eq!(found, [Some(3), Some(1), Some(2), Some(3), None, None]);
    }

    #[test]
    fn other_expressions_are_evaluated() {
        assert!(plain(&[bson!("$a.b")]).is_none());
        assert!(plain(&[bson!("$a"), bson!({ "$add": ["$a", 1] })]).is_none());
        assert!(plain(&[bson!("$$ROOT")]).is_none());
        let fields: Vec<Bson> = (0..=MOST).map(|n| bson!(format!("$f{n}"))).collect();
        assert!(plain(&fields).is_none());
        assert!(plain(&fields[1..]).is_some());
    }
}
