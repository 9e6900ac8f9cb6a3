use std::cmp::Ordering;

use super::super::document::sample::Sample;
use super::super::document::{Doc, Owned};
use super::*;

fn parse(fields: &[(&str, Owned)]) -> Result<Option<Collation>> {
    let fields: Vec<(String, Owned)> = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    Collation::parse(Doc::Raw(&Doc::Fields(&fields).to_bytes()))
}

fn text(text: &str) -> Owned {
    Owned::String(text.into())
}

#[test]
fn simple_collations_compare_bytes() {
    assert_eq!(parse(&[]).unwrap(), None);
    let simple = parse(&[("locale", text("simple")), ("strength", Owned::Int32(1))]).unwrap();
    assert_eq!(simple.as_ref(), Some(Collation::simple()));
    let mut sample = Sample::new(3);
    for _ in 0..500 {
        let (a, b) = (sample.value(3), sample.value(3));
        let (a, b) = (a.as_value(), b.as_value());
        assert_eq!(Collation::simple().compare(&a, &b), compare(&a, &b));
    }
}

#[test]
#[cfg(not(feature = "collation"))]
fn without_the_feature_languages_are_unsupported() {
    let fault = parse(&[("locale", text("en"))]).unwrap_err();
    assert!(fault.message().contains("feature 'collation'"), "{fault:?}");
}

/// Strings that languages have rules about, alone and in each other.
#[cfg(feature = "collation")]
fn words(random: &mut Sample) -> Owned {
    const PARTS: [&str; 32] = [
        "", "a", "A", "á", "Á", "a\u{301}", "b", "B", "ch", "ll", "ß", "ss", "æ", "ø", "å", "aa", "1", "02",
        "10", " ", "-", "_", "'", "\0", "日", "本", "か", "カ", "😀", "و", "ก", "ı",
    ];
    let text: String = (0..random.below(5))
        .map(|_| PARTS[random.below(PARTS.len())])
        .collect();
    let text = Owned::String(text);
    match random.below(6) {
        0 => Owned::Array(vec![text, Owned::Int32(1)]),
        1 => Owned::Document(vec![("a".to_owned(), text)]),
        _ => text,
    }
}

#[test]
#[cfg(feature = "collation")]
fn the_order_of_keys_is_the_order_of_values() {
    let mut random = Sample::new(11);
    for locale in [
        "en",
        "da",
        "de@collation=phonebook",
        "fr_CA",
        "ja",
        "th",
        "zh",
        "es@collation=traditional",
    ] {
        for strength in 1..=5 {
            for (name, value) in [
                ("numericOrdering", Owned::Bool(true)),
                ("caseLevel", Owned::Bool(true)),
                ("alternate", text("shifted")),
            ] {
                let mut fields = vec![
                    ("locale", text(locale)),
                    ("strength", Owned::Int32(strength)),
                    ("caseFirst", text("off")),
                    (name, value),
                ];
                if strength == 1 {
                    fields.push(("backwards", Owned::Bool(false)));
                }
                let Ok(Some(collation)) = parse(&fields) else {
                    panic!("{locale} {strength}");
                };
                for _ in 0..60 {
                    let (a, b) = (words(&mut random), words(&mut random));
                    let (a, b) = (a.as_value(), b.as_value());
                    for descending in [false, true] {
                        let key = |value| {
                            let mut out = Vec::new();
                            collation.encode(value, descending, &mut out);
                            out.push(key::END);
                            out
                        };
                        let order = key(&a).cmp(&key(&b));
                        let order = if descending { order.reverse() } else { order };
                        assert_eq!(order, collation.compare(&a, &b), "{collation:?}: {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
#[cfg(feature = "collation")]
fn settings_are_listed_as_the_server_does() {
    let shown = |fields: &[(&str, Owned)]| parse(fields).unwrap().unwrap().shown();
    assert_eq!(
        shown(&[
            ("strength", Owned::Double(2.5)),
            ("locale", text("da")),
            ("caseFirst", text("off"))
        ]),
        "{ locale: \"da\", caseLevel: false, caseFirst: \"off\", strength: 2, numericOrdering: false, alternate: \
         \"non-ignorable\", maxVariable: \"punct\", normalization: false, backwards: false, version: \"57.1\" }"
    );
    for (locale, differs) in [
        ("da", "caseFirst: \"upper\""),
        ("th", "alternate: \"shifted\""),
        ("vi", "normalization: true"),
        ("fr_CA", "backwards: true"),
    ] {
        assert!(shown(&[("locale", text(locale))]).contains(differs), "{locale}");
    }
    // What is stored is read again.
    let own = parse(&[("locale", text("de@collation=phonebook"))])
        .unwrap()
        .unwrap();
    let again = Collation::parse(own.spec().unwrap()).unwrap().unwrap();
    assert_eq!(own, again);
    assert_eq!(
        own.compare(&text("Aerz").as_value(), &text("Ärz").as_value()),
        Ordering::Less
    );
}

#[test]
#[cfg(feature = "collation")]
fn what_the_rules_lack_is_unsupported_by_name() {
    for (locale, backwards) in [
        ("en@collation=search", false),
        ("ko@collation=searchjl", false),
        ("zh_Hant@collation=big5han", false),
        ("sv", true),
    ] {
        let fault = parse(&[("locale", text(locale)), ("backwards", Owned::Bool(backwards))]).unwrap_err();
        assert_eq!(fault.code(), code::COMMAND_NOT_SUPPORTED, "{locale}");
        assert!(fault.message().contains(locale), "{fault:?}");
    }
}

#[test]
#[cfg(feature = "collation")]
fn every_locale_has_rules() {
    for (locale, variant) in locale::all() {
        let name = locale.with_variant(variant);
        match parse(&[("locale", text(&name))]) {
            Ok(found) => assert!(found.is_some(), "{name}"),
            Err(fault) => assert_eq!(fault.code(), code::COMMAND_NOT_SUPPORTED, "{name}: {fault:?}"),
        }
    }
}
