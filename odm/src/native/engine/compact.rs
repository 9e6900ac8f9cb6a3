//! Giving unused space of the file back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::queue::Shared;
use super::view::{panic_text, shielded};
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::{Failure, Store};

/// What a compaction did, in bytes of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compacted {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// Writes the store anew without unused space. Writers wait, readers do not; a view that is held keeps the old
/// file's space until it goes.
///
/// # Errors
/// Class `Unsupported` without a file; `Corrupt` or `Io` when it cannot be read or the new one not be written:
/// nothing has changed then. `InDoubt` when it is not known which of the two is found after a power loss: nothing
/// is written any more until the engine is opened again.
pub(super) fn compact(shared: &Arc<Shared>) -> Result<Compacted> {
    shared.alone(|writer| {
        shared.check_writable().and_then(|()| {
            let store = shared.store();
            let before = size(&*store)?;
            let fresh = catch_unwind(AssertUnwindSafe(|| store.compacted()));
            let fresh = match fresh {
                Ok(Ok(Some(fresh))) => fresh,
                Ok(Ok(None)) => return Err(unsupported()),
                Ok(Err(Failure::Before(fault))) => return Err(fault),
                Ok(Err(Failure::InDoubt(fault))) => return Err(shared.fail(fault)),
                Err(panic) => {
                    return Err(shared.fail(Fault::of(
                        Class::InDoubt,
                        code::INTERNAL,
                        format!("the compaction failed: {}", panic_text(&*panic)),
                    )));
                }
            };
            drop(store);
            // Before anything that can fail: the old store is nobody's any more.
            shared.replace_store(writer, fresh);
            let after = size(&*shared.store())?;
            Ok(Compacted { before, after })
        })
    })
}

fn size(store: &dyn Store) -> Result<u64> {
    match shielded(|| store.figures())?.file {
        Some(file) => Ok(file.bytes),
        None => Err(unsupported()),
    }
}

fn unsupported() -> Fault {
    Fault::unsupported("there is no file to compact: memory is given back at once")
}
