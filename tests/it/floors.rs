//! Holds the imports of `src` against the table of floors in `lib.rs`: they go strictly down, and
//! no file imports itself by way of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where each border crate is at home.
const HOMES: &[(&str, &[&str])] = &[
    ("clap", &["arguments", "cli", "commands", "run"]),
    (
        "toml",
        &[
            "actions", "cli", "commands", "config", "fence", "scope", "words", "worktree",
        ],
    ),
    ("duct", &["git", "system", "fence"]),
    ("landlock", &["fence"]),
    ("seccompiler", &["fence"]),
    ("gix", &["git"]),
    ("gix_ignore", &["git"]),
    ("gix_glob", &["git"]),
    ("serde_json", &["client", "fence", "output"]),
    ("ignore", &["disk", "sync", "commands"]),
    ("fs_extra", &["disk"]),
    ("rustix", &["disk", "fence", "git", "system", "run"]),
    ("blake3", &["disk"]),
    ("globset", &["sync"]),
    ("foldhash", &["scope"]),
    ("sha1", &["git"]),
    ("indicatif", &["disk", "words"]),
];

/// One source file, as the path of its module: `["git", "refs"]`.
type Module = Vec<String>;

/// The production code of `src`, by module.
struct Source {
    modules: BTreeMap<Module, String>,
}

impl Source {
    fn read() -> Self {
        let mut files = Vec::new();
        list_files(&root(), &mut files);
        let mut modules = BTreeMap::new();
        for file in files {
            let module = module_of(&file);
            let is_test = module.iter().any(|part| part == "tests");
            if is_test || module == ["main"] {
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("a source file");
            modules.insert(module, production_code(&text));
        }
        assert!(modules.len() > 200, "files were found: {}", modules.len());
        Self { modules }
    }

    /// The module that a path names: the longest beginning of it that is a file.
    fn named_by(&self, path: &[String]) -> Option<&Module> {
        for length in (1..=path.len()).rev() {
            if let Some((module, _)) = self.modules.get_key_value(&path[..length]) {
                return Some(module);
            }
        }
        None
    }

    /// The modules that a module imports, its own children by their bare name too: `plan::read(…)`.
    fn imports(&self, module: &Module) -> BTreeSet<&Module> {
        let code = &self.modules[module];
        let mut imported = BTreeSet::new();
        for child in self.modules.keys() {
            let is_child = child.len() == module.len() + 1 && child.starts_with(module);
            if is_child && names(code, &child[module.len()]) {
                imported.insert(child);
            }
        }
        for path in paths_in(code, module) {
            if let Some(other) = self.named_by(&path)
                && other != module
            {
                imported.insert(other);
            }
        }
        imported
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn list_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The module of a file: `git/refs.rs` is `["git", "refs"]`, `git/mod.rs` is `["git"]`.
fn module_of(file: &Path) -> Module {
    let below = file.strip_prefix(root()).expect("below src");
    let mut module = Module::new();
    for part in &below.with_extension("") {
        module.push(part.to_string_lossy().into_owned());
    }
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// The text of a file without comments and without its unit tests, which stand at the end.
fn production_code(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        code.push_str(line);
        code.push('\n');
    }
    let tests = code.find("#[cfg(test)]\nmod tests {");
    code.truncate(tests.unwrap_or(code.len()));
    code
}

/// The paths below the crate that code names, by `crate::`, `super::` and `self::`, in imports and
/// elsewhere; each one whole: `crate::git::{refs, process::Git}` are two.
fn paths_in(code: &str, module: &Module) -> Vec<Module> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                continue;
            }
            for relative in expand(&code[at..]) {
                paths.push(absolute(&relative, module));
            }
        }
    }
    paths
}

/// True if code has a path that begins with this name.
fn names(code: &str, name: &str) -> bool {
    let start = format!("{name}::");
    for (at, _) in code.match_indices(&start) {
        let before = code[..at].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            return true;
        }
    }
    false
}

/// The paths that a text begins with, each as its names.
fn expand(text: &str) -> Vec<Module> {
    let name_end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let name_end = name_end.unwrap_or(text.len());
    let name = text[..name_end].to_owned();
    let Some(rest) = text[name_end..].strip_prefix("::") else {
        return vec![vec![name]];
    };
    let mut tails = Vec::new();
    match rest.strip_prefix('{') {
        Some(list) => {
            for item in items(list) {
                tails.extend(expand(item.trim_start()));
            }
        }
        None => tails.extend(expand(rest)),
    }
    for tail in &mut tails {
        tail.insert(0, name.clone());
    }
    tails
}

