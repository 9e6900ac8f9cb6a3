//! What constants are computed before the run, and by which collation, time and variables.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, code, insert, run};

crate::on_every_backend! {
    strings_of_constants_compare_by_the_collation_of_what_is_read,
    commands_that_do_not_know_what_they_read_compare_constants_by_bytes,
    what_is_known_of_time_and_variables_is_computed_before_the_run,
    counts_of_collections_know_no_time,
    what_a_join_computes_waits_for_a_document,
    variables_of_a_command_compare_strings_by_its_collation,
    constants_of_unions_keep_their_place_by_a_collation,
    validators_and_views_are_not_evaluated_when_they_are_given,
    groups_that_read_nothing_or_come_with_arrays_in_let_are_not_early,
    keys_of_hashed_indexes_are_not_computed_before_the_run,
    constants_are_told_before_options_that_a_view_does_not_take,
    stages_that_ask_for_constants_take_those_of_the_command,
    variables_of_a_join_are_no_constants,
}

fn strength() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

/// Divides by zero where the two strings are equal.
fn unless_equal() -> Document {
    doc! { "$divide": [1, { "$add": [{ "$cmp": ["a", "A"] }, 0] }] }
}

fn by_zero() -> Document {
    doc! { "$divide": [1, 0] }
}

fn aggregate(stage: Document) -> Document {
    doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }
}

fn of_let(mut command: Document, value: impl Into<Bson>) -> Document {
    command.insert("let", doc! { "v": value.into() });
    command
}

async fn strings_of_constants_compare_by_the_collation_of_what_is_read(db: &Db) {
    let commands = || {
        let wrong = unless_equal;
        vec![
            doc! { "find": "c", "filter": { "$expr": wrong() } },
            doc! { "find": "c", "projection": { "x": wrong() } },
            aggregate(doc! { "$match": { "$expr": wrong() } }),
            aggregate(doc! { "$project": { "x": wrong() } }),
            aggregate(doc! { "$group": { "_id": wrong() } }),
            aggregate(doc! { "$redact": wrong() }),
            aggregate(doc! { "$facet": { "x": [{ "$project": { "x": wrong() } }] } }),
            aggregate(doc! { "$unionWith": { "coll": "d", "pipeline": [{ "$project": { "x": wrong() } }] } }),
            aggregate(doc! { "$bucketAuto": { "groupBy": wrong(), "buckets": 2 } }),
            aggregate(doc! { "$fill": { "output": { "x": { "value": wrong() } } } }),
            aggregate(doc! { "$setWindowFields": { "output": { "x": { "$sum": wrong() } } } }),
        ]
    };
    for command in commands() {
        assert_eq!(code(db, command.clone()).await, 0, "{command}");
        let mut collated = command.clone();
        collated.insert("collation", strength());
        assert_eq!(code(db, collated).await, 2, "{command}");
    }
    run(db, doc! { "create": "c", "collation": strength() }).await;
    for command in commands() {
        assert_eq!(code(db, command.clone()).await, 2, "{command}");
        if command.contains_key("find") {
            let explain = doc! { "explain": { "find": "c", "filter": { "$expr": unless_equal() } } };
            assert_eq!(code(db, explain).await, 2);
        }
        let mut simple = command.clone();
        simple.insert("collation", doc! { "locale": "simple" });
        assert_eq!(code(db, simple).await, 0, "{command}");
    }
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let equal = doc! { "find": "c", "filter": { "$expr": { "$eq": ["a", "A"] } } };
    assert_eq!(batch(&run(db, equal).await), [doc! { "_id": 1 }]);
}

