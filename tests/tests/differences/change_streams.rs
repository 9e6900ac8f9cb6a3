//! Change streams by command.

use std::time::Duration;

use futures_util::future::join;
use odm::Db;
use odm::bson::{Bson, Document, Timestamp, doc};
use odm_tests::command::{insert, run};

use super::refusals::{answer, check, with};

crate::on_every_backend! {
    a_batch_says_where_it_ends,
    a_stream_begins_where_it_is_told,
    a_stream_ends_with_what_it_is_of,
    its_stages_get_what_is_given,
    its_scope_is_a_collection_a_database_or_all,
    it_waits_and_is_woken,
}

/// What a batch tells.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) id: i64,
    pub(super) events: Vec<Document>,
    pub(super) token: Document,
    invalidated: bool,
}

impl Told {
    pub(super) fn of(reply: &Document) -> Told {
        let cursor = reply.get_document("cursor").expect("a cursor");
        let batch = cursor
            .get_array("firstBatch")
            .or_else(|_| cursor.get_array("nextBatch"));
        let names: Vec<&str> = cursor.keys().map(String::as_str).skip(1).collect();
        let invalidated = match names.as_slice() {
            ["postBatchResumeToken", "id", "ns"] => false,
            ["postBatchResumeToken", "invalidated", "id", "ns"] => cursor.get_bool("invalidated").unwrap(),
            other => panic!("{other:?}"),
        };
        let events = batch.expect("a batch").iter();
        Told {
            id: cursor.get_i64("id").expect("a number"),
            events: events.map(|event| event.as_document().unwrap().clone()).collect(),
            token: cursor.get_document("postBatchResumeToken").unwrap().clone(),
            invalidated,
        }
    }

    fn kinds(&self) -> Vec<&str> {
        let kinds = self.events.iter();
        kinds
            .map(|event| event.get_str("operationType").unwrap())
            .collect()
    }

    pub(super) fn ids(&self) -> Vec<i32> {
        let keys = self.events.iter();
        keys.map(|event| event.get_document("documentKey").unwrap().get_i32("_id").unwrap())
            .collect()
    }

    /// The place of this event.
    fn place(&self, at: usize) -> Document {
        self.events[at].get_document("_id").unwrap().clone()
    }
}

pub(super) fn stream(spec: Document, rest: &[Document]) -> Document {
    let mut pipeline = vec![Bson::from(doc! { "$changeStream": spec })];
    pipeline.extend(rest.iter().map(Bson::from));
    doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }
}

pub(super) async fn open(db: &Db, spec: Document) -> Told {
    Told::of(&run(db, stream(spec, &[])).await)
}

fn get_more(id: i64, more: Document) -> Document {
    with(doc! { "getMore": id, "collection": "c" }, more)
}

pub(super) async fn next(db: &Db, id: i64, more: Document) -> Told {
    Told::of(&run(db, get_more(id, more)).await)
}

/// Documents of these ids in the collection.
pub(super) async fn add(db: &Db, ids: std::ops::Range<i32>) {
    insert(db, "c", ids.map(|id| doc! { "_id": id }).collect()).await;
}

async fn a_batch_says_where_it_ends(db: &Db) {
    let first = open(db, doc! {}).await;
    assert!(first.events.is_empty() && first.id != 0);
    add(db, 0..5).await;
    let one = next(db, first.id, doc! { "batchSize": 1 }).await;
    assert_eq!((one.id, one.ids()), (first.id, vec![0]));
    assert_eq!(one.token, one.place(0));
    let two = next(db, first.id, doc! { "batchSize": 2 }).await;
    assert_eq!((two.ids(), &two.token), (vec![1, 2], &two.place(1)));
    // Zero is no limit of what follows.
    let rest = next(db, first.id, doc! { "batchSize": 0 }).await;
    assert_eq!(rest.ids(), [3, 4]);
    let none = next(db, first.id, doc! { "maxTimeMS": 50 }).await;
    assert!(none.events.is_empty());
    // Behind either token comes the same.
    add(db, 5..6).await;
    for token in [&rest.place(1), &rest.token, &none.token] {
        let again = open(db, doc! { "resumeAfter": token.clone() }).await;
        assert_eq!(again.ids(), [5], "{token}");
    }
    let limited = with(
        stream(doc! { "resumeAfter": one.token.clone() }, &[]),
        doc! { "cursor": { "batchSize": 2 } },
    );
    let limited = Told::of(&run(db, limited).await);
    assert_eq!((limited.ids(), &limited.token), (vec![1, 2], &limited.place(1)));
    let empty = with(
        stream(doc! { "resumeAfter": one.token.clone() }, &[]),
        doc! { "cursor": { "batchSize": 0 } },
    );
    let empty = Told::of(&run(db, empty).await);
    assert!(empty.events.is_empty());
    let then = next(db, empty.id, doc! { "batchSize": 1 }).await;
    assert_eq!(then.ids(), [1]);
    let again = open(db, doc! { "startAfter": empty.token }).await;
    assert_eq!(again.ids()[..2], [1, 2]);
    let killed = run(db, doc! { "killCursors": "c", "cursors": [first.id] }).await;
    assert_eq!(
        killed.get_array("cursorsKilled").unwrap(),
        &[Bson::Int64(first.id)]
    );
    let gone = format!("cursor id {} not found", first.id);
    check(db, vec![(get_more(first.id, doc! {}), 43, &gone)]).await;
}

