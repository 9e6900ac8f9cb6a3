//! The classic data models of a document database, each a story of its own: the problem, the stored shape, and why it
//! has this shape.
//!
//! ```text
//! cargo run -p odm-examples --bin domain
//! cargo run -p odm-examples --bin domain -- --url native:./domain.db
//! cargo run -p odm-examples --bin domain --features mongodb -- --url mongodb://localhost/domain
//! cargo test -p odm-examples --bin domain
//! ```
//!
//! Stories assert what they show, and begin with empty collections of their own.

mod categories;
mod comments;
mod log;
mod parts;
mod patrons;
mod publishers;
mod tasks;

use clap::Parser;
use odm::{Db, Result};

/// The classic data models on `odm`.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the stories play: `memory:`, `native:DIRECTORY` or `mongodb://HOST/DATABASE`.
    #[arg(long, default_value = "memory:")]
    url: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let db = Db::open(&Arguments::parse().url).await?;
    println!("patrons and their addresses: {}", patrons::story(&db).await?);
    println!("publishers and their books: {}", publishers::story(&db).await?);
    println!("products and their parts: {}", parts::story(&db).await?);
    println!("people and their tasks: {}", tasks::story(&db).await?);
    println!("hosts and their log messages: {}", log::story(&db).await?);
    println!("posts and their comments: {}", comments::story(&db).await?);
    println!("products and their categories: {}", categories::story(&db).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! stories {
        ($($name:ident),*) => {$(
            #[tokio::test]
            async fn $name() {
                let db = Db::open("memory:").await.expect("memory opens");
                super::$name::story(&db).await.expect("the story ends well");
                #[cfg(feature = "mongodb")]
                if let Some(url) = mongodb(stringify!($name)) {
                    let db = Db::open(&url).await.expect("the server answers");
                    super::$name::story(&db).await.expect("the story ends well");
                    db.drop().await.expect("the database is dropped");
                }
            }
        )*};
    }

    stories!(patrons, publishers, parts, tasks, log, comments, categories);

    /// A database of the story's own on the server that the tests are given, if they are.
    #[cfg(feature = "mongodb")]
    fn mongodb(name: &str) -> Option<String> {
        let Ok(uri) = std::env::var("ODM_TEST_MONGODB_URI") else {
            eprintln!("skipped on MongoDB: set ODM_TEST_MONGODB_URI to the URL of a replica set");
            return None;
        };
        let (server, options) = uri.split_once('?').unwrap_or((&uri, ""));
        let server = server.trim_end_matches('/');
        Some(format!(
            "{server}/odm_domain_{name}_{}?{options}",
            std::process::id()
        ))
    }
}
