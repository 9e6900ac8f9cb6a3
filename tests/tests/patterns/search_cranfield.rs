//! How well searches find what people hold for relevant, and how little they read for it: the Cranfield collection.

use std::collections::HashMap;

use odm::bson::doc;
use odm::{Db, Model};
use odm_patterns::search::{Analyzer, Keywords, Language, Query, Scheme, Search, Searchable};
use odm_tests::counted::counted;
use odm_tests::data;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    mean_average_precision_is_that_of_full_text_search,
    little_is_read,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "papers")]
struct Paper {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    body: String,
    keywords: Keywords<Paper>,
}

impl Searchable for Paper {
    fn scheme(p: PaperFields) -> Scheme<Paper> {
        Scheme::new(p.keywords, Analyzer::of(Language::English)).text(p.body)
    }
}

#[derive(Deserialize)]
struct Collection {
    docs: Vec<Document>,
    queries: Vec<Question>,
    /// For each question the documents that answer it, with grades.
    relevant: HashMap<String, HashMap<String, i32>>,
}

#[derive(Deserialize)]
struct Document {
    id: i32,
    title: String,
    body: String,
}

#[derive(Deserialize)]
struct Question {
    id: i32,
    text: String,
}

fn cranfield() -> Option<Collection> {
    let text = std::fs::read_to_string(data::path("search/cranfield.json")?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

async fn stored(db: &Db, collection: &Collection) -> Search<Paper> {
    let search = Search::new(db);
    search.prepare().await.unwrap();
    let papers = collection.docs.iter().map(|document| Paper {
        id: document.id,
        title: document.title.clone(),
        body: document.body.clone(),
        keywords: Keywords::default(),
    });
    db.collection::<Paper>().insert_many(papers).await.unwrap();
    search.recount().await.unwrap();
    search
}

async fn mean_average_precision_is_that_of_full_text_search(db: &Db) {
    let Some(collection) = cranfield() else { return };
    let search = stored(db, &collection).await;
    let mut sum = 0.0;
    for question in &collection.queries {
        let relevant = &collection.relevant[&question.id.to_string()];
        let scores = search
            .find(Query::parse(&question.text))
            .limit(1400)
            .scores()
            .await
            .unwrap();
        let (mut found, mut precision) = (0.0, 0.0);
        for (rank, (id, _)) in scores.iter().enumerate() {
            if relevant.contains_key(&id.to_string()) {
                found += 1.0;
                precision += found / (rank as f64 + 1.0);
            }
        }
        sum += precision / relevant.len() as f64;
    }
    let mean = sum / collection.queries.len() as f64;
    println!(
        "Cranfield: mean average precision {mean:.4} on {}",
        db.backend_name()
    );
    assert!(mean >= 0.29, "{mean}");
}

async fn little_is_read(db: &Db) {
    let Some(collection) = cranfield() else { return };
    let search = stored(db, &collection).await;
    let (counted, cost) = counted(db);
    let counted = search.within(&counted);
    let analyzer = Analyzer::of(Language::English);
    let (mut words, mut any, mut searches) = (0, 0, 0);
    for question in collection.queries.iter().take(20) {
        let terms: Vec<String> = analyzer
            .tokens(&question.text)
            .into_iter()
            .map(|token| token.term)
            .collect();
        let raw = db.raw_collection("papers");
        let mut rare: Option<(u64, usize)> = None;
        for (index, term) in terms.iter().enumerate() {
            let count = raw.count(doc! { "keywords.t": term }).await.unwrap();
            if count > 0 && rare.is_none_or(|(least, _)| count < least) {
                rare = Some((count, index));
            }
        }
        let tokens = analyzer.tokens(&question.text);
        let rarest = &question.text[tokens[rare.unwrap().1].range.clone()];
        let first = &question.text[tokens[0].range.clone()];
        cost.take();
        // The rarest word stands last in what is asked for, and is asked for first.
        counted
            .find(Query::all([Query::word(first), Query::word(rarest)]))
            .await
            .unwrap();
        words += cost.take().examined;
        counted.find(question.text.as_str()).await.unwrap();
        any += cost.take().examined;
        searches += 1;
    }
    let all = searches * collection.docs.len() as u64;
    println!(
        "Cranfield on {}: two words examine 1 in {:.0} documents, whole questions 1 in {:.1}",
        db.backend_name(),
        all as f64 / words as f64,
        all as f64 / any as f64,
    );
    assert!(words * 10 <= all, "{words} of {all}");
    assert!(any <= all, "{any} of {all}");
}
