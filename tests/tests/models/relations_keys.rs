//! When a reference and a document's key are the same: loads, counts, limits, joins, checks and deletions agree.

use std::collections::BTreeMap;

use bson::doc;
use odm::{CollectionDeclaration, Db, DbRef, ErrorKind, Model, Ref, Reference};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    nothing_refers_to_a_document_without_a_key,
    a_deletion_of_a_document_without_a_key_deletes_nothing_else,
    references_compare_by_their_bytes_under_any_collation,
    a_deletion_meets_what_refers_by_its_bytes,
    a_repair_meets_what_refers_by_its_bytes,
    several_references_in_one_document_name_their_collections,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(referred_by(Copy, Loan))]
struct Edition {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(key = EditionIsbn, index(unique, sparse))]
    #[serde(skip_serializing_if = "Option::is_none")]
    isbn: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Copy {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, inverse = of_edition, on_delete = cascade)]
    isbn: Option<Ref<Edition, EditionIsbn>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Loan {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, on_delete = deny)]
    isbn: Option<Ref<Edition, EditionIsbn>>,
}

async fn editions(db: &Db) {
    let (editions, copies) = (db.collection::<Edition>(), db.collection::<Copy>());
    let stored = [
        doc! { "_id": 1, "isbn": null },
        doc! { "_id": 2, "isbn": "x" },
        doc! { "_id": 3 },
    ];
    editions.raw().insert_many(stored).await.unwrap();
    let copies_of = [(1, None), (2, None), (3, Some("x")), (4, Some("x"))];
    let all = copies_of.map(|(id, isbn)| doc! { "_id": id, "isbn": isbn });
    copies.raw().insert_many(all).await.unwrap();
    db.collection::<Loan>()
        .insert(Loan { id: 1, isbn: None })
        .await
        .unwrap();
}

async fn nothing_refers_to_a_document_without_a_key(db: &Db) {
    editions(db).await;
    let editions = || db.collection::<Edition>().find_all().sort(|e| e.id.asc());
    let found = editions()
        .with(Copy::of_edition())
        .with(Copy::of_edition().count())
        .with(Copy::of_edition().limit(5))
        .with(Copy::of_edition().first())
        .await
        .unwrap();
    let counts: Vec<_> = found
        .iter()
        .map(|(_, all, count, some, first)| (all.len(), *count, some.len(), first.is_some()))
        .collect();
    assert_eq!(counts, [(0, 0, 0, false), (2, 2, 2, true), (0, 0, 0, false)]);
    // Of one parent, and joined.
    for (id, expected) in [(1, 0), (2, 2), (3, 0)] {
        let one = db.collection::<Edition>().get(id);
        let one = one
            .with(Copy::of_edition().limit(5))
            .with(Copy::of_edition().count())
            .required()
            .await
            .unwrap();
        assert_eq!((one.1.len(), one.2), (expected as usize, expected));
    }
    let joined = editions()
        .join_with(Copy::of_edition().limit(5))
        .join_with(Copy::of_edition())
        .await
        .unwrap();
    let counts: Vec<_> = joined
        .iter()
        .map(|(_, some, all)| (some.len(), all.len()))
        .collect();
    assert_eq!(counts, [(0, 0), (2, 2), (0, 0)]);
}

async fn a_deletion_of_a_document_without_a_key_deletes_nothing_else(db: &Db) {
    editions(db).await;
    let (editions, copies) = (db.collection::<Edition>(), db.collection::<Copy>());
    assert_eq!(editions.delete(1).await.unwrap().deleted, 1);
    assert_eq!(editions.delete(3).await.unwrap().deleted, 1);
    assert_eq!(copies.count(|_| odm::Filter::all()).await.unwrap(), 4);
    editions.delete(2).await.unwrap();
    assert_eq!(copies.count(|_| odm::Filter::all()).await.unwrap(), 2);
}

