//! How a tree is stored, beyond its model.

use odm::bson::{Bson, Document};

/// How the paths of [`MaterializedPaths`](super::MaterializedPaths) are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathStyle {
    /// The ancestors, enclosed by delimiters: `",Books,Programming,"`; null for a root.
    #[default]
    Enclosed,
    /// The ancestors, each with a delimiter behind it, as older versions of the manual have it: `"Books,Programming,"`;
    /// null for a root.
    Trailing,
    /// The ancestors and the node itself, separated by `:`, with a field `depth` (1 for a root): `"34db:8bda"`. Threads
    /// of comments are stored so.
    Threaded,
}

/// How the numbers of [`NestedSets`](super::NestedSets) are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Numbering {
    /// 64-bit numbers with gaps: an insert writes one document, and now and then a few neighbours.
    #[default]
    Gaps,
    /// From 1 to twice the number of nodes, without gaps, as in the manual: an insert writes every node behind it.
    Dense,
}

/// What [`repair`](super::Tree::repair) does with nodes whose parent is not there, and with circles.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Orphans {
    /// They become roots, behind the others.
    #[default]
    BecomeRoots,
    /// They become children of the node with this `_id`, which must be there.
    GoUnder(Bson),
}

/// The options of a tree; what is not said has the manual's default.
///
/// ```
/// use odm_patterns::tree::TreeOptions;
///
/// let options = TreeOptions::new().collection("menu").tenant("shop", 7).parent_field("up").max_depth(12);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TreeOptions {
    pub(super) collection: Option<String>,
    pub(super) state_collection: Option<String>,
    pub(super) tenant: Option<(String, Bson)>,
    pub(super) parent_field: Option<String>,
    pub(super) children_field: Option<String>,
    pub(super) ancestors_field: Option<String>,
    pub(super) path_field: Option<String>,
    pub(super) depth_field: Option<String>,
    pub(super) left_field: Option<String>,
    pub(super) right_field: Option<String>,
    pub(super) position_field: Option<String>,
    pub(super) delimiter: Option<String>,
    pub(super) path_style: PathStyle,
    pub(super) numbering: Numbering,
    pub(super) sort_key: Option<Document>,
    pub(super) max_depth: Option<usize>,
    pub(super) max_path_bytes: Option<usize>,
    pub(super) orphans: Orphans,
    pub(super) write_ahead: bool,
}

macro_rules! fields {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {$(
        $(#[doc = $doc])*
        pub fn $name(mut self, name: impl Into<String>) -> TreeOptions {
            self.$name = Some(name.into());
            self
        }
    )*};
}

impl TreeOptions {
    /// The manual's defaults.
    pub fn new() -> TreeOptions {
        TreeOptions::default()
    }

    fields! {
        /// The collection of the nodes; that of the model unless said otherwise.
        collection,
        /// The collection that holds one small document for each tree: its version, intended writes, the roots of
        /// child references. The name of the collection with `_trees` behind it unless said otherwise. Trees of the same
        /// nodes by other fields may share it, as long as none of them is converted.
        state_collection,
        /// The field of the parent's `_id`; `parent` unless said otherwise.
        parent_field,
        /// The field of the children's `_id`s; `children` unless said otherwise.
        children_field,
        /// The field of the ancestors' `_id`s; `ancestors` unless said otherwise.
        ancestors_field,
        /// The field of the path; `path` unless said otherwise.
        path_field,
        /// The field of the depth in threads; `depth` unless said otherwise.
        depth_field,
        /// The field of the lower number; `left` unless said otherwise.
        left_field,
        /// The field of the upper number; `right` unless said otherwise.
        right_field,
        /// The field of the place among the siblings; `position` unless said otherwise.
        position_field,
        /// What stands between the segments of a path, one punctuation mark; `,` unless said otherwise, `:` in threads.
        /// Where a segment holds it, it is escaped.
        delimiter,
    }

    /// Many trees in one collection: this one is the nodes in which the field has this value. Nodes that are inserted get
    /// it. Of a model that is one kind of its collection's documents, the tree is of that kind alone in any case.
    pub fn tenant(mut self, field: impl Into<String>, value: impl Into<Bson>) -> TreeOptions {
        self.tenant = Some((field.into(), value.into()));
        self
    }

    /// How paths are written.
    pub fn path_style(mut self, style: PathStyle) -> TreeOptions {
        self.path_style = style;
        self
    }

    /// How the numbers of nested sets are given.
    pub fn numbering(mut self, numbering: Numbering) -> TreeOptions {
        self.numbering = numbering;
        self
    }

    /// The order of siblings by their own fields, as MongoDB sorts: `doc! {"title": 1}`.
    ///
    /// Where siblings have no places, they are read in this order. Where they have, nodes that are inserted or moved
    /// without saying where go to their place in it, and so do those at the `Sorted` positions.
    pub fn sort_key(mut self, key: Document) -> TreeOptions {
        self.sort_key = Some(key);
        self
    }

    /// How deep the tree may become; a root has depth 1.
    pub fn max_depth(mut self, depth: usize) -> TreeOptions {
        self.max_depth = Some(depth);
        self
    }

    /// How long a path may become, in bytes. 1,000 unless said otherwise.
    pub fn max_path_bytes(mut self, bytes: usize) -> TreeOptions {
        self.max_path_bytes = Some(bytes);
        self
    }

    /// What repair does with nodes whose parent is not there, and with circles.
    pub fn orphans(mut self, orphans: Orphans) -> TreeOptions {
        self.orphans = orphans;
        self
    }

    /// Has changes written as an intent first, which is carried out then, even where there are transactions. Where there
    /// are none, this is the way in any case. Inside a transaction that runs already it says nothing.
    pub fn write_ahead(mut self) -> TreeOptions {
        self.write_ahead = true;
        self
    }
}
