//! Indexes of models that share a collection: what one kind declares neither refuses nor deletes documents of another.

use std::time::Duration;

use bson::{DateTime, Document, doc};
use odm::{Db, ErrorKind, Model, Models};
use odm_patterns::lifecycle::{Expiry, ExpiryProblem};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_kind_refuses_and_deletes_its_own_alone,
    an_index_of_all_kinds_says_so,
    kinds_with_alike_indexes_leave_each_other_alone,
    an_older_index_of_all_kinds_is_drift,
    the_expiry_of_a_kind_is_its_own,
    queries_of_a_kind_use_its_indexes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "visits", kind = "session")]
struct Session {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique)]
    name: Option<String>,
    #[odm(index(expire_after = "1s"))]
    seen: DateTime,
    #[odm(index(unique, sparse))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "visits", kind = "invoice")]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(unique, partial = |i| i.id.gt(10)))]
    name: Option<String>,
    #[odm(index)]
    seen: DateTime,
    #[odm(index(unique, all_kinds, partial = |i| i.number.gt(0)))]
    number: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "visits")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Visit {
    Session(Session),
    Invoice(Invoice),
}

fn session(id: i32, name: Option<&str>) -> Session {
    Session {
        id,
        name: name.map(str::to_owned),
        seen: DateTime::from_millis(4_000_000_000_000),
        token: None,
    }
}

fn invoice(id: i32, name: Option<&str>) -> Invoice {
    Invoice {
        id,
        name: name.map(str::to_owned),
        seen: DateTime::from_millis(4_000_000_000_000),
        number: Some(id),
    }
}

async fn partials(db: &Db) -> Vec<(String, Option<Document>)> {
    let indexes = db.collection::<Visit>().list_indexes().await.unwrap();
    let filter = |spec: &Document| spec.get_document("partialFilterExpression").ok().cloned();
    let mut all: Vec<_> = indexes
        .into_iter()
        .filter(|index| index.name != "_id_")
        .map(|index| (index.name, filter(&index.spec)))
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

async fn a_kind_refuses_and_deletes_its_own_alone(db: &Db) {
    let visits = db.collection::<Visit>();
    let (sessions, invoices) = (visits.of::<Session>(), visits.of::<Invoice>());
    sessions.sync_indexes().await.unwrap();
    invoices.sync_indexes().await.unwrap();
    let own = Some(doc! {"kind": "session"});
    let there = doc! {"kind": "session", "token": {"$exists": true}};
    let expected = [
        (
            "name_1_invoice",
            Some(doc! {"kind": "invoice", "_id": {"$gt": 10}}),
        ),
        ("name_1_session", own.clone()),
        ("number_1", Some(doc! {"number": {"$gt": 0}})),
        ("seen_1", None),
        ("seen_1_session", own),
        ("token_1_session", Some(there)),
    ];
    let expected = expected.map(|(name, filter)| (name.to_owned(), filter));
    assert_eq!(partials(db).await, expected);
    // Whoever asks, all is as declared.
    assert!(visits.index_drift().await.unwrap().is_empty());
    for drift in [
        sessions.index_drift().await.unwrap(),
        invoices.index_drift().await.unwrap(),
    ] {
        assert!(drift.missing.is_empty() && drift.changed.is_empty(), "{drift}");
    }
    let models = Models::new().with::<Session>().with::<Invoice>();
    db.sync_models(&models).await.unwrap();
    assert_eq!(partials(db).await.len(), 6);

    sessions.insert(session(1, Some("a"))).await.unwrap();
    sessions.insert(session(2, None)).await.unwrap();
    for (id, name) in [(3, "a"), (4, "a")] {
        invoices.insert(invoice(id, Some(name))).await.unwrap();
    }
    let error = sessions.insert(session(5, Some("a"))).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.index()),
        (ErrorKind::DuplicateKey, Some("name_1_session"))
    );
    let given = |id, token: &str| Session {
        token: Some(token.to_owned()),
        ..session(id, Some(&id.to_string()))
    };
    sessions
        .insert_many([given(6, "t"), given(7, "u")])
        .await
        .unwrap();
    assert!(
        sessions
            .insert(given(8, "t"))
            .await
            .unwrap_err()
            .is_duplicate_key()
    );
    invoices.insert(invoice(11, Some("b"))).await.unwrap();
    let error = invoices.insert(invoice(12, Some("b"))).await.unwrap_err();
    assert_eq!(error.index(), Some("name_1_invoice"));
}

async fn an_index_of_all_kinds_says_so(db: &Db) {
    let visits = db.collection::<Visit>();
    visits.sync_indexes().await.unwrap();
    visits.of::<Invoice>().insert(invoice(1, None)).await.unwrap();
    db.raw_collection("visits")
        .insert(doc! {"_id": 2, "kind": "session", "number": 2})
        .await
        .unwrap();
    let error = visits.of::<Invoice>().insert(invoice(2, None)).await.unwrap_err();
    assert!(error.is_duplicate_key());
    let taken = Invoice {
        number: Some(2),
        ..invoice(3, None)
    };
    let error = visits.of::<Invoice>().insert(taken).await.unwrap_err();
    assert_eq!(error.index(), Some("number_1"));
}

