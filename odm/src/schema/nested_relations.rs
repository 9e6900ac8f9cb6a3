//! References inside of embedded documents, found by what types declare of their values.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{DeclaredRelation, ModelDescriptor, RelationDescriptor, RelationKind};
use crate::lifecycle::Declared;

/// How the path of a reference names what is in a map.
pub(crate) const EVERY: &str = "*";

/// The references of a model that stand deeper than its own fields: found once, kept as long as the process.
pub(super) fn nested_relations(model: &'static ModelDescriptor) -> &'static [DeclaredRelation] {
    type Found = HashMap<(&'static str, &'static str), &'static [DeclaredRelation]>;
    static FOUND: Mutex<Option<Found>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    let entry = found.entry((model.name, model.collection));
    entry.or_insert_with(|| {
        let mut search = Search::default();
        // The kinds of an enum have their own.
        if model.kinds.is_empty() {
            search.fields(model);
        }
        let relations = search.found.into_iter().map(|(path, relation)| {
            let path: &'static str = Box::leak(path.into_boxed_str());
            DeclaredRelation {
                model,
                field: path,
                stored: path,
                relation,
            }
        });
        Box::leak(relations.collect())
    })
}

#[derive(Default)]
struct Search {
    found: Vec<(String, RelationDescriptor)>,
    above: Vec<*const Declared>,
}

impl Search {
    /// Below the fields of the model, of which those that refer have descriptors of their own.
    fn fields(&mut self, model: &'static ModelDescriptor) {
        let declared = (model.declared)();
        let Declared::Document { fields, .. } = declared else {
            return;
        };
        let is_known = |name: &str| {
            let mut own = model.fields.iter();
            own.any(|field| field.stored == name && field.relation.is_some())
        };
        self.above.push(declared);
        for field in fields.iter().filter(|field| !is_known(field.name)) {
            self.inside(field.nested(), field.name.to_owned(), RelationKind::One);
        }
        self.above.pop();
    }

    fn inside(&mut self, declared: &'static Declared, path: String, kind: RelationKind) {
        // Types may hold themselves.
        if self.above.contains(&std::ptr::from_ref(declared)) {
            return;
        }
        let below = |name: &str| match (path.is_empty(), name.is_empty()) {
            (true, _) => name.to_owned(),
            (false, true) => path.clone(),
            (false, false) => format!("{path}.{name}"),
        };
        match declared {
            Declared::Nothing | Declared::Derived(_) => {}
            Declared::Refers(relation) => {
                if !self.found.iter().any(|(known, _)| *known == path) {
                    let mut relation = *relation;
                    relation.kind = kind;
                    self.found.push((path, relation));
                }
            }
            Declared::Document { fields, .. } => {
                self.above.push(declared);
                for field in *fields {
                    self.inside(field.nested(), below(field.name), kind);
                }
                self.above.pop();
            }
            Declared::Array(inner) => self.inside(inner(), path, many(kind)),
            Declared::Map(inner) => self.inside(inner(), below(EVERY), RelationKind::Map),
            Declared::Variants {
                content, variants, ..
            } => {
                let path = below(content);
                self.above.push(declared);
                for variant in *variants {
                    self.inside(variant.nested(), path.clone(), kind);
                }
                self.above.pop();
            }
        }
    }
}

fn many(kind: RelationKind) -> RelationKind {
    match kind {
        RelationKind::One => RelationKind::Many,
        kind => kind,
    }
}
