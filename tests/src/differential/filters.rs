//! Random filters.

use bson::{Bson, Document, doc};

use super::expressions::{self, Kind};
use super::values::{self, INNER, array, object, path, regex, text, value};
use crate::random::Random;

/// The names of types, but those that no document can hold here.
const TYPES: &[&str] = &[
    "double",
    "string",
    "object",
    "array",
    "binData",
    "undefined",
    "objectId",
    "bool",
    "date",
    "null",
    "regex",
    "dbPointer",
    "javascript",
    "symbol",
    "javascriptWithScope",
    "int",
    "timestamp",
    "long",
    "decimal",
    "minKey",
    "maxKey",
    "number",
];

/// A random filter.
pub(super) fn filter(random: &mut Random, depth: usize) -> Document {
    if depth > 0 && random.one_in(4) {
        let name = *random.pick(&["$and", "$or", "$nor"]);
        let parts: Vec<Bson> = (0..1 + random.below(3))
            .map(|_| Bson::Document(filter(random, depth - 1)))
            .collect();
        return doc! { name: parts };
    }
    let mut document = Document::new();
    if random.one_in(6) {
        document.insert("_id", random.below(12) as i32);
    }
    if random.one_in(10) {
        whole(random, &mut document);
    }
    for _ in 0..1 + random.below(2) {
        let path = path(random);
        let condition = match random.below(3) {
            0 => value(random, 2),
            _ => Bson::Document(condition(random, 2)),
        };
        document.insert(path, condition);
    }
    document
}

/// A filter that also asks where documents lie; a collection has at most one such index.
pub(super) fn placed(random: &mut Random) -> Document {
    let mut document = match random.below(3) {
        0 => filter(random, 0),
        _ => Document::new(),
    };
    document.insert("g", geo(random));
    document
}

/// A text search.
pub(super) fn searched(random: &mut Random) -> Document {
    let mut search = match random.below(4) {
        0 => format!("\"{}\"", random.pick(values::WORDS)),
        1 => format!("{} -{}", values::words(random), random.pick(values::WORDS)),
        _ => values::words(random),
    };
    if random.one_in(8) {
        search.clear();
    }
    let mut text = doc! { "$search": search };
    if random.one_in(3) {
        text.insert("$language", *random.pick(&["english", "german", "none"]));
    }
    if random.one_in(4) {
        text.insert("$caseSensitive", random.one_in(2));
    }
    if random.one_in(4) {
        text.insert("$diacriticSensitive", random.one_in(2));
    }
    let mut document = doc! { "$text": text };
    if random.one_in(3) {
        document.extend(filter(random, 0));
    }
    document
}

/// A condition on the document as a whole.
fn whole(random: &mut Random, document: &mut Document) {
    match random.below(8) {
        0..=2 => {
            document.insert("$expr", expressions::expression(random, Kind::Truth, 2));
        }
        3..=4 => {
            document.insert("$jsonSchema", schema(random, 2));
        }
        5 => {
            document.insert("$comment", "why");
        }
        6 => {
            document.insert("$sampleRate", *random.pick(&[0.0, 1.0]));
        }
        _ => {
            document.insert(*random.pick(&["$alwaysTrue", "$alwaysFalse"]), 1);
        }
    }
}

