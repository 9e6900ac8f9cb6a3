//! Regular expressions as PCRE reads them, which MongoDB links.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    the_end_of_the_text_may_stand_before_a_last_line_break,
    lines_start_behind_line_breaks_that_are_not_the_last_character,
    words_are_of_ascii,
    classes_fold_as_letters_do,
    quotations_reach_into_classes,
    a_letter_behind_a_backslash_that_means_nothing_is_itself,
    properties_have_their_exact_names,
    patterns_look_around,
    what_was_taken_can_be_referred_to,
    groups_call_groups,
    repetitions_that_give_nothing_back,
    conditions_ask_for_groups,
    groups_that_repeat_nothing_capture_nothing,
    blanks_may_stand_before_the_sign_of_a_quantifier,
    patterns_that_are_none_are_refused,
    what_stands_behind_a_pattern_of_a_filter_ends_it,
    names_of_fields_are_matched_by_bytes,
    patterns_that_are_too_large_are_refused,
    searches_by_an_index_look_around,
}

/// All matches of a pattern in a text: the match, its position, its groups.
async fn all(db: &Db, pattern: &str, options: &str, text: &str) -> Vec<Bson> {
    let search = doc! { "$regexFindAll": {
        "input": { "$literal": text }, "regex": { "$literal": pattern }, "options": options,
    } };
    let found = aggregate(
        db,
        "c",
        vec![
            doc! { "$match": { "_id": 0 } },
            doc! { "$project": { "_id": 0, "r": search } },
        ],
    )
    .await;
    found[0]
        .get_array("r")
        .unwrap()
        .iter()
        .map(|found| {
            let found = found.as_document().unwrap();
            let mut parts = vec![
                found.get("match").unwrap().clone(),
                found.get("idx").unwrap().clone(),
            ];
            parts.extend(found.get_array("captures").unwrap().iter().cloned());
            Bson::Array(parts)
        })
        .collect()
}

async fn check(db: &Db, cases: Vec<(&str, &str, &str, Bson)>) {
    insert(db, "c", vec![doc! { "_id": 0 }]).await;
    for (pattern, options, text, expected) in cases {
        let found = Bson::Array(all(db, pattern, options, text).await);
        assert_eq!(found, expected, "{pattern} {options} {text:?}");
    }
}

fn find(pattern: &str) -> Document {
    doc! { "find": "c", "filter": { "s": { "$regex": pattern } }, "sort": { "_id": 1 } }
}

async fn the_end_of_the_text_may_stand_before_a_last_line_break(db: &Db) {
    check(
        db,
        vec![
            ("a$", "", "a\n", bson!([["a", 0]])),
            ("a$\\n", "", "a\n", bson!([["a\n", 0]])),
            ("(a$|b)", "", "a\n", bson!([["a", 0, "a"]])),
            ("a$\\z", "", "a\n", bson!([])),
            ("a\\Z", "", "a\n", bson!([["a", 0]])),
            ("a$", "", "a\n\n", bson!([])),
            ("a$", "m", "a\n\n", bson!([["a", 0]])),
        ],
    )
    .await;
}

async fn lines_start_behind_line_breaks_that_are_not_the_last_character(db: &Db) {
    check(
        db,
        vec![
            ("^.*$", "m", "a\nb\n", bson!([["a", 0], ["b", 2]])),
            ("^", "m", "a\nb\n", bson!([["", 0], ["", 2]])),
            ("^$", "m", "a\n", bson!([])),
            ("^$", "m", "\n", bson!([["", 0]])),
        ],
    )
    .await;
    insert(
        db,
        "d",
        vec![doc! { "_id": 1, "s": "a\n" }, doc! { "_id": 2, "s": "a\n\n" }],
    )
    .await;
    let filter = doc! { "s": { "$regex": "^$", "$options": "m" } };
    let found = batch(&run(db, doc! { "find": "d", "filter": filter }).await);
    assert_eq!(ids(&found), [2]);
}

async fn words_are_of_ascii(db: &Db) {
    check(
        db,
        vec![
            ("\\B", "", "aéa", bson!([])),
            ("\\B", "", "éé", bson!([["", 0], ["", 1]])),
            ("\\b", "", "éa", bson!([["", 1]])),
            ("\\Bé", "", "aé éé", bson!([["é", 3], ["é", 4]])),
            ("(*UCP)\\w+", "", "aé-", bson!([["aé", 0]])),
        ],
    )
    .await;
}

