//! Writes to a directory until it is killed, for `tests/crash.rs`: `crash-writer write DIRECTORY RUN`, or only
//! holds it open: `crash-writer hold DIRECTORY`.

use std::error::Error;
use std::io::{Read as _, Write as _};

use odm::{Db, Durability};
use odm_tests::crash::{self, Account, Line, Parcel, Step, Transfer, WORKERS};
use odm_tests::random::Random;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (verb, directory) = match arguments.as_slice() {
        [verb, directory, ..] => (verb.as_str(), directory),
        _ => return Err("usage: crash-writer (write DIRECTORY RUN | hold DIRECTORY)".into()),
    };
    let options = Db::options().durability(Durability::Immediate);
    let db = options.open(&format!("native:{directory}")).await?;
    say(Line::Ready)?;
    if verb == "hold" {
        std::io::stdin().read_exact(&mut [0])?;
        return Ok(());
    }
    let run: i64 = arguments.get(2).ok_or("which run?")?.parse()?;
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| tokio::spawn(Worker::new(&db, run, worker).work()))
        .collect();
    for worker in workers {
        // A worker ends only by an error.
        if let Err(error) = worker.await? {
            eprintln!("the writer failed: {error}");
            std::process::exit(3);
        }
    }
    Ok(())
}

/// Writes a line whole, past any buffer: what is in the pipe survives the kill.
fn say(line: Line) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(line.to_string().as_bytes())?;
    out.flush()
}

struct Worker {
    db: Db,
    number: i64,
    random: Random,
    next: i64,
    /// The worker's own parcels of this run, with their versions.
    parcels: Vec<(i64, i64)>,
}

impl Worker {
    fn new(db: &Db, run: i64, number: i64) -> Worker {
        Worker {
            db: db.clone(),
            number,
            random: Random::new((run * WORKERS + number) as u64),
            next: (run * WORKERS + number) << 24,
            parcels: Vec::new(),
        }
    }

    async fn work(mut self) -> odm::Result<()> {
        loop {
            let step = self.choose();
            say(Line::Begun(self.number, step)).map_err(broken_pipe)?;
            self.run(step).await?;
            say(Line::Done(self.number)).map_err(broken_pipe)?;
        }
    }

    fn choose(&mut self) -> Step {
        let id = self.next;
        self.next += crash::BATCH;
        let choice = self.random.below(10);
        if self.parcels.is_empty() || choice < 3 {
            self.parcels.push((id, 1));
            return Step::Insert { id };
        }
        let at = self.random.below(self.parcels.len());
        match choice {
            3 => {
                self.parcels.extend((id..id + crash::BATCH).map(|id| (id, 1)));
                Step::Batch { first: id }
            }
            4..=5 => {
                let (id, version) = &mut self.parcels[at];
                *version += 1;
                Step::Update {
                    id: *id,
                    version: *version,
                }
            }
            6 => Step::Delete {
                id: self.parcels.swap_remove(at).0,
            },
            _ => {
                let from = self.random.below(crash::ACCOUNTS as usize) as i64;
                Step::Transfer {
                    id,
                    from,
                    to: (from + 1 + self.random.below(crash::ACCOUNTS as usize - 1) as i64) % crash::ACCOUNTS,
                    amount: 1 + self.random.below(50) as i64,
                }
            }
        }
    }

    async fn run(&self, step: Step) -> odm::Result<()> {
        let parcels = self.db.collection::<Parcel>();
        match step {
            Step::Insert { id } => parcels.insert(Parcel::new(id, 1)).await.map(drop),
            Step::Batch { first } => {
                let batch: Vec<_> = (first..first + crash::BATCH)
                    .map(|id| Parcel::new(id, 1))
                    .collect();
                parcels.insert_many(&batch).await.map(drop)
            }
            Step::Update { id, version } => {
                let (label, body) = (crash::label(id, version), crash::body(id, version));
                let updated = parcels.update_one(
                    |p| p.id.eq(id),
                    |p| p.version.set(version) & p.label.set(label) & p.body.set(body),
                );
                updated.await.map(drop)
            }
            Step::Delete { id } => parcels.delete(id).await.map(drop),
            Step::Transfer { id, from, to, amount } => {
                self.db
                    .transaction(async |tx| {
                        let accounts = tx.collection::<Account>();
                        accounts
                            .update_one(|a| a.id.eq(from), |a| a.balance.inc(-amount))
                            .await?;
                        accounts
                            .update_one(|a| a.id.eq(to), |a| a.balance.inc(amount))
                            .await?;
                        let transfer = Transfer { id, from, to, amount };
                        tx.collection::<Transfer>().insert(transfer).await.map(drop)
                    })
                    .await
            }
        }
    }
}

fn broken_pipe(error: std::io::Error) -> odm::Error {
    odm::Error::new(odm::ErrorKind::Io, "nobody listens").with_source(error)
}
