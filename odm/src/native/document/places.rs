//! Where names are among many.

use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64;

/// So many names are looked through one by one.
const FEW: usize = 8;

/// The places of names in a list, known from the first time that one of many is looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(OnceLock<Vec<(u64, usize)>>);

impl Places {
    /// Where a name is in the list: always the same list, of different names, to which others may have been added.
    pub(crate) fn find<T>(&self, list: &[(String, T)], name: &[u8]) -> Option<usize> {
        if list.len() > FEW {
            let places = self.0.get_or_init(|| by_hash(list));
            if places.len() == list.len() {
                let hash = xxh3_64(name);
                let first = places.partition_point(|(other, _)| *other < hash);
                let equal = places[first..].iter().take_while(|(other, _)| *other == hash);
                let mut equal = equal.map(|(_, at)| *at);
                return equal.find(|at| list[*at].0.as_bytes() == name);
            }
        }
        // Names are short: most of them differ in their length or their first byte.
        list.iter().position(|(other, _)| {
            let other = other.as_bytes();
            other.len() == name.len() && other.first() == name.first() && other == name
        })
    }
}

/// The places by the hashes of the names, in order.
fn by_hash<T>(list: &[(String, T)]) -> Vec<(u64, usize)> {
    let hashes = list.iter().map(|(name, _)| xxh3_64(name.as_bytes()));
    let mut places: Vec<_> = hashes.zip(0..).collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_among_few_and_among_many() {
        let mut list: Vec<(String, usize)> = Vec::new();
        let places = Places::default();
        for count in 0..3 * FEW {
            list.push((format!("name {count}"), count));
            for (name, at) in &list {
                assert_eq!(places.find(&list, name.as_bytes()), Some(*at));
            }
            assert_eq!(places.find(&list, b"name"), None);
        }
    }
}
