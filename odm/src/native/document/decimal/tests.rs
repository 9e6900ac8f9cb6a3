use std::path::Path;

use super::*;

fn decimal(text: &str) -> Option<Decimal> {
    let text = text.trim_matches('\'');
    if text.starts_with('#') {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    if lower.contains("nan") {
        return Some(Decimal::NAN);
    }
    Decimal::parse(text).ok()
}

/// Runs the lines of one decTest file that this type has an answer for; gives how many those were.
fn run_file(content: &str) -> usize {
    let mut rounding = None;
    let mut count = 0;
    for line in content.lines() {
        let line = line.split("--").next().unwrap_or("").trim();
        if let Some(mode) = line.strip_prefix("rounding:") {
            rounding = match mode.trim() {
                "half_even" => Some(Rounding::HalfEven),
                "down" => Some(Rounding::Down),
                "floor" => Some(Rounding::Floor),
                "ceiling" => Some(Rounding::Ceiling),
                _ => None,
            };
            continue;
        }
        let (Some(mode), Some((call, result))) = (rounding, line.split_once("->")) else {
            continue;
        };
        let call: Vec<&str> = call.split_whitespace().collect();
        let [name, operation, a, b] = call[..] else {
            continue;
        };
        let expected = result.split_whitespace().next().unwrap_or("");
        let (Some(a), Some(b)) = (decimal(a), decimal(b)) else {
            continue;
        };
        let half_even = mode == Rounding::HalfEven;
        let got = match operation.to_ascii_lowercase().as_str() {
            "add" if half_even => a.add(b),
            "subtract" if half_even => a.subtract(b),
            "multiply" if half_even => a.multiply(b),
            "quantize" => match (a, b) {
                (_, Decimal::Nan { .. }) | (Decimal::Nan { .. }, _) => Decimal::NAN,
                (Decimal::Infinity { .. }, Decimal::Infinity { .. }) => a,
                (Decimal::Infinity { .. }, _) | (_, Decimal::Infinity { .. }) => Decimal::NAN,
                (_, Decimal::Finite { exponent, .. }) => a.quantize(exponent, mode),
            },
            "compare" if !a.is_nan() && !b.is_nan() => Decimal::from_i64(a.compare(&b) as i64),
            _ => continue,
        };
        let Some(wanted) = decimal(expected) else { continue };
        assert_eq!(got.to_string(), wanted.to_string(), "{name}: {line}");
        assert_eq!(
            Decimal::from_bytes(got.to_bytes()).to_string(),
            wanted.to_string(),
            "{name}: encoding"
        );
        count += 1;
    }
    count
}

#[test]
fn arithmetic_agrees_with_the_decimal_test_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/data/decimal"))
        .find(|folder| folder.is_dir());
    let Some(folder) = folder else {
        println!("skipped: shared/data/decimal/*.decTest is not beside the checkout");
        return;
    };
    let mut total = 0;
    for name in ["dqAdd", "dqSubtract", "dqMultiply", "dqCompare", "dqQuantize"] {
        let content = std::fs::read(folder.join(name).with_extension("decTest")).expect("a readable file");
        let count = run_file(&String::from_utf8_lossy(&content));
        assert!(count > 200, "{name}: only {count} cases ran");
        total += count;
    }
    println!("{total} cases agree");
}

fn binary(operation: fn(Decimal, Decimal) -> Decimal, a: &str, b: &str) -> String {
    operation(Decimal::parse(a).unwrap(), Decimal::parse(b).unwrap()).to_string()
}

#[test]
fn division_and_remainder_answer_like_mongod() {
    for (a, b, quotient, remainder) in [
        ("1", "3", "0.3333333333333333333333333333333333", "1"),
        ("10", "4", "2.5", "2"),
        ("6", "2", "3", "0"),
        ("1.20", "0.4", "3.0", "0.00"),
        ("1E+10", "1E-10", "1E+20", "0E-10"),
        ("-7", "2", "-3.5", "-1"),
        ("7.5", "2", "3.75", "1.5"),
        ("1E+6000", "7", "1.428571428571428571428571428571429E+5999", "1"),
        ("2", "3", "0.6666666666666666666666666666666667", "2"),
        (
            "9.999999999999999999999999999999999E+6144",
            "1E-10",
            "Infinity",
            "0E-10",
        ),
        ("1", "0", "Infinity", "NaN"),
        ("0", "0", "NaN", "NaN"),
        ("1", "Infinity", "0E-6176", "1"),
    ] {
        assert_eq!(binary(Decimal::divide, a, b), quotient, "{a} / {b}");
        assert_eq!(binary(Decimal::remainder, a, b), remainder, "{a} mod {b}");
    }
}