fn caseless() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! { "locale": "en", "strength": 2 })
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(referred_by(Land, Region, School))]
struct Language {
    #[serde(rename = "_id")]
    id: String,
}

/// As languages, in a collection that compares as those do that refer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(options = caseless)]
struct Dialect {
    #[serde(rename = "_id")]
    id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(options = caseless)]
struct Land {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(index, inverse = spoken, on_delete = cascade)]
    language: Ref<Language>,
    #[odm(index, inverse = in_dialect)]
    dialect: Ref<Dialect>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(options = caseless)]
struct Region {
    #[serde(rename = "_id")]
    id: String,
    #[odm(index, inverse = in_region, on_delete = pull)]
    languages: Vec<Ref<Language>>,
    #[odm(index, on_delete = nullify)]
    first: Option<Ref<Language>>,
    #[odm(inverse = by_year)]
    years: BTreeMap<String, Ref<Language>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(options = caseless)]
struct School {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index, on_delete = deny)]
    taught: Option<Ref<Language>>,
}

fn language(id: &str) -> Ref<Language> {
    Ref::new(id.to_owned())
}

async fn lands(db: &Db) {
    for model in [
        db.collection::<Land>().create_declared().await,
        db.collection::<Dialect>().create_declared().await,
    ] {
        model.unwrap();
    }
    db.collection::<Region>().create_declared().await.unwrap();
    db.collection::<School>().create_declared().await.unwrap();
    db.collection::<Land>().create_indexes().await.unwrap();
    let languages = ["EN", "en", "fr"].map(|id| Language { id: id.into() });
    db.collection::<Language>().insert_many(languages).await.unwrap();
    let dialects = ["EN", "fr"].map(|id| Dialect { id: id.into() });
    db.collection::<Dialect>().insert_many(dialects).await.unwrap();
    let lands = [
        (1, "b", "en"),
        (2, "A", "EN"),
        (3, "a", "EN"),
        (4, "B", "EN"),
        (5, "c", "FR"),
    ];
    let lands = lands.map(|(id, name, to)| Land {
        id,
        name: name.into(),
        language: language(to),
        dialect: Ref::new(to.to_owned()),
    });
    db.collection::<Land>().insert_many(lands).await.unwrap();
    let regions = [("one", vec!["en", "EN"], "en"), ("two", vec!["en"], "EN")];
    let regions = regions.map(|(id, languages, first)| Region {
        id: id.into(),
        years: languages
            .iter()
            .map(|to| (format!("y{to}"), language(to)))
            .collect(),
        languages: languages.into_iter().map(language).collect(),
        first: Some(language(first)),
    });
    db.collection::<Region>().insert_many(regions).await.unwrap();
    let school = School {
        id: 1,
        taught: Some(language("en")),
    };
    db.collection::<School>().insert(school).await.unwrap();
}

