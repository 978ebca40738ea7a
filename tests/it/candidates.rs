//! What is selected for syncing in real repositories, and what is never entered.

use std::os::unix::fs::symlink;
use std::path::Path;

use camino::Utf8Path;
use git_agentwt::actions::selection::IncludeFile;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::git::runner::Trace;
use git_agentwt::inventory::placed::PlacedKind;
use git_agentwt::sync::Candidates;
use git_agentwt::sync::PatternOrigin;
use git_agentwt::sync::pattern::Pattern;
use git_agentwt::words::error::Error;
use git_agentwt::worktree::repository::Repository;

use crate::support::{TestRepo, chmod, is_root, write};

#[track_caller]
fn patterns(globs: &[&str]) -> Vec<Pattern> {
    let parse = |glob: &&str| {
        Pattern::parse(glob, PatternOrigin::Flag("--sync"))
            .unwrap_or_else(|fault| panic!("{glob}: {fault}"))
    };
    globs.iter().map(parse).collect()
}

#[track_caller]
fn find_in(dir: &Path, globs: &[&str]) -> Result<Candidates, Error> {
    find(dir, &patterns(globs))
}

#[track_caller]
fn find(dir: &Path, patterns: &[Pattern]) -> Result<Candidates, Error> {
    let dir = Utf8Path::from_path(dir).expect("it is UTF-8");
    let repository = Repository::find(dir, SharedRunner::default(), Trace::default());
    let repository = repository.expect("a repository");
    repository.candidates(patterns, IncludeFile::Read)
}

/// What is selected, one path a word: `/` behind a directory, `@` behind a link.
#[must_use]
#[track_caller]
fn selected(repo: &TestRepo, globs: &[&str]) -> String {
    shown(&find_in(repo.main(), globs).expect("it can be read"))
}

#[must_use]
fn shown(found: &Candidates) -> String {
    let word = |one: &git_agentwt::sync::Candidate| match one.kind() {
        _ if one.is_special() => format!("{} (special)", one.path),
        PlacedKind::File => one.path.to_string(),
        PlacedKind::Link => format!("{}@", one.path),
        PlacedKind::Directory => format!("{}/", one.path),
    };
    let mut words: Vec<String> = found.entries.iter().map(word).collect();
    words.extend(found.not_entered.iter().map(|path| format!("!{path}")));
    words.join(" ")
}

#[test]
fn untracked_files_are_selected_and_tracked_ones_counted() {
    let repo = TestRepo::project();
    for path in [
        ".env",
        ".env.local",
        "src/.env",
        "src/local.rs",
        "target/a/b",
        "x.log",
    ] {
        repo.write(path, "x");
    }
    std::fs::create_dir_all(repo.main().join("target/empty/deep")).expect("a directory");
    for (globs, expected) in [
        (vec![".env*"], ".env .env.local"),
        (vec!["**/.env"], ".env src/.env"),
        (vec!["src/**"], "src/.env src/local.rs"),
        (vec!["src"], "src/.env src/local.rs"),
        (
            vec!["target"],
            "target/ target/a/ target/a/b target/empty/ target/empty/deep/",
        ),
        (
            vec!["target/**"],
            "target/a/ target/a/b target/empty/ target/empty/deep/",
        ),
        (vec!["target/*/deep"], "target/empty/deep/"),
        (vec!["target/a/"], "target/a/ target/a/b"),
        (vec!["x.log/"], ""),
        (vec!["README.md", "docs/**"], ""),
        (vec!["nothing", "no/thing/at/all"], ""),
    ] {
        assert_eq!(selected(&repo, &globs), expected, "{globs:?}");
    }
    let found = find_in(repo.main(), &["src/**", "**/.env", "README.md", "none"]).expect("found");
    let untracked = |at: usize| {
        found
            .entries
            .iter()
            .filter(move |one| one.patterns.contains(&at))
    };
    assert_eq!([0, 1, 2, 3].map(|at| untracked(at).count()), [2, 2, 0, 0]);
    assert_eq!(found.tracked, [2, 0, 1, 0]);
}

