//! How a database is opened.

use std::fmt;
use std::time::Duration;

use super::memory_limit::memory_limit;
use super::{Db, opener};
use crate::error::Result;

/// When the embedded engine's acknowledged writes are safe from a power loss. MongoDB has its write concern
/// instead, which the URL sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// An acknowledged write is on the disk. The default for files.
    Immediate,
    /// An acknowledged write is on the disk after at most this time; a crash of the process alone loses
    /// nothing that was written out. MongoDB's class `j: false` is 100 ms.
    Interval(Duration),
    /// Nothing is promised: the operating system writes when it likes. What `memory:` has.
    None,
}

/// How much of its changes the embedded engine keeps for [change streams](crate::ChangeStream). MongoDB has its
/// oplog instead.
///
/// Nothing is kept before the first watch on a database's engine, and writes cost what they cost without. From
/// then on, also after it is opened again, each change is logged with the commit that makes it, until it leaves
/// the window: 64 MiB and 24 hours unless said otherwise. A stream that comes later than that, because it reads
/// too slowly or was not resumed in time, gets an error of kind [`HistoryLost`](crate::ErrorKind::HistoryLost).
///
/// ```no_run
/// # async fn example() -> odm::Result<()> {
/// use std::time::Duration;
/// use odm::{ChangeLog, Db};
///
/// let log = ChangeLog::new().bytes(256 << 20).age(Duration::from_secs(3 * 24 * 3600));
/// let db = Db::options().change_log(log).open("native:./library").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ChangeLog {
    bytes: u64,
    age: Option<Duration>,
    off: bool,
}

impl Default for ChangeLog {
    fn default() -> ChangeLog {
        ChangeLog {
            bytes: 64 * 1024 * 1024,
            age: Some(Duration::from_secs(24 * 60 * 60)),
            off: false,
        }
    }
}

impl ChangeLog {
    /// The default window.
    pub fn new() -> ChangeLog {
        ChangeLog::default()
    }

    /// No log: watching is unsupported, and what an earlier opening logged is removed.
    pub fn off() -> ChangeLog {
        ChangeLog {
            off: true,
            ..ChangeLog::default()
        }
    }

    /// About how many bytes of changes are kept. A large commit may exceed it for a while.
    pub fn bytes(self, bytes: u64) -> ChangeLog {
        ChangeLog { bytes, ..self }
    }

    /// How long changes are kept. Later writes remove what is older.
    pub fn age(self, age: Duration) -> ChangeLog {
        ChangeLog {
            age: Some(age),
            ..self
        }
    }

    /// Keeps changes however old they are, while there is room for them.
    pub fn any_age(self) -> ChangeLog {
        ChangeLog { age: None, ..self }
    }

    /// Whether there is no log.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// About how many bytes are kept.
    pub fn kept_bytes(&self) -> u64 {
        self.bytes
    }

    /// How long changes are kept, if that is limited.
    pub fn kept_age(&self) -> Option<Duration> {
        self.age
    }
}

/// How a database is opened: set what differs from the defaults, then [`open`](OpenOptions::open).
///
/// ```
/// # async fn example() -> odm::Result<()> {
/// use odm::{Db, Durability};
///
/// let db = Db::options()
///     .durability(Durability::Interval(std::time::Duration::from_millis(100)))
///     .open("native:./library")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct OpenOptions {
    durability: Option<Durability>,
    create_if_missing: Option<bool>,
    read_only: Option<bool>,
    app_name: Option<String>,
    change_log: ChangeLog,
    expiry_interval: Option<Duration>,
    cache_size: Option<usize>,
    transaction_lifetime: Option<Duration>,
    #[cfg(feature = "tracing")]
    slow_operation: Option<Duration>,
}

impl OpenOptions {
    /// The defaults.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// When acknowledged writes are safe (embedded engine only). Wins over the URL's `durability`.
    pub fn durability(mut self, durability: Durability) -> OpenOptions {
        self.durability = Some(durability);
        self
    }

