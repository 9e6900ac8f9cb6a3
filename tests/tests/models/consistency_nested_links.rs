//! Two-way references of which a side stands inside of embedded documents.

use std::collections::BTreeMap;

use bson::{Bson, doc};
use odm::backend::wrap::Fault;
use odm::{Collection, Db, Embedded, ErrorKind, Model, Ref, RelationProblemKind};
use serde::{Deserialize, Serialize};

use odm_tests::plain::Plain;

crate::on_every_backend! {
    links_make_and_take_elements,
    nested_references_are_linked,
    links_in_a_map_stand_under_the_id,
    both_sides_may_be_elements,
    one_sided_links_inside_are_repaired,
    a_crash_at_any_write_is_repaired,
    a_map_key_must_be_a_name,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "sailors",
    reference(visits.any().ship: Ref<Ship>, two_way = visitors.any().sailor, link = Visit::to)
)]
struct Sailor {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = crew.any().sailor)]
    ships: Vec<Ref<Ship>>,
    #[odm(two_way = bridge.captain)]
    commands: Option<Ref<Ship>>,
    #[odm(two_way = berths.any_value().sailor)]
    berth: Option<Ref<Ship>>,
    visits: Vec<Visit>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "ships",
    reference(crew.any().sailor: Ref<Sailor>, two_way = ships, link = Seat::of),
    reference(bridge.captain: Option<Ref<Sailor>>, two_way = commands),
    reference(
        berths.any_value().sailor: Ref<Sailor>,
        two_way = berth,
        link = |sailor| Berth { sailor, deck: 3 }
    ),
    reference(visitors.any().sailor: Option<Ref<Sailor>>, two_way = visits.any().ship, link = Visitor::of)
)]
struct Ship {
    #[serde(rename = "_id")]
    id: i32,
    crew: Vec<Seat>,
    bridge: Option<Bridge>,
    berths: BTreeMap<String, Berth>,
    visitors: Vec<Visitor>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Seat {
    #[serde(rename = "sailorId")]
    sailor: Ref<Sailor>,
    rank: String,
}

impl Seat {
    fn of(sailor: Ref<Sailor>) -> Seat {
        Seat {
            sailor,
            rank: "hand".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Bridge {
    captain: Option<Ref<Sailor>>,
    open: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Berth {
    sailor: Ref<Sailor>,
    deck: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Visit {
    ship: Ref<Ship>,
    days: i32,
}

impl Visit {
    fn to(ship: Ref<Ship>) -> Visit {
        Visit { ship, days: 1 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Visitor {
    sailor: Option<Ref<Sailor>>,
}

impl Visitor {
    fn of(sailor: Ref<Sailor>) -> Visitor {
        Visitor { sailor: Some(sailor) }
    }
}

fn ship(id: i32) -> Ship {
    Ship {
        id,
        crew: Vec::new(),
        bridge: Some(Bridge {
            captain: None,
            open: true,
        }),
        berths: BTreeMap::new(),
        visitors: Vec::new(),
    }
}

fn sailor(id: i32) -> Sailor {
    Sailor {
        id,
        ships: Vec::new(),
        commands: None,
        berth: None,
        visits: Vec::new(),
    }
}

async fn harbor(db: &Db) -> (Collection<Sailor>, Collection<Ship>) {
    let (sailors, ships) = (db.collection::<Sailor>(), db.collection::<Ship>());
    sailors.insert_many([1, 2].map(sailor)).await.unwrap();
    ships.insert_many([11, 12].map(ship)).await.unwrap();
    (sailors, ships)
}

async fn assert_agreed(db: &Db) {
    let problems = db.verify_relations::<Ship>().await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

async fn links_make_and_take_elements(db: &Db) {
    for base in [db.clone(), Plain::db(db)] {
        let (sailors, ships) = harbor(&base).await;
        assert!(sailors.link(1, |s| s.ships, 11).await.unwrap());
        assert!(!sailors.link(1, |s| s.ships, 11).await.unwrap());
        let crew = ships.get(11).required().await.unwrap().crew;
        assert_eq!(crew, [Seat::of(Ref::new(1))]);
        // The element is the user's: what it says is kept.
        ships
            .update_one(|s| s.id.eq(11), |s| s.crew.at(0).rank.set("cook"))
            .await
            .unwrap();
        assert!(ships.link(11, |s| s.crew.any().sailor, 2).await.unwrap());
        assert!(!ships.link(11, |s| s.crew.any().sailor, 1).await.unwrap());
        assert!(ships.link(12, |s| s.crew.any().sailor, 1).await.unwrap());
        let ranks = |ship: Ship| ship.crew.into_iter().map(|seat| seat.rank).collect::<Vec<_>>();
        assert_eq!(ranks(ships.get(11).required().await.unwrap()), ["cook", "hand"]);
        assert_eq!(
            sailors.get(1).required().await.unwrap().ships,
            [11, 12].map(Ref::new)
        );
        assert_eq!(sailors.get(2).required().await.unwrap().ships, [Ref::new(11)]);
        assert_agreed(&base).await;
        assert!(ships.unlink(11, |s| s.crew.any().sailor, 1).await.unwrap());
        assert!(!sailors.unlink(1, |s| s.ships, 11).await.unwrap());
        assert_eq!(ranks(ships.get(11).required().await.unwrap()), ["hand"]);
        assert_eq!(sailors.get(1).required().await.unwrap().ships, [Ref::new(12)]);
        assert_agreed(&base).await;
        base.drop().await.unwrap();
    }
}

async fn nested_references_are_linked(db: &Db) {
    let (sailors, ships) = harbor(db).await;
    assert!(ships.link(11, |s| s.bridge.captain, 1).await.unwrap());
    assert_eq!(
        sailors.get(1).required().await.unwrap().commands,
        Some(Ref::new(11))
    );
    let error = sailors.link(2, |s| s.commands, 11).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(sailors.reassign(2, |s| s.commands, 11).await.unwrap());
    assert_eq!(sailors.get(1).required().await.unwrap().commands, None);
    let bridge = ships.get(11).required().await.unwrap().bridge.unwrap();
    assert_eq!((bridge.captain, bridge.open), (Some(Ref::new(2)), true));
    assert!(sailors.unlink(2, |s| s.commands, 11).await.unwrap());
    let bridge = ships.get(11).required().await.unwrap().bridge.unwrap();
    assert_eq!((bridge.captain, bridge.open), (None, true));
    assert_agreed(db).await;
    // Nothing is made up for a reference to stand in.
    ships
        .update_one(|s| s.id.eq(12), |s| s.bridge.set(None))
        .await
        .unwrap();
    let before = sailors.get(1).required().await.unwrap();
    let error = sailors.link(1, |s| s.commands, 12).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::NotFound, Some("bridge.captain"))
    );
    assert_eq!(sailors.get(1).required().await.unwrap(), before);
    sailors
        .update_one(|s| s.id.eq(1), |s| s.commands.set(Ref::new(12)))
        .await
        .unwrap();
    let report = db.verify_relations::<Ship>().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (0, 1));
}

async fn links_in_a_map_stand_under_the_id(db: &Db) {
    let (sailors, ships) = harbor(db).await;
    assert!(sailors.link(1, |s| s.berth, 11).await.unwrap());
    assert!(ships.link(11, |s| s.berths.any_value().sailor, 2).await.unwrap());
    let berths = ships.get(11).required().await.unwrap().berths;
    let berth = |id: i32| {
        let sailor = Ref::new(id);
        (id.to_string(), Berth { sailor, deck: 3 })
    };
    assert_eq!(berths, BTreeMap::from([berth(1), berth(2)]));
    assert_eq!(sailors.get(2).required().await.unwrap().berth, Some(Ref::new(11)));
    // A key of the user's own is as good.
    let own = doc! { "window": { "sailor": 1, "deck": 1 } };
    let set = doc! { "$set": { "berths": own } };
    db.raw_collection("ships")
        .update_one(doc! { "_id": 11 }, set)
        .await
        .unwrap();
    assert!(!sailors.link(1, |s| s.berth, 11).await.unwrap());
    assert!(sailors.reassign(1, |s| s.berth, 12).await.unwrap());
    assert!(ships.get(11).required().await.unwrap().berths.is_empty());
    assert_eq!(
        ships.get(12).required().await.unwrap().berths,
        BTreeMap::from([berth(1)])
    );
    assert!(sailors.unlink(1, |s| s.berth, 12).await.unwrap());
    assert!(ships.get(12).required().await.unwrap().berths.is_empty());
    sailors
        .update_one(|s| s.id.eq(2), |s| s.berth.set(None))
        .await
        .unwrap();
    assert_agreed(db).await;
}

async fn both_sides_may_be_elements(db: &Db) {
    let (sailors, ships) = harbor(db).await;
    assert!(sailors.link(1, |s| s.visits.any().ship, 11).await.unwrap());
    assert!(ships.link(12, |s| s.visitors.any().sailor, 1).await.unwrap());
    assert_eq!(
        sailors.get(1).required().await.unwrap().visits,
        [11, 12].map(|id| Visit::to(Ref::new(id)))
    );
    assert_eq!(
        ships.get(11).required().await.unwrap().visitors,
        [Visitor::of(Ref::new(1))]
    );
    assert_agreed(db).await;
    assert!(ships.unlink(11, |s| s.visitors.any().sailor, 1).await.unwrap());
    assert_eq!(
        sailors.get(1).required().await.unwrap().visits,
        [Visit::to(Ref::new(12))]
    );
    assert!(ships.get(11).required().await.unwrap().visitors.is_empty());
    let error = sailors.link(7, |s| s.visits.any().ship, 11).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(ships.get(11).required().await.unwrap().visitors.is_empty());
}

async fn one_sided_links_inside_are_repaired(db: &Db) {
    let (sailors, ships) = harbor(db).await;
    let set = |collection: &'static str, id: i32, set: bson::Document| {
        let collection = db.raw_collection(collection);
        async move {
            let update = doc! { "$set": set };
            collection.update_one(doc! { "_id": id }, update).await.unwrap();
        }
    };
    // A list follows the single side; two lists are completed.
    set("sailors", 1, doc! { "ships": [11], "berth": 11, "commands": 12 }).await;
    set("sailors", 2, doc! { "visits": [{ "ship": 11, "days": 9 }] }).await;
    let berth = doc! { "a": { "sailor": 2, "deck": 1 } };
    set(
        "ships",
        12,
        doc! { "berths": berth, "crew": [{ "sailorId": 2, "rank": "mate" }] },
    )
    .await;
    let problems = db.verify_relations::<Sailor>().await.unwrap();
    assert!(
        problems
            .iter()
            .all(|problem| problem.kind == RelationProblemKind::OneSided)
    );
    let mut found: Vec<_> = problems
        .iter()
        .map(|problem| format!("{}.{}={}", problem.id, problem.field, problem.key))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "1.berth=11",
            "1.commands=12",
            "1.ships=11",
            "12.berths.*.sailor=2",
            "12.crew.sailorId=2",
            "2.visits.ship=11"
        ]
    );
    let report = db.verify_relations::<Sailor>().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (6, 0));
    assert_agreed(db).await;
    let (first, second) = (
        ships.get(11).required().await.unwrap(),
        ships.get(12).required().await.unwrap(),
    );
    assert_eq!(first.crew, [Seat::of(Ref::new(1))]);
    assert_eq!(first.berths.len(), 1);
    assert_eq!(first.visitors, [Visitor::of(Ref::new(2))]);
    assert_eq!(second.bridge.unwrap().captain, Some(Ref::new(1)));
    assert!(second.berths.is_empty());
    assert_eq!(sailors.get(2).required().await.unwrap().ships, [Ref::new(12)]);
}

async fn a_crash_at_any_write_is_repaired(db: &Db) {
    for base in [db.clone(), Plain::db(db)] {
        for step in 0..7 {
            for write in 1.. {
                let (sailors, _) = harbor(&base).await;
                sailors.link(1, |s| s.ships, 11).await.unwrap();
                sailors.link(1, |s| s.commands, 11).await.unwrap();
                sailors.link(1, |s| s.berth, 11).await.unwrap();
                sailors.link(1, |s| s.visits.any().ship, 11).await.unwrap();
                let (faulty, faults) = base.faulty();
                faults.add(Fault::nth_write(write).crash());
                let action = |db: &Db| {
                    let (sailors, ships) = (db.collection::<Sailor>(), db.collection::<Ship>());
                    match step {
                        0 => sailors.link(2, |s| s.ships, 11),
                        1 => ships.unlink(11, |s| s.crew.any().sailor, 1),
                        2 => sailors.reassign(2, |s| s.commands, 11),
                        3 => ships.reassign(12, |s| s.berths.any_value().sailor, 1),
                        4 => sailors.unlink(1, |s| s.berth, 11),
                        5 => ships.link(12, |s| s.visitors.any().sailor, 1),
                        _ => sailors.unlink(1, |s| s.visits.any().ship, 11),
                    }
                };
                let outcome = action(&faulty).await;
                base.verify_relations::<Sailor>().repair().await.unwrap();
                base.verify_relations::<Sailor>().repair().await.unwrap();
                assert_agreed(&base).await;
                // Asked again, it is done.
                action(&base).await.unwrap();
                assert_agreed(&base).await;
                let (sailors, ships) = (base.collection::<Sailor>(), base.collection::<Ship>());
                let (one, two) = (
                    sailors.get(1).required().await.unwrap(),
                    sailors.get(2).required().await.unwrap(),
                );
                let ship = ships.get(11).required().await.unwrap();
                let is_done = match step {
                    0 => two.ships == [Ref::new(11)] && ship.crew.len() == 2,
                    1 => one.ships.is_empty() && ship.crew.is_empty(),
                    2 => two.commands == Some(Ref::new(11)) && one.commands.is_none(),
                    3 => one.berth == Some(Ref::new(12)) && ship.berths.is_empty(),
                    4 => one.berth.is_none() && ship.berths.is_empty(),
                    5 => one.visits.len() == 2,
                    _ => one.visits.is_empty() && ship.visitors.is_empty(),
                };
                assert!(is_done, "step {step}, write {write}: {one:?} {two:?} {ship:?}");
                base.drop().await.unwrap();
                if outcome.is_ok() {
                    assert!(write > 2, "a link is two writes");
                    break;
                }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "ports")]
struct Port {
    #[serde(rename = "_id")]
    name: String,
    #[odm(two_way = stops.any_value().port)]
    routes: Vec<Ref<Route>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "routes",
    reference(stops.any_value().port: Ref<Port>, two_way = routes, link = |port| Stop { port })
)]
struct Route {
    #[serde(rename = "_id")]
    id: i32,
    stops: BTreeMap<String, Stop>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Stop {
    port: Ref<Port>,
}

async fn a_map_key_must_be_a_name(db: &Db) {
    let (ports, routes) = (db.collection::<Port>(), db.collection::<Route>());
    let port = |name: &str| Port {
        name: name.to_owned(),
        routes: Vec::new(),
    };
    ports.insert_many([port("Kiel"), port("St. Ives")]).await.unwrap();
    let route = Route {
        id: 1,
        stops: BTreeMap::new(),
    };
    routes.insert(&route).await.unwrap();
    assert!(ports.link("Kiel", |p| p.routes, 1).await.unwrap());
    let error = ports.link("St. Ives", |p| p.routes, 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let stored = db.raw_collection("routes").find(doc! {}).await.unwrap();
    let expected = doc! { "Kiel": { "port": "Kiel" } };
    assert_eq!(stored[0].get("stops"), Some(&Bson::Document(expected)));
}
