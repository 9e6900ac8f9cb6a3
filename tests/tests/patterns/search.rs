//! Searches: what is found, in which order, and where it stands.

use bson::{Bson, doc};
use odm::{Db, ErrorKind, Model};
use odm_patterns::search::{Analyzer, Language, Query, SearchError, Synonyms, Topics, highlight};
use serde::{Deserialize, Serialize};

use super::search_model::{Book, book, found, ids, library, of, stored, terms};

crate::on_every_backend! {
    words_are_found_in_all_their_forms,
    words_are_combined,
    phrases_stand_in_one_text,
    the_best_come_first,
    weights_of_fields_and_words_count,
    synonyms_are_searched_for_too,
    other_conditions_narrow,
    pages_of_a_search_fit_together,
    words_are_shown_where_they_stand,
    the_stored_form_is_as_described,
    topics_are_the_simplest_form,
    what_is_not_searched_is_an_error,
    hostile_text_is_words,
    all_scripts_are_found,
    huge_texts_have_a_limit,
    searches_run_in_transactions,
    the_rarest_word_is_asked_for_first,
    common_words_are_read_only_if_they_matter,
    words_of_several_parts_spare_reading_too,
}

async fn words_are_found_in_all_their_forms(db: &Db) {
    let search = library(db).await;
    for query in ["whale", "WHALES", "whaling", "  whale... ", "Whale's"] {
        assert_eq!(found(&search, query).await, [1, 5], "{query}");
    }
    assert_eq!(found(&search, "looming").await, [1]); // in an array of documents
    assert_eq!(found(&search, "revenge").await, [1]); // in an array
    assert_eq!(found(&search, "dick").await, [1]);
    assert_eq!(found(&search, "shelf").await, [0; 0]);
    // The manual's words without meaning.
    assert_eq!(found(&search, "the").await, [0; 0]);
    assert_eq!(found(&search, "").await, [0; 0]);
}

async fn words_are_combined(db: &Db) {
    let search = library(db).await;
    for (query, expected) in [
        ("whale wolf", vec![1, 2, 4, 5]),
        ("+whale +white", vec![1, 5]),
        ("+white whale", vec![1, 4, 5]),
        ("white -whale", vec![4]),
        ("white whale -wolf -short", vec![1]),
        ("+the white", vec![1, 4, 5]),
        ("+captain -sea", vec![6]),
        ("captain -\"captain's letter\"", vec![2]),
    ] {
        assert_eq!(found(&search, query).await, expected, "{query}");
    }
    let word = Query::word;
    let query = (word("whale") | word("wolf")) & !word("snow") & !(word("short") & word("white"));
    assert_eq!(found(&search, query.clone()).await, [1, 2]);
    assert_eq!(search.find(query.clone()).count().await.unwrap(), 2);
    // Several words are all wanted.
    assert_eq!(found(&search, Query::word("moby dick")).await, [1]);
    // The same as a filter of anything else.
    let filter = search.filter(query).unwrap();
    assert_eq!(search.collection().count(|_| filter).await.unwrap(), 2);
}

async fn phrases_stand_in_one_text(db: &Db) {
    let search = library(db).await;
    assert_eq!(found(&search, "\"white whale\"").await, [1, 5]);
    assert_eq!(found(&search, "\"whale white\"").await, [0; 0]);
    // Words that say nothing keep their place.
    assert_eq!(found(&search, "\"whale the white\"").await, [1]);
    assert_eq!(found(&search, "\"seal hunt and a captain\"").await, [2]);
    // Not from one text into the next.
    assert_eq!(found(&search, "\"looming carpet\"").await, [0; 0]);
    assert_eq!(found(&search, "\"carpet bag\"").await, [1]);
    assert_eq!(search.find("\"white whale\"").limit(1).await.unwrap().len(), 1);
    assert_eq!(search.find("\"white whale\"").skip(1).await.unwrap().len(), 1);
    assert_eq!(search.find("\"white whale\"").count().await.unwrap(), 2);
    // One that is not closed goes to the end.
    assert_eq!(found(&search, "\"white whale").await, [1, 5]);
}

