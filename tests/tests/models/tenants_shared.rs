//! Documents that tenants share, and what tenants' documents have of them: copies, references with rules.

use bson::doc;
use odm::{Db, Embedded, Error, ErrorKind, Model, Models, Ref, TenantFindingKind};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    copies_follow_across_tenants_alone,
    rules_hold_across_tenants_alone,
    references_of_shared_documents_are_verified_across_tenants_alone,
    tenants_own_copies_follow,
    hooks_get_the_tenants_database,
    findings_name_indexes_and_shard_keys,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(copied_to(Book), referred_by(Book))]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    town: String,
    favourites: Vec<Ref<Book>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Publisher))]
struct PublisherCopy {
    #[odm(source)]
    id: Ref<Publisher>,
    name: Option<String>,
    #[odm(source_version)]
    version: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(copied_to(Loan))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    library: String,
    title: String,
    copy: PublisherCopy,
    #[odm(on_delete = cascade)]
    publisher: Ref<Publisher>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Book))]
struct BookCopy {
    #[odm(source)]
    id: Ref<Book>,
    title: Option<String>,
    #[odm(source_version)]
    version: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Loan {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    library: String,
    book: BookCopy,
}

async fn fill(db: &Db) {
    let all = db.across_tenants();
    let publisher = Publisher {
        id: 1,
        name: "Penguin".into(),
        town: "Oslo".into(),
        favourites: vec![Ref::new(1), Ref::new(2)],
    };
    all.collection::<Publisher>().insert(publisher).await.unwrap();
    for (id, library) in [(1, "ann"), (2, "bob")] {
        let copy = PublisherCopy {
            id: Ref::new(1),
            name: Some("Penguin".into()),
            version: None,
        };
        let book = Book {
            id,
            library: library.into(),
            title: "Emma".into(),
            copy,
            publisher: Ref::new(1),
        };
        all.collection::<Book>().insert(book).await.unwrap();
        let copy = BookCopy {
            id: Ref::new(id),
            title: Some("Emma".into()),
            version: None,
        };
        // The other's loan refers to the same book.
        for (loan, library) in [(id * 10, "ann"), (id * 10 + 1, "bob")] {
            let loan = Loan {
                id: loan,
                library: library.into(),
                book: copy.clone(),
            };
            all.collection::<Loan>().insert(loan).await.unwrap();
        }
    }
}

fn is_of_all<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Tenant, Some("library")),
        "{error:?}"
    );
    assert!(error.message().contains("`Book`"), "{error}");
}

async fn copies_follow_across_tenants_alone(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann").collection::<Publisher>();
    is_of_all(ann.update_one(|p| p.id.eq(1), |p| p.name.set("x")).await);
    is_of_all(ann.save(ann.get(1).required().await.unwrap()).await);
    is_of_all(
        ann.bulk_write()
            .update_many(|p| p.id.gt(0), |p| p.name.set("x"))
            .await,
    );
    is_of_all(ann.propagate_pending().await);
    // What is not copied is changed by any.
    ann.update_one(|p| p.id.eq(1), |p| p.town.set("Bergen"))
        .await
        .unwrap();
    let plain = db
        .collection::<Publisher>()
        .update_one(|p| p.id.eq(1), |p| p.name.set("x"));
    assert_eq!(plain.await.unwrap_err().kind(), ErrorKind::Tenant);
    let all = db.across_tenants();
    assert_eq!(
        all.collection::<Publisher>()
            .count(|p| p.name.eq("Penguin"))
            .await
            .unwrap(),
        1
    );
    all.collection::<Publisher>()
        .update_one(|p| p.id.eq(1), |p| p.name.set("Puffin"))
        .await
        .unwrap();
    assert_eq!(
        all.collection::<Book>()
            .count(|b| b.copy.name.eq("Puffin"))
            .await
            .unwrap(),
        2
    );
}

async fn rules_hold_across_tenants_alone(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    is_of_all(ann.collection::<Publisher>().delete(1).await);
    is_of_all(ann.collection::<Publisher>().delete_many(|p| p.id.gt(0)).await);
    is_of_all(
        ann.collection::<Publisher>()
            .ask_references(doc! {"_id": 1})
            .await,
    );
    let plain = db.collection::<Publisher>().delete(1).await;
    assert_eq!(plain.unwrap_err().kind(), ErrorKind::Tenant);
    let all = db.across_tenants();
    assert_eq!(all.collection::<Book>().find_all().await.unwrap().len(), 2);
    assert_eq!(all.collection::<Publisher>().delete(1).await.unwrap().deleted, 1);
    assert_eq!(all.collection::<Book>().find_all().await.unwrap(), []);
}

