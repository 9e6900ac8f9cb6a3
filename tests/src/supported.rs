//! The page of the guide that says what the embedded engine supports, as data.

/// The page, as it is published.
const PAGE: &str = include_str!("../../odm/docs/guide/supported.md");

/// One row of a table of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The heading over the table.
    pub section: String,
    /// The table's first word: `operators`, `options of find`.
    pub table: String,
    /// What the row is about.
    pub names: Vec<String>,
    /// Whether the engine has it.
    pub is_supported: bool,
}

/// All rows that are marked `yes` or `unsupported`.
///
/// # Panics
/// When a row is neither.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut section, mut table, mut inside) = (String::new(), String::new(), false);
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.to_owned();
        }
        let Some(cells) = line.strip_prefix('|') else {
            inside = false;
            continue;
        };
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        if !inside {
            // The table of known differences has its columns named.
            (table, inside) = (cells[0].replace('`', ""), true);
            continue;
        }
        if cells[0].starts_with("---") || section == "Known differences" {
            continue;
        }
        let is_supported = match cells[1] {
            "yes" => true,
            "unsupported" => false,
            other => panic!("{section}: {other:?} is neither yes nor unsupported: {line}"),
        };
        rows.push(Row {
            section: section.clone(),
            table: table.clone(),
            names: cells[0]
                .split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect(),
            is_supported,
        });
    }
    rows
}

/// The names of a section's tables with this first word; `supported`: those that the engine has, or has not.
pub fn names(section: &str, table: &str, supported: bool) -> Vec<String> {
    rows()
        .into_iter()
        .filter(|row| row.section == section && row.table == table && row.is_supported == supported)
        .flat_map(|row| row.names)
        .collect()
}
