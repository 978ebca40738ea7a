//! Holds `Scope` against git itself: generated patterns × paths, from a fixed seed, and a list of
//! nasty ones. One pattern must match what `git check-ignore` says; a whole scope must leave absent
//! what `git sparse-checkout` leaves absent, read from standard input and from the file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use git_agentwt::scope::compiled::Scope;
use git_agentwt::scope::rule::Access;
use git_agentwt::scope::rule::Case;
use git_agentwt::scope::rule::EntryKind;
use git_agentwt::scope::rule::RuleList;
use git_agentwt::scope::rule::RuleOrigin;
use git_agentwt::scope::rule::ScopeRule;
use git_agentwt::words::path::RepoPath;

use crate::fuzz::bodies::for_any_git;
use crate::support::Choices;

/// A scratch repository, with nothing of the user's environment or config.
struct Repo {
    dir: tempfile::TempDir,
    case: Case,
}

impl Repo {
    fn new(case: Case) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let repo = Self { dir, case };
        repo.git(&["init", "-q", "-b", "main"], b"");
        repo
    }

    #[track_caller]
    fn git(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let ignore_case = match self.case {
            Case::Sensitive => "core.ignoreCase=false",
            Case::Insensitive => "core.ignoreCase=true",
        };
        let mut child = Command::new("git")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path().join(".git/no-home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .args(["-c", ignore_case, "-c", "core.excludesFile=/dev/null"])
            .args(["-c", "user.name=a", "-c", "user.email=a@example.invalid"])
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git starts");
        let mut stdin = child.stdin.take().expect("it was piped");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().expect("git ends");
        writer.join().expect("no panic").expect("git reads it all");
        let words = String::from_utf8_lossy(&output.stderr);
        // `check-ignore` ends with 1 when it ignores nothing.
        assert!(
            matches!(output.status.code(), Some(0 | 1)) && words.is_empty(),
            "{args:?}: {words}"
        );
        output.stdout
    }

    fn path(&self, inside: &str) -> std::path::PathBuf {
        self.dir.path().join(Path::new(inside))
    }
}

impl Choices {
    fn pattern(&mut self) -> String {
        const PIECES: &[&str] = &[
            "a",
            "b",
            "A",
            "B",
            "ab",
            "c.d",
            ".x",
            "-",
            "*",
            "*",
            "*",
            "**",
            "**",
            "***",
            "?",
            "/",
            "/",
            "/",
            "/**",
            "**/",
            "/**/",
            "[a]",
            "[A]",
            "[ab]",
            "[!a]",
            "[^b]",
            "[a-c]",
            "[A-C]",
            "[b-",
            "]",
            "[]a]",
            "[[:alpha:]]",
            "[[:upper:]]",
            "[[:lower:]b]",
            "[a/b]",
            r"[\a-c]",
            r"[a-\c]",
            "[--a]",
            r"\a",
            r"\B",
            r"\*",
            r"\[",
            r"\/",
            r"\\",
            r"\ ",
            " ",
            "é",
            "\u{feff}",
            "{a,b}",
            "#",
            "!",
            "$",
        ];
        let mut pattern = String::new();
        if self.below(4) == 0 {
            pattern.push_str(self.one(&["/", "**/", "*", "/*"]));
        }
        for _ in 0..=self.below(5) {
            pattern.push_str(self.one(PIECES));
        }
        if self.below(5) == 0 {
            pattern.push_str(self.one(&["/", "/**", "/*", " ", "**"]));
        }
        pattern
    }
}

