//! Conditions on related documents, compared with a model in memory on random documents.

use std::collections::BTreeMap;

use bson::{DateTime, doc};
use odm::{Collection, Db, DbRef, Embedded, Filter, Model, Ref, Reference, RelatedFilter};
use odm_tests::random::Random;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    what_documents_refer_to,
    what_refers_to_documents,
    conditions_combine_and_nest,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "lands")]
struct Land {
    #[serde(rename = "_id")]
    code: String,
    rich: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "houses")]
struct House {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(key = HouseCode, index(unique, partial = |h| h.deleted.is_none()))]
    code: String,
    city: i32,
    land: Option<Ref<Land>>,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "persons")]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    city: i32,
}

#[derive(Clone, Debug, PartialEq, Reference)]
enum Owner {
    Person(Ref<Person>),
    House(Ref<House>),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    house: Option<Ref<House>>,
    codes: Vec<Ref<House, HouseCode>>,
    owners: Vec<Owner>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "volumes", reference(lines.any().house: Option<Ref<House>>, inverse = by_line))]
struct Volume {
    #[serde(rename = "_id")]
    id: i32,
    year: i32,
    #[odm(inverse = by_house)]
    house: Option<Ref<House>>,
    #[odm(inverse = by_code)]
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Ref<House, HouseCode>>,
    #[odm(inverse = by_partner)]
    partners: Vec<Ref<House>>,
    rows: Vec<Vec<Ref<House>>>,
    #[odm(inverse = by_shelf)]
    shelves: BTreeMap<String, Ref<House>>,
    lists: BTreeMap<String, Vec<Ref<House>>>,
    line: Option<Line>,
    lines: Vec<Line>,
    rooms: BTreeMap<String, Line>,
    #[odm(inverse = by_owner)]
    owner: Option<Owner>,
    #[odm(inverse = by_owners)]
    owners: Vec<Owner>,
    keyed: BTreeMap<String, Owner>,
    #[odm(inverse = by_photo)]
    photo: Option<DbRef<House>>,
    any: Option<DbRef>,
}

struct World {
    lands: Vec<Land>,
    houses: Vec<House>,
    persons: Vec<Person>,
    volumes: Vec<Volume>,
}

fn some_of<T>(random: &mut Random, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
    (0..random.below(3)).map(|_| make(random)).collect()
}

fn maybe<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    match random.one_in(4) {
        true => None,
        false => Some(make(random)),
    }
}

/// Of eight keys six are there.
fn house(random: &mut Random) -> Ref<House> {
    Ref::new(random.below(8) as i32)
}

fn code(random: &mut Random) -> Ref<House, HouseCode> {
    Ref::keyed(format!("c{}", random.below(6)))
}

fn owner(random: &mut Random) -> Owner {
    match random.one_in(2) {
        true => Owner::Person(Ref::new(random.below(8) as i32)),
        false => Owner::House(house(random)),
    }
}

fn keyed<T>(values: Vec<T>) -> BTreeMap<String, T> {
    let keyed = values.into_iter().enumerate();
    keyed.map(|(at, value)| (format!("k{at}"), value)).collect()
}

fn line(random: &mut Random) -> Line {
    Line {
        house: maybe(random, house),
        codes: some_of(random, code),
        owners: some_of(random, owner),
    }
}

fn photo(random: &mut Random, database: &str) -> DbRef<House> {
    let collection = *random.pick(&["houses", "houses", "old_houses"]);
    let reference = DbRef::new(collection, random.below(8) as i32);
    match random.below(4) {
        0 => reference.in_database("elsewhere"),
        1 => reference.in_database(database),
        _ => reference,
    }
}

