//! What is committed and not yet in redb: it reads like everything else, and goes there unseen.

use std::sync::atomic::{AtomicBool, AtomicU64};

use super::disk::{Disk, EIO, ENOSPC};
use super::*;
use crate::native::storage::file::Limits;
use crate::native::storage::{Due, Finish, Pending, Snapshot, Trees};

type Model = BTreeMap<(TreeId, Vec<u8>), Vec<u8>>;

const TREES: [TreeId; 3] = [TreeId(7), TreeId(8), TreeId::records(3)];

/// The cache so small that redb writes to the file before anything is durable.
fn store(disk: &Disk, recent: RecentLimits) -> FileStore {
    let limits = Limits {
        recent,
        ..Limits::default()
    };
    disk.store_with(limits, 16 * 1024).unwrap()
}

/// Everything stays where it is until it is asked to go.
const STAYS: RecentLimits = RecentLimits {
    flush: usize::MAX,
    most: usize::MAX,
    largest: usize::MAX,
    waiting: usize::MAX,
    passed: usize::MAX,
};

/// Nearly every commit is a large one, and waits for its way.
const LARGE: RecentLimits = RecentLimits {
    largest: 300,
    ..STAYS
};

/// A few writes, sometimes with a tree that is cleared before them.
fn random_writes(random: &mut Random, model: &mut Model) -> Pending {
    let mut pending = Pending::default();
    if random.below(25) == 0 {
        let tree = TREES[random.below(3) as usize];
        pending.clear(tree);
        model.retain(|(in_tree, _), _| *in_tree != tree);
    }
    for _ in 0..random.below(12) {
        let (tree, key) = (TREES[random.below(3) as usize], random.key());
        if random.below(3) == 0 {
            pending.remove(tree, &key);
            model.remove(&(tree, key));
        } else {
            let value = random.value();
            pending.put(tree, &key, &value);
            model.insert((tree, key), value);
        }
    }
    pending
}

