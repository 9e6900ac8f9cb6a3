//! Hooks and the fields that are written and not read: what a hook cannot see, it does not lose.

use std::collections::HashSet;

use bson::{Document, doc};
use odm::{Db, Embedded, HookContext, Hooks, Model, Result};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_insert_keeps_what_is_not_read,
    a_replacement_keeps_what_is_not_read,
    what_the_hook_writes_itself_is_stored,
    what_is_not_read_in_embedded_documents_is_kept,
    lists_keep_what_is_not_read_in_their_elements,
    sets_are_as_the_hook_left_them,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "hooked_accounts", hooks)]
struct Account {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[serde(skip_deserializing)]
    token: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    note: Option<String>,
    home: Home,
    cards: Vec<Card>,
    #[serde(default, skip_serializing_if = "HashSet::is_empty")]
    labels: HashSet<String>,
    #[serde(skip)]
    password: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, Embedded)]
struct Home {
    city: String,
    #[serde(skip_deserializing)]
    key: i32,
}

#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
struct Card {
    name: String,
    #[serde(skip_deserializing)]
    pin: i32,
}

fn card(name: &str, pin: i32) -> Card {
    Card {
        name: name.to_owned(),
        pin,
    }
}

impl Account {
    fn new(id: i32, name: &str) -> Account {
        Account {
            id,
            name: name.to_owned(),
            token: "secret".to_owned(),
            note: None,
            home: Home {
                city: "rome".to_owned(),
                key: 7,
            },
            cards: vec![card("a", 1), card("b", 2)],
            labels: HashSet::new(),
            password: Some("p".to_owned()),
        }
    }

    fn hooked(&mut self) {
        // What serde does not read, and what it skips, are what they are without a value.
        assert_eq!((self.token.as_str(), self.home.key), ("", 0));
        assert_eq!(self.password, None);
        match self.name.as_str() {
            "token" => self.token = "of the hook".to_owned(),
            "note" => self.note = Some("noted".to_owned()),
            "unnoted" => self.note = None,
            "city" => self.home.city = self.home.city.to_uppercase(),
            "key" => self.home.key = 8,
            "fewer" => drop(self.cards.remove(0)),
            "more" => self.cards.push(card("c", 3)),
            "labels" => drop(self.labels.remove("5")),
            "one" => self.cards[0].name = "A".to_owned(),
            "all" => self
                .cards
                .iter_mut()
                .for_each(|card| card.name = card.name.to_uppercase()),
            "turned" => self.cards.reverse(),
            "instead" => self.cards = vec![self.cards[1].clone(), card("z", 9)],
            _ => {}
        }
    }
}

impl Hooks for Account {
    async fn before_insert(account: &mut Account, _context: &HookContext) -> Result<()> {
        account.hooked();
        Ok(())
    }

    async fn before_replace(account: &mut Account, _context: &HookContext) -> Result<()> {
        account.hooked();
        Ok(())
    }
}

fn stored(id: i32, name: &str) -> Document {
    doc! {
        "_id": id,
        "name": name,
        "token": "secret",
        "home": { "city": "rome", "key": 7 },
        "cards": [{ "name": "a", "pin": 1 }, { "name": "b", "pin": 2 }],
    }
}

async fn raw(db: &Db, id: i32) -> Document {
    let raw = db.raw_collection("hooked_accounts");
    raw.find_one(doc! { "_id": id }).await.unwrap().unwrap()
}

async fn an_insert_keeps_what_is_not_read(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.insert(Account::new(1, "ann")).await.unwrap();
    accounts
        .insert_many([Account::new(2, "ann"), Account::new(3, "ann")])
        .await
        .unwrap();
    accounts
        .bulk_write()
        .insert(Account::new(4, "ann"))
        .await
        .unwrap();
    accounts.save(Account::new(5, "ann")).await.unwrap();
    for id in 1..=5 {
        assert_eq!(raw(db, id).await, stored(id, "ann"));
    }
    accounts.insert(Account::new(6, "note")).await.unwrap();
    let mut noted = stored(6, "note");
    noted.insert("note", "noted");
    assert_eq!(raw(db, 6).await, noted);
}