async fn world(db: &Db, seed: u64) -> World {
    let random = &mut Random::new(seed);
    let lands: Vec<Land> = (0..3)
        .map(|code| Land {
            code: format!("l{code}"),
            rich: random.one_in(2),
        })
        .collect();
    let houses: Vec<House> = (0..6)
        .map(|id| House {
            id,
            // The last two are deleted: one has a key of its own, one that of another.
            code: format!("c{}", id % 5),
            city: random.below(3) as i32,
            land: maybe(random, |random| Ref::new(format!("l{}", random.below(4)))),
            deleted: (id > 3).then(DateTime::now),
        })
        .collect();
    let persons: Vec<Person> = (0..6)
        .map(|id| Person {
            id,
            city: random.below(3) as i32,
        })
        .collect();
    let volumes: Vec<Volume> = (0..40)
        .map(|id| Volume {
            id,
            year: 1990 + random.below(20) as i32,
            house: maybe(random, house),
            code: maybe(random, code),
            partners: some_of(random, house),
            rows: some_of(random, |random| some_of(random, house)),
            shelves: keyed(some_of(random, house)),
            lists: keyed(some_of(random, |random| some_of(random, house))),
            line: maybe(random, line),
            lines: some_of(random, line),
            rooms: keyed(some_of(random, line)),
            owner: maybe(random, owner),
            owners: some_of(random, owner),
            keyed: keyed(some_of(random, owner)),
            photo: maybe(random, |random| photo(random, db.name())),
            any: maybe(random, |random| {
                DbRef::new(
                    *random.pick(&["houses", "persons"]),
                    (random.below(8) as i32).into(),
                )
            }),
        })
        .collect();
    db.raw_collection("volumes").drop().await.unwrap();
    db.raw_collection("houses").drop().await.unwrap();
    db.raw_collection("persons").drop().await.unwrap();
    db.raw_collection("lands").drop().await.unwrap();
    db.collection::<Land>().insert_many(&lands).await.unwrap();
    db.collection::<House>().insert_many(&houses).await.unwrap();
    db.collection::<Person>().insert_many(&persons).await.unwrap();
    db.collection::<Volume>().insert_many(&volumes).await.unwrap();
    World {
        lands,
        houses,
        persons,
        volumes,
    }
}

async fn found<M: Model<Key = i32>>(collection: &Collection<M>, condition: RelatedFilter<M>) -> Vec<i32> {
    let filter = collection.whose(|_| condition.clone()).await.unwrap();
    let mut found: Vec<i32> = collection
        .find(|_| filter)
        .await
        .unwrap()
        .iter()
        .map(|document| *document.key())
        .collect();
    found.sort_unstable();
    let mut direct: Vec<i32> = collection
        .whose(|_| condition)
        .find_all()
        .await
        .unwrap()
        .iter()
        .map(|document| *document.key())
        .collect();
    direct.sort_unstable();
    assert_eq!(direct, found);
    found
}

impl World {
    fn house(&self, key: &Ref<House>) -> Option<&House> {
        let found = self.houses.iter().find(|house| key.is(house));
        found.filter(|house| house.deleted.is_none())
    }

    fn by_code(&self, key: &Ref<House, HouseCode>) -> Option<&House> {
        let mut living = self.houses.iter().filter(|house| house.deleted.is_none());
        living.find(|house| key.is(house))
    }

    fn owned(&self, owner: &Owner) -> Option<&House> {
        match owner {
            Owner::House(house) => self.house(house),
            Owner::Person(_) => None,
        }
    }

    fn ids(&self, is: impl Fn(&Volume) -> bool) -> Vec<i32> {
        let meeting = self.volumes.iter().filter(|volume| is(volume));
        meeting.map(|volume| volume.id).collect()
    }
}

