//! A sequence of operations on documents, indexes and collections, and what is stored after each.

use super::*;

/// The documents of each collection by record id, and whether it has the index on `x`.
pub(super) type State = BTreeMap<String, (BTreeMap<u64, Vec<u8>>, bool)>;

/// A change that keeps documents and indexes in step, as the executor does.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Put {
        collection: String,
        record: u64,
        x: i32,
        pad: usize,
    },
    Remove {
        collection: String,
        record: u64,
    },
    CreateCollection(String),
    DropCollection(String),
    CreateIndex(String),
    DropIndex(String),
}

/// What is committed as one.
#[derive(Clone, Debug)]
pub(super) struct Step {
    edits: Vec<Edit>,
    transaction: bool,
}

/// The document `{_id: record, x: x, pad: <bytes>}`.
fn padded(record: u64, x: i32, pad: usize) -> Vec<u8> {
    let mut document = Vec::new();
    framed(&mut document, |out| {
        Value::Int64(record as i64).write_element(b"_id", out);
        Value::Int32(x).write_element(b"x", out);
        let bytes: Vec<u8> = (0..pad).map(|at| (at as u64 * record) as u8 ^ x as u8).collect();
        let pad = Value::Binary {
            subtype: 0,
            bytes: &bytes,
        };
        pad.write_element(b"pad", out);
    });
    document
}

fn found(read: &dyn Read, name: &str) -> Arc<Collection> {
    read.catalog().collection("db", name).unwrap().clone()
}

/// Stores a document, or removes it, with its entries in all indexes.
fn replace(
    writer: &mut dyn Write,
    collection: &Collection,
    record: u64,
    document: Option<&[u8]>,
) -> Result<()> {
    let key = record.to_be_bytes();
    let entries = |document: &[u8]| -> Vec<(TreeId, Vec<u8>, Types)> {
        let of = |index: &crate::native::catalog::IndexEntry| {
            let keys = index.definition.keys(Doc::Raw(document)).unwrap();
            let (tree, types) = (index.tree, keys.types);
            keys.keys.into_iter().map(move |mut entry| {
                entry.extend(key);
                (tree, entry, types)
            })
        };
        collection.indexes.iter().flat_map(of).collect()
    };
    if let Some(stored) = writer.get(collection.records, &key)? {
        for (tree, entry, _) in entries(unseal(collection.records, &key, &stored)?) {
            writer.remove(tree, &entry)?;
        }
    }
    let Some(document) = document else {
        return writer.remove(collection.records, &key);
    };
    for (tree, entry, types) in entries(document) {
        writer.put(tree, &entry, &seal_entry(tree, &entry, &types))?;
    }
    writer.put(
        collection.records,
        &key,
        &seal(collection.records, &key, document),
    )
}

impl Edit {
    fn on_state(&self, state: &mut State) {
        match self {
            Edit::Put {
                collection,
                record,
                x,
                pad,
            } => {
                let documents = &mut state.get_mut(collection).unwrap().0;
                documents.insert(*record, padded(*record, *x, *pad));
            }
            Edit::Remove { collection, record } => {
                state.get_mut(collection).unwrap().0.remove(record);
            }
            Edit::CreateCollection(name) => {
                state.insert(name.clone(), Default::default());
            }
            Edit::DropCollection(name) => {
                state.remove(name);
            }
            Edit::CreateIndex(name) => state.get_mut(name).unwrap().1 = true,
            Edit::DropIndex(name) => state.get_mut(name).unwrap().1 = false,
        }
    }

    fn on_writer(&self, writer: &mut dyn Write) -> Result<()> {
        match self {
            Edit::Put {
                collection,
                record,
                x,
                pad,
            } => {
                let collection = found(writer, collection);
                replace(writer, &collection, *record, Some(&padded(*record, *x, *pad)))
            }
            Edit::Remove { collection, record } => {
                let collection = found(writer, collection);
                replace(writer, &collection, *record, None)
            }
            Edit::CreateCollection(name) => create(writer, name).map(drop),
            Edit::DropCollection(name) => {
                writer.catalog_mut().drop_collection("db", name);
                Ok(())
            }
            Edit::CreateIndex(name) => {
                let collection = found(writer, name);
                let tree = writer
                    .catalog_mut()
                    .add_index(collection.id, definition("x_1", "x"))?;
                let index = found(writer, name).index("x_1").unwrap().definition.clone();
                for (key, stored) in entries(writer, collection.records) {
                    let document = unseal(collection.records, &key, &stored)?;
                    let keys = index.keys(Doc::Raw(document))?;
                    for mut entry in keys.keys {
                        entry.extend(&key);
                        writer.put(tree, &entry, &seal_entry(tree, &entry, &keys.types))?;
                    }
                }
                Ok(())
            }
            Edit::DropIndex(name) => {
                let collection = found(writer, name);
                let tree = collection.index("x_1").unwrap().tree;
                writer.catalog_mut().drop_index(collection.id, tree)
            }
        }
    }