#[test]
fn no_other_worktree_or_repository_is_entered() {
    let repo = TestRepo::project();
    repo.add("ours");
    for (branch, path) in [("a", "wt/a"), ("b", ".claude/worktrees/b"), ("c", "src/c")] {
        repo.git(&["worktree", "add", "-q", "-b", branch, path]);
    }
    repo.git(&["init", "-q", "vendor/nested"]);
    repo.git(&["init", "-q", "--bare", "vendor/bare.git"]);
    repo.git(&["worktree", "add", "-q", "-b", "d", "wt/gone"]);
    std::fs::remove_file(repo.main().join("wt/gone/.git")).expect("a file");
    for place in [
        "",
        "wt/a",
        ".claude/worktrees/b",
        "src/c",
        "vendor/nested",
        "vendor/bare.git",
        ".agentwt/worktrees/ours",
        ".agentwt/worktrees",
        ".agentwt",
        ".agentwt/memory",
        ".git",
        "wt/gone",
        "wt",
        "wt/a/deep",
    ] {
        repo.write(format!("{place}/.env").trim_start_matches('/'), "secret");
    }
    let all = ".agentwt/memory/.env .env wt/.env";
    let closed = "!.claude/worktrees/b !src/c !vendor/bare.git !vendor/nested !wt/a !wt/gone";
    assert_eq!(selected(&repo, &["**/.env"]), format!("{all} {closed}"));
    assert_eq!(selected(&repo, &[".env"]), ".env");
    assert_eq!(selected(&repo, &["wt/a/.env"]), "!wt/a");
    assert_eq!(selected(&repo, &["wt/gone/**"]), "!wt/gone");
    assert_eq!(
        selected(&repo, &["vendor"]),
        "vendor/ !vendor/bare.git !vendor/nested"
    );
    assert_eq!(
        selected(&repo, &["vendor/*/.env"]),
        "!vendor/bare.git !vendor/nested"
    );
    assert_eq!(
        selected(&repo, &[".agentwt"]),
        ".agentwt/ .agentwt/memory/ .agentwt/memory/.env"
    );
    assert_eq!(
        selected(&repo, &[".agent*/**"]),
        ".agentwt/memory/ .agentwt/memory/.env"
    );
    // from inside a worktree it is the same repository
    let inside = find_in(&repo.worktree("ours"), &["**/.env"]).expect("found");
    assert_eq!(shown(&inside), format!("{all} {closed}"));
}

#[test]
fn a_submodule_is_not_entered() {
    let repo = TestRepo::project();
    let other = TestRepo::project();
    let url = other.main().to_string_lossy().into_owned();
    repo.git(&["submodule", "add", "-q", &url, "lib/sub"]);
    repo.git(&["commit", "-qm", "a submodule"]);
    repo.write("lib/sub/.env", "x");
    repo.write("lib/.env", "x");
    assert_eq!(selected(&repo, &["**/.env"]), "lib/.env !lib/sub");
    repo.git(&["submodule", "deinit", "-q", "-f", "lib/sub"]);
    assert_eq!(selected(&repo, &["lib/**"]), "lib/.env !lib/sub");
}

#[test]
fn links_are_selected_and_never_followed() {
    let repo = TestRepo::project();
    write(repo.root(), b"outside/.env", b"secret");
    write(repo.root(), b"outside/in/.env", b"secret");
    repo.write("conf/real/.env", "x");
    let main = repo.main();
    for (to, at) in [
        ("../outside", "out"),
        ("/etc", "abs"),
        ("gone", "dangling"),
        ("real", "conf/link"),
        ("..", "conf/up"),
        (".", "self"),
    ] {
        symlink(to, main.join(at)).expect("a link");
    }
    for (globs, expected) in [
        (vec!["**/.env"], "conf/real/.env"),
        (vec!["out"], "out@"),
        (
            vec!["*"],
            "abs@ conf/ conf/link@ conf/real/ conf/real/.env conf/up@ dangling@ out@ self@",
        ),
        (vec!["out/"], ""),
        (vec!["o*/**"], ""),
        (vec!["*/.env", "conf/*/.env"], "conf/real/.env"),
    ] {
        assert_eq!(selected(&repo, &globs), expected, "{globs:?}");
    }
}

#[test]
fn nothing_behind_a_link_is_selected_and_the_link_is_named() {
    let repo = TestRepo::project();
    write(repo.root(), b"outside/in/.env", b"secret");
    std::fs::create_dir_all(repo.main().join("conf")).expect("a directory");
    for (to, at) in [
        ("../outside", "out"),
        ("../../outside", "conf/out"),
        ("/etc", "etc"),
        (".", "here"),
    ] {
        symlink(to, repo.main().join(at)).expect("a link");
    }
    for (glob, link) in [
        ("out/in/.env", "!out"),
        ("out/**", "!out"),
        ("out/*/.env", "!out"),
        ("{src,out}/in/.env", "!out"),
        ("conf/out/in/*", "!conf/out"),
        ("conf/out/**/.env", "!conf/out"),
        ("etc/passwd", "!etc"),
        ("here/.env", "!here"),
        ("\\out/in", "!out"),
        ("[o]ut/in", "!out"),
    ] {
        let pattern = Pattern::parse(glob, PatternOrigin::File(3)).expect(glob);
        let found = find(repo.main(), &[pattern]).expect("found");
        assert_eq!(shown(&found), link, "{glob}");
    }
    symlink("../outside", repo.main().join(".agentwt")).expect("a link");
    let found = find(repo.main(), &[Pattern::memory_bank()]);
    assert_eq!(shown(&found.expect("found")), "!.agentwt");
}

