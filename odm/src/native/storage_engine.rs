//! What is said to the server's own storage engine.

use super::document::{Doc, Value};
use super::fault::{Fault, Result, code};

/// What the server's own engine can be told of a collection.
const KEYS: &[&str] = &[
    "access_pattern_hint",
    "allocation_size",
    "app_metadata",
    "assert",
    "block_allocation",
    "block_compressor",
    "cache_resident",
    "checksum",
    "colgroups",
    "collator",
    "columns",
    "dictionary",
    "encryption",
    "exclusive",
    "extractor",
    "format",
    "huffman_key",
    "huffman_value",
    "ignore_in_memory_cache_size",
    "immutable",
    "import",
    "internal_item_max",
    "internal_key_max",
    "internal_key_truncate",
    "internal_page_max",
    "key_format",
    "key_gap",
    "leaf_item_max",
    "leaf_key_max",
    "leaf_page_max",
    "leaf_value_max",
    "log",
    "lsm",
    "memory_page_image_max",
    "memory_page_max",
    "merge_custom",
    "os_cache_dirty_max",
    "os_cache_max",
    "prefix_compression",
    "prefix_compression_min",
    "readonly",
    "source",
    "split_deepen_min_child",
    "split_deepen_per_child",
    "split_pct",
    "tiered_object",
    "tiered_storage",
    "type",
    "value_format",
    "verbose",
    "write_timestamp_usage",
];

/// Refuses settings that the server's own engine does not know; their values say nothing here.
fn check_keys(settings: &str) -> Result<()> {
    let mut depth = 0_usize;
    let parts = settings.split(|c: char| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let key = part
            .split('=')
            .next()
            .unwrap_or_default()
            .trim()
            .trim_matches('"');
        if !KEYS.contains(&key) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("22: Invalid argument: unknown configuration key: '{key}'"),
            ));
        }
    }
    Ok(())
}

/// Checks what is said to the server's own engine, of a collection or of an index, which is kept and shown and changes nothing
/// here.
///
/// # Errors
/// 2, 14, 72 and 9 for what is no option of it.
pub(crate) fn check(engines: Doc<'_>) -> Result<()> {
    check_engines(engines, "has to be an embedded document.")
}

/// The same of what is said of the indexes to come.
///
/// # Errors
/// The same.
pub(crate) fn check_of_indexes(engines: Doc<'_>) -> Result<()> {
    check_engines(engines, "must be an embedded document")
}

fn check_engines(engines: Doc<'_>, form: &str) -> Result<()> {
    for element in engines.elements() {
        let Value::Document(options) = element.value() else {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("'storageEngine.{}' {form}", element.name_str()),
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
                ("configString", Value::String(text)) => check_keys(text)?,
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
