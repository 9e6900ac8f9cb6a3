//! An action's operation while it is being put together.

use bson::RawDocumentBuf;

use crate::backend::Operation;
use crate::collection::Target;
use crate::error::{Error, Result};
use crate::lifecycle::{Settings, narrow};

/// An operation being put together, where it goes, and the first thing that went wrong on the way.
///
/// Operands are encoded as they are given, so that nothing typed is kept and awaiting only sends.
#[derive(Clone, Debug)]
pub(crate) struct Draft<O> {
    pub(crate) target: Target,
    pub(crate) operation: O,
    pub(crate) settings: Settings,
    failure: Option<Error>,
}

impl<O> Draft<O> {
    pub(crate) fn new(target: &Target, operation: O) -> Draft<O> {
        Draft {
            target: target.clone(),
            operation,
            settings: Settings::default(),
            failure: target.failure(),
        }
    }

    /// A draft whose filter may have failed to encode.
    pub(crate) fn with_filter(
        target: &Target,
        filter: Result<RawDocumentBuf>,
        operation: impl FnOnce(RawDocumentBuf) -> O,
    ) -> Draft<O> {
        let (filter, failure) = match filter {
            Ok(filter) => (filter, None),
            Err(error) => (RawDocumentBuf::new(), Some(error)),
        };
        let mut draft = Draft::new(target, operation(filter));
        draft.failure = draft.failure.or(failure);
        draft
    }

    /// The value, or nothing after the first failure, which running the action gives.
    pub(crate) fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }

    /// Whether nothing went wrong so far.
    pub(crate) fn is_sound(&self) -> bool {
        self.failure.is_none()
    }

    /// The same draft with another operation.
    pub(crate) fn map<P>(self, change: impl FnOnce(O) -> P) -> Draft<P> {
        Draft {
            target: self.target,
            operation: change(self.operation),
            settings: self.settings,
            failure: self.failure,
        }
    }
}

impl<O: Into<Operation>> Draft<O> {
    /// The operation and where it goes, or the first thing that went wrong.
    pub(crate) fn ready(self) -> Result<(Target, Operation)> {
        let mut operation = self.operation.into();
        let failure = match (self.failure, self.target.plan()) {
            (None, Some(plan)) => narrow(plan, &mut operation, self.settings.scope).err(),
            (failure, _) => failure,
        };
        match failure {
            Some(error) => Err(self.target.explain(error, operation.name())),
            None => Ok((self.target, operation)),
        }
    }
}