#[test]
fn a_worktreeinclude_selects_among_ignored_files_only() {
    let repo = TestRepo::project();
    repo.write(
        ".gitignore",
        "target/\n*.log\n.env*\nconf/*.local\n/data/\n:odd\n",
    );
    repo.commit_all("more is ignored");
    for path in [
        ".env",
        ".env.example",
        "src/.env",
        "src/deep/.env",
        "target/debug/.env",
        "target/x",
        "a.log",
        "logs/b.log",
        "logs/c.txt",
        "conf/a.local",
        "conf/a.json",
        "data/1/2",
        "data/3",
        "free.txt",
        ":odd",
    ] {
        repo.write(path, "x");
    }
    std::fs::create_dir_all(repo.main().join("data/empty")).expect("a directory");
    symlink("gone", repo.main().join("dangling.log")).expect("a link");
    assert_eq!(selected(&repo, &[]), "", "there is none");
    for (rules, expected) in [
        (".env\n", ".env src/.env src/deep/.env target/debug/.env"),
        ("/.env\n", ".env"),
        (
            ".env*\n!.env.example\n",
            ".env src/.env src/deep/.env target/debug/.env",
        ),
        ("*.log\n", "a.log dangling.log@ logs/b.log"),
        ("logs/\n", "logs/b.log"),
        ("# a comment\n\n   \nconf/*\n", "conf/a.local"),
        ("/data/\n", "data/ data/1/ data/1/2 data/3 data/empty/"),
        ("data/*\n!data/3\n", "data/1/ data/1/2 data/empty/"),
        (
            "data\n!data/3\n",
            "data/ data/1/ data/1/2 data/3 data/empty/",
        ),
        ("target/**/.env\n", "target/debug/.env"),
        ("free.txt\nREADME.md\nsrc/\n", "src/.env src/deep/.env"),
        (".env/\n", ""),
        ("\\:odd\n", ":odd"),
        ("none\n", ""),
        ("", ""),
    ] {
        repo.write(".worktreeinclude", rules);
        assert_eq!(selected(&repo, &[]), expected, "{rules:?}");
    }
    repo.write(".worktreeinclude", ".env\n");
    let found = find_in(repo.main(), &["src/**", "free.txt"]).expect("found");
    let by: Vec<String> = found
        .entries
        .iter()
        .map(|one| format!("{} {:?}", one.path, one.patterns))
        .collect();
    assert_eq!(
        by,
        [
            ".env []",
            "free.txt [1]",
            "src/.env [0]",
            "src/deep/ [0]",
            "src/deep/.env [0]",
            "target/debug/.env []",
        ]
        .map(|line| line.replace("deep/ ", "deep "))
    );
}

#[test]
fn a_worktreeinclude_enters_no_other_worktree() {
    let repo = TestRepo::project();
    repo.add("ours");
    repo.git(&["worktree", "add", "-q", "-b", "b", "wt/b"]);
    repo.git(&["init", "-q", "target/nested"]);
    repo.write(".gitignore", ".env\ntarget/\nwt/\n");
    for place in [
        ".",
        "wt/b",
        ".agentwt/worktrees/ours",
        "target/nested",
        ".git",
        "target",
    ] {
        repo.write(&format!("{place}/.env"), "x");
    }
    repo.write(".worktreeinclude", ".env\nwt/\nconfig\nHEAD\n");
    assert_eq!(
        selected(&repo, &[]),
        ".env target/.env wt/ !target/nested !wt/b"
    );
}

#[test]
fn what_is_no_file_is_selected_as_that() {
    let repo = TestRepo::project();
    let place = repo.main().join("run");
    std::fs::create_dir(&place).expect("a directory");
    repo.sh(&place, "mkfifo pipe").ok();
    let _socket = std::os::unix::net::UnixListener::bind(place.join("socket")).expect("a socket");
    assert_eq!(
        selected(&repo, &["run/*"]),
        "run/pipe (special) run/socket (special)"
    );
}

#[test]
fn names_are_bytes() {
    let repo = TestRepo::project();
    for name in [
        &b"local/a\nb"[..],
        b"local/\xff\xfe",
        b"local/ -x",
        b"local/{a,b}",
        b"local/\"q\"",
    ] {
        write(repo.main(), name, b"x");
    }
    repo.write(".gitignore", "/local/\n");
    let expected = "local/ local/ -x local/\"q\" local/a\\012b local/{a,b} local/\\377\\376";
    assert_eq!(selected(&repo, &["local"]), expected);
    repo.write(".worktreeinclude", "local/\n");
    assert_eq!(selected(&repo, &[]), expected);
    repo.git(&["add", "-f", "local"]);
    assert_eq!(selected(&repo, &["local"]), "");
}

