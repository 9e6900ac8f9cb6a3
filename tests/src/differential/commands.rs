//! Random commands on one collection.

use bson::{Bson, Document, bson, doc};

use super::filters::{self, filter};
use super::indexes;
use super::pipelines;
use super::projections::{projection, sort};
use super::updates::{self, Change};
use super::values::{self, document, path};
use crate::random::Random;

/// The collection that everything is about.
pub(super) const MAIN: &str = "main";
/// Another one, which pipelines also read.
pub(super) const OTHER: &str = "other";
/// What pipelines write to.
pub(super) const TARGET: &str = "target";
/// A view of the main collection, in some scenarios.
pub(super) const VIEW: &str = "view";

/// A command, and what is defined of its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The command.
    pub command: Document,
    /// Whether the documents come in a defined order.
    pub ordered: bool,
    /// Whether its filter is narrowed to the match with the lowest `_id`, since which one is changed is not defined.
    pub narrowed: bool,
}

impl Step {
    /// A command that gives documents in a defined order, or none.
    pub fn of(command: Document) -> Step {
        Step {
            command,
            ordered: true,
            narrowed: false,
        }
    }

    /// The command's name.
    pub fn name(&self) -> &str {
        self.command.keys().next().map_or("", String::as_str)
    }

    /// Whether it can change documents or indexes.
    pub(super) fn writes(&self) -> bool {
        match self.name() {
            "find" | "count" | "distinct" | "listIndexes" => false,
            "aggregate" => {
                let stages = self.command.get_array("pipeline");
                let last = stages.ok().and_then(|stages| stages.last()?.as_document());
                last.is_some_and(|last| last.contains_key("$out") || last.contains_key("$merge"))
            }
            _ => true,
        }
    }

    /// Whether several documents change, one after another: which ones did before a failure depends on the plan.
    pub(super) fn is_multi(&self) -> bool {
        let Ok(updates) = self.command.get_array("updates") else {
            return false;
        };
        let mut updates = updates.iter().filter_map(Bson::as_document);
        updates.any(|update| update.get_bool("multi").unwrap_or(false))
    }
}

/// What a scenario has, so that its commands fit.
#[derive(Debug, Default)]
pub(super) struct World {
    indexes: Vec<Document>,
    has_view: bool,
    pub(super) places: bool,
    pub(super) words: bool,
    capped: bool,
}

/// The commands before the first random one: collections, documents, indexes.
pub(super) fn start(random: &mut Random) -> (World, Vec<Step>) {
    let mut world = World::default();
    let mut steps = Vec::new();
    if random.one_in(3) {
        let mut create = doc! { "create": MAIN };
        create.extend(indexes::collection(random));
        world.capped = create.contains_key("capped");
        steps.push(Step::of(create));
    }
    for name in [MAIN, OTHER] {
        let documents: Vec<Document> = (0..1 + random.below(11))
            .map(|id| document(random, id as i32))
            .collect();
        steps.push(Step::of(
            doc! { "insert": name, "documents": documents, "ordered": false },
        ));
    }
    let mut made: Vec<Document> = (0..random.below(4)).map(|_| indexes::index(random)).collect();
    if random.one_in(6) {
        made.push(indexes::geo(random));
        world.places = true;
    }
    if random.one_in(6) {
        made.push(indexes::words(random));
        world.words = true;
    }
    for index in made {
        steps.push(Step::of(
            doc! { "createIndexes": MAIN, "indexes": [index.clone()] },
        ));
        world.indexes.push(index);
    }
    if random.one_in(8) {
        world.has_view = true;
        let stage = match random.below(2) {
            0 => doc! { "$match": filter(random, 1) },
            _ => doc! { "$project": { "a": 1, "n": 1, "o": 1 } },
        };
        let mut create = doc! { "create": VIEW, "viewOn": MAIN, "pipeline": [stage] };
        if random.one_in(3) {
            create.insert("collation", values::collation(random));
        }
        steps.push(Step::of(create));
    }
    (world, steps)
}

/// A random command.
pub(super) fn step(random: &mut Random, world: &mut World) -> Step {
    match random.below(40) {
        0..=10 => find(random, world),
        11..=13 => count(random, world),
        14..=15 => distinct(random, world),
        16..=17 => insert(random),
        18..=24 => update(random, world),
        25..=26 => delete(random, world),
        27..=29 => find_and_modify(random, world),
        30 => administration(random, world),
        _ => {
            let mut step = pipelines::aggregate(random, world.words, world.places);
            // A hint to another index beside `$geoNear` makes mongod 6.0.5 abort, and with it all who use it.
            let near = step.command.to_string().contains("$geoNear");
            let names: &[&str] = if near {
                &["let"]
            } else {
                &["collation", "let", "hint"]
            };
            options(random, world, &mut step.command, names);
            if random.one_in(10) {
                step.command.insert("allowDiskUse", random.one_in(2));
            }
            step
        }
    }
}

