//! Texts and BSON as Rust source. Whatever a name holds, it stays within its literal or comment.

use bson::{Bson, Document};

/// A text as a literal.
pub(crate) fn text(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            letter => plain(&mut literal, letter),
        }
    }
    literal.push('"');
    literal
}

/// A text as part of a comment of one line.
pub(crate) fn comment(text: &str) -> String {
    let mut comment = String::with_capacity(text.len());
    for letter in text.chars() {
        plain(&mut comment, letter);
    }
    comment
}

/// A letter as it is, or escaped where it could end a line, or show others in another order than they are in.
fn plain(out: &mut String, letter: char) {
    match letter {
        ' '..='~' => out.push(letter),
        letter if letter.is_alphanumeric() => out.push(letter),
        letter => out.extend(letter.escape_unicode()),
    }
}

/// How deep the macros of documents may expand: compilers stop at 128.
const DEEPEST: usize = 80;

/// An expression, and how deep its macros expand.
struct Written {
    code: String,
    depth: usize,
}

/// A document as `odm::bson::doc! { .. }`, or without the macro where it would expand too deep.
pub(crate) fn document(document: &Document) -> String {
    let written = fields(document);
    match written.code.starts_with('{') {
        true => format!("odm::bson::doc! {}", written.code),
        false => written.code,
    }
}

fn fields(document: &Document) -> Written {
    if document.is_empty() {
        return Written::plain("{}".to_owned());
    }
    let fields: Vec<(String, Written)> = document
        .iter()
        .map(|(name, value)| (text(name), value_of(value)))
        .collect();
    let nested = fields.iter().map(|(_, value)| value.depth).max();
    // Each field is a few steps of the macro.
    let depth = 4 * fields.len() + nested.unwrap_or_default();
    if depth <= DEEPEST {
        let fields: Vec<String> = fields
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", value.code))
            .collect();
        let code = format!("{{ {} }}", fields.join(", "));
        return Written { code, depth };
    }
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("({name}.to_owned(), {})", value.alone()))
        .collect();
    Written {
        code: format!("odm::bson::Document::from_iter([{}])", fields.join(", ")),
        depth: nested.unwrap_or_default() + 4,
    }
}

fn elements(values: &[Bson]) -> Written {
    let values: Vec<Written> = values.iter().map(value_of).collect();
    let nested = values.iter().map(|value| value.depth).max();
    let depth = 2 * values.len() + nested.unwrap_or_default();
    if depth <= DEEPEST {
        let values: Vec<String> = values.into_iter().map(|value| value.code).collect();
        let code = format!("[{}]", values.join(", "));
        return Written { code, depth };
    }
    let values: Vec<String> = values.iter().map(Written::alone).collect();
    Written {
        code: format!("odm::bson::Bson::Array(vec![{}])", values.join(", ")),
        depth: nested.unwrap_or_default() + 4,
    }
}

impl Written {
    fn plain(code: String) -> Written {
        Written { code, depth: 0 }
    }

    /// An expression of type `Bson`, outside of `doc!`.
    fn alone(&self) -> String {
        match self.code.starts_with(['{', '[']) {
            true => format!("odm::bson::bson!({})", self.code),
            false => format!("odm::bson::Bson::from({})", self.code),
        }
    }
}

/// A value as an expression.
pub(crate) fn bson(value: &Bson) -> String {
    let written = value_of(value);
    match value {
        Bson::Array(_) | Bson::Document(_) => written.alone(),
        _ => written.code,
    }
}

/// A value as an expression inside of `doc!`.
fn value_of(value: &Bson) -> Written {
    match value {
        Bson::Document(document) => fields(document),
        Bson::Array(values) => elements(values),
        value => Written::plain(scalar(value)),
    }
}

