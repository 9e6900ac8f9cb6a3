//! The cases of names, as serde's `rename_all` applies them.

/// A value of `rename_all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// The case that serde knows by this name.
    pub(crate) fn parse(name: &str) -> Option<Case> {
        Some(match name {
            "lowercase" => Case::Lower,
            "UPPERCASE" => Case::Upper,
            "PascalCase" => Case::Pascal,
            "camelCase" => Case::Camel,
            "snake_case" => Case::Snake,
            "SCREAMING_SNAKE_CASE" => Case::ScreamingSnake,
            "kebab-case" => Case::Kebab,
            "SCREAMING-KEBAB-CASE" => Case::ScreamingKebab,
            _ => return None,
        })
    }

    /// The stored name of a field, which serde takes to be in snake case.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Case::Lower | Case::Snake => name.to_owned(),
            Case::Upper | Case::ScreamingSnake => name.to_ascii_uppercase(),
            Case::Pascal => pascal(name),
            Case::Camel => uncapitalized(&pascal(name)),
            Case::Kebab => name.replace('_', "-"),
            Case::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }

    /// The stored name of a variant, which serde takes to be in Pascal case.
    pub(crate) fn variant(self, name: &str) -> String {
        match self {
            Case::Pascal => name.to_owned(),
            Case::Lower => name.to_ascii_lowercase(),
            Case::Upper => name.to_ascii_uppercase(),
            Case::Camel => uncapitalized(name),
            Case::Snake => serde_snake(name),
            Case::ScreamingSnake => serde_snake(name).to_ascii_uppercase(),
            Case::Kebab => serde_snake(name).replace('_', "-"),
            Case::ScreamingKebab => serde_snake(name).to_ascii_uppercase().replace('_', "-"),
        }
    }
}

/// `HttpError`, `HTTPError` and `Http2Error` as `http_error`, `http_error`, `http2_error`.
pub(crate) fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut text = String::new();
    for (i, letter) in letters.iter().enumerate() {
        let starts_word = letter.is_uppercase()
            && i > 0
            && (!letters[i - 1].is_uppercase() || letters.get(i + 1).is_some_and(|next| next.is_lowercase()));
        if starts_word && !text.ends_with('_') {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn serde_snake(name: &str) -> String {
    let mut text = String::new();
    for (i, letter) in name.char_indices() {
        if i > 0 && letter.is_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn pascal(name: &str) -> String {
    let mut text = String::new();
    let mut capital = true;
    for letter in name.chars() {
        match letter {
            '_' => capital = true,
            letter if capital => {
                text.push(letter.to_ascii_uppercase());
                capital = false;
            }
            letter => text.push(letter),
        }
    }
    text
}

fn uncapitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_lowercase())
        .into_iter()
        .chain(letters)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_renamed_as_serde_renames_them() {
        let cases = [
            ("lowercase", "very_tasty"),
            ("UPPERCASE", "VERY_TASTY"),
            ("PascalCase", "VeryTasty"),
            ("camelCase", "veryTasty"),
            ("snake_case", "very_tasty"),
            ("SCREAMING_SNAKE_CASE", "VERY_TASTY"),
            ("kebab-case", "very-tasty"),
            ("SCREAMING-KEBAB-CASE", "VERY-TASTY"),
        ];
        for (case, expected) in cases {
            assert_eq!(Case::parse(case).unwrap().field("very_tasty"), expected);
        }
        assert_eq!(Case::Camel.field("_id"), "id");
    }

    #[test]
    fn variants_are_renamed_as_serde_renames_them() {
        let cases = [
            ("lowercase", "verytasty"),
            ("UPPERCASE", "VERYTASTY"),
            ("PascalCase", "VeryTasty"),
            ("camelCase", "veryTasty"),
            ("snake_case", "very_tasty"),
            ("SCREAMING_SNAKE_CASE", "VERY_TASTY"),
            ("kebab-case", "very-tasty"),
            ("SCREAMING-KEBAB-CASE", "VERY-TASTY"),
        ];
        for (case, expected) in cases {
            assert_eq!(Case::parse(case).unwrap().variant("VeryTasty"), expected);
        }
        assert_eq!(Case::parse("Title Case"), None);
    }

    #[test]
    fn type_names_become_snake_case() {
        for (name, expected) in [
            ("Book", "book"),
            ("BookLoan", "book_loan"),
            ("HTTPError", "http_error"),
            ("Http2Error", "http2_error"),
            ("ISBN", "isbn"),
            ("Snake_Case", "snake_case"),
        ] {
            assert_eq!(snake(name), expected);
        }
    }
}
