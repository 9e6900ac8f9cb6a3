//! Of several faults of stages and operators the one that the server finds first is told.

use odm::Db;
use odm::bson::doc;

use super::refusals::check;

crate::on_every_backend! {
    dates_are_asked_for_names_before_values,
    arguments_are_read_before_their_names,
    windows_are_read_in_their_order,
    stages_are_looked_at_before_what_they_compute,
}

async fn dates_are_asked_for_names_before_values(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToString": { "timezone": { "$nope2": 1 }, "date": { "$nope1": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope1'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToString": { "timezone": { "$nope": 1 } } } } }], "cursor": {} },
            18628,
            "Invalid $project :: caused by :: Missing 'date' parameter to $dateToString",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToString": { "format": { "$nope": 1 }, "zzz": 1 } } } }], "cursor": {} },
            18534,
            "Invalid $project :: caused by :: Unrecognized argument to $dateToString: zzz",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateDiff": { "startDate": { "$nope1": 1 }, "endDate": { "$nope2": 1 }, "unit": { "$nope3": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope3'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateDiff": { "unit": { "$nope": 1 }, "zzz": 1 } } } }], "cursor": {} },
            5166302,
            "Invalid $project :: caused by :: Unrecognized argument to $dateDiff: zzz",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateTrunc": { "date": { "$nope1": 1 }, "unit": { "$nope2": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope2'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateFromString": { "onError": { "$nope": 1 } } } } }], "cursor": {} },
            40542,
            "Invalid $project :: caused by :: Missing 'dateString' parameter to $dateFromString",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateFromString": { "onError": { "$nope1": 1 }, "onNull": { "$nope2": 1 }, "dateString": "$a" } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope2'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToParts": { "iso8601": { "$nope2": 1 }, "date": { "$nope1": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope1'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateFromParts": { "day": { "$nope2": 1 }, "year": { "$nope1": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope1'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$toDate": "not-a-date" } } }], "cursor": {} },
            241,
            "Failed to optimize pipeline :: caused by :: Error parsing date string 'not-a-date'; 0: passing a time zone identifier as part of the string is not allowed 'n'; 3: Unexpected character '-'; 5: Unexpected character '-'; 6: Double timezone specification 'd'; 4: Double timezone specification 'a'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$toDate": "EST PDT CET x9" } } }], "cursor": {} },
            241,
            "Failed to optimize pipeline :: caused by :: Error parsing date string 'EST PDT CET x9'; 8: Double timezone specification 'C'; 12: Double timezone specification 'x'; 13: Unexpected character '9'; 4: Double timezone specification 'P'",
        ),
    ];
    check(db, rows).await;
}

async fn arguments_are_read_before_their_names(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$let": { "vars": { "$x": { "$nope": 1 } }, "in": 1 } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$sortArray": { "sortBy": "x", "zzz": 1 } } } }], "cursor": {} },
            2942507,
            "Invalid $project :: caused by :: The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$sortArray": { "sortBy": { "a": 5 }, "input": { "$nope": 1 } } } } }], "cursor": {} },
            2942505,
            "Invalid $project :: caused by :: BadValue: The sort element value must be either 1 or -1",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "$ceil": {} } }], "cursor": {} },
            51270,
            "Invalid $project :: caused by :: An empty sub-projection is not a valid value. Found empty object at path",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "$gte": ["$$q", 1] } }], "cursor": {} },
            17276,
            "Invalid $project :: caused by :: Use of undefined variable: q",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "$literal": "$$" } }], "cursor": {} },
            9,
            "Invalid $project :: caused by :: empty variable names are not allowed",
        ),
        (
            doc! { "find": "c", "projection": { "a": { "$slice": { "$gte": 3 } } } },
            16020,
            "Invalid $slice syntax. The given syntax { $slice: { $gte: 3 } } did not match the find() syntax because :: Location31273: $slice only supports numbers and [skip, limit] arrays :: The given syntax did not match the expression $slice syntax. :: caused by :: Expression $gte takes exactly 2 arguments. 1 were passed in.",
        ),
        (
            doc! { "find": "c", "projection": { "$sqrt": { "$slice": 1 } } },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "find": "c", "projection": { "a.": { "$elemMatch": { "b": 1 } } } },
            40353,
            "FieldPath must not end with a '.'.",
        ),
        (
            doc! { "find": "c", "projection": { "a": { "$elemMatch": { "$gte": 2 }, "b": 0 } } },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "find": "c", "filter": { "$jsonSchema": { "exclusiveMaximum": 5, "maximum": "x" } } },
            14,
            "$jsonSchema keyword 'exclusiveMaximum' must be a boolean",
        ),
        (
            doc! { "find": "c", "filter": { "a": { "$geoWithin": { "$centerSphere": [[1e+19, 0]] } } } },
            2,
            "longitude/latitude is out of bounds, lng: 1e+19 lat: 0",
        ),
    ];
    check(db, rows).await;
}

