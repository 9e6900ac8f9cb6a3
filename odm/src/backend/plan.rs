//! What a plan, as a backend explains it, says of indexes.

use bson::{Bson, Document};

/// What is read of a plan in MongoDB's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlanReading {
    /// The names of the indexes that are read.
    pub(crate) indexes: Vec<String>,
    /// Whether the whole collection is read, or the whole of an index that has all of it: nothing bounds the
    /// search.
    pub(crate) reads_everything: bool,
    /// Whether what is found is sorted in memory.
    pub(crate) sorts_in_memory: bool,
}

impl PlanReading {
    /// Reads the chosen plans of an explanation, wherever in it they stand.
    pub(crate) fn of(explanation: &Document) -> PlanReading {
        let mut reading = PlanReading::default();
        reading.search(explanation);
        reading
    }

    fn search(&mut self, explanation: &Document) {
        for (name, value) in explanation {
            match value {
                Bson::Document(plan) if name == "winningPlan" => self.visit(plan),
                Bson::Document(inner) if name != "executionStats" => self.search(inner),
                Bson::Array(parts) if name != "rejectedPlans" => {
                    parts
                        .iter()
                        .filter_map(Bson::as_document)
                        .for_each(|part| self.search(part));
                }
                _ => {}
            }
        }
    }

    fn visit(&mut self, stage: &Document) {
        match stage.get_str("stage") {
            Ok("COLLSCAN") => self.reads_everything = true,
            Ok("IDHACK") => self.indexes.push("_id_".to_owned()),
            Ok("SORT") => self.sorts_in_memory = true,
            _ => {}
        }
        if let Ok(name) = stage.get_str("indexName") {
            if !self.indexes.iter().any(|known| known == name) {
                self.indexes.push(name.to_owned());
            }
            let first = stage
                .get_document("indexBounds")
                .ok()
                .and_then(|bounds| bounds.values().next())
                .and_then(Bson::as_array);
            let whole =
                |bound: &Bson| matches!(bound.as_str(), Some("[MinKey, MaxKey]" | "[MaxKey, MinKey]"));
            // A sparse index is chosen only where what it leaves out cannot match.
            let sparse = stage.get_bool("isSparse").unwrap_or(false);
            self.reads_everything |= !sparse && first.is_some_and(|bounds| bounds.iter().any(whole));
        }
        for (name, value) in stage {
            match value {
                // The plan of the slot-based engine has the stages one deeper.
                Bson::Document(inner) if matches!(name.as_str(), "inputStage" | "queryPlan") => {
                    self.visit(inner)
                }
                Bson::Array(inputs) if name == "inputStages" => {
                    inputs
                        .iter()
                        .filter_map(Bson::as_document)
                        .for_each(|input| self.visit(input));
                }
                _ => {}
            }
        }
    }
}
