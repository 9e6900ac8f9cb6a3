//! Where a node goes, in relation to another.

/// Where a node goes in relation to another node, the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Position {
    /// Before all other children of the target.
    FirstChild,
    /// Behind all other children of the target.
    LastChild,
    /// Among the children of the target, with so many other children before it; at the end when there are fewer.
    ChildAt(usize),
    /// Among the children of the target, where [`sort_key`](super::TreeOptions::sort_key) says.
    SortedChild,
    /// Directly before the target.
    Left,
    /// Directly behind the target.
    Right,
    /// Before all other siblings of the target.
    FirstSibling,
    /// Behind all other siblings of the target.
    LastSibling,
    /// Among the siblings of the target, with so many other siblings before it; at the end when there are fewer.
    SiblingAt(usize),
    /// Among the siblings of the target, where [`sort_key`](super::TreeOptions::sort_key) says.
    SortedSibling,
}

impl Position {
    /// Whether the target becomes the parent.
    pub fn is_child(self) -> bool {
        matches!(
            self,
            Position::FirstChild | Position::LastChild | Position::ChildAt(_) | Position::SortedChild
        )
    }
}

/// What becomes of the children of a deleted node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeleteMode {
    /// They are deleted too, with all their descendants.
    #[default]
    Cascade,
    /// They come to the parent of the deleted node, at its place.
    Adopt,
    /// They become roots, behind the others.
    MakeRoots,
    /// A node that has children is not deleted.
    Refuse,
}

/// In which order the nodes of a subtree are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// Each node before its children, children before the next sibling.
    #[default]
    Preorder,
    /// Level by level.
    BreadthFirst,
    /// As they come.
    Unordered,
}
