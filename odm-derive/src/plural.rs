//! The default names of collections.

use crate::case::snake;

/// The collection of a model that names none: `BookCategory` is kept in `book_categories`.
pub(crate) fn collection(model: &str) -> String {
    let name = snake(model);
    match name.rsplit_once('_') {
        Some((front, last)) => format!("{front}_{}", plural(last)),
        None => plural(&name),
    }
}

const IRREGULAR: &[(&str, &str)] = &[
    ("axis", "axes"),
    ("basis", "bases"),
    ("analysis", "analyses"),
    ("calf", "calves"),
    ("child", "children"),
    ("crisis", "crises"),
    ("criterion", "criteria"),
    ("datum", "data"),
    ("diagnosis", "diagnoses"),
    ("echo", "echoes"),
    ("epoch", "epochs"),
    ("foot", "feet"),
    ("goose", "geese"),
    ("half", "halves"),
    ("hero", "heroes"),
    ("hypothesis", "hypotheses"),
    ("index", "indexes"),
    ("knife", "knives"),
    ("leaf", "leaves"),
    ("life", "lives"),
    ("loaf", "loaves"),
    ("louse", "lice"),
    ("man", "men"),
    ("medium", "media"),
    ("mouse", "mice"),
    ("ox", "oxen"),
    ("person", "people"),
    ("phenomenon", "phenomena"),
    ("potato", "potatoes"),
    ("quiz", "quizzes"),
    ("self", "selves"),
    ("shelf", "shelves"),
    ("thesis", "theses"),
    ("thief", "thieves"),
    ("tomato", "tomatoes"),
    ("tooth", "teeth"),
    ("veto", "vetoes"),
    ("wife", "wives"),
    ("wolf", "wolves"),
    ("woman", "women"),
];

const UNCHANGED: &[&str] = &[
    "aircraft",
    "audio",
    "children",
    "content",
    "data",
    "equipment",
    "feedback",
    "fish",
    "hardware",
    "information",
    "media",
    "metadata",
    "money",
    "music",
    "news",
    "people",
    "series",
    "sheep",
    "software",
    "species",
    "staff",
    "stuff",
];

fn plural(word: &str) -> String {
    if UNCHANGED.contains(&word) {
        return word.to_owned();
    }
    if let Some((_, plural)) = IRREGULAR.iter().find(|(singular, _)| *singular == word) {
        return (*plural).to_owned();
    }
    if let Some(stem) = word.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
        && !stem.is_empty()
    {
        return format!("{stem}ies");
    }
    match word {
        word if word.ends_with(['s', 'x', 'z']) || word.ends_with("ch") || word.ends_with("sh") => {
            format!("{word}es")
        }
        word => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_english_plurals() {
        for (model, expected) in [
            ("Book", "books"),
            ("Category", "categories"),
            ("BookCategory", "book_categories"),
            ("Box", "boxes"),
            ("Bus", "buses"),
            ("Address", "addresses"),
            ("Branch", "branches"),
            ("Wish", "wishes"),
            ("Key", "keys"),
            ("Toy", "toys"),
            ("Person", "people"),
            ("Child", "children"),
            ("GrandChild", "grand_children"),
            ("Shelf", "shelves"),
            ("Chief", "chiefs"),
            ("Photo", "photos"),
            ("Hero", "heroes"),
            ("Series", "series"),
            ("News", "news"),
            ("Analysis", "analyses"),
            ("Quiz", "quizzes"),
            ("Index", "indexes"),
            ("House", "houses"),
        ] {
            assert_eq!(collection(model), expected);
        }
    }
}
