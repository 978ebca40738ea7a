//! What every fuzz target does with its bytes: a parser may refuse them, but it may not panic,
//! and what it takes must be what it says; a pattern must match what git says it matches.
//!
//! `fuzz/` starts these with bytes of libFuzzer, `tests/it/fuzz.rs` with generated ones.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use git_agentwt::client::call::ToolCall;
use git_agentwt::client::claude::ClaudeSettings;
use git_agentwt::client::claude::WorktreeEvent;
use git_agentwt::config::Config;
use git_agentwt::git::hooks::journal::Journal;
use git_agentwt::git::index::OpenIndex;
use git_agentwt::git::landing::Authorship;
use git_agentwt::git::object_format::ObjectFormat;
use git_agentwt::git::reflog::parse_reflog_file;
use git_agentwt::git::settings_file::meaning;
use git_agentwt::inventory::clean_directories::CleanDirectories;
use git_agentwt::inventory::manifest::Manifest;
use git_agentwt::inventory::placed::Placed;
use git_agentwt::record::claim::Claim;
use git_agentwt::record::worktree::Intent;
use git_agentwt::record::worktree::LastVerification;
use git_agentwt::record::worktree::Record;
use git_agentwt::scope::compiled::Scope;
use git_agentwt::scope::rule::Access;
use git_agentwt::scope::rule::Case;
use git_agentwt::scope::rule::EntryKind;
use git_agentwt::scope::rule::RuleList;
use git_agentwt::scope::rule::RuleOrigin;
use git_agentwt::scope::rule::ScopeRule;
use git_agentwt::sync::PatternOrigin;
use git_agentwt::sync::matcher::Matcher;
use git_agentwt::sync::pattern::Pattern;
use git_agentwt::words::path::RepoPath;
use git_agentwt::words::toml_file::from_text;
use git_agentwt::words::toml_file::to_text;

/// What is done with the bytes of one input.
pub type Target = fn(&[u8]);

/// Every target by its name, for whoever runs all.
pub const ALL: &[(&str, Target)] = &[
    ("reflog", reflog),
    ("journal", journal),
    ("authorship", authorship),
    ("client_input", client_input),
    ("manifest", manifest),
    ("walked", walked),
    ("placed", placed),
    ("record", record),
    ("claim", claim),
    ("config", config),
    ("settings_file", settings_file),
    ("index", index),
    ("pattern", pattern),
    ("sparse", sparse),
    ("sync_pattern", sync_pattern),
];

/// The file of a reflog.
pub fn reflog(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let entries = parse_reflog_file(bytes);
    assert!(entries.len() <= lines, "at most an entry a line");
}

/// The journal of what was done to refs: each move of a ref is in a line of its own.
pub fn journal(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let journal = Journal::parse(bytes);
    let moves: usize = journal.shared().map(|name| journal.moves(name).len()).sum();
    assert!(moves + journal.worktrees.len() <= lines);
    for id in journal.touched() {
        let text = id.to_string();
        let stands_there = bytes
            .windows(text.len())
            .any(|part| part.eq_ignore_ascii_case(text.as_bytes()));
        assert!(stands_there, "{id} is in no line");
    }
}

/// A raw commit: the message is what follows the headers.
pub fn authorship(bytes: &[u8]) {
    let authorship = Authorship::parse(bytes);
    assert!(bytes.ends_with(&authorship.message));
}

