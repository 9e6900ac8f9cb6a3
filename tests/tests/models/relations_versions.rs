//! Relations of documents of older shapes go by what the documents are read as.

use bson::{Document, doc};
use futures_util::TryStreamExt;
use odm::{Db, Filter, Model, Ref, Result};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    what_older_documents_refer_to_is_loaded_by_their_present_shape,
    what_older_targets_refer_to_is_loaded_by_their_present_shape,
    the_database_joins_and_denies_by_what_is_stored,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Company {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(schema_version = 2, migrate(name_company), referred_by(Invoice))]
struct Customer {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = customers)]
    company: Ref<Company>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(schema_version = 3, migrate(name_customer, list_others))]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = invoices, on_delete = deny)]
    customer: Ref<Customer>,
    others: Vec<Ref<Customer>>,
}

fn name_company(customer: &mut Document) -> Result<()> {
    if let Some(company) = customer.remove("firm") {
        customer.insert("company", company);
    }
    Ok(())
}

fn name_customer(invoice: &mut Document) -> Result<()> {
    if let Some(customer) = invoice.remove("cust") {
        invoice.insert("customer", customer);
    }
    Ok(())
}

fn list_others(invoice: &mut Document) -> Result<()> {
    if let Some(other) = invoice.remove("other") {
        invoice.insert("others", [other]);
    }
    Ok(())
}

async fn stored(db: &Db) {
    db.collection::<Company>()
        .insert(Company { id: 1 })
        .await
        .unwrap();
    let customers = db.collection::<Customer>().raw();
    let old = [
        doc! { "_id": 1, "firm": 1 },
        doc! { "_id": 2, "company": 1, "schema_version": 2 },
    ];
    customers.insert_many(old).await.unwrap();
    let invoices = db.collection::<Invoice>().raw();
    let old = [
        doc! { "_id": 1, "cust": 1, "other": 2 },
        doc! { "_id": 2, "customer": 2, "other": 1, "schema_version": 2 },
        doc! { "_id": 3, "customer": 1, "others": [1, 2], "schema_version": 3 },
    ];
    invoices.insert_many(old).await.unwrap();
}

type Row = (Invoice, Option<Customer>, Vec<Option<Customer>>);

fn shown((invoice, customer, others): &Row) -> (i32, Option<i32>, Vec<Option<i32>>) {
    let id = |customer: &Option<Customer>| customer.as_ref().map(|customer| customer.id);
    (invoice.id, id(customer), others.iter().map(id).collect())
}

async fn what_older_documents_refer_to_is_loaded_by_their_present_shape(db: &Db) {
    stored(db).await;
    let invoices = db.collection::<Invoice>();
    let expected = [
        (1, Some(1), vec![Some(2)]),
        (2, Some(2), vec![Some(1)]),
        (3, Some(1), vec![Some(1), Some(2)]),
    ];
    let find = || invoices.find_all().sort(|i| i.id.asc());
    let (invoice, customer) = invoices.get(1).load(|i| i.customer).required().await.unwrap();
    assert_eq!((invoice.customer, customer.map(|c| c.id)), (Ref::new(1), Some(1)));
    let rows: Vec<Row> = find().load(|i| i.customer).load(|i| i.others).await.unwrap();
    assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected);
    let streamed = find()
        .batch_size(2)
        .load(|i| i.customer)
        .load(|i| i.others)
        .stream();
    let rows: Vec<Row> = TryStreamExt::try_collect(streamed).await.unwrap();
    assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected);
    let page = find()
        .page(2)
        .load(|i| i.customer)
        .load(|i| i.others)
        .await
        .unwrap();
    assert_eq!(page.items.iter().map(shown).collect::<Vec<_>>(), expected[..2]);
    let page = find()
        .page_number(1, 2)
        .load(|i| i.customer)
        .load(|i| i.others)
        .await
        .unwrap();
    assert_eq!(page.items.iter().map(shown).collect::<Vec<_>>(), expected[..2]);
    let rows = find()
        .tracked()
        .load(|i| i.customer)
        .load(|i| i.others)
        .await
        .unwrap();
    let ids: Vec<_> = rows
        .iter()
        .map(|(_, customer, others)| (customer.is_some(), others.len()))
        .collect();
    assert_eq!(ids, [(true, 1), (true, 1), (true, 2)]);
    // In step with what documents in memory load.
    let all = find().await.unwrap();
    let loaded = invoices.load(&all, |i| i.customer).await.unwrap();
    assert!(loaded.iter().all(Option::is_some));
}

async fn what_older_targets_refer_to_is_loaded_by_their_present_shape(db: &Db) {
    stored(db).await;
    let invoices = db.collection::<Invoice>();
    let rows = invoices
        .find_all()
        .sort(|i| i.id.asc())
        .load(|i| i.customer.load(|c| c.company))
        .await
        .unwrap();
    for (_, customer) in rows {
        assert_eq!(customer.unwrap().1, Some(Company { id: 1 }));
    }
    // What refers is found by what is stored, and has the present shape from there on.
    let rows = db
        .collection::<Customer>()
        .find(|c| c.id.eq(2))
        .with(Invoice::invoices::<Customer>().load(|i| i.others))
        .await
        .unwrap();
    let [(_, invoices)] = rows.as_slice() else {
        panic!("one customer")
    };
    let [(invoice, others)] = invoices.as_slice() else {
        panic!("one invoice")
    };
    assert_eq!(
        (invoice.id, others.len(), others[0].as_ref().map(|other| other.id)),
        (2, 1, Some(1))
    );
}

async fn the_database_joins_and_denies_by_what_is_stored(db: &Db) {
    stored(db).await;
    let invoices = db.collection::<Invoice>();
    let rows = invoices
        .find_all()
        .sort(|i| i.id.asc())
        .join(|i| i.customer)
        .await
        .unwrap();
    let joined: Vec<bool> = rows.iter().map(|(_, customer)| customer.is_some()).collect();
    assert_eq!(joined, [false, true, true]);
    invoices.delete_many(|i| i.id.ne(1)).await.unwrap();
    invoices.migrate().await.unwrap();
    let rows = invoices.find_all().join(|i| i.customer).await.unwrap();
    assert!(rows[0].1.is_some());
    let denied = db
        .collection::<Customer>()
        .delete_many(|_| Filter::all())
        .await
        .unwrap_err();
    assert_eq!(denied.kind(), odm::ErrorKind::Referenced);
}
