//! When two unique keys are the same one.

use odm::bson::{Bson, Document, doc};

/// A key as bytes that are the same for keys that the database holds for equal: numbers are, whatever their type.
pub(crate) fn identity(key: &Bson) -> Vec<u8> {
    // What comes from the database or goes there is encoded: it can be again.
    doc! { "": canonical(key) }.to_vec().unwrap_or_default()
}

fn canonical(value: &Bson) -> Bson {
    match value {
        Bson::Int32(number) => digits(&number.to_string()),
        Bson::Int64(number) => digits(&number.to_string()),
        Bson::Double(number) => digits(&number.to_string()),
        Bson::Decimal128(number) => digits(&number.to_string()),
        Bson::Document(document) => {
            let fields = document.iter();
            Bson::Document(
                fields
                    .map(|(name, value)| (name.clone(), canonical(value)))
                    .collect::<Document>(),
            )
        }
        Bson::Array(elements) => Bson::Array(elements.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// A number by its digits, without leading and trailing zeros, and where its point is. As a symbol, which no text is.
fn digits(text: &str) -> Bson {
    let text = text.to_lowercase();
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ("-", text),
        None => ("", text.as_str()),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let (Ok(exponent), true) = (
        exponent.parse::<i64>(),
        all.bytes().all(|digit| digit.is_ascii_digit()),
    ) else {
        // "nan", "inf" and "infinity".
        return Bson::Symbol(format!("{sign}{}", text.get(..3).unwrap_or_default()));
    };
    let significant = all.trim_end_matches('0');
    let dropped = (all.len() - significant.len()) as i64;
    let exponent = exponent - fraction.len() as i64 + dropped;
    Bson::Symbol(match significant.trim_start_matches('0') {
        "" => "0".to_owned(),
        significant => format!("{sign}{significant}e{exponent}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().unwrap())
    }

    #[test]
    fn keys_are_the_same_as_the_database_says() {
        let same = [
            vec![
                Bson::Int32(100),
                Bson::Int64(100),
                Bson::Double(100.0),
                decimal("1E+2"),
                decimal("100.00"),
            ],
            vec![Bson::Int32(0), Bson::Double(-0.0), decimal("-0.00")],
            vec![Bson::Int32(-15), Bson::Double(-15.0), decimal("-15.0")],
            vec![Bson::Double(0.5), decimal("0.50"), decimal("5E-1")],
            vec![Bson::Double(f64::NAN), decimal("NaN")],
            vec![Bson::Double(f64::INFINITY), decimal("Infinity")],
            vec![Bson::Double(f64::NEG_INFINITY), decimal("-Infinity")],
            vec![Bson::String("100".to_owned())],
            vec![Bson::Boolean(true)],
            vec![bson_of(1), bson_of(1_i64), bson_of(1.0)],
            vec![Bson::Double(1e300)],
            vec![Bson::Double(1e-300)],
        ];
        for (n, keys) in same.iter().enumerate() {
            for (m, others) in same.iter().enumerate() {
                for (key, other) in keys
                    .iter()
                    .flat_map(|key| others.iter().map(move |other| (key, other)))
                {
                    assert_eq!(identity(key) == identity(other), n == m, "{key} {other}");
                }
            }
        }
    }

    fn bson_of(number: impl Into<Bson>) -> Bson {
        Bson::Document(doc! { "a": [number.into()] })
    }
}
