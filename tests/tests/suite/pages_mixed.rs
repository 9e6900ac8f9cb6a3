//! Pages over fields that hold values of many types, and arrays.

use bson::{Bson, Document, doc};
use odm::Db;

use super::pages::walk;
use odm_tests::random::Random;

crate::on_every_backend! {
    pages_cross_the_types,
    pages_cut_any_list,
    pages_over_one_type_and_null_read_only_their_part,
}

/// Values of every type that documents can be ordered by. Not the deprecated undefined, which MongoDB takes for null when
/// it merges parts of an index, but not when it sorts.
fn values() -> Vec<Option<Bson>> {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    let mut values: Vec<Option<Bson>> = vec![
        None,
        Some(Bson::Null),
        Some(Bson::MinKey),
        Some(Bson::MaxKey),
        Some(Bson::Double(f64::NAN)),
        Some(Bson::Double(f64::NEG_INFINITY)),
        Some(Bson::Double(f64::INFINITY)),
        Some(Bson::Double(-0.0)),
        Some(Bson::Int32(0)),
        Some(Bson::Int64(9_007_199_254_740_993)),
        Some(Bson::Double(9_007_199_254_740_992.0)),
        Some(decimal("0.1")),
        Some(decimal("NaN")),
        Some(Bson::Double(0.1)),
        Some(Bson::String(String::new())),
        Some(Bson::String("a\0b".into())),
        Some(Bson::String("é".into())),
        Some(Bson::Symbol("b".into())),
        Some(doc! {}.into()),
        Some(doc! { "$gt": 1 }.into()),
        Some(doc! { "a": Bson::Null }.into()),
        Some(Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![1, 2],
        })),
        Some(Bson::ObjectId(bson::oid::ObjectId::from_bytes([7; 12]))),
        Some(Bson::Boolean(false)),
        Some(Bson::Boolean(true)),
        Some(Bson::DateTime(bson::DateTime::from_millis(-5))),
        Some(Bson::DateTime(bson::DateTime::from_millis(5))),
        Some(Bson::Timestamp(bson::Timestamp {
            time: 5,
            increment: 1,
        })),
        Some(Bson::JavaScriptCode("x".into())),
    ];
    // Ties.
    values.extend([
        Some(Bson::Null),
        None,
        Some(Bson::Int32(0)),
        Some(Bson::Double(f64::NAN)),
    ]);
    values
}

async fn pages_cross_the_types(db: &Db) {
    let mixed = db.raw_collection("mixed");
    let mut documents = Vec::new();
    for (row, first) in values().iter().enumerate() {
        for (column, second) in values()
            .iter()
            .enumerate()
            .filter(|(column, _)| (row + column) % 11 == 0)
        {
            let mut document = doc! { "_id": (row * 100 + column) as i32 };
            document.extend(first.clone().map(|value| ("a".to_owned(), value)));
            let inner: Document = second
                .clone()
                .map(|value| ("b".to_owned(), value))
                .into_iter()
                .collect();
            // A path that ends at a scalar is a missing one.
            let inner = if column == 0 && row % 2 == 0 {
                Bson::Int32(5)
            } else {
                inner.into()
            };
            document.insert("in", inner);
            documents.push(document);
        }
    }
    let count = documents.len();
    mixed.insert_many(documents).await.unwrap();
    for index in [None, Some(doc! { "a": 1, "in.b": -1, "_id": -1 })] {
        if let Some(keys) = index {
            mixed
                .create_indexes()
                .index_raw(doc! { "key": keys, "name": "all" })
                .await
                .unwrap();
        }
        for sort in [
            doc! { "a": 1 },
            doc! { "a": -1, "in.b": 1 },
            doc! { "a": 1, "in.b": -1 },
            doc! { "in.b": 1 },
        ] {
            let mut total = sort.clone();
            total.insert("_id", sort.values().last().cloned().unwrap());
            let whole = mixed.find_all().sort_raw(total).await.unwrap();
            let whole: Vec<Bson> = whole
                .iter()
                .map(|item| item.get("_id").cloned().unwrap())
                .collect();
            assert_eq!(whole.len(), count);
            let sizes: &[u32] = if sort.len() == 1 { &[4, 9] } else { &[5] };
            for &size in sizes {
                walk(mixed.find_all().sort_raw(sort.clone()), &whole, size).await;
            }
        }
    }
}

