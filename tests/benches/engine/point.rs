//! P1: finding one document by its `_id`.

use bson::doc;
use odm::Durability;
use odm_tests::measure::{
    Bare, Server, Settings, Thing, compare, compare_uneven, count_instructions, per_operation,
};

use crate::{child, cost, directory, faster, no_server, open, prepare};

const DOCUMENTS: usize = 20_000;
const CLASS: &str = "reads; immediate durability, 0 fsyncs an operation";

pub(crate) async fn find_by_id(settings: &Settings, server: Option<&Server>) {
    let rounds = settings.choose(15, 61);
    let each = 500;
    let directory = directory();
    let db = open::<Thing>(&directory, Durability::Immediate).await;
    let things = Thing::several(0, DOCUMENTS);
    let size = bson::serialize_to_vec(&things[0]).expect("it encodes").len();
    println!("P1: documents of {size} bytes");
    let collection = db.collection::<Thing>();
    collection.insert_many(&things).await.expect("inserted");
    let ids =
        |round: usize, each: usize| (0..each).map(move |n| ((round * each + n) * 7_919 % DOCUMENTS) as i64);

    let mut bare = Bare::create(directory.path());
    bare.insert(&things, true);
    let result = compare(
        rounds,
        each,
        async |round| {
            for id in ids(round, each) {
                assert!(collection.get(id).await.expect("a read").is_some());
            }
        },
        async |round| {
            for id in ids(round, each) {
                assert!(bare.get(id).is_some());
            }
        },
    )
    .await;
    cost("P1 store", "bare store get and decode", CLASS, result, 2.0);
    if let Some(count) = per_operation(200, 1_200, |n| count_instructions(&child::arguments("get", n))) {
        println!("P1: {count:.0} instructions an operation");
    }

    let Some(server) = server else {
        return no_server("P1");
    };
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>("things", false);
    theirs.insert_many(&things).await.expect("inserted");
    let few = 30;
    let result = compare_uneven(
        rounds,
        [each, few],
        async |round| {
            for id in ids(round, each) {
                assert!(collection.get(id).await.expect("a read").is_some());
            }
        },
        async |round| {
            for id in ids(round, few) {
                let found = theirs.find_one(doc! { "_id": id }).await.expect("a read");
                assert!(found.is_some());
            }
        },
    )
    .await;
    faster("P1", "driver and mongod", CLASS, result, 50.0);
}
