//! From a URL to a backend.

use std::path::Path;
use std::sync::Arc;

use super::Db;
#[cfg(feature = "native")]
use super::options::Durability;
use super::options::OpenOptions;
use super::url::{self, Address};
use crate::backend::Backend;
use crate::error::{Error, ErrorKind, Result};

/// Opens the database at this URL.
pub(super) async fn open(url: &str, options: &OpenOptions) -> Result<Db> {
    match url::parse(url)? {
        Address::Native {
            directory,
            database,
            durability,
            create,
            read_only,
        } => {
            let options = options.clone().or(durability, create, read_only);
            let backend = native(directory.as_deref(), &options).await?;
            Ok(Db::from_backend(traced(backend, &options), database))
        }
        Address::MongoDb { url } => {
            let (backend, database) = mongodb(&url, options).await?;
            url::check_database_name(&database)?;
            if options.is_read_only() {
                let text = "a database is opened for reading only by the embedded engine; MongoDB has users who may only read";
                return Err(Error::new(ErrorKind::Unsupported, text).with_backend(backend.name()));
            }
            Ok(Db::from_backend(traced(backend, options), database))
        }
    }
}

#[cfg(feature = "tracing")]
fn traced(backend: Arc<dyn Backend>, options: &OpenOptions) -> Arc<dyn Backend> {
    Arc::new(crate::backend::wrap::Traced::new(
        backend,
        options.chosen_slow_operation(),
    ))
}

#[cfg(not(feature = "tracing"))]
fn traced(backend: Arc<dyn Backend>, _options: &OpenOptions) -> Arc<dyn Backend> {
    backend
}

/// Tells of what fails where nobody waits for it.
#[cfg(all(feature = "native", feature = "tracing"))]
fn tell(error: &Error) {
    tracing::warn!(target: "odm", operation = error.operation(), error = %error, "expired documents stay");
}

#[cfg(all(feature = "native", not(feature = "tracing")))]
fn tell(_error: &Error) {}

#[cfg(feature = "native")]
async fn native(directory: Option<&Path>, options: &OpenOptions) -> Result<Arc<dyn Backend>> {
    let opening = crate::native::Opening {
        expiry: options.chosen_expiry_interval(),
        cache_bytes: options.chosen_cache_size(),
        transaction_lifetime: options.chosen_transaction_lifetime(),
        read_only: options.is_read_only(),
        changes: options.chosen_change_log(),
        warn: tell,
    };
    match directory {
        None if options.is_read_only() => Err(Error::new(
            ErrorKind::InvalidArgument,
            "`memory:` is always new and empty: there is nothing to be read only",
        )),
        None => crate::native::open_memory(opening),
        Some(directory) => {
            let durability = options.chosen_durability().unwrap_or(Durability::Immediate);
            crate::native::open_directory(directory, durability, options.creates_if_missing(), opening)
        }
    }
}

#[cfg(not(feature = "native"))]
async fn native(_directory: Option<&Path>, _options: &OpenOptions) -> Result<Arc<dyn Backend>> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "`memory:` and `native:` need the cargo feature `native` of `odm`, which this build leaves out",
    ))
}

#[cfg(feature = "mongodb")]
async fn mongodb(url: &str, options: &OpenOptions) -> Result<(Arc<dyn Backend>, String)> {
    crate::mongodb::open(url, options.chosen_app_name()).await
}

#[cfg(not(feature = "mongodb"))]
async fn mongodb(_url: &str, _options: &OpenOptions) -> Result<(Arc<dyn Backend>, String)> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "`mongodb:` URLs need the cargo feature `mongodb` of `odm`, which this build leaves out",
    ))
}
