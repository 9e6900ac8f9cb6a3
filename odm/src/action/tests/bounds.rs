//! What crosses threads.

use bson::doc;
use futures_core::Stream;

use super::book::{Book, Spine};
use super::fake;
use crate::backend::fake::Fake;
use crate::collection::Collection;
use crate::error::Error;
use crate::query::{Filter, Update};

#[test]
fn futures_and_types_cross_threads() {
    fn send<T: Send>(_: T) {}
    fn send_sync<T: Send + Sync>() {}
    fn stream<T: Stream + Send + Unpin>(_: T) {}
    fn send_static<T: IntoFuture<IntoFuture: Send + 'static> + Send + Sync + 'static>(_: T) {}

    let (_, books) = fake();
    let any = |_| Filter::raw(doc! {});
    let change = |_| Update::raw(doc! {"$set": {"a": 1}});
    send_sync::<crate::Db>();
    send_sync::<crate::Tx>();
    send_sync::<Collection<Book>>();
    send_sync::<Error>();
    send_static(books.find(any));
    send_static(books.find_all().project::<Spine>());
    send_static(books.find_one(any));
    send_static(books.get(1).required());
    send_static(books.insert(Book::new(1, "a")));
    send_static(books.insert_one(Book::new(1, "a")));
    send_static(books.insert_many([Book::new(1, "a")]));
    send_static(books.update_one(any, change));
    send_static(books.replace_one(any, Book::new(1, "a")));
    send_static(books.save(Book::new(1, "a")));
    send_static(books.delete(1));
    send_static(books.delete_many(any));
    send_static(books.find_one_and_update(any, change));
    send_static(books.count(any));
    send_static(books.exists(any));
    send_static(books.distinct(|b| b.title));
    send_static(books.bulk_write().insert(Book::new(1, "a")));
    send_static(books.find_all().explain());
    send_static(books.create_indexes());
    send_static(books.list_indexes());
    send_static(books.index_drift());
    send_static(books.sync_indexes());
    send_static(books.create());
    send_static(books.aggregate_raw([doc! {"$match": {}}]));
    stream(books.find_all().stream());
    send(books.find_all().stream().try_collect::<Vec<_>>());
    send(books.drop());
    let db = Fake::default().db();
    send(db.run_command(doc! {}));
    send(db.list_collections());
    send(db.begin());
    send(crate::Db::open("memory:"));
}
