//! Products of both forms side by side, of any kind of `_id`, and measures whose units have zeros of their own.

use std::collections::BTreeMap;

use bson::oid::ObjectId;
use bson::{Bson, Document, doc};
use odm::{Db, Model};
use odm_patterns::attributes::{
    AttributeFields, Attributed, Attributes, Catalog, Definition, Listed, ProductType, Quantity, Units, Value,
};
use serde::{Deserialize, Serialize};

use super::attributes_model::{ListedProduct, Product, ScopedProduct, catalog, shoe, shoes};

crate::on_every_backend! {
    facets_count_products_of_both_forms,
    names_of_the_stored_shape_are_names_of_attributes_too,
    a_product_with_values_on_both_sides_of_all_ranges_is_one,
    products_are_converted_whatever_their_keys_are,
    a_measure_is_the_same_from_whatever_zero,
}

/// The values of a facet, in an order that does not depend on that of equal counts.
fn counts(values: &[(Value, u64)]) -> BTreeMap<String, u64> {
    let counted = values.iter().map(|(value, count)| (value.to_string(), *count));
    counted.collect()
}

async fn facets_count_products_of_both_forms(db: &Db) {
    async fn check<M: Product, O: Product>(db: &Db) {
        let (own, other) = (catalog::<M>(db), catalog::<O>(db));
        own.sync_indexes().await.unwrap();
        let tagged = |id: i32| match id % 3 {
            0 => vec!["new"],
            1 => vec!["new", "sale"],
            _ => vec!["sale", "last", "old"],
        };
        for (product, twin) in shoes::<M>(60).into_iter().zip(shoes::<O>(60)) {
            let id = *product.key();
            match id % 2 {
                0 => own.insert(product).await.unwrap(),
                _ => other.insert(twin).await.unwrap(),
            };
            match id % 2 {
                0 => own.set_many(id, "tags", tagged(id)).await.unwrap(),
                _ => other.set_many(id, "tags", tagged(id)).await.unwrap(),
            }
        }
        assert_eq!(own.unconverted().await.unwrap(), 30);
        let both = own.clone().in_both_forms();
        let facets = async |catalog: &Catalog<M>| {
            let red = catalog.attribute("color").unwrap().eq("red").unwrap();
            let kilos = [0.5, 1.0, 1.5].map(|kilos| Quantity::new(kilos, "kg"));
            let facets = catalog
                .facets()
                .chosen("color", red)
                .values("color", 10)
                .unwrap()
                .values("size", 20)
                .unwrap()
                .values("tags", 10)
                .unwrap()
                .values("ratings", 10)
                .unwrap()
                .ranges("weight", kilos)
                .unwrap()
                .ranges("ratings", [1, 3, 5])
                .unwrap()
                .count()
                .await
                .unwrap();
            let told = facets.into_iter().map(|facet| {
                let ranges: Vec<u64> = facet.ranges.iter().map(|(.., count)| *count).collect();
                (facet.attribute, counts(&facet.values), ranges, facet.beyond)
            });
            told.collect::<Vec<_>>()
        };
        let meanwhile = facets(&both).await;
        assert_eq!(own.convert().await.unwrap().changed, 30);
        assert_eq!(meanwhile, facets(&own).await);
        assert_eq!(meanwhile, facets(&both).await);
        assert_eq!(meanwhile[0].1.values().sum::<u64>(), 60);
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct, ListedProduct>(db).await;
    check::<ListedProduct, ScopedProduct>(db).await;
}

/// An entry of the list has `n`, `v`, `g` and `u`, which are good names for attributes.
async fn names_of_the_stored_shape_are_names_of_attributes_too(db: &Db) {
    fn typed<M: Product>(db: &Db) -> Catalog<M> {
        let part = ["n", "v", "g", "u", "other"]
            .into_iter()
            .fold(ProductType::new("part"), |part, name| {
                part.attribute(Definition::text(name))
            });
        Catalog::new(db, [part], Units::new()).unwrap()
    }
    async fn check<M: Product>(db: &Db) {
        let (scoped, listed) = (typed::<ScopedProduct>(db), typed::<ListedProduct>(db));
        typed::<M>(db).sync_indexes().await.unwrap();
        let attributes = Attributes::new().with("v", "v").with("n", "one");
        scoped
            .insert(ScopedProduct::new(1, "part", attributes))
            .await
            .unwrap();
        let attributes = Attributes::new().with("other", "v").with("n", "two");
        listed
            .insert(ListedProduct::new(2, "part", attributes))
            .await
            .unwrap();
        let both = typed::<M>(db).in_both_forms();
        for (name, value, expected) in [
            ("v", "v", vec![1]),
            ("n", "other", vec![]),
            ("n", "two", vec![2]),
            ("n", "one", vec![1]),
            ("other", "v", vec![2]),
        ] {
            let filter = both.attribute(name).unwrap().eq(value).unwrap();
            let found = both.collection().find(|_| filter.clone()).await.unwrap();
            let found: Vec<i32> = found.iter().map(|product| *product.key()).collect();
            assert_eq!(found, expected, "{name} {value}");
        }
        for (name, expected) in [("v", 1), ("n", 2), ("g", 0), ("other", 1)] {
            let filter = both.attribute(name).unwrap().exists();
            assert_eq!(both.collection().count(|_| filter).await.unwrap(), expected);
            let facets = both.facets().values(name, 9).unwrap().count().await.unwrap();
            assert_eq!(
                counts(&facets[0].values).values().sum::<u64>(),
                expected,
                "{name}"
            );
        }
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}

async fn a_product_with_values_on_both_sides_of_all_ranges_is_one(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let catalog = catalog::<M>(db);
        let rated = |id, ratings: &[i32]| {
            let ratings = ratings.iter().map(|rating| Value::from(*rating));
            M::new(id, "shoe", shoe("red").with_many("ratings", ratings))
        };
        for product in [
            rated(1, &[1, 100]),
            rated(2, &[1, 15, 100]),
            rated(3, &[12, 25]),
            rated(4, &[20, 30]),
        ] {
            catalog.insert(product).await.unwrap();
        }
        for catalog in [catalog.clone(), catalog.in_both_forms()] {
            let facets = catalog.facets().ranges("ratings", [10, 20]).unwrap();
            let facets = facets.count().await.unwrap();
            let ranges: Vec<u64> = facets[0].ranges.iter().map(|(.., count)| *count).collect();
            assert_eq!((ranges, facets[0].beyond), (vec![2], 4));
        }
        db.drop_collection("products").await.unwrap();
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}

/// A model whose documents have `_id`s of several types.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: Bson,
    kind: String,
    attributes: Attributes<Listed>,
}

impl Attributed for Thing {
    type Form = Listed;

    fn attribute_fields(t: Self::Fields<Self>) -> AttributeFields<Self> {
        AttributeFields::new(&t.kind, &t.attributes)
    }

    fn product_type(&self) -> &str {
        &self.kind
    }

    fn attributes(&self) -> &Attributes<Listed> {
        &self.attributes
    }

    fn attributes_mut(&mut self) -> &mut Attributes<Listed> {
        &mut self.attributes
    }
}

async fn products_are_converted_whatever_their_keys_are(db: &Db) {
    let catalog = |grams: f64| {
        let units = Units::new().unit("kg", "mass", 1.0).unit("g", "mass", grams);
        let thing = ProductType::new("thing").attribute(Definition::measure("weight", "kg"));
        Catalog::<Thing>::new(db, [thing], units).unwrap()
    };
    let mut keys: Vec<Bson> = (0..500).map(Bson::Int32).collect();
    keys.extend([Bson::Null, "a".into(), "b".into(), true.into()]);
    keys.extend([doc! { "a": 1 }.into(), ObjectId::new().into()]);
    let stored = keys.iter().map(|id| {
        let weight = doc! { "v": 1.5, "g": 1500.0, "u": "g" };
        doc! { "_id": id, "kind": "thing", "attributes": { "weight": weight } }
    });
    let stored: Vec<Document> = stored.collect();
    db.raw_collection("things").insert_many(&stored).await.unwrap();
    let first = catalog(0.001);
    assert_eq!(first.unconverted().await.unwrap(), 506);
    let done = first.convert().await.unwrap();
    assert_eq!((done.changed, done.left), (506, 0));
    assert_eq!(first.unconverted().await.unwrap(), 0);
    assert!(first.verify().await.unwrap().is_empty());
    // All of them match when the table of units was wrong.
    let second = catalog(0.002);
    assert_eq!(second.verify().await.unwrap().len(), 506);
    let done = second.repair().await.unwrap();
    assert_eq!((done.changed, done.left), (506, 0));
    assert!(second.verify().await.unwrap().is_empty());
    assert_eq!(second.repair().await.unwrap().changed, 0);
}

async fn a_measure_is_the_same_from_whatever_zero(db: &Db) {
    async fn check<M: Product>(db: &Db) {
        let units = || {
            Units::new()
                .unit("K", "temperature", 1.0)
                .shifted("°C", "temperature", 1.0, 273.15)
                .shifted("°F", "temperature", 5.0 / 9.0, 459.67 * 5.0 / 9.0)
                .unit("m", "length", 1.0)
        };
        for unit in ["K", "°C", "°F"] {
            let oven = ProductType::new("oven")
                .attribute(Definition::measure("heat", unit))
                .attribute(Definition::measure("length", "m"));
            let catalog = Catalog::<M>::new(db, [oven], units()).unwrap();
            let alike = [
                (1, vec![(0.01, "°C"), (273.16, "K"), (32.018, "°F")]),
                (2, vec![(-459.67, "°F"), (0.0, "K"), (-273.15, "°C")]),
                (3, vec![(32.0, "°F"), (273.15, "K"), (0.0, "°C")]),
                (4, vec![(0.0, "°F"), (459.67 * 5.0 / 9.0, "K")]),
                (5, vec![(200.0, "°C"), (392.0, "°F")]),
                (6, vec![(0.010_001, "°C")]),
            ];
            for (group, quantities) in &alike {
                for (at, (number, unit)) in quantities.iter().enumerate() {
                    let heat = Quantity::new(*number, *unit);
                    let product = M::new(
                        group * 10 + at as i32,
                        "oven",
                        Attributes::new().with("heat", heat),
                    );
                    catalog.insert(product).await.unwrap();
                }
            }
            for (group, quantities) in &alike {
                let expected: Vec<i32> = (0..quantities.len() as i32).map(|at| group * 10 + at).collect();
                for (number, unit) in quantities {
                    let heat = Quantity::new(*number, *unit);
                    let asked = catalog.attribute("heat").unwrap();
                    for filter in [asked.eq(heat.clone()).unwrap(), asked.is_in([heat]).unwrap()] {
                        let found = catalog
                            .collection()
                            .find(|_| filter)
                            .sort(|_| M::key_field().asc());
                        let found: Vec<i32> = found.await.unwrap().iter().map(|own| *own.key()).collect();
                        assert_eq!(found, expected, "{number} {unit}");
                    }
                }
            }
            // Units that begin at the same zero are as exact as ever.
            let long = |id, length: f64| {
                M::new(
                    id,
                    "oven",
                    Attributes::new().with("length", Quantity::new(length, "m")),
                )
            };
            catalog.insert(long(100, 0.0)).await.unwrap();
            catalog.insert(long(101, 1e-15)).await.unwrap();
            let none = catalog
                .attribute("length")
                .unwrap()
                .eq(Quantity::new(0, "m"))
                .unwrap();
            assert_eq!(catalog.collection().count(|_| none).await.unwrap(), 1);
            db.drop_collection("products").await.unwrap();
        }
    }
    check::<ScopedProduct>(db).await;
    check::<ListedProduct>(db).await;
}
