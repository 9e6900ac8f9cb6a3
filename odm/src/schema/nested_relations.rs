//! References inside of embedded documents, found by what types declare of their values.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{DeclaredRelation, ModelDescriptor, RelationDescriptor, RelationKind};
use crate::lifecycle::Declared;
use crate::relation::Step;

/// How the path of a reference names what is in a map.
pub(crate) const EVERY: &str = "*";

/// The same after the name of a map.
pub(super) const VALUES_OF_FIELD: &str = ".*";

/// The references of a model that stand deeper than its own fields: found once, kept as long as the process.
pub(super) fn nested_relations(model: &'static ModelDescriptor) -> &'static [DeclaredRelation] {
    /// Models of one name and one collection can be two: those with the same functions are the same.
    type Key = (&'static str, &'static str, usize, usize);
    type Found = HashMap<Key, &'static [DeclaredRelation]>;
    static FOUND: Mutex<Option<Found>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    let functions = (model.declared as usize, model.references as usize);
    let entry = found.entry((model.name, model.collection, functions.0, functions.1));
    entry.or_insert_with(|| {
        let mut search = Search::default();
        // The kinds of an enum have their own.
        if model.kinds.is_empty() {
            search.fields(model);
        }
        let declared = (model.references)();
        let relations = search.found.into_iter().map(|found| {
            let (mut relation, kind) = (found.relation, found.kind());
            if let Some(declared) = declared.iter().find(|declared| declared.path == found.path) {
                let links = relation.links;
                relation = declared.relation;
                relation.links = links;
            }
            relation.kind = kind;
            let path: &'static str = Box::leak(found.path.into_boxed_str());
            DeclaredRelation {
                model,
                field: path,
                stored: path,
                relation,
                within: Some(Box::leak(found.steps.into_boxed_slice())),
            }
        });
        Box::leak(relations.collect())
    })
}

#[derive(Default)]
struct Search {
    found: Vec<Found>,
    steps: Vec<Step>,
    above: Vec<*const Declared>,
}

struct Found {
    path: String,
    steps: Vec<Step>,
    relation: RelationDescriptor,
}

impl Found {
    fn kind(&self) -> RelationKind {
        match (
            self.steps.contains(&Step::Values),
            self.steps.contains(&Step::Each),
        ) {
            (true, _) => RelationKind::Map,
            (false, true) => RelationKind::Many,
            (false, false) => RelationKind::One,
        }
    }
}

impl Search {
    /// Below the fields of the model, of which those that refer have descriptors of their own.
    fn fields(&mut self, model: &'static ModelDescriptor) {
        let declared = (model.declared)();
        let Declared::Document { fields, .. } = declared else {
            return;
        };
        let references = (model.references)();
        let is_known = |name: &str| {
            let mut own = model.fields.iter();
            let values = format!("{name}{VALUES_OF_FIELD}");
            own.any(|field| field.stored == name && field.relation.is_some())
                && !references.iter().any(|declared| declared.path == values)
        };
        self.above.push(declared);
        for field in fields.iter().filter(|field| !is_known(field.name)) {
            self.step(named(field.name), field.nested());
        }
        self.above.pop();
    }

    fn inside(&mut self, declared: &'static Declared) {
        // Types may hold themselves.
        if self.above.contains(&std::ptr::from_ref(declared)) {
            return;
        }
        match declared {
            Declared::Nothing | Declared::Untyped | Declared::Derived(_) => {}
            Declared::Refers(relation) => self.add(relation),
            Declared::Document { fields, .. } => {
                self.above.push(declared);
                for field in *fields {
                    self.step(named(field.name), field.nested());
                }
                self.above.pop();
            }
            Declared::Array(inner) => self.step(Some(Step::Each), inner()),
            Declared::Map(inner) => self.step(Some(Step::Values), inner()),
            Declared::Variants {
                content, variants, ..
            } => {
                self.above.push(declared);
                for variant in *variants {
                    self.step(named(content), variant.nested());
                }
                self.above.pop();
            }
        }
    }

    fn step(&mut self, step: Option<Step>, declared: &'static Declared) {
        let deeper = step.is_some();
        self.steps.extend(step);
        self.inside(declared);
        if deeper {
            self.steps.pop();
        }
    }

    fn add(&mut self, relation: &RelationDescriptor) {
        let path = self.steps.iter().filter_map(|step| match step {
            Step::Name(name) => Some(name.as_str()),
            Step::Each => None,
            Step::Values => Some(EVERY),
        });
        let path = path.collect::<Vec<_>>().join(".");
        if !self.found.iter().any(|known| known.path == path) {
            self.found.push(Found {
                path,
                steps: self.steps.clone(),
                relation: *relation,
            });
        }
    }
}

/// The step to a field; none to what is flattened.
fn named(name: &str) -> Option<Step> {
    (!name.is_empty()).then(|| Step::Name(name.to_owned()))
}
