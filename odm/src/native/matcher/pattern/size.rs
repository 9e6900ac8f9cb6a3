//! How large a pattern is for the server's library, which takes none beyond a size.

use super::syntax::{Node, Repeat, Test};

/// The most bytes that a compiled pattern may take.
pub(super) const MOST: usize = 1 << 16;
/// The server's complaint about more.
pub(super) const TOO_LARGE: &str = "regular expression is too large";
/// The brackets of a group, and of a whole pattern its end.
const BRACKETS: usize = 6;
/// What the server puts around a pattern of a filter.
pub(super) const AROUND: usize = 7;

/// How many bytes a compiled pattern takes, close enough.
pub(super) fn of(root: &Node) -> usize {
    part(root).saturating_add(BRACKETS + 1)
}

fn part(node: &Node) -> usize {
    match node {
        Node::Empty => 0,
        Node::Never | Node::At(_) | Node::Keep => 1,
        Node::Character(c) => 1 + c.len_utf8(),
        Node::Set(set) => set.size(),
        Node::Sequence(items) => sum(items, 0),
        Node::Choice(branches) => sum(branches, 3).saturating_sub(3),
        Node::Repeat(repeat) => repeated(repeat),
        Node::Group { body, .. } => part(body).saturating_add(BRACKETS + 2),
        Node::Atomic(body) => match &**body {
            // It is another step of the same size.
            Node::Repeat(repeat) if single(&repeat.body).is_some() => part(body),
            body => part(body).saturating_add(BRACKETS),
        },
        Node::Look(look) => {
            let back = if look.behind { 3 } else { 0 };
            sum(&look.branches, 3 + back).saturating_add(BRACKETS - 3)
        }
        Node::Reference { .. } | Node::Call(_) => 3,
        Node::Condition {
            test,
            then,
            otherwise,
        } => {
            let test = match test {
                Test::Look(look) => sum(&look.branches, 3).saturating_add(BRACKETS - 3),
                _ => 3,
            };
            let otherwise = match &**otherwise {
                Node::Empty => 0,
                node => part(node).saturating_add(3),
            };
            part(then)
                .saturating_add(otherwise)
                .saturating_add(test + BRACKETS)
        }
    }
}

fn sum(nodes: &[Node], more: usize) -> usize {
    nodes
        .iter()
        .fold(0, |sum, node| sum.saturating_add(part(node)).saturating_add(more))
}

/// The size of one character, without its step; `None` for what is no character.
fn single(node: &Node) -> Option<usize> {
    match node {
        Node::Character(c) => Some(c.len_utf8()),
        Node::Set(set) if set.size() <= 4 => Some(match set.size() {
            1 => 1,
            size => size - 1,
        }),
        _ => None,
    }
}

fn repeated(repeat: &Repeat) -> usize {
    let (least, most) = (repeat.least as usize, repeat.most.map(|most| most as usize));
    if let Some(one) = single(&repeat.body) {
        // A step without a number, and one with a number.
        let (plain, counted) = (1 + one, 3 + one);
        return match (least, most) {
            (_, Some(0)) => 0,
            (0 | 1, None) | (0 | 1, Some(1)) => plain,
            (_, None) => counted + plain,
            (0, Some(_)) => counted,
            (1, Some(_)) => plain + counted,
            (least, Some(most)) if least == most => counted,
            (least, Some(most)) if least + 1 == most => counted + plain,
            _ => 2 * counted,
        };
    }
    if let Node::Set(set) = &*repeat.body {
        return match (least, most) {
            (0 | 1, None) | (0, Some(1)) => set.size() + 1,
            (1, Some(1)) => set.size(),
            _ => set.size() + 5,
        };
    }
    let brackets = match &*repeat.body {
        Node::Sequence(_) | Node::Choice(_) | Node::Character(_) | Node::Empty => BRACKETS,
        _ => 0,
    };
    let body = part(&repeat.body).saturating_add(brackets);
    match (least, most) {
        (0, None) => body.saturating_add(1),
        (least, None) => body.saturating_mul(least),
        (least, Some(most)) => {
            let more = most - least.min(most);
            let optional = body.saturating_add(1 + BRACKETS).saturating_mul(more);
            body.saturating_mul(least)
                .saturating_add(optional.saturating_sub(BRACKETS * more.min(1)))
        }
    }
}
