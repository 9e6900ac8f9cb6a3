//! Commands with what is said of them.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, doc};

/// The code and the words of a refusal; 0 and none when there is none.
pub(super) async fn answer(db: &Db, command: Document, name: &str) -> (i32, String) {
    match db.run_command(command).await {
        Ok(_) => (0, String::new()),
        Err(error) => (
            error.code().unwrap_or(-1),
            error.message().replace(&format!("{name}."), "DB."),
        ),
    }
}

/// Checks commands with the codes and words of their refusals.
pub(super) async fn check(db: &Db, rows: Vec<(Document, i32, &str)>) {
    check_in(db, db.name(), rows).await;
}

/// The same in another database; `name` stands for itself in what is said.
pub(super) async fn check_in(db: &Db, name: &str, rows: Vec<(Document, i32, &str)>) {
    for (command, code, words) in rows {
        let expected = (code, words.to_owned());
        assert_eq!(answer(db, command.clone(), name).await, expected, "{command}");
    }
}

pub(super) fn uuid(byte: u8) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![byte; 16],
    })
}

pub(super) fn with(mut command: Document, more: Document) -> Document {
    command.extend(more);
    command
}

pub(super) fn indexed(name: &str, spec: Document) -> Document {
    doc! { "createIndexes": name, "indexes": [spec] }
}