    /// Whether a directory without a database becomes a new one (embedded engine only). `true` unless said
    /// otherwise here or by the URL's `create`.
    pub fn create_if_missing(mut self, create: bool) -> OpenOptions {
        self.create_if_missing = Some(create);
        self
    }

    /// Whether a database is opened to be read only (embedded engine only, and there in a directory). Wins over the URL's
    /// `readOnly`.
    ///
    /// Nothing in the directory is changed, so it may be on a disk that is full or read-only. What an unclean end left in
    /// the log is read into memory, as much as the log has. Several may read at a time, in this process and in others,
    /// while nobody has it open to write. Writes are `Unsupported`, expired documents stay.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, bson::doc};
    ///
    /// # let directory = std::env::temp_dir().join(format!("odm-read-only-{}", std::process::id()));
    /// # let url = format!("native:{}", directory.display());
    /// Db::open(&url).await?.raw_collection("books").insert(doc! {"_id": 1}).await?;
    ///
    /// let db = Db::options().read_only(true).open(&url).await?; // or Db::open("native:..?readOnly=true")
    /// assert_eq!(db.raw_collection("books").count(doc! {}).await?, 1);
    /// assert!(db.raw_collection("books").insert(doc! {"_id": 2}).await.unwrap_err().is_unsupported());
    /// # drop(db);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_only(mut self, read_only: bool) -> OpenOptions {
        self.read_only = Some(read_only);
        self
    }

    /// How much of its changes the embedded engine keeps for change streams.
    pub fn change_log(mut self, log: ChangeLog) -> OpenOptions {
        self.change_log = log;
        self
    }

    /// How often documents whose TTL index says that their time is over are looked for (embedded engine only): every
    /// 60 seconds unless said otherwise, as on MongoDB.
    pub fn expiry_interval(mut self, interval: Duration) -> OpenOptions {
        self.expiry_interval = Some(interval);
        self
    }

    /// How many bytes of a database's file are kept in memory at most, read and changed ones together (embedded engine on
    /// files only). Memory is taken as the file is used; beside it the engine needs some for what it is doing, and
    /// up to a forty-eighth as much to know where documents are by their `_id`.
    ///
    /// Unless said otherwise it is a quarter of the memory that this process may have (the machine's, or its control
    /// group's, whichever is less), but from 64 MiB to 2 GiB; 512 MiB on systems other than Linux. A page that is not kept
    /// costs a read of 4 KiB from the operating system: single reads of a database that fits take about half as long.
    ///
    /// ```
    /// # async fn example() -> odm::Result<()> {
    /// let db = odm::Db::options().cache_size(32 << 20).open("native:./small").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn cache_size(mut self, bytes: usize) -> OpenOptions {
        self.cache_size = Some(bytes);
        self
    }

    /// How long a transaction may run before it is aborted (embedded engine only): 60 seconds unless said otherwise, as
    /// on MongoDB, where the server's parameter `transactionLifetimeLimitSeconds` says it.
    ///
    /// What it held is free again then. Its next operation, or its commit, has the error that
    /// [`Db::transaction`] answers by running it again: code 251 with the label `TransientTransactionError`.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, bson::doc};
    ///
    /// let no_time = std::time::Duration::ZERO;
    /// let db = Db::options().transaction_lifetime(no_time).open("memory:").await?;
    /// let tx = db.begin().await?;
    /// let error = tx.raw_collection("books").insert(doc! {"_id": 1}).await.unwrap_err();
    /// assert_eq!(error.code(), Some(251));
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction_lifetime(mut self, limit: Duration) -> OpenOptions {
        self.transaction_lifetime = Some(limit);
        self
    }

    /// Operations that take this long or longer are events of level `WARN` for `tracing`, with the collection, the
    /// filter's shape, the number of documents and, of the embedded engine, the plan and how much it read; never with
    /// values. None are unless said so here. See [`Traced`](crate::backend::wrap::Traced).
    #[cfg(feature = "tracing")]
    pub fn slow_operation(mut self, threshold: Duration) -> OpenOptions {
        self.slow_operation = Some(threshold);
        self
    }

    /// The name that MongoDB writes in its log for this client.
    pub fn app_name(mut self, name: impl Into<String>) -> OpenOptions {
        self.app_name = Some(name.into());
        self
    }

    /// Opens the database at this URL; see [`Db::open`].
    ///
    /// # Errors
    /// As [`Db::open`].
    pub async fn open(&self, url: &str) -> Result<Db> {
        opener::open(url, self).await
    }

    /// The durability asked for, if one was.
    pub fn chosen_durability(&self) -> Option<Durability> {
        self.durability
    }

    /// Whether a missing database is created.
    pub fn creates_if_missing(&self) -> bool {
        self.create_if_missing.unwrap_or(true)
    }

    /// Whether nothing is to be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only.unwrap_or(false)
    }

    /// How much of its changes the embedded engine keeps.
    pub fn chosen_change_log(&self) -> ChangeLog {
        self.change_log
    }

    /// How often expired documents are looked for.
    pub fn chosen_expiry_interval(&self) -> Duration {
        self.expiry_interval.unwrap_or(Duration::from_secs(60))
    }

    /// How many bytes of a database's file are kept in memory.
    pub fn chosen_cache_size(&self) -> usize {
        self.cache_size
            .unwrap_or_else(|| cache_size_within(memory_limit()))
    }

    /// How long a transaction may run.
    pub fn chosen_transaction_lifetime(&self) -> Duration {
        self.transaction_lifetime.unwrap_or(Duration::from_secs(60))
    }

    /// How long an operation takes that is told as slow.
    #[cfg(feature = "tracing")]
    pub fn chosen_slow_operation(&self) -> Option<Duration> {
        self.slow_operation
    }

    /// The client's name, if one was given.
    pub fn chosen_app_name(&self) -> Option<&str> {
        self.app_name.as_deref()
    }

    /// The same options with the URL's choices where none was made here.
    pub(super) fn or(
        mut self,
        durability: Option<Durability>,
        create: Option<bool>,
        read_only: Option<bool>,
    ) -> OpenOptions {
        self.durability = self.durability.or(durability);
        self.read_only = self.read_only.or(read_only);
        self.create_if_missing = self.create_if_missing.or(create);
        self
    }
}

