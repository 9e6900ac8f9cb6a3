//! Tracked documents that several change: what is kept of whose changes.

use std::collections::{BTreeMap, BTreeSet};

use bson::{Bson, doc};
use odm::{Collection, Db, Embedded, Error, ErrorKind, Model, Tracked};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_part_of_what_is_gone_does_not_come_back,
    a_part_of_a_variant_stays_in_its_variant,
    a_part_of_what_is_null_or_another_kind_is_a_conflict,
    maps_of_which_others_change_keys_keep_both,
    undisturbed_saves_are_one_round_trip,
    what_was_stored_before_a_field_was_is_no_conflict,
    decimals_are_added_exactly,
    doubles_end_where_they_were_set,
    what_was_not_stored_is_added_to,
    what_is_not_stored_any_more_is_taken_off,
    sums_keep_to_the_range_of_their_type,
    changed_lists_keep_what_others_push,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum Contact {
    Phone { number: i32 },
    Mail { address: String, checked: bool },
    Site(String),
    Nobody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "way")]
enum Delivery {
    Post { stamps: i32 },
    Courier { stamps: String },
    Pickup,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Place {
    city: String,
    zip: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    doors: BTreeMap<String, i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ship_to: Option<Place>,
    bill_to: Option<Place>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    carts: BTreeMap<String, Place>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    counts: BTreeMap<String, i32>,
    contact: Contact,
    #[serde(flatten)]
    delivery: Delivery,
    free: Bson,
}

impl Place {
    fn new(city: &str) -> Place {
        Place {
            city: city.to_owned(),
            zip: "1".to_owned(),
            doors: BTreeMap::new(),
        }
    }
}

impl Order {
    fn new() -> Order {
        Order {
            id: 1,
            ship_to: Some(Place::new("a")),
            bill_to: Some(Place::new("a")),
            carts: BTreeMap::from([
                ("k".to_owned(), Place::new("a")),
                ("d.t".to_owned(), Place::new("a")),
            ]),
            counts: BTreeMap::from([("a".to_owned(), 1)]),
            contact: Contact::Mail {
                address: "a".to_owned(),
                checked: false,
            },
            delivery: Delivery::Post { stamps: 1 },
            free: Bson::Document(doc! {"a": {"b": 1}}),
        }
    }
}

/// Two load the same document, and both change and save it: what comes of the second, and of the document.
async fn race<M: Model + Clone>(
    documents: &Collection<M>,
    document: M,
    first: impl FnOnce(&mut M),
    second: impl FnOnce(&mut M),
) -> (Result<(), Error>, M)
where
    M::Key: From<i32>,
{
    documents.raw().delete_many(doc! {}).await.unwrap();
    documents.insert(&document).await.unwrap();
    let mut one = loaded(documents).await;
    let mut two = loaded(documents).await;
    first(&mut one);
    second(&mut two);
    one.save(documents).await.unwrap();
    let saved = two.save(documents).await.map(drop);
    let stored = documents.find_all().first().required().await.unwrap();
    (saved, stored)
}

async fn loaded<M: Model>(documents: &Collection<M>) -> Tracked<M> {
    documents.find_all().first().tracked().required().await.unwrap()
}

#[track_caller]
fn conflicts(saved: Result<(), Error>, path: &str) {
    let error = saved.unwrap_err();
    assert_eq!(
        (error.kind(), error.path(), error.id(), error.model().is_some()),
        (ErrorKind::Conflict, Some(path), Some(&Bson::Int32(1)), true),
        "{error}"
    );
}

async fn a_part_of_what_is_gone_does_not_come_back(db: &Db) {
    let orders = db.collection::<Order>();
    let city = |order: &mut Order| order.ship_to.as_mut().unwrap().city = "b".to_owned();
    let (saved, stored) = race(&orders, Order::new(), |o| o.ship_to = None, city).await;
    assert_eq!(
        saved.as_ref().unwrap_err().current::<Order>().unwrap(),
        Some(stored.clone())
    );
    conflicts(saved, "ship_to");
    assert_eq!(stored.ship_to, None);
    // The other way around what is gone is gone.
    let (saved, stored) = race(&orders, Order::new(), city, |o| o.ship_to = None).await;
    saved.unwrap();
    assert_eq!(stored.ship_to, None);
    // Taken out and put there again by others, it can be changed.
    let (saved, stored) = race(
        &orders,
        Order::new(),
        |o| o.ship_to = Some(Place::new("c")),
        |o| {
            o.ship_to.as_mut().unwrap().zip = "2".to_owned();
        },
    )
    .await;
    saved.unwrap();
    assert_eq!(stored.ship_to.unwrap().city, "c");
    for key in ["k", "d.t"] {
        let remove = |o: &mut Order| {
            o.carts.remove(key);
        };
        let change = |o: &mut Order| o.carts.get_mut(key).unwrap().city = "b".to_owned();
        let (saved, stored) = race(&orders, Order::new(), remove, change).await;
        conflicts(saved, if key == "k" { "carts.k" } else { "carts" });
        assert_eq!(stored.carts.len(), 1);
        let clear = |o: &mut Order| o.carts.clear();
        let (saved, stored) = race(&orders, Order::new(), clear, change).await;
        conflicts(saved, if key == "k" { "carts.k" } else { "carts" });
        assert!(stored.carts.is_empty());
    }
    // A map inside of what is gone does not bring it back either.
    let door = |o: &mut Order| {
        o.ship_to.as_mut().unwrap().doors.insert("a".to_owned(), 1);
    };
    let (saved, _) = race(&orders, Order::new(), |o| o.ship_to = None, door).await;
    conflicts(saved, "ship_to");
}

async fn a_part_of_a_variant_stays_in_its_variant(db: &Db) {
    let orders = db.collection::<Order>();
    let mail = |address: &str, checked| Contact::Mail {
        address: address.to_owned(),
        checked,
    };
    let phone = |o: &mut Order| o.contact = Contact::Phone { number: 1 };
    for other in [
        Contact::Phone { number: 1 },
        Contact::Site("s".to_owned()),
        Contact::Nobody,
    ] {
        let put = |o: &mut Order| o.contact = other.clone();
        let (saved, stored) = race(&orders, Order::new(), put, |o| o.contact = mail("b", false)).await;
        conflicts(saved, "contact.Mail");
        assert_eq!(stored.contact, other);
        // A variant is put in the place of any other.
        let (saved, stored) = race(&orders, Order::new(), |o| o.contact = mail("b", true), put).await;
        saved.unwrap();
        assert_eq!(stored.contact, other);
        let site = |o: &mut Order| o.contact = Contact::Site("t".to_owned());
        let (saved, stored) = race(&orders, Order::new(), put, site).await;
        saved.unwrap();
        assert_eq!(stored.contact, Contact::Site("t".to_owned()));
    }
    let (saved, stored) = race(
        &orders,
        Order::new(),
        |o| o.contact = mail("b", false),
        |o| o.contact = mail("a", true),
    )
    .await;
    saved.unwrap();
    assert_eq!(stored.contact, mail("b", true));
    // Of an enum that stands among the fields of its document.
    let post = |o: &mut Order| o.delivery = Delivery::Post { stamps: 2 };
    let courier = |o: &mut Order| {
        o.delivery = Delivery::Courier {
            stamps: "x".to_owned(),
        }
    };
    let (saved, stored) = race(&orders, Order::new(), courier, post).await;
    conflicts(saved, "way");
    assert!(matches!(stored.delivery, Delivery::Courier { .. }));
    let (saved, _) = race(&orders, Order::new(), |o| o.delivery = Delivery::Pickup, courier).await;
    conflicts(saved, "way");
    let (saved, _) = race(&orders, Order::new(), |o| o.delivery = Delivery::Pickup, phone).await;
    saved.unwrap();
    let (saved, stored) = race(&orders, Order::new(), post, courier).await;
    saved.unwrap();
    assert!(matches!(stored.delivery, Delivery::Courier { .. }));
}

async fn a_part_of_what_is_null_or_another_kind_is_a_conflict(db: &Db) {
    let orders = db.collection::<Order>();
    let city = |order: &mut Order| order.bill_to.as_mut().unwrap().city = "b".to_owned();
    let (saved, stored) = race(&orders, Order::new(), |o| o.bill_to = None, city).await;
    conflicts(saved, "bill_to");
    assert_eq!(stored.bill_to, None);
    for other in [
        Bson::Null,
        Bson::Int32(1),
        Bson::Array(vec![Bson::Document(doc! {"a": 1})]),
    ] {
        let put = |o: &mut Order| o.free = other.clone();
        let part = |o: &mut Order| o.free = Bson::Document(doc! {"a": {"b": 2}});
        let (saved, stored) = race(&orders, Order::new(), put, part).await;
        conflicts(saved, "free.a");
        assert_eq!(stored.free, other);
    }
}

async fn maps_of_which_others_change_keys_keep_both(db: &Db) {
    let orders = db.collection::<Order>();
    let put = |key: &'static str, count| {
        move |o: &mut Order| {
            o.counts.insert(key.to_owned(), count);
        }
    };
    let map = |entries: &[(&str, i32)]| -> BTreeMap<String, i32> {
        entries
            .iter()
            .map(|(key, count)| ((*key).to_owned(), *count))
            .collect()
    };
    let mut bare = Order::new();
    bare.counts.clear();
    let (saved, stored) = race(&orders, bare, put("a", 1), put("b", 2)).await;
    saved.unwrap();
    assert_eq!(stored.counts, map(&[("a", 1), ("b", 2)]));
    let (saved, stored) = race(&orders, Order::new(), put("b", 2), |o| o.counts.clear()).await;
    saved.unwrap();
    assert_eq!(stored.counts, map(&[("b", 2)]));
    let (saved, stored) = race(&orders, Order::new(), |o| o.counts.clear(), put("b", 2)).await;
    saved.unwrap();
    assert_eq!(stored.counts, map(&[("b", 2)]));
    let clear = |o: &mut Order| o.counts.clear();
    let (saved, stored) = race(&orders, Order::new(), clear, clear).await;
    saved.unwrap();
    assert!(stored.counts.is_empty());
    let raw = orders.raw().find_one(doc! {}).await.unwrap().unwrap();
    assert!(!raw.contains_key("counts"), "{raw}");
}

