//! Collections against what all models that share them declare: validators, options, names.

use std::time::Duration;

use bson::{DateTime, Document, doc};
use odm::{CollectionDeclaration, CollectionInfo, Db, ErrorKind, Granularity, Id, Model, Models, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    kinds_are_validated_together,
    a_kind_keeps_the_validators_of_others,
    an_enum_has_the_validators_of_its_kinds,
    a_declared_validator_is_set_when_it_changes,
    a_validator_and_rules_hold_together,
    a_collection_that_is_not_as_declared_is_refused,
    options_that_can_be_changed_are,
    remembering_does_not_hide_what_differs,
    what_indexes_still_differ_in_is_reported,
    models_of_one_name_are_told_apart,
    what_older_versions_remembered_is_read,
    a_time_series_refuses_what_it_cannot_do,
}

fn validated() -> CollectionDeclaration {
    CollectionDeclaration::new().validated()
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "cat", options = validated)]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(min = 1, max = 9))]
    lives: i32,
}

fn short() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .validated()
        .validator(doc! {"name": {"$ne": "Tom"}})
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "dog", options = short)]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(length(max = 5)))]
    name: String,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "pets")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Pet {
    Cat(Cat),
    Dog(Dog),
}

/// Which of these documents the database refuses by the collection's validator.
async fn refused(db: &Db, collection: &str, documents: &[Document]) -> Vec<bool> {
    let raw = db.raw_collection(collection);
    let mut refused = Vec::new();
    for document in documents {
        let stored = raw.insert(document.clone()).await;
        refused.push(match stored {
            Ok(_) => false,
            Err(error) => {
                assert_eq!(
                    (error.kind(), error.code()),
                    (ErrorKind::Validation, Some(121)),
                    "{error}"
                );
                true
            }
        });
    }
    raw.delete_many(doc! {}).await.unwrap();
    refused
}

fn pets() -> [Document; 6] {
    [
        doc! {"_id": 1, "kind": "cat", "lives": 9},
        doc! {"_id": 2, "kind": "cat", "lives": 10},
        doc! {"_id": 3, "kind": "dog", "name": "Rex"},
        doc! {"_id": 4, "kind": "dog", "name": "Rex the Great"},
        doc! {"_id": 5, "kind": "dog", "name": "Tom"},
        doc! {"_id": 6, "kind": "parrot", "lives": 10, "name": "Rex the Great"},
    ]
}

const BOTH: [bool; 6] = [false, true, false, true, true, false];

async fn kinds_are_validated_together(db: &Db) {
    for models in [
        Models::new().with::<Cat>().with::<Dog>(),
        Models::new().with::<Dog>().with::<Cat>(),
    ] {
        for _ in 0..2 {
            db.sync_models(&models).await.unwrap();
            assert_eq!(refused(db, "pets", &pets()).await, BOTH);
        }
        assert_eq!(db.check_models(&models).await.unwrap(), []);
    }
    // The models of another program are of the same collection.
    let again = db.sync_models(&Models::new().with::<Cat>()).await.unwrap();
    assert!(again.modified.is_empty() && again.created.is_empty(), "{again:?}");
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
}

async fn a_kind_keeps_the_validators_of_others(db: &Db) {
    // As it was stored by one kind alone.
    let old = doc! {"$jsonSchema": {"bsonType": "object", "required": ["lives"]}};
    db.create_collection("pets").validator(old).await.unwrap();
    let (cats, dogs) = (db.collection::<Cat>(), db.collection::<Dog>());
    dogs.sync_validator().await.unwrap();
    assert_eq!(
        refused(db, "pets", &pets()).await,
        [false, false, false, true, true, false]
    );
    cats.sync_validator().await.unwrap();
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
    dogs.sync_validator().await.unwrap();
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
    let models = Models::new().with::<Cat>().with::<Dog>();
    assert!(db.sync_models(&models).await.unwrap().modified.is_empty());
    cats.drop().await.unwrap();
    cats.create_declared().await.unwrap();
    dogs.sync_validator().await.unwrap();
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
}

