//! Models of databases that were not made for them: hostile names, depth, width, nothing at all.

use std::collections::BTreeSet;

use bson::{Bson, Document, doc};
use odm::{Db, ErrorKind, InferredModels};
use odm_tests::random::Random;
use odm_tests::raw::RawCollection;
use syn::ext::IdentExt as _;

crate::on_every_backend! {
    names_stay_in_their_literals,
    keywords_and_numbers_are_told_apart,
    kinds_and_maps_that_mean_something_in_rust,
    variants_differ_in_snake_case,
    kinds_with_bytes_are_one_model,
    what_goes_on_in_maps_keeps_its_fields,
    names_that_come_twice_are_bytes,
    the_order_within_an_id_stays,
    texts_stay_in_the_database,
    nothing_has_no_models,
    a_collection_that_is_not_there_is_an_error,
    a_sample_is_what_is_looked_at,
    depth_and_width_are_bounded,
    documents_without_models_are_said,
    what_was_found_is_counted,
    references_are_looked_up,
    a_transaction_lists_no_collections,
}

async fn insert(db: &Db, name: &str, documents: &[Document]) {
    RawCollection::new(db, name).insert(documents).await.unwrap();
}

async fn infer(db: &Db) -> InferredModels {
    db.infer_models().all_documents().await.unwrap()
}

/// The source is Rust, and no name of a type, of a field or of a variant in it is there twice.
#[track_caller]
fn check(models: &InferredModels) -> String {
    let source = models.to_rust();
    let file = syn::parse_file(&source).unwrap_or_else(|error| panic!("{error}:\n{source}"));
    let mut types = BTreeSet::new();
    for item in &file.items {
        let (name, fields) = match item {
            syn::Item::Struct(item) => (item.ident.to_string(), Some(&item.fields)),
            syn::Item::Enum(item) => {
                let mut handles = BTreeSet::new();
                for variant in &item.variants {
                    let handle = variant.ident.to_string().to_lowercase();
                    assert!(
                        handles.insert(handle),
                        "{} is there twice:\n{source}",
                        variant.ident
                    );
                }
                (item.ident.to_string(), None)
            }
            syn::Item::Use(_) | syn::Item::Fn(_) => continue,
            other => panic!("{other:?} in:\n{source}"),
        };
        assert!(types.insert(name.clone()), "{name} is there twice:\n{source}");
        let mut names = BTreeSet::new();
        for field in fields.into_iter().flatten() {
            let field = field.ident.as_ref().unwrap().unraw().to_string();
            assert!(
                names.insert(field.clone()),
                "{name}.{field} is there twice:\n{source}"
            );
        }
    }
    for letter in ['\u{202E}', '\u{2066}', '\r', '\u{2028}', '\0'] {
        assert!(!source.contains(letter), "{letter:?} in:\n{source}");
    }
    source
}

/// Pieces of names that mean something in Rust, in comments, or in MongoDB.
const PIECES: [&str; 40] = [
    "a",
    "B",
    "_",
    "__",
    "1",
    "é",
    "ß",
    "名",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "*/",
    "/*",
    "//",
    "///",
    "#",
    "#[",
    "]",
    "{",
    "}",
    "'",
    "`",
    "$",
    ".",
    " ",
    "\t",
    "\u{202E}",
    "\u{2066}",
    "\u{2028}",
    "r#",
    "type",
    "self",
    "Self",
    "crate",
    "super",
    "id",
    "_id",
    "Option",
    "\u{1F600}",
];

fn name(random: &mut Random) -> String {
    (0..=random.below(3)).map(|_| *random.pick(&PIECES)).collect()
}

async fn names_stay_in_their_literals(db: &Db) {
    let mut random = Random::new(7);
    for round in 0..40 {
        for number in 0..2 {
            let mut document = doc! {"_id": round};
            for _ in 0..4 {
                let value = match random.below(5) {
                    0 => Bson::Int32(1),
                    1 => Bson::Document(
                        doc! {name(&mut random): 1, name(&mut random): {name(&mut random): [1]}},
                    ),
                    2 => Bson::Array(vec![Bson::Document(doc! {name(&mut random): "x"})]),
                    3 => Bson::String(name(&mut random)),
                    _ => Bson::Null,
                };
                document.insert(name(&mut random), value);
            }
            document.insert("_id", number);
            // Some names are none that a backend takes.
            let collection: String = name(&mut random).replace(['$', '\0'], "");
            let collection = format!("c{round}{collection}");
            RawCollection::new(db, &collection).insert(&[document]).await.ok();
            let index = doc! {"key": {name(&mut random): 1}, "name": format!("i{}", name(&mut random))};
            RawCollection::new(db, &collection)
                .create_index(&index)
                .await
                .ok();
        }
    }
    let models = infer(db).await;
    assert!(models.collections().len() > 40);
    check(&models);
    check(
        &db.infer_models()
            .all_documents()
            .show_values(true)
            .exact_numbers(true)
            .await
            .unwrap(),
    );
}

