//! Random sorts and projections.

use bson::{Bson, Document, bson, doc};

use super::expressions::{self, Kind};
use super::filters::condition;
use super::values::{FIELDS, INNER, path};
use crate::random::Random;

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
    match random.below(10) {
        0 | 1 => {
            for _ in 0..1 + random.below(2) {
                document.insert(
                    path(random),
                    random.pick(&[bson!(1), bson!(true), bson!(2.5)]).clone(),
                );
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
                _ => bson!([random.below(5) as i32 - 2, 1 + random.below(2) as i32]),
            };
            if random.one_in(2) {
                document.insert("n", 1);
            }
            document.insert(*random.pick(&["a", "b", "l"]), doc! { "$slice": slice });
        }
        4 => {
            let element = match random.below(2) {
                0 => condition(random, 0),
                _ => doc! { *random.pick(INNER): condition(random, 0) },
            };
            if random.one_in(2) {
                document.insert("n", 1);
            }
            document.insert(*random.pick(&["a", "l"]), doc! { "$elemMatch": element });
        }
        5 => {
            document.insert("n", 1);
            document.insert("e", expressions::expression(random, Kind::Any, 2));
        }
        6 => {
            document.insert(*random.pick(FIELDS), doc! { *random.pick(INNER): 1 });
            document.insert("k", "literal");
        }
        _ => return None,
    }
    Some(document)
}
