//! Typed pipelines over other models, and by facets and buckets.

use odm::expr::count;
use odm::{Db, Embedded};
use serde::{Deserialize, Serialize};

use super::pipelines::{Press, Title, Work, work, works};

crate::on_every_backend! {
    other_models_are_joined,
    facets_and_buckets_are_typed,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Joined {
    #[serde(rename = "_id")]
    id: i32,
    presses: Vec<Press>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Named {
    #[serde(rename = "_id")]
    id: i32,
    presses: Vec<PressName>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct PressName {
    name: String,
}

async fn other_models_are_joined(db: &Db) {
    let works = works(db).await;
    let presses = db.collection::<Press>();
    let press = |id: i32| Press {
        id,
        name: format!("press {id}"),
        closed: None,
    };
    presses.insert_many((0..3).map(press)).await.unwrap();
    presses.delete_one(|p| p.id.eq(2)).await.unwrap();
    let joined = works
        .aggregate()
        .filter(|w| w.id.lt(3))
        .lookup::<Press, Joined>(|w, p, j| j.presses.joins(&w.press, &p.id))
        .sort(|j| j.id.asc())
        .await
        .unwrap();
    assert_eq!(joined[1].presses, [press(1)]);
    // What is softly deleted is not there.
    assert_eq!(joined[2].presses, []);
    let named = works
        .aggregate()
        .filter(|w| w.id.eq(1))
        .lookup_with::<Press, Named, _>(
            |w, p, n| n.presses.joins(&w.press, &p.id),
            |presses| presses.limit(1).project::<PressName>(|p, n| n.name.of(p.name)),
        )
        .await
        .unwrap();
    assert_eq!(
        named[0].presses,
        [PressName {
            name: "press 1".into()
        }]
    );
    let titles = works
        .aggregate()
        .filter(|w| w.id.eq(7))
        .project::<Title>(|w, t| t.text.of(w.full_title))
        .union_with::<Press>(|presses| presses.project::<Title>(|p, t| t.text.of(p.name)))
        .sort(|t| t.text.asc())
        .await
        .unwrap();
    let texts: Vec<&str> = titles.iter().map(|title| title.text.as_str()).collect();
    assert_eq!(texts, ["Work 7", "press 0", "press 1"]);
    // The collection's own documents are scoped too.
    let alive = presses.aggregate();
    assert_eq!(alive.clone().count().await.unwrap(), 2);
    assert_eq!(alive.clone().with_deleted().count().await.unwrap(), 3);
    assert_eq!(alive.only_deleted().await.unwrap()[0].id, 2);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Overview {
    years: Vec<Short>,
    newest: Vec<Work>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Short {
    #[serde(rename = "_id")]
    year: i32,
    works: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Span {
    #[serde(rename = "_id")]
    id: Ends,
    works: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Ends {
    min: f64,
    max: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Range {
    #[serde(rename = "_id")]
    id: bson::Bson,
    works: i32,
}

async fn facets_and_buckets_are_typed(db: &Db) {
    let works = works(db).await;
    let overview = works
        .aggregate()
        .facet::<Overview>(|works, o| {
            let years = works
                .stages()
                .group::<Short>(|w, s| s.year.by(w.year) & s.works.is(count()))
                .sort(|s| s.year.asc());
            let newest = works.stages().sort(|w| w.id.desc()).limit(2);
            o.years.results(years) & o.newest.results(newest)
        })
        .await
        .unwrap();
    assert_eq!(overview.len(), 1);
    assert_eq!(overview[0].years[2], Short { year: 1902, works: 4 });
    assert_eq!(overview[0].newest, [work(11), work(10)]);
    let ranges = works
        .aggregate()
        .bucket(|w| w.year, [1900, 1901, 1902])
        .otherwise("later")
        .output::<Range>(|_, r| r.works.is(count()))
        .await
        .unwrap();
    let ranges: Vec<(bson::Bson, i32)> = ranges.into_iter().map(|range| (range.id, range.works)).collect();
    assert_eq!(ranges, [(1900.into(), 4), (1901.into(), 4), ("later".into(), 4)]);
    let spans = works
        .aggregate()
        .bucket_auto(|w| w.price, 3)
        .output::<Span>(|_, s| s.works.is(count()))
        .await
        .unwrap();
    assert_eq!(
        spans[0],
        Span {
            id: Ends { min: 0.5, max: 4.5 },
            works: 4
        }
    );
    let wrong = works
        .aggregate()
        .bucket(|w| w.year, [1900, 1905])
        .output::<Short>(|w, s| s.year.by(w.year));
    assert_eq!(wrong.await.unwrap_err().kind(), odm::ErrorKind::InvalidArgument);
}