async fn keywords_and_numbers_are_told_apart(db: &Db) {
    insert(
        db,
        "things",
        &[doc! {"_id": 1, "type": 1, "Type": 2, "type2": 3, "self": 4, "Self": 5, "self_": 6}],
    )
    .await;
    check(&infer(db).await);
}

async fn kinds_and_maps_that_mean_something_in_rust(db: &Db) {
    let several = |kind: &'static str, field: &'static str| {
        (0..8).map(move |n| doc! {"_id": format!("{kind}{n}"), "kind": kind, "n": 1, field: n})
    };
    let kinds: Vec<_> = several("self", "a").chain(several("other", "b")).collect();
    insert(db, "kinds", &kinds).await;
    insert(
        db,
        "trees",
        &[doc! {"_id": 1, "tree": {"1": {"1": {"1": {}}}, "2": {"1": {"1": {}}}}}],
    )
    .await;
    let models = db.infer_models().all_documents().show_values(true).await.unwrap();
    let source = check(&models);
    assert!(source.contains("SelfVariant("), "{source}");
    assert!(
        !source.contains("BTreeMap<String, Box<Tree>>") && !source.contains("BTreeMap<String, Tree>"),
        "{source}"
    );
}

/// Two variants of one name in snake case are none that the derive takes.
async fn variants_differ_in_snake_case(db: &Db) {
    let states = (0..6).map(|n| doc! {"_id": n, "state": if n < 3 { "N/A" } else { "NA" }});
    insert(db, "forms", &states.collect::<Vec<_>>()).await;
    let kinds = [
        doc! {"_id": 1, "kind": "N/A", "a": 1},
        doc! {"_id": 2, "kind": "NA", "b": 1},
    ];
    insert(db, "kinds", &kinds).await;
    let models = db.infer_models().all_documents().show_values(true).await.unwrap();
    let source = check(&models);
    for variant in ["    #[serde(rename = \"NA\")]\n    Na2,", "    Na2("] {
        assert!(source.contains(variant), "{variant} in:\n{source}");
    }
}

/// Serde reads fields before it knows the kind, and `{"$date": 1}` is then no document.
async fn kinds_with_bytes_are_one_model(db: &Db) {
    let events = [
        doc! {"_id": 1, "kind": "made", "data": {"$date": 1}},
        doc! {"_id": 2, "kind": "gone", "why": "x"},
    ];
    insert(db, "events", &events).await;
    let models = db.infer_models().all_documents().show_values(true).await.unwrap();
    let source = check(&models);
    assert!(
        source.contains("one model holds all") && source.contains("pub struct Event {"),
        "{source}"
    );
    assert!(!source.contains("#[serde(tag"), "{source}");
}

/// One thread goes on and is folded, the other is not: what only the other has was lost.
async fn what_goes_on_in_maps_keeps_its_fields(db: &Db) {
    let on = doc! {"text": "a", "answers": [{"text": "b", "answers": [{"text": "c"}]}]};
    let once = doc! {"text": "d", "answers": [{"text": "e", "likes": 3}]};
    insert(
        db,
        "forums",
        &[doc! {"_id": 1, "threads": {"2019": on, "2020": once}}],
    )
    .await;
    let source = check(&infer(db).await);
    for line in [
        "pub threads: BTreeMap<String, Thread>,",
        "pub answers: Option<Vec<Thread>>,",
        "pub likes: Option<i32>,",
    ] {
        assert!(source.contains(line), "{line} in:\n{source}");
    }
}

/// They were noticed only where all documents before had the name.
async fn names_that_come_twice_are_bytes(db: &Db) {
    let mut twice = bson::rawdoc! {"b": 1};
    twice.append(bson::raw::cstr!("b"), 2);
    let rows = vec![
        bson::rawdoc! {"_id": 1, "a": {"c": 1}},
        bson::rawdoc! {"_id": 2, "a": twice},
    ];
    RawCollection::new(db, "rows").insert_raw(rows).await.unwrap();
    let source = check(&infer(db).await);
    assert!(source.contains("pub a: odm::bson::RawDocumentBuf,"), "{source}");
}