async fn the_best_come_first(db: &Db) {
    let search = library(db).await;
    // Both words, in the title, in a short text.
    assert_eq!(ids(&search, "white whale").await, [5, 1, 4]);
    // Twice says more than once.
    assert_eq!(ids(&search, "captain").await, [6, 2]);
    let hits = search.find("white whale").await.unwrap();
    assert!(hits.is_sorted_by(|a, b| a.score >= b.score) && hits[2].score > 0.0);
    // What is counted for each search is the same, as long as nothing changed.
    let live = search.clone().live().find("white whale").await.unwrap();
    assert_eq!(of(&live), [5, 1, 4]);
    for (live, counted) in live.iter().zip(&hits) {
        assert!((live.score - counted.score).abs() < 1e-9, "{live:?} {counted:?}");
    }
    // Of the same score: by `_id`.
    let same = (10..=20).rev().map(|id| book(id, "Twin", "the twin"));
    db.collection::<Book>().insert_many(same).await.unwrap();
    assert_eq!(
        of(&search.find("twin").limit(5).await.unwrap()),
        [10, 11, 12, 13, 14]
    );
}

async fn weights_of_fields_and_words_count(db: &Db) {
    let search = library(db).await;
    let texts = [
        book(11, "Zebra", "nothing here"),
        book(12, "Nothing", "zebra here"),
    ];
    db.collection::<Book>().insert_many(texts).await.unwrap();
    assert_eq!(ids(&search, "zebra").await, [11, 12]);
    let query = |factor| Query::word("wolf") | Query::word("handsome").worth(factor);
    assert_eq!(ids(&search, query(100.0)).await[0], 3);
    assert_eq!(ids(&search, query(0.001)).await[2], 3);
    let longest = search.find("white").bm25(1.2, 0.0).await.unwrap();
    let shortest = search.find("white").bm25(1.2, 1.0).await.unwrap();
    assert_ne!(longest[0].score, shortest[0].score);
}

async fn synonyms_are_searched_for_too(db: &Db) {
    let search = library(db).await;
    let synonyms = Synonyms::new()
        .group(["ship", "vessel", "boats"])
        .also("beast", ["whale", "wolf"]);
    let with = |query: &str| search.find(query).synonyms(&synonyms);
    assert_eq!(found(&search, "boat").await, [0; 0]);
    assert_eq!(of(&with("boat").await.unwrap()).len(), 2);
    assert_eq!(of(&with("beasts").await.unwrap()).len(), 4);
    // Not the other way round.
    assert_eq!(of(&with("whale").await.unwrap()).len(), 2);
    assert_eq!(of(&with("+beast -ship").await.unwrap()).len(), 2);
    let error = search
        .find("x")
        .synonyms(&Synonyms::new().group(["two words", "one"]))
        .await
        .unwrap_err();
    assert!(matches!(error, SearchError::Synonym { text } if text == "two words"));
}

async fn other_conditions_narrow(db: &Db) {
    let search = library(db).await;
    let books = db.collection::<Book>();
    books
        .update_many(|b| b.id.gte(4), |b| b.shelf.set("b"))
        .await
        .unwrap();
    let hits = search
        .find("white whale")
        .filter(|b| b.shelf.eq("b"))
        .filter(|b| b.id.ne(4))
        .await
        .unwrap();
    assert_eq!(of(&hits), [5]);
    assert_eq!(
        search
            .find("white")
            .filter(|b| b.shelf.eq("b"))
            .count()
            .await
            .unwrap(),
        2
    );
}

async fn pages_of_a_search_fit_together(db: &Db) {
    let search = library(db).await;
    let more = (100..160).map(|id| {
        book(
            id,
            &format!("Whale {}", id % 7),
            &"white ".repeat(usize::try_from(id % 5).unwrap()),
        )
    });
    db.collection::<Book>().insert_many(more).await.unwrap();
    search.recount().await.unwrap();
    let query = "white whale snow";
    let all = of(&search.find(query).limit(1000).await.unwrap());
    assert_eq!(all.len() as u64, search.find(query).count().await.unwrap());
    let mut pages = Vec::new();
    for page in 0..all.len().div_ceil(7) {
        pages.extend(of(&search.find(query).skip(page * 7).limit(7).await.unwrap()));
    }
    assert_eq!(pages, all);
    let scores = search.find(query).skip(3).limit(20).scores().await.unwrap();
    let of_scores: Vec<i32> = scores.iter().map(|(id, _)| *id).collect();
    assert_eq!(of_scores, all[3..23]);
    let of_phrase = search.find("\"white whale\"").scores().await.unwrap();
    assert_eq!(of_phrase[0].0, 5);
    assert!(search.find(query).limit(0).await.unwrap().is_empty());
    assert!(search.find(query).skip(1000).await.unwrap().is_empty());
    assert_eq!(
        search.find(query).limit(usize::MAX).await.unwrap().len(),
        all.len()
    );
}

