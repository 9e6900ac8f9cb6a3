//! Checks of what is stored.

use super::model::Change;
use super::*;
use crate::native::storage::format::hex;

#[test]
fn a_check_finds_what_does_not_agree() {
    for (engine, _directory) in engines() {
        let id = collection(&engine, "c").id;
        wait(engine.write(move |writer| writer.catalog_mut().add_index(id, definition("x_1", "x")))).unwrap();
        let collection = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
        for n in 0..100 {
            insert(&engine, &collection, n).unwrap();
        }
        let kept = engine.view().unwrap();
        let report = engine.check().unwrap();
        assert_eq!(report.problems, []);
        assert_eq!(
            (report.collections, report.records, report.index_entries),
            (1, 100, 200)
        );
        drop(kept);

        let (records, index) = (collection.records, collection.indexes[1].tree);
        let key = |n: i32| {
            let definition = &collection.indexes[1].definition;
            definition.keys(Doc::Raw(&document(n))).unwrap().keys.remove(0)
        };
        let entry = |n: i32, record: u64| [&key(n)[..], &record.to_be_bytes()].concat();
        let lacks = format!("record 0000000000000007 lacks the entry {}", hex(&key(6)));
        let stray = format!("no document has the entry {}", hex(&entry(6, 8)));
        let damage: [(Change, &str); 5] = [
            (Change::Remove(index, entry(6, 7)), &lacks),
            (Change::Put(index, entry(6, 8), vec![0; 4]), &stray),
            (
                Change::Put(index, entry(9, 10), vec![0; 4]),
                "check value of an index entry",
            ),
            (
                Change::Put(records, 11u64.to_be_bytes().to_vec(), vec![0; 40]),
                "record 000000000000000b: checksum",
            ),
            (
                Change::Put(
                    records,
                    12u64.to_be_bytes().to_vec(),
                    seal(records, &12u64.to_be_bytes(), b"no"),
                ),
                "record 000000000000000c: not BSON",
            ),
        ];
        for (change, expected) in damage {
            let engine_before = engine.view().unwrap();
            let undo = match &change {
                Change::Put(tree, key, _) | Change::Remove(tree, key) => {
                    match engine_before.get(*tree, key).unwrap() {
                        Some(value) => Change::Put(*tree, key.clone(), value),
                        None => Change::Remove(*tree, key.clone()),
                    }
                }
            };
            wait(engine.write(move |writer| change.on_writer(writer))).unwrap();
            let problems = engine.check().unwrap().problems;
            assert!(
                problems.iter().any(|problem| problem.message.contains(expected)
                    && problem.namespace.as_deref() == Some("db.c")),
                "{expected}: {problems:?}"
            );
            wait(engine.write(move |writer| undo.on_writer(writer))).unwrap();
            assert_eq!(engine.check().unwrap().problems, []);
        }
    }
}
