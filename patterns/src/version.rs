//! Optimistic updates: change a document by code, and never over a change that the code has not seen.
//!
//! # The problem
//! What an update operator says in one write (`inc`, `push`, a condition) needs none of this. Some changes are code: read
//! the document, think, write it. Two at a time, and the second overwrites the first.
//!
//! A field with `#[odm(version)]` makes the second one's `save` a conflict: see the guide's page on the life of documents.
//! This module adds what is done about it: [`update_with_retry`](Optimistic::update_with_retry) runs the code again on the
//! document as it is by then, so many times and no more, and [`update_if`](Optimistic::update_if) is a typed update under
//! the condition that the document is of a known version, for editors who loaded it a while ago.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | lost updates | none, among writers of typed collections: each change is of the version that the code saw |
//! | progress | of those who conflict one always wins; nobody waits for anybody, nothing sleeps |
//! | round trips | `update_with_retry` 2, and 2 for each conflict; `update_if` 1, refused 2 |
//! | crash | the write happened or not. Sent again after a lost reply, the code runs again on what it wrote |
//! | in a transaction | a document that another transaction changed is its conflict, not this one's: `Db::transaction` runs it again |
//! | sharded | the conditions name `_id` and version; a replacement holds the shard key |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::version::{Optimistic, VersionError};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Page {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     words: Vec<String>,
//!     #[odm(version)]
//!     version: i64,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pages = Db::open("memory:").await?.collection::<Page>();
//! pages.insert(Page { id: 1, words: vec!["b".into()], version: 0 }).await?;
//!
//! let words = pages
//!     .update_with_retry(1, |page| {
//!         page.words.push("a".into());
//!         page.words.sort();
//!         if page.words.len() > 9 { Err("the page is full") } else { Ok(page.words.len()) }
//!     })
//!     .attempts(5)
//!     .await?;
//! assert_eq!(words, 2);
//!
//! // It was version 0 when the editor began.
//! let edit = pages.update_if(1, 0, |p| p.words.push("c")).await;
//! assert!(matches!(edit, Err(VersionError::Conflict { .. })));
//! pages.update_if(1, 1, |p| p.words.push("c")).await?;
//! # Ok(())
//! # }
//! ```

mod error;
mod optimistic;

pub use self::error::VersionError;
pub use self::optimistic::{Optimistic, UpdateWithRetry};