async fn commands_that_do_not_know_what_they_read_compare_constants_by_bytes(db: &Db) {
    run(db, doc! { "create": "c", "collation": strength() }).await;
    insert(db, "c", vec![doc! { "_id": 1, "a": "x" }]).await;
    let equal = || doc! { "$expr": { "$eq": ["a", "A"] } };
    // What is read of the document compares by the collection's collation, but not the constants.
    let read = || doc! { "$expr": { "$eq": ["$a", "X"] } };
    for (filter, found) in [(equal(), 0), (read(), 1)] {
        let count = run(db, doc! { "count": "c", "query": filter.clone() }).await;
        assert_eq!(count.get_i32("n").unwrap(), found, "{filter}");
        let distinct = run(db, doc! { "distinct": "c", "key": "a", "query": filter.clone() }).await;
        assert_eq!(
            distinct.get_array("values").unwrap().len(),
            found as usize,
            "{filter}"
        );
        let update = doc! { "q": filter.clone(), "u": { "$set": { "b": 1 } } };
        let updated = run(db, doc! { "update": "c", "updates": [update] }).await;
        assert_eq!(updated.get_i32("n").unwrap(), found, "{filter}");
        let change = doc! { "findAndModify": "c", "query": filter.clone(), "update": { "$set": { "c": 1 } } };
        let changed = run(db, change).await;
        assert_eq!(changed.get_document("value").is_ok(), found == 1, "{filter}");
        let delete = doc! { "q": filter.clone(), "limit": 0 };
        let deleted = run(db, doc! { "delete": "c", "deletes": [delete] }).await;
        assert_eq!(deleted.get_i32("n").unwrap(), found, "{filter}");
    }
    let own = doc! { "count": "c", "query": { "$expr": unless_equal() } };
    assert_eq!(code(db, own.clone()).await, 0);
    let mut said = own;
    said.insert("collation", strength());
    assert_eq!(code(db, said).await, 2);
    // What is given back is computed with the collection.
    let fields = doc! { "findAndModify": "c", "query": {}, "update": { "$set": { "b": 1 } }, "upsert": true,
    "new": true, "fields": { "_id": 0, "t": { "$eq": ["a", "A"] } } };
    let value = run(db, fields).await;
    assert_eq!(value.get_document("value").unwrap(), &doc! { "t": true });
}

async fn what_is_known_of_time_and_variables_is_computed_before_the_run(db: &Db) {
    let of_time = || doc! { "$divide": [1, { "$subtract": ["$$NOW", "$$NOW"] }] };
    let of_variable = || doc! { "$divide": [1, "$$v"] };
    for (wrong, given) in [(of_time(), false), (of_variable(), true)] {
        for command in [
            doc! { "find": "c", "filter": { "$expr": wrong.clone() } },
            doc! { "find": "c", "projection": { "x": wrong.clone() } },
            doc! { "update": "c", "updates": [{ "q": { "$expr": wrong.clone() }, "u": { "$set": { "a": 1 } } }] },
            doc! { "delete": "c", "deletes": [{ "q": { "$expr": wrong.clone() }, "limit": 0 }] },
            doc! { "findAndModify": "c", "query": { "$expr": wrong.clone() }, "remove": true },
            aggregate(doc! { "$match": { "$expr": wrong.clone() } }),
            aggregate(doc! { "$project": { "x": wrong.clone() } }),
            aggregate(doc! { "$group": { "_id": wrong.clone() } }),
            aggregate(doc! { "$facet": { "x": [{ "$project": { "x": wrong.clone() } }] } }),
            aggregate(
                doc! { "$unionWith": { "coll": "d", "pipeline": [{ "$project": { "x": wrong.clone() } }] } },
            ),
        ] {
            let command = match given {
                true => of_let(command, 0),
                false => command,
            };
            assert_eq!(code(db, command.clone()).await, 2, "{command}");
        }
    }
    // The first fault is told, also where it waited for a variable.
    let wrong = doc! { "$multiply": [{ "$concat": ["$$v", "a"] }, { "$size": 5 }] };
    let command = of_let(aggregate(doc! { "$project": { "x": wrong } }), bson!(["a"]));
    assert_eq!(code(db, command).await, 16702);
    // That of a filter goes before those of the stages ahead of it.
    let stages = bson!([{ "$set": { "x": by_zero() } }, { "$match": { "$expr": { "$size": 5 } } }]);
    let command = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    assert_eq!(code(db, command).await, 17124);
    // The variables of an expression are its own.
    let own = doc! { "$map": { "input": [0], "in": { "$divide": [1, "$$this"] } } };
    assert_eq!(code(db, aggregate(doc! { "$project": { "x": own } })).await, 0);
    // Updates by a pipeline compute nothing before there is a document.
    let update = doc! { "q": {}, "u": [{ "$set": { "a": by_zero() } }] };
    assert_eq!(code(db, doc! { "update": "c", "updates": [update] }).await, 0);
    let fields = doc! { "findAndModify": "c", "query": {}, "update": { "$set": { "a": 1 } }, "fields": { "x": by_zero() } };
    assert_eq!(code(db, fields.clone()).await, 0);
    run(db, doc! { "create": "c" }).await;
    assert_eq!(code(db, fields).await, 2);
}

