//! When a version was the current one.

use odm::bson::{DateTime, Document};

use crate::keyed::Keyed;

/// The `_id`s of the history.
pub(super) const RECORDS: Keyed = Keyed {
    owner: "of",
    number: "version",
};

/// A version of a document, and from when until when it was the current one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VersionInfo {
    /// The version.
    pub version: i64,
    /// Since when: the date of the field with `#[odm(updated)]`, otherwise when the version before it was copied. `None`
    /// for the first that is kept, of a model without such a field.
    pub from: Option<DateTime>,
    /// Until when: when the next one began, or it was deleted. `None` for the current one.
    pub until: Option<DateTime>,
    /// Whether the document was deleted then, and perhaps restored later.
    pub was_deleted: bool,
    /// Whether this is the current one.
    pub is_current: bool,
}

/// One entry of a history, without the document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) version: i64,
    from: Option<DateTime>,
    until: Option<DateTime>,
    deleted: Option<DateTime>,
    restored: Option<DateTime>,
}

impl Mark {
    pub(super) fn read(record: &Document) -> Mark {
        let date = |field| record.get_datetime(field).ok().copied();
        Mark {
            version: RECORDS.number_of(record),
            from: date("from"),
            until: date("until"),
            deleted: date("deleted"),
            restored: date("restored"),
        }
    }

    pub(super) fn current(version: i64, from: Option<DateTime>) -> Mark {
        Mark {
            version,
            from,
            until: None,
            deleted: None,
            restored: None,
        }
    }
}

/// What these marks say, in the order of versions, with the current one last if there is one.
pub(super) fn timeline(marks: &[Mark], has_current: bool) -> Vec<VersionInfo> {
    let mut versions: Vec<VersionInfo> = Vec::with_capacity(marks.len());
    for (index, mark) in marks.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| marks.get(index));
        let next = marks.get(index + 1);
        let since_copy = before
            .filter(|before| before.version + 1 == mark.version)
            .and_then(|before| before.restored.or(before.until));
        let is_current = has_current && next.is_none();
        // A deletion counts when the document is not there now, or was brought back. Otherwise somebody changed it at the
        // very time, and won.
        let deleted = mark.deleted.filter(|_| match next {
            None => !has_current,
            Some(_) => mark.restored.is_some(),
        });
        let next_from = next
            .filter(|next| next.version == mark.version + 1)
            .and_then(|next| next.from);
        versions.push(VersionInfo {
            version: mark.version,
            from: mark.from.or(since_copy),
            until: match is_current {
                true => None,
                false => deleted.or(next_from).or(mark.until),
            },
            was_deleted: deleted.is_some(),
            is_current,
        });
    }
    versions
}
