//! Which of several faults of stages is told, and in what words.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, code};

crate::on_every_backend! {
    joins_with_other_databases_are_refused_by_their_names,
    names_of_facets_are_read_before_their_pipelines,
    a_union_with_null_is_one_with_no_collection,
    null_is_no_bound_but_is_there,
    stages_without_a_collection_are_refused_before_where_they_stand,
    values_to_fill_are_read_before_partitions,
    what_is_no_argument_is_told_in_the_servers_words,
    figures_of_a_search_are_there_behind_one_alone,
}

/// The code and the message of a pipeline that fails.
async fn refused(db: &Db, target: impl Into<Bson>, stages: Vec<Document>) -> (i32, String) {
    let command = doc! { "aggregate": target.into(), "pipeline": stages, "cursor": {} };
    let error = db.run_command(command).await.unwrap_err();
    (error.code().unwrap_or(-1), error.message().to_owned())
}

/// Asserts what is told of each stage, also behind one that is wrong inside.
async fn told_early<const N: usize>(db: &Db, cases: [(Document, i32, &str); N]) {
    for (stage, code, message) in cases {
        let expected = (code, message.to_owned());
        assert_eq!(refused(db, "c", vec![stage.clone()]).await, expected, "{stage}");
        let behind = vec![doc! { "$match": { "$nothing": 1 } }, stage.clone()];
        assert_eq!(refused(db, "c", behind).await, expected, "{stage}");
    }
}

async fn joins_with_other_databases_are_refused_by_their_names(db: &Db) {
    for name in ["$lookup", "$graphLookup"] {
        let syntax = |database: &str, collection: &str| {
            format!(
                "{name} with syntax {{from: {{db:<>, coll:<>}},..}} is not supported for db: {database} and coll: {collection}"
            )
        };
        for (from, code, message) in [
            (doc! { "db": "x", "coll": "y" }, 9, syntax("x", "y")),
            (doc! { "db": "x" }, 9, syntax("x", "")),
            (doc! { "db": null, "coll": "x" }, 9, syntax("", "x")),
            (doc! {}, 9, syntax("", "")),
            (
                doc! { "a": 1 },
                40415,
                "BSON field 'from.a' is an unknown field.".to_owned(),
            ),
            (
                doc! { "db": 1 },
                14,
                "BSON field 'from.db' is the wrong type 'int', expected type 'string'".to_owned(),
            ),
            (
                doc! { "db": "x.y", "coll": "z" },
                73,
                "'.' is an invalid character in the database name: x.y".to_owned(),
            ),
        ] {
            let stage = doc! { name: { "nothing": 1, "from": from, "as": "j" } };
            told_early(db, [(stage, code, message.as_str())]).await;
        }
    }
}

async fn names_of_facets_are_read_before_their_pipelines(db: &Db) {
    let dotted = "FieldPath field names may not contain '.'. Consider using $getField or $setField.";
    told_early(
        db,
        [
            (doc! { "$facet": { "a.b": {} } }, 16412, dotted),
            (doc! { "$facet": { "a.b": [] } }, 16412, dotted),
            (doc! { "$facet": { "a.b": [5] } }, 16412, dotted),
            (
                doc! { "$facet": { "a": [{ "$nothing": 1 }], "b.c": 1 } },
                16412,
                dotted,
            ),
            (
                doc! { "$facet": { "": 1 } },
                15998,
                "FieldPath field names may not be empty strings.",
            ),
            (
                doc! { "$facet": { "x": 1, "a.b": {} } },
                40170,
                "arguments to $facet must be arrays, x is type int",
            ),
        ],
    )
    .await;
}

async fn a_union_with_null_is_one_with_no_collection(db: &Db) {
    let union = |pipeline: Bson| doc! { "$unionWith": { "coll": null, "pipeline": pipeline } };
    let found = aggregate(db, "c", vec![union(bson!([{ "$documents": [{ "a": 1 }] }]))]).await;
    assert_eq!(found, [doc! { "a": 1 }]);
    let without =
        "$unionWith stage without explicit collection must have a pipeline with $documents as first stage";
    told_early(
        db,
        [
            (union(bson!([])), 9, without),
            (doc! { "$unionWith": { "coll": null } }, 9, without),
        ],
    )
    .await;
}

async fn null_is_no_bound_but_is_there(db: &Db) {
    let dense = |range: Document| doc! { "$densify": { "field": "a", "range": range } };
    for (range, code, message) in [
        (
            doc! { "step": 1, "bounds": null },
            5733404,
            "The bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or two dates",
        ),
        (
            doc! { "step": -1, "bounds": null },
            5733401,
            "The step parameter in a range statement must be a strictly positive numeric value",
        ),
        (
            doc! { "step": 1 },
            40414,
            "BSON field '$densify.range.bounds' is missing but a required field",
        ),
        (
            doc! { "bounds": null },
            40414,
            "BSON field '$densify.range.step' is missing but a required field",
        ),
    ] {
        let told = refused(db, "c", vec![dense(range.clone())]).await;
        assert_eq!(told, (code, message.to_owned()), "{range}");
    }
}

