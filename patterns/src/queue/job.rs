//! What is queued.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Something that can be queued: any type of serde's, often an enum with a variant for each kind of job.
///
/// ```
/// use odm_patterns::queue::Job;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// enum Work {
///     Mail { to: String },
///     Report(i32),
/// }
///
/// impl Job for Work {
///     fn kind(&self) -> &str {
///         match self {
///             Work::Mail { .. } => "mail",
///             Work::Report(_) => "report",
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a job",
    label = "cannot be queued",
    note = "write `impl odm_patterns::queue::Job for ..{{}}`, on a type of your own; `String` and `bson::Document` are jobs"
)]
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What the job is called in the database and in statistics; it chooses the [retry policy](super::Options::retry_for).
    fn kind(&self) -> &str {
        "job"
    }
}

/// Plain documents can be queued as they are.
impl Job for odm::bson::Document {}

/// Plain texts can be queued as they are.
impl Job for String {}
