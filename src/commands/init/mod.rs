//! `git agentwt init`: writes a config to start from and makes git ignore the worktrees.
//!
//! It decides from names alone: those of the tracked top-level entries, that of the repository, and
//! whether there is a `.env` or a `.worktreeinclude`. It keeps whatever exists: a second `init`
//! plans nothing.

pub mod arguments;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::text::Text;
use crate::commands::init::arguments::Init;
use crate::commands::{Outcome, Session};
use crate::config::installers::INSTALLERS;
use crate::config::value::toml_string;
use crate::disk::files;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::words::text::would;
use crate::worktree::ignore_rules;
use crate::worktree::ignore_rules::{EXCLUDE_RULE, IgnoreRules, WORKTREES_GITIGNORE_PATH};
use crate::worktree::repository::{CONFIG, Main, Repository};

/// The answer of `init`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InitAnswer {
    /// The config file.
    #[schemars(with = "String")]
    pub config: Utf8PathBuf,
    /// Whether nothing was written (`-n`).
    pub dry_run: bool,
    /// Whether the config is written; false if there is one.
    pub wrote_config: bool,
    /// Whether the rule is written into `info/exclude`.
    pub wrote_exclude_rule: bool,
    /// Whether `.agentwt/worktrees/.gitignore` is written.
    pub wrote_gitignore: bool,
    /// Whether the new config has commands for new worktrees, which run when you trust them; absent
    /// if it has none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub proposes_commands: bool,
    /// With `-n`, the text of the config; absent if there is a config already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Answer for InitAnswer {
    const DOCUMENT: &'static str = "init";

    /// The text of the config on stdout with `-n`; what is written on stderr.
    fn print(&self, text: &mut Text) {
        let verb = would(self.dry_run, "wrote", "would write");
        if let Some(config) = &self.text {
            text.put(config);
        }
        if self.wrote_config {
            let path = text.paint.name(self.config.as_str());
            text.tell(format!("{verb} {path}"));
        } else {
            text.tell(format!("{} exists and is not changed", self.config));
        }
        if self.wrote_exclude_rule {
            text.tell(format!("{verb} `{EXCLUDE_RULE}` into info/exclude"));
        }
        if self.wrote_gitignore {
            text.tell(format!("{verb} {WORKTREES_GITIGNORE_PATH}"));
        }
        if self.proposes_commands && !self.dry_run {
            text.tell("it proposes commands for new worktrees; to trust them: git agentwt trust");
        }
        if self.wrote_config && !self.dry_run {
            text.tell("look at it, commit it, then: git agentwt add task-1");
        }
    }
}

/// Holds what `init` reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct InitFacts {
    /// The tracked entries of the repository's root, in any order.
    entries: Vec<TopLevelEntry>,
    /// The repository's own name, which a Python package often has too.
    repository_name: Option<String>,
    has_config: bool,
    has_worktreeinclude: bool,
    /// Whether the root has a `.env` that is not tracked.
    has_env: bool,
    ignored: IgnoreRules,
}

/// Names one tracked entry of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TopLevelEntry {
    /// Its name, without a `/`.
    name: BString,
    kind: TopEntryKind,
}

/// Says what a tracked entry of the root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TopEntryKind {
    Directory,
    /// A directory with an `__init__.py`.
    PythonPackage,
    /// A file, a symbolic link or a submodule.
    File,
}

/// Writes what is missing; `-n` only says what.
///
/// # Errors
/// Fails when git or the disk does.
pub fn run(session: &Session, options: &Init) -> Result<Outcome<InitAnswer>, Error> {
    let repository = session.repository_with_checkout()?;
    // what follows can do without git: one that is missing or too old is reported all the same
    repository.git.version()?;
    if !options.dry_run {
        session.require_no_agent(&repository, &session.command_line)?;
    }
    let mut root = &repository.root;
    // a bare repository has no main worktree: the config goes where the command was started
    if repository.main == Main::Bare
        && repository.inside.is_none()
        && let Some(toplevel) = &repository.toplevel
    {
        root = toplevel;
    }
    let config = root.join(CONFIG);
    let facts = read_facts(&repository, &config)?;
    let mut answer = plan(&facts, config);
    answer.dry_run = options.dry_run;
    if !answer.dry_run {
        if let Some(text) = answer.text.take() {
            files::write(&answer.config, text.as_bytes())?;
        }
        ignore_rules::ensure(&repository, |_| Ok(()))?;
    }
    Ok(Outcome::done(answer))
}