async fn windows_are_read_in_their_order(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": { "$nope": 1 }, "window": 5 } } } }], "cursor": {} },
            168,
            "Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "window": 5, "$sum": { "$nope": 1 } } } } }], "cursor": {} },
            9,
            "'window' field must be an object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$min": "$x", "window": { "documents": [1.5, 1] }, "k": 1 } } } }], "cursor": {} },
            9,
            "Numeric document-based bounds must be an integer",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1, "$sum": "$x" } } } }], "cursor": {} },
            9,
            "Window function found an unknown argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$min": "$x", "$toDouble": 1 } } } }], "cursor": {} },
            9,
            "Window function found an unknown argument: $toDouble",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "$shift": 1 } } } }], "cursor": {} },
            9,
            "Cannot specify two functions in window function spec",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$count": {}, "$shift": 1 } } } }], "cursor": {} },
            9,
            "Cannot specify multiple functions in window function spec",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$first": "$x", "k": 1 } } } }], "cursor": {} },
            9,
            "$first got unexpected argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1, "$topN": 5 } } } }], "cursor": {} },
            9,
            "$topN got unexpected argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$topN": { "by": 1 }, "window": 5 } } } }], "cursor": {} },
            5788002,
            "Unknown argument to $topN 'by'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$topN": { "sortBy": { "x": 5 }, "output": { "$nope": 1 }, "n": 1 } } } } }], "cursor": {} },
            15975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$shift": { "zz": 1 }, "k": 1 } } } }], "cursor": {} },
            9,
            "Unknown argument in $shift",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$shift": { "output": "$x", "by": 1 }, "$rank": 1 } } } }], "cursor": {} },
            9,
            "Cannot specify multiple functions in window function spec",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$locf": "$x", "window": {}, "k": 1 } } } }], "cursor": {} },
            9,
            "Window function found an unknown argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$locf": "$x", "window": {} } } } }], "cursor": {} },
            9,
            "'window' field is not allowed in $locf",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "window": {}, "$linearFill": { "$nope": 1 } } } } }], "cursor": {} },
            168,
            "Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$linearFill": "$x" } } } }], "cursor": {} },
            605001,
            "$linearFill must be specified with a top level sortBy expression with exactly one element",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$derivative": { "input": "$x" }, "k": 1 } } } }], "cursor": {} },
            9,
            "$derivative requires a sortBy",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$derivative": "x", "k": 1 } } } }], "cursor": {} },
            9,
            "$derivative got unexpected argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1, "$rank": [] } } } }], "cursor": {} },
            5371601,
            "Rank style window functions take no other arguments",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$expMovingAvg": { "input": { "$nope": 1 }, "alpha": 5 } } } } }], "cursor": {} },
            168,
            "Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "window": { "range": [-1, 1], "unit": "day", "k": 1 } } } } }], "cursor": {} },
            9,
            "'window' field that specifies unit cannot have other fields besides 'range'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "window": { "range": [-1, 1], "k": 1 } } } } }], "cursor": {} },
            9,
            "'window' field that specifies range cannot have other fields besides 'unit'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "window": { "documents": [{ "$max": "$v" }, 1] } } } } }], "cursor": {} },
            9,
            "Window bounds expression must be a constant.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$sum": "$x", "window": { "range": [[1], 1], "unit": "day" } } } } }], "cursor": {} },
            9,
            "With 'unit', range-based bounds must be an integer",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1 } } } }], "cursor": {} },
            9,
            "Expected a $-prefixed window function, k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "partitionBy": [1], "output": { "r": { "$nope": 1 } } } }], "cursor": {} },
            9,
            "Unrecognized window function, $nope",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "partitionBy": [1], "output": { "r": { "$sum": { "$add": [1, "a"] } } } } }], "cursor": {} },
            14,
            "An expression used to partition cannot evaluate to value of type array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$top": { "sortBy": [], "output": { "a": "x" } } } } } }], "cursor": {} },
            5788604,
            "expected 'sortBy' to already be an object in the arguments to $top",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "partitionBy": ["$$NOW"], "output": { "$a": { "$sum": 1 } } } }], "cursor": {} },
            14,
            "An expression used to partition cannot evaluate to value of type array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "partitionBy": { "$add": [1, "a"] }, "output": { "r": { "$sum": 1 } } } }, { "$limit": -1 }], "cursor": {} },
            16554,
            "Failed to optimize partitionBy expression :: caused by :: $add only supports numeric or date types, not string",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "a": { "$add": [1, "a"] } } }, { "$setWindowFields": { "partitionBy": [1], "output": {  } } }], "cursor": {} },
            14,
            "An expression used to partition cannot evaluate to value of type array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$facet": { "x": [{ "$setWindowFields": { "partitionBy": [1], "output": {  } } }] } }], "cursor": {} },
            14,
            "An expression used to partition cannot evaluate to value of type array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "partitionBy": ["$$v"], "output": {  } } }], "cursor": {}, "let": { "v": 5 } },
            14,
            "An expression used to partition cannot evaluate to value of type array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$fill": { "partitionBy": { "$add": [1, "a"] }, "sortBy": { "a": 1 }, "output": { "a": { "method": "locf" } } } }], "cursor": {} },
            16554,
            "Failed to optimize partitionBy expression :: caused by :: $add only supports numeric or date types, not string",
        ),
    ];
    check(db, rows).await;
}