async fn stages_without_a_collection_are_refused_before_where_they_stand(db: &Db) {
    let all = || doc! { "$match": {} };
    let documents = || doc! { "$documents": [{ "a": 1 }] };
    let of = |name: &str| format!("{{aggregate: 1}} is not valid for '{name}'; a collection is required.");
    for (stages, code, message) in [
        (vec![all(), documents()], 73, of("$match")),
        (vec![all(), doc! { "$collStats": {} }], 73, of("$match")),
        (vec![doc! { "$out": "x" }, all()], 73, of("$out")),
        (
            vec![doc! { "$indexStats": {} }, documents()],
            73,
            of("$indexStats"),
        ),
        (
            vec![documents(), documents()],
            40602,
            "$documents is only valid as the first stage in a pipeline".to_owned(),
        ),
        (
            vec![all(), doc! { "$facet": { "x": [documents()] } }],
            40600,
            "$documents is not allowed to be used within a $facet stage".to_owned(),
        ),
    ] {
        assert_eq!(
            refused(db, 1, stages.clone()).await,
            (code, message),
            "{stages:?}"
        );
    }
}

async fn values_to_fill_are_read_before_partitions(db: &Db) {
    for (filling, expected) in [
        (bson!({ "method": "locf", "value": 1 }), 6050201),
        (bson!(5), 6050200),
        (bson!({ "method": "x" }), 6050202),
        (bson!({ "method": "locf" }), 6050204),
        (bson!({ "value": "$$nothing" }), 6050204),
    ] {
        let fill = doc! { "partitionBy": { "a": "$a" }, "partitionByFields": ["a"], "output": { "a": filling.clone() } };
        let command = doc! { "aggregate": "c", "pipeline": [{ "$fill": fill }], "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{filling}");
    }
}

async fn what_is_no_argument_is_told_in_the_servers_words(db: &Db) {
    let graph = |name: &str, value: Bson| doc! { "$graphLookup": { "from": "c", name: value } };
    for (stage, code, message) in [
        (
            doc! { "$bucketAuto": { "groupBy": 5, "buckets": 1 } },
            40239,
            "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: 5",
        ),
        (
            doc! { "$bucket": { "groupBy": "$a", "boundaries": [["$a", { "b": 1 }], 1] } },
            40191,
            "The $bucket 'boundaries' field must be an array of constant values, but found value: [ \"$a\", { b: 1 } ].",
        ),
        (
            graph("as", bson!(5)),
            40103,
            "expected string as argument for as, found: int",
        ),
        (
            graph("connectToField", bson!([1])),
            40103,
            "expected string as argument for connectToField, found: array",
        ),
        (
            graph("as", bson!({ "a": 1 })),
            13111,
            "wrong type for field (as) object != string",
        ),
        (
            doc! { "$geoNear": [{ "near": [1, 1] }] },
            5860400,
            "$geoNear requires a 'near' argument",
        ),
        (
            doc! { "$lookup": { "a": 1 } },
            9,
            "must specify 'pipeline' when 'from' is empty",
        ),
        (
            doc! { "$lookup": { "pipeline": [] } },
            9,
            "$lookup stage without explicit collection must have a pipeline with $documents as first stage",
        ),
        (
            doc! { "$project": { "x": { "$sortArray": { "input": [1], "sortBy": { "a..b": 1 } } } } },
            2942505,
            "Invalid $project :: caused by :: BadValue: The sort field is a dotted field but has an empty part: a..b",
        ),
    ] {
        let told = refused(db, "c", vec![stage.clone()]).await;
        assert_eq!(told, (code, message.to_owned()), "{stage}");
    }
}

async fn figures_of_a_search_are_there_behind_one_alone(db: &Db) {
    let figures = "$$SEARCH_META.count";
    let message = "Can't access $$SEARCH_META without a $search stage earlier in the pipeline";
    for stage in [
        doc! { "$project": { "x": figures } },
        doc! { "$match": { "$expr": figures } },
        doc! { "$group": { "_id": figures } },
        doc! { "$facet": { "a": [{ "$project": { "x": figures } }] } },
        doc! { "$lookup": { "from": "d", "as": "j", "let": { "v": figures }, "pipeline": [] } },
    ] {
        let told = refused(db, "c", vec![stage.clone()]).await;
        assert_eq!(told, (6347903, message.to_owned()), "{stage}");
    }
}
