//! P11: what the derive costs the compiler.
//!
//! Three crates with the same 100 structs of 10 fields are checked in turn: without derives, with serde's, with
//! serde's and `odm::Model`. Each row is CPU time of `cargo check` (user and system, all processes), dependencies
//! built before. The ratio is the cost of our derive over the cost of serde's two; a row is the median of rounds.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

const MODELS: usize = 100;
const TARGET: f64 = 0.5;
const VARIANTS: [(&str, &str); 3] = [
    ("derive-plain", ""),
    ("derive-serde", "#[derive(serde::Serialize, serde::Deserialize)]"),
    (
        "derive-model",
        "#[derive(serde::Serialize, serde::Deserialize, odm::Model)]",
    ),
];

fn main() -> io::Result<()> {
    let rounds = if env::args().any(|arg| arg == "--quick") {
        3
    } else {
        9
    };
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("derive-bench");
    for (name, derives) in VARIANTS {
        write_crate(&root, name, derives)?;
    }
    write_workspace(&root)?;
    for (name, _) in VARIANTS {
        check(&root, name)?;
    }
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for (i, (name, _)) in VARIANTS.iter().enumerate() {
            touch(&root.join(name).join("src/lib.rs"))?;
            let before = children_ticks()?;
            check(&root, name)?;
            seconds[i].push((children_ticks()? - before) / TICKS_PER_SECOND);
        }
    }
    let [plain, serde, model] = seconds.map(median);
    let (serde_cost, own_cost) = (serde - plain, model - serde);
    println!("plain {plain:.2} s, serde {serde:.2} s, serde and model {model:.2} s, CPU of cargo check");
    let each = 1_000.0 / MODELS as f64;
    println!(
        "each model: serde {:.1} ms, ours {:.1} ms",
        serde_cost * each,
        own_cost * each
    );
    let ratio = own_cost / serde_cost;
    let verdict = if ratio <= TARGET { "ok" } else { "short" };
    println!("P11 ratio={ratio:.2} target={TARGET} {verdict}");
    Ok(())
}

fn write_crate(root: &Path, name: &str, derives: &str) -> io::Result<()> {
    let serde_id = if derives.is_empty() {
        ""
    } else {
        "#[serde(rename = \"_id\")]"
    };
    let mut source = String::from("#![allow(dead_code)]\n");
    for n in 0..MODELS {
        let written = write!(
            source,
            "{derives}
            pub struct Model{n} {{
                {serde_id}
                pub id: bson::oid::ObjectId,
                pub title: String,
                pub subtitle: Option<String>,
                pub pages: i32,
                pub price: f64,
                pub tags: Vec<String>,
                pub available: bool,
                pub published: bson::DateTime,
                pub publisher: String,
                pub copies: i64,
            }}\n"
        );
        written.map_err(io::Error::other)?;
    }
    let folder = root.join(name);
    fs::create_dir_all(folder.join("src"))?;
    let odm = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new(".."))
        .join("odm");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         odm = {{ path = {odm:?}, default-features = false }}\n\
         bson = {{ version = \"3.1\", features = [\"serde\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n"
    );
    write_if_new(&folder.join("Cargo.toml"), &manifest)?;
    write_if_new(&folder.join("src/lib.rs"), &source)
}

fn write_workspace(root: &Path) -> io::Result<()> {
    let members: Vec<_> = VARIANTS.iter().map(|(name, _)| *name).collect();
    write_if_new(
        &root.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n"),
    )?;
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    if !root.join("Cargo.lock").exists() && lock.exists() {
        fs::copy(lock, root.join("Cargo.lock"))?;
    }
    Ok(())
}

fn write_if_new(path: &Path, text: &str) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(old) if old == text => Ok(()),
        _ => fs::write(path, text),
    }
}

fn check(root: &Path, name: &str) -> io::Result<()> {
    let status = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["check", "--quiet", "--package", name])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("cargo check of {name} failed"))),
    }
}

fn touch(path: &Path) -> io::Result<()> {
    let text = fs::read(path)?;
    fs::write(path, text)
}

const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time of all children waited for, in the kernel's ticks: fields 16 and 17 of `/proc/self/stat`.
fn children_ticks() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    Ok(ticks.sum())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
