//! Random updates.

use bson::{Bson, Document, bson, doc};

use super::expressions::{self, Kind};
use super::filters::condition;
use super::values::{FIELDS, INNER, document, number, path, scalar, value};
use crate::random::Random;

/// An update with what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The update: a document or a pipeline.
    pub(super) update: Bson,
    pub(super) array_filters: Vec<Document>,
    /// The array that a positional `$` needs the filter to look into.
    pub(super) positional: Option<String>,
}

impl Change {
    fn of(update: impl Into<Bson>) -> Change {
        Change {
            update: update.into(),
            array_filters: Vec::new(),
            positional: None,
        }
    }

    /// Whether it replaces whole documents.
    pub(super) fn replaces(&self) -> bool {
        let first = self.update.as_document().map(|update| update.keys().next());
        first.is_some_and(|first| !first.is_some_and(|name| name.starts_with('$')))
    }
}

/// A random update.
pub(super) fn update(random: &mut Random) -> Change {
    match random.below(16) {
        0 => {
            let mut replacement = document(random, 0);
            replacement.remove("_id");
            Change::of(replacement)
        }
        1..=2 => Change::of(pipeline(random)),
        3 => {
            let field = *random.pick(&["a", "l"]);
            let (target, filter) = match random.below(2) {
                0 => (
                    format!("{field}.$[e]"),
                    doc! { "e": Bson::Document(condition(random, 0)) },
                ),
                _ => (
                    format!("{field}.$[e].x"),
                    doc! { "e.x": Bson::Document(condition(random, 0)) },
                ),
            };
            let (operator, operand) = operation(random);
            Change {
                array_filters: vec![filter],
                ..Change::of(doc! { operator: { target: operand } })
            }
        }
        4 => {
            let field = *random.pick(&["a", "l"]);
            let target = match random.below(3) {
                0 => format!("{field}.$.x"),
                _ => format!("{field}.$"),
            };
            let (operator, operand) = operation(random);
            Change {
                positional: Some(field.to_owned()),
                ..Change::of(doc! { operator: { target: operand } })
            }
        }
        _ => {
            let mut out = Document::new();
            for _ in 0..1 + random.below(2) {
                let path = match random.below(12) {
                    0 => format!("{}.$[]", random.pick(FIELDS)),
                    1 => format!("{}.$[].{}", random.pick(FIELDS), random.pick(INNER)),
                    2 => "l.$[]".to_owned(),
                    _ => path(random),
                };
                let (operator, operand) = operation(random);
                let fields = out
                    .entry(operator.to_owned())
                    .or_insert_with(|| Bson::Document(Document::new()));
                if let Bson::Document(fields) = fields {
                    fields.insert(path, operand);
                }
            }
            Change::of(out)
        }
    }
}

fn pipeline(random: &mut Random) -> Bson {
    // A field that one stage takes away and another sets again keeps its place on the server.
    let removes = random.one_in(4);
    let stages: Vec<Document> = (0..if removes { 1 } else { 1 + random.below(2) })
        .map(|_| {
            let target = match random.below(3) {
                0 => format!("{}.{}", random.pick(FIELDS), random.pick(INNER)),
                _ => (*random.pick(&["a", "b", "n", "z"])).to_owned(),
            };
            let made = expressions::expression(random, Kind::Any, 2);
            match if removes {
                4 + random.below(2)
            } else {
                *random.pick(&[0, 0, 0, 3, 6, 7])
            } {
                0 => doc! { "$set": { target: made } },
                3 => doc! { "$addFields": { target: made } },
                4 => doc! { "$unset": *random.pick(&["a", "n", "o.x"]) },
                5 => doc! { "$project": { "n": 0, *random.pick(&["a", "o.y"]): 0 } },
                6 => doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "z": made }] } },
                _ => doc! { "$replaceRoot": { "newRoot": { "_id": "$_id", "n": made } } },
            }
        })
        .collect();
    Bson::from(stages)
}

fn operation(random: &mut Random) -> (&'static str, Bson) {
    let values =
        |random: &mut Random| -> Vec<Bson> { (0..random.below(3)).map(|_| value(random, 1)).collect() };
    match random.below(20) {
        0..=3 => ("$set", value(random, 2)),
        4 => ("$unset", Bson::String(String::new())),
        5 => ("$inc", amount(random)),
        6 => ("$mul", amount(random)),
        7 => ("$min", value(random, 1)),
        8 => ("$max", value(random, 1)),
        9 => ("$push", value(random, 1)),
        10 => {
            let mut modifiers = doc! { "$each": values(random) };
            if random.one_in(2) {
                modifiers.insert("$slice", random.below(5) as i32 - 2);
            }
            if random.one_in(3) {
                let order = *random.pick(&[1, -1]);
                let by = match random.below(2) {
                    0 => bson!(order),
                    _ => bson!({ *random.pick(INNER): order }),
                };
                modifiers.insert("$sort", by);
            }
            if random.one_in(3) {
                modifiers.insert("$position", random.below(4) as i32 - 1);
            }
            ("$push", Bson::Document(modifiers))
        }
        11 => ("$addToSet", value(random, 1)),
        12 => ("$addToSet", bson!({ "$each": values(random) })),
        13 => ("$pop", Bson::Int32(*random.pick(&[1, -1]))),
        14 => match random.below(3) {
            0 => ("$pull", value(random, 1)),
            1 => ("$pull", bson!({ *random.pick(INNER): condition(random, 0) })),
            _ => ("$pull", Bson::Document(condition(random, 1))),
        },
        15 => ("$pullAll", Bson::Array(values(random))),
        16 => {
            let operator = *random.pick(&["and", "or", "xor"]);
            ("$bit", bson!({ operator: random.below(8) as i32 }))
        }
        17 => ("$rename", Bson::String(path(random))),
        18 => (
            "$currentDate",
            random
                .pick(&[
                    bson!(true),
                    bson!({ "$type": "date" }),
                    bson!({ "$type": "timestamp" }),
                ])
                .clone(),
        ),
        _ => ("$setOnInsert", value(random, 1)),
    }
}

fn amount(random: &mut Random) -> Bson {
    match random.below(6) {
        0 => Bson::Int64(i64::MAX),
        1 => scalar(random),
        _ => number(random),
    }
}