fn scalar(value: &Bson) -> String {
    match value {
        Bson::Document(value) => document(value),
        Bson::Array(_) => bson(value),
        Bson::String(value) => text(value),
        Bson::Boolean(value) => value.to_string(),
        Bson::Null => "odm::bson::Bson::Null".to_owned(),
        Bson::Undefined => "odm::bson::Bson::Undefined".to_owned(),
        Bson::MinKey => "odm::bson::Bson::MinKey".to_owned(),
        Bson::MaxKey => "odm::bson::Bson::MaxKey".to_owned(),
        Bson::Int32(value) => format!("{value}_i32"),
        Bson::Int64(value) => format!("{value}_i64"),
        Bson::Double(value) if value.is_finite() => format!("{value:?}_f64"),
        Bson::Double(value) if value.is_nan() => "f64::NAN".to_owned(),
        Bson::Double(value) if *value > 0.0 => "f64::INFINITY".to_owned(),
        Bson::Double(_) => "f64::NEG_INFINITY".to_owned(),
        Bson::ObjectId(id) => format!("odm::bson::oid::ObjectId::from_bytes({:?})", id.bytes()),
        Bson::DateTime(date) => {
            format!("odm::bson::DateTime::from_millis({})", date.timestamp_millis())
        }
        Bson::Decimal128(value) => {
            format!("odm::bson::Decimal128::from_bytes({:?})", value.bytes())
        }
        Bson::Timestamp(at) => format!(
            "odm::bson::Timestamp {{ time: {}, increment: {} }}",
            at.time, at.increment
        ),
        Bson::Binary(binary) => format!(
            "odm::bson::Binary {{ subtype: odm::bson::spec::BinarySubtype::from({}_u8), bytes: vec!{:?} }}",
            u8::from(binary.subtype),
            binary.bytes
        ),
        Bson::Symbol(value) => format!("odm::bson::Bson::Symbol({}.to_owned())", text(value)),
        Bson::JavaScriptCode(code) => {
            format!("odm::bson::Bson::JavaScriptCode({}.to_owned())", text(code))
        }
        Bson::JavaScriptCodeWithScope(code) => format!(
            "odm::bson::JavaScriptCodeWithScope {{ code: {}.to_owned(), scope: {} }}",
            text(&code.code),
            document(&code.scope)
        ),
        Bson::RegularExpression(regex) => format!(
            "odm::bson::Regex {{ pattern: odm::bson::raw::cstr!({}).into(), options: odm::bson::raw::cstr!({}).into() }}",
            text(regex.pattern.as_str()),
            text(regex.options.as_str())
        ),
        // Nothing makes one but bytes.
        Bson::DbPointer(_) => format!(
            "odm::bson::deserialize_from_slice::<odm::bson::Document>(&{:?}).unwrap_or_default().remove(\"v\")",
            bson::serialize_to_vec(&bson::doc! { "v": value.clone() }).unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn texts_stay_in_their_literals() {
        assert_eq!(text("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(text("a\nb\u{202E}"), r#""a\u{a}b\u{202e}""#);
        assert_eq!(text("größe */ {}"), "\"größe */ {}\"");
        assert_eq!(comment("a\r\nb"), "a\\u{d}\\u{a}b");
    }

    #[test]
    fn documents_are_written_with_their_types() {
        let all = doc! {"a": {"$gt": -1}, "b": [1_i64, 2.0, "x", true], "c": Bson::Null, "d": {}};
        let expected = "odm::bson::doc! { \"a\": { \"$gt\": -1_i32 }, \"b\": [1_i64, 2.0_f64, \"x\", true], \
                        \"c\": odm::bson::Bson::Null, \"d\": {} }";
        assert_eq!(document(&all), expected);
        assert_eq!(bson(&all["b"]), "odm::bson::bson!([1_i64, 2.0_f64, \"x\", true])");
        assert_eq!(bson(&Bson::Int32(1)), "1_i32");
    }
    #[test]
    fn what_would_expand_too_deep_is_written_without_macros() {
        let many: Vec<Bson> = (0..50).map(Bson::Int32).collect();
        let code = document(&doc! {"a": {"$in": many}, "b": [1]});
        let start =
            "odm::bson::doc! { \"a\": { \"$in\": odm::bson::Bson::Array(vec![odm::bson::Bson::from(0_i32), ";
        assert!(
            code.starts_with(start) && code.ends_with("(49_i32)]) }, \"b\": [1_i32] }"),
            "{code}"
        );

        let all: Document = (0..40).map(|n| (n.to_string(), doc! {"$gt": n}.into())).collect();
        let code = document(&doc! {"a": 1, "all": all});
        let start = "odm::bson::doc! { \"a\": 1_i32, \"all\": odm::bson::Document::from_iter([(\"0\".to_owned(), \
                     odm::bson::bson!({ \"$gt\": 0_i32 })), ";
        assert!(code.starts_with(start), "{code}");
        assert!(
            code.ends_with("odm::bson::bson!({ \"$gt\": 39_i32 }))]) }"),
            "{code}"
        );
    }
}