/// What a client gives a hook, and the settings that hooks are written to.
pub fn client_input(bytes: &[u8]) {
    for client in [None, Some("claude"), Some("cursor"), Some("gemini")] {
        if let Ok(call) = ToolCall::parse(bytes, client) {
            assert!(!call.denial("a reason").is_empty());
        }
    }
    if let Ok(event) = WorktreeEvent::parse(bytes) {
        let name = event.worktree_name().map(|name| name.to_string());
        assert!(name.is_none_or(|name| !name.contains('/')), "one directory");
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(settings) = ClaudeSettings::parse(text)
    {
        settings.commands("WorktreeCreate");
    }
}

/// The directories that a walk found clean: what is read is written back as the same.
pub fn walked(bytes: &[u8]) {
    let manifest = Manifest::default();
    if let Some(walked) = CleanDirectories::from_bytes(bytes, &manifest) {
        let again = CleanDirectories::from_bytes(&walked.to_bytes(), &manifest);
        assert_eq!(again.as_ref(), Some(&walked));
    }
}

/// A manifest that is read is written back as the same one.
pub fn manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::from_bytes(bytes) {
        let again = Manifest::from_bytes(&manifest.to_bytes());
        assert_eq!(again.as_ref(), Ok(&manifest));
        for item in manifest.items() {
            assert!(
                manifest.get(&item.path).is_some(),
                "it is found by its path"
            );
        }
    }
}

/// A list of placed files that is read is written back as the same one.
pub fn placed(bytes: &[u8]) {
    if let Ok(placed) = Placed::from_bytes(bytes) {
        let again = Placed::from_bytes(&placed.to_bytes());
        assert_eq!(again.as_ref(), Ok(&placed));
        for file in placed.files() {
            assert_eq!(
                placed.get(&file.path),
                Some(file),
                "it is found by its path"
            );
        }
    }
}

/// A sync pattern, and after a newline a path: what is taken cannot leave the repository, and the
/// walk enters every directory on the way to what the pattern selects.
pub fn sync_pattern(bytes: &[u8]) {
    let cut = bytes.iter().position(|byte| *byte == b'\n');
    let (glob, path) = bytes.split_at(cut.unwrap_or(bytes.len()));
    let Ok(glob) = std::str::from_utf8(glob) else {
        return;
    };
    let Ok(pattern) = Pattern::parse(glob, PatternOrigin::BuiltIn) else {
        return;
    };
    let parents = glob.split('/').any(|part| part == "..");
    assert!(!parents && !glob.starts_with(['/', '~']), "{glob}");
    let Ok(matcher) = Matcher::new(&[pattern], None, Case::Sensitive) else {
        return;
    };
    let Ok(path) = RepoPath::parse(path.get(1..).unwrap_or_default().to_vec()) else {
        return;
    };
    let parents = path.parents().map(RepoPath::parse);
    let mut parents = parents.filter_map(Result::ok);
    let is_entered = parents.all(|parent| matcher.enters(&parent));
    // a class of globset's matches a slash too, which leads nowhere
    let is_selected = matcher.selected(&path, EntryKind::File).any() && !glob.contains('[');
    assert!(
        !is_selected || is_entered,
        "{glob} {path}: it is on the way"
    );
}

/// The commit of a claim, which anybody may have pushed; what is read is written back as the same.
pub fn claim(bytes: &[u8]) {
    if let Ok(claim) = Claim::from_commit(bytes) {
        let again = Claim::from_commit(format!("tree\n\n{}", claim.to_message()).as_bytes());
        assert_eq!(again.as_ref(), Ok(&claim));
    }
}

/// The files of a record; what is read is written back as the same.
pub fn record(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(record) = from_text::<Record>(text) {
        assert_eq!(from_text(&to_text(&record)), Ok(record));
    }
    if let Ok(intent) = from_text::<Intent>(text) {
        assert_eq!(from_text(&to_text(&intent)), Ok(intent));
    }
    if let Ok(last) = from_text::<LastVerification>(text) {
        assert_eq!(from_text(&to_text(&last)), Ok(last));
    }
}

/// `.agentwt/config.toml`: what it says stands where it is said to stand.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Config::parse("config.toml", text) {
        Ok(config) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            for scope in config.scopes.values() {
                let lists = [&scope.read, &scope.write, &scope.exclude];
                for pattern in lists.into_iter().flatten().flatten() {
                    assert!(text.get(pattern.span.clone()).is_some(), "in the text");
                    let line = text[..pattern.span.start].matches('\n').count() + 1;
                    assert_eq!(usize::try_from(pattern.line), Ok(line));
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty(), "it says why"),
    }
}

