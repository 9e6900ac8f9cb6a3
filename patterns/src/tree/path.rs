//! Paths of nodes, in the three styles, and the ranges of what is below them.

use odm::bson::{Bson, Document, doc};

use super::error::{Result, TreeError};
use super::layout::Layout;
use super::options::PathStyle;
use super::segment;

/// What the paths of all descendants begin with, from the node's own path.
///
/// # Errors
/// An `_id` that cannot be a segment.
pub(super) fn inside(layout: &Layout, path: Option<&str>, id: &Bson) -> Result<String> {
    let delimiter = layout.delimiter;
    let segment = segment::encode(id, delimiter)?;
    Ok(match layout.style {
        PathStyle::Enclosed => match path {
            Some(path) => format!("{path}{segment}{delimiter}"),
            None => format!("{delimiter}{segment}{delimiter}"),
        },
        PathStyle::Trailing => format!("{}{segment}{delimiter}", path.unwrap_or("")),
        PathStyle::Threaded => match path {
            Some(path) => format!("{path}{delimiter}"),
            None => format!("{segment}{delimiter}"),
        },
    })
}

/// The path that a node stores, from what the paths inside its parent begin with; `None` is null.
///
/// # Errors
/// An `_id` that cannot be a segment, a path that is too long.
pub(super) fn stored(layout: &Layout, inside: Option<&str>, id: &Bson) -> Result<Option<String>> {
    let path = match layout.style {
        // The node's own segment is in the paths of its children: what cannot be one is refused here already.
        PathStyle::Enclosed | PathStyle::Trailing => {
            segment::encode(id, layout.delimiter)?;
            inside.map(str::to_owned)
        }
        PathStyle::Threaded => {
            let segment = segment::encode(id, layout.delimiter)?;
            Some(format!("{}{segment}", inside.unwrap_or("")))
        }
    };
    match &path {
        Some(path) if path.len() > layout.max_path => Err(TreeError::PathTooLong {
            id: id.clone(),
            bytes: path.len(),
            limit: layout.max_path,
        }),
        _ => Ok(path),
    }
}

/// The segments of the ancestors, the root first.
pub(super) fn ancestors(layout: &Layout, path: &str) -> Vec<String> {
    let mut segments: Vec<String> = path
        .split(layout.delimiter)
        .filter(|segment| !segment.is_empty())
        .map(str::to_owned)
        .collect();
    if layout.style == PathStyle::Threaded {
        segments.pop();
    }
    segments
}

/// The condition for the paths of all descendants: a range, since a prefix could be anything in a regular expression.
pub(super) fn below(layout: &Layout, inside: &str) -> Document {
    let mut end = inside.to_owned();
    end.pop();
    // The delimiter is ASCII punctuation: the next character is one too, or a letter or digit.
    end.push(char::from(u32::from(layout.delimiter) as u8 + 1));
    doc! { "$gte": inside, "$lt": end }
}

/// The same condition as a pattern, which takes no heed of collations.
pub(super) fn beginning(inside: &str) -> Document {
    let mut pattern = String::with_capacity(inside.len() + 8);
    pattern.push('^');
    for character in inside.chars() {
        if character.is_ascii() && !character.is_ascii_alphanumeric() {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    doc! { "$regex": pattern }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Shape;
    use super::super::options::TreeOptions;
    use super::*;

    fn layout(style: PathStyle) -> Layout {
        Layout::resolve(
            (Shape::Paths, true),
            "nodes",
            TreeOptions::new().path_style(style),
        )
        .unwrap()
    }

    fn chain(style: PathStyle) -> (Option<String>, Option<String>, Option<String>) {
        let layout = layout(style);
        let mut inside_parent: Option<String> = None;
        let mut paths = Vec::new();
        for id in ["Books", "Programming", "Databases"] {
            let id = Bson::from(id);
            let path = stored(&layout, inside_parent.as_deref(), &id).unwrap();
            inside_parent = Some(inside(&layout, path.as_deref(), &id).unwrap());
            paths.push(path);
        }
        let mut paths = paths.into_iter();
        (
            paths.next().flatten(),
            paths.next().flatten(),
            paths.next().flatten(),
        )
    }

    #[test]
    fn paths_are_those_of_the_manual() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            chain(PathStyle::Enclosed),
            (None, text(",Books,"), text(",Books,Programming,"))
        );
        assert_eq!(
            chain(PathStyle::Trailing),
            (None, text("Books,"), text("Books,Programming,"))
        );
        assert_eq!(
            chain(PathStyle::Threaded),
            (
                text("Books"),
                text("Books:Programming"),
                text("Books:Programming:Databases")
            )
        );
    }

    #[test]
    fn ancestors_are_read_from_paths() {
        assert_eq!(ancestors(&layout(PathStyle::Enclosed), ",A,B,"), ["A", "B"]);
        assert_eq!(ancestors(&layout(PathStyle::Trailing), "A,B,"), ["A", "B"]);
        assert_eq!(ancestors(&layout(PathStyle::Threaded), "A:B:C"), ["A", "B"]);
    }

    #[test]
    fn one_is_no_prefix_of_ten() {
        let layout = layout(PathStyle::Enclosed);
        let one = inside(&layout, None, &Bson::from("1")).unwrap();
        assert_eq!(below(&layout, &one), doc! { "$gte": ",1,", "$lt": ",1-" });
        assert!(!(",10," >= ",1," && ",10," < ",1-"));
    }

    #[test]
    fn a_beginning_is_no_pattern_of_its_own() {
        assert_eq!(beginning(",a.b 1ä,"), doc! { "$regex": r"^\,a\.b\ 1ä\," });
    }

    #[test]
    fn long_paths_are_refused() {
        let options = TreeOptions::new().max_path_bytes(5);
        let layout = Layout::resolve((Shape::Paths, true), "nodes", options).unwrap();
        let error = stored(&layout, Some(",Books,"), &Bson::from("x")).unwrap_err();
        assert!(matches!(
            error,
            TreeError::PathTooLong {
                bytes: 7,
                limit: 5,
                ..
            }
        ));
    }
}
