//! Typed pipelines whose results are written: `$merge` and `$out`.

use odm::backend::{ReadPreference, WriteConcern};
use odm::bson::doc;
use odm::expr::{WhenMatched, WhenNotMatched, count, sum};
use odm::{Collection, Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    results_are_merged,
    matched_documents_are_treated_as_said,
    matched_documents_are_updated_by_results,
    results_match_on_other_fields,
    results_take_the_place_of_a_collection,
    other_databases_and_names_are_written_to,
    what_cannot_be_written_is_a_typed_error,
    connections_and_transactions_are_kept_apart,
    handles_of_one_connection_write_for_each_other,
    writes_are_explained_and_not_made,
    nothing_is_written_of_nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sales")]
struct Sale {
    #[serde(rename = "_id")]
    id: i32,
    year: i32,
    shop: String,
    sold: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "totals")]
struct Total {
    #[serde(rename = "_id")]
    year: i32,
    sold: i64,
    note: Option<String>,
}

/// A part of a total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Sold {
    #[serde(rename = "_id")]
    year: i32,
    sold: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shops", index(unique, keys(year, shop)))]
struct Shop {
    #[serde(rename = "_id", default = "odm::Id::new")]
    id: odm::Id<Shop>,
    year: i32,
    shop: String,
    n: i64,
    #[odm(created)]
    #[serde(default = "odm::bson::DateTime::now")]
    made: odm::bson::DateTime,
}

/// What a shop is found by, and what it gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Counted {
    year: i32,
    shop: String,
    n: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Grouped {
    #[serde(rename = "_id")]
    key: Key,
    n: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Key {
    year: i32,
    shop: String,
}

async fn sales(db: &Db) -> Collection<Sale> {
    let sales = db.collection::<Sale>();
    let sale = |id: i32| Sale {
        id,
        year: 2020 + id % 2,
        shop: ["a", "b"][usize::from(id > 2)].to_owned(),
        sold: i64::from(id),
    };
    sales.insert_many((1..=4).map(sale)).await.unwrap();
    db.collection::<Total>()
        .insert(total(2020, 100, Some("old")))
        .await
        .unwrap();
    sales
}

fn total(year: i32, sold: i64, note: Option<&str>) -> Total {
    Total {
        year,
        sold,
        note: note.map(str::to_owned),
    }
}

async fn totals(db: &Db) -> Vec<Total> {
    db.collection::<Total>()
        .find_all()
        .sort(|t| t.year.asc())
        .await
        .unwrap()
}

macro_rules! sold {
    ($sales:expr) => {
        $sales
            .aggregate()
            .group::<Sold>(|s, t| t.year.by(s.year) & t.sold.is(sum(&s.sold)))
    };
}

async fn results_are_merged(db: &Db) {
    let sales = sales(db).await;
    let merge = sold!(sales).merge_into(&db.collection::<Total>());
    let again = merge.clone();
    let nothing: () = merge.await.unwrap();
    assert_eq!(nothing, ());
    let expected = [total(2020, 6, Some("old")), total(2021, 4, None)];
    assert_eq!(totals(db).await, expected);
    again.await.unwrap();
    assert_eq!(totals(db).await, expected);
}

async fn matched_documents_are_treated_as_said(db: &Db) {
    let sales = sales(db).await;
    let all = db.collection::<Total>();
    let merge = || sold!(sales).merge_into(&all);
    merge()
        .when_not_matched(WhenNotMatched::Discard)
        .when_matched(WhenMatched::Replace)
        .await
        .unwrap();
    assert_eq!(totals(db).await, [total(2020, 6, None)]);
    all.save(total(2020, 1, None)).await.unwrap();
    merge().when_matched(WhenMatched::KeepExisting).await.unwrap();
    assert_eq!(totals(db).await, [total(2020, 1, None), total(2021, 4, None)]);
    let error = merge().when_matched(WhenMatched::Fail).await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    assert_eq!(error.model(), Some("Sale"));
    all.purge(|t| t.year.eq(2021)).await.unwrap();
    let error = merge().when_not_matched(WhenNotMatched::Fail).await.unwrap_err();
    assert_eq!(error.code(), Some(13113), "{error}");
    let error = merge()
        .when_matched(WhenMatched::KeepExisting)
        .when_not_matched(WhenNotMatched::Discard)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(51181), "{error}");
}

