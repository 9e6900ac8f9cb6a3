//! Softly deleted documents that have the key of a living one: what refers by that key refers to the living one.

use bson::{DateTime, Document, doc};
use odm::{CopyOf, Db, Embedded, ErrorKind, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_purge_leaves_what_refers_to_a_living_document_by_its_key,
    a_purge_takes_what_refers_by_a_key_that_nobody_else_has,
    nobody_denies_a_purge_by_a_reference_to_a_living_document,
    a_repair_takes_references_to_be_to_a_living_document,
    a_limit_of_an_inverse_gives_each_child_once,
    copies_are_of_the_living_document,
    copies_do_not_follow_a_deleted_document_whose_key_is_used_again,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "printings",
    referred_by(Exemplar, Wish, Basket, Sale),
    copied_to(Display),
    schema_version = 2,
    migrate(shout)
)]
struct Printing {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(key = PrintingIsbn, index(unique, partial = |p| p.deleted.is_none()))]
    isbn: String,
    title: String,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
    #[odm(version)]
    version: i64,
}

fn shout(document: &mut Document) -> odm::Result<()> {
    let title = document.get_str("title").unwrap_or_default().to_uppercase();
    document.insert("title", title);
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "exemplars")]
struct Exemplar {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, inverse = of_printing, on_delete = cascade)]
    printing: Ref<Printing, PrintingIsbn>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "wishes")]
struct Wish {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, on_delete = nullify)]
    printing: Option<Ref<Printing, PrintingIsbn>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "wish_lists")]
struct Basket {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, on_delete = pull)]
    printings: Vec<Ref<Printing, PrintingIsbn>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sales")]
struct Sale {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, on_delete = deny)]
    printing: Ref<Printing, PrintingIsbn>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Printing))]
struct PrintingCopy {
    #[odm(source)]
    printing: Ref<Printing, PrintingIsbn>,
    title: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "displays")]
struct Display {
    #[serde(rename = "_id")]
    id: i32,
    copy: PrintingCopy,
}

fn printing(id: i32, isbn: &str, title: &str) -> Printing {
    Printing {
        id,
        isbn: isbn.to_owned(),
        title: title.to_owned(),
        deleted: None,
        version: 0,
    }
}

fn keyed(isbn: &str) -> Ref<Printing, PrintingIsbn> {
    Ref::keyed(isbn.to_owned())
}

/// Printing 1 softly deleted, printing 2 with its key, printing 3 with its own; what refers to the living ones.
async fn printings(db: &Db) {
    let printings = db.collection::<Printing>();
    printings.create_indexes().await.unwrap();
    printings.insert(printing(1, "x", "FIRST")).await.unwrap();
    printings.delete(1).await.unwrap();
    let living = [printing(2, "x", "SECOND"), printing(3, "y", "THIRD")];
    printings.insert_many(living).await.unwrap();
    let exemplars = [(1, "x"), (2, "x"), (3, "y"), (4, "y"), (5, "y")];
    let exemplars = exemplars.map(|(id, isbn)| Exemplar {
        id,
        printing: keyed(isbn),
    });
    db.collection::<Exemplar>().insert_many(exemplars).await.unwrap();
    let wishes = [(1, "x"), (2, "y")].map(|(id, isbn)| Wish {
        id,
        printing: Some(keyed(isbn)),
    });
    db.collection::<Wish>().insert_many(wishes).await.unwrap();
    let basket = Basket {
        id: 1,
        printings: vec![keyed("x"), keyed("y")],
    };
    db.collection::<Basket>().insert(basket).await.unwrap();
}

async fn held(db: &Db) -> (u64, usize, Vec<Ref<Printing, PrintingIsbn>>) {
    let exemplars = db.collection::<Exemplar>().count(|e| e.id.gt(0)).await.unwrap();
    let wishes = db.collection::<Wish>().find_all().await.unwrap();
    let wishes = wishes.iter().filter(|wish| wish.printing.is_some()).count();
    let basket = db.collection::<Basket>().get(1).required().await.unwrap();
    (exemplars, wishes, basket.printings)
}

async fn a_purge_leaves_what_refers_to_a_living_document_by_its_key(db: &Db) {
    printings(db).await;
    let purged = db.collection::<Printing>().purge(|p| p.id.eq(1)).await.unwrap();
    assert_eq!(purged.deleted, 1);
    assert_eq!(held(db).await, (5, 2, vec![keyed("x"), keyed("y")]));
}

async fn a_purge_takes_what_refers_by_a_key_that_nobody_else_has(db: &Db) {
    printings(db).await;
    // A deleted document with the key is none that is left, nor is one that goes too.
    let printings = db.collection::<Printing>();
    assert_eq!(printings.delete(2).await.unwrap().deleted, 1);
    assert_eq!(held(db).await, (3, 1, vec![keyed("y")]));
    printings.insert(printing(4, "x", "FOURTH")).await.unwrap();
    let exemplar = Exemplar {
        id: 6,
        printing: keyed("x"),
    };
    db.collection::<Exemplar>().insert(exemplar).await.unwrap();
    assert_eq!(printings.purge(|p| p.isbn.eq("x")).await.unwrap().deleted, 3);
    assert_eq!(held(db).await, (3, 1, vec![keyed("y")]));
}

