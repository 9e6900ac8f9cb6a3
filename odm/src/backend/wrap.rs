//! Wrappers around a backend: an operation log, fault injection, and a watch for scans.
//!
//! They wrap any backend, and the transactions that it begins. Use them through
//! [`Db::logged`](crate::Db::logged), [`Db::faulty`](crate::Db::faulty) and
//! [`Db::watch_scans`](crate::Db::watch_scans).

/// What a backend around another one passes on: its method `around` wraps what the inner one makes of itself.
macro_rules! passes_on {
    () => {
        fn connection(&self) -> Option<Arc<dyn ::std::any::Any + Send + Sync>> {
            self.inner.connection()
        }

        fn concerned(
            &self,
            concerns: $crate::backend::Concerns,
        ) -> Result<Option<Arc<dyn $crate::backend::Backend>>> {
            let inner = self.inner.concerned(concerns)?;
            Ok(inner.map(|inner| Arc::new(self.around(inner)) as Arc<dyn $crate::backend::Backend>))
        }

        fn concerns(&self) -> $crate::backend::Concerns {
            self.inner.concerns()
        }

        fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn $crate::backend::Session>>>> {
            Box::pin(async move {
                let inner = self.inner.session().await?;
                Ok(inner.map(|inner| Arc::new(self.around(inner)) as Arc<dyn $crate::backend::Session>))
            })
        }

        fn snapshot<'a>(
            &'a self,
            database: &'a str,
        ) -> BoxFuture<'a, Result<Option<Arc<dyn $crate::backend::Backend>>>> {
            Box::pin(async move {
                let inner = self.inner.snapshot(database).await?;
                Ok(inner.map(|inner| Arc::new(self.around(inner)) as Arc<dyn $crate::backend::Backend>))
            })
        }
    };
}
pub(crate) use passes_on;

/// The session of a backend around another one.
macro_rules! session_around {
    ($wrapper:ident) => {
        impl $crate::backend::Session for $wrapper<dyn $crate::backend::Session> {
            fn token(&self) -> BoxFuture<'_, Result<Option<::bson::RawDocumentBuf>>> {
                self.inner.token()
            }

            fn advance<'a>(&'a self, token: &'a ::bson::RawDocumentBuf) -> BoxFuture<'a, Result<()>> {
                self.inner.advance(token)
            }
        }
    };
}
pub(crate) use session_around;

mod faulty;
mod logged;
mod scanning;
#[cfg(test)]
mod tests;
#[cfg(feature = "tracing")]
mod traced;

pub use self::faulty::{Fault, Faults, Faulty};
pub use self::logged::{Log, LogEntry, Logged};
pub use self::scanning::{Scan, Scanning, Scans};
#[cfg(feature = "tracing")]
pub use self::traced::Traced;