async fn references_of_shared_documents_are_verified_across_tenants_alone(db: &Db) {
    fill(db).await;
    is_of_all(
        db.for_tenant("ann")
            .collection::<Publisher>()
            .verify_relations()
            .await,
    );
    let problems = db
        .across_tenants()
        .collection::<Publisher>()
        .verify_relations()
        .await
        .unwrap();
    assert_eq!(problems.len(), 0);
    let seen = db
        .for_tenant("ann")
        .collection::<Publisher>()
        .find_all()
        .load(|p| p.favourites)
        .await
        .unwrap();
    assert_eq!(seen[0].1.iter().flatten().count(), 1);
}

async fn tenants_own_copies_follow(db: &Db) {
    fill(db).await;
    let ann = db.for_tenant("ann");
    ann.collection::<Book>()
        .update_many(|b| b.id.gt(0), |b| b.title.set("Emma, again"))
        .await
        .unwrap();
    let loans = db
        .across_tenants()
        .collection::<Loan>()
        .find(|l| l.book.title.eq("Emma, again"));
    let loans = loans.await.unwrap();
    assert_eq!(loans.iter().map(|loan| loan.id).collect::<Vec<_>>(), [10]);
    assert_eq!(
        ann.collection::<Book>()
            .copy_fan_out(|b| b.id.gt(0))
            .await
            .unwrap()[0]
            .documents,
        1
    );
    let stale = db
        .across_tenants()
        .collection::<Loan>()
        .stale_copies()
        .await
        .unwrap();
    assert_eq!(stale.len(), 1);
    assert_eq!(
        db.for_tenant("bob")
            .collection::<Loan>()
            .stale_copies()
            .repair()
            .await
            .unwrap()
            .repaired,
        0
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(hooks)]
struct Hooked {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    library: String,
}

impl odm::Hooks for Hooked {
    async fn after_insert(document: &Hooked, context: &odm::HookContext) -> odm::Result<()> {
        if document.id < 10 {
            let all = context.db().collection::<Hooked>();
            all.insert(Hooked {
                id: document.id + 10,
                library: document.library.clone(),
            })
            .await?;
        }
        Ok(())
    }
}

async fn hooks_get_the_tenants_database(db: &Db) {
    let ann = db.for_tenant("ann");
    ann.collection::<Hooked>()
        .insert(Hooked {
            id: 1,
            library: "ann".into(),
        })
        .await
        .unwrap();
    ann.transaction(async |tx| {
        tx.collection::<Hooked>()
            .insert(Hooked {
                id: 2,
                library: "ann".into(),
            })
            .await
    })
    .await
    .unwrap();
    db.transaction(async |tx| {
        let bob = tx.for_tenant("bob");
        bob.collection::<Hooked>()
            .insert(Hooked {
                id: 3,
                library: "bob".into(),
            })
            .await
    })
    .await
    .unwrap();
    let ids = ann
        .collection::<Hooked>()
        .find_all()
        .sort(|h| h.id.asc())
        .await
        .unwrap();
    assert_eq!(
        ids.iter().map(|hooked| hooked.id).collect::<Vec<_>>(),
        [1, 2, 11, 12]
    );
    let ids = db
        .for_tenant("bob")
        .collection::<Hooked>()
        .find_all()
        .await
        .unwrap();
    assert_eq!(ids.len(), 2);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(options = sharded, index(unique, keys(number, library)), index(unique, keys(mail)))]
struct Card {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    library: String,
    number: i32,
    mail: String,
}

fn sharded() -> odm::CollectionDeclaration {
    odm::CollectionDeclaration::new().shard_key::<Card>(|c| odm::IndexDeclaration::new().asc(&c.number))
}

async fn findings_name_indexes_and_shard_keys(_db: &Db) {
    let found = Models::new().with::<Card>().with::<Publisher>().tenant_findings();
    let kinds: Vec<_> = found.iter().map(|finding| finding.kind.clone()).collect();
    assert_eq!(
        kinds,
        [
            TenantFindingKind::ShardKey(vec!["number".into()]),
            TenantFindingKind::UniqueAcrossTenants("mail_1".into()),
            TenantFindingKind::NoIndex,
        ]
    );
    let finding = &found[0];
    assert_eq!(
        (finding.model, finding.collection, finding.field),
        ("Card", "cards", "library")
    );
    assert_eq!(
        found[1].to_string(),
        "Card (cards): the unique index mail_1 is without the tenant's field library, and holds all tenants together"
    );
}
