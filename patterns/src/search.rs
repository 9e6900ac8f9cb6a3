//! Keyword search: an array of words and an index over it, as the MongoDB manual has it, ranked like full-text search.
//!
//! # The problem
//! Whoever looks for "hunting whales" wants the texts that are about it, the best first, and not those in which this
//! string of letters stands. A regular expression reads every document for that, and text that a user typed is no
//! regular expression. Here the words of the texts are stored beside them, in a form in which the same word is always
//! the same, and one multikey index finds them.
//!
//! # The stored shape
//! ```text
//! { _id: 1, title: "Moby-Dick", text: "Call me Ishmael. ...",
//!   keywords: { v: "english/1/17.0/17.0/128/1c0ffee2/0ddba115",   // by which analyzer, of which fields
//!               at: ISODate(..),                                  // when
//!               n: 11.0,                                          // how many words, by the weights of their fields
//!               t: ["call", "ishmael", "moby", ...],              // the words, each once: what the index is over
//!               w: [4, 4, 7, ...] } }                             // how often each stands there, in four bits
//! ```
//! and in the collection `<collection>_<field>` in how many documents each word stands. [`Topics`] is the simplest form:
//! an array of words alone, filled by the program.
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::search::{Analyzer, Keywords, Query, Scheme, Search, Searchable};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize, Model)]
//! struct Book {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     title: String,
//!     text: String,
//!     keywords: Keywords<Book>,
//! }
//!
//! impl Searchable for Book {
//!     fn scheme(b: BookFields) -> Scheme<Book> {
//!         // With the feature `stemming`: `Analyzer::of(Language::English)`.
//!         Scheme::new(b.keywords, Analyzer::new()).weighted(b.title, 3.0).text(b.text)
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let search = Search::<Book>::new(&db);
//! search.prepare().await?;
//!
//! let books = db.collection::<Book>();
//! for (id, title, text) in [
//!     (1, "Moby-Dick", "Call me Ishmael. I thought I would see the watery part of the world."),
//!     (2, "The Sea-Wolf", "The whale ship, and the whale itself, were gone."),
//!     (3, "Emma", "Handsome, clever, and rich."),
//! ] {
//!     books.insert(Book { id, title: title.into(), text: text.into(), keywords: Keywords::default() }).await?;
//! }
//! books.update_one(|b| b.id.eq(1), |b| b.text.set("It was the whale, the white whale.")).await?;
//! search.recount().await?; // now and then, or `tend`
//!
//! let hits = search.find("white whale -clever").highlight().limit(10).await?;
//! let found: Vec<i32> = hits.iter().map(|hit| hit.document.id).collect();
//! assert_eq!(found, [1, 2]);
//! assert_eq!(hits[0].highlights[0].marked("[", "]"), "It was the [whale], the [white] [whale].");
//!
//! let phrase = Query::phrase("whale ship") | Query::prefix("hand");
//! assert_eq!(search.find(phrase).count().await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//!
//! | | |
//! |---|---|
//! | keywords | in step with the texts after every write of the typed collection: see [`odm::Derivation`]. Writes that know all searched fields make them in the same write; an update of some of several fields, by operators other than `$set`, by a pipeline or as an upsert marks the document in the same write and makes them from what it holds then, in the same transaction. Where there are no transactions, a reader between the two writes finds the document by its old words, and what an interruption leaves is [`stale`](Search::stale) until it is [made anew](Search::reindex) |
//! | raw writes | go around the model. [`verify`](Search::verify) finds what they changed, [`repair`](Search::repair) mends it |
//! | another analyzer, other fields | every document says by which scheme its keywords were made. Those of another are found by an index, and made anew: [`reindex`](Search::reindex), at any time again. Meanwhile they are found as they are |
//! | order | BM25. The frequency of a term in a document is stored in four bits, its length in full; in how many documents terms stand, and the average length, are as they were last [counted](Search::recount) |
//! | counts | are not written by writers, who would all meet in the same documents. They are as old as their count, [`knowledge`](Search::knowledge) says how stale, and [`tend`](Search::tend) counts anew when it is more than a tenth. Old ones move some documents a few places; no document is missed for it. [`live`](Search::live) counts for each search |
//! | a crash in a count, two at once | every figure is that of one of the counts; the latest wins |
//! | hostile text | is words. No part of a query becomes a regular expression, an operator or a field. Limits of queries: 256 terms, 16 KiB, 32 levels; each of documents: 128 bytes of a term, 20,000 terms ([`Scheme::max_terms`]). Beyond them terms are cut; the rest is a [`SearchError`] |
//! | phrases | the index finds documents with all the words, whose texts are read again |
//!
//! # What it costs
//!
//! `d` documents with a term, `k` wanted ones.
//!
//! | | round trips | documents examined |
//! |---|---|---|
//! | insert, save, replacement, `set` of all searched fields | 1 | |
//! | any other update of a searched field | 1 update, 1 read, 1 write, the commit | those changed, twice |
//! | words, all of them wanted | 2 | those with the rarest word |
//! | words, any of them wanted | 2 or 3 | those with the words that can bring a document among the first `k`: rare words first, common ones only if they matter |
//! | beginning of a word | 2 more | those with a word that begins so |
//! | phrase | 2, and one for each further batch | those with its rarest word |
//! | [`reindex`](Search::reindex) | 4 for each 500 documents | each twice |
//! | [`recount`](Search::recount) | 6 | all, twice, on the server |
//!
//! An index holds each word of each document once: expect as much as the texts need.
//!
//! # Sharded collections
//! A search asks all shards, unless its [`filter`](RankedFind::filter) says the shard key; each shard ranks its own
//! documents by the same counts, and the best of all are merged. Writes are as those of the model; the second write of
//! an update finds its document by `_id` alone. The counts are one unsharded collection.

mod analyzer;
mod clause;
mod counts;
mod error;
mod find;
mod handle;
mod highlight;
mod keywords;
#[cfg(feature = "stemming")]
mod language;
mod query;
mod rank;
mod scheme;
mod statistics;
#[cfg(feature = "stemming")]
mod stop_words;
mod synonyms;
mod topics;
mod verify;
mod weight;

pub use self::analyzer::{ANALYZER_VERSION, Analyzer, Token};
pub use self::error::{Result, SearchError};
pub use self::find::{Hit, RankedFind};
pub use self::handle::{Knowledge, Search};
pub use self::highlight::{Highlight, highlight};
pub use self::keywords::{Keywords, KeywordsOf, Present};
#[cfg(feature = "stemming")]
pub use self::language::Language;
pub use self::query::Query;
pub use self::scheme::{Scheme, Searchable};
pub use self::synonyms::Synonyms;
pub use self::topics::Topics;
pub use self::verify::{SearchProblem, SearchRepair};
