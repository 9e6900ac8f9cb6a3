//! Recorded runs of tree operations: `trees/trace.json` of the public data, on whose outcomes two independent
//! implementations agree.

use serde_json::Value;

use super::{OnDelete, Operation, Place, Refusal};

/// A run from an empty forest.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the run was generated from.
    pub seed: u64,
    /// Its operations, in order.
    pub steps: Vec<Step>,
}

/// One operation and what came of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was asked.
    pub operation: Operation<String>,
    /// Why it was refused, if it was.
    pub refusal: Option<Refusal>,
    /// Key, depth from 0 and number of children of all nodes, in pre-order.
    pub after: Vec<(String, usize, usize)>,
}

/// The runs; `None`, with a line that says so, where the public data is absent.
pub fn trace() -> Option<Vec<Run>> {
    let text = std::fs::read_to_string(crate::data::path("trees/trace.json")?).expect("the file is read");
    let runs: Value = serde_json::from_str(&text).expect("the file is JSON");
    let runs = runs.as_array().expect("a list of runs");
    Some(runs.iter().map(run).collect())
}

fn run(run: &Value) -> Run {
    Run {
        seed: run["seed"].as_u64().expect("a seed"),
        steps: run["steps"].as_array().expect("steps").iter().map(step).collect(),
    }
}

fn step(step: &Value) -> Step {
    let words: Vec<&str> = step["op"]
        .as_array()
        .expect("an operation")
        .iter()
        .map(|word| word.as_str().expect("a word"))
        .collect();
    let operation = match words.as_slice() {
        ["add_root", key] => Operation::Insert((*key).to_owned(), Place::LastRoot),
        ["add_child", parent, key] => {
            Operation::Insert((*key).to_owned(), Place::LastChild((*parent).to_owned()))
        }
        ["add_sibling", target, position, key] => {
            Operation::Insert((*key).to_owned(), place(position, target))
        }
        ["move", key, target, position] => Operation::Move((*key).to_owned(), place(position, target)),
        ["delete", key] => Operation::Delete((*key).to_owned(), OnDelete::Cascade),
        other => panic!("an unknown operation: {other:?}"),
    };
    let refusal = match step["outcome"].as_str() {
        Some("ok") => None,
        Some("InvalidMoveToDescendant") => Some(Refusal::IntoDescendant),
        other => panic!("an unknown outcome: {other:?}"),
    };
    let after = step["after"].as_array().expect("a list of nodes");
    Step {
        operation,
        refusal,
        after: after.iter().map(node).collect(),
    }
}

fn node(node: &Value) -> (String, usize, usize) {
    let number = |at: usize| node[at].as_u64().expect("a number") as usize;
    (
        node[0].as_str().expect("a name").to_owned(),
        number(1) - 1,
        number(2),
    )
}

fn place(position: &str, target: &str) -> Place<String> {
    let target = target.to_owned();
    match position {
        "first-child" => Place::FirstChild(target),
        "last-child" => Place::LastChild(target),
        "first-sibling" => Place::FirstSibling(target),
        "last-sibling" => Place::LastSibling(target),
        "left" => Place::Left(target),
        "right" => Place::Right(target),
        other => panic!("an unknown position: {other}"),
    }
}

#[test]
fn the_reference_does_what_was_recorded() {
    for run in trace().into_iter().flatten() {
        let mut forest = super::Forest::default();
        for (at, step) in run.steps.iter().enumerate() {
            let outcome = step.operation.apply(&mut forest);
            assert_eq!(outcome.err(), step.refusal, "seed {}, step {at}", run.seed);
            assert_eq!(forest.outline(), step.after, "seed {}, step {at}", run.seed);
        }
    }
}
