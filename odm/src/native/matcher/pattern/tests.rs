//! What patterns match, by one table.

use super::{Exhausted, Pattern};

/// The text and the groups of each match, from the start on; a group that took no part is `-`.
fn found(pattern: &str, options: &str, text: &str) -> Vec<String> {
    let pattern = Pattern::parse_for_expression(pattern, options).unwrap();
    let (mut matches, mut from) = (Vec::new(), 0);
    while let Some(spans) = pattern.search(text, from).unwrap() {
        let parts: Vec<&str> = spans
            .iter()
            .map(|span| span.map_or("-", |(start, end)| &text[start..end]))
            .collect();
        matches.push(parts.join(","));
        let (start, end) = spans[0].unwrap();
        from = end
            + text[end..]
                .chars()
                .next()
                .filter(|_| start == end)
                .map_or(0, char::len_utf8);
        if from >= text.len() {
            break;
        }
    }
    matches
}

fn complaint(pattern: &str) -> String {
    let fault = Pattern::parse(pattern, "").unwrap_err();
    let (_, reason) = fault
        .message()
        .split_once("invalid: ")
        .unwrap_or(("", "unsupported"));
    reason.to_owned()
}

#[test]
fn patterns_match_what_they_match_on_the_server() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        // Ends of lines and of the text.
        ("a$", "", "a\n", &["a"]),
        ("a$\\n", "", "a\n", &["a\n"]),
        ("(a$|b)", "", "a\n", &["a,a"]),
        ("a\\Z", "", "a\n", &["a"]),
        ("a\\z", "", "a\n", &[]),
        ("a$\\z", "", "a\n", &[]),
        ("^.*$", "m", "a\nb\n", &["a", "b"]),
        ("^", "m", "a\n", &[""]),
        // Words are of ASCII.
        ("\\B", "", "aé", &[""]),
        ("\\bé", "", "aé é", &["é"]),
        ("\\B-", "", "é-", &["-"]),
        // Case.
        ("[^k]", "i", "\u{212A}x", &["x"]),
        ("[j-l]", "i", "\u{212A}", &["\u{212A}"]),
        ("\\p{Lu}", "i", "aA", &["A"]),
        ("[[:upper:]]", "i", "aA", &["a", "A"]),
        ("(k)\\1", "i", "k\u{212A}", &["k\u{212A},k"]),
        // Quotations, octal numbers, letters without a meaning.
        ("[\\Qa-z\\E]", "", "b-", &["-"]),
        ("\\Qa.b", "", "a.b", &["a.b"]),
        ("\\y\\o{101}\\81", "", "yA81", &["yA81"]),
        // What only the slower search has.
        ("(?<!a)b(?=c)", "", "abc bc", &["b"]),
        ("(?>a+)ab|aab", "", "aaab", &["aab"]),
        ("a++b", "", "aab", &["aab"]),
        ("(a|b)\\1", "", "abb", &["bb,b"]),
        ("(a|b\\1)+", "", "aba", &["aba,ba"]),
        ("(<)?a(?(1)>|b)", "", "<a> ab", &["<a>,<", "ab,-"]),
        ("\\((?:[^()]|(?R))*\\)", "", "((a)b)", &["((a)b)"]),
        ("(?|(a)|(b))\\1", "", "bb", &["bb,b"]),
        ("a\\Kb", "", "ab", &["b"]),
        ("(a*)+", "", "aa", &["aa,"]),
        ("(?:(a)|b)*", "", "ab", &["ab,a"]),
        ("(?<n>a)(?&n)\\k<n>", "", "aaa", &["aaa,a"]),
        ("\\Ga", "", "aaba", &["a", "a"]),
        ("[[:<:]]a", "", "a ba", &["a"]),
        ("\\R\\n", "", "\r\n", &[]),
        ("a + ?", "x", "aa", &["a", "a"]),
    ];
    for (pattern, options, text, expected) in cases {
        assert_eq!(
            found(pattern, options, text),
            *expected,
            "{pattern} {options} {text:?}"
        );
    }
}

#[test]
fn names_of_fields_are_bytes() {
    let matches = |pattern: &str, name: &str| Pattern::parse_for_names(pattern).unwrap().is_match(name);
    assert!(matches("^..$", "é"));
    assert!(!matches("^.$", "é"));
    assert!(matches("^é$", "é"));
    assert!(matches("(*UTF8)^.$", "é"));
    assert!(matches("[é]", "Ã"));
    assert!(!matches("(?i)É", "é"));
    assert!(Pattern::parse_for_names("\\x{100}").is_err());
}

#[test]
fn refusals_are_the_server_s() {
    for (pattern, expected) in [
        ("a{65536}", "number too big in {} quantifier"),
        ("a**", "nothing to repeat"),
        ("\\x{41", "non-hex character in \\x{} (closing brace missing?)"),
        ("\\x{110000}", "character value in \\x{} or \\o{} is too large"),
        (
            "\\N{U+41}",
            "PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u",
        ),
        ("\\p{greek}", "unknown property name after \\P or \\p"),
        ("(?<=a+)b", "lookbehind assertion is not fixed length"),
        ("(?<=(?:a|bb))b", "lookbehind assertion is not fixed length"),
        ("((?1))", "recursive call could loop indefinitely"),
        ("(?(1)a)", "reference to non-existent subpattern"),
        ("(*foo)", "(*VERB) not recognized or malformed"),
        ("\\Qa", "missing )"),
        ("(?x)a #", "missing )"),
        ("\\X", "unsupported"),
        ("(*COMMIT)a", "unsupported"),
    ] {
        assert_eq!(complaint(pattern), expected, "{pattern}");
    }
    let long = Pattern::parse(&"x".repeat(32_761), "");
    assert!(long.is_ok());
    assert_eq!(complaint(&"x".repeat(32_762)), "regular expression is too large");
    assert_eq!(complaint(&"(".repeat(251)), "parentheses are too deeply nested");
}

#[test]
fn deep_nesting_and_many_calls_are_taken() {
    for open in ["(", "(?=", "(?:a|", "(?>", "(?<=", "(?|", "(?(?=a)"] {
        let nested = format!("{}{}", open.repeat(249), ")".repeat(249));
        let pattern = Pattern::parse(&nested, "").unwrap();
        assert!(pattern.is_match("a") || open == "(?<=", "{open}");
    }
    let calls: String = (1..60)
        .map(|group| format!("((?{0})(?{0}))", group + 1))
        .collect();
    let pattern = Pattern::parse(&format!("(?(DEFINE){calls}(a?))b"), "").unwrap();
    assert!(pattern.is_match("b"));
    assert!(Pattern::parse(&format!("(?(DEFINE){calls}(a))(?<=(?1))b"), "").is_err());
}

#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let pattern = Pattern::parse("(?=(a+)+$)b|(a+)+\\2c", "").unwrap();
    let text = format!("{}b", "a".repeat(64));
    // The crate sees at once that there is nothing to find.
    assert_eq!(pattern.find(&text), Ok(false));
    let text = format!("{}bc", "a".repeat(64));
    assert_eq!(pattern.find(&text), Err(Exhausted(-8)));
    assert!(!pattern.is_match(&text));
    let deep = Pattern::parse("(a(?1)?b)*x", "").unwrap();
    assert_eq!(deep.find(&format!("{}x", "a".repeat(10_000))), Ok(true));
    let endless = Pattern::parse("((?2)?)((?1)?)c", "").unwrap();
    assert_eq!(endless.find("c"), Err(Exhausted(-26)));
}
