//! Files that earlier versions wrote open for ever.

use super::disk::Disk;
use super::*;

/// Each format that was ever released. With `ODM_GOLDEN_WRITE` the current one's files are written anew; those of a
/// released format are never changed.
const FORMATS: [u32; 3] = [1, 2, 3];

const SECTOR: usize = 512;

fn path(format: u32, kind: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    root.join(format!("format-{format}-{kind}.sectors"))
}

/// The length (u64 LE), then each sector that is not all zeros after its number (u64 LE).
fn pack(content: &[u8]) -> Vec<u8> {
    let mut packed = (content.len() as u64).to_le_bytes().to_vec();
    for (number, sector) in content.chunks(SECTOR).enumerate() {
        if sector.iter().any(|byte| *byte != 0) {
            packed.extend((number as u64).to_le_bytes());
            packed.extend(sector);
            packed.resize(packed.len() + SECTOR - sector.len(), 0);
        }
    }
    packed
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let (length, sectors) = packed.split_first_chunk().unwrap();
    let length = u64::from_le_bytes(*length) as usize;
    let mut content = vec![0; length.next_multiple_of(SECTOR)];
    for sector in sectors.chunks_exact(8 + SECTOR) {
        let (number, bytes) = sector.split_first_chunk().unwrap();
        let at = u64::from_le_bytes(*number) as usize * SECTOR;
        content[at..at + SECTOR].copy_from_slice(bytes);
    }
    content.truncate(length);
    content
}

/// Collection `db.c` with an index and the documents 0 to 59, of which 7 was removed; nothing more.
fn work(disk: &Disk) -> Engine {
    let engine = disk.engine(Durability::Immediate).unwrap();
    let id = collection(&engine, "c").id;
    wait(engine.write(move |writer| {
        writer
            .catalog_mut()
            .add_index(id, definition("x_1", "x"))
            .map(drop)
    }))
    .unwrap();
    let collection = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
    for n in 0..60 {
        insert(&engine, &collection, n).unwrap();
    }
    wait(engine.write(move |writer| {
        let record = 8u64.to_be_bytes();
        for index in &collection.indexes {
            for key in index.definition.keys(Doc::Raw(&document(7)))?.keys {
                writer.remove(index.tree, &[&key, &record[..]].concat())?;
            }
        }
        writer.remove(collection.records, &record)
    }))
    .unwrap();
    engine
}

#[test]
fn files_of_every_format_open() {
    for format in FORMATS {
        // As closing leaves it, and as a killed process leaves it.
        for kind in ["closed", "killed"] {
            let packed = std::fs::read(path(format, kind)).unwrap();
            let content = unpack(&packed);
            assert!(pack(&content) == packed);
            let log = match format {
                1 => Vec::new(),
                _ => unpack(&std::fs::read(path(format, &format!("{kind}-log"))).unwrap()),
            };
            let disk = Disk::with([content, log]);
            let engine = disk.engine(Durability::Immediate).unwrap();
            let view = engine.view().unwrap();
            let collection = view.catalog().collection("db", "c").unwrap();
            assert!(collection.index("_id_").is_some() && collection.index("x_1").is_some());
            let documents: Vec<Vec<u8>> = entries(&*view, collection.records)
                .iter()
                .map(|(key, stored)| unseal(collection.records, key, stored).unwrap().to_vec())
                .collect();
            let expected: Vec<Vec<u8>> = (0..60).filter(|n| *n != 7).map(document).collect();
            assert_eq!(documents, expected);
            assert_eq!(engine.check().unwrap().problems, []);
            let report = engine.check().unwrap();
            assert_eq!((report.records, report.index_entries), (59, 118));
            let copy = Directory::new();
            let copied = engine.backup(copy.path(), false, &mut |_| ControlFlow::Continue(()));
            assert_eq!(copied.unwrap().records, 59);
            let restored = open(&copy);
            let view = restored.view().unwrap();
            for tree in std::iter::once(TreeId::CATALOG).chain(collection.trees()) {
                assert_eq!(entries(&*view, tree), entries(&*engine.view().unwrap(), tree));
            }
            assert_eq!(restored.check().unwrap().problems, []);
            assert_eq!(insert(&engine, collection, 60).unwrap(), 61);
        }
    }
}

#[test]
fn the_current_format_has_its_files() {
    let current = crate::native::storage::format::VERSION;
    if std::env::var_os("ODM_GOLDEN_WRITE").is_some() {
        let disk = Disk::default();
        let engine = work(&disk);
        std::fs::create_dir_all(path(current, "closed").parent().unwrap()).unwrap();
        let write = |kind: &str| {
            let [content, log] = disk.files();
            std::fs::write(path(current, kind), pack(&content)).unwrap();
            std::fs::write(path(current, &format!("{kind}-log")), pack(&log)).unwrap();
        };
        write("killed");
        drop(engine);
        write("closed");
    }
    assert!(FORMATS.contains(&current), "a format without golden files");
}
