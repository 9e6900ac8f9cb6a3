//! Sorting, paging, projecting, streaming, counting, distinct values, explaining.

use odm::{Db, Embedded, Filter};
use serde::{Deserialize, Serialize};

use super::models::Item;

crate::on_every_backend! {
    sort_skip_and_limit,
    projection_into_another_struct,
    a_stream_gives_every_document_in_small_batches,
    a_cursor_keeps_what_it_saw_when_it_began,
    counts_and_existence,
    distinct_values,
    get_many_by_id,
    explain_names_the_index,
    hints_are_obeyed_and_checked,
    a_missing_collection_is_empty,
    a_document_of_another_shape_names_itself,
    an_empty_array_at_a_position_sorts_below_null,
}

async fn hundred(db: &Db) -> odm::Collection<Item> {
    let items = db.collection::<Item>();
    let many: Vec<Item> = (0..100)
        .map(|n| {
            let mut item = Item::new(&format!("{n:03}"), n % 10).tagged(&[["x", "y", "z"][n as usize % 3]]);
            item.category = ["a", "b"][n as usize % 2].to_owned();
            item
        })
        .collect();
    items.insert_many(&many).await.unwrap();
    items
}

async fn sort_skip_and_limit(db: &Db) {
    let items = hundred(db).await;
    let page = items
        .find(|_| Filter::all())
        .sort(|i| i.stock.desc() & i.id.asc())
        .skip(3)
        .limit(4)
        .await
        .unwrap();
    let ids: Vec<&str> = page.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["039", "049", "059", "069"]);
    let last = items
        .find(|i| i.stock.eq(0))
        .sort(|i| i.id.desc())
        .limit(1)
        .await
        .unwrap();
    assert_eq!(last[0].id, "090");
    let first = items
        .find_one(|i| i.stock.eq(3))
        .sort(|i| i.id.asc())
        .await
        .unwrap();
    assert_eq!(first.map(|item| item.id), Some("003".to_owned()));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Short {
    #[serde(rename = "_id")]
    id: String,
    stock: i32,
}

async fn projection_into_another_struct(db: &Db) {
    let items = hundred(db).await;
    let short: Vec<Short> = items
        .find(|i| i.id.lt("002"))
        .sort(|i| i.id.asc())
        .project()
        .await
        .unwrap();
    assert_eq!(
        short,
        [
            Short {
                id: "000".to_owned(),
                stock: 0
            },
            Short {
                id: "001".to_owned(),
                stock: 1
            }
        ]
    );
}

async fn a_stream_gives_every_document_in_small_batches(db: &Db) {
    let items = hundred(db).await;
    let mut seen = Vec::new();
    let mut stream = items.find_all().sort(|i| i.id.asc()).batch_size(7).stream();
    while let Some(item) = stream.try_next().await.unwrap() {
        seen.push(item.id);
    }
    assert_eq!(seen.len(), 100);
    assert!(seen.is_sorted());
    let limited: Vec<Item> = items
        .find_all()
        .limit(15)
        .batch_size(4)
        .stream()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(limited.len(), 15);
}

async fn a_cursor_keeps_what_it_saw_when_it_began(db: &Db) {
    let items = hundred(db).await;
    let mut stream = items.find_all().sort(|i| i.id.asc()).batch_size(10).stream();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first.id, "000");
    let rest: Vec<Item> = stream.try_collect().await.unwrap();
    assert_eq!(rest.len(), 99);
}

async fn counts_and_existence(db: &Db) {
    let items = hundred(db).await;
    assert_eq!(items.count(|i| i.stock.lt(3)).await.unwrap(), 30);
    assert_eq!(
        items.count(|i| i.stock.lt(3)).skip(5).limit(10).await.unwrap(),
        10
    );
    assert!(items.exists(|i| i.stock.eq(9)).await.unwrap());
    assert!(!items.exists(|i| i.stock.eq(10)).await.unwrap());
    assert_eq!(items.estimated_count().await.unwrap(), 100);
}

