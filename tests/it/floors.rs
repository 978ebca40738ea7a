//! Holds the imports of `src` against the table of floors in `lib.rs`: they go down only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What may not be imported although the floor would allow it.
const STRANGERS: &[(&str, &str)] = &[
    ("git", "disk"),
    ("git", "process"),
    ("disk", "git"),
    ("disk", "process"),
    ("process", "git"),
    ("process", "disk"),
    ("fence", "git"),
    ("fence", "disk"),
    ("fence", "process"),
    ("git", "fence"),
    ("disk", "fence"),
    ("process", "fence"),
];

/// Where each border crate is at home.
const HOMES: &[(&str, &[&str])] = &[
    ("clap", &["cli", "run"]),
    ("toml", &["config", "scope", "versioned", "worktree"]),
    ("duct", &["git", "process", "fence"]),
    ("landlock", &["fence"]),
    ("seccompiler", &["fence"]),
    ("gix", &["git"]),
    ("gix_ignore", &["git"]),
    ("gix_glob", &["git"]),
    ("serde_json", &["client", "fence", "output"]),
    (
        "schemars",
        &[
            "accepted", "name", "answer", "client", "commands", "config", "error", "fence",
            "output", "placed", "truth", "worktree",
        ],
    ),
    ("ignore", &["disk", "sync", "commands"]),
    ("fs_extra", &["disk"]),
    ("rustix", &["disk", "fence", "git", "process", "run"]),
    ("blake3", &["disk"]),
    ("globset", &["sync"]),
    ("foldhash", &["scope"]),
    ("sha1", &["git"]),
    ("indicatif", &["disk", "size"]),
];

/// The table of `lib.rs`: module → floor.
fn table() -> BTreeMap<String, u32> {
    let essay = std::fs::read_to_string(source().join("lib.rs")).expect("lib.rs");
    let mut floors = BTreeMap::new();
    for line in essay.lines().filter(|line| line.starts_with("//! | ")) {
        let cells: Vec<&str> = line
            .trim_start_matches("//! |")
            .split('|')
            .map(str::trim)
            .collect();
        let Some(floor) = cells[0].split(' ').next().and_then(|n| n.parse().ok()) else {
            continue;
        };
        for name in cells[1].split(',') {
            let name = name.trim().trim_matches(['[', ']', '`']);
            assert!(
                floors.insert(name.to_owned(), floor).is_none(),
                "{name} stands twice"
            );
        }
    }
    assert!(floors.len() > 15, "the table was read: {floors:?}");
    floors
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The module a file belongs to: the first part of its path below `src`.
fn module(path: &Path) -> String {
    let below = path.strip_prefix(source()).expect("below src");
    let first = below
        .components()
        .next()
        .expect("a part")
        .as_os_str()
        .to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules that a file imports: `use crate::x` and `crate::x::…` in its code.
fn imports(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    code.match_indices("crate::")
        .filter(|(at, _)| {
            !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
        })
        .flat_map(|(at, found)| {
            let rest = &code[at + found.len()..];
            match rest.strip_prefix('{') {
                Some(list) => {
                    let list = list.split("};").next().unwrap_or_default();
                    list.split(',')
                        .map(|part| name(part.trim()))
                        .collect::<Vec<_>>()
                }
                None => vec![name(rest)],
            }
        })
        .filter(|name| !name.is_empty())
        .collect()
}

fn name(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn imports_go_down_only() {
    let floors = table();
    let mut all = Vec::new();
    files(&source(), &mut all);
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for file in all {
        let own = module(&file);
        if own == "lib" || own == "main" {
            continue;
        }
        let Some(floor) = floors.get(&own) else {
            wrong.push(format!("{own} is not in the table of lib.rs"));
            continue;
        };
        let text = std::fs::read_to_string(&file).expect("a source file");
        for import in imports(&text) {
            looked_at += 1;
            let Some(other) = floors.get(&import) else {
                wrong.push(format!(
                    "{} imports {import}, which is not in the table",
                    file.display()
                ));
                continue;
            };
            let stranger = STRANGERS.contains(&(own.as_str(), import.as_str()));
            if other > floor || stranger {
                wrong.push(format!(
                    "{} (floor {floor}) imports {import} ({other})",
                    file.display()
                ));
            }
        }
    }
    assert!(looked_at > 200, "imports were found: {looked_at}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The path of a file's module below `commands`: `commands/add/plan.rs` is `["add", "plan"]`.
fn below_commands(file: &Path) -> Vec<String> {
    let below = file.strip_prefix(source().join("commands"));
    let below = below.expect("below commands").with_extension("");
    let parts = below.iter().map(|part| part.to_string_lossy().into_owned());
    parts.filter(|part| part != "mod").collect()
}

/// The verbs that a line of code in a module of `commands` names.
fn verbs_named(module: &[String], line: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, found) in line.match_indices("crate::commands::") {
        named.push(name(&line[at + found.len()..]));
    }
    if let Some(rest) = line.trim_start().strip_prefix("use super::") {
        let above = rest.matches("super::").count() + 1;
        if above == module.len() {
            named.push(name(rest.trim_start_matches("super::")));
        }
    }
    // what `commands/mod.rs` itself has is a type
    named.retain(|name| name.starts_with(|first: char| first.is_ascii_lowercase()));
    named
}

#[test]
fn commands_do_not_import_each_other() {
    let mut all = Vec::new();
    files(&source().join("commands"), &mut all);
    for file in all {
        let module = below_commands(&file);
        let Some(own) = module.first() else { continue };
        let text = std::fs::read_to_string(&file).expect("a source file");
        for line in text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            let others = verbs_named(&module, line);
            assert!(
                others.iter().all(|verb| verb == own),
                "{}: {line}",
                file.display()
            );
        }
    }
}

#[test]
fn each_border_crate_has_one_home() {
    let mut all = Vec::new();
    files(&source(), &mut all);
    for file in all.iter().filter(|file| !file.ends_with("tests.rs")) {
        let own = module(file);
        let text = std::fs::read_to_string(file).expect("a source file");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for (krate, homes) in HOMES {
            let uses = code.iter().any(|line| {
                line.match_indices(&format!("{krate}::")).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                })
            });
            assert!(
                !uses || homes.contains(&own.as_str()),
                "{} uses {krate}",
                file.display()
            );
        }
    }
}