async fn kinds_with_alike_indexes_leave_each_other_alone(db: &Db) {
    let visits = db.collection::<Visit>();
    visits.of::<Session>().sync_indexes().await.unwrap();
    let done = visits.of::<Invoice>().sync_indexes().rebuild_changed(true);
    let done = done.await.unwrap();
    let created = ["seen_1", "name_1_invoice", "number_1"];
    let mut names = done.created.clone();
    names.sort();
    assert_eq!((names.len(), done.rebuilt.len()), (created.len(), 0), "{done:?}");
    assert!(created.iter().all(|name| names.iter().any(|made| made == name)));
    let done = visits.sync_indexes().drop_unknown(true).rebuild_changed(true);
    let done = done.await.unwrap();
    assert!(
        done.dropped.is_empty() && done.rebuilt.is_empty() && done.created.is_empty(),
        "{done:?}"
    );
}

async fn an_older_index_of_all_kinds_is_drift(db: &Db) {
    let raw = db.raw_collection("visits");
    let old = doc! {"key": {"seen": 1}, "name": "seen_1", "expireAfterSeconds": 1};
    raw.create_indexes().index_raw(old).await.unwrap();
    let sessions = db.collection::<Session>();
    let drift = sessions.index_drift().await.unwrap();
    let changed: Vec<_> = drift
        .changed
        .iter()
        .map(|change| (change.existing.name.as_str(), change.differences.as_slice()))
        .collect();
    assert_eq!(
        changed,
        [("seen_1", ["partialFilterExpression".to_owned()].as_slice())]
    );
    let done = sessions.sync_indexes().await.unwrap();
    assert_eq!(done.left.changed.len(), 1);
    let done = sessions.sync_indexes().rebuild_changed(true).await.unwrap();
    assert_eq!(done.rebuilt, ["seen_1_session"]);
    assert!(sessions.index_drift().await.unwrap().is_empty());
}

async fn the_expiry_of_a_kind_is_its_own(db: &Db) {
    db.collection::<Visit>().create().await.unwrap();
    let of_sessions = Expiry::<Session>::new(db, |s| s.seen);
    let of_invoices = Expiry::<Invoice>::new(db, |i| i.seen);
    of_sessions.prepare().await.unwrap();
    assert_eq!(of_invoices.verify().await.unwrap(), [ExpiryProblem::NoIndex]);
    of_invoices.prepare().await.unwrap();
    let hour = of_invoices.clone().after(Duration::from_secs(3600));
    hour.prepare().await.unwrap();
    assert!(hour.verify().await.unwrap().is_empty());
    assert!(of_sessions.verify().await.unwrap().is_empty());
    let own = |kind: &str| Some(doc! {"kind": kind});
    let expected = [
        ("seen_1_invoice".to_owned(), own("invoice")),
        ("seen_1_session".to_owned(), own("session")),
    ];
    assert_eq!(partials(db).await, expected);
    // What is no date in another kind is that kind's business.
    let raw = db.raw_collection("visits");
    let odd = doc! {"_id": 9, "kind": "invoice", "seen": "never"};
    raw.insert(odd).await.unwrap();
    assert!(of_sessions.verify().await.unwrap().is_empty());
    assert_eq!(hour.verify().await.unwrap().len(), 1);

    // One that takes the documents of all kinds stays no secret.
    let old = doc! {"key": {"seen": 1}, "name": "seen_1", "expireAfterSeconds": 4};
    raw.create_indexes().index_raw(old).await.unwrap();
    let error = of_sessions.prepare().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.model(), error.path(), error.index()),
        (ErrorKind::Schema, Some("Session"), Some("seen"), Some("seen_1"))
    );
    let index = "seen_1".to_owned();
    assert_eq!(
        of_sessions.verify().await.unwrap(),
        [ExpiryProblem::AllKinds { index }]
    );
    db.collection::<Session>().drop_index("seen_1").await.unwrap();
    of_sessions.prepare().await.unwrap();
}

async fn queries_of_a_kind_use_its_indexes(db: &Db) {
    let visits = db.collection::<Visit>();
    visits.sync_indexes().await.unwrap();
    let sessions = visits.of::<Session>();
    for id in 0..50 {
        let token = Some(format!("t{id}"));
        let name = id.to_string();
        let session = Session {
            token,
            ..session(id, Some(&name))
        };
        sessions.insert(session).await.unwrap();
    }
    for filter in [Session::fields().name.eq("7"), Session::fields().token.eq("t7")] {
        let plan = sessions.find(|_| filter).explain().await.unwrap();
        assert!(format!("{plan:?}").contains("IXSCAN"), "{plan:?}");
    }
    let plan = visits.find(|v| v.session.matches(|s| s.name.eq("7"))).explain();
    let plan = plan.await.unwrap();
    assert!(format!("{plan:?}").contains("IXSCAN"), "{plan:?}");
    // Without the kind, any could have such a name.
    let plan = visits.find(|v| v.session.name.eq("7")).explain().await.unwrap();
    assert!(format!("{plan:?}").contains("COLLSCAN"), "{plan:?}");
}
