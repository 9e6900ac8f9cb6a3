//! Writes.

use bson::{Bson, Document, RawBson, RawDocumentBuf, doc};

use super::book::Book;
use super::{fake, stored, text};
use crate::backend::fake::block_on;
use crate::backend::{Modification, Operation, Response, WriteResult};
use crate::collection::RawUpdate;
use crate::error::{Error, ErrorKind};
use crate::model::Model;
use crate::query::{Filter, Update};

fn duplicate() -> Error {
    Error::new(ErrorKind::DuplicateKey, "duplicate key").with_code(11000)
}

#[test]
fn inserts_give_keys_and_raw_documents_get_one() {
    let (fake, books) = fake();
    fake.written(|s| s.inserted = 1)
        .written(|s| s.inserted = 1)
        .written(|s| s.inserted = 1);
    assert_eq!(
        block_on(books.insert(Book::new(3, "Emma")).into_future()).unwrap(),
        3
    );
    let one = block_on(books.insert_one(Book::new(4, "Emma")).into_future()).unwrap();
    assert_eq!(one.id, 4);
    let id = block_on(books.raw().insert(doc! {"title": "Emma"}).into_future()).unwrap();
    let Operation::Insert(insert) = fake.last() else {
        panic!("not an insert")
    };
    let sent = Document::try_from(&insert.documents[0]).unwrap();
    assert!(matches!(id, Bson::ObjectId(_)));
    assert_eq!(sent.iter().next(), Some((&"_id".to_owned(), &id)));
}

#[test]
fn a_partial_insert_says_what_is_stored() {
    let (fake, books) = fake();
    let batch = [
        Book::new(1, "a"),
        Book::new(2, "b"),
        Book::new(3, "c"),
        Book::new(4, "d"),
    ];
    let answer = |errors: Vec<usize>, inserted| {
        let mut result = WriteResult::default();
        result.summary.inserted = inserted;
        result.errors = errors.into_iter().map(|index| (index, duplicate())).collect();
        Response::Write(result)
    };
    fake.answer(answer(vec![2], 2)).answer(answer(vec![2, 0], 2));

    let error = block_on(books.insert_many(&batch).into_future()).unwrap_err();
    assert!(error.is_duplicate_key());
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.inserted, [(0, Bson::Int32(1)), (1, Bson::Int32(2))]);
    assert_eq!(partial.summary.inserted, 2);
    assert_eq!(error.write_errors()[0].index, 2);

    let error = block_on(books.insert_many(batch).unordered().into_future()).unwrap_err();
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.inserted, [(1, Bson::Int32(2)), (3, Bson::Int32(4))]);
    assert_eq!(
        error.write_errors().iter().map(|e| e.index).collect::<Vec<_>>(),
        [0, 2]
    );
    assert!(
        error
            .write_errors()
            .iter()
            .all(|e| e.error.model() == Some("Book"))
    );
    assert!(error.to_string().contains("failed writes: 2"), "{error}");
}

#[test]
fn batches_without_writes_ask_nothing() {
    let (fake, books) = fake();
    let none: [Book; 0] = [];
    assert!(
        block_on(books.insert_many(none).into_future())
            .unwrap()
            .ids
            .is_empty()
    );
    assert_eq!(block_on(books.bulk_write().into_future()).unwrap().inserted, 0);
    assert!(fake.asked().is_empty());
}