async fn references_compare_by_their_bytes_under_any_collation(db: &Db) {
    lands(db).await;
    let ids = |lands: &[Land]| -> Vec<i32> { lands.iter().map(|land| land.id).collect() };
    macro_rules! agree {
        ($parents:ty, $inverse:ident, $expected:expr) => {
            let parents = || db.collection::<$parents>().find_all().sort(|p| p.id.asc());
            let all = || Land::$inverse().sort(|l| l.id.asc());
            let loaded = parents()
                .with(all())
                .with(all().count())
                .with(all().limit(9))
                .with(all().skip(1).limit(1))
                .await
                .unwrap();
            let expected: Vec<(&str, Vec<i32>)> = $expected;
            for ((parent, loaded, count, some, second), (id, lands)) in loaded.iter().zip(&expected) {
                assert_eq!(parent.id, *id);
                assert_eq!(
                    (ids(loaded), ids(some), *count),
                    (lands.clone(), lands.clone(), lands.len() as u64),
                    "{id}"
                );
                assert_eq!(
                    ids(second),
                    lands.iter().copied().skip(1).take(1).collect::<Vec<_>>(),
                    "{id}"
                );
                // Of one parent.
                let one = db.collection::<$parents>().get(id.to_string());
                let one = one
                    .with(all().limit(1))
                    .with(all().count())
                    .required()
                    .await
                    .unwrap();
                assert_eq!(
                    (ids(&one.1), one.2),
                    (lands.iter().copied().take(1).collect(), lands.len() as u64),
                    "{id}"
                );
            }
            assert_eq!(loaded.len(), expected.len());
            // A filter of what refers compares by its collation, as a find of it does.
            let named = parents()
                .with(all().filter(|l| l.name.eq("A")).count())
                .await
                .unwrap();
            assert_eq!(named[0].1, 2);
            // A join by the same collation.
            let caseless = doc! { "locale": "en", "strength": 2 };
            let joined = parents()
                .collation(caseless)
                .join_with(all())
                .join_with(all().limit(2))
                .await
                .unwrap();
            for ((parent, joined, some), (id, lands)) in joined.iter().zip(
                parents()
                    .collation(doc! { "locale": "en", "strength": 2 })
                    .await
                    .unwrap()
                    .iter()
                    .map(|parent| {
                        (
                            parent.id.clone(),
                            expected
                                .iter()
                                .find(|(id, _)| *id == parent.id)
                                .unwrap()
                                .1
                                .clone(),
                        )
                    }),
            ) {
                assert_eq!(parent.id, id);
                assert_eq!(
                    (ids(joined), ids(some)),
                    (lands.clone(), lands.into_iter().take(2).collect()),
                    "{id}"
                );
            }
            let joined = parents().join_with(Land::$inverse()).await.unwrap();
            assert!(joined.iter().all(|(parent, lands)| {
                lands.len()
                    == expected
                        .iter()
                        .find(|(id, _)| *id == parent.id)
                        .unwrap()
                        .1
                        .len()
            }));
        };
    }
    agree!(
        Language,
        spoken,
        vec![("EN", vec![2, 3, 4]), ("en", vec![1]), ("fr", vec![])]
    );
    agree!(Dialect, in_dialect, vec![("EN", vec![2, 3, 4]), ("fr", vec![])]);
    let regions = db.collection::<Language>().find_all().sort(|l| l.id.asc());
    let regions = regions
        .with(Region::in_region())
        .with(Region::in_region().count())
        .with(Region::in_region().limit(9))
        .with(Region::by_year().count())
        .with(Region::fields().years.inverse().limit(1))
        .await
        .unwrap();
    let counts: Vec<_> = regions
        .iter()
        .map(|(_, all, count, some, years, one)| (all.len(), *count, some.len(), *years, one.len()))
        .collect();
    assert_eq!(counts, [(1, 1, 1, 1, 1), (2, 2, 2, 2, 1), (0, 0, 0, 0, 0)]);
    // Forward.
    let lands = || db.collection::<Land>().find_all().sort(|l| l.id.asc());
    let loaded = lands().load(|l| l.dialect).load(|l| l.language).await.unwrap();
    assert_eq!(
        lands().join(|l| l.dialect).join(|l| l.language).await.unwrap(),
        loaded
    );
    let there: Vec<_> = loaded
        .iter()
        .map(|(_, dialect, language)| (dialect.is_some(), language.is_some()))
        .collect();
    assert_eq!(
        there,
        [
            (false, true),
            (true, true),
            (true, true),
            (true, true),
            (false, false)
        ]
    );
    let problems = db.collection::<Land>().verify_relations().await.unwrap();
    assert_eq!(problems.len(), 3, "{problems:?}");
}

