//! Mending a tree by its parent references.

use odm::bson::Bson;
use odm::{Error, ErrorKind};

use super::core::Core;
use super::error::{Result, TreeError};
use super::plan::Plan;
use super::problem::TreeProblem;

impl Core {
    pub(super) async fn verify(&self) -> Result<Vec<TreeProblem>> {
        Err(unsupported())
    }

    pub(super) async fn roll_forward_first(&self) -> Result<()> {
        if !self.db.in_transaction() {
            self.roll_forward().await?;
        }
        Ok(())
    }

    pub(super) async fn plan_repair(&self, _below: Option<&Bson>, _plan: &mut Plan) -> Result<()> {
        Err(unsupported())
    }

    pub(super) async fn number_densely(&self, _plan: &mut Plan) -> Result<()> {
        Err(unsupported())
    }
}

fn unsupported() -> TreeError {
    TreeError::Database(Error::new(ErrorKind::Unsupported, "trees are not mended yet"))
}
