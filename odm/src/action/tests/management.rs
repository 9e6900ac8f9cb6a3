//! Indexes, collections and commands.

use bson::{Document, RawDocumentBuf, doc};

use super::fake;
use crate::backend::fake::{Fake, block_on};
use crate::backend::{self, Operation, Response};
use crate::error::{Error, ErrorKind};

#[test]
fn indexes_are_synchronised_and_dropped_only_when_asked() {
    let (fake, books) = fake();
    let listed = || {
        let specs = [
            doc! {"v": 2, "key": {"_id": 1}, "name": "_id_"},
            doc! {"v": 2, "key": {"title": 1}, "name": "title_1"},
            doc! {"v": 2, "key": {"year": 1}, "name": "year_1"},
        ];
        Response::Documents(
            specs
                .iter()
                .map(|spec| RawDocumentBuf::try_from(spec).unwrap())
                .collect(),
        )
    };
    fake.answer(listed());
    let drift = block_on(books.index_drift().into_future()).unwrap();
    assert_eq!(drift.changed[0].differences, ["unique"]);
    assert_eq!(drift.unknown[0].name, "year_1");

    fake.answer(listed());
    let done = block_on(books.sync_indexes().into_future()).unwrap();
    assert_eq!(done.left, drift);

    fake.answer(listed())
        .answer(Response::Done)
        .answer(Response::Done)
        .answer(Response::Done)
        .answer(Response::Done)
        .answer(Response::Done);
    let sync = books.sync_indexes().drop_unknown(true).rebuild_changed(true);
    let done = block_on(sync.into_future()).unwrap();
    assert_eq!(
        (done.dropped, done.rebuilt),
        (vec!["year_1".to_owned()], vec!["title_1".to_owned()])
    );
    assert!(done.left.is_empty());
    let names: Vec<_> = fake.asked().iter().rev().take(6).map(Operation::name).collect();
    // What stands in, what was, what is declared; what stood in, and what nobody declares.
    let mut expected = [
        "listIndexes",
        "createIndexes",
        "dropIndexes",
        "createIndexes",
        "dropIndexes",
        "dropIndexes",
    ];
    expected.reverse();
    assert_eq!(names, expected);
}

#[test]
fn commands_listings_and_checks_pass_through() {
    let fake = Fake::default();
    let db = fake.db();
    let document = |document: Document| RawDocumentBuf::try_from(&document).unwrap();
    fake.answer(Response::Document(Some(document(doc! {"ok": 1.0}))));
    assert_eq!(
        block_on(db.run_command(doc! {"ping": 1})).unwrap(),
        doc! {"ok": 1.0}
    );
    fake.answer(Response::Documents(vec![document(
        doc! {"name": "log", "type": "collection", "options": {"capped": true}},
    )]));
    let listed = block_on(db.list_collections()).unwrap();
    assert_eq!(
        (listed[0].name.as_str(), &listed[0].options),
        ("log", &doc! {"capped": true})
    );
    fake.answer(Response::Done);
    block_on(
        db.create_collection("log")
            .capped(4096)
            .max_documents(10)
            .into_future(),
    )
    .unwrap();
    let Operation::CreateCollection(backend::CreateCollection { options, .. }) = fake.last() else {
        panic!()
    };
    assert_eq!(
        Document::try_from(&options).unwrap(),
        doc! {"capped": true, "size": 4096_i64, "max": 10_i64}
    );
    fake.answer(Response::Check(Default::default()));
    assert!(block_on(db.check()).unwrap().is_clean());
    fake.fail(Error::new(ErrorKind::Unsupported, "no"));
    let error = block_on(db.check()).unwrap_err();
    assert_eq!(
        (error.operation(), error.backend()),
        (Some("check"), Some("fake"))
    );
}
