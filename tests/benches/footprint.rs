//! P12: what a build without MongoDB costs.
//!
//! Builds `odm` with its default features, from nothing, in a directory of its own and without a C compiler; the
//! row is the CPU time of all processes, as a part of the 60 s that it may take. `--release` measures that build.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

const SECONDS: f64 = 60.0;

fn main() -> io::Result<()> {
    let release = env::args().any(|argument| argument == "--release");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("footprint");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    // Downloads do not count.
    run(cargo(&manifest, &target).arg("fetch"))?;
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let mut build = cargo(&manifest, &target);
    build.args(["build", "--quiet", "--package", "odm"]);
    if release {
        build.arg("--release");
    }
    let before = children_seconds()?;
    run(&mut build)?;
    let seconds = children_seconds()? - before;
    fs::remove_dir_all(&target)?;
    let tree = cargo(&manifest, &target)
        .args([
            "tree",
            "--package",
            "odm",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ])
        .output()?;
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    let mut crates: Vec<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    crates.sort_unstable();
    crates.dedup();
    let compilers: Vec<_> = crates
        .iter()
        .filter(|name| ["cc", "cmake", "bindgen", "pkg-config"].contains(name))
        .collect();
    println!(
        "{} crates, {seconds:.1} s of CPU, of crates that compile C: {}",
        crates.len(),
        compilers.len()
    );
    odm_tests::measure::verdict("P12", seconds / SECONDS, 1.0, false);
    match compilers.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(format!("the build compiles C: {compilers:?}"))),
    }
}

fn cargo(manifest: &Path, target: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .current_dir(manifest.parent().unwrap_or(Path::new(".")))
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        // Neither may be asked for.
        .env("CC", "/bin/false")
        .env("CXX", "/bin/false")
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null());
    cargo
}

fn run(command: &mut Command) -> io::Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?} failed"))),
    }
}

const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time of all children waited for: fields 16 and 17 of `/proc/self/stat`.
fn children_seconds() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / TICKS_PER_SECOND)
}
