//! Specifications of one `createIndexes` that cannot stand together, and when they are looked at.

use odm::Db;
use odm::bson::{Bson, Document, doc};

use odm_tests::command::{insert, run};

use super::refusals::{answer, check};

crate::on_every_backend! {
    indexes_that_conflict_are_told_as_a_failed_build,
    indexes_of_a_new_collection_conflict_by_themselves,
    indexes_there_are_conflict_before_those_of_the_command,
    a_collection_has_sixty_four_indexes,
    bounds_of_the_plane_are_looked_at_by_the_builder,
    searches_are_no_partial_filters_before_what_is_together,
    a_specification_is_looked_at_as_a_whole_in_its_order,
    of_several_specifications_times_and_collations_are_looked_at_first,
    clustered_and_capped_collections_have_no_such_indexes,
    keys_are_counted_by_the_builder,
    quorums_are_looked_at_before_specifications_as_a_whole,
    a_collection_that_is_not_there_has_nothing_to_follow,
    options_that_cannot_be_together_are_told_behind_each_by_itself,
    views_are_named_behind_what_specifications_say_by_themselves,
}

const FAILED: &str = "Index build failed: UUID: Collection DB.c ( UUID ) :: caused by :: ";
const EMPTY: &str = "index build on empty collection failed: UUID :: caused by :: ";

fn index(key: Document, name: &str, options: Document) -> Document {
    let mut index = doc! { "key": key, "name": name };
    index.extend(options);
    index
}

