//! What a command asks for, as the fault of a query that no plan answers tells it.

use super::super::super::catalog::Collection;
use super::super::super::collation::Collation;
use super::super::super::document::Doc;
use super::super::super::fault::Fault;
use super::Query;

/// Which part of the documents a command asks for: told by the fault of a query that no plan answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) batch_size: Option<u32>,
    /// 0 is no limit.
    pub(crate) limit: u64,
    pub(crate) skip: u64,
    /// The collation that is given, as it is told.
    pub(crate) collation: Option<String>,
    /// Whether the collation that strings are compared by is told, with all its settings.
    pub(crate) is_settled: bool,
}

impl Part {
    /// What a pipeline asks for.
    pub(crate) fn piped() -> Part {
        Part {
            is_settled: true,
            ..Part::default()
        }
    }

    /// One document.
    pub(crate) fn one(is_sorted: bool) -> Part {
        Part {
            limit: u64::from(is_sorted),
            ..Part::default()
        }
    }

    /// The same for an update, for which this collation is given, if one is: not that of what is updated.
    pub(crate) fn updated_by(self, collation: Option<&Collation>) -> Part {
        Part {
            collation: Some(settled(collation)),
            ..self
        }
    }

    /// The same, strings compared by the collation that is given here, if one is.
    pub(crate) fn by(self, collation: Option<Doc<'_>>) -> Part {
        Part {
            collation: collation
                .filter(|given| !given.is_empty())
                .map(|given| given.to_string()),
            ..self
        }
    }
}

/// The collation with all its settings.
fn settled(collation: Option<&Collation>) -> String {
    collation.unwrap_or(Collation::simple()).shown()
}

impl Query {
    /// The fault with what was asked for, if it is that no plan answers it.
    pub(in super::super) fn told(&self, collection: &Collection, fault: Fault) -> Fault {
        match fault.is_unplanned() {
            true => fault.prefixed(&self.asked_of(collection)),
            false => fault,
        }
    }

    /// What was asked for, before what is said of it.
    pub(in super::super) fn asked_of(&self, collection: &Collection) -> String {
        let Part {
            batch_size,
            limit,
            skip,
            ref collation,
            is_settled,
        } = self.part;
        let mut told = format!(
            "error processing query: ns={}.{}",
            collection.database, collection.name
        );
        if let Some(size) = batch_size {
            told.push_str(&format!(" batchSize={size}"));
        }
        for (name, number) in [("limit", limit), ("skip", skip)] {
            if number > 0 {
                told.push_str(&format!(" {name}={number}"));
            }
        }
        // An order that documents have anyway is none.
        let sort = self.sort.as_ref().filter(|sort| sort.natural.is_none());
        let sort = sort.map_or(Doc::empty(), |sort| sort.spec());
        let projection = self.projected.as_deref().map_or(Doc::empty(), Doc::Raw);
        told.push_str(&format!(
            "Tree: {}Sort: {sort}\nProj: {projection}\n",
            self.matcher.root().tree()
        ));
        let collation = match is_settled {
            true => Some(settled(self.collation.as_ref())),
            false => collation.clone(),
        };
        if let Some(collation) = collation {
            told.push_str(&format!("Collation: {collation}\n"));
        }
        told.push(' ');
        told
    }

    /// The same query, whose faults tell that this runs it.
    pub(crate) fn run_by(mut self, running: &'static str) -> Query {
        self.running = Some(running);
        self
    }

    /// A fault of a document that it came to.
    pub(in super::super) fn in_run(&self, fault: Fault) -> Fault {
        match self.running {
            Some(running) => fault.while_running(running),
            None => fault,
        }
    }
}