async fn a_stream_begins_where_it_is_told(db: &Db) {
    let all = open(db, doc! {}).await;
    add(db, 0..1).await;
    add(db, 1..3).await;
    let events = next(db, all.id, doc! {}).await;
    assert_eq!(events.ids(), [0, 1, 2]);
    let time = events.events[1].get_timestamp("clusterTime").unwrap();
    assert_eq!(
        open(db, doc! { "startAtOperationTime": time }).await.ids(),
        [1, 2]
    );
    let later = Timestamp {
        time: u32::MAX - 1,
        increment: 0,
    };
    let later = open(db, doc! { "startAtOperationTime": later }).await;
    assert!(later.events.is_empty() && later.id != 0);
    for option in ["resumeAfter", "startAfter"] {
        let spec = doc! { option: events.place(0), "fullDocument": Bson::Null };
        assert_eq!(open(db, spec).await.ids(), [1, 2]);
        // Beside its text a token may have others.
        let beside = with(events.place(1), doc! { "x": 1 });
        assert_eq!(open(db, doc! { option: beside }).await.ids(), [2]);
    }
    let none = doc! {
        "resumeAfter": Bson::Null, "startAfter": Bson::Undefined, "startAtOperationTime": Bson::Null,
        "fullDocument": Bson::Null, "fullDocumentBeforeChange": Bson::Null,
    };
    assert!(open(db, none).await.events.is_empty());
}

async fn a_stream_ends_with_what_it_is_of(db: &Db) {
    let start = open(db, doc! {}).await;
    add(db, 0..1).await;
    run(db, doc! { "drop": "c" }).await;
    let one = next(db, start.id, doc! { "batchSize": 1 }).await;
    assert_eq!((one.kinds(), one.id), (vec!["insert"], start.id));
    let dropped = next(db, start.id, doc! { "batchSize": 1 }).await;
    assert_eq!((dropped.kinds(), dropped.id), (vec!["drop"], start.id));
    // A batch that is full leaves it to the next to say that it was the last.
    let full = next(db, start.id, doc! { "batchSize": 1 }).await;
    assert_eq!((full.kinds(), full.id), (vec!["invalidate"], start.id));
    assert!(!full.invalidated);
    let last = next(db, start.id, doc! {}).await;
    assert_eq!((last.kinds().len(), last.id, last.invalidated), (0, 0, true));
    assert_eq!(last.token, full.place(0));
    let gone = format!("cursor id {} not found", start.id);
    check(db, vec![(get_more(start.id, doc! {}), 43, &gone)]).await;

    let whole = || doc! { "startAfter": start.token.clone() };
    let all = open(db, whole()).await;
    assert_eq!(all.kinds(), ["insert", "drop", "invalidate"]);
    assert_eq!((all.id, all.invalidated, &all.token), (0, true, &all.place(2)));
    for (size, goes_on) in [(1, true), (2, true), (3, true), (4, false)] {
        let limited = with(stream(whole(), &[]), doc! { "cursor": { "batchSize": size } });
        let limited = Told::of(&run(db, limited).await);
        assert_eq!(
            (limited.id != 0, limited.invalidated),
            (goes_on, !goes_on),
            "{size}"
        );
    }
    // It ends where no event of it is let through.
    let nothing = stream(whole(), &[doc! { "$match": { "operationType": "none" } }]);
    let nothing = Told::of(&run(db, nothing).await);
    assert_eq!(
        (nothing.events.len(), nothing.id, nothing.invalidated),
        (0, 0, true)
    );
    assert_eq!(nothing.token, all.place(2));
    let only = stream(whole(), &[doc! { "$match": { "operationType": "invalidate" } }]);
    assert_eq!(Told::of(&run(db, only).await).kinds(), ["invalidate"]);

    let refused = "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification";
    let resumed = stream(doc! { "resumeAfter": all.place(2) }, &[]);
    check(db, vec![(resumed, 260, refused)]).await;
    assert!(
        open(db, doc! { "startAfter": all.place(2) })
            .await
            .events
            .is_empty()
    );
    for option in ["resumeAfter", "startAfter"] {
        let after = open(db, doc! { option: all.place(1) }).await;
        assert_eq!((after.kinds(), after.id), (vec!["invalidate"], 0));
    }
}

