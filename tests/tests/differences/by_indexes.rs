//! What filters, joins and refusals were found to differ in beside indexes.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    wildcards_that_leave_a_field_out_find_what_is_above_it,
    positions_above_what_a_wildcard_leaves_out_are_answered,
    partial_text_indexes_answer_what_asks_for_their_part,
    searches_beside_what_else_a_partial_text_index_holds,
    undefined_values_are_joined_with_undefined_ones,
    graphs_do_not_lead_from_null_to_undefined,
    arrays_beside_texts_are_told_with_their_field,
    refusals_of_indexes_show_their_version_and_collation,
    parts_of_clustered_collections_go_forward_and_to_their_ends,
    indexes_that_are_not_there_are_told_by_their_keys,
    a_choice_is_answered_by_a_wildcard_index_without_what_is_never_so,
    elements_that_are_null_are_found_by_a_wildcard_index,
    an_index_that_has_been_changed_comes_last,
    nearness_is_answered_beside_what_its_index_answers,
    choices_among_elements_are_answered_by_a_wildcard_index,
    documents_are_not_looked_for_by_another_collation,
}

async fn index(db: &Db, key: Document, options: Document) {
    let mut spec = doc! { "key": key, "name": "i" };
    spec.extend(options);
    run(db, doc! { "createIndexes": "c", "indexes": [spec] }).await;
}

/// The ids of what a filter finds by the index.
async fn hinted(db: &Db, filter: Document) -> Vec<i32> {
    let find = doc! { "find": "c", "filter": filter, "hint": "i", "sort": { "_id": 1 } };
    ids(&batch(&run(db, find).await))
}

async fn places(db: &Db) {
    let values = [
        bson!(1),
        bson!([1, "x"]),
        bson!({ "b": 1 }),
        bson!({}),
        bson!([]),
        bson!([{ "b": 1 }]),
        bson!("x"),
        Bson::Null,
        bson!({ "b": 1, "d": 2 }),
    ];
    let mut documents: Vec<Document> = (1..)
        .zip(values)
        .map(|(id, value)| doc! { "_id": id, "a": value })
        .collect();
    documents.push(doc! { "_id": 10, "z": 1 });
    insert(db, "c", documents).await;
    index(db, doc! { "$**": 1 }, doc! { "wildcardProjection": { "a.b": 0 } }).await;
}

