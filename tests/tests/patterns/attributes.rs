//! Dynamic attributes: both forms answer alike.

use bson::{Bson, Document, doc};
use odm::{Db, ErrorKind};
use odm_patterns::attributes::{
    AttributeProblemKind, Attributes, Catalog, Definition, Form, Kind, ProductProblemKind, ProductType,
    Quantity, Rejected, Value,
};

use super::attributes_model::{ListedProduct, Product, ScopedProduct, catalog, shoe, shoes, units};

crate::on_every_backend! {
    forms_are_those_of_the_manual,
    products_are_as_their_type_defines,
    one_attribute_is_changed_by_one_write,
    a_part_of_an_attribute_is_no_attribute,
    forms_are_converted_beside_writers,
    wrong_products_are_found_and_repaired,
    definitions_that_cannot_be_are_refused,
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
        for number in [f64::NAN, f64::INFINITY] {
            let heavy = shoe("red").with("weight", Quantity::new(number, "kg"));
            assert_eq!(refused("shoe", heavy).await, one("weight", Wrong::NotFinite));
        }
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
            (ErrorKind::InvalidArgument, Some("type"))
        );
        assert_eq!(
            (error.model(), error.id()),
            (Some(M::DESCRIPTOR.name), Some(&Bson::Int32(9)))
        );
        // The error says it all, without its source.
        let error = catalog
            .insert(M::new(8, "shoe", Attributes::new().with("size", 51)))
            .await;
        let error = error.unwrap_err();
        assert_eq!(
            (error.model(), error.id()),
            (Some(M::DESCRIPTOR.name), Some(&Bson::Int32(8)))
        );
        let violations = error.violations().iter();
        let violations: Vec<_> = violations.map(|v| (v.path.as_str(), v.rule)).collect();
        assert_eq!(
            violations,
            [("attributes.color", "required"), ("attributes.size", "range")]
        );
        assert_eq!(error.path(), Some("attributes.color"));
        assert!(
            error
                .to_string()
                .contains("color is missing, size is out of range"),
            "{error}"
        );
        let missing = catalog.set(77, "size", 40).await.unwrap_err();
        assert_eq!(
            (missing.kind(), missing.model(), missing.id()),
            (
                ErrorKind::NotFound,
                Some(M::DESCRIPTOR.name),
                Some(&Bson::Int32(77))
            )
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

async fn a_part_of_an_attribute_is_no_attribute(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let catalog = catalog::<M>(db);
        let weighed = shoe("red").with("weight", Quantity::new(700, "g"));
        catalog.insert(M::new(1, "shoe", weighed)).await.unwrap();
        let open = Attributes::new().with("anything", true);
        catalog.insert(M::new(2, "oddity", open)).await.unwrap();
        let before = [stored(db, 1).await, stored(db, 2).await];
        for id in [1, 2] {
            for name in ["weight.v", "anything.more", "", "$set", "a\0b"] {
                let expected = [(name.to_owned(), AttributeProblemKind::Unknown)];
                let error = catalog.set(id, name, -1).await.unwrap_err();
                assert_eq!(problems(&error), expected);
                let error = catalog.set_many(id, name, [-1]).await.unwrap_err();
                assert_eq!(problems(&error), expected);
                // In a list the name is a value.
                match catalog.unset(id, name).await {
                    Err(error) => assert_eq!(problems(&error), expected),
                    Ok(()) => assert!(<M::Form as Form>::IS_LIST),
                }
            }
        }
        assert_eq!([stored(db, 1).await, stored(db, 2).await], before);
        let error = catalog.set(7, "weight.v", 1).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
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
    // A number that is none is wrong, and as it is stored.
    raw.insert(doc! {"_id": 8, "type": "shoe", "attributes": {"color": "red", "size": f64::NAN}})
        .await
        .unwrap();
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
    let expected = [1, 1, 1, 4, 6, 8].map(Bson::Int32);
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