async fn undisturbed_saves_are_one_round_trip(db: &Db) {
    let (db, log) = db.logged();
    let orders = db.collection::<Order>();
    orders.insert(Order::new()).await.unwrap();
    let mut order = loaded(&orders).await;
    let steps: [fn(&mut Order); 8] = [
        |o| o.ship_to.as_mut().unwrap().city = "b".to_owned(),
        |o| o.ship_to = None,
        |o| o.counts.clear(),
        |o| {
            o.counts.insert("x".to_owned(), 1);
        },
        |o| o.carts.get_mut("d.t").unwrap().city = "b".to_owned(),
        |o| o.contact = Contact::Phone { number: 3 },
        |o| o.contact = Contact::Phone { number: 4 },
        |o| o.delivery = Delivery::Pickup,
    ];
    for step in steps {
        step(&mut order);
        let expected = (*order).clone();
        log.take();
        assert!(order.save(&orders).await.unwrap());
        assert_eq!(log.take().len(), 1);
        assert_eq!(*order, expected);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "setups")]
struct Setup {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    colors: Colors,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Colors {
    front: Shade,
    back: Shade,
    #[serde(default, deserialize_with = "nullable")]
    names: BTreeMap<String, i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Shade {
    name: String,
    depth: i32,
}

impl Default for Colors {
    fn default() -> Colors {
        let shade = |name: &str| Shade {
            name: name.to_owned(),
            depth: 1,
        };
        Colors {
            front: shade("black"),
            back: shade("white"),
            names: BTreeMap::new(),
        }
    }
}

fn nullable<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, i32>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

async fn what_was_stored_before_a_field_was_is_no_conflict(db: &Db) {
    let setups = db.collection::<Setup>();
    let change = |s: &mut Setup| {
        s.colors.front.name = "red".to_owned();
        s.colors.back.depth = 2;
        s.colors.names.insert("a".to_owned(), 1);
    };
    let shade = doc! {"name": "black", "depth": 1, "unknown": true};
    for stored in [
        doc! {"_id": 1},
        doc! {"_id": 1, "colors": {"front": shade, "back": {"name": "white", "depth": 1}, "names": null}},
    ] {
        setups.raw().delete_many(doc! {}).await.unwrap();
        setups.raw().insert(stored).await.unwrap();
        let mut setup = loaded(&setups).await;
        let mut other = loaded(&setups).await;
        change(&mut setup);
        setup.save(&setups).await.unwrap();
        let mut expected = Setup {
            id: 1,
            colors: Colors::default(),
        };
        change(&mut expected);
        assert_eq!(*setup, expected);
        // Another who saw the same is not in the way.
        other.colors.front.depth = 7;
        other.colors.names.insert("b".to_owned(), 2);
        other.save(&setups).await.unwrap();
        expected.colors.front.depth = 7;
        expected.colors.names.insert("b".to_owned(), 2);
        assert_eq!(*other, expected);
    }
    let stored = setups.raw().find_one(doc! {}).await.unwrap().unwrap();
    let front = stored
        .get_document("colors")
        .unwrap()
        .get_document("front")
        .unwrap();
    assert!(front.get_bool("unknown").unwrap(), "{stored}");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "accounts")]
struct Account {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = increment)]
    balance: bson::Decimal128,
    #[serde(with = "odm::as_bson")]
    #[odm(save = increment)]
    limit: Decimal,
    #[odm(save = increment)]
    weight: f64,
}

