//! A plan in the server's words.

use super::super::document::{Owned, Value};
use super::super::index::IndexDefinition;
use super::super::sort::SortSpec;
use super::{Access, Plan};

impl Plan {
    /// The winning plan as a document of stages.
    pub(crate) fn explain(&self, definitions: &[&IndexDefinition], sort: Option<&SortSpec>) -> Owned {
        let access = stage_of(&self.access, definitions);
        match sort.filter(|_| !self.sorted) {
            None => access,
            Some(sort) => {
                let pattern = sort
                    .fields
                    .iter()
                    .map(|field| (field.path.clone(), Owned::Int32(if field.descending { -1 } else { 1 })))
                    .collect();
                stage("SORT", vec![("sortPattern", Owned::Document(pattern)), ("inputStage", access)])
            }
        }
    }
}

fn stage(name: &str, fields: Vec<(&str, Owned)>) -> Owned {
    let mut all = vec![("stage".to_owned(), Owned::String(name.to_owned()))];
    all.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Owned::Document(all)
}

fn direction(reverse: bool) -> Owned {
    Owned::String(if reverse { "backward" } else { "forward" }.to_owned())
}

fn stage_of(access: &Access, definitions: &[&IndexDefinition]) -> Owned {
    match access {
        Access::Nothing => stage("EOF", Vec::new()),
        Access::Collection { reverse } => stage("COLLSCAN", vec![("direction", direction(*reverse))]),
        Access::Index { index, ranges, reverse } => {
            let Some(definition) = definitions.get(*index) else { return stage("IXSCAN", Vec::new()) };
            let pattern = Owned::from(Value::Document(definition.key_pattern()));
            let scan = stage(
                "IXSCAN",
                vec![
                    ("keyPattern", pattern),
                    ("indexName", Owned::String(definition.name.clone())),
                    ("isUnique", Owned::Bool(definition.unique)),
                    ("isSparse", Owned::Bool(definition.sparse)),
                    ("isPartial", Owned::Bool(definition.partial.is_some())),
                    ("direction", direction(*reverse)),
                    ("ranges", Owned::Int32(i32::try_from(ranges.len()).unwrap_or(i32::MAX))),
                ],
            );
            stage("FETCH", vec![("inputStage", scan)])
        }
        Access::Union(parts) => {
            let parts = parts.iter().map(|part| stage_of(part, definitions)).collect();
            stage("OR", vec![("inputStages", Owned::Array(parts))])
        }
    }
}
