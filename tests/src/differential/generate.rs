//! Random documents, filters, updates, sorts and projections over a few field names, so that they meet.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Decimal128, Document, Timestamp, doc};

use crate::random::Random;
use crate::raw::Change;

const FIELDS: &[&str] = &["a", "b", "c"];
const INNER: &[&str] = &["x", "y"];

/// A random scalar; small domains, so that values collide.
pub(super) fn scalar(random: &mut Random) -> Bson {
    match random.below(22) {
        0..=4 => Bson::Int32(random.below(6) as i32 - 1),
        5 => Bson::Int64(random.below(6) as i64 - 1),
        6 => Bson::Double(random.below(6) as f64 / 2.0),
        7 => Bson::Double(*random.pick(&[f64::NAN, f64::INFINITY, -0.0, 1e300, 2.5])),
        8 => decimal(random.pick::<&str>(&["1", "1.0", "0.1", "2.5", "-1E+3"])),
        9 => Bson::Int64(*random.pick(&[i64::MAX, i64::MIN, 9_007_199_254_740_993])),
        10 => Bson::Int32(*random.pick(&[i32::MAX, i32::MIN])),
        11..=13 => Bson::String((*random.pick(&["", "a", "ab", "abc", "b", "B", "é", "a.b"])).to_owned()),
        14..=15 => Bson::Null,
        16 => Bson::Boolean(random.one_in(2)),
        17 => Bson::DateTime(DateTime::from_millis(random.below(3) as i64 * 1000)),
        18 => Bson::ObjectId(ObjectId::from_bytes([random.below(2) as u8; 12])),
        19 => Bson::Timestamp(Timestamp {
            time: 1 + random.below(2) as u32,
            increment: 1,
        }),
        20 => Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![7; random.below(3)],
        }),
        _ => random.pick(&[Bson::MinKey, Bson::MaxKey]).clone(),
    }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().expect("a decimal"))
}

/// A random value, nested at most `depth` levels.
pub(super) fn value(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return scalar(random);
    }
    match random.below(10) {
        0..=5 => scalar(random),
        6..=7 => Bson::Array((0..random.below(4)).map(|_| value(random, depth - 1)).collect()),
        _ => {
            let mut document = Document::new();
            for _ in 0..random.below(3) {
                document.insert(*random.pick(INNER), value(random, depth - 1));
            }
            Bson::Document(document)
        }
    }
}

/// A random document with this `_id`.
pub(super) fn document(random: &mut Random, id: i32) -> Document {
    let mut document = doc! { "_id": id };
    for _ in 0..random.below(5) {
        document.insert(*random.pick(FIELDS), value(random, 2));
    }
    document
}

/// A random path.
pub(super) fn path(random: &mut Random) -> String {
    let field = *random.pick(FIELDS);
    match random.below(8) {
        0..=4 => field.to_owned(),
        5 => format!("{field}.{}", random.pick(INNER)),
        6 => format!("{field}.{}", random.below(3)),
        _ => format!(
            "{field}.{}.{}",
            random.pick(&["0", "x", "y", "1"]),
            random.pick(INNER)
        ),
    }
}

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

fn condition(random: &mut Random, depth: usize) -> Document {
    let mut out = Document::new();
    for _ in 0..1 + random.below(2) {
        match random.below(16) {
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
                let operator = *random.pick(&["$in", "$nin"]);
                let items: Vec<Bson> = (0..random.below(4)).map(|_| value(random, 1)).collect();
                out.insert(operator, items);
            }
            8 => {
                out.insert("$exists", random.one_in(2));
            }
            9 => {
                out.insert(
                    "$type",
                    *random.pick(&["int", "number", "string", "array", "object", "null", "double"]),
                );
            }
            10 => {
                out.insert("$size", random.below(3) as i32);
            }
            11 => {
                let items: Vec<Bson> = (0..1 + random.below(2)).map(|_| value(random, 1)).collect();
                out.insert("$all", items);
            }
            12 => {
                out.insert("$mod", vec![2 + random.below(2) as i32, random.below(2) as i32]);
            }
            13 => {
                out.insert("$regex", *random.pick(&["^a", "b$", "a.b", "^$", "^ab"]));
            }
            14 if depth > 0 => {
                let inner = if random.one_in(2) {
                    condition(random, depth - 1)
                } else {
                    doc! { *random.pick(INNER): value(random, 1) }
                };
                out.insert("$elemMatch", inner);
            }
            _ if depth > 0 => {
                out.insert("$not", condition(random, depth - 1));
            }
            _ => {
                out.insert("$bitsAllSet", 1);
            }
        }
    }
    out
}

/// A random sort; `_id` ends it, so that the order is total.
pub(super) fn sort(random: &mut Random) -> Document {
    let mut document = Document::new();
    for _ in 0..random.below(3) {
        document.insert(path(random), *random.pick(&[1, -1]));
    }
    document.insert("_id", *random.pick(&[1, -1]));
    document
}