    /// One that is possible in this state.
    fn random(random: &mut Random, state: &State, next: &mut u64) -> Edit {
        let names: Vec<&String> = state.keys().collect();
        if names.is_empty() || (names.len() < 3 && random.below(40) == 0) {
            *next += 1;
            return Edit::CreateCollection(format!("c{next}"));
        }
        let name = names[random.below(names.len() as u64) as usize];
        let (documents, indexed) = &state[name];
        let some = |random: &mut Random| {
            let at = random.below(documents.len() as u64) as usize;
            *documents.keys().nth(at).unwrap()
        };
        match random.below(50) {
            0 if names.len() > 1 => Edit::DropCollection(name.clone()),
            1 if *indexed => Edit::DropIndex(name.clone()),
            1..4 if !indexed => Edit::CreateIndex(name.clone()),
            4..12 if !documents.is_empty() => Edit::Remove {
                collection: name.clone(),
                record: some(random),
            },
            choice => {
                let record = if choice < 30 && !documents.is_empty() {
                    some(random)
                } else {
                    *next += 1;
                    *next
                };
                Edit::Put {
                    collection: name.clone(),
                    record,
                    x: random.below(1000) as i32,
                    pad: [10, 100, 1000, 20_000][random.below(4) as usize],
                }
            }
        }
    }
}

impl Step {
    /// What is stored after this step.
    pub(super) fn after(&self, state: &State) -> State {
        let mut state = state.clone();
        self.edits.iter().for_each(|edit| edit.on_state(&mut state));
        state
    }

    /// Commits the step.
    pub(super) fn run(&self, engine: &Engine) -> Result<()> {
        if self.transaction {
            let mut transaction = engine.begin()?;
            for edit in &self.edits {
                edit.on_writer(&mut transaction)?;
            }
            return wait(engine.commit(transaction, CommitOptions::default()));
        }
        let edits = self.edits.clone();
        wait(engine.write(move |writer| edits.iter().try_for_each(|edit| edit.on_writer(writer))))
    }
}

/// Single operations, a transaction, an index build, updates, removals and drops, in an order of their own.
pub(super) fn fixed() -> Vec<Step> {
    let a = || "a".to_owned();
    let put = |record, x, pad| Edit::Put {
        collection: a(),
        record,
        x,
        pad,
    };
    let single = |edit| Step {
        edits: vec![edit],
        transaction: false,
    };
    let mut steps = vec![single(Edit::CreateCollection(a()))];
    steps.extend((1..8).map(|record| single(put(record, 7, 200))));
    steps.push(single(Edit::CreateIndex(a())));
    steps.push(single(put(3, 4, 9000)));
    steps.push(Step {
        edits: (20..60).map(|record| put(record, record as i32, 300)).collect(),
        transaction: true,
    });
    steps.push(single(Edit::Remove {
        collection: a(),
        record: 3,
    }));
    steps.push(single(Edit::CreateCollection("b".to_owned())));
    steps.push(single(Edit::DropIndex(a())));
    steps.push(single(Edit::DropCollection(a())));
    steps.push(single(Edit::CreateCollection(a())));
    steps.push(single(put(1, 1, 1)));
    steps
}

/// Many documents in collection `a`, in several commits.
pub(super) fn bulk(documents: u64) -> Vec<Step> {
    let put = |record: u64| Edit::Put {
        collection: "a".to_owned(),
        record,
        x: (record % 97) as i32,
        pad: (record % 400) as usize,
    };
    (0..documents / 100)
        .map(|part| Step {
            edits: (0..100).map(|at| put(1000 + part * 100 + at)).collect(),
            transaction: false,
        })
        .collect()
}

/// One commit of many documents, which come after those of [`bulk`].
pub(super) fn large(documents: u64) -> Step {
    let put = |record: u64| Edit::Put {
        collection: "a".to_owned(),
        record,
        x: (record % 89) as i32,
        pad: 300,
    };
    Step {
        edits: (0..documents).map(|at| put(100_000 + at)).collect(),
        transaction: false,
    }
}

/// Steps that are possible one after the other.
pub(super) fn random(seed: u64, count: usize) -> Vec<Step> {
    let mut random = Random(seed);
    let mut state = State::new();
    let mut next = 0;
    let mut steps = Vec::new();
    for _ in 0..count {
        let size = [1, 1, 1, 2, 5, 30][random.below(6) as usize];
        let mut edits = Vec::new();
        for _ in 0..size {
            let edit = Edit::random(&mut random, &state, &mut next);
            edit.on_state(&mut state);
            edits.push(edit);
        }
        steps.push(Step {
            edits,
            transaction: random.below(3) == 0,
        });
    }
    steps
}

/// Everything that is stored, each record unsealed.
///
/// # Errors
/// Class `Corrupt` when something is damaged.
pub(super) fn stored(engine: &Engine) -> Result<State> {
    let view = engine.view()?;
    let mut state = State::new();
    for collection in view.catalog().all() {
        let mut documents = BTreeMap::new();
        Read::scan(&*view, collection.records, ALL, false, &mut |key, stored| {
            let document = unseal(collection.records, key, stored)?.to_vec();
            documents.insert(u64::from_be_bytes(key.try_into().unwrap()), document);
            Ok(ControlFlow::Continue(()))
        })?;
        for index in &collection.indexes {
            Read::scan(&*view, index.tree, ALL, false, &mut |key, stored| {
                unseal_entry(index.tree, key, stored)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        let indexed = collection.index("x_1").is_some();
        state.insert(collection.name.to_string(), (documents, indexed));
    }
    Ok(state)
}

#[test]
fn every_step_leaves_documents_and_indexes_in_step() {
    for seed in 11..18 {
        let engine = memory();
        let mut state = State::new();
        for step in random(seed, 40) {
            step.run(&engine).unwrap();
            let after = step.after(&state);
            assert!(stored(&engine).unwrap() == after);
            let problems = engine.check().unwrap().problems;
            assert_eq!(problems, [], "seed {seed}: {step:?} on {:?}", state.keys());
            state = after;
        }
    }
}
