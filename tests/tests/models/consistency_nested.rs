//! References inside of embedded documents: their inverses, what deletions do to them, and their repair.

use std::collections::BTreeMap;

use bson::{Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Embedded, ErrorKind, Model, Ref, RelationKind};
use serde::{Deserialize, Serialize};

use odm_tests::plain::Plain;

crate::on_every_backend! {
    declared_inverses_reach_into_embedded_documents,
    an_inverse_through_a_map_takes_what_others_take,
    paths_of_maps_stand_in_declarations_alone,
    each_rule_reaches_into_embedded_documents,
    what_denies_or_goes_with_it_is_found_in_maps,
    dangling_references_inside_are_repaired,
    a_crash_at_any_write_leaves_what_a_second_try_finishes,
    wrong_declarations_are_found_at_the_first_use,
    models_show_what_is_declared,
    softly_deleted_children_of_a_parent_that_goes_for_ever,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "goods", referred_by(Basket, Receipt, Contract))]
struct Good {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Item {
    #[serde(rename = "goodId")]
    good: Ref<Good>,
    count: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Gift {
    good: Option<Ref<Good>>,
    note: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Room {
    gifts: Vec<Gift>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Marks {
    seen: Vec<Ref<Good>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "baskets",
    index(keys(items.any().good)),
    reference(items.any().good: Ref<Good>, inverse = by_item, on_delete = pull),
    reference(gift.good: Option<Ref<Good>>, inverse(one = of_gift), on_delete = nullify),
    reference(shelves.any_value().good: Ref<Good>, inverse = by_shelf, on_delete = pull),
    reference(rooms.any_value().gifts.any().good: Option<Ref<Good>>, inverse = by_room, on_delete = nullify),
    reference(marks.seen: Vec<Ref<Good>>, on_delete = pull),
    reference(named.any_value(): Ref<Good>, on_delete = pull)
)]
struct Basket {
    #[serde(rename = "_id")]
    id: i32,
    items: Vec<Item>,
    gift: Option<Gift>,
    shelves: BTreeMap<String, Item>,
    rooms: BTreeMap<String, Room>,
    marks: Marks,
    named: BTreeMap<String, Ref<Good>>,
    #[odm(updated)]
    updated: DateTime,
}

/// Goes with its goods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "receipts", reference(lines.any_value().good: Ref<Good>, on_delete = cascade))]
struct Receipt {
    #[serde(rename = "_id")]
    id: i32,
    lines: BTreeMap<String, Item>,
}

/// Keeps its goods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "contracts",
    reference(parts.any_value().good: Ref<Good>, on_delete = deny),
    reference(main.good: Ref<Good>, on_delete = deny)
)]
struct Contract {
    #[serde(rename = "_id")]
    id: i32,
    parts: BTreeMap<String, Item>,
    main: Option<Item>,
}

fn item(good: i32) -> Item {
    Item {
        good: Ref::new(good),
        count: good * 10,
    }
}

fn gift(good: Option<i32>) -> Gift {
    Gift {
        good: good.map(Ref::new),
        note: "n".to_owned(),
    }
}

fn basket(id: i32, goods: &[i32]) -> Basket {
    let named = |good: &i32| (format!("g{good}"), *good);
    let all = || goods.iter().map(named);
    Basket {
        id,
        items: goods.iter().copied().map(item).collect(),
        gift: goods.first().map(|good| gift(Some(*good))),
        shelves: all().map(|(name, good)| (name, item(good))).collect(),
        rooms: BTreeMap::from([(
            "hall".to_owned(),
            Room {
                gifts: goods.iter().map(|good| gift(Some(*good))).collect(),
            },
        )]),
        marks: Marks {
            seen: goods.iter().copied().map(Ref::new).collect(),
        },
        named: all().map(|(name, good)| (name, Ref::new(good))).collect(),
        updated: DateTime::from_millis(0),
    }
}

async fn market(db: &Db) {
    let goods = db.collection::<Good>();
    goods.insert_many([1, 2, 3].map(|id| Good { id })).await.unwrap();
    let baskets = [basket(1, &[1, 2, 1]), basket(2, &[2]), basket(3, &[])];
    let insert = db.collection::<Basket>().insert_many(baskets);
    insert.without_timestamps().await.unwrap();
    let receipt = |id, goods: &[i32]| Receipt {
        id,
        lines: goods
            .iter()
            .map(|good| (format!("l{good}"), item(*good)))
            .collect(),
    };
    let receipts = [receipt(1, &[1, 3]), receipt(2, &[2])];
    db.collection::<Receipt>().insert_many(receipts).await.unwrap();
}

/// The baskets without their dates.
async fn baskets(db: &Db) -> Vec<Basket> {
    let mut all = db
        .collection::<Basket>()
        .find_all()
        .sort(|b| b.id.asc())
        .await
        .unwrap();
    for basket in &mut all {
        basket.updated = DateTime::from_millis(0);
    }
    all
}

async fn ids(db: &Db, collection: &str) -> Vec<Bson> {
    let all = db
        .raw_collection(collection)
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 });
    let all = all.await.unwrap().into_iter();
    all.map(|document| document.get("_id").unwrap().clone()).collect()
}