async fn classes_fold_as_letters_do(db: &Db) {
    let kelvin = "\u{212A}";
    check(
        db,
        vec![
            ("k", "i", kelvin, bson!([[kelvin, 0]])),
            ("[j-l]", "i", kelvin, bson!([[kelvin, 0]])),
            ("[^k]", "i", "K\u{212A}x", bson!([["x", 2]])),
            ("[s]", "i", "ſ", bson!([["ſ", 0]])),
            ("ß", "i", "ẞ", bson!([["ẞ", 0]])),
            ("[σ]", "i", "Σς", bson!([["Σ", 0], ["ς", 1]])),
            // Properties and classes of letters are not folded.
            ("\\p{Lu}", "i", "aA", bson!([["A", 1]])),
            ("[^\\p{Lu}]", "i", "aA", bson!([["a", 0]])),
            ("\\w", "i", kelvin, bson!([])),
            ("[[:upper:]]", "i", "aA", bson!([["a", 0], ["A", 1]])),
            // Letters are the same that were in Unicode 7.
            ("ᲀ", "i", "В", bson!([])),
        ],
    )
    .await;
}

async fn quotations_reach_into_classes(db: &Db) {
    check(
        db,
        vec![
            ("[\\Qa-z\\E]", "", "a-bz", bson!([["a", 0], ["-", 1], ["z", 3]])),
            ("[a-\\Qc\\E]", "", "b-", bson!([["b", 0]])),
            ("[\\Q]\\E]", "", "]", bson!([["]", 0]])),
            ("\\Qa.b", "", "axb a.b", bson!([["a.b", 4]])),
        ],
    )
    .await;
}

async fn a_letter_behind_a_backslash_that_means_nothing_is_itself(db: &Db) {
    check(
        db,
        vec![
            ("\\y\\j\\F", "", "yjF", bson!([["yjF", 0]])),
            ("[\\A\\Z\\B]", "", "AZB", bson!([["A", 0], ["Z", 1], ["B", 2]])),
            ("\\o{101}\\101\\x41", "", "AAA", bson!([["AAA", 0]])),
            ("\\81\\9", "", "819", bson!([["819", 0]])),
            ("(a)\\11", "", "a\t", bson!([["a\t", 0, "a"]])),
            ("\\N{2}", "", "a\nbc", bson!([["bc", 2]])),
        ],
    )
    .await;
    insert(db, "d", vec![doc! { "_id": 1 }]).await;
    for pattern in [
        "\\N{U+41}",
        "\\o101",
        "\\o{8}",
        "\\x{}",
        "\\x{41",
        "\\x{d800}",
        "(?X)\\y",
    ] {
        assert_eq!(code(db, find(pattern)).await, 51091, "{pattern}");
    }
}

async fn properties_have_their_exact_names(db: &Db) {
    check(
        db,
        vec![
            ("\\p{Xan}+", "", "aé1_", bson!([["aé1", 0]])),
            ("\\p{Xwd}+", "", "aé1_-", bson!([["aé1_", 0]])),
            ("\\p{L&}", "", "aª", bson!([["a", 0]])),
            ("\\p{Greek}", "", "aα", bson!([["α", 1]])),
            ("\\p{^Lu}", "", "Aa", bson!([["a", 1]])),
            ("[[:<:]]a", "", "a ba", bson!([["a", 0]])),
            ("a[[:>:]]", "", "ab ba", bson!([["a", 4]])),
        ],
    )
    .await;
    for pattern in [
        "\\p{greek}",
        "\\p{lu}",
        "\\p{ Lu}",
        "\\p{Uppercase}",
        "\\p{Ahom}",
        "\\p{Lu",
    ] {
        assert_eq!(code(db, find(pattern)).await, 51091, "{pattern}");
    }
}

async fn patterns_look_around(db: &Db) {
    check(
        db,
        vec![
            ("(?<!a)b(?=c)", "", "abc bc", bson!([["b", 4]])),
            ("(?<=a|bc)d", "", "ad cd bcd", bson!([["d", 1], ["d", 8]])),
            ("^(?!.*x)(?=(.))", "", "ab", bson!([["", 0, "a"]])),
            ("a\\Kb", "", "ab", bson!([["b", 1]])),
            ("\\Ga", "", "aaba", bson!([["a", 0], ["a", 1]])),
        ],
    )
    .await;
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "s": "draft: a" }, doc! { "_id": 2, "s": "b" }],
    )
    .await;
    assert_eq!(ids(&batch(&run(db, find("^(?!draft)")).await)), [2]);
    for pattern in ["(?<=a+)b", "(?<=(?:a|bb))b", "(?<a", "(?"] {
        assert_eq!(code(db, find(pattern)).await, 51091, "{pattern}");
    }
}

