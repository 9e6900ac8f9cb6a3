//! References inside of embedded documents.

use std::collections::BTreeMap;

use bson::{Bson, doc};
use odm::{Db, Embedded, Model, Ref, RelationKind, RelationProblemKind, model_graph};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    nested_references_are_loaded,
    inverses_point_back_to_nested_references,
    nested_references_are_verified,
    variants_that_are_names_alone_have_no_references,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "works")]
struct Work {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "halls")]
struct Hall {
    #[serde(rename = "_id")]
    id: i32,
}

/// A work that is played, with what is played if it cannot be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Piece {
    work_played: Ref<Work>,
    encores: Vec<Ref<Work>>,
    instead: Option<Box<Piece>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Place {
    Indoors { hall: Ref<Hall> },
    Street { name: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "concerts")]
struct Concert {
    #[serde(rename = "_id")]
    id: i32,
    opening: Piece,
    rain: Option<Piece>,
    pieces: Vec<Piece>,
    rehearsals: BTreeMap<String, Piece>,
    place: Place,
}

fn piece(work: i32, encores: &[i32]) -> Piece {
    Piece {
        work_played: Ref::new(work),
        encores: encores.iter().copied().map(Ref::new).collect(),
        instead: None,
    }
}

/// Two concerts; works 1 to 3 and hall 1 are there.
async fn concerts(db: &Db) {
    db.collection::<Work>()
        .insert_many([1, 2, 3].map(|id| Work { id }))
        .await
        .unwrap();
    db.collection::<Hall>().insert(Hall { id: 1 }).await.unwrap();
    let first = Concert {
        id: 1,
        opening: piece(1, &[2]),
        rain: Some(piece(2, &[])),
        pieces: vec![piece(3, &[1, 9]), piece(8, &[])],
        rehearsals: BTreeMap::from([
            ("mon".to_owned(), piece(1, &[])),
            ("tue".to_owned(), piece(7, &[])),
        ]),
        place: Place::Indoors { hall: Ref::new(1) },
    };
    let second = Concert {
        id: 2,
        opening: piece(2, &[]),
        rain: None,
        pieces: vec![piece(3, &[])],
        rehearsals: BTreeMap::new(),
        place: Place::Indoors { hall: Ref::new(6) },
    };
    let third = Concert {
        id: 3,
        opening: piece(3, &[]),
        rain: None,
        pieces: Vec::new(),
        rehearsals: BTreeMap::new(),
        place: Place::Street {
            name: "Main Street".to_owned(),
        },
    };
    db.collection::<Concert>()
        .insert_many([first, second, third])
        .await
        .unwrap();
}

async fn nested_references_are_loaded(db: &Db) {
    concerts(db).await;
    let (db, log) = db.logged();
    let concerts = db.collection::<Concert>();
    let found = concerts
        .find_all()
        .sort(|c| c.id.asc())
        .load(|c| (c.opening.work_played, c.opening.encores))
        .load(|c| c.rain.work_played)
        .load(|c| c.pieces.every(|p| (p.work_played, p.encores)))
        .load(|c| c.rehearsals.values(|p| p.work_played))
        .load(|c| c.place.indoors.hall.clone())
        .await
        .unwrap();
    // One query for each relation.
    assert_eq!(log.round_trips(), 8);
    let id = |work: &Option<Work>| work.as_ref().map(|work| work.id);
    let (_, (opening, encores), rain, pieces, rehearsals, hall) = &found[0];
    assert_eq!((id(opening), id(rain)), (Some(1), Some(2)));
    assert_eq!(encores.iter().map(id).collect::<Vec<_>>(), [Some(2)]);
    let pieces: Vec<_> = pieces
        .iter()
        .map(|(work, encores)| (id(work), encores.iter().map(id).collect::<Vec<_>>()))
        .collect();
    assert_eq!(pieces, [(Some(3), vec![Some(1), None]), (None, vec![])]);
    assert_eq!((id(&rehearsals["mon"]), id(&rehearsals["tue"])), (Some(1), None));
    assert_eq!(hall, &Some(Hall { id: 1 }));
    assert_eq!((&found[1].2, &found[1].5, &found[2].5), (&None, &None, &None));
}