async fn words_are_shown_where_they_stand(db: &Db) {
    let search = library(db).await;
    let hits = search
        .find("+whales hunt* \"call me ishmael\" -rich")
        .highlight()
        .await
        .unwrap();
    assert_eq!(of(&hits), [1, 5]);
    let shown: Vec<(&str, String)> = hits[0]
        .highlights
        .iter()
        .map(|shown| (shown.field.as_str(), shown.marked("[", "]")))
        .collect();
    assert_eq!(
        shown,
        [(
            "content",
            "[Call] me [Ishmael]. The [whale], the white [whale], was [hunted] by [whaling] ships."
                .to_owned()
        )]
    );
    assert_eq!(hits[1].highlights[0].field, "title");
    let excerpt = hits[0].highlights[0].excerpt(30);
    assert!(excerpt.text.chars().count() <= 40, "{excerpt:?}");
    assert!(
        excerpt
            .ranges
            .iter()
            .all(|range| excerpt.text.get(range.clone()).is_some())
    );
    // Places are bytes of the text, whatever letters it has.
    let text = "Ünïcödé 🐋 ﬁsh – STRASSE";
    let shown = highlight(&Analyzer::new(), &Query::parse("ünïcödé fish straße"), text)
        .unwrap()
        .unwrap();
    assert_eq!(shown.marked("<", ">"), "<Ünïcödé> 🐋 <ﬁsh> – <STRASSE>");
    for letters in 0..40 {
        let excerpt = shown.excerpt(letters);
        assert!(
            excerpt
                .ranges
                .iter()
                .all(|range| excerpt.text.get(range.clone()).is_some())
        );
    }
}

async fn the_stored_form_is_as_described(db: &Db) {
    let search = library(db).await;
    let keywords = stored(db, 5).await.get_document("keywords").unwrap().clone();
    assert_eq!(keywords.get_str("v").unwrap(), search.scheme_id());
    assert!(search.scheme_id().starts_with("english/1/"));
    assert!(matches!(keywords.get("at"), Some(Bson::DateTime(_))));
    // "White Whale" counts three times, "short one" once.
    assert_eq!(keywords.get("n"), Some(&Bson::Double(8.0)));
    assert_eq!(
        keywords.get("t"),
        Some(&Bson::from(vec!["one", "short", "whale", "white"]))
    );
    assert_eq!(keywords.get("w"), Some(&Bson::from(vec![4, 4, 8, 8])));
    // A model that is read does not carry them.
    let read = db.collection::<Book>().get(5).required().await.unwrap();
    assert!(std::mem::size_of_val(&read.keywords) <= 1);
    let indexes = db.collection::<Book>().list_indexes().await.unwrap();
    assert!(indexes.iter().any(|index| index.keys == doc! { "keywords.t": 1 }));
    let drift = db.collection::<Book>().index_drift().await.unwrap();
    assert!(drift.is_empty(), "{drift:?}");
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "volumes")]
struct Volume {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index)]
    topics: Vec<String>,
}