async fn an_enum_has_the_validators_of_its_kinds(db: &Db) {
    let pets_of_all = db.collection::<Pet>();
    pets_of_all.sync_validator().await.unwrap();
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
    db.collection::<Cat>().sync_validator().await.unwrap();
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
    pets_of_all.drop().await.unwrap();
    pets_of_all.create().validated().await.unwrap();
    assert_eq!(refused(db, "pets", &pets()).await, BOTH);
}

mod people {
    use super::*;

    pub(super) fn of_age(age: i32) -> CollectionDeclaration {
        CollectionDeclaration::new().validator(doc! {"age": {"$gte": age}})
    }

    fn any_age() -> CollectionDeclaration {
        of_age(0)
    }

    fn adult() -> CollectionDeclaration {
        of_age(18)
    }

    #[derive(Serialize, Deserialize, Model)]
    #[odm(collection = "people", options = any_age)]
    pub(super) struct Person {
        #[serde(rename = "_id")]
        id: i32,
        age: i32,
    }

    #[derive(Serialize, Deserialize, Model)]
    #[odm(collection = "people", options = adult)]
    pub(super) struct Adult {
        #[serde(rename = "_id")]
        id: i32,
        age: i32,
    }

    fn both() -> CollectionDeclaration {
        of_age(18).validated()
    }

    #[derive(Serialize, Deserialize, Model)]
    #[odm(collection = "both", options = both)]
    pub(super) struct Both {
        #[serde(rename = "_id")]
        id: i32,
        #[odm(validate(max = 100))]
        age: i32,
    }
}

fn aged() -> [Document; 3] {
    [5, 50, 150].map(|age| doc! {"_id": age, "age": age})
}

async fn a_declared_validator_is_set_when_it_changes(db: &Db) {
    db.sync_models(&Models::new().with::<people::Person>())
        .await
        .unwrap();
    assert_eq!(refused(db, "people", &aged()).await, [false; 3]);
    let adults = Models::new().with::<people::Adult>();
    db.store_models(&adults).await.unwrap();
    let drift = db.check_models(&adults).await.unwrap();
    assert!(
        drift[0].differences[0].starts_with("options.validator: is "),
        "{}",
        drift[0]
    );
    let done = db.sync_models(&adults).await.unwrap();
    assert_eq!((done.modified, done.created), (vec!["people".to_owned()], vec![]));
    assert_eq!(refused(db, "people", &aged()).await, [true, false, false]);
    assert_eq!(db.check_models(&adults).await.unwrap(), []);
    // Both of one collection in one program hold together.
    let two = Models::new().with::<people::Person>().with::<people::Adult>();
    db.sync_models(&two).await.unwrap();
    assert_eq!(refused(db, "people", &aged()).await, [true, false, false]);
}

async fn a_validator_and_rules_hold_together(db: &Db) {
    let models = Models::new().with::<people::Both>();
    for _ in 0..2 {
        db.sync_models(&models).await.unwrap();
        assert_eq!(refused(db, "both", &aged()).await, [true, false, true]);
    }
    let both = db.collection::<people::Both>();
    both.sync_validator().await.unwrap();
    assert_eq!(refused(db, "both", &aged()).await, [true, false, true]);
    both.drop().await.unwrap();
    both.create_declared().await.unwrap();
    assert_eq!(refused(db, "both", &aged()).await, [true, false, true]);
    assert_eq!(db.check_models(&models).await.unwrap(), []);
}

mod meters {
    use super::*;

    fn capped() -> CollectionDeclaration {
        CollectionDeclaration::new().capped(100_000).max_documents(10)
    }

    fn larger() -> CollectionDeclaration {
        let declared = CollectionDeclaration::new().capped(200_000).max_documents(20);
        declared.images()
    }

    fn series() -> CollectionDeclaration {
        let fields = Series::fields();
        let declared = CollectionDeclaration::new().time_series_of(&fields.at, &fields.source);
        declared.expire_after(Duration::from_secs(60))
    }

