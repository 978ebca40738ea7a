//! Generates, from the rules of a scope, the files by which an agent program keeps to the scope
//! itself.
//!
//! Each program has its own language: rules that deny, a sandbox, a command that is asked before
//! each tool call ([`super::call`]). The command has the exact matcher, and so have `verify` and
//! the hooks; rules in a weaker language than gitignore(5) never deny what the scope allows, and
//! may allow more.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::client::layout::repo_path;
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, EntryKind, RuleList};
use crate::words::path::{RepoPath, shell_word};

/// The most entries of the repository's root that get rules of their own.
const MOST_ENTRIES: usize = 200;
/// The beginning of a configuration of opencode.
const OPENCODE: &str = "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n";

/// Describes a file that makes a program keep to the scope.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Guard {
    /// The path, from the worktree's root.
    pub path: &'static str,
    /// What the file has.
    pub has: &'static str,
    /// Its text; the second argument is what the context alone puts into the file.
    #[serde(skip)]
    pub(super) text: fn(&GuardFacts<'_>, Option<&str>) -> String,
}

/// What guards are generated from.
#[derive(Clone, Copy, Debug)]
pub struct GuardFacts<'g> {
    /// The scope.
    pub scope: &'g Scope,
    /// The directory of the worktree.
    pub worktree: &'g Utf8Path,
    /// The directory of which all but the worktree is to be left alone.
    pub closed_root: &'g Utf8Path,
    /// Our own executable; empty where it is not known.
    pub binary: &'g Utf8Path,
    /// The entries of the root of the commit that is checked out.
    pub top: &'g BTreeSet<(String, EntryKind)>,
}

/// Returns the entries of the root that tracked paths have, as far as rules can name them.
pub fn top_entries<'p>(
    tracked: impl Iterator<Item = &'p RepoPath>,
) -> BTreeSet<(String, EntryKind)> {
    let mut entries = BTreeSet::new();
    let mut name_before: &[u8] = b"";
    for path in tracked {
        let bytes: &[u8] = path.as_bstr();
        let (name, kind) = match bytes.split_once_str("/") {
            Some((directory, _)) => (directory, EntryKind::Directory),
            None => (bytes, EntryKind::File),
        };
        // The paths of one directory follow each other.
        if name == name_before {
            continue;
        }
        name_before = name;
        let text = std::str::from_utf8(name).unwrap_or_default();
        if !text.is_empty() && text != ".agentwt" && is_plain(text) {
            entries.insert((text.to_owned(), kind));
        }
    }
    entries
}

/// Rules that deny edits: of what the scope excludes, and of the entries of the root in which it
/// lets nothing be written; and the command, which decides about all else. Claude Code looks at the
/// rules first and names no reason, so none covers the main worktree: the agent is to be told the
/// path to use instead.
pub(super) fn claude_code(facts: &GuardFacts<'_>, _: Option<&str>) -> String {
    let hook = json!({"type": "command", "command": facts.command("claude-code"), "timeout": 10});
    let matcher = "Edit|MultiEdit|Write|NotebookEdit";
    pretty(&json!({
        "permissions": {"deny": facts.denied()},
        "hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]},
    }))
}

/// A sandbox in which only the directories that the write patterns begin with are writable, also
/// for shell commands; and the command.
pub(super) fn codex(facts: &GuardFacts<'_>, _: Option<&str>) -> String {
    let mut text = "default_permissions = \"agentwt\"\n\n\
        [permissions.agentwt]\nextends = \":workspace\"\n\n\
        [permissions.agentwt.filesystem.\":workspace_roots\"]\n"
        .to_owned();
    match facts.roots() {
        None => text += "\".\" = \"write\"\n",
        Some(roots) => {
            text += "\".\" = \"read\"\n";
            for root in roots {
                text += &format!("{} = \"write\"\n", toml_text(&root));
            }
        }
    }
    let command = toml_text(&facts.command("codex"));
    text + &format!(
        "\n[[hooks.PreToolUse]]\nmatcher = \"^(apply_patch|Edit|Write)$\"\n\n\
        [[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = {command}\ntimeout = 10\n"
    )
}