/// Maps and places have an order of their own.
async fn the_order_within_an_id_stays(db: &Db) {
    let place = doc! {"coordinates": [1.5, 2.5], "type": "Point"};
    insert(db, "spots", &[doc! {"_id": {"n": 1, "place": place}}]).await;
    insert(db, "years", &[doc! {"_id": {"years": {"2020": 1, "2019": 2}}}]).await;
    insert(
        db,
        "days",
        &[doc! {"_id": {"n": 1, "of": {"year": 2020, "day": 3}}}],
    )
    .await;
    let source = check(&infer(db).await);
    assert_eq!(
        source.matches("pub id: odm::bson::RawDocumentBuf,").count(),
        2,
        "{source}"
    );
    assert!(
        source.contains("pub id: DayKey,") && source.contains("pub of: Of,"),
        "{source}"
    );
}

async fn texts_stay_in_the_database(db: &Db) {
    let secrets = |n: i32| {
        doc! {"_id": format!("secret-{n}"), "kind": if n < 2 { "secret-a" } else { "secret-b" }, "map": {"2019": "secret"},
        "list": ["secret"], "deep": {"kind": "secret"}, "like": Bson::Symbol("secret".into())}
    };
    let mut documents: Vec<Document> = (0..6).map(secrets).collect();
    documents[0].insert("own", "secret");
    documents[1].insert("own", "secret");
    documents[2].insert("mixed", "secret");
    insert(db, "texts", &documents).await;
    let source = check(&infer(db).await);
    assert!(!source.contains("secret"), "{source}");
    let shown = check(&db.infer_models().all_documents().show_values(true).await.unwrap());
    assert!(shown.contains("kind = \"secret-a\", tag = \"kind\""), "{shown}");
}

async fn nothing_has_no_models(db: &Db) {
    let models = infer(db).await;
    assert!(models.collections().is_empty());
    assert!(check(&models).contains("No collection has a model."));
}