async fn what_was_taken_can_be_referred_to(db: &Db) {
    check(
        db,
        vec![
            ("(.)\\1", "", "abba", bson!([["bb", 1, "b"]])),
            ("(k)\\1", "i", "k\u{212A}", bson!([["k\u{212A}", 0, "k"]])),
            ("(?<n>a|b)-\\k<n>", "", "a-b b-b", bson!([["b-b", 4, "b"]])),
            ("(a|b\\1)+", "", "aba", bson!([["aba", 0, "ba"]])),
            ("(?|(a)|(b))\\1", "", "ab bb", bson!([["bb", 3, "b"]])),
            ("(a)?\\1b", "", "b aab", bson!([["aab", 2, "a"]])),
        ],
    )
    .await;
}

async fn groups_call_groups(db: &Db) {
    check(
        db,
        vec![
            ("\\((?:[^()]|(?R))*\\)", "", "((a)b) (", bson!([["((a)b)", 0]])),
            ("(a|b)(?1)", "", "ab", bson!([["ab", 0, "a"]])),
            (
                "(?(DEFINE)(?<d>[0-9]+))(?&d)\\.(?&d)",
                "",
                "a 1.20",
                bson!([["1.20", 2, null]]),
            ),
        ],
    )
    .await;
    assert_eq!(code(db, find("((?1))")).await, 51091);
    let endless = doc! { "$regexMatch": { "input": "c", "regex": "((?2)?)((?1)?)c" } };
    let pipeline = vec![
        doc! { "$match": { "_id": 0 } },
        doc! { "$project": { "r": endless } },
    ];
    let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
    assert_eq!(code(db, command).await, 51156);
}

async fn repetitions_that_give_nothing_back(db: &Db) {
    check(
        db,
        vec![
            ("a++ab", "", "aaab", bson!([])),
            ("a++b", "", "aab", bson!([["aab", 0]])),
            ("(?>a|ab)c", "", "abc", bson!([])),
            ("\\R\\n", "", "\r\n", bson!([])),
            ("\\R", "", "a\r\n\n", bson!([["\r\n", 1], ["\n", 3]])),
        ],
    )
    .await;
}

async fn conditions_ask_for_groups(db: &Db) {
    check(
        db,
        vec![
            (
                "(<)?a(?(1)>|b)",
                "",
                "<a> ab",
                bson!([["<a>", 0, "<"], ["ab", 4, null]]),
            ),
            ("(?(?=a)ab|c)", "", "ab ac", bson!([["ab", 0], ["c", 4]])),
        ],
    )
    .await;
    for pattern in ["(?(1)a)", "(a)?(?(1)b|c|d)", "(?(0)a)", "(?(?a)b)"] {
        assert_eq!(code(db, find(pattern)).await, 51091, "{pattern}");
    }
}

async fn groups_that_repeat_nothing_capture_nothing(db: &Db) {
    check(
        db,
        vec![
            ("(a*)+", "", "aa", bson!([["aa", 0, ""]])),
            ("(a*)*b", "", "aab", bson!([["aab", 0, ""]])),
            ("(?:(a)|b)*", "", "ab", bson!([["ab", 0, "a"]])),
            ("(a){0}b", "", "b", bson!([["b", 0, null]])),
        ],
    )
    .await;
}

async fn blanks_may_stand_before_the_sign_of_a_quantifier(db: &Db) {
    check(
        db,
        vec![
            ("a+ ?", "x", "aa", bson!([["a", 0], ["a", 1]])),
            ("a{2} +a # twice", "x", "aaa", bson!([["aaa", 0]])),
            ("a(?#x)+", "", "aa", bson!([["aa", 0]])),
        ],
    )
    .await;
    for pattern in ["a**", "a{2}{3}", "(?i)*", "\\b+", "a+\\Q\\E?"] {
        assert_eq!(code(db, find(pattern)).await, 51091, "{pattern}");
    }
}