fn assert_reads(trees: &dyn Trees, model: &Model, random: &mut Random) {
    for tree in TREES {
        let (from, to) = (random.bound(), random.bound());
        let range = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let reverse = random.below(2) == 0;
        let limit = 1 + random.below(60) as usize;
        let mut expected: Vec<_> = model
            .iter()
            .filter(|((in_tree, key), _)| {
                *in_tree == tree && std::ops::RangeBounds::contains(&(from.clone(), to.clone()), key)
            })
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect();
        if reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        let mut found = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(match found.len() == limit {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        };
        trees.scan(tree, range, reverse, &mut visit).unwrap();
        assert!(
            found == expected,
            "{tree:?} {range:?} reverse {reverse} limit {limit}"
        );
        let key = random.key();
        assert_eq!(trees.get(tree, &key).unwrap().as_ref(), model.get(&(tree, key)));
    }
}

/// Thousands of writes of each kind in one commit: index entries and records go to their tables side by side.
#[test]
fn a_large_commit_reaches_all_its_tables() {
    let disk = Disk::default();
    let store = store(&disk, RecentLimits::default());
    let mut random = Random(9);
    let mut model = Model::new();
    for round in 0..4 {
        let mut pending = Pending::default();
        for number in 0..9_000_u64 {
            let tree = [TREES[0], TREES[1], TREES[2], TreeId::records(4)][(number % 4) as usize];
            let key = match tree.is_records() {
                true => (round * 5_000 + number).to_be_bytes().to_vec(),
                false => random.below(1 << 20).to_be_bytes().to_vec(),
            };
            if random.below(9) == 0 {
                pending.remove(tree, &key);
                model.remove(&(tree, key));
            } else {
                let value = random.value();
                pending.put(tree, &key, &value);
                model.insert((tree, key), value);
            }
        }
        let finish = [Finish::Relaxed, Finish::Logged, Finish::Durable, Finish::Relaxed][round as usize];
        let written = store.write(&mut |transaction| {
            transaction.apply(&mut pending)?;
            Ok(finish)
        });
        written.unwrap();
        let snapshot = store.snapshot().unwrap();
        for tree in [TREES[0], TREES[1], TREES[2], TreeId::records(4)] {
            let own = model.iter().filter(|((in_tree, _), _)| *in_tree == tree);
            let mut expected = own.map(|((_, key), value)| (key, value));
            let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            let scanned = snapshot.scan(tree, all, false, &mut |key, value| {
                let (other, expected) = expected.next().expect("as many as there are");
                assert!(
                    key == other.as_slice() && value == expected.as_slice(),
                    "{round} {tree:?}"
                );
                Ok(ControlFlow::Continue(()))
            });
            scanned.unwrap();
            assert!(expected.next().is_none(), "{round} {tree:?}");
        }
    }
    assert!(model.len() > 20_000);
}

/// It is on its way at once, is read with what is written over it meanwhile, and lets no more wait than it may.
#[test]
fn a_large_commit_waits_for_its_way() {
    let disk = Disk::default();
    let limits = RecentLimits {
        largest: 1_000,
        waiting: 40_000,
        ..STAYS
    };
    let store = store(&disk, limits);
    let mut model = Model::new();
    let write = |model: &mut Model, keys: std::ops::Range<u8>, value: Option<&[u8]>| {
        let mut pending = Pending::default();
        for (key, tree) in keys.rev().flat_map(|key| TREES.map(|tree| ([0, key], tree))) {
            match value {
                Some(value) => {
                    pending.put(tree, &key, value);
                    model.insert((tree, key.to_vec()), value.to_vec());
                }
                None => {
                    pending.remove(tree, &key);
                    model.remove(&(tree, key.to_vec()));
                }
            }
        }
        let written = store.write(&mut |transaction| {
            transaction.apply(&mut pending)?;
            Ok(Finish::Relaxed)
        });
        written.unwrap();
    };
    let check = |model: &Model| {
        for seed in 1..60 {
            assert_reads(&*store.snapshot().unwrap(), model, &mut Random(seed));
        }
    };
    let begun = disk.changes();
    write(&mut model, 0..20, Some(&[1; 100]));
    assert_eq!(store.due(), Due::Now);
    write(&mut model, 10..12, Some(&[2; 30]));
    write(&mut model, 12..14, None);
    check(&model);
    let (held, before) = (store.snapshot().unwrap(), model.clone());
    write(&mut model, 5..25, Some(&[3; 100]));
    write(&mut model, 8..60, None);
    check(&model);
    assert_eq!(disk.changes(), begun);
    store.flush().unwrap();
    assert_eq!(store.due(), Due::Never);
    check(&model);
    for round in 0..4 {
        write(&mut model, 0..40, Some(&[round; 100]));
        // Three of them may wait; the fourth takes all of them along.
        let expected = if round == 3 { Due::Never } else { Due::Now };
        assert_eq!(store.due(), expected, "{round}");
        check(&model);
    }
    for seed in 1..60 {
        assert_reads(&*held, &before, &mut Random(seed));
    }
}

#[test]
fn a_store_reads_like_a_map_wherever_its_entries_are() {
    let mut seen_due = false;
    for (seed, limits) in [
        (3, SMALL_RECENT),
        (4, STAYS),
        (5, RecentLimits::default()),
        (6, LARGE),
    ] {
        let disk = Disk::default();
        let mut random = Random(seed);
        let mut store = store(&disk, limits);
        let mut model = Model::new();
        let mut held: Vec<(Snapshot, Model)> = Vec::new();
        for step in 0..300 {
            let finish =
                [Finish::Relaxed, Finish::Logged, Finish::Durable, Finish::Abort][random.below(4) as usize];
            let mut after = model.clone();
            let mut pending = random_writes(&mut random, &mut after);
            let seed = random.below(u64::MAX / 2) | 1;
            let written = store.write(&mut |transaction| {
                transaction.apply(&mut pending)?;
                assert_reads(&*transaction, &after, &mut Random(seed));
                Ok(finish)
            });
            written.unwrap();
            if finish != Finish::Abort {
                model = after;
            }
            seen_due |= store.due() == Due::Now;
            match random.below(30) {
                0..4 => store.flush().unwrap(),
                4 => store.checkpoint().unwrap(),
                5 => drop(store.sync().unwrap()),
                6..10 => held.push((store.snapshot().unwrap(), model.clone())),
                10..13 if !held.is_empty() => {
                    held.swap_remove(random.below(held.len() as u64) as usize);
                }
                _ => {}
            }
            assert_reads(&*store.snapshot().unwrap(), &model, &mut random);
            for (snapshot, model) in &held {
                assert_reads(&**snapshot, model, &mut random);
            }
            if step % 100 == 99 {
                held.clear();
                drop(store);
                store = self::store(&disk, limits);
                assert_reads(&*store.snapshot().unwrap(), &model, &mut random);
            }
        }
    }
    assert!(seen_due);
}

#[test]
fn readers_see_whole_commits_while_they_go_to_redb() {
    let disk = Disk::default();
    let store = store(&disk, SMALL_RECENT);
    let (done, last) = (AtomicBool::new(false), AtomicU64::new(0));
    let key = |n: u64| [n as u8 * 20, 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                store.flush().unwrap();
            }
        });
        for reverse in [false, true] {
            let (store, done, last) = (&store, &done, &last);
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let acknowledged = last.load(Ordering::Acquire);
                    let snapshot = store.snapshot().unwrap();
                    let mut found = Vec::new();
                    let mut visit = |_: &[u8], value: &[u8]| {
                        found.push(u64::from_be_bytes(value[..8].try_into().unwrap()));
                        Ok(ControlFlow::Continue(()))
                    };
                    snapshot.scan(TREES[0], ALL, reverse, &mut visit).unwrap();
                    let got = snapshot.get(TREES[2], &key(3)).unwrap();
                    found.extend(got.map(|value| u64::from_be_bytes(value[..8].try_into().unwrap())));
                    assert!(
                        found.is_empty() && acknowledged == 0 || found.len() == 11,
                        "{found:?}"
                    );
                    assert!(
                        found.iter().all(|n| *n == found[0] && *n >= acknowledged),
                        "{found:?}"
                    );
                }
            });
        }
        for n in 1..1500u64 {
            let finish = [Finish::Relaxed, Finish::Logged, Finish::Durable][n as usize % 3];
            let written = store.write(&mut |transaction| {
                let mut pending = Pending::default();
                let mut value = n.to_be_bytes().to_vec();
                value.resize(8 + (n as usize * 37) % 700, 1);
                for at in 0..10 {
                    pending.remove(TREES[0], &[at as u8 * 20, n as u8 % 7 + 4]);
                    pending.put(TREES[0], &key(at), &value);
                }
                pending.put(TREES[2], &key(3), &value);
                transaction.apply(&mut pending)?;
                Ok(finish)
            });
            written.unwrap();
            last.store(n, Ordering::Release);
        }
        done.store(true, Ordering::Release);
    });
}