async fn inverses_point_back_to_nested_references(db: &Db) {
    concerts(db).await;
    let works = db.collection::<Work>();
    let c = <Concert as Model>::fields;
    let found = works
        .find_all()
        .sort(|w| w.id.asc())
        .with(c().opening.work_played.inverse())
        .with(c().pieces.any().work_played.inverse().sort(|c| c.id.asc()))
        .with(c().pieces.any().encores.inverse().count())
        .with(c().rain.work_played.inverse().one())
        .await
        .unwrap();
    let ids = |concerts: &[Concert]| concerts.iter().map(|concert| concert.id).collect::<Vec<_>>();
    let found: Vec<_> = found
        .iter()
        .map(|(work, opened, played, encores, rain)| {
            (
                work.id,
                ids(opened),
                ids(played),
                *encores,
                rain.as_ref().map(|concert| concert.id),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, vec![1], vec![], 1, None),
            (2, vec![2], vec![], 0, Some(1)),
            (3, vec![3], vec![1, 2], 0, None)
        ]
    );
    let halls = db.collection::<Hall>();
    let found = halls
        .find_all()
        .with(c().place.indoors.hall.inverse())
        .await
        .unwrap();
    assert_eq!(ids(&found[0].1), [1]);
}

#[test]
fn nested_references_are_part_of_the_graph() {
    let graph = model_graph::<Concert>();
    let graph: Vec<_> = graph
        .iter()
        .map(|relation| {
            let target = (relation.relation.targets)()[0].name;
            (relation.stored, relation.relation.kind, target)
        })
        .collect();
    assert_eq!(
        graph,
        [
            ("opening.workPlayed", RelationKind::One, "Work"),
            ("opening.encores", RelationKind::Many, "Work"),
            ("rain.workPlayed", RelationKind::One, "Work"),
            ("rain.encores", RelationKind::Many, "Work"),
            ("pieces.workPlayed", RelationKind::Many, "Work"),
            ("pieces.encores", RelationKind::Many, "Work"),
            ("rehearsals.*.workPlayed", RelationKind::Map, "Work"),
            ("rehearsals.*.encores", RelationKind::Map, "Work"),
            ("place.hall", RelationKind::One, "Hall"),
        ]
    );
    let diagram = odm::Models::new()
        .with::<Concert>()
        .with::<Work>()
        .with::<Hall>()
        .mermaid();
    assert!(
        diagram.contains("Concert }o--o{ Work : \"pieces.encores\""),
        "{diagram}"
    );
}

async fn nested_references_are_verified(db: &Db) {
    concerts(db).await;
    let problems = db.collection::<Concert>().verify_relations().await.unwrap();
    let mut found: Vec<_> = problems
        .iter()
        .map(|problem| {
            assert_eq!(problem.kind, RelationProblemKind::Dangling);
            (
                problem.field,
                problem.id.as_i32().unwrap(),
                problem.key.as_i32().unwrap(),
            )
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            ("pieces.encores", 1, 9),
            ("pieces.workPlayed", 1, 8),
            ("place.hall", 2, 6),
            ("rehearsals.*.workPlayed", 1, 7),
        ]
    );
    // Nothing is declared that would repair them.
    let report = db
        .collection::<Concert>()
        .verify_relations()
        .repair()
        .await
        .unwrap();
    assert_eq!((report.repaired, report.left), (0, 4));
    // A stored shape that is another is passed over.
    db.raw_collection("concerts")
        .update_one(
            doc! { "_id": 2 },
            doc! { "$set": { "place": Bson::Null, "pieces": 5 } },
        )
        .await
        .unwrap();
    assert_eq!(
        db.collection::<Concert>().verify_relations().await.unwrap().len(),
        3
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum Block {
    Played { work: Ref<Work> },
    Divider,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "programmes")]
struct Programme {
    #[serde(rename = "_id")]
    id: i32,
    blocks: Vec<Block>,
    named: BTreeMap<String, Block>,
}

async fn variants_that_are_names_alone_have_no_references(db: &Db) {
    db.collection::<Work>().insert(Work { id: 1 }).await.unwrap();
    let played = || Block::Played { work: Ref::new(1) };
    db.collection::<Programme>()
        .insert(Programme {
            id: 1,
            blocks: vec![played(), Block::Divider, played()],
            named: BTreeMap::from([("a".to_owned(), Block::Divider), ("b".to_owned(), played())]),
        })
        .await
        .unwrap();
    let found = db
        .collection::<Programme>()
        .find_all()
        .load(|p| p.blocks.every(|b| b.played.work.clone()))
        .load(|p| p.named.values(|b| b.played.work.clone()))
        .await
        .unwrap();
    let work = Some(Work { id: 1 });
    let (_, blocks, named) = &found[0];
    assert_eq!(*blocks, [work.clone(), None, work.clone()]);
    assert_eq!((&named["a"], &named["b"]), (&None, &work));
}
