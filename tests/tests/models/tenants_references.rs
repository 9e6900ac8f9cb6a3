//! References of tenants' documents and of shared ones: nothing is reached by them that is another tenant's.

use bson::{Bson, doc};
use odm::{Db, DbRef, Embedded, Error, ErrorKind, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    references_that_name_a_collection_open_known_ones_alone,
    deletions_reach_no_other_tenants_through_shared_documents,
    links_of_shared_documents_leave_no_half_of_another_tenant,
    copies_in_shared_documents_are_judged_across_tenants_alone,
    copies_go_through_shared_documents_across_tenants_alone,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "bills")]
struct Bill {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "towns")]
struct Town {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "houses")]
struct House {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    any: Option<DbRef>,
    town: Option<DbRef<Town>>,
    bill: Option<DbRef<Bill>>,
}

fn is_of_tenants<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant, "{error:?}");
}

async fn references_that_name_a_collection_open_known_ones_alone(db: &Db) {
    let (ann, bob, all) = (db.for_tenant("ann"), db.for_tenant("bob"), db.across_tenants());
    all.collection::<Town>().insert(Town { id: 1 }).await.unwrap();
    let house = |id, any: Option<&str>, town: Option<&str>, bill: Option<&str>, key: i32| House {
        id,
        owner: None,
        any: any.map(|name| DbRef::new(name, Bson::Int32(key))),
        town: town.map(|name| DbRef::new(name, key)),
        bill: bill.map(|name| DbRef::new(name, key)),
    };
    for (db, id) in [(&ann, 1), (&bob, 2)] {
        db.collection::<Bill>()
            .insert(Bill { id, owner: None })
            .await
            .unwrap();
        let copied = doc! { "_id": id, "owner": if id == 1 { "ann" } else { "bob" } };
        all.raw_collection("old_bills").insert(copied).await.unwrap();
        db.collection::<House>()
            .insert(house(id, None, None, None, 1))
            .await
            .unwrap();
    }
    let houses = ann.collection::<House>();
    houses
        .insert(house(3, Some("bills"), None, None, 2))
        .await
        .unwrap();
    houses
        .insert(house(4, None, Some("bills"), None, 2))
        .await
        .unwrap();
    houses
        .insert(house(5, Some("houses"), Some("towns"), Some("old_bills"), 1))
        .await
        .unwrap();
    houses
        .insert(house(6, Some("houses"), None, Some("old_bills"), 2))
        .await
        .unwrap();
    // Another tenant's, whatever the model is that is said.
    is_of_tenants(houses.get(3).load(|h| h.any).await);
    is_of_tenants(houses.get(4).load(|h| h.town).await);
    let error = houses.verify_relations().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant);
    // And in another database.
    let elsewhere = DbRef::new("houses", Bson::Int32(2)).in_database(format!("{}_2", db.name()));
    houses
        .update_one(|h| h.id.eq(4), |h| h.any.set(Some(elsewhere)))
        .await
        .unwrap();
    is_of_tenants(houses.get(4).load(|h| h.any).await);
    // What is known.
    let loaded = houses
        .get(5)
        .load(|h| (h.any, h.town, h.bill))
        .await
        .unwrap()
        .unwrap();
    let (any, town, bill) = loaded.1;
    assert_eq!(any.unwrap().get_i32("_id").unwrap(), 1);
    assert_eq!((town.unwrap().id, bill.unwrap().id), (1, 1));
    let loaded = houses.get(6).load(|h| (h.any, h.bill)).await.unwrap().unwrap();
    assert_eq!(loaded.1, (None, None));
    // Administration opens all.
    let loaded = all
        .collection::<House>()
        .get(3)
        .load(|h| h.any)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(loaded.1.unwrap().get_str("owner").unwrap(), "bob");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "books", referred_by(Shelf))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
}

/// Shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves", referred_by(Loan, Mark))]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    book: Option<Ref<Book>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "loans")]
struct Loan {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    #[odm(on_delete = deny)]
    shelf: Ref<Shelf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "marks")]
struct Mark {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    #[odm(on_delete = nullify)]
    shelf: Option<Ref<Shelf>>,
}