async fn a_deletion_meets_what_refers_by_its_bytes(db: &Db) {
    lands(db).await;
    let languages = db.collection::<Language>();
    // The school denies the deletion of the other one alone.
    assert_eq!(
        languages.delete("en").await.unwrap_err().kind(),
        ErrorKind::Referenced
    );
    languages.delete("EN").await.unwrap();
    let lands = db
        .collection::<Land>()
        .find_all()
        .sort(|l| l.id.asc())
        .await
        .unwrap();
    assert_eq!(lands.iter().map(|land| land.id).collect::<Vec<_>>(), [1, 5]);
    let regions = db
        .collection::<Region>()
        .find_all()
        .sort(|r| r.id.asc())
        .await
        .unwrap();
    let held: Vec<_> = regions
        .iter()
        .map(|region| (region.languages.clone(), region.first.clone(), region.years.len()))
        .collect();
    assert_eq!(
        held,
        [
            (vec![language("en")], Some(language("en")), 2),
            (vec![language("en")], None, 1),
        ]
    );
}

async fn a_repair_meets_what_refers_by_its_bytes(db: &Db) {
    lands(db).await;
    db.collection::<Language>().raw().delete("EN").await.unwrap();
    let regions = db.collection::<Region>();
    assert_eq!(regions.verify_relations().await.unwrap().len(), 3);
    regions.verify_relations().repair().await.unwrap();
    let left = regions.verify_relations().await.unwrap();
    assert_eq!(
        left.iter().map(|problem| problem.field).collect::<Vec<_>>(),
        ["years"]
    );
    let held = regions.find_all().sort(|r| r.id.asc()).await.unwrap();
    assert_eq!(held[0].languages, [language("en")]);
    assert_eq!(held[1].languages, [language("en")]);
    db.collection::<Land>().verify_relations().repair().await.unwrap();
    let lands = db.collection::<Land>().find_all().await.unwrap();
    assert_eq!(lands.iter().map(|land| land.id).collect::<Vec<_>>(), [1]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Company {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Debug, Clone, PartialEq, Reference)]
enum Owner {
    Person(Ref<Person>),
    Company(Ref<Company>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
struct Ship {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = owned_by)]
    owners: Vec<Owner>,
    #[odm(inverse = seen_by)]
    seen: Vec<DbRef<Person>>,
}

async fn several_references_in_one_document_name_their_collections(db: &Db) {
    let people = db.collection::<Person>();
    people.insert_many((5..8).map(|id| Person { id })).await.unwrap();
    db.collection::<Company>()
        .insert_many((5..8).map(|id| Company { id }))
        .await
        .unwrap();
    let person = |id| Owner::Person(Ref::new(id));
    let company = |id| Owner::Company(Ref::new(id));
    let owners = [
        vec![person(5), company(7)],
        vec![person(7)],
        vec![person(6), person(6), company(6)],
        vec![person(7)],
    ];
    for (id, owners) in (1..).zip(owners) {
        db.collection::<Ship>()
            .insert(Ship {
                id,
                owners,
                seen: Vec::new(),
            })
            .await
            .unwrap();
    }
    let all = || Ship::owned_by().sort(|s| s.id.asc());
    let people = || people.find_all().sort(|p| p.id.asc());
    let found = people()
        .with(all())
        .with(all().count())
        .with(all().limit(1))
        .await
        .unwrap();
    let ids = |ships: &[Ship]| -> Vec<i32> { ships.iter().map(|ship| ship.id).collect() };
    let held: Vec<_> = found
        .iter()
        .map(|(_, all, count, first)| (ids(all), *count, ids(first)))
        .collect();
    assert_eq!(
        held,
        [
            (vec![1], 1, vec![1]),
            (vec![3], 1, vec![3]),
            (vec![2, 4], 2, vec![2])
        ]
    );
    let one = db
        .collection::<Person>()
        .get(7)
        .with(all().first())
        .required()
        .await
        .unwrap();
    assert_eq!(one.1.map(|ship| ship.id), Some(2));
    let joined = people().join_with(all().limit(1)).await.unwrap();
    let joined: Vec<_> = joined.iter().map(|(_, ships)| ids(ships)).collect();
    assert_eq!(joined, [vec![1], vec![3], vec![2]]);
}
