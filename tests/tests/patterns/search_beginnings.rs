//! Searches for beginnings of words.

use odm::{Db, Model};
use odm_patterns::search::{Analyzer, Keywords, Language, Query, Scheme, Search, Searchable, highlight};
use serde::{Deserialize, Serialize};

use super::search_model::{found, ids, library};

crate::on_every_backend! {
    beginnings_find_words,
    beginnings_are_cut_as_texts_are,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "stories")]
struct Story {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    keywords: Keywords<Story>,
}

impl Searchable for Story {
    fn scheme(s: StoryFields) -> Scheme<Story> {
        Scheme::new(s.keywords, Analyzer::of(Language::French)).text(s.text)
    }
}

async fn beginnings_are_cut_as_texts_are(db: &Db) {
    let search = Search::<Story>::new(db);
    search.prepare().await.unwrap();
    for (id, text) in [
        (1, "L’avion de Node.js"),
        (2, "un snake_case d'avril"),
        (3, "sea-worthy"),
        (4, "seasons of search"),
        (5, "Nodal"),
    ] {
        let story = Story {
            id,
            text: text.to_owned(),
            keywords: Keywords::default(),
        };
        db.collection::<Story>().insert(story).await.unwrap();
    }
    for (query, expected) in [
        ("sea-wo*", vec![3]),
        ("node.j*", vec![1]),
        ("nod*", vec![1, 5]),
        ("snake_ca*", vec![2]),
        ("l'av*", vec![1, 2]),
        ("d’avr*", vec![2]),
        ("+l'av* -snake_c*", vec![1]),
    ] {
        let found = search.find(query).await.unwrap();
        let mut found: Vec<i32> = found.iter().map(|hit| hit.document.id).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    let shown = highlight(
        &Analyzer::new(),
        &Query::prefix("sea-wo"),
        "The sea-worthy, seasoned",
    );
    let shown = shown.unwrap().unwrap().marked("[", "]");
    assert_eq!(shown, "The [sea]-[worthy], seasoned");
}

async fn beginnings_find_words(db: &Db) {
    let search = library(db).await;
    assert_eq!(found(&search, "wh*").await, [1, 4, 5]);
    assert_eq!(found(&search, "CAPT*").await, [2, 6]);
    assert_eq!(found(&search, "+wh* -whal*").await, [4]);
    assert_eq!(found(&search, "*").await, [0; 0]);
    assert_eq!(found(&search, ".*").await, [0; 0]);
    // Of several words, or of one that is stored as several, the last begins so.
    assert_eq!(found(&search, Query::prefix("white wh")).await, [1, 4, 5]);
    assert_eq!(found(&search, Query::prefix("white whal")).await, [1, 5]);
    assert_eq!(found(&search, Query::prefix("whale wol")).await, [0; 0]);
    for (query, expected) in [
        ("white-whal*", vec![1, 5]),
        ("white.whal*", vec![1, 5]),
        ("whale_whit*", vec![1, 5]),
        ("whale-wol*", vec![]),
        ("the-whal*", vec![1, 5]),
        ("+wh* -white_whal*", vec![4]),
    ] {
        assert_eq!(found(&search, query).await, expected, "{query}");
    }
    // A whole word that begins so counts for the order.
    assert_eq!(ids(&search, "whal* whit*").await[0], 5);
}
