//! Room on the line of numbers of nested sets: local relabelling.

use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::Result;
use super::graft::{Graft, What, full};
use super::identity::Identity;
use super::labels::{self, Gap};
use super::plan::Plan;

/// One end of a node's interval.
#[derive(Clone, Debug)]
struct End {
    id: Bson,
    number: i64,
    is_left: bool,
}

impl Core {
    /// Moves ends of intervals apart around a gap, as few as are needed, and gives numbers inside it.
    ///
    /// The window grows until the ends in it lie so far apart that it will not be needed again soon: the wider it is,
    /// the further.
    pub(super) async fn make_room_on_line(
        &self,
        gap: Gap,
        grafts: &[Graft],
        plan: &mut Plan,
    ) -> Result<Vec<i64>> {
        let count = grafts.len() * 2;
        let moved: std::collections::HashSet<Identity> = grafts
            .iter()
            .filter(|graft| matches!(graft.what, What::Stored(_)))
            .map(|graft| Identity::of(&graft.id))
            .collect();
        let mut width = 16 + count as u64 * 2;
        loop {
            let mut low = self.ends(gap.low, -1, width).await?;
            let mut high = self.ends(gap.high, 1, width).await?;
            let is_all = (low.len() as u64) < width && (high.len() as u64) < width;
            let first = (low.len() as u64 == width).then(|| low.pop()).flatten();
            let last = (high.len() as u64 == width).then(|| high.pop()).flatten();
            low.retain(|end| !moved.contains(&Identity::of(&end.id)));
            high.retain(|end| !moved.contains(&Identity::of(&end.id)));
            low.reverse();
            let inner = low.len() + count + high.len();
            let border = |end: Option<End>, far: i64| end.map_or(far, |end| end.number);
            // Half of all numbers at each side stay free for what comes before and behind.
            let (first, last) = (border(first, i64::MIN / 2), border(last, i64::MAX / 2));
            let numbers = labels::spread(first, last, inner);
            let apart = 1_i128 << (4 + width.ilog2() / 2).min(20);
            let is_wide = (i128::from(last) - i128::from(first)) / (inner as i128 + 1) >= apart;
            match numbers {
                Some(numbers) if is_wide || is_all => {
                    let start = low.len();
                    let around = low
                        .iter()
                        .zip(&numbers)
                        .chain(high.iter().zip(&numbers[start + count..]));
                    for (end, number) in around {
                        if end.number != *number {
                            plan.set(&end.id, self.end_field(end.is_left, *number));
                        }
                    }
                    return Ok(numbers[start..start + count].to_vec());
                }
                None if is_all => return Err(full()),
                _ => width *= 4,
            }
        }
    }

    fn end_field(&self, is_left: bool, number: i64) -> Document {
        match is_left {
            true => doc! { &self.layout.left: number },
            false => doc! { &self.layout.right: number },
        }
    }

    /// The ends from a number on, itself included, in a direction; so many at the most. None without a number, since
    /// the line ends there.
    async fn ends(&self, from: Option<i64>, direction: i32, width: u64) -> Result<Vec<End>> {
        let Some(from) = from else { return Ok(Vec::new()) };
        let layout = &self.layout;
        let operator = if direction > 0 { "$gte" } else { "$lte" };
        let mut ends = Vec::new();
        for (field, is_left) in [(&layout.left, true), (&layout.right, false)] {
            let filter = doc! { field: { operator: from } };
            for node in self.find(filter, Some(doc! { field: direction }), width).await? {
                let number = if is_left { node.left } else { node.right };
                if let Some(number) = number {
                    ends.push(End {
                        id: node.id,
                        number,
                        is_left,
                    });
                }
            }
        }
        ends.sort_by_key(|end| end.number * i64::from(direction));
        ends.truncate(usize::try_from(width).unwrap_or(usize::MAX));
        Ok(ends)
    }
}