/// Indexes on one key by two names, one index twice, two indexes by one name, and two of texts.
fn conflicts() -> [(Document, Document, i32, &'static str); 4] {
    let a = || index(doc! { "a": 1 }, "a", doc! {});
    let text = |name: &str, more: Document| {
        let mut key = doc! { "a": "text" };
        key.extend(more);
        index(key, name, doc! {})
    };
    [
        (
            a(),
            index(doc! { "a": 1 }, "b", doc! {}),
            85,
            "Index already exists with a different name: a",
        ),
        (a(), a(), 68, "Identical index already exists: a"),
        (
            a(),
            index(doc! { "b": 1 }, "a", doc! {}),
            86,
            "An existing index has the same name as the requested index. When index names are not specified, they are auto \
             generated and can cause conflicts. Please refer to our documentation. Requested index: { v: 2, key: { b: 1 }, \
             name: \"a\" }, existing index: { v: 2, key: { a: 1 }, name: \"a\" }",
        ),
        (
            text("a", doc! {}),
            text("b", doc! { "b": 1 }),
            67,
            "only one text index per collection allowed, found existing text index \"a\"",
        ),
    ]
}

/// What a command is told, with `UUID` for each.
async fn told(db: &Db, command: Document) -> (i32, String) {
    let (code, words) = answer(db, command, db.name()).await;
    let is_uuid =
        |word: &str| word.len() == 36 && word.chars().all(|own| own == '-' || own.is_ascii_hexdigit());
    let mut masked = words.clone();
    for word in words.split([' ', ':', '(', ')']).filter(|word| is_uuid(word)) {
        masked = masked.replace(word, "UUID");
    }
    (code, masked)
}

async fn indexes_that_conflict_are_told_as_a_failed_build(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for (first, second, code, words) in conflicts() {
        let both = doc! { "createIndexes": "c", "indexes": [first, second] };
        let expected = (code, format!("{FAILED}{EMPTY}{words}"));
        assert_eq!(told(db, both).await, expected);
    }
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (first, second, code, words) in conflicts() {
        let both = doc! { "createIndexes": "c", "indexes": [first, second] };
        let (code, words) = match code {
            68 => (
                96,
                "Cannot build two identical indexes. Try again without duplicate indexes.",
            ),
            _ => (code, words),
        };
        assert_eq!(told(db, both).await, (code, format!("{FAILED}{words}")));
    }
    let indexes = run(db, doc! { "listIndexes": "c" }).await;
    let indexes = indexes.get_document("cursor").unwrap().get_array("firstBatch");
    assert_eq!(indexes.unwrap().len(), 1, "nothing is built");
}

async fn indexes_of_a_new_collection_conflict_by_themselves(db: &Db) {
    for (first, second, code, words) in conflicts() {
        let both = doc! { "createIndexes": "c", "indexes": [first, second] };
        assert_eq!(told(db, both).await, (code, words.to_owned()));
    }
}

async fn indexes_there_are_conflict_before_those_of_the_command(db: &Db) {
    let x = |name: &str| index(doc! { "x": 1 }, name, doc! {});
    let a = |name: &str| index(doc! { "a": 1 }, name, doc! {});
    run(db, doc! { "createIndexes": "c", "indexes": [x("x")] }).await;
    let late = doc! { "createIndexes": "c", "indexes": [a("a"), a("b"), x("y")] };
    let expected = (85, "Index already exists with a different name: x".to_owned());
    assert_eq!(told(db, late).await, expected);
    // One that is there is no index of the command's.
    let twice = doc! { "createIndexes": "c", "indexes": [x("x"), x("x")] };
    let reply = run(db, twice).await;
    assert_eq!(reply.get_str("note").unwrap(), "all indexes already exist");
}

async fn a_collection_has_sixty_four_indexes(db: &Db) {
    let many = |from: usize, to: usize| -> Vec<Document> {
        (from..to)
            .map(|n| index(doc! { format!("k{n}"): 1 }, &format!("k{n}"), doc! {}))
            .collect()
    };
    let words = |n: usize| format!("add index fails, too many indexes for DB.c key:{{ k{n}: 1 }}");
    let create = doc! { "createIndexes": "c", "indexes": many(0, 64) };
    assert_eq!(told(db, create.clone()).await, (67, words(63)));
    run(db, doc! { "create": "c" }).await;
    assert_eq!(
        told(db, create.clone()).await,
        (67, format!("{FAILED}{EMPTY}{}", words(63)))
    );
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    assert_eq!(told(db, create).await, (67, format!("{FAILED}{}", words(63))));
    run(db, doc! { "createIndexes": "c", "indexes": many(0, 63) }).await;
    let one = doc! { "createIndexes": "c", "indexes": many(70, 71) };
    assert_eq!(told(db, one).await, (67, words(70)));
}

async fn bounds_of_the_plane_are_looked_at_by_the_builder(db: &Db) {
    let plane = |name: &str, options: Document| index(doc! { "p": "2d" }, name, options);
    let bits = |name: &str| plane(name, doc! { "bits": 33 });
    let a = |name: &str| index(doc! { "a": 1 }, name, doc! {});
    const BITS: &str = "bits for hash must be > 0 and <= 32, but 33 bits were specified";
    let region = plane("p", doc! { "min": 5.0, "max": 2.0 });
    const REGION: &str = "region for hash must be valid and have positive area, but [5, 2] was specified";
    let cases = [
        (
            vec![bits("p")],
            BITS,
            "{ v: 2, key: { p: \"2d\" }, name: \"p\", bits: 33 }",
        ),
        (
            vec![region],
            REGION,
            "{ v: 2, key: { p: \"2d\" }, name: \"p\", min: 5.0, max: 2.0 }",
        ),
        (
            vec![a("a"), bits("p")],
            BITS,
            "{ v: 2, key: { a: 1 }, name: \"a\" }",
        ),
        (
            vec![bits("p"), a("p")],
            BITS,
            "{ v: 2, key: { p: \"2d\" }, name: \"p\", bits: 33 }",
        ),
    ];
    let create = |specs: &[Document]| doc! { "createIndexes": "c", "indexes": specs };
    for (specs, words, _) in &cases {
        assert_eq!(told(db, create(specs)).await, (72, (*words).to_owned()));
    }
    run(db, doc! { "create": "c" }).await;
    for (specs, words, _) in &cases {
        assert_eq!(
            told(db, create(specs)).await,
            (72, format!("{FAILED}{EMPTY}{words}"))
        );
    }
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (specs, words, first) in &cases {
        let count = specs.len();
        let builder = format!(
            "Caught exception during index builder (UUID) initialization on namespaceDB.c (UUID). {count} index specs \
             provided. First index spec: {first} :: caused by :: "
        );
        assert_eq!(
            told(db, create(specs)).await,
            (72, format!("{FAILED}{builder}{words}"))
        );
    }
    // Behind what cannot stand beside it.
    let conflict = create(&[a("p"), bits("p")]);
    assert_eq!(told(db, conflict).await.0, 86);
}

async fn searches_are_no_partial_filters_before_what_is_together(db: &Db) {
    let spec = |filter: Document| {
        let options = doc! { "sparse": true, "partialFilterExpression": filter };
        doc! { "createIndexes": "c", "indexes": [index(doc! { "a": 1 }, "i", options)] }
    };
    let mixed = |filter: &str| {
        format!(
            "Error in specification {{ key: {{ a: 1 }}, name: \"i\", sparse: true, partialFilterExpression: {filter}, v: 2 }} \
             :: caused by :: cannot mix \"partialFilterExpression\" and \"sparse\" options"
        )
    };
    for (filter, shown) in [
        (doc! { "a": { "$ne": 1 } }, "{ a: { $ne: 1 } }"),
        (doc! { "$alwaysFalse": 1 }, "{ $alwaysFalse: 1 }"),
        (doc! { "$alwaysTrue": 1 }, "{ $alwaysTrue: 1 }"),
        (doc! { "a": { "$regex": "a" } }, "{ a: { $regex: \"a\" } }"),
    ] {
        assert_eq!(told(db, spec(filter)).await, (67, mixed(shown)));
    }
    let (code, words) = told(db, spec(doc! { "$text": { "$search": "x" } })).await;
    assert_eq!(code, 2);
    assert!(words.ends_with("$text is not allowed in this context"), "{words}");
    let (code, words) = told(db, spec(doc! { "a": { "$near": [1, 2] } })).await;
    assert_eq!(code, 5626500);
    assert!(
        words.ends_with("$geoNear, $near, and $nearSphere are not allowed in this context"),
        "{words}"
    );
    let endless = doc! { "key": { "_id": 1 }, "name": "i", "expireAfterSeconds": f64::NAN };
    let words = "The field 'expireAfterSeconds' is not valid for an _id index specification. Specification: { key: { _id: \
                 1 }, name: \"i\", expireAfterSeconds: 2147483647, v: 2 }";
    check(
        db,
        vec![(doc! { "createIndexes": "c", "indexes": [endless] }, 197, words)],
    )
    .await;
}

async fn a_specification_is_looked_at_as_a_whole_in_its_order(db: &Db) {
    const NAME: &str = "index name cannot be empty";
    const MIXED: &str = "cannot mix \"partialFilterExpression\" and \"sparse\" options";
    const ENGINE: &str = "\"storageEngine\" options must be a document if present";
    let mixed = |more: Document| {
        let mut options = doc! { "sparse": true, "partialFilterExpression": { "a": 1 } };
        options.extend(more);
        options
    };
    let collated = |more: Document| {
        let mut options = doc! { "collation": { "locale": "fr" } };
        options.extend(more);
        options
    };
    let text = || doc! { "a": "text" };
    let all = || doc! { "$**": 1 };
    let sphere = || doc! { "a": "2dsphere" };
    let many = |last: &str| -> Document {
        let mut keys: Document = (0..40).map(|n| (format!("k{n}"), 1.into())).collect();
        keys.insert("a", last);
        keys
    };
    for (key, name, options, words) in [
        (text(), "", doc! { "textIndexVersion": 9 }, NAME),
        (text(), "", doc! { "weights": { "a": "x" } }, NAME),
        (all(), "", doc! { "sparse": true }, NAME),
        (sphere(), "", doc! { "2dsphereIndexVersion": 9 }, NAME),
        (doc! { "a": "2d" }, "", collated(doc! {}), NAME),
        (doc! { "a": "hashed" }, "", doc! { "unique": true }, NAME),
        (
            all(),
            "a",
            mixed(doc! {}),
            "Index type 'wildcard' does not support the sparse option",
        ),
        (
            all(),
            "a",
            doc! { "unique": true, "storageEngine": 5 },
            "Index type 'wildcard' does not support the unique option",
        ),
        (text(), "a", mixed(doc! { "textIndexVersion": 9 }), MIXED),
        (sphere(), "a", mixed(doc! { "2dsphereIndexVersion": 9 }), MIXED),
        (doc! { "a": "hashed" }, "a", mixed(doc! { "unique": true }), MIXED),
        (
            many("x").into_iter().take(40).collect(),
            "a",
            mixed(doc! {}),
            MIXED,
        ),
        (
            text(),
            "a",
            doc! { "textIndexVersion": 9, "storageEngine": 5 },
            ENGINE,
        ),
        (
            sphere(),
            "a",
            doc! { "2dsphereIndexVersion": 9, "storageEngine": 5 },
            ENGINE,
        ),
        (
            doc! { "a": "hashed", "b": "hashed" },
            "a",
            doc! { "storageEngine": 5 },
            ENGINE,
        ),
        (
            doc! { "a": "2d" },
            "a",
            doc! { "bits": 99, "storageEngine": 5 },
            ENGINE,
        ),
        (
            many("text"),
            "a",
            doc! { "textIndexVersion": 9 },
            "bad textIndexVersion: 9",
        ),
        (
            text(),
            "a",
            doc! { "weights": { "a": "x" }, "textIndexVersion": 9 },
            "weight for text index needs numeric type",
        ),
    ] {
        let spec = index(key, name, options);
        let (code, told) = told(db, doc! { "createIndexes": "c", "indexes": [spec.clone()] }).await;
        assert_eq!(code, 67, "{spec}");
        assert!(
            told.ends_with(&format!(" :: caused by :: {words}")),
            "{spec}: {told}"
        );
    }
    for (kind, more) in [
        ("text", doc! { "textIndexVersion": 9 }),
        ("text", doc! { "weights": { "a": "x" } }),
        ("text", doc! { "storageEngine": 5 }),
        ("2d", doc! { "bits": 99 }),
        ("2d", doc! { "storageEngine": 5 }),
        ("2d", mixed(doc! {})),
    ] {
        let spec = index(doc! { "a": kind }, "a", collated(more));
        let (code, told) = told(db, doc! { "createIndexes": "c", "indexes": [spec.clone()] }).await;
        assert_eq!(code, 67, "{spec}");
        let words = format!("Index type '{kind}' does not support collation: ");
        assert!(told.contains(&words), "{spec}: {told}");
    }
}

async fn of_several_specifications_times_and_collations_are_looked_at_first(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let a = |name: &str, options: Document| index(doc! { "a": 1 }, name, options);
    // The earlier of two kinds is told, whichever specification comes first; of one kind, the first specification's.
    let faults = [
        (
            0,
            a("x", doc! { "expireAfterSeconds": -1 }),
            "TTL index 'expireAfterSeconds' option cannot be less than 0. Index spec: { key: { a: 1 }, name: \"x\", \
             expireAfterSeconds: -1 }",
        ),
        (
            1,
            a("x", doc! { "collation": { "locale": "zz" } }),
            "failed to add collation information to index spec for index creation: { key: { a: 1 }, name: \"x\", collation: \
             { locale: \"zz\" }, v: 2 } :: caused by :: Field 'locale' is invalid in: { locale: \"zz\" }",
        ),
        (
            2,
            a("", doc! {}),
            "Error in specification { key: { a: 1 }, name: \"\", v: 2 } :: caused by :: index name cannot be empty",
        ),
        (
            2,
            index(doc! { "a": "text" }, "t", doc! { "textIndexVersion": 9 }),
            "Error in specification { key: { a: \"text\" }, name: \"t\", textIndexVersion: 9, v: 2 } :: caused by :: bad \
             textIndexVersion: 9",
        ),
        (
            3,
            index(doc! { "a": "hashed" }, "h", doc! { "unique": true }),
            "Index build failed: UUID: Collection DB.c ( UUID ) :: caused by :: index build on empty collection failed: UUID :: \
             caused by :: Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        ),
    ];
    for (phase, first, words) in &faults {
        for (other, second, others) in &faults {
            if first == second {
                continue;
            }
            let both = doc! { "createIndexes": "c", "indexes": [first.clone(), second.clone()] };
            let expected = if phase <= other { words } else { others };
            assert_eq!(told(db, both.clone()).await.1, *expected, "{both}");
        }
    }
}

async fn clustered_and_capped_collections_have_no_such_indexes(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    run(db, doc! { "create": "capped", "capped": true, "size": 4096 }).await;
    let clustered = |unique: Bson| {
        let options = doc! { "unique": unique, "clustered": true };
        index(doc! { "_id": 1 }, "a", options)
    };
    let unnamed = || index(doc! { "a": 1 }, "", doc! {});
    let create = |name: &str, specs: Vec<Document>| doc! { "createIndexes": name, "indexes": specs };
    const REQUIRED: &str = " :: caused by :: The 'unique' field is required when 'clustered' is specified";
    for unique in [
        Bson::Int32(1),
        Bson::Boolean(false),
        Bson::Int32(0),
        Bson::Double(1.0),
    ] {
        let (code, words) = told(db, create("c", vec![clustered(unique.clone())])).await;
        assert_eq!(code, 67, "{unique}");
        assert!(words.ends_with(REQUIRED), "{words}");
    }
    const MISMATCH: &str = "Error in specification { key: { _id: 1 }, name: \"a\", unique: true, clustered: true, v: 2 } :: \
                            caused by :: Cannot create index with option 'clustered' that does not match an existing \
                            clustered index";
    const IMPLICIT: &str = "Cannot implicitly create a new collection with createIndex 'clustered' option";
    const CAPPED: &str = "Cannot create TTL index on a capped collection";
    let asked = || clustered(Bson::Boolean(true));
    let timed = || index(doc! { "a": 1 }, "t", doc! { "expireAfterSeconds": 5 });
    let b = || index(doc! { "a": 1 }, "b", doc! {});
    let rows = vec![
        (create("c", vec![asked()]), 6243700, MISMATCH),
        (create("c", vec![asked(), unnamed()]), 6243700, MISMATCH),
        (create("none", vec![asked()]), 6100900, IMPLICIT),
        (create("none", vec![asked(), unnamed()]), 6100900, IMPLICIT),
        (create("capped", vec![timed()]), 67, CAPPED),
        (create("capped", vec![timed(), unnamed()]), 67, CAPPED),
        (create("capped", vec![b(), timed()]), 67, CAPPED),
    ];
    check(db, rows).await;
}

async fn keys_are_counted_by_the_builder(db: &Db) {
    let create = |specs: Vec<Document>| doc! { "createIndexes": "c", "indexes": specs };
    let keys: Document = (0..33).map(|n| (format!("k{n}"), 1.into())).collect();
    let many = |name: &str| index(keys.clone(), name, doc! {});
    let hashed = index(doc! { "a": "hashed", "b": "hashed" }, "h", doc! {});
    let unique = index(doc! { "a": "hashed" }, "u", doc! { "unique": true });
    let cases = [
        (many("m"), 13103, "too many compound keys"),
        (
            hashed,
            31303,
            "A maximum of one index field is allowed to be hashed but found 2 for 'key' { a: \"hashed\", b: \"hashed\" }",
        ),
        (
            unique,
            16764,
            "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        ),
    ];
    for (spec, code, words) in &cases {
        let told = told(db, create(vec![spec.clone()])).await;
        assert_eq!(told, (*code, (*words).to_owned()));
    }
    run(db, doc! { "create": "c" }).await;
    for (spec, code, words) in &cases {
        let told = told(db, create(vec![spec.clone()])).await;
        assert_eq!(told, (*code, format!("{FAILED}{EMPTY}{words}")));
    }
    let conflict = create(vec![index(doc! { "a": 1 }, "m", doc! {}), many("m")]);
    assert_eq!(told(db, conflict).await.0, 86);
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (spec, code, words) in &cases {
        let (found, told) = told(db, create(vec![spec.clone()])).await;
        assert_eq!(found, *code);
        let builder = "Caught exception during index builder (UUID) initialization on namespaceDB.c (UUID). 1 index specs";
        assert!(told.starts_with(&format!("{FAILED}{builder}")), "{told}");
        assert!(told.ends_with(&format!(" :: caused by :: {words}")), "{told}");
    }
}

async fn quorums_are_looked_at_before_specifications_as_a_whole(db: &Db) {
    let create = |spec: Document| doc! { "createIndexes": "c", "commitQuorum": "zz", "indexes": [spec] };
    let a = |options: Document| create(index(doc! { "a": 1 }, "a", options));
    for (command, code) in [
        (a(doc! { "expireAfterSeconds": -1 }), 79),
        (a(doc! { "zz": -1 }), 197),
        (a(doc! { "unique": true, "prepareUnique": true }), 67),
        (
            create(index(doc! { "a": "text" }, "a", doc! { "textIndexVersion": 9 })),
            79,
        ),
        (create(index(doc! { "a": "2d" }, "a", doc! { "bits": 99 })), 79),
    ] {
        assert_eq!(told(db, command.clone()).await.0, code, "{command}");
    }
}

async fn a_collection_that_is_not_there_has_nothing_to_follow(db: &Db) {
    for more in [
        doc! {},
        doc! { "awaitData": true, "filter": { "a": 1 } },
        doc! { "hint": { "a": 1 } },
    ] {
        let mut find = doc! { "find": "none", "tailable": true };
        find.extend(more);
        let reply = run(db, find).await;
        let cursor = reply.get_document("cursor").unwrap();
        assert_eq!(cursor.get_i64("id").unwrap(), 0);
        assert!(cursor.get_array("firstBatch").unwrap().is_empty());
    }
    let sorted = doc! { "find": "none", "tailable": true, "sort": { "a": 1 } };
    let words = "cannot use tailable option with a sort other than {$natural: 1}";
    check(db, vec![(sorted, 2, words)]).await;
}

async fn options_that_cannot_be_together_are_told_behind_each_by_itself(db: &Db) {
    let together = |what: &str| {
        format!(
            "Error in specification SPEC :: caused by :: Invalid index specification SPEC; cannot create an index with the {what}"
        )
    };
    let unique = || together("'unique' option and the 'prepareUnique' option");
    let collated = || together("'collation' option and v=1");
    let said = |words: &str| format!("Error in specification SPEC :: caused by :: {words}");
    let both = |more: Document| {
        let mut options = doc! { "unique": true, "prepareUnique": true };
        options.extend(more);
        options
    };
    let old = |more: Document| {
        let mut options = doc! { "v": 1, "collation": { "locale": "fr" } };
        options.extend(more);
        options
    };
    for (key, options, code, words) in [
        (
            doc! { "a": 1 },
            both(doc! { "sparse": "x" }),
            14,
            said("The field 'sparse has value sparse: \"x\", which is not convertible to bool"),
        ),
        (
            doc! { "a": "zz" },
            both(doc! {}),
            67,
            said("Unknown index plugin 'zz'"),
        ),
        (doc! {}, both(doc! {}), 67, said("Index keys cannot be empty.")),
        (
            doc! { "a": 1 },
            both(doc! { "partialFilterExpression": { "$and": 1 } }),
            2,
            said("$and must be an array"),
        ),
        (
            doc! { "a": 1 },
            both(doc! { "expireAfterSeconds": -5 }),
            67,
            unique(),
        ),
        (
            doc! { "a": 1 },
            both(doc! { "sparse": true, "partialFilterExpression": { "a": 1 } }),
            67,
            unique(),
        ),
        (doc! { "$**": 1 }, both(doc! {}), 67, unique()),
        (doc! { "_id": 1 }, both(doc! {}), 67, unique()),
        (
            doc! { "$**": 1, "a": 1 },
            both(doc! {}),
            67,
            said("wildcard indexes do not allow compounding"),
        ),
        (
            doc! { "a": 1 },
            both(doc! { "weights": { "a": 1 } }),
            67,
            said(
                "Invalid index specification SPEC; the field 'weights' can only be specified with text indexes",
            ),
        ),
        (doc! { "a": 1 }, old(both(doc! {})), 67, collated()),
        (
            doc! { "a": 1 },
            old(doc! { "weights": { "a": 1 } }),
            67,
            collated(),
        ),
        (doc! { "a": "2d" }, old(doc! {}), 67, collated()),
        (
            doc! { "a": "zz" },
            old(doc! {}),
            67,
            said("Unknown index plugin 'zz'"),
        ),
        (
            doc! { "a": 1 },
            old(doc! { "wildcardProjection": { "a": 1 } }),
            2,
            said("The field 'wildcardProjection' is only allowed in an 'wildcard' index"),
        ),
        (
            doc! { "a": 1 },
            old(doc! { "default_language": 5 }),
            14,
            said("The field 'default_language' must be a string, but got int"),
        ),
    ] {
        let spec = index(key, "a", options);
        let shown = told(db, doc! { "createIndexes": "c", "indexes": [spec.clone()] }).await;
        let (found, own) = (shown.0, shown.1.clone());
        // The specification as it stands behind the first words.
        let start = "Error in specification ";
        let end = own.find(" :: caused by").unwrap();
        let own = own.replace(&own[start.len()..end].to_owned(), "SPEC");
        assert_eq!((found, own), (code, words), "{spec}");
    }
}

async fn views_are_named_behind_what_specifications_say_by_themselves(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let a = |options: Document| index(doc! { "a": 1 }, "a", options);
    let view = || (166, "Namespace DB.v is a view, not a collection");
    let mut rows = Vec::new();
    for spec in [
        a(doc! { "storageEngine": {} }),
        a(doc! { "partialFilterExpression": { "a": { "$ne": 1 } } }),
        a(doc! { "textIndexVersion": 99 }),
        a(doc! { "clustered": true, "unique": true }),
        index(doc! { "a": "2d", "b": "2d" }, "x", doc! {}),
        index(doc! { "a": "text" }, "x", doc! { "textIndexVersion": 99 }),
        index(doc! { "a": 1 }, "", doc! {}),
        index(doc! { "_id": 1 }, "a", doc! { "collation": { "locale": "zz" } }),
    ] {
        rows.push((spec, view()));
    }
    rows.push((
        a(doc! { "clustered": true }),
        (
            67,
            "Error in specification { key: { a: 1 }, name: \"a\", clustered: true } :: caused by :: The 'unique' field is \
             required when 'clustered' is specified",
        ),
    ));
    rows.push((
        index(doc! { "_id": 1 }, "a", doc! { "expireAfterSeconds": 5 }),
        (
            197,
            "The field 'expireAfterSeconds' is not valid for an _id index specification. Specification: { key: { _id: 1 }, \
             name: \"a\", expireAfterSeconds: 5, v: 2 }",
        ),
    ));
    let rows = rows
        .into_iter()
        .map(|(spec, (code, words))| (doc! { "createIndexes": "v", "indexes": [spec] }, code, words));
    check(db, rows.collect()).await;
}
