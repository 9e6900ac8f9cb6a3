//! What a hook adds to an update is held to what any update is held to.

use odm::{Db, Embedded, Error, ErrorKind, HookContext, Hooks, Model, Result, Update, UpdateWrite};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_bounded_array_is_full_for_a_hook_too,
    rules_of_elements_hold_for_what_a_hook_adds,
    rules_of_variants_hold_for_what_a_hook_adds,
    what_a_hook_reaches_by_conditions_is_held_to_its_rules,
    filters_of_the_update_and_of_a_hook_are_kept_apart,
    what_cannot_be_added_leaves_the_update_as_it_was,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "orders", hooks)]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[odm(max = 3, validate(each(non_empty)))]
    history: Vec<String>,
    #[odm(max = 2)]
    seen: Vec<i32>,
    items: Vec<Item>,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Item {
    name: String,
    #[odm(validate(min = 0))]
    n: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Shape {
    Square {
        #[odm(validate(max = 10))]
        size: i32,
    },
    Circle {
        #[odm(validate(max = 20))]
        size: i32,
    },
}

impl Order {
    fn new() -> Order {
        let item = |name: &str, n| Item {
            name: name.to_owned(),
            n,
        };
        Order {
            id: 1,
            title: "a".to_owned(),
            history: Vec::new(),
            seen: Vec::new(),
            items: vec![item("a", 2), item("b", 1)],
            shape: Shape::Circle { size: 1 },
        }
    }
}

impl Hooks for Order {
    /// The title says what is added.
    async fn before_update(update: &mut UpdateWrite<Order>, _: &HookContext) -> Result<()> {
        let title = update.set_value(|o| o.title.clone())?.unwrap_or_default();
        match title.as_str() {
            "push" => update.add(|o| o.history.push("x")),
            "push nothing" => update.add(|o| o.history.push("")),
            "push two" => update.add(|o| o.history.push_each(["x", ""])),
            "slice" => update.add(|o| o.history.push_each_with(["x"], |p| p.slice(-2))),
            "long slice" => update.add(|o| o.history.push_each_with(["x"], |p| p.slice(-4))),
            "see" => update.add(|o| o.seen.add_to_set(1)),
            "see two" => update.add(|o| o.seen.add_each_to_set([2, 3])),
            "less of b" => update.add(|o| o.items.filtered(|i| i.name.eq("b")).n.inc(-1)),
            "negative b" => update.add(|o| o.items.filtered(|i| i.name.eq("b")).n.set(-1)),
            "negative items" => update.add(|o| o.items.each().n.set(-1)),
            "large square" => update.add(|o| o.shape.square.size.set(11)),
            "large circle" => update.add(|o| o.shape.circle.size.set(15)),
            "conflict" => {
                assert_eq!(update.add(|o| o.title.set("y")).unwrap_err().code(), Some(40));
                assert!(update.touches(|o| o.title.clone()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

async fn orders(db: &Db) -> odm::Collection<Order> {
    let orders = db.collection::<Order>();
    orders.save(Order::new()).await.unwrap();
    orders
}

async fn titled(db: &Db, title: &str) -> Result<u64> {
    let orders = db.collection::<Order>();
    let title = title.to_owned();
    let updated = orders.update_one(|o| o.id.eq(1), |o| o.title.set(title)).await?;
    Ok(updated.matched)
}

async fn order(db: &Db) -> Order {
    db.collection::<Order>().get(1).required().await.unwrap()
}

#[track_caller]
fn broken(error: &Error) -> Vec<(&str, &'static str)> {
    assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
    let violations = error.violations().iter();
    violations
        .map(|violation| (violation.path.as_str(), violation.rule))
        .collect()
}

async fn a_bounded_array_is_full_for_a_hook_too(db: &Db) {
    let orders = orders(db).await;
    for _ in 0..3 {
        assert_eq!(titled(db, "push").await.unwrap(), 1);
    }
    let error = titled(db, "push").await.unwrap_err();
    assert!(error.is_bound_reached(), "{error}");
    assert_eq!(
        (order(db).await.history.len(), error.path()),
        (3, Some("history"))
    );
    titled(db, "slice").await.unwrap();
    assert_eq!(order(db).await.history.len(), 2);
    assert!(titled(db, "long slice").await.unwrap_err().is_bound_reached());
    titled(db, "push").await.unwrap();
    // Of many, the full are passed over.
    let many = orders
        .update_many(|o| o.id.gt(0), |o| o.title.set("push"))
        .await
        .unwrap();
    assert_eq!(many.matched, 0);
    let found = orders.find_one_and_update(|o| o.id.eq(1), |o| o.title.set("push"));
    assert!(found.await.unwrap_err().is_bound_reached());
    assert_eq!(order(db).await.history.len(), 3);
    titled(db, "see").await.unwrap();
    titled(db, "see").await.unwrap();
    assert!(titled(db, "see two").await.unwrap_err().is_bound_reached());
    assert_eq!(order(db).await.seen, [1]);
}

async fn rules_of_elements_hold_for_what_a_hook_adds(db: &Db) {
    orders(db).await;
    let (logged, log) = db.logged();
    let error = titled(&logged, "push nothing").await.unwrap_err();
    assert_eq!(broken(&error), [("history", "length")]);
    let error = titled(&logged, "push two").await.unwrap_err();
    assert_eq!(broken(&error), [("history.1", "length")]);
    assert_eq!(log.entries().len(), 0);
    assert_eq!(order(db).await, Order::new());
}

async fn rules_of_variants_hold_for_what_a_hook_adds(db: &Db) {
    orders(db).await;
    let error = titled(db, "large square").await.unwrap_err();
    assert_eq!(broken(&error), [("shape.size", "max")]);
    titled(db, "large circle").await.unwrap();
    assert_eq!(order(db).await.shape, Shape::Circle { size: 15 });
}

async fn what_a_hook_reaches_by_conditions_is_held_to_its_rules(db: &Db) {
    orders(db).await;
    for title in ["negative b", "negative items"] {
        let error = titled(db, title).await.unwrap_err();
        assert_eq!(broken(&error).first().unwrap().1, "min", "{title}");
    }
    titled(db, "less of b").await.unwrap();
    let error = titled(db, "less of b").await.unwrap_err();
    assert_eq!(broken(&error).first().unwrap().1, "min");
    let counts: Vec<_> = order(db).await.items.iter().map(|item| item.n).collect();
    assert_eq!(counts, [2, 0]);
}

async fn filters_of_the_update_and_of_a_hook_are_kept_apart(db: &Db) {
    let orders = orders(db).await;
    let update = |o: OrderFields| {
        o.title.set("less of b")
            & o.items.filtered(|i| i.name.eq("a")).n.inc(5)
            & Update::raw(bson::doc! {"$set": {"items.$[f1].name": "c"}})
                .array_filter(bson::doc! {"f1.name": "b"})
    };
    orders.update_one(|o| o.id.eq(1), update).await.unwrap();
    let items: Vec<_> = order(db)
        .await
        .items
        .into_iter()
        .map(|item| (item.name, item.n))
        .collect();
    assert_eq!(items, [("a".to_owned(), 7), ("c".to_owned(), 0)]);
}

async fn what_cannot_be_added_leaves_the_update_as_it_was(db: &Db) {
    orders(db).await;
    titled(db, "conflict").await.unwrap();
    assert_eq!(order(db).await.title, "conflict");
}