fn read_facts(repository: &Repository, config: &Utf8Path) -> Result<InitFacts, Error> {
    let entries = match repository.git.rev_parse_commit("HEAD")? {
        Some(head) => {
            let objects = repository.objects()?;
            top_level(&objects.list(&objects.commit(&head)?.tree)?)
        }
        None => Vec::new(),
    };
    let is_tracked = entries.iter().any(|entry| entry.name == ".env");
    Ok(InitFacts {
        has_env: !is_tracked && files::exists(&repository.root.join(".env")),
        entries,
        repository_name: repository.root.file_name().map(ToOwned::to_owned),
        has_config: files::exists(config),
        has_worktreeinclude: files::exists(&repository.root.join(".worktreeinclude")),
        ignored: ignore_rules::read(repository)?,
    })
}

/// The entries of the root, from all paths of a tree, which come sorted.
fn top_level(paths: &[(RepoPath, Entry)]) -> Vec<TopLevelEntry> {
    let mut entries: Vec<TopLevelEntry> = Vec::new();
    for (path, _) in paths {
        let bytes = path.as_bstr().as_bytes();
        let (name, kind) = match bytes.split_once_str("/") {
            None => (bytes, TopEntryKind::File),
            Some((name, b"__init__.py")) => (name, TopEntryKind::PythonPackage),
            Some((name, _)) => (name, TopEntryKind::Directory),
        };
        // `a-b` sorts between `a` and `a/x`, so the entry may be some way back
        match entries.iter_mut().rev().find(|entry| entry.name == name) {
            Some(entry) if kind == TopEntryKind::PythonPackage => entry.kind = kind,
            Some(_) => {}
            None => entries.push(TopLevelEntry {
                name: name.into(),
                kind,
            }),
        }
    }
    entries
}

/// Decides what is written: what does not exist yet.
fn plan(facts: &InitFacts, config: Utf8PathBuf) -> InitAnswer {
    let text = (!facts.has_config).then(|| config_text(facts));
    let new_text = text.as_deref().unwrap_or_default();
    InitAnswer {
        config,
        dry_run: false,
        proposes_commands: new_text.contains("\ncommands = "),
        wrote_config: !facts.has_config,
        wrote_exclude_rule: !facts.ignored.exclude_rule,
        wrote_gitignore: !facts.ignored.gitignore,
        text,
    }
}

/// Takes the place of the file sync section in a repository that names its files already.
const INCLUDED: &str = "\
# Untracked files (.env and the like): this repository has a .worktreeinclude, and each new
# worktree gets a copy of the ignored files that it names. Never of one that the scope
# excludes. A [worktree.file_sync] here can add patterns and limits: git-agentwt-config(5).
";

/// The first config: every key, explained, and only the write list is set.
fn config_text(facts: &InitFacts) -> String {
    let proposal = Proposal::plan(facts);
    let mut write = String::new();
    for pattern in &proposal.write {
        let _ = writeln!(write, "    {},", toml_string(pattern));
    }
    if !proposal.manifests.is_empty() {
        write.push_str("    # For tasks that change dependencies or the build:\n");
    }
    for pattern in &proposal.manifests {
        let _ = writeln!(write, "    #{},", toml_string(pattern));
    }
    let mut template = include_str!("config.toml").to_owned();
    if facts.has_worktreeinclude
        && let Some(start) = template.find("# Untracked")
        && let Some(end) = template.find("# What prepares")
    {
        template.replace_range(start..end, &format!("{INCLUDED}\n"));
    }
    let documents = toml_string(&format!("/{}/**", proposal.documents));
    with_setup(&template, facts)
        .replace("{documents}", &documents)
        .replace("{because}", proposal.because)
        .replace("{write}", &write)
}

