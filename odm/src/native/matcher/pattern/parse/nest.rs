//! Groups inside groups, without a call of a function for each.

use super::super::syntax::{Look, Node, Parsed, Refusal, Test};
use super::group::{Item, Kind};
use super::{DEEPEST, Options, Parser, condition};

/// A group that was not closed yet.
struct Open {
    kind: Kind,
    /// The branches before the last one.
    branches: Vec<Node>,
    /// What the last branch has so far.
    items: Vec<Node>,
    /// The options around the group.
    options: Options,
    /// How many groups were opened before it, and the most in one of its branches.
    groups: (usize, usize),
}

impl Open {
    fn new(kind: Kind, options: Options, groups: usize) -> Open {
        Open {
            kind,
            branches: Vec::new(),
            items: Vec::new(),
            options,
            groups: (groups, groups),
        }
    }

    /// Ends a branch, with so many groups so far.
    fn end_branch(&mut self, groups: usize) {
        self.branches
            .push(Node::sequence(std::mem::take(&mut self.items)));
        self.groups.1 = self.groups.1.max(groups);
    }
}

impl Parser<'_> {
    /// The whole pattern.
    pub(super) fn whole(&mut self) -> Parsed<Node> {
        let mut outer: Vec<Open> = Vec::new();
        let mut inner = Open::new(Kind::Plain, self.options, self.groups);
        while let Some(next) = self.upcoming()? {
            if !self.quoted && self.take("|") {
                inner.end_branch(self.groups);
                // The groups of each branch may have the same numbers.
                if matches!(inner.kind, Kind::Reset) {
                    self.groups = inner.groups.0;
                }
                continue;
            }
            if !self.quoted && next == ')' {
                self.next();
                let around = outer.pop().ok_or(Refusal::Invalid("unmatched parentheses"))?;
                let closed = std::mem::replace(&mut inner, around);
                self.options = closed.options;
                match self.closed(closed)? {
                    Closed::Node(node) => {
                        let node = self.quantified(node, true)?;
                        inner.items.push(node);
                    }
                    Closed::Test(test) => {
                        let condition = Open::new(Kind::Condition(test), self.options, self.groups);
                        outer.push(std::mem::replace(&mut inner, condition));
                    }
                }
                continue;
            }
            match self.item()? {
                Item::Repeatable(node) => {
                    let node = self.quantified(node, true)?;
                    inner.items.push(node);
                }
                Item::Fixed(node) => {
                    let node = self.quantified(node, false)?;
                    inner.items.push(node);
                }
                Item::Opened(kind, options) => {
                    let new = Open::new(kind, self.options, self.groups);
                    if matches!(new.kind, Kind::Capture) {
                        self.groups += 1;
                    }
                    self.options = options;
                    outer.push(std::mem::replace(&mut inner, new));
                    self.deepest = self.deepest.max(outer.len());
                    if outer.len() > DEEPEST {
                        return Err(Refusal::Invalid("parentheses are too deeply nested"));
                    }
                }
            }
        }
        if !outer.is_empty() {
            return Err(Refusal::Invalid("missing )"));
        }
        match self.closed(inner)? {
            Closed::Node(node) => Ok(node),
            Closed::Test(_) => Ok(Node::Empty),
        }
    }

    /// A group that was closed.
    fn closed(&mut self, mut group: Open) -> Parsed<Closed> {
        group.end_branch(self.groups);
        self.groups = group.groups.1;
        let branches = group.branches;
        let node = match group.kind {
            Kind::Plain | Kind::Reset => Node::choice(branches),
            Kind::Capture => Node::Group {
                number: group.groups.0 + 1,
                body: Box::new(Node::choice(branches)),
            },
            Kind::Atomic => Node::Atomic(Box::new(Node::choice(branches))),
            Kind::Look {
                behind,
                negated,
                tests,
            } => {
                let look = Look {
                    behind,
                    negated,
                    branches,
                };
                match tests {
                    true => return Ok(Closed::Test(Test::Look(look))),
                    false => Node::Look(look),
                }
            }
            Kind::Condition(test) => condition::of(test, branches)?,
        };
        Ok(Closed::Node(node))
    }
}

/// What a closing parenthesis ends.
enum Closed {
    Node(Node),
    /// The test of a condition, whose branches follow.
    Test(Test),
}
