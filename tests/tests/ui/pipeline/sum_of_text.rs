use odm::Model as _;
use odm::expr::{avg, count, min, sum};
use odm::Collection;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    pages: i32,
    tags: Vec<String>,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Author {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    born: i32,
}

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Year {
    #[serde(rename = "_id")]
    year: i32,
    books: i32,
    title: String,
    titles: Vec<String>,
}

fn pipeline(books: Collection<Book>, author: AuthorFields<Author>) {
    let _ = (count::<Book>(), author.born.asc(), min(Book::fields().pages));
    let _ = books
        .aggregate()
        .group::<Year>(|b, y| y.books.is(sum(b.title)));
    let _ = (sum::<Book>(1), avg::<Book>(1));
}

fn main() {}
