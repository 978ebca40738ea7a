//! The policy of a fence, held against the programs that it is rendered for: `grep` for the regular
//! expressions, bubblewrap and podman for their arguments.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};

use camino::{Utf8Path, Utf8PathBuf};
use git_agentwt::fence::compile::ExistingEntry;
use git_agentwt::fence::compile::PolicyFacts;
use git_agentwt::fence::compile::compile;
use git_agentwt::fence::container;
use git_agentwt::fence::container::HostUser;
use git_agentwt::fence::mount;
use git_agentwt::fence::mount::CommandSession;
use git_agentwt::fence::policy::FenceRequest;
use git_agentwt::fence::policy::Places;
use git_agentwt::fence::policy::Policy;
use git_agentwt::scope::compiled::Scope;
use git_agentwt::scope::rule::Access;
use git_agentwt::scope::rule::Case;
use git_agentwt::scope::rule::EntryKind;
use git_agentwt::scope::rule::RuleList;
use git_agentwt::scope::rule::RuleList::Exclude;
use git_agentwt::scope::rule::RuleList::Read;
use git_agentwt::scope::rule::RuleList::Write;
use git_agentwt::scope::rule::RuleOrigin;
use git_agentwt::scope::rule::ScopeRule;
use git_agentwt::words::path::RepoPath;

fn scope(rules: &[(RuleList, &str)], case: Case) -> Scope {
    let rules = [(Read, "**")].iter().chain(rules);
    let rules = rules.map(|(list, text)| ScopeRule::new(*list, *text, RuleOrigin::Default));
    Scope::compile(rules.collect(), case).expect("the patterns are valid")
}

const PATHS: &[&str] = &[
    "a",
    "A",
    "b",
    "ab",
    "a.b",
    "axb",
    "src",
    "src/a",
    "src/a.rs",
    "src/A.RS",
    "src/x/a.rs",
    "src/x/y/a.rs",
    "lib/src/a.rs",
    "srcs/a",
    "a/b/c",
    "a/x/c",
    "a/c",
    "a/x/y/c",
    "x/a/b",
    "a-b",
    "a]b",
    "a^b",
    "a\\b",
    "a+b",
    "a(b",
    "a$b",
    "a{2}b",
    "a|b",
    "a b",
    "a\"b",
    "caf\u{e9}",
    "a*b",
    "a[b",
    "a:b",
    "a5b",
    "z/a]b/c",
];
const PATTERNS: &[&str] = &[
    "a",
    "/a",
    "a/",
    "/a/",
    "src/**",
    "/src/",
    "src/*",
    "src/*/a.rs",
    "**/a.rs",
    "src/**/a.rs",
    "*.rs",
    "a?b",
    "a[.x]b",
    "a[!.x]b",
    "a[^a-z]b",
    "a[]]b",
    "a[]^-]b",
    "a[^]-]b",
    "a[-^]b",
    "a[\\^]b",
    "a[[:digit:]+]b",
    "a[a-]b",
    "a\\*b",
    "a*b",
    "a+b",
    "a(b",
    "a$b",
    "a{2}b",
    "a|b",
    "a.b",
    "a\\\\b",
    "a**b",
    "**",
    "a/**/c",
    "a/*/c",
    "*/",
    "caf*",
    "a[A-Z[]b",
    "**/src",
    "x/**/",
    "a[!a]b",
    "a\"b",
    "a[\"(]b",
];

#[test]
fn regular_expressions_match_what_the_patterns_cover() {
    for case in [Case::Sensitive, Case::Insensitive] {
        for pattern in PATTERNS {
            let scope = scope(&[(Write, pattern)], case);
            let regex = scope.regexes(Write).next().expect("there is one");
            let mut grep = Command::new("grep")
                .args(["-Exn", "-e", &regex])
                .env("LC_ALL", "C.UTF-8")
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .expect("grep starts");
            let mut stdin = grep.stdin.take().expect("it is piped");
            std::io::Write::write_all(&mut stdin, (PATHS.join("\n") + "\n").as_bytes())
                .expect("it reads");
            drop(stdin);
            let output = grep.wait_with_output().expect("it ends");
            let text = String::from_utf8(output.stdout).expect("it is UTF-8");
            let found: Vec<&str> = text
                .lines()
                .filter_map(|line| Some(line.split_once(':')?.1))
                .collect();
            let covered = PATHS.iter().filter(|path| {
                let path = RepoPath::parse(**path).expect("it is normal");
                scope.verdict(&path, EntryKind::File).access == Access::Write
            });
            let covered: Vec<&str> = covered.copied().collect();
            assert_eq!(found, covered, "{pattern} as {regex} ({case:?})");
        }
    }
}

