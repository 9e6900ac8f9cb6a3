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
//!
//! # What is stored
//!
//! | model | fields of a node | indexes, behind the tenant's field |
//! |---|---|---|
//! | [`ParentReference`] | `parent` | `parent`, `position` |
//! | [`ChildReference`] | `children`; the roots are in the state document | `children` |
//! | [`ArrayOfAncestors`] | `ancestors`, `parent` | `parent`, `position`; `ancestors` |
//! | [`MaterializedPaths`] | `path`, `parent`; in threads `depth` | `parent`, `position`; `path` |
//! | [`NestedSets`] | `left`, `right`, `parent` | `parent`, `left`; `left`, `right`; `right` |
//!
//! A tree of a model that is one kind of its collection's documents is of that kind alone, whose field stands in front of the
//! keys as the tenant's does. On the database of a tenant ([`Db::for_tenant`](odm::Db::for_tenant)) the tree of a model with tenants is that
//! tenant's, with a state document of its own, as if [`TreeOptions::tenant`] said so. Paths compare by their bytes whatever the collation of the collection, and so does their
//! index.
//!
//! The first, third and fourth have a `position` beside, unless [`ByKey`] says that siblings need no places. The fields
//! need not be in the model's struct; where they are, the tree overwrites them. [`Tree::save`] and [`Tree::edit`] write a
//! whole node but for them; whole writes through the collection (`save`, `replace`, `update_with_retry`) take a node out of
//! the tree. Nodes that the tree did not insert are
//! read as they are: the parent of a path is then its last segment, and roots of child references are found once, by
//! reading all. Every tree has one small document in the collection `.._trees`, and where there are no transactions each
//! node that was written has the number of its last change in a field `tree_fence`.
//!
//! # What is promised
//!
//! | | |
//! |---|---|
//! | a change | happens as a whole or not at all: in a transaction, or in that of the caller, which can only be aborted where a rule, a hook or the database refuses one of its writes; where there are none, its writes are recorded first, and made by the next change, opening or repair if the process ends |
//! | a refused write | where its writes are recorded first too: a change of which the database refuses one (a unique index, a validator, a document that grows too large) is taken back, also by whoever comes next. Fields are again what they were when it was recorded, those that hooks wrote too; a version is counted on. What rules of references did elsewhere by then stays. After other errors, such as a lost connection, the change may still be made by whoever comes next |
//! | many at a time | changes of one tree come one after another: all of them touch its state document, and are run again by themselves when another was first. So no crossing moves make a circle, and no inserts share a place |
//! | reading | each method sees what was committed when its queries ran; only those of one transaction see one moment |
//! | both ways | a process that writes ahead and one that uses transactions can share a tree: where there are transactions, an intent is carried out in some that hold the state |
//! | without transactions | readers may see a change half made; a process that was held up while others finished its change does no harm, unless it ends in the very moment in which it notices, or after a thousand changes more. What others write to a node's own fields in the moment of its renaming may be lost |
//! | the model | every document that a change writes is written as the model declares it: see below |
//! | sharding | shard by the tenant's field: a change then stays on one shard, and so do all reads |
//!
//! # What the model declares
//!
//! | change | to the model |
//! |---|---|
//! | insert, load, copy | inserts: hooks of `before` first, before the place is looked for; dates, version, validation; hooks of `after` at the end |
//! | move, reorder, repair, rebuild, convert, and what these and others do to parents, siblings and descendants | an update of each document whose fields change: hooks, date of change, version, validation of the tree's fields that the model declares. So what was loaded before is not stored over a node that was moved, where there is a version |
//! | [save](Tree::save), [edit](Tree::edit) | a replacement: hooks, date of change, version, validation of the whole document |
//! | delete | a deletion: hooks, the rules of references, soft deletion. Where it is soft, nodes keep their places, unseen but by [`Tree::with_deleted`], until [`Tree::restore`] or [`Tree::purge`] |
//! | rename | the insertion of the new document and the deletion, for ever, of the old one; refused where others refer to the node by a reference with a rule |
//!
//! Hooks of `before` may run again when others were first. A hook that narrows a write of a tree, or adds to it by more than
//! plain operators, makes it fail as a whole. By intents, those who deny a deletion are asked before it is recorded, and the
//! other rules carried out just before the nodes go. Models without such declarations pay nothing.
//!
//! # What it costs
//!
//! Queries, and documents written, for a node with `c` children and `d` ancestors; `s` nodes in its subtree. Each
//! operation reads the node first, and each change the state and its neighbours; one that is recorded first reads the nodes
//! that it writes once more, to be taken back if need be.
//!
//! | | parent | children | ancestors | paths | nested sets |
//! |---|---|---|---|---|---|
//! | children | 1 | 1 | 1 | 1 | 1 |
//! | ancestors | 1 lookup, or `d` | 1 lookup, or `d` | 1 | 1 | 1 lookup |
//! | descendants | 1 lookup, or one a level | 1 lookup, or one a level | 1 | 1 | 1 |
//! | insert a leaf | 1 | 2 | 1 | 1 | 1, rarely some neighbours |
//! | move | 1 | 3 | `s` | `s` | `s` |
//! | rename | `c` | 3 | `s` | `s` | `c` |

#![allow(
    clippy::result_large_err,
    reason = "callers match on the fields; what fails is followed by a round trip, not by a loop"
)]

mod arrangement;
mod branch;
mod change;
mod convert;
mod core;
mod derive;
mod descendants;
mod edit;
mod error;
mod execute;
mod forest;
mod gate;
mod graft;
mod grave;
mod handle;
mod identity;
mod intent;
mod kinship;
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
mod record;
mod render;
mod repair;
mod segment;
mod slot;
mod state;
mod thread;
mod undo;
mod verify;
mod whole;
mod write;

pub use self::branch::{Annotated, Branch};
pub use self::descendants::Descendants;
pub use self::error::{Result, TreeError};
pub use self::handle::Tree;
pub use self::model::{
    ArrayOfAncestors, ByKey, ChildReference, KeepsOrder, MaterializedPaths, NestedSets, ParentReference,
    Positioned, SiblingPlaces, StoresIntervals, StoresPaths, TreeModel,
};
pub use self::options::{Numbering, Orphans, PathStyle, TreeOptions};
pub use self::position::{DeleteMode, Order, Position};
pub use self::problem::{TreeProblem, TreeProblemKind, TreeRepair};
