//! The fields of documents that are kept on the way to those that look at no others.

use super::document::doc::framed;
use super::document::places::Places;
use super::document::raw::RawFields;
use super::needs::Needs;

/// Their names.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    names: Vec<(String, ())>,
    places: Places,
}

impl Kept {
    /// Those that hold what is asked for.
    pub(crate) fn of(needs: &Needs) -> Kept {
        // The paths of one field follow each other, but for names with signs before the dot.
        let mut names: Vec<(String, ())> = Vec::new();
        for path in needs.paths() {
            let root = path.split('.').next().unwrap_or(path);
            if !names.iter().any(|(name, ())| name == root) {
                names.push((root.to_owned(), ()));
            }
        }
        Kept {
            names,
            places: Places::default(),
        }
    }

    /// Appends the document without the other fields.
    pub(crate) fn write(&self, document: &[u8], out: &mut Vec<u8>) {
        framed(out, |out| {
            let mut fields = RawFields::new(document);
            while let Some(field) = fields.next() {
                if self.places.find(&self.names, field.name).is_some() {
                    out.extend_from_slice(field.element());
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn fields_are_kept_whole_and_in_order() {
        let mut needs = Needs::default();
        ["b.x", "b", "b-.y", "a.0.z", "missing"]
            .iter()
            .for_each(|path| needs.add(path));
        let document =
            rawdoc! { "_id": 1, "b": { "x": 1, "y": [2] }, "bb": 3, "a": [{ "z": "text" }], "b-": 1.5 };
        let mut out = Vec::new();
        Kept::of(&needs).write(document.as_bytes(), &mut out);
        let kept = rawdoc! { "b": { "x": 1, "y": [2] }, "a": [{ "z": "text" }], "b-": 1.5 };
        assert_eq!(out, kept.as_bytes());
        out.clear();
        Kept::of(&Needs::default()).write(document.as_bytes(), &mut out);
        assert_eq!(out, rawdoc! {}.as_bytes());
    }
}