    fn coarse() -> CollectionDeclaration {
        series()
            .granularity(Granularity::Hours)
            .expire_after(Duration::from_secs(120))
    }

    macro_rules! meters {
        ($($name:ident $options:ident)+) => {$(
            #[derive(Serialize, Deserialize, Model)]
            #[odm(collection = "meters", options = $options)]
            pub(super) struct $name {
                #[serde(rename = "_id")]
                id: i64,
                at: DateTime,
                source: String,
            }
        )+};
    }

    meters! { Capped capped  Larger larger  Series series  Coarse coarse }
}

async fn meters(db: &Db) -> CollectionInfo {
    let mut listed = db.list_collections().await.unwrap();
    listed.retain(|collection| collection.name == "meters");
    listed.remove(0)
}

async fn a_collection_that_is_not_as_declared_is_refused(db: &Db) {
    let plain = doc! {"_id": 1_i64, "at": DateTime::now(), "source": "a"};
    db.raw_collection("meters").insert(plain).await.unwrap();
    for (models, model, option) in [
        (
            Models::new().with::<meters::Series>(),
            "Series",
            "options.timeseries",
        ),
        (Models::new().with::<meters::Capped>(), "Capped", "options.capped"),
    ] {
        let error = db.sync_models(&models).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        assert_eq!((error.model(), error.path()), (Some(model), Some(option)));
        let drift = db.check_models(&models).await.unwrap();
        assert_eq!(drift[0].stored, None);
        assert!(drift[0].to_string().contains(option), "{}", drift[0]);
    }
    db.drop().await.unwrap();
    db.sync_models(&Models::new().with::<meters::Capped>())
        .await
        .unwrap();
    let error = db
        .sync_models(&Models::new().with::<meters::Series>())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Schema, Some("options.timeseries"))
    );
    assert!(meters(db).await.options.get_bool("capped").unwrap());
    let two = Models::new().with::<meters::Capped>().with::<meters::Larger>();
    let error = db.sync_models(&two).await.unwrap_err();
    assert_eq!(
        (error.model(), error.path()),
        (Some("Larger"), Some("options.size"))
    );
}

async fn remembering_does_not_hide_what_differs(db: &Db) {
    db.raw_collection("meters").create().await.unwrap();
    let series = Models::new().with::<meters::Series>();
    for _ in 0..2 {
        db.store_models(&series).await.unwrap();
        let drift = db.check_models(&series).await.unwrap();
        let lines: Vec<_> = drift[0]
            .differences
            .iter()
            .map(|line| line.split(':').next().unwrap())
            .collect();
        assert_eq!(
            lines,
            ["options.timeseries", "options.expireAfterSeconds"],
            "{}",
            drift[0]
        );
        db.sync_models(&series).await.unwrap_err();
    }
}

async fn options_that_can_be_changed_are(db: &Db) {
    let number = |options: &Document, name: &str| {
        let value = options.get(name).cloned().unwrap();
        value.as_i64().or(value.as_i32().map(i64::from)).unwrap()
    };
    db.sync_models(&Models::new().with::<meters::Capped>())
        .await
        .unwrap();
    let larger = Models::new().with::<meters::Larger>();
    assert_eq!(db.sync_models(&larger).await.unwrap().modified, ["meters"]);
    let options = meters(db).await.options;
    assert!(
        number(&options, "size") >= 200_000 && number(&options, "max") == 20,
        "{options}"
    );
    let images = options.get_document("changeStreamPreAndPostImages").unwrap();
    assert!(images.get_bool("enabled").unwrap());
    assert_eq!(db.check_models(&larger).await.unwrap(), []);
    assert!(db.sync_models(&larger).await.unwrap().modified.is_empty());

    db.drop().await.unwrap();
    let done = db
        .sync_models(&Models::new().with::<meters::Series>())
        .await
        .unwrap();
    assert_eq!(done.created, ["meters"]);
    let coarse = Models::new().with::<meters::Coarse>();
    assert_eq!(db.sync_models(&coarse).await.unwrap().modified, ["meters"]);
    let options = meters(db).await.options;
    assert_eq!(number(&options, "expireAfterSeconds"), 120);
    assert_eq!(
        options
            .get_document("timeseries")
            .unwrap()
            .get_str("granularity")
            .unwrap(),
        "hours"
    );
    assert_eq!(db.check_models(&coarse).await.unwrap(), []);
    // What is stored together for hours cannot be taken apart.
    let error = db
        .sync_models(&Models::new().with::<meters::Series>())
        .await
        .unwrap_err();
    assert_eq!(
        (error.model(), error.path()),
        (Some("Series"), Some("options.timeseries"))
    );
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique)]
    slug: String,
    #[odm(index)]
    title: String,
}

