//! What was found to differ of searches in texts.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{batch, ids, insert, run};

crate::on_every_backend! {
    phrases_are_never_compared_by_case_in_turkish,
    a_minus_holds_for_all_that_follows_without_a_space,
}

async fn phrases_are_never_compared_by_case_in_turkish(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "t": "Kara Kedi", "language": "turkish" },
        doc! { "_id": 2, "t": "kara kedi", "language": "turkish" },
        doc! { "_id": 3, "t": "Kara Kedi", "language": "none" },
        doc! { "_id": 4, "t": "kara kedi", "language": "none" },
    ];
    insert(db, "c", documents).await;
    let index = doc! { "key": { "t": "text" }, "name": "t", "default_language": "none" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let found = async |search: Document| {
        let command = doc! { "find": "c", "filter": { "$text": search }, "sort": { "_id": 1 } };
        ids(&batch(&run(db, command).await))
    };
    let turkish = |search: &str| doc! { "$search": search, "$caseSensitive": true, "$language": "turkish" };
    assert_eq!(found(turkish("kara \"Kara Kedi\"")).await, [1, 2, 3]);
    assert_eq!(found(turkish("Kara \"KARA\"")).await, [1]);
    let search = |search: &str| doc! { "$search": search, "$caseSensitive": true };
    assert_eq!(found(search("Kara \"KARA\"")).await, [0; 0]);
    assert_eq!(found(search("kara -\"Kara Kedi\"")).await, [4]);
}

async fn a_minus_holds_for_all_that_follows_without_a_space(db: &Db) {
    let texts = ["coffee shop", "coffee cake", "coffee cup"];
    let documents = (1..).zip(texts).map(|(id, text)| doc! { "_id": id, "t": text });
    insert(db, "c", documents.collect()).await;
    let index = doc! { "key": { "t": "text" }, "name": "t" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let cases: &[(&str, &[i32])] = &[
        (r#"coffee -"shop""cake""#, &[3]),
        (r#"coffee -pre"cake""#, &[1, 3]),
        (r#"coffee -"shop" "cake""#, &[2]),
        (r#"coffee -shop"cake""#, &[3]),
        (r#"coffee "cake"-"cup""#, &[]),
        ("coffee\n-\"cup\"", &[1, 2]),
    ];
    for (search, expected) in cases {
        let filter = doc! { "$text": { "$search": *search } };
        let command = doc! { "find": "c", "filter": filter, "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, command).await)), *expected, "{search}");
    }
}