/// Writes a string of TOML: a string of JSON is one, but for this character.
fn toml_text(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

pub(super) fn gemini(facts: &GuardFacts<'_>, config: Option<&str>) -> String {
    let command = facts.command("gemini");
    let hook = json!({"type": "command", "name": "agentwt", "command": command, "timeout": 10_000});
    let group = json!({"matcher": "^(write_file|replace)$", "hooks": [hook]});
    joined(config, &pretty(&json!({"hooks": {"BeforeTool": [group]}})))
}

pub(super) fn cursor(facts: &GuardFacts<'_>, _: Option<&str>) -> String {
    let matcher = "Write|Edit|StrReplace|EditNotebook|ApplyPatch|Delete";
    let hook = json!({"command": facts.command("cursor"), "matcher": matcher, "timeout": 10});
    pretty(&json!({"version": 1, "hooks": {"preToolUse": [hook]}}))
}

pub(super) fn copilot(facts: &GuardFacts<'_>, _: Option<&str>) -> String {
    let hook = json!({"type": "command", "bash": facts.command("copilot"), "timeoutSec": 10});
    pretty(&json!({"version": 1, "hooks": {"preToolUse": [hook]}}))
}

/// Rules for the tools that edit, of which the last that matches counts, so their order matters.
pub(super) fn opencode(facts: &GuardFacts<'_>, config: Option<&str>) -> String {
    let mut rules = vec![("*".to_owned(), "deny")];
    for pattern in facts.patterns(RuleList::Write) {
        for glob in wildcards(pattern).globs {
            rules.push((glob, "allow"));
        }
    }
    for pattern in facts.patterns(RuleList::Exclude) {
        let wildcards = wildcards(pattern);
        // what denies too much would stop the agent where the scope does not
        if wildcards.is_exact {
            for glob in wildcards.globs {
                rules.push((glob, "deny"));
            }
        }
    }
    rules.push((".agentwt/*".to_owned(), "deny"));
    let edit = opencode_members(&rules);
    let root = json!(format!("{}/*", facts.closed_root));
    let guard = format!(
        "{{\n  \"permission\": {{\n    \"edit\": {{\n{edit}\n    }},\n    \
         \"external_directory\": {{\n      {root}: \"deny\"\n    }}\n  }}\n}}\n"
    );
    joined(config.or(Some(OPENCODE)), &guard)
}

/// The rules as members of an object, in which each glob may stand once: the last time.
fn opencode_members(rules: &[(String, &str)]) -> String {
    let mut lines = Vec::new();
    for (number, (glob, action)) in rules.iter().enumerate() {
        let is_repeated = rules[number + 1..].iter().any(|(later, _)| later == glob);
        if !is_repeated {
            lines.push(format!("      {}: \"{action}\"", json!(glob)));
        }
    }
    lines.join(",\n")
}

impl GuardFacts<'_> {
    /// The command that is asked before a tool call. It names the worktree, as the agent may have
    /// gone elsewhere.
    fn command(&self, client: &str) -> String {
        let binary = match self.binary.as_str() {
            "" => "git-agentwt".to_owned(),
            binary => shell_word(binary),
        };
        let worktree = shell_word(self.worktree.as_str());
        format!("{binary} -C {worktree} guard --client {client}")
    }

    fn patterns(&self, list: RuleList) -> impl Iterator<Item = &str> {
        let rules = self.scope.rules().iter();
        rules
            .filter(move |rule| rule.list == list)
            .map(|rule| rule.pattern.as_str())
    }

    /// The rules `Edit(…)`, with absolute patterns of gitignore(5).
    fn denied(&self) -> Vec<String> {
        let worktree = self.worktree.as_str();
        if !is_plain(worktree) {
            return Vec::new();
        }
        let mut rules = vec![format!("Edit(/{worktree}/.agentwt/**)")];
        for pattern in self.patterns(RuleList::Exclude) {
            let anchor = if is_anchored(pattern) { "" } else { "**/" };
            let relative = pattern.strip_prefix('/').unwrap_or(pattern);
            if relative.chars().all(is_plain_in_pattern) {
                rules.push(format!("Edit(/{worktree}/{anchor}{relative})"));
            }
        }
        let closed = self
            .top
            .iter()
            .filter(|(name, kind)| !self.opens(name, *kind));
        for (name, kind) in closed.take(MOST_ENTRIES) {
            rules.push(match kind {
                EntryKind::Directory => format!("Edit(/{worktree}/{name}/**)"),
                EntryKind::File => format!("Edit(/{worktree}/{name})"),
            });
        }
        rules
    }

    /// True if something may be written at or below an entry of the root.
    fn opens(&self, name: &str, kind: EntryKind) -> bool {
        if kind == EntryKind::File {
            return self.scope.verdict(&repo_path(name), kind).access == Access::Write;
        }
        self.patterns(RuleList::Write).any(|pattern| {
            let relative = pattern.trim_start_matches('/');
            let first = relative.split('/').next().unwrap_or_default();
            !is_anchored(pattern) || !is_literal(first) || first.eq_ignore_ascii_case(name)
        })
    }

    /// The directories and files with which the write patterns begin; none where one of them begins
    /// with a wildcard.
    fn roots(&self) -> Option<BTreeSet<String>> {
        let mut roots = BTreeSet::new();
        for pattern in self.patterns(RuleList::Write) {
            let components = pattern.trim_matches('/').split('/');
            let literal: Vec<&str> = components.take_while(|part| is_literal(part)).collect();
            if !is_anchored(pattern) || literal.is_empty() {
                return None;
            }
            roots.insert(literal.join("/"));
        }
        Some(roots)
    }
}

