//! An action's operation while it is being put together.

use bson::RawDocumentBuf;

use super::whose::Related;
use crate::backend::{self, Operation, ReadOptions};
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Settings, narrow, narrow_to, narrowed};

/// An operation being put together, where it goes, and the first thing that went wrong on the way.
///
/// Operands are encoded as they are given, so that nothing typed is kept and awaiting only sends.
#[derive(Clone, Debug)]
pub(crate) struct Draft<O> {
    pub(crate) target: Target,
    pub(crate) operation: O,
    pub(crate) settings: Settings,
    /// What is asked of related documents first.
    pub(super) related: Option<Box<Related>>,
    failure: Option<Error>,
}

impl<O> Draft<O> {
    pub(crate) fn new(target: &Target, operation: O) -> Draft<O> {
        Draft {
            target: target.clone(),
            operation,
            settings: Settings::default(),
            related: None,
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
            related: self.related,
            failure: self.failure,
        }
    }
}

impl Draft<ReadOptions> {
    /// What holds for queries, and where they go.
    pub(super) fn parts(self) -> Result<(Target, ReadOptions)> {
        match self.failure {
            Some(error) => Err(self.target.explain(error, "find")),
            None => Ok((self.target, self.operation)),
        }
    }
}

impl Draft<backend::Find> {
    /// The same with what is asked of related documents in its filter.
    ///
    /// # Errors
    /// As the queries for their keys.
    pub(super) async fn settled(mut self) -> Result<Draft<backend::Find>> {
        if let Some(related) = self.related.take()
            && self.failure.is_none()
        {
            let options = &self.operation.options;
            let node = related.resolve(&self.target, options).await;
            let filter = node.and_then(|node| narrowed(&self.operation.filter, &node.document()));
            self.operation.filter = filter.map_err(|error| self.target.explain(error, "find"))?;
        }
        Ok(self)
    }
}

impl<O: Into<Operation>> Draft<O> {
    /// The operation and where it goes, after what is asked of related documents, or the first thing that went wrong.
    pub(crate) async fn asked(mut self) -> Result<(Target, Operation)> {
        match self.related.take() {
            None => self.ready(),
            // Boxed: the futures of all other actions would keep room for it.
            Some(related) => Box::pin(self.narrowed_by(related)).await,
        }
    }

    async fn narrowed_by(self, related: Box<Related>) -> Result<(Target, Operation)> {
        let (target, mut operation) = self.ready()?;
        let name = operation.name();
        let filter = async {
            if operation.is_upsert() {
                let message =
                    "an upsert is not narrowed by related documents: await the filter, and give it that";
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            let node = related.resolve(&target, &operation.search_options()).await?;
            Ok(node.document())
        };
        let filter = filter.await;
        let narrowed = filter.and_then(|filter| narrow_to(&mut operation, &filter));
        narrowed.map_err(|error| target.explain(error, name))?;
        Ok((target, operation))
    }

    /// The operation and where it goes, or the first thing that went wrong.
    pub(crate) fn ready(self) -> Result<(Target, Operation)> {
        let mut operation = self.operation.into();
        if self.related.is_some() {
            let message = "this action does not ask related documents: await the filter, and give it that";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(self.target.explain(error, operation.name()));
        }
        let failure = match (self.failure, self.target.plan()) {
            (None, Some(plan)) => narrow(plan, &mut operation, self.settings.scope).err(),
            (failure, _) => failure,
        };
        let failure = match (failure, &self.settings.joins) {
            (None, Some(joins)) => joins.confine(&self.target, &mut operation).err(),
            (failure, _) => failure,
        };
        match failure {
            Some(error) => Err(self.target.explain(error, operation.name())),
            None => Ok((self.target, operation)),
        }
    }
}
