//! Constants of typed pipelines, and fields that would get two values.

use odm::bson::{Bson, doc};
use odm::expr::{count, literal, sum};
use odm::{Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    constants_of_buckets_are_constants,
    the_stage_of_buckets_reads_its_constants_once_more,
    a_field_is_given_one_value,
    numbers_of_null_get_a_default,
}

#[derive(Debug, Clone, Serialize, Deserialize, Model)]
#[odm(collection = "prices")]
struct Price {
    #[serde(rename = "_id")]
    id: i32,
    symbol: String,
    a: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Embedded)]
enum Kind {
    #[serde(rename = "$odd")]
    Odd,
    #[serde(rename = "even")]
    Even,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Bucketed {
    #[serde(rename = "_id")]
    key: Bson,
    n: i32,
    ids: i64,
}

async fn prices(db: &Db) {
    let price = |id, symbol: &str, kind| Price {
        id,
        symbol: symbol.into(),
        a: "z".into(),
        kind,
    };
    let all = [
        price(1, "$b", Kind::Odd),
        price(2, "euro", Kind::Even),
        price(4, "zloty", Kind::Odd),
    ];
    db.collection::<Price>().insert_many(all).await.unwrap();
}

async fn constants_of_buckets_are_constants(db: &Db) {
    prices(db).await;
    let prices = db.collection::<Price>();
    let found = |buckets: odm::Result<Vec<Bucketed>>| -> Vec<(Bson, i32, i64)> {
        let buckets = buckets.unwrap().into_iter();
        buckets.map(|b| (b.key, b.n, b.ids)).collect()
    };
    let of = |key: &str, n, ids| (Bson::from(key), n, ids);
    macro_rules! run {
        ($buckets:expr) => {
            $buckets
                .output::<Bucketed>(|p, b| b.n.is(count()) & b.ids.is(sum(&p.id)))
                .await
        };
    }
    let of_symbols = |boundaries: Vec<&'static str>| prices.aggregate().bucket(|p| p.symbol, boundaries);
    let buckets = run!(of_symbols(vec!["$a", "m"]).otherwise("rest"));
    assert_eq!(found(buckets), [of("$a", 2, 3), of("rest", 1, 4)]);
    let buckets = run!(of_symbols(vec!["a", "m"]).otherwise("$a"));
    assert_eq!(found(buckets), [of("$a", 2, 5), of("a", 1, 2)]);
    let buckets = run!(of_symbols(vec!["a", "m"]).otherwise(doc! { "$add": [1, 2] }));
    let added = (Bson::from(doc! { "$add": [1, 2] }), 2, 5);
    assert_eq!(found(buckets), [of("a", 1, 2), added]);
    let buckets = run!(of_symbols(vec!["$$ROOT", "$z", "n"]).otherwise("zz"));
    assert_eq!(
        found(buckets),
        [of("$$ROOT", 1, 1), of("$z", 1, 2), of("zz", 1, 4)]
    );
    let buckets = prices.aggregate().bucket(|p| p.kind, [Kind::Odd, Kind::Even]);
    let buckets = run!(buckets.otherwise(1));
    assert_eq!(found(buckets), [(Bson::from(1), 1, 2), of("$odd", 2, 5)]);
    // What the stage refuses is refused.
    let refused = run!(of_symbols(vec!["$a"]));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    for (boundaries, other) in [(["m", "$a"], "zz"), (["$a", "$a"], "zz"), (["$a", "m"], "b")] {
        let refused = run!(of_symbols(boundaries.to_vec()).otherwise(other));
        let error = refused.unwrap_err();
        assert!(
            error.message().contains("the boundaries of buckets ascend"),
            "{error}"
        );
    }
    run!(of_symbols(vec!["$a", "m"])).unwrap_err();
}

async fn the_stage_of_buckets_reads_its_constants_once_more(db: &Db) {
    prices(db).await;
    let raw = db.raw_collection("prices");
    let run = async |boundary: Bson, other: Bson| {
        let bucket = doc! { "groupBy": "$symbol", "boundaries": [boundary, "m"], "default": other };
        raw.aggregate_raw([doc! { "$bucket": bucket }]).await
    };
    let text = |text: &str| Bson::from(doc! { "$literal": text });
    let found = run(text("$a"), "rest".into()).await.unwrap();
    assert_eq!(found, [doc! { "_id": "rest", "count": 3 }]);
    let found = run("a".into(), text("$symbol")).await.unwrap();
    let keys: Vec<&str> = found.iter().map(|found| found.get_str("_id").unwrap()).collect();
    assert_eq!(keys, ["$b", "a", "zloty"]);
    let twice = doc! { "$literal": { "$literal": "$a" } };
    let found = run("a".into(), twice.into()).await.unwrap();
    assert_eq!(
        found,
        [doc! { "_id": "$a", "count": 2 }, doc! { "_id": "a", "count": 1 }]
    );
    let undefined = run("a".into(), text("$$x")).await;
    assert_eq!(undefined.unwrap_err().code(), Some(17276));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "rich")]