async fn deletions_reach_no_other_tenants_through_shared_documents(db: &Db) {
    let (ann, bob, all) = (db.for_tenant("ann"), db.for_tenant("bob"), db.across_tenants());
    let books = ann.collection::<Book>();
    for id in [1, 2] {
        books.insert(Book { id, owner: None }).await.unwrap();
    }
    all.collection::<Shelf>()
        .insert(Shelf {
            id: 1,
            book: Some(Ref::new(1)),
        })
        .await
        .unwrap();
    let loan = Loan {
        id: 1,
        owner: None,
        shelf: Ref::new(1),
    };
    bob.collection::<Loan>().insert(loan).await.unwrap();
    let mark = Mark {
        id: 1,
        owner: None,
        shelf: Some(Ref::new(1)),
    };
    bob.collection::<Mark>().insert(mark.clone()).await.unwrap();
    let error = books.delete(1).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Tenant, Some("owner")),
        "{error:?}"
    );
    assert_eq!(all.collection::<Shelf>().find_all().await.unwrap().len(), 1);
    assert_eq!(books.find_all().await.unwrap().len(), 2);
    assert!(
        bob.collection::<Mark>()
            .get(1)
            .required()
            .await
            .unwrap()
            .shelf
            .is_some()
    );
    // Nothing that is shared goes with it.
    books.delete(2).await.unwrap();
    let error = all.collection::<Book>().delete(1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Referenced);
    bob.collection::<Loan>().delete(1).await.unwrap();
    all.collection::<Book>().delete(1).await.unwrap();
    assert_eq!(all.collection::<Shelf>().find_all().await.unwrap(), []);
    assert_eq!(
        bob.collection::<Mark>().get(1).required().await.unwrap().shelf,
        None
    );
}

/// Shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people", referred_by(Task))]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = person)]
    task: Option<Ref<Task>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tasks", referred_by(Person))]
struct Task {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    #[odm(two_way = task)]
    person: Option<Ref<Person>>,
}

async fn links_of_shared_documents_leave_no_half_of_another_tenant(db: &Db) {
    let (ann, bob, all) = (db.for_tenant("ann"), db.for_tenant("bob"), db.across_tenants());
    for id in [1, 2] {
        all.collection::<Person>()
            .insert(Person { id, task: None })
            .await
            .unwrap();
    }
    let task = |id| Task {
        id,
        owner: None,
        person: None,
    };
    let (of_ann, of_bob) = (ann.collection::<Task>(), bob.collection::<Task>());
    of_bob.insert(task(1)).await.unwrap();
    for id in [2, 3] {
        of_ann.insert(task(id)).await.unwrap();
    }
    of_bob.link(1, |t| t.person, 1).await.unwrap();
    let stored = async || {
        let people = all
            .collection::<Person>()
            .find_all()
            .sort(|p| p.id.asc())
            .await
            .unwrap();
        let tasks = all
            .collection::<Task>()
            .find_all()
            .sort(|t| t.id.asc())
            .await
            .unwrap();
        (people, tasks)
    };
    let before = stored().await;
    assert_eq!(
        of_ann.link(2, |t| t.person, 1).await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    let error = of_ann.reassign(2, |t| t.person, 1).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Tenant, Some("task")),
        "{error:?}"
    );
    let error = ann
        .collection::<Person>()
        .reassign(1, |p| p.task, 2)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Tenant, Some("task")),
        "{error:?}"
    );
    let error = of_ann.unlink(1, |t| t.person, 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant, "{error:?}");
    let people = ann.collection::<Person>();
    let error = people.unlink(1, |p| p.task, 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tenant, "{error:?}");
    assert_eq!(stored().await, before);
    // What is the tenant's own is let go.
    of_ann.link(2, |t| t.person, 2).await.unwrap();
    of_ann.reassign(3, |t| t.person, 2).await.unwrap();
    assert_eq!(of_ann.get(2).required().await.unwrap().person, None);
    all.collection::<Task>()
        .reassign(2, |t| t.person, 1)
        .await
        .unwrap();
    let (people, tasks) = stored().await;
    assert_eq!(
        people.iter().map(|p| p.task).collect::<Vec<_>>(),
        [Some(Ref::new(2)), Some(Ref::new(3))]
    );
    assert_eq!(tasks[0].person, None);
    let unlinked = ann.collection::<Person>().unlink(2, |p| p.task, 3).await;
    assert!(unlinked.unwrap());
    assert_eq!(of_ann.get(3).required().await.unwrap().person, None);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "prices", copied_to(Offer))]
