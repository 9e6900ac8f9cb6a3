//! Migrates a directory until it is done or killed, for `tests/crash_migrations.rs`:
//! `crash-migrator (up|down) (wait|break) DIRECTORY`.

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use odm::{Db, Durability};
use odm_tests::killed_migrations::migrations;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, lease, directory] = arguments.as_slice() else {
        return Err("usage: crash-migrator (up|down) (wait|break) DIRECTORY".into());
    };
    let options = Db::options().durability(Durability::Immediate);
    let db = options.open(&format!("native:{directory}")).await?;
    let mut out = std::io::stdout();
    out.write_all(b"ready\n")?;
    out.flush()?;
    let migrations = migrations()
        .lease(Duration::from_millis(300))
        .poll(Duration::from_millis(5));
    if lease == "break" {
        // Whoever had it was killed.
        migrations.break_lease(&db).await?;
    }
    match way.as_str() {
        "up" => migrations.run(&db).await?,
        _ => migrations.revert(&db, usize::MAX).await?,
    };
    Ok(())
}