struct Rich {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    gold: i64,
    seat: Seat,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Seat {
    city: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Tally {
    #[serde(rename = "_id")]
    key: Pair,
    n: i64,
    all: Vec<Rich>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Pair {
    a: String,
    b: i64,
}

async fn a_field_is_given_one_value(db: &Db) {
    let all = || db.collection::<Rich>().aggregate();
    let check = |error: Error, stage: &str, path: &str| {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(stage), "{error}");
        assert_eq!(error.path(), Some(path), "{error}");
    };
    let of = literal::<Rich, i64>;
    let twice = all().project::<Rich>(|_, l| l.gold.of(of(1)) & l.id.of(1) & l.gold.of(of(2)));
    check(twice.await.unwrap_err(), "`$project`", "gold");
    let twice = all().set(|r| r.gold.of(of(1)) & r.gold.of(of(2)));
    check(twice.await.unwrap_err(), "`$set`", "gold");
    let part = all().set(|r| r.seat.city.of(&r.name) & r.name.of("x") & r.seat.clone().of(r.seat.value()));
    check(part.await.unwrap_err(), "`$set`", "seat.city");
    let twice = all().group::<Tally>(|r, t| t.key.a.by(&r.name) & t.n.is(count()) & t.n.is(sum(&r.gold)));
    check(twice.await.unwrap_err(), "`$group`", "n");
    let keys = all().group::<Tally>(|r, t| t.key.a.by(&r.name) & t.key.b.by(&r.gold) & t.key.a.by("x"));
    check(keys.await.unwrap_err(), "`$group`", "_id.a");
    let buckets = all().bucket(|r| r.gold, [1, 2]);
    let twice = buckets.output::<Tally>(|r, t| t.n.is(count()) & t.n.is(sum(&r.gold)));
    check(twice.await.unwrap_err(), "`$bucket`", "n");
    let twice = all().facet::<Tally>(|d, t| t.all.results(d.stages()) & t.all.results(d.stages().limit(1)));
    check(twice.await.unwrap_err(), "`$facet`", "all");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    part: Option<i32>,
    whole: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Share {
    #[serde(rename = "_id")]
    id: i32,
    share: f64,
    unknown: bool,
}

async fn numbers_of_null_get_a_default(db: &Db) {
    let parts = db.collection::<Part>();
    let part = |id, part| Part { id, part, whole: 4 };
    parts
        .insert_many([part(1, None), part(2, Some(2))])
        .await
        .unwrap();
    let shares = parts.aggregate().sort(|p| p.id.asc()).project::<Share>(|p, out| {
        out.id.of(&p.id)
            & out.share.of((p.part.value() / &p.whole).if_null(-1.0))
            & out.unknown.of((p.part.value() * 2).is_null())
    });
    let share = |id, share, unknown| Share { id, share, unknown };
    assert_eq!(
        shares.await.unwrap(),
        [share(1, -1.0, true), share(2, 0.5, false)]
    );
}
