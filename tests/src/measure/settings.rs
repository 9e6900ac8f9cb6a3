//! What a bench was asked to do.

/// What the command line says: `--quick`, and names of rows, such as `P4`, when not all are wanted.
#[derive(Clone, Debug)]
pub struct Settings {
    quick: bool,
    rows: Vec<String>,
}

impl Settings {
    /// The settings of this process. Cargo adds `--bench`, which says nothing.
    pub fn of_process() -> Settings {
        let arguments: Vec<_> = std::env::args().skip(1).collect();
        Settings {
            quick: arguments.iter().any(|argument| argument == "--quick"),
            rows: arguments
                .into_iter()
                .filter(|argument| !argument.starts_with("--"))
                .collect(),
        }
    }

    /// Whether a row is wanted.
    pub fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted.eq_ignore_ascii_case(row))
    }

    /// The number for a quick run, or for a whole one.
    pub fn choose(&self, quick: usize, whole: usize) -> usize {
        if self.quick { quick } else { whole }
    }
}
