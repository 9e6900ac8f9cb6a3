//! The left column of the guide's table of what to write instead.

use odm::bson::doc;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Review {
    by: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    pages: i32,
    reviews: Vec<Review>,
}

async fn search(books: &odm::Collection<Book>) -> odm::Result<()> {
    books.find(|b| b.title == "Emma").await?;
    books.find(|b| b.pages > 100).await?;
    books.find(|b| b.pages.gt(100) && b.title.eq("Emma")).await?;
    books.find(|b| b.pages.gt(100) || b.title.eq("Emma")).await?;
    books.find(|b| b.reviews.by.eq("ann")).await?;
    books.find(doc! { "pages": { "$gt": 100 } }).await?;
    Ok(())
}

fn main() {}
