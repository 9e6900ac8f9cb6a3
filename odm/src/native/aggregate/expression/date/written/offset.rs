//! Offsets from UTC: by numbers, and by the abbreviations of zones.

/// How far a clock is ahead of UTC.
#[derive(Clone, Debug)]
pub(in super::super) struct Offset {
    pub(in super::super) seconds: i64,
    /// The abbreviation, of an offset that has one.
    pub(in super::super) name: Option<String>,
}

impl Offset {
    pub(in super::super) fn from_seconds(seconds: i64) -> Offset {
        Offset { seconds, name: None }
    }
}

/// The abbreviations of zones and how many seconds they are ahead of UTC, as they are on the server: the first zone
/// that had one of those that several have. The letters of military zones are apart.
const ABBREVIATIONS: [(&str, i64); 119] = [
    ("acdt", 37_800),
    ("acst", 34_200),
    ("addt", -7200),
    ("adt", -10_800),
    ("aedt", 39_600),
    ("aest", 36_000),
    ("ahdt", -32_400),
    ("ahst", -36_000),
    ("akdt", -28_800),
    ("akst", -32_400),
    ("amt", -13_840),
    ("apt", -10_800),
    ("ast", -14_400),
    ("awdt", 32_400),
    ("awst", 28_800),
    ("awt", -10_800),
    ("bdst", 7200),
    ("bdt", -36_000),
    ("bmt", -14_309),
    ("bst", 3600),
    ("cast", 34_200),
    ("cat", 7200),
    ("cddt", -14_400),
    ("cdt", -18_000),
    ("cemt", 10_800),
    ("cest", 7200),
    ("cet", 3600),
    ("chst", 36_000),
    ("cmt", -15_408),
    ("cpt", -18_000),
    ("cst", -21_600),
    ("cwt", -18_000),
    ("dmt", -1521),
    ("eat", 10_800),
    ("eddt", -10_800),
    ("edt", -14_400),
    ("eest", 10_800),
    ("eet", 7200),
    ("emt", -26_248),
    ("ept", -14_400),
    ("est", -18_000),
    ("ewt", -14_400),
    ("ffmt", -14_660),
    ("fmt", -4056),
    ("gdt", 39_600),
    ("gmt", 0),
    ("gst", 36_000),
    ("hdt", -34_200),
    ("hkst", 32_400),
    ("hkt", 28_800),
    ("hmt", -19_776),
    ("hpt", -34_200),
    ("hst", -36_000),
    ("hwt", -34_200),
    ("iddt", 14_400),
    ("idt", 10_800),
    ("imt", 25_025),
    ("ist", 7200),
    ("jdt", 36_000),
    ("jmt", 8440),
    ("jst", 32_400),
    ("kdt", 36_000),
    ("kmt", 5736),
    ("kst", 30_600),
    ("lst", 9394),
    ("mddt", -18_000),
    ("mdst", 16_279),
    ("mdt", -21_600),
    ("mest", 7200),
    ("met", 3600),
    ("mmt", 9017),
    ("mpt", -21_600),
    ("msd", 14_400),
    ("msk", 10_800),
    ("mst", -25_200),
    ("mwt", -21_600),
    ("nddt", -5400),
    ("ndt", -9052),
    ("npt", -9000),
    ("nst", -12_600),
    ("nwt", -9000),
    ("nzdt", 46_800),
    ("nzmt", 41_400),
    ("nzst", 43_200),
    ("pddt", -21_600),
    ("pdt", -25_200),
    ("pkst", 21_600),
    ("pkt", 18_000),
    ("plmt", 25_590),
    ("pmt", -13_236),
    ("ppmt", -17_340),
    ("ppt", -25_200),
    ("pst", -28_800),
    ("pwt", -25_200),
    ("qmt", -18_840),
    ("rmt", 5794),
    ("sast", 7200),
    ("sdmt", -16_800),
    ("sjmt", -20_173),
    ("smt", -13_884),
    ("sst", -39_600),
    ("tbmt", 10_751),
    ("tmt", 12_344),
    ("uct", 0),
    ("utc", 0),
    ("wast", 7200),
    ("wat", 3600),
    ("wemt", 7200),
    ("west", 3600),
    ("wet", 0),
    ("wib", 25_200),
    ("wit", 32_400),
    ("wita", 28_800),
    ("wmt", 5040),
    ("yddt", -25_200),
    ("ydt", -28_800),
    ("ypt", -28_800),
    ("yst", -32_400),
    ("ywt", -28_800),
];

