//! What a subscriber hears.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::doc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::backend::Backend;
use crate::backend::fake::{Fake, block_on};
use crate::backend::wrap::Traced;
use crate::db::Db;

/// Writes down spans as they begin and what is recorded, a line each.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "milliseconds" => write!(self.0, " milliseconds"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Ear {
    fn hear(&self, what: &str, visit: impl FnOnce(&mut Line)) {
        let mut line = Line(what.to_owned());
        visit(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Subscriber for Ear {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "odm"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.hear("span", |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        self.hear("record", |line| values.record(line));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.hear(event.metadata().level().as_str(), |line| event.record(line));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

fn traced(fake: &Fake, slow: Option<Duration>) -> Db {
    let inner = Arc::clone(fake.db().backend());
    Db::from_backend(Arc::new(Traced::<dyn Backend>::new(inner, slow)), "main")
}

#[test]
fn each_round_trip_is_a_span_without_values() {
    let (ear, fake) = (Ear::default(), Fake::default());
    fake.written(|s| s.inserted = 1)
        .batches([vec![doc! {"_id": "secret"}, doc! {"_id": 2}], vec![]]);
    let db = traced(&fake, None);
    tracing::subscriber::with_default(ear.clone(), || {
        block_on(
            db.raw_collection("a")
                .insert(doc! {"_id": "secret"})
                .into_future(),
        )
        .unwrap();
        block_on(db.raw_collection("a").find(doc! {"_id": "secret"}).into_future()).unwrap();
    });
    let heard = ear.heard();
    assert_eq!(
        heard[..3],
        [
            "span operation=\"insert\" backend=\"fake\" database=main collection=a in_transaction=false",
            "record milliseconds",
            "record documents=1",
        ]
    );
    assert!(
        heard.iter().any(|line| line.contains("operation=\"find\"")),
        "{heard:?}"
    );
    assert!(heard.contains(&"record documents=2".to_owned()), "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("secret")), "{heard:?}");
}

#[test]
fn what_is_slow_is_an_event() {
    let (ear, fake) = (Ear::default(), Fake::default());
    fake.written(|s| s.inserted = 1).written(|s| s.inserted = 1);
    let insert = |slow| {
        let db = traced(&fake, Some(slow));
        tracing::subscriber::with_default(ear.clone(), || {
            block_on(db.raw_collection("a").insert(doc! {"_id": 1}).into_future()).unwrap();
        });
        ear.heard()
    };
    assert!(
        !insert(Duration::from_secs(3600))
            .iter()
            .any(|line| line.starts_with("WARN"))
    );
    let slow = insert(Duration::ZERO);
    let event = slow.iter().find(|line| line.starts_with("WARN")).unwrap();
    assert!(
        event.contains("slow operation") && event.contains("collection=a"),
        "{event}"
    );
}

#[test]
fn errors_and_transactions_are_told() {
    let (ear, fake) = (Ear::default(), Fake::default());
    let db = traced(&fake, None);
    tracing::subscriber::with_default(ear.clone(), || {
        fake.written(|s| s.inserted = 1);
        block_on(db.transaction(async |tx| {
            tx.raw_collection("b").insert(doc! {"_id": 1}).await?;
            Ok(())
        }))
        .unwrap();
        let (broken, faults) = fake.db().faulty();
        faults.add(
            crate::backend::wrap::Fault::nth_write(1)
                .before(crate::Error::new(crate::ErrorKind::Network, "lost")),
        );
        let inner = Arc::clone(broken.backend());
        let db = Db::from_backend(Arc::new(Traced::<dyn Backend>::new(inner, None)), "main");
        assert!(block_on(db.raw_collection("a").insert(doc! {"_id": 1}).into_future()).is_err());
    });
    let heard = ear.heard();
    assert!(
        heard.iter().any(|line| line.contains("in_transaction=true")),
        "{heard:?}"
    );
    assert!(
        heard.iter().any(|line| line.contains("commitTransaction")),
        "{heard:?}"
    );
    assert!(heard.contains(&"record error=Network".to_owned()), "{heard:?}");
}

#[cfg(feature = "native")]
#[test]
fn a_slow_operation_of_the_engine_tells_its_plan_and_no_values() {
    let ear = Ear::default();
    tracing::subscriber::with_default(ear.clone(), || {
        block_on(async {
            let options = Db::options().slow_operation(Duration::ZERO);
            let db = options.open("memory:").await.unwrap();
            let books = db.raw_collection("books");
            books
                .insert_many((0..20).map(|n| doc! { "_id": n, "a": n % 5, "text": "secret" }))
                .await
                .unwrap();
            let index = doc! { "createIndexes": "books", "indexes": [{ "key": { "a": 1 }, "name": "a" }] };
            db.run_command(index).await.unwrap();
            ear.heard();
            let told = |start: &str| -> String {
                let lines = ear.heard();
                let line = lines
                    .iter()
                    .find(|line| line.starts_with("WARN") && line.contains(start));
                line.unwrap_or_else(|| panic!("{start}: {lines:?}")).clone()
            };

            books
                .find(doc! { "a": 3, "text": { "$ne": "other secret" } })
                .await
                .unwrap();
            let find = told("operation=\"firstBatch\"");
            for part in [
                "filter=\"{ a: ?, text: { $ne: ? } }\"",
                "plan=\"IXSCAN { a: 1 }\"",
                "keys_examined=4",
                "documents_examined=4",
                "documents=4",
                "collection=books",
            ] {
                assert!(find.contains(part), "{part}: {find}");
            }

            books
                .update_many(doc! { "text": "secret" }, doc! { "$set": { "text": "secret" } })
                .await
                .unwrap();
            let update = told("operation=\"update\"");
            for part in [
                "filter=\"{ text: ? }\"",
                "plan=\"COLLSCAN\"",
                "documents_examined=20",
            ] {
                assert!(update.contains(part), "{part}: {update}");
            }

            books.count(doc! { "_id": 7 }).await.unwrap();
            assert!(told("operation=\"count\"").contains("plan=\"IDHACK\""));

            let found =
                doc! { "find": "books", "filter": { "$or": [{ "a": 1 }, { "_id": { "$in": ["secret"] } }] } };
            db.run_command(found).await.unwrap();
            let command = told("operation=\"runCommand\"");
            let shape = "filter=\"{ $or: [{ a: ? }, { _id: { $in: ? } }] }\"";
            assert!(
                command.contains(shape) && command.contains("IXSCAN { _id: 1 }, IXSCAN { a: 1 }"),
                "{command}"
            );

            db.transaction(async |tx| {
                tx.raw_collection("books")
                    .delete_many(doc! { "a": { "$gte": 4 } })
                    .await?;
                Ok(())
            })
            .await
            .unwrap();
            let delete = told("operation=\"delete\"");
            assert!(
                delete.contains("plan=\"IXSCAN { a: 1 }\"") && delete.contains("in_transaction=true"),
                "{delete}"
            );
            for line in [find, update, command, delete] {
                assert!(!line.contains("secret"), "{line}");
            }
        });
    });
}
