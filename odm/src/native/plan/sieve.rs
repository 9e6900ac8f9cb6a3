//! Conditions that are asked of the keys of an index, before what they lead to is read.

use super::super::matcher::Matcher;
use super::super::matcher::ast::{Node, Predicate};
use super::super::needs::Needs;
use super::cover::{Cover, Made, add_filter, only_index};
use super::{Plan, PlanRequest};

/// What is asked of keys.
#[derive(Debug)]
pub(crate) struct Sieve {
    cover: Cover,
    matcher: Matcher,
}

impl Plan {
    /// The plan with what a server asks of the keys of its index, where bounds do not say it and the documents must be read.
    pub(crate) fn sieving(mut self, request: &PlanRequest<'_>) -> Plan {
        if !self.exact && !self.by_id && self.text.is_none() && self.cover.is_none() {
            self.sieve = self.sieve(request).map(Into::into);
        }
        self
    }

    fn sieve(&self, request: &PlanRequest<'_>) -> Option<Sieve> {
        let view = request.indexes.get(only_index(&self.access)?)?;
        if !view.definition.keeps_values() || view.is_multikey() {
            return None;
        }
        let mut needs = Needs::default();
        let mut is_told = |node: &Node| {
            let mut own = Needs::default();
            let is_told = is_loose(node)
                && add_filter(node, &mut own)
                && own
                    .paths()
                    .all(|path| view.definition.keys.iter().any(|key| key.path == path));
            if is_told {
                own.paths().for_each(|path| needs.add(path));
            }
            is_told
        };
        let matcher = request.matcher.only(&mut is_told)?;
        Some(Sieve {
            cover: Cover::of(view.definition, &needs)?,
            matcher,
        })
    }
}

impl Sieve {
    /// Whether a key may lead to what is looked for.
    pub(crate) fn passes(&self, key: &[u8], types: &[u8], made: &mut Made) -> bool {
        // What fails is told of the document.
        !self.cover.make(key, types, made) || self.matcher.matches(made.doc()).unwrap_or(true)
    }
}

/// Whether bounds say less than the condition.
pub(super) fn is_loose(node: &Node) -> bool {
    fn is_loose_predicate(predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Regex(_) | Predicate::Mod { .. } | Predicate::Type(_) => true,
            Predicate::In { patterns, .. } => !patterns.is_empty(),
            Predicate::Not(inner) => is_loose_predicate(inner),
            Predicate::And(parts) => parts.iter().any(is_loose_predicate),
            _ => false,
        }
    }
    match node {
        Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(is_loose),
        Node::Field { predicate, .. } => is_loose_predicate(predicate),
        _ => false,
    }
}