async fn counts_of_collections_know_no_time(db: &Db) {
    let filter = || doc! { "$expr": { "$gt": ["$$NOW", 0] } };
    let count = |name: &str| doc! { "count": name, "query": filter() };
    let distinct = |name: &str| doc! { "distinct": name, "key": "a", "query": filter() };
    for command in [count("c"), distinct("c")] {
        assert_eq!(code(db, command).await, 0);
    }
    insert(db, "c", vec![doc! { "_id": 1, "a": 5 }]).await;
    for command in [count("c"), distinct("c")] {
        assert_eq!(code(db, command).await, 51144);
    }
    run(db, doc! { "create": "view", "viewOn": "c", "pipeline": [] }).await;
    assert_eq!(run(db, count("view")).await.get_i32("n").unwrap(), 1);
    assert_eq!(
        run(db, distinct("view")).await.get_array("values").unwrap(),
        &[Bson::Int32(5)]
    );
}

async fn what_a_join_computes_waits_for_a_document(db: &Db) {
    let join = |inner: Document| {
        let mut lookup = doc! { "from": "d", "as": "x" };
        lookup.extend(inner);
        aggregate(doc! { "$lookup": lookup })
    };
    let graph = |own: Document| {
        let mut stage =
            doc! { "from": "d", "startWith": 1, "connectFromField": "a", "connectToField": "b", "as": "x" };
        stage.extend(own);
        aggregate(doc! { "$graphLookup": stage })
    };
    let commands = [
        join(doc! { "let": { "v": by_zero() }, "pipeline": [] }),
        join(doc! { "pipeline": [{ "$match": { "$expr": by_zero() } }] }),
        join(doc! { "pipeline": [{ "$project": { "x": by_zero() } }] }),
        join(doc! { "let": { "v": 0 }, "pipeline": [{ "$project": { "x": { "$divide": [1, "$$v"] } } }] }),
        join(doc! { "let": { "v": 0 }, "pipeline": [{ "$match": { "$expr": { "$divide": [1, "$$v"] } } }] }),
        graph(doc! { "startWith": by_zero() }),
        graph(doc! { "restrictSearchWithMatch": { "$expr": by_zero() } }),
    ];
    for command in &commands {
        assert_eq!(code(db, command.clone()).await, 0, "{command}");
    }
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    // There is nothing to join: the pipeline is looked at all the same.
    for command in commands {
        assert_eq!(code(db, command.clone()).await, 2, "{command}");
    }
    // A variable of the join hides one of the command.
    let hidden =
        join(doc! { "let": { "v": 1 }, "pipeline": [{ "$project": { "x": { "$divide": [1, "$$v"] } } }] });
    assert_eq!(code(db, of_let(hidden, 0)).await, 0);
}