async fn topics_are_the_simplest_form(db: &Db) {
    let volumes = db.refuse_scans().collection::<Volume>();
    volumes.sync_indexes().await.unwrap();
    let topics = Topics::of(&Volume::fields().topics).analyzer(Analyzer::of(Language::English));
    let of = |id, words: &[&str]| Volume {
        id,
        topics: topics.words(words),
    };
    let all = [
        of(
            1,
            &[
                "whaling",
                "allegory",
                "revenge",
                "American novel",
                "nautical",
                "Cape Cod",
            ],
        ),
        of(2, &["Whaling", "history"]),
        of(3, &["wolves", "history"]),
    ];
    volumes.insert_many(all).await.unwrap();
    assert_eq!(
        volumes.get(2).required().await.unwrap().topics,
        ["whale", "histori"]
    );
    let found = async |query: &str| {
        let filter = topics.filter(query).unwrap();
        let found = volumes.find(|_| filter).await.unwrap();
        let mut ids: Vec<i32> = found.into_iter().map(|volume| volume.id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(found("whales").await, [1, 2]);
    assert_eq!(found("+whale +history").await, [2]);
    assert_eq!(found("whale wolf -history").await, [1]);
    assert_eq!(found("wh*").await, [1, 2]);
    let synonyms = topics
        .clone()
        .synonyms(Synonyms::new().group(["whale", "leviathan"]));
    let filter = synonyms.filter("leviathan").unwrap();
    assert_eq!(volumes.count(|_| filter).await.unwrap(), 2);
    let nothing = topics.filter("the").unwrap();
    assert_eq!(volumes.count(|_| nothing).await.unwrap(), 0);
    assert!(matches!(topics.filter("-whale"), Err(SearchError::OnlyExcluded)));
}

async fn what_is_not_searched_is_an_error(db: &Db) {
    let search = library(db).await;
    let refused = async |query: Query| search.find(query).await.unwrap_err();
    assert!(matches!(
        refused(Query::parse("-whale")).await,
        SearchError::OnlyExcluded
    ));
    let either = Query::word("whale") | !Query::word("wolf");
    assert!(matches!(refused(either).await, SearchError::OnlyExcluded));
    let many = Query::any((0..300).map(|number| Query::word(format!("word{number}"))));
    assert!(matches!(
        refused(many).await,
        SearchError::TooManyTerms {
            terms: 300,
            limit: 256
        }
    ));
    let long = Query::word("long ".repeat(5000));
    assert!(matches!(refused(long).await, SearchError::QueryTooLong { .. }));
    let deep = (0..100).fold(Query::word("deep"), |query, _| Query::all([query]));
    assert!(matches!(refused(deep).await, SearchError::TooDeep { limit: 32 }));
    assert!(matches!(
        refused(Query::word("x").worth(f64::NAN)).await,
        SearchError::InvalidOption { option: "worth", .. }
    ));
    let error = search.find("x").bm25(-1.0, 0.5).await.unwrap_err();
    assert!(matches!(error, SearchError::InvalidOption { option: "bm25", .. }));
    // The same by `odm`'s own errors.
    let error = odm::Error::from(refused(Query::parse("-whale")).await);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(matches!(
        SearchError::behind(&error),
        Some(SearchError::OnlyExcluded)
    ));
}

async fn hostile_text_is_words(db: &Db) {
    let search = library(db).await;
    for text in [
        "$where: 1",
        "{\"$gt\": \"\"}",
        "^(a+)+$",
        ".*",
        "[",
        "\\",
        "\"",
        "+",
        "-",
        "+-\"",
        "\u{0}",
        "a\u{0}b",
        "$",
        "a.b.c",
        "$$ROOT",
        "*",
        "**",
        "-*",
        "\u{202e}whale",
        "\u{feff}",
        "😀",
        "' OR 1=1 --",
        "\u{fffd}",
        "+\"\" -\"",
        "keywords.t",
        "t:whale",
        "totals",
        "'''",
        "\u{301}\u{301}",
        "\u{10ffff}",
        "\u{10ffff}*",
    ] {
        match search.find(text).await {
            Ok(_) | Err(SearchError::OnlyExcluded) => {}
            Err(error) => panic!("{text:?}: {error}"),
        }
        // As a text it is stored and found, as far as there are words in it.
        let id = 1000;
        db.collection::<Book>().save(book(id, text, text)).await.unwrap();
        let words = terms(db, id).await;
        for word in words {
            let phrase = Query::word(&word);
            let hits = search.find(phrase).filter(|b| b.id.eq(id)).await.unwrap();
            assert_eq!(of(&hits), [id], "{text:?} {word:?}");
        }
    }
    search.recount().await.unwrap();
    assert!(search.verify().await.unwrap().is_empty());
}

async fn all_scripts_are_found(db: &Db) {
    let search = library(db).await;
    let texts = [
        (100, "Кит плывёт", "кит"),
        (101, "Η ΦΑΛΑΙΝΑ", "φαλαινα"),
        (102, "الحوت الأبيض", "الحوت"),
        (103, "לווייתן לבן", "לבן"),
        (104, "सफ़ेद व्हेल", "व्हेल"),
        (105, "白鯨 (はくげい)", "白鯨"),
        (106, "วาฬสีขาว", "วาฬ"),
        (107, "흰고래", "흰고래"),
        (108, "վհուկ կետ", "կետ"),
        (109, "თეთრი ვეშაპი", "ვეშაპი"),
        (110, "ዓሣ ነባሪ", "ነባሪ"),
        (111, "𐐔𐐯𐑅𐐨𐑉𐐯𐐻", "𐐼𐐯𐑅𐐨𐑉𐐯𐐻"),
    ];
    for (id, text, _) in texts {
        db.collection::<Book>().insert(book(id, text, "")).await.unwrap();
    }
    for (id, _, word) in texts {
        assert_eq!(found(&search, Query::phrase(word)).await, [id], "{word}");
        assert!(found(&search, word).await.contains(&id), "{word}");
    }
}

async fn huge_texts_have_a_limit(db: &Db) {
    let search = library(db).await;
    let books = db.collection::<Book>();
    // A long text of few words is no trouble.
    books
        .insert(book(50, "long", &"word ".repeat(200_000)))
        .await
        .unwrap();
    assert_eq!(found(&search, "words").await, [50]);
    let one = "x".repeat(1 << 20);
    books.insert(book(51, &one, "")).await.unwrap();
    assert_eq!(terms(db, 51).await[0].len(), 128);
    // In a query it is cut as it was in the text.
    assert_eq!(found(&search, &one[..2000]).await, [51]);
    let many: String = (0..600).map(|number| format!("w{number} ")).collect();
    let error = books.insert(book(52, "many", &many)).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Validation, Some("keywords"))
    );
    let own = SearchError::behind(&error);
    assert!(
        matches!(
            own,
            Some(SearchError::TooManyTerms {
                terms: 601,
                limit: 500
            })
        ),
        "{own:?}"
    );
    let error = books
        .update_one(|b| b.id.eq(50), |b| b.text.set(Some(many)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert!(
        search
            .verify()
            .await
            .unwrap()
            .iter()
            .all(|problem| problem.id().is_none())
    );
    // Nothing at all is nothing to be found.
    books.insert(book(53, "", "")).await.unwrap();
    assert!(terms(db, 53).await.is_empty());
}

async fn searches_run_in_transactions(db: &Db) {
    let search = library(db).await;
    db.transaction(async |tx| {
        let inside = search.within(&tx);
        tx.collection::<Book>().insert(book(70, "Walrus", "")).await?;
        tx.collection::<Book>()
            .update_one(|b| b.id.eq(5), |b| b.title.set("Walrus"))
            .await?;
        assert_eq!(found(&inside, "walrus").await, [5, 70]);
        assert_eq!(found(&search, "walrus").await, [0; 0]);
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(found(&search, "walrus").await, [5, 70]);
}

async fn the_rarest_word_is_asked_for_first(db: &Db) {
    let search = library(db).await;
    let more = (100..400).map(|id| book(id, "common", if id == 200 { "rare" } else { "" }));
    db.collection::<Book>().insert_many(more).await.unwrap();
    search.recount().await.unwrap();
    let (counted, cost) = odm_tests::counted::counted(db);
    let counted = search.within(&counted);
    for query in ["+common +rare", "+rare +common", "\"common rare\" rare"] {
        cost.take();
        counted.find(query).await.unwrap();
        let examined = cost.take().examined;
        assert!(examined <= 10, "{query}: {examined}");
    }
}

async fn common_words_are_read_only_if_they_matter(db: &Db) {
    let search = library(db).await;
    let texts = (100..1100).map(|id| {
        let text = if id % 100 == 0 { "harpoon harpoon" } else { "ocean" };
        book(id, "ocean", text)
    });
    db.collection::<Book>().insert_many(texts).await.unwrap();
    search.recount().await.unwrap();
    let (counted, cost) = odm_tests::counted::counted(db);
    let hits = search
        .within(&counted)
        .find("ocean harpoon")
        .limit(5)
        .await
        .unwrap();
    let examined = cost.take().examined;
    assert!(examined < 100, "{examined}");
    // The same as by reading all of them.
    let all = search.find("ocean harpoon").limit(2000).await.unwrap();
    assert_eq!(all.len(), 1000);
    assert_eq!(of(&hits), of(&all[..5]));
    assert!(hits.iter().zip(&all).all(|(hit, all)| hit.score == all.score));
}

async fn words_of_several_parts_spare_reading_too(db: &Db) {
    let search = library(db).await;
    let texts = (100..1100).map(|id| {
        let words = [
            ("harpoon", 100, 0),
            ("deck", 40, 7),
            ("steam", 9, 0),
            ("ship", 10, 0),
            ("ocean", 1, 0),
        ];
        let words = words.iter().filter(|(_, every, at)| id % every == *at);
        let text: Vec<&str> = words.map(|(word, ..)| *word).collect();
        book(id, "sea", &(text.join(" ") + " ").repeat(1 + id as usize % 3))
    });
    db.collection::<Book>().insert_many(texts).await.unwrap();
    search.recount().await.unwrap();
    let (counted, cost) = odm_tests::counted::counted(db);
    for (query, spares) in [
        ("ocean steam-ship harpoon", true),
        ("deck-ocean harpoon-ship", true),
        ("+harpoon ocean steam", true),
        ("+ocean harpoon deck -steam", false),
        ("harpoon ocean ship*", false),
    ] {
        let hits = search.within(&counted).find(query).limit(7).await.unwrap();
        let examined = cost.take().examined;
        assert_eq!(examined < 1000, spares, "{query}: {examined}");
        // The same as by reading all that are found.
        let all = search.find(query).limit(2000).await.unwrap();
        assert_eq!(of(&hits), of(&all[..hits.len()]), "{query}");
        assert!(hits.len() == 7.min(all.len()), "{query}");
        assert!(
            hits.iter().zip(&all).all(|(hit, all)| hit.score == all.score),
            "{query}"
        );
    }
}
