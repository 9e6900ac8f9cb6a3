//! What an engine has done since it was opened, and what is open now.

use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::queue::Shared;
use super::view::{View, shielded};
use crate::native::fault::Result;
use crate::native::storage::format::{ChangeKey, LogHead};
use crate::native::storage::{Figures, Space, TreeId, Trees};

/// What the engine counts while it runs.
#[derive(Debug, Default)]
pub(super) struct Counts {
    commits: AtomicU64,
    writes: AtomicU64,
    largest_group: AtomicU64,
    views: Mutex<Views>,
}

/// The views that were made and may still be there.
#[derive(Debug, Default)]
struct Views {
    made: Vec<Weak<View>>,
    /// At this many those that are gone are forgotten.
    prune_at: usize,
}

const PRUNE_AT: usize = 64;

impl Counts {
    /// Counts a commit of so many writes.
    pub(super) fn note_commit(&self, writes: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
        self.largest_group.fetch_max(writes, Ordering::Relaxed);
    }

    /// How many commits there were.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(super) fn note_view(&self, view: &Arc<View>) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if views.made.len() >= views.prune_at.max(PRUNE_AT) {
            views.made.retain(|view| view.strong_count() > 0);
            views.prune_at = views.made.len() * 2;
        }
        views.made.push(Arc::downgrade(view));
    }
}

/// The figures of an engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) store: Figures,
    pub(crate) space: Option<Space>,
    /// Since the engine was opened, as the next two.
    pub(crate) commits: u64,
    /// Operations and transactions that were committed.
    pub(crate) writes: u64,
    /// The most of them in one commit.
    pub(crate) largest_group: u64,
    /// How often a view is held: by cursors, transactions and reads under way.
    pub(crate) readers: u64,
    /// Views that are held.
    pub(crate) views: u64,
    /// The age of the oldest of them.
    pub(crate) oldest_view: Option<Duration>,
    pub(crate) transactions: u64,
    pub(crate) changes: Option<Window>,
}

/// What is kept of the log of changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) log: [u8; 8],
    /// The place before the first change that is kept: what is resumed after an earlier one has lost some.
    pub(crate) floor: ChangeKey,
    pub(crate) last: ChangeKey,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// Takes the figures; with `space`, also what the file's bytes are used for, which reads most of it. The changes
/// that are kept are counted one by one.
pub(super) fn statistics(shared: &Arc<Shared>, space: bool) -> Result<Statistics> {
    let store = shared.store();
    let (readers, views, oldest_view) = readers(shared);
    let mut found = Statistics {
        store: shielded(|| store.figures())?,
        commits: shared.counts.commits(),
        writes: shared.counts.writes.load(Ordering::Relaxed),
        largest_group: shared.counts.largest_group.load(Ordering::Relaxed),
        readers,
        views,
        oldest_view,
        transactions: shared.claims().running() as u64,
        ..Statistics::default()
    };
    if space {
        found.space = shielded(|| store.space())?;
    }
    if let Some((head, bytes)) = shared.changes.window() {
        let mut entries = 0;
        let changes = (Bound::Excluded(LogHead::KEY), Bound::Unbounded);
        let view = shared.view()?;
        Trees::scan(&*view, TreeId::CHANGES, changes, false, &mut |_, _| {
            entries += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        found.changes = Some(Window {
            log: head.id,
            floor: head.floor,
            last: head.last,
            entries,
            bytes,
        });
    }
    Ok(found)
}

/// How often views are held, how many are, and the age of the oldest. The last commit's own view, which is kept
/// for whoever comes, does not count.
fn readers(shared: &Shared) -> (u64, u64, Option<Duration>) {
    let published = shared.published_view();
    let views = shared.counts.views.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = (0, 0, None);
    for view in views.made.iter().filter_map(Weak::upgrade) {
        // This one, and for the published one, its place and ours.
        let own = match &published {
            Some(published) if Arc::ptr_eq(published, &view) => 3,
            _ => 1,
        };
        let holders = Arc::strong_count(&view).saturating_sub(own) as u64;
        if holders > 0 {
            found.0 += holders;
            found.1 += 1;
            found.2 = found.2.max(Some(view.since.elapsed()));
        }
    }
    found
}
