//! Trees that were damaged behind the engine's back, and what a repair makes of them.

use super::*;
use crate::native::aggregate::pipeline::Memory;
use crate::native::document::Owned;
use crate::native::exec::Deadline;
use crate::native::exec::query::Query;
use crate::native::exec::search::{self, Limits};
use crate::native::fault::Class;

/// The index `{field: 1}`, unique.
fn unique(name: &str, field: &str) -> IndexDefinition {
    let plain = definition(name, field);
    let mut spec = Vec::new();
    framed(&mut spec, |out| {
        for element in Doc::Raw(plain.spec()).elements() {
            element.value().write_element(element.name(), out);
        }
        Value::Bool(true).write_element(b"unique", out);
    });
    IndexDefinition::parse(Doc::Raw(&spec)).unwrap()
}

/// `db.c` with `_id_`, `x_1` and a unique `u_1`, and documents `{_id: n, x: n}`, of which `u` is missing once.
fn filled(engine: &Engine) -> Arc<Collection> {
    let id = collection(engine, "c").id;
    wait(engine.write(move |writer| {
        writer.catalog_mut().add_index(id, definition("x_1", "x"))?;
        writer.catalog_mut().add_index(id, unique("xu_1", "x")).map(drop)
    }))
    .unwrap();
    let collection = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
    for n in 0..100 {
        insert(engine, &collection, n).unwrap();
    }
    collection
}

fn remove(engine: &Engine, tree: TreeId, key: Vec<u8>) {
    wait(engine.write(move |writer| writer.remove(tree, &key))).unwrap();
}

fn everything() -> RepairScope {
    RepairScope::default()
}

fn repair(engine: &Engine, scope: &RepairScope) -> RepairReport {
    engine.repair(scope, &mut || true).unwrap()
}

/// How often each kind of finding comes: its name, the index and what was done.
fn tally(report: &RepairReport) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for finding in &report.findings {
        let kind = format!("{:?}", finding.wrong);
        let kind = kind.split(['(', ' ']).next().unwrap_or_default().to_owned();
        let index = finding.index.as_deref().unwrap_or("-");
        *tally
            .entry(format!("{kind} {index} {:?}", finding.done))
            .or_default() += 1;
    }
    tally
}

fn counts(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected
        .iter()
        .map(|(kind, count)| ((*kind).to_owned(), *count))
        .collect()
}

#[test]
fn indexes_are_made_what_the_documents_say() {
    for (engine, _directory) in engines() {
        let c = filled(&engine);
        let x = c.index("x_1").unwrap().tree;
        let documents = entries(&*engine.view().unwrap(), c.records);
        let good = entries(&*engine.view().unwrap(), x);
        assert!(repair(&engine, &everything()).findings.is_empty());

        // Ten entries are missing, three are of nobody, one is of another document, one is too short, and the
        // check values of two do not fit.
        for (key, _) in &good[10..20] {
            remove(&engine, x, key.clone());
        }
        for record in [900u64, 901, 902] {
            let key = [&good[0].0[..good[0].0.len() - 8], &record.to_be_bytes()[..]].concat();
            put(&engine, x, &key, &seal_entry(x, &key, &Types::UNKNOWN)).unwrap();
        }
        let stranger = [&good[30].0[..good[30].0.len() - 8], &5u64.to_be_bytes()[..]].concat();
        put(&engine, x, &stranger, &seal_entry(x, &stranger, &Types::UNKNOWN)).unwrap();
        put(&engine, x, b"abc", &seal_entry(x, b"abc", &Types::UNKNOWN)).unwrap();
        for (key, _) in &good[50..52] {
            put(&engine, x, key, b"bad!").unwrap();
        }
        assert!(engine.check().unwrap().problems.len() >= 10);

        let expected = counts(&[
            ("DamagedEntry x_1 Rewritten", 2),
            ("ExtraEntry x_1 Removed", 5),
            ("MissingEntry x_1 Added", 10),
        ]);
        let before = entries(&*engine.view().unwrap(), x);
        let dry = RepairScope {
            dry_run: true,
            ..everything()
        };
        assert_eq!(tally(&repair(&engine, &dry)), expected);
        assert_eq!(entries(&*engine.view().unwrap(), x), before);
        let other = RepairScope {
            database: Some("other".to_owned()),
            ..everything()
        };
        assert!(repair(&engine, &other).findings.is_empty());

        let report = repair(&engine, &everything());
        assert_eq!(tally(&report), expected);
        assert_eq!((report.left, report.unlisted), (0, 0));
        let missing = &report.findings[0];
        assert_eq!(missing.namespace.as_deref(), Some("db.c"));
        assert!(matches!(missing.id, Some(Owned::Int32(10))), "{missing:?}");
        assert_eq!(entries(&*engine.view().unwrap(), x), good);
        assert_eq!(entries(&*engine.view().unwrap(), c.records), documents);
        assert_eq!(engine.check().unwrap().problems, []);
        assert!(repair(&engine, &everything()).findings.is_empty());
    }
}