struct Price {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    amount: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Price))]
struct PriceCopy {
    #[odm(source)]
    id: Ref<Price>,
    amount: Option<i32>,
    #[odm(source_version)]
    version: Option<i64>,
}

/// Shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "offers")]
struct Offer {
    #[serde(rename = "_id")]
    id: i32,
    price: PriceCopy,
}

async fn copies_in_shared_documents_are_judged_across_tenants_alone(db: &Db) {
    let (ann, all) = (db.for_tenant("ann"), db.across_tenants());
    let price = Price {
        id: 1,
        owner: None,
        amount: 5,
    };
    db.for_tenant("bob")
        .collection::<Price>()
        .insert(price)
        .await
        .unwrap();
    let price = PriceCopy {
        id: Ref::new(1),
        amount: Some(5),
        version: None,
    };
    all.collection::<Offer>()
        .insert(Offer { id: 1, price })
        .await
        .unwrap();
    let offers = ann.collection::<Offer>();
    is_of_tenants(offers.stale_copies().await);
    is_of_tenants(offers.stale_copies().repair().await);
    is_of_tenants(offers.refresh_copies(|o| o.id.eq(1)).await);
    is_of_tenants(offers.verify_relations().await);
    all.collection::<Offer>().stale_copies().repair().await.unwrap();
    assert!(all.collection::<Offer>().stale_copies().await.unwrap().is_empty());
    assert_eq!(
        all.collection::<Offer>()
            .get(1)
            .required()
            .await
            .unwrap()
            .price
            .amount,
        Some(5)
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "fares", copied_to(Leg))]
struct Fare {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    amount: i32,
    note: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Fare))]
struct FareCopy {
    #[odm(source)]
    id: Ref<Fare>,
    amount: Option<i32>,
    #[odm(source_version)]
    version: Option<i64>,
}

/// Shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "legs", copied_to(Ticket))]
struct Leg {
    #[serde(rename = "_id")]
    id: i32,
    fare: FareCopy,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Leg))]
struct LegCopy {
    #[odm(source)]
    id: Ref<Leg>,
    #[odm(from = fare.amount)]
    amount: Option<i32>,
    #[odm(source_version)]
    version: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "tickets")]
struct Ticket {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    leg: LegCopy,
}

async fn copies_go_through_shared_documents_across_tenants_alone(db: &Db) {
    let (ann, all) = (db.for_tenant("ann"), db.across_tenants());
    let fares = ann.collection::<Fare>();
    let (note, name) = (String::new(), String::new());
    fares
        .insert(Fare {
            id: 1,
            owner: None,
            amount: 5,
            note,
        })
        .await
        .unwrap();
    let fare = FareCopy {
        id: Ref::new(1),
        amount: Some(5),
        version: None,
    };
    all.collection::<Leg>()
        .insert(Leg { id: 1, fare, name })
        .await
        .unwrap();
    let leg = LegCopy {
        id: Ref::new(1),
        amount: Some(5),
        version: None,
    };
    db.for_tenant("bob")
        .collection::<Ticket>()
        .insert(Ticket {
            id: 1,
            owner: None,
            leg,
        })
        .await
        .unwrap();
    let error = fares
        .update_one(|f| f.id.eq(1), |f| f.amount.set(6))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Tenant, Some("owner")),
        "{error:?}"
    );
    assert_eq!(fares.get(1).required().await.unwrap().amount, 5);
    fares
        .update_one(|f| f.id.eq(1), |f| f.note.set("n"))
        .await
        .unwrap();
    all.collection::<Fare>()
        .update_one(|f| f.id.eq(1), |f| f.amount.set(6))
        .await
        .unwrap();
    let ticket = all.collection::<Ticket>().get(1).required().await.unwrap();
    assert_eq!(ticket.leg.amount, Some(6));
}
