//! Where on the path of an index's field documents have had arrays.

/// The places on a path, counted in names from 0, whose values have been arrays; one byte of a catalog's entry.
///
/// Its lowest bit says that there was one somewhere, the others where: the last of them stands for all names from the
/// seventh on. The lowest bit alone says that it is not known where, as before version 3 of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrays(u8);

const SOME: u8 = 1;
/// The places that have a bit of their own.
const PLACES: usize = 6;

impl Arrays {
    pub(crate) const NONE: Arrays = Arrays(0);
    /// Somewhere.
    pub(crate) const UNKNOWN: Arrays = Arrays(SOME);

    /// At the value of the name in this place.
    pub(crate) fn at(place: usize) -> Arrays {
        Arrays(SOME | Arrays::bit(place))
    }

    /// Somewhere, or nowhere.
    pub(crate) fn if_any(any: bool) -> Arrays {
        if any { Arrays::UNKNOWN } else { Arrays::NONE }
    }

    pub(crate) fn of_byte(byte: u8) -> Arrays {
        match byte & SOME {
            0 => Arrays::NONE,
            _ => Arrays(byte),
        }
    }

    pub(crate) fn byte(self) -> u8 {
        self.0
    }

    fn bit(place: usize) -> u8 {
        2 << place.min(PLACES)
    }

    pub(crate) fn is_any(self) -> bool {
        self != Arrays::NONE
    }

    fn is_unknown(self) -> bool {
        self == Arrays::UNKNOWN
    }

    /// Those of either.
    pub(crate) fn with(self, other: Arrays) -> Arrays {
        match self.is_unknown() || other.is_unknown() {
            true => Arrays::UNKNOWN,
            false => Arrays(self.0 | other.0),
        }
    }

    /// Whether there may have been one in these places.
    pub(crate) fn may_be_in(self, places: std::ops::Range<usize>) -> bool {
        let mut places = places;
        self.is_any()
            && !places.is_empty()
            && (self.is_unknown() || places.any(|place| self.0 & Arrays::bit(place) != 0))
    }

    /// The parts of the path up to each array; the whole path where it is not known.
    pub(crate) fn shown(self, path: &str) -> Vec<&str> {
        let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
        let ends: Vec<usize> = ends.collect();
        let last = ends.len();
        if self.is_unknown() {
            return vec![path];
        }
        let places = (0..last).filter(|place| self.may_be_in(*place..*place + 1));
        places.filter_map(|place| path.get(..*ends.get(place)?)).collect()
    }
}

/// Adds those of one document to those of others, field by field.
pub(crate) fn join(all: &mut [Arrays], own: &[Arrays]) {
    for (all, own) in all.iter_mut().zip(own) {
        *all = all.with(*own);
    }
}

/// Whether any field has met an array.
pub(crate) fn is_multikey(fields: &[Arrays]) -> bool {
    fields.iter().any(|arrays| arrays.is_any())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are a file format: a change needs a new format version.
    #[test]
    fn places_keep_their_bytes() {
        let places = [0, 1, 5, 6, 30].map(|place| Arrays::at(place).byte());
        assert_eq!(places, [0x03, 0x05, 0x41, 0x81, 0x81]);
        assert_eq!([Arrays::NONE.byte(), Arrays::UNKNOWN.byte()], [0, 1]);
    }

    #[test]
    fn places_are_told_apart() {
        let outer = Arrays::at(0);
        assert!(
            outer.may_be_in(0..1)
                && outer.may_be_in(0..3)
                && !outer.may_be_in(1..3)
                && !outer.may_be_in(0..0)
        );
        let both = outer.with(Arrays::at(2));
        assert!(both.may_be_in(2..3) && !both.may_be_in(1..2));
        assert_eq!(both.shown("a.b.c"), ["a", "a.b.c"]);
        assert_eq!(outer.shown("a.b.c"), ["a"]);
        assert_eq!(Arrays::NONE.shown("a"), Vec::<&str>::new());
        assert_eq!(both.with(Arrays::NONE), both);
        assert_eq!(Arrays::of_byte(both.byte()), both);
        assert!(!Arrays::NONE.may_be_in(0..9));
    }

    #[test]
    fn what_is_not_known_may_be_anywhere() {
        let old = Arrays::of_byte(1);
        assert!(old.is_any() && old.may_be_in(0..1) && old.may_be_in(5..6));
        assert_eq!(old.with(Arrays::at(1)), Arrays::UNKNOWN);
        assert_eq!(Arrays::at(1).with(old), Arrays::UNKNOWN);
        assert_eq!(old.shown("a.b"), ["a.b"]);
        // Names that have no bit of their own.
        let deep = Arrays::at(6);
        assert!(deep.may_be_in(8..9) && deep.may_be_in(6..7) && !deep.may_be_in(0..6));
    }
}