/// Without good 1.
async fn assert_without_good_1(db: &Db) {
    let mut first = basket(1, &[2]);
    first.gift = Some(gift(None));
    first.rooms.get_mut("hall").unwrap().gifts = vec![gift(None), gift(Some(2)), gift(None)];
    assert_eq!(baskets(db).await, [first, basket(2, &[2]), basket(3, &[])]);
    assert_eq!(ids(db, "receipts").await, [Bson::Int32(2)]);
    assert_eq!(ids(db, "goods").await, [2, 3].map(Bson::Int32));
}

async fn declared_inverses_reach_into_embedded_documents(db: &Db) {
    market(db).await;
    let (logged, log) = db.logged();
    let goods = logged.collection::<Good>();
    let found = goods
        .find_all()
        .sort(|g| g.id.asc())
        .with(Basket::by_item().sort(|b| b.id.desc()))
        .with(Basket::of_gift())
        .with(Basket::by_shelf().sort(|b| b.id.asc()))
        .with(Basket::by_room().sort(|b| b.id.asc()))
        .with(Basket::by_shelf().count());
    let found = found.await.unwrap();
    assert_eq!(log.round_trips(), 6);
    let ids = |baskets: &[Basket]| baskets.iter().map(|basket| basket.id).collect::<Vec<_>>();
    let seen: Vec<_> = found
        .iter()
        .map(|(good, items, of_gift, shelves, rooms, count)| {
            let of_gift = of_gift.as_ref().map(|basket| basket.id);
            (good.id, ids(items), of_gift, ids(shelves), ids(rooms), *count)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, vec![1], Some(1), vec![1], vec![1], 1),
            (2, vec![2, 1], Some(2), vec![1, 2], vec![1, 2], 2),
            (3, vec![], None, vec![], vec![], 0),
        ]
    );
}

