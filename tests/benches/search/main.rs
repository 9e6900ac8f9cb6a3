//! Searches of the Cranfield collection by their index, beside reading every document: on the embedded engine, in memory and
//! in files, and on a MongoDB (`ODM_TEST_MONGODB_URI`).
//!
//! Arguments: `--quick` for fewer rounds, names of rows (`words`, `question`) when not all are wanted.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

use bson::doc;
use odm::{Db, Model};
use odm_patterns::search::{Analyzer, Keywords, Language, Query, Scheme, Search, Searchable};
use odm_tests::data;
use odm_tests::measure::{Server, Settings, compare_uneven, verdict};
use serde::{Deserialize, Serialize};

/// How many times faster than reading all.
const TARGET: f64 = 10.0;

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "papers")]
struct Paper {
    #[serde(rename = "_id", alias = "id")]
    id: i32,
    title: String,
    body: String,
    #[serde(default)]
    keywords: Keywords<Paper>,
}

impl Searchable for Paper {
    fn scheme(p: PaperFields) -> Scheme<Paper> {
        Scheme::new(p.keywords, english()).text(p.body)
    }
}

fn english() -> Analyzer {
    Analyzer::of(Language::English)
}

#[derive(Deserialize)]
struct Cranfield {
    docs: Vec<Paper>,
    queries: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    text: String,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(rows());
}

async fn rows() {
    let settings = Settings::of_process();
    let Some(path) = data::path("search/cranfield.json") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("the data is read");
    let cranfield: Cranfield = serde_json::from_str(&text).expect("the data is as it was");
    let place = std::env::var_os("ODM_BENCH_DIRECTORY")
        .unwrap_or_else(|| std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).into_os_string());
    let directory = tempfile::tempdir_in(place).expect("a directory");
    let native = format!("native:{}", directory.path().join("db").display());
    let server = Server::connect().await;
    for url in ["memory:", &native] {
        let db = Db::open(url).await.expect("the database opens");
        compared(
            &settings,
            &cranfield,
            &db,
            url.split(':').next().unwrap_or_default(),
        )
        .await;
    }
    if let Some(server) = server {
        compared(&settings, &cranfield, &server.open().await, "mongodb").await;
        server.drop().await;
    }
}

async fn compared(settings: &Settings, cranfield: &Cranfield, db: &Db, name: &str) {
    let search = Search::<Paper>::new(db);
    search.prepare().await.expect("prepared");
    db.collection::<Paper>()
        .insert_many(&cranfield.docs)
        .await
        .expect("stored");
    search.recount().await.expect("counted");
    let questions = &cranfield.queries;
    let (rounds, [ours, theirs]) = (settings.choose(5, 15), [40, 5]);
    if settings.wants("words") {
        let result = compare_uneven(
            rounds,
            [ours, theirs],
            async |round| {
                for n in 0..ours {
                    let [first, last] = two(&questions[(round * ours + n) % questions.len()].text);
                    let query = Query::word(first) & Query::word(last);
                    black_box(search.find(query).await.expect("found"));
                }
            },
            async |round| {
                for n in 0..theirs {
                    by_expression(db, two(&questions[(round * theirs + n) % questions.len()].text)).await;
                }
            },
        )
        .await;
        println!(
            "words: {name}: {:.0} us, regular expressions {:.0} us",
            result.ours, result.theirs
        );
        verdict(&format!("words {name}"), result.speedup, TARGET, true);
    }
    if settings.wants("question") {
        let result = compare_uneven(
            rounds,
            [ours, theirs],
            async |round| {
                for n in 0..ours {
                    let text = questions[(round * ours + n) % questions.len()].text.as_str();
                    black_box(search.find(text).await.expect("found"));
                }
            },
            async |round| {
                for n in 0..theirs {
                    by_reading(db, &questions[(round * theirs + n) % questions.len()].text).await;
                }
            },
        )
        .await;
        println!(
            "question: {name}: {:.0} us, reading all {:.0} us",
            result.ours, result.theirs
        );
        verdict(&format!("question {name}"), result.speedup, TARGET, true);
    }
}

/// The two longest words of a question.
fn two(question: &str) -> [&str; 2] {
    let words = question.split(|character: char| !character.is_alphanumeric());
    let mut words: Vec<&str> = words.filter(|word| word.len() > 3).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    [words[0], words[1]]
}

/// What is written by hand: both words by regular expressions, without an order.
async fn by_expression(db: &Db, words: [&str; 2]) {
    let filter = words.map(|word| doc! { "body": { "$regex": format!("\\b{word}"), "$options": "i" } });
    let found = db
        .raw_collection("papers")
        .find(doc! { "$and": filter.to_vec() })
        .project_raw(doc! { "keywords": 0 });
    black_box(found.limit(10).await.expect("found"));
}

/// The same order, by reading every text.
async fn by_reading(db: &Db, question: &str) {
    let analyzer = english();
    let wanted: Vec<String> = analyzer
        .tokens(question)
        .into_iter()
        .map(|token| token.term)
        .collect();
    let all = db
        .raw_collection("papers")
        .find(doc! {})
        .project_raw(doc! { "body": 1 })
        .await
        .expect("read");
    let mut frequencies: Vec<(BTreeMap<&str, f64>, f64)> = Vec::with_capacity(all.len());
    let mut counts: HashMap<&str, f64> = HashMap::new();
    for paper in &all {
        let tokens = analyzer.tokens(paper.get_str("body").unwrap_or_default());
        let mut found = BTreeMap::new();
        for token in &tokens {
            if let Some(term) = wanted.iter().find(|wanted| **wanted == token.term) {
                *found.entry(term.as_str()).or_default() += 1.0;
            }
        }
        for term in found.keys() {
            *counts.entry(term).or_default() += 1.0;
        }
        frequencies.push((found, tokens.len() as f64));
    }
    let documents = all.len() as f64;
    let mean = frequencies.iter().map(|(_, length)| length).sum::<f64>() / documents;
    let mut scores: Vec<(f64, usize)> = Vec::with_capacity(all.len());
    for (index, (found, length)) in frequencies.iter().enumerate() {
        let parts = found.iter().map(|(term, frequency)| {
            let count = counts[term];
            let rarity = (1.0 + (documents - count + 0.5) / (count + 0.5)).ln();
            rarity * 2.2 * frequency / (frequency + 1.2 * (0.25 + 0.75 * length / mean))
        });
        scores.push((parts.sum(), index));
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.truncate(10);
    black_box(scores);
}
