//! Text indexes and searches: what each finds, and how well.

use bson::{Document, doc};
use odm::{Db, ErrorKind, Filter, Model, Sort, TextSearch};
use serde::{Deserialize, Serialize};

use odm_tests::raw::RawCollection;

crate::on_every_backend! {
    words_phrases_and_refusals,
    the_best_answers_come_first,
    every_write_keeps_the_index,
    indexes_have_weights_languages_and_prefixes,
    what_cannot_be_searched_is_refused,
    pipelines_of_models_with_conditions_search_texts,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(index(keys(text(title), text(body))))]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    body: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes", index(keys(text(text))))]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(soft_delete)]
    gone: Option<bson::DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages", kind = "help", index(keys(text(text))))]
struct Help {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(soft_delete)]
    gone: Option<bson::DateTime>,
}

/// The model's own condition and the search are one stage: a search is in the first one, or nowhere.
async fn pipelines_of_models_with_conditions_search_texts(db: &Db) {
    let notes = db.collection::<Note>();
    notes.create_indexes().await.unwrap();
    for (id, text) in [(1, "blue pump"), (2, "pump pump"), (3, "valve"), (4, "pump")] {
        let text = text.to_owned();
        notes.insert(Note { id, text, gone: None }).await.unwrap();
    }
    notes.delete(4).await.unwrap();
    let search = || notes.aggregate().filter(|_| Filter::text("pump"));
    assert_eq!(search().count().await.unwrap(), 2);
    assert_eq!(search().with_deleted().count().await.unwrap(), 3);
    assert_eq!(search().only_deleted().count().await.unwrap(), 1);
    let best = search().sort(|_| Sort::by_text_score()).await.unwrap();
    assert_eq!(best.iter().map(|note| note.id).collect::<Vec<_>>(), [2, 1]);
    let some = notes
        .aggregate()
        .filter(|n| n.id.gt(1) & Filter::text("pump") & n.gone.is_null());
    assert_eq!(some.count().await.unwrap(), 1);
    let text = doc! { "$match": { "$and": [{ "_id": { "$lt": 9 } }, { "$text": { "$search": "pump" } }] } };
    assert_eq!(notes.aggregate().raw(text.clone()).count().await.unwrap(), 2);
    assert_eq!(notes.aggregate_raw([text.clone()]).await.unwrap().len(), 2);
    let late = notes.aggregate().skip(1).raw(text).count().await.unwrap_err();
    assert_eq!(late.code(), Some(17313));

    let pages = db.collection::<Help>();
    pages.create_indexes().await.unwrap();
    for (id, text) in [(1, "blue pump"), (2, "valve"), (3, "pump")] {
        let text = text.to_owned();
        pages.insert(Help { id, text, gone: None }).await.unwrap();
    }
    pages.delete(3).await.unwrap();
    db.raw_collection("pages")
        .insert(doc! { "_id": 9, "kind": "other", "text": "pump" })
        .await
        .unwrap();
    let search = || pages.aggregate().filter(|_| Filter::text("pump"));
    assert_eq!(search().count().await.unwrap(), 1);
    assert_eq!(search().with_deleted().count().await.unwrap(), 2);
}

async fn posts(db: &Db) -> odm::Collection<Post> {
    let posts = db.collection::<Post>();
    posts.create_indexes().await.unwrap();
    let texts = [
        (1, "Blue cheese is good", vec![]),
        (2, "blue cheesecake", vec!["dogs running"]),
        (3, "cheese blue", vec!["dog", "dog cat"]),
        (4, "Café BLUE", vec!["the fish"]),
        (5, "cafe blue", vec!["A dog ran, dogs run"]),
    ];
    for (id, title, body) in texts {
        let body = body.into_iter().map(str::to_owned).collect();
        let title = title.to_owned();
        posts.insert(Post { id, title, body }).await.unwrap();
    }
    posts
}

async fn found(posts: &odm::Collection<Post>, search: impl Into<TextSearch>) -> Vec<i32> {
    let search = search.into();
    let mut found: Vec<i32> = posts
        .find(|_| Filter::text(search))
        .await
        .unwrap()
        .iter()
        .map(|post| post.id)
        .collect();
    found.sort_unstable();
    found
}