async fn what_indexes_still_differ_in_is_reported(db: &Db) {
    let old = doc! {"key": {"slug": 1}, "name": "slug_1"};
    db.raw_collection("pages")
        .create_indexes()
        .index_raw(old)
        .await
        .unwrap();
    let models = Models::new().with::<Page>();
    let done = db.sync_models(&models).await.unwrap();
    assert!(!done.is_complete());
    assert_eq!(
        (done.indexes[0].model, done.indexes[0].indexes.created.clone()),
        ("Page", vec!["title_1".to_owned()])
    );
    let drift = db.check_models(&models).await.unwrap();
    assert_eq!(
        drift[0].differences,
        ["indexes.slug_1: slug_1 in the database differs in unique"]
    );
    let pages = db.collection::<Page>();
    pages.sync_indexes().rebuild_changed(true).await.unwrap();
    pages.drop_index("title_1").await.unwrap();
    let drift = db.check_models(&models).await.unwrap();
    assert_eq!(
        drift[0].differences,
        ["indexes.title_1: is not there in the database"]
    );
    assert!(db.sync_models(&models).await.unwrap().is_complete());
    assert_eq!(db.check_models(&models).await.unwrap(), []);
}

mod shop {
    use super::*;

    #[derive(Serialize, Deserialize, Model)]
    #[odm(collection = "shop_items")]
    pub(super) struct Item {
        #[serde(rename = "_id")]
        id: Id<Item>,
    }
}

mod depot {
    use super::*;

    #[derive(Serialize, Deserialize, Model)]
    #[odm(collection = "depot_items")]
    pub(super) struct Item {
        #[serde(rename = "_id")]
        id: Id<Item>,
        of: Ref<shop::Item>,
    }

    pub(super) mod later {
        use super::*;

        #[derive(Serialize, Deserialize, Model)]
        #[odm(collection = "depot_items")]
        pub(in super::super) struct Item {
            #[serde(rename = "_id")]
            id: Id<Item>,
            of: Ref<shop::Item>,
            shelf: i32,
        }
    }
}

mod boxes {
    use super::*;

    macro_rules! kinds {
        ($($module:ident $kind:literal $field:ident)+) => {$(
            pub(in super) mod $module {
                use super::*;

                #[derive(Serialize, Deserialize, Model)]
                #[odm(collection = "boxes", kind = $kind)]
                pub(in super::super) struct Part {
                    #[serde(rename = "_id")]
                    id: i32,
                    $field: i32,
                }
            }
        )+};
    }

    kinds! { small "small" width  large "large" height }
}

