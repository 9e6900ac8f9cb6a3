//! What a pattern is refused for when all its groups are known.

use std::cell::Cell;
use std::collections::HashMap;

use super::syntax::{Node, Parsed, Refusal, Syntax, Target};

/// The groups of a pattern by their numbers; 0 is the whole pattern.
#[derive(Debug)]
pub(super) struct Groups<'s> {
    bodies: HashMap<usize, &'s Node>,
    /// How many calls were followed. Calls of calls may be too many to follow all.
    followed: Cell<usize>,
}

/// The most calls that are followed.
const MOST_FOLLOWED: usize = 20_000;

impl<'s> Groups<'s> {
    pub(super) fn of(syntax: &'s Syntax) -> Groups<'s> {
        let mut bodies = HashMap::from([(0, &syntax.root)]);
        collect(&syntax.root, &mut bodies);
        Groups {
            bodies,
            followed: Cell::new(0),
        }
    }

    /// The first of the groups that are meant, to follow a call.
    fn called(&self, target: &Target) -> Option<(usize, &'s Node)> {
        self.followed.set(self.followed.get() + 1);
        if self.followed.get() > MOST_FOLLOWED {
            return None;
        }
        let number = *target.numbers().first()?;
        self.bodies.get(&number).map(|body| (number, *body))
    }

    /// How many characters a part takes, if always as many.
    pub(super) fn length(&self, node: &Node) -> Option<usize> {
        self.length_within(node, &mut Vec::new())
    }

    fn length_within(&self, node: &Node, calls: &mut Vec<usize>) -> Option<usize> {
        match node {
            Node::Character(_) | Node::Set(_) => Some(1),
            Node::Empty | Node::Never | Node::At(_) | Node::Look(_) | Node::Keep => Some(0),
            Node::Sequence(items) => items
                .iter()
                .try_fold(0, |sum, item| Some(sum + self.length_within(item, calls)?)),
            Node::Choice(branches) => {
                let (first, others) = branches.split_first()?;
                let length = self.length_within(first, calls)?;
                let same = others
                    .iter()
                    .all(|branch| self.length_within(branch, calls) == Some(length));
                same.then_some(length)
            }
            Node::Repeat(repeat) if repeat.most == Some(repeat.least) => {
                Some(self.length_within(&repeat.body, calls)? * repeat.least as usize)
            }
            Node::Repeat(_) | Node::Reference { .. } => None,
            Node::Group { body, .. } | Node::Atomic(body) => self.length_within(body, calls),
            Node::Condition { then, otherwise, .. } => {
                let length = self.length_within(then, calls)?;
                (self.length_within(otherwise, calls)? == length).then_some(length)
            }
            Node::Call(target) => {
                let (number, body) = self.called(target)?;
                if calls.contains(&number) {
                    return None;
                }
                calls.push(number);
                let length = self.length_within(body, calls);
                calls.pop();
                length
            }
        }
    }

    /// Whether a part may match without a character, with what it calls.
    fn is_nullable(&self, node: &Node, calls: &mut Vec<usize>) -> bool {
        match node {
            Node::Sequence(items) => items.iter().all(|item| self.is_nullable(item, calls)),
            Node::Choice(branches) => branches.iter().any(|branch| self.is_nullable(branch, calls)),
            Node::Repeat(repeat) => repeat.least == 0 || self.is_nullable(&repeat.body, calls),
            Node::Group { body, .. } | Node::Atomic(body) => self.is_nullable(body, calls),
            Node::Condition { then, otherwise, .. } => {
                self.is_nullable(then, calls) || self.is_nullable(otherwise, calls)
            }
            Node::Call(target) => match self.called(target) {
                Some((number, body)) if !calls.contains(&number) => {
                    calls.push(number);
                    let is_nullable = self.is_nullable(body, calls);
                    calls.pop();
                    is_nullable
                }
                _ => true,
            },
            node => node.is_nullable(),
        }
    }

    /// Refuses looks behind that may take more or fewer characters, and calls that never end.
    pub(super) fn check(&self, syntax: &Syntax) -> Parsed<()> {
        self.check_part(&syntax.root, &mut vec![(0, true)], true)
    }

    /// `open`: the groups around a part, and whether it may be reached from their start without a character.
    /// `strict`: calls are looked at, which they are not behind conditions, where they are found out later.
    fn check_part(&self, node: &Node, open: &mut Vec<(usize, bool)>, strict: bool) -> Parsed<()> {
        match node {
            Node::Sequence(items) => {
                let before = open.clone();
                for item in items {
                    self.check_part(item, open, strict)?;
                    if !self.is_nullable(item, &mut Vec::new()) {
                        open.iter_mut().for_each(|(_, is_at_start)| *is_at_start = false);
                    }
                }
                *open = before;
                return Ok(());
            }
            Node::Group { number, body } => {
                open.push((*number, true));
                self.check_part(body, open, strict)?;
                open.pop();
                return Ok(());
            }
            Node::Call(target) if strict => {
                let called = target.numbers().first();
                if open
                    .iter()
                    .any(|(number, is_at_start)| *is_at_start && Some(number) == called)
                {
                    return Err(Refusal::Invalid("recursive call could loop indefinitely"));
                }
            }
            Node::Look(look)
                if look.behind && look.branches.iter().any(|branch| self.length(branch).is_none()) =>
            {
                return Err(Refusal::Invalid("lookbehind assertion is not fixed length"));
            }
            _ => {}
        }
        let mut strict = strict && !matches!(node, Node::Condition { .. });
        node.parts().into_iter().try_for_each(|part| {
            self.check_part(part, open, strict)?;
            strict &= !matches!(node, Node::Look(_));
            Ok(())
        })
    }
}

fn collect<'s>(node: &'s Node, groups: &mut HashMap<usize, &'s Node>) {
    if let Node::Group { number, body } = node {
        groups.entry(*number).or_insert(body);
    }
    for part in node.parts() {
        collect(part, groups);
    }
}