async fn wildcards_that_leave_a_field_out_find_what_is_above_it(db: &Db) {
    places(db).await;
    for (condition, expected) in [
        (bson!(1), vec![1, 2]),
        (bson!({ "$gte": 1 }), vec![1, 2]),
        (bson!({ "$in": ["x", 5] }), vec![2, 7]),
        (bson!({ "$mod": [2, 1] }), vec![1, 2]),
        (bson!({ "$exists": true }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (bson!({ "$type": "string" }), vec![2, 7]),
        (bson!([]), vec![5]),
    ] {
        let filter = doc! { "a": condition };
        assert_eq!(hinted(db, filter.clone()).await, expected, "{filter}");
    }
    assert_eq!(hinted(db, doc! { "a.d": 2 }).await, [9]);
    let left_out = doc! { "find": "c", "filter": { "a.b": 1 }, "hint": "i" };
    assert_eq!(code(db, left_out).await, 291);
}

async fn positions_above_what_a_wildcard_leaves_out_are_answered(db: &Db) {
    places(db).await;
    assert_eq!(hinted(db, doc! { "a.0": 1 }).await, [2]);
    assert_eq!(hinted(db, doc! { "a.1": { "$exists": true } }).await, [2]);
}

async fn texts(db: &Db) {
    let text = |id: i32, c: i32| doc! { "_id": id, "t": "cat", "c": c };
    insert(db, "c", vec![text(1, 1), text(2, 2), text(3, 3)]).await;
    let partial = doc! { "partialFilterExpression": { "c": { "$gte": 2 } } };
    index(db, doc! { "t": "text" }, partial).await;
}

async fn partial_text_indexes_answer_what_asks_for_their_part(db: &Db) {
    texts(db).await;
    for (rest, expected) in [
        (doc! { "c": { "$gte": 2 } }, vec![2, 3]),
        (doc! { "c": 3 }, vec![3]),
        (doc! { "c": { "$in": [2, 7] } }, vec![2]),
    ] {
        let mut filter = doc! { "$text": { "$search": "cat" } };
        filter.extend(rest);
        let find = doc! { "find": "c", "filter": filter.clone(), "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), expected, "{filter}");
    }
    for rest in [doc! {}, doc! { "c": 1 }, doc! { "c": { "$gte": 1 } }] {
        let mut filter = doc! { "$text": { "$search": "cat" } };
        filter.extend(rest);
        for command in [
            doc! { "find": "c", "filter": filter.clone() },
            doc! { "count": "c", "query": filter.clone() },
            doc! { "delete": "c", "deletes": [{ "q": filter.clone(), "limit": 0 }] },
        ] {
            assert_eq!(code(db, command.clone()).await, 291, "{command}");
        }
    }
    let nothing = doc! { "find": "c", "filter": { "$text": { "$search": "" } } };
    assert_eq!(code(db, nothing).await, 291);
    let left = run(db, doc! { "count": "c" }).await;
    assert_eq!(left.get_i32("n").unwrap(), 3);
}

async fn searches_beside_what_else_a_partial_text_index_holds(db: &Db) {
    texts(db).await;
    let search = doc! { "$search": "cat" };
    for (filter, expected) in [
        (
            doc! { "$or": [{ "$text": search.clone(), "c": 2 }, { "_id": 1 }] },
            vec![1, 2],
        ),
        (
            doc! { "c": 2, "$or": [{ "$text": search.clone() }, { "_id": 2 }] },
            vec![2],
        ),
    ] {
        let find = doc! { "find": "c", "filter": filter.clone(), "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), expected, "{filter}");
    }
    let apart = doc! { "$or": [{ "$text": search }, { "_id": 1 }] };
    assert_eq!(code(db, doc! { "find": "c", "filter": apart }).await, 291);
}

async fn undefined_values_are_joined_with_undefined_ones(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "a": Bson::Undefined },
            doc! { "_id": 2, "a": [Bson::Undefined, 5] },
            doc! { "_id": 3, "a": 5 },
        ],
    )
    .await;
    insert(
        db,
        "f",
        vec![
            doc! { "_id": 1, "b": Bson::Undefined },
            doc! { "_id": 2, "b": [Bson::Undefined] },
            doc! { "_id": 3, "b": 5 },
            doc! { "_id": 4, "b": Bson::Null },
            doc! { "_id": 5 },
        ],
    )
    .await;
    let lookup = doc! { "from": "f", "localField": "a", "foreignField": "b", "as": "j" };
    let joined = || doc! { "j": { "$sortArray": { "input": "$j._id", "sortBy": 1 } } };
    for indexed in [false, true] {
        if indexed {
            let spec = doc! { "key": { "b": 1 }, "name": "b" };
            run(db, doc! { "createIndexes": "f", "indexes": [spec] }).await;
        }
        let stages = vec![
            doc! { "$lookup": lookup.clone() },
            doc! { "$project": joined() },
            doc! { "$sort": { "_id": 1 } },
        ];
        let expected = [
            doc! { "_id": 1, "j": [1, 2] },
            doc! { "_id": 2, "j": [1, 2, 3] },
            doc! { "_id": 3, "j": [3] },
        ];
        assert_eq!(aggregate(db, "c", stages).await, expected, "{indexed}");
    }
}

async fn graphs_do_not_lead_from_null_to_undefined(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "b": [Bson::Undefined, Bson::Null] },
            doc! { "_id": 2, "b": [Bson::Undefined, 6] },
            doc! { "_id": 3, "b": Bson::Undefined },
            doc! { "_id": 4, "b": Bson::Null },
            doc! { "_id": 5, "b": [Bson::Null, 6] },
            doc! { "_id": 6 },
        ],
    )
    .await;
    let led = async |start: Bson| {
        let graph = doc! {
            "from": "c", "startWith": start, "connectFromField": "b", "connectToField": "b", "as": "j",
            "maxDepth": 0,
        };
        let stages = vec![
            doc! { "$match": { "_id": 4 } },
            doc! { "$graphLookup": graph },
            doc! { "$project": { "_id": 0, "j": { "$sortArray": { "input": "$j._id", "sortBy": 1 } } } },
        ];
        aggregate(db, "c", stages).await
    };
    assert_eq!(led(Bson::Null).await, [doc! { "j": [4, 5] }]);
    assert_eq!(led(bson!("$b")).await, [doc! { "j": [4, 5] }]);
    assert_eq!(led(bson!([Bson::Null, 6])).await, [doc! { "j": [4, 5] }]);
    assert_eq!(led(bson!([6])).await, [doc! { "j": [2, 5] }]);
}

