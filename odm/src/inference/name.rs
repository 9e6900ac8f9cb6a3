//! Names of types and fields that Rust takes, made of stored ones.

use std::collections::BTreeSet;

/// Words that are names only as `r#type`.
const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while",
    "yield",
];

/// Words that are no names at all.
const NO_NAMES: [&str; 5] = ["self", "super", "crate", "Self", "_"];

/// The types that the source names without a path, and those that code around it is likely to.
const TAKEN: [&str; 42] = [
    "Arc",
    "BTreeMap",
    "Bson",
    "Box",
    "Clone",
    "CollectionDeclaration",
    "Copy",
    "DateTime",
    "Db",
    "DbRef",
    "Debug",
    "Default",
    "Deserialize",
    "Document",
    "Drop",
    "Embedded",
    "Eq",
    "Err",
    "Fn",
    "From",
    "Hash",
    "HashMap",
    "Id",
    "Into",
    "Iterator",
    "Model",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Ref",
    "Result",
    "Self",
    "Send",
    "Serialize",
    "Some",
    "String",
    "Sync",
    "ToString",
    "Vec",
];

/// Words whose plural is no `s` behind them.
const SINGULARS: [(&str, &str); 21] = [
    ("analyses", "analysis"),
    ("bases", "basis"),
    ("children", "child"),
    ("criteria", "criterion"),
    ("data", "data"),
    ("feet", "foot"),
    ("geese", "goose"),
    ("halves", "half"),
    ("indices", "index"),
    ("knives", "knife"),
    ("leaves", "leaf"),
    ("lives", "life"),
    ("media", "medium"),
    ("men", "man"),
    ("mice", "mouse"),
    ("movies", "movie"),
    ("people", "person"),
    ("quizzes", "quiz"),
    ("shelves", "shelf"),
    ("teeth", "tooth"),
    ("women", "woman"),
];

/// Names that are taken, of types, or of the fields or variants of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// Whether names are the same that differ in case and underscores alone.
    ignores_case: bool,
}

impl Names {
    /// Those of types that no model may have.
    pub(crate) fn of_types() -> Names {
        Names {
            taken: TAKEN.iter().map(|name| (*name).to_owned()).collect(),
            ignores_case: false,
        }
    }

    /// Those of variants: the derive gives each a handle in snake case, and these differ too.
    pub(crate) fn of_variants() -> Names {
        Names {
            ignores_case: true,
            ..Names::default()
        }
    }

    /// What tells a name from others.
    fn key(&self, name: &str) -> String {
        match self.ignores_case {
            true => name.replace('_', "").to_lowercase(),
            false => name.to_owned(),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.taken.contains(&self.key(name))
    }

    /// Takes the first of these names that is free, or the last with a number behind it. Of types also the name of what
    /// the derive makes must be free.
    pub(crate) fn take(&mut self, wanted: impl IntoIterator<Item = String>, made: &str) -> String {
        let mut last = String::new();
        let is_free = |names: &Names, name: &str| {
            !names.has(name) && (made.is_empty() || !names.has(&format!("{name}{made}")))
        };
        let mut found = None;
        for name in wanted {
            if is_free(self, &name) {
                found = Some(name);
                break;
            }
            last = name;
        }
        let name = found.unwrap_or_else(|| {
            // With a number behind it, it is no keyword; and one identifier has one spelling here.
            let plain = last.trim_start_matches("r#");
            let mut numbers = (2_u64..).map(|number| format!("{plain}{number}"));
            numbers.find(|name| is_free(self, name)).unwrap_or(last.clone())
        });
        self.taken.insert(self.key(&name));
        if !made.is_empty() {
            self.taken.insert(self.key(&format!("{name}{made}")));
        }
        name
    }
}

/// The words of a stored name: `authorId`, `author_id`, `author-id` and `HTTPError2` are of two.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        if !is_part(letter) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            continue;
        }
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(letter.to_lowercase().filter(|letter| is_part(*letter)));
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Letters of ASCII alone: others are names too, but not to all who read them, and two that look alike may be two.
fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
}

/// The name of a field, and whether serde is to be told the stored one.
pub(crate) fn field(stored: &str) -> (String, bool) {
    let mut name = words(stored).join("_");
    if stored == "_id" {
        return ("id".to_owned(), true);
    }
    if name.is_empty() {
        name = "field".to_owned();
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert_str(0, "n_");
    }
    if stored.starts_with('_') && stored != "_" && format!("_{name}") == stored {
        return (stored.to_owned(), false);
    }
    let is_plain = name == stored;
    if NO_NAMES.contains(&name.as_str()) {
        name.push('_');
        return (name, true);
    }
    if KEYWORDS.contains(&name.as_str()) {
        name.insert_str(0, "r#");
    }
    (name, !is_plain)
}

/// The name of a variant that stands for this text.
pub(crate) fn variant(text: &str) -> String {
    match text {
        "" => "Empty".to_owned(),
        text => match type_name(text) {
            own if own == "Self" => "SelfVariant".to_owned(),
            own => own,
        },
    }
}

/// The name of a type.
pub(crate) fn type_name(stored: &str) -> String {
    let words = words(stored);
    let mut name: String = words.iter().map(|word| capitalized(word)).collect();
    if name.is_empty() {
        name = "Unnamed".to_owned();
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, 'N');
    }
    name
}