async fn a_collection_that_is_not_there_is_an_error(db: &Db) {
    let error = db.infer_models().only(["nowhere"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error
            .namespace()
            .is_some_and(|namespace| namespace.ends_with(".nowhere"))
    );
    insert(db, "books", &[doc! {"_id": 1}]).await;
    insert(db, "other", &[doc! {"_id": 1}]).await;
    let models = db.infer_models().only(["books"]).await.unwrap();
    assert_eq!(models.collections().len(), 1);
}

async fn a_sample_is_what_is_looked_at(db: &Db) {
    let documents: Vec<Document> = (0..50).map(|n| doc! {"_id": n}).collect();
    insert(db, "many", &documents).await;
    for (sample, looked_at) in [(0, 0), (7, 7), (1_000, 50), (u64::MAX, 50)] {
        let models = db.infer_models().sample(sample).await.unwrap();
        assert_eq!(models.collections()[0].looked_at, looked_at);
        check(&models);
    }
}

async fn depth_and_width_are_bounded(db: &Db) {
    let (mut deep, mut arrays) = (doc! {"end": 1}, Bson::Int32(1));
    for level in 0..80 {
        deep = doc! {format!("level{level}"): deep};
        arrays = Bson::Array(vec![arrays]);
    }
    let wide: Document = (0..3_000).map(|n| (format!("k{n}"), Bson::Int32(n))).collect();
    insert(
        db,
        "deep",
        &[doc! {"_id": 1, "deep": deep, "arrays": arrays, "wide": wide.clone()}],
    )
    .await;
    let mut outer = wide;
    outer.insert("_id", 1);
    insert(db, "wide", &[outer]).await;
    let models = infer(db).await;
    let source = check(&models);
    assert!(
        source.contains("pub wide: BTreeMap<String, i32>,") && source.contains("odm::bson::Document"),
        "{source}"
    );
    assert!(models.collection("deep").unwrap().field("wide").unwrap().is_map);
    assert_eq!(models.collection("wide").unwrap().model, None);
}

async fn documents_without_models_are_said(db: &Db) {
    db.create_collection("seen")
        .view_on("books", [doc! {"$limit": 1}])
        .await
        .unwrap();
    insert(db, "bytes", &[doc! {"_id": 1, "a.b": {"$date": 1}}]).await;
    let mut twice = bson::rawdoc! {"_id": 1, "a": 1};
    twice.append(bson::raw::cstr!("a"), 2);
    RawCollection::new(db, "twice")
        .insert_raw(vec![bson::rawdoc! {"_id": 0}, twice])
        .await
        .unwrap();
    let models = infer(db).await;
    let source = check(&models);
    for (name, said) in [
        ("seen", "a view of books"),
        ("bytes", "stored as a.b"),
        ("twice", "two fields of one name"),
    ] {
        let found = models.collection(name).unwrap();
        assert!(
            found.model.is_none() && found.notes[0].contains(said),
            "{found:?}"
        );
        assert!(source.contains(&format!("// {name}: ")), "{source}");
    }
}

async fn what_was_found_is_counted(db: &Db) {
    let rows = [
        doc! {"_id": 1, "n": 1, "tags": ["a", "b"], "size": {"2019": 1}},
        doc! {"_id": 2, "n": Bson::Null, "tags": []},
        doc! {"_id": 3, "n": "x", "tags": ["a"]},
        doc! {"_id": 4},
    ];
    insert(db, "rows", &rows).await;
    let models = infer(db).await;
    let rows = models.collection("rows").unwrap();
    let n = rows.field("n").unwrap();
    assert_eq!((n.seen, n.within, n.missing()), (3, 4, 0.25));
    assert!((n.null() - 1.0 / 3.0).abs() < 1e-9 && (n.share_of("string") - 1.0 / 3.0).abs() < 1e-9);
    let tags = rows.field("tags").unwrap();
    assert_eq!(tags.lengths, Some((0, 2)));
    let words = rows.field("tags[]").unwrap();
    assert_eq!(
        words.texts.as_deref(),
        Some(["a".to_owned(), "b".to_owned()].as_slice())
    );
    let size = rows.field("size").unwrap();
    assert!(size.is_map && rows.field("size.*").is_some() && rows.field("size.2019").is_none());
    assert_eq!(rows.model.as_deref(), Some("Row"));
}

async fn references_are_looked_up(db: &Db) {
    let id = odm_tests::inferred::id;
    let authors: Vec<Document> = (0..4).map(|n| doc! {"_id": id(n), "boss": id(0)}).collect();
    insert(db, "authors", &authors).await;
    insert(
        db,
        "shops",
        &[doc! {"_id": 1}, doc! {"_id": 2}, doc! {"_id": "x"}],
    )
    .await;
    insert(db, "towns", &[doc! {"_id": 1_i64}, doc! {"_id": 2}]).await;
    let books = [
        doc! {"_id": 1, "writer": id(1), "shop": 1, "townId": 2, "count": 2, "lost": id(77), "half": [id(1), id(78)]},
        doc! {"_id": 2, "writer": id(2), "shop": 2, "townId": 1, "count": 1, "lost": id(79), "half": []},
    ];
    insert(db, "books", &books).await;
    let models = infer(db).await;
    let books = models.collection("books").unwrap();
    let found = |path: &str| {
        let references = &books.field(path).unwrap().references;
        references
            .first()
            .map(|found| (found.collection.clone(), found.looked_up, found.found))
    };
    assert_eq!(found("writer"), Some(("authors".into(), 2, 2)));
    assert_eq!(found("half[]"), Some(("authors".into(), 2, 1)));
    assert_eq!(found("townId"), Some(("towns".into(), 2, 2)));
    assert_eq!((found("count"), found("lost")), (None, None));
    let source = check(&models);
    for line in [
        "pub writer: Ref<Author>,",
        "pub half: Vec<Ref<Author>>,",
        "pub town_id: Ref<Town>,",
        "pub boss: Ref<Author>,",
    ] {
        assert!(source.contains(line), "{line} in:\n{source}");
    }
    // The shops have other `_id`s too.
    assert!(source.contains("    // found as `_id` in the collection shops, whose model has another type of `_id`, or none\n    pub shop: i32,"));
    let models = db.infer_models().look_up_references(false).await.unwrap();
    assert!(!models.to_rust().contains("Ref<"));
}

async fn a_transaction_lists_no_collections(db: &Db) {
    insert(db, "books", &[doc! {"_id": 1}]).await;
    let error = db
        .transaction(async |tx| tx.infer_models().await.map(drop))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(263));
}