/// A random projection, sometimes none.
pub(super) fn projection(random: &mut Random) -> Option<Document> {
    let mut document = Document::new();
    match random.below(6) {
        0 | 1 => {
            for _ in 0..1 + random.below(2) {
                document.insert(path(random), 1);
            }
            if random.one_in(3) {
                document.insert("_id", 0);
            }
        }
        2 => {
            for _ in 0..1 + random.below(2) {
                document.insert(path(random), 0);
            }
        }
        3 => {
            let slice = match random.below(3) {
                0 => Bson::Int32(random.below(5) as i32 - 2),
                _ => Bson::Array(vec![
                    Bson::Int32(random.below(5) as i32 - 2),
                    Bson::Int32(1 + random.below(2) as i32),
                ]),
            };
            document.insert(*random.pick(FIELDS), doc! { "$slice": slice });
        }
        _ => return None,
    }
    Some(document)
}

/// A random update with its array filters.
pub(super) fn update(random: &mut Random) -> (Change, Vec<Document>) {
    match random.below(14) {
        0 => {
            let mut replacement = document(random, 0);
            replacement.remove("_id");
            return (Change::Document(replacement), Vec::new());
        }
        1 => {
            let stage = match random.below(3) {
                0 => doc! { "$set": { path_plain(random): value(random, 1) } },
                1 => doc! { "$set": { *random.pick(FIELDS): format!("${}", random.pick(FIELDS)) } },
                _ => doc! { "$unset": *random.pick(FIELDS) },
            };
            return (Change::Pipeline(vec![literal(stage)]), Vec::new());
        }
        2 => {
            let field = *random.pick(FIELDS);
            let update = doc! { "$set": { format!("{field}.$[e]"): scalar(random) } };
            return (
                Change::Document(update),
                vec![doc! { "e": Bson::Document(condition(random, 0)) }],
            );
        }
        _ => {}
    }
    let mut out = Document::new();
    for _ in 0..1 + random.below(2) {
        let path = match random.below(10) {
            0 => format!("{}.$[]", random.pick(FIELDS)),
            1 => format!("{}.$[].{}", random.pick(FIELDS), random.pick(INNER)),
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
    (Change::Document(out), Vec::new())
}

fn path_plain(random: &mut Random) -> String {
    let field = *random.pick(FIELDS);
    if random.one_in(3) {
        format!("{field}.{}", random.pick(INNER))
    } else {
        field.to_owned()
    }
}

/// Values of a pipeline are expressions: what looks like a field path must be written as a literal.
fn literal(stage: Document) -> Document {
    stage
}

fn operation(random: &mut Random) -> (&'static str, Bson) {
    match random.below(18) {
        0..=3 => ("$set", value(random, 2)),
        4 => ("$unset", Bson::String(String::new())),
        5 => ("$inc", number(random)),
        6 => ("$mul", number(random)),
        7 => ("$min", value(random, 1)),
        8 => ("$max", value(random, 1)),
        9 => ("$push", value(random, 1)),
        10 => {
            let items: Vec<Bson> = (0..random.below(3)).map(|_| value(random, 1)).collect();
            let mut modifiers = doc! { "$each": items };
            if random.one_in(2) {
                modifiers.insert("$slice", random.below(5) as i32 - 2);
            }
            if random.one_in(3) {
                modifiers.insert("$sort", *random.pick(&[1, -1]));
            }
            if random.one_in(3) {
                modifiers.insert("$position", random.below(4) as i32 - 1);
            }
            ("$push", Bson::Document(modifiers))
        }
        11 => ("$addToSet", value(random, 1)),
        12 => {
            let items: Vec<Bson> = (0..random.below(3)).map(|_| value(random, 1)).collect();
            ("$addToSet", Bson::Document(doc! { "$each": items }))
        }
        13 => ("$pop", Bson::Int32(*random.pick(&[1, -1]))),
        14 => {
            let condition = if random.one_in(2) {
                value(random, 1)
            } else {
                Bson::Document(condition(random, 1))
            };
            ("$pull", condition)
        }
        15 => (
            "$pullAll",
            Bson::Array((0..random.below(3)).map(|_| value(random, 1)).collect()),
        ),
        16 => {
            let operator = *random.pick(&["and", "or", "xor"]);
            ("$bit", Bson::Document(doc! { operator: random.below(8) as i32 }))
        }
        _ => ("$setOnInsert", value(random, 1)),
    }
}

fn number(random: &mut Random) -> Bson {
    match random.below(6) {
        0 => Bson::Double(0.5),
        1 => Bson::Int64(i64::MAX),
        2 => decimal("0.1"),
        _ => Bson::Int32(random.below(5) as i32 - 2),
    }
}

/// A random index specification.
pub(super) fn index(random: &mut Random) -> Document {
    let mut key = Document::new();
    for _ in 0..1 + random.below(2) {
        key.insert(path(random), *random.pick(&[1, -1]));
    }
    let name: Vec<String> = key
        .iter()
        .map(|(path, order)| format!("{path}_{order}"))
        .collect();
    let mut spec = doc! { "key": key, "name": name.join("_") };
    match random.below(8) {
        0 => {
            spec.insert("unique", true);
        }
        1 => {
            spec.insert("sparse", true);
        }
        2 => {
            spec.insert("partialFilterExpression", doc! { "a": { "$gt": 0 } });
        }
        _ => {}
    }
    spec
}
