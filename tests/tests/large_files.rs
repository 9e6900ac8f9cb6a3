//! A large file goes up and down with bounded memory: 96 MiB, or as many as `ODM_TEST_FILE_MIB` says.
//!
//! The memory is that of the whole process, the embedded engine included, as Linux counts it at its highest.

use futures_util::io::{AsyncRead, AsyncWrite};
use odm::Db;
use odm_patterns::gridfs::Bucket;
use odm_tests::harness::{Fixture, Target};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What the process may need beside what it had before.
const LIMIT_KIB: u64 = 64 << 10;

/// What the engine keeps of its file.
const CACHE: usize = 16 << 20;

/// Bytes that say where they are: no two chunks are equal.
struct Pattern {
    at: u64,
    end: u64,
}

fn byte(at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)).to_le_bytes()[0]
}

impl AsyncRead for Pattern {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, part: &mut [u8]) -> Poll<io::Result<usize>> {
        let count = (self.end - self.at).min(part.len() as u64);
        for (place, at) in part.iter_mut().zip(self.at..self.at + count) {
            *place = byte(at);
        }
        self.at += count;
        Poll::Ready(Ok(count as usize))
    }
}

/// Takes what is expected and nothing else.
impl AsyncWrite for Pattern {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, part: &[u8]) -> Poll<io::Result<usize>> {
        let at = self.at;
        if let Some(wrong) = part.iter().zip(at..).find(|(found, at)| **found != byte(*at)) {
            return Poll::Ready(Err(io::Error::other(format!("wrong at {}", wrong.1))));
        }
        self.at += part.len() as u64;
        Poll::Ready(Ok(part.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A line of the process's status, in KiB.
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

async fn up_and_down(db: &Db, mib: u64) {
    let bucket = Bucket::new(db);
    // What is there before any file: threads, indexes, caches of fixed size.
    bucket
        .upload("first")
        .bytes(&[0; 1000])
        .await
        .expect("it is stored");
    let before = status("VmRSS:");
    // The mark begins anew, where the system allows it.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let length = mib << 20;
    let file = bucket
        .upload("large")
        .from(Pattern { at: 0, end: length })
        .await
        .expect("it is stored");
    let up = status("VmHWM:");
    assert_eq!(file.length as u64, length);
    let mut sink = Pattern { at: 0, end: length };
    bucket
        .download(file.id.clone())
        .to(&mut sink)
        .await
        .expect("it is read");
    assert_eq!(sink.at, length);
    let last = bucket.download(file.id).range(length - 3..).bytes().await;
    assert_eq!(
        last.expect("it is read"),
        [byte(length - 3), byte(length - 2), byte(length - 1)]
    );
    let (Some(before), Some(up), Some(both), true) = (before, up, status("VmHWM:"), reset) else {
        println!("skipped: this system does not tell the memory of a process");
        return;
    };
    println!(
        "{} on {mib} MiB: {} KiB more up, {} KiB more up and down",
        db.backend_name(),
        up.saturating_sub(before),
        both.saturating_sub(before)
    );
    assert!(both.saturating_sub(before) < LIMIT_KIB);
}

#[test]
fn a_large_file_needs_little_memory() {
    let mib = std::env::var("ODM_TEST_FILE_MIB").ok();
    let mib = mib.and_then(|text| text.parse().ok()).unwrap_or(96);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("native:{}", directory.path().join("db").display());
        let db = Db::options()
            .cache_size(CACHE)
            .open(&url)
            .await
            .expect("it opens");
        up_and_down(&db, mib).await;
        drop(db);
        if let Some(fixture) = Fixture::open(Target::MongoDb).await {
            up_and_down(&fixture.db, mib).await;
            fixture.close().await;
        }
    });
}
