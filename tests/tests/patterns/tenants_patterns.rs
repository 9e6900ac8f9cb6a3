//! Patterns on the database of a tenant.

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind, Model};
use odm_patterns::gridfs::{Bucket, BucketOptions};
use odm_patterns::search::{Analyzer, Keywords, Language, Scheme, Search, Searchable};
use odm_patterns::tree::{Branch, ChildReference, DeleteMode, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    trees_are_the_tenants,
    trees_of_tenants_have_states_of_their_own,
    changes_of_trees_that_stopped_are_the_tenants,
    files_are_compared_and_scrubbed,
    searches_count_the_tenants_terms,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "folders")]
struct Folder {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
}

fn folder(id: i32) -> Folder {
    Folder { id, owner: None }
}

async fn trees_are_the_tenants(db: &Db) {
    odm_tests::each_model!(S => {
        for (first, owner) in [(1, "ann"), (11, "bob")] {
            let db = db.for_tenant(owner);
            let tree = Tree::<Folder, S>::open(&db, TreeOptions::new()).await.unwrap();
            let leaf = |id| Branch::leaf(folder(id));
            tree.load(vec![Branch::new(folder(first), [leaf(first + 1), leaf(first + 2)])]).await.unwrap();
        }
        let ann = Tree::<Folder, S>::new(&db.for_tenant("ann"), TreeOptions::new());
        assert_eq!(ann.branches().await.unwrap().len(), 1);
        assert_eq!(ann.get(11).await.unwrap(), None);
        assert_eq!(ann.descendants(1).await.unwrap().len(), 2);
        assert!(ann.delete(12, DeleteMode::Cascade).await.is_err());
        assert!(ann.move_under(2, 11).await.is_err());
        let before = stored(db).await;
        ann.delete(1, DeleteMode::Cascade).await.unwrap();
        assert_eq!(before.len() - stored(db).await.len(), 3);
        let bob = Tree::<Folder, S>::new(&db.for_tenant("bob"), TreeOptions::new());
        assert_eq!(bob.verify().await.unwrap(), []);
        let unbound = Tree::<Folder, S>::new(db, TreeOptions::new()).get(11).await.unwrap_err();
        assert!(matches!(unbound, TreeError::Database(error) if error.kind() == ErrorKind::Tenant));
        db.raw_collection("folders").drop().await.unwrap();
        db.raw_collection("folders_trees").drop().await.unwrap();
    });
}

async fn stored(db: &Db) -> Vec<odm::bson::Document> {
    db.raw_collection("folders").find_all().await.unwrap()
}

async fn trees_of_tenants_have_states_of_their_own(db: &Db) {
    let tree =
        |owner: &'static str| Tree::<Folder, ChildReference>::new(&db.for_tenant(owner), TreeOptions::new());
    let (ann, bob) = (tree("ann"), tree("bob"));
    for (tree, first) in [(&ann, 1), (&bob, 11)] {
        tree.prepare().await.unwrap();
        for id in first..first + 3 {
            tree.insert_root(folder(id)).await.unwrap();
        }
    }
    let ids = async |tree: &Tree<Folder, ChildReference>, skip, limit| -> Vec<i32> {
        let page = tree.roots_page(skip, limit).await.unwrap();
        page.iter().map(|folder| folder.id).collect()
    };
    assert_eq!(ids(&ann, 0, 2).await, [1, 2]);
    assert_eq!(ids(&bob, 0, 2).await, [11, 12]);
    assert_eq!(ids(&bob, 2, 2).await, [13]);
    for tree in [&ann, &bob] {
        assert_eq!(tree.verify().await.unwrap(), []);
    }
    bob.reorder_roots([13, 12, 11]).await.unwrap();
    ann.reorder_roots([3, 1, 2]).await.unwrap();
    bob.repair().await.unwrap();
    assert_eq!(ids(&ann, 0, 0).await, [3, 1, 2]);
    assert_eq!(ids(&bob, 0, 0).await, [13, 12, 11]);
    // Administration names the tenant, and has the same tree.
    let options = || TreeOptions::new().tenant("owner", "ann");
    let all = Tree::<Folder, ChildReference>::new(&db.across_tenants(), options());
    assert_eq!(ids(&all, 0, 0).await, [3, 1, 2]);
    assert_eq!(
        ids(&Tree::new(&db.for_tenant("ann"), options()), 0, 0).await,
        [3, 1, 2]
    );
    let other = Tree::<Folder, ChildReference>::new(&db.for_tenant("bob"), options());
    let error = other.roots().await.unwrap_err();
    assert!(
        matches!(error, TreeError::InvalidOption { option: "tenant", .. }),
        "{error:?}"
    );
    // Trees of another field are the tenant's too.
    let options = || TreeOptions::new().tenant("menu", 7);
    let of = |owner: &'static str| Tree::<Folder, ChildReference>::new(&db.for_tenant(owner), options());
    of("ann").insert_root(folder(30)).await.unwrap();
    of("bob").insert_root(folder(31)).await.unwrap();
    assert_eq!(
        (ids(&of("ann"), 0, 0).await, ids(&of("bob"), 0, 0).await),
        (vec![30], vec![31])
    );
    assert_eq!(of("bob").verify().await.unwrap(), []);
}