/// A repository as a fence sees it, with a script in place of the program: it starts the command.
struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let stage = Self { dir };
        for (path, text) in [
            ("main/secret", "secret"),
            ("main/bin", "#!/bin/sh\nshift 3\nexec \"$@\"\n"),
            ("main/.git/config", ""),
            ("main/.git/objects/x", "object"),
            ("main/.git/p/git/HEAD", ""),
            ("main/.git/p/dotgit", "gitdir: inside"),
            ("other/secret", "secret"),
            ("wt/.git", "gitdir: outside"),
            ("wt/README.md", ""),
            ("wt/docs/a b,\"c.md", ""),
            ("wt/src/a.rs", ""),
            ("wt/src/gen/x.rs", ""),
        ] {
            let path = stage.path(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(&path, text).expect("written");
        }
        for directory in [
            "main/.git/p/tmp",
            "main/.git/p/home",
            "main/.git/p/rootfs",
            "rw",
        ] {
            std::fs::create_dir_all(stage.path(directory)).expect("made");
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(stage.path("main/bin"), mode).expect("set");
        stage
    }

    fn path(&self, below: &str) -> Utf8PathBuf {
        let dir = Utf8Path::from_path(self.dir.path()).expect("it is UTF-8");
        dir.canonicalize_utf8().expect("it is there").join(below)
    }

    fn policy(&self, write: &[&str], request: FenceRequest) -> Policy {
        let root = self.path("wt");
        let exists = |path: &RepoPath| {
            let path = root.join(path.as_bstr().to_string());
            let kind = std::fs::symlink_metadata(path).ok()?.file_type();
            Some(match (kind.is_dir(), kind.is_file()) {
                (true, _) => ExistingEntry::Directory,
                (_, true) => ExistingEntry::File,
                _ => ExistingEntry::Other,
            })
        };
        let tracked = ["README.md", "docs/a b,\"c.md", "src/a.rs", "src/gen/x.rs"];
        let tracked = || {
            tracked
                .iter()
                .map(|path| RepoPath::parse(*path).expect("normal"))
                .collect()
        };
        let rules: Vec<_> = write
            .iter()
            .map(|text| (Write, *text))
            .chain([(Exclude, "src/gen/**")])
            .collect();
        compile(&PolicyFacts {
            scope: &scope(&rules, Case::Sensitive),
            tracked: &tracked,
            exists: &exists,
            ignored: Vec::new(),
            places: Places {
                root: root.clone(),
                main: self.path("main"),
                others: vec![self.path("other")],
                common_dir: self.path("main/.git"),
                withheld: Vec::new(),
                shown_in_git: Vec::new(),
                shown: Vec::new(),
                states: Vec::new(),
                private: self.path("main/.git/p"),
                binary: self.path("main/bin"),
            },
            request: FenceRequest {
                rw: vec![self.path("rw"), self.path("missing")],
                ..request
            },
        })
    }

    /// Tries to write and to read at each place; says `+` where it worked.
    fn script() -> Vec<OsString> {
        let script = "cd .. && for path in wt/src/new wt/src/gen/new wt/src/gen/x.rs wt/README.md wt/new.md 'wt/docs/a b,\"c.md' \
             wt/docs/new wt/.git main/new main/.git/config main/.git/p/git/new main/.git/p/dotgit \
             main/.git/p/tmp/new rw/new /tmp/new; do \
             if (echo x >> \"$path\") 2>/dev/null; then echo \"+ $path\"; else echo \"- $path\"; fi; done; \
             for path in main/secret other/secret main/.git/objects/x wt/.git; do cat $path 2>&1; echo; done; \
             (rm wt/.git; mv wt/.git wt/src/g; rm wt/README.md) 2>/dev/null; ls -A wt main";
        ["sh", "-c", script].map(OsString::from).to_vec()
    }

    fn said(&self, output: &Output) -> String {
        let all = [&output.stdout[..], &output.stderr].concat();
        String::from_utf8_lossy(&all).replace(self.path("").as_str().trim_end_matches('/'), "[dir]")
    }
}

/// What a fence of namespaces makes of the script.
const SAID: &str = "\
+ wt/src/new
- wt/src/gen/new
- wt/src/gen/x.rs
+ wt/README.md
- wt/new.md
+ wt/docs/a b,\"c.md
- wt/docs/new
- wt/.git
- main/new
- main/.git/config
+ main/.git/p/git/new
- main/.git/p/dotgit
+ main/.git/p/tmp/new
+ rw/new
+ /tmp/new
cat: main/secret: No such file or directory

cat: other/secret: No such file or directory

object
gitdir: inside
main:
.git
bin

wt:
.git
README.md
docs
src
";

/// Starts the program of a fence; none where this system cannot, which it says with one of these.
fn start(program: &str, words: Vec<OsString>, unable: &[&str]) -> Option<Output> {
    let is_asked_for = std::env::var_os("CI").is_some() && program == "bwrap";
    let output = match Command::new(program).args(words).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(!is_asked_for, "{program}: {error}");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stderr);
    let is_unable = !output.status.success() && unable.iter().any(|one| text.contains(one));
    assert!(!(is_unable && is_asked_for), "{program}: {text}");
    (!is_unable).then_some(output)
}

#[test]
fn bubblewrap_does_what_its_arguments_say() {
    let stage = Stage::new();
    let policy = stage.policy(&["src/**", "*.md"], FenceRequest::default());
    let words = mount::arguments(
        &policy,
        &Stage::script(),
        &policy.places.root,
        CommandSession::Own,
    );
    let unable = [
        "bwrap: setting up uid map",
        "bwrap: No permissions to create",
    ];
    if let Some(output) = start("bwrap", words, &unable) {
        assert_eq!(stage.said(&output), SAID);
    }
}

#[test]
fn podman_does_what_its_arguments_say() {
    let user = HostUser {
        user: rustix::process::getuid().as_raw(),
        group: rustix::process::getgid().as_raw(),
    };
    if user.user == 0 {
        return; // without capabilities, root is not the owner of the user's files
    }
    let stage = Stage::new();
    let policy = stage.policy(&["src/**", "*.md"], FenceRequest::default());
    let start_of = container::ContainerStart {
        command: &Stage::script(),
        directory: &policy.places.root,
        has_terminal: false,
        has_input: true,
        variables: vec!["PATH"],
        name: &format!("agentwt-{}", std::process::id()),
        user,
        exists: &|path: &Path| path.exists(),
    };
    let words = container::arguments(&policy, &start_of);
    let unable = [
        "cgroups in hybrid mode",
        "subuid",
        "newuidmap",
        "XDG_RUNTIME_DIR",
        "user namespace",
    ];
    if let Some(output) = start("podman", words, &unable) {
        assert_eq!(stage.said(&output), SAID);
    }
}