#[test]
fn text_is_read_and_printed_like_mongod() {
    for (text, printed) in [
        ("+5", Ok("5")),
        ("1e400", Ok("1E+400")),
        ("1E+7000", Err(ParseError::Overflow)),
        ("1e-7000", Err(ParseError::Underflow)),
        ("", Err(ParseError::Syntax)),
        (" 1", Err(ParseError::Syntax)),
        ("1.2.3", Err(ParseError::Syntax)),
        ("E5", Err(ParseError::Syntax)),
        ("1e", Err(ParseError::Syntax)),
        (".5", Ok("0.5")),
        ("5.", Ok("5")),
        ("-inf", Ok("-Infinity")),
        ("nAn", Ok("NaN")),
        (
            "12345678901234567890123456789012356",
            Ok("1.234567890123456789012345678901235E+34"),
        ),
        ("15E-6177", Err(ParseError::Underflow)),
        ("10E-6177", Ok("1E-6176")),
        ("1E6144", Ok("1.000000000000000000000000000000000E+6144")),
        ("1E6145", Err(ParseError::Overflow)),
        ("0E-9999", Ok("0E-6176")),
        ("0E9999", Ok("0E+6111")),
        ("0.000001", Ok("0.000001")),
        ("0.0000001", Ok("1E-7")),
        ("-0.00", Ok("-0.00")),
        ("000123.4500", Ok("123.4500")),
    ] {
        let got = Decimal::parse(text).map(|decimal| decimal.to_string());
        assert_eq!(got.as_deref(), printed.as_ref().map(|text| *text), "{text:?}");
    }
}

#[test]
fn doubles_become_decimals_like_on_mongod() {
    for (double, rounded, exact) in [
        (1.0, "1.00000000000000", "1"),
        (0.1, "0.100000000000000", "0.1000000000000000055511151231257827"),
        (1e22, "1.00000000000000E+22", "10000000000000000000000"),
        (
            1e300,
            "1.00000000000000E+300",
            "1.000000000000000052504760255204420E+300",
        ),
        (-0.0, "-0", "-0"),
        (
            5e-324,
            "4.94065645841247E-324",
            "4.940656458412465441765687928682214E-324",
        ),
        (1e14, "100000000000000", "100000000000000"),
        (f64::NAN, "NaN", "NaN"),
        (f64::NEG_INFINITY, "-Infinity", "-Infinity"),
    ] {
        assert_eq!(Decimal::from_f64(double).to_string(), rounded, "{double}");
        assert_eq!(Decimal::from_f64_exact(double).to_string(), exact, "{double}");
    }
}

#[test]
fn decimals_become_integers_and_doubles() {
    for (text, truncated, exact, double) in [
        ("1.5", Some(1), None, 1.5),
        ("-1.5", Some(-1), None, -1.5),
        ("1E+3", Some(1000), Some(1000), 1000.0),
        ("1.00", Some(1), Some(1), 1.0),
        (
            "9223372036854775807",
            Some(i64::MAX),
            Some(i64::MAX),
            9223372036854775807.0,
        ),
        ("9223372036854775808", None, None, 9223372036854775808.0),
        (
            "-9223372036854775808.5",
            Some(i64::MIN),
            None,
            -9223372036854775808.0,
        ),
        ("1E+6000", None, None, f64::INFINITY),
        ("1E-6000", Some(0), None, 0.0),
        ("0E+6000", Some(0), Some(0), 0.0),
        ("0.1", Some(0), None, 0.1),
    ] {
        let decimal = Decimal::parse(text).unwrap();
        assert_eq!(decimal.to_i64_truncated(), truncated, "{text}");
        assert_eq!(decimal.to_i64_exact(), exact, "{text}");
        assert_eq!(decimal.to_f64(), double, "{text}");
    }
}

#[test]
fn decimals_compare_with_doubles_exactly() {
    for (text, double, order) in [
        ("0.1", 0.1, Ordering::Less),
        ("0.5", 0.5, Ordering::Equal),
        ("1E+400", f64::MAX, Ordering::Greater),
        ("1E-400", f64::from_bits(1), Ordering::Less),
        ("1E-400", 0.0, Ordering::Greater),
        ("-1E-400", 0.0, Ordering::Less),
        ("9007199254740993", 9007199254740992.0, Ordering::Greater),
        ("NaN", f64::NAN, Ordering::Equal),
        ("NaN", f64::NEG_INFINITY, Ordering::Less),
        ("-Infinity", f64::NEG_INFINITY, Ordering::Equal),
        ("-0", 0.0, Ordering::Equal),
        (
            "1.797693134862315708145274237317043E+308",
            f64::MAX,
            Ordering::Less,
        ),
        (
            "1.797693134862315708145274237317044E+308",
            f64::MAX,
            Ordering::Greater,
        ),
        (
            "4.940656458412465441765687928682213E-324",
            f64::from_bits(1),
            Ordering::Less,
        ),
        (
            "4.940656458412465441765687928682214E-324",
            f64::from_bits(1),
            Ordering::Greater,
        ),
    ] {
        let decimal = Decimal::parse(text).unwrap();
        assert_eq!(
            compare_with_double(&decimal, double),
            order,
            "{text} with {double:e}"
        );
    }
}
