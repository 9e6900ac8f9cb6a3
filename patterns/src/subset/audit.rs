//! Lists held against the children.

use odm::bson::{Bson, DateTime};
use odm::{Embedded, Model, Result};
use serde::Serialize;

use super::list::Subset;
use crate::dotted::{elements_at, value_at};
use crate::still::is_same;

/// What is wrong with a parent's list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubsetProblem {
    /// The parent's `_id`.
    pub id: Bson,
    /// What is wrong.
    pub kind: SubsetProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SubsetProblemKind {
    /// The list is not what the children say. [`Subset::repair`] makes it so.
    OutOfStep,
    /// Somebody was writing children, or is at it. [`Subset::resume`] takes old marks away.
    Pending {
        /// Since when.
        since: DateTime,
    },
}

impl<M: Model, C: Model, S: Embedded + Serialize + Send + 'static> Subset<M, C, S> {
    /// Holds the lists of all parents that are not softly deleted against their children. One query for each parent.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<SubsetProblem>> {
        let mut problems = Vec::new();
        let mut parents = self.parents.find_all().project_raw(self.projection()).stream();
        while let Some(parent) = parents.try_next().await? {
            let id = parent.get("_id").cloned().unwrap_or(Bson::Null);
            let should = self.first(&id).await?;
            let is = value_at(&parent, &self.list).and_then(Bson::as_array);
            let is = is.map_or(&[][..], Vec::as_slice);
            if is.len() != should.len() || !is.iter().zip(&should).all(|(is, should)| is_same(is, should)) {
                let kind = SubsetProblemKind::OutOfStep;
                problems.push(SubsetProblem { id: id.clone(), kind });
            }
            let marks = format!("{}.pending", self.state);
            let since = elements_at(&parent, &marks)
                .filter_map(|mark| mark.get_datetime("at").ok())
                .min();
            problems.extend(since.map(|since| SubsetProblem {
                id,
                kind: SubsetProblemKind::Pending { since: *since },
            }));
        }
        Ok(problems)
    }

    /// Brings the lists into step that are not; gives what is left: marks.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<SubsetProblem>> {
        let mut left = Vec::new();
        for problem in self.verify().await? {
            match problem.kind {
                SubsetProblemKind::OutOfStep => self.refresh_stored(&problem.id).await?,
                SubsetProblemKind::Pending { .. } => left.push(problem),
            }
        }
        Ok(left)
    }
}