async fn models_of_one_name_are_told_apart(db: &Db) {
    let models = Models::new().with::<shop::Item>().with::<depot::Item>();
    let models = models.with::<boxes::small::Part>().with::<boxes::large::Part>();
    db.sync_models(&models).await.unwrap();
    assert_eq!(db.check_models(&models).await.unwrap(), []);
    assert_eq!(db.raw_collection("odm.models").count(doc! {}).await.unwrap(), 4);
    let later = Models::new().with::<shop::Item>().with::<depot::later::Item>();
    let drift = db.check_models(&later).await.unwrap();
    assert_eq!((drift.len(), drift[0].collection), (1, "depot_items"));
    assert!(
        drift[0]
            .to_string()
            .starts_with("Item (depot_items), as stored at "),
        "{}",
        drift[0]
    );
    assert_eq!(drift[0].differences, ["fields.shelf: is new, \"i32\""]);

    let diagram = models.mermaid();
    for line in [
        "    Item-shop_items {\n",
        "    Item-depot_items {\n",
        "    Item-depot_items }o--o| Item-shop_items : \"of\"\n",
        "    Part-boxes-small {\n",
        "    Part-boxes-large {\n",
    ] {
        assert!(diagram.contains(line), "{diagram}");
    }
    assert!(models.table().contains("Item (shop_items)"));
}

async fn what_older_versions_remembered_is_read(db: &Db) {
    let models = Models::new().with::<shop::Item>().with::<depot::Item>();
    db.store_models(&models).await.unwrap();
    let remembered = db.raw_collection("odm.models");
    let mut old = remembered
        .find(doc! {"_id": "depot_items/Item"})
        .await
        .unwrap()
        .remove(0);
    remembered.delete_many(doc! {}).await.unwrap();
    old.remove("model");
    old.insert("_id", "Item");
    remembered.insert(old).await.unwrap();
    let drift = db.check_models(&models).await.unwrap();
    assert_eq!(drift.len(), 1);
    assert_eq!(
        drift[0].to_string(),
        "Item (shop_items): not known to the database"
    );
    // A model that was alone of its name and moved is the same one.
    let moved = db
        .check_models(&Models::new().with::<shop::Item>())
        .await
        .unwrap();
    let line = "collection: was \"depot_items\", is \"shop_items\"";
    assert!(
        moved[0].differences.iter().any(|difference| difference == line),
        "{}",
        moved[0]
    );
    db.sync_models(&models).await.unwrap();
    assert_eq!(db.check_models(&models).await.unwrap(), []);
}

mod refused_series {
    use super::*;

    macro_rules! series {
        ($($name:ident ($($kind:tt)*) $(#[$attribute:meta])* $field:ident: $ty:ty)+) => {$(
            #[derive(Serialize, Deserialize, Model)]
            #[odm(collection = "measured", options = $name::options $($kind)*)]
            pub(super) struct $name {
                #[serde(rename = "_id")]
                id: i32,
                at: DateTime,
                source: String,
                $(#[$attribute])*
                $field: $ty,
            }

            impl $name {
                fn options() -> CollectionDeclaration {
                    let fields = $name::fields();
                    CollectionDeclaration::new().time_series_of(&fields.at, &fields.source)
                }
            }
        )+};
    }

    series! {
        Soft () #[odm(soft_delete)] gone: Option<DateTime>
        Updated () #[odm(updated)] changed: DateTime
        Counted () #[odm(version)] revision: i32
        OfKind (, kind = "heat") celsius: i32
        BySource (, kind = "roof", tag = "source_of") celsius: i32
    }
}

async fn a_time_series_refuses_what_it_cannot_do(db: &Db) {
    async fn check<M: Model>(db: &Db, model: &str, field: &str) {
        let created = db.collection::<M>().create_declared().await.unwrap_err();
        let counted = db
            .collection::<M>()
            .delete_many(|_| odm::Filter::all())
            .await
            .unwrap_err();
        let synced = db.sync_models(&Models::new().with::<M>()).await.unwrap_err();
        for error in [created, counted, synced] {
            assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
            assert_eq!(
                (error.model(), error.path()),
                (Some(model), Some(field)),
                "{error}"
            );
        }
    }
    check::<refused_series::Soft>(db, "Soft", "gone").await;
    check::<refused_series::Updated>(db, "Updated", "changed").await;
    check::<refused_series::Counted>(db, "Counted", "revision").await;
    check::<refused_series::OfKind>(db, "OfKind", "kind").await;
    check::<refused_series::BySource>(db, "BySource", "source_of").await;
    assert_eq!(db.list_collections().await.unwrap(), []);
}
