//! Trees as values.

/// A node with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch<M> {
    /// The node.
    pub node: M,
    /// Its children, in order, with all below them.
    pub children: Vec<Branch<M>>,
}

impl<M> Branch<M> {
    /// A node without children.
    pub fn leaf(node: M) -> Branch<M> {
        Branch {
            node,
            children: Vec::new(),
        }
    }

    /// A node with children.
    pub fn new(node: M, children: impl IntoIterator<Item = Branch<M>>) -> Branch<M> {
        Branch {
            node,
            children: children.into_iter().collect(),
        }
    }

    /// How many nodes there are, itself included.
    pub fn len(&self) -> usize {
        let mut count = 0;
        let mut open = vec![self];
        while let Some(branch) = open.pop() {
            count += 1;
            open.extend(&branch.children);
        }
        count
    }

    /// Never: a branch has at least its node.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The nodes, each before its children, with how deep it is below this one, which has 0.
    pub fn preorder(&self) -> Vec<(&M, usize)> {
        let mut nodes = Vec::new();
        let mut open = vec![(self, 0)];
        while let Some((branch, depth)) = open.pop() {
            nodes.push((&branch.node, depth));
            open.extend(branch.children.iter().rev().map(|child| (child, depth + 1)));
        }
        nodes
    }
}

/// Makes branches of nodes that come each before its children, with their depths.
pub(super) fn nest<M>(nodes: impl IntoIterator<Item = (M, usize)>) -> Vec<Branch<M>> {
    let mut done: Vec<Branch<M>> = Vec::new();
    let mut open: Vec<(Branch<M>, usize)> = Vec::new();
    let close = |open: &mut Vec<(Branch<M>, usize)>, done: &mut Vec<Branch<M>>| {
        if let Some((branch, _)) = open.pop() {
            match open.last_mut() {
                Some((parent, _)) => parent.children.push(branch),
                None => done.push(branch),
            }
        }
    };
    for (node, depth) in nodes {
        while open.last().is_some_and(|(_, above)| *above >= depth) {
            close(&mut open, &mut done);
        }
        open.push((Branch::leaf(node), depth));
    }
    while !open.is_empty() {
        close(&mut open, &mut done);
    }
    done
}

/// A node with its place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Annotated<M> {
    /// The node.
    pub node: M,
    /// How deep it is; a root has depth 1.
    pub depth: usize,
    /// How many children it has.
    pub children: usize,
    /// How many siblings come before it.
    pub index: usize,
    /// Whether it is the first of its siblings, so that a list opens before it.
    pub opens: bool,
    /// How many lists close behind it.
    pub closes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_nest() {
        let forest = nest([("a", 0), ("b", 1), ("c", 2), ("d", 1), ("e", 0)]);
        let expected = [
            Branch::new("a", [Branch::new("b", [Branch::leaf("c")]), Branch::leaf("d")]),
            Branch::leaf("e"),
        ];
        assert_eq!(forest, expected);
        assert_eq!(forest[0].preorder(), [(&"a", 0), (&"b", 1), (&"c", 2), (&"d", 1)]);
        assert_eq!(forest[0].len(), 4);
    }
}