async fn variables_of_a_command_compare_strings_by_its_collation(db: &Db) {
    let equal = || doc! { "$eq": ["a", "A"] };
    let find = || {
        of_let(
            doc! { "find": "c", "projection": { "_id": 0, "t": "$$v" } },
            equal(),
        )
    };
    let filtered = || of_let(doc! { "find": "c", "filter": { "$expr": "$$v" } }, equal());
    let piped = || of_let(aggregate(doc! { "$project": { "_id": 0, "t": "$$v" } }), equal());
    let said = |mut command: Document| {
        command.insert("collation", strength());
        command
    };
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (command, truth) in [
        (find(), false),
        (piped(), false),
        (said(find()), true),
        (said(piped()), true),
    ] {
        assert_eq!(
            batch(&run(db, command.clone()).await),
            [doc! { "t": truth }],
            "{command}"
        );
    }
    assert_eq!(batch(&run(db, filtered()).await).len(), 0);
    assert_eq!(batch(&run(db, said(filtered())).await).len(), 1);
    // Not all operators are computed before the run.
    let text = of_let(
        doc! { "find": "c", "projection": { "t": { "$toString": "$$v" } } },
        5,
    );
    assert_eq!(batch(&run(db, text).await), [doc! { "_id": 1, "t": "5" }]);
    let fields = doc! { "findAndModify": "c", "query": {}, "update": { "$set": { "b": 1 } },
    "fields": { "t": { "$toString": "$$v" } } };
    let found = run(db, of_let(fields, 5)).await;
    assert_eq!(found.get_document("value").unwrap(), &doc! { "_id": 1, "t": "5" });
    // Those of updates are computed by bytes, those of deletions by the collation of each.
    let update = doc! { "q": { "$expr": "$$v" }, "u": { "$set": { "b": 1 } }, "collation": strength() };
    let updated = run(db, of_let(doc! { "update": "c", "updates": [update] }, equal())).await;
    assert_eq!(updated.get_i32("n").unwrap(), 0);
    let delete = doc! { "q": { "$expr": "$$v" }, "limit": 0, "collation": strength() };
    let deleted = run(db, of_let(doc! { "delete": "c", "deletes": [delete] }, equal())).await;
    assert_eq!(deleted.get_i32("n").unwrap(), 1);
    run(db, doc! { "drop": "c" }).await;
    run(db, doc! { "create": "c", "collation": strength() }).await;
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for command in [find(), piped()] {
        assert_eq!(
            batch(&run(db, command.clone()).await),
            [doc! { "t": true }],
            "{command}"
        );
    }
    assert_eq!(batch(&run(db, filtered()).await).len(), 1);
    assert_eq!(code(db, of_let(doc! { "find": "c" }, unless_equal())).await, 2);
}

async fn constants_of_unions_keep_their_place_by_a_collation(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": null }]).await;
    let of = |operator: &str, arguments: Bson, collation: Option<Document>| {
        let mut command = aggregate(doc! { "$project": { "x": { operator: arguments } } });
        command.extend(
            collation
                .map(|collation| doc! { "collation": collation })
                .unwrap_or_default(),
        );
        command
    };
    for (operator, arguments, plain, collated) in [
        ("$setUnion", bson!([1, "$a"]), 0, 17043),
        ("$setUnion", bson!(["$a", 1]), 0, 0),
        ("$setUnion", bson!([1, "$a", ["b"]]), 17043, 17043),
        ("$setIntersection", bson!([1, "$a"]), 0, 0),
        ("$setIntersection", bson!([1, "$a", ["b"]]), 17047, 17047),
    ] {
        let text = format!("{operator} {arguments}");
        assert_eq!(
            code(db, of(operator, arguments.clone(), None)).await,
            plain,
            "{text}"
        );
        assert_eq!(
            code(db, of(operator, arguments, Some(strength()))).await,
            collated,
            "{text}"
        );
    }
    // Without a document it shows what was computed together.
    run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    let apart = || bson!([1, "$a", ["b"]]);
    assert_eq!(code(db, of("$setUnion", apart(), None)).await, 17043);
    assert_eq!(code(db, of("$setUnion", apart(), Some(strength()))).await, 0);
    assert_eq!(
        code(db, of("$setIntersection", apart(), Some(strength()))).await,
        17047
    );
}

async fn validators_and_views_are_not_evaluated_when_they_are_given(db: &Db) {
    run(db, doc! { "create": "c", "validator": { "$expr": by_zero() } }).await;
    assert_eq!(
        code(db, doc! { "insert": "c", "documents": [{ "_id": 1 }] }).await,
        121
    );
    for stage in [
        doc! { "$project": { "x": by_zero() } },
        doc! { "$match": { "$expr": by_zero() } },
    ] {
        run(
            db,
            doc! { "create": "view", "viewOn": "d", "pipeline": [stage.clone()] },
        )
        .await;
        assert_eq!(code(db, doc! { "find": "view" }).await, 2, "{stage}");
        let join = doc! { "$lookup": { "from": "view", "as": "x", "pipeline": [] } };
        let joined = doc! { "aggregate": "d", "pipeline": [join], "cursor": {} };
        assert_eq!(code(db, joined).await, 0, "{stage}");
        run(db, doc! { "drop": "view" }).await;
    }
}