/// What one tenant's process left half done is finished by a handle of the same tenant, and by no other.
async fn changes_of_trees_that_stopped_are_the_tenants(db: &Db) {
    let open = |db: &Db, owner: &'static str| {
        let options = TreeOptions::new().write_ahead();
        Tree::<Folder, ChildReference>::new(&db.for_tenant(owner), options)
    };
    for (owner, first) in [("ann", 1), ("bob", 11)] {
        let tree = open(db, owner);
        tree.prepare().await.unwrap();
        for id in first..first + 2 {
            tree.insert_root(folder(id)).await.unwrap();
        }
    }
    let half_done = async || {
        let states = db
            .raw_collection("folders_trees")
            .count(doc! { "intent": { "$exists": true } });
        states.await.unwrap()
    };
    for nth in 1.. {
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(nth).crash());
        open(&faulty, "ann")
            .move_under(2, 1)
            .await
            .expect_err("the process ended");
        if half_done().await > 0 {
            break;
        }
    }
    let bob = open(db, "bob");
    bob.prepare().await.unwrap();
    bob.move_under(12, 11).await.unwrap();
    assert_eq!(bob.verify().await.unwrap(), []);
    assert_eq!(half_done().await, 1);
    let ann = open(db, "ann");
    ann.prepare().await.unwrap();
    assert_eq!(half_done().await, 0);
    assert_eq!(ann.verify().await.unwrap(), []);
    assert_eq!(ann.parent(2).await.unwrap().map(|folder| folder.id), Some(1));
}

async fn files_are_compared_and_scrubbed(db: &Db) {
    let ann = db.for_tenant("ann");
    for bucket in [
        Bucket::with(&ann, BucketOptions::new().chunk_size(4)),
        Bucket::with(&ann, BucketOptions::new().name("ann").chunk_size(4)),
    ] {
        let file = bucket.upload("a").bytes(b"content").await.unwrap();
        assert_eq!(bucket.verify().contents().await.unwrap(), []);
        bucket.delete(file.id.clone()).await.unwrap();
        assert_eq!(bucket.verify().await.unwrap(), []);
        let mut upload = bucket.upload("half").open().await.unwrap();
        upload.write(b"stored, but not finished").await.unwrap();
        upload.flush().await.unwrap();
        drop(upload);
        let later = odm::bson::DateTime::from_millis(db.now().timestamp_millis() + 86_400_000);
        let bucket = bucket.on(&ann.with_clock(move || later));
        let scrub = bucket.scrub(std::time::Duration::from_secs(60)).await.unwrap();
        assert_eq!(scrub.uploads, 1);
        assert_eq!(bucket.verify().await.unwrap(), []);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "texts")]
struct Text {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    owner: Option<String>,
    text: String,
    keywords: Keywords<Text>,
}

impl Searchable for Text {
    fn scheme(t: TextFields) -> Scheme<Text> {
        Scheme::new(t.keywords, Analyzer::of(Language::English)).text(t.text)
    }
}

async fn searches_count_the_tenants_terms(db: &Db) {
    let (ann, bob) = (db.for_tenant("ann"), db.for_tenant("bob"));
    let texts = [
        (&ann, 1, "white whale"),
        (&ann, 2, "white snow"),
        (&bob, 11, "black whale"),
        (&bob, 12, "secret"),
    ];
    for (db, id, text) in texts {
        let (text, keywords) = (text.to_owned(), Keywords::default());
        db.collection::<Text>()
            .insert(Text {
                id,
                owner: None,
                text,
                keywords,
            })
            .await
            .unwrap();
    }
    let own = [(&ann, 3, 2), (&bob, 3, 2)];
    for (db, terms, documents) in own {
        let search = Search::<Text>::new(db);
        search.prepare().await.unwrap();
        search.recount().await.unwrap();
        search.tend().await.unwrap();
        let known = search.knowledge().await.unwrap();
        assert_eq!(
            (known.terms, known.documents, known.is_of_scheme),
            (terms, documents, true)
        );
        assert!(search.verify().await.unwrap().is_empty());
    }
    let search = Search::<Text>::new(&ann);
    let found = search.find("whale").await.unwrap();
    assert_eq!(found.len(), 1);
    // Counting of one changes nothing of another, and all together are a count of their own.
    let all = Search::<Text>::new(&db.across_tenants());
    all.prepare().await.unwrap();
    assert_eq!(all.knowledge().await.unwrap().documents, 4);
    Search::<Text>::new(&bob).recount().await.unwrap();
    for (search, documents) in [(&search, 2), (&all, 4)] {
        assert_eq!(search.knowledge().await.unwrap().documents, documents);
        assert!(search.verify().await.unwrap().is_empty());
    }
    assert!(Search::<Text>::new(db).find("whale").await.is_err());
    assert!(Search::<Text>::new(db).knowledge().await.is_err());
}