/// The engine's second thread takes its part too.
#[test]
fn what_is_recent_goes_to_redb_when_nobody_writes() {
    let disk = Disk::default();
    let store = Arc::new(disk.store(Limits::default()).unwrap());
    let engine = Engine::with_store(store.clone(), Some(Durability::Immediate)).unwrap();
    let tree = collection(&engine, "c").indexes[0].tree;
    put(&engine, tree, b"a", b"1").unwrap();
    assert_eq!(store.due(), Due::Later);
    let before = Arc::downgrade(&engine.view().unwrap());
    let start = std::time::Instant::now();
    // Readers do not stay with what was kept in front of redb either, though nobody writes.
    while store.due() != Due::Never || before.strong_count() > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it never went");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(value(&*engine.view().unwrap(), tree, b"a"), Some(b"1".to_vec()));
}

/// Entries that are removed where a queue looks for its next one go before there are many of them.
#[test]
fn removed_entries_that_are_passed_over_make_it_time() {
    // After n of them n * (n - 1) / 2 were passed over.
    assert_eq!(taken_until_it_is_time(true), 15);
    // Forwards the ninth look remembers, and each after it passes over the last one alone.
    assert_eq!(taken_until_it_is_time(false), 73);
}

fn taken_until_it_is_time(reverse: bool) -> u8 {
    let disk = Disk::default();
    let store = store(&disk, RecentLimits { passed: 100, ..STAYS });
    let write = |body: &mut dyn FnMut(&mut Pending)| {
        let written = store.write(&mut |transaction| {
            let mut pending = Pending::default();
            body(&mut pending);
            transaction.apply(&mut pending)?;
            Ok(Finish::Relaxed)
        });
        written.unwrap();
    };
    write(&mut |pending| (0..100u8).for_each(|n| pending.put(TREES[0], &[n], b"job")));
    store.flush().unwrap();
    let mut taken = 0;
    while store.due() != Due::Now {
        let mut first = None;
        let snapshot = store.snapshot().unwrap();
        let mut visit = |key: &[u8], _: &[u8]| {
            first = Some(key.to_vec());
            Ok(ControlFlow::Break(()))
        };
        snapshot.scan(TREES[0], ALL, reverse, &mut visit).unwrap();
        let next = if reverse { 99 - taken } else { taken };
        assert_eq!(first, Some(vec![next]));
        write(&mut |pending| pending.remove(TREES[0], &[next]));
        taken += 1;
    }
    store.flush().unwrap();
    assert_eq!(store.due(), Due::Never);
    taken
}