async fn groups_that_read_nothing_or_come_with_arrays_in_let_are_not_early(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": "x" }]).await;
    let by = |by: Bson| aggregate(doc! { "$group": { "_id": by } });
    let divide = || bson!({ "$divide": ["$a", 1] });
    let filter = |input: &str| bson!({ "$filter": { "input": input, "cond": true } });
    for (command, expected) in [
        (by(filter("$a")), 5_073_201),
        (by(filter("a")), 28_651),
        (by(divide()), 5_073_101),
        (of_let(by(divide()), 1), 5_073_101),
        (of_let(by(divide()), bson!({ "$literal": [1] })), 5_073_101),
        (of_let(by(divide()), bson!([1])), 14),
        (of_let(by(divide()), bson!({ "$size": [[1, 2]] })), 14),
    ] {
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn keys_of_hashed_indexes_are_not_computed_before_the_run(db: &Db) {
    let wrong = || doc! { "$toHashedIndexKey": by_zero() };
    let commands = [
        doc! { "find": "c", "filter": { "$expr": wrong() } },
        doc! { "find": "c", "projection": { "x": wrong() } },
        aggregate(doc! { "$project": { "x": { "$add": [{ "$toHashedIndexKey": 5 }, "x"] } } }),
        aggregate(doc! { "$project": { "x": { "$setIsSubset": [["$a"], wrong()] } } }),
        aggregate(doc! { "$group": { "_id": wrong() } }),
    ];
    for command in &commands {
        assert_eq!(code(db, command.clone()).await, 0, "{command}");
    }
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for command in &commands {
        assert_ne!(code(db, command.clone()).await, 0, "{command}");
    }
}

async fn constants_are_told_before_options_that_a_view_does_not_take(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c" }).await;
    for option in ["noCursorTimeout", "allowPartialResults", "singleBatch"] {
        let find = |part: Document| {
            let mut find = doc! { "find": "v", option: true };
            find.extend(part);
            find
        };
        let wrong = doc! { "projection": { "x": by_zero() } };
        assert_eq!(code(db, find(wrong)).await, 2, "{option}");
        let wrong = doc! { "filter": { "$expr": by_zero() } };
        assert_eq!(code(db, find(wrong)).await, 2, "{option}");
        assert_eq!(code(db, find(doc! {})).await, 168, "{option}");
        let collated = doc! { "collation": { "locale": "en" } };
        assert_eq!(code(db, find(collated)).await, 168, "{option}");
        let explain = doc! { "explain": find(doc! {}) };
        assert_eq!(code(db, explain).await, 168, "{option}");
        let one = code(db, find(doc! { "limit": 1 })).await;
        assert_eq!(one, if option == "singleBatch" { 0 } else { 168 }, "{option}");
    }
}

/// The code and the message of a command that fails.
async fn refused(db: &Db, command: Document) -> (i32, String) {
    let error = db.run_command(command).await.unwrap_err();
    (error.code().unwrap_or(-1), error.message().to_owned())
}

fn bucket(boundary: impl Into<Bson>, default: impl Into<Bson>) -> Document {
    doc! { "$bucket": { "groupBy": "$a", "boundaries": [0, boundary.into()], "default": default.into() } }
}

fn shift(default: impl Into<Bson>) -> Document {
    let shift = doc! { "output": "$a", "by": 1, "default": default.into() };
    doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "w": { "$shift": shift } } } }
}

