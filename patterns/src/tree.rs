//! Trees: parent references, child references, arrays of ancestors, materialized paths, nested sets.
//!
//! One API over five stored models, which are those of the MongoDB manual. The model is a type parameter:
//! `Tree<Category, NestedSets>`; what a model cannot do does not compile.
//!
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::tree::{MaterializedPaths, Position, Tree, TreeOptions};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize, Model)]
//! struct Category {
//!     #[serde(rename = "_id")]
//!     id: String,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let tree = Tree::<Category, MaterializedPaths>::open(&db, TreeOptions::new()).await?;
//! let category = |id: &str| Category { id: id.into() };
//!
//! tree.insert_root(category("Books")).await?;
//! tree.insert_child("Books", category("Programming")).await?;
//! tree.insert_child("Programming", category("Databases")).await?;
//! tree.insert_at(category("Languages"), "Databases", Position::Left).await?;
//!
//! let below: Vec<String> = tree.descendants("Books").await?.into_iter().map(|c| c.id).collect();
//! assert_eq!(below, ["Programming", "Languages", "Databases"]);
//! assert_eq!(tree.path_of("Databases").await?.as_deref(), Some(",Books,Programming,"));
//!
//! let error = tree.move_under("Books", "Databases").await.unwrap_err();
//! assert!(matches!(error, odm_patterns::tree::TreeError::IntoOwnDescendant { .. }));
//! # Ok(())
//! # }
//! ```

mod arrangement;
mod branch;
mod change;
mod convert;
mod core;
mod derive;
mod error;
mod execute;
mod forest;
mod graft;
mod handle;
mod identity;
mod intent;
mod labels;
mod layout;
mod line;
mod model;
mod node;
mod options;
mod path;
mod plan;
mod position;
mod problem;
mod read;
mod render;
mod repair;
mod segment;
mod slot;
mod state;
mod verify;
mod write;

pub use self::branch::{Annotated, Branch};
pub use self::error::{Result, TreeError};
pub use self::handle::Tree;
pub use self::model::{
    ArrayOfAncestors, ByKey, ChildReference, KeepsOrder, MaterializedPaths, NestedSets, ParentReference,
    Positioned, SiblingPlaces, StoresIntervals, StoresPaths, TreeModel,
};
pub use self::options::{Numbering, Orphans, PathStyle, TreeOptions};
pub use self::position::{DeleteMode, Order, Position};
pub use self::problem::{TreeProblem, TreeProblemKind, TreeRepair};
pub use self::read::Descendants;