/// Entries that say nothing of types are those of an older file; ones that say something else are wrong.
#[test]
fn types_of_values_are_compared() {
    for (engine, _directory) in engines() {
        let c = filled(&engine);
        let x = c.index("x_1").unwrap().tree;
        let good = entries(&*engine.view().unwrap(), x);
        for (key, _) in &good[..30] {
            put(&engine, x, key, &seal_entry(x, key, &Types::UNKNOWN)).unwrap();
        }
        assert_eq!(engine.check().unwrap().problems, []);
        assert!(repair(&engine, &everything()).findings.is_empty());

        let mut other = Types::UNKNOWN;
        assert!(other.push(Some(&Value::Double(1.0))));
        for (key, _) in &good[40..43] {
            put(&engine, x, key, &seal_entry(x, key, &other)).unwrap();
        }
        let problems = engine.check().unwrap().problems;
        assert_eq!(problems.len(), 3);
        assert!(
            problems
                .iter()
                .all(|problem| problem.message.contains("values of other types")),
            "{problems:?}"
        );
        let expected = counts(&[("DamagedEntry x_1 Rewritten", 3)]);
        assert_eq!(tally(&repair(&engine, &everything())), expected);
        assert_eq!(engine.check().unwrap().problems, []);
        assert_eq!(entries(&*engine.view().unwrap(), x)[30..], good[30..]);
    }
}

#[test]
fn what_cannot_be_repaired_is_listed_and_left() {
    for (engine, _directory) in engines() {
        let c = filled(&engine);
        let xu = c.index("xu_1").unwrap().tree;
        // A damaged document keeps its entries.
        let place = 8u64.to_be_bytes();
        let mut stored = value(&*engine.view().unwrap(), c.records, &place).unwrap();
        stored[6] ^= 1;
        put(&engine, c.records, &place, &stored).unwrap();
        // A scan reads it; nothing is written in its place.
        let read = engine.view().unwrap();
        let query = Query::parse(Doc::empty(), None, None).unwrap();
        let read_all = |is_to_write| {
            let plan = query.plan(&*read, &c, None, Deadline::default()).unwrap();
            let limits = Limits {
                skip: 0,
                limit: None,
                memory: Memory::of(true),
                is_to_write,
            };
            search::all(&*read, &c, &query, &plan, limits, Deadline::default())
        };
        assert_eq!(read_all(false).unwrap().0.len(), 100);
        assert_eq!(read_all(true).unwrap_err().class(), Class::Corrupt);
        let written = search::to_write(&*read, &c, &query, true, Deadline::default());
        let refused = written.and_then(|(_, ended)| ended).unwrap_err();
        assert_eq!(refused.class(), Class::Corrupt);
        drop(read);
        // Two documents clash, one of which the index does not know.
        let twin = insert(&engine, &c, 40).unwrap();
        let key = c
            .index("xu_1")
            .unwrap()
            .definition
            .keys(Doc::Raw(&document(40)))
            .unwrap()
            .keys[0]
            .clone();
        remove(&engine, xu, [&key[..], &twin.to_be_bytes()].concat());

        let report = repair(&engine, &everything());
        let left = counts(&[
            ("DamagedRecord - Left", 1),
            ("UniqueClash _id_ Left", 1),
            ("UniqueClash xu_1 Left", 1),
        ]);
        let mut found = left.clone();
        found.insert("MissingEntry xu_1 Added".to_owned(), 1);
        assert_eq!(tally(&report), found);
        assert_eq!(report.left, 3);
        let clash = report.findings.iter().find_map(|finding| match &finding.wrong {
            Wrong::UniqueClash(other) => Some((finding.record, other.clone())),
            _ => None,
        });
        assert!(matches!(clash, Some((Some(record), Some(Owned::Int32(40)))) if record == twin));
        let read = engine.view().unwrap();
        assert_eq!(value(&*read, c.records, &place).unwrap(), stored);
        assert_eq!(entries(&*read, xu).len(), 101);
        // Once more: nothing new, nothing undone.
        assert_eq!(tally(&repair(&engine, &everything())), left);
        let problems = engine.check().unwrap().problems;
        assert!(
            problems
                .iter()
                .all(|problem| problem.message.contains("checksum") || problem.message.contains("unique")),
            "{problems:?}"
        );
    }
}

