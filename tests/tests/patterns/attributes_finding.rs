//! Products that are found and counted by their attributes.

use bson::doc;
use odm::{Db, ErrorKind, Filter};
use odm_patterns::attributes::{Attributes, Quantity, Value};

use super::attributes_model::{ListedProduct, Product, ScopedProduct, catalog, shoe, shoes};

crate::on_every_backend! {
    filters_find_in_both_forms_what_a_scan_finds,
    filters_use_the_indexes,
    facets_count_each_product_once,
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
