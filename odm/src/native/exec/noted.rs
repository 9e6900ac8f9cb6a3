//! What is noted of plans.

use super::super::catalog::Collection;
use super::super::plan::{Access, Plan};
use super::super::tally::{self, Noted};

/// Notes a plan of the operation that this thread is at.
pub(super) fn planned(plan: &Plan, collection: &Collection) {
    tally::planned(|| {
        let mut noted = Noted {
            summary: String::new(),
            indexes: Vec::new(),
        };
        note(&mut noted, &plan.access, collection);
        if plan.by_id {
            noted.summary = "IDHACK".to_owned();
        }
        noted
    });
}

fn note(noted: &mut Noted, access: &Access, collection: &Collection) {
    let Noted { summary, indexes } = noted;
    let mut part = |own: &str| {
        if !summary.is_empty() {
            summary.push_str(", ");
        }
        summary.push_str(own);
    };
    match access {
        Access::Nothing => part("EOF"),
        Access::Collection { .. } => part("COLLSCAN"),
        Access::Index { index, .. } => match collection.indexes.get(*index) {
            Some(entry) => {
                part(&format!("IXSCAN {}", entry.definition.key_pattern()));
                indexes.push(entry.definition.name.clone());
            }
            None => part("IXSCAN"),
        },
        Access::Union(parts) => parts
            .iter()
            .for_each(|part| note(noted, &part.access, collection)),
        Access::Merge(streams) => {
            let parts = streams.iter().map(|stream| &stream.access);
            parts.for_each(|part| note(noted, part, collection));
        }
    }
}