async fn matched_documents_are_updated_by_results(db: &Db) {
    let sales = sales(db).await;
    let merge = || {
        sold!(sales)
            .merge_into(&db.collection::<Total>())
            .update(|total, new| total.sold.of((total.sold.value() + &new.sold).to_i64()))
            .update(|total, new| {
                total
                    .note
                    .of(total.sold.value().to_text().concat(new.year.value().to_text()))
            })
    };
    merge().when_not_matched(WhenNotMatched::Discard).await.unwrap();
    assert_eq!(totals(db).await, [total(2020, 106, Some("1062020"))]);
    merge().await.unwrap();
    merge().await.unwrap();
    let expected = [total(2020, 118, Some("1182020")), total(2021, 8, Some("82021"))];
    assert_eq!(totals(db).await, expected);
    let twice = sold!(sales).merge_into(&db.collection::<Total>());
    let twice = twice.update(|total, new| total.sold.of(&new.sold) & total.sold.of(1));
    let error = twice.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("sold"))
    );
    let id = sold!(sales)
        .merge_into(&db.collection::<Total>())
        .update(|total, _| total.year.of(1));
    assert_eq!(id.await.unwrap_err().code(), Some(66));
    assert_eq!(totals(db).await, expected);
}

async fn results_match_on_other_fields(db: &Db) {
    let sales = sales(db).await;
    let shops = db.collection::<Shop>();
    let merge = || {
        let groups = sales
            .aggregate()
            .group::<Grouped>(|s, g| g.key.year.by(s.year) & g.key.shop.by(s.shop) & g.n.is(count()));
        let counted = groups.project::<Counted>(|g, c| {
            c.year.of(g.key.year) & c.shop.of(g.key.shop) & c.n.of((g.n.value() * 10).to_i64())
        });
        counted.merge_into(&shops).on(|s| s.year).on(|s| s.shop)
    };
    assert_eq!(merge().await.unwrap_err().code(), Some(51183));
    shops.sync_indexes().await.unwrap();
    merge().await.unwrap();
    merge()
        .update(|s, new| s.n.of((s.n.value() + &new.n).to_i64()))
        .await
        .unwrap();
    let found = shops
        .find_all()
        .sort(|s| s.year.asc() & s.shop.asc())
        .await
        .unwrap();
    let found: Vec<_> = found.iter().map(|s| (s.year, s.shop.as_str(), s.n)).collect();
    assert_eq!(
        found,
        [(2020, "a", 20), (2020, "b", 20), (2021, "a", 20), (2021, "b", 20)]
    );
    // The model's dates are not looked at.
    assert_eq!(shops.find(|s| s.made.exists()).await.unwrap(), []);
    let one = merge().on(|s| s.n).await;
    assert_eq!(one.unwrap_err().code(), Some(51183));
    let twice = merge().on(|s| s.shop).await;
    assert_eq!(twice.unwrap_err().code(), Some(31465));
}

async fn results_take_the_place_of_a_collection(db: &Db) {
    let sales = sales(db).await;
    let all = db.collection::<Total>();
    let out = sold!(sales).into::<Total>().out(&all);
    out.await.unwrap();
    assert_eq!(totals(db).await, [total(2020, 6, None), total(2021, 4, None)]);
    // Its indexes stay, and it too if the results do not fit them.
    let shops = db.collection::<Shop>();
    shops.sync_indexes().await.unwrap();
    let same = sales.aggregate().into::<Shop>();
    same.out(&shops).await.unwrap();
    assert_eq!(shops.list_indexes().await.unwrap().len(), 2);
    let error = sales
        .aggregate()
        .set(|s| s.shop.of("c") & s.year.of(1))
        .into::<Shop>()
        .out(&shops)
        .await
        .unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    assert_eq!(shops.raw().find(doc! {}).await.unwrap().len(), 4);
    // Into itself.
    sales
        .aggregate()
        .filter(|s| s.id.gt(2))
        .out(&sales)
        .await
        .unwrap();
    assert_eq!(sales.find_all().await.unwrap().len(), 2);
}