/// Options that many commands have.
fn options(random: &mut Random, world: &World, command: &mut Document, names: &[&str]) {
    if names.contains(&"collation") && random.one_in(8) {
        command.insert("collation", values::collation(random));
    }
    if names.contains(&"hint") && random.one_in(8) {
        command.insert("hint", hint(random, world));
    }
    if names.contains(&"let") && random.one_in(10) {
        command.insert(
            "let",
            doc! { "v": { "$literal": values::scalar(random) }, "w": { "$add": [1, 2] } },
        );
    }
}

fn hint(random: &mut Random, world: &World) -> Bson {
    let made = match world.indexes.as_slice() {
        [] => None,
        indexes => Some(random.pick(indexes)),
    };
    match (random.below(8), made) {
        (0..=2, Some(index)) => index.get("key").cloned().unwrap_or(Bson::Null),
        (3..=4, Some(index)) => index.get("name").cloned().unwrap_or(Bson::Null),
        (5, _) => bson!({ "$natural": *random.pick(&[1, -1]) }),
        (6, _) => bson!("missing_1"),
        _ => bson!({ "_id": 1 }),
    }
}

/// A filter that fits; with `let`, sometimes one that uses it.
fn asked(random: &mut Random, world: &World, depth: usize) -> Document {
    match random.below(24) {
        0..=2 if world.words => filters::searched(random),
        3..=5 if world.places => filters::placed(random),
        6 => filters::placed(random),
        7 => {
            doc! { "$expr": { *random.pick(&["$eq", "$gt", "$lte"]): [format!("${}", path(random)), "$$v"] } }
        }
        8 => Document::new(),
        _ => filter(random, depth),
    }
}

/// A comparison with a variable needs it.
fn defined(random: &mut Random, command: &mut Document, filter: &Document) {
    let needs = filter.to_string().contains("\"$$v\"");
    if needs && !random.one_in(10) {
        command.insert("let", doc! { "v": { "$literal": values::scalar(random) } });
    }
}

fn find(random: &mut Random, world: &World) -> Step {
    let mut filter = asked(random, world, 2);
    let mut projected = projection(random);
    if random.one_in(24) {
        filter = doc! { "l": filters::element(random) };
        projected = Some(doc! { "l.$": 1, "n": 1 });
    }
    let from = if world.has_view && random.one_in(4) {
        VIEW
    } else {
        MAIN
    };
    let mut command = doc! { "find": from, "filter": filter.clone() };
    let mut ordered = true;
    match random.below(6) {
        0 => ordered = false,
        1 if from == MAIN => {
            command.insert("sort", doc! { "$natural": *random.pick(&[1, -1]) });
        }
        _ => {
            let mut order = sort(random);
            // Of equals those come first that do on the server, where both read the collection.
            if world.indexes.is_empty() && order.len() > 1 && random.one_in(3) {
                order.remove("_id");
            }
            if filter.contains_key("$text") && random.one_in(2) {
                order = doc! { "score": { "$meta": "textScore" }, "_id": 1 };
            }
            command.insert("sort", order);
        }
    }
    if let Some(mut projection) = projected {
        if filter.contains_key("$text") && random.one_in(2) {
            projection.insert("score", doc! { "$meta": "textScore" });
        }
        command.insert("projection", projection);
    }
    if ordered {
        command.insert("skip", random.below(3) as i64);
        command.insert("limit", random.below(4) as i64);
    }
    options(random, world, &mut command, &["collation", "hint", "let"]);
    defined(random, &mut command, &filter);
    match random.below(12) {
        0 => {
            command.insert("batchSize", random.below(3) as i32);
        }
        1 => {
            command.insert("singleBatch", true);
            command.insert("batchSize", 2 + random.below(3) as i32);
            // Which documents a single batch holds is defined by their order alone.
            command.remove("skip");
            ordered = ordered && command.contains_key("sort");
            if !ordered {
                command.remove("batchSize");
            }
        }
        2 => {
            command.insert("allowDiskUse", true);
        }
        3 => {
            command.insert("comment", "why");
            command.insert("maxTimeMS", 60_000);
        }
        4 => {
            command.insert("noCursorTimeout", true);
            command.insert("allowPartialResults", true);
        }
        _ => {}
    }
    Step {
        ordered,
        ..Step::of(command)
    }
}

fn count(random: &mut Random, world: &World) -> Step {
    let from = if world.has_view && random.one_in(4) {
        VIEW
    } else {
        MAIN
    };
    let mut filter = asked(random, world, 2);
    // The command has no variables; whether nearness may be counted depends on the plan.
    if filter.to_string().contains("\"$$v\"") {
        filter = Document::new();
    }
    let mut command = doc! { "count": from, "query": filter };
    if random.one_in(3) {
        command.insert("skip", random.below(4) as i32);
        command.insert("limit", random.below(4) as i32);
    }
    options(random, world, &mut command, &["collation", "hint"]);
    Step::of(command)
}

