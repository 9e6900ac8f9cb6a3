//! P13: a leaf's insert, a move of 100 nodes, a read of them, in trees of two sizes.

use std::time::Instant;

use odm_patterns::tree::{KeepsOrder, Position};
use odm_tests::each_model;
use odm_tests::measure::{Settings, median, verdict};
use odm_tests::tree::Stored as _;

use crate::shelves::{Shelves, head};
use crate::subtree::name;

const TARGET: f64 = 2.0;

/// One of the subtrees, another in each round.
fn group<S: KeepsOrder>(shelves: &Shelves<S>, n: usize) -> i64 {
    (n as i64 * 7_919) % shelves.groups()
}

async fn run<S: KeepsOrder>(shelves: &Shelves<S>, what: &str, round: usize, each: usize) -> f64 {
    let start = Instant::now();
    for n in round * each..(round + 1) * each {
        let head = head(group(shelves, n));
        match what {
            "insert" => {
                let leaf = ((1_i64 << 40) + n as i64).node();
                shelves.tree.insert_child(head + 1, leaf).await.expect("inserted");
            }
            "move" => {
                // To the front of a shelf, which may be its own.
                let shelf = n as i64 % shelves.shelves + 1;
                let moved = shelves.tree.move_to(head, shelf, Position::FirstChild).await;
                moved.expect("moved");
            }
            _ => {
                let found = shelves.tree.descendants(head).await.expect("a read");
                assert!(found.len() >= 99);
            }
        }
    }
    start.elapsed().as_secs_f64() * 1e6 / each as f64
}

pub(crate) async fn with_nodes(settings: &Settings) {
    let large = settings.choose(10, 100) as i64;
    let rounds = settings.choose(7, 15);
    each_model!(S => {
        let name = name::<S>();
        let (small, large) = (Shelves::<S>::new(1).await, Shelves::<S>::new(large).await);
        for what in ["read", "insert", "move"] {
            let (mut at_small, mut at_large, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..=rounds {
                let each = 20;
                let (a, b) = (
                    run(&small, what, round, each).await,
                    run(&large, what, round, each).await,
                );
                if round > 0 {
                    at_small.push(a);
                    at_large.push(b);
                    ratios.push(b / a);
                }
            }
            println!(
                "P13: {name}: {what} {:.2} us among {}, {:.2} us among {} nodes",
                median(at_small),
                small.nodes(),
                median(at_large),
                large.nodes()
            );
            verdict(&format!("P13 {name} {what}"), median(ratios), TARGET, false);
        }
    });
}
