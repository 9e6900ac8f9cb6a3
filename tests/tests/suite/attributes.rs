//! Dynamic attributes: both forms answer alike.

use bson::{Bson, Document, doc};
use odm::{Db, ErrorKind, Filter, Model};
use odm_patterns::attributes::{
    AttributeFields, AttributeProblemKind, Attributed, Attributes, Catalog, Definition, Form, Kind, Listed,
    ProductProblemKind, ProductType, Quantity, Rejected, Scoped, Units, Value,
};
use odm_tests::random::Random;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    forms_are_those_of_the_manual,
    products_are_as_their_type_defines,
    one_attribute_is_changed_by_one_write,
    filters_find_in_both_forms_what_a_scan_finds,
    filters_use_the_indexes,
    facets_count_each_product_once,
    forms_are_converted_beside_writers,
    wrong_products_are_found_and_repaired,
    definitions_that_cannot_be_are_refused,
}

/// A model of each form.
macro_rules! product {
    ($name:ident, $form:ident, $collection:literal) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
        #[odm(collection = $collection)]
        struct $name {
            #[serde(rename = "_id")]
            id: i32,
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            attributes: Attributes<$form>,
        }

        impl Attributed for $name {
            type Form = $form;

            fn attribute_fields(p: Self::Fields<Self>) -> AttributeFields<Self> {
                AttributeFields::new(&p.kind, &p.attributes)
            }

            fn product_type(&self) -> &str {
                &self.kind
            }

            fn attributes(&self) -> &Attributes<$form> {
                &self.attributes
            }

            fn attributes_mut(&mut self) -> &mut Attributes<$form> {
                &mut self.attributes
            }
        }

        impl Product for $name {
            fn new(id: i32, kind: &str, attributes: Attributes<$form>) -> $name {
                let kind = kind.to_owned();
                $name {
                    id,
                    kind,
                    attributes,
                }
            }
        }
    };
}

trait Product: Attributed<Key = i32> + Clone + PartialEq + std::fmt::Debug {
    fn new(id: i32, kind: &str, attributes: Attributes<Self::Form>) -> Self;
}

product!(ScopedProduct, Scoped, "products");
product!(ListedProduct, Listed, "products");

fn units() -> Units {
    Units::new()
        .unit("kg", "mass", 1.0)
        .unit("g", "mass", 0.001)
        .unit("m", "length", 1.0)
}

fn types() -> [ProductType; 3] {
    [
        ProductType::new("shoe")
            .attribute(
                Definition::text("color")
                    .choices(["red", "black", "white"])
                    .required(),
            )
            .attribute(Definition::integer("size").at_least(20).at_most(50))
            .attribute(Definition::measure("weight", "kg").at_least(0))
            .attribute(Definition::text("tags").many())
            .attribute(Definition::number("ratings").many()),
        ProductType::new("lamp")
            .attribute(Definition::text("color").required())
            .attribute(Definition::number("watts").unindexed())
            .attribute(Definition::new("since", Kind::Date))
            .attribute(Definition::new("price", Kind::Decimal))
            .attribute(Definition::new("dimmed", Kind::Boolean)),
        ProductType::new("oddity").open(),
    ]
}

fn catalog<M: Product>(db: &Db) -> Catalog<M> {
    Catalog::new(db, types(), units()).unwrap()
}

fn shoe<F: Form>(color: &str) -> Attributes<F> {
    Attributes::new().with("color", color)
}

fn problems(error: &odm::Error) -> Vec<(String, AttributeProblemKind)> {
    assert_eq!(error.kind(), ErrorKind::Validation);
    let source = std::error::Error::source(error).unwrap();
    let rejected = source.downcast_ref::<Rejected>().unwrap();
    let problems = rejected.problems.iter();
    problems
        .map(|problem| (problem.attribute.clone(), problem.kind.clone()))
        .collect()
}