/// Checks `some`, `none` and `all` of a field against the houses that it refers to.
macro_rules! quantifiers {
    ($db:expr, $world:expr, $city:expr, $(|$fields:ident| $field:expr => |$volume:ident| $houses:expr;)*) => {$({
        let volumes = $db.collection::<Volume>();
        let $fields = Volume::fields();
        let field = &$field;
        let met = |house: &House| house.city == $city;
        let expected = |is: &dyn Fn(&[&House]) -> bool| {
            $world.ids(|$volume| {
                let houses: Vec<&House> = $houses.into_iter().flatten().collect();
                is(&houses)
            })
        };
        let what = stringify!($field);
        assert_eq!(
            found(&volumes, field.some(|h| h.city.eq($city))).await,
            expected(&|houses| houses.iter().any(|house| met(house))),
            "some of {what}"
        );
        assert_eq!(
            found(&volumes, field.none(|h| h.city.eq($city))).await,
            expected(&|houses| !houses.iter().any(|house| met(house))),
            "none of {what}"
        );
        assert_eq!(
            found(&volumes, field.all(|h| h.city.eq($city))).await,
            expected(&|houses| houses.iter().all(|house| met(house))),
            "all of {what}"
        );
        assert_eq!(
            found(&volumes, field.none(|_| Filter::all())).await,
            expected(&|houses| houses.is_empty()),
            "without any of {what}"
        );
    })*};
}

async fn what_documents_refer_to(db: &Db) {
    for seed in 0..3 {
        let world = &world(db, seed).await;
        let owned = |owner: &Owner| world.owned(owner);
        quantifiers! { db, world, 1,
            |v| v.house => |volume| [volume.house.as_ref().and_then(|key| world.house(key))];
            |v| v.code => |volume| [volume.code.as_ref().and_then(|key| world.by_code(key))];
            |v| v.partners => |volume| volume.partners.iter().map(|key| world.house(key));
            |v| v.rows => |volume| volume.rows.iter().flatten().map(|key| world.house(key));
            |v| v.shelves => |volume| volume.shelves.values().map(|key| world.house(key));
            |v| v.shelves.key("k0") => |volume| volume.shelves.get("k0").map(|key| world.house(key));
            |v| v.lists => |volume| volume.lists.values().flatten().map(|key| world.house(key));
            |v| v.line.house => |volume| [volume.line.as_ref().and_then(|line| world.house(line.house.as_ref()?))];
            |v| v.line.codes => |volume| volume.line.iter().flat_map(|line| &line.codes).map(|key| world.by_code(key));
            |v| v.lines.any().house => |volume| volume.lines.iter().map(|line| world.house(line.house.as_ref()?));
            |v| v.lines.at(1).house => |volume| [volume.lines.get(1).and_then(|line| world.house(line.house.as_ref()?))];
            |v| v.lines.any().codes => |volume| volume.lines.iter().flat_map(|line| &line.codes).map(|key| world.by_code(key));
            |v| v.rooms.any_value().house => |volume| volume.rooms.values().map(|line| world.house(line.house.as_ref()?));
            |v| v.rooms.any_value().codes => |volume| volume.rooms.values().flat_map(|line| &line.codes).map(|key| world.by_code(key));
            |v| v.photo => |volume| volume.photo.iter().map(|photo| {
                let here = photo.collection() == "houses" && photo.database().is_none_or(|name| name == db.name());
                world.house(&Ref::new(*photo.id())).filter(|_| here)
            });
        }
        let volumes = db.collection::<Volume>();
        let is_met = |house: &House| house.city == 1;
        let v = Volume::fields;
        let by = |of: &dyn Fn(&Volume) -> Vec<Owner>| {
            world.ids(|volume| of(volume).iter().filter_map(owned).any(is_met))
        };
        macro_rules! of_houses {
            ($field:expr) => {
                found(&volumes, $field.some_of::<House, _>(|h| h.city.eq(1))).await
            };
        }
        assert_eq!(
            of_houses!(v().owner),
            by(&|volume| volume.owner.iter().cloned().collect())
        );
        assert_eq!(of_houses!(v().owners), by(&|volume| volume.owners.clone()));
        assert_eq!(
            of_houses!(v().keyed),
            by(&|volume| volume.keyed.values().cloned().collect())
        );
        assert_eq!(
            of_houses!(v().lines.any().owners),
            by(&|volume| volume.lines.iter().flat_map(|line| line.owners.clone()).collect())
        );
        assert_eq!(
            of_houses!(v().rooms.any_value().owners),
            by(&|volume| volume
                .rooms
                .values()
                .flat_map(|line| line.owners.clone())
                .collect())
        );
        assert_eq!(
            of_houses!(v().any),
            world.ids(|volume| {
                let any = volume.any.as_ref().filter(|any| any.collection() == "houses");
                let house = any.and_then(|any| world.house(&Ref::new(any.id().as_i32().unwrap())));
                house.is_some_and(is_met)
            })
        );
        let persons = found(&volumes, !v().owners.some_of::<Person, _>(|p| p.city.eq(1))).await;
        let of_city = |id: i32| {
            world
                .persons
                .iter()
                .any(|person| person.id == id && person.city == 1)
        };
        assert_eq!(
            persons,
            world.ids(|volume| !volume.owners.iter().any(|owner| match owner {
                Owner::Person(person) => of_city(*person.key()),
                Owner::House(_) => false,
            }))
        );
        // With what is deleted: of several with one key the living one.
        let all = found(&volumes, v().house.with_deleted().some(|h| h.city.eq(1))).await;
        let any_house = |key: &Ref<House>| world.houses.iter().find(|house| key.is(house));
        assert_eq!(
            all,
            world.ids(|volume| volume.house.as_ref().and_then(any_house).is_some_and(is_met))
        );
        let all = found(&volumes, v().code.with_deleted().some(|h| h.city.eq(1))).await;
        let first = |key: &Ref<House, HouseCode>| {
            let with = || world.houses.iter().filter(|house| key.is(house));
            let living = with().find(|house| house.deleted.is_none());
            living.or_else(|| with().next())
        };
        assert_eq!(
            all,
            world.ids(|volume| volume.code.as_ref().and_then(first).is_some_and(is_met))
        );
    }
}