async fn other_databases_and_names_are_written_to(db: &Db) {
    let sales = sales(db).await;
    let other = db.database(&format!("{}_other", db.name())).unwrap();
    sold!(sales)
        .merge_into(&other.collection::<Total>())
        .await
        .unwrap();
    sold!(sales)
        .into::<Total>()
        .out(&other.collection_named("kept"))
        .await
        .unwrap();
    assert_eq!(totals(&other).await.len(), 2);
    assert_eq!(
        other
            .collection_named::<Total>("kept")
            .find_all()
            .await
            .unwrap()
            .len(),
        2
    );
    other.drop_database().await.unwrap();
    let hostile = db.collection_named::<Total>("system.totals");
    let error = sold!(sales).merge_into(&hostile).await.unwrap_err();
    assert_eq!(error.code(), Some(31319), "{error}");
    sold!(sales)
        .into::<Total>()
        .out(&db.collection_named("a$b"))
        .await
        .unwrap_err();
    sold!(sales)
        .into::<Total>()
        .out(&db.collection_named(""))
        .await
        .unwrap_err();
}

async fn what_cannot_be_written_is_a_typed_error(db: &Db) {
    let sales = sales(db).await;
    let all = db.collection::<Total>();
    all.raw()
        .update_many(doc! {}, doc! { "$set": { "sold": "many" } })
        .await
        .unwrap();
    let merge = sold!(sales)
        .merge_into(&all)
        .update(|total, new| total.sold.of((total.sold.value() + &new.sold).to_i64()));
    let error: Error = merge.await.unwrap_err();
    assert_eq!(error.code(), Some(16554), "{error}");
    // What goes wrong in the pipeline is said as of any.
    let shifted = sales.aggregate().limit(0).merge_into(&db.collection::<Sale>());
    assert_eq!(shifted.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

async fn connections_and_transactions_are_kept_apart(db: &Db) {
    let sales = sales(db).await;
    let stranger = Db::open("memory:").await.unwrap();
    let error = sold!(sales)
        .merge_into(&stranger.collection::<Total>())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let tx = db.begin().await.unwrap();
    let error = sold!(sales)
        .merge_into(&tx.collection::<Total>())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let inside = tx.collection::<Sale>();
    let error = sold!(inside)
        .merge_into(&tx.collection::<Total>())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(263), "{error}");
    drop(tx);
    assert_eq!(totals(db).await, [total(2020, 100, Some("old"))]);
}

async fn handles_of_one_connection_write_for_each_other(db: &Db) {
    sales(db).await;
    let near = db.with_read_preference(ReadPreference::PrimaryPreferred).unwrap();
    let near = near.with_write_concern(WriteConcern::majority()).unwrap();
    let (watched, _) = near.logged();
    let sales = watched.collection::<Sale>();
    sold!(sales).merge_into(&db.collection::<Total>()).await.unwrap();
    let after = totals(db).await;
    assert!(after.len() > 1, "{after:?}");
    sold!(sales)
        .into::<Total>()
        .out(&near.collection::<Total>())
        .await
        .unwrap();
}

async fn writes_are_explained_and_not_made(db: &Db) {
    let sales = sales(db).await;
    let before = totals(db).await;
    sold!(sales)
        .merge_into(&db.collection::<Total>())
        .explain()
        .await
        .unwrap();
    sold!(sales)
        .into::<Total>()
        .out(&db.collection::<Total>())
        .explain()
        .await
        .unwrap();
    assert_eq!(totals(db).await, before);
}

async fn nothing_is_written_of_nothing(db: &Db) {
    let sales = sales(db).await;
    let none = || sales.aggregate().filter(|s| s.id.gt(100));
    none()
        .into::<Total>()
        .merge_into(&db.collection::<Total>())
        .await
        .unwrap();
    assert_eq!(totals(db).await.len(), 1);
    none()
        .into::<Total>()
        .out(&db.collection::<Total>())
        .await
        .unwrap();
    assert_eq!(totals(db).await, []);
    let missing = db.collection_named::<Sale>("missing");
    missing.aggregate().out(&sales).await.unwrap();
    assert_eq!(sales.find_all().await.unwrap(), []);
}