/// The name of the type of one of many: `BookCategory` of `book_categories`.
pub(crate) fn type_of_one(stored: &str) -> String {
    let mut words = words(stored);
    if let Some(last) = words.last_mut() {
        *last = singular(last);
    }
    type_name(&words.join("_"))
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// The singular of an English word, as well as its end tells.
pub(crate) fn singular(word: &str) -> String {
    if let Some((_, one)) = SINGULARS.iter().find(|(many, _)| *many == word) {
        return (*one).to_owned();
    }
    if ["series", "species", "news", "status", "address", "bus"].contains(&word) {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies")
        && stem.len() > 1
    {
        return format!("{stem}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes", "uses"] {
        if word.ends_with(ending)
            && let Some(one) = word.strip_suffix("es")
        {
            return if ending == "uses" && !one.ends_with("tus") && one != "bus" {
                word[..word.len() - 1].to_owned()
            } else {
                one.to_owned()
            };
        }
    }
    match word.strip_suffix('s') {
        Some(one) if one.len() > 1 && !one.ends_with(['s', 'u', 'i']) => one.to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether a field is named after a collection: `author`, `author_id`, `authorIds` and `authors` after `authors`.
pub(crate) fn is_named_after(field: &str, collection: &str) -> bool {
    let mut named = words(field);
    if named.len() > 1
        && named
            .last()
            .is_some_and(|last| ["id", "ids", "ref", "refs"].contains(&last.as_str()))
    {
        named.pop();
    }
    let one = |mut words: Vec<String>| {
        if let Some(last) = words.last_mut() {
            *last = singular(last);
        }
        words
    };
    let (named, of) = (one(named), one(words(collection)));
    // `main_author` is one of the authors too.
    !of.is_empty() && named.ends_with(&of)
}

/// Whether a name looks like data: a number, an identifier, a date.
pub(crate) fn is_data(name: &str) -> bool {
    let bytes = name.as_bytes();
    let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_uuid = || {
        let parts: Vec<&str> = name.split('-').collect();
        parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
            && parts.iter().all(|part| hex(part.as_bytes()))
    };
    let is_date = || {
        let parts: Vec<&str> = name.get(..10).unwrap_or(name).split('-').collect();
        (2..=3).contains(&parts.len()) && parts[0].len() == 4 && parts.iter().all(|part| digits(part))
    };
    digits(name) || (bytes.len() == 24 && hex(bytes)) || is_uuid() || is_date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names_of_rust() {
        for (stored, expected) in [
            ("title", ("title", false)),
            ("authorId", ("author_id", true)),
            ("HTTPError2", ("http_error2", true)),
            ("type", ("r#type", false)),
            ("Type", ("r#type", true)),
            ("self", ("self_", true)),
            ("_id", ("id", true)),
            ("__v", ("v", true)),
            ("_class", ("_class", false)),
            ("2fa", ("n_2fa", true)),
            ("größe", ("gr_e", true)),
            ("*/ \" \n", ("field", true)),
            ("_", ("field", true)),
            ("first name", ("first_name", true)),
        ] {
            let (name, renamed) = field(stored);
            assert_eq!((name.as_str(), renamed), expected, "{stored}");
        }
    }

    #[test]
    fn types_are_named_after_one() {
        for (stored, expected) in [
            ("books", "Book"),
            ("book_categories", "BookCategory"),
            ("addresses", "Address"),
            ("address", "Address"),
            ("boxes", "Box"),
            ("people", "Person"),
            ("status", "Status"),
            ("statuses", "Status"),
            ("houses", "House"),
            ("logs.2026", "Logs2026"),
            ("123", "N123"),
            ("фото", "Unnamed"),
            ("branches", "Branch"),
            ("orderLines", "OrderLine"),
        ] {
            assert_eq!(type_of_one(stored), expected);
        }
    }

    #[test]
    fn names_are_taken_once() {
        let mut names = Names::of_types();
        let mut take = |wanted: &[&str]| names.take(wanted.iter().map(ToString::to_string), "Fields");
        assert_eq!(take(&["Box"]), "Box2");
        assert_eq!(take(&["Address"]), "Address");
        assert_eq!(take(&["Address", "PatronAddress"]), "PatronAddress");
        assert_eq!(take(&["AddressFields"]), "AddressFields2");
    }

    #[test]
    fn variants_differ_in_snake_case() {
        let mut names = Names::of_variants();
        let mut take = |text: &str| names.take([variant(text)], "");
        let taken = ["N/A", "NA", "Na2", "A", "a", "onHold", "on hold", "onhold"].map(&mut take);
        assert_eq!(
            taken,
            ["NA", "Na2", "Na22", "A", "A2", "OnHold", "OnHold2", "Onhold3"]
        );
    }

    #[test]
    fn fields_are_named_after_collections() {
        for field in [
            "author",
            "author_id",
            "authorId",
            "authors",
            "authorIds",
            "main_author",
            "Author",
        ] {
            assert!(is_named_after(field, "authors"), "{field}");
        }
        assert!(is_named_after("bookCategory", "book_categories"));
        assert!(!is_named_after("id", "authors") && !is_named_after("category", "book_categories"));
        assert!(!is_named_after("anything", "§"));
    }

    #[test]
    fn names_that_are_data_are_told() {
        for name in ["0", "2026", "2026-11-27", "2026-11", "507f1f77bcf86cd799439011"] {
            assert!(is_data(name), "{name}");
        }
        assert!(is_data("05050505-0505-0505-0505-050505050505"));
        for name in ["", "en", "a1", "city", "x-1"] {
            assert!(!is_data(name), "{name}");
        }
    }
}
