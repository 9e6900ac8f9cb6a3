//! Pages of the older form, which do not say of which list they are.

use odm::bson::{Bson, Document};

use crate::keyed::integer;

/// What a document says of its other lists.
///
/// A page of the older form is of the lists that say `{is: true, epoch}` and have no name for pages of their own. Where
/// these are two, both have all of it: nobody can tell their elements apart.
pub(super) struct Others(Vec<State>);

struct State {
    epoch: i64,
    /// Whether it goes on in pages of the older form.
    goes_on: bool,
}

impl Others {
    /// All but the one whose state is at a path.
    pub(super) fn of(document: &Document, but: &str) -> Others {
        let mut states = Vec::new();
        collect(document, "", but, &mut states);
        Others(states)
    }

    /// Whether one of them goes on in the pages of this epoch.
    pub(super) fn go_on_in(&self, epoch: i64) -> bool {
        self.0.iter().any(|state| state.goes_on && state.epoch == epoch)
    }

    /// Whether one of them can have left something in the pages of this epoch.
    pub(super) fn were_in(&self, epoch: i64) -> bool {
        self.0.iter().any(|state| state.epoch > epoch)
    }
}

fn collect(document: &Document, at: &str, but: &str, states: &mut Vec<State>) {
    if !at.is_empty() && at == but {
        return;
    }
    let is_name = |name: &String| matches!(name.as_str(), "is" | "epoch" | "pages" | "list" | "reopened");
    if document.keys().all(is_name)
        && let Ok(is) = document.get_bool("is")
    {
        states.push(State {
            epoch: document.get("epoch").and_then(integer).unwrap_or(0),
            goes_on: is && !document.contains_key("pages"),
        });
    }
    for (name, value) in document {
        if let Bson::Document(inner) = value {
            match at {
                "" => collect(inner, name, but, states),
                at => collect(inner, &format!("{at}.{name}"), but, states),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use odm::bson::doc;

    use super::*;

    #[test]
    fn other_lists_have_pages_of_the_older_form() {
        let document = doc! {
            "_id": 1,
            "likes": [1, 2],
            "likes_over": { "is": true, "epoch": 0_i64 },
            "of": { "watchers_over": { "is": true, "epoch": 3 } },
            "new_over": { "is": true, "epoch": 5_i64, "pages": 1, "list": "new" },
            "short_over": { "is": false, "epoch": 7_i64 },
            "other": { "is": true, "epoch": 9_i64, "of": "something else" },
        };
        let go_on = |but: &str| {
            let others = Others::of(&document, but);
            (0..10)
                .filter(|epoch| others.go_on_in(*epoch))
                .collect::<Vec<_>>()
        };
        assert_eq!(go_on("likes_over"), [3]);
        assert_eq!(go_on("of.watchers_over"), [0]);
        assert_eq!(go_on("none"), [0, 3]);
        let others = Others::of(&document, "short_over");
        assert!(others.were_in(4) && !others.were_in(5));
    }
}
