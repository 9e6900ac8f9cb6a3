//! What goes wrong before anything is sent, and answers that cannot be.

use bson::doc;

use super::book::Wrong;
use super::fake;
use crate::backend::Response;
use crate::backend::fake::{Fake, block_on};
use crate::error::ErrorKind;
use crate::query::Filter;

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
