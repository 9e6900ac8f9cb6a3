//! The guide's index, order and links, held against its pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A part of the guide: its heading, and its pages with the names that the index gives them.
type PartOfGuide = (String, Vec<(String, String)>);

/// The parts with their pages, in the order of the index: the first link of each row of its tables.
fn parts() -> Vec<PartOfGuide> {
    let mut parts: Vec<PartOfGuide> = Vec::new();
    for line in text(&folder().join("README.md")).lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            parts.push((heading.to_owned(), Vec::new()));
        }
        let row = line
            .strip_prefix("| [")
            .and_then(|row| row.split_once(")"))
            .and_then(|(link, _)| link.split_once("]("));
        if let (Some((name, file)), Some((_, pages))) = (row, parts.last_mut()) {
            pages.push((name.to_owned(), file.to_owned()));
        }
    }
    parts
}

#[test]
fn the_index_has_every_page_once() {
    let parts = parts();
    assert_eq!(parts.len(), 5);
    let listed: Vec<&String> = parts
        .iter()
        .flat_map(|(_, pages)| pages)
        .map(|(_, file)| file)
        .collect();
    let once: BTreeSet<&String> = listed.iter().copied().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || once.contains(&name),
            "{name} is not in the index"
        );
    }
}

#[test]
fn each_page_ends_with_the_next_one() {
    let pages: Vec<(String, String)> = parts().into_iter().flat_map(|(_, pages)| pages).collect();
    for (place, (_, file)) in pages.iter().enumerate() {
        let last = match pages.get(place + 1) {
            Some((name, next)) => format!("Next: [{name}]({next})."),
            None => "Back to the [index](README.md).".to_owned(),
        };
        let page = text(&folder().join(file));
        assert_eq!(
            page.lines().last(),
            Some(last.as_str()),
            "the last line of {file}"
        );
    }
}

/// The README tells the parts in the same order, and links every page in its part.
#[test]
fn the_readme_has_the_same_parts() {
    let readme = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"));
    let mut rest = readme.as_str();
    for (heading, pages) in parts() {
        let (_, behind) = rest
            .split_once(&format!("### {heading}\n"))
            .unwrap_or_else(|| panic!("the README has no part {heading:?} here"));
        rest = behind;
        let part = behind.split("\n#").next().unwrap_or_default();
        for (_, file) in pages {
            assert!(
                part.contains(&format!("(odm/docs/guide/{file})")),
                "{heading:?} of the README does not link {file}"
            );
        }
    }
}

/// Every link to another page, and to a heading, leads somewhere.
#[test]
fn links_lead_somewhere() {
    for entry in fs::read_dir(folder()).unwrap() {
        let page = entry.unwrap().path();
        for link in text(&page).split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("//") || !(file.is_empty() || file.ends_with(".md")) {
                continue;
            }
            let target = match file {
                "" => page.clone(),
                _ => folder().join(file),
            };
            let there = text(&target)
                .lines()
                .any(|line| anchor.is_empty() || is_heading(line, anchor));
            assert!(there, "{}: {link}", page.display());
        }
    }
}

/// Whether this line is the heading that GitHub gives the anchor.
fn is_heading(line: &str, anchor: &str) -> bool {
    let Some(heading) = line
        .strip_prefix('#')
        .and_then(|rest| rest.trim_start_matches('#').strip_prefix(' '))
    else {
        return false;
    };
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .eq(anchor.chars())
}

/// The page about installing names every cargo feature.
#[test]
fn every_feature_is_named() {
    let page = text(&folder().join("install.md"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (manifest, library) in [
        ("Cargo.toml", "src/lib.rs"),
        ("../patterns/Cargo.toml", "../patterns/src/lib.rs"),
    ] {
        let (manifest, library) = (text(&root.join(manifest)), text(&root.join(library)));
        let features = manifest
            .lines()
            .skip_while(|line| *line != "[features]")
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(" ="));
        for (feature, _) in features.filter(|(feature, _)| *feature != "default") {
            for (place, text) in [("install.md", &page), ("the crate's documentation", &library)] {
                assert!(
                    text.contains(&format!("`{feature}`")),
                    "{place} says nothing of {feature}"
                );
            }
        }
    }
}
