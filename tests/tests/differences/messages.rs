//! What the server says beside its codes: what was running, what no plan answers, and whose pipeline is wrong.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{batch, insert, run};

crate::on_every_backend! {
    faults_of_documents_tell_what_was_running,
    faults_of_later_batches_tell_that_they_are_read_on,
    a_query_that_no_plan_answers_is_told,
    filters_are_told_as_trees,
    constants_tell_in_how_many_conditions_they_stand,
    pipelines_of_views_and_updates_tell_whose_they_are,
    specifications_of_indexes_are_told,
    numbers_and_texts_that_cannot_be_read_are_told,
    results_before_a_fault_come_first,
}

/// What is said of the command, or of its first write.
pub(super) async fn said(db: &Db, command: Document) -> String {
    let text = match db.run_command(command.clone()).await {
        Err(error) => error.message().to_owned(),
        Ok(reply) => match reply.get_array("writeErrors") {
            Ok(errors) => {
                let first = errors[0].as_document().unwrap();
                first.get_str("errmsg").unwrap().to_owned()
            }
            Err(_) => panic!("{command} is answered: {reply}"),
        },
    };
    text.replace(&format!("{}.", db.name()), "DB.")
}

/// Asserts what is said of each command.
async fn all<const N: usize>(db: &Db, cases: [(Document, &str); N]) {
    for (command, expected) in cases {
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
}

async fn documents(db: &Db) {
    let all = vec![
        doc! { "_id": 1, "a": 1, "l": [1], "m": [2] },
        doc! { "_id": 2, "a": "x", "l": [1], "m": [3] },
        doc! { "_id": 3, "a": 2 },
    ];
    insert(db, "c", all).await;
}

const NUMBER: &str =
    "Failed to parse number 'x' in $convert with no onError value: Did not consume whole string.";

async fn faults_of_documents_tell_what_was_running(db: &Db) {
    documents(db).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let number = || doc! { "$toInt": "$a" };
    let fails = || doc! { "$expr": number() };
    let finds = [
        doc! { "find": "c", "filter": fails() },
        doc! { "find": "c", "projection": { "x": number() } },
        doc! { "find": "c", "filter": fails(), "sort": { "a": 1 } },
    ];
    for find in finds {
        let expected = format!("Executor error during find command :: caused by :: {NUMBER}");
        assert_eq!(said(db, find.clone()).await, expected, "{find}");
    }
    let aggregate = |stages: Vec<Document>| doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    for command in [
        aggregate(vec![doc! { "$match": fails() }]),
        aggregate(vec![doc! { "$match": fails() }, doc! { "$count": "n" }]),
        aggregate(vec![doc! { "$set": { "x": number() } }]),
        aggregate(vec![doc! { "$unwind": "$l" }, doc! { "$match": fails() }]),
        doc! { "find": "v", "filter": fails() },
        doc! { "count": "v", "query": fails() },
        doc! { "distinct": "v", "key": "a", "query": fails() },
    ] {
        let expected = format!("PlanExecutor error during aggregation :: caused by :: {NUMBER}");
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
    let changed = doc! { "$set": { "b": 1 } };
    let behind = doc! { "_id": { "$gt": 1 }, "$expr": number() };
    let modify = doc! { "findAndModify": "c", "query": behind, "update": changed.clone() };
    let distinct = "Executor error during distinct command :: caused by :: ";
    let modifying = "Plan executor error during findAndModify :: caused by :: ";
    let update = doc! { "update": "c", "updates": [{ "q": fails(), "u": changed, "multi": true }] };
    let delete = doc! { "delete": "c", "deletes": [{ "q": fails(), "limit": 0 }] };
    for (command, prefix) in [
        (doc! { "count": "c", "query": fails() }, ""),
        (doc! { "distinct": "c", "key": "a", "query": fails() }, distinct),
        (modify, modifying),
        (update, ""),
        (delete, ""),
    ] {
        let found = said(db, command.clone()).await;
        assert_eq!(found, format!("{prefix}{NUMBER}"), "{command}");
    }
    let sort = doc! { "find": "c", "sort": { "l": 1, "m": 1 } };
    let parallel =
        "Executor error during find command :: caused by :: cannot sort with keys that are parallel arrays";
    assert_eq!(said(db, sort).await, parallel);
}

async fn faults_of_later_batches_tell_that_they_are_read_on(db: &Db) {
    documents(db).await;
    let commands = [
        doc! { "find": "c", "projection": { "x": { "$toInt": "$a" } }, "batchSize": 1 },
        doc! { "aggregate": "c", "pipeline": [{ "$set": { "x": { "$toInt": "$a" } } }], "cursor": { "batchSize": 1 } },
    ];
    for command in commands {
        let reply = run(db, command.clone()).await;
        assert_eq!(batch(&reply).len(), 1, "{command}");
        let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
        let more = doc! { "getMore": id, "collection": "c" };
        let expected = format!("Executor error during getMore :: caused by :: {NUMBER}");
        assert_eq!(said(db, more).await, expected, "{command}");
    }
}

async fn a_query_that_no_plan_answers_is_told(db: &Db) {
    documents(db).await;
    let hint =
        "planner returned error :: caused by :: hint provided does not correspond to an existing index";
    let update = |hint: &str| doc! { "q": {}, "u": { "$set": { "x": 1 } }, "hint": hint };
    let modify =
        doc! { "findAndModify": "c", "query": {}, "sort": { "a": 1 }, "remove": true, "hint": "none" };
    let aggregate =
        |stages: Vec<Document>| doc! { "aggregate": "c", "pipeline": stages, "hint": "none", "cursor": {} };
    for (command, told) in [
        (
            doc! { "find": "c", "hint": "none" },
            "ns=DB.cTree: $and\nSort: {}\nProj: {}\n",
        ),
        (
            doc! {
                "find": "c", "filter": { "a": 1 }, "sort": { "a": 1, "b": -1 }, "projection": { "a": 1 },
                "skip": 1, "limit": 2, "batchSize": 5, "hint": { "b": 1 },
            },
            "ns=DB.c batchSize=5 limit=2 skip=1Tree: a $eq 1\nSort: { a: 1, b: -1 }\nProj: { a: 1 }\n",
        ),
        (
            doc! { "find": "c", "hint": "none", "collation": { "locale": "simple" } },
            "ns=DB.cTree: $and\nSort: {}\nProj: {}\nCollation: { locale: \"simple\" }\n",
        ),
        (
            doc! { "count": "c", "query": {}, "hint": "none", "collation": { "locale": "en", "strength": 2 } },
            "ns=DB.cTree: $and\nSort: {}\nProj: {}\nCollation: { locale: \"en\", strength: 2 }\n",
        ),
        (
            doc! { "count": "c", "query": {}, "skip": 1, "limit": 2, "hint": "none" },
            "ns=DB.cTree: $and\nSort: {}\nProj: {}\n",
        ),
        (
            doc! { "update": "c", "updates": [update("none")] },
            "ns=DB.cTree: $and\nSort: {}\nProj: {}\nCollation: { locale: \"simple\" }\n",
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": { "a": 1 }, "limit": 1, "hint": "none" }] },
            "ns=DB.cTree: a $eq 1\nSort: {}\nProj: {}\n",
        ),
        (modify, "ns=DB.c limit=1Tree: $and\nSort: { a: 1 }\nProj: {}\n"),
        (
            aggregate(vec![
                doc! { "$match": { "a": 1 } },
                doc! { "$skip": 2 },
                doc! { "$limit": 5 },
            ]),
            "ns=DB.c limit=5 skip=2Tree: a $eq 1\nSort: {}\nProj: {}\nCollation: { locale: \"simple\" }\n",
        ),
    ] {
        let expected = format!("error processing query: {told} {hint}");
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
    let search = doc! { "count": "missing", "query": { "$text": { "$search": "x" } }, "hint": "none" };
    assert_eq!(said(db, search).await, "text and hint not allowed in same query");
    let near = doc! { "near": [0, 0], "distanceField": "d", "key": "g", "spherical": true };
    let command = doc! { "aggregate": "c", "pipeline": [{ "$geoNear": near }], "cursor": {} };
    assert_eq!(
        said(db, command).await,
        "error processing query: ns=DB.cTree: GEONEAR  field=g maxdist=1.79769e+308 isNearSphere=1\nSort: {}\nProj: {}\n\
         Collation: { locale: \"simple\" }\n planner returned error :: caused by :: unable to find index for $geoNear query"
    );
    let near =
        doc! { "find": "c", "filter": { "g": { "$near": [0, 0], "$maxDistance": 1_234_567.8 }, "a": 1 } };
    assert_eq!(
        said(db, near).await,
        "error processing query: ns=DB.cTree: $and\n    a $eq 1\n    GEONEAR  field=g maxdist=1.23457e+06 isNearSphere=0\n\
         Sort: {}\nProj: {}\n planner returned error :: caused by :: unable to find index for $geoNear query"
    );
}

async fn filters_are_told_as_trees(db: &Db) {
    documents(db).await;
    for (filter, tree) in [
        (
            doc! { "a": { "$gt": 1, "$lt": 5 } },
            "$and\n    a $lt 5\n    a $gt 1\n",
        ),
        (
            doc! { "a": { "$in": [1, "x", null] } },
            "a $in [ null 1 \"x\" ]\n",
        ),
        (doc! { "a": { "$in": [1] } }, "a $eq 1\n"),
        (doc! { "a": { "$nin": [1, 2] } }, "$not\n    a $in [ 1 2 ]\n"),
        (doc! { "a": { "$not": { "$gt": 1 } } }, "$not\n    a $gt 1\n"),
        (doc! { "a": { "$exists": false } }, "$not\n    a exists\n"),
        (
            doc! { "a": { "$type": ["number", "string"] } },
            "a $type: { 0: \"number\", 1: 2 }\n",
        ),
        (doc! { "a": { "$size": 3 } }, "a $size : 3\n"),
        (doc! { "a": { "$mod": [3, 1] } }, "a mod 3 % x == 1\n"),
        (
            doc! { "a": { "$regex": "^x", "$options": "i" } },
            "a regex /^x/i\n",
        ),
        (
            doc! { "a": { "$all": [1, 2] } },
            "$and\n    a $eq 1\n    a $eq 2\n",
        ),
        (
            doc! { "a": { "$elemMatch": { "b": 1, "c": 2 } } },
            "a $elemMatch (obj)\n    $and\n        b $eq 1\n        c $eq 2\n",
        ),
        (
            doc! { "a": { "$elemMatch": { "$gt": 1, "$lt": 5 } } },
            "a $elemMatch (value)\n     $lt 5\n     $gt 1\n",
        ),
        (doc! { "a": { "$bitsAllSet": 5 } }, "a $bitsAllSet: [0, 2]"),
        (doc! { "$or": [{ "a": 1 }, { "a": 2 }] }, "a $in [ 1 2 ]\n"),
        (
            doc! { "$or": [{ "a": 1, "b": 2 }, { "c": 3 }] },
            "$or\n    $and\n        a $eq 1\n        b $eq 2\n    c $eq 3\n",
        ),
        (doc! { "$nor": [{ "a": 1 }] }, "$not\n    a $eq 1\n"),
        (
            doc! { "$nor": [{ "a": 1 }, { "b": 1 }] },
            "$nor\n    a $eq 1\n    b $eq 1\n",
        ),
        (
            doc! { "$expr": { "$eq": ["$a", 1] } },
            "$and\n    $expr {$eq: [\"$a\", {$const: 1}]}    a $_internalExprEq 1\n",
        ),
        (
            doc! { "$expr": { "$eq": ["$a", "$b.c"] } },
            "$expr {$eq: [\"$a\", \"$b.c\"]}",
        ),
        (doc! { "$alwaysFalse": 1 }, "$alwaysFalse: 1\n"),
        (doc! { "$jsonSchema": { "required": ["a"] } }, "a exists\n"),
        (
            doc! { "g": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } },
            "GEO raw = { g: { $geoWithin: { $box: [ [ 0, 0 ], [ 1, 1 ] ] } } }\n",
        ),
    ] {
        let found = said(db, doc! { "count": "c", "query": filter.clone(), "hint": "none" }).await;
        let expected = format!(
            "error processing query: ns=DB.cTree: {tree}Sort: {{}}\nProj: {{}}\n planner returned error :: caused by :: \
             hint provided does not correspond to an existing index"
        );
        assert_eq!(found, expected, "{filter}");
    }
}

async fn constants_tell_in_how_many_conditions_they_stand(db: &Db) {
    documents(db).await;
    let fails = || doc! { "$expr": { "$toInt": "x" } };
    let beside = || {
        let mut filter = doc! { "a": 1 };
        filter.extend(fails());
        filter
    };
    for (filter, depth) in [
        (fails(), 1),
        (beside(), 2),
        (doc! { "$and": [fails()] }, 2),
        (doc! { "a": 1, "$and": [fails()] }, 3),
        (doc! { "$or": [fails(), { "a": 1 }] }, 2),
        (doc! { "$or": [beside(), { "a": 1 }] }, 3),
        (doc! { "$nor": [fails()] }, 2),
    ] {
        let told = "Failed to optimize expression :: caused by :: ".repeat(depth);
        let find = said(db, doc! { "find": "c", "filter": filter.clone() }).await;
        assert_eq!(find, format!("{told}{NUMBER}"), "{filter}");
        let stages = [doc! { "$match": filter.clone() }].to_vec();
        let aggregate = said(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await;
        let expected = format!("Failed to optimize pipeline :: caused by :: {told}{NUMBER}");
        assert_eq!(aggregate, expected, "{filter}");
    }
    let set = || vec![doc! { "$set": { "x": { "$toInt": "x" } } }];
    let told = "Failed to optimize pipeline :: caused by :: ";
    for stage in [
        doc! { "$unionWith": { "coll": "c", "pipeline": set() } },
        doc! { "$facet": { "f": set() } },
    ] {
        let command = doc! { "aggregate": "c", "pipeline": [stage.clone()], "cursor": {} };
        assert_eq!(
            said(db, command).await,
            format!("{told}{told}{NUMBER}"),
            "{stage}"
        );
    }
}

async fn pipelines_of_views_and_updates_tell_whose_they_are(db: &Db) {
    documents(db).await;
    let view = |stage: Document| doc! { "create": "v", "viewOn": "c", "pipeline": [stage] };
    let update = |stage: Document| doc! { "update": "c", "updates": [{ "q": {}, "u": [stage] }] };
    let modify = |stage: Document| doc! { "findAndModify": "c", "query": {}, "update": [stage] };
    all(
        db,
        [
            (
                view(doc! { "$match": { "a": { "$foo": 1 } } }),
                "Invalid pipeline for view DB.v :: caused by :: unknown operator: $foo",
            ),
            (view(doc! { "$foo": 1 }), "Unrecognized pipeline stage name: '$foo'"),
            (
                view(doc! { "$out": "x" }),
                "Invalid pipeline for view DB.v :: caused by :: The aggregation stage $out in location 0 of the pipeline \
                 cannot be used in the view definition of DB.v because it writes to disk",
            ),
            // A stage that no update has is read all the same.
            (update(doc! { "$match": {} }), "$match is not allowed to be used within an update"),
            (update(doc! { "$match": { "a": { "$foo": 1 } } }), "unknown operator: $foo"),
            (modify(doc! { "$group": { "a": 1 } }), "The field 'a' must be an accumulator object"),
            (
                update(doc! { "$lookup": { "from": 1 } }),
                "$lookup 'from' field must be a string, but found int",
            ),
            (
                modify(doc! { "$merge": { "into": 5 } }),
                "$merge 'into' field  must be either a string or an object, but found int",
            ),
            (
                update(doc! { "$documents": [] }),
                "'$documents' can only be run with {aggregate: 1}",
            ),
            (
                doc! { "aggregate": 1, "pipeline": [{ "$documents": [{ "a": { "$foo": 1 } }] }], "cursor": {} },
                "Invalid $documents :: caused by :: Unrecognized expression '$foo'",
            ),
            (
                doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": {
                    "from": "c", "startWith": "$a", "connectFromField": "l", "connectToField": "m", "as": "g",
                    "restrictSearchWithMatch": { "a": { "$foo": 1 } },
                } }], "cursor": {} },
                "Failed to parse 'restrictSearchWithMatch' option to $graphLookup :: caused by :: unknown operator: $foo",
            ),
        ],
    )
    .await;
}

