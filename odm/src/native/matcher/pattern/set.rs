//! Sets of characters.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::syntax::Case;

/// A set of characters, to ask.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    /// How many bytes it takes in a pattern that the server's library compiled.
    size: usize,
    /// A bit for each character of ASCII.
    ascii: u128,
    ranges: Box<[(char, char)]>,
}

impl Set {
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> u32::from(c) & 1 == 1;
        }
        let behind = self.ranges.partition_point(|(first, _)| *first <= c);
        behind > 0 && self.ranges[behind - 1].1 >= c
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Ranges in order, which do not touch.
    pub(super) fn ranges(&self) -> &[(char, char)] {
        &self.ranges
    }
}

/// A set of characters, to make.
#[derive(Clone, Debug)]
pub(super) struct Builder(ClassUnicode);

impl Builder {
    pub(super) fn new() -> Builder {
        Builder(ClassUnicode::empty())
    }

    pub(super) fn of(ranges: &[(char, char)]) -> Builder {
        Builder(ClassUnicode::new(
            ranges
                .iter()
                .map(|(first, last)| ClassUnicodeRange::new(*first, *last)),
        ))
    }

    /// What `\p{..}` with this name stands for in the Unicode of the server's library.
    fn unicode(name: &str) -> Builder {
        let mut builder = Builder(class(name));
        builder.limit();
        let (capitals, small) = (Builder::of(LATER_CAPITALS), Builder::of(LATER_SMALL));
        match name {
            "Lu" => builder.without(&capitals),
            "Ll" => builder.without(&small),
            "LC" => builder.without(&capitals).without(&small),
            "Lo" => builder.with(&capitals).with(&small),
            "Cn" | "C" => builder.with(&Builder(known().clone()).negated_if(true)),
            _ => builder,
        }
    }

    /// Leaves out the characters of later versions of Unicode.
    fn limit(&mut self) {
        self.0.intersect(known());
    }

    pub(super) fn add(&mut self, other: &Builder) {
        self.0.union(&other.0);
    }

    pub(super) fn add_range(&mut self, first: char, last: char) {
        self.0.push(ClassUnicodeRange::new(first, last));
    }

    #[must_use]
    pub(super) fn with(mut self, other: &Builder) -> Builder {
        self.add(other);
        self
    }

    #[must_use]
    pub(super) fn without(mut self, other: &Builder) -> Builder {
        self.0.difference(&other.0);
        self
    }

    #[must_use]
    pub(super) fn negated_if(mut self, negated: bool) -> Builder {
        if negated {
            self.0.negate();
        }
        self
    }

    /// With the letters that are the same but for their case.
    #[must_use]
    pub(super) fn folded(mut self, case: Case) -> Builder {
        match case {
            Case::Kept => {}
            // The tables are compiled in.
            Case::Folded => {
                let last = |class: &ClassUnicode| class.ranges().last().map_or('\0', ClassUnicodeRange::end);
                let mut folded = self.clone();
                // Later versions have more letters that are the same.
                if last(&self.0) >= LATER_SMALL[0].0 {
                    folded.limit();
                }
                folded.0.try_case_fold_simple().unwrap_or_default();
                if last(&folded.0) >= LATER_SMALL[0].0 {
                    folded.limit();
                    for (one, other) in LATER_PAIRS {
                        let both = Builder::of(&[(*one, *one), (*other, *other)]);
                        let mut given = both.clone();
                        given.0.intersect(&self.0);
                        folded = folded.without(&both).with(&given);
                    }
                }
                self.add(&folded);
            }
            Case::FoldedAscii => {
                for (shift, first, last) in [(32_u8, b'A', b'Z'), (0, b'a', b'z')] {
                    let mut letters = Builder::of(&[(char::from(first), char::from(last))]);
                    letters.0.intersect(&self.0);
                    for range in letters.0.ranges() {
                        let other = |c: char| {
                            if shift == 32 {
                                c.to_ascii_lowercase()
                            } else {
                                c.to_ascii_uppercase()
                            }
                        };
                        self.add_range(other(range.start()), other(range.end()));
                    }
                }
            }
        }
        self
    }

    /// The only character, if there is but one.
    pub(super) fn single(&self) -> Option<char> {
        match self.0.ranges() {
            [range] if range.start() == range.end() => Some(range.start()),
            _ => None,
        }
    }