#[test]
fn what_is_tracked_is_read_from_any_index() {
    let repo = TestRepo::project();
    repo.write("docs/deep/x.md", "x");
    repo.commit_all("deep");
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "src"]);
    let sparse = repo.git(&["ls-files", "--sparse"]);
    assert!(sparse.contains("docs/\n"), "the index is sparse: {sparse}");
    repo.write("docs/.env", "x");
    repo.write("docs/guide.md", "it is tracked");
    repo.write("docs/deep/.env", "x");
    assert_eq!(selected(&repo, &["docs/**"]), "docs/.env docs/deep/.env");
    repo.git(&["sparse-checkout", "disable"]);
    repo.git(&["update-index", "--split-index"]);
    repo.write("docs/new.md", "x");
    repo.git(&["add", "docs/new.md"]);
    assert_eq!(selected(&repo, &["docs/**"]), "docs/.env docs/deep/.env");
}

#[test]
fn a_conflict_and_an_announced_file_are_tracked() {
    let repo = TestRepo::project();
    repo.git(&["checkout", "-qb", "other"]);
    repo.write("src/main.rs", "other\n");
    repo.commit_all("other");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("src/main.rs", "main\n");
    repo.commit_all("main");
    let merge = repo.try_git(repo.main(), &["merge", "other"]);
    assert_eq!(merge.status, 1, "{merge}");
    repo.write("src/soon.rs", "x");
    repo.git(&["add", "-N", "src/soon.rs"]);
    assert_eq!(selected(&repo, &["src/**"]), "");
}

#[test]
fn a_kind_that_git_has_otherwise_is_not_selected() {
    let repo = TestRepo::project();
    let main = repo.main();
    std::fs::remove_dir_all(main.join("docs")).expect("a directory");
    repo.write("docs", "a file where git has a directory");
    std::fs::remove_file(main.join("README.md")).expect("a file");
    repo.write("README.md/x", "a directory where git has a file");
    assert_eq!(selected(&repo, &["docs", "README.md/**"]), "!README.md");
}

#[test]
fn case_is_that_of_the_repository() {
    let repo = TestRepo::project();
    repo.write("Local/.ENV", "x");
    repo.write("readme.MD", "tracked under another case");
    assert_eq!(selected(&repo, &["local/.env"]), "");
    repo.git(&["config", "core.ignoreCase", "true"]);
    assert_eq!(selected(&repo, &["local/.env"]), "Local/.ENV");
    assert_eq!(selected(&repo, &["*.md"]), "");
    symlink("Local", repo.main().join("Link")).expect("a link");
    assert_eq!(selected(&repo, &["link/.env"]), "!Link !link");
}

#[test]
fn a_directory_that_cannot_be_read_is_an_error_that_names_it() {
    let repo = TestRepo::project();
    if is_root() {
        return again_as_an_ordinary_user(
            &repo,
            "candidates::a_directory_that_cannot_be_read_is_an_error_that_names_it",
        );
    }
    repo.write("data/closed/x", "x");
    repo.write("data/open/x", "x");
    let closed = repo.main().join("data/closed");
    chmod(&closed, 0o000);
    let error = find_in(repo.main(), &["data/**"]);
    let error = error.expect_err("it is closed");
    let expected = format!(
        "cannot look for files to sync: {}: Permission denied",
        closed.display()
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert_eq!(error.exit_code().code(), 6);
    // it is not looked at where nothing can match in it
    assert_eq!(selected(&repo, &["data/open/*"]), "data/open/x");
    chmod(&closed, 0o755);
}

/// Runs a test of this file as uid 65534, whom permissions stop.
#[track_caller]
fn again_as_an_ordinary_user(repo: &TestRepo, test: &str) {
    // the tests themselves may stand where only root can go
    let copy = repo.root().join("tests");
    std::fs::copy(std::env::current_exe().expect("we run"), &copy).expect("a copy");
    chmod(repo.root(), 0o755);
    let said = repo
        .command("setpriv", Path::new("/"))
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["--exact", test])
        .output()
        .expect("setpriv starts");
    let said = repo.said(&said);
    assert!(said.ok().contains("1 passed"), "it ran: {test}");
}

#[test]
fn names_that_cannot_be_are_not_there() {
    let repo = TestRepo::project();
    repo.write(".env", "x");
    let long = "a".repeat(4000);
    for glob in [
        long.as_str(),
        &format!("{long}/x"),
        ".env/x",
        "src/main.rs/x/y",
        "a\u{2215}..\u{2215}b",
        "..\u{ff0f}..\u{ff0f}etc",
    ] {
        assert_eq!(selected(&repo, &[glob]), "", "{glob}");
    }
}
