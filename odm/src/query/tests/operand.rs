// Operands by reference are what is tested.
#![allow(clippy::needless_borrows_for_generic_args, clippy::useless_vec)]

use bson::{Document, RawDocumentBuf, doc};

use super::{Book, BookFields};
use crate::{ErrorKind, Filter, Id, Model};

#[track_caller]
fn check(filter: impl FnOnce(BookFields<Book>) -> Filter<Book>, expected: Document) {
    let document = filter(Book::fields()).to_document().unwrap();
    assert_eq!(
        document,
        RawDocumentBuf::try_from(&expected).unwrap(),
        "{document:?}"
    );
}

#[test]
fn operands_become_the_field_type() {
    let title = String::from("x");
    let id = Id::<Book>::new();
    check(|b| b.title.eq(&title), doc! { "title": "x" });
    check(|b| b.title.eq(title.as_str()), doc! { "title": "x" });
    check(|b| b.title.eq(title.clone()), doc! { "title": "x" });
    check(|b| b.subtitle.eq("x"), doc! { "subtitle": "x" });
    check(|b| b.subtitle.eq(&title), doc! { "subtitle": "x" });
    check(|b| b.subtitle.eq(Some(title.clone())), doc! { "subtitle": "x" });
    check(|b| b.pages.gt(1), doc! { "pages": { "$gt": 1_i64 } });
    check(|b| b.pages.eq(None), doc! { "pages": null });
    check(|b| b.price.gt(3), doc! { "price": { "$gt": 3.0 } });
    check(
        |b| b.flags.gt(5_000_000_000),
        doc! { "flags": { "$gt": 5_000_000_000_i64 } },
    );
    check(|b| b.big.gt(5), doc! { "big": { "$gt": 5_i64 } });
    check(|b| b.id.eq(id), doc! { "_id": id.object_id() });
    check(|b| b.id.is_in([id]), doc! { "_id": { "$in": [id.object_id()] } });
    check(
        |b| b.id.is_in(&vec![id]),
        doc! { "_id": { "$in": [id.object_id()] } },
    );
    check(|b| b.ratings.eq(&[1, 2]), doc! { "ratings": [1, 2] });
    check(|b| b.ratings.eq([1, 2].as_slice()), doc! { "ratings": [1, 2] });
    check(|b| b.ratings.eq(vec![1, 2]), doc! { "ratings": [1, 2] });
    check(|b| b.extra.eq("x"), doc! { "extra": "x" });
}

#[test]
fn operands_go_through_the_codec_of_the_field() {
    check(|b| b.code.eq(255), doc! { "code": "ff" });
    check(
        |b| b.code.is_in([1, 255]),
        doc! { "code": { "$in": ["1", "ff"] } },
    );
    check(|b| b.old_code.eq(255), doc! { "old_code": "ff" });
    check(|b| b.old_code.eq(None), doc! { "old_code": null });
    check(|b| b.codes.eq([255, 16]), doc! { "codes": ["ff", "10"] });
    check(|b| b.codes.has(255), doc! { "codes": "ff" });
    check(
        |b| b.codes.has_all([255, 16]),
        doc! { "codes": { "$all": ["ff", "10"] } },
    );
    check(|b| b.codes.size(1), doc! { "codes": { "$size": 1_i64 } });
}

#[test]
fn elements_behind_a_codec_are_not_compared_wrongly() {
    for filter in [
        Book::fields().codes.any().eq(255),
        Book::fields().codes.at(0).eq(255),
        Book::fields().codes.elem_match(|c| c.eq(255)),
        Book::fields().codes.elem_match_value(|c| c.eq(255)),
    ] {
        assert_eq!(filter.to_document().unwrap_err().kind(), ErrorKind::Unsupported);
    }
    let borrowed = Book::fields().codes.has(&255).to_document().unwrap_err();
    assert_eq!(borrowed.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn an_operand_that_does_not_fit_names_the_field() {
    let filter = Book::fields().title.eq("x") & Book::fields().big.gt(u64::MAX);
    let error = filter.to_document().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("big")));
    let error = Book::fields().big.is_in([u64::MAX]).to_document().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("big")));
}