async fn its_stages_get_what_is_given(db: &Db) {
    let start = open(db, doc! {}).await;
    add(db, 0..3).await;
    let begun = || doc! { "resumeAfter": start.token.clone() };
    let shown =
        doc! { "$project": { "v": "$$v", "n": "$$NOW", "same": { "$eq": ["$operationType", "INSERT"] } } };
    let options = doc! {
        "let": { "v": { "$add": [2, 3] } }, "collation": { "locale": "en", "strength": 2 },
        "cursor": { "batchSize": 1 },
    };
    let first = Told::of(&run(db, with(stream(begun(), &[shown]), options)).await);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let then = next(db, first.id, doc! {}).await;
    // Now is when it was opened.
    let now = first.events[0].get_datetime("n").unwrap();
    for event in first.events.iter().chain(&then.events) {
        assert_eq!(event.get_datetime("n").unwrap(), now);
        assert_eq!(
            (event.get_i32("v").unwrap(), event.get_bool("same").unwrap()),
            (5, true)
        );
        assert_eq!(event.len(), 4);
    }
    assert_eq!(then.events.len(), 2);

    let matched = stream(
        begun(),
        &[doc! { "$match": { "documentKey._id": { "$gte": 1 } } }],
    );
    assert_eq!(Told::of(&run(db, matched).await).ids(), [1, 2]);
    let filled = doc! { "$fill": { "output": { "filled": { "value": "x" } } } };
    let filled = Told::of(&run(db, stream(begun(), &[filled])).await);
    assert!(
        filled
            .events
            .iter()
            .all(|event| event.get_str("filled").is_ok_and(|filled| filled == "x"))
    );
    assert_eq!(filled.events.len(), 3);

    let full = stream(with(begun(), doc! { "fullDocument": "updateLookup" }), &[]);
    run(
        db,
        doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "a": 1 } } }] },
    )
    .await;
    let full = Told::of(&run(db, full).await);
    let last = full.events.last().unwrap();
    assert_eq!(
        last.get_document("fullDocument").unwrap(),
        &doc! { "_id": 1, "a": 1 }
    );

    let words = |prefix: &str, found: &str| {
        let expected = full.place(0).get_str("_data").unwrap().to_owned();
        format!(
            "{prefix} :: caused by :: Encountered an event whose _id field, which contains the resume token, was modified \
             by the pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that \
             point. Only transformations that retain the unmodified _id field are allowed. Expected: {{ _id: {{ _data: \
             \"{expected}\" }} }} but found: {found}"
        )
    };
    for (stage, found) in [
        (doc! { "$project": { "_id": 0 } }, "{}"),
        (doc! { "$unset": "_id" }, "{}"),
        (doc! { "$set": { "_id": 5 } }, "{ _id: 5 }"),
    ] {
        let words_first = words("PlanExecutor error during aggregation", found);
        check(
            db,
            vec![(stream(begun(), std::slice::from_ref(&stage)), 280, &words_first)],
        )
        .await;
        let later = with(stream(begun(), &[stage]), doc! { "cursor": { "batchSize": 0 } });
        let id = Told::of(&run(db, later).await).id;
        let words = words("Executor error during getMore", found);
        check(db, vec![(get_more(id, doc! {}), 280, &words)]).await;
        assert_eq!(answer(db, get_more(id, doc! {}), db.name()).await.0, 43);
    }
    let divided = doc! { "$set": { "x": { "$divide": [1, "$z"] }, "y": { "$divide": [1, 0.0] } } };
    let divided = answer(db, stream(begun(), &[divided]), db.name()).await;
    let words = "Failed to optimize pipeline :: caused by :: Failed to optimize pipeline :: caused by :: can't $divide by zero";
    assert_eq!(divided, (2, words.to_owned()));
    let divided = doc! { "$set": { "x": { "$divide": [1, { "$subtract": ["$documentKey._id", "$documentKey._id"] }] } } };
    let words = "PlanExecutor error during aggregation :: caused by :: can't $divide by zero";
    check(db, vec![(stream(begun(), &[divided]), 2, words)]).await;
}