async fn stored(db: &Db, id: i32) -> Bson {
    let found = db
        .raw_collection("products")
        .get(Bson::Int32(id))
        .required()
        .await
        .unwrap();
    found.get("attributes").unwrap().clone()
}

async fn forms_are_those_of_the_manual(db: &Db) {
    async fn insert<M: Product>(db: &Db, id: i32) -> M {
        let attributes = shoe("red")
            .with("size", 42)
            .with("weight", Quantity::new(1500, "g"))
            .with_many("tags", ["b", "a", "b"]);
        catalog(db).insert(M::new(id, "shoe", attributes)).await.unwrap();
        db.collection::<M>().get(id).required().await.unwrap()
    }
    let scoped: ScopedProduct = insert(db, 1).await;
    let listed: ListedProduct = insert(db, 2).await;
    let expected = doc! {
        "color": "red",
        "size": 42_i64,
        "tags": ["b", "a"],
        "weight": {"v": 1.5, "g": 1500.0, "u": "g"},
    };
    assert_eq!(stored(db, 1).await, Bson::Document(expected));
    let expected = vec![
        doc! {"n": "color", "v": "red"},
        doc! {"n": "size", "v": 42_i64},
        doc! {"n": "tags", "v": "b"},
        doc! {"n": "tags", "v": "a"},
        doc! {"n": "weight", "v": 1.5, "g": 1500.0, "u": "g"},
    ];
    assert_eq!(stored(db, 2).await, Bson::from(expected));
    // Each reads what the other wrote.
    let as_scoped: ScopedProduct = db.collection::<ScopedProduct>().get(2).required().await.unwrap();
    assert_eq!(as_scoped.attributes, scoped.attributes);
    let as_listed: ListedProduct = db.collection::<ListedProduct>().get(1).required().await.unwrap();
    assert_eq!(as_listed.attributes, listed.attributes);
    let weight = listed.attributes.get("weight").unwrap().values()[0].clone();
    assert_eq!(
        (weight.value, weight.quantity),
        (Value::Number(1.5), Some(Quantity::new(1500, "g")))
    );
}

async fn products_are_as_their_type_defines(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let catalog = catalog::<M>(db);
        let refused = async |kind: &str, attributes: Attributes<M::Form>| {
            let error = catalog.insert(M::new(9, kind, attributes)).await.unwrap_err();
            problems(&error)
        };
        use AttributeProblemKind as Wrong;
        let one = |name: &str, kind: Wrong| vec![(name.to_owned(), kind)];
        assert_eq!(
            refused("shoe", Attributes::new()).await,
            one("color", Wrong::Missing)
        );
        assert_eq!(
            refused("shoe", shoe("green")).await,
            one("color", Wrong::NoChoice)
        );
        assert_eq!(
            refused("shoe", shoe("red").with("size", 51)).await,
            one("size", Wrong::OutOfRange)
        );
        assert_eq!(
            refused("shoe", shoe("red").with("watts", 5)).await,
            one("watts", Wrong::Unknown)
        );
        let wrong = Wrong::WrongKind {
            expected: Kind::Integer,
            found: Kind::Text,
        };
        assert_eq!(
            refused("shoe", shoe("red").with("size", "42")).await,
            one("size", wrong)
        );
        assert_eq!(
            refused("shoe", shoe("red").with("weight", 1.5)).await,
            one("weight", Wrong::NoUnit)
        );
        let heavy = shoe("red").with("weight", Quantity::new(1, "m"));
        assert_eq!(
            refused("shoe", heavy).await,
            one("weight", Wrong::WrongUnit("m".into()))
        );
        let sized = shoe("red").with("size", Quantity::new(1, "m"));
        assert_eq!(
            refused("shoe", sized).await,
            one("size", Wrong::WrongUnit("m".into()))
        );
        let light = shoe("red").with("weight", Quantity::new(-1, "g"));
        assert_eq!(refused("shoe", light).await, one("weight", Wrong::OutOfRange));
        assert_eq!(
            refused("shoe", shoe("red").with_many("size", [41, 42])).await,
            one("size", Wrong::NotOne)
        );
        let none: [&str; 0] = [];
        assert_eq!(
            refused("shoe", shoe("red").with_many("tags", none)).await,
            one("tags", Wrong::NotOne)
        );
        assert_eq!(
            refused("oddity", Attributes::new().with("a.b", 1)).await,
            one("a.b", Wrong::Unknown)
        );
        // All of it at once.
        let both = refused("shoe", Attributes::new().with("size", 51)).await;
        assert_eq!(both.len(), 2);
        let error = catalog.insert(M::new(9, "hat", shoe("red"))).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some("hat"))
        );
        assert_eq!(db.raw_collection("products").count(doc! {}).await.unwrap(), 0);
        // Every kind of value comes back as it went.
        let lamp = Attributes::new()
            .with("color", "blue")
            .with("watts", 60)
            .with("since", super::counter::at("2026-11-21T00:00:00Z"))
            .with("price", "9.90".parse::<bson::Decimal128>().unwrap())
            .with("dimmed", true);
        catalog.save(M::new(1, "lamp", lamp.clone())).await.unwrap();
        let read = catalog.collection().get(1).required().await.unwrap();
        assert_eq!(*read.attributes(), lamp.with("watts", 60.0));
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}

