//! Typed filters: what each finds.

use bson::doc;
use odm::{BsonType, Db, Field, Filter};

use super::models::{Item, Review};

crate::on_every_backend! {
    comparisons,
    combinations,
    texts,
    presence_and_types,
    arrays,
    numbers_and_bits,
    a_users_text_is_never_an_operator,
    a_scope_is_a_function,
    a_filter_grows_condition_by_condition,
}

async fn stocked(db: &Db) -> odm::Collection<Item> {
    let items = db.collection::<Item>();
    let mut labelled = Item::new("e", 5).tagged(&["c"]);
    labelled.labels.insert("color".to_owned(), "red".to_owned());
    labelled.note = Some("a.b*c".to_owned());
    labelled.maker.city = Some("Rome".to_owned());
    labelled.active = false;
    items
        .insert_many([
            Item::new("a", 1).tagged(&["x", "y"]).scored(&[1, 10]),
            Item::new("b", 2)
                .tagged(&["y"])
                .scored(&[5])
                .reviewed(&[("ann", 5), ("bob", 1)]),
            Item::new("c", 3).reviewed(&[("ann", 1), ("bob", 5)]),
            Item::new("d", 4).tagged(&["x", "y", "z"]).scored(&[]),
            labelled,
        ])
        .await
        .unwrap();
    items
}

type Fields = <Item as odm::Embedded>::Fields<Item>;

async fn ids(items: &odm::Collection<Item>, filter: impl FnOnce(Fields) -> Filter<Item>) -> String {
    let found = items.find(filter).sort(|i| i.id.asc()).await.unwrap();
    found.into_iter().map(|item| item.id).collect::<Vec<_>>().join("")
}

async fn comparisons(db: &Db) {
    let items = stocked(db).await;
    assert_eq!(ids(&items, |i| i.stock.eq(3)).await, "c");
    assert_eq!(ids(&items, |i| i.stock.ne(3)).await, "abde");
    assert_eq!(ids(&items, |i| i.stock.gt(3)).await, "de");
    assert_eq!(ids(&items, |i| i.stock.gte(3)).await, "cde");
    assert_eq!(ids(&items, |i| i.stock.lt(3)).await, "ab");
    assert_eq!(ids(&items, |i| i.stock.lte(3)).await, "abc");
    assert_eq!(ids(&items, |i| i.stock.is_in([1, 4, 9])).await, "ad");
    assert_eq!(ids(&items, |i| i.stock.not_in([1, 4, 9])).await, "bce");
    assert_eq!(ids(&items, |i| i.price.gt(1.0) & i.price.lt(2.5)).await, "cd");
    assert_eq!(
        ids(&items, |i| i.added.lte(bson::DateTime::from_millis(0))).await,
        "abcde"
    );
    assert_eq!(ids(&items, |i| i.active.eq(false)).await, "e");
    assert_eq!(
        ids(&items, |i| i.cost.eq("1.5".parse::<bson::Decimal128>().unwrap())).await,
        "abcde"
    );
}

async fn combinations(db: &Db) {
    let items = stocked(db).await;
    assert_eq!(ids(&items, |i| i.stock.gt(1) & i.stock.lt(4)).await, "bc");
    assert_eq!(ids(&items, |i| i.stock.eq(1) | i.stock.eq(5)).await, "ae");
    assert_eq!(ids(&items, |i| !i.stock.gt(2)).await, "ab");
    assert_eq!(
        ids(&items, |i| Filter::nor([i.stock.eq(1), i.stock.eq(2)])).await,
        "cde"
    );
    assert_eq!(ids(&items, |_| Filter::all()).await, "abcde");
    assert_eq!(ids(&items, |_| Filter::none()).await, "");
    assert_eq!(
        ids(&items, |i| (i.stock.eq(1) | i.stock.eq(2))
            & i.tags.has("y")
            & !i.tags.has("x"))
        .await,
        "b"
    );
    assert_eq!(
        ids(&items, |_| Filter::raw(doc! { "stock": { "$mod": [2, 1] } })).await,
        "ace"
    );
    assert_eq!(
        ids(&items, |_| Filter::expr(
            doc! { "$gt": ["$stock", { "$multiply": ["$price", 2.0] }] }
        ))
        .await,
        ""
    );
}

async fn texts(db: &Db) {
    let items = stocked(db).await;
    assert_eq!(ids(&items, |i| i.name.starts_with("item ")).await, "abcde");
    assert_eq!(ids(&items, |i| i.name.ends_with("m c")).await, "c");
    assert_eq!(ids(&items, |i| i.note.contains(".b*")).await, "e");
    assert_eq!(ids(&items, |i| i.note.contains("aXb")).await, "");
    assert_eq!(ids(&items, |i| i.name.eq_ignore_case("ITEM B")).await, "b");
    assert_eq!(ids(&items, |i| i.name.regex("^ITEM [ab]$", "i")).await, "ab");
    assert_eq!(ids(&items, |i| i.name.starts_with("^item")).await, "");
}

