//! How a file is cut into chunks.

use std::ops::Range;

use super::{GridFsError, StoredFile};

/// The length of a file and the size of its chunks, known to be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    length: u64,
    chunk_size: u64,
}

impl Layout {
    pub(super) fn of(file: &StoredFile) -> Result<Layout, GridFsError> {
        let possible = u64::try_from(file.length)
            .ok()
            .zip(u64::try_from(file.chunk_size).ok().filter(|size| *size > 0));
        match possible {
            Some((length, chunk_size)) if length.div_ceil(chunk_size) <= i32::MAX as u64 + 1 => {
                Ok(Layout { length, chunk_size })
            }
            _ => Err(GridFsError::Layout {
                id: file.id.clone(),
                length: file.length,
                chunk_size: file.chunk_size.into(),
            }),
        }
    }

    pub(super) fn length(self) -> u64 {
        self.length
    }

    pub(super) fn chunk_size(self) -> u64 {
        self.chunk_size
    }

    /// How many chunks there are.
    pub(super) fn count(self) -> u64 {
        self.length.div_ceil(self.chunk_size)
    }

    /// How many bytes a chunk has.
    pub(super) fn size_of(self, n: u64) -> u64 {
        self.chunk_size
            .min(self.length.saturating_sub(n.saturating_mul(self.chunk_size)))
    }

    /// The chunks that hold a range of bytes which is within the file.
    pub(super) fn chunks(self, bytes: &Range<u64>) -> Range<u64> {
        if bytes.is_empty() {
            return 0..0;
        }
        bytes.start / self.chunk_size..bytes.end.div_ceil(self.chunk_size)
    }

    /// The sum of each chunk's number times its size. Of all ways to lay so many bytes into so many chunks of at most
    /// this size, only the right one has so small a sum.
    pub(super) fn weight(self) -> u128 {
        let full = u128::from(self.length / self.chunk_size);
        let rest = u128::from(self.length % self.chunk_size);
        u128::from(self.chunk_size) * (full * full.saturating_sub(1) / 2) + full * rest
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    #[test]
    fn a_file_is_cut_as_its_length_says() {
        for length in 0..40 {
            for chunk_size in 1..9 {
                let layout = Layout { length, chunk_size };
                let sizes: Vec<u64> = (0..layout.count()).map(|n| layout.size_of(n)).collect();
                assert_eq!(sizes.iter().sum::<u64>(), length);
                assert!(sizes.iter().all(|size| (1..=chunk_size).contains(size)));
                let weight: u64 = sizes.iter().enumerate().map(|(n, size)| n as u64 * size).sum();
                assert_eq!(u128::from(weight), layout.weight());
                for start in 0..length {
                    for end in start..=length {
                        let chunks = layout.chunks(&(start..end));
                        let mut expected: Vec<u64> = (start..end).map(|at| at / chunk_size).collect();
                        expected.dedup();
                        assert_eq!(chunks.collect::<Vec<_>>(), expected);
                    }
                }
            }
        }
    }
}