fn account(balance: &str, weight: f64) -> Account {
    Account {
        id: 1,
        balance: balance.parse().unwrap(),
        limit: "10.10".parse().unwrap(),
        weight,
    }
}

async fn decimals_are_added_exactly(db: &Db) {
    let accounts = db.collection::<Account>();
    let put = |balance: &'static str, limit: &'static str| {
        move |a: &mut Account| {
            a.balance = balance.parse().unwrap();
            a.limit += limit.parse::<Decimal>().unwrap();
        }
    };
    let (saved, stored) = race(
        &accounts,
        account("10.00", 0.0),
        put("10.10", "1"),
        put("9.8", "0.02"),
    )
    .await;
    saved.unwrap();
    assert_eq!(
        (
            stored.balance.to_string().as_str(),
            stored.limit.to_string().as_str()
        ),
        ("9.90", "11.12")
    );
    let many = "12345678901234567890123456789012.34";
    let (saved, stored) = race(
        &accounts,
        account(many, 0.0),
        put("12345678901234567890123456789012.35", "0"),
        put("12345678901234567890123456789012.37", "0"),
    )
    .await;
    saved.unwrap();
    assert_eq!(stored.balance.to_string(), "12345678901234567890123456789012.38");
    // What no decimal is the difference of is set where nobody else was, and never guessed.
    let mut account = loaded(&accounts).await;
    account.balance = "1E-10".parse().unwrap();
    account.save(&accounts).await.unwrap();
    assert_eq!(account.balance.to_string(), "1E-10");
    let (saved, stored) = race(&accounts, self::account("0", 0.0), put("1", "0"), put("NaN", "0")).await;
    conflicts(saved, "balance");
    assert_eq!(stored.balance.to_string(), "1");
}

