//! Delete rules on references that name their collection, of models with keys, kinds and lives of all sorts.

use bson::{Bson, DateTime, doc};
use odm::{CollectionDeclaration, Db, DbRef, Embedded, ErrorKind, Filter, Model, Ref, Reference};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    names_and_keys_are_told_apart_by_their_bytes,
    keys_that_are_documents,
    rules_of_a_kind_are_about_its_documents,
    soft_deletions_carry_them_out_softly,
    other_tenants_keep_what_refers,
    inverses_and_rules_mean_the_same_references,
    their_index_is_over_the_keys_in_them,
    stored_values_that_are_no_references_are_left_alone,
    models_show_what_is_declared,
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

async fn ids(db: &Db, collection: &str) -> Vec<i32> {
    let all = db.raw_collection(collection).find(doc! {});
    let all = all.sort_raw(doc! { "_id": 1 }).await.unwrap();
    all.iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "terms", referred_by(Note, Gloss))]
struct Term {
    #[serde(rename = "_id")]
    id: String,
}

/// In a collection whose name a collation takes for that of the terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "TERMS", referred_by(Note, Gloss))]
struct Shout {
    #[serde(rename = "_id")]
    id: String,
}

#[derive(Clone, Debug, PartialEq, Reference)]
enum Word {
    Term(Ref<Term>),
    Shout(Ref<Shout>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    word: Word,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "notes",
    options = caseless,
    index(keys(words.target_id())),
    reference(lines.any().word: Word, on_delete = pull)
)]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = nullify)]
    word: Option<Word>,
    #[odm(on_delete = pull)]
    words: Vec<Word>,
    lines: Vec<Line>,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "glosses", options = caseless)]
struct Gloss {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    word: Word,
}

fn term(id: &str) -> Word {
    Word::Term(Ref::new(id.to_owned()))
}

fn shout(id: &str) -> Word {
    Word::Shout(Ref::new(id.to_owned()))
}

async fn names_and_keys_are_told_apart_by_their_bytes(db: &Db) {
    db.collection::<Note>().create_declared().await.unwrap();
    db.collection::<Note>().create_indexes().await.unwrap();
    db.collection::<Gloss>().create_declared().await.unwrap();
    let all = || [term("en"), term("EN"), shout("en"), shout("EN")];
    let terms = ["en", "EN"].map(|id| Term { id: id.to_owned() });
    db.collection::<Term>().insert_many(terms).await.unwrap();
    let shouts = ["en", "EN"].map(|id| Shout { id: id.to_owned() });
    db.collection::<Shout>().insert_many(shouts).await.unwrap();
    let glosses = all().into_iter().zip(0..).map(|(word, id)| Gloss { id, word });
    db.collection::<Gloss>().insert_many(glosses).await.unwrap();
    let notes = all().into_iter().zip(0..).map(|(word, id)| Note {
        id,
        word: Some(word.clone()),
        words: all().into_iter().filter(|other| *other != word).collect(),
        lines: all().into_iter().map(|word| Line { word }).collect(),
        version: 0,
    });
    db.collection::<Note>().insert_many(notes).await.unwrap();

    db.collection::<Term>().delete("EN").await.unwrap();
    assert_eq!(ids(db, "glosses").await, [0, 2, 3]);
    let notes = db
        .collection::<Note>()
        .find_all()
        .sort(|n| n.id.asc())
        .await
        .unwrap();
    let words: Vec<_> = notes.iter().map(|note| note.word.clone()).collect();
    assert_eq!(
        words,
        [Some(term("en")), None, Some(shout("en")), Some(shout("EN"))]
    );
    for (note, own) in notes.iter().zip(all()) {
        let left = all()
            .into_iter()
            .filter(|word| *word != own && *word != term("EN"));
        assert_eq!(note.words, left.collect::<Vec<_>>());
        let lines: Vec<_> = note.lines.iter().map(|line| line.word.clone()).collect();
        assert_eq!(lines, [term("en"), shout("en"), shout("EN")]);
    }
    // Its only loss is that of its line, or also that of its list, or of its field.
    let versions: Vec<_> = notes.iter().map(|note| note.version).collect();
    assert_eq!(versions, [2, 2, 2, 2]);
    assert!(db.verify_relations::<Term>().await.unwrap().is_empty());
    // A repair tells them apart as well.
    db.raw_collection("TERMS")
        .delete_one(doc! { "_id": "en" })
        .await
        .unwrap();
    db.verify_relations::<Term>().repair().await.unwrap();
    assert_eq!(ids(db, "glosses").await, [0, 3]);
    let note = db.collection::<Note>().get(0).required().await.unwrap();
    assert_eq!((note.word, note.words), (Some(term("en")), vec![shout("EN")]));
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Embedded)]
struct Spot {
    x: i32,
    y: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "cells", referred_by(Trail))]