fn geo(random: &mut Random) -> Document {
    let x = random.below(4) as f64 * 2.0 - 1.0;
    let y = random.below(4) as f64 * 2.0 - 1.0;
    let square = bson::bson!([[x, y], [x + 4.0, y], [x + 4.0, y + 4.0], [x, y + 4.0], [x, y]]);
    let polygon = doc! { "type": "Polygon", "coordinates": [square.clone()] };
    let near = doc! { "type": "Point", "coordinates": [x, y] };
    let meters = random.below(4) as f64 * 111_000.0;
    match random.below(10) {
        0 => doc! { "$geoWithin": { "$box": [[x, y], [x + 4.0, y + 4.0]] } },
        1 => doc! { "$geoWithin": { "$polygon": square } },
        2 => doc! { "$geoWithin": { "$center": [[x, y], 3.0] } },
        3 => doc! { "$geoWithin": { "$centerSphere": [[x, y], 0.05] } },
        4 => doc! { "$geoWithin": { "$geometry": polygon } },
        5 => doc! { "$within": { "$box": [[x, y], [x + 4.0, y + 4.0]], "$uniqueDocs": true } },
        6 => doc! { "$geoIntersects": { "$geometry": polygon } },
        7 => doc! { "$near": { "$geometry": near, "$maxDistance": meters, "$minDistance": 10.0 } },
        8 => doc! { "$nearSphere": { "$geometry": near, "$maxDistance": meters } },
        _ => doc! { "$near": [x, y], "$maxDistance": 5.0 },
    }
}

