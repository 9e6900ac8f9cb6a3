//! **Problem.** A patron has an address, and some have a few: home, work, the summer house. Whoever shows a patron shows
//! the addresses.
//!
//! **Stored shape.** `{_id, name, home: {street, city}, others: [{label, at: {street, city}}]}`
//!
//! **Why.** What is read together is stored together: one document, one read, and changing an address is atomic with
//! everything else of the patron. The few are bounded, so that the document cannot grow without end.

use odm::{Db, Embedded, ErrorKind, Model, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "patrons", index(keys(home.city)))]
struct Patron {
    #[serde(rename = "_id")]
    id: String,
    name: String,
    /// One to one.
    home: Address,
    /// One to few.
    #[odm(max = 3)]
    others: Vec<Labelled>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Address {
    street: String,
    city: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Labelled {
    label: String,
    at: Address,
}

fn address(street: &str, city: &str) -> Address {
    Address {
        street: street.to_owned(),
        city: city.to_owned(),
    }
}

pub async fn story(db: &Db) -> Result<String> {
    let patrons = db.collection::<Patron>();
    patrons.delete_many(|_| odm::Filter::all()).await?;
    patrons.create_indexes().await?;
    patrons
        .insert(Patron {
            id: "joe".to_owned(),
            name: "Joe Bookreader".to_owned(),
            home: address("123 Fake Street", "Faketon"),
            others: Vec::new(),
        })
        .await?;

    // A path of plain fields reaches into the address, and an index over it serves the search.
    let in_faketon = || patrons.find(|p| p.home.city.eq("Faketon"));
    in_faketon().must_use_index().await?;
    assert_eq!(in_faketon().await?.len(), 1);

    // One of several is changed in its place.
    for (label, city) in [("work", "Boston"), ("summer", "Nantucket"), ("parents", "Salem")] {
        let labelled = Labelled {
            label: label.to_owned(),
            at: address("1 Main Street", city),
        };
        patrons
            .update_one(|p| p.id.eq("joe"), |p| p.others.push(labelled))
            .await?;
    }
    patrons
        .update_one(
            |p| p.id.eq("joe") & p.others.any().label.eq("summer"),
            |p| p.others.matched().at.city.set("Chatham"),
        )
        .await?;
    let joe = patrons.get("joe".to_owned()).required().await?;
    assert_eq!(joe.others[1].at.city, "Chatham");

    // The bound holds on every way to write.
    let fourth = joe.others[0].clone();
    let error = patrons
        .update_one(|p| p.id.eq("joe"), |p| p.others.push(fourth))
        .await;
    assert_eq!(
        error.map_err(|error| error.kind()).err(),
        Some(ErrorKind::Validation)
    );
    Ok(format!(
        "{} lives in {} and {} other places",
        joe.name,
        joe.home.city,
        joe.others.len()
    ))
}
