//! C's hexadecimal notation of doubles: `+0x1.8p1`.

/// The lowest exponent of a bit of a double.
const LOWEST: i64 = -1074;

/// The highest exponent of a bit of a double.
const HIGHEST: i64 = 1023;

/// The bits behind the first one of a double.
const FRACTION: i64 = 52;

/// A power of two beyond all doubles, however many digits stand before it.
const FAR: i64 = 1 << 60;

/// Reads all of a text; `None` if it is of another notation, and nothing in it if it is out of the range of doubles.
pub(super) fn read(text: &str) -> Option<Option<f64>> {
    let (digits, power) = parts(text)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut mantissa = 0u64;
    let mut exponent = power - 4 * fraction.len() as i64;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        match mantissa >> 60 {
            0 => mantissa = mantissa << 4 | digit,
            // What is far behind the point still tells from a half.
            _ => {
                mantissa |= u64::from(digit != 0);
                exponent += 4;
            }
        }
    }
    let x = rounded(mantissa, exponent);
    Some(x.map(|x| if text.starts_with('-') { -x } else { x }))
}

/// The digits and the power of two.
fn parts(text: &str) -> Option<(&str, i64)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))?;
    let Some((digits, power)) = digits.split_once(['p', 'P']) else {
        return Some((digits, 0));
    };
    let number = power.strip_prefix(['+', '-']).unwrap_or(power);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let far = if power.starts_with('-') { -FAR } else { FAR };
    Some((digits, power.parse().unwrap_or(far).clamp(-FAR, FAR)))
}

/// `mantissa * 2^exponent`, to the nearest double, of two to the even one; `None` where it is infinite, or lower than all
/// normal doubles and none itself.
fn rounded(mantissa: u64, exponent: i64) -> Option<f64> {
    if mantissa == 0 {
        return Some(0.0);
    }
    let top = exponent + 63 - i64::from(mantissa.leading_zeros());
    if top > HIGHEST {
        return None;
    }
    // What the last bit of the double stands for.
    let last = (top - FRACTION).max(LOWEST);
    // How many bits are behind those of a normal double.
    let behind = top - FRACTION - exponent;
    // What would carry as one is not below them.
    let carries = without(mantissa, behind).0 >> (FRACTION + 1) == 1;
    let is_normal = top + i64::from(carries) >= LOWEST + FRACTION;
    // As on the server, the first bit behind is forgotten where others before it do not count either.
    let forgotten = match u32::try_from(behind - 1) {
        Ok(bit) if last - exponent > behind => 1 << bit,
        _ => 0,
    };
    let (kept, is_exact) = without(mantissa & !forgotten, last - exponent);
    // A carry goes into the exponent, as it should.
    let x = f64::from_bits((((last - LOWEST) as u64) << FRACTION) + kept);
    (x.is_finite() && (is_exact || is_normal)).then_some(x)
}

/// The mantissa without so many of its last bits, to the nearest, and whether nothing is lost.
fn without(mantissa: u64, bits: i64) -> (u64, bool) {
    let bits = match u32::try_from(bits.min(100)) {
        Err(_) => return (mantissa << -bits, true),
        Ok(0) => return (mantissa, true),
        Ok(bits) => bits,
    };
    let (whole, half) = (u128::from(mantissa), 1u128 << (bits - 1));
    let (kept, rest) = (whole >> bits, whole & (2 * half - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept as u64 + u64::from(up), rest == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_once() {
        let tiny = f64::from_bits(1);
        for (text, expected) in [
            ("+0x1.8p1", Some(Some(3.0))),
            ("-0X.8P0", Some(Some(-0.5))),
            ("-0x1p-1074", Some(Some(-tiny))),
            ("+0x3p-1074", Some(Some(3.0 * tiny))),
            ("-0x1p-1075", Some(None)),
            ("-0x1.8p-1074", Some(None)),
            ("+0x1.00000000000008p-1074", Some(Some(tiny))),
            ("-0x0p99999", Some(Some(-0.0))),
            (
                "+0x1p1023",
                Some(Some(f64::MAX / 2.0 + f64::MAX / 2.0 / (2f64.powi(53) - 1.0))),
            ),
            ("-0x1p1024", Some(None)),
            ("+0x1.fffffffffffff7p1023", Some(Some(f64::MAX))),
            ("+0x1.fffffffffffff8p1023", Some(None)),
            ("+0x1.fffffffffffff8p-1023", Some(Some(f64::MIN_POSITIVE))),
            ("+0x0.fffffffffffff8p-1022", Some(None)),
            ("+0x1.00000000000008p0", Some(Some(1.0))),
            ("+0x1.00000000000018p0", Some(Some(1.0 + 2.0 * f64::EPSILON))),
            ("-0x1.000000000000080001p0", Some(Some(-1.0 - f64::EPSILON))),
            ("+0x1p99999999999999999999", Some(None)),
            ("+0x1p-99999999999999999999", Some(None)),
            ("+0x", None),
            ("+0x.", None),
            ("+0x1p", None),
            ("+0x1p+-1", None),
            ("+0x1g", None),
            ("1.5", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
