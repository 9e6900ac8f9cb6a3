//! Counting what does not depend on the machine's mood: fsyncs and instructions of a child process.

use std::path::Path;
use std::process::{Command, Stdio};

/// How often this program, run with other arguments, calls `fsync` or `fdatasync`. `None`, with a line that
/// says so, where strace cannot be used.
pub fn count_fsyncs(arguments: &[String]) -> Option<u64> {
    let summary = tempfile::NamedTempFile::new().ok()?;
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-e", "trace=fsync,fdatasync", "-o"]);
    command.arg(summary.path());
    run(command, arguments)?;
    let summary = std::fs::read_to_string(summary.path()).ok()?;
    // % time, seconds, usecs/call, calls, [errors,] name
    let calls = summary.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, _, _, calls, .., "fsync" | "fdatasync"] => calls.parse::<u64>().ok(),
            _ => None,
        }
    });
    Some(calls.sum())
}

/// How many instructions this program, run with other arguments, executes. `None`, with a line that says so,
/// where valgrind cannot be used.
pub fn count_instructions(arguments: &[String]) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let text = run(command, arguments)?;
    let line = text.lines().find(|line| line.contains("Collected : "))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// The growth of a count from `fewer` to `more` operations, for each: what opening and closing cost drops out.
pub fn per_operation(fewer: u64, more: u64, mut count: impl FnMut(u64) -> Option<u64>) -> Option<f64> {
    let (base, whole) = (count(fewer)?, count(more)?);
    Some((whole as f64 - base as f64) / (more - fewer) as f64)
}

/// Runs this program under a tool and gives what the tool said on its standard error.
fn run(mut tool: Command, arguments: &[String]) -> Option<String> {
    let name = Path::new(tool.get_program()).display().to_string();
    let program = std::env::current_exe().ok()?;
    let output = tool.arg(program).args(arguments).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            println!("skipped a count: {name} ended with {}: {text}", output.status);
            None
        }
        Err(error) => {
            println!("skipped a count: {name} cannot be run: {error}");
            None
        }
    }
}
