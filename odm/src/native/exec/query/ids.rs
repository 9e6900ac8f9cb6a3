//! Queries for documents by their `_id`.

use super::super::super::document::Owned;
use super::super::super::index::ID_INDEX;
use super::super::super::matcher::ast::{Node, Predicate};
use super::super::super::plan::Plan;
use super::Query;

/// The `_id`s that are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ids<'a> {
    One(&'a Owned),
    /// In order and distinct.
    Many(&'a [Owned]),
}

impl<'a> Ids<'a> {
    fn of(predicate: &'a Predicate) -> Option<Ids<'a>> {
        match predicate {
            Predicate::Equal(id) => Some(Ids::One(id)),
            Predicate::In { values, patterns } if patterns.is_empty() => Some(Ids::Many(values)),
            _ => None,
        }
    }

    pub(super) fn values(self) -> &'a [Owned] {
        match self {
            Ids::One(id) => std::slice::from_ref(id),
            Ids::Many(ids) => ids,
        }
    }

    pub(super) fn plan(self, alone: bool) -> Option<Plan> {
        match self {
            Ids::One(id) => Plan::of_id(id, alone),
            Ids::Many(ids) => Plan::of_ids(ids, alone),
        }
    }
}

impl Query {
    /// The `_id`s when documents are asked for by them, in no order and by no other index, and whether nothing else is
    /// asked of them.
    pub(super) fn ids(&self) -> Option<(Ids<'_>, bool)> {
        let named = match &self.hint {
            None => false,
            Some(Owned::String(name)) if name == ID_INDEX => true,
            Some(_) => return None,
        };
        if self.sort.is_some() || self.edges.is_some() {
            return None;
        }
        match self.matcher.root() {
            Node::And(parts) => {
                let mut ids = parts.iter().filter_map(|part| match part {
                    Node::Field { path, predicate } if path.as_str() == "_id" => Some(predicate),
                    _ => None,
                });
                let only_fields = parts.iter().all(|part| matches!(part, Node::Field { .. }));
                match (ids.next().map(Ids::of)?, ids.next()) {
                    (Some(Ids::Many(_)), None) if !named => None,
                    (Some(ids), None) if only_fields => Some((ids, false)),
                    _ => None,
                }
            }
            Node::Field { path, predicate } if path.as_str() == "_id" => match Ids::of(predicate)? {
                // By an index that is named it is another plan.
                Ids::One(_) if named => None,
                ids => Some((ids, true)),
            },
            _ => None,
        }
    }
}