async fn doubles_end_where_they_were_set(db: &Db) {
    let accounts = db.collection::<Account>();
    for (old, new) in [
        (1e20, 1.0),
        (f64::INFINITY, 1.0),
        (0.1, 0.7),
        (1e16, 0.25),
        (1.0, f64::INFINITY),
        (f64::NAN, 1.0),
        (-0.1, f64::MIN_POSITIVE),
        (f64::MAX, f64::MIN),
    ] {
        accounts.save(account("1", old)).await.unwrap();
        let mut tracked = loaded(&accounts).await;
        assert!(!tracked.is_changed().unwrap());
        tracked.weight = new;
        assert!(tracked.save(&accounts).await.unwrap());
        assert_eq!((tracked.weight, loaded(&accounts).await.weight), (new, new));
    }
    let put = |weight| move |a: &mut Account| a.weight = weight;
    let (saved, stored) = race(&accounts, account("1", 1.0), put(1.5), put(3.0)).await;
    saved.unwrap();
    assert_eq!(stored.weight, 3.5);
    let (saved, stored) = race(&accounts, account("1", 0.1), put(0.3), put(0.7)).await;
    saved.unwrap();
    assert!((stored.weight - 0.9).abs() < 1e-9, "{}", stored.weight);
    let (saved, stored) = race(&accounts, account("1", f64::NAN), put(1.0), put(2.0)).await;
    conflicts(saved, "weight");
    assert_eq!(stored.weight, 1.0);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tallies")]
struct Tally {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = increment)]
    #[serde(default, skip_serializing_if = "is_zero")]
    hits: u32,
    #[odm(save = increment)]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    copies: i32,
    #[odm(save = increment)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<i64>,
    #[odm(save = increment)]
    score: Option<f64>,
    #[odm(save = push)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    log: Vec<i32>,
    #[odm(save = push)]
    notes: Option<Vec<i32>>,
    #[odm(save = add_to_set)]
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<i32>,
    #[odm(save = add_to_set)]
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<BTreeSet<i32>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn one() -> i32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one(number: &i32) -> bool {
    *number == 1
}