/// The text of the error that a command gets, or that its first write gets.
async fn told(db: &Db, command: Document) -> String {
    match db.run_command(command).await {
        Err(error) => error.message().to_owned(),
        Ok(reply) => {
            let errors = reply.get_array("writeErrors").unwrap();
            let first = errors[0].as_document().unwrap();
            first.get_str("errmsg").unwrap().to_owned()
        }
    }
}

async fn arrays_beside_texts_are_told_with_their_field(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "t": "x", "d": 1 }]).await;
    index(db, doc! { "d": 1, "t": "text", "b.c": 1 }, doc! {}).await;
    for (document, field) in [
        (doc! { "_id": 2, "t": "x", "b": { "c": [1] } }, "b.c"),
        (doc! { "_id": 3, "b": [{ "c": 1 }] }, "b.c"),
        (doc! { "_id": 4, "b": [] }, "b.c"),
        (doc! { "_id": 5, "d": [1], "t": "x", "b": { "c": [1] } }, "d"),
    ] {
        let expected = format!("Field '{field}' of text index contains an array in document: ");
        let command = doc! { "insert": "c", "documents": [document.clone()] };
        assert_eq!(code(db, command.clone()).await, 201, "{document}");
        let message = told(db, command).await;
        assert!(message.starts_with(&expected), "{message}");
    }
    insert(db, "e", vec![doc! { "_id": 1, "t": "x", "b": [1] }]).await;
    let spec = doc! { "key": { "t": "text", "b": 1 }, "name": "t" };
    let message = told(db, doc! { "createIndexes": "e", "indexes": [spec] }).await;
    let expected = "Field 'b' of text index contains an array in document: { _id: 1, t: \"x\", b: [ 1 ] }";
    assert!(message.ends_with(expected), "{message}");
}

async fn refusals_of_indexes_show_their_version_and_collation(db: &Db) {
    let refused = async |spec: Document| told(db, doc! { "createIndexes": "c", "indexes": [spec] }).await;
    for (options, shown, why) in [
        (
            doc! { "unique": true },
            "unique: true, v: 2",
            "Index type 'wildcard' does not support the unique option",
        ),
        (
            doc! { "sparse": true },
            "sparse: true, v: 2",
            "Index type 'wildcard' does not support the sparse option",
        ),
        (
            doc! { "expireAfterSeconds": 5 },
            "expireAfterSeconds: 5, v: 2",
            "Index type 'wildcard' cannot be a TTL index",
        ),
    ] {
        let mut spec = doc! { "key": { "$**": 1 }, "name": "w" };
        spec.extend(options);
        let expected = format!(
            "Error in specification {{ key: {{ $**: 1 }}, name: \"w\", {shown} }} :: caused by :: {why}"
        );
        assert_eq!(refused(spec).await, expected);
    }
    let mixed =
        doc! { "key": { "a": 1 }, "name": "x", "sparse": true, "partialFilterExpression": { "a": 1 } };
    assert_eq!(
        refused(mixed).await,
        "Error in specification { key: { a: 1 }, name: \"x\", sparse: true, partialFilterExpression: { a: 1 }, \
         v: 2 } :: caused by :: cannot mix \"partialFilterExpression\" and \"sparse\" options"
    );
    let versioned = doc! { "v": 2, "key": { "a": 1 }, "name": "" };
    assert_eq!(
        refused(versioned).await,
        "Error in specification { v: 2, key: { a: 1 }, name: \"\" } :: caused by :: index name cannot be empty"
    );
    let compound = doc! { "key": { "$**": 1, "b": 1 }, "name": "w" };
    assert_eq!(
        refused(compound).await,
        "Error in specification { key: { $**: 1, b: 1 }, name: \"w\" } :: caused by :: wildcard indexes do not \
         allow compounding"
    );
}