async fn stages_that_ask_for_constants_take_those_of_the_command(db: &Db) {
    insert(db, "c", (1..4).map(|i| doc! { "_id": i, "a": i }).collect()).await;
    let buckets = |last: Bson| vec![doc! { "_id": 0, "count": 1 }, doc! { "_id": last, "count": 2 }];
    let shifted = |last: Option<i32>| {
        let mut rows = vec![
            doc! { "_id": 1, "a": 1, "w": 2 },
            doc! { "_id": 2, "a": 2, "w": 3 },
            doc! { "_id": 3, "a": 3 },
        ];
        rows[2].extend(last.map(|last| ("w".to_owned(), Bson::Int32(last))));
        rows
    };
    for (stage, value, rows) in [
        (bucket("$$v", "$$v"), bson!(2), buckets(bson!(2))),
        (bucket(2, "$$v"), bson!("x"), buckets(bson!("x"))),
        (
            bucket("$$v.x", "$$v.y"),
            bson!({ "x": 2, "y": 9 }),
            buckets(bson!(9)),
        ),
        (shift("$$v"), bson!(2), shifted(Some(2))),
        (shift(doc! { "$add": ["$$v", 1] }), bson!(2), shifted(Some(3))),
        (shift("$$v"), bson!("$$REMOVE"), shifted(None)),
        (shift("$$REMOVE"), bson!(1), shifted(None)),
    ] {
        let whole = of_let(aggregate(stage.clone()), value.clone());
        assert_eq!(batch(&run(db, whole).await), rows, "{stage}");
        let found: Vec<Bson> = rows.iter().cloned().map(Bson::Document).collect();
        let facet = doc! { "$facet": { "x": [stage.clone()] } };
        let within = of_let(aggregate(facet), value.clone());
        assert_eq!(
            batch(&run(db, within).await),
            [doc! { "x": found.clone() }],
            "{stage}"
        );
        // Those of a join are others.
        let join = doc! { "from": "c", "as": "j", "let": { "w": "$a" }, "pipeline": [stage.clone()] };
        let mut joined = of_let(aggregate(doc! { "$lookup": join }), value);
        joined.insert(
            "pipeline",
            [
                joined.get_array("pipeline").unwrap()[0].clone(),
                bson!({ "$limit": 1 }),
            ]
            .to_vec(),
        );
        assert_eq!(
            batch(&run(db, joined).await),
            [doc! { "_id": 1, "a": 1, "j": found }],
            "{stage}"
        );
    }
    let missing = "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types int and ";
    for (stage, value, code, message) in [
        (bucket("$$v.z", 1), bson!({}), 40193, format!("{missing}missing.")),
        (bucket("$$NOW", 1), bson!(1), 40193, format!("{missing}date.")),
        (bucket("$$v", 1), bson!("$$NOW"), 40193, format!("{missing}date.")),
        (
            shift(doc! { "$divide": ["$$v", 0] }),
            bson!(1),
            2,
            "can't $divide by zero".to_owned(),
        ),
        // A default that is no value is none.
        (
            bucket(2, "$$REMOVE"),
            bson!(1),
            4934200,
            "PlanExecutor error during aggregation :: caused by :: $switch could not find a matching branch for an input, and no default was specified.".to_owned(),
        ),
    ] {
        let told = refused(db, of_let(aggregate(stage.clone()), value)).await;
        assert_eq!(told, (code, message), "{stage}");
    }
}

async fn variables_of_a_join_are_no_constants(db: &Db) {
    let first = |n: &str| {
        doc! { "$bucketAuto": { "groupBy": "$a", "buckets": 1, "output": { "x": { "$firstN": { "input": "$a", "n": n } } } } }
    };
    let group_key = "Can't refer to the group key in $bucketAuto";
    for (stage, code, message) in [
        (
            bucket("$$v", 1),
            40191,
            "The $bucket 'boundaries' field must be an array of constant values, but found value: \"$$v\".",
        ),
        (
            bucket(2, "$$v"),
            40195,
            "The $bucket 'default' field must be a constant expression, but found: \"$$v\".",
        ),
        (
            shift("$$v"),
            9,
            "'$shift:default' expression must yield a constant value.",
        ),
        (first("$$v"), 4544714, group_key),
        (first("$a"), 4544714, group_key),
    ] {
        let join = doc! { "from": "c", "as": "j", "let": { "v": "$a" }, "pipeline": [stage.clone()] };
        let within = doc! { "$lookup": join };
        // One of the command's that has its name is hidden.
        for command in [aggregate(within.clone()), of_let(aggregate(within.clone()), 2)] {
            assert_eq!(refused(db, command).await, (code, message.to_owned()), "{stage}");
        }
    }
}