async fn specifications_of_indexes_are_told(db: &Db) {
    documents(db).await;
    let create = |index: Document| doc! { "createIndexes": "c", "indexes": [index] };
    let partial =
        |filter: Document| create(doc! { "key": { "a": 1 }, "name": "i", "partialFilterExpression": filter });
    let told = "Error in specification { key: { a: 1 }, name: \"i\", partialFilterExpression: ";
    for (filter, expected) in [
        (
            doc! { "a": { "$foo": 1 } },
            "{ a: { $foo: 1 } } } :: caused by :: unknown operator: $foo",
        ),
        // Before anything in it is looked at.
        (
            doc! { "$expr": { "$foo": 1 } },
            "{ $expr: { $foo: 1 } } } :: caused by :: $expr is not allowed in this context",
        ),
        (
            doc! { "$jsonSchema": 5 },
            "{ $jsonSchema: 5 } } :: caused by :: $jsonSchema is not allowed in this context",
        ),
        (
            doc! { "a": { "$ne": 1 } },
            "{ a: { $ne: 1 } }, v: 2 } :: caused by :: Expression not supported in partial index: $not\n    a $eq 1\n",
        ),
        (
            doc! { "a": { "$all": [] } },
            "{ a: { $all: [] } }, v: 2 } :: caused by :: Expression not supported in partial index: $alwaysFalse: 1\n",
        ),
    ] {
        let found = said(db, partial(filter.clone())).await;
        assert_eq!(found, format!("{told}{expected}"), "{filter}");
    }
    all(
        db,
        [
            (
                create(doc! { "key": { "a": 1 }, "name": "i", "collation": { "locale": "zz_foo" } }),
                "failed to add collation information to index spec for index creation: { key: { a: 1 }, name: \"i\", \
                 collation: { locale: \"zz_foo\" }, v: 2 } :: caused by :: Field 'locale' is invalid in: { locale: \"zz_foo\" }",
            ),
            (
                create(doc! { "key": { "_id": 1 }, "name": "_id_", "sparse": true }),
                "The field 'sparse' is not valid for an _id index specification. Specification: { key: { _id: 1 }, \
                 name: \"_id_\", sparse: true, v: 2 }",
            ),
            (
                create(doc! { "key": { "a": "text" }, "name": "i", "default_language": "klingon" }),
                "Error in specification { key: { a: \"text\" }, name: \"i\", default_language: \"klingon\", v: 2 } \
                 :: caused by :: default_language is not valid",
            ),
        ],
    )
    .await;
}

