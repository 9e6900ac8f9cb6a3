//! Looking at the log of changes.

use std::ops::ControlFlow;

use crate::native::document::validate;
use crate::native::fault::Result;
use crate::native::storage::format::{ChangeKey, LogHead, hex, unseal_change};
use crate::native::storage::{ALL, TreeId, Trees};

/// Looks at every change that is kept; `problem` is told what is wrong.
///
/// The bytes that were logged before a change are those before the one before it and its own: a change that is
/// missing in the middle is found out by that.
///
/// # Errors
/// The log cannot be read.
pub(in super::super) fn check(trees: &dyn Trees, problem: &mut dyn FnMut(String)) -> Result<()> {
    let mut head = None;
    let mut last: Option<(ChangeKey, u64)> = None;
    let mut damaged = false;
    trees.scan(TreeId::CHANGES, ALL, false, &mut |key, stored| {
        let mut found = |text: String| problem(format!("change {}: {text}", hex(key)));
        if key == LogHead::KEY {
            match LogHead::unseal(stored) {
                Ok(found) => head = Some(found),
                Err(fault) => {
                    damaged = true;
                    found(fault.message().to_owned());
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        let (place, change) = match unseal_change(key, stored) {
            Ok(change) => change,
            Err(fault) => {
                // Where the next one begins is not known then.
                last = None;
                found(fault.message().to_owned());
                return Ok(ControlFlow::Continue(()));
            }
        };
        if validate(change.body).is_err() {
            found("not BSON".to_owned());
        }
        match head {
            Some(head) if place <= head.floor => found("it should have been removed".to_owned()),
            Some(_) => {}
            None if !damaged => {
                damaged = true;
                found("the log has no head".to_owned());
            }
            None => {}
        }
        if last.is_some_and(|(_, end)| end != change.before) {
            found("changes before it are missing".to_owned());
        }
        last = Some((place, change.before + (stored.len() + ChangeKey::BYTES) as u64));
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(head) = head {
        let newest = last.map_or(head.floor, |(key, _)| key);
        if newest < head.last && head.last > head.floor {
            problem("the newest changes of the log are missing".to_owned());
        }
    }
    Ok(())
}
