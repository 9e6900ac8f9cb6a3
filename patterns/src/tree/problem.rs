//! What can be wrong with a stored tree.

use std::fmt;

use odm::bson::Bson;

/// Something wrong with a stored tree.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TreeProblem {
    /// The node at which it shows; null when it is not about one.
    pub id: Bson,
    /// What is wrong.
    pub kind: TreeProblemKind,
}

/// What is wrong at a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TreeProblemKind {
    /// The node is its own ancestor. Named once for each circle.
    Cycle {
        /// The nodes of the circle, each the parent of the one before it.
        nodes: Vec<Bson>,
    },
    /// The parent is not there.
    Orphan {
        /// The `_id` that the node has as its parent.
        parent: Bson,
    },
    /// An array of children names a node that is not there.
    MissingChild {
        /// The `_id` that is named.
        child: Bson,
    },
    /// An array of children names a node twice.
    DuplicateChild {
        /// The `_id` that is named.
        child: Bson,
    },
    /// Several nodes have this one as their child.
    SeveralParents {
        /// Which.
        parents: Vec<Bson>,
    },
    /// A node that nothing refers to is not among the roots that the state lists, or a root that it lists is none.
    WrongRoot,
    /// The parent's `_id` is not what another field says: the path, the ancestors, the interval.
    ParentDisagrees {
        /// The parent that is stored.
        parent: Bson,
        /// The parent as the other field has it; null for a root or none.
        other: Bson,
    },
    /// The ancestors are not those of the parent, and the parent.
    WrongAncestors {
        /// As they should be.
        expected: Vec<Bson>,
    },
    /// The path is not that of the parent, and the parent.
    WrongPath {
        /// The path that is stored.
        path: Option<String>,
        /// As it should be.
        expected: Option<String>,
    },
    /// Two nodes have one path.
    DuplicatePath {
        /// The other node.
        other: Bson,
    },
    /// The depth is not how deep the node is.
    WrongDepth {
        /// The depth that is stored.
        depth: Option<i64>,
        /// As it should be.
        expected: i64,
    },
    /// The node is deeper than [`max_depth`](super::TreeOptions::max_depth) allows.
    TooDeep {
        /// How deep it is.
        depth: usize,
    },
    /// A number of the interval is missing or no integer.
    MissingInterval,
    /// The interval ends before it begins.
    InvertedInterval {
        /// The lower number.
        left: i64,
        /// The upper number.
        right: i64,
    },
    /// The interval is not inside that of the parent.
    OutsideParent {
        /// The parent.
        parent: Bson,
    },
    /// The interval overlaps, or shares a number with, that of a node that is neither above nor below.
    IntervalOverlap {
        /// The other node.
        other: Bson,
    },
    /// With dense numbering, numbers are left out.
    Gap,
    /// There is no place among the siblings.
    MissingPosition,
    /// A sibling has the same place.
    DuplicatePosition {
        /// The sibling.
        other: Bson,
    },
    /// The siblings are not in the order of the sort key.
    OutOfOrder {
        /// The sibling before, which belongs behind.
        other: Bson,
    },
    /// A change was begun, and is to be carried out: by repair, by the next opening, or by the next change.
    PendingIntent,
}

impl fmt::Display for TreeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &self.kind {
            TreeProblemKind::Cycle { .. } => "the node is its own ancestor",
            TreeProblemKind::Orphan { .. } => "the parent is not there",
            TreeProblemKind::MissingChild { .. } => "a child is not there",
            TreeProblemKind::DuplicateChild { .. } => "a child is named twice",
            TreeProblemKind::SeveralParents { .. } => "several nodes have it as their child",
            TreeProblemKind::WrongRoot => "the list of roots is wrong about it",
            TreeProblemKind::ParentDisagrees { .. } => "its parent is another by another field",
            TreeProblemKind::WrongAncestors { .. } => "its ancestors are not those of its parent",
            TreeProblemKind::WrongPath { .. } => "its path is not below that of its parent",
            TreeProblemKind::DuplicatePath { .. } => "another node has its path",
            TreeProblemKind::WrongDepth { .. } => "it is not as deep as it says",
            TreeProblemKind::TooDeep { .. } => "it is deeper than is allowed",
            TreeProblemKind::MissingInterval => "it has no interval",
            TreeProblemKind::InvertedInterval { .. } => "its interval ends before it begins",
            TreeProblemKind::OutsideParent { .. } => "its interval is not inside that of its parent",
            TreeProblemKind::IntervalOverlap { .. } => "its interval overlaps another",
            TreeProblemKind::Gap => "numbers are left out",
            TreeProblemKind::MissingPosition => "it has no place among its siblings",
            TreeProblemKind::DuplicatePosition { .. } => "a sibling has its place",
            TreeProblemKind::OutOfOrder { .. } => "it is not where the sort key says",
            TreeProblemKind::PendingIntent => "a change waits to be carried out",
        };
        write!(f, "{text} (_id: {})", self.id)
    }
}

/// What [`repair`](super::Tree::repair) found and did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TreeRepair {
    /// What was wrong.
    pub problems: Vec<TreeProblem>,
    /// How many documents were written.
    pub written: usize,
}

impl TreeRepair {
    /// Whether nothing was wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}