async fn one_attribute_is_changed_by_one_write(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let (db, log) = db.logged();
        let catalog = catalog::<M>(&db);
        catalog.insert(M::new(1, "shoe", shoe("red"))).await.unwrap();
        catalog
            .insert(M::new(2, "oddity", Attributes::new()))
            .await
            .unwrap();
        log.take();
        catalog.set(1, "size", 42).await.unwrap();
        catalog.set(1, "size", 43).await.unwrap();
        catalog.set(1, "weight", Quantity::new(700, "g")).await.unwrap();
        catalog.set_many(1, "tags", ["a", "$b"]).await.unwrap();
        catalog.set_many(1, "tags", ["c", "$b"]).await.unwrap();
        catalog.set(2, "anything", true).await.unwrap();
        assert_eq!(log.take().len(), 6);
        let read = catalog.collection().get(1).required().await.unwrap();
        let expected = shoe("red").with("size", 43).with_many("tags", ["c", "$b"]);
        let weight = Quantity::new(700, "g");
        let mut expected = M::new(1, "shoe", expected.with("weight", weight));
        catalog.normalize(&mut expected).unwrap();
        assert_eq!(read, expected);
        catalog.unset(1, "size").await.unwrap();
        catalog.unset(1, "tags").await.unwrap();
        catalog.unset(1, "weight").await.unwrap();
        let read = catalog.collection().get(1).required().await.unwrap();
        assert_eq!(*read.attributes(), shoe("red"));
        // Refused, with the reason.
        for (id, name, value) in [
            (1, "size", Value::from(51)),
            (1, "color", "green".into()),
            (1, "watts", 5.into()),
        ] {
            assert_eq!(
                problems(&catalog.set(id, name, value).await.unwrap_err())[0].0,
                name
            );
        }
        let error = catalog.unset(1, "color").await.unwrap_err();
        assert_eq!(
            problems(&error),
            [("color".to_owned(), AttributeProblemKind::Missing)]
        );
        let error = catalog.set(7, "size", 42).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        // Two at once change two attributes.
        let (size, tags) = (catalog.set(1, "size", 30), catalog.set_many(1, "tags", ["x"]));
        let (size, tags) = futures_util::future::join(size, tags).await;
        size.unwrap();
        tags.unwrap();
        assert_eq!(
            catalog
                .collection()
                .get(1)
                .required()
                .await
                .unwrap()
                .attributes()
                .len(),
            3
        );
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}