async fn an_inverse_through_a_map_takes_what_others_take(db: &Db) {
    market(db).await;
    let more = (10..15).map(|id| basket(id, &[2, 3]));
    db.collection::<Basket>().insert_many(more).await.unwrap();
    let goods = db.collection::<Good>();
    let some = Basket::by_shelf()
        .filter(|b| b.id.gt(1))
        .sort(|b| b.id.desc())
        .skip(1)
        .limit(2);
    let found = goods
        .find_all()
        .sort(|g| g.id.asc())
        .with(some.clone())
        .await
        .unwrap();
    let seen: Vec<Vec<i32>> = found
        .iter()
        .map(|(_, baskets)| baskets.iter().map(|basket| basket.id).collect())
        .collect();
    assert_eq!(seen, [vec![], vec![13, 12], vec![13, 12]]);
    let (_, one) = goods.find(|g| g.id.eq(3)).with(some).await.unwrap().remove(0);
    assert_eq!(one.iter().map(|basket| basket.id).collect::<Vec<_>>(), [13, 12]);
    // What is loaded with each of them is loaded once for all.
    let nested = Basket::by_room()
        .load(|b| b.items.every(|i| i.good))
        .limit(1)
        .sort(|b| b.id.asc());
    let (_, one) = goods.find(|g| g.id.eq(1)).with(nested).await.unwrap().remove(0);
    let (_, items) = &one[0];
    assert_eq!(items, &[1, 2, 1].map(|id| Some(Good { id })));
    let error = goods.find_all().join_with(Basket::by_shelf()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn paths_of_maps_stand_in_declarations_alone(db: &Db) {
    market(db).await;
    let baskets = db.collection::<Basket>();
    let error = baskets
        .find(|b| b.shelves.any_value().count.eq(10))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let update = baskets.update_many(|b| b.id.gt(0), |b| b.shelves.any_value().count.set(1));
    assert_eq!(update.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let sorted = baskets
        .find_all()
        .sort(|b| b.shelves.any_value().count.asc())
        .await;
    assert_eq!(sorted.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let error = baskets
        .find_all()
        .load(|b| b.shelves.any_value().good)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

async fn each_rule_reaches_into_embedded_documents(db: &Db) {
    for base in [db.clone(), Plain::db(db)] {
        market(&base).await;
        let before = base.now();
        let (logged, log) = base.logged();
        assert_eq!(logged.collection::<Good>().delete(1).await.unwrap().deleted, 1);
        let trips = log.round_trips();
        assert_without_good_1(&base).await;
        let first = base.collection::<Basket>().get(1).required().await.unwrap();
        assert!(first.updated >= before, "a rule is a write like any other");
        let second = base.collection::<Basket>().get(2).required().await.unwrap();
        assert_eq!(second.updated, DateTime::from_millis(0));
        base.drop().await.unwrap();
        // As many round trips for many.
        market(&base).await;
        let more = (10..60).map(|id| basket(id, &[1, 3]));
        base.collection::<Basket>().insert_many(more).await.unwrap();
        let (logged, log) = base.logged();
        logged.collection::<Good>().delete(1).await.unwrap();
        assert_eq!(log.round_trips(), trips);
        assert_eq!(baskets(&base).await[5].items, [item(3)]);
        base.drop().await.unwrap();
    }
}

async fn what_denies_or_goes_with_it_is_found_in_maps(db: &Db) {
    market(db).await;
    let contract = Contract {
        id: 1,
        parts: BTreeMap::from([("p".to_owned(), item(1))]),
        main: Some(item(2)),
    };
    let contracts = db.collection::<Contract>();
    contracts.insert(&contract).await.unwrap();
    let before = baskets(db).await;
    for (good, field) in [(1, "parts.*.goodId"), (2, "main.goodId")] {
        let error = db.collection::<Good>().delete(good).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Referenced);
        let referring = error.referring().unwrap();
        assert_eq!(
            (referring.model, referring.field, referring.count),
            ("Contract", field, 1)
        );
    }
    assert_eq!(baskets(db).await, before);
    contracts.delete(1).await.unwrap();
    db.collection::<Good>().delete(3).await.unwrap();
    assert_eq!(ids(db, "receipts").await, [Bson::Int32(2)]);
}

async fn dangling_references_inside_are_repaired(db: &Db) {
    market(db).await;
    let raw = db.raw_collection("goods");
    raw.delete_one(doc! { "_id": 1 }).await.unwrap();
    let problems = db.collection::<Basket>().verify_relations().await.unwrap();
    let mut fields: Vec<_> = problems.iter().map(|problem| problem.field).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "gift.good",
            "items.goodId",
            "marks.seen",
            "named.*",
            "rooms.*.gifts.good",
            "shelves.*.goodId"
        ]
    );
    assert!(
        problems
            .iter()
            .all(|problem| (&problem.id, &problem.key) == (&Bson::Int32(1), &Bson::Int32(1)))
    );
    let report = db.verify_relations::<Basket>().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (7, 0));
    assert_without_good_1(db).await;
    assert!(db.verify_relations::<Basket>().await.unwrap().is_empty());
}

async fn a_crash_at_any_write_leaves_what_a_second_try_finishes(db: &Db) {
    for (with_transactions, base) in [(true, db.clone()), (false, Plain::db(db))] {
        let mut crashes = 0;
        loop {
            market(&base).await;
            let before = baskets(&base).await;
            let (faulty, faults) = base.faulty();
            faults.add(Fault::nth_write(crashes + 1).crash());
            let outcome = faulty.collection::<Good>().delete(1).await;
            if outcome.is_ok() {
                assert_without_good_1(&base).await;
                break;
            }
            assert_eq!(
                ids(&base, "goods").await.len(),
                3,
                "what is referred to goes last"
            );
            if with_transactions {
                assert_eq!(baskets(&base).await, before);
            }
            base.collection::<Good>().delete(1).await.unwrap();
            assert_without_good_1(&base).await;
            base.drop().await.unwrap();
            // The repair of what a crash of a repair left is the same repair.
            market(&base).await;
            base.raw_collection("goods")
                .delete_one(doc! { "_id": 1 })
                .await
                .unwrap();
            let (faulty, faults) = base.faulty();
            faults.add(Fault::nth_write(crashes + 1).crash());
            let _ = faulty.verify_relations::<Basket>().repair().await;
            base.verify_relations::<Basket>().repair().await.unwrap();
            assert_without_good_1(&base).await;
            base.drop().await.unwrap();
            crashes += 1;
        }
        // Two fields to nullify, four to pull from, the receipts, the good; and the commit.
        assert_eq!(crashes, 8 + u64::from(with_transactions));
        base.drop().await.unwrap();
    }
}

/// Keeps its items as a plain value.
#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "packs", reference(items.any().good: Ref<Good>, inverse = by_pack))]
struct Pack {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(opaque)]
    items: Vec<Item>,
    content: Option<Item>,
}

