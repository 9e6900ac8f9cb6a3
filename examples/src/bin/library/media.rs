//! What is no book: items of many types, each with attributes of its own, found by all of them.

use std::error::Error;
use std::time::Instant;

use odm::{Db, Model, Result};
use odm_patterns::attributes::{
    AttributeFields, Attributed, Attributes, Catalog, Definition, Listed, ProductType, Quantity, Units,
};
use serde::{Deserialize, Serialize};

use crate::show::{Show, table};

/// A recording, a map, a game.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "media")]
struct Item {
    #[serde(rename = "_id")]
    id: String,
    kind: String,
    attributes: Attributes<Listed>,
}

impl Attributed for Item {
    type Form = Listed;

    fn attribute_fields(i: ItemFields) -> AttributeFields<Item> {
        AttributeFields::new(&i.kind, &i.attributes)
    }

    fn product_type(&self) -> &str {
        &self.kind
    }

    fn attributes(&self) -> &Attributes<Listed> {
        &self.attributes
    }

    fn attributes_mut(&mut self) -> &mut Attributes<Listed> {
        &mut self.attributes
    }
}

/// Stores some items, refuses a wrong one, and asks by attributes.
pub async fn tour(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    let units = Units::new()
        .unit("min", "time", 1.0)
        .unit("h", "time", 60.0)
        .unit("cm", "length", 1.0)
        .unit("m", "length", 100.0);
    let recording = ProductType::new("recording")
        .attribute(Definition::measure("duration", "min").required())
        .attribute(Definition::text("carrier").choices(["cd", "record", "tape"]))
        .attribute(Definition::text("language").many());
    let map = ProductType::new("map")
        .attribute(Definition::measure("width", "cm").required())
        .attribute(Definition::text("language").many());
    let catalog = Catalog::<Item>::new(db, [recording, map], units)?;
    catalog.sync_indexes().await?;

    let item = |id: &str, kind: &str, attributes| Item {
        id: id.to_owned(),
        kind: kind.to_owned(),
        attributes,
    };
    let emma = Attributes::new()
        .with("duration", Quantity::new(16.5, "h"))
        .with("carrier", "cd")
        .with_many("language", ["English"]);
    let whales = Attributes::new()
        .with("duration", Quantity::new(48, "min"))
        .with("carrier", "record");
    let boston = Attributes::new()
        .with("width", Quantity::new(1.2, "m"))
        .with_many("language", ["English", "French"]);
    catalog.save(item("emma, read aloud", "recording", emma)).await?;
    catalog
        .save(item("songs of the whale", "recording", whales))
        .await?;
    catalog.save(item("boston", "map", boston)).await?;
    let wrong = Attributes::new().with("duration", "long");
    let refused = catalog.save(item("wrong", "recording", wrong)).await;

    let long = catalog
        .attribute("duration")?
        .range(Quantity::new(1, "h")..Quantity::new(1000, "min"))?;
    let english = catalog.attribute("language")?.eq("English")?;
    let found = catalog.collection().find(|_| long & english).await?;
    let facets = catalog.facets().values("language", 10)?.count().await?;
    show.step("media by attributes", start);
    table(
        "What is no book",
        &["question", "answer"],
        [
            (
                "English, longer than an hour",
                found
                    .iter()
                    .map(|item| item.id.clone())
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            (
                "languages",
                facets[0]
                    .values
                    .iter()
                    .map(|(value, count)| format!("{value} {count}"))
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            (
                "a recording that lasts “long”",
                refused
                    .err()
                    .as_ref()
                    .and_then(Error::source)
                    .map_or_else(String::new, ToString::to_string),
            ),
        ]
        .map(|(question, answer)| vec![question.to_owned(), answer]),
    );
    Ok(())
}
