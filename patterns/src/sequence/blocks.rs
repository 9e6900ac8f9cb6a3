//! Numbers by the block.

use futures_util::lock::Mutex;
use odm::Result;

use super::definition::{Number, Sequence};

/// A sequence whose numbers are fetched by the block and given out in memory: unique; in order only among those of one
/// `Blocks`; what is left of a block when it is dropped, or when the period ends, is a gap. See the [table](super).
///
/// Share it between tasks by an `Arc`; each program has its own.
#[derive(Debug)]
pub struct Blocks {
    sequence: Sequence,
    size: u32,
    left: Mutex<Option<Left>>,
}

#[derive(Debug)]
struct Left {
    period: Option<String>,
    next: i64,
    end: i64,
}

impl Blocks {
    pub(super) fn new(sequence: Sequence, size: u32) -> Blocks {
        Blocks {
            sequence,
            size: size.max(1),
            left: Mutex::new(None),
        }
    }

    /// The next number. One round trip for each block; several at once wait for the one that fetches. Cancel safety: a
    /// block that was under way is a gap.
    ///
    /// # Errors
    /// `InvalidArgument` when the sequence is of another kind. Other errors may have cost a block.
    pub async fn next(&self) -> Result<Number> {
        let period = self.sequence.label()?;
        let mut left = self.left.lock().await;
        if let Some(left) = left
            .as_mut()
            .filter(|left| left.period == period && left.next < left.end)
        {
            let value = left.next;
            left.next += 1;
            return Ok(Number { period, value });
        }
        let count = i64::from(self.size);
        let number = self.sequence.take(&self.sequence.db, "blocks", count).await?;
        *left = Some(Left {
            period: number.period.clone(),
            next: number.value + 1,
            end: number.value + count,
        });
        Ok(number)
    }

    /// How many numbers can be given without a round trip.
    pub async fn left(&self) -> u64 {
        let left = self.left.lock().await;
        let left = left.as_ref().map_or(0, |left| left.end - left.next);
        u64::try_from(left).unwrap_or(0)
    }
}
