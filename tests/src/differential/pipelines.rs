//! Random pipelines over two collections.

use bson::{Bson, Document, bson, doc};
use odm::Db;

use super::commands::{self, MAIN, OTHER, Step, TARGET};
use super::expressions::{self, Kind};
use super::filters::{self, filter};
use super::machine::{Report, compare_scenarios};
use super::projections::sort;
use super::stages;
use super::values::{self, FIELDS};
use crate::random::Random;

/// How many pipelines meet one pair of collections.
const ROUND: u64 = 30;

/// Runs random pipelines on both databases until `pipelines` are done or `most` differences are found.
pub async fn compare_pipelines(ours: &Db, theirs: &Db, seed: u64, pipelines: u64, most: usize) -> Report {
    compare_scenarios(ours, theirs, seed, pipelines, most, scenario).await
}

pub(super) fn scenario(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed.wrapping_mul(0x2000_0003));
    let (world, mut steps) = commands::start(&mut random);
    for _ in 0..ROUND {
        steps.push(aggregate(&mut random, world.words, world.places));
    }
    steps
}

/// A random pipeline. `words`, `places`: whether there is an index of those.
pub(super) fn aggregate(random: &mut Random, words: bool, places: bool) -> Step {
    let of = |stages: Vec<Document>, ordered: bool| Step {
        ordered,
        ..Step::of(doc! { "aggregate": MAIN, "pipeline": stages })
    };
    match random.below(24) {
        0..=4 => return of(stages::series(random), true),
        5 if words => {
            let score = doc! { "$set": { "score": { "$meta": "textScore" } } };
            let order = doc! { "$sort": { "score": { "$meta": "textScore" }, "_id": 1 } };
            let first = doc! { "$match": filters::searched(random) };
            return match random.below(2) {
                0 => of(vec![first, score, doc! { "$sort": { "_id": 1 } }], true),
                _ => of(vec![first, order], true),
            };
        }
        6..=7 if places => {
            let mut near = doc! {
                "near": { "type": "Point", "coordinates": [random.below(6) as f64, 1.0] },
                "distanceField": "d.at", "key": "g", "spherical": true,
            };
            if random.one_in(2) {
                near.insert("maxDistance", random.below(8) as f64 * 100_000.0);
            }
            if random.one_in(3) {
                near.insert("minDistance", 10.0);
            }
            if random.one_in(3) {
                near.insert("query", filter(random, 0));
            }
            if random.one_in(3) {
                near.insert("includeLocs", "at");
                near.insert("distanceMultiplier", 2.0);
            }
            let round = doc! { "$set": { "d.at": { "$round": ["$d.at", 3] } } };
            return of(vec![doc! { "$geoNear": near }, round], false);
        }
        8 => {
            let stage = match random.below(3) {
                0 => vec![
                    doc! { "$collStats": { "count": {} } },
                    doc! { "$project": { "count": 1 } },
                ],
                1 => vec![
                    doc! { "$indexStats": {} },
                    doc! { "$project": { "name": 1, "key": 1 } },
                ],
                _ => vec![
                    doc! { "$planCacheStats": {} },
                    doc! { "$match": { "a": "never" } },
                ],
            };
            return of(stage, false);
        }
        9 => {
            let documents: Vec<Document> = (0..random.below(4))
                .map(|id| doc! { "_id": id as i32, "n": expressions::expression(random, Kind::Any, 2) })
                .collect();
            let stages = vec![doc! { "$documents": documents }, doc! { "$sort": { "_id": 1 } }];
            return Step::of(doc! { "aggregate": 1, "pipeline": stages });
        }
        _ => {}
    }
    let mut stages = Stages {
        made: Vec::new(),
        unique: true,
        ordered: false,
        projected: false,
    };
    for _ in 0..1 + random.below(5) {
        stages.add(random);
    }
    if stages.unique && random.one_in(16) {
        stages.made.push(output(random));
        stages.ordered = true;
    }
    of(stages.made, stages.ordered)
}

fn output(random: &mut Random) -> Document {
    match random.below(4) {
        0 => doc! { "$out": TARGET },
        1 => doc! { "$merge": TARGET },
        2 => doc! { "$merge": {
            "into": TARGET, "on": "_id",
            "whenMatched": *random.pick(&["replace", "keepExisting", "merge", "fail"]),
            "whenNotMatched": *random.pick(&["insert", "discard"]),
        } },
        _ => doc! { "$merge": {
            "into": TARGET, "let": { "new": "$$ROOT" },
            "whenMatched": [{ "$set": { "z": "$$new.n" } }],
        } },
    }
}