/// `config.worktree`: what a file says does not depend on how often it is asked.
pub fn settings_file(bytes: &[u8]) {
    assert_eq!(meaning(bytes), meaning(bytes));
}

/// An index: new change times leave all else as it is.
pub fn index(bytes: &[u8]) {
    for kind in ["sha1", "sha256"] {
        let format = ObjectFormat::parse(kind).expect("it is one of them");
        let Ok(index) = OpenIndex::parse("index".into(), Some(bytes.to_vec()), format) else {
            continue;
        };
        let all: Vec<_> = (0..index.entries().count()).map(|at| (at, 7)).collect();
        if let Some(changed) = index.with_ctimes(&all) {
            let changed =
                OpenIndex::parse("index".into(), Some(changed), format).expect("it is an index");
            for (before, after) in index.entries().zip(changed.entries()) {
                let (Ok(mut before), Ok(after)) = (before, after) else {
                    continue;
                };
                before.stat.ctime = 7;
                assert_eq!(before, after, "all else is as it was");
            }
        }
    }
}

/// A pattern and a path apart by a newline, after a byte that says whether case counts: our
/// matcher says what `git check-ignore` says.
pub fn pattern(bytes: &[u8]) {
    let Some((case, pattern, path)) = question(bytes) else {
        return;
    };
    let rule = ScopeRule::new(RuleList::Read, pattern, RuleOrigin::Default);
    let Ok(scope) = Scope::compile(vec![rule], case) else {
        return;
    };
    let ours = scope.verdict(&path, EntryKind::File).access == Access::Read;
    let mut gits = GITS.lock().expect("nobody panicked");
    let git = gits.get_or_insert_with(Gits::start);
    let theirs = git.ignores(case, &for_any_git(pattern), &path);
    assert_eq!(ours, theirs, "{pattern:?} on {path:?} ({case:?})");
}

/// The same, as an exclude that git's sparse-checkout must leave out.
pub fn sparse(bytes: &[u8]) {
    let Some((case, pattern, path)) = question(bytes) else {
        return;
    };
    let rules = [(RuleList::Read, "/*"), (RuleList::Exclude, pattern)];
    let rules = rules.map(|(list, pattern)| ScopeRule::new(list, pattern, RuleOrigin::Default));
    let Ok(scope) = Scope::compile(rules.into(), case) else {
        return;
    };
    let ours = scope.verdict(&path, EntryKind::File).access != Access::Excluded;
    let mut gits = GITS.lock().expect("nobody panicked");
    let git = gits.get_or_insert_with(Gits::start);
    if let Some(theirs) = git.checks_out(
        case,
        &scope.sparse_patterns(std::iter::empty::<RepoPath>()),
        &path,
    ) {
        assert_eq!(ours, theirs, "without {pattern:?}, {path:?} ({case:?})");
    }
}

fn question(bytes: &[u8]) -> Option<(Case, &str, RepoPath)> {
    let (first, rest) = bytes.split_first()?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let pattern = std::str::from_utf8(&rest[..end]).ok()?;
    let path = RepoPath::parse(&rest[end + 1..]).ok()?;
    let odd = |part: &[u8]| part.len() > 200 || part.eq_ignore_ascii_case(b".git");
    let parts = || path.as_bstr().split(|byte| *byte == b'/');
    // the memory bank has rules of its own, and a very long name stands nowhere
    let ours = parts().any(|part| part.eq_ignore_ascii_case(b".agentwt"));
    if path.as_bstr().len() > 1000 || ours || parts().any(odd) {
        return None;
    }
    let case = if first % 2 == 0 {
        Case::Sensitive
    } else {
        Case::Insensitive
    };
    Some((case, pattern, path))
}