async fn nobody_denies_a_purge_by_a_reference_to_a_living_document(db: &Db) {
    printings(db).await;
    let sale = Sale {
        id: 1,
        printing: keyed("x"),
    };
    db.collection::<Sale>().insert(sale).await.unwrap();
    let printings = db.collection::<Printing>();
    let error = printings.delete(2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Referenced, "{error}");
    assert_eq!(printings.purge(|p| p.id.eq(1)).await.unwrap().deleted, 1);
}

async fn a_repair_takes_references_to_be_to_a_living_document(db: &Db) {
    printings(db).await;
    assert_eq!(db.verify_relations::<Exemplar>().await.unwrap(), []);
    let report = db.verify_relations::<Exemplar>().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (0, 0));
    assert_eq!(held(db).await, (5, 2, vec![keyed("x"), keyed("y")]));
    let exemplars = db.collection::<Exemplar>();
    let loaded = exemplars.get(1).load(|e| e.printing.with_deleted());
    let (_, printing) = loaded.required().await.unwrap();
    assert_eq!(printing.map(|printing| printing.id), Some(2));
}

async fn a_limit_of_an_inverse_gives_each_child_once(db: &Db) {
    printings(db).await;
    let ids = |found: &[Exemplar]| -> Vec<i32> { found.iter().map(|exemplar| exemplar.id).collect() };
    let living = db.collection::<Printing>().find_all().sort(|p| p.id.asc());
    let few = || Exemplar::of_printing().sort(|e| e.id.asc());
    let loaded = living.with(few().limit(2)).with(few().skip(1)).await.unwrap();
    let loaded: Vec<_> = loaded
        .iter()
        .map(|(printing, some, rest)| (printing.id, ids(some), ids(rest)))
        .collect();
    assert_eq!(loaded, [(2, vec![1, 2], vec![2]), (3, vec![3, 4], vec![4, 5])]);
    let all = db.collection::<Printing>().find_all().with_deleted();
    let loaded = all.sort(|p| p.id.asc()).with(few().limit(3)).await.unwrap();
    let loaded: Vec<_> = loaded.iter().map(|(_, some)| ids(some)).collect();
    assert_eq!(loaded, [vec![1, 2], vec![1, 2], vec![3, 4, 5]]);
}

/// Displays of the printing "x".
async fn display(db: &Db) {
    let copy = PrintingCopy {
        printing: keyed("x"),
        title: String::new(),
        version: -1,
    };
    let mut displays = [Display { id: 1, copy }];
    let filled = db.collection::<Display>().fill_copies(&mut displays).await;
    assert_eq!(filled.unwrap().repaired, 1);
    db.collection::<Display>().insert_many(displays).await.unwrap();
}

async fn copies_are_of_the_living_document(db: &Db) {
    printings(db).await;
    display(db).await;
    // Whichever of them is read last.
    let (printings, displays) = (db.collection::<Printing>(), db.collection::<Display>());
    for (id, title) in [(5, "FIFTH"), (6, "SIXTH")] {
        printings.insert(printing(id, "z", title)).await.unwrap();
        printings.delete(id).await.unwrap();
    }
    printings.restore(|p| p.id.eq(5)).await.unwrap();
    let copy = PrintingCopy::copy_of(&printings.get(5).required().await.unwrap()).unwrap();
    displays.insert(Display { id: 2, copy }).await.unwrap();
    assert_eq!(displays.get(1).required().await.unwrap().copy.title, "SECOND");
    assert_eq!(displays.stale_copies().await.unwrap(), []);
    assert_eq!(displays.refresh_copies(|d| d.id.gt(0)).await.unwrap().repaired, 0);
}

async fn copies_do_not_follow_a_deleted_document_whose_key_is_used_again(db: &Db) {
    printings(db).await;
    display(db).await;
    let (printings, displays) = (db.collection::<Printing>(), db.collection::<Display>());
    let raw = db.raw_collection("printings");
    let old = doc! { "$set": { "title": "old", "version": 7_i64 }, "$unset": { "schema_version": "" } };
    raw.update_one(doc! { "_id": 1 }, old.clone()).await.unwrap();
    assert_eq!(printings.migrate().await.unwrap().migrated, 1);
    assert_eq!(displays.get(1).required().await.unwrap().copy.title, "SECOND");
    let mut marked = old;
    let mark = doc! { "title": "old", "version": 7_i64, "copies_pending": bson::oid::ObjectId::new() };
    marked.insert("$set", mark);
    raw.update_one(doc! { "_id": 1 }, marked).await.unwrap();
    let report = printings.propagate_pending().await.unwrap();
    assert_eq!((report.sources, report.holders), (1, 0));
    let pending = doc! { "copies_pending": { "$exists": true } };
    assert_eq!(raw.count(pending).await.unwrap(), 0);
    printings
        .update_one(|p| p.id.eq(2), |p| p.title.set("AGAIN"))
        .await
        .unwrap();
    assert_eq!(displays.get(1).required().await.unwrap().copy.title, "AGAIN");
}
