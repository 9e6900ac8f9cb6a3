//! Tables, and how long each step took.

use std::time::{Duration, Instant};

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{ContentArrangement, Table};

/// Collects the time of each step.
#[derive(Debug, Default)]
pub struct Show {
    steps: Vec<(String, Duration)>,
}

impl Show {
    /// Remembers how long a step took since `start`.
    pub fn step(&mut self, name: &str, start: Instant) {
        self.steps.push((name.to_owned(), start.elapsed()));
    }

    /// Prints all steps with their times.
    pub fn summary(&self) {
        let rows = self
            .steps
            .iter()
            .map(|(name, took)| vec![name.clone(), millis(*took)]);
        table("How long it took", &["step", "time"], rows);
    }
}

/// Prints a table.
pub fn table(title: &str, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = Table::new();
    table
        .load_style(UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    println!("{title}\n{table}\n");
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