/// Patterns that other matchers or other versions of git were seen to take differently.
const NASTY: &[&str] = &[
    "*",
    "**",
    "***",
    "/*",
    "/**",
    "**/*",
    "**/**",
    "*/",
    "**/",
    "*/*",
    "*/**",
    "/*/",
    "**/*/",
    "a/**/",
    "/**/",
    "a/**",
    "/a/**/**",
    "a/**/b",
    "**/a/**",
    "a**",
    "a**/b",
    "a**/",
    "/a**",
    "**a",
    "a/**b",
    "a/b**",
    "a/***/b",
    r"a/**\/b",
    r"**\/b",
    "{a,b}",
    "*.{md,rs}",
    "[[:alpha:]]",
    "[[:alpha:]]*",
    "[![:alpha:]]*",
    "[[:punct:]]*",
    "[[:space:]]*",
    "[[:cntrl:]]*",
    "[[:graph:]]*",
    "[[:print:]]",
    "[[:xdigit:]]",
    "[:alpha:]",
    "[[:alpha:]-c]",
    "[[:]a]",
    "[]",
    "[]]",
    "[!]]",
    "[^]]",
    "[a-]",
    "[-a]",
    "[a-c-e]",
    "[c-a]",
    r"[\]]",
    r"[\-a]",
    "[A]",
    "[A-z]",
    "[a-Z]",
    "[^A]",
    "A",
    r"\A",
    r"\a",
    "*A",
    "*.MD",
    "/A/b",
    "a[/]b",
    "a[x/b]b",
    "a?b",
    "?/b",
    r"\#c",
    r"\!c",
    "#c",
    "c#",
    r"\ ",
    r"s\ ",
    "s ",
    "s",
    "t\t",
    " s",
    "é",
    "É",
    "?",
    "??",
    "[é]",
    "*é*",
    "~",
    "\u{feff}a",
    "-x",
    "$x",
    ":x",
    r"\\",
    r"x\\",
    "\"q\"",
    "'",
    ".x",
    ".*",
    "..x",
    "c.d",
    "*.d",
    "*.*",
    "*d/",
    "/ab",
    "a/b",
    "/a/b/",
    "b/",
    "c",
    "b/c",
    "*b*",
    "*b/*",
    "*/b",
    "*/b/",
    "*a*b*",
    "**/b/c",
    ".git",
    ".git/**",
    "r\rr",
];

/// Paths for them, as an index can hold them together. `true` stands for a gitlink.
fn paths() -> Vec<(RepoPath, EntryKind)> {
    let mut found = BTreeSet::new();
    let top = [
        "a",
        "b",
        "A",
        "B",
        "ab",
        "aB",
        "c.d",
        ".x",
        "-x",
        "$x",
        ":x",
        "#c",
        "!c",
        "s",
        "s ",
        " ",
        " s",
        "t\t",
        "é",
        "É",
        "\u{feff}a",
        "{a,b}",
        "[a]",
        "]",
        "*",
        "**",
        "\\",
        "x\\",
        "\"q\"",
        "'",
        "~",
        "..x",
        "axb",
        "r\rr",
        "n\nn",
        "abc",
        "README.md",
        "_",
        "^",
        "a-",
        "1",
        "\u{7f}",
        "\u{b}",
    ];
    for name in top {
        found.insert(format!("{name}.f").into_bytes());
        found.insert(name.as_bytes().to_vec());
    }
    let directories = [
        "a", "b", "ab", "A", "c.d", "a b", "é", "aab", "x\\", ".x", "D",
    ];
    for (index, directory) in directories.iter().enumerate() {
        for inside in [
            "a", "b", "b/a", "b/c/b", "ab/b", "c.d/a", "B", ".x/y", "s /t", "1/2/3/a",
        ] {
            let prefix = if index % 3 == 0 { "" } else { "d/" };
            found.insert(format!("{prefix}{directory}/{inside}").into_bytes());
        }
    }
    for agentwt in [
        "config.toml",
        "memory/a.md",
        "memory/a/b",
        "worktrees/x",
        "Memory/z",
    ] {
        found.insert(format!(".agentwt/{agentwt}").into_bytes());
        found.insert(format!("a/.agentwt/{agentwt}").into_bytes());
    }
    found.extend([
        b"\xff".to_vec(),
        b"a/\xff\xfe/b".to_vec(),
        b"d/\xc3".to_vec(),
    ]);
    // A path cannot be a file and a directory at once.
    let all: Vec<Vec<u8>> = found.into_iter().collect();
    let is_file = |path: &&Vec<u8>| {
        let below = [path.as_slice(), b"/"].concat();
        !all.iter().any(|other| other.starts_with(&below))
    };
    let files = all
        .iter()
        .filter(is_file)
        .map(|p| (p.clone(), EntryKind::File));
    let links = [
        "link",
        "a/link",
        "d/ab/b.link",
        "b.d",
        "a/B.link",
        "A/1/link",
    ]
    .map(|path| (path.as_bytes().to_vec(), EntryKind::Directory));
    let mut entries: Vec<_> = files
        .chain(links)
        .map(|(bytes, kind)| (RepoPath::parse(bytes).expect("it is normal"), kind))
        .collect();
    entries.sort();
    entries
}

