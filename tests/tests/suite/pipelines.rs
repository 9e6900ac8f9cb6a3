//! Typed pipelines.

use bson::DateTime;
use odm::expr::{Expr, add_to_set, avg, cond, count, first, last, literal, max, min, push, sum, switch};
use odm::{Db, Embedded, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    groups_are_typed,
    groups_go_by_several_values_or_none,
    expressions_are_computed,
    expressions_filter_and_set,
    shapes_change,
    pipelines_take_options_and_raw_expressions,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    #[serde(rename = "_id")]
    pub id: i32,
    pub full_title: String,
    pub year: i32,
    pub price: f64,
    pub sold: i64,
    pub subtitle: Option<String>,
    pub tags: Vec<String>,
    pub scores: Vec<i32>,
    pub writer: Writer,
    pub press: i32,
    pub added: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Writer {
    pub name: String,
    pub born: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Press {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[odm(soft_delete)]
    pub closed: Option<DateTime>,
}

pub fn work(id: i32) -> Work {
    Work {
        id,
        full_title: format!("Work {id}"),
        year: 1900 + id / 4,
        price: f64::from(id) + 0.5,
        sold: i64::from(id % 5),
        subtitle: (id % 2 == 0).then(|| "a tale".to_owned()),
        tags: (0..id % 3).map(|tag| format!("t{tag}")).collect(),
        scores: (0..=id % 4).collect(),
        writer: Writer {
            name: format!("writer {}", id % 3),
            born: 1850 + id % 3,
        },
        press: id % 3,
        added: DateTime::parse_rfc3339_str(format!("2024-0{}-15T10:30:00Z", 1 + id % 9)).unwrap(),
    }
}

pub async fn works(db: &Db) -> odm::Collection<Work> {
    let works = db.collection::<Work>();
    works.insert_many((0..12).map(work)).await.unwrap();
    works
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Year {
    #[serde(rename = "_id")]
    year: i32,
    works: u32,
    sold: i64,
    mean: f64,
    cheapest: f64,
    dearest: Option<f64>,
    first: String,
    last: String,
    titles: Vec<String>,
    writers: Vec<String>,
}

async fn groups_are_typed(db: &Db) {
    let works = works(db).await;
    let group = works
        .aggregate()
        .filter(|w| w.id.gte(1))
        .sort(|w| w.id.asc())
        .group::<Year>(|w, y| {
            y.year.by(w.year)
                & y.works.is(count())
                & y.sold.is(sum(&w.sold))
                & y.mean.is(avg(&w.price))
                & y.cheapest.is(min(&w.price))
                & y.dearest.is(max(&w.price))
                & y.first.is(first(&w.full_title))
                & y.last.is(last(&w.full_title))
                & y.titles.is(push(&w.full_title))
                & y.writers.is(add_to_set(&w.writer.name))
        })
        .sort(|y| y.year.asc());
    let years = group.clone().skip(1).limit(1).await.unwrap();
    let mut years = years;
    years[0].writers.sort();
    let texts = |ids: [i32; 4]| ids.map(|id| format!("Work {id}")).to_vec();
    assert_eq!(
        years,
        [Year {
            year: 1901,
            works: 4,
            sold: 7,
            mean: 6.0,
            cheapest: 4.5,
            dearest: Some(7.5),
            first: "Work 4".into(),
            last: "Work 7".into(),
            titles: texts([4, 5, 6, 7]),
            writers: vec!["writer 0".into(), "writer 1".into(), "writer 2".into()],
        }]
    );
    // One after another, the first, how many.
    let mut stream = group.clone().batch_size(1).stream();
    let mut seen = 0;
    while let Some(year) = stream.try_next().await.unwrap() {
        seen += year.works;
    }
    assert_eq!(seen, 11);
    assert_eq!(group.clone().first().await.unwrap().unwrap().works, 3);
    assert_eq!(group.count().await.unwrap(), 3);
    assert_eq!(
        works
            .aggregate()
            .filter(|_| Filter::none())
            .count()
            .await
            .unwrap(),
        0
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Pair {
    #[serde(rename = "_id")]
    key: PairKey,
    total: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct PairKey {
    year: i32,
    press: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Whole {
    total: f64,
}

async fn groups_go_by_several_values_or_none(db: &Db) {
    let works = works(db).await;
    let pairs = works
        .aggregate()
        .filter(|w| w.id.lt(4))
        .group::<Pair>(|w, p| {
            p.key.year.by(&w.year) & p.key.press.by(&w.press) & p.total.is(sum(w.price.value() * &w.sold))
        })
        .sort(|p| p.key.press.desc())
        .await
        .unwrap();
    let presses: Vec<(i32, f64)> = pairs.iter().map(|pair| (pair.key.press, pair.total)).collect();
    assert_eq!(presses, [(2, 5.0), (1, 1.5), (0, 10.5)]);
    let whole = works
        .aggregate()
        .group::<Whole>(|w, t| t.total.is(sum(w.price)))
        .await
        .unwrap();
    assert_eq!(whole, [Whole { total: 72.0 }]);
    // What cannot be said is an error before anything is sent.
    let wrong = works
        .aggregate()
        .group::<Pair>(|w, p| p.total.by(w.price))
        .await
        .unwrap_err();
    assert_eq!(
        (wrong.kind(), wrong.path()),
        (odm::ErrorKind::InvalidArgument, Some("total"))
    );
    let wrong = works
        .aggregate()
        .group::<Pair>(|_, p| p.key.year.is(count()))
        .await
        .unwrap_err();
    assert_eq!(
        (wrong.kind(), wrong.path()),
        (odm::ErrorKind::InvalidArgument, Some("_id.year"))
    );
    assert!(works.aggregate().limit(0).await.is_err());
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Computed {
    #[serde(rename = "_id")]
    id: i32,
    label: String,
    earned: f64,
    rounded: f64,
    age: i64,
    dear: bool,
    class: String,
    subtitle: String,
    upper: String,
    length: i32,
    month: i32,
    day: String,
    tags: i32,
    tagged: bool,
    doubled: Vec<i32>,
    high: Vec<i32>,
    best: Option<i32>,
    total: i64,
    constant: String,
    writer: Writer,
}

async fn expressions_are_computed(db: &Db) {
    let works = works(db).await;
    let found = works
        .aggregate()
        .filter(|w| w.id.eq(10))
        .project::<Computed>(|w, c| {
            c.id.of(w.id)
                & c.label.of(w.full_title.value().concat(" by ").concat(&w.writer.name))
                & c.earned.of(w.price.value() * &w.sold + 1)
                & c.rounded.of((w.price.value() / 3).round(2))
                & c.age.of(-(w.year.value() - 2024).to_i64())
                & c.dear.of(w.price.value().gt(10) & !w.sold.value().eq(3))
                & c.class.of(switch(
                    [
                        (w.price.value().lt(5), literal("cheap".to_owned())),
                        (w.price.value().lt(11), literal("fair".to_owned())),
                    ],
                    "dear",
                ))
                & c.subtitle.of(w.subtitle.value().if_null("none"))
                & c.upper.of(w.full_title.value().substring(0, 4).to_uppercase())
                & c.length.of(w.full_title.value().chars())
                & c.month.of(w.added.value().month())
                & c.day.of(w.added.value().format("%Y-%m-%d"))
                & c.tags.of(w.tags.value().size())
                & c.tagged.of(w.tags.value().contains("t0"))
                & c.doubled.of(w.scores.value().map(|score| (score.value() * 2).of_type::<i32>()))
                & c.high.of(w.scores.value().filter(|score| score.value().gte(1)))
                & c.best.of(w.scores.value().last())
                & c.total.of(w.scores.value().sum())
                // A constant is never taken for a field.
                & c.constant.of(literal("$year".to_owned()))
                & c.writer.of(w.writer.value())
        })
        .await
        .unwrap();
    let w = work(10);
    assert_eq!(
        found,
        [Computed {
            id: 10,
            label: "Work 10 by writer 1".into(),
            earned: 1.0,
            rounded: 3.5,
            age: 122,
            dear: true,
            class: "fair".into(),
            subtitle: "a tale".into(),
            upper: "WORK".into(),
            length: 7,
            month: 2,
            day: "2024-02-15".into(),
            tags: 1,
            tagged: true,
            doubled: vec![0, 2, 4],
            high: vec![1, 2],
            best: Some(2),
            total: 3,
            constant: "$year".into(),
            writer: w.writer,
        }]
    );
}

async fn expressions_filter_and_set(db: &Db) {
    let works = works(db).await;
    // In a find, and in a pipeline.
    let dear = works
        .find(|w| (w.price.value() * 2).above(&w.sold).holds() & w.id.lt(3))
        .await
        .unwrap();
    assert_eq!(dear.len(), 3);
    let none = works
        .aggregate()
        .filter(|w| w.sold.value().gt(w.year.value().of_type()).holds())
        .count()
        .await
        .unwrap();
    assert_eq!(none, 0);
    let set = works
        .aggregate()
        .filter(|w| w.id.lte(1))
        .set(|w| {
            w.sold.of(w.sold.value() + 100)
                & w.subtitle
                    .of(cond(w.subtitle.value().is_null(), w.full_title.value(), "told"))
        })
        .sort(|w| w.id.asc())
        .await
        .unwrap();
    assert_eq!((set[0].sold, set[1].sold), (100, 101));
    assert_eq!(
        (set[0].subtitle.as_deref(), set[1].subtitle.as_deref()),
        (Some("told"), Some("Work 1"))
    );
    // Elements inside of elements.
    let nested: Vec<Nested> = works
        .aggregate()
        .filter(|w| w.id.eq(5))
        .project::<Nested>(|w, n| {
            n.products.of(w
                .scores
                .value()
                .map(|a| w.scores.value().map(|b| (a.value() * b.value()).of_type::<i32>())))
        })
        .await
        .unwrap();
    assert_eq!(nested[0].products, [[0, 0], [0, 1]]);
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Nested {
    products: Vec<Vec<i32>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Tagged {
    #[serde(rename = "_id")]
    id: i32,
    tags: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Tally {
    #[serde(rename = "_id")]
    tag: String,
    count: i32,
}

async fn shapes_change(db: &Db) {
    let works = works(db).await;
    let tagged: Vec<Tagged> = works
        .aggregate()
        .unwind(|w| w.tags)
        .into::<Tagged>()
        .filter(|t| t.tags.eq("t1"))
        .sort(|t| t.id.asc())
        .await
        .unwrap();
    assert_eq!(
        tagged.iter().map(|tagged| tagged.id).collect::<Vec<_>>(),
        [2, 5, 8, 11]
    );
    let all = works
        .aggregate()
        .unwind_all(|w| w.tags, "position")
        .into::<Tagged>();
    assert_eq!(all.count().await.unwrap(), 16);
    let tally: Vec<Tally> = works
        .aggregate()
        .unwind(|w| w.tags)
        .into::<Tagged>()
        .sort_by_count(|t| t.tags)
        .into()
        .await
        .unwrap();
    assert_eq!(
        tally[0],
        Tally {
            tag: "t0".into(),
            count: 8
        }
    );
    let writers = works
        .aggregate()
        .sort(|w| w.id.asc())
        .replace_root(|w| w.writer.value())
        .filter(|writer| writer.born.gt(1851))
        .limit(1)
        .await
        .unwrap();
    assert_eq!(writers, [work(2).writer]);
    let bare = works
        .aggregate()
        .filter(|w| w.id.eq(3))
        .unset(|w| w.full_title)
        .await
        .unwrap();
    assert!(!bare[0].contains_key("fullTitle") && bare[0].contains_key("year"));
    assert_eq!(works.aggregate().sample(5).await.unwrap().len(), 5);
    let raw: Vec<Whole> = works
        .aggregate()
        .raw(bson::doc! { "$group": { "_id": null, "total": { "$sum": "$price" } } })
        .into()
        .await
        .unwrap();
    assert_eq!(raw, [Whole { total: 72.0 }]);
    let error = works.aggregate().into::<Tally>().await.unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Decode);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Title {
    pub text: String,
}

async fn pipelines_take_options_and_raw_expressions(db: &Db) {
    let works = works(db).await;
    let found = works
        .aggregate()
        .variables(bson::doc! { "least": 1902 })
        .filter(|w| w.year.value().gte(Expr::<Work, i32>::variable("least")).holds())
        .comment("late works")
        .allow_disk_use()
        .max_time(std::time::Duration::from_secs(20))
        .hint("_id_")
        .project::<Title>(|_, t| {
            t.text
                .of(Expr::<_, String>::raw(bson::doc! { "$toString": "$year" }))
        })
        .await
        .unwrap();
    assert_eq!(
        found,
        vec![
            Title { text: "1902".into() },
            Title { text: "1902".into() },
            Title { text: "1902".into() },
            Title { text: "1902".into() }
        ]
    );
    let plan = works.aggregate().filter(|w| w.id.eq(1)).explain().await.unwrap();
    assert!(
        plan.to_string().contains("IDHACK") || plan.to_string().contains("IXSCAN"),
        "{plan}"
    );
}
