//! Importing books from a file of one Extended JSON document per line.

use std::path::Path;
use std::time::Instant;

use bson::{Bson, DateTime, Decimal128};
use indicatif::{ProgressBar, ProgressStyle};
use odm::{Collection, Db, Result};
use serde::Deserialize;

use crate::models::{Book, Publisher};
use crate::show::Show;

/// The catalogue that the library comes with.
const CATALOGUE: &str = include_str!("../../../data/books.ndjson");

/// How many books one round trip writes.
const BATCH: usize = 100;

/// A line of the file.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "_id")]
    id: String,
    title: String,
    authors: Vec<String>,
    published: Option<DateTime>,
    year: i32,
    language: String,
    pages: Option<i32>,
    publisher: Option<Publisher>,
    categories: Vec<String>,
    topics: Vec<String>,
    copies: i32,
    price: Decimal128,
}

/// Imports the books of a file, or the library's own. What a line says of a book that is there already replaces what
/// was known of it, but not how many copies are on the shelf and who has the others.
pub async fn books(db: &Db, file: Option<&Path>, show: &mut Show) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let text = match file {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        None => CATALOGUE.to_owned(),
    };
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let bar = ProgressBar::new(lines.len() as u64).with_style(ProgressStyle::with_template(
        "Importing {bar:40} {pos}/{len} books",
    )?);
    let collection = db.collection::<Book>();
    let (mut new, mut known, mut bad) = (0, 0, Vec::new());
    for chunk in lines.chunks(BATCH) {
        let mut books = Vec::with_capacity(chunk.len());
        for (number, line) in chunk {
            match parse(line) {
                Ok(book) => books.push(book),
                Err(reason) => bad.push(format!("line {number}: {reason}")),
            }
        }
        let (added, updated) = write(&collection, &books).await?;
        new += added;
        known += updated;
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    println!(
        "{new} new books, {known} known already, {} lines not understood.",
        bad.len()
    );
    for complaint in &bad {
        println!("  {complaint}");
    }
    println!();
    show.step("import", start);
    Ok(())
}

/// Reads one line; the reason why not, where it cannot be read.
fn parse(line: &str) -> Result<Line, String> {
    let json: serde_json::Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let value = Bson::try_from(json).map_err(|error| format!("not Extended JSON: {error}"))?;
    let line: Line = bson::deserialize_from_bson(value).map_err(|error| format!("not a book: {error}"))?;
    if line.copies < 0 {
        return Err(format!("not a book: {} copies", line.copies));
    }
    Ok(line)
}

/// Writes books in one round trip; how many were new, and how many were known.
async fn write(collection: &Collection<Book>, books: &[Line]) -> Result<(u64, u64)> {
    if books.is_empty() {
        return Ok((0, 0));
    }
    let mut bulk = collection.bulk_write().unordered();
    for line in books {
        bulk = bulk.upsert(
            |b| b.id.eq(&line.id),
            |b| {
                b.title.set(&line.title)
                    & b.authors.set(&line.authors)
                    & b.published.set(line.published)
                    & b.year.set(line.year)
                    & b.language.set(&line.language)
                    & b.pages.set(line.pages)
                    & b.publisher.set(line.publisher.clone())
                    & b.categories.set(&line.categories)
                    & b.topics.set(&line.topics)
                    & b.price.set(line.price)
                    & b.available.set_on_insert(line.copies)
                    & b.checkout.set_on_insert(Vec::new())
            },
        );
    }
    let done = bulk.await?;
    Ok((done.upserted_ids.len() as u64, done.matched))
}
