//! The server's clock.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use odm::bson::{DateTime, doc};
use odm::{Db, Error, ErrorKind, Result};

/// Gives a [`Db`] whose clock is the database server's, so that programs whose own clocks disagree agree on leases, due
/// times and dates.
///
/// It asks the server for its time (`localTime` of the command `hello`), takes half of the round trip for the way back, and
/// counts on from there by the system's monotonic clock: a program's wall clock that jumps is not noticed. Refresh it now and
/// then, since clocks drift, and the server's can jump: see [`refresh`](ServerClock::refresh).
///
/// ```
/// use odm::Db;
/// use odm_patterns::clock::ServerClock;
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let clock = ServerClock::of(&Db::open("memory:").await?).await?;
/// let db = clock.db();
/// println!("{} at the server, {:?} more or less", db.now(), clock.error());
/// # Ok(())
/// # }
/// ```
///
/// The embedded engine's clock is the system's.
#[derive(Clone)]
pub struct ServerClock {
    db: Db,
    measured: Arc<Mutex<Measured>>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    server: DateTime,
    at: Instant,
    error: Duration,
}

impl Measured {
    fn now(&self) -> DateTime {
        let passed = i64::try_from(self.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        DateTime::from_millis(self.server.timestamp_millis().saturating_add(passed))
    }
}

impl ServerClock {
    /// How many times the server is asked for one measurement.
    const SAMPLES: usize = 3;

    /// Measures the clock of a database's server. Three round trips, of which the fastest counts.
    ///
    /// # Errors
    /// As any operation; `Server` when it does not say its time.
    pub async fn of(db: &Db) -> Result<ServerClock> {
        Ok(ServerClock {
            db: db.clone(),
            measured: Arc::new(Mutex::new(measure(db).await?)),
        })
    }

    /// The database with this clock. Whatever is made of it, in transactions too, goes by the clock as it was refreshed
    /// last.
    pub fn db(&self) -> Db {
        let measured = self.measured.clone();
        self.db.with_clock(move || read(&measured).now())
    }

    /// What time it is at the server.
    pub fn now(&self) -> DateTime {
        read(&self.measured).now()
    }

    /// By how much the answer can be wrong, as far as the way to the server goes: half of the round trip.
    pub fn error(&self) -> Duration {
        read(&self.measured).error
    }

    /// How far the server's clock is ahead of this program's; negative when it is behind. In milliseconds.
    pub fn offset(&self) -> i64 {
        self.now().timestamp_millis() - DateTime::now().timestamp_millis()
    }

    /// How long ago the clock was measured.
    pub fn age(&self) -> Duration {
        read(&self.measured).at.elapsed()
    }

    /// Measures anew, for all databases that were [given](ServerClock::db). Three round trips.
    ///
    /// # Errors
    /// As [`of`](ServerClock::of); then it goes on as before.
    pub async fn refresh(&self) -> Result<()> {
        let measured = measure(&self.db).await?;
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = measured;
        Ok(())
    }

    /// Refreshes the clock again and again, for as long as it is polled; spawn it, or select it beside the program's work.
    /// What fails is tried again the next time.
    pub async fn keep_refreshing(&self, every: Duration) {
        loop {
            match Instant::now().checked_add(every) {
                Some(next) => odm::sleep_until(next).await,
                None => std::future::pending().await,
            }
            self.refresh().await.ok();
        }
    }
}

fn read(measured: &Mutex<Measured>) -> Measured {
    *measured.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn measure(db: &Db) -> Result<Measured> {
    let mut best: Option<Measured> = None;
    for _ in 0..ServerClock::SAMPLES {
        let asked = Instant::now();
        let reply = db.run_command(doc! { "hello": 1 }).await?;
        let error = asked.elapsed() / 2;
        let server = reply
            .get_datetime("localTime")
            .map_err(|_| Error::new(ErrorKind::Server, "the server does not say what time it is"))?;
        if best.is_none_or(|best| error < best.error) {
            best = Some(Measured {
                server: *server,
                at: asked + error,
                error,
            });
        }
    }
    best.ok_or_else(|| Error::new(ErrorKind::Server, "the server does not say what time it is"))
}

impl fmt::Debug for ServerClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerClock")
            .field("db", &self.db)
            .field("measured", &read(&self.measured))
            .finish()
    }
}