fn cache_size_within(memory: Option<u64>) -> usize {
    const SMALLEST: usize = 64 << 20;
    const USUAL: usize = 512 << 20;
    const LARGEST: usize = 2 << 30;
    match memory {
        Some(bytes) => usize::try_from(bytes / 4).map_or(LARGEST, |quarter| quarter.clamp(SMALLEST, LARGEST)),
        None => USUAL,
    }
}

// Backend options may hold credentials, so only their number is shown.
impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("durability", &self.durability)
            .field("create_if_missing", &self.create_if_missing)
            .field("read_only", &self.read_only)
            .field("app_name", &self.app_name)
            .field("change_log", &self.change_log)
            .field("expiry_interval", &self.expiry_interval)
            .field("cache_size", &self.cache_size)
            .field("transaction_lifetime", &self.transaction_lifetime)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_takes_a_quarter_of_the_memory_within_bounds() {
        let mib = |bytes: u64| cache_size_within(Some(bytes << 20)) >> 20;
        assert_eq!([1, 256, 1024, 4096, 1 << 40].map(mib), [64, 64, 256, 1024, 2048]);
        assert_eq!(cache_size_within(None), 512 << 20);
        assert_eq!(OpenOptions::new().cache_size(7).chosen_cache_size(), 7);
    }

    #[test]
    fn code_wins_over_the_url() {
        let options = OpenOptions::new().durability(Durability::None).or(
            Some(Durability::Immediate),
            Some(false),
            Some(true),
        );
        assert!(options.is_read_only());
        assert_eq!(options.chosen_durability(), Some(Durability::None));
        assert!(!options.creates_if_missing());
    }
}