async fn patterns_that_are_none_are_refused(db: &Db) {
    let name = format!("(?<{}>a)", "n".repeat(33));
    insert(db, "c", vec![doc! { "_id": 0, "s": "x" }]).await;
    for pattern in [
        "a{65536}",
        "a{3,2}",
        "\\x{110000}",
        name.as_str(),
        "(?<1a>a)",
        "(?<n>a)(?<n>b)",
        "(*foo)",
        "\\1",
        "[a-\\d]",
        "[[:foo:]]",
        "[[.a.]]",
        "\\g{0}",
        "(?C256)a",
    ] {
        assert_eq!(code(db, find(pattern)).await, 51091, "{pattern}");
        let search = doc! { "$project": { "r": { "$regexMatch": { "input": "a", "regex": pattern } } } };
        let command = doc! { "aggregate": "c", "pipeline": [search], "cursor": {} };
        assert_eq!(code(db, command).await, 51111, "{pattern}");
        let schema = doc! { "$jsonSchema": { "patternProperties": { pattern: {} } } };
        assert_eq!(
            code(db, doc! { "find": "c", "filter": schema }).await,
            2,
            "{pattern}"
        );
        let schema = doc! { "$jsonSchema": { "properties": { "s": { "pattern": pattern } } } };
        assert_eq!(
            code(db, doc! { "find": "c", "filter": schema }).await,
            51091,
            "{pattern}"
        );
    }
}

async fn what_stands_behind_a_pattern_of_a_filter_ends_it(db: &Db) {
    check(
        db,
        vec![
            ("a #c", "x", "a", bson!([["a", 0]])),
            ("\\Qa", "", "a", bson!([["a", 0]])),
        ],
    )
    .await;
    assert_eq!(code(db, find("\\Qa")).await, 51091);
    assert_eq!(code(db, find("(?x)a #c")).await, 51091);
    assert_eq!(code(db, find("(?x)a #c\n")).await, 0);
}

async fn names_of_fields_are_matched_by_bytes(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "é": "x" }, doc! { "_id": 2, "ab": "x" }],
    )
    .await;
    let cases = [
        ("^.$", vec![1, 2]),
        ("^.{2}$", vec![]),
        ("^é$", vec![2]),
        ("(?i)^É$", vec![1, 2]),
        ("[é]", vec![2]),
        ("(*UTF8)^.$", vec![2]),
        ("^(?!_id|é)", vec![1]),
    ];
    for (pattern, expected) in cases {
        let schema = doc! { "$jsonSchema": { "patternProperties": { pattern: { "bsonType": "int" } } } };
        let command = doc! { "find": "c", "filter": schema, "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, command).await)), expected, "{pattern}");
    }
    let schema = doc! { "$jsonSchema": { "patternProperties": { "\\x{100}": {} } } };
    assert_eq!(code(db, doc! { "find": "c", "filter": schema }).await, 2);
    // Texts are characters.
    let schema = doc! { "$jsonSchema": { "properties": { "é": { "pattern": "^.$" } } } };
    let command = doc! { "find": "c", "filter": schema, "sort": { "_id": 1 } };
    assert_eq!(ids(&batch(&run(db, command).await)), [1, 2]);
}

async fn patterns_that_are_too_large_are_refused(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "b" }]).await;
    let words = |count: usize| vec!["ab"; count].join("|");
    for (pattern, expected) in [
        ("x".repeat(32_761), 0),
        ("x".repeat(32_762), 51091),
        (".".repeat(65_522), 0),
        (".".repeat(65_523), 51091),
        (words(9_360), 0),
        (words(9_361), 51091),
        ("(ab){5459}".to_owned(), 0),
        ("(ab){5461}".to_owned(), 51091),
        (format!("{}{}", "(".repeat(249), ")".repeat(249)), 0),
        (format!("{}{}", "(".repeat(250), ")".repeat(250)), 51091),
    ] {
        let shown: String = pattern.chars().take(20).collect();
        assert_eq!(
            code(db, find(&pattern)).await,
            expected,
            "{shown} {}",
            pattern.len()
        );
    }
}

async fn searches_by_an_index_look_around(db: &Db) {
    let documents = ["ab", "abc", "acb", "b", "abbb"];
    let documents = documents.iter().zip(1..);
    insert(
        db,
        "c",
        documents
            .map(|(text, id)| doc! { "_id": id, "s": *text })
            .collect(),
    )
    .await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "s": 1 }, "name": "s" }] },
    )
    .await;
    let cases = [
        ("^a(?!b)", vec![3]),
        ("^ab(?=c)", vec![2]),
        ("^ab++$", vec![1, 5]),
        ("^a\\Kb", vec![1, 2, 5]),
        ("^(a)?(?(1)b|b$)", vec![1, 2, 4, 5]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(ids(&batch(&run(db, find(pattern)).await)), expected, "{pattern}");
    }
}