async fn presence_and_types(db: &Db) {
    let items = stocked(db).await;
    db.raw_collection("items")
        .update_one(doc! { "_id": "a" }, doc! { "$unset": { "note": 1 } })
        .await
        .unwrap();
    assert_eq!(ids(&items, |i| i.note.exists()).await, "bcde");
    assert_eq!(ids(&items, |i| i.note.missing()).await, "a");
    assert_eq!(ids(&items, |i| i.note.is_null()).await, "bcd");
    assert_eq!(ids(&items, |i| i.note.is_none()).await, "abcd");
    assert_eq!(ids(&items, |i| i.note.is_some()).await, "e");
    assert_eq!(ids(&items, |i| i.note.eq(None)).await, "abcd");
    assert_eq!(ids(&items, |i| i.note.has_type(BsonType::String)).await, "e");
    assert_eq!(ids(&items, |i| i.maker.city.eq("Rome")).await, "e");
    assert_eq!(
        ids(&items, |i| i.maker.name.eq("Acme") & i.maker.city.is_null()).await,
        "abcd"
    );
}

async fn arrays(db: &Db) {
    let items = stocked(db).await;
    assert_eq!(ids(&items, |i| i.tags.has("x")).await, "ad");
    assert_eq!(ids(&items, |i| i.tags.has_any(["x", "c"])).await, "ade");
    assert_eq!(ids(&items, |i| i.tags.has_all(["x", "y"])).await, "ad");
    assert_eq!(ids(&items, |i| i.tags.size(1)).await, "be");
    assert_eq!(ids(&items, |i| i.tags.is_empty()).await, "c");
    assert_eq!(
        ids(&items, |i| i.tags.eq(vec!["x".to_owned(), "y".to_owned()])).await,
        "a"
    );
    assert_eq!(ids(&items, |i| i.tags.at(0).eq("y")).await, "b");
    assert_eq!(
        ids(&items, |i| i.scores.any().gt(4) & i.scores.any().lt(6)).await,
        "ab"
    );
    assert_eq!(
        ids(&items, |i| i.scores.elem_match_value(|s| s.gt(4) & s.lt(6))).await,
        "b"
    );
    assert_eq!(
        ids(&items, |i| i
            .reviews
            .elem_match(|r| r.by.eq("ann") & r.stars.eq(5)))
        .await,
        "b"
    );
    assert_eq!(
        ids(&items, |i| i.reviews.any().by.eq("ann")
            & i.reviews.any().stars.eq(5))
        .await,
        "bc"
    );
    assert_eq!(
        ids(&items, |i| i.reviews.has(Review {
            by: "bob".to_owned(),
            stars: 1
        }))
        .await,
        "b"
    );
    assert_eq!(ids(&items, |i| i.labels.key("color").eq("red")).await, "e");
}

async fn numbers_and_bits(db: &Db) {
    let items = stocked(db).await;
    assert_eq!(ids(&items, |i| i.stock.modulo(2, 0)).await, "bd");
    assert_eq!(ids(&items, |i| i.stock.bits_all_set(5)).await, "e");
    assert_eq!(ids(&items, |i| i.stock.bits_any_set(3)).await, "abce");
    assert_eq!(ids(&items, |i| i.stock.bits_all_clear([0])).await, "bd");
    assert_eq!(ids(&items, |i| i.stock.bits_any_clear([0, 2])).await, "abcd");
}

async fn a_users_text_is_never_an_operator(db: &Db) {
    let items = stocked(db).await;
    for text in [
        "$ne",
        "{\"$gt\": \"\"}",
        "$where",
        ".*",
        "\0",
        "a' || '1'=='1",
        "🦀",
    ] {
        assert_eq!(ids(&items, |i| i.name.eq(text)).await, "", "{text:?}");
        assert_eq!(ids(&items, |i| i.name.contains(text)).await, "", "{text:?}");
        assert_eq!(ids(&items, |i| i.tags.has(text)).await, "", "{text:?}");
    }
}

/// Compiles: a scope is a plain function.
async fn a_scope_is_a_function(db: &Db) {
    fn scarce(i: Fields) -> Filter<Item> {
        i.stock.lt(3)
    }
    let items = stocked(db).await;
    assert_eq!(ids(&items, scarce).await, "ab");
    let field: Field<Item, i32> = <Item as odm::Model>::fields().stock;
    assert_eq!(ids(&items, |_| field.eq(4)).await, "d");
}

async fn a_filter_grows_condition_by_condition(db: &Db) {
    let items = stocked(db).await;
    let search = |least: Option<i32>, tag: Option<&str>, others: &[&str]| {
        let i = <Item as odm::Model>::fields();
        let mut filter = Filter::all();
        if let Some(least) = least {
            filter &= i.stock.gte(least);
        }
        if let Some(tag) = tag {
            filter &= i.tags.has(tag);
        }
        for other in others {
            filter |= i.id.eq(*other);
        }
        filter
    };
    assert_eq!(ids(&items, |_| search(None, None, &[])).await, "abcde");
    assert_eq!(ids(&items, |_| search(Some(2), None, &[])).await, "bcde");
    assert_eq!(ids(&items, |_| search(Some(2), Some("y"), &[])).await, "bd");
    assert_eq!(
        ids(&items, |_| search(Some(2), Some("y"), &["a", "e"])).await,
        "abde"
    );
    let i = <Item as odm::Model>::fields();
    let mut grown = i.stock.gt(1);
    grown &= i.stock.lt(3);
    let whole = i.stock.gt(1) & i.stock.lt(3);
    assert_eq!(grown.to_document().unwrap(), whole.to_document().unwrap());
    let mut none = Filter::none();
    none |= i.stock.gt(1);
    assert_eq!(ids(&items, |_| none).await, "bcde");
}