/// Conditions on one field.
pub(super) fn condition(random: &mut Random, depth: usize) -> Document {
    let mut out = Document::new();
    for _ in 0..1 + random.below(2) {
        match random.below(17) {
            0..=5 => {
                let operator = *random.pick(&["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]);
                let operand = match value(random, 2) {
                    // With a sparse index mongod 6.0.5 loses documents without the field to `$gte: null`.
                    Bson::Null if operator.len() == 4 => Bson::Int32(0),
                    operand => operand,
                };
                out.insert(operator, operand);
            }
            6..=7 => {
                let items: Vec<Bson> = (0..random.below(4))
                    .map(|_| match random.below(8) {
                        0 => Bson::RegularExpression(regex(random)),
                        _ => value(random, 1),
                    })
                    .collect();
                out.insert(*random.pick(&["$in", "$nin"]), items);
            }
            8 => {
                out.insert(
                    "$exists",
                    random
                        .pick(&[Bson::Boolean(true), Bson::Boolean(false), Bson::Int32(0)])
                        .clone(),
                );
            }
            9 => {
                out.insert("$type", types(random));
            }
            10 => {
                let sizes = [
                    Bson::Int32(0),
                    Bson::Int32(1),
                    Bson::Int32(2),
                    Bson::Int64(1),
                    Bson::Double(2.0),
                ];
                out.insert("$size", random.pick(&sizes).clone());
            }
            11 => {
                let items: Vec<Bson> = (0..1 + random.below(2))
                    .map(|_| match depth {
                        1.. if random.one_in(6) => {
                            Bson::Document(doc! { "$elemMatch": condition(random, 0) })
                        }
                        _ => value(random, 1),
                    })
                    .collect();
                out.insert("$all", items);
            }
            12 => {
                let divisor = *random.pick(&[2, 3, -2]);
                out.insert("$mod", bson::bson!([divisor, random.below(2) as i32]));
            }
            13 => {
                let regex = regex(random);
                match random.below(2) {
                    0 => out.insert("$regex", Bson::RegularExpression(regex)),
                    _ => {
                        out.insert("$regex", regex.pattern.as_str());
                        out.insert("$options", regex.options.as_str())
                    }
                };
            }
            14 if depth > 0 => {
                let inner = match random.below(4) {
                    0..=1 => condition(random, depth - 1),
                    2 => doc! { *random.pick(INNER): Bson::Document(condition(random, depth - 1)) },
                    _ => doc! { "$or": [{ *random.pick(INNER): value(random, 1) }, object(random, 1)] },
                };
                out.insert("$elemMatch", inner);
            }
            15 => {
                let operator =
                    *random.pick(&["$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"]);
                let mask = match random.below(3) {
                    0 => Bson::Int32(random.below(8) as i32),
                    1 => bson::bson!([random.below(3) as i32, 1]),
                    _ => values::binary(random),
                };
                out.insert(operator, mask);
            }
            _ if depth > 0 => {
                let inner = match random.below(4) {
                    0 => Bson::RegularExpression(regex(random)),
                    _ => Bson::Document(condition(random, depth - 1)),
                };
                out.insert("$not", inner);
            }
            _ => {
                out.insert("$eq", text(random));
            }
        }
    }
    out
}

fn types(random: &mut Random) -> Bson {
    match random.below(4) {
        0 => Bson::Array(
            (0..1 + random.below(2))
                .map(|_| Bson::String((*random.pick(TYPES)).to_owned()))
                .collect(),
        ),
        1 => Bson::Int32(*random.pick(&[1, 2, 3, 4, 8, 10, 16, 18, 19, -1, 127])),
        _ => Bson::String((*random.pick(TYPES)).to_owned()),
    }
}

/// A random schema.
pub(super) fn schema(random: &mut Random, depth: usize) -> Document {
    let mut out = Document::new();
    for _ in 0..1 + random.below(3) {
        let small = random.below(4) as i32;
        let (name, value): (&str, Bson) = match random.below(if depth > 0 { 28 } else { 19 }) {
            0 => (
                "bsonType",
                Bson::String((*random.pick(&["int", "number", "object", "array", "string"])).to_owned()),
            ),
            1 => (
                "type",
                Bson::String((*random.pick(&["number", "object", "array", "string", "boolean"])).to_owned()),
            ),
            2 => ("minimum", small.into()),
            3 => ("maximum", small.into()),
            4 => {
                out.insert("minimum", small);
                ("exclusiveMinimum", random.one_in(2).into())
            }
            5 => {
                out.insert("maximum", small);
                ("exclusiveMaximum", random.one_in(2).into())
            }
            6 => ("multipleOf", (1 + small).into()),
            7 => ("minLength", small.into()),
            8 => ("maxLength", small.into()),
            9 => ("pattern", (*random.pick(&["^a", "b"])).into()),
            10 => ("enum", Bson::Array(vec![value(random, 1), small.into()])),
            11 => ("required", bson::bson!([*random.pick(&["a", "n", "x"])])),
            12 => ("minProperties", small.into()),
            13 => ("maxProperties", small.into()),
            14 => ("minItems", small.into()),
            15 => ("maxItems", small.into()),
            16 => ("uniqueItems", random.one_in(2).into()),
            17 => ("title", "t".into()),
            18 => ("description", "d".into()),
            19 => (
                "properties",
                doc! { *random.pick(&["a", "n", "l", "x"]): schema(random, depth - 1) }.into(),
            ),
            20 => (
                "patternProperties",
                doc! { "^[an]": schema(random, depth - 1) }.into(),
            ),
            21 => match random.below(2) {
                0 => ("additionalProperties", random.one_in(2).into()),
                _ => ("additionalProperties", schema(random, depth - 1).into()),
            },
            22 => ("items", schema(random, depth - 1).into()),
            23 => {
                out.insert("items", vec![schema(random, depth - 1)]);
                ("additionalItems", random.one_in(2).into())
            }
            24 => match random.below(2) {
                0 => ("dependencies", doc! { "a": ["b"] }.into()),
                _ => ("dependencies", doc! { "a": schema(random, depth - 1) }.into()),
            },
            25 => ("not", schema(random, depth - 1).into()),
            _ => {
                let name = *random.pick(&["allOf", "anyOf", "oneOf"]);
                let all: Vec<Document> = (0..1 + random.below(2))
                    .map(|_| schema(random, depth - 1))
                    .collect();
                (name, Bson::from(all))
            }
        };
        out.insert(name, value);
    }
    // The older form of the bounds needs its number beside it.
    out
}

/// A condition that one element of an array answers: what a positional `$` needs.
pub(super) fn element(random: &mut Random) -> Bson {
    match random.below(4) {
        0 => Bson::Document(doc! { "$elemMatch": condition(random, 0) }),
        1 => Bson::Document(doc! { "$gt": random.below(2) as i32 }),
        2 => array(random, 1),
        _ => value(random, 0),
    }
}