/// True if a pattern of gitignore(5) is relative to the root only.
fn is_anchored(pattern: &str) -> bool {
    pattern.trim_end_matches('/').contains('/')
}

fn is_literal(part: &str) -> bool {
    !part.contains(['*', '?', '[', '\\'])
}

fn is_plain_char(char: char) -> bool {
    char.is_alphanumeric() || " ._-+@~,=:".contains(char)
}

/// True for what means itself in a deny rule, or there what it means in gitignore(5).
fn is_plain_in_pattern(char: char) -> bool {
    is_plain_char(char) || "/*?[]!".contains(char)
}

/// True if a path means itself in a rule of any program.
fn is_plain(path: &str) -> bool {
    path.chars().all(|char| is_plain_char(char) || char == '/') && path.trim() == path
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Joins two JSON objects with other keys, each in lines of its own.
fn joined(config: Option<&str>, guard: &str) -> String {
    match config.and_then(|config| config.strip_suffix("\n}\n")) {
        Some(members) => format!("{members},\n{}", guard.trim_start_matches("{\n")),
        None => guard.to_owned(),
    }
}

/// A pattern of gitignore(5) in a language in which `*` is any text, with slashes too.
struct Wildcards {
    globs: Vec<String>,
    /// Whether they match nothing that the pattern does not.
    is_exact: bool,
}

/// Translates a pattern of gitignore(5): the globs match what the pattern matches, and everything
/// below that. Where the language cannot say it, they match more ([`Wildcards::is_exact`]).
///
/// | pattern | globs | exact |
/// |---|---|---|
/// | `/src/**` | `src/*` | yes |
/// | `*.log` | `*.log`, `*.log/*` | yes |
/// | `gen/` | `gen/*`, `*/gen/*` | yes |
/// | `/a/**/b` | `a/*b`, `a/*b/*` | no: `a/xb` |
fn wildcards(pattern: &str) -> Wildcards {
    let is_of_directories = pattern.ends_with('/');
    let path = with_plain_stars(pattern.trim_matches('/'));
    let is_anywhere = !is_anchored(pattern) || path.starts_with("**/");
    // `/**/` stands for any number of directories, also none
    let flat = path.trim_start_matches("**/").replace("/**/", "/*");
    let mut entries = vec![simplified(&flat)];
    if is_anywhere && !entries[0].starts_with('*') {
        entries.push(format!("*/{}", entries[0]));
    }
    let mut globs = Vec::new();
    for entry in entries {
        if entry.ends_with('*') {
            globs.push(entry);
            continue;
        }
        let contents = format!("{entry}/*");
        if !is_of_directories {
            // it may be a file
            globs.push(entry);
        }
        globs.push(contents);
    }
    Wildcards {
        globs,
        is_exact: is_exact(pattern, &flat, is_anywhere),
    }
}

/// A pattern in which nothing but `**` stands for any number of directories: `***` and `**/**` are
/// the same, and at the end `**` matches what `*` does here.
fn with_plain_stars(pattern: &str) -> String {
    let mut path = pattern.to_owned();
    while path.contains("***") {
        path = path.replace("***", "**");
    }
    while path.contains("**/**") {
        path = path.replace("**/**", "**");
    }
    match path.strip_suffix("/**") {
        Some(parent) => format!("{parent}/*"),
        None => path,
    }
}

/// True if the globs of a pattern match nothing else: if all its wildcards are stars at the two
/// ends. One at the end may match slashes, as what is below is meant too. So may one at the start
/// of a pattern that matches at any depth. Any other wildcard would match too much.
fn is_exact(pattern: &str, flat: &str, is_anywhere: bool) -> bool {
    // `gen*/` matches no file, and the glob `gen*` does
    let may_match_files = pattern.ends_with('/') && flat.ends_with('*');
    let without_end = flat.strip_suffix('*').unwrap_or(flat);
    let literal_part = if is_anywhere {
        without_end.trim_start_matches('*')
    } else {
        without_end
    };
    is_literal(literal_part) && !may_match_files
}

/// The text with `?` for every class and escaped character, and one `*` for two.
fn simplified(glob: &str) -> String {
    let mut simple = String::new();
    let mut chars = glob.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => simple.extend(chars.next().map(|_| '?')),
            '[' => {
                // a `]` that comes first stands for itself
                let rest = chars.as_str().trim_start_matches(['!', '^', ']']);
                chars = rest.split_once(']').map_or("", |(_, rest)| rest).chars();
                simple.push('?');
            }
            '*' if simple.ends_with('*') => {}
            other => simple.push(other),
        }
    }
    simple
}