struct Cell {
    #[serde(rename = "_id")]
    id: Spot,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "trails")]
struct Trail {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = nullify)]
    start: Option<DbRef<Cell>>,
    #[odm(on_delete = pull)]
    cells: Vec<DbRef<Cell>>,
}

async fn keys_that_are_documents(db: &Db) {
    let spot = |x, y: &str| Spot { x, y: y.to_owned() };
    let at = |x, y| DbRef::to(&Cell { id: spot(x, y) });
    let cells = [spot(1, "a"), spot(1, "A"), spot(2, "a")];
    db.collection::<Cell>()
        .insert_many(cells.map(|id| Cell { id }))
        .await
        .unwrap();
    let all = vec![at(1, "A"), at(1, "a"), at(2, "a")];
    let trail = |id, start| Trail {
        id,
        start: Some(start),
        cells: all.clone(),
    };
    let trails = [trail(1, at(1, "a")), trail(2, at(1, "A"))];
    db.collection::<Trail>().insert_many(trails).await.unwrap();
    db.collection::<Cell>().delete(spot(1, "a")).await.unwrap();
    let trails = db
        .collection::<Trail>()
        .find_all()
        .sort(|t| t.id.asc())
        .await
        .unwrap();
    assert_eq!((&trails[0].start, &trails[1].start), (&None, &Some(at(1, "A"))));
    assert_eq!(trails[0].cells, [at(1, "A"), at(2, "a")]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "dog", referred_by(Collar, Visit))]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", kind = "cat", referred_by(Visit))]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pets", referred_by(Visit))]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Pet {
    Dog(Dog),
    Cat(Cat),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "herds", referred_by(Visit))]
struct Herd {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Reference)]
enum Patient {
    Pet(Ref<Pet>),
    Herd(Ref<Herd>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "collars")]
struct Collar {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = deny)]
    dog: DbRef<Dog>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    patient: Patient,
}

async fn rules_of_a_kind_are_about_its_documents(db: &Db) {
    let pets = db.collection::<Pet>();
    pets.insert_many([Pet::Dog(Dog { id: 1 }), Pet::Cat(Cat { id: 2 })])
        .await
        .unwrap();
    db.collection::<Herd>()
        .insert_many([1, 2].map(|id| Herd { id }))
        .await
        .unwrap();
    let collar = |id| Collar {
        id,
        dog: DbRef::new("pets", id),
    };
    // The second is of no dog.
    db.collection::<Collar>()
        .insert_many([1, 2].map(collar))
        .await
        .unwrap();
    let visit = |id, patient| Visit { id, patient };
    let visits = [
        visit(1, Patient::Pet(Ref::new(1))),
        visit(2, Patient::Pet(Ref::new(2))),
        visit(3, Patient::Herd(Ref::new(2))),
    ];
    db.collection::<Visit>().insert_many(visits).await.unwrap();
    let error = pets.delete(1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Referenced);
    assert_eq!(error.referring().unwrap().model, "Collar");
    pets.delete(2).await.unwrap();
    assert_eq!(ids(db, "visits").await, [1, 3]);
    db.collection::<Collar>().delete(1).await.unwrap();
    db.collection::<Dog>().delete(1).await.unwrap();
    assert_eq!(ids(db, "visits").await, [3]);
    db.collection::<Herd>().delete(2).await.unwrap();
    assert_eq!(ids(db, "visits").await, [0; 0]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "members", referred_by(Device, Group))]
struct Member {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "robots", referred_by(Device, Group))]
struct Robot {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Reference)]
enum Holder {
    Member(Ref<Member>),
    Robot(Ref<Robot>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "devices")]
struct Device {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    holder: Holder,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "groups")]
struct Group {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = pull, inverse = by_holder)]
    holders: Vec<Holder>,
}

