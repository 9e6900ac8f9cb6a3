//! The engine against a model: random jobs, transactions and restarts.

use super::*;

#[test]
fn memory_agrees_with_a_model() {
    for seed in 1..20 {
        against_model(memory(), || None, seed, 40);
    }
}

#[test]
fn files_agree_with_a_model_over_restarts() {
    for (seed, durability) in [
        (5, Durability::Immediate),
        (6, Durability::Interval(Duration::from_millis(1))),
        (7, Durability::None),
    ] {
        let directory = Directory::new();
        let reopen = || Some(open_with(&directory, durability).unwrap());
        against_model(open_with(&directory, durability).unwrap(), reopen, seed, 300);
    }
}

type Model = BTreeMap<(u32, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
pub(super) enum Change {
    Put(TreeId, Vec<u8>, Vec<u8>),
    Remove(TreeId, Vec<u8>),
}

impl Change {
    fn random(random: &mut Random, trees: &[TreeId]) -> Change {
        let tree = trees[random.below(trees.len() as u64) as usize];
        match random.below(40) {
            0..13 => Change::Remove(tree, random.key()),
            _ => Change::Put(tree, random.key(), random.value()),
        }
    }

    fn on_model(&self, model: &mut Model) {
        match self {
            Change::Put(tree, key, value) => {
                model.insert((tree.0, key.clone()), value.clone());
            }
            Change::Remove(tree, key) => {
                model.remove(&(tree.0, key.clone()));
            }
        }
    }

    pub(super) fn on_writer(&self, writer: &mut dyn Write) -> Result<()> {
        match self {
            Change::Put(tree, key, value) => writer.put(*tree, key, value),
            Change::Remove(tree, key) => writer.remove(*tree, key),
        }
    }
}

fn assert_same(read: &dyn Read, model: &Model, trees: &[TreeId], random: &mut Random) {
    for tree in trees {
        let (from, to) = (random.bound(), random.bound());
        let range = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let reverse = random.below(2) == 0;
        let limit = 1 + random.below(80) as usize;
        let mut expected: Vec<(Vec<u8>, Vec<u8>)> = model
            .iter()
            .filter(|((in_tree, key), _)| {
                *in_tree == tree.0 && std::ops::RangeBounds::contains(&(from.clone(), to.clone()), key)
            })
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect();
        if reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        let mut found = Vec::new();
        read.scan(*tree, range, reverse, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(if found.len() == limit {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })
        .unwrap();
        assert!(
            found == expected,
            "scan of {tree:?} {range:?} reverse {reverse} limit {limit}"
        );
        let key = random.key();
        assert_eq!(
            value(read, *tree, &key).as_ref(),
            model.get(&(tree.0, key)),
            "get"
        );
    }
}

fn against_model(mut engine: Engine, reopen: impl Fn() -> Option<Engine>, seed: u64, steps: usize) {
    let mut random = Random(seed);
    // Records' keys are of a fixed form; indexes' are any.
    let id = collection(&engine, "c").id;
    wait(engine.write(move |writer| writer.catalog_mut().add_index(id, definition("x_1", "x")))).unwrap();
    let trees = index_trees(&engine);
    let mut model = Model::new();
    for step in 0..steps {
        let changes: Vec<Change> = (0..1 + random.below(6))
            .map(|_| Change::random(&mut random, &trees))
            .collect();
        let fails = random.below(8) == 0;
        let mut after = model.clone();
        changes.iter().for_each(|change| change.on_model(&mut after));
        let seen = Arc::new((after.clone(), trees.clone(), random.below(u64::MAX / 2)));
        let apply = move |writer: &mut dyn Write| {
            for change in &changes {
                change.on_writer(writer)?;
            }
            assert_same(writer, &seen.0, &seen.1, &mut Random(seen.2 | 1));
            if fails {
                return Err(Fault::new(code::BAD_VALUE, "refused"));
            }
            Ok(())
        };
        let result = if random.below(4) == 0 {
            let mut transaction = engine.begin().unwrap();
            match apply(&mut transaction) {
                Ok(()) => wait(engine.commit(transaction, CommitOptions::default())),
                refused => refused,
            }
        } else {
            wait(engine.write(apply))
        };
        assert_eq!(result.is_err(), fails, "{result:?}");
        if !fails {
            model = after;
        }
        assert_same(&*engine.view().unwrap(), &model, &trees, &mut random);
        if step % 40 == 39 {
            drop(engine);
            let Some(opened) = reopen() else { return };
            engine = opened;
            assert_eq!(index_trees(&engine), trees);
        }
    }
}

fn index_trees(engine: &Engine) -> Vec<TreeId> {
    let view = engine.view().unwrap();
    let collection = view.catalog().collection("db", "c").unwrap();
    collection.indexes.iter().map(|index| index.tree).collect()
}