/// A pipeline in the making.
struct Stages {
    made: Vec<Document>,
    /// Whether `_id` still tells one row from another.
    unique: bool,
    /// Whether the rows are in a defined order.
    ordered: bool,
    /// A field that a projection left out keeps its place on the server when it is set again.
    projected: bool,
}

impl Stages {
    fn put(&mut self, stage: Document) {
        self.made.push(stage);
    }

    /// What looks at the order gets a defined one.
    fn order(&mut self) {
        if !self.ordered {
            self.put(doc! { "$sort": { "_id": 1 } });
            self.ordered = true;
        }
    }

    fn add(&mut self, random: &mut Random) {
        let any = |random: &mut Random| expressions::expression(random, Kind::Any, 2);
        match random.below(24) {
            0..=2 => self.put(doc! { "$match": filter(random, 2) }),
            3..=4 if self.unique => {
                let mut sort = sort(random);
                sort.insert("_id", 1);
                self.put(doc! { "$sort": sort });
                self.ordered = true;
            }
            5 if self.ordered => self.put(doc! { "$skip": random.below(3) as i32 }),
            6 if self.ordered => self.put(doc! { "$limit": 1 + random.below(4) as i32 }),
            7..=8 if !self.projected => {
                let target = *random.pick(&["a", "e", "b.x", "n"]);
                self.put(doc! { *random.pick(&["$set", "$addFields"]): { target: any(random) } });
            }
            9 => {
                self.put(doc! { "$project": { *random.pick(&["a", "b.x", "c", "n"]): 1, "e": any(random) } });
                self.projected = true;
            }
            10 => {
                self.put(doc! { "$unset": *random.pick(&["a", "b.x", "c"]) });
                self.projected = true;
            }
            11 => self.unwind(random),
            12..=13 if self.unique => self.group(random),
            14 => self.join(random),
            15 => {
                self.put(
                    doc! { "$unionWith": { "coll": OTHER, "pipeline": [{ "$match": filter(random, 1) }] } },
                );
                (self.unique, self.ordered) = (false, false);
            }
            16 if random.one_in(3) => {
                self.put(doc! { "$count": "n" });
                (self.unique, self.ordered) = (false, true);
            }
            17 if self.unique => {
                self.put(doc! { "$facet": {
                    "one": [{ "$sort": { "_id": 1 } }, { "$match": filter(random, 1) }, { "$limit": 3 }],
                    "two": [{ "$match": filter(random, 1) }, { "$count": "n" }],
                } });
                (self.unique, self.ordered) = (false, true);
            }
            18 if self.unique => self.buckets(random),
            19 => {
                let choice = doc! { "$cond": [expressions::expression(random, Kind::Truth, 2), "$$DESCEND", *random.pick(&["$$PRUNE", "$$KEEP"])] };
                self.put(doc! { "$redact": choice });
            }
            20 => {
                let object = doc! { "$mergeObjects": [{ "_id": "$_id" }, expressions::expression(random, Kind::Object, 2)] };
                match random.below(2) {
                    0 => self.put(doc! { "$replaceRoot": { "newRoot": object } }),
                    _ => self.put(doc! { "$replaceWith": object }),
                }
                self.unique = false;
            }
            21 => {
                self.put(doc! { "$sample": { "size": 1000 } });
                self.ordered = false;
            }
            22 if self.unique => {
                self.put(doc! { "$graphLookup": {
                    "from": OTHER, "startWith": format!("${}", random.pick(&["n", "_id", "l"])),
                    "connectFromField": *random.pick(&["n", "l"]), "connectToField": "_id", "as": "g",
                    "maxDepth": random.below(3) as i32, "depthField": "depth",
                    "restrictSearchWithMatch": filter(random, 0),
                } });
                // What is found comes in no order.
                self.put(
                    doc! { "$set": { "g": { "$sortArray": { "input": "$g", "sortBy": { "_id": 1 } } } } },
                );
            }
            _ => self.put(doc! { "$match": filter(random, 1) }),
        }
    }