async fn wrong_declarations_are_found_at_the_first_use(db: &Db) {
    let error = db.collection::<Pack>().find_all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert_eq!(
        (error.model(), error.path()),
        (Some("Pack"), Some("items.goodId"))
    );
}

async fn models_show_what_is_declared(_db: &Db) {
    let relations: Vec<_> = Basket::DESCRIPTOR
        .relations()
        .map(|relation| {
            let inverse = relation.relation.inverse.map(|inverse| inverse.name);
            (relation.stored, relation.relation.kind, inverse)
        })
        .collect();
    assert_eq!(
        relations,
        [
            ("items.goodId", RelationKind::Many, Some("by_item")),
            ("gift.good", RelationKind::One, Some("of_gift")),
            ("shelves.*.goodId", RelationKind::Map, Some("by_shelf")),
            ("rooms.*.gifts.good", RelationKind::Map, Some("by_room")),
            ("marks.seen", RelationKind::Many, None),
            ("named.*", RelationKind::Map, None),
        ]
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "vendors", referred_by(Stall))]
struct Vendor {
    #[serde(rename = "_id")]
    id: i32,
}

/// Deleted softly, though its vendor is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "stalls")]
struct Stall {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    vendor: Ref<Vendor>,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

async fn softly_deleted_children_of_a_parent_that_goes_for_ever(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(7));
    let (vendors, stalls) = (db.collection::<Vendor>(), db.collection::<Stall>());
    vendors.insert_many([1, 2].map(|id| Vendor { id })).await.unwrap();
    let stall = |id, vendor, deleted: Option<i64>| Stall {
        id,
        vendor: Ref::new(vendor),
        deleted: deleted.map(DateTime::from_millis),
    };
    let all = [stall(1, 1, None), stall(2, 1, Some(3)), stall(3, 2, None)];
    stalls.insert_many(all).await.unwrap();
    assert_eq!(vendors.delete(1).await.unwrap().deleted, 1);
    // The child that lived is deleted now; the one that was deleted keeps its date.
    let left = stalls
        .find_all()
        .with_deleted()
        .sort(|s| s.id.asc())
        .await
        .unwrap();
    assert_eq!(
        left,
        [stall(1, 1, Some(7)), stall(2, 1, Some(3)), stall(3, 2, None)]
    );
    assert!(db.verify_relations::<Stall>().await.unwrap().is_empty());
    // For ever is for all of them.
    vendors.insert(Vendor { id: 1 }).await.unwrap();
    assert_eq!(vendors.delete(1).for_ever().await.unwrap().deleted, 1);
    let left = stalls.find_all().with_deleted().await.unwrap();
    assert_eq!(left, [stall(3, 2, None)]);
}
