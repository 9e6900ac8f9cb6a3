//! What actions ask of a backend, and what they make of its answers.

pub(crate) mod book;
mod bounds;
mod management;
mod reads;
mod refusals;
mod writes;

use bson::{Document, RawDocumentBuf, doc};

use self::book::Book;
use crate::backend::fake::Fake;
use crate::collection::Collection;

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