async fn its_scope_is_a_collection_a_database_or_all(db: &Db) {
    let admin = db.database("admin").unwrap();
    let whole = |spec: Document| with(stream(spec, &[]), doc! { "aggregate": 1 });
    let of_database = Told::of(&run(db, whole(doc! {})).await);
    let of_all = Told::of(&run(&admin, whole(doc! { "allChangesForCluster": true })).await);
    let of_one = open(db, doc! { "allChangesForCluster": false }).await;
    insert(db, "other", vec![doc! { "_id": 7 }]).await;
    add(db, 0..1).await;
    let more = |id: i64| doc! { "getMore": id, "collection": "$cmd.aggregate" };
    let own = |told: Told| -> Vec<Document> {
        let is_own = |event: &Document| {
            let ns = event.get_document("ns").unwrap();
            ns.get_str("db").is_ok_and(|own| own == db.name())
        };
        let names = told.events.into_iter().filter(is_own);
        names
            .map(|event| event.get_document("documentKey").unwrap().clone())
            .collect()
    };
    let both = [doc! { "_id": 7 }, doc! { "_id": 0 }];
    assert_eq!(own(Told::of(&run(db, more(of_database.id)).await)), both);
    let mut all = Vec::new();
    // Others write too: each waits a second at most.
    for _ in 0..30 {
        if all.len() < 2 {
            all.extend(own(Told::of(&run(&admin, more(of_all.id)).await)));
        }
    }
    assert_eq!(all, both);
    assert_eq!(next(db, of_one.id, doc! {}).await.ids(), [0]);
    let wrong = answer(db, get_more(of_database.id, doc! {}), db.name()).await;
    assert_eq!(wrong.0, 13);

    // A database's stream goes on behind a collection's end, and ends with its own.
    run(db, doc! { "drop": "other" }).await;
    let dropped = Told::of(&run(db, more(of_database.id)).await);
    assert_eq!((dropped.kinds(), dropped.id), (vec!["drop"], of_database.id));
    run(db, doc! { "dropDatabase": 1 }).await;
    let mut kinds: Vec<String> = Vec::new();
    let mut is_over = false;
    for _ in 0..30 {
        if !is_over {
            let told = Told::of(&run(db, more(of_database.id)).await);
            kinds.extend(told.kinds().into_iter().map(str::to_owned));
            is_over = told.invalidated;
        }
    }
    assert_eq!(kinds, ["drop", "dropDatabase", "invalidate"]);
    assert!(is_over);
    run(
        &admin,
        doc! { "killCursors": "$cmd.aggregate", "cursors": [of_all.id] },
    )
    .await;
}

async fn later<T>(then: impl Future<Output = T>) -> T {
    tokio::time::sleep(Duration::from_millis(100)).await;
    then.await
}

async fn it_waits_and_is_woken(db: &Db) {
    let id = open(db, doc! {}).await.id;
    for time in [0, 50] {
        assert!(next(db, id, doc! { "maxTimeMS": time }).await.events.is_empty());
    }
    // A wait that nothing ends takes longer than the test may.
    let long = || doc! { "maxTimeMS": 60_000 };
    let (woken, ()) = join(next(db, id, long()), later(add(db, 0..1))).await;
    assert_eq!(woken.ids(), [0]);
    // What it is not of wakes nobody.
    let other = later(insert(db, "other", vec![doc! {}]));
    let (none, ()) = join(next(db, id, doc! { "maxTimeMS": 300 }), other).await;
    assert!(none.events.is_empty());
    if db.backend_name() != "mongodb" {
        let meanwhile = later(async {
            let refused = answer(db, get_more(id, doc! {}), db.name()).await;
            add(db, 1..2).await;
            refused
        });
        let (woken, refused) = join(next(db, id, long()), meanwhile).await;
        assert_eq!(woken.ids(), [1]);
        assert_eq!(refused, (143, format!("cursor id {id} is already in use")));
        // A wait that is given up leaves it as it was.
        let given_up = tokio::time::timeout(Duration::from_millis(50), next(db, id, long()));
        assert!(given_up.await.is_err());
        add(db, 2..3).await;
        assert_eq!(next(db, id, long()).await.ids(), [2]);
    }
    let kill = later(run(db, doc! { "killCursors": "c", "cursors": [id] }));
    let more = get_more(id, doc! { "maxTimeMS": 400 });
    let (told, _) = join(answer(db, more, db.name()), kill).await;
    let interrupted = "Executor error during getMore :: caused by :: operation was interrupted";
    // A server that looks for changes at that moment tells it the next time only.
    if told.0 != 0 || db.backend_name() != "mongodb" {
        assert_eq!(told, (237, interrupted.to_owned()));
    }
    assert_eq!(answer(db, get_more(id, doc! {}), db.name()).await.0, 43);
}