#[test]
fn any_call_of_a_flush_may_fail() {
    let (mut runs, mut failed) = (0, 0);
    for (finish, limits) in [
        (Finish::Durable, STAYS),
        (Finish::Logged, STAYS),
        (Finish::Logged, LARGE),
    ] {
        for (error, once, reads) in [
            (EIO, true, false),
            (ENOSPC, false, false),
            (EIO, true, true),
            (EIO, false, true),
        ] {
            for at in (1..).step_by(7) {
                let disk = Disk::default();
                let store = store(&disk, limits);
                let mut random = Random(9);
                let mut model = Model::new();
                let mut commit = |model: &mut Model, finish: Finish| {
                    let mut after = model.clone();
                    let mut pending = random_writes(&mut random, &mut after);
                    let written = store.write(&mut |transaction| {
                        transaction.apply(&mut pending)?;
                        Ok(finish)
                    });
                    if written.is_ok() {
                        *model = after;
                    }
                    written
                };
                // The first one begins the log.
                commit(&mut model, Finish::Durable).unwrap();
                for _ in 0..25 {
                    commit(&mut model, finish).unwrap();
                }
                disk.count_reads(reads);
                let begun = disk.changes();
                disk.fail(begun + at, once, error);
                let flushed = store.flush();
                let ended = disk.changes() < begun + at;
                if let Err(fault) = &flushed {
                    assert_eq!(fault.class(), Class::Io, "{fault:?}");
                    failed += 1;
                }
                disk.count_reads(false);
                disk.heal();
                let read = store.snapshot().and_then(|snapshot| {
                    snapshot.scan(TREES[0], ALL, false, &mut |_, _| Ok(ControlFlow::Continue(())))
                });
                match read {
                    Ok(()) => assert_reads(&*store.snapshot().unwrap(), &model, &mut Random(11)),
                    Err(fault) => assert!(reads && fault.class() == Class::Io, "{fault:?}"),
                }
                let mut possible = vec![model.clone()];
                match commit(&mut model, finish) {
                    Ok(()) => {
                        assert!(flushed.is_ok(), "call {at}: written after a failure");
                        possible = vec![model.clone()];
                    }
                    Err(_) => assert!(flushed.is_err() || reads, "call {at}: refused after nothing"),
                }
                let killed = disk.healthy();
                drop(store);
                for disk in [killed, disk.healthy()] {
                    let store = self::store(&disk, limits);
                    let snapshot = store.snapshot().unwrap();
                    possible.iter().for_each(|model| {
                        for seed in 1..20 {
                            assert_reads(&*snapshot, model, &mut Random(seed));
                        }
                    });
                }
                runs += 1;
                if ended {
                    break;
                }
            }
        }
    }
    println!("runs={runs} of them failed={failed}");
    assert!(failed > 20, "{failed} of {runs}");
}