async fn parts_of_clustered_collections_go_forward_and_to_their_ends(db: &Db) {
    let cluster = doc! { "key": { "_id": 1 }, "unique": true, "name": "cl" };
    run(db, doc! { "create": "c", "clusteredIndex": cluster }).await;
    let values = [bson!(1), bson!(2), Bson::MaxKey, Bson::MinKey, bson!("x")];
    let documents: Vec<Document> = values.iter().map(|value| doc! { "_id": value.clone() }).collect();
    insert(db, "c", documents).await;
    let part = |options: Document| {
        let mut find = doc! { "find": "c", "hint": "cl" };
        find.extend(options);
        find
    };
    let found = async |options: Document| -> Vec<Bson> {
        let documents = batch(&run(db, part(options)).await);
        let id = |mut document: Document| document.remove("_id").unwrap();
        documents.into_iter().map(id).collect()
    };
    let rest = found(doc! { "min": { "_id": 2 } }).await;
    assert_eq!(rest, [bson!(2), bson!("x"), Bson::MaxKey]);
    assert_eq!(
        found(doc! { "min": { "_id": Bson::MaxKey } }).await,
        [Bson::MaxKey]
    );
    assert!(found(doc! { "max": { "_id": Bson::MinKey } }).await.is_empty());
    let sorted = found(doc! { "max": { "_id": 2 }, "sort": { "_id": -1, "a": 1 } }).await;
    assert_eq!(sorted, [bson!(1), Bson::MinKey]);
    for (options, expected) in [
        (doc! { "min": { "_id": 2 }, "max": { "_id": 1 } }, 6_137_401),
        (doc! { "min": { "_id": 2 }, "max": { "_id": 2 } }, 6_137_401),
        (
            doc! { "min": { "_id": 2 }, "max": { "_id": 1 }, "sort": { "_id": -1 } },
            6_137_401,
        ),
        (doc! { "min": { "_id": 1 }, "sort": { "_id": -1 } }, 6_137_402),
        (
            doc! { "max": { "_id": 2 }, "sort": { "_id": -1 }, "limit": 1 },
            6_137_402,
        ),
    ] {
        assert_eq!(code(db, part(options.clone())).await, expected, "{options}");
    }
}

async fn indexes_that_are_not_there_are_told_by_their_keys(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let drop = doc! { "dropIndexes": "c", "index": { "a": -1, "b": "hashed" } };
    assert_eq!(code(db, drop.clone()).await, 27);
    let expected = "can't find index with key: { a: -1, b: \"hashed\" }";
    assert_eq!(told(db, drop).await, expected);
}

async fn a_choice_is_answered_by_a_wildcard_index_without_what_is_never_so(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1, "b": 2 }]).await;
    index(db, doc! { "$**": 1 }, doc! {}).await;
    let never = doc! { "$alwaysFalse": 1 };
    for choice in [
        bson!([never.clone(), { "a": 1 }]),
        bson!([never.clone(), { "$or": [{ "a": 1 }] }]),
        bson!([{ "a": 1 }, { "$alwaysFalse": 1, "b": {} }]),
        bson!([{ "a": 1 }, never, { "b": 2 }]),
    ] {
        let find = doc! { "find": "c", "filter": { "$or": choice.clone() }, "hint": { "$**": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), [1], "{choice}");
    }
}

async fn elements_that_are_null_are_found_by_a_wildcard_index(db: &Db) {
    let values = [
        bson!([Bson::Null, 1]),
        bson!([1]),
        Bson::Null,
        bson!([[Bson::Null]]),
        bson!([{ "b": Bson::Null }]),
        bson!([]),
        bson!([{ "b": [Bson::Null] }]),
    ];
    let documents = (1..)
        .zip(values)
        .map(|(id, value)| doc! { "_id": id, "a": value });
    insert(db, "c", documents.collect()).await;
    index(db, doc! { "$**": 1 }, doc! {}).await;
    let nulls = [
        bson!({ "$eq": Bson::Null }),
        bson!({ "$in": [Bson::Null] }),
        bson!({ "$in": [Bson::Null, Bson::Null] }),
    ];
    for none in nulls {
        assert_eq!(
            hinted(db, doc! { "a": { "$elemMatch": none.clone() } }).await,
            [1]
        );
        assert_eq!(
            hinted(db, doc! { "a.b": { "$elemMatch": none.clone() } }).await,
            [7]
        );
        let find = doc! { "find": "c", "filter": { "a": none }, "hint": "i" };
        assert_eq!(code(db, find).await, 291);
    }
    let some = doc! { "a": { "$elemMatch": { "$in": [Bson::Null, 1] } } };
    assert_eq!(hinted(db, some).await, [1, 2]);
}

