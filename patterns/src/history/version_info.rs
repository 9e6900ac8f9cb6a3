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
    /// The last number that is its own: that of what stayed of it when it was deleted softly, if it was.
    last: i64,
    /// Whether this is what stays of a softly deleted document.
    is_gone: bool,
    from: Option<DateTime>,
    until: Option<DateTime>,
    deleted: Option<DateTime>,
    restored: Option<DateTime>,
}

impl Mark {
    pub(super) fn read(record: &Document) -> Mark {
        let date = |field| record.get_datetime(field).ok().copied();
        let version = RECORDS.number_of(record);
        if record.contains_key("gone") {
            return Mark::gone(version, date("gone"), date("until"));
        }
        Mark {
            version,
            last: version,
            is_gone: false,
            from: date("from"),
            until: date("until"),
            deleted: date("deleted"),
            restored: date("restored"),
        }
    }

    pub(super) fn current(version: i64, from: Option<DateTime>) -> Mark {
        Mark {
            version,
            last: version,
            is_gone: false,
            from,
            until: None,
            deleted: None,
            restored: None,
        }
    }

    /// What stays of a softly deleted document, and when it was restored.
    pub(super) fn gone(version: i64, deleted: Option<DateTime>, restored: Option<DateTime>) -> Mark {
        Mark {
            is_gone: true,
            deleted,
            restored,
            ..Mark::current(version, None)
        }
    }
}

/// The marks of what was there: what stayed of a deleted document says when that was deleted, and restored.
fn present(marks: &[Mark]) -> Vec<Mark> {
    let mut present: Vec<Mark> = Vec::with_capacity(marks.len());
    let mut gone: Option<&Mark> = None;
    for mark in marks {
        if !mark.is_gone {
            let back = gone.take().filter(|gone| gone.version + 1 == mark.version);
            present.push(Mark {
                from: mark.from.or(back.and_then(|gone| gone.restored)),
                ..*mark
            });
            continue;
        }
        gone = Some(mark);
        if let Some(before) = present
            .last_mut()
            .filter(|before| before.last + 1 == mark.version)
        {
            before.deleted = mark.deleted.or(before.deleted).or(before.until);
            before.restored = mark.restored;
            before.last = mark.version;
        }
    }
    present
}

/// Whether the document was softly deleted at this time, also where the history does not have what was deleted.
pub(super) fn was_gone(marks: &[Mark], time: DateTime) -> bool {
    let mut gone = marks.iter().filter(|mark| mark.is_gone);
    gone.any(|mark| {
        mark.deleted.is_some_and(|deleted| deleted <= time)
            && mark.restored.is_none_or(|restored| time < restored)
    })
}

/// What these marks say, in the order of versions, with the current one last if there is one.
pub(super) fn timeline(marks: &[Mark], has_current: bool) -> Vec<VersionInfo> {
    let marks = present(marks);
    let mut versions: Vec<VersionInfo> = Vec::with_capacity(marks.len());
    for (index, mark) in marks.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| marks.get(index));
        let next = marks.get(index + 1);
        let since_copy = before
            .filter(|before| before.last + 1 == mark.version)
            .and_then(|before| before.restored.or(before.until));
        let is_current = has_current && next.is_none();
        // A deletion counts when the document is not there now, or was brought back. Otherwise somebody changed it at the
        // very time, and won.
        let deleted = mark.deleted.filter(|_| match next {
            None => !has_current,
            Some(_) => mark.restored.is_some(),
        });
        let next_from = next
            .filter(|next| next.version == mark.last + 1)
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
