//! Random indexes, of every kind.

use bson::{Document, bson, doc};

use super::values::{collation, path};
use crate::random::Random;

/// A random index specification.
pub(super) fn index(random: &mut Random) -> Document {
    let mut key = Document::new();
    for _ in 0..1 + random.below(2) {
        key.insert(path(random), *random.pick(&[1, -1]));
    }
    let mut spec = Document::new();
    match random.below(18) {
        0..=1 => {
            spec.insert("unique", true);
        }
        2..=3 => {
            spec.insert("sparse", true);
        }
        4..=5 => {
            let partial = match random.below(4) {
                0 => doc! { "a": { "$gt": 0 } },
                1 => doc! { "n": { "$exists": true } },
                2 => doc! { "$or": [{ "s": { "$type": "string" } }, { "n": { "$in": [1, 2] } }] },
                _ => doc! { "n": { "$gte": 0 }, "s": "a" },
            };
            spec.insert("partialFilterExpression", partial);
            if random.one_in(3) {
                spec.insert("unique", true);
            }
        }
        6 => key = doc! { path(random): "hashed" },
        7 => key.extend(doc! { "o": "hashed" }),
        8..=9 => {
            key = match random.below(3) {
                0 => doc! { "$**": 1 },
                1 => doc! { "o.$**": 1 },
                _ => {
                    let wanted = random
                        .pick(&[doc! { "a": 1, "o.x": 1 }, doc! { "b": 0, "l": 0 }])
                        .clone();
                    spec.insert("wildcardProjection", wanted);
                    doc! { "$**": 1 }
                }
            }
        }
        10..=11 => {
            spec.insert("collation", collation(random));
        }
        12 => {
            spec.insert("hidden", true);
        }
        13 => {
            key = doc! { "d": 1 };
            // Never within the life of a run: dates here are of 1970 or later.
            spec.insert("expireAfterSeconds", i32::MAX);
        }
        14 => key = doc! { "l.x": 1, "l.y": 1 },
        _ => {}
    }
    named(key, spec)
}

/// An index of places.
pub(super) fn geo(random: &mut Random) -> Document {
    let (key, mut spec) = match random.below(4) {
        0 => (
            doc! { "g": "2d" },
            doc! { "bits": 20 + random.below(7) as i32, "min": -180, "max": 180 },
        ),
        1 => (doc! { "g": "2dsphere", "n": 1 }, doc! {}),
        2 => (
            doc! { "n": 1, "g": "2dsphere" },
            doc! { "2dsphereIndexVersion": 3 },
        ),
        _ => (doc! { "g": "2dsphere" }, doc! {}),
    };
    if random.one_in(4) {
        spec.insert("partialFilterExpression", doc! { "n": { "$gt": 0 } });
    }
    named(key, spec)
}

/// An index of words.
pub(super) fn words(random: &mut Random) -> Document {
    let (key, mut spec) = match random.below(4) {
        0 => (doc! { "$**": "text" }, doc! {}),
        1 => (
            doc! { "t": "text", "s": "text" },
            doc! { "weights": { "t": 3, "s": 1 } },
        ),
        _ => (doc! { "t": "text" }, doc! {}),
    };
    if random.one_in(3) {
        spec.insert("default_language", *random.pick(&["english", "none", "german"]));
    }
    if random.one_in(4) {
        spec.insert("language_override", "s");
    }
    if random.one_in(4) {
        spec.insert("textIndexVersion", 3);
    }
    named(key, spec)
}

fn named(key: Document, mut spec: Document) -> Document {
    let mut name: Vec<String> = key
        .iter()
        .map(|(path, order)| format!("{path}_{order}"))
        .collect();
    name.extend(spec.keys().cloned());
    spec.insert("name", name.join("_").replace('"', ""));
    let mut whole = doc! { "key": key };
    whole.extend(spec);
    whole
}

/// The options of a new collection.
pub(super) fn collection(random: &mut Random) -> Document {
    match random.below(6) {
        0 => doc! { "collation": collation(random) },
        1 => doc! { "capped": true, "size": 100_000, "max": 6 + random.below(6) as i32 },
        2 => {
            doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true }, "expireAfterSeconds": i32::MAX }
        }
        3 => doc! {
            "validator": { "a": { "$ne": 0 } },
            "validationLevel": *random.pick(&["strict", "moderate", "off"]),
            "validationAction": *random.pick(&["error", "warn"]),
        },
        4 => doc! { "validator": { "$jsonSchema": super::filters::schema(random, 1) } },
        _ => doc! { "validator": bson!({ "$expr": { "$ne": ["$n", 2] } }) },
    }
}