static GITS: Mutex<Option<Gits>> = Mutex::new(None);

/// A `git check-ignore` for each kind of case, which answers as long as it is asked. Every
/// question gets a directory of its own, with the pattern in its `.gitignore`.
struct Gits {
    dir: tempfile::TempDir,
    asked: u64,
    running: [(Child, ChildStdin, BufReader<ChildStdout>); 2],
}

impl Gits {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().to_owned();
        let init = git(&root, Case::Sensitive, &["init", "-q"]).status();
        assert!(init.expect("git starts").success());
        let running = [Case::Sensitive, Case::Insensitive].map(|case| {
            let args = ["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"];
            let mut command = git(&root, case, &args);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("git starts");
            let stdin = child.stdin.take().expect("it was piped");
            let stdout = BufReader::new(child.stdout.take().expect("it was piped"));
            (child, stdin, stdout)
        });
        Self {
            dir,
            asked: 0,
            running,
        }
    }

    fn ignores(&mut self, case: Case, pattern: &str, path: &RepoPath) -> bool {
        self.asked += 1;
        let name = format!("d{}", self.asked);
        let dir = self.dir.path().join(&name);
        std::fs::create_dir(&dir).expect("a new directory");
        let text = format!("# so that a byte order mark is none\n{pattern}\n");
        std::fs::write(dir.join(".gitignore"), text).expect("a new file");
        let (_, stdin, stdout) = &mut self.running[usize::from(case == Case::Insensitive)];
        let question = [b"./", name.as_bytes(), b"/", &**path.as_bstr(), b"\0"].concat();
        stdin.write_all(&question).expect("git reads");
        stdin.flush().expect("git reads");
        // source, line, pattern and path
        let mut fields: [Vec<u8>; 4] = Default::default();
        for field in &mut fields {
            let read = stdout.read_until(0, field).expect("git answers");
            assert!(read > 0, "git ended on {pattern:?}, {path:?}");
        }
        std::fs::remove_dir_all(dir).expect("it is ours");
        fields[2] != b"\0"
    }

    /// None where this git cannot tell (`check-rules` is there since 2.41).
    fn checks_out(&mut self, case: Case, rules: &[u8], path: &RepoPath) -> Option<bool> {
        let file = self.dir.path().join("rules");
        std::fs::write(&file, rules).expect("a file");
        let args = ["sparse-checkout", "check-rules", "--no-cone", "-z"];
        let mut command = git(&self.dir.path().to_owned(), case, &args);
        command.arg("--rules-file").arg(file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().expect("git starts");
        let mut stdin = child.stdin.take().expect("it was piped");
        // a git that does not know the command does not read
        let _ = stdin.write_all(&[&**path.as_bstr(), b"\0"].concat());
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        let matched = !output.stdout.is_empty();
        output.status.success().then_some(matched)
    }
}

impl Drop for Gits {
    fn drop(&mut self) {
        for (child, _, _) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn git(dir: &PathBuf, case: Case, arguments: &[&str]) -> Command {
    let ignore_case = match case {
        Case::Sensitive => "core.ignoreCase=false",
        Case::Insensitive => "core.ignoreCase=true",
    };
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir.join("no-home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .args(["-c", ignore_case, "-c", "core.excludesFile=/dev/null"])
        .args(arguments)
        .current_dir(dir);
    command
}

/// Git before 2.52 took the stars in `a**/b` for a component; see `tests/it/baseline.rs`.
#[must_use]
pub fn for_any_git(pattern: &str) -> String {
    let mut pattern = pattern.to_owned();
    while pattern.contains("***") {
        pattern = pattern.replace("***", "**");
    }
    let special = pattern.find(['*', '?', '[', '\\']).unwrap_or(0);
    if special > 0 && pattern[special..].starts_with("**") && !pattern[..special].ends_with('/') {
        pattern.replace_range(special..special + 2, "*");
    }
    pattern
}
