use odm::Collection;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    tags: Vec<String>,
}

async fn read(books: Collection<Book>, raw: Collection<odm::bson::Document>) -> odm::Result<()> {
    books.find_all().sort(|b| b.tags.asc()).page(5).await?;
    let _ = (books, raw);
    Ok(())
}

fn main() {}
