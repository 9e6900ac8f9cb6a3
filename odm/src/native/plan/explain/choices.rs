//! The parts of a plan that answer the branches of an `$or`, in the words of `explain`.

use super::super::candidate::{Candidate, Conjunct};
use super::super::stage::Stage;
use super::super::{Access, Plan, PlanRequest, flatten};
use super::scan::scan;
use super::{Arrangement, residue};
use crate::native::matcher::ast::{Node, Predicate};

/// Of a plan of more parts it is not looked at which conditions beside the choice all of them answer: all are shown as left.
const MOST_PARTS: usize = 64;

/// A part with the positions of the branches that it answers; without any it answers the whole filter.
pub(super) type Part<'a> = (&'a Access, &'a [usize]);

impl Plan {
    /// The stages of several parts, and what they leave to be asked of what all of them lead to. `root` is the filter that
    /// was planned.
    pub(super) fn branches(
        &self,
        parts: &[Part<'_>],
        request: &PlanRequest<'_>,
        root: &Node,
        is_covered: bool,
    ) -> (Vec<Stage>, Vec<Node>) {
        let members = residue::members(root);
        let at = members.iter().position(|member| matches!(member, Node::Or(_)));
        let choices: &[Node] = match at.map(|at| &members[at]) {
            Some(Node::Or(choices)) => choices,
            _ => &[],
        };
        let beside = members.iter().enumerate().filter(|(own, _)| Some(*own) != at);
        let beside: Vec<&Node> = beside.map(|(_, node)| node).collect();
        let mut is_left = vec![parts.len() > MOST_PARTS; beside.len()];
        let mut whole = Vec::new();
        let mut stages = Vec::with_capacity(parts.len());
        for (access, branches) in parts {
            let (stage, own) = match (*access, *branches) {
                (_, []) => {
                    // Values of one field, each by a scan of its own.
                    let (stage, own) = self.looked(access, request, root, is_covered);
                    whole = own;
                    stages.push(stage);
                    continue;
                }
                (Access::Index { .. }, [single]) if !choices.get(*single).is_some_and(is_leaf) => {
                    let choice = choices.get(*single).unwrap_or(&Node::Always);
                    self.looked(access, request, choice, is_covered)
                }
                (Access::Index { .. }, several) => leaves(access, several, choices, request, is_covered),
                (_, [single, ..]) => {
                    let choice = choices.get(*single).into_iter().cloned();
                    let all = choice.chain(beside.iter().map(|node| (*node).clone()));
                    self.looked(access, request, &flatten(all.collect()), is_covered)
                }
            };
            if let (Access::Index { index, bounds, .. }, true) = (*access, parts.len() <= MOST_PARTS) {
                let left = residue::of_scan(request, *index, bounds, &beside, is_covered);
                let left = || left.keys.iter().chain(&left.documents);
                for (node, is_left) in beside.iter().zip(&mut is_left) {
                    *is_left |= left().any(|own| std::ptr::eq(*own, *node));
                }
            }
            stages.push(match own.is_empty() {
                true => stage,
                false => Stage::new("FETCH")
                    .asking(self.left(access, request, &own))
                    .over(stage),
            });
        }
        let beside = beside.into_iter().zip(is_left);
        whole.extend(
            beside
                .filter(|(_, is_left)| *is_left && !choices.is_empty())
                .map(|(node, _)| node.clone()),
        );
        (stages, whole)
    }
}

/// Whether it is a single condition, which shares a scan with others.
fn is_leaf(choice: &Node) -> bool {
    match choice {
        Node::Field { predicate, .. } => !matches!(predicate, Predicate::ElementObject(_)),
        _ => false,
    }
}

/// The scan of single conditions, and what is left to be asked of what it leads to.
fn leaves(
    access: &Access,
    branches: &[usize],
    choices: &[Node],
    request: &PlanRequest<'_>,
    is_covered: bool,
) -> (Stage, Vec<Node>) {
    let Access::Index {
        index,
        reverse,
        bounds,
        ..
    } = access
    else {
        return (Stage::new("EOF"), Vec::new());
    };
    let (mut keys, mut documents) = (Vec::new(), Vec::new());
    for choice in branches.iter().filter_map(|branch| choices.get(*branch)) {
        let own = Candidate::new(request, *index, choice, &Conjunct::of(choice));
        let (_, own) = own.into_ranges();
        let left = residue::of_scan(request, *index, &own, &[choice], is_covered);
        keys.extend(left.keys.into_iter().cloned());
        documents.extend(left.documents.into_iter().cloned());
    }
    let any = |nodes: Vec<Node>| match nodes.is_empty() {
        true => Vec::new(),
        false => vec![Node::Or(nodes)],
    };
    let keys = any(keys);
    let keys: Vec<&Node> = keys.iter().collect();
    let stage = scan("IXSCAN", &request.indexes[*index], *reverse, bounds);
    (
        stage.asking(residue::filter(&keys, Arrangement::Paths(&[]))),
        any(documents),
    )
}
