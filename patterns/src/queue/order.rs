//! The one number that jobs of a state are sorted by.
//!
//! What it means depends on the state, so that one index over state and order serves every question that the queue asks:
//! among jobs that are ready, their place (lane, priority, when they are due); of those that are scheduled or failed,
//! or wait for their turn, when they are due; of those that run, when their lease ends; of those that are finished, when they can be pruned.

use std::time::Duration;

use odm::bson::DateTime;

/// The greatest number of lanes.
pub(super) const MAX_LANES: u8 = 64;

/// What is never pruned.
pub(super) const NEVER: i64 = i64::MAX;

const TIME_BITS: u32 = 48;
const LANE_SHIFT: u32 = TIME_BITS + 8;
const LAST_TIME: i64 = (1 << TIME_BITS) - 1;

/// What remains of a place when it is divided by this is when the job was due.
pub(super) const TIMES: i64 = 1 << TIME_BITS;

/// The place of a job among those that are ready: small ones first.
pub(super) fn place(lane: u8, priority: i8, due: DateTime) -> i64 {
    let behind = 127 - i64::from(priority);
    let time = due.timestamp_millis().clamp(0, LAST_TIME);
    (i64::from(lane) << LANE_SHIFT) | (behind << TIME_BITS) | time
}

/// The first place of a lane.
pub(super) fn lane(lane: u8) -> i64 {
    i64::from(lane) << LANE_SHIFT
}

/// The lane of a place.
pub(super) fn lane_of(place: i64) -> u8 {
    u8::try_from(place >> LANE_SHIFT).unwrap_or(0)
}

/// A time as an order.
pub(super) fn at(time: DateTime) -> i64 {
    time.timestamp_millis()
}

/// A length of time in the milliseconds that dates are counted in.
pub(super) fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}

/// A time so much later.
pub(super) fn later(time: DateTime, length: Duration) -> DateTime {
    DateTime::from_millis(time.timestamp_millis().saturating_add(millis(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_by_lane_then_priority_then_time() {
        let due = DateTime::from_millis;
        let sorted = [
            place(0, 127, due(9)),
            place(0, 5, due(1)),
            place(0, 5, due(2)),
            place(0, 0, due(-5)),
            place(0, 0, due(1)),
            place(0, -128, due(0)),
            place(0, -128, due(i64::MAX)),
            place(1, 127, due(0)),
            place(63, -128, due(i64::MAX)),
        ];
        assert!(sorted.is_sorted() && sorted[0] >= 0, "{sorted:?}");
        assert_eq!(
            (lane_of(sorted[0]), lane_of(sorted[7]), lane_of(sorted[8])),
            (0, 1, 63)
        );
        assert!(lane(1) <= sorted[7] && sorted[7] < lane(2) && sorted[6] < lane(1));
        assert_eq!(sorted[2] % TIMES, 2);
    }
}