/// The template with the commands, submodules and copies that the files of the project call for.
fn with_setup(template: &str, facts: &InitFacts) -> String {
    let mut installs: Vec<String> = Vec::new();
    for (file, command) in INSTALLERS {
        let install = match file {
            // Yarn 2 and later has this file
            "yarn.lock" if has_entry(facts, ".yarnrc.yml") => "yarn install --immutable",
            _others => command,
        };
        let quoted = toml_string(install);
        if has_entry(facts, file) && !installs.contains(&quoted) {
            installs.push(quoted);
        }
    }
    // never what a command of the set-up writes (`node_modules`, `.husky/_`): copies are read-only
    let mut copied = Vec::new();
    if facts.has_env {
        copied.push(toml_string(".env*"));
    }
    let optional = key_line("optional_patterns", &copied, "\"config/local.json\"");
    let commands = key_line("commands", &installs, "\"npm ci\"");
    let submodules = if has_entry(facts, ".gitmodules") {
        "submodules = true"
    } else {
        "#submodules = true"
    };
    template
        .replace("{optional}", &optional)
        .replace("{commands}", &commands)
        .replace("{submodules}", submodules)
}

/// True if the root of the repository has a tracked entry of this name.
fn has_entry(facts: &InitFacts, name: &str) -> bool {
    facts.entries.iter().any(|entry| entry.name == name)
}

/// The line of a key with a list; a comment with an example where the list is empty.
fn key_line(key: &str, values: &[String], example: &str) -> String {
    if values.is_empty() {
        format!("#{key} = [{example}]")
    } else {
        format!("{key} = [{}]", values.join(", "))
    }
}

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
struct Proposal {
    /// Why these patterns: lines of comment.
    because: &'static str,
    /// The write list: gitignore patterns.
    write: Vec<String>,
    /// Patterns of the files with which dependencies are added, which are only shown.
    manifests: Vec<String>,
    /// The directory of the documents, or `docs` if there is none.
    documents: String,
}

impl Proposal {
    /// Proposes what tasks may edit, from the names at the root of the repository: the directories
    /// that usually have sources, else every directory; with them the source files at the root. If
    /// there is none of these, everything.
    fn plan(facts: &InitFacts) -> Self {
        let mut directories = Vec::new();
        let mut files = Vec::new();
        for entry in &facts.entries {
            if entry.kind == TopEntryKind::File {
                files.push(entry);
            } else if !entry.name.starts_with(b".") {
                directories.push(entry);
            }
        }
        directories.sort_by(|a, b| a.name.cmp(&b.name));
        let documents = directories.iter().find(|entry| is_named(entry, DOCUMENTS));
        let documents_name = documents.and_then(|entry| escaped(&entry.name));

        let repository = facts.repository_name.as_deref();
        let mut because = EVERY_DIRECTORY;
        if directories.iter().any(|entry| is_source(entry, repository)) {
            because = KNOWN_LAYOUT;
            directories.retain(|entry| is_source(entry, repository) || is_named(entry, COMPANIONS));
        }
        let mut write = Vec::new();
        for name in directories.iter().filter_map(|entry| escaped(&entry.name)) {
            write.push(format!("/{name}/**"));
        }
        for ending in ROOT_SOURCES.split(' ') {
            let dotted = format!(".{ending}");
            let mut names = files.iter().map(|file| &file.name);
            if names.any(|name| name.ends_with(dotted.as_bytes())) {
                write.push(format!("/*{dotted}"));
            }
        }
        if write.is_empty() {
            because = ROOT;
            write.push("/*".into());
        }

        let mut manifests = Vec::new();
        for name in MANIFESTS.split(' ') {
            if files.iter().any(|file| file.name == name) {
                manifests.push(format!("/{name}"));
            }
        }
        Self {
            because,
            write,
            manifests,
            documents: documents_name.unwrap_or_else(|| "docs".into()),
        }
    }
}

/// True if an entry has one of these names, in any case of letters.
fn is_named(entry: &TopLevelEntry, names: &str) -> bool {
    let mut names = names.split(' ');
    names.any(|name| entry.name.eq_ignore_ascii_case(name.as_bytes()))
}

/// Sources by name, a Python package (that is not the tests'), or the repository's own name.
fn is_source(entry: &TopLevelEntry, repository: Option<&str>) -> bool {
    if is_named(entry, COMPANIONS) || is_named(entry, DOCUMENTS) {
        return false;
    }
    let is_namesake =
        repository.is_some_and(|name| module_name(name.as_bytes()) == module_name(&entry.name));
    is_namesake || entry.kind == TopEntryKind::PythonPackage || is_named(entry, SOURCES)
}

/// A name as a module would have it: in lower case, with underscores.
fn module_name(name: &[u8]) -> Vec<u8> {
    let lower = name.to_ascii_lowercase();
    lower.replace("-", "_").replace(".", "_")
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
