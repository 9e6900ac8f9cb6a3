//! Dynamic attributes: products of many types, each with attributes of its own, searched by all of them.
//!
//! # The problem
//! A shoe has a size and a colour, a lamp has watts. A field for each of them would be a thousand fields; a text for all of
//! them could not be searched by. Here attributes are typed values under names that a [`ProductType`] defines.
//!
//! # The stored shape
//!
//! | [`Scoped`]: a sub-document | [`Listed`]: a list of names and values |
//! |---|---|
//! | `{color: "red", weight: {v: 1.5, g: 1500, u: "g"}}` | `[{n: "color", v: "red"}, {n: "weight", v: 1.5, g: 1500, u: "g"}]` |
//! | a sparse index for each attribute that is searched by: small ones; 64 of a collection at the most | one index of names and values for all: it holds every attribute of every product |
//! | any operator, sort by an attribute | `$elemMatch` for each attribute, no sort |
//! | a new attribute to search by is a new index | is there at once |
//! | several values: `tags: ["a", "b"]` | `{n: "tags", v: "a"}, {n: "tags", v: "b"}` |
//!
//! A measure is stored as a number in the attribute's own unit (`v`), by which is searched, beside the number and unit that were
//! given (`g`, `u`).
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | what is stored by [`insert`](Catalog::insert), [`save`](Catalog::save), [`set`](Catalog::set) | is as its type defines: required, kind, unit, bounds, choices, one or many. Other writes are found by [`verify`](Catalog::verify) |
//! | [`set`](Catalog::set), [`unset`](Catalog::unset) | one write, under the condition that the product's type allows it; two at once change two attributes |
//! | filters | values are of the attribute's kind and unit, or refused: never an empty answer for want of a type |
//! | several values | a range is met by one of them, not by two together |
//! | facets | one aggregation for all; each product counts once for each value |
//! | [`convert`](Catalog::convert) | each product is one conditional write; can be stopped and run again, beside writers; both forms are read, and found, meanwhile |
//! | round trips | 1 for each operation; a refused `set` 2 |
//! | sharded | `set` and `unset` by `_id`; searches as their filters |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::attributes::{
//!     Attributed, AttributeFields, Attributes, Catalog, Definition, Listed, ProductType, Quantity, Units, Value,
//! };
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Product {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     kind: String,
//!     attributes: Attributes<Listed>,
//! }
//!
//! impl Attributed for Product {
//!     type Form = Listed;
//!
//!     fn attribute_fields(p: ProductFields) -> AttributeFields<Product> {
//!         AttributeFields::new(&p.kind, &p.attributes)
//!     }
//!
//!     fn product_type(&self) -> &str {
//!         &self.kind
//!     }
//!
//!     fn attributes(&self) -> &Attributes<Listed> {
//!         &self.attributes
//!     }
//!
//!     fn attributes_mut(&mut self) -> &mut Attributes<Listed> {
//!         &mut self.attributes
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let units = Units::new().unit("kg", "mass", 1.0).unit("g", "mass", 0.001);
//! let shoe = ProductType::new("shoe")
//!     .attribute(Definition::text("color").choices(["red", "black"]).required())
//!     .attribute(Definition::measure("weight", "kg"));
//! let catalog = Catalog::<Product>::new(&db, [shoe], units)?;
//! catalog.sync_indexes().await?;
//!
//! let attributes = Attributes::new().with("color", "red").with("weight", Quantity::new(700, "g"));
//! catalog.insert(Product { id: 1, kind: "shoe".into(), attributes }).await?;
//! assert!(catalog.set(1, "color", "green").await.is_err());
//!
//! let light = catalog.attribute("weight")?.range(..Quantity::new(1, "kg"))?;
//! let red = catalog.attribute("color")?.eq("red")?;
//! assert_eq!(catalog.collection().find(|_| light & red).await?.len(), 1);
//!
//! let facets = catalog.facets().values("color", 10)?.count().await?;
//! assert_eq!(facets[0].values, [(Value::from("red"), 1)]);
//! # Ok(())
//! # }
//! ```

mod asked;
mod catalog;
mod convert;
mod definition;
mod facet;
mod given;
mod problem;
mod stored;
mod units;
mod value;

pub use self::asked::Asked;
pub use self::catalog::{AttributeFields, Attributed, Catalog};
pub use self::convert::Converted;
pub use self::definition::{Definition, ProductType};
pub use self::facet::{Facet, Facets};
pub use self::given::{Given, Held};
pub use self::problem::{
    AttributeProblem, AttributeProblemKind, ProductProblem, ProductProblemKind, Rejected,
};
pub use self::stored::{Attributes, Form, Listed, Scoped};
pub use self::units::Units;
pub use self::value::{Kind, Quantity, Value};
