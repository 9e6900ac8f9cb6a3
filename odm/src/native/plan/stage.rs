//! What a plan does, as the tree of stages that `explain` shows.

use super::super::document::Owned;
use super::super::document::owned::Fields;

/// A stage with those that it takes from.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    name: &'static str,
    /// The conditions that it asks.
    filter: Option<Owned>,
    fields: Fields,
    /// How many it gave, and what it did for them, once it has run.
    returned: Option<u64>,
    counts: Fields,
    inputs: Vec<Stage>,
    /// Whether it may take from several.
    is_joining: bool,
}

impl Stage {
    pub(crate) fn new(name: &'static str) -> Stage {
        Stage {
            name,
            filter: None,
            fields: Vec::new(),
            returned: None,
            counts: Vec::new(),
            inputs: Vec::new(),
            is_joining: false,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn asking(self, filter: Option<Owned>) -> Stage {
        Stage { filter, ..self }
    }

    /// With what there is to tell of it before it runs.
    pub(crate) fn with(mut self, name: &str, value: Owned) -> Stage {
        self.fields.push((name.to_owned(), value));
        self
    }

    /// Above the stage.
    pub(crate) fn over(mut self, input: Stage) -> Stage {
        self.inputs = vec![input];
        self
    }

    /// Above the stages, of which there may be any number.
    pub(crate) fn joining(mut self, inputs: Vec<Stage>) -> Stage {
        self.is_joining = true;
        self.inputs = inputs;
        self
    }

    /// The first of the stages that it takes from, or itself where it takes from none.
    pub(crate) fn into_input(mut self) -> Stage {
        match self.inputs.is_empty() {
            true => self,
            false => self.inputs.swap_remove(0),
        }
    }

    pub(crate) fn inputs(&self) -> &[Stage] {
        &self.inputs
    }

    pub(crate) fn inputs_mut(&mut self) -> &mut [Stage] {
        &mut self.inputs
    }

    pub(crate) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// How many it has given.
    pub(crate) fn returned(&self) -> u64 {
        self.returned.unwrap_or(0)
    }

    /// Has it say how many it has given.
    pub(crate) fn set_returned(&mut self, returned: u64) {
        self.returned = Some(returned);
    }

    /// Has it say what it did.
    pub(crate) fn count(&mut self, name: &str, value: Owned) {
        self.counts.push((name.to_owned(), value));
    }

    /// Whether documents are skipped before they are read.
    pub(crate) fn skips_keys(&self) -> bool {
        let of_keys = ["IXSCAN", "DISTINCT_SCAN", "OR", "SORT_MERGE"];
        self.inputs
            .iter()
            .any(|input| (self.name == "SKIP" && of_keys.contains(&input.name)) || input.skips_keys())
    }

    /// Whether it, or one that it takes from, has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.name == name || self.inputs.iter().any(|input| input.has(name))
    }

    /// As a document; what it has done is told where it has run.
    pub(crate) fn shown(self) -> Owned {
        let mut shown: Fields = vec![("stage".to_owned(), Owned::String(self.name.to_owned()))];
        shown.extend(self.filter.map(|filter| ("filter".to_owned(), filter)));
        if let Some(returned) = self.returned {
            shown.push(("nReturned".to_owned(), figure(returned)));
        }
        shown.extend(self.fields);
        shown.extend(self.counts);
        let mut inputs: Vec<Owned> = self.inputs.into_iter().map(Stage::shown).collect();
        if self.is_joining {
            shown.push(("inputStages".to_owned(), Owned::Array(inputs)));
        } else if let Some(input) = inputs.pop() {
            shown.push(("inputStage".to_owned(), input));
        }
        Owned::Document(shown)
    }
}

/// A number of documents or keys, in the smallest type that holds it.
pub(crate) fn figure(count: u64) -> Owned {
    match i32::try_from(count) {
        Ok(count) => Owned::Int32(count),
        Err(_) => Owned::Int64(i64::try_from(count).unwrap_or(i64::MAX)),
    }
}