fn distinct(random: &mut Random, world: &World) -> Step {
    let mut command = doc! { "distinct": MAIN, "key": path(random) };
    if !random.one_in(4) {
        command.insert("query", filter(random, 1));
    }
    options(random, world, &mut command, &["collation"]);
    Step::of(command)
}

fn insert(random: &mut Random) -> Step {
    let documents: Vec<Document> = (0..1 + random.below(2))
        .map(|_| {
            let id = random.below(16) as i32;
            document(random, id)
        })
        .collect();
    let mut command = doc! { "insert": MAIN, "documents": documents };
    if random.one_in(3) {
        command.insert("ordered", random.one_in(2));
    }
    if random.one_in(8) {
        command.insert("bypassDocumentValidation", true);
    }
    Step::of(command)
}

/// The filter of a change, which may need an array to point into.
fn changed(random: &mut Random, world: &World, change: &Change) -> Document {
    match &change.positional {
        Some(field) => doc! { field: filters::element(random) },
        None => match asked(random, world, 1) {
            filter if filter.contains_key("g") => doc! {},
            filter => filter,
        },
    }
}

fn update(random: &mut Random, world: &World) -> Step {
    let change = updates::update(random);
    let upsert = random.one_in(7);
    let multi = !upsert && !change.replaces() && change.positional.is_none() && random.one_in(3);
    let mut filter = changed(random, world, &change);
    if upsert {
        // The server would make an `_id` of its own.
        filter.insert("_id", 20 + random.below(3) as i32);
    }
    let mut statement = doc! { "q": filter.clone(), "u": change.update, "multi": multi, "upsert": upsert };
    if !change.array_filters.is_empty() {
        statement.insert("arrayFilters", change.array_filters);
    }
    options(random, world, &mut statement, &["collation", "hint"]);
    if upsert {
        // By an index that leaves the document out, mongod inserts it, finds its `_id` taken, and begins again for ever.
        statement.remove("hint");
    }
    let mut command = doc! { "update": MAIN, "updates": [statement] };
    defined(random, &mut command, &filter);
    if random.one_in(10) {
        command.insert("bypassDocumentValidation", true);
        command.insert("ordered", false);
    }
    Step {
        narrowed: !multi && !upsert,
        ..Step::of(command)
    }
}

fn delete(random: &mut Random, world: &World) -> Step {
    let filter = match asked(random, world, 1) {
        filter if filter.contains_key("g") => doc! { "n": 1 },
        filter => filter,
    };
    let limit = if random.one_in(4) { 0 } else { 1 };
    let mut statement = doc! { "q": filter.clone(), "limit": limit };
    options(random, world, &mut statement, &["collation", "hint"]);
    let mut command = doc! { "delete": MAIN, "deletes": [statement] };
    defined(random, &mut command, &filter);
    Step {
        narrowed: limit == 1,
        ..Step::of(command)
    }
}

fn find_and_modify(random: &mut Random, world: &World) -> Step {
    let change = updates::update(random);
    let mut filter = changed(random, world, &change);
    let remove = random.one_in(5);
    let upsert = !remove && random.one_in(6);
    if upsert {
        filter.insert("_id", 20 + random.below(3) as i32);
    }
    let mut command = doc! { "findAndModify": MAIN, "query": filter.clone(), "sort": sort(random) };
    if remove {
        command.insert("remove", true);
    } else {
        command.insert("update", change.update);
        command.insert("new", random.one_in(2));
        command.insert("upsert", upsert);
        if !change.array_filters.is_empty() {
            command.insert("arrayFilters", change.array_filters);
        }
    }
    if let Some(projection) = projection(random) {
        command.insert("fields", projection);
    }
    options(random, world, &mut command, &["collation", "hint", "let"]);
    if upsert {
        command.remove("hint");
    }
    defined(random, &mut command, &filter);
    Step::of(command)
}

/// Indexes and options while documents are there.
fn administration(random: &mut Random, world: &mut World) -> Step {
    let name = |random: &mut Random, world: &World| match world.indexes.as_slice() {
        [] => bson!("missing_1"),
        indexes => random.pick(indexes).get("name").cloned().unwrap_or(Bson::Null),
    };
    Step::of(match random.below(7) {
        0..=1 => {
            let index = indexes::index(random);
            world.indexes.push(index.clone());
            doc! { "createIndexes": MAIN, "indexes": [index] }
        }
        2 => doc! { "dropIndexes": MAIN, "index": name(random, world) },
        3 => doc! { "collMod": MAIN, "index": { "name": name(random, world), "hidden": random.one_in(2) } },
        4 => {
            doc! { "collMod": MAIN, "validator": { "n": { "$ne": 3 } }, "validationAction": *random.pick(&["error", "warn"]) }
        }
        5 => doc! { "collMod": MAIN, "validationLevel": *random.pick(&["off", "moderate", "strict"]) },
        _ => doc! { "listIndexes": MAIN },
    })
}
