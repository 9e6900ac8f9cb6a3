//! Reads.

use bson::{Bson, RawBson, RawDocumentBuf, doc};

use super::book::{Book, Spine};
use super::{fake, stored, text};
use crate::backend::fake::block_on;
use crate::backend::{Operation, Response};
use crate::error::{Error, ErrorKind};
use crate::query::Filter;

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
fn a_document_that_cannot_be_read_is_an_error_of_every_read_and_no_end() {
    let (fake, books) = fake();
    let moby = stored(&[Book::new(1, "Moby-Dick")]);
    let unreadable = |error: Error| {
        assert_eq!(
            (error.kind(), error.namespace(), error.model()),
            (ErrorKind::Corrupt, Some("test.books"), Some("Book")),
            "{error}"
        );
    };
    fake.unreadable_behind(&moby);
    unreadable(block_on(books.find_all().into_future()).unwrap_err());
    fake.unreadable_behind(&[]);
    unreadable(block_on(books.find_one(|_| Filter::all()).into_future()).unwrap_err());
    fake.unreadable_behind(&moby);
    unreadable(block_on(books.find_all().sort(|b| b.title.asc()).page(5).into_future()).unwrap_err());
    fake.answer(Response::Count(2)).unreadable_behind(&moby);
    unreadable(block_on(books.find_all().page_number(1, 5).into_future()).unwrap_err());
    fake.unreadable_behind(&moby);
    unreadable(block_on(books.find_all().write_back().into_future()).unwrap_err());

    fake.unreadable_behind(&moby);
    let mut stream = books.find_all().stream();
    assert!(block_on(stream.next()).unwrap().is_ok());
    unreadable(block_on(stream.next()).unwrap().unwrap_err());
    assert!(block_on(stream.next()).is_none());
}