fn rule(list: RuleList, pattern: &str) -> ScopeRule {
    ScopeRule::new(list, pattern, RuleOrigin::Flag(format!("--{list}")))
}

fn check_ignored(repo: &Repo, pattern: &str, paths: &[(RepoPath, EntryKind)]) -> Vec<bool> {
    let file = format!("# so that a byte order mark is none\n{pattern}\n");
    std::fs::write(repo.path(".git/info/exclude"), file).expect("the file is written");
    let mut input = Vec::new();
    for (path, _) in paths {
        // `./`, because a leading `:` would be pathspec magic.
        input.extend_from_slice(b"./");
        input.extend_from_slice(path.as_bstr());
        input.push(0);
    }
    let args = ["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"];
    let output = repo.git(&args, &input);
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    fields
        .chunks_exact(4)
        .map(|record| !record[2].is_empty())
        .collect()
}

fn single_patterns_agree(case: Case, seed: u64, generated: usize) {
    let repo = Repo::new(case);
    let paths: Vec<_> = (paths().into_iter())
        .filter(|(path, _)| !path.as_bstr().starts_with(b".agentwt"))
        .filter(|(path, _)| !path.as_bstr().starts_with(b".AGENTWT"))
        .collect();
    for (path, kind) in &paths {
        if *kind == EntryKind::Directory {
            let path = path.to_os_path().expect("the system takes bytes");
            std::fs::create_dir_all(repo.dir.path().join(path)).expect("it is created");
        }
    }
    let mut choices = Choices(seed);
    let patterns = NASTY.iter().map(|p| (*p).to_owned());
    let patterns = patterns.chain((0..generated).map(|_| choices.pattern()));
    let (mut wrong, mut accepted, mut matched) = (String::new(), 0, 0);
    for pattern in patterns.collect::<BTreeSet<_>>() {
        let git = check_ignored(&repo, &for_any_git(&pattern), &paths);
        assert_eq!(
            git.len(),
            paths.len(),
            "git answers for each path: {pattern:?}"
        );
        let scope = match Scope::compile(vec![rule(RuleList::Read, &pattern)], case) {
            Ok(scope) => scope,
            Err(errors) => {
                // Refused must be what git never matches, or takes for no pattern of a list.
                let useless = !git.contains(&true) || pattern.starts_with('!');
                assert!(
                    useless,
                    "{pattern:?} is refused, and git matches: {errors:?}"
                );
                continue;
            }
        };
        accepted += 1;
        let mut classifier = scope.classifier();
        for ((path, kind), git) in paths.iter().zip(git) {
            let ours = classifier.verdict(path, *kind).access == Access::Read;
            matched += usize::from(ours);
            if ours != git {
                let _ = writeln!(
                    wrong,
                    "{pattern:?} on `{path}` {kind:?}: git {git}, ours {ours}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{case:?}: pattern on path:\n{wrong}");
    assert!(
        accepted > generated / 2 && matched > accepted,
        "the test tests something"
    );
}

#[test]
fn a_pattern_matches_what_git_check_ignore_matches() {
    single_patterns_agree(Case::Sensitive, 0x005e_ed01, 500);
}

#[test]
fn a_pattern_folds_case_where_git_check_ignore_does() {
    single_patterns_agree(Case::Insensitive, 0x005e_ed02, 500);
}

/// A repository with all paths committed, and nothing checked out.
fn repository(case: Case, paths: &[(RepoPath, EntryKind)]) -> Repo {
    let repo = Repo::new(case);
    let blob = repo.git(&["hash-object", "-w", "--stdin"], b"");
    let blob = String::from_utf8_lossy(&blob).trim().to_owned();
    let mut info = Vec::new();
    for (path, kind) in paths {
        let entry = match kind {
            EntryKind::File => format!("100644 {blob}\t"),
            EntryKind::Directory => format!("160000 {}\t", "1".repeat(40)),
        };
        info.extend_from_slice(entry.as_bytes());
        info.extend_from_slice(path.as_bstr());
        info.push(0);
    }
    repo.git(&["update-index", "-z", "--index-info"], &info);
    repo.git(&["commit", "-q", "-m", "paths"], b"");
    repo
}

/// The paths that git leaves out of the working tree.
fn skipped(repo: &Repo) -> BTreeSet<RepoPath> {
    let output = repo.git(&["ls-files", "-t", "-z"], b"");
    let entries = output.split(|byte| *byte == 0);
    let skipped = entries.filter_map(|entry| entry.strip_prefix(b"S "));
    skipped
        .map(|path| RepoPath::parse(path).expect("git's paths are normal"))
        .collect()
}

fn generated_scope(choices: &mut Choices, case: Case) -> Scope {
    let mut rules = Vec::new();
    let counts = [
        (RuleList::Exclude, 4),
        (RuleList::Write, 4),
        (RuleList::Read, 3),
    ];
    for (list, most) in counts {
        for _ in 0..choices.below(most) {
            let pattern = match choices.below(3) {
                0 => choices.one(NASTY).to_owned(),
                _ => choices.pattern(),
            };
            if Scope::compile(vec![rule(list, &pattern)], case).is_ok() {
                rules.push(rule(list, &pattern));
            }
        }
    }
    if choices.below(2) == 0 {
        rules.push(rule(RuleList::Read, "**"));
    }
    Scope::compile(rules, case).expect("each rule is valid")
}

fn scopes_agree(case: Case, seed: u64, generated: usize) {
    let paths = paths();
    let repo = repository(case, &paths);
    let mut choices = Choices(seed);
    // Every nasty pattern once as the only exclude, then whole scopes.
    let alone = NASTY.iter().filter_map(|pattern| {
        let rules = [(RuleList::Read, "/*"), (RuleList::Exclude, *pattern)];
        Scope::compile(
            rules.map(|(list, pattern)| rule(list, pattern)).into(),
            case,
        )
        .ok()
    });
    let mut scopes: Vec<Scope> = alone.collect();
    scopes.extend((0..generated).map(|_| generated_scope(&mut choices, case)));
    let (mut some, mut wrong) = (0, String::new());
    for scope in scopes {
        let mut classifier = scope.classifier();
        let mut excluded = BTreeSet::new();
        for (path, kind) in &paths {
            if classifier.verdict(path, *kind).access == Access::Excluded {
                excluded.insert(path.clone());
            }
        }
        some += usize::from(!excluded.is_empty() && excluded.len() < paths.len() - 2);
        let gitlinks = paths
            .iter()
            .filter(|(_, kind)| *kind == EntryKind::Directory);
        let patterns = scope.sparse_patterns(gitlinks.map(|(path, _)| path));
        repo.git(
            &["sparse-checkout", "set", "--no-cone", "--stdin"],
            &patterns,
        );
        let from_input = skipped(&repo);
        std::fs::write(repo.path(".git/info/sparse-checkout"), &patterns)
            .expect("the file is written");
        repo.git(&["read-tree", "-mu", "HEAD"], b"");
        for (reader, git) in [("--stdin", from_input), ("the file", skipped(&repo))] {
            for path in git.symmetric_difference(&excluded) {
                let (git, ours) = (git.contains(path), excluded.contains(path));
                let _ = writeln!(
                    wrong,
                    "`{path}` by {reader}: git absent {git}, ours {ours}, in"
                );
                for rule in scope.rules() {
                    let _ = writeln!(wrong, "    {} {:?}", rule.list, rule.pattern);
                }
                let _ = writeln!(
                    wrong,
                    "    rendered {:?}",
                    String::from_utf8_lossy(&patterns)
                );
            }
        }
        assert!(wrong.is_empty(), "{case:?}: path by reader:\n{wrong}");
    }
    assert!(some > generated / 2, "the test tests something");
}

#[test]
fn a_scope_leaves_absent_what_git_sparse_checkout_does() {
    scopes_agree(Case::Sensitive, 0x005e_ed03, 80);
}

#[test]
fn a_scope_folds_case_where_git_sparse_checkout_does() {
    scopes_agree(Case::Insensitive, 0x005e_ed04, 50);
}
