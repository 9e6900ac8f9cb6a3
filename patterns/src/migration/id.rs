//! The ids of steps.

use std::cmp::Ordering;

/// The longest id, in bytes.
const LONGEST: usize = 200;

/// Why this can be no id, if it cannot.
pub(super) fn refused(id: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '+' | '#');
    match id {
        "" => Some("the id of a step is empty"),
        id if id.len() > LONGEST => Some("the id of a step is longer than 200 bytes"),
        id if !id.chars().all(is_plain) => {
            Some("the id of a step has other characters than letters, digits and _ - . : / + #")
        }
        _ => None,
    }
}

/// Which of two ids comes first: runs of digits by their number, the rest by its bytes, so that `2` is before `10`.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    while let (Some(a), Some(b)) = (left.chars().next(), right.chars().next()) {
        let order = match a.is_ascii_digit() && b.is_ascii_digit() {
            true => {
                let (first, second) = (digits(&mut left), digits(&mut right));
                first.len().cmp(&second.len()).then(first.cmp(second))
            }
            false => {
                left = &left[a.len_utf8()..];
                right = &right[b.len_utf8()..];
                a.cmp(&b)
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then(one.cmp(other))
}

/// Takes the run of digits at the beginning, without its leading zeros.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (run, rest) = text.split_at(end);
    *text = rest;
    run.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_text() {
        for id in [
            "1",
            "2026_11_01_split_names",
            "V1.2",
            "team/a:b-c+d#e",
            "größe_ändern",
        ] {
            assert_eq!(refused(id), None, "{id}");
        }
        let long = "x".repeat(201);
        for id in [
            "",
            " ",
            "a b",
            "a\0",
            "a\n",
            "$a",
            "{\"$gt\": \"\"}",
            "a\u{202e}b",
            "e\u{301}",
            &long,
        ] {
            assert!(refused(id).is_some(), "{id:?}");
        }
    }

    #[test]
    fn ids_are_in_the_order_of_their_numbers() {
        let sorted = [
            "",
            "01",
            "1",
            "2",
            "2_a",
            "010",
            "10",
            "2026_11_01_a",
            "2026_11_01_b",
            "2026_11_02",
            "V1.2",
            "V1.10",
            "a",
            "a1",
            "b",
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                assert_eq!(compare(one, other), at.cmp(&other_at), "{one} {other}");
            }
        }
        assert_eq!(compare(&"9".repeat(100), &"1".repeat(101)), Ordering::Less);
    }
}