async fn numbers_and_texts_that_cannot_be_read_are_told(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "l": [1], "n": 4_294_967_296_i64 }]).await;
    let set = |expression: Document| {
        let stages = [doc! { "$set": { "x": expression } }].to_vec();
        doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }
    };
    let running = "PlanExecutor error during aggregation :: caused by :: ";
    for (expression, expected) in [
        (
            doc! { "$arrayElemAt": ["$l", "$n"] },
            "$arrayElemAt's second argument must be representable as a 32-bit integer: 4.29497e+09",
        ),
        (
            doc! { "$slice": ["$l", "$n"] },
            "Second argument to $slice can't be represented as a 32-bit integer: 4.29497e+09",
        ),
    ] {
        assert_eq!(said(db, set(expression)).await, format!("{running}{expected}"));
    }
    for (text, expected) in [
        ("", "Empty string"),
        ("x", "Did not consume any digits"),
        ("-", "Did not consume any digits"),
        (".e1", "Did not consume any digits"),
        ("1x", "Did not consume whole string."),
        ("-.5x", "Did not consume whole string."),
        ("infx", "Did not consume whole string."),
        (" 1", "Leading whitespace"),
    ] {
        let found = said(db, set(doc! { "$toDouble": text })).await;
        let expected = format!(
            "Failed to optimize pipeline :: caused by :: Failed to parse number '{text}' in $convert with no onError \
             value: {expected}"
        );
        assert_eq!(found, expected);
    }
}

