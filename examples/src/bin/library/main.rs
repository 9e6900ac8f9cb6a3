//! A lending library: import a catalogue, index it, search it, and lend books without ever lending one too many; loans
//! with due dates, fines and reminders, recordings and maps by their attributes, and how often each page was visited.
//!
//! ```text
//! cargo run -p odm-examples --bin library
//! cargo run -p odm-examples --bin library -- --url native:./library.db
//! cargo run -p odm-examples --bin library --features mongodb -- --url mongodb://localhost/library
//! cargo run -p odm-examples --bin library -- my-books.ndjson
//! ```
//!
//! The same program runs on the embedded engine, in memory or in a directory, and on MongoDB.

mod catalogue;
mod import;
mod lending;
mod loans;
mod media;
mod models;
mod search;
mod show;
mod visits;

use std::path::PathBuf;

use clap::Parser;
use odm::{Db, Result};

/// A lending library on `odm`.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the library lives: `memory:`, `native:DIRECTORY` or `mongodb://HOST/DATABASE`.
    #[arg(long, default_value = "memory:")]
    url: String,

    /// Books to import, one MongoDB Extended JSON document per line; the library's own catalogue when absent.
    books: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let db = Db::open(&arguments.url).await?;
    println!(
        "The library is open ({}, database {}).\n",
        db.backend_name(),
        db.name()
    );

    let mut show = show::Show::default();
    catalogue::prepare(&db, &mut show).await?;
    import::books(&db, arguments.books.as_deref(), &mut show).await?;
    catalogue::tour(&db, &mut show).await?;
    search::prepare(&db, &mut show).await?;
    search::tour(&db, &mut show).await?;
    lending::tour(&db, &mut show).await?;
    loans::tour(&db, &mut show).await?;
    media::tour(&db, &mut show).await?;
    visits::tour(&db, &mut show).await?;
    show.summary();
    Ok(())
}
