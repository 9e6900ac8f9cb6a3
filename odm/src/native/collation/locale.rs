//! The locales whose rules the server has, and the names of their rules in the CLDR.

/// A locale as the server names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Locale {
    name: &'static str,
    /// Variants of its rules beside [`COMMON`].
    variants: &'static [&'static str],
}

/// Variants that all locales have.
const COMMON: [&str; 3] = ["search", "eor", "emoji"];

/// Variants that the server has and the CLDR no longer has, or the engine's data leave out.
const GONE: [&str; 4] = ["search", "searchjl", "gb2312han", "big5han"];

/// Locales without rules of their own: those of the root are theirs.
const AS_ROOT: [&str; 14] = [
    "de", "de_AT", "en", "en_US", "fr", "ga", "id", "it", "lb", "ms", "nl", "pt", "sw", "zu",
];

/// Locales in which strings are brought into a normal form before they are compared.
const NORMALIZED: [&str; 23] = [
    "as", "bn", "el", "fa", "fa_AF", "gu", "he", "hi", "ig", "km", "kn", "kok", "mr", "my", "or", "pa", "ps",
    "si", "ta", "te", "th", "vi", "yi",
];

const LOCALES: &[Locale] = &[
    of("af"),
    of("am"),
    with("ar", &["compat"]),
    of("as"),
    of("az"),
    of("be"),
    of("bg"),
    with("bn", &["traditional"]),
    of("bo"),
    of("bs"),
    of("bs_Cyrl"),
    of("ca"),
    of("chr"),
    of("cs"),
    of("cy"),
    of("da"),
    with("de", &["phonebook"]),
    with("de_AT", &["phonebook"]),
    of("dsb"),
    of("dz"),
    of("ee"),
    of("el"),
    of("en"),
    of("en_US"),
    of("en_US_POSIX"),
    of("eo"),
    with("es", &["traditional"]),
    of("et"),
    of("fa"),
    of("fa_AF"),
    with("fi", &["traditional"]),
    of("fil"),
    of("fo"),
    of("fr"),
    of("fr_CA"),
    of("ga"),
    of("gl"),
    of("gu"),
    of("ha"),
    of("haw"),
    of("he"),
    of("hi"),
    of("hr"),
    of("hsb"),
    of("hu"),
    of("hy"),
    of("id"),
    of("ig"),
    of("is"),
    of("it"),
    with("ja", &["unihan"]),
    of("ka"),
    of("kk"),
    of("kl"),
    of("km"),
    with("kn", &["traditional"]),
    with("ko", &["searchjl", "unihan"]),
    of("kok"),
    of("ky"),
    of("lb"),
    of("lkt"),
    with("ln", &["phonetic"]),
    of("lo"),
    of("lt"),
    of("lv"),
    of("mk"),
    of("ml"),
    of("mn"),
    of("mr"),
    of("ms"),
    of("mt"),
    of("my"),
    of("nb"),
    of("ne"),
    of("nl"),
    of("nn"),
    of("om"),
    of("or"),
    of("pa"),
    of("pl"),
    of("ps"),
    of("pt"),
    of("ro"),
    of("ru"),
    of("se"),
    with("si", &["dictionary"]),
    of("sk"),
    of("sl"),
    of("smn"),
    of("sq"),
    of("sr"),
    of("sr_Latn"),
    with("sv", &["standard"]),
    of("sw"),
    of("ta"),
    of("te"),
    of("th"),
    of("to"),
    of("tr"),
    of("ug"),
    of("uk"),
    of("ur"),
    with("vi", &["traditional"]),
    of("wae"),
    of("yi"),
    of("yo"),
    with("zh", &["stroke", "zhuyin", "unihan", "gb2312han", "big5han"]),
    with("zh_Hant", &["pinyin", "zhuyin", "unihan", "gb2312han", "big5han"]),
    of("zu"),
];

const fn of(name: &'static str) -> Locale {
    with(name, &[])
}

