//! Proposes what agents may edit, from the names at the root of the repository.

use bstr::{BString, ByteSlice};

use super::{EntryKind, InitFacts, TopLevelEntry};

/// Directories that hold the sources in the layouts of Rust, Go, Node, Python, Java, C, Ruby, PHP
/// and their neighbours, in lower case.
const SOURCES: &str = "\
    src source sources lib libs include app apps packages crates cmd internal pkg api \
    server client web frontend backend services modules components pages core ext exe main \
    java python";

/// Directories that change together with sources, and are none.
const COMPANIONS: &str = "\
    test tests testing __tests__ spec specs e2e t testdata fixtures bench benches \
    benchmarks example examples fuzz";

/// Directories of documents, for the second profile.
const DOCUMENTS: &str = "docs doc documentation";

/// Endings of files that are sources where they stand at the root.
const ROOT_SOURCES: &str = "go c h cc cpp hpp";

/// Files that a task has to edit to add a dependency; it should be asked for that.
const MANIFESTS: &str = "\
    Cargo.toml Cargo.lock package.json package-lock.json pnpm-lock.yaml yarn.lock go.mod \
    go.sum pyproject.toml setup.py setup.cfg requirements.txt uv.lock poetry.lock Gemfile \
    Gemfile.lock composer.json composer.lock pom.xml build.gradle build.gradle.kts \
    CMakeLists.txt";

const KNOWN_LAYOUT: &str = "# Proposed from the usual names of source directories.\n";
const EVERY_DIRECTORY: &str = "\
# No directory has a usual name of sources, so every one is proposed: remove
# those that tasks should not edit.
";
const ROOT: &str = "\
# There is no directory to propose, so this is everything: narrow it when the
# repository has grown.
";

/// Holds what the first config proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    /// Why these patterns: lines of comment.
    pub(super) because: &'static str,
    /// The write list: gitignore patterns.
    pub(super) write: Vec<String>,
    /// Patterns of the files with which dependencies are added, which are only shown.
    pub(super) manifests: Vec<String>,
    /// Names that no pattern in a config can stand for, so that they are not proposed.
    pub(super) unwritable: Vec<BString>,
    /// The directory of the documents, or `docs` if there is none.
    pub(super) documents: String,
}

impl Proposal {
    /// Chooses from the names.
    pub(super) fn plan(facts: &InitFacts) -> Self {
        let mut entries: Vec<_> = facts.entries.iter().collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let directories: Vec<_> = entries.iter().copied().filter(|e| is_visible(e)).collect();
        let is_source = |e: &&TopLevelEntry| is_source(e, facts.repository_name.as_deref());
        let (mut because, chosen): (_, Vec<_>) = if directories.iter().any(is_source) {
            let wanted = |e: &&TopLevelEntry| is_source(e) || is_named(e, COMPANIONS);
            let chosen = directories.iter().copied().filter(wanted);
            (KNOWN_LAYOUT, chosen.collect())
        } else {
            (EVERY_DIRECTORY, directories.clone())
        };
        let mut write = Vec::new();
        let mut unwritable = Vec::new();
        for entry in chosen {
            match escaped(&entry.name) {
                Some(name) => write.push(format!("/{name}/**")),
                None => unwritable.push(entry.name.clone()),
            }
        }
        let files = || entries.iter().filter(|e| e.kind == EntryKind::File);
        for ending in ROOT_SOURCES.split(' ') {
            let dotted = format!(".{ending}");
            if files().any(|f| f.name.ends_with(dotted.as_bytes())) {
                write.push(format!("/*{dotted}"));
            }
        }
        if write.is_empty() {
            because = ROOT;
            write.push("/*".into());
        }
        let manifests = MANIFESTS
            .split(' ')
            .filter(|m| files().any(|f| f.name == *m));
        let documents = directories.iter().find(|e| is_named(e, DOCUMENTS));
        Self {
            because,
            write,
            manifests: manifests.map(|name| format!("/{name}")).collect(),
            unwritable,
            documents: documents
                .and_then(|e| escaped(&e.name))
                .unwrap_or_else(|| "docs".into()),
        }
    }
}

fn is_visible(entry: &TopLevelEntry) -> bool {
    let directory = match entry.kind {
        EntryKind::Directory | EntryKind::PythonPackage => true,
        EntryKind::File => false,
    };
    directory && !entry.name.starts_with(b".")
}

fn is_named(entry: &TopLevelEntry, names: &str) -> bool {
    let mut names = names.split(' ');
    names.any(|name| entry.name.eq_ignore_ascii_case(name.as_bytes()))
}

/// Sources by name, a Python package (that is not the tests'), or the repository's own name.
fn is_source(entry: &TopLevelEntry, repository: Option<&str>) -> bool {
    if is_named(entry, COMPANIONS) || is_named(entry, DOCUMENTS) {
        return false;
    }
    let module = |name: &[u8]| {
        name.to_ascii_lowercase()
            .replace("-", "_")
            .replace(".", "_")
    };
    let own = repository.is_some_and(|name| module(name.as_bytes()) == module(&entry.name));
    own || entry.kind == EntryKind::PythonPackage || is_named(entry, SOURCES)
}

/// Escapes a name so that a gitignore pattern matches it and nothing else (gitignore(5)). There
/// is none for a name that is not UTF-8, as TOML is, or that has a line end, as sparse-checkout
/// patterns are lines.
fn escaped(name: &[u8]) -> Option<String> {
    let name = name.to_str().ok()?;
    if name.contains(['\n', '\r', '\0']) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}