#[test]
fn flags_counts_and_leftovers_are_set_right() {
    let engine = memory();
    let c = filled(&engine);
    // A document with an array, written by something that forgot the flag.
    let mut array = Vec::new();
    framed(&mut array, |out| {
        Value::Int32(700).write_element(b"_id", out);
        let mut items = Vec::new();
        framed(&mut items, |out| {
            Value::Int32(701).write_element(b"0", out);
            Value::Int32(702).write_element(b"1", out);
        });
        Value::Array(Doc::Raw(&items)).write_element(b"x", out);
    });
    let place = 500u64.to_be_bytes();
    put(&engine, c.records, &place, &seal(c.records, &place, &array)).unwrap();
    // Entries of an index that is gone, and documents of a collection that is gone.
    let gone = collection(&engine, "gone");
    let (tree, records) = (gone.indexes[0].tree, gone.records);
    wait(engine.write(|writer| {
        writer.catalog_mut().drop_collection("db", "gone");
        Ok(())
    }))
    .unwrap();
    put(&engine, tree, b"12345678", b"1234").unwrap();
    put(&engine, records, &place, b"a document").unwrap();

    let report = repair(&engine, &everything());
    let expected = counts(&[
        ("MissingEntry _id_ Added", 1),
        ("MissingEntry x_1 Added", 2),
        ("MissingEntry xu_1 Added", 2),
        ("MultikeyFlags x_1 Corrected", 1),
        ("MultikeyFlags xu_1 Corrected", 1),
        ("UnusedTree - Left", 1),
        ("UnusedTree - Removed", 1),
    ]);
    assert_eq!(tally(&report), expected);
    let read = engine.view().unwrap();
    assert_eq!(entries(&*read, tree), []);
    assert_eq!(value(&*read, records, &place).unwrap(), b"a document");
    assert_eq!(
        read.catalog().by_id(c.id).unwrap().index("x_1").unwrap().multikey,
        [Arrays::at(0)]
    );
    assert_eq!(engine.check().unwrap().problems.len(), 1);

    // A capped collection's count.
    let mut options = Vec::new();
    framed(&mut options, |out| {
        Value::Bool(true).write_element(b"capped", out);
        Value::Int32(4096).write_element(b"size", out);
    });
    let capped = wait(engine.write(move |writer| {
        let capped = writer.catalog_mut().create_collection(
            "db",
            "capped",
            &options,
            Some(definition("_id_", "_id")),
        )?;
        writer.catalog_mut().note_used(capped.id, 7, 70)?;
        Ok(capped)
    }))
    .unwrap();
    let report = repair(&engine, &everything());
    assert_eq!(tally(&report)["Count - Corrected"], 1);
    let used = engine.view().unwrap().catalog().by_id(capped.id).unwrap().used;
    assert_eq!((used.documents, used.bytes), (0, 0));
}

#[test]
fn a_repair_waits_for_a_transaction_that_holds_the_key() {
    let engine = memory();
    let c = filled(&engine);
    let tree = c.index("xu_1").unwrap().tree;
    let (stored, _) = entries(&*engine.view().unwrap(), tree)[3].clone();
    remove(&engine, tree, stored.clone());
    let mut transaction = engine.begin().unwrap();
    // As an insert does that finds the key free.
    transaction.claim(tree, &stored[..stored.len() - 8]).unwrap();
    let (done, repaired) = std::sync::mpsc::channel();
    let other = engine.clone();
    let thread = std::thread::spawn(move || {
        let report = repair(&other, &everything());
        done.send(tally(&report)).unwrap();
    });
    assert!(repaired.recv_timeout(Duration::from_millis(200)).is_err());
    drop(transaction);
    assert_eq!(
        repaired.recv_timeout(Duration::from_secs(60)).unwrap(),
        counts(&[("MissingEntry xu_1 Added", 1)])
    );
    thread.join().unwrap();
    assert!(value(&*engine.view().unwrap(), tree, &stored).is_some());
}

