//! A model written by hand, as small as one can be.

use serde::{Deserialize, Serialize};

use crate::model::{Embedded, Field, FieldType, Handle, Model, Path};
use crate::schema::{FieldDescriptor, IndexDeclaration, ModelDescriptor};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    pub(crate) id: i32,
    pub(crate) title: String,
}

impl Book {
    pub(crate) fn new(id: i32, title: &str) -> Book {
        Book {
            id,
            title: title.to_owned(),
        }
    }
}

pub(crate) struct BookFields<R> {
    pub(crate) title: Field<R, String>,
}

impl<R> Handle for BookFields<R> {
    fn at(path: Path) -> BookFields<R> {
        BookFields {
            title: Field::new(path.into_base().child("title")),
        }
    }
}

impl FieldType for Book {
    type Handle<R> = BookFields<R>;
    type Optional<R> = BookFields<R>;
}

impl Embedded for Book {
    type Fields<R> = BookFields<R>;
}

impl Model for Book {
    type Key = i32;

    const DESCRIPTOR: &'static ModelDescriptor = &ModelDescriptor::new::<Self>(
        "Book",
        "books",
        &[
            FieldDescriptor::new("id", "_id", "i32"),
            FieldDescriptor::new("title", "title", "String"),
        ],
        || vec![IndexDeclaration::new().asc(&Book::fields().title).unique()],
    );

    fn key(&self) -> &i32 {
        &self.id
    }
}

/// A part of a book.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spine {
    pub(crate) title: String,
}

impl FieldType for Spine {
    type Handle<R> = BookFields<R>;
    type Optional<R> = BookFields<R>;
}

impl Embedded for Spine {
    type Fields<R> = BookFields<R>;
}

/// A model that declares a field which serde stores by another name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Wrong {
    #[serde(rename = "_id")]
    id: i32,
}

impl FieldType for Wrong {
    type Handle<R> = BookFields<R>;
    type Optional<R> = BookFields<R>;
}

impl Embedded for Wrong {
    type Fields<R> = BookFields<R>;
}

impl Model for Wrong {
    type Key = i32;

    const DESCRIPTOR: &'static ModelDescriptor = &ModelDescriptor::new::<Self>(
        "Wrong",
        "wrongs",
        &[FieldDescriptor::new("id", "id", "i32")],
        Vec::new,
    );

    fn key(&self) -> &i32 {
        &self.id
    }
}