async fn what_refers_to_documents(db: &Db) {
    for seed in 10..13 {
        let world = &world(db, seed).await;
        let houses = db.collection::<House>();
        let is_met = |volume: &Volume| volume.year > 2000;
        let living = || world.houses.iter().filter(|house| house.deleted.is_none());
        macro_rules! inverses {
            ($($inverse:expr => |$volume:ident, $house:ident| $refers:expr;)*) => {$({
                let expected = |is: &dyn Fn(&[&Volume]) -> bool| -> Vec<i32> {
                    let meeting = living().filter(|$house| {
                        let refers = |$volume: &&Volume| $refers;
                        let volumes: Vec<&Volume> = world.volumes.iter().filter(refers).collect();
                        is(&volumes)
                    });
                    meeting.map(|house| house.id).collect()
                };
                let what = stringify!($inverse);
                assert_eq!(
                    found(&houses, $inverse.some(|v| v.year.gt(2000))).await,
                    expected(&|volumes| volumes.iter().any(|volume| is_met(volume))),
                    "some of {what}"
                );
                assert_eq!(
                    found(&houses, $inverse.none(|v| v.year.gt(2000))).await,
                    expected(&|volumes| !volumes.iter().any(|volume| is_met(volume))),
                    "none of {what}"
                );
                assert_eq!(
                    found(&houses, $inverse.all(|v| v.year.gt(2000))).await,
                    expected(&|volumes| volumes.iter().all(|volume| is_met(volume))),
                    "all of {what}"
                );
                assert_eq!(
                    found(&houses, $inverse.filter(|v| v.id.lt(20)).some(|v| v.year.gt(2000))).await,
                    expected(&|volumes| volumes.iter().any(|volume| is_met(volume) && volume.id < 20)),
                    "some with a filter of {what}"
                );
            })*};
        }
        inverses! {
            Volume::by_house() => |volume, house| volume.house.as_ref().is_some_and(|key| key.is(house));
            Volume::by_code() => |volume, house| volume.code.as_ref().is_some_and(|key| key.is(house));
            Volume::by_partner() => |volume, house| volume.partners.iter().any(|key| key.is(house));
            Volume::by_shelf() => |volume, house| volume.shelves.values().any(|key| key.is(house));
            Volume::by_line() => |volume, house| volume.lines.iter().any(|line| line.house.is_some_and(|key| key.is(house)));
            Volume::by_photo() => |volume, house| volume.photo.as_ref().is_some_and(|photo| {
                let here = photo.collection() == "houses" && photo.database().is_none_or(|name| name == db.name());
                here && *photo.id() == house.id
            });
        }
        macro_rules! owned {
            ($inverse:expr, |$volume:ident| $owners:expr) => {{
                let some = found(&houses, $inverse.some(|v| v.year.gt(2000))).await;
                let owned = living().filter(|house| {
                    let mut met = world.volumes.iter().filter(|volume| is_met(volume));
                    met.any(|$volume| {
                        $owners
                            .into_iter()
                            .any(|owner| *owner == Owner::House(Ref::to(house)))
                    })
                });
                assert_eq!(some, owned.map(|house| house.id).collect::<Vec<i32>>());
            }};
        }
        owned!(Volume::fields().owner.inverse::<House>(), |volume| &volume.owner);
        owned!(Volume::fields().owners.inverse::<House>(), |volume| &volume
            .owners);
        let rows = Volume::fields().rows.inverse::<House>();
        let in_rows = found(&houses, rows.some(|v| v.year.gt(2000))).await;
        let expected = living().filter(|house| {
            let mut met = world.volumes.iter().filter(|volume| is_met(volume));
            met.any(|volume| volume.rows.iter().flatten().any(|key| key.is(house)))
        });
        assert_eq!(in_rows, expected.map(|house| house.id).collect::<Vec<i32>>());
    }
}