async fn results_before_a_fault_come_first(db: &Db) {
    let all = vec![
        doc! { "_id": 1, "a": 1, "l": [1, 2, 3] },
        doc! { "_id": 2, "a": "x", "l": [1] },
    ];
    insert(db, "c", all).await;
    let stages = [
        doc! { "$unwind": "$l" },
        doc! { "$set": { "x": { "$toInt": "$a" } } },
    ]
    .to_vec();
    let cursor = doc! { "batchSize": 2 };
    let reply = run(
        db,
        doc! { "aggregate": "c", "pipeline": stages.clone(), "cursor": cursor },
    )
    .await;
    assert_eq!(batch(&reply).len(), 2);
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let more = run(db, doc! { "getMore": id, "collection": "c", "batchSize": 1 }).await;
    let cursor = more.get_document("cursor").unwrap();
    assert_eq!(cursor.get_array("nextBatch").unwrap().len(), 1);
    let found = said(db, doc! { "getMore": id, "collection": "c", "batchSize": 1 }).await;
    assert_eq!(
        found,
        format!("Executor error during getMore :: caused by :: {NUMBER}")
    );
    // Where there is room for more, it is told at once.
    let whole = doc! { "aggregate": "c", "pipeline": stages, "cursor": { "batchSize": 4 } };
    let expected = format!("PlanExecutor error during aggregation :: caused by :: {NUMBER}");
    assert_eq!(said(db, whole).await, expected);
}