/// The name of the index whose key is taken.
async fn taken(db: &Db) -> String {
    let reply = run(
        db,
        doc! { "insert": "c", "documents": [{ "_id": 2, "a": 1, "b": 1 }] },
    )
    .await;
    let errors = reply.get_array("writeErrors").unwrap();
    let message = errors[0].as_document().unwrap().get_str("errmsg").unwrap();
    let (_, name) = message.split_once(" index: ").unwrap();
    name.split(' ').next().unwrap().to_owned()
}

async fn an_index_that_has_been_changed_comes_last(db: &Db) {
    let specs = vec![
        doc! { "key": { "a": 1 }, "name": "a", "unique": true },
        doc! { "key": { "b": 1 }, "name": "b", "unique": true },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": specs }).await;
    insert(db, "c", vec![doc! { "_id": 1, "a": 1, "b": 1 }]).await;
    assert_eq!(taken(db).await, "a");
    let changes = [
        (doc! { "name": "a", "hidden": true }, "b"),
        (doc! { "name": "b", "expireAfterSeconds": 1_000_000 }, "a"),
        (doc! { "name": "b", "expireAfterSeconds": 1_000_000 }, "a"),
        (doc! { "name": "a", "expireAfterSeconds": 1_000_000 }, "b"),
        (doc! { "name": "b", "hidden": false }, "b"),
        (doc! { "name": "b", "prepareUnique": true }, "b"),
        (doc! { "name": "a", "expireAfterSeconds": 1_000_000 }, "b"),
    ];
    for (change, first) in changes {
        run(db, doc! { "collMod": "c", "index": change.clone() }).await;
        assert_eq!(taken(db).await, first, "{change}");
        let indexes = batch(&run(db, doc! { "listIndexes": "c" }).await);
        let names: Vec<_> = indexes
            .iter()
            .map(|index| index.get_str("name").unwrap())
            .collect();
        assert_eq!(names, ["_id_", "a", "b"], "{change}");
    }
    // `$out` makes them anew, in the order of their making.
    aggregate(db, "c", vec![doc! { "$out": "c" }]).await;
    assert_eq!(taken(db).await, "a");
}

async fn nearness_is_answered_beside_what_its_index_answers(db: &Db) {
    index(db, doc! { "n": 1, "g": "2dsphere" }, doc! {}).await;
    let documents = vec![
        doc! { "_id": 1, "n": 1, "g": [1, 1] },
        doc! { "_id": 2, "g": [1, 2] },
        doc! { "_id": 3, "n": null, "g": [1, 3] },
        doc! { "_id": 4, "n": [1, 2], "g": [1, 4] },
    ];
    insert(db, "c", documents).await;
    let near = doc! { "$near": { "$geometry": { "type": "Point", "coordinates": [1, 1] } } };
    let found = async |filter: Document| {
        let mut filter = filter;
        filter.insert("g", near.clone());
        let find = doc! { "find": "c", "filter": filter };
        match db.run_command(find).await {
            Ok(reply) => Ok(ids(&batch(&reply))),
            Err(error) => Err(error.code().unwrap()),
        }
    };
    // Even what bounds nothing is an answer of the index.
    for (asked, expected) in [
        (doc! { "n": { "$exists": true } }, vec![1, 3, 4]),
        (doc! { "n": { "$gte": Bson::MinKey } }, vec![1, 2, 3, 4]),
        (doc! { "n": null }, vec![2, 3]),
        (doc! { "$or": [{ "n": null }] }, vec![2, 3]),
        (doc! { "$or": [{ "n": { "$mod": [2, 1] } }] }, vec![1, 4]),
        (
            doc! { "$or": [{ "n": 2 }, { "n": { "$in": [null] } }] },
            vec![2, 3, 4],
        ),
        (
            doc! { "$and": [{ "n": { "$ne": null } }, { "n": { "$exists": true } }] },
            vec![1, 4],
        ),
        (
            doc! { "n": { "$exists": true }, "$or": [{ "n": { "$size": 2 } }] },
            vec![4],
        ),
    ] {
        assert_eq!(found(asked.clone()).await, Ok(expected), "{asked}");
    }
    for asked in [
        doc! {},
        doc! { "n": { "$exists": false } },
        doc! { "n": { "$ne": 1 } },
        doc! { "n": { "$nin": [1] } },
        doc! { "n": { "$not": { "$gt": 5 } } },
        doc! { "n": { "$size": 2 } },
        doc! { "n": { "$bitsAllSet": 1 } },
        doc! { "$or": [{ "n": 1 }, { "n": { "$gt": 2 } }] },
        doc! { "$or": [{ "n": 1 }, { "n": { "$in": [5, null] } }] },
        doc! { "$or": [{ "n": 1 }, { "m": 1 }] },
    ] {
        assert_eq!(found(asked.clone()).await, Err(291), "{asked}");
    }
}

async fn choices_among_elements_are_answered_by_a_wildcard_index(db: &Db) {
    let projected = doc! { "wildcardProjection": { "o.x": 1 } };
    index(db, doc! { "$**": 1 }, projected).await;
    let documents = vec![
        doc! { "_id": 1, "o": [{ "x": 1 }, { "y": 2 }] },
        doc! { "_id": 2, "o": [{ "x": 2, "y": 3 }] },
        doc! { "_id": 3, "o": { "x": 1 } },
    ];
    insert(db, "c", documents).await;
    let among = |choices: Bson| doc! { "o": { "$elemMatch": { "$or": choices } } };
    for (choices, expected) in [
        (bson!([{ "x": 1 }, { "x": 2, "y": 3 }]), vec![1, 2]),
        (bson!([{ "x": 5 }, { "$and": [{ "x": 2 }, { "y": 3 }] }]), vec![2]),
        (bson!([{ "x": 1 }, { "x": { "$exists": true } }]), vec![1, 2]),
        (bson!([{ "x": 1 }, { "$or": [{ "x": 3 }, { "x": {} }] }]), vec![1]),
    ] {
        assert_eq!(hinted(db, among(choices.clone())).await, expected, "{choices}");
    }
    for choices in [
        bson!([{ "x": 1 }, { "y": 2 }]),
        bson!([{ "x": 1 }, { "x": { "$ne": 2 } }]),
    ] {
        let find = doc! { "find": "c", "filter": among(choices.clone()), "hint": "i" };
        assert_eq!(code(db, find).await, 291, "{choices}");
    }
}

async fn documents_are_not_looked_for_by_another_collation(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": 1 }, doc! { "_id": 2, "c": [], "b": 1 }],
    )
    .await;
    index(db, doc! { "c": 1 }, doc! { "collation": { "locale": "en" } }).await;
    let is_by_index = async |filter: Document, collation: Document| {
        let mut find = doc! { "find": "c", "filter": filter };
        find.extend(collation);
        let explained = run(db, doc! { "explain": find, "verbosity": "queryPlanner" }).await;
        explained.to_string().contains("IXSCAN")
    };
    let same = doc! { "collation": { "locale": "en" } };
    // An index of another collation has the order of their texts, if they had some.
    for (value, expected) in [
        (bson!({}), false),
        (bson!([1]), false),
        (bson!("x"), false),
        (bson!(1), true),
    ] {
        let filter = doc! { "c": { "$in": [value, 5] } };
        assert_eq!(is_by_index(filter.clone(), doc! {}).await, expected, "{filter}");
        assert!(is_by_index(filter.clone(), same.clone()).await, "{filter}");
    }
    // Which of two documents comes first tells.
    let update = doc! { "q": { "c": { "$ne": {} } }, "u": { "$push": { "b": 1 }, "$set": { "a.x": 1 } } };
    assert_eq!(code(db, doc! { "update": "c", "updates": [update] }).await, 28);
}
