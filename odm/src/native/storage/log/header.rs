//! The log's header and its length: both change rarely, each time with fsyncs.

use std::io;

use super::{Log, LogState, Twin, damaged};
use crate::native::storage::format::log::{LogHeader, LogSlot};
use crate::native::storage::format::{SLOT_BYTES, SLOT_OFFSETS};
use crate::native::storage::paged::Unreadable;

/// How much is zeroed by one write.
const ZEROS: usize = 256 * 1024;

impl Log {
    /// The header; none in a file that is empty or has nothing but zeros there.
    pub(super) fn read_header(&self) -> io::Result<Option<LogHeader>> {
        let length = self.file.len()?;
        let mut slots = [LogSlot::Blank; 2];
        for (slot, offset) in slots.iter_mut().zip(SLOT_OFFSETS) {
            if offset + SLOT_BYTES as u64 <= length {
                let mut bytes = [0; SLOT_BYTES];
                self.file.read(offset, &mut bytes)?;
                *slot = LogHeader::decode(&bytes);
            }
        }
        match slots {
            [LogSlot::Newer(version), _] | [_, LogSlot::Newer(version)] => {
                Err(Unreadable::Newer(version).into())
            }
            [LogSlot::Header(first), LogSlot::Header(second)] => {
                let order = |header: &LogHeader| (header.generation, header.length);
                Ok(Some(if order(&first) >= order(&second) {
                    first
                } else {
                    second
                }))
            }
            [LogSlot::Header(header), _] | [_, LogSlot::Header(header)] => Ok(Some(header)),
            [LogSlot::Damaged, _] | [_, LogSlot::Damaged] => {
                Err(damaged("both copies of the log's header are damaged"))
            }
            [LogSlot::Blank, LogSlot::Blank] => Ok(None),
        }
    }

    /// Sees to it that there is room for a while; `false` when only a checkpoint can make some.
    pub(in super::super) fn keep_room(&self, state: &mut LogState) -> io::Result<bool> {
        if !state.mark.used {
            return Ok(true);
        }
        let wanted = state.at + self.limits.most / 8;
        match state.header {
            _ if wanted > self.limits.most => Ok(false),
            Some(header) if header.length < wanted => {
                let longer = wanted.next_multiple_of(self.limits.step);
                self.lengthen(state, longer.min(self.limits.most))
            }
            _ => Ok(true),
        }
    }

    /// Writes a header of the next generation, so that redb's next durable commit can refer to it. Makes the log
    /// when there is none.
    pub(in super::super) fn announce(&self, state: &mut LogState) -> io::Result<()> {
        let generation = state.mark.generation + 1;
        let length = match state.header {
            Some(header) => header.length,
            None => {
                self.file.set_len(0)?;
                self.zero(0, self.limits.first)?;
                self.sync_data()?;
                self.limits.first
            }
        };
        self.write_header(
            state,
            LogHeader {
                id: state.mark.id,
                generation,
                length,
            },
        )
    }

    /// `false` when there is no space for that.
    pub(super) fn lengthen(&self, state: &mut LogState, length: u64) -> io::Result<bool> {
        let Some(header) = state.header else {
            return Ok(false);
        };
        match self.zero(header.length, length) {
            Err(error) if is_full(&error) => return Ok(false),
            zeroed => zeroed?,
        }
        self.sync_data()?;
        self.write_header(state, LogHeader { length, ..header })?;
        self.write_twin(state)?;
        self.note_room(state);
        Ok(true)
    }

    /// Zeros, not a hole: a later write to them changes nothing but them, and its fsync is one write.
    fn zero(&self, from: u64, to: u64) -> io::Result<()> {
        if self.file.len()? < to {
            self.file.set_len(to)?;
        }
        let zeros = vec![0; ZEROS.min((to - from) as usize)];
        let mut at = from;
        while at < to {
            let size = zeros.len().min((to - at) as usize);
            self.file.write(at, &zeros[..size])?;
            at += size as u64;
        }
        Ok(())
    }

    /// Writes the header's first slot, when the second one is on disk for sure.
    fn write_header(&self, state: &mut LogState, header: LogHeader) -> io::Result<()> {
        if state.header.is_some() && state.twin != Twin::Synced {
            self.write_twin(state)?;
            self.sync_file(state)?;
        }
        self.file.write(SLOT_OFFSETS[0], &header.encode())?;
        self.sync_data()?;
        state.header = Some(header);
        state.twin = Twin::Stale;
        Ok(())
    }

    /// Makes the second slot the same as the first; on disk with the next sync.
    pub(super) fn write_twin(&self, state: &mut LogState) -> io::Result<()> {
        if let Some(header) = state.header
            && state.twin == Twin::Stale
        {
            self.file.write(SLOT_OFFSETS[1], &header.encode())?;
            state.twin = Twin::Written;
        }
        Ok(())
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