async fn a_replacement_keeps_what_is_not_read(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.insert(Account::new(1, "ann")).await.unwrap();
    let newer = |name: &str| Account {
        token: "newer".to_owned(),
        note: Some("old".to_owned()),
        ..Account::new(1, name)
    };
    let mut expected = stored(1, "bob");
    expected.insert("token", "newer");
    expected.insert("note", "old");
    for way in 0..4 {
        accounts
            .raw()
            .update_one(doc! {}, doc! { "$set": { "token": "x" } })
            .await
            .unwrap();
        match way {
            0 => drop(accounts.replace(newer("bob")).await.unwrap()),
            1 => drop(accounts.save(newer("bob")).await.unwrap()),
            2 => drop(accounts.bulk_write().save(newer("bob")).await.unwrap()),
            _ => drop(
                accounts
                    .find_one_and_replace(|a| a.id.eq(1), newer("bob"))
                    .await
                    .unwrap(),
            ),
        }
        assert_eq!(raw(db, 1).await, expected, "{way}");
    }
    accounts.replace(newer("unnoted")).await.unwrap();
    expected.insert("name", "unnoted");
    expected.remove("note");
    assert_eq!(raw(db, 1).await, expected);
}

async fn what_the_hook_writes_itself_is_stored(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.insert(Account::new(1, "token")).await.unwrap();
    assert_eq!(raw(db, 1).await.get_str("token").unwrap(), "of the hook");
    accounts.replace(Account::new(1, "ann")).await.unwrap();
    assert_eq!(raw(db, 1).await.get_str("token").unwrap(), "secret");
    accounts.replace(Account::new(1, "token")).await.unwrap();
    assert_eq!(raw(db, 1).await.get_str("token").unwrap(), "of the hook");
}

async fn what_is_not_read_in_embedded_documents_is_kept(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.insert(Account::new(1, "city")).await.unwrap();
    let home = doc! { "city": "ROME", "key": 7 };
    assert_eq!(raw(db, 1).await.get_document("home").unwrap(), &home);
    accounts.save(Account::new(1, "key")).await.unwrap();
    let home = doc! { "city": "rome", "key": 8 };
    assert_eq!(raw(db, 1).await.get_document("home").unwrap(), &home);
}

async fn lists_keep_what_is_not_read_in_their_elements(db: &Db) {
    let accounts = db.collection::<Account>();
    let cards = async |id: i32| {
        let stored = raw(db, id).await;
        let cards = stored.get_array("cards").unwrap();
        let pins = cards
            .iter()
            .map(|card| card.as_document().unwrap().get_i32("pin").unwrap());
        pins.collect::<Vec<_>>()
    };
    for (id, (name, pins)) in [
        ("fewer", vec![2]),
        ("more", vec![1, 2, 3]),
        ("one", vec![1, 2]),
        ("all", vec![1, 2]),
        ("turned", vec![2, 1]),
        ("instead", vec![2, 9]),
    ]
    .into_iter()
    .enumerate()
    {
        let id = i32::try_from(id).unwrap();
        accounts.insert(Account::new(id, name)).await.unwrap();
        assert_eq!(cards(id).await, pins, "{name}");
        accounts.replace(Account::new(id, name)).await.unwrap();
        assert_eq!(cards(id).await, pins, "{name}");
    }
}

/// A set is read in another order than it was stored in.
async fn sets_are_as_the_hook_left_them(db: &Db) {
    let accounts = db.collection::<Account>();
    let labels = |but: Option<usize>| -> HashSet<String> {
        let all = (0..20).filter(|label| Some(*label) != but);
        all.map(|label| label.to_string()).collect()
    };
    let labelled = |name: &str| Account {
        labels: labels(None),
        ..Account::new(1, name)
    };
    accounts.insert(labelled("labels")).await.unwrap();
    for (name, expected) in [
        ("labels", labels(Some(5))),
        ("ann", labels(None)),
        ("labels", labels(Some(5))),
    ] {
        accounts.replace(labelled(name)).await.unwrap();
        let stored = accounts.get(1).required().await.unwrap();
        assert_eq!(stored.labels, expected);
        assert_eq!(raw(db, 1).await.get_str("token").unwrap(), "secret");
    }
}
