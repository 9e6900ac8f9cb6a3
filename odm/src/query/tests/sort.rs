use bson::rawdoc;

use super::Book;
use crate::{ErrorKind, Model};

#[test]
fn keys_stand_in_the_order_given() {
    let b = Book::fields();
    let sort = b.publisher.name.asc() & b.year.desc();
    assert_eq!(
        sort.to_document().unwrap(),
        rawdoc! { "publisher.name": 1, "year": -1 }
    );
    let sort = b.ratings.any().desc().then(b.title.asc());
    assert_eq!(sort.to_document().unwrap(), rawdoc! { "ratings": -1, "title": 1 });
}

#[test]
fn a_field_stands_once() {
    let b = Book::fields();
    let error = (b.year.asc() & b.year.desc()).to_document().unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("year"))
    );
    assert!(b.ratings.each().asc().to_document().is_err());
}
