//! Preparing the collections, and a tour of the catalogue: filters, sorts, projections, distinct values.

use std::time::Instant;

use odm::{Db, Filter, Model, Result};

use crate::models::{Book, BookFields, Category, Entry, Patron};
use crate::show::{Show, table};

/// Creates the indexes that the models declare. Those that exist already stay as they are.
pub async fn prepare(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    db.collection::<Book>().sync_indexes().await?;
    db.collection::<Patron>().sync_indexes().await?;
    db.collection::<Category>().sync_indexes().await?;
    show.step("indexes", start);
    Ok(())
}

/// Books of the century before last: a scope, to be used like any closure.
fn nineteenth_century(b: BookFields) -> Filter<Book> {
    b.year.gte(1801) & b.year.lte(1900)
}

/// Asks the catalogue this and that.
pub async fn tour(db: &Db, show: &mut Show) -> Result<()> {
    let books = db.collection::<Book>();

    let start = Instant::now();
    let found: Vec<Entry> = books
        .find(|b| b.categories.has("Fiction/Science Fiction"))
        .sort(|b| b.year.asc() & b.title.asc())
        .limit(8)
        .project()
        .await?;
    show.step("science fiction, oldest first", start);
    table(
        "Science fiction, oldest first",
        &["year", "title", "authors"],
        found.iter().map(entry),
    );

    let start = Instant::now();
    let found: Vec<Entry> = books
        .find(|b| nineteenth_century(Book::fields()) & (b.language.eq("French") | b.language.eq("Russian")))
        .sort(|b| b.year.asc())
        .limit(8)
        .project()
        .await?;
    show.step("French and Russian, 19th century", start);
    table(
        "French and Russian books of the nineteenth century",
        &["year", "title", "authors"],
        found.iter().map(entry),
    );

    let start = Instant::now();
    let by_prefix = books.count(|b| b.title.starts_with("The ")).await?;
    let long = books.count(|b| b.pages.gt(700)).await?;
    let about_sea = books.count(|b| b.topics.has("sea")).await?;
    let total = books.estimated_count().await?;
    show.step("four counts", start);
    table(
        "In numbers",
        &["question", "books"],
        [
            ("in the library", total),
            ("whose title begins with “The ”", by_prefix),
            ("of more than 700 pages", long),
            ("about the sea", about_sea),
        ]
        .map(|(question, count)| vec![question.to_owned(), count.to_string()]),
    );

    let start = Instant::now();
    let mut languages: Vec<String> = books.distinct(|b| b.language).await?;
    languages.sort();
    show.step("languages", start);
    println!("Languages: {}\n", languages.join(", "));

    categories(db, show).await
}

fn entry(entry: &Entry) -> Vec<String> {
    vec![
        entry.year.to_string(),
        entry.title.clone(),
        entry.authors.join(", "),
    ]
}

/// Builds the tree of categories out of the books' paths, and shows its first two levels.
async fn categories(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    let (books, categories) = (db.collection::<Book>(), db.collection::<Category>());
    let paths: Vec<String> = books.distinct(|b| b.categories.any()).await?;
    let mut bulk = categories.bulk_write().unordered();
    for path in &paths {
        let mut child = path.as_str();
        loop {
            let parent = child.rsplit_once('/').map(|(parent, _)| parent.to_owned());
            bulk = bulk.save(Category {
                id: child.to_owned(),
                parent,
            });
            match child.rsplit_once('/') {
                Some((parent, _)) => child = parent,
                None => break,
            }
        }
    }
    if !bulk.is_empty() {
        bulk.await?;
    }
    let roots = categories
        .find(|c| c.parent.is_null())
        .sort(|c| c.id.asc())
        .await?;
    let mut rows = Vec::new();
    for root in &roots {
        let children = categories
            .find(|c| c.parent.eq(&root.id))
            .sort(|c| c.id.asc())
            .await?;
        let names: Vec<&str> = children.iter().filter_map(|c| c.id.rsplit('/').next()).collect();
        rows.push(vec![root.id.clone(), names.join(", ")]);
    }
    show.step("tree of categories", start);
    table("Categories", &["root", "below it"], rows);
    Ok(())
}