async fn conditions_combine_and_nest(db: &Db) {
    for seed in 20..24 {
        let world = &world(db, seed).await;
        let volumes = db.collection::<Volume>();
        let is_rich = |house: &House| {
            let land = house.land.as_ref();
            let land = land.and_then(|key| world.lands.iter().find(|land| key.is(land)));
            land.is_some_and(|land| land.rich)
        };
        let housed = |volume: &Volume| volume.house.as_ref().and_then(|key| world.house(key));
        let rich = |volume: &Volume| housed(volume).is_some_and(is_rich);
        let v = Volume::fields();
        let in_rich = v.house.some(|h| h.land.some(|l| l.rich.eq(true)));
        assert_eq!(found(&volumes, in_rich.clone()).await, world.ids(rich));
        assert_eq!(
            found(&volumes, !in_rich.clone()).await,
            world.ids(|volume| !rich(volume))
        );
        assert_eq!(
            found(&volumes, v.year.gt(2000) & in_rich.clone()).await,
            world.ids(|volume| rich(volume) && volume.year > 2000)
        );
        assert_eq!(
            found(&volumes, !(v.year.gt(2000) | in_rich.clone())).await,
            world.ids(|volume| !(rich(volume) || volume.year > 2000))
        );
        assert_eq!(
            found(
                &volumes,
                v.house.some(|h| h.land.none(|l| l.rich.eq(true)) & h.city.ne(0))
            )
            .await,
            world.ids(|volume| housed(volume).is_some_and(|house| !is_rich(house) && house.city != 0))
        );
        // There and back: a house with a partner of a volume that is not its own.
        let back = v
            .house
            .some(|_| Volume::by_partner().none(|v| v.year.gt(2000)) | House::fields().city.eq(2));
        let is_back = |house: &House| {
            let mut recent = world.volumes.iter().filter(|volume| volume.year > 2000);
            house.city == 2 || !recent.any(|volume| volume.partners.iter().any(|key| key.is(house)))
        };
        assert_eq!(
            found(&volumes, back).await,
            world.ids(|volume| housed(volume).is_some_and(is_back))
        );
        let both = RelatedFilter::and([in_rich.clone(), v.partners.some(|_| Filter::all())]);
        assert_eq!(
            found(&volumes, both).await,
            world.ids(|volume| rich(volume) && volume.partners.iter().any(|key| world.house(key).is_some()))
        );
        assert_eq!(found(&volumes, RelatedFilter::or([])).await, Vec::<i32>::new());
        assert_eq!(found(&volumes, RelatedFilter::and([])).await, world.ids(|_| true));
    }
    assert_eq!(db.raw_collection("volumes").count(doc! {}).await.unwrap(), 40);
}