    /// Of one character, but for its case.
    pub(super) fn build_letter(&self) -> Set {
        let mut set = self.build(3);
        if let [(c, _), (_, other)] = *set.ranges
            && self.0.iter().all(|range| range.start() == range.end())
        {
            set.size = 1 + c.len_utf8().max(other.len_utf8());
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.ranges().is_empty()
    }

    /// Whether there are codes of one byte, and how many bytes the ranges take that go beyond them.
    pub(super) fn sizes(&self) -> (bool, usize) {
        let of = |range: &ClassUnicodeRange| match (range.start(), range.end()) {
            (_, last) if last <= '\u{FF}' => 0,
            (first, last) if first == last => 1 + last.len_utf8(),
            (first, last) => 1 + first.len_utf8() + last.len_utf8(),
        };
        let ranges = self.0.ranges();
        let has_bytes = ranges.first().is_some_and(|range| range.start() <= '\u{FF}');
        (has_bytes, ranges.iter().map(of).sum())
    }

    /// A set that takes so many bytes for the server's library.
    pub(super) fn build(&self, size: usize) -> Set {
        let ranges: Box<[(char, char)]> = self
            .0
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect();
        let ascii = ranges
            .iter()
            .take_while(|(first, _)| first.is_ascii())
            .flat_map(|(first, last)| u32::from(*first)..=u32::from(*last).min(127))
            .fold(0_u128, |bits, code| bits | 1 << code);
        Set { size, ascii, ranges }
    }
}

/// Whether two characters are the same, but for their case where it does not matter.
pub(super) fn is_same(one: char, other: char, case: Case) -> bool {
    if one == other {
        return true;
    }
    match case {
        Case::Kept => false,
        Case::FoldedAscii => one.eq_ignore_ascii_case(&other),
        Case::Folded => {
            one.eq_ignore_ascii_case(&other)
                || !(one.is_ascii() && other.is_ascii())
                    && Builder::of(&[(one, one)]).folded(case).build(0).contains(other)
        }
    }
}

/// What the `regex` crate takes for `\p{..}`.
fn class(name: &str) -> ClassUnicode {
    let parsed = regex_syntax::parse(&format!("\\p{{{name}}}"));
    match parsed.map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    }
}

/// The characters of Unicode 7, which PCRE 8 knows.
fn known() -> &'static ClassUnicode {
    static KNOWN: OnceLock<ClassUnicode> = OnceLock::new();
    KNOWN.get_or_init(|| class("Age=7.0"))
}

/// Letters that were not the same until later.
const LATER_PAIRS: &[(char, char)] = &[
    ('\u{390}', '\u{1FD3}'),
    ('\u{3B0}', '\u{1FE3}'),
    ('\u{FB05}', '\u{FB06}'),
];
/// Letters without case until small ones were added to them.
const LATER_CAPITALS: &[(char, char)] = &[('\u{13A0}', '\u{13F4}')];
/// Letters without case until capitals were added to them.
const LATER_SMALL: &[(char, char)] = &[('\u{10D0}', '\u{10FA}'), ('\u{10FD}', '\u{10FF}')];

const DIGITS: &[(char, char)] = &[('0', '9')];
const WORDS: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
const SPACES: &[(char, char)] = &[('\t', '\r'), (' ', ' ')];
/// Blanks inside a line.
const HORIZONTAL: &[(char, char)] = &[
    ('\t', '\t'),
    (' ', ' '),
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{180E}', '\u{180E}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
];
/// Line breaks.
const VERTICAL: &[(char, char)] = &[('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')];

/// Line breaks, for `\R`.
pub(super) fn breaks() -> Builder {
    Builder::of(VERTICAL)
}

/// `\d`, `\w`, `\s`, `\h`, `\v` and their opposites; `properties`: by Unicode, not of ASCII alone.
pub(super) fn shorthand(letter: char, properties: bool) -> Option<Builder> {
    let builder = match (letter.to_ascii_lowercase(), properties) {
        ('d', false) => Builder::of(DIGITS),
        ('d', true) => Builder::unicode("Nd"),
        ('w', false) => Builder::of(WORDS),
        ('w', true) => property("Xwd")?,
        ('s', false) => Builder::of(SPACES),
        ('s', true) => property("Xsp")?,
        ('h', _) => Builder::of(HORIZONTAL),
        ('v', _) => Builder::of(VERTICAL),
        _ => return None,
    };
    Some(builder.negated_if(letter.is_ascii_uppercase()))
}

