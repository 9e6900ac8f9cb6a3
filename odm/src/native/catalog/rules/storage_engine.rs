//! What is said to the server's own storage engine.

use super::wrong_type;
use crate::native::document::Value;
use crate::native::fault::{Fault, Result, code};

/// Checks what is said to the server's own engine, which is kept and shown and changes nothing here.
pub(super) fn check(value: Value<'_>) -> Result<()> {
    let Value::Document(engines) = value else {
        return Err(wrong_type("create.storageEngine", value, "type 'object'"));
    };
    for element in engines.elements() {
        let Value::Document(options) = element.value() else {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "'storageEngine.{}' has to be an embedded document.",
                    element.name_str()
                ),
            ));
        };
        if element.name() != b"wiredTiger" {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                format!(
                    "{} is not a registered storage engine for this server",
                    element.name_str()
                ),
            ));
        }
        for option in options.elements() {
            match (option.name_str(), option.value()) {
                ("configString", Value::String(text)) if text.contains('\0') => {
                    return Err(Fault::new(
                        code::FAILED_TO_PARSE,
                        "malformed 'configString' value.",
                    ));
                }
                ("configString", Value::String(_)) => {}
                ("configString", _) => {
                    return Err(Fault::new(
                        code::TYPE_MISMATCH,
                        "'configString' must be a string.",
                    ));
                }
                (other, _) => {
                    return Err(Fault::new(
                        code::INVALID_OPTIONS,
                        format!("'{other}' is not a supported option."),
                    ));
                }
            }
        }
    }
    Ok(())
}