/// Shoes with random attributes.
fn shoes<M: Product>(count: i32) -> Vec<M> {
    let mut random = Random::new(11);
    let shoe = |id| {
        let mut attributes = shoe(random.pick::<&str>(&["red", "black", "white"]));
        if !random.one_in(4) {
            attributes.set("size", 36 + random.below(8) as i32);
        }
        if !random.one_in(3) {
            let grams = 100 * (1 + random.below(20)) as i32;
            let weight = match random.one_in(2) {
                true => Quantity::new(grams, "g"),
                false => Quantity::new(f64::from(grams) / 1000.0, "kg"),
            };
            attributes.set("weight", weight);
        }
        let mut ratings = Vec::new();
        for _ in 0..random.below(4) {
            ratings.push(Value::from(random.below(6) as i32));
        }
        if !ratings.is_empty() {
            attributes = attributes.with_many("ratings", ratings);
        }
        M::new(id, "shoe", attributes)
    };
    (0..count).map(shoe).collect()
}

fn numbers<F>(attributes: &Attributes<F>, name: &str) -> Vec<f64> {
    let values = attributes
        .get(name)
        .map(|held| held.values().to_vec())
        .unwrap_or_default();
    let number = |value: &Value| match value {
        Value::Integer(number) => *number as f64,
        Value::Number(number) => *number,
        other => panic!("{other:?}"),
    };
    values.iter().map(|given| number(&given.value)).collect()
}

async fn filters_find_in_both_forms_what_a_scan_finds(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let catalog = catalog::<M>(db);
        catalog.sync_indexes().await.unwrap();
        for product in shoes::<M>(120) {
            catalog.insert(product).await.unwrap();
        }
        let all = catalog.collection().find_all().await.unwrap();
        type Test<M> = Box<dyn Fn(&M) -> bool>;
        let asked = |name: &str| catalog.attribute(name).unwrap();
        let is = |name: &'static str, test: fn(f64) -> bool| -> Test<M> {
            Box::new(move |product| numbers(product.attributes(), name).into_iter().any(test))
        };
        let kilos = |number: f64| Quantity::new(number, "kg");
        let red: Test<M> = Box::new(|product| {
            let held = product.attributes().get("color").unwrap();
            held.values()[0].value == Value::from("red")
        });
        let cases: Vec<(Filter<M>, Test<M>)> = vec![
            (asked("color").eq("red").unwrap(), red),
            (asked("size").eq(40).unwrap(), is("size", |size| size == 40.0)),
            (
                asked("size").is_in([36, 39, 99]).unwrap(),
                is("size", |size| [36.0, 39.0].contains(&size)),
            ),
            (
                asked("size").range(38..41).unwrap(),
                is("size", |size| (38.0..41.0).contains(&size)),
            ),
            (
                asked("size").range(..=37).unwrap(),
                is("size", |size| size <= 37.0),
            ),
            (asked("size").range::<i32>(..).unwrap(), is("size", |_| true)),
            (asked("weight").exists(), is("weight", |_| true)),
            // The same in whichever unit.
            (
                asked("weight").eq(Quantity::new(300, "g")).unwrap(),
                is("weight", |w| (w - 0.3).abs() < 1e-9),
            ),
            (
                asked("weight").is_in([kilos(0.3), kilos(1.0)]).unwrap(),
                is("weight", |w| (w - 0.3).abs() < 1e-9 || (w - 1.0).abs() < 1e-9),
            ),
            (
                asked("weight").range(kilos(0.55)..kilos(1.25)).unwrap(),
                is("weight", |w| (0.55..1.25).contains(&w)),
            ),
            // One value within, not one above and another below.
            (
                asked("ratings").range(2..4).unwrap(),
                is("ratings", |rating| (2.0..4.0).contains(&rating)),
            ),
            (
                asked("ratings").eq(5).unwrap(),
                is("ratings", |rating| rating == 5.0),
            ),
        ];
        let ids = |products: Vec<M>| {
            let mut ids: Vec<i32> = products.iter().map(|product| *product.key()).collect();
            ids.sort_unstable();
            ids
        };
        let mut hits = 0;
        for (at, (filter, test)) in cases.iter().enumerate() {
            let expected = ids(all.iter().filter(|product| test(product)).cloned().collect());
            let found = catalog.collection().find(|_| filter.clone()).await.unwrap();
            assert_eq!(ids(found), expected, "case {at}");
            hits += expected.len();
            // All of several.
            let (other, other_test) = &cases[(at + 5) % cases.len()];
            let expected = ids(all
                .iter()
                .filter(|product| test(product) && other_test(product))
                .cloned()
                .collect());
            let found = catalog
                .collection()
                .find(|_| filter.clone() & other.clone())
                .await
                .unwrap();
            assert_eq!(ids(found), expected, "case {at} with another");
        }
        assert!(hits > 200);
        // Never an empty answer for want of a type.
        assert_eq!(asked("size").eq("40").unwrap_err().kind(), ErrorKind::Validation);
        assert_eq!(
            asked("weight").range(..2).unwrap_err().kind(),
            ErrorKind::Validation
        );
        let error = catalog.attribute("colour").unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some("colour"))
        );
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}

