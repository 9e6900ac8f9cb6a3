//! Rules of enums whose variants have fields of one name: the rule of a change is that of the variant it names.

use bson::doc;
use odm::{Db, Embedded, Error, ErrorKind, Filter, Model, Update};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    updates_are_held_to_the_rules_of_the_variant_that_they_name,
    elements_of_arrays_are_held_to_the_rules_of_the_variant_that_they_name,
    additions_are_held_to_the_rules_of_the_variant_that_they_name,
    updates_that_name_no_variant_are_refused_by_all_variants_only,
    updates_of_enums_with_their_content_apart_are_held_to_its_rules,
    upserts_are_held_to_the_rules_of_the_variant_that_they_name,
    kinds_of_one_collection_are_held_to_rules_of_their_own,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "k", rename_all = "lowercase")]
enum Shape {
    Circle {
        #[odm(validate(min = 1, max = 100))]
        size: i32,
        #[odm(validate(length(max = 1)))]
        marks: Vec<String>,
    },
    Square {
        #[odm(validate(min = -5, max = 5))]
        size: i32,
        #[odm(validate(length(max = 2)))]
        marks: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "k", content = "c", rename_all = "lowercase")]
enum Apart {
    Circle {
        #[odm(validate(min = 1))]
        size: i32,
    },
    Square {
        #[odm(validate(max = 5))]
        size: i32,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Drawing {
    #[serde(rename = "_id")]
    id: i32,
    main: Shape,
    shapes: Vec<Shape>,
    apart: Apart,
}

fn drawing(id: i32) -> Drawing {
    let circle = |size| Shape::Circle { size, marks: vec![] };
    let square = |size| Shape::Square { size, marks: vec![] };
    Drawing {
        id,
        main: square(0),
        shapes: vec![circle(50), square(0)],
        apart: Apart::Square { size: 0 },
    }
}

fn broken(error: &Error) -> Vec<(&str, &str)> {
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    let violations = error.violations().iter();
    violations
        .map(|violation| (violation.path.as_str(), violation.rule))
        .collect()
}

async fn updates_are_held_to_the_rules_of_the_variant_that_they_name(db: &Db) {
    let drawings = db.collection::<Drawing>();
    drawings.create().validated().await.unwrap();
    drawings.insert(drawing(1)).await.unwrap();
    let set = async |size: i32| {
        drawings
            .update_one(|d| d.main.square.is(), |d| d.main.square.size.set(size))
            .await
    };
    assert_eq!(set(-3).await.unwrap().modified, 1);
    assert_eq!(broken(&set(50).await.unwrap_err()), [("main.size", "max")]);
    // The path says it, whatever the filter says.
    let refused = drawings
        .update_one(|d| d.id.eq(1), |d| d.main.square.size.set(50))
        .await;
    assert_eq!(broken(&refused.unwrap_err()), [("main.size", "max")]);
    let refused = drawings
        .update_one(|d| d.id.eq(1), |d| d.main.circle.size.set(0))
        .await;
    assert_eq!(broken(&refused.unwrap_err()), [("main.size", "min")]);
    let refused = drawings
        .find_one_and_update(|d| d.id.eq(1), |d| d.main.square.size.set(50))
        .await;
    assert_eq!(broken(&refused.unwrap_err()), [("main.size", "max")]);
    let refused = drawings
        .bulk_write()
        .update_one(|d| d.main.circle.is(), |d| d.main.circle.size.set(50))
        .update_one(|d| d.main.square.is(), |d| d.main.square.size.set(50))
        .await
        .unwrap_err();
    assert_eq!(broken(&refused), [("main.size", "max")]);
    assert_eq!(refused.violations()[0].statement, 1);
    let pushed = |marks: [&'static str; 2]| {
        drawings.update_one(|d| d.id.eq(1), move |d| d.main.square.marks.push_each(marks))
    };
    assert_eq!(pushed(["a", "b"]).await.unwrap().modified, 1);
    assert_eq!(
        broken(&pushed(["c", "d"]).await.unwrap_err()),
        [("main.marks", "max_items")]
    );
    let stored = drawings.get(1).required().await.unwrap();
    drawings.save(stored).await.unwrap();
}

async fn elements_of_arrays_are_held_to_the_rules_of_the_variant_that_they_name(db: &Db) {
    let drawings = db.collection::<Drawing>();
    drawings.insert(drawing(1)).await.unwrap();
    let set = async |size: i32| {
        let squares = |d: DrawingFields| d.shapes.filtered(|s| s.square.is()).square.size.set(size);
        drawings.update_one(|d| d.id.eq(1), squares).await
    };
    assert_eq!(
        broken(&set(50).await.unwrap_err()),
        [("shapes.$[f0].size", "max")]
    );
    assert_eq!(set(-2).await.unwrap().modified, 1);
    let stored = drawings.get(1).required().await.unwrap();
    assert_eq!(
        stored.shapes[1],
        Shape::Square {
            size: -2,
            marks: vec![]
        }
    );
    drawings.save(stored).await.unwrap();
    let at = drawings
        .update_one(|d| d.id.eq(1), |d| d.shapes.at(1).square.size.set(-6))
        .await;
    assert_eq!(broken(&at.unwrap_err()), [("shapes.1.size", "min")]);
    let matched = |size: i32| {
        drawings.update_one(
            |d| d.shapes.elem_match(|s| s.square.is()),
            move |d| d.shapes.matched().square.size.set(size),
        )
    };
    assert_eq!(matched(5).await.unwrap().modified, 1);
    assert_eq!(broken(&matched(6).await.unwrap_err()), [("shapes.$.size", "max")]);
}

async fn additions_are_held_to_the_rules_of_the_variant_that_they_name(db: &Db) {
    let drawings = db.collection::<Drawing>();
    drawings.insert(drawing(1)).await.unwrap();
    let main = |step: i32| drawings.update_one(|d| d.id.eq(1), move |d| d.main.square.size.inc(step));
    assert_eq!(main(-5).await.unwrap().modified, 1);
    assert_eq!(broken(&main(-1).await.unwrap_err()), [("main.size", "min")]);
    assert_eq!(broken(&main(11).await.unwrap_err()), [("main.size", "max")]);
    let filtered = |step: i32| {
        drawings.update_one(
            |d| d.id.eq(1),
            move |d| d.shapes.filtered(|s| s.square.is()).square.size.inc(step),
        )
    };
    assert_eq!(filtered(-1).await.unwrap().modified, 1);
    assert_eq!(
        broken(&filtered(7).await.unwrap_err()),
        [("shapes.$[f0].size", "max")]
    );
    let matched = |step: i32| {
        drawings.update_one(
            |d| d.shapes.elem_match(|s| s.square.is()),
            move |d| d.shapes.matched().square.size.inc(step),
        )
    };
    assert_eq!(matched(-1).await.unwrap().modified, 1);
    assert_eq!(
        broken(&matched(-4).await.unwrap_err()),
        [("shapes.$.size", "min")]
    );
}

async fn updates_that_name_no_variant_are_refused_by_all_variants_only(db: &Db) {
    let drawings = db.collection::<Drawing>();
    drawings.insert(drawing(1)).await.unwrap();
    let raw = |update: bson::Document| drawings.update_one(|d| d.id.eq(1), move |_| Update::raw(update));
    assert_eq!(
        raw(doc! { "$set": { "main.size": -3 } }).await.unwrap().modified,
        1
    );
    assert_eq!(
        raw(doc! { "$set": { "main.size": 50 } }).await.unwrap().modified,
        1
    );
    let refused = raw(doc! { "$set": { "main.size": 101 } }).await.unwrap_err();
    assert_eq!(broken(&refused), [("main.size", "max")]);
    // Some variant allows what comes of it, or none does.
    assert_eq!(
        raw(doc! { "$inc": { "main.size": 50 } }).await.unwrap().modified,
        1
    );
    let refused = raw(doc! { "$inc": { "main.size": 1 } }).await.unwrap_err();
    assert_eq!(broken(&refused), [("main.size", "max")]);
    assert_eq!(
        raw(doc! { "$push": { "main.marks": { "$each": ["a", "b"] } } })
            .await
            .unwrap()
            .modified,
        1
    );
    let refused = raw(doc! { "$push": { "main.marks": "c" } }).await.unwrap_err();
    assert_eq!(broken(&refused), [("main.marks", "max_items")]);
    // What the filter and the filters of arrays say of the variant is known.
    let told = drawings
        .update_one(
            |d| d.main.square.is(),
            |_| Update::raw(doc! { "$set": { "main.size": 50 } }),
        )
        .await;
    assert_eq!(broken(&told.unwrap_err()), [("main.size", "max")]);
    let told = |size: i32| {
        let update = Update::raw(doc! { "$set": { "shapes.$[s].size": size } });
        let update = update.array_filter(doc! { "s.k": "square" });
        drawings.update_one(|_| Filter::all(), move |_| update)
    };
    assert_eq!(
        broken(&told(50).await.unwrap_err()),
        [("shapes.$[s].size", "max")]
    );
    assert_eq!(told(-5).await.unwrap().modified, 1);
}

async fn updates_of_enums_with_their_content_apart_are_held_to_its_rules(db: &Db) {
    let drawings = db.collection::<Drawing>();
    drawings.insert(drawing(1)).await.unwrap();
    let set = |size: i32| drawings.update_one(|d| d.id.eq(1), move |d| d.apart.square.size.set(size));
    assert_eq!(set(-3).await.unwrap().modified, 1);
    assert_eq!(broken(&set(6).await.unwrap_err()), [("apart.c.size", "max")]);
    let circle = drawings
        .update_one(|d| d.id.eq(1), |d| d.apart.circle.size.set(0))
        .await;
    assert_eq!(broken(&circle.unwrap_err()), [("apart.c.size", "min")]);
}

async fn upserts_are_held_to_the_rules_of_the_variant_that_they_name(db: &Db) {
    let drawings = db.collection::<Drawing>();
    let upsert = |id: i32, size: i32| {
        drawings.upsert(
            move |d| d.id.eq(id) & d.main.square.is() & d.main.square.size.eq(size),
            |d| {
                d.main.square.marks.set(vec![])
                    & d.shapes.set(vec![])
                    & d.apart.set(Apart::Circle { size: 1 })
            },
        )
    };
    assert_eq!(broken(&upsert(1, 50).await.unwrap_err()), [("main.size", "max")]);
    assert_eq!(upsert(1, -5).await.unwrap().upserted_id, Some(1));
    assert_eq!(
        drawings.get(1).required().await.unwrap().main,
        Shape::Square {
            size: -5,
            marks: vec![]
        }
    );
    let upsert = drawings
        .upsert(|d| d.id.eq(2), |d| d.main.square.size.inc(50))
        .await;
    assert_eq!(broken(&upsert.unwrap_err()), [("main.size", "max")]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "posts", kind = "Note", tag = "type")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(length(max = 5)))]
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "posts", kind = "Essay", tag = "type")]
struct Essay {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(length(min = 6)))]
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "posts")]
#[serde(tag = "type")]
enum Post {
    Note(Note),
    Essay(Essay),
}

fn essay(text: &str) -> Post {
    Post::Essay(Essay {
        id: 2,
        text: text.into(),
    })
}

async fn kinds_of_one_collection_are_held_to_rules_of_their_own(db: &Db) {
    let posts = db.collection::<Post>();
    posts
        .insert_many([
            Post::Note(Note {
                id: 1,
                text: "note".into(),
            }),
            essay("an essay"),
        ])
        .await
        .unwrap();
    let set = |text: &'static str| posts.update_one(|p| p.essay.id.eq(2), move |p| p.essay.text.set(text));
    assert_eq!(set("another essay").await.unwrap().modified, 1);
    assert_eq!(broken(&set("short").await.unwrap_err()), [("text", "length")]);
    let mut tracked = posts.get(2).tracked().required().await.unwrap();
    *tracked = essay("short");
    assert_eq!(
        broken(&tracked.save(&posts).await.unwrap_err()),
        [("text", "length")]
    );
    *tracked = essay("no longer short");
    assert!(tracked.save(&posts).await.unwrap());
}
