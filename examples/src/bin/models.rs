//! The models of a database that is there already: what was found in it, and the Rust source of types that hold it.
//!
//! ```text
//! cargo run -p odm-examples --bin models -- native:./library.db
//! cargo run -p odm-examples --bin models --features mongodb -- mongodb://localhost/library > models.rs
//! cargo run -p odm-examples --bin models -- native:./library.db --only books --only authors --all --fields
//! cargo test -p odm-examples --bin models
//! ```
//!
//! Nothing is written to the database. The source goes to the standard output, what was found (`--fields`) to the standard
//! error.

use clap::Parser;
use comfy_table::Table;
use odm::{Db, InferredCollection, InferredModels, Result};

/// Models of an existing database.
#[derive(Debug, Parser)]
struct Arguments {
    /// The database: `native:DIRECTORY` or `mongodb://HOST/DATABASE`.
    url: String,

    /// A collection to look at; all without it.
    #[arg(long)]
    only: Vec<String>,

    /// How many documents of each collection are looked at.
    #[arg(long, default_value_t = 1_000)]
    sample: u64,

    /// Looks at all documents.
    #[arg(long)]
    all: bool,

    /// How many names the documents at one place have before they are maps.
    #[arg(long, default_value_t = 64)]
    max_keys: usize,

    /// Makes enums of small sets of texts, and a model of each kind of a collection: texts of the database are in the
    /// source then.
    #[arg(long)]
    values: bool,

    /// Keeps the types of numbers.
    #[arg(long)]
    exact_numbers: bool,

    /// Shows what was found at each place.
    #[arg(long)]
    fields: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let db = Db::options()
        .create_if_missing(false)
        .open(&arguments.url)
        .await?;
    let models = infer(&db, &arguments).await?;
    if arguments.fields {
        for collection in models.collections() {
            eprintln!(
                "{} ({}, {} looked at)\n{}",
                collection.name,
                collection.kind,
                collection.looked_at,
                table(collection)
            );
        }
    }
    print!("{models}");
    Ok(())
}

async fn infer(db: &Db, arguments: &Arguments) -> Result<InferredModels> {
    let mut action = db
        .infer_models()
        .sample(arguments.sample)
        .max_keys_of_structs(arguments.max_keys)
        .show_values(arguments.values)
        .exact_numbers(arguments.exact_numbers);
    if !arguments.only.is_empty() {
        action = action.only(&arguments.only);
    }
    if arguments.all {
        action = action.all_documents();
    }
    action.await
}

/// What was found in a collection.
fn table(collection: &InferredCollection) -> Table {
    let mut table = Table::new();
    table.set_header(["field", "types", "missing", "elements", "refers to"]);
    for field in &collection.fields {
        let types: Vec<String> = field
            .types
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        let references: Vec<String> = field
            .references
            .iter()
            .map(|found| format!("{} ({} of {})", found.collection, found.found, found.looked_up))
            .collect();
        table.add_row([
            field.path.clone(),
            types.join(", "),
            format!("{:.0} %", field.missing() * 100.0),
            field
                .lengths
                .map_or(String::new(), |(least, most)| format!("{least} to {most}")),
            references.join(", "),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[tokio::test]
    async fn a_database_becomes_source() {
        let db = Db::open("memory:").await.expect("memory opens");
        db.raw_collection("authors")
            .insert(doc! { "_id": "ann", "name": "Ann" })
            .await
            .expect("it is inserted");
        let books = [
            doc! { "_id": 1, "author": "ann", "tags": ["a"] },
            doc! { "_id": 2, "author": "ann" },
        ];
        db.raw_collection("books")
            .insert_many(books)
            .await
            .expect("they are inserted");

        let arguments = Arguments::parse_from(["models", "memory:", "--all"]);
        let models = infer(&db, &arguments).await.expect("the database is read");
        assert!(models.to_rust().contains("pub author: Ref<Author>,"));
        let shown = table(&models.collections()[1]).to_string();
        assert!(
            shown.contains("authors (1 of 1)") && shown.contains("50 %"),
            "{shown}"
        );
    }
}