impl Tally {
    fn bare() -> Tally {
        Tally {
            id: 1,
            copies: 1,
            ..Tally::default()
        }
    }

    fn full() -> Tally {
        Tally {
            id: 1,
            hits: 5,
            copies: 5,
            rank: Some(5),
            score: Some(5.0),
            log: vec![1, 2],
            notes: Some(vec![1, 2]),
            tags: BTreeSet::from([1, 2]),
            labels: Some(BTreeSet::from([1, 2])),
        }
    }
}

async fn what_was_not_stored_is_added_to(db: &Db) {
    let (db, log) = db.logged();
    let tallies = db.collection::<Tally>();
    let add = |n: i32| {
        move |t: &mut Tally| {
            t.hits += n.unsigned_abs();
            t.rank = Some(t.rank.unwrap_or(0) + i64::from(n));
            t.score = Some(t.score.unwrap_or(0.0) + f64::from(n));
            t.log.push(n);
            t.notes.get_or_insert_default().push(n);
            t.tags.insert(n);
            t.labels.get_or_insert_default().insert(n);
        }
    };
    let (saved, stored) = race(&tallies, Tally::bare(), add(3), add(4)).await;
    saved.unwrap();
    let both = Tally {
        id: 1,
        hits: 7,
        copies: 1,
        rank: Some(7),
        score: Some(7.0),
        log: vec![3, 4],
        notes: Some(vec![3, 4]),
        tags: BTreeSet::from([3, 4]),
        labels: Some(BTreeSet::from([3, 4])),
    };
    assert_eq!(stored, both);
    // Stored by somebody who left out what is none.
    tallies.raw().delete_many(doc! {}).await.unwrap();
    tallies.raw().insert(doc! {"_id": 1}).await.unwrap();
    let mut tally = loaded(&tallies).await;
    add(3)(&mut tally);
    log.take();
    tally.save(&tallies).await.unwrap();
    assert_eq!(log.take().len(), 1);
    // A number that is one where it is not stored is known to nobody else.
    let copies = |n: i32| move |t: &mut Tally| t.copies = n;
    let (saved, stored) = race(&tallies, Tally::bare(), copies(3), copies(4)).await;
    conflicts(saved, "copies");
    assert_eq!(stored.copies, 3);
    let (saved, stored) = race(&tallies, Tally::full(), copies(1), copies(4)).await;
    conflicts(saved, "copies");
    assert_eq!(stored.copies, 1);
}

