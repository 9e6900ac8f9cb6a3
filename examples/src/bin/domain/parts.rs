//! **Problem.** A product is made of some hundred parts. Its page lists them by name; the part's own page has more. Names of
//! parts change seldom, products are shown often.
//!
//! **Stored shape.** `parts: {_id, name, cost, revision}`, `products: {_id, name, parts: [{part, name, revision}]}` with an index on
//! `{"parts.part": 1}`
//!
//! **Why.** With the names copied beside the references a product's page is one read. The source of a name is the part; a
//! change of it goes to the copies, each with the revision that it is of, so that an update that comes late overwrites no
//! newer name, and a copy that was missed shows.

use odm::{Db, Embedded, Model, Ref, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    cost: i64,
    /// Counts the changes of the name.
    revision: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "assembled_products", index(keys(parts.any().part)))]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(max = 500)]
    parts: Vec<Component>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Component {
    part: Ref<Part>,
    /// The part's name, as of this revision of it.
    name: String,
    revision: i64,
}

/// Gives a part another name.
async fn rename(db: &Db, part: i32, name: &str) -> Result<()> {
    let renamed = db
        .collection::<Part>()
        .find_one_and_update(|p| p.id.eq(part), |p| p.name.set(name) & p.revision.inc(1))
        .return_new()
        .await?;
    match renamed {
        Some(part) => propagate(db, &part).await,
        None => Ok(()),
    }
}

/// Gives the copies of a part's name what the part said: those that are of an older revision.
async fn propagate(db: &Db, part: &Part) -> Result<()> {
    db.collection::<Product>()
        .update_many(
            |p| {
                p.parts
                    .elem_match(|c| c.part.eq(part) & c.revision.lt(part.revision))
            },
            |p| {
                let copy = p
                    .parts
                    .filtered(|c| c.part.eq(part) & c.revision.lt(part.revision));
                copy.name.set(part.name.as_str()) & copy.revision.set(part.revision)
            },
        )
        .await?;
    Ok(())
}

pub async fn story(db: &Db) -> Result<String> {
    let (parts, products) = (db.collection::<Part>(), db.collection::<Product>());
    products.delete_many(|_| odm::Filter::all()).await?;
    parts.delete_many(|_| odm::Filter::all()).await?;
    products.create_indexes().await?;
    let part = |id: i32| Part {
        id,
        name: format!("part {id}"),
        cost: 94,
        revision: 1,
    };
    let all: Vec<Part> = (1..=20).map(part).collect();
    parts.insert_many(&all).await?;
    let product = |id: i32| Product {
        id,
        name: format!("product {id}"),
        parts: all
            .iter()
            .filter(|part| part.id % id == 0)
            .map(|part| Component {
                part: Ref::to(part),
                name: part.name.clone(),
                revision: part.revision,
            })
            .collect(),
    };
    products.insert_many((1..=4).map(product)).await?;

    rename(db, 6, "grommet").await?;
    let with_six = products.find(|p| p.parts.any().part.eq(6)).sort(|p| p.id.asc());
    with_six.clone().must_use_index().await?;
    let with_six = with_six.await?;
    assert_eq!(
        with_six.iter().map(|product| product.id).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    let copies = |products: &[Product]| -> Vec<(String, i64)> {
        let components = products.iter().flat_map(|product| &product.parts);
        let six = components.filter(|component| component.part == Ref::new(6));
        six.map(|component| (component.name.clone(), component.revision))
            .collect()
    };
    assert!(
        copies(&with_six)
            .iter()
            .all(|copy| *copy == ("grommet".to_owned(), 2))
    );

    // What comes late changes nothing.
    propagate(
        db,
        &Part {
            revision: 1,
            ..part(6)
        },
    )
    .await?;
    let after = products.find(|p| p.parts.any().part.eq(6)).await?;
    assert!(copies(&after).iter().all(|copy| copy.0 == "grommet"));

    // What the copies lack is loaded, by one query for all parts.
    let (product, loaded) = products
        .get(2)
        .load(|p| p.parts.every(|c| c.part))
        .required()
        .await?;
    let cost: i64 = loaded.iter().flatten().map(|part| part.cost).sum();
    assert_eq!(cost, 940);
    Ok(format!(
        "{} has {} parts for {cost} cents",
        product.name,
        product.parts.len()
    ))
}