/// A value, now and then an array of some, empty ones and nested ones among them.
fn random_value(random: &mut Random, with_arrays: bool) -> Option<Bson> {
    let scalars = values();
    if !with_arrays || !random.one_in(3) {
        return random.pick(&scalars).clone();
    }
    let count = *random.pick(&[0, 1, 1, 2, 3]);
    let elements = (0..count).map(|_| match random.below(8) {
        0 => random
            .pick(&[
                Bson::Array(vec![]),
                Bson::Array(vec![Bson::Null]),
                Bson::Array(vec![Bson::Int32(1)]),
                Bson::Array(vec![Bson::String("x".into()), Bson::Int32(2)]),
                Bson::Array(vec![Bson::Array(vec![])]),
            ])
            .clone(),
        _ => random.pick(&scalars).clone().unwrap_or(Bson::Null),
    });
    Some(Bson::Array(elements.collect()))
}

/// The pages of random documents are the sorted list, cut: forwards, and backwards from the end.
async fn pages_cut_any_list(db: &Db) {
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let with_arrays = seed % 2 == 1;
        let name = format!("random_{seed}");
        let random_documents = db.raw_collection(&name);
        let documents: Vec<Document> = (0..70)
            .map(|id| {
                let id: Bson = match random.one_in(5) {
                    true => format!("s{id}").into(),
                    false => id.into(),
                };
                let mut document = doc! { "_id": id };
                let mut has_array = false;
                for field in ["a", "b"] {
                    // An index has one array at the most.
                    if let Some(value) = random_value(&mut random, with_arrays && !has_array) {
                        has_array = matches!(value, Bson::Array(_));
                        document.insert(field, value);
                    }
                }
                document
            })
            .collect();
        random_documents.insert_many(documents).await.unwrap();
        for sort in [
            doc! { "a": 1 },
            doc! { "a": -1 },
            doc! { "a": 1, "b": 1 },
            doc! { "b": -1, "a": 1 },
        ] {
            let mut total = sort.clone();
            total.insert("_id", sort.values().last().cloned().unwrap());
            let whole = random_documents
                .find_all()
                .sort_raw(total.clone())
                .hint(doc! { "$natural": 1 });
            let whole: Vec<Bson> = whole
                .await
                .unwrap()
                .iter()
                .map(|item| item.get("_id").cloned().unwrap())
                .collect();
            for has_index in [false, true] {
                if has_index {
                    let index = doc! { "key": total.clone(), "name": "order" };
                    random_documents.create_indexes().index_raw(index).await.unwrap();
                }
                println!("seed {seed}, sort {sort}, index {has_index}");
                walk(random_documents.find_all().sort_raw(sort.clone()), &whole, 6).await;
            }
            random_documents.drop_index("order").await.unwrap();
        }
    }
}

/// Types beside those of the place cost a page nothing but the keys of a few empty ranges.
async fn pages_over_one_type_and_null_read_only_their_part(db: &Db) {
    let notes = db.raw_collection("notes");
    let note = |id: i32| match id % 4 {
        0 => doc! { "_id": id, "due": Bson::Null },
        1 => doc! { "_id": id },
        _ => doc! { "_id": id, "due": bson::DateTime::from_millis(i64::from(id)) },
    };
    notes.insert_many((0..1200).map(note)).await.unwrap();
    let keys = doc! { "due": 1, "_id": 1 };
    let index = doc! { "key": keys.clone(), "name": "order" };
    notes.create_indexes().index_raw(index).await.unwrap();
    for sort in [doc! { "due": 1 }, doc! { "due": -1 }] {
        let list = || notes.find_all().sort_raw(sort.clone());
        let mut token = list().page(20).await.unwrap().next;
        for depth in 0..58 {
            let page = list().page(20).after(token.as_ref().unwrap());
            if depth % 12 == 11 {
                let plan = page.clone().explain().executed().await.unwrap();
                assert!(!plan.to_string().contains("\"SORT\""), "{plan}");
                let counts = plan.get_document("executionStats").unwrap();
                let examined = match counts.get("totalKeysExamined") {
                    Some(Bson::Int32(count)) => i64::from(*count),
                    Some(Bson::Int64(count)) => *count,
                    other => panic!("{other:?}"),
                };
                assert!(
                    (20..=90).contains(&examined),
                    "{examined} at {depth} of {sort}: {plan}"
                );
            }
            token = page.await.unwrap().next;
        }
    }
}
