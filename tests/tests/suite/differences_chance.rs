//! What random commands found to differ when they began elsewhere.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, bson, doc};
use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    the_second_argument_of_a_difference_fails_first,
    a_position_in_a_constant_that_is_no_array_is_refused_before_the_run,
    the_first_values_are_not_looked_for_behind_them,
    early_groups_add_doubles_to_decimals_with_fifteen_digits,
    what_is_not_in_null_alone_is_there,
}

async fn aggregate(db: &Db, pipeline: Vec<Document>) -> Vec<Document> {
    batch(&run(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await)
}

async fn refused(db: &Db, pipeline: Vec<Document>) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
}

async fn the_second_argument_of_a_difference_fails_first(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let (length, size) = (bson!({ "$strLenCP": "$missing" }), bson!({ "$size": "$missing" }));
    for (operator, first, second) in [
        ("$subtract", 17124, 34471),
        ("$divide", 17124, 34471),
        ("$mod", 34471, 17124),
        ("$pow", 34471, 17124),
    ] {
        let of = |arguments: [&Bson; 2]| {
            vec![doc! { "$project": { "x": { operator: arguments.map(Bson::clone).to_vec() } } }]
        };
        assert_eq!(refused(db, of([&length, &size])).await, first, "{operator}");
        assert_eq!(refused(db, of([&size, &length])).await, second, "{operator}");
        assert_eq!(refused(db, of([&length, &Bson::Null])).await, 34471, "{operator}");
    }
}

async fn a_position_in_a_constant_that_is_no_array_is_refused_before_the_run(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for (array, expected) in [
        (bson!({}), 50809),
        (bson!("q"), 50809),
        (bson!(1), 50809),
        (Bson::Null, 0),
    ] {
        let position = doc! { "$indexOfArray": [array.clone(), "$a"] };
        assert_eq!(
            refused(db, vec![doc! { "$project": { "x": position } }]).await,
            expected,
            "{array}"
        );
    }
    let position = doc! { "$indexOfArray": [{ "$literal": {} }, 1] };
    assert_eq!(
        refused(db, vec![doc! { "$project": { "x": position } }]).await,
        40090
    );
}

async fn the_first_values_are_not_looked_for_behind_them(db: &Db) {
    let texts = [bson!("a"), bson!("b"), bson!({})];
    let documents = texts
        .into_iter()
        .zip(1..)
        .map(|(text, id)| doc! { "_id": id, "s": text });
    insert(db, "c", documents.collect()).await;
    let first = |count: i32| {
        let values = doc! { "$firstN": { "input": { "$strcasecmp": ["", "$s"] }, "n": count } };
        vec![
            doc! { "$sort": { "_id": 1 } },
            doc! { "$group": { "_id": Bson::Null, "w": values } },
        ]
    };
    assert_eq!(
        aggregate(db, first(1)).await,
        [doc! { "_id": Bson::Null, "w": [-1] }]
    );
    // That there are more shows with the one behind them.
    assert_eq!(refused(db, first(2)).await, 16007);
}

async fn early_groups_add_doubles_to_decimals_with_fifteen_digits(db: &Db) {
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().unwrap());
    insert(db, "c", vec![doc! { "_id": 1, "n": 1.0 }]).await;
    for (arguments, expected) in [
        (vec![bson!("$n"), decimal("3")], "4.00000000000000"),
        (vec![decimal("3"), bson!("$n")], "4.00000000000000"),
        (vec![bson!("$n"), bson!(3_i64), decimal("1")], "5.00000000000000"),
    ] {
        let sum = doc! { "$push": { "$add": arguments } };
        let groups = aggregate(db, vec![doc! { "$group": { "_id": 0, "w": sum } }]).await;
        assert_eq!(groups, [doc! { "_id": 0, "w": [decimal(expected)] }]);
    }
}

async fn what_is_not_in_null_alone_is_there(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "a": 1 },
            doc! { "_id": 2, "a": Bson::Null },
            doc! { "_id": 3 },
        ],
    )
    .await;
    let index = doc! { "key": { "$**": 1 }, "name": "all" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for filter in [
        doc! { "a": { "$nin": [Bson::Null] } },
        doc! { "a": { "$not": { "$in": [Bson::Null] } } },
    ] {
        let found = run(db, doc! { "find": "c", "filter": filter, "hint": "all" }).await;
        assert_eq!(ids(&batch(&found)), [1]);
    }
    let two = doc! { "find": "c", "filter": { "a": { "$nin": [Bson::Null, 1] } }, "hint": "all" };
    assert_eq!(code(db, two).await, 291);
}