async fn what_is_not_stored_any_more_is_taken_off(db: &Db) {
    let tallies = db.collection::<Tally>();
    let clear = |t: &mut Tally| {
        t.hits = 0;
        t.log.clear();
        t.tags.clear();
    };
    let add = |t: &mut Tally| {
        t.hits += 2;
        t.log.push(3);
        t.tags.insert(3);
    };
    let left = Tally {
        hits: 2,
        log: vec![3],
        tags: BTreeSet::from([3]),
        ..Tally::full()
    };
    let (saved, stored) = race(&tallies, Tally::full(), add, clear).await;
    saved.unwrap();
    assert_eq!(stored, left);
    let (saved, stored) = race(&tallies, Tally::full(), clear, add).await;
    saved.unwrap();
    assert_eq!(stored, left);
    let (saved, _) = race(&tallies, Tally::full(), clear, clear).await;
    conflicts(saved, "hits");
    let mut tally = loaded(&tallies).await;
    (tally.hits, tally.copies) = (0, 1);
    tally.save(&tallies).await.unwrap();
    let raw = tallies.raw().find_one(doc! {}).await.unwrap().unwrap();
    assert!(!raw.contains_key("hits") && !raw.contains_key("log"), "{raw}");
    // None is no number, and no set.
    type Way = fn(&mut Tally);
    let ways: [(&str, Way, Way); 4] = [
        ("rank", |t| t.rank = None, |t| t.rank = Some(7)),
        ("score", |t| t.score = None, |t| t.score = Some(7.0)),
        ("notes", |t| t.notes = None, |t| t.notes.as_mut().unwrap().push(3)),
        (
            "labels",
            |t| t.labels = None,
            |t| {
                t.labels.as_mut().unwrap().insert(3);
            },
        ),
    ];
    for (path, none, more) in ways {
        for (first, second) in [(none, more), (more, none)] {
            let (saved, _) = race(&tallies, Tally::full(), first, second).await;
            conflicts(saved, path);
        }
        let (saved, _) = race(&tallies, Tally::full(), none, none).await;
        saved.unwrap();
    }
}

async fn sums_keep_to_the_range_of_their_type(db: &Db) {
    let tallies = db.collection::<Tally>();
    let less = |n: u32| move |t: &mut Tally| t.hits -= n;
    let (saved, stored) = race(&tallies, Tally::full(), less(3), less(3)).await;
    conflicts(saved, "hits");
    assert_eq!(stored.hits, 2);
    let (saved, stored) = race(&tallies, Tally::full(), less(2), less(2)).await;
    saved.unwrap();
    assert_eq!(stored.hits, 1);
    let copies = |by: i32| move |t: &mut Tally| t.copies += by;
    let high = Tally {
        copies: i32::MAX - 5,
        hits: u32::MAX - 5,
        ..Tally::full()
    };
    let (saved, stored) = race(&tallies, high.clone(), copies(4), copies(4)).await;
    conflicts(saved, "copies");
    assert_eq!(stored.copies, i32::MAX - 1);
    let more = |t: &mut Tally| t.hits += 4;
    let (saved, _) = race(&tallies, high, more, more).await;
    conflicts(saved, "hits");
    let wide = |to: i32| move |t: &mut Tally| t.copies = to;
    let low = Tally {
        copies: i32::MIN,
        ..Tally::full()
    };
    let (saved, stored) = race(&tallies, low, copies(7), wide(i32::MAX - 7)).await;
    saved.unwrap();
    assert_eq!(stored.copies, i32::MAX);
}

async fn changed_lists_keep_what_others_push(db: &Db) {
    let tallies = db.collection::<Tally>();
    let push = |t: &mut Tally| t.log.push(3);
    let (saved, stored) = race(&tallies, Tally::full(), push, |t| t.log[0] = 9).await;
    saved.unwrap();
    assert_eq!(stored.log, [9, 2, 3]);
    let (saved, stored) = race(&tallies, Tally::full(), |t| t.log[0] = 9, push).await;
    saved.unwrap();
    assert_eq!(stored.log, [9, 2, 3]);
    let first = |t: &mut Tally| {
        t.log.remove(0);
    };
    let (saved, stored) = race(&tallies, Tally::full(), first, |t| t.log[1] = 9).await;
    conflicts(saved, "log");
    assert_eq!(stored.log, [2]);
}