#[test]
fn updates_say_what_they_did() {
    let (fake, books) = fake();
    let mut upserted = WriteResult::default();
    upserted.upserted = vec![(0, RawBson::Int32(9))];
    fake.written(|s| (s.matched, s.modified) = (2, 1))
        .answer(Response::Write(upserted));
    let many = books.update_many(
        |_| Filter::raw(doc! {}),
        |_| Update::raw(doc! {"$set": {"title": "x"}}),
    );
    let result = block_on(many.hint("h").into_future()).unwrap();
    assert_eq!(
        (result.matched, result.modified, result.upserted_id),
        (2, 1, None)
    );
    let Operation::Update(update) = fake.last() else {
        panic!("not an update")
    };
    assert!(update.statements[0].multi && update.statements[0].hint.is_some());

    let result = block_on(books.save(Book::new(9, "Emma")).into_future()).unwrap();
    assert_eq!(result.upserted_id, Some(9));
    let Operation::Update(update) = fake.last() else {
        panic!("not an update")
    };
    assert_eq!(text(&update.statements[0].filter), r#"{ "_id": 9 }"#);
    assert!(update.statements[0].upsert);
    assert!(matches!(
        update.statements[0].modification,
        Modification::Replacement(_)
    ));
}

#[test]
fn a_failed_single_write_is_its_own_error() {
    let (fake, books) = fake();
    let mut failed = WriteResult::default();
    failed.errors = vec![(0, duplicate())];
    fake.answer(Response::Write(failed));
    let error = block_on(books.insert(Book::new(1, "a")).into_future()).unwrap_err();
    assert!(error.is_duplicate_key() && error.partial_write().is_none());
    assert_eq!(
        (error.operation(), error.backend()),
        (Some("insert"), Some("fake"))
    );
}

#[test]
fn raw_updates_must_have_operators() {
    let (fake, books) = fake();
    for update in [doc! {"title": "x"}, doc! {}] {
        let error = block_on(books.raw().update_one(doc! {}, update).into_future()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert!(fake.asked().is_empty());
    fake.written(|s| s.matched = 1);
    block_on(
        books
            .raw()
            .update_one(doc! {}, [doc! {"$set": {"a": "$b"}}])
            .into_future(),
    )
    .unwrap();
    let Operation::Update(update) = fake.last() else {
        panic!("not an update")
    };
    assert!(
        matches!(&update.statements[0].modification, Modification::Pipeline(stages) if stages.len() == 1)
    );

    fake.written(|s| s.matched = 1);
    let graded = RawUpdate::new(doc! {"$inc": {"grades.$[g]": 1}}).array_filter(doc! {"g": {"$lt": 9}});
    let action = books.raw().update_many(doc! {}, graded);
    block_on(action.hint(Book::fields().title.desc()).into_future()).unwrap();
    let Operation::Update(update) = fake.last() else {
        panic!("not an update")
    };
    assert_eq!(
        text(&update.statements[0].array_filters[0]),
        r#"{ "g": { "$lt": 9 } }"#
    );
    let Some(RawBson::Document(hint)) = &update.statements[0].hint else {
        panic!("no hint")
    };
    assert_eq!(text(hint), r#"{ "title": -1 }"#);
}

#[test]
fn find_one_and_gives_old_or_new() {
    let (fake, books) = fake();
    let reply = |book: &Book| {
        Response::Document(Some(
            RawDocumentBuf::try_from(&stored(std::slice::from_ref(book))[0]).unwrap(),
        ))
    };
    let emma = Book::new(1, "Emma");
    fake.answer(reply(&emma)).answer(Response::Document(None));
    let action = books.find_one_and_update(
        |_| Filter::raw(doc! {"_id": 1}),
        |_| Update::raw(doc! {"$set": {"title": "x"}}),
    );
    let action = action.sort(|b| b.title.asc()).return_new().upsert();
    assert_eq!(block_on(action.into_future()).unwrap(), Some(emma));
    let Operation::FindAndModify(sent) = fake.last() else {
        panic!("not a findAndModify")
    };
    assert!(sent.return_new && sent.upsert && sent.sort.is_some() && sent.modification.is_some());
    assert_eq!(
        block_on(books.find_one_and_delete(|_| Filter::raw(doc! {})).into_future()).unwrap(),
        None
    );
    let Operation::FindAndModify(sent) = fake.last() else {
        panic!("not a findAndModify")
    };
    assert!(sent.modification.is_none());
}

#[test]
fn bulk_writes_keep_their_order_and_their_ids() {
    let (fake, books) = fake();
    let mut result = WriteResult::default();
    (
        result.summary.inserted,
        result.summary.upserted,
        result.summary.deleted,
    ) = (1, 1, 3);
    result.upserted = vec![(1, RawBson::Int32(2))];
    fake.answer(Response::Write(result.clone()));
    let batch = || {
        books
            .bulk_write()
            .delete_many(|_| Filter::raw(doc! {}))
            .upsert(
                |_| Filter::raw(doc! {"_id": 2}),
                |_| Update::raw(doc! {"$set": {"title": "b"}}),
            )
            .insert(Book::new(3, "c"))
            .replace_one(|_| Filter::raw(doc! {"_id": 4}), Book::new(4, "d"))
            .save(Book::new(5, "e"))
    };
    let done = block_on(batch().into_future()).unwrap();
    assert_eq!((done.inserted, done.deleted), (1, 3));
    assert_eq!(
        (done.inserted_ids, done.upserted_ids),
        (vec![(2, 3)], vec![(1, 2)])
    );

    result.errors = vec![(3, duplicate())];
    fake.answer(Response::Write(result));
    let error = block_on(batch().into_future()).unwrap_err();
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.inserted, [(2, Bson::Int32(3))]);
    assert_eq!(partial.upserted, [(1, Bson::Int32(2))]);
    assert_eq!(partial.summary.deleted, 3);
}