/// Reads an offset at the start of a text: `+h`, `+hh`, `+hhmm`, `+hh:mm` and so on, also behind `GMT`, or an
/// abbreviation, each also in parentheses; the name of a zone is not one. Gives the length of what was read as well, be it
/// one or not.
pub(in super::super) fn offset(text: &[u8]) -> (Option<Offset>, usize) {
    let skip = |at: usize, bytes: &[u8]| {
        let rest = text.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| bytes.contains(byte)).count()
    };
    let mut at = skip(0, b" \t(");
    if matches!(text.get(at..at + 4), Some([b'G', b'M', b'T', b'+' | b'-'])) {
        at += 3;
    }
    let rest = text.get(at..).unwrap_or_default();
    let (offset, length) = match rest.first() {
        Some(sign @ (b'+' | b'-')) => {
            let digits = &rest[1..];
            let length = digits
                .iter()
                .take_while(|byte| byte.is_ascii_digit() || **byte == b':')
                .count();
            let seconds = seconds_of(&digits[..length]);
            let seconds = seconds.map(|seconds| if *sign == b'-' { -seconds } else { seconds });
            (seconds.map(Offset::from_seconds), length + 1)
        }
        _ => {
            let length = rest
                .iter()
                .take_while(|byte| !matches!(byte, 0 | b' ' | b')'))
                .count();
            let name = std::str::from_utf8(&rest[..length]).unwrap_or_default();
            let offset = seconds_of_name(name).map(|seconds| Offset {
                seconds,
                name: Some(name.to_owned()),
            });
            (offset, length)
        }
    };
    (offset, skip(at + length, b")"))
}

/// The seconds of the digits and colons behind a sign.
fn seconds_of(text: &[u8]) -> Option<i64> {
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_i64, |number, digit| {
            digit
                .is_ascii_digit()
                .then(|| number * 10 + i64::from(digit - b'0'))
        })
    };
    let [hours, minutes, seconds] = match text {
        [_] | [_, _] => [number(text)?, 0, 0],
        [hour, b':', minute @ ..] if (1..=2).contains(&minute.len()) => {
            [number(&[*hour])?, number(minute)?, 0]
        }
        [a, b, b':', minute] => [number(&[*a, *b])?, number(&[*minute])?, 0],
        [_, _, _] | [_, _, _, _] => {
            let both = number(text)?;
            [both / 100, both % 100, 0]
        }
        [a, b, b':', c, d] => [number(&[*a, *b])?, number(&[*c, *d])?, 0],
        [a, b, c, d, e, f] => [number(&[*a, *b])?, number(&[*c, *d])?, number(&[*e, *f])?],
        [a, b, b':', c, d, b':', e, f] => [number(&[*a, *b])?, number(&[*c, *d])?, number(&[*e, *f])?],
        _ => return None,
    };
    Some(hours * 3600 + minutes * 60 + seconds)
}

fn seconds_of_name(name: &str) -> Option<i64> {
    let name = name.to_ascii_lowercase();
    if let [letter] = name.as_bytes() {
        // The military zones go east from A to M without J, and west from N to Y.
        return Some(
            3600 * match letter {
                b'a'..=b'i' => i64::from(letter - b'a') + 1,
                b'k'..=b'm' => i64::from(letter - b'a'),
                b'n'..=b'y' => i64::from(b'n') - i64::from(*letter) - 1,
                b'z' => 0,
                _ => return None,
            },
        );
    }
    let index = ABBREVIATIONS
        .binary_search_by(|(known, _)| (*known).cmp(name.as_str()))
        .ok()?;
    Some(ABBREVIATIONS[index].1)
}