/// `[:alpha:]` and its like; with `folded`, letters of one case are letters.
pub(super) fn posix(name: &str, folded: bool, properties: bool) -> Option<Builder> {
    let name = match name {
        "lower" | "upper" if folded => "alpha",
        name => name,
    };
    if properties && let Some(builder) = posix_by_property(name) {
        return Some(builder);
    }
    Some(Builder::of(match name {
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "lower" => &[('a', 'z')],
        "upper" => &[('A', 'Z')],
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7F')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1F'), ('\x7F', '\x7F')],
        "digit" => DIGITS,
        "graph" => &[('!', '~')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => SPACES,
        "word" => WORDS,
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    }))
}

fn posix_by_property(name: &str) -> Option<Builder> {
    match name {
        "alpha" => property("L"),
        "lower" => property("Ll"),
        "upper" => property("Lu"),
        "alnum" => property("Xan"),
        "blank" => shorthand('h', true),
        "digit" => property("Nd"),
        "space" => property("Xsp"),
        "word" => property("Xwd"),
        "graph" | "print" => {
            let formats = Builder::unicode("Cf").without(&Builder::of(&[
                ('\u{61C}', '\u{61C}'),
                ('\u{180E}', '\u{180E}'),
                ('\u{2066}', '\u{2069}'),
            ]));
            let unseen = property("Z")?.with(&property("C")?).without(&formats);
            let seen = unseen.negated_if(true);
            Some(match name {
                "print" => seen.with(&property("Zs")?),
                _ => seen,
            })
        }
        "punct" => {
            let signs = property("S")?.without(&Builder::of(&[('\u{80}', char::MAX)]));
            Some(property("P")?.with(&signs))
        }
        _ => None,
    }
}

/// `\p{..}`, by the names of PCRE 8, whose case counts.
pub(super) fn property(name: &str) -> Option<Builder> {
    Some(match name {
        "L&" => Builder::unicode("LC"),
        // No text has a half of a pair.
        "Cs" => Builder::new(),
        "Xan" => Builder::unicode("L").with(&Builder::unicode("N")),
        "Xwd" => property("Xan")?.with(&Builder::of(&[('_', '_')])),
        "Xps" | "Xsp" => Builder::unicode("Z")
            .with(&Builder::of(HORIZONTAL))
            .with(&Builder::of(VERTICAL)),
        "Xuc" => Builder::of(&[('$', '$'), ('@', '@'), ('`', '`'), ('\u{A0}', char::MAX)]),
        name if CATEGORIES.contains(&name) || SCRIPTS.contains(&name) => Builder::unicode(name),
        _ => return None,
    })
}

const CATEGORIES: [&str; 37] = [
    "Any", "C", "Cc", "Cf", "Cn", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
    "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp",
    "Zs",
];

/// The scripts of Unicode 7.
const SCRIPTS: [&str; 125] = [
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Bassa_Vah",
    "Batak",
    "Bengali",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadian_Aboriginal",
    "Carian",
    "Caucasian_Albanian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Duployan",
    "Egyptian_Hieroglyphs",
    "Elbasan",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hebrew",
    "Hiragana",
    "Imperial_Aramaic",
    "Inherited",
    "Inscriptional_Pahlavi",
    "Inscriptional_Parthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kayah_Li",
    "Kharoshthi",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Linear_A",
    "Linear_B",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Meetei_Mayek",
    "Mende_Kikakui",
    "Meroitic_Cursive",
    "Meroitic_Hieroglyphs",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Myanmar",
    "Nabataean",
    "New_Tai_Lue",
    "Nko",
    "Ogham",
    "Ol_Chiki",
    "Old_Italic",
    "Old_North_Arabian",
    "Old_Permic",
    "Old_Persian",
    "Old_South_Arabian",
    "Old_Turkic",
    "Oriya",
    "Osmanya",
    "Pahawh_Hmong",
    "Palmyrene",
    "Pau_Cin_Hau",
    "Phags_Pa",
    "Phoenician",
    "Psalter_Pahlavi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "Sinhala",
    "Sora_Sompeng",
    "Sundanese",
    "Syloti_Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Takri",
    "Tamil",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Ugaritic",
    "Vai",
    "Warang_Citi",
    "Yi",
];
