//! Arrays, texts and numbers in typed pipelines.

use odm::expr::{Expr, literal};
use odm::{Db, Embedded, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    arrays_are_cut_joined_and_sorted,
    conditions_hold_for_one_element_or_for_all,
    elements_are_folded_within_each_other,
    arrays_are_sets,
    texts_are_searched_and_replaced,
    numbers_are_cut_and_compared,
    what_is_no_array_is_null_or_an_error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    marks: Vec<i32>,
    others: Vec<i32>,
    lines: Vec<Line>,
    rows: Vec<Vec<i32>>,
    text: String,
    note: Option<String>,
    weight: f64,
    gift: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    item: String,
    price: f64,
    tags: Vec<String>,
}

fn line(item: &str, price: f64, tags: &[&str]) -> Line {
    Line {
        item: item.to_owned(),
        price,
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
    }
}

async fn orders(db: &Db) -> odm::Collection<Order> {
    let orders = db.collection::<Order>();
    orders
        .insert_many([
            Order {
                id: 1,
                marks: vec![3, 1, 2, 3],
                others: vec![3, 5],
                lines: vec![line("pen", 2.5, &["blue", "thin"]), line("ink", 7.0, &["blue"])],
                rows: vec![vec![1, 2], vec![3]],
                text: "one two one".into(),
                note: None,
                weight: 12.345,
                gift: None,
            },
            Order {
                id: 2,
                marks: vec![],
                others: vec![1],
                lines: vec![],
                rows: vec![],
                text: "héllo $one".into(),
                note: Some("x".into()),
                weight: 100.0,
                gift: Some(3.0),
            },
        ])
        .await
        .unwrap();
    orders
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Cut {
    slice: Vec<i32>,
    from_end: Vec<i32>,
    none: Vec<i32>,
    reversed: Vec<i32>,
    appended: Vec<i32>,
    constant: Vec<i32>,
    sorted: Vec<i32>,
    down: Vec<i32>,
    lines: Vec<Line>,
    least: Option<i32>,
    greatest: Option<i32>,
    at: i32,
    nowhere: i32,
}

async fn arrays_are_cut_joined_and_sorted(db: &Db) {
    let cut = orders(db)
        .await
        .aggregate()
        .sort(|o| o.id.asc())
        .project::<Cut>(|o, c| {
            c.slice.of(o.marks.value().slice(1, 2))
                & c.from_end.of(o.marks.value().slice(-2, 5))
                & c.none.of(o.marks.value().slice(1, 0))
                & c.reversed.of(o.marks.value().reversed())
                & c.appended.of(o.marks.value().append(&o.others))
                & c.constant.of(o.marks.value().append([8, 9]))
                & c.sorted.of(o.marks.value().sorted())
                & c.down.of(o.marks.value().sorted_down())
                & c.lines.of(o
                    .lines
                    .value()
                    .sorted_by(|line| line.price.desc() & line.item.asc()))
                & c.least.of(o.marks.value().min())
                & c.greatest.of(o.marks.value().max())
                & c.at.of(o.marks.value().index_of(2))
                & c.nowhere
                    .of(o.marks.value().index_of((o.id.value() + 7).of_type::<i32>()))
        })
        .await
        .unwrap();
    assert_eq!(
        cut,
        [
            Cut {
                slice: vec![1, 2],
                from_end: vec![2, 3],
                none: vec![],
                reversed: vec![3, 2, 1, 3],
                appended: vec![3, 1, 2, 3, 3, 5],
                constant: vec![3, 1, 2, 3, 8, 9],
                sorted: vec![1, 2, 3, 3],
                down: vec![3, 3, 2, 1],
                lines: vec![line("ink", 7.0, &["blue"]), line("pen", 2.5, &["blue", "thin"])],
                least: Some(1),
                greatest: Some(3),
                at: 2,
                nowhere: -1,
            },
            Cut {
                slice: vec![],
                from_end: vec![],
                none: vec![],
                reversed: vec![],
                appended: vec![1],
                constant: vec![8, 9],
                sorted: vec![],
                down: vec![],
                lines: vec![],
                least: None,
                greatest: None,
                at: -1,
                nowhere: -1,
            },
        ]
    );
}

async fn conditions_hold_for_one_element_or_for_all(db: &Db) {
    let orders = orders(db).await;
    let count = async |holds: fn(OrderFields<Order>) -> Expr<Order, bool>| {
        orders.count(|o| holds(o).holds()).await.unwrap()
    };
    assert_eq!(count(|o| o.marks.value().any(|mark| mark.value().gt(2))).await, 1);
    assert_eq!(count(|o| o.marks.value().any(|mark| mark.value().gt(3))).await, 0);
    // For all of none it is true.
    assert_eq!(count(|o| o.marks.value().all(|mark| mark.value().gt(0))).await, 2);
    assert_eq!(count(|o| o.marks.value().all(|mark| mark.value().gt(1))).await, 1);
    // Inside of each other, and of documents.
    let blue = |o: OrderFields<Order>| {
        o.lines
            .value()
            .any(|line| line.tags.value().all(|tag| tag.value().eq("blue")) & line.price.value().gt(5.0))
    };
    assert_eq!(count(blue).await, 1);
    let same = |o: OrderFields<Order>| {
        let others = o.others.clone();
        o.marks
            .value()
            .any(move |mark| others.value().any(|other| other.value().eq(mark.value())))
    };
    assert_eq!(count(same).await, 1);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Folded {
    total: f64,
    text: String,
    product: i32,
    flat: Vec<i32>,
}

async fn elements_are_folded_within_each_other(db: &Db) {
    let folded = orders(db)
        .await
        .aggregate()
        .sort(|o| o.id.asc())
        .project::<Folded>(|o, f| {
            f.total.of(o.lines.value().fold(literal(0.0), |total, line| {
                (total + line.price.value()).of_type::<f64>()
            })) & f
                .text
                .of(o.lines.value().fold(literal(String::new()), |text, line| {
                    // The inner one sees what the outer one has.
                    line.tags
                        .value()
                        .fold(text, |text, tag| text.concat(&line.item).concat(tag))
                }))
                & f.product.of(o.marks.value().fold(literal(1), |product, mark| {
                    (product * mark.value()).of_type::<i32>()
                }))
                & f.flat.of(o
                    .rows
                    .value()
                    .fold(literal(Vec::new()), |flat, row| flat.append(row)))
        })
        .await
        .unwrap();
    assert_eq!(
        folded,
        [
            Folded {
                total: 9.5,
                text: "penbluepenthininkblue".into(),
                product: 18,
                flat: vec![1, 2, 3],
            },
            Folded {
                total: 0.0,
                text: String::new(),
                product: 1,
                flat: vec![],
            },
        ]
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Sets {
    union: Vec<i32>,
    intersection: Vec<i32>,
    difference: Vec<i32>,
    subset: bool,
    same: bool,
}

async fn arrays_are_sets(db: &Db) {
    let sets = orders(db)
        .await
        .aggregate()
        .sort(|o| o.id.asc())
        .project::<Sets>(|o, s| {
            s.union.of(o.marks.value().union(&o.others).sorted())
                & s.intersection.of(o.marks.value().intersection(o.others.value()))
                & s.difference.of(o.marks.value().difference(&o.others).sorted())
                & s.subset.of(o.marks.value().is_subset(vec![1, 2, 3, 4]))
                & s.same.of(o.marks.value().has_same([2, 1, 1, 3]))
        })
        .await
        .unwrap();
    assert_eq!(
        sets,
        [
            Sets {
                union: vec![1, 2, 3, 5],
                intersection: vec![3],
                difference: vec![1, 2],
                subset: true,
                same: true,
            },
            Sets {
                union: vec![1],
                intersection: vec![],
                difference: vec![],
                subset: true,
                same: false,
            },
        ]
    );
    let blue = db.collection::<Order>().count(|o| {
        o.lines
            .value()
            .any(|line| line.tags.value().has_same(["blue"]))
            .holds()
    });
    assert_eq!(blue.await.unwrap(), 1);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Texts {
    all: String,
    once: String,
    at: i32,
    nowhere: Option<i32>,
    begins: bool,
}

async fn texts_are_searched_and_replaced(db: &Db) {
    let texts = orders(db)
        .await
        .aggregate()
        .sort(|o| o.id.asc())
        .project::<Texts>(|o, t| {
            t.all.of(o.text.value().replaced("one", "$two"))
                & t.once
                    .of(o.text.value().replaced_once("one", o.id.value().to_text()))
                & t.at.of(o.text.value().position_of("o "))
                & t.nowhere.of(o.note.value().position_of("y"))
                & t.begins.of(o.text.value().starts_with("one"))
        })
        .await
        .unwrap();
    assert_eq!(
        texts,
        [
            Texts {
                all: "$two two $two".into(),
                once: "1 two one".into(),
                at: 6,
                nowhere: None,
                begins: true,
            },
            Texts {
                all: "héllo $$two".into(),
                once: "héllo $2".into(),
                at: 4,
                nowhere: Some(-1),
                begins: false,
            },
        ]
    );
    let begins = db
        .collection::<Order>()
        .count(|o| o.note.value().starts_with("x").holds());
    assert_eq!(begins.await.unwrap(), 1);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Numbers {
    cut: f64,
    tens: f64,
    ln: f64,
    log: f64,
    exp: f64,
    lesser: f64,
    greater: f64,
}

async fn numbers_are_cut_and_compared(db: &Db) {
    let orders = orders(db).await;
    let numbers = orders
        .aggregate()
        .sort(|o| o.id.asc())
        .project::<Numbers>(|o, n| {
            n.cut.of((-o.weight.value()).trunc(1))
                & n.tens.of(o.weight.value().trunc(-1))
                & n.ln.of((o.weight.value() * 0 + 1).ln())
                & n.log.of((o.weight.value() * 0 + 1000).log(10).round(9))
                & n.exp.of((o.weight.value() * 0).exp())
                & n.lesser.of(o.weight.value().min_with(&o.gift))
                & n.greater.of(o.gift.value().max_with(50))
        })
        .await
        .unwrap();
    let common = |cut, tens, lesser| Numbers {
        cut,
        tens,
        ln: 0.0,
        log: 3.0,
        exp: 1.0,
        lesser,
        greater: 50.0,
    };
    assert_eq!(numbers, [common(-12.3, 10.0, 12.345), common(-100.0, 100.0, 3.0)]);
    let none = orders.count(|o| (o.weight.value() * 0).ln().above(0).holds());
    assert_eq!(none.await.unwrap_err().code(), Some(28766));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Nulls {
    reversed: Option<Vec<i32>>,
    appended: Option<Vec<i32>>,
    union: Option<Vec<i32>>,
    folded: Option<i32>,
    at: Option<i32>,
}

async fn what_is_no_array_is_null_or_an_error(db: &Db) {
    let orders = orders(db).await;
    db.raw_collection("orders")
        .insert(bson::doc! { "_id": 3, "others": [1] })
        .await
        .unwrap();
    let nulls = orders
        .aggregate()
        .filter(|o| o.id.eq(3))
        .project::<Nulls>(|o, n| {
            n.reversed.of(o.marks.value().reversed())
                & n.appended.of(o.others.value().append(&o.marks))
                & n.union.of(o.others.value().union(&o.marks))
                & n.folded.of(o
                    .marks
                    .value()
                    .fold(literal(1), |sum, mark| (sum + mark.value()).of_type::<i32>()))
                & n.at.of(o.marks.value().index_of(1))
        })
        .await
        .unwrap();
    assert_eq!(
        nulls,
        [Nulls {
            reversed: None,
            appended: None,
            union: None,
            folded: None,
            at: None,
        }]
    );
    let any = orders.count(|o| o.marks.value().any(|mark| mark.value().gt(0)).holds());
    assert_eq!(any.await.unwrap_err().code(), Some(17041));
    let subset = orders
        .aggregate()
        .group::<Subsets>(|o, s| s.subset.by(o.marks.value().is_subset([1])));
    assert_eq!(subset.await.unwrap_err().code(), Some(17310));
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Subsets {
    #[serde(rename = "_id")]
    subset: bool,
}
