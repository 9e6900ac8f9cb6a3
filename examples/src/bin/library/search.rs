//! Keyword search: the best answers first, in words and not in letters.

use std::time::Instant;

use odm::{Db, Result};
use odm_patterns::search::{Analyzer, Language, Query, Scheme, Search, Searchable, Synonyms};

use crate::models::{Book, BookFields};
use crate::show::{Show, table};

impl Searchable for Book {
    fn scheme(b: BookFields) -> Scheme<Book> {
        Scheme::new(b.keywords, Analyzer::of(Language::English))
            .weighted(b.title, 3.0)
            .list(b.authors, 2.0)
            .list(b.topics, 1.0)
    }
}

/// Makes the index, and the keywords of books that have none or old ones.
pub async fn prepare(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    let search = Search::<Book>::new(db);
    search.prepare().await?;
    search.reindex().await?;
    search.recount().await?;
    show.step("keywords", start);
    Ok(())
}

/// Looks for this and that.
pub async fn tour(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    let search = Search::<Book>::new(db);
    // Whoever looks for ships finds what is about voyages and the sea too.
    let synonyms = Synonyms::new().group(["ship", "voyage", "sea"]);
    let mut rows = Vec::new();
    for question in [
        "ships",
        "mongodb data -tips",
        "tolstoy",
        "\"definitive guide\"",
        "phil*",
    ] {
        let hits = search
            .find(Query::parse(question))
            .synonyms(&synonyms)
            .highlight()
            .limit(3)
            .await?;
        for hit in hits {
            let marked = hit.highlights.first().map(|found| found.marked("[", "]"));
            rows.push(vec![
                question.to_owned(),
                hit.document.title,
                marked.unwrap_or_default(),
            ]);
        }
    }
    show.step("five searches", start);
    table("Searches, best answers first", &["for", "book", "found in"], rows);
    Ok(())
}
