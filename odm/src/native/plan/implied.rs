//! Whether a filter implies another: a partial index may answer only filters that imply its expression.

use super::super::matcher::ast::{Node, Predicate};
use super::bounds::{Conjunct, conjuncts, of, requires_presence};

/// Whether everything that satisfies the conjuncts satisfies the node. May say no where the answer is yes.
pub(super) fn implies(query: &[Conjunct<'_>], node: &Node) -> bool {
    match node {
        Node::Always => true,
        Node::And(parts) => parts.iter().all(|part| implies(query, part)),
        Node::Or(parts) => {
            parts.iter().any(|part| implies(query, part))
                || query.iter().any(|own| match own {
                    Conjunct::Other(Node::Or(branches)) => branches.iter().all(|branch| {
                        let mut inner = Vec::new();
                        conjuncts(branch, &mut inner);
                        implies(&inner, node)
                    }),
                    _ => false,
                })
        }
        Node::Field { path, predicate } => implies_predicate(query, path.as_str(), predicate),
        _ => false,
    }
}

fn implies_predicate(query: &[Conjunct<'_>], path: &str, wanted: &Predicate) -> bool {
    if let Predicate::And(parts) = wanted {
        return parts.iter().all(|part| implies_predicate(query, path, part));
    }
    query.iter().any(|own| {
        let Conjunct::Path { path: own_path, bounds, predicate, .. } = own else { return false };
        if own_path != path {
            return false;
        }
        match wanted {
            Predicate::Exists => matches!(predicate, Predicate::Exists) || requires_presence(bounds),
            Predicate::Type(kinds) => matches!(predicate, Predicate::Type(own) if own == kinds),
            wanted => {
                let outer = of(wanted);
                outer.exact && !bounds.keys.is_none() && bounds.keys.is_within(&outer.keys)
            }
        }
    })
}