async fn words_phrases_and_refusals(db: &Db) {
    let posts = posts(db).await;
    for (search, expected) in [
        ("cheese", vec![1, 3]),
        ("Running", vec![2, 5]),
        ("dogs fish", vec![2, 3, 4, 5]),
        ("\"blue cheese\"", vec![1, 2]),
        ("\"blue cheese\" good", vec![1, 2]),
        ("blue -cheese", vec![2, 4, 5]),
        ("blue -\"blue cheese\"", vec![3, 4, 5]),
        ("café", vec![4, 5]),
        ("-cheese", vec![]),
        ("the", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(found(&posts, search).await, expected, "{search}");
    }
    let blue = || TextSearch::new("blue");
    assert_eq!(found(&posts, blue().case_sensitive()).await, [2, 3, 5]);
    let cafe = TextSearch::new("café").diacritic_sensitive();
    assert_eq!(found(&posts, cafe).await, [4]);
    assert_eq!(
        found(&posts, TextSearch::new("the").language("none")).await,
        [] as [i32; 0]
    );
    assert_eq!(
        found(&posts, TextSearch::new("dogs").language("none")).await,
        [] as [i32; 0]
    );
    assert_eq!(
        posts
            .find(|p| Filter::text("dog") & p.id.gt(3))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(posts.count(|_| Filter::text("dog")).await.unwrap(), 3);
}

async fn the_best_answers_come_first(db: &Db) {
    let posts = posts(db).await;
    let best = posts
        .find(|_| Filter::text("dog blue"))
        .sort(|p| Sort::by_text_score() & p.id.asc())
        .await
        .unwrap();
    let ids: Vec<i32> = best.iter().map(|post| post.id).collect();
    assert_eq!(ids, [3, 5, 2, 4, 1]);
    let raw = db.raw_collection("posts");
    let score = doc! { "$meta": "textScore" };
    let scored: Vec<Document> = raw
        .find(doc! { "$text": { "$search": "dog cat blue" } })
        .project_raw(doc! { "score": &score, "_id": 1 })
        .sort_raw(doc! { "_id": 1 })
        .await
        .unwrap();
    let scores: Vec<f64> = scored.iter().map(|row| row.get_f64("score").unwrap()).collect();
    assert_eq!(scores, [0.666_666_666_666_666_6, 1.5, 3.35, 0.75, 1.875]);
    let pipeline = [
        doc! { "$match": { "$text": { "$search": "dog" } } },
        doc! { "$sort": { "score": &score, "_id": 1 } },
        doc! { "$project": { "score": &score } },
        doc! { "$limit": 2 },
    ];
    let rows = raw.aggregate_raw(pipeline).await.unwrap();
    assert_eq!(
        rows,
        [
            doc! { "_id": 3, "score": 1.85 },
            doc! { "_id": 5, "score": 1.125 }
        ]
    );
    let total = raw
        .aggregate_raw([
            doc! { "$match": { "$text": { "$search": "dog" } } },
            doc! { "$group": { "_id": null, "total": { "$sum": score } } },
        ])
        .await
        .unwrap();
    assert_eq!(total, [doc! { "_id": bson::Bson::Null, "total": 3.725 }]);
}

async fn every_write_keeps_the_index(db: &Db) {
    let posts = posts(db).await;
    posts
        .update_many(|p| p.id.lt(3), |p| p.title.set("whales"))
        .await
        .unwrap();
    assert_eq!(found(&posts, "whale").await, [1, 2]);
    assert_eq!(found(&posts, "blue").await, [3, 4, 5]);
    posts
        .update_one(|_| Filter::text("cat"), |p| p.body.set(Vec::new()))
        .await
        .unwrap();
    assert_eq!(found(&posts, "dog").await, [2, 5]);
    assert_eq!(
        posts
            .delete_many(|_| Filter::text("whale -dog"))
            .await
            .unwrap()
            .deleted,
        1
    );
    assert_eq!(found(&posts, "whale").await, [2]);
}

async fn indexes_have_weights_languages_and_prefixes(db: &Db) {
    let raw = RawCollection::new(db, "articles");
    let spec = doc! {
        "key": { "shelf": 1, "title": "text", "$**": "text" }, "name": "t",
        "weights": { "title": 5 }, "default_language": "french",
    };
    raw.create_index(&spec).await.unwrap();
    let articles = db.raw_collection("articles");
    articles
        .insert_many([
            doc! { "_id": 1, "shelf": 1, "title": "Les chats", "deep": { "er": ["un chat"] } },
            doc! { "_id": 2, "shelf": 1, "title": "cats", "language": "english" },
            doc! { "_id": 3, "shelf": 2, "title": "chat" },
        ])
        .await
        .unwrap();
    let search = |text: &str| doc! { "shelf": 1, "$text": { "$search": text } };
    let scored = articles
        .find(search("chats"))
        .project_raw(doc! { "s": { "$meta": "textScore" } })
        .await
        .unwrap();
    assert_eq!(scored.len(), 1);
    assert_eq!(scored[0].get_f64("s").unwrap(), 6.0);
    let english = doc! { "shelf": 1, "$text": { "$search": "cat", "$language": "english" } };
    assert_eq!(articles.find(english).await.unwrap().len(), 1);
    let refused = articles
        .find(doc! { "$text": { "$search": "chat" } })
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some(291));
    let listed = db.run_command(doc! { "listIndexes": "articles" }).await.unwrap();
    let listed = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let expected = doc! {
        "v": 2, "key": { "shelf": 1, "_fts": "text", "_ftsx": 1 }, "name": "t",
        "weights": { "$**": 1, "title": 5 }, "default_language": "french",
        "language_override": "language", "textIndexVersion": 3,
    };
    assert_eq!(listed[1].as_document().unwrap(), &expected);
    for (document, code) in [
        (doc! { "_id": 7, "shelf": [1, 2], "title": "x" }, 201),
        (doc! { "_id": 7, "language": "klingon", "title": "x" }, 17262),
        (doc! { "_id": 7, "language": 5, "title": "x" }, 17261),
    ] {
        assert_eq!(articles.insert(document).await.unwrap_err().code(), Some(code));
    }
}

async fn what_cannot_be_searched_is_refused(db: &Db) {
    let posts = posts(db).await;
    let raw = db.raw_collection("posts");
    let text = doc! { "$text": { "$search": "blue" } };
    for (filter, code) in [
        (doc! { "$and": [&text, &text] }, 2),
        (doc! { "$nor": [&text] }, 2),
        (doc! { "$or": [&text, { "body": "x" }] }, 291),
        (doc! { "title": { "$text": { "$search": "x" } } }, 2),
        (doc! { "title": { "$elemMatch": &text } }, 2),
        (doc! { "$text": "x" }, 2),
        (doc! { "$text": {} }, 4),
        (doc! { "$text": { "$search": 5 } }, 14),
        (doc! { "$text": { "$search": "x", "$language": "xx" } }, 2),
        (doc! { "$text": { "$search": "x", "more": 1 } }, 2),
    ] {
        let error = raw.find(filter.clone()).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{filter}");
    }
    let either = raw.find(doc! { "$or": [&text, { "_id": 3 }] }).await.unwrap();
    assert_eq!(either.len(), 5);
    let sorted = raw
        .find(doc! {})
        .sort_raw(doc! { "s": { "$meta": "textScore" } })
        .await;
    assert_eq!(sorted.unwrap_err().code(), Some(40218));
    let later = raw
        .aggregate_raw([doc! { "$limit": 1 }, doc! { "$match": &text }])
        .await;
    assert_eq!(later.unwrap_err().code(), Some(17313));
    db.raw_collection("plain")
        .insert(doc! { "title": "blue" })
        .await
        .unwrap();
    let without = db.raw_collection("plain").find(text).await.unwrap_err();
    assert_eq!(without.code(), Some(27));
    let second = RawCollection::new(db, "posts");
    let second = second
        .create_index(&doc! { "key": { "x": "text" }, "name": "second" })
        .await;
    assert_eq!(second.unwrap_err().code(), Some(85));
    assert_ne!(without.kind(), ErrorKind::Unsupported);
    drop(posts);
}
