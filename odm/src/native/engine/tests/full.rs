//! A disk that is full.

use std::process::{Command, Stdio};

use super::*;

/// A file system in memory, unmounted at the end.
struct Tmpfs(Directory);

impl Tmpfs {
    fn mount(options: &str) -> Option<Tmpfs> {
        let directory = Directory::new();
        std::fs::create_dir(directory.path()).unwrap();
        let tmpfs = Tmpfs(directory);
        tmpfs
            .run("mount", &["-t", "tmpfs", "-o", options, "tmpfs"])
            .then_some(tmpfs)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        Command::new(program)
            .args(arguments)
            .arg(self.0.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// How many bytes are free.
    fn free(&self) -> u64 {
        let asked = Command::new("stat")
            .args(["-f", "-c", "%a %S"])
            .arg(self.0.path())
            .output();
        let said = String::from_utf8(asked.unwrap().stdout).unwrap();
        let (blocks, bytes) = said.trim().split_once(' ').unwrap();
        blocks.parse::<u64>().unwrap() * bytes.parse::<u64>().unwrap()
    }

    /// Waits until about so many bytes are free again: a process that another test is starting has all files open for
    /// a moment, those that were removed too.
    fn wait_for_room(&self, bytes: u64) {
        let start = std::time::Instant::now();
        while self.free() + 256 * 1024 < bytes {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "a removed file keeps its room"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn engine(&self) -> Result<Engine> {
        let location = Location::Directory(self.0.path().join("database"));
        Engine::open(location, EngineOptions::default())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let mut failures = 0;
    for size in [300, 900, 1500, 3100, 5000] {
        let Some(disk) = Tmpfs::mount(&format!("size={size}k")) else {
            println!("skipped: mounting a file system is not permitted here");
            return;
        };
        let mut acknowledged = 0;
        if let Ok(engine) = disk.engine()
            && let Ok(collection) = wait(engine.write(|writer| create(writer, "c")))
        {
            let fault = loop {
                match put(
                    &engine,
                    collection.records,
                    &u64::to_be_bytes(acknowledged),
                    &[7; 10_000],
                ) {
                    Ok(()) => acknowledged += 1,
                    Err(fault) => break fault,
                }
                assert!(acknowledged < 1000, "the disk never gets full");
            };
            failures += 1;
            assert!(matches!(fault.class(), Class::Io | Class::InDoubt), "{fault:?}");
            let again = put(&engine, collection.records, b"12345678", b"").unwrap_err();
            assert_eq!(again.class(), Class::Io, "{again:?}");
            let view = engine.view().unwrap();
            assert!(entries(&*view, collection.records).len() as u64 >= acknowledged);
        }
        assert!(disk.run("mount", &["-o", "remount,size=64m"]));
        let engine = disk.engine().unwrap();
        let view = engine.view().unwrap();
        let found = match view.catalog().collection("db", "c") {
            Some(collection) => entries(&*view, collection.records).len() as u64,
            None => 0,
        };
        assert!(found >= acknowledged, "{found} of {acknowledged} with {size} KiB");
        put(&engine, collection(&engine, "later").records, b"12345678", b"").unwrap();
        let problems = engine.check().unwrap().problems;
        assert!(
            problems.iter().all(|problem| !problem.message.contains("page")),
            "{problems:?}"
        );
        println!("{size} KiB: acknowledged={acknowledged} found={found}");
    }
    assert!(failures > 2);
}

#[test]
fn a_compaction_and_a_backup_that_do_not_fit_change_nothing() {
    for size in [2500, 4000, 6000] {
        let Some(disk) = Tmpfs::mount(&format!("size={size}k")) else {
            println!("skipped: mounting a file system is not permitted here");
            return;
        };
        let engine = disk.engine().unwrap();
        let c = collection(&engine, "c");
        // More than half of the disk is taken, so that there is no room for a copy.
        let mut written = 0u64;
        while written * 4_000 < size * 1024 / 2 {
            put(&engine, c.records, &written.to_be_bytes(), &[7; 4_000]).unwrap();
            written += 1;
            if written.is_multiple_of(10) {
                engine.check().unwrap();
            }
        }
        let copy = disk.0.path().join("copy");
        for _ in 0..2 {
            let free = disk.free();
            let fault = engine
                .backup(&copy, true, &mut |_| ControlFlow::Continue(()))
                .unwrap_err();
            assert_eq!(fault.class(), Class::Io, "{fault:?}");
            disk.wait_for_room(free);
            let fault = engine.compact().unwrap_err();
            assert_eq!(fault.class(), Class::Io, "{fault:?}");
            let names: Vec<_> = std::fs::read_dir(disk.0.path())
                .unwrap()
                .chain(std::fs::read_dir(disk.0.path().join("database")).unwrap())
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            assert_eq!(names.len(), 3, "{names:?}");
            disk.wait_for_room(free);
            put(&engine, c.records, &written.to_be_bytes(), &[7; 4_000]).unwrap();
            written += 1;
        }
        assert_eq!(entries(&*engine.view().unwrap(), c.records).len() as u64, written);
        assert!(disk.run("mount", &["-o", "remount,size=64m"]));
        engine.compact().unwrap();
        let copied = engine.backup(&copy, true, &mut |_| ControlFlow::Continue(()));
        assert_eq!(copied.unwrap().records, written);
        drop(engine);
        let engine = disk.engine().unwrap();
        assert_eq!(entries(&*engine.view().unwrap(), c.records).len() as u64, written);
    }
}
