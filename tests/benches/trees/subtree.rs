//! P8: all nodes below one, of which there are 99, with itself.

use std::hint::black_box;

use bson::{Document, doc};
use futures_util::TryStreamExt as _;
use odm_patterns::tree::{KeepsOrder, Tree};
use odm_tests::each_model;
use odm_tests::measure::{Server, Settings, compare_uneven, verdict};
use odm_tests::tree::Numbered;

use crate::shelves::{GROUPS, Shelves, fill, head, shelf};

/// The most that native may take, in microseconds.
const TARGET: f64 = 100.0;

pub(crate) async fn of_a_hundred(settings: &Settings, server: Option<&Server>) {
    let shelves = settings.choose(1, 10) as i64;
    let rounds = settings.choose(7, 21);
    let [ours_each, their_each] = [50, 10];
    let by_hand = match server {
        Some(server) => Some(ByHand::new(server, shelves).await),
        None => None,
    };
    each_model!(S => {
        let name = name::<S>();
        let own = Shelves::<S>::new(shelves).await;
        let result = compare_uneven(
            rounds,
            [ours_each, their_each],
            async |round| {
                for n in 0..ours_each {
                    whole(&own.tree, head(pick(round * ours_each + n, shelves))).await;
                }
            },
            async |round| {
                if let Some(by_hand) = &by_hand {
                    for n in 0..their_each {
                        by_hand.whole(head(pick(round * their_each + n, shelves))).await;
                    }
                }
            },
        )
        .await;
        println!(
            "P8: {name}: native {:.2} us, a regex on mongod {:.2} us a subtree of 100 among {} nodes",
            result.ours, result.theirs, own.nodes()
        );
        verdict(&format!("P8 {name} us"), result.ours, TARGET, false);
        if by_hand.is_some() {
            verdict(&format!("P8 {name} regex"), result.speedup, 1.0, true);
        }
        if let (Some(server), Some(by_hand)) = (server, &by_hand) {
            let db = server.open().await;
            db.drop_collection("nodes").await.expect("dropped");
            db.drop_collection("nodes_trees").await.expect("dropped");
            let tree = fill::<S>(&db, 1).await;
            let result = compare_uneven(
                rounds,
                [their_each; 2],
                async |round| {
                    for n in 0..their_each {
                        whole(&tree, head(pick(round * their_each + n, 1))).await;
                    }
                },
                async |round| {
                    for n in 0..their_each {
                        by_hand.whole(head(pick(round * their_each + n, 1))).await;
                    }
                },
            )
            .await;
            println!(
                "P8: {name}: on mongod {:.2} us in order, a regex {:.2} us in none",
                result.ours, result.theirs
            );
        }
    });
    if server.is_none() {
        println!("P8 regex skipped: no MongoDB to compare with");
    }
}

/// One of the groups.
fn pick(n: usize, shelves: i64) -> i64 {
    (n as i64 * 7_919) % (shelves * GROUPS)
}

/// The last part of the model's name.
pub(crate) fn name<S>() -> &'static str {
    let name = std::any::type_name::<S>();
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

async fn whole<S: KeepsOrder>(tree: &Tree<Numbered, S>, head: i64) {
    let nodes = tree.descendants(head).with_self().await.expect("a read");
    assert_eq!(nodes.len(), 100);
    black_box(nodes);
}

/// Materialized paths as the manual writes and asks for them: an index on `path`, and a regular expression with the name
/// anywhere in it.
struct ByHand {
    nodes: odm::mongodb::driver::Collection<Document>,
}

impl ByHand {
    async fn new(server: &Server, shelves: i64) -> ByHand {
        let db = server.open().await;
        let nodes = db.raw_collection("by_hand");
        let index = nodes.create_indexes().index_raw(doc! { "key": { "path": 1 } });
        index.await.expect("the index is built");
        for place in 0..shelves {
            let mut paths = std::collections::HashMap::from([(0, ",".to_owned())]);
            let mut documents = Vec::new();
            for (id, parent) in shelf(place) {
                let path = format!("{}{parent},", paths[&parent]);
                documents.push(doc! { "_id": id, "name": format!("node {id}"), "path": &path });
                paths.insert(id, path);
            }
            nodes.insert_many(documents).await.expect("inserted");
        }
        ByHand {
            nodes: server.collection("by_hand", false),
        }
    }

    async fn whole(&self, head: i64) {
        let own = doc! { "$or": [{ "_id": head }, { "path": { "$regex": format!(",{head},") } }] };
        let found = self.nodes.find(own).await.expect("a read");
        let found: Vec<Document> = found.try_collect().await.expect("a read");
        assert_eq!(found.len(), 100);
        black_box(found);
    }
}