    fn unwind(&mut self, random: &mut Random) {
        let path = format!("${}", random.pick(&["a", "b", "l", "a.x"]));
        self.put(match random.below(3) {
            0 => doc! { "$unwind": path },
            1 => doc! { "$unwind": { "path": path, "includeArrayIndex": "at" } },
            _ => doc! { "$unwind": { "path": path, "preserveNullAndEmptyArrays": true } },
        });
        self.unique = false;
    }

    fn join(&mut self, random: &mut Random) {
        let to = if self.projected {
            "j"
        } else {
            *random.pick(&["j", "a", "b.x"])
        };
        let field = |random: &mut Random| *random.pick(&["a", "b", "a.x", "_id", "n", "l"]);
        let mut join = doc! { "from": OTHER, "as": to };
        if !random.one_in(3) {
            join.insert("localField", field(random));
            join.insert("foreignField", field(random));
            join.insert("pipeline", bson!([{ "$sort": { "_id": 1 } }]));
        } else {
            join.insert("let", doc! { "n": "$n" });
            let condition = doc! { "$expr": { *random.pick(&["$eq", "$lt"]): ["$n", "$$n"] } };
            join.insert(
                "pipeline",
                bson!([{ "$match": condition }, { "$sort": { "_id": 1 } }, { "$limit": 3 }]),
            );
        }
        self.put(doc! { "$lookup": join });
    }

    fn group(&mut self, random: &mut Random) {
        if random.one_in(5) {
            self.put(doc! { "$sortByCount": key(random) });
            (self.unique, self.ordered) = (false, false);
            return;
        }
        self.order();
        let key = match random.below(4) {
            0 => bson!({ "x": key(random), "y": key(random) }),
            _ => key(random),
        };
        self.put(doc! { "$group": {
            "_id": key, "n": { "$sum": 1 }, "v": accumulator(random), "w": accumulator(random),
        } });
        // Sets have no order.
        (self.unique, self.ordered) = (false, false);
        self.put(doc! { "$set": { "v": in_order("$v"), "w": in_order("$w") } });
    }

    fn buckets(&mut self, random: &mut Random) {
        let boundaries = match random.below(2) {
            0 => bson!([0, 1, 3]),
            _ => bson!(["a", "b", "c"]),
        };
        self.order();
        self.put(doc! { "$bucket": {
            "groupBy": format!("${}", random.pick(&["n", "s"])),
            "boundaries": boundaries, "default": "other",
            "output": { "n": { "$sum": 1 }, "v": accumulator(random) },
        } });
        self.put(doc! { "$set": { "v": in_order("$v") } });
        (self.unique, self.ordered) = (false, false);
    }
}

/// The elements of a set in their order, anything else as it is.
pub(super) fn in_order(value: &str) -> Document {
    doc! { "$cond": [{ "$isArray": [value] }, { "$sortArray": { "input": value, "sortBy": 1 } }, value] }
}

fn key(random: &mut Random) -> Bson {
    match random.below(8) {
        0..=5 => Bson::String(format!(
            "${}",
            random.pick(&["a", "b", "n", "s", "a.x", "o", "l", "f"])
        )),
        6 => Bson::Int32(random.below(4) as i32),
        _ => Bson::Null,
    }
}

fn accumulator(random: &mut Random) -> Document {
    let input = match random.below(3) {
        0 => Bson::String(format!("${}", random.pick(FIELDS))),
        1 => expressions::expression(random, Kind::Number, 1),
        _ => Bson::String(format!("${}", random.pick(&["n", "s", "d", "o", "l"]))),
    };
    let n = 1 + random.below(3) as i32;
    let by = doc! { "n": *random.pick(&[1, -1]), "_id": 1 };
    match random.below(12) {
        0 => doc! { "$count": {} },
        // Of undefined the server would end.
        1 => {
            doc! { "$mergeObjects": { "$cond": [{ "$eq": [{ "$type": "$o" }, "undefined"] }, Bson::Null, "$o"] } }
        }
        2 => doc! { *random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]): { "input": input, "n": n } },
        3 => doc! { *random.pick(&["$top", "$bottom"]): { "output": input, "sortBy": by } },
        4 => doc! { *random.pick(&["$topN", "$bottomN"]): { "output": input, "sortBy": by, "n": n } },
        5 => doc! { *random.pick(&["$stdDevPop", "$stdDevSamp"]): { "$round": [values::number(random), 0] } },
        6 => doc! { "$addToSet": input },
        7 => doc! { "$push": input },
        _ => doc! { *random.pick(&["$sum", "$avg", "$min", "$max", "$first", "$last"]): input },
    }
}
