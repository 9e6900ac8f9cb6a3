//! What directories are opened, and by whom.

use super::*;

#[test]
fn a_directory_is_opened_once() {
    let directory = Directory::new();
    let engine = open(&directory);
    let fault = open_with(&directory, Durability::Immediate).unwrap_err();
    assert_eq!(fault.class(), Class::Locked, "{fault:?}");
    drop(engine);
    open(&directory);
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let _engine = open(&directory);
    for name in [
        crate::native::storage::file::FILE_NAME,
        crate::native::storage::file::LOG_FILE_NAME,
    ] {
        let file = std::fs::metadata(directory.path().join(name)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(
        std::fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn other_files_are_refused() {
    use redb::{Database, TableDefinition};
    let file = crate::native::storage::file::FILE_NAME;
    let refused = |directory: &Directory| open_with(directory, Durability::Immediate).unwrap_err();

    let directory = Directory::new();
    std::fs::create_dir(directory.path()).unwrap();
    std::fs::write(directory.path().join(file), vec![b'x'; 100_000]).unwrap();
    let fault = refused(&directory);
    assert_eq!(fault.class(), Class::Unsupported, "{fault:?}");

    let directory = Directory::new();
    std::fs::create_dir(directory.path()).unwrap();
    let database = Database::create(directory.path().join(file)).unwrap();
    let write = database.begin_write().unwrap();
    write
        .open_table(TableDefinition::<u32, u32>::new("strange"))
        .unwrap()
        .insert(1, 2)
        .unwrap();
    write.commit().unwrap();
    drop(database);
    let fault = refused(&directory);
    assert!(fault.message().contains("not written by odm"), "{fault:?}");

    let directory = Directory::new();
    drop(open(&directory));
    let path = directory.path().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    for slot in [0, 4096] {
        bytes[slot + 8] = 9;
    }
    std::fs::write(&path, bytes).unwrap();
    let fault = refused(&directory);
    assert!(
        fault.message().contains("format 9") && fault.message().contains("format 3"),
        "{fault:?}"
    );
}