async fn distinct_values(db: &Db) {
    let items = hundred(db).await;
    let mut stocks: Vec<i32> = items.distinct(|i| i.stock).await.unwrap();
    stocks.sort_unstable();
    assert_eq!(stocks, (0..10).collect::<Vec<_>>());
    let mut tags: Vec<String> = items
        .distinct(|i| i.tags.any())
        .filter(|i| i.stock.eq(0))
        .await
        .unwrap();
    tags.sort();
    assert_eq!(tags, ["x", "y", "z"]);
}

async fn get_many_by_id(db: &Db) {
    let items = hundred(db).await;
    let mut found = items
        .get_many(["007".to_owned(), "042".to_owned(), "nope".to_owned()])
        .await
        .unwrap();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(
        found.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(),
        ["007", "042"]
    );
}

async fn explain_names_the_index(db: &Db) {
    let items = hundred(db).await;
    items.create_indexes().await.unwrap();
    let plan = items
        .find(|i| i.name.eq("item 001"))
        .explain()
        .await
        .unwrap()
        .to_string();
    assert!(plan.contains("IXSCAN") && plan.contains("name_1"), "{plan}");
    let plan = items.find(|i| i.stock.eq(1)).explain().await.unwrap().to_string();
    assert!(plan.contains("COLLSCAN"), "{plan}");
    let plan = items
        .find(|i| i.category.eq("a"))
        .sort(|i| i.price.desc())
        .explain()
        .await
        .unwrap()
        .to_string();
    assert!(
        plan.contains("category_1_price_-1") && !plan.contains("\"SORT\""),
        "{plan}"
    );
}

async fn hints_are_obeyed_and_checked(db: &Db) {
    let items = hundred(db).await;
    items.create_indexes().await.unwrap();
    let found = items.find(|i| i.stock.eq(1)).hint("name_1").await.unwrap();
    assert_eq!(found.len(), 10);
    let error = items.find(|i| i.stock.eq(1)).hint("nope").await.unwrap_err();
    assert_eq!(error.code(), Some(2));
}

async fn a_missing_collection_is_empty(db: &Db) {
    let items = db.collection::<Item>();
    assert_eq!(items.find_all().await.unwrap(), []);
    assert_eq!(items.count(|_| Filter::all()).await.unwrap(), 0);
    assert_eq!(items.find_one(|_| Filter::all()).await.unwrap(), None);
    assert_eq!(
        items
            .update_many(|_| Filter::all(), |i| i.stock.inc(1))
            .await
            .unwrap()
            .matched,
        0
    );
    assert_eq!(items.delete_many(|_| Filter::all()).await.unwrap().deleted, 0);
}

async fn a_document_of_another_shape_names_itself(db: &Db) {
    db.raw_collection("items")
        .insert(bson::doc! { "_id": "bad", "name": 5 })
        .await
        .unwrap();
    let error = db.collection::<Item>().get("bad".to_owned()).await.unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Decode);
    assert_eq!(error.model(), Some("Item"));
    assert_eq!(error.path(), Some("name"));
    assert_eq!(error.id(), Some(&bson::Bson::String("bad".to_owned())));
}

async fn an_empty_array_at_a_position_sorts_below_null(db: &Db) {
    let raw = odm_tests::raw::RawCollection::new(db, "positions");
    let documents = [
        bson::doc! { "_id": 1, "a": [[]] },
        bson::doc! { "_id": 2, "a": [[1, 2]] },
        bson::doc! { "_id": 4, "a": [] },
        bson::doc! { "_id": 5, "a": [1] },
        bson::doc! { "_id": 6 },
        bson::doc! { "_id": 13, "a": [[], 1] },
    ];
    raw.insert(&documents).await.unwrap();
    let sort = bson::doc! { "a.0": 1, "_id": 1 };
    let found = raw.find(&bson::doc! {}, Some(&sort), None, 0, 0).await.unwrap();
    let ids: Vec<i32> = found
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect();
    assert_eq!(ids, [1, 13, 4, 6, 5, 2]);
}
