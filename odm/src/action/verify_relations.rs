//! Checking stored references.

use std::collections::VecDeque;

use super::setters::runs;
use crate::collection::Target;
use crate::error::Result;
use crate::lifecycle::Settings;
use crate::relation::{Audit, RelationProblem};
use crate::schema::ModelDescriptor;

/// Looks for references that are not as they were declared: `.await` gives all problems,
/// [`stream`](VerifyRelations::stream) one after the other, [`repair`](VerifyRelations::repair) repairs them.
///
/// Every document is read, with only its references; what these refer to is looked up with one query for each
/// relation and 500 documents. Only so much is in memory at once, beside the problems that `.await` gives. What is
/// written meanwhile may be seen or not.
///
/// Looked at are the fields of models that refer, in whatever shape, and declared copies ([`CopyOf`](crate::CopyOf)),
/// wherever they are; not other references in embedded documents.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct VerifyRelations {
    model: &'static ModelDescriptor,
    target: Target,
    /// Whether the models around it are looked at too.
    related: bool,
}

/// The problems of stored references, one after the other. Made by [`VerifyRelations::stream`].
pub struct RelationProblems {
    target: Target,
    audit: Audit,
    found: VecDeque<RelationProblem>,
}

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// How many problems are gone.
    pub repaired: u64,
    /// How many are still there, because nothing is declared that could repair them.
    pub left: u64,
}

impl VerifyRelations {
    pub(crate) fn new(model: &'static ModelDescriptor, target: &Target, related: bool) -> VerifyRelations {
        VerifyRelations {
            model,
            target: target.clone(),
            related,
        }
    }

    /// The problems, one after the other.
    ///
    /// # Errors
    /// A wrong declaration of a model.
    pub fn stream(self) -> Result<RelationProblems> {
        if let Some(failure) = self.target.failure() {
            return Err(self.target.explain(failure, "find"));
        }
        let mut audit = Audit::of(self.model, self.target.clone());
        if self.related {
            audit = audit.with_related()?;
        }
        Ok(RelationProblems {
            target: self.target,
            audit,
            found: VecDeque::new(),
        })
    }

    /// Repairs what can be repaired: a reference that dangles is treated as its delete rule says. Without such a rule,
    /// or with `deny`, it is left. Of a two-way reference that is there on one side only, the side that holds one
    /// reference counts; between two lists, what is missing is added; between two that hold one each, it is added where
    /// the other side is free, and taken away where it is not.
    ///
    /// A copy that differs from its source is made what that is now.
    ///
    /// One write for each relation and 500 documents, one for each document with stale copies of one source, and one for each link that is there on one side only. Each says
    /// again what it repairs, so a repair that was interrupted is simply started again.
    ///
    /// # Errors
    /// As any read and any write. What was repaired before stays repaired.
    pub async fn repair(self) -> Result<RepairReport> {
        let mut problems = self.stream()?;
        let mut report = RepairReport::default();
        while let Some(finding) = problems.audit.next().await? {
            for (target, operation) in finding.repairs {
                let name = operation.name();
                let result = target.write(operation, Settings::default()).await?.write()?;
                if let Some((_, error)) = result.errors.into_iter().next() {
                    return Err(target.explain(error, name));
                }
            }
            report.left += finding.left;
            report.repaired += finding.problems.len() as u64 - finding.left;
        }
        Ok(report)
    }

    async fn run(self) -> Result<Vec<RelationProblem>> {
        let mut problems = self.stream()?;
        let mut all = Vec::new();
        while let Some(problem) = problems.try_next().await? {
            all.push(problem);
        }
        Ok(all)
    }
}

runs!([] VerifyRelations => Vec<RelationProblem>);

impl RelationProblems {
    /// The next problem, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<RelationProblem>> {
        self.try_next().await.transpose()
    }

    /// The next problem, or `None` after the last.
    ///
    /// # Errors
    /// As any read.
    pub async fn try_next(&mut self) -> Result<Option<RelationProblem>> {
        while self.found.is_empty() {
            match self.audit.next().await? {
                Some(finding) => self.found.extend(finding.problems),
                None => return Ok(None),
            }
        }
        Ok(self.found.pop_front())
    }
}

impl std::fmt::Debug for RelationProblems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelationProblems")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