#[test]
fn the_log_of_changes_and_the_catalog_are_checked() {
    let problems = |engine: &Engine| -> Vec<String> {
        let report = engine.check().unwrap();
        report
            .problems
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    };
    let logged = || {
        let engine = memory();
        wait(engine.begin_log()).unwrap();
        let c = collection(&engine, "c");
        for n in 0..10 {
            wait(engine.write(move |writer| {
                writer.put(TreeId::CATALOG, b"", b"")?;
                writer.remove(TreeId::CATALOG, b"")?;
                writer.log(document(n));
                Ok(())
            }))
            .unwrap();
        }
        assert_eq!(problems(&engine), [""; 0]);
        let changes = entries(&*engine.view().unwrap(), TreeId::CHANGES);
        assert_eq!(changes.len(), 11);
        (engine, c, changes)
    };
    let (engine, _, changes) = logged();
    remove(&engine, TreeId::CHANGES, changes[5].0.clone());
    assert_eq!(problems(&engine).len(), 1);
    assert!(problems(&engine)[0].contains("missing"));
    assert_eq!(
        tally(&repair(&engine, &everything())),
        counts(&[("Changes - Left", 1)])
    );

    let (engine, _, changes) = logged();
    let mut bad = changes[4].1.clone();
    bad[40] ^= 4;
    put(&engine, TreeId::CHANGES, &changes[4].0, &bad).unwrap();
    assert!(problems(&engine)[0].contains("checksum"));

    let (engine, c, _) = logged();
    let key = [&b"c"[..], &c.id.0.to_be_bytes()].concat();
    let mut bad = value(&*engine.view().unwrap(), TreeId::CATALOG, &key).unwrap();
    bad[9] ^= 1;
    put(&engine, TreeId::CATALOG, &key, &bad).unwrap();
    assert!(
        problems(&engine)
            .iter()
            .any(|problem| problem.contains("catalog record"))
    );
    let report = repair(&engine, &everything());
    assert!(tally(&report).contains_key("Catalog - Left"));
}

/// Sort keys of older rules are made anew when the engine is opened.
#[test]
#[cfg(feature = "collation")]
fn keys_of_other_rules_are_renewed() {
    let directory = Directory::new();
    let mut spec = Vec::new();
    framed(&mut spec, |out| {
        for element in Doc::Raw(definition("s_1", "x").spec()).elements() {
            element.value().write_element(element.name(), out);
        }
        let mut collation = Vec::new();
        framed(&mut collation, |out| {
            Value::String("en").write_element(b"locale", out)
        });
        Value::Document(Doc::Raw(&collation)).write_element(b"collation", out);
    });
    let id = {
        let engine = open_with(&directory, Durability::Immediate).unwrap();
        let id = collection(&engine, "c").id;
        wait(engine.write(move |writer| {
            let collated = IndexDefinition::parse(Doc::Raw(&spec))?;
            writer.catalog_mut().add_index(id, collated).map(drop)
        }))
        .unwrap();
        let own = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
        for n in 0..20 {
            insert(&engine, &own, n).unwrap();
        }
        let tree = own.indexes.last().unwrap().tree;
        wait(engine.write(move |writer| {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            writer.scan(tree, ALL, false, &mut |key, _| {
                keys.push(key.to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
            for key in keys.iter().take(7) {
                writer.remove(tree, key)?;
            }
            writer.catalog_mut().age_index(id, tree)
        }))
        .unwrap();
        assert!(!engine.check().unwrap().problems.is_empty());
        id
    };
    let engine = open_with(&directory, Durability::Immediate).unwrap();
    assert!(engine.check().unwrap().problems.is_empty());
    let own = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
    assert!(own.indexes.iter().all(|index| !index.stale));
}
