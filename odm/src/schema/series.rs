//! What a model of a time series cannot declare.

use super::ModelDescriptor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::Lifecycle;

impl ModelDescriptor {
    /// Whether what is declared of the documents can be done in a time series: there only what is said of the source can
    /// be changed, and only by filters on it.
    ///
    /// # Errors
    /// `Schema` naming the model and the field that would have to be changed or asked for.
    pub(crate) fn check_series(&self, lifecycle: &Lifecycle) -> Result<()> {
        let options = self.declared_options();
        let Ok(series) = options.options().get_document("timeseries") else {
            return Ok(());
        };
        let source = series.get_str("metaField").ok();
        let of_source = |field: &str| {
            source.is_some_and(|source| {
                let inside = field.strip_prefix(source);
                inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let tag = self.kind.map_or(self.tag, |kind| kind.tag);
        let refused = [
            (
                (!tag.is_empty()).then_some(tag),
                "the kinds of a time series are told apart by its source: its deletions and updates ask for nothing else",
            ),
            (
                lifecycle.soft_delete.map(|stamp| stamp.name),
                "the documents of a time series cannot be marked as deleted: only their source can be changed",
            ),
            (
                lifecycle.updated_name(),
                "the documents of a time series have no time of their last update: only their source can be changed",
            ),
            (
                lifecycle.version_name(),
                "the documents of a time series have no version that counts their updates: only their source can be changed",
            ),
        ];
        let refused = refused.into_iter().chain([(
            lifecycle.tenant_name(),
            "the tenants of a time series are told apart by its source: its deletions and updates ask for nothing else",
        )]);
        for (field, message) in refused {
            if let Some(field) = field.filter(|field| !of_source(field)) {
                return Err(Error::new(ErrorKind::Schema, message)
                    .with_model(self.name)
                    .with_path(field));
            }
        }
        Ok(())
    }
}