async fn filters_use_the_indexes(db: &Db) {
    async fn check<M: Product>(db: &Db, expected: &[&str]) {
        let catalog = catalog::<M>(db);
        catalog.insert(M::new(1, "shoe", shoe("red"))).await.unwrap();
        catalog.sync_indexes().await.unwrap();
        catalog.sync_indexes().await.unwrap();
        let indexes = catalog.collection().list_indexes().await.unwrap();
        let mut names: Vec<&str> = indexes.iter().map(|index| index.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected);
        let strict = catalog.on(&db.refuse_scans());
        for filter in [
            strict.attribute("color").unwrap().eq("red").unwrap(),
            strict.attribute("size").unwrap().range(30..40).unwrap(),
            strict
                .attribute("weight")
                .unwrap()
                .range(..Quantity::new(1, "kg"))
                .unwrap(),
            strict.attribute("tags").unwrap().is_in(["a", "b"]).unwrap(),
            strict.attribute("color").unwrap().exists(),
        ] {
            strict.collection().find(|_| filter).await.unwrap();
        }
        db.drop_collection("products").await.unwrap();
    }
    let scoped = [
        "_id_",
        "attributes.color_1",
        "attributes.dimmed_1",
        "attributes.price_1",
        "attributes.ratings_1",
        "attributes.since_1",
        "attributes.size_1",
        "attributes.tags_1",
        "attributes.weight.v_1",
    ];
    check::<ScopedProduct>(db, &scoped).await;
    check::<ListedProduct>(db, &["_id_", "attributes.n_1_attributes.v_1"]).await;
}