async fn stages_are_looked_at_before_what_they_compute(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "output": { "a.b": { "$sum": 1 } }, "groupBy": 0 } }], "cursor": {} },
            40202,
            "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression, but found: 0.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "groupBy": "$$q" } }], "cursor": {} },
            40198,
            "$bucket requires 'groupBy' and 'boundaries' to be specified.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "groupBy": { "$nope": 1 }, "boundaries": [1, 2], "default": 1 } }], "cursor": {} },
            40199,
            "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "output": { "r": 5 }, "boundaries": [1, 2], "groupBy": { "$nope": 1 } } }], "cursor": {} },
            40234,
            "The field 'r' must be an accumulator object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "buckets": 0 } }], "cursor": {} },
            40246,
            "$bucketAuto requires 'groupBy' and 'buckets' to be specified",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "buckets": -1, "groupBy": 5 } }], "cursor": {} },
            40239,
            "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: 5",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "buckets": 0, "groupBy": "$a" } }], "cursor": {} },
            40243,
            "The $bucketAuto 'buckets' field must be greater than 0, but found: 0",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "from": "" } }], "cursor": {} },
            73,
            "invalid $lookup namespace: DB.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "let": 5, "from": 5 } }], "cursor": {} },
            9,
            "$lookup 'from' field must be a string, but found int",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "pipeline": 5 } }], "cursor": {} },
            14,
            "'pipeline' option must be specified as an array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "pipeline": [5], "from": "c", "let": 5 } }], "cursor": {} },
            14,
            "Each element of the 'pipeline' array must be an object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "from": "c", "foreignField": "$b" } }], "cursor": {} },
            9,
            "must specify 'as' field for a $lookup",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "from": "c", "localField": "$a", "foreignField": "b", "as": "x" } }], "cursor": {} },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "depthField": "$d", "from": "" } }], "cursor": {} },
            73,
            "invalid $graphLookup namespace: DB.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "maxDepth": -1, "from": 5 } }], "cursor": {} },
            9,
            "$graphLookup 'from' field must be a string, but found int",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "as": "$o", "from": "c" } }], "cursor": {} },
            40105,
            "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "maxDepth": 1.5, "from": "c" } }], "cursor": {} },
            40102,
            "maxDepth could not be represented as a long long: 1",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "as": "x" } }], "cursor": {} },
            9,
            "missing 'from' option to $graphLookup stage specification: { as: \"x\" }",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$addFields": { "a": { "$nope": 1 }, "a.b": 5 } }], "cursor": {} },
            40176,
            "Invalid $addFields :: caused by :: specification contains two conflicting paths. Cannot specify both 'a.b' and 'a': { a: { $nope: 1 }, a.b: 5 }",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$addFields": { "a": "$$q", "b": { "$nope": 1, "c": 1 } } }], "cursor": {} },
            40181,
            "Invalid $addFields :: caused by :: an expression specification must contain exactly one field, the name of the expression. Found 2 fields in { $nope: 1, c: 1 }, while parsing object { a: \"$$q\", b: { $nope: 1, c: 1 } }",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$densify": { "field": "", "partitionByFields": ["$a"], "range": { "step": 1, "bounds": "full" } } }], "cursor": {} },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$group": { "_id": 1, "r": { "$topN": { "output": { "$nope": 1 }, "sortBy": { "a": 1 } } } } }], "cursor": {} },
            5788003,
            "Missing value for 'n'",
        ),
    ];
    check(db, rows).await;
}
