//! What actions ask of a backend, and what they make of its answers.

pub(crate) mod book;

use bson::{Bson, Document, RawBson, RawDocumentBuf, doc};
use futures_core::Stream;

use self::book::{Book, Spine, Wrong};
use crate::backend::fake::{Fake, block_on};
use crate::backend::{self, Modification, Operation, Response, WriteResult};
use crate::collection::{Collection, RawUpdate};
use crate::error::{Error, ErrorKind};
use crate::model::Model;
use crate::query::{Filter, Update};

fn fake() -> (Fake, Collection<Book>) {
    let fake = Fake::default();
    let books = fake.db().collection();
    (fake, books)
}

fn stored(books: &[Book]) -> Vec<Document> {
    books
        .iter()
        .map(|book| doc! {"_id": book.id, "title": &book.title})
        .collect()
}

fn text(raw: &RawDocumentBuf) -> String {
    Document::try_from(raw).unwrap().to_string()
}

fn duplicate() -> Error {
    Error::new(ErrorKind::DuplicateKey, "duplicate key").with_code(11000)
}

#[test]
fn a_find_reads_every_batch_and_sends_what_was_set() {
    let (fake, books) = fake();
    let moby = Book::new(1, "Moby-Dick");
    let emma = Book::new(2, "Emma");
    fake.batches([
        stored(std::slice::from_ref(&moby)),
        vec![],
        stored(std::slice::from_ref(&emma)),
    ]);
    let action = books
        .find(|_| Filter::raw(doc! {"title": {"$exists": true}}))
        .sort(|b| b.title.desc())
        .skip(3)
        .limit(7)
        .batch_size(2)
        .hint("title_1")
        .comment("why")
        .max_time(std::time::Duration::from_millis(50))
        .collation(doc! {"locale": "en"})
        .variables(doc! {"x": 1});
    assert_eq!(block_on(action.into_future()).unwrap(), [moby, emma]);
    let Operation::Find(find) = fake.last() else {
        panic!("not a find")
    };
    assert_eq!(find.namespace.to_string(), "test.books");
    assert_eq!(text(&find.filter), r#"{ "title": { "$exists": true } }"#);
    assert_eq!(text(find.sort.as_ref().unwrap()), r#"{ "title": -1 }"#);
    assert_eq!((find.skip, find.limit, find.batch_size), (3, 7, Some(2)));
    assert_eq!(find.options.hint, Some(RawBson::String("title_1".into())));
    assert_eq!(find.options.comment.as_deref(), Some("why"));
    assert_eq!(find.options.max_time, Some(std::time::Duration::from_millis(50)));
    assert!(find.options.collation.is_some() && find.options.variables.is_some());
}

#[test]
fn a_projection_asks_for_the_stored_names_of_its_type() {
    let (fake, books) = fake();
    fake.batches([vec![doc! {"title": "Emma"}]]);
    let spines = block_on(books.find_all().project::<Spine>().into_future()).unwrap();
    assert_eq!(spines, [Spine { title: "Emma".into() }]);
    let Operation::Find(find) = fake.last() else {
        panic!("not a find")
    };
    assert_eq!(text(&find.projection.unwrap()), r#"{ "title": 1, "_id": 0 }"#);
}

#[test]
fn a_document_that_does_not_fit_is_named_and_the_next_one_is_read() {
    let (fake, books) = fake();
    fake.batches([vec![doc! {"_id": 7}, doc! {"_id": 8, "title": "Emma"}]]);
    let mut cursor = books.find_all().stream();
    let error = block_on(cursor.next()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.id(), Some(&Bson::Int32(7)));
    assert_eq!(error.model(), Some("Book"));
    assert_eq!(error.namespace(), Some("test.books"));
    assert_eq!(block_on(cursor.try_next()).unwrap(), Some(Book::new(8, "Emma")));
    assert_eq!(block_on(cursor.try_next()).unwrap(), None);
    assert_eq!(block_on(cursor.try_next()).unwrap(), None);
}

#[test]
fn a_stream_asks_nothing_before_it_is_read_and_ends_with_an_error() {
    let (fake, books) = fake();
    fake.batch_then(
        stored(&[Book::new(1, "Emma")]),
        Error::new(ErrorKind::Network, "reset"),
    );
    let mut cursor = books.find_all().stream();
    assert!(fake.asked().is_empty());
    assert_eq!(block_on(cursor.try_next()).unwrap(), Some(Book::new(1, "Emma")));
    let error = block_on(cursor.try_next()).unwrap_err();
    assert_eq!(
        (error.kind(), error.operation()),
        (ErrorKind::Network, Some("find"))
    );
    assert!(block_on(cursor.next()).is_none());

    fake.batches([stored(&[Book::new(1, "Emma"), Book::new(2, "Emma")])]);
    let all: Vec<Book> = block_on(books.find_all().stream().try_collect()).unwrap();
    assert_eq!(all.len(), 2);
}

#[test]
fn get_asks_for_one_document_by_id() {
    let (fake, books) = fake();
    fake.batches([stored(&[Book::new(5, "Emma")])]);
    assert_eq!(
        block_on(books.get(5).into_future()).unwrap(),
        Some(Book::new(5, "Emma"))
    );
    let Operation::Find(find) = fake.last() else {
        panic!("not a find")
    };
    assert_eq!(
        (text(&find.filter), find.limit),
        (r#"{ "_id": 5 }"#.to_owned(), 1)
    );

    fake.batches([]).batches([]);
    assert_eq!(block_on(books.get(6).into_future()).unwrap(), None);
    let error = block_on(books.get(6).required().into_future()).unwrap_err();
    assert!(error.is_not_found());
    assert_eq!((error.id(), error.model()), (Some(&Bson::Int32(6)), Some("Book")));

    fake.batches([]);
    block_on(books.get_many([1, 2]).into_future()).unwrap();
    let Operation::Find(find) = fake.last() else {
        panic!("not a find")
    };
    assert_eq!(text(&find.filter), r#"{ "_id": { "$in": [1, 2] } }"#);
}

#[test]
fn an_id_that_looks_like_operators_is_compared_as_it_is() {
    let (fake, books) = fake();
    fake.batches([]);
    let id = Bson::Document(doc! {"$gt": 0});
    assert_eq!(block_on(books.raw().get(id).into_future()).unwrap(), None);
    let Operation::Find(find) = fake.last() else {
        panic!("not a find")
    };
    assert_eq!(text(&find.filter), r#"{ "_id": { "$eq": { "$gt": 0 } } }"#);
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
        |_| Filter::raw(doc! {}),
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

#[test]
fn counts_existence_distinct_and_plans() {
    let (fake, books) = fake();
    fake.answer(Response::Count(4)).answer(Response::Count(5));
    assert_eq!(
        block_on(books.count(|_| Filter::raw(doc! {})).into_future()).unwrap(),
        4
    );
    assert_eq!(block_on(books.estimated_count().into_future()).unwrap(), 5);
    assert!(matches!(fake.last(), Operation::Count(count) if count.estimated));

    fake.batches([vec![doc! {"_id": 1}]]).batches([]);
    assert!(block_on(books.exists(|_| Filter::raw(doc! {})).into_future()).unwrap());
    assert!(!block_on(books.exists(|_| Filter::raw(doc! {})).into_future()).unwrap());

    fake.answer(Response::Values(vec![RawBson::String("Emma".into())]));
    let titles: Vec<String> = block_on(books.distinct(|b| b.title).into_future()).unwrap();
    assert_eq!(titles, ["Emma"]);
    assert!(matches!(fake.last(), Operation::Distinct(distinct) if distinct.key == "title"));
    fake.answer(Response::Values(vec![RawBson::Int32(1)]));
    let error = block_on(books.distinct(|b| b.title).into_future()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);

    let plan = RawDocumentBuf::try_from(&doc! {"queryPlanner": {}}).unwrap();
    fake.answer(Response::Document(Some(plan)));
    let plan = block_on(
        books
            .delete_many(|_| Filter::raw(doc! {}))
            .explain()
            .executed()
            .into_future(),
    )
    .unwrap();
    assert!(plan.contains_key("queryPlanner"));
    let Operation::Explain(explain) = fake.last() else {
        panic!("not an explain")
    };
    assert!(explain.execute && explain.operation.name() == "delete");
}

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
        .answer(Response::Done);
    let sync = books.sync_indexes().drop_unknown(true).rebuild_changed(true);
    let done = block_on(sync.into_future()).unwrap();
    assert_eq!(
        (done.dropped, done.rebuilt),
        (vec!["year_1".to_owned()], vec!["title_1".to_owned()])
    );
    assert!(done.left.is_empty());
    let names: Vec<_> = fake.asked().iter().rev().take(4).map(Operation::name).collect();
    assert_eq!(
        names,
        ["dropIndexes", "createIndexes", "dropIndexes", "listIndexes"]
    );
}

#[test]
fn a_wrong_declaration_fails_every_action_before_it_is_sent() {
    let fake = Fake::default();
    let wrongs = fake.db().collection::<Wrong>();
    let error = block_on(wrongs.get(1).into_future()).unwrap_err();
    assert_eq!(
        (error.kind(), error.model(), error.path()),
        (ErrorKind::Schema, Some("Wrong"), Some("id"))
    );
    let error = block_on(wrongs.find_all().stream().next()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(fake.asked().is_empty());
}

#[test]
fn an_operand_that_cannot_be_encoded_is_the_error_of_running() {
    let (fake, books) = fake();
    let mut deep = doc! {};
    for _ in 0..300 {
        deep = doc! {"a": deep};
    }
    let error = block_on(books.find(|_| Filter::raw(deep)).limit(1).into_future()).unwrap_err();
    assert_eq!(
        (error.kind(), error.model()),
        (ErrorKind::InvalidArgument, Some("Book"))
    );
    assert!(fake.asked().is_empty());
}

#[test]
fn a_backend_that_breaks_its_contract_is_reported() {
    let (fake, books) = fake();
    fake.answer(Response::Done);
    let error = block_on(books.find_all().into_future()).unwrap_err();
    assert!(error.to_string().contains("broke its contract"), "{error}");
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

#[test]
fn futures_and_types_cross_threads() {
    fn send<T: Send>(_: T) {}
    fn send_sync<T: Send + Sync>() {}
    fn stream<T: Stream + Send + Unpin>(_: T) {}
    fn send_static<T: IntoFuture<IntoFuture: Send + 'static> + Send + Sync + 'static>(_: T) {}

    let (_, books) = fake();
    let any = |_| Filter::raw(doc! {});
    let change = |_| Update::raw(doc! {"$set": {"a": 1}});
    send_sync::<crate::Db>();
    send_sync::<crate::Tx>();
    send_sync::<Collection<Book>>();
    send_sync::<Error>();
    send_static(books.find(any));
    send_static(books.find_all().project::<Spine>());
    send_static(books.find_one(any));
    send_static(books.get(1).required());
    send_static(books.insert(Book::new(1, "a")));
    send_static(books.insert_one(Book::new(1, "a")));
    send_static(books.insert_many([Book::new(1, "a")]));
    send_static(books.update_one(any, change));
    send_static(books.replace_one(any, Book::new(1, "a")));
    send_static(books.save(Book::new(1, "a")));
    send_static(books.delete(1));
    send_static(books.delete_many(any));
    send_static(books.find_one_and_update(any, change));
    send_static(books.count(any));
    send_static(books.exists(any));
    send_static(books.distinct(|b| b.title));
    send_static(books.bulk_write().insert(Book::new(1, "a")));
    send_static(books.find_all().explain());
    send_static(books.create_indexes());
    send_static(books.list_indexes());
    send_static(books.index_drift());
    send_static(books.sync_indexes());
    send_static(books.create());
    send_static(books.aggregate_raw([doc! {"$match": {}}]));
    stream(books.find_all().stream());
    send(books.find_all().stream().try_collect::<Vec<_>>());
    send(books.drop());
    let db = Fake::default().db();
    send(db.run_command(doc! {}));
    send(db.list_collections());
    send(db.begin());
    send(crate::Db::open("memory:"));
}