const fn with(name: &'static str, variants: &'static [&'static str]) -> Locale {
    Locale { name, variants }
}

/// The locale with this name, and the variant in it: `de@collation=phonebook`.
pub(super) fn find(name: &str) -> Option<(&'static Locale, Option<&'static str>)> {
    let (base, variant) = match name.split_once("@collation=") {
        Some((base, variant)) => (base, Some(variant)),
        None => (name, None),
    };
    let locale = LOCALES.iter().find(|locale| locale.name == base)?;
    match variant {
        None => Some((locale, None)),
        Some(wanted) => {
            let mut known = COMMON.iter().chain(locale.variants);
            Some((locale, Some(*known.find(|own| **own == wanted)?)))
        }
    }
}

/// The locale that a name that is none may mean: with its parts spelled as they are, or without the last of them.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let base = name.split('@').next().unwrap_or(name);
    let mut parts: Vec<String> = base
        .split(['_', '-'])
        .enumerate()
        .map(|(at, part)| match (at, part.len()) {
            (0, _) => part.to_ascii_lowercase(),
            (_, 4) => titled(part),
            _ => part.to_ascii_uppercase(),
        })
        .collect();
    while !parts.is_empty() {
        let name = parts.join("_");
        if let Some(locale) = LOCALES.iter().find(|locale| locale.name == name) {
            return Some(locale.name);
        }
        parts.pop();
    }
    None
}

fn titled(part: &str) -> String {
    let mut chars = part.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first
        .into_iter()
        .chain(chars.map(|other| other.to_ascii_lowercase()))
        .collect()
}

impl Locale {
    /// Its name, with the variant.
    pub(super) fn with_variant(&self, variant: Option<&str>) -> String {
        match variant {
            None => self.name.to_owned(),
            Some(variant) => format!("{}@collation={variant}", self.name),
        }
    }

    /// Whether of two strings that differ in case only, that in upper case comes first where nothing is said.
    pub(super) fn puts_upper_case_first(&self) -> bool {
        matches!(self.name, "da" | "mt")
    }

    /// Whether spaces and punctuation count for nothing where nothing is said.
    pub(super) fn shifts(&self) -> bool {
        self.name == "th"
    }

    /// Whether accents count from the end of a string where nothing is said.
    pub(super) fn is_backwards(&self) -> bool {
        self.name == "fr_CA"
    }

    /// What is shown as `normalization` where nothing is said.
    pub(super) fn normalizes(&self) -> bool {
        NORMALIZED.contains(&self.name) || self.name == "yo"
    }

    /// The language tag of the rules. Nothing where there are none any more; nothing inside where there are none
    /// with accents in that direction, which only the rules of Canadian French say: they are those of the root in
    /// all else.
    #[cfg_attr(
        not(feature = "collation"),
        expect(dead_code, reason = "the rules are asked by their tags")
    )]
    pub(super) fn tag(&self, variant: Option<&str>, backwards: bool) -> Option<Option<String>> {
        if variant.is_some_and(|variant| GONE.contains(&variant)) {
            return None;
        }
        if backwards != self.is_backwards() {
            let is_root = variant.is_none() && AS_ROOT.contains(&self.name);
            return Some(match (backwards, variant) {
                (true, _) if is_root => Some("fr-CA".to_owned()),
                (false, None) => Some("fr".to_owned()),
                _ => None,
            });
        }
        let base = self.name.replace('_', "-");
        Some(Some(match (self.name, variant) {
            (_, None) => base,
            // What was the standard is the tradition now.
            ("sv", Some("standard")) => format!("{base}-u-co-trad"),
            (_, Some(variant)) => format!("{base}-u-co-{}", keyword(variant)),
        }))
    }
}

/// The variant's name in language tags.
fn keyword(variant: &str) -> &str {
    match variant {
        "phonebook" => "phonebk",
        "traditional" => "trad",
        "dictionary" => "dict",
        other => other,
    }
}

/// All locales with all their variants.
#[cfg(all(test, feature = "collation"))]
pub(super) fn all() -> impl Iterator<Item = (&'static Locale, Option<&'static str>)> {
    LOCALES.iter().flat_map(|locale| {
        let variants = COMMON.iter().chain(locale.variants).map(|variant| Some(*variant));
        std::iter::once(None)
            .chain(variants)
            .map(move |variant| (locale, variant))
    })
}