/// The items of a list up to its closing brace, separated by commas.
fn items(list: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

/// A path from the root of the crate.
fn absolute(relative: &[String], module: &Module) -> Module {
    if relative[0] == "crate" {
        return relative[1..].to_vec();
    }
    let mut path = module.clone();
    let mut names = relative;
    while let Some(first) = names.first() {
        match first.as_str() {
            "super" => drop(path.pop()),
            "self" => {}
            _ => break,
        }
        names = &names[1..];
    }
    path.extend_from_slice(names);
    path
}

/// The table of `lib.rs`: room → floor.
fn floors() -> BTreeMap<String, u32> {
    let essay = std::fs::read_to_string(root().join("lib.rs")).expect("lib.rs");
    let mut floors = BTreeMap::new();
    for line in essay.lines() {
        let Some(row) = line.strip_prefix("//! | ") else {
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let number = cells[0].split(' ').next().unwrap_or_default();
        let Ok(floor) = number.parse() else { continue };
        for room in cells[1].split(',') {
            let room = room.trim().trim_matches(['[', ']', '`']);
            let before = floors.insert(room.to_owned(), floor);
            assert!(before.is_none(), "{room} stands twice");
        }
    }
    assert!(floors.len() > 15, "the table was read: {floors:?}");
    floors
}

#[test]
fn imports_go_strictly_down() {
    let source = Source::read();
    let floors = floors();
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for module in source.modules.keys() {
        let room = &module[0];
        if room == "lib" || room.is_empty() {
            continue;
        }
        let Some(floor) = floors.get(room) else {
            wrong.push(format!("{room} is not in the table of lib.rs"));
            continue;
        };
        for imported in source.imports(module) {
            looked_at += 1;
            let other_room = &imported[0];
            let Some(other_floor) = floors.get(other_room) else {
                wrong.push(format!("{other_room} is not in the table of lib.rs"));
                continue;
            };
            if other_room != room && other_floor >= floor {
                wrong.push(format!(
                    "{} (floor {floor}) imports {} ({other_floor})",
                    module.join("/"),
                    imported.join("/")
                ));
            }
        }
    }
    assert!(looked_at > 1000, "imports were found: {looked_at}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Finds the strongly connected components of the imports (Tarjan, 1972).
struct Components<'s> {
    source: &'s Source,
    index: BTreeMap<&'s Module, usize>,
    lowest: BTreeMap<&'s Module, usize>,
    stack: Vec<&'s Module>,
    circles: Vec<Vec<String>>,
}

impl<'s> Components<'s> {
    fn visit(&mut self, module: &'s Module) {
        let number = self.index.len();
        self.index.insert(module, number);
        self.lowest.insert(module, number);
        self.stack.push(module);
        for imported in self.source.imports(module) {
            if !self.index.contains_key(imported) {
                self.visit(imported);
                let lowest = self.lowest[module].min(self.lowest[imported]);
                self.lowest.insert(module, lowest);
            } else if self.stack.contains(&imported) {
                let lowest = self.lowest[module].min(self.index[imported]);
                self.lowest.insert(module, lowest);
            }
        }
        if self.lowest[module] == number {
            self.end_component(module);
        }
    }

    fn end_component(&mut self, root: &'s Module) {
        let start = self.stack.iter().position(|module| *module == root);
        let members = self.stack.split_off(start.expect("it was pushed"));
        let mut names: Vec<String> = members.iter().map(|module| module.join("/")).collect();
        names.sort();
        if names.len() > 1 {
            self.circles.push(names);
        }
    }
}

#[test]
fn no_file_is_in_a_circle_of_imports() {
    let source = Source::read();
    let mut search = Components {
        source: &source,
        index: BTreeMap::new(),
        lowest: BTreeMap::new(),
        stack: Vec::new(),
        circles: Vec::new(),
    };
    for module in source.modules.keys() {
        if !search.index.contains_key(module) {
            search.visit(module);
        }
    }
    let circles: Vec<String> = search.circles.iter().map(|c| c.join(" ")).collect();
    assert!(
        circles.is_empty(),
        "circles of files:\n{}",
        circles.join("\n")
    );
}

#[test]
fn what_is_in_a_circle_is_found() {
    let mut modules = BTreeMap::new();
    for (name, code) in [
        ("a", "use crate::b::B;"),
        ("b", "use super::{c::C, d};"),
        ("c", "fn f() { crate::a::f() }"),
        ("d", "e::run()"),
        ("d/e", "use crate::d::run;"),
    ] {
        modules.insert(
            name.split('/').map(ToOwned::to_owned).collect(),
            code.to_owned(),
        );
    }
    let source = Source { modules };
    let mut search = Components {
        source: &source,
        index: BTreeMap::new(),
        lowest: BTreeMap::new(),
        stack: Vec::new(),
        circles: Vec::new(),
    };
    search.visit(source.modules.keys().next().expect("a module"));
    assert_eq!(search.circles, [vec!["d", "d/e"], vec!["a", "b", "c"]]);
}

#[test]
fn commands_do_not_import_each_other() {
    let source = Source::read();
    for module in source.modules.keys() {
        if module[0] != "commands" || module.len() == 1 {
            continue;
        }
        for imported in source.imports(module) {
            let is_of_another_verb =
                imported[0] == "commands" && imported.len() > 1 && imported[1] != module[1];
            assert!(
                !is_of_another_verb,
                "{} imports {}",
                module.join("/"),
                imported.join("/")
            );
        }
    }
}

/// How many files a command is made of at most: what somebody may have to read who changes it. They
/// are printed by `cargo nextest run --test it floors --no-capture`.
#[test]
fn the_files_that_a_command_reaches_stay_countable() {
    let source = Source::read();
    let mut too_many = Vec::new();
    for (command, most) in [
        ("verify", 190),
        ("remove", 235),
        ("add", 273),
        ("exec", 241),
    ] {
        let start = source
            .named_by(&["commands".to_owned(), command.to_owned()])
            .expect("a command");
        let mut reached = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(module) = waiting.pop() {
            for imported in source.imports(module) {
                if reached.insert(imported) {
                    waiting.push(imported);
                }
            }
        }
        let number = reached.len();
        println!("commands/{command} reaches {number} files");
        if number > most {
            too_many.push(format!("{command}: {number}, and {most} are enough"));
        }
    }
    assert!(too_many.is_empty(), "{}", too_many.join("\n"));
}

#[test]
fn each_border_crate_has_one_home() {
    let source = Source::read();
    for (module, code) in &source.modules {
        for (crate_name, homes) in HOMES {
            let is_home = homes.contains(&module[0].as_str());
            assert!(
                !names(code, crate_name) || is_home,
                "{} uses {crate_name}",
                module.join("/")
            );
        }
    }
}