fn member(id: i32) -> Holder {
    Holder::Member(Ref::new(id))
}

fn robot(id: i32) -> Holder {
    Holder::Robot(Ref::new(id))
}

async fn household(db: &Db) {
    let members = [1, 2].map(|id| Member { id, deleted: None });
    db.collection::<Member>().insert_many(members).await.unwrap();
    db.collection::<Robot>()
        .insert_many([1, 2].map(|id| Robot { id }))
        .await
        .unwrap();
    let holders = [member(1), robot(1), member(2)];
    let devices = holders.clone().into_iter().zip(1..).map(|(holder, id)| Device {
        id,
        holder,
        deleted: None,
    });
    db.collection::<Device>().insert_many(devices).await.unwrap();
    let group = Group {
        id: 1,
        holders: holders.into(),
    };
    db.collection::<Group>().insert(group).await.unwrap();
}

async fn soft_deletions_carry_them_out_softly(db: &Db) {
    let db = &db.with_clock(|| DateTime::from_millis(7));
    household(db).await;
    let (members, devices) = (db.collection::<Member>(), db.collection::<Device>());
    members.delete(1).await.unwrap();
    assert_eq!(ids(db, "members").await, [1, 2]);
    let device = devices.get(1).with_deleted().required().await.unwrap();
    assert_eq!(device.deleted, Some(DateTime::from_millis(7)));
    assert_eq!(devices.find_all().await.unwrap().len(), 2);
    let groups = db.collection::<Group>();
    let group = groups.get(1).required().await.unwrap();
    assert_eq!(group.holders, [robot(1), member(2)]);
    members.purge(|m| m.id.eq(1)).await.unwrap();
    assert_eq!(ids(db, "devices").await, [2, 3]);
    // What is softly deleted is not there for a rule that takes out, whatever else the list refers to.
    let again = vec![member(2), robot(2)];
    groups
        .update_one(|g| g.id.eq(1), |g| g.holders.set(again))
        .await
        .unwrap();
    db.raw_collection("members")
        .update_one(
            doc! { "_id": 2 },
            doc! { "$set": { "deleted": DateTime::from_millis(1) } },
        )
        .await
        .unwrap();
    let problems = groups.verify_relations().await.unwrap();
    assert_eq!((problems.len(), &problems[0].key), (1, &Bson::Int32(2)));
    groups.verify_relations().repair().await.unwrap();
    assert_eq!(groups.get(1).required().await.unwrap().holders, [robot(2)]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shops", referred_by(Ad))]
struct Shop {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    city: String,
}

#[derive(Clone, Debug, PartialEq, Reference)]
enum Place {
    Shop(Ref<Shop>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "ads")]
struct Ad {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    city: String,
    #[odm(on_delete = cascade)]
    place: Place,
    #[odm(on_delete = pull)]
    near: Vec<Place>,
}

async fn other_tenants_keep_what_refers(db: &Db) {
    let all = db.across_tenants();
    let shop = |id, city: &str| Shop {
        id,
        city: city.into(),
    };
    let shops = [shop(1, "oslo"), shop(2, "oslo"), shop(3, "rome")];
    all.collection::<Shop>().insert_many(shops).await.unwrap();
    let place = |id| Place::Shop(Ref::new(id));
    let ad = |id, city: &str, at| Ad {
        id,
        city: city.into(),
        place: place(at),
        near: vec![place(1), place(2)],
    };
    let ads = [
        ad(1, "oslo", 1),
        ad(2, "oslo", 2),
        ad(3, "rome", 1),
        ad(4, "rome", 3),
    ];
    all.collection::<Ad>().insert_many(&ads).await.unwrap();
    let oslo = db.for_tenant("oslo".to_owned());
    oslo.collection::<Shop>().delete(1).await.unwrap();
    let left = all.collection::<Ad>().find_all().sort(|a| a.id.asc());
    let left = left.await.unwrap();
    let expected = Ad {
        near: vec![place(2)],
        ..ads[1].clone()
    };
    assert_eq!(left, [expected, ads[2].clone(), ads[3].clone()]);
}

async fn inverses_and_rules_mean_the_same_references(db: &Db) {
    household(db).await;
    let stray = doc! { "_id": 2, "holders": [
        { "$ref": "members", "$id": 1, "$db": "elsewhere" },
        { "$ref": "robots", "$id": 1 },
    ] };
    let here = doc! { "_id": 3, "holders": [{ "$ref": "members", "$id": 1_i64, "$db": db.name() }] };
    db.raw_collection("groups")
        .insert_many([&stray, &here])
        .await
        .unwrap();
    let members = db.collection::<Member>();
    let (_, groups) = members.get(1).with(Group::by_holder()).required().await.unwrap();
    let mut referring: Vec<_> = groups.iter().map(|group| group.id).collect();
    referring.sort_unstable();
    assert_eq!(referring, [1, 3]);
    let (_, count) = members
        .get(1)
        .with(Group::by_holder().count())
        .required()
        .await
        .unwrap();
    assert_eq!(count, 2);
    let referred = members.whose(|_| Group::by_holder().some(|g| g.id.eq(2)));
    assert_eq!(referred.find_all().await.unwrap(), []);
    let refer = db
        .collection::<Group>()
        .whose(|g| g.holders.some_of::<Member, _>(|_| Filter::all()));
    let mut refer: Vec<_> = refer.find_all().await.unwrap().iter().map(|g| g.id).collect();
    refer.sort_unstable();
    assert_eq!(refer, [1, 3]);
    members.delete(1).await.unwrap();
    let stored = db.raw_collection("groups").find(doc! {});
    let stored = stored.sort_raw(doc! { "_id": 1 }).await.unwrap();
    let left: Vec<_> = stored
        .iter()
        .map(|group| group.get_array("holders").unwrap().len())
        .collect();
    assert_eq!((left, &stored[1]), (vec![2, 2, 0], &stray));
}

async fn their_index_is_over_the_keys_in_them(db: &Db) {
    let notes = db.collection::<Note>();
    notes.create_declared().await.unwrap();
    notes.sync_indexes().await.unwrap();
    let indexes = notes.list_indexes().await.unwrap();
    assert!(
        indexes.iter().any(|index| index.name == "words.$id_1"),
        "{indexes:?}"
    );
    let note = Note {
        id: 1,
        word: None,
        words: vec![term("en")],
        lines: vec![],
        version: 0,
    };
    notes.insert(note).await.unwrap();
    let key = || Bson::String("en".to_owned());
    assert_eq!(notes.count(|n| n.words.target_id().eq(key())).await.unwrap(), 1);
    assert_eq!(notes.count(|n| n.word.target_id().eq(key())).await.unwrap(), 0);
}

async fn stored_values_that_are_no_references_are_left_alone(db: &Db) {
    household(db).await;
    let odd = [
        doc! { "_id": 10, "holders": [1, Bson::Null, "members", [], { "$ref": "robots", "$id": 1 }] },
        doc! { "_id": 11, "holders": { "$ref": "members", "$id": 1 } },
        doc! { "_id": 12, "holders": [{ "$ref": "robots", "$id": 1 }, { "other": { "$id": 1 } }, 7] },
        doc! { "_id": 13 },
        doc! { "_id": 14, "holders": Bson::Null },
    ];
    db.raw_collection("groups").insert_many(&odd).await.unwrap();
    db.collection::<Member>().delete(1).await.unwrap();
    let stored = db.raw_collection("groups").find(doc! { "_id": { "$gte": 10 } });
    assert_eq!(stored.sort_raw(doc! { "_id": 1 }).await.unwrap(), odd);
    // What is a reference beside them is taken out.
    db.collection::<Robot>().delete(1).await.unwrap();
    let stored = db.raw_collection("groups").find_one(doc! { "_id": 12 });
    let left = stored.await.unwrap().unwrap();
    assert_eq!(left.get_array("holders").unwrap().len(), 2);
}

async fn models_show_what_is_declared(_db: &Db) {
    let rules: Vec<_> = Note::DESCRIPTOR
        .relations()
        .map(|relation| {
            let targets = (relation.relation.targets)();
            let targets: Vec<_> = targets.iter().map(|model| model.name).collect();
            let rule = relation.relation.on_delete.map(|rule| format!("{rule:?}"));
            (relation.stored, targets, rule)
        })
        .collect();
    let both = || vec!["Term", "Shout"];
    assert_eq!(
        rules,
        [
            ("word", both(), Some("Nullify".to_owned())),
            ("words", both(), Some("Pull".to_owned())),
            ("lines.word", both(), Some("Pull".to_owned())),
        ]
    );
}