async fn facets_count_each_product_once(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let (db, log) = db.logged();
        let catalog = catalog::<M>(&db);
        for product in shoes::<M>(60) {
            catalog.insert(product).await.unwrap();
        }
        let all = catalog.collection().find_all().await.unwrap();
        let red =
            |product: &M| product.attributes().get("color").unwrap().values()[0].value == Value::from("red");
        let large = |product: &M| {
            numbers(product.attributes(), "size")
                .iter()
                .any(|size| *size >= 40.0)
        };
        log.take();
        let facets = catalog
            .facets()
            .among(Filter::raw(doc! {"type": "shoe"}))
            .chosen("color", catalog.attribute("color").unwrap().eq("red").unwrap())
            .chosen("size", catalog.attribute("size").unwrap().range(40..).unwrap())
            .values("color", 10)
            .unwrap()
            .values("size", 3)
            .unwrap()
            .ranges(
                "weight",
                [
                    Quantity::new(500, "g"),
                    Quantity::new(1, "kg"),
                    Quantity::new(1.5, "kg"),
                ],
            )
            .unwrap()
            .ranges("ratings", [1, 4])
            .unwrap()
            .count()
            .await
            .unwrap();
        assert_eq!(log.take().len(), 1);
        // What was chosen counts for the others.
        let total = |facet: usize| {
            facets[facet]
                .values
                .iter()
                .map(|(_, count)| *count as usize)
                .sum::<usize>()
        };
        assert_eq!(total(0), all.iter().filter(|product| large(product)).count());
        let mut sizes = std::collections::BTreeMap::new();
        for product in all.iter().filter(|product| red(product)) {
            for size in numbers(product.attributes(), "size") {
                *sizes.entry(size as i64).or_insert(0_u64) += 1;
            }
        }
        let mut expected: Vec<(Value, u64)> = sizes
            .into_iter()
            .map(|(size, count)| (Value::from(size), count))
            .collect();
        expected.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        expected.truncate(3);
        assert_eq!(facets[1].values, expected);
        let both: Vec<&M> = all
            .iter()
            .filter(|product| red(product) && large(product))
            .collect();
        let count = |name: &str, low: f64, high: f64| {
            let within = |product: &&&M| {
                numbers(product.attributes(), name)
                    .iter()
                    .any(|own| (low..high).contains(own))
            };
            both.iter().filter(within).count() as u64
        };
        let ranges: Vec<u64> = facets[2].ranges.iter().map(|(.., count)| *count).collect();
        assert_eq!(ranges, [count("weight", 0.5, 1.0), count("weight", 1.0, 1.5)]);
        assert_eq!(
            facets[2].beyond,
            count("weight", 0.0, 0.5) + count("weight", 1.5, 9.0)
        );
        let ratings: Vec<u64> = facets[3].ranges.iter().map(|(.., count)| *count).collect();
        assert_eq!(ratings, [count("ratings", 1.0, 4.0)]);
        let facets = catalog
            .facets()
            .ranges("size", [100, 200, 300])
            .unwrap()
            .count()
            .await
            .unwrap();
        assert_eq!(
            facets[0]
                .ranges
                .iter()
                .map(|(.., count)| *count)
                .collect::<Vec<_>>(),
            [0, 0]
        );
        for bounds in [vec![1], vec![2, 1], vec![]] {
            let error = catalog.facets().ranges("size", bounds).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}

async fn forms_are_converted_beside_writers(db: &Db) {
    async fn check<Old: Product, New: Product>(db: &Db) {
        let (old, new) = (catalog::<Old>(db), catalog::<New>(db).in_both_forms());
        for product in shoes::<Old>(40) {
            old.insert(product).await.unwrap();
        }
        let before = old.collection().find_all().await.unwrap();
        let red = old.attribute("color").unwrap().eq("red").unwrap();
        let expected = old.collection().find(|_| red).await.unwrap().len();
        assert_eq!(new.unconverted().await.unwrap(), 40);
        // It dies on the way, and somebody else goes on.
        let (faulty, faults) = db.faulty();
        faults.add(odm::backend::wrap::Fault::nth_write(15).crash());
        assert!(new.on(&faulty).convert().await.is_err());
        assert_eq!(new.unconverted().await.unwrap(), 26);
        let red = || new.attribute("color").unwrap().eq("red").unwrap();
        assert_eq!(new.collection().find(|_| red()).await.unwrap().len(), expected);
        // A product of the other form is not changed by half.
        let error = new.set(39, "size", 40).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let (converted, ()) = futures_util::future::join(new.convert(), async {
            for id in 20..40 {
                old.set(id, "size", 33).await.ok();
            }
        })
        .await;
        assert!(converted.unwrap().changed <= 26);
        assert_eq!(new.convert().await.unwrap().left, 0);
        assert_eq!(new.unconverted().await.unwrap(), 0);
        assert_eq!(catalog::<New>(db).verify().await.unwrap(), []);
        let after = new.collection().find_all().await.unwrap();
        for (before, after) in before.iter().zip(&after).take(20) {
            for (name, held) in before.attributes().iter() {
                assert_eq!(after.attributes().get(name).unwrap().values(), held.values());
            }
        }
        assert_eq!(new.collection().find(|_| red()).await.unwrap().len(), expected);
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct, ListedProduct>(db).await;
    check::<ListedProduct, ScopedProduct>(db).await;
}

async fn wrong_products_are_found_and_repaired(db: &Db) {
    let catalog = catalog::<ScopedProduct>(db);
    let raw = db.raw_collection("products");
    let attributes: [Document; 6] = [
        doc! {"color": "red", "size": 42_i64},
        doc! {"size": "42", "hat": 1_i64},
        doc! {"color": "red", "weight": {"v": 9.0, "g": 1500.0, "u": "g"}},
        doc! {"color": "red", "tags": "a"},
        doc! {"color": "red", "size": {"deep": {"er": 1}}},
        doc! {"color": "red", "ratings": [1.0, 1.0]},
    ];
    for (id, attributes) in (0..).zip(attributes) {
        raw.insert(doc! {"_id": id, "type": "shoe", "attributes": attributes})
            .await
            .unwrap();
    }
    raw.insert(doc! {"_id": 6, "type": "hat", "attributes": {}})
        .await
        .unwrap();
    raw.insert(doc! {"_id": 7, "type": "shoe", "attributes": [{"n": "color", "v": "red"}]})
        .await
        .unwrap();
    let problems = catalog.verify().await.unwrap();
    let of = |id: i32| -> Vec<&ProductProblemKind> {
        let of = problems.iter().filter(|problem| problem.id == Bson::Int32(id));
        of.map(|problem| &problem.kind).collect()
    };
    assert!(of(0).is_empty());
    assert_eq!(of(1).len(), 3);
    assert_eq!(of(2), [&ProductProblemKind::NotNormal("weight".into())]);
    assert_eq!(of(3), [&ProductProblemKind::NotNormal("tags".into())]);
    assert_eq!(of(4), [&ProductProblemKind::Malformed]);
    assert_eq!(of(5), [&ProductProblemKind::NotNormal("ratings".into())]);
    assert_eq!(of(6), [&ProductProblemKind::UnknownType("hat".into())]);
    assert_eq!(of(7), [&ProductProblemKind::OtherForm]);
    let repaired = catalog.repair().await.unwrap();
    assert_eq!((repaired.changed, repaired.left), (4, 1));
    assert_eq!(catalog.repair().await.unwrap().changed, 0);
    let weight = stored(db, 2).await;
    assert_eq!(
        weight
            .as_document()
            .unwrap()
            .get_document("weight")
            .unwrap()
            .get_f64("v")
            .unwrap(),
        1.5
    );
    let left: Vec<Bson> = catalog
        .verify()
        .await
        .unwrap()
        .into_iter()
        .map(|problem| problem.id)
        .collect();
    let expected = [1, 1, 1, 4, 6].map(Bson::Int32);
    assert_eq!(left, expected);
}

async fn definitions_that_cannot_be_are_refused(db: &Db) {
    let refused = |types: Vec<ProductType>| {
        let error = Catalog::<ScopedProduct>::new(db, types, units()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    };
    let of = |definition: Definition| ProductType::new("a").attribute(definition);
    refused(vec![of(Definition::text("a.b"))]);
    refused(vec![of(Definition::text("$a"))]);
    refused(vec![of(Definition::text(""))]);
    refused(vec![of(Definition::measure("a", "furlong"))]);
    refused(vec![of(Definition::integer("a").at_least("x"))]);
    refused(vec![of(Definition::text("a")).attribute(Definition::text("a"))]);
    refused(vec![of(Definition::text("a")), of(Definition::text("b"))]);
    refused(vec![
        of(Definition::text("a")),
        ProductType::new("b").attribute(Definition::integer("a")),
    ]);
    refused(vec![
        of(Definition::text("a")),
        ProductType::new("b").attribute(Definition::text("a").many()),
    ]);
}
